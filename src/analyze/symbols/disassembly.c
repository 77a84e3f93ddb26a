/* disassembly.c - see disassembly.h. */
#include "disassembly.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "cubin.h"
#include "nvdisasm.h"

#include <sonde/error.h>

typedef SONDE_VECTOR(uint32_t) indices;

static int wanted_symbols(struct sonde__disassembly *d, Elf *elf, indices *out)
{
    GElf_Shdr head;
    GElf_Sym symbol;
    int rc = 0;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) && !rc;) {
        Elf_Data *data = gelf_getshdr(s, &head) && head.sh_type == SHT_SYMTAB ? elf_getdata(s, NULL) : NULL;
        for (int i = 1; data && gelf_getsym(data, i, &symbol) && !rc; i++) {
            const char *name = GELF_ST_TYPE(symbol.st_info) == STT_FUNC ? elf_strptr(elf, head.sh_link, symbol.st_name) : NULL;
            const int wanted = name && symbol.st_shndx != SHN_UNDEF ? d->wants(d->user, name) : 0;
            rc = wanted < 0 ? wanted : 0;
            if (wanted > 0)
                rc = sonde_vector_push(out, (uint32_t)i);
        }
    }
    return rc;
}

static int read_code(void *user, void *bytes, size_t size)
{
    struct sonde__disassembly *d = user;
    indices symbols = {0};
    struct sonde__nvdisasm n;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(bytes, size);
    int rc = elf ? wanted_symbols(d, elf, &symbols) : 0;
    if (elf)
        elf_end(elf);
    if (!rc && symbols.count) {
        const int failed = sonde__nvdisasm_start(d->program, d->lines, bytes, size, symbols.items, symbols.count, &n);
        rc = failed == SONDE_ENOMEM ? failed : (failed ? 0 : d->read(d->user, n.text));
        d->failed += failed || !sonde__nvdisasm_end(&n);
    }
    sonde_vector_fini(&symbols);
    return rc;
}

int sonde__disassemble(struct sonde__disassembly *d, const char *dir)
{
    return sonde__cubins_each(dir, read_code, d);
}

bool sonde__disassembly_section(const char *line, char **name)
{
    static const char begin[] = ".text.";
    const size_t length = strcspn(line, ":\n");
    const bool between = strncmp(line, "//-----", 7) == 0, begins = strncmp(line, begin, sizeof begin - 1) == 0 && line[length] == ':';
    if (!between && !begins)
        return false;
    free(*name);
    *name = begins ? strndup(line + sizeof begin - 1, length - (sizeof begin - 1)) : NULL;
    return true;
}

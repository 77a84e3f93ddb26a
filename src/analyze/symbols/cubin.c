/* cubin.c - the line tables of CUDA's device code. See cubin.h.
 *
 * A cubin is an ELF file in which each kernel has a section of its own, and all
 * of them begin at address 0. Its line table (DWARF 2 to 5, section 6.2) has a
 * sequence for each, which begins with an address that a relocation fills with
 * the kernel's symbol. So each such address is set to a number of our own
 * before libdw reads the table, and tells the kernels apart.
 */
#include "cubin.h"

#include <dirent.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/text.h"
#include "base/vector.h"
#include "format/folder.h"

#define KERNEL_SHIFT 40 /* the number of a kernel above, its own addresses below */
#define KERNELS_MAX  65536u
#define BYTES_MAX    ((size_t)1 << 30)

struct kernel {
    const char *name;
    unsigned line; /* of its first instruction */
    const char *file;
    Dwarf_Addr lowest;
};

struct cubin {
    Elf *elf;
    char *bytes;
    size_t size;
    size_t line_at, line_bytes; /* .debug_line in the file */
    struct kernel *kernels;
    size_t count;
    sonde__cubin_row_fn row;
    void *user;
};

static const char *section_name(Elf *elf, Elf_Scn *section)
{
    size_t names;
    GElf_Shdr head;
    const char *name = elf_getshdrstrndx(elf, &names) == 0 && gelf_getshdr(section, &head)
                           ? elf_strptr(elf, names, head.sh_name)
                           : NULL;
    return name ? name : "";
}

static Elf_Scn *find_section(Elf *elf, const char *name)
{
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
        if (strcmp(section_name(elf, s), name) == 0)
            return s;
    return NULL;
}

/* The function that a symbol names: itself, or the one whose section it is. */
static const char *symbol_name(Elf *elf, Elf_Data *symbols, size_t strings, size_t index)
{
    GElf_Sym symbol;
    if (!gelf_getsym(symbols, (int)index, &symbol))
        return NULL;
    if (GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
        return elf_strptr(elf, strings, symbol.st_name);
    const char *name = section_name(elf, elf_getscn(elf, symbol.st_shndx));
    return strncmp(name, ".text.", 6) == 0 ? name + 6 : NULL;
}

/* Number the kernel, and write the number where its sequence begins. */
static void number_kernel(struct cubin *c, uint64_t at, const char *name)
{
    uint64_t number;
    if (c->count == KERNELS_MAX || !name || at > c->line_bytes || c->line_bytes - at < sizeof number)
        return;
    struct kernel *more = realloc(c->kernels, (c->count + 1) * sizeof *more);
    if (!more)
        return;
    c->kernels = more;
    more[c->count++] = (struct kernel){.name = name, .lowest = ~(Dwarf_Addr)0};
    number = (uint64_t)c->count << KERNEL_SHIFT;
    memcpy(c->bytes + c->line_at + at, &number, sizeof number);
}

static void number_kernels(struct cubin *c, Elf_Scn *relocations)
{
    GElf_Shdr head, table;
    if (!gelf_getshdr(relocations, &head))
        return;
    Elf_Scn *section = elf_getscn(c->elf, head.sh_link);
    Elf_Data *data = elf_getdata(relocations, NULL), *symbols = section ? elf_getdata(section, NULL) : NULL;
    if (!data || !symbols || !gelf_getshdr(section, &table) || !head.sh_entsize)
        return;
    for (size_t i = 0; i < head.sh_size / head.sh_entsize; i++) {
        GElf_Rela with;
        GElf_Rel without;
        if (head.sh_type == SHT_RELA ? gelf_getrela(data, (int)i, &with) != NULL : false)
            number_kernel(c, with.r_offset, symbol_name(c->elf, symbols, table.sh_link, GELF_R_SYM(with.r_info)));
        else if (head.sh_type == SHT_REL && gelf_getrel(data, (int)i, &without))
            number_kernel(c, without.r_offset, symbol_name(c->elf, symbols, table.sh_link, GELF_R_SYM(without.r_info)));
    }
}

static void take_line(struct cubin *c, Dwarf_Line *row)
{
    Dwarf_Addr address;
    int line;
    bool ends = false;
    if (dwarf_lineaddr(row, &address) || dwarf_lineno(row, &line) || line <= 0 ||
        (dwarf_lineendsequence(row, &ends) == 0 && ends))
        return;
    const uint64_t number = address >> KERNEL_SHIFT;
    const char *file = number && number <= c->count ? dwarf_linesrc(row, NULL, NULL) : NULL;
    if (!file)
        return;
    struct kernel *k = &c->kernels[number - 1];
    if (c->row)
        c->row(c->user, k->name, address & ((1ull << KERNEL_SHIFT) - 1), file, (unsigned)line);
    if (address >= k->lowest)
        return;
    k->lowest = address;
    k->line = (unsigned)line;
    k->file = file;
}

static void read_lines(struct cubin *c, sonde__cubin_fn fn, void *user)
{
    Elf *elf = elf_memory(c->bytes, c->size); /* anew: what the first has read is as it was */
    Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    Dwarf_Off at = 0, next = 0;
    Dwarf_CU *unit = NULL;
    Dwarf_Files *files;
    Dwarf_Lines *lines;
    size_t count;
    while (dwarf && dwarf_next_lines(dwarf, at, &next, &unit, &files, NULL, &lines, &count) == 0) {
        for (size_t i = 0; i < count; i++)
            take_line(c, dwarf_onesrcline(lines, i));
        at = next;
    }
    for (size_t i = 0; i < c->count && fn; i++)
        if (c->kernels[i].file)
            fn(user, c->kernels[i].name, c->kernels[i].file, c->kernels[i].line);
    if (dwarf)
        dwarf_end(dwarf);
    if (elf)
        elf_end(elf);
}

static void read_cubin(struct cubin c, sonde__cubin_fn fn, void *user)
{
    const size_t size = c.size;
    GElf_Shdr head;
    elf_version(EV_CURRENT);
    c.elf = elf_memory(c.bytes, size);
    Elf_Scn *table = c.elf && elf_kind(c.elf) == ELF_K_ELF ? find_section(c.elf, ".debug_line") : NULL;
    Elf_Scn *relocations = table ? find_section(c.elf, ".rela.debug_line") : NULL;
    if (table && !relocations)
        relocations = find_section(c.elf, ".rel.debug_line");
    if (table && relocations && gelf_getshdr(table, &head) && head.sh_type == SHT_PROGBITS && head.sh_offset <= size &&
        head.sh_size <= size - head.sh_offset) {
        c.line_at = head.sh_offset;
        c.line_bytes = head.sh_size;
        number_kernels(&c, relocations);
        if (c.count)
            read_lines(&c, fn, user);
    }
    free(c.kernels);
    if (c.elf)
        elf_end(c.elf);
}

void sonde__cubin_lines(void *bytes, size_t size, sonde__cubin_fn fn, void *user)
{
    read_cubin((struct cubin){.bytes = bytes, .size = size}, fn, user);
}

void sonde__cubin_rows(void *bytes, size_t size, sonde__cubin_row_fn fn, void *user)
{
    read_cubin((struct cubin){.bytes = bytes, .size = size, .row = fn, .user = user}, NULL, NULL);
}

/* ---- the folder -------------------------------------------------------------------- */

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    void *bytes = NULL;
    long end;
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && (size_t)end < BYTES_MAX) {
        rewind(file);
        bytes = malloc((size_t)end);
        *size = bytes ? fread(bytes, 1, (size_t)end, file) : 0;
    }
    if (file)
        fclose(file);
    return bytes;
}

void *sonde__cubin_load(const char *path, size_t *size)
{
    size_t packed_size = 0;
    void *packed = read_file(path, &packed_size);
    const unsigned long long whole = packed ? ZSTD_getFrameContentSize(packed, packed_size) : 0;
    void *bytes = whole && whole < BYTES_MAX ? malloc((size_t)whole) : NULL; /* unknown and error are huge */
    if (bytes && ZSTD_decompress(bytes, (size_t)whole, packed, packed_size) != whole) {
        free(bytes);
        bytes = NULL;
    }
    *size = (size_t)whole;
    free(packed);
    return bytes;
}

int sonde__cubins_list(const char *folder, struct sonde__cubin_paths *paths)
{
    DIR *dir = opendir(folder);
    int rc = 0;
    for (struct dirent *entry; dir && !rc && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name), suffix = strlen(SONDE_CUBIN_SUFFIX);
        struct sonde_text path = {0};
        if (length < suffix || strcmp(entry->d_name + length - suffix, SONDE_CUBIN_SUFFIX) != 0)
            continue;
        sonde_text_format(&path, "%s/%s", folder, entry->d_name);
        char *copy = path.failed ? NULL : strdup(sonde_text_get(&path));
        rc = copy ? sonde_vector_push(paths, copy) : SONDE_ENOMEM;
        if (rc)
            free(copy);
        sonde_text_fini(&path);
    }
    if (dir)
        closedir(dir);
    return rc;
}

static int each_in(const char *folder, int (*each)(void *user, void *bytes, size_t size), void *user)
{
    struct sonde__cubin_paths paths = {0};
    int rc = sonde__cubins_list(folder, &paths);
    for (size_t i = 0; i < paths.count; i++) {
        size_t size;
        void *bytes = rc ? NULL : sonde__cubin_load(paths.items[i], &size);
        if (bytes)
            rc = each(user, bytes, size);
        free(bytes);
        free(paths.items[i]);
    }
    sonde_vector_fini(&paths);
    return rc;
}

int sonde__cubins_each(const char *dir, int (*each)(void *user, void *bytes, size_t size), void *user)
{
    struct sonde_text folder = {0};
    sonde_text_format(&folder, "%s/" SONDE_CODE_FOLDER, dir);
    const int rc = folder.failed ? SONDE_ENOMEM : each_in(sonde_text_get(&folder), each, user);
    sonde_text_fini(&folder);
    return rc;
}

struct told {
    sonde__cubin_fn fn;
    void *user;
};

static int tell_lines(void *user, void *bytes, size_t size)
{
    const struct told *to = user;
    sonde__cubin_lines(bytes, size, to->fn, to->user);
    return 0;
}

bool sonde__cubins_read(const char *folder, sonde__cubin_fn fn, void *user)
{
    (void)each_in(folder, tell_lines, &(struct told){fn, user});
    return access(folder, R_OK) == 0;
}

/* modules.c - a process's memory, and the libraries in it, read from there: the file of a library may have been replaced since. */
#include "parts.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ---- mappings --------------------------------------------------------------------- */

static bool add_line(struct sonde_mappings *m, char *line)
{
    struct sonde_mapping one = {0};
    char rights[5];
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &one.begin, &one.end, rights, &one.offset,
               &one.device_major, &one.device_minor, &one.inode, &path_at) < 7)
        return true; /* of no kernel that is known */
    line[strcspn(line, "\n")] = 0;
    one.executable = rights[2] == 'x';
    one.path = strdup(path_at ? line + path_at : "");
    if (one.path && !sonde_vector_push(&m->list, one))
        return true;
    free(one.path);
    return false;
}

bool sonde__mappings_read(pid_t pid, struct sonde_mappings *out)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool whole = true;
    *out = (struct sonde_mappings){0};
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (whole && getline(&line, &room, file) > 0)
        whole = add_line(out, line);
    free(line);
    fclose(file);
    return whole && out->list.count;
}

void sonde__mappings_fini(struct sonde_mappings *m)
{
    for (size_t i = 0; i < m->list.count; i++)
        free(m->list.items[i].path);
    sonde_vector_fini(&m->list);
}

const struct sonde_mapping *sonde__mapping_at(const struct sonde_mappings *m, uint64_t address)
{
    for (size_t i = 0; i < m->list.count; i++)
        if (address >= m->list.items[i].begin && address < m->list.items[i].end)
            return &m->list.items[i];
    return NULL;
}

const struct sonde_mapping *sonde__mapping_of(const struct sonde_mappings *m, const char *name)
{
    for (size_t i = 0; i < m->list.count; i++) {
        const struct sonde_mapping *one = &m->list.items[i];
        if (!one->offset && strncmp(sonde_path_base(one->path), name, strlen(name)) == 0)
            return one;
    }
    return NULL;
}

/* ---- memory ------------------------------------------------------------------------ */

bool sonde__remote_read(const struct sonde_attach *a, uint64_t address, void *to, size_t bytes)
{
    return pread(a->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool sonde__remote_write(const struct sonde_attach *a, uint64_t address, const void *from, size_t bytes)
{
    return pwrite(a->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* ---- modules ------------------------------------------------------------------------- */

/* Addresses in a module's dynamic section: the loader has added the bias to those of most. */
static uint64_t moved(const struct sonde_remote_module *m, uint64_t address)
{
    return address < m->bias ? address + m->bias : address;
}

static bool read_dynamic(const struct sonde_attach *a, struct sonde_remote_module *m, uint64_t at)
{
    Elf64_Dyn entry;
    for (unsigned n = 0; n < 1000 && sonde__remote_read(a, at, &entry, sizeof entry) && entry.d_tag != DT_NULL; n++, at += sizeof entry) {
        if (entry.d_tag == DT_SYMTAB)
            m->symbols = moved(m, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            m->strings = moved(m, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            m->hash = moved(m, entry.d_un.d_ptr);
    }
    return m->symbols && m->strings && m->hash;
}

bool sonde__module_open(const struct sonde_attach *a, uint64_t base, struct sonde_remote_module *out)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    uint64_t dynamic = 0, tls = 0;
    bool loads = false;
    *out = (struct sonde_remote_module){.base = base};
    if (!sonde__remote_read(a, base, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (!sonde__remote_read(a, base + head.e_phoff + (uint64_t)i * head.e_phentsize, &segment, sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && !loads) {
            loads = true;
            out->bias = base - (segment.p_vaddr - segment.p_offset);
        } else if (segment.p_type == PT_DYNAMIC) {
            dynamic = segment.p_vaddr;
        } else if (segment.p_type == PT_TLS) {
            tls = segment.p_vaddr;
            out->tls_bytes = segment.p_filesz;
        }
    }
    out->tls_image = tls + out->bias;
    return loads && dynamic && read_dynamic(a, out, dynamic + out->bias);
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    return hash;
}

/* The table is described in "Optimizing DSO lookups with GNU hash" of the gABI's supplements: header, bloom filter, buckets, chains. */
uint64_t sonde__module_symbol(const struct sonde_attach *a, const struct sonde_remote_module *m, const char *name)
{
    uint32_t head[4], index = 0, chained;
    const uint32_t wanted = gnu_hash(name);
    char found[128];
    Elf64_Sym symbol;
    if (!m->base || !sonde__remote_read(a, m->hash, head, sizeof head) || !head[0])
        return 0;
    const uint64_t buckets = m->hash + sizeof head + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!sonde__remote_read(a, buckets + 4ull * (wanted % head[0]), &index, sizeof index) || index < head[1])
        return 0;
    for (;; index++) {
        if (!sonde__remote_read(a, chains + 4ull * (index - head[1]), &chained, sizeof chained))
            return 0;
        if ((chained | 1) == (wanted | 1) && sonde__remote_read(a, m->symbols + sizeof symbol * (uint64_t)index, &symbol, sizeof symbol) &&
            sonde__remote_read(a, m->strings + symbol.st_name, found, strlen(name) + 1) && memcmp(found, name, strlen(name) + 1) == 0 &&
            symbol.st_shndx != SHN_UNDEF)
            return symbol.st_value + m->bias;
        if (chained & 1)
            return 0;
    }
}

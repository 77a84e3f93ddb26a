/* debug_names.c - one pass over a file's symbols for many addresses. See debug_names.h. */
#include "debug_names.h"

#include <stdlib.h>

struct sonde__debug_name {
    const char *name;
    uint64_t start, bytes;
    int rank;
};

/* Where the first address that is not below `from` stands. */
static size_t first_from(const struct sonde__debug_names *n, uint64_t from)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->addresses[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of several names of one place the one that other files can see is meant. */
static int rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL: return 2;
    case STB_WEAK: return 1;
    default: return 0;
    }
}

static bool is_code(const GElf_Sym *symbol)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_SECTION:
    case STT_FILE:
    case STT_TLS:
    case STT_OBJECT:
    case STT_COMMON:
        return false;
    default:
        return symbol->st_shndx != SHN_UNDEF && symbol->st_size != 0;
    }
}

/* The innermost symbol wins, then the better known, then the first. Only one
 * that covers the address names it: the nearest one before would be a guess. */
static void offer(struct sonde__debug_names *n, const struct sonde__debug_name *symbol)
{
    for (size_t i = first_from(n, symbol->start); i < n->count && n->addresses[i] - symbol->start < symbol->bytes; i++) {
        struct sonde__debug_name *best = &n->found[i];
        if (!best->name || symbol->start > best->start ||
            (symbol->start == best->start && (symbol->bytes < best->bytes ||
                                              (symbol->bytes == best->bytes && symbol->rank > best->rank))))
            *best = *symbol;
    }
}

void sonde__debug_names_find(struct sonde__debug_names *n, Dwfl_Module *module,
                             const uint64_t *addresses, size_t count)
{
    static const uint64_t none;
    n->addresses = count ? addresses : &none;
    n->count = count;
    n->found = count ? calloc(count, sizeof *n->found) : NULL;
    const int symbols = n->found ? dwfl_module_getsymtab(module) : 0;
    for (int i = 1; i < symbols; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &start, &section, NULL, NULL);
        if (name && *name && is_code(&symbol))
            offer(n, &(struct sonde__debug_name){name, start, symbol.st_size, rank_of(&symbol)});
    }
}

const char *sonde__debug_names_get(const struct sonde__debug_names *n, uint64_t address)
{
    const size_t at = first_from(n, address);
    return n->found && at < n->count && n->addresses[at] == address ? n->found[at].name : NULL;
}

void sonde__debug_names_fini(struct sonde__debug_names *n)
{
    free(n->found);
}

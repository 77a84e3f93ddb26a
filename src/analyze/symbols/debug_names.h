/* debug_names.h - which symbols of a file cover given addresses, in one pass over them.
 * Internal to src/analyze/symbols/debug_file.c.
 *
 * A library has up to a million symbols, a run has some hundred addresses in it: the addresses are
 * kept in order and each symbol looks for those that it covers. Sorting the symbols, or asking
 * libdwfl (which goes through all of them for each address), costs more.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_DEBUG_NAMES_H
#define SONDE_ANALYZE_SYMBOLS_DEBUG_NAMES_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__debug_names { /* ready when zeroed */
    const uint64_t *addresses; /* rising; NULL: not looked for yet */
    size_t count;
    struct sonde__debug_name *found; /* one for each address; NULL: out of memory */
};

/* Find the names of `addresses` (rising, of the file at load bias 0), which must
 * stay until fini. The names are the module's. */
void sonde__debug_names_find(struct sonde__debug_names *names, Dwfl_Module *module,
                             const uint64_t *addresses, size_t count);
/* The name of the innermost symbol that covers `address`; NULL: none does, or the
 * address was not among those given to find. */
const char *sonde__debug_names_get(const struct sonde__debug_names *names, uint64_t address);
void sonde__debug_names_fini(struct sonde__debug_names *names);

#endif

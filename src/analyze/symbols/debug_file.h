/* debug_file.h - one module's file with its debug information: from an address to source.
 * Internal to src/analyze.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_DEBUG_FILE_H
#define SONDE_ANALYZE_SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sonde__debug_file;

struct sonde__debug_wanted {
    const char *path;
    const uint8_t *build_id;      /* of the module as it was loaded */
    size_t build_id_bytes; /* 0: it had none */
    uint64_t wall_ns;             /* without a build id: a file changed after this is another one; 0 unknown */
    bool names_only;              /* leave the debug information alone: functions of symbols, no lines */
};

/* Reasons that depend on the machine where the report is made. */
#define SONDE__DEBUG_GONE  "there is no such file on this machine"
#define SONDE__DEBUG_OTHER "the file differs from the one that ran (build id or date)"

/* Open the file that was loaded, or the debug file of its build id; of the vDSO,
 * the one of this process, if it is the same. NULL with a reason in `why` when
 * there is none, or only another one. */
struct sonde__debug_file *sonde__debug_open(const struct sonde__debug_wanted *wanted,
                                            char *why, size_t why_bytes);
static inline bool sonde__debug_is_vdso(const char *path)
{
    return strncmp(path, "linux-vdso", 10) == 0 || strcmp(path, "[vdso]") == 0;
}
/* Has it no symbols but those for linking, and no debug information either? */
bool sonde__debug_is_stripped(struct sonde__debug_file *file);
void sonde__debug_close(struct sonde__debug_file *file);

/* One level of the source at an address. Strings are valid until close, and
 * NULL where unknown; line 0 is unknown. `function` may be mangled. */
struct sonde__place {
    const char *function, *file;
    uint32_t line;
};

enum { SONDE__PLACES_MAX = 64 };

/* All addresses that will be looked up, in rising order; stay the caller's, until close.
 * A file has up to a million symbols: they are gone through once for all addresses. */
void sonde__debug_expect(struct sonde__debug_file *file, const uint64_t *addresses, size_t count);

/* Places of `address` (of the file, load bias 0), innermost first: the inlined
 * functions, then the one that holds them. Returns how many; 0 when unknown.
 * Only an expected address is found among the symbols. */
size_t sonde__debug_lookup(struct sonde__debug_file *file, uint64_t address,
                           struct sonde__place places[SONDE__PLACES_MAX]);

#endif

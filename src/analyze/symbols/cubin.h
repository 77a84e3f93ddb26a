/* cubin.h - where kernels stand in the source, from device code that a measurement keeps.
 *
 * Only code that was compiled with line tables has them (nvcc -lineinfo or -G).
 */
#ifndef SONDE_ANALYZE_SYMBOLS_CUBIN_H
#define SONDE_ANALYZE_SYMBOLS_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Told of each kernel: its symbol, and the line of its first instruction. The
 * texts are gone afterwards. */
typedef void (*sonde__cubin_fn)(void *user, const char *kernel, const char *file, unsigned line);

/* One piece of code. The bytes are changed. What is damaged is skipped. */
void sonde__cubin_lines(void *bytes, size_t size, sonde__cubin_fn fn, void *user);

/* Told of each row of its line tables: a kernel's instructions from `offset` on, until the next row's. */
typedef void (*sonde__cubin_row_fn)(void *user, const char *kernel, uint64_t offset, const char *file, unsigned line);
void sonde__cubin_rows(void *bytes, size_t size, sonde__cubin_row_fn fn, void *user);

/* The bytes of one piece's file; the caller frees them. NULL: unreadable. */
void *sonde__cubin_load(const char *path, size_t *size);

/* Each piece of code that the measurement `dir` keeps, one after the other; `each` may change its bytes. 0, what `each` said first, or SONDE_ENOMEM. */
int sonde__cubins_each(const char *dir, int (*each)(void *user, void *bytes, size_t size), void *user);

/* Paths of all pieces in a folder, each to be freed; none where there is no folder. 0 or SONDE_ENOMEM. */
struct sonde__cubin_paths {
    char **items;
    size_t count, capacity;
};
int sonde__cubins_list(const char *folder, struct sonde__cubin_paths *paths);

/* All pieces in a folder (HASH.cubin.zst). False: there is no such folder. */
bool sonde__cubins_read(const char *folder, sonde__cubin_fn fn, void *user);

#endif

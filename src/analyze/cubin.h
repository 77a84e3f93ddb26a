/* cubin.h - where kernels stand in the source, from device code that a measurement keeps.
 *
 * Only code that was compiled with line tables has them (nvcc -lineinfo or -G).
 */
#ifndef SONDE_ANALYZE_CUBIN_H
#define SONDE_ANALYZE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Told of each kernel: its symbol, and the line of its first instruction. The
 * texts are gone afterwards. */
typedef void (*sonde__cubin_fn)(void *user, const char *kernel, const char *file, unsigned line);

/* One piece of code. The bytes are changed. What is damaged is skipped. */
void sonde__cubin_lines(void *bytes, size_t size, sonde__cubin_fn fn, void *user);

/* All pieces in a folder (HASH.cubin.zst). False: there is no such folder. */
bool sonde__cubins_read(const char *folder, sonde__cubin_fn fn, void *user);

#endif

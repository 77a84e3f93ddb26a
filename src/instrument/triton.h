/* triton.h - the PTX of machine code that Triton made.
 *
 * Triton gives the driver machine code (a cubin), which it has compiled of PTX, and keeps both in a folder of its cache:
 * NAME.cubin and NAME.ptx, where NAME is the kernel's. So has torch.compile, which uses Triton. The cache is that of Triton 3:
 * $TRITON_CACHE_DIR, else .triton/cache in $TRITON_HOME or $HOME. The PTX is taken where the cubin beside it is, byte for byte,
 * what was loaded; that is compared by length and by 64 bits of XXH3.
 *
 * Threads: any.
 */
#ifndef SONDE_INSTRUMENT_TRITON_H
#define SONDE_INSTRUMENT_TRITON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "instrument/fatbin.h"

struct sonde_cubin {
    uint64_t hash;
    size_t bytes; /* 0: it is none */
};

/* What is compared later, of an image that begins with a cubin and is as long as the cubin's headers say. */
struct sonde_cubin sonde__cubin(const void *image);

/* Find the PTX of a kernel in this cubin. `out` is as it was where there is none; else to be released with sonde__image_release. */
void sonde__triton_ptx(const struct sonde_cubin *cubin, const char *kernel, struct sonde_image_ptx *out);

#endif

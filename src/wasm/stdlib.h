/* stdlib.h - the C library's, and qsort_r, which it has not (src/wasm/system.c). */
#ifndef SONDE_WASM_STDLIB_H
#define SONDE_WASM_STDLIB_H

#include_next <stdlib.h>

void qsort_r(void *items, size_t count, size_t bytes, int (*compare)(const void *left, const void *right, void *user), void *user);

#endif

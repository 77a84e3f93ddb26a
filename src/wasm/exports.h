/* exports.h - the functions of sonde.wasm that the page's worker calls (viewer/src/transport/wasi.ts), in this order. */
#ifndef SONDE_WASM_EXPORTS_H
#define SONDE_WASM_EXPORTS_H

#include <stddef.h>

/* Where to write a text of so many bytes, a path or a request; a zero stands behind it. NULL: no memory. */
char *sonde_wasm_reserve(size_t bytes);

/* Opens the measurement whose path was written. 0, or a negative code; then the answer is a sentence. */
int sonde_wasm_open(void);

/* Answers the request that was written. The status; the answer is valid until the next call. */
int sonde_wasm_ask(size_t bytes);
const char *sonde_wasm_type(void);
const char *sonde_wasm_bytes(void);
size_t sonde_wasm_size(void);

#endif

/* symbols.h - what the machine that wrote the page knew of files without symbols. */
#ifndef SONDE_WASM_SYMBOLS_H
#define SONDE_WASM_SYMBOLS_H

/* Read it, before the measurement at `path` is opened. Without it (another tool packed the folder) files are not there. 0 or SONDE_ENOMEM. */
int sonde_wasm_symbols(const char *path);

#endif

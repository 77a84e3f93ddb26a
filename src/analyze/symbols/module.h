/* module.h - the SYMBOL rows of the frames in one module, of all processes that had it. Internal to src/analyze/symbols/symbols.c.
 *
 * A module is looked at by one thread; several modules at once.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_MODULE_H
#define SONDE_ANALYZE_SYMBOLS_MODULE_H

#include "symbols.h"

struct sonde__wanted_frame { uint32_t module /* equal numbers, equal files */, process, frame; };

/* Rows of `frames`, all of one module and in the order of `processes`, into outs[k] of the k-th process among
 * them (ready to use zeroed). 0 or SONDE_ENOMEM. */
int sonde__symbols_of_module(const struct sonde_process *const *processes, const struct sonde__wanted_frame *frames,
                             size_t count, struct sonde_symbols *outs);

/* Id of the function's readable name; `known` remembers those of mangled ones (zeroed before the first). */
uint32_t sonde__symbols_name(struct sonde_intern *strings, struct sonde_map *known, const char *name);

#endif

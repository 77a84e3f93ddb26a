/* perf_map.h - names of code that a program made while it ran, as its maker wrote them to /tmp/perf-PID.map.
 * Internal to src/analyze.
 *
 * This is perf's convention (Linux, tools/perf/Documentation/jit-interface.txt): one line for each piece of
 * code, "START SIZE NAME" with both numbers hexadecimal. Node.js (--perf-basic-prof), Java (perf-map-agent),
 * LuaJIT, Python from 3.12 on (-X perf), Julia, Mono and LLVM write it. Code may move, and its place be used
 * again: the last line for an address counts, as in perf.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_PERF_MAP_H
#define SONDE_ANALYZE_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct sonde_symbols;
struct sonde_process;

/* Append SYMBOL rows to *out for those frames of code in no module that the map in `path` names, and a NOTE when
 * there is a map that must not be used: another user's (neither the caller's nor root's), or older than the
 * process. No map: nothing. 0 or SONDE_ENOMEM. */
int sonde__perf_map_read(const char *path, const struct sonde_process *process, struct sonde_symbols *out);

#endif

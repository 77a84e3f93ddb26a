/* places.h - where in the source accesses of machine code are (record --comm-engine=sanitizer), from the code that a measurement keeps (cubin.h). */
#ifndef SONDE_ANALYZE_SYMBOLS_PLACES_H
#define SONDE_ANALYZE_SYMBOLS_PLACES_H

#include <sonde/error.h>

/* Appends PLACE rows to the processes of the measurement `dir`, which are sealed. Does nothing in a process that has some, or has no such accesses.
 * 0 or an error code. One thread. */
int sonde_places_resolve(const char *dir, struct sonde_diag *diag);

#endif

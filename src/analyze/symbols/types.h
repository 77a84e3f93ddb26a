/* types.h - the element types of accesses of machine code, from the code that a measurement keeps (sass.h, nvdisasm.h).
 *
 * Such accesses are ACCESS rows of type BITS that have a BITS row: what their elements are as numbers of each type. A TYPE row says of which.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_TYPES_H
#define SONDE_ANALYZE_SYMBOLS_TYPES_H

#include <sonde/error.h>

/* Appends TYPE rows to the processes of the measurement `dir`, which are sealed; and a NOTE where types are not known. Does nothing in a
 * process that has some, or has no such accesses. 0 or an error code. One thread. */
int sonde_types_resolve(const char *dir, struct sonde_diag *diag);

#endif

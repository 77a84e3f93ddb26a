/* calls.h - what a kernel calls: are there functions that may access the program's memory?
 *
 * A function that is called is in its module, and is read like a kernel: it leaves memory alone where it has no access to memory of the
 * device, as those of the CUDA mathematics, which have bodies in each module that uses them. They alone may read tables of the compiler's.
 * Of functions that are declared only, printf, assert and the heap are known. What a pointer calls may be any.
 *
 * Threads: any.
 */
#ifndef SONDE_INSTRUMENT_CALLS_H
#define SONDE_INSTRUMENT_CALLS_H

#include "ptx.h"

/* Do all calls in this function, and those within them, leave the program's memory alone? */
bool sonde__ptx_calls_are_harmless(const struct sonde_ptx *p, const struct sonde_ptx_function *f);

#endif

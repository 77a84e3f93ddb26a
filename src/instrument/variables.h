/* variables.h - the variables of its module that a kernel in PTX names. A copy of the kernel in another module reaches them through
 * pointers (rewrite.h), so that it has the program's own, and not others of the same names.
 *
 * Constants, too, have an address in global memory. What the compiler has put there itself ($str, tables of its mathematics) is
 * the same in every module, and does not count.
 *
 * Threads: any; names point into the text.
 */
#ifndef SONDE_INSTRUMENT_VARIABLES_H
#define SONDE_INSTRUMENT_VARIABLES_H

#include "ptx.h"

#define SONDE_PTX_VARIABLES_MAX 32u

struct sonde_ptx_variables {
    struct sonde_ptx_span name[SONDE_PTX_VARIABLES_MAX];
    uint32_t count; /* UINT32_MAX: more than that, or some whose place cannot be taken by a pointer */
    bool constants; /* some are .const: then all that the kernel loads from there is of them */
};

/* Is one of this name the compiler's own? */
bool sonde__ptx_is_compilers(const struct sonde_ptx *p, struct sonde_ptx_span name);
void sonde__ptx_variables(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_variables *out);
/* The number of this name, from 1; 0: it is none of them. */
uint32_t sonde__ptx_variable(const struct sonde_ptx *p, const struct sonde_ptx_variables *v, struct sonde_ptx_span name);

#endif

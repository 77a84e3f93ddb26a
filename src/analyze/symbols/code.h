/* code.h - of the device code that a measurement keeps, leave what ran.
 *
 * A library's module has hundreds of kernels of which a run uses some, and with
 * eager loading every module is loaded. While the program runs all of it is
 * kept, since nobody knows what will run, and a kill must not lose it.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_CODE_H
#define SONDE_ANALYZE_SYMBOLS_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/progress.h"

/* Remove the pieces of code in the measurement `dir` of which no kernel ran, and
 * the instructions of kernels that did not run from the others. Nothing is
 * changed where not all that ran is known: operations that were lost or still in
 * flight, processes that were killed, graphs and native kernels without names.
 * `progress` counts pieces. 0 or an error code. */
int sonde_code_trim(const char *dir, struct sonde_progress *progress);

enum sonde__code_left {
    SONDE__CODE_WHOLE, /* each kernel ran, or it has none, or cannot be understood */
    SONDE__CODE_PART,  /* the bytes have changed: kernels that did not run are gone */
    SONDE__CODE_NONE,  /* no kernel ran */
};

/* One piece: `ran` holds the names of the kernels that ran, as strcmp sorts them. */
enum sonde__code_left sonde__code_reduce(void *bytes, size_t size, const char *const *ran, size_t count);

#endif

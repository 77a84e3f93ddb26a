/* views.h - what the views of `sonde report` compute, for the fuzzer. */
#ifndef SONDE_FUZZ_VIEWS_H
#define SONDE_FUZZ_VIEWS_H

#include "format/reader.h"

void fuzz_views(const struct sonde_measurement *m);

#endif

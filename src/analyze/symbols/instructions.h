/* instructions.h - the text of sampled instructions (record --pc), from the code that a measurement keeps (disassembly.h). */
#ifndef SONDE_ANALYZE_SYMBOLS_INSTRUCTIONS_H
#define SONDE_ANALYZE_SYMBOLS_INSTRUCTIONS_H

#include <sonde/error.h>

/* Appends INSTRUCTION rows to the processes of the measurement `dir`, which are sealed, and a NOTE where there is no disassembler, or it failed; nothing in a
 * process that has some, or has no samples. 0 or an error code. One thread. */
int sonde_instructions_resolve(const char *dir, struct sonde_diag *diag);

#endif

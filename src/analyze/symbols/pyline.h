/* pyline.h - line of an instruction from a code object's line table (CPython's
 * Objects/lnotab_notes.txt, PEP 626, and Objects/locations.md describe the three forms). */
#ifndef SONDE_ANALYZE_SYMBOLS_PYLINE_H
#define SONDE_ANALYZE_SYMBOLS_PYLINE_H

#include <stddef.h>
#include <stdint.h>

/* Line of the instruction at byte `offset`; first_line when the table does not
 * say. `version` as in struct sonde_row_pycode. Never reads past the table. */
uint32_t sonde_pyline(const uint8_t *table, size_t bytes, uint32_t version,
                      uint32_t first_line, uint32_t offset);
#endif

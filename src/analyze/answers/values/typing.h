/* typing.h - accesses of machine code: what was found, read as elements of the type that their code takes them for (analyze/symbols/types.h).
 *
 * Threads: any; one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_VALUES_TYPING_H
#define SONDE_ANALYZE_ANSWERS_VALUES_TYPING_H

#include "format/reader.h"

struct sonde_value_typing { /* of a process; ready when zeroed */
    const struct sonde_process *process;
    struct sonde_value_typing_of {
        uint32_t bits, type, guess; /* row of BITS; row of TYPE plus one; row of GUESS; 0 none */
    } *of;                   /* row of ACCESS -> its; NULL: there are none */
    uint32_t count;
};

/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde_value_typing_find(const struct sonde_process *process, struct sonde_value_typing *out);
void sonde_value_typing_fini(struct sonde_value_typing *b);

/* Row `id` of ACCESS as its type has it; as it is, where the type is not known. */
void sonde_value_typing_read(const struct sonde_value_typing *b, uint32_t id, struct sonde_row_access *row);

#endif

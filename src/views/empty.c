/* empty.c - why a measurement has no operation, in one sentence. */
#include "empty.h"

#include <stdio.h>

#include "analyze/symbols/symbols.h"

/* A reason for no operation: missing symbols are none. */
static const struct sonde_row_note *first_note(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t k = 0; k < m->processes[i].note_count; k++)
            if (m->processes[i].notes[k].text[0] && !sonde_symbols_is_note(m->processes[i].notes[k].text))
                return &m->processes[i].notes[k];
    return NULL;
}

static bool ended_without_exit(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        if (m->processes[i].header.state == SONDE_PROCESS_RUNNING)
            return true;
    return false;
}

int sonde_query_empty(const struct sonde_query *q, const char *word, struct sonde_diag *diag)
{
    const struct sonde_totals *t = &q->totals;
    sonde_diag_set(diag, SONDE_EEMPTY, q->path, "no operations in");
    const struct sonde_row_note *note = first_note(q->m);
    if (q->m->process_count == 0) {
        snprintf(diag->why, sizeof diag->why, "no process of the program called a GPU API known to Sonde");
        sonde_diag_hint(diag, "'sonde doctor' shows which ones are found here");
    } else if (t->dropped_operations) {
        snprintf(diag->why, sizeof diag->why, "all %llu operations were dropped",
                 (unsigned long long)t->dropped_operations);
        sonde_diag_hint(diag, "see 'sonde report %s ledger' for the causes", word);
    } else if (t->ledger.seen) {
        snprintf(diag->why, sizeof diag->why, "%llu were enqueued, but none had completed when the recording ended",
                 (unsigned long long)t->ledger.seen);
        sonde_diag_hint(diag, "see 'sonde report %s lanes' for what waits", word);
    } else if (note) {
        snprintf(diag->why, sizeof diag->why, "%.190s", note->text);
        sonde_diag_hint(diag, "see 'sonde report %s ledger'", word);
    } else if (ended_without_exit(q->m)) {
        snprintf(diag->why, sizeof diag->why, "the program was killed, or crashed, before Sonde recorded an operation");
        sonde_diag_hint(diag, "at most the last second of a program is lost that way; see 'sonde report %s api'", word);
    } else {
        snprintf(diag->why, sizeof diag->why, "the program loaded a GPU runtime, but enqueued nothing while recording");
        sonde_diag_hint(diag, "was the recorded window (--delay, --duration, sonde_start()) reached? see 'sonde report %s api'",
                        word);
    }
    return SONDE_EEMPTY;
}

bool sonde_query_has_operations(const struct sonde_query *q)
{
    return q->profile->ops.count > 0;
}

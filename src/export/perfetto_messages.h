/* perfetto_messages.h - messages of MPI as flows: from the call in which a rank sent it to the end of the one that received it.
 *
 * Threads: found by one, asked by any.
 */
#ifndef SONDE_EXPORT_PERFETTO_MESSAGES_H
#define SONDE_EXPORT_PERFETTO_MESSAGES_H

#include "analyze/profile/profile.h"

struct pf_messages { /* ready when zeroed */
    struct pf_message_end { /* of calls, by the fields' order */
        uint32_t process, lane;
        uint64_t enter_ns;  /* by its process's clock */
        bool received;
    } *ends;
    uint64_t *flows;        /* [as ends] */
    size_t count;
};

/* Match the messages of all ranks. Those of more than SONDE_AXIS_ROWS have none. 0, SONDE_ENOMEM, or an error of reading; fini in either case. */
int pf_messages_find(struct pf_messages *x, const struct sonde_measurement *m, const struct sonde_profile *profile);
void pf_messages_fini(struct pf_messages *x);
/* Flows of what a call sent, or received; *count of them. */
const uint64_t *pf_messages_of(const struct pf_messages *x, const struct pf_message_end *end, size_t *count);

#endif

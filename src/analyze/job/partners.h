/* partners.h - the other ranks in one call of MPI, or one collective of NCCL: who sent it what it received, who received what it sent, and all that a
 * communicator does together. docs/developers/requests.md, "partners".
 */
#ifndef SONDE_ANALYZE_JOB_PARTNERS_H
#define SONDE_ANALYZE_JOB_PARTNERS_H

#include "analyze/profile/profile.h"

/* The call that belongs to it in another rank: of who sent it what it received, or receives what it sent; or of all that a communicator does together. */
struct sonde_message_partner {
    uint32_t process, lane, rank;
    uint32_t node;               /* of the profile's tree: its call */
    uint32_t kind;               /* enum sonde_message_kind, of what the asked for did; SEND: to the partner */
    uint64_t enter_ns, leave_ns; /* on the axis of its process */
    uint64_t bytes;
    uint32_t tag;                /* of MPI's, one to one; UINT32_MAX: there is none */
    bool decided;                /* the asked for waited for it, */
    bool waited;                 /* or it for the asked for */
};
struct sonde_message_partners {  /* ready when zeroed */
    uint32_t node;               /* of the call that was asked for; 0: there is none */
    uint64_t enter_ns, leave_ns;
    uint64_t wait_ns;            /* of it */
    SONDE_VECTOR(struct sonde_message_partner) items; /* by rank, then entry */
};
/* Of the innermost call that the thread was in at a time of its process; of a communicator's lane of NCCL, of the collective, or of all that one kernel
 * carries out. 0 or SONDE_ENOMEM; fini in both cases. */
int sonde_message_partners_find(const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, uint32_t lane, uint64_t at_ns,
                                struct sonde_message_partners *out);
void sonde_message_partners_fini(struct sonde_message_partners *partners);

#endif

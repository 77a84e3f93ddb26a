/* otf2_messages.h - MPI in an archive of OTF2: communicators, and what its calls sent, received and did together.
 *
 * A communicator's members are the ranks that used it, in the order of their numbers. One thread at a time.
 */
#ifndef SONDE_EXPORT_OTF2_MESSAGES_H
#define SONDE_EXPORT_OTF2_MESSAGES_H

#include "format/reader.h"
#include "otf2_archive.h"

struct otf_message {          /* as in the row of the measurement */
    uint64_t bytes;
    uint32_t comm;            /* reference of the archive */
    uint32_t peer;            /* index in its members; OTF2_UNDEFINED_UINT32: none */
    uint32_t tag, kind;
    OTF2_CollectiveOp op;
};

struct otf_comm;
struct otf_rank;
struct otf_messages {         /* ready when zeroed */
    struct sonde_intern names; /* of communicators; id - 1 is the index of: */
    SONDE_VECTOR(struct otf_comm) comms;
    SONDE_VECTOR(struct otf_rank) ranks;
    uint32_t name;             /* string of the archive */
};
struct otf_comm {
    uint32_t name;             /* string of the archive */
    SONDE_VECTOR(uint32_t) members; /* ranks, ascending */
};
struct otf_rank { uint32_t rank, location; };

/* Find the communicators: before anything of the measurement is written. 0 or SONDE_ENOMEM; fini in either case. */
int otf_messages_find(struct otf_messages *x, const struct sonde_measurement *m, struct otf_archive *a);
void otf_messages_fini(struct otf_messages *x);
/* Where a rank's first thread with messages is: later ones change nothing. 0 or SONDE_ENOMEM. */
int otf_messages_place(struct otf_messages *x, uint32_t rank, uint32_t location);
/* A row of the process as it is written; false: it is only a call. */
bool otf_message_of(struct otf_messages *x, const struct sonde_process *p, const struct sonde_row_message *row, struct otf_message *out);

/* The events of a message right after its call is entered, and right before it is left. */
void otf_message_entered(struct otf_archive *a, OTF2_EvtWriter *events, const struct otf_message *message, OTF2_TimeStamp at);
void otf_message_leaves(struct otf_archive *a, OTF2_EvtWriter *events, const struct otf_message *message, OTF2_TimeStamp at);
/* While definitions are written: groups and communicators from these references on. */
void otf_messages_define(struct otf_messages *x, struct otf_archive *a);
enum { OTF_FIRST_GROUP = 2,
       OTF_FIRST_COMM = 1 };

#endif

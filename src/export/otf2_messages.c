/* otf2_messages.c - see otf2_messages.h. */
#include "otf2_messages.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"

/* ---- communicators ------------------------------------------------------------------------ */

static int by_value(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

struct finding {
    struct otf_messages *x;
    struct otf_archive *a;
    const struct sonde_process *p;
    struct sonde_map seen; /* communicator << 32 | rank */
};

static int add_member(struct finding *f, uint32_t comm, uint32_t rank)
{
    const uint64_t key = (uint64_t)comm << 32 | rank;
    uint64_t seen;
    if (sonde_map_get(&f->seen, key, &seen))
        return 0;
    const int rc = sonde_map_put(&f->seen, key, 1);
    return rc ? rc : sonde_vector_push(&f->x->comms.items[comm - 1].members, rank);
}

static int take(void *user, uint32_t lane, const void *stored)
{
    struct finding *f = user;
    const struct sonde_row_message *row = stored;
    const uint32_t comm = sonde_intern_text(&f->x->names, sonde_process_string(f->p, row->comm));
    (void)lane;
    if (!comm)
        return 0;
    int rc = f->x->comms.count < comm ? sonde_vector_push(&f->x->comms, (struct otf_comm){.name = otf_string(f->a, sonde_intern_get(&f->x->names, comm))}) : 0;
    rc = rc ? rc : add_member(f, comm, f->p->header.rank - 1);
    return rc || !row->peer ? rc : add_member(f, comm, row->peer - 1);
}

int otf_messages_find(struct otf_messages *x, const struct sonde_measurement *m, struct otf_archive *a)
{
    struct finding f = {.x = x, .a = a};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        f.p = &m->processes[i];
        rc = f.p->header.rank ? sonde_trace_each(f.p, &(struct sonde_trace_stored){.table = SONDE_TABLE_MESSAGE}, take, &f) : 0;
    }
    for (size_t i = 0; i < x->comms.count; i++)
        qsort(x->comms.items[i].members.items, x->comms.items[i].members.count, sizeof(uint32_t), by_value);
    x->name = x->comms.count ? otf_string(a, "ranks") : 0;
    sonde_map_fini(&f.seen);
    return rc ? SONDE_ENOMEM : 0;
}

void otf_messages_fini(struct otf_messages *x)
{
    for (size_t i = 0; i < x->comms.count; i++)
        sonde_vector_fini(&x->comms.items[i].members);
    sonde_vector_fini(&x->comms);
    sonde_vector_fini(&x->ranks);
    sonde_intern_fini(&x->names);
}

int otf_messages_place(struct otf_messages *x, uint32_t rank, uint32_t location)
{
    for (size_t i = 0; i < x->ranks.count; i++)
        if (x->ranks.items[i].rank == rank)
            return 0;
    return sonde_vector_push(&x->ranks, (struct otf_rank){rank, location});
}

/* ---- messages ------------------------------------------------------------------------------- */

/* What an operation of any kind is where its function does not tell: it was begun by another. */
static OTF2_CollectiveOp op_of(const char *function, uint32_t kind)
{
    static const struct {
        const char *name;
        OTF2_CollectiveOp op;
    } known[] = {
        {"MPI_Barrier", OTF2_COLLECTIVE_OP_BARRIER},
        {"MPI_Bcast", OTF2_COLLECTIVE_OP_BCAST},
        {"MPI_Gather", OTF2_COLLECTIVE_OP_GATHER},
        {"MPI_Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
        {"MPI_Scatter", OTF2_COLLECTIVE_OP_SCATTER},
        {"MPI_Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
        {"MPI_Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
        {"MPI_Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
        {"MPI_Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
        {"MPI_Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
        {"MPI_Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
        {"MPI_Reduce", OTF2_COLLECTIVE_OP_REDUCE},
        {"MPI_Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
        {"MPI_Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
        {"MPI_Scan", OTF2_COLLECTIVE_OP_SCAN},
        {"MPI_Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
    };
    const size_t all = strlen(function), length = all > 2 && strcmp(function + all - 2, "_c") == 0 ? all - 2 : all; /* MPI_Bcast_c */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(function, known[i].name, length) == 0 && !known[i].name[length])
            return known[i].op;
    return kind == SONDE_MESSAGE_BARRIER     ? OTF2_COLLECTIVE_OP_BARRIER
           : kind == SONDE_MESSAGE_FROM_ROOT ? OTF2_COLLECTIVE_OP_BCAST
           : kind == SONDE_MESSAGE_TO_ROOT   ? OTF2_COLLECTIVE_OP_GATHER
           : kind == SONDE_MESSAGE_PREFIX    ? OTF2_COLLECTIVE_OP_SCAN
                                             : OTF2_COLLECTIVE_OP_ALLTOALL;
}

static uint32_t member(const struct otf_comm *comm, uint32_t rank)
{
    const uint32_t *found = bsearch(&rank, comm->members.items, comm->members.count, sizeof rank, by_value);
    return found ? (uint32_t)(found - comm->members.items) : OTF2_UNDEFINED_UINT32;
}

bool otf_message_of(struct otf_messages *x, const struct sonde_process *p, const struct sonde_row_message *row, struct otf_message *out)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, row->node);
    const uint32_t comm = sonde_intern_text(&x->names, sonde_process_string(p, row->comm));
    if (row->kind == SONDE_MESSAGE_CALL || row->kind >= SONDE_MESSAGE_KINDS || !comm || comm > x->comms.count)
        return false;
    *out = (struct otf_message){
        .bytes = row->bytes,
        .comm = OTF_FIRST_COMM + comm - 1,
        .peer = row->peer ? member(&x->comms.items[comm - 1], row->peer - 1) : OTF2_UNDEFINED_UINT32,
        .tag = row->tag,
        .kind = row->kind,
        .op = op_of(frame ? sonde_process_string(p, frame->name) : "", row->kind),
    };
    return true;
}

void otf_message_entered(struct otf_archive *a, OTF2_EvtWriter *events, const struct otf_message *message, OTF2_TimeStamp at)
{
    if (message->kind == SONDE_MESSAGE_SEND)
        otf_check(a, OTF2_EvtWriter_MpiSend(events, NULL, at, message->peer, message->comm, message->tag, message->bytes));
    else if (message->kind > SONDE_MESSAGE_RECEIVE)
        otf_check(a, OTF2_EvtWriter_MpiCollectiveBegin(events, NULL, at));
}

void otf_message_leaves(struct otf_archive *a, OTF2_EvtWriter *events, const struct otf_message *message, OTF2_TimeStamp at)
{
    if (message->kind == SONDE_MESSAGE_RECEIVE)
        otf_check(a, OTF2_EvtWriter_MpiRecv(events, NULL, at, message->peer, message->comm, message->tag, message->bytes));
    else if (message->kind > SONDE_MESSAGE_RECEIVE)
        otf_check(a, OTF2_EvtWriter_MpiCollectiveEnd(events, NULL, at, message->op, message->comm, message->peer, message->bytes, 0));
}

/* ---- definitions ------------------------------------------------------------------------------ */

static int by_rank(const void *left, const void *right)
{
    const struct otf_rank *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Number among all ranks; those that were not recorded have none. */
static uint64_t place_of(const struct otf_messages *x, uint32_t rank)
{
    const struct otf_rank *found = x->ranks.count ? bsearch(&(struct otf_rank){.rank = rank}, x->ranks.items, x->ranks.count, sizeof *found, by_rank) : NULL;
    return found ? (uint64_t)(found - x->ranks.items) : OTF2_UNDEFINED_UINT64;
}

static void define_comm(struct otf_messages *x, struct otf_archive *a, uint32_t index, uint64_t *members)
{
    const struct otf_comm *comm = &x->comms.items[index];
    const uint32_t group = OTF_FIRST_GROUP + 1 + index;
    for (size_t i = 0; i < comm->members.count; i++)
        members[i] = place_of(x, comm->members.items[i]);
    otf_check(a, OTF2_GlobalDefWriter_WriteGroup(a->definitions, group, comm->name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                                 (uint32_t)comm->members.count, members));
    otf_check(a, OTF2_GlobalDefWriter_WriteComm(a->definitions, OTF_FIRST_COMM + index, comm->name, group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

void otf_messages_define(struct otf_messages *x, struct otf_archive *a)
{
    size_t most = x->ranks.count;
    for (size_t i = 0; i < x->comms.count; i++)
        most = x->comms.items[i].members.count > most ? x->comms.items[i].members.count : most;
    uint64_t *members = x->comms.count ? calloc(most + 1, sizeof *members) : NULL;
    if (!x->comms.count)
        return;
    if (!members) {
        otf_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    qsort(x->ranks.items, x->ranks.count, sizeof *x->ranks.items, by_rank);
    for (size_t i = 0; i < x->ranks.count; i++)
        members[i] = x->ranks.items[i].location;
    otf_check(a, OTF2_GlobalDefWriter_WriteGroup(a->definitions, OTF_FIRST_GROUP, x->name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                                 OTF2_GROUP_FLAG_NONE, (uint32_t)x->ranks.count, members));
    for (uint32_t i = 0; i < x->comms.count; i++)
        define_comm(x, a, i, members);
    free(members);
}

/* by_host.c - the rule about copies between two devices that go by way of the host, because peer access is off; docs/advice.md.
 *
 * Of such a copy the runtime reports two operations of one call: from the one device to the host, and from there to the other. Over the
 * whole trace of a process, in one pass.
 */
#include "rules.h"

#include <string.h>

#include "analyze/answers/comm/comm.h"
#include "analyze/trace/trace.h"

struct half { /* the first that was met of a call */
    uint32_t device, leaf; /* its end that is no host */
    bool leaves;           /* from the device */
    uint64_t bytes, ns;
};

struct reading {
    const struct sonde__find *f;
    uint32_t process;
    struct sonde_map by_call;   /* correlation -> index of its half; of one that has met the other there is no more */
    SONDE_VECTOR(struct half) halves;
    SONDE_VECTOR(struct sonde__finding) found;
    double best;                /* bytes per ns of a copy right from device to device */
};

/* A graph's copies have one call together, too, and need not belong together. */
static bool is_copy_call(const struct sonde_profile *profile, uint32_t leaf)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    const char *name = nodes[nodes[leaf].parent].kind == SONDE_FRAME_API ? nodes[nodes[leaf].parent].name : "";
    return strstr(name, "emcpy") != NULL;
}

static void note_best(struct reading *r, const struct sonde_row_op *op)
{
    const uint64_t ns = op->end_ns - op->start_ns;
    const double rate = ns ? (double)op->bytes / (double)ns : 0;
    r->best = op->bytes >= 1u << 20 && rate > r->best ? rate : r->best;
}

static int join(struct reading *r, uint64_t correlation, size_t at, const struct half *other)
{
    const struct half *one = &r->halves.items[at];
    if (one->leaves == other->leaves || one->device == other->device || one->bytes != other->bytes)
        return 0;
    const struct half *to = one->leaves ? other : one;
    const struct sonde__finding found = {
        .rule = RULE_BY_HOST, .process = r->process, .device = to->device, .leaf = one->leaf, .count = 1, .bytes = one->bytes, .looked_at_ns = one->ns + other->ns};
    return sonde_map_put(&r->by_call, correlation, UINT64_MAX) || sonde_vector_push(&r->found, found) ? SONDE_ENOMEM : 0;
}

static int take_op(void *user, uint32_t lane, const void *stored)
{
    struct reading *r = user;
    const struct sonde_row_op *op = stored;
    const struct sonde_process *p = &r->f->m->processes[r->process];
    const struct sonde_row_work *work = op->work && op->work < p->work_count ? &p->works[op->work] : NULL;
    struct sonde_comm_end from, to;
    uint64_t at;
    if (!op->correlation || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns) ||
        !sonde_comm_ends(op->kind, work, lane < p->lane_count ? p->lanes[lane].device : 0, &from, &to))
        return 0;
    if (from.where == SONDE_COMM_DEVICE && to.where == SONDE_COMM_DEVICE && from.device != to.device)
        note_best(r, op);
    const bool leaves = from.where == SONDE_COMM_DEVICE && to.where == SONDE_COMM_HOST, comes = from.where == SONDE_COMM_HOST && to.where == SONDE_COMM_DEVICE;
    const uint32_t leaf = leaves || comes ? sonde_profile_locate(r->f->profile, r->process, op->node) : 0;
    if (!leaf || !is_copy_call(r->f->profile, leaf))
        return 0;
    const struct half half = {leaves ? from.device : to.device, leaf, leaves, op->bytes, op->end_ns - op->start_ns};
    if (sonde_map_get(&r->by_call, op->correlation, &at))
        return at == UINT64_MAX ? 0 : join(r, op->correlation, (size_t)at, &half);
    at = r->halves.count;
    return sonde_map_put(&r->by_call, op->correlation, at) ? SONDE_ENOMEM : sonde_vector_push(&r->halves, half);
}

int sonde__advice_by_host(struct sonde__find *f, uint32_t process)
{
    struct reading r = {.f = f, .process = process};
    uint32_t devices = f->m->processes[process].device_count; /* [0] is none */
    int rc = devices > 2 ? sonde_trace_each(&f->m->processes[process], &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take_op, &r) : 0;
    for (size_t i = 0; i < r.found.count && !rc; i++) {
        struct sonde__finding *found = &r.found.items[i];
        const double direct = r.best > 0 ? (double)found->bytes / r.best : 0;
        found->saving_ns = (double)found->looked_at_ns > direct ? found->looked_at_ns - (uint64_t)direct : 0;
        rc = sonde__find_add(f, found);
    }
    sonde_map_fini(&r.by_call);
    sonde_vector_fini(&r.halves);
    sonde_vector_fini(&r.found);
    return rc;
}

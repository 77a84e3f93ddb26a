/* ring.c - the rule about a device that sends to one that is no neighbour, where the others send around a ring; docs/advice.md.
 *
 * The devices of a process by their numbers, of four at the least. They are a ring if nearly all of them send to the next one, or to the one before, a usual
 * amount: at least half the median of all pairs. What goes elsewhere is odd if it is as much and few do it: where each sends to each, nothing is.
 */
#include <stdlib.h>

#include "rules.h"

#include "analyze/answers/comm/comm.h"
#include "analyze/trace/trace.h"

enum { RING_LEAST = 4,
       RING_MOST = 64 };

struct sent { /* one way, of one call path */
    uint32_t from, to, leaf; /* devices from 1 */
    uint64_t count, bytes, ns;
};

struct reading {
    const struct sonde__find *f;
    uint32_t process, devices;
    struct sonde_map by_key; /* from, to and leaf -> index */
    SONDE_VECTOR(struct sent) sent;
    uint64_t bytes[RING_MOST][RING_MOST];
};

static int add(struct reading *r, const struct sent *more)
{
    const uint64_t key = (uint64_t)more->leaf << 32 | more->from << 16 | more->to;
    uint64_t at;
    r->bytes[more->from - 1][more->to - 1] += more->bytes;
    if (!sonde_map_get(&r->by_key, key, &at)) {
        at = r->sent.count;
        return sonde_map_put(&r->by_key, key, at) ? SONDE_ENOMEM : sonde_vector_push(&r->sent, *more);
    }
    r->sent.items[at].count += more->count;
    r->sent.items[at].bytes += more->bytes;
    r->sent.items[at].ns += more->ns;
    return 0;
}

static bool is_between(const struct reading *r, uint32_t from, uint32_t to)
{
    return from && to && from != to && from <= r->devices && to <= r->devices;
}

static int take_op(void *user, uint32_t lane, const void *stored)
{
    struct reading *r = user;
    const struct sonde_process *p = &r->f->m->processes[r->process];
    const struct sonde_row_op *op = stored;
    const struct sonde_row_work *work = op->work && op->work < p->work_count ? &p->works[op->work] : NULL;
    struct sonde_comm_end from, to;
    if (!sonde_op_has_times(op->flags, op->start_ns, op->end_ns) || op->kind == SONDE_OP_COLLECTIVE ||
        !sonde_comm_ends(op->kind, work, lane < p->lane_count ? p->lanes[lane].device : 0, &from, &to) || from.where != SONDE_COMM_DEVICE ||
        to.where != SONDE_COMM_DEVICE || !is_between(r, from.device, to.device))
        return 0;
    return add(r, &(struct sent){from.device, to.device, sonde_profile_locate(r->f->profile, r->process, op->node), 1, op->bytes, op->end_ns - op->start_ns});
}

/* Accesses of a kernel to another device's memory: launches and their time stand with the bytes. */
static int take_accesses(struct reading *r)
{
    const struct sonde_process *p = &r->f->m->processes[r->process];
    const struct sonde_row_remote *rows = p->tables[SONDE_TABLE_REMOTE].rows;
    int rc = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_REMOTE].count && !rc; k++) {
        const bool loads = rows[k].what == SONDE_ACCESS_LOAD || rows[k].what == SONDE_ACCESS_COPY;
        struct sent one = {.from = loads ? rows[k].owner : rows[k].device, .to = loads ? rows[k].device : rows[k].owner, .bytes = rows[k].count * rows[k].bytes};
        if (!rows[k].node || !one.bytes || !is_between(r, one.from, one.to))
            continue;
        one.leaf = sonde_profile_locate(r->f->profile, r->process, rows[k].node);
        sonde__find_launches(p, rows[k].node, rows[k].device, &one.count, &one.ns);
        rc = add(r, &one);
    }
    return rc;
}

static int by_size(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Half the median of all pairs between which anything went; 0: there is none. */
static uint64_t usual(const struct reading *r)
{
    uint64_t all[RING_MOST * RING_MOST];
    size_t count = 0;
    for (uint32_t i = 0; i < r->devices; i++)
        for (uint32_t k = 0; k < r->devices; k++)
            if (r->bytes[i][k])
                all[count++] = r->bytes[i][k];
    qsort(all, count, sizeof *all, by_size);
    return count ? (all[count / 2] + 1) / 2 : 0;
}

/* How many devices send as much to the one `step` behind them. */
static uint32_t senders(const struct reading *r, uint32_t step, uint64_t least)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->devices; i++)
        count += r->bytes[i][(i + step) % r->devices] >= least;
    return count;
}

static bool is_neighbour(const struct reading *r, uint32_t from, uint32_t to)
{
    return (from + 1) % r->devices == to || (to + 1) % r->devices == from;
}

static int tell(struct sonde__find *f, const struct reading *r)
{
    const uint64_t least = usual(r);
    const uint32_t few = r->devices / RING_LEAST;
    uint32_t odd = 0;
    int rc = 0;
    for (uint32_t i = 0; i < r->devices; i++)
        for (uint32_t k = 0; k < r->devices; k++)
            odd += least && r->bytes[i][k] >= least && !is_neighbour(r, i, k);
    if (!odd || odd > few || (senders(r, 1, least) < r->devices - few && senders(r, r->devices - 1, least) < r->devices - few))
        return 0;
    for (size_t i = 0; i < r->sent.count && !rc; i++) {
        const struct sent *s = &r->sent.items[i];
        if (r->bytes[s->from - 1][s->to - 1] < least || is_neighbour(r, s->from - 1, s->to - 1) || !s->leaf)
            continue;
        rc = sonde__find_add(f, &(struct sonde__finding){
                                    .rule = RULE_RING,
                                    .process = r->process,
                                    .device = s->from,
                                    .leaf = s->leaf,
                                    .count = s->count,
                                    .bytes = s->bytes,
                                    .looked_at_ns = s->ns,
                                    .saving_ns = s->ns,
                                    .sum = r->devices,
                                    .units = s->to,
                                });
    }
    return rc;
}

int sonde__advice_ring(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    struct reading *r = calloc(1, sizeof *r);
    if (!r)
        return SONDE_ENOMEM;
    r->f = f;
    r->process = process;
    r->devices = p->device_count ? p->device_count - 1 : 0; /* 0 is none */
    int rc = 0;
    if (r->devices >= RING_LEAST && r->devices <= RING_MOST) {
        rc = sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take_op, r);
        rc = rc ? rc : take_accesses(r);
        rc = rc ? rc : tell(f, r);
    }
    sonde_vector_fini(&r->sent);
    sonde_map_fini(&r->by_key);
    free(r);
    return rc;
}

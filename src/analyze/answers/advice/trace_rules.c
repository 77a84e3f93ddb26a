/* trace_rules.c - the rules that look at time lines; definitions in docs/advice.md.
 *
 * An idle gap of a device has one cause: what the thread that ended it had done
 * last. So no gap is counted by two of the rules that save idle time.
 */
#include "rules.h"

#include <stdlib.h>

enum {
    LAUNCH_GAP_MOST = 1000000,  /* ns; the host did something else in longer ones */
    SMALL_COPY = 64 << 10,      /* bytes */
    ROW_OF_COPIES = 8,          /* so many in a row */
    LARGE_COPY = 1 << 20,       /* bytes; from here on a copy shows the link's rate */
};

static uint32_t leaf_of(const struct sonde__find *f, const struct sonde__trace *t, uint32_t node)
{
    return sonde_profile_locate(f->profile, t->index, node);
}

static bool is_copy(const struct sonde__op *o)
{
    return o->group == SONDE_GROUP_COPY;
}

/* ---- the device waits for launches --------------------------------------------------- */

/* Was the host still at asking for the operation when the device ran dry? Its call has asked when it returns,
 * or when the operation starts. A call that blocks may have waited before it asked, and of several operations
 * of one call the first alone waited for the call: what is certain then is its entry. */
static bool came_late(const struct sonde__trace *t, const struct sonde__op *o)
{
    const struct sonde__call *c = o->call != UINT32_MAX ? &t->calls[o->call] : NULL;
    const bool by_call = c && !c->blocks && sonde__trace_op_of(t, c) == o;
    const uint64_t asked = !by_call ? o->enter : (c->leave < o->start ? c->leave : o->start);
    return o->idle_before && asked >= o->start - o->idle_before;
}

/* The thread's call before that asked for work; UINT32_MAX none. `launching`: it did nothing else in between. */
static uint32_t asked_before(const struct sonde__trace *t, uint32_t call, bool *launching)
{
    *launching = true;
    for (uint32_t i = call; i-- > 0 && t->calls[i].thread == t->calls[call].thread;) {
        const struct sonde__call *c = &t->calls[i];
        *launching &= !c->waits && !c->blocks && c->class == SONDE_API_OTHER;
        if (c->correlation)
            return i;
    }
    return UINT32_MAX;
}

static bool only_launches_before(const struct sonde__trace *t, uint32_t call)
{
    bool launching;
    return asked_before(t, call, &launching) != UINT32_MAX && launching;
}

static int launch_bound(struct sonde__find *f, const struct sonde__trace *t, size_t first, size_t last)
{
    int rc = 0;
    for (size_t i = first; i < last && !rc; i++) {
        const struct sonde__op *o = &t->ops[i];
        if (!came_late(t, o) || o->idle_before > LAUNCH_GAP_MOST || o->call == UINT32_MAX || !only_launches_before(t, o->call))
            continue;
        const struct sonde__call *c = &t->calls[o->call];
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_LAUNCH_BOUND,
                                 .process = t->index,
                                 .device = o->device,
                                 .leaf = leaf_of(f, t, o->node),
                                 .count = 1,
                                 .looked_at_ns = o->end - o->start,
                                 .saving_ns = o->idle_before,
                                 .sum = (double)(c->leave - c->enter),
                             });
    }
    return rc;
}

/* ---- copies that the program waits for ------------------------------------------------- */

static int sync_copies(struct sonde__find *f, struct sonde__trace *t, size_t first, size_t last)
{
    int rc = sonde__trace_kernels(t, first, last);
    for (size_t i = first; i < last && !rc; i++) {
        const struct sonde__op *o = &t->ops[i];
        if (!is_copy(o) || o->call == UINT32_MAX || !t->calls[o->call].blocks)
            continue;
        const uint64_t ns = o->end - o->start;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_SYNC_COPIES,
                                 .process = t->index,
                                 .device = o->device,
                                 .leaf = leaf_of(f, t, o->node),
                                 .count = 1,
                                 .bytes = o->bytes,
                                 .looked_at_ns = t->calls[o->call].leave - t->calls[o->call].enter,
                                 .saving_ns = ns - sonde__trace_kernel_ns(t, o->start, o->end),
                                 .sum = (double)ns,
                             });
    }
    return rc;
}

/* ---- pageable memory ---------------------------------------------------------------------- */

static const struct sonde_row_work *work_of(const struct sonde__trace *t, const struct sonde__op *o)
{
    return o->work ? &t->p->works[o->work] : NULL;
}

/* A copy between host memory of this kind and a device; DIRECTIONS when it is none. */
static int direction(const struct sonde_process *p, const struct sonde__op *o, enum sonde_memory host)
{
    const struct sonde_row_work *w = is_copy(o) && o->work ? &p->works[o->work] : NULL;
    if (!w || w->source == w->target)
        return DIRECTIONS;
    return w->source == host ? TO_DEVICE : (w->target == host ? FROM_DEVICE : DIRECTIONS);
}

void sonde__advice_pinned_rate(const struct sonde_process *p, const struct sonde__op *o, double best[DIRECTIONS + 1])
{
    const double rate = o->end > o->start ? (double)o->bytes / (double)(o->end - o->start) : 0;
    const int d = o->bytes >= LARGE_COPY ? direction(p, o, SONDE_MEMORY_PINNED) : DIRECTIONS;
    best[d] = rate > best[d] ? rate : best[d];
}

static int pageable(struct sonde__find *f, const struct sonde__trace *t, size_t first, size_t last)
{
    double *best = t->windows->best[t->ops[first].device]; /* bytes per ns of pinned copies */
    int rc = 0;
    for (size_t i = first; i < last; i++)
        sonde__advice_pinned_rate(t->p, &t->ops[i], best);
    for (size_t i = first; i < last && !rc; i++) {
        const struct sonde__op *o = &t->ops[i];
        int d = direction(t->p, o, SONDE_MEMORY_PAGEABLE);
        if (d == DIRECTIONS)
            continue;
        const uint64_t ns = o->end - o->start;
        double pinned = best[d] > 0 ? (double)o->bytes / best[d] : 0;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_PAGEABLE,
                                 .process = t->index,
                                 .device = o->device,
                                 .leaf = leaf_of(f, t, o->node),
                                 .count = 1,
                                 .bytes = o->bytes,
                                 .looked_at_ns = ns,
                                 .saving_ns = (double)ns > pinned ? ns - (uint64_t)pinned : 0,
                                 .sum = pinned,
                             });
    }
    return rc;
}

/* ---- small copies in a row ------------------------------------------------------------------ */

struct row_of_copies {
    const struct sonde__op *first, *last;
    uint64_t count, bytes, busy_ns, end, shortest_ns;
    double best;
};

static int end_row(struct sonde__find *f, const struct sonde__trace *t, struct row_of_copies *row)
{
    int rc = 0;
    if (row->count >= ROW_OF_COPIES) {
        const uint64_t span = row->end - row->first->start;
        const double one = (double)row->shortest_ns + (double)row->bytes / row->best;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_SMALL_COPIES,
                                 .process = t->index,
                                 .device = row->first->device,
                                 .leaf = leaf_of(f, t, row->first->node),
                                 .count = row->count,
                                 .bytes = row->bytes,
                                 .looked_at_ns = span,
                                 .saving_ns = (double)span > one ? span - (uint64_t)one : 0,
                                 .sum = 1,
                             });
    }
    *row = (struct row_of_copies){0};
    return rc;
}

/* A buffer that is made for a copy cannot have been part of the one before: that memory is allocated again and again
 * is the finding then, and is one of another rule. */
static bool allocated_between(const struct sonde__trace *t, uint32_t before, uint32_t call)
{
    for (uint32_t i = before + 1; i < call; i++)
        if (t->calls[i].class == SONDE_API_ALLOCATES || t->calls[i].class == SONDE_API_FREES)
            return true;
    return false;
}

static int lengthen_row(struct sonde__find *f, const struct sonde__trace *t, struct row_of_copies *row,
                        const struct sonde__op *o)
{
    const uint64_t ns = o->end > o->start ? o->end - o->start : 1;
    bool launching;
    int rc = 0;
    if (row->count && (row->first->kind != o->kind || o->call == UINT32_MAX ||
                       asked_before(t, o->call, &launching) != row->last->call ||
                       allocated_between(t, row->last->call, o->call)))
        rc = end_row(f, t, row);
    if (!row->count)
        *row = (struct row_of_copies){.first = o, .shortest_ns = ns};
    row->last = o;
    row->count++;
    row->bytes += o->bytes;
    row->busy_ns += ns;
    row->end = o->end > row->end ? o->end : row->end;
    row->shortest_ns = ns < row->shortest_ns ? ns : row->shortest_ns;
    row->best = (double)o->bytes / (double)ns > row->best ? (double)o->bytes / (double)ns : row->best;
    return rc;
}

/* One copy of all the bytes takes no longer than the shortest of these and the bytes at the rate of the best. */
static int small_copies(struct sonde__find *f, const struct sonde__trace *t, size_t first, size_t last)
{
    struct row_of_copies *rows = calloc(t->p->lane_count + 1u, sizeof *rows);
    int rc = rows ? 0 : SONDE_ENOMEM;
    for (size_t i = first; i < last && !rc; i++) {
        const struct sonde__op *o = &t->ops[i];
        if (o->lane >= t->p->lane_count)
            continue;
        if (is_copy(o) && o->bytes && o->bytes <= SMALL_COPY)
            rc = lengthen_row(f, t, &rows[o->lane], o);
        else
            rc = end_row(f, t, &rows[o->lane]);
    }
    for (uint32_t lane = 0; rows && lane < t->p->lane_count && !rc; lane++)
        rc = end_row(f, t, &rows[lane]);
    free(rows);
    return rc;
}

/* ---- queues that take turns --------------------------------------------------------------------- */

/* Does the operation leave room on the device? Unknown counts as yes. */
static bool leaves_room(const struct sonde__trace *t, const struct sonde__op *o)
{
    const struct sonde_row_work *w = work_of(t, o);
    return o->group != SONDE_GROUP_KERNEL || !w || !w->occupancy || w->limiter == SONDE_LIMITER_GRID;
}

struct turns { uint64_t busy_ns, sum_ns, longest_lane_ns, lanes; };

static int take_turns(const struct sonde__trace *t, size_t first, size_t last, struct turns *out)
{
    uint64_t *lane_ns = calloc(t->p->lane_count + 1u, sizeof *lane_ns), end = 0;
    if (!lane_ns)
        return SONDE_ENOMEM;
    for (size_t i = first; i < last; i++) {
        const struct sonde__op *o = &t->ops[i];
        uint64_t ns = o->end - o->start, from = o->start > end ? o->start : end;
        if (o->lane >= t->p->lane_count)
            continue;
        out->sum_ns += ns;
        out->busy_ns += o->end > from ? o->end - from : 0;
        end = o->end > end ? o->end : end;
        out->lanes += !lane_ns[o->lane] && ns;
        lane_ns[o->lane] += ns;
        out->longest_lane_ns = lane_ns[o->lane] > out->longest_lane_ns ? lane_ns[o->lane] : out->longest_lane_ns;
    }
    free(lane_ns);
    return 0;
}

static int serialized(struct sonde__find *f, const struct sonde__trace *t, size_t first, size_t last)
{
    const uint32_t device = t->ops[first].device;
    struct turns turns = {0};
    int rc = take_turns(t, first, last, &turns);
    /* A CPU's kernels use all of it; and where 5 % overlap, they can. */
    if (rc || turns.lanes < 2 || turns.sum_ns - turns.busy_ns > turns.busy_ns / 20 ||
        (device < t->p->device_count && t->p->devices[device].kind == 1))
        return rc;
    uint64_t end = 0, waited = 0, count = 0;
    uint32_t leaf = 0, lane = 0;
    for (size_t i = first; i < last; i++) {
        const struct sonde__op *o = &t->ops[i];
        bool after_other = i > first && lane != o->lane && leaves_room(t, &t->ops[i - 1]);
        if (after_other && leaves_room(t, o) && o->ready < end && end <= o->start && !sonde__find_is_bound(f, t->index, device, o->node)) {
            waited += end - o->ready;
            count++;
            leaf = leaf ? leaf : leaf_of(f, t, o->node);
        }
        end = o->end > end ? o->end : end;
        lane = o->lane;
    }
    const uint64_t most = turns.busy_ns - turns.longest_lane_ns;
    if (!count)
        return 0;
    return sonde__find_add(f,
                           &(struct sonde__finding){
                               .rule = RULE_SERIALIZED,
                               .process = t->index,
                               .device = device,
                               .leaf = leaf,
                               .count = count,
                               .looked_at_ns = waited,
                               .saving_ns = waited < most ? waited : most,
                               .sum = (double)turns.lanes,
                           });
}

/* ---- kernels too small for the device ------------------------------------------------------------- */

/* Blocks of a launch; 0 unknown. */
static uint64_t blocks_of(const struct sonde_row_work *w)
{
    uint64_t blocks = 1;
    for (uint32_t i = 0; w && i < w->dims && i < 3; i++)
        blocks *= w->local[i] ? (w->global[i] + w->local[i] - 1) / w->local[i] : 0;
    return w && w->dims ? blocks : 0;
}

/* A block runs on one multiprocessor. Where there are fewer blocks than those, and no other kernel runs, the rest
 * of the device is idle: that much is known without counters. How well a full device is used, is not. */
static int small_grid(struct sonde__find *f, const struct sonde__trace *t, size_t first, size_t last)
{
    const uint32_t device = t->ops[first].device;
    const uint32_t units = device < t->p->device_count ? t->p->devices[device].compute_units : 0;
    const struct sonde__op *before = NULL; /* the kernel that ended last */
    int rc = 0;
    for (size_t i = first, next; i < last && units && !rc; i = next) {
        const struct sonde__op *o = &t->ops[i];
        for (next = i + 1; next < last && t->ops[next].group != SONDE_GROUP_KERNEL;)
            next++;
        if (o->group != SONDE_GROUP_KERNEL)
            continue;
        const bool shared = (before && before->end > o->start) || (next < last && t->ops[next].start < o->end);
        before = before && before->end > o->end ? before : o;
        const uint64_t blocks = blocks_of(work_of(t, o)), ns = o->end - o->start;
        if (shared || !blocks || blocks >= units || sonde__find_is_bound(f, t->index, device, o->node))
            continue;
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_SMALL_GRID,
                                 .process = t->index,
                                 .device = device,
                                 .leaf = leaf_of(f, t, o->node),
                                 .count = 1,
                                 .looked_at_ns = ns,
                                 .saving_ns = (uint64_t)((double)ns * (double)(units - blocks) / units),
                                 .sum = (double)blocks,
                                 .units = units,
                             });
    }
    return rc;
}

int sonde__advice_of_device(struct sonde__find *f, struct sonde__trace *t, size_t first, size_t last)
{
    int rc = launch_bound(f, t, first, last);
    if (!rc)
        rc = sync_copies(f, t, first, last);
    if (!rc)
        rc = pageable(f, t, first, last);
    if (!rc)
        rc = small_copies(f, t, first, last);
    if (!rc)
        rc = small_grid(f, t, first, last);
    return rc ? rc : serialized(f, t, first, last);
}

/* ---- waits that nobody needs ------------------------------------------------------------------------ */

/* Could the host have read, after the wait, what the device wrote before it? */
static bool brings_data(const struct sonde__trace *t, const struct sonde__op *o)
{
    const struct sonde_row_work *w = o ? work_of(t, o) : NULL;
    if (!o)
        return false;
    if (sonde_op_kind_is(o->kind, SONDE_KIND_TO_HOST))
        return true;
    return is_copy(o) && (!w || w->target == SONDE_MEMORY_PAGEABLE || w->target == SONDE_MEMORY_PINNED ||
                          w->target == SONDE_MEMORY_HOST || w->target == SONDE_MEMORY_MANAGED || w->target == SONDE_MEMORY_UNKNOWN);
}

/* Memory that the host reads without a copy: nobody can tell from outside what a wait is for. */
static bool shares_memory(const struct sonde_process *p)
{
    for (uint32_t i = 1; i < p->object_count; i++)
        if (sonde_object_kind_class(p->objects[i].kind) != SONDE_MEMORY_ON_DEVICE)
            return true;
    return false;
}

static bool same_queue(const struct sonde__trace *t, const struct sonde__call *wait, const struct sonde__call *next)
{
    return wait->lane && wait->lane == next->lane && wait->lane < t->p->lane_count &&
           !(t->p->lanes[wait->lane].flags & SONDE_LANE_OUT_OF_ORDER);
}

int sonde__advice_of_calls(struct sonde__find *f, const struct sonde__trace *t)
{
    const bool shared = shares_memory(t->p);
    bool data = true; /* came to the host since the thread's last wait; the first wait may be for anything */
    int rc = 0;
    for (size_t i = 0; i + 1 < t->call_count && !rc; i++) {
        const struct sonde__call *c = &t->calls[i], *next = c + 1;
        if (i == 0 || c->thread != c[-1].thread)
            data = true;
        if (!c->waits) {
            data |= brings_data(t, sonde__trace_op_of(t, c));
            continue;
        }
        const struct sonde__op *o = next->thread == c->thread ? sonde__trace_op_of(t, next) : NULL; /* it is in one window only */
        bool waits_anyway = o && next->blocks, nothing_to_see = o && !next->blocks && !data && !shared;
        data = false;
        if (!o || !same_queue(t, c, next) || !(waits_anyway || nothing_to_see))
            continue;
        const uint64_t held = c->leave - c->enter; /* the thread would have come so much earlier */
        rc = sonde__find_add(f,
                             &(struct sonde__finding){
                                 .rule = RULE_NEEDLESS_WAIT,
                                 .process = t->index,
                                 .device = o->device,
                                 .leaf = leaf_of(f, t, c->node),
                                 .count = 1,
                                 .looked_at_ns = held,
                                 .sum = waits_anyway,
                                 .saving_ns = !came_late(t, o) ? 0 : (o->idle_before < held ? o->idle_before : held),
                             });
    }
    return rc;
}

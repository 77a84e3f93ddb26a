/* work.c - the union of operations that may use any memory, read from the trace in windows side by side.
 */
#include "work.h"

#include <stdlib.h>

#include "analyze/trace/trace.h"
#include "base/kinds.h"

/* ---- unions ------------------------------------------------------------------------------ */

int sonde_union_add(struct sonde_union *u, uint64_t start, uint64_t end)
{
    if (u->closed.count) {
        struct sonde_interval *last = &u->closed.items[u->closed.count - 1];
        if (start >= last->start && start <= last->end) {
            last->end = end > last->end ? end : last->end;
            return 0;
        }
        u->sorted_lost |= start < last->start;
    }
    return sonde_vector_push(&u->closed, (struct sonde_interval){start, end});
}

static int by_start(const void *left, const void *right)
{
    const struct sonde_interval *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void merge(struct sonde_union *u)
{
    size_t count = 0;
    qsort(u->closed.items, u->closed.count, sizeof *u->closed.items, by_start);
    for (size_t i = 0; i < u->closed.count; i++) {
        struct sonde_interval next = u->closed.items[i];
        if (count && next.start <= u->closed.items[count - 1].end) {
            if (next.end > u->closed.items[count - 1].end)
                u->closed.items[count - 1].end = next.end;
        } else {
            u->closed.items[count++] = next;
        }
    }
    u->closed.count = count;
}

uint64_t sonde_union_finish(struct sonde_union *u, uint64_t *longest_gap)
{
    uint64_t sum = 0;
    *longest_gap = 0;
    if (u->sorted_lost)
        merge(u);
    for (size_t i = 0; i < u->closed.count; i++) {
        sum += u->closed.items[i].end - u->closed.items[i].start;
        uint64_t gap = i ? u->closed.items[i].start - u->closed.items[i - 1].end : 0;
        *longest_gap = gap > *longest_gap ? gap : *longest_gap;
    }
    return sum;
}

void sonde_union_fini(struct sonde_union *u)
{
    sonde_vector_fini(&u->closed);
}

/* ---- the trace ------------------------------------------------------------------------------ */

struct reading {
    const uint64_t *instants;
    size_t instant_count;
    uint64_t bound_ns;          /* of the devices' clocks */
};

bool sonde__work_is_whole(const struct sonde_measurement *m, const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t lost = l->unmatched + m->damaged_chunks;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        lost += l->dropped[cause];
    return p->header.trace && p->header.state == SONDE_PROCESS_EXITED && !lost && l->seen == l->done;
}

/* Copies and sets name what they use; where a graph makes them, nobody has seen what. */
static bool may_use_any(const struct sonde_trace_op *op)
{
    return sonde_op_kind_counts(op->kind) && !(op->object && sonde_op_kind_moves(op->kind));
}

/* The first instant at or after `at`. */
static uint64_t next_instant(const struct reading *r, uint64_t at)
{
    size_t low = 0, high = r->instant_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->instants[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->instant_count ? r->instants[low] : UINT64_MAX;
}

static int add_lane(const struct reading *r, struct sonde_union *spans, const struct sonde_trace_lane *lane)
{
    struct sonde_interval open = {UINT64_MAX, 0};
    uint64_t next = 0; /* the first instant at or after open.end */
    int rc = 0;
    for (uint32_t i = 0; i < lane->op_count && !rc; i++) {
        const struct sonde_trace_op *op = &lane->ops[i];
        if (!may_use_any(op))
            continue;
        const uint64_t start = op->enter_ns < op->start_ns ? op->enter_ns : op->start_ns, end = op->end_ns + r->bound_ns;
        if (start >= open.start && start < next) {
            open.end = end > open.end ? end : open.end;
        } else {
            rc = open.end ? sonde_union_add(spans, open.start, open.end) : 0;
            open = (struct sonde_interval){start, end};
            next = 0;
        }
        if (open.end > next)
            next = next_instant(r, open.end);
    }
    for (uint32_t i = 0; i < lane->untimed_count && !rc; i++)
        if (may_use_any(&lane->untimed[i]))
            rc = sonde_union_add(spans, lane->untimed[i].enter_ns, UINT64_MAX);
    return rc || !open.end ? rc : sonde_union_add(spans, open.start, open.end);
}

static int each_window(void *user, const struct sonde_trace_window *window)
{
    const struct reading *r = user;
    int rc = 0;
    for (uint32_t i = 0; i < window->lane_count && !rc; i++)
        rc = add_lane(r, window->state, &window->lanes[i]);
    return rc;
}

static int collect(const struct reading *r, const struct sonde_trace_reader *trace, struct sonde__work *out)
{
    struct sonde_union all = {0};
    uint64_t gap;
    int rc = 0;
    for (uint32_t i = 0; i < trace->part_count; i++) {
        const struct sonde_union *part = sonde_trace_state(trace, i);
        for (size_t k = 0; k < part->closed.count && !rc; k++)
            rc = sonde_union_add(&all, part->closed.items[k].start, part->closed.items[k].end);
    }
    sonde_union_finish(&all, &gap);
    for (size_t i = 0; i < all.closed.count && !rc; i++) {
        const struct sonde_interval span = all.closed.items[i];
        struct sonde_interval *last = out->spans.count ? &out->spans.items[out->spans.count - 1] : NULL;
        if (last && span.start < next_instant(r, last->end))
            last->end = span.end;
        else
            rc = sonde_vector_push(&out->spans, span);
    }
    sonde_union_fini(&all);
    return rc;
}

int sonde__work_read(const struct sonde_process *p, const uint64_t *instants, size_t instant_count,
                     struct sonde_progress *progress, struct sonde__work *out)
{
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS,
        .state_bytes = sizeof(struct sonde_union),
        .progress = progress,
        .op_fields = SONDE_FIELD(sonde_row_op, enter_ns) | SONDE_FIELD(sonde_row_op, object),
    };
    struct sonde_trace_reader trace = {0};
    struct reading r = {.instants = instants, .instant_count = instant_count, .bound_ns = p->header.clock_bound_ns};
    int rc = sonde_trace_open(p, &options, &trace);
    if (!rc)
        rc = sonde_trace_read(&trace, each_window, &r);
    if (!rc)
        rc = collect(&r, &trace, out);
    for (uint32_t i = 0; i < trace.part_count; i++)
        sonde_union_fini(sonde_trace_state(&trace, i));
    sonde_trace_close(&trace);
    return rc;
}

void sonde__work_fini(struct sonde__work *work)
{
    sonde_vector_fini(&work->spans);
}

bool sonde__work_within(const struct sonde__work *work, uint64_t from_ns, uint64_t to_ns, uint64_t *first_ns, uint64_t *last_ns)
{
    size_t low = 0, high = work->spans.count;
    while (low < high) { /* the first that ends after `from` */
        const size_t middle = low + (high - low) / 2;
        if (work->spans.items[middle].end <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == work->spans.count || work->spans.items[low].start >= to_ns)
        return false;
    const struct sonde_interval *first = &work->spans.items[low], *last = first;
    for (high = work->spans.count; high - low > 1;) { /* the last that starts before `to` */
        const size_t middle = low + (high - low) / 2;
        if (work->spans.items[middle].start < to_ns)
            low = middle;
        else
            high = middle;
    }
    last = &work->spans.items[low];
    *first_ns = first->start > from_ns ? first->start : from_ns;
    *last_ns = last->end < to_ns ? last->end : to_ns;
    return true;
}

/* trace.c - one process's trace in memory, as the rules of the advice ask about it. */
#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"

enum {
    ROWS_MOST = 4 << 20,  /* of operations, of calls, in a window: 0.7 GB in all */
    BEFORE_NS = 10000000, /* calls that long before the first that matters: what a thread had done last */
};

struct held {
    uint64_t enter, waiter, awaited;
    uint32_t thread, lane;
};

struct loading {
    struct sonde__trace *t;
    uint64_t calls_from;  /* those of operations that were asked for before the window, too */
    SONDE_VECTOR(struct sonde__op) ops;
    SONDE_VECTOR(struct sonde__call) calls;
    SONDE_VECTOR(struct held) waits;
};

/* ---- reading ------------------------------------------------------------------ */

static bool occupies_device(const struct sonde_row_op *row)
{
    return sonde_op_has_times(row->flags, row->start_ns, row->end_ns) &&
           sonde_op_kind_group(row->kind) != SONDE_GROUP_ORDER;
}

static bool is_in(const struct loading *l, uint64_t at)
{
    return at >= l->t->from && at < l->t->to;
}

/* Windows are cut by what chunks hold; of one that is too long for the memory all the same the first rows are looked at. */
static bool is_full(struct loading *l, uint64_t at, size_t rows)
{
    const bool full = rows >= 4 * l->t->windows->rows_most, counts = is_in(l, at);
    l->t->rows += counts;
    l->t->rows_left_out += full && counts;
    return full;
}

static int take_op(void *user, uint32_t lane, const void *stored)
{
    struct loading *l = user;
    const struct sonde_process *p = l->t->p;
    const struct sonde_row_op *row = stored;
    if (!occupies_device(row) || !is_in(l, row->start_ns) || is_full(l, row->start_ns, l->ops.count))
        return 0;
    l->calls_from = row->enter_ns < l->calls_from ? row->enter_ns : l->calls_from;
    return sonde_vector_push(&l->ops,
                             (struct sonde__op){
                                 .start = row->start_ns,
                                 .end = row->end_ns,
                                 .enter = row->enter_ns,
                                 .bytes = row->bytes,
                                 .correlation = row->correlation,
                                 .node = row->node,
                                 .work = row->work < p->work_count ? row->work : 0,
                                 .lane = lane,
                                 .device = lane < p->lane_count ? p->lanes[lane].device : 0,
                                 .call = UINT32_MAX,
                                 .kind = row->kind,
                                 .group = (uint16_t)sonde_op_kind_group(row->kind),
                             });
}

static int take_calls(void *user, const struct sonde_trace_window *w)
{
    struct loading *l = user;
    const struct sonde_trace_lane *lane = &w->lanes[0];
    int rc = 0;
    for (uint32_t i = 0; i < lane->call_count && !rc; i++) {
        const struct sonde_row_call *row = &lane->calls[i];
        if (row->enter_ns >= w->from_ns && row->enter_ns < l->t->to && !is_full(l, row->enter_ns, l->calls.count))
            rc = sonde_vector_push(&l->calls,
                                   (struct sonde__call){
                                       .enter = row->enter_ns,
                                       .leave = row->leave_ns,
                                       .correlation = row->correlation,
                                       .node = row->node,
                                       .thread = lane->lane,
                                       .lane = row->lane,
                                   });
    }
    for (uint32_t i = 0; i < lane->wait_count && !rc; i++) {
        const struct sonde_row_wait *row = &lane->waits[i];
        if (row->enter_ns >= w->from_ns && row->enter_ns < l->t->to && !is_full(l, row->enter_ns, l->waits.count))
            rc = sonde_vector_push(&l->waits, (struct held){row->enter_ns, row->waiter, row->awaited, lane->lane, row->lane});
    }
    return rc;
}

/* ---- putting together ----------------------------------------------------------- */

/* Operations are large: what is sorted is this of each. */
struct place {
    uint32_t device, op;
    uint64_t start;
};

static int by_device(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

/* ops[i] becomes what was at places[i].op; each circle of moves takes one operation out first. */
static void move_ops(struct sonde__op *ops, struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sonde__op first = ops[i];
        size_t at = i;
        for (size_t from; (from = places[at].op) != i; at = from) {
            ops[at] = ops[from];
            places[at].op = (uint32_t)at;
        }
        if (at == i)
            continue;
        ops[at] = first;
        places[at].op = (uint32_t)at;
    }
}

static int sort_ops(struct sonde__trace *t)
{
    struct place *places = malloc((t->op_count + 1) * sizeof *places);
    if (!places)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < t->op_count; i++)
        places[i] = (struct place){t->ops[i].device, (uint32_t)i, t->ops[i].start};
    qsort(places, t->op_count, sizeof *places, by_device);
    move_ops(t->ops, places, t->op_count);
    free(places);
    return 0;
}

static int by_thread(const void *left, const void *right)
{
    const struct sonde__call *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->enter < b->enter ? -1 : a->enter > b->enter;
}

static int by_own_number(const void *left, const void *right)
{
    const struct sonde__number *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static void note_idle(struct sonde__trace *t)
{
    uint64_t end = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        struct sonde__op *o = &t->ops[i];
        if (i == 0 || o->device != o[-1].device)
            end = t->windows->device_end[o->device];
        o->idle_before = end && o->start > end ? o->start - end : 0;
        end = o->end > end ? o->end : end;
        t->windows->device_end[o->device] = end;
    }
}

/* When its call returned it was in its queue; what started sooner waited for nobody. */
static uint64_t submitted(const struct sonde__trace *t, const struct sonde__op *o)
{
    const uint64_t leave = o->call != UINT32_MAX ? t->calls[o->call].leave : o->enter;
    return leave < o->start ? leave : o->start;
}

/* In an in-order queue, and by when it was submitted; wait lists come later. */
static void note_ready(struct sonde__trace *t)
{
    uint64_t *end = t->windows->lane_end;
    for (size_t i = 0; i < t->op_count; i++) { /* in order of start, so also within each lane */
        struct sonde__op *o = &t->ops[i];
        bool in_order = o->lane < t->p->lane_count && !(t->p->lanes[o->lane].flags & SONDE_LANE_OUT_OF_ORDER);
        o->ready = submitted(t, o);
        if (in_order && end[o->lane] > o->ready)
            o->ready = end[o->lane];
        if (in_order && o->end > end[o->lane])
            end[o->lane] = o->end;
    }
}

/* The first operation (by number) of a correlation; by_number[] is sorted by it. Mostly it is soon after `near`. */
static size_t find_number(const struct sonde__trace *t, uint64_t correlation, size_t near)
{
    const struct sonde__number *numbers = t->by_number;
    size_t low = near < t->op_count && numbers[near].correlation < correlation ? near : 0, high = t->op_count;
    for (size_t step = 1; low && low + step < high; step *= 2) {
        if (numbers[low + step].correlation < correlation)
            low += step;
        else
            high = low + step;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void link_calls(struct sonde__trace *t)
{
    size_t near = 0; /* numbers rise from call to call of a thread */
    for (size_t i = 0; i < t->call_count; i++) {
        t->calls[i].op = UINT32_MAX;
        if (!t->calls[i].correlation)
            continue;
        for (size_t n = near = find_number(t, t->calls[i].correlation, near);
             n < t->op_count && t->by_number[n].correlation == t->calls[i].correlation; n++) {
            t->ops[t->by_number[n].op].call = (uint32_t)i;
            if (t->calls[i].op != UINT32_MAX)
                continue;
            t->calls[i].op = t->by_number[n].op;
            if (!t->calls[i].lane) /* CUDA tells an operation's stream with its times, when its call is over */
                t->calls[i].lane = t->ops[t->by_number[n].op].lane;
        }
    }
}

static struct sonde__call *find_call(const struct sonde__trace *t, uint32_t thread, uint64_t enter)
{
    const struct sonde__call key = {.thread = thread, .enter = enter};
    return t->call_count ? bsearch(&key, t->calls, t->call_count, sizeof key, by_thread) : NULL;
}

/* The operations of `waiter` could start only after those of `awaited`. */
static void hold_back(struct sonde__trace *t, uint64_t waiter, uint64_t awaited)
{
    uint64_t end = 0;
    for (size_t n = find_number(t, awaited, 0); awaited && n < t->op_count && t->by_number[n].correlation == awaited; n++)
        end = t->ops[t->by_number[n].op].end > end ? t->ops[t->by_number[n].op].end : end;
    for (size_t n = find_number(t, waiter, 0); n < t->op_count && t->by_number[n].correlation == waiter; n++) {
        struct sonde__op *o = &t->ops[t->by_number[n].op];
        o->ready = end > o->ready && end <= o->start ? end : o->ready;
    }
}

static void mark_waits(struct loading *l)
{
    for (size_t i = 0; i < l->waits.count; i++) {
        const struct held *w = &l->waits.items[i];
        if (w->waiter) {
            hold_back(l->t, w->waiter, w->awaited);
            continue;
        }
        struct sonde__call *c = find_call(l->t, w->thread, w->enter);
        if (!c)
            continue;
        if (w->awaited && w->awaited == c->correlation)
            c->blocks = true;
        else
            c->waits = true;
        if (!c->lane)
            c->lane = w->lane;
    }
}

static void name_calls(struct sonde__trace *t)
{
    uint32_t last = 0, class = SONDE_API_OTHER;
    for (size_t i = 0; i < t->call_count; i++) {
        if (t->calls[i].node != last)
            class = sonde_api_class_of_node(t->p, last = t->calls[i].node);
        t->calls[i].class = (uint8_t)class;
        t->calls[i].waits |= class == SONDE_API_WAITS;
    }
}

static int put_together(struct loading *l)
{
    struct sonde__trace *t = l->t;
    t->ops = l->ops.items;
    t->op_count = l->ops.count;
    t->calls = l->calls.items;
    t->call_count = l->calls.count;
    t->by_number = malloc((t->op_count + 1) * sizeof *t->by_number);
    if (!t->by_number)
        return SONDE_ENOMEM;
    if (sort_ops(t))
        return SONDE_ENOMEM;
    for (size_t i = 0; i < t->op_count; i++)
        t->by_number[i] = (struct sonde__number){t->ops[i].correlation, (uint32_t)i};
    qsort(t->by_number, t->op_count, sizeof *t->by_number, by_own_number);
    note_idle(t);
    link_calls(t);
    name_calls(t);
    note_ready(t);
    mark_waits(l);
    return 0;
}

/* ---- windows -------------------------------------------------------------------------- */

struct many { uint64_t from, count; };

static int by_from(const void *left, const void *right)
{
    const struct many *a = left, *b = right;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Cut where the rows of a table are too many for one window. */
static int cut(const struct sonde_process *p, enum sonde_table table, struct sonde__windows *w)
{
    SONDE_VECTOR(struct many) chunks = {0};
    uint64_t rows = 0;
    int rc = 0;
    for (uint32_t i = 0; i < p->trace_count && !rc; i++) {
        const struct sonde_chunk_ref *c = &p->traces[i];
        /* A chunk may be long in time: its rows are taken as evenly spread over a few parts of it. */
        enum { PARTS = 8 };
        for (uint64_t k = 0; k < PARTS && c->table == table && !rc; k++)
            rc = sonde_vector_push(&chunks, (struct many){c->time_min + (c->time_max - c->time_min) / PARTS * k,
                                                          (c->count + PARTS - 1) / PARTS});
    }
    if (chunks.count)
        qsort(chunks.items, chunks.count, sizeof *chunks.items, by_from);
    for (size_t i = 0; i < chunks.count && !rc; i++) {
        rows += chunks.items[i].count;
        if (rows <= w->rows_most)
            continue;
        rc = sonde_vector_push(&w->cuts, chunks.items[i].from);
        rows = 0;
    }
    sonde_vector_fini(&chunks);
    return rc;
}

static int by_time(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

struct rates {
    const struct sonde_process *p;
    struct sonde__windows *w;
};

static int take_rate(void *user, uint32_t lane, const void *stored)
{
    struct rates *r = user;
    const struct sonde_row_op *row = stored;
    if (lane < r->p->lane_count && occupies_device(row))
        sonde__advice_pinned_rate(r->p,
                                  &(struct sonde__op){
                                      .start = row->start_ns,
                                      .end = row->end_ns,
                                      .bytes = row->bytes,
                                      .kind = row->kind,
                                      .work = row->work < r->p->work_count ? row->work : 0,
                                      .group = (uint16_t)sonde_op_kind_group(row->kind),
                                  },
                                  r->w->best[r->p->lanes[lane].device]);
    return 0;
}

int sonde__trace_plan(const struct sonde_process *p, uint64_t rows_most, struct sonde__windows *w)
{
    struct rates rates = {p, w};
    *w = (struct sonde__windows){.rows_most = rows_most ? rows_most : ROWS_MOST,
                                 .device_end = calloc(p->device_count + 1u, sizeof *w->device_end),
                                 .lane_end = calloc(p->lane_count + 1u, sizeof *w->lane_end),
                                 .best = calloc(p->device_count + 1u, sizeof *w->best)};
    int rc = w->device_end && w->lane_end && w->best ? 0 : SONDE_ENOMEM;
    rc = rc ? rc : cut(p, SONDE_TABLE_OP, w);
    rc = rc ? rc : cut(p, SONDE_TABLE_CALL, w);
    if (w->cuts.count)
        qsort(w->cuts.items, w->cuts.count, sizeof *w->cuts.items, by_time);
    return rc || !w->cuts.count ? rc : sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take_rate, &rates);
}

void sonde__trace_plan_fini(struct sonde__windows *w)
{
    sonde_vector_fini(&w->cuts);
    free(w->device_end);
    free(w->lane_end);
    free(w->best);
}

int sonde__trace_load(const struct sonde_measurement *m, uint32_t process, struct sonde__windows *windows, size_t window,
                      struct sonde__trace *t)
{
    *t = (struct sonde__trace){
        .p = &m->processes[process],
        .index = process,
        .windows = windows,
        .from = window ? windows->cuts.items[window - 1] : 0,
        .to = window < windows->cuts.count ? windows->cuts.items[window] : UINT64_MAX,
    };
    struct loading l = {.t = t, .calls_from = t->from};
    int rc = sonde_trace_each(t->p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .from_ns = t->from, .to_ns = t->to}, take_op,
                              &l);
    l.calls_from = l.calls_from > BEFORE_NS ? l.calls_from - BEFORE_NS : 0;
    if (!rc) /* thread after thread */
        rc = sonde_trace_pass(t->p,
                              &(struct sonde_trace_options){
                                  .tables = SONDE_READ_CALLS | SONDE_READ_WAITS,
                                  .from_ns = l.calls_from,
                                  .to_ns = t->to,
                                  .by_lane = true,
                                  .threads = 1,
                              },
                              take_calls, &l);
    if (!rc)
        rc = put_together(&l);
    else
        free(l.ops.items), free(l.calls.items);
    sonde_vector_fini(&l.waits);
    return rc;
}

void sonde__trace_fini(struct sonde__trace *t)
{
    free(t->ops);
    free(t->calls);
    free(t->kernels);
    free(t->by_number);
    *t = (struct sonde__trace){0};
}

/* ---- when kernels ran --------------------------------------------------------------- */

int sonde__trace_kernels(struct sonde__trace *t, size_t first, size_t last)
{
    struct sonde__span *spans = realloc(t->kernels, (last - first + 1) * sizeof *spans);
    if (!spans)
        return SONDE_ENOMEM;
    t->kernels = spans;
    t->kernel_count = 0;
    for (size_t i = first; i < last; i++) {
        const struct sonde__op *o = &t->ops[i];
        struct sonde__span *open = t->kernel_count ? &spans[t->kernel_count - 1] : NULL;
        if (o->group != SONDE_GROUP_KERNEL)
            continue;
        if (open && o->start <= open->end)
            open->end = o->end > open->end ? o->end : open->end;
        else
            spans[t->kernel_count++] = (struct sonde__span){o->start, o->end, 0};
    }
    for (size_t i = 1; i < t->kernel_count; i++)
        spans[i].before = spans[i - 1].before + (spans[i - 1].end - spans[i - 1].start);
    return 0;
}

/* How long kernels ran before `at`. */
static uint64_t kernel_ns_before(const struct sonde__trace *t, uint64_t at)
{
    size_t low = 0, high = t->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->kernels[middle].start < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const struct sonde__span *s = &t->kernels[low - 1];
    return s->before + ((at < s->end ? at : s->end) - s->start);
}

uint64_t sonde__trace_kernel_ns(const struct sonde__trace *t, uint64_t start, uint64_t end)
{
    return end > start ? kernel_ns_before(t, end) - kernel_ns_before(t, start) : 0;
}

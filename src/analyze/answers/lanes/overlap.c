/* overlap.c - one sweep over the beginnings and ends of each device's operations,
 * in windows of time side by side: each window's moments are added up alone.
 */
#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/recorded.h"
#include "analyze/model/runtimes.h"
#include "analyze/trace/each.h"
#include "analyze/trace/trace.h"
#include "base/map.h"

uint64_t sonde_overlap_ns(const struct sonde_overlap *o, unsigned any, unsigned with, unsigned without)
{
    uint64_t sum = 0;
    for (unsigned state = 1; state < SONDE_RUNS_STATES; state++)
        if (state & any && (!with || state & with) && !(state & without))
            sum += o->states[state];
    return sum;
}

/* ---- what an operation is ------------------------------------------------------------- */

/* What runs: the ways of copies first, then the rest; OFF: recording is. */
enum {
    COMPUTE = SONDE_WAY_COUNT,
    COMM,
    FILL,
    OFF,
    CLASSES,
    NOTHING = CLASSES,
};

/* Does this work lie in a device's memory? 1 yes, 0 no, -1 not known. */
static int on_device(uint16_t memory)
{
    switch (memory) {
    case SONDE_MEMORY_DEVICE:
    case SONDE_MEMORY_ARRAY: return 1;
    case SONDE_MEMORY_PAGEABLE:
    case SONDE_MEMORY_PINNED:
    case SONDE_MEMORY_HOST: return 0;
    default: return -1;
    }
}

/* By what the runtime said of the two ends. */
static enum sonde_way way_of_copy(const struct sonde_process *p, uint32_t work, enum sonde_way unsaid)
{
    if (!work || work >= p->work_count)
        return unsaid;
    const struct sonde_row_work *w = &p->works[work];
    const int from = on_device(w->source), to = on_device(w->target);
    if (w->source_device && w->target_device && w->source_device != w->target_device)
        return SONDE_WAY_BETWEEN;
    if (from < 0 && to < 0)
        return w->source == SONDE_MEMORY_MANAGED || w->target == SONDE_MEMORY_MANAGED ? SONDE_WAY_OTHER : unsaid;
    if (from < 0 || to < 0)
        return SONDE_WAY_OTHER;
    return from ? (to ? SONDE_WAY_ON_DEVICE : SONDE_WAY_FROM_DEVICE) : (to ? SONDE_WAY_TO_DEVICE : SONDE_WAY_ON_HOST);
}

static unsigned class_of(const struct sonde_process *p, uint16_t kind, uint32_t work)
{
    const enum sonde_way way = sonde_op_kind_way(kind);
    if (sonde_op_kind_is(kind, SONDE_KIND_COLLECTIVE))
        return COMM;
    if (way != SONDE_WAY_NONE)
        return sonde_op_kind_is(kind, SONDE_KIND_BY_ENDS) ? way_of_copy(p, work, way) : way;
    const enum sonde_op_group group = sonde_op_kind_group(kind);
    return group == SONDE_GROUP_KERNEL ? COMPUTE : (group == SONDE_GROUP_SET ? FILL : NOTHING);
}

static bool communicates(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return frame && frame->kind == SONDE_FRAME_OP && sonde_runtime_communicates(sonde_process_string(p, frame->name));
}

/* ---- one window ------------------------------------------------------------------------- */

struct edge {
    uint64_t at;
    uint8_t class, begins;
};

struct part {                       /* what one thread adds up */
    struct sonde_overlap *devices;  /* [device id] */
    struct sonde_map names;         /* node -> communicates */
    SONDE_VECTOR(struct edge) edges;
};

struct sweep {
    const struct sonde_process *process;
    struct sonde_recorded recorded;
    uint32_t device_count;          /* ids below it */
};

static int classify(const struct sweep *s, struct part *part, const struct sonde_trace_op *op, unsigned *class)
{
    uint64_t comm;
    *class = class_of(s->process, op->kind, op->work);
    if (*class != COMPUTE)
        return 0;
    if (!sonde_map_get(&part->names, op->node, &comm)) {
        comm = communicates(s->process, op->node);
        if (sonde_map_put(&part->names, op->node, comm))
            return SONDE_ENOMEM;
    }
    *class = comm ? COMM : COMPUTE;
    return 0;
}

/* An operation is counted in the window where it begins. */
static void count(struct sonde_overlap *o, const struct sonde_trace_op *op, unsigned class)
{
    o->first_ns = !o->last_ns || op->start_ns < o->first_ns ? op->start_ns : o->first_ns;
    o->last_ns = op->end_ns > o->last_ns ? op->end_ns : o->last_ns;
    o->kernels += class == COMPUTE;
    o->fills += class == FILL;
    const bool collective = sonde_op_kind_is(op->kind, SONDE_KIND_COLLECTIVE);
    o->collectives += collective;
    o->comm_count += (class == COMM && !collective) || class == SONDE_WAY_BETWEEN;
    if (class < SONDE_WAY_COUNT)
        o->ways[class].count++;
}

static int add_op(const struct sweep *s, struct part *part, const struct sonde_trace_window *w, uint32_t device,
                  const struct sonde_trace_op *op)
{
    unsigned class;
    if (classify(s, part, op, &class))
        return SONDE_ENOMEM;
    if (class == NOTHING)
        return 0;
    if (op->start_ns >= w->from_ns)
        count(&part->devices[device], op, class);
    const uint64_t start = op->start_ns > w->from_ns ? op->start_ns : w->from_ns;
    const uint64_t end = op->end_ns < w->to_ns ? op->end_ns : w->to_ns;
    if (start >= end)
        return 0;
    int rc = sonde_vector_push(&part->edges, (struct edge){start, (uint8_t)class, 1});
    return rc ? rc : sonde_vector_push(&part->edges, (struct edge){end, (uint8_t)class, 0});
}

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return a->at < b->at ? -1 : a->at > b->at;
}

static unsigned state_of(const uint32_t running[CLASSES])
{
    unsigned state = 0;
    for (unsigned i = 0; i < SONDE_WAY_COUNT; i++)
        if (running[i])
            state |= i == SONDE_WAY_BETWEEN ? SONDE_RUNS_COMM : SONDE_RUNS_COPY;
    state |= running[COMPUTE] ? SONDE_RUNS_COMPUTE : 0;
    state |= running[COMM] ? SONDE_RUNS_COMM : 0;
    return state | (running[FILL] ? SONDE_RUNS_FILL : 0);
}

static void sweep_device(struct sonde_overlap *o, struct edge *edges, size_t edge_count)
{
    uint32_t running[CLASSES] = {0};
    if (edge_count)
        qsort(edges, edge_count, sizeof *edges, by_time);
    for (size_t i = 0; i < edge_count; i++) {
        const uint64_t ns = i ? edges[i].at - edges[i - 1].at : 0;
        if (ns) {
            const unsigned state = state_of(running);
            o->states[state] += state ? ns : 0;
            o->paused_ns += !state && running[OFF] ? ns : 0;
            for (unsigned way = 0; way < SONDE_WAY_COUNT; way++) {
                o->ways[way].ns += running[way] ? ns : 0;
                o->ways[way].hidden_ns += running[way] && running[COMPUTE] ? ns : 0;
            }
        }
        if (edges[i].begins)
            running[edges[i].class]++;
        else
            running[edges[i].class]--;
    }
}

static int add_pauses(const struct sweep *s, struct part *part, uint64_t from, uint64_t to)
{
    const struct sonde_recorded *r = &s->recorded;
    int rc = 0;
    for (size_t i = sonde_recorded_pause(r, from); i < r->pauses.count && r->pauses.items[i].from_ns < to && !rc; i++) {
        const struct sonde_pause *pause = &r->pauses.items[i];
        rc = sonde_vector_push(&part->edges, (struct edge){pause->from_ns > from ? pause->from_ns : from, OFF, 1});
        rc = rc ? rc : sonde_vector_push(&part->edges, (struct edge){pause->to_ns < to ? pause->to_ns : to, OFF, 0});
    }
    return rc;
}

static int each_window(void *user, const struct sonde_trace_window *w)
{
    const struct sweep *s = user;
    struct part *part = w->state;
    int rc = part->devices || (part->devices = calloc(s->device_count, sizeof *part->devices)) ? 0 : SONDE_ENOMEM;
    for (uint32_t device = 0; device < s->device_count && !rc; device++) {
        part->edges.count = 0;
        for (uint32_t i = 0; i < w->lane_count && !rc; i++) {
            const struct sonde_trace_lane *lane = &w->lanes[i];
            if (lane->kind != SONDE_LANE_KIND_QUEUE || lane->device != device)
                continue;
            for (uint32_t k = 0; k < lane->op_count && !rc; k++)
                rc = add_op(s, part, w, device, &lane->ops[k]);
            for (uint32_t k = 0; k < lane->untimed_count; k++)
                part->devices[device].no_times += class_of(s->process, lane->untimed[k].kind, 0) != NOTHING;
        }
        rc = rc ? rc : add_pauses(s, part, w->from_ns, w->to_ns);
        if (!rc)
            sweep_device(&part->devices[device], part->edges.items, part->edges.count);
    }
    return rc;
}

/* ---- a process ----------------------------------------------------------------------------- */

static void merge(struct sonde_overlap *o, const struct sonde_overlap *more)
{
    if (more->last_ns) {
        o->first_ns = !o->last_ns || more->first_ns < o->first_ns ? more->first_ns : o->first_ns;
        o->last_ns = more->last_ns > o->last_ns ? more->last_ns : o->last_ns;
    }
    for (unsigned i = 0; i < SONDE_RUNS_STATES; i++)
        o->states[i] += more->states[i];
    for (unsigned i = 0; i < SONDE_WAY_COUNT; i++) {
        o->ways[i].count += more->ways[i].count;
        o->ways[i].ns += more->ways[i].ns;
        o->ways[i].hidden_ns += more->ways[i].hidden_ns;
    }
    o->paused_ns += more->paused_ns;
    o->kernels += more->kernels;
    o->comm_count += more->comm_count;
    o->fills += more->fills;
    o->collectives += more->collectives;
    o->no_times += more->no_times;
}

/* Pauses before the first operation and after the last one: nothing runs in them. */
static uint64_t paused_outside(const struct sonde_recorded *r, const struct sonde_overlap *o)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < r->pauses.count; i++) {
        const struct sonde_pause *pause = &r->pauses.items[i];
        const uint64_t early = pause->to_ns < o->first_ns ? pause->to_ns : o->first_ns;
        const uint64_t late = pause->from_ns > o->last_ns ? pause->from_ns : o->last_ns;
        ns += early > pause->from_ns ? early - pause->from_ns : 0;
        ns += pause->to_ns > late ? pause->to_ns - late : 0;
    }
    return ns;
}

/* Of each device that was used. */
static void collect(const struct sweep *s, const struct sonde_trace_reader *trace, uint32_t process, struct sonde_text *found)
{
    for (uint32_t device = 0; device < s->device_count; device++) {
        struct sonde_overlap sum = {.process = process, .device = device};
        for (uint32_t i = 0; i < trace->part_count; i++)
            merge(&sum, &((struct part *)sonde_trace_state(trace, i))->devices[device]);
        uint64_t busy = sonde_overlap_ns(&sum, ~0u, 0, 0);
        sum.paused_ns -= sum.last_ns ? paused_outside(&s->recorded, &sum) : sum.paused_ns;
        busy += sum.paused_ns;
        sum.states[0] = sum.last_ns - sum.first_ns > busy ? sum.last_ns - sum.first_ns - busy : 0;
        if (sum.last_ns || sum.no_times)
            sonde_found_put(found, &sum, sizeof sum);
    }
    sonde_found_put(found, &(struct sonde_overlap){0}, sizeof(struct sonde_overlap)); /* no more */
}

static uint32_t device_ids(const struct sonde_process *p)
{
    uint32_t ids = p->device_count > 1 ? p->device_count : 1;
    for (uint32_t i = 1; i < p->lane_count; i++)
        if (p->lanes[i].kind == SONDE_LANE_KIND_QUEUE && p->lanes[i].device >= ids)
            ids = p->lanes[i].device + 1;
    return ids;
}

struct computing {
    const struct sonde_measurement *m;
    uint64_t window_rows;
    struct sonde_progress *progress;
    struct sonde_overlaps *out;
};

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct computing *c = user;
    const struct sonde_process *p = &c->m->processes[process];
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS,
        .window_rows = c->window_rows,
        .state_bytes = sizeof(struct part),
        .progress = c->progress,
    };
    struct sonde_trace_reader trace = {0};
    struct sweep s = {.process = p, .device_count = device_ids(p)};
    int rc = sonde_recorded_compute(c->m, p, &s.recorded);
    if (!rc)
        rc = sonde_trace_open(p, &options, &trace);
    if (!rc)
        rc = sonde_trace_read(&trace, each_window, &s);
    if (!rc)
        collect(&s, &trace, process, found);
    for (uint32_t i = 0; i < trace.part_count; i++) {
        struct part *part = sonde_trace_state(&trace, i);
        free(part->devices);
        sonde_map_fini(&part->names);
        sonde_vector_fini(&part->edges);
    }
    sonde_recorded_fini(&s.recorded);
    sonde_trace_close(&trace);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct computing *c = user;
    struct sonde_overlap one;
    (void)process;
    for (;;) {
        sonde_found_get(found, &one, sizeof one);
        if (!one.last_ns && !one.no_times)
            return 0;
        if (sonde_vector_push(&c->out->items, one))
            return SONDE_ENOMEM;
    }
}

int sonde_overlap_compute(const struct sonde_measurement *m, uint64_t window_rows, struct sonde_progress *progress,
                          struct sonde_overlaps *out)
{
    struct computing c = {m, window_rows, progress, out};
    return sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
}

void sonde_overlap_fini(struct sonde_overlaps *overlaps)
{
    sonde_vector_fini(&overlaps->items);
}

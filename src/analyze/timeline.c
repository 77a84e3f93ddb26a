/* timeline.c - windows of a trace.
 *
 * A lane's rows come in chunks, and chunks in the order of their earliest row,
 * not of all rows: those of several chunks, and rows within one, may be out of
 * order. A stream (one table of one lane, in one part) therefore decodes every
 * chunk that begins before the window's end, keeps what is decoded sorted, and
 * drops what has ended before the window's begin. Where a lane's rows come in
 * order, as nearly always, nothing is sorted or moved, and a window's arrays
 * lie in the stream's memory: about one chunk and one window's rows per lane.
 *
 * Borders of windows: rows are taken as evenly spread over their chunk, so that
 * the number of rows before a time is a sum of ramps; a border is where it
 * passes a multiple of the rows wanted per window.
 */
#include "timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "timeline_busy.h"

enum source_kind { OPS, CALLS, SAMPLES, SWITCHES, WAITS, SLEEPS, SOURCES };
static const uint16_t source_tables[SOURCES] = {SONDE_TABLE_OP, SONDE_TABLE_CALL, SONDE_TABLE_SAMPLE,
                                                SONDE_TABLE_SWITCH, SONDE_TABLE_WAIT, SONDE_TABLE_SLEEP};
static const uint32_t item_bytes[SOURCES] = {sizeof(struct sonde_time_op), sizeof(struct sonde_row_call),
                                             sizeof(struct sonde_row_sample), sizeof(struct sonde_row_switch),
                                             sizeof(struct sonde_row_wait), sizeof(struct sonde_row_sleep)};
static_assert(sizeof(struct sonde_time_op) == 48, "kept small: there are millions in memory");

#define WINDOW_ROWS  (1u << 18)
#define MEMORY_BYTES (1200ull << 20) /* of all parts that are read at one time, about */
enum { TWICE_PART = 4, PARTS_MOST = 1 << 20 }; /* at most a quarter of the rows is decoded twice */

struct source { /* one table of one lane */
    uint32_t *chunks; /* indices of process->traces, by time_min */
    uint32_t  count;
};

struct sonde__timeline {
    struct source *sources; /* [lane][SOURCES] */
    uint32_t *chunks;
    struct sonde__busy_plan busy; /* when op_times */
    uint32_t  threads;
};

/* ---- planning ------------------------------------------------------------------------ */

static int source_of_table(unsigned table)
{
    for (int k = 0; k < SOURCES; k++)
        if (source_tables[k] == table)
            return k;
    return -1;
}

/* Of one row in memory. */
static uint32_t bytes_of(const struct sonde_timeline_options *o, unsigned table)
{
    return table == SONDE_TABLE_OP && o->op_times ? sizeof(struct sonde_time_span) : item_bytes[source_of_table(table)];
}

static bool is_wanted(const struct sonde_timeline_options *o, const struct sonde_chunk_ref *t)
{
    return t->count && t->table < 32 && o->tables >> t->table & 1 && source_of_table(t->table) >= 0;
}

/* Lane by lane; operations of which only times are asked for are not. */
static bool is_streamed(const struct sonde_timeline_options *o, const struct sonde_chunk_ref *t)
{
    return is_wanted(o, t) && !(o->op_times && t->table == SONDE_TABLE_OP);
}

static int by_lane(const void *left, const void *right)
{
    const struct sonde_time_lane *a = left, *b = right;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

/* Lanes that have a trace to stream: index of each in *place ([lane id], caller frees). */
static int list_lanes(struct sonde_timeline_plan *plan, uint32_t **place)
{
    const struct sonde_process *p = plan->process;
    uint32_t *at = calloc((size_t)p->lane_count + 1, sizeof *at);
    plan->lanes = calloc((size_t)p->lane_count + 1, sizeof *plan->lanes);
    *place = at;
    if (!at || !plan->lanes)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++) {
        const uint32_t lane = p->traces[i].lane;
        if (!is_streamed(&plan->options, &p->traces[i]) || at[lane])
            continue;
        at[lane] = 1;
        plan->lanes[plan->lane_count++] = (struct sonde_time_lane){
            .lane = lane, .kind = p->lanes[lane].kind, .device = p->lanes[lane].device};
    }
    qsort(plan->lanes, plan->lane_count, sizeof *plan->lanes, by_lane);
    for (uint32_t i = 0; i < plan->lane_count; i++)
        at[plan->lanes[i].lane] = i;
    return 0;
}

static int by_time_min(const void *left, const void *right, void *process)
{
    const struct sonde_process *p = process;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (p->traces[a].time_min != p->traces[b].time_min)
        return p->traces[a].time_min < p->traces[b].time_min ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort_chunks(const struct sonde_process *p, uint32_t *chunks, uint32_t count)
{
    if (count)
        qsort_r(chunks, count, sizeof *chunks, by_time_min, (void *)(uintptr_t)p);
}

/* traces[] is sorted by table and lane: a source's chunks stand together, and all chunks of operations. */
static int list_sources(struct sonde_timeline_plan *plan, const uint32_t *place)
{
    const struct sonde_process *p = plan->process;
    struct sonde__timeline *own = plan->own = calloc(1, sizeof *own);
    uint32_t used = 0;

    if (!own)
        return SONDE_ENOMEM;
    own->sources = calloc((size_t)plan->lane_count * SOURCES + 1, sizeof *own->sources);
    own->chunks = malloc(((size_t)p->trace_count + 1) * sizeof *own->chunks);
    if (!own->sources || !own->chunks)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++) {
        if (!is_wanted(&plan->options, &p->traces[i]))
            continue;
        plan->rows += p->traces[i].count;
        own->chunks[used++] = i;
        if (!is_streamed(&plan->options, &p->traces[i])) {
            own->busy.chunks = own->busy.chunks ? own->busy.chunks : &own->chunks[used - 1];
            own->busy.chunk_count++;
            continue;
        }
        struct source *s = &own->sources[place[p->traces[i].lane] * SOURCES + (uint32_t)source_of_table(p->traces[i].table)];
        s->chunks = s->count ? s->chunks : &own->chunks[used - 1];
        s->count++;
    }
    for (size_t i = 0; i < (size_t)plan->lane_count * SOURCES; i++)
        sort_chunks(p, own->sources[i].chunks, own->sources[i].count);
    sort_chunks(p, own->busy.chunks, own->busy.chunk_count);
    return plan->options.op_times ? sonde__busy_list(plan, &own->busy) : 0;
}

struct ramp { uint64_t at_ns; double rows_per_ns; }; /* where the density of rows changes */

static int by_time(const void *left, const void *right)
{
    const struct ramp *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static uint64_t clamp(uint64_t at_ns, uint64_t from_ns, uint64_t to_ns)
{
    return at_ns < from_ns ? from_ns : at_ns > to_ns ? to_ns : at_ns;
}

/* Two ramps per chunk that reaches into the range; *rows gets how many rows lie there, about. */
static struct ramp *make_ramps(const struct sonde_timeline_plan *plan, size_t *count, double *rows)
{
    const struct sonde_timeline_options *o = &plan->options;
    struct ramp *ramps = malloc(((size_t)plan->process->trace_count * 2 + 1) * sizeof *ramps);

    *count = 0;
    *rows = 0;
    for (uint32_t i = 0; ramps && i < plan->process->trace_count; i++) {
        const struct sonde_chunk_ref *t = &plan->process->traces[i];
        if (!is_wanted(o, t) || t->time_max < t->time_min || t->time_max < o->from_ns || t->time_min >= o->to_ns)
            continue;
        const double density = t->count / ((double)(t->time_max - t->time_min) + 1);
        const uint64_t begin = clamp(t->time_min, o->from_ns, o->to_ns - 1);
        const uint64_t end = clamp(t->time_max, o->from_ns, o->to_ns - 1) + 1;
        ramps[(*count)++] = (struct ramp){begin, density};
        ramps[(*count)++] = (struct ramp){end, -density};
        *rows += density * (double)(end - begin);
    }
    if (*count)
        qsort(ramps, *count, sizeof *ramps, by_time);
    return ramps;
}

static void put_borders(struct sonde_timeline_plan *plan, const struct ramp *ramps, size_t count, double target)
{
    double density = 0, passed = 0;
    uint32_t borders = 1; /* [0] is set */
    for (size_t i = 0; i + 1 < count; i++) {
        density += ramps[i].rows_per_ns;
        uint64_t at = ramps[i].at_ns;
        double left = density * (double)(ramps[i + 1].at_ns - at);
        while (passed + left >= target && borders < plan->window_count) {
            const double step = (target - passed) / density;
            at += step < (double)(ramps[i + 1].at_ns - at) ? (uint64_t)step : ramps[i + 1].at_ns - at;
            left = density * (double)(ramps[i + 1].at_ns - at);
            passed = 0;
            if (at > plan->borders[borders - 1] && at < plan->options.to_ns)
                plan->borders[borders++] = at;
            else if (step < 1)
                break; /* more rows in a nanosecond than a window should hold */
        }
        passed += left;
    }
    plan->window_count = borders;
    plan->borders[borders] = plan->options.to_ns;
}

static int choose_windows(struct sonde_timeline_plan *plan)
{
    const struct sonde_timeline_options *o = &plan->options;
    size_t count;
    double rows;
    struct ramp *ramps = make_ramps(plan, &count, &rows);

    if (!ramps)
        return SONDE_ENOMEM;
    const double windows = rows / (double)o->window_rows + 0.5;
    plan->window_count = windows < 1 ? 1 : windows < 1e6 ? (uint32_t)windows : 1000000;
    plan->borders = calloc((size_t)plan->window_count + 1, sizeof *plan->borders);
    if (plan->borders) {
        plan->borders[0] = o->from_ns;
        put_borders(plan, ramps, count, rows / plan->window_count);
    }
    free(ramps);
    return plan->borders ? 0 : SONDE_ENOMEM;
}

/* Parts that read at one time, by the memory for a chunk and a window's rows of every lane that each
 * holds; and in all, since at their borders those chunks are decoded twice. */
static void affordable(const struct sonde_timeline_plan *plan, uint32_t *at_once, uint32_t *in_all)
{
    const struct sonde_process *p = plan->process;
    uint64_t bytes = plan->options.window_rows * bytes_of(&plan->options, SONDE_TABLE_OP), chunks = 1;
    for (uint32_t i = 0, most = 0; i < p->trace_count; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        if (!is_wanted(&plan->options, t))
            continue;
        most = t->count > most ? t->count : most;
        if (i + 1 < p->trace_count && t[1].table == t->table && t[1].lane == t->lane)
            continue;
        bytes += (uint64_t)most * bytes_of(&plan->options, t->table);
        chunks += most;
        most = 0;
    }
    const uint64_t parts = 1 + plan->rows / chunks / TWICE_PART;
    *at_once = bytes < MEMORY_BYTES ? (uint32_t)(MEMORY_BYTES / bytes) : 1;
    *in_all = parts < PARTS_MOST ? (uint32_t)parts : PARTS_MOST;
}

static int choose_parts(struct sonde_timeline_plan *plan)
{
    const uint32_t wanted = plan->options.threads;
    uint32_t most, in_all, parts;
    affordable(plan, &most, &in_all);
    plan->own->threads = parts = wanted < most ? wanted : most;
    parts = parts > 1 ? 2 * parts : 1; /* a thread that is slowed down leaves some to others */
    parts = parts < in_all ? parts : in_all;
    plan->part_count = parts < plan->window_count ? parts : plan->window_count;
    plan->part_first = malloc(((size_t)plan->part_count + 1) * sizeof *plan->part_first);
    if (!plan->part_first)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i <= plan->part_count; i++)
        plan->part_first[i] = (uint32_t)((uint64_t)i * plan->window_count / plan->part_count);
    return 0;
}

int sonde_timeline_plan(const struct sonde_process *p, const struct sonde_timeline_options *options,
                        struct sonde_timeline_plan *plan)
{
    uint32_t *place = NULL;
    plan->process = p;
    plan->options = *options;
    plan->options.to_ns = options->to_ns ? options->to_ns : UINT64_MAX;
    plan->options.window_rows = options->window_rows ? options->window_rows : WINDOW_ROWS;
    plan->options.threads = options->threads ? options->threads : sonde_parallel_threads();
    int rc = list_lanes(plan, &place);
    if (!rc)
        rc = list_sources(plan, place);
    if (!rc)
        rc = choose_windows(plan);
    if (!rc)
        rc = choose_parts(plan);
    free(place);
    return rc;
}

void sonde_timeline_fini(struct sonde_timeline_plan *plan)
{
    if (plan->own) {
        free(plan->own->sources);
        free(plan->own->chunks);
        free(plan->own->busy.devices);
    }
    free(plan->own);
    free(plan->borders);
    free(plan->part_first);
    free(plan->lanes);
    free(plan->devices);
    *plan = (struct sonde_timeline_plan){0};
}

/* ---- streams --------------------------------------------------------------------------- */

union item {
    struct sonde_time_op    op;
    struct sonde_row_call   call;
    struct sonde_row_sample sample;
    struct sonde_row_switch away;
    struct sonde_row_wait   wait;
    struct sonde_row_sleep  sleep;
};

struct rows { uint8_t *items; size_t count, room; };

struct stream {
    struct rows rows;
    size_t      head;     /* rows before it have ended */
    uint32_t    next;     /* of the source's chunks */
    uint32_t    bytes;    /* of one row here */
    bool        begun, unsorted, has_before;
    union item  before;
};

struct part { /* what one thread reads */
    const struct sonde_timeline_plan *plan;
    struct sonde_chunk_reader *reader;
    struct stream *streams;        /* [lane][SOURCES] */
    struct sonde__busy *busy;      /* when op_times */
    struct rows   *untimed;        /* [lane] */
    struct sonde_time_lane *lanes;
    uint64_t from_ns, to_ns;       /* of the part */
    bool     first;
};

struct lasts { uint64_t from, to; };

static struct lasts lasts(unsigned kind, const void *row)
{
    struct lasts l;
    switch (kind) {
    case OPS: l = (struct lasts){((const struct sonde_time_op *)row)->start_ns, ((const struct sonde_time_op *)row)->end_ns}; break;
    case CALLS: l = (struct lasts){((const struct sonde_row_call *)row)->enter_ns, ((const struct sonde_row_call *)row)->leave_ns}; break;
    case SAMPLES: l.from = l.to = ((const struct sonde_row_sample *)row)->time_ns; break;
    case SWITCHES: l = (struct lasts){((const struct sonde_row_switch *)row)->out_ns, ((const struct sonde_row_switch *)row)->in_ns}; break;
    case SLEEPS: l = (struct lasts){((const struct sonde_row_sleep *)row)->from_ns, ((const struct sonde_row_sleep *)row)->to_ns}; break;
    default: l.from = l.to = ((const struct sonde_row_wait *)row)->enter_ns; break;
    }
    l.to = l.to < l.from ? l.from : l.to;
    return l;
}

static bool has_ended(struct lasts l, uint64_t from_ns)
{
    return l.to <= from_ns && l.from < from_ns;
}

/* Room for `more` rows; what has ended makes room first. */
static int make_room(struct rows *rows, size_t *head, size_t more, size_t bytes)
{
    if (rows->count + more <= rows->room)
        return 0;
    if (*head) {
        memmove(rows->items, rows->items + *head * bytes, (rows->count - *head) * bytes);
        rows->count -= *head;
        *head = 0;
    }
    if (rows->count + more <= rows->room)
        return 0;
    const size_t room = rows->count + more + rows->count / 2;
    uint8_t *items = realloc(rows->items, room * bytes);
    if (!items)
        return SONDE_ENOMEM;
    rows->items = items;
    rows->room = room;
    return 0;
}

/* Are the rows before and after a window asked for? */
static bool has_neighbours(unsigned kind)
{
    return kind == CALLS || kind == SAMPLES || kind == SLEEPS;
}

static void keep_before(struct stream *s, unsigned kind, const void *row, struct lasts l)
{
    if (!has_neighbours(kind) || (s->has_before && lasts(kind, &s->before).to > l.to))
        return;
    memcpy(&s->before, row, item_bytes[kind]);
    s->has_before = true;
}

/* (`kind` and `bytes` are constants where this is called: one loop for each kind of row.) */
static inline void add_row(struct stream *s, unsigned kind, size_t bytes, const void *row, uint64_t from_ns)
{
    const struct lasts l = lasts(kind, row);
    if (has_ended(l, from_ns)) {
        keep_before(s, kind, row, l);
        return;
    }
    if (s->rows.count > s->head && lasts(kind, s->rows.items + (s->rows.count - 1) * bytes).from > l.from)
        s->unsorted = true;
    memcpy(s->rows.items + s->rows.count++ * bytes, row, bytes);
}

static bool is_timed(const struct sonde_row_op *op)
{
    return !(op->flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)) && op->end_ns >= op->start_ns;
}

static int add_untimed(struct rows *untimed, const struct sonde_time_op *op)
{
    size_t none = 0;
    if (!untimed)
        return 0;
    if (make_room(untimed, &none, 1, sizeof *op))
        return SONDE_ENOMEM;
    memcpy(untimed->items + untimed->count++ * sizeof *op, op, sizeof *op);
    return 0;
}

static int add_ops(struct stream *s, struct rows *untimed, const struct sonde_row_op *ops, uint32_t count, uint64_t from_ns)
{
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++) {
        const struct sonde_time_op op = {
            .start_ns = ops[i].start_ns, .end_ns = ops[i].end_ns, .enter_ns = ops[i].enter_ns,
            .correlation = ops[i].correlation, .node = ops[i].node, .work = ops[i].work, .object = ops[i].object,
            .kind = ops[i].kind, .flags = ops[i].flags};
        if (is_timed(&ops[i]))
            add_row(s, OPS, sizeof op, &op, from_ns);
        else
            rc = add_untimed(untimed, &op);
    }
    return rc;
}

static void add_others(struct stream *s, unsigned kind, const uint8_t *rows, uint32_t count, uint64_t from_ns)
{
    for (uint32_t i = 0; i < count; i++)
        switch (kind) {
        case CALLS: add_row(s, CALLS, sizeof(struct sonde_row_call), rows + (size_t)i * sizeof(struct sonde_row_call), from_ns); break;
        case SWITCHES: {
            struct sonde_row_switch away;
            memcpy(&away, rows + (size_t)i * sizeof away, sizeof away);
            away.in_ns = away.in_ns ? away.in_ns : UINT64_MAX;
            add_row(s, SWITCHES, sizeof away, &away, from_ns);
            break;
        }
        case SLEEPS: {
            struct sonde_row_sleep sleep;
            memcpy(&sleep, rows + (size_t)i * sizeof sleep, sizeof sleep);
            if (sleep.to_ns > sleep.from_ns)
                add_row(s, SLEEPS, sizeof sleep, &sleep, from_ns);
            break;
        }
        default: add_row(s, kind, s->bytes, rows + (size_t)i * s->bytes, from_ns); break;
        }
}

/* Of the fields that were asked for, and those that tell rows apart. */
static uint64_t fields_of(const struct sonde_timeline_options *o, unsigned kind)
{
    if (kind == OPS && o->op_fields)
        return o->op_fields | SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns) |
               SONDE_FIELD(sonde_row_op, flags) | SONDE_FIELD(sonde_row_op, kind);
    if (kind == CALLS && o->call_fields)
        return o->call_fields | SONDE_FIELD(sonde_row_call, enter_ns) | SONDE_FIELD(sonde_row_call, leave_ns);
    return UINT64_MAX;
}

/* Decode a chunk into its stream. */
static int add_chunk(struct part *part, uint32_t lane, unsigned kind, uint32_t chunk, uint64_t from_ns)
{
    const struct sonde_process *p = part->plan->process;
    const struct sonde_chunk_ref *t = &p->traces[chunk];
    struct stream *s = &part->streams[lane * SOURCES + kind];
    /* Several parts may decode a chunk; in one of them it begins. */
    const bool owned = t->time_min < part->to_ns && (part->first || t->time_min >= part->from_ns);
    const uint8_t *rows = sonde_chunk_reader_fields(part->reader, p, chunk, fields_of(&part->plan->options, kind));

    if (owned)
        sonde_progress_add(part->plan->options.progress, t->count);
    if (!rows)
        return 0;
    if (make_room(&s->rows, &s->head, t->count, s->bytes))
        return SONDE_ENOMEM;
    if (kind != OPS) {
        add_others(s, kind, rows, t->count, from_ns);
        return 0;
    }
    return add_ops(s, owned ? &part->untimed[lane] : NULL, (const void *)rows, t->count, from_ns);
}

/* Of the chunks that end before the part begins, the one that ends last holds
 * the row that was the last, and the switch that never came back. */
static int look_back(struct part *part, uint32_t lane, unsigned kind, uint64_t from_ns)
{
    const struct sonde_chunk_ref *traces = part->plan->process->traces;
    const struct source *source = &part->plan->own->sources[lane * SOURCES + kind];
    const struct sonde_chunk_ref *last = NULL;

    if (kind == OPS || kind == WAITS)
        return 0;
    for (uint32_t i = 0; i < source->count && traces[source->chunks[i]].time_min < from_ns; i++) {
        const struct sonde_chunk_ref *t = &traces[source->chunks[i]];
        if (t->time_max < from_ns && (!last || t->time_max >= last->time_max))
            last = t;
    }
    return last ? add_chunk(part, lane, kind, (uint32_t)(last - traces), from_ns) : 0;
}

/* Index of the first row that starts at or after `at_ns`; rows are sorted from the head on.
 * It is not far from the head: a window's rows of what may be many. */
static size_t first_from(const struct stream *s, unsigned kind, uint64_t at_ns)
{
    size_t low = s->head, high = s->head;
    for (size_t step = 8; high < s->rows.count && lasts(kind, s->rows.items + high * s->bytes).from < at_ns; step *= 2) {
        low = high + 1;
        high += step;
    }
    high = high < s->rows.count ? high : s->rows.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lasts(kind, s->rows.items + middle * s->bytes).from < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Drop what has ended: of the rows that began before, the others move up to those that begin later. */
static void drop_ended(struct stream *s, unsigned kind, uint64_t from_ns)
{
    const size_t bytes = s->bytes;
    size_t kept = first_from(s, kind, from_ns), last = SIZE_MAX;
    uint64_t last_ns = 0;
    for (size_t i = kept; i-- > s->head;) {
        const void *row = s->rows.items + i * bytes;
        const struct lasts l = lasts(kind, row);
        if (!has_ended(l, from_ns)) {
            if (--kept != i)
                memcpy(s->rows.items + kept * bytes, row, bytes);
        } else if (last == SIZE_MAX || l.to > last_ns) { /* of two that ended together, the one that began last */
            last = i;
            last_ns = l.to;
            keep_before(s, kind, row, l);
        }
    }
    s->head = kept;
}

static int by_start(const void *left, const void *right, void *kind)
{
    const struct lasts a = lasts(*(unsigned *)kind, left), b = lasts(*(unsigned *)kind, right);
    if (a.from != b.from)
        return a.from < b.from ? -1 : 1;
    return a.to < b.to ? -1 : a.to > b.to;
}

static void sort_rows(struct stream *s, unsigned kind)
{
    if (s->unsorted)
        qsort_r(s->rows.items + s->head * s->bytes, s->rows.count - s->head, s->bytes, by_start, &kind);
    s->unsorted = false;
}

/* Decode all that begins before to_ns and, where the next row is asked for, that one. */
static int fill(struct part *part, uint32_t lane, unsigned kind, uint64_t from_ns, uint64_t to_ns)
{
    const struct sonde_chunk_ref *traces = part->plan->process->traces;
    const struct source *source = &part->plan->own->sources[lane * SOURCES + kind];
    struct stream *s = &part->streams[lane * SOURCES + kind];
    uint64_t until_ns = to_ns;
    int rc = s->begun ? 0 : look_back(part, lane, kind, from_ns);

    for (s->begun = true; !rc && s->next < source->count; s->next++) {
        const struct sonde_chunk_ref *t = &traces[source->chunks[s->next]];
        if (t->time_min >= until_ns) {
            if (!has_neighbours(kind))
                break;
            sort_rows(s, kind);
            const size_t after = first_from(s, kind, to_ns);
            if (after < s->rows.count && lasts(kind, s->rows.items + after * s->bytes).from <= t->time_min)
                break;
        }
        if (t->time_max >= from_ns)
            rc = add_chunk(part, lane, kind, source->chunks[s->next], from_ns);
    }
    sort_rows(s, kind);
    return rc;
}

/* The rows of one stream in [from_ns, to_ns): the first of *count, and the one after them, or NULL. */
static int look(struct part *part, uint32_t lane, unsigned kind, uint64_t from_ns, uint64_t to_ns,
                const void **first, uint32_t *count, const void **after)
{
    struct stream *s = &part->streams[lane * SOURCES + kind];
    if (!part->plan->own->sources[lane * SOURCES + kind].count)
        return 0;
    drop_ended(s, kind, from_ns);
    const int rc = fill(part, lane, kind, from_ns, to_ns);
    const size_t end = first_from(s, kind, to_ns);
    if (s->rows.items) /* none where no chunk begins before the window's end */
        *first = s->rows.items + s->head * s->bytes;
    *count = (uint32_t)(end - s->head);
    *after = end < s->rows.count ? s->rows.items + end * s->bytes : NULL;
    return rc;
}

/* ---- windows --------------------------------------------------------------------------- */

/* From the last call or sample before the window to the first after it. */
static struct lasts surroundings(const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t call_end = lane->call_before ? lane->call_before->leave_ns : 0;
    const uint64_t sample_end = lane->sample_before ? lane->sample_before->time_ns : 0;
    const uint64_t call_begin = lane->call_after ? lane->call_after->enter_ns : UINT64_MAX;
    const uint64_t sample_begin = lane->sample_after ? lane->sample_after->time_ns : UINT64_MAX;
    struct lasts l = {call_end > sample_end ? call_end : sample_end, call_begin < sample_begin ? call_begin : sample_begin};
    l.from = l.from && l.from < from_ns ? l.from : from_ns;
    l.to = l.to < UINT64_MAX ? l.to : to_ns;
    return l;
}

static int look_at_lane(struct part *part, uint32_t index, uint64_t from_ns, uint64_t to_ns)
{
    const struct stream *streams = &part->streams[index * SOURCES];
    struct sonde_time_lane *lane = &part->lanes[index];
    const void *rows[SOURCES] = {0}, *after[SOURCES] = {0};
    uint32_t count[SOURCES] = {0};
    int rc = 0;

    part->untimed[index].count = 0;
    for (unsigned kind = 0; kind < SWITCHES && !rc; kind++)
        rc = look(part, index, kind, from_ns, to_ns, &rows[kind], &count[kind], &after[kind]);
    const struct sonde_row_call *calls = rows[CALLS];
    lane->ops = rows[OPS], lane->op_count = count[OPS];
    lane->untimed = (const void *)part->untimed[index].items, lane->untimed_count = (uint32_t)part->untimed[index].count;
    lane->calls = calls, lane->call_count = count[CALLS];
    lane->samples = rows[SAMPLES], lane->sample_count = count[SAMPLES];
    lane->call_before = streams[CALLS].has_before ? &streams[CALLS].before.call : NULL;
    lane->sample_before = streams[SAMPLES].has_before ? &streams[SAMPLES].before.sample : NULL;
    lane->call_after = after[CALLS];
    lane->sample_after = after[SAMPLES];
    const struct lasts around = surroundings(lane, from_ns, to_ns);
    if (!rc)
        rc = look(part, index, SWITCHES, around.from, around.to, &rows[SWITCHES], &count[SWITCHES], &after[SWITCHES]);
    lane->switches = rows[SWITCHES], lane->switch_count = count[SWITCHES];
    const uint64_t waits_ns = count[CALLS] && calls[0].enter_ns < from_ns ? calls[0].enter_ns : from_ns;
    if (!rc)
        rc = look(part, index, WAITS, waits_ns, to_ns, &rows[WAITS], &count[WAITS], &after[WAITS]);
    lane->waits = rows[WAITS], lane->wait_count = count[WAITS];
    if (!rc)
        rc = look(part, index, SLEEPS, from_ns, to_ns, &rows[SLEEPS], &count[SLEEPS], &after[SLEEPS]);
    lane->sleeps = rows[SLEEPS], lane->sleep_count = count[SLEEPS];
    lane->sleep_before = streams[SLEEPS].has_before ? &streams[SLEEPS].before.sleep : NULL;
    lane->sleep_after = after[SLEEPS];
    return rc;
}

struct run {
    const struct sonde_timeline_plan *plan;
    int (*fn)(void *user, const struct sonde_time_window *window);
    void *user;
};

static int read_part(const struct run *run, struct part *part, uint32_t index)
{
    const struct sonde_timeline_plan *plan = run->plan;
    int rc = 0;
    for (uint32_t number = plan->part_first[index]; number < plan->part_first[index + 1] && !rc; number++) {
        struct sonde_time_window window = {
            .number = number, .part = index, .from_ns = plan->borders[number], .to_ns = plan->borders[number + 1],
            .lanes = part->lanes, .lane_count = plan->lane_count};
        for (uint32_t i = 0; i < plan->lane_count && !rc; i++)
            rc = look_at_lane(part, i, window.from_ns, window.to_ns);
        if (part->busy && !rc)
            rc = sonde__busy_look(part->busy, &window);
        rc = rc ? rc : run->fn(run->user, &window);
    }
    return rc;
}

static int run_part(void *user, uint32_t index)
{
    const struct run *run = user;
    const struct sonde_timeline_plan *plan = run->plan;
    const size_t lanes = plan->lane_count;
    struct part part = {
        .plan = plan, .reader = sonde_chunk_reader_create(),
        .streams = calloc(lanes * SOURCES + 1, sizeof *part.streams), .untimed = calloc(lanes + 1, sizeof *part.untimed),
        .lanes = malloc((lanes + 1) * sizeof *part.lanes), .from_ns = plan->borders[plan->part_first[index]],
        .to_ns = plan->borders[plan->part_first[index + 1]], .first = index == 0};
    int rc = SONDE_ENOMEM;

    if (part.reader && part.streams && part.untimed && part.lanes) {
        memcpy(part.lanes, plan->lanes, lanes * sizeof *part.lanes);
        for (size_t i = 0; i < lanes * SOURCES; i++)
            part.streams[i].bytes = item_bytes[i % SOURCES];
        if (plan->options.op_times)
            part.busy = sonde__busy_create(plan, &plan->own->busy, part.reader, plan->part_first[index], plan->part_first[index + 1]);
        rc = plan->options.op_times && !part.busy ? SONDE_ENOMEM : read_part(run, &part, index);
    }
    for (size_t i = 0; part.streams && i < lanes * SOURCES; i++)
        free(part.streams[i].rows.items);
    for (size_t i = 0; part.untimed && i < lanes; i++)
        free(part.untimed[i].items);
    free(part.streams);
    free(part.untimed);
    free(part.lanes);
    sonde__busy_destroy(part.busy);
    sonde_chunk_reader_destroy(part.reader);
    return rc;
}

int sonde_timeline_run(const struct sonde_timeline_plan *plan,
                       int (*fn)(void *user, const struct sonde_time_window *window), void *user)
{
    struct run run = {plan, fn, user};
    sonde_progress_expect(plan->options.progress, plan->rows);
    return sonde_parallel_run(plan->own->threads, plan->part_count, run_part, &run);
}

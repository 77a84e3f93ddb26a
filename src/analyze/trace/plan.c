/* plan.c - which windows and parts a trace is read in, by the headers of its chunks.
 *
 * Borders of windows: rows are taken as evenly spread over their chunk, so that
 * the number of rows before a time is a sum of ramps; a border is where it
 * passes a multiple of the rows wanted per window.
 */
#include <stdlib.h>

#include "base/parallel.h"
#include "format/tables.h"
#include "own.h"

enum {
    WINDOW_ROWS = 1 << 18,
    LANE_ROWS = 1 << 11, /* of one lane in a window: a cache holds them */
};
#define MEMORY_BYTES (1200ull << 20) /* of all parts that are read at one time, about */
enum {
    TWICE_PART = 4,
    PARTS_MOST = 1 << 20,
}; /* at most a quarter of the rows is decoded twice */

static_assert(sizeof(struct sonde_trace_op) == 48, "kept small: there are millions in memory");
#define IS_AT(field, left_out) (offsetof(struct sonde_row_op, field) - offsetof(struct sonde_trace_op, field) == (left_out))
static_assert(IS_AT(start_ns, 0) && IS_AT(end_ns, 0) && IS_AT(enter_ns, 16) && IS_AT(correlation, 24) && IS_AT(node, 24) &&
                  IS_AT(work, 24) && IS_AT(object, 24) && IS_AT(kind, 24) && IS_AT(flags, 24) &&
                  sizeof(struct sonde_row_op) - sizeof(struct sonde_trace_op) == 24,
              "SONDE__OP_KEPT");

/* ---- which chunks --------------------------------------------------------------------- */

/* Of one row in memory. */
static uint32_t bytes_of(const struct sonde_trace_options *o, unsigned table)
{
    return table == SONDE_TABLE_OP && o->op_times ? sizeof(struct sonde_trace_span)
                                                  : sonde__trace_row_bytes(sonde_table_info(table));
}

static bool is_wanted(const struct sonde_trace_options *o, const struct sonde_chunk_ref *t)
{
    return t->count && o->tables >> sonde_table_info(t->table)->trace & 1 && (!o->lanes || o->lanes[t->lane]);
}

/* Lane by lane; operations of which only times are asked for are not. */
static bool is_streamed(const struct sonde_trace_options *o, const struct sonde_chunk_ref *t)
{
    return is_wanted(o, t) && !(o->op_times && t->table == SONDE_TABLE_OP);
}

static int by_lane(const void *left, const void *right)
{
    const struct sonde_trace_lane *a = left, *b = right;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

/* Lanes that have a trace to stream: index of each in *place ([lane id], caller frees). */
static int list_lanes(struct sonde_trace_reader *trace, uint32_t **place)
{
    const struct sonde_process *p = trace->process;
    uint32_t *at = calloc((size_t)p->lane_count + 1, sizeof *at);
    trace->lanes = calloc((size_t)p->lane_count + 1, sizeof *trace->lanes);
    *place = at;
    if (!at || !trace->lanes)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++) {
        const uint32_t lane = p->traces[i].lane;
        if (!is_streamed(&trace->options, &p->traces[i]) || at[lane])
            continue;
        at[lane] = 1;
        trace->lanes[trace->lane_count++] = (struct sonde_trace_lane){
            .lane = lane, .kind = p->lanes[lane].kind, .device = p->lanes[lane].device};
    }
    qsort(trace->lanes, trace->lane_count, sizeof *trace->lanes, by_lane);
    for (uint32_t i = 0; i < trace->lane_count; i++)
        at[trace->lanes[i].lane] = i;
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
static int list_sources(struct sonde_trace_reader *trace, const uint32_t *place)
{
    const struct sonde_process *p = trace->process;
    struct sonde__reader_own *own = trace->own = calloc(1, sizeof *own);

    if (!own)
        return SONDE_ENOMEM;
    own->sources = calloc((size_t)trace->lane_count * SONDE_TRACES + 1, sizeof *own->sources);
    own->chunks = malloc(((size_t)p->trace_count + 1) * sizeof *own->chunks);
    if (!own->sources || !own->chunks)
        return SONDE_ENOMEM;
    for (uint32_t i = 0, used = 0; i < p->trace_count; i++) {
        if (!is_wanted(&trace->options, &p->traces[i]))
            continue;
        trace->rows += p->traces[i].count;
        own->chunks[used++] = i;
        if (!is_streamed(&trace->options, &p->traces[i])) {
            own->busy.chunks = own->busy.chunks ? own->busy.chunks : &own->chunks[used - 1];
            own->busy.chunk_count++;
            continue;
        }
        const struct sonde_table_info *table = sonde_table_info(p->traces[i].table);
        struct sonde__source *s = &own->sources[place[p->traces[i].lane] * SONDE_TRACES + table->trace];
        s->table = table;
        s->chunks = s->count ? s->chunks : &own->chunks[used - 1];
        s->count++;
    }
    for (size_t i = 0; i < (size_t)trace->lane_count * SONDE_TRACES; i++)
        sort_chunks(p, own->sources[i].chunks, own->sources[i].count);
    sort_chunks(p, own->busy.chunks, own->busy.chunk_count);
    return trace->options.op_times ? sonde__busy_list(trace, &own->busy) : 0;
}

/* ---- windows ---------------------------------------------------------------------------- */

struct ramp {
    uint64_t at_ns;
    double rows_per_ns;
}; /* where the density of rows changes */
struct ramps {
    struct ramp *items;
    size_t count;
    double rows;
};

static int by_time(const void *left, const void *right)
{
    const struct ramp *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static uint64_t clamp(uint64_t at_ns, uint64_t from_ns, uint64_t to_ns)
{
    return at_ns < from_ns ? from_ns : (at_ns > to_ns ? to_ns : at_ns);
}

/* Two ramps per chunk that reaches into the range; the rows that lie there are counted, about. */
static void add_ramps(const struct sonde_trace_reader *trace, const uint32_t *chunks, uint32_t count, struct ramps *ramps)
{
    const struct sonde_trace_options *o = &trace->options;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_chunk_ref *t = &trace->process->traces[chunks[i]];
        if (t->time_max < t->time_min || t->time_max < o->from_ns || t->time_min >= o->to_ns)
            continue;
        const double density = t->count / ((double)(t->time_max - t->time_min) + 1);
        const uint64_t begin = clamp(t->time_min, o->from_ns, o->to_ns - 1);
        const uint64_t end = clamp(t->time_max, o->from_ns, o->to_ns - 1) + 1;
        ramps->items[ramps->count++] = (struct ramp){begin, density};
        ramps->items[ramps->count++] = (struct ramp){end, -density};
        ramps->rows += density * (double)(end - begin);
    }
}

/* At most `most` windows, each with as many rows; how many there are. */
static uint32_t put_borders(const struct sonde_trace_options *o, const struct ramps *ramps, uint32_t most,
                            struct sonde_trace_span *windows)
{
    const double target = ramps->rows / most;
    double density = 0, passed = 0;
    uint32_t count = 1;
    windows[0].start_ns = o->from_ns;
    for (size_t i = 0; i + 1 < ramps->count; i++) {
        density += ramps->items[i].rows_per_ns;
        const uint64_t next = ramps->items[i + 1].at_ns;
        uint64_t at = ramps->items[i].at_ns;
        double left = density * (double)(next - at);
        while (passed + left >= target && count < most) {
            const double step = (target - passed) / density;
            at += step < (double)(next - at) ? (uint64_t)step : next - at;
            left = density * (double)(next - at);
            passed = 0;
            if (at > windows[count - 1].start_ns && at < o->to_ns)
                windows[count - 1].end_ns = windows[count].start_ns = at, count++;
            else if (step < 1)
                break; /* more rows in a nanosecond than a window should hold */
        }
        passed += left;
    }
    windows[count - 1].end_ns = o->to_ns;
    return count;
}

/* Windows of the lanes [first, last), and of the operations of which only times are asked for. */
static int add_windows(struct sonde_trace_reader *trace, uint32_t first, uint32_t last, struct ramps *ramps)
{
    const struct sonde__reader_own *own = trace->own;
    ramps->count = 0;
    ramps->rows = 0;
    for (size_t i = (size_t)first * SONDE_TRACES; i < (size_t)last * SONDE_TRACES; i++)
        add_ramps(trace, own->sources[i].chunks, own->sources[i].count, ramps);
    add_ramps(trace, own->busy.chunks, own->busy.chunk_count, ramps);
    if (ramps->count)
        qsort(ramps->items, ramps->count, sizeof *ramps->items, by_time);
    const double wanted = ramps->rows / (double)trace->options.window_rows + 0.5;
    const uint32_t most = wanted < 1 ? 1 : (wanted < 1e6 ? (uint32_t)wanted : 1000000);
    struct sonde_trace_span *windows = realloc(trace->windows, ((size_t)trace->window_count + most) * sizeof *windows);
    if (!windows)
        return SONDE_ENOMEM;
    trace->windows = windows;
    trace->window_count += put_borders(&trace->options, ramps, most, windows + trace->window_count);
    return 0;
}

/* ---- parts ------------------------------------------------------------------------------ */

/* Parts that read at one time, by the memory for a chunk and a window's rows of every lane that each
 * holds; and in all, since at their borders those chunks are decoded twice. */
static void affordable(const struct sonde_trace_reader *trace, uint32_t *at_once, uint32_t *in_all)
{
    const struct sonde_process *p = trace->process;
    uint64_t bytes = trace->options.window_rows * bytes_of(&trace->options, SONDE_TABLE_OP), chunks = 1;
    for (uint32_t i = 0, most = 0; i < p->trace_count; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        if (!is_wanted(&trace->options, t))
            continue;
        most = t->count > most ? t->count : most;
        if (i + 1 < p->trace_count && t[1].table == t->table && t[1].lane == t->lane)
            continue;
        bytes += (uint64_t)most * bytes_of(&trace->options, t->table);
        chunks += most;
        most = 0;
    }
    const uint64_t parts = 1 + trace->rows / chunks / TWICE_PART;
    *at_once = bytes < MEMORY_BYTES ? (uint32_t)(MEMORY_BYTES / bytes) : 1;
    *in_all = parts < PARTS_MOST ? (uint32_t)parts : PARTS_MOST;
}

static int put_parts(struct sonde_trace_reader *trace, uint32_t parts)
{
    trace->part_first = malloc(((size_t)parts + 1) * sizeof *trace->part_first);
    trace->states = calloc((size_t)parts + 1, trace->options.state_bytes + 1);
    trace->part_count = trace->part_first && trace->states ? parts : 0;
    return trace->part_first && trace->states ? 0 : SONDE_ENOMEM;
}

static int divide_time(struct sonde_trace_reader *trace, struct ramps *ramps)
{
    const uint32_t wanted = trace->options.threads;
    uint32_t most, in_all, parts;
    affordable(trace, &most, &in_all);
    trace->own->threads = parts = wanted < most ? wanted : most;
    parts = parts > 1 ? 2 * parts : 1; /* a thread that is slowed down leaves some to others */
    parts = parts < in_all ? parts : in_all;
    if (add_windows(trace, 0, trace->lane_count, ramps) || put_parts(trace, parts < trace->window_count ? parts : trace->window_count))
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i <= trace->part_count; i++)
        trace->part_first[i] = (uint32_t)((uint64_t)i * trace->window_count / trace->part_count);
    return 0;
}

static int divide_lanes(struct sonde_trace_reader *trace, struct ramps *ramps)
{
    int rc = put_parts(trace, trace->lane_count);
    trace->own->threads = trace->options.threads;
    for (uint32_t i = 0; i < trace->lane_count && !rc; i++) {
        trace->part_first[i] = trace->window_count;
        rc = add_windows(trace, i, i + 1, ramps);
        trace->part_first[i + 1] = trace->window_count;
    }
    return rc;
}

int sonde_trace_open(const struct sonde_process *p, const struct sonde_trace_options *options, struct sonde_trace_reader *trace)
{
    struct ramps ramps = {.items = malloc(((size_t)p->trace_count * 2 + 1) * sizeof *ramps.items)};
    uint32_t *place = NULL;
    trace->process = p;
    trace->options = *options;
    trace->options.to_ns = options->to_ns ? options->to_ns : UINT64_MAX;
    trace->options.window_rows = options->window_rows ? options->window_rows : (options->by_lane ? LANE_ROWS : WINDOW_ROWS);
    trace->options.threads = options->threads ? options->threads : sonde_parallel_threads();
    int rc = ramps.items ? list_lanes(trace, &place) : SONDE_ENOMEM;
    if (!rc)
        rc = list_sources(trace, place);
    if (!rc)
        rc = options->by_lane ? divide_lanes(trace, &ramps) : divide_time(trace, &ramps);
    free(place);
    free(ramps.items);
    return rc;
}

void sonde_trace_close(struct sonde_trace_reader *trace)
{
    if (trace->own) {
        free(trace->own->sources);
        free(trace->own->chunks);
        free(trace->own->busy.devices);
    }
    free(trace->own);
    free(trace->windows);
    free(trace->part_first);
    free(trace->lanes);
    free(trace->devices);
    free(trace->states);
    *trace = (struct sonde_trace_reader){0};
}

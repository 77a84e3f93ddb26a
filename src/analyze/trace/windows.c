/* windows.c - the rows of a trace, window by window.
 *
 * A lane's rows come in chunks, and chunks in the order of their earliest row,
 * not of all rows: those of several chunks, and rows within one, may be out of
 * order. A stream (one table of one lane, in one part) therefore decodes every
 * chunk that begins before the window's end, keeps what is decoded sorted, and
 * drops what has ended before the window's begin. Where a lane's rows come in
 * order, as nearly always, nothing is sorted or moved, and a window's arrays
 * lie in the stream's memory: about one chunk and one window's rows per lane.
 */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "own.h"

/* ---- streams --------------------------------------------------------------------------- */

union item {
    struct sonde_trace_op op;
    struct sonde_row_call call;
    struct sonde_row_sample sample;
    struct sonde_row_sleep sleep;
};

struct rows {
    uint8_t *items;
    size_t count, room;
};

/* Of these tables the rows before and after a window are asked for; of these, rows before a part matter in it. */
enum {
    NEIGHBOURS = 1 << SONDE_TRACE_CALL | 1 << SONDE_TRACE_SAMPLE | 1 << SONDE_TRACE_SLEEP,
    LOOK_BACK = NEIGHBOURS | 1 << SONDE_TRACE_SWITCH,
};

struct stream {
    const struct sonde_table_info *table;
    const struct sonde__source *source;
    uint32_t bytes;       /* of a row */
    struct rows rows, untimed; /* the latter: of operations without times */
    size_t head;          /* rows before it have ended */
    uint32_t next;        /* of the source's chunks */
    bool begun, unsorted, has_before;
    bool overlap;         /* one ended before one that began earlier */
    union item before;    /* of those that have ended the last, where neighbours are asked for */
};

struct part { /* what one thread reads */
    const struct sonde_trace_reader *trace;
    struct sonde_chunk_reader *reader;
    struct sonde_trace_lane *lanes;
    uint32_t lane_count;
    struct stream *streams;        /* [lane][SONDE_TRACES] */
    struct sonde__busy *busy;      /* when op_times */
    uint64_t from_ns, to_ns;       /* of the part */
    bool first;                    /* of those that its chunks may reach into */
};

struct lasts { uint64_t from, to; };

static inline struct lasts lasts(const struct sonde_table_info *table, const uint8_t *row)
{
    struct lasts l;
    memcpy(&l.from, row + table->from, sizeof l.from);
    memcpy(&l.to, row + table->to, sizeof l.to);
    l.to = l.to < l.from ? l.from : l.to;
    return l;
}

static inline uint8_t *row_at(const struct stream *s, size_t i)
{
    return s->rows.items + i * s->bytes;
}

static inline struct lasts lasts_at(const struct stream *s, size_t i)
{
    return lasts(s->table, row_at(s, i));
}

static bool is_of(const struct stream *s, unsigned tables)
{
    return tables >> s->table->trace & 1;
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

static void keep_before(struct stream *s, const uint8_t *row, struct lasts l)
{
    if (!is_of(s, NEIGHBOURS) || (s->has_before && lasts(s->table, (const uint8_t *)&s->before).to > l.to))
        return;
    memcpy(&s->before, row, s->bytes);
    s->has_before = true;
}

static int add_untimed(struct rows *untimed, const struct sonde_trace_op *op)
{
    if (make_room(untimed, &(size_t){0}, 1, sizeof *op))
        return SONDE_ENOMEM;
    memcpy(untimed->items + untimed->count++ * sizeof *op, op, sizeof *op);
    return 0;
}

/* Rows mean the same as in the table, except where a number stands for there being none. False: it is to be left out. */
static inline bool settle(enum sonde_trace table, uint8_t *row)
{
    struct sonde_row_switch *away = (void *)row;
    const struct sonde_row_sleep *sleep = (void *)row;
    const struct sonde_trace_op *op = (void *)row;
    if (table == SONDE_TRACE_SWITCH && !away->in_ns)
        away->in_ns = UINT64_MAX;
    return table == SONDE_TRACE_OP      ? sonde_op_has_times(op->flags, op->start_ns, op->end_ns)
           : table == SONDE_TRACE_SLEEP ? sleep->to_ns > sleep->from_ns
                                        : true;
}

/* Rows of a chunk, which was decoded behind the others: those that stay move up to them. `untimed`: for operations
 * without times, or NULL. */
static int add_rows(struct stream *s, uint32_t count, uint64_t from_ns, struct rows *untimed)
{
    const struct sonde_table_info *table = s->table;
    const size_t bytes = s->bytes;
    struct lasts last = s->rows.count > s->head ? lasts_at(s, s->rows.count - 1) : (struct lasts){0};
    uint8_t *row = row_at(s, s->rows.count), *to = row;
    bool unsorted = false, overlap = false;
    for (uint32_t i = 0; i < count; i++, row += bytes) {
        if (!settle(table->trace, row)) {
            if (table->trace == SONDE_TRACE_OP && untimed && add_untimed(untimed, (const void *)row))
                return SONDE_ENOMEM;
            continue;
        }
        const struct lasts l = lasts(table, row);
        if (has_ended(l, from_ns)) {
            keep_before(s, row, l);
            continue;
        }
        unsorted |= l.from < last.from;
        overlap |= l.to < last.to;
        last = l;
        if (to != row)
            memcpy(to, row, bytes);
        to += bytes;
    }
    s->unsorted |= unsorted;
    s->overlap |= unsorted | overlap;
    s->rows.count = (size_t)(to - s->rows.items) / bytes;
    return 0;
}

/* Of the fields that were asked for, and those that tell rows apart. */
static uint64_t fields_of(const struct sonde_trace_options *o, unsigned table)
{
    if (table == SONDE_TABLE_OP && o->op_fields)
        return o->op_fields | SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns) |
               SONDE_FIELD(sonde_row_op, flags) | SONDE_FIELD(sonde_row_op, kind);
    if (table == SONDE_TABLE_CALL && o->call_fields)
        return o->call_fields | SONDE_FIELD(sonde_row_call, enter_ns) | SONDE_FIELD(sonde_row_call, leave_ns);
    return UINT64_MAX;
}

/* Decode a chunk into its stream. */
static int add_chunk(struct part *part, struct stream *s, uint32_t chunk, uint64_t from_ns)
{
    const struct sonde_process *p = part->trace->process;
    const struct sonde_chunk_ref *t = &p->traces[chunk];
    /* Several parts may decode a chunk; in one of them it begins. */
    const bool owned = t->time_min < part->to_ns && (part->first || t->time_min >= part->from_ns);
    const uint64_t kept = t->table == SONDE_TABLE_OP ? SONDE__OP_KEPT : UINT64_MAX;

    if (owned)
        sonde_progress_add(part->trace->options.progress, t->count);
    if (make_room(&s->rows, &s->head, t->count, s->bytes))
        return SONDE_ENOMEM;
    if (!sonde_chunk_reader_into(part->reader, p, chunk, fields_of(&part->trace->options, t->table), kept,
                                 row_at(s, s->rows.count)))
        return 0;
    return add_rows(s, t->count, from_ns, owned ? &s->untimed : NULL);
}

/* Of the chunks that end before the part begins, the one that ends last holds
 * the row that was the last, and the switch that never came back. */
static int look_back(struct part *part, struct stream *s, uint64_t from_ns)
{
    const struct sonde_chunk_ref *traces = part->trace->process->traces;
    const struct sonde_chunk_ref *last = NULL;

    for (uint32_t i = 0; is_of(s, LOOK_BACK) && i < s->source->count && traces[s->source->chunks[i]].time_min < from_ns; i++) {
        const struct sonde_chunk_ref *t = &traces[s->source->chunks[i]];
        if (t->time_max < from_ns && (!last || t->time_max >= last->time_max))
            last = t;
    }
    return last ? add_chunk(part, s, (uint32_t)(last - traces), from_ns) : 0;
}

/* Index of the first row that starts at or after `at_ns`; rows are sorted from the head on.
 * It is not far from the head: a window's rows of what may be many. */
static size_t first_from(const struct stream *s, uint64_t at_ns)
{
    size_t low = s->head, high = s->head;
    for (size_t step = 8; high < s->rows.count && lasts_at(s, high).from < at_ns; step *= 2) {
        low = high + 1;
        high += step;
    }
    high = high < s->rows.count ? high : s->rows.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lasts_at(s, middle).from < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Drop what has ended: of the rows that began before, the others move up to those that begin later. */
static void drop_ended(struct stream *s, uint64_t from_ns)
{
    size_t kept = first_from(s, from_ns), last = SIZE_MAX;
    uint64_t last_ns = 0;
    for (size_t i = kept; i-- > s->head;) {
        const struct lasts l = lasts_at(s, i);
        if (!has_ended(l, from_ns)) {
            if (--kept != i)
                memcpy(row_at(s, kept), row_at(s, i), s->bytes);
        } else if (last == SIZE_MAX || l.to > last_ns) { /* of two that ended together, the one that began last */
            last = i;
            last_ns = l.to;
            keep_before(s, row_at(s, i), l);
        }
        if (last != SIZE_MAX && !s->overlap)
            break; /* those before it ended before it */
    }
    s->head = kept;
}

static int by_start(const void *left, const void *right, void *table)
{
    const struct lasts a = lasts(table, left), b = lasts(table, right);
    if (a.from != b.from)
        return a.from < b.from ? -1 : 1;
    return a.to < b.to ? -1 : a.to > b.to;
}

static void sort_rows(struct stream *s)
{
    if (s->unsorted)
        qsort_r(row_at(s, s->head), s->rows.count - s->head, s->bytes, by_start, (void *)(uintptr_t)s->table);
    s->unsorted = false;
}

/* Decode all that begins before to_ns and, where the next row is asked for, that one. */
static int fill(struct part *part, struct stream *s, uint64_t from_ns, uint64_t to_ns)
{
    const struct sonde_chunk_ref *traces = part->trace->process->traces;
    int rc = s->begun ? 0 : look_back(part, s, from_ns);

    for (s->begun = true; !rc && s->next < s->source->count; s->next++) {
        const struct sonde_chunk_ref *t = &traces[s->source->chunks[s->next]];
        if (t->time_min >= to_ns) {
            if (!is_of(s, NEIGHBOURS))
                break;
            sort_rows(s);
            const size_t after = first_from(s, to_ns);
            if (after < s->rows.count && lasts_at(s, after).from <= t->time_min)
                break;
        }
        if (t->time_max >= from_ns)
            rc = add_chunk(part, s, s->source->chunks[s->next], from_ns);
    }
    sort_rows(s);
    return rc;
}

/* The rows of one stream in [from_ns, to_ns), and those around them, or NULL. */
struct seen {
    const void *rows, *before, *after;
    uint32_t count;
};

static int look(struct part *part, struct stream *s, uint64_t from_ns, uint64_t to_ns, struct seen *seen)
{
    *seen = (struct seen){0};
    if (!s->source->count)
        return 0;
    drop_ended(s, from_ns);
    const int rc = fill(part, s, from_ns, to_ns);
    const size_t end = first_from(s, to_ns);
    if (s->rows.items) /* none where no chunk begins before the window's end */
        seen->rows = row_at(s, s->head);
    seen->count = (uint32_t)(end - s->head);
    seen->after = end < s->rows.count ? row_at(s, end) : NULL;
    seen->before = s->has_before ? &s->before : NULL;
    return rc;
}

/* ---- windows --------------------------------------------------------------------------- */

/* From the last call or sample before the window to the first after it. */
static struct lasts surroundings(const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns)
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
    struct stream *streams = &part->streams[index * SONDE_TRACES];
    struct sonde_trace_lane *lane = &part->lanes[index];
    struct seen ops, calls, samples, switches, waits, sleeps;

    streams[SONDE_TRACE_OP].untimed.count = 0;
    if (look(part, &streams[SONDE_TRACE_OP], from_ns, to_ns, &ops) ||
        look(part, &streams[SONDE_TRACE_CALL], from_ns, to_ns, &calls) ||
        look(part, &streams[SONDE_TRACE_SAMPLE], from_ns, to_ns, &samples) ||
        look(part, &streams[SONDE_TRACE_SLEEP], from_ns, to_ns, &sleeps))
        return SONDE_ENOMEM;
    lane->ops = ops.rows, lane->op_count = ops.count;
    lane->untimed = (const void *)streams[SONDE_TRACE_OP].untimed.items;
    lane->untimed_count = (uint32_t)streams[SONDE_TRACE_OP].untimed.count;
    lane->calls = calls.rows, lane->call_count = calls.count;
    lane->call_before = calls.before, lane->call_after = calls.after;
    lane->samples = samples.rows, lane->sample_count = samples.count;
    lane->sample_before = samples.before, lane->sample_after = samples.after;
    lane->sleeps = sleeps.rows, lane->sleep_count = sleeps.count;
    lane->sleep_before = sleeps.before, lane->sleep_after = sleeps.after;
    const struct lasts around = surroundings(lane, from_ns, to_ns);
    const uint64_t waits_ns = lane->call_count && lane->calls[0].enter_ns < from_ns ? lane->calls[0].enter_ns : from_ns;
    if (look(part, &streams[SONDE_TRACE_SWITCH], around.from, around.to, &switches) ||
        look(part, &streams[SONDE_TRACE_WAIT], waits_ns, to_ns, &waits))
        return SONDE_ENOMEM;
    lane->switches = switches.rows, lane->switch_count = switches.count;
    lane->waits = waits.rows, lane->wait_count = waits.count;
    return 0;
}

struct run {
    const struct sonde_trace_reader *trace;
    int (*fn)(void *user, const struct sonde_trace_window *window);
    void *user;
    uint32_t parts_per_task; /* one after the other, in the same memory */
};

static int read_windows(const struct run *run, struct part *part, uint32_t index)
{
    const struct sonde_trace_reader *trace = run->trace;
    int rc = 0;
    for (uint32_t number = trace->part_first[index]; number < trace->part_first[index + 1] && !rc; number++) {
        struct sonde_trace_window window = {
            .number = number,
            .state = sonde_trace_state(trace, index),
            .from_ns = trace->windows[number].start_ns,
            .to_ns = trace->windows[number].end_ns,
            .lanes = part->lanes,
            .lane_count = part->lane_count,
        };
        for (uint32_t i = 0; i < part->lane_count && !rc; i++)
            rc = look_at_lane(part, i, window.from_ns, window.to_ns);
        if (part->busy && !rc)
            rc = sonde__busy_look(part->busy, &window);
        rc = rc ? rc : run->fn(run->user, &window);
    }
    return rc;
}

static int read_part(const struct run *run, struct part *part, uint32_t index)
{
    const struct sonde_trace_reader *trace = run->trace;
    const uint32_t first = trace->options.by_lane ? index : 0;
    const uint32_t begin = trace->part_first[index], end = trace->part_first[index + 1];
    part->from_ns = trace->windows[begin].start_ns, part->to_ns = trace->windows[end - 1].end_ns;
    part->first = index == 0 || trace->options.by_lane;
    memcpy(part->lanes, &trace->lanes[first], part->lane_count * sizeof *part->lanes);
    for (size_t i = 0; i < (size_t)part->lane_count * SONDE_TRACES; i++) {
        struct stream *s = &part->streams[i];
        const struct sonde__source *source = &trace->own->sources[(size_t)first * SONDE_TRACES + i];
        *s = (struct stream){
            .table = source->table,
            .source = source,
            .bytes = source->table ? sonde__trace_row_bytes(source->table) : 0,
            .rows = {s->rows.items, 0, s->rows.room},
            .untimed = {s->untimed.items, 0, s->untimed.room},
        };
    }
    if (trace->options.op_times && !(part->busy = sonde__busy_create(trace, &trace->own->busy, part->reader, begin, end)))
        return SONDE_ENOMEM;
    const int rc = read_windows(run, part, index);
    sonde__busy_destroy(part->busy);
    return rc;
}

static int run_task(void *user, uint32_t task)
{
    const struct run *run = user;
    const struct sonde_trace_reader *trace = run->trace;
    const uint32_t lanes = trace->options.by_lane ? 1 : trace->lane_count;
    struct part part = {
        .trace = trace,
        .reader = sonde_chunk_reader_create(),
        .lane_count = lanes,
        .streams = calloc((size_t)lanes * SONDE_TRACES + 1, sizeof *part.streams),
        .lanes = malloc(((size_t)lanes + 1) * sizeof *part.lanes),
    };
    int rc = part.reader && part.streams && part.lanes ? 0 : SONDE_ENOMEM;
    for (uint32_t i = task * run->parts_per_task; i < (task + 1) * run->parts_per_task && i < trace->part_count && !rc; i++)
        rc = read_part(run, &part, i);
    for (size_t i = 0; part.streams && i < (size_t)lanes * SONDE_TRACES; i++) {
        free(part.streams[i].rows.items);
        free(part.streams[i].untimed.items);
    }
    free(part.streams);
    free(part.lanes);
    sonde_chunk_reader_destroy(part.reader);
    return rc;
}

int sonde_trace_read(const struct sonde_trace_reader *trace, int (*fn)(void *user, const struct sonde_trace_window *window), void *user)
{
    enum { TASKS = 16 }; /* of a thread: enough for all to have work to the end */
    const uint32_t threads = trace->own->threads, most = threads * TASKS;
    struct run run = {trace, fn, user, 1 + (trace->options.by_lane ? trace->part_count / most : 0)};
    sonde_progress_expect(trace->options.progress, trace->rows);
    return sonde_parallel_run(threads, (trace->part_count + run.parts_per_task - 1) / run.parts_per_task, run_task, &run);
}

int sonde_trace_pass(const struct sonde_process *p, const struct sonde_trace_options *options,
                     int (*fn)(void *user, const struct sonde_trace_window *window), void *user)
{
    struct sonde_trace_reader trace = {0};
    int rc = sonde_trace_open(p, options, &trace);
    if (!rc)
        rc = sonde_trace_read(&trace, fn, user);
    sonde_trace_close(&trace);
    return rc;
}

/* trace.h - the one reader of traces: what is there, and the rows in order of time, in parallel with bounded memory.
 *
 * The time axis is cut where the trace is dense, so that about `window_rows`
 * rows fall into each window. Neighbouring windows form a part; parts are read
 * side by side, the windows of a part one after the other by one thread. Each
 * chunk is decoded once per part that it reaches into. With `by_lane`, each lane is
 * a part by itself, with windows of its own.
 *
 *     struct sonde_trace_reader trace = {0};
 *     rc = sonde_trace_open(p, &(struct sonde_trace_options){.tables = SONDE_READ_OPS, .state_bytes = sizeof(struct sums)}, &trace);
 *     rc = rc ? rc : sonde_trace_read(&trace, each_window, user);  // adds to window->state, which is the part's
 *     for (uint32_t i = 0; i < trace.part_count && !rc; i++)
 *         rc = merge(user, sonde_trace_state(&trace, i));          // in the order of the parts
 *     sonde_trace_close(&trace);
 *
 * What is in a window: it is [from_ns, to_ns); a row is in every window that
 * it overlaps, a row without length (an instant) in the one that it lies in.
 * Windows follow each other without gap; the first begins and the last ends at
 * the bounds of the options, so that nothing of the trace lies outside.
 * Results that add up rows must cut them at the window's bounds, or count a
 * row only in the window where it starts.
 *
 * Threads: a trace belongs to one; sonde_trace_read calls the function from several.
 */
#ifndef SONDE_ANALYZE_TRACE_TRACE_H
#define SONDE_ANALYZE_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "format/reader.h"

/* ---- what is there: of the headers of chunks, nothing is decoded -------------------------------- */

enum {
    /* sets of tables */
    SONDE_READ_OPS = 1 << SONDE_TRACE_OP,
    SONDE_READ_CALLS = 1 << SONDE_TRACE_CALL,
    SONDE_READ_RANGES = 1 << SONDE_TRACE_RANGE,
    SONDE_READ_SAMPLES = 1 << SONDE_TRACE_SAMPLE,
    SONDE_READ_SWITCHES = 1 << SONDE_TRACE_SWITCH,
    SONDE_READ_WAITS = 1 << SONDE_TRACE_WAIT,
    SONDE_READ_SLEEPS = 1 << SONDE_TRACE_SLEEP,
    SONDE_READ_SERIES = 1 << SONDE_TRACE_SERIES,
    SONDE_READ_MESSAGES = 1 << SONDE_TRACE_MESSAGE,
    SONDE_READ_ALL = -1,
};

struct sonde_trace_extent { uint64_t rows, from_ns, to_ns; }; /* of 0 rows: from UINT64_MAX to 0 */
struct sonde_trace_extent sonde_trace_extent(const struct sonde_process *p, int tables);
/* The same by lane: [lane_count], caller frees; NULL: out of memory. */
struct sonde_trace_extent *sonde_trace_extents(const struct sonde_process *p, int tables);
/* Rows of the tables in the traces of every process. */
uint64_t sonde_trace_rows(const struct sonde_measurement *m, int tables);
/* When the last `rows` rows of the tables begin, about: as if those of a chunk were spread evenly over its time. 0: they are not more. */
uint64_t sonde_trace_last(const struct sonde_process *p, int tables, uint64_t rows);

/* ---- rows as they are stored ------------------------------------------------------------------- */

struct sonde_trace_stored {
    enum sonde_table table;
    uint32_t lane;           /* 0 = all, by id */
    uint64_t from_ns, to_ns; /* whole chunks outside are left out; to_ns 0 = UINT64_MAX */
    struct sonde_progress *progress; /* in rows; may be NULL */
};
/* Call fn(user, lane, row) for rows of one table, as they lie in their lane's chunks: for what has no need of their
 * order in time, or of what struct sonde_trace_op leaves out. 0, SONDE_ENOMEM, or what fn returned (non-zero stops).
 * Damaged chunks are skipped and counted in the process. */
int sonde_trace_each(const struct sonde_process *p, const struct sonde_trace_stored *which,
                     int (*fn)(void *user, uint32_t lane, const void *row), void *user);

/* ---- one row ------------------------------------------------------------------------------------ */

struct sonde_trace_wanted { /* of what is not NULL all must be so */
    enum sonde_table table;
    uint32_t lane;
    const uint64_t *number;      /* as the lane's chunks count their rows (reader.h) */
    const uint64_t *at_ns;       /* when it began (sonde_row_lasts) */
    const uint64_t *correlation; /* of OP and CALL */
};
/* The first of a lane's rows that is wanted into `row`, and its number. 0, SONDE_ENOTFOUND or SONDE_ENOMEM. */
int sonde_trace_row(const struct sonde_process *p, const struct sonde_trace_wanted *wanted, void *row, uint64_t *number);

/* ---- rows in order of time ------------------------------------------------------------------- */

/* An operation; what its row has more of is left out to save memory. */
struct sonde_trace_op {
    uint64_t start_ns, end_ns, enter_ns;
    uint64_t correlation;
    uint32_t node, work, object; /* references of rows: check them (reader.h) */
    uint16_t kind, flags;
};

/* Did the runtime tell when it ran, as far as that can be? Fields of an operation, from here or from its row. */
static inline bool sonde_op_has_times(unsigned flags, uint64_t start_ns, uint64_t end_ns)
{
    return !(flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)) && end_ns >= start_ns;
}

/* When only times are asked for (op_times): those of the operations of one device. */
enum { SONDE_TRACE_SPANS = 127 };
struct sonde_trace_spans {
    struct sonde_trace_spans *next; /* NULL: the last */
    uint32_t count;
    struct sonde_trace_span { uint64_t start_ns, end_ns; } items[SONDE_TRACE_SPANS];
};
struct sonde_trace_device {
    uint32_t device;         /* as in LANE */
    uint64_t until_ns;       /* of those that began before the window, the last end; it may lie before the window, too */
    const struct sonde_trace_spans *spans; /* those that begin in the window and last, in no order; NULL: none */
};

/* One lane in one window. Arrays are sorted by start (entry, time); they and what
 * `before` and `after` point to are valid until the function returns. */
struct sonde_trace_lane {
    uint32_t lane, kind, device;           /* as in LANE */
    /* clang-format off */
    const struct sonde_trace_op    *ops;      uint32_t op_count;
    /* Operations with SONDE_OP_NO_TIMES or SONDE_OP_BAD_TIME, start and end as they
     * are in the row: each comes once, in some window. */
    const struct sonde_trace_op    *untimed;  uint32_t untimed_count;
    const struct sonde_row_call    *calls;    uint32_t call_count;
    const struct sonde_row_sample  *samples;  uint32_t sample_count;
    /* Also those since the last call or sample before the window, and until the first after it.
     * in_ns UINT64_MAX: never came back. */
    const struct sonde_row_switch  *switches; uint32_t switch_count;
    const struct sonde_row_wait    *waits;    uint32_t wait_count;   /* those of calls[0], entered earlier, too */
    const struct sonde_row_sleep   *sleeps;   uint32_t sleep_count;  /* of some length; do not overlap each other */
    /* clang-format on */
    /* The last that ended at or before from_ns, the first that starts at or after to_ns; NULL: none. */
    const struct sonde_row_call *call_before, *call_after;
    const struct sonde_row_sample *sample_before, *sample_after;
    const struct sonde_row_sleep *sleep_before, *sleep_after;
};

/* The samples of the window with the ones before and after it: number `index` of them, NULL beyond. */
static inline const struct sonde_row_sample *sonde_trace_sample(const struct sonde_trace_lane *lane, uint32_t index)
{
    if (lane->sample_before && index-- == 0)
        return lane->sample_before;
    if (index < lane->sample_count)
        return &lane->samples[index];
    return index == lane->sample_count ? lane->sample_after : NULL;
}

struct sonde_trace_window {
    uint64_t from_ns, to_ns;
    uint32_t number;         /* of all windows of the trace: part after part, in order of time */
    void *state;             /* of the part */
    const struct sonde_trace_lane *lanes;
    uint32_t lane_count; /* those of the trace, by id: the same in every window; or the one */
    const struct sonde_trace_device *devices; /* [device_count of the trace], when op_times */
    uint64_t untimed;        /* when op_times: operations without usable times; each is counted in one window */
};

struct sonde_trace_options {
    int tables;               /* SONDE_READ_OPS, _CALLS, _SAMPLES, _SWITCHES, _WAITS, _SLEEPS */
    uint64_t from_ns, to_ns;  /* to_ns 0 = UINT64_MAX */
    uint64_t window_rows;     /* 0 = a quarter of a million; by_lane: two thousand */
    /* SONDE_FIELD bits of sonde_row_op and sonde_row_call that are wanted besides times and flags; the
     * others hold anything then, which is faster. 0 = all. */
    uint64_t op_fields, call_fields;
    /* Of operations only the times, by device and not by lane, and only of those that occupy their device:
     * not of markers, barriers and waits. Lanes that have nothing else are not in the trace. op_fields is ignored. */
    bool op_times;
    bool by_lane;             /* parts are lanes, by id; not with op_times */
    const bool *lanes;        /* [lane id]: read only these; NULL: all */
    size_t state_bytes;       /* of a part's state, which is zero at first */
    uint32_t threads;         /* 0 = sonde_parallel_threads() */
    struct sonde_progress *progress; /* in rows; may be NULL */
};

struct sonde_trace_reader { /* ready when zeroed */
    const struct sonde_process *process;
    struct sonde_trace_options options;
    uint64_t rows;           /* in the chunks that are read */
    uint32_t window_count, part_count, lane_count;
    struct sonde_trace_span *windows; /* [window_count] */
    uint32_t *part_first;    /* [part_count + 1]: windows */
    struct sonde_trace_lane *lanes; /* [lane_count]: ids, kinds and devices of those that have rows */
    struct sonde_trace_device *devices;
    uint32_t device_count; /* when op_times: ids, in the order of their first lanes */
    void *states;            /* [part_count] */
    struct sonde__reader_own *own;
};

/* Choose windows and parts from the chunks' headers; nothing is decoded. A trace
 * without rows has one window, or none by_lane. 0 or SONDE_ENOMEM; close in either case. */
int sonde_trace_open(const struct sonde_process *p, const struct sonde_trace_options *options, struct sonde_trace_reader *trace);
void sonde_trace_close(struct sonde_trace_reader *trace);

/* Call fn(user, window) for every window. Windows of one part come in order,
 * from one thread; parts side by side. 0, SONDE_ENOMEM, or what fn returned
 * (non-zero stops). Damaged chunks are skipped and counted in the process. */
int sonde_trace_read(const struct sonde_trace_reader *trace, int (*fn)(void *user, const struct sonde_trace_window *window), void *user);

/* The same from opening to closing, where parts need no state or their function has its own. */
int sonde_trace_pass(const struct sonde_process *p, const struct sonde_trace_options *options,
                     int (*fn)(void *user, const struct sonde_trace_window *window), void *user);

/* State of a part; parts are those that `part_count` counts. */
static inline void *sonde_trace_state(const struct sonde_trace_reader *trace, uint32_t part)
{
    return (char *)trace->states + part * trace->options.state_bytes;
}

#endif

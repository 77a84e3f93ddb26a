/* timeline.h - the trace of a process in windows of time, read in parallel with bounded memory.
 *
 * The time axis is cut where the trace is dense, so that about `window_rows`
 * rows fall into each window. Neighbouring windows form a part; parts are read
 * side by side, the windows of a part one after the other by one thread. Each
 * chunk is decoded once per part that it reaches into.
 *
 *     struct sonde_timeline_plan plan = {0};
 *     rc = sonde_timeline_plan(p, &options, &plan);
 *     states = calloc(plan.part_count, sizeof *states);
 *     if (!rc)
 *         rc = sonde_timeline_run(&plan, each_window, states);  // states[window->part]
 *     ... merge the states in the order of the parts ...
 *     sonde_timeline_fini(&plan);
 *
 * What is in a window: it is [from_ns, to_ns); a row is in every window that
 * it overlaps, a row without length (an instant) in the one that it lies in.
 * Windows follow each other without gap; the first begins and the last ends at
 * the bounds of the options, so that nothing of the trace lies outside.
 * Results that add up rows must cut them at the window's bounds, or count a
 * row only in the window where it starts.
 *
 * Threads: a plan belongs to one; sonde_timeline_run calls the function from several.
 */
#ifndef SONDE_ANALYZE_TIMELINE_H
#define SONDE_ANALYZE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "format/reader.h"

/* An operation; what its row has more of is left out to save memory. */
struct sonde_time_op {
    uint64_t start_ns, end_ns, enter_ns;
    uint64_t correlation;
    uint32_t node, work, object; /* references of rows: check them (reader.h) */
    uint16_t kind, flags;
};

/* When only times are asked for (op_times): those of the operations of one device. */
enum { SONDE_TIME_SPANS = 127 };
struct sonde_time_spans {
    struct sonde_time_spans *next; /* NULL: the last */
    uint32_t count;
    struct sonde_time_span { uint64_t start_ns, end_ns; } items[SONDE_TIME_SPANS];
};
struct sonde_time_device {
    uint32_t device;         /* as in LANE */
    uint64_t until_ns;       /* of those that began before the window, the last end; it may lie before the window, too */
    const struct sonde_time_spans *spans; /* those that begin in the window and last, in no order; NULL: none */
};

/* One lane in one window. Arrays are sorted by start (entry, time); they and what
 * `before` and `after` point to are valid until the function returns. */
struct sonde_time_lane {
    uint32_t lane, kind, device;           /* as in LANE */
    const struct sonde_time_op     *ops;      uint32_t op_count;
    /* Operations with SONDE_OP_NO_TIMES or SONDE_OP_BAD_TIME, start and end as they
     * are in the row: each comes once, in some window. */
    const struct sonde_time_op     *untimed;  uint32_t untimed_count;
    const struct sonde_row_call    *calls;    uint32_t call_count;
    const struct sonde_row_sample  *samples;  uint32_t sample_count;
    /* Also those since the last call or sample before the window, and until the first after it.
     * in_ns UINT64_MAX: never came back. */
    const struct sonde_row_switch  *switches; uint32_t switch_count;
    const struct sonde_row_wait    *waits;    uint32_t wait_count;   /* those of calls[0], entered earlier, too */
    const struct sonde_row_sleep   *sleeps;   uint32_t sleep_count;  /* of some length; do not overlap each other */
    /* The last that ended at or before from_ns, the first that starts at or after to_ns; NULL: none. */
    const struct sonde_row_call   *call_before, *call_after;
    const struct sonde_row_sample *sample_before, *sample_after;
    const struct sonde_row_sleep  *sleep_before, *sleep_after;
};

/* The samples of the window with the ones before and after it: number `index` of them, NULL beyond. */
static inline const struct sonde_row_sample *sonde_time_sample(const struct sonde_time_lane *lane, uint32_t index)
{
    if (lane->sample_before && index-- == 0)
        return lane->sample_before;
    if (index < lane->sample_count)
        return &lane->samples[index];
    return index == lane->sample_count ? lane->sample_after : NULL;
}

struct sonde_time_window {
    uint32_t number;         /* of all windows of the plan, in order of time */
    uint32_t part;
    uint64_t from_ns, to_ns;
    const struct sonde_time_lane *lanes; uint32_t lane_count; /* those of the plan, by id: the same in every window */
    const struct sonde_time_device *devices; /* [device_count of the plan], when op_times */
    uint64_t untimed;        /* when op_times: operations without usable times; each is counted in one window */
};

struct sonde_timeline_options {
    uint32_t tables;          /* bits 1 << SONDE_TABLE_OP, _CALL, _SAMPLE, _SWITCH, _WAIT, _SLEEP */
    uint64_t from_ns, to_ns;  /* to_ns 0 = UINT64_MAX */
    uint64_t window_rows;     /* 0 = a quarter of a million */
    /* SONDE_FIELD bits of sonde_row_op and sonde_row_call that are wanted besides times and flags; the
     * others hold anything then, which is faster. 0 = all. */
    uint64_t op_fields, call_fields;
    /* Of operations only the times, by device and not by lane, and only of those that occupy their device:
     * not of markers, barriers and waits. Lanes that have nothing else are not in the plan. op_fields is ignored. */
    bool     op_times;
    uint32_t threads;         /* 0 = sonde_parallel_threads() */
    struct sonde_progress *progress; /* in rows; may be NULL */
};

struct sonde_timeline_plan { /* ready when zeroed */
    const struct sonde_process *process;
    struct sonde_timeline_options options;
    uint64_t rows;           /* in the chunks of the plan */
    uint32_t window_count, part_count, lane_count;
    uint64_t *borders;       /* [window_count + 1] */
    uint32_t *part_first;    /* [part_count + 1]: windows */
    struct sonde_time_lane *lanes; /* [lane_count]: ids, kinds and devices */
    struct sonde_time_device *devices; uint32_t device_count; /* when op_times: ids, in the order of their first lanes */
    struct sonde__timeline *own;
};

/* Choose windows and parts from the chunks' headers; nothing is decoded. A plan
 * without rows has one window. 0 or SONDE_ENOMEM; fini in either case. */
int  sonde_timeline_plan(const struct sonde_process *p, const struct sonde_timeline_options *options,
                         struct sonde_timeline_plan *plan);
void sonde_timeline_fini(struct sonde_timeline_plan *plan);

/* Call fn(user, window) for every window. Windows of one part come in order,
 * from one thread; parts side by side. 0, SONDE_ENOMEM, or what fn returned
 * (non-zero stops). Damaged chunks are skipped and counted in the process. */
int  sonde_timeline_run(const struct sonde_timeline_plan *plan,
                        int (*fn)(void *user, const struct sonde_time_window *window), void *user);

#endif

/* windows.c - windows of a trace against the rows that were written; tasks on several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/lanes/lanes.h"
#include "analyze/trace/trace.h"
#include "base/parallel.h"
#include "scene.h"

/* ---- parallel ---------------------------------------------------------------------------- */

struct tally {
    _Atomic uint32_t calls[1000], begun;
    uint32_t fail_at, fail_too;
};

static int count_task(void *user, uint32_t task)
{
    struct tally *t = user;
    atomic_fetch_add(&t->calls[task], 1);
    atomic_fetch_add(&t->begun, 1);
    return task == t->fail_at || task == t->fail_too ? -(int)task : 0;
}

static void each_task_runs_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads < 40; threads += 13) {
        struct tally t = {.fail_at = 5000, .fail_too = 5000};
        assert_int_equal(sonde_parallel_run(threads, 1000, count_task, &t), 0);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(t.calls[i], 1);
    }
    assert_int_equal(sonde_parallel_run(4, 0, count_task, NULL), 0);
}

static void first_failure_counts(void **state)
{
    (void)state;
    struct tally t = {.fail_at = 10, .fail_too = 10};
    assert_int_equal(sonde_parallel_run(1, 1000, count_task, &t), -10);
    assert_int_equal(t.begun, 11);
    for (int round = 0; round < 50; round++) {
        struct tally both = {.fail_at = 3, .fail_too = 4};
        assert_int_equal(sonde_parallel_run(8, 1000, count_task, &both), -3); /* 3 has begun before 4 */
    }
}

static void threads_from_the_environment(void **state)
{
    (void)state;
    setenv("SONDE_THREADS", "7", 1);
    assert_int_equal(sonde_parallel_threads(), 7);
    setenv("SONDE_THREADS", "nonsense", 1);
    assert_true(sonde_parallel_threads() >= 1);
    setenv("SONDE_THREADS", "999999", 1);
    assert_int_equal(sonde_parallel_threads(), 1024);
    unsetenv("SONDE_THREADS");
    assert_true(sonde_parallel_threads() >= 1);
}

/* ---- windows ------------------------------------------------------------------------------- */

enum {
    OPS = 60000,
    CALLS = 50000,
    SAMPLES = 30000,
    SWITCHES = 30000,
    QUEUES = 3,
    THREADS = 3,
    UNTIMED = 50,
};

struct truth { /* what was written; lanes: queues 1.., then threads */
    struct {
        uint64_t from, to;
        uint32_t lane;
    } ops[OPS], calls[CALLS], samples[SAMPLES], switches[SWITCHES];
};
static struct truth *truth;
static struct sonde_measurement *measurement;

static uint64_t seed = 7;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* Bursts and gaps; operations overlap and are out of order, some last long. */
static void make_ops(struct scene *s, const uint32_t *queues)
{
    uint64_t now = 1000000;
    for (uint32_t i = 0; i < OPS; i++) {
        now += i % 10000 == 0 ? 50000000 : noise(300);
        const uint64_t start = now - noise(20000), end = start + (i % 997 ? noise(500) : noise(40000000));
        truth->ops[i].from = start, truth->ops[i].to = end, truth->ops[i].lane = queues[noise(QUEUES)];
        scene_op(s, truth->ops[i].lane, 0, start, end, i + 1);
        if (i % (OPS / UNTIMED) == 0) {
            struct sonde_row_op bad = {
                .correlation = OPS + i,
                .enter_ns = now,
                .kind = SONDE_OP_KERNEL,
                .flags = i % 7 ? SONDE_OP_NO_TIMES : SONDE_OP_BAD_TIME,
                .end_ns = noise(now),
            };
            synth_add(scene_build(s), SONDE_TABLE_OP, queues[0], &bad);
        }
    }
}

static void make_thread(struct scene *s, uint32_t lane, uint32_t index)
{
    uint64_t now = 500000;
    for (uint32_t i = index; i < CALLS; i += THREADS) {
        const uint64_t enter = now + noise(i % 5000 ? 2000 : 90000000), leave = enter + noise(i % 777 ? 1000 : 20000000);
        truth->calls[i].from = enter, truth->calls[i].to = leave, truth->calls[i].lane = lane;
        scene_call(s, lane, 0, enter, leave, i + 1);
        scene_wait(s, lane, enter);
        now = leave;
    }
    now = 0;
    for (uint32_t i = index; i < SAMPLES; i += THREADS) {
        now += 1 + noise(15000);
        truth->samples[i].from = truth->samples[i].to = now, truth->samples[i].lane = lane;
        scene_sample(s, lane, 0, now, i);
        const uint64_t out = now + noise(50), in = i + THREADS >= SWITCHES ? 0 : out + noise(4000);
        truth->switches[i].from = out, truth->switches[i].to = in ? in : UINT64_MAX, truth->switches[i].lane = lane;
        scene_switch(s, lane, out, in, i);
    }
}

static int make(void **state)
{
    struct scene *s = scene_create();
    const uint32_t device = scene_device(s, "gpu");
    uint32_t queues[QUEUES];
    (void)state;
    truth = calloc(1, sizeof *truth);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = scene_queue(s, device);
    make_ops(s, queues);
    for (uint32_t i = 0; i < THREADS; i++)
        make_thread(s, scene_thread(s), i);
    measurement = scene_open(s);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    sonde_measurement_close(measurement);
    free(truth);
    return 0;
}

/* What each part saw, per row that was written: windows it was in. */
struct sightings {
    _Atomic uint32_t ops[OPS], calls[CALLS], samples[SAMPLES], switches[SWITCHES], waits, untimed, windows, most_rows;
};

static const struct sonde_trace_reader *checked;

#define IN(t, w) ((t).from < (w)->to_ns && ((t).to > (w)->from_ns || (t).from >= (w)->from_ns))

static void check_neighbours(const struct sonde_trace_window *w, const struct sonde_trace_lane *lane)
{
    const void *before = NULL, *after = NULL;
    uint64_t last = 0, first = UINT64_MAX;
    for (uint32_t i = 0; i < CALLS; i++) {
        if (truth->calls[i].lane != lane->lane)
            continue;
        if (!IN(truth->calls[i], w) && truth->calls[i].to <= w->from_ns)
            before = &truth->calls[i], last = truth->calls[i].to;
        if (truth->calls[i].from >= w->to_ns && truth->calls[i].from < first)
            after = &truth->calls[i], first = truth->calls[i].from;
    }
    assert_int_equal(before != NULL, lane->call_before != NULL);
    assert_int_equal(after != NULL, lane->call_after != NULL);
    if (before)
        assert_int_equal(last, lane->call_before->leave_ns);
    if (after)
        assert_int_equal(first, lane->call_after->enter_ns);
    const void *sample_before = NULL, *sample_after = NULL;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        if (truth->samples[i].lane != lane->lane)
            continue;
        if (truth->samples[i].from < w->from_ns)
            sample_before = &truth->samples[i], last = truth->samples[i].from;
        if (truth->samples[i].from >= w->to_ns && !sample_after)
            sample_after = &truth->samples[i], first = truth->samples[i].from;
    }
    assert_int_equal(sample_before != NULL, lane->sample_before != NULL);
    assert_int_equal(sample_after != NULL, lane->sample_after != NULL);
    if (sample_before)
        assert_int_equal(last, lane->sample_before->time_ns);
    if (sample_after)
        assert_int_equal(first, lane->sample_after->time_ns);
}

/* Those of the window, and those since the last call or sample before it until the first one after. */
static void check_switches(const struct sonde_trace_window *w, const struct sonde_trace_lane *lane)
{
    struct { uint64_t from_ns, to_ns; } around = {0, UINT64_MAX};
    uint32_t count = 0;
    if (lane->call_before)
        around.from_ns = lane->call_before->leave_ns;
    if (lane->sample_before && lane->sample_before->time_ns > around.from_ns)
        around.from_ns = lane->sample_before->time_ns;
    if (!around.from_ns || around.from_ns > w->from_ns)
        around.from_ns = w->from_ns;
    if (lane->call_after)
        around.to_ns = lane->call_after->enter_ns;
    if (lane->sample_after && lane->sample_after->time_ns < around.to_ns)
        around.to_ns = lane->sample_after->time_ns;
    if (around.to_ns == UINT64_MAX)
        around.to_ns = w->to_ns;
    for (uint32_t i = 0; i < SWITCHES; i++)
        count += truth->switches[i].lane == lane->lane && IN(truth->switches[i], &around);
    assert_int_equal(lane->switch_count, count);
}

static int see(void *user, const struct sonde_trace_window *w)
{
    struct sightings *seen = user;
    uint32_t rows = 0;
    atomic_fetch_add(&seen->windows, 1);
    assert_int_equal(w->from_ns, checked->windows[w->number].start_ns);
    for (uint32_t k = 0; k < w->lane_count; k++) {
        const struct sonde_trace_lane *lane = &w->lanes[k];
        for (uint32_t i = 0; i < lane->op_count; i++) {
            assert_true(!i || lane->ops[i - 1].start_ns <= lane->ops[i].start_ns);
            atomic_fetch_add(&seen->ops[lane->ops[i].correlation - 1], 1);
        }
        for (uint32_t i = 0; i < lane->call_count; i++) {
            assert_true(!i || lane->calls[i - 1].enter_ns <= lane->calls[i].enter_ns);
            atomic_fetch_add(&seen->calls[lane->calls[i].correlation - 1], 1);
        }
        for (uint32_t i = 0; i < lane->sample_count; i++)
            atomic_fetch_add(&seen->samples[lane->samples[i].cpu_ns], 1);
        for (uint32_t i = 0; i < lane->switch_count; i++)
            if (IN(truth->switches[lane->switches[i].flags], w))
                atomic_fetch_add(&seen->switches[lane->switches[i].flags], 1);
        if (lane->kind == SONDE_LANE_KIND_THREAD) { /* a wait for each call, also for one entered earlier */
            assert_int_equal(lane->wait_count, lane->call_count);
            for (uint32_t i = 0; i < lane->call_count; i++)
                assert_int_equal(lane->waits[i].enter_ns, lane->calls[i].enter_ns);
            check_neighbours(w, lane);
            check_switches(w, lane);
        }
        atomic_fetch_add(&seen->untimed, lane->untimed_count);
        rows += lane->op_count + lane->call_count + lane->sample_count + lane->switch_count + lane->wait_count;
    }
    if (rows > atomic_load(&seen->most_rows))
        atomic_store(&seen->most_rows, rows);
    return 0;
}

static uint32_t windows_of(uint64_t from, uint64_t to)
{
    struct { uint64_t from, to; } t = {from, to};
    uint32_t count = 0;
    for (uint32_t i = 0; i < checked->window_count; i++) {
        struct { uint64_t from_ns, to_ns; } w = {checked->windows[i].start_ns, checked->windows[i].end_ns};
        count += IN(t, &w);
    }
    return count;
}

static void check_windows(uint64_t window_rows, uint32_t threads)
{
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_SAMPLES | SONDE_READ_SWITCHES | SONDE_READ_WAITS,
        .window_rows = window_rows,
        .threads = threads,
    };
    struct sonde_trace_reader trace = {0};
    struct sightings *seen = calloc(1, sizeof *seen);
    assert_int_equal(sonde_trace_open(&measurement->processes[0], &options, &trace), 0);
    checked = &trace;
    assert_int_equal(trace.rows, OPS + UNTIMED + 2 * CALLS + SAMPLES + SWITCHES);
    assert_int_equal(trace.windows[0].start_ns, 0);
    assert_true(trace.windows[trace.window_count - 1].end_ns == UINT64_MAX);
    assert_int_equal(sonde_trace_read(&trace, see, seen), 0);
    assert_int_equal(seen->windows, trace.window_count);
    for (uint32_t i = 0; i < OPS; i++)
        assert_int_equal(seen->ops[i], windows_of(truth->ops[i].from, truth->ops[i].to));
    for (uint32_t i = 0; i < CALLS; i++)
        assert_int_equal(seen->calls[i], windows_of(truth->calls[i].from, truth->calls[i].to));
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(seen->samples[i], 1);
    for (uint32_t i = 0; i < SWITCHES; i++)
        assert_int_equal(seen->switches[i], windows_of(truth->switches[i].from, truth->switches[i].to));
    assert_int_equal(seen->untimed, UNTIMED);
    if (trace.rows > 2 * window_rows) {
        assert_true(trace.window_count > trace.rows / window_rows / 2);
        assert_true(seen->most_rows < 4 * window_rows + 1000); /* about as many as wanted */
    }
    sonde_trace_close(&trace);
    free(seen);
}

static void every_row_is_in_its_windows(void **state)
{
    (void)state;
    check_windows(1u << 30, 1);
    check_windows(100000, 1);
    check_windows(100000, 3);
    check_windows(10000, 1);
    check_windows(10000, 5);
}

static int add_rows(void *user, const struct sonde_trace_window *w)
{
    for (uint32_t k = 0; k < w->lane_count; k++)
        atomic_fetch_add((_Atomic uint64_t *)user, w->lanes[k].op_count);
    return 0;
}

static void only_what_is_asked_for(void **state)
{
    const struct sonde_trace_options options = {.tables = SONDE_READ_OPS, .from_ns = 60000000, .to_ns = 60500000};
    struct sonde_trace_reader trace = {0};
    _Atomic uint64_t rows = 0;
    uint64_t expected = 0;
    (void)state;
    for (uint32_t i = 0; i < OPS; i++)
        expected += truth->ops[i].from < options.to_ns && (truth->ops[i].to > options.from_ns || truth->ops[i].from >= options.from_ns);
    assert_int_equal(sonde_trace_open(&measurement->processes[0], &options, &trace), 0);
    assert_int_equal(trace.lane_count, QUEUES);
    assert_int_equal(sonde_trace_read(&trace, add_rows, &rows), 0);
    assert_int_equal(rows, expected);
    assert_true(rows > 0);
    sonde_trace_close(&trace);
}

struct times { _Atomic uint64_t count, sum, untimed; };

/* Each operation once, in the window where it begins or, when that is another part's, the first of its part. */
static int add_times(void *user, const struct sonde_trace_window *w)
{
    struct times *t = user;
    uint64_t until = 0, most = 0;
    atomic_fetch_add(&t->untimed, w->untimed);
    for (uint32_t i = 0; i < OPS; i++) /* what began before, and the last end of it */
        if (truth->ops[i].from < w->from_ns && truth->ops[i].to > w->from_ns)
            until = truth->ops[i].to > until ? truth->ops[i].to : until;
    for (const struct sonde_trace_spans *s = w->devices[0].spans; s; s = s->next)
        for (uint32_t i = 0; i < s->count; i++) {
            const struct sonde_trace_span *span = &s->items[i];
            assert_true(span->start_ns >= w->from_ns && span->start_ns < w->to_ns && span->end_ns > span->start_ns);
            if (span->start_ns == w->from_ns) {
                most = span->end_ns > most ? span->end_ns : most;
                continue;
            }
            atomic_fetch_add(&t->count, 1);
            atomic_fetch_add(&t->sum, span->start_ns * 3 ^ span->end_ns);
        }
    most = w->devices[0].until_ns > most ? w->devices[0].until_ns : most;
    assert_true(until ? most >= until : w->devices[0].until_ns <= w->from_ns);
    return 0;
}

static bool begins_a_window(const struct sonde_trace_reader *trace, uint64_t at)
{
    uint32_t i = 0;
    while (i < trace->window_count && trace->windows[i].start_ns != at)
        i++;
    return i < trace->window_count;
}

static void times_alone(void **state)
{
    const struct sonde_trace_options options = {.tables = SONDE_READ_OPS, .window_rows = 7000, .threads = 3, .op_times = true};
    struct sonde_trace_reader trace = {0};
    struct times t = {0};
    uint64_t sum = 0, count = 0;
    (void)state;
    assert_int_equal(sonde_trace_open(&measurement->processes[0], &options, &trace), 0);
    assert_int_equal(trace.device_count, 1);
    assert_int_equal(trace.lane_count, 0);
    for (uint32_t i = 0; i < OPS; i++)
        if (truth->ops[i].to > truth->ops[i].from && !begins_a_window(&trace, truth->ops[i].from)) {
            count++;
            sum += truth->ops[i].from * 3 ^ truth->ops[i].to;
        }
    assert_true(count > OPS * 9 / 10);
    assert_true(trace.part_count > 1 && trace.window_count > trace.part_count);
    assert_int_equal(sonde_trace_read(&trace, add_times, &t), 0);
    assert_int_equal(t.count, count);
    assert_true(t.sum == sum);
    assert_int_equal(t.untimed, UNTIMED);
    sonde_trace_close(&trace);
}

/* ---- lanes: the same trace, whose queues are out of order ------------------------------------- */

static int by_begin(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right; /* begin, end */
    return a[0] < b[0] ? -1 : a[0] > b[0];
}

/* Union and longest gap of one lane's intervals, by sorting them. */
static void check_lane(const struct sonde_lane_use *use, bool queue)
{
    uint64_t (*spans)[2] = malloc((OPS + CALLS) * sizeof *spans), busy = 0, gap = 0, end = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < (queue ? OPS : CALLS); i++)
        if ((queue ? truth->ops[i].lane : truth->calls[i].lane) == use->lane) {
            spans[count][0] = queue ? truth->ops[i].from : truth->calls[i].from;
            spans[count++][1] = queue ? truth->ops[i].to : truth->calls[i].to;
        }
    assert_true(count > 0);
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count; i++) {
        if (i && spans[i][0] > end)
            gap = spans[i][0] - end > gap ? spans[i][0] - end : gap;
        if (spans[i][1] > end || !i)
            busy += spans[i][1] - (spans[i][0] > end ? spans[i][0] : end);
        end = spans[i][1] > end ? spans[i][1] : end;
    }
    assert_int_equal(use->first_ns, spans[0][0]);
    assert_int_equal(use->last_ns, end);
    assert_int_equal(use->busy_ns, busy);
    assert_int_equal(use->longest_gap_ns, gap);
    free(spans);
}

static void lanes_in_any_order(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        struct sonde_lanes lanes = {0};
        uint64_t rows = 0;
        char number[2] = {(char)('0' + threads), 0};
        setenv("SONDE_THREADS", number, 1);
        assert_int_equal(sonde_lanes_compute(measurement, NULL, &lanes), 0);
        unsetenv("SONDE_THREADS");
        assert_int_equal(lanes.items.count, QUEUES + THREADS);
        for (size_t i = 0; i < lanes.items.count; i++) {
            const struct sonde_lane_use *use = &lanes.items.items[i];
            check_lane(use, measurement->processes[0].lanes[use->lane].kind == SONDE_LANE_KIND_QUEUE);
            rows += use->traced;
        }
        assert_int_equal(rows, OPS + UNTIMED + CALLS);
        sonde_lanes_fini(&lanes);
    }
}

struct lane_rows {
    uint32_t lane;
    uint64_t ops, calls, last_ns;
};

static int count_lane(void *user, const struct sonde_trace_window *w)
{
    const struct sonde_trace_lane *lane = &w->lanes[0];
    struct lane_rows *rows = w->state;
    (void)user;
    assert_int_equal(w->lane_count, 1);
    assert_true(!rows->lane || rows->lane == lane->lane);
    rows->lane = lane->lane;
    for (uint32_t i = 0; i < lane->op_count; i++) {
        const uint64_t start = lane->ops[i].start_ns;
        assert_true(start < w->from_ns || start >= rows->last_ns);
        rows->last_ns = start > rows->last_ns ? start : rows->last_ns;
        rows->ops += start >= w->from_ns;
    }
    rows->ops += lane->untimed_count;
    for (uint32_t i = 0; i < lane->call_count; i++)
        rows->calls += lane->calls[i].enter_ns >= w->from_ns;
    return 0;
}

/* Those that are asked for, and no chunk of another one. */
static void some_lanes(void **state)
{
    const struct sonde_process *p = &measurement->processes[0];
    struct sonde_trace_extent *ops = sonde_trace_extents(p, SONDE_READ_OPS), *calls = sonde_trace_extents(p, SONDE_READ_CALLS);
    bool *wanted = calloc(p->lane_count, sizeof *wanted);
    const uint32_t queue = truth->ops[7].lane, thread = truth->calls[7].lane;
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS, .by_lane = true, .lanes = wanted, .state_bytes = sizeof(struct lane_rows)};
    struct sonde_trace_reader trace = {0};
    (void)state;
    wanted[queue] = wanted[thread] = true;
    assert_int_equal(sonde_trace_open(p, &options, &trace), 0);
    assert_int_equal(trace.part_count, 2);
    assert_int_equal(trace.rows, ops[queue].rows + calls[thread].rows);
    assert_int_equal(sonde_trace_read(&trace, count_lane, NULL), 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct lane_rows *rows = sonde_trace_state(&trace, i);
        assert_true(wanted[rows->lane]);
        assert_int_equal(rows->ops, ops[rows->lane].rows);
        assert_int_equal(rows->calls, calls[rows->lane].rows);
    }
    sonde_trace_close(&trace);
    free(wanted);
    free(ops);
    free(calls);
}

/* Every lane is a part, and each of its rows begins in one of its windows, in order. */
static void lane_by_lane(void **state)
{
    const struct sonde_process *p = &measurement->processes[0];
    struct sonde_trace_extent *ops = sonde_trace_extents(p, SONDE_READ_OPS), *calls = sonde_trace_extents(p, SONDE_READ_CALLS);
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        const struct sonde_trace_options options = {
            .tables = SONDE_READ_OPS | SONDE_READ_CALLS,
            .by_lane = true,
            .threads = threads,
            .window_rows = 500,
            .state_bytes = sizeof(struct lane_rows),
        };
        struct sonde_trace_reader trace = {0};
        assert_int_equal(sonde_trace_open(p, &options, &trace), 0);
        assert_int_equal(trace.part_count, QUEUES + THREADS);
        assert_true(trace.window_count > (OPS + CALLS) / 1000);
        assert_int_equal(sonde_trace_read(&trace, count_lane, NULL), 0);
        for (uint32_t i = 0; i < trace.part_count; i++) {
            const struct lane_rows *rows = sonde_trace_state(&trace, i);
            assert_int_equal(rows->lane, trace.lanes[i].lane);
            assert_int_equal(rows->ops, ops[rows->lane].rows);
            assert_int_equal(rows->calls, calls[rows->lane].rows);
        }
        sonde_trace_close(&trace);
    }
    assert_int_equal(sonde_trace_extent(p, SONDE_READ_OPS).rows, OPS + UNTIMED);
    free(ops);
    free(calls);
}

/* ---- fields, and rows as they are stored --------------------------------------------------------- */

enum { FIELDS = 20000 }; /* operations: several chunks, and the rest in live.sonde */

struct fields {
    const struct sonde_row_op *written;
    uint32_t lane, seen, stop_at;
};

static int same_row(void *user, uint32_t lane, const void *row)
{
    struct fields *f = user;
    assert_int_equal(lane, f->lane);
    assert_memory_equal(row, &f->written[f->seen], sizeof *f->written);
    return ++f->seen == f->stop_at ? 42 : 0;
}

static int same_fields(void *user, const struct sonde_trace_window *w)
{
    struct fields *f = user;
    for (uint32_t i = 0; i < w->lanes[0].op_count; i++) {
        const struct sonde_trace_op *op = &w->lanes[0].ops[i];
        const struct sonde_row_op *row = &f->written[op->correlation];
        assert_true(op->start_ns == row->start_ns && op->end_ns == row->end_ns && op->enter_ns == row->enter_ns);
        assert_true(op->node == row->node && op->work == row->work && op->object == row->object);
        assert_true(op->kind == row->kind && op->flags == row->flags);
        f->seen += op->start_ns >= w->from_ns;
    }
    return 0;
}

static void every_field_of_every_row(void **state)
{
    struct scene *s = scene_create();
    struct sonde_row_op *rows = calloc(FIELDS, sizeof *rows);
    struct fields f = {.written = rows, .lane = scene_queue(s, scene_device(s, "gpu"))};
    (void)state;
    for (uint32_t i = 0; i < FIELDS; i++) {
        rows[i] = (struct sonde_row_op){
            .start_ns = 1000 + 10ull * i,
            .queued_ns = noise(1 << 30),
            .submit_ns = noise(1 << 30),
            .enter_ns = noise(1 << 30),
            .bytes = noise(1 << 30),
            .correlation = i,
            .node = (uint32_t)noise(1 << 30),
            .work = (uint32_t)noise(1 << 30),
            .object = (uint32_t)noise(1 << 30),
            .kind = SONDE_OP_KERNEL,
            .flags = i % 5 ? 0 : SONDE_OP_FAILED,
        };
        rows[i].end_ns = rows[i].start_ns + noise(1000);
        synth_add(scene_build(s), SONDE_TABLE_OP, f.lane, &rows[i]);
    }
    struct sonde_measurement *m = scene_open(s);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_trace_stored which = {.table = SONDE_TABLE_OP, .lane = f.lane};
    assert_int_equal(sonde_trace_each(p, &which, same_row, &f), 0);
    assert_int_equal(f.seen, FIELDS);
    f.seen = 0, f.stop_at = FIELDS / 2;
    assert_int_equal(sonde_trace_each(p, &which, same_row, &f), 42);
    assert_int_equal(f.seen, FIELDS / 2);
    f.seen = 0;
    assert_int_equal(sonde_trace_pass(p, &(struct sonde_trace_options){.tables = SONDE_READ_OPS, .by_lane = true, .threads = 1},
                                      same_fields, &f),
                     0);
    assert_int_equal(f.seen, FIELDS);
    sonde_measurement_close(m);
    free(rows);
}

static int stop_at_two(void *user, const struct sonde_trace_window *w)
{
    (void)user;
    return w->number == 2 ? 42 : 0;
}

static void a_function_can_stop(void **state)
{
    const struct sonde_trace_options options = {.tables = SONDE_READ_OPS, .window_rows = 5000, .threads = 2};
    struct sonde_trace_reader trace = {0};
    (void)state;
    assert_int_equal(sonde_trace_open(&measurement->processes[0], &options, &trace), 0);
    assert_int_equal(sonde_trace_read(&trace, stop_at_two, NULL), 42);
    sonde_trace_close(&trace);
}

static void nothing_is_one_window(void **state)
{
    struct sonde_measurement *m = scene_open(scene_create());
    const struct sonde_trace_options options = {.tables = SONDE_READ_OPS};
    struct sonde_trace_reader trace = {0};
    _Atomic uint64_t rows = 0;
    (void)state;
    assert_int_equal(sonde_trace_open(&m->processes[0], &options, &trace), 0);
    assert_int_equal(trace.window_count, 1);
    assert_int_equal(sonde_trace_read(&trace, add_rows, &rows), 0);
    sonde_trace_close(&trace);
    sonde_measurement_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_runs_once),
        cmocka_unit_test(first_failure_counts),
        cmocka_unit_test(threads_from_the_environment),
        cmocka_unit_test(every_row_is_in_its_windows),
        cmocka_unit_test(only_what_is_asked_for),
        cmocka_unit_test(times_alone),
        cmocka_unit_test(lanes_in_any_order),
        cmocka_unit_test(lane_by_lane),
        cmocka_unit_test(some_lanes),
        cmocka_unit_test(every_field_of_every_row),
        cmocka_unit_test(a_function_can_stop),
        cmocka_unit_test(nothing_is_one_window),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}

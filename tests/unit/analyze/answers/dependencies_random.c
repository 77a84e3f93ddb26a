/* dependencies_random.c - dependencies of random programs, against docs/waits.md and docs/critical-path.md read word by word.
 *
 * A program is a list of calls, operations and rows of waits, whose times mostly, not always, allow what the rows say. Whether y
 * waited for x is asked here of each pair by itself, from these lists alone. Nothing of src/ helps with that. What waited for x is
 * then whatever has x among what it waited for. Last, each operation on the critical path must come after what is said to have
 * decided its start, and as long after.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/critical/critical.h"
#include "analyze/answers/critical/dependencies.h"
#include "written.h"

enum {
    THREADS = 3,
    LANES = 4,
    MOST = 160, /* calls, operations */
    ROWS = 512,
    NOBODY = -1,
};

struct call { /* in the order of their entries */
    int thread;
    uint64_t enter, leave;
    bool waits; /* it has rows of its own */
};
struct op {
    int lane, call;
    uint16_t kind;
    uint64_t start, end, id;
    bool listed; /* it has rows */
};
struct point {
    int lane;
    uint64_t enter, id;
};
struct row {
    int op, call;               /* who waits; NOBODY */
    int of_op, lane, set;       /* for what; NOBODY; lane with `until`; the call that completes a user event */
    bool everything;            /* all queues of the device, of the process */
    uint64_t until;
    int held_lane;              /* an event_wait: the next operation of this lane, enqueued after `enter` */
    uint64_t enter;
};

struct program {
    uint64_t random, count;
    int threads, lanes;
    uint32_t thread_lane[THREADS], queue[LANES];
    bool free_order[LANES], legacy, apart[LANES];
    uint64_t now[THREADS], busy_until[LANES];
    struct call calls[MOST];
    struct op ops[MOST];
    struct point points[MOST];
    struct row rows[ROWS];
    int call_count, op_count, point_count, row_count;
    int open_event, open_rows[ROWS], open_count; /* rows that name the user event that is not complete yet */
    int last_set; /* the call that completed the one before */
    struct written *w;
};

static uint64_t below(struct program *p, uint64_t n)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (p->random >> 11) % n;
}

/* No two times are the same. */
static uint64_t unique(struct program *p, uint64_t about)
{
    return about / 4096 * 4096 + p->count++ % 4096;
}

static uint64_t later(struct program *p, uint64_t than, uint64_t by)
{
    return unique(p, than + 4096 * (1 + below(p, by)));
}

/* ---- the documents, for a pair --------------------------------------------------------------------- */

static uint64_t enqueued(const struct program *p, const struct op *op)
{
    return p->calls[op->call].enter;
}

/* "an operation of kind barrier on a lane that is out_of_order": without a list it waits for all before, and later ones for it. */
static bool stands_for_all(const struct program *p, const struct op *op)
{
    return p->free_order[op->lane] && op->kind == SONDE_OP_BARRIER && !op->listed;
}

/* All of `lane` enqueued before `until`: what of it is told to one that went on at `at`. */
static bool told_of_lane(const struct program *p, int x, int lane, uint64_t until, uint64_t at)
{
    const struct op *op = &p->ops[x];
    if (op->lane != lane || enqueued(p, op) >= until || op->end > at)
        return false;
    for (int i = 0; i < p->op_count; i++) {
        const struct op *other = &p->ops[i];
        if (other->lane == lane && enqueued(p, other) < until && other->end <= at && other->end > op->end &&
            (!p->free_order[lane] || stands_for_all(p, other)))
            return false;
    }
    return true;
}

static bool in_step(const struct program *p, int lane, int other)
{
    return p->legacy && lane != other && (lane == 0 || other == 0) && !p->apart[lane] && !p->apart[other];
}

/* A wait for a lane: the legacy default stream stands for those that go with it. */
static bool told_of_wait(const struct program *p, int x, const struct row *row, uint64_t at)
{
    for (int lane = 0; lane < p->lanes; lane++)
        if ((row->everything || lane == row->lane || (row->lane == 0 && in_step(p, 0, lane))) && told_of_lane(p, x, lane, row->until, at))
            return true;
    return false;
}

/* The operation of an in-order queue before y: of those that began earlier the one that ended last by its start. */
static int before_in_queue(const struct program *p, int y)
{
    int best = NOBODY;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].lane == p->ops[y].lane && p->ops[i].start < p->ops[y].start && p->ops[i].end <= p->ops[y].start &&
            (best < 0 || p->ops[i].end > p->ops[best].end))
            best = i;
    return best;
}

/* Of an out-of-order one: the last barrier that was enqueued before y. */
static int before_in_free_queue(const struct program *p, int y)
{
    int best = NOBODY;
    for (int i = 0; i < p->op_count; i++)
        if (p->ops[i].lane == p->ops[y].lane && p->ops[i].kind == SONDE_OP_BARRIER && enqueued(p, &p->ops[i]) < enqueued(p, &p->ops[y]) &&
            (best < 0 || enqueued(p, &p->ops[i]) > enqueued(p, &p->ops[best])))
            best = i;
    return best >= 0 && p->ops[best].end <= p->ops[y].start ? best : NOBODY;
}

static bool holds(const struct program *p, const struct row *row, int y)
{
    const struct op *op = &p->ops[y];
    if (row->held_lane < 0)
        return row->op == y;
    for (int i = 0; i < p->op_count; i++) /* the next of the lane */
        if (p->ops[i].lane == row->held_lane && enqueued(p, &p->ops[i]) > row->enter && p->ops[i].start < op->start)
            return false;
    return op->lane == row->held_lane && enqueued(p, op) > row->enter;
}

#define REASON(name) (1u << SONDE_DEPENDENCY_##name)

/* Why did operation y wait for operation x? 0: it did not. */
static uint32_t op_after_op(const struct program *p, int x, int y)
{
    const struct op *to = &p->ops[y];
    uint32_t reasons = 0;
    if (x == y)
        return 0;
    if (p->free_order[to->lane])
        reasons |= before_in_free_queue(p, y) == x ? REASON(BARRIER) : 0;
    else
        reasons |= before_in_queue(p, y) == x ? REASON(QUEUE) : 0;
    for (int i = 0; i < p->row_count; i++) {
        const struct row *row = &p->rows[i];
        if (!holds(p, row, y))
            continue;
        if (row->of_op == x && p->ops[x].end <= to->start)
            reasons |= REASON(WAIT_LIST);
        else if (row->lane >= 0 && told_of_wait(p, x, row, to->start))
            reasons |= REASON(EVENT);
    }
    if (p->free_order[to->lane] && !to->listed && (to->kind == SONDE_OP_BARRIER || to->kind == SONDE_OP_MARKER) &&
        told_of_lane(p, x, to->lane, enqueued(p, to), to->start))
        reasons |= REASON(BARRIER);
    for (int lane = 0; lane < p->lanes; lane++)
        if (in_step(p, to->lane, lane) && told_of_lane(p, x, lane, enqueued(p, to), to->start))
            reasons |= REASON(DEFAULT_STREAM);
    return reasons;
}

static uint32_t op_after_call(const struct program *p, int x, int y)
{
    uint32_t reasons = p->ops[y].call == x ? REASON(SUBMISSION) : 0;
    for (int i = 0; i < p->row_count; i++)
        if (holds(p, &p->rows[i], y) && p->rows[i].set == x && p->calls[x].enter <= p->ops[y].start)
            reasons |= REASON(USER_EVENT);
    return reasons;
}

static uint32_t call_after_op(const struct program *p, int x, int y)
{
    uint32_t reasons = 0;
    for (int i = 0; i < p->row_count; i++) {
        const struct row *row = &p->rows[i];
        if (row->call != y)
            continue;
        if (row->of_op == x && p->ops[x].end <= p->calls[y].leave)
            reasons |= REASON(CALL_WAIT);
        else if ((row->everything || row->lane >= 0) && told_of_wait(p, x, row, p->calls[y].leave))
            reasons |= row->everything ? REASON(CALL_DEVICE) : (row->until < p->calls[y].enter ? REASON(EVENT) : REASON(CALL_QUEUE));
    }
    return reasons;
}

static uint32_t call_after_call(const struct program *p, int x, int y)
{
    for (int i = 0; i < p->row_count; i++)
        if (p->rows[i].call == y && p->rows[i].set == x && p->calls[x].enter <= p->calls[y].leave && p->calls[x].thread != p->calls[y].thread)
            return REASON(USER_EVENT);
    return 0;
}

/* An operation or call, as one number: calls follow operations. */
static uint32_t reasons_of(const struct program *p, int x, int y)
{
    const int n = p->op_count;
    if (y < n)
        return x < n ? op_after_op(p, x, y) : op_after_call(p, x - n, y);
    return x < n ? call_after_op(p, x, y - n) : call_after_call(p, x - n, y - n);
}

static uint64_t moment_of(const struct program *p, int y)
{
    return y < p->op_count ? p->ops[y].start : p->calls[y - p->op_count].leave;
}

/* When x had finished, as y saw it: "Submission" of docs/critical-path.md for the call. */
static uint64_t finished(const struct program *p, int x, int y, uint32_t reasons)
{
    const uint64_t at = moment_of(p, y);
    if (x < p->op_count)
        return p->ops[x].end < at ? p->ops[x].end : at;
    const struct call *call = &p->calls[x - p->op_count];
    if (reasons & REASON(USER_EVENT) || call->leave <= at)
        return call->leave < at ? call->leave : at;
    return call->waits ? call->enter : at;
}

/* ---- making a program up ------------------------------------------------------------------------------- */

static struct row *add_row(struct program *p)
{
    assert_true(p->row_count < ROWS);
    p->rows[p->row_count] = (struct row){.op = NOBODY, .call = NOBODY, .of_op = NOBODY, .lane = NOBODY, .set = NOBODY, .held_lane = NOBODY};
    return &p->rows[p->row_count++];
}

static uint32_t lane_of(const struct program *p, int call)
{
    return p->thread_lane[p->calls[call].thread];
}

static int begin_call(struct program *p)
{
    int thread = 0;
    for (int i = 1; i < p->threads; i++)
        thread = p->now[i] < p->now[thread] ? i : thread;
    assert_true(p->call_count < MOST);
    p->calls[p->call_count] = (struct call){.thread = thread, .enter = p->now[thread]};
    return p->call_count++;
}

static void end_call(struct program *p, int call, uint64_t leave)
{
    p->calls[call].leave = leave;
    p->now[p->calls[call].thread] = later(p, leave, below(p, 3) ? 20 : 200);
}

/* Rows that name an event that the program has not completed yet: it is told once it is. */
static void name_event(struct program *p, struct row *row)
{
    p->open_rows[p->open_count++] = (int)(row - p->rows);
}

static void add_list(struct program *p, int op, uint64_t *latest)
{
    const int call = p->ops[op].call;
    const uint64_t enter = p->calls[call].enter;
    for (uint64_t n = 1 + below(p, 3); n > 0; n--) {
        struct row *row = add_row(p);
        row->op = op;
        if (op == 0 || (below(p, 6) == 0 && p->ops[op].kind == SONDE_OP_KERNEL)) {
            name_event(p, row);
            written_wait(p->w, lane_of(p, call), enter, p->ops[op].id, SONDE_WAIT_USER_EVENT | (uint64_t)p->open_event, 0, 0);
            continue;
        }
        row->of_op = (int)below(p, (uint64_t)op);
        p->ops[op].listed = true;
        *latest = p->ops[row->of_op].end > *latest ? p->ops[row->of_op].end : *latest;
        written_wait(p->w, lane_of(p, call), enter, p->ops[op].id, p->ops[row->of_op].id, 0, 0);
    }
}

static void enqueue(struct program *p)
{
    assert_true(p->op_count < MOST);
    const int call = begin_call(p), index = p->op_count++, lane = (int)below(p, (uint64_t)p->lanes);
    struct op *op = &p->ops[index];
    const uint64_t enter = p->calls[call].enter, what = below(p, 6);
    *op = (struct op){.lane = lane, .call = call, .kind = SONDE_OP_KERNEL};
    if (p->free_order[lane] && what < 2)
        op->kind = what ? SONDE_OP_MARKER : SONDE_OP_BARRIER;
    op->id = (uint64_t)p->thread_lane[p->calls[call].thread] << 40 | (uint64_t)(index + p->point_count + 1); /* as written_op will say */
    uint64_t earliest = enter;
    if (below(p, 3) == 0 && (index > 0 || op->kind == SONDE_OP_KERNEL))
        add_list(p, index, &earliest);
    for (int i = 0; i < index; i++) /* mostly it begins when it may */
        if (p->ops[i].lane == lane && (!p->free_order[lane] || (op->kind != SONDE_OP_KERNEL && !op->listed)) && p->ops[i].end > earliest)
            earliest = p->ops[i].end;
    if (below(p, 5) == 0 && p->free_order[lane])
        earliest = enter;
    if (!p->free_order[lane] && earliest < p->busy_until[lane])
        earliest = p->busy_until[lane];
    op->start = later(p, earliest, 30);
    op->end = op->kind == SONDE_OP_KERNEL ? later(p, op->start, 60) : op->start;
    /* What runs side by side in an in-order queue, as nodes of a graph do, still begins in order. */
    p->busy_until[lane] = below(p, 5) ? op->end : op->start;
    const bool blocks = op->kind == SONDE_OP_KERNEL && below(p, 4) == 0;
    end_call(p, call, blocks ? later(p, op->end, 5) : later(p, enter, 20));
    const uint64_t id = written_op(p->w, &(struct written_op){.thread = p->thread_lane[p->calls[call].thread],
                                                              .queue = p->queue[lane],
                                                              .kind = op->kind,
                                                              .name = op->kind == SONDE_OP_KERNEL ? "k" : NULL,
                                                              .enter = enter,
                                                              .leave = p->calls[call].leave,
                                                              .start = op->start,
                                                              .end = op->end});
    assert_int_equal(id, op->id);
    if (!blocks)
        return;
    struct row *row = add_row(p);
    row->call = call;
    row->of_op = index;
    p->calls[call].waits = true;
    written_wait(p->w, lane_of(p, call), enter, 0, id, 0, 0);
}

/* An event recorded in an in-order queue, or an in-order queue that waits for one. */
static void touch_event(struct program *p)
{
    const int lane = (int)below(p, (uint64_t)p->lanes);
    const bool record = p->point_count == 0 || below(p, 2);
    if (p->free_order[lane])
        return;
    const int call = begin_call(p);
    const uint64_t enter = p->calls[call].enter;
    end_call(p, call, later(p, enter, 5));
    const uint64_t id = written_op(p->w, &(struct written_op){.thread = p->thread_lane[p->calls[call].thread],
                                                              .queue = p->queue[lane],
                                                              .kind = record ? SONDE_OP_EVENT_RECORD : SONDE_OP_EVENT_WAIT,
                                                              .api = record ? "cuEventRecord" : "cuStreamWaitEvent",
                                                              .enter = enter,
                                                              .leave = p->calls[call].leave,
                                                              .start = enter,
                                                              .end = p->calls[call].leave});
    const struct point *awaited = record ? NULL : &p->points[below(p, (uint64_t)p->point_count)];
    p->points[p->point_count++] = (struct point){record ? lane : (awaited ? awaited->lane : 0), record ? enter : (awaited ? awaited->enter : 0),
                                                 record ? id : (awaited ? awaited->id : 0)};
    if (record)
        return;
    struct row *row = add_row(p);
    row->held_lane = lane;
    row->enter = enter;
    row->lane = p->points[p->point_count - 1].lane;
    row->until = p->points[p->point_count - 1].enter;
    written_wait(p->w, lane_of(p, call), enter, id, p->points[p->point_count - 1].id, 0, 0);
}

static void wait_for(struct program *p)
{
    static const char *const names[] = {"clFinish", "cuCtxSynchronize", "clWaitForEvents", "cuEventSynchronize", "clWaitForEvents"};
    uint64_t how = below(p, 5);
    if ((how == 2 && !p->op_count) || (how == 3 && !p->point_count))
        how = 0;
    const int call = begin_call(p), lane = (int)below(p, (uint64_t)p->lanes);
    const uint64_t enter = p->calls[call].enter;
    struct row *row = add_row(p);
    const struct point *point = how == 3 ? &p->points[below(p, (uint64_t)p->point_count)] : NULL;
    row->call = call;
    row->until = how == 3 ? point->enter : enter + 1;
    row->everything = how == 1;
    row->lane = how == 0 ? lane : (how == 3 ? point->lane : NOBODY);
    row->of_op = how == 2 ? (int)below(p, (uint64_t)p->op_count) : NOBODY;
    p->calls[call].waits = true;
    uint64_t until = enter;
    for (int i = 0; i < p->op_count && below(p, 4); i++) /* mostly long enough */
        if ((row->everything || row->of_op == i || row->lane == p->ops[i].lane) && p->ops[i].end > until && enqueued(p, &p->ops[i]) < row->until)
            until = p->ops[i].end;
    end_call(p, call, later(p, until, 10));
    written_call(p->w, lane_of(p, call), names[how], "", enter, p->calls[call].leave);
    const bool complete = how == 4 && p->open_event > 1 && below(p, 2);
    const uint64_t event = SONDE_WAIT_USER_EVENT | (uint64_t)(p->open_event - complete);
    const uint64_t awaited = how == 2 ? p->ops[row->of_op].id : (how == 3 ? point->id : (how == 4 ? event : 0));
    written_wait(p->w, lane_of(p, call), enter, 0, awaited, how == 0 ? p->queue[lane] : 0, how == 1 ? (uint32_t)below(p, 2) : 0);
    if (complete)
        row->set = p->last_set;
    else if (how == 4)
        name_event(p, row);
}

static void complete_event(struct program *p)
{
    const int call = begin_call(p);
    const uint64_t enter = p->calls[call].enter;
    end_call(p, call, later(p, enter, 8));
    written_call(p->w, lane_of(p, call), "clSetUserEventStatus", "", enter, p->calls[call].leave);
    written_wait(p->w, lane_of(p, call), enter, SONDE_WAIT_USER_EVENT | (uint64_t)p->open_event, 0, 0, 0);
    for (int i = 0; i < p->open_count; i++)
        p->rows[p->open_rows[i]].set = call;
    p->last_set = call;
    p->open_count = 0;
    p->open_event++;
}

static struct program *make_up(uint64_t seed)
{
    struct program *p = calloc(1, sizeof *p);
    p->random = seed * 0x9e3779b97f4a7c15 + 88172645463325252;
    p->w = written_begin();
    p->threads = 1 + (int)below(p, THREADS);
    p->lanes = 1 + (int)below(p, LANES);
    p->legacy = below(p, 3) == 0;
    p->open_event = 1;
    for (int i = 0; i < p->threads; i++) {
        p->thread_lane[i] = written_thread(p->w, 0, 0);
        p->now[i] = later(p, 0, 50);
    }
    for (int i = 0; i < p->lanes; i++) {
        p->free_order[i] = !p->legacy && below(p, 2);
        p->apart[i] = p->legacy && i && below(p, 3) == 0;
        p->queue[i] = written_queue(p->w, 1,
                                    p->legacy && !i    ? SONDE_LANE_LEGACY
                                    : p->apart[i]      ? SONDE_LANE_NON_BLOCKING
                                    : p->free_order[i] ? SONDE_LANE_OUT_OF_ORDER
                                                       : 0);
    }
    for (uint64_t i = 10 + below(p, 60); i > 0; i--) {
        const uint64_t what = below(p, 10);
        if (what < 6)
            enqueue(p);
        else if (what < 7)
            touch_event(p);
        else if (what < 9)
            wait_for(p);
        else
            complete_event(p);
    }
    complete_event(p);
    return p;
}

/* ---- the comparison ----------------------------------------------------------------------------------------- */

static struct sonde_dependencies_of ask(const struct program *p, struct sonde_dependencies *d, int which)
{
    struct sonde_dependencies_of of = {0};
    if (which < p->op_count) {
        const struct op *op = &p->ops[which];
        const struct sonde_row_op row = {.start_ns = WRITTEN_START + op->start, .end_ns = WRITTEN_START + op->end, .correlation = op->id, .kind = op->kind};
        assert_int_equal(sonde_dependencies_of_op(d, 0, p->queue[op->lane], &row, 1000, &of), 0);
    } else {
        const int call = which - p->op_count;
        const uint64_t enter = p->calls[call].enter, at = enter + (p->calls[call].leave - enter) / 2;
        assert_int_equal(sonde_dependencies_of_call(d, 0, lane_of(p, call), WRITTEN_START + at, 1000, &of), 0);
    }
    assert_int_equal(of.unknown, SONDE_DEPENDENCY_KNOWN);
    return of;
}

static int number_of(const struct program *p, const struct sonde_dependency_step *step)
{
    for (int i = 0; i < p->op_count + p->call_count; i++) {
        const bool is_call = i >= p->op_count;
        const uint64_t begin = is_call ? p->calls[i - p->op_count].enter : p->ops[i].start, end = is_call ? p->calls[i - p->op_count].leave : p->ops[i].end;
        const uint32_t lane = is_call ? lane_of(p, i - p->op_count) : p->queue[p->ops[i].lane];
        if (step->is_call == is_call && step->lane == lane && step->begin_ns == WRITTEN_START + begin && step->end_ns == WRITTEN_START + end)
            return i;
    }
    fail_msg("a step that is none of the program's");
    return NOBODY;
}

/* Of what y waited for: who may have decided, and when that had finished. A call is decided by what finished within it; at one
 * time a predecessor counts before the submission. */
struct decision {
    uint64_t time;
    bool any, only_submission;
};
static struct decision decision_of(const struct program *p, int y)
{
    struct decision d = {0};
    for (int x = 0; x < p->op_count + p->call_count; x++) {
        const uint32_t reasons = reasons_of(p, x, y);
        const uint64_t time = reasons ? finished(p, x, y, reasons) : 0;
        if (!reasons || (y >= p->op_count && time <= p->calls[y - p->op_count].enter))
            continue;
        if (!d.any || time > d.time)
            d = (struct decision){time, true, reasons == REASON(SUBMISSION)};
        else if (time == d.time && reasons != REASON(SUBMISSION))
            d.only_submission = false;
    }
    return d;
}

/* From then to the start. A call that was still running had submitted at some time since its entry: there is no delay. */
static uint64_t delay_of(const struct program *p, int y)
{
    const struct decision decision = decision_of(p, y);
    return decision.only_submission && p->calls[p->ops[y].call].leave > p->ops[y].start ? 0 : p->ops[y].start - decision.time;
}

/* Each of a list, from x to y, against the documents. Returns a bit per reason. */
static uint32_t check_one(const struct program *p, const struct sonde_dependency *told, int x, int y)
{
    const uint32_t reasons = reasons_of(p, x, y);
    const struct decision decision = decision_of(p, y);
    const uint64_t time = finished(p, x, y, reasons), enter = y < p->op_count ? 0 : p->calls[y - p->op_count].enter;
    assert_int_equal(told->reasons, reasons);
    assert_false(told->inferred);
    if (told->decided) {
        assert_true(decision.any);
        assert_int_equal(time, decision.time);
        assert_true(reasons != REASON(SUBMISSION) || decision.only_submission);
        assert_int_equal(told->slack_ns, 0);
    } else {
        const uint64_t limit = decision.any ? decision.time : enter;
        assert_int_equal(told->slack_ns, limit > time ? limit - time : 0);
    }
    return reasons;
}

static uint32_t check_lists(const struct program *p, struct sonde_dependencies *d, int which)
{
    struct sonde_dependencies_of of = ask(p, d, which);
    size_t before = 0, after = 0, decided = 0;
    uint32_t seen = 0;
    for (int i = 0; i < p->op_count + p->call_count; i++) {
        before += reasons_of(p, i, which) != 0;
        after += reasons_of(p, which, i) != 0;
    }
    assert_int_equal(of.before.count, before);
    assert_int_equal(of.after.count, after);
    for (size_t i = 0; i < before; i++) {
        seen |= check_one(p, &of.before.items[i], number_of(p, &of.before.items[i].step), which);
        decided += of.before.items[i].decided;
        assert_true(i == 0 || !of.before.items[i].decided);
        assert_true(i < 2 || of.before.items[i].slack_ns >= of.before.items[i - 1].slack_ns);
    }
    assert_int_equal(decided, decision_of(p, which).any);
    assert_int_equal(of.has_delay, which < p->op_count && decided);
    if (of.has_delay)
        assert_int_equal(of.delay_ns, delay_of(p, which));
    for (size_t i = 0; i < after; i++) {
        const int y = number_of(p, &of.after.items[i].step);
        check_one(p, &of.after.items[i], which, y);
        assert_true(i == 0 || moment_of(p, y) >= moment_of(p, number_of(p, &of.after.items[i - 1].step)));
    }
    sonde_dependencies_of_fini(&of);
    return seen;
}

/* An operation that the critical path goes through: before it lies the delay, and before that what decided. */
static void check_path(const struct program *p, struct sonde_dependencies *d, const struct sonde_path *path, size_t at)
{
    const struct sonde_path_segment *step = &path->segments.items[at], *before = at + 1 < path->segments.count ? step + 1 : NULL;
    for (int i = 0; i < p->op_count; i++) {
        const struct op *op = &p->ops[i];
        if (p->queue[op->lane] != step->lane || WRITTEN_START + op->start != step->start_ns || step->category == SONDE_PATH_LAUNCH || step->category == SONDE_PATH_GAP)
            continue;
        struct sonde_dependencies_of of = ask(p, d, i);
        assert_true(of.has_delay && before);
        const struct sonde_dependency deciding = of.before.items[0];
        const uint64_t delay = before->category == SONDE_PATH_LAUNCH || before->category == SONDE_PATH_GAP ? before->end_ns - before->start_ns : 0;
        assert_int_equal(of.delay_ns, delay);
        if (delay)
            assert_int_equal(before->category, deciding.step.is_call ? SONDE_PATH_LAUNCH : SONDE_PATH_GAP);
        before += delay > 0;
        if (!deciding.step.is_call && deciding.step.end_ns > deciding.step.begin_ns)
            assert_int_equal(before->lane, deciding.step.lane);
        sonde_dependencies_of_fini(&of);
    }
}

static uint32_t check(struct program *p, size_t *on_path)
{
    struct sonde_profile *profile;
    struct sonde_measurement *m = written_open(p->w, &profile);
    struct sonde_dependencies *d;
    struct sonde_critical critical = {0};
    uint32_t seen = 0;
    assert_int_equal(sonde_dependencies_create(m, SONDE_CRITICAL_ROWS, &d), 0);
    for (int i = 0; i < p->op_count + p->call_count; i++)
        seen |= check_lists(p, d, i);
    assert_int_equal(sonde_critical_compute(m, profile, &(struct sonde_critical_options){.segments = true}, NULL, &critical), 0);
    for (size_t i = 0; i < critical.paths.items[0].segments.count; i++)
        check_path(p, d, &critical.paths.items[0], i);
    *on_path += critical.paths.items[0].segments.count;
    sonde_critical_fini(&critical);
    sonde_dependencies_destroy(d);
    written_close(p->w);
    free(p);
    return seen;
}

static void test_random(void **state)
{
    uint32_t seen = 0;
    size_t on_path = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        seen |= check(make_up(seed), &on_path);
        folder_remove_all();
    }
    assert_int_equal(seen, (1u << SONDE_DEPENDENCY_COUNT) - 1); /* each reason was there */
    assert_true(on_path > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}

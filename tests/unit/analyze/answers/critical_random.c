/* critical_random.c - the critical path of random programs against a longest path of its own.
 *
 * A program is made up as threads that enqueue, wait and compute, and is run
 * here by adding up durations: each activity is a node of a graph with an
 * explicit list of what it had to wait for. The longest path through that graph,
 * found from the nodes alone, is the truth: its composition, and how much shorter
 * it gets when one thing takes half as long. Nothing of src/ helps with that.
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
#include "analyze/answers/critical/graph.h"
#include "written.h"

enum {
    THREADS = 3,
    QUEUES = 4,
    NODES = 4096,
    PREDS = 96,
    KERNELS = 4,
    THINGS = 16,
};

/* Things: kernels, then these. */
enum {
    COPY = KERNELS,
    BARRIER,
    HOST,
    NAP,
    ENQUEUE,
    READ,
    FINISH,
    DEVICE,
    EVENT,
};
static const char *const api_names[] = {
    [ENQUEUE] = "clEnqueueNDRangeKernel",
    [READ] = "clEnqueueReadBuffer",
    [FINISH] = "clFinish",
    [DEVICE] = "cuCtxSynchronize",
    [EVENT] = "clWaitForEvents",
};
static const char *const kernel_names[] = {"alpha", "beta", "gamma", "delta"};

struct node {
    uint64_t duration, end;
    int thing, preds[PREDS], count;
};

struct made_op { /* in the order of enqueueing */
    int node, queue;
    uint64_t correlation;
};

struct program {
    struct node nodes[NODES];
    int count;
    struct made_op ops[NODES];
    int op_count;
    int threads, queues;
    bool free_queue[QUEUES], apart[QUEUES], legacy; /* legacy: queue 0 is CUDA's default stream */
    int lane[QUEUES], thread_lane[THREADS];
    struct {
        uint64_t enter, gap;
        int last;
    } at[THREADS]; /* next call; node of the previous one */
    struct {
        uint64_t out, in;
        int waker;
    } sleep[THREADS]; /* before the next call; node of what ended it, or -1 */
    bool beside;                /* threads begin, and are woken, while another is in a call */
    uint64_t random, post;
    struct written *w;
};

static uint64_t below(struct program *p, uint64_t n)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (p->random >> 11) % n;
}

/* ---- the graph --------------------------------------------------------------------- */

static void after(struct program *p, int node, int pred)
{
    if (pred < 0)
        return;
    assert_true(p->nodes[node].count < PREDS);
    p->nodes[node].preds[p->nodes[node].count++] = pred;
}

static uint64_t begin_of(const struct program *p, const struct node *n)
{
    uint64_t begin = 0;
    for (int i = 0; i < n->count; i++)
        begin = p->nodes[n->preds[i]].end > begin ? p->nodes[n->preds[i]].end : begin;
    return begin;
}

static int add(struct program *p, int thing, uint64_t duration)
{
    assert_true(p->count < NODES);
    p->nodes[p->count] = (struct node){.duration = duration, .thing = thing};
    return p->count++;
}

static void settle(struct program *p, int node)
{
    p->nodes[node].end = begin_of(p, &p->nodes[node]) + p->nodes[node].duration;
}

/* End of the program with `thing` twice as fast (-1: none): nodes come after what they wait for. */
static uint64_t evaluate(struct program *p, int thing)
{
    uint64_t end = 0;
    for (int i = 0; i < p->count; i++) {
        struct node *n = &p->nodes[i];
        n->end = begin_of(p, n) + (n->thing == thing ? n->duration - n->duration / 2 : n->duration);
        end = n->end > end ? n->end : end;
    }
    return end;
}

static void longest_path(struct program *p, uint64_t things[THINGS])
{
    int at = 0;
    evaluate(p, -1);
    for (int i = 0; i < p->count; i++)
        at = p->nodes[i].end > p->nodes[at].end ? i : at;
    while (at >= 0) {
        const struct node *n = &p->nodes[at];
        int next = -1;
        things[n->thing] += n->duration;
        for (int i = 0; i < n->count; i++)
            if (next < 0 || p->nodes[n->preds[i]].end > p->nodes[next].end)
                next = n->preds[i];
        at = next;
    }
}

/* ---- making a program up ------------------------------------------------------------- */

static int barrier_of(const struct program *p, int queue)
{
    for (int i = p->op_count; i-- > 0;)
        if (p->ops[i].queue == queue && p->nodes[p->ops[i].node].thing == BARRIER)
            return i;
    return -1;
}

/* What the queue itself makes an operation wait for. */
static void after_queue(struct program *p, int node, int queue)
{
    const int barrier = barrier_of(p, queue);
    for (int i = p->op_count; i-- > 0;) {
        if (p->ops[i].queue != queue)
            continue;
        if (!p->free_queue[queue] || i == barrier || (p->nodes[node].thing == BARRIER && i > barrier))
            after(p, node, p->ops[i].node);
        if (!p->free_queue[queue] || i == barrier)
            return;
    }
}

/* Queue 0 as the legacy default stream and the others wait for each other, but for those apart. */
static bool in_step(const struct program *p, int queue, int other)
{
    return p->legacy && queue != other && (queue == 0 || other == 0) && !p->apart[queue] && !p->apart[other];
}

static void after_default_stream(struct program *p, int node, int queue)
{
    for (int other = 0; other < p->queues; other++)
        for (int i = p->op_count; i-- > 0 && in_step(p, queue, other);)
            if (p->ops[i].queue == other) {
                after(p, node, p->ops[i].node);
                break;
            }
}

static int some_op(struct program *p)
{
    const int recent = p->op_count < 12 ? p->op_count : 12;
    return recent ? p->op_count - 1 - (int)below(p, (uint64_t)recent) : -1;
}

static void plan_next(struct program *p, int thread)
{
    p->at[thread].gap = 1 + below(p, below(p, 4) ? 4000 : 60000);
    p->at[thread].enter = (p->at[thread].last < 0 ? 0 : p->nodes[p->at[thread].last].end) + p->at[thread].gap;
}

/* A call in two parts: at the end of the first, another thread begins, or ends a sleep before its next call. */
static int in_two(struct program *p, int thread, int gap, int other)
{
    const uint64_t enter = p->nodes[gap].end, first = 2 * (1 + below(p, 4000)), rest = 1 + below(p, 8000);
    const uint64_t last = p->at[other].last < 0 ? 0 : p->nodes[p->at[other].last].end, at = enter + first;
    const int call = add(p, ENQUEUE, first), left = add(p, ENQUEUE, rest);
    after(p, call, gap);
    settle(p, call);
    after(p, left, call);
    settle(p, left);
    if (thread == 0 && p->thread_lane[other] < 0) {
        p->thread_lane[other] = (int)written_thread(p->w, at, 0);
        p->at[other].last = call;
        plan_next(p, other);
    } else if (p->thread_lane[other] >= 0 && p->sleep[other].waker < 0 && last + 2 < enter && at < p->at[other].enter) {
        p->sleep[other].out = last + 1 + below(p, enter - last - 1);
        p->sleep[other].in = at;
        p->sleep[other].waker = call;
        written_sleep(p->w, (uint32_t)p->thread_lane[other], p->sleep[other].out, at);
    }
    return left;
}

/* Some of the host code before the next call sleeps, once or twice, now and then right until the call. */
static int naps(struct program *p, int thread, uint64_t *left)
{
    int last = p->at[thread].last;
    for (uint64_t naps = below(p, 3); naps && *left > 2; naps--) {
        const uint64_t runs = below(p, *left), slept = below(p, 4) ? below(p, *left - runs) : *left - runs;
        if (!slept)
            continue;
        const int host = add(p, HOST, runs), nap = add(p, NAP, slept);
        after(p, host, last);
        settle(p, host);
        after(p, nap, host);
        settle(p, nap);
        written_nap(p->w, (uint32_t)p->thread_lane[thread], "", p->nodes[host].end, p->nodes[nap].end);
        if (below(p, 2)) /* the kernel says so, too, of most of it */
            written_sleep(p->w, (uint32_t)p->thread_lane[thread], p->nodes[host].end + slept / 4, p->nodes[nap].end - slept / 4);
        *left -= runs + slept;
        last = nap;
    }
    return last;
}

/* The host code before the thread's next call. */
static int host_code(struct program *p, int thread)
{
    const int waker = p->sleep[thread].waker, first = p->at[thread].last;
    const uint64_t from = first < 0 ? 0 : p->nodes[first].end;
    uint64_t left = waker < 0 ? p->at[thread].gap : p->sleep[thread].out - from;
    const int last = p->threads > 1 ? first : naps(p, thread, &left); /* of several, another is taken to have ended it */
    int gap = add(p, HOST, left);
    after(p, gap, last);
    settle(p, gap);
    if (waker >= 0) {
        const int before = gap;
        gap = add(p, HOST, p->at[thread].enter - p->sleep[thread].in);
        after(p, gap, before);
        after(p, gap, waker);
        settle(p, gap);
        p->sleep[thread].waker = -1;
    }
    return gap;
}

static void enqueue(struct program *p, int thread, int gap, bool blocking)
{
    const int queue = (int)below(p, (uint64_t)p->queues);
    const bool barrier = !blocking && p->free_queue[queue] && below(p, 6) == 0;
    const int thing = blocking ? COPY : (barrier ? BARRIER : (int)below(p, KERNELS));
    const uint64_t enter = p->nodes[gap].end;
    const int call = blocking ? gap : (p->beside ? in_two(p, thread, gap, 1 - thread) : add(p, ENQUEUE, 1 + below(p, 3000)));
    if (!blocking && !p->beside) {
        after(p, call, gap);
        settle(p, call);
    }
    const int op = add(p, thing, barrier ? 0 : 1 + below(p, 60000));
    const int waits = barrier ? -1 : (below(p, 3) ? -1 : some_op(p));
    after(p, op, call);
    after_queue(p, op, queue);
    after_default_stream(p, op, queue);
    if (waits >= 0)
        after(p, op, p->ops[waits].node);
    settle(p, op);
    int end = call;
    if (blocking) {
        end = add(p, READ, p->post ? 1 + below(p, p->post) : 0);
        after(p, end, gap);
        after(p, end, op);
        settle(p, end);
    }
    const uint64_t start = p->nodes[op].end - p->nodes[op].duration;
    const uint16_t kind = blocking ? SONDE_OP_READ : (barrier ? SONDE_OP_BARRIER : SONDE_OP_KERNEL);
    const uint64_t id = written_op(p->w, &(struct written_op){.thread = (uint32_t)p->thread_lane[thread],
                                                              .queue = (uint32_t)p->lane[queue],
                                                              .kind = kind,
                                                              .name = thing < KERNELS ? kernel_names[thing] : NULL,
                                                              .api = blocking ? api_names[READ] : api_names[ENQUEUE],
                                                              .enter = enter,
                                                              .leave = p->nodes[end].end,
                                                              .start = start,
                                                              .end = p->nodes[op].end});
    if (waits >= 0)
        written_wait(p->w, (uint32_t)p->thread_lane[thread], enter, id, p->ops[waits].correlation, 0, 0);
    if (blocking)
        written_wait(p->w, (uint32_t)p->thread_lane[thread], enter, 0, id, 0, 0);
    p->ops[p->op_count++] = (struct made_op){op, queue, id};
    p->at[thread].last = end;
}

/* The last operation of an in-order queue stands for all; of another, each counts. */
static void after_all_of(struct program *p, int node, int queue)
{
    for (int i = p->op_count; i-- > 0;) {
        if (p->ops[i].queue != queue)
            continue;
        if (p->nodes[node].count < PREDS - 8)
            after(p, node, p->ops[i].node);
        if (!p->free_queue[queue] || p->nodes[p->ops[i].node].thing == BARRIER)
            return;
    }
}

static void wait_for(struct program *p, int thread, int gap)
{
    const int how = (int)below(p, 3), queue = (int)below(p, (uint64_t)p->queues), op = some_op(p);
    const int thing = how == 0 ? FINISH : (how == 1 || op < 0 ? DEVICE : EVENT);
    const uint64_t enter = p->nodes[gap].end;
    const int call = add(p, thing, p->post ? 1 + below(p, p->post) : 0);
    const uint32_t lane = (uint32_t)p->thread_lane[thread];
    after(p, call, gap);
    if (thing == FINISH)
        after_all_of(p, call, queue);
    for (int i = 0; i < p->queues && thing == FINISH; i++)
        if (queue == 0 && in_step(p, queue, i))
            after_all_of(p, call, i);
    for (int i = 0; i < p->queues && thing == DEVICE; i++)
        after_all_of(p, call, i);
    if (thing == EVENT)
        after(p, call, p->ops[op].node);
    settle(p, call);
    written_call(p->w, lane, api_names[thing], "", enter, p->nodes[call].end);
    written_wait(p->w, lane, enter, 0, thing == EVENT ? p->ops[op].correlation : 0,
                 thing == FINISH ? (uint32_t)p->lane[queue] : 0, 0);
    p->at[thread].last = call;
}

static struct program *make_up(uint64_t seed, uint64_t post, int calls, bool beside)
{
    struct program *p = calloc(1, sizeof *p);
    p->random = seed * 0x9e3779b97f4a7c15 + 88172645463325252;
    p->post = post;
    p->beside = beside;
    p->threads = beside ? 2 : 1 + (int)below(p, THREADS);
    p->queues = 1 + (int)below(p, QUEUES);
    p->w = written_begin();
    for (int i = 0; i < p->threads; i++) {
        p->thread_lane[i] = beside && i ? -1 : (int)written_thread(p->w, 0, 0);
        p->at[i].last = p->sleep[i].waker = -1;
        if (p->thread_lane[i] >= 0)
            plan_next(p, i);
    }
    p->legacy = below(p, 4) == 0;
    for (int i = 0; i < p->queues; i++) {
        p->free_queue[i] = !p->legacy && below(p, 3) == 0;
        p->apart[i] = p->legacy && i && below(p, 3) == 0;
        p->lane[i] = (int)written_queue(p->w, 1,
                                        p->legacy && !i    ? SONDE_LANE_LEGACY
                                        : p->apart[i]      ? SONDE_LANE_NON_BLOCKING
                                        : p->free_queue[i] ? SONDE_LANE_OUT_OF_ORDER
                                                           : 0);
    }
    for (int i = 0; i < calls; i++) {
        int thread = 0;
        for (int k = 1; k < p->threads; k++)
            thread = p->thread_lane[k] >= 0 && p->at[k].enter < p->at[thread].enter ? k : thread;
        const int gap = host_code(p, thread);
        const uint64_t what = below(p, 10);
        if (what < 6)
            enqueue(p, thread, gap, false);
        else if (what < 8)
            enqueue(p, thread, gap, true);
        else
            wait_for(p, thread, gap);
        plan_next(p, thread);
    }
    return p;
}

/* ---- the comparison ----------------------------------------------------------------------- */

static int thing_of(const struct sonde_path_thing *t)
{
    if (t->category == SONDE_PATH_HOST || t->category == SONDE_PATH_COPY || t->category == SONDE_PATH_ORDER)
        return t->category == SONDE_PATH_HOST ? HOST : (t->category == SONDE_PATH_COPY ? COPY : BARRIER);
    if (t->category == SONDE_PATH_OFF && strcmp(t->name, "nanosleep") == 0)
        return NAP;
    for (int i = 0; i < KERNELS && t->category == SONDE_PATH_KERNEL; i++)
        if (strcmp(t->name, kernel_names[i]) == 0)
            return i;
    for (int i = ENQUEUE; i <= EVENT && t->category == SONDE_PATH_API; i++)
        if (strcmp(t->name, api_names[i]) == 0)
            return i;
    fail_msg("%s %s is on the path", sonde_path_name(t->category), t->name);
    return -1;
}

static void check_replay(const struct sonde_measurement *m, const struct sonde_profile *profile, uint64_t length)
{
    struct sonde_path path = {0};
    struct sonde__cp_run run = {.out.path = &path};
    uint64_t end = 0;
    assert_int_equal(sonde__cp_open(m, profile, &(uint32_t){0}, 1, SONDE_CRITICAL_ROWS, NULL, &run), 0);
    assert_int_equal(sonde__cp_replay(&run, &end), 0);
    assert_int_equal(end, WRITTEN_START + length);
    sonde__cp_close(&run);
    sonde_vector_fini(&path.things);
}

static void check_counted(struct program *p, bool exact, uint64_t *wakes, uint64_t *starts)
{
    struct sonde_profile *profile;
    struct sonde_measurement *m = written_open(p->w, &profile);
    struct sonde_critical critical = {0};
    uint64_t truth[THINGS] = {0}, seen[THINGS] = {0}, length = evaluate(p, -1);
    longest_path(p, truth);
    assert_int_equal(sonde_critical_compute(m, profile, &(struct sonde_critical_options){.evaluate = 100}, NULL, &critical), 0);
    const struct sonde_path *path = &critical.paths.items[0];
    assert_int_equal(path->end_ns - path->begin_ns, length);
    assert_int_equal(path->waits_inferred + path->lost + (p->beside ? 0 : path->starts_inferred + path->wakes_inferred), 0);
    for (size_t i = 0; i < path->things.count; i++) {
        const struct sonde_path_thing *t = &path->things.items[i];
        if (t->ns == 0)
            continue;
        const int thing = thing_of(t);
        const uint64_t saved = length - evaluate(p, thing);
        seen[thing] += t->ns;
        if (thing == NAP) { /* it is in nobody's hands */
            assert_false(t->evaluated);
            continue;
        }
        assert_true(t->evaluated);
        if (exact)
            assert_int_equal(t->saving_ns, saved);
        else /* what a wait that did not wait would have cost is unknown, and taken as nothing */
            assert_true(t->saving_ns >= saved);
    }
    for (int i = 0; i < THINGS; i++)
        assert_int_equal(seen[i], truth[i]);
    check_replay(m, profile, length);
    *wakes += path->wakes_inferred;
    *starts += path->starts_inferred;
    sonde_critical_fini(&critical);
    written_close(p->w);
    free(p);
}

static void check(struct program *p, bool exact)
{
    uint64_t wakes = 0, starts = 0;
    check_counted(p, exact, &wakes, &starts);
}

static void test_paths_and_savings(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed += EVERY) {
        check(make_up(seed, 0, 12 + (int)(seed % 7) * 12, false), true);
        folder_remove_all();
    }
}

static void test_calls_with_time_of_their_own(void **state)
{
    (void)state;
    for (uint64_t seed = 1001; seed <= 1200; seed += EVERY) {
        check(make_up(seed, 2000, 12 + (int)(seed % 7) * 12, false), false);
        folder_remove_all();
    }
}

/* What one thread's call had done when another began, or was woken, is on the path: it is shorter, too. */
static void test_begun_and_woken_by_calls(void **state)
{
    uint64_t wakes = 0, starts = 0;
    (void)state;
    for (uint64_t seed = 2001; seed <= 2200; seed += EVERY) {
        check_counted(make_up(seed, 0, 12 + (int)(seed % 7) * 12, true), true, &wakes, &starts);
        folder_remove_all();
    }
    assert_true(wakes > 0 && starts > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_and_savings),
        cmocka_unit_test(test_calls_with_time_of_their_own),
        cmocka_unit_test(test_begun_and_woken_by_calls),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}

/* dependencies.c - what single operations and calls waited for, and what waited for them: programs in which that can be seen by hand.
 *
 * Each program is drawn in a comment. What is told is compared as text: "op 2 10-300 queue+wait_list 5" is an operation on lane 2
 * that ran from 10 to 300, with its slack; "!" marks the one that decided. Times are in ns since the process's start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/critical/dependencies.h"
#include "written.h"

#define USER_EVENT(n) (SONDE_WAIT_USER_EVENT | (n))

struct asking {
    struct written *w;
    struct sonde_dependencies *d;
    struct sonde_dependencies_of of;
    char text[2000];
};

static struct asking begin_limited(struct written *w, uint64_t max_rows)
{
    struct asking a = {.w = w};
    struct sonde_profile *profile;
    assert_int_equal(sonde_dependencies_create(written_open(w, &profile), max_rows, &a.d), 0);
    return a;
}

static struct asking begin(struct written *w)
{
    return begin_limited(w, 1000000);
}

static void finish(struct asking *a)
{
    sonde_dependencies_of_fini(&a->of);
    sonde_dependencies_destroy(a->d);
    written_close(a->w);
}

static void add(char *text, const struct sonde_dependency *d)
{
    char *end = text + strlen(text);
    end += sprintf(end, "%s%s %u %d-%d ", *text ? "; " : "", d->step.is_call ? "call" : "op", d->step.lane,
                   (int)(d->step.begin_ns - WRITTEN_START), (int)(d->step.end_ns - WRITTEN_START));
    const char *between = "";
    for (int reason = 0; reason < SONDE_DEPENDENCY_COUNT; reason++)
        if (d->reasons >> reason & 1) {
            end += sprintf(end, "%s%s", between, sonde_dependency_reason_name((enum sonde_dependency_reason)reason));
            between = "+";
        }
    sprintf(end, "%s %d%s", d->inferred ? "?" : "", (int)d->slack_ns, d->decided ? "!" : "");
}

static const char *before(struct asking *a)
{
    a->text[0] = '\0';
    for (size_t i = 0; i < a->of.before.count; i++)
        add(a->text, &a->of.before.items[i]);
    return a->text;
}

static const char *after(struct asking *a)
{
    a->text[0] = '\0';
    for (size_t i = 0; i < a->of.after.count; i++)
        add(a->text, &a->of.after.items[i]);
    return a->text;
}

static void ask_op_most(struct asking *a, uint32_t lane, uint64_t correlation, uint16_t kind, uint16_t flags, uint64_t start, uint64_t end, uint32_t limit)
{
    const struct sonde_row_op row = {
        .start_ns = WRITTEN_START + start, .end_ns = WRITTEN_START + end, .correlation = correlation, .kind = kind, .flags = flags};
    sonde_dependencies_of_fini(&a->of);
    a->of = (struct sonde_dependencies_of){0};
    assert_int_equal(sonde_dependencies_of_op(a->d, 0, lane, &row, limit, &a->of), 0);
    assert_int_equal(a->of.step.begin_ns, row.start_ns);
    assert_int_equal(a->of.step.correlation, correlation);
}

static void ask_op(struct asking *a, uint32_t lane, uint64_t correlation, uint16_t kind, uint64_t start, uint64_t end)
{
    ask_op_most(a, lane, correlation, kind, 0, start, end, 100);
    assert_int_equal(a->of.unknown, SONDE_DEPENDENCY_KNOWN);
}

static int ask_call(struct asking *a, uint32_t lane, uint64_t at)
{
    sonde_dependencies_of_fini(&a->of);
    a->of = (struct sonde_dependencies_of){0};
    return sonde_dependencies_of_call(a->d, 0, lane, WRITTEN_START + at, 100, &a->of);
}

static uint64_t op(struct written *w, uint32_t t, uint32_t q, uint16_t kind, const char *api, uint64_t enter, uint64_t leave, uint64_t start, uint64_t end)
{
    return written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = kind, .name = kind == SONDE_OP_KERNEL ? "k" : NULL, .api = api, .enter = enter, .leave = leave, .start = start, .end = end});
}

/* ---- one in-order queue, and a call that waits for it ------------------------------------
 *
 *   thread 1   [a 100-110] [b 120-130] [finish 140-1010] [c 1100-1200      ]
 *   queue 2     a 115 ----- 500 b 505 ------- 1000        c 1150 - 1160
 */
static void test_in_order(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    const uint64_t first = op(w, t, q, SONDE_OP_KERNEL, NULL, 100, 110, 115, 500), second = op(w, t, q, SONDE_OP_KERNEL, NULL, 120, 130, 505, 1000);
    written_call(w, t, "clFinish", "", 140, 1010);
    written_wait(w, t, 140, 0, 0, q, 0);
    const uint64_t third = op(w, t, q, SONDE_OP_KERNEL, NULL, 1100, 1200, 1150, 1160);
    struct asking a = begin(w);
    ask_op(&a, q, first, SONDE_OP_KERNEL, 115, 500);
    assert_string_equal(before(&a), "call 1 100-110 submission 0!");
    assert_int_equal(a.of.delay_ns, 5);
    assert_string_equal(after(&a), "op 2 505-1000 queue 0!");
    ask_op(&a, q, second, SONDE_OP_KERNEL, 505, 1000);
    assert_string_equal(before(&a), "op 2 115-500 queue 0!; call 1 120-130 submission 370");
    assert_true(a.of.has_delay);
    assert_int_equal(a.of.delay_ns, 5);
    /* The call went on at 1010, before c began. c was held up by its own call, until 1150. */
    assert_string_equal(after(&a), "call 1 140-1010 call_queue 0!; op 2 1150-1160 queue 150");
    ask_op(&a, q, third, SONDE_OP_KERNEL, 1150, 1160);
    assert_string_equal(before(&a), "call 1 1100-1200 submission 0!; op 2 505-1000 queue 150");
    assert_int_equal(a.of.delay_ns, 0);
    assert_string_equal(after(&a), "");
    assert_int_equal(ask_call(&a, t, 140), 0); /* b stands for a */
    assert_string_equal(before(&a), "op 2 505-1000 call_queue 0!");
    assert_false(a.of.has_delay);
    assert_string_equal(after(&a), "");
    assert_int_equal(ask_call(&a, t, 125), 0); /* any time within */
    assert_int_equal(a.of.step.begin_ns, WRITTEN_START + 120);
    assert_string_equal(before(&a), "");
    assert_string_equal(after(&a), "op 2 505-1000 submission 370");
    assert_int_equal(ask_call(&a, t, 130), SONDE_ENOTFOUND);
    assert_int_equal(ask_call(&a, t, 99), SONDE_ENOTFOUND);
    assert_int_equal(ask_call(&a, q, 125), SONDE_ENOTFOUND);
    finish(&a);
}

/* ---- out of order, by wait lists: a and b side by side, c after both, d after a ----------------
 *
 *   queue 2   a 100 - 300
 *             b 100 ------ 400
 *             c                410 - 500      list: a, b
 *             d       350 - 360               list: a
 */
static void test_wait_lists(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, SONDE_LANE_OUT_OF_ORDER);
    const uint64_t one = op(w, t, q, SONDE_OP_KERNEL, NULL, 10, 15, 100, 300), two = op(w, t, q, SONDE_OP_KERNEL, NULL, 20, 25, 100, 400);
    const uint64_t both = op(w, t, q, SONDE_OP_KERNEL, NULL, 30, 35, 410, 500);
    written_wait(w, t, 30, both, one, 0, 0);
    written_wait(w, t, 30, both, two, 0, 0);
    const uint64_t late = op(w, t, q, SONDE_OP_KERNEL, NULL, 40, 45, 350, 360);
    written_wait(w, t, 40, late, one, 0, 0);
    written_call(w, t, "clWaitForEvents", "", 50, 370);
    written_wait(w, t, 50, 0, late, 0, 0);
    struct asking a = begin(w);
    ask_op(&a, q, both, SONDE_OP_KERNEL, 410, 500);
    assert_string_equal(before(&a), "op 2 100-400 wait_list 0!; op 2 100-300 wait_list 100; call 1 30-35 submission 365");
    assert_int_equal(a.of.delay_ns, 10);
    ask_op(&a, q, one, SONDE_OP_KERNEL, 100, 300);
    assert_string_equal(after(&a), "op 2 350-360 wait_list 0!; op 2 410-500 wait_list 100");
    ask_op(&a, q, two, SONDE_OP_KERNEL, 100, 400);
    assert_string_equal(before(&a), "call 1 20-25 submission 0!");
    assert_string_equal(after(&a), "op 2 410-500 wait_list 0!");
    ask_op(&a, q, late, SONDE_OP_KERNEL, 350, 360);
    assert_string_equal(after(&a), "call 1 50-370 call_wait 0!");
    ask_op_most(&a, q, one, SONDE_OP_KERNEL, 0, 100, 300, 1);
    assert_string_equal(after(&a), "op 2 350-360 wait_list 0!");
    assert_int_equal(a.of.after_left_out, 1);
    ask_op_most(&a, q, both, SONDE_OP_KERNEL, 0, 410, 500, 1);
    assert_string_equal(before(&a), "op 2 100-400 wait_list 0!");
    assert_int_equal(a.of.before_left_out, 2);
    finish(&a);
}

/* ---- out of order, by a barrier: all before, all after -------------------------------------------
 *
 *   queue 2   a 100 - 300                c 420 - 500
 *             b 100 ------ 400  bar 410  d 430 --- 600
 *   finish until 610: c and d, which the barrier does not stand for, and the barrier, which does for a and b
 */
static void test_barrier(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, SONDE_LANE_OUT_OF_ORDER);
    const uint64_t first = op(w, t, q, SONDE_OP_KERNEL, NULL, 10, 15, 100, 300);
    op(w, t, q, SONDE_OP_KERNEL, NULL, 20, 25, 100, 400);
    const uint64_t bar = op(w, t, q, SONDE_OP_BARRIER, NULL, 30, 35, 410, 410);
    const uint64_t third = op(w, t, q, SONDE_OP_KERNEL, NULL, 40, 45, 420, 500);
    op(w, t, q, SONDE_OP_KERNEL, NULL, 50, 55, 430, 600);
    written_call(w, t, "clFinish", "", 60, 610);
    written_wait(w, t, 60, 0, 0, q, 0);
    struct asking a = begin(w);
    ask_op(&a, q, bar, SONDE_OP_BARRIER, 410, 410);
    assert_string_equal(before(&a), "op 2 100-400 barrier 0!; op 2 100-300 barrier 100; call 1 30-35 submission 365");
    assert_string_equal(after(&a), "op 2 420-500 barrier 0!; op 2 430-600 barrier 0!; call 1 60-610 call_queue 190");
    ask_op(&a, q, third, SONDE_OP_KERNEL, 420, 500);
    assert_string_equal(before(&a), "op 2 410-410 barrier 0!; call 1 40-45 submission 365");
    assert_string_equal(after(&a), "call 1 60-610 call_queue 100");
    ask_op(&a, q, first, SONDE_OP_KERNEL, 100, 300);
    assert_string_equal(after(&a), "op 2 410-410 barrier 100");
    assert_int_equal(ask_call(&a, t, 60), 0);
    assert_string_equal(before(&a), "op 2 430-600 call_queue 0!; op 2 420-500 call_queue 100; op 2 410-410 call_queue 190");
    finish(&a);
}

/* ---- a user event, completed by another thread: an operation and a call wait for it -----------------
 *
 *   thread 1   [a 10-20, list: event] [wait 30 ------------- 220]
 *   thread 2                               [set 200-210]
 *   queue 3                                      a 205 ---- 300
 */
static void test_user_event(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), other = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    const uint64_t held = op(w, t, q, SONDE_OP_KERNEL, NULL, 10, 20, 205, 300);
    written_wait(w, t, 10, held, USER_EVENT(1), 0, 0);
    written_call(w, t, "clWaitForEvents", "", 30, 220);
    written_wait(w, t, 30, 0, USER_EVENT(1), 0, 0);
    written_call(w, other, "clSetUserEventStatus", "", 200, 210);
    written_wait(w, other, 200, USER_EVENT(1), 0, 0, 0);
    struct asking a = begin(w);
    ask_op(&a, q, held, SONDE_OP_KERNEL, 205, 300);
    assert_string_equal(before(&a), "call 2 200-210 user_event 0!; call 1 10-20 submission 185");
    assert_int_equal(a.of.delay_ns, 0); /* it began within the call that let it */
    assert_int_equal(ask_call(&a, t, 30), 0);
    assert_string_equal(before(&a), "call 2 200-210 user_event 0!");
    assert_int_equal(ask_call(&a, other, 200), 0);
    assert_string_equal(before(&a), "");
    assert_string_equal(after(&a), "op 3 205-300 user_event 0!; call 1 30-220 user_event 0!");
    finish(&a);
}

/* ---- CUDA's legacy default stream, one that waits for it, and one that stands apart --------------------
 *
 *   legacy 2     a 100 - 200                    d 410 - 500
 *   blocking 3             b 210 ---- 400
 *   apart 4      c 100 -------------- 390
 */
static void test_legacy_stream(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), legacy = written_queue(w, 1, SONDE_LANE_LEGACY), blocking = written_queue(w, 1, 0);
    const uint32_t apart = written_queue(w, 1, SONDE_LANE_NON_BLOCKING);
    const uint64_t first = op(w, t, legacy, SONDE_OP_KERNEL, "cuLaunchKernel", 10, 15, 100, 200);
    const uint64_t second = op(w, t, blocking, SONDE_OP_KERNEL, "cuLaunchKernel", 20, 25, 210, 400);
    const uint64_t free_one = op(w, t, apart, SONDE_OP_KERNEL, "cuLaunchKernel", 30, 35, 100, 390);
    const uint64_t last = op(w, t, legacy, SONDE_OP_KERNEL, "cuLaunchKernel", 40, 45, 410, 500);
    struct asking a = begin(w);
    ask_op(&a, blocking, second, SONDE_OP_KERNEL, 210, 400);
    assert_string_equal(before(&a), "op 2 100-200 default_stream 0!; call 1 20-25 submission 175");
    assert_string_equal(after(&a), "op 2 410-500 default_stream 0!");
    ask_op(&a, legacy, last, SONDE_OP_KERNEL, 410, 500);
    assert_string_equal(before(&a), "op 3 210-400 default_stream 0!; op 2 100-200 queue 200; call 1 40-45 submission 355");
    ask_op(&a, apart, free_one, SONDE_OP_KERNEL, 100, 390);
    assert_string_equal(before(&a), "call 1 30-35 submission 0!");
    assert_string_equal(after(&a), "");
    ask_op(&a, legacy, first, SONDE_OP_KERNEL, 100, 200);
    assert_string_equal(after(&a), "op 3 210-400 default_stream 0!; op 2 410-500 queue 200");
    finish(&a);
}

/* ---- events of CUDA stand for the work before them ---------------------------------------------------------
 *
 * cuEventRecord on queue 2 after a (10-300), cuStreamWaitEvent on queue 3, then b there (310-400); cuEventSynchronize until 320.
 */
static void test_events(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 1, 0);
    const uint64_t first = op(w, t, one, SONDE_OP_KERNEL, "cuLaunchKernel", 0, 8, 10, 300);
    const uint64_t record = op(w, t, one, SONDE_OP_EVENT_RECORD, "cuEventRecord", 20, 25, 20, 25);
    op(w, t, one, SONDE_OP_KERNEL, "cuLaunchKernel", 26, 28, 300, 305);
    const uint64_t wait = op(w, t, two, SONDE_OP_EVENT_WAIT, "cuStreamWaitEvent", 30, 35, 30, 35);
    written_wait(w, t, 30, wait, record, 0, 0);
    const uint64_t held = op(w, t, two, SONDE_OP_KERNEL, "cuLaunchKernel", 40, 45, 310, 400);
    written_call(w, t, "cuEventSynchronize", "", 50, 320);
    written_wait(w, t, 50, 0, record, 0, 0);
    written_call(w, t, "cuCtxSynchronize", "", 330, 410);
    written_wait(w, t, 330, 0, 0, 0, 1);
    struct asking a = begin(w);
    ask_op(&a, two, held, SONDE_OP_KERNEL, 310, 400);
    assert_string_equal(before(&a), "op 2 10-300 event 0!; call 1 40-45 submission 255");
    assert_string_equal(after(&a), "call 1 330-410 call_device 0!");
    ask_op(&a, one, first, SONDE_OP_KERNEL, 10, 300);
    assert_string_equal(after(&a), "op 2 300-305 queue 0!; op 3 310-400 event 0!; call 1 50-320 event 0!");
    assert_int_equal(ask_call(&a, t, 330), 0); /* the last of each queue */
    assert_string_equal(before(&a), "op 3 310-400 call_device 0!; op 2 300-305 call_device 95");
    ask_op_most(&a, two, wait, SONDE_OP_EVENT_WAIT, 0, 30, 35, 100);
    assert_string_equal(sonde_dependency_unknown_name(a.of.unknown), "point");
    assert_int_equal(a.of.before.count + a.of.after.count, 0);
    finish(&a);
}

/* ---- what is inferred, what the times do not allow, what is not known ------------------------------------------- */

static void test_inferred(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    op(w, t, q, SONDE_OP_KERNEL, NULL, 10, 15, 20, 300);
    written_call(w, t, "clFinish", "", 30, 310); /* without a row */
    written_call(w, t, "clFinish", "", 320, 325); /* nothing ended in it */
    struct asking a = begin(w);
    assert_int_equal(ask_call(&a, t, 30), 0);
    assert_string_equal(before(&a), "op 2 20-300 call_wait? 0!");
    assert_int_equal(ask_call(&a, t, 320), 0);
    assert_string_equal(before(&a), "");
    finish(&a);
}

/* A wait for what had ended before: it is told, and decided nothing. One for what ended later is none. */
static void test_times(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, SONDE_LANE_OUT_OF_ORDER);
    const uint64_t ended = op(w, t, q, SONDE_OP_KERNEL, NULL, 10, 15, 20, 100), later = op(w, t, q, SONDE_OP_KERNEL, NULL, 20, 25, 30, 900);
    written_call(w, t, "clWaitForEvents", "", 150, 160);
    written_wait(w, t, 150, 0, ended, 0, 0);
    written_wait(w, t, 150, 0, later, 0, 0);
    struct asking a = begin(w);
    assert_int_equal(ask_call(&a, t, 150), 0);
    assert_string_equal(before(&a), "op 2 20-100 call_wait 50");
    ask_op(&a, q, ended, SONDE_OP_KERNEL, 20, 100);
    assert_string_equal(after(&a), "call 1 150-160 call_wait 50");
    ask_op(&a, q, later, SONDE_OP_KERNEL, 30, 900);
    assert_string_equal(after(&a), "");
    finish(&a);
}

/* Chunks hold some thousand rows: of 40,000 only the last are looked at. */
static void test_unknown(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    uint64_t first = 0, last = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        last = op(w, t, q, SONDE_OP_KERNEL, NULL, 100 * i, 100 * i + 10, 100 * i + 20, 100 * i + 90);
        first = first ? first : last;
    }
    const uint64_t untimed = written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "k", .flags = SONDE_OP_NO_TIMES, .enter = 2000010, .leave = 2000015});
    struct asking a = begin_limited(w, 20000);
    ask_op(&a, q, last, SONDE_OP_KERNEL, 1999920, 1999990);
    assert_string_equal(before(&a), "call 1 1999900-1999910 submission 0!; op 2 1999820-1999890 queue 20");
    ask_op_most(&a, q, first, SONDE_OP_KERNEL, 0, 20, 90, 100);
    assert_string_equal(sonde_dependency_unknown_name(a.of.unknown), "earlier");
    assert_int_equal(ask_call(&a, t, 5), 0);
    assert_string_equal(sonde_dependency_unknown_name(a.of.unknown), "earlier");
    ask_op_most(&a, q, untimed, SONDE_OP_KERNEL, SONDE_OP_NO_TIMES, 0, 0, 100);
    assert_string_equal(sonde_dependency_unknown_name(a.of.unknown), "untimed");
    finish(&a);
}

/* ---- clocks that differ: what was moved to agree is found by the times of its row ------------------------------------ */

static void test_moved(void **state)
{
    (void)state;
    struct written *w = written_begin();
    const uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_header(w)->clock_bound_ns = 10;
    const uint64_t early = op(w, t, q, SONDE_OP_KERNEL, NULL, 100, 110, 95, 200); /* before its call */
    const uint64_t over = op(w, t, q, SONDE_OP_KERNEL, NULL, 120, 130, 193, 300); /* before the end of the one before */
    struct asking a = begin(w);
    ask_op(&a, q, early, SONDE_OP_KERNEL, 95, 200);
    assert_string_equal(before(&a), "call 1 100-110 submission 0!");
    assert_string_equal(after(&a), "op 2 193-300 queue 0!");
    ask_op(&a, q, over, SONDE_OP_KERNEL, 193, 300);
    assert_string_equal(before(&a), "op 2 95-200 queue 0!; call 1 120-130 submission 70");
    finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_wait_lists),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_user_event),
        cmocka_unit_test(test_legacy_stream),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_inferred),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_moved),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}

/* test_losses.c - words from several threads at once, and what finds no room: nothing of it is lost without a count. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "harness.h"

/* ---- recording on and off, by several threads ------------------------------------------- */

static _Atomic bool within, stopped;

/* In the middle of turning on: another thread turns off, and is done, or waits. */
static void while_it_turns(bool on)
{
    if (!on)
        return;
    atomic_store(&within, true);
    while (atomic_load(&sonde__agent.range))
        usleep(100);
    for (int n = 0; n < 300 && !atomic_load(&stopped); n++)
        usleep(1000);
}

static void *stop(void *unused)
{
    (void)unused;
    while (!atomic_load(&within))
        usleep(100);
    sonde__agent_set_range(0);
    atomic_store(&stopped, true);
    return NULL;
}

static void opposite_words(void)
{
    const char *const extra[] = {"SONDE_START_OFF=1", NULL};
    pthread_t thread;
    harness_setup("words", extra);
    harness_wait();
    REQUIRE(!sonde_recording());
    atomic_store(&harness_on_range, while_it_turns);
    pthread_create(&thread, NULL, stop, NULL);
    sonde__agent_set_range(1);
    pthread_join(thread, NULL);
    atomic_store(&harness_on_range, NULL);
    REQUIRE(!atomic_load(&sonde__agent.range)); /* the last word, */
    REQUIRE(!sonde_recording());                /* and what is done */
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    REQUIRE(p->pause_count >= 2 && p->pauses[p->pause_count - 1].to_ns == 0);
    harness_remove();
}

enum { TALKERS = 4 };
enum { WORDS = 2000 };

static void *talk(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < WORDS; i++) {
        random = random * 1664525u + 1013904223u;
        sonde__agent_set_range(random >> 31);
    }
    return NULL;
}

static void many_words(void)
{
    const char *const none[] = {NULL};
    harness_setup("talk", none);
    harness_wait();
    for (int round = 0; round < 10; round++) {
        pthread_t threads[TALKERS];
        for (int i = 0; i < TALKERS; i++)
            pthread_create(&threads[i], NULL, talk, (void *)(uintptr_t)(round * TALKERS + i + 1));
        for (int i = 0; i < TALKERS; i++)
            pthread_join(threads[i], NULL);
        REQUIRE(sonde_recording() == (atomic_load(&sonde__agent.range) != 0));
        REQUIRE((sonde__agent.pause == 0) == sonde_recording());
    }
    harness_remove();
}

/* ---- sonde.h, from any thread --------------------------------------------------------------- */

static _Atomic int words_heard;

/* What the preload library exports. */
__attribute__((visibility("default"))) void sonde__set_range(int on);
void sonde__set_range(int on)
{
    atomic_fetch_add(&words_heard, on ? 1 : 1000);
}

static void *say(void *barrier)
{
    pthread_barrier_wait(barrier);
    sonde_start();
    sonde_stop();
    return NULL;
}

static void words_of_many_threads(void)
{
    pthread_barrier_t barrier;
    pthread_t threads[8];
    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, say, &barrier);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    REQUIRE(atomic_load(&words_heard) == 8008);
}

/* ---- rows of ranges -------------------------------------------------------------------------- */

/* As a signal handler's that came within a hook. */
static void within_a_hook(void)
{
    const struct sonde_range range = {.name = 1};
    const uint64_t open = sonde_range_start(&range);
    REQUIRE(open);
    sonde__busy(sonde__self, SONDE_BUSY);
    sonde_range_push(&range); /* four rows that will be missing */
    sonde_range_pop(0);
    sonde_mark(&range);
    REQUIRE(!sonde_range_start(&range));
    REQUIRE(sonde_range_end(open) == 1);
    sonde__busy(sonde__self, 0);
}

static int add_rows(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane;
    (void)rows;
    *(uint64_t *)user += count;
    return 0;
}

static void ranges_are_counted(void)
{
    enum { DEEP = SONDE_RANGES_MAX + 7 };
    const char *const none[] = {NULL};
    harness_setup("lost-ranges", none);
    harness_launch(harness_queue(0), SONDE_OP_KERNEL, 0, true);
    within_a_hook();
    for (int i = 0; i < DEEP; i++)
        sonde_range_push(&(struct sonde_range){.name = 1});
    for (int i = 0; i < DEEP; i++)
        sonde_range_pop(0);
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    uint64_t traced = 0;
    sonde_process_trace(p, SONDE_TABLE_RANGE, 0, 0, UINT64_MAX, add_rows, &traced);
    REQUIRE(traced == SONDE_RANGES_MAX);
    REQUIRE(p->header.ledger.range_rows_dropped == 4 + DEEP - SONDE_RANGES_MAX);
    harness_remove();
}

/* ---- the budget ---------------------------------------------------------------------------------- */

static void spend_the_heap(void)
{
    while (sonde__heap_get(&sonde__agent.heap, SONDE_HEAP_BLOCK))
        ;
}

static void unfinished_without_room(void)
{
    enum { MANY = 3000 };
    const char *const extra[] = {"SONDE_MEMORY=8388608", NULL};
    harness_setup("no-room", extra);
    const uint32_t queue = harness_queue(0);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    spend_the_heap();
    for (int i = 0; i < MANY; i++)
        harness_launch(queue, SONDE_OP_KERNEL, 0, false);
    for (int i = 0; i < MANY; i++)
        harness_submit(1000 + (uint64_t)i, 0, NULL, NULL);
    usleep(1000);
    for (int i = 0; i < MANY; i++)
        harness_report(&(struct sonde_completion){.key = 1000 + (uint64_t)i, .kind = SONDE_OP_KERNEL, .lane = queue, .times = {1, 1, sonde_now_ns(), sonde_now_ns() + 1}});
    harness_complete_all();
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    fprintf(stderr, "no room: %llu seen, %llu done, %llu dropped, %llu unmatched\n", (unsigned long long)l->seen,
            (unsigned long long)l->done, (unsigned long long)l->dropped[SONDE_DROP_CHANNEL_FULL],
            (unsigned long long)l->unmatched);
    REQUIRE(l->seen == 2 * MANY + 1 && l->unmatched == 0);
    REQUIRE(l->dropped[SONDE_DROP_CHANNEL_FULL] > 0);
    REQUIRE(l->done + l->dropped[SONDE_DROP_CHANNEL_FULL] == l->seen);
    harness_remove();
}

/* ---- room on disk, which the monitor makes ----------------------------------------------------- */

enum { DEPTH = 17 };

/* 1 << depth call paths, twice as many nodes. */
static __attribute__((noinline)) bool tree(int depth)
{
    if (depth == 0)
        return harness_wait();
    const bool left = tree(depth - 1);
    return tree(depth - 1) && left;
}

static struct sonde_pool *const pool = &sonde__agent.pool;

/* The monitor in the middle of a turn that does not end, and little room left: less than tree() takes. */
static void hold_the_monitor(const char *name)
{
    const char *const extra[] = {"SONDE_MEMORY=268435456", NULL};
    harness_setup(name, extra);
    harness_wait();
    harness_hold_monitor();
    while (atomic_load(&pool->left) > 20)
        sonde__pool_get(pool, SONDE_TABLE_CALL, 0, 0, sizeof(struct sonde_row_call));
}

static void *let_go_when_short(void *unused)
{
    (void)unused;
    while (atomic_load(&pool->left) > 16)
        usleep(1000);
    usleep(50000); /* whoever does not wait has none left */
    harness_let_monitor_go();
    return NULL;
}

static uint64_t folded_at_end(void)
{
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    REQUIRE(l->api_calls == (1 << DEPTH) + 1 && l->calls_dropped == 0);
    return l->contexts_folded;
}

static void paths_wait_for_room(void)
{
    pthread_t thread;
    hold_the_monitor("waits");
    pthread_create(&thread, NULL, let_go_when_short, NULL);
    REQUIRE(tree(DEPTH));
    pthread_join(thread, NULL);
    REQUIRE(folded_at_end() == 0);
    REQUIRE(sonde__agent.header->held_us >= 10000); /* and it is counted */
    harness_remove();
}

/* Once, and not longer than it says: the program goes on, its paths are counted. */
static void paths_wait_for_none(void)
{
    hold_the_monitor("vain");
    REQUIRE(tree(DEPTH));
    REQUIRE(atomic_load(&pool->in_vain) == atomic_load(&pool->ready));
    harness_let_monitor_go();
    REQUIRE(folded_at_end() > 0);
    harness_remove();
}

/* The monitor finds out in the middle of storing a row, when nobody can store a note. */
static void a_full_disk_is_said(void)
{
    const struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    uint32_t id;
    hold_the_monitor("full");
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    sonde__on_monitor = true;
    const uint32_t held_us = sonde__agent.header->held_us;
    REQUIRE(sonde__table_row(SONDE_TABLE_CLOCK, sizeof(struct sonde_row_clock), &id));
    REQUIRE(pool->disk_full);
    REQUIRE(sonde__agent.header->held_us - held_us < 900000); /* it did not wait for itself, which would be a second */
    setrlimit(RLIMIT_FSIZE, &all); /* a sanitizer may have something to write */
    sonde__room_keep();
    const struct sonde_row_note *note = sonde__table_find(SONDE_TABLE_NOTE, sizeof *note, 1);
    REQUIRE(note && strstr(note->text, "no space left"));
    harness_remove();
}

/* Each case in a process of its own: the agent starts once. */
#define CASE(name) \
    static void test_##name(void **state) { (void)state; assert_int_equal(harness_in_child(name), 0); }
CASE(opposite_words)
CASE(many_words)
CASE(words_of_many_threads)
CASE(ranges_are_counted)
CASE(unfinished_without_room)
CASE(paths_wait_for_room)
CASE(paths_wait_for_none)
CASE(a_full_disk_is_said)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opposite_words),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_words_of_many_threads),
        cmocka_unit_test(test_ranges_are_counted),
        cmocka_unit_test(test_unfinished_without_room),
        cmocka_unit_test(test_paths_wait_for_room),
        cmocka_unit_test(test_paths_wait_for_none),
        cmocka_unit_test(test_a_full_disk_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

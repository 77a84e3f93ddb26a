/* advice.c - a long trace that is looked at window after window gives the advice that it gives in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/advice/rules.h"
#include "written.h"

enum { US = 1000 };
enum { ROUNDS = 8000 };

/* On one queue launches that come too late, on a second device copies of pageable memory; the pinned one comes last. */
static struct written *program(void)
{
    struct written *w = written_begin();
    const uint32_t thread = written_thread(w, 0, 0), other = written_thread(w, 0, 0);
    const uint32_t one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t at = (10 + 10 * i) * US;
        written_op(w, &(struct written_op){.thread = thread,
                                           .queue = one,
                                           .kind = SONDE_OP_KERNEL,
                                           .name = "short",
                                           .enter = at,
                                           .leave = at + 5 * US,
                                           .start = at + 4 * US,
                                           .end = at + 7 * US});
        written_op(w, &(struct written_op){.thread = other,
                                           .queue = two,
                                           .kind = SONDE_OP_WRITE,
                                           .enter = at,
                                           .leave = at + 1 * US,
                                           .start = at + 2 * US,
                                           .end = at + 8 * US,
                                           .bytes = 1000,
                                           .source = i == ROUNDS - 1 ? SONDE_MEMORY_PINNED : SONDE_MEMORY_PAGEABLE,
                                           .target = SONDE_MEMORY_DEVICE});
    }
    const uint64_t at = (10 + 10 * ROUNDS) * US; /* 1 MiB in 1,048 us: 1,000 bytes a us */
    written_op(w, &(struct written_op){.thread = other,
                                       .queue = two,
                                       .kind = SONDE_OP_WRITE,
                                       .enter = at,
                                       .leave = at + 1 * US,
                                       .start = at + 2 * US,
                                       .end = at + 2 * US + (1 << 20),
                                       .bytes = 1 << 20,
                                       .source = SONDE_MEMORY_PINNED,
                                       .target = SONDE_MEMORY_DEVICE});
    return w;
}

static const struct sonde_advice *find(const struct sonde_advices *all, const char *rule)
{
    for (size_t i = 0; i < all->items.count; i++)
        if (!strcmp(all->items.items[i].rule, rule))
            return &all->items.items[i];
    return NULL;
}

static void check(const struct sonde_measurement *m, const struct sonde_profile *profile, uint64_t rows_most, uint64_t cuts)
{
    struct sonde_advices all = {0};
    assert_int_equal(sonde_advice_compute(m, profile, NULL, rows_most, &all), 0);
    assert_int_equal(all.rows, all.rows_looked_at);
    assert_true(cuts ? all.windows > cuts : all.windows == 1);
    const struct sonde_advice *late = find(&all, "launch_bound"), *slow = find(&all, "pageable_copies");
    assert_non_null(late);
    assert_non_null(slow);
    /* Each launch but the first finds the device idle for 7 of 10 us. */
    assert_int_equal(late->count, ROUNDS - 1);
    assert_int_equal(late->saving_ns, (uint64_t)(ROUNDS - 1) * 7 * US);
    /* 6 us each, and 1 at the rate of the pinned copy, wherever that is. */
    assert_int_equal(slow->count, ROUNDS - 1);
    assert_in_range(slow->saving_ns, (uint64_t)(ROUNDS - 1) * 5 * US - ROUNDS, (uint64_t)(ROUNDS - 1) * 5 * US + ROUNDS);
    sonde_advice_fini(&all);
}

static void test_windows(void **state)
{
    (void)state;
    struct sonde_profile *profile;
    struct written *w = program();
    struct sonde_measurement *m = written_open(w, &profile);
    check(m, profile, 0, 0);
    check(m, profile, 4000, 2);
    check(m, profile, 1000, 8);
    written_close(w);
}

/* Twelve threads, each with a queue of its own of one device and a place of its own for each rule, all at the same time:
 * a needless wait, copies that are waited for, a row of small ones. */
enum {
    THREADS = 12,
    TURNS = 307,
    ROW = 10,
};

static struct written *many_queues(void)
{
    struct written *w = written_begin();
    uint32_t threads[THREADS], queues[THREADS];
    for (int t = 0; t < THREADS; t++) {
        threads[t] = written_thread(w, 0, 0);
        queues[t] = written_queue(w, 1, 0);
    }
    for (uint64_t i = 0; i < TURNS; i++)
        for (uint64_t t = 0; t < THREADS; t++) {
            const uint32_t thread = threads[t], queue = queues[t];
            uint64_t at = (i * THREADS + t) * 400 * US;
            char waits[16], copies[16], pieces[16];
            snprintf(waits, sizeof waits, "waits%d", (int)t);
            snprintf(copies, sizeof copies, "copies%d", (int)t);
            snprintf(pieces, sizeof pieces, "pieces%d", (int)t);
            for (int k = 0; k < 2; k++, at += 40 * US) { /* kernel, wait, kernel, wait */
                written_op(w, &(struct written_op){.thread = thread,
                                                   .queue = queue,
                                                   .kind = SONDE_OP_KERNEL,
                                                   .name = "work",
                                                   .function = waits,
                                                   .enter = at,
                                                   .leave = at + 2 * US,
                                                   .start = at + 4 * US,
                                                   .end = at + 20 * US});
                written_call(w, thread, "clFinish", waits, at + 3 * US, at + 30 * US);
                written_wait(w, thread, at + 3 * US, 0, 0, queue, 0);
            }
            const uint64_t id = written_op(w, &(struct written_op){.thread = thread,
                                                                   .queue = queue,
                                                                   .kind = SONDE_OP_READ,
                                                                   .function = copies,
                                                                   .enter = at,
                                                                   .leave = at + 40 * US,
                                                                   .start = at + 5 * US,
                                                                   .end = at + 35 * US,
                                                                   .bytes = 1 << 20});
            written_wait(w, thread, at, 0, id, 0, 0);
            at += 50 * US;
            for (int k = 0; k < ROW; k++, at += 10 * US)
                written_op(w, &(struct written_op){.thread = thread,
                                                   .queue = queue,
                                                   .kind = SONDE_OP_WRITE,
                                                   .function = pieces,
                                                   .enter = at,
                                                   .leave = at + 1 * US,
                                                   .start = at + 2 * US,
                                                   .end = at + 8 * US,
                                                   .bytes = 64});
        }
    return w;
}

/* The same rule at the same place. */
static const struct sonde_advice *same(const struct sonde_advices *all, const struct sonde_advice *one)
{
    for (size_t i = 0; i < all->items.count; i++)
        if (!strcmp(all->items.items[i].rule, one->rule) && all->items.items[i].node == one->node)
            return &all->items.items[i];
    return NULL;
}

/* No queue is left out, and the bounds are those of the whole; but a row of small copies at a cut is two, or too short. */
static void test_windows_of_many_queues(void **state)
{
    static const uint64_t rows[] = {20000, 5000, 2000, 1500};
    struct sonde_profile *profile;
    struct written *w = many_queues();
    struct sonde_measurement *m = written_open(w, &profile);
    struct sonde_advices whole = {0};
    (void)state;
    assert_int_equal(sonde_advice_compute(m, profile, NULL, UINT32_MAX, &whole), 0);
    assert_int_equal(whole.windows, 1);
    uint64_t places = 0;
    for (size_t i = 0; i < whole.items.count; i++)
        places += !strcmp(whole.items.items[i].rule, "needless_wait") || !strcmp(whole.items.items[i].rule, "synchronous_copies") ||
                  !strcmp(whole.items.items[i].rule, "small_copies");
    assert_int_equal(places, 3 * THREADS);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct sonde_advices parts = {0};
        assert_int_equal(sonde_advice_compute(m, profile, NULL, rows[k], &parts), 0);
        assert_true(parts.windows > 1);
        assert_int_equal(parts.rows, parts.rows_looked_at);
        assert_int_equal(parts.rows, whole.rows);
        for (size_t i = 0; i < whole.items.count; i++) {
            const struct sonde_advice *a = &whole.items.items[i], *b = same(&parts, a);
            assert_non_null(b);
            const bool rows_of_copies = !strcmp(a->rule, "small_copies");
            const uint64_t cut = rows_of_copies ? (parts.windows - 1) * ROW : 0, each = cut ? a->saving_ns / a->count + 1 : 0;
            assert_true(b->count + cut >= a->count);
            assert_true(b->saving_ns + cut * each >= a->saving_ns);
        }
        sonde_advice_fini(&parts);
    }
    sonde_advice_fini(&whole);
    written_close(w);
}

/* Of 40 processes with 40 devices each, at the same place. */
static void test_findings_kept_apart(void **state)
{
    struct sonde__find f = {0};
    (void)state;
    for (uint32_t process = 0; process < 40; process++)
        for (uint32_t device = 1; device <= 40; device++)
            assert_int_equal(sonde__find_add(&f, &(struct sonde__finding){.rule = 1, .process = process, .device = device, .count = 1}), 0);
    assert_int_equal(f.found.count, 40 * 40);
    sonde_vector_fini(&f.found);
    sonde_map_fini(&f.places);
    sonde_map_fini(&f.callers);
}

/* ---- objects that are sent again -------------------------------------------------------------------- */

struct send {
    const char *function;
    uint32_t object, from, to;
    uint64_t count, bytes;
};

/* Copies of 100 us each, one after the other. */
static void send(struct written *w, uint32_t thread, uint32_t queue, const struct send *s)
{
    static uint64_t at;
    for (uint64_t i = 0; i < s->count; i++) {
        at += 200 * US;
        written_op(w, &(struct written_op){.thread = thread,
                                           .queue = queue,
                                           .kind = SONDE_OP_PEER_COPY,
                                           .function = s->function,
                                           .enter = at,
                                           .leave = at + 1 * US,
                                           .start = at + 2 * US,
                                           .end = at + 102 * US,
                                           .bytes = s->bytes,
                                           .source = SONDE_MEMORY_DEVICE,
                                           .target = SONDE_MEMORY_DEVICE,
                                           .source_device = s->from,
                                           .target_device = s->to,
                                           .object = s->object});
    }
}

static void test_resent(void **state)
{
    (void)state;
    struct sonde_profile *profile;
    struct sonde_advices all = {0};
    struct written *w = written_begin();
    const uint32_t thread = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
    uint32_t object[4];
    for (int i = 0; i < 4; i++)
        object[i] = written_object(w, thread, SONDE_OBJECT_DEVICE, 1, "setup", 1000);
    /* Ten times whole, from two places; three times, and once more the other way; a quarter of it, eight times; on one device; of no
     * object; from nobody knows where. */
    send(w, thread, two, &(struct send){"loop", object[0], 1, 2, 8, 1000});
    send(w, thread, two, &(struct send){"before", object[0], 1, 2, 2, 1000});
    send(w, thread, two, &(struct send){"few", object[1], 1, 2, 3, 1000});
    send(w, thread, one, &(struct send){"few", object[1], 2, 1, 1, 1000});
    send(w, thread, two, &(struct send){"parts", object[2], 1, 2, 8, 250});
    send(w, thread, one, &(struct send){"within", object[3], 1, 1, 9, 1000});
    send(w, thread, two, &(struct send){"nothing", 0, 1, 2, 9, 1000});
    send(w, thread, two, &(struct send){"nowhere", object[3], 0, 2, 9, 1000});
    struct sonde_measurement *m = written_open(w, &profile);
    assert_int_equal(sonde_advice_compute(m, profile, NULL, 0, &all), 0);
    size_t found = 0;
    for (size_t i = 0; i < all.items.count; i++) {
        const struct sonde_advice *a = &all.items.items[i];
        if (strcmp(a->rule, "resent_objects"))
            continue;
        const char *name = profile->nodes.items[sonde_profile_place(profile, a->node)].name;
        const uint64_t times = strcmp(name, "loop") ? 2 : 8;
        assert_true(times == 8 || !strcmp(name, "before"));
        assert_int_equal(a->count, times);
        assert_int_equal(a->bytes, times * 1000);
        assert_int_equal(a->device, 2);
        assert_int_equal(a->looked_at_ns, times * 100 * US);
        assert_int_equal(a->saving_ns, times * 90 * US);
        found++;
    }
    assert_int_equal(found, 2);
    sonde_advice_fini(&all);
    written_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows), cmocka_unit_test(test_windows_of_many_queues),
                                       cmocka_unit_test(test_findings_kept_apart), cmocka_unit_test(test_resent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

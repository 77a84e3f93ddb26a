/* next.c - unit tests of going from interval to interval: of random queues, threads and ranges, each interval of a label comes once, in
 * order, forwards and backwards, as single nanoseconds of the time line have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/timeline/own.h"
#include "scene.h"

enum { LENGTH = 16000,
       THREADS = 3,
       QUEUES = 3 };

static uint64_t seed = 3;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* ---- a run ------------------------------------------------------------------------------------------------- */

static void add_thread(struct scene *s)
{
    const uint32_t thread = scene_thread(s), main = scene_function(s, thread, 0, "main");
    const uint32_t functions[] = {scene_function(s, thread, main, "f"), scene_function(s, thread, main, "g")};
    const uint32_t lines[] = {scene_line(s, thread, functions[0], "h", 1), scene_line(s, thread, functions[0], "h", 2), functions[1]};
    const uint32_t apis[] = {scene_api(s, thread, functions[0], "clFinish"), scene_api(s, thread, functions[1], "clFlush")};
    uint64_t now = noise(300);
    while (now < LENGTH - 600) {
        if (noise(3)) {
            for (uint64_t i = 0, count = 1 + noise(6); i < count; i++)
                scene_sample(s, thread, lines[noise(3)], now + 20 * i, 10);
            now += 140;
        } else {
            const uint64_t end = now + (noise(5) ? noise(90) : 0);
            scene_call(s, thread, apis[noise(2)], now, end, 0);
            now = end + (end == now) + noise(3);
        }
        now += noise(8) ? noise(40) : noise(900);
    }
    for (uint64_t at = 0; at + 500 < LENGTH; at += 1 + noise(700)) {
        const uint64_t length = noise(4) ? noise(200) : 0;
        const struct sonde_row_range inner = {.begin_ns = at, .end_ns = at + length, .name = synth_add_string(scene_build(s), noise(2) ? "epoch" : "step")};
        const struct sonde_row_range outer = {.begin_ns = at, .end_ns = at + length + 20, .name = synth_add_string(scene_build(s), "epoch")};
        synth_add(scene_build(s), SONDE_TABLE_RANGE, thread, &inner);
        if (noise(2))
            synth_add(scene_build(s), SONDE_TABLE_RANGE, thread, &outer);
        at += length + 20;
    }
}

static struct sonde_measurement *random_run(void)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), launch = scene_api(s, thread, 0, "launch"), device = scene_device(s, "gpu");
    const uint32_t kernels[] = {scene_kernel(s, thread, launch, "k"), scene_kernel(s, thread, launch, "rare")};
    uint64_t correlation = 0;
    scene_header(s)->stop_ns = LENGTH;
    for (int i = 0; i < THREADS; i++)
        add_thread(s);
    for (int i = 0; i < QUEUES; i++) {
        const uint32_t queue = scene_queue(s, device);
        uint64_t now = noise(200);
        while (now < LENGTH - 400) { /* several begin at once; but alone what takes no time: a bin does not tell which it is */
            const bool instant = !noise(9);
            for (uint64_t k = 0, count = instant ? 1 : 1 + noise(3) / 2; k < count; k++)
                scene_op(s, queue, kernels[noise(60) == 0], now, now + (instant ? 0 : 1 + noise(40)), ++correlation);
            now += 1 + noise(60);
        }
    }
    return scene_open(s);
}

/* ---- the truth: the time line, nanosecond by nanosecond ----------------------------------------------------- */

typedef SONDE_VECTOR(struct sonde_timeline_hit) hits;

static bool is_called(void *user, const struct sonde_timeline_label *label)
{
    return strcmp(label->frame.name, user) == 0;
}

static int by_place(const void *left, const void *right)
{
    const struct sonde_timeline_place *a = &((const struct sonde_timeline_hit *)left)->place, *b = &((const struct sonde_timeline_hit *)right)->place;
    const uint64_t keys[][2] = {{a->begin_ns, b->begin_ns}, {a->lane, b->lane}, {a->track, b->track}, {a->correlation, b->correlation}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* A bin of a nanosecond has instants only: of those without a correlation one stands for all that begin there. */
static void find_all(struct sonde_timeline *timeline, const struct sonde_measurement *m, const char *name, uint32_t depth, hits *out)
{
    const struct sonde_process *p = &m->processes[0];
    for (uint32_t lane = 1; lane < p->lane_count; lane++) {
        const struct sonde_lane_id id = {0, lane};
        struct sonde_timeline_answer a = {0};
        const struct sonde_timeline_question question = {.lanes = &id, .lane_count = 1, .pixels = LENGTH, .depth = depth};
        if (p->lanes[lane].kind != SONDE_LANE_KIND_THREAD && p->lanes[lane].kind != SONDE_LANE_KIND_QUEUE)
            continue;
        assert_int_equal(sonde_timeline_ask(timeline, &question, &a, NULL), 0);
        assert_int_equal(a.bin_ns, 1);
        for (size_t i = 0; i < a.lanes.items[0].intervals.count; i++) {
            const struct sonde_timeline_interval *one = &a.lanes.items[0].intervals.items[i];
            const struct sonde_timeline_label *label = &a.labels.items[one->label];
            const struct sonde_timeline_hit hit = {
                .place = {one->begin_ns, 0, lane, one->track, one->correlation},
                .end_ns = one->merged ? one->begin_ns : one->end_ns,
                .kind = one->kind,
            };
            if (label->routine && label->frame.kind && strcmp(label->frame.name, name) == 0 && (one->rows || one->kind == SONDE_DRAWN_SAMPLE))
                assert_int_equal(sonde_vector_push(out, hit), 0);
        }
        sonde_timeline_answer_fini(&a);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_place);
}

/* Instants of one place come one by one, and have correlations of their own, unlike their bin. */
static bool same(const struct sonde_timeline_hit *hit, const struct sonde_timeline_hit *expected)
{
    const bool instant = expected->end_ns == expected->place.begin_ns;
    return hit->place.begin_ns == expected->place.begin_ns && hit->place.process == 0 && hit->place.lane == expected->place.lane &&
           hit->place.track == expected->place.track && hit->kind == expected->kind &&
           (instant ? hit->end_ns == hit->place.begin_ns : hit->place.correlation == expected->place.correlation) &&
           (hit->cut ? hit->end_ns <= expected->end_ns : hit->end_ns == expected->end_ns);
}

static bool same_instant(const struct sonde_timeline_hit *hit, const struct sonde_timeline_hit *before)
{
    return hit->end_ns == hit->place.begin_ns && before->end_ns == before->place.begin_ns && hit->place.begin_ns == before->place.begin_ns &&
           hit->place.lane == before->place.lane && hit->place.track == before->place.track;
}

static void walk(struct sonde_timeline *timeline, const hits *all, const char *name, uint32_t depth, bool back)
{
    struct sonde_timeline_search search = {.at_ns = back ? LENGTH + 1 : 0, .back = back, .depth = depth, .accepts = is_called, .user = (void *)name};
    search.rows_first = noise(2) ? 8 : 0; /* many tiles, or few */
    struct sonde_timeline_hit hit = {0}, before = {0};
    size_t seen = 0;
    int rc;
    while ((rc = sonde_timeline_next(timeline, &search, &hit, NULL)) == 0) {
        if (search.from && same_instant(&hit, &before)) {
            assert_true(hit.place.correlation != before.place.correlation);
        } else {
            assert_true(seen < all->count);
            const struct sonde_timeline_hit *expected = &all->items[back ? all->count - 1 - seen : seen];
            if (!same(&hit, expected))
                fail_msg("%s depth %u back %d number %zu: %u.%u %d [%lu, %lu] for %u.%u %d [%lu, %lu]", name, depth, back, seen, hit.place.lane, hit.place.track, hit.kind,
                         (unsigned long)hit.place.begin_ns, (unsigned long)hit.end_ns, expected->place.lane, expected->place.track, expected->kind,
                         (unsigned long)expected->place.begin_ns, (unsigned long)expected->end_ns);
            seen++;
        }
        before = hit;
        search.from = &before.place;
    }
    assert_int_equal(rc, SONDE_ENOTFOUND);
    assert_int_equal(seen, all->count);
}

/* A sanitizer looks at what threads and memory do, not at each answer: a part of them is enough, and takes a tenth of the time. */
#if defined(__SANITIZE_THREAD__)
enum { RUNS = 1,
       NAMES_APART = 7,
       DEPTHS = 1,
       INSTANTS = 12 };
#elif defined(__SANITIZE_ADDRESS__)
enum { RUNS = 1,
       NAMES_APART = 4,
       DEPTHS = 2,
       INSTANTS = 60 };
#else
enum { RUNS = 2,
       NAMES_APART = 1,
       DEPTHS = 3,
       INSTANTS = 200 };
#endif

static void one_after_the_other(void **state)
{
    static const char *const names[] = {"k", "rare", "f", "h", "main", "clFinish", "epoch", "step", "there is none"};
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        struct sonde_measurement *m = random_run();
        struct sonde_profile *profile;
        struct sonde_timeline *timeline;
        assert_int_equal(sonde_profile_build(m, &profile, NULL), 0);
        assert_int_equal(sonde_timeline_create(m, profile, 0, &timeline), 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i += NAMES_APART)
            for (uint32_t depth = 0; depth < DEPTHS; depth++) {
                hits all = {0};
                find_all(timeline, m, names[i], depth, &all);
                walk(timeline, &all, names[i], depth, false);
                walk(timeline, &all, names[i], depth, true);
                sonde_vector_fini(&all);
            }
        sonde_timeline_destroy(timeline);
        sonde_profile_destroy(profile);
        sonde_measurement_close(m);
    }
}

/* From any instant on. */
static void from_anywhere(void **state)
{
    struct sonde_measurement *m = random_run();
    struct sonde_profile *profile;
    struct sonde_timeline *timeline;
    hits all = {0};
    (void)state;
    assert_int_equal(sonde_profile_build(m, &profile, NULL), 0);
    assert_int_equal(sonde_timeline_create(m, profile, 0, &timeline), 0);
    find_all(timeline, m, "rare", 0, &all);
    assert_true(all.count > 3);
    for (int i = 0; i < INSTANTS; i++) {
        const uint64_t at = noise(LENGTH + 100);
        for (int back = 0; back < 2; back++) {
            const struct sonde_timeline_search search = {.at_ns = at, .back = back, .accepts = is_called, .user = (void *)"rare"};
            struct sonde_timeline_hit hit;
            const struct sonde_timeline_hit *expected = NULL;
            for (size_t k = 0; k < all.count; k++)
                if (back ? all.items[k].place.begin_ns < at : all.items[k].place.begin_ns >= at && !expected)
                    expected = &all.items[k];
            assert_int_equal(sonde_timeline_next(timeline, &search, &hit, NULL), expected ? 0 : SONDE_ENOTFOUND);
            assert_true(!expected || same(&hit, expected));
        }
    }
    sonde_vector_fini(&all);
    sonde_timeline_destroy(timeline);
    sonde_profile_destroy(profile);
    sonde_measurement_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_after_the_other), cmocka_unit_test(from_anywhere)};
    setenv("SONDE_THREADS", "4", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_series.c - counters over time (--counter-series): every sample that the device noted is handed on once, in order and without holes,
 * on the host's axis, however it is read; what is missing is counted, and what cannot be is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <cupti_pmsampling.h>

#include "libraries/profiler.h"
#include "played.h"

enum { START = 1000000 };

static struct made_profiler *made;

static const char *begin(const char *list, uint64_t interval_ns)
{
    static char room[400];
    void *library = dlopen(PROFILER, RTLD_NOW);
    assert_non_null(library);
    made = dlsym(library, "made_profiler");
    memset(made, 0, sizeof *made);
    made->passes = 1;
    noted.series_count = noted.series_values = noted.notes = 0;
    noted.series_lost = 0;
    snprintf(sonde__cupti.path, sizeof sonde__cupti.path, "%s", PROFILER);
    return sonde__cuda_series_begin(list, interval_ns, room, sizeof room);
}

/* The device notes samples of 1,000 ns each; the first of all is none. */
static void notes_samples(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t n = made->samples;
        made->sample[n % 4096] = (struct made_sample){START + 1000 * n, START + 1000 * (n + 1), 10. * (double)n};
        made->samples++;
    }
}

/* The monitor's turns, until the thread has read all. */
static void turns(void)
{
    for (int i = 0; i < 3; i++) {
        noted.now_ns += 60000000;
        sonde__cuda_series_turn();
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    }
    for (int i = 0; i < 6000 && made->taken < made->samples; i++) {
        noted.now_ns += 60000000;
        sonde__cuda_series_turn();
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static bool was_said(const char *what)
{
    for (uint32_t i = 0; i < noted.notes; i++)
        if (strstr(noted.note[i], what))
            return true;
    return false;
}

static void samples_follow_each_other(void **state)
{
    uint64_t until_ns = 0;
    (void)state;
    assert_null(begin("known_a,known_b,absent", 100000));
    sonde__cuda_series_device(0);
    turns();
    assert_int_equal(made->enabled, 1);
    assert_int_equal(made->interval, 100000);
    assert_int_equal(made->trigger, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
    assert_true(was_said("no metric absent; it is left out"));
    for (int i = 0; i < 6; i++) { /* 1, 8, 15, ... at once: more than an image holds, and fewer */
        notes_samples(1 + 7 * (size_t)i);
        turns();
    }
    sonde__cuda_series_last(UINT64_MAX / 2);
    assert_int_equal(made->disabled, 1);
    assert_int_equal(noted.series_count, 2);
    assert_non_null(strstr(noted.series_name[1], "known_b"));
    assert_int_equal(noted.series_values, 2 * (6 + 7 * 15 - 1)); /* but for the first of all */
    for (uint32_t i = 0; i < noted.series_values; i++) {
        const struct noted_series *v = &noted.series[i];
        assert_int_equal(v->series, 1 + i % 2);
        assert_true(v->value == 10. * (1 + i / 2) + i % 2);
        if (i % 2 == 0) {
            assert_true(until_ns == 0 || v->from_ns == until_ns);
            until_ns = v->to_ns;
        } else {
            assert_int_equal(v->to_ns, until_ns);
        }
        assert_true(v->from_ns < v->to_ns);
    }
    assert_int_equal(noted.series_lost, 0);
    /* That was the end: the driver may be gone. */
    turns();
    assert_int_equal(made->enabled, 1);
}

static void several_counters_of_multiprocessors(void **state)
{
    static const struct {
        const char *list;
        uint64_t interval_ns;
        bool said;
    } cases[] = {
        {"known__a.sum,smknown__b.sum", 1000000, false},
        {"smknown__a.sum,smknown__b.sum", 1000000, true},
        {"smknown__a.sum,smknown__b.sum", 100000, false},
        {"smknown__a.sum,smknown__a.avg", 1000000, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(begin(cases[i].list, cases[i].interval_ns));
        sonde__cuda_series_device(0);
        turns();
        assert_int_equal(was_said("several counters of the multiprocessors"), cases[i].said);
        sonde__cuda_series_last(UINT64_MAX / 2);
    }
}

static void a_full_buffer_is_said(void **state)
{
    (void)state;
    assert_null(begin("known", 100000));
    sonde__cuda_series_device(0);
    turns();
    made->overflows = true;
    notes_samples(12);
    turns();
    sonde__cuda_series_last(UINT64_MAX / 2);
    assert_true(was_said("a longer interval or fewer metrics"));
    assert_int_equal(noted.series_values, 11);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    assert_non_null(begin(",", 100000));
    assert_null(begin("known", 100000));
    made->passes = 3;
    sonde__cuda_series_device(0);
    turns();
    assert_true(was_said("need 3 passes, and over time there is one"));
    assert_int_equal(made->enabled, 0);
    sonde__cuda_series_last(UINT64_MAX / 2);

    assert_null(begin("absent,nowhere", 100000));
    sonde__cuda_series_device(0);
    turns();
    assert_true(was_said("nothing is measured"));
    sonde__cuda_series_last(UINT64_MAX / 2);

    assert_null(begin("known", 100000));
    made->refuses = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    sonde__cuda_series_device(0);
    turns();
    assert_true(was_said("NVreg_RestrictProfilingToAdminUsers=0"));
    assert_int_equal(noted.series_values, 0);
    sonde__cuda_series_last(UINT64_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(samples_follow_each_other),
        TEST(several_counters_of_multiprocessors),
        TEST(a_full_buffer_is_said),
        TEST(what_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

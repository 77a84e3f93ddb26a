/* test_counters.c - whose counters are whose (--counters): the n-th kernel that runs has the value 100 n of the first metric, and that is
 * what the n-th launch must have, whatever lies between launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libraries/profiler.h"
#include "played.h"

static struct made_profiler *made;
static void (*runs)(double value);
static uint32_t ran, correlation;

static const char *begin(const char *list, bool replay)
{
    static char room[400];
    void *library = dlopen(PROFILER, RTLD_NOW);
    assert_non_null(library);
    made = dlsym(library, "made_profiler");
    *(void **)&runs = dlsym(library, "made_profiler_runs");
    *made = (struct made_profiler){.passes = 1};
    ran = correlation = noted.counters = noted.operations = noted.notes = 0;
    noted.uncounted = 0;
    snprintf(sonde__cupti.path, sizeof sonde__cupti.path, "%s", PROFILER);
    return sonde__cuda_counters_begin(list, replay, room, sizeof room);
}

static void launches_on(CUstream stream, uint32_t count, CUresult result, bool executes)
{
    for (uint32_t i = 0; i < count; i++) {
        const cuLaunchKernel_params params = {.hStream = stream};
        at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, ++correlation, result);
        if (executes)
            runs(100. * ++ran);
        at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, correlation, result);
    }
}

static void launches(uint32_t count)
{
    launches_on(NULL, count, CUDA_SUCCESS, true);
}

/* The n-th launch has the n-th operation (agent.c), and `metrics` values, one after the other. */
static void must_have(uint32_t from, uint32_t count, uint32_t first_value, uint32_t metrics)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < metrics; k++) {
            const struct noted_counter *n = &noted.counter[(from + i) * metrics + k];
            if (n->operation != from + i + 1 || n->value != 100. * (first_value + i) + k)
                fail_msg("launch %u has %f of metric %u, as operation %u", from + i + 1, n->value, k, n->operation);
        }
}

static bool was_said(const char *what)
{
    for (uint32_t i = 0; i < noted.notes; i++)
        if (strstr(noted.note[i], what))
            return true;
    return false;
}

static void each_launch_has_its_own(void **state)
{
    (void)state;
    assert_null(begin("known_a,known_b", false));
    launches(150);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 300);
    must_have(0, 150, 1, 2);
    assert_int_equal(made->starts, 3); /* 64 at once */
    assert_int_equal(made->configs, 1);
    assert_int_equal(noted.uncounted, 0);
    assert_string_equal(noted.string[noted.counter[0].metric - 1], "known_a");
    sonde__cuda_counters_last(); /* nothing is left */
    assert_int_equal(noted.counters, 300);
}

static void a_launch_that_fails_has_none(void **state)
{
    (void)state;
    assert_null(begin("known", false));
    launches(2);
    launches_on(NULL, 1, CUDA_ERROR_INVALID_VALUE, false);
    launches(2);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 4);
    must_have(0, 2, 1, 1);
    assert_int_equal(noted.counter[2].operation, 4);
    assert_int_equal((int)noted.counter[3].value, 400);
}

static void what_is_captured_does_not_run(void **state)
{
    (void)state;
    const CUstream stream = (CUstream)(uintptr_t)20;
    assert_null(begin("known", false));
    launches(1);
    CALL(cuStreamBeginCapture, 1000, CUDA_SUCCESS, .hStream = stream);
    played.captured[0] = stream;
    launches_on(stream, 3, CUDA_SUCCESS, false);
    played.captured[0] = NULL;
    CALL(cuStreamEndCapture, 1001, CUDA_SUCCESS, .hStream = stream);
    launches(1);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 2);
    assert_int_equal((int)noted.counter[1].value, 200);
    assert_int_equal(noted.uncounted, 0);
}

static void graphs_are_not_measured(void **state)
{
    (void)state;
    assert_null(begin("known", false));
    launches(3);
    const cuGraphLaunch_params params = {.hStream = NULL};
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &params, 500, CUDA_SUCCESS);
    assert_false(made->running);
    runs(7), runs(8);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &params, 500, CUDA_SUCCESS);
    launches(2);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 5);
    must_have(0, 5, 1, 1);
}

static void ranges_that_are_lost_make_all_doubtful(void **state)
{
    (void)state;
    assert_null(begin("known", false));
    launches(10);
    made->lost = 1;
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 0);
    assert_int_equal(noted.uncounted, 10);
    assert_true(was_said("of 10 launches there are 9 ranges"));
    made->lost = 0;
    launches(2);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 2);
    assert_int_equal((int)noted.counter[0].value, 1100);
    assert_int_equal(noted.uncounted, 10);
}

static void what_cannot_be_is_said_and_counted(void **state)
{
    (void)state;
    assert_null(begin("known,nonsense,known_b", false));
    launches(3);
    assert_true(was_said("no metric nonsense"));
    assert_int_equal(noted.uncounted, 3);
    assert_int_equal(made->starts, 0);

    assert_null(begin("known", false));
    made->passes = 4;
    launches(3);
    assert_true(was_said("need 4 passes"));
    assert_int_equal(noted.uncounted, 3);
    assert_int_equal(made->starts, 0);

    assert_null(begin("known", true));
    made->passes = 4;
    launches(3);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 3);

    assert_null(begin("known", false));
    made->refuses = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    launches(3);
    assert_true(was_said("NVreg_RestrictProfilingToAdminUsers=0"));
    assert_int_equal(noted.uncounted, 3);
}

static void lists(void **state)
{
    char many[2000] = "";
    (void)state;
    assert_null(begin("known,known,,known_b,known", false));
    launches(1);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 2);
    assert_non_null(begin(",", false));
    for (int i = 0; i < 33; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "known_%d,", i);
    assert_non_null(begin(many, false));
    assert_null(begin("nvlink", false));
    launches(1);
    assert_true(was_said("no metric gpu__time_duration.sum"));
}

static void a_context_that_ends(void **state)
{
    (void)state;
    assert_null(begin("known", false));
    launches(5);
    sonde__cuda_context_destroyed(CONTEXT);
    assert_int_equal(noted.counters, 5);
    must_have(0, 5, 1, 1);
    launches(2);
    sonde__cuda_counters_last();
    assert_int_equal(noted.counters, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_launch_has_its_own),
        TEST(a_launch_that_fails_has_none),
        TEST(what_is_captured_does_not_run),
        TEST(graphs_are_not_measured),
        TEST(ranges_that_are_lost_make_all_doubtful),
        TEST(what_cannot_be_is_said_and_counted),
        TEST(lists),
        TEST(a_context_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_renamed.c - records that carry the runtime's ids, not those of the driver's calls within: a CUPTI we do not know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

enum { RUNTIME_LAUNCH = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 };

/* A runtime's launch, which enters the driver; the kernel's record names the runtime's call. */
static void launch_by_runtime(uint32_t correlation)
{
    if (played.runtime_followed)
        at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_RUNTIME_API, RUNTIME_LAUNCH, NULL, correlation, CUDA_SUCCESS);
    launch(correlation + 1);
    if (played.runtime_followed)
        at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_RUNTIME_API, RUNTIME_LAUNCH, NULL, correlation, CUDA_SUCCESS);
    kernel_record("k", correlation, sizeof(CUpti_ActivityKernel10));
}

static uint32_t matched(void)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < noted.completions; i++)
        for (uint32_t k = 0; k < noted.submits; k++)
            found += noted.completion[i].key == noted.submit[k].key;
    return found;
}

/* Few records prove nothing: their calls may still be under way. Once so many launches are known that a record of one of
 * them would have come, a sentence says it, and from the next launch on calls and records meet again. */
static void the_outermost_calls_ids_are_taken(void **state)
{
    (void)state;
    uint32_t correlation = 1;
    for (int i = 0; i < 8; i++, correlation += 2)
        launch_by_runtime(correlation);
    deliver();
    assert_int_equal(noted.completions, 8);
    assert_int_equal(matched(), 0);
    assert_int_equal(played.runtime_followed, 0);
    assert_int_equal(noted.notes, 0);
    for (int i = 0; i < 100 && !played.runtime_followed; i++, correlation += 2) {
        launch_by_runtime(correlation);
        deliver();
    }
    assert_int_equal(played.runtime_followed, 1);
    assert_int_equal(noted.notes, 1);
    assert_non_null(strstr(noted.note[0], "kernel records lack the correlation ids of driver calls (CUPTI 130001"));
    const uint32_t before = noted.submits, calls = noted.calls;
    for (int i = 0; i < 50; i++, correlation += 2)
        launch_by_runtime(correlation);
    deliver();
    assert_int_equal(noted.submits - before, 50);
    assert_int_equal(noted.calls - calls, 50); /* the runtime's and the driver's are one */
    assert_int_equal(matched(), 50);
    /* A program's own call of the driver is its own outermost one. */
    launch(correlation);
    kernel_record("k", correlation, sizeof(CUpti_ActivityKernel10));
    deliver();
    assert_int_equal(matched(), 51);
    assert_int_equal(noted.notes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(the_outermost_calls_ids_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

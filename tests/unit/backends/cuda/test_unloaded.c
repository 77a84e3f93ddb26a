/* test_unloaded.c - names of kernels after code was unloaded: CUPTI's records have the first name that a handle ever had, as it does on CUDA 13.0
 * (tests/gpu/programs/unloaded.cu). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

static const char *now[4]; /* what each handle is called */
static uint32_t asked;

static CUresult function_name(const char **name, CUfunction f)
{
    asked++;
    *name = now[(uintptr_t)f];
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Handle 3 is a kernel of a library. */
static CUresult library_of(CUlibrary *library, CUkernel k)
{
    *library = NULL;
    return (uintptr_t)k == 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_name(const char **name, CUkernel k)
{
    return function_name(name, (CUfunction)k);
}

/* A launch of a handle, whose record says `said`. */
static const char *launch_of(uintptr_t handle, const char *said)
{
    static uint32_t correlation = 100;
    correlation++;
    CALL(cuLaunchKernel, correlation, CUDA_SUCCESS, .f = (CUfunction)handle, .gridDimX = 1);
    kernel_record(said, correlation, sizeof(CUpti_ActivityKernel10));
    deliver();
    return noted.string[noted.completion[noted.completions - 1].name - 1];
}

static void unload(void)
{
    CALL(cuModuleUnload, 1, CUDA_SUCCESS, .hmod = NULL);
}

static void names_are_those_of_the_launch(void **state)
{
    (void)state;
    sonde__cudrv.cuFuncGetName = function_name;
    sonde__cudrv.cuKernelGetLibrary = library_of;
    sonde__cudrv.cuKernelGetName = kernel_name;
    now[1] = "first";
    now[2] = "other";
    assert_string_equal(launch_of(1, "first"), "first");
    assert_string_equal(launch_of(2, "other"), "other");
    assert_int_equal(asked, 0); /* nothing was unloaded */
    unload();
    now[1] = "second";
    assert_string_equal(launch_of(1, "first"), "second");
    assert_string_equal(launch_of(1, "first"), "second");
    assert_string_equal(launch_of(2, "other"), "other");
    assert_int_equal(asked, 2); /* once each */
    unload();
    now[1] = "third";
    now[3] = "of_a_library";
    assert_string_equal(launch_of(1, "first"), "third");
    assert_string_equal(launch_of(3, "first"), "of_a_library");
    resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, NULL); /* no call asked for it */
    now[1] = "fourth";
    assert_string_equal(launch_of(1, "first"), "fourth");
    resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, NULL);
    now[1] = "fifth";
    assert_string_equal(launch_of(1, "first"), "fifth");
    now[2] = NULL; /* the driver does not know it: the record's name is the best there is */
    unload();
    assert_string_equal(launch_of(2, "other"), "other");
    assert_int_equal(noted.notes, 0);
}

/* Records may come late, after the next unloading and the next launches of the same handle. */
static void records_may_come_late(void **state)
{
    (void)state;
    sonde__cudrv.cuFuncGetName = function_name;
    static const char *const names[] = {"a", "b", "c", "d"};
    for (uint32_t i = 0; i < 4; i++) {
        unload();
        now[1] = names[i];
        CALL(cuLaunchKernel, 900 + i, CUDA_SUCCESS, .f = (CUfunction)1, .gridDimX = 1);
    }
    for (uint32_t i = 0; i < 4; i++)
        kernel_record("a", 900 + i, sizeof(CUpti_ActivityKernel10));
    const uint32_t before = noted.completions;
    deliver();
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(noted.string[noted.completion[before + i].name - 1], names[i]);
}

static void what_cannot_be_known_is_said(void **state)
{
    const CUpti_GraphData node = {.nodeType = CU_GRAPH_NODE_TYPE_KERNEL};
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceDescriptor = (void *)(uintptr_t)&node};
    (void)state;
    sonde__cudrv.cuFuncGetName = NULL; /* of before CUDA 12.3 */
    unload();
    now[1] = "new";
    assert_string_equal(launch_of(1, "old"), "old");
    assert_non_null(strstr(noted.note[0], "may have names of what was there before"));
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, &data);
    assert_non_null(strstr(noted.note[noted.notes - 1], "a CUDA graph that was made after code was unloaded"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(names_are_those_of_the_launch), TEST(records_may_come_late), TEST(what_cannot_be_known_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_kernels.c - which launches would run an instrumented copy with --values=fine, and the reasons of the others.
 *
 * The driver is made up: it loads whatever it is given, unless a name says otherwise, and has no memory for what copies find: no launch of
 * the program's gets further than that. The program's modules are PTX, and what must be said of their kernels follows from it. The reasons
 * that follow from a kernel's code alone are those of tests/unit/instrument/plain.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "played.h"

enum { THREADS = 64,
       MOST_BYTES = 64 }; /* of an allocation */

/* ---- a driver --------------------------------------------------------------------------------------------- */

static struct {
    bool takes;        /* what a callback changes in a launch */
    size_t most_bytes; /* of an allocation */
    struct made {
        char name[64];
        CUlibrary library;
    } kernel[64];
    int kernels;
} driver;

static CUkernel kernel_new(CUlibrary library, const char *name)
{
    struct made *k = &driver.kernel[driver.kernels++];
    assert_true(driver.kernels <= 64);
    k->library = library;
    snprintf(k->name, sizeof k->name, "%s", name);
    return (CUkernel)(void *)k;
}

static const struct made *made_of(const void *handle)
{
    const struct made *k = handle;
    return k >= driver.kernel && k < driver.kernel + driver.kernels ? k : NULL;
}

static CUresult CUDAAPI load_library(CUlibrary *library, const void *code, CUjit_option *a, void **b, unsigned c, CUlibraryOption *d, void **e, unsigned f)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    *library = (CUlibrary)(uintptr_t)0x7777;
    if (strstr(code, "refused__sonde"))
        return CUDA_ERROR_INVALID_PTX;
    return strstr(code, ".version 99.0") ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_SUCCESS;
}

static CUresult CUDAAPI get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    *kernel = kernel_new(library, name);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI library_of(CUlibrary *library, CUkernel kernel)
{
    const struct made *k = made_of(kernel);
    *library = k ? k->library : NULL;
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI name_of(const char **name, CUkernel kernel)
{
    const struct made *k = made_of(kernel);
    *name = k ? k->name : NULL;
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The copy of `fat` may have blocks of 32 threads, and `wide` was told to run in clusters. */
static CUresult CUDAAPI attribute_of(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice device)
{
    const struct made *k = made_of(kernel);
    (void)device;
    *value = 0;
    if (k && which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = strcmp(k->name, "fat__sonde") == 0 ? THREADS / 2 : 1024;
    if (k && which == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)
        *value = strcmp(k->name, "wide") == 0 ? 2 : 0;
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Each has one. */
static CUresult CUDAAPI parameter_of(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
    (void)kernel;
    *offset = 0;
    *bytes = 8;
    return i < 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CUDAAPI no_function_parameter(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
    (void)f, (void)i, (void)offset, (void)bytes;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI no_function_name(const char **name, CUfunction f)
{
    (void)name, (void)f;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI no_variable(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
    (void)at, (void)bytes, (void)library, (void)name;
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult CUDAAPI allocate(CUdeviceptr *at, size_t bytes)
{
    static _Alignas(256) unsigned char memory[MOST_BYTES];
    *at = (uintptr_t)memory;
    return bytes <= driver.most_bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult CUDAAPI free_async(CUdeviceptr at, CUstream stream)
{
    (void)at, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)at, value, bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI read_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

/* Sonde's copy, or its comparison, which counts in the first word of its sums. Nothing else is launched by Sonde. */
static CUresult CUDAAPI launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                      CUstream stream, void **parameters, void **extra)
{
    cuLaunchKernel_params p = {.f = f, .kernelParams = parameters};
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    if (driver.takes)
        at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &p, 7, CUDA_SUCCESS);
    const struct made *k = made_of(p.f);
    uint64_t *const *words = (uint64_t *const *)(void *)p.kernelParams;
    if (strcmp(k->name, SONDE_PTX_COPY) == 0)
        memcpy((void *)(uintptr_t)*words[1], (void *)(uintptr_t)*words[0], 16 * *words[2]);
    else
        ++*(uint64_t *)(uintptr_t)*words[6];
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_here(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

/* ---- a program ---------------------------------------------------------------------------------------------- */

#define TOP(version) "//\n.version " version "\n.target sm_90\n.address_size 64\n.global .align 4 .u32 lost;\n"
#define KERNEL(name, directives, body)                                                                                            \
    ".visible .entry " name "(.param .u64 " name "_0)\n" directives "\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [" name \
    "_0];\n" body "\nret;\n}\n"
#define LOADS "ld.global.u32 %r1, [%rd1];"

#define PROGRAM   0x100 /* handles of libraries */
#define NEWER     0x200
#define MACHINE   0x300
#define DAMAGED   0x400
#define NOT_SEEN  0x500
#define FROM_FILE 0x600
#define NO_FILE   0x700

static void load(uintptr_t library, const char *code)
{
    CUlibrary handle = (CUlibrary)library;
    CALL(cuLibraryLoadData, 1, CUDA_SUCCESS, .library = &handle, .code = code);
}

/* The driver has read the file; what is there now is read again. */
static void load_file(uintptr_t library, const char *path)
{
    CUlibrary handle = (CUlibrary)library;
    CALL(cuLibraryLoadFromFile, 1, CUDA_SUCCESS, .library = &handle, .fileName = path);
}

static int turn_on(void **state)
{
    static bool loaded;
    struct sonde_cuda_twins *t = &sonde__cuda_twins;
    play(state);
    sonde__cudrv.cuCtxGetDevice = device_here;
    driver.takes = true;
    driver.most_bytes = MOST_BYTES;
    t->on = t->fine = true;
    t->coarse = false;
    t->plan = SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES;
    t->cuLaunchKernel = launch_kernel;
    t->cuLibraryLoadData = load_library;
    t->cuLibraryGetKernel = get_kernel;
    t->cuLibraryGetGlobal = no_variable;
    t->cuLibraryGetManaged = no_variable;
    t->cuKernelGetLibrary = library_of;
    t->cuKernelGetName = name_of;
    t->cuKernelGetAttribute = attribute_of;
    t->cuKernelGetParamInfo = parameter_of;
    t->cuFuncGetParamInfo = no_function_parameter;
    t->cuFuncGetName = no_function_name;
    t->cuMemAlloc_v2 = allocate;
    t->cuMemFreeAsync = free_async;
    t->cuMemsetD8Async = set_async;
    t->cuMemcpyDtoHAsync_v2 = read_async;
    play_streams(t);
    if (loaded)
        return 0;
    loaded = true;
    load(PROGRAM, TOP("8.0") KERNEL("good", "", LOADS) KERNEL("bad", "", LOADS "\ngather.global.u32 %r1, [%rd1], %r2;")
                      KERNEL("refused", "", LOADS) KERNEL("fat", "", LOADS) KERNEL("wide", "", LOADS)
                          KERNEL("required", ".explicitcluster\n.reqnctapercluster 2, 1, 1", LOADS) KERNEL("empty", "", "mov.u32 %r1, 1;")
                              KERNEL("names", "", "ld.global.u32 %r1, [lost];") KERNEL("calls", "", LOADS "\ncall elsewhere;")
                                  KERNEL("texture", "", LOADS "\ntxq.width.b32 %r1, [%rd1];"));
    load(NEWER, TOP("99.0") KERNEL("newer", "", LOADS));
    load(MACHINE, "\177ELF, as far as anybody looks");
    load(DAMAGED, TOP("8.0") KERNEL("whole", "", LOADS) ".visible .entry half(.param .u64 half_0)\n{\nret;\n");
    return 0;
}
#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, turn_on)

/* The same each time. */
static CUfunction function_of(uintptr_t library, const char *name)
{
    for (int k = 0; k < driver.kernels; k++)
        if (driver.kernel[k].library == (CUlibrary)library && strcmp(driver.kernel[k].name, name) == 0)
            return (CUfunction)(void *)&driver.kernel[k];
    return (CUfunction)kernel_new((CUlibrary)library, name);
}

/* Why so many operations, and no others, were not looked at. */
static enum sonde_value_missed only_reason(uint32_t count)
{
    const enum sonde_value_missed why = noted.missed[0].why;
    assert_int_equal(noted.misses, count);
    for (uint32_t k = 0; k < count; k++) {
        assert_int_equal(noted.missed[k].why, why);
        assert_int_equal(noted.missed[k].operation, noted.operations);
    }
    return why;
}

static void **parameters(void)
{
    static uint64_t pointer = 0x1000;
    static void *list[] = {&pointer};
    return list;
}

static enum sonde_value_missed launched(uintptr_t library, const char *name)
{
    noted.misses = 0;
    CALL(cuLaunchKernel, 1, CUDA_SUCCESS, .f = function_of(library, name), .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS,
         .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters());
    return only_reason(1);
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

/* In a process of its own: what the driver does is tried once. */
static void a_driver_that_ignores_changes(void **state)
{
    int status;
    (void)state;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        driver.takes = false;
        driver.most_bytes = 0;
        if (launched(PROGRAM, "good") != SONDE_VALUE_MISSED_MEMORY)
            _exit(1);
        driver.most_bytes = MOST_BYTES; /* and it is tried */
        _exit(launched(PROGRAM, "good") == SONDE_VALUE_MISSED_DRIVER ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void one_bad_kernel_leaves_the_others(void **state)
{
    (void)state;
    assert_int_equal(launched(PROGRAM, "bad"), SONDE_VALUE_MISSED_STATEMENT);
    assert_int_equal(launched(PROGRAM, "good"), SONDE_VALUE_MISSED_MEMORY); /* as far as it gets here */
    const struct sonde_cuda_kernel *good = sonde__cuda_kernel(function_of(PROGRAM, "good"));
    assert_int_equal(good->why, SONDE_VALUE_MISSED_NONE);
    assert_string_equal(made_of(good->twin[0])->name, "good__sonde");
    assert_string_equal(made_of(good->twin[1])->name, "good__sonde");
}

static void what_the_code_says(void **state)
{
    (void)state;
    assert_int_equal(launched(PROGRAM, "calls"), SONDE_VALUE_MISSED_CALLS);
    assert_int_equal(launched(PROGRAM, "texture"), SONDE_VALUE_MISSED_TEXTURE);
    assert_int_equal(launched(PROGRAM, "names"), SONDE_VALUE_MISSED_VARIABLE); /* the driver does not know where that is */
}

static void code_that_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(launched(NOT_SEEN, "good"), SONDE_VALUE_MISSED_CODE);
    assert_int_equal(launched(MACHINE, "good"), SONDE_VALUE_MISSED_PTX);
    assert_int_equal(launched(PROGRAM, "missing"), SONDE_VALUE_MISSED_PTX);
    assert_int_equal(launched(DAMAGED, "whole"), SONDE_VALUE_MISSED_STATEMENT);
}

static void code_in_a_file(void **state)
{
    (void)state;
    char path[] = "kernels-XXXXXX";
    const int fd = mkstemp(path);
    const char text[] = TOP("8.0") KERNEL("filed", "", LOADS);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    load_file(FROM_FILE, path);
    unlink(path);
    load_file(NO_FILE, path);
    close(fd);
    launched(FROM_FILE, "filed");
    assert_int_equal(sonde__cuda_kernel(function_of(FROM_FILE, "filed"))->why, SONDE_VALUE_MISSED_NONE);
    assert_int_equal(launched(NO_FILE, "filed"), SONDE_VALUE_MISSED_CODE);
}

static void what_the_driver_refuses(void **state)
{
    (void)state;
    assert_int_equal(launched(PROGRAM, "refused"), SONDE_VALUE_MISSED_COMPILE);
    assert_int_equal(launched(NEWER, "newer"), SONDE_VALUE_MISSED_VERSION);
    assert_int_equal(launched(PROGRAM, "fat"), SONDE_VALUE_MISSED_REGISTERS);
}

static enum sonde_value_missed launched_in_clusters(unsigned of)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {of, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    noted.misses = 0;
    CALL(cuLaunchKernelEx, 1, CUDA_SUCCESS, .config = &config, .f = function_of(PROGRAM, "good"), .kernelParams = parameters());
    return only_reason(1);
}

static void clusters(void **state)
{
    (void)state;
    assert_int_equal(launched(PROGRAM, "required"), SONDE_VALUE_MISSED_CLUSTER);
    assert_int_equal(launched(PROGRAM, "wide"), SONDE_VALUE_MISSED_CLUSTER);
    assert_int_equal(launched_in_clusters(2), SONDE_VALUE_MISSED_CLUSTER);
    assert_int_equal(launched_in_clusters(1), SONDE_VALUE_MISSED_MEMORY); /* of one block, as all are */
}

/* All of it was looked at, with either mode. */
static void a_kernel_without_accesses(void **state)
{
    (void)state;
    assert_int_equal(launched(PROGRAM, "empty"), SONDE_VALUE_MISSED_NONE);
    assert_int_equal(noted.missed[0].engine, SONDE_ENGINE_PTX);
    sonde__cuda_twins.coarse = true;
    sonde__cuda_twins.fine = false;
    sonde__cuda_twins.plan = SONDE_PLAN_SETS;
    assert_int_equal(launched(PROGRAM, "empty"), SONDE_VALUE_MISSED_NONE);
    assert_int_equal(noted.missed[0].engine, SONDE_ENGINE_PTX);
}

static void calls_that_are_not_followed(void **state)
{
    (void)state;
    const CUfunction good = function_of(PROGRAM, "good");
    CUDA_LAUNCH_PARAMS list[] = {{.function = good}, {.function = good}};
    noted.misses = 0;
    CALL(cuLaunch, 1, CUDA_SUCCESS, .f = good);
    assert_int_equal(only_reason(1), SONDE_VALUE_MISSED_LAUNCH);
    noted.misses = 0;
    CALL(cuLaunchGrid, 1, CUDA_SUCCESS, .f = good, .grid_width = 1, .grid_height = 1);
    assert_int_equal(only_reason(1), SONDE_VALUE_MISSED_LAUNCH);
    noted.misses = 0;
    CALL(cuLaunchGridAsync, 1, CUDA_SUCCESS, .f = good, .grid_width = 1, .grid_height = 1);
    assert_int_equal(only_reason(1), SONDE_VALUE_MISSED_LAUNCH);
    noted.misses = 0;
    CALL(cuLaunchCooperativeKernelMultiDevice, 1, CUDA_SUCCESS, .launchParamsList = list, .numDevices = 2);
    assert_int_equal(only_reason(2), SONDE_VALUE_MISSED_LAUNCH);
    noted.misses = 0;
    CALL(cuLaunch, 1, CUDA_ERROR_INVALID_VALUE, .f = good);
    assert_int_equal(noted.misses, 0);
    CALL(cuLaunchKernel, 1, CUDA_SUCCESS, .f = good, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1);
    assert_int_equal(only_reason(1), SONDE_VALUE_MISSED_BUFFER); /* and its parameters are nowhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_driver_that_ignores_changes), /* first: it must not have been tried */
        TEST(one_bad_kernel_leaves_the_others),
        TEST(what_the_code_says),
        TEST(code_that_is_not_there),
        TEST(code_in_a_file),
        TEST(what_the_driver_refuses),
        TEST(clusters),
        TEST(a_kernel_without_accesses),
        TEST(calls_that_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

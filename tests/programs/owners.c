/* owners.c - kernels of two devices of one context that load, store and change what the other one has in shared virtual memory: tests/report/owners_test.py has how
 * many accesses go from where to where, once each.
 *
 * `owners CASE`: the function of that name, and lines of kernels are known, of which PoCL has things to say; `owners`: all of them, without. PoCL shows two devices where it is asked to; it is, unless somebody else asked for
 * something (directions.c). `owners drawn SEED`: steps drawn at random, and what the rules say of them.
 *
 * case: plain => kernel=142 read=13 fill=2 svm_copy=1 svm_fill=4 svm_map=2 svm_unmap=2 svm_free=11 svm_migrate=2 barrier=2
 * case: looked-at => kernel=142 read=13 fill=2 svm_copy=1 svm_fill=4 svm_map=2 svm_unmap=2 svm_free=11 svm_migrate=2 barrier=2; record=--comm
 * case: values => kernel=142 read=13 fill=2 svm_copy=1 svm_fill=4 svm_map=2 svm_unmap=2 svm_free=11 svm_migrate=2 barrier=2; record=--values=all
 */
#include "guest.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdint.h>

#include <sonde/sonde.h>

enum {
    DEVICES = 2,
    N = 4096,
    LARGE = 1 << 24,
    ROUNDS = 3,
    TIMES = 20,
};

static const char source[] =
    "typedef struct { global int *values; global int *next; } list;\n"
    "kernel void fill(global int *a, int by) { size_t i = get_global_id(0); a[i] = (int)i * by; }\n"
    "kernel void sum(global const int *a, global int *out) {\n"
    "    size_t i = get_global_id(0);\n"
    "    out[i] =\n"
    "        a[i] + 1;\n" /* line 6 */
    "}\n"
    "kernel void edges(global const int *a, global int *b, int n) {\n"
    "    int i = (int)get_global_id(0);\n"
    "    b[i] = (i > 0 ? a[i - 1] : 0) + a[i] + (i + 1 < n ? a[i + 1] : 0);\n"
    "}\n"
    "kernel void follow(global const list *l, global int *out) {\n"
    "    int i = (int)get_global_id(0);\n"
    "    out[i] = l->values[i] + l->next[i];\n"
    "}\n"
    "kernel void third(global int *a, global int *out) {\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i % 3 == 0) out[i] = a[i];\n"
    "    if (i % 5 == 0) a[i] = 7;\n"
    "}\n"
    "kernel void count(global int *counter, global int *lock) {\n"
    "    atomic_add(counter + get_global_id(0) % 8, 1);\n"
    "    if (get_global_id(0) == 0) atomic_cmpxchg(lock, 0, 1);\n"
    "}\n"
    "kernel void loops(global const int *a, global int *out, int times) {\n"
    "    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "    int s = 0;\n"
    "    for (int k = 0; k < times; k++) s += a[(i + (size_t)k) % 4096];\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    out[i] = s;\n"
    "}\n"
#define WIDE(type) "kernel void wide_" #type "(global const " #type " *a, global " #type " *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
    WIDE(uchar) WIDE(short) WIDE(int) WIDE(long) WIDE(float2) WIDE(float4) WIDE(float8) WIDE(float16) WIDE(double) "kernel void parts(global const float *a, global float *b) { size_t i = get_global_id(0); vstore3(vload3(i, a), i, b); }\n"
                                                                                                                   "kernel void either(global int *a, global int *b, int which) { global int *p = which ? a : b; p[get_global_id(0)] += 1; }\n";

static cl_device_id devices[DEVICES];
static cl_context context;
static cl_command_queue queues[DEVICES], tangled;
static cl_program program;

#define APART __attribute__((noinline))

static void open_all(const char *options)
{
    cl_platform_id platform;
    cl_uint count = 0;
    const char *text = source;
    setenv("POCL_DEVICES", "pthread pthread", 0);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &count));
    if (count < DEVICES) { /* two halves of one */
        const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
        CL(clCreateSubDevices(devices[0], halves, DEVICES, devices, &count));
    }
    CLP(context = clCreateContext(NULL, DEVICES, devices, NULL, NULL, &status));
    for (int i = 0; i < DEVICES; i++)
        CLP(queues[i] = clCreateCommandQueue(context, devices[i], 0, &status));
    CLP(tangled = clCreateCommandQueue(context, devices[1], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
    CLP(program = clCreateProgramWithSource(context, 1, &text, NULL, &status));
    CL(clBuildProgram(program, DEVICES, devices, options, NULL, NULL));
}

static cl_kernel kernel_of(const char *name)
{
    cl_kernel kernel;
    CLP(kernel = clCreateKernel(program, name, &status));
    return kernel;
}

static void *shared(size_t bytes)
{
    void *made = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    if (!made)
        exit(5);
    return made;
}

static cl_mem buffer(size_t bytes)
{
    cl_mem made;
    CLP(made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status));
    return made;
}

static void run(cl_command_queue queue, cl_kernel kernel, size_t from, size_t items, size_t group)
{
    CL(clEnqueueNDRangeKernel(queue, kernel, 1, &from, &items, group ? &group : NULL, 0, NULL, NULL));
    CL(clFinish(queue));
    CL(clReleaseKernel(kernel));
}

static void fill_part(int device, int *a, int by, size_t from, size_t items)
{
    cl_kernel fill = kernel_of("fill");
    CL(clSetKernelArgSVMPointer(fill, 0, a));
    CL(clSetKernelArg(fill, 1, sizeof by, &by));
    run(queues[device], fill, from, items, 0);
}

static void sum_all(cl_command_queue queue, const int *a, cl_mem out, size_t group)
{
    cl_kernel sum = kernel_of("sum");
    CL(clSetKernelArgSVMPointer(sum, 0, a));
    CL(clSetKernelArg(sum, 1, sizeof out, &out));
    run(queue, sum, 0, N, group);
}

static void print(const char *name, cl_mem out, int items)
{
    static int found[N];
    long total = 0;
    CL(clEnqueueReadBuffer(queues[0], out, CL_TRUE, 0, (size_t)items * sizeof *found, found, 0, NULL, NULL));
    for (int i = 0; i < items; i++)
        total += found[i];
    printf("%s %ld\n", name, total);
}

/* Device 0 writes all, device 1 reads it ROUNDS times: N loads each from 0 to 1. Device 0 reads what is its own. */
APART static void pair(void)
{
    int *a = shared(N * sizeof *a);
    cl_mem out = buffer(N * sizeof *a);
    fill_part(0, a, 3, 0, N);
    for (int i = 0; i < ROUNDS; i++)
        sum_all(queues[1], a, out, 64);
    sum_all(queues[0], a, out, 32);
    print("pair", out, N);
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

/* Device 1 writes all of it, too, while nothing is recorded: what it loads is then its own. */
APART static void paused(void)
{
    int *a = shared(N * sizeof *a);
    cl_mem out = buffer(N * sizeof *a);
    fill_part(0, a, 3, 0, N);
    sonde_stop();
    fill_part(1, a, 3, 0, N);
    sonde_start();
    sum_all(queues[1], a, out, 0);
    print("paused", out, N);
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

/* Two of one line, which device 1 reads, and again when half of the first has a name. */
APART static void named(void)
{
    int *a[2];
    cl_mem out = buffer(N * sizeof **a);
    for (int i = 0; i < 2; i++)
        a[i] = shared(N * sizeof **a);
    for (int i = 0; i < 2; i++)
        fill_part(0, a[i], 3, 0, N);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 2; i++)
            sum_all(queues[1], a[i], out, 0);
        sonde_name_memory(a[0], N / 2 * sizeof **a, "half", 2, N / 4, sizeof **a);
    }
    print("named", out, N);
    CL(clReleaseMemObject(out));
    for (int i = 0; i < 2; i++)
        clSVMFree(context, a[i]);
}

/* As pair, by a program that is made of its binaries. */
APART static void binary(void)
{
    size_t sizes[DEVICES];
    unsigned char *binaries[DEVICES];
    const cl_program own = program;
    CL(clGetProgramInfo(own, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL));
    for (int i = 0; i < DEVICES; i++)
        binaries[i] = malloc(sizes[i]);
    CL(clGetProgramInfo(own, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL));
    CLP(program = clCreateProgramWithBinary(context, DEVICES, devices, sizes, (const unsigned char **)binaries, NULL, &status));
    CL(clBuildProgram(program, DEVICES, devices, "", NULL, NULL));
    pair();
    CL(clReleaseProgram(program));
    program = own;
    for (int i = 0; i < DEVICES; i++)
        free(binaries[i]);
}

/* The same in the newest language that the devices have, and something that it has by a feature of theirs. */
APART static void newest(void)
{
    static const char flag[] = "kernel void flag(global atomic_int *a) { atomic_store_explicit(a, 1, memory_order_relaxed, memory_scope_all_svm_devices); }\n";
    const char *texts[] = {source, flag};
    const cl_program own = program;
    char language[64];
    CL(clGetDeviceInfo(devices[0], CL_DEVICE_OPENCL_C_VERSION, sizeof language, language, NULL));
    const int is_newer = strstr(language, "OpenCL C 3.1") != NULL;
    CLP(program = clCreateProgramWithSource(context, is_newer ? 2 : 1, texts, NULL, &status));
    CL(clBuildProgram(program, DEVICES, devices, is_newer ? "-g -cl-std=CL3.1" : "-g", NULL, NULL));
    pair();
    CL(clReleaseProgram(program));
    program = own;
}

/* Memory that comes and goes: TIMES × N loads from 0 to 1. Half of it is freed by an operation. */
APART static void again(void)
{
    cl_mem out = buffer(N * sizeof(int));
    for (int i = 0; i < TIMES; i++) {
        int *a = shared(N * sizeof *a);
        void *freed = a;
        fill_part(0, a, i, 0, N);
        sum_all(queues[1], a, out, 0);
        if (i % 2)
            clSVMFree(context, a);
        else
            CL(clEnqueueSVMFree(queues[1], 1, &freed, NULL, NULL, 0, NULL, NULL));
    }
    CL(clFinish(queues[1]));
    print("again", out, N);
    CL(clReleaseMemObject(out));
}

static struct reader {
    int device;
    const int *from;
    cl_mem out;
} readers[DEVICES];

static void *read_often(void *user)
{
    const struct reader *r = user;
    for (int i = 0; i < TIMES; i++)
        sum_all(queues[r->device], r->from, r->out, 0);
    return NULL;
}

/* A thread for each device, whose kernels read what the other one wrote: TIMES × N loads each way. */
APART static void threads(void)
{
    pthread_t thread[DEVICES];
    int *a[DEVICES];
    for (int i = 0; i < DEVICES; i++) {
        a[i] = shared(N * sizeof **a);
        fill_part(i, a[i], i + 1, 0, N);
    }
    for (int i = 0; i < DEVICES; i++) {
        readers[i] = (struct reader){i, a[1 - i], buffer(N * sizeof **a)};
        pthread_create(&thread[i], NULL, read_often, &readers[i]);
    }
    for (int i = 0; i < DEVICES; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < DEVICES; i++) {
        print("threads", readers[i].out, N);
        CL(clReleaseMemObject(readers[i].out));
        clSVMFree(context, a[i]);
    }
}

/* Each device writes its half, in launches with an offset, and reads one element of the other's: one load each way; b is nobody's before. Then device 1
 * writes what device 0 did: N / 2 stores from 1 to 0. */
APART static void halves(void)
{
    int *a = shared(N * sizeof *a), *b = shared(N * sizeof *b);
    const cl_int n = N;
    for (int i = 0; i < DEVICES; i++)
        fill_part(i, a, i + 1, (size_t)i * N / 2, N / 2);
    for (int i = 0; i < DEVICES; i++) {
        cl_kernel edges = kernel_of("edges");
        CL(clSetKernelArgSVMPointer(edges, 0, a));
        CL(clSetKernelArgSVMPointer(edges, 1, b));
        CL(clSetKernelArg(edges, 2, sizeof n, &n));
        run(queues[i], edges, (size_t)i * N / 2, N / 2, 16);
    }
    fill_part(1, a, 5, 0, N);
    clSVMFree(context, a);
    clSVMFree(context, b);
}

/* Pointers in memory, listed: 2 × N loads from 0 to 1 of the arrays, and 2 × N of the list itself, which the host wrote and device 0 got. */
APART static void lists(void)
{
    struct {
        int *values, *next;
    } *list = shared(sizeof *list);
    int *values = shared(N * sizeof *values), *next = shared(N * sizeof *next);
    cl_mem out = buffer(N * sizeof *values);
    cl_kernel follow = kernel_of("follow");
    void *reached[] = {values, next};
    fill_part(0, values, 1, 0, N);
    fill_part(0, next, 2, 0, N);
    CL(clEnqueueSVMMap(queues[0], CL_TRUE, CL_MAP_WRITE, list, sizeof *list, 0, NULL, NULL));
    list->values = values;
    list->next = next;
    CL(clEnqueueSVMUnmap(queues[0], list, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    CL(clSetKernelArgSVMPointer(follow, 0, list));
    CL(clSetKernelArg(follow, 1, sizeof out, &out));
    CL(clSetKernelExecInfo(follow, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached));
    run(queues[1], follow, 0, N, 8);
    print("lists", out, N);
    CL(clReleaseMemObject(out));
    clSVMFree(context, list);
    clSVMFree(context, values);
    clSVMFree(context, next);
}

/* A third of the work-items loads, a fifth stores: (N + 2) / 3 loads from 0 to 1, (N + 4) / 5 stores from 1 to 0; twice, and the second time what was
 * stored is device 1's: (N + 2) / 3 - (N + 14) / 15 loads. */
APART static void lanes(void)
{
    int *a = shared(N * sizeof *a);
    cl_mem out = buffer(N * sizeof *a);
    fill_part(0, a, 1, 0, N);
    for (int i = 0; i < 2; i++) {
        cl_kernel third = kernel_of("third");
        CL(clSetKernelArgSVMPointer(third, 0, a));
        CL(clSetKernelArg(third, 1, sizeof out, &out));
        run(queues[1], third, 0, N, 128);
    }
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

/* Each counter is device 0's until the first work-item of device 1 adds to it, whoever that is. One group after the other would be 8 and 1; so is this, of one group
 * that one thread executes. Back on device 0 again. */
APART static void atomics(void)
{
    int *counters = shared(8 * sizeof *counters), *lock = shared(sizeof *lock), total = 0;
    const int zero = 0;
    CL(clEnqueueSVMMemFill(queues[0], counters, &zero, sizeof zero, 8 * sizeof *counters, 0, NULL, NULL));
    CL(clEnqueueSVMMemFill(queues[0], lock, &zero, sizeof zero, sizeof *lock, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    for (int i = 1; i >= 0; i--) {
        cl_kernel count = kernel_of("count");
        CL(clSetKernelArgSVMPointer(count, 0, counters));
        CL(clSetKernelArgSVMPointer(count, 1, lock));
        run(queues[i], count, 0, 64, 64);
    }
    CL(clEnqueueSVMMap(queues[0], CL_TRUE, CL_MAP_READ, counters, 8 * sizeof *counters, 0, NULL, NULL));
    for (int i = 0; i < 8; i++)
        total += counters[i];
    printf("atomics %d\n", total);
    CL(clEnqueueSVMUnmap(queues[0], counters, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    clSVMFree(context, counters);
    clSVMFree(context, lock);
}

/* Two dimensions, a loop and a barrier: 5 × N loads from 0 to 1. */
APART static void shapes(void)
{
    int *a = shared(N * sizeof *a);
    cl_mem out = buffer(N * sizeof *a);
    const size_t items[] = {64, N / 64}, groups[] = {16, 2};
    const cl_int times = 5;
    cl_kernel loops = kernel_of("loops");
    fill_part(0, a, 1, 0, N);
    CL(clSetKernelArgSVMPointer(loops, 0, a));
    CL(clSetKernelArg(loops, 1, sizeof out, &out));
    CL(clSetKernelArg(loops, 2, sizeof times, &times));
    CL(clEnqueueNDRangeKernel(queues[1], loops, 2, NULL, items, groups, 0, NULL, NULL));
    CL(clFinish(queues[1]));
    print("shapes", out, N);
    CL(clReleaseKernel(loops));
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

/* 256 loads of each width, by kernels of that name; and of one that reads three floats at once. */
APART static void widths(void)
{
    static const char *const names[] = {"wide_uchar", "wide_short", "wide_int", "wide_long", "wide_float2", "wide_float4", "wide_float8", "wide_float16", "wide_double", "parts"};
    int *a = shared(N * sizeof *a), *b = shared(N * sizeof *b);
    fill_part(0, a, 1, 0, N);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cl_kernel wide = kernel_of(names[i]);
        CL(clSetKernelArgSVMPointer(wide, 0, a));
        CL(clSetKernelArgSVMPointer(wide, 1, b));
        run(queues[1], wide, 0, 256, 0);
    }
    clSVMFree(context, a);
    clSVMFree(context, b);
}

/* Whose it is by operations: migrated to device 1, N loads of device 0 from 1; to the host, 2 × N loads of device 1 from the host; copied by device 1, N loads of device
 * 0 from 1; half of it filled by device 0, N / 2 loads of device 1 from 0. Each is enqueued before the one in front of it has run. */
APART static void moves(void)
{
    int *a = shared(N * sizeof *a), *b = shared(N * sizeof *b);
    const void *moved[] = {a};
    const int one = 1;
    cl_mem out = buffer(N * sizeof *a);
    cl_event before, after;
    fill_part(0, a, 1, 0, N);
    CL(clEnqueueSVMMigrateMem(queues[1], 1, moved, NULL, 0, 0, NULL, NULL));
    sum_all(queues[1], a, out, 0);
    sum_all(queues[0], a, out, 0);
    CL(clEnqueueSVMMigrateMem(queues[1], 1, moved, NULL, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    sum_all(queues[1], a, out, 0);
    clEnqueueSVMMemcpy(queues[0], CL_TRUE, a, b, 0, 0, NULL, NULL); /* of nothing: some runtimes refuse it */
    sum_all(queues[1], a, out, 0);
    CL(clEnqueueSVMMemcpy(queues[1], CL_FALSE, b, a, N * sizeof *b, 0, NULL, &before));
    CL(clEnqueueBarrierWithWaitList(queues[0], 1, &before, NULL));
    sum_all(queues[0], b, out, 0);
    CL(clEnqueueSVMMemFill(queues[0], b + N / 2, &one, sizeof one, N / 2 * sizeof *b, 0, NULL, &after));
    CL(clEnqueueBarrierWithWaitList(queues[1], 1, &after, NULL));
    sum_all(queues[1], b, out, 0);
    print("moves", out, N);
    CL(clReleaseEvent(before));
    CL(clReleaseEvent(after));
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
    CL(clEnqueueSVMFree(queues[1], 1, (void **)&b, NULL, NULL, 0, NULL, NULL));
    CL(clFinish(queues[1]));
}

/* A queue out of order: the fill waits for a user event, and the kernel of device 1 for the fill; so what device 0 has written is overwritten first. No load is from 0;
 * then N from 1 to 0. */
APART static void order(void)
{
    int *a = shared(N * sizeof *a);
    const int one = 1;
    const size_t items = N;
    cl_mem out = buffer(N * sizeof *a);
    cl_kernel sum = kernel_of("sum");
    cl_event go, filled;
    fill_part(0, a, 1, 0, N);
    CLP(go = clCreateUserEvent(context, &status));
    CL(clEnqueueSVMMemFill(tangled, a, &one, sizeof one, N * sizeof *a, 1, &go, &filled));
    CL(clSetKernelArgSVMPointer(sum, 0, a));
    CL(clSetKernelArg(sum, 1, sizeof out, &out));
    CL(clEnqueueNDRangeKernel(tangled, sum, 1, NULL, &items, NULL, 1, &filled, NULL));
    CL(clSetUserEventStatus(go, CL_COMPLETE));
    CL(clFinish(tangled));
    sum_all(queues[0], a, out, 0);
    print("order", out, N);
    CL(clReleaseEvent(go));
    CL(clReleaseEvent(filled));
    CL(clReleaseKernel(sum));
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

/* A buffer that lies over shared virtual memory, and a pointer that is one of two: 64 loads from 0 to 1 and as many stores back. */
APART static void over(void)
{
    int *a = shared(N * sizeof *a), which = 1;
    cl_mem laid, other = buffer(N * sizeof *a);
    cl_kernel either = kernel_of("either");
    fill_part(0, a, 1, 0, N);
    CLP(laid = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, N * sizeof *a, a, &status));
    CL(clSetKernelArg(either, 0, sizeof laid, &laid));
    CL(clSetKernelArg(either, 1, sizeof other, &other));
    CL(clSetKernelArg(either, 2, sizeof which, &which));
    run(queues[1], either, 0, 64, 0);
    CL(clReleaseMemObject(laid));
    CL(clReleaseMemObject(other));
    clSVMFree(context, a);
}

/* Memory that the host may write without a word: N loads of device 1 from the host, then from device 0. */
APART static void fine(void)
{
    int *a = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, N * sizeof *a, 0);
    cl_mem out = buffer(N * sizeof *a);
    if (!a)
        exit(6);
    for (int i = 0; i < N; i++)
        a[i] = i;
    sum_all(queues[1], a, out, 0);
    fill_part(0, a, 1, 0, N);
    sum_all(queues[1], a, out, 0);
    print("fine", out, N);
    CL(clReleaseMemObject(out));
    clSVMFree(context, a);
}

#define EXTENSION(name) name##_fn name = (name##_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(platform, #name)

static void fill_usm(clSetKernelArgMemPointerINTEL_fn set, int device, int *a, int by)
{
    cl_kernel fill = kernel_of("fill");
    CL(set(fill, 0, a));
    CL(clSetKernelArg(fill, 1, sizeof by, &by));
    run(queues[device], fill, 0, N, 0);
}

static void sum_usm(clSetKernelArgMemPointerINTEL_fn set, int device, const int *a, cl_mem out)
{
    cl_kernel sum = kernel_of("sum");
    CL(set(sum, 0, a));
    CL(clSetKernelArg(sum, 1, sizeof out, &out));
    run(queues[device], sum, 0, N, 0);
}

/* Intel's unified shared memory. The host's: N stores of device 0 to it, N loads of device 1 from it. Device 0's: N loads of device 1 from 0, N stores of device 1 to 0, and
 * none of device 0's own. What moves: N loads of device 0 from 1. */
APART static void usm(void)
{
    cl_platform_id platform;
    cl_int status;
    cl_mem out = buffer(N * sizeof(int));
    CL(clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    EXTENSION(clHostMemAllocINTEL);
    EXTENSION(clDeviceMemAllocINTEL);
    EXTENSION(clSharedMemAllocINTEL);
    EXTENSION(clEnqueueMemcpyINTEL);
    EXTENSION(clMemFreeINTEL);
    EXTENSION(clSetKernelArgMemPointerINTEL);
    if (!clHostMemAllocINTEL || !clSetKernelArgMemPointerINTEL)
        return;
    int *host = clHostMemAllocINTEL(context, NULL, N * sizeof *host, 0, &status);
    int *own = clDeviceMemAllocINTEL(context, devices[0], NULL, N * sizeof *own, 0, &status);
    int *both = clSharedMemAllocINTEL(context, NULL, NULL, N * sizeof *both, 0, &status);
    if (!host || !own || !both)
        exit(7);
    fill_usm(clSetKernelArgMemPointerINTEL, 0, host, 1);
    sum_usm(clSetKernelArgMemPointerINTEL, 1, host, out);
    fill_usm(clSetKernelArgMemPointerINTEL, 0, own, 1);
    sum_usm(clSetKernelArgMemPointerINTEL, 1, own, out);
    fill_usm(clSetKernelArgMemPointerINTEL, 1, own, 2);
    CL(clEnqueueMemcpyINTEL(queues[1], CL_TRUE, both, own, N * sizeof *own, 0, NULL, NULL));
    sum_usm(clSetKernelArgMemPointerINTEL, 0, both, out);
    print("usm", out, N);
    CL(clMemFreeINTEL(context, host));
    CL(clMemFreeINTEL(context, own));
    CL(clMemFreeINTEL(context, both));
    CL(clReleaseMemObject(out));
}

/* Memory that is freed while a kernel writes there, by the call that waits for it: LARGE stores of device 0 to the host's. */
APART static void blocking(void)
{
    cl_platform_id platform;
    cl_int status;
    const int by = 3;
    const size_t items = LARGE;
    CL(clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    EXTENSION(clSharedMemAllocINTEL);
    EXTENSION(clMemBlockingFreeINTEL);
    EXTENSION(clSetKernelArgMemPointerINTEL);
    if (!clSharedMemAllocINTEL || !clMemBlockingFreeINTEL || !clSetKernelArgMemPointerINTEL)
        return;
    int *a = clSharedMemAllocINTEL(context, NULL, NULL, LARGE * sizeof *a, 0, &status);
    cl_kernel fill = kernel_of("fill");
    if (!a)
        exit(8);
    CL(clSetKernelArgMemPointerINTEL(fill, 0, a));
    CL(clSetKernelArg(fill, 1, sizeof by, &by));
    CL(clEnqueueNDRangeKernel(queues[0], fill, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clFlush(queues[0]));
    CL(clMemBlockingFreeINTEL(context, a));
    CL(clReleaseKernel(fill));
}

/* The host's own memory, where kernels may use that: N loads of device 0 from the host. */
APART static void heap(void)
{
    cl_device_svm_capabilities can = 0;
    CL(clGetDeviceInfo(devices[0], CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL));
    if (!(can & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM))
        return;
    int *a = malloc(N * sizeof *a);
    cl_mem out = buffer(N * sizeof *a);
    for (int i = 0; i < N; i++)
        a[i] = i;
    sum_all(queues[0], a, out, 0);
    print("heap", out, N);
    CL(clReleaseMemObject(out));
    free(a);
}

/* Buffers alone. */
static void sum_buffers(const char *name)
{
    cl_mem in = buffer(N * sizeof(int)), out = buffer(N * sizeof(int));
    const int one = 1;
    CL(clEnqueueFillBuffer(queues[0], in, &one, sizeof one, 0, N * sizeof one, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    for (int i = 0; i < DEVICES; i++) {
        cl_kernel sum = kernel_of("sum");
        CL(clSetKernelArg(sum, 0, sizeof in, &in));
        CL(clSetKernelArg(sum, 1, sizeof out, &out));
        run(queues[i], sum, 0, N, 0);
    }
    print(name, out, N);
    CL(clReleaseMemObject(in));
    CL(clReleaseMemObject(out));
}

APART static void alone(void)
{
    sum_buffers("alone");
}

/* Beside shared virtual memory that the launches cannot reach: nothing. */
APART static void plain(void)
{
    int *a = shared(N * sizeof *a);
    sum_buffers("plain");
    clSVMFree(context, a);
}

/* ---- steps drawn at random, beside who owns what by the rules --------------------------------------------------- */

enum { NOBODY, HOST, FIRST, STEPS = 120, LOAD = 0, STORE = 1 };
static int *array[2];
static cl_mem laid[2]; /* over them */
static unsigned char owner[2][N];
static long counted[2][FIRST + DEVICES][FIRST + DEVICES]; /* by kind, from, to */
static unsigned state;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void model(int kind, int which, size_t i, int by)
{
    const unsigned char whose = owner[which][i];
    if (whose != NOBODY && whose != by)
        counted[kind][kind == LOAD ? whose : by][kind == LOAD ? by : whose]++;
    if (kind == STORE)
        owner[which][i] = (unsigned char)by;
}

static void step_kernel(int device, int which, size_t from, size_t items, cl_mem out)
{
    const cl_int n = N;
    const int by = FIRST + device;
    cl_kernel kernel = kernel_of(draw(2) ? "edges" : "third");
    char name[16];
    CL(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    CL(clSetKernelArgSVMPointer(kernel, 0, array[which]));
    if (strcmp(name, "edges") == 0) {
        CL(clSetKernelArgSVMPointer(kernel, 1, array[1 - which]));
        CL(clSetKernelArg(kernel, 2, sizeof n, &n));
    } else {
        CL(clSetKernelArg(kernel, 1, sizeof out, &out));
    }
    run(queues[device], kernel, from, items, 0);
    for (size_t i = from; i < from + items; i++)
        if (strcmp(name, "edges") == 0) {
            for (size_t k = i ? i - 1 : 0; k <= i + 1 && k < N; k++)
                model(LOAD, which, k, by);
            model(STORE, 1 - which, i, by);
        } else {
            if (i % 3 == 0)
                model(LOAD, which, i, by);
            if (i % 5 == 0)
                model(STORE, which, i, by);
        }
}

static const int zeros[N];

/* The same by what lies over them: a buffer. */
static void step_buffer(int device, int which, size_t from, size_t items)
{
    const unsigned what = draw(4);
    const size_t at = from * sizeof(int), bytes = items * sizeof(int);
    cl_mem from_zeros;
    if (what == 0) {
        CL(clEnqueueWriteBuffer(queues[device], laid[which], CL_TRUE, at, bytes, zeros, 0, NULL, NULL));
    } else if (what == 1) {
        CL(clEnqueueFillBuffer(queues[device], laid[which], zeros, sizeof *zeros, at, bytes, 0, NULL, NULL));
    } else if (what == 2) {
        CLP(from_zeros = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof zeros, (void *)(uintptr_t)zeros, &status));
        CL(clEnqueueCopyBuffer(queues[device], from_zeros, laid[which], 0, at, bytes, 0, NULL, NULL));
        CL(clReleaseMemObject(from_zeros));
    } else {
        void *mapped;
        CLP(mapped = clEnqueueMapBuffer(queues[device], laid[which], CL_TRUE, CL_MAP_WRITE, at, bytes, 0, NULL, NULL, &status));
        CL(clEnqueueUnmapMemObject(queues[device], laid[which], mapped, 0, NULL, NULL));
    }
    CL(clFinish(queues[device]));
    memset(owner[which] + from, FIRST + device, items);
}

/* Of a matrix of 64 columns a rectangle, perhaps whole rows. */
static void step_rectangle(int device, int which)
{
    enum { COLUMNS = 64,
           ROWS = N / COLUMNS };
    const size_t column = draw(2) ? draw(COLUMNS) : 0, row = draw(ROWS);
    const size_t columns = column ? 1 + draw((unsigned)(COLUMNS - column)) : COLUMNS, rows = 1 + draw((unsigned)(ROWS - row));
    const size_t origin[] = {column * sizeof(int), row, 0}, region[] = {columns * sizeof(int), rows, 1}, none[3] = {0};
    CL(clEnqueueWriteBufferRect(queues[device], laid[which], CL_TRUE, origin, none, region, COLUMNS * sizeof(int), 0, 0, 0, zeros, 0, NULL, NULL));
    CL(clFinish(queues[device]));
    for (size_t i = row; i < row + rows; i++)
        memset(owner[which] + i * COLUMNS + column, FIRST + device, columns);
}

/* An operation that writes these. */
static void step_operation(int device, int which, size_t from, size_t items)
{
    const unsigned what = draw(4);
    int *at = array[which] + from, by = FIRST + device;
    const size_t bytes = items * sizeof *at;
    const void *moved = at;
    if (what == 0) {
        CL(clEnqueueSVMMemcpy(queues[device], CL_TRUE, at, zeros, bytes, 0, NULL, NULL));
    } else if (what == 1) {
        CL(clEnqueueSVMMemFill(queues[device], at, zeros, sizeof *zeros, bytes, 0, NULL, NULL));
    } else if (what == 2) {
        CL(clEnqueueSVMMap(queues[device], CL_TRUE, CL_MAP_WRITE, at, bytes, 0, NULL, NULL));
        CL(clEnqueueSVMUnmap(queues[device], at, 0, NULL, NULL));
    } else {
        const int host = draw(2) != 0;
        CL(clEnqueueSVMMigrateMem(queues[device], 1, &moved, &bytes, host ? CL_MIGRATE_MEM_OBJECT_HOST : 0, 0, NULL, NULL));
        by = host ? HOST : by;
    }
    CL(clFinish(queues[device]));
    memset(owner[which] + from, by, items);
}

/* What the rules say is printed: a kind, from, to (as numbers of this file) and how many. */
static void drawn(unsigned seed)
{
    cl_mem out = buffer(N * sizeof(int));
    state = seed;
    for (int i = 0; i < 2; i++) {
        array[i] = shared(N * sizeof **array);
        CLP(laid[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, N * sizeof **array, array[i], &status));
    }
    for (int i = 0; i < STEPS; i++) {
        const size_t from = draw(N - 1), items = 1 + draw((unsigned)(N - from));
        const int device = (int)draw(DEVICES), which = (int)draw(2);
        const unsigned what = draw(12);
        if (what > 4)
            step_kernel(device, which, from, items, out);
        else if (what > 2)
            step_operation(device, which, from, items);
        else if (what)
            step_buffer(device, which, from, items);
        else
            step_rectangle(device, which);
    }
    for (int kind = 0; kind < 2; kind++)
        for (int a = HOST; a < FIRST + DEVICES; a++)
            for (int b = HOST; b < FIRST + DEVICES; b++)
                if (counted[kind][a][b])
                    printf("%s %d %d %ld\n", kind == LOAD ? "load" : "store", a - FIRST, b - FIRST, counted[kind][a][b]);
    for (int i = 0; i < 2; i++) {
        CL(clReleaseMemObject(laid[i]));
        clSVMFree(context, array[i]);
    }
    CL(clReleaseMemObject(out));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"pair", pair}, {"binary", binary}, {"newest", newest}, {"again", again}, {"threads", threads}, {"halves", halves}, {"lists", lists}, {"lanes", lanes}, {"atomics", atomics}, {"shapes", shapes}, {"widths", widths}, {"moves", moves}, {"order", order}, {"over", over}, {"fine", fine}, {"usm", usm}, {"blocking", blocking}, {"heap", heap}, {"plain", plain}, {"alone", alone}};
    open_all(argc > 1 ? "-g" : "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    if (argc == 2 && strcmp(argv[1], "paused") == 0)
        paused();
    if (argc == 2 && strcmp(argv[1], "named") == 0)
        named();
    if (argc == 3)
        drawn((unsigned)atoi(argv[2]));
    CL(clReleaseProgram(program));
    CL(clReleaseCommandQueue(tangled));
    for (int i = 0; i < DEVICES; i++)
        CL(clReleaseCommandQueue(queues[i]));
    CL(clReleaseContext(context));
    return 0;
}

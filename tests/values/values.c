/* values.c - operations whose answer follows from this source: what of it each leaves unchanged.
 *
 *     values CASE [argument]
 *
 * Each case is a function below; tests/values/run.py knows what Sonde must say of it. Prints a checksum of all that was read.
 */
#include "../programs/guest.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

static const char text[] =
    "kernel void set(global int *a, int value, int n) { int i = get_global_id(0); if (i < n) a[i] = value; }\n"
    "kernel void count(global int *a) { a[get_global_id(0)] = get_global_id(0); }\n"
    "kernel void sum(global const int *a, global long *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
    "kernel void look(global int *a, global int *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
    "kernel void bytes(global uchar *a) { a[get_global_id(0)] = 7; }\n"
    "kernel void read_zeros(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] + i * 65537; }\n"
    "kernel void read_same(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (1.0f / (i + 3)); }\n"
    "kernel void read_small(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 19088743 + i; }\n"
    "kernel void read_wide(global const double *a, global double *b) { int i = get_global_id(0); b[i] = a[i] / 3.0; }\n"
    "kernel void read_near(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (i * 0.123f); }\n"
    "kernel void read_ints(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i] * 40503 + i * i; }\n"
    "kernel void read_floats(global const float *a, global float *b) { int i = get_global_id(0); b[i] = a[i] * (i * i + 0.1f); }\n"
    "kernel void read_two(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i & 1] + i * i; }\n"
    "kernel void read_all(global const int *a, global int *b) { int i = get_global_id(0), s = 0; for (int k = 0; k < 1000; k++) s += a[k] * k; b[i] = s * i * i; }\n"
    "kernel void some_items(global int *a) { int i = get_global_id(0); if (i % 10 == 0) a[i] = 7; }\n"
    "kernel void copies(global const int *a, global int *b, local int *t) { event_t e = async_work_group_copy(t, a, 100, 0); "
    "wait_group_events(1, &e); b[get_global_id(0)] = t[get_local_id(0)]; }\n"
    "kernel void either(global int *a, global int *b) { int i = get_global_id(0); global int *p = i % 4 ? a : b; if (i % 2 == 0) p[i / 2] = i % 8 ? 0 : 1; }\n"
    "kernel void paint(write_only image2d_t a) { write_imagei(a, (int2)(get_global_id(0), 0), (int4)(1)); }\n";

enum { N = 1000 };
static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;
static uint64_t checksum = 14695981039346656037u;

static cl_mem buffer(size_t bytes)
{
    void *zeros = calloc(bytes, 1);
    cl_mem made;
    CLP(made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros, &status));
    free(zeros);
    return made;
}

static void put(cl_mem to, size_t at, const void *from, size_t bytes)
{
    CL(clEnqueueWriteBuffer(queue, to, CL_TRUE, at, bytes, from, 0, NULL, NULL));
}

static void take(cl_mem from, size_t bytes)
{
    unsigned char *all = malloc(bytes);
    CL(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, all, 0, NULL, NULL));
    for (size_t i = 0; i < bytes; i++)
        checksum = (checksum ^ all[i]) * 1099511628211u;
    free(all);
}

static cl_kernel kernel(const char *name)
{
    cl_kernel made;
    CLP(made = clCreateKernel(program, name, &status));
    return made;
}

static void launch(cl_kernel k, size_t items)
{
    CL(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void launch_on(cl_kernel k, cl_mem from, cl_mem to)
{
    CL(clSetKernelArg(k, 0, sizeof from, &from));
    CL(clSetKernelArg(k, 1, sizeof to, &to));
    launch(k, N);
}

static void set_to(cl_kernel set, cl_mem a, int value, int n)
{
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    launch(set, N);
    CL(clFinish(queue));
}

/* The first writes what is there already; the second 0 to 999, of which one is; the third half of it. */
static void writes(void)
{
    int zeros[N] = {0}, numbers[N];
    cl_mem a = buffer(sizeof zeros);
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    put(a, 0, zeros, sizeof zeros);
    put(a, 0, numbers, sizeof numbers);
    put(a, sizeof numbers / 2, zeros, sizeof zeros / 2);
    take(a, sizeof zeros);
    CL(clReleaseMemObject(a));
}

/* Filled twice with the same, then a part at an odd place. */
static void fills(void)
{
    const int one = 1;
    const unsigned char byte = 0xff;
    cl_mem a = buffer(4 * N);
    for (int i = 0; i < 2; i++)
        CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &byte, 1, 3, 10, 0, NULL, NULL)); /* bytes 3 to 12 */
    take(a, 4 * N);
    CL(clReleaseMemObject(a));
}

static void copies(void)
{
    int numbers[N];
    cl_mem a = buffer(sizeof numbers), b = buffer(sizeof numbers);
    for (int i = 0; i < N; i++)
        numbers[i] = i + 1;
    put(a, 0, numbers, sizeof numbers);
    for (int i = 0; i < 3; i++) /* the first copies something new, the others nothing */
        CL(clEnqueueCopyBuffer(queue, a, b, 0, 0, sizeof numbers, 0, NULL, NULL));
    take(b, sizeof numbers);
    CL(clReleaseMemObject(a));
    CL(clReleaseMemObject(b));
}

/* `set` writes the same to 600 of 1,000 again and again; `sum` writes 8-byte elements and only reads the others. */
static void kernels(void)
{
    const int value = 5, n = 600;
    cl_mem a = buffer(4 * N), b = buffer(8 * N);
    cl_kernel set = kernel("set"), sum = kernel("sum");
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    CL(clSetKernelArg(sum, 0, sizeof a, &a));
    CL(clSetKernelArg(sum, 1, sizeof b, &b));
    for (int i = 0; i < 4; i++)
        launch(set, N);
    launch(sum, N);
    take(b, 8 * N);
}

/* Which elements kernels write: of one buffer that is two arguments; of a part of another; through one of two pointers, every other element of
 * three; and what is not known, where a group copies. */
static void sets(void)
{
    const int seven = 7, n = 100;
    const cl_buffer_region region = {2048, 1024};
    const size_t group = 100, all = N;
    cl_mem a = buffer(4 * N), b = buffer(4 * N), c = buffer(4 * N), d = buffer(4 * N), part;
    CLP(part = clCreateSubBuffer(b, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    launch_on(kernel("look"), a, a);
    for (int i = 0; i < 2; i++)
        set_to(kernel("set"), part, seven, n);
    launch_on(kernel("either"), c, d);
    take(c, 4 * N);
    take(d, 4 * N);
    cl_kernel copy = kernel("copies");
    CL(clSetKernelArg(copy, 0, sizeof d, &d));
    CL(clSetKernelArg(copy, 1, sizeof c, &c));
    CL(clSetKernelArg(copy, 2, 4 * group, NULL));
    CL(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &all, &group, 0, NULL, NULL));
    take(b, 4 * N);
    take(c, 4 * N);
    CL(clReleaseMemObject(part));
}

/* Reads `a` through a pointer that it might have written through. */
static void looks(void)
{
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    cl_kernel count = kernel("count"), look = kernel("look");
    CL(clSetKernelArg(count, 0, sizeof a, &a));
    launch(count, N);
    CL(clSetKernelArg(look, 0, sizeof a, &a));
    CL(clSetKernelArg(look, 1, sizeof b, &b));
    launch(look, N);
    take(b, 4 * N);
}

/* What is not looked at: an out-of-order queue, mapped memory, an image. */
static void missed(void)
{
    const int one = 1;
    const size_t origin[3] = {0, 0, 0}, pixels[3] = {8, 1, 1};
    int colours[8 * 4] = {0};
    cl_mem a = buffer(4 * N), image;
    cl_command_queue any;
    CLP(any = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
    CL(clEnqueueFillBuffer(any, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clFinish(any));
    int *mapped;
    CLP(mapped = clEnqueueMapBuffer(any, a, CL_TRUE, CL_MAP_WRITE, 0, 4 * N, 0, NULL, NULL, &status));
    mapped[0] = 2;
    CL(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
    const cl_image_format format = {CL_RGBA, CL_SIGNED_INT32};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 1};
    CLP(image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status));
    CL(clEnqueueWriteImage(queue, image, CL_TRUE, origin, pixels, 0, 0, colours, 0, NULL, NULL));
    cl_kernel paint = kernel("paint");
    CL(clSetKernelArg(paint, 0, sizeof image, &image));
    launch(paint, 8);
    take(a, 4 * N);
    CL(clReleaseCommandQueue(any));
}

/* Every size and place of a write: some of it differs from what is there in one byte. */
static void places(void)
{
    enum { ROOM = 64 };
    unsigned char there[ROOM], other[ROOM];
    cl_mem a = buffer(ROOM);
    uint32_t random = 1;
    memset(there, 0, sizeof there);
    for (size_t from = 0; from < 20; from++)
        for (size_t to = from + 1; to <= ROOM; to += 7) {
            memcpy(other, there, sizeof other);
            random = random * 1664525u + 1013904223u;
            other[from + (random >> 8) % (to - from)] ^= (unsigned char)(1 + (random >> 24) % 255);
            put(a, from, other + from, to - from);
            printf("%zu %zu", from, to);
            for (size_t size = 1; size <= 8; size *= 2) {
                size_t same = 0, all = 0;
                for (size_t at = (from + size - 1) / size * size; at + size <= to; at += size) {
                    all++;
                    same += memcmp(there + at, other + at, size) == 0;
                }
                printf(" %zu %zu", all, same);
            }
            putchar('\n');
            memcpy(there, other, sizeof there);
        }
    take(a, ROOM);
}

/* Of elements of 1, 2, 4 and 8 bytes how many are written, all of whose bytes are marked, and how many of these are the same. */
static void count_marked(const unsigned char *there, const unsigned char *other, const unsigned char *marks, size_t bytes, const char *name)
{
    printf("%s", name);
    for (size_t size = 1; size <= 8; size *= 2) {
        size_t same = 0, all = 0;
        for (size_t at = 0; at + size <= bytes; at += size) {
            const bool written = !memchr(marks + at, 0, size);
            all += written;
            same += written && memcmp(there + at, other + at, size) == 0;
        }
        printf(" %zu %zu", all, same);
    }
    putchar('\n');
}

/* Rectangles of any size and place, written and copied; of those that are written a part differs. */
static void rectangles(void)
{
    enum { ROOM = 4096 };
    static unsigned char there[ROOM], other[ROOM], marks[ROOM], host[ROOM];
    cl_mem a = buffer(ROOM), b = buffer(ROOM);
    uint32_t random = 1;
    for (int turn = 0; turn < 60; turn++) {
        size_t r[8];
        for (int i = 0; i < 8; i++) {
            random = random * 1664525u + 1013904223u;
            r[i] = random >> 20;
        }
        const size_t unit = turn % 4 == 3 ? 1 : 1u << r[0] % 4, region[3] = {unit * (1 + r[1] % 5), 1 + r[2] % 6, 1 + r[3] % 4};
        const size_t row = region[0] + unit * (r[4] % 4), slice = (region[1] + r[5] % 3) * row, origin[3] = {unit * (r[6] % 3), r[7] % 2, r[7] % 3};
        const bool copies = turn % 3 == 2;
        memset(marks, 0, sizeof marks);
        memcpy(other, there, sizeof other);
        for (size_t z = 0; z < region[2]; z++)
            for (size_t y = 0; y < region[1]; y++)
                for (size_t x = 0; x < region[0]; x++) {
                    const size_t at = (origin[2] + z) * slice + (origin[1] + y) * row + origin[0] + x;
                    marks[at] = 1;
                    other[at] = copies ? 0 : (unsigned char)(there[at] + (at * 2654435761u >> 7) % 5 / 4);
                    host[(z * region[1] + y) * region[0] + x] = other[at];
                }
        const size_t none[3] = {0, 0, 0};
        if (copies) /* zeros */
            CL(clEnqueueCopyBufferRect(queue, b, a, none, origin, region, 0, 0, row, slice, 0, NULL, NULL));
        else
            CL(clEnqueueWriteBufferRect(queue, a, CL_TRUE, origin, none, region, row, slice, 0, 0, host, 0, NULL, NULL));
        count_marked(there, other, marks, ROOM, copies ? "clEnqueueCopyBufferRect" : "clEnqueueWriteBufferRect");
        memcpy(there, other, sizeof there);
    }
    take(a, ROOM);
}

/* Mapped for writing, whole or in part, twice at once, with a wait; for reading; and new memory, of which a part has contents. */
static void maps(void)
{
    static unsigned char there[4 * N], other[4 * N], marks[4 * N];
    cl_mem a = buffer(4 * N), b;
    cl_event go;
    CLP(b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    for (size_t turn = 0; turn < 12; turn++) {
        const size_t from = 52 * turn, bytes = turn % 3 ? 1001 * (turn % 3) : 4 * N - from;
        const cl_map_flags flags = turn % 2 ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ | CL_MAP_WRITE;
        unsigned char *mapped, *more;
        CLP(go = clCreateUserEvent(context, &status));
        CLP(mapped = clEnqueueMapBuffer(queue, a, CL_FALSE, flags, from, bytes, 1, &go, NULL, &status));
        CL(clSetUserEventStatus(go, CL_COMPLETE));
        CL(clFinish(queue));
        CL(clReleaseEvent(go));
        CLP(more = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ, 0, 4 * N, 0, NULL, NULL, &status));
        CL(clEnqueueUnmapMemObject(queue, b, more, 0, NULL, NULL));
        memset(marks, 0, sizeof marks);
        for (size_t i = from; i < from + bytes; i++) {
            marks[i] = 1;
            other[i] = turn % 2 || i % 3 ? (unsigned char)(there[i] + i % 7 / 6) : there[i];
            mapped[i - from] = other[i];
        }
        CL(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
        count_marked(there, other, marks, 4 * N, "clEnqueueUnmapMemObject");
        memcpy(there, other, sizeof there);
    }
    const int one = 1;
    CL(clEnqueueFillBuffer(queue, b, &one, sizeof one, 0, 2 * N, 0, NULL, NULL));
    unsigned char *mapped;
    CLP(mapped = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_WRITE, N, 2 * N, 0, NULL, NULL, &status));
    memset(mapped, 0, 2 * N);
    CL(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL)); /* of the first half of it something is known */
    for (int i = 0; i < N; i++)
        memcpy(there + 4 * i, &one, sizeof one);
    memset(other, 0, sizeof other);
    memset(marks, 0, sizeof marks);
    memset(marks + N, 1, N);
    count_marked(there, other, marks, 4 * N, "clEnqueueUnmapMemObject");
    take(a, 4 * N);
    take(b, 3 * N);
}

/* Shared virtual memory, filled and copied in parts, to itself, from and to the host; freed when the program has waited for its own commands
 * alone, here and in a queue; a kernel and a map make contents of new memory. */
static void svm(void)
{
    enum { ROOM = 16384 };
    static unsigned char there[ROOM], other[ROOM], marks[ROOM], host[ROOM];
    uint32_t random = 1;
    cl_command_queue second;
    CLP(second = clCreateCommandQueue(context, device, 0, &status));
    for (int round = 0; round < 6; round++) {
        unsigned char *a = clSVMAlloc(context, CL_MEM_READ_WRITE, ROOM, 0), *b = clSVMAlloc(context, CL_MEM_READ_WRITE, ROOM, 0);
        CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, a, ROOM, 0, NULL, NULL));
        memset(a, 0, ROOM);
        CL(clEnqueueSVMUnmap(queue, a, 0, NULL, NULL));
        memset(there, 0, sizeof there);
        for (int turn = 0; turn < 12; turn++) {
            const size_t from = (random = random * 1664525u + 1013904223u) >> 19 & (turn % 4 ? ~0u : ~3u), bytes = 4 + (random >> 9) % 2000 * 4;
            memset(marks, 0, sizeof marks);
            memset(marks + from, 1, bytes);
            memcpy(other, there, sizeof other);
            for (size_t i = 0; i < bytes; i++)
                other[from + i] = host[i] = turn % 4 ? (unsigned char)(there[from + i] + i % 9 / 8) : 3;
            cl_event done;
            if (turn % 4)
                CL(clEnqueueSVMMemcpy(queue, CL_FALSE, a + from, host, bytes, 0, NULL, &done));
            else
                CL(clEnqueueSVMMemFill(queue, a + from, "\3\3\3\3", 4, bytes, 0, NULL, &done));
            CL(clWaitForEvents(1, &done));
            CL(clReleaseEvent(done));
            count_marked(there, other, marks, ROOM, turn % 4 ? "clEnqueueSVMMemcpy" : "clEnqueueSVMMemFill");
            memcpy(there, other, sizeof there);
        }
        CL(clEnqueueSVMMemcpy(queue, CL_TRUE, b, a, ROOM, 0, NULL, NULL)); /* new memory */
        CL(clEnqueueSVMMemcpy(queue, CL_TRUE, host, b, ROOM, 0, NULL, NULL));
        if (memcmp(host, there, ROOM) != 0)
            exit(1);
        cl_event done;
        CL(clEnqueueSVMMemcpy(queue, CL_FALSE, a, b, ROOM, 0, NULL, &done));
        memset(marks, 1, ROOM);
        count_marked(there, there, marks, ROOM, "clEnqueueSVMMemcpy");
        CL(clWaitForEvents(1, &done));
        CL(clReleaseEvent(done));
        const int value = 0x03030303, n = 300;
        cl_kernel set = kernel("set");
        CL(clSetKernelArgSVMPointer(set, 0, round < 4 ? a : a + 64)); /* what does not begin where the memory does is not looked at */
        CL(clSetKernelArg(set, 1, sizeof value, &value));
        CL(clSetKernelArg(set, 2, sizeof n, &n));
        launch(set, N);
        CL(clFinish(queue));
        CL(clReleaseKernel(set));
        memset(marks, 0, sizeof marks);
        memset(marks, 1, 4 * n);
        memcpy(other, there, sizeof other);
        memset(other, 3, 4 * n);
        if (round < 4)
            count_marked(there, other, marks, ROOM, "set");
        void *both[] = {a, b};
        if (round % 2)
            CL(clEnqueueSVMFree(second, 2, both, NULL, NULL, 0, NULL, NULL));
        for (int i = 0; i < 2 && !(round % 2); i++)
            clSVMFree(context, both[i]);
        CL(clFinish(second));
    }
    CL(clReleaseCommandQueue(second));
}

/* Two threads launch in one queue, each its own kernel object. */
static void *launcher(void *to)
{
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof(cl_mem), to));
    for (int i = 0; i < 200; i++)
        launch(count, N);
    CL(clReleaseKernel(count));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    cl_mem a = buffer(4 * N);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, launcher, &a);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    take(a, 4 * N);
}

/* Contexts and queues come and go; in each two fills, of which the second changes nothing. */
static void contexts(void)
{
    const int one = 1;
    static int zeros[N];
    for (int i = 0; i < 20; i++) {
        cl_context own;
        CLP(own = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
        cl_command_queue line;
        CLP(line = clCreateCommandQueue(own, device, 0, &status));
        cl_mem a;
        CLP(a = clCreateBuffer(own, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status));
        for (int k = 0; k < 2; k++)
            CL(clEnqueueFillBuffer(line, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
        CL(clFinish(line));
        CL(clReleaseMemObject(a));
        CL(clReleaseCommandQueue(line));
        CL(clReleaseContext(own));
    }
}

/* More than --values-memory=1M has room for. */
static void large(void)
{
    const int one = 1;
    cl_mem a = buffer(4 << 20);
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 << 20, 0, NULL, NULL));
    take(a, 4 << 20);
}

/* What lies in a new buffer is undefined: only what was written before can be written again. */
static void fresh(void)
{
    const int one = 1;
    cl_mem a, b;
    CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CLP(b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 2 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof b, &b));
    launch(count, N);
    CL(clEnqueueCopyBuffer(queue, a, b, 0, 0, 4 * N, 0, NULL, NULL));
    take(a, 4 * N);
    take(b, 4 * N);
}

/* What kernels read has a pattern each; the kernel `read_zeros` is launched four times, on two pairs of buffers. */
static void patterns(void)
{
    const size_t group = 100, all = N;
    int small[N];
    float same[N], near[N];
    double wide[N];
    for (int i = 0; i < N; i++) {
        small[i] = i % 121 - 3;
        same[i] = 2.5f;
        near[i] = 1 + (float)i * 0x1p-21f;
        wide[i] = 1 + i * 1.25;
    }
    cl_mem zeros = buffer(4 * N), others = buffer(4 * N), a = buffer(4 * N), b = buffer(4 * N), c = buffer(4 * N), d = buffer(8 * N);
    cl_mem to = buffer(8 * N);
    put(a, 0, small, sizeof small);
    put(b, 0, same, sizeof same);
    put(c, 0, near, sizeof near);
    put(d, 0, wide, sizeof wide);
    cl_kernel zero = kernel("read_zeros");
    for (int i = 0; i < 4; i++)
        launch_on(zero, i % 2 ? others : zeros, to);
    CL(clReleaseKernel(zero));
    launch_on(kernel("read_same"), b, to);
    take(to, 8 * N);
    launch_on(kernel("read_small"), a, to);
    take(to, 8 * N);
    launch_on(kernel("read_wide"), d, to);
    take(to, 8 * N);
    launch_on(kernel("read_near"), c, to);
    take(to, 8 * N);
    cl_kernel some = kernel("some_items"), copy = kernel("copies");
    CL(clSetKernelArg(some, 0, sizeof to, &to));
    launch(some, N);
    CL(clSetKernelArg(copy, 0, sizeof a, &a));
    CL(clSetKernelArg(copy, 1, sizeof to, &to));
    CL(clSetKernelArg(copy, 2, 4 * group, NULL));
    CL(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &all, &group, 0, NULL, NULL));
    take(to, 8 * N);
}

/* Three of four are 7; floats on a line that falls; four values; two, in turn; all in a loop; and many launches whose values have
 * nothing in common. */
static void guesses(void)
{
    int often[N], four[4] = {0, 0, 0, 1}, two[2] = {5, 1 << 30}, mixed[N];
    float falling[N];
    for (int i = 0; i < N; i++) {
        often[i] = i % 4 ? 7 : i * 7919 + (1 << 30);
        falling[i] = 100 - (float)i;
        mixed[i] = (int)(((uint32_t)i * 2654435761u ^ (uint32_t)i * 40503u >> 3) * 2246822519u);
    }
    cl_mem to = buffer(4 * N);
    cl_mem a = buffer(4 * N), b = buffer(4 * N), c = buffer(sizeof four), d = buffer(sizeof two), e = buffer(4 * N);
    put(a, 0, often, sizeof often);
    put(b, 0, falling, sizeof falling);
    put(c, 0, four, sizeof four);
    put(d, 0, two, sizeof two);
    put(e, 0, mixed, sizeof mixed);
    cl_kernel ints = kernel("read_ints");
    launch_on(ints, a, to);
    take(to, 4 * N);
    launch_on(kernel("read_floats"), b, to);
    take(to, 4 * N);
    CL(clSetKernelArg(ints, 0, sizeof c, &c));
    launch(ints, 4);
    take(to, 4 * N);
    launch_on(kernel("read_two"), d, to);
    take(to, 4 * N);
    launch_on(kernel("read_all"), a, to);
    take(to, 4 * N);
    for (int i = 0; i < 20; i++) {
        launch_on(ints, e, to);
        CL(clFinish(queue));
    }
    take(to, 4 * N);
}

/* Two objects each become equal by a kernel and a write, by a fill and a kernel, by kernels that write a part; one differs from the
 * first two in its last byte. Then one is written as another is, again and again, and some live for one write. */
static void duplicates(void)
{
    int numbers[N], seven = 7, eight = 8;
    cl_mem a = buffer(4 * N);
    cl_mem b = buffer(4 * N);
    cl_mem c = buffer(4 * N);
    cl_mem d = buffer(4 * N);
    cl_mem e = buffer(4 * N);
    cl_mem f = buffer(4 * N);
    cl_kernel count = kernel("count"), set = kernel("set");
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    CL(clSetKernelArg(count, 0, sizeof a, &a));
    launch(count, N);
    CL(clFinish(queue));
    put(b, 0, numbers, sizeof numbers);
    CL(clFinish(queue));
    numbers[N - 1]++;
    put(f, 0, numbers, sizeof numbers);
    CL(clFinish(queue));
    CL(clEnqueueFillBuffer(queue, c, &seven, sizeof seven, 0, 4 * N, 0, NULL, NULL));
    CL(clFinish(queue));
    set_to(set, a, 7, N);
    cl_mem both[] = {d, e};
    for (int i = 0; i < 2; i++) {
        CL(clEnqueueFillBuffer(queue, both[i], &eight, sizeof eight, 0, 4 * N, 0, NULL, NULL));
        set_to(set, both[i], 9, N / 2);
    }
    take(e, 4 * N);
    numbers[0] = -1;
    put(b, 0, numbers, sizeof numbers);
    for (int i = 0; i < 32; i++)
        CL(clEnqueueWriteBuffer(queue, f, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL, NULL));
    CL(clFinish(queue));
    for (int i = 0; i < 40; i++) {
        cl_mem brief = buffer(4 * N);
        CL(clEnqueueWriteBuffer(queue, brief, CL_FALSE, 0, sizeof numbers, numbers, 0, NULL, NULL));
        CL(clReleaseMemObject(brief));
    }
    take(f, 4 * N);
}

/* Figure 3 of the paper: two objects, each set, written by a kernel, and then one made of the other. */
static void figure(void)
{
    const int zero = 0, one = 1;
    cl_mem a, b;
    CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CLP(b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    cl_kernel set = kernel("set"), look = kernel("look");
    CL(clEnqueueFillBuffer(queue, a, &zero, sizeof zero, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, b, &one, sizeof one, 0, 2 * N, 0, NULL, NULL));
    set_to(set, a, 0, N);
    set_to(set, b, 0, N);
    launch_on(look, a, b);
    take(b, 4 * N);
}

/* One kernel, in programs that were made in different ways; then its copy, and one whose program is gone. */
static void programs(void)
{
    static const char *const options[] = {"", "-g", "-cl-opt-disable", "-cl-std=CL1.2 -cl-fast-relaxed-math -DUNUSED=1"};
    static const char main_text[] = "int twice(global const int *p, int i); kernel void work(global const int *a, global int *b) "
                                    "{ int i = get_global_id(0); int x = twice(a, i); for (int k = 0; k < 2; k++) b[2 * i + k] = x + k; }\n",
                      other_text[] = "int twice(global const int *p, int i) { return 2 * p[i]; }\n";
    const char *both[] = {other_text, main_text};
    cl_mem a = buffer(4 * N), b = buffer(8 * N);
    cl_program made[8];
    int count = 0, numbers[N];
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    put(a, 0, numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        CLP(made[count] = clCreateProgramWithSource(context, 2, both, NULL, &status));
        CL(clBuildProgram(made[count++], 1, &device, options[i], NULL, NULL));
    }
    cl_program part[2];
    for (int i = 0; i < 2; i++) {
        CLP(part[i] = clCreateProgramWithSource(context, 1, &both[i], NULL, &status));
        CL(clCompileProgram(part[i], 1, &device, "", 0, NULL, NULL, NULL, NULL));
    }
    CLP(made[count++] = clLinkProgram(context, 1, &device, "", 2, part, NULL, NULL, &status));
    size_t bytes;
    CL(clGetProgramInfo(made[0], CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    unsigned char *binary = malloc(bytes);
    CL(clGetProgramInfo(made[0], CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    CLP(made[count] = clCreateProgramWithBinary(context, 1, &device, &bytes, (const unsigned char **)&binary, NULL, &status));
    CL(clBuildProgram(made[count++], 1, &device, "", NULL, NULL));
    free(binary);
    for (int i = 0; i < count; i++) {
        cl_kernel work;
        CLP(work = clCreateKernel(made[i], "work", &status));
        CL(clReleaseProgram(made[i])); /* the kernel holds it */
        launch_on(work, a, b);
        take(b, 8 * N);
        CL(clReleaseKernel(work));
    }
    printf("%d programs\n", count);
}

/* A program with lines, and one with lines and a file of its own. */
static void lines(void)
{
    static const char *const texts[] = {
        "int twice(global const int *p, int i)\n{\n    return 2 * p[i];\n}\nkernel void near(global const int *a, global int *b)\n{\n"
        "    int i = get_global_id(0);\n    b[i] = twice(a, i) / 7;\n}\n",
        "#line 100 \"far.cl\"\nkernel void far(global const int *a, global int *b)\n{\n    int i = get_global_id(0);\n    int x = a[i];\n    b[i] = x / 7;\n}\n",
    };
    int threes[N];
    for (int i = 0; i < N; i++)
        threes[i] = 3;
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    put(a, 0, threes, sizeof threes);
    for (int i = 0; i < 2; i++) {
        cl_program with_lines;
        cl_kernel k;
        CLP(with_lines = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&texts[i], NULL, &status));
        CL(clBuildProgram(with_lines, 1, &device, "-g", NULL, NULL));
        CLP(k = clCreateKernel(with_lines, i ? "far" : "near", &status));
        launch_on(k, a, b);
        take(b, 4 * N);
    }
}

/* What compilers may round in another way, by options. */
static void mathematics(void)
{
    static const char *const options[] = {"", "-cl-mad-enable -DTWO=2.0f", "-cl-std=CL1.2 -cl-denorms-are-zero -cl-no-signed-zeros", "-cl-finite-math-only",
                                          "-cl-single-precision-constant -D TWO=(1.5+1)", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"};
    static const char source[] =
        "#ifndef TWO\n#define TWO 2\n#endif\n"
        "kernel void compute(global const float *a, global float *b, global const double *c, global double *d) {\n"
        "    int i = get_global_id(0);\n    float x = a[i], y = a[i ^ 1], sum = 0;\n    double z = c[i], w = c[i ^ 1];\n"
        "    for (int k = 0; k < 10; k++) sum += x * k + log(y + k);\n"
        "    b[8 * i] = x * y + x; b[8 * i + 1] = exp(x); b[8 * i + 2] = sin(x * y); b[8 * i + 3] = pow(y, x);\n"
        "    b[8 * i + 4] = sqrt(y) / x; b[8 * i + 5] = native_exp(x) * TWO; b[8 * i + 6] = x / y * 3.1 + rsqrt(y); b[8 * i + 7] = sum;\n"
        "    d[4 * i] = z * w + z; d[4 * i + 1] = exp(z) / w; d[4 * i + 2] = cos(z) - tan(w); d[4 * i + 3] = fma(z, w, -z) + cbrt(w); }\n";
    const char *one = source;
    static float small[N];
    static double wide[N];
    for (int i = 0; i < N; i++)
        wide[i] = small[i] = (float)(i + 1) * 0.0123f;
    cl_mem a = buffer(sizeof small), b = buffer(8 * sizeof small), c = buffer(sizeof wide), d = buffer(4 * sizeof wide);
    put(a, 0, small, sizeof small);
    put(c, 0, wide, sizeof wide);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        cl_program compiled;
        cl_kernel compute;
        const size_t n = N;
        CLP(compiled = clCreateProgramWithSource(context, 1, &one, NULL, &status));
        CL(clBuildProgram(compiled, 1, &device, options[i], NULL, NULL));
        CLP(compute = clCreateKernel(compiled, "compute", &status));
        cl_mem all[] = {a, b, c, d};
        for (cl_uint k = 0; k < 4; k++)
            CL(clSetKernelArg(compute, k, sizeof(cl_mem), &all[k]));
        CL(clEnqueueNDRangeKernel(queue, compute, 1, NULL, &n, NULL, 0, NULL, NULL));
        take(b, 8 * sizeof small);
        take(d, 4 * sizeof wide);
        printf("%s: %016llx\n", options[i], (unsigned long long)checksum);
    }
}

static volatile sig_atomic_t deaths;

static void count_death(int number)
{
    (void)number;
    deaths = deaths + 1;
}

/* The program has no children, whatever it takes to look at its kernels. */
static void childless(void)
{
    struct sigaction action = {.sa_handler = count_death};
    sigaction(SIGCHLD, &action, NULL);
    kernels();
    const pid_t waited = waitpid(-1, NULL, WNOHANG);
    printf("%d deaths, %s\n", (int)deaths, waited < 0 && errno == ECHILD ? "no children" : "children");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"writes", writes},
        {"fills", fills},
        {"copies", copies},
        {"kernels", kernels},
        {"looks", looks},
        {"sets", sets},
        {"missed", missed},
        {"places", places},
        {"rectangles", rectangles},
        {"maps", maps},
        {"svm", svm},
        {"threads", threads},
        {"contexts", contexts},
        {"large", large},
        {"fresh", fresh},
        {"patterns", patterns},
        {"guesses", guesses},
        {"duplicates", duplicates},
        {"figure", figure},
        {"programs", programs},
        {"lines", lines},
        {"mathematics", mathematics},
        {"childless", childless},
    };
    const char *source = text;
    cl_platform_id platform;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    CLP(program = clCreateProgramWithSource(context, 1, &source, NULL, &status));
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            CL(clFinish(queue));
            printf("checksum %016llx\n", (unsigned long long)checksum);
            return 0;
        }
    return 2;
}

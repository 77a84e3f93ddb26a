/* values.c - operations whose answer follows from this source: what of it each leaves unchanged.
 *
 *     values CASE [argument]
 *     values texts FOLDER: what its kernels are made of (texts.h)
 *
 * Each case is a function below; tests/values/run.py knows what Sonde must say of it. Prints a checksum of all that was read.
 */
#include "texts.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

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

/* Eleven work-items write ranges of bytes that overlap: 109 bytes in all, of which the even ones are zero, as they were. */
static void overlap(void)
{
    static const int from[] = {5, 10, 0, 40, 40, 41, 55, 100, 105, 90, 133}, to[] = {20, 25, 8, 41, 60, 59, 70, 120, 112, 104, 157};
    cl_mem a = buffer(160), begin = buffer(sizeof from), end = buffer(sizeof to);
    cl_kernel spread = kernel("spread");
    put(begin, 0, from, sizeof from);
    put(end, 0, to, sizeof to);
    CL(clSetKernelArg(spread, 0, sizeof a, &a));
    CL(clSetKernelArg(spread, 1, sizeof begin, &begin));
    CL(clSetKernelArg(spread, 2, sizeof end, &end));
    launch(spread, sizeof from / sizeof *from);
    take(a, 160);
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

static cl_command_queue out_of_order(void)
{
    cl_command_queue made;
    CLP(made = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
    return made;
}

static cl_event gate(void)
{
    cl_event made;
    CLP(made = clCreateUserEvent(context, &status));
    return made;
}

static void open_gate(cl_event event)
{
    CL(clSetUserEventStatus(event, CL_COMPLETE));
    CL(clReleaseEvent(event));
}

/* What is not looked at: memory that is mapped in one queue and unmapped in another. */
static void missed(void)
{
    cl_mem a = buffer(4 * N);
    cl_command_queue any = out_of_order();
    int *mapped;
    CLP(mapped = clEnqueueMapBuffer(any, a, CL_TRUE, CL_MAP_WRITE, 0, 4 * N, 0, NULL, NULL, &status));
    mapped[0] = 2;
    CL(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
    take(a, 4 * N);
    CL(clReleaseCommandQueue(any));
}

struct arguments {
    int *to;
    const int *from;
};

static void CL_CALLBACK half(void *given)
{
    const struct arguments *a = given;
    for (int i = 0; i < N / 2; i++)
        a->to[i] = a->from[i] + i % 2;
}

static void CL_CALLBACK nothing(void *given)
{
    (void)given;
}

/* A function of the host's with two buffers, and one with none. */
static void natives(void)
{
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    struct arguments arguments = {NULL, NULL};
    const cl_mem objects[] = {a, b};
    const void *places[] = {&arguments.to, &arguments.from};
    CL(clEnqueueNativeKernel(queue, half, &arguments, sizeof arguments, 2, objects, places, 0, NULL, NULL));
    CL(clEnqueueNativeKernel(queue, nothing, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    take(a, 4 * N);
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

enum { WIDTH = 12,
       HEIGHT = 7,
       LAYERS = 5,
       PIXELS = WIDTH * HEIGHT * LAYERS };

static cl_mem image(cl_mem_object_type type, cl_channel_type channel, bool contents)
{
    static unsigned char zeros[16 * PIXELS];
    const cl_image_format format = {CL_RGBA, channel};
    const cl_image_desc shape = {.image_type = type, .image_width = WIDTH, .image_height = HEIGHT, .image_depth = LAYERS, .image_array_size = LAYERS};
    cl_mem made;
    CLP(made = clCreateImage(context, CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0), &format, &shape, contents ? zeros : NULL, &status));
    return made;
}

/* The pixels of a region, one behind the other; `back`: from there to their places. */
static void pixels(unsigned char *all, unsigned char *packed, const size_t *origin, const size_t *region, size_t height, size_t bytes, bool back)
{
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++, packed += region[0] * bytes) {
            unsigned char *row = all + (((origin[2] + z) * height + origin[1] + y) * WIDTH + origin[0]) * bytes;
            memcpy(back ? row : packed, back ? packed : row, region[0] * bytes);
        }
}

/* Regions of images of four shapes and three formats: written, copied, filled, copied from a buffer; a kernel that may write all; a copy to a buffer. */
static void images(void)
{
    static const cl_mem_object_type types[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
    static const cl_channel_type channels[] = {CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32};
    static const char *const names[] = {"clEnqueueWriteImage", "clEnqueueCopyImage", "clEnqueueFillImage", "clEnqueueCopyBufferToImage"};
    static unsigned char there[16 * PIXELS], before[16 * PIXELS], after[16 * PIXELS], marks[16 * PIXELS];
    const size_t none[3] = {0, 0, 0};
    uint32_t random = 1;
    memset(marks, 1, sizeof marks);
    for (int t = 0; t < 4; t++)
        for (int c = 0; c < 3; c++) {
            const size_t bytes = 4u << c, whole[3] = {WIDTH, t ? HEIGHT : 1, t > 1 ? LAYERS : 1};
            cl_mem a = image(types[t], channels[c], true), zeros = image(types[t], channels[c], true), packed = buffer(16 * PIXELS);
            memset(there, 0, sizeof there);
            for (int turn = 0; turn < 12; turn++) {
                size_t origin[3], region[3], count = 1;
                for (int k = 0; k < 3; k++) {
                    random = random * 1664525u + 1013904223u;
                    region[k] = 1 + (random >> 20) % whole[k];
                    origin[k] = (random >> 10) % (whole[k] - region[k] + 1);
                    count *= region[k];
                }
                pixels(there, before, origin, region, whole[1], bytes, false);
                for (size_t i = 0; i < count * bytes; i++)
                    after[i] = turn % 4 == 1 ? 0 : turn % 4 == 2 ? (i % ((size_t)1 << c) ? 0 : 3)
                                                                 : (unsigned char)(before[i] + (i * 2654435761u >> 7) % 5 / 4);
                const cl_uint colour[4] = {3, 3, 3, 3};
                if (turn % 4 == 0)
                    CL(clEnqueueWriteImage(queue, a, CL_TRUE, origin, region, 0, 0, after, 0, NULL, NULL));
                else if (turn % 4 == 1)
                    CL(clEnqueueCopyImage(queue, zeros, a, none, origin, region, 0, NULL, NULL));
                else if (turn % 4 == 2)
                    CL(clEnqueueFillImage(queue, a, colour, origin, region, 0, NULL, NULL));
                else {
                    CL(clEnqueueWriteBuffer(queue, packed, CL_TRUE, 8, count * bytes, after, 0, NULL, NULL));
                    CL(clEnqueueCopyBufferToImage(queue, packed, a, 8, origin, region, 0, NULL, NULL));
                }
                count_marked(before, after, marks, count * bytes, names[turn % 4]);
                pixels(there, after, origin, region, whole[1], bytes, true);
            }
            if (t == 1) {
                cl_kernel paint = kernel("paint");
                CL(clSetKernelArg(paint, 0, sizeof a, &a));
                memcpy(before, there, sizeof before);
                launch(paint, 8);
                for (size_t i = 0; i < 8 * bytes; i++)
                    there[i] = i % ((size_t)1 << c) ? 0 : 1;
                count_marked(before, there, marks, WIDTH * HEIGHT * bytes, "paint");
                CL(clReleaseKernel(paint));
            }
            CL(clEnqueueCopyImageToBuffer(queue, a, packed, none, whole, 0, 0, NULL, NULL));
            take(packed, whole[0] * whole[1] * whole[2] * bytes);
            CL(clEnqueueReadImage(queue, a, CL_TRUE, none, whole, 0, 0, after, 0, NULL, NULL));
            if (memcmp(after, there, whole[0] * whole[1] * whole[2] * bytes) != 0)
                exit(1);
            CL(clReleaseMemObject(a));
            CL(clReleaseMemObject(zeros));
            CL(clReleaseMemObject(packed));
        }
}

/* An image without contents: four rows, of which two are written again, then all, then a part that is no stretch of rows. A kernel reads one and writes another;
 * and one is written in a queue out of order. */
static void fresh_images(void)
{
    static unsigned char zeros[16 * PIXELS];
    const size_t none[3] = {0, 0, 0}, rows[3] = {WIDTH, 4, 1}, some[3] = {WIDTH, 2, 1}, all[3] = {WIDTH, HEIGHT, 1}, part[3] = {3, 3, 1}, at[3] = {0, 2, 0};
    cl_mem a = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, false), b = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, false);
    cl_mem c = image(CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT32, true);
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, none, rows, 0, 0, zeros, 0, NULL, NULL));
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, at, some, 0, 0, zeros, 0, NULL, NULL)); /* the first that is compared */
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, none, all, 0, 0, zeros, 0, NULL, NULL));
    CL(clEnqueueWriteImage(queue, a, CL_TRUE, at, part, 0, 0, zeros, 0, NULL, NULL)); /* the second */
    const size_t items = WIDTH;
    cl_kernel stamp = kernel("stamp");
    CL(clSetKernelArg(stamp, 0, sizeof a, &a));
    CL(clSetKernelArg(stamp, 1, sizeof b, &b));
    for (int i = 0; i < 2; i++) /* of the first nothing is known; the second leaves all as it was */
        CL(clEnqueueNDRangeKernel(queue, stamp, 1, NULL, &items, NULL, 0, NULL, NULL));
    cl_command_queue any = out_of_order();
    const cl_uint colour[4] = {0, 0, 0, 0};
    const cl_event go = gate();
    cl_event event;
    CL(clEnqueueFillImage(any, c, colour, at, some, 1, &go, &event));
    CL(clEnqueueFillImage(any, c, colour, at, part, 1, &event, NULL));
    CL(clReleaseEvent(event));
    open_gate(go);
    CL(clFinish(any));
    CL(clReleaseCommandQueue(any));
    CL(clEnqueueReadImage(queue, a, CL_TRUE, none, all, 0, 0, zeros, 0, NULL, NULL));
    for (size_t i = 0; i < 16 * WIDTH * HEIGHT; i++)
        checksum = (checksum ^ zeros[i]) * 1099511628211u;
}

/* What a turn below waits for. */
enum order { BY_EVENTS,
             BY_BARRIERS,
             BY_WAITING };

static void ordered(cl_command_queue any, enum order by, cl_event *last, cl_event now)
{
    if (by == BY_BARRIERS)
        CL(clEnqueueBarrierWithWaitList(any, 0, NULL, NULL));
    if (by == BY_WAITING)
        CL(clWaitForEvents(1, &now));
    CL(clReleaseEvent(*last));
    *last = now;
}

/* In a queue out of order each waits for the one before it: a write, a read, a kernel, a copy to another buffer, a fill. They are ordered by events,
 * of which the first is the program's, by barriers, or because the program waits. */
static void any_order(void)
{
    static int there[N], other[N], second[N], host[3][N], seen[N];
    static unsigned char marks[4 * N];
    const int value = 3, n = 600;
    const size_t items = N;
    cl_command_queue any = out_of_order();
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    cl_kernel set = kernel("set");
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    for (enum order by = BY_EVENTS; by <= BY_WAITING; by++) {
        const cl_uint waits = by == BY_EVENTS ? 1 : 0;
        const cl_event first = gate();
        cl_event last = first, now;
        CL(clRetainEvent(first));
        cl_event *const list = waits ? &last : NULL;
        for (int i = 0; i < N; i++)
            host[by][i] = i % 3 == (int)by ? 3 : i;
        if (by == BY_BARRIERS)
            CL(clEnqueueBarrierWithWaitList(any, 1, &first, NULL));
        else if (by == BY_WAITING)
            CL(clSetUserEventStatus(first, CL_COMPLETE));
        CL(clEnqueueWriteBuffer(any, a, CL_FALSE, 0, sizeof seen, host[by], waits, list, &now));
        memset(marks, 1, sizeof marks);
        count_marked((unsigned char *)there, (unsigned char *)host[by], marks, sizeof marks, "clEnqueueWriteBuffer");
        memcpy(there, host[by], sizeof there);
        ordered(any, by, &last, now);
        CL(clEnqueueReadBuffer(any, a, CL_FALSE, 0, sizeof seen, seen, waits, list, &now));
        ordered(any, by, &last, now);
        CL(clEnqueueNDRangeKernel(any, set, 1, NULL, &items, NULL, waits, list, &now));
        memset(marks + 4 * n, 0, sizeof marks - 4 * n);
        for (int i = 0; i < N; i++)
            other[i] = i < n ? value : there[i];
        count_marked((unsigned char *)there, (unsigned char *)other, marks, sizeof marks, "set");
        memcpy(there, other, sizeof there);
        ordered(any, by, &last, now);
        CL(clEnqueueCopyBuffer(any, a, b, 0, 0, sizeof seen, waits, list, &now));
        memset(marks, 1, sizeof marks);
        count_marked((unsigned char *)second, (unsigned char *)there, marks, sizeof marks, "clEnqueueCopyBuffer");
        memcpy(second, there, sizeof second);
        ordered(any, by, &last, now);
        CL(clEnqueueFillBuffer(any, a, "\0", 1, 3, 10, waits, list, &now)); /* bytes 3 to 12 */
        memset(marks, 0, sizeof marks);
        memset(marks + 3, 1, 10);
        memset((char *)other + 3, 0, 10);
        count_marked((unsigned char *)there, (unsigned char *)other, marks, sizeof marks, "clEnqueueFillBuffer");
        memcpy(there, other, sizeof there);
        ordered(any, by, &last, now);
        if (by != BY_WAITING)
            CL(clSetUserEventStatus(first, CL_COMPLETE));
        CL(clFinish(any));
        CL(clReleaseEvent(last));
        CL(clReleaseEvent(first));
        for (int i = 0; i < N; i++)
            checksum = (checksum ^ (uint64_t)seen[i]) * 1099511628211u;
    }
    take(a, 4 * N);
    take(b, 4 * N);
    CL(clReleaseCommandQueue(any));
}

/* Nothing orders these: two fills of one buffer in two places, two kernels that write another, of which one was looked at before, and a write
 * that is over before the program lets another one begin. */
static void no_order(void)
{
    const int one = 1, value = 3, n = N;
    const size_t items = N;
    static int numbers[N];
    cl_command_queue any = out_of_order();
    cl_mem a = buffer(4 * N), b = buffer(4 * N), c = buffer(4 * N), d = buffer(4 * N);
    cl_event go = gate(), done;
    cl_kernel set = kernel("set");
    CL(clSetKernelArg(set, 0, sizeof b, &b));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    for (int i = 0; i < 2; i++)
        CL(clEnqueueFillBuffer(any, a, &one, sizeof one, (size_t)(2 * N * i), 2 * N, 1, &go, NULL));
    for (int i = 0; i < 2; i++)
        CL(clEnqueueNDRangeKernel(any, set, 1, NULL, &items, NULL, 1, &go, NULL));
    CL(clEnqueueCopyBuffer(any, d, c, 0, 0, 4 * N, 1, &go, NULL));
    CL(clEnqueueWriteBuffer(any, d, CL_FALSE, 0, 4 * N, numbers, 0, NULL, &done));
    CL(clFlush(any));
    CL(clWaitForEvents(1, &done));
    CL(clReleaseEvent(done));
    open_gate(go);
    CL(clFinish(any));
    take(a, 4 * N);
    take(b, 4 * N);
    CL(clReleaseCommandQueue(any));
}

/* Writes, fills, copies, kernels and reads of five buffers, each behind those alone whose results it reads or replaces. All of a round wait for the program. */
static void tangle_in(cl_command_queue in)
{
    enum { BUFFERS = 5,
           ROUNDS = 6,
           OPERATIONS = 24 };
    static int numbers[OPERATIONS + 1][N], seen[OPERATIONS + 1][N];
    cl_mem all[BUFFERS];
    cl_kernel set = kernel("set");
    uint32_t random = 1;
    for (int i = 0; i < BUFFERS; i++)
        all[i] = buffer(4 * N);
    for (int round = 0; round < ROUNDS; round++) {
        cl_event events[OPERATIONS + 1] = {gate()};
        bool reads[BUFFERS][OPERATIONS + 1] = {{false}};
        int writer[BUFFERS] = {0};
        for (int i = 1; i <= OPERATIONS; i++) {
            uint32_t r[6];
            for (int k = 0; k < 6; k++)
                r[k] = (random = random * 1664525u + 1013904223u) >> 12;
            const int a = (int)(r[1] % BUFFERS), b = (a + 1 + (int)r[2] % (BUFFERS - 1)) % BUFFERS, value = (int)r[3] % 3, n = 1 + (int)r[4] % N;
            const size_t from = 4 * (r[3] % 500), bytes = 4 * (1 + r[4] % 400), items = N;
            cl_event list[OPERATIONS + 3];
            cl_uint count = 0;
            list[count++] = events[writer[a]];
            for (int k = 1; k < i && r[0] % 5 != 4; k++)
                if (reads[a][k])
                    list[count++] = events[k];
            for (int k = 0; k < N; k++)
                numbers[i][k] = k % 7 ? (int)r[5] % 3 : 1;
            switch (r[0] % 5) {
            case 0:
                CL(clEnqueueWriteBuffer(in, all[a], CL_FALSE, from, bytes, numbers[i], count, list, &events[i]));
                break;
            case 1:
                CL(clEnqueueFillBuffer(in, all[a], &value, sizeof value, from, bytes, count, list, &events[i]));
                break;
            case 2:
                list[count++] = events[writer[b]];
                CL(clEnqueueCopyBuffer(in, all[b], all[a], from, from, bytes, count, list, &events[i]));
                reads[b][i] = true;
                break;
            case 3:
                CL(clSetKernelArg(set, 0, sizeof all[a], &all[a]));
                CL(clSetKernelArg(set, 1, sizeof value, &value));
                CL(clSetKernelArg(set, 2, sizeof n, &n));
                CL(clEnqueueNDRangeKernel(in, set, 1, NULL, &items, NULL, count, list, &events[i]));
                break;
            default:
                CL(clEnqueueReadBuffer(in, all[a], CL_FALSE, 0, 4 * N, seen[i], count, list, &events[i]));
                reads[a][i] = true;
            }
            if (r[0] % 5 != 4) {
                writer[a] = i;
                memset(reads[a], 0, sizeof reads[a]);
            }
        }
        CL(clSetUserEventStatus(events[0], CL_COMPLETE));
        CL(clFinish(in));
        for (int i = 0; i <= OPERATIONS; i++)
            CL(clReleaseEvent(events[i]));
    }
    for (int i = 0; i < BUFFERS; i++)
        take(all[i], 4 * N);
}

static void tangle(void)
{
    tangle_in(queue);
}

static void any_tangle(void)
{
    cl_command_queue any = out_of_order();
    tangle_in(any);
    CL(clReleaseCommandQueue(any));
}

/* In a queue out of order: much that takes long to compare is written, and behind that a few bytes here and there. */
static void behind(void)
{
    enum { ROOM = 16 << 20,
           PLACES = 16 };
    const int one = 1;
    cl_command_queue any = out_of_order();
    cl_mem a = buffer(ROOM);
    unsigned char *zeros = calloc(ROOM, 1);
    for (int turn = 0; turn < 8; turn++) {
        cl_event written, filled[PLACES];
        CL(clEnqueueWriteBuffer(any, a, CL_FALSE, 0, ROOM, zeros, 0, NULL, &written));
        for (size_t i = 0; i < PLACES; i++)
            CL(clEnqueueFillBuffer(any, a, &one, sizeof one, ROOM / PLACES * (i + 1) - 4, 4, 1, &written, &filled[i]));
        CL(clReleaseEvent(written));
        CL(clWaitForEvents(PLACES, filled));
        for (int i = 0; i < PLACES; i++)
            CL(clReleaseEvent(filled[i]));
    }
    CL(clFinish(any));
    take(a, ROOM);
    free(zeros);
    CL(clReleaseMemObject(a));
    CL(clReleaseCommandQueue(any));
}

/* A hundred operations wait for the program, and then ten that do not. */
static void many(void)
{
    const int one = 1;
    cl_command_queue any = out_of_order();
    cl_mem a = buffer(4 * N);
    cl_event go = gate();
    for (int i = 0; i < 100; i++)
        CL(clEnqueueFillBuffer(any, a, &one, sizeof one, (size_t)(40 * i), 40, 1, &go, NULL));
    open_gate(go);
    CL(clFinish(any));
    for (int i = 0; i < 10; i++)
        CL(clEnqueueFillBuffer(any, a, &one, sizeof one, (size_t)(40 * i), 40, 0, NULL, NULL));
    CL(clFinish(any));
    take(a, 4 * N);
    CL(clReleaseCommandQueue(any));
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
        unsigned char *const from = round < 4 ? a : a + 64;
        CL(clSetKernelArgSVMPointer(set, 0, from));
        CL(clSetKernelArg(set, 1, sizeof value, &value));
        CL(clSetKernelArg(set, 2, sizeof n, &n));
        launch(set, N);
        CL(clFinish(queue));
        CL(clReleaseKernel(set));
        memset(marks, 0, sizeof marks);
        memset(marks + (from - a), 1, 4 * n);
        memcpy(other, there, sizeof other);
        memset(other + (from - a), 3, 4 * n);
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

/* Shared virtual memory mapped for writing, whole or in part, some of it twice at once, with a wait; for reading; and new memory, of which a part
 * has contents. */
static void svm_maps(void)
{
    static unsigned char there[4 * N], other[4 * N], marks[4 * N];
    unsigned char *a = clSVMAlloc(context, CL_MEM_READ_WRITE, 4 * N, 0), *b = clSVMAlloc(context, CL_MEM_READ_WRITE, 4 * N, 0);
    CL(clEnqueueSVMMemFill(queue, a, "\0\0\0\0", 4, 4 * N, 0, NULL, NULL));
    for (size_t turn = 0; turn < 12; turn++) {
        const size_t from = 52 * turn, bytes = turn % 3 ? 1001 * (turn % 3) : 4 * N - from;
        const cl_event go = gate();
        CL(clEnqueueSVMMap(queue, CL_FALSE, turn % 2 ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ | CL_MAP_WRITE, a + from, bytes, 1, &go, NULL));
        open_gate(go);
        CL(clFinish(queue));
        CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, b, 4 * N, 0, NULL, NULL));
        CL(clEnqueueSVMUnmap(queue, b, 0, NULL, NULL));
        memset(marks, 0, sizeof marks);
        for (size_t i = from; i < from + bytes; i++) {
            marks[i] = 1;
            other[i] = turn % 2 || i % 3 ? (unsigned char)(there[i] + i % 7 / 6) : there[i];
            a[i] = other[i];
        }
        CL(clEnqueueSVMUnmap(queue, a + from, 0, NULL, NULL));
        count_marked(there, other, marks, 4 * N, "clEnqueueSVMUnmap");
        memcpy(there, other, sizeof there);
    }
    const int one = 1;
    CL(clEnqueueSVMMemFill(queue, b, &one, sizeof one, 2 * N, 0, NULL, NULL));
    CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, b + N, 2 * N, 0, NULL, NULL));
    memset(b + N, 0, 2 * N);
    CL(clEnqueueSVMUnmap(queue, b + N, 0, NULL, NULL)); /* of the first half of it something is known */
    for (int i = 0; i < N; i++)
        memcpy(there + 4 * i, &one, sizeof one);
    memset(other, 0, sizeof other);
    memset(marks, 0, sizeof marks);
    memset(marks + N, 1, N);
    count_marked(there, other, marks, 4 * N, "clEnqueueSVMUnmap");
    CL(clFinish(queue));
    for (int i = 0; i < 4 * N; i++)
        checksum = (checksum ^ a[i]) * 1099511628211u;
    clSVMFree(context, a);
    clSVMFree(context, b);
}

/* Kernels with pointers to the middle of shared virtual memory: one that reads the beginning and writes behind it; one that writes where marks do
 * not fit; one that writes through two pointers to one allocation. */
static void svm_parts(void)
{
    const int value = 3, n = 300;
    static unsigned char there[8 * N], other[8 * N], marks[8 * N];
    unsigned char *a = clSVMAlloc(context, CL_MEM_READ_WRITE, 8 * N, 0);
    CL(clEnqueueSVMMemFill(queue, a, "\7\0\0\0", 4, 8 * N, 0, NULL, NULL));
    CL(clEnqueueSVMMemFill(queue, a, "\3\0\0\0", 4, 2 * N, 0, NULL, NULL));
    cl_kernel look = kernel("look"), set = kernel("set"), either = kernel("either");
    CL(clSetKernelArgSVMPointer(look, 0, a));
    CL(clSetKernelArgSVMPointer(look, 1, a + 4 * N));
    launch(look, N);
    for (int i = 0; i < 2 * N; i++)
        memcpy(there + 4 * i, i < N / 2 ? "\3\0\0\0" : "\7\0\0\0", 4);
    memcpy(other, there, sizeof there);
    memcpy(other + 4 * N, there, 4 * N);
    memset(marks + 4 * N, 1, 4 * N);
    count_marked(there, other, marks, 8 * N, "look");
    memcpy(there, other, sizeof there);
    CL(clSetKernelArgSVMPointer(set, 0, a + 4));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    launch(set, N); /* what is 3 already, but for nothing */
    memset(marks, 1, sizeof marks);
    count_marked(there, other, marks, 8 * N, "set");
    CL(clSetKernelArgSVMPointer(either, 0, a));
    CL(clSetKernelArgSVMPointer(either, 1, a + 6 * N));
    launch(either, N);
    for (int i = 0; i < N; i += 2) { /* as the kernel has it */
        const int written = i % 8 ? 0 : 1;
        memcpy(other + (i % 4 ? 0 : 6 * N) + 4 * (i / 2), &written, sizeof written);
    }
    count_marked(there, other, marks, 8 * N, "either");
    CL(clFinish(queue));
    for (int i = 0; i < 8 * N; i++)
        checksum = (checksum ^ a[i]) * 1099511628211u;
    clSVMFree(context, a);
}

/* Two threads launch in one queue, each its own kernel object. */
static cl_command_queue shared;

static void *launcher(void *to)
{
    const size_t items = N;
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof(cl_mem), to));
    for (int i = 0; i < 200; i++)
        CL(clEnqueueNDRangeKernel(shared, count, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clReleaseKernel(count));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    cl_mem a = buffer(4 * N);
    shared = shared ? shared : queue;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, launcher, &a);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CL(clFinish(shared));
    take(a, 4 * N);
}

static void any_threads(void)
{
    shared = out_of_order();
    threads();
    CL(clReleaseCommandQueue(shared));
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

/* Buffers that come and go, each for one launch, which may run when it is released. */
static void loop(void)
{
    enum { BUFFERS = 20000,
           ITEMS = 10 };
    const int seven = 7, n = ITEMS;
    cl_kernel set = kernel("set");
    CL(clSetKernelArg(set, 1, sizeof seven, &seven));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    for (int i = 0; i < BUFFERS; i++) {
        cl_mem a;
        CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof seven * ITEMS, NULL, &status));
        CL(clSetKernelArg(set, 0, sizeof a, &a));
        launch(set, ITEMS);
        if (i % 2)
            CL(clFinish(queue));
        CL(clReleaseMemObject(a));
        CL(clFinish(queue));
    }
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
    static const char *const names[] = {"near", "far"};
    int threes[N];
    for (int i = 0; i < N; i++)
        threes[i] = 3;
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    put(a, 0, threes, sizeof threes);
    for (int i = 0; i < 2; i++) {
        cl_program with_lines;
        cl_kernel k;
        with_lines = text_program(context, names[i]);
        CL(clBuildProgram(with_lines, 1, &device, "-g", NULL, NULL));
        CLP(k = clCreateKernel(with_lines, names[i], &status));
        launch_on(k, a, b);
        take(b, 4 * N);
    }
}

/* What compilers may round in another way, by options. */
static void mathematics(void)
{
    static const char *const options[] = {"", "-cl-mad-enable -DTWO=2.0f", "-cl-std=CL1.2 -cl-denorms-are-zero -cl-no-signed-zeros", "-cl-finite-math-only",
                                          "-cl-single-precision-constant -D TWO=(1.5+1)", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"};
    static const char *const of_il[] = {"", "-cl-mad-enable", "-cl-denorms-are-zero -cl-no-signed-zeros", "-cl-finite-math-only",
                                        "-cl-single-precision-constant", "-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"};
    static_assert(sizeof of_il == sizeof options, "the same number of programs");
    const char *const *const how = text_folder() ? of_il : options;
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
        compiled = text_program(context, "mathematics");
        CL(clBuildProgram(compiled, 1, &device, how[i], NULL, NULL));
        CLP(compute = clCreateKernel(compiled, "compute", &status));
        cl_mem all[] = {a, b, c, d};
        for (cl_uint k = 0; k < 4; k++)
            CL(clSetKernelArg(compute, k, sizeof(cl_mem), &all[k]));
        CL(clEnqueueNDRangeKernel(queue, compute, 1, NULL, &n, NULL, 0, NULL, NULL));
        take(b, 8 * sizeof small);
        take(d, 4 * sizeof wide);
        printf("%s: %016llx\n", how[i], (unsigned long long)checksum);
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
        {"overlap", overlap},
        {"missed", missed},
        {"images", images},
        {"fresh_images", fresh_images},
        {"natives", natives},
        {"places", places},
        {"rectangles", rectangles},
        {"maps", maps},
        {"any_order", any_order},
        {"no_order", no_order},
        {"tangle", tangle},
        {"any_tangle", any_tangle},
        {"behind", behind},
        {"many", many},
        {"svm", svm},
        {"svm_maps", svm_maps},
        {"svm_parts", svm_parts},
        {"threads", threads},
        {"any_threads", any_threads},
        {"contexts", contexts},
        {"large", large},
        {"loop", loop},
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
    cl_platform_id platform;
    if (argc > 2 && !strcmp(argv[1], "texts"))
        return text_write(argv[2]);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    program = text_program(context, "kernels");
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

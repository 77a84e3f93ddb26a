/* writes.c - writes and copies of buffers, whole, in part and as rectangles; what was never written; more than there is room for: cases of values.c. */
#include "values.h"

/* The first writes what is there already; the second 0 to 999, of which one is; the third half of it. */
void writes(void)
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
void fills(void)
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

void copies(void)
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

/* Every size and place of a write: some of it differs from what is there in one byte. */
void places(void)
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

/* Rectangles of any size and place, written and copied; of those that are written a part differs. */
void rectangles(void)
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

/* What lies in a new buffer is undefined: only what was written before can be written again. */
void fresh(void)
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

/* More than --values-memory=1M has room for. */
void large(void)
{
    const int one = 1;
    cl_mem a = buffer(4 << 20);
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 << 20, 0, NULL, NULL));
    take(a, 4 << 20);
}

/* Doubles that a kernel reads: their lower halves stay what they were, zeros, and none of them does. */
void wide(void)
{
    double numbers[N];
    cl_mem a = buffer(sizeof numbers), b = buffer(sizeof numbers);
    for (int turn = 1; turn < 3; turn++) {
        for (int i = 0; i < N; i++)
            numbers[i] = i + turn;
        put(a, 0, numbers, sizeof numbers);
    }
    launch_on(kernel("read_wide"), a, b);
    take(b, sizeof numbers);
}

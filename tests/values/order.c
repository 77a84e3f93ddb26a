/* order.c - what orders operations of a queue, and what does not: cases of values.c. */
#include "values.h"

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
void any_order(void)
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
void no_order(void)
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

void tangle(void)
{
    tangle_in(queue);
}

void any_tangle(void)
{
    cl_command_queue any = out_of_order();
    tangle_in(any);
    CL(clReleaseCommandQueue(any));
}

/* In a queue out of order: much that takes long to compare is written, and behind that a few bytes here and there. */
void behind(void)
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
void many(void)
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

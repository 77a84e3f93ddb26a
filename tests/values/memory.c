/* memory.c - memory that is mapped, and shared virtual memory: cases of values.c. */
#include "values.h"

/* Mapped for writing, whole or in part, twice at once, with a wait; for reading; and new memory, of which a part has contents. */
void maps(void)
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
void svm(void)
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
void svm_maps(void)
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
void svm_parts(void)
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

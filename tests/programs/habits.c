/* habits.c - an OpenCL program with every habit that a rule of the advice knows on a CPU device:
 * tests/report/advice_test.py says what must be found. Each habit has a function of its own.
 *
 * case: habits => kernel=80 read=50 write=124
 */
#include "guest.h"

#define APART __attribute__((noinline, noclone))
enum { TURNS = 40, ROW = 64, LARGE = 4 << 20 };

static struct guest g;
static char bytes[LARGE];

/* Kernel, wait, small copy. */
APART static void waits_for_nothing(void)
{
    for (int i = 0; i < TURNS; i++) {
        guest_add(&g, 1);
        CL(clFinish(g.queue));
        guest_read(&g);
    }
}

APART static void copies_piece_by_piece(cl_mem to)
{
    for (int i = 0; i < ROW; i++)
        CL(clEnqueueWriteBuffer(g.queue, to, CL_FALSE, (size_t)i * 1000, 1000, bytes, 0, NULL, NULL));
    CL(clFinish(g.queue));
}

/* Each to a buffer of its own, which exists for as long: nothing to gather, but much to allocate. */
APART static void copies_to_new_buffers(void)
{
    for (int i = 0; i < TURNS; i++) {
        cl_mem own;
        CLP(own = clCreateBuffer(g.context, CL_MEM_READ_WRITE, 1000, NULL, &status));
        CL(clEnqueueWriteBuffer(g.queue, own, CL_FALSE, 0, 1000, bytes, 0, NULL, NULL));
        CL(clReleaseMemObject(own));
    }
    CL(clFinish(g.queue));
}

APART static void waits_for_copies(cl_mem to)
{
    for (int i = 0; i < 20; i++)
        CL(clEnqueueWriteBuffer(g.queue, to, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL));
}

APART static void allocates(void)
{
    for (int i = 0; i < TURNS; i++) {
        cl_mem scratch;
        CLP(scratch = clCreateBuffer(g.context, CL_MEM_READ_WRITE, 1 << 16, NULL, &status));
        CL(clSetKernelArg(g.add, 0, sizeof scratch, &scratch));
        guest_add(&g, 1);
        CL(clFinish(g.queue));
        CL(clReleaseMemObject(scratch));
    }
    guest_args(&g);
}

int main(void)
{
    cl_mem large;
    guest_open(&g);
    CLP(large = clCreateBuffer(g.context, CL_MEM_READ_WRITE, LARGE, NULL, &status));
    waits_for_nothing();
    copies_piece_by_piece(large);
    copies_to_new_buffers();
    waits_for_copies(large);
    allocates();
    for (int i = 0; i < 10; i++)
        guest_read(&g);
    CL(clReleaseMemObject(large));
    guest_close(&g);
    puts("habits done");
    return 0;
}

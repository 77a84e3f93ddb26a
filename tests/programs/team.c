/* team.c - the vector add of Zhou et al. ("Measurement and analysis of GPU-accelerated
 * applications with HPCToolkit", figure 5): 8 threads, each with a queue of its own.
 *
 * Time in calls is mostly that of the copies: 8 threads wait for their last one
 * at the same time. But the device is idle for other reasons: first start_team()
 * prepares the threads' vectors, then clCreateBuffer copies them, one thread after
 * the other, as drivers do it under a lock; nothing can run before that. From then
 * on there is always a queue with work, so that copies, however long, keep nothing
 * idle, and neither do the frees: each thread leaves a kernel behind before it frees.
 * tests/report/blame_test.py measures it.
 *
 * case: team => kernel=56 write=96 read=48
 */
#include "guest.h"

#include <pthread.h>

enum { THREADS = 8, COUNT = 1 << 21, ROUNDS = 6, SPIN = 400000 };

static const char source[] =
    "kernel void vector_add(global const float *a, global const float *b, global float *c) {\n"
    "    size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

static struct guest g;
static cl_program program;
static pthread_barrier_t allocated;
static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;

static struct task {
    pthread_t thread;
    cl_command_queue queue;
    float *a, *b, *c;
    cl_mem buffers[3];
    int wrong;
} tasks[THREADS];

__attribute__((noinline)) static void allocate(struct task *t)
{
    const size_t bytes = COUNT * sizeof(float);
    float *vectors[] = {t->a, t->b, t->c};
    pthread_mutex_lock(&driver);
    for (int i = 0; i < 3; i++)
        CLP(t->buffers[i] = clCreateBuffer(g.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, vectors[i], &status));
    pthread_mutex_unlock(&driver);
}

__attribute__((noinline)) static void add(struct task *t)
{
    const size_t bytes = COUNT * sizeof(float), items = COUNT;
    cl_kernel kernel;
    CLP(kernel = clCreateKernel(program, "vector_add", &status));
    for (cl_uint i = 0; i < 3; i++)
        CL(clSetKernelArg(kernel, i, sizeof t->buffers[i], &t->buffers[i]));
    for (int round = 0; round < ROUNDS; round++) {
        CL(clEnqueueWriteBuffer(t->queue, t->buffers[0], CL_FALSE, 0, bytes, t->a, 0, NULL, NULL));
        CL(clEnqueueWriteBuffer(t->queue, t->buffers[1], CL_FALSE, 0, bytes, t->b, 0, NULL, NULL));
        CL(clEnqueueNDRangeKernel(t->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        CL(clEnqueueReadBuffer(t->queue, t->buffers[2], round == ROUNDS - 1, 0, bytes, t->c, 0, NULL, NULL));
    }
    for (int i = 0; i < COUNT; i++)
        t->wrong += t->c[i] != t->a[i] + t->b[i];
    CL(clReleaseKernel(kernel));
}

/* Some tens of milliseconds of the device. */
static void leave_behind(struct task *t)
{
    const size_t items = GUEST_ITEMS;
    const cl_int spin = SPIN;
    cl_kernel kernel;
    CLP(kernel = clCreateKernel(g.program, "spin", &status));
    CL(clSetKernelArg(kernel, 0, sizeof g.buffer, &g.buffer));
    CL(clSetKernelArg(kernel, 1, sizeof spin, &spin));
    CL(clEnqueueNDRangeKernel(t->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clFlush(t->queue));
    CL(clReleaseKernel(kernel));
}

static void *work(void *argument)
{
    struct task *t = argument;
    CLP(t->queue = clCreateCommandQueue(g.context, g.device, 0, &status));
    allocate(t);
    pthread_barrier_wait(&allocated);
    add(t);
    leave_behind(t);
    for (int i = 0; i < 3; i++)
        CL(clReleaseMemObject(t->buffers[i]));
    CL(clFinish(t->queue));
    CL(clReleaseCommandQueue(t->queue));
    return NULL;
}

/* Everything a thread needs, made by the one that starts it; the loop is here, so that samples are. */
__attribute__((noinline)) static void start_team(void)
{
    for (int i = 0; i < THREADS; i++) {
        struct task *t = &tasks[i];
        float x = (float)i;
        t->a = malloc(COUNT * sizeof(float)), t->b = malloc(COUNT * sizeof(float)), t->c = malloc(COUNT * sizeof(float));
        for (int k = 0; k < COUNT; k++) {
            x = x * 0.75f + (float)(k & 15);
            t->a[k] = x;
            t->b[k] = 1.0f / (1.0f + x);
            t->c[k] = 0;
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&tasks[i].thread, NULL, work, &tasks[i]);
}

int main(void)
{
    int wrong = 0;
    guest_open(&g);
    const char *text = source;
    CLP(program = clCreateProgramWithSource(g.context, 1, &text, NULL, &status));
    CL(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    pthread_barrier_init(&allocated, NULL, THREADS);
    start_team();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(tasks[i].thread, NULL);
        wrong += tasks[i].wrong;
    }
    printf("%d wrong\n", wrong);
    CL(clReleaseProgram(program));
    guest_close(&g);
    return wrong != 0;
}

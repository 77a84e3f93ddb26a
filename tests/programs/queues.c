/* queues.c - several contexts, sub-devices, many threads and many queues at once.
 *
 * case: two-contexts contexts 2 => kernel=200 read=2
 * case: sub-devices sub => counted
 * case: eight-by-eight threads 8 => kernel=6400 read=8 map=8 unmap=8
 * case: one-queue-eight-threads shared 8 => kernel=1600 read=1
 * case: three-by-eighty lanes 80 => kernel=2400 read=3
 * case: queues-come-and-go churn 500 => kernel=1500 read=1
 * case: contexts-come-and-go reopen 20 => kernel=200 read=20
 */
#include "guest.h"

#include <pthread.h>

static struct guest g;
static int          amount;

static void contexts(void)
{
    struct guest all[2];
    for (int i = 0; i < 2; i++)
        guest_open(&all[i]);
    for (int i = 0; i < 200; i++)
        guest_add(&all[i % 2], 1);
    for (int i = 0; i < 2; i++) {
        printf("context %d ran %d\n", i, guest_read(&all[i]));
        guest_close(&all[i]);
    }
}

static void sub_devices(void)
{
    const cl_device_partition_property by_count[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id                       parts[64];
    cl_uint                            count = 0;
    guest_open(&g);
    cl_int gave = clCreateSubDevices(g.device, by_count, 64, parts, &count);
    printf("partition gave %d\n", gave);
    for (cl_uint i = 0; gave == CL_SUCCESS && i < count && i < 2; i++) {
        cl_context       context;
        cl_command_queue queue;
        cl_mem           buffer;
        cl_uint          units = 0;
        const char      *fill = "x";
        CL(clGetDeviceInfo(parts[i], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
        CLP(context = clCreateContext(NULL, 1, &parts[i], NULL, NULL, &status));
        CLP(queue = clCreateCommandQueue(context, parts[i], 0, &status));
        CLP(buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status));
        for (int k = 0; k < 10; k++)
            CL(clEnqueueFillBuffer(queue, buffer, fill, 1, 0, 4096, 0, NULL, NULL));
        CL(clFinish(queue));
        printf("part with %u unit\n", units);
        CL(clReleaseMemObject(buffer));
        CL(clReleaseCommandQueue(queue));
        CL(clReleaseContext(context));
    }
    guest_add(&g, 10);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    /* Not sooner: PoCL 3.1's thread still looks at a part after the last command there has finished, and dies without it. */
    for (cl_uint i = 0; gave == CL_SUCCESS && i < count && i < 2; i++)
        CL(clReleaseDevice(parts[i]));
}

/* A thread with eight queues and a kernel of its own. */
static void *eight_queues(void *result)
{
    cl_command_queue queues[8];
    struct guest     own = g;
    int              zero = 0;
    CLP(own.add = clCreateKernel(g.program, "add", &status));
    CLP(own.buffer = clCreateBuffer(g.context, CL_MEM_READ_WRITE, GUEST_ITEMS * sizeof(int), NULL, &status));
    CL(clSetKernelArg(own.add, 0, sizeof own.buffer, &own.buffer));
    for (int i = 0; i < 8; i++)
        CLP(queues[i] = clCreateCommandQueue(g.context, g.device, 0, &status));
    own.queue = queues[0];
    void *map = clEnqueueMapBuffer(own.queue, own.buffer, CL_TRUE, CL_MAP_WRITE, 0, GUEST_ITEMS * sizeof zero, 0,
                                   NULL, NULL, NULL);
    memset(map, 0, GUEST_ITEMS * sizeof zero);
    CL(clEnqueueUnmapMemObject(own.queue, own.buffer, map, 0, NULL, NULL));
    CL(clFinish(own.queue));
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 8; k++) {
            guest_launch(&own, queues[k], own.add, 1);
            CL(clFinish(queues[k]));
        }
    *(int *)result = guest_read(&own);
    for (int i = 0; i < 8; i++)
        CL(clReleaseCommandQueue(queues[i]));
    CL(clReleaseMemObject(own.buffer));
    CL(clReleaseKernel(own.add));
    return NULL;
}

static void threads(void)
{
    pthread_t all[64];
    int       results[64];
    guest_open(&g);
    for (int i = 0; i < amount; i++)
        pthread_create(&all[i], NULL, eight_queues, &results[i]);
    for (int i = 0; i < amount; i++) {
        pthread_join(all[i], NULL);
        printf("thread %d ran %d\n", i, results[i]);
    }
    guest_close(&g);
}

static void *share(void *arg)
{
    for (int i = 0; i < 200; i++) {
        guest_add(&g, 1);
        if (i % 50 == 0)
            CL(clFinish(g.queue));
    }
    return arg;
}

static void shared(void)
{
    pthread_t all[64];
    guest_open(&g);
    for (int i = 0; i < amount; i++)
        pthread_create(&all[i], NULL, share, NULL);
    for (int i = 0; i < amount; i++)
        pthread_join(all[i], NULL);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

static void lanes(void)
{
    static cl_command_queue queues[3][80];
    struct guest            all[3];
    for (int c = 0; c < 3; c++) {
        guest_open(&all[c]);
        for (int i = 0; i < amount; i++)
            CLP(queues[c][i] = clCreateCommandQueue(all[c].context, all[c].device, 0, &status));
    }
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < amount; i++)
            for (int c = 0; c < 3; c++) {
                guest_launch(&all[c], queues[c][i], all[c].add, 1);
                CL(clFinish(queues[c][i]));
            }
    for (int c = 0; c < 3; c++) {
        printf("context %d ran %d\n", c, guest_read(&all[c]));
        for (int i = 0; i < amount; i++)
            CL(clReleaseCommandQueue(queues[c][i]));
        guest_close(&all[c]);
    }
}

static void churn(void)
{
    guest_open(&g);
    for (int i = 0; i < amount; i++) {
        cl_command_queue queue;
        CLP(queue = clCreateCommandQueue(g.context, g.device, 0, &status));
        guest_launch(&g, queue, g.add, 3);
        CL(clFinish(queue));
        CL(clReleaseCommandQueue(queue));
    }
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

static void reopen(void)
{
    for (int i = 0; i < amount; i++) {
        guest_open(&g);
        guest_add(&g, 10);
        if (guest_read(&g) != 10)
            printf("round %d went wrong\n", i);
        guest_close(&g);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"contexts", contexts}, {"sub", sub_devices}, {"threads", threads}, {"shared", shared},
                 {"lanes", lanes}, {"churn", churn}, {"reopen", reopen}};
    amount = argc > 2 ? atoi(argv[2]) : 8;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    printf("done\n");
    return 0;
}

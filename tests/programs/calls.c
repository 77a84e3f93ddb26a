/* calls.c - calls that few programs make: each is passed on and counted as what it is.
 *
 * case: all => kernel=6 copy=1 fill=1 barrier=1 marker=1 read=1
 *
 * Not clEnqueueWaitForEvents: PoCL 3.1 has not made it and ends the program.
 */
#include "guest.h"

static void wait_in_queue(struct guest *g)
{
    size_t   items = GUEST_ITEMS;
    cl_event done;
    CL(clEnqueueNDRangeKernel(g->queue, g->add, 1, NULL, &items, NULL, 0, NULL, &done));
    CL(clEnqueueMarkerWithWaitList(g->queue, 1, &done, NULL));
    CL(clReleaseEvent(done));
    CL(clEnqueueBarrierWithWaitList(g->queue, 0, NULL, NULL));
}

static void parts_of_buffers(struct guest *g)
{
    const cl_mem_properties none[] = {0};
    const cl_int            zero = 0;
    cl_buffer_region        all = {0, GUEST_ITEMS * sizeof(cl_int)};
    cl_mem                  part, whole;
    size_t                  items = GUEST_ITEMS;
    CLP(part = clCreateSubBuffer(g->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &all, &status));
    CLP(whole = clCreateBufferWithProperties(g->context, none, CL_MEM_READ_WRITE, all.size, NULL, &status));
    CL(clEnqueueFillBuffer(g->queue, whole, &zero, sizeof zero, 0, all.size, 0, NULL, NULL));
    CL(clSetKernelArg(g->add, 0, sizeof part, &part));
    CL(clEnqueueNDRangeKernel(g->queue, g->add, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clEnqueueCopyBuffer(g->queue, part, whole, 0, 0, all.size, 0, NULL, NULL));
    CL(clFinish(g->queue));
    CL(clReleaseMemObject(part));
    CL(clReleaseMemObject(whole));
    CL(clSetKernelArg(g->add, 0, sizeof g->buffer, &g->buffer));
}

/* A context by kind of device, and a queue of it that is never used. */
static void by_type(struct guest *g)
{
    const cl_context_properties of[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)g->platform, 0};
    cl_context                  context;
    cl_command_queue            queue;
    cl_command_queue_properties properties = 1;
    CLP(context = clCreateContextFromType(of, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, g->device, 0, &status));
    CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    printf("properties %llu\n", (unsigned long long)properties);
    CL(clReleaseCommandQueue(queue));
    CL(clReleaseContext(context));
}

int main(void)
{
    struct guest g;
    guest_open(&g);
    by_type(&g);
    guest_add(&g, 4);
    wait_in_queue(&g);
    parts_of_buffers(&g);
    printf("%d additions\n", guest_read(&g));
    guest_close(&g);
    return 0;
}

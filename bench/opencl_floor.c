/* opencl_floor.c - the least that an interceptor which knows device times can do.
 *
 * A loader layer that switches profiling on, keeps an event per operation, and
 * at waits asks the finished ones for their four times and releases them. No
 * calling contexts, no records, no thread. What Sonde costs above this is what
 * its own work costs; `make bench` measures the two in the same paired run.
 *
 * One program thread only, NDRange kernels and reads: what bench/empty.c does.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdint.h>

#include "../tests/layer.h"

enum { RING = 1 << 16 };

static cl_event ring[RING];
static uint32_t head, tail; /* oldest kept, next free; modulo 2^32 */
static volatile uint64_t busy_ns; /* so that the times are really asked for */

/* True: it was over, and is released. */
static int harvest_one(cl_event event)
{
    cl_int status = CL_QUEUED;
    cl_ulong times[4];
    real->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status > CL_COMPLETE)
        return 0;
    for (cl_profiling_info i = 0; i < 4; i++)
        real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof times[i],
                                      &times[i], NULL);
    busy_ns += times[3] - times[2];
    real->clReleaseEvent(event);
    return 1;
}

static void harvest(void)
{
    while (head != tail && harvest_one(ring[head % RING]))
        head++;
}

static void keep(cl_event event)
{
    if (tail - head == RING)
        harvest();
    if (tail - head == RING)
        real->clReleaseEvent(event);
    else
        ring[tail++ % RING] = event;
}

/* The program's event is retained, ours is kept as it is. */
#define ENQUEUE(call)                              \
    cl_event own = NULL, *asked = event;           \
    event = asked ? asked : &own;                  \
    const cl_int status = call;                    \
    if (status == CL_SUCCESS) {                    \
        if (asked)                                 \
            real->clRetainEvent(*event);           \
        keep(*event);                              \
    }

static cl_int CL_API_CALL floor_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                       const size_t *offset, const size_t *global,
                                       const size_t *local, cl_uint wait_count,
                                       const cl_event *wait_list, cl_event *event)
{
    ENQUEUE(real->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, wait_count,
                                         wait_list, event))
    return status;
}

static cl_int CL_API_CALL floor_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     size_t offset, size_t bytes, void *host, cl_uint wait_count,
                                     const cl_event *wait_list, cl_event *event)
{
    ENQUEUE(real->clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, host, wait_count,
                                      wait_list, event))
    if (blocking)
        harvest();
    return status;
}

static cl_int CL_API_CALL floor_finish(cl_command_queue queue)
{
    const cl_int status = real->clFinish(queue);
    harvest();
    return status;
}

static cl_command_queue CL_API_CALL floor_queue(cl_context context, cl_device_id device,
                                                cl_command_queue_properties properties,
                                                cl_int *status)
{
    return real->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE,
                                      status);
}

static void layer_wrap(void)
{
    layer.clEnqueueNDRangeKernel = floor_kernel;
    layer.clEnqueueReadBuffer = floor_read;
    layer.clFinish = floor_finish;
    layer.clCreateCommandQueue = floor_queue;
}

/* skew.c - a layer below the agent that puts profiling times on another clock.
 *
 * $SKEW: `monotonic`, `real` (whole microseconds, as some runtimes have it),
 * `device` (a counter of its own, tied by clGetDeviceAndHostTimer), `alone`
 * (the same without that function) or `slow` (`monotonic` with that function, and the first
 * call goes on for longer after its operation than the clocks are apart); else times stay PoCL's own, CLOCK_MONOTONIC_RAW.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../layer.h"

static const char *skew = "";

static cl_ulong clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
}

/* How far the other clocks are ahead of CLOCK_MONOTONIC_RAW, taken once: a run is
 * short, and two readings are never at the same time. */
static cl_ulong monotonic_ahead_ns, real_ahead_ns;

/* The tightest of many tries: this thread may be put aside between two readings. */
static cl_ulong ahead_ns(clockid_t clock)
{
    cl_ulong ahead = 0, least = (cl_ulong)-1;
    for (int i = 0; i < 100; i++) {
        const cl_ulong before = clock_ns(CLOCK_MONOTONIC_RAW), between = clock_ns(clock),
                       width = clock_ns(CLOCK_MONOTONIC_RAW) - before;
        if (width < least) {
            least = width;
            ahead = between - before - width / 2;
        }
    }
    return ahead;
}

static cl_ulong skewed(cl_ulong raw_ns)
{
    if (strcmp(skew, "monotonic") == 0 || strcmp(skew, "slow") == 0)
        return raw_ns + monotonic_ahead_ns;
    if (strcmp(skew, "real") == 0)
        return (raw_ns + real_ahead_ns) / 1000 * 1000;
    if (strcmp(skew, "device") == 0 || strcmp(skew, "alone") == 0)
        return raw_ns + 1000000000007u; /* started a quarter of an hour before the host */
    return raw_ns;
}

static cl_int CL_API_CALL profiling(cl_event event, cl_profiling_info info, size_t size,
                                    void *value, size_t *size_ret)
{
    const cl_int status = real->clGetEventProfilingInfo(event, info, size, value, size_ret);
    if (status == CL_SUCCESS && value)
        *(cl_ulong *)value = skewed(*(cl_ulong *)value);
    return status;
}

static cl_int CL_API_CALL timer(cl_device_id device, cl_ulong *on_device, cl_ulong *on_host)
{
    (void)device;
    if (strcmp(skew, "device") != 0 && strcmp(skew, "slow") != 0)
        return CL_INVALID_OPERATION;
    *on_host = clock_ns(CLOCK_MONOTONIC);
    *on_device = skewed(clock_ns(CLOCK_MONOTONIC_RAW));
    return CL_SUCCESS;
}

/* Where the clocks are too far apart for that, as on a machine that has been up for weeks, no call can take so long. */
static void go_on(cl_command_queue queue)
{
    static int once;
    const cl_ulong apart = monotonic_ahead_ns < (cl_ulong)-1 / 2 ? monotonic_ahead_ns : -monotonic_ahead_ns;
    if (strcmp(skew, "slow") != 0 || once++ || apart > 600000000u)
        return;
    const struct timespec long_enough = {0, (long)apart + 100000000};
    real->clFinish(queue);
    nanosleep(&long_enough, NULL);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local, cl_uint waits, const cl_event *list,
                                 cl_event *event)
{
    const cl_int status = real->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, list, event);
    go_on(queue);
    return status;
}

static void layer_wrap(void)
{
    skew = getenv("SKEW") ? getenv("SKEW") : "";
    monotonic_ahead_ns = ahead_ns(CLOCK_MONOTONIC);
    real_ahead_ns = ahead_ns(CLOCK_REALTIME);
    layer.clGetEventProfilingInfo = profiling;
    layer.clGetDeviceAndHostTimer = timer;
    layer.clEnqueueNDRangeKernel = launch;
}

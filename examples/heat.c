/* heat.c - heat spreading over a plate, as a pipeline on three queues.
 *
 *     heat [N] [STEPS] [SAVE]     default: 512 100 10
 *
 * An N x N plate, hot along its first row. A compute queue runs the stencil; every SAVE
 * steps an upload queue brings new boundary values and a download queue takes
 * the plate out, while the compute queue goes on; events tie the three
 * together. The last plate is compared with the same steps done on the host.
 * Exit status 0 when they agree.
 *
 * Known answers, with S = STEPS / SAVE (rounded down):
 *     fill     1        of 4 N N bytes           start() <- main()
 *     write    1 + S    of 4 N N bytes once,     start() <- main()
 *                       of 4 N bytes S times     boundary() <- main()
 *     kernel   STEPS    stencil5, N x N items    step() <- main()
 *     copy     S        of 4 N N bytes           save() <- main()
 *     read     S + 1    of 4 N N bytes           save() <- main(), finish() <- main()
 *     data objects: 3 buffers of 4 N N bytes
 * For `heat 512 100 10`: 133 operations = 1 fill, 11 writes, 100 kernels,
 * 10 copies, 11 reads; 23,089,152 bytes copied (written, copied or read),
 * 1,048,576 bytes filled.
 */
#include <math.h>

#include "common.h"

static const char source[] =
    "kernel void stencil5(global const float *from, global float *to, int n)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;\n"
    "    if (x == 0 || y == 0 || x == n - 1 || y == n - 1)\n"
    "        to[i] = from[i];\n"
    "    else\n"
    "        to[i] = from[i] + 0.1f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n]\n"
    "                                  - 4.0f * from[i]);\n"
    "}\n";

struct plate {
    cl_command_queue compute, upload, download;
    cl_kernel stencil;
    cl_mem now, next, copy;
    int n;
    size_t bytes;
    float *row;         /* the boundary that is uploaded */
    float *saved;       /* the plate that was downloaded last */
    cl_event last;      /* what the next user of `now` must wait for */
    cl_event uploading, saving; /* under way on the other two queues */
};

static void replace(cl_event *slot, cl_event event)
{
    if (*slot)
        CHECK(clReleaseEvent(*slot));
    *slot = event;
}

/* How warm the first row is at a step. */
static float warmth(int step)
{
    return 100.0f + (float)(step % 7);
}

static void start(struct plate *plate, const float *first)
{
    const float cold = 0.0f;
    CHECK(clEnqueueWriteBuffer(plate->compute, plate->now, CL_TRUE, 0, plate->bytes, first, 0,
                               NULL, NULL));
    CHECK(clEnqueueFillBuffer(plate->compute, plate->next, &cold, sizeof cold, 0, plate->bytes, 0,
                              NULL, NULL));
}

/* New values for the first row, once nobody needs the old ones. */
static void boundary(struct plate *plate, int at_step)
{
    const size_t bytes = (size_t)plate->n * sizeof(float);
    cl_event uploaded;
    if (plate->uploading) /* `row` is still being read */
        CHECK(clWaitForEvents(1, &plate->uploading));
    for (int i = 0; i < plate->n; i++)
        plate->row[i] = warmth(at_step);
    CHECK(clEnqueueWriteBuffer(plate->upload, plate->now, CL_FALSE, 0, bytes, plate->row,
                               plate->last != NULL, plate->last ? &plate->last : NULL,
                               &uploaded));
    CHECK(clFlush(plate->upload));
    CHECK(clRetainEvent(uploaded));
    replace(&plate->uploading, uploaded);
    replace(&plate->last, uploaded);
}

static void step(struct plate *plate)
{
    const size_t items[2] = {(size_t)plate->n, (size_t)plate->n};
    cl_event done;
    CHECK(clSetKernelArg(plate->stencil, 0, sizeof plate->now, &plate->now));
    CHECK(clSetKernelArg(plate->stencil, 1, sizeof plate->next, &plate->next));
    CHECK(clSetKernelArg(plate->stencil, 2, sizeof plate->n, &plate->n));
    CHECK(clEnqueueNDRangeKernel(plate->compute, plate->stencil, 2, NULL, items, NULL,
                                 plate->last != NULL, plate->last ? &plate->last : NULL, &done));
    replace(&plate->last, done);
    cl_mem swap = plate->now;
    plate->now = plate->next;
    plate->next = swap;
}

/* Copy the plate aside, and let the download queue take the copy out meanwhile. */
static void save(struct plate *plate)
{
    cl_event copied, downloaded;
    if (plate->saving) /* the copy is still being read */
        CHECK(clWaitForEvents(1, &plate->saving));
    CHECK(clEnqueueCopyBuffer(plate->compute, plate->now, plate->copy, 0, 0, plate->bytes, 0, NULL,
                              &copied));
    CHECK(clFlush(plate->compute));
    CHECK(clEnqueueReadBuffer(plate->download, plate->copy, CL_FALSE, 0, plate->bytes,
                              plate->saved, 1, &copied, &downloaded));
    CHECK(clFlush(plate->download));
    replace(&plate->last, copied);
    replace(&plate->saving, downloaded);
}

static void finish(struct plate *plate, float *result)
{
    CHECK(clEnqueueReadBuffer(plate->compute, plate->now, CL_TRUE, 0, plate->bytes, result, 0,
                              NULL, NULL));
    CHECK(clFinish(plate->upload));
    CHECK(clFinish(plate->download));
}

static double difference(const float *a, const float *b, int count)
{
    double worst = 0;
    for (int i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

/* The same on the host; the largest difference from `result` at the end, and
 * from `saved` when it was saved last, is returned. */
static double host_difference(const float *result, const float *saved, int n, int steps,
                              int every, float *now, float *next)
{
    double worst = 0;
    for (int s = 1; s <= steps; s++) {
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                const int i = y * n + x;
                next[i] = now[i];
                if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
                    next[i] += 0.1f *
                               (now[i - 1] + now[i + 1] + now[i - n] + now[i + n] -
                                4.0f * now[i]);
            }
        float *swap = now;
        now = next;
        next = swap;
        if (s == steps / every * every)
            worst = difference(saved, now, n * n);
        if (s % every == 0)
            for (int x = 0; x < n; x++)
                now[x] = warmth(s);
    }
    return fmax(worst, difference(result, now, n * n));
}

static cl_command_queue make_queue(cl_context context, cl_device_id device)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    return queue;
}

static cl_mem make_buffer(cl_context context, size_t bytes)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    CHECK(status);
    return buffer;
}

static void plate_release(struct plate *plate)
{
    replace(&plate->last, NULL);
    replace(&plate->uploading, NULL);
    replace(&plate->saving, NULL);
    CHECK(clReleaseKernel(plate->stencil));
    CHECK(clReleaseMemObject(plate->now));
    CHECK(clReleaseMemObject(plate->next));
    CHECK(clReleaseMemObject(plate->copy));
    CHECK(clReleaseCommandQueue(plate->compute));
    CHECK(clReleaseCommandQueue(plate->upload));
    CHECK(clReleaseCommandQueue(plate->download));
}

int main(int argc, char **argv)
{
    const int n = (int)number(argc > 1 ? argv[1] : NULL, 512);
    const int steps = (int)number(argc > 2 ? argv[2] : NULL, 100);
    const int every = (int)number(argc > 3 ? argv[3] : NULL, 10);
    const size_t count = (size_t)n * (size_t)n, bytes = count * sizeof(float);
    float *memory = calloc(4 * count + (size_t)n, sizeof *memory);
    if (!memory)
        return 1;
    float *first = memory, *result = first + count, *saved = result + count,
          *scratch = saved + count, *row = scratch + count;

    cl_int status;
    cl_device_id device = pick_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_program program = build_program(context, device, source);
    struct plate plate = {
        .compute = make_queue(context, device),
        .upload = make_queue(context, device),
        .download = make_queue(context, device),
        .stencil = clCreateKernel(program, "stencil5", &status),
        .now = make_buffer(context, bytes),
        .next = make_buffer(context, bytes),
        .copy = make_buffer(context, bytes),
        .n = n,
        .bytes = bytes,
        .row = row,
        .saved = saved,
    };
    CHECK(status);

    for (int x = 0; x < n; x++)
        first[x] = warmth(0);
    start(&plate, first);
    for (int s = 1; s <= steps; s++) {
        step(&plate);
        if (s % every == 0) {
            save(&plate);
            boundary(&plate, s);
        }
    }
    if (plate.last)
        CHECK(clWaitForEvents(1, &plate.last));
    finish(&plate, result);

    const double worst = host_difference(result, saved, n, steps, every, first, scratch);
    printf("%d x %d plate, %d steps, largest difference %.2g\n", n, n, steps, worst);
    plate_release(&plate);
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
    free(memory);
    return worst > 1e-3;
}

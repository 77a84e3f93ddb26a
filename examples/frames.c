/* frames.c - a program that the report improves: pictures are straightened by a map that says where each pixel comes from.
 *
 *     frames [FRAMES] [once]
 *
 * As first written it uploads the map with each frame, though the lens that it describes never changes. `sonde record --values`
 * finds these writes, and `sonde report DIR advice` says what they cost. With `once` the map is uploaded once.
 *
 * Known answers: FRAMES launches of `straighten`; FRAMES writes of 1 byte a pixel; FRAMES writes of 4 bytes a pixel, all but the
 * first of which change nothing, or 1. Prints the same sum in both cases. docs/values.md tells how it ended.
 */
#include "common.h"

#include <string.h>
#include <time.h>

enum { WIDTH = 2048,
       HEIGHT = 1536,
       PIXELS = WIDTH * HEIGHT };

static const char source[] =
    "kernel void straighten(global const uchar *seen, global const int *from, global uchar *out)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    out[i] = seen[from[i]];\n"
    "}\n";

struct camera {
    cl_command_queue queue;
    cl_kernel straighten;
    cl_mem seen, map, out;
    unsigned char *picture, *result;
    int *from;
};

/* A lens that draws everything towards the middle. */
static void make_map(int *from)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int dx = x - WIDTH / 2, dy = y - HEIGHT / 2, far = (dx * dx + dy * dy) / 32768;
            from[y * WIDTH + x] = (HEIGHT / 2 + dy * (100 - far) / 100) * WIDTH + WIDTH / 2 + dx * (100 - far) / 100;
        }
}

static void upload_map(const struct camera *c)
{
    CHECK(clEnqueueWriteBuffer(c->queue, c->map, CL_FALSE, 0, PIXELS * sizeof *c->from, c->from, 0, NULL, NULL));
}

static void upload_picture(const struct camera *c, long frame)
{
    for (int i = 0; i < PIXELS; i++)
        c->picture[i] = (unsigned char)(7 * i + frame);
    CHECK(clEnqueueWriteBuffer(c->queue, c->seen, CL_FALSE, 0, PIXELS, c->picture, 0, NULL, NULL));
}

static void show(const struct camera *c)
{
    const size_t pixels = PIXELS;
    CHECK(clEnqueueNDRangeKernel(c->queue, c->straighten, 1, NULL, &pixels, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(c->queue, c->out, CL_TRUE, 0, PIXELS, c->result, 0, NULL, NULL));
}

static cl_mem buffer(cl_context context, size_t bytes)
{
    cl_int status;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    CHECK(status);
    return made;
}

int main(int argc, char **argv)
{
    const long frames = number(argc > 1 ? argv[1] : NULL, 100);
    const int once = argc > 2 && strcmp(argv[2], "once") == 0;
    cl_int status;
    const cl_device_id device = pick_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    struct camera c = {.picture = malloc(PIXELS), .result = malloc(PIXELS), .from = malloc(PIXELS * sizeof *c.from)};
    if (!c.picture || !c.result || !c.from)
        return 1;
    c.queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    cl_program program = build_program(context, device, source);
    c.straighten = clCreateKernel(program, "straighten", &status);
    CHECK(status);
    c.seen = buffer(context, PIXELS);
    c.map = buffer(context, PIXELS * sizeof *c.from);
    c.out = buffer(context, PIXELS);
    CHECK(clSetKernelArg(c.straighten, 0, sizeof c.seen, &c.seen));
    CHECK(clSetKernelArg(c.straighten, 1, sizeof c.map, &c.map));
    CHECK(clSetKernelArg(c.straighten, 2, sizeof c.out, &c.out));
    make_map(c.from);

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long frame = 0; frame < frames; frame++) {
        if (frame == 0 || !once)
            upload_map(&c);
        upload_picture(&c, frame);
        show(&c);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    unsigned long sum = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += c.result[i];
    printf("%ld frames, sum %lu\n", frames, sum);
    fprintf(stderr, "%.3f s\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    free(c.picture);
    free(c.result);
    free(c.from);
    return 0;
}

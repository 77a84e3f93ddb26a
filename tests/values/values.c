/* values.c - operations whose answer follows from this source: what of it each leaves unchanged.
 *
 *     values CASE [argument]
 *
 * Each case is a function below; tests/values/run.py knows what Sonde must say of it. Prints a checksum of all that was read.
 */
#include "../programs/guest.h"

#include <pthread.h>
#include <stdint.h>

static const char text[] =
    "kernel void set(global int *a, int value, int n) { int i = get_global_id(0); if (i < n) a[i] = value; }\n"
    "kernel void count(global int *a) { a[get_global_id(0)] = get_global_id(0); }\n"
    "kernel void sum(global const int *a, global long *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
    "kernel void look(global int *a, global int *b) { b[get_global_id(0)] = a[get_global_id(0)]; }\n"
    "kernel void bytes(global uchar *a) { a[get_global_id(0)] = 7; }\n"
    "kernel void paint(write_only image2d_t a) { write_imagei(a, (int2)(get_global_id(0), 0), (int4)(1)); }\n";

enum { N = 1000 };
static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;
static uint64_t checksum = 14695981039346656037u;

static cl_mem buffer(size_t bytes)
{
    void *zeros = calloc(bytes, 1);
    cl_mem made;
    CLP(made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros, &status));
    free(zeros);
    return made;
}

static void put(cl_mem to, size_t at, const void *from, size_t bytes)
{
    CL(clEnqueueWriteBuffer(queue, to, CL_TRUE, at, bytes, from, 0, NULL, NULL));
}

static void take(cl_mem from, size_t bytes)
{
    unsigned char *all = malloc(bytes);
    CL(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, all, 0, NULL, NULL));
    for (size_t i = 0; i < bytes; i++)
        checksum = (checksum ^ all[i]) * 1099511628211u;
    free(all);
}

static cl_kernel kernel(const char *name)
{
    cl_kernel made;
    CLP(made = clCreateKernel(program, name, &status));
    return made;
}

static void launch(cl_kernel k, size_t items)
{
    CL(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, NULL, 0, NULL, NULL));
}

/* The first writes what is there already; the second 0 to 999, of which one is; the third half of it. */
static void writes(void)
{
    int zeros[N] = {0}, numbers[N];
    cl_mem a = buffer(sizeof zeros);
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    put(a, 0, zeros, sizeof zeros);
    put(a, 0, numbers, sizeof numbers);
    put(a, sizeof numbers / 2, zeros, sizeof zeros / 2);
    take(a, sizeof zeros);
    CL(clReleaseMemObject(a));
}

/* Filled twice with the same, then a part at an odd place. */
static void fills(void)
{
    const int one = 1;
    const unsigned char byte = 0xff;
    cl_mem a = buffer(4 * N);
    for (int i = 0; i < 2; i++)
        CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &byte, 1, 3, 10, 0, NULL, NULL)); /* bytes 3 to 12 */
    take(a, 4 * N);
    CL(clReleaseMemObject(a));
}

static void copies(void)
{
    int numbers[N];
    cl_mem a = buffer(sizeof numbers), b = buffer(sizeof numbers);
    for (int i = 0; i < N; i++)
        numbers[i] = i + 1;
    put(a, 0, numbers, sizeof numbers);
    for (int i = 0; i < 3; i++) /* the first copies something new, the others nothing */
        CL(clEnqueueCopyBuffer(queue, a, b, 0, 0, sizeof numbers, 0, NULL, NULL));
    take(b, sizeof numbers);
    CL(clReleaseMemObject(a));
    CL(clReleaseMemObject(b));
}

/* `set` writes the same to 600 of 1,000 again and again; `sum` writes 8-byte elements and only reads the others. */
static void kernels(void)
{
    const int value = 5, n = 600;
    cl_mem a = buffer(4 * N), b = buffer(8 * N);
    cl_kernel set = kernel("set"), sum = kernel("sum");
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    CL(clSetKernelArg(sum, 0, sizeof a, &a));
    CL(clSetKernelArg(sum, 1, sizeof b, &b));
    for (int i = 0; i < 4; i++)
        launch(set, N);
    launch(sum, N);
    take(b, 8 * N);
}

/* Reads `a` through a pointer that it might have written through. */
static void looks(void)
{
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    cl_kernel count = kernel("count"), look = kernel("look");
    CL(clSetKernelArg(count, 0, sizeof a, &a));
    launch(count, N);
    CL(clSetKernelArg(look, 0, sizeof a, &a));
    CL(clSetKernelArg(look, 1, sizeof b, &b));
    launch(look, N);
    take(b, 4 * N);
}

/* What is not looked at: an out-of-order queue, a rectangle, mapped memory, an image. */
static void missed(void)
{
    const int one = 1;
    const size_t origin[3] = {0, 0, 0}, region[3] = {16, 4, 1}, pixels[3] = {8, 1, 1};
    int rectangle[16] = {0}, colours[8 * 4] = {0};
    cl_mem a = buffer(4 * N), image;
    cl_command_queue any;
    CLP(any = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
    CL(clEnqueueFillBuffer(any, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clFinish(any));
    CL(clEnqueueWriteBufferRect(queue, a, CL_TRUE, origin, origin, region, 16, 0, 16, 0, rectangle, 0, NULL, NULL));
    int *mapped;
    CLP(mapped = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_WRITE, 0, 4 * N, 0, NULL, NULL, &status));
    mapped[0] = 2;
    CL(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
    const cl_image_format format = {CL_RGBA, CL_SIGNED_INT32};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 1};
    CLP(image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status));
    CL(clEnqueueWriteImage(queue, image, CL_TRUE, origin, pixels, 0, 0, colours, 0, NULL, NULL));
    cl_kernel paint = kernel("paint");
    CL(clSetKernelArg(paint, 0, sizeof image, &image));
    launch(paint, 8);
    take(a, 4 * N);
    CL(clReleaseCommandQueue(any));
}

/* Every size and place of a write: some of it differs from what is there in one byte. */
static void places(void)
{
    enum { ROOM = 64 };
    unsigned char there[ROOM], other[ROOM];
    cl_mem a = buffer(ROOM);
    uint32_t random = 1;
    memset(there, 0, sizeof there);
    for (size_t from = 0; from < 20; from++)
        for (size_t to = from + 1; to <= ROOM; to += 7) {
            memcpy(other, there, sizeof other);
            random = random * 1664525u + 1013904223u;
            other[from + (random >> 8) % (to - from)] ^= (unsigned char)(1 + (random >> 24) % 255);
            put(a, from, other + from, to - from);
            printf("%zu %zu", from, to);
            for (size_t size = 1; size <= 8; size *= 2) {
                size_t same = 0, all = 0;
                for (size_t at = (from + size - 1) / size * size; at + size <= to; at += size) {
                    all++;
                    same += memcmp(there + at, other + at, size) == 0;
                }
                printf(" %zu %zu", all, same);
            }
            putchar('\n');
            memcpy(there, other, sizeof there);
        }
    take(a, ROOM);
}

/* Two threads launch in one queue, each its own kernel object. */
static void *launcher(void *to)
{
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof(cl_mem), to));
    for (int i = 0; i < 200; i++)
        launch(count, N);
    CL(clReleaseKernel(count));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    cl_mem a = buffer(4 * N);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, launcher, &a);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    take(a, 4 * N);
}

/* Contexts and queues come and go; in each two fills, of which the second changes nothing. */
static void contexts(void)
{
    const int one = 1;
    static int zeros[N];
    for (int i = 0; i < 20; i++) {
        cl_context own;
        CLP(own = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
        cl_command_queue line;
        CLP(line = clCreateCommandQueue(own, device, 0, &status));
        cl_mem a;
        CLP(a = clCreateBuffer(own, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status));
        for (int k = 0; k < 2; k++)
            CL(clEnqueueFillBuffer(line, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
        CL(clFinish(line));
        CL(clReleaseMemObject(a));
        CL(clReleaseCommandQueue(line));
        CL(clReleaseContext(own));
    }
}

/* More than --values-memory=1M has room for. */
static void large(void)
{
    const int one = 1;
    cl_mem a = buffer(4 << 20);
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 << 20, 0, NULL, NULL));
    take(a, 4 << 20);
}

/* What lies in a new buffer is undefined: only what was written before can be written again. */
static void fresh(void)
{
    const int one = 1;
    cl_mem a, b;
    CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CLP(b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * N, NULL, &status));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 2 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    CL(clEnqueueFillBuffer(queue, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof b, &b));
    launch(count, N);
    CL(clEnqueueCopyBuffer(queue, a, b, 0, 0, 4 * N, 0, NULL, NULL));
    take(a, 4 * N);
    take(b, 4 * N);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"writes", writes},
        {"fills", fills},
        {"copies", copies},
        {"kernels", kernels},
        {"looks", looks},
        {"missed", missed},
        {"places", places},
        {"threads", threads},
        {"contexts", contexts},
        {"large", large},
        {"fresh", fresh},
    };
    const char *source = text;
    cl_platform_id platform;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    CLP(program = clCreateProgramWithSource(context, 1, &source, NULL, &status));
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            CL(clFinish(queue));
            printf("checksum %016llx\n", (unsigned long long)checksum);
            return 0;
        }
    return 2;
}

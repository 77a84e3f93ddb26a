/* names.c - a program that names parts of its memory (sonde/sonde.h): tests/report/memory_test.py has what of it is known.
 *
 * case: names => svm_fill=4 svm_free=1
 */
#include "guest.h"

#include <pthread.h>
#include <sonde/sonde.h>

#define APART __attribute__((noinline))
#define BYTES 4096
#define OTHER 1000

static cl_context context;
static cl_command_queue queue;
static char *segment, *other;

static void name(char *at, size_t bytes, const char *text, size_t rows, size_t columns, size_t element_bytes)
{
    char copy[64]; /* the text need not stay */
    snprintf(copy, sizeof copy, "%s", text);
    sonde_name_memory(at, bytes, copy, rows, columns, element_bytes);
    memset(copy, 'x', sizeof copy);
}

APART static char *make(size_t bytes)
{
    char *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    if (!memory)
        exit(4);
    return memory;
}

static void *name_bias(void *unused)
{
    (void)unused;
    name(segment + 512, 40, "bias", 1, 10, 4);
    return NULL;
}

static void fill(char *memory, size_t bytes)
{
    const unsigned char zero = 0;
    CL(clEnqueueSVMMemFill(queue, memory, &zero, 1, bytes, 0, NULL, NULL));
    CL(clFinish(queue));
}

static void step(int number)
{
    char text[32];
    snprintf(text, sizeof text, "activation %d", number);
    name(segment, 400, "weights", 10, 10, 4);
    name(segment + 1024, 256, text, 8, 8, 4);
    fill(segment, BYTES);
}

int main(void)
{
    static char before[16];
    cl_platform_id platform;
    cl_device_id device;
    pthread_t thread;
    name(before, sizeof before, "nobody hears it", 0, 0, 0);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    segment = make(BYTES);
    other = make(OTHER);
    if (pthread_create(&thread, NULL, name_bias, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 4;
    for (int i = 0; i < 3; i++)
        step(i);
    name(other, OTHER, "other", 25, 10, 4);
    name(other, OTHER, "other", 50, 5, 4);
    fill(other, OTHER);
    name(before, sizeof before, "in no object", 2, 2, 4);
    name(segment, 0, "empty", 0, 0, 0);
    name(segment, 8, "", 0, 0, 0);
    name(NULL, 8, "nowhere", 0, 0, 0);
    CL(clEnqueueSVMFree(queue, 1, (void **)(void *)&other, NULL, NULL, 0, NULL, NULL));
    CL(clFinish(queue));
    name(other, OTHER, "freed", 0, 0, 0);
    clSVMFree(context, segment);
    CL(clReleaseCommandQueue(queue));
    CL(clReleaseContext(context));
    printf("%d bytes are named\n", 400 + 40 + 256 + OTHER);
    return 0;
}

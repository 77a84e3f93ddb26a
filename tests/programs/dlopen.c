/* dlopen.c - the runtime is opened and closed with dlopen, several times.
 *
 * Not linked with OpenCL: the functions come from dlsym, so a tool that
 * interposes symbols sees nothing.
 *
 * case: local local => kernel=50 read=5
 * case: global global => kernel=50 read=5
 * case: deepbind deepbind => kernel=50 read=5
 * case: opened-but-unused unused => nothing
 * case: local-values local => kernel=50 read=5; record=--values
 * case: closed-by-a-thread-values thread => kernel=50 read=5; record=--values
 * case: closed-by-a-thread thread => kernel=50 read=5
 * library: none
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n";

#define FIND(name)              \
    __typeof__(&name) p_##name; \
    *(void **)&p_##name = dlsym(library, #name)
#define CHECK(call)                              \
    do {                                         \
        cl_int gave = (call);                    \
        if (gave) {                              \
            printf("%s gave %d\n", #call, gave); \
            exit(3);                             \
        }                                        \
    } while (0)

static void work(void *library)
{
    FIND(clGetPlatformIDs);
    FIND(clGetDeviceIDs);
    FIND(clCreateContext);
    FIND(clCreateCommandQueueWithProperties);
    FIND(clCreateProgramWithSource);
    FIND(clBuildProgram);
    FIND(clCreateKernel);
    FIND(clCreateBuffer);
    FIND(clSetKernelArg);
    FIND(clEnqueueNDRangeKernel);
    FIND(clEnqueueReadBuffer);
    FIND(clReleaseMemObject);
    FIND(clReleaseKernel);
    FIND(clReleaseProgram);
    FIND(clReleaseCommandQueue);
    FIND(clReleaseContext);
    cl_platform_id platform;
    cl_device_id   device;
    cl_int         status = 0;
    int            items[64] = {0};
    size_t         count = 64;
    const char    *text = source;
    CHECK(p_clGetPlatformIDs(1, &platform, NULL));
    CHECK(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_command_queue queue = p_clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_program program = p_clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(p_clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = p_clCreateKernel(program, "add", &status);
    cl_mem buffer = p_clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof items, items, &status);
    CHECK(p_clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < 10; i++)
        CHECK(p_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, &count, 0, NULL, NULL));
    CHECK(p_clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL));
    printf("ran %d\n", items[63]);
    p_clReleaseMemObject(buffer);
    p_clReleaseKernel(kernel);
    p_clReleaseProgram(program);
    p_clReleaseCommandQueue(queue);
    p_clReleaseContext(context);
}

static void *close_it(void *library)
{
    dlclose(library);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "local";
    int         flags = RTLD_NOW;
    if (strcmp(kind, "global") == 0)
        flags |= RTLD_GLOBAL;
    if (strcmp(kind, "deepbind") == 0)
        flags |= RTLD_DEEPBIND;
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        void     *library = dlopen("libOpenCL.so.1", flags);
        if (!library) {
            printf("no OpenCL\n");
            return 2;
        }
        if (strcmp(kind, "unused") != 0)
            work(library);
        if (strcmp(kind, "thread") == 0) {
            pthread_create(&thread, NULL, close_it, library);
            pthread_join(thread, NULL);
        } else {
            printf("dlclose gave %d\n", dlclose(library));
        }
    }
    return 0;
}

/* opened.c - a program that finds OpenCL with dlopen, closes it and opens it again.
 *
 * Prints what it did in the words of the counting agent. Also looks for things
 * that an interposed dlsym could change.
 */
#include <dlfcn.h>

#include "cl_test.h"

#define FIND(name) \
    __typeof__(name) *const p_##name = (__typeof__(name) *)(uintptr_t)find(library, #name)

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        printf("%s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

static unsigned long round_trip(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        exit(77);
    }
    FIND(clGetPlatformIDs);
    FIND(clGetDeviceIDs);
    FIND(clCreateContext);
    FIND(clCreateCommandQueue);
    FIND(clEnqueueMarkerWithWaitList);
    FIND(clFinish);
    FIND(clReleaseCommandQueue);
    FIND(clReleaseContext);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    CHECK(p_clGetPlatformIDs(1, &platform, NULL));
    CHECK(p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = p_clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    for (int i = 0; i < 5; i++)
        CHECK(p_clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
    CHECK(p_clFinish(queue));
    CHECK(p_clReleaseCommandQueue(queue));
    CHECK(p_clReleaseContext(context));
    dlclose(library);
    return 5;
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("not there: %s, %s\n", dlsym(RTLD_DEFAULT, "clGetPlatformIDs") ? "found" : "not found",
           dlsym(dlopen(NULL, RTLD_LAZY), "clCreateContext") ? "found" : "not found");
    printf("next: %s\n", dlsym(RTLD_NEXT, "malloc") ? "found" : "not found");
    unsigned long markers = round_trip();
    markers += round_trip();
    printf("op marker %lu bytes 0\n", markers);
    return 0;
}

/* cuda.c - the probe's part about CUDA: devices, and a few operations on each.
 *
 * By the driver's own interface, whose types are written down here: `sonde`
 * is built without CUDA's headers where the backend is left out.
 */
#include "doctor.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_DEVICES = 64,
    COPY_BYTES = 4096,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
};

/* As cuda.h has them: CUresult and CUdevice are int, handles are pointers, addresses 64 bits. */
struct cuda {
    int (*cuInit)(unsigned);
    int (*cuDriverGetVersion)(int *);
    int (*cuDeviceGetCount)(int *);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceTotalMem_v2)(size_t *, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuDevicePrimaryCtxRelease_v2)(int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuCtxSynchronize)(void);
    int (*cuMemAlloc_v2)(uint64_t *, size_t);
    int (*cuMemFree_v2)(uint64_t);
    int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
    int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);
    int (*cuGetErrorName)(int, const char **);
};

static bool load_calls(void *library, struct cuda *cuda)
{
    bool all = true;
#define X(name) all = (*(void **)&cuda->name = dlsym(library, #name)) && all
    X(cuInit);
    X(cuDriverGetVersion);
    X(cuDeviceGetCount);
    X(cuDeviceGet);
    X(cuDeviceGetName);
    X(cuDeviceTotalMem_v2);
    X(cuDeviceGetAttribute);
    X(cuDevicePrimaryCtxRetain);
    X(cuDevicePrimaryCtxRelease_v2);
    X(cuCtxSetCurrent);
    X(cuCtxSynchronize);
    X(cuMemAlloc_v2);
    X(cuMemFree_v2);
    X(cuMemcpyHtoD_v2);
    X(cuMemcpyDtoH_v2);
    X(cuGetErrorName);
#undef X
    return all;
}

/* Two copies and a wait: how many operations there were. */
static int use_device(const struct cuda *cuda, int device)
{
    static char bytes[COPY_BYTES];
    void *context = NULL;
    uint64_t address = 0;
    int operations = 0;
    if (cuda->cuDevicePrimaryCtxRetain(&context, device) != 0)
        return 0;
    if (cuda->cuCtxSetCurrent(context) == 0 && cuda->cuMemAlloc_v2(&address, sizeof bytes) == 0) {
        operations += cuda->cuMemcpyHtoD_v2(address, bytes, sizeof bytes) == 0;
        operations += cuda->cuMemcpyDtoH_v2(bytes, address, sizeof bytes) == 0;
        operations += cuda->cuCtxSynchronize() == 0;
        cuda->cuMemFree_v2(address);
    }
    cuda->cuDevicePrimaryCtxRelease_v2(device);
    return operations;
}

static json_t *describe(const struct cuda *cuda, int device)
{
    char name[256] = "?";
    size_t memory = 0;
    int major = 0, minor = 0;
    cuda->cuDeviceGetName(name, sizeof name, device);
    cuda->cuDeviceTotalMem_v2(&memory, device);
    cuda->cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device);
    cuda->cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device);
    return json_pack("{s:s, s:I, s:i, s:i}", "name", name, "memory_bytes", (json_int_t)memory, "major", major, "minor",
                     minor);
}

static int find_cupti(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "/libcupti.so"))
        return 0;
    snprintf(path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* The copy that the agent found, which this process has loaded now. */
static void probe_cupti(json_t *answer)
{
    char path[PATH_MAX];
    int (*get_version)(uint32_t *) = NULL;
    uint32_t version = 0;
    if (!dl_iterate_phdr(find_cupti, path))
        return;
    json_object_set_new(answer, "cupti", json_string(path));
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        *(void **)&get_version = dlsym(library, "cuptiGetVersion");
    if (get_version && get_version(&version) == 0)
        json_object_set_new(answer, "cupti_version", json_integer(version));
}

static void probe_devices(json_t *answer, const struct cuda *cuda, bool work)
{
    int count = 0, operations = 0, device;
    json_t *devices = json_array();
    const int error = cuda->cuInit(0);
    const char *name = NULL;
    if (error) {
        cuda->cuGetErrorName(error, &name);
        json_object_set_new(answer, "cuda_error", json_string(name ? name : "unknown error"));
    } else if (cuda->cuDeviceGetCount(&count) != 0) {
        count = 0;
    }
    for (int i = 0; i < count && i < MOST_DEVICES; i++)
        if (cuda->cuDeviceGet(&device, i) == 0) {
            json_array_append_new(devices, describe(cuda, device));
            if (work)
                operations += use_device(cuda, device);
        }
    json_object_set_new(answer, "cuda_devices", devices);
    if (work) {
        json_object_set_new(answer, "operations", json_integer(operations));
        probe_cupti(answer);
    }
}

void doctor_probe_cuda(json_t *answer, bool work)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct cuda cuda = {0};
    int version = 0;
    if (!library)
        return;
    json_object_set_new(answer, "cuda_driver", json_true());
    *(void **)&cuda.cuDriverGetVersion = dlsym(library, "cuDriverGetVersion");
    if (cuda.cuDriverGetVersion && cuda.cuDriverGetVersion(&version) == 0)
        json_object_set_new(answer, "cuda_driver_version", json_integer(version));
    if (load_calls(library, &cuda))
        probe_devices(answer, &cuda, work);
    else
        json_object_set_new(answer, "cuda_error", json_string("it lacks functions of CUDA 11"));
}

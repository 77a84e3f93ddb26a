/* runtimes.c - see runtimes.h. Sources of the names: the OpenCL 3.0 specification and the
 * CUDA 13.0 driver and runtime API references; of NCCL's kernels, Holistic Trace Analysis.
 */
#include "runtimes.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Sorted by name. */
static const struct sonde_runtime_call cuda_calls[] = {
    {"cuArray3DCreate", SONDE_API_ALLOCATES},
    {"cuArrayCreate", SONDE_API_ALLOCATES},
    {"cuArrayDestroy", SONDE_API_FREES},
    {"cuCtxSynchronize", SONDE_API_WAITS},
    {"cuEventSynchronize", SONDE_API_WAITS},
    {"cuFuncLoad", SONDE_API_COMPILES},
    {"cuLibraryLoadData", SONDE_API_COMPILES},
    {"cuLibraryLoadFromFile", SONDE_API_COMPILES},
    {"cuLinkAddData", SONDE_API_COMPILES},
    {"cuLinkComplete", SONDE_API_COMPILES},
    {"cuMemAlloc", SONDE_API_ALLOCATES},
    {"cuMemAllocAsync", SONDE_API_ALLOCATES},
    {"cuMemAllocFromPoolAsync", SONDE_API_ALLOCATES},
    {"cuMemAllocHost", SONDE_API_ALLOCATES},
    {"cuMemAllocManaged", SONDE_API_ALLOCATES},
    {"cuMemAllocPitch", SONDE_API_ALLOCATES},
    {"cuMemCreate", SONDE_API_ALLOCATES},
    {"cuMemFree", SONDE_API_FREES},
    {"cuMemFreeAsync", SONDE_API_FREES},
    {"cuMemFreeHost", SONDE_API_FREES},
    {"cuMemHostAlloc", SONDE_API_ALLOCATES},
    {"cuMemHostRegister", SONDE_API_ALLOCATES},
    {"cuMemHostUnregister", SONDE_API_FREES},
    {"cuMemRelease", SONDE_API_FREES},
    {"cuModuleLoad", SONDE_API_COMPILES},
    {"cuModuleLoadData", SONDE_API_COMPILES},
    {"cuModuleLoadDataEx", SONDE_API_COMPILES},
    {"cuModuleLoadFatBinary", SONDE_API_COMPILES},
    {"cuStreamSynchronize", SONDE_API_WAITS},
    {"cudaDeviceSynchronize", SONDE_API_WAITS},
    {"cudaEventSynchronize", SONDE_API_WAITS},
    {"cudaFree", SONDE_API_FREES},
    {"cudaFreeAsync", SONDE_API_FREES},
    {"cudaFreeHost", SONDE_API_FREES},
    {"cudaMalloc", SONDE_API_ALLOCATES},
    {"cudaMallocAsync", SONDE_API_ALLOCATES},
    {"cudaMallocHost", SONDE_API_ALLOCATES},
    {"cudaMallocManaged", SONDE_API_ALLOCATES},
    {"cudaStreamSynchronize", SONDE_API_WAITS},
    {"cudaThreadSynchronize", SONDE_API_WAITS},
};

static const struct sonde_runtime_call opencl_calls[] = {
    {"clBuildProgram", SONDE_API_COMPILES},
    {"clCompileProgram", SONDE_API_COMPILES},
    {"clCreateBuffer", SONDE_API_ALLOCATES},
    {"clCreateBufferWithProperties", SONDE_API_ALLOCATES},
    {"clCreateImage", SONDE_API_ALLOCATES},
    {"clCreateImage2D", SONDE_API_ALLOCATES},
    {"clCreateImage3D", SONDE_API_ALLOCATES},
    {"clCreateImageWithProperties", SONDE_API_ALLOCATES},
    {"clCreatePipe", SONDE_API_ALLOCATES},
    {"clFinish", SONDE_API_WAITS},
    {"clLinkProgram", SONDE_API_COMPILES},
    {"clMemFreeINTEL", SONDE_API_FREES},
    {"clReleaseMemObject", SONDE_API_FREES},
    {"clSVMAlloc", SONDE_API_ALLOCATES},
    {"clSVMFree", SONDE_API_FREES},
    {"clWaitForEvents", SONDE_API_WAITS},
};

#define CALLS(list) .calls = list, .call_count = sizeof list / sizeof *list
#define LIST(...)   (const char *const[]){__VA_ARGS__, NULL}

/* clang-format off */
const struct sonde_runtime sonde_runtimes[] = {
    {.name = "cuda", .title = "CUDA", .has_devices = true, CALLS(cuda_calls),
     .libraries = LIST("libcuda.", "libcudart", "libcupti", "libsanitizer-public", "libnvidia-"),
     .variable = "CUDA_INJECTION64_PATH", .loads = SONDE_LOADS_ONE, .kept = "SONDE_CUDA_INJECTION",
     .other = "it is loaded before Sonde and may use CUPTI exclusively"},
    {.name = "opencl", .title = "OpenCL", .has_devices = true, CALLS(opencl_calls),
     .libraries = LIST("libOpenCL", "libpocl", "libamdocl", "libnvidia-opencl", "libigdrcl", "libintelocl",
                       "libMesaOpenCL", "libRusticlOpenCL", "liboclgrind"),
     .variable = "OPENCL_LAYERS", .loads = SONDE_LOADS_LIST},
    {.name = "nvtx", .title = "NVTX",
     .variable = "NVTX_INJECTION64_PATH", .loads = SONDE_LOADS_USERS,
     .other = "ranges go to it, not to Sonde"},
    {.name = "nccl", .title = "NCCL", .communication = LIST("ncclDevKernel", "ncclKernel"), /* RCCL's, too */
     .variable = "NCCL_PROFILER_PLUGIN", .loads = SONDE_LOADS_USERS_OR_NONE, .path_max = 254},
    {.name = "sycl", .title = "SYCL", .libraries = LIST("libsycl.", "libur_loader", "libur_adapter", "libumf.")},
    /* Its allocator asks the driver for segments and hands out blocks of them. */
    {.name = "torch", .title = "PyTorch", .caching_function = "CUDACachingAllocator", .caching_library = "libc10_cuda.so"},
    {0},
};
/* clang-format on */

enum sonde_api_class sonde_runtime_class(const char *name, size_t length)
{
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++) {
        size_t low = 0, high = r->call_count;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            const struct sonde_runtime_call *call = &r->calls[middle];
            int order = strncmp(name, call->name, length);
            order = order ? order : -(call->name[length] != '\0');
            if (!order)
                return call->class;
            if (order < 0)
                high = middle;
            else
                low = middle + 1;
        }
    }
    return SONDE_API_OTHER;
}

static bool any_begins(const char *const *beginnings, const char *text)
{
    for (; beginnings && *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

bool sonde_is_gpu_runtime(const char *path)
{
    const char *base = sonde_path_base(path);
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++)
        if (any_begins(r->libraries, base))
            return true;
    return false;
}

bool sonde_runtime_communicates(const char *kernel)
{
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++)
        for (const char *const *part = r->communication; part && *part; part++)
            if (strstr(kernel, *part))
                return true;
    return false;
}

bool sonde_runtime_caches(const char *function, const char *module)
{
    const char *base = sonde_path_base(module);
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++)
        if (r->caching_function && (strstr(function, r->caching_function) ||
                                    strncmp(base, r->caching_library, strlen(r->caching_library)) == 0))
            return true;
    return false;
}

const char *sonde_runtimes_list(char text[SONDE_RUNTIMES_MAX], const char *word,
                                bool (*has)(const void *user, const char *name), const void *user)
{
    const char *next = NULL; /* stands behind the word, unless another one follows */
    size_t at = 0;
    for (const struct sonde_runtime *r = sonde_runtimes; r->name && at < SONDE_RUNTIMES_MAX; r++)
        if (r->has_devices && (!has || has(user, r->name))) {
            if (next)
                at += (size_t)snprintf(text + at, SONDE_RUNTIMES_MAX - at, "%s%s", at ? ", " : "", next);
            next = r->title;
        }
    if (at < SONDE_RUNTIMES_MAX)
        snprintf(text + at, SONDE_RUNTIMES_MAX - at, "%s%s%s%s", at ? " " : "", at ? word : "", at ? " " : "",
                 next ? next : "a GPU runtime");
    return text;
}

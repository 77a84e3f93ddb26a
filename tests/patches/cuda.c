/* cuda.c - a libcuda.so.1 that is made up: one device, whose memory is the host's. It calls back around each call that a program makes. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer_callbacks.h>
#include <sanitizer_driver_cbid.h>

#include "backends/cuda/sonde_cuda.h"
#include "made.h"

#define PUBLIC __attribute__((visibility("default")))

static const CUcontext context = (void *)(uintptr_t)0x1000;
static unsigned streams;
PUBLIC unsigned made_unset;
static int capturing;
static struct { /* one kernel behind the other */
    CUfunction function[4];
    void **parameters[4];
    unsigned count;
} graph;

static CUresult around(uint32_t id, const char *name, const void *params, CUresult (*call)(const void *params), const char *symbol)
{
    CUresult result = CUDA_SUCCESS;
    Sanitizer_CallbackData d = {.callbackSite = SANITIZER_API_ENTER, .functionName = name, .functionParams = params, .symbolName = symbol, .context = context};
    made_callback(SANITIZER_CB_DOMAIN_DRIVER_API, id, &d);
    result = call(params);
    d.callbackSite = SANITIZER_API_EXIT;
    d.functionReturnValue = &result;
    made_callback(SANITIZER_CB_DOMAIN_DRIVER_API, id, &d);
    return result;
}
#define AROUND(name, symbol, ...)                                              \
    const name##_params p = {__VA_ARGS__};                                     \
    return around(SANITIZER_CBID_DRIVER_API_##name, #name, &p, do_##name, symbol)

/* ---- memory ---------------------------------------------------------------------------------------- */

static CUresult do_cuMemAlloc_v2(const void *params)
{
    const cuMemAlloc_v2_params *p = params;
    *p->dptr = (uintptr_t)aligned_alloc(256, (p->bytesize + 255) / 256 * 256);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    AROUND(cuMemAlloc_v2, NULL, at, bytes);
}

static CUresult do_cuMemHostAlloc(const void *params)
{
    const cuMemHostAlloc_params *p = params;
    *p->pp = aligned_alloc(256, (p->bytesize + 255) / 256 * 256);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    AROUND(cuMemHostAlloc, NULL, at, bytes, flags);
}

static CUresult do_cuMemFree_v2(const void *params)
{
    free((void *)(uintptr_t)((const cuMemFree_v2_params *)params)->dptr);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemFree_v2(CUdeviceptr at)
{
    AROUND(cuMemFree_v2, NULL, at);
}

static void copied(Sanitizer_MemcpyDirection direction, uint64_t from, uint64_t to, size_t bytes, CUstream stream)
{
    const Sanitizer_MemcpyData d = {.srcContext = context, .dstContext = context, .apiContext = context, .apiStream = stream, .srcAddress = from, .dstAddress = to, .size = bytes, .direction = direction};
    made_callback(SANITIZER_CB_DOMAIN_MEMCPY, SANITIZER_CBID_MEMCPY_STARTING, &d);
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

static CUresult do_cuMemcpyHtoDAsync_v2(const void *params)
{
    const cuMemcpyHtoDAsync_v2_params *p = params;
    copied(SANITIZER_MEMCPY_DIRECTION_HOST_TO_DEVICE, (uintptr_t)p->srcHost, p->dstDevice, p->ByteCount, p->hStream);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    AROUND(cuMemcpyHtoDAsync_v2, NULL, to, from, bytes, stream);
}

static CUresult do_cuMemcpyDtoHAsync_v2(const void *params)
{
    const cuMemcpyDtoHAsync_v2_params *p = params;
    copied(SANITIZER_MEMCPY_DIRECTION_DEVICE_TO_HOST, p->srcDevice, (uintptr_t)p->dstHost, p->ByteCount, p->hStream);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    AROUND(cuMemcpyDtoHAsync_v2, NULL, to, from, bytes, stream);
}

static CUresult do_cuMemsetD8Async(const void *params)
{
    const cuMemsetD8Async_params *p = params;
    const Sanitizer_MemsetData d = {.context = context, .stream = p->hStream, .address = p->dstDevice, .width = p->N, .height = 1, .elementSize = 1, .value = p->uc};
    made_callback(SANITIZER_CB_DOMAIN_MEMSET, SANITIZER_CBID_MEMSET_STARTING, &d);
    memset((void *)(uintptr_t)p->dstDevice, p->uc, p->N);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char byte, size_t bytes, CUstream stream)
{
    AROUND(cuMemsetD8Async, NULL, at, byte, bytes, stream);
}

/* ---- streams, contexts, modules ------------------------------------------------------------------------ */

static CUresult do_cuStreamCreate(const void *params)
{
    const cuStreamCreate_params *p = params;
    *p->phStream = (void *)(uintptr_t)(0x100 + ++streams);
    const Sanitizer_ResourceStreamData d = {.context = context, .stream = *p->phStream};
    made_callback(SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_STREAM_CREATED, &d);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    AROUND(cuStreamCreate, NULL, stream, flags);
}

static CUresult do_cuStreamSynchronize(const void *params)
{
    (void)params;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuStreamSynchronize(CUstream stream)
{
    AROUND(cuStreamSynchronize, NULL, stream);
}

PUBLIC CUresult cuCtxSynchronize(void)
{
    return around(SANITIZER_CBID_DRIVER_API_cuCtxSynchronize, "cuCtxSynchronize", NULL, do_cuStreamSynchronize, NULL);
}
PUBLIC CUresult cuCtxPushCurrent_v2(CUcontext c)
{
    return c == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
PUBLIC CUresult cuCtxPopCurrent_v2(CUcontext *c)
{
    *c = context;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
PUBLIC CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)size, "made up");
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)which, (void)device;
    *value = 4;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

PUBLIC CUmodule made_module(void)
{
    static char code[65536] = "code";
    static CUmodule loaded;
    const char *path = getenv("MADE_CODE");
    FILE *file = path ? fopen(path, "rb") : NULL;
    const size_t size = file ? fread(code, 1, sizeof code, file) : 64;
    if (file)
        fclose(file);
    const Sanitizer_ResourceModuleData d = {.context = context, .module = (void *)(uintptr_t)0x2000, .pCubin = code, .cubinSize = size};
    if (!loaded) {
        loaded = d.module;
        made_callback(SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_MODULE_LOADED, &d);
    }
    return loaded;
}

PUBLIC void made_begin(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*inject)(void) = NULL;
    if (library)
        *(void **)&inject = dlsym(library, "InitializeInjection");
    if (inject)
        inject();
    const Sanitizer_ResourceContextData d = {.context = context, .device = 0};
    made_callback(SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED, &d);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* As of the static runtime's kernels: they are of a library, whose module is loaded when one is first asked for its function, or launched. */
PUBLIC CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    (void)kernel;
    *library = (void *)(uintptr_t)0x3000;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    *name = ((const struct made_kernel *)(void *)kernel)->name;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
    made_module();
    *f = (void *)kernel;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuFuncGetModule(CUmodule *module, CUfunction f)
{
    (void)f;
    *module = made_module();
    return CUDA_SUCCESS;
}

static CUresult do_cuLaunchKernel(const void *params)
{
    const cuLaunchKernel_params *p = params;
    const struct made_kernel *k = (const void *)p->f;
    if (capturing) {
        graph.function[graph.count] = p->f;
        graph.parameters[graph.count++] = p->kernelParams;
        return CUDA_SUCCESS;
    }
    const Sanitizer_LaunchData d = {.context = context, .stream = p->hStream, .module = made_module(), .function = p->f, .functionName = k->name, .gridDim_x = p->gridDimX, .gridDim_y = p->gridDimY, .gridDim_z = p->gridDimZ, .blockDim_x = p->blockDimX, .blockDim_y = p->blockDimY, .blockDim_z = p->blockDimZ};
    made_callback(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_BEGIN, &d);
    k->body(made_data(), p->kernelParams);
    made_callback(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_END, &d);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream,
                               void **parameters, void **extra)
{
    AROUND(cuLaunchKernel, ((const struct made_kernel *)(void *)f)->name, f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

/* ---- a graph --------------------------------------------------------------------------------------------- */

static CUresult do_cuStreamBeginCapture_v2(const void *params)
{
    (void)params;
    capturing = 1;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    AROUND(cuStreamBeginCapture_v2, NULL, stream, mode);
}
PUBLIC CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult do_cuStreamEndCapture(const void *params)
{
    *((const cuStreamEndCapture_params *)params)->phGraph = (void *)&graph;
    capturing = 0;
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuStreamEndCapture(CUstream stream, CUgraph *made)
{
    AROUND(cuStreamEndCapture, NULL, stream, made);
}

/* Each kernel has what the last one was given, as on an H200 (driver 580.159.04, 2026-11-29). */
static CUresult do_cuGraphLaunch(const void *params)
{
    const cuGraphLaunch_params *p = params;
    void *given = NULL;
    for (unsigned i = 0; i < graph.count; i++) {
        const struct made_kernel *k = (const void *)graph.function[i];
        const Sanitizer_GraphNodeLaunchData d = {.graphExec = p->hGraph, .nodeType = CU_GRAPH_NODE_TYPE_KERNEL, .launchData = {.context = context, .module = made_module(), .function = graph.function[i], .functionName = k->name, .hLaunch = made_node, .apiContext = context, .apiStream = p->hStream, .gridDim_x = 1, .gridDim_y = 1, .gridDim_z = 1, .blockDim_x = 32, .blockDim_y = 1, .blockDim_z = 1}};
        made_node_begins();
        made_callback(SANITIZER_CB_DOMAIN_GRAPHS, SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN, &d);
        given = made_data();
        made_unset += given == (void *)MADE_STALE;
    }
    for (unsigned i = 0; i < graph.count; i++)
        ((const struct made_kernel *)(const void *)graph.function[i])->body(given, graph.parameters[i]);
    return CUDA_SUCCESS;
}
PUBLIC CUresult cuGraphLaunch(CUgraphExec made, CUstream stream)
{
    AROUND(cuGraphLaunch, NULL, made, stream);
}

/* device.c - see device.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

enum kernel { COPY = 1,
              OTHER,
              TWIN };

struct device device;

unsigned char *bytes_at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* As CUPTI has it: what the callback puts in is launched. */
static CUresult CUDAAPI launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                      CUstream stream, void **parameters, void **extra)
{
    cuLaunchKernel_params p = {.f = f, .gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by, .blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream, .kernelParams = parameters, .extra = extra};
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &p, 2, CUDA_SUCCESS);
    if ((enum kernel)(uintptr_t)p.f == COPY)
        memcpy(bytes_at(*(uint64_t *)p.kernelParams[1]), bytes_at(*(uint64_t *)p.kernelParams[0]), 16 * *(uint64_t *)p.kernelParams[2]);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI load_library(CUlibrary *library, const void *code, CUjit_option *a, void **b, unsigned c, CUlibraryOption *d, void **e, unsigned f)
{
    (void)code, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    *library = (CUlibrary)(uintptr_t)1;
    return CUDA_SUCCESS;
}

static bool is_twin(const char *name)
{
    const size_t bytes = strlen(device.name);
    return strncmp(name, device.name, bytes) == 0 && strcmp(name + bytes, "__sonde") == 0;
}

static CUresult CUDAAPI get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library;
    *kernel = (CUkernel)(uintptr_t)(strcmp(name, SONDE_PTX_COPY) == 0 ? COPY : is_twin(name) ? TWIN
                                                                                             : OTHER);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI allocate(CUdeviceptr *at, size_t bytes)
{
    static _Alignas(256) unsigned char memory[1 << 20];
    static size_t used;
    device.allocations++;
    if (device.full)
        return CUDA_ERROR_OUT_OF_MEMORY;
    assert_true(used + bytes <= sizeof memory);
    *at = (uintptr_t)(memory + used);
    used += (bytes + 255) / 256 * 256;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI free_async(CUdeviceptr at, CUstream stream)
{
    (void)at, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    memset(bytes_at(at), value, bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI write_async(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(bytes_at(to), from, bytes);
    return device.broken ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult CUDAAPI read_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(to, bytes_at(from), bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI total_memory(size_t *bytes, CUdevice of)
{
    (void)of;
    *bytes = 4ull * device.room;
    return CUDA_SUCCESS;
}

/* ---- its kernels ---------------------------------------------------------------------------------------- */

static CUresult CUDAAPI no_library(CUlibrary *library, CUkernel kernel)
{
    (void)library, (void)kernel;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI function_name(const char **name, CUfunction f)
{
    *name = f == DEVICE_KERNEL ? device.name : "";
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI function_module(CUmodule *module, CUfunction f)
{
    (void)f;
    *module = (CUmodule)(uintptr_t)5;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI no_kernel_parameter(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
    (void)kernel, (void)i, (void)offset, (void)bytes;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI function_parameter(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
    (void)f;
    *offset = 8 * i;
    *bytes = 8;
    return i < device.parameters ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CUDAAPI kernel_attribute(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice of)
{
    (void)kernel, (void)of;
    *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}

void device_on(const char *name, const char *ptx, unsigned parameters)
{
    struct sonde_cuda_twins *t = &sonde__cuda_twins;
    CUmodule module = (CUmodule)(uintptr_t)5;
    const bool loaded = device.name;
    device = (struct device){.room = DEVICE_ROOM, .name = name, .parameters = parameters};
    sonde__cudrv.cuDeviceTotalMem_v2 = total_memory;
    t->on = true;
    t->cuLaunchKernel = launch_kernel;
    t->cuLibraryLoadData = load_library;
    t->cuLibraryGetKernel = get_kernel;
    t->cuMemAlloc_v2 = allocate;
    t->cuMemFreeAsync = free_async;
    t->cuMemsetD8Async = set_async;
    t->cuMemcpyHtoDAsync_v2 = write_async;
    t->cuMemcpyDtoHAsync_v2 = read_async;
    play_streams(t);
    t->cuKernelGetLibrary = no_library;
    t->cuFuncGetName = function_name;
    t->cuFuncGetModule = function_module;
    t->cuKernelGetParamInfo = no_kernel_parameter;
    t->cuFuncGetParamInfo = function_parameter;
    t->cuKernelGetAttribute = kernel_attribute;
    if (!loaded)
        CALL(cuModuleLoadData, 1, CUDA_SUCCESS, .module = &module, .image = ptx);
}

bool device_launches(void **parameters, unsigned threads, void (*run)(void *const *more))
{
    cuLaunchKernel_params p = {.f = DEVICE_KERNEL, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = threads, .blockDimY = 1, .blockDimZ = 1, .kernelParams = parameters};
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &p, 1, CUDA_SUCCESS);
    const bool copy = (uintptr_t)p.f == TWIN;
    run(copy ? &p.kernelParams[device.parameters] : NULL);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &p, 1, CUDA_SUCCESS);
    return copy;
}

uint32_t device_missed(enum sonde_value_missed why)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < noted.misses && i < NOTED_MAX; i++)
        count += noted.missed[i].why == why;
    return count;
}

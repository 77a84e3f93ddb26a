/* driver.c - libcuda.so.1 of the made-up device, as far as Sonde asks it. */
#include <stdio.h>

#include <cuda.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)size, "a made-up device");
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 1 : 1024;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    (void)data, (void)which, (void)pointer;
    return CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

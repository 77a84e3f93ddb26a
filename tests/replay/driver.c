/* driver.c - libcuda.so.1 as far as Sonde asks it: about the devices of the machine that was captured. */
#include <stdio.h>
#include <string.h>

#include "replay.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && replay_device((unsigned)ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

PUBLIC CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = 0;
    while (replay_device((unsigned)*count))
        ++*count;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device)
{
    const struct device_entry *d = replay_device((unsigned)device);
    snprintf(name, (size_t)size, "%s", d ? d->name : "");
    return d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

PUBLIC CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const struct device_entry *d = replay_device((unsigned)device);
    *bytes = d ? d->memory_bytes : 0;
    return d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

PUBLIC CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    const struct device_entry *d = replay_device((unsigned)device);
    if (!d || which <= 0 || which >= CAPTURE_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    *value = d->attribute[which];
    return CUDA_SUCCESS;
}

/* Of memory nothing was captured. */
PUBLIC CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    (void)data, (void)which, (void)pointer;
    return CUDA_ERROR_INVALID_VALUE;
}

PUBLIC CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = replay_capturing((uintptr_t)stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

PUBLIC CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    return cuDeviceGet(device, 0);
}

PUBLIC CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    const struct device_entry *d = replay_device(0);
    *version = d ? (int)d->driver_version : 0;
    return CUDA_SUCCESS;
}

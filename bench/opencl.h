/* opencl.h - what the OpenCL programs of the benchmark share. */
#ifndef SONDE_BENCH_OPENCL_H
#define SONDE_BENCH_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call)                                      \
    do {                                                 \
        cl_int status_ = (call);                         \
        if (status_ != CL_SUCCESS) {                     \
            fprintf(stderr, "%s: %d\n", #call, status_); \
            exit(1);                                     \
        }                                                \
    } while (0)

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline cl_device_id first_device(void)
{
    cl_platform_id platform;
    cl_device_id device;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    return device;
}

#endif

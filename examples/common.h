/* common.h - what the examples need of OpenCL: a device, a program, a way out. */
#ifndef SONDE_EXAMPLES_COMMON_H
#define SONDE_EXAMPLES_COMMON_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cl_int status_ = (call);                                                           \
        if (status_ != CL_SUCCESS) {                                                       \
            fprintf(stderr, "%s:%d: %s failed: %d\n", __FILE__, __LINE__, #call, status_); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

/* The first device of the first platform that has one. */
static inline cl_device_id pick_device(void)
{
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_device_id device;
    CHECK(clGetPlatformIDs(8, platforms, &count));
    for (cl_uint i = 0; i < count && i < 8; i++)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
            return device;
    fprintf(stderr, "no OpenCL device\n");
    exit(1);
}

static inline cl_program build_program(cl_context context, cl_device_id device, const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[8192];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
        exit(1);
    }
    return program;
}

/* The positive number in `text`, or `otherwise` when there is none. */
static inline long number(const char *text, long otherwise)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return value > 0 && *end == '\0' ? value : otherwise;
}

#endif

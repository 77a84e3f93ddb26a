/* cl_test.h - a device, a context, an error check and a tally for the programs of these tests. */
#ifndef CL_TEST_H
#define CL_TEST_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        cl_int status_ = (call);                                               \
        if (status_ != CL_SUCCESS) {                                           \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_);     \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* What a program did, in the words of the counting agent: `op KIND COUNT bytes BYTES`. */
struct tally {
    const char *kind;
    unsigned long count, bytes;
};

static struct tally tallies[40];

static inline void did(const char *kind, unsigned long bytes)
{
    struct tally *tally = tallies;
    while (tally->kind && strcmp(tally->kind, kind) != 0)
        tally++;
    tally->kind = kind;
    tally->count++;
    tally->bytes += bytes;
}

/* `call` made an operation of this kind. */
#define DO(kind, bytes, call) \
    do {                      \
        CHECK(call);          \
        did(kind, bytes);     \
    } while (0)

static inline void tell_operations(void)
{
    for (const struct tally *tally = tallies; tally->kind; tally++)
        printf("op %s %lu bytes %lu\n", tally->kind, tally->count, tally->bytes);
}

static inline cl_device_id first_device(cl_platform_id *platform)
{
    cl_device_id device;
    CHECK(clGetPlatformIDs(1, platform, NULL));
    CHECK(clGetDeviceIDs(*platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    return device;
}

static inline cl_program program_of(cl_context context, cl_device_id device, const char *source)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return program;
}

#endif

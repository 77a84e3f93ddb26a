/* module.cu - kernels that the driver API programs load from module.cubin. */
#include "common.h"

extern "C" __global__ void tick(int *count)
{
    atomicAdd(count, 1);
}

extern "C" __global__ void spin(int *count, uint64_t ns)
{
    wait_ns(ns);
    atomicAdd(count, 1);
}

/* destroyed.cu - a context is destroyed while its kernels run; another one works on. */
#include "common.h"

enum { UNFINISHED = 200, FINISHED = 100 };

static CUcontext make(CUdevice device, const char *self, CUfunction *function, const char *name)
{
    CUcontext context;
    CUmodule  module;
#if CUDA_VERSION >= 13000
    CU(cuCtxCreate(&context, nullptr, 0, device));
#else
    CU(cuCtxCreate(&context, 0, device));
#endif
    CU(cuModuleLoad(&module, module_path(self).c_str()));
    CU(cuModuleGetFunction(function, module, name));
    return context;
}

int main(int, char **argv)
{
    CUdevice    device;
    CUfunction  spin, tick;
    CUdeviceptr p;
    int         count = 0;
    uint64_t    ns = 100000;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CUcontext first = make(device, argv[0], &spin, "spin");
    CU(cuMemAlloc(&p, 4));
    void *args[] = {&p, &ns};
    for (int i = 0; i < UNFINISHED; i++)
        CU(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CU(cuCtxDestroy(first));

    CUcontext second = make(device, argv[0], &tick, "tick");
    CU(cuMemAlloc(&p, 4));
    CU(cuMemsetD32(p, 0, 1));
    for (int i = 0; i < FINISHED; i++)
        CU(cuLaunchKernel(tick, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    CU(cuMemcpyDtoH(&count, p, 4));
    MUST(count == FINISHED);
    CU(cuCtxDestroy(second));
    printf("%d\n", count);
    return 0;
}

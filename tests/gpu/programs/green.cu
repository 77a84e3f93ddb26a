/* green.cu - two green contexts, each with a part of the device's multiprocessors and a stream of its own. */
#include "common.h"

enum { PARTS = 2, LAUNCHES = 20, MULTIPROCESSORS = 16 };

int main(int, char **argv)
{
    CUdevice          device;
    CUcontext         primary;
    CUmodule          module;
    CUfunction        tick;
    CUdeviceptr       p;
    CUdevResource     all, part[PARTS], rest;
    CUdevResourceDesc what;
    CUgreenCtx        green[PARTS];
    CUstream          stream[PARTS];
    unsigned          parts = PARTS;
    int               count = 0;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&primary, device));
    CU(cuCtxSetCurrent(primary));
    if (cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        cuDevSmResourceSplitByCount(part, &parts, &all, &rest, 0, MULTIPROCESSORS) != CUDA_SUCCESS || parts < PARTS)
        skip("the device's multiprocessors cannot be split");
    CU(cuModuleLoad(&module, module_path(argv[0]).c_str()));
    CU(cuModuleGetFunction(&tick, module, "tick"));
    CU(cuMemAlloc(&p, 4));
    CU(cuMemsetD32(p, 0, 1));
    void *args[] = {&p};
    for (int i = 0; i < PARTS; i++) {
        CU(cuDevResourceGenerateDesc(&what, &part[i], 1));
        CU(cuGreenCtxCreate(&green[i], what, device, CU_GREEN_CTX_DEFAULT_STREAM));
        CU(cuGreenCtxStreamCreate(&stream[i], green[i], CU_STREAM_NON_BLOCKING, 0));
    }
    for (int k = 0; k < LAUNCHES; k++)
        for (int i = 0; i < PARTS; i++)
            CU(cuLaunchKernel(tick, 1, 1, 1, 1, 1, 1, 0, stream[i], args, nullptr));
    for (int i = 0; i < PARTS; i++) {
        CU(cuStreamSynchronize(stream[i]));
        CU(cuStreamDestroy(stream[i]));
        CU(cuGreenCtxDestroy(green[i]));
    }
    CU(cuMemcpyDtoH(&count, p, 4));
    MUST(count == PARTS * LAUNCHES);
    printf("%d\n", count);
    return 0;
}

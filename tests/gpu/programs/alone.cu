/* alone.cu - a program that links no CUDA at all: it opens the driver, which compiles its PTX just in time.
 *
 * Also built fully static: no preload library reaches it then, only what the driver injects.
 */
#include "common.h"

#include <dlfcn.h>

enum { LAUNCHES = 12 };

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry jitted(.param .u64 p)\n{\n"
    "    .reg .u64 %rd<3>;\n    .reg .u32 %r<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    atom.global.add.u32 %r1, [%rd2], 1;\n    ret;\n}\n";

static void *driver;

template <typename F> static F *of_driver(const char *name)
{
    void *symbol = dlsym(driver, name);
    if (!symbol)
        exit(2);
    return reinterpret_cast<F *>(symbol);
}

#define DRIVER(call, name) of_driver<decltype(call)>(name)
#define OK(call) MUST((call) == CUDA_SUCCESS)

int main()
{
    CUdevice    device;
    CUcontext   context;
    CUmodule    module;
    CUfunction  jitted;
    CUdeviceptr p;
    int         count = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        skip(dlerror());
    if (DRIVER(cuInit, "cuInit")(0) != CUDA_SUCCESS)
        skip("the driver does not start in this program");
    OK(DRIVER(cuDeviceGet, "cuDeviceGet")(&device, 0));
    OK(DRIVER(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&context, device));
    OK(DRIVER(cuCtxSetCurrent, "cuCtxSetCurrent")(context));
    OK(DRIVER(cuModuleLoadData, "cuModuleLoadData")(&module, ptx));
    OK(DRIVER(cuModuleGetFunction, "cuModuleGetFunction")(&jitted, module, "jitted"));
    OK(DRIVER(cuMemAlloc_v2, "cuMemAlloc_v2")(&p, 4));
    OK(DRIVER(cuMemsetD32_v2, "cuMemsetD32_v2")(p, 0, 1));
    void *args[] = {&p};
    for (int i = 0; i < LAUNCHES; i++)
        OK(DRIVER(cuLaunchKernel, "cuLaunchKernel")(jitted, 1, 1, 1, 1, 1, 1, 0, nullptr, args, nullptr));
    OK(DRIVER(cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2")(&count, p, 4));
    MUST(count == LAUNCHES);
    printf("%d\n", count);
    return 0;
}

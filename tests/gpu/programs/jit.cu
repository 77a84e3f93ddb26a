/* jit.cu - a program that compiles its kernel while it runs, with NVRTC, which it opens itself. */
#include "codes.h"

#include <dlfcn.h>
#include <vector>

static const char text[] =
    "extern \"C\" __global__ void compiled(const int *from, int *to, unsigned salt)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    unsigned m = i + salt;\n"
    "    m = (m ^ m >> 16) * 0x7feb352du;\n"
    "    m = (m ^ m >> 15) * 0x846ca68bu;\n"
    "    to[i] = from[i] + (int)(m ^ m >> 16);\n" /* line 7 */
    "}\n";

struct program;
static void *nvrtc;

template <typename F> static F *of_nvrtc(const char *name)
{
    void *symbol = dlsym(nvrtc, name);
    MUST(symbol != nullptr);
    return reinterpret_cast<F *>(symbol);
}

static std::vector<char> compile(int capability)
{
    program          *made;
    size_t            size;
    const std::string arch = "-arch=compute_" + std::to_string(capability);
    const char       *options[] = {arch.c_str(), "-lineinfo"};
    MUST(of_nvrtc<int(program **, const char *, const char *, int, const char *const *, const char *const *)>("nvrtcCreateProgram")(
             &made, text, "compiled.cu", 0, nullptr, nullptr) == 0);
    MUST(of_nvrtc<int(program *, int, const char *const *)>("nvrtcCompileProgram")(made, 2, options) == 0);
    MUST(of_nvrtc<int(program *, size_t *)>("nvrtcGetPTXSize")(made, &size) == 0);
    std::vector<char> ptx(size);
    MUST(of_nvrtc<int(program *, char *)>("nvrtcGetPTX")(made, ptx.data()) == 0);
    MUST(of_nvrtc<int(program **)>("nvrtcDestroyProgram")(&made) == 0);
    return ptx;
}

int main()
{
    int        major, minor;
    unsigned   salt = 1u << 16;
    CUmodule   module;
    CUfunction f;
    CK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    for (const char *name : {NVRTC_LIBRARY, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
        nvrtc = nvrtc ? nvrtc : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!nvrtc)
        skip("NVRTC (libnvrtc) cannot be opened");
    const int *from = threes();
    int       *to = room<int>(N);
    CU(cuModuleLoadData(&module, compile(10 * major + minor).data()));
    CU(cuModuleGetFunction(&f, module, "compiled"));
    void *args[] = {&from, &to, &salt};
    CU(cuLaunchKernel(f, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, nullptr, args, nullptr));
    verify("compiled", to, salt);
    return 0;
}

/* refused.cu - code that the driver does not take, beside code that it takes: PTX that is wrong, PTX of a version that nobody has, and both
 * beside machine code, which runs. What the driver says is printed.
 */
#include "codes.h"

#include <vector>

#define TEXT(version, body)                                                                                              \
    ".version " version "\n.target sm_75\n.address_size 64\n.visible .entry jitted(.param .u64 from, .param .u64 to)\n{\n" \
    ".reg .u64 %rd<6>;\n.reg .u32 %r<9>;\nld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\n"                        \
    "cvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\n"      \
    "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, %r2, %r1;\nmul.wide.u32 %rd3, %r4, 4;\nadd.u64 %rd4, %rd1, %rd3;\n"    \
    "add.u64 %rd5, %rd2, %rd3;\nld.global.u32 %r5, [%rd4];\n" body "mad.lo.u32 %r6, %r4, %r4, %r5;\nst.global.u32 [%rd5], %r6;\nret;\n}\n"

static CUmodule load(const char *name, const void *image)
{
    const char *said = "?";
    CUmodule    module = nullptr;
    cuGetErrorName(cuModuleLoadData(&module, image), &said);
    printf("%s: %s\n", name, said);
    return module;
}

/* `factor` of what is read, and the square of its place. */
static void run(CUmodule module, const char *kernel, CUdeviceptr from, int factor)
{
    static int  host[N];
    CUfunction  f;
    CUdeviceptr to;
    void       *args[] = {&from, &to};
    CU(cuModuleGetFunction(&f, module, kernel));
    CU(cuMemAlloc(&to, sizeof host));
    CU(cuLaunchKernel(f, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, nullptr, args, nullptr));
    CU(cuMemcpyDtoH(host, to, sizeof host));
    for (int i = 0; i < N; i++)
        MUST(host[i] == THREE * factor + i * i);
    printf("%s is right\n", kernel);
}

static std::vector<char> file(const std::string &path)
{
    FILE             *in = fopen(path.c_str(), "rb");
    std::vector<char> bytes;
    MUST(in != nullptr);
    for (int c; (c = getc(in)) != EOF;)
        bytes.push_back((char)c);
    fclose(in);
    return bytes;
}

/* Each `what` becomes `other`, which is as long. */
static std::vector<char> changed(std::vector<char> bytes, const char *what, const char *other)
{
    size_t size = strlen(what), count = 0;
    for (size_t at = 0; at + size <= bytes.size(); at++)
        if (memcmp(&bytes[at], what, size) == 0) {
            memcpy(&bytes[at], other, size);
            count++;
        }
    MUST(count > 0);
    return bytes;
}

/* ".version 9.0" becomes 9.9. */
static std::vector<char> of_no_version(std::vector<char> bytes)
{
    static const char directive[] = ".version ";
    for (size_t at = 0; at + 12 <= bytes.size(); at++)
        if (memcmp(&bytes[at], directive, sizeof directive - 1) == 0)
            bytes[at + 9] = '9', bytes[at + 11] = '9';
    return changed(bytes, ".version 9.9", ".version 9.9");
}

int main(int, char **argv)
{
    CUdevice    device;
    CUcontext   context;
    CUdeviceptr from;
    int         host[N];
    for (int i = 0; i < N; i++)
        host[i] = THREE;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&from, sizeof host));
    CU(cuMemcpyHtoD(from, host, sizeof host));
    MUST(!load("wrong text", TEXT("7.0", "add.u32 %r5, %nothing, 1;\n")));
    MUST(!load("text of no version", TEXT("9.9", "")));
    CUmodule text = load("text", TEXT("7.0", ""));
    run(text, "jitted", from, 1);
    const std::vector<char> fat = file(module_path(argv[0], "fat.fatbin"));
    run(load("fat binary", fat.data()), "whole", from, 40503);
    run(load("newer PTX", of_no_version(fat).data()), "newer", from, 40503);
    run(load("wrong PTX", changed(fat, "mad.lo.s32", "mud.lo.s32").data()), "broken", from, 40503);
    return 0;
}

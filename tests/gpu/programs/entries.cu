/* entries.cu - every way of the driver API to copy, set and launch, each with its own size: nine powers
 * of two KiB, so that a missing one shows in the sum. */
#include "common.h"

enum { KIB = 1024, SPACE = 1 << 20 };

static CUdeviceptr x, y;
static char       *host;
static CUstream    stream;

/* A place of a copy: a pointer of the host (pinned) or of the device. */
struct place {
    CUmemorytype type;
    void        *host;
    CUdeviceptr  device;
};

static CUDA_MEMCPY2D rectangle(const place &from, const place &to, size_t width, size_t height)
{
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = from.type, c.srcHost = from.host, c.srcDevice = from.device, c.srcPitch = width;
    c.dstMemoryType = to.type, c.dstHost = to.host, c.dstDevice = to.device, c.dstPitch = width;
    c.WidthInBytes = width, c.Height = height;
    return c;
}

static CUDA_MEMCPY3D box(const place &from, const place &to, size_t width, size_t height, size_t depth)
{
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = from.type, c.srcHost = from.host, c.srcDevice = from.device;
    c.dstMemoryType = to.type, c.dstHost = to.host, c.dstDevice = to.device;
    c.srcPitch = c.dstPitch = width, c.srcHeight = c.dstHeight = height;
    c.WidthInBytes = width, c.Height = height, c.Depth = depth;
    return c;
}

static CUdeviceptr unified(const place &p)
{
    return p.host ? (CUdeviceptr)p.host : p.device;
}

/* 4 + 8 + ... + 256 KiB, seven copies; the first two sizes are the caller's. */
static void shapes(const place &from, const place &to)
{
    CU(cuMemcpy(unified(to), unified(from), 4 * KIB));
    CU(cuMemcpyAsync(unified(to), unified(from), 8 * KIB, stream));
    CUDA_MEMCPY2D c2 = rectangle(from, to, 256, 64);
    CU(cuMemcpy2D(&c2));
    c2 = rectangle(from, to, 512, 64);
    CU(cuMemcpy2DAsync(&c2, stream));
    c2 = rectangle(from, to, 1024, 64);
    CU(cuMemcpy2DUnaligned(&c2));
    CUDA_MEMCPY3D c3 = box(from, to, 256, 32, 16);
    CU(cuMemcpy3D(&c3));
    c3 = box(from, to, 512, 32, 16);
    CU(cuMemcpy3DAsync(&c3, stream));
    CU(cuStreamSynchronize(stream));
}

static void copies()
{
    place h = {CU_MEMORYTYPE_HOST, host, 0}, dx = {CU_MEMORYTYPE_DEVICE, nullptr, x}, dy = {CU_MEMORYTYPE_DEVICE, nullptr, y};
    for (int i = 0; i < SPACE; i++)
        host[i] = (char)(i * 7);
    CU(cuMemcpyHtoD(x, host, 1 * KIB));
    CU(cuMemcpyHtoDAsync(x, host, 2 * KIB, stream));
    shapes(h, dx);
    CU(cuMemcpyDtoD(y, x, 1 * KIB));
    CU(cuMemcpyDtoDAsync(y, x, 2 * KIB, stream));
    shapes(dx, dy);
    memset(host, 0, SPACE);
    CU(cuMemcpyDtoH(host, y, 1 * KIB));
    CU(cuMemcpyDtoHAsync(host, y, 2 * KIB, stream));
    shapes(dy, h);
    for (int i = 0; i < 256 * KIB; i++)
        MUST(host[i] == (char)(i * 7));
    puts("copies");
}

static void sets()
{
    CU(cuMemsetD8(x, 1, 1 * KIB));
    CU(cuMemsetD16(x, 1, 2 * KIB / 2));
    CU(cuMemsetD32(x, 1, 4 * KIB / 4));
    CU(cuMemsetD8Async(x, 2, 8 * KIB, stream));
    CU(cuMemsetD16Async(x, 2, 16 * KIB / 2, stream));
    CU(cuMemsetD32Async(x, 0x03030303, 32 * KIB / 4, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(host, x, 32 * KIB));
    for (int i = 0; i < 32 * KIB; i++)
        MUST(host[i] == 3);
    puts("sets");
}

static void arrays()
{
    CUDA_ARRAY_DESCRIPTOR shape = {};
    shape.Width = 4096, shape.Height = 0, shape.Format = CU_AD_FORMAT_UNSIGNED_INT8, shape.NumChannels = 1;
    CUarray a, b;
    CU(cuArrayCreate(&a, &shape));
    CU(cuArrayCreate(&b, &shape));
    for (int i = 0; i < 4096; i++)
        host[i] = (char)(i * 5);
    CU(cuMemcpyHtoA(a, 0, host, 4096));
    CU(cuMemcpyAtoA(b, 0, a, 0, 4096));
    CU(cuMemcpyAtoD(x, b, 0, 4096));
    CU(cuMemcpyDtoA(a, 0, x, 4096));
    memset(host, 0, 4096);
    CU(cuMemcpyAtoH(host, a, 0, 4096));
    for (int i = 0; i < 4096; i++)
        MUST(host[i] == (char)(i * 5));
    CU(cuArrayDestroy(a));
    CU(cuArrayDestroy(b));
    puts("arrays");
}

static void launches(const char *self)
{
    CUmodule   module;
    CUfunction tick;
    int        count = -1;
    CU(cuModuleLoad(&module, module_path(self).c_str()));
    CU(cuModuleGetFunction(&tick, module, "tick"));
    CU(cuMemsetD32(x, 0, 1));
    void *args[] = {&x};
    for (int i = 0; i < 10; i++)
        CU(cuLaunchKernel(tick, 1, 1, 1, 32, 1, 1, 0, stream, args, nullptr));
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 32, config.hStream = stream;
    for (int i = 0; i < 20; i++)
        CU(cuLaunchKernelEx(&config, tick, args, nullptr));
    for (int i = 0; i < 5; i++)
        CU(cuLaunchCooperativeKernel(tick, 1, 1, 1, 32, 1, 1, 0, stream, args));
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(&count, x, 4));
    MUST(count == 35 * 32);
    CU(cuModuleUnload(module));
    puts("launches");
}

int main(int, char **argv)
{
    CUdevice  device;
    CUcontext context;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&x, SPACE));
    CU(cuMemAlloc(&y, SPACE));
    CU(cuMemAllocHost((void **)&host, SPACE));
    copies();
    sets();
    arrays();
    launches(argv[0]);
    CU(cuMemFree(x));
    CU(cuMemFree(y));
    CU(cuMemFreeHost(host));
    CU(cuStreamDestroy(stream));
    CU(cuDevicePrimaryCtxRelease(device));
    return 0;
}

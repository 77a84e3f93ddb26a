/* stalls.cu - kernels whose warps wait for what is known: for memory, for each other, for results of arithmetic, for shared memory, asleep; from two
 * places, in a stream, in a graph, in a context of its own, of code that is loaded and unloaded; each fills the device. */
#include "common.h"

enum { THREADS = 256, WORDS = 1 << 26 };

/* Each thread follows a chain of addresses that are in no cache. */
extern "C" __global__ void chase(const unsigned *next, unsigned *out, int steps)
{
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u % WORDS;
    for (int i = 0; i < steps; i++)
        at = (next[at] ^ at * 2246822519u) % WORDS; // LINE chase
    out[threadIdx.x] = at;
}

/* One warp of each block works; the others wait for it. */
extern "C" __global__ void meet(float *out, int steps)
{
    float x = threadIdx.x;
    if (threadIdx.x < 32)
        for (int i = 0; i < steps; i++)
            x = x * 1.0001f + .5f; // LINE works
    __syncthreads(); // LINE meet
    out[threadIdx.x] = x;
}

/* Each result needs the one before. */
extern "C" __global__ void chain(float *out, int steps)
{
    float x = threadIdx.x;
    for (int i = 0; i < steps; i++)
        x = x * 1.0001f + .5f; // LINE chain
    out[threadIdx.x] = x;
}

/* Each address of shared memory comes from it. */
extern "C" __global__ void shared(unsigned *out, int steps)
{
    __shared__ unsigned next[THREADS];
    next[threadIdx.x] = (threadIdx.x * 73 + 41) % THREADS;
    __syncthreads();
    unsigned at = threadIdx.x;
    for (int i = 0; i < steps; i++)
        at = next[at]; // LINE shared
    out[threadIdx.x] = at;
}

extern "C" __global__ void doze(int steps)
{
    for (int i = 0; i < steps; i++)
        __nanosleep(1000); // LINE doze
}

static int blocks;
static unsigned *next_of, *out;

NOINLINE static void here(int steps)
{
    chase<<<blocks * 8, THREADS>>>(next_of, out, steps); // LINE here
}

NOINLINE static void there(int steps)
{
    chase<<<blocks * 8, THREADS>>>(next_of, out, steps); // LINE there
}

/* Ten launches in a graph, ten times. */
static void graph()
{
    cudaStream_t stream;
    cudaGraph_t made;
    cudaGraphExec_t exec;
    CK(cudaStreamCreate(&stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 10; i++)
        shared<<<blocks * 8, THREADS, 0, stream>>>(out, 20000);
    CK(cudaStreamEndCapture(stream, &made));
    CK(cudaGraphInstantiate(&exec, made, 0));
    for (int i = 0; i < 10; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(made));
    CK(cudaStreamDestroy(stream));
}

/* In a context that is not the runtime's, beside it: these have no samples. */
static void apart()
{
    CUdevice device;
    CUcontext own, before;
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxGetCurrent(&before));
#if CUDA_VERSION >= 13000
    CU(cuCtxCreate(&own, nullptr, 0, device));
#else
    CU(cuCtxCreate(&own, 0, device));
#endif
    doze<<<blocks * 8, THREADS>>>(5000);
    CK(cudaDeviceSynchronize());
    CU(cuCtxDestroy(own));
    CU(cuCtxSetCurrent(before));
}

static const char *const PTX =
    ".version 7.8\n.target sm_75\n.address_size 64\n"
    ".visible .entry NAME()\n{\n .reg .pred %p<2>;\n .reg .b32 %r<3>;\n mov.u32 %r1, 0;\n"
    "L:\n nanosleep.u32 1000;\n add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 10000;\n @%p1 bra L;\n ret;\n}\n";

/* Code that is loaded and unloaded, one piece after the other, perhaps at the same address. */
static void loaded(const char *name)
{
    char text[1000];
    CUmodule module;
    CUfunction function;
    const char *at = strstr(PTX, "NAME");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - PTX), PTX, name, at + 4);
    CU(cuModuleLoadData(&module, text));
    CU(cuModuleGetFunction(&function, module, name));
    CU(cuLaunchKernel(function, blocks * 8, 1, 1, THREADS, 1, 1, 0, NULL, NULL, NULL));
    CU(cuCtxSynchronize());
    CU(cuModuleUnload(module));
}

int main()
{
    float *floats;
    CK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0));
    CK(cudaMalloc(&next_of, WORDS * sizeof *next_of));
    CK(cudaMalloc(&out, THREADS * sizeof *out));
    CK(cudaMalloc(&floats, THREADS * sizeof *floats));
    CK(cudaMemset(next_of, 17, WORDS * sizeof *next_of));
    cudaStream_t two;
    CK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    for (int i = 0; i < 3; i++)
        here(200);
    there(200);
    meet<<<blocks * 8, THREADS>>>(floats, 1000000);
    CK(cudaDeviceSynchronize());
    chain<<<blocks, 128, 0, two>>>(floats, 1000000);
    chain<<<blocks, 128, 0, two>>>(floats, 1000000);
    CK(cudaDeviceSynchronize());
    graph();
    doze<<<blocks * 8, THREADS>>>(20000);
    CK(cudaDeviceSynchronize());
    loaded("first_loaded");
    loaded("second_loaded");
    apart();
    truth("multiprocessors %d", blocks);
    return 0;
}

/* unchanged.cu - operations that write what was there already, of which it follows from the source how much they do. */
#include "common.h"

enum { N = 4096, BLOCK = 256, ODD_FROM = 5, ODD_BYTES = 1003 };

__device__ int steps = 7; /* of the module, as are these */
static __device__ int last;
__constant__ int weights[4];
__managed__ int total;

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void write_same(int *to)
{
    INDEX;
    to[i] = 7; // LINE one store
}

extern "C" __global__ void write_half(int *to)
{
    INDEX;
    if (i % 2 == 0)
        to[i] = i % 8 == 0 ? 7 : i;
}

extern "C" __global__ void add_some(int *to)
{
    INDEX;
    atomicAdd(&to[i], i % 3 == 0 ? 0 : 1);
}

extern "C" __global__ void write_vector(int4 *to)
{
    INDEX;
    to[i] = make_int4(7, 7, 7, 8 + i);
}

extern "C" __global__ void write_bytes(unsigned char *to)
{
    INDEX;
    to[4 * i + 1] = i % 2; // LINE store of bytes
}

extern "C" __global__ void write_mixed(int *to)
{
    INDEX;
    if (i % 2)
        to[i] = 7;
    else
        ((unsigned char *)to)[4 * i] = 7;
}

extern "C" __global__ void write_twice(int *to)
{
    INDEX;
    to[i] = i + 8;
    __threadfence();
    to[i] = 7;
}

extern "C" __global__ void write_indirect(int **to)
{
    to[0][threadIdx.x] = 7;
}

extern "C" __global__ void needs_variable(int *to)
{
    to[threadIdx.x] = steps;
}

extern "C" __global__ void uses_all(int *to, int never)
{
    INDEX;
    const int *from = i % 2 ? weights : &steps;
    to[i] = weights[i % 4];
    atomicAdd(&total, *from);
    if (i == 5) {
        printf("5 is %d\n", i);
        last = weights[1];
    }
    if (never)
        to[i] = (int)(100 * sin(1e9 * i));
}

extern "C" __global__ void from_buffer(int even, int *to)
{
    INDEX;
    to[i] = i % 2 ? 7 : even;
}

extern "C" __global__ void write_both(int *to, int *also)
{
    INDEX;
    to[i] = 7;
    also[i] = i;
}

extern "C" __global__ void only_reads(const int *from, int *to)
{
    if (from[threadIdx.x] == 12345)
        to[threadIdx.x] = 1;
}

static NOINLINE int *sevens(int *to)
{
    static int host[N];
    for (int &x : host)
        x = 7;
    CK(cudaMemcpy(to, host, sizeof host, cudaMemcpyHostToDevice));
    return to;
}

static int sum(const int *device)
{
    static int host[N];
    unsigned all = 0;
    CK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDefault));
    for (int x : host)
        all = all * 31 + (unsigned)x;
    return (int)all;
}

static void copies()
{
    static int host[N];
    static unsigned char bytes[ODD_BYTES];
    int *fresh, *half, *odd, *copied;
    CK(cudaMalloc(&fresh, N * 4)); // LINE fresh
    CK(cudaMemset(fresh, 0, N * 4));
    CK(cudaMemset(fresh, 0, N * 4));
    CK(cudaMalloc(&half, N * 4)); // LINE half
    CK(cudaMemcpy(half, host, N * 4, cudaMemcpyHostToDevice));
    for (int i = 0; i < N; i += 2)
        host[i] = i + 1;
    CK(cudaMemcpy(half, host, N * 4, cudaMemcpyHostToDevice));
    CK(cudaMalloc(&odd, N * 4)); // LINE odd
    CK(cudaMemset(odd, 0, N * 4));
    for (int i = 17; i < ODD_BYTES; i += 100)
        bytes[i] = 1;
    CK(cudaMemcpy((char *)odd + ODD_FROM, bytes, ODD_BYTES, cudaMemcpyHostToDevice));
    CK(cudaMalloc(&copied, N * 4)); // LINE copied
    for (int k = 0; k < 3; k++)
        CK(cudaMemcpy(copied, half, N * 4, cudaMemcpyDeviceToDevice));
    CK(cudaMemcpy2D(copied, 64, half, 64, 32, 8, cudaMemcpyDeviceToDevice));
    printf("copies %d %d %d %d\n", sum(fresh), sum(half), sum(odd), sum(copied));
}

#define RUN(name, count, ...)                                                                             \
    do {                                                                                                  \
        name<<<(count) / BLOCK, BLOCK>>>(__VA_ARGS__);                                                    \
        CK(cudaGetLastError());                                                                           \
        printf(#name " %d\n", sum(p));                                                                    \
        sevens(p);                                                                                        \
    } while (0)

static void kernels()
{
    int *p, *other, **table;
    CK(cudaMalloc(&p, N * 4)); // LINE kernels
    sevens(p);
    CK(cudaMalloc(&other, N * 4)); // LINE other
    sevens(other);
    CK(cudaMalloc(&table, sizeof *table));
    CK(cudaMemcpy(table, &p, sizeof p, cudaMemcpyHostToDevice));
    for (int k = 0; k < 20; k++)
        write_same<<<N / BLOCK, BLOCK>>>(p);
    RUN(write_half, N, p);
    RUN(add_some, N, p);
    RUN(write_vector, N / 4, (int4 *)p);
    RUN(write_bytes, N, (unsigned char *)p);
    RUN(write_mixed, N, p);
    RUN(write_twice, N, p);
    RUN(write_indirect, BLOCK, table);
    CK(cudaMemset(p, 0, BLOCK * 4));
    RUN(needs_variable, BLOCK, p);
    const int sevens_and_more[] = {7, 8, 7, 9};
    int found;
    CK(cudaMemcpyToSymbol(weights, sevens_and_more, sizeof weights));
    sevens(p);
    RUN(uses_all, N, p, 0);
    CK(cudaMemcpyFromSymbol(&found, last, sizeof found));
    printf("last %d total %d\n", found, total);
    sevens(p);
    struct {
        int even;
        int *to;
    } packed = {9, p};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    cudaFunction_t function;
    CK(cudaGetFuncBySymbol(&function, (const void *)from_buffer));
    CU(cuLaunchKernel(function, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, NULL, extra));
    printf("from_buffer %d\n", sum(p));
    sevens(p);
    RUN(write_both, N / 2, p, p + N / 2);
    RUN(write_same, BLOCK, p + 100);
    RUN(only_reads, BLOCK, p, other);
    printf("other %d\n", sum(other));
}

static void streams()
{
    int *raced, *pooled, *captured, *managed;
    cudaStream_t first, second;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CK(cudaMalloc(&raced, N * 4)); // LINE raced
    CK(cudaMemsetAsync(raced, 0, N * 4, first));
    CK(cudaStreamSynchronize(first));
    CK(cudaMemsetAsync(raced, 0, N * 4, second));
    CK(cudaStreamSynchronize(second));
    CK(cudaMallocAsync(&pooled, N * 4, first)); // LINE pooled
    for (int k = 0; k < 2; k++)
        CU(cuMemsetD32Async((CUdeviceptr)pooled, 9, N, first));
    printf("pooled %d\n", (cudaStreamSynchronize(first), sum(pooled)));
    CK(cudaFreeAsync(pooled, first));
    CK(cudaMalloc(&captured, N * 4)); // LINE captured
    CK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CK(cudaMemsetAsync(captured, 0, N * 4, first));
    write_half<<<N / BLOCK, BLOCK, 0, first>>>(captured);
    CK(cudaStreamEndCapture(first, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    for (int k = 0; k < 3; k++)
        CK(cudaGraphLaunch(exec, first));
    CK(cudaStreamSynchronize(first));
    printf("captured %d\n", sum(captured));
    CK(cudaMallocManaged(&managed, N * 4)); // LINE managed
    write_same<<<N / BLOCK, BLOCK>>>(managed);
    CK(cudaDeviceSynchronize());
    printf("managed %d\n", sum(managed));
}

int main()
{
    copies();
    kernels();
    streams();
    CK(cudaDeviceSynchronize());
    return 0;
}

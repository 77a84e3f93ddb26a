/* gpu_remote.cu - kernels that access memory of another GPU, and such that could: gpu_remote KIND N
 *
 * Prints GPULAUNCH and nanoseconds per launch, until the devices have finished. The kinds, each over 64 MB of numbers on GPU 0:
 *   add       one of the two inputs is on GPU 1
 *   stencil   five points; the first and the last row go to GPU 1, too
 *   spmv      a sparse matrix of 16 random entries a row times a vector on GPU 1
 *   bfs       one level of a graph: whose turn it is and the neighbours are here, the levels of every second vertex on GPU 1; which part a vertex is
 *             in says a table of pointers
 *   table     a gather through a table of pointers, of which every second is to GPU 1
 *   here      the same table, and all of it on GPU 0
 *   plain     add, with all of it on GPU 0
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#define CK(call)                                                                            \
    do {                                                                                    \
        cudaError_t ck_ = (call);                                                           \
        if (ck_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(ck_));                    \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

enum { SIDE = 4096,
       N = SIDE * SIDE,
       PARTS = 64,
       DEGREE = 16 };

__global__ void add(const float *a, const float *b, float *to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = a[i] + b[i];
}

__global__ void stencil(const float *from, float *to, float *above, float *below)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, i = y * SIDE + x;
    if (x == 0 || x == SIDE - 1 || y == 0 || y == SIDE - 1)
        return;
    const float v = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - SIDE] + from[i + SIDE]);
    to[i] = v;
    if (y == 1)
        above[x] = v;
    if (y == SIDE - 2)
        below[x] = v;
}

__global__ void spmv(const int *columns, const float *values, const float *x, float *y)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float     sum = 0;
    for (int k = 0; k < DEGREE; k++)
        sum += values[row + k * (N / DEGREE)] * x[columns[row + k * (N / DEGREE)]];
    y[row] = sum;
}

__global__ void bfs(const int *neighbours, int *const *levels, const int *turn, int level)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (turn[v] != level)
        return;
    for (int k = 0; k < DEGREE; k++) {
        const int w = neighbours[v + k * (N / DEGREE)];
        int      *at = &levels[w % PARTS][w / PARTS];
        if (*at > level + 1)
            *at = level + 1;
    }
}

__global__ void table(float *const *from, float *to)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float          sum = 0;
    for (int k = 0; k < 4; k++)
        sum += from[(i / 32 + k) % PARTS][(i + k * 32) % (N / PARTS)];
    to[i] = sum;
}

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

template <typename T> static T *on(int device, size_t count, int byte)
{
    T *p;
    CK(cudaSetDevice(device));
    CK(cudaMalloc(&p, count * sizeof(T)));
    CK(cudaMemset(p, byte, count * sizeof(T)));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(0));
    return p;
}

static int *random_numbers(size_t count, int below)
{
    std::vector<int> numbers(count);
    unsigned long long s = 88172645463325252ull;
    for (int &n : numbers) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        n = (int)(s % (unsigned)below);
    }
    int *p = on<int>(0, count, 0);
    CK(cudaMemcpy(p, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    return p;
}

template <typename T> static T **parts(bool all_here, int byte)
{
    T *p[PARTS], **table;
    for (int k = 0; k < PARTS; k++)
        p[k] = on<T>(all_here ? 0 : k % 2, N / PARTS, byte);
    CK(cudaMalloc(&table, sizeof p));
    CK(cudaMemcpy(table, p, sizeof p, cudaMemcpyHostToDevice));
    return table;
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (argc != 3)
        return 2;
    const char *kind = argv[1];
    const int   count = atoi(argv[2]);
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        return 77;
    CK(cudaSetDevice(0));
    CK(cudaDeviceEnablePeerAccess(1, 0));
    const bool   sparse = !strcmp(kind, "spmv") || !strcmp(kind, "bfs");
    float       *a = on<float>(0, N, 1), *b = on<float>(0, N, 1), *to = on<float>(0, N, 1), *there = on<float>(1, N, 1);
    int         *columns = sparse ? random_numbers(N, !strcmp(kind, "spmv") ? N : N / DEGREE) : nullptr, *turn = on<int>(0, N, 0);
    float      **tables = parts<float>(strcmp(kind, "table") != 0, 1);
    int        **levels = parts<int>(false, 127);
    double       begin = 0;
    for (int i = -10; i < count; i++) { /* the first ones compile */
        if (i == 0) {
            CK(cudaDeviceSynchronize());
            begin = now_ns();
        }
        if (!strcmp(kind, "add"))
            add<<<N / 256, 256>>>(a, there, to);
        else if (!strcmp(kind, "stencil"))
            stencil<<<dim3(SIDE / 256, SIDE), 256>>>(a, to, there, there + SIDE);
        else if (!strcmp(kind, "spmv"))
            spmv<<<N / DEGREE / 256, 256>>>(columns, a, there, to);
        else if (!strcmp(kind, "bfs"))
            bfs<<<N / DEGREE / 256, 256>>>(columns, levels, turn, 0);
        else if (!strcmp(kind, "table") || !strcmp(kind, "here"))
            table<<<N / 256, 256>>>(tables, to);
        else if (!strcmp(kind, "plain"))
            add<<<N / 256, 256>>>(a, b, to);
        else
            return 2;
    }
    CK(cudaDeviceSynchronize());
    printf("GPULAUNCH %.1f\n", (now_ns() - begin) / count);
    return 0;
}

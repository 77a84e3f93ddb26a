/* remote.cu - kernels that access memory of another GPU and of the host: in each direction, with each width, through parameters, structures,
 * tables of pointers and variables, some lanes of a warp and all, of plain memory, pools, mapped handles and pinned memory of the host.
 */
#include "common.h"

#include <vector>

enum { LANES = 32,
       N = 4096,
       ROWS = 64,
       COLUMNS = 128,
       STEPS = 10 };

struct tables {
    float *here;
    float *there;
};

__device__ float *variable;

extern "C" __global__ void once(unsigned *to)
{
    to[threadIdx.x] = threadIdx.x; // LINE once
}

/* 8 lanes each to their own GPU, the other and the host; 8 to none. */
extern "C" __global__ void mixed(unsigned *const *where)
{
    unsigned *to = where[threadIdx.x / 8];
    if (to)
        to[threadIdx.x % 8] = threadIdx.x + 1; // LINE mixed
}

template <typename T> static __device__ void copy_one(T *to, const T *from, int i)
{
    to[i] = from[i]; // LINE copy_one
}

extern "C" __global__ void widths(unsigned char *to1, const unsigned char *from1, unsigned short *to2, const unsigned short *from2, unsigned *to4, const unsigned *from4,
                                  uint64_t *to8, const uint64_t *from8, uint4 *to16, const uint4 *from16)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    copy_one(to1, from1, i);
    copy_one(to2, from2, i);
    copy_one(to4, from4, i);
    copy_one(to8, from8, i);
    copy_one(to16, from16, i);
}

/* The same through pointers that are read from memory. */
extern "C" __global__ void widths_read(void *const *to, void *const *from)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    copy_one((unsigned char *)to[0], (const unsigned char *)from[0], i);
    copy_one((unsigned short *)to[1], (const unsigned short *)from[1], i);
    copy_one((unsigned *)to[2], (const unsigned *)from[2], i);
    copy_one((uint64_t *)to[3], (const uint64_t *)from[3], i);
    copy_one((uint4 *)to[4], (const uint4 *)from[4], i);
}

extern "C" __global__ void atomics(unsigned *counter, unsigned *last)
{
    atomicAdd(counter, 1u);                // LINE reduction
    if (threadIdx.x % 2)
        last[threadIdx.x] = atomicExch(&counter[1], threadIdx.x); // LINE exchange
}

extern "C" __global__ void from_host(float *to, const float *from, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        to[i] = from[i] + 1; // LINE from_host
}

extern "C" __global__ void in_structure(tables t)
{
    t.there[threadIdx.x] = t.here[threadIdx.x]; // LINE in_structure
}

extern "C" __global__ void by_variable(void)
{
    variable[threadIdx.x] = 1; // LINE by_variable
}

extern "C" __global__ void only_here(float *to, const float *from, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

/* One part of a field; the rows above and below it are the neighbours'. */
extern "C" __global__ void stencil(float *now, const float *before, float *above, float *below)
{
    const int x = threadIdx.x, y = blockIdx.x + 1;
    const float v = 0.25f * (before[(y - 1) * COLUMNS + x] + before[(y + 1) * COLUMNS + x] + before[y * COLUMNS + x] * 2);
    now[y * COLUMNS + x] = v;
    if (y == 1)
        above[(ROWS + 1) * COLUMNS + x] = v; // LINE above
    if (y == ROWS)
        below[x] = v;                        // LINE below
}

template <typename T> static NOINLINE T *on(int device, size_t count)
{
    T *p;
    CK(cudaSetDevice(device));
    CK(cudaMalloc(&p, count * sizeof(T)));
    CK(cudaMemset(p, 1, count * sizeof(T)));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(0));
    return p;
}

template <typename T> static NOINLINE T *pinned(size_t count)
{
    T *p;
    CK(cudaHostAlloc(&p, count * sizeof(T), cudaHostAllocMapped));
    memset(p, 1, count * sizeof(T));
    return p;
}

static void try_widths(void)
{
    void *to[] = {on<unsigned char>(1, N), on<unsigned short>(1, N), on<unsigned>(1, N), on<uint64_t>(1, N), on<uint4>(1, N)};
    void *from[] = {on<unsigned char>(1, N), on<unsigned short>(1, N), on<unsigned>(1, N), on<uint64_t>(1, N), on<uint4>(1, N)};
    void **tables[2];
    widths<<<N / 128, 128>>>((unsigned char *)to[0], (unsigned char *)from[0], (unsigned short *)to[1], (unsigned short *)from[1], (unsigned *)to[2], (unsigned *)from[2],
                             (uint64_t *)to[3], (uint64_t *)from[3], (uint4 *)to[4], (uint4 *)from[4]);
    for (void **&t : tables)
        CK(cudaMalloc(&t, sizeof to));
    CK(cudaMemcpy(tables[0], to, sizeof to, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(tables[1], from, sizeof from, cudaMemcpyHostToDevice));
    widths_read<<<N / 128, 128>>>(tables[0], tables[1]);
    CK(cudaDeviceSynchronize());
    print("widths", (uint4 *)to[4], N);
}

static void try_mixed(void)
{
    unsigned *targets[] = {on<unsigned>(0, 8), on<unsigned>(1, 8), pinned<unsigned>(8), nullptr}, **table;
    CK(cudaMalloc(&table, sizeof targets));
    CK(cudaMemcpy(table, targets, sizeof targets, cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++)
        mixed<<<1, LANES>>>(table);
    CK(cudaDeviceSynchronize());
    print("mixed", targets[1], 8);
    MUST(targets[2][7] == 24);
}

static void try_stencil(void)
{
    float *field[2][2];
    for (int d = 0; d < 2; d++)
        for (float *&f : field[d])
            f = on<float>(d, (ROWS + 2) * COLUMNS);
    for (int step = 0; step < STEPS; step++) {
        for (int d = 0; d < 2; d++) {
            CK(cudaSetDevice(d));
            stencil<<<ROWS, COLUMNS>>>(field[d][(step + 1) % 2], field[d][step % 2], field[1 - d][(step + 1) % 2], field[1 - d][(step + 1) % 2]);
        }
        for (int d = 0; d < 2; d++) {
            CK(cudaSetDevice(d));
            CK(cudaDeviceSynchronize());
        }
    }
    CK(cudaSetDevice(0));
    print("stencil", field[0][0], (ROWS + 2) * COLUMNS);
}

/* A pool of the other GPU, which this one may use. */
static void try_pool(void)
{
    unsigned      *p;
    cudaMemPool_t  pool;
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    cudaStream_t   stream;
    CK(cudaSetDevice(1));
    CK(cudaStreamCreate(&stream));
    CK(cudaDeviceGetDefaultMemPool(&pool, 1));
    CK(cudaMemPoolSetAccess(pool, &access, 1));
    CK(cudaMallocAsync(&p, LANES * sizeof *p, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaSetDevice(0));
    for (int i = 0; i < 2; i++)
        once<<<1, LANES>>>(p);
    CK(cudaDeviceSynchronize());
    print("pool", p, LANES);
}

/* Memory of the other GPU, mapped by its handle. */
static void try_mapped(void)
{
    size_t              bytes = 2 << 20;
    CUdeviceptr         at;
    CUmemAllocationProp prop = {};
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc     access[2] = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    for (int d = 0; d < 2; d++) {
        access[d].location = {CU_MEM_LOCATION_TYPE_DEVICE, d};
        access[d].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    CU(cuMemCreate(&handle, bytes, &prop, 0));
    CU(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CU(cuMemMap(at, bytes, 0, handle, 0));
    CU(cuMemSetAccess(at, bytes, access, 2));
    for (int i = 0; i < 4; i++)
        once<<<1, LANES>>>((unsigned *)at);
    CK(cudaDeviceSynchronize());
    print("mapped", (unsigned *)at, LANES);
}

int main()
{
    int devices = 0, can = 0, back = 0;
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        skip("one GPU only");
    CK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CK(cudaDeviceCanAccessPeer(&back, 1, 0));
    if (!can || !back)
        skip("the GPUs cannot reach each other's memory");
    for (int d = 0; d < 2; d++) {
        CK(cudaSetDevice(d));
        CK(cudaDeviceEnablePeerAccess(1 - d, 0));
    }
    CK(cudaSetDevice(0));
    unsigned *there = on<unsigned>(1, N), *counter = on<unsigned>(1, 64);
    once<<<1, LANES>>>(there);
    CK(cudaDeviceSynchronize());
    print("once", there, LANES);
    try_mixed();
    try_widths();
    atomics<<<4, 64>>>(counter, on<unsigned>(0, 64));
    CK(cudaDeviceSynchronize());
    print("atomics", counter, 1);
    float *a = on<float>(0, N), *b = on<float>(0, N), *c = on<float>(1, N), *host = pinned<float>(N);
    for (int i = 0; i < 5; i++)
        from_host<<<8, 64>>>(a, host, N - 7);
    in_structure<<<2, 64>>>({a, c});
    CK(cudaMemcpyToSymbol(variable, &c, sizeof c));
    by_variable<<<1, 48>>>();
    for (int i = 0; i < 6; i++)
        only_here<<<N / 256, 256>>>(b, a, N);
    CK(cudaDeviceSynchronize());
    print("structure", c, 64);
    print("here", b, N);
    try_stencil();
    try_pool();
    try_mapped();
    /* What runs on the other GPU accesses this one's. */
    CK(cudaSetDevice(1));
    once<<<1, LANES>>>((unsigned *)b);
    CK(cudaDeviceSynchronize());
    puts("done");
    return 0;
}

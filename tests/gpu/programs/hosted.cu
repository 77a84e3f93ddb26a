/* hosted.cu - large objects, of which operations leave parts as they were: with --values-memory=16M the device has no room for a copy of any. */
#include "common.h"

enum { N = 8 << 20, PART = 4 << 20, STEPS = 10, ROW = 4096, WIDTH = 4000, LONGER = 24 << 20, BLOCK = 256 };

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void write_half(int *to)
{
    INDEX;
    to[i] = i % 2 ? 7 : i;
}

extern "C" __global__ void write_bytes(unsigned char *to)
{
    INDEX;
    to[4 * i + 1] = i % 2;
}

extern "C" __global__ void step(int *to, int k)
{
    INDEX;
    to[i] = i % 4 ? 7 : k;
}

/* For a host that waits for nothing of the device, but not for ever. */
extern "C" __global__ void wait_for(const volatile int *answer, int *seen)
{
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (!*answer && now - begin < 20000000000ull);
    *seen = *answer;
}

static int host[N];

static NOINLINE int *sevens(int *to)
{
    for (int &x : host)
        x = 7;
    CK(cudaMemcpy(to, host, sizeof host, cudaMemcpyHostToDevice));
    return to;
}

static void operations()
{
    int *half, *bytes, *copied, *pitched;
    CK(cudaMalloc(&half, N * 4)); // LINE half
    write_half<<<N / BLOCK, BLOCK>>>(sevens(half));
    print("half", half, N);
    CK(cudaMalloc(&bytes, N * 4)); // LINE bytes
    write_bytes<<<N / BLOCK, BLOCK>>>((unsigned char *)sevens(bytes));
    print("bytes", bytes, N);
    CK(cudaMalloc(&copied, N * 4)); // LINE copied
    CK(cudaMemset(copied, 0, N * 4));
    for (int i = 0; i < N; i++)
        host[i] = i % 4 ? 0 : i + 1;
    CK(cudaMemcpy(copied, host, sizeof host, cudaMemcpyHostToDevice));
    print("copied", copied, N);
    CK(cudaMalloc(&pitched, N * 4)); // LINE pitched
    CK(cudaMemset(pitched, 0, N * 4));
    CK(cudaMemset2D(pitched, ROW, 0, WIDTH, N * 4 / ROW));
    print("pitched", pitched, N);
}

/* In two streams, and nobody waits. */
static void streams()
{
    int         *part[2];
    cudaStream_t stream[2];
    CK(cudaMalloc(&part[0], PART * 4)); // LINE one
    CK(cudaMalloc(&part[1], PART * 4)); // LINE two
    for (int s = 0; s < 2; s++) {
        CK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        CK(cudaMemsetAsync(part[s], 0, PART * 4, stream[s]));
    }
    for (int k = 0; k < STEPS; k++)
        for (int s = 0; s < 2; s++)
            step<<<PART / BLOCK, BLOCK, 0, stream[s]>>>(part[s], k);
    CK(cudaDeviceSynchronize());
    print("one", part[0], PART);
    print("two", part[1], PART);
    for (int s = 0; s < 2; s++)
        CK(cudaStreamDestroy(stream[s]));
}

/* More memory of the host is needed while a kernel waits for what the host does next. */
static void answers()
{
    int          *longer, *seen, found;
    volatile int *answer;
    cudaStream_t  first, second;
    CK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CK(cudaHostAlloc((void **)&answer, sizeof *answer, cudaHostAllocMapped));
    CK(cudaMalloc(&seen, sizeof *seen));
    CK(cudaMalloc(&longer, LONGER * 4)); // LINE longer
    *answer = 1;
    wait_for<<<1, 1, 0, first>>>(answer, seen); /* its code is loaded */
    CK(cudaMemsetAsync(longer, 0, LONGER * 4, second));
    CK(cudaDeviceSynchronize());
    *answer = 0;
    wait_for<<<1, 1, 0, first>>>(answer, seen);
    CK(cudaMemsetAsync(longer, 0, LONGER * 4, second));
    *answer = 1;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&found, seen, sizeof found, cudaMemcpyDeviceToHost));
    printf("answered %d\n", found);
}

int main()
{
    operations();
    streams();
    answers();
    CK(cudaDeviceSynchronize());
    return 0;
}

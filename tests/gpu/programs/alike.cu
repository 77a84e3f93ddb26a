/* alike.cu - objects that hold the same values as others, and what kernels and copies read and write (figure 3 of ValueExpert). */
#include "common.h"

enum { N = 1000, BLOCK = 250, ODD = 1003, WRITES = 32 };

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void set(int *to, int factor)
{
    INDEX;
    to[i] = factor * i;
}

extern "C" __global__ void look(const int *from, int *to)
{
    INDEX;
    to[i] = from[i] + 1;
}

static int host[N], back[N];

static int *device(size_t bytes)
{
    int *p;
    CK(cudaMalloc(&p, bytes));
    return p;
}

static int sum(const int *p)
{
    unsigned all = 0;
    CK(cudaMemcpy(back, p, sizeof back, cudaMemcpyDeviceToHost));
    for (int x : back)
        all = all * 31 + (unsigned)x;
    return (int)all;
}

static void figure()
{
    int *a = device(N * 4); // LINE figure-a
    int *b = device(N * 4); // LINE figure-b
    CK(cudaMemset(a, 0, N * 4)); // LINE f
    CK(cudaMemset(b, 0, N * 2)); // LINE g
    set<<<N / BLOCK, BLOCK>>>(a, 1); // LINE s
    set<<<N / BLOCK, BLOCK>>>(b, 2); // LINE t
    look<<<N / BLOCK, BLOCK>>>(a, b); // LINE l
    CK(cudaMemcpy(back, b, N * 4, cudaMemcpyDeviceToHost)); // LINE r
    printf("figure %d\n", back[N - 1]);
}

/* All bytes but the last are those of the other two. */
static void odd()
{
    static unsigned char bytes[ODD];
    int *one = device(ODD);   // LINE odd-one
    int *two = device(ODD);   // LINE odd-two
    int *three = device(ODD); // LINE odd-three
    CK(cudaMemcpy(one, bytes, ODD, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(two, bytes, ODD, cudaMemcpyHostToDevice));
    bytes[ODD - 1] = 1;
    CK(cudaMemcpy(three, bytes, ODD, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(bytes, three, ODD, cudaMemcpyDeviceToHost));
    printf("odd %d\n", bytes[ODD - 1]);
}

int main()
{
    for (int i = 0; i < N; i++)
        host[i] = 3 * i;
    figure();
    int *a = device(N * 4); // LINE a
    int *b = device(N * 4); // LINE b
    int *c = device(N * 4); // LINE c
    int *other = device(N * 4); // LINE other
    int *longer = device(N * 8); // LINE longer
    CK(cudaMemcpy(a, host, N * 4, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(b, host, N * 4, cudaMemcpyHostToDevice));
    printf("a and b %d %d\n", sum(a), sum(b));
    set<<<N / BLOCK, BLOCK>>>(c, 3);
    printf("c %d\n", sum(c));
    set<<<N / BLOCK, BLOCK>>>(other, 4);
    set<<<2 * N / BLOCK, BLOCK>>>(longer, 3);
    printf("other %d %d\n", sum(other), sum(longer));
    odd();
    /* Freed before another operation comes. */
    int *first = device(N * 4); // LINE first
    int *brief = device(N * 4); // LINE brief
    set<<<N / BLOCK, BLOCK>>>(first, 5);
    set<<<N / BLOCK, BLOCK>>>(brief, 5);
    CK(cudaDeviceSynchronize());
    CK(cudaFree(brief));
    CK(cudaFree(first));
    /* Nobody waits for these. */
    int *often = device(N * 4); // LINE often
    cudaStream_t stream;
    int *pinned;
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaMallocHost(&pinned, N * 4));
    memcpy(pinned, host, sizeof host);
    for (int k = 0; k < WRITES; k++)
        CK(cudaMemcpyAsync(often, pinned, N * 4, cudaMemcpyHostToDevice, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaMemcpyAsync(often, pinned, N * 4, cudaMemcpyHostToDevice, stream));
    CK(cudaStreamSynchronize(stream));
    printf("often %d\n", sum(often));
    /* No call that enqueues comes behind these. */
    int *before = device(N * 4); // LINE before
    int *last = device(N * 4);   // LINE last
    set<<<N / BLOCK, BLOCK>>>(before, 7);
    set<<<N / BLOCK, BLOCK>>>(last, 7);
    CK(cudaDeviceSynchronize());
    return 0;
}

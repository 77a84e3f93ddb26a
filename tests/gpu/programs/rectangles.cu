/* rectangles.cu - copies and sets of rectangles and boxes that write in part what was there already. */
#include "common.h"

enum { WIDTH = 100, ROWS = 50, PITCH = 96, HEIGHT = 10, DEPTH = 6 };

/* Writes between the rows of others, until it is told to stop, or for a second. */
extern "C" __global__ void disturb(int *to, volatile int *stop)
{
    uint64_t begin, now;
    int count = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        *(volatile int *)to = ++count;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (!*stop && now - begin < 1000000000);
}

extern "C" __global__ void write_bytes(unsigned char *to)
{
    to[threadIdx.x] = 7;
}

static unsigned sum(const void *device, size_t bytes)
{
    static unsigned char host[1 << 18];
    unsigned all = 0;
    CK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        all = all * 31 + host[i];
    return all;
}

/* Of four columns one changes. */
static void pitched()
{
    static int host[ROWS][WIDTH];
    int *p;
    size_t pitch;
    CK(cudaMallocPitch((void **)&p, &pitch, WIDTH * 4, ROWS)); // LINE pitched
    CK(cudaMemset(p, 0, pitch * ROWS));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < WIDTH; c += 4)
            host[r][c] = r + 1;
    CK(cudaMemcpy2D(p, pitch, host, WIDTH * 4, WIDTH * 4, ROWS, cudaMemcpyHostToDevice));
    MUST(pitch > WIDTH * 4);
    printf("pitched %u\n", sum(p, WIDTH * 4));
}

/* What another stream writes between the rows meanwhile does not count. */
static void disturbed()
{
    enum { APART = 32 };
    int *p, *stop, last;
    cudaStream_t stream, aside;
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
    CK(cudaHostAlloc((void **)&stop, sizeof *stop, cudaHostAllocMapped));
    *stop = 0;
    CK(cudaMalloc((void **)&p, ROWS * APART * 4)); // LINE disturbed
    CK(cudaMemset(p, 0, ROWS * APART * 4));
    CK(cudaMemset2DAsync(p, APART * 4, 0, 20 * 4, ROWS, stream));
    CK(cudaStreamSynchronize(stream));
    disturb<<<1, 1, 0, aside>>>(p + 10 * APART + 25, stop);
    CK(cudaGetLastError());
    for (int k = 0; k < 4; k++)
        CK(cudaMemset2DAsync(p, APART * 4, 0, 20 * 4, ROWS, stream));
    CK(cudaStreamSynchronize(stream));
    *(volatile int *)stop = 1;
    CK(cudaStreamSynchronize(aside));
    CK(cudaMemcpy(&last, p + 10 * APART + 25, 4, cudaMemcpyDeviceToHost));
    MUST(last > 0);
    CK(cudaMemset(p + 10 * APART + 25, 0, 4));
    printf("disturbed %u\n", sum(p, ROWS * APART * 4));
}

/* A box of 5 by 4 by 3 numbers, one of three of which changes, somewhere in one of 24 by 10 by 6. */
static void boxes()
{
    static int host[3][4][5];
    char *p;
    cudaMemcpy3DParms copy = {};
    CK(cudaMalloc((void **)&p, PITCH * HEIGHT * DEPTH)); // LINE box
    CK(cudaMemset(p, 0, PITCH * HEIGHT * DEPTH));
    for (int i = 0; i < 60; i += 3)
        (&host[0][0][0])[i] = i + 1;
    copy.srcPtr = make_cudaPitchedPtr(host, 20, 20, 4);
    copy.dstPtr = make_cudaPitchedPtr(p, PITCH, PITCH, HEIGHT);
    copy.dstPos = make_cudaPos(12, 2, 1);
    copy.extent = make_cudaExtent(20, 4, 3);
    copy.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&copy));
    printf("box %u\n", sum(p, PITCH * HEIGHT * DEPTH));
    /* All of it at one stretch, from another. */
    char *q;
    cudaMemcpy3DParms all = {};
    CK(cudaMalloc((void **)&q, PITCH * HEIGHT * DEPTH)); // LINE all
    CK(cudaMemset(q, 0, PITCH * HEIGHT * DEPTH));
    all.srcPtr = make_cudaPitchedPtr(p, PITCH, PITCH, HEIGHT);
    all.dstPtr = make_cudaPitchedPtr(q, PITCH, PITCH, HEIGHT);
    all.extent = make_cudaExtent(PITCH, HEIGHT, DEPTH);
    all.kind = cudaMemcpyDeviceToDevice;
    CK(cudaMemcpy3DAsync(&all, 0));
    printf("all %u\n", sum(q, PITCH * HEIGHT * DEPTH));
}

static void sets()
{
    int *odd, *words;
    CK(cudaMalloc((void **)&odd, 128 * 10)); // LINE odd
    CK(cudaMemset(odd, 0, 128 * 10));
    CK(cudaMemset2D((char *)odd + 3, 128, 0, 37, 10)); /* of each row the numbers 1 to 9 */
    printf("odd %u\n", sum(odd, 128 * 10));
    CK(cudaMalloc((void **)&words, 64 * 4)); // LINE words
    CK(cudaMemset(words, 0, 64 * 4));
    CU(cuMemsetD2D32((CUdeviceptr)words, 64, 0, 8, 2));
    CU(cuMemsetD2D32Async((CUdeviceptr)words, 64, 5, 8, 4, NULL));
    printf("words %u\n", sum(words, 64 * 4));
}

/* Three bytes of each 16, one of which changes. */
static void narrow()
{
    static unsigned char host[7][3];
    unsigned char *p;
    CK(cudaMalloc((void **)&p, 16 * 7)); // LINE narrow
    CK(cudaMemset(p, 7, 16 * 7));
    write_bytes<<<1, 16 * 7>>>(p);
    CK(cudaGetLastError());
    for (auto &row : host)
        row[0] = row[1] = 7;
    CK(cudaMemcpy2D(p + 5, 16, host, 3, 3, 7, cudaMemcpyHostToDevice));
    printf("narrow %u\n", sum(p, 16 * 7));
}

int main()
{
    pitched();
    boxes();
    sets();
    narrow();
    disturbed();
    CK(cudaDeviceSynchronize());
    return 0;
}

/* freed.cu - memory that is freed right behind the launch that writes it, again and again. freed [LAUNCHES]
 *
 * The second half is from the pool of a stream, which waits for nothing.
 */
#include "common.h"

enum { N = 1024, BLOCK = 256, SEVEN = 7 };

extern "C" __global__ void set(int *to) { to[blockIdx.x * blockDim.x + threadIdx.x] = SEVEN; }
extern "C" __global__ void set_pooled(int *to) { to[blockIdx.x * blockDim.x + threadIdx.x] = SEVEN; }

static long peak_kb()
{
    char  line[256];
    long  kb = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld", &kb);
    return kb;
}

int main(int argc, char **argv)
{
    const int    launches = argc > 1 ? atoi(argv[1]) : 3000;
    int          host[N], *p;
    cudaStream_t stream;
    CK(cudaStreamCreate(&stream));
    for (int k = 0; k < launches; k++) {
        CK(cudaMalloc(&p, N * sizeof(int)));
        set<<<N / BLOCK, BLOCK>>>(p);
        if (k % 100 == 0) {
            CK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
            MUST(host[0] == SEVEN && host[N - 1] == SEVEN);
        }
        CK(cudaFree(p));
    }
    for (int k = 0; k < launches; k++) {
        CK(cudaMallocAsync(&p, N * sizeof(int), stream));
        set_pooled<<<N / BLOCK, BLOCK, 0, stream>>>(p);
        CK(cudaFreeAsync(p, stream));
    }
    CK(cudaStreamSynchronize(stream));
    truth("launches %d", launches);
    truth("peak_kb %ld", peak_kb());
    puts("all were set and freed");
    return 0;
}

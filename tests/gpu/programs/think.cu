/* think.cu - the host thinks for 20 ms while the device has nothing to do, then waits for a kernel of 5 ms; twenty times. */
#include "common.h"

enum { ROUNDS = 20 };
#define THINK_NS 20000000ull
#define WORK_NS 5000000ull

extern "C" __global__ void work(int *p)
{
    wait_ns(WORK_NS);
    atomicAdd(p, 1);
}

extern "C" NOINLINE uint64_t think(void)
{
    const uint64_t  begin = host_ns();
    uint64_t        now;
    volatile double x = 1;
    do {
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001;
        now = host_ns();
    } while (now - begin < THINK_NS);
    return now - begin;
}

int main()
{
    uint64_t thought = 0;
    int     *p, rounds = 0;
    CK(cudaMalloc(&p, sizeof *p));
    CK(cudaMemset(p, 0, sizeof *p));
    for (int i = 0; i < ROUNDS; i++) {
        thought += think();
        work<<<1, 1>>>(p);
        CK(cudaDeviceSynchronize());
    }
    CK(cudaMemcpy(&rounds, p, sizeof rounds, cudaMemcpyDeviceToHost));
    MUST(rounds == ROUNDS);
    truth("thought_ns %llu", (unsigned long long)thought);
    printf("%d rounds\n", rounds);
    return 0;
}

/* endless.cu - kernels that end, and two seconds later one that does not; then it waits to be killed. What runs is in SONDE_TEST_TRUTH. */
#include "codes.h"

#include <unistd.h>

extern "C" __global__ void before(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt);
}

extern "C" __global__ void endless(const volatile int *from, int *to)
{
    while (from[threadIdx.x] == THREE)
        ;
    to[threadIdx.x] = 1;
}

int main()
{
    const int *from = threes();
    int       *to = room<int>(N);
    for (unsigned k = 0; k < 20; k++) {
        before<<<N / BLOCK, BLOCK>>>(from, to, k << 16);
        verify("before", to, k << 16);
    }
    sleep(2); /* Sonde asks what has finished every 0.4 s */
    endless<<<1, 32>>>(from, to);
    CK(cudaGetLastError());
    truth("running 1");
    for (;;)
        pause();
}

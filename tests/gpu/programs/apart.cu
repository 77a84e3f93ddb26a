/* apart.cu - kernels that are compiled apart (-rdc=true) and linked with apart/reader.cu: one calls a function of that file, one through a
 * pointer, one launches a kernel, and one does none of it. */
#include "codes.h"

extern __device__ int apart_read(const int *p, int i);
typedef int reader(const int *, int);
__device__ reader *chosen = apart_read;

extern "C" __global__ void by_itself(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt);
}

extern "C" __global__ void calls_apart(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = apart_read(from, i) + mixed(i + salt);
}

extern "C" __global__ void calls_chosen(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = (*(reader *volatile *)&chosen)(from, i) + mixed(i + salt);
}

extern "C" __global__ void child(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt);
}

extern "C" __global__ void parent(const int *from, int *to, unsigned salt)
{
    if (place() == 0 && from[0] == THREE)
        child<<<N / BLOCK, BLOCK>>>(from, to, salt);
}

int main()
{
    const int *from = threes();
    int       *to = nullptr;
    by_itself<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 1u << 16);
    verify("by_itself", to, 1u << 16);
    calls_apart<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 2u << 16);
    verify("calls_apart", to, 2u << 16);
    calls_chosen<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 3u << 16);
    verify("calls_chosen", to, 3u << 16);
    parent<<<1, 32>>>(from, to = room<int>(N), 4u << 16);
    verify("parent", to, 4u << 16);
    return 0;
}

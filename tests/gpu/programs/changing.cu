/* changing.cu - variables of the module that change between launches: by kernels, and by the host. changing [LAUNCHES]
 *
 * Where only some launches run as a copy, each must find what the one before has left.
 */
#include "codes.h"

enum { GROUPS = 4 };

__device__ unsigned  launches;      /* that there were */
__device__ unsigned  sums[GROUPS];  /* of what threads have added */
__constant__ int     scale[GROUPS]; /* by the host */
__managed__ int      offset;        /* by the host, and by kernels */

extern "C" __global__ void change(const int *from, int *to, unsigned salt)
{
    int i = place(), read = from[i]; /* once */
    to[i] = read * scale[i % GROUPS] + (int)launches + offset + mixed(i + salt);
    atomicAdd(&sums[i % GROUPS], (unsigned)read);
}

/* One thread, behind that. */
extern "C" __global__ void count(int by)
{
    launches++;
    offset += by;
}

int main(int argc, char **argv)
{
    const unsigned times = argc > 1 ? (unsigned)atoi(argv[1]) : 40;
    const int     *from = threes();
    int           *to = room<int>(N), expected = 0;
    unsigned       found, each[GROUPS];
    for (unsigned k = 0; k < times; k++) {
        const int factor = k % 3 ? 1 : 5, factors[GROUPS] = {factor, factor, factor, factor};
        CK(cudaMemcpyToSymbol(scale, factors, sizeof factors));
        if (k % 7 == 3)
            offset = expected = (int)(100 * k);
        change<<<N / BLOCK, BLOCK>>>(from, to, k << 16);
        count<<<1, 1>>>(2);
        verify("change", to, k << 16, THREE * (factor - 1) + (int)k + expected);
        expected += 2;
    }
    CK(cudaMemcpyFromSymbol(&found, launches, sizeof found));
    CK(cudaMemcpyFromSymbol(each, sums, sizeof each));
    MUST(found == times && offset == expected);
    for (int g = 0; g < GROUPS; g++)
        MUST(each[g] == times * THREE * (N / GROUPS));
    return 0;
}

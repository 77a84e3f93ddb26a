/* fat.cu - kernels of a fat binary (fat.fatbin: machine code and PTX, neither compressed), all alike, that refused.cu loads. */
#define ALIKE(name)                                                  \
    extern "C" __global__ void name(const int *from, int *to)        \
    {                                                                \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);        \
        to[i] = from[i] * 40503 + i * i;                             \
    }
ALIKE(whole)
ALIKE(newer)
ALIKE(broken)

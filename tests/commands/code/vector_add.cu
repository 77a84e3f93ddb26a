/* vector_add.cu - a kernel of the name that the example vector_add launches; see kernels.py:
 * nvcc -arch=sm_90 -lineinfo -cubin vector_add.cu, and without -lineinfo; elsewhere.cu is this file with one more line. */
#define HERE (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    if (HERE < n)
        c[HERE] = a[HERE] + b[HERE];
}

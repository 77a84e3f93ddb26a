/* nvshmem_put.cu - two processing elements of NVSHMEM, one GPU each, whose kernels put into each other's symmetric memory, get from it, and add to it. Built and counted
 * by comm_cases.py where NVSHMEM is (its Python wheel has headers and libraries).
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4096,
       TIMES = 5 };

#define CK(call)                                                                            \
    do {                                                                                    \
        cudaError_t ck_ = (call);                                                           \
        if (ck_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(ck_));    \
            exit(2);                                                                        \
        }                                                                                   \
    } while (0)

extern "C" __global__ void put_each(float *to, int other)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    nvshmem_float_p(to + i, (float)i, other); // LINE put_each
}

extern "C" __global__ void get_each(float *own, float *from, int other)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    own[i] = nvshmem_float_g(from + i, other); // LINE get_each
}

extern "C" __global__ void put_block(float *to, const float *own, int other)
{
    nvshmemx_float_put_block(to + blockIdx.x * blockDim.x, own + blockIdx.x * blockDim.x, blockDim.x, other); // LINE put_block
}

extern "C" __global__ void add_each(int *to, int other)
{
    nvshmem_int_atomic_add(to + threadIdx.x % 32, 1, other); // LINE add_each
}

static void element(int me, nvshmemx_uniqueid_t *id)
{
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    CK(cudaSetDevice(me));
    nvshmemx_set_attr_uniqueid_args(me, 2, id, &attributes);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes))
        exit(2);
    float *shared = (float *)nvshmem_malloc(N * sizeof(float)), *own;
    int *sums = (int *)nvshmem_malloc(32 * sizeof(int));
    CK(cudaMalloc(&own, N * sizeof(float)));
    CK(cudaMemset(own, 0, N * sizeof(float)));
    CK(cudaMemset(sums, 0, 32 * sizeof(int)));
    nvshmem_barrier_all();
    for (int k = 0; k < TIMES; k++) {
        put_each<<<N / 128, 128>>>(shared, 1 - me);
        get_each<<<N / 128, 128>>>(own, shared, 1 - me);
        put_block<<<N / 128, 128>>>(shared, own, 1 - me);
        add_each<<<1, 64>>>(sums, 1 - me);
        CK(cudaDeviceSynchronize());
        nvshmem_barrier_all();
    }
    int sum;
    CK(cudaMemcpy(&sum, sums, sizeof sum, cudaMemcpyDeviceToHost));
    if (sum != 2 * TIMES)
        exit(3);
    if (!me)
        printf("%d\n", sum);
    nvshmem_free(shared);
    nvshmem_free(sums);
    nvshmem_finalize();
}

int main()
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int ends[2], status = 0;
    if (pipe(ends))
        return 2;
    const pid_t child = fork(); /* before either knows of CUDA */
    if (child < 0)
        return 2;
    if (child == 0) {
        if (read(ends[0], &id, sizeof id) != (ssize_t)sizeof id)
            return 2;
        element(1, &id);
        return 0;
    }
    nvshmemx_get_uniqueid(&id);
    if (write(ends[1], &id, sizeof id) != (ssize_t)sizeof id)
        return 2;
    element(0, &id);
    waitpid(child, &status, 0);
    return status ? 2 : 0;
}

/* nccl_device.cu - ranks of one process, one GPU each, whose kernels store into the next rank's memory and load from it through NCCL's device interface: pointers that
 * the kernels make themselves of a registered window (NCCL 2.28). Built and counted by tool_cases.py where NCCL's headers are (its Python wheel has them).
 */
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

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
#define NK(call)                                                                            \
    do {                                                                                    \
        ncclResult_t nk_ = (call);                                                          \
        if (nk_ != ncclSuccess) {                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, ncclGetErrorString(nk_));    \
            exit(4);                                                                        \
        }                                                                                   \
    } while (0)

extern "C" __global__ void store_next(ncclWindow_t window, int next)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *theirs = (float *)ncclGetPeerPointer(window, 0, next);
    theirs[i] = (float)i; // LINE store_next
}

extern "C" __global__ void load_next(ncclWindow_t window, int next, float *own)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *theirs = (const float *)ncclGetLsaPointer(window, N * sizeof(float), next);
    own[i] = theirs[i] + 1; // LINE load_next
}

extern "C" __global__ void store_own(ncclWindow_t window)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    ((float *)ncclGetLocalPointer(window, N * sizeof(float)))[i] = 2; // LINE store_own
}

struct rank {
    ncclComm_t comm;
    ncclWindow_t window;
    void *shared;
    float *own;
};

int main(void)
{
    int count = 0;
    CK(cudaGetDeviceCount(&count));
    std::vector<rank> ranks(count);
    std::vector<ncclComm_t> comms(count);
    NK(ncclCommInitAll(comms.data(), count, nullptr));
    NK(ncclGroupStart());
    for (int i = 0; i < count; i++) {
        CK(cudaSetDevice(i));
        ranks[i].comm = comms[i];
        NK(ncclMemAlloc(&ranks[i].shared, 2 * N * sizeof(float)));
        CK(cudaMalloc(&ranks[i].own, N * sizeof(float)));
        NK(ncclCommWindowRegister(comms[i], ranks[i].shared, 2 * N * sizeof(float), &ranks[i].window, NCCL_WIN_COLL_SYMMETRIC));
    }
    NK(ncclGroupEnd());
    for (int k = 0; k < TIMES; k++)
        for (int phase = 0; phase < 2; phase++) {
            for (int i = 0; i < count; i++) {
                CK(cudaSetDevice(i));
                if (phase == 0)
                    store_own<<<N / 128, 128>>>(ranks[i].window);
                else {
                    store_next<<<N / 128, 128>>>(ranks[i].window, (i + 1) % count);
                    load_next<<<N / 128, 128>>>(ranks[i].window, (i + 1) % count, ranks[i].own);
                }
            }
            for (int i = 0; i < count; i++) {
                CK(cudaSetDevice(i));
                CK(cudaDeviceSynchronize());
            }
        }
    for (int i = 0; i < count; i++) {
        float last, loaded;
        CK(cudaSetDevice(i));
        CK(cudaMemcpy(&last, (float *)ranks[i].shared + N - 1, sizeof last, cudaMemcpyDeviceToHost));
        CK(cudaMemcpy(&loaded, ranks[i].own + N - 1, sizeof loaded, cudaMemcpyDeviceToHost));
        printf("%g %g\n", last, loaded);
    }
    NK(ncclGroupStart());
    for (int i = 0; i < count; i++)
        NK(ncclCommWindowDeregister(comms[i], ranks[i].window));
    NK(ncclGroupEnd());
    for (int i = 0; i < count; i++)
        NK(ncclCommDestroy(comms[i]));
    return 0;
}

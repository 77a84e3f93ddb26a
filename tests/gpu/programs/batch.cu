/* batch.cu - one call that makes five copies; strided sets; copies from host to host. */
#include "common.h"

enum { KIB = 1024, COPIES = 5 };

int main()
{
    char         *device, *host;
    cudaStream_t  stream;
    CK(cudaMalloc(&device, 64 * KIB));
    CK(cudaMallocHost(&host, 64 * KIB));
    CK(cudaStreamCreate(&stream));
    memset(host, 5, 64 * KIB);

    CUdeviceptr to[COPIES], from[COPIES];
    size_t      sizes[COPIES], first = 0;
    for (int i = 0; i < COPIES; i++) {
        to[i] = (CUdeviceptr)device + (size_t)i * 8 * KIB;
        from[i] = (CUdeviceptr)host + (size_t)i * 8 * KIB;
        sizes[i] = (size_t)(i + 1) * KIB;
    }
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CU(cuMemcpyBatchAsync(to, from, sizes, COPIES, &attributes, &first, 1, stream)); // LINE batch
    CK(cudaStreamSynchronize(stream));

    CK(cudaMemset2DAsync(device, 512, 9, 256, 4, stream)); /* 1 KiB in four rows, half of each row left */
    CK(cudaMemcpyAsync(host, device, 2 * KIB, cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    MUST(host[0] == 9 && host[255] == 9 && host[256] == 5 && host[512] == 9);

    for (int i = 0; i < 5; i++)
        CK(cudaMemcpyAsync(host + 32 * KIB, host, 4 * KIB, cudaMemcpyHostToHost, stream));
    CK(cudaStreamSynchronize(stream));
    MUST(host[32 * KIB] == 9);
    puts("batch");
    return 0;
}

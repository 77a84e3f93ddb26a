/* ranges.cu - NVTX ranges and marks, and the range that cudaProfilerStart and cudaProfilerStop make. */
#include "common.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

extern "C" __global__ void outside(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void inside(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void deeper(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void profiled(int *p) { atomicAdd(p, 1); }

static nvtxEventAttributes_t named(const char *name, uint32_t category, uint64_t payload)
{
    nvtxEventAttributes_t a = {};
    a.version = NVTX_VERSION, a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII, a.message.ascii = name;
    a.category = category, a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, a.payload.ullValue = payload;
    return a;
}

int main()
{
    int          *p, host = 0;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxDomainNameCategoryA(domain, 7, "inner loop");
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < 10; i++)
        outside<<<1, 1>>>(p);
    for (int step = 0; step < 20; step++) {
        nvtxRangePushA("step");
        inside<<<1, 1>>>(p);
        nvtxEventAttributes_t a = named("sweep", 7, (uint64_t)step);
        nvtxDomainRangePushEx(domain, &a);
        deeper<<<1, 1>>>(p);
        deeper<<<1, 1>>>(p);
        nvtxDomainRangePop(domain);
        nvtxMarkA("half");
        nvtxRangePop();
    }
    nvtxRangeId_t open = nvtxRangeStartA("across");
    CK(cudaDeviceSynchronize());
    CK(cudaProfilerStart());
    for (int i = 0; i < 30; i++)
        profiled<<<1, 1>>>(p);
    CK(cudaDeviceSynchronize());
    CK(cudaProfilerStop());
    nvtxRangeEnd(open);
    for (int i = 0; i < 10; i++)
        outside<<<1, 1>>>(p);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    MUST(host == 10 + 20 * 3 + 30 + 10);
    printf("%d\n", host);
    return 0;
}

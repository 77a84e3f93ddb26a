/* memory.cu - each kind of allocation, so many and so large; two that are never freed. */
#include "common.h"

#include <vector>

enum { MIB = 1 << 20 };

extern "C" __global__ void touch(int *p) { *p = 1; }

static void device_memory()
{
    int *p[4];
    for (int i = 0; i < 3; i++)
        CK(cudaMalloc(&p[i], MIB)); // LINE device
    CK(cudaMalloc(&p[3], 2 * MIB)); /* never freed */
    for (int i = 0; i < 4; i++)
        touch<<<1, 1>>>(p[i]);
    for (int i = 0; i < 3; i++)
        CK(cudaFree(p[i]));
}

static void pool_memory()
{
    cudaStream_t     stream;
    cudaMemPool_t    pool;
    cudaMemPoolProps props = {};
    int             *p;
    CK(cudaStreamCreate(&stream));
    for (int i = 0; i < 6; i++) {
        CK(cudaMallocAsync(&p, 4 * MIB, stream));
        touch<<<1, 1, 0, stream>>>(p);
        CK(cudaFreeAsync(p, stream));
    }
    props.allocType = cudaMemAllocationTypePinned, props.location.type = cudaMemLocationTypeDevice;
    CK(cudaMemPoolCreate(&pool, &props));
    for (int i = 0; i < 2; i++) {
        CK(cudaMallocFromPoolAsync((void **)&p, MIB, pool, stream));
        touch<<<1, 1, 0, stream>>>(p);
        CK(cudaFreeAsync(p, stream));
    }
    CK(cudaStreamSynchronize(stream));
    CK(cudaMemPoolDestroy(pool));
    CK(cudaStreamDestroy(stream));
}

static void host_memory()
{
    int *p[4], *managed[2];
    for (int i = 0; i < 3; i++)
        CK(cudaMallocHost(&p[i], MIB));
    CK(cudaHostAlloc(&p[3], 2 * MIB, cudaHostAllocMapped)); /* never freed */
    for (int i = 0; i < 2; i++)
        CK(cudaMallocManaged(&managed[i], MIB));
    touch<<<1, 1>>>(managed[0]);
    CK(cudaDeviceSynchronize());
    MUST(*managed[0] == 1);
    for (int i = 0; i < 3; i++)
        CK(cudaFreeHost(p[i]));
    for (int i = 0; i < 2; i++)
        CK(cudaFree(managed[i]));
}

static void virtual_memory()
{
    CUmemAllocationProp          props = {};
    CUmemGenericAllocationHandle handle[2];
    CUdeviceptr                  address;
    CUmemAccessDesc              access = {};
    size_t                       grain;
    props.type = CU_MEM_ALLOCATION_TYPE_PINNED, props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CU(cuMemGetAllocationGranularity(&grain, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    truth("virtual_bytes %zu", 2 * grain);
    CU(cuMemAddressReserve(&address, 2 * grain, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        CU(cuMemCreate(&handle[i], grain, &props, 0));
        CU(cuMemMap(address + i * grain, grain, 0, handle[i], 0));
    }
    access.location = props.location, access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess(address, 2 * grain, &access, 1));
    touch<<<1, 1>>>((int *)(address + grain));
    CK(cudaDeviceSynchronize());
    CU(cuMemUnmap(address, 2 * grain));
    for (int i = 0; i < 2; i++)
        CU(cuMemRelease(handle[i]));
    CU(cuMemAddressFree(address, 2 * grain));
}

static void arrays_and_pitch()
{
    cudaArray_t           array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    void                 *p;
    size_t                pitch;
    CK(cudaMallocArray(&array, &format, 64, 32)); /* 8 KiB */
    CK(cudaFreeArray(array));
    CK(cudaMallocPitch(&p, &pitch, 1000, 16));
    truth("pitch_bytes %zu", pitch * 16);
    CK(cudaFree(p));
}

int main()
{
    device_memory();
    pool_memory();
    host_memory();
    virtual_memory();
    arrays_and_pitch();
    CK(cudaDeviceSynchronize());
    puts("memory");
    return 0;
}

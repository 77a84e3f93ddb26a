/* imported.cu - kernels that access memory through a handle that was exported and imported again in the same process, as NCCL's windows are: of the next GPU, and of the host.
 * Each kernel has the pointer from memory, and there is a second mapping of the same memory, of its own GPU. */
#include "common.h"

#include <unistd.h>

enum { N = 1024,
       TIMES = 3 };

extern "C" __global__ void store_next(unsigned *const *where)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    where[0][i] = i; // LINE store_next
}

extern "C" __global__ void load_host(unsigned *own, unsigned *const *where)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    own[i] = where[1][i]; // LINE load_host
}

struct memory {
    CUmemGenericAllocationHandle handle;
    size_t                       bytes;
    int                          file;
};

static memory make(CUmemLocation location)
{
    memory              m = {};
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = location;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU(cuMemGetAllocationGranularity(&m.bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CU(cuMemCreate(&m.handle, m.bytes, &prop, 0));
    CU(cuMemExportToShareableHandle(&m.file, m.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return m;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes, int device)
{
    CUdeviceptr     at;
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CU(cuMemMap(at, bytes, 0, handle, 0));
    CU(cuMemSetAccess(at, bytes, &access, 1));
    return at;
}

static CUdeviceptr map_imported(const memory &m, int device)
{
    CUmemGenericAllocationHandle handle;
    CU(cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)m.file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    const CUdeviceptr at = map(handle, m.bytes, device);
    CU(cuMemRelease(handle));
    return at;
}

int main()
{
    int devices = 0;
    CK(cudaGetDeviceCount(&devices));
    memory      host = make({CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}), *theirs = new memory[devices];
    CUdeviceptr *mine = new CUdeviceptr[devices];
    unsigned    last;
    for (int d = 0; d < devices; d++) {
        CK(cudaSetDevice(d));
        CK(cudaFree(nullptr));
        theirs[d] = make({CU_MEM_LOCATION_TYPE_DEVICE, d});
        mine[d] = map(theirs[d].handle, theirs[d].bytes, d);
    }
    for (int d = 0; d < devices; d++) {
        unsigned *own, **where;
        CK(cudaSetDevice(d));
        const CUdeviceptr both[] = {map_imported(theirs[(d + 1) % devices], d), map_imported(host, d)};
        CK(cudaMalloc(&own, N * sizeof *own));
        CK(cudaMalloc(&where, sizeof both));
        CK(cudaMemcpy(where, both, sizeof both, cudaMemcpyHostToDevice));
        for (int k = 0; k < TIMES; k++) {
            store_next<<<N / 128, 128>>>(where);
            load_host<<<N / 128, 128>>>(own, where);
        }
        CK(cudaDeviceSynchronize());
    }
    for (int d = 0; d < devices; d++) {
        CK(cudaSetDevice(d));
        CK(cudaMemcpy(&last, (void *)(mine[d] + (N - 1) * sizeof last), sizeof last, cudaMemcpyDeviceToHost));
        printf("%u\n", last);
    }
    return 0;
}

/* gpu_empty_patch.cu - the functions of src/instrument/patch.cu that return at once: what Compute Sanitizer costs by itself. */
#include <sanitizer_patching.h>

extern "C" __device__ __noinline__ SanitizerPatchResult SondeAccess(void *, uint64_t, void *, uint32_t, uint32_t, const void *)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeAsync(void *, uint64_t, void *, uint32_t, uint32_t)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeRemote(void *, uint64_t, void *, uint32_t, uint32_t, const void *)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeRemoteAsync(void *, uint64_t, void *, uint32_t, uint32_t)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkLoad(void *, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkStore(void *, uint64_t, uint64_t, uint32_t, uint32_t)
{
    return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult SondeBulkAtomic(void *, uint64_t, uint64_t, uint32_t, uint32_t)
{
    return SANITIZER_PATCH_SUCCESS;
}

/* full.c - an OpenCL layer that leaves the runtime no room for buffers that lie in the caller's memory, as those do in which Sonde keeps what it
 * finds. The program's layers are in front of Sonde: so what the runtime itself calls is changed, when the first context is made.
 */
#define CL_TARGET_OPENCL_VERSION 300

#include "../layer.h"

static cl_api_clCreateBuffer below;

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    if (!(flags & CL_MEM_USE_HOST_PTR))
        return below(context, flags, size, host, status);
    if (status)
        *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *status)
{
    cl_context made = real->clCreateContext(properties, count, devices, notify, user, status);
    cl_icd_dispatch *own = made ? *(cl_icd_dispatch **)(void *)made : NULL; /* with which each of its objects begins (cl_khr_icd) */
    if (own && !below) {
        below = own->clCreateBuffer;
        own->clCreateBuffer = create_buffer;
    }
    return made;
}

static void layer_wrap(void)
{
    layer.clCreateContext = create_context;
}

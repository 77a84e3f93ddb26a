/* layer.h - the frame of a small OpenCL loader layer: every call passes through to `real`, except
 * those that the including file's layer_wrap() replaces in `layer`. Include once per library,
 * with CL_TARGET_OPENCL_VERSION defined.
 */
#ifndef SONDE_TESTS_LAYER_H
#define SONDE_TESTS_LAYER_H

#include <CL/cl_layer.h>

#define EXPORT __attribute__((visibility("default")))

static const cl_icd_dispatch *real; /* what lies below */
static cl_icd_dispatch layer;       /* what the program calls */

static void layer_wrap(void);

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info info, size_t size, void *value, size_t *size_ret)
{
    if (info != CL_LAYER_API_VERSION || (value && size < sizeof(cl_layer_api_version)))
        return CL_INVALID_VALUE;
    if (value)
        *(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
    if (size_ret)
        *size_ret = sizeof(cl_layer_api_version);
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
                                      const cl_icd_dispatch **ours)
{
    if (!target || !entries_ret || !ours || entries * sizeof(void *) < sizeof layer)
        return CL_INVALID_VALUE;
    real = target;
    layer = *target;
    layer_wrap();
    *entries_ret = sizeof layer / sizeof(void *);
    *ours = &layer;
    return CL_SUCCESS;
}

#endif

/* arguments.c - which data objects a kernel's arguments are.
 *
 * A launch uses what its kernel's arguments were set to. They are remembered by
 * object, not by handle: what the handle stands for later does not matter. A
 * kernel's arguments are set by one thread at a time, and not while it is being
 * launched (OpenCL 3.0, section 5.9.2).
 *
 * An argument of eight bytes that is no memory object is taken for one when it
 * equals the handle of one that lives.
 */
#include "opencl.h"

#include <string.h>

#include "guest/memory.h"

/* Room for one more at `index`, in a block twice as large if need be. */
static uint32_t *room_for(struct sonde_cl_uses *uses, uint32_t index)
{
    if (index < uses->room)
        return uses->object;
    uint32_t room = uses->room ? uses->room : 8;
    while (room <= index)
        room *= 2;
    uint32_t *fresh = sonde__memory_get(room * sizeof *fresh);
    if (!fresh)
        return NULL;
    if (uses->count)
        memcpy(fresh, uses->object, uses->count * sizeof *fresh);
    uses->object = fresh; /* the old one, at most as large as this, is never given back */
    uses->room = room;
    return fresh;
}

static void use_set(struct sonde_cl_uses *uses, uint32_t index, uint32_t object)
{
    enum { MOST = 1 << 16 };
    if (index >= MOST || (!object && index >= uses->count))
        return;
    uint32_t *objects = room_for(uses, index);
    if (!objects)
        return;
    for (; uses->count <= index; uses->count++)
        objects[uses->count] = 0;
    objects[index] = object;
}

static void argument_set(cl_kernel handle, cl_uint index, uint32_t object)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    if (kernel)
        use_set(&kernel->arguments, index, object);
}

void sonde__cl_kernel_uses(const struct sonde_call *call, const struct sonde_cl_kernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->indirect.count == 0) {
        if (kernel->arguments.count)
            sonde_call_uses(call, kernel->arguments.object, kernel->arguments.count);
        return;
    }
    enum { MOST = 256 };
    uint32_t all[MOST], count = 0;
    for (uint32_t i = 0; i < kernel->arguments.count && count < MOST; i++)
        all[count++] = kernel->arguments.object[i];
    for (uint32_t i = 0; i < kernel->indirect.count && count < MOST; i++)
        all[count++] = kernel->indirect.object[i];
    sonde_call_uses(call, all, count);
}

void sonde__cl_kernel_cloned(cl_kernel source, cl_kernel clone)
{
    const struct sonde_cl_kernel *from = sonde__cl_kernel(source);
    struct sonde_cl_kernel *to = sonde__cl_kernel(clone);
    if (!from || !to)
        return;
    for (uint32_t i = 0; i < from->arguments.count; i++)
        use_set(&to->arguments, i, from->arguments.object[i]);
    for (uint32_t i = 0; i < from->indirect.count; i++)
        use_set(&to->indirect, i, from->indirect.object[i]);
    sonde__cl_twin_cloned(from, clone);
}

/* ---- hooks; they are called too often to be recorded ------------------------------ */

cl_int CL_API_CALL sonde__clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes,
                                         const void *value)
{
    const cl_int status = sonde__cl_target(kernel)->clSetKernelArg(kernel, index, bytes, value);
    cl_mem object = NULL;
    if (status == CL_SUCCESS) {
        if (value && bytes == sizeof object)
            memcpy(&object, value, sizeof object);
        argument_set(kernel, index, object ? sonde__cl_mem_object(object) : 0);
        sonde__cl_twin_argument(kernel, index, bytes, value, SONDE_CL_SET_VALUE);
    }
    return status;
}

cl_int CL_API_CALL sonde__clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index,
                                                   const void *value)
{
    const cl_int status = sonde__cl_target(kernel)->clSetKernelArgSVMPointer(kernel, index, value);
    if (status == CL_SUCCESS)
        sonde__cl_argument_pointer(kernel, index, value);
    if (status == CL_SUCCESS)
        sonde__cl_twin_argument(kernel, index, sizeof value, value, SONDE_CL_SET_SVM);
    return status;
}

void sonde__cl_argument_pointer(cl_kernel kernel, cl_uint index, const void *value)
{
    argument_set(kernel, index, value ? sonde__cl_svm_object(value) : 0);
}

/* Memory that the kernel reaches through pointers in memory. Each list replaces the last. */
cl_int CL_API_CALL sonde__clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info name,
                                              size_t bytes, const void *value)
{
    const cl_int status = sonde__cl_target(handle)->clSetKernelExecInfo(handle, name, bytes, value);
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    if (status != CL_SUCCESS || !kernel || !value ||
        (name != CL_KERNEL_EXEC_INFO_SVM_PTRS && name != CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL))
        return status;
    const void *const *pointers = value;
    kernel->indirect.count = 0;
    for (uint32_t i = 0; i < bytes / sizeof *pointers; i++)
        use_set(&kernel->indirect, i, sonde__cl_svm_object(pointers[i]));
    return status;
}

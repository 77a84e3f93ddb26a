/* twins.h - what fine.c and remote.c have of instrumented copies of kernels (twins.c).
 *
 * Threads: any; who has a copy's lock gives it its arguments.
 */
#ifndef SONDE_OPENCL_TWINS_H
#define SONDE_OPENCL_TWINS_H

#include "guest/lock.h"
#include "instrument/llvm.h"
#include "opencl.h"

enum { ARGUMENTS_MAX = 256 };

struct sonde_cl_twin { /* of a kernel that the program made, for a device */
    struct sonde_cl_twin *next;
    cl_device_id device;
    uint32_t what; /* SONDE_PLAN_* */
    struct sonde_lock lock; /* of its arguments, until the launch is made */
    enum sonde_value_missed why; /* it is launched plain; NONE: it is not, and all of these, unless its code needs no copy */
    cl_kernel kernel;
    cl_context context;
    const struct sonde_llvm_kernel *code; /* may be there though it is launched plain; NULL: it is not */
};

struct sonde_cl_argument {
    size_t bytes, room;
    void *value;   /* NULL: local memory, or the argument is not set */
    bool set;
    enum sonde_cl_set by; /* not VALUE: `value` is the pointer itself */
};

/* The copy with `what` of SONDE_PLAN_*, for the device of the queue; made now, if it is not there. NULL: no memory. */
struct sonde_cl_twin *sonde__cl_twin_of(const cl_icd_dispatch *real, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel, uint32_t what);
/* Those of the program's kernel, in its way, so that the runtime knows what memory is used; under the copy's lock. False: not all of them are known. */
bool sonde__cl_twin_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel);

/* What the copy has more comes behind its own parameters (llvm.h): first the area. */
static inline cl_uint sonde__cl_area_at(const struct sonde_llvm_kernel *code)
{
    return code->parameters;
}
/* Host memory of an area, with parts as they start; NULL: there is none, or of what all areas may take this share is taken (2: half of it). */
unsigned char *sonde__cl_area_get(const struct sonde_llvm_kernel *code, uint64_t share);
void sonde__cl_area_put(const struct sonde_llvm_kernel *code, unsigned char *host);
/* The same as a buffer, which is the caller's; NULL: the runtime refuses it. */
cl_mem sonde__cl_area_mem(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, unsigned char *host);

#endif

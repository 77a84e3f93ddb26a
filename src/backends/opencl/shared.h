/* shared.h - whose the memory is that kernels reach by pointers (shared.c): what remote.c, and hooks that allocate, move and free, have of it.
 *
 * Threads: any.
 */
#ifndef SONDE_OPENCL_SHARED_H
#define SONDE_OPENCL_SHARED_H

#include "instrument/plan.h"
#include "opencl.h"

/* What a launch on the queue's device may reach of others' memory. */
struct sonde_cl_reach {
    struct sonde_cl_place *place; /* its context */
    uint32_t device;      /* its number there */
    uint32_t device_id;   /* sonde_device_add's */
    bool any;             /* there is some */
    bool system;          /* kernels there may access any memory of the host's */
    bool many;            /* more than the table holds, or that is followed */
    bool silent;          /* some of it the host may write, and nobody sees it */
};

/* The device of a context whose memory an allocation is; NULL: it is nobody's alone. */
void sonde__cl_shared_made(cl_context context, cl_device_id device, enum sonde_object_kind kind, const void *pointer, size_t bytes, bool silent);
/* What is returned goes with it, as soon as nothing uses it any more; NULL: nothing does. */
void *sonde__cl_shared_freed(const void *pointer);
void sonde__cl_shared_context(cl_context context); /* a new one */

/* From the operation on these bytes are the device's whose queue it is, or the host's. In front of it, within a call that is recorded. */
void sonde__cl_shared_take(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer, uint64_t bytes, bool host);
/* These are mapped for writing, until they are unmapped: then they are taken. */
void sonde__cl_shared_map(const void *pointer, uint64_t bytes);
void sonde__cl_shared_unmap(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer);

/* Within a call that is recorded. False: nothing is known of the queue. */
bool sonde__cl_shared_reach(cl_command_queue queue, struct sonde_cl_reach *out);
/* May an access of the launch be to another's memory, if it is through a pointer to there? *silent becomes true where the host may write that, and nobody sees it. */
bool sonde__cl_shared_is_other(const struct sonde_cl_reach *reach, const void *pointer, bool *silent);
/* Is it memory of the host's that nobody allocated as shared, and that kernels of the device may access all the same? */
bool sonde__cl_shared_is_system(const struct sonde_cl_reach *reach, const void *pointer);
/* The table of all that is as it is now, as the argument; false: the runtime refuses it. */
bool sonde__cl_shared_table(const struct sonde_cl_reach *reach, cl_kernel kernel, cl_uint argument);
/* What is counted in a slot: the object that stands for its memory (0: not known), and the device in whose memory it is, 0: the host's. False: the slot is free. */
bool sonde__cl_shared_slot(const struct sonde_cl_place *place, uint32_t slot, uint32_t *site, uint32_t *owner);

/* The elements that kernels accessed: at the end, or where recording ends. */
void sonde__cl_shared_read(void);
void sonde__cl_shared_forget(void); /* in a forked child */

#endif

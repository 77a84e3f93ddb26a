/* values.h - what values.c and duplicates.c have of a queue (sonde record --values=coarse).
 *
 * Threads: the holder of `lock`.
 */
#ifndef SONDE_OPENCL_VALUES_H
#define SONDE_OPENCL_VALUES_H

#include "guest/lock.h"
#include "opencl.h"

enum {
    TARGETS_MAX = 32,   /* objects of one operation */
    GROUPS_MAX = 256,   /* of our kernels, */
    GROUP = 64,         /* of so many work-items */
    SIZES = 4,
};

/* What is compared of one object. */
struct target {
    cl_mem mem;
    uint32_t object, element_bytes;
    bool maybe;
    uint64_t from, bytes;
};

struct job;

struct sonde_cl_values {
    struct sonde_lock lock; /* of an operation, from before it until after it */
    _Atomic bool disturbed; /* by an operation that went on without */
    cl_context context;
    cl_program program;
    cl_kernel compare, hash;
    cl_uint groups;
    cl_mem results;         /* cl_ulong[GROUPS_MAX][SIZES] */
    struct {
        cl_mem mem;
        uint64_t room;
    } copy[TARGETS_MAX];
    struct target target[TARGETS_MAX];
    struct job *job[TARGETS_MAX]; /* of each */
    uint32_t targets;
    struct sonde_cl_side {
        cl_mem mem;
        uint32_t object;
        uint32_t version; /* sonde_cl_mem's: it has not been written since */
    } written[TARGETS_MAX]; /* by the operation, whole objects */
    uint32_t written_count;
};

/* libsonde_compare of `bytes` from `from` on; byte k of `now` is byte k - shift of `then`. *compared and *done are the caller's, and
 * may be there where it fails, too. */
bool sonde__cl_values_compare(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_mem pair[2],
                              const cl_ulong range[3], cl_ulong (*unchanged)[SIZES], cl_event *compared, cl_event *done);

/* ---- duplicates.c ---- */

extern const char sonde__cl_hash_source[];
/* Behind the operation: look at the objects that it has written. */
void sonde__cl_duplicates_after(const struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t operation);
/* In front of the next: compare pairs that look alike. */
void sonde__cl_duplicates_check(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue);
void sonde__cl_duplicates_collect(void);
bool sonde__cl_duplicates_any(void); /* pending, or under way. Cheap */
bool sonde__cl_duplicates_under_way(const struct sonde_cl_values *v);

#endif

/* values.h - what values.c, compare.c, maps.c, image.c, order.c, jobs.c and duplicates.c have of a queue (sonde record --values=coarse).
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
    SUMS = 2 * SIZES,
    MAPPINGS_MAX = 16,  /* of a queue, for writing, at once */
};

struct room { /* of a queue, for what is compared of an object */
    cl_mem mem;
    uint64_t bytes;
    bool on_host; /* the device had no memory for it */
};

/* Where the comparisons of one operation are made. */
struct rooms {
    struct room copy[TARGETS_MAX], marks[TARGETS_MAX]; /* of an image, instead of marks: what it is afterwards */
    cl_mem results; /* cl_ulong[GROUPS_MAX][SUMS] */
};

/* What the host may be writing, copied before it could. */
struct mapping {
    cl_mem mem;     /* or where shared virtual memory begins; NULL: it is none */
    bool is_svm;
    struct sonde_cl_mem *known;
    const void *pointer;
    uint64_t from, bytes, number;
    uint32_t version; /* sonde_cl_mem's: nobody else has written it since */
    struct room room;
    cl_event copied; /* where that waited for something, and until it is known to be over; else NULL */
};

/* What is compared of one object. */
struct target {
    cl_mem mem;     /* or where shared virtual memory begins: */
    bool is_svm, is_image;
    size_t origin[3], region[3]; /* of an image: these pixels, */
    struct sonde_cl_mem *known; /* what is known of it; may be NULL */
    struct mapping *mapping; /* it was copied when it was mapped; else NULL */
    uint32_t object, element_bytes;
    uint32_t place; /* among those of its slot */
    bool maybe;
    uint64_t from, bytes;
    uint32_t grain; /* what is written is marked, so many bytes at once; 0: it is not */
    uint64_t marks_from, marks_bytes; /* there; a multiple of 8 */
    struct rectangle { /* which is written; slices 0: it is none */
        uint64_t from, width, row, rows, slice, slices; /* bytes, but for rows and slices, which are numbers */
    } rectangle;
};

struct job;
struct sonde_cl_slot;

struct sonde_cl_values {
    struct sonde_lock lock; /* of an operation, from before it until after it */
    _Atomic bool disturbed; /* by an operation that went on without */
    cl_context context;
    cl_program program;
    cl_kernel compare, compare_marked, mark, copy_svm, hash;
    cl_uint groups;
    _Atomic(cl_mem) scratch;
    struct rooms own, *rooms; /* of the operation: the queue's own, or those of */
    struct sonde_cl_slot *slot, *slots; /* order.c: the operation's, if the queue is out of order, else NULL; all */
    struct mapping mapping[MAPPINGS_MAX];
    uint64_t mappings; /* so far */
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

static inline void sonde__cl_miss(struct sonde_cl_enqueue *enqueue, enum sonde_value_missed why)
{
    enqueue->missed |= 1ull << why;
}

/* What is kept of the queue, locked, with our kernels. NULL: the operation goes on without. */
struct sonde_cl_values *sonde__cl_values_take(struct sonde_cl_enqueue *enqueue, cl_command_queue queue);
/* `from` to `to` is being written. Leaves in them what of it was written before: elsewhere there is nothing to compare with. */
void sonde__cl_values_define(struct sonde_cl_mem *mem, uint64_t *from, uint64_t *to);

/* ---- jobs.c ---- */

struct sonde_cl_job { /* the first of what there is of it */
    struct sonde_cl_job *next;
    const struct sonde_cl_values *values;
};

struct sonde_cl_jobs {
    size_t bytes;  /* of each */
    uint32_t most; /* at once */
    struct sonde_lock lock;
    struct sonde_cl_job *under_way, *free;
    uint32_t made;
    bool looked_at; /* those that were under way are in a thread's hands */
};

/* NULL: there are too many. What is behind `values` is as it was left. */
struct sonde_cl_job *sonde__cl_job_get(struct sonde_cl_jobs *jobs, const struct sonde_cl_values *v);
void sonde__cl_job_put(struct sonde_cl_jobs *jobs, struct sonde_cl_job *job, bool is_over);
/* Each that is under way, as they were enqueued: is it over? Nothing, if another thread is doing so. */
void sonde__cl_jobs_look(struct sonde_cl_jobs *jobs, bool (*finish)(struct sonde_cl_job *job));
bool sonde__cl_jobs_under_way(struct sonde_cl_jobs *jobs, const struct sonde_cl_values *v);
/* Until they are in nobody's hands: those of a thread that does not wait, or of this one, in a callback. Under the lock. */
void sonde__cl_jobs_wait(struct sonde_cl_jobs *jobs);
void sonde__cl_jobs_forget(struct sonde_cl_jobs *jobs);
/* An event of ours that has this status, which is its last one. One that failed is never released: PoCL 3.1 says that an event failed before it has
 * failed those that wait for it, and goes on to use it. */
void sonde__cl_event_over(cl_event event, cl_int status);

/* All of it was written before. It is being written, perhaps in part. */
bool sonde__cl_values_defined(struct sonde_cl_mem *mem, uint64_t from, uint64_t to);

/* ---- image.c ---- */

/* What is compared of an image: a region, or (region NULL) all of it, of which a kernel may write some. `bytes` 0: there was nothing before.
 * False: it cannot be looked at, or the runtime will refuse the operation. */
bool sonde__cl_image_target(const cl_icd_dispatch *real, cl_mem image, const size_t *origin, const size_t *region, struct target *target);

/* ---- order.c ---- */

/* A slot for an operation of v's queue, and its rooms: v->slot. False: there is none. */
bool sonde__cl_order_take(const cl_icd_dispatch *real, struct sonde_cl_values *v);
/* One who has the slot, of which the taker is the first, is done with it. */
void sonde__cl_order_put(struct sonde_cl_slot *slot);
void sonde__cl_order_use(struct sonde_cl_slot *slot); /* one more has it */
/* The targets are known: who may write them meanwhile? */
void sonde__cl_order_claim(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v);
/* An operation that is not looked at writes of the object. */
void sonde__cl_order_unseen(const struct sonde_cl_enqueue *enqueue, uint32_t object);
/* The operation waits for these of ours. */
bool sonde__cl_order_join(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, uint32_t count, const cl_event *events);
/* It waits for these, too. False: it does not. */
bool sonde__cl_order_after(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, uint32_t count, const cl_event *events);
/* These are its comparisons. */
void sonde__cl_order_compared(struct sonde_cl_values *v, cl_command_queue queue, uint32_t count, const cl_event *events);
cl_event sonde__cl_order_operation(const struct sonde_cl_slot *slot); /* NULL: none was made */
bool sonde__cl_order_raced(struct sonde_cl_slot *slot, uint32_t place); /* another may have written that target meanwhile */
void sonde__cl_order_release(const cl_icd_dispatch *real, struct sonde_cl_values *v); /* rooms */
void sonde__cl_order_settle(void); /* events that are over are released */
bool sonde__cl_order_keeps(cl_command_queue queue); /* some of them */
void sonde__cl_order_forget(void);

/* ---- maps.c ---- */

/* The mapping that ends, for the caller to compare and to give back; NULL: it is not known. */
struct mapping *sonde__cl_maps_find(struct sonde_cl_values *v, cl_mem mem, const void *pointer);
void sonde__cl_maps_put(struct mapping *mapping);
void sonde__cl_maps_settle(struct sonde_cl_values *v); /* events that are over are released */
void sonde__cl_maps_release(const cl_icd_dispatch *real, struct sonde_cl_values *v);

/* ---- compare.c ---- */

bool sonde__cl_compare_room(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, struct room *room, uint64_t needed);
void sonde__cl_compare_release(const cl_icd_dispatch *real, struct room *room);
void sonde__cl_compare_release_rooms(const cl_icd_dispatch *real, struct rooms *rooms);
bool sonde__cl_compare_results(const cl_icd_dispatch *real, const struct sonde_cl_values *v, struct rooms *rooms); /* made once */

struct sonde_cl_values *sonde__cl_compare_of(struct sonde_cl_queue *queue); /* NULL: no memory */
/* What there is of a target now, into `to`, its first byte to a place modulo 8. *copied is the caller's; NULL: not asked for. */
bool sonde__cl_compare_copy(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const struct target *target, cl_mem to,
                            cl_uint waits, const cl_event *wait_list, cl_event *copied);
/* Our kernels, once. */
bool sonde__cl_compare_build(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue);
/* Around an operation: its targets are copied, those that cannot be are left out; and compared. `operation` 0: there was none. */
void sonde__cl_compare_before(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue);
void sonde__cl_compare_after(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t operation);
void sonde__cl_compare_collect(void); /* all that is over */
void sonde__cl_compare_forget(void);
/* pair[0] NULL: that argument is set. libsonde_compare of `bytes` from `from` on; byte k of `now` is byte k - shift of `then`. *compared and *done are the caller's, and
 * may be there where it fails, too. `behind`: an event that it waits for, in a queue out of order; NULL: the queue orders it. */
bool sonde__cl_values_compare(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_event *behind, const cl_mem pair[2],
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

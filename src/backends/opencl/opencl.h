/* opencl.h - what the files of the OpenCL backend share.
 *
 * Layout: layer.c takes hold of the runtime and gives the agent its ops table;
 * enqueue.c, create.c, queries.c, arguments.c, extensions.c and il.c are the hooks;
 * objects.c remembers what the runtime's handles stand for; events.c knows which operation an event is of;
 * clock.c brings device times to the host's axis; values.c, compare.c, maps.c, image.c and order.c compare what operations write with what was there;
 * jobs.c has what is under way of that; twins.c has instrumented copies of kernels, which fine.c and remote.c run and whose code code.c knows; shared.c
 * knows whose shared memory is; duplicates.c finds objects that hold the same.
 *
 * What a program could notice, and how each is hidden: docs/transparency-opencl.md.
 */
#ifndef SONDE_OPENCL_H
#define SONDE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <stdatomic.h>

#include <sonde/backend.h>

#include "calls.h"

/* API numbers; index into sonde_backend.api_names. */
/* clang-format off */
enum sonde_cl_api {
    API_none,
#define X(name) API_##name,
    SONDE_CL_API_MAP(X)
#undef X
    API_COUNT
};
/* clang-format on */

/* Hooks, with exactly the types of the functions that they stand for. */
#define X(name) extern __typeof__(*(cl_api_##name)0) sonde__##name;
SONDE_CL_TABLE_MAP(X)
#undef X

/* ---- reaching the runtime (layer.c) ----------------------------------- */

/* The table below us when the loader set us up as a layer; NULL otherwise. */
extern const cl_icd_dispatch *_Atomic sonde__cl_layer_target;

/* The runtime's own functions for an object whose vendor table was patched. */
const cl_icd_dispatch *sonde__cl_originals(const void *object);

/* The functions to call for `object` (any handle, or NULL). Reads the object
 * only where the runtime has vouched for it by calling through its table. */
static inline const cl_icd_dispatch *sonde__cl_target(const void *object)
{
    const cl_icd_dispatch *layer =
        atomic_load_explicit(&sonde__cl_layer_target, memory_order_acquire);
    return layer ? layer : sonde__cl_originals(object);
}

/* The first hooked call after the loader is done repairs OPENCL_LAYERS, where
 * the loader has left NULs. Cheap when done. */
void sonde__cl_clean_point(void);

/* ---- what handles stand for (objects.c) -------------------------------- */

struct sonde_cl_clock;

struct sonde_cl_device {
    cl_device_id handle;
    uint32_t id;
    struct sonde_cl_clock *clock;
    struct sonde_cl_device *next;
};

/* Data objects by their place in a list (arguments.c). */
struct sonde_cl_uses {
    uint32_t *object;
    uint32_t count, room;
};

/* One per distinct handle value, never freed: a handle that is made again
 * overwrites what it stood for, so memory is bounded by what was alive at once. */
struct sonde_cl_queue {
    cl_command_queue handle;
    _Atomic uint32_t lane; /* 0 until the first operation */
    struct sonde_cl_device *_Atomic device;
    _Atomic(uint64_t) asked;   /* cl_command_queue_properties as the program knows them */
    _Atomic bool forced;       /* profiling is on because of us */
    _Atomic bool no_times;
    struct sonde_cl_values *_Atomic values; /* values.c */
    _Atomic bool has_array;    /* made with properties: `array` answers queries */
    uint32_t array_count;
    cl_queue_properties array[16];
};

struct sonde_cl_work;
struct sonde_cl_values;
struct mapping;
struct sonde_cl_parameter;
struct sonde_cl_argument;
struct sonde_cl_twin;
struct sonde_llvm_kernel;

struct sonde_cl_kernel {
    _Atomic uint32_t name;
    _Atomic bool named;
    const struct sonde_cl_work *_Atomic last; /* launch configuration seen last */
    struct sonde_cl_uses arguments;           /* by index; 0 where it is none */
    struct sonde_cl_uses indirect;            /* by clSetKernelExecInfo */
    struct sonde_cl_parameter *parameters;    /* values.c: */
    uint32_t parameters_known;                /* so many */
    struct sonde_cl_argument *argument;       /* twins.c: as they were set, */
    uint32_t argument_count;                  /* up to the last one, */
    struct sonde_cl_twin *twin;               /* and the copies that are launched */
};

/* What a kernel's code says of a parameter. */
struct sonde_cl_parameter {
    uint8_t element_bytes; /* of what it points to; 0 unknown */
    bool reads_only;
};

struct sonde_cl_mem {
    _Atomic uint32_t object;
    _Atomic uint32_t pixel_bytes; /* images; 0 = not asked yet */
    _Atomic uint64_t bytes;
    _Atomic bool watched;         /* our destructor callback tells when it dies */
    _Atomic bool mapped;          /* for writing, at some time */
    uint64_t defined_from, defined_to; /* values.c: the bytes that were written so far, or the most of them at one stretch */
    const void *_Atomic over;     /* the shared virtual memory that it was laid over; NULL: none */
    const struct sonde_cl_queue *_Atomic writer; /* values.c: the queue that wrote it first */
    _Atomic uint32_t version;     /* values.c: how often something may have written it */
};

/* Steady state without a lock; NULL when memory is spent or `handle` is NULL. */
struct sonde_cl_queue *sonde__cl_queue(cl_command_queue handle);
/* The same, and asks the runtime about a queue that we did not see being made.
 * Only for a queue that the runtime has accepted. */
struct sonde_cl_queue *sonde__cl_queue_used(cl_command_queue handle);
struct sonde_cl_kernel *sonde__cl_kernel(cl_kernel handle);
struct sonde_cl_mem *sonde__cl_mem(cl_mem handle);

/* Lane of the queue; made at its first operation. */
uint32_t sonde__cl_queue_lane(struct sonde_cl_queue *queue);
/* True when the program must see a queue without profiling. */
static inline bool sonde__cl_queue_hidden(const struct sonde_cl_queue *queue)
{
    return queue && atomic_load_explicit(&queue->forced, memory_order_relaxed) &&
           !(atomic_load_explicit(&queue->asked, memory_order_relaxed) & CL_QUEUE_PROFILING_ENABLE);
}
static inline bool sonde__cl_out_of_order(const struct sonde_cl_queue *queue)
{
    return atomic_load_explicit(&queue->asked, memory_order_relaxed) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

uint32_t sonde__cl_kernel_name(cl_kernel handle, struct sonde_cl_kernel *kernel);
uint32_t sonde__cl_kernel_work(struct sonde_cl_kernel *kernel, cl_uint dims, const size_t *global,
                               const size_t *local);
/* The queue that a command buffer was made for; NULL = not seen. */
cl_command_queue sonde__cl_buffer_queue(cl_command_buffer_khr handle);
/* Call `call` launches the kernel: what its arguments are is used. */
void sonde__cl_kernel_uses(const struct sonde_call *call, const struct sonde_cl_kernel *kernel);
/* Bytes of one pixel of an image. */
size_t sonde__cl_pixel_bytes(cl_mem image);
/* Data object of a memory object, of an SVM pointer; 0 = unknown. */
uint32_t sonde__cl_mem_object(cl_mem handle);
uint32_t sonde__cl_mem_used(cl_mem handle); /* the same of one that an operation uses, which the runtime has accepted; it may be older than we are */
uint32_t sonde__cl_svm_object(const void *pointer);
struct sonde_cl_mem *sonde__cl_svm(const void *base); /* NULL: nothing was allocated there */
/* The allocation in which `pointer` lies: its object, and what is known of that. NULL: none, and *object may be 0. */
struct sonde_cl_mem *sonde__cl_svm_around(const void *pointer, uint32_t *object, struct sonde_object_info *whole);
/* Sizes added up; `sizes` (may be NULL) 0 means the whole allocation. */
uint64_t sonde__cl_mem_bytes(cl_uint count, const cl_mem *handles);
uint64_t sonde__cl_svm_bytes(cl_uint count, const void *const *pointers, const size_t *sizes);

/* A handle was made by `call` (NULL while not recording). */
void sonde__cl_queue_made(cl_command_queue handle, cl_command_queue_properties asked,
                          const cl_queue_properties *array, bool forced);
void sonde__cl_kernel_made(cl_kernel handle);
void sonde__cl_kernel_cloned(cl_kernel source, cl_kernel clone);
void sonde__cl_argument_pointer(cl_kernel kernel, cl_uint index, const void *value);
void sonde__cl_context_made(cl_context handle);
void sonde__cl_mem_made(const struct sonde_call *call, cl_mem handle,
                        enum sonde_object_kind kind);
void sonde__cl_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue);
/* `device`: whose memory it is; NULL: nobody said. `silent`: the host may write it without a word. */
void sonde__cl_svm_made(const struct sonde_call *call, enum sonde_object_kind kind, cl_context context, cl_device_id device,
                        const void *pointer, size_t bytes, bool silent);
/* The program gives a reference back, or frees. */
void sonde__cl_mem_released(cl_mem handle);
/* Before it is, since the address may be handed out again at once; by an operation after that is enqueued. Returns memory of ours of the same context, which the
 * caller frees in the same way once the program's is: kernels that still write there write here, too. NULL: there is none. */
void *sonde__cl_svm_freed(const void *pointer);

/* In a forked child: forget everything, without the runtime. */
void sonde__cl_objects_forget(void);
/* The number of a device. Inside a recorded call. */
uint32_t sonde__cl_device_id(cl_device_id device);
/* All devices seen so far, newest first. */
struct sonde_cl_device *sonde__cl_devices(void);
/* Device of a lane, for poll(); NULL when unknown. */
struct sonde_cl_device *sonde__cl_lane_device(uint32_t lane);

/* ---- events (events.c) --------------------------------------------------- */

/* The program got this event: it stands for that operation; 0: for none that we know. */
void sonde__cl_event_made(cl_event event, uint64_t correlation);
/* The operation `waiter` of this call, or (0) the call itself, waits for these. */
void sonde__cl_events_awaited(struct sonde_call *call, uint64_t waiter, cl_uint count,
                              const cl_event *events);
void sonde__cl_user_event_made(cl_event event);
/* The call completes it: a row that has its number as the waiter, and names nothing awaited. */
void sonde__cl_user_event_done(struct sonde_call *call, cl_event event);

/* ---- clocks (clock.c) --------------------------------------------------- */

/* State of one device's clock; NULL when memory is spent. */
struct sonde_cl_clock *sonde__cl_clock_create(cl_device_id device);

/* Readings of every candidate clock, around one API call. */
struct sonde_cl_bracket {
    uint64_t raw_ns, monotonic_ns, real_ns;
};
bool sonde__cl_clock_wanted(struct sonde_cl_clock *clock); /* not identified yet, nobody at it */
void sonde__cl_bracket_take(struct sonde_cl_bracket *bracket);
/* The event `token` was queued between `before` and now. */
void sonde__cl_clock_probe(struct sonde_cl_clock *clock, uint64_t token,
                           const struct sonde_cl_bracket *before);
/* Bring device times to the host's axis, and tell the agent when the clock has just
 * been found out. False: not known yet, ask later. `device` may be NULL. */
bool sonde__cl_clock_convert(struct sonde_cl_device *device, uint64_t token,
                             struct sonde_times *times);
/* The event will never tell its times. */
void sonde__cl_clock_lost(struct sonde_cl_clock *clock, uint64_t token);
void sonde__cl_clock_sync(struct sonde_cl_device *device);

/* ---- hooks' common parts (enqueue.c) ------------------------------------ */

/* What an operation writes: a part of a buffer, or what its kernel's arguments lead to; and what is not looked at. */
struct sonde_cl_written {
    const void *svm, *svm_source; /* instead of mem and source, if they are shared virtual memory; else the host's */
    cl_mem source; /* which it reads: `bytes` of it, or where there is no `mem` all that the operation moves */
    cl_mem mem;
    uint64_t from, bytes;
    const size_t *origin, *region; /* instead: a rectangle, or a part of an image, as the call has it; may be NULL in a call that the runtime refuses */
    size_t row_pitch, slice_pitch;
    bool is_rectangle, is_unmap, is_image;
    bool changes; /* memory, in a way that is not looked at, and needs no reason */
    void *const *freed; /* shared virtual memory */
    cl_uint freed_count;
    const void *unmapped; /* where it was mapped, perhaps for writing */
    const void *svm_mapped; /* for writing: `bytes` from here on */
    cl_kernel kernel;
    uint64_t items; /* of its launch */
    const void *const *taken; /* shared memory that is the device's, or the host's, from then on; bytes 0, or no list of them: all from there on */
    const size_t *taken_bytes;
    cl_uint taken_count;
    bool by_host;
    const cl_mem *objects; /* of a native kernel, which may write all of them */
    cl_uint object_count;
    bool is_native;
};

struct sonde_cl_enqueue {
    struct sonde_call call;
    struct sonde_cl_queue *queue;
    cl_event own;      /* ours, when the program asked for no event */
    cl_event *event;   /* what the runtime gets */
    cl_uint wait_count;
    const cl_event *wait_list;
    bool probing;
    struct sonde_cl_bracket before;
    /* order.c, only if the operation changes memory: */
    cl_uint gate_count;             /* the first copy waits for these: the program's own list, or with what else must come first */
    const cl_event *gate_list;
    cl_event turn;                  /* what the runtime gets in place of the program's list; NULL: nothing */
    bool copied;                    /* there is a copy in front of it */
    uint64_t behind, pinned, bit;   /* slots: which it is behind, which are kept until its end, its own */
    cl_event gate[65];
    struct mapping *mapping;        /* maps.c: made by this call, in these, locked; NULL: none */
    struct sonde_cl_values *mapped_in;
    const void *svm_mapped;         /* in it, of shared virtual memory */
    struct sonde_cl_values *values; /* its values are being looked at; NULL: they are not, or nobody asked */
    bool writes;                    /* they are asked for, and it may write or read some */
    struct sonde_cl_written written; /* only if they are asked for */
    uint64_t missed;                /* why not all of them are: bits of enum sonde_value_missed */
    struct sonde_cl_twin *twin;     /* to be launched in the kernel's place, locked until then; NULL: there is none */
    const struct sonde_llvm_kernel *code; /* what its kernel does; NULL: not known */
    uint32_t operation, group;      /* remote.c: of a launch, 0: it is none; of sonde_remote_group */
};

/* False: call the runtime as the program did, and nothing else. */
bool sonde__cl_enqueue_begin(struct sonde_cl_enqueue *enqueue, uint32_t api,
                             cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
                             cl_event *event);
/* After the runtime returned `status`. Fills the lane and the token of `submit`. */
void sonde__cl_enqueue_end(struct sonde_cl_enqueue *enqueue, cl_int status, bool blocking,
                           struct sonde_submit *submit, cl_command_queue queue);

/* The program registered a destructor callback: releases must be exact (queries.c). */
bool sonde__cl_deaths_watched(void);

/* ---- values (values.c) ---------------------------------------------------- */

/* Before the runtime is called, only if values are wanted. */
void sonde__cl_values_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct sonde_cl_written *written);
/* After it was, and before the call ends. `made`: there is an operation. */
void sonde__cl_values_after(struct sonde_cl_enqueue *enqueue, bool made, cl_command_queue queue, const struct sonde_submit *submit);
/* Around the call that maps a part of a buffer; NULL: it failed. */
void sonde__cl_values_map(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_mem mem, cl_map_flags flags, uint64_t from, uint64_t bytes);
void sonde__cl_values_map_image(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_mem image, cl_map_flags flags);
void sonde__cl_values_map_svm(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer, uint64_t bytes);
void sonde__cl_values_mapped(struct sonde_cl_enqueue *enqueue, const void *pointer);
/* A buffer was made, with these contents or without; the host writes some of it. */
void sonde__cl_values_made(cl_mem handle, struct sonde_cl_mem *mem, uint64_t bytes);
void sonde__cl_values_host_writes(struct sonde_cl_mem *mem);
void sonde__cl_values_svm_writes(uint32_t object); /* of shared virtual memory */
/* Shared virtual memory is about to be freed, now or (`enqueue`) by an operation: comparisons of it come first. */
void sonde__cl_values_svm_freeing(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_uint count, void *const *pointers);
void sonde__cl_values_collect(enum sonde_collect how);
void sonde__cl_values_check(cl_command_queue queue);    /* a call that came by */
void sonde__cl_values_released(cl_command_queue queue); /* about to be: a reference of the program's */
void sonde__cl_values_forget(void);                     /* in a forked child */

void sonde__cl_duplicates_released(cl_mem mem);         /* about to be: a reference of the program's */
void sonde__cl_duplicates_forget(void);                 /* in a forked child */

/* ---- queues out of order (order.c) ------------------------------------------- */

/* Before an operation that changes memory. What it waits for is in enqueue->gate_list. */
void sonde__cl_order_begin(struct sonde_cl_enqueue *enqueue, cl_command_queue queue);
/* It is not copied: it waits for what a copy would have waited for. */
void sonde__cl_order_turn(struct sonde_cl_enqueue *enqueue, cl_command_queue queue);
/* The same, of an operation that may write anything. */
void sonde__cl_order_unknown(struct sonde_cl_enqueue *enqueue, cl_command_queue queue);
/* What the runtime gets. */
static inline void sonde__cl_order_waits(const struct sonde_cl_enqueue *enqueue, cl_uint *count, const cl_event **list)
{
    if (enqueue->turn) {
        *count = 1;
        *list = &enqueue->turn;
    }
}
/* The operation was made; before it is known to others, and `event` is kept. */
void sonde__cl_order_enqueued(struct sonde_cl_enqueue *enqueue, cl_event event);
/* What is behind it: what waits for `event` (NULL: the program has none), and behind a barrier all that comes. */
void sonde__cl_order_made(const struct sonde_cl_enqueue *enqueue, cl_command_queue queue, enum sonde_op_kind kind, cl_event event);
void sonde__cl_order_end(struct sonde_cl_enqueue *enqueue, cl_command_queue queue);
void sonde__cl_order_fresh(const void *handle); /* of an event or a queue, made now: nothing is known of it */
cl_uint sonde__cl_order_holds(cl_event event);  /* so many references */

/* ---- instrumented copies of kernels (twins.c) ------------------------------- */

static inline bool sonde__cl_twins_wanted(void)
{
    return sonde_values_wanted(SONDE_VALUES_COARSE | SONDE_VALUES_FINE | SONDE_VALUES_REMOTE);
}
enum sonde_cl_set { SONDE_CL_SET_VALUE,
                    SONDE_CL_SET_SVM,   /* to a pointer, by clSetKernelArgSVMPointer */
                    SONDE_CL_SET_USM }; /* by clSetKernelArgMemPointerINTEL */
/* An argument was set. A kernel was made, or made of another. */
void sonde__cl_twin_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value, enum sonde_cl_set by);
void sonde__cl_twin_made(struct sonde_cl_kernel *kernel);
void sonde__cl_twin_keep(cl_kernel kernel); /* its program, if its source will be needed */
void sonde__cl_twin_cloned(const struct sonde_cl_kernel *from, cl_kernel clone);
/* The pointer to shared virtual memory that an argument is; NULL: none. */
const void *sonde__cl_twin_pointer(const struct sonde_cl_kernel *kernel, uint32_t argument);
cl_kernel sonde__cl_twin_kernel(const struct sonde_cl_enqueue *enqueue, cl_kernel own); /* which is launched */
bool sonde__cl_twin_refused(struct sonde_cl_enqueue *enqueue, cl_int status); /* the copy was: the kernel itself is to be launched */
void sonde__cl_twin_launched(struct sonde_cl_enqueue *enqueue);
void sonde__cl_twins_forget(void); /* in a forked child */

/* ---- what kernels access (fine.c) ------------------------------------------ */

/* Around a launch: its copy is launched in the kernel's place, or why not is in enqueue->missed. */
void sonde__cl_fine_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel kernel);
/* What the copy writes is marked, so many bytes at once; 0: it is not. Until the launch, `count` of `marks` behind an argument, which have
 * room for SONDE_LLVM_MARKS_MORE. */
uint32_t sonde__cl_fine_grain(const struct sonde_cl_enqueue *enqueue);
bool sonde__cl_fine_marks(const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_kernel *kernel, cl_mem of, cl_mem marks, uint64_t count);
void sonde__cl_fine_read(bool last);
void sonde__cl_fine_forget(void); /* in a forked child */

/* ---- what their code says of their arguments (code.c) ----------------------- */

enum sonde_engine sonde__cl_code_engine(const struct sonde_cl_enqueue *enqueue); /* by which it is known what it does to memory */
/* Of a kernel of which it is known what it writes: whether it writes through the argument, and the bytes of the smallest element. */
bool sonde__cl_code_knows(const struct sonde_cl_enqueue *enqueue);
bool sonde__cl_code_writes(const struct sonde_cl_enqueue *enqueue, uint32_t argument);
uint32_t sonde__cl_code_element(const struct sonde_cl_enqueue *enqueue, uint32_t argument); /* 0: none */
/* Of a kernel whose code is known (enqueue->code). SONDE_FLOW_*: what it does to the argument. */
unsigned sonde__cl_code_how(const struct sonde_cl_enqueue *enqueue, uint32_t argument);
/* Of the same: tells the agent on which line it writes the object that the argument is, if it does, and in elements of what size it reads it. */
void sonde__cl_code_tell(const struct sonde_cl_enqueue *enqueue, uint32_t operation, uint32_t argument, uint32_t object, bool writes);
uint32_t sonde__cl_code_file(const char *path); /* the string of a source's name, as the user knows it; 0: no room */

/* ---- extensions (extensions.c) ------------------------------------------ */

/* What the program gets instead of `real`, the runtime's function `name`. */
void *sonde__cl_extension(cl_platform_id platform, const char *name, void *real);
/* clSetKernelArgMemPointerINTEL of the runtime, which the program has called before. */
cl_int sonde__cl_argument_usm(cl_kernel kernel, cl_uint index, const void *value);

/* Make a queue with profiling on, or as asked where that fails (create.c). */
typedef cl_command_queue(CL_API_CALL *sonde__cl_queue_maker)(cl_context, cl_device_id,
                                                             const cl_queue_properties *, cl_int *);
cl_command_queue sonde__cl_queue_make(sonde__cl_queue_maker make, cl_context context,
                                      cl_device_id device, const cl_queue_properties *asked,
                                      cl_int *error);

#endif

/* sonde_cuda.h - what the files of the CUDA backend share.
 *
 * Layout: cupti.c opens NVIDIA's CUPTI, attach.c subscribes; calls.h lists the driver
 * calls that are followed; hooks.c is entered by CUPTI before and after each of
 * them; activity.c reads the records of finished work, for which flush.c asks; lanes.c knows contexts,
 * streams, devices and events; captures.c knows which streams are captured;
 * memory.c follows allocations, copies.c what copies name; graphs.c knows where a
 * graph's nodes come from; modules.c keeps code that was loaded, names.c what kernels are called when some was unloaded; around.c is what --values puts around an operation:
 * code.c has instrumented copies of kernels, areas.c what they found, execs.c what graphs write, coarse.c compares, duplicates.c has
 * objects that are alike, hostcopies.c has room on the host, places.c knows what each context has for that;
 * sanitizer.c is the Compute Sanitizer engine, where patches.c has what each access finds kept;
 * counters.c has the hardware count what each launch does (--counters), series.c what each device does over time (--counter-series), both by
 * src/counters; stalls.c samples where warps are (--pc); aside.c is a thread for these;
 * clock.c brings CUPTI's times to the host's axis; occupancy.c is arithmetic.
 *
 * Who runs what: hooks and resource callbacks in any thread of the program,
 * inside of the driver; CUPTI's own thread hands over full buffers, and one of ours
 * those that CUPTI gives when it is asked; everything
 * else is the monitor thread's (collect, sync_clocks).
 *
 * What a program could notice: docs/transparency-cuda.md.
 */
#ifndef SONDE_CUDA_H
#define SONDE_CUDA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

#include <sonde/backend.h>

#include "calls.h"
#include "cupti_calls.h"
#include "guest/hot.h"
#include "guest/map.h"
#include "guest/memory.h"
#include "guest/once.h"
#include "instrument/compare.h"
#include "instrument/flow.h"
#include "instrument/patch.h"
#include "instrument/rewrite.h"

/* ---- CUPTI (cupti.c) ------------------------------------------------------ */

#define SONDE_CUPTI_OLDEST 18u     /* CUDA 12.0; the fields read since then are a prefix of today's records */
#define SONDE_CUPTI_13     130000u

/* And in the driver: what is asked once per device and communicator of NCCL, of memory that copies name, of streams
 * while some are captured. */
#define SONDE_CUDRV_MAP(X)       \
    X(cuCtxGetDevice)            \
    X(cuDeviceGet)               \
    X(cuDeviceGetName)           \
    X(cuDeviceTotalMem_v2)       \
    X(cuDeviceGetAttribute)      \
    X(cuDriverGetVersion)        \
    X(cuPointerGetAttribute)     \
    X(cuStreamIsCapturing)

struct sonde_cupti {
    uint32_t version;   /* CUPTI_API_VERSION of the library that was opened */
    char path[512];     /* of it */
#define X(name) __typeof__(&name) name;
    SONDE_CUPTI_MAP(X)
#undef X
    __typeof__(&cuptiActivityConfigureUnifiedMemoryCounter) cuptiActivityConfigureUnifiedMemoryCounter; /* NULL: this one has none */
};
extern struct sonde_cupti sonde__cupti;
/* What older drivers lack: NULL then. */
#define SONDE_CUDRV_NEWER_MAP(X)              \
    X(cuFuncGetName)                          \
    X(cuKernelGetLibrary)                     \
    X(cuKernelGetName)                        \
    X(cuMemGetAllocationPropertiesFromHandle)
struct sonde_cudrv {
#define X(name) __typeof__(&name) name;
    SONDE_CUDRV_MAP(X)
    SONDE_CUDRV_NEWER_MAP(X)
#undef X
};
extern struct sonde_cudrv sonde__cudrv;

/* Open the program's CUPTI, or another. NULL, or why not (static or in `room`). */
const char *sonde__cupti_open(char *room, size_t size);
/* src/counters uses that one. NULL, or why not. */
const char *sonde__cupti_counters(void);
/* The driver alone. NULL, or why not. */
const char *sonde__cudrv_open(void);
/* The library of the Compute Sanitizer API, and its path; NULL: there is none. */
void *sonde__sanitizer_open(char *path, size_t size);
/* The folder that our own library lies in. */
bool sonde__cuda_own_folder(char *folder, size_t size);
/* Is a library loaded whose file name begins so? */
bool sonde__cuda_loaded(const char *name);

/* ---- attaching (attach.c) --------------------------------------------------- */

/* True between attaching and the end, in the process that attached. */
extern _Atomic bool sonde__cuda_on;
/* --capture-range cuda: cudaProfilerStart and Stop begin and end recording. */
bool sonde__cuda_captures_range(void);
/* The number of a call for sonde_call_begin. */
uint32_t sonde__cuda_api(CUpti_CallbackDomain domain, CUpti_CallbackId id);
/* Correlation ids have 32 bits and wrap: the 64-bit number that `id`, seen
 * about now, stands for. Never 0. Any thread. */
uint64_t sonde__cuda_extend(uint32_t id);
/* Kernel records do not carry the driver calls' ids (a CUPTI we do not know):
 * follow the runtime's calls too, and take the outermost call's id instead. */
void sonde__cuda_follow_runtime(void);

/* ---- hooks (hooks.c) ---------------------------------------------------------- */

void CUPTIAPI sonde__cuda_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void *data);
/* Between these, this thread's CUDA calls are ours, and not recorded. */
void sonde__cuda_quiet(bool on);
/* The calling context of the call under way in this thread; 0 none. */
uint32_t sonde__cuda_context_here(void);
/* The call under way in this thread, when it is recorded; else NULL. */
const struct sonde_call *sonde__cuda_call_here(void);
/* Are this thread's calls ours? */
bool sonde__cuda_is_quiet(void);
/* What a driver call is; `own_default`: stream 0 is each thread's own. */
enum sonde_cuda_what sonde__cuda_what(CUpti_CallbackId id, bool *own_default);
/* What the call under way in this thread has made of nodes; NULL: there is none. */
struct sonde_cuda_nodes {
    uint32_t clones;
    bool conditional, child;
};
struct sonde_cuda_nodes *sonde__cuda_nodes_here(void);
/* The call under way in this thread is recorded into a graph and does no work now. */
void sonde__cuda_captured(void);
/* The driver said that the device is lost to this process (a kernel trapped): what runs never ends. */
bool sonde__cuda_broken(void);
/* Submit by the outermost call's id from now on. */
void sonde__cuda_outermost_names(void);
/* Of the keys given to the first submissions: was this one among them? `full`: enough of them are known. */
bool sonde__cuda_any_key(void);
bool sonde__cuda_key_known(uint64_t key, bool *full);

/* ---- counters (counters.c) -------------------------------------------------------- */

extern bool sonde__cuda_counting; /* --counters; set before the first callback */
/* A list of sets and metrics, with commas; `replay`: kernels may run several times. NULL, or why not (static or in `room`). */
const char *sonde__cuda_counters_begin(const char *list, bool replay, char *room, size_t size);
/* Around a launch of `f`, in its thread: others wait meanwhile. `call`: NULL: it is not recorded. */
void sonde__cuda_counters_before(enum sonde_cuda_what what, const CUpti_CallbackData *cd, CUfunction f, bool captured, const struct sonde_call *call);
void sonde__cuda_counters_after(bool success);
void sonde__cuda_counters_context_gone(CUcontext context);
void sonde__cuda_counters_last(void); /* the monitor's: what has not been read */

/* ---- counters over time (series.c) ------------------------------------------------- */

/* A list as above, "": the default; every so many nanoseconds. NULL, or why not (static or in `room`). */
const char *sonde__cuda_series_begin(const char *list, uint64_t interval_ns, char *room, size_t size);
void sonde__cuda_series_device(uint32_t ordinal);        /* the program uses it. Any thread of the program */
void sonde__cuda_series_turn(void);                      /* the monitor's, as what follows */
void sonde__cuda_series_last(uint64_t patience_ns);      /* the program ends: take everything, and let go of the devices for good */
void sonde__cuda_series_forget(void);                    /* in a forked child */

/* ---- where warps are (stalls.c) ----------------------------------------------------- */

extern bool sonde__cuda_stalling; /* --pc; set before the first callback */
/* A sample of each multiprocessor every so many cycles: a power of two from 32 to 2^31. NULL, or why not (static or in `room`). */
const char *sonde__cuda_stalls_begin(uint64_t cycles, char *room, size_t size);
void sonde__cuda_stalls_context(CUcontext context);      /* it has been made; this, and the next two, in the program's threads */
void sonde__cuda_stalls_context_gone(CUcontext context);
void sonde__cuda_stalls_module(const CUpti_ModuleResourceData *module);
void sonde__cuda_stalls_turn(void);                      /* the monitor's, as what follows */
void sonde__cuda_stalls_last(uint64_t patience_ns);
void sonde__cuda_stalls_forget(void);                    /* in a forked child */

/* ---- activity (activity.c) ------------------------------------------------------ */

void CUPTIAPI sonde__cuda_buffer_requested(uint8_t **buffer, size_t *size, size_t *records);
void CUPTIAPI sonde__cuda_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                           size_t valid);
void sonde__cuda_collect(enum sonde_collect how);

/* ---- asking for it (flush.c); the monitor's -------------------------------------- */

void sonde__cuda_flush_turn(void);   /* at every turn: ask when it is time */
void sonde__cuda_flush_last(uint64_t patience_ns); /* at the end: what kernels found, once more */
bool sonde__cuda_flush_end(uint64_t patience_ns);  /* for good; false: CUPTI does not come back */
bool sonde__cuda_flush_busy(void);   /* CUPTI has not answered yet */
void sonde__cuda_flush_forget(void); /* in a forked child */

/* ---- contexts, streams, devices, events (lanes.c) -------------------------------- */

struct sonde_cuda_device {
    _Atomic uint32_t id;    /* the agent's; 0 not made yet */
    int major, minor;       /* compute capability */
    int max_threads, max_blocks, max_registers, max_shared; /* of one multiprocessor */
    int reserved_shared;    /* of each block */
    int multiprocessors;
};
#define SONDE_CUDA_DEVICES_MAX 64u
/* The device with this number in the program; makes it known at first. NULL: none. */
struct sonde_cuda_device *sonde__cuda_device(uint32_t ordinal);
/* The id of the device that is current in the calling thread. 0: none. */
uint32_t sonde__cuda_device_here(void);
/* Every device known so far, one after the other: *at begins with 0. */
struct sonde_cuda_device *sonde__cuda_device_next(uint32_t *at);
bool sonde__cuda_several_devices(void); /* does the program use more than one? */
/* Lane of a stream as records name it. 0: no room. */
uint32_t sonde__cuda_lane(uint32_t ordinal, uint32_t context, uint32_t stream);
/* Lane of a stream as the program names it; `own`: the call means each thread's
 * own default stream by 0. */
uint32_t sonde__cuda_lane_of(CUcontext context, uint32_t context_uid, CUstream stream, bool own);
void sonde__cuda_context_created(CUcontext context);
/* A call on this context is being recorded: its device is asked for its name and
 * attributes now, not when the program ends and the driver no longer answers. */
void sonde__cuda_context_used(CUcontext context, uint32_t uid);
/* The driver's version, from a file: within cuInit, which opens files itself. */
void sonde__cuda_read_driver(void);
void sonde__cuda_context_destroyed(CUcontext context);
/* Device of a context that was used; 0 unknown. */
uint32_t sonde__cuda_context_device(uint32_t context_uid);
/* The number of a stream that is being made, plus one; 0 unknown. Then: it does not
 * wait for the legacy default stream, nor that one for it. */
uint32_t sonde__cuda_stream_made(CUcontext context, CUstream stream);
void sonde__cuda_stream_does_not_block(uint32_t context_uid, uint32_t stream);
void sonde__cuda_stream_destroyed(CUcontext context, CUstream stream);
/* What was recorded in the event last: that operation (0: nothing that is known). */
void sonde__cuda_event_record(CUevent event, uint64_t correlation);
uint64_t sonde__cuda_event_recorded(CUevent event);

/* ---- captures (captures.c) --------------------------------------------------------- */

/* Is what comes to this stream captured? `own` as in sonde__cuda_lane_of. */
bool sonde__cuda_captures(CUstream stream, bool own);
/* Is anything? */
bool sonde__cuda_capturing(void);
void sonde__cuda_capture_begun(uint32_t context_uid, CUstream stream, bool own);
void sonde__cuda_capture_ended(CUstream stream, bool own); /* or not: it asks */
void sonde__cuda_capture_stream_gone(CUstream stream);
void sonde__cuda_capture_context_gone(uint32_t context_uid);

/* ---- copies (copies.c) -------------------------------------------------------------- */

struct sonde_cuda_copied {
    uint32_t objects[2]; /* written, read; 0 none that is known */
    bool waits;          /* the call returned when the copy was done */
};
/* What a call named that copies or sets. */
struct sonde_cuda_copied sonde__cuda_copied(uint32_t id, const void *params);
/* Part of memory: in `slices` that are `slice` bytes apart each `rows` that are `row` bytes apart, of `width` bytes. */
struct sonde_cuda_box {
    uint64_t address, width, row, rows, slice, slices;
    struct sonde_cuda_box *next; /* another of the same object; NULL: none */
};
struct sonde_cuda_moved {
    bool writes;                    /* memory of a device */
    enum sonde_value_missed missed; /* it is not known where it writes, or not to memory */
    enum sonde_op_kind kind;
    CUstream stream;
    struct sonde_cuda_box box;      /* that is written, */
    uint64_t bytes;                 /* how many these are */
    uint32_t to, from;              /* objects; 0: none */
};
/* What it will do. */
struct sonde_cuda_moved sonde__cuda_moved(uint32_t id, const void *params);
struct sonde_cuda_moved sonde__cuda_moved_box(const CUDA_MEMCPY3D *copy);
/* `height` rows of `width` bytes; no width: none. */
struct sonde_cuda_box sonde__cuda_rectangle(uint64_t address, uint64_t pitch, uint64_t width, uint64_t height);

/* ---- allocations (memory.c) -------------------------------------------------------- */

/* Before a call that frees, after a call that allocated. */
void sonde__cuda_freeing(uint32_t id, const void *params, uint32_t context_uid);
void sonde__cuda_allocated(uint32_t id, const void *params, const struct sonde_call *call, uint32_t context_uid);
void sonde__cuda_context_memory_gone(uint32_t context_uid);
/* The object that began at this address, or of this array; 0 none. */
uint32_t sonde__cuda_object_named(uint64_t address);
/* Changes with every allocation and every free. */
uint64_t sonde__cuda_memory_version(void);
/* Memory that kernels can reach by its address: so many objects at the most, in no order. How many. */
uint32_t sonde__cuda_memory_ranges(struct sonde_patch_range *ranges, uint32_t room);

/* ---- managed memory (managed.c) ------------------------------------------------------ */

void sonde__cuda_managed_allocated(uint64_t address, uint64_t bytes, uint32_t object);
void sonde__cuda_managed_freed(uint32_t object); /* any object */
void sonde__cuda_managed_report(bool on);
void sonde__cuda_managed_record(const CUpti_ActivityUnifiedMemoryCounter2 *record);

/* ---- names after code was unloaded (names.c) ---------------------------------------- */

extern _Atomic uint32_t sonde__cuda_unloadings; /* how often that was */
void sonde__cuda_code_gone(void);
/* The name that a function has now, as the driver tells it; 0 unknown. */
uint32_t sonde__cuda_name_now(CUfunction f);
/* A launch of it has this key. */
void sonde__cuda_launched(uint64_t key, CUfunction f);
/* Its name, to the one record that asks; 0: its record is right. */
uint32_t sonde__cuda_launch_name(uint64_t key);

/* ---- graphs (graphs.c) ---------------------------------------------------------------- */

void sonde__cuda_graph_resource(CUpti_CallbackId id, const CUpti_GraphData *graph);
/* Context in which the node was made; 0 unknown. */
uint32_t sonde__cuda_node_origin(uint64_t node);
/* An executable graph was launched by the call with this key. */
void sonde__cuda_graph_launched(CUgraphExec exec, uint64_t key, uint64_t enter_ns);
/* A node ran by that launch, as its record says. */
void sonde__cuda_graph_ran(uint64_t node, uint64_t key, uint64_t start_ns);
/* Key of the launch by which a node ran whose record names no call; 0 unknown. */
uint64_t sonde__cuda_graph_launch_of(uint64_t node, uint64_t start_ns);

/* ---- code (modules.c) ------------------------------------------------------------------ */

void sonde__cuda_module_loaded(const CUpti_ModuleResourceData *module);
void sonde__cuda_modules_store(void); /* within collect */

/* ---- instrumented copies of kernels (code.c) ---------------------------------------------- */

#define SONDE_CUDA_PARAMETERS_MAX 1024u

#define SONDE_CUDA_TWINS_MAP(X)                     \
    X(cuCtxPopCurrent_v2)                           \
    X(cuCtxPushCurrent_v2)                          \
    X(cuCtxSynchronize)                             \
    X(cuFuncGetAttribute)                           \
    X(cuFuncGetModule)                              \
    X(cuFuncGetName)                                \
    X(cuFuncGetParamInfo)                           \
    X(cuGraphChildGraphNodeGetGraph)                \
    X(cuGraphGetNodes)                              \
    X(cuGraphKernelNodeGetParams_v2)                \
    X(cuGraphMemFreeNodeGetParams)                  \
    X(cuGraphMemcpyNodeGetParams)                   \
    X(cuGraphMemsetNodeGetParams)                   \
    X(cuGraphNodeGetType)                           \
    X(cuKernelGetAttribute)                         \
    X(cuKernelGetFunction)                          \
    X(cuKernelGetLibrary)                           \
    X(cuKernelGetName)                              \
    X(cuKernelGetParamInfo)                         \
    X(cuKernelSetAttribute)                         \
    X(cuLaunchKernel)                               \
    X(cuLibraryGetGlobal)                           \
    X(cuLibraryGetKernel)                           \
    X(cuLibraryGetManaged)                          \
    X(cuLibraryGetModule)                           \
    X(cuLibraryLoadData)                            \
    X(cuMemAllocFromPoolAsync)                      \
    X(cuMemAlloc_v2)                                \
    X(cuMemFreeAsync)                               \
    X(cuMemHostAlloc)                               \
    X(cuMemPoolCreate)                              \
    X(cuMemPoolSetAttribute)                        \
    X(cuMemcpyDtoHAsync_v2)                         \
    X(cuMemcpyHtoDAsync_v2)                         \
    X(cuMemsetD8Async)                              \
    X(cuModuleGetGlobal_v2)                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)  \
    X(cuStreamCreate)                               \
    X(cuStreamSynchronize)                          \
    X(cuThreadExchangeStreamCaptureMode)

struct sonde_cuda_twins {
    bool on;           /* --values or --comm, and the driver has all of these */
    bool coarse, fine, remote; /* what is wanted; the last without the others */
    uint32_t plan;     /* SONDE_PLAN_*: of the copies that do not guess */
#define X(name) __typeof__(&name) name;
    SONDE_CUDA_TWINS_MAP(X)
#undef X
};
extern struct sonde_cuda_twins sonde__cuda_twins;

struct sonde_cuda_kernel {
    void *image;
    uint32_t name;                 /* a string of the measurement's */
    enum sonde_value_missed why;   /* it has no copy; NONE: it has, and all of these, or no accesses, and no copy either */
    CUkernel twin[2];              /* that does not guess, that does; NULL: there is none */
    _Atomic bool made[2];          /* has it been tried? */
    const struct sonde_ptx *ptx;
    const struct sonde_ptx_function *function;
    struct sonde_ptx_flow flow;
    struct sonde_cuda_pointers *_Atomic pointers; /* to its variables */
    uint32_t parameters;           /* of any kernel, as the driver says */
    struct sonde_cuda_parameter {
        uint16_t offset, bytes;
    } *parameter;
};

/* After a call that loaded code, before one that unloads it. */
void sonde__cuda_code_loaded(uint32_t id, const void *params);
void sonde__cuda_code_unloading(const void *params);
/* The kernel of a launch; made at the first. NULL: no memory. */
struct sonde_cuda_kernel *sonde__cuda_kernel(CUfunction f);
/* Its copy that guesses, or does not; made at the first call. NULL: there is none. */
CUkernel sonde__cuda_twin(struct sonde_cuda_kernel *k, bool guesses);
/* Where the variables of the program's module are that a kernel names, in this context, which is current. NULL: the driver does not say. */
CUdeviceptr *sonde__cuda_variables(struct sonde_cuda_kernel *k, uint32_t context_uid);
/* Bytes of a kernel's name as the program has it: without what our copies have behind theirs. */
size_t sonde__cuda_plain_name(const char *name);

/* ---- kernels of ours (own.c) --------------------------------------------------------------------- */

struct sonde_cuda_place;
struct sonde_cuda_own {
    CUkernel copy, compare, mark, digest; /* instrument/compare.h */
};
/* Loaded at the first call; NULL: the driver cannot. */
const struct sonde_cuda_own *sonde__cuda_own(void);
/* Why the driver does not launch what a callback puts in a launch's place; NONE: it does. Found out at the first call for which there is memory, in
 * the current context. */
enum sonde_value_missed sonde__cuda_swaps(const struct sonde_cuda_place *place);
/* Is a kernel of this name ours? */
bool sonde__cuda_is_own(const char *name);
/* Of calls that are ours. */
void sonde__cuda_own_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* ---- contexts whose values are looked at (places.c) ------------------------------------------ */

struct sonde_cuda_place {
    uint32_t uid, stream_id;
    uint32_t device;         /* the agent's id */
    uint32_t multiprocessors;
    bool shares_managed;     /* the host reaches managed memory while the device works on it */
    CUcontext context;
    CUstream stream;         /* ours: it waits for none */
    CUmemoryPool pool;       /* of copies */
    uint64_t bytes, most;    /* of areas */
    struct sonde_cuda_slots *_Atomic slots;
    struct sonde_cuda_jobs *_Atomic jobs;
    struct sonde_cuda_host_copies *_Atomic host;
    bool gone;
};
/* That of a context, which is current; made at the first. NULL: there is none. */
struct sonde_cuda_place *sonde__cuda_place(CUcontext context, uint32_t uid);
/* That, if it was made. */
struct sonde_cuda_place *sonde__cuda_place_known(uint32_t uid);
/* Memory of its device that starts as zeros, in its context and outside of the driver; 0: none. */
CUdeviceptr sonde__cuda_zeros(struct sonde_cuda_place *place, uint64_t bytes);
/* Each, with its context current: all, or one (`uid` not 0). */
void sonde__cuda_places(uint32_t uid, void (*each)(struct sonde_cuda_place *place, bool last), bool last);
bool sonde__cuda_values_own(uint32_t context_uid, uint32_t stream_id); /* is that stream ours? */
void sonde__cuda_place_gone(uint32_t uid);

/* ---- what an operation leaves unchanged (coarse.c) --------------------------------------------- */

#define SONDE_CUDA_TARGETS_MAX 256u
struct sonde_cuda_target { /* a part of an object that is compared */
    uint32_t object;
    uint32_t element_bytes; /* as the code has it; 0 unknown */
    uint32_t grain;         /* what is written is marked, so many bytes at once; 0: all of it may be written */
    bool maybe, raced;
    bool whole;             /* all of it has contents, and it may be hashed */
    uint64_t version;       /* how often it has been written */
    uint64_t address, bytes; /* of the object */
    uint64_t from, to;       /* bytes of it */
    const struct sonde_cuda_box *boxes; /* that are marked, in front of the operation; NULL: its kernel marks, or nobody does */
    CUdeviceptr copy, marks;
    struct sonde_cuda_host_copy *host; /* where the copy is; NULL: on the device */
    CUdeviceptr apart;                 /* where the marks are that are on the device nevertheless; 0: they are behind the copy */
};
struct sonde_cuda_coarse { /* of an operation, from before it until after it */
    struct sonde_cuda_place *place;
    CUstream stream;
    uint64_t key;           /* of the stream */
    struct sonde_cuda_guard *guard;
    uint64_t *missed;       /* bits, by enum sonde_value_missed */
    uint32_t targets;
    struct sonde_cuda_target target[SONDE_CUDA_TARGETS_MAX];
};
void sonde__cuda_coarse_begin(struct sonde_cuda_coarse *c, struct sonde_cuda_place *place, CUstream stream, bool own_default, uint64_t *missed);
/* The operation writes, or may write, from `address` on (0 bytes: all of the object there). The target; NULL: none of it is compared. */
struct sonde_cuda_target *sonde__cuda_coarse_add(struct sonde_cuda_coarse *c, uint64_t address, uint64_t bytes, uint32_t grain, bool maybe);
/* It writes these boxes of one object, which stay until they are copied. */
struct sonde_cuda_target *sonde__cuda_coarse_boxes(struct sonde_cuda_coarse *c, const struct sonde_cuda_box *boxes);
void sonde__cuda_coarse_copy(struct sonde_cuda_coarse *c);
/* Is the box all of these bytes, or more? */
bool sonde__cuda_box_covers(const struct sonde_cuda_box *box, uint64_t address, uint64_t bytes);
/* `operation` 0: there was none. */
void sonde__cuda_coarse_end(struct sonde_cuda_coarse *c, uint32_t operation);
/* An operation that is not looked at may write the object, in the stream of this key; object 0: any, in any. */
void sonde__cuda_coarse_wrote(uint32_t object, uint64_t stream_key);
uint64_t sonde__cuda_coarse_stream(CUstream stream, bool own_default, uint32_t context_uid);
void sonde__cuda_coarse_freed(uint32_t object);
/* Another after each write, 0: none yet; the key of the stream that wrote it, UINT64_MAX: several. */
uint64_t sonde__cuda_coarse_version(uint32_t object);
uint64_t sonde__cuda_coarse_writer(uint32_t object);
void sonde__cuda_coarse_read(struct sonde_cuda_place *place, bool last);

/* ---- copies for which the device has no room (hostcopies.c) -------------------------------------- */

struct sonde_cuda_host_copy {
    CUdeviceptr at;
    uint64_t bytes;
    uint64_t key;    /* of the stream that had it last; 0: none that is known */
    uint64_t ticket; /* that is told when it is done with it */
    bool used;       /* by an operation that is being enqueued */
};
/* When the place is made ready; without it there are none. */
void sonde__cuda_host_ready(struct sonde_cuda_place *place);
/* For what is enqueued in the stream of this key until it is put back there. NULL: there is no memory (--values-host-memory). */
struct sonde_cuda_host_copy *sonde__cuda_host_get(struct sonde_cuda_place *place, uint64_t key, uint64_t bytes);
void sonde__cuda_host_put(struct sonde_cuda_place *place, CUstream stream, uint64_t key, struct sonde_cuda_host_copy *copy);
void sonde__cuda_host_stream_gone(uint32_t context_uid, CUstream stream); /* another may get its handle */
void sonde__cuda_host_gone(struct sonde_cuda_place *place);

/* ---- what a launch of a graph writes (execs.c) --------------------------------------------------- */

struct sonde_cuda_exec;
struct sonde_cuda_exec_object {
    uint32_t object;
    uint32_t element_bytes;       /* as its kernels' code has it; 0 unknown */
    uint64_t address;             /* in it */
    struct sonde_cuda_box *boxes; /* that are written; NULL: any byte may be */
    uint32_t count;               /* of boxes */
    bool any, freed;              /* a kernel may write any byte; a node frees it */
};
struct sonde_cuda_exec_writes {
    uint32_t number; /* of the executable graph, in the order in which they were made */
    uint64_t missed; /* bits, by enum sonde_value_missed */
    uint32_t count;
    struct sonde_cuda_exec_object object[SONDE_CUDA_TARGETS_MAX];
};
/* After a call that made or changed one; before one that destroys it. */
void sonde__cuda_exec_changed(uint32_t id, const void *params, bool done);
void sonde__cuda_exec_gone(CUgraphExec exec);
/* The kernel that a call puts into a graph; NULL: it puts none. */
CUfunction sonde__cuda_node_kernel(uint32_t id, const void *params);
/* What its launch writes, until *out is put back; NULL: that is not known. */
const struct sonde_cuda_exec_writes *sonde__cuda_exec_writes(CUgraphExec exec, struct sonde_cuda_exec **out);
void sonde__cuda_exec_put(struct sonde_cuda_exec *e); /* NULL is none */

/* ---- objects that hold the same values (duplicates.c) -------------------------------------------- */

bool sonde__cuda_duplicates_ready(struct sonde_cuda_place *place);
/* In a call of the program: in front of its operation in `stream`, of which `key` is told apart from others; and behind it. */
void sonde__cuda_duplicates_check(struct sonde_cuda_place *place, CUstream stream, uint64_t key);
void sonde__cuda_duplicates_after(struct sonde_cuda_place *place, CUstream stream, uint64_t key, const struct sonde_cuda_target *target, uint32_t operation);
void sonde__cuda_duplicates_read(struct sonde_cuda_place *place, bool last);
/* In a call that frees it, before it does; the current context's place, or NULL. */
void sonde__cuda_duplicates_freeing(uint32_t object, struct sonde_cuda_place *place);

/* ---- what the accesses of kernels found (areas.c) ----------------------------------------------- */

struct sonde_cuda_area;
/* Of a kernel in its context, the sites of what its pointers point to (sonde_value_sites), and one of its copies; NULL: no memory. */
struct sonde_cuda_area *sonde__cuda_area(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *sites, struct sonde_cuda_place *place,
                                         bool guesses);
/* Of one that guesses, once at each launch: need this one not guess? What was found shows neither a frequent value nor a line, or enough
 * launches have. */
bool sonde__cuda_area_passes(struct sonde_cuda_area *a);
/* It is launched with this area, at this address. */
CUdeviceptr sonde__cuda_area_launch(struct sonde_cuda_area *a);
void sonde__cuda_areas_read(struct sonde_cuda_place *place, bool last);

/* ---- accesses of kernels to other memory (remote.c) --------------------------------------------- */

/* Whose memory an address is in, for kernels of the place's device: 0: its own, or nobody knows; 1: the host's; else one more than the device that owns it,
 * or SONDE_REMOTE_OTHERS. `object`: which is there, 0 not known. */
uint32_t sonde__cuda_remote_owner(const struct sonde_cuda_place *place, uint64_t address, uint32_t object);
/* Another one when memory came or went, or an object has got its first name: what was made of the ranges of memory is outdated. */
uint64_t sonde__cuda_ranges_version(void);
/* The stretch between other memory in which most of a device's own lies: `own` grows by the bytes of each range that is its own, in the order of addresses; other
 * memory is told, and at last what begins and ends at UINT64_MAX. */
struct sonde_cuda_home {
    uint64_t at, bytes;
    uint64_t since, own, most;
};
void sonde__cuda_home_other(struct sonde_cuda_home *h, uint64_t first, uint64_t end);
struct sonde_cuda_reach { /* of a launch */
    struct sonde_plan_remote table; /* all memory that is not its device's */
    uint32_t pointers;              /* of those below that are not 0 */
    uint32_t sites[SONDE_PTX_POINTERS_MAX], owners[SONDE_PTX_POINTERS_MAX]; /* of what its parameters point to; 0: its device's memory */
};
/* The table, and no pointers; OBJECTS: it has no room for all. And the pointers, of a kernel whose code is known. */
enum sonde_value_missed sonde__cuda_remote_reach(struct sonde_cuda_reach *out, struct sonde_cuda_place *place);
void sonde__cuda_remote_point(struct sonde_cuda_reach *out, const struct sonde_cuda_kernel *k, void *const *parameters, const struct sonde_cuda_place *place);
/* May the launch access other memory? If so, has its copy room for its parameters? */
bool sonde__cuda_remote_needs(const struct sonde_cuda_reach *reach, const struct sonde_cuda_kernel *k);
bool sonde__cuda_remote_fits(const struct sonde_cuda_kernel *k);
struct sonde_cuda_remote_area;
/* Of a kernel in its context; NULL: no memory. It is launched with that area, at this address. */
struct sonde_cuda_remote_area *sonde__cuda_remote_area(const struct sonde_cuda_kernel *k, uint32_t node, uint32_t group, const struct sonde_cuda_reach *reach,
                                                       struct sonde_cuda_place *place);
CUdeviceptr sonde__cuda_remote_launch(struct sonde_cuda_remote_area *a);
void sonde__cuda_remote_read(struct sonde_cuda_place *place, bool last);

/* ---- where in an object they are (elements.c) ----------------------------------------------------------- */

/* Where a whole object in other memory has its cells, as struct sonde_plan_remote_range has it; `owner`: as in struct sonde_remote_array. 0: it has none, which is said, or nobody
 * asked. What is there stays. Outside of the driver, and it locks. */
uint32_t sonde__cuda_cells(struct sonde_cuda_place *place, const struct sonde_patch_range *range, uint32_t owner);
/* Where all cells of the context are; 0: there are none yet. */
CUdeviceptr sonde__cuda_cells_at(const struct sonde_cuda_place *place);
/* In the context: one thread at a time (places.c). */
void sonde__cuda_cells_read(struct sonde_cuda_place *place);

/* What of a launch's parameters is looked at or changed (around.c). `function` NULL: of a call that is not known; `parameters` NULL: other
 * calls have set them. */
struct sonde_cuda_launch {
    CUfunction *function;
    void ***parameters, ***extra;
    uint64_t threads, blocks, shared; /* of a block; blocks; bytes */
    CUstream stream;
    bool cooperative, clusters; /* of several blocks */
};
struct sonde_cuda_launch sonde__cuda_launch(uint32_t id, void *params);
/* Parameters that are in a buffer as a list of them, in `list`, as far as the driver knows them; NULL: it does not. */
void **sonde__cuda_parameters(const struct sonde_cuda_kernel *k, void **extra, void **list);
/* What the pointer `i` that the code of a kernel has among its parameters points to; every word of them, which may be a pointer. */
uint64_t sonde__cuda_pointer_of(const struct sonde_cuda_kernel *k, void *const *parameters, uint32_t i);
void sonde__cuda_each_word(const struct sonde_cuda_kernel *k, void *const *parameters, void (*visit)(void *user, uint64_t word), void *user);

/* ---- around an operation (around.c) -------------------------------------------------------------- */

struct sonde_cuda_around;
/* When attached, with --values: SONDE_VALUES_*. NULL, or why not (static or in `room`). */
const char *sonde__cuda_values_begin(unsigned wanted, char *room, size_t size);
/* Before a call that makes an operation: copies, and has a launch run the instrumented copy. What comes back is to be given to
 * sonde__cuda_values_after when the call has returned; NULL: there is nothing to do. */
struct sonde_cuda_around *sonde__cuda_values_before(uint32_t id, enum sonde_cuda_what what, const CUpti_CallbackData *cd, bool own_default,
                                                    const struct sonde_call *call);
void sonde__cuda_values_after(struct sonde_cuda_around *around, bool made);
void sonde__cuda_values_read(bool last);           /* flush.c's thread */
void sonde__cuda_values_context_gone(uint32_t uid);

/* ---- clock (clock.c) --------------------------------------------------------------------- */

void sonde__cuda_clock_pair(void);                 /* take one now */
uint64_t sonde__cuda_clock_host(uint64_t cupti_ns); /* monitor thread */
void sonde__cuda_clock_sync(void);
void sonde__cuda_clock_forget(void);

/* ---- occupancy (occupancy.c) ---------------------------------------------------------------- */

struct sonde_occupancy {
    uint32_t blocks;             /* of one multiprocessor at once */
    uint16_t thousandths;        /* of its warps */
    uint16_t limiter;            /* enum sonde_limiter */
};
struct sonde_occupancy sonde__cuda_occupancy(const struct sonde_cuda_device *device, uint64_t threads,
                                             uint32_t registers, uint32_t shared, uint64_t grid_blocks);

#endif

/* kinds.h - the kinds of operation, and the causes by which the ledger counts loss.
 *
 * The numbers are part of the measurement format: append, never reorder.
 */
#ifndef SONDE_KINDS_H
#define SONDE_KINDS_H

/* In a wait: the number of a user event, which is completed by a call and not by an operation. */
#define SONDE_WAIT_USER_EVENT (1ull << 62)

/* Groups are what summaries add up by. */
enum sonde_op_group {
    SONDE_GROUP_KERNEL,   /* code runs on the device */
    SONDE_GROUP_COPY,     /* bytes move: copies, reads, writes, maps, migrations */
    SONDE_GROUP_SET,      /* bytes are filled */
    SONDE_GROUP_ORDER,    /* markers, barriers, acquisitions: order only */
};

/* Which way bytes move; name in JSON, text in tables. */
#define SONDE_WAY_MAP(X)                                       \
    X(TO_DEVICE, "host_to_device", "host → device")            \
    X(FROM_DEVICE, "device_to_host", "device → host")          \
    X(ON_DEVICE, "device_to_device", "device → device")        \
    X(BETWEEN, "peer", "between devices")                      \
    X(ON_HOST, "host_to_host", "host → host")                  \
    X(MAPPED, "map", "map and unmap")                          \
    X(OTHER, "other", "migrations and other")

/* clang-format off */
enum sonde_way {
#define X(name, json, text) SONDE_WAY_##name,
    SONDE_WAY_MAP(X)
#undef X
    SONDE_WAY_COUNT,
    SONDE_WAY_NONE = SONDE_WAY_COUNT,
};
/* clang-format on */

/* What else is true of a kind. */
enum sonde_op_trait {
    SONDE_KIND_BY_ENDS = 1,      /* what the runtime says of the copy's two ends goes before its way */
    SONDE_KIND_CAN_BLOCK = 2,    /* its call may return only when it has ended */
    SONDE_KIND_TO_HOST = 4,      /* the host can then read what the device wrote */
    SONDE_KIND_AFTER_ALL = 8,    /* waits for all earlier ones of its queue, unless it names what it waits for */
    SONDE_KIND_BEFORE_ALL = 16,  /* all later ones of its queue wait for it */
    SONDE_KIND_CALL = 32,        /* the call itself is the operation: its times are the operation's */
    SONDE_KIND_POINT = 64,       /* a place in a queue: recorded there, or waited for */
    SONDE_KIND_COLLECTIVE = 128, /* several devices at once; it runs as a kernel, an operation of its own */
};

/* Name; text in reports and JSON, and what tables of copies add to it; SONDE_GROUP_, SONDE_WAY_, traits.
 * A new kind is one line here, at the end, and its text in docs/schema/export.json. base/kinds.h looks them up. */
#define SONDE_OP_KIND_MAP(X)                                                                                                   \
    X(NONE,           "none",           "",                ORDER,  NONE,        0)                                             \
    X(KERNEL,         "kernel",         "",                KERNEL, NONE,        0)                                             \
    X(NATIVE,         "native",         "",                KERNEL, NONE,        0)                                             \
    X(READ,           "read",           "device→host",     COPY,   FROM_DEVICE, SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(WRITE,          "write",          "host→device",     COPY,   TO_DEVICE,   SONDE_KIND_CAN_BLOCK)                          \
    X(COPY,           "copy",           "device→device",   COPY,   ON_DEVICE,   SONDE_KIND_BY_ENDS | SONDE_KIND_CAN_BLOCK)     \
    X(FILL,           "fill",           "",                SET,    NONE,        0)                                             \
    X(MAP,            "map",            "",                COPY,   MAPPED,      SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(UNMAP,          "unmap",          "",                COPY,   MAPPED,      0)                                             \
    X(IMAGE_READ,     "image_read",     "device→host",     COPY,   FROM_DEVICE, SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(IMAGE_WRITE,    "image_write",    "host→device",     COPY,   TO_DEVICE,   SONDE_KIND_CAN_BLOCK)                          \
    X(IMAGE_COPY,     "image_copy",     "device→device",   COPY,   ON_DEVICE,   0)                                             \
    X(IMAGE_FILL,     "image_fill",     "",                SET,    NONE,        0)                                             \
    X(IMAGE_MAP,      "image_map",      "",                COPY,   MAPPED,      SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(SVM_COPY,       "svm_copy",       "",                COPY,   ON_DEVICE,   SONDE_KIND_BY_ENDS | SONDE_KIND_CAN_BLOCK)     \
    X(SVM_FILL,       "svm_fill",       "",                SET,    NONE,        0)                                             \
    X(SVM_MAP,        "svm_map",        "",                COPY,   MAPPED,      SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(SVM_UNMAP,      "svm_unmap",      "",                COPY,   MAPPED,      0)                                             \
    X(SVM_FREE,       "svm_free",       "",                ORDER,  NONE,        0)                                             \
    X(SVM_MIGRATE,    "svm_migrate",    "",                COPY,   OTHER,       0)                                             \
    X(MIGRATE,        "migrate",        "",                COPY,   OTHER,       0)                                             \
    X(MARKER,         "marker",         "",                ORDER,  NONE,        SONDE_KIND_AFTER_ALL)                          \
    X(BARRIER,        "barrier",        "",                ORDER,  NONE,        SONDE_KIND_AFTER_ALL | SONDE_KIND_BEFORE_ALL)  \
    X(COMMAND_BUFFER, "command_buffer", "",                KERNEL, NONE,        0)                                             \
    X(ACQUIRE,        "acquire",        "",                ORDER,  NONE,        0)                                             \
    X(RELEASE,        "release",        "",                ORDER,  NONE,        0)                                             \
    X(PEER_COPY,      "peer_copy",      "between devices", COPY,   BETWEEN,     SONDE_KIND_CAN_BLOCK)                          \
    X(HOST_COPY,      "host_copy",      "host→host",       COPY,   ON_HOST,     SONDE_KIND_CAN_BLOCK | SONDE_KIND_TO_HOST)     \
    X(GRAPH,          "graph",          "",                KERNEL, NONE,        0)                                             \
    X(SYNCHRONIZE,    "synchronize",    "",                ORDER,  NONE,        SONDE_KIND_CALL)                               \
    X(EVENT_RECORD,   "event_record",   "",                ORDER,  NONE,        SONDE_KIND_CALL | SONDE_KIND_POINT)            \
    X(EVENT_WAIT,     "event_wait",     "",                ORDER,  NONE,        SONDE_KIND_CALL | SONDE_KIND_POINT)            \
    X(COLLECTIVE,     "collective",     "",                ORDER,  NONE,        SONDE_KIND_COLLECTIVE)

/* clang-format off */
enum sonde_op_kind {
#define X(name, ...) SONDE_OP_##name,
    SONDE_OP_KIND_MAP(X)
#undef X
    SONDE_OP_KIND_COUNT
};
/* clang-format on */

/* Why an operation or a record is missing. Counted per lane and in total. */
#define SONDE_DROP_MAP(X)                                                        \
    X(CHANNEL_FULL, "channel_full")   /* the memory budget was spent */          \
    X(TRACE_FULL, "trace_full")       /* trace row only; the profile has it */   \
    X(DISK_FULL, "disk_full")         /* trace row only; writing failed */       \
    X(MAX_SIZE, "max_size")           /* trace row only; --max-size was reached */ \
    X(AFTER_EXIT, "after_exit")       /* enqueued after the final flush */       \
    X(REENTRANT, "reentrant")         /* a signal handler came in a hook */      \
    X(AGENT_OFF, "agent_off")         /* the agent had switched itself off */    \
    X(PAGE, "page")                   /* trace row only; left out of a page, which holds but so much */

/* clang-format off */
enum sonde_drop {
#define X(name, text) SONDE_DROP_##name,
    SONDE_DROP_MAP(X)
#undef X
    SONDE_DROP_COUNT
};
/* clang-format on */

/* Where the bytes of a data object are. */
enum sonde_memory_class {
    SONDE_MEMORY_ON_DEVICE,
    SONDE_MEMORY_SHARED,  /* managed memory and shared virtual memory: moves between host and devices */
    SONDE_MEMORY_ON_HOST, /* pinned */
    SONDE_MEMORY_OF_OTHERS, /* another process's: mapped here, it counts there */
};

enum sonde_object_trait {
    SONDE_OBJECT_PLACE = 1,  /* what lies at its address is the object; the others' address is a handle */
    SONDE_OBJECT_UNSEEN = 2, /* kernels may use it unseen: which of their arguments point to it is not known */
};

/* Kinds of data object. Name; text in reports and JSON; SONDE_MEMORY_, traits. */
#define SONDE_OBJECT_KIND_MAP(X)                                                \
    X(NONE,    "none",    ON_DEVICE, 0)                                         \
    X(BUFFER,  "buffer",  ON_DEVICE, 0)                                         \
    X(IMAGE,   "image",   ON_DEVICE, 0)                                         \
    X(SVM,     "svm",     SHARED,    SONDE_OBJECT_PLACE)                        \
    X(PIPE,    "pipe",    ON_DEVICE, 0)                                         \
    X(DEVICE,  "device",  ON_DEVICE, SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)  \
    X(POOL,    "pool",    ON_DEVICE, SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)  \
    X(MANAGED, "managed", SHARED,    SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)  \
    X(PINNED,  "pinned",  ON_HOST,   SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)  \
    X(VIRTUAL, "virtual", ON_DEVICE, SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)  \
    X(ARRAY,   "array",   ON_DEVICE, SONDE_OBJECT_UNSEEN)                       \
    X(IPC,     "ipc",     OF_OTHERS, SONDE_OBJECT_PLACE | SONDE_OBJECT_UNSEEN)

/* clang-format off */
enum sonde_object_kind {
#define X(name, ...) SONDE_OBJECT_##name,
    SONDE_OBJECT_KIND_MAP(X)
#undef X
    SONDE_OBJECT_KIND_COUNT
};
/* clang-format on */

/* Of queues. */
enum {
    SONDE_LANE_OUT_OF_ORDER = 1, /* operations wait only for what they name; a barrier for all before, and all after for it */
    SONDE_LANE_NO_TIMES = 2,
    SONDE_LANE_LEGACY = 4,       /* each operation waits for all earlier ones of its context, and later ones for it; */
    SONDE_LANE_NON_BLOCKING = 8, /* but for those of these lanes (CUDA's default stream; docs/waits.md) */
};

/* What a copy reads from or writes to. */
#define SONDE_MEMORY_MAP(X)   \
    X(UNKNOWN, "unknown")     \
    X(PAGEABLE, "pageable")   \
    X(PINNED, "pinned")       \
    X(DEVICE, "device")       \
    X(ARRAY, "array")         \
    X(MANAGED, "managed")     \
    X(HOST, "host")           /* of either kind of the host's */

/* clang-format off */
enum sonde_memory {
#define X(name, text) SONDE_MEMORY_##name,
    SONDE_MEMORY_MAP(X)
#undef X
    SONDE_MEMORY_COUNT
};
/* clang-format on */

/* What --values asks for. */
enum {
    SONDE_VALUES_COARSE = 1, /* what operations leave unchanged */
    SONDE_VALUES_FINE = 2,   /* what the accesses of kernels read and write */
    SONDE_VALUES_REMOTE = 4, /* --comm: how much of it is not in their device's memory; without the others */
    SONDE_VALUES_CELLS = 8,  /* with that, which parts of that memory */
};

/* How kernels accessed the cells of an array; also the order of a cell's counters on the device. */
enum sonde_cell_accesses {
    SONDE_CELL_LOADS,
    SONDE_CELL_STORES,
    SONDE_CELL_ATOMICS,
    SONDE_CELL_KINDS,
};

/* Groups into which launches are put of which only a sample is looked at. */
#define SONDE_REMOTE_GROUPS 8u

/* The owner of memory of another process, on whichever device. */
#define SONDE_REMOTE_OTHERS 0xfffffffeu

/* Accesses of a kernel's code to the device's memory, and what their elements are (PTX ISA 5.2). */
enum sonde_access { SONDE_ACCESS_LOAD,
                    SONDE_ACCESS_STORE,
                    SONDE_ACCESS_ATOMIC,
                    SONDE_ACCESS_REDUCTION,
                    SONDE_ACCESS_COPY };
enum sonde_element { SONDE_ELEMENT_BITS,
                     SONDE_ELEMENT_UNSIGNED,
                     SONDE_ELEMENT_SIGNED,
                     SONDE_ELEMENT_FLOAT,
                     SONDE_ELEMENT_BFLOAT };

/* Why an operation's values were not looked at, or not all of them. */
#define SONDE_VALUE_MISSED_MAP(X)                                          \
    X(NONE, "")                                                            \
    X(QUEUE, "its queue is out of order")                                  \
    X(UNKNOWN, "its queue was not known yet")                              \
    X(IMAGE, "it writes an image")                                         \
    X(SVM, "it writes shared virtual memory")                              \
    X(MAPPED, "the host writes mapped memory")                             \
    X(RECTANGLE, "it writes a rectangle")                                  \
    X(NATIVE, "it runs on the host")                                       \
    X(ARGUMENTS, "it has too many arguments")                              \
    X(MEMORY, "no memory for the copy (--values-memory, --values-host-memory)") \
    X(MANY, "too many comparisons were under way")                         \
    X(BUSY, "another thread was enqueuing in its queue")                   \
    X(COMPARE, "the device refused the comparison")                        \
    X(FAILED, "it or its comparison failed")                               \
    X(CODE, "the code of its module was not seen")                         \
    X(PTX, "its module holds no PTX of it that the device can run (--values-engine and --comm-engine=sanitizer look at machine code)") \
    X(PLAIN, "its code has accesses or calls that cannot be followed")     \
    X(VARIABLE, "it names variables of its module that its copy cannot be given") \
    X(COMPILE, "the driver refused its instrumented copy")                 \
    X(REGISTERS, "its instrumented copy needs more than its blocks have")  \
    X(BUFFER, "its parameters were given as a buffer")                     \
    X(GRAPH, "it was captured for a graph")                                \
    X(OBJECT, "it writes memory whose allocation was not seen")            \
    X(ELSEWHERE, "it writes memory that is not the device's own")          \
    X(POINTERS, "it writes through pointers that it read from memory")     \
    X(BITCODE, "neither LLVM bitcode, source nor SPIR-V of its program is known") \
    X(SAMPLE, "not of those that --values-sample or --comm-sample chose")                   \
    X(KERNEL, "not asked for (--kernel)")                                  \
    X(DRIVER, "this driver does not take changes to launches")             \
    X(PATCH, "Compute Sanitizer did not patch its code")                   \
    X(NODES, "its graph has nodes that cannot be followed")                \
    X(OBJECTS, "it may write too many objects") \
    X(CLANG, "it takes clang 15 or newer and its libLLVM, which are not installed") \
    X(ROUNDING, "its options allow each compiler other results (-cl-fast-relaxed-math, -cl-unsafe-math-optimizations)") \
    X(TEXTURE, "its code uses textures or surfaces")                       \
    X(BULK, "its code uses bulk or tensor copies, multimem or asynchronous stores") \
    X(MATRIX, "its code loads or stores matrices in global memory (wmma)") \
    X(LENGTH, "its code has copies whose length is known only while it runs (cp.async)") \
    X(CLUSTER, "its blocks run in clusters")                               \
    X(CALLS, "it calls functions that are not followed (through pointers, or not compiled into it)") \
    X(STATEMENT, "its PTX has statements or declarations that Sonde does not know") \
    X(VERSION, "its PTX is newer than the driver compiles")                \
    X(LAUNCH, "it was launched by a call that is not followed (cuLaunch, cuLaunchGrid, several devices at once)") \
    X(SPACE, "its code has accesses that may be to shared or local memory or to global memory") \
    X(SPIRV, "it takes llvm-spirv 14 or newer and its libLLVM (15 or newer), which are not installed") \
    X(TRANSLATE, "llvm-spirv does not translate the SPIR-V of its program") \
    X(SILENT, "the host may have written its memory meanwhile, which nobody sees (fine-grained, or clSharedMemAllocINTEL's)") \
    X(BARRIER, "it has a barrier in a branch and accesses behind that: PoCL would make something else of a copy with more in it")

/* clang-format off */
enum sonde_value_missed {
#define X(name, text) SONDE_VALUE_MISSED_##name,
    SONDE_VALUE_MISSED_MAP(X)
#undef X
    SONDE_VALUE_MISSED_COUNT /* 64 at the most: backends have them as bits */
};
/* clang-format on */

/* What an operation does to an object (--values). */
enum {
    SONDE_FLOW_READ = 1,
    SONDE_FLOW_WRITE = 2,
    SONDE_FLOW_MAYBE = 4, /* it may have done less */
};

/* What a message between ranks is. Name; in JSON and text. */
#define SONDE_MESSAGE_KIND_MAP(X)                                                          \
    X(CALL, "call")           /* none: a call in which nothing came in full */              \
    X(SEND, "send")                                                                        \
    X(RECEIVE, "receive")                                                                  \
    X(BARRIER, "barrier")     /* nobody leaves before all have come */                      \
    X(ALL_TO_ALL, "all-to-all") /* so, too, since each needs something of all */             \
    X(FROM_ROOT, "from root") /* the others need the root */                               \
    X(TO_ROOT, "to root")     /* the root needs the others */                              \
    X(PREFIX, "prefix")       /* each needs those before it */

/* clang-format off */
enum sonde_message_kind {
#define X(name, text) SONDE_MESSAGE_##name,
    SONDE_MESSAGE_KIND_MAP(X)
#undef X
    SONDE_MESSAGE_KINDS
};
/* clang-format on */

/* What a library says of itself. Each: a text, or a number, of a name. */
enum sonde_setting_kind {
    SONDE_SETTING_VERSION = 1,   /* text: which library of messages it is */
    SONDE_SETTING_EAGER_HOST,    /* bytes: a message of so many or more waits for its receiver, where that runs on the same host, */
    SONDE_SETTING_EAGER_NETWORK, /* or on another one */
};

/* How a kernel's code was instrumented. Name; in JSON. */
#define SONDE_ENGINE_MAP(X) \
    X(NONE, "none")         \
    X(PTX, "ptx")           \
    X(LLVM, "spirv")        \
    X(SANITIZER, "sanitizer")

/* clang-format off */
enum sonde_engine {
#define X(name, text) SONDE_ENGINE_##name,
    SONDE_ENGINE_MAP(X)
#undef X
    SONDE_ENGINE_COUNT
};
/* clang-format on */

/* What keeps more of a kernel's blocks from running on one multiprocessor. */
#define SONDE_LIMITER_MAP(X)        \
    X(NONE, "none")                 \
    X(THREADS, "threads")           \
    X(BLOCKS, "blocks")             \
    X(REGISTERS, "registers")       \
    X(SHARED, "shared memory")      \
    X(GRID, "grid size")

/* clang-format off */
enum sonde_limiter {
#define X(name, text) SONDE_LIMITER_##name,
    SONDE_LIMITER_MAP(X)
#undef X
    SONDE_LIMITER_COUNT
};
/* clang-format on */

/* What samples of multiprocessors are (record --pc). */
#define SONDE_STALL_KIND_MAP(X)                                                            \
    X(SAMPLED, "sampled")     /* of an instruction of the program's code */                 \
    X(ELSEWHERE, "elsewhere") /* of code that CUPTI does not show: the driver's, its own */ \
    X(DROPPED, "dropped")     /* the device had no room for them */                         \
    X(LOST, "lost")           /* whose instruction CUPTI did not hand over */

/* clang-format off */
enum sonde_stall_kind {
#define X(name, text) SONDE_STALL_KIND_##name,
    SONDE_STALL_KIND_MAP(X)
#undef X
    SONDE_STALL_KIND_COUNT
};
/* clang-format on */

/* Sets of record --counters: what CUPTI's range profiler counts at once, in one pass (of Volta's and Turing's devices some in two). As kernels
 * have no device times meanwhile, their time is in each. */
#define SONDE_COUNTER_SET_MAP(X)                                                                                                     \
    X("default", "gpu__time_duration.sum,smsp__warps_launched.sum,smsp__inst_executed.sum,smsp__thread_inst_executed.sum,"           \
                 "sm__cycles_active.avg,dram__bytes_read.sum,dram__bytes_write.sum")                                                 \
    X("memory", "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed," \
                "lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,l1tex__t_sectors.sum,l1tex__t_sectors_lookup_hit.sum")       \
    X("compute", "gpu__time_duration.sum,sm__inst_executed.sum,sm__inst_executed_pipe_tensor.sum,sm__cycles_active.avg,"             \
                 "sm__warps_active.avg.pct_of_peak_sustained_active")                                                                \
    X("roofline", "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed," \
                  "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed,sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed") \
    X("nvlink", "gpu__time_duration.sum,nvlrx__bytes.sum,nvltx__bytes.sum")                                                          \
    X("pcie", "gpu__time_duration.sum,pcie__read_bytes.sum,pcie__write_bytes.sum")
/* And over time, where nothing else is asked for: one pass on GA100 and GH100; what a device lacks is left out. Of multiprocessors one counter
 * only: of two, samples of a millisecond lose some on an H100 (docs/counters.md). */
#define SONDE_COUNTER_SERIES_DEFAULT                                                                                                 \
    "smsp__inst_executed.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,"         \
    "pcie__read_bytes.sum,pcie__write_bytes.sum,"                                                                                    \
    "nvlrx__bytes.sum,nvltx__bytes.sum"

#endif

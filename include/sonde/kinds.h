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

/*      name            text in reports and JSON   group */
#define SONDE_OP_KIND_MAP(X)                             \
    X(NONE, "none", ORDER)                               \
    X(KERNEL, "kernel", KERNEL)                          \
    X(NATIVE, "native", KERNEL)                          \
    X(READ, "read", COPY)                                \
    X(WRITE, "write", COPY)                              \
    X(COPY, "copy", COPY)                                \
    X(FILL, "fill", SET)                                 \
    X(MAP, "map", COPY)                                  \
    X(UNMAP, "unmap", COPY)                              \
    X(IMAGE_READ, "image_read", COPY)                    \
    X(IMAGE_WRITE, "image_write", COPY)                  \
    X(IMAGE_COPY, "image_copy", COPY)                    \
    X(IMAGE_FILL, "image_fill", SET)                     \
    X(IMAGE_MAP, "image_map", COPY)                      \
    X(SVM_COPY, "svm_copy", COPY)                        \
    X(SVM_FILL, "svm_fill", SET)                         \
    X(SVM_MAP, "svm_map", COPY)                          \
    X(SVM_UNMAP, "svm_unmap", COPY)                      \
    X(SVM_FREE, "svm_free", ORDER)                       \
    X(SVM_MIGRATE, "svm_migrate", COPY)                  \
    X(MIGRATE, "migrate", COPY)                          \
    X(MARKER, "marker", ORDER)                           \
    X(BARRIER, "barrier", ORDER)                         \
    X(COMMAND_BUFFER, "command_buffer", KERNEL)          \
    X(ACQUIRE, "acquire", ORDER)                         \
    X(RELEASE, "release", ORDER)                         \
    X(PEER_COPY, "peer_copy", COPY)                      \
    X(HOST_COPY, "host_copy", COPY)                      \
    X(GRAPH, "graph", KERNEL)                            \
    X(SYNCHRONIZE, "synchronize", ORDER)                 \
    X(EVENT_RECORD, "event_record", ORDER)               \
    X(EVENT_WAIT, "event_wait", ORDER)                   \
    X(COLLECTIVE, "collective", ORDER)

enum sonde_op_kind {
#define X(name, text, group) SONDE_OP_##name,
    SONDE_OP_KIND_MAP(X)
#undef X
    SONDE_OP_KIND_COUNT
};

/* Why an operation or a record is missing. Counted per lane and in total. */
#define SONDE_DROP_MAP(X)                                                        \
    X(CHANNEL_FULL, "channel_full")   /* the memory budget was spent */          \
    X(TRACE_FULL, "trace_full")       /* trace row only; the profile has it */   \
    X(DISK_FULL, "disk_full")         /* trace row only; writing failed */       \
    X(MAX_SIZE, "max_size")           /* trace row only; --max-size was reached */ \
    X(AFTER_EXIT, "after_exit")       /* enqueued after the final flush */       \
    X(REENTRANT, "reentrant")         /* a signal handler came in a hook */      \
    X(AGENT_OFF, "agent_off")         /* the agent had switched itself off */

enum sonde_drop {
#define X(name, text) SONDE_DROP_##name,
    SONDE_DROP_MAP(X)
#undef X
    SONDE_DROP_COUNT
};

/* Kinds of data object. */
#define SONDE_OBJECT_KIND_MAP(X) \
    X(NONE, "none")              \
    X(BUFFER, "buffer")          \
    X(IMAGE, "image")            \
    X(SVM, "svm")                \
    X(PIPE, "pipe")              \
    X(DEVICE, "device")          \
    X(POOL, "pool")              \
    X(MANAGED, "managed")        \
    X(PINNED, "pinned")          \
    X(VIRTUAL, "virtual")        \
    X(ARRAY, "array")

enum sonde_object_kind {
#define X(name, text) SONDE_OBJECT_##name,
    SONDE_OBJECT_KIND_MAP(X)
#undef X
    SONDE_OBJECT_KIND_COUNT
};

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
    X(MANAGED, "managed")

enum sonde_memory {
#define X(name, text) SONDE_MEMORY_##name,
    SONDE_MEMORY_MAP(X)
#undef X
    SONDE_MEMORY_COUNT
};

/* What keeps more of a kernel's blocks from running on one multiprocessor. */
#define SONDE_LIMITER_MAP(X)        \
    X(NONE, "none")                 \
    X(THREADS, "threads")           \
    X(BLOCKS, "blocks")             \
    X(REGISTERS, "registers")       \
    X(SHARED, "shared memory")      \
    X(GRID, "grid size")

enum sonde_limiter {
#define X(name, text) SONDE_LIMITER_##name,
    SONDE_LIMITER_MAP(X)
#undef X
    SONDE_LIMITER_COUNT
};

#endif

/* abi.h - what a profiler plugin must know of NCCL's binary interface, versions 1 to 6.
 *
 * NCCL looks in the library that NCCL_PROFILER_PLUGIN names for a table called
 * ncclProfiler_vN, the newest that it knows first: v1 in 2.23, v2 from 2.24, v3
 * from 2.26, v4 from 2.27, v5 from 2.28, v6 from 2.29. From
 * src/include/plugin/profiler/profiler_v[1-6].h and src/include/plugin/nccl_profiler.h
 * of NCCL 2.30.7 (github.com/NVIDIA/nccl), and src/include/nccl_profiler.h of 2.23.4;
 * declared here in our own words, and only as far as it is read.
 */
#ifndef SONDE_NCCL_ABI_H
#define SONDE_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of events: bits, of which the table's init chooses. */
enum {
    NCCL_EVENT_GROUP = 1 << 0,         /* a kernel's tasks, after its launch; always comes with the next two */
    NCCL_EVENT_COLL = 1 << 1,
    NCCL_EVENT_P2P = 1 << 2,
    NCCL_EVENT_GROUP_API = 1 << 8,     /* v5: from the first call of a group to its end */
    NCCL_EVENT_COLL_API = 1 << 9,      /* v5: a call of the program */
    NCCL_EVENT_P2P_API = 1 << 10,
    NCCL_EVENT_KERNEL_LAUNCH = 1 << 11, /* v5: around a kernel's launch, in the thread that launches */
    NCCL_EVENT_CE_COLL = 1 << 12,      /* v6: around the copies of a collective without kernel */
};

/* v1: numbers where later versions have texts. */
struct nccl_coll_v1 {
    const char *comm_name;
    uint64_t comm, sequence;
    uint8_t function;
    const void *source;
    void *target;
    size_t count;
    int root;
    uint8_t datatype;
};
struct nccl_p2p_v1 {
    const char *comm_name;
    uint64_t comm;
    uint8_t function;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int peer;
};
struct nccl_how { /* the end of what COLL says */
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
/* v2; v3 lacks `traffic` */
struct nccl_coll_v2 {
    const char *comm_name;
    uint64_t comm, sequence;
    const char *function;
    const void *source;
    void *target;
    size_t count;
    int root;
    const char *datatype;
    union {
        struct {
            size_t traffic;
            struct nccl_how how;
        } v2;
        struct nccl_how how_v3;
    };
};
struct nccl_p2p_v2 {
    const char *comm_name;
    uint64_t comm;
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};
/* v4 and later: the communicator is init's */
struct nccl_coll_v4 { /* also a CE_COLL */
    uint64_t sequence;
    const char *function;
    const void *source;
    void *target;
    size_t count; /* of AllGather and Broadcast: bytes, and the data type is ncclInt8 */
    int root;
    const char *datatype;
    struct nccl_how how; /* not of a CE_COLL */
};
struct nccl_p2p_v4 {
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
};
/* v5 and later; P2P_API begins in the same way */
struct nccl_api_v5 {
    const char *function;
    size_t count;
    const char *datatype;
};

struct nccl_event {
    uint64_t type;   /* before v5: a byte, and what follows it is not set */
    void *parent;    /* COLL and P2P from v5 on: the API event's handle; API and KERNEL_LAUNCH: GROUP_API's */
    int rank;
    union {
        struct nccl_coll_v1 coll_v1;
        struct nccl_p2p_v1 p2p_v1;
        struct nccl_coll_v2 coll_v2;
        struct nccl_p2p_v2 p2p_v2;
        struct nccl_coll_v4 coll_v4;
        struct nccl_p2p_v4 p2p_v4;
        struct nccl_api_v5 api_v5;
    };
};

/* The table. All return 0 for success. `start` may leave *handle NULL: then there is no `stop`. */
#define NCCL_PROFILER_REST                                                            \
    int (*start)(void *context, void **handle, struct nccl_event *event);             \
    int (*stop)(void *handle);                                                        \
    int (*record)(void *handle, int state, void *arguments);                          \
    int (*finalize)(void *context);
typedef void (*nccl_logger)(void);

struct nccl_profiler_v1 { /* to v3 */
    const char *name;
    int (*init)(void **context, int *events);
    NCCL_PROFILER_REST
};
struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *events, const char *comm_name, uint64_t comm, int nodes, int ranks, int rank,
                nccl_logger logger);
    NCCL_PROFILER_REST
};
struct nccl_profiler_v5 { /* and v6 */
    const char *name;
    int (*init)(void **context, uint64_t comm, int *events, const char *comm_name, int nodes, int ranks, int rank,
                nccl_logger logger);
    NCCL_PROFILER_REST
};

#endif

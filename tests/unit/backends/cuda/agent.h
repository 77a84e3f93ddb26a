/* agent.h - an agent that only notes what the CUDA backend tells it, and a clock that a test sets. */
#ifndef SONDE_TEST_CUDA_AGENT_H
#define SONDE_TEST_CUDA_AGENT_H

#include <sonde/backend.h>

enum { NOTED_MAX = 512 };

extern struct noted {
    uint64_t now_ns;
    bool off; /* calls are not recorded */
    uint32_t calls, ends, submits, completions, objects, frees, notes, lanes, devices, pairs, strings, works, blobs, waits;
    struct {
        uint32_t api;
        uint64_t enter_ns;
    } call[NOTED_MAX];
    struct sonde_submit submit[NOTED_MAX];
    struct sonde_wait wait[NOTED_MAX];
    struct sonde_completion completion[NOTED_MAX];
    struct sonde_work work[NOTED_MAX];
    struct {
        enum sonde_object_kind kind;
        uint64_t bytes, address;
        bool freed, looked_at, named;
        uint32_t device, parent, uses;
    } object[NOTED_MAX];
    struct {
        uint32_t device, context, flags;
        char name[64];
    } lane[NOTED_MAX];
    struct { uint64_t host_ns, device_ns, bound_ns; } pair[NOTED_MAX];
    char string[NOTED_MAX][64];
    char note[NOTED_MAX][256];
    uint32_t unplaced, unplaced_named;
    char unplaced_what[NOTED_MAX][64];
    uint64_t vendor_ns;
    uint32_t operations, misses, changes; /* --values */
    uint64_t host_most, host_bytes; /* of the host's memory: that may be taken, and are */
    uint32_t one_operation; /* which all are, as in a loop; 0: each is another */
    enum sonde_op_kind operation[NOTED_MAX];
    struct {
        uint32_t operation;
        enum sonde_value_missed why;
        enum sonde_engine engine;
    } missed[NOTED_MAX];
    uint32_t remotes;
    struct noted_remote {
        struct sonde_remote_access access;
        uint64_t threads;
    } remote[NOTED_MAX];
    bool wants_remote;
    uint64_t cells; /* --comm-elements */
    uint32_t objects_named;
    uint32_t arrays, runs;
    struct noted_array {
        struct sonde_remote_array array;
        bool read;
    } array[NOTED_MAX];
    struct noted_run {
        uint32_t array, kind, first, count;
        uint64_t bytes;
    } run[NOTED_MAX];
    uint32_t migrations;
    struct sonde_migration migration[NOTED_MAX];
    uint32_t counters;
    uint64_t uncounted;
    struct noted_counter {
        uint32_t operation, device, metric;
        double value;
    } counter[NOTED_MAX];
    struct noted_series {
        uint32_t series;
        uint64_t from_ns, to_ns;
        double value;
    } series[NOTED_MAX];
    uint32_t stalls;
    bool stalls_full; /* no room for samples of instructions */
    uint64_t stall_sum[SONDE_STALL_KIND_COUNT], stall_idle;
    struct noted_stall {
        struct sonde_stall where;
        uint64_t samples, idle;
    } stall[NOTED_MAX];
    char series_name[64][64];
    uint32_t series_count, series_values;
    uint64_t series_lost;
    struct sonde_value_change change[NOTED_MAX];
    uint32_t written;
    struct {
        uint32_t operation, object, file, line;
    } line[NOTED_MAX];
    uint32_t accesses;
    struct {
        struct sonde_value_access of;
        struct sonde_value_seen seen;
    } access[NOTED_MAX];
    int range; /* last word of sonde_recording_set: 0 none, 1 on, 2 off */
} noted;

void noted_reset(void);

#endif

/* config.h - what `sonde record` tells the agent, through the environment. */
#ifndef SONDE_AGENT_STATE_CONFIG_H
#define SONDE_AGENT_STATE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rank.h"

struct sonde_config {
    char out[3072];              /* SONDE_OUT: the measurement's directory; empty = nothing to do */
    bool trace;                  /* SONDE_TRACE */
    bool light;                  /* SONDE_LIGHT: announced to `sonde monitor`: sums by kernel, no call paths, no trace */
    bool check;                  /* SONDE_CHECK: check every unwind */
    bool no_python;              /* SONDE_PYTHON=0: native frames only */
    bool start_off;              /* SONDE_START_OFF */
    uint32_t cpu_hz;             /* SONDE_CPU: samples per second of a thread's CPU time, 0 = none */
    char cpu_counters[512];      /* SONDE_CPU_COUNTERS: NAME:TYPE:CONFIG:PERIOD, separated by commas; empty = none */
    unsigned values;             /* SONDE_VALUES: SONDE_VALUES_* */
    uint64_t values_blocks; /* SONDE_VALUES_BLOCKS: one of so many blocks of a launch; 0 = all */
    uint64_t comm_cells; /* SONDE_COMM_CELLS: the most of an allocation; 0 = nobody asked */
    uint64_t values_first, values_of; /* SONDE_VALUES_FIRST, SONDE_VALUES_OF: of each `of` launches the first; 0 = all, 0 = once */
    char values_kernel[512];     /* SONDE_VALUES_KERNEL: patterns, separated by commas; empty = all */
    uint64_t values_bytes;       /* SONDE_VALUES_MEMORY: of each device, 0 = a quarter of it */
    uint64_t values_host_bytes;  /* SONDE_VALUES_HOST_MEMORY: of the host's, or */
#define SONDE_VALUES_HOST_QUARTER UINT64_MAX /* a quarter of what is available */
    uint64_t memory_bytes;       /* SONDE_MEMORY */
    uint64_t last_ns;            /* SONDE_LAST: a trace of so much time before now, 0 = of all */
    uint64_t max_bytes;          /* SONDE_MAX_SIZE, 0 = no limit */
    uint64_t delay_ms, duration_ms; /* SONDE_DELAY_MS, SONDE_DURATION_MS, 0 = none */
    uint32_t streams_per_thread; /* SONDE_STREAMS_PER_THREAD */
    struct sonde_rank rank;      /* by the launcher's variables, not ours */
    char job[256];               /* what it calls its job; empty: it does not say */
};

/* What the agent was given as it came into the program: "NAME=value" strings and an empty one. NULL: the environment has it. */
extern const char *sonde__settings;

/* False when this process is not to be measured. */
bool sonde__config_read(struct sonde_config *config);

#endif

/* preload.h - what the preloaded library and the agent share.
 *
 * libsonde-preload.so is in every process that `sonde record` starts: tiny,
 * without dependencies, without a thread or a file. It exports one object of
 * this type, `sonde__shared`, which the agent (loaded later, privately, by the
 * OpenCL loader or by the preload library itself) finds with dlsym and fills in.
 *
 * Threads: the function pointers are atomic, set once, and may be called from any thread.
 */
#ifndef SONDE_AGENT_PRELOAD_H
#define SONDE_AGENT_PRELOAD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_SAMPLE_SIGNAL SIGURG
#define SONDE_SAMPLE_SIGNAL_NAME "SIGURG"
enum sonde_signal_owner {
    SONDE_SIGNAL_FREE,
    SONDE_SIGNAL_AGENT,
    SONDE_SIGNAL_PROGRAM,
};

/* A function of the C library in which a thread may wait. */
struct sonde_sleeper {
    const char *name;
    uint32_t kind;                          /* enum sonde_sleep_kind of format/rows.h */
};
#define SONDE_SLEEPERS_MAX 64
#define SONDE_SLEEP_LEAST_NS 100000u        /* shorter waits are not told of */

struct sonde_shared {
    uint32_t size;                          /* sizeof, as the preload library was built */
    _Atomic uint32_t range;                 /* last word of sonde_start/sonde_stop: 0 none, 1 start, 2 stop */
    void (*_Atomic set_range)(int on);      /* the agent's; NULL until it is there */
    void (*_Atomic at_exit)(void);          /* called before _exit, _Exit and quick_exit end the process */
    void (*_Atomic modules_changed)(void);  /* called after dlclose */
    /* OPENCL_LAYERS in the environment before the loader wrote NULs into it, and
     * its length then: sonde__layers_repair() repairs it in place. NULL: there was none. */
    char *_Atomic layers;
    _Atomic uint32_t layers_length;
    /* Called when main returns or the program calls exit, before any exit
     * handler: the place to wait for operations under way. Later the runtime's
     * compiler may be gone while its threads still use it. at_exit is not
     * called then; the agent's own exit handler or destructor does the rest. */
    void (*_Atomic before_exit)(void);
    void (*_Atomic before_exec)(void);      /* called before each exec, which ends all our threads */
    /* The samples' signal. While it is the agent's, a program that asks for its
     * disposition is told what it would be; one that sets it gets it. */
    _Atomic int signal_owner;               /* enum sonde_signal_owner */
    struct sigaction signal_program;        /* what it would be */
    void (*_Atomic release_signal)(void);   /* the agent's; returns when no signal of its comes any more */
    int (*_Atomic libc_sigaction)(int, const struct sigaction *, struct sigaction *);
    void (*_Atomic arm_deaths)(void);       /* the preload library's: tell before_death from now on of signals that kill */
    /* The agent's; in a signal's handler. Not 0: the signal comes again, when a call of the runtime's has returned.
     * info NULL: it cannot be sent again. */
    int (*_Atomic before_death)(int number, const siginfo_t *info);
    /* When this program began, on CLOCK_MONOTONIC_RAW, and the CPU time that its process had used
     * by then. Set at load, and in a forked child, while there is one thread. 0: unknown. */
    uint64_t start_ns, start_cpu_ns;
    /* A thread has waited in sleepers[which] for SONDE_SLEEP_LEAST_NS or longer; on CLOCK_MONOTONIC_RAW.
     * NULL: nobody wants to know, and no time is taken. Called in the thread, after the wait. */
    void (*_Atomic slept)(uint32_t which, uint64_t from_ns, uint64_t to_ns);
    /* A thread of the program has started, or ends by returning from this routine. Called in that thread; NULL as above. */
    void (*_Atomic thread_starts)(void);
    void (*_Atomic thread_ends)(void *(*routine)(void *));
    const struct sonde_sleeper *sleepers;
    uint32_t sleeper_count;
    /* The agent's, of sonde_name_memory (sonde/sonde.h); NULL until it is there. */
    void (*_Atomic name_memory)(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes);
};
#endif

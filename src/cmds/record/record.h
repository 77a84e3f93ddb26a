/* record.h - the parts of `sonde record`, in the order in which a run passes through them.
 *
 *     program.c  find the program and our libraries; the program's environment
 *     output.c   make the measurement's folder, remove an old one, what is in it
 *     manifest.c manifest.json
 *     variables.c  which environment variables it keeps
 *     arguments.c  which arguments it hides
 *     run.c      start the program, pass signals on, wait
 *     finish.c   seal, resolve symbols, say the one line
 *     calibrate.c  paired runs with and without
 *     light.c    no measurement: the program announces itself
 *     attach.c   a program that runs already
 */
#ifndef SONDE_CMDS_RECORD_RECORD_H
#define SONDE_CMDS_RECORD_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <sonde/error.h>

#include "monitor/recorders.h"

enum {
    RECORD_TRACE = 1,
    RECORD_PROFILE = 2,
    RECORD_LIGHT = 3,
};

/* What a shell, env(1) and timeout(1) return when the program could not be run. */
enum {
    RECORD_EXIT_FAILED = 125,
    RECORD_EXIT_NOT_EXECUTABLE = 126,
    RECORD_EXIT_NOT_FOUND = 127,
};

enum { RECORD_KERNEL_MAX = 512 }; /* as the agent has it */
enum { RECORD_COUNTERS_MAX = 1024,
       RECORD_SERIES_LEAST_NS = 20000,
       RECORD_LAST_LEAST_NS = 100000000,
       RECORD_SERIES_MOST_NS = 1000000000 };
#define RECORD_HOST_QUARTER UINT64_MAX

struct record_options {
    int mode;
    int64_t pid;                        /* of a program that runs already; 0: start one */
    const char *output;
    int force, quiet;
    uint64_t memory_bytes, max_size_bytes;
    uint64_t last_idle_ns;              /* --last is written when no operation has ended for so long; 0: not of itself */
    uint64_t last_ns;                   /* a trace of so much time before the end; 0: of all */
    const char *folder;                 /* of announced programs, where a monitor finds --last; NULL: this user's */
    int64_t streams_per_thread;
    int64_t cpu_hz;                     /* samples of the CPU side; 0 = none */
    uint64_t delay_ns, duration_ns;
    int start_off, check, no_preload, no_python, no_command_line;
    int values;                         /* index into record_values_names */
    int comm;                           /* index into record_comm_names */
    const char *comm_sample;            /* "N" or "N/M"; NULL: all */
    int64_t comm_cells;                 /* of an allocation at the most; 0: no elements */
    const char *counters;               /* sets and metrics, separated by commas; NULL: none */
    const char *cpu_counters;           /* of the CPU, as given; NULL: none. */
    char cpu_counter_list[512];         /* As the agent reads them */
    uint64_t series_ns;                 /* interval of counters over time; 0: none */
    int64_t pc_cycles;                  /* between two samples of where warps are; 0: none */
    int replay;
    int engine, comm_engine;            /* indices into record_engine_names */
    const char *values_sample;          /* "N" or "N/M"; NULL: all */
    uint64_t values_first, values_of;   /* this, or comm_sample, as numbers */
    const char *values_every;           /* "1/M": blocks; NULL: all */
    uint64_t values_blocks;             /* this M; 0: all */
    const char *values_kernel;          /* patterns, separated by commas; NULL: all */
    uint64_t values_bytes;              /* of each device's memory; 0: a quarter of it */
    uint64_t values_host_bytes;         /* of the host's; RECORD_HOST_QUARTER: of what is available */
    int api, graph;                     /* indices into record_api_names, record_graph_names */
    const char *capture;                /* "cuda", "nvtx:NAME"; NULL: all */
    const char *hide_arguments;         /* patterns, separated by commas; NULL: none */
    int environment; /* print it, and start nothing */
    int calibrate;
    int64_t pairs;
};

extern const char *const record_api_names[], *const record_graph_names[], *const record_values_names[], *const record_comm_names[],
                                                                                                            *const record_engine_names[];

/* Where things are. */
struct record_paths {
    char program[PATH_MAX];  /* what is executed; argv[0] stays as the user wrote it */
    char agent[PATH_MAX], preload[PATH_MAX];
    char output[PATH_MAX];   /* the measurement, absolute */
    char shown[PATH_MAX];    /* the same as the user would write it */
    int folder;              /* that folder, open and locked while we write into it; -1 none */
    char job[256];           /* of a rank of a parallel job, whose records write one measurement: which job (job.c); else "" */
    uint32_t rank;           /* this one's, plus one */
    bool joined;             /* another rank made the folder */
};

struct record_times {
    uint64_t monotonic_raw_ns, wall_ns, monotonic_ns;
    uint64_t bound_ns;       /* the three were read within this time */
};

struct record_result {
    int wait_status;         /* as waitpid returned it */
    int exec_status;         /* the program could not be started: record's exit status */
    int attached;            /* the pid of a program that was not started; 0: it was. How it ended is not known then, */
    bool goes_on;            /* and it may not have ended */
    struct record_times start, end;
};

/* Wall time of record itself: none of it is in the program's run. */
struct record_timings {
    uint64_t before_ns;      /* until the program was started; of what came before main, the CPU time */
    uint64_t after_ns;       /* from its end on; the next four are parts of it */
    uint64_t seal_ns, symbols_ns, code_ns, summary_ns;
};

/* Find `name` as a shell would. 0, or 126 / 127 with `diag`. */
int record_find_program(const char *name, char *path, size_t size, struct sonde_diag *diag);

/* Find libsonde-agent.so and libsonde-preload.so relative to our own executable. */
int record_find_libraries(struct record_paths *paths, struct sonde_diag *diag);

/* Why preloading cannot work in this program ("is linked statically", "is
 * set-user-ID"); NULL when it can. */
const char *record_program_obstacle(const char *path);

/* The program's environment: ours with the variables that switch the agent on.
 * NULL when out of memory. record_environment_free() frees it. */
char **record_environment(const struct record_options *options, const struct record_paths *paths);
void record_environment_free(char **environment);
/* Is this entry of it one that switches the agent on? */
bool record_environment_is_ours(const char *entry);

/* Choose and make the measurement's folder; fills paths->output, ->shown and ->folder. */
int record_output_make(const struct record_options *options, const char *program,
                       struct record_paths *paths, struct sonde_diag *diag);

/* Is the folder that was made still the one of that name? False when somebody removed it. */
bool record_output_is_there(const struct record_paths *paths);

/* End of writing: another record may replace it. */
void record_output_release(struct record_paths *paths);

/* Remove the measurement at `path`: only if it is one, and holds nothing else. */
int record_output_remove(const char *path, struct sonde_diag *diag);

/* Call `fn` with the path of every process folder in a measurement. */
int record_each_process(const char *output, int (*fn)(void *user, const char *path, const char *name), void *user);

/* The pid in the name of a process folder; 0 when there is none. */
int record_pid_of(const char *name);

/* Is `pid` (0: any process of this user on this host) alive and recording into `output`? */
bool record_still_running(const char *output, int pid);

/* ---- links.c: what the NVLinks of this host's devices carry meanwhile ----------------------------------------- */

struct record_links;
/* Before the program; NULL: out of memory. Takes a part of a second. */
struct record_links *record_links_begin(void);
/* After it: what there is goes into the manifest. Frees it; `links` may be NULL. */
void record_links_end(struct record_links *links, json_t *manifest);

/* ---- job.c: one measurement of many records, one for each rank ------------------------------------------------ */

/* Are we a rank of a job? Fills paths->job and ->rank. */
bool record_job_find(struct record_paths *paths);
/* Put our job's identity into the folder that was just made (paths->shown). 0 or an errno. */
int record_job_claim(const struct record_paths *paths);
/* Whose a folder is: 1 our job's, for this rank; 0 somebody else's, -1 nobody's yet: it has just been made. */
int record_job_whose(const struct record_paths *paths, const char *folder);
/* Is this folder our job's? Waits for one that is being made. */
bool record_job_is_ours(const struct record_paths *paths, const char *folder);
/* Is it for this record to seal the process of this folder and name? `last`: no other record is left. */
bool record_job_seals(const struct record_paths *paths, bool last, const char *folder, const char *name);
/* Leave what our manifest says of this rank. 0 or an errno. */
int record_job_leave(const struct record_paths *paths, const json_t *manifest);
/* After that: is no other record of the job left? Our lock is gone, or it is ours alone. */
bool record_job_is_last(const struct record_paths *paths);
/* The manifest of all: that of who made the folder, with what all ranks left. `own` where there is none. */
json_t *record_job_manifest(const struct record_paths *paths, const json_t *own);
bool record_is_rank_file(const char *name);

/* ---- cpu_counters.c --------------------------------------------------------------------------------------------- */

struct record_cpu_counter {
    const char *name;
    uint32_t type;           /* of perf_event_open, */
    uint64_t config;         /* as this */
    uint64_t period, least;  /* a sample each so many: unless the user says another, and at least */
};
extern const struct record_cpu_counter record_cpu_counters[]; /* the last one has no name */
/* Can it be had on this machine, for this user? 0, or an errno. */
int record_cpu_counter_try(const struct record_cpu_counter *counter);
/* "default,page-faults@100", as the agent reads it. False, with a message. */
bool record_cpu_counters_read(const char *given, char *out, size_t size);

void record_now(struct record_times *times);
uint64_t record_clock_ns(void); /* CLOCK_MONOTONIC_RAW */

/* A write beyond the limit of a file's size (ulimit -f) fails in record and ends the program, as it would
 * without record. begin: before the first write; end: when all is written. */
void record_file_limit_begin(void);
void record_file_limit_end(void);
/* With --last SIGUSR1 is for record: it does nothing before the program runs, nor, to the end of record's process, when it has ended: who asks may be late
 * (monitor/recorders.h). The program has the disposition that record had, by the second function. */
void record_signal_begin(void);
void record_signal_restore(void);
/* --last of a program that runs already (--pid): from now on SIGUSR1 is kept until it is asked whether it came. */
void record_signal_await(void);
bool record_signal_came(void);

/* The manifest as it is known before the program starts, and then what is known after it. `environment`, `folder`: of the program. */
json_t *record_manifest_begin(const struct record_options *options, const struct record_paths *paths, int argc, char **argv,
                              char **environment, const char *folder, const struct record_times *start);
/* May the manifest keep this "NAME=value"? */
bool record_variable_is_kept(const char *entry);
void record_manifest_end(json_t *manifest, const struct record_result *result);
void record_manifest_timings(json_t *manifest, const struct record_timings *timings);
/* Give each argument to `put` as it may be stored: all of it, NAME=*** or ***. `patterns` NULL: all of all. */
void record_arguments_show(const char *patterns, int argc, char **argv, void (*put)(void *user, const char *text), void *user);
int record_manifest_write(const json_t *manifest, const char *output, struct sonde_diag *diag);

/* ---- last.c: what --last has of a program that still runs ---------------------------------------------------- */

struct record_last {
    const struct record_options *options;
    const struct record_paths *paths;
    const json_t *manifest;   /* as it is known before the program's end */
    struct record_times start;
    pid_t writer;             /* a child that writes a measurement; 0 none */
    uint64_t done, since_ns;  /* operations that had ended when it was looked last, and since when it is so many */
    bool written;             /* since then, of itself */
    struct sonde_recorder announced;
    int announced_fd;         /* negative: it is not */
};
/* Lets monitors ask for it; says why where that cannot be. */
void record_last_begin(struct record_last *last);
/* --last-when-idle: how long to wait until it is looked again; 0: for nothing but signals. And that: writes one if no operation has ended for so long. */
uint64_t record_last_pause(const struct record_last *last);
void record_last_look(struct record_last *last, pid_t program);
/* Begins to write one, of the name with the next free number. False, with a message: not now. */
bool record_last_take(struct record_last *last, pid_t program);
/* Takes that back, and waits until what was asked for is written. */
void record_last_end(struct record_last *last);

/* Start the program and wait for its end. `environment` NULL: our own. `last`: SIGUSR1 asks for what --last has; NULL: it is passed on, as others are. */
int record_run(const char *path, char **argv, char **environment, struct record_last *last,
               struct record_result *result, struct sonde_diag *diag);

/* Become the program, as a shell would. Returns errno: it cannot be executed. */
int record_exec(const char *path, char **argv, char **environment);
/* What to say of that errno, and the exit status. */
int record_exec_failed(const char *path, int why, struct sonde_diag *diag);

/* Become a program that announces itself (monitor/announced.h). Returns the exit status, after a message, where that cannot be. */
int record_light(const struct record_options *options, struct record_paths *paths, char **argv);

/* Print what record_light sets in the environment, as lines NAME=VALUE that shells and systemd read. Returns the exit status, after a message. */
int record_light_print(const struct record_options *options, struct record_paths *paths);

/* Record a program that runs already, and leave it. Returns the exit status. */
int record_attach(const struct record_options *options, struct record_paths *paths);

/* Seal, resolve symbols, write the manifest, say the line; removes the folder
 * when nothing was recorded. True when a measurement is left. `timings` has before_ns and gets the rest. */
bool record_finish(const struct record_options *options, const struct record_paths *paths,
                   json_t *manifest, const struct record_result *result, struct record_timings *timings);

/* Paired runs; returns the exit status. */
int record_calibrate(const struct record_options *options, struct record_paths *paths, int argc, char **argv);

/* One recorded run from folder to final line. Returns 0, or the exit status after a message. */
int record_once(const struct record_options *options, struct record_paths *paths, int argc, char **argv,
                struct record_result *result);

#endif

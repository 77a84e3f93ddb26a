/* record.c - `sonde record`: runs a program and writes a measurement of it. */
#include "record.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmds/command.h"

#define AT(field) offsetof(struct record_options, field)

const char *const record_api_names[] = {"work", "all", NULL};
const char *const record_values_names[] = {"off", "coarse", "fine", "all", NULL};
const char *const record_comm_names[] = {"copies", "kernels", "all", NULL};
const char *const record_engine_names[] = {"auto", "sanitizer", NULL};
const char *const record_graph_names[] = {"node", "graph", NULL};

/* clang-format off */
static const struct sonde_option options[] = {
    {.name = "trace", .type = SONDE_OPTION_FLAG, .offset = AT(mode), .value = RECORD_TRACE,
     .help = "record every operation with its times (default)"},
    {.name = "profile", .type = SONDE_OPTION_FLAG, .offset = AT(mode), .value = RECORD_PROFILE,
     .help = "record sums per call path only: memory and disk stay bounded for any run length"},
    {.name = "light", .type = SONDE_OPTION_FLAG, .offset = AT(mode), .value = RECORD_LIGHT,
     .help = "no measurement: announce the program to `sonde monitor` and `sonde top`, with sums by device and kernel; --output is the "
             "folder of announced programs (default: /dev/shm/sonde-UID)"},
    {.name = "environment", .type = SONDE_OPTION_FLAG, .offset = AT(environment),
     .help = "with --light and without a program: print the environment variables that make programs announce themselves, one a line"},
    {.name = "cpu", .type = SONDE_OPTION_INT, .argument = "HZ", .offset = AT(cpu_hz), .low = 0, .high = 10000,
     .help = "sampling rate of the CPU side: call path samples per second of CPU time of each thread (default: 199; 0: off)"},
    {.name = "values", .type = SONDE_OPTION_CHOICE, .argument = "MODE", .offset = AT(values), .choices = record_values_names, .otherwise = "coarse",
     .help = "look for wasted values, for `sonde report DIR values`; coarse (default): compare what each operation writes with "
             "what was there; fine: what the accesses of kernels read and write; all: both"},
    {.name = "values-engine", .type = SONDE_OPTION_CHOICE, .argument = "ENGINE", .offset = AT(engine), .choices = record_engine_names,
     .help = "--values=fine: how kernels are looked at; auto (default): in instrumented copies of those whose code is known; sanitizer: "
             "CUDA kernels that are machine code only (libraries), with Compute Sanitizer; slow, and without device times"},
    {.name = "values-memory", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(values_bytes),
     .help = "device memory that --values may take (default: a quarter of the device's)"},
    {.name = "values-host-memory", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(values_host_bytes),
     .help = "memory of the host that --values may take for copies for which the device has no room: they are compared over the bus "
             "(default: a quarter of what is available; 0: none)"},
    {.name = "values-sample", .type = SONDE_OPTION_STRING, .argument = "N[/M]", .offset = AT(values_sample),
     .help = "--values: of each kernel, by calling context and launch size, only the first N launches, or the first N of each M "
             "(default: all; 1/20 with --values-engine=sanitizer)"},
    {.name = "values-blocks", .type = SONDE_OPTION_STRING, .argument = "1/M", .offset = AT(values_every),
     .help = "--values=fine, all: in the launches that are looked at, only one of each M blocks of a kernel, or work-groups; the others run its own code. "
             "Shares are estimates then, with an interval (default: all)"},
    {.name = "comm", .type = SONDE_OPTION_CHOICE, .argument = "WHAT", .offset = AT(comm), .choices = record_comm_names, .otherwise = "all",
     .help = "what `sonde report DIR comm` knows: copies, which needs nothing (copies); also the loads, stores and atomics of kernels (CUDA, and OpenCL on CPUs) to memory "
             "of other devices and of the host (kernels, all; all is the default of --comm)"},
    {.name = "comm-engine", .type = SONDE_OPTION_CHOICE, .argument = "ENGINE", .offset = AT(comm_engine), .choices = record_engine_names,
     .help = "--comm: how kernels are looked at; auto (default): in instrumented copies of those whose code is known; sanitizer: all that is machine code "
             "(NCCL and other libraries), with Compute Sanitizer; slow, and without device times"},
    {.name = "comm-sample", .type = SONDE_OPTION_STRING, .argument = "N[/M]", .offset = AT(comm_sample),
     .help = "--comm: of each kernel, by calling context and launch size, only the first N launches, or the first N of each M (default: all; 1/20 with "
             "--comm-engine=sanitizer)"},
    {.name = "comm-elements", .type = SONDE_OPTION_INT, .argument = "CELLS", .offset = AT(comm_cells), .low = 64, .high = 1 << 24, .otherwise = "65536",
     .help = "--comm: also which elements of each data object kernels access, for `sonde report DIR comm --by element`: in cells of four bytes, or of as many as leave "
             "CELLS of an allocation (default: 65536)"},
    {.name = "counters", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(counters),
     .help = "what the hardware counts for each launch of a CUDA kernel, for `sonde report DIR counters`: sets (default, memory, compute, roofline, nvlink, "
             "pcie) and metrics of CUPTI, separated by commas. Kernels then run one after the other, each takes milliseconds more, and has no "
             "device times"},
    {.name = "cpu-counters", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(cpu_counters),
     .help = "what the CPU counts in the program's threads, by calling context, for `sonde report DIR counters`: default (instructions, cycles, "
             "cache-misses and branch-misses; minor-faults and major-faults where the hardware has none), or names of perf's, separated by commas; NAME@N takes a sample "
             "each N (minor-faults@100). `sonde doctor` says what this machine has"},
    {.name = "counter-series", .type = SONDE_OPTION_DURATION, .argument = "INTERVAL", .offset = AT(series_ns),
     .help = "what the hardware of each device that the program uses counts over time, every INTERVAL (1ms, 100us), for `sonde report DIR "
             "counters`, beside kernels that run as they do without it; --counters names other metrics than the default's"},
    {.name = "replay", .type = SONDE_OPTION_FLAG, .offset = AT(replay),
     .help = "--counters: metrics that the hardware cannot count at once are allowed; each kernel is then run again with what it had read and written "
             "put back, as often as it takes"},
    {.name = "pc", .type = SONDE_OPTION_INT, .argument = "CYCLES", .offset = AT(pc_cycles), .low = 32, .high = INT32_MAX, .otherwise = "262144",
     .help = "where warps of CUDA kernels are and why they wait, for `sonde report DIR stalls`: each multiprocessor notes an instruction of one every "
             "CYCLES (a power of two; default: 262144), beside kernels that run as they do without it"},
    {.name = "kernel", .type = SONDE_OPTION_STRING, .argument = "PATTERN", .offset = AT(values_kernel),
     .help = "--values, --comm: only kernels whose names in the code match; one or more shell patterns, separated by commas (read_*,*gemm*)"},
    {.name = "output", .letter = 'o', .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = AT(output),
     .help = "folder to write (default: PROGRAM.sonde, with a number appended if it exists). In a parallel job all ranks write into one; "
             "with %{rank}, which is replaced by the rank, each into its own"},
    {.name = "force", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = AT(force),
     .help = "replace DIR if it is a Sonde measurement that is not being written"},
    {.name = "quiet", .letter = 'q', .type = SONDE_OPTION_FLAG, .offset = AT(quiet),
     .help = "do not print progress and the final summary line"},
    {.name = "delay", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(delay_ns),
     .help = "start recording after TIME (500ms, 10s, 2m)"},
    {.name = "duration", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(duration_ns),
     .help = "stop recording after TIME; the program keeps running"},
    {.name = "pid", .type = SONDE_OPTION_INT, .argument = "PID", .offset = AT(pid), .low = 1, .high = INT32_MAX,
     .help = "record the process PID, which runs already, for --duration or until Ctrl-C, and leave it as it was (see docs/attach.md)"},
    {.name = "last", .type = SONDE_OPTION_DURATION, .argument = "DURATION", .offset = AT(last_ns),
     .help = "keep the last DURATION alone (30s), in --memory and not on disk: what was before the program's end, however it ended. kill -USR1 of record's "
             "process writes what is there at any time, as NAME-1.sonde, NAME-2.sonde …"},
    {.name = "last-when-idle", .type = SONDE_OPTION_DURATION, .argument = "DURATION", .offset = AT(last_idle_ns),
     .help = "--last: also write it when no operation has ended for DURATION (10s), once each time: a hang, seen from just before it"},
    {.name = "folder", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = AT(folder),
     .help = "--last: folder of announced programs, where `sonde monitor` finds it and may ask for it (default: /dev/shm/sonde-UID)"},
    {.name = "max-size", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(max_size_bytes),
     .help = "stop the trace of a process when it has written SIZE (64M, 2G); its profile continues"},
    {.name = "start-off", .type = SONDE_OPTION_FLAG, .offset = AT(start_off),
     .help = "do not record until the program calls sonde_start() from <sonde/sonde.h>"},
    {.name = "capture-range", .type = SONDE_OPTION_STRING, .argument = "RANGE", .offset = AT(capture),
     .help = "record only between cudaProfilerStart() and cudaProfilerStop() (cuda), or inside NVTX ranges called NAME (nvtx:NAME)"},
    {.name = "api", .type = SONDE_OPTION_CHOICE, .argument = "CALLS", .offset = AT(api), .choices = record_api_names,
     .help = "CUDA API calls to record: those that enqueue work, wait or allocate (work, default), or all, at more overhead"},
    {.name = "graph", .type = SONDE_OPTION_CHOICE, .argument = "LEVEL", .offset = AT(graph),
     .choices = record_graph_names,
     .help = "CUDA graphs: record each node as an operation (node, default), or each launch as one operation (graph)"},
    {.name = "memory", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(memory_bytes),
     .low = 8 << 20, .help = "Sonde's memory budget in each process (default: 256M, with --light 16M; at least 8M)"},
    {.name = "streams-per-thread", .type = SONDE_OPTION_INT, .argument = "N", .offset = AT(streams_per_thread),
     .low = 1, .high = 65536, .help = "lanes written by one tracing thread (default: 256)"},
    {.name = "calibrate", .type = SONDE_OPTION_FLAG, .offset = AT(calibrate),
     .help = "run the program repeatedly with and without Sonde and print the slowdown"},
    {.name = "pairs", .type = SONDE_OPTION_INT, .argument = "N", .offset = AT(pairs), .low = 2, .high = 10000,
     .help = "pairs of runs for --calibrate (default: 10)"},
    {.name = "no-preload", .type = SONDE_OPTION_FLAG, .offset = AT(no_preload),
     .help = "do not preload libsonde-preload.so; _exit and OpenCL loaders without layer support are then "
             "missed"},
    {.name = "no-python", .type = SONDE_OPTION_FLAG, .offset = AT(no_python),
     .help = "native frames only, no Python functions in call paths"},
    {.name = "no-command-line", .type = SONDE_OPTION_FLAG, .offset = AT(no_command_line),
     .help = "store the program's name without its arguments, which may contain secrets"},
    {.name = "hide-arguments", .type = SONDE_OPTION_STRING, .argument = "PATTERN", .offset = AT(hide_arguments),
     .help = "store *** instead of the values of options whose names match PATTERN, and of whole arguments that match; one or more "
             "shell patterns, separated by commas (password,*token*)"},
    {.name = "check", .type = SONDE_OPTION_FLAG, .offset = AT(check),
     .help = "check every stack against a full unwind; slow, for testing Sonde"},
    {0},
};
/* clang-format on */

static const struct record_options defaults = {
    .mode = RECORD_TRACE,
    .streams_per_thread = 256,
    .cpu_hz = 199,
    .values_host_bytes = RECORD_HOST_QUARTER,
    .pairs = 10,
};

static const struct sonde_example examples[] = {
    {"sonde record -- ./heat 2048 500", "Record a program; then: sonde report heat.sonde"},
    {"sonde record -o run.sonde python3 train.py", "The -- is optional unless the program's name begins with a dash."},
    {"sonde record --profile --delay 30s --duration 1m -- ./server", "One minute of a long run, sums only."},
    {"sonde record -- mpirun -n 4 ./heat", "All ranks on one host in one measurement, each process with its rank."},
    {"mpirun -n 64 sonde record -o heat.sonde -- ./heat", "The same on several hosts that share the folder's file system."},
    {"mpirun -n 64 sonde record -o heat-%{rank}.sonde -- ./heat", "One measurement per rank."},
    {"sonde record --pid 4711 --duration 10s", "Ten seconds of a program that runs already, which goes on afterwards."},
    {"sonde record --pid 4711 --last 30s --last-when-idle 1m", "Of a program that runs already, the last seconds before it hangs or ends."},
    {"sonde record --light -- ./server", "Runs as long as it likes; look at it with: sonde top"},
    {"sonde record --hide-arguments 'password,*token*' -- ./fetch --password=x --api-token y", "Stored: ./fetch --password=*** --api-token ***"},
    {"sonde record --calibrate --pairs 20 -- ./heat 512 100", "Measure the slowdown under Sonde."},
    {0},
};

/* When record began, 0 unknown. The clock of the CPU time began when the process did: what came before
 * main, loading our libraries mostly, took at least that long. */
static uint64_t began_ns;

static void note_begin(void)
{
    struct timespec cpu;
    const bool known = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0;
    began_ns = record_clock_ns() - (known ? (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec : 0);
}

/* ---- one run ----------------------------------------------------------------------- */

/* Somebody removed or renamed the folder: what is at its place, if anything, is
 * not ours to seal. A program that succeeded does not make this a success. */
static int lost(const struct record_paths *paths, const struct record_result *result)
{
    sonde_say("the measurement %s is gone: it was removed or renamed while the program ran", paths->shown);
    return WIFEXITED(result->wait_status) && WEXITSTATUS(result->wait_status) == 0 ? RECORD_EXIT_FAILED : 0;
}

static int any_process(void *user, const char *path, const char *name)
{
    (void)user, (void)path, (void)name;
    return 1;
}

int record_once(const struct record_options *o, struct record_paths *paths, int argc, char **argv,
                struct record_result *result)
{
    struct sonde_diag diag = {0};
    int status = RECORD_EXIT_FAILED;
    json_t *manifest = NULL;
    char **environment = NULL;
    struct record_links *links;
    struct record_timings timings = {0};
    char folder[PATH_MAX];
    const uint64_t begin_ns = began_ns ? began_ns : record_clock_ns();
    began_ns = 0; /* of the first run only */
    record_file_limit_begin();
    if (o->last_ns)
        record_signal_begin();
    if (record_output_make(o, argv[0], paths, &diag) != SONDE_OK)
        goto say;
    record_now(&result->start);
    manifest = record_manifest_begin(o, paths, argc, argv, environ, getcwd(folder, sizeof folder), &result->start);
    environment = record_environment(o, paths);
    if (!manifest || !environment) {
        sonde_diag_set(&diag, SONDE_ENOMEM, NULL, "out of memory");
        goto discard;
    }
    if (!paths->joined && record_manifest_write(manifest, paths->output, &diag) != SONDE_OK)
        goto discard;
    links = o->comm ? record_links_begin() : NULL;
    struct record_last last = {.options = o, .paths = paths, .manifest = manifest, .start = result->start};
    const bool ran = record_run(paths->program, argv, environment, o->last_ns ? &last : NULL, result, &diag) == SONDE_OK;
    record_links_end(links, manifest);
    if (!ran) {
        status = result->exec_status;
        goto discard;
    }
    status = 0;
    timings.before_ns = result->start.monotonic_raw_ns - begin_ns;
    if (!record_output_is_there(paths)) {
        status = lost(paths, result);
        paths->output[0] = 0;
    } else if (!record_finish(o, paths, manifest, result, &timings))
        paths->output[0] = 0;
    goto out;

discard:
    if (*paths->job && (!record_job_is_last(paths) || record_each_process(paths->output, any_process, NULL)))
        goto say; /* other ranks have begun */
    struct sonde_diag unused;
    if (record_output_remove(paths->output, &unused) != SONDE_OK)
        rmdir(paths->output);
say:
    sonde_say_diag(&diag);
out:
    record_file_limit_end();
    record_output_release(paths);
    record_environment_free(environment);
    json_decref(manifest);
    return status;
}

/* End as the program ended, so that whoever started us sees the same. A core
 * file of ours would only hide the program's own. */
static int end_like(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    sigset_t only;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_DUMPABLE, 0);
    fflush(NULL);
    sigaction(number, &standard, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    return 128 + number; /* only when the signal does not end a process here */
}

/* A launch takes 20 times as long through Compute Sanitizer, and more: all of them are looked at only when that is asked for (1/1). */
#define SAMPLE_OF_SANITIZER "1/20"

/* "3", "1/20". */
static bool read_sample(struct record_options *o)
{
    char *end;
    const char *of, *sample = o->comm_sample ? o->comm_sample : o->values_sample;
    if (!sample && o->engine)
        sample = o->values_sample = SAMPLE_OF_SANITIZER;
    if (!sample && o->comm_engine)
        sample = o->comm_sample = SAMPLE_OF_SANITIZER;
    if (!sample)
        return true;
    o->values_first = isdigit((unsigned char)*sample) ? strtoull(sample, &end, 10) : 0;
    if (!o->values_first || !*end)
        return o->values_first;
    of = end + 1;
    o->values_of = *end == '/' && isdigit((unsigned char)*of) ? strtoull(of, &end, 10) : 0;
    return o->values_of >= o->values_first && !*end;
}

#define BLOCKS_MOST 1000000000u

/* "1/64". */
static bool read_blocks(struct record_options *o)
{
    char *end = NULL;
    const char *text = o->values_every;
    if (!text)
        return true;
    if (strncmp(text, "1/", 2) == 0 && isdigit((unsigned char)text[2]))
        o->values_blocks = strtoull(text + 2, &end, 10);
    return end && !*end && o->values_blocks && o->values_blocks <= BLOCKS_MOST;
}

/* What is looked at within kernels, and how. False, with a message: the options do not go together. */
static bool check_looks(struct record_options *o)
{
    const bool sanitizer = o->engine, fine = strcmp(record_values_names[o->values], "fine") == 0;
    if (!read_sample(o))
        sonde_say("--%s-sample must be N or N/M, with N at least 1 and M at least N, not '%s'", o->comm_sample ? "comm" : "values",
                  o->comm_sample ? o->comm_sample : o->values_sample);
    else if (!read_blocks(o))
        sonde_say("--values-blocks must be 1/M, with M from 1 to %u, not '%s'", BLOCKS_MOST, o->values_every);
    else if (o->values_blocks && !fine && strcmp(record_values_names[o->values], "all") != 0)
        sonde_say("--values-blocks is for --values=fine and --values=all: what operations leave unchanged is compared for all blocks");
    else if (o->values_blocks && sanitizer)
        sonde_say("--values-blocks is not for --values-engine=sanitizer, whose patches are in all blocks");
    else if (o->comm && o->values)
        sonde_say("--comm=%s and --values each put code of their own into kernels: record twice", record_comm_names[o->comm]);
    else if (o->comm_sample && !o->comm)
        sonde_say("--comm-sample is for --comm=kernels and --comm=all");
    else if (o->comm_engine && (!o->comm || strcmp(record_api_names[o->api], "work") != 0))
        sonde_say("--comm-engine=sanitizer is for --comm=kernels and --comm=all, without --api all");
    else if (o->comm_cells && !o->comm)
        sonde_say("--comm-elements is for --comm=kernels and --comm=all");
    else if (o->counters && !o->series_ns && (o->comm || o->values))
        sonde_say("--counters and --%s each take hold of kernels: record twice", o->comm ? "comm" : "values");
    else if (o->counters && (!*o->counters || strlen(o->counters) >= RECORD_COUNTERS_MAX))
        sonde_say("--counters takes sets and metrics, %d characters at most", RECORD_COUNTERS_MAX - 1);
    else if (o->replay && (!o->counters || o->series_ns))
        sonde_say("--replay is for --counters without --counter-series");
    else if (o->series_ns && (o->series_ns < RECORD_SERIES_LEAST_NS || o->series_ns > RECORD_SERIES_MOST_NS))
        sonde_say("--counter-series takes an interval from 20us to 1s");
    else if (o->series_ns && (o->mode == RECORD_PROFILE || o->pid))
        sonde_say("--counter-series is part of a trace from the program's start: without --profile and --pid");
    else if (o->last_ns && (o->last_ns < RECORD_LAST_LEAST_NS || o->mode != RECORD_TRACE || o->max_size_bytes))
        sonde_say("--last is part of a trace, at least 100 ms: without --profile, --light and --max-size");
    else if (o->last_ns && (o->values || o->comm || (o->counters && !o->series_ns) || o->cpu_counters || o->pc_cycles))
        sonde_say("--last keeps operations, calls and samples: without --%s, whose sums are of the whole run", o->values         ? "values"
                                                                                                               : o->comm         ? "comm"
                                                                                                               : o->cpu_counters ? "cpu-counters"
                                                                                                               : o->counters     ? "counters"
                                                                                                                                 : "pc");
    else if (o->last_idle_ns && (!o->last_ns || o->last_idle_ns < RECORD_LAST_LEAST_NS))
        sonde_say("--last-when-idle is for --last, and takes at least 100 ms");
    else if (o->folder && !o->last_ns)
        sonde_say("--folder is for --last");
    else if (o->pc_cycles & (o->pc_cycles - 1))
        sonde_say("--pc takes a power of two, not %lld", (long long)o->pc_cycles);
    else if (o->pc_cycles && (o->values || o->comm || o->counters || o->series_ns))
        sonde_say("--pc and --%s each take hold of kernels or of the device's counters: record twice",
                  o->values ? "values" : o->comm   ? "comm"
                                     : o->counters ? "counters"
                                                   : "counter-series");
    else if (o->pc_cycles && (o->pid || o->start_off || o->capture || o->delay_ns || o->duration_ns))
        sonde_say("--pc samples the whole run: without --%s", o->pid         ? "pid"
                                                              : o->start_off ? "start-off"
                                                              : o->capture   ? "capture-range"
                                                              : o->delay_ns  ? "delay"
                                                                             : "duration");
    else if (!o->values && o->values_sample)
        sonde_say("--values-sample is for --values");
    else if (!o->values && !o->comm && o->values_kernel)
        sonde_say("--kernel is for --values and --comm");
    else if (sanitizer && (!fine || strcmp(record_api_names[o->api], "work") != 0))
        sonde_say("--values-engine=sanitizer is for --values=fine, without --api all");
    else if (o->values_kernel && strlen(o->values_kernel) >= RECORD_KERNEL_MAX)
        sonde_say("--kernel is too long: %d characters are the most", RECORD_KERNEL_MAX - 1);
    else
        return true;
    return false;
}

static int run(const void *values, int argc, char **argv)
{
    struct record_options given = *(const struct record_options *)values;
    const struct record_options *o = &given;
    struct sonde_diag diag = {0};
    struct record_result result = {0};
    note_begin();
    if (o->environment && (argc || o->pid || o->mode != RECORD_LIGHT))
        return sonde_say_usage(&sonde_command_record, "--environment is for --light, and goes without a program");
    if (!o->environment && !o->pid == !argc)
        return sonde_say_usage(&sonde_command_record, o->pid ? "--pid goes without a program, not '%s'" : "missing argument; usage: sonde record %s",
                               o->pid ? argv[0] : sonde_command_record.usage);
    if (o->capture && strcmp(o->capture, "cuda") != 0 && strncmp(o->capture, "nvtx:", 5) != 0) {
        sonde_say("--capture-range must be cuda or nvtx:NAME, not '%s'", o->capture);
        return SONDE_EXIT_USAGE;
    }
    if (!check_looks(&given) || (o->cpu_counters && !record_cpu_counters_read(o->cpu_counters, given.cpu_counter_list, sizeof given.cpu_counter_list)))
        return SONDE_EXIT_USAGE;
    if (!o->memory_bytes)
        given.memory_bytes = o->mode == RECORD_LIGHT ? 16u << 20 : 256u << 20;
    if (o->mode == RECORD_LIGHT && (o->calibrate || o->values || o->comm || o->counters || o->cpu_counters || o->series_ns || o->pc_cycles || o->force)) {
        sonde_say("--light goes without %s", o->calibrate                    ? "--calibrate"
                                             : o->values                     ? "--values"
                                             : o->comm                       ? "--comm"
                                             : (o->counters || o->series_ns) ? "--counters"
                                             : o->cpu_counters               ? "--cpu-counters"
                                             : o->pc_cycles                  ? "--pc"
                                                                             : "--force");
        return SONDE_EXIT_USAGE;
    }
    struct record_paths *paths = calloc(1, sizeof *paths);
    if (!paths) {
        sonde_say("out of memory");
        return RECORD_EXIT_FAILED;
    }
    int status = o->pid || o->environment ? 0 : record_find_program(argv[0], paths->program, sizeof paths->program, &diag);
    if (!status && record_find_libraries(paths, &diag) != SONDE_OK)
        status = RECORD_EXIT_FAILED;
    if (status) {
        sonde_say_diag(&diag);
    } else if (o->pid) {
        status = record_attach(o, paths);
    } else if (o->environment) {
        status = record_light_print(o, paths);
    } else if (o->mode == RECORD_LIGHT) {
        status = record_light(o, paths, argv);
    } else if (o->calibrate) {
        status = record_calibrate(o, paths, argc, argv);
    } else {
        status = record_once(o, paths, argc, argv, &result);
        if (!status)
            status = end_like(result.wait_status);
    }
    free(paths);
    return status;
}

const struct sonde_command sonde_command_record = {
    .name = "record",
    .summary = "run a program and record what it does on the GPU",
    .usage = "[OPTION...] [--] PROGRAM [ARG...] | --pid PID",
    .description =
        "Runs PROGRAM, unmodified, and records its GPU operations, their times and the call paths that "
        "enqueued them into a folder, the measurement. Input, output, signals and job control work as without "
        "Sonde; child processes are recorded too, each in its own folder inside the measurement.",
    .notes =
        "The exit status is the program's; if a signal terminated the program, the same signal terminates record. "
        "125: record itself failed: nothing was run, or the program succeeded but its measurement was removed "
        "or renamed. 126: the program could not be executed. 127: it was "
        "not found. 2: invalid command line.\n\n"
        "With --pid no program is started: the process goes on when recording ends, and the exit status is 0. How the agent gets into "
        "it, what the kernel must allow and what is not recorded then is in docs/attach.md.\n\n"
        "Processes that outlive the program are not waited for; their part of the measurement stays "
        "readable and complete.\n\n"
        "Only its owner can read a measurement. Of the environment it stores a fixed list of variables "
        "that affect GPU programs (CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS ...), and no others. It stores the whole command "
        "line, unless --hide-arguments or --no-command-line is given: --password=X and TOKEN=X "
        "are stored as --password=*** and TOKEN=*** if a pattern matches the name, --password X as --password ***, "
        "and both words of -p X or -pX are hidden if the pattern has a wildcard (p*), since the value may be part of the "
        "first. Case is ignored. An argument with spaces, as for sh -c, is stored as *** if any of its words would be hidden. "
        "Variables that begin with SONDE_ are set by record itself; use its options instead.",
    .options = options,
    .examples = examples,
    .options_bytes = sizeof(struct record_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_PROGRAM,
    .operands_min = 0,
    .operands_max = -1,
    .signals = true,
    .run = run,
};

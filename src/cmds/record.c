/* record.c - `sonde record`: runs a program and writes a measurement of it. */
#include "record.h"

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

#include "command.h"

#define AT(field) offsetof(struct record_options, field)

const char *const record_api_names[] = {"work", "all", NULL};
const char *const record_graph_names[] = {"node", "graph", NULL};

static const struct sonde_option options[] = {
    {.name = "trace", .type = SONDE_OPTION_FLAG, .offset = AT(mode), .value = RECORD_TRACE,
     .help = "keep each operation with its times (default)"},
    {.name = "profile", .type = SONDE_OPTION_FLAG, .offset = AT(mode), .value = RECORD_PROFILE,
     .help = "keep sums per calling context only: bounded memory and disk for any run length"},
    {.name = "cpu", .type = SONDE_OPTION_INT, .argument = "HZ", .offset = AT(cpu_hz), .low = 0, .high = 10000,
     .help = "samples of the calling context per second of a thread's CPU time, of every thread (default: 199; 0: none)"},
    {.name = "output", .letter = 'o', .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = AT(output),
     .help = "folder to write (default: PROGRAM.sonde); when it exists, a new number is added; %{rank} in it stands for "
             "the rank of a parallel job"},
    {.name = "force", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = AT(force),
     .help = "replace DIR when it is a Sonde measurement that nobody is writing"},
    {.name = "quiet", .letter = 'q', .type = SONDE_OPTION_FLAG, .offset = AT(quiet),
     .help = "leave out progress and the line at the end"},
    {.name = "delay", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(delay_ns),
     .help = "begin recording after TIME (500ms, 10s, 2m)"},
    {.name = "duration", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(duration_ns),
     .help = "end recording after TIME; the program runs on"},
    {.name = "max-size", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(max_size_bytes),
     .help = "stop tracing when a process has written SIZE (64M, 2G); the profile goes on"},
    {.name = "start-off", .type = SONDE_OPTION_FLAG, .offset = AT(start_off),
     .help = "record nothing until the program calls sonde_start() of <sonde/sonde.h>"},
    {.name = "capture-range", .type = SONDE_OPTION_STRING, .argument = "RANGE", .offset = AT(capture),
     .help = "record only between cudaProfilerStart() and cudaProfilerStop() (cuda), or in NVTX ranges of a name (nvtx:NAME)"},
    {.name = "api", .type = SONDE_OPTION_CHOICE, .argument = "CALLS", .offset = AT(api), .choices = record_api_names,
     .help = "CUDA calls to follow: those that make work, wait or allocate (work, default), or all, which costs more"},
    {.name = "graph", .type = SONDE_OPTION_CHOICE, .argument = "LEVEL", .offset = AT(graph),
     .choices = record_graph_names,
     .help = "CUDA graphs: each node of a launch is an operation (node, default), or the whole launch is one (graph)"},
    {.name = "memory", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(memory_bytes),
     .low = 8 << 20, .help = "memory budget of Sonde in each process (default: 256M, at least 8M)"},
    {.name = "streams-per-thread", .type = SONDE_OPTION_INT, .argument = "N", .offset = AT(streams_per_thread),
     .low = 1, .high = 65536, .help = "time lines that one tracing thread writes (default: 256)"},
    {.name = "calibrate", .type = SONDE_OPTION_FLAG, .offset = AT(calibrate),
     .help = "run the program several times with and without Sonde and print the slowdown"},
    {.name = "pairs", .type = SONDE_OPTION_INT, .argument = "N", .offset = AT(pairs), .low = 2, .high = 10000,
     .help = "pairs of runs for --calibrate (default: 10)"},
    {.name = "no-preload", .type = SONDE_OPTION_FLAG, .offset = AT(no_preload),
     .help = "do not preload our small library; the end of a program that calls _exit, and loaders without "
             "layers, are then not seen"},
    {.name = "no-python", .type = SONDE_OPTION_FLAG, .offset = AT(no_python),
     .help = "calling contexts of native frames only: Python's functions are left out"},
    {.name = "no-command-line", .type = SONDE_OPTION_FLAG, .offset = AT(no_command_line),
     .help = "store the program's name only, without its arguments, which may hold secrets"},
    {.name = "hide-arguments", .type = SONDE_OPTION_STRING, .argument = "PATTERN", .offset = AT(hide_arguments),
     .help = "store *** for the values of the program's options whose names match PATTERN, and for whole arguments "
             "that match it; a shell pattern, or several with commas between (password,*token*)"},
    {.name = "check", .type = SONDE_OPTION_FLAG, .offset = AT(check),
     .help = "check every stack against a full walk; slow, for testing Sonde"},
    {0},
};

static const struct record_options defaults = {
    .mode = RECORD_TRACE,
    .memory_bytes = 256u << 20,
    .streams_per_thread = 256,
    .cpu_hz = 199,
    .pairs = 10,
};

static const struct sonde_example examples[] = {
    {"sonde record -- ./heat 2048 500", "Record a program; then: sonde report heat.sonde"},
    {"sonde record -o run.sonde python3 train.py", "The -- may be left out when the program's name does not begin with a dash."},
    {"sonde record --profile --delay 30s --duration 1m -- ./server", "A minute of a long run, sums only."},
    {"sonde record -- mpirun -n 4 ./heat", "All ranks of one host in one measurement, each process with its rank."},
    {"mpirun -n 64 sonde record -o heat-%{rank}.sonde -- ./heat", "One measurement for each rank, over several hosts."},
    {"sonde record --hide-arguments 'password,*token*' -- ./fetch --password=x --api-token y", "Stored: ./fetch --password=*** --api-token ***"},
    {"sonde record --calibrate --pairs 20 -- ./heat 512 100", "How much slower is it under Sonde?"},
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
    sonde_say("the measurement %s is not there any more: it was removed or renamed while the program ran", paths->shown);
    return WIFEXITED(result->wait_status) && WEXITSTATUS(result->wait_status) == 0 ? RECORD_EXIT_FAILED : 0;
}

int record_once(const struct record_options *o, struct record_paths *paths, int argc, char **argv,
                struct record_result *result)
{
    struct sonde_diag diag = {0};
    int status = RECORD_EXIT_FAILED;
    json_t *manifest = NULL;
    char **environment = NULL;
    struct record_timings timings = {0};
    const uint64_t begin_ns = began_ns ? began_ns : record_clock_ns();
    began_ns = 0; /* of the first run only */
    record_file_limit_begin();
    if (record_output_make(o, argv[0], paths, &diag) != SONDE_OK)
        goto say;
    record_now(&result->start);
    manifest = record_manifest_begin(o, paths, argc, argv, &result->start);
    environment = record_environment(o, paths);
    if (!manifest || !environment) {
        sonde_diag_set(&diag, SONDE_ENOMEM, NULL, "out of memory");
        goto discard;
    }
    if (record_manifest_write(manifest, paths->output, &diag) != SONDE_OK)
        goto discard;
    if (record_run(paths->program, argv, environment, result, &diag) != SONDE_OK) {
        status = result->exec_errno == ENOENT ? RECORD_EXIT_NOT_FOUND : RECORD_EXIT_NOT_EXECUTABLE;
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
    if (record_output_remove(paths->output, NULL) != SONDE_OK)
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

static int run(const void *values, int argc, char **argv)
{
    const struct record_options *o = values;
    struct sonde_diag diag = {0};
    struct record_result result = {0};
    note_begin();
    if (o->capture && strcmp(o->capture, "cuda") != 0 && strncmp(o->capture, "nvtx:", 5) != 0) {
        sonde_say("--capture-range is cuda or nvtx:NAME, not '%s'", o->capture);
        return SONDE_EXIT_USAGE;
    }
    struct record_paths *paths = calloc(1, sizeof *paths);
    if (!paths) {
        sonde_say("out of memory");
        return RECORD_EXIT_FAILED;
    }
    int status = record_find_program(argv[0], paths->program, sizeof paths->program, &diag);
    if (!status && record_find_libraries(paths, &diag) != SONDE_OK)
        status = RECORD_EXIT_FAILED;
    if (status) {
        sonde_say_diag(&diag);
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
    .usage = "[OPTION...] [--] PROGRAM [ARG...]",
    .description =
        "Runs PROGRAM, unmodified, and writes a measurement of its GPU operations, their times and the "
        "calling contexts that asked for them into a folder. The program's input, output, signals and job "
        "control are its own; processes it starts are recorded too, each in a folder of its own inside "
        "the measurement.",
    .notes =
        "The exit status is the program's; when a signal ended the program, the same signal ends record. "
        "125: record itself failed: nothing was run, or the program succeeded but its measurement was removed "
        "or renamed meanwhile. 126: the program could not be executed. 127: it was "
        "not found. 2: the command line was not understood.\n\n"
        "Processes that outlive the program are not waited for; their part of the measurement stays "
        "readable and complete.\n\n"
        "A measurement can be read by its owner only. Of the environment it keeps the variables of a fixed list "
        "that change how a GPU program runs (CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS ...), and no other. Of the command "
        "line it keeps all, unless --hide-arguments or --no-command-line says otherwise: --password=X and TOKEN=X "
        "are stored as --password=*** and TOKEN=*** where a pattern matches the name, --password X as --password ***, "
        "and of -p X or -pX both words are hidden where the pattern has a wildcard (p*), since it may be part of the "
        "first. Case does not count. An argument with spaces, as of sh -c, is *** when a word of it would be hidden. Variables "
        "that begin with SONDE_ are set by record itself: its options are the way to say them.",
    .options = options,
    .examples = examples,
    .options_bytes = sizeof(struct record_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_PROGRAM,
    .operands_min = 1,
    .operands_max = -1,
    .signals = true,
    .run = run,
};

/* doctor.c - `sonde doctor`: what this machine allows, and the command that allows the rest.
 *
 * The verdict comes from doing it: a probe writes and reads memory of every
 * OpenCL and CUDA device under the agent, and doctor counts what the measurement holds.
 */
#include "doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "analyze/model/totals.h"
#include "base/number.h"
#include "cmds/command.h"
#include "cmds/record/record.h"
#include "format/folder.h"

enum {
    PROBE_SECONDS = 60,
    LITTLE_SPACE = 200 * 1000 * 1000,
};

struct doctor_options {
    int json, probe, color, counters;
    const char *chip;
};

const char *const doctor_work_names[] = {"opencl", "opencl-work", "cuda", "cuda-work", NULL};
static const struct doctor_options defaults = {.probe = DOCTOR_NO_PROBE};

#define AT(field) offsetof(struct doctor_options, field)
/* clang-format off */
static const struct sonde_option options[] = {
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = AT(json), .help = "print one JSON object"},
    {.name = "counters", .type = SONDE_OPTION_FLAG, .offset = AT(counters),
     .help = "instead, list the sets and metrics of `sonde record --counters` that the first CUDA device has, with units and descriptions"},
    {.name = "chip", .type = SONDE_OPTION_STRING, .argument = "NAME", .offset = AT(chip),
     .help = "--counters: of this kind of device (GH100, GA100 ...), which need not be here"},
    {.name = "color", .type = SONDE_OPTION_CHOICE, .argument = "WHEN", .choices = sonde_color_names, .offset = AT(color),
     .help = "auto: on a terminal, unless NO_COLOR is set (the default); always; or never"},
    {.name = "probe", .type = SONDE_OPTION_CHOICE, .argument = "WORK", .offset = AT(probe), .choices = doctor_work_names,
     .hidden = true},
    {0},
};
/* clang-format on */

/* ---- the list of findings ------------------------------------------------------- */

static const char *const finding_names[] = {"ok", "note", "problem"};

void doctor_put(struct doctor *d, const char *name, enum doctor_finding finding, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_t *value = json_string(text);
    json_array_append_new(d->checks, json_pack("{s:s, s:s, s:o}", "name", name, "status", finding_names[finding],
                                               "text", value ? value : json_string("?")));
}

static void put_command(struct doctor *d, bool root, const char *format, va_list args)
{
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", !root || geteuid() == 0 ? "" : "sudo ");
    vsnprintf(text + at, sizeof text - at, format, args);
    json_t *last = json_array_get(d->checks, json_array_size(d->checks) - 1), *value = json_string(text);
    json_object_set_new(last, "fix", value ? value : json_string("?"));
}

void doctor_fix(struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_command(d, true, format, args);
    va_end(args);
}

void doctor_try(struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_command(d, false, format, args);
    va_end(args);
}

/* The package manager's own words; package names differ between families. */
void doctor_package(struct doctor *d, const char *debian, const char *fedora)
{
    if (access("/usr/bin/apt-get", X_OK) == 0)
        doctor_fix(d, "apt-get install %s", debian);
    else if (access("/usr/bin/dnf", X_OK) == 0)
        doctor_fix(d, "dnf install %s", fedora);
    else
        doctor_fix(d, "install the package %s with the system's package manager", debian);
}

/* ---- OpenCL ------------------------------------------------------------------------ */

const char *doctor_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

/* Devices in all, and one finding for each. */
static size_t check_devices(struct doctor *d, const json_t *answer)
{
    size_t devices = 0, index, each;
    json_t *platform, *device;
    json_array_foreach (json_object_get(answer, "platforms"), index, platform) {
        json_t *list = json_object_get(platform, "devices");
        if (json_array_size(list) == 0)
            doctor_put(d, "OpenCL platform", DOCTOR_NOTE, "%s: no device", doctor_text(platform, "name"));
        json_array_foreach (list, each, device) {
            char memory[SONDE_NUMBER_MAX];
            json_int_t bytes = json_integer_value(json_object_get(device, "memory_bytes"));
            doctor_put(d, "OpenCL device", DOCTOR_FINE, "%s (%s, %s) of %s, driver %s", doctor_text(device, "name"),
                       doctor_text(device, "kind"), sonde_number_bytes(memory, (double)bytes), doctor_text(platform, "name"),
                       doctor_text(device, "driver"));
            devices++;
        }
    }
    return devices;
}

static bool has_platform(const json_t *answer, const char *part)
{
    size_t index;
    json_t *platform;
    json_array_foreach (json_object_get(answer, "platforms"), index, platform) {
        if (strstr(doctor_text(platform, "name"), part))
            return true;
    }
    return false;
}

/* How many devices. */
static size_t check_cuda(struct doctor *d, const json_t *answer)
{
    doctor_check_nvidia(d, answer);
    return d->cuda_devices = json_array_size(json_object_get(answer, "cuda_devices"));
}

/* After CUDA: one runtime is enough. */
static size_t check_opencl(struct doctor *d, const json_t *answer)
{
    const bool cuda = d->cuda_devices > 0;
    const enum doctor_finding missing = cuda ? DOCTOR_NOTE : DOCTOR_PROBLEM;
    size_t devices = 0;
    if (json_object_get(answer, "opencl_error")) {
        doctor_put(d, "OpenCL loader", missing, "%s", doctor_text(answer, "opencl_error"));
        doctor_package(d, "ocl-icd-libopencl1", "ocl-icd");
    } else {
        doctor_put(d, "OpenCL loader", DOCTOR_FINE, "%s", doctor_text(answer, "opencl_loader"));
        devices = check_devices(d, answer);
        if (!devices)
            doctor_put(d, "OpenCL device", missing, "none found; PoCL provides one on the CPU");
        else if (!has_platform(answer, "Portable Computing Language"))
            doctor_put(d, "PoCL", DOCTOR_NOTE, "not installed; it provides an OpenCL device on the CPU, for tests");
        if (!has_platform(answer, "Portable Computing Language"))
            doctor_package(d, "pocl-opencl-icd", "pocl");
        if (cuda && !has_platform(answer, "NVIDIA")) {
            doctor_put(d, "OpenCL on NVIDIA", DOCTOR_NOTE, "the driver is installed, but not its OpenCL part");
            doctor_package(d, "nvidia-opencl-icd", "xorg-x11-drv-nvidia-cuda-libs");
        }
        if (devices)
            doctor_check_compilers(d);
    }
    d->platforms = json_incref(json_object_get(answer, "platforms"));
    return devices;
}

/* ---- a recording of our own ----------------------------------------------------------- */

/* Operations that the measurement at `path` holds; its first note goes to `note`. */
static uint64_t count_operations(const char *path, char *note, size_t note_size)
{
    struct sonde_measurement *m = NULL;
    struct sonde_totals totals = {0};
    uint64_t seen = 0;
    if (sonde_measurement_open(path, &m, NULL) != SONDE_OK)
        return 0;
    if (sonde_totals_compute(m, &totals) == SONDE_OK)
        seen = totals.ledger.done;
    for (uint32_t i = 0; i < m->process_count; i++)
        if (m->processes[i].note_count)
            snprintf(note, note_size, "; note: %.*s", (int)sizeof m->processes[i].notes[0].text,
                     m->processes[i].notes[0].text);
    sonde_totals_fini(&totals);
    sonde_measurement_close(m);
    return seen;
}

static bool judge_counts(struct doctor *d, const char *name, const json_t *answer, uint64_t recorded, const char *note)
{
    const json_int_t wanted = json_integer_value(json_object_get(answer, "operations"));
    if (wanted > 0 && recorded >= (uint64_t)wanted) {
        doctor_put(d, name, DOCTOR_FINE, "%lld operations enqueued, %llu recorded", wanted, (unsigned long long)recorded);
        return true;
    }
    if (!wanted)
        doctor_put(d, name, DOCTOR_PROBLEM, "no device accepted a write and a read of its memory");
    else
        doctor_put(d, name, DOCTOR_PROBLEM, "%lld operations enqueued, %llu recorded%s", wanted, (unsigned long long)recorded, note);
    return false;
}

static void judge_opencl(struct doctor *d, const json_t *answer, uint64_t recorded, const char *note)
{
    bool loaded = json_is_true(json_object_get(answer, "agent_loaded"));
    doctor_put(d, "OpenCL layers", loaded ? DOCTOR_FINE : DOCTOR_NOTE,
               loaded ? "the loader supports OPENCL_LAYERS"
                      : "the loader did not load Sonde from OPENCL_LAYERS");
    if (!loaded)
        doctor_package(d, "ocl-icd-libopencl1", "ocl-icd");
    d->records_opencl = judge_counts(d, "test recording", answer, recorded, note);
}

static void judge_cuda(struct doctor *d, const json_t *answer, uint64_t recorded, const char *note)
{
    if (json_object_get(answer, "cupti"))
        doctor_put(d, "CUPTI", DOCTOR_FINE, "%s, API version %lld; programs with their own CUPTI use that one",
                   doctor_text(answer, "cupti"), json_integer_value(json_object_get(answer, "cupti_version")));
    else {
        doctor_put(d, "CUPTI", DOCTOR_PROBLEM, "not found; only programs with their own CUPTI (PyTorch) are recorded");
        doctor_get_cupti(d, answer);
    }
    d->records_cuda = judge_counts(d, "CUDA recording", answer, recorded, note);
    if (!d->records_cuda)
        doctor_cure_recording(d, answer, note);
}

static const struct runtime {
    enum doctor_work look, work;
    const char *name, *remedy; /* of the finding where looking fails */
    size_t (*check)(struct doctor *d, const json_t *answer); /* how many devices */
    void (*judge)(struct doctor *d, const json_t *answer, uint64_t recorded, const char *note);
} runtimes[] = {
    {DOCTOR_LOOK_CUDA, DOCTOR_WORK_CUDA, "CUDA driver", "nvidia-smi    # the driver does not answer", check_cuda, judge_cuda},
    {DOCTOR_LOOK_OPENCL, DOCTOR_WORK_OPENCL, "OpenCL", "ls /etc/OpenCL/vendors    # one of the drivers listed there is broken",
     check_opencl, judge_opencl},
};

static void check_recording(struct doctor *d, struct record_paths *paths, const struct runtime *runtime)
{
    char why[256] = "", note[320] = "", place[PATH_MAX - 64];
    const char *temporary = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/sonde-doctor-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(place)) {
        doctor_put(d, "test recording", DOCTOR_PROBLEM, "cannot create a folder in %s: %s", temporary && *temporary ? temporary : "/tmp",
                   strerror(errno));
        return;
    }
    char output[PATH_MAX];
    snprintf(output, sizeof output, "%s/probe" SONDE_FOLDER_SUFFIX, place);
    struct record_options record = {.mode = RECORD_TRACE, .output = output, .memory_bytes = 64u << 20, .streams_per_thread = 256};
    struct record_times start;
    struct sonde_diag diag = {0};
    char *argv[] = {(char *)(uintptr_t)"sonde", (char *)(uintptr_t)"doctor", NULL};
    record_now(&start);
    char **environment = NULL;
    json_t *manifest = NULL, *answer = NULL;
    if (record_output_make(&record, "probe", paths, &diag) == SONDE_OK &&
        (environment = record_environment(&record, paths)) &&
        (manifest = record_manifest_begin(&record, paths, 2, argv, environ, NULL, &start)) &&
        record_manifest_write(manifest, paths->output, &diag) == SONDE_OK)
        answer = doctor_run_probe(runtime->work, environment, PROBE_SECONDS, why, sizeof why);
    if (answer) {
        const uint64_t recorded = count_operations(paths->output, note, sizeof note);
        runtime->judge(d, answer, recorded, note);
    } else
        doctor_put(d, "test recording", DOCTOR_PROBLEM, "%s", why[0] ? why : diag.what);
    record_environment_free(environment);
    json_decref(manifest);
    json_decref(answer);
    record_output_remove(output, NULL);
    record_output_release(paths);
    rmdir(place);
}

/* `paths`: NULL without our libraries. */
static void check_runtime(struct doctor *d, struct record_paths *paths, const struct runtime *runtime)
{
    char why[256] = "";
    json_t *answer = doctor_run_probe(runtime->look, NULL, PROBE_SECONDS, why, sizeof why);
    if (!answer) {
        doctor_put(d, runtime->name, DOCTOR_PROBLEM, "query failed: %s", why);
        doctor_try(d, "%s", runtime->remedy);
        return;
    }
    const size_t devices = runtime->check(d, answer);
    json_decref(answer);
    if (devices && paths)
        check_recording(d, paths, runtime);
}

/* ---- the system ------------------------------------------------------------------------ */

/* As the agent does it, for this process. */
static bool perf_works(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 5000000,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool timers_work(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return false;
    timer_delete(timer);
    return true;
}

static void check_sampling(struct doctor *d)
{
    int level = 3;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    const bool has_perf = file && fscanf(file, "%d", &level) == 1;
    if (file)
        fclose(file);
    if (access("/proc/self/task", R_OK) != 0) {
        doctor_put(d, "CPU sampling", DOCTOR_NOTE, "off: /proc is not mounted");
        doctor_fix(d, "mount -t proc proc /proc");
    } else if (perf_works()) {
        doctor_put(d, "CPU sampling", DOCTOR_FINE, "works, with context switches");
    } else if (timers_work()) {
        doctor_put(d, "CPU sampling", DOCTOR_NOTE, "works, without context switches: %s",
                   !has_perf   ? "this kernel has no perf events"
                   : level > 2 ? "kernel.perf_event_paranoid is above 2"
                               : "perf events are not permitted here, as in many containers");
        if (has_perf && level > 2)
            doctor_fix(d, "sysctl -w kernel.perf_event_paranoid=2");
        else if (has_perf)
            doctor_try(d, "docker run --cap-add PERFMON ...    # or a seccomp profile that permits perf_event_open");
    } else {
        doctor_put(d, "CPU sampling", DOCTOR_NOTE, "off: neither perf events nor timers are available; recording works without");
    }
}

static void check_kernel(struct doctor *d)
{
    struct utsname system;
    uname(&system);
#ifdef SYS_close_range
    /* Beyond every open descriptor: asks only whether the kernel knows the call. */
    if (syscall(SYS_close_range, 0x7ffffffeu, 0x7fffffffu, 2u /* CLOSE_RANGE_UNSHARE */) == 0) {
        doctor_put(d, "kernel", DOCTOR_FINE, "%s %s: Sonde's threads have their own file descriptor table", system.sysname, system.release);
        return;
    }
#endif
    doctor_put(d, "kernel", DOCTOR_NOTE, "%s %s has no close_range: Sonde's files share the program's file descriptor table",
               system.sysname, system.release);
}

static void check_symbols(struct doctor *d)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        doctor_put(d, "C++ names", DOCTOR_FINE, "libstdc++.so.6 demangles them");
        dlclose(library);
    } else {
        doctor_put(d, "C++ names", DOCTOR_NOTE, "no libstdc++.so.6: C++ names stay mangled");
        doctor_package(d, "libstdc++6", "libstdc++");
    }
    const char *urls = getenv("DEBUGINFOD_URLS");
    bool folder = access("/usr/lib/debug", R_OK) == 0;
    if (folder || (urls && *urls))
        doctor_put(d, "debug files", DOCTOR_FINE, "%s%s%s", folder ? "/usr/lib/debug" : "", folder && urls && *urls ? ", " : "",
                   urls && *urls ? "debuginfod" : "");
    else
        doctor_put(d, "debug files", DOCTOR_NOTE, "no /usr/lib/debug and no DEBUGINFOD_URLS: functions of stripped libraries are shown "
                                                  "as module+offset unless exported");
}

static void check_space(struct doctor *d)
{
    struct statvfs space;
    char text[SONDE_NUMBER_MAX], folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder) || statvfs(".", &space) != 0) {
        doctor_put(d, "output folder", DOCTOR_PROBLEM, "the current folder cannot be read: %s", strerror(errno));
        return;
    }
    double bytes = (double)space.f_bavail * (double)space.f_frsize;
    bool writable = access(".", W_OK | X_OK) == 0;
    doctor_put(d, "output folder", writable && bytes > LITTLE_SPACE ? DOCTOR_FINE : DOCTOR_NOTE, "%s: %s%s free", folder,
               writable ? "" : "not writable (use record -o DIR), ", sonde_number_bytes(text, bytes));
}

/* ---- printing --------------------------------------------------------------------------- */

static void print_text(const struct doctor *d, bool color)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
    size_t index;
    json_t *check;
    json_array_foreach (d->checks, index, check) {
        const char *status = doctor_text(check, "status");
        const char *paint = "";
        for (int i = 0; color && i < 3; i++)
            if (strcmp(status, finding_names[i]) == 0)
                paint = colors[i];
        printf("%s%-8s%s %-17s %s\n", paint, status, *paint ? "\033[0m" : "", doctor_text(check, "name"), doctor_text(check, "text"));
        if (json_object_get(check, "fix"))
            printf("%-8s %-17s $ %s\n", "", "", doctor_text(check, "fix"));
    }
    if (d->records_opencl || d->records_cuda)
        printf("\nRecording %s%s%s programs works.\n", d->records_cuda ? "CUDA" : "",
               d->records_cuda && d->records_opencl ? " and " : "", d->records_opencl ? "OpenCL" : "");
    else
        puts("\nRecording does not work yet.");
}

static int run(const void *values, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const struct doctor_options *o = values;
    if (o->probe != DOCTOR_NO_PROBE)
        return doctor_probe((enum doctor_work)o->probe);
    if (o->chip && !o->counters) {
        sonde_say("--chip is for --counters");
        return SONDE_EXIT_USAGE;
    }
    if (o->counters)
        return doctor_counters(o->chip, o->json);

    struct doctor d = {.checks = json_array()};
    struct record_paths *paths = calloc(1, sizeof *paths);
    struct sonde_diag diag = {0};
    if (!d.checks || !paths) {
        sonde_say("out of memory");
        return SONDE_EXIT_FAILED;
    }
    bool libraries = record_find_libraries(paths, &diag) == SONDE_OK;
    doctor_put(&d, "Sonde", libraries ? DOCTOR_FINE : DOCTOR_PROBLEM, libraries ? "version %s, %s" : "version %s, cannot find %s", SONDE_VERSION,
               libraries ? paths->agent : diag.where);
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        check_runtime(&d, libraries ? paths : NULL, &runtimes[i]);
    check_kernel(&d);
    check_sampling(&d);
    doctor_check_cpu_counters(&d);
    check_symbols(&d);
    check_space(&d);

    if (o->json) {
        json_t *all = json_pack("{s:s, s:b, s:b, s:O, s:O*}", "version", SONDE_VERSION, "records_opencl",
                                d.records_opencl, "records_cuda", d.records_cuda, "checks", d.checks, "platforms", d.platforms);
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
    } else
        print_text(&d, sonde_colors((enum sonde_color)o->color, STDOUT_FILENO));
    json_decref(d.checks);
    json_decref(d.platforms);
    free(paths);
    return d.records_opencl || d.records_cuda ? SONDE_EXIT_OK : SONDE_EXIT_FAILED;
}

const struct sonde_command sonde_command_doctor = {
    .name = "doctor",
    .summary = "check what can be recorded on this machine, and how to enable the rest",
    .usage = "[OPTION...]",
    .description =
        "Checks the GPU runtimes, their devices and the system, makes a small test recording, and prints "
        "one line per check; below a problem is the command that fixes it.",
    .notes = "The exit status is 0 if CUDA or OpenCL programs can be recorded, else 1.",
    .options = options,
    .options_bytes = sizeof(struct doctor_options),
    .defaults = &defaults,
    .run = run,
};

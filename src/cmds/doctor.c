/* doctor.c - `sonde doctor`: what this machine allows, and the command that allows the rest.
 *
 * The verdict comes from doing it: a probe writes and reads memory of every
 * OpenCL and CUDA device under the agent, and doctor counts what the measurement holds.
 */
#include "doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "analyze/totals.h"
#include "base/number.h"
#include "command.h"
#include "record.h"

enum { PROBE_SECONDS = 60, LITTLE_SPACE = 200 * 1000 * 1000 };

struct doctor_options { int json, probe, probe_work, probe_cuda; };

#define AT(field) offsetof(struct doctor_options, field)
static const struct sonde_option options[] = {
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = AT(json), .help = "print one JSON object"},
    {.name = "probe", .type = SONDE_OPTION_FLAG, .offset = AT(probe), .hidden = true},
    {.name = "probe-work", .type = SONDE_OPTION_FLAG, .offset = AT(probe_work), .hidden = true},
    {.name = "probe-cuda", .type = SONDE_OPTION_FLAG, .offset = AT(probe_cuda), .hidden = true},
    {0},
};

/* ---- the list of findings ------------------------------------------------------- */

enum finding { FINE, NOTE, PROBLEM };
static const char *const finding_names[] = {"ok", "note", "problem"};

struct doctor {
    json_t *checks;      /* array of {name, status, text, fix} */
    json_t *platforms;   /* as the probe saw them; may be NULL */
    bool records_opencl, records_cuda; /* recording works */
};

static void put_fix(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct doctor *d, const char *name, enum finding finding, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put(struct doctor *d, const char *name, enum finding finding, const char *format, ...)
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

/* The command that repairs the last finding; "sudo " goes before it for users other than root. */
static void put_fix(struct doctor *d, const char *format, ...)
{
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", geteuid() == 0 ? "" : "sudo ");
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, sizeof text - at, format, args);
    va_end(args);
    json_t *last = json_array_get(d->checks, json_array_size(d->checks) - 1);
    json_object_set_new(last, "fix", json_string(text));
}

/* The package manager's own words; package names differ between families. */
static void put_package(struct doctor *d, const char *debian, const char *fedora)
{
    if (access("/usr/bin/apt-get", X_OK) == 0)
        put_fix(d, "apt-get install %s", debian);
    else if (access("/usr/bin/dnf", X_OK) == 0)
        put_fix(d, "dnf install %s", fedora);
    else
        put_fix(d, "install the package %s with this system's package manager", debian);
}

/* ---- OpenCL ------------------------------------------------------------------------ */

static const char *text_of(const json_t *object, const char *key)
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
            put(d, "OpenCL platform", NOTE, "%s: no device", text_of(platform, "name"));
        json_array_foreach (list, each, device) {
            char memory[SONDE_NUMBER_MAX];
            json_int_t bytes = json_integer_value(json_object_get(device, "memory_bytes"));
            put(d, "OpenCL device", FINE, "%s (%s, %s) of %s, driver %s", text_of(device, "name"),
                text_of(device, "kind"), sonde_number_bytes(memory, (double)bytes), text_of(platform, "name"),
                text_of(device, "driver"));
            devices++;
        }
    }
    return devices;
}

static bool has_platform(const json_t *answer, const char *part)
{
    size_t index;
    json_t *platform;
    json_array_foreach (json_object_get(answer, "platforms"), index, platform)
        if (strstr(text_of(platform, "name"), part))
            return true;
    return false;
}

/* One finding for each device. */
static void check_cuda(struct doctor *d, const json_t *answer)
{
    if (!json_object_get(answer, "cuda_driver")) {
        put(d, "CUDA driver", NOTE, "not installed (libcuda.so.1)");
        return;
    }
    const json_int_t version = json_integer_value(json_object_get(answer, "cuda_driver_version"));
    const bool failed = json_object_get(answer, "cuda_error") != NULL;
    put(d, "CUDA driver", failed ? NOTE : FINE, "for CUDA %lld.%lld%s%s", version / 1000, version % 1000 / 10,
        failed ? "; cuInit says " : "", failed ? text_of(answer, "cuda_error") : "");
    json_t *device;
    size_t index;
    json_array_foreach (json_object_get(answer, "cuda_devices"), index, device) {
        char memory[SONDE_NUMBER_MAX];
        put(d, "CUDA device", FINE, "%s (compute capability %lld.%lld, %s)", text_of(device, "name"),
            json_integer_value(json_object_get(device, "major")), json_integer_value(json_object_get(device, "minor")),
            sonde_number_bytes(memory, (double)json_integer_value(json_object_get(device, "memory_bytes"))));
    }
    if (json_is_true(json_object_get(answer, "counters_admin_only"))) {
        put(d, "GPU counters", NOTE, "hardware counters are for the administrator only; recording does not need them");
        put_fix(d, "sh -c 'echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 >/etc/modprobe.d/nvidia-counters.conf'"
                   "    # and reboot");
    }
    const char *other = getenv("CUDA_INJECTION64_PATH");
    if (other && *other)
        put(d, "other CUDA tool", NOTE, "CUDA_INJECTION64_PATH names %.200s: it comes before Sonde, and may hold CUPTI", other);
    if (index && !has_platform(answer, "NVIDIA")) {
        put(d, "OpenCL on NVIDIA", NOTE, "the driver is here, but not its OpenCL part");
        put_package(d, "nvidia-opencl-icd", "xorg-x11-drv-nvidia-cuda-libs");
    }
}

struct devices { size_t opencl, cuda; };

static struct devices check_runtimes(struct doctor *d)
{
    char why[256] = "";
    json_t *answer = doctor_run_probe(DOCTOR_LOOK, NULL, PROBE_SECONDS, why, sizeof why);
    if (!answer) {
        put(d, "OpenCL", PROBLEM, "cannot be asked: %s", why);
        put_fix(d, "ls /etc/OpenCL/vendors    # one of the drivers named there is broken");
        return (struct devices){0};
    }
    size_t devices = 0;
    const size_t cuda = json_array_size(json_object_get(answer, "cuda_devices"));
    const enum finding missing = cuda ? NOTE : PROBLEM; /* one runtime is enough */
    if (json_object_get(answer, "opencl_error")) {
        put(d, "OpenCL loader", missing, "%s", text_of(answer, "opencl_error"));
        put_package(d, "ocl-icd-libopencl1", "ocl-icd");
    } else {
        put(d, "OpenCL loader", FINE, "%s", text_of(answer, "opencl_loader"));
        devices = check_devices(d, answer);
        if (!devices) {
            put(d, "OpenCL device", missing, "none found; PoCL makes one of the CPU");
            put_package(d, "pocl-opencl-icd", "pocl");
        } else if (!has_platform(answer, "Portable Computing Language")) {
            put(d, "PoCL", NOTE, "not installed; it makes an OpenCL device of the CPU, for tests");
            put_package(d, "pocl-opencl-icd", "pocl");
        }
    }
    check_cuda(d, answer);
    d->platforms = json_incref(json_object_get(answer, "platforms"));
    json_decref(answer);
    return (struct devices){devices, cuda};
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
        put(d, name, FINE, "%lld operations enqueued, %llu recorded", wanted, (unsigned long long)recorded);
        return true;
    }
    if (!wanted)
        put(d, name, PROBLEM, "no device accepted a write and a read of its memory");
    else
        put(d, name, PROBLEM, "%lld operations enqueued, %llu recorded%s", wanted, (unsigned long long)recorded, note);
    return false;
}

static void judge_opencl(struct doctor *d, const json_t *answer, uint64_t recorded, const char *note)
{
    bool loaded = json_is_true(json_object_get(answer, "agent_loaded"));
    put(d, "OpenCL layers", loaded ? FINE : NOTE, loaded ? "the loader honours OPENCL_LAYERS"
                                                         : "the loader did not load ours from OPENCL_LAYERS");
    if (!loaded)
        put_package(d, "ocl-icd-libopencl1", "ocl-icd");
    d->records_opencl = judge_counts(d, "test recording", answer, recorded, note);
}

static void judge_cuda(struct doctor *d, const json_t *answer, uint64_t recorded, const char *note)
{
    if (json_object_get(answer, "cupti"))
        put(d, "CUPTI", FINE, "%s; a program that brings its own uses that", text_of(answer, "cupti"));
    else {
        put(d, "CUPTI", PROBLEM, "not found; programs that bring it (PyTorch) are recorded, others are not");
        put_package(d, "libcupti-dev", "cuda-cupti");
    }
    d->records_cuda = judge_counts(d, "CUDA recording", answer, recorded, note);
}

static void check_recording(struct doctor *d, struct record_paths *paths, enum doctor_work work)
{
    char why[256] = "", note[320] = "", place[PATH_MAX - 64];
    const char *temporary = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/sonde-doctor-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(place)) {
        put(d, "test recording", PROBLEM, "cannot make a folder in %s: %s", temporary && *temporary ? temporary : "/tmp",
            strerror(errno));
        return;
    }
    char output[PATH_MAX];
    snprintf(output, sizeof output, "%s/probe.sonde", place);
    struct record_options record = {.mode = RECORD_TRACE, .output = output, .memory_bytes = 64u << 20, .streams_per_thread = 256};
    struct record_times start;
    struct sonde_diag diag = {0};
    char *argv[] = {(char *)(uintptr_t)"sonde", (char *)(uintptr_t)"doctor", NULL};
    record_now(&start);
    char **environment = NULL;
    json_t *manifest = NULL, *answer = NULL;
    if (record_output_make(&record, "probe", paths, &diag) == SONDE_OK &&
        (environment = record_environment(&record, paths)) &&
        (manifest = record_manifest_begin(&record, paths, 2, argv, &start)) &&
        record_manifest_write(manifest, paths->output, &diag) == SONDE_OK)
        answer = doctor_run_probe(work, environment, PROBE_SECONDS, why, sizeof why);
    if (answer) {
        const uint64_t recorded = count_operations(paths->output, note, sizeof note);
        (work == DOCTOR_WORK_CUDA ? judge_cuda : judge_opencl)(d, answer, recorded, note);
    }
    else
        put(d, "test recording", PROBLEM, "%s", why[0] ? why : diag.what);
    record_environment_free(environment);
    json_decref(manifest);
    json_decref(answer);
    record_output_remove(output, NULL);
    rmdir(place);
}

/* ---- the system ------------------------------------------------------------------------ */

static void check_perf(struct doctor *d)
{
    int level = 0;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (!file || fscanf(file, "%d", &level) != 1)
        put(d, "perf events", NOTE, "this kernel has none; recording does not need them");
    else if (level <= 2 || geteuid() == 0)
        put(d, "perf events", FINE, "kernel.perf_event_paranoid is %d", level);
    else {
        put(d, "perf events", NOTE, "kernel.perf_event_paranoid is %d: no CPU samples; recording does not need them", level);
        put_fix(d, "sysctl -w kernel.perf_event_paranoid=2");
    }
    if (file)
        fclose(file);
}

static void check_kernel(struct doctor *d)
{
    struct utsname system;
    uname(&system);
#ifdef SYS_close_range
    /* Beyond every open descriptor: asks only whether the kernel knows the call. */
    if (syscall(SYS_close_range, 0x7ffffffeu, 0x7fffffffu, 2u /* CLOSE_RANGE_UNSHARE */) == 0) {
        put(d, "kernel", FINE, "%s %s: our threads get a descriptor table of their own", system.sysname, system.release);
        return;
    }
#endif
    put(d, "kernel", NOTE, "%s %s has no close_range: our files share the program's descriptor table",
        system.sysname, system.release);
}

static void check_symbols(struct doctor *d)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        put(d, "C++ names", FINE, "libstdc++.so.6 demangles them");
        dlclose(library);
    } else {
        put(d, "C++ names", NOTE, "no libstdc++.so.6: names of C++ functions stay mangled");
        put_package(d, "libstdc++6", "libstdc++");
    }
    const char *urls = getenv("DEBUGINFOD_URLS");
    bool folder = access("/usr/lib/debug", R_OK) == 0;
    if (folder || (urls && *urls))
        put(d, "debug files", FINE, "%s%s%s", folder ? "/usr/lib/debug" : "", folder && urls && *urls ? ", " : "",
            urls && *urls ? "debuginfod" : "");
    else
        put(d, "debug files", NOTE, "no /usr/lib/debug and no DEBUGINFOD_URLS: functions of stripped libraries are shown "
                                    "as module and offset where they export no name");
}

static void check_space(struct doctor *d)
{
    struct statvfs space;
    char text[SONDE_NUMBER_MAX], folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder) || statvfs(".", &space) != 0) {
        put(d, "output folder", PROBLEM, "the current folder cannot be read: %s", strerror(errno));
        return;
    }
    double bytes = (double)space.f_bavail * (double)space.f_frsize;
    bool writable = access(".", W_OK | X_OK) == 0;
    put(d, "output folder", writable && bytes > LITTLE_SPACE ? FINE : NOTE, "%s: %s%s free", folder,
        writable ? "" : "not writable (use record -o DIR), ", sonde_number_bytes(text, bytes));
}

/* ---- printing --------------------------------------------------------------------------- */

static void print_text(const struct doctor *d)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
    bool color = sonde_terminal_colors(STDOUT_FILENO);
    size_t index;
    json_t *check;
    json_array_foreach (d->checks, index, check) {
        const char *status = text_of(check, "status");
        const char *paint = "";
        for (int i = 0; color && i < 3; i++)
            if (strcmp(status, finding_names[i]) == 0)
                paint = colors[i];
        printf("%s%-8s%s %-17s %s\n", paint, status, *paint ? "\033[0m" : "", text_of(check, "name"), text_of(check, "text"));
        if (json_object_get(check, "fix"))
            printf("%-8s %-17s $ %s\n", "", "", text_of(check, "fix"));
    }
    const bool both = d->records_opencl && d->records_cuda;
    printf("\nRecording %s programs %s.\n", both ? "OpenCL and CUDA" : d->records_cuda ? "CUDA" : "OpenCL",
           d->records_opencl || d->records_cuda ? "works" : "does not work yet");
}

static int run(const void *values, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const struct doctor_options *o = values;
    if (o->probe || o->probe_work || o->probe_cuda)
        return doctor_probe(o->probe_cuda ? DOCTOR_WORK_CUDA : o->probe_work ? DOCTOR_WORK_OPENCL : DOCTOR_LOOK);

    struct doctor d = {.checks = json_array()};
    struct record_paths *paths = calloc(1, sizeof *paths);
    struct sonde_diag diag = {0};
    if (!d.checks || !paths) {
        sonde_say("out of memory");
        return SONDE_EXIT_FAILED;
    }
    bool libraries = record_find_libraries(paths, &diag) == SONDE_OK;
    put(&d, "Sonde", libraries ? FINE : PROBLEM, libraries ? "version %s, %s" : "version %s, cannot find %s", SONDE_VERSION,
        libraries ? paths->agent : diag.where);
    const struct devices devices = check_runtimes(&d);
    if (libraries && devices.opencl)
        check_recording(&d, paths, DOCTOR_WORK_OPENCL);
    if (libraries && devices.cuda)
        check_recording(&d, paths, DOCTOR_WORK_CUDA);
    check_kernel(&d);
    check_perf(&d);
    check_symbols(&d);
    check_space(&d);

    if (o->json) {
        json_t *all = json_pack("{s:s, s:b, s:b, s:O, s:O*}", "version", SONDE_VERSION, "records_opencl",
                                d.records_opencl, "records_cuda", d.records_cuda, "checks", d.checks, "platforms", d.platforms);
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
    } else
        print_text(&d);
    json_decref(d.checks);
    json_decref(d.platforms);
    free(paths);
    return d.records_opencl || d.records_cuda ? SONDE_EXIT_OK : SONDE_EXIT_FAILED;
}

const struct sonde_command sonde_command_doctor = {
    .name = "doctor",
    .summary = "say what this machine allows, and what would allow the rest",
    .usage = "[--json]",
    .description =
        "Looks at the GPU runtimes, their devices and the system, makes a small recording of its own, and prints "
        "one line for each finding; under a problem stands the command that repairs it.",
    .notes = "The exit status is 0 when recording OpenCL or CUDA programs works, else 1.",
    .options = options,
    .options_bytes = sizeof(struct doctor_options),
    .run = run,
};

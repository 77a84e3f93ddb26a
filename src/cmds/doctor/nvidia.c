/* nvidia.c - findings about NVIDIA's driver: devices, rights, and who else is attached.
 *
 * What the kernel's driver says of itself stands in /proc/driver/nvidia, whose
 * files containers see too. Which tools are there is told by the environment
 * that a program would inherit from this shell, and by the names of processes.
 */
#include "doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/model/runtimes.h"
#include "analyze/symbols/nvdisasm.h"
#include "base/number.h"
#include "cmds/command.h"

/* ---- texts ------------------------------------------------------------------------ */

int doctor_counters_admin_only(const char *params)
{
    static const char key[] = "RmProfilingAdminOnly:";
    const char *at = params;
    while (at && strncmp(at, key, sizeof key - 1) != 0)
        at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    if (!at)
        return -1;
    at += sizeof key - 1;
    at += strspn(at, " \t");
    return *at == '0' ? 0 : (isdigit((unsigned char)*at) ? 1 : -1);
}

/* The first word after "Kernel Module" that is a number with a dot: before it may stand "for x86_64". */
bool doctor_module_version(const char *text, char *out, size_t size)
{
    const char *at = strstr(text, "Kernel Module"), *end = at ? at + strcspn(at, "\n") : NULL;
    while (at && at < end) {
        at += strspn(at, " \t");
        const size_t length = strcspn(at, " \t\n");
        const char *dot = memchr(at, '.', length);
        if (dot && length < size && isdigit((unsigned char)at[0])) {
            snprintf(out, size, "%.*s", (int)length, at);
            return true;
        }
        if (!length)
            break;
        at += length;
    }
    return false;
}

/* A process's name, as the kernel keeps it: at most 15 characters. */
const struct doctor_tool *doctor_tool_of(const char *name)
{
    static const struct doctor_tool tools[] = {
        {"nv-hostengine", "NVIDIA's DCGM", "it may use the hardware counters; recording works alongside", "dcgmi profile --pause"},
        {"dcgm-exporter", "NVIDIA's DCGM exporter", "it may use the hardware counters; recording works alongside", "dcgmi profile --pause"},
        {"nsys", "Nsight Systems", "programs that it profiles cannot be recorded by Sonde at the same time", NULL},
        {"nsys-launcher", "Nsight Systems", "programs that it profiles cannot be recorded by Sonde at the same time", NULL},
        {"ncu", "Nsight Compute", "programs that it profiles cannot be recorded by Sonde at the same time", NULL},
        {"nv-nsight-cu-cl", "Nsight Compute", "programs that it profiles cannot be recorded by Sonde at the same time", NULL},
    };
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(name, tools[i].name) == 0)
            return &tools[i];
    return NULL;
}

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    return length > 0;
}

/* ---- driver and devices -------------------------------------------------------------- */

static bool is_nvidia_gpu(const char *folder)
{
    char path[512], vendor[16], class[16];
    snprintf(path, sizeof path, "%.480s/vendor", folder);
    bool ours = read_text(path, vendor, sizeof vendor) && strncmp(vendor, "0x10de", 6) == 0;
    snprintf(path, sizeof path, "%.480s/class", folder);
    return ours && read_text(path, class, sizeof class) && strncmp(class, "0x03", 4) == 0; /* displays, with 3D controllers */
}

static bool has_nvidia_gpu(void)
{
    glob_t found;
    bool any = false;
    if (glob("/sys/bus/pci/devices/*", 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !any; i++)
        any = is_nvidia_gpu(found.gl_pathv[i]);
    globfree(&found);
    return any;
}

static void no_driver(struct doctor *d)
{
    if (access("/proc/driver/nvidia/version", R_OK) == 0) {
        doctor_put(d, "CUDA driver", DOCTOR_NOTE, "the kernel module is loaded, but libcuda.so.1 is missing");
        doctor_try(d, "docker run --gpus all …    # in a container; else install the driver's libraries");
    } else if (has_nvidia_gpu()) {
        doctor_put(d, "CUDA driver", DOCTOR_NOTE, "there is an NVIDIA GPU, but no driver (libcuda.so.1)");
        doctor_package(d, "nvidia-driver", "xorg-x11-drv-nvidia-cuda");
    } else
        doctor_put(d, "CUDA driver", DOCTOR_NOTE, "none: no NVIDIA GPU");
}

/* What cuInit's errors mean on a machine where they are seen, and what is done about them. */
static void init_failed(struct doctor *d, const char *error)
{
    static const struct {
        const char *error;
        bool root;
        const char *command;
    } cures[] = {
        {"CUDA_ERROR_NO_DEVICE", false, "nvidia-smi -L    # lists the devices; containers need: docker run --gpus all"},
        {"CUDA_ERROR_STUB_LIBRARY", false, "unset LD_LIBRARY_PATH    # it contains a toolkit's lib64/stubs"},
        {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", true, "reboot    # the kernel still runs another version of the driver"},
        {"CUDA_ERROR_SYSTEM_NOT_READY", true, "systemctl start nvidia-fabricmanager"},
        {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", false, "unset LD_LIBRARY_PATH    # it contains a toolkit's compat folder"},
        {"CUDA_ERROR_DEVICE_UNAVAILABLE", true, "nvidia-smi -c DEFAULT    # another process has exclusive use of the device"},
        {"CUDA_ERROR_OPERATING_SYSTEM", true, "nvidia-modprobe -c 0 -u    # creates the device files"},
        {"CUDA_ERROR_UNKNOWN", true, "nvidia-modprobe -c 0 -u    # creates the device files"},
    };
    if (strcmp(error, "CUDA_ERROR_NO_DEVICE") == 0 && getenv("CUDA_VISIBLE_DEVICES")) {
        doctor_try(d, "unset CUDA_VISIBLE_DEVICES");
        return;
    }
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++)
        if (strcmp(error, cures[i].error) == 0)
            (cures[i].root ? doctor_fix : doctor_try)(d, "%s", cures[i].command);
}

static void put_driver(struct doctor *d, const json_t *answer)
{
    char text[1024], version[64] = "";
    const json_int_t cuda = json_integer_value(json_object_get(answer, "cuda_driver_version"));
    const char *error = json_string_value(json_object_get(answer, "cuda_error"));
    if (read_text("/proc/driver/nvidia/version", text, sizeof text))
        doctor_module_version(text, version, sizeof version);
    doctor_put(d, "CUDA driver", error ? DOCTOR_PROBLEM : DOCTOR_FINE, "%s%sfor CUDA %lld.%lld%s%s", version,
               *version ? ", " : "", cuda / 1000, cuda % 1000 / 10, error ? "; cuInit says " : "", error ? error : "");
    if (error)
        init_failed(d, error);
}

static void put_devices(struct doctor *d, const json_t *devices)
{
    json_t *device;
    size_t index;
    json_array_foreach (devices, index, device) {
        char memory[SONDE_NUMBER_MAX];
        doctor_put(d, "CUDA device", DOCTOR_FINE, "%s (compute capability %lld.%lld, %s)",
                   doctor_text(device, "name"), json_integer_value(json_object_get(device, "major")),
                   json_integer_value(json_object_get(device, "minor")),
                   sonde_number_bytes(memory, (double)json_integer_value(json_object_get(device, "memory_bytes"))));
    }
}

static void put_mig(struct doctor *d)
{
    glob_t found;
    if (glob("/proc/driver/nvidia/capabilities/gpu*/mig/gi*", 0, NULL, &found) != 0)
        return;
    doctor_put(d, "MIG", DOCTOR_NOTE, "%zu instance%s; a program uses the one named by CUDA_VISIBLE_DEVICES",
               found.gl_pathc, found.gl_pathc == 1 ? "" : "s");
    doctor_try(d, "nvidia-smi -L    # lists their names; then: export CUDA_VISIBLE_DEVICES=MIG-…");
    globfree(&found);
}

/* ---- rights ------------------------------------------------------------------------- */

static void allow_counters(struct doctor *d)
{
    doctor_fix(d, "sh -c 'echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 >/etc/modprobe.d/nvidia-counters.conf && "
                  "%s && reboot'",
               access("/usr/bin/dracut", X_OK) == 0 ? "dracut -f" : "update-initramfs -u");
}

static void put_rights(struct doctor *d)
{
    char text[16384];
    const int only = read_text("/proc/driver/nvidia/params", text, sizeof text) ? doctor_counters_admin_only(text) : -1;
    if (only < 0)
        doctor_put(d, "GPU counters", DOCTOR_NOTE, "/proc/driver/nvidia/params does not say who may use them; recording does not need them");
    else if (!only || geteuid() == 0)
        doctor_put(d, "GPU counters", DOCTOR_FINE, "%s", only ? "for root, as you are" : "for all users");
    else {
        doctor_put(d, "GPU counters", DOCTOR_NOTE, "for root only (RmProfilingAdminOnly is 1); recording does not need them");
        allow_counters(d);
    }
}

/* ---- CUPTI ---------------------------------------------------------------------------- */

void doctor_get_cupti(struct doctor *d, const json_t *answer)
{
    const bool new = json_integer_value(json_object_get(answer, "cuda_driver_version")) >= 13000;
    doctor_try(d, "pip install nvidia-cuda-cupti%s && export SONDE_CUPTI=$(python3 -c 'import sysconfig; "
                  "print(sysconfig.get_path(\"purelib\"))')/nvidia/%s",
               new ? "" : "-cu12",
               new ? "cu13/lib/libcupti.so.13" : "cuda_cupti/lib/libcupti.so.12");
}

void doctor_cure_recording(struct doctor *d, const json_t *answer, const char *note)
{
    if (strstr(note, "INSUFFICIENT_PRIVILEGES"))
        allow_counters(d);
    else if (strstr(note, "API version")) /* older than Sonde reads */
        doctor_get_cupti(d, answer);
    else if (strstr(note, "held by") && getenv("CUDA_INJECTION64_PATH"))
        doctor_try(d, "unset CUDA_INJECTION64_PATH");
}

/* ---- what the engine sanitizer needs --------------------------------------------------- */

/* The file in these folders that sorts last; `rest` is below each. */
static bool find_library(const char *folders, const char *rest, char *path, size_t size)
{
    char pattern[512];
    glob_t found;
    if (!folders || !*folders || snprintf(pattern, sizeof pattern, "%s/%slibsanitizer-public.so*", folders, rest) >= (int)sizeof pattern ||
        glob(pattern, 0, NULL, &found) != 0)
        return false;
    snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return true;
}

/* As the backend seeks it (docs/cuda.md), but for what only a program tells: its own CUDA runtime and its loader's paths. */
static void put_sanitizer(struct doctor *d)
{
    static const char below[] = "compute-sanitizer/";
    const char *named = getenv("SONDE_SANITIZER");
    char path[512] = "";
    const bool is_named = named && *named;
    if (is_named)
        snprintf(path, sizeof path, "%s", named);
    const bool is = is_named ? access(path, R_OK) == 0
                             : find_library(getenv("CUDA_HOME"), below, path, sizeof path) || find_library(getenv("CUDA_PATH"), below, path, sizeof path) ||
                                   find_library("/usr/local/cuda", below, path, sizeof path) || find_library("/usr/local/cuda-*", below, path, sizeof path);
    if (is) {
        doctor_put(d, "Compute Sanitizer", DOCTOR_FINE, "%s", path);
        return;
    }
    doctor_put(d, "Compute Sanitizer", DOCTOR_NOTE, "%s%s%s: --values-engine and --comm-engine=sanitizer need libsanitizer-public.so", is_named ? "SONDE_SANITIZER names " : "",
               is_named ? path : "not found", is_named ? ", which cannot be read" : "");
    doctor_try(d, "pip install nvidia-cuda-sanitizer-api && export SONDE_SANITIZER=$(python3 -c 'import sysconfig; "
                  "print(sysconfig.get_path(\"purelib\"))')/nvidia/cu13/compute-sanitizer/libsanitizer-public.so");
}

static void put_nvdisasm(struct doctor *d)
{
    char path[512];
    const bool is = sonde_nvdisasm_find(path, sizeof path);
    doctor_put(d, "nvdisasm", is ? DOCTOR_FINE : DOCTOR_NOTE, "%s", is ? path : "not found: with --pc instructions have no text, with --values-engine=sanitizer values no types");
    if (!is)
        doctor_try(d, "pip install nvidia-cuda-nvdisasm");
}

/* ---- who else is attached --------------------------------------------------------------- */

static void put_environment(struct doctor *d)
{
    static const struct { const char *begin, *tool; } shells[] = {
        {"NSYS_", "Nsight Systems"},
        {"NV_COMPUTE_PROFILER_", "Nsight Compute"},
        {"NV_NSIGHT_", "Nsight Compute"},
    };
    for (const struct sonde_runtime *r = sonde_runtimes; r->name; r++) {
        const char *path = r->other ? getenv(r->variable) : NULL;
        if (path && *path) {
            char name[64];
            snprintf(name, sizeof name, "other %s tool", r->title);
            doctor_put(d, name, DOCTOR_NOTE, "%s names %.200s: %s", r->variable, path, r->other);
            doctor_try(d, "unset %s", r->variable);
        }
    }
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        for (char **entry = environ; *entry; entry++) {
            const int length = (int)strcspn(*entry, "=");
            if (strncmp(*entry, shells[i].begin, strlen(shells[i].begin)) != 0)
                continue;
            doctor_put(d, "other CUDA tool", DOCTOR_NOTE, "%.*s is set: this shell runs under %s, which uses CUPTI exclusively",
                       length, *entry, shells[i].tool);
            doctor_try(d, "exit    # and run sonde outside it");
            break;
        }
}

static bool process_name(const char *pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    const bool known = isdigit((unsigned char)*pid) && read_text(path, name, size);
    name[strcspn(name, "\n")] = 0;
    return known;
}

/* One finding for each tool, however many processes it has. */
static void put_processes(struct doctor *d)
{
    const char *said[16] = {NULL};
    size_t count = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char name[64] = "";
        const struct doctor_tool *tool = process_name(entry->d_name, name, sizeof name) ? doctor_tool_of(name) : NULL;
        bool known = !tool;
        for (size_t i = 0; tool && i < count; i++)
            known |= strcmp(said[i], tool->tool) == 0;
        if (known || count == sizeof said / sizeof *said)
            continue;
        said[count++] = tool->tool;
        doctor_put(d, "other GPU tool", DOCTOR_NOTE, "%s runs (%s, process %s): %s", tool->tool, tool->name, entry->d_name, tool->effect);
        if (tool->command)
            doctor_try(d, "%s", tool->command);
        else
            doctor_try(d, "kill -INT %s    # ends its session", entry->d_name);
    }
    if (all)
        closedir(all);
}

void doctor_check_nvidia(struct doctor *d, const json_t *answer)
{
    if (!json_object_get(answer, "cuda_driver")) {
        no_driver(d);
        return;
    }
    put_driver(d, answer);
    put_devices(d, json_object_get(answer, "cuda_devices"));
    put_mig(d);
    put_rights(d);
    put_sanitizer(d);
    put_nvdisasm(d);
    put_environment(d);
    put_processes(d);
}

/* gpus.c - see gpus.h. Opening NVML, the life of devices, and what is shown of them. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpus.h"

const struct sonde_gpu_metric sonde_gpu_metrics[SONDE_GPU_METRICS] = {
#define X(id, ...) {__VA_ARGS__},
    SONDE_GPU_METRIC_MAP(X)
#undef X
};

double sonde_gpu_share(const struct sonde_gpu *gpu, enum sonde_gpu_metric_id id)
{
    const enum sonde_gpu_metric_id of = id == SONDE_GPU_GPM_GRAPHICS ? SONDE_GPU_GPM_GRAPHICS_TIME : SONDE_GPU_GPM_TIME;
    const double time = gpu->value[of] - gpu->before[of];
    const double before = isnan(gpu->before[id]) ? 0 : gpu->before[id]; /* counters begin at 0, with the first two samples */
    return time > 0 ? (gpu->value[id] - before) / time : NAN;
}

#ifdef SONDE_CUDA
#include "nvml.h"

enum { RETRY_S = 60 };
#define SECOND_NS  900000000u /* a look each second finds it due */
#define MOST_NS    60000000000u /* a device that answers slowly does not hold up the others for longer */
#define COSTLY_SHARE 400u       /* what takes the driver long may take one part of so many of a processor, of all devices together */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *say(const struct sonde__nvml *nvml, nvmlReturn_t answer)
{
    return nvml->nvmlErrorString ? nvml->nvmlErrorString(answer) : "unknown error";
}

/* ---- answers ------------------------------------------------------------------------------- */

static void lose(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, nvmlReturn_t answer)
{
    if (!s->gpu.up)
        return;
    s->gpu.up = false;
    r->lost++;
    sonde__gpu_pm_end(r, s);
    sonde_text_format(&r->notes, "device %u, %s at %s, is lost: %s; it is asked again at each look\n", s->gpu.number, s->gpu.name, s->gpu.bus,
                      say(&r->nvml, answer));
}

bool sonde__gpu_answered(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, nvmlReturn_t answer, const char *call, bool *without)
{
    switch (answer) {
    case NVML_SUCCESS:
        return true;
    case NVML_ERROR_NO_PERMISSION:
        sonde_text_format(&r->notes, "device %u: %s is not permitted to this user and is left out; start as root to have it\n", s->gpu.number, call);
        *without = true;
        return false;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_DEPRECATED:
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        *without = true;
        return false;
    case NVML_ERROR_GPU_IS_LOST:
    case NVML_ERROR_RESET_REQUIRED:
        lose(r, s, answer);
        return false;
    default:
        r->failed++;
        return false;
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* 0, or the library stays closed and `why` is set. */
static int open_library(struct sonde__gpu_reader *r)
{
    r->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!r->library) {
        snprintf(r->why, sizeof r->why, "the driver's library libnvidia-ml.so.1 is not there");
        return -1;
    }
#define X(name) *(void **)&r->nvml.name = dlsym(r->library, #name);
    SONDE_NVML_MAP(X)
#undef X
    const nvmlReturn_t answer = SONDE_NVML(&r->nvml, nvmlInit_v2);
    if (answer == NVML_SUCCESS)
        return 0;
    snprintf(r->why, sizeof r->why, "NVML cannot begin: %s", say(&r->nvml, answer));
    dlclose(r->library);
    r->library = NULL;
    return -1;
}

static void name_device(const struct sonde__nvml *nvml, struct sonde__gpu_state *s)
{
    nvmlPciInfo_t pci;
    struct sonde_gpu *g = &s->gpu;
    if (SONDE_NVML(nvml, nvmlDeviceGetName, s->handle, g->name, sizeof g->name - 1) != NVML_SUCCESS)
        snprintf(g->name, sizeof g->name, "unknown");
    if (SONDE_NVML(nvml, nvmlDeviceGetUUID, s->handle, g->uuid, sizeof g->uuid - 1) != NVML_SUCCESS)
        *g->uuid = '\0';
    if (SONDE_NVML(nvml, nvmlDeviceGetPciInfo_v3, s->handle, &pci) == NVML_SUCCESS)
        snprintf(g->bus, sizeof g->bus, "%.31s", pci.busId);
}

static void forget_values(struct sonde_gpu *g)
{
    for (int i = 0; i < SONDE_GPU_METRICS; i++)
        g->value[i] = NAN;
}

/* The devices are those that are there now; one that is lost later keeps its number. */
static void find_devices(struct sonde__gpu_reader *r)
{
    unsigned count = 0;
    const nvmlReturn_t answer = SONDE_NVML(&r->nvml, nvmlDeviceGetCount_v2, &count);
    if (answer == NVML_SUCCESS && count)
        r->states = calloc(count, sizeof *r->states);
    if (!r->states)
        snprintf(r->why, sizeof r->why, "NVML has no devices: %s", answer ? say(&r->nvml, answer) : count ? "out of memory"
                                                                                                          : "this machine has none");
    for (unsigned i = 0; r->states && i < count; i++) {
        struct sonde__gpu_state *s = &r->states[r->count++];
        s->gpu.number = i;
        s->gpu.up = true;
        forget_values(&s->gpu);
        for (int k = 0; k < SONDE_GPU_METRICS; k++)
            s->gpu.before[k] = NAN;
        const nvmlReturn_t got = SONDE_NVML(&r->nvml, nvmlDeviceGetHandleByIndex_v2, i, &s->handle);
        if (got != NVML_SUCCESS) { /* such as a device that this user may not open */
            sonde_text_format(&r->notes, "device %u cannot be watched: %s\n", i, say(&r->nvml, got));
            r->count--;
            continue;
        }
        name_device(&r->nvml, s);
        sonde__gpu_gpm_begin(r, s);
    }
}

static void begin(struct sonde__gpu_reader *r, uint64_t now)
{
    if (r->tried_ns && now - r->tried_ns < RETRY_S * 1000000000ull)
        return;
    r->tried_ns = now;
    if (open_library(r))
        return;
    *r->why = '\0';
    r->begun = true;
    if (SONDE_NVML(&r->nvml, nvmlSystemGetDriverVersion, r->driver, sizeof r->driver - 1) != NVML_SUCCESS)
        *r->driver = '\0';
    find_devices(r);
}

static void end(struct sonde__gpu_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        sonde__gpu_gpm_end(r, &r->states[i]);
        sonde__gpu_pm_end(r, &r->states[i]);
        free(r->states[i].pm);
        free(r->states[i].gpu.counters);
        free(r->states[i].gpu.processes);
    }
    free(r->states);
    if (r->begun)
        SONDE_NVML(&r->nvml, nvmlShutdown);
    if (r->library)
        dlclose(r->library);
    sonde_text_fini(&r->notes);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A device that was lost answers again: it is back. Its other calls are not made before. */
static bool is_back(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    char uuid[96] = "";
    if (SONDE_NVML(&r->nvml, nvmlDeviceGetHandleByIndex_v2, s->gpu.number, &s->handle) != NVML_SUCCESS ||
        SONDE_NVML(&r->nvml, nvmlDeviceGetUUID, s->handle, uuid, sizeof uuid - 1) != NVML_SUCCESS || strcmp(uuid, s->gpu.uuid) != 0)
        return false;
    s->gpu.up = true;
    memset(s->read_ns, 0, sizeof s->read_ns);
    s->window[0].sampled_ns = s->window[1].sampled_ns = 0;
    sonde_text_format(&r->notes, "device %u, %s at %s, is back\n", s->gpu.number, s->gpu.name, s->gpu.bus);
    return true;
}

static uint64_t due_after(const struct sonde__gpu_reader *r, enum sonde__gpu_pace pace)
{
    uint64_t costly_ns = 0;
    for (size_t i = 0; i < r->count && pace == SONDE_GPU_COSTLY; i++)
        costly_ns += r->states[i].gpu.up ? r->states[i].costly_ns : 0;
    const uint64_t after_ns = costly_ns * COSTLY_SHARE;
    return after_ns < SECOND_NS ? SECOND_NS : (after_ns > MOST_NS ? MOST_NS : after_ns);
}

/* What takes long is read of one device at a look, unless looks are seldom. */
static bool is_due(const struct sonde__gpu_reader *r, const struct sonde__gpu_state *s, enum sonde__gpu_pace pace)
{
    const uint64_t after_ns = due_after(r, pace), since_ns = s->gpu.read_ns - s->read_ns[pace];
    if (!s->read_ns[pace])
        return true;
    return since_ns >= (pace == SONDE_GPU_COSTLY && r->costly_read ? after_ns + SECOND_NS : after_ns);
}

/* What is read at a pace is kept until it is read again. */
static void read_at(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, enum sonde__gpu_pace pace)
{
    struct sonde_gpu *g = &s->gpu;
    const uint64_t before_ns = processor_ns();
    if (!g->up || !is_due(r, s, pace))
        return;
    s->read_ns[pace] = g->read_ns;
    forget_values(g);
    sonde__gpu_values(r, s, pace);
    memcpy(s->kept[pace], g->value, sizeof s->kept[pace]);
    if (g->up)
        sonde__gpu_processes(r, s, pace);
    if (g->up && pace == SONDE_GPU_COSTLY)
        sonde__gpu_gpm(r, s, pace, now_ns());
    if (pace == SONDE_GPU_COSTLY) {
        s->costly_ns = processor_ns() - before_ns;
        r->costly_read = true;
    }
}

static void read_device(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    struct sonde_gpu *g = &s->gpu;
    memcpy(g->before, g->value, sizeof g->before);
    g->before_ns = g->read_ns;
    g->read_ns = now_ns();
    if (!g->up && !is_back(r, s))
        return;
    read_at(r, s, SONDE_GPU_SECOND);
    read_at(r, s, SONDE_GPU_COSTLY);
    for (int i = 0; i < SONDE_GPU_METRICS; i++)
        g->value[i] = isnan(s->kept[SONDE_GPU_SECOND][i]) ? s->kept[SONDE_GPU_COSTLY][i] : s->kept[SONDE_GPU_SECOND][i];
    if (g->up)
        sonde__gpu_values(r, s, SONDE_GPU_LOOK);
    if (g->up)
        sonde__gpu_gpm(r, s, SONDE_GPU_LOOK, now_ns());
    if (g->up && r->sampled)
        sonde__gpu_pm(r, s, now_ns());
    if (!g->up) {
        forget_values(g);
        g->process_count = 0;
    }
}

void sonde_gpus_read(struct sonde_gpus *gpus)
{
    struct sonde__gpu_reader *r = gpus->reader;
    if (!r->begun)
        begin(r, now_ns());
    r->costly_read = false;
    for (size_t i = 0; i < r->count; i++)
        read_device(r, &r->states[i]);
}

struct sonde_gpus *sonde_gpus_create(void)
{
    struct sonde_gpus *gpus = calloc(1, sizeof *gpus);
    struct sonde__gpu_reader *r = gpus ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        free(gpus);
        return NULL;
    }
    gpus->reader = r;
    return gpus;
}

static void free_shown(struct sonde_gpu *shown, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(shown[i].processes);
        free(shown[i].counters);
    }
    free(shown);
}

void sonde_gpus_destroy(struct sonde_gpus *gpus)
{
    if (!gpus)
        return;
    free_shown(gpus->gpus, gpus->count);
    sonde_text_fini(&gpus->notes);
    end(gpus->reader);
    free(gpus->reader);
    free(gpus);
}

void sonde_gpus_sample(struct sonde_gpus *gpus, const char *list, uint64_t interval_ns)
{
    gpus->reader->sampled = list;
    gpus->reader->sampling_ns = interval_ns;
}

static void *copy_of(const void *items, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    if (copy && bytes)
        memcpy(copy, items, bytes);
    return copy;
}

static bool show(struct sonde_gpu *shown, const struct sonde_gpu *g)
{
    *shown = *g;
    shown->processes = copy_of(g->processes, g->process_count * sizeof *g->processes);
    shown->counters = copy_of(g->counters, g->counter_count * sizeof *g->counters);
    return shown->processes && shown->counters;
}

int sonde_gpus_show(struct sonde_gpus *gpus)
{
    struct sonde__gpu_reader *r = gpus->reader;
    struct sonde_gpu *shown = calloc(r->count + 1, sizeof *shown);
    for (size_t i = 0; shown && i < r->count; i++)
        if (!show(&shown[i], &r->states[i].gpu)) {
            free_shown(shown, i + 1);
            shown = NULL;
        }
    if (!shown)
        return SONDE_ENOMEM;
    free_shown(gpus->gpus, gpus->count);
    gpus->gpus = shown;
    gpus->count = r->count;
    gpus->failed = r->failed;
    gpus->lost = r->lost;
    memcpy(gpus->driver, r->driver, sizeof gpus->driver);
    memcpy(gpus->why, r->why, sizeof gpus->why);
    sonde_text_add(&gpus->notes, sonde_text_get(&r->notes));
    sonde_text_fini(&r->notes);
    return 0;
}

#else

struct sonde_gpus *sonde_gpus_create(void)
{
    struct sonde_gpus *gpus = calloc(1, sizeof *gpus);
    if (gpus)
        snprintf(gpus->why, sizeof gpus->why, "this sonde was built without CUDA's headers");
    return gpus;
}

void sonde_gpus_destroy(struct sonde_gpus *gpus)
{
    free(gpus);
}

void sonde_gpus_sample(struct sonde_gpus *gpus, const char *list, uint64_t interval_ns)
{
    (void)gpus;
    (void)list;
    (void)interval_ns;
}

bool sonde_gpus_can_sample(const char *list)
{
    return *list;
}

void sonde_gpus_read(struct sonde_gpus *gpus)
{
    (void)gpus;
}

int sonde_gpus_show(struct sonde_gpus *gpus)
{
    (void)gpus;
    return 0;
}
#endif

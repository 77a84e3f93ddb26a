/* gpu_pm.c - what a device's hardware counts, whoever uses it: CUPTI's PM sampling (src/counters/sampling.h). See nvml.h.
 *
 * The device notes its counters at each interval; a look takes what it has noted since the one before. Counts are added up, other values with the time that they
 * are of, so that both are counters: of whatever window somebody takes, the sum or the mean is right.
 */
#ifdef SONDE_CUDA
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kinds.h"
#include "counters/sampling.h"
#include "cupti.h"
#include "nvml.h"

#define RETRY_NS 60000000000u

_Static_assert(SONDE_GPU_COUNTERS_MAX == SONDE_METRICS_MAX, "as many as can be asked for");

struct sonde__gpu_pm {
    struct sonde_metrics wanted; /* by name alone; what is shown has these names */
    struct sonde_sampling sampling;
    size_t place[SONDE_METRICS_MAX]; /* of a metric that is sampled among the wanted */
    uint64_t tried_ns;
    char said[1024];             /* the last notes: each is said once */
    struct sonde_gpu *gpu;
};

static struct { /* of the process */
    struct sonde_text notes;     /* of the device that is read */
    char why[256];
    void *driver;                /* NULL: not opened, or `why` not */
    bool opened;
} pm;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sonde_text_add(&pm.notes, text);
    sonde_text_add(&pm.notes, "\n");
}

static const char *open_libraries(void)
{
    static struct sonde_metrics_cupti in = {.path = "libcupti.so", .note = note};
    in.library = sonde_cupti_open();
    if (!in.library)
        return SONDE_CUPTI_MISSING;
    sonde__metrics_use(&in);
    const char *why = sonde__metrics_begin(pm.why, sizeof pm.why);
    if (!why)
        why = sonde__sampling_begin(pm.why, sizeof pm.why);
    if (!why && !(pm.driver = sonde_cuda_driver_open()))
        why = "CUDA does not begin";
    return why;
}

bool sonde_gpus_can_sample(const char *list)
{
    struct sonde_metrics m = {.count = 0};
    return sonde__metrics_expand(&m, list);
}

/* CUDA's number of it: by its address, since NVML's is another order. */
static bool find_ordinal(const struct sonde_gpu *g, uint32_t *ordinal)
{
    CUresult (*find)(CUdevice *, const char *);
    CUdevice device;
    *(void **)&find = dlsym(pm.driver, "cuDeviceGetByPCIBusId");
    if (!find || find(&device, g->bus) != CUDA_SUCCESS) {
        note("counters: CUDA does not show this device (CUDA_VISIBLE_DEVICES?)");
        return false;
    }
    *ordinal = (uint32_t)device;
    return true;
}

/* ---- what is shown -------------------------------------------------------------------------------- */

static bool make(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    struct sonde__gpu_pm *p = calloc(1, sizeof *p);
    if (!p || !sonde__metrics_expand(&p->wanted, r->sampled) || !(s->gpu.counters = calloc(p->wanted.count, sizeof *s->gpu.counters))) {
        free(p);
        return false;
    }
    s->gpu.counter_count = p->wanted.count;
    for (size_t i = 0; i < p->wanted.count; i++)
        s->gpu.counters[i] = (struct sonde_gpu_counter){.metric = p->wanted.names[i], .adds_up = sonde_counter_adds_up(p->wanted.names[i]), .total = NAN};
    p->gpu = &s->gpu;
    s->pm = p;
    return true;
}

static void find_places(struct sonde__gpu_pm *p)
{
    for (size_t i = 0; i < p->sampling.metrics.count; i++)
        for (size_t k = 0; k < p->wanted.count; k++)
            if (strcmp(p->sampling.metrics.names[i], p->wanted.names[k]) == 0) {
                struct sonde_gpu_counter *c = &p->gpu->counters[k];
                p->place[i] = k;
                snprintf(c->unit, sizeof c->unit, "%s", p->sampling.metrics.units[i]);
                c->total = fmax(c->total, 0); /* 0 in place of NAN */
            }
}

static void add_up(void *user, uint64_t from, uint64_t to, const double *values)
{
    struct sonde__gpu_pm *p = user;
    const double seconds = (double)(to - from) / 1e9;
    p->gpu->sampled_s += seconds;
    for (size_t i = 0; i < p->sampling.metrics.count; i++) {
        struct sonde_gpu_counter *c = &p->gpu->counters[p->place[i]];
        if (isfinite(values[i]) && values[i] > 0)
            c->total += c->adds_up ? values[i] : values[i] * seconds;
    }
}

/* ---- a device ------------------------------------------------------------------------------------- */

/* What was noted is said with the device's number, unless that was said last. */
static void say(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    const char *text = sonde_text_get(&pm.notes);
    if (*text && strcmp(text, s->pm->said) != 0) {
        snprintf(s->pm->said, sizeof s->pm->said, "%s", text);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            sonde_text_format(&r->notes, "device %u: %.*s\n", s->gpu.number, (int)strcspn(line, "\n"), line);
    }
    sonde_text_fini(&pm.notes);
}

static void begin(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, uint64_t now_ns)
{
    struct sonde__gpu_pm *p = s->pm;
    uint32_t ordinal;
    if (p->tried_ns && now_ns - p->tried_ns < RETRY_NS)
        return;
    p->tried_ns = now_ns;
    if (find_ordinal(&s->gpu, &ordinal) && sonde__sampling_open(&p->sampling, ordinal, r->sampled, r->sampling_ns, NULL))
        find_places(p);
    else
        sonde__sampling_end(&p->sampling, add_up, p);
}

void sonde__gpu_pm(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, uint64_t now_ns)
{
    if (!pm.opened) {
        const char *why = open_libraries();
        pm.opened = true;
        if (why)
            sonde_text_format(&r->notes, "the hardware's counters are not sampled: %s\n", why);
    }
    if (!pm.driver || (!s->pm && !make(r, s)))
        return;
    if (!s->pm->sampling.started)
        begin(r, s, now_ns);
    else if (!sonde__sampling_take(&s->pm->sampling, add_up, s->pm))
        sonde__sampling_end(&s->pm->sampling, add_up, s->pm);
    say(r, s);
}

void sonde__gpu_pm_end(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    if (!s->pm)
        return;
    sonde__sampling_end(&s->pm->sampling, add_up, s->pm);
    say(r, s);
}
#endif

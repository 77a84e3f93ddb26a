/* joined.c - see joined.h. */
#include "joined.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/option.h"

struct device { /* by NVML's number */
    double total[SONDE_GPU_COUNTERS_MAX], sampled_s;     /* at the last look */
    double waiting[SONDE_GPU_COUNTERS_MAX], waiting_s;   /* of looks at which no operation had ended */
};

struct sonde_joined {
    struct device *devices;
    size_t device_count;
    struct sonde_watch_counter counters[SONDE_GPU_COUNTERS_MAX];
    uint64_t looked_ns; /* when the newest figures of programs that are in were read, */
    uint64_t then_ns;   /* and when the last look here was: CLOCK_MONOTONIC, and CLOCK_MONOTONIC_RAW */
};

struct sonde_joined *sonde_joined_create(void)
{
    return calloc(1, sizeof(struct sonde_joined));
}

void sonde_joined_destroy(struct sonde_joined *j)
{
    if (j)
        free(j->devices);
    free(j);
}

static bool make_room(struct sonde_joined *j, size_t count)
{
    if (count <= j->device_count)
        return true;
    struct device *more = realloc(j->devices, count * sizeof *more);
    if (!more)
        return false;
    memset(more + j->device_count, 0, (count - j->device_count) * sizeof *more);
    j->devices = more;
    j->device_count = count;
    return true;
}

/* ---- operations that ended ------------------------------------------------------------------------ */

/* How long those of a row ran that ended since the look before, on the device at this address. */
static double ran_ns(const struct sonde_joined *j, const struct sonde_watch_process *p, const struct sonde_watch_row *row, uint32_t pci)
{
    const bool fresh = p->looked_ns > j->looked_ns;                            /* one that ended keeps its last figures */
    const bool known = p->looked_before_ns || p->start_ns > j->then_ns;        /* what was done before it was met is nobody's */
    return fresh && known && pci && p->devices[row->device].pci == pci ? (double)(row->now.total_ns - row->before.total_ns) : 0;
}

static double all_ran_ns(const struct sonde_joined *j, const struct sonde_watch *watch, uint32_t pci)
{
    double sum = 0;
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].row_count; k++)
            sum += ran_ns(j, &watch->processes[i], &watch->processes[i].rows[k], pci);
    return sum;
}

static void add_share(struct sonde_watch_row *row, const double *counted, size_t count, double share)
{
    if (!row->counted)
        row->counted = calloc(SONDE_GPU_COUNTERS_MAX, sizeof *row->counted);
    for (size_t i = 0; row->counted && i < count; i++)
        row->counted[i] += counted[i] * share;
}

/* ---- a device --------------------------------------------------------------------------------------- */

/* What it counted since the look before, and for how long it was sampled. */
static double grown(struct device *d, const struct sonde_gpu *gpu, double *counted)
{
    const double seconds = gpu->sampled_s - d->sampled_s;
    for (size_t i = 0; i < gpu->counter_count; i++) {
        const double total = gpu->counters[i].adds_up && !isnan(gpu->counters[i].total) ? gpu->counters[i].total : 0;
        counted[i] = total - d->total[i];
        d->total[i] = total;
    }
    d->sampled_s = gpu->sampled_s;
    return seconds;
}

/* Operations that ran for longer than since the look before have some of what waits. */
static void take_waiting(struct device *d, double *counted, size_t count, double longer_s)
{
    const double share = d->waiting_s > 0 && longer_s > 0 ? fmin(1, longer_s / d->waiting_s) : 0;
    for (size_t i = 0; i < count; i++)
        counted[i] += d->waiting[i] * share;
    memset(d->waiting, 0, sizeof d->waiting);
    d->waiting_s = 0;
}

static void join_device(const struct sonde_joined *j, struct device *d, const struct sonde_gpu *gpu, struct sonde_watch *watch)
{
    const uint32_t pci = sonde_parse_pci(gpu->bus);
    const double ran = all_ran_ns(j, watch, pci);
    double counted[SONDE_GPU_COUNTERS_MAX];
    const double seconds = grown(d, gpu, counted);
    if (!(ran > 0)) {
        for (size_t i = 0; i < gpu->counter_count; i++)
            d->waiting[i] += counted[i];
        d->waiting_s += seconds;
        return;
    }
    take_waiting(d, counted, gpu->counter_count, ran / 1e9 - seconds);
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].row_count; k++) {
            const double ns = ran_ns(j, &watch->processes[i], &watch->processes[i].rows[k], pci);
            if (ns > 0)
                add_share(&watch->processes[i].rows[k], counted, gpu->counter_count, ns / ran);
        }
}

/* The same of all devices, but for those that one does not have. */
static void name_counters(struct sonde_joined *j, const struct sonde_gpu *gpu, struct sonde_watch *watch)
{
    for (size_t i = 0; i < gpu->counter_count; i++) {
        const struct sonde_gpu_counter *c = &gpu->counters[i];
        if (c->adds_up && !isnan(c->total)) {
            j->counters[i].metric = c->metric;
            memcpy(j->counters[i].unit, c->unit, sizeof c->unit);
        }
    }
    watch->counters = j->counters;
    watch->counter_count = gpu->counter_count;
}

void sonde_joined_look(struct sonde_joined *j, const struct sonde_gpus *gpus, struct sonde_watch *watch)
{
    if (!make_room(j, gpus->count))
        return;
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->gpus[i].counter_count) {
            name_counters(j, &gpus->gpus[i], watch);
            join_device(j, &j->devices[i], &gpus->gpus[i], watch);
        }
    for (size_t i = 0; i < watch->process_count; i++)
        if (watch->processes[i].looked_ns > j->looked_ns)
            j->looked_ns = watch->processes[i].looked_ns;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    j->then_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* series.c - counters of the hardware over time (--counter-series), by CUPTI's PM sampling: the device counts all the time, whoever uses it, and
 * notes the counts at each interval, beside the program. docs/counters.md.
 *
 * One thread of ours (aside.h) begins it on each device that the program uses, and takes what the devices have noted from time to time; the monitor
 * brings it to the host's axis. Reading would keep the program's records waiting there (a millisecond a call, and 20 to 40 µs a sample, on an H100).
 */
#include "sonde_cuda.h"

#include <stdio.h>
#include <string.h>

#include "aside.h"
#include "counters/sampling.h"
#include "guest/lock.h"

#define DEVICES_MAX    16u
#define RING           8192u     /* samples on their way to the monitor, which comes for them every few milliseconds */
#define TURN_NS        50000000  /* between two looks at the devices */

struct device { /* the thread's, but for what is said otherwise */
    _Atomic uint32_t wanted;          /* its number, plus one; the program's threads */
    bool open, broken;
    struct sonde_sampling sampling;
    uint8_t *ring;                    /* RING samples: from, to, and a value for each metric */
    _Atomic uint32_t head, tail;      /* the monitor's, the thread's */
    _Atomic uint64_t lost;            /* samples that found no room */
    _Atomic bool ready;               /* `sampling.metrics` and `ring` are there to be read */
    uint32_t lanes[SONDE_METRICS_MAX]; /* the monitor's, as all below */
    bool named;
    uint64_t cupti_ns, host_ns;       /* the end of the last sample, on both axes */
};

static struct {
    bool on;
    uint64_t interval_ns;
    char list[1024];
    struct sonde_lock lock;           /* of what follows: the program's threads */
    uint32_t count;
    struct device devices[DEVICES_MAX];
} s;

static void work(bool last);
static struct sonde_cuda_aside aside = {.name = "sonde-series", .what = "counters", .work = work};

const char *sonde__cuda_series_begin(const char *list, uint64_t interval_ns, char *room, size_t size)
{
    struct sonde_metrics probe = {.count = 0};
    const char *why = sonde__cupti_counters();
    if (!why)
        why = sonde__metrics_begin(room, size);
    if (!why)
        why = sonde__sampling_begin(room, size);
    if (why)
        return why;
    snprintf(s.list, sizeof s.list, "%s", *list ? list : SONDE_COUNTER_SERIES_DEFAULT);
    if (!sonde__metrics_expand(&probe, s.list)) {
        snprintf(room, size, "%s is no list of at most %u metrics", s.list, SONDE_METRICS_MAX);
        return room;
    }
    s.interval_ns = interval_ns;
    s.count = 0;
    sonde__cuda_aside_again(&aside);
    memset(s.devices, 0, sizeof s.devices);
    s.on = true;
    return NULL;
}

/* ---- a device --------------------------------------------------------------------------------------- */

static size_t sample_bytes(const struct device *d)
{
    return 2 * sizeof(uint64_t) + d->sampling.metrics.count * sizeof(double);
}

/* The program ends meanwhile, and soon the driver does: it takes half a second to begin. */
static bool is_over(void)
{
    return sonde__cuda_aside_closes(&aside);
}

static void keep_sample(void *user, uint64_t from, uint64_t to, const double *values)
{
    struct device *d = user;
    const uint32_t tail = atomic_load_explicit(&d->tail, memory_order_relaxed);
    if (!d->ring || tail - atomic_load_explicit(&d->head, memory_order_acquire) == RING) {
        atomic_fetch_add(&d->lost, 1);
        return;
    }
    uint8_t *at = d->ring + tail % RING * sample_bytes(d);
    memcpy(at, (uint64_t[]){from, to}, 2 * sizeof(uint64_t));
    memcpy(at + 2 * sizeof(uint64_t), values, d->sampling.metrics.count * sizeof *values);
    atomic_store_explicit(&d->tail, tail + 1, memory_order_release);
}

static bool open_device(struct device *d, uint32_t ordinal)
{
    if (!sonde__sampling_open(&d->sampling, ordinal, s.list, s.interval_ns, is_over))
        return false;
    d->ring = sonde__pages_get(RING * sample_bytes(d));
    if (!d->ring) {
        sonde_note("counters: no memory for samples");
        return false;
    }
    atomic_store_explicit(&d->ready, true, memory_order_release);
    return true;
}

/* ---- the thread ----------------------------------------------------------------------------------------- */

static void look(struct device *d)
{
    const uint32_t wanted = atomic_load_explicit(&d->wanted, memory_order_acquire);
    if (!wanted || d->broken)
        return;
    if (d->open)
        d->broken = !sonde__sampling_take(&d->sampling, keep_sample, d);
    else
        d->broken = !(d->open = open_device(d, wanted - 1));
}

static void work(bool last)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        if (last)
            sonde__sampling_stop(&s.devices[i].sampling, keep_sample, &s.devices[i]);
        else
            look(&s.devices[i]);
    }
}

void sonde__cuda_series_device(uint32_t ordinal)
{
    if (!s.on)
        return;
    sonde__lock(&s.lock);
    bool known = false;
    for (uint32_t i = 0; i < s.count && !known; i++)
        known = atomic_load(&s.devices[i].wanted) == ordinal + 1;
    if (!known && s.count < DEVICES_MAX)
        atomic_store_explicit(&s.devices[s.count++].wanted, ordinal + 1, memory_order_release);
    sonde__unlock(&s.lock);
    sonde__cuda_aside_start(&aside);
}

/* ---- the monitor --------------------------------------------------------------------------------------- */

static void name(struct device *d)
{
    const struct sonde_cuda_device *device = sonde__cuda_device(atomic_load(&d->wanted) - 1);
    for (size_t i = 0; i < d->sampling.metrics.count && device; i++)
        d->lanes[i] = sonde_series_add(atomic_load(&device->id), d->sampling.metrics.names[i], d->sampling.metrics.units[i]);
    d->named = true;
}

/* One sample follows the other: so do its times on the host's axis, whatever pair of readings each is brought there with. */
static void hand_on(struct device *d, const uint8_t *sample)
{
    uint64_t times[2];
    double values[SONDE_METRICS_MAX];
    memcpy(times, sample, sizeof times);
    memcpy(values, sample + sizeof times, d->sampling.metrics.count * sizeof *values);
    const uint64_t from_ns = times[0] == d->cupti_ns ? d->host_ns : sonde__cuda_clock_host(times[0]), to_ns = sonde__cuda_clock_host(times[1]);
    for (size_t i = 0; i < d->sampling.metrics.count; i++)
        sonde_series_value(d->lanes[i], from_ns, to_ns, values[i]);
    d->cupti_ns = times[1];
    d->host_ns = to_ns;
}

static void collect(struct device *d)
{
    uint32_t head = atomic_load_explicit(&d->head, memory_order_relaxed);
    const uint32_t tail = atomic_load_explicit(&d->tail, memory_order_acquire);
    if (!atomic_load_explicit(&d->ready, memory_order_acquire) || head == tail)
        return;
    if (!d->named)
        name(d);
    sonde__cuda_clock_pair(); /* every sample is older than this */
    for (; head != tail; head++)
        hand_on(d, d->ring + head % RING * sample_bytes(d));
    atomic_store_explicit(&d->head, head, memory_order_release);
    const uint64_t lost = atomic_exchange(&d->lost, 0);
    for (size_t i = 0; i < d->sampling.metrics.count && lost; i++)
        sonde_series_lost(d->lanes[i], lost);
}

static void collect_all(void)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        collect(&s.devices[i]);
}

void sonde__cuda_series_turn(void)
{
    if (!s.on)
        return;
    sonde__cuda_aside_turn(&aside, TURN_NS);
    collect_all();
}

void sonde__cuda_series_last(uint64_t patience_ns)
{
    if (s.on)
        sonde__cuda_aside_last(&aside, patience_ns, collect_all);
}

void sonde__cuda_series_forget(void)
{
    s.on = false; /* CUDA does not work there */
}

/* clock.c - from a device's profiling clock to the host's axis (CLOCK_MONOTONIC_RAW).
 *
 * OpenCL does not say which clock profiling times are on. PoCL uses
 * CLOCK_MONOTONIC_RAW, others CLOCK_MONOTONIC or CLOCK_REALTIME (some in whole
 * microseconds), GPUs a counter of their own. So the first operation on each
 * device is a probe: every candidate clock is read before and after the API
 * call, and QUEUED, which lies between, tells which clock it was; where the call
 * took so long that several fit, END does, which is over when it is asked, and if
 * that does not decide, clGetDeviceAndHostTimer where that works. When none
 * fits, the clock is the device's own; clGetDeviceAndHostTimer ties it where
 * that works, else the probe itself does, with the bracket's half as its bound.
 *
 * A clock that is not the axis itself is followed by pairs (host, device): one
 * is kept, renewed by clock_sync() every few seconds, and on the way whenever
 * an event lies further than RENEW_NS from it, because clocks drift and step.
 * Times are never clamped: one that lies before its API call is kept and counted
 * (early_in_bound, beyond the bound bad_time), since it says how wrong a clock is,
 * and a time that was moved would look as good as any other.
 */
#include "opencl.h"

#include <time.h>

#include "guest/lock.h"
#include "guest/memory.h"

enum domain {
    UNKNOWN,
    PROBING,
    RAW,
    MONOTONIC,
    REAL,
    DEVICE,
    PROBED,
};

#define RENEW_NS  100000000u  /* 0.1 s: 50 ppm of drift are 5 us by then */
#define SLACK_NS  2000u       /* clocks with whole microseconds, and their rounding */
#define PATIENCE_NS 1000000000u
#define SHARP_NS  500u        /* a pair this close needs no second reading */
#define TRIES     4

struct pair {
    uint64_t host_ns, device_ns, bound_ns;
};

struct sonde_cl_clock {
    cl_device_id device;
    _Atomic int domain;
    struct sonde_lock lock; /* what follows */
    uint64_t probe_token;
    struct sonde_cl_bracket before, after;
    struct pair pair;
    size_t step_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

struct sonde_cl_clock *sonde__cl_clock_create(cl_device_id device)
{
    struct sonde_cl_clock *clock = sonde__memory_get(sizeof *clock);
    if (clock)
        clock->device = device;
    return clock;
}

void sonde__cl_bracket_take(struct sonde_cl_bracket *bracket)
{
    bracket->raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
    bracket->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    bracket->real_ns = clock_ns(CLOCK_REALTIME);
}

bool sonde__cl_clock_wanted(struct sonde_cl_clock *clock)
{
    return clock && atomic_load_explicit(&clock->domain, memory_order_relaxed) == UNKNOWN;
}

void sonde__cl_clock_probe(struct sonde_cl_clock *clock, uint64_t token,
                           const struct sonde_cl_bracket *before)
{
    sonde__lock(&clock->lock);
    if (atomic_load_explicit(&clock->domain, memory_order_relaxed) == UNKNOWN) {
        clock->probe_token = token;
        clock->before = *before;
        sonde__cl_bracket_take(&clock->after);
        atomic_store_explicit(&clock->domain, PROBING, memory_order_relaxed);
    }
    sonde__unlock(&clock->lock);
}

void sonde__cl_clock_lost(struct sonde_cl_clock *clock, uint64_t token)
{
    if (!clock || atomic_load_explicit(&clock->domain, memory_order_relaxed) != PROBING)
        return;
    sonde__lock(&clock->lock);
    if (clock->probe_token == token &&
        atomic_load_explicit(&clock->domain, memory_order_relaxed) == PROBING)
        atomic_store_explicit(&clock->domain, UNKNOWN, memory_order_relaxed);
    sonde__unlock(&clock->lock);
}

/* How far `queued` lies outside of [before, after]. */
static uint64_t outside(uint64_t queued, uint64_t before, uint64_t after)
{
    return queued < before ? before - queued : (queued > after ? queued - after : 0);
}

/* Of an event, as the device has them. */
struct seen {
    uint64_t queued_ns, end_ns;
};

/* Which of these (a bit each, from RAW on) does the device tell now? DEVICE: none, or it does not tell. */
static enum domain domain_now(cl_device_id device, unsigned of)
{
    struct sonde_cl_bracket before, after;
    cl_ulong on_device = 0, on_host;
    sonde__cl_bracket_take(&before);
    if (sonde__cl_target(device)->clGetDeviceAndHostTimer(device, &on_device, &on_host) != CL_SUCCESS)
        return DEVICE;
    sonde__cl_bracket_take(&after);
    const uint64_t out[] = {outside(on_device, before.raw_ns, after.raw_ns), outside(on_device, before.monotonic_ns, after.monotonic_ns),
                            outside(on_device, before.real_ns, after.real_ns)};
    for (unsigned i = 0; i < 3; i++)
        if (of >> i & 1 && out[i] < SLACK_NS)
            return RAW + i;
    return DEVICE;
}

/* Which clock read `queued` between the two brackets, and `end` before now? The axis itself wins a tie. */
static enum domain domain_of(cl_device_id device, const struct sonde_cl_bracket *before,
                             const struct sonde_cl_bracket *after, struct seen event)
{
    struct sonde_cl_bracket now;
    sonde__cl_bracket_take(&now);
    const uint64_t out[] = {
        outside(event.queued_ns, before->raw_ns, after->raw_ns) + outside(event.end_ns, 0, now.raw_ns),
        outside(event.queued_ns, before->monotonic_ns, after->monotonic_ns) + outside(event.end_ns, 0, now.monotonic_ns),
        outside(event.queued_ns, before->real_ns, after->real_ns) + outside(event.end_ns, 0, now.real_ns),
    };
    enum domain best = DEVICE;
    uint64_t least = SLACK_NS;
    unsigned fit = 0;
    for (unsigned i = 0; i < 3; i++) {
        fit |= (out[i] < SLACK_NS) << i;
        if (out[i] < least) {
            least = out[i];
            best = RAW + i;
        }
    }
    const enum domain told = fit & (fit - 1) ? domain_now(device, fit) : DEVICE;
    return told != DEVICE ? told : best;
}

/* A reading of a clock that is not the axis, between two of the axis. */
static bool pair_read_once(enum domain domain, cl_device_id device, struct pair *pair)
{
    cl_ulong on_device = 0, on_host;
    const uint64_t before_ns = sonde_now_ns();
    if (domain == RAW)
        on_device = before_ns;
    else if (domain == MONOTONIC)
        on_device = clock_ns(CLOCK_MONOTONIC);
    else if (domain == REAL)
        on_device = clock_ns(CLOCK_REALTIME);
    else if (sonde__cl_target(device)->clGetDeviceAndHostTimer(device, &on_device, &on_host) != CL_SUCCESS)
        return false;
    const uint64_t after_ns = domain == RAW ? before_ns : sonde_now_ns();
    *pair = (struct pair){.host_ns = before_ns + (after_ns - before_ns) / 2,
                          .device_ns = on_device,
                          .bound_ns = (after_ns - before_ns + 1) / 2};
    return true;
}

/* The sharpest of a few: between two readings the thread may have been away. */
static bool pair_read(enum domain domain, cl_device_id device, struct pair *pair)
{
    struct pair next;
    if (!pair_read_once(domain, device, pair))
        return false;
    for (int i = 0; i < TRIES && pair->bound_ns > SHARP_NS; i++)
        if (pair_read_once(domain, device, &next) && next.bound_ns < pair->bound_ns)
            *pair = next;
    return true;
}

/* With the clock's lock held. Times in steps, of a microsecond on some devices,
 * are wrong by up to one step besides. */
static bool pair_renew(struct sonde_cl_clock *clock, enum domain domain)
{
    if (!pair_read(domain, clock->device, &clock->pair))
        return false;
    if (domain != RAW)
        clock->pair.bound_ns += clock->step_ns;
    return true;
}

/* The probe's times are there. With the clock's lock held. */
static enum domain identify(struct sonde_cl_clock *clock, struct seen probe)
{
    sonde__cl_target(clock->device)
        ->clGetDeviceInfo(clock->device, CL_DEVICE_PROFILING_TIMER_RESOLUTION,
                          sizeof clock->step_ns, &clock->step_ns, NULL);
    enum domain domain = domain_of(clock->device, &clock->before, &clock->after, probe);
    if (domain == DEVICE && !pair_renew(clock, DEVICE)) {
        const uint64_t width_ns = clock->after.raw_ns - clock->before.raw_ns;
        clock->pair = (struct pair){.host_ns = clock->before.raw_ns + width_ns / 2,
                                    .device_ns = probe.queued_ns,
                                    .bound_ns = width_ns / 2 + clock->step_ns};
        domain = PROBED;
    } else if (domain != RAW && domain != DEVICE) {
        pair_renew(clock, domain);
    }
    atomic_store_explicit(&clock->domain, domain, memory_order_release);
    return domain;
}

/* An event that is not the probe may be asked about first, and the probe then
 * stands behind it: look at the probe from here. With the clock's lock held,
 * under which the probe's event is not released. */
static bool probe_seen(const struct sonde_cl_clock *clock, struct seen *probe)
{
    cl_event event = (cl_event)(uintptr_t)clock->probe_token;
    const cl_icd_dispatch *real = sonde__cl_target(event);
    cl_int status = CL_QUEUED;
    return real->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                NULL) == CL_SUCCESS &&
           status == CL_COMPLETE &&
           real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof probe->queued_ns,
                                         &probe->queued_ns, NULL) == CL_SUCCESS &&
           real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof probe->end_ns,
                                         &probe->end_ns, NULL) == CL_SUCCESS;
}

static void shift(struct sonde_times *times, uint64_t host_ns, uint64_t device_ns)
{
    const uint64_t offset = host_ns - device_ns; /* modulo 2^64, as the sums are */
    times->queued_ns += offset;
    times->submit_ns += offset;
    times->start_ns += offset;
    times->end_ns += offset;
}

bool sonde__cl_clock_convert(struct sonde_cl_device *device, uint64_t token,
                             struct sonde_times *times)
{
    struct sonde_cl_clock *clock = device ? device->clock : NULL;
    bool found_out = false;
    if (!clock)
        return true;
    enum domain domain = atomic_load_explicit(&clock->domain, memory_order_acquire);
    if (domain == RAW)
        return true;
    sonde__lock(&clock->lock);
    domain = atomic_load_explicit(&clock->domain, memory_order_relaxed);
    bool known = domain > PROBING;
    const struct seen event = {times->queued_ns, times->end_ns};
    struct seen probe = event;
    if (domain == PROBING && (token == clock->probe_token || probe_seen(clock, &probe))) {
        domain = identify(clock, probe);
        known = found_out = true;
    } else if (!known && sonde_now_ns() - clock->before.raw_ns > PATIENCE_NS) {
        /* The probe hangs on something. Any event that is over tells, less sharply. */
        struct sonde_cl_bracket now;
        sonde__cl_bracket_take(&now);
        domain = domain_of(clock->device, &clock->before, &now, event);
        known = domain != DEVICE || pair_renew(clock, DEVICE);
    }
    if (known && domain != RAW) {
        if (domain != PROBED && distance(times->end_ns, clock->pair.device_ns) > RENEW_NS)
            pair_renew(clock, domain);
        shift(times, clock->pair.host_ns, clock->pair.device_ns);
    }
    const struct pair pair = clock->pair;
    sonde__unlock(&clock->lock);
    if (found_out && domain != RAW) /* the bound must be known before these times are judged */
        sonde_clock_pair(device->id, pair.host_ns, pair.device_ns, pair.bound_ns);
    return known;
}

void sonde__cl_clock_sync(struct sonde_cl_device *device)
{
    struct sonde_cl_clock *clock = device->clock;
    if (!clock)
        return;
    sonde__lock(&clock->lock);
    const enum domain domain = atomic_load_explicit(&clock->domain, memory_order_relaxed);
    const bool known = domain > PROBING && (domain == PROBED || pair_renew(clock, domain));
    const struct pair pair = clock->pair;
    sonde__unlock(&clock->lock);
    if (known)
        sonde_clock_pair(device->id, pair.host_ns, pair.device_ns, pair.bound_ns);
    if (domain == PROBED)
        sonde_note("a device clock is aligned with the host clock by one operation only, within %llu ns: "
                   "it has no clGetDeviceAndHostTimer",
                   (unsigned long long)pair.bound_ns);
}

/* clock.c - CUPTI's clock on the host's axis.
 *
 * CUPTI reports the times of every device on one clock of its own. Pairs of
 * readings tie it to CLOCK_MONOTONIC_RAW: the one that a reading of the axis
 * before and one after enclose most closely. A pair is taken whenever records
 * arrived, so that a record lies between two pairs, and its time is
 * interpolated. Never a timestamp callback: CUPTI 12.6 U2 to 13.0 then reports
 * zero times.
 *
 * A step of CUPTI's clock between two pairs shows as a rate that no oscillator
 * has; where in between it happened is not known, so the bound becomes its size.
 */
#include "sonde_cuda.h"

#define PAIRS     512u /* at one per second and more, minutes: records are never that old */
#define READINGS  5
#define DRIFT_PPM 1000 /* more is a step */

struct pair { uint64_t host_ns, cupti_ns, bound_ns; };

static struct {
    struct pair pair[PAIRS];
    uint32_t next, count;
} pairs;

static bool read_pair(struct pair *best)
{
    *best = (struct pair){.bound_ns = UINT64_MAX};
    for (int i = 0; i < READINGS; i++) {
        uint64_t cupti_ns = 0;
        const uint64_t before_ns = sonde_now_ns();
        const CUptiResult result = sonde__cupti.cuptiGetTimestamp(&cupti_ns);
        const uint64_t after_ns = sonde_now_ns(), bound_ns = (after_ns - before_ns + 1) / 2;
        if (result == CUPTI_SUCCESS && cupti_ns && bound_ns < best->bound_ns)
            *best = (struct pair){before_ns + (after_ns - before_ns) / 2, cupti_ns, bound_ns};
    }
    return best->bound_ns != UINT64_MAX;
}

static struct pair *newest(void)
{
    return pairs.count ? &pairs.pair[(pairs.next + PAIRS - 1) % PAIRS] : NULL;
}

void sonde__cuda_clock_pair(void)
{
    struct pair now;
    const struct pair *before = newest();
    if (!read_pair(&now))
        return;
    if (before) {
        const int64_t host = (int64_t)(now.host_ns - before->host_ns);
        const int64_t off = (int64_t)(now.cupti_ns - before->cupti_ns) - host;
        const int64_t likely = host / 1000000 * DRIFT_PPM + (int64_t)(now.bound_ns + before->bound_ns) + 1000;
        if (off > likely || off < -likely) {
            now.bound_ns += (uint64_t)(off < 0 ? -off : off);
            sonde_note("CUPTI's clock jumped by %lld ns; times near that may be wrong by as much",
                       (long long)off);
        }
    }
    pairs.pair[pairs.next] = now;
    pairs.next = (pairs.next + 1) % PAIRS;
    pairs.count += pairs.count < PAIRS;
}

/* On the line through two pairs; with one pair, at its distance. */
static uint64_t between(const struct pair *a, const struct pair *b, uint64_t cupti_ns)
{
    const int64_t along = (int64_t)(cupti_ns - a->cupti_ns), whole = (int64_t)(b->cupti_ns - a->cupti_ns);
    if (whole <= 0)
        return a->host_ns + (uint64_t)along;
    const double rate = (double)(int64_t)(b->host_ns - a->host_ns) / (double)whole;
    return a->host_ns + (uint64_t)along + (uint64_t)(int64_t)((double)along * (rate - 1.0));
}

uint64_t sonde__cuda_clock_host(uint64_t cupti_ns)
{
    if (!cupti_ns || !pairs.count)
        return 0;
    const uint32_t oldest = (pairs.next + PAIRS - pairs.count) % PAIRS;
    /* Newest first: that is where most records are. */
    for (uint32_t i = 1; i < pairs.count; i++) {
        const struct pair *a = &pairs.pair[(pairs.next + 2 * PAIRS - 1 - i) % PAIRS];
        if (a->cupti_ns <= cupti_ns || i == pairs.count - 1)
            return between(a, &pairs.pair[(pairs.next + 2 * PAIRS - i) % PAIRS], cupti_ns);
    }
    return pairs.pair[oldest].host_ns + (cupti_ns - pairs.pair[oldest].cupti_ns);
}

void sonde__cuda_clock_sync(void)
{
    uint32_t at = 0;
    if (!atomic_load(&sonde__cuda_on))
        return;
    sonde__cuda_clock_pair();
    const struct pair *now = newest();
    for (const struct sonde_cuda_device *d; now && (d = sonde__cuda_device_next(&at));)
        sonde_clock_pair(d->id, now->host_ns, now->cupti_ns, now->bound_ns);
}

void sonde__cuda_clock_forget(void)
{
    pairs.count = pairs.next = 0;
}

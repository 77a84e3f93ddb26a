/* steps.c - a value that changes in steps, bin by bin. */
#include "series_own.h"

static uint64_t shown(uint64_t value, bool busy)
{
    return busy ? value != 0 : value;
}

void sonde__steps_fill(const struct sonde__span *steps, size_t step_count, uint64_t value, uint64_t begin_ns, uint32_t level, bool busy,
                       struct sonde__level *bins, size_t count)
{
    const uint64_t width = 1ull << level;
    uint64_t at_ns = begin_ns;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t left = width;
        for (; next < step_count && steps[next].from == at_ns; next++) /* what changes at its first instant is in all of it */
            value += steps[next].to;
        uint64_t now = shown(value, busy);
        bins[i] = (struct sonde__level){.least = now, .most = now};
        while (next < step_count && steps[next].from - at_ns < left) {
            const uint64_t passed = steps[next].from - at_ns;
            bins[i].sum += (sonde__sum)now * passed;
            at_ns += passed;
            left -= passed;
            for (; next < step_count && steps[next].from == at_ns; next++) /* all of an instant at once */
                value += steps[next].to;
            now = shown(value, busy);
            bins[i].least = now < bins[i].least ? now : bins[i].least;
            bins[i].most = now > bins[i].most ? now : bins[i].most;
        }
        bins[i].sum += (sonde__sum)now * left;
        bins[i].last = now;
        at_ns += left;
    }
}

/* plan.c - see plan.h. */
#include "plan.h"

#include <string.h>

#define LINE 128u /* bytes of a cache line: parts share none */

const struct sonde_plan_values sonde__plan_none = {0, UINT64_MAX, INT64_MAX, INT64_MIN};

size_t sonde__plan_counts(const struct sonde_plan *p)
{
    return p->what & SONDE_PLAN_COUNTS ? (p->blocks + 1) / 2 * 2 * sizeof(uint64_t) : 0; /* what follows is read 16 bytes at a time */
}

size_t sonde__plan_values_at(const struct sonde_plan *p)
{
    return sonde__plan_counts(p) + (p->what & SONDE_PLAN_REMOTE ? p->checked * SONDE_PLAN_REMOTE_SLOTS * sizeof(uint64_t) : 0);
}

size_t sonde__plan_found_at(const struct sonde_plan *p)
{
    return sonde__plan_values_at(p) + (p->what & SONDE_PLAN_VALUES ? p->accesses * sizeof(struct sonde_plan_values) : 0);
}

size_t sonde__plan_groups_at(const struct sonde_plan *p)
{
    return sonde__plan_found_at(p) + (p->what & SONDE_PLAN_GUESSES ? p->accesses * sizeof(struct sonde_plan_found) : 0);
}

size_t sonde__plan_owner_at(const struct sonde_plan *p)
{
    return sonde__plan_groups_at(p) + (p->what & SONDE_PLAN_BLOCKS ? sizeof(struct sonde_plan_groups) : 0);
}

size_t sonde__plan_part(const struct sonde_plan *p)
{
    const size_t bytes = sonde__plan_owner_at(p) + (p->what & SONDE_PLAN_OWNERS ? sizeof(uint64_t) : 0);
    return (bytes + LINE - 1) / LINE * LINE;
}

void sonde__plan_start(const struct sonde_plan *p, void *part)
{
    char *values = (char *)part + sonde__plan_values_at(p);
    memset(part, 0, sonde__plan_part(p));
    for (uint32_t k = 0; p->what & SONDE_PLAN_VALUES && k < p->accesses; k++)
        memcpy(values + k * sizeof sonde__plan_none, &sonde__plan_none, sizeof sonde__plan_none);
}

uint64_t sonde__plan_read(const struct sonde_plan *p, const void *part, uint32_t block, uint32_t access, struct sonde_plan_values *values)
{
    uint64_t count = 0;
    *values = sonde__plan_none;
    if (p->what & SONDE_PLAN_COUNTS)
        memcpy(&count, (const char *)part + block * sizeof count, sizeof count);
    if (p->what & SONDE_PLAN_VALUES)
        memcpy(values, (const char *)part + sonde__plan_values_at(p) + access * sizeof *values, sizeof *values);
    return count;
}

void sonde__plan_remote_close(struct sonde_plan_remote *t, uint32_t count)
{
    uint32_t room = 1;
    for (uint32_t k = 0; k < SONDE_PLAN_REMOTE_RANGES; k++) {
        if (k >= count)
            t->range[k] = (struct sonde_plan_remote_range){.begin = UINT64_MAX, .end = UINT64_MAX};
        t->range[k].next = k + 1 < count ? t->range[k + 1].begin : UINT64_MAX;
    }
    while (room < count)
        room *= 2;
    t->step = room / 2 * sizeof *t->range;
    t->begin = count ? t->range[0].begin : 0;
    t->bytes = count ? t->range[count - 1].end - t->begin : 0;
}

uint64_t sonde__plan_remote(const struct sonde_plan *p, const void *part, uint32_t number, uint32_t slot)
{
    uint64_t count = 0;
    if (p->what & SONDE_PLAN_REMOTE)
        memcpy(&count, (const char *)part + sonde__plan_counts(p) + (number * SONDE_PLAN_REMOTE_SLOTS + slot) * sizeof count, sizeof count);
    return count;
}

struct sonde_plan_found sonde__plan_found(const struct sonde_plan *p, const void *part, uint32_t access)
{
    struct sonde_plan_found found = {0};
    if (p->what & SONDE_PLAN_GUESSES)
        memcpy(&found, (const char *)part + sonde__plan_found_at(p) + access * sizeof found, sizeof found);
    return found;
}

/* How many of the samples are like this one; 0 if one before it is. */
static unsigned alike(const uint64_t *samples, unsigned count, unsigned which)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        if (samples[i] == samples[which]) {
            if (i < which)
                return 0;
            found++;
        }
    return found;
}

unsigned sonde__plan_others(const uint64_t *samples, unsigned count, uint64_t known, uint64_t others[SONDE_PLAN_COMMON - 1])
{
    unsigned found = 0, votes[SONDE_PLAN_COMMON] = {0}; /* one more than are kept */
    uint64_t values[SONDE_PLAN_COMMON];
    for (unsigned i = 0; i < count; i++) {
        const unsigned own = samples[i] == known ? 0 : alike(samples, count, i);
        if (own < 2)
            continue;
        unsigned at = found;
        for (; at && votes[at - 1] < own; at--) {
            votes[at] = votes[at - 1];
            values[at] = values[at - 1];
        }
        votes[at] = own;
        values[at] = samples[i];
        found += found < SONDE_PLAN_COMMON - 1;
    }
    if (found)
        memcpy(others, values, found * sizeof *others);
    return found;
}

unsigned sonde__plan_more(const struct sonde_plan_guess *seen)
{
    uint64_t others[SONDE_PLAN_COMMON - 1];
    return seen->votes < SONDE_PLAN_VOTES ? 0 : sonde__plan_others(seen->sample, SONDE_PLAN_VOTES, seen->value, others);
}

struct sonde_plan_guess sonde__plan_again(const struct sonde_plan_guess *seen, unsigned turn)
{
    struct sonde_plan_guess again = {0};
    uint64_t others[SONDE_PLAN_COMMON - 1];
    if (seen->votes < SONDE_PLAN_VOTES)
        return again; /* its own threads vote */
    const unsigned more = sonde__plan_others(seen->sample, SONDE_PLAN_VOTES, seen->value, others);
    again.votes = seen->votes;
    again.value = turn <= more ? others[turn - 1] : seen->value;
    again.slope = seen->slope;
    again.offset = seen->offset;
    again.third = seen->third;
    return again;
}

bool sonde__plan_lined(int64_t slope, int64_t offset, bool real, unsigned bytes, uint64_t bits, uint64_t index)
{
    double up, from, wide;
    float single;
    if (!real)
        return (((uint64_t)slope * index + (uint64_t)offset) ^ bits) << (64 - 8 * bytes) == 0;
    memcpy(&up, &slope, sizeof up);
    memcpy(&from, &offset, sizeof from);
    const double value = up * (double)(int64_t)index + from;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&single, &(uint32_t){(uint32_t)bits}, sizeof single);
    return bytes == 8 ? value == wide : (float)value == single;
}

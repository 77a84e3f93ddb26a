/* plan.c - see plan.h. */
#include "plan.h"

#include <string.h>

#define LINE 128u /* bytes of a cache line: parts share none */

const struct sonde_plan_values sonde__plan_none = {0, UINT64_MAX, INT64_MAX, INT64_MIN};

size_t sonde__plan_counts(const struct sonde_plan *p)
{
    return p->what & SONDE_PLAN_COUNTS ? (p->blocks + 1) / 2 * 2 * sizeof(uint64_t) : 0; /* what follows is read 16 bytes at a time */
}

size_t sonde__plan_found_at(const struct sonde_plan *p)
{
    return sonde__plan_counts(p) + (p->what & SONDE_PLAN_VALUES ? p->accesses * sizeof(struct sonde_plan_values) : 0);
}

size_t sonde__plan_owner_at(const struct sonde_plan *p)
{
    return sonde__plan_found_at(p) + (p->what & SONDE_PLAN_GUESSES ? p->accesses * sizeof(struct sonde_plan_found) : 0);
}

size_t sonde__plan_part(const struct sonde_plan *p)
{
    const size_t bytes = sonde__plan_owner_at(p) + (p->what & SONDE_PLAN_OWNERS ? sizeof(uint64_t) : 0);
    return (bytes + LINE - 1) / LINE * LINE;
}

void sonde__plan_start(const struct sonde_plan *p, void *part)
{
    char *values = (char *)part + sonde__plan_counts(p);
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
        memcpy(values, (const char *)part + sonde__plan_counts(p) + access * sizeof *values, sizeof *values);
    return count;
}

struct sonde_plan_found sonde__plan_found(const struct sonde_plan *p, const void *part, uint32_t access)
{
    struct sonde_plan_found found = {0};
    if (p->what & SONDE_PLAN_GUESSES)
        memcpy(&found, (const char *)part + sonde__plan_found_at(p) + access * sizeof found, sizeof found);
    return found;
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

/* needs.c - see needs.h. */
#include "needs.h"

int sonde__needs_meet(struct sonde_needs *needs)
{
    const size_t first = needs->points.count;
    return sonde_vector_push(&needs->meetings, (struct sonde_need_meeting){.first = first, .last = first});
}

int sonde__needs_point(struct sonde_needs *needs, struct sonde_need_point point)
{
    struct sonde_need_meeting *meeting = &needs->meetings.items[needs->meetings.count - 1];
    if (sonde_vector_push(&needs->points, point))
        return SONDE_ENOMEM;
    meeting->count++;
    if (point.ns > needs->points.items[meeting->last].ns)
        meeting->last = needs->points.count - 1;
    return 0;
}

int sonde__needs_add(struct sonde_needs *needs, struct sonde_need need, uint64_t leave_ns)
{
    need.meeting = needs->meetings.count - 1;
    const uint64_t ns = needs->points.items[needs->meetings.items[need.meeting].last].ns;
    need.until_ns = ns < leave_ns ? ns : leave_ns;
    return sonde_vector_push(&needs->list, need);
}

int sonde_needs_find(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_needs *out)
{
    const int rc = sonde__message_needs(m, profile, out);
    return rc ? rc : sonde__collective_needs(m, out);
}

void sonde_needs_fini(struct sonde_needs *needs)
{
    sonde_vector_fini(&needs->points);
    sonde_vector_fini(&needs->meetings);
    sonde_vector_fini(&needs->list);
}

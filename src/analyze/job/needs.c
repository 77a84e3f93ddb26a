/* needs.c - see needs.h. Of MPI here; of NCCL in collectives.c. */
#include "needs.h"

#include "collectives.h"
#include "matching.h"

bool sonde_needs_reach(const struct sonde_needs *needs, uint32_t process)
{
    return sonde__clocks_agree(&needs->clocks, needs->hosts.items[process], sonde__clocks_reference(&needs->clocks));
}

uint64_t sonde_needs_time(const struct sonde_needs *needs, uint32_t process, uint64_t ns)
{
    return sonde_needs_reach(needs, process) ? sonde__clocks_move(&needs->clocks, needs->hosts.items[process], ns, sonde__clocks_reference(&needs->clocks)) : ns;
}

uint64_t sonde_needs_own_time(const struct sonde_needs *needs, uint32_t process, uint64_t ns)
{
    return sonde_needs_reach(needs, process) ? sonde__clocks_move(&needs->clocks, sonde__clocks_reference(&needs->clocks), ns, needs->hosts.items[process]) : ns;
}

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

/* ---- MPI -------------------------------------------------------------------------------------------- */

/* By the clock of the needs. */
static uint64_t by_needs(const struct sonde_needs *needs, const struct sonde__matched *one, uint64_t ns)
{
    return sonde_needs_time(needs, one->process, ns);
}

/* `one` began at `ns` what the latest meeting is about. */
static int add_point(struct sonde_needs *needs, const struct sonde__matched *one, uint64_t ns)
{
    return sonde__needs_point(needs, (struct sonde_need_point){.process = one->process, .lane = one->lane, .ns = by_needs(needs, one, ns)});
}

/* `waiter` could not go on before the latest meeting. */
static int add_need(struct sonde_needs *needs, const struct sonde__matched *waiter)
{
    return sonde__needs_add(needs, (struct sonde_need){.process = waiter->process, .lane = waiter->lane, .enter_ns = by_needs(needs, waiter, waiter->enter_ns)},
                            by_needs(needs, waiter, waiter->leave_ns));
}

/* One thread needed another. */
static int add_single(struct sonde_needs *needs, const struct sonde__matched *waiter, const struct sonde__matched *also, const struct sonde__matched *other, uint64_t ns)
{
    int rc = sonde__needs_meet(needs);
    rc = rc ? rc : add_point(needs, other, ns);
    rc = rc ? rc : add_need(needs, waiter);
    return rc || !also ? rc : add_need(needs, also);
}

/* Who receives needs the sender; who sends needs the receiver where it waited for it. */
static int add_pair(void *user, struct sonde__matched *sent, struct sonde__matched *received, struct sonde__matched *look)
{
    const struct sonde_needs *needs = user;
    const uint64_t posted_ns = by_needs(needs, received, received->posted_ns);
    const bool late = posted_ns > by_needs(needs, sent, sent->enter_ns) && posted_ns <= by_needs(needs, sent, sent->leave_ns);
    if (!sonde_needs_reach(needs, sent->process))
        return 0;
    const int rc = add_single(user, received, look, sent, sent->enter_ns);
    return rc || !late ? rc : add_single(user, sent, NULL, received, received->posted_ns);
}

/* All need all, or the root, or the root all others. */
static int add_together(void *user, struct sonde__matched *const *calls, size_t count, const struct sonde__matched *root)
{
    struct sonde_needs *needs = user;
    const uint32_t kind = calls[0]->kind;
    const bool from_root = kind == SONDE_MESSAGE_FROM_ROOT, to_root = kind == SONDE_MESSAGE_TO_ROOT;
    if (kind == SONDE_MESSAGE_PREFIX || ((from_root || to_root) && !root) || (to_root && count < 2) || !sonde_needs_reach(needs, calls[0]->process))
        return 0;
    int rc = sonde__needs_meet(needs);
    for (size_t i = 0; i < count && !rc; i++)
        if (from_root ? calls[i] == root : !to_root || calls[i] != root)
            rc = add_point(needs, calls[i], calls[i]->posted_ns);
    for (size_t i = 0; i < count && !rc; i++)
        if (to_root ? calls[i] == root : calls[i] != root)
            rc = add_need(needs, calls[i]);
    return rc;
}

static int find_hosts(const struct sonde_measurement *m, struct sonde_needs *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = sonde_vector_push(&out->hosts, sonde__clocks_host(&out->clocks, m->processes[i].name));
    return rc;
}

static int message_needs(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_needs *out)
{
    struct sonde_intern comms = {0};
    struct sonde__matching k = {.m = m, .profile = profile, .comms = &comms, .clocks = &out->clocks, .pair = add_pair, .together = add_together, .user = out};
    int rc = sonde__matching_read(&k);
    rc = rc ? rc : find_hosts(m, out);
    rc = rc ? rc : sonde__matching_match(&k);
    sonde__matching_fini(&k);
    sonde_intern_fini(&comms);
    return rc;
}

/* ---- all together ---------------------------------------------------------------------------------- */

int sonde_needs_find(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_needs *out)
{
    const int rc = message_needs(m, profile, out);
    return rc ? rc : sonde__collective_needs(m, out);
}

void sonde_needs_fini(struct sonde_needs *needs)
{
    sonde_vector_fini(&needs->points);
    sonde_vector_fini(&needs->meetings);
    sonde_vector_fini(&needs->list);
    sonde_vector_fini(&needs->hosts);
    sonde__clocks_fini(&needs->clocks);
}

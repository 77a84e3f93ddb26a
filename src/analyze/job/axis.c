/* axis.c - see axis.h. */
#include "axis.h"

#include <stdlib.h>

#include "analyze/model/nccl.h"
#include "analyze/trace/trace.h"
#include "matching.h"

#define SLEWED_NS 1000000000u /* a wall clock may be corrected by that while processes start; else hosts have one name, or it was set */
#define SLEWS     2e-4        /* and by so much of the time between their starts: CLOCK_MONOTONIC_RAW is not corrected */
#define WORST_NS  100000000u  /* wall clocks are better than that */

struct host {
    bool seen;
    uint64_t wall_ns;           /* offset of its first process */
    uint64_t first_ns;          /* when that began */
    uint64_t begin_ns, end_ns;  /* of all of its processes that have this clock */
};

struct aligning {
    struct sonde_measurement *m;
    struct sonde__clocks clocks;
    struct host *hosts;         /* [clocks.names.count + 1] */
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static struct host *host_of(struct aligning *k, const struct sonde_process *p)
{
    return &k->hosts[sonde__clocks_host(&k->clocks, p->name)];
}

/* Has it times? Of a damaged header nothing is known. */
static bool is_known(const struct sonde_live_header *h)
{
    return h->wall_offset_ns && h->start_ns && h->stop_ns >= h->start_ns;
}

/* Processes of one host have one clock. */
static void find_hosts(struct aligning *k)
{
    for (uint32_t i = 0; i < k->m->process_count; i++) {
        struct sonde_live_header *h = &k->m->processes[i].header;
        struct host *host = host_of(k, &k->m->processes[i]);
        if (!is_known(h))
            continue;
        if (!host->seen)
            *host = (struct host){true, h->wall_offset_ns, h->start_ns, h->start_ns, h->stop_ns};
        if ((double)apart(h->wall_offset_ns, host->wall_ns) >= SLEWED_NS + SLEWS * (double)apart(h->start_ns, host->first_ns))
            continue;
        h->wall_offset_ns = host->wall_ns;
        host->begin_ns = h->start_ns < host->begin_ns ? h->start_ns : host->begin_ns;
        host->end_ns = h->stop_ns > host->end_ns ? h->stop_ns : host->end_ns;
    }
}

/* Offset by which a time of the host is one of the reference's wall clock. */
static uint64_t offset_at(const struct aligning *k, uint32_t host, uint64_t ns)
{
    const uint32_t reference = sonde__clocks_reference(&k->clocks);
    return sonde__clocks_move(&k->clocks, host, ns, reference) - ns + k->hosts[reference].wall_ns;
}

static bool is_aligned(const struct aligning *k, uint32_t host)
{
    return k->hosts[host].seen && k->hosts[sonde__clocks_reference(&k->clocks)].seen && sonde__clocks_agree(&k->clocks, host, sonde__clocks_reference(&k->clocks));
}

static uint64_t middle_of(const struct host *host)
{
    return host->begin_ns + (host->end_ns - host->begin_ns) / 2;
}

/* How wrong times of the host may be at its beginning or end by the offset of its middle, beside the clocks' bound. */
static uint64_t drifts_by(const struct aligning *k, uint32_t number)
{
    const struct host *host = &k->hosts[number];
    const uint64_t ends_ns[] = {host->begin_ns, host->end_ns}, offset_ns = offset_at(k, number, middle_of(host));
    uint64_t most_ns = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t ns = apart(offset_at(k, number, ends_ns[i]), offset_ns) + sonde__clocks_unsure(&k->clocks, number, ends_ns[i]);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

/* Of the hosts whose clocks agree with the reference; the others keep their wall clocks, as all do where nothing better is known. */
static void set_offsets(struct aligning *k)
{
    const uint32_t hosts = k->clocks.names.count;
    uint64_t drifts_ns = 0;
    for (uint32_t host = 1; host <= hosts; host++) {
        const uint64_t ns = is_aligned(k, host) ? drifts_by(k, host) : 0;
        drifts_ns = ns > drifts_ns ? ns : drifts_ns;
    }
    if (sonde__clocks_bound(&k->clocks) + drifts_ns > WORST_NS)
        return;
    for (uint32_t i = 0; i < k->m->process_count; i++) {
        struct sonde_process *p = &k->m->processes[i];
        const uint32_t number = sonde__clocks_host(&k->clocks, p->name);
        if (is_aligned(k, number) && p->header.wall_offset_ns == k->hosts[number].wall_ns)
            p->header.wall_offset_ns = offset_at(k, number, middle_of(&k->hosts[number]));
    }
    k->m->axis_bound_ns = sonde__clocks_bound(&k->clocks) + drifts_ns;
    k->m->axis_apart = 0;
    for (uint32_t host = 1; host <= hosts; host++)
        k->m->axis_apart += !is_aligned(k, host);
}

/* Of what aligns clocks. */
static uint64_t count_rows(const struct sonde_measurement *m)
{
    uint64_t rows = sonde_trace_rows(m, SONDE_READ_MESSAGES);
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        struct sonde_trace_extent *extents = sonde_trace_extents(p, SONDE_READ_OPS);
        struct sonde_nccl_rank rank;
        for (uint32_t lane = 1; lane < p->lane_count && extents; lane++)
            rows += sonde_nccl_rank(p, lane, &rank) ? extents[lane].rows : 0;
        free(extents);
    }
    return rows;
}

/* What ranks waited for each other, of several hosts. */
static int find_clocks(struct aligning *k)
{
    struct sonde_intern comms = {0};
    struct sonde__matching matching = {.m = k->m, .comms = &comms, .clocks = &k->clocks};
    int rc = sonde__matching_read(&matching);
    rc = rc ? rc : sonde__matching_align(&matching);
    sonde__matching_fini(&matching);
    sonde_intern_fini(&comms);
    return rc;
}

static int align(struct aligning *k)
{
    for (uint32_t i = 0; i < k->m->process_count; i++)
        if (!sonde__clocks_host(&k->clocks, k->m->processes[i].name))
            return SONDE_ENOMEM;
    const uint32_t hosts = k->clocks.names.count;
    k->hosts = calloc(hosts + 1, sizeof *k->hosts);
    if (!k->hosts)
        return SONDE_ENOMEM;
    find_hosts(k);
    k->m->axis_apart = hosts ? hosts - 1 : 0;
    if (hosts < 2)
        return 0;
    if (sonde_measurement_load(k->m, SONDE_LOAD_STRINGS)) /* what communicators are called */
        return SONDE_ENOMEM;
    k->m->axis_not_tried = count_rows(k->m) > SONDE_AXIS_ROWS;
    if (k->m->axis_not_tried)
        return 0;
    const int rc = find_clocks(k);
    const char *one, *other;
    k->m->axis_contradicts = sonde__clocks_contradict(&k->clocks, &one, &other);
    if (!rc && k->clocks.root)
        set_offsets(k);
    return rc == SONDE_ENOMEM ? 0 : rc; /* wall clocks do, too */
}

static int align_opened(struct sonde_measurement *m, struct sonde_diag *diag)
{
    struct aligning k = {.m = m};
    const int rc = align(&k);
    sonde__clocks_fini(&k.clocks);
    free(k.hosts);
    return rc ? sonde_diag_set(diag, rc, m->path, "cannot open") : 0;
}

int sonde_measurement_open_job(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    const int rc = sonde_measurement_open(path, out, diag);
    return rc ? rc : align_opened(*out, diag);
}

int sonde_measurement_open_job_heads(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    const int rc = sonde_measurement_open_heads(path, out, diag);
    return rc ? rc : align_opened(*out, diag);
}

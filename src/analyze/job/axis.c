/* axis.c - see axis.h. */
#include "axis.h"

#include <stdlib.h>

#include "analyze/trace/trace.h"
#include "matching.h"

#define SLEWED_NS 1000000000u /* a wall clock may be corrected by that while processes start; else hosts have one name, or it was set */

struct host {
    bool seen;
    uint64_t wall_ns;           /* offset of its first process */
    uint64_t begin_ns, end_ns;  /* of all of its processes, by its clock */
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

/* Processes of one host have one clock. */
static void find_hosts(struct aligning *k)
{
    for (uint32_t i = 0; i < k->m->process_count; i++) {
        struct sonde_live_header *h = &k->m->processes[i].header;
        struct host *host = host_of(k, &k->m->processes[i]);
        if (!host->seen)
            *host = (struct host){true, h->wall_offset_ns, h->start_ns, h->stop_ns};
        host->begin_ns = h->start_ns < host->begin_ns ? h->start_ns : host->begin_ns;
        host->end_ns = h->stop_ns > host->end_ns ? h->stop_ns : host->end_ns;
        if (apart(h->wall_offset_ns, host->wall_ns) < SLEWED_NS)
            h->wall_offset_ns = host->wall_ns;
    }
}

/* Offset by which a time of the host is one of the reference's wall clock. */
static uint64_t offset_at(const struct aligning *k, uint32_t host, uint64_t ns)
{
    const uint32_t reference = sonde__clocks_reference(&k->clocks);
    return sonde__clocks_move(&k->clocks, host, ns, reference) - ns + k->hosts[reference].wall_ns;
}

/* Of the hosts whose clocks agree with the reference; the others keep their wall clocks. */
static void set_offsets(struct aligning *k)
{
    uint64_t drifts_ns = 0;
    for (uint32_t i = 0; i < k->m->process_count; i++) {
        struct sonde_process *p = &k->m->processes[i];
        const uint32_t number = sonde__clocks_host(&k->clocks, p->name);
        const struct host *host = &k->hosts[number];
        if (!sonde__clocks_agree(&k->clocks, number, sonde__clocks_reference(&k->clocks)) || p->header.wall_offset_ns != host->wall_ns)
            continue;
        const uint64_t offset_ns = offset_at(k, number, host->begin_ns + (host->end_ns - host->begin_ns) / 2);
        const uint64_t first_ns = apart(offset_at(k, number, host->begin_ns), offset_ns), last_ns = apart(offset_at(k, number, host->end_ns), offset_ns);
        drifts_ns = first_ns > drifts_ns ? first_ns : drifts_ns;
        drifts_ns = last_ns > drifts_ns ? last_ns : drifts_ns;
        p->header.wall_offset_ns = offset_ns;
    }
    k->m->axis_bound_ns = sonde__clocks_bound(&k->clocks) + drifts_ns;
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
    if (hosts < 2 || sonde_trace_rows(k->m, SONDE_READ_MESSAGES) > SONDE_AXIS_ROWS)
        return 0;
    const int rc = find_clocks(k);
    if (rc || !k->clocks.root)
        return rc;
    set_offsets(k);
    k->m->axis_apart = 0;
    for (uint32_t host = 1; host <= hosts; host++)
        k->m->axis_apart += !sonde__clocks_agree(&k->clocks, host, k->clocks.root);
    return 0;
}

int sonde_measurement_open_job(const char *path, struct sonde_measurement **out, struct sonde_diag *diag)
{
    struct aligning k = {0};
    int rc = sonde_measurement_open(path, out, diag);
    if (rc)
        return rc;
    k.m = *out;
    rc = align(&k);
    sonde__clocks_fini(&k.clocks);
    free(k.hosts);
    return rc ? sonde_diag_set(diag, rc, path, "cannot open") : 0;
}

/* totals.c - sums over the processes of a measurement. */
#include "totals.h"
#include "base/kinds.h"

#include <string.h>

#include "recorded.h"

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

uint64_t sonde_process_wall_ns(const struct sonde_process *p)
{
    return minus(p->header.stop_ns, sonde_process_begin(p));
}

static uint64_t lost_operations(const struct sonde_ledger *l)
{
    uint64_t lost = 0;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        lost += sonde_drop_loses_operation(cause) ? l->dropped[cause] : 0;
    return lost;
}

uint64_t sonde_process_seen(const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t known = l->done + lost_operations(l);
    return p->header.state == SONDE_PROCESS_RUNNING && known > l->seen ? known : l->seen;
}

static void add_ledger(struct sonde_totals *t, const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t *sum = (uint64_t *)&t->ledger;
    for (size_t i = 0; i < sizeof *l / sizeof *sum; i++)
        sum[i] += ((const uint64_t *)l)[i];
    t->ledger.seen += sonde_process_seen(p) - l->seen;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        t->dropped_trace_rows += sonde_drop_loses_operation(cause) ? 0 : l->dropped[cause];
    uint64_t lost = lost_operations(l);
    t->dropped_operations += lost;
    t->in_flight += minus(l->seen, l->done + lost + l->unmatched);
}

static void count_operations(const struct sonde_process *p, uint64_t operations[SONDE_BUSY_DEVICES])
{
    for (uint32_t i = 1; i < p->profile_count; i++) {
        uint32_t lane = p->profiles[i].lane;
        bool known = lane && lane < p->lane_count;
        uint32_t device = known ? p->lanes[lane].device : 0;
        bool thread = known && p->lanes[lane].kind == SONDE_LANE_KIND_THREAD; /* samples of the CPU side */
        if (lane && !thread && device < SONDE_BUSY_DEVICES)
            operations[device] += p->profiles[i].count;
    }
}

static int add_devices(struct sonde_totals *t, const struct sonde_measurement *m, uint32_t index)
{
    const struct sonde_process *p = &m->processes[index];
    uint64_t operations[SONDE_BUSY_DEVICES] = {0};
    struct sonde_recorded recorded = {0};
    int rc = sonde_recorded_compute(m, p, &recorded);
    const uint64_t wall_ns = minus(sonde_process_wall_ns(p), recorded.paused_ns);
    sonde_recorded_fini(&recorded);
    count_operations(p, operations);
    for (uint32_t d = 0; d < SONDE_BUSY_DEVICES && !rc; d++) {
        if (p->header.device_busy[d].count == 0 && operations[d] == 0)
            continue;
        struct sonde_device_use use = {
            .process = index,
            .device = d,
            .wall_ns = wall_ns,
            .operations = operations[d],
            .timed = p->header.device_busy[d].count > 0,
            .busy_ns = p->header.device_busy[d].busy_ns,
            .kernel_ns = p->header.device_group[d].kernel_ns,
            .copy_ns = p->header.device_group[d].copy_ns,
        };
        rc = sonde_vector_push(&t->devices, use);
    }
    return rc;
}

static bool has_pair(const struct sonde_process *p, uint32_t device)
{
    for (uint32_t i = 0; i < p->clock_count; i++)
        if (p->clocks[i].device == device)
            return true;
    return false;
}

/* Is the bound of this process's device times known? */
static bool clock_known(const struct sonde_process *p)
{
    for (uint32_t d = 0; d < SONDE_BUSY_DEVICES; d++)
        if (p->header.device_busy[d].count && !has_pair(p, d))
            return p->header.clock_bound_ns > 0; /* a pair that found no room */
    return true;
}

bool sonde_process_clock_known(const struct sonde_process *p)
{
    bool timed = false;
    for (uint32_t d = 0; d < SONDE_BUSY_DEVICES; d++)
        timed |= p->header.device_busy[d].count > 0;
    return timed && clock_known(p);
}

static void add_threads(struct sonde_totals *t, const struct sonde_process *p)
{
    for (uint32_t i = 1; i < p->lane_count; i++)
        if (p->lanes[i].kind == SONDE_LANE_KIND_THREAD)
            t->threads += p->lanes[i].threads ? p->lanes[i].threads : 1;
}

/* False: there is no such time. */
static bool read_ns(const json_t *object, const char *key, uint64_t *ns)
{
    const json_t *value = json_object_get(object, key);
    const bool found = json_is_integer(value) && json_integer_value(value) >= 0;
    *ns = found ? (uint64_t)json_integer_value(value) : 0;
    return found;
}

static void read_around(const struct sonde_measurement *m, struct sonde_around *a)
{
    const json_t *timings = json_object_get(m->manifest, "timings");
    uint64_t start_ns, end_ns;
    a->known = read_ns(m->manifest, "start_ns", &start_ns) && read_ns(m->manifest, "end_ns", &end_ns) && end_ns >= start_ns &&
               read_ns(timings, "before_ns", &a->before_ns) && read_ns(timings, "after_ns", &a->after_ns);
    if (!a->known)
        return;
    a->program_ns = end_ns - start_ns;
    read_ns(timings, "seal_ns", &a->seal_ns);
    read_ns(timings, "symbols_ns", &a->symbols_ns);
    read_ns(timings, "code_ns", &a->code_ns);
    read_ns(timings, "summary_ns", &a->summary_ns);
}

int sonde_totals_compute(const struct sonde_measurement *m, struct sonde_totals *out)
{
    uint64_t first = UINT64_MAX, last = 0; /* on the wall clock: hosts have axes of their own */
    int rc = 0;
    out->clock_known = true;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_process *p = &m->processes[i];
        uint64_t begin = sonde_process_begin(p) + p->header.wall_offset_ns;
        uint64_t end = p->header.stop_ns + p->header.wall_offset_ns;
        first = begin < first ? begin : first;
        last = end > last ? end : last;
        add_ledger(out, p);
        out->held_ns += p->header.held_us * 1000ull;
        add_threads(out, p);
        rc = add_devices(out, m, i);
        out->process_wall_ns += sonde_process_wall_ns(p);
        out->exited += p->header.state == SONDE_PROCESS_EXITED;
        out->off += p->header.state == SONDE_PROCESS_OFF;
        out->killed += p->header.state == SONDE_PROCESS_RUNNING;
        out->traced |= p->header.trace != 0;
        out->notes += p->note_count;
        out->damaged_bytes += p->damaged_bytes;
        out->clock_known &= clock_known(p);
        if (p->header.clock_bound_ns > out->clock_bound_ns)
            out->clock_bound_ns = p->header.clock_bound_ns;
    }
    bool timed = false;
    for (size_t i = 0; i < out->devices.count; i++)
        timed |= out->devices.items[i].timed;
    out->clock_known &= timed;
    out->damaged_chunks = m->damaged_chunks;
    read_around(m, &out->around);
    out->wall_ns = last > first ? last - first : 0;
    return rc;
}

void sonde_totals_fini(struct sonde_totals *totals)
{
    sonde_vector_fini(&totals->devices);
    memset(totals, 0, sizeof *totals);
}

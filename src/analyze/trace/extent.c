/* extent.c - what the headers of a trace's chunks say: how many rows, and from when to when. */
#include "trace.h"

#include <stdlib.h>

#include "format/tables.h"

static const struct sonde_trace_extent nothing = {0, UINT64_MAX, 0};

static void add(struct sonde_trace_extent *e, const struct sonde_chunk_ref *chunk, int tables)
{
    if (!chunk->count || !(tables >> sonde_table_info(chunk->table)->trace & 1))
        return;
    e->rows += chunk->count;
    e->from_ns = chunk->time_min < e->from_ns ? chunk->time_min : e->from_ns;
    e->to_ns = chunk->time_max > e->to_ns ? chunk->time_max : e->to_ns;
}

struct sonde_trace_extent sonde_trace_extent(const struct sonde_process *p, int tables)
{
    struct sonde_trace_extent e = nothing;
    for (uint32_t i = 0; i < p->trace_count; i++)
        add(&e, &p->traces[i], tables);
    return e;
}

struct sonde_trace_extent *sonde_trace_extents(const struct sonde_process *p, int tables)
{
    struct sonde_trace_extent *lanes = malloc(((size_t)p->lane_count + 1) * sizeof *lanes);
    for (uint32_t i = 0; i <= p->lane_count && lanes; i++)
        lanes[i] = nothing;
    for (uint32_t i = 0; i < p->trace_count && lanes; i++)
        add(&lanes[p->traces[i].lane], &p->traces[i], tables);
    return lanes;
}

uint64_t sonde_trace_rows(const struct sonde_measurement *m, int tables)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < m->process_count; i++)
        rows += sonde_trace_extent(&m->processes[i], tables).rows;
    return rows;
}

static int by_time_max(const void *left, const void *right)
{
    const struct sonde_chunk_ref *const *a = left, *const *b = right;
    return (*a)->time_max < (*b)->time_max ? 1 : -((*a)->time_max > (*b)->time_max);
}

int sonde_trace_last(const struct sonde_process *p, int tables, uint64_t rows, uint64_t *from_ns)
{
    const struct sonde_chunk_ref **refs = malloc((p->trace_count + 1) * sizeof *refs);
    uint64_t later = 0;
    uint32_t count = 0;
    if (!refs)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (tables >> sonde_table_info(p->traces[i].table)->trace & 1)
            refs[count++] = &p->traces[i];
    qsort(refs, count, sizeof *refs, by_time_max);
    *from_ns = 0;
    for (uint32_t i = 0; i < count && !*from_ns; i++) {
        later += refs[i]->count;
        *from_ns = later > rows && i > 0 ? refs[i]->time_max : 0;
    }
    free(refs);
    return 0;
}

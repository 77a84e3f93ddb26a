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

/* How many of a chunk's rows are not before `at_ns`, if they are spread evenly over its time. */
static double rows_since(const struct sonde_chunk_ref *chunk, uint64_t at_ns)
{
    if (at_ns <= chunk->time_min)
        return chunk->count;
    return at_ns > chunk->time_max ? 0 : chunk->count * (double)(chunk->time_max - at_ns) / (double)(chunk->time_max - chunk->time_min);
}

static double all_since(const struct sonde_process *p, int tables, uint64_t at_ns)
{
    double rows = 0;
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (tables >> sonde_table_info(p->traces[i].table)->trace & 1)
            rows += rows_since(&p->traces[i], at_ns);
    return rows;
}

uint64_t sonde_trace_last(const struct sonde_process *p, int tables, uint64_t rows)
{
    const struct sonde_trace_extent all = sonde_trace_extent(p, tables);
    uint64_t more = all.from_ns, fewer = all.to_ns; /* since one they are more than `rows`, since the other not */
    if (all.rows <= rows)
        return 0;
    while (fewer - more > 1) {
        const uint64_t middle = more + (fewer - more) / 2;
        if (all_since(p, tables, middle) > (double)rows)
            more = middle;
        else
            fewer = middle;
    }
    return fewer;
}

/* profile.c - accumulators per (calling context, lane), in the live mapping (format/accumulate.h). Blocks of a histogram are made as octaves occur. */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "format/accumulate.h"

static struct {
    struct sonde_map index; /* node << 32 | lane -> profile id */
    uint64_t last_key;
    struct sonde_row_profile *last;
} rows;

static struct sonde_row_profile *row_for(uint32_t node, uint32_t lane)
{
    uint64_t key = (uint64_t)node << 32 | lane;
    if (key == rows.last_key && rows.last)
        return rows.last;
    const uint64_t *known = sonde__map_find(&rows.index, key ? key : 1);
    struct sonde_row_profile *row;
    uint32_t id;
    if (known) {
        row = sonde__table_find(SONDE_TABLE_PROFILE, sizeof *row, (uint32_t)*known);
    } else {
        /* A row that the index cannot name would be made again for each operation. */
        row = sonde__map_room(&rows.index, &sonde__agent.heap) ? sonde__table_row(SONDE_TABLE_PROFILE, sizeof *row, &id) : NULL;
        if (!row)
            return NULL;
        row->node = node;
        row->lane = lane;
        row->min_ns = UINT64_MAX;
        sonde__map_add(&rows.index, &sonde__agent.heap, key ? key : 1, id);
    }
    rows.last_key = key;
    rows.last = row;
    return row;
}

int sonde__profile_init(void)
{
    memset(&rows, 0, sizeof rows);
    return 0;
}

/* The rows of last resort exist from the start: counts stay exact whatever the
 * budget. Such a row takes the lane of the first operation that it counts. */
void sonde__profile_reserve(void)
{
    for (uint32_t k = 0; k < SONDE_OP_KIND_COUNT; k++)
        row_for(sonde__agent.folded_node[k], 0);
    if (sonde__agent.config.cpu_hz)
        row_for(sonde__agent.folded_sample, 0);
}

static struct sonde_row_profile *last_resort(const struct sonde_event *e)
{
    struct sonde_row_profile *row = row_for(sonde__agent.folded_node[e->kind], 0);
    sonde__agent.profile_folded++;
    if (row && !row->lane)
        row->lane = e->lane;
    return row;
}

static void histogram_add(struct sonde_row_profile *row, uint64_t ns)
{
    unsigned part;
    const unsigned octave = sonde_histogram_octave(ns, &part);
    struct sonde_row_histogram *block;
    if (row->histogram[octave]) {
        block = sonde__table_find(SONDE_TABLE_HISTOGRAM, sizeof *block, row->histogram[octave]);
    } else {
        uint32_t id;
        block = sonde__table_row(SONDE_TABLE_HISTOGRAM, sizeof *block, &id);
        if (!block)
            return;
        row->histogram[octave] = id;
    }
    block->count[part]++;
}

static void add_time(struct sonde_row_profile *row, uint64_t ns)
{
    sonde_accumulate(row, ns);
    histogram_add(row, ns);
}

void sonde__profile_call(const struct sonde_event *e)
{
    struct sonde_row_profile *row = row_for(e->api_node, 0);
    if (!row) {
        sonde__agent.calls_dropped++;
        return;
    }
    row->count++;
    add_time(row, e->leave_ns - e->enter_ns);
}

/* No histogram: how much time a sample stands for says nothing about the program. */
void sonde__profile_sample(uint32_t lane, const struct sonde_sample *s)
{
    struct sonde_row_profile *row = row_for(s->node, lane);
    if (!row && (row = row_for(sonde__agent.folded_sample, 0))) {
        sonde__agent.profile_folded++;
        row->lane = row->lane ? row->lane : lane;
    }
    if (!row)
        return;
    row->count++;
    sonde_accumulate(row, s->cpu_ns);
}

void sonde__profile_sleep(uint32_t node, uint64_t ns)
{
    struct sonde_row_profile *row = row_for(node, 0);
    if (!row)
        return;
    row->count++;
    sonde_accumulate(row, ns);
}

void sonde__profile_op(const struct sonde_event *e, const struct sonde_times *t, unsigned flags)
{
    struct sonde_row_profile *row = row_for(e->op_node, e->lane);
    if (!row && !(row = last_resort(e)))
        return;
    row->count++;
    row->bytes += e->bytes;
    if (e->work)
        row->work = e->work;
    if (flags & SONDE_OP_FAILED)
        row->failed++;
    if (flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME))
        return;
    sonde_accumulate_delays(row, e->enter_ns, t->queued_ns, t->submit_ns, t->start_ns);
    add_time(row, t->end_ns - t->start_ns);
}

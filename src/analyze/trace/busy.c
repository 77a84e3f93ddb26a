/* busy.c - operations as times alone, put to the window that they begin in as they are decoded.
 *
 * Whose union is asked for need not come lane by lane or in order: a device with a
 * hundred queues has a few of each one's operations in a window, and keeping a
 * hundred streams in order costs more than sorting what is in the window. A chunk
 * reaches over many windows; what it has of later ones waits there in blocks.
 * Of operations that go on in later windows only the last end matters.
 */
#include "busy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/kinds.h"

struct cell { /* of one device in one window */
    struct sonde_trace_spans *spans;
    uint64_t until_ns; /* the last end beyond the window of what begins in it */
};

struct sonde__busy {
    const struct sonde_trace_reader *trace;
    const struct sonde__busy_plan *own;
    struct sonde_chunk_reader *reader;
    uint32_t first, last;            /* windows */
    uint32_t next;                   /* of own->chunks */
    struct cell *cells;              /* [window - first][device] */
    struct sonde_trace_device *devices;
    struct sonde_arena arena;
    struct sonde_trace_spans *spare;
    uint64_t untimed;
};

int sonde__busy_list(struct sonde_trace_reader *trace, struct sonde__busy_plan *own)
{
    const struct sonde_process *p = trace->process;
    own->devices = malloc(((size_t)p->lane_count + 1) * sizeof *own->devices);
    trace->devices = calloc((size_t)p->lane_count + 1, sizeof *trace->devices);
    if (!own->devices || !trace->devices)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count; i++) {
        const uint32_t lane = p->traces[i].lane, device = p->lanes[lane].device;
        uint32_t k = 0;
        if (p->traces[i].table != SONDE_TABLE_OP || (i && p->traces[i - 1].table == SONDE_TABLE_OP && p->traces[i - 1].lane == lane))
            continue;
        while (k < trace->device_count && trace->devices[k].device != device)
            k++;
        if (k == trace->device_count)
            trace->devices[trace->device_count++].device = device;
        own->devices[lane] = k;
    }
    return 0;
}

struct sonde__busy *sonde__busy_create(const struct sonde_trace_reader *trace, const struct sonde__busy_plan *own,
                                       struct sonde_chunk_reader *reader, uint32_t first, uint32_t last)
{
    struct sonde__busy *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct sonde__busy){.trace = trace, .own = own, .reader = reader, .first = first, .last = last};
    b->cells = calloc((size_t)(last - first) * trace->device_count + 1, sizeof *b->cells);
    b->devices = malloc((trace->device_count + 1) * sizeof *b->devices);
    if (!b->cells || !b->devices) {
        sonde__busy_destroy(b);
        return NULL;
    }
    memcpy(b->devices, trace->devices, trace->device_count * sizeof *b->devices);
    return b;
}

void sonde__busy_destroy(struct sonde__busy *b)
{
    if (!b)
        return;
    sonde_arena_fini(&b->arena);
    free(b->cells);
    free(b->devices);
    free(b);
}

/* The window of the part that an instant of it lies in. */
static uint32_t window_of(const struct sonde__busy *b, uint64_t at_ns)
{
    const struct sonde_trace_span *windows = b->trace->windows;
    uint32_t low = b->first, high = b->last;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (windows[middle].start_ns <= at_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A block with room in front of the others. */
static struct sonde_trace_spans *put_block(struct sonde__busy *b, struct cell *cell)
{
    struct sonde_trace_spans *block = b->spare;
    if (block)
        b->spare = block->next;
    else if (!(block = sonde_arena_alloc(&b->arena, sizeof *block)))
        return NULL;
    block->count = 0;
    block->next = cell->spans;
    cell->spans = block;
    return block;
}

/* What ended before `now_ns` is left out, what began before begins then. */
static int add_ops(struct sonde__busy *b, uint32_t device, const struct sonde_row_op *ops, uint32_t count, uint64_t now_ns, bool owned)
{
    const struct sonde_trace_span *windows = b->trace->windows;
    struct sonde_trace_spans *block = NULL;
    struct cell *cell = NULL;
    uint64_t from = 1, to = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = ops[i].start_ns > now_ns ? ops[i].start_ns : now_ns, end = ops[i].end_ns;
        if (sonde_op_kind_group(ops[i].kind) == SONDE_GROUP_ORDER)
            continue; /* markers, barriers and waits keep nothing busy */
        if (!sonde_op_has_times(ops[i].flags, ops[i].start_ns, end)) {
            b->untimed += owned;
            continue;
        }
        if (start >= end || start >= windows[b->last - 1].end_ns)
            continue;
        if (start < from || start >= to) {
            const uint32_t window = window_of(b, start);
            from = windows[window].start_ns, to = windows[window].end_ns;
            cell = &b->cells[(size_t)(window - b->first) * b->trace->device_count + device];
            block = cell->spans;
        }
        if ((!block || block->count == SONDE_TRACE_SPANS) && !(block = put_block(b, cell)))
            return SONDE_ENOMEM;
        block->items[block->count++] = (struct sonde_trace_span){start, end};
        if (end > to && end > cell->until_ns)
            cell->until_ns = end;
    }
    return 0;
}

static int add_chunk(struct sonde__busy *b, uint32_t chunk, uint64_t now_ns)
{
    const struct sonde_process *p = b->trace->process;
    const struct sonde_chunk_ref *t = &p->traces[chunk];
    /* Several parts may decode a chunk; in one of them it begins. */
    const struct sonde_trace_span *windows = b->trace->windows;
    const bool owned = t->time_min < windows[b->last - 1].end_ns && (!b->first || t->time_min >= windows[b->first].start_ns);
    const void *rows = sonde_chunk_reader_fields(
        b->reader, p, chunk,
        SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns) |
            SONDE_FIELD(sonde_row_op, flags) | SONDE_FIELD(sonde_row_op, kind));
    if (owned)
        sonde_progress_add(b->trace->options.progress, t->count);
    return rows ? add_ops(b, b->own->devices[t->lane], rows, t->count, now_ns, owned) : 0;
}

static void give_back(struct sonde__busy *b, struct cell *cell)
{
    struct sonde_trace_spans *last = cell->spans;
    if (!last)
        return;
    while (last->next)
        last = last->next;
    last->next = b->spare;
    b->spare = cell->spans;
    cell->spans = NULL;
}

int sonde__busy_look(struct sonde__busy *b, struct sonde_trace_window *window)
{
    const struct sonde_chunk_ref *traces = b->trace->process->traces;
    const uint32_t devices = b->trace->device_count;
    struct cell *cells = b->cells + (size_t)(window->number - b->first) * devices;
    struct cell *before = window->number > b->first ? cells - devices : NULL;

    for (uint32_t k = 0; before && k < devices; k++) {
        b->devices[k].until_ns = before[k].until_ns > b->devices[k].until_ns ? before[k].until_ns : b->devices[k].until_ns;
        give_back(b, &before[k]);
    }
    b->untimed = 0;
    for (; b->next < b->own->chunk_count && traces[b->own->chunks[b->next]].time_min < window->to_ns; b->next++)
        if (traces[b->own->chunks[b->next]].time_max >= window->from_ns &&
            add_chunk(b, b->own->chunks[b->next], window->from_ns))
            return SONDE_ENOMEM;
    for (uint32_t k = 0; k < devices; k++)
        b->devices[k].spans = cells[k].spans;
    window->devices = b->devices;
    window->untimed = b->untimed;
    return 0;
}

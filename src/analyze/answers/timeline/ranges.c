/* ranges.c - the ranges and marks of a thread, and its calls of MPI, which lie in each other, as tracks.
 *
 * A range is on the track below the innermost of those that it is in. They come in the order in which they ended, so
 * that the tracks of a lane are made of all of its ranges, once.
 */
#include <stdlib.h>

#include "own.h"

const enum sonde_table sonde__range_tables[SONDE__RANGE_TABLES] = {SONDE_TABLE_RANGE, SONDE_TABLE_MESSAGE};

static int by_begin(const void *left, const void *right)
{
    const struct sonde__named *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1; /* the outer one first */
    return a->label < b->label ? -1 : a->label > b->label;
}

static int by_track(const void *left, const void *right)
{
    const struct sonde__named *a = left, *b = right;
    return a->track != b->track ? (a->track < b->track ? -1 : 1) : by_begin(left, right);
}

/* A chunk's rows; labels by the process's numbers of name and domain in `known`. */
static int add_rows(struct sonde_timeline *timeline, const struct sonde__timeline_process *process, struct sonde__ranges *out,
                    const struct sonde_row_range *rows, uint32_t count, struct sonde_map *known)
{
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++) {
        const uint64_t end = rows[i].end_ns ? rows[i].end_ns : process->p->header.stop_ns; /* not ended */
        const uint64_t key = (uint64_t)rows[i].name << 32 | rows[i].domain;
        uint64_t at;
        uint32_t label = 0;
        if (sonde_map_get(known, key, &at)) {
            label = (uint32_t)at;
        } else {
            rc = sonde__labels_range(&timeline->labels, sonde_process_string(process->p, rows[i].name),
                                     sonde_process_string(process->p, rows[i].domain), &label);
            rc = rc ? rc : sonde_map_put(known, key, label);
        }
        const struct sonde__named named = {
            .begin_ns = sonde__common_ns(process->origin_ns, rows[i].begin_ns),
            .end_ns = sonde__common_ns(process->origin_ns, end > rows[i].begin_ns ? end : rows[i].begin_ns),
            .label = label,
        };
        rc = rc ? rc : sonde_vector_push(&out->items, named);
    }
    return rc;
}

int sonde__message_label(struct sonde_timeline *timeline, const struct sonde_process *p, uint32_t node, uint32_t *label)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return sonde__labels_range(&timeline->labels, frame ? sonde_process_string(p, frame->name) : "", "", label);
}

/* The same of calls of MPI; what one call sent and received has a row each. */
static int add_messages(struct sonde_timeline *timeline, const struct sonde__timeline_process *process, struct sonde__ranges *out,
                        const struct sonde_row_message *rows, uint32_t count)
{
    uint32_t label = 0, node = 0;
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++) {
        const struct sonde_row_message *row = &rows[i];
        const uint64_t leave_ns = row->leave_ns > row->enter_ns ? row->leave_ns : row->enter_ns;
        const struct sonde__named named = {sonde__common_ns(process->origin_ns, row->enter_ns), sonde__common_ns(process->origin_ns, leave_ns), .label = label};
        const struct sonde__named *last = out->items.count ? &out->items.items[out->items.count - 1] : NULL;
        if (last && last->begin_ns == named.begin_ns && last->end_ns == named.end_ns && row->node == node)
            continue;
        if (row->node != node)
            rc = sonde__message_label(timeline, process->p, row->node, &label);
        node = row->node;
        rc = rc ? rc : sonde_vector_push(&out->items, named);
        if (!rc)
            out->items.items[out->items.count - 1].label = label;
    }
    return rc;
}

/* Those that are open, by their ends: how many there are is the track. */
static int find_tracks(struct sonde__ranges *ranges)
{
    SONDE_VECTOR(uint64_t) open = {0};
    int rc = 0;
    for (size_t i = 0; i < ranges->items.count && !rc; i++) {
        struct sonde__named *named = &ranges->items.items[i];
        while (open.count && open.items[open.count - 1] <= named->begin_ns)
            open.count--;
        named->track = (uint32_t)open.count;
        rc = sonde_vector_push(&open, named->end_ns);
    }
    sonde_vector_fini(&open);
    return rc;
}

static int put_tracks(struct sonde__ranges *ranges)
{
    const struct sonde__named *items = ranges->items.items;
    if (!ranges->items.count)
        return 0;
    qsort(ranges->items.items, ranges->items.count, sizeof *items, by_begin);
    if (find_tracks(ranges))
        return SONDE_ENOMEM;
    qsort(ranges->items.items, ranges->items.count, sizeof *items, by_track);
    for (size_t i = 0; i <= ranges->items.count; i++) /* no track is empty: what is in it lies in one of the track above */
        if (!i || i == ranges->items.count || items[i].track != items[i - 1].track)
            if (sonde_vector_push(&ranges->tracks, i))
                return SONDE_ENOMEM;
    return 0;
}

int sonde__ranges_read(struct sonde_timeline *timeline, struct sonde__timeline_process *process, uint32_t lane)
{
    struct sonde__ranges *ranges = &process->ranges[lane];
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    struct sonde_map known = {0};
    int rc = reader ? 0 : SONDE_ENOMEM;
    for (size_t k = 0; k < SONDE__RANGE_TABLES && !rc; k++) {
        uint32_t count, first = sonde__lane_chunks(process->p, sonde__range_tables[k], lane, &count);
        for (uint32_t i = first; i < first + count && !rc; i++) {
            const void *rows = sonde_chunk_reader_rows(reader, process->p, i);
            const uint32_t rows_of = process->p->traces[i].count;
            if (rows && sonde__range_tables[k] == SONDE_TABLE_RANGE)
                rc = add_rows(timeline, process, ranges, rows, rows_of, &known);
            else if (rows)
                rc = add_messages(timeline, process, ranges, rows, rows_of);
        }
    }
    rc = rc ? rc : put_tracks(ranges);
    timeline->range_bytes += ranges->items.capacity * sizeof *ranges->items.items;
    ranges->known = !rc;
    sonde_map_fini(&known);
    sonde_chunk_reader_destroy(reader);
    return rc;
}

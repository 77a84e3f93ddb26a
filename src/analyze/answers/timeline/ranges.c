/* ranges.c - the ranges and marks of a thread, which lie in each other, as tracks.
 *
 * A range is on the track below the innermost of those that it is in. They come in the order in which they ended, so
 * that the tracks of a lane are made of all of its ranges, once.
 */
#include <stdlib.h>

#include "own.h"

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
    uint32_t count, first = sonde__lane_chunks(process->p, SONDE_TABLE_RANGE, lane, &count);
    int rc = reader ? 0 : SONDE_ENOMEM;
    for (uint32_t i = first; i < first + count && !rc; i++) {
        const void *rows = sonde_chunk_reader_rows(reader, process->p, i);
        if (rows)
            rc = add_rows(timeline, process, ranges, rows, process->p->traces[i].count, &known);
    }
    rc = rc ? rc : put_tracks(ranges);
    timeline->range_bytes += ranges->items.capacity * sizeof *ranges->items.items;
    ranges->known = !rc;
    sonde_map_fini(&known);
    sonde_chunk_reader_destroy(reader);
    return rc;
}

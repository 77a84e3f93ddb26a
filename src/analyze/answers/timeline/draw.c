/* draw.c - intervals and totals of a lane, from its tiles and its ranges.
 *
 * Of each bin the label with most time is shown. What only orders others is not, where anything else takes time.
 */
#include <stdlib.h>
#include <string.h>

#include "own.h"

struct entry { /* of a bin */
    uint64_t time_ns;
    uint32_t label, node, rows, next; /* next: number plus one of another one of this bin */
    uint8_t kind;
};

struct slot { /* a label in a bin */
    uint64_t time_ns, rows;
    const struct entry *heaviest; /* of its entries */
    uint32_t label;
    bool occupies;
};

struct sonde__drawer {
    const struct sonde_timeline *timeline;
    const struct sonde__view *view;
    uint32_t *heads;      /* [bin]: number plus one of the first entry */
    size_t bins;
    SONDE_VECTOR(struct entry) entries;
    SONDE_VECTOR(struct sonde_timeline_interval) longs;
    SONDE_VECTOR(struct slot) slots;
    uint32_t *slot_of;    /* [label]: it is that, if the slot says so, too */
    struct sonde_timeline_total *totals; /* [label] */
    bool *seen;                          /* [label]: it has one */
    struct sonde_timeline_lane *out;
    uint32_t track;
};

struct sonde__drawer *sonde__drawer_create(const struct sonde_timeline *timeline, const struct sonde__view *view)
{
    const size_t labels = timeline->labels.items.count, bins = (size_t)(view->last_bin - view->first_bin + 1);
    struct sonde__drawer *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->timeline = timeline;
    d->view = view;
    d->bins = bins;
    d->heads = calloc(bins, sizeof *d->heads);
    d->slot_of = calloc(labels, sizeof *d->slot_of);
    d->totals = calloc(labels, sizeof *d->totals);
    d->seen = calloc(labels, sizeof *d->seen);
    if (d->heads && d->slot_of && d->totals && d->seen)
        return d;
    sonde__drawer_destroy(d);
    return NULL;
}

void sonde__drawer_destroy(struct sonde__drawer *d)
{
    if (!d)
        return;
    free(d->heads);
    free(d->slot_of);
    free(d->totals);
    free(d->seen);
    sonde_vector_fini(&d->entries);
    sonde_vector_fini(&d->longs);
    sonde_vector_fini(&d->slots);
    free(d);
}

/* ---- what there is ----------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_total(struct sonde__drawer *d, uint32_t label, uint64_t time_ns, uint64_t rows)
{
    d->seen[label] = true;
    d->totals[label].time_ns += time_ns;
    d->totals[label].rows += rows;
}

static int add_entry(struct sonde__drawer *d, size_t bin, struct entry entry)
{
    entry.next = d->heads[bin];
    if (sonde_vector_push(&d->entries, entry))
        return SONDE_ENOMEM;
    d->heads[bin] = (uint32_t)d->entries.count;
    add_total(d, entry.label, entry.time_ns, entry.rows);
    return 0;
}

static bool is_seen(const struct sonde__view *v, uint64_t begin_ns, uint64_t end_ns)
{
    return begin_ns <= sonde__view_last(v) && (end_ns > begin_ns ? end_ns > sonde__view_begin(v) : begin_ns >= sonde__view_begin(v));
}

/* What of it lies in the range. Of what only has a number of rows no time is known. */
static int add_long(struct sonde__drawer *d, struct sonde_timeline_interval one)
{
    const struct sonde__view *v = d->view;
    if (!is_seen(v, one.begin_ns, one.end_ns))
        return 0;
    if (one.kind != SONDE_DRAWN_UNREAD)
        one.time_ns = least(one.end_ns - 1, sonde__view_last(v)) - most(one.begin_ns, sonde__view_begin(v)) + 1;
    one.all_ns = one.time_ns;
    one.track = d->track;
    add_total(d, one.label, one.time_ns, one.rows);
    return sonde_vector_push(&d->longs, one);
}

/* A piece of a thread's time that goes on from the one before: cut at a tile's border, or another call from the same frame
 * at the depth that is shown. */
static bool joins(const struct sonde__drawer *d, const struct sonde_timeline_interval *next)
{
    const struct sonde_timeline_interval *last = d->longs.count ? &d->longs.items[d->longs.count - 1] : NULL;
    return last && last->end_ns == next->begin_ns && last->label == next->label && last->kind == next->kind &&
           (!next->rows || d->timeline->labels.depth || next->kind == SONDE_DRAWN_SAMPLE || next->kind == SONDE_DRAWN_OFF);
}

static int add_piece(struct sonde__drawer *d, const struct sonde_timeline_interval *piece)
{
    if (!joins(d, piece))
        return add_long(d, *piece);
    struct sonde_timeline_interval *last = &d->longs.items[d->longs.count - 1];
    const size_t before = d->longs.count;
    const int rc = add_long(d, *piece); /* as it would stand by itself */
    if (rc || d->longs.count == before)
        return rc;
    last = &d->longs.items[before - 1];
    const struct sonde_timeline_interval *added = &d->longs.items[before];
    last->end_ns = added->end_ns;
    last->time_ns += added->time_ns;
    last->all_ns += added->all_ns;
    last->rows += added->rows;
    last->correlation = last->correlation == added->correlation ? last->correlation : 0;
    d->longs.count = before;
    return 0;
}

/* ---- tiles -------------------------------------------------------------------------------------- */

static int add_tile(struct sonde__drawer *d, const struct sonde__tile *tile, bool first, bool thread)
{
    const struct sonde__view *v = d->view;
    const struct sonde__labels *labels = &d->timeline->labels;
    const uint32_t *label_of = thread ? labels->shown : labels->whole;
    const uint64_t begin = sonde__tile_begin(tile), first_bin = tile->number << SONDE__TILE_SHIFT;
    int rc = 0;
    for (size_t i = 0; i < tile->longs.count && !rc; i++) {
        const struct sonde__long *row = &tile->longs.items[i];
        const struct sonde_timeline_interval one = {
            .begin_ns = row->begin_ns,
            .end_ns = row->end_ns,
            .correlation = row->correlation,
            .label = row->kind == SONDE_DRAWN_OFF ? labels->off : label_of[row->node],
            .node = row->node,
            .rows = row->rows,
            .kind = row->kind,
        };
        if (first || row->begin_ns >= begin) /* else the tile before has it */
            rc = thread ? add_piece(d, &one) : add_long(d, one);
    }
    for (size_t i = 0; i < tile->bins.count && !rc; i++) {
        const struct sonde__bin *bin = &tile->bins.items[i];
        const uint64_t number = first_bin + bin->at;
        const uint32_t label = bin->kind == SONDE_DRAWN_OFF ? labels->off : label_of[bin->node];
        if (number >= v->first_bin && number <= v->last_bin)
            rc = add_entry(d, (size_t)(number - v->first_bin), (struct entry){bin->time_ns, label, bin->node, bin->rows, 0, bin->kind});
    }
    return rc;
}

/* ---- chunks, and ranges -------------------------------------------------------------------------- */

static int by_begin(const void *left, const void *right)
{
    const struct sonde_timeline_interval *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Rows by chunk: where they are, and how many. */
static int add_chunks(struct sonde__drawer *d, const struct sonde__asked *asked, unsigned table)
{
    const struct sonde_process *p = asked->process->p;
    const struct sonde__view *v = d->view;
    const uint32_t unread = d->timeline->labels.unread;
    uint32_t count, first = sonde__lane_chunks(p, table, asked->lane, &count);
    int rc = 0;
    for (uint32_t i = first; i < first + count && !rc; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        const uint64_t begin = sonde__common_ns(asked->process->origin_ns, t->time_min);
        const uint64_t end = most(begin, sonde__common_ns(asked->process->origin_ns, t->time_max));
        if (!is_seen(v, begin, end))
            continue;
        if (end - begin >= 1ull << v->level && end > begin)
            rc = add_long(d, (struct sonde_timeline_interval){
                                 .begin_ns = begin, .end_ns = end, .label = unread, .rows = t->count, .kind = SONDE_DRAWN_UNREAD});
        else
            rc = add_entry(d, (size_t)((most(begin, sonde__view_begin(v)) >> v->level) - v->first_bin),
                           (struct entry){.label = unread, .rows = t->count, .kind = SONDE_DRAWN_UNREAD});
    }
    if (d->longs.count)
        qsort(d->longs.items, d->longs.count, sizeof *d->longs.items, by_begin);
    return rc;
}

static int add_named(struct sonde__drawer *d, const struct sonde__named *named)
{
    const struct sonde__view *v = d->view;
    const uint64_t begin = named->begin_ns, end = named->end_ns;
    int rc = 0;
    if (end > begin && end - begin >= 1ull << v->level)
        return add_long(d, (struct sonde_timeline_interval){
                               .begin_ns = begin, .end_ns = end, .label = named->label, .rows = 1, .kind = SONDE_DRAWN_RANGE});
    if (!is_seen(v, begin, end))
        return 0;
    const uint64_t from = most(begin, sonde__view_begin(v)), last = least(end > begin ? end - 1 : begin, sonde__view_last(v));
    for (uint64_t bin = from >> v->level; bin <= last >> v->level && !rc; bin++) {
        const uint64_t first_ns = bin << v->level, last_ns = first_ns + ((1ull << v->level) - 1);
        const struct entry entry = {
            .time_ns = end > begin ? least(last, last_ns) - most(from, first_ns) + 1 : 0,
            .label = named->label,
            .rows = begin >= first_ns && begin <= last_ns,
            .kind = SONDE_DRAWN_RANGE,
        };
        rc = add_entry(d, (size_t)(bin - v->first_bin), entry);
    }
    return rc;
}

/* Those of a track do not overlap: they end in the order in which they begin. */
static int add_range_track(struct sonde__drawer *d, const struct sonde__ranges *ranges, size_t track)
{
    const struct sonde__named *items = ranges->items.items;
    const size_t end = ranges->tracks.items[track + 1];
    size_t low = ranges->tracks.items[track], high = end;
    int rc = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].end_ns < sonde__view_begin(d->view))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && items[low].begin_ns <= sonde__view_last(d->view) && !rc; low++)
        rc = add_named(d, &items[low]);
    return rc;
}

/* ---- what is shown of it -------------------------------------------------------------------------- */

static struct slot *slot_of(struct sonde__drawer *d, uint32_t label)
{
    const uint32_t at = d->slot_of[label];
    if (at < d->slots.count && d->slots.items[at].label == label)
        return &d->slots.items[at];
    d->slot_of[label] = (uint32_t)d->slots.count;
    return sonde_vector_push(&d->slots, (struct slot){.label = label}) ? NULL : &d->slots.items[d->slots.count - 1];
}

static bool leads(const struct slot *a, const struct slot *b)
{
    if (a->occupies != b->occupies)
        return a->occupies;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns;
    return a->rows != b->rows ? a->rows > b->rows : a->label < b->label;
}

/* The same whatever the order in which they came. */
static bool is_heavier(const struct entry *a, const struct entry *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns;
    if (a->rows != b->rows)
        return a->rows > b->rows;
    return a->node != b->node ? a->node < b->node : a->kind < b->kind;
}

static int put_bin(struct sonde__drawer *d, size_t number)
{
    const struct sonde__view *v = d->view;
    const uint64_t begin = (v->first_bin + number) << v->level, last = begin + ((1ull << v->level) - 1);
    const struct slot *lead = NULL;
    struct sonde_timeline_interval one = {.begin_ns = begin, .end_ns = last + (last < UINT64_MAX), .merged = true, .track = d->track};
    uint64_t rows = 0;
    d->slots.count = 0;
    for (uint32_t i = d->heads[number]; i; i = d->entries.items[i - 1].next) {
        const struct entry *entry = &d->entries.items[i - 1];
        struct slot *slot = slot_of(d, entry->label);
        if (!slot)
            return SONDE_ENOMEM;
        if (!slot->heaviest || is_heavier(entry, slot->heaviest))
            slot->heaviest = entry;
        slot->time_ns += entry->time_ns;
        slot->rows += entry->rows;
        slot->occupies |= entry->kind != SONDE_DRAWN_ORDER && entry->time_ns;
        rows += entry->rows;
    }
    for (size_t i = 0; i < d->slots.count; i++)
        lead = !lead || leads(&d->slots.items[i], lead) ? &d->slots.items[i] : lead;
    for (size_t i = 0; i < d->slots.count; i++)
        one.all_ns += d->slots.items[i].occupies == lead->occupies ? d->slots.items[i].time_ns : 0;
    one.time_ns = lead->time_ns;
    one.label = lead->label;
    one.node = lead->heaviest->node;
    one.kind = lead->heaviest->kind;
    one.rows = rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
    return sonde_vector_push(&d->out->intervals, one);
}

/* Of the track, by begin. */
static int put_track(struct sonde__drawer *d)
{
    size_t next = 0;
    int rc = 0;
    for (size_t i = 0; i < d->bins && !rc; i++) {
        if (!d->heads[i])
            continue;
        for (; next < d->longs.count && d->longs.items[next].begin_ns <= (d->view->first_bin + i) << d->view->level && !rc; next++)
            rc = sonde_vector_push(&d->out->intervals, d->longs.items[next]);
        rc = rc ? rc : put_bin(d, i);
        d->heads[i] = 0;
    }
    for (; next < d->longs.count && !rc; next++)
        rc = sonde_vector_push(&d->out->intervals, d->longs.items[next]);
    d->longs.count = d->entries.count = 0;
    return rc;
}

static int put_totals(struct sonde__drawer *d)
{
    const size_t labels = d->timeline->labels.items.count;
    int rc = 0;
    for (uint32_t i = 0; i < labels; i++) {
        if (!d->seen[i])
            continue;
        d->totals[i].label = i;
        rc = rc ? rc : sonde_vector_push(&d->out->totals, d->totals[i]);
        d->totals[i] = (struct sonde_timeline_total){0};
        d->seen[i] = false;
    }
    return rc;
}

static int draw_rows(struct sonde__drawer *d, const struct sonde__asked *asked)
{
    int rc = 0;
    if (!asked->unread) {
        for (uint64_t i = 0; i < d->view->tile_count && !rc; i++)
            rc = asked->tiles[i] ? add_tile(d, asked->tiles[i], i == 0, asked->thread) : 0;
    } else if (!asked->thread) {
        rc = add_chunks(d, asked, SONDE_TABLE_OP);
    } else {
        static const unsigned tables[] = {SONDE_TABLE_CALL, SONDE_TABLE_SAMPLE, SONDE_TABLE_SLEEP};
        for (size_t i = 0; i < sizeof tables / sizeof *tables && !rc; i++)
            rc = add_chunks(d, asked, tables[i]);
    }
    return rc ? rc : put_track(d);
}

static int draw_ranges(struct sonde__drawer *d, const struct sonde__asked *asked)
{
    const struct sonde__ranges *ranges = &asked->process->ranges[asked->lane];
    int rc = 0;
    if (asked->ranges_unread) {
        d->track = 1;
        for (size_t k = 0; k < SONDE__RANGE_TABLES && !rc; k++)
            rc = add_chunks(d, asked, sonde__range_tables[k]);
        rc = rc ? rc : put_track(d);
        d->out->tracks = 2;
        return rc;
    }
    for (size_t i = 0; i + 1 < ranges->tracks.count && !rc; i++) {
        d->track = 1 + (uint32_t)i;
        rc = add_range_track(d, ranges, i);
        rc = rc ? rc : put_track(d);
        d->out->tracks++;
    }
    return rc;
}

int sonde__draw(struct sonde__drawer *d, const struct sonde__asked *asked)
{
    d->out = asked->out;
    d->track = 0;
    d->out->tracks = 1;
    int rc = draw_rows(d, asked);
    rc = rc || !asked->thread ? rc : draw_ranges(d, asked);
    return rc ? rc : put_totals(d);
}

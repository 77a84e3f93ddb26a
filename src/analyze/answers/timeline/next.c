/* next.c - the next interval of what is looked for, on all lanes.
 *
 * The run is read from the place on, a tile of all lanes at a time, of which the next is as long or twice as long, where tiles of
 * that length begin: near hits are found at once, and far ones by reading no more than twice what lies in between.
 *
 * What a thread did comes in pieces, and an interval is what draw.c puts together of them: a piece whose predecessor
 * is of the same label begins none. At the begin of a tile the predecessor is looked up.
 */
#include <stdlib.h>

#include "own.h"

struct lane_state { /* of a thread: what came before */
    struct sonde__long last;
    uint32_t label;
    bool has_last, has_hit;
    bool is_best; /* the last belongs to the hit */
    struct sonde_timeline_hit hit;
};

struct scan {
    struct sonde_timeline *timeline;
    const struct sonde_timeline_search *search;
    const struct sonde__timeline_process *process;
    int8_t *accepted;              /* [label]: 1 yes, 0 no, -1 not asked yet */
    size_t accepted_count;
    uint64_t first_ns, last_ns;    /* of the tile */
    struct lane_state *lanes;      /* [lane] */
    bool found;
    struct sonde_timeline_hit best;
};

/* ---- what is looked for ----------------------------------------------------------------------------------- */

static int know_labels(struct scan *s)
{
    const struct sonde__labels *labels = &s->timeline->labels;
    int8_t *grown = realloc(s->accepted, labels->items.count + 1);
    if (!grown)
        return SONDE_ENOMEM;
    s->accepted = grown;
    for (; s->accepted_count < labels->items.count; s->accepted_count++) {
        const struct sonde_timeline_label *label = &labels->items.items[s->accepted_count];
        s->accepted[s->accepted_count] = label->routine && label->frame.kind && s->search->accepts(s->search->user, label);
    }
    return 0;
}

static int compare(const struct sonde_timeline_place *a, const struct sonde_timeline_place *b)
{
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static bool is_ahead(const struct scan *s, const struct sonde_timeline_place *place)
{
    const struct sonde_timeline_search *q = s->search;
    if (q->from)
        return q->back ? compare(place, q->from) < 0 : compare(place, q->from) > 0;
    return q->back ? place->begin_ns < q->at_ns : place->begin_ns >= q->at_ns;
}

static bool is_nearer(const struct scan *s, const struct sonde_timeline_hit *a, const struct sonde_timeline_hit *b)
{
    return s->search->back ? compare(&a->place, &b->place) > 0 : compare(&a->place, &b->place) < 0;
}

/* ---- rows of lanes ---------------------------------------------------------------------------------------- */

static uint32_t label_of(const struct scan *s, const struct sonde__asked *lane, const struct sonde__long *row)
{
    const struct sonde__labels *labels = &s->timeline->labels;
    return row->kind == SONDE_DRAWN_OFF ? labels->off : (lane->thread ? labels->shown : labels->whole)[row->node];
}

/* As draw.c joins pieces of a thread's time. */
static bool joins(const struct scan *s, const struct sonde__long *last, uint32_t last_label, const struct sonde__long *next, uint32_t label)
{
    return last->end_ns == next->begin_ns && last_label == label && last->kind == next->kind &&
           (!next->rows || s->timeline->labels.depth || next->kind == SONDE_DRAWN_SAMPLE || next->kind == SONDE_DRAWN_OFF);
}

struct lookup {
    const struct scan *scan;
    uint64_t end_ns;
    struct sonde__long last;
    uint32_t label;
    bool found;
};

static int look_up(void *user, const struct sonde__asked *lane, const struct sonde__long *row)
{
    struct lookup *l = user;
    if (row->end_ns == l->end_ns && row->begin_ns < row->end_ns) {
        l->last = *row;
        l->label = label_of(l->scan, lane, row);
        l->found = true;
    }
    return 0;
}

/* What ended where the tile begins. */
static int know_last(const struct scan *s, const struct sonde__asked *lane, struct lane_state *state)
{
    struct lookup l = {.scan = s, .end_ns = s->first_ns};
    if (!s->first_ns)
        return 0;
    const int rc = sonde__scan_lanes(s->timeline, s->process, 0, (s->first_ns - 1) >> SONDE__TILE_SHIFT, lane->lane, look_up, &l);
    state->last = l.last;
    state->label = l.label;
    state->has_last = l.found;
    return rc;
}

/* Is it the nearest of its lane by now? */
static bool take(const struct scan *s, const struct sonde__asked *lane, const struct sonde__long *row, struct lane_state *state)
{
    const struct sonde_timeline_hit hit = {
        .place = {row->begin_ns, s->process->index, lane->lane, 0, row->correlation},
        .end_ns = row->end_ns,
        .cut = lane->thread && row->end_ns > s->last_ns,
        .node = row->node,
        .kind = (enum sonde_drawn)row->kind,
    };
    if (!is_ahead(s, &hit.place) || (state->has_hit && !is_nearer(s, &hit, &state->hit)))
        return false;
    state->hit = hit;
    state->has_hit = true;
    return true;
}

/* A stretch near samples that begins with the tile: who filled it cannot know that. */
static bool may_begin(const struct scan *s, const struct sonde__long *row)
{
    return row->rows || (row->kind == SONDE_DRAWN_SAMPLE && row->begin_ns == s->first_ns);
}

static int each_piece(const struct scan *s, const struct sonde__asked *lane, const struct sonde__long *row, struct lane_state *state)
{
    const uint32_t label = label_of(s, lane, row);
    const bool wanted = s->accepted[label] && row->begin_ns >= s->first_ns && row->begin_ns <= s->last_ns;
    int rc = 0;
    if (row->end_ns == row->begin_ns) {
        if (wanted && take(s, lane, row, state))
            state->is_best = false;
        return 0;
    }
    if (wanted && row->begin_ns == s->first_ns && may_begin(s, row))
        rc = know_last(s, lane, state);
    const bool joined = state->has_last && joins(s, &state->last, state->label, row, label);
    if (joined && state->is_best) {
        state->hit.end_ns = row->end_ns;
        state->hit.cut = row->end_ns > s->last_ns;
    }
    state->is_best &= joined;
    if (wanted && !joined && may_begin(s, row))
        state->is_best = take(s, lane, row, state);
    state->last = *row;
    state->label = label;
    state->has_last = true;
    return rc;
}

static int each_row(void *user, const struct sonde__asked *lane, const struct sonde__long *row)
{
    const struct scan *s = user;
    struct lane_state *state = &s->lanes[lane->lane];
    if (lane->thread)
        return each_piece(s, lane, row, state);
    if (s->accepted[label_of(s, lane, row)] && row->begin_ns >= s->first_ns && row->begin_ns <= s->last_ns)
        take(s, lane, row, state);
    return 0;
}

/* ---- ranges ------------------------------------------------------------------------------------------------ */

static bool is_seen(const struct scan *s, uint32_t lane, uint64_t begin)
{
    const struct sonde_process *p = s->process->p;
    return begin >= s->first_ns && begin <= s->last_ns && lane < p->lane_count && p->lanes[lane].kind == SONDE_LANE_KIND_THREAD;
}

/* The one of that label that begins there. */
static int find_range(struct scan *s, uint32_t lane, uint64_t begin, uint32_t label)
{
    int rc = know_labels(s);
    if (rc || !s->accepted[label])
        return rc;
    /* On which track it is, only all ranges of the lane tell. */
    if (!s->process->ranges[lane].known)
        rc = sonde__ranges_read(s->timeline, &s->timeline->processes[s->process->index], lane);
    const struct sonde__ranges *ranges = &s->process->ranges[lane];
    for (size_t track = 0; track + 1 < ranges->tracks.count && !rc; track++) {
        size_t low = ranges->tracks.items[track], high = ranges->tracks.items[track + 1];
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (ranges->items.items[middle].begin_ns < begin)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < ranges->tracks.items[track + 1] && ranges->items.items[low].begin_ns == begin; low++) {
            const struct sonde_timeline_hit hit = {
                .place = {begin, s->process->index, lane, 1 + (uint32_t)track, 0},
                .end_ns = ranges->items.items[low].end_ns,
                .kind = SONDE_DRAWN_RANGE,
            };
            struct lane_state *state = &s->lanes[lane];
            if (ranges->items.items[low].label == label && is_ahead(s, &hit.place) && (!state->has_hit || is_nearer(s, &hit, &state->hit))) {
                state->hit = hit;
                state->has_hit = true;
            }
        }
    }
    return rc;
}

static int each_range(void *user, uint32_t lane, const void *row)
{
    struct scan *s = user;
    const struct sonde_row_range *range = row;
    const struct sonde_process *p = s->process->p;
    const uint64_t begin = sonde__common_ns(s->process->origin_ns, range->begin_ns);
    uint32_t label;
    if (!is_seen(s, lane, begin))
        return 0;
    const int rc = sonde__labels_range(&s->timeline->labels, sonde_process_string(p, range->name), sonde_process_string(p, range->domain), &label);
    return rc ? rc : find_range(s, lane, begin, label);
}

static int each_message(void *user, uint32_t lane, const void *row)
{
    struct scan *s = user;
    const struct sonde_row_message *message = row;
    const uint64_t begin = sonde__common_ns(s->process->origin_ns, message->enter_ns);
    uint32_t label;
    if (!is_seen(s, lane, begin))
        return 0;
    const int rc = sonde__message_label(s->timeline, s->process->p, message->node, &label);
    return rc ? rc : find_range(s, lane, begin, label);
}

static int scan_ranges(struct scan *s)
{
    const uint64_t to_ns = sonde__process_ns(s->process->origin_ns, s->last_ns);
    int rc = 0;
    for (size_t k = 0; k < SONDE__RANGE_TABLES && !rc; k++) {
        const struct sonde_trace_stored which = {
            .table = sonde__range_tables[k],
            .from_ns = sonde__process_ns(s->process->origin_ns, s->first_ns),
            .to_ns = to_ns + (to_ns < UINT64_MAX),
        };
        rc = sonde_trace_each(s->process->p, &which, which.table == SONDE_TABLE_RANGE ? each_range : each_message, s);
    }
    return rc;
}

/* ---- tiles --------------------------------------------------------------------------------------------------- */

static int scan_process(struct scan *s, uint32_t process, uint32_t level, uint64_t tile)
{
    s->process = &s->timeline->processes[process];
    const uint32_t lanes = s->process->p->lane_count;
    s->lanes = calloc((size_t)lanes + 1, sizeof *s->lanes);
    int rc = s->lanes ? sonde__scan_lanes(s->timeline, s->process, level, tile, 0, each_row, s) : SONDE_ENOMEM;
    rc = rc ? rc : scan_ranges(s);
    for (uint32_t i = 0; i < lanes && !rc; i++)
        if (s->lanes[i].has_hit && (!s->found || is_nearer(s, &s->lanes[i].hit, &s->best))) {
            s->best = s->lanes[i].hit;
            s->found = true;
        }
    free(s->lanes);
    s->lanes = NULL;
    return rc;
}

static int scan_tile(struct scan *s, uint32_t level, uint64_t tile)
{
    int rc = 0;
    s->first_ns = tile << (level + SONDE__TILE_SHIFT);
    s->last_ns = s->first_ns + ((1ull << (level + SONDE__TILE_SHIFT)) - 1);
    for (uint32_t i = 0; i < s->timeline->m->process_count && !rc; i++)
        rc = scan_process(s, i, level, tile);
    return rc;
}

/* Of about as many rows as are read in a moment. */
static uint32_t first_level(const struct scan *s, uint64_t end_ns)
{
    const uint64_t parts = sonde_trace_rows(s->timeline->m, SONDE_READ_ALL) / (s->search->rows_first ? s->search->rows_first : 1 << 16) + 1;
    uint32_t level = 0;
    while (level < SONDE__LEVEL_MOST - 1 && (2ull << (level + SONDE__TILE_SHIFT)) <= end_ns / parts)
        level++;
    return level;
}

static uint64_t end_of(const struct sonde_timeline *t)
{
    uint64_t end_ns = t->length_ns;
    for (uint32_t i = 0; i < t->m->process_count; i++) {
        const struct sonde_trace_extent seen = sonde_trace_extent(t->processes[i].p, SONDE_READ_ALL);
        const uint64_t last = seen.rows ? sonde__common_ns(t->processes[i].origin_ns, seen.to_ns) : 0;
        end_ns = last > end_ns ? last : end_ns;
    }
    return end_ns < INT64_MAX ? end_ns : INT64_MAX;
}

static int scan_all(struct scan *s)
{
    const bool back = s->search->back;
    const uint64_t end_ns = end_of(s->timeline), at_ns = s->search->from ? s->search->from->begin_ns : s->search->at_ns;
    uint32_t level = first_level(s, end_ns);
    uint64_t tile = (at_ns < end_ns ? at_ns : end_ns) >> (level + SONDE__TILE_SHIFT);
    if (!back && at_ns > end_ns)
        return 0;
    for (;;) {
        const int rc = scan_tile(s, level, tile);
        if (rc || s->found || (back ? s->first_ns == 0 : s->last_ns >= end_ns))
            return rc;
        tile = back ? tile - 1 : tile + 1;
        if ((tile & 1) == back && level < SONDE__LEVEL_MOST) {
            tile >>= 1;
            level++;
        }
    }
}

int sonde_timeline_next(struct sonde_timeline *timeline, const struct sonde_timeline_search *search, struct sonde_timeline_hit *hit,
                        struct sonde_diag *diag)
{
    struct scan s = {.timeline = timeline, .search = search};
    pthread_mutex_lock(&timeline->lock);
    int rc = sonde__labels_cut(&timeline->labels, timeline->profile, search->depth);
    rc = rc ? rc : know_labels(&s);
    rc = rc ? rc : scan_all(&s);
    pthread_mutex_unlock(&timeline->lock);
    free(s.accepted);
    if (rc)
        return sonde_diag_set(diag, rc, timeline->m->path, "cannot look through the lanes of");
    *hit = s.best;
    return s.found ? 0 : SONDE_ENOTFOUND;
}

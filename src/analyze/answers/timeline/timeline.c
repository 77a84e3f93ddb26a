/* timeline.c - a question about some lanes: which tiles there are, what has to be read, and the answer. */
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "own.h"

#define ROOM_BYTES ((size_t)256 << 20)
#define ROWS_MOST 4000000u

/* ---- opening -------------------------------------------------------------------------------------- */

static int init_process(struct sonde_timeline *t, uint32_t index, uint64_t begin_ns)
{
    const struct sonde_process *p = &t->m->processes[index];
    struct sonde__timeline_process *process = &t->processes[index];
    const int64_t origin = (int64_t)(begin_ns - p->header.wall_offset_ns);
    process->p = p;
    process->index = index;
    process->origin_ns = origin > INT64_MIN ? origin : -INT64_MAX;
    process->alive = sonde__find_alive(p);
    process->ranges = calloc((size_t)p->lane_count + 1, sizeof *process->ranges);
    const int rc = sonde_recorded_compute(t->m, p, &process->recorded);
    if (rc || !process->alive || !process->ranges)
        return SONDE_ENOMEM;
    const struct sonde_trace_extent seen = sonde_trace_extent(p, SONDE_READ_ALL); /* of a process whose header was lost all that is known */
    const uint64_t last = sonde__common_ns(process->origin_ns, seen.to_ns);
    if (p->header.stop_ns <= p->header.start_ns && seen.rows && last > t->length_ns)
        t->length_ns = last;
    return 0;
}

int sonde_timeline_create(const struct sonde_measurement *m, const struct sonde_profile *profile, size_t room_bytes,
                          struct sonde_timeline **out)
{
    uint64_t begin, end;
    struct sonde_timeline *t = *out = calloc(1, sizeof *t);
    if (!t)
        return SONDE_ENOMEM;
    t->m = m;
    t->profile = profile;
    t->room_bytes = room_bytes ? room_bytes : ROOM_BYTES;
    t->processes = calloc((size_t)m->process_count + 1, sizeof *t->processes);
    pthread_mutex_init(&t->lock, NULL);
    sonde_run_range(m, &begin, &end);
    t->length_ns = end > begin ? end - begin : 0;
    int rc = sonde__tiles_init(&t->tiles, t->room_bytes);
    rc = rc || t->processes ? rc : SONDE_ENOMEM;
    rc = rc ? rc : sonde__labels_init(&t->labels, profile);
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = init_process(t, i, begin);
    if (rc) {
        sonde_timeline_destroy(t);
        *out = NULL;
    }
    return rc;
}

static void forget_ranges(struct sonde_timeline *t)
{
    for (uint32_t i = 0; i < t->m->process_count && t->processes; i++)
        for (uint32_t lane = 0; t->processes[i].ranges && lane < t->processes[i].p->lane_count; lane++) {
            struct sonde__ranges *ranges = &t->processes[i].ranges[lane];
            sonde_vector_fini(&ranges->items);
            sonde_vector_fini(&ranges->tracks);
            ranges->known = false;
        }
    t->range_bytes = 0;
}

void sonde_timeline_destroy(struct sonde_timeline *t)
{
    if (!t)
        return;
    forget_ranges(t);
    for (uint32_t i = 0; i < t->m->process_count && t->processes; i++) {
        sonde_recorded_fini(&t->processes[i].recorded);
        free(t->processes[i].alive);
        free(t->processes[i].ranges);
    }
    sonde__tiles_fini(&t->tiles);
    sonde__labels_fini(&t->labels);
    pthread_mutex_destroy(&t->lock);
    free(t->processes);
    free(t);
}

uint32_t sonde__lane_chunks(const struct sonde_process *p, unsigned table, uint32_t lane, uint32_t *count)
{
    uint32_t ends[2]; /* the first that is not before (table, lane), and not before (table, lane + 1) */
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t low = 0, high = p->trace_count;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            const struct sonde_chunk_ref *t = &p->traces[middle];
            if (t->table < table || (t->table == table && t->lane < lane + i))
                low = middle + 1;
            else
                high = middle;
        }
        ends[i] = low;
    }
    *count = ends[1] - ends[0];
    return ends[0];
}

/* ---- a question ------------------------------------------------------------------------------------ */

struct question {
    struct sonde_timeline *timeline;
    const struct sonde_timeline_question *q;
    struct sonde_timeline_answer *answer;
    uint64_t to_ns;                /* the range's end */
    struct sonde__view view;
    struct sonde__asked *asked;    /* [lane_count] */
    struct sonde__tile **tiles;    /* of all of them, known ones and fresh ones */
    struct sonde__asked **order;   /* those that miss something */
    size_t missing;
};

static struct sonde__view view_of(uint64_t from, uint64_t to, uint32_t level)
{
    struct sonde__view v = {.level = level, .first_bin = from >> level, .last_bin = (to - 1) >> level};
    v.first_tile = v.first_bin >> SONDE__TILE_SHIFT;
    v.tile_count = (v.last_bin >> SONDE__TILE_SHIFT) - v.first_tile + 1;
    return v;
}

static int look_at(struct question *q, struct sonde_diag *diag)
{
    const char *path = q->timeline->m->path;
    const uint64_t from = q->q->from_ns, length = q->timeline->length_ns, to = q->q->to_ns ? q->q->to_ns : (length ? length : 1);
    if (!q->q->pixels || q->q->pixels > SONDE_TIMELINE_PIXELS)
        return sonde_diag_set(diag, SONDE_EINVALID, path, "the picture must be 1 to %d pixels wide, of", (int)SONDE_TIMELINE_PIXELS);
    if (from >= to)
        return sonde_diag_set(diag, SONDE_EINVALID, path, "the time window is empty in");
    const uint64_t width = (to - from) / q->q->pixels;
    const uint32_t level = width ? 63 - (uint32_t)__builtin_clzll(width) : 0;
    q->view = view_of(from, to, level < SONDE__LEVEL_MOST ? level : SONDE__LEVEL_MOST);
    q->to_ns = to;
    return 0;
}

static bool is_lane(const struct sonde_measurement *m, const struct sonde_lane_id *id)
{
    const struct sonde_process *p = id->process < m->process_count ? &m->processes[id->process] : NULL;
    const uint32_t kind = p && id->lane && id->lane < p->lane_count ? p->lanes[id->lane].kind : 0;
    return kind == SONDE_LANE_KIND_THREAD || kind == SONDE_LANE_KIND_QUEUE;
}

static int by_id(const void *left, const void *right)
{
    const struct sonde_lane_id *a = left, *b = right;
    return a->process != b->process ? (a->process < b->process ? -1 : 1) : (a->lane < b->lane ? -1 : a->lane > b->lane);
}

static int check_lanes(const struct question *q, struct sonde_diag *diag)
{
    const char *path = q->timeline->m->path;
    const size_t count = q->q->lane_count;
    struct sonde_lane_id *sorted = malloc((count + 1) * sizeof *sorted);
    int rc = sorted ? 0 : sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot draw lanes of");
    for (size_t i = 0; i < count && !rc; i++) {
        sorted[i] = q->q->lanes[i];
        if (!is_lane(q->timeline->m, &sorted[i]))
            rc = sonde_diag_set(diag, SONDE_ENOTFOUND, path, "there is no lane %u:%u in", sorted[i].process, sorted[i].lane);
    }
    if (!rc && count)
        qsort(sorted, count, sizeof *sorted, by_id);
    for (size_t i = 1; i < count && !rc; i++)
        if (by_id(&sorted[i - 1], &sorted[i]) == 0)
            rc = sonde_diag_set(diag, SONDE_EINVALID, path, "the lane %u:%u is named twice, of", sorted[i].process, sorted[i].lane);
    free(sorted);
    return rc;
}

static int make_lanes(struct question *q)
{
    const size_t count = q->q->lane_count, tiles = (size_t)q->view.tile_count;
    struct sonde_timeline_answer *answer = q->answer;
    q->asked = calloc(count + 1, sizeof *q->asked);
    q->order = calloc(count + 1, sizeof *q->order);
    q->tiles = calloc(2 * count * tiles + 1, sizeof *q->tiles);
    if (!q->asked || !q->order || !q->tiles)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (sonde_vector_push(&answer->lanes, (struct sonde_timeline_lane){.id = q->q->lanes[i]}))
            return SONDE_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct sonde_timeline_lane *lane = &answer->lanes.items[i];
        struct sonde__timeline_process *process = &q->timeline->processes[lane->id.process];
        lane->bad_times = process->p->lanes[lane->id.lane].bad_time;
        q->asked[i] = (struct sonde__asked){
            .process = process,
            .lane = lane->id.lane,
            .thread = process->p->lanes[lane->id.lane].kind == SONDE_LANE_KIND_THREAD,
            .tiles = q->tiles + 2 * i * tiles,
            .fresh = q->tiles + (2 * i + 1) * tiles,
            .missing_first = UINT64_MAX,
            .out = lane,
        };
    }
    return 0;
}

/* ---- what is known, and what has to be read ---------------------------------------------------------- */

static struct sonde__tile *new_tile(const struct question *q, const struct sonde__asked *asked, uint64_t number)
{
    struct sonde__tile *tile = calloc(1, sizeof *tile);
    if (!tile)
        return NULL;
    tile->process = asked->process->index;
    tile->lane = asked->lane;
    tile->level = q->view.level;
    tile->number = number;
    return tile;
}

/* Of the level below, where both halves are known. */
static int make_coarser(struct question *q, const struct sonde__asked *asked, uint64_t number, struct sonde__tile **out)
{
    struct sonde__tiles *tiles = &q->timeline->tiles;
    const uint32_t process = asked->process->index, level = q->view.level;
    const struct sonde__tile *first = level ? sonde__tiles_find(tiles, process, asked->lane, level - 1, 2 * number) : NULL;
    const struct sonde__tile *second = first ? sonde__tiles_find(tiles, process, asked->lane, level - 1, 2 * number + 1) : NULL;
    if (!second)
        return 0;
    struct sonde__tile *tile = new_tile(q, asked, number);
    const int rc = tile ? sonde__tile_coarsen(tile, first, second) : SONDE_ENOMEM;
    if (rc) {
        sonde__tile_free(tile);
        return rc;
    }
    sonde__tiles_keep(tiles, tile);
    *out = tile;
    return 0;
}

static int find_tiles(struct question *q, struct sonde__asked *asked)
{
    int rc = 0;
    for (uint64_t i = 0; i < q->view.tile_count && !rc; i++) {
        const uint64_t number = q->view.first_tile + i;
        asked->tiles[i] = sonde__tiles_find(&q->timeline->tiles, asked->process->index, asked->lane, q->view.level, number);
        if (!asked->tiles[i])
            rc = make_coarser(q, asked, number, &asked->tiles[i]);
        if (asked->tiles[i])
            continue;
        asked->missing_first = asked->missing_first < number ? asked->missing_first : number;
        asked->missing_last = number;
    }
    return rc;
}

/* In the chunks of the lane that reach into what is missing. */
static uint64_t rows_missing(const struct question *q, const struct sonde__asked *asked)
{
    static const unsigned tables[] = {SONDE_TABLE_OP, SONDE_TABLE_CALL, SONDE_TABLE_SAMPLE, SONDE_TABLE_SWITCH, SONDE_TABLE_SLEEP};
    const struct sonde_process *p = asked->process->p;
    const uint32_t shift = q->view.level + SONDE__TILE_SHIFT;
    uint64_t rows = 0;
    if (asked->missing_first > asked->missing_last)
        return 0;
    const uint64_t from = sonde__process_ns(asked->process->origin_ns, asked->missing_first << shift);
    const uint64_t last =
        sonde__process_ns(asked->process->origin_ns, (asked->missing_last << shift) + ((1ull << shift) - 1));
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        uint32_t count, first = sonde__lane_chunks(p, tables[k], asked->lane, &count);
        for (uint32_t i = first; i < first + count; i++)
            rows += p->traces[i].time_max >= from && p->traces[i].time_min <= last ? p->traces[i].count : 0;
    }
    return rows;
}

static uint64_t ranges_missing(const struct sonde__asked *asked)
{
    uint64_t rows = 0;
    if (!asked->thread || asked->process->ranges[asked->lane].known)
        return 0;
    for (size_t k = 0; k < SONDE__RANGE_TABLES; k++) {
        uint32_t count, first = sonde__lane_chunks(asked->process->p, sonde__range_tables[k], asked->lane, &count);
        for (uint32_t i = first; i < first + count; i++)
            rows += asked->process->p->traces[i].count;
    }
    return rows;
}

static int by_missing(const void *left, const void *right)
{
    const struct sonde__asked *a = *(struct sonde__asked *const *)left, *b = *(struct sonde__asked *const *)right;
    if (a->process != b->process)
        return a->process->index < b->process->index ? -1 : 1;
    if (a->missing_first != b->missing_first)
        return a->missing_first < b->missing_first ? -1 : 1;
    return a->missing_last != b->missing_last ? (a->missing_last < b->missing_last ? -1 : 1) : 0;
}

static int make_fresh(struct question *q)
{
    for (size_t i = 0; i < q->missing; i++)
        for (uint64_t k = 0; k < q->view.tile_count; k++) {
            struct sonde__asked *asked = q->order[i];
            if (!asked->tiles[k] && !(asked->fresh[k] = new_tile(q, asked, q->view.first_tile + k)))
                return SONDE_ENOMEM;
        }
    return 0;
}

/* Full ones are the cache's; what was begun when memory ended is nobody's. */
static void settle_fresh(struct question *q, int rc)
{
    for (size_t i = 0; i < q->missing; i++)
        for (uint64_t k = 0; k < q->view.tile_count; k++) {
            struct sonde__asked *asked = q->order[i];
            if (!asked->fresh[k])
                continue;
            if (rc) {
                sonde__tile_free(asked->fresh[k]);
                continue;
            }
            sonde__tile_settle(asked->fresh[k]);
            sonde__tiles_keep(&q->timeline->tiles, asked->fresh[k]);
            asked->tiles[k] = asked->fresh[k];
        }
}

static int read_missing(struct question *q)
{
    int rc = make_fresh(q);
    if (q->missing)
        qsort(q->order, q->missing, sizeof *q->order, by_missing);
    for (size_t i = 0, end; i < q->missing && !rc; i = end) {
        for (end = i + 1; end < q->missing && by_missing(&q->order[i], &q->order[end]) == 0;)
            end++;
        rc = sonde__fill_lanes(q->timeline, &q->view, (const struct sonde__asked *const *)(q->order + i), end - i);
    }
    settle_fresh(q, rc);
    for (size_t i = 0; i < q->q->lane_count && !rc; i++)
        if (ranges_missing(&q->asked[i]))
            rc = sonde__ranges_read(q->timeline, q->asked[i].process, q->asked[i].lane);
    return rc;
}

/* Is all of this view known? Then its tiles are those of the answer. */
static bool is_known(struct question *q, const struct sonde__view *view)
{
    struct sonde__tiles *tiles = &q->timeline->tiles;
    for (size_t i = 0; i < q->q->lane_count; i++)
        for (uint64_t k = 0; k < view->tile_count; k++) {
            struct sonde__asked *asked = &q->asked[i];
            asked->fresh[k] = sonde__tiles_find(tiles, asked->process->index, asked->lane, view->level, view->first_tile + k);
            if (!asked->fresh[k])
                return false;
        }
    for (size_t i = 0; i < q->q->lane_count; i++)
        memcpy(q->asked[i].tiles, q->asked[i].fresh, view->tile_count * sizeof *q->asked[i].tiles);
    q->view = *view;
    return true;
}

/* Without reading: what is known of a coarser picture, as one has it who zooms in; else chunks. */
static void make_do(struct question *q)
{
    enum { COARSER = 4 };
    const uint32_t level = q->view.level;
    bool known = false;
    for (uint32_t up = 1; up <= COARSER && level + up <= SONDE__LEVEL_MOST && !known; up++) {
        const struct sonde__view view = view_of(q->q->from_ns, q->to_ns, level + up);
        known = is_known(q, &view);
    }
    q->answer->partial = true;
    for (size_t i = 0; i < q->q->lane_count; i++) {
        struct sonde__asked *asked = &q->asked[i];
        asked->unread = !known && rows_missing(q, asked) > 0;
        asked->ranges_unread = ranges_missing(asked) > 0;
        asked->out->partial = known || asked->unread || asked->ranges_unread;
    }
}

static int find_or_read(struct question *q)
{
    const uint64_t most = q->q->rows_most ? q->q->rows_most : ROWS_MOST;
    uint64_t rows = 0;
    int rc = 0;
    for (size_t i = 0; i < q->q->lane_count && !rc; i++) {
        struct sonde__asked *asked = &q->asked[i];
        rc = find_tiles(q, asked);
        rows += rows_missing(q, asked) + ranges_missing(asked);
        if (asked->missing_first <= asked->missing_last)
            q->order[q->missing++] = asked;
    }
    if (rc || q->q->exact || rows <= most) {
        q->answer->read_rows = rows;
        return rc ? rc : read_missing(q);
    }
    make_do(q);
    return 0;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

struct drawing {
    const struct question *q;
    uint32_t tasks;
};

static int draw_lanes(void *user, uint32_t task)
{
    const struct drawing *drawing = user;
    const struct question *q = drawing->q;
    struct sonde__drawer *drawer = sonde__drawer_create(q->timeline, &q->view);
    int rc = drawer ? 0 : SONDE_ENOMEM;
    for (size_t i = task; i < q->q->lane_count && !rc; i += drawing->tasks)
        rc = sonde__draw(drawer, &q->asked[i]);
    sonde__drawer_destroy(drawer);
    return rc;
}

/* Labels of the answer: those that occur. */
static int name_labels(struct question *q)
{
    const struct sonde__labels *labels = &q->timeline->labels;
    struct sonde_timeline_answer *answer = q->answer;
    uint32_t *number = calloc(labels->items.count, sizeof *number); /* plus one */
    int rc = number ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < answer->lanes.count && !rc; i++) {
        struct sonde_timeline_lane *lane = &answer->lanes.items[i];
        for (size_t k = 0; k < lane->totals.count && !rc; k++) { /* every label has one */
            uint32_t *label = &lane->totals.items[k].label;
            if (!number[*label]) {
                rc = sonde_vector_push(&answer->labels, labels->items.items[*label]);
                number[*label] = (uint32_t)answer->labels.count;
            }
            *label = number[*label] - 1;
        }
        for (size_t k = 0; k < lane->intervals.count && !rc; k++)
            lane->intervals.items[k].label = number[lane->intervals.items[k].label] - 1;
    }
    free(number);
    return rc;
}

static int answer_question(struct question *q)
{
    const uint32_t threads = sonde_parallel_threads();
    const size_t lanes = q->q->lane_count;
    struct drawing drawing = {q, lanes < 4 * (size_t)threads ? (uint32_t)lanes : 4 * threads};
    q->timeline->tiles.question++;
    int rc = sonde__labels_cut(&q->timeline->labels, q->timeline->profile, q->q->depth);
    rc = rc ? rc : make_lanes(q);
    rc = rc ? rc : find_or_read(q);
    q->answer->from_ns = sonde__view_begin(&q->view);
    q->answer->to_ns = sonde__view_last(&q->view) + (sonde__view_last(&q->view) < UINT64_MAX);
    q->answer->bin_ns = 1ull << q->view.level;
    rc = rc ? rc : sonde_parallel_run(threads, drawing.tasks, draw_lanes, &drawing);
    rc = rc ? rc : name_labels(q);
    sonde__tiles_shrink(&q->timeline->tiles);
    if (q->timeline->range_bytes > q->timeline->room_bytes)
        forget_ranges(q->timeline);
    return rc;
}

int sonde_timeline_ask(struct sonde_timeline *timeline, const struct sonde_timeline_question *question,
                       struct sonde_timeline_answer *answer, struct sonde_diag *diag)
{
    struct question q = {.timeline = timeline, .q = question, .answer = answer};
    int rc = look_at(&q, diag);
    rc = rc ? rc : check_lanes(&q, diag);
    if (rc)
        return rc;
    pthread_mutex_lock(&timeline->lock);
    rc = answer_question(&q);
    pthread_mutex_unlock(&timeline->lock);
    free(q.asked);
    free(q.order);
    free(q.tiles);
    return rc ? sonde_diag_set(diag, rc, timeline->m->path, "cannot draw lanes of") : 0;
}

void sonde_timeline_answer_fini(struct sonde_timeline_answer *answer)
{
    for (size_t i = 0; i < answer->lanes.count; i++) {
        sonde_vector_fini(&answer->lanes.items[i].intervals);
        sonde_vector_fini(&answer->lanes.items[i].totals);
    }
    sonde_vector_fini(&answer->lanes);
    sonde_vector_fini(&answer->labels);
}

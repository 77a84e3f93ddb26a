/* fill.c - the rows of lanes, read once in order of time, into the tiles that are missing.
 *
 * Operations go into every tile that they overlap, as they are. What a thread did is cut into pieces by its stops, its
 * samples and its switches (analyze/samples/activity.h), and pieces are cut at the tiles' borders, so that a tile is
 * the same whichever others are filled with it.
 */
#include <stdlib.h>

#include "analyze/samples/activity.h"
#include "base/kinds.h"
#include "base/parallel.h"
#include "own.h"

struct reading {
    const struct sonde_timeline *timeline;
    const struct sonde__timeline_process *process;
    const struct sonde__view *view;
    const struct sonde__asked **of_lane; /* [lane]; NULL: not asked for */
    bool *wanted;                   /* [lane] */
    uint32_t threads;               /* 0: as many as there are */
    uint64_t first_tile, last_tile; /* numbers */
    uint64_t first_ns, last_ns;     /* of the tiles, since the run began */
    uint64_t from_ns, to_ns;        /* the same on the process's axis */
    sonde__each_row *each;          /* who gets the rows instead of the tiles; NULL: nobody */
    void *user;
};

struct part { /* of one lane; state of the trace, zero at first */
    const struct sonde__asked *asked;
    struct sonde__filler filler;
    struct sonde__walk walk;
    struct sonde__life life;
    struct sonde__long piece;       /* of a thread: not in the tiles yet; kind is set when there is one */
    uint64_t piece_tile, window_ns; /* window: its begin */
    bool has_piece;
    const struct reading *reading;
    struct { uint32_t id, node; } located[256];
};

static uint32_t locate(struct part *part, uint32_t id)
{
    const uint32_t slot = id % (sizeof part->located / sizeof *part->located);
    if (part->located[slot].id != id) {
        part->located[slot].id = id;
        part->located[slot].node =
            sonde_profile_locate(part->reading->timeline->profile, part->reading->process->index, id);
    }
    return part->located[slot].node;
}

static uint64_t common(const struct part *part, uint64_t at_ns)
{
    return sonde__common_ns(part->reading->process->origin_ns, at_ns);
}

static int put(struct part *part, const struct sonde__long *row)
{
    const struct reading *r = part->reading;
    return r->each ? r->each(r->user, part->asked, row) : sonde__filler_add(&part->filler, row);
}

/* ---- queues ----------------------------------------------------------------------------------- */

static int add_operation(struct part *part, const struct sonde_trace_op *op, bool timed)
{
    const struct reading *r = part->reading;
    const struct sonde__long row = {
        .begin_ns = common(part, timed ? op->start_ns : op->enter_ns),
        .end_ns = common(part, timed ? op->end_ns : op->enter_ns),
        .correlation = op->correlation,
        .node = locate(part, op->node),
        .rows = 1,
        .kind = !timed                                               ? SONDE_DRAWN_UNTIMED
                : sonde_op_kind_group(op->kind) == SONDE_GROUP_ORDER ? SONDE_DRAWN_ORDER
                                                                     : SONDE_DRAWN_OPERATION,
    };
    const bool instant = row.end_ns == row.begin_ns;
    if (row.begin_ns > r->last_ns || (instant ? row.begin_ns < r->first_ns : row.end_ns <= r->first_ns))
        return 0;
    return put(part, &row);
}

/* Each row once: in the first window that it is in. */
static int add_operations(struct part *part, const struct sonde_trace_lane *lane, uint64_t from_ns)
{
    int rc = 0;
    for (uint32_t i = 0; i < lane->op_count && !rc; i++)
        if (lane->ops[i].start_ns >= from_ns || from_ns == part->reading->from_ns)
            rc = add_operation(part, &lane->ops[i], true);
    for (uint32_t i = 0; i < lane->untimed_count && !rc; i++)
        if (lane->untimed[i].flags & SONDE_OP_NO_TIMES)
            rc = add_operation(part, &lane->untimed[i], false);
    return rc;
}

/* ---- threads ---------------------------------------------------------------------------------- */

static int end_piece(struct part *part)
{
    const bool has_piece = part->has_piece;
    part->has_piece = false;
    return has_piece ? put(part, &part->piece) : 0;
}

/* What ended where this begins was the same. */
static bool follows(const struct part *part, const struct sonde__long *row)
{
    const struct sonde__long *piece = &part->piece;
    return part->has_piece && piece->end_ns == row->begin_ns && piece->kind == row->kind && piece->node == row->node &&
           piece->correlation == row->correlation;
}

/* Windows cut what goes on; and who sleeps or computes in one context does one thing. */
static bool goes_on(const struct part *part, const struct sonde__long *row, uint64_t tile)
{
    const bool stop = row->kind == SONDE_DRAWN_CALL || row->kind == SONDE_DRAWN_WAIT;
    return part->piece_tile == tile && follows(part, row) && !(stop && row->rows);
}

static int add_piece(struct part *part, const struct sonde__long *row)
{
    const uint32_t shift = part->filler.level + SONDE__TILE_SHIFT;
    struct sonde__long left = *row;
    int rc = 0;
    for (uint64_t tile = left.begin_ns >> shift; left.begin_ns < left.end_ns && !rc; tile++) {
        const uint64_t last = (tile << shift) + ((1ull << shift) - 1);
        struct sonde__long piece = left;
        piece.end_ns = left.end_ns - 1 > last ? last + 1 : left.end_ns;
        if (goes_on(part, &piece, tile)) {
            part->piece.end_ns = piece.end_ns;
            part->piece.rows += piece.rows;
        } else {
            rc = end_piece(part);
            part->piece = piece;
            part->piece_tile = tile;
            part->has_piece = true;
        }
        left.begin_ns = piece.end_ns;
        left.rows = 0;
    }
    return rc;
}

/* Does it begin there? What goes on at the first window's begin is taken to have begun before. */
static bool begins(const struct part *part, const struct sonde__activity *a, const struct sonde__long *row)
{
    if (a->row)
        return a->from_ns == a->row->enter_ns;
    return a->from_ns > part->window_ns || (a->from_ns > part->reading->from_ns && !follows(part, row));
}

static int add_activity(void *user, const struct sonde__activity *a)
{
    struct part *part = user;
    struct sonde__long row = {
        .begin_ns = common(part, a->from_ns),
        .end_ns = common(part, a->to_ns),
    };
    switch (a->kind) {
    case SONDE__IN_CALL:
        row.kind = SONDE_DRAWN_CALL;
        row.correlation = a->row->correlation;
        break;
    case SONDE__IN_WAIT:
        row.kind = SONDE_DRAWN_WAIT;
        break;
    case SONDE__SAMPLED:
        row.kind = SONDE_DRAWN_SAMPLE;
        break;
    case SONDE__OFF_CPU:
        row.kind = SONDE_DRAWN_OFF;
        break;
    default:
        return 0;
    }
    row.node = row.kind == SONDE_DRAWN_OFF ? 0 : locate(part, a->node);
    row.rows = begins(part, a, &row);
    return add_piece(part, &row);
}

/* A call that took no time is a place in time, too. */
static int add_instants(struct part *part, const struct sonde_trace_lane *lane)
{
    const struct reading *r = part->reading;
    int rc = 0;
    for (uint32_t i = 0; i < lane->call_count && !rc; i++) {
        const struct sonde_row_call *call = &lane->calls[i];
        const uint64_t at_ns = common(part, call->enter_ns);
        const struct sonde__long row = {at_ns, at_ns, call->correlation, locate(part, call->node), 1, SONDE_DRAWN_CALL};
        if (call->leave_ns == call->enter_ns && at_ns >= r->first_ns && at_ns <= r->last_ns)
            rc = put(part, &row);
    }
    return rc;
}

static int add_thread(struct part *part, const struct sonde_trace_window *w)
{
    part->walk.user = part;
    part->walk.each = add_activity;
    part->window_ns = w->from_ns;
    const int rc = sonde__walk_thread(&part->walk, &w->lanes[0], w->from_ns, w->to_ns, &part->life);
    return rc ? rc : add_instants(part, &w->lanes[0]);
}

/* ---- the trace --------------------------------------------------------------------------------- */

static int each_window(void *user, const struct sonde_trace_window *w)
{
    struct part *part = w->state;
    (void)user;
    return part->asked->thread ? add_thread(part, w) : add_operations(part, &w->lanes[0], w->from_ns);
}

static void begin_part(struct part *part, const struct reading *r, const struct sonde__asked *asked)
{
    part->asked = asked;
    part->reading = r;
    part->filler.level = r->view->level;
    part->filler.first = r->first_tile;
    part->filler.count = r->last_tile - r->first_tile + 1;
    part->filler.tiles = asked->fresh ? asked->fresh + (r->first_tile - r->view->first_tile) : NULL;
    part->life = sonde__life_of(r->process->p, asked->lane, &r->process->alive[asked->lane], &r->process->recorded);
}

static int read_lanes(const struct reading *r)
{
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_SAMPLES | SONDE_READ_SWITCHES | SONDE_READ_SLEEPS,
        .from_ns = r->from_ns,
        .to_ns = r->to_ns,
        .op_fields = SONDE_FIELD(sonde_row_op, kind) | SONDE_FIELD(sonde_row_op, node) | SONDE_FIELD(sonde_row_op, enter_ns) |
                     SONDE_FIELD(sonde_row_op, correlation),
        .by_lane = true,
        .lanes = r->wanted,
        .state_bytes = sizeof(struct part),
        .threads = r->threads,
    };
    struct sonde_trace_reader trace = {0};
    int rc = sonde_trace_open(r->process->p, &options, &trace);
    for (uint32_t i = 0; i < trace.part_count && !rc; i++)
        begin_part(sonde_trace_state(&trace, i), r, r->of_lane[trace.lanes[i].lane]);
    rc = rc ? rc : sonde_trace_read(&trace, each_window, NULL);
    for (uint32_t i = 0; i < trace.part_count; i++) {
        struct part *part = sonde_trace_state(&trace, i);
        rc = rc ? rc : end_piece(part);
        sonde__walk_fini(&part->walk);
    }
    sonde_trace_close(&trace);
    return rc;
}

/* Some of the tiles, by themselves: they do not depend on others. */
struct division {
    const struct reading *all;
    uint32_t parts;
};

static int read_part(void *user, uint32_t index)
{
    const struct division *division = user;
    struct reading r = *division->all;
    const uint64_t tiles = r.last_tile - r.first_tile + 1, first = r.first_tile;
    const uint32_t shift = r.view->level + SONDE__TILE_SHIFT;
    r.first_tile = first + tiles * index / division->parts;
    r.last_tile = first + tiles * (index + 1) / division->parts - 1;
    r.first_ns = r.first_tile << shift;
    r.last_ns = (r.last_tile << shift) + ((1ull << shift) - 1);
    r.from_ns = sonde__process_ns(r.process->origin_ns, r.first_ns);
    r.to_ns = sonde__process_ns(r.process->origin_ns, r.last_ns);
    r.to_ns += r.to_ns < UINT64_MAX;
    return r.from_ns < r.to_ns ? read_lanes(&r) : 0;
}

int sonde__fill_lanes(const struct sonde_timeline *timeline, const struct sonde__view *view, const struct sonde__asked *const *asked,
                      size_t count)
{
    const struct sonde__timeline_process *process = asked[0]->process;
    const uint32_t lanes = process->p->lane_count, threads = sonde_parallel_threads();
    struct reading r = {
        .timeline = timeline,
        .process = process,
        .view = view,
        .of_lane = calloc((size_t)lanes + 1, sizeof *r.of_lane),
        .wanted = calloc((size_t)lanes + 1, sizeof *r.wanted),
        .first_tile = asked[0]->missing_first,
        .last_tile = asked[0]->missing_last,
    };
    const uint64_t tiles = r.last_tile - r.first_tile + 1, wanted = count < threads ? 2 * (threads / count) : 1;
    struct division division = {&r, (uint32_t)(tiles < wanted ? tiles : wanted)};
    int rc = r.of_lane && r.wanted ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        r.of_lane[asked[i]->lane] = asked[i];
        r.wanted[asked[i]->lane] = true;
    }
    r.threads = division.parts > 1; /* lanes side by side, or else parts of them */
    rc = rc ? rc : sonde_parallel_run(threads, division.parts, read_part, &division);
    free(r.of_lane);
    free(r.wanted);
    return rc;
}

int sonde__scan_lanes(const struct sonde_timeline *timeline, const struct sonde__timeline_process *process, uint32_t level, uint64_t tile,
                      uint32_t lane, sonde__each_row *each, void *user)
{
    const struct sonde__view view = {.level = level, .first_tile = tile, .tile_count = 1};
    const uint32_t lanes = process->p->lane_count;
    struct sonde__asked *asked = calloc((size_t)lanes + 1, sizeof *asked);
    struct reading r = {
        .timeline = timeline,
        .process = process,
        .view = &view,
        .of_lane = calloc((size_t)lanes + 1, sizeof *r.of_lane),
        .wanted = calloc((size_t)lanes + 1, sizeof *r.wanted),
        .threads = lane != 0,
        .first_tile = tile,
        .last_tile = tile,
        .each = each,
        .user = user,
    };
    int rc = asked && r.of_lane && r.wanted ? 0 : SONDE_ENOMEM;
    for (uint32_t i = lane ? lane : 1; i < (lane ? lane + 1 : lanes) && !rc; i++) {
        const uint32_t kind = process->p->lanes[i].kind;
        asked[i] = (struct sonde__asked){.process = (struct sonde__timeline_process *)process, .lane = i, .thread = kind == SONDE_LANE_KIND_THREAD};
        r.of_lane[i] = &asked[i];
        r.wanted[i] = kind == SONDE_LANE_KIND_THREAD || kind == SONDE_LANE_KIND_QUEUE;
    }
    rc = rc ? rc : read_part(&(struct division){&r, 1}, 0);
    free(r.of_lane);
    free(r.wanted);
    free(asked);
    return rc;
}

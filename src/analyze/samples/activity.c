/* activity.c - see activity.h: the stops of a thread in order, and the gaps between them. */
#include "activity.h"

struct thread {
    struct sonde__walk *walk;
    const struct sonde_trace_lane *lane;
    const struct sonde__life *life;
    uint32_t next_switch, sample; /* both move forward only */
    uint64_t now;
    const struct sonde_row_call *before; /* the stop that ended last */
    size_t piece;                 /* of the gap that `now` is in, when outside of stops; moves forward only */
    int rc;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct sonde__life sonde__life_of(const struct sonde_process *p, uint32_t lane, const struct sonde__alive *alive,
                                  const struct sonde_recorded *recorded)
{
    const struct sonde_row_lane *row = &p->lanes[lane];
    const bool main_thread = row->kind == SONDE_LANE_KIND_THREAD && row->tid == p->header.pid; /* it was there all the time */
    return (struct sonde__life){
        .from_ns = !main_thread && row->start_ns > recorded->start_ns ? row->start_ns : recorded->start_ns,
        .to_ns = row->end_ns ? row->end_ns : p->header.stop_ns,
        .period_ns = sonde__sample_period(p),
        .alive = *alive,
        .recorded = recorded,
    };
}

static void say(struct thread *t, struct sonde__activity activity)
{
    if (activity.from_ns < activity.to_ns && !t->rc)
        t->rc = t->walk->each(t->walk->user, &activity);
}

static void say_other(struct thread *t, enum sonde__activity_kind kind, uint64_t from, uint64_t to)
{
    say(t, (struct sonde__activity){.kind = kind, .from_ns = from, .to_ns = to});
}

/* ---- outside of stops ----------------------------------------------------------------------- */

/* No sample reaches there: those of gaps like it tell, where it is known to have run. */
static void say_unreached(struct thread *t, uint64_t from, uint64_t to)
{
    const uint64_t begin = most(from, least(to, t->life->alive.from)), end = most(begin, least(to, t->life->alive.to));
    say_other(t, SONDE__UNKNOWN, from, begin);
    say_other(t, SONDE__UNREACHED, begin, end);
    say_other(t, SONDE__UNKNOWN, end, to);
}

/* From the stop that ended last to `after`; NULL: there is none. */
static void begin_gap(struct thread *t, const struct sonde_row_call *after, uint64_t from_ns, uint64_t to_ns)
{
    struct sonde__walk *w = t->walk;
    const struct sonde__gap gap = {
        .lane = t->lane,
        .before = t->before,
        .after = after,
        .from_ns = from_ns,
        .to_ns = to_ns,
        .period_ns = t->life->period_ns,
    };
    t->piece = 0;
    if (!t->life->period_ns || t->rc)
        return;
    t->rc = sonde__gap_pieces(&gap, &t->sample, &w->pieces, &w->samples);
    if (!t->rc && w->gap)
        t->rc = w->gap(w->user, &gap, &w->samples);
}

/* On the CPU, or nobody says that it was not. */
static void say_running(struct thread *t, uint64_t from, uint64_t to)
{
    const sonde__pieces *pieces = &t->walk->pieces;
    if (!t->life->period_ns) {
        say_other(t, SONDE__UNKNOWN, from, to);
        return;
    }
    for (; t->piece < pieces->count && from < to; t->piece += from < to) {
        const struct sonde__piece *piece = &pieces->items[t->piece];
        const uint64_t end = least(to, piece->to);
        if (end <= from)
            continue;
        if (piece->sampled)
            say(t, (struct sonde__activity){.kind = SONDE__SAMPLED, .from_ns = from, .to_ns = end, .node = piece->node});
        else
            say_unreached(t, from, end);
        from = end;
    }
    if (from < to) /* calls of a damaged trace, within or before each other */
        say_other(t, SONDE__UNKNOWN, from, to);
}

static void say_alive(struct thread *t, uint64_t from, uint64_t to)
{
    const struct sonde_row_switch *away = t->lane->switches;
    while (t->next_switch < t->lane->switch_count && away[t->next_switch].in_ns <= from)
        t->next_switch++;
    for (uint32_t i = t->next_switch; i < t->lane->switch_count && away[i].out_ns < to && from < to; i++) {
        if (away[i].out_ns > from)
            say_running(t, from, away[i].out_ns);
        from = most(from, away[i].out_ns);
        const uint64_t back = least(to, away[i].in_ns);
        say_other(t, SONDE__OFF_CPU, from, back);
        from = most(from, back);
    }
    if (from < to)
        say_running(t, from, to);
}

/* Before its lane begins; the program's first part has no lanes yet. */
static void say_early(void *user, uint64_t from, uint64_t to, bool paused)
{
    struct thread *t = user;
    const struct sonde_recorded *r = t->life->recorded;
    const uint64_t begin = least(to, most(from, r->begin_ns)), start = least(to, most(begin, r->start_ns));
    if (paused) {
        say_other(t, SONDE__NOT_RECORDED, from, to);
        return;
    }
    say_other(t, SONDE__NOT_ALIVE, from, begin);
    say_other(t, SONDE__STARTING, begin, start);
    say_other(t, SONDE__NOT_ALIVE, start, to);
}

static void say_lived(void *user, uint64_t from, uint64_t to, bool paused)
{
    if (paused)
        say_other(user, SONDE__NOT_RECORDED, from, to);
    else
        say_alive(user, from, to);
}

/* ---- stops ------------------------------------------------------------------------------------ */

/* Time goes on to `to`, within the innermost open stop or outside of all. */
static void step(struct thread *t, uint64_t to)
{
    const uint64_t from = t->now;
    if (to <= from)
        return;
    t->now = to;
    if (t->walk->open.count) {
        const struct sonde__open_stop *stop = &t->walk->open.items[t->walk->open.count - 1];
        say(t, (struct sonde__activity){stop->slept ? SONDE__IN_WAIT : SONDE__IN_CALL, from, to, stop->row->node, stop->row});
        return;
    }
    const uint64_t begin = least(to, most(from, t->life->from_ns)), end = most(begin, least(to, t->life->to_ns));
    sonde_recorded_divide(t->life->recorded, from, begin, say_early, t);
    sonde_recorded_divide(t->life->recorded, begin, end, say_lived, t);
    say_other(t, SONDE__NOT_ALIVE, end, to);
}

/* Stops that are over by `to`, innermost first. */
static void leave_until(struct thread *t, uint64_t to)
{
    struct sonde__walk *w = t->walk;
    while (w->open.count && w->open.items[w->open.count - 1].row->leave_ns <= to) {
        step(t, w->open.items[w->open.count - 1].row->leave_ns);
        t->before = w->open.items[--w->open.count].row;
    }
}

int sonde__walk_thread(struct sonde__walk *walk, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                       const struct sonde__life *life)
{
    struct sonde__stops stops;
    struct sonde__stop stop;
    sonde__stops_begin(&stops, lane);
    struct thread t = {.walk = walk, .lane = lane, .life = life, .now = from_ns, .before = stops.before};
    walk->open.count = 0;
    while (!t.rc && sonde__stops_next(&stops, &stop)) {
        const struct sonde_row_call *call = stop.row;
        if (call->leave_ns < call->enter_ns || call->leave_ns < from_ns || call->enter_ns >= to_ns)
            continue;
        leave_until(&t, call->enter_ns);
        if (!walk->open.count && call->enter_ns > t.now)
            begin_gap(&t, call, from_ns, to_ns);
        step(&t, most(from_ns, call->enter_ns));
        if (!t.rc && sonde_vector_push(&walk->open, (struct sonde__open_stop){call, stop.slept}))
            t.rc = SONDE_ENOMEM;
    }
    leave_until(&t, to_ns);
    if (!walk->open.count && t.now < to_ns)
        begin_gap(&t, stops.after, from_ns, to_ns);
    step(&t, to_ns);
    return t.rc;
}

void sonde__walk_fini(struct sonde__walk *walk)
{
    sonde_vector_fini(&walk->open);
    sonde_vector_fini(&walk->pieces);
    sonde_vector_fini(&walk->samples);
}

/* statistics.c - from the time of lanes to shares of routines. */
#include "statistics.h"

#include <stdlib.h>

#include "statistics_lane.h"
#include "timeline.h"
#include "view_build.h"

const char *sonde_share_name(enum sonde_share_kind kind)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        SONDE_SHARE_MAP(X)
#undef X
    };
    return names[kind];
}

const char *sonde_share_text(enum sonde_share_kind kind)
{
    static const char *const texts[] = {
#define X(id, name, text) text,
        SONDE_SHARE_MAP(X)
#undef X
    };
    return texts[kind];
}

void sonde_run_range(const struct sonde_measurement *m, uint64_t *begin_ns, uint64_t *end_ns)
{
    *begin_ns = UINT64_MAX;
    *end_ns = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        uint64_t begin = sonde_process_begin(p) + p->header.wall_offset_ns, end = p->header.stop_ns + p->header.wall_offset_ns;
        *begin_ns = begin < *begin_ns ? begin : *begin_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
    }
}

/* ---- one process ------------------------------------------------------------------------- */

struct scan {
    const struct sonde_process *p;
    bool                       *wanted; /* [lane] */
    uint64_t                    period_ns;
    struct sonde_recorded       recorded;
    struct sonde__shares       *parts;
};

/* A lane's thread, or the threads that followed each other on it, as far as is known. */
static struct sonde__lane_life life_of(const struct scan *s, uint32_t lane)
{
    const struct sonde_row_lane *row = &s->p->lanes[lane];
    const bool main_thread = row->kind == SONDE_LANE_KIND_THREAD && row->tid == s->p->header.pid; /* it was there all the time */
    return (struct sonde__lane_life){
        .from_ns = !main_thread && row->start_ns > s->recorded.start_ns ? row->start_ns : s->recorded.start_ns,
        .to_ns = row->end_ns ? row->end_ns : s->p->header.stop_ns,
        .period_ns = s->period_ns,
        .recorded = &s->recorded,
    };
}

static void add_lane(const struct scan *s, struct sonde__shares *to, const struct sonde_time_lane *lane, uint64_t from_ns,
                     uint64_t to_ns)
{
    const struct sonde__lane_life life = life_of(s, lane->lane);
    if (s->p->lanes[lane->lane].kind == SONDE_LANE_KIND_QUEUE)
        sonde__queue_shares(to, lane, from_ns, to_ns, &life);
    else
        sonde__thread_shares(to, lane, from_ns, to_ns, &life);
}

static int each_window(void *user, const struct sonde_time_window *w)
{
    struct scan *s = user;
    struct sonde__shares *to = &s->parts[w->part];
    for (uint32_t i = 0; i < w->lane_count && !to->rc; i++)
        if (w->lanes[i].lane < s->p->lane_count && s->wanted[w->lanes[i].lane])
            add_lane(s, to, &w->lanes[i], w->from_ns, w->to_ns);
    return to->rc;
}

/* Lanes without any row did nothing for all of the range. */
static void add_empty_lanes(struct scan *s, const struct sonde_timeline_plan *plan)
{
    for (uint32_t i = 0; i < plan->lane_count; i++)
        if (plan->lanes[i].lane < s->p->lane_count)
            s->wanted[plan->lanes[i].lane] = false;
    for (uint32_t lane = 1; lane < s->p->lane_count; lane++)
        if (s->wanted[lane])
            add_lane(s, &s->parts[0], &(struct sonde_time_lane){.lane = lane}, plan->options.from_ns, plan->options.to_ns);
}

/* ---- all of them --------------------------------------------------------------------------- */

struct sum { double queue_ns, thread_ns, sampled_ns; };

struct collector {
    const struct sonde_measurement *m;
    const struct sonde_profile     *profile;
    const struct sonde_statistics_config *config;
    struct sonde_statistics        *out;
    struct sum                     *nodes; /* [tree node] */
    double                          other[2][SONDE_SHARE_COUNT];
    uint64_t                        wall_begin_ns;
};

static bool is_wanted(const struct collector *c, uint32_t process, uint32_t lane)
{
    const struct sonde_statistics_config *config = c->config;
    for (size_t i = 0; config->lanes && i < config->lane_count; i++)
        if (config->lanes[i].process == process && config->lanes[i].lane == lane)
            return true;
    return !config->lanes;
}

static uint32_t choose_lanes(struct collector *c, const struct sonde_process *p, uint32_t index, bool *wanted)
{
    uint32_t count = 0;
    for (uint32_t lane = 1; lane < p->lane_count; lane++) {
        const uint32_t kind = p->lanes[lane].kind;
        wanted[lane] = (kind == SONDE_LANE_KIND_QUEUE || kind == SONDE_LANE_KIND_THREAD) && is_wanted(c, index, lane);
        count += wanted[lane];
        c->out->queues += wanted[lane] && kind == SONDE_LANE_KIND_QUEUE;
        c->out->threads += wanted[lane] && kind == SONDE_LANE_KIND_THREAD;
    }
    return count;
}

static void merge(struct collector *c, uint32_t process, const struct sonde__shares *part)
{
    for (size_t i = 0; i < part->nodes.count; i++) {
        const struct sonde__node_share *share = &part->nodes.items[i];
        struct sum *to = &c->nodes[sonde_profile_locate(c->profile, process, share->node)];
        to->queue_ns += share->queue_ns;
        to->thread_ns += share->thread_ns;
        to->sampled_ns += share->sampled_ns;
    }
    for (int thread = 0; thread < 2; thread++)
        for (int kind = 0; kind < SONDE_SHARE_COUNT; kind++)
            c->other[thread][kind] += part->other[thread][kind];
    c->out->no_times += part->no_times;
}

static int run(struct collector *c, uint32_t index, struct scan *s, const struct sonde_timeline_options *options)
{
    struct sonde_timeline_plan plan = {0};
    int rc = sonde_timeline_plan(s->p, options, &plan);
    if (!rc && !(s->parts = calloc(plan.part_count + 1, sizeof *s->parts)))
        rc = SONDE_ENOMEM;
    if (!rc)
        rc = sonde_timeline_run(&plan, each_window, s);
    if (!rc)
        add_empty_lanes(s, &plan);
    for (uint32_t i = 0; s->parts && i < plan.part_count + 1; i++) {
        merge(c, index, &s->parts[i]);
        rc = rc ? rc : s->parts[i].rc;
        sonde__shares_fini(&s->parts[i]);
    }
    free(s->parts);
    sonde_timeline_fini(&plan);
    return rc;
}

static int add_process(struct collector *c, uint32_t index)
{
    const struct sonde_process *p = &c->m->processes[index];
    const uint64_t begin = c->wall_begin_ns - p->header.wall_offset_ns; /* of the run, on this process's axis */
    const struct sonde_timeline_options options = {
        .tables = 1u << SONDE_TABLE_OP | 1u << SONDE_TABLE_CALL | 1u << SONDE_TABLE_SAMPLE | 1u << SONDE_TABLE_SWITCH,
        .from_ns = begin + c->out->from_ns, .to_ns = begin + c->out->to_ns, .progress = c->config->progress,
    };
    struct scan s = {.p = p, .wanted = calloc(p->lane_count + 1, sizeof *s.wanted),
                     .period_ns = p->header.cpu_rate_hz ? 1000000000u / p->header.cpu_rate_hz : 0};
    if (!s.wanted)
        return SONDE_ENOMEM;
    c->out->traced |= p->header.trace != 0;
    int rc = sonde_recorded_compute(c->m, p, &s.recorded);
    if (!rc && choose_lanes(c, p, index, s.wanted))
        rc = run(c, index, &s, &options);
    sonde_recorded_fini(&s.recorded);
    free(s.wanted);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Time counts for the frame whose routine it is. */
static void fold(const struct collector *c)
{
    for (uint32_t i = 1; i < c->profile->nodes.count; i++) {
        struct sum *from = &c->nodes[i], *to = from;
        if (from->queue_ns + from->thread_ns > 0)
            to = &c->nodes[sonde_profile_routine(c->profile, i)];
        if (to == from)
            continue;
        to->queue_ns += from->queue_ns;
        to->thread_ns += from->thread_ns;
        to->sampled_ns += from->sampled_ns;
        *from = (struct sum){0};
    }
}

/* Runtime frames are not levels, unless time counts for them. */
static bool is_hidden(const struct collector *c, uint32_t node)
{
    const struct sonde_cct_node *n = &c->profile->nodes.items[node];
    const struct sum *sum = &c->nodes[node];
    return n->kind == SONDE_FRAME_NATIVE && n->origin == SONDE_ORIGIN_RUNTIME && sum->queue_ns + sum->thread_ns == 0;
}

/* cut[node]: the frame at the depth, or the innermost where the path is shorter. */
static void cut_paths(const struct collector *c, uint32_t *cut, uint32_t *depth)
{
    const struct sonde_cct_node *nodes = c->profile->nodes.items;
    for (uint32_t i = 1; i < c->profile->nodes.count; i++) {
        bool level = !is_hidden(c, i) && sonde_profile_routine(c->profile, i) == i;
        bool deeper = c->config->depth && depth[nodes[i].parent] >= c->config->depth;
        depth[i] = depth[nodes[i].parent] + level;
        cut[i] = level && !deeper ? i : cut[nodes[i].parent];
    }
}

static int by_time(const void *left, const void *right)
{
    const struct sonde_share *a = left, *b = right;
    double x = a->queue_ns + a->thread_ns, y = b->queue_ns + b->thread_ns;
    if (x != y)
        return x < y ? 1 : -1;
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : a->node < b->node ? -1 : a->node > b->node;
}

static int push_row(struct collector *c, struct sonde_share row)
{
    return row.queue_ns + row.thread_ns > 0 ? sonde_vector_push(&c->out->rows, row) : 0;
}

static int make_rows(struct collector *c, const struct sonde__viewer *v, const uint32_t *cut)
{
    const size_t routines = v->entities.count;
    struct sonde_share *rows = calloc(routines + 1, sizeof *rows);
    int rc = rows ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < v->nodes && !rc; i++) {
        struct sonde_share *row = &rows[cut[i] ? v->entity[cut[i]] : routines];
        const bool first = row->kind == SONDE_SHARE_ROUTINE && !row->frame.name && cut[i];
        if (first) {
            row->frame = v->entities.items[v->entity[cut[i]]].frame;
            row->node = cut[i];
        }
        row->queue_ns += c->nodes[i].queue_ns;
        row->thread_ns += c->nodes[i].thread_ns;
        row->sampled_ns += c->nodes[i].sampled_ns;
    }
    if (!rc)
        rows[routines].kind = SONDE_SHARE_LOST;
    for (size_t i = 0; i <= routines && !rc; i++)
        rc = push_row(c, rows[i]);
    for (int kind = SONDE_SHARE_IDLE; kind < SONDE_SHARE_COUNT && !rc; kind++)
        rc = push_row(c, (struct sonde_share){.kind = (enum sonde_share_kind)kind, .queue_ns = c->other[0][kind],
                                              .thread_ns = c->other[1][kind],
                                              .frame = {.name = "", .file = "", .module = ""}});
    for (size_t i = 0; i < c->out->rows.count; i++)
        if (c->out->rows.items[i].kind == SONDE_SHARE_LOST)
            c->out->rows.items[i].frame = (struct sonde_view_frame){.name = "", .file = "", .module = ""};
    free(rows);
    if (c->out->rows.count)
        qsort(c->out->rows.items, c->out->rows.count, sizeof *c->out->rows.items, by_time);
    return rc;
}

static int finish(struct collector *c)
{
    const size_t count = c->profile->nodes.count;
    struct sonde__viewer v = {.profile = c->profile, .nodes = count, .entity = calloc(count, sizeof *v.entity)};
    uint32_t *cut = calloc(count, sizeof *cut), *depth = calloc(count, sizeof *depth);
    int rc = v.entity && cut && depth ? sonde__view_entities(&v, SONDE_BY_FUNCTION) : SONDE_ENOMEM;
    if (!rc) {
        fold(c);
        cut_paths(c, cut, depth);
        rc = make_rows(c, &v, cut);
    }
    free(cut);
    free(depth);
    free(v.entity);
    sonde_vector_fini(&v.entities);
    sonde_map_fini(&v.by_key);
    return rc;
}

int sonde_statistics_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                             const struct sonde_statistics_config *config, struct sonde_statistics *out,
                             struct sonde_diag *diag)
{
    struct collector c = {.m = m, .profile = profile, .config = config, .out = out};
    uint64_t end;
    sonde_run_range(m, &c.wall_begin_ns, &end);
    const uint64_t length = end > c.wall_begin_ns ? end - c.wall_begin_ns : 0;
    out->from_ns = config->from_ns;
    out->to_ns = config->to_ns ? config->to_ns : length;
    if (out->from_ns >= out->to_ns)
        return sonde_diag_set(diag, SONDE_EINVALID, m->path, "nothing lies in this range of time of");
    c.nodes = calloc(profile->nodes.count, sizeof *c.nodes);
    int rc = c.nodes ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(&c, i);
    if (!rc)
        rc = finish(&c);
    free(c.nodes);
    return rc ? sonde_diag_set(diag, rc, m->path, "cannot compute the shares of") : 0;
}

void sonde_statistics_fini(struct sonde_statistics *statistics)
{
    sonde_vector_fini(&statistics->rows);
}

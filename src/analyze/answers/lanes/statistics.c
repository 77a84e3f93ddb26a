/* statistics.c - from the time of lanes to shares of routines. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/estimate.h"
#include "statistics_lane.h"
#include "analyze/metrics/profile_rows_build.h"
#include "analyze/trace/each.h"
#include "analyze/trace/trace.h"

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

/* ---- one process ------------------------------------------------------------------------- */

struct scan {
    const struct sonde_process *p;
    bool *wanted;                       /* [lane] */
    bool all;                           /* for the samples of all lanes */
    struct sonde__alive *alive;          /* [lane] */
    struct sonde_recorded recorded;
};

static void add_lane(const struct scan *s, struct sonde__shares *to, const struct sonde_trace_lane *lane, uint64_t from_ns,
                     uint64_t to_ns)
{
    const struct sonde__life life = sonde__life_of(s->p, lane->lane, &s->alive[lane->lane], &s->recorded);
    if (s->p->lanes[lane->lane].kind == SONDE_LANE_KIND_QUEUE)
        sonde__queue_shares(to, lane, from_ns, to_ns, &life);
    else
        sonde__thread_shares(to, lane, from_ns, to_ns, &life);
}

static int each_window(void *user, const struct sonde_trace_window *w)
{
    struct scan *s = user;
    struct sonde__shares *to = w->state;
    for (uint32_t i = 0; i < w->lane_count && !to->rc; i++)
        if (s->all || s->wanted[w->lanes[i].lane])
            add_lane(s, to, &w->lanes[i], w->from_ns, w->to_ns);
    return to->rc;
}

/* Lanes without any row did nothing for all of the range. */
static void add_empty_lanes(struct scan *s, const struct sonde_trace_reader *trace)
{
    for (uint32_t i = 0; i < trace->lane_count; i++)
        s->wanted[trace->lanes[i].lane] = false;
    for (uint32_t lane = 1; lane < s->p->lane_count; lane++)
        if (s->wanted[lane])
            add_lane(s, trace->states, &(struct sonde_trace_lane){.lane = lane}, trace->options.from_ns, trace->options.to_ns);
}

/* ---- all of them --------------------------------------------------------------------------- */

struct sum {
    double queue_ns, thread_ns, sampled_ns, pooled_ns, cpu_ns, rest_ns, cpu_variance;
    sonde__share_units queue; /* queue_ns, as long as it is added up in one process */
};

/* What is added up beside the nodes of the tree. */
struct beside {
    double other[2][SONDE_SHARE_COUNT];
    double period_ns;     /* the longest */
    double rest_ns;       /* of samples that threads left as they ended */
    uint64_t no_times;
    uint32_t queues, threads;
    bool traced, unchecked;
};

/* Of the process that is looked at: as many nodes as it has, in no order, are set. */
struct of_process {
    struct sum *nodes;    /* [tree node] */
    bool *is_set;         /* [tree node] */
    uint32_t *set, set_count; /* [tree nodes] */
    struct beside beside;
    struct sonde_estimate estimate;
};

struct collector {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    const struct sonde_statistics_config *config;
    struct sonde_statistics *out;
    struct of_process one;
    struct sum *nodes;    /* [tree node]: of all processes */
    struct beside beside;
    struct sonde_estimate estimate;
    uint64_t wall_begin_ns;
    bool partial; /* not all of the run, or not all lanes */
};

static struct sum *sum_of(struct of_process *one, uint32_t node)
{
    if (!one->is_set[node]) {
        one->is_set[node] = true;
        one->set[one->set_count++] = node;
    }
    return &one->nodes[node];
}

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
        c->one.beside.queues += wanted[lane] && kind == SONDE_LANE_KIND_QUEUE;
        c->one.beside.threads += wanted[lane] && kind == SONDE_LANE_KIND_THREAD;
    }
    return count;
}

static void merge(struct collector *c, uint32_t process, const struct sonde__shares *part)
{
    for (size_t i = 0; i < part->nodes.count; i++) {
        const struct sonde__node_share *share = &part->nodes.items[i];
        struct sum *to = sum_of(&c->one, sonde_profile_locate(c->profile, process, share->node));
        to->queue += share->queue;
        to->thread_ns += share->thread_ns;
    }
    for (int thread = 0; thread < 2; thread++)
        for (int kind = 0; kind < SONDE_SHARE_COUNT; kind++)
            c->one.beside.other[thread][kind] += part->other[thread][kind];
    c->one.beside.no_times += part->no_times;
}

/* Time outside of calls: around samples, and by their pools. */
struct outside {
    SONDE_VECTOR(struct sonde_estimate_item) around; /* pool plus one, node of the tree */
    double *pooled;                                  /* [pool] */
    uint64_t *rest_ns;                               /* [pool]: of samples that threads left as they ended */
    double unknown_ns;
};

static int join_outside(const struct collector *c, uint32_t process, const struct sonde__shares *part,
                        const struct sonde__pools *pools, struct outside *out)
{
    for (size_t i = 0; i < part->around.count; i++) {
        const struct sonde__around_share *share = &part->around.items[i];
        const uint32_t node = sonde_profile_locate(c->profile, process, share->node);
        if (sonde_vector_push(&out->around, (struct sonde_estimate_item){pools->of[part->gathered.joined[share->pair]], node, share->ns, 0}))
            return SONDE_ENOMEM;
    }
    for (size_t i = 0; i < part->left.count; i++) {
        const uint32_t pool = pools->of[part->gathered.joined[i]];
        *(pool ? &out->pooled[pool - 1] : &out->unknown_ns) += part->left.items[i];
    }
    return 0;
}

/* Where nobody told when threads slept, no more time of a pool was spent computing than its samples stand for. */
static void limit_pools(const struct scan *s, const struct sonde__pools *pools, struct outside *out)
{
    for (size_t i = 0; i < pools->pools.count && !s->p->header.cpu_switches; i++) {
        double room = pools->pools.items[i].stands_ns;
        for (size_t k = 0; k < out->around.count; k++)
            room -= out->around.items[k].pool == i + 1 ? out->around.items[k].sampled_ns : 0;
        room = room < 0 ? 0 : (room > out->pooled[i] ? out->pooled[i] : room);
        out->unknown_ns += out->pooled[i] - room;
        out->pooled[i] = room;
    }
}

static int by_pool(const void *left, const void *right)
{
    const struct sonde_estimate_item *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Into the tree's nodes, and what is needed for their errors. */
static int divide_outside(struct collector *c, const struct scan *s, const struct sonde__pools *pools, struct outside *out)
{
    const double period_ns = s->p->header.cpu_rate_hz ? 1e9 / s->p->header.cpu_rate_hz : 0;
    struct sonde_estimate *estimate = &c->one.estimate;
    int rc = sonde_vector_push(&estimate->pools, (struct sonde_estimate_pool){.period_ns = period_ns});
    for (size_t i = 0; i < out->around.count && !rc; i++)
        rc = sonde_vector_push(&estimate->items, out->around.items[i]);
    for (uint32_t i = 0; i < pools->pools.count && !rc; i++) {
        const struct sonde__pool *pool = &pools->pools.items[i];
        rc = sonde_vector_push(&estimate->pools, (struct sonde_estimate_pool){pool->samples, pool->hits, period_ns});
        for (uint32_t k = pool->first; k < pool->first + pool->count && !rc && out->pooled[i] > 0; k++)
            rc = sonde_vector_push(&estimate->items,
                                   (struct sonde_estimate_item){i + 1, pools->shares.items[k].node, 0,
                                                                out->pooled[i] * pools->shares.items[k].part});
    }
    if (estimate->items.count)
        qsort(estimate->items.items, estimate->items.count, sizeof *estimate->items.items, by_pool);
    for (size_t i = 0; i < estimate->items.count && !rc; i++) {
        const struct sonde_estimate_item *item = &estimate->items.items[i];
        struct sum *to = sum_of(&c->one, item->node);
        to->thread_ns += item->sampled_ns + item->pooled_ns;
        to->sampled_ns += item->sampled_ns + item->pooled_ns;
        to->pooled_ns += item->pooled_ns;
    }
    c->one.beside.other[1][SONDE_SHARE_OUTSIDE] += out->unknown_ns;
    return rc;
}

/* What the samples outside of calls stand for, by context: those of threads that ended as the others in their gaps. */
static void add_hits(struct collector *c, uint32_t process, const struct sonde__gathered *gathered, const struct sonde__pools *pools,
                     struct outside *out)
{
    for (size_t i = 0; i < gathered->hits.count; i++) {
        const struct sonde__gathered_hit *hit = &gathered->hits.items[i];
        const uint32_t number = pools->of[gathered->joined[hit->pair]];
        struct sum *to = sum_of(&c->one, sonde_profile_locate(c->profile, process, hit->node));
        to->cpu_ns += (double)hit->hits.cpu_ns;
        to->cpu_variance += (double)hit->hits.unsure_squares;
        c->one.beside.rest_ns += (double)hit->hits.rest_ns;
        if (number)
            out->rest_ns[number - 1] += hit->hits.rest_ns;
    }
}

static void divide_rest(struct collector *c, const struct sonde__pools *pools, const struct outside *out)
{
    for (size_t i = 0; i < pools->pools.count; i++) {
        const struct sonde__pool *pool = &pools->pools.items[i];
        for (uint32_t k = pool->first; k < pool->first + pool->count && out->rest_ns[i]; k++) {
            const double rest_ns = (double)out->rest_ns[i] * pools->shares.items[k].part;
            struct sum *of = sum_of(&c->one, pools->shares.items[k].node);
            of->cpu_ns += rest_ns;
            of->rest_ns += rest_ns;
        }
    }
}

/* Pools are those of the whole run (`whole`), also where a part of it is looked at. */
static int add_outside(struct collector *c, uint32_t process, const struct scan *s, const struct sonde_trace_reader *trace,
                       const struct sonde_trace_reader *whole)
{
    const uint32_t parts = trace->part_count, whole_parts = whole->part_count;
    struct sonde__shares *shares = trace->states, *whole_shares = whole->states;
    struct sonde__gathered **all = calloc((size_t)parts + whole_parts + 1, sizeof *all);
    struct sonde__pools pools = {0};
    struct outside out = {.pooled = NULL};
    int rc = all ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < parts && !rc; i++) {
        all[i] = &shares[i].gathered;
        if (whole_parts)
            all[i]->hits.count = 0;
    }
    for (uint32_t i = 0; i < whole_parts && !rc; i++)
        all[parts + i] = &whole_shares[i].gathered;
    rc = rc ? rc : sonde__pools_make(&pools, all, parts + whole_parts, c->profile, process, NULL);
    out.pooled = rc ? NULL : calloc(pools.pools.count + 1, sizeof *out.pooled);
    out.rest_ns = rc ? NULL : calloc(pools.pools.count + 1, sizeof *out.rest_ns);
    rc = rc || (out.pooled && out.rest_ns) ? rc : SONDE_ENOMEM;
    for (uint32_t i = 0; i < parts && !rc; i++)
        rc = join_outside(c, process, &shares[i], &pools, &out);
    for (uint32_t i = 0; i < parts && !rc; i++)
        add_hits(c, process, all[i], &pools, &out);
    if (!rc) {
        divide_rest(c, &pools, &out);
        limit_pools(s, &pools, &out);
        rc = divide_outside(c, s, &pools, &out);
    }
    sonde_vector_fini(&out.around);
    free(out.pooled);
    free(out.rest_ns);
    sonde__pools_fini(&pools);
    free(all);
    return rc;
}

static void close_trace(struct sonde_trace_reader *trace)
{
    for (uint32_t i = 0; i < trace->part_count; i++)
        sonde__shares_fini(sonde_trace_state(trace, i));
    sonde_trace_close(trace);
}

/* The samples of the whole run. */
static int scan_whole(struct scan *s, const struct sonde_trace_options *options, struct sonde_trace_reader *whole)
{
    struct sonde_trace_options all = *options;
    all.from_ns = all.to_ns = 0;
    all.tables &= ~SONDE_READ_OPS;
    int rc = sonde_trace_open(s->p, &all, whole);
    s->all = true;
    rc = rc ? rc : sonde_trace_read(whole, each_window, s);
    s->all = false;
    return rc;
}

static int run(struct collector *c, uint32_t index, struct scan *s, const struct sonde_trace_options *options)
{
    struct sonde_trace_reader trace = {0}, whole = {0};
    int rc = c->partial && s->p->header.cpu_rate_hz ? scan_whole(s, options, &whole) : 0;
    rc = rc ? rc : sonde_trace_open(s->p, options, &trace);
    rc = rc ? rc : sonde_trace_read(&trace, each_window, s);
    if (!rc)
        add_empty_lanes(s, &trace);
    for (uint32_t i = 0; i < trace.part_count; i++) {
        const struct sonde__shares *part = sonde_trace_state(&trace, i);
        merge(c, index, part);
        rc = rc ? rc : part->rc;
    }
    rc = rc ? rc : add_outside(c, index, s, &trace, &whole);
    close_trace(&trace);
    close_trace(&whole);
    return rc;
}

static int read_process(struct collector *c, uint32_t index)
{
    const struct sonde_process *p = &c->m->processes[index];
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_SAMPLES | SONDE_READ_SWITCHES | SONDE_READ_SLEEPS,
        .state_bytes = sizeof(struct sonde__shares),
        .from_ns = sonde_process_instant(p, c->wall_begin_ns, c->out->from_ns),
        .to_ns = sonde_process_instant(p, c->wall_begin_ns, c->out->to_ns),
        .progress = c->config->progress,
    };
    struct scan s = {.p = p, .wanted = calloc(p->lane_count + 1, sizeof *s.wanted), .alive = sonde__find_alive(p)};
    if (!s.wanted || !s.alive) {
        free(s.wanted);
        free(s.alive);
        return SONDE_ENOMEM;
    }
    c->one.beside.period_ns = p->header.cpu_rate_hz ? 1e9 / p->header.cpu_rate_hz : 0;
    c->one.beside.unchecked = p->header.cpu_rate_hz && !p->header.cpu_switches;
    c->one.beside.traced = p->header.trace != 0;
    int rc = sonde_recorded_compute(c->m, p, &s.recorded);
    if (!rc && choose_lanes(c, p, index, s.wanted))
        rc = run(c, index, &s, &options);
    sonde_recorded_fini(&s.recorded);
    free(s.wanted);
    free(s.alive);
    return rc;
}

struct node_sum {
    uint32_t node;
    struct sum sum;
};

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    struct collector *c = user;
    struct of_process *one = &c->one;
    const int rc = read_process(c, process);
    sonde_found_put(found, &one->beside, sizeof one->beside);
    sonde_found_put(found, &one->set_count, sizeof one->set_count);
    for (uint32_t i = 0; i < one->set_count; i++) {
        const uint32_t node = one->set[i];
        one->nodes[node].queue_ns = (double)one->nodes[node].queue / SONDE__SHARE_UNITS;
        sonde_found_put(found, &(struct node_sum){node, one->nodes[node]}, sizeof(struct node_sum));
        one->nodes[node] = (struct sum){0};
        one->is_set[node] = false;
    }
    sonde_estimate_put(found, &one->estimate);
    sonde_estimate_fini(&one->estimate);
    one->set_count = 0;
    one->beside = (struct beside){0};
    return rc;
}

static void add_sum(struct sum *to, const struct sum *from)
{
    to->queue_ns += from->queue_ns;
    to->thread_ns += from->thread_ns;
    to->sampled_ns += from->sampled_ns;
    to->pooled_ns += from->pooled_ns;
    to->cpu_ns += from->cpu_ns;
    to->rest_ns += from->rest_ns;
    to->cpu_variance += from->cpu_variance;
}

static void add_beside(struct collector *c, const struct beside *one)
{
    struct beside *all = &c->beside;
    for (int thread = 0; thread < 2; thread++)
        for (int kind = 0; kind < SONDE_SHARE_COUNT; kind++)
            all->other[thread][kind] += one->other[thread][kind];
    all->period_ns = one->period_ns > all->period_ns ? one->period_ns : all->period_ns;
    all->rest_ns += one->rest_ns;
    c->out->no_times += one->no_times;
    c->out->queues += one->queues;
    c->out->threads += one->threads;
    c->out->traced |= one->traced;
    c->out->checked &= !one->unchecked;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    struct collector *c = user;
    struct beside beside;
    struct sonde_estimate estimate = {0};
    struct node_sum one;
    uint32_t count;
    (void)process;
    sonde_found_get(found, &beside, sizeof beside);
    add_beside(c, &beside);
    sonde_found_get(found, &count, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        sonde_found_get(found, &one, sizeof one);
        add_sum(&c->nodes[one.node], &one.sum);
    }
    sonde_estimate_get(found, &estimate);
    const int rc = sonde_estimate_join(&c->estimate, &estimate);
    sonde_estimate_fini(&estimate);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Time counts for the frame whose routine it is. */
static void fold(const struct collector *c)
{
    for (uint32_t i = 1; i < c->profile->nodes.count; i++) {
        struct sum *from = &c->nodes[i], *to = from;
        if (from->queue_ns + from->thread_ns + from->cpu_ns > 0)
            to = &c->nodes[sonde_profile_routine(c->profile, i)];
        if (to == from)
            continue;
        add_sum(to, from);
        *from = (struct sum){0};
    }
}

static int by_time(const void *left, const void *right)
{
    const struct sonde_share *a = left, *b = right;
    double x = a->queue_ns + a->thread_ns, y = b->queue_ns + b->thread_ns;
    if (x != y)
        return x < y ? 1 : -1;
    return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : (a->node < b->node ? -1 : a->node > b->node);
}

static int push_row(struct collector *c, struct sonde_share row)
{
    return row.queue_ns + row.thread_ns > 0 ? sonde_vector_push(&c->out->rows, row) : 0;
}

/* Standard errors of the rows, [routines] being that of lost contexts. */
static double *find_errors(const struct collector *c, const struct sonde__rows_maker *v, const uint32_t *cut)
{
    uint32_t *group = malloc((v->nodes + 1) * sizeof *group);
    for (uint32_t i = 0; i < v->nodes && group; i++) {
        const uint32_t node = cut[sonde_profile_routine(c->profile, i)];
        group[i] = node ? v->entity[node] : (uint32_t)v->entities.count;
    }
    double *errors = group ? sonde_estimate_errors(&c->estimate, group, NULL, v->entities.count + 1) : NULL;
    free(group);
    return errors;
}

/* The time of gaps, divided by samples, and what the samples themselves stand for. Four standard errors, and a period
 * at each end, are not left by chance. A sample that a thread left as it ended stands for all since its last one, calls too:
 * none of it need be of this row, and what others have of it may be. */
static void check_row(const struct collector *c, struct sonde_share *row)
{
    const double period_ns = c->beside.period_ns;
    row->cpu_error_ns = sqrt(row->cpu_error_ns + period_ns * period_ns / 4);
    const double most_ns = 4 * hypot(row->error_ns, row->cpu_error_ns) + 2 * period_ns;
    row->disagrees = c->out->checked && (row->cpu_ns - row->rest_ns - row->sampled_ns > most_ns ||
                                         row->sampled_ns - row->cpu_ns - (c->beside.rest_ns - row->rest_ns) > most_ns);
}

static int make_rows(struct collector *c, const struct sonde__rows_maker *v, const uint32_t *cut)
{
    const size_t routines = v->entities.count;
    struct sonde_share *rows = calloc(routines + 1, sizeof *rows);
    double *most = calloc(routines + 1, sizeof *most); /* thread time of `node` */
    double *errors = find_errors(c, v, cut);
    int rc = rows && errors && most ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < v->nodes && !rc; i++) {
        struct sonde_share *row = &rows[cut[i] ? v->entity[cut[i]] : routines];
        const bool first = row->kind == SONDE_SHARE_ROUTINE && !row->frame.name && cut[i];
        if (first)
            row->frame = v->entities.items[v->entity[cut[i]]].frame;
        if (first || (cut[i] && c->nodes[i].thread_ns > most[v->entity[cut[i]]])) {
            row->node = cut[i];
            most[v->entity[cut[i]]] = c->nodes[i].thread_ns;
        }
        row->queue_ns += c->nodes[i].queue_ns;
        row->thread_ns += c->nodes[i].thread_ns;
        row->sampled_ns += c->nodes[i].sampled_ns;
        row->pooled_ns += c->nodes[i].pooled_ns;
        row->cpu_ns += c->nodes[i].cpu_ns;
        row->rest_ns += c->nodes[i].rest_ns;
        row->cpu_error_ns += c->nodes[i].cpu_variance; /* until check_row */
    }
    if (!rc)
        rows[routines].kind = SONDE_SHARE_LOST;
    for (size_t i = 0; i <= routines && !rc; i++) {
        rows[i].error_ns = errors[i];
        check_row(c, &rows[i]);
        rc = push_row(c, rows[i]);
    }
    free(errors);
    free(most);
    for (int kind = SONDE_SHARE_IDLE; kind < SONDE_SHARE_COUNT && !rc; kind++)
        rc = push_row(c,
                      (struct sonde_share){
                          .kind = (enum sonde_share_kind)kind,
                          .queue_ns = c->beside.other[0][kind],
                          .thread_ns = c->beside.other[1][kind],
                          .frame = {.name = "", .file = "", .module = ""},
                      });
    for (size_t i = 0; i < c->out->rows.count; i++)
        if (c->out->rows.items[i].kind == SONDE_SHARE_LOST)
            c->out->rows.items[i].frame = (struct sonde_profile_frame){.name = "", .file = "", .module = ""};
    free(rows);
    return rc;
}

static int finish(struct collector *c)
{
    const size_t count = c->profile->nodes.count;
    struct sonde__rows_maker v = {.profile = c->profile, .nodes = count, .entity = calloc(count, sizeof *v.entity)};
    uint32_t *cut = calloc(count, sizeof *cut);
    bool *timed = calloc(count, sizeof *timed);
    int rc = v.entity && cut && timed ? sonde__rows_entities(&v, SONDE_BY_FUNCTION) : SONDE_ENOMEM;
    if (!rc)
        fold(c);
    for (size_t i = 0; i < count && !rc; i++)
        timed[i] = c->nodes[i].queue_ns + c->nodes[i].thread_ns > 0;
    rc = rc ? rc : sonde_profile_cut(c->profile, c->config->depth, timed, cut);
    rc = rc ? rc : make_rows(c, &v, cut);
    if (!rc && c->out->rows.count)
        qsort(c->out->rows.items, c->out->rows.count, sizeof *c->out->rows.items, by_time);
    free(cut);
    free(timed);
    free(v.entity);
    sonde_vector_fini(&v.entities);
    sonde_map_fini(&v.by_key);
    return rc;
}

static int init(struct collector *c, size_t nodes)
{
    c->nodes = calloc(nodes, sizeof *c->nodes);
    c->one.nodes = calloc(nodes, sizeof *c->one.nodes);
    c->one.is_set = calloc(nodes, sizeof *c->one.is_set);
    c->one.set = calloc(nodes, sizeof *c->one.set);
    return c->nodes && c->one.nodes && c->one.is_set && c->one.set ? 0 : SONDE_ENOMEM;
}

static void fini(struct collector *c)
{
    free(c->nodes);
    free(c->one.nodes);
    free(c->one.is_set);
    free(c->one.set);
    sonde_estimate_fini(&c->one.estimate);
    sonde_estimate_fini(&c->estimate);
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
        return sonde_diag_set(diag, SONDE_EINVALID, m->path, "the time window is empty in");
    c.partial = out->from_ns || out->to_ns < length || config->lanes;
    out->checked = !c.partial && profile->sampled;
    int rc = init(&c, profile->nodes.count);
    rc = rc ? rc : sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
    if (!rc)
        rc = finish(&c);
    fini(&c);
    return rc ? sonde_diag_set(diag, rc, m->path, "cannot compute the shares of") : 0;
}

void sonde_statistics_fini(struct sonde_statistics *statistics)
{
    sonde_vector_fini(&statistics->rows);
}

/* estimate.c - standard errors of sums of times that rest on samples. */
#include "estimate.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/trace/each.h"

double sonde_share_error(double hits, double samples)
{
    if (samples <= 0)
        return 1;
    const double part = hits / samples < 1 ? hits / samples : 1;
    return sqrt(part * (1 - part) / samples + 1 / (4 * samples * samples)) / (1 + 1 / samples);
}

int sonde_estimate_join(struct sonde_estimate *sum, const struct sonde_estimate *more)
{
    const uint32_t first = (uint32_t)sum->pools.count;
    for (size_t i = 0; i < more->pools.count; i++)
        if (sonde_vector_push(&sum->pools, more->pools.items[i]))
            return SONDE_ENOMEM;
    for (size_t i = 0; i < more->items.count; i++) {
        const struct sonde_estimate_item *item = &more->items.items[i];
        if (sonde_vector_push(&sum->items, (struct sonde_estimate_item){first + item->pool, item->node, item->sampled_ns, item->pooled_ns}))
            return SONDE_ENOMEM;
    }
    return 0;
}

void sonde_estimate_fini(struct sonde_estimate *estimate)
{
    sonde_vector_fini(&estimate->items);
    sonde_vector_fini(&estimate->pools);
}

void sonde_estimate_put(struct sonde_text *found, const struct sonde_estimate *estimate)
{
    sonde_found_put_vector(found, &estimate->items);
    sonde_found_put_vector(found, &estimate->pools);
}

void sonde_estimate_get(struct sonde_found *found, struct sonde_estimate *estimate)
{
    sonde_found_get_vector(found, &estimate->items);
    sonde_found_get_vector(found, &estimate->pools);
}

/* What the groups have of one pool. */
struct summing {
    double *variance;                                   /* [group]: of all pools so far */
    struct group_sum { double sampled_ns, pooled_ns; } *sums; /* [group]: of this pool */
    uint32_t *touched, touched_count;
    double sampled_ns, pooled_ns;                       /* of all its groups together */
};

static int summing_begin(struct summing *s, size_t groups)
{
    s->variance = calloc(groups + 1, sizeof *s->variance);
    s->sums = calloc(groups + 1, sizeof *s->sums);
    s->touched = malloc((groups + 1) * sizeof *s->touched);
    return s->variance && s->sums && s->touched ? 0 : SONDE_ENOMEM;
}

static double *summing_end(struct summing *s, int rc, size_t groups)
{
    for (size_t i = 0; i < groups && !rc; i++)
        s->variance[i] = sqrt(s->variance[i]);
    free(s->sums);
    free(s->touched);
    if (rc) {
        free(s->variance);
        return NULL;
    }
    return s->variance;
}

static void add(struct summing *s, uint32_t group, const struct sonde_estimate_item *item)
{
    struct group_sum *sum = &s->sums[group];
    if (sum->sampled_ns + sum->pooled_ns <= 0 && item->sampled_ns + item->pooled_ns > 0)
        s->touched[s->touched_count++] = group;
    sum->sampled_ns += item->sampled_ns;
    sum->pooled_ns += item->pooled_ns;
}

/* The pool's groups get its variance. The errors of the time around samples, each of which stands for a period, and of
 * the rest, whose division rests on all samples of the pool, are those of the same samples: they add up. */
static void settle(struct summing *s, const struct sonde_estimate_pool *pool)
{
    for (uint32_t i = 0; i < s->touched_count; i++) {
        struct group_sum *sum = &s->sums[s->touched[i]];
        double error_ns = 0;
        if (s->pooled_ns > 0 && pool->samples > 0)
            error_ns = s->pooled_ns * sonde_share_error(sum->pooled_ns / s->pooled_ns * pool->samples, pool->samples);
        if (s->sampled_ns > 0 && pool->period_ns > 0) {
            double near = s->sampled_ns / pool->period_ns; /* fewer than all where only a part of the time is looked at */
            near = pool->hits > 0 && near > pool->hits ? pool->hits : (near < 1 ? 1 : near);
            error_ns += s->sampled_ns * sonde_share_error(sum->sampled_ns / s->sampled_ns * near, near);
        }
        s->variance[s->touched[i]] += error_ns * error_ns;
        *sum = (struct group_sum){0};
    }
    s->touched_count = 0;
    s->sampled_ns = s->pooled_ns = 0;
}

static bool ends_pool(const struct sonde_estimate *e, size_t i)
{
    return i + 1 == e->items.count || e->items.items[i + 1].pool != e->items.items[i].pool;
}

double *sonde_estimate_errors(const struct sonde_estimate *e, const uint32_t *group, const struct sonde_profile *inclusive,
                              size_t groups)
{
    struct summing s = {0};
    uint64_t *last = calloc(groups + 1, sizeof *last); /* [group]: number of the item that it got last, plus one */
    const int rc = summing_begin(&s, groups) || !last ? SONDE_ENOMEM : 0;
    for (size_t i = 0; i < e->items.count && !rc; i++) {
        const struct sonde_estimate_item *item = &e->items.items[i];
        s.sampled_ns += item->sampled_ns;
        s.pooled_ns += item->pooled_ns;
        for (uint32_t node = item->node;; node = inclusive->nodes.items[node].parent) {
            if (group[node] != UINT32_MAX && last[group[node]] != i + 1) {
                last[group[node]] = i + 1;
                add(&s, group[node], item);
            }
            if (!node || !inclusive)
                break;
        }
        if (ends_pool(e, i))
            settle(&s, &e->pools.items[item->pool]);
    }
    free(last);
    return summing_end(&s, rc, groups);
}

/* ---- CPU time ------------------------------------------------------------------------------------- */

static int by_pool(const void *left, const void *right)
{
    const struct sonde_estimate_item *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

struct lane {
    uint32_t pool;
    double ns, squares;
}; /* of its samples: sums of what they stand for; pool: plus one */

static int add_lane_time(struct sonde_estimate *out, struct lane *lane, const struct sonde_row_profile *row, uint32_t node)
{
    if (!lane->pool) {
        if (sonde_vector_push(&out->pools, (struct sonde_estimate_pool){.samples = 0}))
            return SONDE_ENOMEM;
        lane->pool = (uint32_t)out->pools.count;
    }
    lane->ns += (double)row->sum_ns;
    lane->squares += row->m2 + (double)row->count * row->mean_ns * row->mean_ns;
    out->pools.items[lane->pool - 1].samples = lane->squares > 0 ? lane->ns * lane->ns / lane->squares : 1;
    return sonde_vector_push(&out->items, (struct sonde_estimate_item){lane->pool - 1, node, 0, (double)row->sum_ns});
}

struct estimating {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_estimate *out;
};

static int find_cpu(void *user, uint32_t process, struct sonde_text *found)
{
    const struct estimating *e = user;
    const struct sonde_process *p = &e->m->processes[process];
    struct sonde_estimate estimate = {0};
    struct lane *lanes = calloc((size_t)p->lane_count + 1, sizeof *lanes);
    int rc = lanes ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        if (row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind == SONDE_LANE_KIND_THREAD && row->sum_ns)
            rc = add_lane_time(&estimate, &lanes[row->lane], row, sonde_profile_locate(e->profile, process, row->node));
    }
    sonde_estimate_put(found, &estimate);
    sonde_estimate_fini(&estimate);
    free(lanes);
    return rc;
}

static int add_cpu(void *user, uint32_t process, struct sonde_found *found)
{
    const struct estimating *e = user;
    struct sonde_estimate estimate = {0};
    (void)process;
    sonde_estimate_get(found, &estimate);
    const int rc = sonde_estimate_join(e->out, &estimate);
    sonde_estimate_fini(&estimate);
    return rc;
}

int sonde_estimate_cpu(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_estimate *out)
{
    struct estimating e = {m, profile, out};
    const int rc = sonde_each_process(m, &(struct sonde_each){.find = find_cpu, .add = add_cpu}, &e);
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_pool);
    return rc;
}

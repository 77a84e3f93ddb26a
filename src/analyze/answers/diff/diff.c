/* diff.c - rows of the comparison: contexts of both sides with their metrics, run by run. */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/blame/blame.h"
#include "analyze/answers/lanes/sync.h"
#include "base/parallel.h"
#include "own.h"

/* clang-format off */
static const struct { const char *name, *unit; bool time; } metrics[SONDE_DIFF_METRICS] = {
#define X(id, name, unit, time) {name, unit, time},
    SONDE_DIFF_METRIC_MAP(X)
#undef X
};
/* clang-format on */

const char *sonde_diff_metric_name(enum sonde_diff_metric metric)
{
    return metrics[metric].name;
}

const char *sonde_diff_metric_unit(enum sonde_diff_metric metric)
{
    return metrics[metric].unit;
}

bool sonde_diff_metric_is_time(enum sonde_diff_metric metric)
{
    return metrics[metric].time;
}

const char *sonde_diff_match_name(enum sonde_diff_match match)
{
    static const char *const names[] = {"same", "moved", "renamed", "new", "gone"};
    return names[match];
}

const char *sonde__diff_text(struct sonde_diff *out, const char *text)
{
    return sonde_arena_copy(&out->arena, text, strlen(text));
}

/* ---- contexts ----------------------------------------------------------------------------------- */

struct context {              /* an operation, API call or routine, and the place of the user's code that it is in */
    uint32_t place, name;     /* joint number; string */
    uint32_t op;              /* enum sonde_op_kind; 0 host code */
    uint32_t run[SONDE_DIFF_SIDES], node[SONDE_DIFF_SIDES], own_name[SONDE_DIFF_SIDES];
    uint8_t match;
};

struct rows {
    const struct sonde_diff_config *config;
    struct sonde__trees trees;
    uint32_t *place_of;               /* [node of the side before]: the node of its place; UINT32_MAX unknown */
    SONDE_VECTOR(struct context) contexts;
    struct sonde_map known;
    SONDE_VECTOR(double) values;      /* [context][metric][run] */
    SONDE_VECTOR(uint64_t) timed;     /* [context][run]: durations that the trace should have */
    struct sonde__typical *typical;   /* [context][run]: of those that it has */
    double *figures;                  /* [run]: of the context at hand */
    uint32_t **row_of;                /* [run][node of its profile]: context whose durations are wanted */
    bool unknown[SONDE_DIFF_METRICS]; /* of some run */
};

static int side_of(const struct rows *r, uint32_t run)
{
    return run >= r->config->before_count;
}

static double *value_of(struct rows *r, uint32_t context, int metric, uint32_t run)
{
    return &r->values.items[((size_t)context * SONDE_DIFF_METRICS + (size_t)metric) * r->config->run_count + run];
}

static int make_context(struct rows *r, const struct context *made)
{
    int rc = sonde_vector_push(&r->contexts, *made);
    for (uint32_t i = 0; i < SONDE_DIFF_METRICS * r->config->run_count && !rc; i++)
        rc = sonde_vector_push(&r->values, 0);
    for (uint32_t i = 0; i < r->config->run_count && !rc; i++)
        rc = sonde_vector_push(&r->timed, 0);
    return rc;
}

/* The name that both sides have for a kernel: that of before. */
static uint32_t common_name(const struct rows *r, int side, const struct sonde__side_node *node)
{
    const bool renamed = side == SONDE_DIFF_AFTER && node->partner != UINT32_MAX;
    return renamed ? r->trees.sides[SONDE_DIFF_BEFORE].nodes.items[node->partner].key.name : node->key.name;
}

/* Where both sides have a context, a path of one side alone is another path. */
static void see(struct context *c, int side, uint32_t run, uint32_t node, const struct sonde__side_node *leaf, uint32_t name)
{
    const uint8_t match = leaf->path < SONDE_DIFF_NEW ? leaf->path : SONDE_DIFF_MOVED;
    c->match = match > c->match ? match : c->match;
    if (c->run[side] != UINT32_MAX)
        return;
    c->run[side] = run;
    c->node[side] = node;
    c->own_name[side] = name;
}

/* One number for the place of a leaf on both sides: that of before, also where it is called from elsewhere now. */
static uint32_t joint_place(struct rows *r, int side, uint32_t leaf, uint32_t place)
{
    const uint32_t partner = r->trees.sides[side].nodes.items[leaf].partner;
    if (side == SONDE_DIFF_BEFORE)
        r->place_of[leaf] = place;
    else if (partner != UINT32_MAX && r->place_of[partner] != UINT32_MAX)
        return r->place_of[partner];
    return sonde__trees_joint(&r->trees, side, place);
}

/* The context of `node` of a run's profile, by the place of its user's code and the name of `subject`; the user's own code is
 * one by function, whatever its line. op 0: host code. 0 or SONDE_ENOMEM. */
static int find_context(struct rows *r, uint32_t run, uint32_t node, uint32_t subject, uint32_t op, uint32_t *out)
{
    const struct sonde_profile *profile = r->config->runs[run].profile;
    const int side = side_of(r, run);
    const struct sonde__side_node *nodes = r->trees.sides[side].nodes.items;
    const uint32_t user = sonde_profile_place(profile, node), at = r->trees.at[run][node];
    const bool own = !op && user == subject;
    const uint32_t place = r->trees.at[run][own ? profile->nodes.items[user].parent : user];
    const struct sonde__side_node *named = &nodes[r->trees.at[run][subject]], *leaf = &nodes[at];
    struct context c = {
        .place = own ? sonde__trees_joint(&r->trees, side, place) : joint_place(r, side, at, place),
        .op = op,
        .name = subject == user && !own ? 0 : common_name(r, side, named),
        .run = {UINT32_MAX, UINT32_MAX},
    };
    uint64_t hash = sonde_hash_mix(sonde_hash_mix(c.place, c.name), op), found;
    for (; sonde_map_get(&r->known, hash, &found); hash++) {
        struct context *other = &r->contexts.items[found];
        if (other->place == c.place && other->name == c.name && other->op == op) {
            see(other, side, run, node, leaf, named->key.name);
            *out = (uint32_t)found;
            return 0;
        }
    }
    see(&c, side, run, node, leaf, named->key.name);
    *out = (uint32_t)r->contexts.count;
    return sonde_map_put(&r->known, hash, *out) ? SONDE_ENOMEM : make_context(r, &c);
}

/* ---- metrics of a run ----------------------------------------------------------------------------- */

static int add_operation(struct rows *r, uint32_t run, uint32_t node)
{
    const struct sonde_cct_node *n = &r->config->runs[run].profile->nodes.items[node];
    uint32_t context;
    const int rc = find_context(r, run, node, node, n->op, &context);
    if (rc)
        return rc;
    *value_of(r, context, SONDE_DIFF_TIME, run) += (double)n->self.device_ns;
    *value_of(r, context, SONDE_DIFF_COUNT, run) += (double)n->self.operations;
    *value_of(r, context, SONDE_DIFF_BYTES, run) += (double)n->self.bytes;
    r->timed.items[(size_t)context * r->config->run_count + run] += n->self.timed;
    r->row_of[run][node] = context;
    return 0;
}

/* `calls` of them have durations in the trace; 0: the sum alone is known. */
static int add_host(struct rows *r, uint32_t run, uint32_t node, enum sonde_diff_metric metric, double ns, uint64_t calls)
{
    const struct sonde_profile *profile = r->config->runs[run].profile;
    const bool api = profile->nodes.items[node].kind == SONDE_FRAME_API;
    uint32_t context;
    const int rc = find_context(r, run, node, api ? node : sonde_profile_routine(profile, node), 0, &context);
    if (rc)
        return rc;
    *value_of(r, context, metric, run) += ns;
    if (calls) {
        r->timed.items[(size_t)context * r->config->run_count + run] += calls;
        r->row_of[run][node] = context;
    }
    return 0;
}

static int add_waiting(struct rows *r, uint32_t run, struct sonde_progress *progress)
{
    const struct sonde_diff_run *of = &r->config->runs[run];
    double *waited = NULL;
    int rc = sonde_sync_compute(of->m, of->profile, progress, &waited);
    for (uint32_t i = 1; i < of->profile->nodes.count && !rc; i++) {
        const struct sonde_metrics *self = &of->profile->nodes.items[i].self;
        const bool all = self->sync_ns && self->sync_ns == self->api_ns; /* each call waited: their durations are those of waits */
        if (waited[i] > 0)
            rc = add_host(r, run, i, SONDE_DIFF_WAITING, waited[i], all ? self->api_calls : 0);
    }
    free(waited);
    return rc;
}

static int add_blame(struct rows *r, uint32_t run, struct sonde_progress *progress)
{
    const struct sonde_diff_run *of = &r->config->runs[run];
    const struct sonde_blame_options options = {.progress = progress};
    struct sonde_blame blame = {0};
    int rc = sonde_blame_compute(of->m, of->profile, &options, &blame);
    const struct sonde_blame_scope *all = blame.scopes.count ? &blame.scopes.items[0] : NULL;
    r->unknown[SONDE_DIFF_BLAME] |= !all;
    for (size_t i = 0; all && i < all->entries.count && !rc; i++) {
        const struct sonde_blame_entry *entry = &all->entries.items[i];
        if (entry->node)
            rc = add_host(r, run, entry->node, SONDE_DIFF_BLAME, entry->waiting_ns + entry->working_ns, 0);
    }
    sonde_blame_fini(&blame);
    return rc;
}

static int add_run(struct rows *r, uint32_t run, struct sonde_progress *progress)
{
    const struct sonde_profile *profile = r->config->runs[run].profile;
    int rc = 0;
    r->row_of[run] = malloc(profile->nodes.count * sizeof **r->row_of);
    if (!r->row_of[run])
        return SONDE_ENOMEM;
    memset(r->row_of[run], 0xff, profile->nodes.count * sizeof **r->row_of);
    r->unknown[SONDE_DIFF_CPU] |= !profile->sampled;
    for (uint32_t i = 1; i < profile->nodes.count && !rc; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        if (node->kind == SONDE_FRAME_OP && node->self.operations)
            rc = add_operation(r, run, i);
        if (!rc && node->self.cpu_ns)
            rc = add_host(r, run, i, SONDE_DIFF_CPU, (double)node->self.cpu_ns, 0);
    }
    rc = rc ? rc : add_waiting(r, run, progress);
    return rc ? rc : add_blame(r, run, progress);
}

/* ---- effects ---------------------------------------------------------------------------------------- */

static double mean(const double *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static struct sonde__single single_of(struct rows *r, uint32_t context, enum sonde_diff_metric metric, uint32_t run)
{
    const size_t at = (size_t)context * r->config->run_count + run;
    return (struct sonde__single){r->timed.items[at], *value_of(r, context, metric, run), r->typical[at]};
}

/* With one run a side. */
static struct sonde_diff_effect effect_within(struct rows *r, uint32_t context, enum sonde_diff_metric metric)
{
    struct sonde__single sides[SONDE_DIFF_SIDES];
    double count[SONDE_DIFF_SIDES], each[SONDE_DIFF_SIDES];
    for (uint32_t i = 0; i < SONDE_DIFF_SIDES; i++) {
        sides[i] = single_of(r, context, metric, i);
        count[i] = *value_of(r, context, SONDE_DIFF_COUNT, i);
        each[i] = metric == SONDE_DIFF_COUNT ? 1 : (count[i] > 0 ? *value_of(r, context, metric, i) / count[i] : 0);
        if (metric == SONDE_DIFF_WAITING && sides[i].total_ns > 0 && !sides[i].count)
            return (struct sonde_diff_effect){0};
    }
    if (metric == SONDE_DIFF_TIME || metric == SONDE_DIFF_WAITING)
        return sonde__effect_within(&sides[SONDE_DIFF_BEFORE], &sides[SONDE_DIFF_AFTER]);
    if (metric == SONDE_DIFF_COUNT || metric == SONDE_DIFF_BYTES)
        return sonde__effect_of_counts(count[0], each[0], count[1], each[1]);
    return (struct sonde_diff_effect){0};
}

/* Of durations what they typically add up to: few unusual ones would be most of what differs between runs. Where some run
 * lacks its durations, and of other metrics, the sums as they are. */
static struct sonde_diff_effect effect_of_runs(struct rows *r, uint32_t context, enum sonde_diff_metric metric, double measured)
{
    const uint32_t runs = r->config->run_count, before = r->config->before_count;
    const double *sums = value_of(r, context, metric, 0);
    bool durations = metric == SONDE_DIFF_TIME || metric == SONDE_DIFF_WAITING;
    for (uint32_t run = 0; run < runs; run++) {
        const struct sonde__single of = single_of(r, context, metric, run);
        r->figures[run] = (double)of.count * of.typical.ns;
        durations &= of.total_ns == 0 ? !of.count : of.count && of.typical.pieces > 0;
    }
    return sonde__effect_of_runs(durations ? r->figures : sums, before, runs, measured);
}

/* Operations without times have none that could be compared. */
static bool is_known(struct rows *r, uint32_t context, enum sonde_diff_metric metric)
{
    const uint32_t runs = r->config->run_count;
    bool known = !r->unknown[metric];
    for (uint32_t run = 0; run < runs && metric == SONDE_DIFF_TIME; run++)
        known &= r->timed.items[(size_t)context * runs + run] > 0 || *value_of(r, context, SONDE_DIFF_COUNT, run) == 0;
    return known;
}

static enum sonde_diff_match match_of(const struct context *c)
{
    if (c->run[SONDE_DIFF_BEFORE] == UINT32_MAX)
        return SONDE_DIFF_NEW;
    if (c->run[SONDE_DIFF_AFTER] == UINT32_MAX)
        return SONDE_DIFF_GONE;
    return c->own_name[SONDE_DIFF_BEFORE] != c->own_name[SONDE_DIFF_AFTER] ? SONDE_DIFF_RENAMED : c->match;
}

static int add_rows(struct rows *r, uint32_t context, struct sonde_diff *out)
{
    const struct context *c = &r->contexts.items[context];
    const uint32_t before = r->config->before_count, after = r->config->run_count - before;
    const double *times = value_of(r, context, SONDE_DIFF_TIME, 0);
    const double device_ns = is_known(r, context, SONDE_DIFF_TIME) ? mean(times, before) + mean(times + before, after) : -1;
    int rc = 0;
    for (int metric = 0; metric < SONDE_DIFF_METRICS && !rc; metric++) {
        const double *values = value_of(r, context, metric, 0);
        struct sonde_diff_row row = {
            .metric = metric, .match = match_of(c), .op = (uint16_t)c->op, .place = c->place, .device_ns = device_ns};
        row.before = mean(values, before);
        row.after = mean(values + before, after);
        if (!is_known(r, context, metric) || (row.before == 0 && row.after == 0))
            continue;
        memcpy(row.run, c->run, sizeof row.run);
        memcpy(row.node, c->node, sizeof row.node);
        row.effect = out->by_runs ? effect_of_runs(r, context, metric, row.after - row.before) : effect_within(r, context, metric);
        rc = sonde_vector_push(&out->rows, row);
    }
    return rc;
}

/* Of the rows of each metric. */
static int find_significant(struct sonde_diff *out)
{
    double *p = malloc((out->rows.count ? out->rows.count : 1) * sizeof *p);
    if (!p)
        return SONDE_ENOMEM;
    for (int metric = 0; metric < SONDE_DIFF_METRICS; metric++) {
        size_t count = 0;
        for (size_t i = 0; i < out->rows.count; i++)
            if ((int)out->rows.items[i].metric == metric && out->rows.items[i].effect.known)
                p[count++] = out->rows.items[i].effect.p;
        const double limit = sonde__false_discovery_limit(p, count);
        for (size_t i = 0; i < out->rows.count; i++) {
            struct sonde_diff_row *row = &out->rows.items[i];
            if ((int)row->metric == metric)
                row->significant = row->effect.known && row->effect.p <= limit;
        }
    }
    free(p);
    return 0;
}

static int by_difference(const void *left, const void *right)
{
    const struct sonde_diff_row *a = left, *b = right;
    const int class_a = metrics[a->metric].time ? 0 : (int)a->metric, class_b = metrics[b->metric].time ? 0 : (int)b->metric;
    if (class_a != class_b)
        return class_a - class_b;
    const double by_a = fabs(a->after - a->before), by_b = fabs(b->after - b->before);
    if (by_a != by_b)
        return by_a < by_b ? 1 : -1;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    for (int side = SONDE_DIFF_SIDES; side-- > 0;)
        if (a->node[side] != b->node[side])
            return a->node[side] < b->node[side] ? -1 : 1;
    return 0;
}

static void find_common(struct sonde_diff *out)
{
    double all[SONDE_DIFF_METRICS] = {0}, both[SONDE_DIFF_METRICS] = {0};
    for (size_t i = 0; i < out->rows.count; i++) {
        const struct sonde_diff_row *row = &out->rows.items[i];
        all[row->metric] += row->before + row->after;
        both[row->metric] += row->match < SONDE_DIFF_NEW ? row->before + row->after : 0;
    }
    const int by = all[SONDE_DIFF_TIME] > 0 ? SONDE_DIFF_TIME : SONDE_DIFF_COUNT;
    out->common = all[by] > 0 ? both[by] / all[by] : 0;
}

static int read_run(void *user, uint32_t run)
{
    struct rows *r = user;
    const uint32_t runs = r->config->run_count;
    struct sonde__pieces *pieces = calloc(r->contexts.count + 1, sizeof *pieces);
    for (size_t i = 0; pieces && i < r->contexts.count; i++)
        pieces[i].expected = r->timed.items[i * runs + run];
    const int rc = pieces ? sonde__durations_read(&r->config->runs[run], r->row_of[run], pieces) : SONDE_ENOMEM;
    for (size_t i = 0; i < r->contexts.count && !rc; i++)
        r->typical[i * runs + run] = sonde__pieces_typical(&pieces[i]);
    free(pieces);
    return rc;
}

static int read_typical(struct rows *r)
{
    const uint32_t runs = r->config->run_count;
    r->typical = calloc(r->contexts.count * runs + 1, sizeof *r->typical);
    r->figures = calloc(runs, sizeof *r->figures);
    return r->typical && r->figures ? sonde_parallel_run(sonde_parallel_threads(), runs, read_run, r) : SONDE_ENOMEM;
}

static int make_rows(struct rows *r, struct sonde_diff *out, struct sonde_progress *progress)
{
    int rc = sonde__trees_build(&r->trees, r->config);
    const size_t nodes = r->trees.sides[SONDE_DIFF_BEFORE].nodes.count;
    r->place_of = rc ? NULL : malloc(nodes * sizeof *r->place_of);
    if (r->place_of)
        memset(r->place_of, 0xff, nodes * sizeof *r->place_of);
    rc = rc ? rc : (r->place_of ? 0 : SONDE_ENOMEM);
    for (uint32_t run = 0; run < r->config->run_count && !rc; run++)
        rc = add_run(r, run, progress);
    rc = rc ? rc : read_typical(r);
    for (uint32_t i = 0; i < r->contexts.count && !rc; i++)
        rc = add_rows(r, i, out);
    rc = rc ? rc : find_significant(out);
    if (!rc && out->rows.count)
        qsort(out->rows.items, out->rows.count, sizeof *out->rows.items, by_difference);
    find_common(out);
    return rc;
}

static void rows_fini(struct rows *r)
{
    for (uint32_t i = 0; r->row_of && i < r->config->run_count; i++)
        free(r->row_of[i]);
    free(r->row_of);
    free(r->place_of);
    free(r->typical);
    free(r->figures);
    sonde__trees_fini(&r->trees);
    sonde_vector_fini(&r->contexts);
    sonde_vector_fini(&r->values);
    sonde_vector_fini(&r->timed);
    sonde_map_fini(&r->known);
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static int compare_totals(const struct sonde_diff_config *config, struct sonde_diff *out)
{
    const uint32_t before = config->before_count, after = config->run_count - before;
    double *wall = calloc(config->run_count, sizeof *wall);
    if (!wall)
        return SONDE_ENOMEM;
    out->total.known = true;
    for (uint32_t i = 0; i < config->run_count; i++) {
        wall[i] = (double)config->runs[i].totals->wall_ns;
        out->total.known &= wall[i] > 0;
    }
    out->total.before_ns = mean(wall, before);
    out->total.after_ns = mean(wall + before, after);
    out->total.effect = sonde__ratio_of_runs(wall, before, config->run_count);
    free(wall);
    return 0;
}

static int warn_of_contexts(struct sonde_diff *out)
{
    if (out->common == 0)
        return sonde__warn(out, "the two sides have no operation at a common place: only their totals can be compared");
    if (out->common < .5)
        return sonde__warn(out, "only %.0f %% of the operations' time is at places that both sides have", out->common * 100);
    return 0;
}

int sonde_diff_compute(const struct sonde_diff_config *config, struct sonde_diff *out)
{
    struct rows r = {.config = config, .row_of = calloc(config->run_count, sizeof *r.row_of)};
    struct sonde_progress *progress = config->begin ? config->begin("comparing") : NULL;
    out->by_runs = config->run_count > 2;
    int rc = r.row_of ? compare_totals(config, out) : SONDE_ENOMEM;
    rc = rc ? rc : sonde__steps_compare(config, out);
    rc = rc ? rc : make_rows(&r, out, progress);
    rc = rc ? rc : warn_of_contexts(out);
    rc = rc ? rc : sonde__ledgers_compare(config, out);
    rows_fini(&r);
    if (config->end)
        config->end(progress);
    return rc;
}

void sonde_diff_fini(struct sonde_diff *diff)
{
    sonde_vector_fini(&diff->rows);
    sonde_vector_fini(&diff->ledger);
    sonde_vector_fini(&diff->warnings);
    sonde_arena_fini(&diff->arena);
}

/* profile_rows_flat.c - the flat and the bottom-up view.
 *
 * Inclusive figures of a routine that occurs several times on one call path
 * would count what is below twice. As in HPCToolkit, the sum goes over exposed
 * instances only: those without another instance of the same row above them
 * (Adhianto, Mellor-Crummey, Tallent, "Effectively Presenting Call Path Profiles
 * of Application Performance", ICPPW 2010, doi 10.1109/ICPPW.2010.35). Exclusive
 * figures need no such rule: each belongs to one node.
 */
#include <stdlib.h>
#include <string.h>

#include "profile_rows_build.h"

struct routine {
    struct sonde__sums inclusive, exclusive;
    bool seen;
};

static bool is_shown(const struct sonde__rows_maker *v, uint32_t node)
{
    return node && v->state[node] == SONDE__INSIDE;
}

/* What is in no routine (operations whose context was lost; by kernel, all that
 * is not in an operation) is nobody's caller: inclusive is exclusive. */
static bool is_routine(const struct sonde__rows_maker *v, uint32_t entity)
{
    return v->entities.items[entity].frame.kind != 0;
}

/* above[node]: its nearest ancestor of the same routine, 0 none. One walk over the tree. */
static int find_above(const struct sonde__rows_maker *v, uint32_t *above)
{
    const struct sonde_cct_node *nodes = v->profile->nodes.items;
    uint32_t *last = calloc(v->entities.count, sizeof *last), at = 0;
    if (!last)
        return SONDE_ENOMEM;
    for (;;) {
        if (is_shown(v, at)) {
            above[at] = last[v->entity[at]];
            last[v->entity[at]] = at;
        }
        if (nodes[at].first_child) {
            at = nodes[at].first_child;
            continue;
        }
        for (;; at = nodes[at].parent) {
            if (is_shown(v, at))
                last[v->entity[at]] = above[at];
            if (!at || nodes[at].next_sibling)
                break;
        }
        if (!at)
            break;
        at = nodes[at].next_sibling;
    }
    free(last);
    return 0;
}

static int add_routines(struct sonde__rows_maker *v, struct routine *routines, uint32_t *above)
{
    int rc = find_above(v, above);
    for (uint32_t i = 0; i < v->nodes && !rc; i++) {
        struct routine *r = &routines[v->entity[i]];
        if (i && !is_shown(v, i))
            continue;
        sonde__sums_add(&r->exclusive, &v->self[i]);
        if (!is_routine(v, v->entity[i]))
            sonde__sums_add(&r->inclusive, &v->self[i]);
        else if (!above[i])
            sonde__sums_add(&r->inclusive, &v->total[i]);
    }
    return rc;
}

static bool has_figures(const struct sonde__sums *s)
{
    for (int i = 0; i < SONDE_METRIC_COUNT; i++)
        if (s->of[i] != 0)
            return true;
    return false;
}

/* Routines with any figure, largest first. */
static int rank_routines(struct sonde__rows_maker *v, const struct routine *routines, struct sonde__candidate **list,
                         size_t *count)
{
    SONDE_VECTOR(struct sonde__candidate) all = {0};
    int rc = 0;
    for (uint32_t e = 0; e < v->entities.count && !rc; e++)
        if (has_figures(&routines[e].inclusive))
            rc = sonde_vector_push(&all, sonde__rows_weigh(v, &routines[e].inclusive, &routines[e].exclusive, e));
    *list = all.items;
    *count = rc ? 0 : sonde__rows_rank(v, all.items, all.count);
    return rc;
}

static struct sonde__sums *routine_sums(void *rows, size_t at, bool inclusive)
{
    struct routine *routine = (struct routine *)rows + at;
    return inclusive ? &routine->inclusive : &routine->exclusive;
}

/* Of what is in no routine inclusive is exclusive. */
static int add_errors(struct sonde__rows_maker *v, struct routine *routines)
{
    uint32_t *group = malloc((v->nodes + 1) * sizeof *group);
    int rc = group ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < v->nodes && !rc; i++)
        group[i] = !i || is_shown(v, i) ? v->entity[i] : UINT32_MAX;
    for (int inclusive = 1; inclusive >= 0 && !rc; inclusive--)
        rc = sonde__rows_errors(v, group, inclusive, v->entities.count, routine_sums, routines);
    for (size_t i = 0; i < v->entities.count && !rc; i++)
        if (!is_routine(v, (uint32_t)i))
            routines[i].inclusive = routines[i].exclusive;
    free(group);
    return rc;
}

int sonde__rows_flat(struct sonde__rows_maker *v)
{
    struct routine *routines = calloc(v->entities.count, sizeof *routines);
    uint32_t *above = calloc(v->nodes, sizeof *above), row;
    struct sonde__candidate *list = NULL;
    size_t count = 0;
    int rc = routines && above ? add_routines(v, routines, above) : SONDE_ENOMEM;
    rc = rc ? rc : add_errors(v, routines);
    if (!rc)
        rc = rank_routines(v, routines, &list, &count);
    for (size_t i = 0; i < count && !rc; i++)
        rc = sonde__rows_emit(v, 0, 1, &v->entities.items[list[i].id], &routines[list[i].id].inclusive,
                              &routines[list[i].id].exclusive, &row);
    free(list);
    free(above);
    free(routines);
    return rc;
}

/* ---- bottom-up -------------------------------------------------------------------------- */

/* A node of the routine at the bottom, and the ancestor that the row stands at. */
struct instance { uint32_t node, at, entity; };

struct callers {
    struct sonde__rows_maker *v;
    struct sonde_map rows; /* (row << 32 | routine) -> the row of this routine below it */
    uint32_t *above;
    uint32_t *stamp;  /* [tree node]: the last group that it was in */
    uint32_t groups;
};

/* One level: instances in runs of one routine, and the runs, largest first. */
struct level {
    struct instance *instances;
    size_t count;
    struct sonde__candidate *runs; /* id: first instance of the run */
    size_t run_count, at;
    uint32_t row;
};

static int by_entity(const void *left, const void *right)
{
    const struct instance *a = left, *b = right;
    if (a->entity != b->entity)
        return a->entity < b->entity ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static size_t run_end(const struct level *l, size_t first)
{
    size_t end = first + 1;
    while (end < l->count && l->instances[end].entity == l->instances[first].entity)
        end++;
    return end;
}

static void add_run(struct callers *c, const struct level *l, size_t first, struct routine *sum)
{
    const struct sonde__rows_maker *v = c->v;
    const size_t end = run_end(l, first);
    const uint32_t group = ++c->groups;
    memset(sum, 0, sizeof *sum);
    for (size_t i = first; i < end; i++)
        c->stamp[l->instances[i].node] = group;
    for (size_t i = first; i < end; i++) {
        uint32_t node = l->instances[i].node, over = c->above[node];
        while (over && c->stamp[over] != group)
            over = c->above[over];
        sonde__sums_add(&sum->exclusive, &v->self[node]);
        if (!over)
            sonde__sums_add(&sum->inclusive, &v->total[node]);
    }
}

/* Who sorts by exclusive figures asks who had them: callers of nothing are left
 * out, of which there are as many as nodes times their depth. */
static int rank_runs(struct callers *c, struct level *l)
{
    SONDE_VECTOR(struct sonde__candidate) runs = {0};
    const bool all = l->row == 0 || c->v->config->sort_side == SONDE_INCLUSIVE;
    struct routine sum;
    int rc = 0;
    if (l->count)
        qsort(l->instances, l->count, sizeof *l->instances, by_entity);
    for (size_t i = 0; i < l->count && !rc; i = run_end(l, i)) {
        add_run(c, l, i, &sum);
        if (all || has_figures(&sum.exclusive))
            rc = sonde_vector_push(&runs, sonde__rows_weigh(c->v, &sum.inclusive, &sum.exclusive, (uint32_t)i));
    }
    l->runs = runs.items;
    l->run_count = rc ? 0 : sonde__rows_rank(c->v, runs.items, runs.count);
    return rc;
}

/* Callers of the run that begins at `first` of `below`. */
static int callers_level(struct callers *c, const struct level *below, size_t first, uint32_t row, struct level *out)
{
    const struct sonde__rows_maker *v = c->v;
    size_t end = run_end(below, first);
    *out = (struct level){.row = row, .instances = malloc((end - first) * sizeof *out->instances)};
    if (!out->instances)
        return SONDE_ENOMEM;
    for (size_t i = first; i < end; i++) {
        uint32_t at = v->up[below->instances[i].at];
        while (at && sonde__rows_folds(v, at, below->instances[i].at))
            at = v->up[at];
        if (at)
            out->instances[out->count++] = (struct instance){below->instances[i].node, at, v->entity[at]};
    }
    return rank_runs(c, out);
}

static int first_level(struct callers *c, struct level *out)
{
    const struct sonde__rows_maker *v = c->v;
    *out = (struct level){.instances = malloc(v->nodes * sizeof *out->instances)};
    if (!out->instances)
        return SONDE_ENOMEM;
    for (uint32_t i = 1; i < v->nodes; i++)
        if (is_shown(v, i) && has_figures(&v->total[i]))
            out->instances[out->count++] = (struct instance){i, i, v->entity[i]};
    return rank_runs(c, out);
}

static void close_level(struct level *l)
{
    free(l->instances);
    free(l->runs);
}

/* What was put at the root, its context lost: no routine did it. */
static int emit_lost(struct callers *c)
{
    struct sonde__rows_maker *v = c->v;
    uint32_t row;
    if (!has_figures(&v->self[0]))
        return 0;
    int rc = sonde__rows_emit(v, 0, 1, &v->entities.items[0], &v->self[0], &v->self[0], &row);
    return rc ? rc : sonde_map_put(&c->rows, v->entity[0], row);
}

/* ---- errors of the bottom-up view: level by level, since a node is in one row of each */

static bool has_estimate(const struct sonde__rows_maker *v)
{
    return v->config->cpu_estimate || v->config->blame_estimate;
}

/* group[node]: its row of the next level, UINT32_MAX none; at[node]: the ancestor that this row stands at. False: nobody has one. */
static bool next_level(const struct callers *c, uint32_t *group, uint32_t *at)
{
    const struct sonde__rows_maker *v = c->v;
    bool any = false;
    for (uint32_t i = 0; i < v->nodes; i++) {
        uint32_t caller = v->up[at[i]];
        uint64_t row;
        while (caller && sonde__rows_folds(v, caller, at[i]))
            caller = v->up[caller];
        const bool has = group[i] != UINT32_MAX && caller &&
                         sonde_map_get(&c->rows, (uint64_t)group[i] << 32 | v->entity[caller], &row);
        group[i] = has ? (uint32_t)row : UINT32_MAX;
        at[i] = caller;
        any |= has;
    }
    return any;
}

static void lowest_level(const struct callers *c, uint32_t *group, uint32_t *at)
{
    const struct sonde__rows_maker *v = c->v;
    for (uint32_t i = 0; i < v->nodes; i++) {
        uint64_t row;
        at[i] = i;
        group[i] = (!i || is_shown(v, i)) && sonde_map_get(&c->rows, v->entity[i], &row) ? (uint32_t)row : UINT32_MAX;
    }
}

static int level_errors(const struct callers *c, const uint32_t *group, uint32_t depth, struct routine *sums)
{
    const struct sonde_profile_rows *view = c->v->view;
    int rc = 0;
    for (int inclusive = 0; inclusive < 2 && !rc; inclusive++)
        rc = sonde__rows_errors(c->v, group, inclusive, view->rows.count, routine_sums, sums);
    for (size_t row = 1; row < view->rows.count && !rc; row++) {
        const bool lost = view->rows.items[row].node == 0;
        if (view->rows.items[row].depth != depth)
            continue;
        sonde__rows_set_errors(c->v, row, SONDE_INCLUSIVE, lost ? &sums[row].exclusive : &sums[row].inclusive);
        sonde__rows_set_errors(c->v, row, SONDE_EXCLUSIVE, &sums[row].exclusive);
    }
    return rc;
}

static int callers_errors(const struct callers *c)
{
    const struct sonde__rows_maker *v = c->v;
    struct routine *sums = calloc(v->view->rows.count, sizeof *sums);
    uint32_t *group = malloc(v->nodes * sizeof *group), *at = malloc(v->nodes * sizeof *at), depth = 1;
    int rc = sums && group && at ? 0 : SONDE_ENOMEM;
    if (!rc)
        lowest_level(c, group, at);
    do
        rc = rc ? rc : level_errors(c, group, depth++, sums);
    while (!rc && next_level(c, group, at));
    free(sums);
    free(group);
    free(at);
    return rc;
}

int sonde__rows_bottom_up(struct sonde__rows_maker *v)
{
    struct callers c = {.v = v, .above = calloc(v->nodes, sizeof *c.above), .stamp = calloc(v->nodes, sizeof *c.stamp)};
    SONDE_VECTOR(struct level) stack = {0};
    struct level next = {0};
    int rc = c.above && c.stamp ? find_above(v, c.above) : SONDE_ENOMEM;
    if (!rc)
        rc = first_level(&c, &next);
    if (!rc)
        rc = sonde_vector_push(&stack, next);
    if (rc)
        close_level(&next);
    while (stack.count) {
        struct level *top = &stack.items[stack.count - 1];
        if (rc || top->at == top->run_count) {
            close_level(top);
            stack.count--;
            continue;
        }
        size_t first = top->runs[top->at++].id;
        struct routine sum;
        uint32_t row;
        add_run(&c, top, first, &sum);
        rc = sonde__rows_emit(v, top->row, (uint32_t)stack.count, &v->entities.items[top->instances[first].entity],
                              &sum.inclusive, &sum.exclusive, &row);
        rc = rc ? rc : sonde_map_put(&c.rows, (uint64_t)top->row << 32 | top->instances[first].entity, row);
        if (rc || (v->config->depth && stack.count >= v->config->depth))
            continue;
        rc = callers_level(&c, top, first, row, &next);
        if (!rc)
            rc = sonde_vector_push(&stack, next);
        if (rc)
            close_level(&next);
    }
    sonde_vector_fini(&stack);
    rc = rc ? rc : emit_lost(&c);
    rc = rc || !has_estimate(v) ? rc : callers_errors(&c);
    sonde_map_fini(&c.rows);
    free(c.above);
    free(c.stamp);
    return rc;
}

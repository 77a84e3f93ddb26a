/* profile_rows.c - what views share, and the top-down one.
 *
 * Frames of the runtime (loader, C library, interpreter) that have no figures
 * of their own may be left out; their callees take their place, and those that
 * then are the same code under the same parent become one row. So may native
 * frames without names, of which only offsets tell what is what.
 */
#include "profile_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile_rows_build.h"

const char *const sonde_profile_by_names[] = {"line", "function", "module", "kernel", "object", NULL};

/* ---- figures ------------------------------------------------------------------------ */

void sonde__sums_add(struct sonde__sums *to, const struct sonde__sums *more)
{
    for (int i = 0; i < SONDE_METRIC_COUNT; i++)
        to->of[i] += more->of[i];
}

static const struct sonde_estimate *estimate_of(const struct sonde__rows_maker *v, int metric)
{
    return metric == SONDE_METRIC_CPU_ERROR     ? v->config->cpu_estimate
           : metric == SONDE_METRIC_BLAME_ERROR ? v->config->blame_estimate
                                                : NULL;
}

static bool is_known(const struct sonde__rows_maker *v, int metric, const struct sonde__sums *sums)
{
    if (v->config->given[metric])
        return true;
    switch (sonde_metric_table[metric].needs) {
    case SONDE_NEEDS_TIMES: /* of a node without operations it is zero */
        return sums->of[SONDE_METRIC_OPS] == 0 || sums->of[SONDE_METRIC_TIMED] > 0;
    case SONDE_NEEDS_SAMPLES:
        return v->profile->sampled;
    case SONDE_NEEDS_GIVEN:
        return false;
    case SONDE_NEEDS_ESTIMATE:
        return estimate_of(v, metric);
    default:
        return true;
    }
}

/* values[column] of one side. */
static void compute(const struct sonde__rows_maker *v, const struct sonde__sums *sums, struct sonde_value *values)
{
    for (int i = 0; i < SONDE_METRIC_COUNT; i++) {
        bool known = is_known(v, i, sums);
        values[i] = (struct sonde_value){known ? sums->of[i] : 0, known ? SONDE_KNOWN : SONDE_UNKNOWN};
    }
    sonde_columns_compute(v->config->columns, values);
}

enum { FEW_COLUMNS = SONDE_METRIC_COUNT + SONDE_DERIVED_MAX };

static double share_in(const struct sonde__rows_maker *v, uint32_t column, const struct sonde_value *values)
{
    const double whole = sonde_profile_rows_get(v->view, 0, column, SONDE_INCLUSIVE).value;
    return whole > 0 ? values[column].value / whole : 0;
}

static bool is_error(uint32_t column)
{
    return column < SONDE_METRIC_COUNT && sonde_metric_table[column].needs == SONDE_NEEDS_ESTIMATE;
}

/* The largest of the column that counts and of the times that are shown. */
static double largest_share(const struct sonde__rows_maker *v, const struct sonde_value *values)
{
    const struct sonde_columns *c = v->config->columns;
    double share = share_in(v, v->config->share, values), other;
    for (size_t i = 0; i < c->shown.count; i++)
        if (sonde_columns_unit(c, c->shown.items[i]) == SONDE_UNIT_NS && !is_error(c->shown.items[i]) &&
            (other = share_in(v, c->shown.items[i], values)) > share)
            share = other;
    return share;
}

struct sonde__candidate sonde__rows_weigh(const struct sonde__rows_maker *v, const struct sonde__sums *inclusive,
                                          const struct sonde__sums *exclusive, uint32_t id)
{
    const struct sonde_profile_rows_config *c = v->config;
    const struct sonde__sums *side = c->sort_side == SONDE_EXCLUSIVE ? exclusive : inclusive;
    struct sonde__candidate candidate = {
        .id = id,
        .weight = -INFINITY,
        .second = inclusive->of[SONDE_METRIC_API] + inclusive->of[SONDE_METRIC_CPU],
    };
    struct sonde_value values[FEW_COLUMNS];
    compute(v, side, values);
    if (values[c->sort].validity == SONDE_KNOWN)
        candidate.weight = values[c->sort].value;
    candidate.share = largest_share(v, values);
    return candidate;
}

static int heavier(const void *left, const void *right)
{
    const struct sonde__candidate *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    if (a->second != b->second)
        return a->second < b->second ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

size_t sonde__rows_rank(struct sonde__rows_maker *v, struct sonde__candidate *list, size_t count)
{
    const struct sonde_profile_rows *view = v->view;
    bool any = sonde_profile_rows_get(view, 0, view->share, SONDE_INCLUSIVE).value > 0; /* else shares say nothing */
    size_t stay = 0;
    for (size_t i = 0; i < count; i++)
        if (!any || list[i].share * 100 >= v->config->min_percent)
            list[stay++] = list[i];
    if (stay)
        qsort(list, stay, sizeof *list, heavier);
    v->view->cut += count - stay;
    return stay;
}

int sonde__rows_emit(struct sonde__rows_maker *v, uint32_t parent, uint32_t depth, const struct sonde__entity *entity,
                     const struct sonde__sums *inclusive, const struct sonde__sums *exclusive, uint32_t *out)
{
    struct sonde_profile_rows *view = v->view;
    const size_t columns = sonde_columns_count(view->columns), row = view->rows.count;
    struct sonde_value values[FEW_COLUMNS];
    if (row == UINT32_MAX)
        return SONDE_ENOMEM;
    if (row == view->value_rows) {
        size_t room = row ? row * 2 : 64;
        void *moved = realloc(view->values, room * columns * SONDE_PROFILE_SIDES * sizeof *view->values);
        if (!moved)
            return SONDE_ENOMEM;
        view->values = moved;
        view->value_rows = room;
    }
    for (int side = 0; side < SONDE_PROFILE_SIDES; side++) {
        compute(v, side == SONDE_INCLUSIVE ? inclusive : exclusive, values);
        for (size_t c = 0; c < columns; c++)
            view->values[(row * columns + c) * SONDE_PROFILE_SIDES + (size_t)side] = values[c];
    }
    *out = (uint32_t)row;
    return sonde_vector_push(&view->rows,
                             (struct sonde_profile_row){
                                 .parent = parent,
                                 .depth = depth,
                                 .node = entity->node,
                                 .frame = entity->frame,
                             });
}

/* ---- routines ------------------------------------------------------------------------ */

static struct sonde_profile_frame frame_of(const struct sonde_cct_node *n, enum sonde_profile_by by)
{
    struct sonde_profile_frame f = {
        .kind = n->kind,
        .op = n->op,
        .line = n->line,
        .offset = n->offset,
        .name = n->name,
        .file = n->file,
        .module = n->module,
    };
    if (by == SONDE_BY_KERNEL && f.kind != SONDE_FRAME_OP)
        return (struct sonde_profile_frame){.name = "", .file = "", .module = ""};
    if (by == SONDE_BY_LINE)
        return f;
    f.line = 0;
    f.offset = 0;
    if (by != SONDE_BY_MODULE)
        return f;
    f.op = 0;
    f.module = f.kind == SONDE_FRAME_PYTHON ? n->file : (f.kind == SONDE_FRAME_NATIVE ? n->module : "");
    f.name = f.file = "";
    return f;
}

static bool is_nameless(uint8_t kind, const char *name, const char *file)
{
    return kind == SONDE_FRAME_NATIVE && !*name && !*file;
}

bool sonde__rows_folds(const struct sonde__rows_maker *v, uint32_t node, uint32_t caller)
{
    const struct sonde_cct_node *n = &v->profile->nodes.items[node];
    return v->fold && v->entity[caller] == v->entity[node] && is_nameless(n->kind, n->name, n->file);
}

static bool same(const struct sonde_profile_frame *a, const struct sonde_profile_frame *b)
{
    return a->kind == b->kind && a->op == b->op && a->line == b->line && a->offset == b->offset &&
           a->name == b->name && a->file == b->file && a->module == b->module; /* interned texts */
}

/* "" is interned nowhere: each would be another pointer. */
static void make_comparable(struct sonde_profile_frame *f)
{
    static const char nothing[] = "";
    f->name = *f->name ? f->name : nothing;
    f->file = *f->file ? f->file : nothing;
    f->module = *f->module ? f->module : nothing;
}

static int number(struct sonde__rows_maker *v, uint32_t node, enum sonde_profile_by by, uint32_t *out)
{
    struct sonde_profile_frame f = frame_of(&v->profile->nodes.items[node], by);
    uint64_t at;
    if (v->fold && is_nameless(f.kind, f.name, f.file))
        f.offset = 0;
    make_comparable(&f);
    uint64_t key = sonde_hash_mix((uint64_t)f.kind << 48 | (uint64_t)f.op << 32 | f.line, f.offset);
    key = sonde_hash_mix(key, (uintptr_t)f.name);
    key = sonde_hash_mix(key, (uintptr_t)f.file);
    key = sonde_hash_mix(key, (uintptr_t)f.module);
    for (; sonde_map_get(&v->by_key, key, &at); key++)
        if (same(&v->entities.items[at].frame, &f)) {
            *out = (uint32_t)at;
            return 0;
        }
    *out = (uint32_t)v->entities.count;
    if (sonde_vector_push(&v->entities, (struct sonde__entity){f, node}))
        return SONDE_ENOMEM;
    return sonde_map_put(&v->by_key, key, *out);
}

int sonde__rows_entities(struct sonde__rows_maker *v, enum sonde_profile_by by)
{
    int rc = 0;
    v->entities.count = 0;
    sonde_map_fini(&v->by_key);
    for (uint32_t i = 0; i < v->nodes && !rc; i++) /* the root's comes first: 0 */
        rc = number(v, i, by, &v->entity[i]);
    return rc;
}

/* ---- which nodes ---------------------------------------------------------------------- */

static void read_figures(struct sonde__rows_maker *v)
{
    const struct sonde_cct_node *nodes = v->profile->nodes.items;
    for (size_t i = 0; i < v->nodes; i++) {
        bool any = false;
        for (int k = 0; k < SONDE_METRIC_COUNT; k++) {
            const double *given = v->config->given[k];
            v->self[i].of[k] = given ? given[i] : sonde_metric_table[k].value(&nodes[i].self);
            any |= v->self[i].of[k] != 0;
        }
        bool runtime = nodes[i].kind == SONDE_FRAME_NATIVE && nodes[i].origin == SONDE_ORIGIN_RUNTIME;
        v->state[i] = SONDE__INSIDE | (!v->config->all_frames && runtime && !any ? SONDE__HIDDEN : 0);
    }
}

/* A row of the top-down view; `node` is the first of its tree nodes, `offset` that of its frames, 0 where they differ. */
struct draft {
    uint32_t parent, entity, node, first, next;
    uint32_t row; /* of the view; 0 none, but of the whole */
    uint64_t offset;
    struct sonde__sums inclusive, exclusive;
};

struct tree {
    SONDE_VECTOR(struct draft) rows; /* [0] the whole; a parent before its children */
    struct sonde_map children;
    uint32_t *row_of;                /* [tree node] */
};

static void meet(struct draft *d, uint64_t offset)
{
    d->offset = d->offset == offset ? offset : 0;
}

static int draft_child(struct tree *t, uint32_t parent, uint32_t entity, uint32_t node, uint64_t offset, uint32_t *out)
{
    uint64_t key = (uint64_t)parent << 32 | entity, at;
    if (sonde_map_get(&t->children, key, &at)) {
        *out = (uint32_t)at;
        meet(&t->rows.items[at], offset);
        return 0;
    }
    *out = (uint32_t)t->rows.count;
    if (sonde_vector_push(&t->rows,
                          (struct draft){
                              .parent = parent,
                              .entity = entity,
                              .node = node,
                              .next = t->rows.items[parent].first,
                              .offset = offset,
                          }))
        return SONDE_ENOMEM;
    t->rows.items[parent].first = *out;
    return sonde_map_put(&t->children, key, *out);
}

/* Rows of the nodes inside; nodes for which `whole` is true are row 0. */
static int draft_rows(const struct sonde__rows_maker *v, struct tree *t, const bool *whole)
{
    const struct sonde_cct_node *nodes = v->profile->nodes.items;
    int rc = sonde_vector_push(&t->rows, (struct draft){0});
    for (uint32_t i = 1; i < v->nodes && !rc; i++) {
        if (!(v->state[i] & SONDE__INSIDE) || (whole && whole[i]))
            continue;
        const uint32_t above = t->row_of[nodes[i].parent];
        t->row_of[i] = above;
        if (v->state[i] & SONDE__HIDDEN)
            continue;
        if (above && v->up[i] && sonde__rows_folds(v, i, v->up[i]))
            meet(&t->rows.items[above], nodes[i].offset);
        else
            rc = draft_child(t, above, v->entity[i], i, nodes[i].offset, &t->row_of[i]);
    }
    return rc;
}

/* ---- errors ------------------------------------------------------------------------------ */

int sonde__rows_errors(const struct sonde__rows_maker *v, const uint32_t *group, bool inclusive, size_t groups,
                       struct sonde__sums *(*at)(void *rows, size_t group, bool inclusive), void *rows)
{
    uint32_t *own = malloc((v->nodes + 1) * sizeof *own);
    int rc = own ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < v->nodes && !rc; i++) {
        const uint32_t node = inclusive ? (uint32_t)i : v->owner[i];
        own[i] = v->state[node] & SONDE__INSIDE ? group[node] : UINT32_MAX;
    }
    for (int metric = 0; metric < SONDE_METRIC_COUNT && !rc; metric++) {
        const struct sonde_estimate *estimate = estimate_of(v, metric);
        if (!estimate)
            continue;
        double *errors = sonde_estimate_errors(estimate, own, inclusive ? v->profile : NULL, groups);
        rc = errors ? 0 : SONDE_ENOMEM;
        for (size_t i = 0; i < groups && !rc; i++)
            at(rows, i, inclusive)->of[metric] = errors[i];
        free(errors);
    }
    free(own);
    return rc;
}

void sonde__rows_set_errors(const struct sonde__rows_maker *v, size_t row, int side, const struct sonde__sums *sums)
{
    const struct sonde_profile_rows *view = v->view;
    const size_t columns = sonde_columns_count(view->columns);
    struct sonde_value values[FEW_COLUMNS], *at = &view->values[row * columns * SONDE_PROFILE_SIDES + (size_t)side];
    for (size_t c = 0; c < columns; c++)
        values[c] = at[c * SONDE_PROFILE_SIDES];
    for (int metric = 0; metric < SONDE_METRIC_COUNT; metric++)
        if (estimate_of(v, metric))
            values[metric].value = sums->of[metric];
    sonde_columns_compute(v->config->columns, values);
    for (size_t c = 0; c < columns; c++)
        at[c * SONDE_PROFILE_SIDES] = values[c];
}

static int tree_init(const struct sonde__rows_maker *v, struct tree *t)
{
    *t = (struct tree){.row_of = calloc(v->nodes, sizeof *t->row_of)};
    return t->row_of ? 0 : SONDE_ENOMEM;
}

static void tree_fini(struct tree *t)
{
    sonde_vector_fini(&t->rows);
    sonde_map_fini(&t->children);
    free(t->row_of);
}

/* Keep the nodes of the root's row and below it; whole[node]: the root's row itself. */
static int keep_root(struct sonde__rows_maker *v, bool *whole)
{
    struct tree t;
    uint32_t root = v->config->root < v->nodes ? v->config->root : 0;
    bool *below = NULL;
    int rc = tree_init(v, &t);
    if (!rc && root)
        rc = sonde__rows_entities(v, SONDE_BY_LINE);
    if (!rc && root)
        rc = draft_rows(v, &t, NULL);
    if (!rc && root && !(below = calloc(t.rows.count, sizeof *below)))
        rc = SONDE_ENOMEM;
    if (!rc && root) {
        uint32_t row = t.row_of[root];
        for (size_t i = 0; i < t.rows.count; i++)
            below[i] = i == row || (i && below[t.rows.items[i].parent]);
        for (size_t i = 0; i < v->nodes; i++) {
            whole[i] = t.row_of[i] == row;
            if (!below[t.row_of[i]])
                v->state[i] &= (uint8_t)~SONDE__INSIDE;
        }
    }
    whole[0] = true;
    free(below);
    tree_fini(&t);
    return rc;
}

/* Frames whose figures count for another routine are none themselves: no rows, at whatever level of detail. */
static void fold(struct sonde__rows_maker *v)
{
    for (uint32_t i = 1; i < v->nodes; i++) {
        const uint32_t to = v->state[i] & SONDE__INSIDE ? sonde_profile_routine(v->profile, i) : i;
        if (to == i || !(v->state[to] & SONDE__INSIDE))
            continue;
        if (v->state[i] == SONDE__INSIDE)
            v->state[to] = SONDE__INSIDE;
        sonde__sums_add(&v->self[to], &v->self[i]);
        v->owner[i] = to;
        v->self[i] = (struct sonde__sums){0};
        v->state[i] = SONDE__INSIDE | SONDE__HIDDEN;
    }
}

static void add_up(struct sonde__rows_maker *v)
{
    const struct sonde_cct_node *nodes = v->profile->nodes.items;
    for (size_t i = v->nodes; i-- > 0;) {
        uint32_t parent = nodes[i].parent;
        if (!(v->state[i] & SONDE__INSIDE)) {
            v->self[i] = (struct sonde__sums){0};
            continue;
        }
        sonde__sums_add(&v->total[i], &v->self[i]);
        if (i && v->state[parent] & SONDE__INSIDE)
            sonde__sums_add(&v->total[parent], &v->total[i]);
    }
    for (uint32_t i = 1; i < v->nodes; i++) {
        uint32_t parent = nodes[i].parent;
        bool shown = parent && v->state[parent] == SONDE__INSIDE;
        v->up[i] = shown ? parent : (v->state[parent] & SONDE__INSIDE ? v->up[parent] : 0);
    }
}

/* ---- top-down ------------------------------------------------------------------------- */

/* An open level of the walk: a tree can be thousands deep. */
struct level {
    struct sonde__candidate *list;
    size_t count, at;
    uint32_t row;
};
typedef SONDE_VECTOR(struct level) levels;

static int open_level(struct sonde__rows_maker *v, const struct tree *t, levels *stack, uint32_t draft, uint32_t row)
{
    SONDE_VECTOR(struct sonde__candidate) list = {0};
    int rc = 0;
    for (uint32_t at = t->rows.items[draft].first; at && !rc; at = t->rows.items[at].next)
        rc = sonde_vector_push(&list, sonde__rows_weigh(v, &t->rows.items[at].inclusive, &t->rows.items[at].exclusive, at));
    struct level level = {.list = list.items, .row = row};
    if (!rc) {
        level.count = sonde__rows_rank(v, list.items, list.count);
        rc = sonde_vector_push(stack, level);
    }
    if (rc)
        free(list.items);
    return rc;
}

static int walk(struct sonde__rows_maker *v, struct tree *t)
{
    levels stack = {0};
    int rc = open_level(v, t, &stack, 0, 0);
    while (stack.count) {
        struct level *top = &stack.items[stack.count - 1];
        if (rc || top->at == top->count) {
            free(top->list);
            stack.count--;
            continue;
        }
        const uint32_t draft = top->list[top->at++].id;
        struct draft *d = &t->rows.items[draft];
        struct sonde__entity entity = v->entities.items[d->entity];
        entity.node = d->node;
        if (v->fold && v->config->by == SONDE_BY_LINE && is_nameless(entity.frame.kind, entity.frame.name, entity.frame.file))
            entity.frame.offset = d->offset;
        rc = sonde__rows_emit(v, top->row, (uint32_t)stack.count, &entity, &d->inclusive, &d->exclusive, &d->row);
        if (!rc && (!v->config->depth || stack.count < v->config->depth))
            rc = open_level(v, t, &stack, draft, d->row);
    }
    sonde_vector_fini(&stack);
    return rc;
}

static int keep_rows(struct sonde__rows_maker *v, const struct tree *t)
{
    uint32_t *row_of = v->view->row_of = malloc(v->nodes * sizeof *row_of);
    for (size_t i = 0; i < v->nodes && row_of; i++) {
        const uint32_t owner = v->owner[i], draft = t->row_of[owner];
        row_of[i] = v->state[owner] & SONDE__INSIDE && (!draft || t->rows.items[draft].row) ? t->rows.items[draft].row : SONDE_NO_ROW;
    }
    return row_of ? 0 : SONDE_ENOMEM;
}

static struct sonde__sums *draft_sums(void *rows, size_t row, bool inclusive)
{
    struct draft *d = (struct draft *)rows + row;
    return inclusive ? &d->inclusive : &d->exclusive;
}

static int top_down(struct sonde__rows_maker *v, const bool *whole)
{
    struct tree t;
    int rc = tree_init(v, &t);
    if (!rc)
        rc = draft_rows(v, &t, whole);
    for (uint32_t i = 0; i < v->nodes && !rc; i++)
        sonde__sums_add(&t.rows.items[t.row_of[i]].exclusive, &v->self[i]);
    for (size_t i = t.rows.count; i-- > 0 && !rc;) {
        struct draft *d = &t.rows.items[i];
        sonde__sums_add(&d->inclusive, &d->exclusive);
        if (i)
            sonde__sums_add(&t.rows.items[d->parent].inclusive, &d->inclusive);
    }
    for (int inclusive = 0; inclusive < 2 && !rc; inclusive++)
        rc = sonde__rows_errors(v, t.row_of, inclusive, t.rows.count, draft_sums, t.rows.items);
    if (!rc)
        rc = walk(v, &t);
    rc = rc ? rc : keep_rows(v, &t);
    tree_fini(&t);
    return rc;
}

/* ---- building --------------------------------------------------------------------------- */

static struct sonde__sums *whole_sums(void *rows, size_t row, bool inclusive)
{
    struct sonde__sums **of = rows;
    (void)row;
    return of[!inclusive];
}

static int whole_errors(const struct sonde__rows_maker *v, const bool *whole, struct sonde__sums *inclusive, struct sonde__sums *exclusive)
{
    struct sonde__sums *of[] = {inclusive, exclusive};
    uint32_t *group = calloc(v->nodes, sizeof *group); /* all of one */
    int rc = group ? sonde__rows_errors(v, group, true, 1, whole_sums, of) : SONDE_ENOMEM;
    for (size_t i = 0; i < v->nodes && !rc; i++)
        group[i] = whole[i] ? 0 : UINT32_MAX;
    rc = rc ? rc : sonde__rows_errors(v, group, false, 1, whole_sums, of);
    free(group);
    return rc;
}

/* Row 0: the whole, with what is exclusive to the root's own frame. */
static int emit_whole(struct sonde__rows_maker *v, const bool *whole)
{
    const uint32_t root = v->config->root < v->nodes ? v->config->root : 0;
    struct sonde_profile_frame frame = frame_of(&v->profile->nodes.items[root], SONDE_BY_LINE);
    struct sonde__sums inclusive = {0}, exclusive = {0};
    uint32_t row;
    for (size_t i = 0; i < v->nodes; i++) {
        sonde__sums_add(&inclusive, &v->self[i]);
        if (whole[i])
            sonde__sums_add(&exclusive, &v->self[i]);
    }
    int rc = whole_errors(v, whole, &inclusive, &exclusive);
    return rc ? rc : sonde__rows_emit(v, 0, 0, &(struct sonde__entity){frame, root}, &inclusive, &exclusive, &row);
}

static int allocate(struct sonde__rows_maker *v)
{
    v->self = calloc(v->nodes, sizeof *v->self);
    v->total = calloc(v->nodes, sizeof *v->total);
    v->state = calloc(v->nodes, sizeof *v->state);
    v->up = calloc(v->nodes, sizeof *v->up);
    v->entity = calloc(v->nodes, sizeof *v->entity);
    v->owner = calloc(v->nodes, sizeof *v->owner);
    for (uint32_t i = 0; i < v->nodes && v->owner; i++)
        v->owner[i] = i;
    v->view = calloc(1, sizeof *v->view);
    if (v->view)
        *v->view = (struct sonde_profile_rows){
            .columns = v->config->columns,
            .shape = v->config->shape,
            .by = v->config->by,
            .sort = v->config->sort,
            .share = v->config->share,
            .sort_side = v->config->sort_side,
        };
    return v->self && v->total && v->state && v->up && v->entity && v->owner && v->view ? 0 : SONDE_ENOMEM;
}

/* All but the view. */
static void maker_fini(struct sonde__rows_maker *v)
{
    free(v->self);
    free(v->total);
    free(v->state);
    free(v->up);
    free(v->entity);
    free(v->owner);
    sonde_vector_fini(&v->entities);
    sonde_map_fini(&v->by_key);
}

static int fill(struct sonde__rows_maker *v, struct sonde_diag *diag)
{
    bool *whole = calloc(v->nodes, sizeof *whole);
    int rc = whole ? allocate(v) : SONDE_ENOMEM;
    if (!rc) {
        read_figures(v);
        rc = keep_root(v, whole);
    }
    if (!rc) {
        if (v->config->by == SONDE_BY_FUNCTION)
            fold(v);
        add_up(v);
        rc = emit_whole(v, whole);
    }
    v->fold = v->config->fold_nameless; /* not before: a root is one frame */
    if (!rc)
        rc = sonde__rows_entities(v, v->config->by);
    if (!rc && v->config->by == SONDE_BY_OBJECT)
        rc = sonde__rows_objects(v, diag);
    else if (!rc)
        rc = v->config->shape == SONDE_PROFILE_FLAT        ? sonde__rows_flat(v)
             : v->config->shape == SONDE_PROFILE_BOTTOM_UP ? sonde__rows_bottom_up(v)
                                                           : top_down(v, whole);
    free(whole);
    return rc;
}

int sonde_profile_rows_build(const struct sonde_profile *profile, const struct sonde_profile_rows_config *config,
                             struct sonde_profile_rows **out, struct sonde_diag *diag)
{
    struct sonde__rows_maker v = {.profile = profile, .config = config, .nodes = profile->nodes.count};
    if (config->shape != SONDE_PROFILE_FLAT && (config->by == SONDE_BY_KERNEL || config->by == SONDE_BY_OBJECT))
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "kernels and data objects have no callees: there is no tree of them");
    if (diag)
        diag->code = 0;
    int rc = fill(&v, diag);
    maker_fini(&v);
    if (rc) {
        sonde_profile_rows_destroy(v.view);
        return diag && diag->code ? rc : sonde_diag_set(diag, rc, NULL, "cannot compute the profile");
    }
    *out = v.view;
    return 0;
}

void sonde_profile_rows_destroy(struct sonde_profile_rows *view)
{
    if (!view)
        return;
    sonde_vector_fini(&view->rows);
    free(view->row_of);
    free(view->values);
    free(view);
}

/* ---- a context by its name ---------------------------------------------------------------- */

static bool means(const struct sonde_cct_node *n, const char *text)
{
    size_t length = strlen(text);
    const char *colon = strrchr(text, ':');
    if (n->kind == SONDE_FRAME_LINK) /* bears the name of another place */
        return false;
    if (*n->name && strncmp(n->name, text, length) == 0 && (!n->name[length] || n->name[length] == '('))
        return true;
    if (!colon || !*n->file || !n->line || strtoul(colon + 1, NULL, 10) != n->line)
        return false;
    size_t file = (size_t)(colon - text);
    const char *base = sonde_path_base(n->file), *whole = n->file;
    return (strlen(base) == file && !strncmp(base, text, file)) || (strlen(whole) == file && !strncmp(whole, text, file));
}

static int find_rows(struct sonde__rows_maker *v, const char *text, uint32_t **out, size_t *count)
{
    SONDE_VECTOR(uint32_t) found = {0};
    struct tree t = {0};
    bool *below = NULL;
    int rc = allocate(v);
    if (!rc) {
        read_figures(v);
        rc = sonde__rows_entities(v, SONDE_BY_LINE);
    }
    if (!rc)
        rc = tree_init(v, &t);
    if (!rc)
        rc = draft_rows(v, &t, NULL);
    if (!rc && !(below = calloc(v->nodes, sizeof *below)))
        rc = SONDE_ENOMEM;
    /* below[row]: it or one above it is found already. Nodes come after their parents, and so do rows. */
    for (uint32_t i = 1; i < v->nodes && !rc; i++) {
        uint32_t row = t.row_of[i];
        if (v->state[i] & SONDE__HIDDEN || below[row])
            continue;
        below[row] = below[t.rows.items[row].parent];
        if (!below[row] && means(&v->profile->nodes.items[i], text)) {
            below[row] = true;
            rc = sonde_vector_push(&found, i);
        }
    }
    free(below);
    tree_fini(&t);
    *out = found.items;
    *count = found.count;
    return rc;
}

long sonde_profile_rows_find(const struct sonde_profile *profile, const struct sonde_profile_rows_config *config, const char *text,
                             uint32_t **out)
{
    struct sonde__rows_maker v = {.profile = profile, .config = config, .nodes = profile->nodes.count};
    size_t count = 0;
    char *end;
    const unsigned long node = strtoul(*text == '#' ? text + 1 : text, &end, 10);
    *out = NULL;
    if (*text && !*end && end > text + (*text == '#')) {
        if (node >= profile->nodes.count)
            return 0;
        *out = malloc(sizeof **out);
        if (!*out)
            return SONDE_ENOMEM;
        **out = (uint32_t)node;
        return 1;
    }
    int rc = find_rows(&v, text, out, &count);
    maker_fini(&v);
    sonde_profile_rows_destroy(v.view);
    if (rc) {
        free(*out);
        *out = NULL;
        return rc;
    }
    return (long)count;
}

/* ranks_contexts.c - see ranks_contexts.h. docs/ranks.md, "Each calling context", says what the numbers are. */
#include "ranks_contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/job/contexts.h"
#include "figures.h"
#include "labels.h"
#include "names.h"

/* ---- columns ------------------------------------------------------------------------------------------ */

static const struct sonde_view_column path_columns[] = {
    {"row", NULL, SONDE_CELL_ID, 0, 0, "number of the row"},
    {"parent", NULL, SONDE_CELL_ID, 0, 0, "number of the row of its caller; null for the whole"},
    {"depth", NULL, SONDE_CELL_ID, 0, 0, "levels below the whole"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "node of the view profile"},
    {"label", NULL, SONDE_CELL_TEXT, 0, 0, "label on the terminal"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "native, python, api, operation, unknown, cut, link, range; none: the whole"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function, API call, kernel or range; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"inclusive", NULL, SONDE_CELL_LIST, 0, 0, "of this frame and its callees, over all ranks", .of = &sonde__rank_figures},
    {"exclusive", NULL, SONDE_CELL_LIST, 0, 0, "of this frame alone, over all ranks", .of = &sonde__rank_figures},
};
const struct sonde_view_columns sonde__rank_paths = SONDE_VIEW_COLUMNS("paths", path_columns);

/* The kind of figures follows from the metric. */
static const struct sonde_view_column text_columns[] = {
    {NULL, "least", SONDE_CELL_TIME, 0, 0, "with --metric: least of all ranks, inclusive; a rank without it counts as 0"},
    {NULL, "mean", SONDE_CELL_TIME, 0, 0, "mean of all ranks"},
    {NULL, "most", SONDE_CELL_TIME, 0, 0, "most of all ranks"},
    {NULL, "rank", SONDE_CELL_ID, 0, 0, "rank that has it"},
    {NULL, "imbalance", SONDE_CELL_SHARE, 0, 1, "most / mean - 1"},
    {NULL, "most − mean", SONDE_CELL_TIME, 0, 0, "what all ranks would win if this were even, at most; those of one caller come with the largest first"},
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "call path, callees below"},
};
const struct sonde_view_columns sonde__rank_path = SONDE_VIEW_COLUMNS_OF("path", "by call path", text_columns);

/* ---- figures ------------------------------------------------------------------------------------------ */

struct paths {
    const struct sonde_query *q;
    const struct sonde_job *job;
    struct sonde_profile_rows *rows;
    struct of_metric {
        sonde_context_values values;
        double *sums; /* of those that the profile does not hold; else NULL */
        struct sonde_rank_contexts ranks;
    } of[SONDE_METRIC_COUNT];
};

static uint32_t metric_at(const struct paths *p, size_t i)
{
    return p->q->contexts.columns.shown.items[i];
}

static int read_metric(struct paths *p, uint32_t metric, struct sonde_diag *diag)
{
    struct of_metric *of = &p->of[metric];
    bool known;
    if (sonde_metric_table[metric].needs == SONDE_NEEDS_ESTIMATE)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "standard errors are none of ranks: --metric %s", sonde_metric_table[metric].name);
    int rc = sonde_figure_values(p->q, (enum sonde_metric_id)metric, &of->values, &known, diag);
    if (rc || !known || !sonde_figure_needs_trace(metric))
        return rc;
    of->sums = sonde_figure_sums(p->q->profile, &of->values);
    return of->sums ? 0 : sonde_diag_set(diag, SONDE_ENOMEM, p->q->path, "cannot compare the ranks of");
}

/* All rows: what is left out is decided by the ranks' figures. */
static int build_rows(struct paths *p, struct sonde_diag *diag)
{
    const struct sonde_query_contexts *asked = &p->q->contexts;
    struct sonde_profile_rows_config config = {
        .shape = SONDE_PROFILE_TOP_DOWN,
        .by = asked->by ? (enum sonde_profile_by)(asked->by - 1) : SONDE_BY_LINE,
        .columns = &asked->columns,
        .sort = metric_at(p, 0),
        .share = metric_at(p, 0),
        .all_frames = p->q->complete,
        .fold_nameless = !p->q->complete,
        .m = p->q->m,
    };
    for (int metric = 0; metric < SONDE_METRIC_COUNT; metric++)
        config.given[metric] = p->of[metric].sums;
    return sonde_profile_rows_build(p->q->profile, &config, &p->rows, diag);
}

static int compute(struct paths *p, struct sonde_diag *diag)
{
    const size_t count = p->q->contexts.columns.shown.count;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        rc = read_metric(p, metric_at(p, i), diag);
    rc = rc ? rc : build_rows(p, diag);
    for (size_t i = 0; i < count && !rc; i++) {
        struct of_metric *of = &p->of[metric_at(p, i)];
        rc = sonde_rank_contexts_compute(p->q->m, p->job, p->rows, &of->values, &of->ranks);
    }
    return rc == SONDE_ENOMEM ? sonde_diag_set(diag, rc, p->q->path, "cannot compare the ranks of") : rc;
}

static void paths_fini(struct paths *p)
{
    for (int metric = 0; metric < SONDE_METRIC_COUNT; metric++) {
        sonde_vector_fini(&p->of[metric].values);
        free(p->of[metric].sums);
        sonde_rank_contexts_fini(&p->of[metric].ranks);
    }
    sonde_profile_rows_destroy(p->rows);
}

static const struct sonde_rank_spread *spread_of(const struct paths *p, uint32_t metric, size_t row)
{
    return &p->of[metric].ranks.of[SONDE_INCLUSIVE][row];
}

static double lost(const struct sonde_rank_spread *s)
{
    return s->most - s->mean;
}

/* Some rank has enough of the metric; then its callers have, too. */
static bool is_shown(const struct paths *p, uint32_t metric, size_t row)
{
    const double most = spread_of(p, metric, row)->most, whole = spread_of(p, metric, 0)->most;
    const uint32_t depth = p->q->contexts.depth;
    return most > 0 && most * 100 >= whole * p->q->min_percent && (!depth || p->rows->rows.items[row].depth <= depth);
}

/* ---- for programs ------------------------------------------------------------------------------------- */

static void side_cell(struct sonde_view_table *t, const struct paths *p, size_t row, int side)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < p->q->contexts.columns.shown.count; i++) {
        const uint32_t metric = metric_at(p, i);
        const bool known = sonde_profile_rows_get(p->rows, row, metric, side).validity == SONDE_KNOWN;
        sonde__rank_figure_row(list, p->job, sonde_metric_table[metric].name, known, &p->of[metric].ranks.of[side][row]);
    }
}

static void number_row(struct sonde_view_table *t, const struct paths *p, size_t row, const uint32_t *number)
{
    const struct sonde_profile_row *at = &p->rows->rows.items[row];
    struct sonde_text label = {0};
    sonde_row_label(p->q, p->rows, row, &label);
    sonde_cell_int(t, true, number[row]);
    sonde_cell_int(t, row > 0, number[at->parent]);
    sonde_cell_int(t, true, at->depth);
    sonde_cell_int(t, true, at->node);
    sonde_cell_take(t, &label);
    sonde_cell_text(t, at->frame.kind ? sonde_name_frame_kind(at->frame.kind) : "none");
    sonde_cell_text(t, at->frame.name);
    sonde_cell_text(t, at->frame.file);
    sonde_cell_int(t, at->frame.line > 0, at->frame.line);
    sonde_cell_text(t, at->frame.module);
    side_cell(t, p, row, SONDE_INCLUSIVE);
    side_cell(t, p, row, SONDE_EXCLUSIVE);
}

/* The whole, and what some rank has something of. */
static int fill_numbers(struct sonde_view_table *list, const struct paths *p)
{
    const size_t count = p->rows->rows.count;
    uint32_t *number = calloc(count, sizeof *number), used = 0;
    for (size_t row = 0; row < count && number; row++) {
        bool any = !row;
        for (size_t i = 0; i < p->q->contexts.columns.shown.count; i++)
            any |= is_shown(p, metric_at(p, i), row);
        if (!any)
            continue;
        number[row] = used++;
        if (used <= sonde_query_rows(p->q, count))
            number_row(list, p, row, number);
        else
            list->left_out++;
    }
    free(number);
    return number ? 0 : SONDE_ENOMEM;
}

/* ---- for people ------------------------------------------------------------------------------------- */

struct place {
    uint32_t row;
    double lost;
};

static int least_first(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    return a->row > b->row ? -1 : a->row < b->row;
}

struct order {
    struct place *places;   /* rows that are shown */
    uint32_t *first, *next; /* [row]: callees, what is lost most first; 0 none */
    size_t count;
};

static int order_rows(const struct paths *p, uint32_t metric, struct order *out)
{
    const struct sonde_profile_row *rows = p->rows->rows.items;
    const size_t all = p->rows->rows.count;
    *out = (struct order){calloc(all, sizeof *out->places), calloc(all, sizeof *out->first), calloc(all, sizeof *out->next), 0};
    if (!out->places || !out->first || !out->next)
        return SONDE_ENOMEM;
    for (uint32_t row = 0; row < all; row++)
        if (is_shown(p, metric, row))
            out->places[out->count++] = (struct place){row, lost(spread_of(p, metric, row))};
    qsort(out->places, out->count, sizeof *out->places, least_first);
    for (size_t i = 0; i < out->count; i++) {
        const uint32_t row = out->places[i].row, parent = rows[row].parent;
        if (!row)
            continue;
        out->next[row] = out->first[parent];
        out->first[parent] = row;
    }
    return 0;
}

static void order_fini(struct order *order)
{
    free(order->places);
    free(order->first);
    free(order->next);
}

/* The row after this one, callers before their callees; 0: there is none. */
static uint32_t row_after(const struct paths *p, const struct order *order, uint32_t row)
{
    if (order->first[row])
        return order->first[row];
    while (row && !order->next[row])
        row = p->rows->rows.items[row].parent;
    return order->next[row];
}

static void text_row(struct sonde_view_table *t, const struct paths *p, uint32_t metric, uint32_t row, const char *label)
{
    const struct sonde_rank_spread *s = spread_of(p, metric, row);
    const uint32_t depth = p->rows->rows.items[row].depth;
    sonde_cell_real(t, true, s->least);
    sonde_cell_real(t, true, s->mean);
    sonde_cell_real(t, true, s->most);
    sonde_cell_int(t, true, p->job->ranks.items[s->most_rank].rank);
    sonde_cell_share(t, s->imbalance, 1);
    sonde_cell_real(t, true, lost(s));
    sonde_cell_tree(t, depth, label);
}

static struct sonde_view_table *text_table(uint32_t metric, struct sonde_view_data *out)
{
    static const enum sonde_cell_kind kinds[] = {
        [SONDE_UNIT_NONE] = SONDE_CELL_NUMBER,
        [SONDE_UNIT_COUNT] = SONDE_CELL_NUMBER,
        [SONDE_UNIT_NS] = SONDE_CELL_TIME,
        [SONDE_UNIT_BYTES] = SONDE_CELL_BYTES,
    };
    enum { TREE_READABLE = 44 };
    struct sonde_view_column items[sizeof text_columns / sizeof *text_columns];
    char subject[64];
    snprintf(subject, sizeof subject, "%s by call path", sonde_metric_table[metric].name);
    const struct sonde_view_columns like = {.name = sonde__rank_path.name, .subject = sonde_arena_copy(&out->arena, subject, strlen(subject))};
    memcpy(items, text_columns, sizeof items);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        items[i].kind = items[i].kind == SONDE_CELL_TIME ? kinds[sonde_metric_table[metric].unit] : items[i].kind;
    const struct sonde_view_columns *columns = sonde_view_columns_copy(out, &like, items, sizeof items / sizeof *items);
    struct sonde_view_table *t = columns && like.subject ? sonde_view_table(out, columns) : NULL;
    if (t)
        t->readable = TREE_READABLE;
    return t;
}

static int fill_text(const struct paths *p, uint32_t metric, char **labels, struct sonde_view_data *out)
{
    struct order order;
    struct sonde_view_table *t = text_table(metric, out);
    int rc = order_rows(p, metric, &order);
    rc = rc || t ? rc : SONDE_ENOMEM;
    const size_t shown = p->q->limit_given ? sonde_query_rows(p->q, order.count) : order.count;
    uint32_t row = 0;
    for (size_t i = 0; i < shown && !rc; i++, row = row_after(p, &order, row))
        text_row(t, p, metric, row, labels[row]);
    if (!rc && order.count) {
        t->left_out = order.count - shown;
        sonde_view_show(out, t, true);
    }
    order_fini(&order);
    return rc;
}

static int fill_texts(const struct paths *p, struct sonde_view_data *out)
{
    char **labels = sonde_row_labels(p->q, p->rows);
    int rc = labels ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < p->q->contexts.columns.shown.count && !rc; i++)
        rc = fill_text(p, metric_at(p, i), labels, out);
    if (labels)
        sonde_row_labels_free(labels, p->rows);
    if (!rc)
        sonde_figures_say_unknown(p->q, p->rows, out);
    return rc;
}

int sonde__rank_paths_fill(const struct sonde_query *q, const struct sonde_job *job, struct sonde_view_table *list, struct sonde_view_data *out,
                           struct sonde_diag *diag)
{
    struct paths p = {.q = q, .job = job};
    int rc = compute(&p, diag);
    if (!rc && (q->complete ? fill_numbers(list, &p) : fill_texts(&p, out)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compare the ranks of");
    paths_fini(&p);
    return rc;
}

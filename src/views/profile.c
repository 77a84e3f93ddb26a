/* profile.c - the view `profile`: calling contexts top-down, bottom-up or flat, with any columns.
 *
 * docs/profile.md says how each number is computed. People get texts, without frames of the runtime
 * (loader, C library, interpreter) that have no figures of their own; programs get numbers, of all.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "figures.h"
#include "labels.h"
#include "names.h"
#include "view.h"

/* ---- columns ------------------------------------------------------------------------------- */

#define UNIT_COUNT "count"
#define UNIT_NS    "ns"
#define UNIT_BYTES "bytes"
static const char *const units[] = {NULL, UNIT_COUNT, UNIT_NS, UNIT_BYTES}; /* [enum sonde_unit] */

/* Which of them there are, and what formulas over them, is said when the profile is asked for. */
static const struct sonde_view_column figure_columns[] = {
#define X(id, word, measure, needs, value, meaning) {word, word, SONDE_CELL_FIGURE, 0, 0, meaning, .unit = UNIT_##measure},
    SONDE_METRIC_MAP(X)
#undef X
};
static const struct sonde_view_columns figures = SONDE_VIEW_COLUMNS("figures", figure_columns);

static const struct sonde_view_column context_columns[] = {
    /* figures stand between the two, as text */
    {NULL, "share", SONDE_CELL_SHARE, 0, 1,
     "the sorting metric as % of the total; if a formula sorts, the first metric that is not 0"},
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0,
     "call path, callees below; bottom-up: routine, callers below; flat: routine"},
};
static const struct sonde_view_columns contexts = SONDE_VIEW_COLUMNS_OF("contexts", "call path", context_columns);

static const struct sonde_view_column chosen_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "name, as in inclusive and exclusive"},
    {"unit", NULL, SONDE_CELL_TEXT, 0, 0, "ns, count or bytes; null: a formula"},
    {"formula", NULL, SONDE_CELL_TEXT, 0, 0, "formula of a derived column"},
};
static const struct sonde_view_columns chosen = SONDE_VIEW_COLUMNS("columns", chosen_columns);

static const struct sonde_view_column sort_columns[] = {
    {"column", NULL, SONDE_CELL_TEXT, 0, 0, "name of the column"},
    {"side", NULL, SONDE_CELL_TEXT, 0, 0, "inclusive or exclusive"},
};
static const struct sonde_view_columns sort = SONDE_VIEW_COLUMNS("sort", sort_columns);

static const struct sonde_view_column row_columns[] = {
    {"row", NULL, SONDE_CELL_ID, 0, 0, "number of the row"},
    {"parent", NULL, SONDE_CELL_ID, 0, 0, "number of the parent row; null for the root"},
    {"depth", NULL, SONDE_CELL_ID, 0, 0, "levels below the root"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "number of the call path, as for --root; for a data object, of its allocation"},
    {"label", NULL, SONDE_CELL_TEXT, 0, 0, "label on the terminal"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "native, python, api, operation, unknown, cut, link, range, object; none: no routine"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function, API call, kernel or range; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"code", NULL, SONDE_CELL_TEXT, 0, 0, "whose it is: user, library or runtime; null: it is no code"},
    {"operation", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation; absent if not an operation"},
    {"object", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object; absent if not a data object"},
    {"inclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "of this frame and its callees", .of = &figures},
    {"exclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "of this frame alone", .of = &figures},
};
static const struct sonde_view_columns rows = SONDE_VIEW_COLUMNS("rows", row_columns);

static const struct sonde_view_column columns[] = {
    {"shape", NULL, SONDE_CELL_TEXT, 0, 0, "top-down, bottom-up or flat"},
    {"by", NULL, SONDE_CELL_TEXT, 0, 0, "how frames are grouped: line, function, module, kernel, object"},
    {"columns", NULL, SONDE_CELL_LIST, 0, 0, "metrics and formulas", .of = &chosen},
    {"sort", NULL, SONDE_CELL_OBJECT, 0, 0, "the column that sorts, largest first", .of = &sort},
    {"left_out", NULL, SONDE_CELL_COUNT, 0, 0, "rows left out by --min-percent or --limit, not counting their children"},
    {"rows", NULL, SONDE_CELL_LIST, 0, 0, "rows; the first is the root, and parents precede their children", .of = &rows},
};
static const struct sonde_view_columns whole = SONDE_VIEW_COLUMNS("profile", columns);

/* ---- what to show ----------------------------------------------------------------------------- */

struct wanted {
    struct sonde_profile_rows_config config;
    struct sonde_columns columns; /* a copy of the list; derived ones are the query's */
    double *given[SONDE_METRIC_COUNT]; /* [tree node], exclusive; NULL: not asked for, there is none, or it is the profile's */
    struct sonde_estimate cpu_estimate, blame_estimate;
};

static double all_of(const struct sonde_query *q, enum sonde_metric_id metric)
{
    return sonde_metric_table[metric].value(&q->profile->nodes.items[0].total);
}

/* The first thing there is any of. */
static enum sonde_metric_id main_metric(const struct sonde_query *q)
{
    static const enum sonde_metric_id order[] = {SONDE_METRIC_GPU, SONDE_METRIC_OPS, SONDE_METRIC_CPU, SONDE_METRIC_API};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (all_of(q, order[i]) > 0)
            return order[i];
    return SONDE_METRIC_GPU;
}

static int push_unless_there(struct sonde_columns *c, uint32_t column)
{
    for (size_t i = 0; i < c->shown.count; i++)
        if (c->shown.items[i] == column)
            return 0;
    return sonde_vector_push(&c->shown, column);
}

/* Shown, sorted by, or in a formula. */
static bool is_named(const struct sonde_query_contexts *asked, enum sonde_metric_id metric)
{
    const struct sonde_columns *c = &asked->columns;
    bool named = asked->sort == 1 + (int)metric;
    for (size_t i = 0; i < c->shown.count; i++)
        named |= c->shown.items[i] == (uint32_t)metric;
    for (size_t i = 0; i < c->derived.count; i++)
        named |= strstr(c->derived.items[i].text, sonde_metric_table[metric].name) != NULL;
    return named;
}

static int add_traced(const struct sonde_query *q, struct wanted *w, enum sonde_metric_id metric, struct sonde_diag *diag)
{
    sonde_context_values values = {0};
    bool known;
    int rc = sonde_figure_values(q, metric, &values, &known, diag);
    if (!rc && known)
        w->config.given[metric] = w->given[metric] = sonde_figure_sums(q->profile, &values);
    if (!rc && known && !w->given[metric])
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compute the profile of");
    sonde_vector_fini(&values);
    return rc;
}

/* With its standard errors. */
static int add_blame(const struct sonde_query *q, struct wanted *w, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    int rc = sonde_query_blame(q, NULL, &blame, diag);
    if (!rc && blame.scopes.count) {
        const struct sonde_blame_scope *all = &blame.scopes.items[0];
        double *given = w->given[SONDE_METRIC_BLAME] = calloc(q->profile->nodes.count, sizeof *given);
        rc = given ? 0 : SONDE_ENOMEM;
        for (size_t i = 0; i < all->entries.count && !rc; i++)
            given[all->entries.items[i].node] = all->entries.items[i].waiting_ns + all->entries.items[i].working_ns;
        w->config.given[SONDE_METRIC_BLAME] = given;
        w->config.blame_estimate = &w->blame_estimate;
        rc = rc ? rc : sonde_estimate_join(&w->blame_estimate, &all->estimate);
    }
    sonde_blame_fini(&blame);
    return rc == SONDE_ENOMEM ? sonde_diag_set(diag, rc, q->path, "cannot read the trace of") : rc;
}

/* The column with the standard error of this one; -1: it has none. */
static int error_of(uint32_t column)
{
    return column == SONDE_METRIC_CPU ? SONDE_METRIC_CPU_ERROR : (column == SONDE_METRIC_BLAME ? SONDE_METRIC_BLAME_ERROR : -1);
}

/* Columns in order: those that were named, else a few (people) or all (programs), then the derived ones. */
static int choose_columns(const struct sonde_query *q, struct sonde_columns *c)
{
    static const uint32_t few[] = {SONDE_METRIC_GPU, SONDE_METRIC_CPU, SONDE_METRIC_API, SONDE_METRIC_OPS};
    const struct sonde_columns *asked = &q->contexts.columns;
    int rc = 0;
    c->derived.items = asked->derived.items;
    c->derived.count = asked->derived.count;
    for (uint32_t i = 0; !q->contexts.named && i < (q->complete ? SONDE_METRIC_COUNT : 4u) && !rc; i++) {
        uint32_t column = q->complete ? i : few[i];
        if (q->complete ? !sonde_figure_needs_trace(column) : column != SONDE_METRIC_CPU || q->profile->sampled)
            rc = push_unless_there(c, column);
    }
    for (size_t i = 0; i < asked->shown.count && !rc; i++)
        rc = push_unless_there(c, asked->shown.items[i]);
    for (size_t i = 0; q->complete && i < c->shown.count && !rc; i++) /* for people they stand beside their figure */
        if (error_of(c->shown.items[i]) >= 0)
            rc = push_unless_there(c, (uint32_t)error_of(c->shown.items[i]));
    return rc;
}

static int want(const struct sonde_query *q, struct wanted *w)
{
    const struct sonde_query_contexts *asked = &q->contexts;
    struct sonde_profile_rows_config *c = &w->config;
    *w = (struct wanted){.config = {.columns = &w->columns, .m = q->m}};
    c->shape = asked->shape ? (enum sonde_profile_shape)(asked->shape - 1)
               : asked->by  ? SONDE_PROFILE_FLAT
                            : SONDE_PROFILE_TOP_DOWN;
    c->by = asked->by                            ? (enum sonde_profile_by)(asked->by - 1)
            : c->shape == SONDE_PROFILE_TOP_DOWN ? SONDE_BY_LINE
                                                 : SONDE_BY_FUNCTION;
    c->sort = asked->sort ? (uint32_t)asked->sort - 1 : (asked->named ? asked->columns.shown.items[0] : main_metric(q));
    c->sort_side = asked->sort_side                      ? asked->sort_side - 1
                   : c->shape == SONDE_PROFILE_BOTTOM_UP ? SONDE_EXCLUSIVE
                                                         : SONDE_INCLUSIVE;
    c->share = c->sort < SONDE_METRIC_COUNT ? c->sort : main_metric(q);
    c->depth = asked->depth;
    /* Each of thousands of contexts has its own chain of callers: by default programs get no crumbs either. */
    const bool crumbs = q->min_percent_given || !q->complete || c->shape != SONDE_PROFILE_BOTTOM_UP;
    c->min_percent = crumbs ? q->min_percent : 0.1;
    c->all_frames = q->complete;
    c->fold_nameless = !q->complete && asked->by != 1 + SONDE_BY_LINE; /* who asks for lines gets every offset */
    return choose_columns(q, &w->columns);
}

static void unwant(struct wanted *w)
{
    sonde_vector_fini(&w->columns.shown);
    sonde_estimate_fini(&w->blame_estimate);
    sonde_estimate_fini(&w->cpu_estimate);
    for (int metric = 0; metric < SONDE_METRIC_COUNT; metric++)
        free(w->given[metric]);
}

/* ---- the root ----------------------------------------------------------------------------------- */

static void say_candidates(const struct sonde_query *q, const uint32_t *nodes, long count, struct sonde_view_data *out)
{
    enum { MOST = 20 };
    const enum sonde_metric_id metric = main_metric(q);
    for (long i = 0; i < count && i < MOST; i++) {
        const struct sonde_cct_node *node = &q->profile->nodes.items[nodes[i]];
        struct sonde_text label = {0};
        char share[SONDE_NUMBER_MAX];
        sonde_name_frame(q, &label, node);
        if (node->parent && sonde_profile_callers(q->profile, node->parent, &(uint32_t){0}, 1)) {
            sonde_text_add(&label, " ← ");
            sonde_name_callers(q, &label, node->parent, 2);
        }
        sonde_view_say(out, false, "  #%-6u %7s  %s", nodes[i],
                       sonde_number_percent(share, sonde_metric_table[metric].value(&node->total), all_of(q, metric)),
                       sonde_text_get(&label))
            ->tone = SONDE_TONE_ERROR;
        sonde_text_fini(&label);
    }
    if (count > MOST)
        sonde_view_say(out, false, "  and %ld more", count - MOST)->tone = SONDE_TONE_ERROR;
}

static int find_root(const struct sonde_query *q, struct sonde_profile_rows_config *config, struct sonde_view_data *out,
                     struct sonde_diag *diag)
{
    const char *text = q->contexts.root;
    uint32_t *nodes = NULL;
    long count = text ? sonde_profile_rows_find(q->profile, config, text, &nodes) : 0;
    int rc = 0;
    if (count < 0)
        rc = sonde_diag_set(diag, (int)count, q->path, "cannot look for the root in");
    else if (text && count == 0) {
        rc = sonde_diag_set(diag, SONDE_ENOTFOUND, text, "no call path matches");
        snprintf(diag->why, sizeof diag->why, "--root takes a function, a place such as heat.c:81, or a number shown by --ids");
    } else if (count > 1) {
        say_candidates(q, nodes, count, out);
        rc = sonde_diag_set(diag, SONDE_EINVALID, text, "%ld call paths match", count);
        snprintf(diag->why, sizeof diag->why, "choose one by its number, such as --root %u", nodes[0]);
    } else if (count == 1) {
        config->root = nodes[0];
    }
    free(nodes);
    return rc;
}

static int build(const struct sonde_query *q, struct wanted *w, struct sonde_profile_rows **view, struct sonde_view_data *out,
                 struct sonde_diag *diag)
{
    const struct sonde_query_contexts *asked = &q->contexts;
    if (want(q, w))
        return sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compute the profile of");
    w->config.cpu_estimate = q->profile->sampled ? &w->cpu_estimate : NULL;
    if (q->profile->sampled && sonde_estimate_cpu(q->m, q->profile, &w->cpu_estimate))
        return sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compute the profile of");
    int rc = is_named(asked, SONDE_METRIC_BLAME) || is_named(asked, SONDE_METRIC_BLAME_ERROR) ? add_blame(q, w, diag) : 0;
    if (!rc && is_named(asked, SONDE_METRIC_SYNC))
        rc = add_traced(q, w, SONDE_METRIC_SYNC, diag);
    if (!rc && is_named(asked, SONDE_METRIC_PEERS))
        rc = add_traced(q, w, SONDE_METRIC_PEERS, diag);
    if (!rc)
        rc = find_root(q, &w->config, out, diag);
    return rc ? rc : sonde_profile_rows_build(q->profile, &w->config, view, diag);
}

/* Rows of a tree are all shown unless a number was asked for: --min-percent keeps them few. */
static size_t shown_rows(const struct sonde_query *q, const struct sonde_profile_rows *view)
{
    const size_t all = view->rows.count - 1;
    return view->shape == SONDE_PROFILE_FLAT || q->limit_given ? sonde_query_rows(q, all) : all;
}

/* ---- for people ------------------------------------------------------------------------------------ */

static void value_cell(struct sonde_view_table *t, struct sonde_value v, enum sonde_unit unit)
{
    char number[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 1] = "-";
    if (v.validity != SONDE_KNOWN || v.value == 0) {
        sonde_cell_text(t, v.validity == SONDE_ERROR ? "error" : (v.validity == SONDE_KNOWN ? "0" : NULL));
        return;
    }
    if (unit == SONDE_UNIT_NONE && fabs(v.value) >= 1e15)
        snprintf(number, sizeof number, "%.3g", fabs(v.value));
    else if (unit == SONDE_UNIT_NS)
        sonde_number_time(number, fabs(v.value));
    else if (unit == SONDE_UNIT_BYTES)
        sonde_number_bytes(number, fabs(v.value));
    else if (unit == SONDE_UNIT_COUNT)
        sonde_number_count(number, (uint64_t)fabs(v.value));
    else
        sonde_number_plain(number, fabs(v.value));
    snprintf(text + 1, sizeof text - 1, "%s", number);
    sonde_cell_text(t, v.value < 0 ? text : text + 1);
}

/* A time with its standard error in percent of it, which is shorter: there are many columns. */
static void figure_text_cell(struct sonde_view_table *t, const struct sonde_profile_rows *view, size_t row, uint32_t column,
                             int side)
{
    const struct sonde_value figure = sonde_profile_rows_get(view, row, column, side);
    const struct sonde_value error = error_of(column) < 0 ? (struct sonde_value){0}
                                                          : sonde_profile_rows_get(view, row, (uint32_t)error_of(column), side);
    char time[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 16];
    const double percent = error.validity == SONDE_KNOWN && figure.value > 0 ? 100 * error.value / figure.value : 0;
    if (figure.validity != SONDE_KNOWN || percent < .5) {
        value_cell(t, figure, sonde_columns_unit(view->columns, column));
        return;
    }
    snprintf(text, sizeof text, "%s ±%.0f %%", sonde_number_time(time, figure.value), percent < 999 ? percent : 999);
    sonde_cell_text(t, text);
}

enum {
    MOST_COLUMNS = 2 * (SONDE_METRIC_COUNT + SONDE_DERIVED_MAX) + 2,
    FLAT_READABLE = 28,
    TREE_READABLE = 44,
};

/* By kernel and by object inclusive and exclusive are the same. */
static int sides(const struct sonde_profile_rows *view)
{
    return view->by >= SONDE_BY_KERNEL ? 1 : SONDE_PROFILE_SIDES;
}

/* Of columns that nobody asked for, exclusive sides that say little are left out. */
static bool shows(const struct sonde_query *q, const struct sonde_profile_rows *view, uint32_t column, int side)
{
    const bool plain = !q->contexts.named && (column == SONDE_METRIC_API || column == SONDE_METRIC_OPS);
    return side == SONDE_INCLUSIVE || !plain || (view->sort == column && view->sort_side == side);
}

static struct sonde_view_column figure_column(const struct sonde_profile_rows *view, size_t at, int side,
                                              struct sonde_view_data *out)
{
    const uint32_t column = view->columns->shown.items[at];
    const bool sorted = view->sort == column && view->sort_side == side; /* what rows are sorted by always stays */
    char title[64];
    snprintf(title, sizeof title, "%s%s", sonde_columns_name(view->columns, column), side ? ":excl" : "");
    return (struct sonde_view_column){
        .title = sonde_arena_copy(&out->arena, title, strlen(title)),
        .kind = SONDE_CELL_TEXT,
        .style = SONDE_STYLE_RIGHT,
        .spare = sorted ? 0 : 2 + 2 * (int)at + 3 * side,
    };
}

static const struct sonde_view_columns *text_columns(const struct sonde_query *q, const struct sonde_profile_rows *view,
                                                     struct sonde_view_data *out)
{
    static const char *const subjects[] = {"call path", "routine, its callers below", "routine"};
    const struct sonde_view_columns like = {.name = contexts.name, .subject = subjects[view->shape]};
    struct sonde_view_column items[MOST_COLUMNS] = {context_columns[0]};
    size_t count = 1;
    for (size_t i = 0; i < view->columns->shown.count; i++)
        for (int side = 0; side < sides(view); side++)
            if (shows(q, view, view->columns->shown.items[i], side)) {
                items[count] = figure_column(view, i, side, out);
                if (!items[count++].title)
                    return NULL;
            }
    items[count++] = context_columns[1];
    return sonde_view_columns_copy(out, &like, items, count);
}

static void text_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_profile_rows *view, size_t row,
                     const char *name)
{
    const struct sonde_columns *c = view->columns;
    const struct sonde_profile_row *at = &view->rows.items[row];
    const struct sonde_value part = sonde_profile_rows_get(view, row, view->share, row ? view->sort_side : SONDE_INCLUSIVE);
    const struct sonde_value all = sonde_profile_rows_get(view, 0, view->share, SONDE_INCLUSIVE);
    const bool rooted = view->rows.items[0].frame.kind != 0;
    struct sonde_text label = {0};
    if (q->contexts.ids)
        sonde_text_format(&label, "#%u ", at->node);
    sonde_text_add(&label, name);
    if (part.validity == SONDE_KNOWN && all.validity == SONDE_KNOWN && part.value >= 0)
        sonde_cell_share(t, part.value, all.value);
    else
        sonde_cell_unknown(t);
    for (size_t i = 0; i < c->shown.count; i++)
        for (int side = 0; side < sides(view); side++)
            if (shows(q, view, c->shown.items[i], side))
                figure_text_cell(t, view, row, c->shown.items[i], side);
    sonde_cell_tree(t, row ? at->depth - !rooted : 0, sonde_text_get(&label));
    sonde_text_fini(&label);
}

static int fill_text(const struct sonde_query *q, const struct sonde_profile_rows *view, struct sonde_view_data *out)
{
    const struct sonde_view_columns *shown_columns = text_columns(q, view, out);
    const size_t shown = shown_rows(q, view);
    char number[SONDE_NUMBER_MAX];
    char **labels = shown_columns ? sonde_row_labels(q, view) : NULL;
    if (!labels)
        return SONDE_ENOMEM;
    struct sonde_view_table *t = sonde_view_table(out, shown_columns), *rest = sonde_view_table(out, &rows);
    t->readable = view->shape == SONDE_PROFILE_FLAT ? FLAT_READABLE : TREE_READABLE;
    for (size_t i = 0; i <= shown; i++)
        text_row(t, q, view, i, labels[i]);
    sonde_row_labels_free(labels, view);
    sonde_view_show(out, t, false);
    if (view->cut)
        sonde_view_say(out, false, "… %s below %.3g %% left out: --min-percent 0 shows all",
                       sonde_number_count(number, view->cut), q->min_percent);
    rest->left_out = view->rows.count - 1 - shown; /* says that only: its columns are not for people */
    rest->left_out_view = "profile";
    sonde_view_show(out, rest, false);
    sonde_figures_say_unknown(q, view, out);
    if (view->by == SONDE_BY_OBJECT && !q->totals.traced)
        sonde_view_say(out, false, "recorded with --profile: the data objects used by operations are unknown");
    return 0;
}

/* ---- for programs ------------------------------------------------------------------------------------ */

static const struct sonde_view_columns *number_columns(const struct sonde_profile_rows *view, struct sonde_view_data *out)
{
    const struct sonde_columns *c = view->columns;
    struct sonde_view_column items[SONDE_METRIC_COUNT + SONDE_DERIVED_MAX];
    for (size_t i = 0; i < c->shown.count; i++)
        items[i] = (struct sonde_view_column){
            .name = sonde_columns_name(c, c->shown.items[i]),
            .kind = SONDE_CELL_FIGURE,
            .unit = units[sonde_columns_unit(c, c->shown.items[i])],
        };
    return sonde_view_columns_copy(out, &figures, items, c->shown.count);
}

static void side_cell(struct sonde_view_table *t, const struct sonde_view_columns *of, const struct sonde_profile_rows *view,
                      size_t row, int side)
{
    struct sonde_view_table *object = sonde_cell_object_of(t, of);
    for (size_t i = 0; i < view->columns->shown.count; i++) {
        const struct sonde_value v = sonde_profile_rows_get(view, row, view->columns->shown.items[i], side);
        sonde_cell_figure(object, v.validity != SONDE_UNKNOWN, v.validity == SONDE_ERROR ? NAN : v.value);
    }
}

static void kind_cell(struct sonde_view_table *t, uint8_t kind)
{
    sonde_cell_text(t, kind == SONDE_PROFILE_OBJECT ? "object" : (kind ? sonde_name_frame_kind(kind) : "none"));
}

static void number_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_view_columns *of,
                       const struct sonde_profile_rows *view, size_t row)
{
    const struct sonde_profile_row *at = &view->rows.items[row];
    const struct sonde_profile_frame *f = &at->frame;
    struct sonde_text label = {0};
    sonde_row_label(q, view, row, &label);
    sonde_cell_int(t, true, row);
    sonde_cell_int(t, row > 0, at->parent);
    sonde_cell_int(t, true, at->depth);
    sonde_cell_int(t, true, at->node);
    sonde_cell_take(t, &label);
    kind_cell(t, f->kind);
    sonde_cell_text(t, f->name);
    sonde_cell_text(t, f->file);
    sonde_cell_int(t, f->line > 0, f->line);
    sonde_cell_text(t, f->module);
    const bool code = f->kind == SONDE_FRAME_NATIVE || f->kind == SONDE_FRAME_PYTHON; /* the node may be more than its row */
    sonde_cell_text(t, code ? sonde_name_code(&q->profile->nodes.items[at->node]) : NULL);
    if (f->kind == SONDE_FRAME_OP)
        sonde_cell_text(t, sonde_op_kind_name(f->op));
    else
        sonde_cell_absent(t);
    if (f->kind == SONDE_PROFILE_OBJECT)
        sonde_cell_text(t, sonde_object_kind_name(f->op));
    else
        sonde_cell_absent(t);
    side_cell(t, of, view, row, SONDE_INCLUSIVE);
    side_cell(t, of, view, row, SONDE_EXCLUSIVE);
}

static void chosen_cell(struct sonde_view_table *t, const struct sonde_columns *c)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < c->shown.count; i++) {
        const uint32_t column = c->shown.items[i];
        sonde_cell_text(list, sonde_columns_name(c, column));
        sonde_cell_text(list, units[sonde_columns_unit(c, column)]);
        sonde_cell_text(list, column < SONDE_METRIC_COUNT ? NULL : c->derived.items[column - SONDE_METRIC_COUNT].text);
    }
}

static int fill_numbers(const struct sonde_query *q, const struct sonde_profile_rows *view, struct sonde_view_data *out)
{
    static const char *const shapes[] = {"top-down", "bottom-up", "flat"};
    const struct sonde_view_columns *of = number_columns(view, out);
    const size_t shown = shown_rows(q, view);
    if (!of)
        return SONDE_ENOMEM;
    struct sonde_view_table *t = out->root = sonde_view_table(out, &whole);
    sonde_cell_text(t, shapes[view->shape]);
    sonde_cell_text(t, sonde_profile_by_names[view->by]);
    chosen_cell(t, view->columns);
    struct sonde_view_table *sorted = sonde_cell_object(t);
    sonde_cell_text(sorted, sonde_columns_name(view->columns, view->sort));
    sonde_cell_text(sorted, view->sort_side == SONDE_EXCLUSIVE ? "exclusive" : "inclusive");
    sonde_cell_int(t, true, view->cut + view->rows.count - 1 - shown);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i <= shown; i++)
        number_row(list, q, of, view, i);
    return 0;
}

/* ---- the view ------------------------------------------------------------------------------------------ */

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct wanted w;
    struct sonde_profile_rows *view = NULL;
    int rc = build(q, &w, &view, out, diag);
    if (!rc && (q->complete ? fill_numbers(q, view, out) : fill_text(q, view, out)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot show the profile of");
    sonde_profile_rows_destroy(view);
    unwant(&w);
    return rc;
}

const struct sonde_view sonde_view_profile = {
    .name = "profile",
    .summary = "call paths: top-down, bottom-up or flat, with any columns",
    .description = "Call paths: top-down, bottom-up or flat. Columns are the metrics that --metric names and formulas over them; "
                   "on the terminal NAME is inclusive and NAME:excl exclusive.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&whole, &contexts, NULL},
    .options = (const char *const[]){"top-down", "bottom-up", "by", "metric", "derive", "sort", "root", "ids", "depth",
                                     "min-percent", NULL},
    .caveats = SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_LIBRARIES |
               SONDE_CAVEAT_SAMPLES | SONDE_CAVEAT_VIEWS, /* it says itself when the CPU side is missing */
    .quick_notes = true,
    .needs_operations = true,
    .make = make,
};

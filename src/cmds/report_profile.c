/* report_profile.c - the view `profile`: calling contexts top-down, bottom-up or flat, with any columns.
 *
 * docs/profile.md says how each number is computed. The text leaves out frames
 * of the runtime (loader, C library, interpreter) without figures of their own;
 * JSON has them all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/sync.h"
#include "analyze/profile_rows.h"
#include "command.h"
#include "report.h"

/* ---- options ------------------------------------------------------------------------------- */

/* "sonde report: --derive: TEXT", and below it the argument with a mark at the byte `at`. */
static int refuse(const char *option, const char *argument, size_t at, const struct sonde_diag *diag)
{
    struct sonde_text line = {0}, before = {0};
    fprintf(stderr, "sonde report: %s: %s; %s\n", option, diag->what, *diag->hint ? diag->hint : "try 'sonde report --help'");
    sonde_text_add_clean(&line, argument);
    char *begin = strndup(argument, at);
    sonde_text_add_clean(&before, begin ? begin : "");
    fprintf(stderr, "  %s\n  %*s^\n", sonde_text_get(&line), (int)sonde_text_columns(sonde_text_get(&before)), "");
    free(begin);
    sonde_text_fini(&line);
    sonde_text_fini(&before);
    return SONDE_EXIT_USAGE;
}

/* "gpu", "gpu:excl" or "gpu:incl". */
static int read_sort(struct report *r, const char *text)
{
    const size_t name = strcspn(text, ":");
    const int column = sonde_columns_find(&r->columns_chosen, text, name);
    struct sonde_diag diag = {0};
    if (column < 0) {
        sonde__columns_unknown(&r->columns_chosen, text, name, &diag);
        return refuse("--sort", text, 0, &diag);
    }
    r->sort = column;
    if (!text[name])
        return 0;
    if (strcmp(text + name, ":excl") && strcmp(text + name, ":incl")) {
        snprintf(diag.what, sizeof diag.what, "a column ends with :incl or :excl");
        return refuse("--sort", text, name, &diag);
    }
    r->sort_side = strcmp(text + name, ":excl") ? SONDE_INCLUSIVE : SONDE_EXCLUSIVE;
    return 0;
}

int report_read_columns(struct report *r)
{
    const struct report_options *o = r->options;
    struct sonde_columns *c = &r->columns_chosen;
    struct sonde_diag diag = {0};
    size_t at = 0;
    r->sort = r->sort_side = -1;
    if (o->shape == 1 + SONDE_PROFILE_TOP_DOWN && o->by >= SONDE_BY_KERNEL)
        return sonde_say_usage(&sonde_command_report, "kernels and objects call nothing: --by has no tree of them");
    if (o->shape == 1 + SONDE_PROFILE_BOTTOM_UP && o->by >= SONDE_BY_KERNEL)
        return sonde_say_usage(&sonde_command_report, "kernels and objects are a flat list: leave out --bottom-up");
    if (o->derive) { /* first, so that --metric may place the new columns */
        if (sonde_columns_derive(c, o->derive, &diag, &at))
            return refuse("--derive", o->derive, at, &diag);
        r->derived = c->shown.count;
    }
    if (o->metric) {
        c->shown.count = 0;
        if (sonde_columns_show(c, o->metric, &diag, &at))
            return refuse("--metric", o->metric, at, &diag);
        for (size_t i = 0; i < r->derived; i++)
            if (sonde_columns_show(c, c->derived.items[i].name, &diag, &at))
                return refuse("--metric", o->metric, 0, &diag);
    }
    return o->sort ? read_sort(r, o->sort) : 0;
}

/* ---- what to show ----------------------------------------------------------------------------- */

struct wanted {
    struct sonde_profile_rows_config config;
    struct sonde_columns     columns; /* a copy of the list; derived ones are the report's */
    double                  *blame, *sync; /* [tree node], exclusive; NULL: not asked for, or there is none */
    struct sonde_estimate    cpu_estimate, blame_estimate;
};

static bool has(const struct report *r, enum sonde_metric_id metric)
{
    return sonde_metric_table[metric].value(&r->q.profile->nodes.items[0].total) > 0;
}

/* The first thing there is any of. */
static enum sonde_metric_id main_metric(const struct report *r)
{
    static const enum sonde_metric_id order[] = {SONDE_METRIC_GPU, SONDE_METRIC_OPS, SONDE_METRIC_CPU, SONDE_METRIC_API};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (has(r, order[i]))
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

/* Columns that need the trace: only who names one waits for that. */
static bool needs_trace(uint32_t column)
{
    return column == SONDE_METRIC_BLAME || column == SONDE_METRIC_SYNC || column == SONDE_METRIC_BLAME_ERROR;
}

static bool names(const struct report_options *o, enum sonde_metric_id metric)
{
    const char *const texts[] = {o->metric, o->derive, o->sort};
    for (int i = 0; i < 3; i++)
        if (texts[i] && strstr(texts[i], sonde_metric_table[metric].name))
            return true;
    return false;
}

static int add_sync(const struct report *r, struct wanted *w, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading the trace", false);
    int rc = sonde_sync_compute(r->q.m, r->q.profile, progress, &w->sync);
    sonde_progress_end(progress);
    w->config.given[SONDE_METRIC_SYNC] = w->sync;
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot read the trace of") : 0;
}

static int add_blame(const struct report *r, struct wanted *w, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    int rc = sonde_query_blame(&r->q, &blame, diag);
    if (!rc && blame.scopes.count) {
        const struct sonde_blame_scope *all = &blame.scopes.items[0];
        w->blame = calloc(r->q.profile->nodes.count, sizeof *w->blame);
        rc = w->blame ? 0 : SONDE_ENOMEM;
        for (size_t i = 0; i < all->entries.count && !rc; i++)
            w->blame[all->entries.items[i].node] = all->entries.items[i].waiting_ns + all->entries.items[i].working_ns;
        w->config.given[SONDE_METRIC_BLAME] = w->blame;
        w->config.blame_estimate = &w->blame_estimate;
        rc = rc ? rc : sonde_estimate_join(&w->blame_estimate, &all->estimate);
    }
    sonde_blame_fini(&blame);
    return rc == SONDE_ENOMEM ? sonde_diag_set(diag, rc, r->q.path, "cannot read the trace of") : rc;
}

/* The column with the standard error of this one; -1: it has none. */
static int error_of(uint32_t column)
{
    return column == SONDE_METRIC_CPU ? SONDE_METRIC_CPU_ERROR : column == SONDE_METRIC_BLAME ? SONDE_METRIC_BLAME_ERROR : -1;
}

/* Columns in order: those of --metric, else a few (text) or all (JSON), then the derived ones. */
static int choose_columns(const struct report *r, struct sonde_columns *c)
{
    static const uint32_t few[] = {SONDE_METRIC_GPU, SONDE_METRIC_CPU, SONDE_METRIC_API, SONDE_METRIC_OPS};
    const struct sonde_columns *chosen = &r->columns_chosen;
    int rc = 0;
    c->derived.items = chosen->derived.items;
    c->derived.count = chosen->derived.count;
    for (uint32_t i = 0; !r->options->metric && i < (r->options->json ? SONDE_METRIC_COUNT : 4u) && !rc; i++) {
        uint32_t column = r->options->json ? i : few[i];
        if (r->options->json ? !needs_trace(column) : column != SONDE_METRIC_CPU || r->q.profile->sampled)
            rc = push_unless_there(c, column);
    }
    for (size_t i = 0; i < chosen->shown.count && !rc; i++)
        rc = push_unless_there(c, chosen->shown.items[i]);
    for (size_t i = 0; r->options->json && i < c->shown.count && !rc; i++) /* in text they stand beside their figure */
        if (error_of(c->shown.items[i]) >= 0)
            rc = push_unless_there(c, (uint32_t)error_of(c->shown.items[i]));
    return rc;
}

static int want(const struct report *r, struct wanted *w)
{
    const struct report_options *o = r->options;
    struct sonde_profile_rows_config *c = &w->config;
    *w = (struct wanted){.config = {.columns = &w->columns, .m = r->q.m}};
    c->shape = o->shape ? (enum sonde_profile_shape)(o->shape - 1) : o->by >= 0 ? SONDE_PROFILE_FLAT : SONDE_PROFILE_TOP_DOWN;
    c->by = o->by >= 0 ? (enum sonde_profile_by)o->by : c->shape == SONDE_PROFILE_TOP_DOWN ? SONDE_BY_LINE : SONDE_BY_FUNCTION;
    c->sort = r->sort >= 0 ? (uint32_t)r->sort : o->metric ? r->columns_chosen.shown.items[0] : main_metric(r);
    c->sort_side = r->sort_side >= 0 ? r->sort_side : c->shape == SONDE_PROFILE_BOTTOM_UP ? SONDE_EXCLUSIVE : SONDE_INCLUSIVE;
    c->share = c->sort < SONDE_METRIC_COUNT ? c->sort : main_metric(r);
    c->depth = o->depth > 0 ? (uint32_t)o->depth : 0;
    /* Each of thousands of contexts has its own chain of callers: by default JSON has no crumbs either. */
    const bool crumbs = o->min_percent >= 0 || !o->json || c->shape != SONDE_PROFILE_BOTTOM_UP;
    c->min_percent = crumbs ? r->q.min_percent : 0.1;
    c->all_frames = o->json;
    c->fold_nameless = !o->json && o->by != SONDE_BY_LINE; /* who asks for lines gets every offset */
    return choose_columns(r, &w->columns);
}

static void unwant(struct wanted *w)
{
    sonde_vector_fini(&w->columns.shown);
    sonde_estimate_fini(&w->blame_estimate);
    sonde_estimate_fini(&w->cpu_estimate);
    free(w->blame);
    free(w->sync);
}

/* ---- the root ----------------------------------------------------------------------------------- */

static void list_candidates(const struct report *r, const uint32_t *nodes, long count)
{
    enum { MOST = 20 };
    for (long i = 0; i < count && i < MOST; i++) {
        const struct sonde_cct_node *node = &r->q.profile->nodes.items[nodes[i]];
        struct sonde_text label = {0}, clean = {0};
        char share[SONDE_NUMBER_MAX];
        const enum sonde_metric_id metric = main_metric(r);
        sonde_name_frame(&r->q, &label, node);
        if (node->parent && sonde_profile_callers(r->q.profile, node->parent, &(uint32_t){0}, 1)) {
            sonde_text_add(&label, " ← ");
            sonde_name_callers(&r->q, &label, node->parent, 2);
        }
        sonde_text_add_clean(&clean, sonde_text_get(&label));
        fprintf(stderr, "  #%-6u %7s  %s\n", nodes[i],
                sonde_number_percent(share, sonde_metric_table[metric].value(&node->total),
                                     sonde_metric_table[metric].value(&r->q.profile->nodes.items[0].total)),
                sonde_text_get(&clean));
        sonde_text_fini(&label);
        sonde_text_fini(&clean);
    }
    if (count > MOST)
        fprintf(stderr, "  and %ld more\n", count - MOST);
}

static int find_root(const struct report *r, struct sonde_profile_rows_config *config, struct sonde_diag *diag)
{
    const char *text = r->options->root;
    uint32_t *nodes = NULL;
    long count = text ? sonde_profile_rows_find(r->q.profile, config, text, &nodes) : 0;
    int rc = 0;
    if (count < 0)
        rc = sonde_diag_set(diag, (int)count, r->q.path, "cannot look for the root in");
    else if (text && count == 0) {
        rc = sonde_diag_set(diag, SONDE_ENOTFOUND, text, "there is no calling context");
        snprintf(diag->why, sizeof diag->why, "--root takes a function, a place such as heat.c:81, or a number that --ids shows");
    } else if (count > 1) {
        list_candidates(r, nodes, count);
        rc = sonde_diag_set(diag, SONDE_EINVALID, text, "%ld calling contexts are meant by", count);
        snprintf(diag->why, sizeof diag->why, "choose one by its number, such as --root %u", nodes[0]);
    } else if (count == 1) {
        config->root = nodes[0];
    }
    free(nodes);
    return rc;
}

static int build(const struct report *r, struct wanted *w, struct sonde_profile_rows **view, struct sonde_diag *diag)
{
    if (want(r, w))
        return sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot make the profile of");
    w->config.cpu_estimate = r->q.profile->sampled ? &w->cpu_estimate : NULL;
    if (r->q.profile->sampled && sonde_estimate_cpu(r->q.m, r->q.profile, &w->cpu_estimate))
        return sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot make the profile of");
    int rc = names(r->options, SONDE_METRIC_BLAME) ? add_blame(r, w, diag) : 0;
    if (!rc && names(r->options, SONDE_METRIC_SYNC))
        rc = add_sync(r, w, diag);
    if (!rc)
        rc = find_root(r, &w->config, diag);
    return rc ? rc : sonde_profile_rows_build(r->q.profile, &w->config, view, diag);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static void value_cell(struct table *t, struct sonde_value v, enum sonde_unit unit)
{
    char number[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 1] = "-";
    if (v.validity != SONDE_KNOWN || v.value == 0) {
        table_cell(t, v.validity == SONDE_ERROR ? "error" : v.validity == SONDE_KNOWN ? "0" : "-");
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
    table_cell(t, v.value < 0 ? text : text + 1);
}

/* A time with its standard error in percent of it, which is shorter: there are many columns. */
static void figure_cell(struct table *t, const struct sonde_profile_rows *view, size_t row, uint32_t column, int side)
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
    table_cell(t, text);
}

/* ---- text --------------------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 2 * (SONDE_METRIC_COUNT + SONDE_DERIVED_MAX) + 2, FLAT_READABLE = 28, TREE_READABLE = 44 };

/* By kernel and by object inclusive and exclusive are the same. */
static int sides(const struct sonde_profile_rows *view)
{
    return view->by >= SONDE_BY_KERNEL ? 1 : SONDE_PROFILE_SIDES;
}

struct layout {
    struct table_column columns[MOST_COLUMNS];
    char titles[MOST_COLUMNS][64];
    int count;
};

/* Of columns that nobody asked for, exclusive sides that say little are left out. */
static bool shows(const struct report *r, const struct sonde_profile_rows *view, uint32_t column, int side)
{
    const bool plain = !r->options->metric && (column == SONDE_METRIC_API || column == SONDE_METRIC_OPS);
    return side == SONDE_INCLUSIVE || !plain || (view->sort == column && view->sort_side == side);
}

static void lay_out(const struct report *r, const struct sonde_profile_rows *view, struct layout *l)
{
    const struct sonde_columns *c = view->columns;
    l->count = 0;
    l->columns[l->count++] = (struct table_column){"share", TABLE_RIGHT, 1};
    for (size_t i = 0; i < c->shown.count; i++)
        for (int side = 0; side < sides(view); side++) {
            if (!shows(r, view, c->shown.items[i], side))
                continue;
            char *title = l->titles[l->count];
            snprintf(title, sizeof l->titles[0], "%s%s", sonde_columns_name(c, c->shown.items[i]), side ? ":excl" : "");
            /* What rows are sorted by always stays. */
            bool sorted = view->sort == c->shown.items[i] && view->sort_side == side;
            l->columns[l->count++] = (struct table_column){title, TABLE_RIGHT, sorted ? 0 : 2 + 2 * (int)i + 3 * side};
        }
    static const char *const titles[] = {"calling context", "routine, its callers below", "routine"};
    l->columns[l->count++] = (struct table_column){titles[view->shape], TABLE_LEFT | TABLE_ELASTIC, 0};
}

static void print_row(const struct report *r, const struct sonde_profile_rows *view, struct table *t, size_t row, uint32_t depth,
                      const char *text)
{
    const struct sonde_columns *c = view->columns;
    const struct sonde_value part = sonde_profile_rows_get(view, row, view->share, row ? view->sort_side : SONDE_INCLUSIVE);
    const struct sonde_value whole = sonde_profile_rows_get(view, 0, view->share, SONDE_INCLUSIVE);
    struct sonde_text label = {0};
    /* Indented no further than names stay readable; deeper ones say how much deeper. */
    uint32_t most = (uint32_t)r->columns / 8;
    for (uint32_t i = 0; i < depth && i < most; i++)
        sonde_text_add(&label, "  ");
    if (depth > most)
        sonde_text_format(&label, "+%u ", depth - most);
    if (r->options->ids)
        sonde_text_format(&label, "#%u ", view->rows.items[row].node);
    sonde_text_add(&label, text);
    if (part.validity == SONDE_KNOWN && whole.validity == SONDE_KNOWN && part.value >= 0)
        table_percent(t, part.value, whole.value);
    else
        table_cell(t, "-");
    for (size_t i = 0; i < c->shown.count; i++)
        for (int side = 0; side < sides(view); side++)
            if (shows(r, view, c->shown.items[i], side))
                figure_cell(t, view, row, c->shown.items[i], side);
    table_cell(t, sonde_text_get(&label));
    sonde_text_fini(&label);
}

/* Rows of a tree are all shown unless a number was asked for: --min-percent keeps them few. */
static size_t shown_rows(const struct report *r, const struct sonde_profile_rows *view)
{
    size_t all = view->rows.count - 1;
    bool limited = view->shape == SONDE_PROFILE_FLAT ? r->q.limit > 0 : r->options->limit > 0;
    return limited && r->q.limit < all ? r->q.limit : all;
}

static int print(const struct report *r, const struct sonde_profile_rows *view)
{
    static struct layout layout;
    char number[SONDE_NUMBER_MAX];
    lay_out(r, view, &layout);
    struct table t = {.columns = layout.columns, .column_count = layout.count,
                      .readable = view->shape == SONDE_PROFILE_FLAT ? FLAT_READABLE : TREE_READABLE};
    const size_t shown = shown_rows(r, view), all = view->rows.count - 1;
    const bool rooted = view->rows.items[0].frame.kind != 0;
    char **labels = sonde_row_labels(&r->q, view);
    if (!labels)
        return SONDE_ENOMEM;
    for (size_t i = 0; i <= shown; i++)
        print_row(r, view, &t, i, i ? view->rows.items[i].depth - !rooted : 0, labels[i]);
    sonde_row_labels_free(labels, view);
    table_print(&t, r);
    if (view->cut)
        report_say(r, "… %s below %.3g %% left out: --min-percent 0 shows all", sonde_number_count(number, view->cut),
                   r->q.min_percent);
    report_more(r, "profile", shown, all);
    for (size_t i = 0; i < view->columns->shown.count; i++) {
        const uint32_t column = view->columns->shown.items[i];
        if (column == SONDE_METRIC_CPU && !r->q.profile->sampled)
            report_say(r, "the CPU side was not sampled (record --cpu): its time is unknown");
        if (column == SONDE_METRIC_BLAME && sonde_profile_rows_get(view, 0, column, SONDE_INCLUSIVE).validity != SONDE_KNOWN)
            report_say(r, "idleness blame is unknown: it needs a trace with times of operations");
    }
    if (view->by == SONDE_BY_OBJECT && !r->q.totals.traced)
        report_say(r, "recorded with --profile: which operation used which object is unknown");
    return 0;
}

int report_profile_text(const struct report *r, struct sonde_diag *diag)
{
    struct wanted w;
    struct sonde_profile_rows *view = NULL;
    int rc = build(r, &w, &view, diag);
    if (!rc && print(r, view))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot show the profile of");
    sonde_profile_rows_destroy(view);
    unwant(&w);
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static json_t *value_json(struct sonde_value v, enum sonde_unit unit)
{
    if (v.validity != SONDE_KNOWN)
        return v.validity == SONDE_ERROR ? json_string("error") : json_null();
    return unit == SONDE_UNIT_NONE || v.value != floor(v.value) || fabs(v.value) > 0x1p62
               ? json_real(v.value) : json_integer((json_int_t)v.value);
}

static json_t *side_json(const struct sonde_profile_rows *view, size_t row, int side)
{
    const struct sonde_columns *c = view->columns;
    json_t *object = json_object();
    for (size_t i = 0; i < c->shown.count; i++)
        json_object_set_new(object, sonde_columns_name(c, c->shown.items[i]),
                            value_json(sonde_profile_rows_get(view, row, c->shown.items[i], side),
                                       sonde_columns_unit(c, c->shown.items[i])));
    return object;
}

static const char *kind_name(uint8_t kind)
{
    static const char *const names[] = {"none", "native", "python", "api", "operation", "unknown", "cut", "link", "range"};
    return kind == SONDE_PROFILE_OBJECT ? "object" : kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static json_t *row_json(const struct report *r, const struct sonde_profile_rows *view, size_t row)
{
    const struct sonde_profile_row *at = &view->rows.items[row];
    struct sonde_text label = {0};
    sonde_row_label(&r->q, view, row, &label);
    json_t *value = json_pack("{s:I, s:o, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}",
        "row", (json_int_t)row, "parent", row ? json_integer(at->parent) : json_null(), "depth", (json_int_t)at->depth,
        "node", (json_int_t)at->node, "label", report_json_text(sonde_text_get(&label)), "kind", kind_name(at->frame.kind),
        "name", report_json_text(at->frame.name), "file", report_json_text(at->frame.file),
        "line", at->frame.line ? json_integer(at->frame.line) : json_null(), "module", report_json_text(at->frame.module),
        "inclusive", side_json(view, row, SONDE_INCLUSIVE), "exclusive", side_json(view, row, SONDE_EXCLUSIVE));
    if (at->frame.kind == SONDE_FRAME_OP)
        json_object_set_new(value, "operation", json_string(sonde_op_kind_name(at->frame.op)));
    if (at->frame.kind == SONDE_PROFILE_OBJECT)
        json_object_set_new(value, "object", json_string(sonde_object_kind_name(at->frame.op)));
    sonde_text_fini(&label);
    return value;
}

static json_t *columns_json(const struct sonde_columns *c)
{
    static const char *const units[] = {NULL, "count", "ns", "bytes"};
    json_t *array = json_array();
    for (size_t i = 0; i < c->shown.count; i++) {
        uint32_t column = c->shown.items[i];
        const char *unit = units[sonde_columns_unit(c, column)];
        bool derived = column >= SONDE_METRIC_COUNT;
        json_array_append_new(array, json_pack("{s:s, s:o, s:o}", "name", sonde_columns_name(c, column),
            "unit", unit ? json_string(unit) : json_null(),
            "formula", derived ? json_string(c->derived.items[column - SONDE_METRIC_COUNT].text) : json_null()));
    }
    return array;
}

json_t *report_profile_json(const struct report *r, struct sonde_diag *diag)
{
    static const char *const shapes[] = {"top-down", "bottom-up", "flat"};
    struct wanted w;
    struct sonde_profile_rows *view = NULL;
    json_t *value = NULL;
    if (!build(r, &w, &view, diag)) {
        json_t *rows = json_array();
        const size_t shown = shown_rows(r, view);
        for (size_t i = 0; i <= shown; i++)
            json_array_append_new(rows, row_json(r, view, i));
        value = json_pack("{s:s, s:s, s:o, s:{s:s, s:s}, s:I, s:o}", "shape", shapes[view->shape],
            "by", report_by_names[view->by], "columns", columns_json(view->columns),
            "sort", "column", sonde_columns_name(view->columns, view->sort),
            "side", view->sort_side == SONDE_EXCLUSIVE ? "exclusive" : "inclusive",
            "left_out", (json_int_t)(view->cut + view->rows.count - 1 - shown), "rows", rows);
    }
    sonde_profile_rows_destroy(view);
    unwant(&w);
    return value;
}

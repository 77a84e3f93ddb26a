/* advice.c - the view `advice`: what to change, most to save first; and the three that save most, for the summary. */
#include "analyze/answers/advice/advice.h"

#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/trace/trace.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "summary.h"
#include "view.h"

enum {
    BRIEF = 3,               /* in the summary */
    FRAMES = 3,              /* of a place */
    MORE_FRAMES = 8,         /* where fewer look like another's */
    BRIEF_ROWS = 1 << 20,    /* of the trace: beyond, the summary would be waited for */
    PIECE_LEAST = 20,        /* a function's piece is named from one part in so many on */
};

static const struct sonde_view_column piece_columns[] = {
    {"ns", NULL, SONDE_CELL_TIME, 0, 0, "part of looked_at_ns in this function"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of ns"},
    {"frame", NULL, SONDE_CELL_OBJECT, 0, 0, "the function", .of = &sonde_frames},
};
static const struct sonde_view_columns pieces = SONDE_VIEW_COLUMNS("pieces", piece_columns);

static const struct sonde_view_column advice_columns[] = {
    {"rule", NULL, SONDE_CELL_TEXT, 0, 0, "the rule that found it; docs/advice.md defines each"},
    {"title", NULL, SONDE_CELL_TEXT, 0, 0, "the finding in words"},
    {"change", NULL, SONDE_CELL_TEXT, 0, 0, "what to change"},
    {"evidence", NULL, SONDE_CELL_TEXT, 0, 0, "the numbers behind it, in one sentence"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device within its process; null: not about one device"},
    {"places", NULL, SONDE_CELL_COUNT, 0, 0, "number of places in the program"},
    {"count", NULL, SONDE_CELL_COUNT, 0, 0, "operations or API calls concerned"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes moved or allocated by them; 0: none"},
    {"looked_at_ns", NULL, SONDE_CELL_TIME, 0, 0, "time that the rule applies to"},
    {"saving_ns", NULL, SONDE_CELL_TIME, 0, 0, "upper bound of the saving, for this change alone"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0,
     "host_code: standard error of saving_ns and looked_at_ns, which rest on samples; else 0"},
    {"pieces", NULL, SONDE_CELL_LIST, 0, 0,
     "host_code: the user functions directly below with the most time, at most three", .of = &pieces},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "the place with the largest saving, innermost frame first", .of = &sonde_frames},
};
static const struct sonde_view_columns advice = SONDE_VIEW_COLUMNS("advice", advice_columns);

static const struct sonde_view_column answer_columns[] = {
    {"traced", NULL, SONDE_CELL_BOOLEAN, 0, 0, "false: no trace, and the rules that need one were skipped"},
    {"rows", NULL, SONDE_CELL_COUNT, 0, 0, "operations and API calls in the trace"},
    {"rows_looked_at", NULL, SONDE_CELL_COUNT, 0, 0, "number of these that the rules examined"},
    {"advice", NULL, SONDE_CELL_LIST, 0, 0, "what to change, largest saving first", .of = &advice},
};
static const struct sonde_view_columns answer = SONDE_VIEW_COLUMNS("answer", answer_columns);

/* Of the run's time: a rule's share of one process is of that process's time. */
static uint64_t wall_ns(const struct sonde_query *q, const struct sonde_advice *a)
{
    return sonde_process_wall_ns(&q->m->processes[a->process]);
}

static bool worth_saying(const struct sonde_query *q, const struct sonde_advice *a)
{
    const uint64_t wall = wall_ns(q, a);
    return !wall || !a->saving_ns /* nobody knows */ || (double)a->saving_ns * 100 >= q->min_percent * (double)wall;
}

static void place(const struct sonde_query *q, const struct sonde_advice *a, uint32_t frames, struct sonde_text *out)
{
    char more[SONDE_NUMBER_MAX];
    if (a->node)
        sonde_name_callers(q, out, a->node, frames);
    if (!out->length)
        sonde_text_add(out, "unknown");
    if (a->places > 1)
        sonde_text_format(out, " and %s other place%s", sonde_number_count(more, a->places - 1),
                          a->places > 2 ? "s" : "");
}

static int compute(const struct sonde_query *q, const struct sonde_blame *blame, struct sonde_advices *out,
                   struct sonde_diag *diag)
{
    const int rc = sonde_advice_compute(q->m, q->profile, blame, 0, out);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot compute the advice for") : 0;
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Where a function that others do the work for has its time; one that has it itself needs no line. */
static void say_pieces(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_advice *a)
{
    struct sonde_text line = {0};
    char share[SONDE_ESTIMATE_MAX];
    for (uint32_t i = 0; i < a->piece_count; i++) {
        if (a->pieces[i].ns * PIECE_LEAST < (double)a->saving_ns)
            break;
        sonde_text_format(&line, "%s%s in ", line.length ? ", " : "",
                          sonde_number_percent_estimate(share, a->pieces[i].ns, a->pieces[i].error_ns, (double)a->saving_ns));
        sonde_name_frame(q, &line, &q->profile->nodes.items[a->pieces[i].node]);
    }
    if (line.length)
        sonde_view_say(out, false, "   of which %s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static void say_one(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_advice *a, size_t number)
{
    struct sonde_text where = {0}, device = {0};
    char saving[SONDE_ESTIMATE_MAX], share[SONDE_NUMBER_MAX];
    place(q, a, FRAMES, &where);
    if (a->device)
        sonde_name_device(q, &device, a->process, a->device);
    sonde_view_say(out, number > 1, "%zu. %s: saves up to %s, %s of the run", number, a->title,
                   sonde_number_estimate(saving, (double)a->saving_ns, a->error_ns),
                   sonde_number_percent(share, (double)a->saving_ns, (double)wall_ns(q, a)));
    sonde_view_say(out, false, "   %s", sonde_text_get(&a->evidence));
    sonde_view_say(out, false, "   in %s", sonde_text_get(&where));
    say_pieces(out, q, a);
    if (device.length && q->totals.devices.count > 1)
        sonde_view_say(out, false, "   on device %s", sonde_text_get(&device));
    sonde_view_say(out, false, "   %s", a->change);
    sonde_text_fini(&where);
    sonde_text_fini(&device);
}

static void say_limits(struct sonde_view_data *out, const struct sonde_advices *advices)
{
    char looked_at[SONDE_NUMBER_MAX], rows[SONDE_NUMBER_MAX];
    if (!advices->traced)
        sonde_view_say(out, false,
                       "No trace: the rules for launches, waits, copies and queues were skipped. Record with --trace.");
    if (advices->rows_looked_at < advices->rows)
        sonde_view_say(out, false, "Only %s of %s rows of the trace were examined: savings may be larger than shown.",
                       sonde_number_count(looked_at, advices->rows_looked_at), sonde_number_count(rows, advices->rows));
    if (advices->windows > 1)
        sonde_view_say(out, false, "The trace was examined in %s parts: patterns that span two parts are not found.",
                       sonde_number_count(rows, advices->windows));
    sonde_view_say(out, false,
                   "Savings are upper bounds, each for one change alone, and not additive. docs/advice.md defines the rules.");
}

/* ---- the view ---------------------------------------------------------------------------------- */

static void row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_advice *a)
{
    sonde_cell_text(t, a->rule);
    sonde_cell_text(t, a->title);
    sonde_cell_text(t, a->change);
    sonde_cell_text(t, sonde_text_get(&a->evidence));
    sonde_cell_text(t, q->m->processes[a->process].name);
    sonde_cell_int(t, a->device, a->device - 1);
    sonde_cell_int(t, true, a->places);
    sonde_cell_int(t, true, a->count);
    sonde_cell_int(t, true, a->bytes);
    sonde_cell_int(t, true, a->looked_at_ns);
    sonde_cell_int(t, true, a->saving_ns);
    sonde_cell_real(t, true, a->error_ns);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = 0; i < a->piece_count; i++) {
        sonde_cell_int(list, true, (uint64_t)a->pieces[i].ns);
        sonde_cell_real(list, true, a->pieces[i].error_ns);
        sonde_cells_frame(sonde_cell_object(list), &q->profile->nodes.items[a->pieces[i].node]);
    }
    sonde_cell_frames(t, q, a->node);
}

static void fill(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_advices *advices)
{
    struct sonde_view_data *out = t->data;
    size_t all = 0;
    sonde_cell_boolean(t, advices->traced);
    sonde_cell_int(t, true, advices->rows);
    sonde_cell_int(t, true, advices->rows_looked_at);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < advices->items.count; i++) {
        const struct sonde_advice *a = &advices->items.items[i];
        if (!worth_saying(q, a) || all++ >= sonde_query_rows(q, SIZE_MAX))
            continue;
        row(list, q, a);
        say_one(out, q, a, all);
    }
    list->left_out = all - sonde_view_rows(list);
    if (!all)
        sonde_view_say(out, false, "No rule found a saving of %.3g %% of the run or more (--min-percent).", q->min_percent);
    sonde_view_show(out, list, all > 0); /* people read the sentences; of it only how many are left out */
    say_limits(out, advices);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_advices advices = {0};
    const int rc = compute(q, NULL, &advices, diag);
    out->root = sonde_view_table(out, &answer);
    if (!rc)
        fill(out->root, q, &advices);
    sonde_advice_fini(&advices);
    return rc;
}

const struct sonde_view sonde_view_advice = {
    .name = "advice",
    .summary = "what to change: evidence, place and largest possible saving",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&answer, NULL},
    .caveats = SONDE_CAVEAT_ALL & ~(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES),
    .needs_operations = true,
    .make = make,
};

/* ---- in the summary ---------------------------------------------------------------------------- */

static const struct sonde_view_column brief_columns[] = {
    {NULL, "Advice", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "what the rule found"},
    {NULL, "saves up to", SONDE_CELL_TIME, 0, 0, "upper bound of the saving, for this change alone"},
    {NULL, "% of run", SONDE_CELL_SHARE, 0, 1, "saving as % of the wall time of the process"},
    {NULL, "where", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "the place with the largest saving, innermost frame first"},
};
const struct sonde_view_columns sonde_advice_brief = SONDE_VIEW_COLUMNS("advice", brief_columns);

/* As many callers as tell it from the others. */
static void brief_place(const struct sonde_query *q, const struct sonde_advice *const *shown, size_t count, size_t at,
                        struct sonde_text *out)
{
    bool alike = false;
    place(q, shown[at], FRAMES, out);
    for (size_t i = 0; i < count; i++) {
        struct sonde_text other = {0};
        place(q, shown[i], FRAMES, &other);
        alike |= i != at && shown[i]->title == shown[at]->title && strcmp(sonde_text_get(out), sonde_text_get(&other)) == 0;
        sonde_text_fini(&other);
    }
    if (alike) {
        sonde_text_fini(out);
        place(q, shown[at], MORE_FRAMES, out);
    }
}

static void show_brief(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_advice *const *shown,
                       size_t count)
{
    struct sonde_view_table *t = sonde_view_table(out, &sonde_advice_brief);
    t->readable = 32;
    for (size_t i = 0; i < count; i++) {
        const struct sonde_advice *a = shown[i];
        struct sonde_text where = {0};
        brief_place(q, shown, count, i, &where);
        sonde_cell_text(t, a->title);
        sonde_cell_estimate(t, (double)a->saving_ns, a->error_ns);
        sonde_cell_share(t, (double)a->saving_ns, (double)wall_ns(q, a));
        sonde_cell_take(t, &where);
    }
    sonde_view_show(out, t, true);
    sonde_view_say(out, false, "first: %s", shown[0]->change);
}

int sonde_summary_advice(const struct sonde_query *q, const struct sonde_blame *blame, struct sonde_view_data *out,
                         struct sonde_diag *diag)
{
    const struct sonde_advice *shown[BRIEF];
    struct sonde_advices advices = {0};
    size_t count = 0;
    char number[SONDE_NUMBER_MAX];
    const uint64_t rows = sonde_trace_rows(q->m, SONDE_READ_OPS | SONDE_READ_CALLS);
    if (rows > BRIEF_ROWS) {
        sonde_view_say(out, true, "advice is not computed here for %s operations and API calls",
                       sonde_number_count(number, rows))
            ->command = "advice";
        return 0;
    }
    const int rc = compute(q, blame, &advices, diag);
    for (size_t i = 0; i < advices.items.count && count < BRIEF && !rc; i++)
        if (worth_saying(q, &advices.items.items[i]))
            shown[count++] = &advices.items.items[i];
    if (count)
        show_brief(out, q, shown, count);
    sonde_advice_fini(&advices);
    return rc;
}

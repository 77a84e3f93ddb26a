/* diff.c - the comparison of two sides: one sentence, the largest significant differences, what is new and gone, what else
 * differs. docs/diff.md says how each number is computed. */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "names.h"

#define WORTH_NAMING .005 /* of the run, or the steps: a change that the first sentence names the place of */

enum { FRAMES_JSON = 8,
       FRAMES_SHOWN = 2,
       PATH_MOST = 64 };

/* ---- columns ---------------------------------------------------------------------------------------- */

static const struct sonde_view_column total_columns[] = {
    {"before_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time from the first process's start to the last one's end; mean of the runs"},
    {"after_ns", NULL, SONDE_CELL_TIME, 0, 0, "the same of the other side"},
    {"ratio", NULL, SONDE_CELL_NUMBER, 0, 0, "after_ns / before_ns"},
    {"low", NULL, SONDE_CELL_NUMBER, 0, 0, "95 % interval of the ratio; null: one run a side"},
    {"high", NULL, SONDE_CELL_NUMBER, 0, 0, "its other end"},
};
static const struct sonde_view_columns total = SONDE_VIEW_COLUMNS("total", total_columns);

static const struct sonde_view_column step_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "the most frequent outermost range of both sides, without a number at its end"},
    {"before_count", NULL, SONDE_CELL_NUMBER, 0, 0, "how many a run has; mean of the runs"},
    {"after_count", NULL, SONDE_CELL_NUMBER, 0, 0, "the same of the other side"},
    {"before_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "typical time of one; mean of the runs"},
    {"after_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "the same of the other side"},
    {"ratio", NULL, SONDE_CELL_NUMBER, 0, 0, "after_ns / before_ns"},
    {"low", NULL, SONDE_CELL_NUMBER, 0, 0, "95 % interval of the ratio; null: too few steps"},
    {"high", NULL, SONDE_CELL_NUMBER, 0, 0, "its other end"},
};
static const struct sonde_view_columns step = SONDE_VIEW_COLUMNS("step", step_columns);

static const struct sonde_view_column text_columns[] = {{NULL, NULL, SONDE_CELL_TEXT, 0, 0, "the text"}};
static const struct sonde_view_columns texts = SONDE_VIEW_COLUMNS("texts", text_columns);

#define OF_THE_METRIC .unit = "ns, bytes or a number, by the metric"
static const struct sonde_view_column row_columns[] = {
    {"context", NULL, SONDE_CELL_TEXT, 0, 0, "call path in the user's code, innermost first; of the side after where it has it"},
    {"context_before", NULL, SONDE_CELL_TEXT, 0, 0, "the same of the side before, where it reads differently"},
    {"kernel", NULL, SONDE_CELL_TEXT, 0, 0, "kernel, or kind of operation; null: host code"},
    {"kernel_before", NULL, SONDE_CELL_TEXT, 0, 0, "its name before, where that is another one"},
    {"path", NULL, SONDE_CELL_LIST, 0, 0, "functions of the user's from the outermost on, then what they called: the kernel, the API call, a routine of a library; of the side after where it has it", .of = &texts},
    {"match", NULL, SONDE_CELL_TEXT, 0, 0, "same, moved (other lines), renamed, new or gone"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "call path in the first measurement of after, as root=#NUMBER takes it; null: it has none"},
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "time, count, bytes, waiting, blame or cpu"},
    {"before", NULL, SONDE_CELL_FIGURE, 0, 0, "mean of the runs", OF_THE_METRIC},
    {"after", NULL, SONDE_CELL_FIGURE, 0, 0, "mean of the runs", OF_THE_METRIC},
    {"delta", NULL, SONDE_CELL_FIGURE, 0, 0, "after - before", OF_THE_METRIC},
    {"low", NULL, SONDE_CELL_FIGURE, 0, 0, "95 % interval of delta; null: nothing tells how much it varies", OF_THE_METRIC},
    {"high", NULL, SONDE_CELL_FIGURE, 0, 0, "its other end", OF_THE_METRIC},
    {"p", NULL, SONDE_CELL_FIGURE, 0, 0, "probability of such a delta without a difference"},
    {"significant", NULL, SONDE_CELL_BOOLEAN, 0, 0,
     "at a rate of 5 % false ones among the significant rows of the metric; null: not tested"},
};
static const struct sonde_view_columns rows = SONDE_VIEW_COLUMNS("rows", row_columns);

static const struct sonde_view_column change_columns[] = {
    {NULL, "Where", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first; what it was before"},
    {NULL, "what", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "kernel or kind of operation, and the metric"},
    {NULL, "before", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 2, "mean of the runs"},
    {NULL, "after", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 2, "mean of the runs"},
    {NULL, "change", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0, "(after - before) / before, with its 95 % interval"},
    {NULL, "of the run", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1, "after - before as % of the wall time before; times only"},
};
static const struct sonde_view_columns changes = SONDE_VIEW_COLUMNS("differences", change_columns);

static const struct sonde_view_column other_columns[] = {
    {NULL, "Only on one side", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel or kind of operation"},
    {NULL, "", SONDE_CELL_TEXT, 0, 0, "new or gone"},
    {NULL, "count", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1, "operations; mean of the runs"},
    {NULL, "time", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0, "device time; mean of the runs"},
    {NULL, "called from", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first"},
};
static const struct sonde_view_columns others = SONDE_VIEW_COLUMNS_OF("only_on_one_side", " ", other_columns);

static const struct sonde_view_column item_columns[] = {
    {"item", "Differs", SONDE_CELL_TEXT, 0, 0, "what differs besides the times"},
    {"before", "before", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "what the runs say, each text once"},
    {"after", "after", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "the same of the other side"},
};
static const struct sonde_view_columns items = SONDE_VIEW_COLUMNS("ledger", item_columns);

static const struct sonde_view_column columns[] = {
    {"sentence", NULL, SONDE_CELL_TEXT, 0, 0, "the result in words"},
    {"total", NULL, SONDE_CELL_OBJECT, 0, 0, "the run", .of = &total},
    {"step", NULL, SONDE_CELL_OBJECT, 0, 0, "the step; null: both sides have no range in common that repeats", .of = &step},
    {"rows", NULL, SONDE_CELL_LIST, 0, 0, "contexts, kernels and metrics: times first, largest difference first", .of = &rows},
    {"by_runs", NULL, SONDE_CELL_BOOLEAN, 0, 0, "intervals are from differences between runs; else from those within one run a side"},
    {"common", NULL, SONDE_CELL_SHARE, 0, 0, "part of the operations' time that is at places of both sides"},
    {"before", NULL, SONDE_CELL_LIST, 0, 0, "measurements", .of = &texts},
    {"after", NULL, SONDE_CELL_LIST, 0, 0, "measurements", .of = &texts},
    {"ledger", NULL, SONDE_CELL_LIST, 0, 0, "what else differs", .of = &items},
    {"warnings", NULL, SONDE_CELL_LIST, 0, 0, "why the sides are hardly comparable", .of = &texts},
};
static const struct sonde_view_columns whole = SONDE_VIEW_COLUMNS("diff", columns);

const struct sonde_view sonde_view_diff = {
    .name = "diff",
    .summary = "two sides of one or several measurements, compared",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&whole, &changes, &others, NULL},
};

/* ---- names -------------------------------------------------------------------------------------------- */

static const struct sonde_cct_node *node_of(const struct sonde_diff_shown *s, const struct sonde_diff_row *row, int side)
{
    return &s->queries[row->run[side]]->profile->nodes.items[row->node[side]];
}

static bool has(const struct sonde_diff_row *row, int side)
{
    return row->run[side] != UINT32_MAX;
}

static int shown_side(const struct sonde_diff_row *row)
{
    return has(row, SONDE_DIFF_AFTER) ? SONDE_DIFF_AFTER : SONDE_DIFF_BEFORE;
}

/* The user's own code is one context by function: "host_difference() heat.c ← main() heat.c:241". */
static void add_own_code(const struct sonde_query *q, uint32_t frame, uint32_t frames, struct sonde_text *out)
{
    const uint32_t parent = q->profile->nodes.items[frame].parent;
    uint32_t caller;
    sonde_name_routine(q, out, &q->profile->nodes.items[frame]);
    if (frames < 2 || !sonde_profile_callers(q->profile, parent, &caller, 1))
        return;
    sonde_text_add(out, sonde_profile_called_by(q->profile, frame));
    sonde_name_callers(q, out, parent, frames - 1);
}

/* "step() heat.c:81 ← main() heat.c:140", "clFinish in step() heat.c:88 ← main() heat.c:140". */
static void add_context(const struct sonde_diff_shown *s, const struct sonde_diff_row *row, int side, uint32_t frames, struct sonde_text *out)
{
    const struct sonde_query *q = s->queries[row->run[side]];
    const uint32_t leaf = row->node[side];
    const bool api = q->profile->nodes.items[leaf].kind == SONDE_FRAME_API;
    const uint32_t routine = row->op || api ? leaf : sonde_profile_routine(q->profile, leaf);
    uint32_t nearest = 0;
    const bool placed = sonde_profile_callers(q->profile, leaf, &nearest, 1) > 0;
    if (!row->op && placed && nearest == routine) {
        add_own_code(q, routine, frames, out);
        return;
    }
    if (!row->op) {
        sonde_name_routine(q, out, &q->profile->nodes.items[routine]);
        sonde_text_add(out, placed ? " in " : "");
    }
    if (row->op || placed)
        sonde_name_callers(q, out, leaf, frames);
}

static const char *kernel_of(const struct sonde_diff_shown *s, const struct sonde_diff_row *row, int side)
{
    const struct sonde_cct_node *node = node_of(s, row, side);
    return *node->name ? node->name : sonde_op_kind_name(row->op);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

static void add_value(struct sonde_text *out, enum sonde_diff_metric metric, double value)
{
    char text[SONDE_NUMBER_MAX];
    if (sonde_diff_metric_is_time(metric))
        sonde_text_add(out, sonde_number_time(text, value));
    else if (metric == SONDE_DIFF_BYTES)
        sonde_text_add(out, sonde_number_bytes(text, value));
    else if (value == floor(value) && value < 1e18)
        sonde_text_add(out, sonde_number_count(text, (uint64_t)value));
    else
        sonde_text_add(out, sonde_number_plain(text, value));
}

/* "+6.2 %" of a ratio of 1.062. */
static void add_percent(struct sonde_text *out, double ratio)
{
    char text[SONDE_NUMBER_MAX];
    sonde_number_percent(text, fabs(ratio - 1), 1);
    if (*text != '<') /* too little for a sign */
        sonde_text_add(out, ratio < 1 ? "−" : (ratio > 1 ? "+" : ""));
    sonde_text_add(out, text);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* What pictures of the tree of contexts are made of. */
static void path_cell(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row, int side, const char *kernel)
{
    const struct sonde_query *q = s->queries[row->run[side]];
    const struct sonde_cct_node *nodes = q->profile->nodes.items;
    const uint32_t leaf = row->node[side], routine = row->op || nodes[leaf].kind == SONDE_FRAME_API ? leaf : sonde_profile_routine(q->profile, leaf);
    struct sonde_view_table *list = sonde_cell_list(t);
    uint32_t callers[PATH_MOST];
    const uint32_t count = sonde_profile_callers(q->profile, leaf, callers, PATH_MOST);
    for (uint32_t i = count; i-- > 0;) {
        struct sonde_text name = {0};
        sonde_name_routine(q, &name, &nodes[callers[i]]);
        sonde_cell_take(list, &name);
    }
    if (kernel)
        sonde_cell_text(list, kernel);
    else if (!count || callers[0] != routine) {
        struct sonde_text name = {0};
        sonde_name_routine(q, &name, &nodes[routine]);
        sonde_cell_take(list, &name);
    }
}

static void names_cells(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row)
{
    const int side = shown_side(row);
    struct sonde_text here = {0}, before = {0};
    add_context(s, row, side, FRAMES_JSON, &here);
    if (has(row, SONDE_DIFF_BEFORE))
        add_context(s, row, SONDE_DIFF_BEFORE, FRAMES_JSON, &before);
    const bool same = !has(row, SONDE_DIFF_BEFORE) || strcmp(sonde_text_get(&here), sonde_text_get(&before)) == 0;
    sonde_cell_text(t, sonde_text_get(&here));
    sonde_cell_text(t, same ? NULL : sonde_text_get(&before));
    const char *kernel = row->op ? kernel_of(s, row, side) : NULL;
    const char *was = row->op && has(row, SONDE_DIFF_BEFORE) ? kernel_of(s, row, SONDE_DIFF_BEFORE) : NULL;
    sonde_cell_text(t, kernel);
    sonde_cell_text(t, was && strcmp(was, kernel) != 0 ? was : NULL);
    path_cell(t, s, row, side, kernel);
    sonde_text_fini(&here);
    sonde_text_fini(&before);
}

static void row_cells(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row)
{
    const struct sonde_diff_effect *effect = &row->effect;
    names_cells(t, s, row);
    sonde_cell_text(t, sonde_diff_match_name(row->match));
    sonde_cell_int(t, row->run[SONDE_DIFF_AFTER] == s->before_count, row->node[SONDE_DIFF_AFTER]);
    sonde_cell_text(t, sonde_diff_metric_name(row->metric));
    sonde_cell_figure(t, true, row->before);
    sonde_cell_figure(t, true, row->after);
    sonde_cell_figure(t, true, row->after - row->before);
    sonde_cell_figure(t, effect->known, effect->low);
    sonde_cell_figure(t, effect->known, effect->high);
    sonde_cell_figure(t, effect->known, effect->p);
    if (effect->known)
        sonde_cell_boolean(t, row->significant);
    else
        sonde_cell_unknown(t);
}

/* ---- the same for people ------------------------------------------------------------------------------------ */

/* "called from", and what it was where it moved. */
static void place_cell(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row, bool compare)
{
    struct sonde_text here = {0}, before = {0};
    add_context(s, row, shown_side(row), FRAMES_SHOWN, &here);
    if (compare && row->match < SONDE_DIFF_NEW)
        add_context(s, row, SONDE_DIFF_BEFORE, FRAMES_SHOWN, &before);
    if (before.length && strcmp(sonde_text_get(&here), sonde_text_get(&before)) != 0)
        sonde_text_format(&here, " (was %s)", sonde_text_get(&before));
    sonde_cell_take(t, &here);
    sonde_text_fini(&before);
}

static void what_cell(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row)
{
    struct sonde_text what = {0};
    sonde_text_add(&what, sonde_diff_metric_name(row->metric));
    if (row->op) {
        const char *now = kernel_of(s, row, shown_side(row));
        sonde_text_format(&what, " of %s", now);
        if (row->match == SONDE_DIFF_RENAMED && strcmp(now, kernel_of(s, row, SONDE_DIFF_BEFORE)) != 0)
            sonde_text_format(&what, " (was %s)", kernel_of(s, row, SONDE_DIFF_BEFORE));
    }
    sonde_cell_take(t, &what);
}

static void value_cell(struct sonde_view_table *t, enum sonde_diff_metric metric, double value)
{
    struct sonde_text text = {0};
    add_value(&text, metric, value);
    sonde_cell_take(t, &text);
}

/* "+12.4 % [+10.1, +14.6]". */
static void change_cell(struct sonde_view_table *t, const struct sonde_diff_row *row)
{
    const double percent = row->before > 0 ? 100 / row->before : 0;
    const double ends[] = {row->effect.low * percent, row->effect.high * percent};
    const int digits = fabs(ends[1] - ends[0]) < 10 ? 1 : 0;
    struct sonde_text text = {0};
    if (!(row->before > 0)) {
        sonde_cell_text(t, "new");
        return;
    }
    sonde_text_format(&text, "%+.*f %% [%+.*f, %+.*f]", digits, (row->after - row->before) * percent, digits, ends[0], digits, ends[1]);
    sonde_cell_take(t, &text);
}

static void change_row(struct sonde_view_table *t, const struct sonde_diff_shown *s, const struct sonde_diff_row *row)
{
    const double delta = row->after - row->before, base = s->diff->total.before_ns;
    struct sonde_text share = {0};
    place_cell(t, s, row, true);
    what_cell(t, s, row);
    value_cell(t, row->metric, row->before);
    value_cell(t, row->metric, row->after);
    change_cell(t, row);
    if (sonde_diff_metric_is_time(row->metric) && base > 0) {
        add_percent(&share, 1 + delta / base);
        sonde_cell_take(t, &share);
    } else {
        sonde_cell_blank(t);
    }
}

static size_t limit_of(const struct sonde_diff_shown *s, size_t all)
{
    return s->limit && s->limit < all ? s->limit : all;
}

static void show_changes(const struct sonde_diff_shown *s, struct sonde_view_data *out)
{
    struct sonde_view_table *t = sonde_view_table(out, &changes);
    size_t significant = 0;
    for (size_t i = 0; i < s->diff->rows.count; i++)
        significant += s->diff->rows.items[i].significant;
    for (size_t i = 0, shown = 0; i < s->diff->rows.count && shown < limit_of(s, significant); i++)
        if (s->diff->rows.items[i].significant) {
            change_row(t, s, &s->diff->rows.items[i]);
            shown++;
        }
    if (significant)
        sonde_view_show(out, t, true);
    if (significant > limit_of(s, significant))
        sonde_view_say(out, false, "… %zu more: --limit 0", significant - limit_of(s, significant));
}

static bool only_on_one_side(const struct sonde_diff_row *row)
{
    return row->metric == SONDE_DIFF_COUNT && row->op && row->match >= SONDE_DIFF_NEW;
}

static void show_others(const struct sonde_diff_shown *s, struct sonde_view_data *out)
{
    struct sonde_view_table *t = sonde_view_table(out, &others);
    size_t all = 0, shown = 0;
    for (size_t i = 0; i < s->diff->rows.count; i++)
        all += only_on_one_side(&s->diff->rows.items[i]);
    for (size_t i = 0; i < s->diff->rows.count && shown < limit_of(s, all); i++) {
        const struct sonde_diff_row *row = &s->diff->rows.items[i];
        if (!only_on_one_side(row))
            continue;
        shown++;
        sonde_cell_text(t, kernel_of(s, row, shown_side(row)));
        sonde_cell_text(t, sonde_diff_match_name(row->match));
        value_cell(t, SONDE_DIFF_COUNT, row->before + row->after);
        if (row->device_ns >= 0)
            value_cell(t, SONDE_DIFF_TIME, row->device_ns);
        else
            sonde_cell_unknown(t);
        place_cell(t, s, row, false);
    }
    if (all)
        sonde_view_show(out, t, true);
    if (all > shown)
        sonde_view_say(out, false, "… %zu more: --limit 0", all - shown);
}

/* ---- the sentence ---------------------------------------------------------------------------------------------- */

const struct sonde_diff_ratio *sonde_diff_leading(const struct sonde_diff *diff)
{
    return diff->step.known && diff->step.effect.known ? &diff->step : &diff->total;
}

/* "8.1 % slower [6.0, 10.2]", "2.31 times as long [2.20, 2.43]". */
static void add_ratio(struct sonde_text *out, double ratio, const struct sonde_diff_effect *effect)
{
    const bool times = ratio >= 2 || ratio <= .5;
    if (times)
        sonde_text_format(out, "%.2f times as long", ratio);
    else
        sonde_text_format(out, "%.1f %% %s", fabs(ratio - 1) * 100, ratio < 1 ? "faster" : "slower");
    if (!effect->known)
        return;
    if (times)
        sonde_text_format(out, " [%.2f, %.2f]", effect->low, effect->high);
    else if (ratio < 1)
        sonde_text_format(out, " [%.1f, %.1f]", (1 - effect->high) * 100, (1 - effect->low) * 100);
    else
        sonde_text_format(out, " [%.1f, %.1f]", (effect->low - 1) * 100, (effect->high - 1) * 100);
}

static void add_times(struct sonde_text *out, const struct sonde_diff_ratio *of)
{
    char before[SONDE_NUMBER_MAX], after[SONDE_NUMBER_MAX];
    sonde_text_format(out, "took %s before and %s after", sonde_number_time(before, of->before_ns), sonde_number_time(after, of->after_ns));
}

static void add_verdict(struct sonde_text *out, const struct sonde_diff *diff)
{
    const struct sonde_diff_ratio *of = sonde_diff_leading(diff);
    const double ratio = of->before_ns > 0 ? of->after_ns / of->before_ns : 0;
    sonde_text_add(out, of == &diff->step ? "The step " : "The run ");
    if (!of->known || !(ratio > 0)) {
        sonde_text_add(out, "took an unknown time on one side");
    } else if (!of->effect.known) {
        add_times(out, of);
        if (of->after_ns != of->before_ns) {
            sonde_text_add(out, ": ");
            add_ratio(out, ratio, &of->effect);
            sonde_text_add(out, ", with unknown noise");
        }
    } else if (of->effect.low <= 1 && of->effect.high >= 1) {
        add_times(out, of);
        sonde_text_add(out, ", no significant difference [");
        add_percent(out, of->effect.low);
        sonde_text_add(out, ", ");
        add_percent(out, of->effect.high);
        sonde_text_add(out, "]");
    } else {
        sonde_text_add(out, ratio >= 2 || ratio <= .5 ? "took " : "got ");
        add_ratio(out, ratio, &of->effect);
    }
}

struct place {
    uint32_t number;
    double delta;
    const struct sonde_diff_row *row;
};

static int by_number(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The place with most significant difference of device time, one of its rows; NULL: there is none. */
static const struct sonde_diff_row *find_place(const struct sonde_diff *diff, double *delta)
{
    struct place *places = calloc(diff->rows.count ? diff->rows.count : 1, sizeof *places);
    const struct sonde_diff_row *best = NULL;
    size_t count = 0;
    *delta = 0;
    for (size_t i = 0; places && i < diff->rows.count; i++) {
        const struct sonde_diff_row *row = &diff->rows.items[i];
        if (row->significant && row->metric == SONDE_DIFF_TIME)
            places[count++] = (struct place){row->place, row->after - row->before, row};
    }
    if (count)
        qsort(places, count, sizeof *places, by_number);
    for (size_t i = 0, last; i < count; i = last) {
        double sum = 0;
        for (last = i; last < count && places[last].number == places[i].number; last++)
            sum += places[last].delta;
        if (fabs(sum) > fabs(*delta)) {
            *delta = sum;
            best = places[i].row;
        }
    }
    free(places);
    return best;
}

/* Kernels, by name, that one side alone has; those that got another name are not new. 0 or SONDE_ENOMEM. */
static int count_kernels(const struct sonde_diff_shown *s, size_t *added, size_t *gone)
{
    struct sonde_intern names = {0};
    struct sonde_map sides = {0}; /* name -> bits of its sides */
    int rc = 0;
    for (size_t i = 0; i < s->diff->rows.count && !rc; i++) {
        const struct sonde_diff_row *row = &s->diff->rows.items[i];
        const bool kernel = row->metric == SONDE_DIFF_COUNT && sonde_op_kind_runs(row->op);
        for (int side = 0; side < SONDE_DIFF_SIDES && kernel && !rc; side++) {
            if (!has(row, side))
                continue;
            const uint32_t name = sonde_intern_text(&names, kernel_of(s, row, side));
            uint64_t bits = 0;
            sonde_map_get(&sides, name, &bits);
            rc = name ? sonde_map_put(&sides, name, bits | (row->match < SONDE_DIFF_NEW ? 3u : 1u << side)) : SONDE_ENOMEM;
        }
    }
    *added = *gone = 0;
    for (uint64_t name = 1, bits; name <= names.count; name++) {
        *added += sonde_map_get(&sides, name, &bits) && bits == 1u << SONDE_DIFF_AFTER;
        *gone += sonde_map_get(&sides, name, &bits) && bits == 1u << SONDE_DIFF_BEFORE;
    }
    sonde_intern_fini(&names);
    sonde_map_fini(&sides);
    return rc;
}

static void add_others(struct sonde_text *out, const struct sonde_diff_shown *s)
{
    size_t added, gone;
    out->failed |= count_kernels(s, &added, &gone) != 0;
    if (added)
        sonde_text_format(out, "; %zu new kernel%s", added, added == 1 ? "" : "s");
    if (gone && added)
        sonde_text_format(out, ", %zu gone", gone);
    else if (gone)
        sonde_text_format(out, "; %zu kernel%s gone", gone, gone == 1 ? "" : "s");
}

static void add_sentence(struct sonde_text *out, const struct sonde_diff_shown *s)
{
    const struct sonde_diff *diff = s->diff;
    double delta;
    const struct sonde_diff_row *place = find_place(diff, &delta);
    const bool steps = sonde_diff_leading(diff) == &diff->step;
    const double base = steps ? diff->step.before_ns * diff->step_count[SONDE_DIFF_BEFORE] : diff->total.before_ns;
    add_verdict(out, diff);
    if (diff->common == 0)
        return;
    if (place && base > 0 && fabs(delta / base) >= WORTH_NAMING) {
        sonde_text_add(out, "; ");
        add_percent(out, 1 + delta / base);
        sonde_text_add(out, steps ? " of the steps is device time of " : " of it is device time of ");
        add_context(s, place, shown_side(place), 1, out);
    }
    add_others(out, s);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

static void ratio_cells(struct sonde_view_table *t, const struct sonde_diff_ratio *of)
{
    sonde_cell_real(t, of->before_ns > 0, of->before_ns);
    sonde_cell_real(t, of->after_ns > 0, of->after_ns);
    sonde_cell_real(t, of->known && of->before_ns > 0, of->before_ns > 0 ? of->after_ns / of->before_ns : 0);
    sonde_cell_real(t, of->effect.known, of->effect.low);
    sonde_cell_real(t, of->effect.known, of->effect.high);
}

static void step_cell(struct sonde_view_table *t, const struct sonde_diff *diff)
{
    if (!diff->step.known) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *object = sonde_cell_object(t);
    sonde_cell_text(object, diff->step_name);
    sonde_cell_real(object, true, diff->step_count[SONDE_DIFF_BEFORE]);
    sonde_cell_real(object, true, diff->step_count[SONDE_DIFF_AFTER]);
    ratio_cells(object, &diff->step);
}

static void paths_cell(struct sonde_view_table *t, const struct sonde_diff_shown *s, uint32_t first, uint32_t last)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = first; i < last; i++)
        sonde_cell_text(list, s->queries[i]->path);
}

static void item_rows(struct sonde_view_table *t, const struct sonde_diff *diff)
{
    for (size_t i = 0; i < diff->ledger.count; i++) {
        sonde_cell_text(t, diff->ledger.items[i].name);
        sonde_cell_text(t, diff->ledger.items[i].before);
        sonde_cell_text(t, diff->ledger.items[i].after);
    }
}

static void fill_root(const struct sonde_diff_shown *s, const char *sentence, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &whole), *list;
    sonde_cell_text(t, sentence);
    ratio_cells(sonde_cell_object(t), &s->diff->total);
    step_cell(t, s->diff);
    list = sonde_cell_list(t);
    for (size_t i = 0; i < s->diff->rows.count; i++)
        row_cells(list, s, &s->diff->rows.items[i]);
    sonde_cell_boolean(t, s->diff->by_runs);
    sonde_cell_share(t, s->diff->common, 1);
    paths_cell(t, s, 0, s->before_count);
    paths_cell(t, s, s->before_count, s->run_count);
    item_rows(sonde_cell_list(t), s->diff);
    list = sonde_cell_list(t);
    for (size_t i = 0; i < s->diff->warnings.count; i++)
        sonde_cell_text(list, s->diff->warnings.items[i]);
}

/* "heat.sonde, 1.92 s", "3 runs, 1.92 s". */
static void add_runs(const struct sonde_diff_shown *s, uint32_t first, uint32_t count, double wall_ns, struct sonde_text *out)
{
    char time[SONDE_NUMBER_MAX];
    if (count == 1)
        sonde_text_add(out, s->queries[first]->path);
    else
        sonde_text_format(out, "%u runs", count);
    if (wall_ns > 0)
        sonde_text_format(out, ", %s", sonde_number_time(time, wall_ns));
}

static void say_runs(const struct sonde_diff_shown *s, struct sonde_view_data *out)
{
    char before[SONDE_NUMBER_MAX], after[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_add(&text, "before: ");
    add_runs(s, 0, s->before_count, s->diff->total.before_ns, &text);
    sonde_text_add(&text, "; after: ");
    add_runs(s, s->before_count, s->run_count - s->before_count, s->diff->total.after_ns, &text);
    sonde_view_say(out, false, "%s", sonde_text_get(&text));
    sonde_text_fini(&text);
    if (s->diff->step.known)
        sonde_view_say(out, false, "the step is the range %s: %s before, %s after", s->diff->step_name,
                       sonde_number_time(before, s->diff->step.before_ns), sonde_number_time(after, s->diff->step.after_ns));
}

static void say_noise(const struct sonde_diff_shown *s, struct sonde_view_data *out)
{
    size_t tested = 0, significant = 0;
    for (size_t i = 0; i < s->diff->rows.count; i++) {
        tested += s->diff->rows.items[i].effect.known;
        significant += s->diff->rows.items[i].significant;
    }
    sonde_view_say(out, true, "%zu of %zu tested differences are significant (5 %% of those of a metric may be false ones)",
                   significant, tested);
    if (!s->diff->by_runs)
        sonde_view_say(out, false, "with one run a side the noise between runs is unknown: intervals are from what varies within each; "
                                   "'sonde diff A1,A2,A3 B1,B2,B3' compares runs");
}

int sonde_diff_queries(const struct sonde_query *const *queries, uint32_t run_count, uint32_t before_count, struct sonde_diff *out,
                       struct sonde_diag *diag)
{
    struct sonde_diff_run *runs = calloc(run_count, sizeof *runs);
    for (uint32_t i = 0; runs && i < run_count; i++)
        runs[i] = (struct sonde_diff_run){queries[i]->m, queries[i]->profile, &queries[i]->totals};
    const struct sonde_diff_config config = {
        .runs = runs, .run_count = run_count, .before_count = before_count, .begin = queries[0]->begin, .end = queries[0]->end};
    const int rc = runs ? sonde_diff_compute(&config, out) : SONDE_ENOMEM;
    free(runs);
    return rc ? sonde_diag_set(diag, rc, NULL, "cannot compare the measurements") : 0;
}

int sonde_diff_fill(const struct sonde_diff_shown *shown, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_text sentence = {0};
    struct sonde_view_table *list = sonde_view_table(out, &items);
    add_sentence(&sentence, shown);
    for (size_t i = 0; i < shown->diff->warnings.count; i++)
        sonde_view_say(out, false, "warning: %s", shown->diff->warnings.items[i])->tone = SONDE_TONE_WARNING;
    sonde_view_say(out, shown->diff->warnings.count > 0, "%s", sonde_text_get(&sentence))->tone = SONDE_TONE_TITLE;
    say_runs(shown, out);
    if (shown->diff->common > 0) {
        show_changes(shown, out);
        show_others(shown, out);
    }
    item_rows(list, shown->diff);
    if (shown->diff->ledger.count)
        sonde_view_show(out, list, true);
    if (shown->diff->common > 0)
        say_noise(shown, out);
    fill_root(shown, sonde_text_get(&sentence), out);
    const int rc = sentence.failed ? SONDE_ENOMEM : out->error;
    sonde_text_fini(&sentence);
    return rc ? sonde_diag_set(diag, rc, NULL, "cannot show the comparison") : 0;
}

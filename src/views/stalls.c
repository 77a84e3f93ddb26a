/* stalls.c - the view `stalls`: where warps of kernels were when the device was sampled, and why they did not go on (record --pc): by function, line,
 * instruction and calling context. docs/stalls.md.
 */
#include "analyze/profile/stalls.h"

#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "base/text.h"
#include "groups.h"
#include "names.h"
#include "view.h"

enum {
    TOP = 10,     /* lines, instructions, contexts that people see below the functions */
    MEANINGS = 6, /* that are explained below */
};

static const struct sonde_view_column reason_columns[] = {
    {"reason", NULL, SONDE_CELL_TEXT, 0, 0, "why the warp could not go on, as NVIDIA names it"},
    {"samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples with this reason"},
    {"idle_samples", NULL, SONDE_CELL_COUNT, 0, 0, "of these, in whose cycle the scheduler issued nothing at all"},
};
static const struct sonde_view_columns reason_list = SONDE_VIEW_COLUMNS("reasons", reason_columns);

static const struct sonde_view_column meaning_columns[] = {
    {"reason", NULL, SONDE_CELL_TEXT, 0, 0, "why warps could not go on, as NVIDIA names it"},
    {"samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples with this reason, of all code"},
    {"idle_samples", NULL, SONDE_CELL_COUNT, 0, 0, "of these, in whose cycle the scheduler issued nothing at all"},
    {"meaning", NULL, SONDE_CELL_TEXT, 0, 0, "what the warp waits for; null: a reason that is new"},
};
static const struct sonde_view_columns meaning_list = SONDE_VIEW_COLUMNS("meanings", meaning_columns);

#define SAMPLE_COLUMNS                                                                                                                           \
    {"samples", "samples", SONDE_CELL_COUNT, 0, 2, "samples of warps that were there"},                                                          \
        {"share", "share", SONDE_CELL_SHARE, 0, 0, "as % of the samples of all code"},                                                           \
        {"issued_samples", NULL, SONDE_CELL_COUNT, 0, 0, "of these, in which the warp went on"},                                                 \
        {"idle_samples", NULL, SONDE_CELL_COUNT, 0, 0, "of these, in whose cycle the scheduler issued nothing at all"},                          \
        {NULL, "went on", SONDE_CELL_SHARE, 0, 3, "samples in which the warp went on, as % of the row's"},                                       \
        {NULL, "idle", SONDE_CELL_SHARE, 0, 4, "samples in whose cycle the scheduler issued nothing at all, as % of the row's"},                 \
        {NULL, "waits, mostly", SONDE_CELL_TEXT, 0, 0, "most frequent reason why the warp did not go on"},                                       \
        {NULL, "that", SONDE_CELL_SHARE, 0, 0, "samples with it, as % of the row's"},                                                            \
        {NULL, "then", SONDE_CELL_TEXT, 0, 1, "second reason, with its share"},                                                                  \
        {"reasons", NULL, SONDE_CELL_LIST, 0, 0, "all of them, most samples first", .of = &reason_list},                                         \
    {                                                                                                                                            \
        "process", NULL, SONDE_CELL_TEXT, 0, 0, "process"                                                                                        \
    }

static const struct sonde_view_column function_columns[] = {
    {NULL, "Function", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel or function of the device's code, and its device if there are several"},
    {"function", NULL, SONDE_CELL_TEXT, 0, 0, "its name as the source has it"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    SAMPLE_COLUMNS,
};
static const struct sonde_view_columns functions = SONDE_VIEW_COLUMNS("functions", function_columns);

static const struct sonde_view_column line_columns[] = {
    {NULL, "Line", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "line of the source, and the function whose code is of it"},
    {"function", NULL, SONDE_CELL_TEXT, 0, 0, "function of the device's code"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file; null: the code has no lines (nvcc -lineinfo)"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "line in it"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    SAMPLE_COLUMNS,
};
static const struct sonde_view_columns lines = SONDE_VIEW_COLUMNS("lines", line_columns);

static const struct sonde_view_column instruction_columns[] = {
    {NULL, "Instruction", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "function and bytes from its beginning, and the line that it is of"},
    {"function", NULL, SONDE_CELL_TEXT, 0, 0, "function of the device's code"},
    {"offset", NULL, SONDE_CELL_ID, 0, 0, "bytes from the function's beginning, as disassemblers show them"},
    {"text", "code", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "what it is, as NVIDIA's disassembler prints it; null: not known"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file; null: the code has no lines (nvcc -lineinfo)"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "line in it"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    SAMPLE_COLUMNS,
};
static const struct sonde_view_columns instructions = SONDE_VIEW_COLUMNS("instructions", instruction_columns);

static const struct sonde_view_column context_columns[] = {
    {NULL, "In context", SONDE_CELL_TEXT, SONDE_STYLE_STACK | SONDE_STYLE_MAIN, 0, "kernel, and the nearest frames of the user's code that launched it"},
    {"function", NULL, SONDE_CELL_TEXT, 0, 0, "name of the kernel"},
    {"operations", "launches", SONDE_CELL_COUNT, 0, 2, "launches there"},
    {"device_ns", "time", SONDE_CELL_TIME, 0, 1, "their time on the device"},
    {"samples", "samples", SONDE_CELL_NUMBER, 0, 0, "samples of the kernel's, divided among its contexts by that time"},
    {"share", "share", SONDE_CELL_SHARE, 0, 0, "as % of the samples of all code"},
    {"exact", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the kernel has no other context, so that nothing was divided"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "number of the context in this tree"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code, innermost first", .of = &sonde_frames},
};
static const struct sonde_view_columns contexts = SONDE_VIEW_COLUMNS("contexts", context_columns);

static const struct sonde_view_column columns[] = {
    {"cycles", NULL, SONDE_CELL_COUNT, 0, 0, "between two samples of a multiprocessor; null: there are none"},
    {"samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples of instructions"},
    {"elsewhere_samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples of code that CUPTI does not show: its own, which it adds to kernels, and the driver's"},
    {"dropped_samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples that the device had no room for"},
    {"lost_samples", NULL, SONDE_CELL_COUNT, 0, 0, "samples whose instructions CUPTI did not hand over"},
    {"issued_samples", NULL, SONDE_CELL_COUNT, 0, 0, "of the samples of instructions, in which the warp went on"},
    {"reasons", NULL, SONDE_CELL_LIST, 0, 0, "why warps did not go on, in all code, most samples first", .of = &meaning_list},
    {"functions", NULL, SONDE_CELL_LIST, 0, 0, "functions of the device's code, most samples first", .of = &functions},
    {"lines", NULL, SONDE_CELL_LIST, 0, 0, "lines of the source, most samples first", .of = &lines},
    {"instructions", NULL, SONDE_CELL_LIST, 0, 0, "instructions, most samples first", .of = &instructions},
    {"contexts", NULL, SONDE_CELL_LIST, 0, 0, "kernels by calling context, most samples first", .of = &contexts},
};
static const struct sonde_view_columns stalls = SONDE_VIEW_COLUMNS("stalls", columns);

/* ---- rows --------------------------------------------------------------------------------------------- */

struct showing {
    const struct sonde_query *q;
    const struct sonde_stalls *s;
    bool several; /* devices */
};

static bool of_several(const struct sonde_stalls *s)
{
    for (size_t i = 1; i < s->functions.count; i++)
        if (s->functions.items[i].device != s->functions.items[0].device || s->functions.items[i].process != s->functions.items[0].process)
            return true;
    return false;
}

static const struct sonde_stall_reason *reason_of(const struct showing *w, const struct sonde_stall_sum *sum, size_t at)
{
    return at < sum->reason_count ? &w->s->reasons.items[sum->first_reason + at] : NULL;
}

static void reason_cells(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum)
{
    const struct sonde_stall_reason *first = reason_of(w, sum, 0), *second = reason_of(w, sum, 1);
    char share[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_cell_text(t, first ? first->name : NULL);
    sonde_cell_share(t, first ? (double)first->samples : 0, (double)sum->samples);
    if (second)
        sonde_text_format(&text, "%s %s", second->name, sonde_number_percent(share, (double)second->samples, (double)sum->samples));
    sonde_cell_take(t, &text);
}

/* From `samples` to the end. */
static void sample_cells(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum)
{
    sonde_cell_int(t, true, sum->samples);
    sonde_cell_share(t, (double)sum->samples, (double)w->s->samples);
    sonde_cell_int(t, true, sum->issued);
    sonde_cell_int(t, true, sum->idle);
    sonde_cell_share(t, (double)sum->issued, (double)sum->samples);
    sonde_cell_share(t, (double)sum->idle, (double)sum->samples);
    reason_cells(t, w, sum);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < sum->reason_count; i++) {
        const struct sonde_stall_reason *r = reason_of(w, sum, i);
        sonde_cell_text(list, r->name);
        sonde_cell_int(list, true, r->samples);
        sonde_cell_int(list, true, r->idle);
    }
    sonde_cell_text(t, w->q->m->processes[sum->process].name);
}

static void add_function(struct sonde_text *out, const struct sonde_stall_sum *sum)
{
    if (*sum->function)
        sonde_name_function(out, sum->function);
    else
        sonde_text_add(out, "unknown");
}

static void add_place(struct sonde_text *out, const struct sonde_stall_sum *sum)
{
    const char *slash = strrchr(sum->file, '/');
    if (*sum->file)
        sonde_text_format(out, "%s:%u", slash ? slash + 1 : sum->file, sum->line);
}

static void add_device(struct sonde_text *out, const struct showing *w, const struct sonde_stall_sum *sum)
{
    if (!w->several || !sum->device)
        return;
    sonde_text_add(out, " on ");
    sonde_name_device(w->q, out, sum->process, sum->device);
}

static void function_row(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum)
{
    struct sonde_text title = {0};
    sonde_text_add(&title, *sum->function ? sum->function : "unknown");
    add_device(&title, w, sum);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, sum->function);
    sonde_cell_int(t, sum->device > 0, sum->device - 1);
    sample_cells(t, w, sum);
}

static void line_row(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum)
{
    struct sonde_text title = {0};
    add_place(&title, sum);
    sonde_text_add(&title, title.length ? " in " : "no lines of ");
    add_function(&title, sum);
    add_device(&title, w, sum);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, sum->function);
    sonde_cell_text(t, sum->file);
    sonde_cell_int(t, sum->line > 0, sum->line);
    sonde_cell_int(t, sum->device > 0, sum->device - 1);
    sample_cells(t, w, sum);
}

static void instruction_row(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum)
{
    struct sonde_text title = {0};
    add_function(&title, sum);
    sonde_text_format(&title, " + 0x%llx%s", (unsigned long long)sum->offset, *sum->file ? " " : "");
    add_place(&title, sum);
    add_device(&title, w, sum);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, sum->function);
    sonde_cell_int(t, true, sum->offset);
    sonde_cell_text(t, sum->text);
    sonde_cell_text(t, sum->file);
    sonde_cell_int(t, sum->line > 0, sum->line);
    sonde_cell_int(t, sum->device > 0, sum->device - 1);
    sample_cells(t, w, sum);
}

static void context_row(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_context *c)
{
    struct sonde_text title = {0};
    sonde_text_add(&title, c->function);
    sonde_text_add(&title, " ← ");
    sonde_name_callers(w->q, &title, c->leaf, 2);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, c->function);
    sonde_cell_int(t, true, c->operations);
    sonde_cell_int(t, true, c->device_ns);
    sonde_cell_real(t, true, c->samples);
    sonde_cell_share(t, c->samples, (double)w->s->samples);
    sonde_cell_boolean(t, c->exact);
    sonde_cell_int(t, true, c->leaf);
    sonde_cell_frames(t, w->q, c->leaf);
}

typedef void row_fn(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sum);

static size_t rows_below(const struct sonde_query *q, size_t count)
{
    return q->complete || q->limit_given || count <= TOP ? sonde_query_rows(q, count) : TOP;
}

static void fill_sums(struct sonde_view_table *t, const struct showing *w, const struct sonde_stall_sum *sums, size_t count, row_fn *row)
{
    const size_t shown = row == function_row ? sonde_query_rows(w->q, count) : rows_below(w->q, count);
    for (size_t i = 0; i < shown; i++)
        row(t, w, &sums[i]);
    t->left_out = count - shown;
}

/* ---- what people read below ----------------------------------------------------------------------------- */

/* What the reasons mean that most samples have. */
static void say_meanings(struct sonde_view_data *out, const struct sonde_stalls *s)
{
    struct sonde_text text = {0};
    size_t count = 0;
    for (size_t i = 0; i < s->all.reason_count && count < MEANINGS; i++) {
        const char *reason = s->reasons.items[s->all.first_reason + i].name, *meaning = sonde_stall_meaning(reason);
        if (meaning)
            sonde_text_format(&text, "%s%s: %s", count++ ? "; " : "", reason, meaning);
    }
    if (count)
        sonde_view_say(out, true, "%s.", sonde_text_get(&text));
    sonde_text_fini(&text);
}

static void say_samples(struct sonde_view_data *out, const struct sonde_stalls *s)
{
    char samples[SONDE_NUMBER_MAX], cycles[SONDE_NUMBER_MAX], other[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s samples, one of each multiprocessor every %s cycles", sonde_number_count(samples, s->samples), sonde_number_count(cycles, s->cycles));
    if (s->elsewhere)
        sonde_text_format(&text, "; %s more of code that CUPTI adds or does not show", sonde_number_count(other, s->elsewhere));
    if (s->dropped + s->lost)
        sonde_text_format(&text, "; %s are missing", sonde_number_count(other, s->dropped + s->lost));
    sonde_view_say(out, true, "%s.", sonde_text_get(&text));
    sonde_text_fini(&text);
}

/* What the recording says of its samples, or why it has none. */
static bool say_notes(struct sonde_view_data *out, const struct sonde_query *q)
{
    enum { MOST = 3 };
    const char *said[MOST] = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < q->m->process_count; i++)
        for (uint32_t k = 0; k < q->m->processes[i].note_count && count < MOST; k++) {
            const char *text = q->m->processes[i].notes[k].text;
            bool known = strncmp(text, "pc: ", 4) != 0;
            for (size_t j = 0; j < count && !known; j++)
                known = strncmp(said[j], text, sizeof q->m->processes[i].notes[k].text) == 0;
            if (known)
                continue;
            said[count++] = text;
            sonde_view_say(out, true, "%.*s", (int)(sizeof q->m->processes[i].notes[k].text - 4), text + 4);
        }
    return count > 0;
}

static void say_none(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_stalls *s)
{
    if (s->cycles)
        sonde_view_say(out, false, "there are no samples of kernels' code");
    if (!say_notes(out, q) && !s->cycles)
        sonde_view_say(out, false, "kernels were not sampled: sonde record --pc does that, on NVIDIA devices");
}

static void fill(const struct sonde_query *q, const struct sonde_stalls *s, struct sonde_view_data *out)
{
    const struct showing w = {.q = q, .s = s, .several = of_several(s)};
    const size_t context_count = rows_below(q, s->contexts.count);
    struct sonde_view_table *t = out->root = sonde_view_table(out, &stalls);
    sonde_cell_int(t, s->cycles > 0, s->cycles);
    sonde_cell_int(t, true, s->samples);
    sonde_cell_int(t, true, s->elsewhere);
    sonde_cell_int(t, true, s->dropped);
    sonde_cell_int(t, true, s->lost);
    sonde_cell_int(t, true, s->all.issued);
    struct sonde_view_table *of_reasons = sonde_cell_list(t);
    for (size_t i = 0; i < s->all.reason_count; i++) {
        const struct sonde_stall_reason *r = &s->reasons.items[s->all.first_reason + i];
        sonde_cell_text(of_reasons, r->name);
        sonde_cell_int(of_reasons, true, r->samples);
        sonde_cell_int(of_reasons, true, r->idle);
        sonde_cell_text(of_reasons, sonde_stall_meaning(r->name));
    }
    struct sonde_view_table *of_functions = sonde_cell_list(t), *of_lines = sonde_cell_list(t), *of_instructions = sonde_cell_list(t), *of_contexts = sonde_cell_list(t);
    fill_sums(of_functions, &w, s->functions.items, s->functions.count, function_row);
    fill_sums(of_lines, &w, s->lines.items, s->lines.count, line_row);
    fill_sums(of_instructions, &w, s->instructions.items, s->instructions.count, instruction_row);
    for (size_t i = 0; i < context_count; i++)
        context_row(of_contexts, &w, &s->contexts.items[i]);
    of_contexts->left_out = s->contexts.count - context_count;
    if (!s->samples) {
        say_none(out, q, s);
        return;
    }
    sonde_view_show(out, of_functions, false);
    sonde_view_show(out, of_lines, true);
    sonde_view_show(out, of_instructions, true);
    sonde_view_show(out, of_contexts, true);
    say_samples(out, s);
    say_meanings(out, s);
    say_notes(out, q);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_stalls s = {0};
    const int rc = sonde_stalls_compute(q->m, q->profile, &s);
    if (!rc)
        fill(q, &s, out);
    sonde_stalls_fini(&s);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot add up the samples of") : 0;
}

const struct sonde_view sonde_view_stalls = {
    .name = "stalls",
    .summary = "where warps of kernels wait, and for what",
    .description = "Where warps of CUDA kernels were when the device was sampled, and why they did not go on (record --pc): by function, source line, "
                   "instruction and calling context.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&stalls, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_PAUSES,
    .needs_operations = true,
    .make = make,
};

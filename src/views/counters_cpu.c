/* counters_cpu.c - see counters_cpu.h. docs/counters.md, "Of the CPU". */
#include "counters_cpu.h"

#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column all_columns[] = {
    {NULL, "CPU counter", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "counter, and its process if there are several"},
    {"counter", NULL, SONDE_CELL_TEXT, 0, 0, "perf's name of the event"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"count", "counted", SONDE_CELL_COUNT, 0, 0, "in user mode, in all of its threads that are sampled"},
    {"sampled", "in samples", SONDE_CELL_COUNT, 0, 0, "of that, what samples say: their number times the period"},
    {"unsampled", "in no sample", SONDE_CELL_COUNT, 0, 0, "the rest: less than a period in each thread, samples that were lost, and Sonde's own code in these threads"},
    {"samples", "samples", SONDE_CELL_COUNT, 0, 1, "samples that were taken"},
    {"lost", "lost", SONDE_CELL_COUNT, 0, 2, "samples that were not, as far as it is known: the thread was in Sonde's code, or its call path could not be had"},
    {"period", "period", SONDE_CELL_COUNT, 0, 3, "a thread gives a sample each time it has counted so many"},
    {"measured", "measured", SONDE_CELL_SHARE, 0, 4, "of the time in which it should have been counted; less than all where there were more counters than the hardware has at once"},
};
const struct sonde_view_columns sonde_tallies_all = SONDE_VIEW_COLUMNS("cpu", all_columns);

static const struct sonde_view_column routine_columns[] = {
    {NULL, "Routine", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "function in which it was counted, in all contexts together"},
    {"routine", NULL, SONDE_CELL_TEXT, 0, 0, "its name; null: unknown, or what is in no sample"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"counter", "counter", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "perf's name of the event"},
    {"count", "count", SONDE_CELL_COUNT, 0, 0, "what its samples say"},
    {"error", "±", SONDE_CELL_NUMBER, 0, 1, "standard error of that: the period times the square root of the number of samples; 0 with a period of 1"},
    {"share", "share", SONDE_CELL_SHARE, 0, 0, "of all that was counted"},
    {"samples", "samples", SONDE_CELL_COUNT, 0, 2, "samples that were taken there; null: what is in none"},
};
const struct sonde_view_columns sonde_tallies_routines = SONDE_VIEW_COLUMNS("cpu_routines", routine_columns);

static const struct sonde_view_column context_columns[] = {
    {NULL, "In context", SONDE_CELL_TEXT, SONDE_STYLE_STACK | SONDE_STYLE_MAIN, 0, "where it was counted, and the nearest frames of the user's code"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"counter", "counter", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "perf's name of the event"},
    {"count", "count", SONDE_CELL_COUNT, 0, 0, "what samples in this context say"},
    {"error", "±", SONDE_CELL_NUMBER, 0, 1, "standard error of that: the period times the square root of the number of samples; 0 with a period of 1"},
    {"share", "share", SONDE_CELL_SHARE, 0, 0, "of all that was counted"},
    {"samples", "samples", SONDE_CELL_COUNT, 0, 2, "samples that were taken there"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "number of the context in this tree"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "innermost frame: function, or API call; null: unknown"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code, innermost first", .of = &sonde_frames},
};
const struct sonde_view_columns sonde_tallies_contexts = SONDE_VIEW_COLUMNS("cpu_contexts", context_columns);

static uint64_t unsampled(const struct sonde_tally *c)
{
    return c->count > c->sampled ? c->count - c->sampled : 0; /* a program that was killed: what was counted is of a second before */
}

static double whole(const struct sonde_tally *c)
{
    return (double)(c->count > c->sampled ? c->count : c->sampled);
}

static void title_cell(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, struct sonde_text *name)
{
    struct sonde_text title = {0};
    if (q->m->process_count > 1)
        sonde_name_process_begin(q, &title, process);
    sonde_text_add(&title, sonde_text_get(name));
    if (q->m->process_count > 1)
        sonde_name_process_end(q, &title, process);
    sonde_text_fini(name);
    sonde_cell_take(t, &title);
}

static void all_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_tally *c)
{
    struct sonde_text name = {0};
    sonde_text_add(&name, c->name);
    title_cell(t, q, c->process, &name);
    sonde_cell_text(t, c->name);
    sonde_cell_text(t, q->m->processes[c->process].name);
    sonde_cell_int(t, true, c->count);
    sonde_cell_int(t, true, c->sampled);
    sonde_cell_int(t, true, unsampled(c));
    sonde_cell_int(t, true, c->samples);
    sonde_cell_int(t, true, c->lost);
    sonde_cell_int(t, true, c->period);
    sonde_cell_share(t, (double)c->running_ns, (double)c->enabled_ns);
}

static void part_cells(struct sonde_view_table *t, const struct sonde_tally *c, const struct sonde_tally_part *part)
{
    sonde_cell_text(t, c->name);
    sonde_cell_int(t, true, part->count);
    sonde_cell_real(t, part->samples > 0, part->error);
    sonde_cell_share(t, (double)part->count, whole(c));
    sonde_cell_int(t, part->samples > 0, part->samples);
}

/* `part` NULL: what is in no sample. */
static void routine_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_tally *c, const struct sonde_tally_part *part)
{
    const struct sonde_tally_part rest = {.count = unsampled(c)};
    const struct sonde_cct_node none = {.name = "", .file = "", .module = ""}, *node = part ? &q->profile->nodes.items[part->node] : &none;
    struct sonde_text name = {0};
    if (part)
        sonde_name_routine(q, &name, node);
    else
        sonde_text_add(&name, "in no sample");
    title_cell(t, q, c->process, &name);
    sonde_cell_text(t, *node->name ? node->name : NULL);
    sonde_cell_text(t, *node->file ? node->file : NULL);
    sonde_cell_text(t, *node->module ? node->module : NULL);
    sonde_cell_text(t, q->m->processes[c->process].name);
    part_cells(t, c, part ? part : &rest);
}

static void context_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_tally *c, const struct sonde_tally_part *part)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[part->node];
    struct sonde_text name = {0};
    uint32_t nearest;
    if (!sonde_profile_callers(q->profile, part->node, &nearest, 1)) {
        sonde_name_frame(q, &name, node);
    } else {
        if (nearest != part->node && (node->kind != SONDE_FRAME_NATIVE || *node->name)) {
            sonde_name_routine(q, &name, node);
            sonde_text_add(&name, " in ");
        }
        sonde_name_callers(q, &name, part->node, 2);
    }
    title_cell(t, q, c->process, &name);
    sonde_cell_text(t, q->m->processes[c->process].name);
    part_cells(t, c, part);
    sonde_cell_int(t, true, part->node);
    sonde_cell_text(t, *node->name ? node->name : NULL);
    sonde_cell_frames(t, q, part->node);
}

/* The largest of each counter, and last what is in none. */
static void parts_rows(const struct sonde_query *q, const struct sonde_tallies *tallies, struct sonde_view_table *routines, struct sonde_view_table *contexts)
{
    const size_t each = sonde_query_rows(q, tallies->contexts.count) / (tallies->all.count ? tallies->all.count : 1) + 1;
    size_t r = 0, k = 0;
    for (uint32_t i = 0; i < tallies->all.count; i++) {
        const struct sonde_tally *c = &tallies->all.items[i];
        for (size_t n = 0; r < tallies->routines.count && tallies->routines.items[r].tally == i; r++, n++)
            if (n < each || q->complete)
                routine_row(routines, q, c, &tallies->routines.items[r]);
            else
                routines->left_out++;
        if (unsampled(c))
            routine_row(routines, q, c, NULL);
        for (size_t n = 0; k < tallies->contexts.count && tallies->contexts.items[k].tally == i; k++, n++)
            if (n < each || q->complete)
                context_row(contexts, q, c, &tallies->contexts.items[k]);
            else
                contexts->left_out++;
    }
}

static void say_shared(const struct sonde_tallies *tallies, struct sonde_view_data *out)
{
    for (size_t i = 0; i < tallies->all.count; i++) {
        const struct sonde_tally *c = &tallies->all.items[i];
        if (c->running_ns < c->enabled_ns && c->running_ns < c->enabled_ns - c->enabled_ns / 1000)
            sonde_view_say(out, false, "%s was counted for %.1f %% of the time only: more counters were asked for than the hardware has at once. Its values are what was "
                                       "counted.",
                           c->name, 100.0 * (double)c->running_ns / (double)c->enabled_ns);
    }
}

void sonde_tallies_rows(const struct sonde_query *q, const struct sonde_tallies *tallies, struct sonde_view_table *all, struct sonde_view_table *routines,
                        struct sonde_view_table *contexts, struct sonde_view_data *out)
{
    for (size_t i = 0; i < tallies->all.count; i++)
        all_row(all, q, &tallies->all.items[i]);
    parts_rows(q, tallies, routines, contexts);
    if (!tallies->all.count)
        return;
    sonde_view_show(out, all, false);
    sonde_view_show(out, routines, true);
    sonde_view_show(out, contexts, true);
    say_shared(tallies, out);
}

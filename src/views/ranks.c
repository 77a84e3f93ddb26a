/* ranks.c - the view `ranks`: what each rank of a parallel job did, how evenly, and which of them the others wait for. docs/ranks.md. */
#include "analyze/job/ranks.h"

#include <stdio.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/model/rank.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "ranks_contexts.h"
#include "view.h"

/* ---- columns ------------------------------------------------------------------------------------------ */

static const struct sonde_view_column rank_columns[] = {
    {NULL, "Rank", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "number that its launcher gave it, and its host if there are several"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "number that its launcher gave it"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "its first process"},
    {"processes", "processes", SONDE_CELL_COUNT, 0, 5, "processes of that number: a process and its children"},
    {"begin_ns", "begin", SONDE_CELL_TIME, 0, 4, "start of its recording, since that of the first rank"},
#define X(id, name, title, kind) {name, title, SONDE_CELL_##kind, 0, SONDE_RANK_##id == SONDE_RANK_KERNELS || SONDE_RANK_##id == SONDE_RANK_API ? 3 : 0, meaning_##id},
#define meaning_WALL       "time from the start of recording to the end; of several processes the longest"
#define meaning_BUSY       "time in which its devices ran at least one of its operations, added up over devices and processes"
#define meaning_KERNELS    "time in which at least one kernel ran"
#define meaning_COPIES     "time in which at least one copy ran"
#define meaning_OPERATIONS "operations that finished"
#define meaning_BYTES      "bytes of copies and fills"
#define meaning_API        "host time in calls of the GPU API, of all threads"
#define meaning_WAITING    "of api_ns, in calls that are there to wait"
#define meaning_CPU        "CPU time of the program's threads; 0 when they were not sampled"
    SONDE_RANK_METRIC_MAP(X)
#undef X
        {"group", "group", SONDE_CELL_ID, 0, 2, "number of its group of like ranks, from 0"},
};
static const struct sonde_view_columns rank_list = SONDE_VIEW_COLUMNS("rank", rank_columns);

static const struct sonde_view_column metric_columns[] = {
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "column of `ranks`"},
    {NULL, "Of a rank", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "what it is"},
    {NULL, "least", SONDE_CELL_TEXT, 0, 0, "least of all ranks, and whose"},
    {NULL, "mean", SONDE_CELL_TEXT, 0, 0, "mean of all ranks"},
    {NULL, "most", SONDE_CELL_TEXT, 0, 0, "most of all ranks, and whose"},
    {"least", NULL, SONDE_CELL_NUMBER, 0, 0, "least of all ranks; times in ns"},
    {"least_rank", NULL, SONDE_CELL_ID, 0, 0, "rank that has it"},
    {"mean", NULL, SONDE_CELL_NUMBER, 0, 0, "mean of all ranks"},
    {"median", NULL, SONDE_CELL_NUMBER, 0, 0, "median of all ranks"},
    {"most", NULL, SONDE_CELL_NUMBER, 0, 0, "most of all ranks"},
    {"most_rank", NULL, SONDE_CELL_ID, 0, 0, "rank that has it"},
    {"imbalance", "imbalance", SONDE_CELL_SHARE, 0, 0, "most / mean - 1; unknown where the mean is 0"},
};
static const struct sonde_view_columns metric_list = SONDE_VIEW_COLUMNS("metrics", metric_columns);

static const struct sonde_view_column straggler_columns[] = {
    {"rank", "Straggler: rank", SONDE_CELL_ID, 0, 0, "a rank that is far above the others: see docs/ranks.md"},
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "column of `ranks`"},
    {NULL, "of", SONDE_CELL_TEXT, 0, 0, "what it has more of"},
    {"value_ns", "has", SONDE_CELL_TIME, 0, 0, "what it has"},
    {"median_ns", "median", SONDE_CELL_TIME, 0, 0, "median of all ranks"},
    {"excess_ns", "more", SONDE_CELL_TIME, 0, 0, "value less median"},
    {NULL, "most of it in", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC | SONDE_STYLE_STACK, 0, "where it exceeds the median of all ranks most"},
    {"cause", NULL, SONDE_CELL_TEXT, 0, 0, "the same in words; null: not known"},
    {"cause_ns", "there", SONDE_CELL_TIME, 0, 0, "by how much"},
};
static const struct sonde_view_columns straggler_list = SONDE_VIEW_COLUMNS("stragglers", straggler_columns);

static const struct sonde_view_column figure_columns[] = {
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "of `contexts` count: operations, calls or samples; bytes; delay_ns: time between the calls of operations and their begins on the device; waiting_ns: in calls that are there to wait. Of `paths` those of --metric; times in ns"},
    {"least", NULL, SONDE_CELL_NUMBER, 0, 0, "least of all ranks; a rank without it counts as 0"},
    {"least_rank", NULL, SONDE_CELL_ID, 0, 0, "rank that has it"},
    {"mean", NULL, SONDE_CELL_NUMBER, 0, 0, "mean of all ranks"},
    {"median", NULL, SONDE_CELL_NUMBER, 0, 0, "median of all ranks"},
    {"most", NULL, SONDE_CELL_NUMBER, 0, 0, "most of all ranks"},
    {"most_rank", NULL, SONDE_CELL_ID, 0, 0, "rank that has it"},
    {"imbalance", NULL, SONDE_CELL_SHARE, 0, 0, "most / mean - 1; null: the mean is 0"},
};
const struct sonde_view_columns sonde__rank_figures = SONDE_VIEW_COLUMNS("figures", figure_columns);

static const struct sonde_view_column context_columns[] = {
    {NULL, "Unevenly spent in", SONDE_CELL_TEXT, SONDE_STYLE_STACK | SONDE_STYLE_MAIN, 0, "operation, API call or routine, and the nearest frames of the user's code"},
    {"kind", "what", SONDE_CELL_TEXT, 0, 2, "device: device time of operations in a calling context; call: host time in an API call; code: CPU time of a routine, by samples"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "operation, API call or routine"},
    {"ranks", "ranks", SONDE_CELL_COUNT, 0, 3, "ranks that have it; the others count as 0"},
    {"least_ns", "least", SONDE_CELL_TIME, 0, 0, "least of all ranks"},
    {"mean_ns", "mean", SONDE_CELL_TIME, 0, 0, "mean of all ranks"},
    {"most_ns", "most", SONDE_CELL_TIME, 0, 0, "most of all ranks"},
    {"most_rank", "rank", SONDE_CELL_ID, 0, 0, "rank that has it"},
    {"imbalance", "imbalance", SONDE_CELL_SHARE, 0, 1, "most / mean - 1"},
    {"lost_ns", "most − mean", SONDE_CELL_TIME, 0, 0, "what all ranks would win if this were even, at most"},
    {"metrics", NULL, SONDE_CELL_LIST, 0, 0, "what else is known of it, over all ranks", .of = &sonde__rank_figures},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "node of the view profile"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code, innermost first", .of = &sonde_frames},
};
static const struct sonde_view_columns context_list = SONDE_VIEW_COLUMNS("contexts", context_columns);

static const struct sonde_view_column member_columns[] = {{NULL, NULL, SONDE_CELL_ID, 0, 0, "a rank"}};
static const struct sonde_view_columns member_list = SONDE_VIEW_COLUMNS("members", member_columns);

static const struct sonde_view_column group_columns[] = {
    {"group", "Group", SONDE_CELL_ID, 0, 0, "number, from 0: ranks whose device time lies in the same calling contexts, 95 % of it"},
    {"count", "ranks", SONDE_CELL_COUNT, 0, 0, "how many"},
    {NULL, "which", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "their numbers"},
    {"members", NULL, SONDE_CELL_LIST, 0, 0, "their numbers", .of = &member_list},
};
static const struct sonde_view_columns group_list = SONDE_VIEW_COLUMNS("groups", group_columns);

static const struct sonde_view_column columns[] = {
    {"size", NULL, SONDE_CELL_COUNT, 0, 0, "ranks of the job, as its launcher said; null: unknown"},
    {"hosts", NULL, SONDE_CELL_COUNT, 0, 0, "hosts they ran on"},
    {"clock_bound_ns", NULL, SONDE_CELL_TIME, 0, 0, "of several hosts: all times are by one clock, to within that, by what ranks waited for each other; 0: there is one, or nothing aligns them"},
    {"hosts_apart", NULL, SONDE_CELL_COUNT, 0, 0, "hosts whose clocks nothing aligns with the others'"},
    {"missing", NULL, SONDE_CELL_LIST, 0, 0, "ranks of which nothing was recorded", .of = &member_list},
    {"twice", NULL, SONDE_CELL_LIST, 0, 0, "ranks that processes of several hosts, or of several jobs of a launcher, say they are", .of = &member_list},
    {"ranks", NULL, SONDE_CELL_LIST, 0, 0, "each rank", .of = &rank_list},
    {"metrics", NULL, SONDE_CELL_LIST, 0, 0, "each of their figures, over all ranks", .of = &metric_list},
    {"stragglers", NULL, SONDE_CELL_LIST, 0, 0, "ranks far above the others, and why", .of = &straggler_list},
    {"contexts", NULL, SONDE_CELL_LIST, 0, 0, "where times differ from rank to rank", .of = &context_list},
    {"groups", NULL, SONDE_CELL_LIST, 0, 0, "ranks that are alike", .of = &group_list},
    {"paths", NULL, SONDE_CELL_LIST, 0, 0, "each calling context; the first is the whole, and callers come before their callees; null without --metric", .of = &sonde__rank_paths},
};
static const struct sonde_view_columns ranks = SONDE_VIEW_COLUMNS("ranks", columns);

/* ---- cells -------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *title;
    enum sonde_cell_kind kind;
} metrics[] = {
#define X(id, name, title, kind) {name, title, SONDE_CELL_##kind},
    SONDE_RANK_METRIC_MAP(X)
#undef X
};

static const char *shown(char text[SONDE_NUMBER_MAX], int metric, double value)
{
    if (metrics[metric].kind == SONDE_CELL_TIME)
        return sonde_number_time(text, value);
    if (metrics[metric].kind == SONDE_CELL_BYTES)
        return sonde_number_bytes(text, value);
    return sonde_number_count(text, (uint64_t)(value + 0.5));
}

static void rank_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_job *job, const struct sonde_rank_of_job *r)
{
    const struct sonde_process *p = &q->m->processes[r->process];
    struct sonde_text title = {0};
    sonde_text_format(&title, "%u", r->rank);
    if (job->hosts > 1)
        sonde_text_format(&title, " on %.*s", (int)sonde_host_length(p->name), p->name);
    sonde_cell_take(t, &title);
    sonde_cell_int(t, true, r->rank);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, r->processes);
    sonde_cell_int(t, true, r->begin_ns);
    for (int metric = 0; metric < SONDE_RANK_METRICS; metric++)
        sonde_cell_int(t, true, r->of[metric]);
    sonde_cell_int(t, true, r->group);
}

static void spread_cell(struct sonde_view_table *t, int metric, double value, uint32_t rank)
{
    char number[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s (rank %u)", shown(number, metric, value), rank);
    sonde_cell_take(t, &text);
}

static void metric_row(struct sonde_view_table *t, const struct sonde_job *job, int metric)
{
    const struct sonde_rank_spread *s = &job->of[metric];
    const uint32_t least = job->ranks.items[s->least_rank].rank, most = job->ranks.items[s->most_rank].rank;
    char number[SONDE_NUMBER_MAX];
    sonde_cell_text(t, metrics[metric].name);
    sonde_cell_text(t, metrics[metric].title);
    spread_cell(t, metric, s->least, least);
    sonde_cell_text(t, shown(number, metric, s->mean));
    spread_cell(t, metric, s->most, most);
    sonde_cell_real(t, true, s->least);
    sonde_cell_int(t, true, least);
    sonde_cell_real(t, true, s->mean);
    sonde_cell_real(t, true, s->median);
    sonde_cell_real(t, true, s->most);
    sonde_cell_int(t, true, most);
    sonde_cell_share(t, s->imbalance, s->mean > 0);
}

/* "vadd ← step() heat.c:88": an operation or a call with its callers; a routine is its own. */
static void name_context(const struct sonde_query *q, struct sonde_text *out, const struct sonde_rank_context *c)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[c->node];
    if (c->kind == SONDE_RANK_CODE) {
        sonde_name_routine(q, out, node);
        return;
    }
    if (c->kind == SONDE_RANK_DEVICE && *node->name)
        sonde_text_add(out, node->name);
    else
        sonde_name_frame(q, out, node);
    sonde_text_add(out, " ← ");
    sonde_name_callers(q, out, c->node, 2);
}

static void straggler_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_job *job, const struct sonde_straggler *s)
{
    struct sonde_text cause = {0}, again = {0};
    if (s->context != SIZE_MAX) {
        name_context(q, &cause, &job->contexts.items[s->context]);
        name_context(q, &again, &job->contexts.items[s->context]);
    }
    sonde_cell_int(t, true, job->ranks.items[s->rank].rank);
    sonde_cell_text(t, metrics[s->metric].name);
    sonde_cell_text(t, metrics[s->metric].title);
    sonde_cell_int(t, true, (uint64_t)s->value);
    sonde_cell_int(t, true, (uint64_t)s->median);
    sonde_cell_int(t, true, (uint64_t)s->excess);
    sonde_cell_take(t, &cause);
    sonde_cell_take(t, &again);
    sonde_cell_int(t, s->context != SIZE_MAX, (uint64_t)s->context_excess);
}

void sonde__rank_figure_row(struct sonde_view_table *t, const struct sonde_job *job, const char *name, bool known, const struct sonde_rank_spread *s)
{
    sonde_cell_text(t, name);
    sonde_cell_real(t, known, s->least);
    sonde_cell_int(t, known, job->ranks.items[s->least_rank].rank);
    sonde_cell_real(t, known, s->mean);
    sonde_cell_real(t, known, s->median);
    sonde_cell_real(t, known, s->most);
    sonde_cell_int(t, known, job->ranks.items[s->most_rank].rank);
    if (known)
        sonde_cell_share(t, s->imbalance, s->mean > 0);
    else
        sonde_cell_unknown(t);
}

#define X(id, name, kind) [SONDE_RANK_FIGURE_##id] = name,
static const char *const figure_names[] = {SONDE_RANK_FIGURE_MAP(X)};
#undef X

static void context_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_job *job, const struct sonde_rank_context *c)
{
    static const char *const kinds[] = {[SONDE_RANK_DEVICE] = "device", [SONDE_RANK_CALL] = "call", [SONDE_RANK_CODE] = "code"};
    struct sonde_text title = {0}, name = {0};
    name_context(q, &title, c);
    if (*q->profile->nodes.items[c->node].name)
        sonde_text_add(&name, q->profile->nodes.items[c->node].name);
    else
        sonde_name_frame(q, &name, &q->profile->nodes.items[c->node]);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, kinds[c->kind]);
    sonde_cell_take(t, &name);
    sonde_cell_int(t, true, c->ranks);
    sonde_cell_int(t, true, (uint64_t)c->spread.least);
    sonde_cell_int(t, true, (uint64_t)c->spread.mean);
    sonde_cell_int(t, true, (uint64_t)c->spread.most);
    sonde_cell_int(t, true, job->ranks.items[c->spread.most_rank].rank);
    sonde_cell_share(t, c->spread.imbalance, 1);
    sonde_cell_int(t, true, (uint64_t)c->lost_ns);
    struct sonde_view_table *figures = sonde_cell_list(t);
    for (int figure = 0; figure < SONDE_RANK_FIGURES; figure++)
        sonde__rank_figure_row(figures, job, figure_names[figure], true, &c->of[figure]);
    sonde_cell_int(t, true, c->node);
    sonde_cell_frames(t, q, c->node);
}

/* "0-3, 7". */
static void add_number(struct sonde_text *text, uint32_t rank, uint32_t *from, uint32_t *to, bool first)
{
    if (!first && rank == *to + 1) {
        *to = rank;
        return;
    }
    if (!first)
        sonde_text_format(text, *to > *from ? "%s%u-%u" : "%s%u", *sonde_text_get(text) ? ", " : "", *from, *to);
    *from = *to = rank;
}

static void group_row(struct sonde_view_table *t, const struct sonde_job *job, uint32_t group)
{
    struct sonde_text which = {0};
    uint32_t from = 0, to = 0;
    bool first = true;
    sonde_cell_int(t, true, group);
    sonde_cell_int(t, true, job->groups.items[group].count);
    for (size_t i = 0; i < job->ranks.count; i++)
        if (job->ranks.items[i].group == group) {
            add_number(&which, job->ranks.items[i].rank, &from, &to, first);
            first = false;
        }
    add_number(&which, UINT32_MAX, &from, &to, first);
    sonde_cell_take(t, &which);
    struct sonde_view_table *members = sonde_cell_list(t);
    for (size_t i = 0; i < job->ranks.count; i++)
        if (job->ranks.items[i].group == group)
            sonde_cell_int(members, true, job->ranks.items[i].rank);
}

/* ---- sentences ------------------------------------------------------------------------------------------ */

static void say_straggler(const struct sonde_query *q, const struct sonde_job *job, struct sonde_view_data *out)
{
    const struct sonde_straggler *s = &job->stragglers.items[0];
    char more[SONDE_NUMBER_MAX], percent[SONDE_NUMBER_MAX], there[SONDE_NUMBER_MAX];
    struct sonde_text cause = {0};
    if (s->context != SIZE_MAX) {
        sonde_text_format(&cause, ": %s of it in ", sonde_number_time(there, s->context_excess));
        name_context(q, &cause, &job->contexts.items[s->context]);
    }
    sonde_view_say(out, false, "rank %u has %s more %s than the median of the ranks (%s)%s", job->ranks.items[s->rank].rank, sonde_number_time(more, s->excess),
                   s->metric == SONDE_RANK_BUSY ? "device time" : "CPU time", sonde_number_percent(percent, s->excess, s->median), sonde_text_get(&cause));
    sonde_text_fini(&cause);
}

static void say_clocks(const struct sonde_measurement *m, uint32_t hosts, struct sonde_view_data *out)
{
    char number[SONDE_NUMBER_MAX];
    if (!m->axis_bound_ns) {
        if (m->axis_contradicts)
            sonde_view_say(out, false, "begin: by the clocks of %u hosts, which contradict each other: one was probably set while the ranks ran", hosts);
        else
            sonde_view_say(out, false, m->axis_not_tried ? "begin: by the clocks of %u hosts, which were not aligned: there are too many messages" : "begin: by the clocks of %u hosts, which nothing aligns", hosts);
        return;
    }
    sonde_view_say(out, false, "begin: by the clocks of %u hosts, aligned to within %s by what ranks waited for each other", hosts,
                   sonde_number_time(number, (double)m->axis_bound_ns));
    if (m->axis_apart)
        sonde_view_say(out, false, "begin: nothing aligns the clocks of %u host%s with the others'", m->axis_apart, m->axis_apart == 1 ? "" : "s");
    if (m->axis_apart && m->axis_contradicts)
        sonde_view_say(out, false, "begin: clocks of hosts contradict each other: one was probably set while the ranks ran");
}

static void say_twice(const struct sonde_rank_of_job *r, struct sonde_view_data *out)
{
    if (r->other_job)
        sonde_view_say(out, false, "processes of several jobs (%s, %s) say that they are rank %u: what stands there is of both", r->job, r->other_job, r->rank);
    else
        sonde_view_say(out, false, "processes on several hosts say that they are rank %u: what stands there is of both; were these two jobs?", r->rank);
}

static void say_faults(const struct sonde_query *q, const struct sonde_job *job, struct sonde_view_data *out)
{
    struct sonde_text text = {0};
    uint32_t from = 0, to = 0;
    bool first = true;
    for (size_t i = 0; i < job->missing.count; i++, first = false)
        add_number(&text, job->missing.items[i], &from, &to, first);
    add_number(&text, UINT32_MAX, &from, &to, first);
    if (job->missing.count)
        sonde_view_say(out, false, "of %u ranks %zu left nothing, because they died, made no GPU call or were not recorded: %s", job->size, job->missing.count,
                       sonde_text_get(&text));
    sonde_text_fini(&text);
    for (size_t i = 0; i < job->ranks.count; i++)
        if (job->ranks.items[i].twice) {
            say_twice(&job->ranks.items[i], out);
            break;
        }
    if (job->other_size)
        sonde_view_say(out, false, "some processes say that there are %u ranks, others %u: were these two jobs?", job->size, job->other_size);
    if (job->programs > 1)
        sonde_view_say(out, false, "the ranks ran %u different programs", job->programs);
    if (job->builds) {
        const struct sonde_rank_of_job *other = &job->ranks.items[job->other_build];
        sonde_view_say(out, false, "the ranks ran %u different builds of %.512s (by its build id; rank %u is the first that ran another): their times may not be comparable",
                       job->builds, q->m->processes[other->process].header.executable, other->rank);
    }
    if (job->hosts > 1)
        say_clocks(q->m, job->hosts, out);
}

/* ---- the view -------------------------------------------------------------------------------------------- */

/* Returns the table of calling contexts, which has no rows yet; NULL: nobody asked for it. */
static struct sonde_view_table *fill(const struct sonde_query *q, const struct sonde_job *job, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &ranks), *of_paths = NULL;
    const size_t rank_count = sonde_query_rows(q, job->ranks.count), context_count = sonde_query_rows(q, job->contexts.count);
    sonde_cell_int(t, job->size > 0, job->size);
    sonde_cell_int(t, true, job->hosts);
    sonde_cell_int(t, true, q->m->axis_bound_ns);
    sonde_cell_int(t, true, q->m->axis_apart);
    struct sonde_view_table *missing = sonde_cell_list(t), *twice = sonde_cell_list(t), *of_ranks = sonde_cell_list(t), *of_metrics = sonde_cell_list(t),
                            *of_stragglers = sonde_cell_list(t), *of_contexts = sonde_cell_list(t), *of_groups = sonde_cell_list(t);
    if (q->contexts.named && job->ranks.count)
        of_paths = sonde_cell_list(t);
    else
        sonde_cell_unknown(t);
    for (size_t i = 0; i < job->missing.count; i++)
        sonde_cell_int(missing, true, job->missing.items[i]);
    for (size_t i = 0; i < job->ranks.count; i++)
        if (job->ranks.items[i].twice)
            sonde_cell_int(twice, true, job->ranks.items[i].rank);
    for (size_t i = 0; i < job->ranks.count && i < rank_count; i++)
        rank_row(of_ranks, q, job, &job->ranks.items[i]);
    of_ranks->left_out = job->ranks.count - (job->ranks.count < rank_count ? job->ranks.count : rank_count);
    for (int metric = 0; metric < SONDE_RANK_METRICS && job->ranks.count; metric++)
        if (q->complete || job->of[metric].most > 0)
            metric_row(of_metrics, job, metric);
    for (size_t i = 0; i < job->stragglers.count; i++)
        straggler_row(of_stragglers, q, job, &job->stragglers.items[i]);
    for (size_t i = 0; i < job->contexts.count && i < context_count; i++)
        context_row(of_contexts, q, job, &job->contexts.items[i]);
    of_contexts->left_out = job->contexts.count - (job->contexts.count < context_count ? job->contexts.count : context_count);
    for (uint32_t i = 0; i < job->groups.count; i++)
        group_row(of_groups, job, i);
    if (!job->ranks.count) {
        sonde_view_say(out, false, "no process has a rank: mpirun, srun and torchrun give their processes one");
        return NULL;
    }
    if (job->stragglers.count)
        say_straggler(q, job, out);
    say_faults(q, job, out);
    if (of_paths)
        return of_paths;
    sonde_view_show(out, of_ranks, job->stragglers.count || job->missing.count);
    sonde_view_show(out, of_metrics, true);
    if (job->stragglers.count)
        sonde_view_show(out, of_stragglers, true);
    if (job->ranks.count > 1)
        sonde_view_show(out, of_contexts, true);
    if (job->groups.count > 1)
        sonde_view_show(out, of_groups, true);
    return NULL;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_job job = {0};
    int rc = sonde_job_compute(q->m, q->profile, &job);
    if (rc)
        sonde_diag_set(diag, rc, q->path, "cannot compare the ranks of");
    struct sonde_view_table *paths = rc ? NULL : fill(q, &job, out);
    rc = paths ? sonde__rank_paths_fill(q, &job, paths, out, diag) : rc;
    sonde_job_fini(&job);
    return rc;
}

const struct sonde_view sonde_view_ranks = {
    .name = "ranks",
    .summary = "ranks of a parallel job: how evenly they work, stragglers, which are alike",
    .description = "What each rank did, the spread of every figure over the ranks, which ranks are far above the others and where, where time is spent "
                   "unevenly, and which ranks are alike. With --metric: these metrics of the view profile in each calling context.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&ranks, &sonde__rank_path, NULL},
    .options = (const char *const[]){"metric", "by", "depth", "min-percent", NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_CPU,
    .quick_notes = true,
    .make = make,
};

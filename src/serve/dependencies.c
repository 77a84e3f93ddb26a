/* dependencies.c - the request `dependencies`: what an operation or an API call waited for, and what waited for it. */
#include "analyze/answers/critical/dependencies.h"
#include "views/names.h"
#include "which.h"

struct asked {
    struct sonde__which which; /* of a thread's lane, `begin` is a time within the call */
    int64_t limit;
};

#define LIMIT_MOST 10000
static const struct sonde_option options_table[] = {
    {.name = "limit", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = LIMIT_MOST, .offset = offsetof(struct asked, limit), .help = "how many are told before and after it (default 32)"},
    {.name = NULL, .more = sonde__which_options},
};
static const struct asked nothing = {.which = {.lane = -1, .number = -1, .begin = -1, .correlation = -1}, .limit = 32};

/* ---- columns ------------------------------------------------------------------------------ */

static const struct sonde_view_column reason_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "a reason"},
};
static const struct sonde_view_columns reasons = SONDE_VIEW_COLUMNS("reasons", reason_columns);

#define STEP_COLUMNS                                                                                                                              \
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "operation or call"},                                                                 \
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "its queue, or its thread"},                                                            \
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "full name of the kernel, the kind of operation, or the API function; null: unknown"}, \
    {.name = "correlation", .kind = SONDE_CELL_ID, .definition = "what an operation and its API call are told by; null: none"},                   \
    {.name = "begin_ns", .kind = SONDE_CELL_TIME, .definition = "start on the device, or entry, on the process's axis; null: unknown"},           \
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "end on the device, or return"}

static const struct sonde_view_column dependency_columns[] = {
    STEP_COLUMNS,
    {.name = "reasons", .kind = SONDE_CELL_LIST, .definition = "why one waited for the other", .of = &reasons},
    {.name = "inferred", .kind = SONDE_CELL_BOOLEAN, .definition = "nothing recorded says it"},
    {.name = "decided", .kind = SONDE_CELL_BOOLEAN, .definition = "of all that had to finish first, this finished last"},
    {.name = "slack_ns", .kind = SONDE_CELL_TIME, .definition = "how much later it could have finished before it had decided"},
};
static const struct sonde_view_columns dependency = SONDE_VIEW_COLUMNS("dependencies", dependency_columns);

static const struct sonde_view_column answer_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of the process, from 0"},
    STEP_COLUMNS,
    {.name = "unknown", .kind = SONDE_CELL_TEXT, .definition = "why nothing is known of its dependencies; null: they are known"},
    {.name = "dropped", .kind = SONDE_CELL_BOOLEAN, .definition = "rows of the trace were dropped while recording: there may be other dependencies"},
    {.name = "delay_ns", .kind = SONDE_CELL_TIME, .definition = "of an operation, from the end of what decided to its start; null: nothing is known to have decided"},
    {.name = "before", .kind = SONDE_CELL_LIST, .definition = "what it waited for: what decided first, then by slack", .of = &dependency},
    {.name = "before_left_out", .kind = SONDE_CELL_COUNT, .definition = "how many more there are than the limit"},
    {.name = "after", .kind = SONDE_CELL_LIST, .definition = "what waited for it, in the order in which it went on", .of = &dependency},
    {.name = "after_left_out", .kind = SONDE_CELL_COUNT, .definition = "how many more there are than the limit"},
};
static const struct sonde_view_columns answers = SONDE_VIEW_COLUMNS("dependencies_of", answer_columns);

/* ---- cells -------------------------------------------------------------------------------- */

struct told {
    const struct sonde_query *q;
    uint32_t process;
};

static void step_cells(struct sonde_view_table *t, const struct told *about, const struct sonde_dependency_step *step, uint32_t kind)
{
    const struct sonde_profile *profile = about->q->profile;
    const uint32_t node = sonde_profile_locate(profile, about->process, step->node);
    const struct sonde_cct_node *known = &profile->nodes.items[node < profile->nodes.count ? node : 0];
    const char *name = node && known->kind == (step->is_call ? SONDE_FRAME_API : SONDE_FRAME_OP) ? known->name : "";
    if (!step->is_call && !*name) /* the kind of operation stands in the context; of one without it, in the row */
        name = sonde_op_kind_name(node && known->kind == SONDE_FRAME_OP ? known->op : kind);
    sonde_cell_text(t, step->is_call ? "call" : "operation");
    sonde_cell_int(t, true, step->lane);
    sonde_cell_text(t, name);
    sonde_cell_int(t, step->correlation, step->correlation);
    sonde_cell_int(t, step->begin_ns, step->begin_ns);
    sonde_cell_int(t, step->begin_ns, step->end_ns);
}

static void dependency_cells(struct sonde_view_table *t, const struct told *about, const struct sonde_dependency *d)
{
    step_cells(t, about, &d->step, SONDE_OP_KIND_COUNT);
    struct sonde_view_table *words = sonde_cell_list(t);
    for (int reason = 0; reason < SONDE_DEPENDENCY_COUNT; reason++)
        if (d->reasons >> reason & 1)
            sonde_cell_text(words, sonde_dependency_reason_name((enum sonde_dependency_reason)reason));
    sonde_cell_boolean(t, d->inferred);
    sonde_cell_boolean(t, d->decided);
    sonde_cell_int(t, true, d->slack_ns);
}

static int write(const struct told *about, const struct sonde_dependencies_of *of, uint32_t kind, struct sonde_answer *out,
                 struct sonde_problem *problem)
{
    struct sonde_view_data data = {0};
    struct sonde_view_table *t = data.root = sonde_view_table(&data, &answers);
    sonde_cell_int(t, true, about->process);
    step_cells(t, about, &of->step, kind);
    sonde_cell_text(t, sonde_dependency_unknown_name(of->unknown));
    sonde_cell_boolean(t, of->dropped);
    sonde_cell_int(t, of->has_delay, of->delay_ns);
    struct sonde_view_table *before = sonde_cell_list(t);
    for (size_t i = 0; i < of->before.count; i++)
        dependency_cells(before, about, &of->before.items[i]);
    sonde_cell_int(t, true, of->before_left_out);
    struct sonde_view_table *after = sonde_cell_list(t);
    for (size_t i = 0; i < of->after.count; i++)
        dependency_cells(after, about, &of->after.items[i]);
    sonde_cell_int(t, true, of->after_left_out);
    const int rc = sonde__answer_json(&data, true, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static int of_call(const struct sonde_session *session, const struct asked *asked, struct sonde_dependencies_of *of, struct sonde_problem *problem)
{
    if (asked->which.begin < 0 || asked->which.number >= 0) {
        problem->option = asked->which.begin < 0 ? "begin" : "number";
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "an API call is told by its thread's lane and a time within it, begin");
    }
    const int rc = sonde_dependencies_of_call(session->dependencies, (uint32_t)asked->which.process, (uint32_t)asked->which.lane,
                                              (uint64_t)asked->which.begin, (uint32_t)asked->limit, of);
    return rc == SONDE_ENOTFOUND ? sonde_diag_set(&problem->diag, rc, NULL, "the trace has no API call there") : rc;
}

static int of_op(const struct sonde_session *session, const struct asked *asked, struct sonde_dependencies_of *of, uint32_t *kind,
                 struct sonde_problem *problem)
{
    struct sonde_row_op row;
    uint32_t lane;
    uint64_t number;
    int rc = sonde__which_find(&session->query.m->processes[asked->which.process], &asked->which, &row, &lane, &number);
    if (rc == SONDE_ENOTFOUND)
        return sonde_diag_set(&problem->diag, rc, NULL, "the trace has no such operation");
    if (rc)
        return rc;
    *kind = row.kind;
    return sonde_dependencies_of_op(session->dependencies, (uint32_t)asked->which.process, lane, &row, (uint32_t)asked->limit, of);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct asked *asked = options;
    const struct sonde_query *q = &session->query;
    struct sonde_dependencies_of of = {0};
    uint32_t kind = SONDE_OP_KIND_COUNT;
    (void)argument;
    int rc = sonde__which_check(q, &asked->which, problem);
    if (rc)
        return rc;
    const struct sonde_process *p = &q->m->processes[asked->which.process];
    const bool thread = asked->which.lane > 0 && p->lanes[asked->which.lane].kind == SONDE_LANE_KIND_THREAD;
    rc = thread ? of_call(session, asked, &of, problem) : of_op(session, asked, &of, &kind, problem);
    if (!rc)
        rc = write(&(struct told){q, (uint32_t)asked->which.process}, &of, kind, out, problem);
    else if (!problem->diag.what[0])
        sonde_diag_set(&problem->diag, rc, session->path, "cannot read the trace of");
    sonde_dependencies_of_fini(&of);
    return rc;
}

const struct sonde_request sonde_request_dependencies = {
    .name = "dependencies",
    .summary = "what an operation or an API call waited for, and what waited for it",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .defaults = &nothing,
    .answer = answer,
};

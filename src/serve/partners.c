/* partners.c - the request `partners`: what a call of MPI, or a collective of NCCL, sent to whom, received of whom, or did together with whom. */
#include <stddef.h>

#include "analyze/job/partners.h"
#include "base/kinds.h"
#include "request.h"

struct asked {
    int64_t process, lane, begin, limit;
};

static const struct sonde_option options_table[] = {
    {.name = "process", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = offsetof(struct asked, process), .help = "the process, as the request run numbers it (default 0)"},
    {.name = "lane", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = offsetof(struct asked, lane), .help = "the thread; of a collective of NCCL its communicator's lane"},
    {.name = "begin", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = offsetof(struct asked, begin), .help = "a time within it, on the process's axis"},
    {.name = "limit", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 100000, .offset = offsetof(struct asked, limit), .help = "how many are told (default 64)"},
    {.name = NULL},
};
static const struct asked nothing = {.limit = 64};

static const struct sonde_view_column partner_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of its process"},
    {.name = "rank", .kind = SONDE_CELL_ID, .definition = "number that its launcher gave it"},
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "its thread, or its communicator's lane"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "its call, or its collective"},
    {.name = "begin_ns", .kind = SONDE_CELL_TIME, .definition = "when that was entered, or its kernel began, on its process's axis"},
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "when it returned, or ended"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "send: the call that was asked for sent it something; receive: it received of it; else what all did together"},
    {.name = "bytes", .kind = SONDE_CELL_BYTES, .definition = "of the message; of what all did what the asked for gave"},
    {.name = "tag", .kind = SONDE_CELL_ID, .definition = "of a message of MPI; null: of what all did, and of NCCL"},
    {.name = "decided", .kind = SONDE_CELL_BOOLEAN, .definition = "the call that was asked for waited for it"},
    {.name = "waited", .kind = SONDE_CELL_BOOLEAN, .definition = "it waited for the call that was asked for"},
};
static const struct sonde_view_columns partners = SONDE_VIEW_COLUMNS("partners", partner_columns);

static const struct sonde_view_column answer_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of the process, from 0"},
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "the thread, or the communicator's lane"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "the call, or the collective"},
    {.name = "begin_ns", .kind = SONDE_CELL_TIME, .definition = "when it was entered, or its kernel began, on the process's axis"},
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "when it returned, or ended"},
    {.name = "wait_ns", .kind = SONDE_CELL_TIME, .definition = "how long of it other ranks were waited for"},
    {.name = "partners", .kind = SONDE_CELL_LIST, .definition = "by rank", .of = &partners},
    {.name = "left_out", .kind = SONDE_CELL_COUNT, .definition = "how many more there are than the limit"},
};
static const struct sonde_view_columns answers = SONDE_VIEW_COLUMNS("partners_of", answer_columns);

static void partner_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_message_partner *one)
{
    const uint64_t numbers[] = {one->process, one->rank, one->lane};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sonde_cell_int(t, true, numbers[i]);
    sonde_cell_text(t, q->profile->nodes.items[one->node].name);
    sonde_cell_int(t, true, one->enter_ns);
    sonde_cell_int(t, true, one->leave_ns);
    sonde_cell_text(t, sonde_message_kind_name(one->kind));
    sonde_cell_int(t, true, one->bytes);
    sonde_cell_int(t, one->tag != UINT32_MAX, one->tag);
    sonde_cell_boolean(t, one->decided);
    sonde_cell_boolean(t, one->waited);
}

static int write(const struct sonde_query *q, const struct asked *asked, const struct sonde_message_partners *found, struct sonde_answer *out, struct sonde_problem *problem)
{
    struct sonde_view_data data = {0};
    struct sonde_view_table *t = data.root = sonde_view_table(&data, &answers);
    const size_t shown = found->items.count < (size_t)asked->limit ? found->items.count : (size_t)asked->limit;
    sonde_cell_int(t, true, (uint64_t)asked->process);
    sonde_cell_int(t, true, (uint64_t)asked->lane);
    sonde_cell_text(t, q->profile->nodes.items[found->node].name);
    sonde_cell_int(t, true, found->enter_ns);
    sonde_cell_int(t, true, found->leave_ns);
    sonde_cell_int(t, true, found->wait_ns);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < shown; i++)
        partner_cells(list, q, &found->items.items[i]);
    sonde_cell_int(t, true, found->items.count - shown);
    const int rc = sonde__answer_json(&data, true, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out, struct sonde_problem *problem)
{
    const struct asked *asked = options;
    const struct sonde_query *q = &session->query;
    struct sonde_message_partners found = {0};
    (void)argument;
    if (asked->process >= (int64_t)q->m->process_count) {
        problem->option = "process";
        return sonde_diag_set(&problem->diag, SONDE_ENOTFOUND, NULL, "there is no process %lld", (long long)asked->process);
    }
    int rc = sonde_message_partners_find(q->m, q->profile, (uint32_t)asked->process, (uint32_t)asked->lane, (uint64_t)asked->begin, &found);
    if (rc)
        sonde_diag_set(&problem->diag, rc, session->path, "cannot read the trace of");
    else if (!found.node)
        rc = sonde_diag_set(&problem->diag, SONDE_ENOTFOUND, NULL, "the trace has no call of MPI, and no collective of NCCL, there");
    else
        rc = write(q, asked, &found, out, problem);
    sonde_message_partners_fini(&found);
    return rc;
}

const struct sonde_request sonde_request_partners = {
    .name = "partners",
    .summary = "what a call of MPI, or a collective of NCCL, sent to whom, received of whom, or did together with whom",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .defaults = &nothing,
    .answer = answer,
};

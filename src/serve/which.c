/* which.c - finds the operation that a request means. */
#include "which.h"

#include "analyze/trace/trace.h"

#define AT(field) offsetof(struct sonde__which, field)
const struct sonde_option sonde__which_options[] = {
    {.name = "process", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = AT(process), .help = "the process, as the request run numbers it (default 0)"},
    {.name = "lane", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = AT(lane), .help = "the queue, as the request run numbers it; with a correlation it may be missing"},
    {.name = "number", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = INT64_MAX, .offset = AT(number), .help = "the operation, by its place in the lane, from 0"},
    {.name = "begin", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(begin), .help = "the operation, by its begin on the process's axis; without times, by the entry of its API call"},
    {.name = "correlation", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = INT64_MAX, .offset = AT(correlation), .help = "the operation, by what it and its API call are told by"},
    {.name = NULL},
};
#undef AT
const struct sonde__which sonde__which_none = {.process = 0, .lane = -1, .number = -1, .begin = -1, .correlation = -1};

static int wrong(struct sonde_problem *problem, int code, const char *option, const char *what, int64_t value)
{
    problem->option = option;
    return sonde_diag_set(&problem->diag, code, NULL, what, (long long)value);
}

int sonde__which_check(const struct sonde_query *q, const struct sonde__which *which, struct sonde_problem *problem)
{
    if (which->process >= q->m->process_count)
        return wrong(problem, SONDE_ENOTFOUND, "process", "there is no process %lld", which->process);
    if (which->number < 0 && which->begin < 0 && which->correlation < 0)
        return wrong(problem, SONDE_EINVALID, NULL, "an operation is told by its number, its begin or its correlation", 0);
    if (which->lane < 0 && which->correlation < 0)
        return wrong(problem, SONDE_EINVALID, "lane", "the operation's lane is missing", 0);
    if (which->lane == 0 || which->lane >= q->m->processes[which->process].lane_count)
        return wrong(problem, SONDE_ENOTFOUND, "lane", "the process has no lane %lld", which->lane);
    return 0;
}

int sonde__which_find(const struct sonde_process *p, const struct sonde__which *which, struct sonde_row_op *row, uint32_t *lane, uint64_t *number)
{
    const uint64_t at = (uint64_t)which->number, begin = (uint64_t)which->begin, correlation = (uint64_t)which->correlation;
    struct sonde_trace_wanted wanted = {
        .table = SONDE_TABLE_OP,
        .number = which->number < 0 ? NULL : &at,
        .at_ns = which->begin < 0 ? NULL : &begin,
        .correlation = which->correlation < 0 ? NULL : &correlation,
    };
    int rc = SONDE_ENOTFOUND;
    const uint32_t first = which->lane < 0 ? 1 : (uint32_t)which->lane, last = which->lane < 0 ? p->lane_count : first + 1;
    for (wanted.lane = first; wanted.lane < last && rc == SONDE_ENOTFOUND; wanted.lane++) {
        *lane = wanted.lane;
        rc = sonde_trace_row(p, &wanted, row, number);
    }
    return rc;
}

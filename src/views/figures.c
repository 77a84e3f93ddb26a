/* figures.c - see figures.h. */
#include "figures.h"

#include <stdlib.h>

#include "analyze/answers/lanes/sync.h"
#include "analyze/job/messages.h"

bool sonde_figure_needs_trace(uint32_t column)
{
    return column == SONDE_METRIC_BLAME || column == SONDE_METRIC_SYNC || column == SONDE_METRIC_PEERS || column == SONDE_METRIC_BLAME_ERROR;
}

static int add_scope(const struct sonde_blame_scope *scope, sonde_context_values *out)
{
    int rc = 0;
    for (size_t i = 0; i < scope->entries.count && !rc; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        rc = sonde_vector_push(out, (struct sonde_context_value){scope->process, entry->node, entry->waiting_ns + entry->working_ns});
    }
    return rc;
}

/* Of each process, with all its devices. */
static int blame_values(const struct sonde_query *q, sonde_context_values *out, bool *known, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    int rc = sonde_query_blame(q, NULL, &blame, diag);
    *known = blame.scopes.count > 0;
    for (size_t i = 1; i < blame.scopes.count && !rc; i++)
        if (blame.scopes.items[i].device == SONDE_BLAME_ALL)
            rc = add_scope(&blame.scopes.items[i], out);
    sonde_blame_fini(&blame);
    return rc;
}

int sonde_figure_values(const struct sonde_query *q, enum sonde_metric_id metric, sonde_context_values *out, bool *known, struct sonde_diag *diag)
{
    struct sonde_progress *progress;
    int rc;
    *known = true;
    switch (metric) {
    case SONDE_METRIC_BLAME:
        rc = blame_values(q, out, known, diag);
        break;
    case SONDE_METRIC_SYNC:
    case SONDE_METRIC_PEERS:
        *known = metric == SONDE_METRIC_SYNC || q->totals.traced;
        progress = sonde_query_begin(q, "reading the trace");
        rc = metric == SONDE_METRIC_SYNC ? sonde_sync_values(q->m, q->profile, progress, out) : sonde_message_values(q->m, q->profile, out);
        sonde_query_end(q, progress);
        break;
    default:
        rc = sonde_metric_values(q->m, q->profile, metric, out);
        break;
    }
    return rc && !diag->code ? sonde_diag_set(diag, rc, q->path, "cannot read the trace of") : rc;
}

double *sonde_figure_sums(const struct sonde_profile *profile, const sonde_context_values *values)
{
    double *sums = calloc(profile->nodes.count, sizeof *sums);
    for (size_t i = 0; i < values->count && sums; i++)
        sums[values->items[i].node] += values->items[i].value;
    return sums;
}

void sonde_figures_say_unknown(const struct sonde_query *q, const struct sonde_profile_rows *rows, struct sonde_view_data *out)
{
    for (size_t i = 0; i < rows->columns->shown.count; i++) {
        const uint32_t column = rows->columns->shown.items[i];
        const bool known = sonde_profile_rows_get(rows, 0, column, SONDE_INCLUSIVE).validity == SONDE_KNOWN;
        if (column == SONDE_METRIC_CPU && !q->profile->sampled)
            sonde_view_say(out, false, "the CPU side was not sampled (record --cpu): CPU time is unknown");
        if (column == SONDE_METRIC_BLAME && !known)
            sonde_view_say(out, false, "blame is unknown: it needs a trace with times of operations");
        if (column == SONDE_METRIC_PEERS && !known)
            sonde_view_say(out, false, "peers is unknown: it needs a trace");
    }
}

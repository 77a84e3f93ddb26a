/* query.c - computes once what all views of a measurement share. */
#include "query.h"

#include <stdio.h>
#include <string.h>

#include "analyze/model/recorded.h"
#include "base/number.h"

static int find_modules(struct sonde_query *q)
{
    const char *last = NULL;
    for (size_t i = 0; i < q->profile->nodes.count; i++) {
        const char *module = q->profile->nodes.items[i].module;
        bool known = !module || !*module || module == last;
        for (size_t k = 0; !known && k < q->modules.count; k++)
            known = strcmp(q->modules.items[k], module) == 0;
        last = module;
        if (!known && sonde_vector_push(&q->modules, module))
            return SONDE_ENOMEM;
    }
    return 0;
}

int sonde_query_prepare(struct sonde_query *q, struct sonde_diag *diag)
{
    const int rc = sonde_profile_build(q->m, &q->profile, diag);
    if (!rc && (sonde_totals_compute(q->m, &q->totals) || find_modules(q) || sonde_stretches_find(q->m, q->profile, &q->stretches)))
        return sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot read");
    return rc;
}

void sonde_query_fini(struct sonde_query *q)
{
    sonde_profile_destroy(q->profile);
    sonde_totals_fini(&q->totals);
    sonde_stretches_fini(&q->stretches);
    sonde_vector_fini(&q->modules);
    sonde_columns_fini(&q->contexts.columns);
    if (q->m)
        sonde_measurement_close(q->m);
}

static uint64_t time_of(const struct sonde_query_time *t, uint64_t length, uint64_t otherwise)
{
    return !t->given ? otherwise : (t->relative ? (uint64_t)((double)length * t->percent / 100) : t->ns);
}

int sonde_query_window(const struct sonde_query *q, bool within, struct sonde_query_window *out, struct sonde_diag *diag)
{
    uint64_t begin, end;
    sonde_run_range(q->m, &begin, &end);
    out->length_ns = end > begin ? end - begin : 0;
    out->from_ns = time_of(&q->range.from, out->length_ns, 0);
    out->to_ns = time_of(&q->range.to, out->length_ns, out->length_ns);
    if (out->from_ns < out->to_ns && (!within || out->from_ns < out->length_ns)) {
        out->to_ns = within && out->to_ns > out->length_ns ? out->length_ns : out->to_ns;
        return 0;
    }
    char from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX], all[SONDE_NUMBER_MAX];
    sonde_diag_set(diag, SONDE_EINVALID, q->path, "the time window is empty in");
    snprintf(diag->why, sizeof diag->why, "it begins at %s and ends at %s; the run took %s",
             sonde_number_time(from, (double)out->from_ns), sonde_number_time(to, (double)out->to_ns),
             sonde_number_time(all, (double)out->length_ns));
    return SONDE_EINVALID;
}

int sonde_query_blame(const struct sonde_query *q, const struct sonde_query_window *window, struct sonde_blame *blame,
                      struct sonde_diag *diag)
{
    const struct sonde_blame_options options = {
        .from_ns = window ? window->from_ns : 0,
        .to_ns = window ? window->to_ns : 0,
        .basis = q->blame_basis,
        .progress = sonde_query_begin(q, "reading the trace"),
    };
    const int rc = sonde_blame_compute(q->m, q->profile, &options, blame);
    sonde_query_end(q, options.progress);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the trace of") : 0;
}

struct sonde_progress *sonde_query_begin(const struct sonde_query *q, const char *text)
{
    return q->begin ? q->begin(text) : NULL;
}

void sonde_query_end(const struct sonde_query *q, struct sonde_progress *progress)
{
    if (q->end)
        q->end(progress);
}

/* profile_rows_objects.c - the flat view by data object: which memory the operations worked on.
 *
 * An accumulator of the profile knows no object, so this one reads the trace.
 * Objects are one row where they are of one kind and were allocated by one
 * calling context. What is left of each figure (operations that named no object,
 * or whose rows are missing in the trace; API and CPU time) is a row of its own.
 */
#include <stdlib.h>

#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "profile_rows_build.h"

struct site {
    const struct sonde_site *site;
    struct sonde__sums sums;
}; /* NULL: no object */

struct scan {
    struct sonde__rows_maker *v;
    const struct sonde_process *process;
    uint32_t index;
    struct sonde_object_model model;
    uint32_t *of;                    /* [site of the model]: index in `sites` plus 1; 0: no operation yet */
    SONDE_VECTOR(struct site) sites;
};

static double span(uint64_t from, uint64_t to)
{
    return from && to > from ? (double)(to - from) : 0;
}

/* As the agent and sonde_profile_build do it for the profile. */
static struct sonde__sums figures(const struct sonde_row_op *op)
{
    struct sonde__sums s = {0};
    s.of[SONDE_METRIC_OPS] = 1;
    s.of[SONDE_METRIC_BYTES] = (double)op->bytes;
    s.of[SONDE_METRIC_FAILED] = op->flags & SONDE_OP_FAILED ? 1 : 0;
    if (op->flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME) || !sonde_op_kind_counts(op->kind))
        return s;
    s.of[SONDE_METRIC_TIMED] = 1;
    s.of[SONDE_METRIC_GPU] = (double)(op->end_ns - op->start_ns);
    s.of[SONDE_METRIC_QUEUE] = span(op->enter_ns, op->queued_ns) + span(op->queued_ns, op->submit_ns) +
                               span(op->submit_ns, op->start_ns);
    return s;
}

static int add_op(void *user, uint32_t lane, const void *row)
{
    struct scan *s = user;
    const struct sonde_row_op *op = row;
    (void)lane;
    if (!sonde_object_row(s->process, op->object) ||
        !(s->v->state[sonde_profile_locate(s->v->profile, s->index, op->node)] & SONDE__INSIDE))
        return 0;
    const uint32_t site = s->model.processes.items[s->index][op->object].site;
    if (!s->of[site]) {
        if (sonde_vector_push(&s->sites, (struct site){.site = &s->model.sites.items[site]}))
            return SONDE_ENOMEM;
        s->of[site] = (uint32_t)s->sites.count;
    }
    const struct sonde__sums sums = figures(op);
    sonde__sums_add(&s->sites.items[s->of[site] - 1].sums, &sums);
    return 0;
}

static int emit(struct scan *s, const struct sonde__candidate *list, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        const struct site *row = &s->sites.items[list[i].id];
        const struct sonde_site none = {0}, *site = row->site ? row->site : &none;
        struct sonde_profile_frame frame = {
            .kind = site->kind ? SONDE_PROFILE_OBJECT : 0,
            .op = (uint16_t)site->kind,
            .name = "",
            .file = "",
            .module = "",
        };
        uint32_t id;
        rc = sonde__rows_emit(s->v, 0, 1, &(struct sonde__entity){frame, site->node}, &row->sums, &row->sums, &id);
    }
    return rc;
}

static struct sonde__sums *rest_sums(void *rest, size_t row, bool inclusive)
{
    (void)row, (void)inclusive;
    return &((struct site *)rest)->sums;
}

/* What is sampled named no object. */
static int add_rest(struct scan *s)
{
    uint32_t *all = calloc(s->v->nodes, sizeof *all);
    struct site rest = {0};
    for (size_t i = 0; i < s->v->nodes; i++)
        sonde__sums_add(&rest.sums, &s->v->self[i]);
    for (size_t i = 0; i < s->sites.count; i++)
        for (int k = 0; k < SONDE_METRIC_COUNT; k++)
            rest.sums.of[k] -= s->sites.items[i].sums.of[k];
    int rc = all ? sonde__rows_errors(s->v, all, false, 1, rest_sums, &rest) : SONDE_ENOMEM;
    free(all);
    return rc ? rc : sonde_vector_push(&s->sites, rest);
}

static int rank(struct scan *s)
{
    struct sonde__candidate *list;
    int rc = add_rest(s);
    if (rc)
        return rc;
    list = malloc(s->sites.count * sizeof *list);
    if (!list)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < s->sites.count; i++)
        list[i] = sonde__rows_weigh(s->v, &s->sites.items[i].sums, &s->sites.items[i].sums, i);
    rc = emit(s, list, sonde__rows_rank(s->v, list, s->sites.count));
    free(list);
    return rc;
}

int sonde__rows_objects(struct sonde__rows_maker *v, struct sonde_diag *diag)
{
    const struct sonde_measurement *m = v->config->m;
    struct scan s = {.v = v};
    int rc = m ? sonde_object_model_build(m, v->profile, &s.model) : 0;
    s.of = calloc(s.model.sites.count + 1, sizeof *s.of);
    rc = rc ? rc : (s.of ? 0 : SONDE_ENOMEM);
    for (; m && s.index < m->process_count && !rc; s.index++) {
        s.process = &m->processes[s.index];
        rc = sonde_trace_each(s.process, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, add_op, &s);
    }
    if (rc)
        sonde_diag_set(diag, rc, m ? m->path : NULL, "cannot read the trace of");
    else
        rc = rank(&s);
    sonde_vector_fini(&s.sites);
    sonde_object_model_fini(&s.model);
    free(s.of);
    return rc;
}

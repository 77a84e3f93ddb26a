/* durations.c - how long single operations, waiting calls and steps took; docs/diff.md, "Within a run" and "Steps". */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/steps.h"
#include "analyze/trace/trace.h"
#include "own.h"

/* ---- operations and calls ------------------------------------------------------------------- */

struct filling {
    const struct sonde_diff_run *run;
    uint32_t process;
    const uint32_t *row_of;
    struct sonde__pieces *pieces;
    uint32_t last_node, last_row; /* of one node there are many in a row */
    struct sonde_map rows;        /* node of the process -> row */
};

static int row_of_node(struct filling *f, uint32_t node, uint32_t *row)
{
    uint64_t found;
    int rc = 0;
    if (node == f->last_node) {
        *row = f->last_row;
        return 0;
    }
    if (!sonde_map_get(&f->rows, node, &found)) {
        found = f->row_of[sonde_profile_locate(f->run->profile, f->process, node)];
        rc = sonde_map_put(&f->rows, node, found);
    }
    f->last_node = node;
    *row = f->last_row = (uint32_t)found;
    return rc;
}

static int add(struct filling *f, uint32_t node, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t row;
    const int rc = row_of_node(f, node, &row);
    if (!rc && row != UINT32_MAX)
        sonde__pieces_add(&f->pieces[row], (double)(to_ns - from_ns));
    return rc;
}

static int each_op(void *user, uint32_t lane, const void *row)
{
    const struct sonde_row_op *op = row;
    (void)lane;
    return sonde_op_has_times(op->flags, op->start_ns, op->end_ns) ? add(user, op->node, op->start_ns, op->end_ns) : 0;
}

static int each_call(void *user, uint32_t lane, const void *row)
{
    const struct sonde_row_call *call = row;
    (void)lane;
    return call->leave_ns >= call->enter_ns ? add(user, call->node, call->enter_ns, call->leave_ns) : 0;
}

int sonde__durations_read(const struct sonde_diff_run *run, const uint32_t *row_of, struct sonde__pieces *pieces)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->m->process_count && !rc; i++) {
        struct filling f = {.run = run, .process = i, .row_of = row_of, .pieces = pieces, .last_row = row_of[0]};
        const struct sonde_trace_stored ops = {.table = SONDE_TABLE_OP};
        const struct sonde_trace_stored calls = {.table = SONDE_TABLE_CALL};
        rc = sonde_trace_each(&run->m->processes[i], &ops, each_op, &f);
        rc = rc ? rc : sonde_trace_each(&run->m->processes[i], &calls, each_call, &f);
        sonde_map_fini(&f.rows);
    }
    return rc;
}

/* ---- steps ------------------------------------------------------------------------------------ */

static size_t count_of(const sonde_steps *r, uint32_t name)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += r->items[i].name == name;
    return count;
}

static struct sonde__pieces pieces_of(const sonde_steps *r, uint32_t name)
{
    struct sonde__pieces pieces = {.expected = count_of(r, name)};
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].name == name)
            sonde__pieces_add(&pieces, (double)(r->items[i].end_ns - r->items[i].begin_ns));
    return pieces;
}

static int compare(const struct sonde_diff_config *config, const sonde_steps *runs, uint32_t name, struct sonde_diff *out)
{
    const uint32_t before = config->before_count, after = config->run_count - before;
    struct sonde__typical *typical = calloc(config->run_count, sizeof *typical);
    double *ns = calloc(config->run_count, sizeof *ns);
    for (uint32_t i = 0; typical && ns && i < config->run_count; i++) {
        const bool is_before = i < before;
        const struct sonde__pieces pieces = pieces_of(&runs[i], name);
        typical[i] = sonde__pieces_typical(&pieces);
        ns[i] = typical[i].ns;
        out->step_count[!is_before] += (double)pieces.seen / (is_before ? before : after);
        *(is_before ? &out->step.before_ns : &out->step.after_ns) += ns[i] / (is_before ? before : after);
    }
    if (typical && ns) {
        out->step.known = true;
        out->step.effect = out->by_runs ? sonde__ratio_of_runs(ns, before, config->run_count) : sonde__ratio_within(&typical[0], &typical[1]);
    }
    const int rc = typical && ns ? 0 : SONDE_ENOMEM;
    free(typical);
    free(ns);
    return rc;
}

int sonde__steps_compare(const struct sonde_diff_config *config, struct sonde_diff *out)
{
    sonde_steps *runs = calloc(config->run_count, sizeof *runs);
    struct sonde_intern names = {0};
    int rc = runs ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < config->run_count && !rc; i++)
        rc = sonde_steps_read(config->runs[i].m, &names, &runs[i]);
    const uint32_t name = rc ? 0 : sonde_steps_choose(runs, config->run_count, names.count);
    out->step_name = name ? sonde__diff_text(out, sonde_intern_get(&names, name)) : "";
    rc = rc ? rc : (out->step_name ? 0 : SONDE_ENOMEM);
    if (!rc && name)
        rc = compare(config, runs, name, out);
    for (uint32_t i = 0; runs && i < config->run_count; i++)
        sonde_vector_fini(&runs[i]);
    free(runs);
    sonde_intern_fini(&names);
    return rc;
}

/* durations.c - how long single operations, waiting calls and steps took; docs/diff.md, "Within a run" and "Steps". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

struct step {
    uint64_t begin_ns, end_ns;
    uint32_t process, lane, name;
};

struct reading {
    const struct sonde_process *process;
    uint32_t number;
    struct sonde_intern *names;
    struct sonde_map known; /* string of the process -> name */
    SONDE_VECTOR(struct step) steps;
};

/* "ProfilerStep#12" is a "ProfilerStep". */
static uint32_t name_of(struct reading *r, uint32_t string)
{
    const char *text = sonde_process_string(r->process, string);
    size_t length = strlen(text);
    while (length && isdigit((unsigned char)text[length - 1]))
        length--;
    while (length && strchr(" #_-:.[(", text[length - 1]))
        length--;
    return sonde_intern_bytes(r->names, text, length ? length : strlen(text));
}

static int each_range(void *user, uint32_t lane, const void *row)
{
    const struct sonde_row_range *range = row;
    struct reading *r = user;
    uint64_t name;
    if (range->flags & (SONDE_RANGE_MARK | SONDE_RANGE_ACROSS) || range->end_ns <= range->begin_ns)
        return 0;
    if (!sonde_map_get(&r->known, range->name, &name)) {
        name = name_of(r, range->name);
        if (!name || sonde_map_put(&r->known, range->name, name))
            return SONDE_ENOMEM;
    }
    return sonde_vector_push(&r->steps, (struct step){range->begin_ns, range->end_ns, r->number, lane, (uint32_t)name});
}

static int by_begin(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* Only those that lie in no other one of their thread stay. */
static void keep_outermost(struct reading *r)
{
    size_t kept = 0;
    if (!r->steps.count)
        return;
    qsort(r->steps.items, r->steps.count, sizeof *r->steps.items, by_begin);
    for (size_t i = 0; i < r->steps.count; i++) {
        const struct step *step = &r->steps.items[i], *outer = kept ? &r->steps.items[kept - 1] : NULL;
        if (!outer || outer->process != step->process || outer->lane != step->lane || outer->end_ns <= step->begin_ns)
            r->steps.items[kept++] = *step;
    }
    r->steps.count = kept;
}

static int read_steps(const struct sonde_measurement *m, struct sonde_intern *names, struct reading *out)
{
    const struct sonde_trace_stored which = {.table = SONDE_TABLE_RANGE};
    int rc = 0;
    out->names = names;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        out->process = &m->processes[i];
        out->number = i;
        rc = sonde_trace_each(out->process, &which, each_range, out);
        sonde_map_fini(&out->known);
        out->known = (struct sonde_map){0};
    }
    keep_outermost(out);
    return rc;
}

static size_t count_of(const struct reading *r, uint32_t name)
{
    size_t count = 0;
    for (size_t i = 0; i < r->steps.count; i++)
        count += r->steps.items[i].name == name;
    return count;
}

/* The most frequent one that every run has at least twice; 0: none. */
static uint32_t choose_name(const struct reading *runs, uint32_t run_count, uint32_t names)
{
    size_t *least = calloc((size_t)names + 1, sizeof *least), *count = calloc((size_t)names + 1, sizeof *count);
    uint32_t best = 0;
    for (uint32_t run = 0; least && count && run < run_count; run++) {
        memset(count, 0, ((size_t)names + 1) * sizeof *count);
        for (size_t i = 0; i < runs[run].steps.count; i++)
            count[runs[run].steps.items[i].name]++;
        for (uint32_t i = 1; i <= names; i++)
            least[i] = run && least[i] < count[i] ? least[i] : count[i];
    }
    for (uint32_t i = 1; least && i <= names; i++)
        if (least[i] >= 2 && (!best || least[i] > least[best]))
            best = i;
    free(least);
    free(count);
    return best;
}

static struct sonde__pieces pieces_of(const struct reading *r, uint32_t name)
{
    struct sonde__pieces pieces = {.expected = count_of(r, name)};
    for (size_t i = 0; i < r->steps.count; i++)
        if (r->steps.items[i].name == name)
            sonde__pieces_add(&pieces, (double)(r->steps.items[i].end_ns - r->steps.items[i].begin_ns));
    return pieces;
}

static int compare(const struct sonde_diff_config *config, const struct reading *runs, uint32_t name, struct sonde_diff *out)
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
    struct reading *runs = calloc(config->run_count, sizeof *runs);
    struct sonde_intern names = {0};
    int rc = runs ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < config->run_count && !rc; i++)
        rc = read_steps(config->runs[i].m, &names, &runs[i]);
    const uint32_t name = rc ? 0 : choose_name(runs, config->run_count, names.count);
    out->step_name = name ? sonde__diff_text(out, sonde_intern_get(&names, name)) : "";
    rc = rc ? rc : (out->step_name ? 0 : SONDE_ENOMEM);
    if (!rc && name)
        rc = compare(config, runs, name, out);
    for (uint32_t i = 0; runs && i < config->run_count; i++)
        sonde_vector_fini(&runs[i].steps);
    free(runs);
    sonde_intern_fini(&names);
    return rc;
}

/* contexts.c - see contexts.h.
 *
 * Rows come as a walk through their tree does: those from the whole down to the one that is looked at are open, each with the sum of each rank. What a row has
 * is its caller's, too, once it is closed; so memory grows with the depth of the tree, not with its size times the number of ranks.
 */
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

/* What a rank has in a row, of one context of one process. */
struct entry {
    uint32_t row, rank, process, node; /* rank: index */
    double value;
};
typedef SONDE_VECTOR(struct entry) entries;

struct walk {
    const struct sonde_profile_rows *rows;
    size_t ranks;
    double *open;    /* [depth][rank]: inclusive, of the open row of that depth */
    double *scratch; /* [rank] */
    struct sonde_rank_contexts *out;
};

static int by_row(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int take_values(const struct sonde_measurement *m, const struct sonde_job *job, const struct sonde_profile_rows *rows, const sonde_context_values *values,
                       entries *out)
{
    int rc = 0;
    for (size_t i = 0; i < values->count && !rc; i++) {
        const struct sonde_context_value *one = &values->items[i];
        const size_t rank = sonde_job_find(job, &m->processes[one->process]);
        const uint32_t row = rows->row_of[one->node];
        if (rank != SIZE_MAX && row != SONDE_NO_ROW)
            rc = sonde_vector_push(out, (struct entry){row, (uint32_t)rank, one->process, one->node, one->value});
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_row);
    return rc;
}

static void open_row(struct walk *w, size_t row, const struct entry *own, size_t count)
{
    double *open = w->open + w->rows->rows.items[row].depth * w->ranks;
    memset(open, 0, w->ranks * sizeof *open);
    for (size_t i = 0; i < count; i++)
        open[own[i].rank] += own[i].value;
    if (!count)
        return;
    memcpy(w->scratch, open, w->ranks * sizeof *open);
    w->out->of[SONDE_EXCLUSIVE][row] = sonde_rank_spread_of(w->scratch, w->ranks);
}

static void close_row(struct walk *w, size_t row)
{
    const uint32_t depth = w->rows->rows.items[row].depth;
    double *open = w->open + depth * w->ranks;
    for (size_t rank = 0; rank < w->ranks && depth; rank++)
        *(open - w->ranks + rank) += open[rank];
    w->out->of[SONDE_INCLUSIVE][row] = sonde_rank_spread_of(open, w->ranks);
}

/* Close rows from `row` outwards up to one that is not as deep. */
static void close_rows(struct walk *w, size_t row, uint32_t depth)
{
    const struct sonde_profile_row *rows = w->rows->rows.items;
    for (; rows[row].depth > depth; row = rows[row].parent)
        close_row(w, row);
    if (rows[row].depth == depth)
        close_row(w, row);
}

static void walk(struct walk *w, const entries *all)
{
    const struct sonde_profile_row *rows = w->rows->rows.items;
    const size_t count = w->rows->rows.count;
    for (size_t row = 0, at = 0, own; row < count; row++, at += own) {
        for (own = 0; at + own < all->count && all->items[at + own].row == row; own++)
            ;
        if (row)
            close_rows(w, row - 1, rows[row].depth);
        open_row(w, row, own ? &all->items[at] : NULL, own);
    }
    close_rows(w, count - 1, 0);
}

int sonde_rank_contexts_compute(const struct sonde_measurement *m, const struct sonde_job *job, const struct sonde_profile_rows *rows,
                                const sonde_context_values *values, struct sonde_rank_contexts *out)
{
    struct walk w = {.rows = rows, .ranks = job->ranks.count, .out = out};
    entries all = {0};
    uint32_t deepest = 0;
    int rc = take_values(m, job, rows, values, &all);
    for (size_t i = 0; i < rows->rows.count; i++)
        deepest = rows->rows.items[i].depth > deepest ? rows->rows.items[i].depth : deepest;
    w.open = calloc((deepest + 1) * w.ranks, sizeof *w.open);
    w.scratch = calloc(w.ranks, sizeof *w.scratch);
    for (int side = 0; side < SONDE_PROFILE_SIDES; side++)
        out->of[side] = calloc(rows->rows.count, sizeof *out->of[side]);
    rc = rc || (w.open && w.scratch && out->of[SONDE_INCLUSIVE] && out->of[SONDE_EXCLUSIVE]) ? rc : SONDE_ENOMEM;
    if (!rc)
        walk(&w, &all);
    sonde_vector_fini(&all);
    free(w.open);
    free(w.scratch);
    return rc;
}

void sonde_rank_contexts_fini(struct sonde_rank_contexts *contexts)
{
    for (int side = 0; side < SONDE_PROFILE_SIDES; side++)
        free(contexts->of[side]);
}

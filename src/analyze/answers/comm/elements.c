/* elements.c - which parts of data objects kernels accessed (record --comm-elements): cells of all processes and contexts, added up where objects are
 * of one site and size, as runs.
 *
 * Where the cells are those of one object alone, each belongs to the part of it that was named last of those in which it begins; what begins in none stays
 * with the objects of its site and size. So no cell counts twice.
 */
#include <stdlib.h>

#include "comm.h"

struct edge { /* from this cell on there are so many bytes more in each, or fewer */
    size_t array;
    uint64_t cell, bytes;
    bool ends;
};

struct reading {
    const struct sonde_measurement *m;
    const struct sonde_object_model *model;
    struct sonde_comm *out;
    uint32_t process;
    SONDE_VECTOR(struct edge) edges;
    size_t last; /* array that was found */
    const struct sonde_stretch *stretches; /* of the object of this row of ARRAY; */
    uint32_t *owner;                       /* of each of its cells the number of one, from 1; NULL: none has any */
};

#define SHIFT_MOST 63u
#define CUT_MOST (1ull << 24) /* cells: as many as --comm-elements may have */

static struct sonde_comm_array array_of(const struct reading *r, const struct sonde_row_array *row, uint32_t kind)
{
    static const enum sonde_comm_kind kinds[] = {[SONDE_CELL_LOADS] = SONDE_COMM_LOAD, [SONDE_CELL_STORES] = SONDE_COMM_STORE, [SONDE_CELL_ATOMICS] = SONDE_COMM_ATOMIC};
    const struct sonde_comm_end here = sonde__comm_end_on(row->device), there = sonde__comm_end_on(row->owner);
    const struct sonde_row_object *object = sonde_object_row(&r->m->processes[r->process], row->object);
    struct sonde_comm_array a = {
        .pair = {r->process, kind == SONDE_CELL_LOADS ? there : here, kind == SONDE_CELL_LOADS ? here : there, kinds[kind]},
        .owner = there,
        .object_bytes = row->bytes,
        .cell_bytes = 1ull << row->shift,
    };
    if (object && object->kind != SONDE_OBJECT_NONE) {
        const struct sonde_site *site = &r->model->sites.items[r->model->processes.items[r->process][row->object].site];
        a.kind = site->kind;
        a.node = site->place;
    }
    return a;
}

static bool same_array(const struct sonde_comm_array *a, const struct sonde_comm_array *b)
{
    return a->pair.process == b->pair.process && a->pair.kind == b->pair.kind && sonde_comm_end_equal(a->pair.from, b->pair.from) &&
           sonde_comm_end_equal(a->pair.to, b->pair.to) && sonde_comm_end_equal(a->owner, b->owner) && a->kind == b->kind && a->node == b->node &&
           a->stretch == b->stretch && a->object_bytes == b->object_bytes && a->cell_bytes == b->cell_bytes;
}

/* SONDE_ENOMEM, or its index. */
static int find_array(struct reading *r, struct sonde_comm_array *array, uint32_t object, size_t *at)
{
    *at = r->last; /* neighbours are mostly of one */
    if (*at < r->out->arrays.count && same_array(&r->out->arrays.items[*at], array))
        return 0;
    for (*at = 0; *at < r->out->arrays.count; ++*at)
        if (same_array(&r->out->arrays.items[*at], array))
            break;
    r->last = *at;
    if (*at < r->out->arrays.count)
        return 0;
    array->objects = array->stretch ? 1 : sonde_objects_like(r->model, r->m, r->process, object, array->object_bytes);
    return sonde_vector_push(&r->out->arrays, *array);
}

/* ---- cells of parts that have names ------------------------------------------------------------- */

/* The first of the cells from `cell` on that nobody has. */
static uint32_t next_free(uint32_t *next, uint32_t cell)
{
    while (next[cell] != cell)
        cell = next[cell] = next[next[cell]];
    return cell;
}

/* The cells that begin from `at` on. */
static uint32_t cell_from(const struct sonde_row_array *row, uint64_t at)
{
    return (uint32_t)(at ? ((at - 1) >> row->shift) + 1 : 0);
}

/* owner[k]: of each cell. 0 or SONDE_ENOMEM. */
static int own_cells(struct reading *r, const struct sonde_row_array *row, uint32_t cells, size_t stretches)
{
    uint32_t *next = malloc((cells + 1ull) * sizeof *next);
    r->owner = calloc(cells, sizeof *r->owner);
    for (uint32_t k = 0; next && k <= cells; k++)
        next[k] = k;
    for (size_t i = 0; next && r->owner && i < stretches; i++) { /* the last named first: what it has the others do not get */
        const struct sonde_stretch *s = &r->stretches[i];
        const uint32_t end = cell_from(row, s->offset + s->bytes);
        for (uint32_t k = next_free(next, cell_from(row, s->offset)); k < end; k = next_free(next, k)) {
            r->owner[k] = (uint32_t)i + 1;
            next[k] = k + 1;
        }
    }
    free(next);
    return next && r->owner ? 0 : SONDE_ENOMEM;
}

/* Are the cells those of its object, and of no other? */
static bool is_alone(const struct reading *r, const struct sonde_row_array *row)
{
    const struct sonde_row_object *object = sonde_object_row(&r->m->processes[r->process], row->object);
    return object && object->bytes == row->bytes && (row->flags & SONDE_ARRAY_ALONE || sonde_objects_like(r->model, r->m, r->process, row->object, row->bytes) == 1);
}

static int begin_array(struct reading *r, const struct sonde_row_array *row)
{
    size_t count;
    free(r->owner);
    r->owner = NULL;
    if (row->shift > SHIFT_MOST || !row->bytes || (row->bytes - 1) >> row->shift >= CUT_MOST || !is_alone(r, row))
        return 0;
    r->stretches = sonde_stretches_of(&r->out->stretches, r->process, row->object, &count);
    return r->stretches ? own_cells(r, row, (uint32_t)((row->bytes - 1) >> row->shift) + 1, count) : 0;
}

/* What of the array is a stretch's; its first cell in the object. */
static uint32_t cut_out(struct sonde_comm_array *a, const struct sonde_stretch *s, const struct sonde_row_array *row)
{
    const uint32_t first = cell_from(row, s->offset);
    a->stretch = s;
    a->object_bytes = s->bytes;
    a->lead = ((uint64_t)first << row->shift) - s->offset;
    return first;
}

static int add_cells(struct reading *r, const struct sonde_row_cell *cell, const struct sonde_row_array *row, uint64_t first, uint64_t end)
{
    size_t at;
    struct sonde_comm_array array = array_of(r, row, cell->kind);
    const uint32_t owner = r->owner ? r->owner[first] : 0, base = owner ? cut_out(&array, &r->stretches[owner - 1], row) : 0;
    int rc = find_array(r, &array, row->object, &at);
    rc = rc ? rc : sonde_vector_push(&r->edges, (struct edge){at, first - base, cell->bytes, false});
    return rc ? rc : sonde_vector_push(&r->edges, (struct edge){at, end - base, cell->bytes, true});
}

/* Damaged rows are none. */
static int add_cell(struct reading *r, const struct sonde_row_cell *cell, const struct sonde_row_array *row)
{
    const uint64_t end = (uint64_t)cell->first + cell->count;
    int rc = 0;
    if (cell->kind >= SONDE_CELL_KINDS || row->shift > SHIFT_MOST || !row->bytes || !cell->count || !cell->bytes ||
        end - 1 > (row->bytes - 1) >> row->shift)
        return 0;
    for (uint64_t first = cell->first, until; first < end && !rc; first = until) {
        for (until = r->owner ? first + 1 : end; until < end && r->owner[until] == r->owner[first];)
            until++;
        rc = add_cells(r, cell, row, first, until);
    }
    return rc;
}

static int by_array(const void *left, const void *right)
{
    const struct sonde_row_cell *a = *(const struct sonde_row_cell *const *)left, *b = *(const struct sonde_row_cell *const *)right;
    return a->array < b->array ? -1 : a->array > b->array;
}

/* Those of one array at once: what it takes to know whose they are is made once for each. */
static int read_cells(struct reading *r, const struct sonde_process *p)
{
    const struct sonde_row_array *arrays = p->tables[SONDE_TABLE_ARRAY].rows;
    const struct sonde_row_cell *cells = p->tables[SONDE_TABLE_CELL].rows;
    SONDE_VECTOR(const struct sonde_row_cell *) known = {0};
    uint32_t array = 0;
    int rc = 0;
    for (uint32_t k = 0; k < p->tables[SONDE_TABLE_CELL].count && !rc; k++)
        if (cells[k].array && cells[k].array < p->tables[SONDE_TABLE_ARRAY].count)
            rc = sonde_vector_push(&known, &cells[k]);
    if (known.count && !rc)
        qsort(known.items, known.count, sizeof *known.items, by_array);
    for (size_t i = 0; i < known.count && !rc; i++) {
        if (known.items[i]->array != array)
            rc = begin_array(r, &arrays[array = known.items[i]->array]);
        rc = rc ? rc : add_cell(r, known.items[i], &arrays[array]);
    }
    free(r->owner);
    r->owner = NULL;
    sonde_vector_fini(&known);
    return rc;
}

static int read_process(struct reading *r)
{
    const struct sonde_process *p = &r->m->processes[r->process];
    const struct sonde_row_array *arrays = p->tables[SONDE_TABLE_ARRAY].rows;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_ARRAY].count; k++)
        r->out->unread += arrays[k].bytes && !(arrays[k].flags & SONDE_ARRAY_READ);
    return read_cells(r, p);
}

static int by_cell(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->array != b->array)
        return a->array < b->array ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static int add_run(struct sonde_comm *out, struct sonde_comm_array *a, uint64_t first, uint64_t end, uint64_t bytes)
{
    struct sonde_comm_run *last = a->runs ? &out->runs.items[a->first_run + a->runs - 1] : NULL;
    const uint64_t ends_at = a->lead + end * a->cell_bytes;
    a->bytes += (end - first) * bytes;
    a->touched += (ends_at < a->object_bytes ? ends_at : a->object_bytes) - (a->lead + first * a->cell_bytes);
    if (last && last->first + last->count == first && last->bytes == bytes) {
        last->count += end - first;
        return 0;
    }
    a->first_run = a->runs++ ? a->first_run : out->runs.count;
    return sonde_vector_push(&out->runs, (struct sonde_comm_run){first, end - first, bytes});
}

static int sum_up(struct reading *r)
{
    const struct edge *e = r->edges.items;
    uint64_t bytes = 0;
    int rc = 0;
    if (!r->edges.count)
        return 0;
    qsort(r->edges.items, r->edges.count, sizeof *r->edges.items, by_cell);
    for (size_t i = 0; i < r->edges.count && !rc; i++) {
        bytes += e[i].ends ? 0 - e[i].bytes : e[i].bytes; /* each that began ends: 0 behind the last one of an array */
        if (bytes && e[i + 1].cell > e[i].cell)
            rc = add_run(r->out, &r->out->arrays.items[e[i].array], e[i].cell, e[i + 1].cell, bytes);
    }
    return rc;
}

static int by_bytes(const void *left, const void *right)
{
    const struct sonde_comm_array *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->first_run < b->first_run ? -1 : a->first_run > b->first_run;
}

int sonde__comm_arrays(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_object_model *model, struct sonde_comm *out)
{
    struct reading r = {.m = m, .model = model, .out = out};
    int rc = sonde_stretches_find(m, profile, &out->stretches);
    for (; r.process < m->process_count && !rc; r.process++)
        rc = read_process(&r);
    rc = rc ? rc : sum_up(&r);
    if (out->arrays.count)
        qsort(out->arrays.items, out->arrays.count, sizeof *out->arrays.items, by_bytes);
    sonde_vector_fini(&r.edges);
    return rc;
}

/* comm_elements.c - see comm_elements.h: what of each object was accessed, as a line, or as rows and columns. */
#include "comm_elements.h"

#include <stdlib.h>
#include <string.h>

#include "base/kinds.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"

enum {
    BARS = 20,              /* of a line on the terminal */
    LINE_MOST = 1024,       /* parts of an object in a line, and rows and columns of a picture, in JSON */
    GRID_MOST = 256,
    PICTURE_ROWS = 32,      /* on the terminal */
    PICTURE_COLUMNS = 64,
    PICTURES_UNASKED = 4,   /* of parts whose shape the program says */
};

static const struct sonde_view_column part_columns[] = {
    {"row", NULL, SONDE_CELL_ID, 0, 0, "part of the rows, from 0"},
    {"column", NULL, SONDE_CELL_ID, 0, 0, "part of the columns, from 0"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that were accessed there; of a cell that lies in several parts each has its share"},
};
static const struct sonde_view_columns parts = SONDE_VIEW_COLUMNS("grid", part_columns);

static const struct sonde_view_column run_columns[] = {
    {"first_byte", NULL, SONDE_CELL_ID, 0, 0, "where they begin, in bytes from the beginning of the object, or of the part"},
    {"cells", NULL, SONDE_CELL_COUNT, 0, 0, "cells of cell_bytes, one behind the other"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that were accessed in each of them"},
};
static const struct sonde_view_columns runs = SONDE_VIEW_COLUMNS("runs", run_columns);

static const struct sonde_view_column element_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object; null: none that is known"},
    {"part", NULL, SONDE_CELL_TEXT, 0, 0, "name that the program gave to this part of one object (sonde/sonde.h): what follows is of the cells that begin in it; null: of all others of the objects"},
    {NULL, "Object", SONDE_CELL_TEXT, 0, 0, "kind of data object, and the name of its part"},
    {"site", "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "calling context of the allocation, innermost frame first"},
    {"owner", NULL, SONDE_CELL_KEY, 0, 0, "where it lies: number of the device, from 0, or host; null: unknown"},
    {"from", NULL, SONDE_CELL_KEY, 0, 0, "where the bytes were: number of the device, from 0, or host; null: unknown"},
    {"to", NULL, SONDE_CELL_KEY, 0, 0, "where they went, likewise"},
    {NULL, "way", SONDE_CELL_TEXT, 0, 0, "from where to where: numbers of devices, or host"},
    {"kind", "kind", SONDE_CELL_TEXT, 0, 2, "load, store or atomic"},
    {"part_byte", NULL, SONDE_CELL_ID, 0, 0, "where the part begins, in bytes from the beginning of the object; null: it is no part"},
    {"object_bytes", "size", SONDE_CELL_BYTES, 0, 3, "bytes of the part, or of one object; of all of this size that were allocated there the accesses are added up"},
    {"objects", NULL, SONDE_CELL_COUNT, 0, 0, "objects of this size that were allocated there"},
    {"cell_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes of a cell: what was accessed within one is not told apart. The last one may have fewer"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes that kernels accessed there"},
    {"touched_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes of the cells in which anything was accessed"},
    {NULL, "touched", SONDE_CELL_SHARE, 0, 0, "bytes of the cells in which anything was accessed, as % of the object"},
    {"times", "times", SONDE_CELL_NUMBER, 0, 0, "how often each of these bytes was accessed, on average over these objects: bytes / touched_bytes / objects", .unit = "times"},
    {NULL, "where in it", SONDE_CELL_TEXT, 0, 1, "how much was accessed in each part of the object, from its beginning to its end"},
    {"rows", NULL, SONDE_CELL_COUNT, 0, 0, "of the object, as --shape has it, or of the part, as the program says; 1: it is a line"},
    {"columns", NULL, SONDE_CELL_COUNT, 0, 0, "likewise; of a line its bytes"},
    {"grid_rows", NULL, SONDE_CELL_COUNT, 0, 0, "parts into which these rows fall in `grid`, each of as many"},
    {"grid_columns", NULL, SONDE_CELL_COUNT, 0, 0, "likewise"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code that allocated it, innermost first", .of = &sonde_frames},
    {"grid", NULL, SONDE_CELL_LIST, 0, 0, "how much was accessed where, in parts in which there was anything", .of = &parts},
    {"runs", NULL, SONDE_CELL_LIST, 0, 0, "--by element: the cells in which anything was accessed", .of = &runs},
};
const struct sonde_view_columns sonde__comm_elements = SONDE_VIEW_COLUMNS("elements", element_columns);

static const struct sonde_view_column picture_columns[] = {
    {NULL, "Rows", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0, "rows of the object, from 0"},
    {NULL, "columns", SONDE_CELL_TEXT, 0, 0, "how much was accessed in each part of its columns: nothing, then four steps up to the most of all parts"},
};
const struct sonde_view_columns sonde__comm_picture = SONDE_VIEW_COLUMNS("picture", picture_columns);

/* ---- an object as rows and columns ---------------------------------------------------------- */

struct grid {
    size_t rows, columns;
    double *bytes; /* row after row */
};

/* As many parts as there are rows and columns, or fewer of as many each. Line: one row of `most` parts. */
static struct grid grid_of(const struct sonde_comm_array *a, uint64_t rows, uint64_t columns, size_t most_rows, size_t most_columns)
{
    struct grid g = {rows < most_rows ? rows : most_rows, columns < most_columns ? columns : most_columns, NULL};
    const uint64_t cells = (a->object_bytes - 1) / a->cell_bytes + 1;
    if (rows == 1 && cells < g.columns)
        g.columns = cells;
    g.bytes = calloc(g.rows * g.columns, sizeof *g.bytes);
    return g;
}

/* The part of a span that begins at `at`, in `count` parts of `whole`; `end`: where that part ends. */
static size_t part_at(double at, double whole, size_t count, double *end)
{
    const size_t part = (size_t)(at / whole * (double)count);
    const size_t within = part < count ? part : count - 1;
    *end = whole * (double)(within + 1) / (double)count;
    return within;
}

/* Bytes from `begin` to `end` of the object, in one of whose rows they lie, or in several, of which each part has its share. */
static void spread(struct grid *g, double object, double row_bytes, double begin, double end, double bytes)
{
    const double density = bytes / (end - begin);
    if (g->rows > 1 && end - begin > row_bytes) { /* columns cannot be told apart */
        double until;
        const size_t row = part_at((begin + end) / 2, object, g->rows, &until);
        for (size_t k = 0; k < g->columns; k++)
            g->bytes[row * g->columns + k] += bytes / (double)g->columns;
        return;
    }
    for (double at = begin, next; at < end; at = next) {
        double until;
        const double within = at + 0.25; /* of the byte: no rounding leads to the part before */
        const double row_begin = row_bytes * (double)(uint64_t)(within / row_bytes);
        const size_t row = part_at(within, object, g->rows, &until), column = part_at(within - row_begin, row_bytes, g->columns, &until);
        next = row_begin + until > within && row_begin + until < end ? row_begin + until : end;
        g->bytes[row * g->columns + column] += density * (next - at);
    }
}

static void fill_grid(struct grid *g, const struct sonde_comm *c, const struct sonde_comm_array *a, uint64_t rows)
{
    const double object = (double)a->object_bytes, row_bytes = object / (double)rows;
    for (size_t k = 0; k < a->runs && g->bytes; k++) {
        const struct sonde_comm_run *run = &c->runs.items[a->first_run + k];
        const uint64_t count = g->rows > 1 ? 1 : run->count; /* of a line a run is one span */
        for (uint64_t i = 0; i < run->count; i += count) {
            const uint64_t begin = a->lead + (run->first + i) * a->cell_bytes, end = begin + count * a->cell_bytes;
            spread(g, object, row_bytes, (double)begin, end < a->object_bytes ? (double)end : object, (double)run->bytes * (double)count);
        }
    }
}

static double most_of(const struct grid *g)
{
    double most = 0;
    for (size_t k = 0; k < g->rows * g->columns; k++)
        most = g->bytes[k] > most ? g->bytes[k] : most;
    return most;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* "make_ring() ring.cu:57 ← main() ring.cu:97"; false: unknown. */
static bool name_site(const struct sonde_query *q, const struct sonde_comm_array *a, struct sonde_text *out)
{
    if (a->kind != SONDE_OBJECT_NONE && a->node)
        sonde_name_callers(q, out, a->node, 2);
    return out->length > 0;
}

/* Is it among those that --shape is for? */
static bool is_asked_for(const struct sonde_query *q, const struct sonde_comm_array *a)
{
    struct sonde_text site = {0};
    const bool named = q->comm.rows && (!*q->comm.of || (a->stretch && strstr(a->stretch->name, q->comm.of)) ||
                                        (name_site(q, a, &site) && strstr(sonde_text_get(&site), q->comm.of)));
    sonde_text_fini(&site);
    return named && q->comm.rows <= a->object_bytes && q->comm.columns <= a->object_bytes / q->comm.rows;
}

struct shape {
    uint64_t rows, columns; /* 1 row: it is a line, of its bytes */
    bool asked_for;
};

/* What --shape says goes before what the program does. */
static struct shape shape_of(const struct sonde_query *q, const struct sonde_comm_array *a)
{
    if (is_asked_for(q, a))
        return (struct shape){q->comm.rows, q->comm.columns, true};
    if (a->stretch && a->stretch->rows)
        return (struct shape){a->stretch->rows, a->stretch->columns, false};
    return (struct shape){1, a->object_bytes, false};
}

/* "device: weights" */
static void object_cell(struct sonde_view_table *t, const struct sonde_comm_array *a)
{
    struct sonde_text text = {0};
    sonde_text_add(&text, sonde_object_kind_name(a->kind));
    if (a->stretch)
        sonde_text_format(&text, ": %s", a->stretch->name);
    sonde_cell_take(t, &text);
}

static void bars_cell(struct sonde_view_table *t, const struct sonde_comm *c, const struct sonde_comm_array *a)
{
    struct grid g = grid_of(a, 1, a->object_bytes, 1, BARS);
    fill_grid(&g, c, a, 1);
    const double most = g.bytes ? most_of(&g) : 0;
    for (size_t k = 0; k < g.columns && g.bytes; k++)
        g.bytes[k] = g.bytes[k] > 0 ? g.bytes[k] / most : -1;
    sonde_cell_bars(t, g.bytes, g.bytes ? g.columns : 0);
    free(g.bytes);
}

static void grid_list(struct sonde_view_table *list, const struct grid *g)
{
    for (size_t row = 0; row < g->rows && g->bytes; row++)
        for (size_t column = 0; column < g->columns; column++)
            if (g->bytes[row * g->columns + column] > 0) {
                sonde_cell_int(list, true, row);
                sonde_cell_int(list, true, column);
                sonde_cell_real(list, true, g->bytes[row * g->columns + column]);
            }
}

static void array_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_array *a)
{
    const struct sonde_comm_pair *p = &a->pair;
    const struct shape shape = shape_of(q, a);
    struct grid g = grid_of(a, shape.rows, shape.columns, GRID_MOST, shape.rows > 1 ? GRID_MOST : LINE_MOST);
    struct sonde_text site = {0};
    const bool sited = name_site(q, a, &site);
    if (q->complete)
        fill_grid(&g, c, a, shape.rows);
    sonde_cell_text(t, a->kind != SONDE_OBJECT_NONE ? sonde_object_kind_name(a->kind) : NULL);
    sonde_cell_text(t, a->stretch ? a->stretch->name : NULL);
    if (a->kind != SONDE_OBJECT_NONE)
        object_cell(t, a);
    else
        sonde_cell_unknown(t);
    sonde_cell_text(t, sited ? sonde_text_get(&site) : NULL);
    sonde_text_fini(&site);
    sonde__comm_key_cell(t, q, p->process, a->owner);
    sonde__comm_key_cell(t, q, p->process, p->from);
    sonde__comm_key_cell(t, q, p->process, p->to);
    sonde__comm_way_cell(t, q, p);
    sonde_cell_text(t, sonde_comm_kind_name(p->kind));
    sonde_cell_int(t, a->stretch, a->stretch ? a->stretch->offset : 0);
    sonde_cell_int(t, true, a->object_bytes);
    sonde_cell_int(t, true, a->objects);
    sonde_cell_int(t, true, a->cell_bytes);
    sonde_cell_int(t, true, a->bytes);
    sonde_cell_int(t, true, a->touched);
    sonde_cell_share(t, (double)a->touched, (double)a->object_bytes);
    sonde_cell_real(t, true, (double)a->bytes / (double)a->touched / (double)a->objects);
    bars_cell(t, c, a);
    sonde_cell_int(t, true, shape.rows);
    sonde_cell_int(t, true, shape.columns);
    sonde_cell_int(t, true, g.rows);
    sonde_cell_int(t, true, g.columns);
    sonde_cell_text(t, q->m->processes[p->process].name);
    sonde_cell_frames(t, q, a->node);
    grid_list(sonde_cell_list(t), &g);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t k = 0; k < a->runs && q->complete && q->comm.by == SONDE_COMM_BY_ELEMENT; k++) {
        const struct sonde_comm_run *run = &c->runs.items[a->first_run + k];
        sonde_cell_int(list, true, a->lead + run->first * a->cell_bytes);
        sonde_cell_int(list, true, run->count);
        sonde_cell_int(list, true, run->bytes);
    }
    free(g.bytes);
}

void sonde__comm_elements_fill(const struct sonde_query *q, const struct sonde_comm *c, size_t count, struct sonde_view_table *table)
{
    for (size_t i = 0; i < count; i++)
        array_row(table, q, c, &c->arrays.items[i]);
}

/* ---- for people ---------------------------------------------------------------------------------- */

static void picture_rows(struct sonde_view_table *t, const struct grid *g, uint64_t rows)
{
    static const char *const steps[] = {"░", "▒", "▓", "█"};
    const double most = most_of(g);
    for (size_t row = 0; row < g->rows; row++) {
        struct sonde_text name = {0}, line = {0};
        const uint64_t first = row * rows / g->rows, last = (row + 1) * rows / g->rows - 1;
        sonde_text_format(&name, first < last ? "%llu–%llu" : "%llu", (unsigned long long)first, (unsigned long long)last);
        for (size_t k = 0; k < g->columns; k++) {
            const double bytes = g->bytes[row * g->columns + k];
            sonde_text_add(&line, bytes > 0 ? steps[(size_t)(bytes / most * 3.999)] : "·");
        }
        sonde_cell_take(t, &name);
        sonde_cell_take(t, &line);
    }
}

static void show_picture(const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_array *a, const struct shape *shape, struct sonde_view_data *out)
{
    struct grid g = grid_of(a, shape->rows, shape->columns, PICTURE_ROWS, PICTURE_COLUMNS);
    struct sonde_view_table *t = sonde_view_table(out, &sonde__comm_picture);
    struct sonde_text site = {0};
    char bytes[SONDE_NUMBER_MAX];
    fill_grid(&g, c, a, shape->rows);
    if (g.bytes)
        picture_rows(t, &g, shape->rows);
    name_site(q, a, &site);
    sonde_view_say(out, false, "%s of %s by %s%s%s, %llu × %llu:", sonde_comm_kind_name(a->pair.kind), sonde_number_bytes(bytes, (double)a->bytes),
                   a->stretch ? a->stretch->name : "", a->stretch && site.length ? ", allocated by " : "", sonde_text_get(&site),
                   (unsigned long long)shape->rows, (unsigned long long)shape->columns);
    sonde_view_show(out, t, true);
    sonde_text_fini(&site);
    free(g.bytes);
}

void sonde__comm_elements_show(const struct sonde_query *q, const struct sonde_comm *c, size_t count, struct sonde_view_table *table, struct sonde_view_data *out)
{
    size_t named = 0;
    sonde_view_show(out, table, false);
    for (size_t i = 0; i < count && !q->complete; i++) {
        const struct shape shape = shape_of(q, &c->arrays.items[i]);
        const bool unasked = !shape.asked_for && shape.rows > 1;
        named += unasked;
        if (shape.asked_for || (unasked && named <= PICTURES_UNASKED))
            show_picture(q, c, &c->arrays.items[i], &shape, out);
    }
    if (named > PICTURES_UNASKED)
        sonde_view_say(out, true, "%zu more of these are matrices: --shape NAME=ROWSxCOLUMNS draws them.", named - PICTURES_UNASKED);
}

/* rows.c - rows of traces as columns.
 *
 * Chunks are chosen by their headers. Each has its place in the columns before anything is read, so that threads fill them side
 * by side, chunk after chunk: a chunk is decoded into a buffer that stays in the processor's cache, and from there its fields go
 * to the columns' memory, which is the answer's. Where a chunk gave fewer rows (it reaches out of the window, or is damaged)
 * what follows moves up. Texts are numbers of what they are the text of (a call path, a lane) until all rows are there; then
 * each number that occurs gets its text, once.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"
#include "arrow.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "format/tables.h"
#include "own.h"

enum {
    TASK_CHUNKS = 32,       /* that one thread reads with one reader */
    SLICE_ROWS = 1 << 18,   /* that one thread gives texts */
};

struct piece {               /* a chunk, or what is left of it */
    uint32_t process, index; /* of its traces */
    uint64_t at, count;      /* rows of the answer */
    bool whole;              /* all of it is wanted */
};

struct filled {              /* a column that is being made */
    const struct sonde__column *column;
    size_t width;            /* of a value in memory; booleans and texts are widened at the end */
    uint8_t *values;
    uint8_t *unknown;        /* a byte for each row: 1 unknown; NULL: nothing can be. Memory that is not written costs nothing */
    bool any_unknown;        /* relaxed: threads set it side by side */
    uint8_t *used;           /* TEXT: [numbers] this one occurs */
    int32_t *codes;          /* TEXT: [numbers] -1: unknown */
};

struct reading {
    struct sonde_read *m;
    const struct sonde__trace *trace;
    const struct sonde_table_info *info;
    uint64_t fields;
    const int64_t *from_ns, *to_ns; /* [process] on its own axis; NULL: all */
    bool loaded; /* tables of the processes that have rows are needed */
    struct piece *pieces;
    size_t piece_count;
    uint64_t rows;
    struct filled *columns;
    size_t column_count;
};

/* ---- which rows ------------------------------------------------------------------------------- */

static bool wanted_lane(const struct sonde_read_rows *asked, uint32_t process, uint32_t lane)
{
    return (asked->process < 0 || (uint32_t)asked->process == process) && (!asked->lane || asked->lane == lane);
}

static int choose(struct reading *r, const struct sonde_read_rows *asked)
{
    const struct sonde_measurement *m = r->m->query.m;
    size_t all = 0;
    for (uint32_t i = 0; i < m->process_count; i++)
        all += m->processes[i].trace_count;
    r->pieces = malloc((all + 1) * sizeof *r->pieces);
    for (uint32_t process = 0; r->pieces && process < m->process_count; process++)
        for (uint32_t i = 0; i < m->processes[process].trace_count; i++) {
            const struct sonde_chunk_ref *c = &m->processes[process].traces[i];
            if (c->table != r->trace->table || !wanted_lane(asked, process, c->lane))
                continue;
            if (r->from_ns && ((int64_t)c->time_max < r->from_ns[process] || (int64_t)c->time_min >= r->to_ns[process]))
                continue;
            const bool whole = !r->from_ns || ((int64_t)c->time_min >= r->from_ns[process] && (int64_t)c->time_max < r->to_ns[process]);
            r->pieces[r->piece_count++] = (struct piece){process, i, r->rows, c->count, whole};
            r->rows += c->count;
        }
    return r->pieces ? 0 : SONDE_ENOMEM;
}

/* Those of rows that lie in the window, one after the other at their begin. An instant lies in one window, what lasts in all that
 * it overlaps; what ends before it begins is an instant. */
static uint32_t keep(const struct reading *r, uint32_t process, uint8_t *rows, uint32_t count)
{
    const size_t bytes = r->info->row_bytes;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_lasts l = sonde_row_lasts(r->info, rows + i * bytes);
        const int64_t from = (int64_t)l.from_ns, to = (int64_t)l.to_ns;
        if (from < r->to_ns[process] && (from >= r->from_ns[process] || to > r->from_ns[process]))
            memmove(rows + kept++ * bytes, rows + i * bytes, bytes);
    }
    return kept;
}

/* ---- from rows to columns ---------------------------------------------------------------------- */

/* One field of all rows; `width` is a constant where this is called, so that each has its own loop. */
static inline void copy(void *to, const uint8_t *rows, uint32_t count, size_t bytes, size_t width)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy((char *)to + i * width, rows + i * bytes, width);
}

static void put_copy(const struct filled *f, uint64_t at, const uint8_t *rows, uint32_t count, size_t bytes)
{
    void *to = f->values + at * f->width;
    rows += f->column->offset;
    if (f->width == 8)
        copy(to, rows, count, bytes, 8);
    else if (f->width == 4)
        copy(to, rows, count, bytes, 4);
    else
        copy(to, rows, count, bytes, 2);
}

static void put_times(const struct filled *f, uint64_t at, const struct sonde__place *place, const uint8_t *rows, uint32_t count,
                      size_t bytes)
{
    int64_t *to = (int64_t *)(void *)f->values + at;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, rows + i * bytes + f->column->offset, sizeof value);
        to[i] = (int64_t)(value - (uint64_t)place->origin_ns);
    }
}

static void not_known(struct filled *f, uint64_t row)
{
    f->unknown[row] = 1;
    if (!__atomic_load_n(&f->any_unknown, __ATOMIC_RELAXED))
        __atomic_store_n(&f->any_unknown, true, __ATOMIC_RELAXED);
}

static void put_values(struct filled *f, uint64_t at, const struct sonde__place *place, const uint8_t *rows, uint32_t count,
                       size_t bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        bool known = true;
        const uint64_t value = f->column->value(place, rows + i * bytes, &known);
        memcpy(f->values + (at + i) * f->width, &value, f->width); /* little-endian, as the rows are */
        if (!known)
            not_known(f, at + i);
    }
}

/* The number of what it is the text of; UINT32_MAX: nothing. */
static void put_numbers(const struct filled *f, uint64_t at, const struct sonde__place *place, const uint8_t *rows, uint32_t count,
                        size_t bytes)
{
    uint32_t *to = (uint32_t *)(void *)f->values + at;
    for (uint32_t i = 0; i < count; i++) {
        bool known = true;
        const uint64_t number = f->column->value(place, rows + i * bytes, &known);
        to[i] = known ? (uint32_t)number : UINT32_MAX;
        if (known && !__atomic_load_n(&f->used[number], __ATOMIC_RELAXED))
            __atomic_store_n(&f->used[number], 1, __ATOMIC_RELAXED);
    }
}

static void put_rows(const struct reading *r, const struct piece *piece, const uint8_t *rows)
{
    const struct sonde_process *p = &r->m->query.m->processes[piece->process];
    const struct sonde__place place = {r->m, p, piece->process, p->traces[piece->index].lane, r->m->origins[piece->process]};
    const size_t bytes = r->info->row_bytes;
    for (size_t i = 0; i < r->column_count; i++) {
        struct filled *f = &r->columns[i];
        switch (f->column->how) {
        case SONDE__COPY: put_copy(f, piece->at, rows, (uint32_t)piece->count, bytes); break;
        case SONDE__TIME: put_times(f, piece->at, &place, rows, (uint32_t)piece->count, bytes); break;
        case SONDE__VALUE: put_values(f, piece->at, &place, rows, (uint32_t)piece->count, bytes); break;
        case SONDE__TEXT: put_numbers(f, piece->at, &place, rows, (uint32_t)piece->count, bytes); break;
        }
    }
}

/* Rows of a program that is being measured lie in its own memory: what is looked at twice is copied first. */
static int read_pieces(void *user, uint32_t task)
{
    struct reading *r = user;
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    uint8_t *room = malloc(SONDE_CHUNK_ROOM);
    const size_t first = (size_t)task * TASK_CHUNKS;
    int rc = reader && room ? 0 : SONDE_ENOMEM;
    for (size_t i = first; !rc && i < r->piece_count && i < first + TASK_CHUNKS; i++) {
        struct piece *piece = &r->pieces[i];
        const struct sonde_process *p = &r->m->query.m->processes[piece->process];
        rc = r->loaded ? sonde_process_load(p, SONDE_LOAD_ALL) : 0;
        if (rc)
            break;
        const uint8_t *rows = sonde_chunk_reader_fields(reader, p, piece->index, r->fields);
        const bool copied = rows && (!piece->whole || p->traces[piece->index].live);
        if (copied)
            memcpy(room, rows, piece->count * r->info->row_bytes);
        rows = copied ? room : rows;
        if (!rows)
            piece->count = 0;
        else if (!piece->whole)
            piece->count = keep(r, piece->process, room, (uint32_t)piece->count);
        if (piece->count)
            put_rows(r, piece, rows);
    }
    free(room);
    sonde_chunk_reader_destroy(reader);
    return rc;
}

/* What follows a gap moves up. */
static void close_gaps(struct reading *r)
{
    uint64_t at = 0;
    for (size_t i = 0; i < r->piece_count; i++) {
        const struct piece *piece = &r->pieces[i];
        for (size_t k = 0; k < r->column_count && piece->at != at; k++) {
            const struct filled *f = &r->columns[k];
            memmove(f->values + at * f->width, f->values + piece->at * f->width, piece->count * f->width);
            if (f->any_unknown)
                memmove(f->unknown + at, f->unknown + piece->at, piece->count);
        }
        at += piece->count;
    }
    r->rows = at;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static int name_numbers(const struct reading *r, struct filled *f, struct ArrowArray *dictionary)
{
    const uint64_t numbers = f->column->numbers(r->m);
    struct sonde_names names = r->m->names;
    struct sonde_intern seen = {0};
    struct sonde__arrow_texts texts = {0};
    char room[512];
    int rc = 0;
    names.scratch = (struct sonde_text){0};
    for (uint64_t i = 0; i < numbers && !rc; i++) {
        f->codes[i] = -1;
        const char *text = f->used[i] ? f->column->text(r->m, &names, i, room, sizeof room) : NULL;
        if (!text || !*text)
            continue;
        const uint32_t id = sonde_intern_text(&seen, text);
        rc = id ? 0 : SONDE_ENOMEM;
        f->codes[i] = (int32_t)id - 1;
        if (id > texts.count)
            sonde__arrow_text(&texts, text);
    }
    rc = rc ? rc : sonde__arrow_array(dictionary, (int64_t)texts.count, 3, 0);
    rc = rc ? rc : sonde__arrow_texts_end(&texts, dictionary);
    sonde__arrow_texts_fini(&texts);
    sonde_intern_fini(&seen);
    sonde_text_fini(&names.scratch);
    return rc;
}

static int code_slice(void *user, uint32_t task)
{
    struct reading *r = user;
    const uint64_t from = (uint64_t)task * SLICE_ROWS, to = from + SLICE_ROWS < r->rows ? from + SLICE_ROWS : r->rows;
    for (size_t k = 0; k < r->column_count; k++) {
        struct filled *f = &r->columns[k];
        uint32_t *values = (uint32_t *)(void *)f->values;
        for (uint64_t i = from; f->column->how == SONDE__TEXT && i < to; i++) {
            const int32_t code = values[i] == UINT32_MAX ? -1 : f->codes[values[i]];
            values[i] = code < 0 ? 0 : (uint32_t)code;
            if (code < 0)
                not_known(f, i);
        }
    }
    return 0;
}

/* ---- columns ----------------------------------------------------------------------------------- */

static size_t width_of(const struct sonde__column *c)
{
    return strchr("lLg", *c->format) ? 8 : (strchr("iI", *c->format) ? 4 : 1);
}

static int make_room(struct reading *r, struct filled *f)
{
    const uint64_t numbers = f->column->how == SONDE__TEXT ? f->column->numbers(r->m) : 0;
    f->width = width_of(f->column);
    f->values = sonde__arrow_memory(r->rows * f->width + 8);
    f->unknown = f->column->nullable ? calloc(r->rows + 8, 1) : NULL;
    f->used = numbers ? calloc(numbers, 1) : NULL;
    f->codes = numbers ? malloc(numbers * sizeof *f->codes) : NULL;
    if (!f->values || (f->column->nullable && !f->unknown) || (numbers && (!f->used || !f->codes)))
        return SONDE_ENOMEM;
    return 0;
}

static void free_columns(struct reading *r)
{
    for (size_t i = 0; r->columns && i < r->column_count; i++) {
        free(r->columns[i].values);
        free(r->columns[i].unknown);
        free(r->columns[i].used);
        free(r->columns[i].codes);
    }
    free(r->columns);
}

static int unknown_column(const struct sonde__trace *trace, const char *name, struct sonde_diag *diag)
{
    struct sonde_nearest nearest = {.word = name};
    for (uint32_t i = 0; i < trace->count; i++)
        sonde_nearest_try(&nearest, trace->columns[i].name);
    sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "the table %s has no column '%s'", trace->name, name);
    if (*nearest.known)
        sonde_diag_hint(diag, "did you mean '%s'?", nearest.known);
    return SONDE_ENOTFOUND;
}

static int choose_columns(struct reading *r, const char *const *names, struct sonde_diag *diag)
{
    size_t count = r->trace->count;
    for (count = names ? 0 : count; names && names[count];)
        count++;
    r->columns = calloc(count + 1, sizeof *r->columns);
    for (size_t i = 0; r->columns && i < count; i++) {
        const struct sonde__column *column = names ? NULL : &r->trace->columns[i];
        for (uint32_t k = 0; names && k < r->trace->count; k++)
            if (strcmp(r->trace->columns[k].name, names[i]) == 0)
                column = &r->trace->columns[k];
        if (!column)
            return unknown_column(r->trace, names[i], diag);
        if (names || !column->asked_for) {
            r->columns[r->column_count++] = (struct filled){.column = column};
            r->fields |= column->fields;
        }
    }
    return r->columns ? 0 : SONDE_ENOMEM;
}

/* ---- the answer --------------------------------------------------------------------------------- */

static int make_schema(const struct reading *r, struct ArrowSchema *schema)
{
    int rc = sonde__arrow_schema(schema, r->trace->name, "+s", false, (int64_t)r->column_count, NULL);
    for (size_t i = 0; i < r->column_count && !rc; i++) {
        const struct sonde__column *c = r->columns[i].column;
        const struct sonde__arrow_about about = {.definition = c->definition, .unit = c->unit};
        rc = sonde__arrow_schema(schema->children[i], c->name, c->format, c->nullable, 0, &about);
        if (!rc && c->how == SONDE__TEXT)
            rc = sonde__arrow_schema_dictionary(schema->children[i]);
    }
    return rc;
}

static int give(struct filled *f, struct ArrowArray *array)
{
    int rc = sonde__arrow_unknown(array, f->any_unknown ? f->unknown : NULL);
    if (!rc && *f->column->format == 'b')
        return sonde__arrow_bits(array, 1, f->values);
    sonde__arrow_buffer(array, 1, f->values);
    f->values = NULL;
    return rc;
}

static int give_column(void *user, uint32_t task)
{
    void *const *both = user;
    struct reading *r = both[0];
    struct ArrowArray *array = both[1];
    return give(&r->columns[task], array->children[task]);
}

static int fill(struct reading *r, struct ArrowArray *array)
{
    const uint32_t threads = sonde_parallel_threads();
    int rc = 0;
    for (size_t i = 0; i < r->column_count && !rc; i++)
        rc = make_room(r, &r->columns[i]);
    rc = rc ? rc : sonde_parallel_run(threads, (uint32_t)((r->piece_count + TASK_CHUNKS - 1) / TASK_CHUNKS), read_pieces, r);
    if (!rc)
        close_gaps(r);
    rc = rc ? rc : sonde__arrow_array(array, (int64_t)r->rows, 1, (int64_t)r->column_count);
    for (size_t i = 0; i < r->column_count && !rc; i++) {
        rc = sonde__arrow_array(array->children[i], (int64_t)r->rows, 2, 0);
        if (!rc && r->columns[i].column->how == SONDE__TEXT) {
            sonde__arrow_array_dictionary(array->children[i]);
            rc = name_numbers(r, &r->columns[i], array->children[i]->dictionary);
        }
    }
    rc = rc ? rc : sonde_parallel_run(threads, (uint32_t)((r->rows + SLICE_ROWS - 1) / SLICE_ROWS), code_slice, r);
    return rc ? rc : sonde_parallel_run(threads, (uint32_t)r->column_count, give_column, (void *[]){r, array});
}

/* The window on each process's axis: saturated, so that a far one holds all. */
static int64_t shifted(int64_t ns, int64_t origin_ns)
{
    int64_t sum;
    return __builtin_add_overflow(ns, origin_ns, &sum) ? (ns < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t *make_window(const struct sonde_read *m, const struct sonde_read_rows *asked)
{
    const uint32_t count = m->query.m->process_count;
    int64_t *window = malloc((2 * (size_t)count + 1) * sizeof *window);
    for (uint32_t i = 0; window && i < count; i++) {
        window[i] = shifted(asked->from_ns, m->origins[i]);
        window[count + i] = shifted(asked->to_ns, m->origins[i]);
    }
    return window;
}

int sonde__trace_arrow(struct sonde_read *m, const struct sonde__trace *trace, const struct sonde_read_rows *asked,
                       struct ArrowSchema *schema, struct ArrowArray *array, struct sonde_diag *diag)
{
    struct reading r = {.m = m, .trace = trace, .info = sonde_table_info(trace->table)};
    const bool windowed = asked->from_ns || asked->to_ns;
    bool prepared = false;
    int64_t *window = windowed ? make_window(m, asked) : NULL;
    int rc = windowed && !window ? SONDE_ENOMEM : choose_columns(&r, asked->columns, diag);
    for (size_t i = 0; i < r.column_count; i++) {
        prepared |= r.columns[i].column->prepared;
        r.loaded |= r.columns[i].column->loaded;
    }
    if (!rc && prepared)
        rc = sonde__read_prepare(m, diag);
    if (windowed && window) {
        r.from_ns = window;
        r.to_ns = window + m->query.m->process_count;
        /* keep() looks at them */
        r.fields |= trace->table == SONDE_TABLE_OP ? UINT64_MAX : 0;
    }
    r.fields = r.fields && trace->table == SONDE_TABLE_OP ? r.fields : UINT64_MAX;
    rc = rc ? rc : choose(&r, asked);
    rc = rc ? rc : make_schema(&r, schema);
    rc = rc ? rc : fill(&r, array);
    free_columns(&r);
    free(r.pieces);
    free(window);
    if (rc == SONDE_ENOMEM && !diag->code)
        sonde_diag_set(diag, rc, m->path, "cannot read the %s of", trace->name);
    return rc;
}

/* table.c - fills the tables and sentences of a view. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(struct sonde_view_data *data, int code)
{
    data->error = data->error ? data->error : code;
}

void sonde_view_data_fini(struct sonde_view_data *data)
{
    sonde_arena_fini(&data->arena);
    *data = (struct sonde_view_data){0};
}

struct sonde_view_table *sonde_view_table(struct sonde_view_data *data, const struct sonde_view_columns *columns)
{
    static _Thread_local struct sonde_view_table nowhere;
    struct sonde_view_table *t = sonde_arena_alloc(&data->arena, sizeof *t);
    if (!t) {
        fail(data, SONDE_ENOMEM);
        nowhere = (struct sonde_view_table){.columns = columns, .data = data};
        return &nowhere;
    }
    *t = (struct sonde_view_table){.columns = columns, .data = data, .next = data->tables};
    data->tables = t;
    return t;
}

size_t sonde_view_rows(const struct sonde_view_table *t)
{
    return t->count / t->columns->count;
}

const struct sonde_view_columns *sonde_view_columns_copy(struct sonde_view_data *data, const struct sonde_view_columns *like,
                                                         const struct sonde_view_column *items, size_t count)
{
    struct sonde_view_columns *columns = sonde_arena_alloc(&data->arena, sizeof *columns);
    struct sonde_view_column *copy = sonde_arena_alloc(&data->arena, count * sizeof *copy);
    if (!columns || !copy) {
        fail(data, SONDE_ENOMEM);
        return NULL;
    }
    memcpy(copy, items, count * sizeof *copy);
    *columns = (struct sonde_view_columns){like->name, like->subject, copy, count};
    return columns;
}

void sonde_view_hide(struct sonde_view_table *t, const char *title)
{
    for (size_t i = 0; i < t->columns->count && i < 64; i++)
        if (t->columns->items[i].title && strcmp(t->columns->items[i].title, title) == 0)
            t->hidden |= UINT64_C(1) << i;
}

/* ---- items -------------------------------------------------------------------------------- */

static struct sonde_view_item *add_item(struct sonde_view_data *data, struct sonde_view_item value)
{
    static _Thread_local struct sonde_view_item nowhere;
    struct sonde_view_item *item = sonde_arena_alloc(&data->arena, sizeof *item);
    if (!item) {
        fail(data, SONDE_ENOMEM);
        return &nowhere;
    }
    *item = value;
    if (!data->items_end)
        data->items_end = &data->items;
    *data->items_end = item;
    data->items_end = &item->next;
    return item;
}

static const char *keep(struct sonde_view_data *data, const char *text)
{
    const char *copy = sonde_arena_copy(&data->arena, text, strlen(text));
    if (!copy)
        fail(data, SONDE_ENOMEM);
    return copy ? copy : "";
}

struct sonde_view_item *sonde_view_show(struct sonde_view_data *data, const struct sonde_view_table *t, bool gap)
{
    return add_item(data, (struct sonde_view_item){.table = t, .gap = gap});
}

struct sonde_view_item *sonde_view_say(struct sonde_view_data *data, bool gap, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    const bool made = vasprintf(&text, format, args) >= 0;
    va_end(args);
    if (!made)
        fail(data, SONDE_ENOMEM);
    struct sonde_view_item *item = add_item(data, (struct sonde_view_item){.sentence = keep(data, made ? text : ""), .gap = gap});
    if (made)
        free(text);
    return item;
}

void sonde_view_others(struct sonde_view_data *data)
{
    add_item(data, (struct sonde_view_item){0});
}

void sonde_view_note(struct sonde_view_data *data, unsigned kind, const char *text)
{
    struct sonde_view_note *note = sonde_arena_alloc(&data->arena, sizeof *note);
    if (!note) {
        fail(data, SONDE_ENOMEM);
        return;
    }
    *note = (struct sonde_view_note){.kind = kind, .text = keep(data, text)};
    if (!data->notes_end)
        data->notes_end = &data->notes;
    *data->notes_end = note;
    data->notes_end = &note->next;
}

/* ---- cells ---------------------------------------------------------------------------------- */

enum {
    /* sets of kinds */
    TEXTS = 1 << SONDE_CELL_TEXT | 1 << SONDE_CELL_KEY,
    REALS = 1 << SONDE_CELL_TIME | 1 << SONDE_CELL_BYTES | 1 << SONDE_CELL_NUMBER,
    WHOLES = REALS | 1 << SONDE_CELL_COUNT | 1 << SONDE_CELL_ID | 1 << SONDE_CELL_KEY,
    ANY = ~0,
};

static bool grow(struct sonde_view_table *t)
{
    const size_t capacity = t->capacity ? 2 * t->capacity : t->columns->count;
    struct sonde_cell *cells = sonde_arena_alloc(&t->data->arena, capacity * sizeof *cells);
    if (!cells)
        return false;
    if (t->count)
        memcpy(cells, t->cells, t->count * sizeof *cells);
    t->cells = cells;
    t->capacity = capacity;
    return true;
}

static void append(struct sonde_view_table *t, int kinds, struct sonde_cell cell)
{
    const struct sonde_view_column *column = &t->columns->items[t->count % t->columns->count];
    if (!(kinds & 1 << column->kind))
        fail(t->data, SONDE_EINVALID);
    else if (t->count == t->capacity && !grow(t))
        fail(t->data, SONDE_ENOMEM);
    else
        t->cells[t->count++] = cell;
}

void sonde_cell_unknown(struct sonde_view_table *t)
{
    append(t, ANY, (struct sonde_cell){0});
}

void sonde_cell_absent(struct sonde_view_table *t)
{
    append(t, ANY, (struct sonde_cell){.state = SONDE_CELL_ABSENT});
}

void sonde_cell_blank(struct sonde_view_table *t)
{
    append(t, ANY, (struct sonde_cell){.state = SONDE_CELL_STRING, .text = ""});
}

void sonde_cell_tree(struct sonde_view_table *t, uint32_t depth, const char *text)
{
    append(t, TEXTS,
           (struct sonde_cell){
               .state = text ? SONDE_CELL_STRING : SONDE_CELL_UNKNOWN,
               .depth = depth,
               .text = text ? keep(t->data, text) : NULL,
           });
}

void sonde_cell_text(struct sonde_view_table *t, const char *text)
{
    sonde_cell_tree(t, 0, text);
}

void sonde_cell_take(struct sonde_view_table *t, struct sonde_text *text)
{
    sonde_cell_text(t, sonde_text_get(text));
    sonde_text_fini(text);
}

void sonde_cell_bars(struct sonde_view_table *t, const double *heights, size_t count)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    struct sonde_text picture = {0};
    for (size_t i = 0; i < count; i++)
        sonde_text_add(&picture, heights[i] < 0 ? " " : bars[(size_t)(heights[i] * 7.999)]);
    sonde_cell_take(t, &picture);
}

void sonde_cell_int(struct sonde_view_table *t, bool known, uint64_t value)
{
    append(t, WHOLES, (struct sonde_cell){.state = known ? SONDE_CELL_INTEGER : SONDE_CELL_UNKNOWN, .integer = value});
}

void sonde_cell_real(struct sonde_view_table *t, bool known, double value)
{
    append(t, REALS, (struct sonde_cell){.state = known ? SONDE_CELL_REAL : SONDE_CELL_UNKNOWN, .real = value});
}

void sonde_cell_figure(struct sonde_view_table *t, bool known, double value)
{
    append(t, 1 << SONDE_CELL_FIGURE, (struct sonde_cell){.state = known ? SONDE_CELL_REAL : SONDE_CELL_UNKNOWN, .real = value});
}

void sonde_cell_estimate(struct sonde_view_table *t, double ns, double error_ns)
{
    append(t, 1 << SONDE_CELL_TIME, (struct sonde_cell){.state = SONDE_CELL_REAL, .real = ns, .more = error_ns});
}

void sonde_cell_share(struct sonde_view_table *t, double part, double whole)
{
    append(t, 1 << SONDE_CELL_SHARE,
           (struct sonde_cell){
               .state = whole > 0 ? SONDE_CELL_REAL : SONDE_CELL_UNKNOWN,
               .real = part,
               .more = whole,
           });
}

void sonde_cell_boolean(struct sonde_view_table *t, bool value)
{
    append(t, 1 << SONDE_CELL_BOOLEAN, (struct sonde_cell){.state = SONDE_CELL_INTEGER, .integer = value});
}

static struct sonde_view_table *inner(struct sonde_view_table *t, enum sonde_cell_kind kind,
                                      const struct sonde_view_columns *columns)
{
    struct sonde_view_table *table = sonde_view_table(t->data, columns);
    append(t, 1 << kind, (struct sonde_cell){.state = SONDE_CELL_INNER, .inner = table});
    return table;
}

static const struct sonde_view_columns *inner_columns(const struct sonde_view_table *t)
{
    const struct sonde_view_column *column = &t->columns->items[t->count % t->columns->count];
    return column->of ? column->of : t->columns;
}

struct sonde_view_table *sonde_cell_object(struct sonde_view_table *t)
{
    return inner(t, SONDE_CELL_OBJECT, inner_columns(t));
}

struct sonde_view_table *sonde_cell_object_of(struct sonde_view_table *t, const struct sonde_view_columns *columns)
{
    return inner(t, SONDE_CELL_OBJECT, columns);
}

struct sonde_view_table *sonde_cell_list(struct sonde_view_table *t)
{
    return inner(t, SONDE_CELL_LIST, inner_columns(t));
}

struct sonde_view_table *sonde_cell_map(struct sonde_view_table *t)
{
    return inner(t, SONDE_CELL_MAP, inner_columns(t));
}

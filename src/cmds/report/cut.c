/* cut.c - cells that do not fit their column: what is left out of them, so that rows can be told apart.
 *
 * A name loses its end. A stack ("step() heat.c:81 ← run() heat.c:90 ← main() heat.c:140") loses the places of its
 * callers, then its middle: which call it was stands at its begin, and how the program came there at its end. Cells of
 * one column that would look alike after that, but are not, show the place where each differs from the one that it is
 * most like.
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define ARROW " ← "
#define DOTS "…"
enum {
    ARROW_COLUMNS = 3,
    CONTEXT = 6,
}; /* of a difference: columns shown before it */

/* Where the longest end of at most `columns` begins. */
static size_t suffix(const char *text, size_t columns)
{
    const size_t all = sonde_text_columns(text);
    size_t at = 0;
    for (size_t skip = all > columns ? all - columns : 0; skip <= all; skip++) {
        at = sonde_text_prefix(text, skip);
        if (sonde_text_columns(text + at) <= columns)
            break;
    }
    return at;
}

static void add_middle(struct sonde_text *out, const char *cell, size_t columns, size_t head)
{
    sonde_text_add_bytes(out, cell, sonde_text_prefix(cell, head));
    sonde_text_add(out, DOTS);
    sonde_text_add(out, cell + suffix(cell, columns - head - 1));
}

static size_t columns_between(const char *begin, const char *end)
{
    struct sonde_text part = {0};
    sonde_text_add_bytes(&part, begin, (size_t)(end - begin));
    const size_t columns = sonde_text_columns(sonde_text_get(&part));
    sonde_text_fini(&part);
    return columns;
}

/* As many whole frames from the innermost on as there is room for, and the outermost: "a ← b ← … ← z". */
static bool leave_frames_out(struct sonde_text *out, const char *cell, size_t columns)
{
    const char *last = NULL, *end = NULL;
    for (const char *at = cell; (at = strstr(at, ARROW)); at += strlen(ARROW))
        last = at;
    const size_t tail = last ? sonde_text_columns(last) + ARROW_COLUMNS + 1 : 0;
    for (const char *at = cell; last && (at = strstr(at, ARROW)) && at < last; at += strlen(ARROW))
        if (columns_between(cell, at) + tail <= columns)
            end = at;
    if (!end)
        return false;
    sonde_text_add_bytes(out, cell, (size_t)(end - cell));
    sonde_text_add(out, ARROW DOTS);
    sonde_text_add(out, last);
    return true;
}

/* Callers without their places: "step() heat.c:81 ← run() ← main()". */
static void leave_places_out(struct sonde_text *out, const char *cell)
{
    const char *next = strstr(cell, ARROW);
    sonde_text_add_bytes(out, cell, next ? (size_t)(next - cell) : strlen(cell));
    for (const char *at = next; at; at = next) {
        const char *name = at + strlen(ARROW), *end = strstr(name, *name == '<' ? "> " : "() ");
        next = strstr(name, ARROW);
        const size_t length = next ? (size_t)(next - name) : strlen(name);
        const size_t most = end ? (size_t)(end - name) + (*name == '<' ? 1 : 2) : length;
        sonde_text_add(out, ARROW);
        sonde_text_add_bytes(out, name, most < length ? most : length);
    }
}

static void cut_stack(struct sonde_text *out, const char *cell, size_t columns)
{
    const char *first = strstr(cell, ARROW);
    const size_t innermost = first ? columns_between(cell, first) : columns;
    struct sonde_text names = {0};
    leave_places_out(&names, cell);
    const char *text = sonde_text_get(&names);
    if (sonde_text_columns(text) <= columns)
        sonde_text_add(out, text);
    else if (!leave_frames_out(out, text, columns))
        add_middle(out, text, columns, innermost <= columns * 3 / 4 ? innermost : columns * 3 / 5);
    sonde_text_fini(&names);
}

void table_cut(struct sonde_text *out, const char *cell, size_t columns, bool stack)
{
    if (sonde_text_columns(cell) <= columns) {
        sonde_text_add(out, cell);
    } else if (stack && columns > 2 * CONTEXT) {
        cut_stack(out, cell, columns);
    } else {
        sonde_text_add_bytes(out, cell, sonde_text_prefix(cell, columns - 1));
        sonde_text_add(out, DOTS);
    }
}

/* The cell's begin, and what stands around its byte `at`. */
static void cut_around(struct sonde_text *out, const char *cell, size_t columns, size_t at)
{
    const size_t head = columns / 3, before = columns_between(cell, cell + at);
    const size_t from = before > CONTEXT ? sonde_text_prefix(cell, before - CONTEXT) : 0;
    const size_t rest = columns - head - 1;
    if (before < columns - CONTEXT) { /* it is near the begin */
        table_cut(out, cell, columns, false);
    } else if (sonde_text_columns(cell + from) <= rest) {
        add_middle(out, cell, columns, head);
    } else {
        sonde_text_add_bytes(out, cell, sonde_text_prefix(cell, head));
        sonde_text_add(out, DOTS);
        sonde_text_add_bytes(out, cell + from, sonde_text_prefix(cell + from, rest - 1));
        sonde_text_add(out, DOTS);
    }
}

struct pair {
    const char *cell;
    char **shown;
};

static int by_shown(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    const int order = strcmp(*a->shown, *b->shown);
    return order ? order : strcmp(a->cell, b->cell);
}

/* Bytes that both begin with, up to the begin of a character; 0 when there is nothing to tell apart. */
static size_t alike(const struct pair *a, const struct pair *b)
{
    size_t at = 0;
    if (strcmp(*a->shown, *b->shown) != 0 || strcmp(a->cell, b->cell) == 0)
        return 0;
    while (a->cell[at] && a->cell[at] == b->cell[at])
        at++;
    while (at && (a->cell[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* The next of `pairs` in a direction whose text is another. */
static size_t alike_next(const struct pair *pairs, size_t count, size_t at, int step)
{
    for (size_t k = at; step > 0 ? k + 1 < count : k > 0;) {
        k = step > 0 ? k + 1 : k - 1;
        if (strcmp(pairs[k].cell, pairs[at].cell) != 0)
            return alike(&pairs[at], &pairs[k]);
    }
    return 0;
}

static void tell_column_apart(struct pair *pairs, size_t count, size_t columns)
{
    char **cut = calloc(count ? count : 1, sizeof *cut);
    qsort(pairs, count, sizeof *pairs, by_shown);
    for (size_t i = 0; cut && i < count; i++) {
        const size_t before = alike_next(pairs, count, i, -1), after = alike_next(pairs, count, i, 1);
        struct sonde_text text = {0};
        if (!before && !after)
            continue;
        cut_around(&text, pairs[i].cell, columns, before > after ? before : after);
        cut[i] = strdup(sonde_text_get(&text));
        sonde_text_fini(&text);
    }
    for (size_t i = 0; cut && i < count; i++)
        if (cut[i]) {
            free(*pairs[i].shown);
            *pairs[i].shown = cut[i];
        }
    free(cut);
}

char **table_shown(const struct table *t, const int *width)
{
    const size_t columns = (size_t)t->column_count;
    char **shown = calloc(t->cells.count ? t->cells.count : 1, sizeof *shown);
    struct pair *pairs = calloc(t->cells.count / columns + 1, sizeof *pairs);
    for (size_t c = 0; c < columns && shown && pairs; c++) {
        size_t count = 0;
        for (size_t i = c; i < t->cells.count; i += columns) {
            struct sonde_text text = {0};
            if (width[c] <= 0 || sonde_text_columns(t->cells.items[i]) <= (size_t)width[c])
                continue;
            table_cut(&text, t->cells.items[i], (size_t)width[c], t->columns[c].style & SONDE_STYLE_STACK);
            shown[i] = strdup(sonde_text_get(&text));
            sonde_text_fini(&text);
            if (shown[i])
                pairs[count++] = (struct pair){t->cells.items[i], &shown[i]};
        }
        tell_column_apart(pairs, count, (size_t)(width[c] > 0 ? width[c] : 0));
    }
    free(pairs);
    return shown;
}

/* layout.c - see layout.h. The window has the slices by (start, order of
 * arrival), so that slices with equal starts keep their order, the longer first
 * where they nest; the items lie still in slots. Most lanes come in order, or
 * nearly so: then it is a ring, in which a slice moves up past a few others. One
 * that is further out of order makes it a binary heap, until the lane ends.
 */
#include "layout.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NEARLY = 32 /* steps that a slice moves up in the ring */ };

struct entry {
    uint64_t start_ns, end_ns, order;
    uint32_t slot;
};

struct sonde_layout {
    sonde_layout_fn fn;
    sonde_layout_end_fn end; /* NULL: the lane does not nest */
    void *user;
    size_t item_bytes;
    char *items;
    struct entry heap[SONDE_LAYOUT_WINDOW];
    bool heaped;             /* else `heap` is the ring, which begins at `head` */
    uint32_t head, count;
    uint64_t order;
    uint64_t row_end[SONDE_LAYOUT_ROWS]; /* nesting: its last begin or end */
    uint64_t open[SONDE_LAYOUT_ROWS][SONDE_LAYOUT_DEPTH]; /* nesting: ends, outermost first */
    uint32_t depth[SONDE_LAYOUT_ROWS];
    uint32_t rows;
};

struct sonde_layout *sonde_layout_create(size_t item_bytes, sonde_layout_fn fn, void *user)
{
    struct sonde_layout *layout = calloc(1, sizeof *layout);
    if (!layout)
        return NULL;
    layout->items = malloc(item_bytes * SONDE_LAYOUT_WINDOW);
    if (!layout->items) {
        free(layout);
        return NULL;
    }
    layout->item_bytes = item_bytes;
    layout->fn = fn;
    layout->user = user;
    return layout;
}

void sonde_layout_destroy(struct sonde_layout *layout)
{
    if (layout)
        free(layout->items);
    free(layout);
}

static bool before(const struct sonde_layout *layout, const struct entry *a, const struct entry *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (layout->end && a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->order < b->order;
}

/* Put `entry` where the hole at `at` is, moving the hole towards the root. */
static void sift_up(struct sonde_layout *layout, uint32_t at, struct entry entry)
{
    while (at && before(layout, &entry, &layout->heap[(at - 1) / 2])) {
        layout->heap[at] = layout->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    layout->heap[at] = entry;
}

static void sift_down(struct sonde_layout *layout, struct entry entry)
{
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= layout->count)
            break;
        if (child + 1 < layout->count && before(layout, &layout->heap[child + 1], &layout->heap[child]))
            child++;
        if (!before(layout, &layout->heap[child], &entry))
            break;
        layout->heap[at] = layout->heap[child];
        at = child;
    }
    layout->heap[at] = entry;
}

static struct entry *in_ring(struct sonde_layout *layout, uint32_t index)
{
    return &layout->heap[(layout->head + index) % SONDE_LAYOUT_WINDOW];
}

static void reverse(struct entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        const struct entry swapped = entries[i];
        entries[i] = entries[count - 1 - i];
        entries[count - 1 - i] = swapped;
    }
}

/* Entries in order are a heap, once they are turned, in place, so that the first comes first. */
static void make_heap(struct sonde_layout *layout)
{
    reverse(layout->heap, layout->head);
    reverse(layout->heap + layout->head, SONDE_LAYOUT_WINDOW - layout->head);
    reverse(layout->heap, SONDE_LAYOUT_WINDOW);
    layout->head = 0;
    layout->heaped = true;
}

static void insert(struct sonde_layout *layout, struct entry entry)
{
    uint32_t at = layout->count;
    while (!layout->heaped && at && before(layout, &entry, in_ring(layout, at - 1))) {
        if (layout->count - at == NEARLY) {
            /* Put back what has moved. */
            for (; at < layout->count; at++)
                *in_ring(layout, at) = *in_ring(layout, at + 1);
            make_heap(layout);
            break;
        }
        *in_ring(layout, at) = *in_ring(layout, at - 1);
        at--;
    }
    if (layout->heaped)
        sift_up(layout, layout->count++, entry);
    else {
        *in_ring(layout, at) = entry;
        layout->count++;
    }
}

/* End what is open in a row up to a time. */
static void close_until(struct sonde_layout *layout, uint32_t row, uint64_t until_ns)
{
    while (layout->depth[row] && layout->open[row][layout->depth[row] - 1] <= until_ns) {
        layout->row_end[row] = layout->open[row][--layout->depth[row]];
        layout->end(layout->user, row, layout->row_end[row]);
    }
}

static bool fits(struct sonde_layout *layout, uint32_t row, const struct entry *entry)
{
    if (layout->row_end[row] > entry->start_ns)
        return false;
    if (!layout->end)
        return true;
    close_until(layout, row, entry->start_ns);
    uint32_t depth = layout->depth[row];
    return !depth || (depth < SONDE_LAYOUT_DEPTH && layout->open[row][depth - 1] >= entry->end_ns);
}

static uint32_t row_for(struct sonde_layout *layout, const struct entry *entry)
{
    uint32_t row = 0;
    while (row < layout->rows && !fits(layout, row, entry))
        row++;
    if (row == SONDE_LAYOUT_ROWS)
        return SONDE_LAYOUT_NO_ROW;
    if (row == layout->rows)
        layout->rows++;
    layout->row_end[row] = layout->end ? entry->start_ns : entry->end_ns;
    if (layout->end)
        layout->open[row][layout->depth[row]++] = entry->end_ns;
    return row;
}

/* Pass the first slice on; returns its slot, which is free now. */
static uint32_t pop(struct sonde_layout *layout)
{
    const struct entry first = layout->heap[layout->heaped ? 0 : layout->head];
    layout->count--;
    if (!layout->heaped)
        layout->head = (layout->head + 1) % SONDE_LAYOUT_WINDOW;
    else if (layout->count)
        sift_down(layout, layout->heap[layout->count]);
    layout->fn(layout->user, row_for(layout, &first), layout->items + first.slot * layout->item_bytes);
    return first.slot;
}

void sonde_layout_nest(struct sonde_layout *layout, sonde_layout_end_fn end)
{
    layout->end = end;
}

void sonde_layout_add(struct sonde_layout *layout, uint64_t start_ns, uint64_t end_ns, const void *item)
{
    uint32_t slot = layout->count < SONDE_LAYOUT_WINDOW ? layout->count : pop(layout);
    memcpy(layout->items + slot * layout->item_bytes, item, layout->item_bytes);
    insert(layout, (struct entry){start_ns, end_ns, layout->order++, slot});
}

void sonde_layout_end(struct sonde_layout *layout)
{
    while (layout->count)
        pop(layout);
    for (uint32_t row = 0; layout->end && row < layout->rows; row++)
        close_until(layout, row, UINT64_MAX);
    layout->rows = layout->head = 0;
    layout->heaped = false;
    layout->order = 0;
    layout->end = NULL;
}

/* layout.h - slices of one lane, in the order of their starts, on as few rows as needed.
 *
 * Viewers draw slices of one track only when they nest. Operations of an
 * out-of-order queue overlap, and a trace is in the order of completion. So
 * slices pass through a window that sorts them, and each goes to the first row
 * whose last slice has ended: slices of one row never overlap, whatever the
 * input; with at most SONDE_LAYOUT_WINDOW slices out of order, the rows are as
 * few as possible (greedy interval partitioning: Kleinberg and Tardos,
 * Algorithm Design, 4.1).
 *
 * Ranges and API calls of one thread lie within each other. In a lane that
 * nests, a slice goes to the first row where it lies within the slices that
 * are open, or after them: the stack of a row is that of brackets.
 */
#ifndef SONDE_EXPORT_LAYOUT_H
#define SONDE_EXPORT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_LAYOUT_WINDOW 32768u
#define SONDE_LAYOUT_ROWS   1024u
#define SONDE_LAYOUT_DEPTH  256u       /* of slices within each other in one row */
#define SONDE_LAYOUT_NO_ROW UINT32_MAX /* more than SONDE_LAYOUT_ROWS at once */

struct sonde_layout;

/* Called for each slice, by start; `row` counts from 0. */
typedef void (*sonde_layout_fn)(void *user, uint32_t row, const void *item);

/* Called in lanes that nest when the innermost slice of a row ends. Begins and ends
 * of a row come in the order of time. */
typedef void (*sonde_layout_end_fn)(void *user, uint32_t row, uint64_t end_ns);

/* Items of `item_bytes` bytes are copied. NULL when out of memory. */
struct sonde_layout *sonde_layout_create(size_t item_bytes, sonde_layout_fn fn, void *user);
void sonde_layout_destroy(struct sonde_layout *layout);

/* Before the first slice of a lane: slices nest, and `end` hears of their ends. For this lane only. */
void sonde_layout_nest(struct sonde_layout *layout, sonde_layout_end_fn end);
/* One slice of the lane; end_ns >= start_ns. */
void sonde_layout_add(struct sonde_layout *layout, uint64_t start_ns, uint64_t end_ns, const void *item);
/* The lane ends: everything is passed to the function, and rows begin anew. */
void sonde_layout_end(struct sonde_layout *layout);

#endif

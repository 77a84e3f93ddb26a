/* groups.h - columns and cells that several views have: frames, callers, times of operations.
 *
 * Any thread; rules of table.h.
 */
#ifndef SONDE_VIEWS_GROUPS_H
#define SONDE_VIEWS_GROUPS_H

#include "query.h"
#include "table.h"

/* LIST: frames of code, innermost first. */
extern const struct sonde_view_columns sonde_frames;
/* The user's nearest ones from `leaf` on, eight at most; leaf 0: none. */
void sonde_cell_frames(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf);
/* Their four cells of one frame, for tables that have its columns among their own. */
void sonde_cells_frame(struct sonde_view_table *t, const struct sonde_cct_node *node);

/* TEXT: the two nearest of the user that allocated something, for people: "step() heat.c:81 ← main() heat.c:140"; leaf 0:
 * unknown. */
void sonde_cell_allocated_by(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf);

/* LIST: names that the program gave to parts of the objects of this kind that `node` allocated, as sonde_stretches_next has them. */
extern const struct sonde_view_columns sonde_names;
void sonde_cell_names(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, uint32_t kind, uint32_t node);
/* TEXT: the kind with the first of them, for people: "device: bias, weights, …". */
void sonde_cell_named_kind(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, uint32_t kind, uint32_t node);

/* LIST: the calling contexts of a group, heaviest first. Unknown unless q->complete. */
extern const struct sonde_view_columns sonde_callers;
void sonde_cell_callers(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group);

/* The same for people, a table of its own below that of the groups: SONDE_VIEW_COLUMNS_OF("called_from", "Kernel",
 * sonde_caller_columns). */
enum { SONDE_CALLER_COLUMNS = 4 };
extern const struct sonde_view_column sonde_caller_columns[SONDE_CALLER_COLUMNS];
void sonde_callers_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group,
                        const char *name);

/* Three ID cells, as its launcher gave them: rank, local_rank, ranks. */
void sonde_cells_rank(struct sonde_view_table *t, const struct sonde_process *p);

/* Five cells of a group of operations: name and kind as TEXT, COUNT of those that finished, were timed, failed. */
void sonde_cells_operations(struct sonde_view_table *t, const struct sonde_group *group);
/* Nine cells: SHARE of all_ns, and TIME: total, mean, min, max, standard deviation, p50, p95, p99. */
void sonde_cells_times(struct sonde_view_table *t, const struct sonde_stat *stat, uint64_t all_ns);
/* TIME: what `fraction` of them did not exceed. */
void sonde_cell_percentile(struct sonde_view_table *t, const struct sonde_stat *stat, double fraction);
/* NUMBER in GB/s; unknown where one of them has no times, or none says how many bytes. */
void sonde_cell_rate(struct sonde_view_table *t, const struct sonde_stat *stat);

/* OBJECT each: the waits of a group's operations, and their last launch or copy. */
extern const struct sonde_view_columns sonde_queue_delay, sonde_work;
void sonde_cell_queue_delay(struct sonde_view_table *t, const struct sonde_stat *stat);
void sonde_cell_work(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group);
/* The same of one operation, of a work of its process; 0: none. */
void sonde_cell_work_of(struct sonde_view_table *t, const struct sonde_process *p, uint32_t work);
/* The launch, where the runtime told what only some tell (registers, occupancy); else NULL. */
const struct sonde_row_work *sonde_launch_of(const struct sonde_query *q, const struct sonde_group *group);

/* The operations of a view: a row for each group that `choose` takes, the callers below, what to say when there are none. */
struct sonde_groups {
    const struct sonde_view_columns *columns, *callers;
    bool (*choose)(uint32_t op); /* of a group's kind; NULL: all */
    /* Returns what it is called in the callers' table. */
    const char *(*row)(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group, uint64_t all_ns);
    const char *nothing;
};
/* The rows of `list`, most time first, and unless NULL their callers; all_ns of a row is the time of all that are chosen. */
void sonde_groups_rows(const struct sonde_groups *view, const struct sonde_query *q, const struct sonde_group *list, size_t count,
                       struct sonde_view_table *t, struct sonde_view_table *callers);
/* The same as a whole view. */
void sonde_groups_make(const struct sonde_groups *view, const struct sonde_query *q, const struct sonde_group *list, size_t count,
                       struct sonde_view_data *out);

/* LIST: the rows of the views kernels and copies. */
extern const struct sonde_view_columns sonde_kernels, sonde_copies;
void sonde_cell_kernels(struct sonde_view_table *t, const struct sonde_query *q);
void sonde_cell_copies(struct sonde_view_table *t, const struct sonde_query *q);

#endif

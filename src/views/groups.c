/* groups.c - columns and cells that several views have. */
#include "groups.h"

#include <stdlib.h>

#include "names.h"

/* ---- frames ------------------------------------------------------------------------------- */

static const struct sonde_view_column frame_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
};
const struct sonde_view_columns sonde_frames = SONDE_VIEW_COLUMNS("frames", frame_columns);

void sonde_cells_frame(struct sonde_view_table *t, const struct sonde_cct_node *node)
{
    sonde_cell_text(t, node->name);
    sonde_cell_text(t, node->file);
    sonde_cell_int(t, node->line > 0, node->line);
    sonde_cell_text(t, node->module);
}

void sonde_cell_frames(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf)
{
    uint32_t nodes[8];
    const uint32_t count = leaf ? sonde_profile_callers(q->profile, leaf, nodes, 8) : 0;
    struct sonde_view_table *frames = sonde_cell_list(t);
    for (uint32_t i = 0; i < count; i++)
        sonde_cells_frame(frames, &q->profile->nodes.items[nodes[i]]);
}

void sonde_cell_allocated_by(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf)
{
    struct sonde_text callers = {0};
    if (leaf)
        sonde_name_callers(q, &callers, leaf, 2);
    sonde_cell_text(t, leaf ? sonde_text_get(&callers) : "unknown");
    sonde_text_fini(&callers);
}

/* ---- names of memory ---------------------------------------------------------------------- */

static const struct sonde_view_column name_columns[] = {
    {NULL, NULL, SONDE_CELL_TEXT, 0, 0, "name of a part, as the program has it"},
};
const struct sonde_view_columns sonde_names = SONDE_VIEW_COLUMNS("names", name_columns);

void sonde_cell_names(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, uint32_t kind, uint32_t node)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    size_t at = 0;
    for (const char *name; (name = sonde_stretches_next(&q->stretches, process, kind, node, &at));)
        sonde_cell_text(list, name);
}

void sonde_cell_named_kind(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, uint32_t kind, uint32_t node)
{
    struct sonde_text text = {0};
    sonde_text_add(&text, sonde_object_kind_name(kind));
    sonde_name_names(q, &text, process, kind, node);
    sonde_cell_take(t, &text);
}

/* ---- callers ------------------------------------------------------------------------------ */

static const struct sonde_view_column context_columns[] = {
    {"count", NULL, SONDE_CELL_COUNT, 0, 0, "operations or API calls from this call path"},
    {"total_ns", NULL, SONDE_CELL_TIME, 0, 0, "device time of the operations, or host time of the API calls"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes moved"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code, innermost first", .of = &sonde_frames},
};
const struct sonde_view_columns sonde_callers = SONDE_VIEW_COLUMNS("callers", context_columns);

const struct sonde_view_column sonde_caller_columns[SONDE_CALLER_COLUMNS] = {
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "name, as in the table above"},
    {NULL, "count", SONDE_CELL_COUNT, 0, 2, "operations or API calls from this call path"},
    {NULL, "total", SONDE_CELL_TIME, 0, 1, "device time of the operations, or host time of the API calls"},
    {NULL, "called from", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first"},
};

static bool is_api(const struct sonde_group *group, const struct sonde_metrics *m)
{
    return group->op == SONDE_OP_NONE && m->operations == 0;
}

void sonde_cell_callers(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group)
{
    struct sonde_caller *callers = NULL;
    if (!q->complete) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *list = sonde_cell_list(t);
    const long count = sonde_profile_group_callers(q->profile, group, 8, &callers);
    for (long i = 0; i < count; i++) {
        const struct sonde_metrics *m = &callers[i].metrics;
        const bool api = m->operations == 0;
        sonde_cell_int(list, true, api ? m->api_calls : m->operations);
        sonde_cell_int(list, true, api ? m->api_ns : m->device_ns);
        sonde_cell_int(list, true, m->bytes);
        sonde_cell_frames(list, q, callers[i].leaf);
    }
    free(callers);
}

void sonde_callers_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group,
                        const char *name)
{
    enum { MOST = 4 };
    struct sonde_caller *callers = NULL;
    const long count = sonde_profile_group_callers(q->profile, group, 3, &callers);
    for (long i = 0; i < count && (i < MOST || !q->limit); i++) {
        const struct sonde_metrics *m = &callers[i].metrics;
        const bool api = is_api(group, m);
        struct sonde_text text = {0};
        sonde_name_callers(q, &text, callers[i].leaf, 3);
        sonde_cell_text(t, i ? "" : name);
        sonde_cell_int(t, true, api ? m->api_calls : m->operations);
        sonde_cell_int(t, api || m->timed > 0, api ? m->api_ns : m->device_ns);
        sonde_cell_take(t, &text);
    }
    if (q->limit && count > MOST) {
        struct sonde_text text = {0};
        sonde_text_format(&text, "and %ld more places (--limit 0 shows all)", count - MOST);
        for (int i = 0; i < 3; i++)
            sonde_cell_blank(t);
        sonde_cell_take(t, &text);
    }
    free(callers);
}

void sonde_cells_rank(struct sonde_view_table *t, const struct sonde_process *p)
{
    const struct sonde_live_header *h = &p->header;
    sonde_cell_int(t, h->rank, h->rank - 1);
    sonde_cell_int(t, h->local_rank, h->local_rank - 1);
    sonde_cell_int(t, h->rank_count, h->rank_count);
}

/* ---- operations --------------------------------------------------------------------------- */

void sonde_cells_operations(struct sonde_view_table *t, const struct sonde_group *group)
{
    sonde_cell_text(t, sonde_name_group(group));
    sonde_cell_text(t, sonde_op_kind_name(group->op));
    sonde_cell_int(t, true, group->stat.count);
    sonde_cell_int(t, true, group->stat.timed);
    sonde_cell_int(t, true, group->stat.failed);
}

void sonde_cells_times(struct sonde_view_table *t, const struct sonde_stat *stat, uint64_t all_ns)
{
    const bool timed = stat->timed > 0;
    sonde_cell_share(t, (double)stat->sum_ns, (double)all_ns);
    sonde_cell_int(t, timed, stat->sum_ns);
    sonde_cell_real(t, timed, sonde_stat_mean(stat));
    sonde_cell_int(t, timed, stat->min_ns);
    sonde_cell_int(t, timed, stat->max_ns);
    sonde_cell_real(t, timed, sonde_stat_stddev(stat));
    sonde_cell_percentile(t, stat, .50);
    sonde_cell_percentile(t, stat, .95);
    sonde_cell_percentile(t, stat, .99);
}

void sonde_cell_percentile(struct sonde_view_table *t, const struct sonde_stat *stat, double fraction)
{
    double ns = 0;
    const bool known = sonde_stat_percentile(stat, fraction, &ns);
    sonde_cell_real(t, known, ns);
}

void sonde_cell_rate(struct sonde_view_table *t, const struct sonde_stat *stat)
{
    const bool known = stat->bytes && stat->sum_ns && stat->timed == stat->count;
    sonde_cell_real(t, known, known ? (double)stat->bytes / (double)stat->sum_ns : 0);
}

static const struct sonde_view_column delay_columns[] = {
    {"enqueue_queued_ns", NULL, SONDE_CELL_TIME, 0, 0, "from the API call until the operation was queued"},
    {"queued_submit_ns", NULL, SONDE_CELL_TIME, 0, 0, "from queued until submitted to the device"},
    {"submit_start_ns", NULL, SONDE_CELL_TIME, 0, 0, "from submitted until started"},
};
const struct sonde_view_columns sonde_queue_delay = SONDE_VIEW_COLUMNS("queue_delay", delay_columns);

void sonde_cell_queue_delay(struct sonde_view_table *t, const struct sonde_stat *stat)
{
    struct sonde_view_table *delay = sonde_cell_object(t);
    sonde_cell_int(delay, stat->timed > 0, stat->enqueue_queued_ns);
    sonde_cell_int(delay, stat->timed > 0, stat->queued_submit_ns);
    sonde_cell_int(delay, stat->timed > 0, stat->submit_start_ns);
}

static const struct sonde_view_column size_columns[] = {
    {NULL, NULL, SONDE_CELL_COUNT, 0, 0, "size in one dimension"},
};
static const struct sonde_view_columns sizes = SONDE_VIEW_COLUMNS("sizes", size_columns);

static const struct sonde_view_column work_columns[] = {
    {"global", NULL, SONDE_CELL_LIST, 0, 0, "work items (CUDA: threads) in each dimension", .of = &sizes},
    {"local", NULL, SONDE_CELL_LIST, 0, 0,
     "work items per work group (CUDA: threads per block); null: chosen by the runtime", .of = &sizes},
    {"registers", NULL, SONDE_CELL_COUNT, 0, 0,
     "registers per thread; this and all below: absent if the runtime does not report it"},
    {"static_shared_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "static shared memory per block"},
    {"dynamic_shared_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "dynamic shared memory per block"},
    {"local_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "local memory per thread"},
    {"cluster", NULL, SONDE_CELL_LIST, 0, 0, "blocks per cluster in each dimension; null: no clusters", .of = &sizes},
    {"occupancy", NULL, SONDE_CELL_SHARE, 0, 0, "theoretical occupancy of a multiprocessor"},
    {"occupancy_limiter", NULL, SONDE_CELL_TEXT, 0, 0, "what limits the occupancy"},
    {"source", NULL, SONDE_CELL_TEXT, 0, 0, "kind of memory that the copy reads"},
    {"target", NULL, SONDE_CELL_TEXT, 0, 0, "kind of memory that the copy writes"},
    {"source_device", NULL, SONDE_CELL_ID, 0, 0, "copies between devices: the device that is read, counted from 1"},
    {"target_device", NULL, SONDE_CELL_ID, 0, 0, "the device that is written"},
};
const struct sonde_view_columns sonde_work = SONDE_VIEW_COLUMNS("work", work_columns);

static void sizes_cell(struct sonde_view_table *t, const uint64_t *values, uint32_t dims)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = 0; i < dims && i < 3; i++)
        sonde_cell_int(list, true, values[i]);
}

static void absent(struct sonde_view_table *t, int cells)
{
    for (int i = 0; i < cells; i++)
        sonde_cell_absent(t);
}

static void launch_cells(struct sonde_view_table *t, const struct sonde_row_work *w)
{
    sonde_cell_int(t, true, w->registers);
    sonde_cell_int(t, true, w->static_shared);
    sonde_cell_int(t, true, w->dynamic_shared);
    sonde_cell_int(t, true, w->local_bytes);
    if (w->cluster[0])
        sizes_cell(t, (const uint64_t[]){w->cluster[0], w->cluster[1], w->cluster[2]}, 3);
    else
        sonde_cell_unknown(t);
    if (!w->occupancy) {
        absent(t, 2);
        return;
    }
    sonde_cell_share(t, w->occupancy, 1000);
    sonde_cell_text(t, sonde_limiter_name(w->limiter));
}

static void copy_cells(struct sonde_view_table *t, const struct sonde_process *p, const struct sonde_row_work *w)
{
    sonde_cell_text(t, sonde_memory_name(w->source));
    sonde_cell_text(t, sonde_memory_name(w->target));
    if (w->source_device && w->source_device < p->device_count && w->target_device < p->device_count) {
        sonde_cell_int(t, true, w->source_device);
        sonde_cell_int(t, true, w->target_device);
    } else {
        absent(t, 2);
    }
}

static const struct sonde_row_work *work_of(const struct sonde_process *p, uint32_t work)
{
    return work && work < p->work_count ? &p->works[work] : NULL;
}

static bool is_launch(const struct sonde_row_work *w)
{
    return w && (w->registers || w->occupancy);
}

const struct sonde_row_work *sonde_launch_of(const struct sonde_query *q, const struct sonde_group *group)
{
    const struct sonde_row_work *w = work_of(&q->m->processes[group->work_process], group->work);
    return is_launch(w) ? w : NULL;
}

void sonde_cell_work_of(struct sonde_view_table *t, const struct sonde_process *p, uint32_t work)
{
    const struct sonde_row_work *w = work_of(p, work);
    if (!w) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *cells = sonde_cell_object(t);
    sizes_cell(cells, w->global, w->dims);
    if (w->local[0])
        sizes_cell(cells, w->local, w->dims);
    else
        sonde_cell_unknown(cells);
    if (is_launch(w))
        launch_cells(cells, w);
    else
        absent(cells, 7);
    if (w->source || w->target)
        copy_cells(cells, p, w);
    else
        absent(cells, 4);
}

void sonde_cell_work(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group)
{
    sonde_cell_work_of(t, &q->m->processes[group->work_process], group->work);
}

static bool is_chosen(const struct sonde_groups *view, const struct sonde_group *group)
{
    return !view->choose || view->choose(group->op);
}

void sonde_groups_rows(const struct sonde_groups *view, const struct sonde_query *q, const struct sonde_group *list, size_t count,
                       struct sonde_view_table *t, struct sonde_view_table *callers)
{
    uint64_t all_ns = 0;
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all_ns += is_chosen(view, &list[i]) ? list[i].stat.sum_ns : 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_chosen(view, &list[i]) || all++ >= sonde_query_rows(q, SIZE_MAX))
            continue;
        const char *name = view->row(t, q, &list[i], all_ns);
        if (callers && !q->complete)
            sonde_callers_rows(callers, q, &list[i], name);
    }
    t->left_out = all - sonde_view_rows(t);
}

void sonde_groups_make(const struct sonde_groups *view, const struct sonde_query *q, const struct sonde_group *list, size_t count,
                       struct sonde_view_data *out)
{
    struct sonde_view_table *t = sonde_view_table(out, view->columns), *callers = sonde_view_table(out, view->callers);
    out->root = t;
    sonde_groups_rows(view, q, list, count, t, callers);
    if (!sonde_view_rows(t)) {
        sonde_view_say(out, false, "%s", view->nothing);
        return;
    }
    sonde_view_show(out, t, false);
    sonde_view_show(out, callers, true);
}

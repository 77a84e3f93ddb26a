/* report_kernels.c - the views `kernels` and `copies`: operations by name, with percentiles. */
#include <stdio.h>

#include "report.h"

enum { KERNEL_COLUMNS = 11, LAUNCH_COLUMNS = 2 };

typedef bool (*choose_fn)(const struct sonde_group *group);

static bool is_kernel(const struct sonde_group *group)
{
    return sonde_op_kind_group(group->op) == SONDE_GROUP_KERNEL;
}

static bool is_copy(const struct sonde_group *group)
{
    enum sonde_op_group g = sonde_op_kind_group(group->op);
    return g == SONDE_GROUP_COPY || g == SONDE_GROUP_SET;
}

const char *report_copy_name(const struct sonde_group *group)
{
    static const struct { uint16_t op; const char *text; } names[] = {
        {SONDE_OP_READ, "read device→host"},         {SONDE_OP_WRITE, "write host→device"},
        {SONDE_OP_COPY, "copy device→device"},       {SONDE_OP_IMAGE_READ, "image_read device→host"},
        {SONDE_OP_IMAGE_WRITE, "image_write host→device"}, {SONDE_OP_IMAGE_COPY, "image_copy device→device"},
        {SONDE_OP_PEER_COPY, "peer_copy between devices"}, {SONDE_OP_HOST_COPY, "host_copy host→host"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].op == group->op)
            return names[i].text;
    return report_group_name(group);
}

static uint64_t total_ns(const struct report *r, choose_fn choose)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->profile->ops.count; i++)
        if (choose(&r->profile->ops.items[i]))
            sum += r->profile->ops.items[i].stat.sum_ns;
    return sum;
}

static void percentiles(struct table *t, const struct sonde_stat *s)
{
    static const double fractions[] = {.50, .95, .99};
    for (int i = 0; i < 3; i++) {
        double ns = 0;
        bool known = sonde_stat_percentile(s, fractions[i], &ns);
        table_time(t, known, ns);
    }
}

/* Attributes that only some runtimes tell, of the last launch; NULL when this group has none. */
static const struct sonde_row_work *launch_of(const struct report *r, const struct sonde_group *group)
{
    const struct sonde_process *p = &r->m->processes[group->work_process];
    const struct sonde_row_work *w = group->work && group->work < p->work_count ? &p->works[group->work] : NULL;
    return w && (w->registers || w->occupancy) ? w : NULL;
}

static void launch_cells(const struct report *r, struct table *t, const struct sonde_group *group)
{
    const struct sonde_row_work *w = launch_of(r, group);
    char text[64] = "-", limiter[32] = "";
    if (w && w->occupancy && w->limiter)
        snprintf(limiter, sizeof limiter, " %s", sonde_limiter_name(w->limiter));
    if (w && w->occupancy)
        snprintf(text, sizeof text, "%.0f %%%s", w->occupancy / 10.0, limiter);
    if (w)
        table_count(t, w->registers);
    else
        table_cell(t, "-");
    table_cell(t, text);
}

/* Where the kernel's own code is, when it was compiled with line tables; NULL unknown. */
static const struct sonde_cct_node *source_of(const struct report *r, const struct sonde_group *group)
{
    const struct sonde_cct_node *found = NULL;
    for (size_t i = 0; i < group->leaves.count; i++) {
        const struct sonde_cct_node *node = &r->profile->nodes.items[group->leaves.items[i]];
        if (found && *node->file && (node->file != found->file || node->line != found->line))
            return NULL; /* of two programs */
        if (*node->file)
            found = node;
    }
    return found;
}

static void kernel_name(const struct report *r, struct table *t, const struct sonde_group *group)
{
    const struct sonde_cct_node *source = source_of(r, group);
    struct sonde_text name = {0};
    sonde_text_add(&name, report_group_title(r, group));
    if (source)
        sonde_text_format(&name, " %s:%u", sonde_path_base(source->file), source->line);
    table_cell(t, sonde_text_get(&name));
    sonde_text_fini(&name);
}

static void kernel_row(const struct report *r, struct table *t, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    bool timed = s->timed > 0;
    kernel_name(r, t, group);
    table_count(t, s->count);
    table_percent(t, (double)s->sum_ns, (double)all_ns);
    table_time(t, timed, (double)s->sum_ns);
    table_time(t, timed, s->mean_ns);
    table_time(t, timed, (double)s->min_ns);
    table_time(t, timed, (double)s->max_ns);
    table_time(t, timed, sonde_stat_stddev(s));
    percentiles(t, s);
    if (t->column_count > KERNEL_COLUMNS)
        launch_cells(r, t, group);
}

static void copy_row(const struct report *r, struct table *t, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    bool timed = s->timed > 0;
    char rate[SONDE_NUMBER_MAX];
    (void)r;
    table_cell(t, report_copy_name(group));
    table_count(t, s->count);
    table_bytes(t, s->bytes > 0, (double)s->bytes);
    table_percent(t, (double)s->sum_ns, (double)all_ns);
    table_time(t, timed, (double)s->sum_ns);
    table_time(t, timed, s->mean_ns);
    table_time(t, timed, (double)s->max_ns);
    table_cell(t, s->bytes && s->sum_ns && s->timed == s->count
                      ? sonde_number_plain(rate, (double)s->bytes / (double)s->sum_ns) : "-");
}

struct layout {
    const char *view, *title;
    choose_fn   choose;
    void      (*row)(const struct report *, struct table *, const struct sonde_group *, uint64_t all_ns);
    const char *(*name)(const struct report *, const struct sonde_group *);
};

static int print_groups(const struct report *r, const struct layout *l, struct table *t)
{
    uint64_t all_ns = total_ns(r, l->choose);
    struct table callers;
    size_t all = 0;
    report_callers_begin(&callers, l->title);
    for (size_t i = 0; i < r->profile->ops.count; i++) {
        const struct sonde_group *group = &r->profile->ops.items[i];
        if (!l->choose(group))
            continue;
        if (!r->limit || all < r->limit) {
            l->row(r, t, group, all_ns);
            report_callers_rows(r, &callers, group, l->name(r, group));
        }
        all++;
    }
    if (!all) {
        puts("the measurement has operations, but none of this kind");
        return 0;
    }
    table_print(t, r);
    report_more(r, l->view, r->limit && r->limit < all ? r->limit : all, all);
    fputc('\n', stdout);
    table_print(&callers, r);
    return 0;
}

int report_kernels_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct layout layout = {"kernels", "Kernel", is_kernel, kernel_row, report_group_title};
    static const struct table_column columns[] = {
        {"Kernel", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 1}, {"share", TABLE_RIGHT, 5},
        {"total", TABLE_RIGHT, 0}, {"mean", TABLE_RIGHT, 2}, {"min", TABLE_RIGHT, 8},
        {"max", TABLE_RIGHT, 4}, {"std dev", TABLE_RIGHT, 9}, {"p50", TABLE_RIGHT, 7},
        {"p95", TABLE_RIGHT, 3}, {"p99", TABLE_RIGHT, 6},
        {"registers", TABLE_RIGHT, 11}, {"occupancy", TABLE_LEFT, 10},
    };
    struct table t = {.columns = columns, .column_count = KERNEL_COLUMNS};
    for (size_t i = 0; i < r->profile->ops.count && t.column_count == KERNEL_COLUMNS; i++)
        if (launch_of(r, &r->profile->ops.items[i]))
            t.column_count += LAUNCH_COLUMNS;
    (void)diag;
    return print_groups(r, &layout, &t);
}

static const char *copy_name(const struct report *r, const struct sonde_group *group)
{
    (void)r;
    return report_copy_name(group);
}

int report_copies_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct layout layout = {"copies", "Copy", is_copy, copy_row, copy_name};
    static const struct table_column columns[] = {
        {"Copy", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 2}, {"bytes", TABLE_RIGHT, 1},
        {"share", TABLE_RIGHT, 5}, {"total", TABLE_RIGHT, 0}, {"mean", TABLE_RIGHT, 4},
        {"max", TABLE_RIGHT, 6}, {"GB/s", TABLE_RIGHT, 3},
    };
    struct table t = {.columns = columns, .column_count = 8};
    (void)diag;
    return print_groups(r, &layout, &t);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static json_t *sizes(const uint64_t *values, uint32_t dims)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < dims && i < 3; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

static void add_launch(json_t *value, const struct sonde_row_work *w)
{
    json_t *more = json_pack("{s:i, s:i, s:i, s:i, s:o}", "registers", (int)w->registers,
                             "static_shared_bytes", (int)w->static_shared,
                             "dynamic_shared_bytes", (int)w->dynamic_shared, "local_bytes", (int)w->local_bytes,
                             "cluster", w->cluster[0] ? json_pack("[i, i, i]", (int)w->cluster[0], (int)w->cluster[1],
                                                                  (int)w->cluster[2]) : json_null());
    if (w->occupancy) {
        json_object_set_new(more, "occupancy", json_real(w->occupancy / 1000.0));
        json_object_set_new(more, "occupancy_limiter", json_string(sonde_limiter_name(w->limiter)));
    }
    json_object_update(value, more);
    json_decref(more);
}

static void add_copy(json_t *value, const struct sonde_process *p, const struct sonde_row_work *w)
{
    json_object_set_new(value, "source", json_string(sonde_memory_name(w->source)));
    json_object_set_new(value, "target", json_string(sonde_memory_name(w->target)));
    if (w->source_device && w->source_device < p->device_count && w->target_device < p->device_count) {
        json_object_set_new(value, "source_device", json_integer(w->source_device));
        json_object_set_new(value, "target_device", json_integer(w->target_device));
    }
}

/* The last launch configuration; a local size of null is the runtime's choice. */
static json_t *work_json(const struct report *r, const struct sonde_group *group)
{
    const struct sonde_process *p = &r->m->processes[group->work_process];
    if (!group->work || group->work >= p->work_count)
        return json_null();
    const struct sonde_row_work *w = &p->works[group->work];
    json_t *value = json_pack("{s:o, s:o}", "global", sizes(w->global, w->dims),
                              "local", w->local[0] ? sizes(w->local, w->dims) : json_null());
    if (w->registers || w->occupancy)
        add_launch(value, w);
    if (w->source || w->target)
        add_copy(value, p, w);
    return value;
}

static void add_source(json_t *value, const struct report *r, const struct sonde_group *group)
{
    const struct sonde_cct_node *node = source_of(r, group);
    if (node)
        json_object_set_new(value, "source", json_pack("{s:o, s:i}", "file", report_json_text(node->file), "line",
                                                       (int)node->line));
}

static json_t *group_json(const struct report *r, const struct sonde_group *group)
{
    const struct sonde_stat *s = &group->stat;
    json_t *value = report_json_stat(s);
    json_object_set_new(value, "name", report_json_text(report_group_name(group)));
    json_object_set_new(value, "kind", json_string(sonde_op_kind_name(group->op)));
    add_source(value, r, group);
    json_object_set_new(value, "queue_delay", json_pack("{s:o, s:o, s:o}",
        "enqueue_queued_ns", report_json_ns(s->timed > 0, (double)s->enqueue_queued_ns),
        "queued_submit_ns", report_json_ns(s->timed > 0, (double)s->queued_submit_ns),
        "submit_start_ns", report_json_ns(s->timed > 0, (double)s->submit_start_ns)));
    json_object_set_new(value, "work", work_json(r, group));
    json_object_set_new(value, "callers", report_json_callers(r, group));
    return value;
}

static json_t *groups_json(const struct report *r, choose_fn choose)
{
    json_t *array = json_array();
    for (size_t i = 0; i < r->profile->ops.count; i++)
        if (choose(&r->profile->ops.items[i]) && (!r->limit || json_array_size(array) < r->limit))
            json_array_append_new(array, group_json(r, &r->profile->ops.items[i]));
    return array;
}

json_t *report_kernels_json(const struct report *r, struct sonde_diag *diag)
{
    (void)diag;
    return groups_json(r, is_kernel);
}

json_t *report_copies_json(const struct report *r, struct sonde_diag *diag)
{
    (void)diag;
    return groups_json(r, is_copy);
}

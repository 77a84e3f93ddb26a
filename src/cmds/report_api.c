/* report_api.c - the view `api`: calls of the GPU runtime, by their time on the host. */
#include <stdio.h>

#include "report.h"

static const struct table_column api_columns[] = {
    {"API call", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 1}, {"share", TABLE_RIGHT, 4},
    {"total", TABLE_RIGHT, 0}, {"mean", TABLE_RIGHT, 2}, {"max", TABLE_RIGHT, 5},
    {"p95", TABLE_RIGHT, 3},
};

static void api_row(struct table *t, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    double p95 = 0;
    bool known = sonde_stat_percentile(s, .95, &p95);
    table_cell(t, report_group_name(group));
    table_count(t, s->count);
    table_percent(t, (double)s->sum_ns, (double)all_ns);
    table_time(t, true, (double)s->sum_ns);
    table_time(t, true, s->mean_ns);
    table_time(t, true, (double)s->max_ns);
    table_time(t, known, p95);
}

int report_api_text(const struct report *r, struct sonde_diag *diag)
{
    struct table t = {.columns = api_columns, .column_count = 7}, callers;
    size_t all = r->profile->apis.count, shown = r->limit && r->limit < all ? r->limit : all;
    uint64_t all_ns = 0;
    (void)diag;
    report_callers_begin(&callers, "API call");
    for (size_t i = 0; i < all; i++)
        all_ns += r->profile->apis.items[i].stat.sum_ns;
    for (size_t i = 0; i < shown; i++) {
        const struct sonde_group *group = &r->profile->apis.items[i];
        api_row(&t, group, all_ns);
        report_callers_rows(r, &callers, group, report_group_name(group));
    }
    if (!shown) {
        puts("no API call was recorded");
        return 0;
    }
    table_print(&t, r);
    report_more(r, "api", shown, all);
    fputc('\n', stdout);
    table_print(&callers, r);
    return 0;
}

json_t *report_api_json(const struct report *r, struct sonde_diag *diag)
{
    json_t *array = json_array();
    (void)diag;
    for (size_t i = 0; i < r->profile->apis.count && (!r->limit || i < r->limit); i++) {
        const struct sonde_group *group = &r->profile->apis.items[i];
        json_t *value = report_json_stat(&group->stat);
        json_object_del(value, "bytes");
        json_object_del(value, "timed");
        json_object_set_new(value, "name", report_json_text(group->name));
        json_object_set_new(value, "callers", report_json_callers(r, group));
        json_array_append_new(array, value);
    }
    return array;
}

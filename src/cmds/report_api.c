/* report_api.c - the view `api`: calls of the GPU runtime, by their time on the host. */
#include <stdio.h>

#include "report.h"

static const struct table_column api_columns[] = {
    {"API call", TABLE_LEFT, true}, {"count", TABLE_RIGHT, false}, {"share", TABLE_RIGHT, false},
    {"total", TABLE_RIGHT, false}, {"mean", TABLE_RIGHT, false}, {"max", TABLE_RIGHT, false},
    {"p95", TABLE_RIGHT, false}, {"called from", TABLE_LEFT, true},
};

static void api_row(const struct report *r, struct table *t, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    struct sonde_text callers = {0};
    double p95 = 0;
    bool known = sonde_stat_percentile(s, .95, &p95);
    report_group_callers(r, &callers, group);
    table_cell(t, report_group_name(group));
    table_count(t, s->count);
    table_percent(t, (double)s->sum_ns, (double)all_ns);
    table_time(t, true, (double)s->sum_ns);
    table_time(t, true, s->mean_ns);
    table_time(t, true, (double)s->max_ns);
    table_time(t, known, p95);
    table_cell(t, sonde_text_get(&callers));
    sonde_text_fini(&callers);
}

int report_api_text(const struct report *r, struct sonde_diag *diag)
{
    struct table t = {.columns = api_columns, .column_count = 8};
    size_t all = r->profile->apis.count, shown = r->limit && r->limit < all ? r->limit : all;
    uint64_t all_ns = 0;
    (void)diag;
    for (size_t i = 0; i < all; i++)
        all_ns += r->profile->apis.items[i].stat.sum_ns;
    for (size_t i = 0; i < shown; i++)
        api_row(r, &t, &r->profile->apis.items[i], all_ns);
    if (shown)
        table_print(&t, r);
    else
        puts("no API call was recorded");
    report_more(r, "api", shown, all);
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

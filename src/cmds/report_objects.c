/* report_objects.c - the view `objects`: allocations by the place that made them. */
#include <stdio.h>

#include "analyze/objects.h"
#include "report.h"

static void site_row(const struct report *r, struct table *t, const struct sonde_object_site *site)
{
    struct sonde_text callers = {0};
    uint64_t freed = site->count - site->alive;
    if (site->node)
        sonde_name_callers(&r->q, &callers, site->node, 2);
    table_cell(t, sonde_object_kind_name(site->kind));
    table_count(t, site->count);
    table_bytes(t, true, (double)site->bytes);
    table_time(t, freed > 0, freed ? (double)site->life_ns / (double)freed : 0);
    table_count(t, site->alive);
    table_bytes(t, true, (double)site->alive_bytes);
    table_cell(t, callers.length ? sonde_text_get(&callers) : "unknown");
    sonde_text_fini(&callers);
}

int report_objects_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"Object", TABLE_LEFT, 0}, {"count", TABLE_RIGHT, 1}, {"bytes", TABLE_RIGHT, 0},
        {"mean life", TABLE_RIGHT, 4}, {"never freed", TABLE_RIGHT, 2}, {"bytes of them", TABLE_RIGHT, 3},
        {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
    };
    struct table t = {.columns = columns, .column_count = 7};
    struct sonde_objects objects = {0};
    char count[SONDE_NUMBER_MAX], bytes[SONDE_NUMBER_MAX], peak[SONDE_NUMBER_MAX];
    int rc = sonde_objects_compute(r->q.m, r->q.profile, &objects);
    size_t all = objects.sites.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t i = 0; i < shown && !rc; i++)
        site_row(r, &t, &objects.sites.items[i]);
    if (rc) {
        sonde_diag_set(diag, rc, r->q.path, "cannot read the objects of");
    } else if (!all) {
        puts("no data object was recorded");
    } else {
        table_print(&t, r);
        report_more(r, "objects", shown, all);
        fputc('\n', stdout);
        report_say(r, "%s object%s, %s in all, at most %s alive at once", sonde_number_count(count, objects.count),
                   objects.count == 1 ? "" : "s", sonde_number_bytes(bytes, (double)objects.bytes),
                   sonde_number_bytes(peak, (double)objects.peak_bytes));
    }
    sonde_objects_fini(&objects);
    return rc;
}

static json_t *site_json(const struct report *r, const struct sonde_object_site *site)
{
    return json_pack("{s:s, s:I, s:o, s:I, s:o, s:o, s:o}", "kind", sonde_object_kind_name(site->kind),
                     "count", (json_int_t)site->count, "bytes", report_json_count(site->bytes),
                     "alive", (json_int_t)site->alive, "alive_bytes", report_json_count(site->alive_bytes),
                     "life_ns", report_json_count(site->life_ns), "frames", report_json_frames(r, site->node));
}

json_t *report_objects_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_objects objects = {0};
    json_t *sites = json_array(), *value = NULL;
    int rc = sonde_objects_compute(r->q.m, r->q.profile, &objects);
    for (size_t i = 0; i < objects.sites.count && !rc && (!r->q.limit || i < r->q.limit); i++)
        json_array_append_new(sites, site_json(r, &objects.sites.items[i]));
    if (rc) {
        sonde_diag_set(diag, rc, r->q.path, "cannot read the objects of");
        json_decref(sites);
    } else {
        value = json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)objects.count,
                          "bytes", report_json_count(objects.bytes), "peak_bytes", report_json_count(objects.peak_bytes),
                          "sites", sites);
    }
    sonde_objects_fini(&objects);
    return value;
}

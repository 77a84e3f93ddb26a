/* objects.c - the view `objects`: allocations by the place that made them. */
#include "analyze/answers/memory/objects.h"

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "groups.h"
#include "view.h"

static const struct sonde_view_column site_columns[] = {
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object: buffer, image, device"},
    {NULL, "Object", SONDE_CELL_TEXT, 0, 0, "kind of data object: buffer, image, device; and names that the program gave to parts of them"},
    {"count", "count", SONDE_CELL_COUNT, 0, 1, "objects allocated there"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "total size, excluding objects inside other objects"},
    {NULL, "mean life", SONDE_CELL_TIME, 0, 4, "mean time from allocation to free, of freed objects"},
    {"alive", "never freed", SONDE_CELL_COUNT, 0, 2, "objects not freed before the program ended"},
    {"alive_bytes", "their bytes", SONDE_CELL_BYTES, 0, 3, "size of the objects that were never freed"},
    {"life_ns", NULL, SONDE_CELL_TIME, 0, 0, "sum of the lifetimes of freed objects"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code, innermost first", .of = &sonde_frames},
    {"names", NULL, SONDE_CELL_LIST, 0, 0, "names that the program gave to parts of these objects (sonde/sonde.h)", .of = &sonde_names},
};
static const struct sonde_view_columns sites = SONDE_VIEW_COLUMNS("sites", site_columns);

static const struct sonde_view_column columns[] = {
    {"count", NULL, SONDE_CELL_COUNT, 0, 0, "number of objects"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "total size"},
    {"peak_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "largest size alive at once, summed over the processes' own peaks"},
    {"sites", NULL, SONDE_CELL_LIST, 0, 0, "allocation sites (call paths), largest bytes first", .of = &sites},
};
static const struct sonde_view_columns objects_table = SONDE_VIEW_COLUMNS("objects", columns);

static void site_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_object_site *site)
{
    const uint64_t freed = site->count - site->alive;
    sonde_cell_text(t, sonde_object_kind_name(site->kind));
    sonde_cell_named_kind(t, q, SONDE_STRETCHES_ALL, site->kind, site->node);
    sonde_cell_int(t, true, site->count);
    sonde_cell_int(t, true, site->bytes);
    sonde_cell_real(t, freed > 0, freed ? (double)site->life_ns / (double)freed : 0);
    sonde_cell_int(t, true, site->alive);
    sonde_cell_int(t, true, site->alive_bytes);
    sonde_cell_int(t, true, site->life_ns);
    sonde_cell_allocated_by(t, q, site->node);
    sonde_cell_frames(t, q, site->node);
    sonde_cell_names(t, q, SONDE_STRETCHES_ALL, site->kind, site->node);
}

static void fill(const struct sonde_query *q, const struct sonde_objects *objects, struct sonde_view_data *out)
{
    char count[SONDE_NUMBER_MAX], bytes[SONDE_NUMBER_MAX], peak[SONDE_NUMBER_MAX];
    const size_t all = objects->sites.count, shown = sonde_query_rows(q, all);
    struct sonde_view_table *t = out->root = sonde_view_table(out, &objects_table);
    sonde_cell_int(t, true, objects->count);
    sonde_cell_int(t, true, objects->bytes);
    sonde_cell_int(t, true, objects->peak_bytes);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < shown; i++)
        site_row(list, q, &objects->sites.items[i]);
    list->left_out = all - shown;
    if (!all) {
        sonde_view_say(out, false, "no data object was recorded");
        return;
    }
    sonde_view_show(out, list, false);
    sonde_view_say(out, true, "%s object%s, %s in total, at most %s alive at once", sonde_number_count(count, objects->count),
                   objects->count == 1 ? "" : "s", sonde_number_bytes(bytes, (double)objects->bytes),
                   sonde_number_bytes(peak, (double)objects->peak_bytes));
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_objects objects = {0};
    const int rc = sonde_objects_compute(q->m, q->profile, &objects);
    if (!rc)
        fill(q, &objects, out);
    sonde_objects_fini(&objects);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the objects of") : 0;
}

const struct sonde_view sonde_view_objects = {
    .name = "objects",
    .summary = "data objects: allocation sites, sizes and lifetimes",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&objects_table, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .make = make,
};

/* memory.c - the view `memory`: how much was held over the run and by whom, what
 * was not given back, never used, held for nothing, and allocated again and again.
 */
#include "analyze/answers/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/map.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

enum {
    SPARK_COLUMNS = 24,
    WORTH_PERCENT = 1,
    AGAIN_LEAST = 2,
};

/* ---- sites, for programs ------------------------------------------------------------- */

static const struct sonde_view_column site_columns[] = {
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object: buffer, image, device"},
    {"objects", NULL, SONDE_CELL_COUNT, 0, 0, "objects allocated there"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "total size"},
    {"peak_objects", NULL, SONDE_CELL_COUNT, 0, 0, "objects alive at the peak of this memory"},
    {"peak_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the objects alive at the peak"},
    {"most_objects", NULL, SONDE_CELL_COUNT, 0, 0, "largest number alive at once"},
    {"alive", NULL, SONDE_CELL_COUNT, 0, 0, "objects alive when the process ended"},
    {"alive_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the objects alive at the end"},
    {"uses_known", NULL, SONDE_CELL_COUNT, 0, 0, "objects with all uses known"},
    {"uses_bounded", NULL, SONDE_CELL_COUNT, 0, 0,
     "objects with unrecorded uses possible, but only at known times; numbers about uses are null if this and uses_known are 0"},
    {"left_behind", NULL, SONDE_CELL_COUNT, 0, 0,
     "objects alive at the end although another was allocated here after their last use"},
    {"left_behind_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the objects left behind"},
    {"unused", NULL, SONDE_CELL_COUNT, 0, 0, "objects that no operation used"},
    {"unused_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the unused objects"},
    {"unnamed", NULL, SONDE_CELL_COUNT, 0, 0, "objects used by no copy or fill, but possibly by a kernel"},
    {"unnamed_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of these objects"},
    {"unnamed_held_byte_s", NULL, SONDE_CELL_NUMBER, 0, 0, "size times lifetime of these objects", .unit = "byte·s"},
    {"named_late_byte_s", NULL, SONDE_CELL_NUMBER, 0, 0,
     "size of the other objects times the time from their first possible use by a kernel to their first copy or fill",
     .unit = "byte·s"},
    {"held_byte_s", NULL, SONDE_CELL_NUMBER, 0, 0, "size times lifetime of all objects", .unit = "byte·s"},
    {"idle_before_byte_s", NULL, SONDE_CELL_NUMBER, 0, 0, "size times time before the first use", .unit = "byte·s"},
    {"idle_after_byte_s", NULL, SONDE_CELL_NUMBER, 0, 0, "size times time after the last use", .unit = "byte·s"},
    {"alloc_ns", NULL, SONDE_CELL_TIME, 0, 0, "host time in the allocating API calls"},
    {"cached", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the objects are segments of a caching allocator, not its blocks"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code, innermost first", .of = &sonde_frames},
    {"names", NULL, SONDE_CELL_LIST, 0, 0, "names that the program gave to parts of these objects (sonde/sonde.h)", .of = &sonde_names},
};
static const struct sonde_view_columns sites = SONDE_VIEW_COLUMNS("sites", site_columns);

static void held_cell(struct sonde_view_table *t, bool known, double byte_ns)
{
    sonde_cell_real(t, known, byte_ns / 1e9);
}

static void site_row(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, const struct sonde_memory_site *s)
{
    const bool known = s->known + s->bounded > 0;
    sonde_cell_text(t, sonde_object_kind_name(s->kind));
    sonde_cell_int(t, true, s->count);
    sonde_cell_int(t, true, s->bytes);
    sonde_cell_int(t, true, s->peak_count);
    sonde_cell_int(t, true, s->peak_bytes);
    sonde_cell_int(t, true, s->most_count);
    sonde_cell_int(t, true, s->alive);
    sonde_cell_int(t, true, s->alive_bytes);
    sonde_cell_int(t, true, s->known);
    sonde_cell_int(t, true, s->bounded);
    sonde_cell_int(t, known, s->left);
    sonde_cell_int(t, known, s->left_bytes);
    sonde_cell_int(t, known, s->unused);
    sonde_cell_int(t, known, s->unused_bytes);
    sonde_cell_int(t, true, s->unnamed);
    sonde_cell_int(t, true, s->unnamed_bytes);
    held_cell(t, true, s->unnamed_held);
    held_cell(t, true, s->named_late);
    held_cell(t, true, s->held);
    held_cell(t, known, s->early);
    held_cell(t, known, s->late);
    sonde_cell_real(t, s->alloc_ns > 0, s->alloc_ns);
    sonde_cell_boolean(t, s->cached);
    sonde_cell_frames(t, q, s->node);
    sonde_cell_names(t, q, process, s->kind, s->node);
}

/* ---- the line over time, for programs -------------------------------------------------- */

static const struct sonde_view_column time_column[] = {{NULL, NULL, SONDE_CELL_TIME, 0, 0, "time of one point"}};
static const struct sonde_view_column level_column[] = {{NULL, NULL, SONDE_CELL_BYTES, 0, 0, "bytes held at one point"}};
static const struct sonde_view_columns times = SONDE_VIEW_COLUMNS("times", time_column);
static const struct sonde_view_columns levels = SONDE_VIEW_COLUMNS("levels", level_column);
static const struct sonde_view_column line_column[] = {
    {NULL, NULL, SONDE_CELL_LIST, 0, 0, "bytes held, allocated by one call path", .of = &levels}};
static const struct sonde_view_columns lines = SONDE_VIEW_COLUMNS("lines", line_column);

static const struct sonde_view_column series_columns[] = {
    {"at_ns", NULL, SONDE_CELL_LIST, 0, 0, "times, 200 at most, between which the level stays the same", .of = &times},
    {"bytes", NULL, SONDE_CELL_LIST, 0, 0, "bytes held from each time on", .of = &levels},
    {"sites", NULL, SONDE_CELL_LIST, 0, 0, "the same for each of the first 8 entries of sites", .of = &lines},
    {"other", NULL, SONDE_CELL_LIST, 0, 0, "the same for all other entries", .of = &levels},
};
static const struct sonde_view_columns series = SONDE_VIEW_COLUMNS("series", series_columns);

static void series_cell(struct sonde_view_table *t, const struct sonde_memory_space *space)
{
    struct sonde_view_table *object = sonde_cell_object(t), *holders[SONDE_MEMORY_HOLDERS] = {NULL};
    struct sonde_view_table *at = sonde_cell_list(object), *bytes = sonde_cell_list(object), *list = sonde_cell_list(object);
    struct sonde_view_table *other = sonde_cell_list(object);
    const size_t count = space->sites.count < SONDE_MEMORY_HOLDERS ? space->sites.count : SONDE_MEMORY_HOLDERS;
    for (size_t k = 0; k < count; k++)
        holders[k] = sonde_cell_list(list);
    for (size_t i = 0; i < space->points.count; i++) {
        const struct sonde_memory_point *p = &space->points.items[i];
        uint64_t rest = p->bytes;
        sonde_cell_int(at, true, p->at_ns);
        sonde_cell_int(bytes, true, p->bytes);
        for (size_t k = 0; k < count; k++) {
            rest -= p->holders[k];
            sonde_cell_int(holders[k], true, p->holders[k]);
        }
        sonde_cell_int(other, true, rest);
    }
}

/* ---- the spaces ----------------------------------------------------------------------- */

static const struct sonde_view_column space_columns[] = {
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process that held it: HOST-PID-NUMBER"},
    {"class", NULL, SONDE_CELL_TEXT, 0, 0, "device; shared (migrates between host and device); or host (pinned)"},
    {NULL, "Memory", SONDE_CELL_TEXT, 0, 0, "device memory, memory shared between host and device, or pinned host memory"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device; null: none or unknown"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "name of the device"},
    {NULL, "device", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0,
     "number and name of the device, and its process if there are several"},
    {"capacity_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "memory of the device"},
    {"begin_ns", NULL, SONDE_CELL_TIME, 0, 0, "start of the process, or of what is known of it"},
    {"end_ns", NULL, SONDE_CELL_TIME, 0, 0, "end of the process, or of what is known of it"},
    {"peak_bytes", "peak", SONDE_CELL_BYTES, 0, 0, "largest number of bytes held at once"},
    {NULL, "% of device", SONDE_CELL_SHARE, 0, 2, "peak as % of the memory of the device"},
    {"peak_ns", NULL, SONDE_CELL_TIME, 0, 0, "time when the peak was first reached"},
    {NULL, "at", SONDE_CELL_TIME, 0, 3, "time when the peak was first reached, since the start of the process"},
    {"peak_objects", NULL, SONDE_CELL_COUNT, 0, 0, "objects alive at the peak"},
    {NULL, "over the run", SONDE_CELL_TEXT, 0, 6,
     "bytes held over time: each bar shows the largest value in its part of the run"},
    {"objects", "allocated", SONDE_CELL_COUNT, 0, 5, "objects allocated"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "total size"},
    {"sizeless", NULL, SONDE_CELL_COUNT, 0, 0, "objects of unknown size, not included in any number of bytes"},
    {"freed", NULL, SONDE_CELL_COUNT, 0, 0, "objects that were freed"},
    {"freed_late", NULL, SONDE_CELL_COUNT, 0, 0, "objects that were freed only while the process was ending"},
    {"alive", "alive at the end", SONDE_CELL_COUNT, 0, 1, "objects not freed when the process ended"},
    {"alive_bytes", "bytes", SONDE_CELL_BYTES, 0, 4, "size of the objects alive at the end"},
    {"end", NULL, SONDE_CELL_TEXT, 0, 0,
     "ended: normal exit, and objects were freed; freed nothing; or cut: killed, or still running"},
    {"cached_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the segments of a caching allocator at the peak"},
    {"series", NULL, SONDE_CELL_OBJECT, 0, 0, "bytes held over time", .of = &series},
    {"sites", NULL, SONDE_CELL_LIST, 0, 0, "allocation sites (call paths), largest bytes at the peak first", .of = &sites},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_COUNT, 0, 0, "number of ranks in the job"},
};
static const struct sonde_view_columns spaces = SONDE_VIEW_COLUMNS("spaces", space_columns);

static const char *const class_names[] = {"device", "shared", "host"};
static const char *const class_titles[] = {"device", "shared", "pinned host"};

static const struct sonde_process *process_of(const struct sonde_query *q, const struct sonde_memory_space *space)
{
    return &q->m->processes[space->process];
}

static void device_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_memory_space *space)
{
    struct sonde_text name = {0};
    if (space->device) {
        sonde_name_device(q, &name, space->process, space->device);
    } else {
        sonde_name_process_begin(q, &name, space->process);
        sonde_text_add(&name, space->class == SONDE_MEMORY_ON_DEVICE ? "unknown" : "-");
        sonde_name_process_end(q, &name, space->process);
    }
    sonde_cell_take(t, &name);
}

/* 0: unknown, or not of a device. */
static uint64_t capacity_of(const struct sonde_query *q, const struct sonde_memory_space *space)
{
    const struct sonde_process *p = process_of(q, space);
    return space->class == SONDE_MEMORY_ON_DEVICE && space->device && space->device < p->device_count
               ? p->devices[space->device].memory_bytes
               : 0;
}

static size_t spark_column(const struct sonde_memory_space *space, uint64_t at_ns)
{
    const double span = (double)(space->end_ns - space->begin_ns) + 1;
    return (size_t)((double)(at_ns - space->begin_ns) / span * SPARK_COLUMNS);
}

/* Each column is as high as the most that was held in its part of the time. */
static void spark_cell(struct sonde_view_table *t, const struct sonde_memory_space *space)
{
    uint64_t most[SPARK_COLUMNS] = {0}, level = 0;
    double heights[SPARK_COLUMNS];
    size_t column = 0;
    for (size_t i = 0; i < space->points.count; i++) {
        const struct sonde_memory_point *p = &space->points.items[i];
        for (const size_t at = spark_column(space, p->at_ns); column < at && column + 1 < SPARK_COLUMNS;)
            most[++column] = level;
        level = p->bytes;
        most[column] = level > most[column] ? level : most[column];
    }
    for (size_t i = 0; i < SPARK_COLUMNS; i++)
        heights[i] = most[i] ? (double)most[i] / (double)space->peak_bytes : -1;
    sonde_cell_bars(t, heights, SPARK_COLUMNS);
}

static uint64_t alive_of(const struct sonde_memory_space *space, uint64_t *bytes)
{
    uint64_t alive = 0;
    *bytes = 0;
    for (size_t i = 0; i < space->sites.count; i++) {
        alive += space->sites.items[i].alive;
        *bytes += space->sites.items[i].alive_bytes;
    }
    return alive;
}

static void space_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_memory_space *s)
{
    static const char *const ends[] = {"ended", "freed nothing", "cut"};
    const struct sonde_process *p = process_of(q, s);
    const uint64_t capacity = capacity_of(q, s);
    uint64_t alive_bytes;
    const uint64_t alive = alive_of(s, &alive_bytes);
    sonde_cell_text(t, p->name);
    sonde_cell_text(t, class_names[s->class]);
    sonde_cell_text(t, class_titles[s->class]);
    sonde_cell_int(t, s->device, s->device - 1);
    sonde_cell_text(t, s->device ? sonde_process_string(p, p->devices[s->device].name) : NULL);
    device_cell(t, q, s);
    sonde_cell_int(t, capacity, capacity);
    sonde_cell_int(t, true, s->begin_ns);
    sonde_cell_int(t, true, s->end_ns);
    sonde_cell_int(t, true, s->peak_bytes);
    sonde_cell_share(t, (double)s->peak_bytes, (double)capacity);
    sonde_cell_int(t, true, s->peak_ns);
    sonde_cell_int(t, s->peak_ns >= s->begin_ns, s->peak_ns - s->begin_ns);
    sonde_cell_int(t, true, s->peak_count);
    spark_cell(t, s);
    sonde_cell_int(t, true, s->count);
    sonde_cell_int(t, true, s->bytes);
    sonde_cell_int(t, true, s->sizeless);
    sonde_cell_int(t, true, s->freed);
    sonde_cell_int(t, true, s->freed_late);
    sonde_cell_int(t, true, alive);
    sonde_cell_int(t, true, alive_bytes);
    sonde_cell_text(t, ends[s->end]);
    sonde_cell_int(t, true, s->cached_bytes);
    series_cell(t, s);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; q->complete && i < sonde_query_rows(q, s->sites.count); i++)
        site_row(list, q, s->process, &s->sites.items[i]);
    sonde_cells_rank(t, p);
}

/* ---- tables of sites, for people ----------------------------------------------------------- */

struct row { /* the sites of one line of the user's; their node is the first one's */
    const struct sonde_memory_use *memory;
    const struct sonde_memory_space *space;
    struct sonde_memory_site site;
    double value;
};

struct part { /* one table: which sites are in it, by what order, and their cells */
    const struct sonde_view_columns *columns;
    double (*value)(const struct row *row);                           /* 0: not in the table */
    void (*cells)(struct sonde_view_table *t, const struct row *row); /* between the first and the last column */
};

static int by_value(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    if (a->space != b->space)
        return a->space < b->space ? -1 : 1;
    return a->site.node < b->site.node ? -1 : a->site.node > b->site.node;
}

static void add_site(struct sonde_memory_site *sum, const struct sonde_memory_site *more)
{
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->peak_count += more->peak_count;
    sum->peak_bytes += more->peak_bytes;
    sum->most_count += more->most_count; /* at once, at most */
    sum->alive += more->alive;
    sum->alive_bytes += more->alive_bytes;
    sum->left += more->left;
    sum->left_bytes += more->left_bytes;
    sum->known += more->known;
    sum->bounded += more->bounded;
    sum->unused += more->unused;
    sum->unused_bytes += more->unused_bytes;
    sum->unused_held += more->unused_held;
    sum->early += more->early;
    sum->late += more->late;
    sum->unnamed += more->unnamed;
    sum->unnamed_bytes += more->unnamed_bytes;
    sum->unnamed_held += more->unnamed_held;
    sum->named_late += more->named_late;
    sum->held += more->held;
    sum->alloc_ns += more->alloc_ns;
}

struct rows {
    SONDE_VECTOR(struct row) list;
    struct sonde_map by_place; /* number of the space << 40, kind << 32, the user's frame -> number in the list */
};

static int add_row(const struct sonde_query *q, struct rows *rows, uint64_t space, const struct row *row)
{
    const uint64_t place = row->site.node ? sonde_profile_place(q->profile, row->site.node) : 0;
    const uint64_t key = space << 40 | (uint64_t)row->site.kind << 32 | place;
    uint64_t at;
    if (sonde_map_get(&rows->by_place, key, &at)) {
        add_site(&rows->list.items[at].site, &row->site);
        rows->list.items[at].value += row->value;
        return 0;
    }
    int rc = sonde_map_put(&rows->by_place, key, rows->list.count);
    return rc ? rc : sonde_vector_push(&rows->list, *row);
}

static int list_rows(const struct sonde_query *q, const struct sonde_memory_use *m, const struct part *part, struct rows *rows)
{
    int rc = 0;
    for (size_t i = 0; i < m->spaces.count; i++) {
        const struct sonde_memory_space *space = &m->spaces.items[i];
        for (size_t k = 0; k < space->sites.count && !rc; k++) {
            struct row row = {.memory = m, .space = space, .site = space->sites.items[k]};
            row.value = part->value(&row);
            if (row.value > 0)
                rc = add_row(q, rows, i, &row);
        }
    }
    return rc;
}

static int show_part(const struct sonde_query *q, const struct sonde_memory_use *m, const struct part *part,
                     struct sonde_view_data *out)
{
    struct rows rows = {0};
    struct sonde_view_table *t = sonde_view_table(out, part->columns);
    const int rc = list_rows(q, m, part, &rows);
    if (rows.list.count)
        qsort(rows.list.items, rows.list.count, sizeof *rows.list.items, by_value);
    const size_t shown = sonde_query_rows(q, rows.list.count);
    for (size_t i = 0; i < shown && !rc; i++) {
        const struct row *row = &rows.list.items[i];
        sonde_cell_named_kind(t, q, row->space->process, row->site.kind, row->site.node ? sonde_profile_place(q->profile, row->site.node) : 0);
        part->cells(t, row);
        sonde_cell_allocated_by(t, q, row->site.node);
    }
    t->left_out = rows.list.count - shown;
    if (shown && !rc)
        sonde_view_show(out, t, true);
    sonde_vector_fini(&rows.list);
    sonde_map_fini(&rows.by_place);
    return rc;
}

/* "3 of 5", "all 5". */
static void part_cell(struct sonde_view_table *t, uint64_t part, uint64_t whole)
{
    char a[SONDE_NUMBER_MAX], b[SONDE_NUMBER_MAX], text[2 * SONDE_NUMBER_MAX + 8];
    sonde_number_count(a, part);
    snprintf(text, sizeof text, part == whole ? "all %s" : "%s of %s", a, sonde_number_count(b, whole));
    sonde_cell_text(t, text);
}

/* "1.20 GB·s" */
static void byte_seconds(struct sonde_view_table *t, double byte_ns)
{
    char number[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 8];
    snprintf(text, sizeof text, "%s·s", sonde_number_bytes(number, byte_ns / 1e9));
    sonde_cell_text(t, text);
}

static const char site_kind[] = "kind of data object, and names that the program gave to parts of them", allocated_by[] = "nearest frames of user code, innermost first";

/* ---- who holds the peak ------------------------------------------------------------------- */

static const struct sonde_view_column peak_columns[] = {
    {NULL, "Held at the peak", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 0, "bytes held at the peak of its memory"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 2, "bytes as % of the peak"},
    {NULL, "count", SONDE_CELL_COUNT, 0, 1, "objects alive at the peak"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns peak = SONDE_VIEW_COLUMNS("peak", peak_columns);

static double peak_value(const struct row *row)
{
    return (double)row->site.peak_bytes;
}

static void peak_cells(struct sonde_view_table *t, const struct row *row)
{
    sonde_cell_int(t, true, row->site.peak_bytes);
    sonde_cell_share(t, (double)row->site.peak_bytes, (double)row->space->peak_bytes);
    sonde_cell_int(t, true, row->site.peak_count);
}

/* ---- not freed ------------------------------------------------------------------------------ */

static const struct sonde_view_column leak_columns[] = {
    {NULL, "Not freed", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "count", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1, "objects alive when the process ended, of all allocated there"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 0, "size of the objects alive at the end"},
    {NULL, "left behind", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 2,
     "alive objects after whose last use another was allocated there: a leak"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns leaks = SONDE_VIEW_COLUMNS("not_freed", leak_columns);

/* Of a process that frees nothing, or was cut short, only what was left behind tells of a leak. */
static double leak_value(const struct row *row)
{
    return (double)(row->space->end == SONDE_MEMORY_ENDED ? row->site.alive_bytes : row->site.left_bytes);
}

static void leak_cells(struct sonde_view_table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    part_cell(t, site->alive, site->count);
    sonde_cell_int(t, true, site->alive_bytes);
    if (site->known || site->left) /* else none is certain, which says nothing */
        part_cell(t, site->left, site->alive);
    else
        sonde_cell_unknown(t);
}

/* ---- never used, and held but idle ----------------------------------------------------------- */

static const struct sonde_view_column unused_columns[] = {
    {NULL, "Never used", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "count", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1, "objects that no operation used, of all allocated there"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 0, "size of these objects"},
    {NULL, "held", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 2, "size times lifetime of these objects"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns unused = SONDE_VIEW_COLUMNS("never_used", unused_columns);

static const struct sonde_view_column idle_columns[] = {
    {NULL, "Allocated but idle", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "idle", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0,
     "size times time before the first and after the last use, of objects that were used"},
    {NULL, "% of life", SONDE_CELL_SHARE, 0, 1, "idle as % of size times lifetime of all objects allocated there"},
    {NULL, "before first use", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 2, "part of idle before the first use"},
    {NULL, "after last use", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 3, "part of idle after the last use"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns idle = SONDE_VIEW_COLUMNS("idle", idle_columns);

/* Little of all that was held is not shown. */
static double worth(const struct row *row, double held)
{
    return held * 100 >= row->memory->held * WORTH_PERCENT ? held : 0;
}

static double unused_value(const struct row *row)
{
    return row->site.unused ? row->site.unused_held + 1 : 0;
}

static void unused_cells(struct sonde_view_table *t, const struct row *row)
{
    part_cell(t, row->site.unused, row->site.count);
    sonde_cell_int(t, true, row->site.unused_bytes);
    byte_seconds(t, row->site.unused_held);
}

static double idle_value(const struct row *row)
{
    return worth(row, row->site.early + row->site.late);
}

static void idle_cells(struct sonde_view_table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    byte_seconds(t, site->early + site->late);
    sonde_cell_share(t, site->early + site->late, site->held);
    byte_seconds(t, site->early);
    byte_seconds(t, site->late);
}

/* ---- perhaps not used: kernels' arguments are not known ---------------------------------------- */

static const struct sonde_view_column perhaps_columns[] = {
    {NULL, "Possibly unused", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "never copied", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0,
     "objects used by no copy or fill, but possibly by a kernel, of all allocated there"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 2, "size of these objects"},
    {NULL, "held", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 3, "size times lifetime of these objects"},
    {NULL, "before first copy", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1,
     "size of the other objects times the time from their first possible use by a kernel to their first copy or fill"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns perhaps = SONDE_VIEW_COLUMNS("perhaps_unused", perhaps_columns);

static double perhaps_value(const struct row *row)
{
    return worth(row, row->site.unnamed_held + row->site.named_late);
}

static void perhaps_cells(struct sonde_view_table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    part_cell(t, site->unnamed, site->count);
    sonde_cell_int(t, true, site->unnamed_bytes);
    byte_seconds(t, site->unnamed_held);
    byte_seconds(t, site->named_late);
}

/* ---- repeatedly allocated ----------------------------------------------------------------------- */

static const struct sonde_view_column again_columns[] = {
    {NULL, "Repeatedly allocated", SONDE_CELL_TEXT, 0, 0, site_kind},
    {NULL, "count", SONDE_CELL_COUNT, 0, 0, "objects allocated there"},
    {NULL, "alive at once", SONDE_CELL_COUNT, 0, 1, "largest number alive at once: how many would suffice if reused"},
    {NULL, "mean bytes", SONDE_CELL_BYTES, 0, 3, "mean size of an object"},
    {NULL, "API time", SONDE_CELL_TIME, 0, 2, "host time in the allocating API calls"},
    {NULL, "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, allocated_by},
};
static const struct sonde_view_columns again = SONDE_VIEW_COLUMNS("again", again_columns);

static double again_value(const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    const uint64_t more = site->count - site->most_count;
    return more >= AGAIN_LEAST && more >= site->most_count ? site->alloc_ns + 1 : 0;
}

static void again_cells(struct sonde_view_table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    sonde_cell_int(t, true, site->count);
    sonde_cell_int(t, true, site->most_count);
    sonde_cell_real(t, true, (double)site->bytes / (double)site->count);
    sonde_cell_real(t, site->alloc_ns > 0, site->alloc_ns);
}

/* ---- sentences ------------------------------------------------------------------------------------- */

/* "12 objects". */
static const char *objects_text(char out[SONDE_NUMBER_MAX], uint64_t n)
{
    sonde_number_count(out, n);
    strncat(out, n == 1 ? " object" : " objects", SONDE_NUMBER_MAX - 1 - strlen(out));
    return out;
}

/* A line of its own before the first sentence. */
struct say {
    const struct sonde_query *q;
    struct sonde_view_data *out;
    bool begun;
};
static bool is_first(struct say *s)
{
    const bool first = !s->begun;
    s->begun = true;
    return first;
}

static void say_of_processes(struct say *s, uint32_t count, const char *what)
{
    if (count && s->q->m->process_count == 1)
        sonde_view_say(s->out, is_first(s), "the program %s: objects alive then are not necessarily leaks", what);
    else if (count)
        sonde_view_say(s->out, is_first(s), "%u of %u processes %s: objects alive then are not necessarily leaks", count,
                       s->q->m->process_count, what);
}

static void say_ends(struct say *s, const struct sonde_memory_use *m)
{
    uint64_t late = 0;
    uint32_t none = 0, cut = 0, last = UINT32_MAX;
    char number[SONDE_NUMBER_MAX];
    for (size_t i = 0; i < m->spaces.count; i++) {
        const struct sonde_memory_space *space = &m->spaces.items[i];
        late += space->freed_late;
        if (space->process == last)
            continue;
        last = space->process;
        none += space->end == SONDE_MEMORY_FREED_NONE;
        cut += space->end == SONDE_MEMORY_CUT;
    }
    say_of_processes(s, none, "exited without freeing anything");
    say_of_processes(s, cut, "did not exit normally, or still runs");
    if (late)
        sonde_view_say(s->out, is_first(s), "freed only during the program's exit: %s", objects_text(number, late));
}

static void say_cached(struct say *s, const struct sonde_memory_use *m)
{
    uint64_t bytes = 0, count = 0;
    bool any = false;
    char text[SONDE_NUMBER_MAX], number[SONDE_NUMBER_MAX];
    for (size_t i = 0; i < m->spaces.count; i++) {
        bytes += m->spaces.items[i].cached_bytes;
        count += m->spaces.items[i].cached_count;
        for (size_t k = 0; k < m->spaces.items[i].sites.count; k++)
            any |= m->spaces.items[i].sites.items[k].cached;
    }
    if (any)
        sonde_view_say(s->out, is_first(s), "PyTorch's caching allocator: only its segments are recorded (%s in %s at the peak), "
                                            "not the blocks inside; torch.cuda.memory._snapshot() shows those",
                       sonde_number_bytes(text, (double)bytes), sonde_number_count(number, count));
}

struct gaps { uint64_t objects, known, bounded, perhaps, placeless, sizeless; };

static struct gaps gaps_of(const struct sonde_memory_use *m)
{
    struct gaps g = {0};
    for (size_t i = 0; i < m->spaces.count; i++) {
        const struct sonde_memory_space *space = &m->spaces.items[i];
        g.objects += space->count;
        g.sizeless += space->sizeless;
        g.placeless += space->class == SONDE_MEMORY_ON_DEVICE && !space->device ? space->count : 0;
        for (size_t k = 0; k < space->sites.count; k++) {
            g.known += space->sites.items[k].known;
            g.bounded += space->sites.items[k].bounded;
            g.perhaps += perhaps_value(&(struct row){.memory = m, .space = space, .site = space->sites.items[k]}) > 0;
        }
    }
    return g;
}

static void say_gaps(struct say *s, const struct sonde_memory_use *m)
{
    const struct gaps g = gaps_of(m);
    char a[SONDE_NUMBER_MAX], b[SONDE_NUMBER_MAX];
    if (g.bounded)
        sonde_view_say(s->out, is_first(s), "kernel arguments are unknown for %s of %s: numbers about uses count what is certain "
                                            "from the times of operations",
                       sonde_number_count(a, g.bounded), objects_text(b, g.objects));
    if (g.perhaps)
        sonde_view_say(s->out, is_first(s),
                       "possibly unused: no copy or fill uses these objects, or none for so long, but kernels may");
    if (g.known + g.bounded < g.objects)
        sonde_view_say(s->out, is_first(s), "uses unknown: %s of %s (incomplete trace, or recording was off)",
                       sonde_number_count(a, g.objects - g.known - g.bounded), objects_text(b, g.objects));
    if (g.placeless)
        sonde_view_say(s->out, is_first(s),
                       "device unknown: %s (their context has several devices, or the runtime does not report it)",
                       objects_text(a, g.placeless));
    if (g.sizeless)
        sonde_view_say(s->out, is_first(s), "size unknown: %s, not included in any number of bytes", objects_text(a, g.sizeless));
    if (m->bad_times)
        sonde_view_say(s->out, is_first(s), "freed before allocated, by their times: %s, taken as never alive",
                       objects_text(a, m->bad_times));
    if (m->incomplete)
        sonde_view_say(s->out, is_first(s), "at least %s: table full, so counts and peaks are lower bounds",
                       objects_text(a, SONDE_OBJECTS_MAX));
}

/* ---- the view ------------------------------------------------------------------------------------------ */

static const struct sonde_view_column columns[] = {
    {"parts", NULL, SONDE_CELL_COUNT, 0, 0, "objects inside other objects, not included in any count"},
    {"bad_times", NULL, SONDE_CELL_COUNT, 0, 0, "objects freed before allocated, by their times; taken as never alive"},
    {"incomplete", NULL, SONDE_CELL_BOOLEAN, 0, 0, "more objects than the table holds: counts and peaks are lower bounds"},
    {"spaces", NULL, SONDE_CELL_LIST, 0, 0, "memory by process, class and device",
     .of = &spaces},
};
static const struct sonde_view_columns memory_table = SONDE_VIEW_COLUMNS("memory", columns);

/* Tables and sentences for people. */
static int show(const struct sonde_query *q, const struct sonde_memory_use *memory, const struct sonde_view_table *list,
                struct sonde_view_data *out)
{
    static const struct part parts[] = {
        {&peak, peak_value, peak_cells},
        {&leaks, leak_value, leak_cells},
        {&unused, unused_value, unused_cells},
        {&idle, idle_value, idle_cells},
        {&perhaps, perhaps_value, perhaps_cells},
        {&again, again_value, again_cells},
    };
    struct say s = {.q = q, .out = out};
    int rc = 0;
    if (!memory->spaces.count) {
        sonde_view_say(out, false, "no allocation was recorded");
        return 0;
    }
    sonde_view_show(out, list, false);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !rc; i++)
        rc = show_part(q, memory, &parts[i], out);
    say_ends(&s, memory);
    say_cached(&s, memory);
    say_gaps(&s, memory);
    return rc;
}

static int fill(const struct sonde_query *q, const struct sonde_memory_use *memory, struct sonde_view_data *out)
{
    const size_t all = memory->spaces.count, shown = q->complete ? all : sonde_query_rows(q, all);
    struct sonde_view_table *t = out->root = sonde_view_table(out, &memory_table);
    sonde_cell_int(t, true, memory->parts);
    sonde_cell_int(t, true, memory->bad_times);
    sonde_cell_boolean(t, memory->incomplete);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < shown; i++)
        space_row(list, q, &memory->spaces.items[i]);
    list->left_out = all - shown;
    return q->complete ? 0 : show(q, memory, list, out);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_memory_use memory = {0};
    struct sonde_progress *progress = sonde_query_begin(q, "reading the trace");
    int rc = sonde_memory_compute(q->m, q->profile, progress, &memory);
    sonde_query_end(q, progress);
    if (!rc)
        rc = fill(q, &memory, out);
    sonde_memory_fini(&memory);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the memory of") : 0;
}

const struct sonde_view sonde_view_memory = {
    .name = "memory",
    .summary = "memory over time: peaks, leaks, unused and idle memory",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&memory_table, &peak, &leaks, &unused, &idle, &perhaps, &again, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_PAUSES,
    .make = make,
};

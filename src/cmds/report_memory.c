/* report_memory.c - the view `memory`: how much was held over the run and by whom, what
 * was not given back, never used, held for nothing, and allocated again and again.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/memory.h"
#include "base/map.h"
#include "command.h"
#include "report.h"

enum { SPARK_COLUMNS = 24, WORTH_PERCENT = 1, AGAIN_LEAST = 2 };

static const char *const class_names[] = {"device", "shared", "host"}, *const class_titles[] = {"device", "shared", "host, pinned"};

/* ---- names and pictures -------------------------------------------------------------- */

static const struct sonde_process *process_of(const struct report *r, const struct sonde_memory_space *space)
{
    return &r->q.m->processes[space->process];
}

static void device_name(const struct report *r, const struct sonde_memory_space *space, struct sonde_text *out)
{
    if (space->device) {
        sonde_name_device(&r->q, out, space->process, space->device);
        return;
    }
    sonde_name_process_begin(&r->q, out, space->process);
    sonde_text_add(out, space->class == SONDE_MEMORY_ON_DEVICE ? "not known" : "-");
    sonde_name_process_end(&r->q, out, space->process);
}

static double capacity_of(const struct report *r, const struct sonde_memory_space *space)
{
    const struct sonde_process *p = process_of(r, space);
    return space->class == SONDE_MEMORY_ON_DEVICE && space->device && space->device < p->device_count
               ? (double)p->devices[space->device].memory_bytes : 0;
}

static size_t spark_column(const struct sonde_memory_space *space, uint64_t at_ns)
{
    const double span = (double)(space->end_ns - space->begin_ns) + 1;
    return (size_t)((double)(at_ns - space->begin_ns) / span * SPARK_COLUMNS);
}

/* Each column is as high as the most that was held in its part of the time. */
static void spark(const struct sonde_memory_space *space, struct sonde_text *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t most[SPARK_COLUMNS] = {0}, level = 0;
    size_t column = 0;
    for (size_t i = 0; i < space->points.count; i++) {
        const struct sonde_memory_point *p = &space->points.items[i];
        for (const size_t at = spark_column(space, p->at_ns); column < at && column + 1 < SPARK_COLUMNS;)
            most[++column] = level;
        level = p->bytes;
        most[column] = level > most[column] ? level : most[column];
    }
    for (size_t i = 0; i < SPARK_COLUMNS; i++) {
        const double part = space->peak_bytes ? (double)most[i] / (double)space->peak_bytes : 0;
        sonde_text_add(out, most[i] ? blocks[(size_t)(part * 7.999)] : " ");
    }
}

/* ---- the spaces ----------------------------------------------------------------------- */

static void count_of(struct table *t, uint64_t part, uint64_t whole)
{
    char a[SONDE_NUMBER_MAX], b[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_number_count(a, part);
    sonde_text_format(&text, part == whole ? "all %s" : "%s of %s", a, sonde_number_count(b, whole));
    table_cell(t, sonde_text_get(&text));
    sonde_text_fini(&text);
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

static void space_row(const struct report *r, struct table *t, const struct sonde_memory_space *space)
{
    struct sonde_text name = {0}, picture = {0};
    uint64_t alive_bytes, alive = alive_of(space, &alive_bytes);
    device_name(r, space, &name);
    spark(space, &picture);
    table_cell(t, class_titles[space->class]);
    table_cell(t, sonde_text_get(&name));
    table_bytes(t, true, (double)space->peak_bytes);
    table_percent(t, (double)space->peak_bytes, capacity_of(r, space));
    table_time(t, space->peak_ns >= space->begin_ns, (double)(space->peak_ns - space->begin_ns));
    table_cell(t, sonde_text_get(&picture));
    table_count(t, space->count);
    table_count(t, alive);
    table_bytes(t, true, (double)alive_bytes);
    sonde_text_fini(&name);
    sonde_text_fini(&picture);
}

static void print_spaces(const struct report *r, const struct sonde_memory_use *m)
{
    static const struct table_column columns[] = {
        {"Memory", TABLE_LEFT, 0}, {"device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"peak", TABLE_RIGHT, 0}, {"of it", TABLE_RIGHT, 2},
        {"at", TABLE_RIGHT, 3}, {"over the run", TABLE_LEFT, 6}, {"allocated", TABLE_RIGHT, 5},
        {"alive at the end", TABLE_RIGHT, 1}, {"bytes", TABLE_RIGHT, 4},
    };
    struct table t = {.columns = columns, .column_count = 9};
    const size_t all = m->spaces.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t i = 0; i < shown; i++)
        space_row(r, &t, &m->spaces.items[i]);
    table_print(&t, r);
    report_more(r, "memory", shown, all);
}

/* ---- tables of sites --------------------------------------------------------------------- */

struct row { /* the sites of one line of the user's; their node is the first one's */
    const struct sonde_memory_use   *memory;
    const struct sonde_memory_space *space;
    struct sonde_memory_site site;
    double value;
};

struct part { /* one table: which sites are in it, by what order, and their cells */
    const struct table_column *columns;
    int column_count;
    double (*value)(const struct row *row);                /* 0: not in the table */
    void (*cells)(struct table *t, const struct row *row); /* between the first and the last column */
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

static void site_cells(const struct report *r, struct table *t, const struct part *part, const struct row *row)
{
    struct sonde_text callers = {0};
    table_cell(t, sonde_object_kind_name(row->site.kind));
    part->cells(t, row);
    if (row->site.node)
        sonde_name_callers(&r->q, &callers, row->site.node, 2);
    table_cell(t, callers.length ? sonde_text_get(&callers) : "unknown");
    sonde_text_fini(&callers);
}

struct rows {
    SONDE_VECTOR(struct row) list;
    struct sonde_map by_place; /* number of the space << 40, kind << 32, the user's frame -> number in the list */
};

static int add_row(const struct report *r, struct rows *rows, uint64_t space, const struct row *row)
{
    const uint64_t place = row->site.node ? sonde_profile_place(r->q.profile, row->site.node) : 0;
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

static int list_rows(const struct report *r, const struct sonde_memory_use *m, const struct part *part, struct rows *rows)
{
    int rc = 0;
    for (size_t i = 0; i < m->spaces.count; i++) {
        const struct sonde_memory_space *space = &m->spaces.items[i];
        for (size_t k = 0; k < space->sites.count && !rc; k++) {
            struct row row = {.memory = m, .space = space, .site = space->sites.items[k]};
            row.value = part->value(&row);
            if (row.value > 0)
                rc = add_row(r, rows, i, &row);
        }
    }
    return rc;
}

static int print_part(const struct report *r, const struct sonde_memory_use *m, const struct part *part)
{
    struct rows rows = {0};
    struct table t = {.columns = part->columns, .column_count = part->column_count};
    int rc = list_rows(r, m, part, &rows);
    if (rows.list.count)
        qsort(rows.list.items, rows.list.count, sizeof *rows.list.items, by_value);
    const size_t shown = r->q.limit && r->q.limit < rows.list.count ? r->q.limit : rows.list.count;
    for (size_t i = 0; i < shown && !rc; i++)
        site_cells(r, &t, part, &rows.list.items[i]);
    if (shown && !rc) {
        fputc('\n', stdout);
        table_print(&t, r);
        report_more(r, "memory", shown, rows.list.count);
    }
    sonde_vector_fini(&rows.list);
    sonde_map_fini(&rows.by_place);
    return rc;
}

/* ---- who holds the peak ------------------------------------------------------------------- */

static double peak_value(const struct row *row)
{
    return (double)row->site.peak_bytes;
}

static void peak_cells(struct table *t, const struct row *row)
{
    table_bytes(t, true, (double)row->site.peak_bytes);
    table_percent(t, (double)row->site.peak_bytes, (double)row->space->peak_bytes);
    table_count(t, row->site.peak_count);
}

/* ---- not freed ------------------------------------------------------------------------------ */

/* Of a process that frees nothing, or was cut short, only what was left behind tells of a leak. */
static double leak_value(const struct row *row)
{
    return (double)(row->space->end == SONDE_MEMORY_ENDED ? row->site.alive_bytes : row->site.left_bytes);
}

static void leak_cells(struct table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    count_of(t, site->alive, site->count);
    table_bytes(t, true, (double)site->alive_bytes);
    if (site->known || site->left) /* else none is certain, which says nothing */
        count_of(t, site->left, site->alive);
    else
        table_cell(t, "-");
}

/* ---- never used, and held but idle ----------------------------------------------------------- */

static void byte_seconds(struct table *t, double byte_ns)
{
    char number[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    sonde_text_format(&text, "%s·s", sonde_number_bytes(number, byte_ns / 1e9));
    table_cell(t, sonde_text_get(&text));
    sonde_text_fini(&text);
}

/* Little of all that was held is not shown. */
static double worth(const struct row *row, double held)
{
    return held * 100 >= row->memory->held * WORTH_PERCENT ? held : 0;
}

static double unused_value(const struct row *row)
{
    return row->site.unused ? row->site.unused_held + 1 : 0;
}

static void unused_cells(struct table *t, const struct row *row)
{
    count_of(t, row->site.unused, row->site.count);
    table_bytes(t, true, (double)row->site.unused_bytes);
    byte_seconds(t, row->site.unused_held);
}

static double idle_value(const struct row *row)
{
    return worth(row, row->site.early + row->site.late);
}

static void idle_cells(struct table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    byte_seconds(t, site->early + site->late);
    table_percent(t, site->early + site->late, site->held);
    byte_seconds(t, site->early);
    byte_seconds(t, site->late);
}

/* ---- perhaps not used: kernels' arguments are not known ---------------------------------------- */

static double perhaps_value(const struct row *row)
{
    return worth(row, row->site.unnamed_held + row->site.named_late);
}

static void perhaps_cells(struct table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    count_of(t, site->unnamed, site->count);
    table_bytes(t, true, (double)site->unnamed_bytes);
    byte_seconds(t, site->unnamed_held);
    byte_seconds(t, site->named_late);
}

/* ---- again and again ---------------------------------------------------------------------------- */

static double again_value(const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    const uint64_t again = site->count - site->most_count;
    return again >= AGAIN_LEAST && again >= site->most_count ? site->alloc_ns + 1 : 0;
}

static void again_cells(struct table *t, const struct row *row)
{
    const struct sonde_memory_site *site = &row->site;
    table_count(t, site->count);
    table_count(t, site->most_count);
    table_bytes(t, true, (double)site->bytes / (double)site->count);
    table_time(t, site->alloc_ns > 0, site->alloc_ns);
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
struct say { const struct report *r; bool begun; };
static const struct report *line(struct say *s)
{
    if (!s->begun)
        fputc('\n', stdout);
    s->begun = true;
    return s->r;
}

static void say_of_processes(struct say *s, uint32_t count, const char *what)
{
    if (count && s->r->q.m->process_count == 1)
        report_say(line(s), "the program %s: what was alive then is no leak by itself", what);
    else if (count)
        report_say(line(s), "%u of %u processes %s: what was alive then is no leak by itself", count,
                   s->r->q.m->process_count, what);
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
    say_of_processes(s, none, "ended without freeing anything");
    say_of_processes(s, cut, "did not end in order (or did not end yet)");
    if (late)
        report_say(line(s), "freed only while the program was ending: %s", objects_text(number, late));
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
        report_say(line(s), "PyTorch's caching allocator: blocks inside its cache are not seen, only its segments (%s in %s at the peak); torch.cuda.memory._snapshot() shows the blocks",
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
        report_say(line(s), "kernels may have used %s of %s unseen: figures of use count what is certain by the times "
                   "at which operations ran", sonde_number_count(a, g.bounded), objects_text(b, g.objects));
    if (g.perhaps)
        report_say(line(s), "perhaps unused: no copy or set names these, or none for so long; kernels may have used them");
    if (g.known + g.bounded < g.objects)
        report_say(line(s), "uses not known: %s of %s (no whole trace, or recording was off meanwhile)",
                   sonde_number_count(a, g.objects - g.known - g.bounded), objects_text(b, g.objects));
    if (g.placeless)
        report_say(line(s), "device not known: %s (their context has several devices, or the runtime does not say)",
                   objects_text(a, g.placeless));
    if (g.sizeless)
        report_say(line(s), "size not known: %s, in no figure of bytes", objects_text(a, g.sizeless));
    if (m->bad_times)
        report_say(line(s), "freed before it was allocated, by its times: %s, taken as never alive", objects_text(a, m->bad_times));
    if (m->incomplete)
        report_say(line(s), "at least %s: rows of freed ones were used again, so counts and peaks are lower bounds",
                   objects_text(a, SONDE_OBJECTS_MAX));
}

/* ---- the view ------------------------------------------------------------------------------------------ */

static const struct table_column peak_columns[] = {
    {"Held at the peak", TABLE_LEFT, 0}, {"bytes", TABLE_RIGHT, 0}, {"share", TABLE_RIGHT, 2},
    {"count", TABLE_RIGHT, 1}, {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct table_column leak_columns[] = {
    {"Not freed", TABLE_LEFT, 0}, {"count", TABLE_RIGHT, 1}, {"bytes", TABLE_RIGHT, 0},
    {"left behind", TABLE_RIGHT, 2}, {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct table_column unused_columns[] = {
    {"Never used", TABLE_LEFT, 0}, {"count", TABLE_RIGHT, 1}, {"bytes", TABLE_RIGHT, 0},
    {"held", TABLE_RIGHT, 2}, {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct table_column idle_columns[] = {
    {"Held but idle", TABLE_LEFT, 0}, {"idle", TABLE_RIGHT, 0}, {"of its life", TABLE_RIGHT, 1},
    {"before first use", TABLE_RIGHT, 2}, {"after last use", TABLE_RIGHT, 3},
    {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct table_column perhaps_columns[] = {
    {"Perhaps unused", TABLE_LEFT, 0}, {"no copy names", TABLE_RIGHT, 0}, {"bytes", TABLE_RIGHT, 2},
    {"held", TABLE_RIGHT, 3}, {"before first copy", TABLE_RIGHT, 1}, {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct table_column again_columns[] = {
    {"Again and again", TABLE_LEFT, 0}, {"allocated", TABLE_RIGHT, 0}, {"alive at once", TABLE_RIGHT, 1},
    {"mean bytes", TABLE_RIGHT, 3}, {"time in calls", TABLE_RIGHT, 2},
    {"allocated by", TABLE_LEFT | TABLE_STACK, 0},
};
static const struct part parts[] = {
    {peak_columns, 5, peak_value, peak_cells},   {leak_columns, 5, leak_value, leak_cells},
    {unused_columns, 5, unused_value, unused_cells}, {idle_columns, 6, idle_value, idle_cells},
    {perhaps_columns, 6, perhaps_value, perhaps_cells}, {again_columns, 6, again_value, again_cells},
};

static int compute(const struct report *r, struct sonde_memory_use *memory, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading the trace", false);
    int rc = sonde_memory_compute(r->q.m, r->q.profile, progress, memory);
    sonde_progress_end(progress);
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot read the memory of") : 0;
}

int report_memory_text(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_memory_use memory = {0};
    int rc = compute(r, &memory, diag);
    if (!rc && memory.spaces.count == 0) {
        puts("no allocation was recorded");
    } else if (!rc) {
        print_spaces(r, &memory);
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !rc; i++)
            rc = print_part(r, &memory, &parts[i]);
        struct say s = {.r = r};
        say_ends(&s, &memory);
        say_cached(&s, &memory);
        say_gaps(&s, &memory);
    }
    sonde_memory_fini(&memory);
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static json_t *number(uint64_t n)
{
    return report_json_count(n);
}

/* Byte-seconds. */
static json_t *held_json(bool known, double byte_ns)
{
    return known ? json_real(byte_ns / 1e9) : json_null();
}

static json_t *site_json(const struct report *r, const struct sonde_memory_site *s)
{
    const bool known = s->known + s->bounded > 0;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
        "kind", sonde_object_kind_name(s->kind), "objects", number(s->count), "bytes", number(s->bytes),
        "peak_objects", number(s->peak_count), "peak_bytes", number(s->peak_bytes),
        "most_objects", number(s->most_count), "alive", number(s->alive), "alive_bytes", number(s->alive_bytes),
        "uses_known", number(s->known), "uses_bounded", number(s->bounded), "left_behind", known ? number(s->left) : json_null(),
        "left_behind_bytes", known ? number(s->left_bytes) : json_null(),
        "unused", known ? number(s->unused) : json_null(),
        "unused_bytes", known ? number(s->unused_bytes) : json_null(),
        "unnamed", number(s->unnamed), "unnamed_bytes", number(s->unnamed_bytes),
        "unnamed_held_byte_s", held_json(true, s->unnamed_held), "named_late_byte_s", held_json(true, s->named_late),
        "held_byte_s", held_json(true, s->held),
        "idle_before_byte_s", held_json(known, s->early), "idle_after_byte_s", held_json(known, s->late),
        "alloc_ns", report_json_ns(s->alloc_ns > 0, s->alloc_ns), "cached", (int)s->cached,
        "frames", report_json_frames(r, s->node));
}

static json_t *series_json(const struct sonde_memory_space *space)
{
    json_t *at = json_array(), *bytes = json_array(), *sites = json_array(), *other = json_array();
    const size_t holders = space->sites.count < SONDE_MEMORY_HOLDERS ? space->sites.count : SONDE_MEMORY_HOLDERS;
    for (size_t k = 0; k < holders; k++)
        json_array_append_new(sites, json_array());
    for (size_t i = 0; i < space->points.count; i++) {
        const struct sonde_memory_point *p = &space->points.items[i];
        uint64_t rest = p->bytes;
        json_array_append_new(at, number(p->at_ns));
        json_array_append_new(bytes, number(p->bytes));
        for (size_t k = 0; k < holders; k++) {
            rest -= p->holders[k];
            json_array_append_new(json_array_get(sites, k), number(p->holders[k]));
        }
        json_array_append_new(other, number(rest));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "at_ns", at, "bytes", bytes, "sites", sites, "other", other);
}

static json_t *space_json(const struct report *r, const struct sonde_memory_space *s)
{
    static const char *const ends[] = {"ended", "freed nothing", "cut"};
    const struct sonde_process *p = process_of(r, s);
    const double capacity = capacity_of(r, s);
    uint64_t alive_bytes, alive = alive_of(s, &alive_bytes);
    json_t *sites = json_array();
    for (size_t i = 0; i < s->sites.count && (!r->q.limit || i < r->q.limit); i++)
        json_array_append_new(sites, site_json(r, &s->sites.items[i]));
    const char *device = s->device ? sonde_process_string(p, p->devices[s->device].name) : "";
    json_t *value = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}",
        "process", p->name, "class", class_names[s->class],
        "device", s->device ? number(s->device - 1) : json_null(), "name", report_json_text(device),
        "capacity_bytes", report_json_ns(capacity > 0, capacity),
        "begin_ns", number(s->begin_ns), "end_ns", number(s->end_ns),
        "objects", number(s->count), "bytes", number(s->bytes), "sizeless", number(s->sizeless),
        "peak_ns", number(s->peak_ns), "peak_bytes", number(s->peak_bytes), "peak_objects", number(s->peak_count),
        "freed", number(s->freed), "freed_late", number(s->freed_late), "alive", number(alive),
        "end", ends[s->end], "alive_bytes", number(alive_bytes),
        "cached_bytes", number(s->cached_bytes), "series", series_json(s), "sites", sites);
    sonde_rank_json(p, value);
    return value;
}

json_t *report_memory_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_memory_use memory = {0};
    json_t *spaces = json_array(), *value = NULL;
    int rc = compute(r, &memory, diag);
    for (size_t i = 0; i < memory.spaces.count && !rc; i++)
        json_array_append_new(spaces, space_json(r, &memory.spaces.items[i]));
    if (rc)
        json_decref(spaces);
    else
        value = json_pack("{s:o, s:o, s:b, s:o}", "parts", number(memory.parts), "bad_times", number(memory.bad_times),
                          "incomplete", (int)memory.incomplete, "spaces", spaces);
    sonde_memory_fini(&memory);
    return value;
}

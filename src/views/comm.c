/* comm.c - the view `comm`: which device, or the host, sent how many bytes to which, through which line and data object.
 *
 * docs/communication.md says how each number is computed, and what is not there yet.
 */
#include "analyze/answers/comm/comm.h"

#include <math.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/model/recorded.h"
#include "base/number.h"
#include "comm_elements.h"
#include "groups.h"
#include "names.h"
#include "view.h"

enum {
    MATRIX_MOST = 8,  /* ends that people see in a matrix */
    TOP = 10,         /* lines, objects below it */
};

/* ---- columns -------------------------------------------------------------------------- */

static const struct sonde_view_column pair_columns[] = {
    {"from", NULL, SONDE_CELL_KEY, 0, 0, "where the bytes were: number of the device, from 0, or host; null: unknown"},
    {"to", NULL, SONDE_CELL_KEY, 0, 0, "where they went, likewise"},
    {"from_name", "From", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "where the bytes were: number and name of the device, and its process if there are several"},
    {"to_name", "to", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "where they went"},
    {"kind", "kind", SONDE_CELL_TEXT, 0, 1, "copy; migration: a data object, which may have been there already; of kernels load, store, atomic; collective: what a rank of NCCL's sends"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 0, "number of operations; of kernels, accesses of single threads"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes that they moved or accessed, each counted once"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 3, "bytes as % of those of all rows"},
    {"exact", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the numbers are all that there was; false: of a kernel not all launches were looked at, and it is at least so much, or shared memory may have been written unseen, by the host or while recording was off"},
    {"estimated_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "with what launches have that --comm-sample did not choose, by those that it did; null: launches were left out for other reasons, too"},
    {"low_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "least of that, with a confidence of 95 %; null: not known, of some kernel one launch was looked at"},
    {"high_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "most of that"},
    {"timed", NULL, SONDE_CELL_COUNT, 0, 0, "operations with valid times"},
    {"total_ns", "time", SONDE_CELL_TIME, 0, 2, "sum of their durations on the device"},
    {"bytes_per_s", NULL, SONDE_CELL_NUMBER, 0, 0, "bytes per second of that time; null: an operation has no times", .unit = "bytes/s"},
    {NULL, "GB/s", SONDE_CELL_NUMBER, 0, 0, "10^9 bytes per second of that time; unknown if an operation has no times", .unit = "GB/s"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process whose devices they are; null: of several"},
};
static const struct sonde_view_columns pairs = SONDE_VIEW_COLUMNS("pairs", pair_columns);
static const struct sonde_view_columns matrix = SONDE_VIEW_COLUMNS("matrix", pair_columns);

/* clang-format off */
/* From `operations` to `process`: sum_cells. */
#define SUM_COLUMNS \
    {"operations", "operations", SONDE_CELL_COUNT, 0, 1, "number of operations; of kernels, accesses of single threads"}, \
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes that they moved"}, \
    {NULL, "share", SONDE_CELL_SHARE, 0, 2, "bytes as % of those of all rows"}, \
    {"exact", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the numbers are all that there was; false: of a kernel not all launches were looked at, and it is at least so much, or shared memory may have been written unseen, by the host or while recording was off"}, \
    {"estimated_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "with what launches have that --comm-sample did not choose, by those that it did; null: launches were left out for other reasons, too"}, \
    {"low_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "least of that, with a confidence of 95 %; null: not known, of some kernel one launch was looked at"}, \
    {"high_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "most of that"}, \
    {"timed", NULL, SONDE_CELL_COUNT, 0, 0, "operations with valid times"}, \
    {"total_ns", "time", SONDE_CELL_TIME, 0, 3, "sum of their durations on the device"}, \
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"}
/* clang-format on */

static const struct sonde_view_column line_columns[] = {
    {NULL, "Line", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code that asked for it, innermost first; of a kernel's access, its line and the kernel"},
    {"function", NULL, SONDE_CELL_TEXT, 0, 0, "function of the nearest frame of user code; of a kernel's access, that launched it"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file; of a kernel's access, the kernel's"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "line in it"},
    {"kernel", NULL, SONDE_CELL_TEXT, 0, 0, "kernel whose access it was; null: none, it was a copy"},
    {"from", NULL, SONDE_CELL_KEY, 0, 0, "where the bytes were: number of the device, from 0, or host; null: unknown"},
    {"to", NULL, SONDE_CELL_KEY, 0, 0, "where they went, likewise"},
    {NULL, "way", SONDE_CELL_TEXT, 0, 0, "from where to where: numbers of devices, or host"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "copy, migration; of kernels load, store, atomic; collective"},
    SUM_COLUMNS,
    {"node", NULL, SONDE_CELL_ID, 0, 0, "one of its call paths, as root=#NUMBER takes it; null: unknown"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code, innermost first", .of = &sonde_frames},
};
static const struct sonde_view_columns lines = SONDE_VIEW_COLUMNS("lines", line_columns);

static const struct sonde_view_column kernel_columns[] = {
    {"kernel", "Kernel", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "kernel whose accesses they were; null: none, the host asked for copies, migrations or collectives"},
    {"from", NULL, SONDE_CELL_KEY, 0, 0, "where the bytes were: number of the device, from 0, or host; null: unknown"},
    {"to", NULL, SONDE_CELL_KEY, 0, 0, "where they went, likewise"},
    {NULL, "way", SONDE_CELL_TEXT, 0, 0, "from where to where: numbers of devices, or host"},
    {"kind", "kind", SONDE_CELL_TEXT, 0, 1, "copy, migration; of kernels load, store, atomic; collective"},
    SUM_COLUMNS,
};
static const struct sonde_view_columns of_kernels = SONDE_VIEW_COLUMNS("kernels", kernel_columns);

static const struct sonde_view_column object_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object: buffer, image, device; null: the copy named none that is known"},
    {NULL, "Object", SONDE_CELL_TEXT, 0, 0, "kind of data object, and names that the program gave to parts of them"},
    {"site", "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "calling context of the allocation, innermost frame first"},
    {"owner", NULL, SONDE_CELL_KEY, 0, 0, "where it lies: number of the device, from 0, or host; null: unknown, or on whichever uses it"},
    {"from", NULL, SONDE_CELL_KEY, 0, 0, "where the bytes were: number of the device, from 0, or host; null: unknown"},
    {"to", NULL, SONDE_CELL_KEY, 0, 0, "where they went, likewise"},
    {NULL, "way", SONDE_CELL_TEXT, 0, 0, "from where to where: numbers of devices, or host"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "copy, migration; of kernels load, store, atomic; collective"},
    SUM_COLUMNS,
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of user code that allocated it, innermost first", .of = &sonde_frames},
    {"names", NULL, SONDE_CELL_LIST, 0, 0, "names that the program gave to parts of these objects (sonde/sonde.h)", .of = &sonde_names},
};
static const struct sonde_view_columns objects = SONDE_VIEW_COLUMNS("objects", object_columns);

static const struct sonde_view_column link_columns[] = {
    {"link", "NVLink of device", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "all NVLinks of a device, one way: its number and sent or received; of a device that the program did not use its PCI address"},
    {"bytes_counted", "counted", SONDE_CELL_BYTES, 0, 0, "bytes that its counters saw while the program ran, whoever's they were"},
    {"bytes_attributed", "attributed", SONDE_CELL_BYTES, 0, 0, "bytes of the pairs that went that way from or to another device, with the flags that NCCL's protocols LL and LL128 send beside them, and what is estimated of launches that --comm-sample did not choose"},
    {NULL, "of it", SONDE_CELL_SHARE, 0, 1, "attributed as % of what was counted"},
};
static const struct sonde_view_columns links = SONDE_VIEW_COLUMNS("links", link_columns);

static const struct sonde_view_column collective_columns[] = {
    {"name", "Collective", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "what NCCL was asked for, and the type of its elements"},
    {"communicator", "communicator", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 2, "the communicator's name, identity and rank"},
    {"ranks", "ranks", SONDE_CELL_COUNT, 0, 0, "of the communicator; null: NCCL does not tell (before 2.27)"},
    {"algorithm", "algorithm", SONDE_CELL_TEXT, 0, 0, "how NCCL carried it out: RING, TREE …; null: sends and receives have none, or it does not tell"},
    {"protocol", "protocol", SONDE_CELL_TEXT, 0, 1, "SIMPLE, LL or LL128"},
    {"channels", NULL, SONDE_CELL_COUNT, 0, 0, "of NCCL, side by side; null: it does not tell"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 0, "number of operations of this rank"},
    {"bytes", "bytes", SONDE_CELL_BYTES, 0, 0, "bytes that it passed to NCCL"},
    {"sent_bytes", "sent", SONDE_CELL_BYTES, 0, 0, "bytes that left its device, by the algorithm; null: not known of this one"},
    {"total_ns", "time", SONDE_CELL_TIME, 0, 3, "sum of the times of their kernels, waiting for others included"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
};
static const struct sonde_view_columns collectives = SONDE_VIEW_COLUMNS("collectives", collective_columns);

static const struct sonde_view_column fault_columns[] = {
    {"at", NULL, SONDE_CELL_KEY, 0, 0, "processor: number of the device, from 0, or host"},
    {"at_name", "Page faults of", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "processor that met managed memory that was not there: number and name of the device, or the host"},
    {"faults", "count", SONDE_CELL_COUNT, 0, 0, "number of page faults, as the driver counts them"},
    {"name", "on", SONDE_CELL_TEXT, 0, 0, "kind of data object; null: none that is known"},
    {"site", "allocated by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "calling context of the allocation, innermost frame first"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
};
static const struct sonde_view_columns faults = SONDE_VIEW_COLUMNS("faults", fault_columns);

static const struct sonde_view_column coverage_columns[] = {
    {"kernel", "Looked at", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel"},
    {"engine", NULL, SONDE_CELL_TEXT, 0, 0, "how accesses were counted: ptx; spirv (OpenCL: LLVM bitcode, too); sanitizer (machine code); none: they were not"},
    {"launches", "launches", SONDE_CELL_COUNT, 0, 0, "number of launches"},
    {"looked_at", "looked at", SONDE_CELL_COUNT, 0, 0, "launches of which all accesses to other memory were counted, or which can have none"},
    {"reason", "why not all", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "why the others were not, or why they are not exact"},
};
static const struct sonde_view_columns coverage = SONDE_VIEW_COLUMNS("coverage", coverage_columns);

static const struct sonde_view_column columns[] = {
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "copies and migrations, accesses of kernels' threads, and collectives in which something was sent"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that they moved"},
    {"unknown_operations", NULL, SONDE_CELL_COUNT, 0, 0, "of these, operations of which an end is unknown"},
    {"unknown_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that they moved"},
    {"managed_operations", NULL, SONDE_CELL_COUNT, 0, 0, "of these, moves of CUDA's managed memory that the driver made by itself"},
    {"managed_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that they moved"},
    {"untraced", NULL, SONDE_CELL_COUNT, 0, 0, "processes recorded with --profile: of these no objects are known, and less of the ends"},
    {"pairs", NULL, SONDE_CELL_LIST, 0, 0, "from, to and kind, most bytes first", .of = &pairs},
    {"lines", NULL, SONDE_CELL_LIST, 0, 0, "the same by the line that asked, most bytes first", .of = &lines},
    {"kernels", NULL, SONDE_CELL_LIST, 0, 0, "the same by kernel, most bytes first", .of = &of_kernels},
    {"objects", NULL, SONDE_CELL_LIST, 0, 0, "the same by the place that allocated the data objects, most bytes first", .of = &objects},
    {"links", NULL, SONDE_CELL_LIST, 0, 0, "what the links of each device carried (record --comm), beside what is attributed; empty: nobody counted", .of = &links},
    {"matrix", NULL, SONDE_CELL_LIST, 0, 0, "pairs of all kinds together, most bytes first", .of = &matrix},
    {"faults", NULL, SONDE_CELL_LIST, 0, 0, "page faults on CUDA's managed memory, most first", .of = &faults},
    {"collectives", NULL, SONDE_CELL_LIST, 0, 0, "what each rank asked of NCCL, and how that was carried out, most bytes sent first", .of = &collectives},
    {"coverage", NULL, SONDE_CELL_LIST, 0, 0, "kernels whose accesses were counted (record --comm), most launches first", .of = &coverage},
    {"elements", NULL, SONDE_CELL_LIST, 0, 0, "which parts of data objects kernels accessed (record --comm-elements), most bytes first", .of = &sonde__comm_elements},
    {"elements_unread", NULL, SONDE_CELL_COUNT, 0, 0, "data objects of which that is not known, as the program was killed, or there was no room"},
};
static const struct sonde_view_columns comm = SONDE_VIEW_COLUMNS("comm", columns);

static const struct sonde_view_column grid_columns[] = {
    {NULL, "From", SONDE_CELL_TEXT, 0, 0, "where the bytes were; a column for each device, and the host, has what went there"},
    {NULL, "to …", SONDE_CELL_BYTES, 0, 0, "bytes that went there"},
};
static const struct sonde_view_columns grid = SONDE_VIEW_COLUMNS("grid", grid_columns);

/* ---- ends -------------------------------------------------------------------------------- */

/* "host", "1", or of several processes "rank 3: 1". */
static void name_end(const struct sonde_query *q, struct sonde_text *out, uint32_t process, struct sonde_comm_end end)
{
    if (end.where == SONDE_COMM_DEVICE) {
        sonde_name_process_begin(q, out, process);
        sonde_text_format(out, "%u", end.device - 1);
    } else {
        sonde_text_add(out, end.where == SONDE_COMM_HOST ? "host" : "unknown");
    }
}

void sonde__comm_key_cell(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, struct sonde_comm_end end)
{
    struct sonde_text name = {0};
    if (end.where == SONDE_COMM_DEVICE && q->m->process_count < 2) {
        sonde_cell_int(t, true, end.device - 1);
        return;
    }
    if (end.where != SONDE_COMM_UNKNOWN)
        name_end(q, &name, process, end);
    sonde_cell_take(t, &name);
}

static void name_cell(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, struct sonde_comm_end end)
{
    struct sonde_text name = {0};
    if (end.where == SONDE_COMM_DEVICE)
        sonde_name_device(q, &name, process, end.device);
    else
        name_end(q, &name, process, end);
    sonde_cell_take(t, &name);
}

void sonde__comm_way_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm_pair *p)
{
    struct sonde_text text = {0};
    name_end(q, &text, sonde_comm_process(p, p->from), p->from);
    sonde_text_add(&text, " → ");
    name_end(q, &text, sonde_comm_process(p, p->to), p->to);
    sonde_cell_take(t, &text);
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool has_rate(const struct sonde_comm_sum *s)
{
    return s->ns > 0 && s->timed == s->operations;
}

static bool is_exact(const struct sonde_comm *c, uint32_t kind)
{
    return kind == SONDE_COMM_COLLECTIVE ? !c->roughly : (!c->partial && !c->silent && !c->paused) || !sonde_comm_is_of_kernel(kind);
}

/* Of a way, whatever its kinds. */
static bool all_exact(const struct sonde_comm *c, const struct sonde_comm_pair *way)
{
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct sonde_comm_pair *p = &c->pairs.items[i].pair;
        if (!is_exact(c, p->kind) && p->process == way->process && sonde_comm_end_equal(p->from, way->from) && sonde_comm_end_equal(p->to, way->to))
            return false;
    }
    return true;
}

static void estimate_cells(struct sonde_view_table *t, const struct sonde_comm_sum *s)
{
    double bytes, low = 0, high = 0;
    const bool known = sonde_comm_estimated(s, &bytes), bounded = sonde_comm_interval(s, &low, &high);
    sonde_cell_int(t, known, known ? (uint64_t)(bytes + .5) : 0);
    sonde_cell_int(t, bounded, (uint64_t)low);
    sonde_cell_int(t, bounded, (uint64_t)ceil(high));
}

static void pair_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_way *way,
                     bool exact, bool several)
{
    const struct sonde_comm_pair *p = &way->pair;
    const struct sonde_comm_sum *s = &way->sum;
    const double rate = has_rate(s) ? (double)s->bytes / (double)s->ns : 0; /* bytes per ns, GB per s */
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->from), p->from);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->to), p->to);
    name_cell(t, q, sonde_comm_process(p, p->from), p->from);
    name_cell(t, q, sonde_comm_process(p, p->to), p->to);
    sonde_cell_text(t, sonde_comm_kind_name(p->kind));
    sonde_cell_int(t, true, s->operations);
    sonde_cell_int(t, true, s->bytes);
    sonde_cell_share(t, (double)s->bytes, (double)c->all.bytes);
    sonde_cell_boolean(t, exact);
    estimate_cells(t, s);
    sonde_cell_int(t, true, s->timed);
    sonde_cell_int(t, s->timed > 0 || !s->operations, s->ns);
    sonde_cell_real(t, has_rate(s), rate * 1e9);
    sonde_cell_real(t, has_rate(s), rate);
    sonde_cell_text(t, several ? NULL : q->m->processes[p->process].name);
}

/* From `operations` to `total_ns`, and the process. */
static void sum_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_pair *p,
                      const struct sonde_comm_sum *s, bool exact)
{
    sonde_cell_int(t, true, s->operations);
    sonde_cell_int(t, true, s->bytes);
    sonde_cell_share(t, (double)s->bytes, (double)c->all.bytes);
    sonde_cell_boolean(t, exact);
    estimate_cells(t, s);
    sonde_cell_int(t, true, s->timed);
    sonde_cell_int(t, s->timed > 0, s->ns);
    sonde_cell_text(t, q->m->processes[p->process].name);
}

/* "halo() stencil.cu:31 ← step() stencil.cu:80": the kernel, its line, and who launched it. */
static void kernel_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm_line *line)
{
    struct sonde_text text = {0};
    const char *slash = line->file ? strrchr(line->file, '/') : NULL;
    sonde_name_function(&text, line->kernel);
    if (line->file)
        sonde_text_format(&text, " %s:%u", slash ? slash + 1 : line->file, line->line);
    if (line->node) {
        sonde_text_add(&text, " ← ");
        sonde_name_callers(q, &text, line->node, 1);
    }
    sonde_cell_take(t, &text);
}

static void line_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_line *line)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[line->node];
    const struct sonde_comm_pair *p = &line->pair;
    if (line->kernel)
        kernel_cell(t, q, line);
    else
        sonde_cell_allocated_by(t, q, line->node);
    sonde_cell_text(t, line->node ? node->name : NULL);
    sonde_cell_text(t, line->kernel ? line->file : (line->node ? node->file : NULL));
    sonde_cell_int(t, line->kernel ? line->line : (line->node && node->line), line->kernel ? line->line : node->line);
    sonde_cell_text(t, line->kernel);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->from), p->from);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->to), p->to);
    sonde__comm_way_cell(t, q, p);
    sonde_cell_text(t, sonde_comm_kind_name(p->kind));
    sum_cells(t, q, c, p, &line->sum, line->exact);
    sonde_cell_int(t, line->node, line->node);
    sonde_cell_frames(t, q, line->node);
}

static void kernel_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c, const struct sonde_comm_kernel *kernel)
{
    const struct sonde_comm_pair *p = &kernel->pair;
    sonde_cell_text(t, kernel->name);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->from), p->from);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->to), p->to);
    sonde__comm_way_cell(t, q, p);
    sonde_cell_text(t, sonde_comm_kind_name(p->kind));
    sum_cells(t, q, c, p, &kernel->sum, kernel->exact);
}

static void object_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm *c,
                       const struct sonde_comm_object *object)
{
    const struct sonde_comm_pair *p = &object->pair;
    const bool known = object->kind != SONDE_OBJECT_NONE;
    struct sonde_text site = {0};
    if (known && object->node)
        sonde_name_callers(q, &site, object->node, 2);
    sonde_cell_text(t, known ? sonde_object_kind_name(object->kind) : NULL);
    if (known)
        sonde_cell_named_kind(t, q, p->process, object->kind, object->node);
    else
        sonde_cell_unknown(t);
    if (site.length)
        sonde_cell_text(t, sonde_text_get(&site));
    else
        sonde_cell_unknown(t);
    sonde_text_fini(&site);
    sonde__comm_key_cell(t, q, p->process, object->owner);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->from), p->from);
    sonde__comm_key_cell(t, q, sonde_comm_process(p, p->to), p->to);
    sonde__comm_way_cell(t, q, p);
    sonde_cell_text(t, sonde_comm_kind_name(p->kind));
    sum_cells(t, q, c, p, &object->sum, is_exact(c, p->kind));
    sonde_cell_frames(t, q, object->node);
    sonde_cell_names(t, q, p->process, object->kind, object->node);
}

static void fault_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm_faults *f)
{
    struct sonde_text site = {0};
    sonde__comm_key_cell(t, q, f->process, f->at);
    name_cell(t, q, f->process, f->at);
    sonde_cell_int(t, true, f->count);
    sonde_cell_text(t, f->kind != SONDE_OBJECT_NONE ? sonde_object_kind_name(f->kind) : NULL);
    if (f->node)
        sonde_name_callers(q, &site, f->node, 2);
    if (site.length)
        sonde_cell_text(t, sonde_text_get(&site));
    else
        sonde_cell_unknown(t);
    sonde_text_fini(&site);
    sonde_cell_text(t, q->m->processes[f->process].name);
}

static void collective_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm_collective *c)
{
    static const struct sonde_row_work none;
    const struct sonde_process *p = &q->m->processes[c->process];
    const struct sonde_row_work *how = c->work && c->work < p->work_count ? &p->works[c->work] : &none;
    const char *algorithm = sonde_process_string(p, how->algorithm), *protocol = sonde_process_string(p, how->protocol);
    sonde_cell_text(t, c->name);
    sonde_cell_text(t, sonde_process_string(p, c->lane < p->lane_count ? p->lanes[c->lane].name : 0));
    sonde_cell_int(t, how->ranks, how->ranks);
    sonde_cell_text(t, *algorithm ? algorithm : NULL);
    sonde_cell_text(t, *protocol ? protocol : NULL);
    sonde_cell_int(t, how->channels, how->channels);
    sonde_cell_int(t, true, c->asked.operations);
    sonde_cell_int(t, true, c->asked.bytes);
    sonde_cell_int(t, c->sent_known, c->sent);
    sonde_cell_int(t, c->asked.timed > 0, c->asked.ns);
    sonde_cell_text(t, p->name);
}

static const char *const engine_names[] = {
#define X(name, text) [SONDE_ENGINE_##name] = text,
    SONDE_ENGINE_MAP(X)
#undef X
};

/* With the commonest reason. */
static void coverage_row(struct sonde_view_table *t, const struct sonde_comm_coverage *c)
{
    uint64_t launches = c->looked_at;
    unsigned why = 0;
    for (unsigned k = 1; k < SONDE_VALUE_MISSED_COUNT; k++) {
        launches += c->missed[k];
        why = c->missed[k] > (why ? c->missed[why] : 0) ? k : why;
    }
    sonde_cell_text(t, c->name);
    unsigned engine = SONDE_ENGINE_COUNT - 1;
    while (engine && !(c->engines >> engine & 1))
        engine--;
    sonde_cell_text(t, engine_names[engine]);
    sonde_cell_int(t, true, launches);
    sonde_cell_int(t, true, c->looked_at);
    why = !why && c->silent ? SONDE_VALUE_MISSED_SILENT : why;
    sonde_cell_text(t, why ? sonde_value_missed_text(why) : NULL);
}

/* ---- for people ---------------------------------------------------------------------------- */

struct end {
    uint32_t process;
    struct sonde_comm_end end;
};
struct ends {
    struct end items[MATRIX_MOST];
    size_t count;
    bool too_many;
};

/* The end by itself, whichever pair it is of. */
static struct end end_of(const struct sonde_comm_pair *pair, struct sonde_comm_end end)
{
    struct end alone = {sonde_comm_process(pair, end), end};
    alone.end.other = 0;
    return alone;
}

static bool same_end(const struct end *a, const struct end *b)
{
    return sonde_comm_end_equal(a->end, b->end) && (a->end.where != SONDE_COMM_DEVICE || a->process == b->process);
}

static size_t end_at(const struct ends *ends, const struct end *end)
{
    size_t i = 0;
    while (i < ends->count && !same_end(&ends->items[i], end))
        i++;
    return i;
}

/* The host, then the devices, then the unknown. */
static uint64_t order_of(const struct end *e)
{
    const uint64_t where = e->end.where == SONDE_COMM_UNKNOWN ? 3 : e->end.where;
    return where << 62 | (uint64_t)(e->end.where == SONDE_COMM_DEVICE ? e->process : 0) << 32 | e->end.device;
}

static void add_end(struct ends *ends, struct end more)
{
    size_t at = ends->count;
    if (end_at(ends, &more) < ends->count)
        return;
    if (ends->count == MATRIX_MOST) {
        ends->too_many = true;
        return;
    }
    for (; at > 0 && order_of(&ends->items[at - 1]) > order_of(&more); at--)
        ends->items[at] = ends->items[at - 1];
    ends->items[at] = more;
    ends->count++;
}

static const struct sonde_view_columns *grid_of(const struct sonde_query *q, const struct ends *ends, struct sonde_view_data *out)
{
    struct sonde_view_column items[1 + MATRIX_MOST] = {grid_columns[0]};
    for (size_t i = 0; i < ends->count; i++) {
        struct sonde_text title = {0};
        sonde_text_add(&title, "to ");
        name_end(q, &title, ends->items[i].process, ends->items[i].end);
        items[1 + i] = grid_columns[1];
        items[1 + i].title = sonde_arena_copy(&out->arena, sonde_text_get(&title), title.length);
        sonde_text_fini(&title);
        if (!items[1 + i].title)
            return NULL;
    }
    return sonde_view_columns_copy(out, &grid, items, 1 + ends->count);
}

static int show_matrix(const struct sonde_query *q, const struct sonde_comm *c, struct sonde_view_data *out)
{
    struct ends ends = {.count = 0};
    for (size_t i = 0; i < c->matrix.count; i++) {
        const struct sonde_comm_pair *p = &c->matrix.items[i].pair;
        add_end(&ends, end_of(p, p->from));
        add_end(&ends, end_of(p, p->to));
    }
    if (ends.too_many) {
        sonde_view_say(out, false, "More than %d devices: the matrix is in the viewer, and with --json.", (int)MATRIX_MOST);
        return 0;
    }
    const struct sonde_view_columns *of = grid_of(q, &ends, out);
    if (!of)
        return SONDE_ENOMEM;
    struct sonde_view_table *t = sonde_view_table(out, of);
    for (size_t row = 0; row < ends.count; row++) {
        uint64_t bytes[MATRIX_MOST] = {0};
        for (size_t i = 0; i < c->matrix.count; i++) {
            const struct sonde_comm_way *way = &c->matrix.items[i];
            const struct end from = end_of(&way->pair, way->pair.from), to = end_of(&way->pair, way->pair.to);
            if (same_end(&ends.items[row], &from))
                bytes[end_at(&ends, &to)] += way->sum.bytes;
        }
        name_cell(t, q, ends.items[row].process, ends.items[row].end);
        for (size_t k = 0; k < ends.count; k++)
            sonde_cell_int(t, true, bytes[k]);
    }
    sonde_view_show(out, t, false);
    return 0;
}

/* Do devices of several processes stand here? */
static bool several_have_devices(const struct sonde_comm *c)
{
    const struct sonde_comm_pair *first = NULL;
    for (size_t i = 0; i < c->matrix.count; i++) {
        const struct sonde_comm_pair *p = &c->matrix.items[i].pair;
        if (!p->from.device && !p->to.device)
            continue;
        if (first && first->process != p->process)
            return true;
        first = p;
    }
    return false;
}

/* Of kernels of which not all launches were looked at. */
static void say_sample(const struct sonde_comm_sum *kernels, struct sonde_view_data *out)
{
    char all[SONDE_NUMBER_MAX], least[SONDE_NUMBER_MAX], most[SONDE_NUMBER_MAX];
    double bytes, low, high;
    if (!sonde_comm_estimated(kernels, &bytes))
        sonde_view_say(out, false, "Not all launches were looked at (above): of those that were not, accesses are missing here.");
    else if (!sonde_comm_interval(kernels, &low, &high))
        sonde_view_say(out, false, "Of the launches a sample was looked at (above): with those that were not, kernels accessed about %s of other memory.",
                       sonde_number_bytes(all, bytes));
    else
        sonde_view_say(out, false, "Of the launches a sample was looked at (above): with those that were not, kernels accessed about %s of other memory, %s to %s with a confidence of 95 %%.",
                       sonde_number_bytes(all, bytes), sonde_number_bytes(least, low), sonde_number_bytes(most, high));
}

static void say_kernels(const struct sonde_comm *c, const struct sonde_comm_sum *kernels, bool part, struct sonde_view_data *out)
{
    if (c->partial && !part)
        say_sample(kernels, out);
    if (c->silent && !part)
        sonde_view_say(out, false, "The host may have written some shared memory meanwhile (above), which nobody sees: whose that was is not certain.");
    if (c->paused && !part)
        sonde_view_say(out, false, "Recording was off for a time: what of shared memory was written then is not known, and so whose it was later is not certain.");
    if (c->unmoved)
        sonde_view_say(out, false, "What the driver moved of CUDA's managed memory is not known: record --comm tells it.");
    if (c->moved && part)
        sonde_view_say(out, false, "What the driver moved of managed memory has no times here: of a part of the run it is left out.");
    if (c->counted && part)
        sonde_view_say(out, false, "Accesses of kernels have no times: of a part of the run they are left out.");
}

static void say_all(const struct sonde_comm *c, bool part, struct sonde_view_data *out)
{
    char count[SONDE_NUMBER_MAX], bytes[SONDE_NUMBER_MAX];
    struct sonde_comm_sum kernels = {0}, nccl = {0};
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct sonde_comm_way *way = &c->pairs.items[i];
        if (sonde_comm_is_of_kernel(way->pair.kind)) {
            sonde_comm_add(&kernels, &way->sum);
        } else if (way->pair.kind == SONDE_COMM_COLLECTIVE) {
            nccl.operations += way->sum.operations;
            nccl.bytes += way->sum.bytes;
        }
    }
    const uint64_t copies = c->all.operations - kernels.operations - nccl.operations;
    sonde_view_say(out, true, "%s operation%s, %s in total", sonde_number_count(count, copies), copies == 1 ? "" : "s",
                   sonde_number_bytes(bytes, (double)(c->all.bytes - kernels.bytes - nccl.bytes)));
    if (c->managed.operations)
        sonde_view_say(out, true, "of these, %s move%s of managed memory by the driver, %s", sonde_number_count(count, c->managed.operations),
                       c->managed.operations == 1 ? "" : "s", sonde_number_bytes(bytes, (double)c->managed.bytes));
    if (nccl.operations)
        sonde_view_say(out, true, "and %s collective%s of NCCL, in which ranks sent %s%s", sonde_number_count(count, nccl.operations),
                       nccl.operations == 1 ? "" : "s", c->roughly ? "about " : "", sonde_number_bytes(bytes, (double)nccl.bytes));
    if (kernels.operations)
        sonde_view_say(out, true, "and %s access%s of kernels' threads to other memory, %s", sonde_number_count(count, kernels.operations),
                       kernels.operations == 1 ? "" : "es", sonde_number_bytes(bytes, (double)kernels.bytes));
    if (c->unknown.operations)
        sonde_view_say(out, false, "unknown: the runtime does not say where one end of %s operation%s, with %s, lies (docs/communication.md).",
                       sonde_number_count(count, c->unknown.operations), c->unknown.operations == 1 ? "" : "s",
                       sonde_number_bytes(bytes, (double)c->unknown.bytes));
    if (several_have_devices(c))
        sonde_view_say(out, false, "Devices of different processes may be the same one: what would tell is not recorded.");
    say_kernels(c, &kernels, part, out);
    if (c->untraced)
        sonde_view_say(out, false, "recorded with --profile: data objects are unknown, and so are ends of copies that differ within a call path.");
}

/* ---- the view --------------------------------------------------------------------------------- */

/* How many of `all` rows of `what` are there; what people do not see, the view with --by has. */
static size_t rows_of(const struct sonde_query *q, struct sonde_view_table *t, size_t all, const char *what)
{
    const bool brief = !q->complete && !q->comm.by && !q->limit_given;
    const size_t most = brief ? TOP : sonde_query_rows(q, all), shown = most < all ? most : all;
    t->left_out = all - shown;
    t->left_out_view = what;
    return shown;
}

/* ---- links ------------------------------------------------------------------------------------ */

static void link_row(struct sonde_view_table *t, const struct sonde_comm_link *link, bool sends)
{
    struct sonde_text name = {0};
    const uint64_t counted = sends ? link->sent : link->received, known = sends ? link->sent_known : link->received_known;
    if (link->device)
        sonde_text_format(&name, "%u", link->device - 1);
    else
        sonde_text_add(&name, link->address);
    sonde_text_add(&name, sends ? ", sent" : ", received");
    sonde_cell_take(t, &name);
    sonde_cell_int(t, true, counted);
    sonde_cell_int(t, true, known);
    sonde_cell_share(t, (double)known, (double)counted);
}

enum { MISSED_LEAST = 1 << 20 }; /* bytes; a link's counters and what is attributed differ by less than a thousandth otherwise */

/* Of the device whose links sent most that is in no number here. Of what others received it may not be known from whom. */
static void say_unattributed(const struct sonde_comm *c, struct sonde_view_data *out)
{
    const struct sonde_comm_link *worst = NULL;
    char carried[SONDE_NUMBER_MAX], missed[SONDE_NUMBER_MAX];
    for (size_t i = 0; i < c->links.count; i++) {
        const struct sonde_comm_link *l = &c->links.items[i];
        const bool misses = l->device && l->sent > l->sent_known + MISSED_LEAST && (l->sent - l->sent_known) * 50 > l->sent;
        if (misses && (!worst || l->sent - l->sent_known > worst->sent - worst->sent_known))
            worst = l;
    }
    if (worst)
        sonde_view_say(out, false, "Device %u sent %s over NVLink, and %s of it is in no other number here: another program's, or what Sonde does not see (docs/communication.md, \"What is not there yet\").",
                       worst->device - 1, sonde_number_bytes(carried, (double)worst->sent), sonde_number_bytes(missed, (double)(worst->sent - worst->sent_known)));
}

static void show_links(const struct sonde_comm *c, struct sonde_view_table *links_table, struct sonde_view_data *out)
{
    if (!sonde_view_rows(links_table))
        return;
    sonde_view_show(out, links_table, true);
    sonde_view_say(out, true, "NVLink's counters have everybody's bytes; what is attributed is this program's, from device to device.");
    say_unattributed(c, out);
}

static void show_elements(const struct sonde_query *q, const struct sonde_comm *c, bool part, size_t count, struct sonde_view_table *t, struct sonde_view_data *out)
{
    if (count)
        sonde__comm_elements_show(q, c, count, t, out);
    else if (!c->unread && !part)
        sonde_view_say(out, false, "no elements were counted: record --comm-elements does, of memory of other devices and of the host");
    if (c->unread)
        sonde_view_say(out, false, "Of %u data object%s the elements are not known: the program was killed, or there was no room for them.", c->unread, c->unread == 1 ? "" : "s");
}

static int fill(const struct sonde_query *q, const struct sonde_comm *c, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &comm);
    const enum sonde_comm_by by = q->comm.by;
    sonde_cell_int(t, true, c->all.operations);
    sonde_cell_int(t, true, c->all.bytes);
    sonde_cell_int(t, true, c->unknown.operations);
    sonde_cell_int(t, true, c->unknown.bytes);
    sonde_cell_int(t, true, c->managed.operations);
    sonde_cell_int(t, true, c->managed.bytes);
    sonde_cell_int(t, true, c->untraced);
    struct sonde_view_table *pair_table = sonde_cell_list(t), *line_table = sonde_cell_list(t), *kernel_table = sonde_cell_list(t), *object_table = sonde_cell_list(t);
    struct sonde_view_table *link_table = sonde_cell_list(t);
    struct sonde_view_table *matrix_table = sonde_cell_list(t), *missed = sonde_cell_list(t), *asked = sonde_cell_list(t), *looked_at = sonde_cell_list(t);
    struct sonde_view_table *element_table = sonde_cell_list(t);
    sonde_cell_int(t, true, c->unread);
    const bool part = q->range.from.given || q->range.to.given;
    const size_t pair_count = rows_of(q, pair_table, c->pairs.count, "comm --by pair");
    const size_t line_count = rows_of(q, line_table, c->lines.count, "comm --by line");
    const size_t kernel_count = rows_of(q, kernel_table, c->kernels.count, "comm --by kernel");
    const size_t object_count = rows_of(q, object_table, c->objects.count, "comm --by object");
    for (size_t i = 0; i < pair_count; i++)
        pair_row(pair_table, q, c, &c->pairs.items[i], is_exact(c, c->pairs.items[i].pair.kind), false);
    for (size_t i = 0; i < line_count; i++)
        line_row(line_table, q, c, &c->lines.items[i]);
    for (size_t i = 0; i < kernel_count; i++)
        kernel_row(kernel_table, q, c, &c->kernels.items[i]);
    for (size_t i = 0; i < object_count; i++)
        object_row(object_table, q, c, &c->objects.items[i]);
    const size_t missed_count = rows_of(q, missed, c->faults.count, "comm --json");
    for (size_t i = 0; i < missed_count; i++)
        fault_row(missed, q, &c->faults.items[i]);
    const size_t asked_count = rows_of(q, asked, c->collectives.count, "comm --json");
    for (size_t i = 0; i < asked_count; i++)
        collective_row(asked, q, &c->collectives.items[i]);
    for (size_t i = 0; i < c->coverage.count; i++)
        coverage_row(looked_at, &c->coverage.items[i]);
    for (size_t i = 0; i < c->matrix.count; i++) {
        const struct sonde_comm_pair *p = &c->matrix.items[i].pair;
        pair_row(matrix_table, q, c, &c->matrix.items[i], all_exact(c, p), !p->from.device && !p->to.device && q->m->process_count > 1);
    }
    for (size_t i = 0; i < c->links.count && !part; i++) {
        link_row(link_table, &c->links.items[i], true);
        link_row(link_table, &c->links.items[i], false);
    }
    const size_t array_count = rows_of(q, element_table, c->arrays.count, "comm --by element");
    sonde__comm_elements_fill(q, c, array_count, element_table);
    if (!c->pairs.count) {
        sonde_view_say(out, false, "no copy and no migration %s", part ? "began in this time" : "was recorded");
        if (c->coverage.count)
            sonde_view_show(out, looked_at, true);
        show_links(c, link_table, out);
        say_kernels(c, &(struct sonde_comm_sum){.more.unknown = c->blind}, part, out);
        return 0;
    }
    const int rc = by ? 0 : show_matrix(q, c, out);
    if (!by || by == SONDE_COMM_BY_PAIR)
        sonde_view_show(out, pair_table, !by);
    if (!by || by == SONDE_COMM_BY_LINE)
        sonde_view_show(out, line_table, !by);
    if (by == SONDE_COMM_BY_KERNEL)
        sonde_view_show(out, kernel_table, false);
    if (!by || by == SONDE_COMM_BY_OBJECT)
        sonde_view_show(out, object_table, !by);
    if (by == SONDE_COMM_BY_ELEMENT)
        show_elements(q, c, part, array_count, element_table, out);
    if (!by && missed_count)
        sonde_view_show(out, missed, true);
    if (!by && asked_count)
        sonde_view_show(out, asked, true);
    if (!by)
        show_links(c, link_table, out);
    if (c->coverage.count)
        sonde_view_show(out, looked_at, true);
    say_all(c, part, out);
    return rc;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_comm c = {0};
    struct sonde_query_window window;
    struct sonde_comm_config config = {0};
    uint64_t begin_ns, end_ns;
    int rc = sonde_query_window(q, true, &window, diag);
    if (rc)
        return rc;
    sonde_run_range(q->m, &begin_ns, &end_ns);
    config.from_ns = q->range.from.given ? begin_ns + window.from_ns : 0;
    config.to_ns = q->range.to.given ? begin_ns + window.to_ns : 0; /* what began last may begin at the end */
    config.progress = sonde_query_begin(q, "reading the trace");
    rc = sonde_comm_compute(q->m, q->profile, &config, &c);
    sonde_query_end(q, config.progress);
    rc = rc ? rc : fill(q, &c, out);
    sonde_comm_fini(&c);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the trace of") : 0;
}

const struct sonde_view sonde_view_comm = {
    .name = "comm",
    .summary = "communication: bytes from device to device and host, by line and data object",
    .description = "Copies and migrations, and with record --comm loads, stores and atomics of kernels, by where they come from and where they go: a matrix of devices, then pairs, the lines that asked, and the data objects.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&comm, &grid, &sonde__comm_picture, NULL},
    .options = (const char *const[]){"by", "shape", "from", "to", NULL},
    .caveats = SONDE_CAVEAT_TRACE | SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON | SONDE_CAVEAT_PAUSES,
    .needs_operations = true,
    .make = make,
};

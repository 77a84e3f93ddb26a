/* otf2.c - the trace as an archive of OTF2 (https://scorepci.pages.jsc.fz-juelich.de/otf2-pipelines/docs.r5106/html/), for
 * Vampir, Scalasca and what else reads it. docs/export.md says what becomes what.
 *
 * Slices of one location must nest and come in order: operations of a queue that overlap go to further locations
 * (layout.h). Of a thread its ranges, waits and API calls are laid out together.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/answers/timeline/series.h"
#include "analyze/model/rank.h"
#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "layout.h"
#include "names.h"
#include "otf2_archive.h"
#include "otf2_messages.h"

struct slice {
    uint64_t start_ns, end_ns, bytes, correlation;
    uint32_t region, node; /* node: in the tree; 0 unknown */
    uint32_t kind;         /* of an operation; SONDE_OP_NONE: none */
    uint32_t first, messages; /* of a call of MPI: in the lane's */
};

struct row { /* a location that is being written */
    OTF2_EvtWriter *events;
    uint32_t location, depth;
    struct { uint32_t region, first, messages; } open[SONDE_LAYOUT_DEPTH];
};

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct otf_archive archive;
    struct sonde_layout *layout;
    struct sonde_progress *progress;
    struct sonde_export_result *result;
    uint32_t *region_of;   /* [tree node]; OTF_NONE: not yet */
    OTF2_Paradigm paradigm; /* of the process's runtime */
    uint32_t process, lane, group, host; /* being written; `host`: the location of the thread, and where copies come from and go to */
    uint64_t shift_ns;
    bool nests;
    struct row **rows; /* [SONDE_LAYOUT_ROWS], of the lane */
    SONDE_VECTOR(struct slice) aside; /* ranges and waits of a thread, by start */
    size_t next_aside;
    struct otf_messages mpi;
    SONDE_VECTOR(struct otf_message) messages; /* of the lane */
};

static const struct sonde_process *process_of(const struct writer *w)
{
    return &w->m->processes[w->process];
}

static bool must_stop(const struct writer *w)
{
    return w->archive.failed;
}

static void out_of_memory(struct writer *w)
{
    otf_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
}

/* ---- regions ------------------------------------------------------------------------ */

static OTF2_RegionRole role_of(const struct sonde_cct_node *node)
{
    if (node->kind == SONDE_FRAME_API)
        return OTF2_REGION_ROLE_WRAPPER;
    if (node->kind == SONDE_FRAME_OP && sonde_op_kind_moves(node->op))
        return OTF2_REGION_ROLE_DATA_TRANSFER;
    if (node->kind == SONDE_FRAME_OP && sonde_op_kind_group(node->op) == SONDE_GROUP_ORDER)
        return OTF2_REGION_ROLE_BARRIER;
    return OTF2_REGION_ROLE_FUNCTION;
}

static OTF2_Paradigm paradigm_of(const struct writer *w, const struct sonde_cct_node *node)
{
    if (node->kind == SONDE_FRAME_API && strncmp(node->name, "MPI_", 4) == 0)
        return OTF2_PARADIGM_MPI;
    if (node->kind == SONDE_FRAME_API || node->kind == SONDE_FRAME_OP)
        return w->paradigm;
    return node->kind == SONDE_FRAME_RANGE ? OTF2_PARADIGM_USER : OTF2_PARADIGM_COMPILER;
}

static uint32_t region_of(struct writer *w, uint32_t at)
{
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    if (w->region_of[at] == OTF_NONE)
        w->region_of[at] = otf_region(&w->archive, at ? sonde_names_frame(&w->names, at, false) : "unknown", node->kind == SONDE_FRAME_RANGE ? "" : node->file,
                                      node->line, role_of(node), paradigm_of(w, node));
    return w->region_of[at];
}

/* ---- slices ------------------------------------------------------------------------- */

/* The location of a row of the lane: the first of a thread is there already; the name of further ones has a number. */
static struct row *row_of(struct writer *w, uint32_t number)
{
    const bool queue = process_of(w)->lanes[w->lane].kind == SONDE_LANE_KIND_QUEUE;
    struct sonde_text name = {0};
    char lane[256];
    if (w->rows[number])
        return w->rows[number];
    struct row *row = w->rows[number] = calloc(1, sizeof *row);
    if (!row) {
        out_of_memory(w);
        return NULL;
    }
    sonde_text_add(&name, sonde_names_lane(&w->names, w->process, w->lane, lane, sizeof lane));
    if (number)
        sonde_text_format(&name, " (%u)", number + 1);
    row->location = !number && !queue ? w->host
                                      : otf_location(&w->archive, sonde_text_get(&name),
                                                     queue ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM : OTF2_LOCATION_TYPE_CPU_THREAD, w->group);
    row->events = otf_open(&w->archive, row->location);
    sonde_text_fini(&name);
    return row;
}

static void enter(struct writer *w, struct row *row, const struct slice *s)
{
    if (s->correlation)
        otf_attach(&w->archive, OTF_ATTRIBUTE_CORRELATION, s->correlation);
    if (s->node)
        otf_attach(&w->archive, OTF_ATTRIBUTE_CONTEXT, s->node);
    otf_check(&w->archive, OTF2_EvtWriter_Enter(row->events, w->archive.attributes, otf_time(&w->archive, s->start_ns + w->shift_ns), s->region));
}

static void leave(struct writer *w, struct row *row, uint64_t end_ns, uint32_t region)
{
    otf_check(&w->archive, OTF2_EvtWriter_Leave(row->events, NULL, otf_time(&w->archive, end_ns + w->shift_ns), region));
}

/* A copy is remote memory access: the device gets from the host, or puts there (as Score-P has it). */
static void begin_copy(struct writer *w, struct row *row, const struct slice *s)
{
    const OTF2_TimeStamp at = s->start_ns + w->shift_ns;
    const enum sonde_way way = sonde_op_kind_way(s->kind);
    if (way == SONDE_WAY_TO_DEVICE)
        otf_check(&w->archive, OTF2_EvtWriter_RmaGet(row->events, NULL, at, 0, w->host, s->bytes, s->correlation));
    else if (way == SONDE_WAY_FROM_DEVICE)
        otf_check(&w->archive, OTF2_EvtWriter_RmaPut(row->events, NULL, at, 0, w->host, s->bytes, s->correlation));
}

static void end_copy(struct writer *w, struct row *row, const struct slice *s)
{
    const OTF2_Type type = OTF2_TYPE_UINT64;
    const OTF2_MetricValue value = {.unsigned_int = s->bytes};
    const OTF2_TimeStamp at = s->end_ns + w->shift_ns;
    const enum sonde_way way = sonde_op_kind_way(s->kind);
    if (way == SONDE_WAY_TO_DEVICE || way == SONDE_WAY_FROM_DEVICE)
        otf_check(&w->archive, OTF2_EvtWriter_RmaOpCompleteBlocking(row->events, NULL, at, 0, s->correlation));
    otf_check(&w->archive, OTF2_EvtWriter_Metric(row->events, NULL, at, OTF_METRIC_BYTES, 1, &type, &value));
}

static void write_slice(void *user, uint32_t number, const void *item)
{
    struct writer *w = user;
    const struct slice *s = item;
    struct row *row = must_stop(w) || number == SONDE_LAYOUT_NO_ROW ? NULL : row_of(w, number);
    if (!row || !row->events)
        return;
    enter(w, row, s);
    for (uint32_t i = s->first; i < s->first + s->messages; i++)
        otf_message_entered(&w->archive, row->events, &w->messages.items[i], s->start_ns + w->shift_ns);
    if (w->nests) {
        const size_t at = row->depth++ % SONDE_LAYOUT_DEPTH;
        row->open[at].region = s->region;
        row->open[at].first = s->first;
        row->open[at].messages = s->messages;
        return;
    }
    if (sonde_op_kind_moves(s->kind)) {
        begin_copy(w, row, s);
        end_copy(w, row, s);
    }
    leave(w, row, s->end_ns, s->region);
}

static void end_slice(void *user, uint32_t number, uint64_t end_ns)
{
    struct writer *w = user;
    struct row *row = w->rows[number];
    if (row && row->events && row->depth && !must_stop(w)) {
        const size_t at = --row->depth % SONDE_LAYOUT_DEPTH;
        for (uint32_t i = row->open[at].first; i < row->open[at].first + row->open[at].messages; i++)
            otf_message_leaves(&w->archive, row->events, &w->messages.items[i], end_ns + w->shift_ns);
        leave(w, row, end_ns, row->open[at].region);
    }
}

static void end_lane(struct writer *w)
{
    sonde_layout_end(w->layout);
    for (uint32_t i = 0; i < SONDE_LAYOUT_ROWS && w->rows[i]; i++) {
        otf_close(&w->archive, w->rows[i]->location, w->rows[i]->events);
        free(w->rows[i]);
        w->rows[i] = NULL;
    }
}

static void take_rows(struct writer *w, enum sonde_table table, uint32_t lane, int (*take)(void *user, uint32_t lane, const void *row))
{
    if (sonde_trace_each(process_of(w), &(struct sonde_trace_stored){.table = table, .lane = lane, .progress = w->progress}, take, w) == SONDE_ENOMEM)
        out_of_memory(w);
}

/* ---- queues --------------------------------------------------------------------------- */

static int take_op(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_op *op = row;
    (void)lane;
    w->result->operations++;
    if (op->flags & SONDE_OP_NO_TIMES || !op->start_ns || op->end_ns < op->start_ns) {
        w->result->without_times++;
        return must_stop(w);
    }
    const uint32_t at = sonde_names_locate(&w->names, w->process, op->node);
    const struct slice slice = {.start_ns = op->start_ns, .end_ns = op->end_ns, .bytes = op->bytes, .correlation = op->correlation, .region = at ? region_of(w, at) : otf_region(&w->archive, sonde_op_kind_name(op->kind), "", 0, OTF2_REGION_ROLE_FUNCTION, w->paradigm), .node = at, .kind = op->kind};
    sonde_layout_add(w->layout, slice.start_ns, slice.end_ns, &slice);
    return must_stop(w);
}

/* ---- threads -------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static int put_aside(struct writer *w, const struct slice *slice)
{
    if (slice->end_ns >= slice->start_ns && sonde_vector_push(&w->aside, *slice))
        out_of_memory(w);
    return must_stop(w);
}

static int take_range(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_range *range = row;
    const struct sonde_process *p = process_of(w);
    const char *domain = sonde_process_string(p, range->domain), *name = sonde_process_string(p, range->name);
    struct sonde_text text = {0};
    (void)lane;
    sonde_text_format(&text, "[%s%s%s]", domain, *domain ? ": " : "", name);
    const uint64_t end_ns = range->end_ns ? range->end_ns : p->header.stop_ns > range->begin_ns ? p->header.stop_ns
                                                                                                : range->begin_ns;
    const struct slice slice = {.start_ns = range->begin_ns, .end_ns = end_ns, .region = otf_region(&w->archive, sonde_text_get(&text), "", 0, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER)};
    sonde_text_fini(&text);
    w->result->ranges++;
    return put_aside(w, &slice);
}

static int take_sleep(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_sleep *sleep = row;
    const uint32_t at = sonde_names_locate(&w->names, w->process, sleep->node);
    const struct slice slice = {.start_ns = sleep->from_ns, .end_ns = sleep->to_ns, .region = region_of(w, at), .node = at};
    (void)lane;
    return put_aside(w, &slice);
}

/* Of a call with several messages each is a row. */
static int take_message(void *user, uint32_t lane, const void *stored)
{
    struct writer *w = user;
    const struct sonde_row_message *row = stored;
    struct slice *last = w->aside.count ? &w->aside.items[w->aside.count - 1] : NULL;
    struct otf_message message;
    (void)lane;
    if (row->leave_ns < row->enter_ns)
        return must_stop(w);
    if (!last || last->start_ns != row->enter_ns || last->end_ns != row->leave_ns) {
        const uint32_t at = sonde_names_locate(&w->names, w->process, row->node);
        put_aside(w, &(struct slice){.start_ns = row->enter_ns, .end_ns = row->leave_ns, .region = region_of(w, at), .node = at, .first = (uint32_t)w->messages.count});
        last = w->aside.count ? &w->aside.items[w->aside.count - 1] : NULL;
    }
    if (last && otf_message_of(&w->mpi, process_of(w), row, &message)) {
        if (sonde_vector_push(&w->messages, message))
            out_of_memory(w);
        else
            last->messages++;
    }
    return must_stop(w);
}

static void lay_until(struct writer *w, uint64_t until_ns)
{
    for (; w->next_aside < w->aside.count && w->aside.items[w->next_aside].start_ns <= until_ns; w->next_aside++) {
        const struct slice *s = &w->aside.items[w->next_aside];
        sonde_layout_add(w->layout, s->start_ns, s->end_ns, s);
    }
}

static int take_call(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_call *call = row;
    const uint32_t at = sonde_names_locate(&w->names, w->process, call->node);
    const struct slice slice = {.start_ns = call->enter_ns, .end_ns = call->leave_ns > call->enter_ns ? call->leave_ns : call->enter_ns, .correlation = call->correlation, .node = at, .region = at ? region_of(w, at) : otf_region(&w->archive, "API call", "", 0, OTF2_REGION_ROLE_WRAPPER, w->paradigm)};
    (void)lane;
    lay_until(w, slice.start_ns);
    sonde_layout_add(w->layout, slice.start_ns, slice.end_ns, &slice);
    w->result->calls++;
    return must_stop(w);
}

static void write_thread(struct writer *w, uint32_t lane)
{
    w->lane = lane;
    w->aside.count = w->next_aside = w->messages.count = 0;
    take_rows(w, SONDE_TABLE_MESSAGE, lane, take_message);
    take_rows(w, SONDE_TABLE_RANGE, lane, take_range);
    take_rows(w, SONDE_TABLE_SLEEP, lane, take_sleep);
    if (w->aside.count)
        qsort(w->aside.items, w->aside.count, sizeof *w->aside.items, by_start);
    w->nests = true;
    sonde_layout_nest(w->layout, end_slice);
    take_rows(w, SONDE_TABLE_CALL, lane, take_call);
    lay_until(w, UINT64_MAX);
    end_lane(w);
    w->nests = false;
}

/* ---- memory --------------------------------------------------------------------------- */

struct counted {
    const struct sonde_process *process;
    uint32_t device;
};

/* As the view memory counts. */
static bool counts(const void *user, uint32_t object)
{
    const struct counted *c = user;
    const struct sonde_row_object *o = &c->process->objects[object];
    return o->bytes && !sonde_object_is_part(c->process, o) && o->alloc_ns && (!o->free_ns || o->free_ns >= o->alloc_ns) &&
           o->device == c->device && sonde_object_kind_class(o->kind) == SONDE_MEMORY_ON_DEVICE;
}

static void write_memory(struct writer *w, uint32_t device)
{
    const struct sonde_process *p = process_of(w);
    const OTF2_Type type = OTF2_TYPE_UINT64;
    struct sonde_text name = {0};
    sonde_object_changes changes = {0};
    OTF2_MetricValue value = {0};
    char text[160];
    if (sonde_object_changes_find(p, counts, &(struct counted){p, device}, &changes))
        out_of_memory(w);
    if (changes.count && !must_stop(w)) {
        sonde_text_format(&name, "Memory \xc2\xb7 %s", sonde_names_device_numbered(p, device, text, sizeof text));
        const uint32_t location = otf_location(&w->archive, sonde_text_get(&name), OTF2_LOCATION_TYPE_METRIC, w->group);
        OTF2_EvtWriter *events = otf_open(&w->archive, location);
        for (size_t i = 0; events && i < changes.count; i++) {
            const struct sonde_object_change *at = &changes.items[i];
            value.unsigned_int += at->free ? -p->objects[at->object].bytes : p->objects[at->object].bytes;
            if (i + 1 == changes.count || at[1].at_ns != at->at_ns)
                otf_check(&w->archive, OTF2_EvtWriter_Metric(events, NULL, otf_time(&w->archive, at->at_ns + w->shift_ns), OTF_METRIC_MEMORY, 1, &type, &value));
        }
        otf_close(&w->archive, location, events);
    }
    sonde_vector_fini(&changes);
    sonde_text_fini(&name);
}

/* ---- the whole ------------------------------------------------------------------------ */

/* Of each device whose queues it used one more group of locations, made by the process's. */
static void write_devices(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    const uint32_t host_group = w->group, node = w->archive.groups.items[w->group].node;
    char name[160];
    for (uint32_t device = 0; device < (p->device_count ? p->device_count : 1) && !must_stop(w); device++) {
        w->group = OTF_NONE;
        for (uint32_t lane = 1; lane < p->lane_count && !must_stop(w); lane++) {
            if (p->lanes[lane].kind != SONDE_LANE_KIND_QUEUE || (p->lanes[lane].device < p->device_count ? p->lanes[lane].device : 0) != device)
                continue;
            if (w->group == OTF_NONE)
                w->group = otf_group(&w->archive, sonde_names_device_numbered(p, device, name, sizeof name), node, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, host_group);
            w->lane = lane;
            take_rows(w, SONDE_TABLE_OP, lane, take_op);
            end_lane(w);
        }
        w->group = host_group;
        write_memory(w, device);
    }
}

/* The first is where copies come from and go to, which a process without threads has, too. */
static void write_threads(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    uint32_t first = OTF_NONE;
    char name[256];
    for (uint32_t lane = 1; lane < p->lane_count && !must_stop(w); lane++) {
        if (p->lanes[lane].kind == SONDE_LANE_KIND_QUEUE || sonde_lane_is_series(&p->lanes[lane]))
            continue;
        sonde_names_lane(&w->names, w->process, lane, name, sizeof name);
        w->host = otf_location(&w->archive, name, OTF2_LOCATION_TYPE_CPU_THREAD, w->group);
        first = first == OTF_NONE ? w->host : first;
        write_thread(w, lane);
        if (p->header.rank && w->messages.count && otf_messages_place(&w->mpi, p->header.rank - 1, w->host))
            out_of_memory(w);
    }
    w->host = first == OTF_NONE ? otf_location(&w->archive, "Host", OTF2_LOCATION_TYPE_CPU_THREAD, w->group) : first;
}

static void write_process(struct writer *w, uint32_t index)
{
    const struct sonde_process *p = &w->m->processes[index];
    struct sonde_text text = {0};
    char rank[SONDE_RANK_MAX];
    w->process = index;
    w->shift_ns = (uint64_t)sonde__export_shift_ns(w->m, p);
    w->paradigm = p->device_count > 1 && strcmp(sonde_process_string(p, p->devices[1].backend), "cuda") == 0 ? OTF2_PARADIGM_CUDA : OTF2_PARADIGM_OPENCL;
    sonde_text_add_bytes(&text, p->name, sonde_host_length(p->name));
    const uint32_t node = otf_node(&w->archive, sonde_text_get(&text));
    text.length = 0;
    sonde_rank_text(p, rank);
    sonde_text_format(&text, "%s%s%s", rank, *rank ? ": " : "", p->name);
    w->group = otf_group(&w->archive, sonde_text_get(&text), node, OTF2_LOCATION_GROUP_TYPE_PROCESS, OTF_NONE);
    sonde_text_fini(&text);
    write_threads(w);
    write_devices(w);
}

static void define_metrics(struct writer *w, const uint32_t *strings)
{
    OTF2_GlobalDefWriter *d = w->archive.definitions;
    const OTF2_MetricMemberRef bytes = 0, memory = 1;
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteMetricMember(d, bytes, strings[0], strings[1], OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
                                                                  OTF2_TYPE_UINT64, OTF2_BASE_BINARY, 0, strings[2]));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteMetricMember(d, memory, strings[3], strings[4], OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_NEXT,
                                                                  OTF2_TYPE_UINT64, OTF2_BASE_BINARY, 0, strings[2]));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteMetricClass(d, OTF_METRIC_BYTES, 1, &bytes, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_GPU));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteMetricClass(d, OTF_METRIC_MEMORY, 1, &memory, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT));
}

/* The window in which copies access memory: of all locations. */
static void define_window(struct writer *w, uint32_t name)
{
    OTF2_GlobalDefWriter *d = w->archive.definitions;
    const uint32_t count = (uint32_t)w->archive.locations.count;
    uint64_t *members = calloc((size_t)count + 1, sizeof *members);
    if (!members) {
        out_of_memory(w);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        members[i] = i;
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteGroup(d, 0, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, w->paradigm, OTF2_GROUP_FLAG_NONE, count, members));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteGroup(d, 1, name, OTF2_GROUP_TYPE_COMM_GROUP, w->paradigm, OTF2_GROUP_FLAG_NONE, count, members));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteComm(d, 0, name, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteRmaWin(d, 0, name, 0, OTF2_RMA_WIN_FLAG_NONE));
    free(members);
}

/* The tree: a context has the number of its node. 0 stands for a context that is not known. */
static void define_contexts(struct writer *w)
{
    const struct sonde_profile *profile = w->names.profile;
    OTF2_GlobalDefWriter *d = w->archive.definitions;
    OTF2_SourceCodeLocationRef places = 0;
    for (uint32_t i = 0; i < profile->nodes.count && !must_stop(w); i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        const bool placed = *node->file && node->kind != SONDE_FRAME_RANGE;
        if (placed)
            otf_check(&w->archive, OTF2_GlobalDefWriter_WriteSourceCodeLocation(d, places, otf_string(&w->archive, node->file), node->line));
        otf_check(&w->archive, OTF2_GlobalDefWriter_WriteCallingContext(d, i, region_of(w, i), placed ? places : OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                                                                        node->parent ? node->parent : OTF2_UNDEFINED_CALLING_CONTEXT));
        places += placed;
    }
}

static void define(struct writer *w)
{
    static const char *const texts[] = {"bytes moved", "by the operation that ends here", "bytes", "device memory", "allocated",
                                        "correlation", "the same of an API call and its operation", "context", "calling context", "copies"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    const struct sonde_live_header *first = &w->m->processes[0].header;
    uint32_t strings[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        strings[i] = otf_string(&w->archive, texts[i]);
    for (uint32_t i = 0; i < w->names.profile->nodes.count; i++)
        region_of(w, i); /* known before the definitions are written */
    otf_define(&w->archive, first->wall_offset_ns);
    if (must_stop(w))
        return;
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteAttribute(w->archive.definitions, OTF_ATTRIBUTE_CORRELATION, strings[5], strings[6], OTF2_TYPE_UINT64));
    otf_check(&w->archive, OTF2_GlobalDefWriter_WriteAttribute(w->archive.definitions, OTF_ATTRIBUTE_CONTEXT, strings[7], strings[8], OTF2_TYPE_CALLING_CONTEXT));
    define_metrics(w, strings);
    define_window(w, strings[9]);
    otf_messages_define(&w->mpi, &w->archive);
    define_contexts(w);
}

static bool make_room(struct writer *w)
{
    const size_t nodes = w->names.profile->nodes.count;
    w->layout = sonde_layout_create(sizeof(struct slice), write_slice, w);
    w->rows = calloc(SONDE_LAYOUT_ROWS, sizeof *w->rows);
    w->region_of = malloc((nodes + 1) * sizeof *w->region_of);
    for (size_t i = 0; w->region_of && i < nodes; i++)
        w->region_of[i] = OTF_NONE;
    return w->layout && w->rows && w->region_of;
}

static int write_otf2(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                      struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.m = m, .progress = progress, .result = result, .paradigm = OTF2_PARADIGM_OPENCL};
    int code = sonde__export_needs_trace(m, diag);
    if (!code)
        code = sonde_names_init(&w.names, m, diag);
    if (code)
        return code;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_RANGES | SONDE_READ_SLEEPS | SONDE_READ_MESSAGES));
    otf_begin(&w.archive, out);
    if (!make_room(&w) || otf_messages_find(&w.mpi, m, &w.archive))
        out_of_memory(&w);
    for (uint32_t i = 0; i < m->process_count && !must_stop(&w); i++)
        write_process(&w, i);
    if (!must_stop(&w))
        define(&w);
    otf_end(&w.archive);
    otf_fini(&w.archive);
    sonde_layout_destroy(w.layout);
    free(w.rows);
    free(w.region_of);
    sonde_vector_fini(&w.aside);
    sonde_vector_fini(&w.messages);
    otf_messages_fini(&w.mpi);
    sonde_names_fini(&w.names);
    return 0; /* the rest is said by the commit of `out` */
}

const struct sonde_export_format sonde_export_otf2 = {
    .name = "otf2",
    .extension = "otf2",
    .what = "the trace as an archive of OTF2, a folder, for Vampir and Scalasca",
    .open_with = "open its traces.otf2",
    .form = SONDE_EXPORT_FOLDER,
    .mark = "traces.otf2",
    .write = write_otf2,
};

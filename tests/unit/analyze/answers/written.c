/* written.c - see written.h. */
#include "written.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../format/folder.h"
#include "synth.h"

enum { MOST = 512 };

struct written {
    char path[4096], dir[4200];
    struct synth_build *build;
    struct sonde_live_header header;
    struct {
        uint16_t kind, op;
        uint32_t id;
        char name[64];
    } frames[MOST];
    struct { uint32_t slot, parent, frame, id, profile; } nodes[MOST];
    uint32_t frame_count, node_count, devices;
    uint64_t sequence;
    struct sonde_measurement *m;
    struct sonde_profile *profile;
};

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "written: %s\n", what);
    exit(1);
}

struct written *written_begin(void)
{
    struct written *w = calloc(1, sizeof *w);
    must(w != NULL, "memory");
    snprintf(w->path, sizeof w->path, "%s", folder_new());
    must(mkdir(w->path, 0777) == 0, w->path);
    snprintf(w->dir, sizeof w->dir, "%s/made-4000-1", w->path);
    must(mkdir(w->dir, 0777) == 0, w->dir);
    w->build = synth_build_create(w->dir);
    w->header = (struct sonde_live_header){
        .pid = 4000,
        .trace = 1,
        .start_ns = WRITTEN_START,
        .stop_ns = WRITTEN_START,
        .exec_ns = WRITTEN_START,
        .state = SONDE_PROCESS_EXITED,
    };
    return w;
}

struct sonde_live_header *written_header(struct written *w)
{
    return &w->header;
}

uint32_t written_thread(struct written *w, uint64_t start, uint64_t end)
{
    struct sonde_row_lane row = {
        .kind = SONDE_LANE_KIND_THREAD,
        .threads = 1,
        .start_ns = WRITTEN_START + start,
        .end_ns = end ? WRITTEN_START + end : 0,
    };
    row.tid = 4000 + synth_next_id(w->build, SONDE_TABLE_LANE) - 1;
    return (uint32_t)synth_add(w->build, SONDE_TABLE_LANE, 0, &row);
}

uint32_t written_queue(struct written *w, uint32_t device, uint32_t flags)
{
    struct sonde_row_lane row = {.kind = SONDE_LANE_KIND_QUEUE, .device = device, .context = 1, .flags = flags, .start_ns = WRITTEN_START};
    for (; w->devices < device; w->devices++) {
        struct sonde_row_device made = {.name = synth_add_string(w->build, "Made"), .kind = 2};
        synth_add(w->build, SONDE_TABLE_DEVICE, 0, &made);
    }
    return (uint32_t)synth_add(w->build, SONDE_TABLE_LANE, 0, &row);
}

/* ---- contexts --------------------------------------------------------------------- */

enum { WAIT = 1 }; /* as `op` of an API frame: it is a function of the C library */

static uint32_t frame(struct written *w, uint16_t kind, uint16_t op, const char *name)
{
    for (uint32_t i = 0; i < w->frame_count; i++)
        if (w->frames[i].kind == kind && w->frames[i].op == op && strcmp(w->frames[i].name, name) == 0)
            return w->frames[i].id;
    uint32_t string = *name ? synth_add_string(w->build, name) : 0;
    struct sonde_row_frame row = {.kind = kind, .op = op, .name = kind == SONDE_FRAME_PYTHON ? 0 : string};
    if (kind == SONDE_FRAME_API && op == WAIT)
        row.op = 0, row.offset = SONDE_API_SLEEPS;
    if (kind == SONDE_FRAME_PYTHON) {
        struct sonde_row_pycode code = {
            .name = string,
            .file = synth_add_string(w->build, "/home/user/made.py"),
            .first_line = 1,
            .version = 0x30b,
        };
        row.module = (uint32_t)synth_add(w->build, SONDE_TABLE_PYCODE, 0, &code);
    }
    must(w->frame_count < MOST, "too many frames");
    w->frames[w->frame_count].kind = kind;
    w->frames[w->frame_count].op = op;
    snprintf(w->frames[w->frame_count].name, sizeof w->frames->name, "%s", name);
    return w->frames[w->frame_count++].id = (uint32_t)synth_add(w->build, SONDE_TABLE_FRAME, 0, &row);
}

static uint32_t node(struct written *w, uint32_t slot, uint32_t parent, uint32_t of)
{
    for (uint32_t i = 0; i < w->node_count; i++)
        if (w->nodes[i].slot == slot && w->nodes[i].parent == parent && w->nodes[i].frame == of)
            return w->nodes[i].id;
    struct sonde_row_node row = {parent, of};
    must(w->node_count < MOST, "too many nodes");
    w->nodes[w->node_count].slot = slot;
    w->nodes[w->node_count].parent = parent;
    w->nodes[w->node_count].frame = of;
    return w->nodes[w->node_count++].id = (uint32_t)synth_add(w->build, SONDE_TABLE_NODE, slot, &row);
}

static uint32_t function_node(struct written *w, uint32_t thread, const char *function)
{
    uint32_t at = node(w, thread, 0, frame(w, SONDE_FRAME_PYTHON, 0, "main"));
    return *function ? node(w, thread, at, frame(w, SONDE_FRAME_PYTHON, 0, function)) : at;
}

/* The profile must have what the trace names. */
static void account(struct written *w, uint32_t id, uint32_t lane, uint64_t ns, uint64_t bytes, uint32_t work)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        if (w->nodes[i].id != id)
            continue;
        if (!w->nodes[i].profile) {
            struct sonde_row_profile empty = {.node = id, .lane = lane, .min_ns = UINT64_MAX};
            w->nodes[i].profile = (uint32_t)synth_add(w->build, SONDE_TABLE_PROFILE, 0, &empty);
        }
        struct sonde_row_profile *row = synth_row(w->build, SONDE_TABLE_PROFILE, w->nodes[i].profile);
        row->count++;
        row->timed++;
        row->sum_ns += ns;
        row->bytes += bytes;
        row->work = work;
        row->min_ns = ns < row->min_ns ? ns : row->min_ns;
        row->max_ns = ns > row->max_ns ? ns : row->max_ns;
        return;
    }
}

/* ---- rows ----------------------------------------------------------------------------- */

static uint32_t add_call(struct written *w, uint32_t thread, const char *api, const char *function, uint64_t enter,
                         uint64_t leave, uint64_t correlation, uint32_t queue, bool missing)
{
    struct sonde_row_call row = {WRITTEN_START + enter, WRITTEN_START + leave, correlation, 0, queue};
    row.node = node(w, thread, function_node(w, thread, function), frame(w, SONDE_FRAME_API, 0, api));
    if (!missing)
        synth_add(w->build, SONDE_TABLE_CALL, thread, &row);
    account(w, row.node, 0, leave - enter, 0, 0);
    w->header.ledger.api_calls++;
    if (row.leave_ns > w->header.stop_ns)
        w->header.stop_ns = row.leave_ns;
    return row.node;
}

uint32_t written_call(struct written *w, uint32_t thread, const char *api, const char *function, uint64_t enter,
                      uint64_t leave)
{
    return add_call(w, thread, api, function, enter, leave, 0, 0, false);
}

static const char *api_for(uint16_t kind)
{
    switch (kind) {
    case SONDE_OP_READ: return "clEnqueueReadBuffer";
    case SONDE_OP_WRITE: return "clEnqueueWriteBuffer";
    case SONDE_OP_COPY: return "clEnqueueCopyBuffer";
    case SONDE_OP_BARRIER: return "clEnqueueBarrierWithWaitList";
    case SONDE_OP_MARKER: return "clEnqueueMarkerWithWaitList";
    default: return "clEnqueueNDRangeKernel";
    }
}

uint64_t written_op(struct written *w, const struct written_op *op)
{
    const uint64_t correlation = (uint64_t)op->thread << 40 | ++w->sequence;
    const uint32_t api = add_call(w, op->thread, op->api ? op->api : api_for(op->kind), op->function ? op->function : "",
                                  op->enter, op->leave, correlation, op->queue, op->no_call);
    struct sonde_row_op row = {
        .start_ns = WRITTEN_START + op->start,
        .end_ns = WRITTEN_START + op->end,
        .queued_ns = WRITTEN_START + op->enter,
        .submit_ns = WRITTEN_START + op->enter,
        .enter_ns = WRITTEN_START + op->enter,
        .bytes = op->bytes,
        .correlation = correlation,
        .kind = op->kind,
        .flags = op->flags,
        .object = op->object,
    };
    row.node = node(w, op->thread, api, frame(w, SONDE_FRAME_OP, op->kind, op->name ? op->name : ""));
    if (op->source || op->target || op->source_device || op->target_device) {
        struct sonde_row_work work = {
            .source = op->source,
            .target = op->target,
            .source_device = op->source_device,
            .target_device = op->target_device,
        };
        row.work = (uint32_t)synth_add(w->build, SONDE_TABLE_WORK, 0, &work);
    }
    synth_add(w->build, SONDE_TABLE_OP, op->queue, &row);
    account(w, row.node, op->queue, op->end - op->start, op->bytes, row.work);
    w->header.ledger.seen++;
    w->header.ledger.done++;
    if (row.end_ns > w->header.stop_ns)
        w->header.stop_ns = row.end_ns;
    return correlation;
}

uint32_t written_object(struct written *w, uint32_t thread, uint32_t kind, uint32_t device, const char *function, uint64_t bytes)
{
    const struct sonde_row_object row = {
        .kind = kind,
        .node = node(w, thread, function_node(w, thread, function), frame(w, SONDE_FRAME_API, 0, "clCreateBuffer")),
        .lane = thread,
        .bytes = bytes,
        .alloc_ns = WRITTEN_START + 1,
        .device = device,
    };
    account(w, row.node, 0, 1, 0, 0);
    return (uint32_t)synth_add(w->build, SONDE_TABLE_OBJECT, 0, &row);
}

void written_wait(struct written *w, uint32_t thread, uint64_t enter, uint64_t waiter, uint64_t awaited, uint32_t queue,
                  uint32_t device)
{
    struct sonde_row_wait row = {WRITTEN_START + enter, waiter, awaited, queue, device};
    synth_add(w->build, SONDE_TABLE_WAIT, thread, &row);
}

void written_pause(struct written *w, uint64_t from, uint64_t to)
{
    const struct sonde_row_pause row = {.from_ns = WRITTEN_START + from, .to_ns = WRITTEN_START + to};
    synth_add(w->build, SONDE_TABLE_PAUSE, 0, &row);
}

void written_sleep(struct written *w, uint32_t thread, uint64_t out, uint64_t in)
{
    struct sonde_row_switch row = {WRITTEN_START + out, WRITTEN_START + in, 0, 0};
    w->header.cpu_switches = 1;
    synth_add(w->build, SONDE_TABLE_SWITCH, thread, &row);
}

void written_nap(struct written *w, uint32_t thread, const char *function, uint64_t from, uint64_t to)
{
    struct sonde_row_sleep row = {.from_ns = WRITTEN_START + from, .to_ns = WRITTEN_START + to, .kind = SONDE_SLEEP_TIME};
    row.node = node(w, thread, function_node(w, thread, function), frame(w, SONDE_FRAME_API, WAIT, "nanosleep"));
    synth_add(w->build, SONDE_TABLE_SLEEP, thread, &row);
    account(w, row.node, 0, to - from, 0, 0);
}

void written_sample(struct written *w, uint32_t thread, const char *function, uint64_t at, uint64_t cpu_ns)
{
    struct sonde_row_sample row = {WRITTEN_START + at, cpu_ns, function_node(w, thread, function), 0};
    synth_add(w->build, SONDE_TABLE_SAMPLE, thread, &row);
    /* So that the context is known also where no call was made from it. */
    account(w, node(w, thread, row.node, frame(w, SONDE_FRAME_API, 0, "clGetPlatformIDs")), 0, 1, 0, 0);
}

/* ---- reading ---------------------------------------------------------------------------- */

struct sonde_measurement *written_open(struct written *w, struct sonde_profile **profile)
{
    struct sonde_diag diag = {0};
    must(synth_build_finish(w->build, &w->header) == 0, "cannot write");
    must(sonde_measurement_open(w->path, &w->m, &diag) == 0, "cannot open");
    must(sonde_profile_build(w->m, &w->profile, &diag) == 0, "no profile");
    *profile = w->profile;
    return w->m;
}

void written_close(struct written *w)
{
    sonde_profile_destroy(w->profile);
    sonde_measurement_close(w->m);
    free(w);
}

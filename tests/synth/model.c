/* model.c - a made-up program: threads that enqueue to in-order queues, every 1.5 us or so.
 *
 * The times follow what PoCL shows: an operation is queued just after its call
 * is entered, submitted a little later, and starts when the queue is free; all
 * with noise. Each thousandth operation of a thread is followed by clFinish.
 */
#include "synth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "format/writer.h"

enum { API_KERNEL = 1, API_READ, API_WRITE, API_FINISH, API_COUNT };
static const char *const api_names[API_COUNT] = {
    "", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clFinish" };

struct thread {
    uint32_t lane;
    uint32_t api_node[API_COUNT];
    uint32_t op_node[SYNTH_KERNELS + 2]; /* kernels, read, write */
    uint32_t api_profile[API_COUNT];
    uint64_t now_ns, made;
};

struct queue {
    uint32_t lane;
    uint64_t end_ns, seen;
};

struct span {
    uint64_t start_ns, end_ns;
    uint32_t group;
};

struct model {
    const struct synth_options *options;
    struct synth_totals *totals;
    struct synth_build *build;
    struct thread *threads;
    struct queue  *queues;
    uint32_t      *profiles; /* [thread][op node][queue]: id, 0 = none yet */
    struct span   *spans;
    uint32_t       kernel_names[SYNTH_KERNELS], work, object;
    uint64_t       random, made, calls;
    struct sonde_live_header header;
};

/* ---- noise -------------------------------------------------------------- */

static double uniform(struct model *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (double)(m->random >> 11) * 0x1p-53 + 0x1p-54;
}

static uint64_t exponential(struct model *m, double mean)
{
    return (uint64_t)(-mean * log(uniform(m)));
}

static uint64_t normal(struct model *m, double mean, double deviation)
{
    double v = mean + deviation * sqrt(-2 * log(uniform(m))) * cos(6.283185307179586 * uniform(m));
    return v < 1 ? 1 : (uint64_t)v;
}

/* ---- the profile -------------------------------------------------------- */

static void count_in_histogram(struct model *m, uint32_t profile, uint64_t ns)
{
    struct sonde_row_profile *row = synth_row(m->build, SONDE_TABLE_PROFILE, profile);
    unsigned octave = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
    unsigned part = octave >= 4 ? (unsigned)(ns >> (octave - 4)) & 15u : (unsigned)(ns << (4 - octave)) & 15u;
    uint32_t block;

    octave = octave > 39 ? 39 : octave;
    block = row->histogram[octave];
    if (!block) {
        struct sonde_row_histogram nothing = { { 0 } };
        block = (uint32_t)synth_add(m->build, SONDE_TABLE_HISTOGRAM, 0, &nothing);
        row = synth_row(m->build, SONDE_TABLE_PROFILE, profile);
        row->histogram[octave] = block;
    }
    ((struct sonde_row_histogram *)synth_row(m->build, SONDE_TABLE_HISTOGRAM, block))->count[part]++;
}

static void accumulate(struct model *m, uint32_t *profile, uint32_t node, uint32_t lane, uint64_t ns,
                       const struct sonde_row_op *op)
{
    struct sonde_row_profile *row;
    double distance;

    if (!*profile) {
        struct sonde_row_profile empty = { .node = node, .lane = lane, .min_ns = UINT64_MAX };
        *profile = (uint32_t)synth_add(m->build, SONDE_TABLE_PROFILE, 0, &empty);
    }
    row = synth_row(m->build, SONDE_TABLE_PROFILE, *profile);
    row->count++;
    row->timed++;
    row->sum_ns += ns;
    row->min_ns = ns < row->min_ns ? ns : row->min_ns;
    row->max_ns = ns > row->max_ns ? ns : row->max_ns;
    distance = (double)ns - row->mean_ns;
    row->mean_ns += distance / (double)row->timed;
    row->m2 += distance * ((double)ns - row->mean_ns);
    if (op) {
        row->bytes += op->bytes;
        row->work = op->work;
        row->enqueue_queued_ns += op->queued_ns - op->enter_ns;
        row->queued_submit_ns += op->submit_ns - op->queued_ns;
        row->submit_start_ns += op->start_ns - op->submit_ns;
    }
    count_in_histogram(m, *profile, ns);
}

/* ---- operations --------------------------------------------------------- */

static void add_totals(struct model *m, const struct sonde_row_op *op, uint32_t kernel)
{
    struct synth_totals *t = m->totals;
    uint64_t ns = op->end_ns - op->start_ns;

    t->seen++;
    t->operations[op->kind]++;
    t->kind_ns[op->kind] += ns;
    t->kind_bytes[op->kind] += op->bytes;
    t->start_ns = op->start_ns < t->start_ns ? op->start_ns : t->start_ns;
    t->end_ns = op->end_ns > t->end_ns ? op->end_ns : t->end_ns;
    if (op->kind != SONDE_OP_KERNEL)
        return;
    t->kernels[kernel].count++;
    t->kernels[kernel].total_ns += ns;
    t->kernels[kernel].min_ns = ns < t->kernels[kernel].min_ns ? ns : t->kernels[kernel].min_ns;
    t->kernels[kernel].max_ns = ns > t->kernels[kernel].max_ns ? ns : t->kernels[kernel].max_ns;
}

static void add_call(struct model *m, struct thread *t, uint32_t api, uint64_t enter, uint64_t leave,
                     uint64_t correlation, uint32_t lane)
{
    struct sonde_row_call call = { enter, leave, correlation, t->api_node[api], lane };
    m->totals->calls++;
    m->calls++;
    m->totals->api_ns += leave - enter;
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_CALL, t->lane, &call);
    accumulate(m, &t->api_profile[api], t->api_node[api], 0, leave - enter, NULL);
}

/* Which operation comes next: mostly kernels; a batch begins with a write and ends with a read. */
static uint32_t choose(const struct thread *t)
{
    return t->made % 1000 == 0 ? SYNTH_KERNELS + 1 : t->made % 1000 == 999 ? SYNTH_KERNELS
                                                                           : (uint32_t)(t->made / 100) % SYNTH_KERNELS;
}

static void make_operation(struct model *m)
{
    struct thread *t = &m->threads[m->made % m->options->threads];
    struct queue *q = &m->queues[m->made / m->options->threads % m->options->lanes];
    uint32_t what = choose(t), kernel = what < SYNTH_KERNELS ? what : 0;
    struct sonde_row_op op = { .correlation = m->made + 1, .node = t->op_node[what] };
    uint64_t leave;

    op.kind = what < SYNTH_KERNELS ? SONDE_OP_KERNEL : what == SYNTH_KERNELS ? SONDE_OP_READ : SONDE_OP_WRITE;
    op.work = what < SYNTH_KERNELS ? m->work : 0;
    op.object = what < SYNTH_KERNELS ? 0 : m->object;
    op.bytes = what < SYNTH_KERNELS ? 0 : 1 << 16;
    op.enter_ns = t->now_ns;
    op.queued_ns = op.enter_ns + 180 + exponential(m, 20);
    op.submit_ns = op.queued_ns + 240 + exponential(m, 30);
    op.start_ns = (op.submit_ns > q->end_ns ? op.submit_ns : q->end_ns) + 150 + exponential(m, 60);
    op.end_ns = op.start_ns + normal(m, 500 + 200 * what, 60) + exponential(m, 40);
    leave = op.submit_ns + 300 + exponential(m, 60);
    add_call(m, t, what < SYNTH_KERNELS ? API_KERNEL : what == SYNTH_KERNELS ? API_READ : API_WRITE,
             op.enter_ns, leave, op.correlation, q->lane);
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_OP, q->lane, &op);
    accumulate(m, &m->profiles[((t - m->threads) * (SYNTH_KERNELS + 2) + what) * m->options->lanes + (q - m->queues)],
               op.node, q->lane, op.end_ns - op.start_ns, &op);
    add_totals(m, &op, kernel);
    m->spans[m->made] = (struct span){ op.start_ns, op.end_ns, op.kind == SONDE_OP_KERNEL };
    q->end_ns = op.end_ns;
    q->seen++;
    t->now_ns = leave + 250 + normal(m, 600, 120) + exponential(m, 60);
    m->made++;
    if (++t->made % 1000 == 0) {
        uint64_t enter = t->now_ns, done = (q->end_ns > enter ? q->end_ns : enter) + 2000 + exponential(m, 500);
        add_call(m, t, API_FINISH, enter, done, 0, q->lane);
        t->now_ns = done + 500 + exponential(m, 200);
    }
}

/* ---- the program around them -------------------------------------------- */

static uint32_t add_frame(struct model *m, enum sonde_frame_kind kind, enum sonde_op_kind op, uint32_t module,
                          uint64_t offset, uint32_t name)
{
    struct sonde_row_frame row = { (uint16_t)kind, (uint16_t)op, module, offset, name, 0 };
    return (uint32_t)synth_add(m->build, SONDE_TABLE_FRAME, 0, &row);
}

static uint32_t add_node(struct model *m, uint32_t slot, uint32_t parent, uint32_t frame)
{
    struct sonde_row_node row = { parent, frame };
    return (uint32_t)synth_add(m->build, SONDE_TABLE_NODE, slot, &row);
}

static void add_device(struct model *m)
{
    struct sonde_row_device device = { .platform = synth_add_string(m->build, "Synthetic Platform"),
                                       .name = synth_add_string(m->build, "Synthetic Device"),
                                       .vendor = synth_add_string(m->build, "nobody"),
                                       .driver = synth_add_string(m->build, "1.0"), .kind = 2,
                                       .backend = synth_add_string(m->build, "opencl"), .memory_bytes = 1ull << 34 };
    struct sonde_row_work work = { .dims = 1, .global = { 65536, 1, 1 }, .local = { 256, 1, 1 } };
    struct sonde_row_clock clock = { .device = 1, .host_ns = m->header.start_ns, .device_ns = m->header.start_ns };

    synth_add(m->build, SONDE_TABLE_DEVICE, 0, &device);
    m->work = (uint32_t)synth_add(m->build, SONDE_TABLE_WORK, 0, &work);
    synth_add(m->build, SONDE_TABLE_CLOCK, 0, &clock);
}

/* main -> step -> the API calls -> their operations, per thread. */
static void add_contexts(struct model *m)
{
    struct sonde_row_module module = { .path = synth_add_string(m->build, "/usr/bin/synthetic"),
                                       .base = 0x550000000000, .start = 0x550000001000, .end = 0x550000009000 };
    uint32_t file = (uint32_t)synth_add(m->build, SONDE_TABLE_MODULE, 0, &module);
    uint32_t main_frame = add_frame(m, SONDE_FRAME_NATIVE, SONDE_OP_NONE, file, 0x1140, 0);
    uint32_t step_frame = add_frame(m, SONDE_FRAME_NATIVE, SONDE_OP_NONE, file, 0x1280, 0);
    uint32_t api_frames[API_COUNT], op_frames[SYNTH_KERNELS + 2];

    for (uint32_t i = 1; i < API_COUNT; i++)
        api_frames[i] = add_frame(m, SONDE_FRAME_API, SONDE_OP_NONE, 0, i, synth_add_string(m->build, api_names[i]));
    for (uint32_t i = 0; i < SYNTH_KERNELS; i++) {
        m->kernel_names[i] = synth_add_string(m->build, m->totals->kernels[i].name);
        op_frames[i] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_KERNEL, 0, 0, m->kernel_names[i]);
    }
    op_frames[SYNTH_KERNELS] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_READ, 0, 0, 0);
    op_frames[SYNTH_KERNELS + 1] = add_frame(m, SONDE_FRAME_OP, SONDE_OP_WRITE, 0, 0, 0);
    for (uint32_t i = 0; i < m->options->threads; i++) {
        struct thread *t = &m->threads[i];
        uint32_t step = add_node(m, i + 1, add_node(m, i + 1, 0, main_frame), step_frame);
        for (uint32_t k = 1; k < API_COUNT; k++)
            t->api_node[k] = add_node(m, i + 1, step, api_frames[k]);
        for (uint32_t k = 0; k < SYNTH_KERNELS + 2; k++) {
            uint32_t api = k < SYNTH_KERNELS ? API_KERNEL : k == SYNTH_KERNELS ? API_READ : API_WRITE;
            t->op_node[k] = add_node(m, i + 1, t->api_node[api], op_frames[k]);
        }
    }
}

static void add_lanes(struct model *m)
{
    for (uint32_t i = 0; i < m->options->threads; i++) {
        struct sonde_row_lane lane = { .kind = SONDE_LANE_KIND_THREAD, .tid = m->header.pid + i, .threads = 1,
                                       .start_ns = m->header.start_ns };
        m->threads[i].lane = (uint32_t)synth_add(m->build, SONDE_TABLE_LANE, 0, &lane);
        m->threads[i].now_ns = m->header.start_ns + 1000000 + i * 100;
    }
    for (uint32_t i = 0; i < m->options->lanes; i++) {
        struct sonde_row_lane lane = { .kind = SONDE_LANE_KIND_QUEUE, .device = 1, .context = 1,
                                       .start_ns = m->header.start_ns };
        m->queues[i].lane = (uint32_t)synth_add(m->build, SONDE_TABLE_LANE, 0, &lane);
    }
    struct sonde_row_object object = { .kind = SONDE_OBJECT_BUFFER, .node = m->threads[0].api_node[API_WRITE],
                                       .lane = m->threads[0].lane, .bytes = 1 << 16, .address = 0x7f0000000000,
                                       .alloc_ns = m->header.start_ns };
    m->object = (uint32_t)synth_add(m->build, SONDE_TABLE_OBJECT, 0, &object);
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Length of the union of the spans of one group; 2 = all. */
static uint64_t union_ns(const struct span *spans, uint64_t count, uint32_t group)
{
    uint64_t end = 0, sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if ((group != 2 && spans[i].group != group) || spans[i].end_ns <= end)
            continue;
        sum += spans[i].end_ns - (spans[i].start_ns > end ? spans[i].start_ns : end);
        end = spans[i].end_ns;
    }
    return sum;
}

static void finish_header(struct model *m)
{
    struct sonde_live_header *h = &m->header;
    uint64_t last = h->start_ns;

    qsort(m->spans, m->made, sizeof *m->spans, compare_spans);
    for (uint32_t i = 0; i < m->options->threads; i++)
        last = m->threads[i].now_ns > last ? m->threads[i].now_ns : last;
    for (uint32_t i = 0; i < m->options->lanes; i++) {
        struct sonde_row_lane *lane = synth_row(m->build, SONDE_TABLE_LANE, m->queues[i].lane);
        lane->seen = lane->done = m->queues[i].seen;
        last = m->queues[i].end_ns > last ? m->queues[i].end_ns : last;
    }
    h->device_busy[1].count = m->made;
    h->device_busy[1].busy_ns = union_ns(m->spans, m->made, 2);
    h->device_busy[1].first_ns = m->made ? m->spans[0].start_ns : 0;
    for (uint64_t i = 0; i < m->made; i++)
        if (m->spans[i].end_ns > h->device_busy[1].last_ns)
            h->device_busy[1].last_ns = m->spans[i].end_ns;
    h->device_group[1].kernel_ns = union_ns(m->spans, m->made, 1);
    h->device_group[1].copy_ns = union_ns(m->spans, m->made, 0);
    h->ledger.seen = h->ledger.done = m->made;
    h->ledger.api_calls = m->calls;
    h->ledger.unwinds = m->calls;
    h->ledger.hook_ns = m->calls * 100;
    h->ledger.thread_cpu_ns = m->made * 50;
    h->stop_ns = last + 1000;
    h->state = m->options->unsealed ? SONDE_PROCESS_RUNNING : SONDE_PROCESS_EXITED;
    m->totals->device_busy_ns += h->device_busy[1].busy_ns;
}

/* What record adds after the run. */
static int add_symbols(const char *dir, uint32_t string, struct sonde_diag *diag)
{
    static const char *const texts[] = { "main", "step", "synthetic.c", "synthetic" };
    uint8_t strings[256] = { 0 };
    uint32_t at = 0;
    struct sonde_row_symbol rows[] = {
        { 1, 0, string, string + 2, 42, string + 3 }, { 2, 0, string + 1, string + 2, 17, string + 3 } };

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t length = (uint32_t)strlen(texts[i]);
        memcpy(strings + at, &length, 4);
        memcpy(strings + at + 4, texts[i], length);
        at += 4 + ((length + 3) & ~3u);
    }
    int status = sonde_process_append(dir, SONDE_TABLE_STRING, string, strings, at, diag);
    return status ? status : sonde_process_append(dir, SONDE_TABLE_SYMBOL, 0, rows, 2, diag);
}

static int write_process(struct model *m, const char *dir, uint32_t number, struct sonde_diag *diag)
{
    const struct synth_options *o = m->options;
    uint32_t next_string;
    int status;

    m->header = (struct sonde_live_header){ .pid = 1000000000 + number, .trace = !o->profile,
                                            .start_ns = 5000000000 + number * 1000000ull, .wall_offset_ns = 1700000000000000000 };
    m->header.exec_ns = m->header.start_ns - 1000000;
    snprintf(m->header.executable, sizeof m->header.executable, "/usr/bin/synthetic");
    m->threads = calloc(o->threads, sizeof *m->threads);
    m->queues = calloc(o->lanes, sizeof *m->queues);
    m->profiles = calloc((size_t)o->threads * o->lanes * (SYNTH_KERNELS + 2), sizeof *m->profiles);
    m->spans = malloc((o->operations + 1) * sizeof *m->spans);
    m->build = synth_build_create(dir);
    m->made = m->calls = 0;
    add_device(m);
    add_contexts(m);
    add_lanes(m);
    while (m->made < o->operations)
        make_operation(m);
    finish_header(m);
    next_string = synth_next_id(m->build, SONDE_TABLE_STRING);
    status = synth_build_finish(m->build, &m->header);
    if (!status && !o->unsealed)
        status = sonde_process_seal(dir, diag);
    if (!status && !o->unsealed)
        status = add_symbols(dir, next_string, diag);
    free(m->threads);
    free(m->queues);
    free(m->profiles);
    free(m->spans);
    return status;
}

static int write_manifest(const char *path)
{
    char file[4200];
    json_t *manifest = json_pack("{s:s, s:i, s:s, s:[s], s:s, s:I, s:I}", "format", "sonde", "format_version",
                                 (int)SONDE_FORMAT_VERSION, "sonde_version", SONDE_VERSION, "command", "synthetic",
                                 "program", "/usr/bin/synthetic", "start_ns", (json_int_t)4000000000, "end_ns", (json_int_t)0);
    snprintf(file, sizeof file, "%s/manifest.json", path);
    int status = manifest && !json_dump_file(manifest, file, JSON_INDENT(1)) ? 0 : SONDE_EIO;
    json_decref(manifest);
    return status;
}

static uint64_t file_bytes(const char *dir, const char *name)
{
    char file[4200];
    struct stat st;
    snprintf(file, sizeof file, "%s/%s", dir, name);
    return stat(file, &st) ? 0 : (uint64_t)st.st_size;
}

int synth_write(const char *path, const struct synth_options *options, struct synth_totals *totals,
                struct sonde_diag *diag)
{
    struct model m = { .options = options, .totals = totals, .random = options->seed * 0x9e3779b97f4a7c15 + 88172645463325252 };
    char dir[4096];
    int status = mkdir(path, 0777) ? sonde_diag_set(diag, SONDE_EEXISTS, path, "cannot make the directory") : 0;

    memset(totals, 0, sizeof *totals);
    totals->start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < SYNTH_KERNELS; i++) {
        snprintf(totals->kernels[i].name, sizeof totals->kernels[i].name, "kernel_%c", "abcd"[i]);
        totals->kernels[i].min_ns = UINT64_MAX;
    }
    if (!status)
        status = write_manifest(path);
    for (uint32_t i = 0; i < options->processes && !status; i++) {
        snprintf(dir, sizeof dir, "%.4000s/synth-%u-1", path, 1000000000 + i);
        status = mkdir(dir, 0777) ? SONDE_EIO : write_process(&m, dir, i, diag);
        totals->disk_bytes += file_bytes(dir, "data.sonde") + file_bytes(dir, "live.sonde");
    }
    return status;
}

/* model.c - a made-up program's run: threads that enqueue to in-order queues, every 1.5 us or so.
 *
 * The times follow what PoCL shows: an operation is queued just after its call
 * is entered, submitted a little later, and starts when the queue is free; all
 * with noise. Each thousandth operation of a thread is followed by clFinish.
 */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/writer.h"

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
        struct sonde_row_histogram nothing = {{0}};
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
        struct sonde_row_profile empty = {.node = node, .lane = lane, .min_ns = UINT64_MAX};
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

/* ---- the CPU side ------------------------------------------------------- */

/* The thread was on the CPU from `from` to `to`, within a call (API_*) or, 0, in its function. */
static void spend(struct model *m, struct thread *t, struct path *p, uint32_t api, uint64_t from, uint64_t to)
{
    const uint64_t period = m->options->cpu_hz ? 1000000000u / m->options->cpu_hz : 0;
    uint32_t node = api ? p->api_node[api] : p->node;

    if (!period)
        return;
    for (; t->to_sample_ns <= to - from; t->to_sample_ns = period) {
        struct sonde_row_sample sample = {.time_ns = from += t->to_sample_ns, .cpu_ns = period, .node = node};
        if (!m->options->profile)
            synth_add(m->build, SONDE_TABLE_SAMPLE, t->lane, &sample);
        accumulate(m, &p->cpu_profile[api], node, t->lane, period, NULL);
        m->totals->samples++;
        m->header.cpu.samples++;
    }
    t->to_sample_ns -= to - from;
}

/* It waited in clFinish from `from` to `to`. */
static void rest(struct model *m, struct thread *t, uint64_t from, uint64_t to)
{
    struct sonde_row_switch away = {.out_ns = from, .in_ns = to};

    if (!m->options->cpu_hz)
        return;
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_SWITCH, t->lane, &away);
    m->totals->switches++;
    m->totals->off_ns += to - from;
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

static void add_call(struct model *m, struct thread *t, struct path *p, uint32_t api, uint64_t enter, uint64_t leave,
                     uint64_t correlation, uint32_t lane)
{
    struct sonde_row_call call = {enter, leave, correlation, p->api_node[api], lane};
    m->totals->calls++;
    m->calls++;
    m->totals->api_ns += leave - enter;
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_CALL, t->lane, &call);
    accumulate(m, &p->api_profile[api], p->api_node[api], 0, leave - enter, NULL);
}

static void add_wait(struct model *m, const struct thread *t, uint64_t enter, uint64_t waiter, uint64_t awaited,
                     uint32_t lane)
{
    struct sonde_row_wait wait = {enter, waiter, awaited, lane, 0};
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_WAIT, t->lane, &wait);
    m->totals->waits++;
}

/* Which operation comes next: mostly kernels; a batch begins with a write and ends with a read. */
static uint32_t choose(const struct thread *t)
{
    return t->made % 1000 == 0 ? SYNTH_KERNELS + 1 : t->made % 1000 == 999 ? SYNTH_KERNELS
                                                                           : (uint32_t)(t->made / 100) % SYNTH_KERNELS;
}

/* Its queues one after the other, each with a few of the paths. */
static struct queue *choose_queue(const struct model *m, const struct thread *t)
{
    const struct synth_options *o = m->options;
    return &m->queues[m->made / o->threads % (o->lanes / o->devices) * o->devices + t->device - 1];
}

static struct path *choose_path(const struct model *m, const struct thread *t, const struct queue *q)
{
    return &t->paths[((uint64_t)(q - m->queues) + t->made / 100 % SYNTH_KERNELS * 17) % m->options->paths];
}

/* Waits that are not the queue's own order: every so often for the thread's operation before this one. */
static uint64_t wait_for_last(struct model *m, struct thread *t, uint64_t correlation)
{
    const uint32_t every = m->options->waits;
    if (!every || !t->last_correlation || t->made % every)
        return 0;
    add_wait(m, t, t->now_ns, correlation, t->last_correlation, 0);
    return t->last_end_ns;
}

/* clFinish, and what the program computes between batches. */
static void finish_batch(struct model *m, struct thread *t, struct path *p, struct queue *q)
{
    uint64_t enter = t->now_ns, done = (q->end_ns > enter ? q->end_ns : enter) + 2000 + exponential(m, 500);

    add_call(m, t, p, API_FINISH, enter, done, 0, q->lane);
    if (m->options->waits)
        add_wait(m, t, enter, 0, 0, q->lane);
    spend(m, t, p, API_FINISH, enter, enter + 400);
    rest(m, t, enter + 400, done - 300);
    spend(m, t, p, API_FINISH, done - 300, done);
    t->now_ns = done + 500 + exponential(m, 200);
    if (m->options->compute_ns && !m->options->messages)
        t->now_ns += exponential(m, (double)m->options->compute_ns);
    spend(m, t, p, 0, done, t->now_ns);
}

/* Nothing later starts on the device before the first of its threads goes on. */
static void count_busy(struct model *m, const struct sonde_row_op *op, uint32_t device)
{
    uint64_t settled = UINT64_MAX;

    synth_busy_add(m->busy[device], op->start_ns, op->end_ns, op->kind == SONDE_OP_KERNEL);
    if (!synth_busy_full(m->busy[device]))
        return;
    for (uint32_t i = device - 1; i < m->options->threads; i += m->options->devices)
        settled = m->threads[i].now_ns < settled ? m->threads[i].now_ns : settled;
    synth_busy_settle(m->busy[device], settled);
}

/* The device's times of an operation that may begin at `free_ns` at the earliest. */
static void make_times(struct model *m, struct sonde_row_op *op, uint32_t what, uint64_t free_ns)
{
    op->queued_ns = op->enter_ns + 180 + exponential(m, 20);
    op->submit_ns = op->queued_ns + 240 + exponential(m, 30);
    op->start_ns = (op->submit_ns > free_ns ? op->submit_ns : free_ns) + 150 + exponential(m, 60);
    op->end_ns = op->start_ns + normal(m, 500 + 200 * what, 60) + exponential(m, 40);
}

static void make_operation(struct model *m)
{
    struct thread *t = &m->threads[m->made % m->options->threads];
    struct queue *q = choose_queue(m, t);
    struct path *p = choose_path(m, t, q);
    uint32_t what = choose(t), kernel = what < SYNTH_KERNELS ? what : 0;
    uint32_t api = what < SYNTH_KERNELS ? API_KERNEL : (what == SYNTH_KERNELS ? API_READ : API_WRITE);
    struct sonde_row_op op = {.enter_ns = t->now_ns, .correlation = m->made + 1, .node = p->op_node[what]};
    uint64_t leave, awaited_ns = wait_for_last(m, t, op.correlation);
    size_t profile = (((size_t)(t - m->threads) * m->options->paths + (size_t)(p - t->paths)) * OPS + what) *
                         m->options->lanes +
                     (size_t)(q - m->queues);

    op.kind = what < SYNTH_KERNELS ? SONDE_OP_KERNEL : (what == SYNTH_KERNELS ? SONDE_OP_READ : SONDE_OP_WRITE);
    op.work = what < SYNTH_KERNELS ? m->work : 0;
    op.object = what < SYNTH_KERNELS ? 0 : m->object;
    op.bytes = what < SYNTH_KERNELS ? 0 : 1 << 16;
    make_times(m, &op, what, awaited_ns > q->end_ns ? awaited_ns : q->end_ns);
    leave = op.submit_ns + 300 + exponential(m, 60);
    add_call(m, t, p, api, op.enter_ns, leave, op.correlation, q->lane);
    if (!m->options->profile)
        synth_add(m->build, SONDE_TABLE_OP, q->lane, &op);
    accumulate(m, &m->profiles[profile], op.node, q->lane, op.end_ns - op.start_ns, &op);
    add_totals(m, &op, kernel);
    count_busy(m, &op, t->device);
    q->end_ns = t->last_end_ns = op.end_ns;
    t->last_correlation = op.correlation;
    q->seen++;
    t->now_ns = leave + 250 + normal(m, 600, 120) + exponential(m, 60);
    spend(m, t, p, api, op.enter_ns, leave);
    spend(m, t, p, 0, leave, t->now_ns);
    m->made++;
    if (++t->made % 1000 == 0)
        finish_batch(m, t, p, q);
}

/* ---- steps with messages ------------------------------------------------ */

/* The first thread computes until it is ready, and is off the CPU while it waits; the others wait for it. */
static int end_step(struct model *m, uint32_t step)
{
    const uint64_t ready_ns = synth_ready_ns(m, step), next_ns = synth_next_ns(m, step);

    for (uint32_t i = 0; i < m->options->threads; i++) {
        struct thread *t = &m->threads[i];
        if (t->now_ns > ready_ns)
            return SONDE_EINVALID; /* a step is not as long as what is done in it */
        if (i == 0)
            spend(m, t, &t->paths[m->options->paths - 1], 0, t->now_ns, ready_ns);
        rest(m, t, i == 0 ? ready_ns : t->now_ns, next_ns);
        t->now_ns = next_ns;
    }
    synth_messages_step(m, step);
    return 0;
}

static int run(struct model *m)
{
    const struct synth_options *o = m->options;
    const uint64_t each = (uint64_t)o->messages * o->threads;
    int status = 0;

    while (m->made < o->operations && !status) {
        make_operation(m);
        if (each && m->made % each == 0)
            status = end_step(m, (uint32_t)(m->made / each) - 1);
    }
    return status;
}

/* ---- a process ---------------------------------------------------------- */

uint64_t synth_start_ns(const struct synth_options *o, uint32_t number)
{
    return 5000000000 + number * (o->messages ? 1000ull : 1000000ull);
}

static void finish_devices(struct model *m)
{
    struct sonde_live_header *h = &m->header;

    for (uint32_t i = 1; i <= m->options->devices; i++) {
        struct synth_busy_sums sums;
        synth_busy_finish(m->busy[i], &sums);
        h->device_busy[i].count = sums.count;
        h->device_busy[i].busy_ns = sums.busy_ns;
        h->device_busy[i].first_ns = sums.first_ns;
        h->device_busy[i].last_ns = sums.last_ns;
        h->device_group[i].kernel_ns = sums.kernel_ns;
        h->device_group[i].copy_ns = sums.copy_ns;
        m->totals->device_busy_ns += sums.busy_ns;
    }
}

static void finish_header(struct model *m)
{
    struct sonde_live_header *h = &m->header;
    uint64_t last = h->start_ns;

    finish_devices(m);
    for (uint32_t i = 0; i < m->options->threads; i++)
        last = m->threads[i].now_ns > last ? m->threads[i].now_ns : last;
    for (uint32_t i = 0; i < m->options->lanes; i++) {
        struct sonde_row_lane *lane = synth_row(m->build, SONDE_TABLE_LANE, m->queues[i].lane);
        lane->seen = lane->done = m->queues[i].seen;
        last = m->queues[i].end_ns > last ? m->queues[i].end_ns : last;
    }
    h->ledger.seen = h->ledger.done = m->made;
    h->ledger.api_calls = m->calls;
    h->ledger.unwinds = m->calls;
    h->ledger.hook_ns = m->calls * 100;
    h->ledger.thread_cpu_ns = m->made * 50;
    h->stop_ns = last + 1000;
    h->state = m->options->unsealed ? SONDE_PROCESS_RUNNING : SONDE_PROCESS_EXITED;
    if (m->options->cpu_hz) {
        h->cpu_rate_hz = m->options->cpu_hz;
        h->cpu_sampling = SONDE_CPU_PERF;
        h->cpu_switches = 1;
        h->cpu.threads = m->options->threads;
    }
}

static int write_process(struct model *m, const char *dir, uint32_t number, struct sonde_diag *diag)
{
    const struct synth_options *o = m->options;
    uint32_t next_string;
    int status;

    m->header = (struct sonde_live_header){
        .pid = 1000000000 + number,
        .rank = m->options->ranks ? number + 1 : 0,
        .local_rank = m->options->ranks ? number + 1 : 0,
        .rank_count = m->options->ranks ? m->options->processes : 0,
        .trace = !o->profile,
        .start_ns = synth_clock_ns(o, number, synth_start_ns(o, number)),
        .wall_offset_ns = synth_wall_offset_ns(o, number),
    };
    m->rank = number;
    m->header.exec_ns = m->header.start_ns - 1000000;
    snprintf(m->header.executable, sizeof m->header.executable, "/usr/bin/synthetic");
    m->build = synth_build_create(dir);
    m->made = m->calls = 0;
    synth_program_make(m);
    status = run(m);
    finish_header(m);
    next_string = synth_next_id(m->build, SONDE_TABLE_STRING);
    status = synth_build_finish(m->build, &m->header) ? SONDE_EIO : status;
    if (!status && !o->unsealed)
        status = sonde_process_seal(dir, diag);
    if (!status && !o->unsealed)
        status = synth_program_symbols(m, dir, next_string, diag);
    synth_program_free(m);
    return status;
}

static uint64_t file_bytes(const char *dir, const char *name)
{
    char file[4200];
    struct stat st;
    snprintf(file, sizeof file, "%s/%s", dir, name);
    return stat(file, &st) ? 0 : (uint64_t)st.st_size;
}

/* What is left out is as small as it can be. */
static struct synth_options complete(const struct synth_options *options)
{
    struct synth_options o = *options;
    o.devices = o.devices ? o.devices : 1;
    o.paths = o.paths ? o.paths : 1;
    o.depth = o.depth ? o.depth : 2;
    return o;
}

static void name_folder(char *dir, size_t size, const char *path, const struct synth_options *o, uint32_t number)
{
    char host[16] = "";
    if (o->hosts)
        snprintf(host, sizeof host, "%03u", synth_host(o, number));
    snprintf(dir, size, "%.4000s/synth%s-%u-1", path, host, 1000000000 + number);
}

int synth_write(const char *path, const struct synth_options *options, struct synth_totals *totals,
                struct sonde_diag *diag)
{
    const struct synth_options o = complete(options);
    struct model m = {.options = &o, .totals = totals, .random = o.seed * 0x9e3779b97f4a7c15 + 88172645463325252};
    char dir[4096];
    int status = mkdir(path, 0777) ? sonde_diag_set(diag, SONDE_EEXISTS, path, "cannot make the directory") : 0;

    memset(totals, 0, sizeof *totals);
    totals->start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < SYNTH_KERNELS; i++) {
        snprintf(totals->kernels[i].name, sizeof totals->kernels[i].name, "kernel_%c", "abcd"[i]);
        totals->kernels[i].min_ns = UINT64_MAX;
    }
    if (!status)
        status = o.lanes < o.devices || o.threads < o.devices || o.devices > 62 || (o.messages && (!o.ranks || o.processes < 2))
                     ? SONDE_EINVALID
                     : synth_manifest_write(path);
    if (!status && o.messages)
        status = synth_messages_plan(&m);
    for (uint32_t i = 0; i < o.processes && !status; i++) {
        name_folder(dir, sizeof dir, path, &o, i);
        status = mkdir(dir, 0777) ? SONDE_EIO : write_process(&m, dir, i, diag);
        totals->disk_bytes += file_bytes(dir, "data.sonde") + file_bytes(dir, "live.sonde");
    }
    free(m.steps);
    return status;
}

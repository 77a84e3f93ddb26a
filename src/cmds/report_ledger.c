/* report_ledger.c - the view `ledger`: what the measurement holds, what it lacks and why,
 * and what measuring cost. Every field of struct sonde_ledger is shown. */
#include <stdio.h>

#include "report.h"

static uint64_t agent_ns(const struct sonde_totals *t)
{
    return t->ledger.hook_ns + t->ledger.thread_cpu_ns;
}

static void line(struct table *t, const char *name, uint64_t n, const char *note)
{
    table_cell(t, name);
    table_count(t, n);
    table_cell(t, note);
}

static void time_line(struct table *t, const char *name, uint64_t ns, double wall, const char *note)
{
    char share[SONDE_NUMBER_MAX];
    struct sonde_text text = {0};
    table_cell(t, name);
    table_time(t, true, (double)ns);
    sonde_text_format(&text, "%s of the run; %s", sonde_number_percent(share, (double)ns, wall), note);
    table_cell(t, sonde_text_get(&text));
    sonde_text_fini(&text);
}

static void operations_part(struct table *t, const struct report *r)
{
    const struct sonde_totals *s = &r->q.totals;
    line(t, "operations seen", s->ledger.seen, "enqueued by the program while recording");
    line(t, "finished", s->ledger.done, "of these, in the profile");
    line(t, "failed", s->ledger.failed, "of the finished, ended with an error status");
    line(t, "without times", s->ledger.no_times, "of the finished, the runtime gave none");
    line(t, "bad times", s->ledger.bad_time, "zero, reversed, or before their API call");
    line(t, "early within the bound", s->ledger.early_in_bound, "began before the API call, within the clock's bound");
    line(t, "unmatched", s->ledger.unmatched, "completions without a submission, or the reverse");
    line(t, "in flight", s->in_flight, "not finished when the program ended");
    if (s->ledger.unplaced)
        line(t, "unplaced", s->ledger.unplaced, "reported by the runtime, made by no call that is known; in no other figure");
    if (s->ledger.silent_launches)
        line(t, "silent launches", s->ledger.silent_launches, "of graphs or batches: nothing was reported of them");
    line(t, "dropped", s->dropped_operations, "in no figure of this measurement");
    line(t, "missing in the trace", s->dropped_trace_rows, "in the profile only");
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        if (s->ledger.dropped[cause])
            line(t, sonde_drop_name(cause), s->ledger.dropped[cause],
                 sonde_drop_loses_operation(cause) ? "cause: operation dropped" : "cause: trace row dropped");
    line(t, "API calls", s->ledger.api_calls, "of the GPU runtime, hooked");
    if (s->ledger.calls_dropped)
        line(t, "API calls dropped", s->ledger.calls_dropped, "of these, in no figure: no room, or after the final flush");
    if (s->ledger.call_rows_dropped)
        line(t, "API calls not traced", s->ledger.call_rows_dropped, "of these, in the profile only");
    if (s->ledger.range_rows_dropped)
        line(t, "ranges not traced", s->ledger.range_rows_dropped, "named by the program; no room, or the disk was full");
}

static void stacks_part(struct table *t, const struct report *r)
{
    const struct sonde_ledger *l = &r->q.totals.ledger;
    line(t, "stacks", l->unwinds, "walked");
    line(t, "incomplete", l->unwind_failed, "outer frames could not be found");
    line(t, "cut", l->unwind_truncated, "deeper than the limit");
    line(t, "checked", l->unwind_checked, "walked again in full");
    line(t, "mismatched", l->unwind_mismatched, "of the checked, differed");
    line(t, "Python stacks", l->python_walks, "walked");
    line(t, "Python failed", l->python_failed, "did not fit");
    line(t, "contexts folded", l->contexts_folded, "into their parent: the memory budget was spent");
    line(t, "contexts lost", r->q.profile->unknown_nodes, "with a damaged part of the file");
}

/* Sums over the processes; `sampling` and `rate_hz` are of the first that was sampled. */
struct cpu_side {
    struct sonde_cpu_ledger sum;
    uint32_t sampling, rate_hz, sampled, with_switches; /* the last two: processes */
};

static struct cpu_side cpu_side_of(const struct report *r)
{
    struct cpu_side c = {0};
    for (uint32_t i = 0; i < r->q.m->process_count; i++) {
        const struct sonde_live_header *h = &r->q.m->processes[i].header;
        if (h->cpu_sampling == SONDE_CPU_NONE)
            continue;
        c.sampling = c.sampling ? c.sampling : h->cpu_sampling;
        c.rate_hz = c.rate_hz ? c.rate_hz : h->cpu_rate_hz;
        c.sampled++;
        c.with_switches += h->cpu_switches != 0;
        c.sum.samples += h->cpu.samples;
        c.sum.deferred += h->cpu.deferred;
        c.sum.lost += h->cpu.lost;
        c.sum.sample_rows_dropped += h->cpu.sample_rows_dropped;
        c.sum.switch_rows_dropped += h->cpu.switch_rows_dropped;
        c.sum.threads += h->cpu.threads;
        c.sum.threads_missed += h->cpu.threads_missed;
        c.sum.handler_ns += h->cpu.handler_ns;
        c.sum.process_ns += h->cpu.process_ns;
        c.sum.sampled_ns += h->cpu.sampled_ns;
    }
    return c;
}

static uint64_t unsampled_ns(const struct cpu_side *c)
{
    const uint64_t known = c->sum.sampled_ns + c->sum.handler_ns;
    return c->sum.process_ns > known ? c->sum.process_ns - known : 0;
}

static void cpu_part(struct table *t, const struct report *r)
{
    const struct cpu_side c = cpu_side_of(r);
    char text[80], share[SONDE_NUMBER_MAX];
    if (!c.sampled) {
        table_cell(t, "CPU samples");
        table_cell(t, "-");
        table_cell(t, "the CPU side was not sampled");
        return;
    }
    snprintf(text, sizeof text, "%u a second of CPU time of each thread, by %s", c.rate_hz,
             c.sampling == SONDE_CPU_PERF ? "perf events" : "timers");
    line(t, "CPU samples", c.sum.samples, text);
    line(t, "within API calls", c.sum.deferred, "of these; the call stands for them");
    line(t, "lost samples", c.sum.lost, "no room, or not possible then; the thread's next one stands for their time");
    line(t, "threads sampled", c.sum.threads, c.with_switches == c.sampled ? "with the times when they were off the CPU"
                                              : "without the times when they were off the CPU, or not of all");
    line(t, "threads not sampled", c.sum.threads_missed, "they block the signal, ended at once, or found no room");
    table_cell(t, "CPU time, sampled");
    table_time(t, true, (double)c.sum.sampled_ns);
    snprintf(text, sizeof text, "%s of the program's CPU time while recording",
             sonde_number_percent(share, (double)c.sum.sampled_ns, (double)c.sum.process_ns));
    table_cell(t, text);
    table_cell(t, "CPU time, in no sample");
    table_time(t, true, (double)unsampled_ns(&c));
    table_cell(t, "after a thread's last sample, or of threads that were not sampled");
    time_line(t, "overhead, samples", c.sum.handler_ns, (double)r->q.totals.process_wall_ns, "on the program's threads");
    if (c.sum.sample_rows_dropped)
        line(t, "samples not traced", c.sum.sample_rows_dropped, "in the profile only");
    if (c.sum.switch_rows_dropped)
        line(t, "times off the CPU lost", c.sum.switch_rows_dropped, "no room, or the kernel lost them");
}

static void cost_part(struct table *t, const struct report *r)
{
    const struct sonde_totals *s = &r->q.totals;
    char bytes[SONDE_NUMBER_MAX];
    double wall = (double)s->process_wall_ns;
    time_line(t, "overhead, hooks", s->ledger.hook_ns, wall, "on the program's threads");
    time_line(t, "overhead, threads", s->ledger.thread_cpu_ns, wall, "CPU time of Sonde's threads");
    if (s->held_ns)
        time_line(t, "held at start and end", s->held_ns, wall, "wall time that threads stood still for Sonde's start and last flush");
    if (s->ledger.vendor_ns)
        time_line(t, "vendor's tool library", s->ledger.vendor_ns, wall, "as far as it reports it (partial)");
    table_cell(t, "clock bound");
    table_time(t, s->clock_known, (double)s->clock_bound_ns);
    table_cell(t, !s->clock_known ? "unknown: no device's clock was compared with the host's"
                  : s->clock_bound_ns ? "largest error of a device time" : "device times are on the host's clock");
    table_cell(t, "on disk");
    table_cell(t, sonde_number_bytes(bytes, (double)r->q.m->disk_bytes));
    table_cell(t, "all files of the measurement");
    if (s->ledger.busy_clipped_ns)
        time_line(t, "busy time clipped", s->ledger.busy_clipped_ns, wall, "found too late: busy times are lower bounds by up to this");
    if (s->ledger.busy_left_out)
        line(t, "busy time left out", s->ledger.busy_left_out, "operations on devices beyond the 63rd, in no busy time");
    line(t, "damaged chunks", s->damaged_chunks, "skipped: torn, or their checksum is wrong");
}

/* What an independent clock around `sonde record` sees, but for its last steps. */
static void around_part(struct table *t, const struct report *r)
{
    const struct sonde_around *a = &r->q.totals.around;
    const struct { const char *name; uint64_t ns; const char *note; } rows[] = {
        {"record, before the run", a->before_ns, "wall time until sonde record had started the program"},
        {"record, the run", a->program_ns, "from the program's start to its end; overheads above are in it"},
        {"record, after the run", a->after_ns, "wall time from the program's end on; of it"},
        {"  sealing", a->seal_ns, "what was still in live.sonde"},
        {"  symbols", a->symbols_ns, "reading debug information"},
        {"  device code", a->code_ns, "leaving out what did not run"},
        {"  last line", a->summary_ns, "what record says at its end"},
        {"record, in all", a->before_ns + a->program_ns + a->after_ns, "without the loading of sonde, beyond its CPU time, and its exit"},
    };
    for (size_t i = 0; i < (a->known ? sizeof rows / sizeof *rows : 1); i++) {
        table_cell(t, rows[i].name);
        table_time(t, a->known, (double)rows[i].ns);
        table_cell(t, a->known ? rows[i].note : "not stored: record was killed");
    }
}

static const char *state_name(uint32_t state)
{
    switch (state) {
    case SONDE_PROCESS_RUNNING: return "killed";
    case SONDE_PROCESS_EXITED: return "exited";
    case SONDE_PROCESS_OFF: return "off";
    default: return "unknown";
    }
}

static void print_processes(const struct report *r)
{
    for (uint32_t i = 0; i < r->q.m->process_count; i++) {
        const struct sonde_process *p = &r->q.m->processes[i];
        const char *how = p->header.state == SONDE_PROCESS_RUNNING ? "ended without an exit: killed, _exit, or still running"
                          : p->header.state == SONDE_PROCESS_OFF ? "the agent switched itself off" : NULL;
        struct sonde_text name = {0};
        sonde_name_process(&name, p);
        if (how)
            report_say(r, "%s: %s", sonde_text_get(&name), how);
        for (uint32_t k = 0; k < p->note_count; k++)
            if (p->notes[k].text[0])
                report_say(r, "%s: %s", sonde_text_get(&name), p->notes[k].text);
        sonde_text_fini(&name);
    }
}

int report_ledger_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"Ledger", TABLE_LEFT, 0}, {"", TABLE_RIGHT, 0}, {"", TABLE_LEFT | TABLE_ELASTIC, 1},
    };
    static const struct table_column kinds[] = {{"Operations", TABLE_LEFT, 0}, {"count", TABLE_RIGHT, 0}};
    struct table t = {.columns = columns, .column_count = 3};
    struct table k = {.columns = kinds, .column_count = 2};
    (void)diag;
    operations_part(&t, r);
    stacks_part(&t, r);
    cpu_part(&t, r);
    cost_part(&t, r);
    around_part(&t, r);
    table_print(&t, r);
    fputc('\n', stdout);
    for (uint32_t kind = 0; kind < SONDE_OP_KIND_COUNT; kind++) {
        if (r->q.profile->operations[kind]) {
            table_cell(&k, sonde_op_kind_name(kind));
            table_count(&k, r->q.profile->operations[kind]);
        }
    }
    if (k.cells.count)
        table_print(&k, r);
    print_processes(r);
    return 0;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static json_t *operations_json(const struct report *r)
{
    json_t *value = json_object();
    for (uint32_t kind = 0; kind < SONDE_OP_KIND_COUNT; kind++)
        if (r->q.profile->operations[kind])
            json_object_set_new(value, sonde_op_kind_name(kind),
                                json_integer((json_int_t)r->q.profile->operations[kind]));
    return value;
}

static json_t *causes_json(const struct report *r)
{
    json_t *value = json_object();
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        json_object_set_new(value, sonde_drop_name(cause),
                            json_integer((json_int_t)r->q.totals.ledger.dropped[cause]));
    return value;
}

static json_t *processes_json(const struct report *r)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < r->q.m->process_count; i++) {
        const struct sonde_process *p = &r->q.m->processes[i];
        json_t *notes = json_array();
        uint64_t wall = sonde_process_wall_ns(p);
        for (uint32_t k = 0; k < p->note_count; k++)
            if (p->notes[k].text[0])
                json_array_append_new(notes, report_json_text(p->notes[k].text));
        json_t *value = json_pack("{s:s, s:i, s:s, s:o, s:b, s:o, s:I, s:I, s:i, s:o}",
            "name", p->name, "pid", (int)p->header.pid, "state", state_name(p->header.state),
            "executable", report_json_text(p->header.executable), "trace", p->header.trace != 0,
            "wall_ns", report_json_ns(wall > 0, (double)wall),
            "seen", (json_int_t)sonde_process_seen(p), "done", (json_int_t)p->header.ledger.done,
            "damaged_chunks", (int)p->damaged_chunks, "notes", notes);
        sonde_rank_json(p, value);
        json_array_append_new(array, value);
    }
    return array;
}

static void set(json_t *value, const char *key, uint64_t n)
{
    json_object_set_new(value, key, json_integer((json_int_t)n));
}

/* null: not stored. */
static json_t *around_json(const struct sonde_around *a)
{
    if (!a->known)
        return json_null();
    json_t *value = json_object();
    const struct { const char *key; uint64_t ns; } fields[] = {
        {"before_ns", a->before_ns}, {"program_ns", a->program_ns}, {"after_ns", a->after_ns}, {"seal_ns", a->seal_ns},
        {"symbols_ns", a->symbols_ns}, {"code_ns", a->code_ns}, {"summary_ns", a->summary_ns}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        set(value, fields[i].key, fields[i].ns);
    return value;
}

/* null: the CPU side was not sampled. */
static json_t *cpu_json(const struct report *r)
{
    const struct cpu_side c = cpu_side_of(r);
    if (!c.sampled)
        return json_null();
    json_t *value = json_pack("{s:s, s:i, s:b}", "sampling", c.sampling == SONDE_CPU_PERF ? "perf" : "timers",
                              "rate_hz", (int)c.rate_hz, "switches", c.with_switches == c.sampled);
    const struct { const char *key; uint64_t n; } fields[] = {
        {"samples", c.sum.samples}, {"deferred", c.sum.deferred}, {"lost", c.sum.lost}, {"threads", c.sum.threads},
        {"threads_missed", c.sum.threads_missed}, {"process_ns", c.sum.process_ns}, {"sampled_ns", c.sum.sampled_ns},
        {"unsampled_ns", unsampled_ns(&c)}, {"handler_ns", c.sum.handler_ns},
        {"sample_rows_dropped", c.sum.sample_rows_dropped}, {"switch_rows_dropped", c.sum.switch_rows_dropped}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        set(value, fields[i].key, fields[i].n);
    return value;
}

json_t *report_ledger_json(const struct report *r, struct sonde_diag *diag)
{
    const struct sonde_totals *t = &r->q.totals;
    const struct sonde_ledger *l = &t->ledger;
    const struct { const char *key; uint64_t n; } fields[] = {
        {"seen", l->seen}, {"done", l->done}, {"failed", l->failed}, {"no_times", l->no_times},
        {"dropped", t->dropped_operations}, {"trace_dropped", t->dropped_trace_rows},
        {"unmatched", l->unmatched}, {"in_flight", t->in_flight},
        {"unplaced", l->unplaced}, {"silent_launches", l->silent_launches}, {"bad_time", l->bad_time},
        {"early_in_bound", l->early_in_bound}, {"api_calls", l->api_calls},
        {"unwinds", l->unwinds}, {"unwind_failed", l->unwind_failed},
        {"unwind_truncated", l->unwind_truncated}, {"unwind_checked", l->unwind_checked},
        {"unwind_mismatched", l->unwind_mismatched}, {"python_walks", l->python_walks},
        {"python_failed", l->python_failed}, {"contexts_folded", l->contexts_folded},
        {"contexts_lost", r->q.profile->unknown_nodes},
        {"bytes_on_disk", r->q.m->disk_bytes}, {"written_bytes", l->written_bytes},
        {"agent_ns", agent_ns(t)}, {"hook_ns", l->hook_ns}, {"thread_cpu_ns", l->thread_cpu_ns},
        {"busy_clipped_ns", l->busy_clipped_ns},
        {"busy_left_out", l->busy_left_out}, {"calls_dropped", l->calls_dropped}, {"call_rows_dropped", l->call_rows_dropped},
        {"range_rows_dropped", l->range_rows_dropped},
        {"damaged_chunks", t->damaged_chunks}, {"damaged_bytes", t->damaged_bytes},
    };
    json_t *value = json_object();
    (void)diag;
    json_object_set_new(value, "operations", operations_json(r));
    json_object_set_new(value, "cpu", cpu_json(r));
    json_object_set_new(value, "record", around_json(&t->around));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        set(value, fields[i].key, fields[i].n);
    json_object_set_new(value, "dropped_by_cause", causes_json(r));
    json_object_set_new(value, "vendor_ns", report_json_ns(l->vendor_ns > 0, (double)l->vendor_ns));
    json_object_set_new(value, "held_ns", report_json_ns(t->held_ns > 0, (double)t->held_ns));
    json_object_set_new(value, "clock_bound_ns", report_json_ns(t->clock_known, (double)t->clock_bound_ns));
    json_object_set_new(value, "wall_ns", report_json_ns(t->wall_ns > 0, (double)t->wall_ns));
    json_object_set_new(value, "process_wall_ns", report_json_ns(t->process_wall_ns > 0, (double)t->process_wall_ns));
    json_object_set_new(value, "caveats", report_caveats_json(r));
    json_object_set_new(value, "processes", processes_json(r));
    return value;
}

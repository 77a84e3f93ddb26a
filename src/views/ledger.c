/* ledger.c - the view `ledger`: what the measurement holds, what it lacks and why, and what measuring cost.
 *
 * For people each figure is a line: the title of its column, its value, and what it means. Every field of
 * struct sonde_ledger is shown.
 */
#include "ledger.h"

#include <stdio.h>

#include "analyze/answers/values/values.h"
#include "base/kinds.h"
#include "base/number.h"
#include "format/folder.h"
#include "groups.h"
#include "names.h"
#include "notes.h"
#include "view.h"

/* ---- columns -------------------------------------------------------------------------- */

static const struct sonde_view_column kind_columns[] = {
    {"kind", "Operations", SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"count", "count", SONDE_CELL_COUNT, 0, 0, "operations of this kind in the profile"},
};
static const struct sonde_view_columns kinds = SONDE_VIEW_COLUMNS("operations", kind_columns);

static const struct sonde_view_column cause_columns[] = {
    {"cause", NULL, SONDE_CELL_TEXT, 0, 0, "why operations or rows of the trace were dropped"},
    {"count", NULL, SONDE_CELL_COUNT, 0, 0, "number dropped for this cause"},
};
static const struct sonde_view_columns causes = SONDE_VIEW_COLUMNS("dropped_by_cause", cause_columns);

static const struct sonde_view_column cpu_columns[] = {
    {"sampling", NULL, SONDE_CELL_TEXT, 0, 0, "what triggered the samples: perf or timers"},
    {"rate_hz", NULL, SONDE_CELL_NUMBER, 0, 0, "samples per second of a thread's CPU time", .unit = "Hz"},
    {"switches", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the trace says when each sampled thread was off the CPU"},
    {"samples", "CPU samples", SONDE_CELL_COUNT, 0, 0, "taken on the program's threads"},
    {"deferred", "in API calls", SONDE_CELL_COUNT, 0, 0, "samples inside an API call, which get the call's stack"},
    {"lost", "lost samples", SONDE_CELL_COUNT, 0, 0,
     "buffer full, or not possible then; their time is in the thread's next sample"},
    {"threads", "threads sampled", SONDE_CELL_COUNT, 0, 0, "threads of the program with samples"},
    {"threads_missed", "threads not sampled", SONDE_CELL_COUNT, 0, 0,
     "they block the signal, were too short-lived, or did not fit in a table"},
    {"process_ns", NULL, SONDE_CELL_TIME, 0, 0, "CPU time of the program's threads while recording"},
    {"sampled_ns", "CPU time sampled", SONDE_CELL_TIME, 0, 0, "CPU time covered by samples"},
    {"unsampled_ns", "CPU time not sampled", SONDE_CELL_TIME, 0, 0,
     "after a thread's last sample, or in threads that were not sampled"},
    {"handler_ns", "overhead: sampling", SONDE_CELL_TIME, 0, 0, "time in the program's threads"},
    {"sample_rows_dropped", "samples not traced", SONDE_CELL_COUNT, 0, 0, "counted in the profile only"},
    {"switch_rows_dropped", "context switches lost", SONDE_CELL_COUNT, 0, 0, "buffer full, or lost by the kernel"},
};
static const struct sonde_view_columns cpu = SONDE_VIEW_COLUMNS("cpu", cpu_columns);

enum { NAMES_MAX = 8 }; /* in a line */

static const struct sonde_view_column name_columns[] = {
    {NULL, NULL, SONDE_CELL_TEXT, 0, 0, "kernel, or API call of another operation"},
};
static const struct sonde_view_columns names = SONDE_VIEW_COLUMNS("names", name_columns);

static const struct sonde_view_column missed_columns[] = {
    {"reason", NULL, SONDE_CELL_TEXT, 0, 0, "why they were not looked at"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "how many these are"},
    {"names", NULL, SONDE_CELL_LIST, 0, 0, "their kernels, and API calls of other operations", .of = &names},
};
static const struct sonde_view_columns missed = SONDE_VIEW_COLUMNS("values_missed", missed_columns);

/* What an independent clock around `sonde record` sees, but for its last steps. */
static const struct sonde_view_column record_columns[] = {
    {"before_ns", "record: before the run", SONDE_CELL_TIME, 0, 0, "wall time until the program was started"},
    {"program_ns", "record: the run", SONDE_CELL_TIME, 0, 0, "wall time of the program, including the overheads above"},
    {"after_ns", "record: after the run", SONDE_CELL_TIME, 0, 0, "wall time after the program's end, of which:"},
    {"seal_ns", "  sealing", SONDE_CELL_TIME, 0, 0, "writing what was still in " SONDE_LIVE_FILE},
    {"symbols_ns", "  symbols", SONDE_CELL_TIME, 0, 0, "reading debug information"},
    {"code_ns", "  device code", SONDE_CELL_TIME, 0, 0, "removing code that did not run"},
    {"summary_ns", "  summary line", SONDE_CELL_TIME, 0, 0, "the line that record prints at the end"},
    {NULL, "record: total", SONDE_CELL_TIME, 0, 0, "excluding sonde's loading, beyond its CPU time, and its exit"},
};
static const struct sonde_view_columns record = SONDE_VIEW_COLUMNS("record", record_columns);

static const struct sonde_view_column caveat_columns[] = {
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "subject, such as trace, cpu or clock"},
    {"text", NULL, SONDE_CELL_TEXT, 0, 0, "the text, one sentence"},
};
static const struct sonde_view_columns caveats = SONDE_VIEW_COLUMNS("caveats", caveat_columns);

static const struct sonde_view_column note_columns[] = {
    {NULL, NULL, SONDE_CELL_TEXT, 0, 0, "the text, one sentence"},
};
static const struct sonde_view_columns notes = SONDE_VIEW_COLUMNS("notes", note_columns);

static const struct sonde_view_column process_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "host name, process id and a number"},
    {"pid", NULL, SONDE_CELL_ID, 0, 0, "process id"},
    {"state", NULL, SONDE_CELL_TEXT, 0, 0,
     "exited; killed: no exit was seen, or still running; off: Sonde switched itself off in it"},
    {"executable", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable"},
    {"trace", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the process has a trace"},
    {"wall_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time of the process"},
    {"seen", NULL, SONDE_CELL_COUNT, 0, 0, "operations enqueued while recording"},
    {"done", NULL, SONDE_CELL_COUNT, 0, 0, "completed operations, all in the profile"},
    {"damaged_chunks", NULL, SONDE_CELL_COUNT, 0, 0, "chunks of its file that were skipped: incomplete or wrong checksum"},
    {"notes", NULL, SONDE_CELL_LIST, 0, 0, "notes of Sonde's agent", .of = &notes},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_ID, 0, 0, "number of ranks in the job"},
};
static const struct sonde_view_columns processes = SONDE_VIEW_COLUMNS("processes", process_columns);

static const struct sonde_view_column columns[] = {
    {"operations", NULL, SONDE_CELL_MAP, 0, 0, "completed operations by kind", .of = &kinds},
    {"seen", "operations seen", SONDE_CELL_COUNT, 0, 0, "enqueued by the program while recording"},
    {"done", "completed", SONDE_CELL_COUNT, 0, 0, "all in the profile"},
    {"failed", "failed", SONDE_CELL_COUNT, 0, 0, "completed with an error status"},
    {"no_times", "without times", SONDE_CELL_COUNT, 0, 0, "completed; the runtime reported no times"},
    {"bad_time", "invalid times", SONDE_CELL_COUNT, 0, 0, "zero, reversed, or before their API call"},
    {"early_in_bound", "early", SONDE_CELL_COUNT, 0, 0, "started before their API call, within the maximum clock error"},
    {"unmatched", "unmatched", SONDE_CELL_COUNT, 0, 0, "completions without a submission, or the reverse"},
    {"in_flight", "in flight", SONDE_CELL_COUNT, 0, 0, "not completed when the program ended"},
    {"unplaced", "unattributed", SONDE_CELL_COUNT, 0, 0,
     "reported by the runtime without a known API call; not included in any other number"},
    {"silent_launches", "silent launches", SONDE_CELL_COUNT, 0, 0, "launches of graphs or batches of which nothing was reported"},
    {"dropped", "dropped", SONDE_CELL_COUNT, 0, 0, "not included in any number"},
    {"trace_dropped", "missing from the trace", SONDE_CELL_COUNT, 0, 0, "in the profile only"},
    {"dropped_by_cause", NULL, SONDE_CELL_MAP, 0, 0, "dropped operations and rows of the trace, by cause", .of = &causes},
    {"api_calls", "API calls", SONDE_CELL_COUNT, 0, 0, "completed calls of the GPU API"},
    {"calls_dropped", "API calls dropped", SONDE_CELL_COUNT, 0, 0,
     "not included in any number: buffer full, or after the final flush"},
    {"call_rows_dropped", "API calls not traced", SONDE_CELL_COUNT, 0, 0, "in the profile only"},
    {"range_rows_dropped", "ranges not traced", SONDE_CELL_COUNT, 0, 0, "named by the program; buffer or disk full"},
    {"unwinds", "stacks", SONDE_CELL_COUNT, 0, 0, "native stacks unwound"},
    {"unwind_failed", "incomplete", SONDE_CELL_COUNT, 0, 0, "outer frames not found"},
    {"unwind_truncated", "truncated", SONDE_CELL_COUNT, 0, 0, "deeper than the limit"},
    {"unwind_checked", "checked", SONDE_CELL_COUNT, 0, 0, "unwound again in full"},
    {"unwind_mismatched", "mismatched", SONDE_CELL_COUNT, 0, 0, "checked and found different"},
    {"python_walks", "Python stacks", SONDE_CELL_COUNT, 0, 0, "read from the interpreter"},
    {"python_failed", "Python failed", SONDE_CELL_COUNT, 0, 0, "did not match the native stack"},
    {"contexts_folded", "call paths merged", SONDE_CELL_COUNT, 0, 0, "into their caller: out of memory budget"},
    {"contexts_lost", "call paths lost", SONDE_CELL_COUNT, 0, 0, "with a damaged part of the file"},
    {"values_missed", NULL, SONDE_CELL_LIST, 0, 0,
     "operations whose values were asked for and not looked at, or not all of them, by reason; null: not asked for (record --values)", .of = &missed},
    {"cpu", NULL, SONDE_CELL_OBJECT, 0, 0, "the CPU side; null: not sampled", .of = &cpu},
    {"hook_ns", "overhead: hooks", SONDE_CELL_TIME, 0, 0, "time in the program's threads"},
    {"thread_cpu_ns", "overhead: threads", SONDE_CELL_TIME, 0, 0, "CPU time of Sonde's own threads"},
    {"agent_ns", NULL, SONDE_CELL_TIME, 0, 0, "hook_ns + thread_cpu_ns"},
    {"held_ns", "overhead: start, exit", SONDE_CELL_TIME, 0, 0,
     "wall time that threads were blocked by Sonde: start, final flush, waits for file space"},
    {"vendor_ns", "overhead: vendor", SONDE_CELL_TIME, 0, 0, "of the vendor's profiling library, as far as it reports it"},
    {"clock_bound_ns", "maximum clock error", SONDE_CELL_TIME, 0, 0, "largest error of a device time"},
    {"bytes_on_disk", "on disk", SONDE_CELL_BYTES, 0, 0, "size of all files of the measurement"},
    {"written_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes written by Sonde's agent"},
    {"busy_clipped_ns", "busy time clipped", SONDE_CELL_TIME, 0, 0,
     "reported too late: busy times may be too small by up to this"},
    {"busy_left_out", "busy time left out", SONDE_CELL_COUNT, 0, 0,
     "operations on devices beyond the 63rd, not included in busy time"},
    {"damaged_chunks", "damaged chunks", SONDE_CELL_COUNT, 0, 0, "skipped: incomplete, or wrong checksum"},
    {"damaged_bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size of the damaged chunks"},
    {"wall_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time from the first process's start to the last one's end"},
    {"process_wall_ns", NULL, SONDE_CELL_TIME, 0, 0, "sum of the wall times of all processes"},
    {"record", NULL, SONDE_CELL_OBJECT, 0, 0,
     "wall time of sonde record; null: not stored, because record was killed", .of = &record},
    {"caveats", NULL, SONDE_CELL_LIST, 0, 0, "what is missing from the numbers, and why", .of = &caveats},
    {"processes", NULL, SONDE_CELL_LIST, 0, 0, "processes of the program", .of = &processes},
};
const struct sonde_view_columns sonde_ledger = SONDE_VIEW_COLUMNS("ledger", columns);

static const struct sonde_view_column line_columns[] = {
    {NULL, "Ledger", SONDE_CELL_TEXT, 0, 0, "name of the number"},
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0, "value"},
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 1, "meaning"},
};
static const struct sonde_view_columns line_table = SONDE_VIEW_COLUMNS_OF("lines", "", line_columns);

/* ---- lines ------------------------------------------------------------------------------ */

struct part { /* of the ledger: a table of one row, and the lines that say the same */
    struct sonde_view_table *t, *lines;
    double wall_ns; /* run times of all processes: what costs are a share of */
};

/* The line of the next cell, which the caller appends; its note is what the column means, unless there is more to say. */
static void line(const struct part *p, bool known, uint64_t n, const char *note)
{
    const struct sonde_view_column *c = &p->t->columns->items[p->t->count % p->t->columns->count];
    char number[SONDE_NUMBER_MAX];
    if (c->kind == SONDE_CELL_TIME)
        sonde_number_time(number, (double)n);
    else if (c->kind == SONDE_CELL_BYTES)
        sonde_number_bytes(number, (double)n);
    else
        sonde_number_count(number, n);
    sonde_cell_text(p->lines, c->title);
    sonde_cell_text(p->lines, known ? number : NULL);
    sonde_cell_text(p->lines, note ? note : c->definition);
}

static void noted_figure(const struct part *p, uint64_t n, const char *note)
{
    line(p, true, n, note);
    sonde_cell_int(p->t, true, n);
}

static void figure(const struct part *p, uint64_t n)
{
    noted_figure(p, n, NULL);
}

/* No line where there is none. */
static void rare_figure(const struct part *p, uint64_t n)
{
    if (n)
        line(p, true, n, NULL);
    sonde_cell_int(p->t, true, n);
}

/* Unless `zero`, it is unknown where it is 0, and has no line. */
static void cost(const struct part *p, uint64_t ns, bool zero)
{
    const struct sonde_view_column *c = &p->t->columns->items[p->t->count % p->t->columns->count];
    char share[SONDE_NUMBER_MAX];
    struct sonde_text note = {0};
    sonde_text_format(&note, "%s of the run; %s", sonde_number_percent(share, (double)ns, p->wall_ns), c->definition);
    if (ns || zero)
        line(p, true, ns, sonde_text_get(&note));
    sonde_cell_int(p->t, ns || zero, ns);
    sonde_text_fini(&note);
}

/* ---- parts ------------------------------------------------------------------------------- */

static void kind_rows(struct sonde_view_table *t, const struct sonde_query *q)
{
    for (uint32_t kind = 0; kind < SONDE_OP_KIND_COUNT; kind++) {
        if (q->profile->operations[kind]) {
            sonde_cell_text(t, sonde_op_kind_name(kind));
            sonde_cell_int(t, true, q->profile->operations[kind]);
        }
    }
}

static void causes_cell(const struct part *p, const struct sonde_ledger *l)
{
    struct sonde_view_table *map = sonde_cell_map(p->t);
    char number[SONDE_NUMBER_MAX];
    for (uint32_t cause = 0; cause < SONDE_DROP_COUNT; cause++) {
        sonde_cell_text(map, sonde_drop_name(cause));
        sonde_cell_int(map, true, l->dropped[cause]);
        if (!l->dropped[cause])
            continue;
        sonde_cell_text(p->lines, sonde_drop_name(cause));
        sonde_cell_text(p->lines, sonde_number_count(number, l->dropped[cause]));
        sonde_cell_text(p->lines,
                        sonde_drop_loses_operation(cause) ? "cause of dropped operations" : "cause of dropped trace rows");
    }
}

static void operation_cells(const struct part *p, const struct sonde_totals *s)
{
    const struct sonde_ledger *l = &s->ledger;
    figure(p, l->seen);
    figure(p, l->done);
    figure(p, l->failed);
    figure(p, l->no_times);
    figure(p, l->bad_time);
    figure(p, l->early_in_bound);
    figure(p, l->unmatched);
    figure(p, s->in_flight);
    rare_figure(p, l->unplaced);
    rare_figure(p, l->silent_launches);
    figure(p, s->dropped_operations);
    figure(p, s->dropped_trace_rows);
    causes_cell(p, l);
    figure(p, l->api_calls);
    rare_figure(p, l->calls_dropped);
    rare_figure(p, l->call_rows_dropped);
    rare_figure(p, l->range_rows_dropped);
}

static void stack_cells(const struct part *p, const struct sonde_ledger *l, uint64_t lost)
{
    figure(p, l->unwinds);
    figure(p, l->unwind_failed);
    figure(p, l->unwind_truncated);
    figure(p, l->unwind_checked);
    figure(p, l->unwind_mismatched);
    figure(p, l->python_walks);
    figure(p, l->python_failed);
    figure(p, l->contexts_folded);
    figure(p, lost);
}

static uint64_t missed_of(const struct sonde_value_coverage *c, unsigned why)
{
    return why ? c->missed[why] : sonde_value_unseen(c);
}

/* "its code uses textures or surfaces: blur, warp" */
static void missed_row(const struct part *p, struct sonde_view_table *list, const struct sonde_values *v, unsigned why)
{
    const char *reason = why ? sonde_value_missed_text(why) : SONDE_VALUE_UNSEEN;
    struct sonde_text note = {0};
    char number[SONDE_NUMBER_MAX];
    uint64_t operations = 0;
    size_t named = 0;
    for (size_t i = 0; i < v->coverage.count; i++)
        operations += missed_of(&v->coverage.items[i], why);
    if (!operations)
        return;
    sonde_cell_text(list, reason);
    sonde_cell_int(list, true, operations);
    struct sonde_view_table *inner = sonde_cell_list(list);
    for (size_t i = 0; i < v->coverage.count; i++)
        if (missed_of(&v->coverage.items[i], why)) {
            sonde_cell_text(inner, v->coverage.items[i].name);
            if (named++ < NAMES_MAX)
                sonde_text_format(&note, "%s%s", named > 1 ? ", " : ": ", v->coverage.items[i].name);
        }
    if (named > NAMES_MAX)
        sonde_text_format(&note, " and %zu more", named - NAMES_MAX);
    sonde_cell_text(p->lines, "values not looked at");
    sonde_cell_text(p->lines, sonde_number_count(number, operations));
    struct sonde_text line = {0};
    sonde_text_format(&line, "%s%s", reason, sonde_text_get(&note));
    sonde_cell_take(p->lines, &line);
    sonde_text_fini(&note);
}

/* From the same rows as the coverage of the view values. */
static int values_cell(const struct part *p, const struct sonde_query *q)
{
    struct sonde_values v = {0};
    const int rc = sonde_values_cover(q->m, q->profile, &v);
    struct sonde_view_table *list = v.coarse || v.fine ? sonde_cell_list(p->t) : NULL;
    if (!list)
        sonde_cell_unknown(p->t);
    for (unsigned why = 1; list && !rc && why <= SONDE_VALUE_MISSED_COUNT; why++)
        missed_row(p, list, &v, why % SONDE_VALUE_MISSED_COUNT); /* those of which nothing is known come last */
    if (list && !rc && !sonde_view_rows(list)) {
        sonde_cell_text(p->lines, "values not looked at");
        sonde_cell_text(p->lines, "0");
        sonde_cell_text(p->lines, "of operations whose values were asked for");
    }
    sonde_values_fini(&v);
    return rc;
}

/* Sums over the processes; `sampling` and `rate_hz` are of the first that was sampled. */
struct cpu_side {
    struct sonde_cpu_ledger sum;
    uint32_t sampling, rate_hz, sampled, with_switches; /* the last two: processes */
};

static struct cpu_side cpu_side_of(const struct sonde_query *q)
{
    struct cpu_side c = {0};
    for (uint32_t i = 0; i < q->m->process_count; i++) {
        const struct sonde_live_header *h = &q->m->processes[i].header;
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

static void sampled_cells(const struct part *p, const struct cpu_side *c)
{
    const bool switches = c->with_switches == c->sampled, perf = c->sampling == SONDE_CPU_PERF;
    char text[80], share[SONDE_NUMBER_MAX];
    sonde_cell_text(p->t, perf ? "perf" : "timers");
    sonde_cell_int(p->t, true, c->rate_hz);
    sonde_cell_boolean(p->t, switches);
    snprintf(text, sizeof text, "%u per second of CPU time of each thread, by %s", c->rate_hz, perf ? "perf events" : "timers");
    noted_figure(p, c->sum.samples, text);
    figure(p, c->sum.deferred);
    figure(p, c->sum.lost);
    noted_figure(p, c->sum.threads,
                 switches ? "with context switches"
                          : "without context switches, or not of all threads");
    figure(p, c->sum.threads_missed);
    sonde_cell_int(p->t, true, c->sum.process_ns);
    snprintf(text, sizeof text, "%s of the program's CPU time while recording",
             sonde_number_percent(share, (double)c->sum.sampled_ns, (double)c->sum.process_ns));
    noted_figure(p, c->sum.sampled_ns, text);
    figure(p, unsampled_ns(c));
    cost(p, c->sum.handler_ns, true);
    rare_figure(p, c->sum.sample_rows_dropped);
    rare_figure(p, c->sum.switch_rows_dropped);
}

static void cpu_cell(const struct part *p, const struct sonde_query *q)
{
    const struct cpu_side c = cpu_side_of(q);
    if (c.sampled) {
        sampled_cells(&(struct part){sonde_cell_object(p->t), p->lines, p->wall_ns}, &c);
        return;
    }
    sonde_cell_unknown(p->t);
    sonde_cell_text(p->lines, "CPU samples");
    sonde_cell_unknown(p->lines);
    sonde_cell_text(p->lines, "the CPU side was not sampled");
}

static void cost_cells(const struct part *p, const struct sonde_totals *s, uint64_t disk_bytes)
{
    const struct sonde_ledger *l = &s->ledger;
    cost(p, l->hook_ns, true);
    cost(p, l->thread_cpu_ns, true);
    sonde_cell_int(p->t, true, l->hook_ns + l->thread_cpu_ns);
    cost(p, s->held_ns, false);
    cost(p, l->vendor_ns, false);
    line(p, s->clock_known, s->clock_bound_ns,
         !s->clock_known     ? "unknown: no device clock was compared with the host clock"
         : s->clock_bound_ns ? NULL
                             : "device times are on the host clock");
    sonde_cell_int(p->t, s->clock_known, s->clock_bound_ns);
    figure(p, disk_bytes);
    sonde_cell_int(p->t, true, l->written_bytes);
    if (l->busy_clipped_ns)
        cost(p, l->busy_clipped_ns, true);
    else
        sonde_cell_int(p->t, true, 0);
    rare_figure(p, l->busy_left_out);
    figure(p, s->damaged_chunks);
    sonde_cell_int(p->t, true, s->damaged_bytes);
    sonde_cell_int(p->t, s->wall_ns > 0, s->wall_ns);
    sonde_cell_int(p->t, s->process_wall_ns > 0, s->process_wall_ns);
}

static void record_cell(const struct part *p, const struct sonde_around *a)
{
    const uint64_t times[] = {a->before_ns, a->program_ns, a->after_ns, a->seal_ns, a->symbols_ns, a->code_ns, a->summary_ns,
                              a->before_ns + a->program_ns + a->after_ns};
    if (!a->known) {
        sonde_cell_unknown(p->t);
        sonde_cell_text(p->lines, record_columns[0].title);
        sonde_cell_unknown(p->lines);
        sonde_cell_text(p->lines, "not stored: record was killed");
        return;
    }
    const struct part of = {sonde_cell_object(p->t), p->lines, p->wall_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        figure(&of, times[i]);
}

/* People read them below the view. */
static int caveats_cell(struct sonde_view_table *t, const struct sonde_query *q)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    struct sonde_caveats found = {0};
    const int rc = q->complete ? sonde_query_caveats(q, SONDE_CAVEAT_ALL, true, &found) : 0;
    for (size_t i = 0; i < found.items.count && !rc; i++) {
        sonde_cell_text(list, sonde_caveat_name(found.items.items[i].kind));
        sonde_cell_text(list, sonde_text_get(&found.items.items[i].text));
    }
    sonde_caveats_fini(&found);
    return rc;
}

/* ---- processes ---------------------------------------------------------------------------- */

static const char *state_name(uint32_t state)
{
    switch (state) {
    case SONDE_PROCESS_RUNNING: return "killed";
    case SONDE_PROCESS_EXITED: return "exited";
    case SONDE_PROCESS_OFF: return "off";
    default: return "unknown";
    }
}

static void process_row(struct sonde_view_table *t, const struct sonde_process *p)
{
    const uint64_t wall = sonde_process_wall_ns(p);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, p->header.pid);
    sonde_cell_text(t, state_name(p->header.state));
    sonde_cell_text(t, p->header.executable);
    sonde_cell_boolean(t, p->header.trace);
    sonde_cell_int(t, wall > 0, wall);
    sonde_cell_int(t, true, sonde_process_seen(p));
    sonde_cell_int(t, true, p->header.ledger.done);
    sonde_cell_int(t, true, __atomic_load_n(&p->damaged_chunks, __ATOMIC_RELAXED)); /* who reads the trace meanwhile may find more */
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = 0; i < p->note_count; i++)
        if (p->notes[i].text[0])
            sonde_cell_text(list, p->notes[i].text);
    sonde_cells_rank(t, p);
}

static void say_process(struct sonde_view_data *out, const struct sonde_process *p)
{
    const char *how = p->header.state == SONDE_PROCESS_RUNNING ? "no exit was seen: killed, _exit, or still running"
                      : p->header.state == SONDE_PROCESS_OFF   ? "Sonde switched itself off"
                                                               : NULL;
    struct sonde_text name = {0};
    sonde_name_process(&name, p);
    if (how)
        sonde_view_say(out, false, "%s: %s", sonde_text_get(&name), how);
    for (uint32_t i = 0; i < p->note_count; i++)
        if (p->notes[i].text[0])
            sonde_view_say(out, false, "%s: %s", sonde_text_get(&name), p->notes[i].text);
    sonde_text_fini(&name);
}

/* The one row of `t`, and what people read of it. */
static int fill(struct sonde_view_table *t, struct sonde_view_table *lines, const struct sonde_query *q, struct sonde_diag *diag)
{
    const struct sonde_totals *s = &q->totals;
    const struct part p = {t, lines, (double)s->process_wall_ns};
    kind_rows(sonde_cell_map(t), q);
    operation_cells(&p, s);
    stack_cells(&p, &s->ledger, q->profile->unknown_nodes);
    const int unknown = values_cell(&p, q);
    cpu_cell(&p, q);
    cost_cells(&p, s, q->m->disk_bytes);
    record_cell(&p, &s->around);
    const int found = caveats_cell(t, q), rc = unknown ? unknown : found;
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = 0; i < q->m->process_count; i++)
        process_row(list, &q->m->processes[i]);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot compute the ledger of") : 0;
}

int sonde_cell_ledger(struct sonde_view_table *t, const struct sonde_query *q, struct sonde_diag *diag)
{
    return fill(sonde_cell_object(t), sonde_view_table(t->data, &line_table), q, diag);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_view_table *lines = sonde_view_table(out, &line_table), *operations = sonde_view_table(out, &kinds);
    out->root = sonde_view_table(out, &sonde_ledger);
    const int rc = fill(out->root, lines, q, diag);
    kind_rows(operations, q);
    if (!sonde_view_rows(operations)) { /* then the empty line is all there is of it */
        sonde_view_hide(operations, "Operations");
        sonde_view_hide(operations, "count");
    }
    sonde_view_show(out, lines, false);
    sonde_view_show(out, operations, true);
    for (uint32_t i = 0; i < q->m->process_count; i++)
        say_process(out, &q->m->processes[i]);
    return rc;
}

const struct sonde_view sonde_view_ledger = {
    .name = "ledger",
    .summary = "operations seen, dropped and unmatched; the overhead",
    .description = "Operations seen, dropped and unmatched, and the overhead. On the terminal each number is a line: name, "
                   "value, meaning; numbers that are usually 0 are left out when they are.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&sonde_ledger, &line_table, NULL},
    .caveats = SONDE_CAVEAT_ALL,
    .quick_notes = true,
    .make = make,
};

/* statistics.c - the view `statistics`: the exact share of each routine in a time range,
 * some lanes, and a call depth. docs/statistics.md says how each number is computed.
 */
#include "analyze/answers/lanes/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column row_columns[] = {
    {"share", "share", SONDE_CELL_SHARE, 0, 0, "time as % of the time window over all selected lanes"},
    {NULL, "% of queues", SONDE_CELL_SHARE, 0, 2, "time as % of the time window over the selected queues"},
    {NULL, "% of threads", SONDE_CELL_SHARE, 0, 1, "time as % of the time window over the selected threads"},
    {NULL, "time", SONDE_CELL_TIME, 0, 3, "time on queues and threads, with the standard error of the sampled part"},
    {NULL, "sampled", SONDE_CELL_SHARE, 0, 4, "% of its thread time that is known from samples; the rest is exact"},
    {"label", "routine", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0,
     "function, API call, kernel or range; or what the lane did instead"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "routine, or what it is instead, such as idle or off_cpu"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "the call path with the most thread time"},
    {"queue_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "time on queues"},
    {"thread_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "time on threads"},
    {"sampled_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "part of thread_ns known from samples"},
    {"pooled_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0,
     "part of sampled_ns in gaps without a sample, divided as in similar gaps with samples"},
    {"error_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "standard error of sampled_ns"},
    {"cpu_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0,
     "CPU time of the samples outside API calls; null: not the whole run, or context switches unknown"},
    {"cpu_error_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "standard error of cpu_ns"},
    {"disagrees", NULL, SONDE_CELL_BOOLEAN, 0, 0, "sampled_ns and cpu_ns differ by more than chance explains"},
};
static const struct sonde_view_columns rows = SONDE_VIEW_COLUMNS("rows", row_columns);

static const struct sonde_view_column columns[] = {
    {"from_ns", NULL, SONDE_CELL_TIME, 0, 0, "begin of the time window, since the start of the run"},
    {"to_ns", NULL, SONDE_CELL_TIME, 0, 0, "end of the time window"},
    {"queues", NULL, SONDE_CELL_COUNT, 0, 0, "number of selected queues"},
    {"threads", NULL, SONDE_CELL_COUNT, 0, 0, "number of selected threads"},
    {"depth", NULL, SONDE_CELL_COUNT, 0, 0, "number of outermost frames considered; null: all"},
    {"traced", NULL, SONDE_CELL_BOOLEAN, 0, 0, "false: no trace, and what each lane did is unknown"},
    {"no_times", NULL, SONDE_CELL_COUNT, 0, 0, "operations without valid times, not included in any row"},
    {"rows", NULL, SONDE_CELL_LIST, 0, 0, "rows, largest time first", .of = &rows},
};
static const struct sonde_view_columns statistics = SONDE_VIEW_COLUMNS("statistics", columns);

/* ---- what is asked ------------------------------------------------------------------------ */

typedef SONDE_VECTOR(struct sonde_lane_id) lane_ids;

struct word {
    const char *text;
    size_t length;
};

static bool word_is(const struct word *w, const char *text)
{
    return strlen(text) == w->length && memcmp(w->text, text, w->length) == 0;
}

/* A queue's number or a thread's id, as `lanes` shows them; all queues; all threads. */
static bool lane_is(const struct sonde_row_lane *lane, uint32_t id, const struct word *w)
{
    char number[16];
    const bool thread = lane->kind == SONDE_LANE_KIND_THREAD;
    snprintf(number, sizeof number, "%u", thread ? lane->tid : id);
    return word_is(w, thread ? "threads" : "queues") || word_is(w, number);
}

/* "PROCESS:LANE", or LANE of any process. */
static int add_lanes(const struct sonde_query *q, const struct word *whole, lane_ids *out)
{
    const char *colon = memchr(whole->text, ':', whole->length);
    const struct word process = {whole->text, colon ? (size_t)(colon - whole->text) : 0};
    const struct word lane = {colon ? colon + 1 : whole->text, whole->length - (colon ? process.length + 1 : 0)};
    int rc = 0;
    for (uint32_t i = 0; i < q->m->process_count && !rc; i++) {
        const struct sonde_process *p = &q->m->processes[i];
        for (uint32_t id = 1; id < p->lane_count && !rc && (!colon || word_is(&process, p->name)); id++)
            if (p->lanes[id].kind && lane_is(&p->lanes[id], id, &lane))
                rc = sonde_vector_push(out, (struct sonde_lane_id){i, id});
    }
    return rc;
}

static int read_lanes(const struct sonde_query *q, lane_ids *out, struct sonde_diag *diag)
{
    for (const char *text = q->range.lanes; text && *text;) {
        const struct word word = {text, strcspn(text, ",")};
        const size_t before = out->count;
        if (add_lanes(q, &word, out))
            return sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot choose lanes of");
        if (out->count == before) {
            sonde_diag_set(diag, SONDE_ENOTFOUND, q->path, "there is no lane '%.*s' in",
                           (int)(word.length < 64 ? word.length : 64), word.text);
            snprintf(diag->why, sizeof diag->why, "the view lanes lists them; 'queues' and 'threads' select all of one kind");
            return SONDE_ENOTFOUND;
        }
        text += word.length + (text[word.length] == ',');
    }
    return 0;
}

static int compute(const struct sonde_query *q, struct sonde_statistics *out, struct sonde_diag *diag)
{
    struct sonde_query_window window = {0};
    lane_ids lanes = {0};
    int rc = read_lanes(q, &lanes, diag);
    rc = rc ? rc : sonde_query_window(q, &window, diag);
    struct sonde_statistics_config config = {
        .from_ns = window.from_ns,
        .to_ns = window.to_ns,
        .lanes = lanes.items,
        .lane_count = lanes.count,
        .depth = q->range.depth,
    };
    if (!rc) {
        config.progress = sonde_query_begin(q, "reading the trace");
        rc = sonde_statistics_compute(q->m, q->profile, &config, out, diag);
        sonde_query_end(q, config.progress);
    }
    sonde_vector_fini(&lanes);
    return rc;
}

/* ---- cells and sentences -------------------------------------------------------------------- */

static void row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_statistics *st,
                const struct sonde_share *share)
{
    const double range = (double)(st->to_ns - st->from_ns), time = share->queue_ns + share->thread_ns;
    struct sonde_text label = {0};
    sonde_name_share(q, &label, share);
    sonde_cell_share(t, time, range * (st->queues + st->threads));
    sonde_cell_share(t, share->queue_ns, range * st->queues);
    sonde_cell_share(t, share->thread_ns, range * st->threads);
    sonde_cell_estimate(t, time, share->error_ns);
    sonde_cell_share(t, share->sampled_ns, share->thread_ns);
    sonde_cell_take(t, &label);
    sonde_cell_text(t, sonde_share_name(share->kind));
    sonde_cell_text(t, share->frame.name);
    sonde_cell_text(t, share->frame.file);
    sonde_cell_text(t, share->frame.module);
    sonde_cell_int(t, share->node, share->node);
    sonde_cell_real(t, true, share->queue_ns);
    sonde_cell_real(t, true, share->thread_ns);
    sonde_cell_real(t, true, share->sampled_ns);
    sonde_cell_real(t, true, share->pooled_ns);
    sonde_cell_real(t, true, share->error_ns);
    sonde_cell_real(t, st->checked, share->cpu_ns);
    sonde_cell_real(t, st->checked, share->cpu_error_ns);
    sonde_cell_boolean(t, share->disagrees);
}

static void say_what(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_statistics *st)
{
    char from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX];
    struct sonde_text line = {0};
    sonde_text_format(&line, "%s to %s", sonde_number_time(from, (double)st->from_ns), sonde_number_time(to, (double)st->to_ns));
    sonde_text_format(&line, " · %u queue%s, %u thread%s", st->queues, st->queues == 1 ? "" : "s", st->threads,
                      st->threads == 1 ? "" : "s");
    if (q->range.depth)
        sonde_text_format(&line, " · depth %u", q->range.depth);
    sonde_view_say(out, false, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

/* What the times between calls say of a function, and what its samples say: two ways to the same figure. */
static void say_disagreeing(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_statistics *st)
{
    enum { MOST = 5 };
    size_t said = 0;
    for (size_t i = 0; i < st->rows.count && said < MOST; i++) {
        const struct sonde_share *share = &st->rows.items[i];
        char time[SONDE_NUMBER_MAX], cpu[SONDE_NUMBER_MAX], error[SONDE_NUMBER_MAX];
        struct sonde_text label = {0};
        if (!share->disagrees)
            continue;
        sonde_name_share(q, &label, share);
        const double error_ns = sqrt(share->error_ns * share->error_ns + share->cpu_error_ns * share->cpu_error_ns);
        sonde_view_say(out, false, "%s: %s from the times between API calls, but %s from samples (± %s): one of them is wrong "
                                   "(docs/statistics.md, \"Check\").",
                       sonde_text_get(&label),
                       sonde_number_time(time, share->sampled_ns), sonde_number_time(cpu, share->cpu_ns),
                       sonde_number_time(error, error_ns));
        sonde_text_fini(&label);
        said++;
    }
}

static struct sonde_view_table *summary_cells(struct sonde_view_table *t, const struct sonde_query *q,
                                              const struct sonde_statistics *st)
{
    sonde_cell_int(t, true, st->from_ns);
    sonde_cell_int(t, true, st->to_ns);
    sonde_cell_int(t, true, st->queues);
    sonde_cell_int(t, true, st->threads);
    sonde_cell_int(t, q->range.depth, q->range.depth);
    sonde_cell_boolean(t, st->traced);
    sonde_cell_int(t, true, st->no_times);
    return sonde_cell_list(t);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_statistics st = {0};
    char number[SONDE_NUMBER_MAX];
    const int rc = compute(q, &st, diag);
    const size_t shown = sonde_query_rows(q, st.rows.count);
    out->root = sonde_view_table(out, &statistics);
    struct sonde_view_table *t = summary_cells(out->root, q, &st);
    for (size_t i = 0; i < shown && !rc; i++)
        row(t, q, &st, &st.rows.items[i]);
    t->left_out = st.rows.count - shown;
    say_what(out, q, &st);
    sonde_view_show(out, t, false);
    if (st.no_times)
        sonde_view_say(out, false, "%s operation%s without valid times, not included in any row",
                       sonde_number_count(number, st.no_times), st.no_times == 1 ? "" : "s");
    say_disagreeing(out, q, &st);
    if (!st.traced)
        sonde_view_say(out, false, "recorded with --profile: what each lane did is unknown");
    sonde_statistics_fini(&st);
    return rc;
}

const struct sonde_view sonde_view_statistics = {
    .name = "statistics",
    .summary = "the exact share of each routine, by time window, lanes and call depth",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&statistics, NULL},
    .options = (const char *const[]){"from", "to", "lane", "depth", NULL},
    .caveats = SONDE_CAVEAT_ALL & ~(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES | SONDE_CAVEAT_VIEWS), /* the last row by row */
    .needs_operations = true,
    .make = make,
};

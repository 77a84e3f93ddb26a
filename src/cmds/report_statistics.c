/* report_statistics.c - the view `statistics`: the exact share of each routine in a time range,
 * some lanes, and a call depth. docs/statistics.md says how each number is computed.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics.h"
#include "command.h"
#include "report.h"

/* ---- options ------------------------------------------------------------------------------ */

/* "0.5s", "120ms" or "37%" of the run. */
static bool read_time(const char *text, struct report_time *out)
{
    char *end;
    errno = 0;
    double percent = strtod(text, &end);
    out->given = true;
    if (end != text && !errno && strcmp(end, "%") == 0) {
        out->percent = percent;
        out->relative = true;
        return percent >= 0 && percent <= 100;
    }
    return sonde_parse_duration(text, &out->ns) == 0;
}

int report_read_range(struct report *r)
{
    static const char *const names[] = {"--from", "--to"};
    const char *const texts[] = {r->options->from, r->options->to};
    struct report_time *const times[] = {&r->from, &r->to};
    for (int i = 0; i < 2; i++)
        if (texts[i] && !read_time(texts[i], times[i]))
            return sonde_say_usage(&sonde_command_report, "%s needs a time since the start such as 0.5s, 120ms or 37%%, not '%s'",
                                   names[i], texts[i]);
    return 0;
}

static uint64_t time_of(const struct report_time *t, uint64_t length, uint64_t otherwise)
{
    return !t->given ? otherwise : t->relative ? (uint64_t)((double)length * t->percent / 100) : t->ns;
}

typedef SONDE_VECTOR(struct sonde_lane_id) lane_ids;

struct word { const char *text; size_t length; };

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
static int add_lanes(const struct report *r, const struct word *whole, lane_ids *out)
{
    const char *colon = memchr(whole->text, ':', whole->length);
    const struct word process = {whole->text, colon ? (size_t)(colon - whole->text) : 0};
    const struct word lane = {colon ? colon + 1 : whole->text, whole->length - (colon ? process.length + 1 : 0)};
    int rc = 0;
    for (uint32_t i = 0; i < r->q.m->process_count && !rc; i++) {
        const struct sonde_process *p = &r->q.m->processes[i];
        for (uint32_t id = 1; id < p->lane_count && !rc && (!colon || word_is(&process, p->name)); id++)
            if (p->lanes[id].kind && lane_is(&p->lanes[id], id, &lane))
                rc = sonde_vector_push(out, (struct sonde_lane_id){i, id});
    }
    return rc;
}

static int read_lanes(const struct report *r, lane_ids *out, struct sonde_diag *diag)
{
    for (const char *text = r->options->lane; text && *text;) {
        const struct word word = {text, strcspn(text, ",")};
        const size_t before = out->count;
        if (add_lanes(r, &word, out))
            return sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot choose lanes of");
        if (out->count == before) {
            sonde_diag_set(diag, SONDE_ENOTFOUND, r->q.path, "there is no lane '%.*s' in", (int)(word.length < 64 ? word.length : 64),
                           word.text);
            snprintf(diag->why, sizeof diag->why, "the view lanes shows them; 'queues' and 'threads' mean all of one kind");
            return SONDE_ENOTFOUND;
        }
        text += word.length + (text[word.length] == ',');
    }
    return 0;
}

/* ---- computing ------------------------------------------------------------------------------ */

static int compute(const struct report *r, struct sonde_statistics *out, struct sonde_diag *diag)
{
    uint64_t begin, end;
    lane_ids lanes = {0};
    int rc = read_lanes(r, &lanes, diag);
    sonde_run_range(r->q.m, &begin, &end);
    const uint64_t length = end > begin ? end - begin : 0;
    struct sonde_statistics_config config = {
        .from_ns = time_of(&r->from, length, 0), .to_ns = time_of(&r->to, length, length), .lanes = lanes.items,
        .lane_count = lanes.count, .depth = r->options->depth > 0 ? (uint32_t)r->options->depth : 0,
    };
    if (!rc && config.from_ns >= config.to_ns) {
        rc = sonde_diag_set(diag, SONDE_EINVALID, r->q.path, "nothing lies in this range of time of");
        char from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX], all[SONDE_NUMBER_MAX];
        snprintf(diag->why, sizeof diag->why, "it begins at %s and ends at %s; the run took %s",
                 sonde_number_time(from, (double)config.from_ns), sonde_number_time(to, (double)config.to_ns),
                 sonde_number_time(all, (double)length));
    }
    if (!rc) {
        config.progress = sonde_progress_begin("reading the trace", false);
        rc = sonde_statistics_compute(r->q.m, r->q.profile, &config, out, diag);
        sonde_progress_end(config.progress);
    }
    sonde_vector_fini(&lanes);
    return rc;
}

/* ---- text and JSON ----------------------------------------------------------------------------- */

/* What the times between calls say of a function, and what its samples say: two ways to the same figure. */
static void say_disagreeing(const struct report *r, const struct sonde_statistics *st)
{
    enum { MOST = 5 };
    size_t said = 0;
    for (size_t i = 0; i < st->rows.count && said < MOST; i++) {
        const struct sonde_share *share = &st->rows.items[i];
        char time[SONDE_NUMBER_MAX], cpu[SONDE_NUMBER_MAX], error[SONDE_NUMBER_MAX];
        struct sonde_text text = {0};
        if (!share->disagrees)
            continue;
        sonde_name_share(&r->q, &text, share);
        report_say(r, "%s: %s by the times between API calls, %s by its samples (± %s): one of them is wrong "
                      "(docs/statistics.md, \"Check\").", sonde_text_get(&text), sonde_number_time(time, share->sampled_ns),
                   sonde_number_time(cpu, share->cpu_ns),
                   sonde_number_time(error, sqrt(share->error_ns * share->error_ns + share->cpu_error_ns * share->cpu_error_ns)));
        sonde_text_fini(&text);
        said++;
    }
}

static void row(const struct report *r, struct table *t, const struct sonde_statistics *st, const struct sonde_share *share)
{
    const double range = (double)(st->to_ns - st->from_ns);
    struct sonde_text text = {0};
    sonde_name_share(&r->q, &text, share);
    table_percent(t, share->queue_ns + share->thread_ns, range * (st->queues + st->threads));
    table_percent(t, share->queue_ns, range * st->queues);
    table_percent(t, share->thread_ns, range * st->threads);
    table_estimate(t, share->queue_ns + share->thread_ns, share->error_ns);
    table_percent(t, share->sampled_ns, share->thread_ns);
    table_cell(t, sonde_text_get(&text));
    sonde_text_fini(&text);
}

static void say_what(const struct report *r, const struct sonde_statistics *st)
{
    char from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX];
    struct sonde_text line = {0};
    sonde_text_format(&line, "%s to %s", sonde_number_time(from, (double)st->from_ns), sonde_number_time(to, (double)st->to_ns));
    sonde_text_format(&line, " · %u queue%s, %u thread%s", st->queues, st->queues == 1 ? "" : "s", st->threads,
                      st->threads == 1 ? "" : "s");
    if (r->options->depth > 0)
        sonde_text_format(&line, " · depth %lld", (long long)r->options->depth);
    report_say(r, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

int report_statistics_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"share", TABLE_RIGHT, 0}, {"of queues", TABLE_RIGHT, 2}, {"of threads", TABLE_RIGHT, 1}, {"time", TABLE_RIGHT, 3},
        {"sampled", TABLE_RIGHT, 4}, {"routine", TABLE_LEFT | TABLE_MAIN, 0},
    };
    struct table t = {.columns = columns, .column_count = 6};
    struct sonde_statistics st = {0};
    char number[SONDE_NUMBER_MAX];
    int rc = compute(r, &st, diag);
    const size_t all = st.rows.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    if (!rc) {
        say_what(r, &st);
        for (size_t i = 0; i < shown; i++)
            row(r, &t, &st, &st.rows.items[i]);
        table_print(&t, r);
        report_more(r, "statistics", shown, all);
        if (st.no_times)
            report_say(r, "%s operation%s without usable times: in no row", sonde_number_count(number, st.no_times),
                       st.no_times == 1 ? "" : "s");
        say_disagreeing(r, &st);
        if (!st.traced)
            report_say(r, "recorded with --profile: when each lane did what is unknown");
    }
    sonde_statistics_fini(&st);
    return rc;
}

static json_t *row_json(const struct report *r, const struct sonde_statistics *st, const struct sonde_share *share)
{
    const double all = (double)(st->to_ns - st->from_ns) * (st->queues + st->threads);
    struct sonde_text text = {0};
    sonde_name_share(&r->q, &text, share);
    json_t *value = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:b, s:f}",
        "kind", sonde_share_name(share->kind), "label", report_json_text(sonde_text_get(&text)),
        "name", report_json_text(share->frame.name), "file", report_json_text(share->frame.file),
        "module", report_json_text(share->frame.module), "node", share->node ? json_integer(share->node) : json_null(),
        "queue_ns", share->queue_ns, "thread_ns", share->thread_ns, "sampled_ns", share->sampled_ns,
        "pooled_ns", share->pooled_ns, "error_ns", share->error_ns, "cpu_ns", st->checked ? json_real(share->cpu_ns) : json_null(),
        "cpu_error_ns", st->checked ? json_real(share->cpu_error_ns) : json_null(), "disagrees", (int)share->disagrees,
        "share", (share->queue_ns + share->thread_ns) / all);
    sonde_text_fini(&text);
    return value;
}

json_t *report_statistics_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_statistics st = {0};
    json_t *value = NULL;
    if (!compute(r, &st, diag)) {
        json_t *rows = json_array();
        for (size_t i = 0; i < st.rows.count && (!r->q.limit || i < r->q.limit); i++)
            json_array_append_new(rows, row_json(r, &st, &st.rows.items[i]));
        value = json_pack("{s:I, s:I, s:i, s:i, s:o, s:b, s:I, s:o}", "from_ns", (json_int_t)st.from_ns,
            "to_ns", (json_int_t)st.to_ns, "queues", (int)st.queues, "threads", (int)st.threads,
            "depth", r->options->depth > 0 ? json_integer(r->options->depth) : json_null(), "traced", (int)st.traced,
            "no_times", (json_int_t)st.no_times, "rows", rows);
    }
    sonde_statistics_fini(&st);
    return value;
}

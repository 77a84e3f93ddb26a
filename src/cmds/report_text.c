/* report_text.c - the command line and the ledger line as text; values as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "report.h"
#include "views/json.h"

void report_command(const struct report *r, struct sonde_text *out)
{
    const json_t *command = json_object_get(r->q.m->manifest, "command"), *word;
    size_t index;
    json_array_foreach(command, index, word) {
        const char *text = json_string_value(word);
        if (!text)
            continue;
        if (index == 0)
            text = sonde_path_base(text);
        sonde_text_add(out, index ? " " : "");
        sonde_text_add_word(out, text);
    }
    if (!out->length && r->q.m->process_count)
        sonde_text_add(out, sonde_path_base(r->q.m->processes[0].header.executable));
    if (!out->length)
        sonde_text_add(out, "unknown program");
}

/* ---- the ledger line ---------------------------------------------------------------- */

static void add_count(struct sonde_text *out, uint64_t n, const char *text)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(out, "%s%s %s", out->length ? ", " : "data: ", sonde_number_count(number, n), text);
}

void report_ledger_line(const struct report *r, struct sonde_text *out)
{
    const struct sonde_totals *t = &r->q.totals;
    char own[SONDE_NUMBER_MAX], wall[SONDE_NUMBER_MAX], bound[SONDE_NUMBER_MAX];
    add_count(out, t->ledger.seen, t->ledger.seen == 1 ? "operation" : "operations");
    add_count(out, t->dropped_operations, "dropped");
    add_count(out, t->ledger.unmatched, "unmatched");
    if (t->in_flight)
        add_count(out, t->in_flight, "in flight when the program ended");
    if (t->ledger.unplaced)
        add_count(out, t->ledger.unplaced, "unplaced");
    if (t->ledger.busy_clipped_ns)
        sonde_text_add(out, ", busy times are lower bounds");
    if (t->ledger.bad_time)
        add_count(out, t->ledger.bad_time, "with bad times");
    if (t->ledger.failed)
        add_count(out, t->ledger.failed, "failed");
    if (t->dropped_trace_rows)
        add_count(out, t->dropped_trace_rows, "missing in the trace");
    if (t->ledger.unwind_failed)
        add_count(out, t->ledger.unwind_failed, t->ledger.unwind_failed == 1 ? "stack incomplete" : "stacks incomplete");
    if (t->damaged_chunks)
        add_count(out, t->damaged_chunks, t->damaged_chunks == 1 ? "damaged chunk skipped" : "damaged chunks skipped");
    if (t->clock_known && !t->clock_bound_ns)
        sonde_text_add(out, " · host's clock");
    else if (t->clock_known)
        sonde_text_format(out, " · clock ± %s", sonde_number_time(bound, (double)t->clock_bound_ns));
    if (t->process_wall_ns)
        sonde_text_format(out, " · overhead %s of %s",
                          sonde_number_percent(own, (double)t->ledger.hook_ns, (double)t->process_wall_ns),
                          sonde_number_time(wall, (double)t->process_wall_ns));
    if (t->off)
        sonde_text_format(out, " · the agent switched itself off (see ledger)");
}

/* ---- JSON ------------------------------------------------------------------------------ */

json_t *report_json_count(uint64_t n)
{
    return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

json_t *report_json_ns(bool known, double ns)
{
    return !known ? json_null() : json_integer(ns < 9e18 ? (json_int_t)llround(ns) : INT64_MAX);
}

json_t *report_json_text(const char *text)
{
    struct sonde_text room = {0}; /* for a path or name that is not UTF-8 */
    json_t *value = *text ? json_string(sonde_utf8_clean(text, &room)) : json_null();
    sonde_text_fini(&room);
    return value;
}

json_t *report_view_json(const struct report *r, const struct sonde_view *view, struct sonde_diag *diag)
{
    struct sonde_view_data data = {0};
    struct sonde_text text = {0};
    json_t *value = NULL;
    if (!sonde_view_make(view, &r->q, &data, diag)) {
        sonde_view_json(view, &data, &text);
        value = json_loads(sonde_text_get(&text), 0, NULL);
    }
    sonde_text_fini(&text);
    sonde_view_data_fini(&data);
    return value;
}

json_t *report_json_frame(const struct sonde_cct_node *node)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", report_json_text(node->name),
                     "file", report_json_text(node->file),
                     "line", node->line ? json_integer(node->line) : json_null(),
                     "module", report_json_text(node->module));
}

json_t *report_json_frames(const struct report *r, uint32_t leaf)
{
    uint32_t nodes[8], count = leaf ? sonde_profile_callers(r->q.profile, leaf, nodes, 8) : 0;
    json_t *frames = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(frames, report_json_frame(&r->q.profile->nodes.items[nodes[i]]));
    return frames;
}

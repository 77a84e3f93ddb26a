/* report_advice.c - the view `advice`: what to change, most to save first. */
#include <stdio.h>
#include <string.h>

#include "analyze/advice.h"
#include "analyze/trace/trace.h"
#include "report.h"

enum {
    BRIEF = 3,               /* in the summary */
    FRAMES = 3,              /* of a place */
    MORE_FRAMES = 8,         /* where fewer look like another's */
    BRIEF_ROWS = 1 << 20,    /* of the trace: beyond, the summary would be waited for */
    PIECE_LEAST = 20,        /* a function's piece is named from one part in so many on */
};

/* Of the run's time: a rule's share of one process is of that process's time. */
static uint64_t wall_ns(const struct report *r, const struct sonde_advice *a)
{
    return sonde_process_wall_ns(&r->q.m->processes[a->process]);
}

static bool worth_saying(const struct report *r, const struct sonde_advice *a)
{
    const uint64_t wall = wall_ns(r, a);
    return !wall || (double)a->saving_ns * 100 >= r->q.min_percent * (double)wall;
}

static void place(const struct report *r, const struct sonde_advice *a, uint32_t frames, struct sonde_text *out)
{
    char more[SONDE_NUMBER_MAX];
    if (a->node)
        sonde_name_callers(&r->q, out, a->node, frames);
    if (!out->length)
        sonde_text_add(out, "unknown");
    if (a->places > 1)
        sonde_text_format(out, " and %s other place%s", sonde_number_count(more, a->places - 1),
                          a->places > 2 ? "s" : "");
}

/* Where a function that others do the work for has its time; one that has it itself needs no line. */
static void print_pieces(const struct report *r, const struct sonde_advice *a)
{
    struct sonde_text line = {0};
    char share[SONDE_NUMBER_MAX];
    for (uint32_t i = 0; i < a->piece_count; i++) {
        if (a->pieces[i].ns * PIECE_LEAST < (double)a->saving_ns)
            break;
        sonde_text_format(&line, "%s%s in ", line.length ? ", " : "",
                          sonde_number_percent(share, a->pieces[i].ns, (double)a->saving_ns));
        sonde_name_frame(&r->q, &line, &r->q.profile->nodes.items[a->pieces[i].node]);
    }
    if (line.length)
        report_say(r, "   of it %s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static void print_one(const struct report *r, const struct sonde_advice *a, size_t number)
{
    struct sonde_text where = {0}, device = {0};
    char saving[SONDE_NUMBER_MAX], share[SONDE_NUMBER_MAX];
    place(r, a, FRAMES, &where);
    if (a->device)
        sonde_name_device(&r->q, &device, a->process, a->device);
    report_say(r, "%zu. %s: at most %s, %s of the run", number, a->title,
               sonde_number_time(saving, (double)a->saving_ns),
               sonde_number_percent(share, (double)a->saving_ns, (double)wall_ns(r, a)));
    report_say(r, "   %s", sonde_text_get(&a->evidence));
    report_say(r, "   in %s", sonde_text_get(&where));
    print_pieces(r, a);
    if (device.length && r->q.totals.devices.count > 1)
        report_say(r, "   on device %s", sonde_text_get(&device));
    report_say(r, "   %s", a->change);
    fputc('\n', stdout);
    sonde_text_fini(&where);
    sonde_text_fini(&device);
}

static void print_limits(const struct report *r, const struct sonde_advices *advices)
{
    char looked_at[SONDE_NUMBER_MAX], rows[SONDE_NUMBER_MAX];
    if (!advices->traced)
        report_say(r, "There is no trace: the rules that look at time lines (launches, waits, copies, queues) were not "
                      "asked. Record with --trace.");
    if (advices->rows_looked_at < advices->rows)
        report_say(r, "The rules looked at %s of %s rows of the trace: savings may be more than shown.",
                   sonde_number_count(looked_at, advices->rows_looked_at), sonde_number_count(rows, advices->rows));
    if (advices->windows > 1)
        report_say(r, "The trace was looked at in %s parts, one after the other; what spans two of a process is seen in neither.",
                   sonde_number_count(rows, advices->windows));
    report_say(r, "Each saving is an upper bound, seen alone; they do not add up. docs/advice.md defines the rules.");
}

int report_advice_text(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_advices advices = {0};
    size_t shown = 0, all = 0;
    int rc = sonde_advice_compute(r->q.m, r->q.profile, NULL, 0, &advices);
    for (size_t i = 0; i < advices.items.count && !rc; i++) {
        if (!worth_saying(r, &advices.items.items[i]))
            continue;
        if (!r->q.limit || all < r->q.limit)
            print_one(r, &advices.items.items[i], ++shown);
        all++;
    }
    if (rc) {
        sonde_diag_set(diag, rc, r->q.path, "cannot make the advice for");
    } else {
        if (!all)
            report_say(r, "No rule found %.3g %% of the run to save (--min-percent).", r->q.min_percent);
        report_more(r, "advice", shown, all);
        print_limits(r, &advices);
    }
    sonde_advice_fini(&advices);
    return rc;
}

/* As many callers as tell it from the others. */
static void brief_place(const struct report *r, const struct sonde_advice *const *shown, size_t count, size_t at,
                        struct sonde_text *out)
{
    bool alike = false;
    place(r, shown[at], FRAMES, out);
    for (size_t i = 0; i < count; i++) {
        struct sonde_text other = {0};
        place(r, shown[i], FRAMES, &other);
        alike |= i != at && shown[i]->title == shown[at]->title && strcmp(sonde_text_get(out), sonde_text_get(&other)) == 0;
        sonde_text_fini(&other);
    }
    if (alike) {
        sonde_text_fini(out);
        place(r, shown[at], MORE_FRAMES, out);
    }
}

static void print_brief(const struct report *r, const struct sonde_advice *const *shown, size_t count)
{
    static const struct table_column columns[] = {
        {"Advice", TABLE_LEFT | TABLE_MAIN, 0}, {"saves at most", TABLE_RIGHT, 0}, {"of the run", TABLE_RIGHT, 1},
        {"where", TABLE_LEFT | TABLE_STACK, 0},
    };
    struct table t = {.columns = columns, .column_count = 4, .readable = 32};
    for (size_t i = 0; i < count; i++) {
        const struct sonde_advice *a = shown[i];
        struct sonde_text where = {0};
        brief_place(r, shown, count, i, &where);
        table_cell(&t, a->title);
        table_time(&t, true, (double)a->saving_ns);
        table_percent(&t, (double)a->saving_ns, (double)wall_ns(r, a));
        table_cell(&t, sonde_text_get(&where));
        sonde_text_fini(&where);
    }
    fputc('\n', stdout);
    table_print(&t, r);
    report_say(r, "first: %s", shown[0]->change);
}

int report_advice_brief(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag)
{
    const struct sonde_advice *shown[BRIEF];
    struct sonde_advices advices = {0};
    size_t count = 0;
    int rc = 0;
    if (sonde_trace_rows(r->q.m, SONDE_READ_OPS | SONDE_READ_CALLS) <= BRIEF_ROWS)
        rc = sonde_advice_compute(r->q.m, r->q.profile, blame, 0, &advices);
    for (size_t i = 0; i < advices.items.count && count < BRIEF && !rc; i++)
        if (worth_saying(r, &advices.items.items[i]))
            shown[count++] = &advices.items.items[i];
    if (count)
        print_brief(r, shown, count);
    if (rc)
        sonde_diag_set(diag, rc, r->q.path, "cannot make the advice for");
    sonde_advice_fini(&advices);
    return rc;
}

static json_t *one_json(const struct report *r, const struct sonde_advice *a)
{
    json_t *pieces = json_array();
    for (uint32_t i = 0; i < a->piece_count; i++)
        json_array_append_new(pieces, json_pack("{s:I, s:o}", "ns", (json_int_t)a->pieces[i].ns,
                                                "frame", report_json_frame(&r->q.profile->nodes.items[a->pieces[i].node])));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "rule", a->rule, "title", a->title,
                     "change", a->change, "evidence", sonde_text_get(&a->evidence),
                     "process", r->q.m->processes[a->process].name,
                     "device", a->device ? json_integer(a->device - 1) : json_null(), "places", (json_int_t)a->places,
                     "count", (json_int_t)a->count, "bytes", (json_int_t)a->bytes,
                     "looked_at_ns", (json_int_t)a->looked_at_ns, "saving_ns", (json_int_t)a->saving_ns,
                     "pieces", pieces, "frames", report_json_frames(r, a->node));
}

json_t *report_advice_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_advices advices = {0};
    json_t *list = json_array(), *value = NULL;
    int rc = sonde_advice_compute(r->q.m, r->q.profile, NULL, 0, &advices);
    for (size_t i = 0; i < advices.items.count && !rc && (!r->q.limit || json_array_size(list) < r->q.limit); i++)
        if (worth_saying(r, &advices.items.items[i]))
            json_array_append_new(list, one_json(r, &advices.items.items[i]));
    if (rc) {
        sonde_diag_set(diag, rc, r->q.path, "cannot make the advice for");
        json_decref(list);
    } else {
        value = json_pack("{s:b, s:I, s:I, s:o}", "traced", advices.traced, "rows", (json_int_t)advices.rows,
                          "rows_looked_at", (json_int_t)advices.rows_looked_at, "advice", list);
    }
    sonde_advice_fini(&advices);
    return value;
}

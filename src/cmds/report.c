/* report.c - `sonde report`: opens a measurement, computes what all views share, runs one view. */
#include "analyze/symbols.h"
#include "report.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/profile_rows.h"
#include "command.h"

enum { PLAIN_COLUMNS = 100, FEWEST_COLUMNS = 40, DEFAULT_LIMIT = 10, VIEW_LIMIT = 50 };

const char *const report_by_names[] = {"line", "function", "module", "kernel", "object", NULL};

const struct report_view report_views[] = {
#define VIEW(view, needs, text) {#view, text, needs, false, report_##view##_text, report_##view##_json}
    VIEW(summary, true, "what ran, how busy each device was, the top kernels and copies"),
    VIEW(profile, true, "calling contexts: top-down, bottom-up or flat, with any columns"),
    VIEW(kernels, true, "kernels: count, times, percentiles, who launched them"),
    VIEW(copies, true, "copies, maps and fills: count, bytes, times, bandwidth"),
    VIEW(api, false, "calls of the GPU runtime: count and time on the host"),
    VIEW(statistics, true, "the exact share of each routine in a time range, lanes and call depth"),
    VIEW(lanes, true, "time lines: threads and queues, how busy each was"),
    VIEW(blame, true, "which CPU code ran while the devices were idle"),
    VIEW(critical, true, "the critical path: what decided how long the run took, and what faster parts would save"),
    VIEW(overlap, true, "copies and communication hidden behind computation, per device and rank"),
    VIEW(objects, false, "data objects: who allocated how much, and when most was alive"),
    VIEW(memory, false, "memory over time: peaks, leaks, what was held for nothing"),
    VIEW(advice, true, "what to change, with evidence, place and what it could save"),
    VIEW(ledger, false, "what was seen, dropped, unmatched; the overhead"),
#undef VIEW
    {"contexts", "the same as profile", true, true, report_contexts_text, report_contexts_json},
    {.name = NULL},
};

static const struct report_view *find_view(const char *name)
{
    for (const struct report_view *v = report_views; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

static const char *view_word(size_t index)
{
    bool there = index < sizeof report_views / sizeof *report_views && !report_views[index].hidden; /* those come last */
    return there ? report_views[index].name : NULL;
}

/* ---- nothing to show ------------------------------------------------------------ */

/* A reason for no operation: missing symbols are none. */
static const struct sonde_row_note *first_note(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t k = 0; k < m->processes[i].note_count; k++)
            if (m->processes[i].notes[k].text[0] && !sonde_symbols_is_note(m->processes[i].notes[k].text))
                return &m->processes[i].notes[k];
    return NULL;
}

static bool ended_without_exit(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        if (m->processes[i].header.state == SONDE_PROCESS_RUNNING)
            return true;
    return false;
}

static int no_operations(const struct report *r, struct sonde_diag *diag)
{
    const struct sonde_totals *t = &r->totals;
    sonde_diag_set(diag, SONDE_EEMPTY, r->path, "no operation is in");
    const struct sonde_row_note *note = first_note(r->m);
    if (r->m->process_count == 0) {
        snprintf(diag->why, sizeof diag->why, "no process of the program called a GPU runtime that Sonde knows");
        sonde_diag_hint(diag, "'sonde doctor' says which runtimes are seen here");
    } else if (t->dropped_operations) {
        snprintf(diag->why, sizeof diag->why, "all %llu operations were dropped",
                 (unsigned long long)t->dropped_operations);
        sonde_diag_hint(diag, "'sonde report %s ledger' says why", r->word);
    } else if (t->ledger.seen) {
        snprintf(diag->why, sizeof diag->why, "%llu were enqueued, none had finished when the program ended",
                 (unsigned long long)t->ledger.seen);
        sonde_diag_hint(diag, "'sonde report %s ledger' says more", r->word);
    } else if (note) {
        snprintf(diag->why, sizeof diag->why, "%.190s", note->text);
        sonde_diag_hint(diag, "'sonde report %s ledger' says more", r->word);
    } else if (ended_without_exit(r->m)) {
        snprintf(diag->why, sizeof diag->why, "the program was killed, or crashed, before an operation was known to Sonde");
        sonde_diag_hint(diag, "at most the last second of a program is lost so; 'sonde report %s api' shows its calls", r->word);
    } else {
        snprintf(diag->why, sizeof diag->why, "the program loaded a GPU runtime, but enqueued nothing while recording");
        sonde_diag_hint(diag, "was the range of --delay, --duration or sonde_start() reached? 'sonde report %s api' shows its calls",
                        r->word);
    }
    return SONDE_EEMPTY;
}

static bool has_operations(const struct report *r)
{
    return r->profile->ops.count > 0;
}

/* ---- running a view ---------------------------------------------------------------- */

static int print_json(const struct report_view *view, const struct report *r, struct sonde_diag *diag)
{
    json_t *value = view->json(r, diag);
    if (!value)
        return diag->code ? diag->code : sonde_diag_set(diag, SONDE_ENOMEM, r->path, "cannot make the report of");
    int rc = json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(value);
    if (rc)
        return sonde_diag_set(diag, SONDE_EIO, NULL, "cannot write the report");
    fputc('\n', stdout);
    return 0;
}

/* Open the measurement and compute what all views need. */
static int load(struct report *r, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading", false);
    int rc = sonde_measurement_open(r->path, &r->m, diag);
    if (!rc)
        sonde_say_manifest(r->m);
    if (!rc)
        rc = sonde_profile_build(r->m, &r->profile, diag);
    if (!rc && (sonde_totals_compute(r->m, &r->totals) || report_modules_find(r)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, r->path, "cannot read");
    sonde_progress_end(progress);
    return rc;
}

static int show(const struct report_view *view, const struct report_options *o, struct report *r,
                struct sonde_diag *diag)
{
    int rc = load(r, diag);
    if (!rc && view->needs_operations && !has_operations(r))
        return no_operations(r, diag);
    if (!rc)
        rc = o->json ? print_json(view, r, diag) : view->text(r, diag);
    if (!rc && !o->json)
        rc = report_caveats_text(r, view->name, diag);
    /* The ledger of an empty measurement is still worth reading; the measurement is still a failed one. */
    if (!rc && !has_operations(r))
        rc = no_operations(r, diag);
    return rc;
}

static struct report prepare(const struct report_options *o, const struct report_view *view)
{
    int columns = sonde_terminal_columns(STDOUT_FILENO);
    const char *wanted = getenv("COLUMNS");
    if (!columns && wanted)
        columns = atoi(wanted);
    return (struct report){
        .options = o,
        .min_percent = o->min_percent >= 0 ? o->min_percent : o->json ? 0 : 1,
        .limit = o->limit >= 0 ? (uint32_t)o->limit : o->json ? 0 : view == report_views ? DEFAULT_LIMIT : VIEW_LIMIT,
        .columns = columns <= 0 ? PLAIN_COLUMNS : columns < FEWEST_COLUMNS ? FEWEST_COLUMNS : columns,
        .colors = !o->json && sonde_colors((enum sonde_color)o->color, STDOUT_FILENO),
    };
}

/* An option that was given and says nothing to this view; NULL: there is none. `meant` is the view that it is for. */
static const char *misplaced(const struct report_options *o, const char *view, const char **meant)
{
    const bool profile = strcmp(view, "profile") == 0 || strcmp(view, "contexts") == 0;
    const bool statistics = strcmp(view, "statistics") == 0;
    const struct { const char *name, *meant; bool given, belongs; } options[] = {
        {"top-down", "profile", o->shape == 1 + SONDE_PROFILE_TOP_DOWN, profile},
        {"bottom-up", "profile", o->shape == 1 + SONDE_PROFILE_BOTTOM_UP, profile},
        {"by", "profile", o->by >= 0, profile},
        {"metric", "profile", o->metric, profile},
        {"derive", "profile", o->derive, profile},
        {"sort", "profile", o->sort, profile},
        {"root", "profile", o->root, profile},
        {"ids", "profile", o->ids, profile},
        {"depth", "profile", o->depth >= 0, profile || statistics},
        {"from", "statistics", o->from, statistics},
        {"to", "statistics", o->to, statistics},
        {"lane", "statistics", o->lane, statistics},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && !options[i].belongs) {
            *meant = options[i].meant;
            return options[i].name;
        }
    return NULL;
}

/* What is computed takes tens of megabytes part by part, process by process: pages that were given back would be
 * cleared anew each time. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that it takes */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/* DIR and VIEW, either of which may be missing: a view's name alone is a view, unless a measurement is called so. */
static const char *read_operands(int argc, char **argv, const char **given)
{
    const bool view_alone = argc == 1 && find_view(argv[0]) && !sonde_is_measurement(argv[0]);
    *given = argc && !view_alone ? argv[0] : NULL;
    return view_alone ? argv[0] : argc > 1 ? argv[1] : report_views[0].name;
}

static int say_no_view(int argc, char **argv, const char *name)
{
    struct sonde_nearest nearest = {.word = name};
    struct sonde_text word = {0};
    if (argc > 1 && find_view(argv[0])) {
        sonde_text_add_path(&word, name);
        const int status = sonde_say_usage(&sonde_command_report, "there is no view '%s'; did you mean 'sonde report %s %s'",
                                           name, sonde_text_get(&word), argv[0]);
        sonde_text_fini(&word);
        return status;
    }
    for (const struct report_view *v = report_views; v->name; v++)
        sonde_nearest_try(&nearest, v->name);
    return sonde_say_unknown(&sonde_command_report, &nearest, "there is no view '%s'", name);
}

static int report(const struct report_view *view, const struct report_options *o, const char *path)
{
    struct report r = prepare(o, view);
    struct sonde_diag diag = {0};
    struct sonde_text word = {0};
    sonde_text_add_path(&word, path);
    r.path = path;
    r.word = sonde_text_get(&word);
    int rc = report_read_columns(&r);
    if (!rc)
        rc = report_read_range(&r);
    if (rc) {
        sonde_columns_fini(&r.columns_chosen);
        sonde_text_fini(&word);
        return rc;
    }
    struct sonde_pager pager;
    sonde_pager_begin(&pager, !o->no_pager);
    rc = show(view, o, &r, &diag);
    sonde_pager_end(&pager);
    if (rc)
        sonde_say_diag(&diag);
    sonde_columns_fini(&r.columns_chosen);
    sonde_profile_destroy(r.profile);
    sonde_totals_fini(&r.totals);
    sonde_vector_fini(&r.modules);
    if (r.m)
        sonde_measurement_close(r.m);
    sonde_text_fini(&word);
    return rc ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}

static int run(const void *options, int argc, char **argv)
{
    const struct report_options *o = options;
    const char *given, *name = read_operands(argc, argv, &given);
    const struct report_view *view = find_view(name);
    struct sonde_diag diag = {0};
    char path[PATH_MAX];
    if (!view)
        return say_no_view(argc, argv, name);
    const char *meant, *wrong = misplaced(o, name, &meant);
    if (wrong)
        return sonde_say_usage(&sonde_command_report, "--%s is for the view %s, not for %s", wrong, meant, name);
    if (sonde_find_measurement(given, argc == 1 ? view_word : NULL, path, &diag))
        return sonde_say_diag(&diag);
    if (!given)
        sonde_say("%s is the newest measurement here", path);
    keep_memory();
    return report(view, o, path);
}

static const struct sonde_option options_table[] = {
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, json),
     .help = "Print JSON for scripts. The schemas are in docs/schema; null means unknown."},
    {.name = "color", .type = SONDE_OPTION_CHOICE, .argument = "WHEN", .choices = sonde_color_names,
     .offset = offsetof(struct report_options, color),
     .help = "auto: on a terminal, unless NO_COLOR is set (the default); always; or never."},
    {.name = "no-pager", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, no_pager),
     .help = "Print without $SONDE_PAGER, $PAGER or less, which a terminal gets."},
    {.name = "min-percent", .type = SONDE_OPTION_REAL, .argument = "P", .low = 0, .high = 100,
     .offset = offsetof(struct report_options, min_percent),
     .help = "profile, blame, critical, advice: leave out what is below P percent of the whole (default 1; 0 with --json, "
             "but 0.1 for profile --bottom-up)."},
    {.name = "limit", .letter = 'n', .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = 1000000000,
     .offset = offsetof(struct report_options, limit),
     .help = "Rows of a table (default 10 in the summary, 50 in the other views, all with --json and in trees; 0 is all)."},
    {.name = "top-down", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, shape),
     .value = 1 + SONDE_PROFILE_TOP_DOWN, .help = "profile: from callers to what they call (the default)."},
    {.name = "bottom-up", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, shape),
     .value = 1 + SONDE_PROFILE_BOTTOM_UP, .help = "profile: each routine, its callers below it."},
    {.name = "by", .type = SONDE_OPTION_CHOICE, .argument = "WHAT", .choices = report_by_names,
     .offset = offsetof(struct report_options, by),
     .help = "profile: a flat list by line, function, module, kernel or object; with --top-down or --bottom-up the "
             "first three group that tree."},
    {.name = "metric", .letter = 'm', .type = SONDE_OPTION_STRING, .argument = "LIST",
     .offset = offsetof(struct report_options, metric),
     .help = "profile: columns, such as gpu,ops,bytes,api,sync,queue,cpu,blame. The first one sorts."},
    {.name = "derive", .type = SONDE_OPTION_STRING, .argument = "NAME=FORMULA",
     .offset = offsetof(struct report_options, derive),
     .help = "profile: a column computed from others with + - * / ( ) min max and numbers, such as "
             "'each=gpu/ops'; several are separated by ';'. Times are in nanoseconds."},
    {.name = "sort", .type = SONDE_OPTION_STRING, .argument = "COLUMN", .offset = offsetof(struct report_options, sort),
     .help = "profile: sort by this column; COLUMN:excl is its exclusive side."},
    {.name = "root", .type = SONDE_OPTION_STRING, .argument = "CONTEXT", .offset = offsetof(struct report_options, root),
     .help = "profile: only what this calling context did: a function, a place such as heat.c:81, or a number that "
             "--ids shows."},
    {.name = "ids", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, ids),
     .help = "profile: show the number of each calling context."},
    {.name = "depth", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 1000000000,
     .offset = offsetof(struct report_options, depth), .help = "profile: levels of the tree; statistics: frames from the outermost on (default all)."},
    {.name = "from", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = offsetof(struct report_options, from),
     .help = "statistics: begin of the range, since the run began: 0.5s, 120ms, or 37% of the run (default 0)."},
    {.name = "to", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = offsetof(struct report_options, to),
     .help = "statistics: end of the range (default: that of the run)."},
    {.name = "lane", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = offsetof(struct report_options, lane),
     .help = "statistics: lanes, separated by commas: a queue's number or a thread's id as the view lanes shows them, "
             "PROCESS:NUMBER, queues, or threads (default all)."},
    {.name = NULL},
};

static const struct sonde_example examples[] = {
    {"sonde report", "the summary of the newest measurement here"},
    {"sonde report heat kernels", "the kernels of heat.sonde"},
    {"sonde report heat.sonde profile --min-percent 5", "who asked for the heaviest work"},
    {"sonde report heat.sonde profile --bottom-up --metric cpu,api", "where threads spend their time, and who calls it"},
    {"sonde report heat.sonde statistics --from 50% --depth 2", "what the second half of the run went to"},
    {"sonde report heat.sonde profile --by kernel --derive 'each=gpu/ops'", "kernels with a column of one's own"},
    {"sonde report heat.sonde kernels --json", "for scripts"},
    {NULL, NULL},
};

static const struct report_options defaults = {.min_percent = -1, .limit = -1, .depth = -1, .by = -1};

const struct sonde_command sonde_command_report = {
    .name = "report",
    .summary = "answer questions about a measurement as text or JSON",
    .usage = "[OPTION...] [DIR] [VIEW]",
    .description =
        "Reads the measurement DIR (DIR.sonde when there is no DIR; without one the newest in the current folder), which it "
        "never changes, and prints one view of it:\n\n"
        "summary: what ran, how busy each device was, the top kernels and copies (the default).\n\n"
        "kernels: count, times, percentiles, who launched them.\n\n"
        "copies: copies, maps and fills with bytes and bandwidth.\n\n"
        "api: calls of the GPU runtime and their time on the host.\n\n"
        "profile: calling contexts top-down, bottom-up or flat, inclusive and exclusive, with any columns.\n\n"
        "statistics: the exact share of each routine in a time range, lanes and call depth.\n\n"
        "lanes: time lines of threads and queues, how busy each was.\n\n"
        "blame: which CPU code ran while the devices were idle, by routine and calling context.\n\n"
        "critical: the critical path, what it is made of, and what parts twice as fast would save.\n\n"
        "overlap: how much of copies and communication is hidden behind computation.\n\n"
        "objects: who allocated how much, and how much was alive.\n\n"
        "memory: how much was held over the run and by whom at the peak; leaks; what was never used or held for nothing.\n\n"
        "advice: what to change, with evidence, place and what it could save.\n\n"
        "ledger: what was seen, dropped and unmatched, and the overhead.",
    .options = options_table,
    .examples = examples,
    .notes = "A dash means unknown, which is not zero.\n\n"
             "A measurement without operations is an error: the reason is printed and the status is 1.",
    .options_bytes = sizeof(struct report_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_MEASUREMENT,
    .operands_min = 0,
    .operands_max = 2,
    .operand_word = view_word,
    .run = run,
};

/* report.c - `sonde report`: opens a measurement, computes what all views share, runs one view. */
#include "report.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/metrics/profile_rows.h"
#include "analyze/symbols/symbols.h"
#include "cmds/command.h"
#include "views/json.h"

enum {
    PLAIN_COLUMNS = 100,
    FEWEST_COLUMNS = 40,
    DEFAULT_LIMIT = 10,
    VIEW_LIMIT = 50,
};

static const char *view_word(size_t index)
{
    for (const struct sonde_view *const *v = sonde_views; *v && !(*v)->hidden; v++) /* hidden ones come last */
        if (!index--)
            return (*v)->name;
    return NULL;
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
    const struct sonde_totals *t = &r->q.totals;
    sonde_diag_set(diag, SONDE_EEMPTY, r->q.path, "no operations in");
    const struct sonde_row_note *note = first_note(r->q.m);
    if (r->q.m->process_count == 0) {
        snprintf(diag->why, sizeof diag->why, "no process of the program called a GPU API known to Sonde");
        sonde_diag_hint(diag, "'sonde doctor' shows which ones are found here");
    } else if (t->dropped_operations) {
        snprintf(diag->why, sizeof diag->why, "all %llu operations were dropped",
                 (unsigned long long)t->dropped_operations);
        sonde_diag_hint(diag, "see 'sonde report %s ledger' for the causes", r->word);
    } else if (t->ledger.seen) {
        snprintf(diag->why, sizeof diag->why, "%llu were enqueued, but none had completed when the program ended",
                 (unsigned long long)t->ledger.seen);
        sonde_diag_hint(diag, "see 'sonde report %s ledger'", r->word);
    } else if (note) {
        snprintf(diag->why, sizeof diag->why, "%.190s", note->text);
        sonde_diag_hint(diag, "see 'sonde report %s ledger'", r->word);
    } else if (ended_without_exit(r->q.m)) {
        snprintf(diag->why, sizeof diag->why, "the program was killed, or crashed, before Sonde recorded an operation");
        sonde_diag_hint(diag, "at most the last second of a program is lost that way; see 'sonde report %s api'", r->word);
    } else {
        snprintf(diag->why, sizeof diag->why, "the program loaded a GPU runtime, but enqueued nothing while recording");
        sonde_diag_hint(diag, "was the recorded window (--delay, --duration, sonde_start()) reached? see 'sonde report %s api'",
                        r->word);
    }
    return SONDE_EEMPTY;
}

static bool has_operations(const struct report *r)
{
    return r->q.profile->ops.count > 0;
}

/* ---- running a view ---------------------------------------------------------------- */

static int print_json(const struct sonde_view *view, const struct sonde_view_data *data, struct sonde_diag *diag)
{
    struct sonde_text text = {0};
    sonde_view_json(view, data, &text);
    const int rc = text.failed ? sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot write the report") : 0;
    if (!rc)
        fwrite(sonde_text_get(&text), 1, text.length, stdout); /* whether it came through is looked at when all is closed */
    sonde_text_fini(&text);
    return rc;
}

/* What a view that failed says of its error. */
static void say_more(const struct sonde_view_data *data)
{
    for (const struct sonde_view_item *item = data->items; item; item = item->next) {
        struct sonde_text clean = {0};
        if (item->table || item->tone != SONDE_TONE_ERROR)
            continue;
        sonde_text_add_clean(&clean, item->sentence);
        fprintf(stderr, "%s\n", sonde_text_get(&clean));
        sonde_text_fini(&clean);
    }
}

static int print(const struct sonde_view *view, const struct report *r, struct sonde_diag *diag)
{
    struct sonde_view_data data = {0};
    int rc = sonde_view_make(view, &r->q, &data, diag);
    if (!rc && r->q.complete)
        rc = print_json(view, &data, diag);
    else if (!rc)
        report_lay_out(r, view, &data);
    else
        say_more(&data);
    sonde_view_data_fini(&data);
    return rc;
}

/* Open the measurement and compute what all views need. */
static int load(struct report *r, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading", false);
    int rc = sonde_measurement_open(r->q.path, &r->q.m, diag);
    if (!rc)
        sonde_say_manifest(r->q.m);
    if (!rc)
        rc = sonde_query_prepare(&r->q, diag);
    sonde_progress_end(progress);
    return rc;
}

static int show(const struct sonde_view *view, struct report *r, struct sonde_diag *diag)
{
    int rc = load(r, diag);
    if (!rc && view->needs_operations && !has_operations(r))
        return no_operations(r, diag);
    if (!rc)
        rc = print(view, r, diag);
    /* The ledger of an empty measurement is still worth reading; the measurement is still a failed one. */
    if (!rc && !has_operations(r))
        rc = no_operations(r, diag);
    return rc;
}

static struct sonde_progress *begin(const char *text)
{
    return sonde_progress_begin(text, false);
}

static struct report prepare(const struct report_options *o, const struct sonde_view *view)
{
    int columns = sonde_terminal_columns(STDOUT_FILENO);
    const char *wanted = getenv("COLUMNS");
    if (!columns && wanted)
        columns = atoi(wanted);
    return (struct report){
        .options = o,
        .q = {
            .complete = o->json,
            .min_percent = o->min_percent >= 0 ? o->min_percent : (o->json ? 0 : 1),
            .range = {.lanes = o->lane, .depth = o->depth > 0 ? (uint32_t)o->depth : 0},
            .values = {.threshold_given = o->threshold >= 0, .threshold = o->threshold / 100, .mantissa_given = o->mantissa >= 0, .mantissa = o->mantissa > 0 ? (unsigned)o->mantissa : 0, .object = o->object, .graph = o->graph, .vertex_given = o->vertex >= 0, .vertex = o->vertex > 0 ? (uint32_t)o->vertex : 0, .important = o->important},
            .min_percent_given = o->min_percent >= 0,
            .limit_given = o->limit >= 0,
            .limit = o->limit >= 0 ? (uint32_t)o->limit : (o->json ? 0 : (view == *sonde_views ? DEFAULT_LIMIT : VIEW_LIMIT)),
            .begin = begin,
            .end = sonde_progress_end,
        },
        .columns = columns <= 0 ? PLAIN_COLUMNS : (columns < FEWEST_COLUMNS ? FEWEST_COLUMNS : columns),
        .colors = !o->json && sonde_colors((enum sonde_color)o->color, STDOUT_FILENO),
    };
}

static bool takes(const struct sonde_view *view, const char *option)
{
    for (const char *const *o = view->options; o && *o; o++)
        if (strcmp(*o, option) == 0)
            return true;
    return false;
}

/* An option that was given and says nothing to this view; NULL: there is none. `meant` is the first view that it is for. */
static const char *misplaced(const struct report_options *o, const struct sonde_view *view, const char **meant)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {
        {"top-down", o->shape == 1 + SONDE_PROFILE_TOP_DOWN},
        {"bottom-up", o->shape == 1 + SONDE_PROFILE_BOTTOM_UP},
        {"by", o->by >= 0},
        {"metric", o->metric},
        {"derive", o->derive},
        {"sort", o->sort},
        {"root", o->root},
        {"ids", o->ids},
        {"depth", o->depth >= 0},
        {"from", o->from},
        {"to", o->to},
        {"lane", o->lane},
        {"threshold", o->threshold >= 0},
        {"mantissa", o->mantissa >= 0},
        {"object", o->object},
        {"graph", o->graph},
        {"vertex", o->vertex >= 0},
        {"important", o->important},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct sonde_view *const *v = sonde_views;
        if (!options[i].given || takes(view, options[i].name))
            continue;
        while (*v && !takes(*v, options[i].name))
            v++;
        *meant = *v ? (*v)->name : "";
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
    const bool view_alone = argc == 1 && sonde_view_find(argv[0]) && !sonde_is_measurement(argv[0]);
    *given = argc && !view_alone ? argv[0] : NULL;
    return view_alone ? argv[0] : (argc > 1 ? argv[1] : (*sonde_views)->name);
}

static int say_no_view(int argc, char **argv, const char *name)
{
    struct sonde_nearest nearest = {.word = name};
    struct sonde_text word = {0};
    if (argc > 1 && sonde_view_find(argv[0])) {
        sonde_text_add_path(&word, name);
        const int status = sonde_say_usage(&sonde_command_report, "there is no view '%s'; did you mean 'sonde report %s %s'",
                                           name, sonde_text_get(&word), argv[0]);
        sonde_text_fini(&word);
        return status;
    }
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        sonde_nearest_try(&nearest, (*v)->name);
    return sonde_say_unknown(&sonde_command_report, &nearest, "there is no view '%s'", name);
}

/* "0.5s", "120ms" or "37%" of the run. */
static bool read_time(const char *text, struct sonde_query_time *out)
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

/* --from and --to: 0, or the exit status after a message. */
static int read_range(const struct report_options *o, struct sonde_query_range *range)
{
    static const char *const names[] = {"--from", "--to"};
    const char *const texts[] = {o->from, o->to};
    struct sonde_query_time *const times[] = {&range->from, &range->to};
    for (int i = 0; i < 2; i++)
        if (texts[i] && !read_time(texts[i], times[i]))
            return sonde_say_usage(&sonde_command_report, "%s needs a time since the start such as 0.5s, 120ms or 37%%, not '%s'",
                                   names[i], texts[i]);
    return 0;
}

static int report(const struct sonde_view *view, const struct report_options *o, const char *path)
{
    struct report r = prepare(o, view);
    struct sonde_diag diag = {0};
    struct sonde_text word = {0};
    sonde_text_add_path(&word, path);
    r.q.path = path;
    r.word = sonde_text_get(&word);
    int rc = report_read_columns(&r);
    if (!rc)
        rc = read_range(o, &r.q.range);
    if (rc) {
        sonde_query_fini(&r.q);
        sonde_text_fini(&word);
        return rc;
    }
    struct sonde_pager pager;
    sonde_pager_begin(&pager, !o->no_pager);
    rc = show(view, &r, &diag);
    sonde_pager_end(&pager);
    if (rc)
        sonde_say_diag(&diag);
    sonde_query_fini(&r.q);
    sonde_text_fini(&word);
    return rc ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}

static int run(const void *options, int argc, char **argv)
{
    const struct report_options *o = options;
    const char *given, *name = read_operands(argc, argv, &given);
    const struct sonde_view *view = sonde_view_find(name);
    struct sonde_diag diag = {0};
    char path[PATH_MAX];
    if (!view)
        return say_no_view(argc, argv, name);
    const char *meant, *wrong = misplaced(o, view, &meant);
    if (wrong)
        return sonde_say_usage(&sonde_command_report, "--%s is for the view %s, not for %s", wrong, meant, name);
    if (sonde_find_measurement(given, argc == 1 ? view_word : NULL, path, &diag))
        return sonde_say_diag(&diag);
    if (!given)
        sonde_say("%s is the newest measurement here", path);
    keep_memory();
    return report(view, o, path);
}

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, json),
     .help = "Print JSON for scripts. The schemas are in docs/schema; null means unknown."},
    {.name = "color", .type = SONDE_OPTION_CHOICE, .argument = "WHEN", .choices = sonde_color_names,
     .offset = offsetof(struct report_options, color),
     .help = "auto: on a terminal, unless NO_COLOR is set (the default); always; or never."},
    {.name = "no-pager", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, no_pager),
     .help = "Do not page the output on a terminal through $SONDE_PAGER, $PAGER or less."},
    {.name = "min-percent", .type = SONDE_OPTION_REAL, .argument = "P", .low = 0, .high = 100,
     .offset = offsetof(struct report_options, min_percent),
     .help = "profile, blame, critical, advice: leave out rows below P percent of the total (default 1; 0 with --json, "
             "but 0.1 for profile --bottom-up)."},
    {.name = "limit", .letter = 'n', .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = 1000000000,
     .offset = offsetof(struct report_options, limit),
     .help = "Maximum number of rows in a table (default 10 in the summary, 50 in the other views, no limit with --json and in "
             "trees; 0: no limit)."},
    {.name = "top-down", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, shape),
     .value = 1 + SONDE_PROFILE_TOP_DOWN, .help = "profile: from callers to callees (the default)."},
    {.name = "bottom-up", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, shape),
     .value = 1 + SONDE_PROFILE_BOTTOM_UP, .help = "profile: each routine with its callers below it."},
    {.name = "by", .type = SONDE_OPTION_CHOICE, .argument = "WHAT", .choices = sonde_profile_by_names,
     .offset = offsetof(struct report_options, by),
     .help = "profile: a flat list by line, function, module, kernel or object; with --top-down or --bottom-up the "
             "first three group that tree."},
    {.name = "metric", .letter = 'm', .type = SONDE_OPTION_STRING, .argument = "LIST",
     .offset = offsetof(struct report_options, metric),
     .help = "profile: columns, such as gpu,ops,bytes,api,sync,queue,cpu,blame. The first one sorts."},
    {.name = "derive", .type = SONDE_OPTION_STRING, .argument = "NAME=FORMULA",
     .offset = offsetof(struct report_options, derive),
     .help = "profile: a column computed from others with + - * / ( ) min max and numbers, such as "
             "'each=gpu/ops'; separate several by ';'. Times are in nanoseconds."},
    {.name = "sort", .type = SONDE_OPTION_STRING, .argument = "COLUMN", .offset = offsetof(struct report_options, sort),
     .help = "profile: sort by this column; COLUMN:excl sorts by its exclusive value."},
    {.name = "root", .type = SONDE_OPTION_STRING, .argument = "FRAME", .offset = offsetof(struct report_options, root),
     .help = "profile: only this call path and its callees: a function, a place such as heat.c:81, or a number shown by "
             "--ids."},
    {.name = "ids", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, ids),
     .help = "profile: show the number of each call path."},
    {.name = "depth", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 1000000000,
     .offset = offsetof(struct report_options, depth),
     .help = "profile: levels of the tree; statistics: number of outermost frames considered (default: all)."},
    {.name = "from", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = offsetof(struct report_options, from),
     .help = "statistics: begin of the time window, since the start of the run: 0.5s, 120ms, or 37% of the run (default 0)."},
    {.name = "to", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = offsetof(struct report_options, to),
     .help = "statistics: end of the time window (default: end of the run)."},
    {.name = "lane", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = offsetof(struct report_options, lane),
     .help = "statistics: lanes, separated by commas: a queue number or thread id as shown by the view lanes, "
             "PROCESS:NUMBER, queues, or threads (default: all)."},
    {.name = "threshold", .type = SONDE_OPTION_REAL, .argument = "PERCENT", .low = 0, .high = 100,
     .offset = offsetof(struct report_options, threshold),
     .help = "values: show operations that left PERCENT or more of what they wrote as it was (default 33; 0 with --object)."},
    {.name = "mantissa", .type = SONDE_OPTION_INT, .argument = "BITS", .low = 0, .high = 52, .offset = offsetof(struct report_options, mantissa),
     .help = "values: approximate are floating-point numbers that agree in sign, exponent and BITS or more of the mantissa (default 10: "
             "a half's; 3: within an eighth)."},
    {.name = "object", .type = SONDE_OPTION_STRING, .argument = "NAME", .offset = offsetof(struct report_options, object),
     .help = "values: only data objects whose name contains NAME, with every operation that wrote them."},
    {.name = "graph", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct report_options, graph),
     .help = "values: the value flow graph: which operation reads or writes what which other wrote last."},
    {.name = "vertex", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = 1000000000, .offset = offsetof(struct report_options, vertex),
     .help = "values: of the value flow graph what leads to vertex N, and what it leads to."},
    {.name = "important", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = offsetof(struct report_options, important),
     .help = "values: of the value flow graph edges with bytes=N, accesses=N or unchanged=PERCENT or more, and vertices with operations=N or "
             "time=NS or more."},
    {.name = NULL},
};
/* clang-format on */

/* --help beside a view's name. */
static bool help(int argc, char **argv, int columns)
{
    for (int i = 0; i < argc; i++) {
        const struct sonde_view *view = sonde_view_find(argv[i]);
        if (view) {
            report_help(view, options_table, columns);
            return true;
        }
    }
    return false;
}

static const struct sonde_example examples[] = {
    {"sonde report", "the summary of the newest measurement here"},
    {"sonde report heat kernels", "the kernels of heat.sonde"},
    {"sonde report heat.sonde profile --min-percent 5", "the call paths with the most device time"},
    {"sonde report heat.sonde profile --bottom-up --metric cpu,api",
     "where threads spend their time, and from where it is called"},
    {"sonde report heat.sonde statistics --from 50% --depth 2", "where the second half of the run was spent"},
    {"sonde report heat.sonde profile --by kernel --derive 'each=gpu/ops'", "kernels with a derived column"},
    {"sonde report heat.sonde kernels --json", "for scripts"},
    {"sonde report --help kernels", "explain the columns of this view"},
    {NULL, NULL},
};

static const struct report_options defaults = {.min_percent = -1, .limit = -1, .depth = -1, .by = -1, .threshold = -1, .mantissa = -1, .vertex = -1};

const struct sonde_command sonde_command_report = {
    .name = "report",
    .summary = "analyze a measurement, as text or JSON",
    .usage = "[OPTION...] [DIR] [VIEW]",
    .description =
        "Reads the measurement DIR (DIR.sonde if there is no DIR; by default the newest in the current folder), without "
        "changing it, and prints one view of it:\n\n"
        "summary: where the time went, device utilization, advice, top kernels and copies (the default).\n\n"
        "kernels: count, times, percentiles, callers.\n\n"
        "copies: copies, maps and fills with bytes and bandwidth.\n\n"
        "api: GPU API calls: count and host time.\n\n"
        "profile: call paths top-down, bottom-up or flat, inclusive and exclusive, with any columns.\n\n"
        "statistics: the exact share of each routine, by time window, lanes and call depth.\n\n"
        "lanes: threads and queues, and how busy each was.\n\n"
        "blame: CPU code that ran while the devices were idle, by routine and call path.\n\n"
        "critical: the critical path, what it consists of, and what faster parts would save.\n\n"
        "overlap: how much of copies and communication is hidden behind computation.\n\n"
        "objects: data objects: allocation sites, sizes and lifetimes.\n\n"
        "memory: memory over time, allocation sites at the peak, leaks, unused and idle memory.\n\n"
        "values: operations that wrote what was there already, by data object.\n\n"
        "advice: what to change: evidence, place and largest possible saving.\n\n"
        "ledger: operations seen, dropped and unmatched, and the overhead.",
    .options = options_table,
    .examples = examples,
    .notes = "A dash means unknown, not zero.\n\n"
             "A measurement without operations is an error: the reason is printed and the exit status is 1.",
    .options_bytes = sizeof(struct report_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_MEASUREMENT,
    .operands_min = 0,
    .operands_max = 2,
    .operand_word = view_word,
    .help = help,
    .run = run,
};

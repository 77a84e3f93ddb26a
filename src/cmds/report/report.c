/* report.c - `sonde report`: opens a measurement, computes what all views share, runs one view. */
#include "report.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/job/axis.h"
#include "analyze/trace/trace.h"
#include "base/team.h"
#include "cmds/command.h"
#include "views/empty.h"
#include "views/json.h"

enum {
    PLAIN_COLUMNS = 100,
    FEWEST_COLUMNS = 40,
};

static const char *view_word(size_t index)
{
    for (const struct sonde_view *const *v = sonde_views; *v && !(*v)->hidden; v++) /* hidden ones come last */
        if (!index--)
            return (*v)->name;
    return NULL;
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
    int rc = sonde_measurement_open_job(r->q.path, &r->q.m, diag);
    rc = report_agree(r->q.m, rc, diag);
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
    if (!rc && sonde_view_lacks_operations(view, &r->q))
        return sonde_query_empty(&r->q, r->word, diag);
    if (!rc)
        rc = print(view, r, diag);
    /* The ledger of an empty measurement is still worth reading; the measurement is still a failed one, unless its ranks sent each other something. */
    if (!rc && !sonde_query_has_operations(&r->q) && !sonde_trace_rows(r->q.m, SONDE_READ_MESSAGES))
        rc = sonde_query_empty(&r->q, r->word, diag);
    return rc;
}

static struct sonde_progress *begin(const char *text)
{
    return sonde_progress_begin(text, false);
}

/* The terminal that is written to. MPI's launchers pass on what their processes write, some through a terminal of their own, which is nobody's. */
static int terminal(void)
{
    return sonde_team_size() > 1 ? -1 : STDOUT_FILENO;
}

int report_columns(void)
{
    int columns = sonde_terminal_columns(terminal());
    const char *wanted = getenv("COLUMNS");
    if (!columns && wanted)
        columns = atoi(wanted);
    return columns <= 0 ? PLAIN_COLUMNS : (columns < FEWEST_COLUMNS ? FEWEST_COLUMNS : columns);
}

static struct report prepare(const struct report_options *o, const char *path)
{
    return (struct report){
        .q = {.path = path, .begin = begin, .end = sonde_progress_end},
        .columns = report_columns(),
        .colors = !o->json && sonde_colors((enum sonde_color)o->color, terminal()),
    };
}

void report_keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that it takes */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/* DIR and VIEW, either of which may be missing: a view's name alone is a view, unless a measurement is called so. */
static const char *read_operands(int argc, char **argv, const char **given)
{
    const bool view_alone = argc == 1 && sonde_view_find(argv[0]) && report_first(!sonde_is_measurement(argv[0]));
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

/* "sonde report: --derive: TEXT", and below it the argument with a mark at the byte `at`. */
static void say_marked(const struct sonde_question_error *error)
{
    const struct sonde_diag *diag = &error->diag;
    struct sonde_text line = {0}, before = {0};
    fprintf(stderr, "sonde report: --%s: %s; %s\n", error->option, diag->what, *diag->hint ? diag->hint : "try 'sonde report --help'");
    sonde_text_add_clean(&line, error->argument);
    char *begun = strndup(error->argument, (size_t)error->at);
    sonde_text_add_clean(&before, begun ? begun : "");
    fprintf(stderr, "  %s\n  %*s^\n", sonde_text_get(&line), (int)sonde_text_columns(sonde_text_get(&before)), "");
    free(begun);
    sonde_text_fini(&line);
    sonde_text_fini(&before);
}

/* What of the question cannot be asked; returns the exit status. */
static int say_wrong(const struct sonde_question_error *error)
{
    if (!error->option)
        return sonde_say_usage(&sonde_command_report, "%s", error->diag.what);
    if (error->at < 0)
        return sonde_say_usage(&sonde_command_report, "--%s %s, not '%s'", error->option, error->diag.what, error->argument);
    say_marked(error);
    return SONDE_EXIT_USAGE;
}

static int report(const struct sonde_view *view, const struct report_options *o, const char *path)
{
    struct report r = prepare(o, path);
    struct sonde_question_error error;
    struct sonde_diag diag = {0};
    if (sonde_question_ask(&o->question, view, o->json, &r.q, &error)) {
        sonde_query_fini(&r.q);
        return say_wrong(&error);
    }
    struct sonde_text word = {0};
    sonde_text_add_path(&word, path);
    r.word = sonde_text_get(&word);
    struct sonde_pager pager;
    sonde_pager_begin(&pager, !o->no_pager && terminal() >= 0);
    const int rc = show(view, &r, &diag);
    sonde_pager_end(&pager);
    if (rc == SONDE_ENOMEM && sonde_team_size() > 1)
        sonde_team_fail("out of memory"); /* perhaps here alone: the others wait */
    if (rc)
        sonde_say_diag(&diag);
    sonde_query_fini(&r.q);
    sonde_text_fini(&word);
    return rc ? SONDE_EXIT_FAILED : SONDE_EXIT_OK;
}

static int answer(const struct report_options *o, int argc, char **argv)
{
    const char *given, *name = read_operands(argc, argv, &given);
    const struct sonde_view *view = sonde_view_find(name);
    struct sonde_diag diag = {0};
    char path[PATH_MAX];
    if (!view)
        return say_no_view(argc, argv, name);
    const char *meant, *wrong = sonde_question_misplaced(&o->question, view, &meant);
    if (wrong)
        return sonde_say_usage(&sonde_command_report, "--%s is for the view %s, not for %s", wrong, meant, name);
    int rc = sonde_find_measurement(given, argc == 1 ? view_word : NULL, path, &diag);
    rc = rc ? report_agree(NULL, rc, &diag) : 0;
    if (rc)
        return sonde_say_diag(&diag);
    if (!given)
        sonde_say("%s is the newest measurement here", path);
    report_keep_memory();
    return report(view, o, path);
}

static int run(const void *options, int argc, char **argv)
{
    int status = report_join_team();
    if (status != SONDE_EXIT_OK)
        return status;
    status = answer(options, argc, argv);
    report_leave_team();
    return status;
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
    {.more = sonde_question_options}, /* whose struct comes first in ours */
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
    {"mpirun -n 64 sonde report heat.sonde critical", "of many ranks: 64 processes share the reading"},
    {"sonde report --help kernels", "explain the columns of this view"},
    {NULL, NULL},
};

static_assert(offsetof(struct report_options, question) == 0, "its options' offsets are those of the command");
static const struct report_options defaults = {.question = SONDE_QUESTION_NOTHING};

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

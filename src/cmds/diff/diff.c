/* diff.c - `sonde diff`: two sides of one or several measurements, and what differs.
 *
 * What is said, and when the exit status is 3, is defined in docs/diff.md.
 */
#include "analyze/answers/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/job/axis.h"
#include "cmds/command.h"
#include "cmds/report/report.h"
#include "markdown.h"
#include "views/diff.h"
#include "views/empty.h"
#include "views/json.h"

enum { ROWS = 10 }; /* of a table, unless asked for others */

struct diff_options {
    int json, markdown, color, no_pager;
    int64_t limit;
    const char *fail_above;
};

struct sides { /* the measurements of the command line, those before first */
    struct sonde_query *queries;     /* [count] */
    const struct sonde_query **list; /* the same, as views read them */
    uint32_t count, before_count;
};

/* ---- the measurements ---------------------------------------------------------------------------- */

static int open_one(struct sonde_query *q, struct sonde_diag *diag)
{
    struct sonde_text word = {0};
    int rc = sonde_measurement_open_job(q->path, &q->m, diag);
    if (!rc)
        sonde_say_manifest(q->m);
    rc = rc ? rc : sonde_query_prepare(q, diag);
    sonde_text_add_path(&word, q->path);
    if (!rc && !sonde_query_has_operations(q))
        rc = sonde_query_empty(q, sonde_text_get(&word), diag);
    sonde_text_fini(&word);
    return rc;
}

static struct sonde_progress *begin(const char *text)
{
    return sonde_progress_begin(text, false);
}

static int open_all(struct sides *s, const struct sonde_side *before, const struct sonde_side *after, struct sonde_diag *diag)
{
    int rc = 0;
    s->before_count = (uint32_t)before->paths.count;
    s->count = s->before_count + (uint32_t)after->paths.count;
    s->queries = calloc(s->count, sizeof *s->queries);
    s->list = calloc(s->count, sizeof *s->list);
    if (!s->queries || !s->list)
        return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot compare");
    struct sonde_progress *progress = sonde_progress_begin("reading", false);
    for (uint32_t i = 0; i < s->count && !rc; i++) {
        s->list[i] = &s->queries[i];
        s->queries[i].path = i < s->before_count ? before->paths.items[i] : after->paths.items[i - s->before_count];
        rc = open_one(&s->queries[i], diag);
    }
    sonde_progress_end(progress);
    s->queries[0].begin = begin;
    s->queries[0].end = sonde_progress_end;
    return rc;
}

static void close_all(struct sides *s)
{
    for (uint32_t i = 0; s->queries && i < s->count; i++)
        sonde_query_fini(&s->queries[i]);
    free(s->queries);
    free(s->list);
}

/* ---- the answer ------------------------------------------------------------------------------------ */

static int print(const struct sides *s, const struct sonde_diff *diff, const struct diff_options *o, struct sonde_diag *diag)
{
    const struct sonde_diff_shown shown = {.diff = diff, .queries = s->list, .run_count = s->count, .before_count = s->before_count, .limit = o->limit < 0 ? ROWS : (uint32_t)o->limit};
    struct sonde_view_data data = {0};
    struct sonde_text text = {0};
    struct sonde_pager pager;
    int rc = sonde_diff_fill(&shown, &data, diag);
    if (!rc && o->json)
        sonde_view_json(&sonde_view_diff, &data, &text);
    else if (!rc && o->markdown)
        diff_markdown(&data, &text);
    if (text.failed)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot write the comparison");
    sonde_pager_begin(&pager, !o->no_pager && !rc);
    if (!rc && text.length)
        fwrite(sonde_text_get(&text), 1, text.length, stdout);
    else if (!rc) {
        const struct report r = {.word = "", .columns = report_columns(), .colors = sonde_colors((enum sonde_color)o->color, STDOUT_FILENO)};
        report_lay_out(&r, &sonde_view_diff, &data);
    }
    sonde_pager_end(&pager);
    sonde_text_fini(&text);
    sonde_view_data_fini(&data);
    return rc;
}

/* ---- --fail-above ------------------------------------------------------------------------------------ */

/* "5%" or "5"; negative: it is neither. */
static double read_percent(const char *text)
{
    char *end;
    const double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
    return value >= 0 && value <= 1e6 && (strcmp(end, "") == 0 || strcmp(end, "%") == 0) ? value : -1;
}

static bool is_above(const struct sonde_diff_ratio *of, double percent)
{
    const double slower = of->before_ns > 0 ? of->after_ns / of->before_ns - 1 : 0;
    return of->known && slower > percent / 100 && (!of->effect.known || of->effect.low > 1);
}

/* What has an interval decides; where nothing has, the plain ratio of the run. Returns the exit status. */
static int judge(const struct sonde_diff *diff, double percent)
{
    const struct sonde_diff_ratio *const both[] = {&diff->step, &diff->total};
    const bool any = diff->step.effect.known || diff->total.effect.known;
    bool above = false;
    if (diff->common == 0) {
        sonde_say("--fail-above has nothing to judge: the two sides have no operation at a common place");
        return SONDE_EXIT_FAILED;
    }
    if (!any && !diff->total.known) {
        sonde_say("--fail-above has nothing to judge: how long a run took is unknown");
        return SONDE_EXIT_FAILED;
    }
    for (int i = 0; i < 2; i++)
        above |= any ? both[i]->effect.known && is_above(both[i], percent) : both[i] == &diff->total && is_above(both[i], percent);
    if (above)
        sonde_say("slower by more than %g %%%s", percent, any ? "" : ", by one run a side, whose noise is unknown");
    return above ? SONDE_EXIT_ABOVE : SONDE_EXIT_OK;
}

static int run(const void *options, int argc, char **argv)
{
    const struct diff_options *o = options;
    const double percent = o->fail_above ? read_percent(o->fail_above) : 0;
    struct sonde_side before = {0}, after = {0};
    struct sides s = {0};
    struct sonde_diff diff = {0};
    struct sonde_diag diag = {0};
    (void)argc;
    if (percent < 0)
        return sonde_say_usage(&sonde_command_diff, "--fail-above needs a percentage such as 5%%, not '%s'", o->fail_above);
    if (o->json && o->markdown)
        return sonde_say_usage(&sonde_command_diff, "--json and --markdown do not go together");
    report_keep_memory();
    int rc = sonde_side_find(argv[0], &before, &diag);
    rc = rc ? rc : sonde_side_find(argv[1], &after, &diag);
    rc = rc ? rc : open_all(&s, &before, &after, &diag);
    rc = rc ? rc : sonde_diff_queries(s.list, s.count, s.before_count, &diff, &diag);
    rc = rc ? rc : print(&s, &diff, o, &diag);
    const int status = rc ? sonde_say_diag(&diag) : (o->fail_above ? judge(&diff, percent) : SONDE_EXIT_OK);
    sonde_diff_fini(&diff);
    close_all(&s);
    sonde_side_fini(&before);
    sonde_side_fini(&after);
    return status;
}

/* clang-format off */
static const struct sonde_option options_table[] = {
    {.name = "json", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct diff_options, json),
     .help = "Print JSON for scripts: docs/schema/diff.json; null means unknown."},
    {.name = "markdown", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct diff_options, markdown),
     .help = "Print Markdown, for a comment on a pull request."},
    {.name = "fail-above", .type = SONDE_OPTION_STRING, .argument = "PERCENT", .offset = offsetof(struct diff_options, fail_above),
     .help = "Exit with status 3 when the run or its step got slower by more, and significantly."},
    {.name = "limit", .type = SONDE_OPTION_INT, .argument = "N", .offset = offsetof(struct diff_options, limit), .low = 0, .high = 1000000,
     .help = "At most N rows of a table, 0 = all (default 10). JSON always has all."},
    {.name = "color", .type = SONDE_OPTION_CHOICE, .argument = "WHEN", .choices = sonde_color_names,
     .offset = offsetof(struct diff_options, color),
     .help = "auto: on a terminal, unless NO_COLOR is set (the default); always; or never."},
    {.name = "no-pager", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct diff_options, no_pager),
     .help = "Do not page the output on a terminal through $SONDE_PAGER, $PAGER or less."},
    {.name = NULL},
};
/* clang-format on */

static const struct sonde_example examples[] = {
    {"sonde diff before.sonde after.sonde", "what got slower, and where"},
    {"sonde diff a1,a2,a3 b1,b2,b3", "three runs a side, so that the noise between runs is known"},
    {"sonde diff a1,a2,a3 b1,b2,b3 --fail-above 5%", "for CI: exit status 3 when it got slower by more than 5 %"},
    {"sonde diff old new --markdown > comment.md", "for a comment on a pull request"},
    {NULL, NULL},
};

static const struct diff_options defaults = {.limit = -1};

const struct sonde_command sonde_command_diff = {
    .name = "diff",
    .summary = "compare measurements: what got slower, and where",
    .usage = "[OPTION...] BEFORE[,BEFORE...] AFTER[,AFTER...]",
    .description = "Compares two sides of one or several measurements each, without changing them. Calling contexts are matched "
                   "by function, file and line; those that moved or were renamed by their surroundings. Each difference in time, "
                   "count, bytes, waiting, blame and CPU time has a 95 % interval and a test. Several runs a side tell how much "
                   "runs differ; with one a side only the noise within it is known.",
    .options = options_table,
    .examples = examples,
    .notes = "EXIT STATUS: 0; 3 with --fail-above when it got slower by more and significantly; 1 after an error; 2 when the "
             "command line was wrong.",
    .options_bytes = sizeof(struct diff_options),
    .defaults = &defaults,
    .operand = SONDE_OPERAND_MEASUREMENT,
    .operands_min = 2,
    .operands_max = 2,
    .run = run,
};

/* question.c - see question.h. */
#include "question.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/profile_rows.h"

enum {
    SUMMARY_LIMIT = 10,
    VIEW_LIMIT = 50,
};

/* ---- options -------------------------------------------------------------------- */

/* Those of the profile, and what the view comm has besides. */
static const char *const by_names[] = {"line", "function", "module", "kernel", "object", "pair", "element", NULL};
enum { BY_PAIR = SONDE_BY_OBJECT + 1,
       BY_ELEMENT };

#define AT(field) offsetof(struct sonde_question, field)
/* clang-format off */
const struct sonde_option sonde_question_options[] = {
    {.name = "min-percent", .type = SONDE_OPTION_REAL, .argument = "P", .low = 0, .high = 100,
     .offset = AT(min_percent),
     .help = "profile, blame, critical, advice, ranks: leave out rows below P percent of the total (default 1; 0 with --json, "
             "but 0.1 for profile --bottom-up)."},
    {.name = "limit", .letter = 'n', .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = 1000000000,
     .offset = AT(limit),
     .help = "Maximum number of rows in a table (default 10 in the summary, 50 in the other views, no limit with --json and in "
             "trees; 0: no limit)."},
    {.name = "top-down", .type = SONDE_OPTION_FLAG, .offset = AT(shape),
     .value = 1 + SONDE_PROFILE_TOP_DOWN, .help = "profile: from callers to callees (the default)."},
    {.name = "bottom-up", .type = SONDE_OPTION_FLAG, .offset = AT(shape),
     .value = 1 + SONDE_PROFILE_BOTTOM_UP, .help = "profile: each routine with its callers below it."},
    {.name = "by", .type = SONDE_OPTION_CHOICE, .argument = "WHAT", .choices = by_names,
     .offset = AT(by),
     .help = "profile: a flat list by line, function, module, kernel or object; with --top-down or --bottom-up the "
             "first three group that tree. ranks: one of these. comm: one of pair, line, kernel and object alone, or element (record --comm-elements)."},
    {.name = "shape", .type = SONDE_OPTION_STRING, .argument = "[NAME=]ROWSxCOLUMNS", .offset = AT(rows_columns),
     .help = "comm --by element: objects whose allocation's call path, or name that the program gave, contains NAME, or all, are matrices of so many elements, row after row."},
    {.name = "metric", .letter = 'm', .type = SONDE_OPTION_STRING, .argument = "LIST",
     .offset = AT(metric),
     .help = "profile: columns, such as gpu,ops,bytes,api,sync,queue,cpu,blame. The first one sorts. ranks: these of each call path, over the ranks."},
    {.name = "derive", .type = SONDE_OPTION_STRING, .argument = "NAME=FORMULA",
     .offset = AT(derive),
     .help = "profile: a column computed from others with + - * / ( ) min max and numbers, such as "
             "'each=gpu/ops'; separate several by ';'. Times are in nanoseconds."},
    {.name = "sort", .type = SONDE_OPTION_STRING, .argument = "COLUMN", .offset = AT(sort),
     .help = "profile: sort by this column; COLUMN:excl sorts by its exclusive value."},
    {.name = "root", .type = SONDE_OPTION_STRING, .argument = "FRAME", .offset = AT(root),
     .help = "profile: only this call path and its callees: a function, a place such as heat.c:81, or a number shown by "
             "--ids."},
    {.name = "ids", .type = SONDE_OPTION_FLAG, .offset = AT(ids),
     .help = "profile: show the number of each call path."},
    {.name = "depth", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 1000000000,
     .offset = AT(depth),
     .help = "profile, ranks: levels of the tree; statistics, blame: number of outermost frames considered (default: all)."},
    {.name = "from", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = AT(from),
     .help = "statistics, blame, comm, messages: begin of the time window, since the start of the run: 0.5s, 120ms, or 37% of the run (default 0)."},
    {.name = "to", .type = SONDE_OPTION_STRING, .argument = "TIME", .offset = AT(to),
     .help = "statistics, blame, comm, messages: end of the time window (default: end of the run)."},
    {.name = "lane", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(lane),
     .help = "statistics: lanes, separated by commas: a queue number or thread id as shown by the view lanes, "
             "PROCESS:NUMBER, queues, or threads (default: all)."},
    {.name = "threshold", .type = SONDE_OPTION_REAL, .argument = "PERCENT", .low = 0, .high = 100,
     .offset = AT(threshold),
     .help = "values: show operations that left PERCENT or more of what they wrote as it was (default 33; 0 with --object)."},
    {.name = "frequent", .type = SONDE_OPTION_REAL, .argument = "PERCENT", .low = 0, .high = 100, .offset = AT(frequent),
     .help = "values: frequent are values that make up more than PERCENT of what an access read or wrote (default 50)."},
    {.name = "mantissa", .type = SONDE_OPTION_INT, .argument = "BITS", .low = 0, .high = 52, .offset = AT(mantissa),
     .help = "values: approximate are floating-point numbers of which the least and the most differ by 2^-BITS of the larger or less "
             "(default 10, a half's mantissa: a thousandth; 3: an eighth), or that are frequent with so many bits; if it is given, also those for which "
             "a narrower type then would do."},
    {.name = "object", .type = SONDE_OPTION_STRING, .argument = "NAME", .offset = AT(object),
     .help = "values: only data objects whose name contains NAME, with every operation that wrote them."},
    {.name = "graph", .type = SONDE_OPTION_FLAG, .offset = AT(graph),
     .help = "values: the value flow graph: which operation reads or writes what which other wrote last."},
    {.name = "vertex", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = 1000000000, .offset = AT(vertex),
     .help = "values: of the value flow graph what leads to vertex N, and what it leads to."},
    {.name = "important", .type = SONDE_OPTION_STRING, .argument = "LIST", .offset = AT(important),
     .help = "values: of the value flow graph edges with bytes=N, accesses=N or unchanged=PERCENT or more, and vertices with operations=N or "
             "time=NS or more."},
    {.name = "events", .type = SONDE_OPTION_INT, .argument = "N", .low = 1000, .high = 1000000000, .offset = AT(events),
     .help = "critical: of a process, and of the path through all ranks, look at the last N operations and API calls at most (default 40,000,000): they are kept in "
             "memory, about 40 bytes each."},
    {.name = NULL},
};
/* clang-format on */
#undef AT

/* Those of every view are named by none. */
static bool is_of_every_view(const struct sonde_option *option)
{
    return option->offset == offsetof(struct sonde_question, min_percent) || option->offset == offsetof(struct sonde_question, limit);
}

bool sonde_question_concerns(const struct sonde_option *option, const struct sonde_view *view)
{
    for (const char *const *o = view->options; o && *o; o++)
        if (strcmp(*o, option->name) == 0)
            return true;
    return is_of_every_view(option);
}

static bool is_given(const struct sonde_option *option, const struct sonde_question *asked)
{
    const void *field = (const char *)asked + option->offset;
    switch (option->type) {
    case SONDE_OPTION_FLAG: return *(const int *)field == (option->value ? option->value : 1);
    case SONDE_OPTION_CHOICE: return *(const int *)field >= 0;
    case SONDE_OPTION_INT: return *(const int64_t *)field >= 0;
    case SONDE_OPTION_REAL: return *(const double *)field >= 0;
    case SONDE_OPTION_STRING: return *(const char *const *)field != NULL;
    case SONDE_OPTION_SIZE:
    case SONDE_OPTION_DURATION: break; /* no question has such a one */
    }
    return false;
}

const char *sonde_question_misplaced(const struct sonde_question *asked, const struct sonde_view *view, const char **meant)
{
    for (const struct sonde_option *o = sonde_question_options; o->name; o++) {
        const struct sonde_view *const *v = sonde_views;
        if (!is_given(o, asked) || sonde_question_concerns(o, view))
            continue;
        while (*v && !sonde_question_concerns(o, *v))
            v++;
        *meant = *v ? (*v)->name : "";
        return o->name;
    }
    return NULL;
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of the argument at a byte of it, or (-1) as a whole, in error->diag. Returns its code. */
static int refuse(struct sonde_question_error *error, const char *option, const char *argument, ptrdiff_t at)
{
    error->option = option;
    error->argument = argument;
    error->at = at;
    error->diag.code = error->diag.code ? error->diag.code : SONDE_EINVALID;
    return error->diag.code;
}

/* ---- a range of time ------------------------------------------------------------------ */

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

static int ask_range(const struct sonde_question *asked, struct sonde_query_range *range, struct sonde_question_error *error)
{
    static const char *const names[] = {"from", "to"};
    const char *const texts[] = {asked->from, asked->to};
    struct sonde_query_time *const times[] = {&range->from, &range->to};
    range->lanes = asked->lane;
    range->depth = asked->depth > 0 ? (uint32_t)asked->depth : 0;
    for (int i = 0; i < 2; i++)
        if (texts[i] && !read_time(texts[i], times[i])) {
            sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "needs a time since the start such as 0.5s, 120ms or 37%%");
            return refuse(error, names[i], texts[i], -1);
        }
    return 0;
}

/* ---- calling contexts: their shape, their columns, what sorts ------------------------- */

/* "gpu", "gpu:excl" or "gpu:incl". */
static int ask_sort(const char *text, struct sonde_query_contexts *contexts, struct sonde_question_error *error)
{
    const size_t name = strcspn(text, ":");
    const int column = sonde_columns_find(&contexts->columns, text, name);
    if (column < 0) {
        sonde__columns_unknown(&contexts->columns, text, name, &error->diag);
        return refuse(error, "sort", text, 0);
    }
    contexts->sort = 1 + column;
    if (!text[name])
        return 0;
    if (strcmp(text + name, ":excl") && strcmp(text + name, ":incl")) {
        sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "expected :incl or :excl after the column");
        return refuse(error, "sort", text, (ptrdiff_t)name);
    }
    contexts->sort_side = 1 + (strcmp(text + name, ":excl") ? SONDE_INCLUSIVE : SONDE_EXCLUSIVE);
    return 0;
}

static int ask_columns(const struct sonde_question *asked, struct sonde_columns *c, struct sonde_question_error *error)
{
    size_t at = 0;
    if (asked->derive && sonde_columns_derive(c, asked->derive, &error->diag, &at)) /* first, so that --metric may place the new columns */
        return refuse(error, "derive", asked->derive, (ptrdiff_t)at);
    if (!asked->metric)
        return 0;
    c->shown.count = 0;
    if (sonde_columns_show(c, asked->metric, &error->diag, &at))
        return refuse(error, "metric", asked->metric, (ptrdiff_t)at);
    for (size_t i = 0; i < c->derived.count; i++)
        if (sonde_columns_show(c, c->derived.items[i].name, &error->diag, &at))
            return refuse(error, "metric", asked->metric, 0);
    return 0;
}

static int ask_contexts(const struct sonde_question *asked, struct sonde_query_contexts *contexts, struct sonde_question_error *error)
{
    if (asked->by >= BY_PAIR) {
        sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "needs line, function, module, kernel or object");
        return refuse(error, "by", by_names[asked->by], -1);
    }
    const bool flat = asked->by >= SONDE_BY_KERNEL;
    if (asked->shape == 1 + SONDE_PROFILE_TOP_DOWN && flat) {
        sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "kernels and objects have no callees: there is no tree by kernel or object");
        return refuse(error, NULL, NULL, -1);
    }
    if (asked->shape == 1 + SONDE_PROFILE_BOTTOM_UP && flat) {
        sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "kernels and objects are a flat list: omit --bottom-up");
        return refuse(error, NULL, NULL, -1);
    }
    contexts->shape = asked->shape;
    contexts->by = 1 + asked->by;
    contexts->root = asked->root;
    contexts->ids = asked->ids;
    contexts->depth = asked->depth > 0 ? (uint32_t)asked->depth : 0;
    contexts->named = asked->metric;
    const int rc = ask_columns(asked, &contexts->columns, error);
    return rc || !asked->sort ? rc : ask_sort(asked->sort, contexts, error);
}

/* ---- all of it --------------------------------------------------------------------------- */

/* "grid=512x1024", "512x1024". */
static bool read_shape(const char *text, struct sonde_query_comm *comm)
{
    const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : text;
    char *end;
    const bool named = equals && (size_t)(equals - text) < sizeof comm->of;
    comm->of[0] = 0;
    if (named)
        memcpy(comm->of, text, (size_t)(equals - text)), comm->of[equals - text] = 0;
    comm->rows = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : 0;
    if (!comm->rows || *end != 'x' || !isdigit((unsigned char)end[1]))
        return false;
    comm->columns = strtoull(end + 1, &end, 10);
    return comm->columns && !*end && (named || !equals);
}

static int ask_comm(const struct sonde_question *asked, struct sonde_query_comm *comm, struct sonde_question_error *error)
{
    if (asked->rows_columns && !read_shape(asked->rows_columns, comm)) {
        sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "needs ROWSxCOLUMNS, or NAME=ROWSxCOLUMNS");
        return refuse(error, "shape", asked->rows_columns, -1);
    }
    switch (asked->by) {
    case -1: comm->by = SONDE_COMM_BY_ALL; return 0;
    case BY_PAIR: comm->by = SONDE_COMM_BY_PAIR; return 0;
    case SONDE_BY_LINE: comm->by = SONDE_COMM_BY_LINE; return 0;
    case SONDE_BY_KERNEL: comm->by = SONDE_COMM_BY_KERNEL; return 0;
    case SONDE_BY_OBJECT: comm->by = SONDE_COMM_BY_OBJECT; return 0;
    case BY_ELEMENT: comm->by = SONDE_COMM_BY_ELEMENT; return 0;
    default: break;
    }
    sonde_diag_set(&error->diag, SONDE_EINVALID, NULL, "needs pair, line, kernel, object or element");
    return refuse(error, "by", by_names[asked->by], -1);
}

static void ask_values(const struct sonde_question *asked, struct sonde_query_values *values)
{
    values->threshold_given = asked->threshold >= 0;
    values->threshold = asked->threshold / 100;
    values->frequent_given = asked->frequent >= 0;
    values->frequent = asked->frequent / 100;
    values->mantissa_given = asked->mantissa >= 0;
    values->mantissa = asked->mantissa > 0 ? (unsigned)asked->mantissa : 0;
    values->object = asked->object;
    values->graph = asked->graph;
    values->vertex_given = asked->vertex >= 0;
    values->vertex = asked->vertex > 0 ? (uint32_t)asked->vertex : 0;
    values->important = asked->important;
}

int sonde_question_ask(const struct sonde_question *asked, const struct sonde_view *view, bool complete, struct sonde_query *q,
                       struct sonde_question_error *error)
{
    const uint32_t most = complete ? 0 : (view == *sonde_views ? SUMMARY_LIMIT : VIEW_LIMIT);
    *error = (struct sonde_question_error){.at = -1};
    q->complete = complete;
    q->limit_given = asked->limit >= 0;
    q->limit = q->limit_given ? (uint32_t)asked->limit : most;
    q->min_percent_given = asked->min_percent >= 0;
    q->min_percent = q->min_percent_given ? asked->min_percent : (complete ? 0 : 1);
    q->events = asked->events > 0 ? (uint64_t)asked->events : 0;
    ask_values(asked, &q->values);
    const int rc = view == &sonde_view_comm ? ask_comm(asked, &q->comm, error) : ask_contexts(asked, &q->contexts, error);
    return rc ? rc : ask_range(asked, &q->range, error);
}

void sonde_question_forget(struct sonde_query *q)
{
    sonde_columns_fini(&q->contexts.columns);
}

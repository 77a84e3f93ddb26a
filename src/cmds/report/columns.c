/* columns.c - reads the options of the view profile: its shape, its columns, what sorts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/profile_rows.h"
#include "cmds/command.h"
#include "report.h"

/* "sonde report: --derive: TEXT", and below it the argument with a mark at the byte `at`. */
static int refuse(const char *option, const char *argument, size_t at, const struct sonde_diag *diag)
{
    struct sonde_text line = {0}, before = {0};
    fprintf(stderr, "sonde report: %s: %s; %s\n", option, diag->what, *diag->hint ? diag->hint : "try 'sonde report --help'");
    sonde_text_add_clean(&line, argument);
    char *begin = strndup(argument, at);
    sonde_text_add_clean(&before, begin ? begin : "");
    fprintf(stderr, "  %s\n  %*s^\n", sonde_text_get(&line), (int)sonde_text_columns(sonde_text_get(&before)), "");
    free(begin);
    sonde_text_fini(&line);
    sonde_text_fini(&before);
    return SONDE_EXIT_USAGE;
}

/* "gpu", "gpu:excl" or "gpu:incl". */
static int read_sort(struct report *r, const char *text)
{
    const size_t name = strcspn(text, ":");
    struct sonde_query_contexts *asked = &r->q.contexts;
    const int column = sonde_columns_find(&asked->columns, text, name);
    struct sonde_diag diag = {0};
    if (column < 0) {
        sonde__columns_unknown(&asked->columns, text, name, &diag);
        return refuse("--sort", text, 0, &diag);
    }
    asked->sort = 1 + column;
    if (!text[name])
        return 0;
    if (strcmp(text + name, ":excl") && strcmp(text + name, ":incl")) {
        snprintf(diag.what, sizeof diag.what, "expected :incl or :excl after the column");
        return refuse("--sort", text, name, &diag);
    }
    asked->sort_side = 1 + (strcmp(text + name, ":excl") ? SONDE_INCLUSIVE : SONDE_EXCLUSIVE);
    return 0;
}

int report_read_columns(struct report *r)
{
    const struct report_options *o = r->options;
    struct sonde_query_contexts *asked = &r->q.contexts;
    struct sonde_columns *c = &asked->columns;
    struct sonde_diag diag = {0};
    size_t at = 0;
    if (o->shape == 1 + SONDE_PROFILE_TOP_DOWN && o->by >= SONDE_BY_KERNEL)
        return sonde_say_usage(&sonde_command_report,
                               "kernels and objects have no callees: there is no tree by kernel or object");
    if (o->shape == 1 + SONDE_PROFILE_BOTTOM_UP && o->by >= SONDE_BY_KERNEL)
        return sonde_say_usage(&sonde_command_report, "kernels and objects are a flat list: omit --bottom-up");
    asked->shape = o->shape;
    asked->by = 1 + o->by;
    asked->root = o->root;
    asked->ids = o->ids;
    asked->depth = o->depth > 0 ? (uint32_t)o->depth : 0;
    asked->named = o->metric;
    if (o->derive && sonde_columns_derive(c, o->derive, &diag, &at)) /* first, so that --metric may place the new columns */
        return refuse("--derive", o->derive, at, &diag);
    if (o->metric) {
        c->shown.count = 0;
        if (sonde_columns_show(c, o->metric, &diag, &at))
            return refuse("--metric", o->metric, at, &diag);
        for (size_t i = 0; i < c->derived.count; i++)
            if (sonde_columns_show(c, c->derived.items[i].name, &diag, &at))
                return refuse("--metric", o->metric, 0, &diag);
    }
    return o->sort ? read_sort(r, o->sort) : 0;
}

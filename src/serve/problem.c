/* problem.c - see problem.h. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct sonde_view_column line_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "a line"},
};
static const struct sonde_view_columns lines = SONDE_VIEW_COLUMNS("lines", line_columns);

static const struct sonde_view_column error_columns[] = {
    {.name = "what", .kind = SONDE_CELL_TEXT, .definition = "what went wrong"},
    {.name = "where", .kind = SONDE_CELL_TEXT, .definition = "where: the end of the sentence; null: it has none"},
    {.name = "why", .kind = SONDE_CELL_TEXT, .definition = "the reason; null: unknown, or said already"},
    {.name = "hint", .kind = SONDE_CELL_TEXT, .definition = "what to do; null: nothing is known"},
    {.name = "option", .kind = SONDE_CELL_TEXT, .definition = "the option whose value is wrong; null: none"},
    {.name = "at", .kind = SONDE_CELL_COUNT, .definition = "the byte of its value at which it is wrong; null: as a whole"},
    {.name = "more", .kind = SONDE_CELL_LIST, .definition = "lines that say more", .of = &lines},
};
static const struct sonde_view_columns errors = SONDE_VIEW_COLUMNS("error", error_columns);

static const struct sonde_view_column answer_columns[] = {
    {.name = "error", .kind = SONDE_CELL_OBJECT, .definition = "why there is no answer", .of = &errors},
};
static const struct sonde_view_columns answers = SONDE_VIEW_COLUMNS("answer", answer_columns);

int sonde__problem_unknown(struct sonde_problem *problem, int code, const struct sonde_nearest *nearest, const char *format, ...)
{
    va_list args;
    sonde_diag_set(&problem->diag, code, NULL, "%s", "");
    va_start(args, format);
    vsnprintf(problem->diag.what, sizeof problem->diag.what, format, args);
    va_end(args);
    if (*nearest->known)
        sonde_diag_hint(&problem->diag, "did you mean '%s'?", nearest->known);
    return code;
}

static int status_of(const struct sonde_problem *problem, int code)
{
    if (problem->internal)
        return 500;
    return code == SONDE_EINVALID ? 400 : (code == SONDE_ENOTFOUND || code == SONDE_EEMPTY ? 404 : 500);
}

static void fill(struct sonde_view_table *t, const struct sonde_problem *problem, int code, int status)
{
    const struct sonde_diag *diag = &problem->diag;
    const char *reason = status == 500 && *diag->what ? sonde_error_text(code) : "";
    sonde_cell_text(t, *diag->what ? diag->what : sonde_error_text(code));
    sonde_cell_text(t, diag->where);
    sonde_cell_text(t, *diag->why ? diag->why : reason);
    sonde_cell_text(t, diag->hint);
    sonde_cell_text(t, problem->option);
    sonde_cell_int(t, problem->at >= 0, (uint64_t)(problem->at >= 0 ? problem->at : 0));
    struct sonde_view_table *list = sonde_cell_list(t);
    for (const char *line = sonde_text_get(&problem->more); *line;) {
        const size_t length = strcspn(line, "\n");
        struct sonde_text one = {0};
        sonde_text_add_bytes(&one, line, length);
        sonde_cell_take(list, &one);
        line += length + (line[length] == '\n');
    }
}

void sonde__problem_answer(const struct sonde_problem *problem, int code, struct sonde_answer *out)
{
    static const char no_memory[] = "{\"error\": {\"what\": \"out of memory\", \"where\": null, \"why\": null, \"hint\": null, "
                                    "\"option\": null, \"at\": null, \"more\": []}}\n";
    struct sonde_view_data data = {0};
    struct sonde_view_table *t = data.root = sonde_view_table(&data, &answers);
    sonde_text_fini(&out->text);
    out->status = status_of(problem, code);
    out->type = "application/json";
    fill(sonde_cell_object(t), problem, code, out->status);
    const bool written = sonde__answer_json(&data, true, out, NULL) == 0 && !out->text.failed;
    sonde_view_data_fini(&data);
    out->status = written ? out->status : 500;
    out->bytes = written ? sonde_text_get(&out->text) : no_memory;
    out->length = written ? out->text.length : sizeof no_memory - 1;
}

/* missing.c - the request `missing`: what must be known before any figure is believed, as the summary says it, without the summary, which
 * reads the whole trace.
 */
#include "describe.h"
#include "request.h"
#include "views/summary.h"
#include "views/view.h"

static const struct sonde_view_column warning_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "one sentence"},
};
static const struct sonde_view_columns warnings = SONDE_VIEW_COLUMNS("warnings", warning_columns);

static const struct sonde_view_column missing_columns[] = {
    {.name = "warnings", .kind = SONDE_CELL_LIST, .definition = "what stands above the summary", .of = &warnings},
    {.name = "notes", .kind = SONDE_CELL_LIST, .definition = "what stands below it", .of = &sonde__described_notes},
};
static const struct sonde_view_columns missing = SONDE_VIEW_COLUMNS("missing", missing_columns);

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde_view_data data = {0}, said = {0};
    (void)argument, (void)options;
    sonde_summary_missing(&session->query, &said);
    int rc = sonde_view_add_notes(&sonde_view_summary, &session->query, &said);
    rc = rc ? rc : said.error;
    if (rc) {
        sonde_diag_set(&problem->diag, rc, session->path, "cannot say what is missing of");
    } else {
        data.root = sonde_view_table(&data, &missing);
        struct sonde_view_table *list = sonde_cell_list(data.root);
        for (const struct sonde_view_item *item = said.items; item; item = item->next)
            sonde_cell_text(list, item->sentence);
        sonde__describe_notes(sonde_cell_list(data.root), &said);
        rc = sonde__answer_json(&data, true, out, problem);
    }
    sonde_view_data_fini(&said);
    sonde_view_data_fini(&data);
    return rc;
}

const struct sonde_request sonde_request_missing = {
    .name = "missing",
    .summary = "what of the measurement is missing: the warnings and notes of the summary",
    .answer = answer,
};

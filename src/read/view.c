/* view.c - a view, asked by name and options, as typed columns. */
#include <string.h>

#include "base/nearest.h"
#include "base/stack.h"
#include "cells.h"
#include "own.h"
#include "views/empty.h"
#include "views/question.h"
#include "views/summary.h"

#define PUBLIC __attribute__((visibility("default")))

struct asking {
    struct sonde_read *m;
    const char *name;
    const struct sonde_read_option *options;
    bool missing; /* what its figures lack, in place of its answer */
    const struct sonde_view *view;
    struct sonde_question question;
    struct sonde_query query;
    struct sonde_view_data data;
    struct ArrowSchema *schema;
    struct ArrowArray *array;
    struct sonde_diag diag;
    struct sonde_text more; /* what a view that failed says besides */
};

static int refuse(struct asking *a, int code, const struct sonde_nearest *nearest, const char *what, const char *word)
{
    sonde_diag_set(&a->diag, code, NULL, "%s%s", what, word);
    if (nearest && *nearest->known)
        sonde_diag_hint(&a->diag, "did you mean '%s'?", nearest->known);
    return code;
}

static int find(struct asking *a)
{
    struct sonde_nearest nearest = {.word = a->name};
    a->view = sonde_view_find(a->name);
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        sonde_nearest_try(&nearest, (*v)->name);
    return a->view ? 0 : refuse(a, SONDE_ENOTFOUND, &nearest, "there is no view ", a->name);
}

static int read_option(struct asking *a, const struct sonde_read_option *given)
{
    const struct sonde_option *option = sonde_option_find(sonde_question_options, given->name, strlen(given->name));
    struct sonde_nearest nearest = {.word = given->name};
    for (const struct sonde_option *o = sonde_question_options; o->name; o++)
        sonde_nearest_try(&nearest, o->name);
    if (!option)
        return refuse(a, SONDE_EINVALID, &nearest, "views have no option ", given->name);
    if (option->type == SONDE_OPTION_FLAG && given->value && *given->value)
        return refuse(a, SONDE_EINVALID, NULL, option->name, " takes no value");
    if (option->type != SONDE_OPTION_FLAG && !given->value)
        return refuse(a, SONDE_EINVALID, NULL, option->name, " needs a value");
    struct sonde_text wrong = {0};
    int rc = sonde_option_read(option, option->name, given->value, &a->question, &wrong, &nearest);
    if (rc)
        rc = refuse(a, rc, &nearest, "", sonde_text_get(&wrong));
    sonde_text_fini(&wrong);
    return rc;
}

static int read_question(struct asking *a)
{
    struct sonde_question_error error;
    const char *meant;
    int rc = 0;
    for (const struct sonde_read_option *o = a->options; o && o->name && !rc; o++)
        rc = read_option(a, o);
    const char *wrong = rc ? NULL : sonde_question_misplaced(&a->question, a->view, &meant);
    if (wrong)
        return sonde_diag_set(&a->diag, SONDE_EINVALID, NULL, "%s is for the view %s, not for %s", wrong, meant, a->view->name);
    if (rc || !sonde_question_ask(&a->question, a->view, true, &a->query, &error))
        return rc;
    sonde_diag_set(&a->diag, error.diag.code, error.argument, "%s%s%s", error.option ? error.option : "", error.option ? ": " : "",
                   error.diag.what);
    sonde_diag_hint(&a->diag, "%s", error.diag.hint);
    return error.diag.code;
}

static void keep_more(struct asking *a)
{
    for (const struct sonde_view_item *item = a->data.items; item; item = item->next)
        if (!item->table && item->sentence && item->tone == SONDE_TONE_ERROR) {
            sonde_text_add(&a->more, a->more.length ? "; " : "");
            sonde_text_add_clean(&a->more, item->sentence);
        }
}

static const struct sonde_view_column note_columns[] = {
    {.name = "note", .kind = SONDE_CELL_TEXT, .definition = "what the figures lack, and why: one sentence"},
};
static const struct sonde_view_columns notes = SONDE_VIEW_COLUMNS("notes", note_columns);

/* Programs do not get them with the answer: some take as long as reading the trace. */
static int make_notes(struct asking *a)
{
    if (a->view == &sonde_view_summary) /* also what stands above it */
        sonde_summary_missing(&a->query, &a->data);
    const int rc = sonde_view_add_notes(a->view, &a->query, &a->data);
    a->data.root = sonde_view_table(&a->data, &notes);
    for (const struct sonde_view_item *item = a->data.items; item; item = item->next)
        if (item->sentence)
            sonde_cell_text(a->data.root, item->sentence);
    for (const struct sonde_view_note *note = a->data.notes; note && !rc; note = note->next)
        sonde_cell_text(a->data.root, note->text);
    return rc ? rc : a->data.error;
}

static int give(struct asking *a)
{
    const int rc = sonde__cells_arrow(a->data.root, a->schema, a->array);
    if (rc == SONDE_EUNSUPPORTED) {
        sonde_diag_set(&a->diag, rc, NULL, "a tree in the view %s is too deep for columns", a->name);
        sonde_diag_hint(&a->diag, "ask for less of it (depth, min-percent), or for the table contexts");
    } else if (rc)
        sonde_diag_set(&a->diag, rc, a->m->path, "cannot make the view %s of", a->name);
    return rc;
}

static int ask(void *user)
{
    struct asking *a = user;
    int rc = find(a);
    rc = rc ? rc : sonde__read_prepare(a->m, &a->diag);
    if (rc)
        return rc;
    a->query = a->m->query;
    rc = read_question(a);
    if (!rc && a->missing)
        rc = make_notes(a);
    else if (!rc && sonde_view_lacks_operations(a->view, &a->query))
        rc = sonde_query_empty(&a->query, sonde_text_get(&a->m->word), &a->diag);
    else if (!rc)
        rc = sonde_view_make(a->view, &a->query, &a->data, &a->diag);
    if (rc)
        keep_more(a);
    rc = rc ? rc : give(a);
    sonde_view_data_fini(&a->data);
    sonde_question_forget(&a->query);
    return rc;
}

static int answer(struct asking *a, struct sonde_read_error *error)
{
    *a->schema = (struct ArrowSchema){0};
    *a->array = (struct ArrowArray){0};
    int rc = sonde_stack_run(ask, a);
    if (rc) {
        a->diag.code = a->diag.code ? a->diag.code : rc;
        rc = sonde__read_fail(error, &a->diag, sonde_text_get(&a->more));
    }
    sonde_text_fini(&a->more);
    return rc;
}

PUBLIC int sonde_read_view(struct sonde_read *m, const char *view, const struct sonde_read_option *options, struct ArrowSchema *schema,
                           struct ArrowArray *array, struct sonde_read_error *error)
{
    struct asking a = {.m = m, .name = view, .options = options, .question = SONDE_QUESTION_NOTHING, .schema = schema, .array = array};
    return answer(&a, error);
}

PUBLIC int sonde_read_missing(struct sonde_read *m, const char *view, const struct sonde_read_option *options, struct ArrowSchema *schema,
                              struct ArrowArray *array, struct sonde_read_error *error)
{
    struct asking a = {.m = m, .name = view, .options = options, .missing = true, .question = SONDE_QUESTION_NOTHING, .schema = schema, .array = array};
    return answer(&a, error);
}

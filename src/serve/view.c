/* view.c - the request `view`: the JSON of a view, which is what `sonde report VIEW --json` prints. */
#include "view.h"

#include <string.h>

#include "problem.h"
#include "views/empty.h"
#include "views/json.h"

const struct sonde_question sonde__view_nothing = SONDE_QUESTION_NOTHING;

static int find(const char *name, const struct sonde_view **view, struct sonde_problem *problem)
{
    struct sonde_nearest nearest = {.word = name};
    *view = sonde_view_find(name);
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        sonde_nearest_try(&nearest, (*v)->name);
    return *view ? 0 : sonde__problem_unknown(problem, SONDE_ENOTFOUND, &nearest, "there is no view '%s'", name);
}

static int check_options(const struct sonde_question *asked, const struct sonde_view *view, struct sonde_problem *problem)
{
    const char *meant, *wrong = sonde_question_misplaced(asked, view, &meant);
    if (!wrong)
        return 0;
    problem->option = wrong;
    return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "%s is for the view %s, not for %s", wrong, meant, view->name);
}

/* The sentence begins with the option, where there is one, and ends with what was given to it. */
static int refuse(const struct sonde_question_error *error, struct sonde_problem *problem)
{
    const char *option = error->option ? error->option : "";
    sonde_diag_set(&problem->diag, error->diag.code, error->argument, "%s%s%s%s", option,
                   !*option ? "" : (error->at < 0 ? " " : ": "), error->diag.what,
                   !*option ? "" : (error->at < 0 ? ", not" : ", in"));
    sonde_diag_hint(&problem->diag, "%s", error->diag.hint);
    problem->option = error->option;
    problem->at = error->at;
    return error->diag.code;
}

/* What a view that failed says of its error. */
static void keep_more(const struct sonde_view_data *data, struct sonde_problem *problem)
{
    for (const struct sonde_view_item *item = data->items; item; item = item->next)
        if (!item->table && item->sentence && item->tone == SONDE_TONE_ERROR) {
            sonde_text_add_clean(&problem->more, item->sentence);
            sonde_text_add(&problem->more, "\n");
        }
}

int sonde__view_ask(const struct sonde_session *session, const char *name, const struct sonde_question *asked, bool complete,
                    struct sonde__viewed *out, struct sonde_problem *problem)
{
    struct sonde_question_error error;
    *out = (struct sonde__viewed){.query = session->query};
    int rc = find(name, &out->view, problem);
    rc = rc ? rc : check_options(asked, out->view, problem);
    if (rc)
        return rc;
    if (sonde_question_ask(asked, out->view, complete, &out->query, &error))
        return refuse(&error, problem);
    if (sonde_view_lacks_operations(out->view, &out->query))
        return sonde_query_empty(&out->query, sonde_text_get(&session->word), &problem->diag);
    rc = sonde_view_make(out->view, &out->query, &out->data, &problem->diag);
    problem->internal = rc && out->data.error;
    if (rc)
        keep_more(&out->data, problem);
    return rc;
}

void sonde__viewed_fini(struct sonde__viewed *viewed)
{
    sonde_view_data_fini(&viewed->data);
    sonde_question_forget(&viewed->query);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde__viewed viewed;
    const int rc = sonde__view_ask(session, argument, options, true, &viewed, problem);
    if (!rc)
        sonde_view_json(viewed.view, &viewed.data, &out->text);
    sonde__viewed_fini(&viewed);
    return rc;
}

const struct sonde_request sonde_request_view = {
    .name = "view",
    .argument = "VIEW",
    .summary = "a view for programs: what sonde report VIEW --json prints",
    .options = sonde_question_options,
    .options_bytes = sizeof(struct sonde_question),
    .defaults = &sonde__view_nothing,
    .answer = answer,
};

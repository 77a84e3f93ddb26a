/* session.c - opens a measurement for requests, and finds who answers one. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/answers/critical/critical.h"
#include "analyze/job/axis.h"
#include "base/nearest.h"
#include "comparison.h"
#include "problem.h"
#include "request.h"
#include "url.h"

/* clang-format off */
static const struct sonde_request *const requests[] = {
#define X(name) &sonde_request_##name,
    SONDE_REQUEST_MAP(X)
#undef X
    NULL,
};
/* clang-format on */

int sonde_session_open(const char *path, struct sonde_session **out, struct sonde_diag *diag)
{
    struct sonde_session *session = calloc(1, sizeof *session);
    *out = NULL;
    if (!session)
        return sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    session->path = strdup(path);
    sonde_text_add_path(&session->word, path);
    session->query.path = session->path;
    int rc = session->path && !session->word.failed ? 0 : sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    if (!rc)
        rc = sonde_measurement_open_job(path, &session->query.m, diag);
    if (!rc)
        rc = sonde_query_prepare(&session->query, diag);
    if (!rc && (sonde_timeline_create(session->query.m, session->query.profile, 0, &session->timeline) ||
                sonde_series_create(session->query.m, &session->series)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    if (!rc && !(session->query.blame_basis = sonde_blame_basis_create(session->query.m, session->query.profile)))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    if (!rc && sonde_dependencies_create(session->query.m, SONDE_CRITICAL_ROWS, &session->dependencies))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    if (rc)
        sonde_session_close(session);
    else
        *out = session;
    return rc;
}

void sonde_session_close(struct sonde_session *session)
{
    if (!session)
        return;
    sonde__comparison_destroy(session->comparison);
    sonde_dependencies_destroy(session->dependencies);
    sonde_timeline_destroy(session->timeline);
    sonde_blame_basis_destroy(session->query.blame_basis);
    sonde_series_destroy(session->series);
    sonde_query_fini(&session->query);
    sonde_text_fini(&session->word);
    free(session->path);
    free(session);
}

const struct sonde_measurement *sonde_session_measurement(const struct sonde_session *session)
{
    return session->query.m;
}

/* ---- one request ------------------------------------------------------------------- */

static int find_request(const struct sonde__url *url, const struct sonde_request **out, struct sonde_problem *problem)
{
    struct sonde_nearest nearest = {.word = url->name};
    for (const struct sonde_request *const *r = requests; *r; r++) {
        sonde_nearest_try(&nearest, (*r)->name);
        if (strcmp((*r)->name, url->name) == 0)
            *out = *r;
    }
    return *out ? 0 : sonde__problem_unknown(problem, SONDE_ENOTFOUND, &nearest, "there is no request '%s'", url->name);
}

static int check_argument(const struct sonde__url *url, const struct sonde_request *request, struct sonde_problem *problem)
{
    if (url->argument && !request->argument)
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, url->argument, "the request %s takes nothing after it, but is followed by",
                              request->name);
    if (!url->argument && request->argument)
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "the request is %s/%s", request->name, request->argument);
    return 0;
}

static int unknown_option(const struct sonde_request *request, const char *name, struct sonde_problem *problem)
{
    struct sonde_nearest nearest = {.word = name};
    for (const struct sonde_option *o = request->options; o && o->name; o = sonde_option_next(o))
        sonde_nearest_try(&nearest, o->name);
    return sonde__problem_unknown(problem, SONDE_EINVALID, &nearest, "the request %s has no option '%s'", request->name, name);
}

static int read_option(const struct sonde_request *request, const struct sonde__url_option *given, void *values,
                       struct sonde_problem *problem)
{
    const struct sonde_option *option = sonde_option_find(request->options, given->name, strlen(given->name));
    struct sonde_text wrong = {0};
    struct sonde_nearest nearest;
    if (!option)
        return unknown_option(request, given->name, problem);
    problem->option = option->name;
    if (option->type == SONDE_OPTION_FLAG && given->value && *given->value)
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "%s takes no value", option->name);
    if (option->type != SONDE_OPTION_FLAG && !given->value)
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "%s needs a value (%s)", option->name, option->argument);
    int rc = sonde_option_read(option, option->name, given->value, values, &wrong, &nearest);
    if (rc)
        rc = sonde__problem_unknown(problem, rc, &nearest, "%s", sonde_text_get(&wrong));
    else
        problem->option = NULL;
    sonde_text_fini(&wrong);
    return rc;
}

static int ask(const struct sonde_session *session, const struct sonde_request *request, const struct sonde__url *url,
               struct sonde_answer *out, struct sonde_problem *problem)
{
    void *values = calloc(1, request->options_bytes + 1);
    int rc = values ? 0 : sonde_diag_set(&problem->diag, SONDE_ENOMEM, NULL, "cannot read the request");
    if (values && request->defaults)
        memcpy(values, request->defaults, request->options_bytes);
    for (size_t i = 0; i < url->options.count && !rc; i++)
        rc = read_option(request, &url->options.items[i], values, problem);
    if (!rc)
        rc = request->answer(session, url->argument, values, out, problem);
    if (!rc && out->text.failed)
        rc = sonde_diag_set(&problem->diag, SONDE_ENOMEM, session->path, "cannot write the answer about");
    free(values);
    return rc;
}

void sonde_session_answer(const struct sonde_session *session, const char *request, size_t length, struct sonde_answer *out)
{
    struct sonde_problem problem = {.at = -1};
    struct sonde__url url = {0};
    const struct sonde_request *found = NULL;
    *out = (struct sonde_answer){.status = 200, .type = "application/json"};
    int rc = sonde__url_read(request, length, &url, &problem.diag);
    rc = rc ? rc : find_request(&url, &found, &problem);
    rc = rc ? rc : check_argument(&url, found, &problem);
    rc = rc ? rc : ask(session, found, &url, out, &problem);
    if (rc)
        sonde__problem_answer(&problem, rc, out);
    else {
        out->bytes = sonde_text_get(&out->text);
        out->length = out->text.length;
    }
    sonde_text_fini(&problem.more);
    sonde__url_fini(&url);
}

void sonde_answer_fini(struct sonde_answer *answer)
{
    sonde_text_fini(&answer->text);
    *answer = (struct sonde_answer){0};
}

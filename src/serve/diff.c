/* diff.c - the request `diff`: what `sonde diff` prints of this measurement and those that it is compared with.
 *
 * It is computed by the thread that asks first; others that ask meanwhile wait. The answer is kept, what it was made of is not.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/job/axis.h"
#include "comparison.h"
#include "request.h"
#include "views/diff.h"
#include "views/empty.h"
#include "views/json.h"

struct sonde_comparison {
    pthread_mutex_t lock;
    struct sonde_query *before; /* [count]; NULL once `json` is there */
    uint32_t count;
    struct sonde_text json;     /* empty: it was not computed yet */
};

/* ---- the measurements ------------------------------------------------------------------------------------ */

static int check_operations(const struct sonde_query *q, struct sonde_diag *diag)
{
    struct sonde_text word = {0};
    sonde_text_add_path(&word, q->path);
    const int rc = sonde_query_has_operations(q) ? 0 : sonde_query_empty(q, sonde_text_get(&word), diag);
    sonde_text_fini(&word);
    return rc;
}

static int open_one(const char *path, struct sonde_query *q, struct sonde_diag *diag)
{
    q->path = strdup(path);
    int rc = q->path ? sonde_measurement_open_job(path, &q->m, diag) : sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot open");
    rc = rc ? rc : sonde_query_prepare(q, diag);
    return rc ? rc : check_operations(q, diag);
}

static void close_before(struct sonde_comparison *c)
{
    for (uint32_t i = 0; c->before && i < c->count; i++) {
        free((void *)c->before[i].path);
        sonde_query_fini(&c->before[i]);
    }
    free(c->before);
    c->before = NULL;
}

int sonde_session_compare(struct sonde_session *session, const char *const *before, uint32_t count, struct sonde_diag *diag)
{
    struct sonde_comparison *c = calloc(1, sizeof *c);
    if (!c)
        return sonde_diag_set(diag, SONDE_ENOMEM, session->path, "cannot compare");
    pthread_mutex_init(&c->lock, NULL);
    c->count = count;
    c->before = calloc(count, sizeof *c->before);
    int rc = c->before ? check_operations(&session->query, diag) : sonde_diag_set(diag, SONDE_ENOMEM, session->path, "cannot compare");
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = open_one(before[i], &c->before[i], diag);
    if (rc)
        sonde__comparison_destroy(c);
    else
        session->comparison = c;
    return rc;
}

void sonde__comparison_destroy(struct sonde_comparison *comparison)
{
    if (!comparison)
        return;
    close_before(comparison);
    sonde_text_fini(&comparison->json);
    pthread_mutex_destroy(&comparison->lock);
    free(comparison);
}

/* ---- the answer ------------------------------------------------------------------------------------------ */

static int write_json(const struct sonde_query *const *queries, uint32_t run_count, struct sonde_text *out, struct sonde_diag *diag)
{
    struct sonde_diff diff = {0};
    struct sonde_view_data data = {0};
    const struct sonde_diff_shown shown = {.diff = &diff, .queries = queries, .run_count = run_count, .before_count = run_count - 1};
    int rc = sonde_diff_queries(queries, run_count, run_count - 1, &diff, diag);
    rc = rc ? rc : sonde_diff_fill(&shown, &data, diag);
    if (!rc)
        sonde_view_json(&sonde_view_diff, &data, out);
    if (out->failed)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot write the comparison");
    sonde_view_data_fini(&data);
    sonde_diff_fini(&diff);
    return rc;
}

static int compute(struct sonde_comparison *c, const struct sonde_query *after, struct sonde_diag *diag)
{
    const struct sonde_query **queries = calloc(c->count + 1, sizeof *queries);
    for (uint32_t i = 0; queries && i <= c->count; i++)
        queries[i] = i < c->count ? &c->before[i] : after;
    const int rc = queries ? write_json(queries, c->count + 1, &c->json, diag) : sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot compare");
    free(queries);
    if (rc)
        sonde_text_fini(&c->json);
    else
        close_before(c);
    return rc;
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde_comparison *c = session->comparison;
    (void)argument, (void)options;
    if (!c) {
        sonde_diag_set(&problem->diag, SONDE_ENOTFOUND, NULL, "there is no measurement to compare with");
        sonde_diag_hint(&problem->diag, "open both: 'sonde view %s --before BEFORE'", sonde_text_get(&session->word));
        return SONDE_ENOTFOUND;
    }
    pthread_mutex_lock(&c->lock);
    const int rc = c->json.length ? 0 : compute(c, &session->query, &problem->diag);
    if (!rc)
        sonde_text_add_bytes(&out->text, sonde_text_get(&c->json), c->json.length);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

const struct sonde_request sonde_request_diff = {
    .name = "diff",
    .summary = "this measurement compared with those before",
    .answer = answer,
};

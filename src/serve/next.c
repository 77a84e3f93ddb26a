/* next.c - the request `next`: the next interval of a routine, on whatever lane it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/timeline/timeline.h"
#include "request.h"
#include "views/names.h"

struct asked {
    const char *routine, *text, *place;
    int64_t at_ns, depth;
    int back;
};

#define AT(field) offsetof(struct asked, field)
static const struct sonde_option options_table[] = {
    {.name = "routine", .type = SONDE_OPTION_STRING, .argument = "LABEL", .offset = AT(routine), .help = "what the requests find and timeline call it"},
    {.name = "text", .type = SONDE_OPTION_STRING, .argument = "TEXT", .offset = AT(text), .help = "instead: all with this in their names, as find has them"},
    {.name = "at", .type = SONDE_OPTION_INT, .argument = "NS", .low = 0, .high = INT64_MAX, .offset = AT(at_ns), .help = "the first that begins then or later, since the run began (default 0)"},
    {.name = "place", .type = SONDE_OPTION_STRING, .argument = "PLACE", .offset = AT(place), .help = "with at, the first behind the interval that begins then: process:lane:track:correlation"},
    {.name = "back", .type = SONDE_OPTION_FLAG, .offset = AT(back), .help = "the last before it instead"},
    {.name = "depth", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = AT(depth), .help = "of threads: call paths from the outermost on (default: the innermost)"},
    {.name = NULL},
};

static const struct sonde_view_column hit_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of its process"},
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "number of its lane"},
    {.name = "track", .kind = SONDE_CELL_ID, .definition = "0; of a range 1 plus the number of ranges that it is in"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "what it is, as in the answer of timeline"},
    {.name = "begin_ns", .kind = SONDE_CELL_TIME, .definition = "its begin, since the run began"},
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "its end; at least, where it is cut"},
    {.name = "cut", .kind = SONDE_CELL_BOOLEAN, .definition = "it goes on beyond what was read"},
    {.name = "correlation", .kind = SONDE_CELL_COUNT, .definition = "what it and its API call or operation are told by; 0: none"},
    {.name = "node", .kind = SONDE_CELL_ID, .definition = "number of its call path; 0: unknown, or a range"},
};
static const struct sonde_view_columns hits = SONDE_VIEW_COLUMNS("hit", hit_columns);

static const struct sonde_view_column found_columns[] = {
    {.name = "hit", .kind = SONDE_CELL_OBJECT, .definition = "the interval; null: there is none", .of = &hits},
};
static const struct sonde_view_columns found = SONDE_VIEW_COLUMNS("next", found_columns);

/* ---- what is asked ------------------------------------------------------------------------------------- */

struct wanted {
    const struct sonde_query *q;
    const struct asked *asked;
    int failed;
};

static bool accepts(void *user, const struct sonde_timeline_label *label)
{
    struct wanted *w = user;
    const struct sonde_profile_frame *f = &label->frame;
    const struct sonde_cct_node node = {.kind = f->kind, .op = f->op, .name = f->name, .file = f->file, .module = f->module};
    struct sonde_text text = {0};
    sonde_name_routine(w->q, &text, &node);
    const char *name = sonde_text_get(&text);
    const bool is_it = w->asked->routine ? strcmp(name, w->asked->routine) == 0 : strcasestr(name, w->asked->text) != NULL;
    w->failed |= text.failed;
    sonde_text_fini(&text);
    return is_it;
}

static int read_place(const char *text, struct sonde_timeline_place *out, struct sonde_problem *problem)
{
    unsigned long long numbers[4] = {0};
    const char *at = text;
    for (int i = 0; i < 4 && at; i++) {
        char *end = NULL;
        errno = 0;
        numbers[i] = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        const bool good = end && !errno && *end == (i < 3 ? ':' : 0) && (i == 3 || numbers[i] <= UINT32_MAX);
        at = good ? end + (i < 3) : NULL;
    }
    if (!at) {
        problem->option = "place";
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "place must be four numbers, such as 0:2:0:17, not '%s'", text);
    }
    out->process = (uint32_t)numbers[0];
    out->lane = (uint32_t)numbers[1];
    out->track = (uint32_t)numbers[2];
    out->correlation = numbers[3];
    return 0;
}

static void fill(struct sonde_view_table *t, const struct sonde_timeline_hit *hit)
{
    if (!hit) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *one = sonde_cell_object(t);
    sonde_cell_int(one, true, hit->place.process);
    sonde_cell_int(one, true, hit->place.lane);
    sonde_cell_int(one, true, hit->place.track);
    sonde_cell_text(one, sonde_drawn_name(hit->kind));
    sonde_cell_int(one, true, hit->place.begin_ns);
    sonde_cell_int(one, true, hit->end_ns);
    sonde_cell_boolean(one, hit->cut);
    sonde_cell_int(one, true, hit->place.correlation);
    sonde_cell_int(one, true, hit->node);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct asked *asked = options;
    struct wanted wanted = {.q = &session->query, .asked = asked};
    struct sonde_timeline_place place = {.begin_ns = (uint64_t)asked->at_ns};
    struct sonde_timeline_hit hit = {0};
    struct sonde_view_data data = {0};
    (void)argument;
    if (!asked->routine == !asked->text || (asked->text && !*asked->text)) {
        problem->option = asked->text ? "text" : "routine";
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "routine or text has to say what is looked for");
    }
    int rc = asked->place ? read_place(asked->place, &place, problem) : 0;
    if (rc)
        return rc;
    rc = sonde_timeline_next(session->timeline,
                             &(struct sonde_timeline_search){
                                 .from = asked->place ? &place : NULL,
                                 .at_ns = (uint64_t)asked->at_ns,
                                 .back = asked->back,
                                 .depth = (uint32_t)asked->depth,
                                 .accepts = accepts,
                                 .user = &wanted,
                             },
                             &hit, &problem->diag);
    if (wanted.failed || (rc && rc != SONDE_ENOTFOUND))
        return rc && rc != SONDE_ENOTFOUND ? rc : sonde_diag_set(&problem->diag, SONDE_ENOMEM, session->path, "cannot look through the lanes of");
    data.root = sonde_view_table(&data, &found);
    fill(data.root, rc ? NULL : &hit);
    rc = sonde__answer_json(&data, true, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

const struct sonde_request sonde_request_next = {
    .name = "next",
    .summary = "the next interval of a routine, on whatever lane it is",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .answer = answer,
};

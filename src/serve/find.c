/* find.c - the request `find`: routines, API calls and kernels by a part of what they are called. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "request.h"
#include "views/names.h"

struct asked {
    const char *text;
    int64_t limit;
};

static const struct sonde_option options_table[] = {
    {.name = "text", .type = SONDE_OPTION_STRING, .argument = "TEXT", .offset = offsetof(struct asked, text), .help = "a part of the name; small and capital letters (of ASCII) are the same"},
    {.name = "limit", .type = SONDE_OPTION_INT, .argument = "N", .low = 1, .high = 10000, .offset = offsetof(struct asked, limit), .help = "how many are listed (default 50)"},
    {.name = NULL},
};
static const struct asked nothing = {.limit = 50};

static const struct sonde_view_column hit_columns[] = {
    {.name = "label", .kind = SONDE_CELL_TEXT, .definition = "what it is called in views that sum up by routine"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "function, API call, kernel or range; null: unknown"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "native, python, api, operation, unknown, cut, link or range"},
    {.name = "contexts", .kind = SONDE_CELL_COUNT, .definition = "call paths that end there"},
    {.name = "operations", .kind = SONDE_CELL_COUNT, .definition = "operations that it, or what it called, enqueued; of a kernel, its own"},
    {.name = "device_ns", .kind = SONDE_CELL_TIME, .definition = "their time on the device"},
    {.name = "node", .kind = SONDE_CELL_ID, .definition = "number of the first of these call paths"},
};
static const struct sonde_view_columns hits = SONDE_VIEW_COLUMNS("hits", hit_columns);

static const struct sonde_view_column found_columns[] = {
    {.name = "text", .kind = SONDE_CELL_TEXT, .definition = "what was looked for"},
    {.name = "hits", .kind = SONDE_CELL_LIST, .definition = "what was found, most time on the device first", .of = &hits},
    {.name = "left_out", .kind = SONDE_CELL_COUNT, .definition = "how many more there are than the limit"},
};
static const struct sonde_view_columns found = SONDE_VIEW_COLUMNS("found", found_columns);

struct hit {
    const char *label;
    uint32_t node, contexts;
    uint64_t operations, device_ns;
};

struct search {
    const struct sonde_query *q;
    const char *text;
    struct sonde_intern labels;       /* a byte for the kind, then the label: id - 1 is the number of the hit */
    SONDE_VECTOR(struct hit) list;
    uint32_t *hit_of;                 /* [tree node]: id; 0: not what is looked for */
};

/* Recursion: what is below one of the same routine is in its sum. */
static bool is_outermost(const struct search *s, uint32_t node)
{
    uint32_t at = node;
    do
        at = s->q->profile->nodes.items[at].parent;
    while (at && s->hit_of[at] != s->hit_of[node]);
    return !at;
}

static int add(struct search *s, uint32_t at, const struct sonde_text *label)
{
    const struct sonde_cct_node *node = &s->q->profile->nodes.items[at];
    const uint32_t id = sonde_intern_bytes(&s->labels, label->bytes, label->length);
    if (!id || (id > s->list.count && sonde_vector_push(&s->list, (struct hit){.node = at})))
        return SONDE_ENOMEM;
    struct hit *hit = &s->list.items[id - 1];
    s->hit_of[at] = id;
    hit->contexts++;
    if (is_outermost(s, at)) {
        hit->operations += node->total.operations;
        hit->device_ns += node->total.device_ns;
    }
    return 0;
}

static int search(struct search *s)
{
    const struct sonde_profile *profile = s->q->profile;
    struct sonde_text label = {0};
    int rc = 0;
    s->hit_of = calloc(profile->nodes.count + 1, sizeof *s->hit_of);
    if (!s->hit_of)
        return SONDE_ENOMEM;
    for (size_t i = 1; i < profile->nodes.count && !rc; i++) { /* a parent comes before its children */
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        label.length = 0;
        sonde_text_format(&label, "%c", 'a' + node->kind);
        sonde_name_routine(s->q, &label, node);
        if (label.failed)
            rc = SONDE_ENOMEM;
        else if (strcasestr(label.bytes + 1, s->text))
            rc = add(s, (uint32_t)i, &label);
    }
    for (size_t i = 0; i < s->list.count; i++)
        s->list.items[i].label = sonde_intern_get(&s->labels, (uint32_t)i + 1) + 1;
    sonde_text_fini(&label);
    return rc;
}

static int by_time(const void *left, const void *right)
{
    const struct hit *a = left, *b = right;
    if (a->device_ns != b->device_ns)
        return a->device_ns < b->device_ns ? 1 : -1;
    if (a->operations != b->operations)
        return a->operations < b->operations ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void fill(struct sonde_view_table *t, struct search *s, size_t limit)
{
    const size_t shown = s->list.count < limit ? s->list.count : limit;
    if (s->list.count)
        qsort(s->list.items, s->list.count, sizeof *s->list.items, by_time);
    sonde_cell_text(t, s->text);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < shown; i++) {
        const struct hit *hit = &s->list.items[i];
        const struct sonde_cct_node *node = &s->q->profile->nodes.items[hit->node];
        sonde_cell_text(list, hit->label);
        sonde_cell_text(list, node->name);
        sonde_cell_text(list, sonde_name_frame_kind(node->kind));
        sonde_cell_int(list, true, hit->contexts);
        sonde_cell_int(list, true, hit->operations);
        sonde_cell_int(list, true, hit->device_ns);
        sonde_cell_int(list, true, hit->node);
    }
    sonde_cell_int(t, true, s->list.count - shown);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct asked *asked = options;
    struct sonde_view_data data = {0};
    struct search s = {.q = &session->query, .text = asked->text};
    (void)argument;
    if (!asked->text || !*asked->text) {
        problem->option = "text";
        return sonde_diag_set(&problem->diag, SONDE_EINVALID, NULL, "the text to look for is missing");
    }
    int rc = search(&s);
    if (rc)
        sonde_diag_set(&problem->diag, rc, session->path, "cannot look for names in");
    else {
        data.root = sonde_view_table(&data, &found);
        fill(data.root, &s, (size_t)asked->limit);
        rc = sonde__answer_json(&data, true, out, problem);
    }
    sonde_view_data_fini(&data);
    sonde_vector_fini(&s.list);
    sonde_intern_fini(&s.labels);
    free(s.hit_of);
    return rc;
}

const struct sonde_request sonde_request_find = {
    .name = "find",
    .summary = "routines, API calls and kernels by a part of their name",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .defaults = &nothing,
    .answer = answer,
};

/* path.c - the request `path`: the steps of the critical path of a process, or of a job, to be drawn over the time line.
 *
 * What the path is made of, and what faster parts would save, the view `critical` says; these are the same steps, one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/critical/critical.h"
#include "analyze/model/recorded.h"
#include "base/map.h"
#include "columns.h"
#include "request.h"
#include "views/names.h"

struct asked {
    int64_t process;
    bool job;
};

static const struct sonde_option options_table[] = {
    {.name = "process", .type = SONDE_OPTION_INT, .argument = "N", .low = 0, .high = UINT32_MAX, .offset = offsetof(struct asked, process), .help = "the process, as the request run numbers it (default 0)"},
    {.name = "job", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct asked, job), .help = "the path through all ranks that wait for each other"},
    {.name = NULL},
};

/* ---- words ------------------------------------------------------------------------------ */

/* Steps that are called alike have one entry: [category] of those without a call path, else by tree node. */
struct words {
    const struct sonde_query *q;
    uint64_t begin_ns;  /* of the run, by the wall clock */
    struct sonde_map by_node;
    json_t *labels, *names;
    int failed;
};

/* The node whose name a step has, as the view names its activities: of host code the nearest frame of the user's. 0: its
 * category is all that it is called. */
static uint32_t named_node(const struct sonde_profile *profile, const struct sonde_path_segment *step)
{
    uint32_t node = step->node;
    if (step->category == SONDE_PATH_OFF)
        return sonde_is_wait(profile, node) ? node : 0;
    if (step->category == SONDE_PATH_API || step->category == SONDE_PATH_MESSAGE || (step->category >= SONDE_PATH_KERNEL && step->category <= SONDE_PATH_ORDER))
        return node;
    if (step->category != SONDE_PATH_HOST || !node || !sonde_profile_callers(profile, step->node, &node, 1))
        return 0;
    return *profile->nodes.items[node].name ? node : sonde_profile_routine(profile, step->node);
}

static void add_label(struct sonde_text *out, const struct sonde_query *q, const struct sonde_path_segment *step, uint32_t at)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[at];
    const struct sonde_group group = {.op = node->op, .name = node->name};
    if (!at)
        sonde_text_add(out, sonde_path_text((enum sonde_path_category)step->category));
    else if (node->kind != SONDE_FRAME_OP)
        sonde_name_routine(q, out, node);
    else /* as the time line calls it */
        sonde_text_add(out, *node->name ? sonde_name_group_title(q, &group) : sonde_name_copy(&group));
}

static uint32_t word_of(struct words *w, const struct sonde_path_segment *step)
{
    const uint32_t node = named_node(w->q->profile, step);
    const uint64_t key = (uint64_t)node << 8 | (node ? 0 : step->category + 1);
    struct sonde_text label = {0};
    uint64_t at = json_array_size(w->labels);
    if (sonde_map_get(&w->by_node, key, &at))
        return (uint32_t)at;
    add_label(&label, w->q, step, node);
    w->failed |= label.failed || json_array_append_new(w->labels, sonde_packed_text(sonde_text_get(&label))) ||
                 json_array_append_new(w->names, node ? sonde_packed_text(w->q->profile->nodes.items[node].name) : json_string("")) ||
                 sonde_map_put(&w->by_node, key, at);
    sonde_text_fini(&label);
    return (uint32_t)at;
}

/* ---- columns ---------------------------------------------------------------------------------- */

/* A time of the process on the axis of the run. */
static uint64_t on_axis(const struct words *w, uint32_t process, uint64_t time_ns)
{
    const int64_t since_ns = (int64_t)(time_ns + w->q->m->processes[process].header.wall_offset_ns - w->begin_ns);
    return since_ns > 0 ? (uint64_t)since_ns : 0;
}

static void add_steps(struct sonde_packed *packed, const struct sonde_path *path, struct words *w)
{
    const size_t count = path->segments.count;
    uint64_t *begin = sonde_packed_column(packed, "begin_ns", SONDE_PACKED_U64, count);
    uint64_t *end = sonde_packed_column(packed, "end_ns", SONDE_PACKED_U64, count);
    uint32_t *lane = sonde_packed_column(packed, "lane", SONDE_PACKED_U32, count);
    uint32_t *node = sonde_packed_column(packed, "node", SONDE_PACKED_U32, count);
    uint32_t *label = sonde_packed_column(packed, "label", SONDE_PACKED_U32, count);
    uint8_t *category = sonde_packed_column(packed, "category", SONDE_PACKED_U8, count);
    uint32_t *process = sonde_packed_column(packed, "process", SONDE_PACKED_U32, count);
    for (size_t i = 0; i < count && !packed->failed && !w->failed; i++) {
        const struct sonde_path_segment *step = &path->segments.items[count - 1 - i]; /* the first comes first */
        begin[i] = on_axis(w, step->process, step->start_ns);
        end[i] = on_axis(w, step->process, step->end_ns);
        lane[i] = step->lane;
        node[i] = step->node;
        label[i] = word_of(w, step);
        category[i] = (uint8_t)step->category;
        process[i] = step->process;
    }
}

/* Where the first step begins, or the last one ends. */
static uint64_t edge(const struct words *w, const struct sonde_path *path, bool last)
{
    const size_t count = path->segments.count;
    if (!count)
        return on_axis(w, path->process, last ? path->end_ns : path->begin_ns);
    const struct sonde_path_segment *step = &path->segments.items[last ? 0 : count - 1];
    return on_axis(w, step->process, last ? step->end_ns : step->start_ns);
}

static int pack(const struct sonde_query *q, const struct sonde_path *path, struct sonde_text *out)
{
    struct words w = {.q = q, .labels = json_array(), .names = json_array()};
    json_t *categories = json_array();
    struct sonde_packed packed;
    uint64_t end_ns;
    bool failed = false;
    sonde_run_range(q->m, &w.begin_ns, &end_ns);
    sonde_packed_begin(&packed);
    add_steps(&packed, path, &w);
    for (int i = 0; i < SONDE_PATH_COUNT; i++)
        failed |= json_array_append_new(categories, json_string(sonde_path_name((enum sonde_path_category)i))) != 0;
    json_t *h = packed.header;
    failed |= json_object_set_new(h, "process", json_integer(path->process)) |
              json_object_set_new(h, "from_ns", json_integer((json_int_t)edge(&w, path, false))) |
              json_object_set_new(h, "to_ns", json_integer((json_int_t)edge(&w, path, true))) |
              json_object_set_new(h, "limited", json_boolean(path->limited));
    failed |= json_object_set_new(h, "categories", categories) | json_object_set_new(h, "strings", w.labels) |
              json_object_set_new(h, "names", w.names);
    const int rc = failed || w.failed ? SONDE_ENOMEM : sonde_packed_write(&packed, out);
    sonde_packed_fini(&packed);
    sonde_map_fini(&w.by_node);
    return rc;
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    const struct sonde_query *q = &session->query;
    const struct asked *asked = options;
    const int64_t process = asked->process;
    struct sonde_critical critical = {0};
    (void)argument;
    if (process >= (int64_t)q->m->process_count) {
        problem->option = "process";
        return sonde_diag_set(&problem->diag, SONDE_ENOTFOUND, NULL, "there is no process %lld", (long long)process);
    }
    out->type = SONDE_PACKED_MEDIA_TYPE;
    const struct sonde_critical_options wanted = {
        .segments = true, .alone = true, .process = asked->job ? UINT32_MAX : (uint32_t)process, .job = asked->job};
    int rc = sonde_critical_compute(q->m, q->profile, &wanted, NULL, &critical);
    const struct sonde_path *path = critical.has_job ? &critical.job : critical.paths.count ? &critical.paths.items[0]
                                                                                            : NULL;
    if (!rc && !path && asked->job)
        rc = sonde_diag_set(&problem->diag, SONDE_EEMPTY, NULL, "no ranks wait for each other, through MPI or NCCL");
    else if (!rc && !path)
        rc = sonde_diag_set(&problem->diag, SONDE_EEMPTY, NULL, "there is no trace of process %lld", (long long)process);
    else if (rc || (rc = pack(q, path, &out->text)))
        sonde_diag_set(&problem->diag, rc, session->path, "cannot find the critical path of");
    sonde_critical_fini(&critical);
    return rc;
}

const struct sonde_request sonde_request_path = {
    .name = "path",
    .summary = "the steps of the critical path of a process, or through all ranks",
    .options = options_table,
    .options_bytes = sizeof(struct asked),
    .answer = answer,
};

/* tau.c - the profile as TAU's files, one for each thread and queue and each metric: MULTI__METRIC/profile.NODE.CONTEXT.THREAD.
 *
 * The format: "TAU Profile Data Format" (TAU's reference guide), as its own pprof and ParaProf read it. As TAUcuda has it, a
 * node is a process, context 0 its host and the others its devices, whose threads are queues (Malony et al., "Parallel
 * Performance Measurement of Heterogeneous Parallel Systems with GPUs", section 4). Times are microseconds.
 */
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"
#include "base/utf8.h"
#include "names.h"

enum metric { METRIC_TIME,
              METRIC_CPU,
              METRIC_QUEUE,
              METRIC_BYTES,
              METRICS };

static const struct {
    const char *name;
    bool ns;
} metrics[METRICS] = {
    [METRIC_TIME] = {"TIME", true},
    [METRIC_CPU] = {"SAMPLED_CPU_TIME", true},
    [METRIC_QUEUE] = {"QUEUE_DELAY", true},
    [METRIC_BYTES] = {"BYTES", false},
};

struct sums {
    uint64_t calls, value[METRICS];
};

struct event { /* "user event": what single values were */
    uint64_t count, most, least;
    double sum, squares;
};

struct function { /* all frames of one name */
    uint64_t calls, below;
    uint64_t own, all; /* of the metric that is being written */
    const char *group;
};

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_export_result *result;
    struct sonde_text clean, text;
    struct sonde_intern functions; /* names as they are written */
    SONDE_VECTOR(uint32_t) function_of; /* [tree node] */
    struct sums *own, *all;  /* [tree node], of the file */
    uint64_t *below;         /* [tree node]: calls of its children */
    struct function *flat;   /* [function - 1] */
    struct event copied[SONDE_OP_KIND_COUNT + 1], allocated[SONDE_OBJECT_KIND_COUNT + 1];
    bool ranked, nomem;
    uint32_t process;
};

static const struct sonde_process *process_of(const struct writer *w)
{
    return &w->m->processes[w->process];
}

/* ---- names ------------------------------------------------------------------------- */

/* Within quotes, on one line, and no arrow but those of call paths. */
static void add_name(struct writer *w, const char *name)
{
    for (const char *s = sonde_utf8_clean(name, &w->clean); *s; s++) {
        const char c = (unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s == '"'              ? '\''
                                                                  : *s == '=' && s[1] == '>' ? '-'
                                                                                             : *s;
        sonde_text_add_bytes(&w->text, &c, 1);
    }
}

static uint32_t name_function(struct writer *w, uint32_t at)
{
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    w->text.length = 0;
    add_name(w, at ? sonde_names_frame(&w->names, at, false) : ".TAU application");
    if (node->kind != SONDE_FRAME_RANGE && *node->file) {
        sonde_text_add(&w->text, " [{");
        add_name(w, node->file);
        sonde_text_format(&w->text, "} {%u}]", node->line);
    }
    const uint32_t id = sonde_intern_text(&w->functions, sonde_text_get(&w->text));
    w->nomem |= !id || w->text.failed;
    return id ? id : 1;
}

static const char *group_of(const struct sonde_cct_node *node)
{
    switch (node->kind) {
    case SONDE_FRAME_OP: return sonde_group_text(node->op);
    case SONDE_FRAME_API: return "api";
    case SONDE_FRAME_RANGE: return "range";
    case SONDE_FRAME_PYTHON: return "python";
    default: return "native";
    }
}

/* ---- numbers ------------------------------------------------------------------------ */

static void put_value(struct writer *w, enum metric metric, uint64_t value)
{
    char digits[8];
    sonde_out_char(w->out, ' ');
    sonde_out_u64(w->out, metrics[metric].ns ? value / 1000 : value);
    if (!metrics[metric].ns || value % 1000 == 0)
        return;
    snprintf(digits, sizeof digits, ".%03u", (unsigned)(value % 1000));
    sonde_out_text(w->out, digits);
}

static void put_count(struct writer *w, uint64_t count)
{
    sonde_out_char(w->out, ' ');
    sonde_out_u64(w->out, count);
}

static void count_event(struct event *e, uint64_t value)
{
    e->least = !e->count || value < e->least ? value : e->least;
    e->most = value > e->most ? value : e->most;
    e->count++;
    e->sum += (double)value;
    e->squares += (double)value * (double)value;
}

static void put_event(struct writer *w, const char *what, const char *kind, const struct event *e)
{
    char line[256];
    if (!e->count)
        return;
    snprintf(line, sizeof line, "\"%s: %s\" %llu %llu %llu %.17g %.17g\n", what, kind, (unsigned long long)e->count, (unsigned long long)e->most,
             (unsigned long long)e->least, e->sum / (double)e->count, e->squares);
    sonde_out_text(w->out, line);
}

/* ---- one file ----------------------------------------------------------------------- */

static void put_function(struct writer *w, enum metric metric, const char *name, const struct function *f, const char *also)
{
    sonde_out_char(w->out, '"');
    sonde_out_text(w->out, name);
    sonde_out_char(w->out, '"');
    put_count(w, f->calls);
    put_count(w, f->below);
    put_value(w, metric, f->own);
    put_value(w, metric, f->all);
    sonde_out_text(w->out, " 0 GROUP=\"");
    sonde_out_text(w->out, f->group);
    sonde_out_text(w->out, also);
    sonde_out_text(w->out, "\"\n");
}

/* A function within itself counts once in what is below it. */
static bool within_itself(const struct writer *w, uint32_t at)
{
    const struct sonde_profile *profile = w->names.profile;
    const uint32_t function = w->function_of.items[at];
    while (at) {
        at = profile->nodes.items[at].parent;
        if (w->function_of.items[at] == function)
            return true;
    }
    return false;
}

static bool is_in(const struct writer *w, uint32_t at)
{
    const struct sums *s = &w->all[at];
    return s->calls || s->value[METRIC_TIME] || s->value[METRIC_CPU] || s->value[METRIC_QUEUE] || s->value[METRIC_BYTES];
}

static void add_flat(struct writer *w, enum metric metric)
{
    const struct sonde_profile *profile = w->names.profile;
    memset(w->flat, 0, w->functions.count * sizeof *w->flat);
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        struct function *f = &w->flat[w->function_of.items[i] - 1];
        if (!is_in(w, i))
            continue;
        f->group = i ? group_of(&profile->nodes.items[i]) : "TAU_USER";
        f->calls += w->own[i].calls;
        f->below += w->below[i];
        f->own += w->own[i].value[metric];
        if (!within_itself(w, i))
            f->all += w->all[i].value[metric];
    }
}

static void put_path(struct writer *w, enum metric metric, uint32_t at)
{
    const struct sonde_profile *profile = w->names.profile;
    struct sonde_export_path path = {0};
    const struct function f = {w->own[at].calls, w->below[at], w->own[at].value[metric], w->all[at].value[metric], group_of(&profile->nodes.items[at])};
    w->nomem |= sonde__export_path(profile, at, &path) != 0;
    w->text.length = 0;
    sonde_text_add(&w->text, sonde_intern_get(&w->functions, w->function_of.items[0]));
    for (size_t i = 0; i < path.nodes.count; i++)
        sonde_text_format(&w->text, " => %s", sonde_intern_get(&w->functions, w->function_of.items[path.nodes.items[i]]));
    put_function(w, metric, sonde_text_get(&w->text), &f, " | TAU_CALLPATH");
    sonde_vector_fini(&path.nodes);
}

static void put_metadata(struct writer *w, enum metric metric, const char *lane)
{
    const struct sonde_process *p = process_of(w);
    const char *const pairs[][2] = {{"Metric Name", metrics[metric].name}, {"Creator", "sonde " SONDE_VERSION}, {"Process", p->name}, {"Executable", p->header.executable}, {"Thread", lane}};
    sonde_out_text(w->out, "# Name Calls Subrs Excl Incl ProfileCalls # <metadata>");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        sonde_out_text(w->out, "<attribute><name>");
        sonde_out_text(w->out, pairs[i][0]);
        sonde_out_text(w->out, "</name><value>");
        for (const char *s = sonde_utf8_clean(pairs[i][1], &w->clean); *s; s++)
            if (*s == '<' || *s == '&')
                sonde_out_text(w->out, *s == '<' ? "&lt;" : "&amp;");
            else
                sonde_out_char(w->out, (unsigned char)*s < 0x20 ? ' ' : *s);
        sonde_out_text(w->out, "</value></attribute>");
    }
    sonde_out_text(w->out, "</metadata>\n");
}

static void put_events(struct writer *w)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i <= SONDE_OP_KIND_COUNT; i++)
        count += w->copied[i].count != 0;
    for (uint32_t i = 0; i <= SONDE_OBJECT_KIND_COUNT; i++)
        count += w->allocated[i].count != 0;
    sonde_out_text(w->out, "0 aggregates\n");
    sonde_out_u64(w->out, count);
    sonde_out_text(w->out, " userevents\n# eventname numevents max min mean sumsqr\n");
    for (uint32_t i = 0; i <= SONDE_OP_KIND_COUNT; i++)
        put_event(w, "Bytes", sonde_op_kind_name(i), &w->copied[i]);
    for (uint32_t i = 0; i <= SONDE_OBJECT_KIND_COUNT; i++)
        put_event(w, "Bytes allocated", sonde_object_kind_name(i), &w->allocated[i]);
}

static void put_file(struct writer *w, enum metric metric, const char *number, const char *lane)
{
    const struct sonde_profile *profile = w->names.profile;
    char name[96];
    uint64_t functions = 0;
    snprintf(name, sizeof name, "MULTI__%s/profile.%s", metrics[metric].name, number);
    sonde_out_member(w->out, name);
    add_flat(w, metric);
    for (uint32_t i = 0; i < w->functions.count; i++)
        functions += w->flat[i].group != NULL;
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        functions += is_in(w, i);
    sonde_out_u64(w->out, functions);
    sonde_out_text(w->out, " templated_functions_MULTI_");
    sonde_out_text(w->out, metrics[metric].name);
    sonde_out_char(w->out, '\n');
    put_metadata(w, metric, lane);
    for (uint32_t i = 0; i < w->functions.count; i++)
        if (w->flat[i].group)
            put_function(w, metric, sonde_intern_get(&w->functions, i + 1), &w->flat[i], "");
    for (uint32_t i = 1; i < profile->nodes.count && !w->nomem && !sonde_out_failed(w->out); i++)
        if (is_in(w, i))
            put_path(w, metric, i);
    put_events(w);
}

/* ---- threads and queues --------------------------------------------------------------- */

/* A row without a lane is of an API call or a wait, one of a queue's of operations, one of a thread's of samples. */
static void add_row(struct writer *w, const struct sonde_row_profile *row)
{
    const struct sonde_process *p = process_of(w);
    const uint32_t at = sonde_names_locate(&w->names, w->process, row->node);
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    struct sums *sums = &w->own[at];
    if (row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind == SONDE_LANE_KIND_THREAD) {
        sums->value[METRIC_CPU] += row->sum_ns;
        return;
    }
    sums->calls += row->count;
    sums->value[METRIC_BYTES] += row->bytes;
    if (row->lane && node->kind == SONDE_FRAME_OP && !sonde_op_kind_counts(node->op))
        return;
    sums->value[METRIC_TIME] += row->sum_ns;
    sums->value[METRIC_QUEUE] += row->enqueue_queued_ns + row->queued_submit_ns + row->submit_start_ns;
}

/* What is in the profile of a lane; 0: of API calls, and waits in the C library, of all threads. False: nothing. */
static bool gather(struct writer *w, uint32_t lane)
{
    const struct sonde_process *p = process_of(w);
    const struct sonde_profile *profile = w->names.profile;
    bool some = false;
    memset(w->own, 0, profile->nodes.count * sizeof *w->own);
    memset(w->below, 0, profile->nodes.count * sizeof *w->below);
    for (uint32_t i = 0; i < p->profile_count; i++)
        if (p->profiles[i].lane == lane && p->profiles[i].count) {
            add_row(w, &p->profiles[i]);
            some = true;
        }
    memcpy(w->all, w->own, profile->nodes.count * sizeof *w->all);
    for (uint32_t i = (uint32_t)profile->nodes.count; some && i-- > 1;) {
        struct sums *above = &w->all[profile->nodes.items[i].parent];
        above->calls += w->all[i].calls;
        for (int k = 0; k < METRICS; k++)
            above->value[k] += w->all[i].value[k];
        w->below[profile->nodes.items[i].parent] += w->own[i].calls;
    }
    return some;
}

static int count_op(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_op *op = row;
    (void)lane;
    if (op->bytes)
        count_event(&w->copied[op->kind < SONDE_OP_KIND_COUNT ? op->kind : SONDE_OP_KIND_COUNT], op->bytes);
    return 0;
}

static void count_objects(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    for (uint32_t i = 1; i < p->object_count; i++)
        count_event(&w->allocated[p->objects[i].kind < SONDE_OBJECT_KIND_COUNT ? p->objects[i].kind : SONDE_OBJECT_KIND_COUNT], p->objects[i].bytes);
}

static void write_lane(struct writer *w, uint32_t lane, uint32_t context, uint32_t thread)
{
    const struct sonde_process *p = process_of(w);
    const uint32_t node = w->ranked ? p->header.rank - 1 : w->process;
    char number[48], name[256] = "Host";
    if (!gather(w, lane) && (lane || p->object_count < 2))
        return;
    memset(w->copied, 0, sizeof w->copied);
    memset(w->allocated, 0, sizeof w->allocated);
    if (context && sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .lane = lane}, count_op, w) == SONDE_ENOMEM)
        w->nomem = true;
    if (!lane)
        count_objects(w);
    else
        sonde_names_lane(&w->names, w->process, lane, name, sizeof name);
    snprintf(number, sizeof number, "%u.%u.%u", node, context, thread);
    for (int metric = 0; metric < METRICS; metric++)
        if (metric != METRIC_CPU || w->names.profile->sampled)
            put_file(w, (enum metric)metric, number, name);
}

/* Threads count through all contexts: some readers do without the context. */
static void write_process(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    write_lane(w, 0, 0, 0);
    for (uint32_t lane = 1; lane < p->lane_count && !w->nomem && !sonde_out_failed(w->out); lane++) {
        const uint32_t device = p->lanes[lane].device, unknown = p->device_count ? p->device_count : 1;
        const bool queue = p->lanes[lane].kind == SONDE_LANE_KIND_QUEUE;
        if (sonde_lane_is_series(&p->lanes[lane]))
            continue;
        write_lane(w, lane, !queue ? 0 : device && device < p->device_count ? device
                                                                            : unknown,
                   lane);
    }
}

/* Nodes are ranks where each process has one of its own. */
static bool are_ranked(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t k = 0; k <= i; k++)
            if (!m->processes[i].header.rank || (k < i && m->processes[k].header.rank == m->processes[i].header.rank))
                return false;
    return true;
}

static bool make_room(struct writer *w)
{
    const size_t nodes = w->names.profile->nodes.count;
    for (uint32_t i = 0; i < nodes && !w->nomem; i++)
        w->nomem |= sonde_vector_push(&w->function_of, name_function(w, i)) != 0;
    w->own = calloc(nodes + 1, sizeof *w->own);
    w->all = calloc(nodes + 1, sizeof *w->all);
    w->below = calloc(nodes + 1, sizeof *w->below);
    w->flat = calloc((size_t)w->functions.count + 1, sizeof *w->flat);
    return w->own && w->all && w->below && w->flat && !w->nomem;
}

static int write_tau(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                     struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.m = m, .out = out, .result = result, .ranked = are_ranked(m)};
    (void)progress;
    int rc = sonde__export_begin_profile(&w.names, m, result, diag);
    if (rc)
        return rc;
    w.nomem = !make_room(&w);
    for (; w.process < m->process_count && !w.nomem && !sonde_out_failed(out); w.process++)
        write_process(&w);
    if (w.nomem)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    free(w.own);
    free(w.all);
    free(w.below);
    free(w.flat);
    sonde_vector_fini(&w.function_of);
    sonde_intern_fini(&w.functions);
    sonde_text_fini(&w.text);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return rc;
}

const struct sonde_export_format sonde_export_tau = {
    .name = "tau",
    .extension = "tau",
    .what = "profiles of threads and queues as TAU's profile.N.C.T, a folder, for ParaProf and TAU's pprof",
    .open_with = "open it with 'paraprof', or run TAU's 'pprof' in one of its folders",
    .form = SONDE_EXPORT_FOLDER,
    .mark = "MULTI__TIME",
    .write = write_tau,
};

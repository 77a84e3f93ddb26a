/* names.c - what frames, callers, kernels, processes and devices are called. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/answers/lanes/statistics.h"
#include "analyze/model/rank.h"
#include "base/kinds.h"

/* ---- frames ---------------------------------------------------------------------- */

/* Is the '<' at `at` that of "operator<", "operator<<" or "operator<=>"? */
static bool is_operator(const char *name, size_t at)
{
    static const char word[] = "operator";
    at -= at && name[at - 1] == '<';
    return at >= sizeof word - 1 && strncmp(name + at - (sizeof word - 1), word, sizeof word - 1) == 0;
}

/* Where the parameter list of a C++ name begins; its length when it has none (Rust's never have).
 * "(anonymous namespace)::f(int) const", "operator()(int)", "f<g(int)>(char)", "<(u8, T) as core::iter::Step>::next". */
static size_t name_length(const char *name)
{
    int depth = 0;
    for (size_t i = 0; name[i]; i++) {
        if (name[i] == '<' && !is_operator(name, i))
            depth++;
        else if (name[i] == '>' && depth && name[i - 1] != '-')
            depth--;
        if (name[i] != '(' || depth)
            continue;
        if (strncmp(name + i, "(anonymous", 10) == 0 || (i >= 8 && !strncmp(name + i - 8, "operator()", 10))) {
            const char *close = strchr(name + i, ')');
            i = close ? (size_t)(close - name) : i;
            continue;
        }
        return i;
    }
    return strlen(name);
}

void sonde_name_function(struct sonde_text *out, const char *name)
{
    if (*name == '<' && !strstr(name, ">::")) { /* Python's <module>, <lambda>, <listcomp>; not Rust's <T as U>::f */
        sonde_text_add(out, name);
        return;
    }
    name += strncmp(name, "void ", 5) == 0 ? 5 : 0; /* of a template */
    sonde_text_add_bytes(out, name, name_length(name));
    sonde_text_add(out, "()");
}

/* As much of a module's path as tells it from the others: a name, or "64-1-1/Xdot.so" and "128-1-1/Xdot.so". */
const char *sonde_name_module(const struct sonde_query *q, const char *path)
{
    const char *name = sonde_path_base(path);
    for (size_t i = 0; i < q->modules.count; i++) {
        const char *other = q->modules.items[i];
        const size_t length = strlen(other);
        while (name > path && strcmp(other, path) != 0 && length > strlen(name) && other[length - strlen(name) - 1] == '/' &&
               sonde_text_ends(other, name))
            for (name--; name > path && name[-1] != '/';)
                name--;
    }
    return name;
}

void sonde_name_frame(const struct sonde_query *q, struct sonde_text *out, const struct sonde_cct_node *node)
{
    switch (node->kind) {
    case 0:
        sonde_text_add(out, "all");
        return;
    case SONDE_FRAME_UNKNOWN:
        sonde_text_add(out, "unknown code");
        return;
    case SONDE_FRAME_CUT:
        sonde_text_add(out, "outer frames missing");
        return;
    case SONDE_FRAME_API:
        sonde_text_add(out, *node->name ? node->name : "unknown call");
        return;
    case SONDE_FRAME_RANGE:
        sonde_text_format(out, *node->module ? "[%s: %s]" : "[%s%s]", node->module, node->name);
        return;
    case SONDE_FRAME_LINK:
        sonde_text_add(out, node->offset ? "prepared in " : "prepared elsewhere");
        if (!node->offset)
            return;
        break;
    case SONDE_FRAME_OP:
        sonde_text_add(out, sonde_op_kind_name(node->op));
        if (*node->name)
            sonde_text_format(out, " %s", node->name);
        if (*node->file)
            sonde_text_format(out, node->line ? " %s:%u" : " %s", sonde_path_base(node->file), node->line);
        return;
    default:
        break;
    }
    if (*node->name)
        sonde_name_function(out, node->name);
    if (*node->file)
        sonde_text_format(out, "%s%s", *node->name ? " " : "", sonde_path_base(node->file));
    if (*node->file && node->line)
        sonde_text_format(out, ":%u", node->line);
    if (!*node->name)
        sonde_text_format(out, "%s%s+0x%llx", *node->file ? " " : "",
                          *node->module ? sonde_name_module(q, node->module) : "unknown",
                          (unsigned long long)node->offset);
    else if (!*node->file && *node->module)
        sonde_text_format(out, " %s", sonde_name_module(q, node->module));
}

const char *sonde_name_frame_kind(uint8_t kind)
{
    static const char *const names[] = {"root", "native", "python", "api", "operation", "unknown", "cut", "link", "range"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *sonde_name_code(const struct sonde_cct_node *node)
{
    if (node->kind != SONDE_FRAME_NATIVE && node->kind != SONDE_FRAME_PYTHON)
        return NULL;
    return node->origin == SONDE_ORIGIN_USER ? "user" : (node->origin == SONDE_ORIGIN_LIBRARY ? "library" : "runtime");
}

void sonde_name_routine(const struct sonde_query *q, struct sonde_text *out, const struct sonde_cct_node *node)
{
    struct sonde_cct_node routine = *node;
    routine.line = 0;
    if (node->kind == SONDE_FRAME_NATIVE && !*node->name) /* nothing tells where one function ends */
        sonde_text_format(out, "%s (no names)", *node->module ? sonde_name_module(q, node->module) : "unknown module");
    else if (node->kind == SONDE_FRAME_LINK && *node->name) {
        sonde_text_add(out, "prepared in ");
        sonde_name_function(out, node->name);
    } else {
        sonde_name_frame(q, out, &routine);
    }
}

void sonde_name_place(const struct sonde_query *q, struct sonde_text *out, uint32_t node)
{
    const struct sonde_cct_node *n = &q->profile->nodes.items[node];
    uint32_t nearest;
    if (!sonde_profile_callers(q->profile, node, &nearest, 1)) {
        sonde_name_frame(q, out, n);
        return;
    }
    const bool named = n->kind != SONDE_FRAME_NATIVE || *n->name;
    if (nearest != node && named) {
        sonde_name_routine(q, out, n);
        sonde_text_add(out, " in ");
    }
    sonde_name_frame(q, out, &q->profile->nodes.items[nearest]);
    if (nearest != node && !named) /* the place says more than the name of a file, and a narrow column cuts the rest */
        sonde_text_format(out, ", in %s", sonde_path_base(n->module));
}

void sonde_name_share(const struct sonde_query *q, struct sonde_text *out, const struct sonde_share *share)
{
    const struct sonde_profile_frame *f = &share->frame;
    const struct sonde_cct_node node = {.kind = f->kind, .op = f->op, .name = f->name, .file = f->file, .module = f->module};
    if (share->kind != SONDE_SHARE_ROUTINE)
        sonde_text_add(out, sonde_share_text(share->kind));
    else
        sonde_name_routine(q, out, &node);
    uint32_t nearest;
    if (share->kind == SONDE_SHARE_ROUTINE && sonde_is_wait(q->profile, share->node) &&
        sonde_profile_callers(q->profile, share->node, &nearest, 1)) {
        sonde_text_add(out, ", mostly in ");
        sonde_name_frame(q, out, &q->profile->nodes.items[nearest]);
    }
}

static bool is_nameless(const struct sonde_cct_node *node)
{
    return node->kind == SONDE_FRAME_NATIVE && !*node->name && !*node->file;
}

/* A frame after `before`, whose module is not said again: "clpeak+0x9dc5 ← +0x78d0", "step() libsolve.so ← run()". */
static void add_caller(const struct sonde_query *q, struct sonde_text *out, const struct sonde_cct_node *node,
                       const struct sonde_cct_node *before)
{
    const bool native = node->kind == SONDE_FRAME_NATIVE && !*node->file;
    if (!before || !native || before->kind != SONDE_FRAME_NATIVE || *before->file || strcmp(node->module, before->module) != 0)
        sonde_name_frame(q, out, node);
    else if (*node->name)
        sonde_name_function(out, node->name);
    else
        sonde_text_format(out, "+0x%llx", (unsigned long long)node->offset);
}

/* Nameless frames of one module that follow each other are one frame, of which at most `max` offsets are shown. */
void sonde_name_callers(const struct sonde_query *q, struct sonde_text *out, uint32_t leaf, uint32_t max)
{
    enum { MOST = 16 };
    uint32_t nodes[MOST], frames = 0, offsets = 0;
    const uint32_t count = sonde_profile_callers(q->profile, leaf, nodes, MOST);
    const struct sonde_cct_node *before = NULL;
    bool left_out = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_cct_node *node = &q->profile->nodes.items[nodes[i]];
        const bool folded = before && is_nameless(node) && is_nameless(before) && strcmp(node->module, before->module) == 0;
        offsets = folded ? offsets + 1 : 1;
        frames += !folded;
        if (frames > max)
            break;
        if (!folded && left_out)
            sonde_text_add(out, " ← …");
        left_out = folded && offsets > max;
        if (!left_out) {
            sonde_text_add(out, before ? sonde_profile_called_by(q->profile, nodes[i - 1]) : "");
            add_caller(q, out, node, before);
        }
        before = node;
    }
    if (!count)
        sonde_text_add(out, "unknown");
}

void sonde_name_names(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t kind, uint32_t node)
{
    enum { FIRST = 3 };
    enum { BYTES = 48 }; /* of names after the first one */
    const size_t before = out->length;
    size_t at = 0;
    for (int i = 0; i <= FIRST; i++) {
        const char *name = sonde_stretches_next(&q->stretches, process, kind, node, &at);
        if (!name)
            return;
        sonde_text_add(out, i ? ", " : ": ");
        if (i == FIRST || (i && out->length - before + strlen(name) > BYTES)) {
            sonde_text_add(out, "…");
            return;
        }
        sonde_text_add(out, name);
    }
}

void sonde_name_group_callers(const struct sonde_query *q, struct sonde_text *out, const struct sonde_group *group)
{
    struct sonde_caller *callers = NULL;
    long count = sonde_profile_group_callers(q->profile, group, 2, &callers);
    if (count > 1)
        sonde_text_format(out, "%ld places: ", count);
    if (count > 0)
        sonde_name_callers(q, out, callers[0].leaf, 2);
    else
        sonde_text_add(out, "unknown");
    free(callers);
}

const char *sonde_name_group(const struct sonde_group *group)
{
    if (*group->name)
        return group->name;
    return group->op ? sonde_op_kind_name(group->op) : "unknown";
}

static const char *short_title(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *begin = name += strncmp(name, "void ", 5) == 0 ? 5 : 0;
    for (const char *c = name; *c && *c != '<'; c++) {
        if (strncmp(c, anonymous, sizeof anonymous - 1) == 0)
            c += sizeof anonymous - 2;
        else if (*c == '(')
            break;
        else if (c[0] == ':' && c[1] == ':')
            begin = c + 2;
    }
    return *begin ? begin : name;
}

const char *sonde_name_group_title(const struct sonde_query *q, const struct sonde_group *group)
{
    const char *name = sonde_name_group(group), *title = short_title(name);
    for (size_t i = 0; title != name && i < q->profile->ops.count; i++) {
        const char *other = sonde_name_group(&q->profile->ops.items[i]);
        if (strcmp(other, name) != 0 && sonde_text_ends(other, title) && strcmp(short_title(other), title) == 0)
            return name; /* of two namespaces */
    }
    return title;
}

void sonde_name_command(const struct sonde_query *q, struct sonde_text *out)
{
    const char *word;
    for (size_t i = 0; (word = sonde_measurement_word(q->m, i)); i++) {
        sonde_text_add(out, i ? " " : "");
        sonde_text_add_word(out, i ? word : sonde_path_base(word));
    }
    if (!out->length && q->m->process_count)
        sonde_text_add(out, sonde_path_base(q->m->processes[0].header.executable));
    if (!out->length)
        sonde_text_add(out, "unknown program");
}

void sonde_name_process(struct sonde_text *out, const struct sonde_process *p)
{
    char rank[SONDE_RANK_MAX];
    sonde_rank_text(p, rank);
    sonde_text_format(out, "%s%s%s", rank, *rank ? ", " : "", p->name);
}

void sonde_name_device_alone(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t device)
{
    const struct sonde_process *p = &q->m->processes[process];
    const char *name = device && device < p->device_count
                           ? sonde_process_string(p, p->devices[device].name)
                           : "";
    sonde_text_format(out, "%u %s", device ? device - 1 : 0, *name ? name : "unknown device");
}

/* How much of HOST-PID-N all processes have in common, by whole parts, at the begin and at the end. */
static void common_parts(const struct sonde_query *q, size_t *begin, size_t *end)
{
    const char *first = q->m->processes[0].name;
    const size_t length = strlen(first);
    size_t same = length, same_end = length;
    for (uint32_t i = 1; i < q->m->process_count; i++) {
        const char *name = q->m->processes[i].name;
        const size_t other = strlen(name);
        size_t k = 0, e = 0;
        while (k < same && k < other && name[k] == first[k])
            k++;
        while (e < same_end && e < other && name[other - 1 - e] == first[length - 1 - e])
            e++;
        same = k;
        same_end = e;
    }
    for (*begin = same; *begin && first[*begin - 1] != '-';)
        --*begin;
    for (*end = same_end; *end && first[length - *end] != '-';)
        --*end;
}

void sonde_name_process_begin(const struct sonde_query *q, struct sonde_text *out, uint32_t process)
{
    const struct sonde_process *p = &q->m->processes[process];
    size_t begin, end, alike = 0; /* a rank may have children */
    if (q->m->process_count < 2)
        return;
    for (uint32_t i = 0; i < q->m->process_count; i++)
        alike += q->m->processes[i].header.rank == p->header.rank;
    if (p->header.rank)
        sonde_text_format(out, "rank %u%s", p->header.rank - 1, alike > 1 ? ", " : ": ");
    if (p->header.rank && alike == 1)
        return;
    common_parts(q, &begin, &end);
    const size_t length = strlen(p->name);
    if (begin + end >= length)
        begin = end = 0;
    sonde_text_format(out, "%.*s: ", (int)(length - begin - end), p->name + begin);
}

void sonde_name_process_end(const struct sonde_query *q, struct sonde_text *out, uint32_t process)
{
    if (q->m->process_count > 1)
        sonde_text_format(out, " (%s)", q->m->processes[process].name);
}

void sonde_name_device(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t device)
{
    sonde_name_process_begin(q, out, process);
    sonde_name_device_alone(q, out, process, device);
    sonde_name_process_end(q, out, process);
}

/* The backend's own number where its name is one, else the queues of the process are counted: as in the exports. */
static void add_queue_number(struct sonde_text *out, const struct sonde_process *p, uint32_t lane)
{
    const char *name = sonde_process_string(p, p->lanes[lane].name);
    uint32_t count = 0;
    if (strncmp(name, "queue ", 6) == 0) {
        sonde_text_add(out, name + 6);
        return;
    }
    for (uint32_t i = 1; i <= lane; i++)
        count += p->lanes[i].kind == SONDE_LANE_KIND_QUEUE;
    sonde_text_format(out, "%u", count);
}

void sonde_name_lane_alone(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t lane)
{
    const struct sonde_process *p = &q->m->processes[process];
    const struct sonde_row_lane *row = &p->lanes[lane];
    const char *name = sonde_process_string(p, row->name);
    if (row->kind == SONDE_LANE_KIND_THREAD) {
        sonde_text_format(out, "thread %u", row->tid);
        if (row->threads > 1)
            sonde_text_format(out, " and %u later", row->threads - 1);
    } else {
        sonde_text_add(out, "queue ");
        add_queue_number(out, p, lane);
        sonde_text_add(out, " on ");
        sonde_name_device_alone(q, out, process, row->device);
    }
    if (*name && (row->kind == SONDE_LANE_KIND_THREAD || strncmp(name, "queue ", 6) != 0))
        sonde_text_format(out, " “%s”", name);
}

const char *sonde_name_copy(const struct sonde_group *group)
{
    const char *title = sonde_op_kind_title(group->op);
    return title ? title : sonde_name_group(group);
}

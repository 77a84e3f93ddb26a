/* report_text.c - frames, callers, devices and the ledger line as text; statistics as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "report.h"

/* ---- frames -------------------------------------------------------------------- */

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

void report_function(struct sonde_text *out, const char *name)
{
    if (*name == '<' && !strstr(name, ">::")) { /* Python's <module>, <lambda>, <listcomp>; not Rust's <T as U>::f */
        sonde_text_add(out, name);
        return;
    }
    name += strncmp(name, "void ", 5) == 0 ? 5 : 0; /* of a template */
    sonde_text_add_bytes(out, name, name_length(name));
    sonde_text_add(out, "()");
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* As much of a module's path as tells it from the others: a name, or "64-1-1/Xdot.so" and "128-1-1/Xdot.so". */
const char *report_module(const struct report *r, const char *path)
{
    const char *name = sonde_path_base(path);
    for (size_t i = 0; i < r->modules.count; i++) {
        const char *other = r->modules.items[i];
        const size_t length = strlen(other);
        while (name > path && strcmp(other, path) != 0 && length > strlen(name) && other[length - strlen(name) - 1] == '/' &&
               ends_with(other, name))
            for (name--; name > path && name[-1] != '/';)
                name--;
    }
    return name;
}

int report_modules_find(struct report *r)
{
    const char *last = NULL;
    for (size_t i = 0; i < r->profile->nodes.count; i++) {
        const char *module = r->profile->nodes.items[i].module;
        bool known = !module || !*module || module == last;
        for (size_t k = 0; !known && k < r->modules.count; k++)
            known = strcmp(r->modules.items[k], module) == 0;
        last = module;
        if (!known && sonde_vector_push(&r->modules, module))
            return SONDE_ENOMEM;
    }
    return 0;
}

void report_frame(const struct report *r, struct sonde_text *out, const struct sonde_cct_node *node)
{
    switch (node->kind) {
    case 0:
        sonde_text_add(out, "all");
        return;
    case SONDE_FRAME_UNKNOWN:
        sonde_text_add(out, "unknown code");
        return;
    case SONDE_FRAME_CUT:
        sonde_text_add(out, "outer frames are missing");
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
        report_function(out, node->name);
    if (*node->file)
        sonde_text_format(out, "%s%s", *node->name ? " " : "", sonde_path_base(node->file));
    if (*node->file && node->line)
        sonde_text_format(out, ":%u", node->line);
    if (!*node->name)
        sonde_text_format(out, "%s%s+0x%llx", *node->file ? " " : "",
                          *node->module ? report_module(r, node->module) : "unknown",
                          (unsigned long long)node->offset);
    else if (!*node->file && *node->module)
        sonde_text_format(out, " %s", report_module(r, node->module));
}

void report_routine(const struct report *r, struct sonde_text *out, const struct sonde_cct_node *node)
{
    struct sonde_cct_node routine = *node;
    routine.line = 0;
    if (node->kind == SONDE_FRAME_NATIVE && !*node->name) /* nothing tells where one function ends */
        sonde_text_format(out, "%s (no names)", *node->module ? report_module(r, node->module) : "unknown module");
    else if (node->kind == SONDE_FRAME_LINK && *node->name) {
        sonde_text_add(out, "prepared in ");
        report_function(out, node->name);
    } else {
        report_frame(r, out, &routine);
    }
}

static bool is_nameless(const struct sonde_cct_node *node)
{
    return node->kind == SONDE_FRAME_NATIVE && !*node->name && !*node->file;
}

/* A frame after `before`, whose module is not said again: "clpeak+0x9dc5 ← +0x78d0", "step() libsolve.so ← run()". */
static void add_caller(const struct report *r, struct sonde_text *out, const struct sonde_cct_node *node,
                       const struct sonde_cct_node *before)
{
    const bool native = node->kind == SONDE_FRAME_NATIVE && !*node->file;
    if (!before || !native || before->kind != SONDE_FRAME_NATIVE || *before->file || strcmp(node->module, before->module) != 0)
        report_frame(r, out, node);
    else if (*node->name)
        report_function(out, node->name);
    else
        sonde_text_format(out, "+0x%llx", (unsigned long long)node->offset);
}

/* Nameless frames of one module that follow each other are one frame, of which at most `max` offsets are shown. */
void report_callers(const struct report *r, struct sonde_text *out, uint32_t leaf, uint32_t max)
{
    enum { MOST = 16 };
    uint32_t nodes[MOST], frames = 0, offsets = 0;
    const uint32_t count = sonde_profile_callers(r->profile, leaf, nodes, MOST);
    const struct sonde_cct_node *before = NULL;
    bool left_out = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_cct_node *node = &r->profile->nodes.items[nodes[i]];
        const bool folded = before && is_nameless(node) && is_nameless(before) && strcmp(node->module, before->module) == 0;
        offsets = folded ? offsets + 1 : 1;
        frames += !folded;
        if (frames > max)
            break;
        if (!folded && left_out)
            sonde_text_add(out, " ← …");
        left_out = folded && offsets > max;
        if (!left_out) {
            sonde_text_add(out, before ? sonde_profile_called_by(r->profile, nodes[i - 1]) : "");
            add_caller(r, out, node, before);
        }
        before = node;
    }
    if (!count)
        sonde_text_add(out, "unknown");
}

void report_group_callers(const struct report *r, struct sonde_text *out, const struct sonde_group *group)
{
    struct sonde_caller *callers = NULL;
    long count = sonde_profile_group_callers(r->profile, group, 2, &callers);
    if (count > 1)
        sonde_text_format(out, "%ld places: ", count);
    if (count > 0)
        report_callers(r, out, callers[0].leaf, 2);
    else
        sonde_text_add(out, "unknown");
    free(callers);
}

void report_callers_begin(struct table *t, const char *title)
{
    static struct table_column columns[REPORT_CALLERS_COLUMNS] = {
        {"", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 2}, {"total", TABLE_RIGHT, 1},
        {"called from", TABLE_LEFT | TABLE_STACK, 0},
    };
    columns[0].title = title;
    *t = (struct table){.columns = columns, .column_count = REPORT_CALLERS_COLUMNS};
}

void report_callers_rows(const struct report *r, struct table *t, const struct sonde_group *group, const char *name)
{
    enum { MOST = 4 };
    struct sonde_caller *callers = NULL;
    long count = sonde_profile_group_callers(r->profile, group, 3, &callers);
    for (long i = 0; i < count && (i < MOST || !r->limit); i++) {
        const struct sonde_metrics *m = &callers[i].metrics;
        bool api = group->op == SONDE_OP_NONE && m->operations == 0;
        struct sonde_text text = {0};
        report_callers(r, &text, callers[i].leaf, 3);
        table_cell(t, i ? "" : name);
        table_count(t, api ? m->api_calls : m->operations);
        table_time(t, api || m->timed > 0, (double)(api ? m->api_ns : m->device_ns));
        table_cell(t, sonde_text_get(&text));
        sonde_text_fini(&text);
    }
    if (r->limit && count > MOST) {
        struct sonde_text text = {0};
        sonde_text_format(&text, "and %ld more places (--limit 0 shows all)", count - MOST);
        for (int i = 0; i < 3; i++)
            table_cell(t, "");
        table_cell(t, sonde_text_get(&text));
        sonde_text_fini(&text);
    }
    free(callers);
}

const char *report_group_name(const struct sonde_group *group)
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

const char *report_group_title(const struct report *r, const struct sonde_group *group)
{
    const char *name = report_group_name(group), *title = short_title(name);
    for (size_t i = 0; title != name && i < r->profile->ops.count; i++) {
        const char *other = report_group_name(&r->profile->ops.items[i]);
        if (strcmp(other, name) != 0 && ends_with(other, title) && strcmp(short_title(other), title) == 0)
            return name; /* of two namespaces */
    }
    return title;
}

void report_process(struct sonde_text *out, const struct sonde_process *p)
{
    char rank[SONDE_RANK_MAX];
    sonde_rank_text(p, rank);
    sonde_text_format(out, "%s%s%s", rank, *rank ? ", " : "", p->name);
}

void report_device_alone(const struct report *r, struct sonde_text *out, uint32_t process, uint32_t device)
{
    const struct sonde_process *p = &r->m->processes[process];
    const char *name = device && device < p->device_count
                           ? sonde_process_string(p, p->devices[device].name) : "";
    sonde_text_format(out, "%u %s", device ? device - 1 : 0, *name ? name : "unknown device");
}

/* How much of HOST-PID-N all processes have in common, by whole parts, at the begin and at the end. */
static void common_parts(const struct report *r, size_t *begin, size_t *end)
{
    const char *first = r->m->processes[0].name;
    const size_t length = strlen(first);
    size_t same = length, same_end = length;
    for (uint32_t i = 1; i < r->m->process_count; i++) {
        const char *name = r->m->processes[i].name;
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

void report_process_begin(const struct report *r, struct sonde_text *out, uint32_t process)
{
    const struct sonde_process *p = &r->m->processes[process];
    size_t begin, end, alike = 0; /* a rank may have children */
    if (r->m->process_count < 2)
        return;
    for (uint32_t i = 0; i < r->m->process_count; i++)
        alike += r->m->processes[i].header.rank == p->header.rank;
    if (p->header.rank)
        sonde_text_format(out, "rank %u%s", p->header.rank - 1, alike > 1 ? ", " : ": ");
    if (p->header.rank && alike == 1)
        return;
    common_parts(r, &begin, &end);
    const size_t length = strlen(p->name);
    if (begin + end >= length)
        begin = end = 0;
    sonde_text_format(out, "%.*s: ", (int)(length - begin - end), p->name + begin);
}

void report_process_end(const struct report *r, struct sonde_text *out, uint32_t process)
{
    if (r->m->process_count > 1)
        sonde_text_format(out, " (%s)", r->m->processes[process].name);
}

void report_device(const struct report *r, struct sonde_text *out, uint32_t process, uint32_t device)
{
    report_process_begin(r, out, process);
    report_device_alone(r, out, process, device);
    report_process_end(r, out, process);
}

void report_command(const struct report *r, struct sonde_text *out)
{
    const json_t *command = json_object_get(r->m->manifest, "command"), *word;
    size_t index;
    json_array_foreach(command, index, word) {
        const char *text = json_string_value(word);
        if (!text)
            continue;
        if (index == 0)
            text = sonde_path_base(text);
        sonde_text_add(out, index ? " " : "");
        sonde_text_add_word(out, text);
    }
    if (!out->length && r->m->process_count)
        sonde_text_add(out, sonde_path_base(r->m->processes[0].header.executable));
    if (!out->length)
        sonde_text_add(out, "unknown program");
}

/* ---- the ledger line ---------------------------------------------------------------- */

static void add_count(struct sonde_text *out, uint64_t n, const char *text)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(out, "%s%s %s", out->length ? ", " : "data: ", sonde_number_count(number, n), text);
}

void report_ledger_line(const struct report *r, struct sonde_text *out)
{
    const struct sonde_totals *t = &r->totals;
    char own[SONDE_NUMBER_MAX], wall[SONDE_NUMBER_MAX], bound[SONDE_NUMBER_MAX];
    add_count(out, t->ledger.seen, t->ledger.seen == 1 ? "operation" : "operations");
    add_count(out, t->dropped_operations, "dropped");
    add_count(out, t->ledger.unmatched, "unmatched");
    if (t->in_flight)
        add_count(out, t->in_flight, "in flight when the program ended");
    if (t->ledger.unplaced)
        add_count(out, t->ledger.unplaced, "unplaced");
    if (t->ledger.busy_clipped_ns)
        sonde_text_add(out, ", busy times are lower bounds");
    if (t->ledger.bad_time)
        add_count(out, t->ledger.bad_time, "with bad times");
    if (t->ledger.failed)
        add_count(out, t->ledger.failed, "failed");
    if (t->dropped_trace_rows)
        add_count(out, t->dropped_trace_rows, "missing in the trace");
    if (t->ledger.unwind_failed)
        add_count(out, t->ledger.unwind_failed, t->ledger.unwind_failed == 1 ? "stack incomplete" : "stacks incomplete");
    if (t->damaged_chunks)
        add_count(out, t->damaged_chunks, t->damaged_chunks == 1 ? "damaged chunk skipped" : "damaged chunks skipped");
    if (t->clock_known && !t->clock_bound_ns)
        sonde_text_add(out, " · host's clock");
    else if (t->clock_known)
        sonde_text_format(out, " · clock ± %s", sonde_number_time(bound, (double)t->clock_bound_ns));
    if (t->process_wall_ns)
        sonde_text_format(out, " · overhead %s of %s",
                          sonde_number_percent(own, (double)t->ledger.hook_ns, (double)t->process_wall_ns),
                          sonde_number_time(wall, (double)t->process_wall_ns));
    if (t->off)
        sonde_text_format(out, " · the agent switched itself off (see ledger)");
}

/* ---- JSON ------------------------------------------------------------------------------ */

json_t *report_json_count(uint64_t n)
{
    return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

json_t *report_json_ns(bool known, double ns)
{
    return !known ? json_null() : json_integer(ns < 9e18 ? (json_int_t)llround(ns) : INT64_MAX);
}

json_t *report_json_text(const char *text)
{
    struct sonde_text room = {0}; /* for a path or name that is not UTF-8 */
    json_t *value = *text ? json_string(sonde_utf8_clean(text, &room)) : json_null();
    sonde_text_fini(&room);
    return value;
}

json_t *report_json_stat(const struct sonde_stat *s)
{
    bool timed = s->timed > 0;
    double p50 = 0, p95 = 0, p99 = 0;
    bool known50 = sonde_stat_percentile(s, .50, &p50);
    bool known95 = sonde_stat_percentile(s, .95, &p95);
    bool known99 = sonde_stat_percentile(s, .99, &p99);
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}",
                     "count", (json_int_t)s->count, "timed", (json_int_t)s->timed,
                     "failed", (json_int_t)s->failed,
                     "total_ns", report_json_ns(timed, (double)s->sum_ns),
                     "min_ns", report_json_ns(timed, (double)s->min_ns),
                     "max_ns", report_json_ns(timed, (double)s->max_ns),
                     "mean_ns", timed ? json_real(s->mean_ns) : json_null(),
                     "stddev_ns", timed ? json_real(sonde_stat_stddev(s)) : json_null(),
                     "p50_ns", report_json_ns(known50, p50), "p95_ns", report_json_ns(known95, p95),
                     "p99_ns", report_json_ns(known99, p99), "bytes", (json_int_t)s->bytes);
}

json_t *report_json_frame(const struct sonde_cct_node *node)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", report_json_text(node->name),
                     "file", report_json_text(node->file),
                     "line", node->line ? json_integer(node->line) : json_null(),
                     "module", report_json_text(node->module));
}

json_t *report_json_frames(const struct report *r, uint32_t leaf)
{
    uint32_t nodes[8], count = leaf ? sonde_profile_callers(r->profile, leaf, nodes, 8) : 0;
    json_t *frames = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(frames, report_json_frame(&r->profile->nodes.items[nodes[i]]));
    return frames;
}

json_t *report_json_callers(const struct report *r, const struct sonde_group *group)
{
    struct sonde_caller *callers = NULL;
    long count = sonde_profile_group_callers(r->profile, group, 8, &callers);
    json_t *array = json_array();
    for (long i = 0; i < count; i++) {
        const struct sonde_metrics *m = &callers[i].metrics;
        bool api = m->operations == 0;
        json_array_append_new(array, json_pack("{s:I, s:I, s:I, s:o}",
            "count", (json_int_t)(api ? m->api_calls : m->operations),
            "total_ns", (json_int_t)(api ? m->api_ns : m->device_ns),
            "bytes", (json_int_t)m->bytes, "frames", report_json_frames(r, callers[i].leaf)));
    }
    free(callers);
    return array;
}

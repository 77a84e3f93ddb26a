/* profile.c - merging of calling context trees: HPCToolkit's way (Zhou et al.,
 * "Measurement and analysis of GPU-accelerated applications with HPCToolkit",
 * section 6: expand, unify, sum up), with calling contexts as paths of code,
 * not of addresses. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/api.h"
#include "analyze/symbols/pyline.h"
#include "analyze/symbols/symbols.h"
#include "base/kinds.h"
#include "base/team.h"
#include "base/text.h"

struct builder {
    struct sonde_profile *profile;
    const struct sonde_process *process;
    uint32_t index;
    struct sonde_symbols symbols;        /* of frames without stored ones */
    SONDE_VECTOR(struct sonde__level) levels; /* of one frame, outermost first */
    SONDE_VECTOR(uint32_t) path;         /* node ids from the leaf outwards */
};

enum { LONGEST_PATH = 1 << 16 }; /* a longer one is a cycle in a damaged measurement */

static uint32_t intern(struct builder *b, const char *text)
{
    return sonde_intern_text(&b->profile->strings, text);
}

static uint32_t intern_id(struct builder *b, uint32_t string)
{
    return intern(b, sonde_process_string(b->process, string));
}

/* ---- frames to levels ----------------------------------------------------- */

static size_t first_symbol(const struct sonde_row_symbol *rows, size_t count, uint32_t frame)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Levels from symbol rows; false when the frame has none. `found` says whose strings they use. */
static bool symbol_levels(struct builder *b, uint32_t id, const struct sonde_row_symbol *rows,
                          size_t count, const struct sonde_symbols *found, int *rc)
{
    const struct sonde_row_frame *frame = &b->process->frames[id];
    size_t first = first_symbol(rows, count, id), last = first;
    while (last < count && rows[last].frame == id)
        last++;
    for (size_t i = last; i-- > first && !*rc;) {
        const struct sonde_row_symbol *row = &rows[i];
        struct sonde__level level = {.kind = SONDE_FRAME_NATIVE, .line = row->line};
        level.name = found ? intern(b, sonde_intern_get(&found->strings, row->function))
                           : intern_id(b, row->function);
        level.file = found ? intern(b, sonde_intern_get(&found->strings, row->file))
                           : intern_id(b, row->file);
        level.module = found ? intern(b, sonde_intern_get(&found->strings, row->module))
                             : intern_id(b, row->module);
        level.offset = level.name ? 0 : frame->offset;
        *rc = sonde_vector_push(&b->levels, level);
    }
    return last > first;
}

/* What LD_PRELOAD and the layer put between the program's frames is not the program's. */
static bool is_our_own(const struct sonde_process *p, const struct sonde_row_frame *frame)
{
    uint32_t path = frame->module < p->module_count ? p->modules[frame->module].path : 0;
    return strncmp(sonde_path_base(sonde_process_string(p, path)), "libsonde", 8) == 0;
}

static int native_levels(struct builder *b, uint32_t id)
{
    const struct sonde_process *p = b->process;
    const struct sonde_row_frame *frame = &p->frames[id];
    int rc = 0;
    if (is_our_own(p, frame))
        return 0;
    /* What was found now was unknown when the measurement was made: it comes first. */
    if (symbol_levels(b, id, b->symbols.rows.items, b->symbols.rows.count, &b->symbols, &rc) || rc)
        return rc;
    if (symbol_levels(b, id, p->symbols, p->symbol_count, NULL, &rc) || rc)
        return rc;
    uint32_t path = frame->module < p->module_count ? p->modules[frame->module].path : 0;
    return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_NATIVE,
                                                               .module = intern_id(b, path),
                                                               .offset = frame->offset});
}

/* Code in no module. Without a name all of it is one thing: we know nothing to tell it apart by. */
static int made_levels(struct builder *b, uint32_t id)
{
    const struct sonde_process *p = b->process;
    const size_t first = first_symbol(p->symbols, p->symbol_count, id);
    int rc = 0;
    if (first < p->symbol_count && p->symbols[first].frame == id &&
        strncmp(sonde_process_string(p, p->symbols[first].function), "py::", 4) == 0)
        return 0; /* Python's own, around each function that has a frame already */
    if (symbol_levels(b, id, p->symbols, p->symbol_count, NULL, &rc) || rc)
        return rc;
    return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_UNKNOWN});
}

static int python_level(struct builder *b, const struct sonde_row_frame *frame)
{
    const struct sonde_process *p = b->process;
    struct sonde__level level = {.kind = SONDE_FRAME_PYTHON};
    if (frame->module && frame->module < p->pycode_count) {
        const struct sonde_row_pycode *code = &p->pycodes[frame->module];
        level.name = intern_id(b, code->name);
        level.file = intern_id(b, code->file);
        level.line = code->first_line;
        if (code->line_table && code->line_table < p->string_count) {
            const struct sonde_string *table = &p->strings[code->line_table];
            level.line = sonde_pyline((const uint8_t *)table->bytes, table->length, code->version,
                                      code->first_line, (uint32_t)frame->offset);
        }
    }
    return sonde_vector_push(&b->levels, level);
}

/* Where it was prepared, by the nearest frame a user recognizes; `offset` leads to the whole context. */
static int link_level(struct builder *b, const struct sonde_row_frame *frame)
{
    struct sonde__level level = {.kind = SONDE_FRAME_LINK};
    uint32_t nearest;
    sonde_map_get(&b->profile->located[b->index], frame->offset, &level.offset);
    if (level.offset && sonde_profile_callers(b->profile, (uint32_t)level.offset, &nearest, 1)) {
        const struct sonde_cct_node *node = &b->profile->nodes.items[nearest];
        const char *name = node->name, *file = node->file, *module = node->module;
        level.name = intern(b, name);
        level.file = intern(b, file);
        level.module = intern(b, module);
        level.line = node->line;
    }
    return sonde_vector_push(&b->levels, level);
}

/* A kernel's name as its source has it; runtimes report C++ names as the compiler made them. */
static uint32_t operation_name(struct builder *b, uint32_t string)
{
    char *readable = sonde_demangle(sonde_process_string(b->process, string));
    const uint32_t id = readable ? intern(b, readable) : intern_id(b, string);
    free(readable);
    return id;
}

/* A kernel: with the place of its own code, where that is known. */
static int operation_level(struct builder *b, uint32_t id)
{
    const struct sonde_process *p = b->process;
    const struct sonde_row_frame *frame = &p->frames[id];
    struct sonde__level level = {.kind = SONDE_FRAME_OP, .op = frame->op, .name = operation_name(b, frame->name)};
    const size_t now = first_symbol(b->symbols.rows.items, b->symbols.rows.count, id);
    const size_t before = first_symbol(p->symbols, p->symbol_count, id);
    if (now < b->symbols.rows.count && b->symbols.rows.items[now].frame == id) {
        level.file = intern(b, sonde_intern_get(&b->symbols.strings, b->symbols.rows.items[now].file));
        level.line = b->symbols.rows.items[now].line;
    } else if (before < p->symbol_count && p->symbols[before].frame == id) {
        level.file = intern_id(b, p->symbols[before].file);
        level.line = p->symbols[before].line;
    }
    return sonde_vector_push(&b->levels, level);
}

static int frame_levels(struct builder *b, uint32_t id)
{
    b->levels.count = 0;
    if (id == 0) /* a frame of Sonde's own, or one lost with a damaged chunk: its callees take its place */
        return 0;
    if (id >= b->process->frame_count)
        return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_UNKNOWN});
    const struct sonde_row_frame *frame = &b->process->frames[id];
    switch (frame->kind) {
    case SONDE_FRAME_NATIVE:
        return native_levels(b, id);
    case SONDE_FRAME_PYTHON:
        return python_level(b, frame);
    case SONDE_FRAME_API:
        return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_API,
                                                                   .name = intern_id(b, frame->name)});
    case SONDE_FRAME_OP:
        return operation_level(b, id);
    case SONDE_FRAME_CUT:
        return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_CUT});
    case SONDE_FRAME_LINK:
        return link_level(b, frame);
    case SONDE_FRAME_RANGE:
        return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_RANGE,
                                                                   .name = intern_id(b, frame->name),
                                                                   .module = intern_id(b, frame->module)});
    case SONDE_FRAME_UNKNOWN:
        return made_levels(b, id);
    default:
        return sonde_vector_push(&b->levels, (struct sonde__level){.kind = SONDE_FRAME_UNKNOWN});
    }
}

/* ---- the tree ------------------------------------------------------------- */

static bool same(const struct sonde_profile *profile, const struct sonde_cct_node *node, uint32_t parent, const struct sonde__level *level)
{
    const struct sonde_intern *s = &profile->strings; /* interned: equal text, equal pointer */
    return node->parent == parent && node->kind == level->kind && node->op == level->op &&
           node->line == level->line && node->offset == level->offset &&
           node->name == sonde_intern_get(s, level->name) &&
           node->file == sonde_intern_get(s, level->file) &&
           node->module == sonde_intern_get(s, level->module);
}

static int add_child(struct sonde_profile *profile, uint32_t parent, const struct sonde__level *level, uint32_t *out)
{
    const struct sonde_intern *s = &profile->strings;
    struct sonde_cct_node node = {
        .parent = parent,
        .kind = (uint8_t)level->kind,
        .op = level->op,
        .line = level->line,
        .name = sonde_intern_get(s, level->name),
        .file = sonde_intern_get(s, level->file),
        .module = sonde_intern_get(s, level->module),
        .offset = level->offset,
        .next_sibling = profile->nodes.items[parent].first_child,
    };
    node.origin = (uint8_t)sonde_origin_of(node.name, node.module, node.file);
    *out = (uint32_t)profile->nodes.count;
    if (sonde_vector_push(&profile->nodes, node))
        return SONDE_ENOMEM;
    profile->nodes.items[parent].first_child = *out;
    return 0;
}

int sonde__profile_child(struct sonde_profile *profile, uint32_t parent, const struct sonde__level *level, uint32_t *out)
{
    uint64_t hash = sonde_hash_mix((uint64_t)level->kind << 16 | level->op, parent), at;
    hash = sonde_hash_mix(hash, (uint64_t)level->name << 32 | level->line);
    hash = sonde_hash_mix(hash, (uint64_t)level->file << 32 | level->module);
    hash = sonde_hash_mix(hash, level->offset);
    for (; sonde_map_get(&profile->children, hash, &at); hash++)
        if (same(profile, &profile->nodes.items[at], parent, level)) {
            *out = (uint32_t)at;
            return 0;
        }
    int rc = add_child(profile, parent, level, out);
    return rc ? rc : sonde_map_put(&profile->children, hash, *out);
}

/* Tree node of a node of the process; builds what is missing of its path. */
static int locate(struct builder *b, uint32_t id, uint32_t *out)
{
    struct sonde_map *located = &b->profile->located[b->index];
    uint64_t at = 0;
    b->path.count = 0;
    for (uint32_t next = id; next && !sonde_map_get(located, next, &at);) {
        const struct sonde_row_node *row = sonde_process_node(b->process, next, NULL);
        if (!row || b->path.count > LONGEST_PATH)
            break;
        if (sonde_vector_push(&b->path, next))
            return SONDE_ENOMEM;
        next = row->parent;
    }
    for (size_t i = b->path.count; i-- > 0;) {
        const struct sonde_row_node *row = sonde_process_node(b->process, b->path.items[i], NULL);
        int rc = frame_levels(b, row->frame);
        for (size_t k = 0; k < b->levels.count && !rc; k++) {
            uint32_t next;
            rc = sonde__profile_child(b->profile, (uint32_t)at, &b->levels.items[k], &next);
            at = next;
        }
        if (rc || sonde_map_put(located, b->path.items[i], at))
            return SONDE_ENOMEM;
    }
    *out = (uint32_t)at;
    return 0;
}

/* ---- accumulators ---------------------------------------------------------- */

struct sonde_group *sonde__profile_group(struct sonde_profile *profile, bool api, uint16_t op, const char *name)
{
    struct sonde_map *map = api ? &profile->apis_by_name : &profile->ops_by_name;
    size_t *count = api ? &profile->apis.count : &profile->ops.count;
    uint64_t key = (uint64_t)op << 32 | sonde_intern_text(&profile->strings, name), at;
    if (!sonde_map_get(map, key, &at)) {
        struct sonde_group group = {.op = op, .name = name};
        at = *count;
        if (sonde_map_put(map, key, at))
            return NULL;
        if (api ? sonde_vector_push(&profile->apis, group) : sonde_vector_push(&profile->ops, group))
            return NULL;
    }
    return api ? &profile->apis.items[at] : &profile->ops.items[at];
}

/* A row of an API call has no lane, one of operations a queue's, one of samples a thread's. */
static bool is_sample_row(const struct sonde_process *p, const struct sonde_row_profile *row)
{
    return row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind == SONDE_LANE_KIND_THREAD;
}

static uint16_t op_of(const struct sonde_cct_node *node)
{
    return node->kind == SONDE_FRAME_OP && node->op < SONDE_OP_KIND_COUNT ? node->op : SONDE_OP_NONE;
}

struct sonde_metrics sonde_profile_row_metrics(const struct sonde_process *p, const struct sonde_row_profile *row, const struct sonde_cct_node *node)
{
    if (is_sample_row(p, row))
        return (struct sonde_metrics){.samples = row->count, .cpu_ns = row->sum_ns};
    if (sonde_api_sleeps(p, row->node))
        return (struct sonde_metrics){.sleeps = row->count, .slept_ns = row->sum_ns};
    if (row->lane == 0) {
        bool waits = node->kind == SONDE_FRAME_API && sonde_api_class(node->name) == SONDE_API_WAITS;
        return (struct sonde_metrics){.api_calls = row->count, .api_ns = row->sum_ns, .sync_ns = waits ? row->sum_ns : 0};
    }
    struct sonde_metrics metrics = {.operations = row->count, .failed = row->failed, .bytes = row->bytes};
    if (sonde_op_kind_counts(op_of(node))) {
        metrics.timed = row->timed;
        metrics.device_ns = row->sum_ns;
        metrics.queue_ns = row->enqueue_queued_ns + row->queued_submit_ns + row->submit_start_ns;
    }
    return metrics;
}

static int add_row(struct builder *b, const struct sonde_row_profile *row)
{
    struct sonde_profile *profile = b->profile;
    uint32_t at;
    if (row->count == 0)
        return 0;
    if (locate(b, row->node, &at))
        return SONDE_ENOMEM;
    struct sonde_cct_node *node = &profile->nodes.items[at];
    const struct sonde_metrics metrics = sonde_profile_row_metrics(b->process, row, node);
    if (metrics.samples) {
        sonde_metrics_add(&node->self, &metrics);
        profile->sampled = true;
        profile->unknown_nodes += at == 0;
        return 0;
    }
    if (metrics.sleeps) {
        sonde_metrics_add(&node->self, &metrics);
        return 0;
    }
    bool api = row->lane == 0, known = node->kind == (api ? SONDE_FRAME_API : SONDE_FRAME_OP);
    if (!known)
        profile->unknown_nodes++;
    bool first = api ? node->self.api_calls == 0 : node->self.operations == 0;
    uint16_t op = api ? SONDE_OP_NONE : op_of(node);
    sonde_metrics_add(&node->self, &metrics);
    if (!api)
        profile->operations[op] += row->count;
    struct sonde_group *group = sonde__profile_group(profile, api, op, known ? node->name : "");
    if (!group || sonde_stat_add_row(&group->stat, &profile->arena, b->process, row))
        return SONDE_ENOMEM;
    if (row->work) {
        group->work_process = b->index;
        group->work = row->work;
    }
    return first ? sonde_vector_push(&group->leaves, at) : 0;
}

/* The contexts that links lead to come first, so that a link finds its own. A
 * context behind a link may hold another link; those found later stay unnamed. */
static int locate_links(struct builder *b)
{
    const struct sonde_process *p = b->process;
    int rc = 0;
    for (uint32_t i = 1, at; i < p->frame_count && !rc; i++)
        if (p->frames[i].kind == SONDE_FRAME_LINK && p->frames[i].offset <= UINT32_MAX)
            rc = locate(b, (uint32_t)p->frames[i].offset, &at);
    return rc;
}

int sonde__profile_note(struct sonde_profile *profile, const struct sonde_row_note *note)
{
    for (size_t i = 0; i < profile->symbol_notes.count; i++)
        if (strcmp(profile->symbol_notes.items[i].text, note->text) == 0)
            return 0;
    return sonde_vector_push(&profile->symbol_notes, *note);
}

static int keep_notes(struct builder *b)
{
    int rc = 0;
    for (size_t i = 0; i < b->symbols.notes.count && !rc; i++)
        rc = sonde__profile_note(b->profile, &b->symbols.notes.items[i]);
    for (size_t i = 0; i < b->symbols.partly.count && !rc; i++)
        rc = sonde_vector_push(&b->profile->symbols_partly, b->symbols.partly.items[i]);
    return rc;
}

/* Operations whose values or accesses are known; they may have other numbers than in the profile. Rows begin with them. */
static int locate_values(struct builder *b)
{
    static const struct {
        uint32_t table, row_bytes, nodes;
    } tables[] = {
        {SONDE_TABLE_VALUE, sizeof(struct sonde_row_value), 1},
        {SONDE_TABLE_ACCESS, sizeof(struct sonde_row_access), 1},
        {SONDE_TABLE_DUPLICATE, sizeof(struct sonde_row_duplicate), 1},
        {SONDE_TABLE_FLOW, sizeof(struct sonde_row_flow), 2}, /* to, from */
        {SONDE_TABLE_REMOTE, sizeof(struct sonde_row_remote), 1},
        {SONDE_TABLE_COUNTER, sizeof(struct sonde_row_counter), 1},
        {SONDE_TABLE_TALLY, sizeof(struct sonde_row_tally), 1},
    };
    int rc = 0;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        const char *rows = b->process->tables[tables[k].table].rows;
        for (uint32_t i = 1, at; i < b->process->tables[tables[k].table].count && !rc; i++) {
            uint32_t nodes[2] = {0};
            memcpy(nodes, rows + (size_t)i * tables[k].row_bytes, tables[k].nodes * sizeof *nodes);
            rc = nodes[1] ? locate(b, nodes[1], &at) : 0;
            if (nodes[0] && !rc)
                rc = locate(b, nodes[0], &at);
        }
    }
    return rc;
}

/* Calls in which ranks send each other messages: their rows are in the trace, which need not be read for their places. */
static int locate_messages(struct builder *b)
{
    const struct sonde_process *p = b->process;
    uint32_t chunks = 0;
    int rc = 0;
    for (uint32_t i = 0; i < p->trace_count; i++)
        chunks += p->traces[i].table == SONDE_TABLE_MESSAGE;
    for (uint32_t i = 0; i < p->node_block_count && chunks; i++) {
        const struct sonde_node_block *block = &p->node_blocks[i];
        for (uint32_t k = 0, at; k < block->count && !rc; k++) {
            const struct sonde_row_frame *frame = &p->frames[block->rows[k].frame];
            if (frame->kind == SONDE_FRAME_API && strncmp(sonde_process_string(p, frame->name), "MPI_", 4) == 0)
                rc = locate(b, block->first + k, &at);
        }
    }
    return rc;
}

static int add_process(struct builder *b)
{
    const struct sonde_process *p = b->process;
    int rc = sonde_symbols_find(p, NULL, &b->symbols);
    if (!rc)
        rc = keep_notes(b);
    b->profile->sampled |= p->header.cpu_sampling != SONDE_CPU_NONE;
    if (!rc)
        rc = locate_links(b);
    for (uint32_t i = 1; i < p->profile_count && !rc; i++)
        if (p->profiles[i].count) /* rows held in reserve count nothing */
            rc = add_row(b, &p->profiles[i]);
    for (uint32_t i = 1, at; i < p->object_count && !rc; i++)
        if (p->objects[i].node)
            rc = locate(b, p->objects[i].node, &at);
    rc = rc ? rc : locate_values(b);
    rc = rc ? rc : locate_messages(b);
    sonde_symbols_fini(&b->symbols);
    memset(&b->symbols, 0, sizeof b->symbols);
    return rc;
}

static int by_time(const void *left, const void *right)
{
    const struct sonde_group *a = left, *b = right;
    if (a->stat.sum_ns != b->stat.sum_ns)
        return a->stat.sum_ns < b->stat.sum_ns ? 1 : -1;
    if (a->stat.count != b->stat.count)
        return a->stat.count < b->stat.count ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void finish(struct sonde_profile *profile)
{
    struct sonde_cct_node *nodes = profile->nodes.items;
    for (size_t i = profile->nodes.count; i-- > 0;) {
        sonde_metrics_add(&nodes[i].total, &nodes[i].self);
        if (i)
            sonde_metrics_add(&nodes[nodes[i].parent].total, &nodes[i].total);
    }
    if (profile->ops.count)
        qsort(profile->ops.items, profile->ops.count, sizeof *profile->ops.items, by_time);
    if (profile->apis.count)
        qsort(profile->apis.items, profile->apis.count, sizeof *profile->apis.items, by_time);
}

static int add_processes(struct builder *b, const struct sonde_measurement *m, uint32_t first, uint32_t last)
{
    int rc = 0;
    for (b->index = first; b->index < last && !rc; b->index++) {
        b->process = &m->processes[b->index];
        rc = add_process(b);
    }
    sonde_vector_fini(&b->levels);
    sonde_vector_fini(&b->path);
    return rc;
}

struct sonde_profile *sonde__profile_create(uint32_t processes)
{
    struct sonde_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return NULL;
    profile->process_count = processes;
    profile->located = calloc((size_t)processes + 1, sizeof *profile->located);
    if (profile->located && !sonde_vector_push(&profile->nodes, (struct sonde_cct_node){.name = "", .file = "", .module = ""}))
        return profile;
    sonde_profile_destroy(profile);
    return NULL;
}

int sonde_profile_build(const struct sonde_measurement *m, struct sonde_profile **out,
                        struct sonde_diag *diag)
{
    uint32_t last;
    const uint32_t first = sonde_team_share(m->process_count, &last);
    struct sonde_profile *profile = sonde__profile_create(m->process_count);
    struct builder b = {.profile = profile};
    if (!profile || add_processes(&b, m, first, last)) {
        if (sonde_team_size() > 1)
            sonde_team_fail("out of memory"); /* the others wait for this part */
        sonde_profile_destroy(profile);
        return sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot build the profile of");
    }
    if (sonde_team_size() > 1)
        sonde__profile_join(&profile, first, last);
    finish(profile);
    *out = profile;
    return 0;
}

uint32_t sonde_profile_locate(const struct sonde_profile *profile, uint32_t process, uint32_t node)
{
    uint64_t at = 0;
    if (process < profile->process_count)
        sonde_map_get(&profile->located[process], node, &at);
    return (uint32_t)at;
}

void sonde_profile_destroy(struct sonde_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->ops.count; i++)
        sonde_vector_fini(&profile->ops.items[i].leaves);
    for (size_t i = 0; i < profile->apis.count; i++)
        sonde_vector_fini(&profile->apis.items[i].leaves);
    for (uint32_t i = 0; profile->located && i < profile->process_count; i++)
        sonde_map_fini(&profile->located[i]);
    free(profile->located);
    sonde_vector_fini(&profile->nodes);
    sonde_vector_fini(&profile->ops);
    sonde_vector_fini(&profile->apis);
    sonde_vector_fini(&profile->symbol_notes);
    sonde_vector_fini(&profile->symbols_partly);
    sonde_map_fini(&profile->children);
    sonde_map_fini(&profile->apis_by_name);
    sonde_map_fini(&profile->ops_by_name);
    sonde_intern_fini(&profile->strings);
    sonde_arena_fini(&profile->arena);
    free(profile);
}

/* comm.c - see comm.h: one pass over the operations of each process sums up what had the same two ends, call path and
 * object; pairs, lines and objects are sums of these. Accesses of kernels are sums already, by what tells these apart.
 */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/map.h"

struct flow { /* what one call path moved one way, of the objects of one site */
    struct sonde_comm_pair pair;
    uint32_t leaf, place; /* tree nodes: of the operation, of the user's frame above it */
    const char *file;     /* of a kernel's access: as its process has it; NULL unknown */
    uint32_t line;
    uint32_t object_kind, object_node;
    struct sonde_comm_end owner;
    struct sonde_comm_sum sum;
    uint64_t group[SONDE_REMOTE_GROUPS]; /* bytes of a kernel's, by the group of its launches */
};

struct sums {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    const struct sonde_comm_config *config;
    struct sonde_object_model model;
    struct sonde_map by_key;  /* hash of what tells flows apart -> index; of two with one hash the second is behind it */
    SONDE_VECTOR(struct flow) flows;
    size_t last;              /* the flow that was added to last: copies come in rows */
    uint32_t index;           /* of the process that is being read */
    struct sonde_map ranks;       /* hash of process, communicator's lane and rank -> whose device that is, 1 << 63 | process << 32 | device */
    struct sonde_map collectives; /* hash of process, lane, name and how -> index in out's */
    struct sonde_map samples;     /* process << 32 | leaf -> index */
    SONDE_VECTOR(struct sonde__comm_sample) sample;
    bool machine;                 /* NCCL's kernels were looked at themselves */
    struct sonde_comm *out;
};

/* ---- flows -------------------------------------------------------------------------------- */

static bool same_pair(const struct sonde_comm_pair *a, const struct sonde_comm_pair *b)
{
    return a->process == b->process && a->kind == b->kind && sonde_comm_end_equal(a->from, b->from) &&
           sonde_comm_end_equal(a->to, b->to);
}

static bool same_flow(const struct flow *a, const struct flow *b)
{
    return same_pair(&a->pair, &b->pair) && a->leaf == b->leaf && a->object_kind == b->object_kind &&
           a->object_node == b->object_node && sonde_comm_end_equal(a->owner, b->owner) && a->file == b->file && a->line == b->line;
}

void sonde_comm_add(struct sonde_comm_sum *sum, const struct sonde_comm_sum *more)
{
    sum->operations += more->operations;
    sum->bytes += more->bytes;
    sum->timed += more->timed;
    sum->ns += more->ns;
    sum->flags += more->flags;
    sum->more.bytes += more->more.bytes;
    sum->more.error += more->more.error;
    if (more->more.freedom && (!sum->more.freedom || more->more.freedom < sum->more.freedom))
        sum->more.freedom = more->more.freedom;
    sum->more.unknown |= more->more.unknown;
    sum->more.single |= more->more.single;
}

static void add_to_flow(struct flow *f, const struct flow *more)
{
    sonde_comm_add(&f->sum, &more->sum);
    for (unsigned k = 0; k < SONDE_REMOTE_GROUPS; k++)
        f->group[k] += more->group[k];
}

static uint64_t key_of(const struct flow *f)
{
    uint64_t key = sonde_hash_mix((uint64_t)f->pair.process << 32 | f->pair.kind, (uint64_t)f->pair.from.where << 32 | f->pair.from.device);
    key = sonde_hash_mix(key, (uint64_t)f->pair.to.where << 32 | f->pair.to.device);
    key = sonde_hash_mix(key, (uint64_t)f->pair.from.other << 32 | f->pair.to.other);
    key = sonde_hash_mix(key, (uint64_t)f->leaf << 32 | f->object_node);
    key = sonde_hash_mix(key, (uint64_t)f->object_kind << 32 | f->owner.where);
    return sonde_hash_mix(key, (uint64_t)f->owner.device << 32 | f->line); /* of two files the second is behind the first */
}

static int add_flow(struct sums *s, struct flow *more)
{
    uint64_t at, key;
    if (s->last < s->flows.count && same_flow(&s->flows.items[s->last], more)) {
        add_to_flow(&s->flows.items[s->last], more);
        return 0;
    }
    for (key = key_of(more); sonde_map_get(&s->by_key, key, &at); key++)
        if (same_flow(&s->flows.items[at], more)) {
            add_to_flow(&s->flows.items[at], more);
            s->last = at;
            return 0;
        }
    more->place = more->leaf ? sonde_profile_place(s->profile, more->leaf) : 0;
    s->last = s->flows.count;
    return sonde_map_put(&s->by_key, key, s->last) ? SONDE_ENOMEM : sonde_vector_push(&s->flows, *more);
}

/* ---- an operation ---------------------------------------------------------------------------- */

static struct sonde_comm_end end_at(uint32_t where, uint32_t device)
{
    return (struct sonde_comm_end){.where = where, .device = device};
}

/* Whose memory an object is: of shared memory nobody's. */
static struct sonde_comm_end owner_of(const struct sonde_row_object *o)
{
    switch (sonde_object_kind_class(o->kind)) {
    case SONDE_MEMORY_ON_HOST: return (struct sonde_comm_end){.where = SONDE_COMM_HOST};
    case SONDE_MEMORY_OF_OTHERS:
    case SONDE_MEMORY_ON_DEVICE: return end_at(o->device ? SONDE_COMM_DEVICE : SONDE_COMM_UNKNOWN, o->device);
    default: return (struct sonde_comm_end){0};
    }
}

static void set_object(const struct sums *s, struct flow *f, uint32_t object)
{
    const struct sonde_row_object *row = sonde_object_row(&s->m->processes[s->index], object);
    if (!row || row->kind == SONDE_OBJECT_NONE)
        return;
    const struct sonde_site *site = &s->model.sites.items[s->model.processes.items[s->index][object].site];
    f->object_kind = site->kind;
    f->object_node = site->place;
    f->owner = owner_of(row);
}

/* False: it is none of ours. */
static bool set_pair(const struct sums *s, struct flow *f, uint32_t kind, uint32_t work, uint32_t lane)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const struct sonde_row_work *told = work && work < p->work_count ? &p->works[work] : NULL;
    const uint32_t device = lane < p->lane_count ? p->lanes[lane].device : 0;
    f->pair.process = s->index;
    f->pair.kind = kind == SONDE_OP_MIGRATE || kind == SONDE_OP_SVM_MIGRATE ? SONDE_COMM_MIGRATION : SONDE_COMM_COPY;
    return sonde_comm_ends(kind, told, device, &f->pair.from, &f->pair.to);
}

/* `at_ns`: on the axis of the process. */
static bool is_asked_for(const struct sums *s, uint64_t at_ns)
{
    const struct sonde_comm_config *c = s->config;
    at_ns += s->m->processes[s->index].header.wall_offset_ns;
    return at_ns >= c->from_ns && (!c->to_ns || at_ns < c->to_ns);
}

/* ---- collectives ------------------------------------------------------------------------------ */

/* A string of its process. */
static uint32_t name_of(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return frame ? frame->name : 0;
}

/* Whose device a rank is, asked once. */
static struct sonde_comm_end rank_at(struct sums *s, uint32_t lane, uint32_t rank)
{
    const uint64_t key = sonde_hash_mix((uint64_t)s->index << 32 | lane, rank);
    uint64_t found;
    if (!sonde_map_get(&s->ranks, key, &found)) {
        const struct sonde_comm_end end = sonde__comm_rank(s->m, s->index, lane, rank);
        found = end.where ? 1ull << 63 | (uint64_t)end.other << 32 | end.device : 0;
        sonde_map_put(&s->ranks, key, found); /* else it is looked for again */
    }
    return found ? (struct sonde_comm_end){.where = SONDE_COMM_DEVICE, .device = (uint32_t)found, .other = (uint32_t)(found >> 32) & 0x7fffffffu}
                 : (struct sonde_comm_end){0};
}

static int add_asked(struct sums *s, const struct sonde_row_op *op, uint32_t lane, const struct sonde_comm_sum *asked, const struct sonde_comm_sent *sent)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const uint32_t name = name_of(p, op->node);
    const uint64_t key = sonde_hash_mix((uint64_t)s->index << 32 | lane, (uint64_t)op->work << 32 | name);
    const struct sonde_comm_collective one = {.process = s->index, .lane = lane, .name = sonde_process_string(p, name), .work = op->work, .sent_known = true};
    uint64_t at = s->out->collectives.count;
    if (!sonde_map_get(&s->collectives, key, &at) &&
        (sonde_map_put(&s->collectives, key, at) || sonde_vector_push(&s->out->collectives, one)))
        return SONDE_ENOMEM;
    struct sonde_comm_collective *c = &s->out->collectives.items[at];
    sonde_comm_add(&c->asked, asked);
    c->sent += sent->receives ? 0 : sent->bytes;
    c->sent_known &= sent->known;
    return 0;
}

/* What a rank sends counts where it is sent; what it receives only where the sender was not recorded. Where all that its kernels access is counted
 * (--comm-engine=sanitizer), these bytes are there already. */
static int add_collective(struct sums *s, const struct sonde_row_op *op, uint32_t lane, const struct sonde_comm_sum *asked)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const struct sonde_row_work *how = op->work && op->work < p->work_count ? &p->works[op->work] : NULL;
    const char *name = sonde_process_string(p, name_of(p, op->node));
    const struct sonde_comm_sent sent = sonde_comm_sent(name, op->bytes, sonde_process_string(p, how ? how->algorithm : 0),
                                                        sonde_process_string(p, how ? how->protocol : 0), how);
    const uint32_t device = lane < p->lane_count ? p->lanes[lane].device : 0;
    const struct sonde_comm_end here = end_at(device ? SONDE_COMM_DEVICE : SONDE_COMM_UNKNOWN, device);
    const struct sonde_comm_end there = sent.to ? rank_at(s, lane, sent.to - 1) : (struct sonde_comm_end){0};
    struct flow f = {
        .pair = {.process = s->index, .from = sent.receives ? there : here, .to = sent.receives ? here : there, .kind = SONDE_COMM_COLLECTIVE},
        .leaf = sonde_profile_locate(s->profile, s->index, op->node),
        .sum = *asked,
    };
    const int rc = add_asked(s, op, lane, asked, &sent);
    f.sum.bytes = sent.bytes;
    f.sum.flags = sent.flags;
    if (s->machine)
        return rc;
    s->out->roughly |= !sent.exact;
    return rc || (sent.known && (!sent.bytes || (sent.receives && there.where))) ? rc : add_flow(s, &f);
}

static int add_op(void *user, uint32_t lane, const void *stored)
{
    struct sums *s = user;
    const struct sonde_row_op *op = stored;
    const bool timed = sonde_op_has_times(op->flags, op->start_ns, op->end_ns);
    const struct sonde_comm_sum sum = {.operations = 1, .bytes = op->bytes, .timed = timed, .ns = timed ? op->end_ns - op->start_ns : 0};
    struct flow f = {0};
    if (op->kind == SONDE_OP_COLLECTIVE)
        return is_asked_for(s, timed ? op->start_ns : op->enter_ns) ? add_collective(s, op, lane, &sum) : 0;
    if (!set_pair(s, &f, op->kind, op->work, lane) || !is_asked_for(s, timed ? op->start_ns : op->enter_ns))
        return 0;
    f.leaf = sonde_profile_locate(s->profile, s->index, op->node);
    set_object(s, &f, op->object);
    f.sum = sum;
    return add_flow(s, &f);
}

/* ---- kernels ------------------------------------------------------------------------------------- */

struct sonde_comm_end sonde__comm_end_on(uint32_t device)
{
    if (device == SONDE_REMOTE_OTHERS)
        return (struct sonde_comm_end){0};
    return end_at(device ? SONDE_COMM_DEVICE : SONDE_COMM_HOST, device);
}

/* `place`: where it is, of machine code; NULL: not known. */
static int add_access(struct sums *s, const struct sonde_row_remote *row, const struct sonde_row_place *place)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const uint32_t file = place ? place->file : row->file;
    const struct sonde_comm_end here = sonde__comm_end_on(row->device), there = sonde__comm_end_on(row->owner);
    const bool loads = row->what == SONDE_ACCESS_LOAD || row->what == SONDE_ACCESS_COPY, stores = row->what == SONDE_ACCESS_STORE;
    struct flow f = {
        .pair = {s->index, loads ? there : here, loads ? here : there, loads ? SONDE_COMM_LOAD : (stores ? SONDE_COMM_STORE : SONDE_COMM_ATOMIC)},
        .leaf = sonde_profile_locate(s->profile, s->index, row->node),
        .file = file ? sonde_process_string(p, file) : NULL,
        .line = place ? place->line : row->line,
        .sum = {.operations = row->count, .bytes = row->count * row->bytes},
    };
    set_object(s, &f, row->object);
    f.owner = there; /* a pool's device may be known by its use alone */
    f.group[row->missed % SONDE_REMOTE_GROUPS] = f.sum.bytes;
    return add_flow(s, &f);
}

/* NULL: no memory. */
static struct sonde__comm_sample *sample_of(struct sums *s, uint32_t leaf)
{
    const uint64_t key = ((uint64_t)s->index << 32 | leaf) + 1;
    uint64_t at = s->sample.count;
    if (!sonde_map_get(&s->samples, key, &at) && (sonde_map_put(&s->samples, key, at) || sonde_vector_push(&s->sample, (struct sonde__comm_sample){0})))
        return NULL;
    return &s->sample.items[at];
}

static bool was_looked_at(const struct sonde_row_remote *row)
{
    return row->missed == SONDE_VALUE_MISSED_NONE || row->missed == SONDE_VALUE_MISSED_SILENT;
}

static int add_sample(struct sums *s, const struct sonde_row_remote *row, uint32_t leaf)
{
    struct sonde__comm_sample *sample = sample_of(s, leaf);
    if (!sample)
        return SONDE_ENOMEM;
    if (was_looked_at(row))
        sample->launches[row->what % SONDE_REMOTE_GROUPS] += row->count;
    else
        *(row->missed == SONDE_VALUE_MISSED_SAMPLE ? &sample->left_out : &sample->others) += row->count;
    return 0;
}

/* When all rows are there. Of what nothing is said it is not known how much the launches have that were not looked at. */
static void estimate(struct sums *s, bool partial)
{
    for (size_t i = 0; i < s->flows.count; i++) {
        struct flow *f = &s->flows.items[i];
        uint64_t at;
        if (sonde_comm_is_of_kernel(f->pair.kind) && sonde_map_get(&s->samples, ((uint64_t)f->pair.process << 32 | f->leaf) + 1, &at))
            f->sum.more = sonde__comm_estimate(&s->sample.items[at], f->group);
        else if (sonde_comm_is_of_kernel(f->pair.kind))
            f->sum.more.unknown = partial;
    }
}

static int add_coverage(struct sums *s, const struct sonde_row_remote *row, struct sonde_comm *out)
{
    const uint32_t leaf = sonde_profile_locate(s->profile, s->index, row->node);
    const char *name = s->profile->nodes.items[leaf].name;
    size_t i = 0;
    while (i < out->coverage.count && strcmp(out->coverage.items[i].name, name) != 0)
        i++;
    if (i == out->coverage.count && sonde_vector_push(&out->coverage, (struct sonde_comm_coverage){.name = name}))
        return SONDE_ENOMEM;
    struct sonde_comm_coverage *c = &out->coverage.items[i];
    c->engines |= row->engine < SONDE_ENGINE_COUNT ? 1u << row->engine : 0;
    out->partial |= !was_looked_at(row);
    out->blind |= !was_looked_at(row) && row->missed != SONDE_VALUE_MISSED_SAMPLE;
    out->silent |= row->missed == SONDE_VALUE_MISSED_SILENT;
    out->paused |= row->engine == SONDE_ENGINE_LLVM && s->m->processes[s->index].pause_count > 1;
    c->silent += row->missed == SONDE_VALUE_MISSED_SILENT ? row->count : 0;
    if (was_looked_at(row))
        c->looked_at += row->count;
    else if (row->missed < SONDE_VALUE_MISSED_COUNT)
        c->missed[row->missed] += row->count;
    return add_sample(s, row, leaf);
}

/* What was never executed is nothing. They have no times: of a part of the run there are none. */
static int add_kernels(struct sums *s, bool whole, struct sonde_comm *out)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const struct sonde_row_remote *rows = p->tables[SONDE_TABLE_REMOTE].rows;
    const struct sonde_row_place *places = p->tables[SONDE_TABLE_PLACE].rows; /* in the order of rows */
    uint32_t at = 0;
    int rc = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_REMOTE].count && !rc; k++) {
        while (at < p->tables[SONDE_TABLE_PLACE].count && places[at].remote < k)
            at++;
        const struct sonde_row_place *place = at < p->tables[SONDE_TABLE_PLACE].count && places[at].remote == k ? &places[at] : NULL;
        out->counted |= rows[k].node != 0;
        if (rows[k].node && rows[k].count && !rows[k].device)
            rc = add_coverage(s, &rows[k], out);
        else if (rows[k].node && rows[k].count && whole)
            rc = add_access(s, &rows[k], place);
    }
    return rc;
}

/* ---- managed memory ------------------------------------------------------------------------------ */

static int add_faults(const struct sums *s, const struct sonde_row_migration *row, const struct flow *f)
{
    const struct sonde_comm_end at = sonde__comm_end_on(row->to);
    for (size_t i = 0; i < s->out->faults.count; i++) {
        struct sonde_comm_faults *known = &s->out->faults.items[i];
        if (known->process == s->index && sonde_comm_end_equal(known->at, at) && known->kind == f->object_kind && known->node == f->object_node) {
            known->count += row->count;
            return 0;
        }
    }
    return sonde_vector_push(&s->out->faults, (struct sonde_comm_faults){s->index, at, f->object_kind, f->object_node, row->count});
}

/* Nobody called for these: they are of the line that allocated what was moved. Without times: of a part of the run there are none. */
static int add_migrations(struct sums *s, bool whole)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const struct sonde_row_migration *rows = p->tables[SONDE_TABLE_MIGRATION].rows;
    int rc = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_MIGRATION].count && !rc; k++) {
        const struct sonde_row_migration *row = &rows[k];
        const struct sonde_row_object *object = sonde_object_row(p, row->object);
        struct flow f = {
            .pair = {.process = s->index, .from = sonde__comm_end_on(row->from), .to = sonde__comm_end_on(row->to), .kind = SONDE_COMM_MIGRATION},
            .leaf = object ? sonde_profile_locate(s->profile, s->index, object->node) : 0,
            .sum = {.operations = row->count, .bytes = row->bytes, .timed = row->count, .ns = row->ns},
        };
        s->out->moved |= row->count > 0;
        if (!whole || !row->count)
            continue;
        set_object(s, &f, row->object);
        if (!row->faults)
            sonde_comm_add(&s->out->managed, &f.sum);
        rc = row->faults ? add_faults(s, row, &f) : add_flow(s, &f);
    }
    return rc;
}

static const char *asked_for(const struct sonde_measurement *m, const char *option)
{
    const char *value = json_string_value(json_object_get(json_object_get(m->manifest, "options"), option));
    return value ? value : "";
}

/* Of CUDA, in a measurement of which nobody asked what is moved of it. */
static bool has_managed(const struct sonde_measurement *m)
{
    const bool copies = strcmp(asked_for(m, "comm"), "copies") == 0;
    for (uint32_t i = 0; copies && i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        if (p->device_count < 2 || strcmp(sonde_process_string(p, p->devices[1].backend), "cuda") != 0)
            continue;
        for (uint32_t k = 1; k < p->object_count; k++)
            if (p->objects[k].kind == SONDE_OBJECT_MANAGED)
                return true;
    }
    return false;
}

static uint64_t launches_of(const struct sonde_comm_coverage *c)
{
    uint64_t sum = c->looked_at;
    for (unsigned k = 1; k < SONDE_VALUE_MISSED_COUNT; k++)
        sum += c->missed[k];
    return sum;
}

static int by_launches(const void *left, const void *right)
{
    const struct sonde_comm_coverage *a = left, *b = right;
    const uint64_t x = launches_of(a), y = launches_of(b);
    return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

/* ---- without a trace ---------------------------------------------------------------------------- */

static uint32_t kind_of(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
    return frame && frame->kind == SONDE_FRAME_OP ? frame->op : SONDE_OP_NONE;
}

/* The profile has the ends of the last operation alone: of several of a kind whose ends may differ they are not known. */
static bool ends_are_all(const struct sonde_row_profile *row, uint32_t kind)
{
    const enum sonde_way way = sonde_op_kind_way(kind);
    return row->count == 1 || way == SONDE_WAY_TO_DEVICE || way == SONDE_WAY_FROM_DEVICE || way == SONDE_WAY_ON_HOST || !row->work;
}

static int add_profile(struct sums *s)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    int rc = 0;
    for (uint32_t i = 0; i < p->profile_count && !rc; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const uint32_t kind = kind_of(p, row->node);
        struct flow f = {0};
        if (row->lane >= p->lane_count || p->lanes[row->lane].kind != SONDE_LANE_KIND_QUEUE || !set_pair(s, &f, kind, row->work, row->lane))
            continue;
        if (!ends_are_all(row, kind))
            f.pair.from = f.pair.to = (struct sonde_comm_end){0};
        f.leaf = sonde_profile_locate(s->profile, s->index, row->node);
        f.sum = (struct sonde_comm_sum){.operations = row->count, .bytes = row->bytes, .timed = row->timed, .ns = row->sum_ns};
        rc = add_flow(s, &f);
    }
    return rc;
}

/* ---- sums ------------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ends(struct sonde_comm_end a, struct sonde_comm_end b)
{
    int by = compare(a.where, b.where);
    by = by ? by : compare(a.other, b.other);
    return by ? by : compare(a.device, b.device);
}

static int compare_pairs(const struct sonde_comm_pair *a, const struct sonde_comm_pair *b)
{
    int by = compare(a->process, b->process);
    by = by ? by : compare_ends(a->from, b->from);
    by = by ? by : compare_ends(a->to, b->to);
    return by ? by : compare(a->kind, b->kind);
}

/* A line is one in whichever call paths it is. */
static int compare_places(const struct sonde_profile *profile, uint32_t a, uint32_t b)
{
    const struct sonde_cct_node *x = &profile->nodes.items[a], *y = &profile->nodes.items[b];
    int by = a == b ? 0 : compare(a == 0, b == 0);
    by = by || a == b ? by : strcmp(x->file, y->file);
    by = by || a == b ? by : compare(x->line, y->line);
    by = by || a == b ? by : strcmp(x->name, y->name);
    by = by || a == b ? by : strcmp(x->module, y->module);
    return by || a == b ? by : compare(x->offset, y->offset);
}

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : compare(a != NULL, b != NULL);
}

/* A line of a kernel is one wherever the kernel was launched. */
static int by_line(const void *left, const void *right, void *user)
{
    const struct sonde_comm_line *a = left, *b = right;
    int by = compare_pairs(&a->pair, &b->pair);
    by = by ? by : compare_texts(a->kernel, b->kernel);
    by = by ? by : compare_texts(a->file, b->file);
    by = by ? by : compare(a->line, b->line);
    return by || a->kernel ? by : compare_places(user, a->node, b->node);
}

/* Of one line the first call path of the tree comes first: it stands for all. */
static int by_line_and_node(const void *left, const void *right, void *user)
{
    const struct sonde_comm_line *a = left, *b = right;
    const int by = by_line(left, right, user);
    return by ? by : compare(a->node, b->node);
}

static int by_object(const void *left, const void *right, void *user)
{
    const struct sonde_comm_object *a = left, *b = right;
    int by = compare_pairs(&a->pair, &b->pair);
    by = by ? by : compare(a->kind, b->kind);
    by = by ? by : compare_ends(a->owner, b->owner);
    return by ? by : compare_places(user, a->node, b->node);
}

static int by_pair(const void *left, const void *right)
{
    const struct sonde_comm_way *a = left, *b = right;
    return compare_pairs(&a->pair, &b->pair);
}

static int more(const struct sonde_comm_sum *a, const struct sonde_comm_sum *b)
{
    const int by = compare(b->bytes, a->bytes);
    return by ? by : compare(b->operations, a->operations);
}

static int pairs_by_bytes(const void *left, const void *right)
{
    const struct sonde_comm_way *a = left, *b = right;
    const int by = more(&a->sum, &b->sum);
    return by ? by : compare_pairs(&a->pair, &b->pair);
}

static int lines_by_bytes(const void *left, const void *right, void *user)
{
    const struct sonde_comm_line *a = left, *b = right;
    const int by = more(&a->sum, &b->sum);
    return by ? by : by_line(left, right, user);
}

static int objects_by_bytes(const void *left, const void *right, void *user)
{
    const struct sonde_comm_object *a = left, *b = right;
    const int by = more(&a->sum, &b->sum);
    return by ? by : by_object(left, right, user);
}

/* What no kernel accessed comes first. */
static int by_kernel(const void *left, const void *right)
{
    const struct sonde_comm_kernel *a = left, *b = right;
    int by = compare(a->name != NULL, b->name != NULL);
    by = by || !a->name ? by : strcmp(a->name, b->name);
    return by ? by : compare_pairs(&a->pair, &b->pair);
}

static int kernels_by_bytes(const void *left, const void *right)
{
    const struct sonde_comm_kernel *a = left, *b = right;
    const int by = more(&a->sum, &b->sum);
    return by ? by : by_kernel(left, right);
}

/* Those of one pair become one, in *count. */
static void merge_ways(struct sonde_comm_way *items, size_t *count)
{
    size_t kept = 0;
    if (!*count)
        return;
    qsort(items, *count, sizeof *items, by_pair);
    for (size_t i = 1; i < *count; i++)
        if (same_pair(&items[kept].pair, &items[i].pair))
            sonde_comm_add(&items[kept].sum, &items[i].sum);
        else
            items[++kept] = items[i];
    *count = kept + 1;
    qsort(items, *count, sizeof *items, pairs_by_bytes);
}

/* Of whatever kernel: one that was not looked at may have more of it. */
static struct sonde_comm_sum whoever(const struct sums *s, const struct flow *f)
{
    struct sonde_comm_sum sum = f->sum;
    sum.more.unknown |= s->out->blind && sonde_comm_is_of_kernel(f->pair.kind);
    return sum;
}

static int sum_pairs(const struct sums *s, struct sonde_comm *out)
{
    int rc = 0;
    for (size_t i = 0; i < s->flows.count && !rc; i++)
        rc = sonde_vector_push(&out->pairs, (struct sonde_comm_way){s->flows.items[i].pair, whoever(s, &s->flows.items[i])});
    merge_ways(out->pairs.items, &out->pairs.count);
    for (size_t i = 0; i < out->pairs.count && !rc; i++) {
        struct sonde_comm_way way = out->pairs.items[i];
        way.pair.kind = SONDE_COMM_COPY;
        if (!way.pair.from.device && !way.pair.to.device)
            way.pair.process = 0;
        rc = sonde_vector_push(&out->matrix, way);
    }
    merge_ways(out->matrix.items, &out->matrix.count);
    return rc;
}

/* Of what nothing is said (functions that several kernels call) all is known where of all kernels. */
static bool is_whole(const struct sonde_comm *c, const char *kernel)
{
    for (size_t i = 0; kernel && i < c->coverage.count; i++)
        if (strcmp(c->coverage.items[i].name, kernel) == 0)
            return launches_of(&c->coverage.items[i]) == c->coverage.items[i].looked_at && !c->coverage.items[i].silent &&
                   !(c->paused && c->coverage.items[i].engines >> SONDE_ENGINE_LLVM & 1);
    return !kernel || !c->partial;
}

static int by_faults(const void *left, const void *right)
{
    const struct sonde_comm_faults *a = left, *b = right;
    int by = compare(b->count, a->count);
    by = by ? by : compare(a->process, b->process);
    by = by ? by : compare_ends(a->at, b->at);
    by = by ? by : compare(a->kind, b->kind);
    return by ? by : compare(a->node, b->node);
}

static int by_sent(const void *left, const void *right)
{
    const struct sonde_comm_collective *a = left, *b = right;
    int by = compare(b->sent, a->sent);
    by = by ? by : compare(b->asked.bytes, a->asked.bytes);
    by = by ? by : strcmp(a->name, b->name);
    by = by ? by : compare(a->process, b->process);
    by = by ? by : compare(a->lane, b->lane);
    return by ? by : compare(a->work, b->work);
}

static struct sonde_comm_line line_of(const struct sums *s, const struct sonde_comm *c, const struct flow *f)
{
    const char *kernel = sonde_comm_is_of_kernel(f->pair.kind) ? s->profile->nodes.items[f->leaf].name : NULL;
    return (struct sonde_comm_line){.pair = f->pair, .node = f->place, .kernel = kernel, .file = f->file, .line = f->line, .exact = f->pair.kind == SONDE_COMM_COLLECTIVE ? !c->roughly : is_whole(c, kernel), .sum = f->sum};
}

static int sum_lines(const struct sums *s, struct sonde_comm *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->flows.count; i++)
        if (sonde_vector_push(&out->lines, line_of(s, out, &s->flows.items[i])))
            return SONDE_ENOMEM;
    struct sonde_comm_line *items = out->lines.items;
    if (!out->lines.count)
        return 0;
    qsort_r(items, out->lines.count, sizeof *items, by_line_and_node, (void *)s->profile);
    for (size_t i = 1; i < out->lines.count; i++)
        if (by_line(&items[kept], &items[i], (void *)s->profile) == 0)
            sonde_comm_add(&items[kept].sum, &items[i].sum);
        else
            items[++kept] = items[i];
    out->lines.count = kept + 1;
    qsort_r(items, out->lines.count, sizeof *items, lines_by_bytes, (void *)s->profile);
    return 0;
}

static int sum_kernels(struct sonde_comm *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->lines.count; i++) {
        const struct sonde_comm_line *l = &out->lines.items[i];
        if (sonde_vector_push(&out->kernels, (struct sonde_comm_kernel){l->pair, l->kernel, l->exact, l->sum}))
            return SONDE_ENOMEM;
    }
    struct sonde_comm_kernel *items = out->kernels.items;
    if (!out->kernels.count)
        return 0;
    qsort(items, out->kernels.count, sizeof *items, by_kernel);
    for (size_t i = 1; i < out->kernels.count; i++)
        if (by_kernel(&items[kept], &items[i]) == 0) {
            sonde_comm_add(&items[kept].sum, &items[i].sum);
            items[kept].exact &= items[i].exact;
        } else {
            items[++kept] = items[i];
        }
    out->kernels.count = kept + 1;
    qsort(items, out->kernels.count, sizeof *items, kernels_by_bytes);
    return 0;
}

static int sum_objects(const struct sums *s, struct sonde_comm *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->flows.count; i++) {
        const struct flow *f = &s->flows.items[i];
        if (sonde_vector_push(&out->objects, (struct sonde_comm_object){f->pair, f->object_kind, f->object_node, f->owner, whoever(s, f)}))
            return SONDE_ENOMEM;
    }
    if (!out->objects.count)
        return 0;
    struct sonde_comm_object *items = out->objects.items;
    qsort_r(items, out->objects.count, sizeof *items, by_object, (void *)s->profile);
    for (size_t i = 1; i < out->objects.count; i++)
        if (by_object(&items[kept], &items[i], (void *)s->profile) == 0)
            sonde_comm_add(&items[kept].sum, &items[i].sum);
        else
            items[++kept] = items[i];
    out->objects.count = kept + 1;
    qsort_r(items, out->objects.count, sizeof *items, objects_by_bytes, (void *)s->profile);
    return 0;
}

static void sum_all(const struct sums *s, struct sonde_comm *out)
{
    for (size_t i = 0; i < s->flows.count; i++) {
        const struct flow *f = &s->flows.items[i];
        sonde_comm_add(&out->all, &f->sum);
        if (f->pair.from.where == SONDE_COMM_UNKNOWN || f->pair.to.where == SONDE_COMM_UNKNOWN)
            sonde_comm_add(&out->unknown, &f->sum);
    }
}

/* ---- all processes ---------------------------------------------------------------------------- */

static int read_process(struct sums *s, struct sonde_comm *out)
{
    const struct sonde_process *p = &s->m->processes[s->index];
    const struct sonde_comm_config *c = s->config;
    const bool whole = !c->from_ns && !c->to_ns;
    int rc = add_kernels(s, whole, out);
    rc = rc ? rc : add_migrations(s, whole);
    if (rc)
        return rc;
    if (p->header.trace) /* what begins in the range may have been asked for, or stored, before it: is_asked_for() decides */
        return sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .progress = c->progress}, add_op, s);
    out->untraced++;
    return whole ? add_profile(s) : 0;
}

int sonde_comm_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_comm_config *config,
                       struct sonde_comm *out)
{
    struct sums s = {.m = m, .profile = profile, .config = config, .machine = strcmp(asked_for(m, "comm_engine"), "sanitizer") == 0, .out = out};
    int rc = sonde_object_model_build(m, profile, &s.model);
    for (; s.index < m->process_count && !rc; s.index++)
        rc = read_process(&s, out);
    estimate(&s, out->partial);
    rc = rc ? rc : sum_pairs(&s, out);
    rc = rc ? rc : sum_lines(&s, out);
    rc = rc ? rc : sum_kernels(out);
    rc = rc ? rc : sum_objects(&s, out);
    rc = rc ? rc : sonde__comm_links(m, out);
    if (!rc && !config->from_ns && !config->to_ns)
        rc = sonde__comm_arrays(m, profile, &s.model, out);
    out->unmoved = !out->moved && has_managed(m);
    if (!rc)
        sum_all(&s, out);
    if (out->coverage.count)
        qsort(out->coverage.items, out->coverage.count, sizeof *out->coverage.items, by_launches);
    if (out->faults.count)
        qsort(out->faults.items, out->faults.count, sizeof *out->faults.items, by_faults);
    if (out->collectives.count)
        qsort(out->collectives.items, out->collectives.count, sizeof *out->collectives.items, by_sent);
    sonde_map_fini(&s.ranks);
    sonde_map_fini(&s.collectives);
    sonde_map_fini(&s.samples);
    sonde_vector_fini(&s.sample);
    sonde_vector_fini(&s.flows);
    sonde_map_fini(&s.by_key);
    sonde_object_model_fini(&s.model);
    return rc;
}

void sonde_comm_fini(struct sonde_comm *comm)
{
    sonde_vector_fini(&comm->pairs);
    sonde_vector_fini(&comm->matrix);
    sonde_vector_fini(&comm->lines);
    sonde_vector_fini(&comm->kernels);
    sonde_vector_fini(&comm->objects);
    sonde_vector_fini(&comm->coverage);
    sonde_vector_fini(&comm->collectives);
    sonde_vector_fini(&comm->faults);
    sonde_vector_fini(&comm->links);
    sonde_vector_fini(&comm->arrays);
    sonde_vector_fini(&comm->runs);
    sonde_stretches_fini(&comm->stretches);
}

const char *sonde_comm_kind_name(uint32_t kind)
{
    static const char *const names[] = {"copy", "migration", "load", "store", "atomic", "collective"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

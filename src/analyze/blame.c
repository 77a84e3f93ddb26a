/* blame.c - the sweep over a process, window by window, and what it adds up to.
 *
 * docs/blame.md argues the algorithm. In short: in each window, what the operations of
 * each device leave is its idle time; the threads' segments say
 * how many were active when, and in what; one sweep over all of these, in order of time,
 * knows the integral of idle(t)/k(t) of every scope, and a segment's blame is
 * the difference of two of its values. That is O(n log n) in the rows, whatever
 * the number of threads and idle intervals.
 */
#include "blame.h"

#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/map.h"
#include "base/parallel.h"
#include "blame_sweep.h"
#include "blame_thread.h"
#include "recorded.h"
#include "timeline.h"

enum { NODE_CACHE = 4096, SLOT_CACHE = 4096, RECENT = 64 };

/* What blame is added up by: node << 8 | source << 1 | waiting; or EDGE | lane's index << 8. */
#define KEY_EDGE     (1ull << 63)
#define KEY_WAITING  1u

struct sums { /* of one scope */
    SONDE_VECTOR(struct sum { uint64_t key; sonde__units units; }) items;
    struct sonde_map index;
    size_t last;
};

struct tree { /* what the sweep needs of the profile's nodes, close together */
    const struct sonde_profile *profile;
    uint32_t *parents;
    uint8_t  *waits; /* an API call that waits, by its name */
};

/* What all contexts of a lane share, so far: their deepest common ancestor, and below it the
 * function that all begin with, if they do; `child` is the first of its nodes in the tree, 0 none. */
struct trunk { uint32_t node, child, recent[RECENT]; bool known; };

/* Segments that are blamed together have one slot. */
struct slots {
    SONDE_VECTOR(uint64_t) keys; /* [slot] */
    struct sonde_map index;      /* key -> slot */
    struct remembered { uint32_t node, after, lane, kind, slot; bool used; } *cache; /* [SLOT_CACHE]: of segments */
};

struct part {
    struct cached { uint32_t id, node; } *cache; /* [NODE_CACHE]: nodes of the process, nodes of the tree */
    struct trunk *trunks;      /* [lane of the plan] */
    sonde__spans *gaps;        /* [scope]: when it was idle in this window; 0: all devices */
    struct sonde__idle *idle;  /* [scope] */
    bool         *timed;       /* [scope]: an operation ran */
    sonde__spans  busy, scratch; /* of one device */
    sonde__segments segments;  /* of one thread */
    struct slots  slots;
    struct sonde__sweep sweep;
    uint64_t untimed;
};

struct process_run {
    const struct tree *tree;
    const struct sonde_process *process;
    uint32_t index;
    struct sonde_recorded recorded;
    struct sonde__thread_rule rule;
    struct sonde_timeline_plan plan;
    struct alive { uint64_t from, to; bool known; } *alive; /* [lane of the plan] */
    uint32_t scopes;           /* all devices, and each of the plan */
    struct part *parts;
};

/* ---- contexts of the tree ------------------------------------------------------------------ */

static uint32_t locate(const struct process_run *run, struct part *part, uint32_t id)
{
    struct cached *cached = &part->cache[(id ^ id >> 12) % NODE_CACHE];
    if (cached->id != id || !id)
        *cached = (struct cached){id, sonde_profile_locate(run->tree->profile, run->index, id)};
    return cached->node;
}

/* The code that made an API call. */
static uint32_t caller_of(const struct tree *tree, uint32_t node)
{
    return tree->profile->nodes.items[node].kind == SONDE_FRAME_API ? tree->parents[node] : node;
}

/* One function at different lines, which the program or a thread began with. Of other functions it
 * cannot be told whether they were left and called again in between. */
static bool same_entry(const struct tree *tree, uint32_t a, uint32_t b)
{
    const struct sonde_cct_node *nodes = tree->profile->nodes.items, *x = &nodes[a], *y = &nodes[b];
    return (x->kind == SONDE_FRAME_NATIVE || x->kind == SONDE_FRAME_PYTHON) && x->kind == y->kind && *x->name &&
           x->name == y->name && x->file == y->file && x->module == y->module && /* texts are interned */
           x->origin != SONDE_ORIGIN_RUNTIME && (!x->parent || nodes[x->parent].origin == SONDE_ORIGIN_RUNTIME);
}

/* The deepest common ancestor (a parent comes before its children); *child_a and *child_b get the
 * nodes below it on the ways to both, 0 where there is none. */
static uint32_t common(const struct tree *tree, uint32_t a, uint32_t b, uint32_t *child_a, uint32_t *child_b)
{
    *child_a = *child_b = 0;
    while (a != b)
        if (a > b) {
            *child_a = a;
            a = tree->parents[a];
        } else {
            *child_b = b;
            b = tree->parents[b];
        }
    return a;
}

/* What the callers of two calls share; the function that all began with is at the line of the earlier one. */
static uint32_t shared(const struct tree *tree, uint32_t before, uint32_t after)
{
    uint32_t earlier, later;
    const uint32_t node = common(tree, caller_of(tree, before), caller_of(tree, after), &earlier, &later);
    return before && after && earlier && later && same_entry(tree, earlier, later) ? earlier : node;
}

static void join_trunk(const struct tree *tree, struct trunk *trunk, const struct trunk *more)
{
    uint32_t one, two;
    if (!more->known)
        return;
    if (!trunk->known) {
        trunk->node = more->node, trunk->child = more->child, trunk->known = true;
        return;
    }
    const uint32_t node = common(tree, trunk->node, more->node, &one, &two);
    one = one ? one : trunk->child;
    two = two ? two : more->child;
    trunk->node = node;
    trunk->child = one && two && same_entry(tree, one, two) ? (one < two ? one : two) : 0;
}

static void add_to_trunk(const struct process_run *run, struct part *part, uint32_t lane, uint32_t id)
{
    struct trunk *trunk = &part->trunks[lane];
    uint32_t *recent = &trunk->recent[id * 0x9e3779b1u >> 26]; /* of RECENT */
    if (*recent == id || !id)
        return;
    *recent = id;
    join_trunk(run->tree, trunk, &(struct trunk){.node = caller_of(run->tree, locate(run, part, id)), .known = true});
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int add_units(struct sums *sums, uint64_t key, sonde__units units)
{
    uint64_t at = sums->last;
    if (at >= sums->items.count || sums->items.items[at].key != key) {
        if (!sonde_map_get(&sums->index, key, &at)) {
            at = sums->items.count;
            if (sonde_vector_push(&sums->items, (struct sum){key, 0}) || sonde_map_put(&sums->index, key, at))
                return SONDE_ENOMEM;
        }
        sums->last = at;
    }
    sums->items.items[at].units += units;
    return 0;
}

static uint64_t key_of(const struct process_run *run, struct part *part, uint32_t lane, const struct sonde__segment *s)
{
    unsigned source = s->source, waiting = 0;
    uint32_t node = 0;

    if (source == SONDE_BLAME_INFERRED && s->edge)
        return KEY_EDGE | (uint64_t)lane << 8;
    if (source != SONDE_BLAME_UNCOVERED)
        node = locate(run, part, s->node);
    if (source == SONDE_BLAME_INFERRED)
        node = shared(run->tree, node, locate(run, part, s->after));
    else
        waiting = node && (s->waits || run->tree->waits[node]) ? KEY_WAITING : 0;
    return (uint64_t)node << 8 | (node ? source : SONDE_BLAME_UNCOVERED) << 1 | waiting;
}

/* The slot of a segment's key; the same contexts follow each other again and again. */
static int slot_of(const struct process_run *run, struct part *part, uint32_t lane, const struct sonde__segment *s, uint32_t *slot)
{
    const struct remembered wanted = {
        .node = s->node, .after = s->after, .lane = s->edge ? lane : 0, .used = true,
        .kind = (uint32_t)s->source << 2 | (uint32_t)(s->waits != 0) << 1 | (s->edge != 0)};
    const uint32_t hash = (s->node * 0x9e3779b1u ^ s->after * 0x85ebca77u ^ wanted.lane * 0xc2b2ae3du) + wanted.kind;
    struct remembered *known = &part->slots.cache[(hash >> 20 ^ hash) % SLOT_CACHE];
    uint64_t at;

    if (known->used && known->node == wanted.node && known->after == wanted.after && known->lane == wanted.lane &&
        known->kind == wanted.kind) {
        *slot = known->slot;
        return 0;
    }
    const uint64_t key = key_of(run, part, lane, s);
    if (!sonde_map_get(&part->slots.index, key, &at)) {
        at = part->slots.keys.count;
        if (sonde_vector_push(&part->slots.keys, key) || sonde_map_put(&part->slots.index, key, at))
            return SONDE_ENOMEM;
    }
    *known = wanted;
    *slot = known->slot = (uint32_t)at;
    return 0;
}

/* ---- one window -------------------------------------------------------------------------------- */

/* In a pause nothing is known of a device: it counts as neither idle nor busy. As busy here, because
 * only idle time is looked at. */
static int add_pauses(const struct sonde_recorded *recorded, sonde__spans *busy, uint64_t from, uint64_t to)
{
    int rc = 0;
    for (size_t i = sonde_recorded_pause(recorded, from); i < recorded->pauses.count && !rc; i++) {
        const struct sonde_pause *pause = &recorded->pauses.items[i];
        if (pause->from_ns >= to)
            break;
        rc = sonde_vector_push(busy, (struct sonde__span){pause->from_ns > from ? pause->from_ns : from,
                                                          pause->to_ns < to ? pause->to_ns : to});
    }
    return rc;
}

/* When the device had operations, and pauses; in no order. */
static int gather_busy(const struct process_run *run, struct part *part, uint32_t scope, const struct sonde_time_device *device,
                       uint64_t from, uint64_t to)
{
    int rc = 0;
    part->busy.count = 0;
    if (device->until_ns > from)
        rc = sonde_vector_push(&part->busy, (struct sonde__span){from, device->until_ns < to ? device->until_ns : to});
    for (const struct sonde_time_spans *s = device->spans; s; s = s->next)
        for (uint32_t i = 0; i < s->count && !rc; i++) {
            const uint64_t start = s->items[i].start_ns > from ? s->items[i].start_ns : from;
            const uint64_t end = s->items[i].end_ns < to ? s->items[i].end_ns : to;
            if (start < end)
                rc = sonde_vector_push(&part->busy, (struct sonde__span){start, end});
        }
    part->timed[scope] |= part->busy.count > 0;
    part->timed[0] |= part->timed[scope];
    return rc ? rc : add_pauses(&run->recorded, &part->busy, from, to);
}

/* When all devices were idle: where their gaps meet. */
static int meet_gaps(const struct process_run *run, struct part *part)
{
    sonde__spans *all = &part->gaps[0], *before = &part->scratch;
    int rc = 0;
    for (uint32_t scope = 1; scope < run->scopes && !rc; scope++) {
        const sonde__spans swap = *all;
        *all = *before;
        *before = swap;
        all->count = 0;
        rc = sonde__spans_meet(scope == 1 ? &part->gaps[1] : before, &part->gaps[scope], all);
    }
    return rc;
}

static int add_scope_times(struct part *part, uint32_t scope, uint64_t from, uint64_t to)
{
    const sonde__spans *gaps = &part->gaps[scope];
    int rc = 0;
    part->idle[scope] = sonde__idle_join(part->idle[scope], sonde__idle_of(gaps, from, to));
    for (size_t i = 0; i < gaps->count && !rc; i++) {
        rc = sonde__sweep_scope(&part->sweep, gaps->items[i].from, scope, true);
        rc = rc ? rc : sonde__sweep_scope(&part->sweep, gaps->items[i].to, scope, false);
    }
    return rc;
}

static int gather_scopes(const struct process_run *run, struct part *part, const struct sonde_time_window *w,
                         uint64_t from, uint64_t to)
{
    int rc = 0;
    part->untimed += w->untimed;
    for (uint32_t scope = 1; scope < run->scopes && !rc; scope++) {
        rc = gather_busy(run, part, scope, &w->devices[scope - 1], from, to);
        rc = rc ? rc : sonde__spans_sort(&part->busy, &part->scratch);
        part->gaps[scope].count = 0;
        rc = rc ? rc : sonde__spans_gaps(&part->busy, from, to, &part->gaps[scope]);
    }
    rc = rc ? rc : meet_gaps(run, part);
    for (uint32_t scope = 0; scope < run->scopes && !rc; scope++)
        if (scope == 0 || run->scopes > 2)
            rc = add_scope_times(part, scope, from, to);
    return rc;
}

/* Where the thread's slot changes. */
static int add_changes(const struct process_run *run, struct part *part, uint32_t lane)
{
    const struct sonde__segment *segments = part->segments.items;
    const size_t count = part->segments.count;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        const struct sonde__segment *s = &segments[i];
        uint32_t slot;
        rc = slot_of(run, part, lane, s, &slot);
        rc = rc ? rc : sonde__sweep_thread(&part->sweep, s->from, lane, slot);
        if (!rc && (i + 1 == count || segments[i + 1].from != s->to))
            rc = sonde__sweep_thread(&part->sweep, s->to, lane, SONDE__INACTIVE);
    }
    return rc;
}

static int gather_threads(const struct process_run *run, struct part *part, const struct sonde_time_window *w,
                          uint64_t from, uint64_t to)
{
    int rc = 0;
    for (uint32_t k = 0; k < w->lane_count && !rc; k++) {
        const struct sonde_time_lane *lane = &w->lanes[k];
        struct sonde__thread_rule rule = run->rule;
        if (lane->kind != SONDE_LANE_KIND_THREAD)
            continue;
        rule.from_ns = from, rule.to_ns = to;
        rule.idle = run->scopes > 2 ? NULL : &part->gaps[0]; /* nothing is shared while the one device is busy */
        rule.alive_from = run->alive[k].from, rule.alive_to = run->alive[k].to, rule.known = run->alive[k].known;
        part->segments.count = 0;
        rc = sonde__thread_segments(lane, &rule, &part->scratch, &part->segments);
        rc = rc ? rc : add_changes(run, part, k);
        for (uint32_t i = 0; i < lane->call_count && rule.rule != SONDE_BLAME_BY_CALLS; i++)
            add_to_trunk(run, part, k, lane->calls[i].node);
        for (uint32_t i = 0; i < lane->sample_count && rule.rule != SONDE_BLAME_BY_CALLS; i++)
            add_to_trunk(run, part, k, lane->samples[i].node);
    }
    return rc;
}

static int each_window(void *user, const struct sonde_time_window *w)
{
    const struct process_run *run = user;
    struct part *part = &run->parts[w->part];
    const uint64_t from = w->from_ns > run->rule.from_ns ? w->from_ns : run->rule.from_ns;
    const uint64_t to = w->to_ns < run->rule.to_ns ? w->to_ns : run->rule.to_ns;
    if (from >= to)
        return 0;
    int rc = gather_scopes(run, part, w, from, to);
    if (!rc)
        rc = gather_threads(run, part, w, from, to);
    return rc ? rc : sonde__sweep_run(&part->sweep, (uint32_t)part->slots.keys.count);
}

/* ---- one process -------------------------------------------------------------------------------- */

/* A thread that runs has a sample in each period: it is taken to be there from one period before its
 * first row to one after its last, as far as it existed. What came before is not known. */
static int find_alive(struct process_run *run)
{
    const struct sonde_process *p = run->process;
    uint32_t *place = calloc((size_t)p->lane_count + 1, sizeof *place);
    run->alive = calloc((size_t)run->plan.lane_count + 1, sizeof *run->alive);
    if (!place || !run->alive) {
        free(place);
        return SONDE_ENOMEM;
    }
    for (uint32_t k = 0; k < run->plan.lane_count; k++) {
        place[run->plan.lanes[k].lane] = k + 1;
        run->alive[k].from = UINT64_MAX;
    }
    for (uint32_t i = 0; i < p->trace_count; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        if (!place[t->lane] || (t->table != SONDE_TABLE_CALL && t->table != SONDE_TABLE_SAMPLE && t->table != SONDE_TABLE_SWITCH))
            continue;
        struct alive *alive = &run->alive[place[t->lane] - 1];
        alive->from = t->time_min < alive->from ? t->time_min : alive->from;
        alive->to = t->time_max > alive->to ? t->time_max : alive->to;
        alive->known |= t->table != SONDE_TABLE_SWITCH;
    }
    for (uint32_t k = 0; k < run->plan.lane_count; k++) {
        const struct sonde_row_lane *lane = &p->lanes[run->plan.lanes[k].lane];
        struct alive *alive = &run->alive[k];
        const uint64_t first = alive->from, last = alive->to, period = run->rule.period_ns;
        alive->from = first > period ? first - period : 0;
        alive->from = lane->start_ns > alive->from && lane->start_ns <= first ? lane->start_ns : alive->from;
        alive->to = last > UINT64_MAX - period ? UINT64_MAX : last + period;
        alive->to = lane->end_ns >= last && lane->end_ns < alive->to ? lane->end_ns : alive->to;
    }
    free(place);
    return 0;
}

static void find_rule(struct process_run *run)
{
    const struct sonde_live_header *h = &run->process->header;
    run->rule.from_ns = run->recorded.start_ns;
    run->rule.to_ns = run->recorded.end_ns;
    run->rule.period_ns = h->cpu_rate_hz ? 1000000000u / h->cpu_rate_hz : 0;
    run->rule.rule = h->cpu_switches ? SONDE_BLAME_BY_SWITCHES : h->cpu_rate_hz ? SONDE_BLAME_BY_SAMPLES : SONDE_BLAME_BY_CALLS;
}

static int make_part(const struct process_run *run, struct part *part)
{
    const size_t scopes = run->scopes;
    part->cache = calloc(NODE_CACHE, sizeof *part->cache);
    part->trunks = calloc((size_t)run->plan.lane_count + 1, sizeof *part->trunks);
    part->gaps = calloc(scopes, sizeof *part->gaps);
    part->idle = calloc(scopes, sizeof *part->idle);
    part->timed = calloc(scopes, sizeof *part->timed);
    part->slots.cache = calloc(SLOT_CACHE, sizeof *part->slots.cache);
    if (!part->cache || !part->trunks || !part->gaps || !part->idle || !part->timed || !part->slots.cache)
        return SONDE_ENOMEM;
    return sonde__sweep_init(&part->sweep, (uint32_t)scopes, run->plan.lane_count);
}

static void free_part(struct part *part, size_t scopes)
{
    for (size_t i = 0; i < scopes && part->gaps; i++)
        sonde_vector_fini(&part->gaps[i]);
    sonde_vector_fini(&part->busy);
    sonde_vector_fini(&part->scratch);
    sonde_vector_fini(&part->segments);
    sonde_vector_fini(&part->slots.keys);
    sonde_map_fini(&part->slots.index);
    sonde__sweep_fini(&part->sweep);
    free(part->slots.cache);
    free(part->cache);
    free(part->trunks);
    free(part->gaps);
    free(part->idle);
    free(part->timed);
}

/* ---- what it adds up to ---------------------------------------------------------------------------- */

static double ns_of(sonde__units units)
{
    return (double)units / (double)SONDE__UNITS;
}

/* The parts' trunks together: into that of the first part. */
static void join_trunks(struct process_run *run)
{
    for (uint32_t k = 0; k < run->plan.lane_count; k++)
        for (uint32_t i = 1; i < run->plan.part_count; i++)
            join_trunk(run->tree, &run->parts[0].trunks[k], &run->parts[i].trunks[k]);
}

static int by_key(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int add_entries(struct sonde_blame_scope *scope, const struct sum *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = (uint32_t)(sums[i].key >> 8);
        const unsigned source = (unsigned)sums[i].key >> 1 & 3;
        const double ns = ns_of(sums[i].units);
        if ((!scope->entries.count || scope->entries.items[scope->entries.count - 1].node != node) &&
            sonde_vector_push(&scope->entries, (struct sonde_blame_entry){.node = node}))
            return SONDE_ENOMEM;
        struct sonde_blame_entry *entry = &scope->entries.items[scope->entries.count - 1];
        *(sums[i].key & KEY_WAITING ? &entry->waiting_ns : &entry->working_ns) += ns;
        *(sums[i].key & KEY_WAITING ? &scope->waiting_ns : &scope->working_ns) += ns;
        entry->source_ns[source] += ns;
        scope->source_ns[source] += ns;
    }
    return 0;
}

/* The parts' sums of one scope in the order of their keys, those of the threads' edges at their place. */
static int add_sums(const struct process_run *run, uint32_t scope, struct sonde_blame_scope *out)
{
    struct sums all = {0};
    int rc = 0;
    for (uint32_t i = 0; i < run->plan.part_count; i++) {
        const struct part *part = &run->parts[i];
        for (size_t k = 0; k < part->slots.keys.count && k < part->sweep.slot_room && !rc; k++) {
            const sonde__units units = part->sweep.units[k * part->sweep.scopes + scope];
            uint64_t key = part->slots.keys.items[k];
            if (key & KEY_EDGE) {
                const struct trunk *trunk = &run->parts[0].trunks[(key & ~KEY_EDGE) >> 8];
                const uint32_t node = trunk->child ? trunk->child : trunk->node;
                key = (uint64_t)node << 8 | (node ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED) << 1;
            }
            rc = units ? add_units(&all, key, units) : 0;
        }
    }
    if (!rc && all.items.count) {
        qsort(all.items.items, all.items.count, sizeof *all.items.items, by_key);
        rc = add_entries(out, all.items.items, all.items.count);
    }
    sonde_vector_fini(&all.items);
    sonde_map_fini(&all.index);
    return rc;
}

static int add_scope(const struct process_run *run, uint32_t scope, struct sonde_blame *out)
{
    struct sonde_blame_scope result = {.process = run->index,
                                       .device = scope ? run->plan.devices[scope - 1].device : SONDE_BLAME_ALL};
    const struct sonde_recorded *recorded = &run->recorded;
    struct sonde__idle idle = {.length = recorded->start_ns - recorded->begin_ns}; /* before anything was recorded */
    sonde__units nobody = 0;
    bool timed = false;
    result.before_ns = (double)idle.length;
    result.before_cpu_ns = (double)recorded->before_cpu_ns;
    result.paused_ns = (double)recorded->paused_ns;
    for (uint32_t i = 0; i < run->plan.part_count; i++) {
        timed |= run->parts[i].timed[scope];
        idle = sonde__idle_join(idle, run->parts[i].idle[scope]);
        nobody += run->parts[i].sweep.nobody ? run->parts[i].sweep.nobody[scope] : 0;
    }
    if (!timed) /* not one operation with times: not known, rather than idle */
        return 0;
    result.range_ns = (double)(idle.length - recorded->paused_ns);
    result.intervals = sonde__idle_count(&idle);
    result.longest_ns = (double)sonde__idle_longest(&idle);
    result.nobody_ns = ns_of(nobody);
    int rc = add_sums(run, scope, &result);
    result.idle_ns = result.before_ns + result.nobody_ns + result.waiting_ns + result.working_ns;
    if (!rc)
        rc = sonde_vector_push(&out->scopes, result);
    if (rc)
        sonde_vector_fini(&result.entries);
    return rc;
}

static int add_results(struct process_run *run, struct sonde_blame *out)
{
    int rc = 0;
    join_trunks(run);
    for (uint32_t i = 0; i < run->plan.part_count; i++)
        out->untimed += run->parts[i].untimed;
    for (uint32_t scope = 0; scope < run->scopes && !rc; scope++)
        if (scope == 0 || run->scopes > 2)
            rc = add_scope(run, scope, out);
    out->rules[run->rule.rule]++;
    return rc;
}

static int sweep(struct process_run *run)
{
    int rc = 0;
    run->parts = calloc(run->plan.part_count, sizeof *run->parts);
    if (!run->parts)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < run->plan.part_count && !rc; i++)
        rc = make_part(run, &run->parts[i]);
    return rc ? rc : sonde_timeline_run(&run->plan, each_window, run);
}

static int compute_process(const struct tree *tree, const struct sonde_measurement *m, uint32_t index,
                           const struct sonde_blame_options *options, struct sonde_blame *out)
{
    const struct sonde_process *p = &m->processes[index];
    struct process_run run = {.tree = tree, .process = p, .index = index};
    const struct sonde_timeline_options timeline = {
        .tables = 1u << SONDE_TABLE_OP | 1u << SONDE_TABLE_CALL | 1u << SONDE_TABLE_SAMPLE | 1u << SONDE_TABLE_SWITCH |
                  1u << SONDE_TABLE_WAIT,
        .op_times = true, .call_fields = SONDE_FIELD(sonde_row_call, node),
        .threads = options->threads, .window_rows = options->window_rows, .progress = options->progress};
    int rc = sonde_recorded_compute(m, p, &run.recorded);

    find_rule(&run);
    if (!rc)
        rc = sonde_timeline_plan(p, &timeline, &run.plan);
    run.scopes = run.plan.device_count + 1;
    if (!rc)
        rc = find_alive(&run);
    if (!rc && run.scopes > 1)
        rc = sweep(&run);
    if (!rc && run.scopes > 1)
        rc = add_results(&run, out);
    for (uint32_t i = 0; i < run.plan.part_count && run.parts; i++)
        free_part(&run.parts[i], run.scopes);
    free(run.parts);
    free(run.alive);
    sonde_timeline_fini(&run.plan);
    sonde_recorded_fini(&run.recorded);
    return rc;
}

/* ---- all processes ------------------------------------------------------------------------------------ */

static int by_node(const void *left, const void *right)
{
    const struct sonde_blame_entry *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void add_entry(struct sonde_blame_entry *sum, const struct sonde_blame_entry *more)
{
    sum->waiting_ns += more->waiting_ns;
    sum->working_ns += more->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += more->source_ns[i];
}

static int add_total(struct sonde_blame_scope *sum, const struct sonde_blame_scope *more)
{
    sum->range_ns += more->range_ns;
    sum->idle_ns += more->idle_ns;
    sum->intervals += more->intervals;
    sum->longest_ns = more->longest_ns > sum->longest_ns ? more->longest_ns : sum->longest_ns;
    sum->before_ns += more->before_ns;
    sum->before_cpu_ns += more->before_cpu_ns;
    sum->paused_ns += more->paused_ns;
    sum->nobody_ns += more->nobody_ns;
    sum->waiting_ns += more->waiting_ns;
    sum->working_ns += more->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += more->source_ns[i];
    for (size_t i = 0; i < more->entries.count; i++)
        if (sonde_vector_push(&sum->entries, more->entries.items[i]))
            return SONDE_ENOMEM;
    return 0;
}

/* scopes[0] from the processes' own. */
static int sum_up(struct sonde_blame *blame)
{
    struct sonde_blame_scope *sum = &blame->scopes.items[0];
    size_t count = 0;
    int rc = 0;
    for (size_t i = 1; i < blame->scopes.count && !rc; i++)
        if (blame->scopes.items[i].device == SONDE_BLAME_ALL)
            rc = add_total(sum, &blame->scopes.items[i]);
    if (sum->entries.count)
        qsort(sum->entries.items, sum->entries.count, sizeof *sum->entries.items, by_node);
    for (size_t i = 0; i < sum->entries.count; i++) {
        if (count && sum->entries.items[count - 1].node == sum->entries.items[i].node)
            add_entry(&sum->entries.items[count - 1], &sum->entries.items[i]);
        else
            sum->entries.items[count++] = sum->entries.items[i];
    }
    sum->entries.count = count;
    return rc;
}

static int make_tree(const struct sonde_profile *profile, struct tree *tree)
{
    tree->profile = profile;
    tree->parents = malloc((profile->nodes.count + 1) * sizeof *tree->parents);
    tree->waits = calloc(profile->nodes.count + 1, sizeof *tree->waits);
    if (!tree->parents || !tree->waits)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        tree->parents[i] = node->parent;
        tree->waits[i] = node->kind == SONDE_FRAME_API && sonde_api_class(node->name) == SONDE_API_WAITS;
    }
    return 0;
}

int sonde_blame_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                        const struct sonde_blame_options *options, struct sonde_blame *out)
{
    struct tree tree = {0};
    int rc = make_tree(profile, &tree);

    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_process *p = &m->processes[i];
        if (!p->trace_count)
            continue;
        out->traced = true;
        if (!out->scopes.count)
            rc = sonde_vector_push(&out->scopes, (struct sonde_blame_scope){.process = SONDE_BLAME_ALL, .device = SONDE_BLAME_ALL});
        if (!rc)
            rc = compute_process(&tree, m, i, options, out);
    }
    if (!rc && out->scopes.count)
        rc = sum_up(out);
    free(tree.parents);
    free(tree.waits);
    return rc;
}

void sonde_blame_fini(struct sonde_blame *blame)
{
    for (size_t i = 0; i < blame->scopes.count; i++)
        sonde_vector_fini(&blame->scopes.items[i].entries);
    sonde_vector_fini(&blame->scopes);
    *blame = (struct sonde_blame){0};
}

const struct sonde_blame_scope *sonde_blame_find(const struct sonde_blame *blame, uint32_t process, uint32_t device)
{
    const struct sonde_blame_scope *found = NULL;
    for (size_t i = 0; i < blame->scopes.count; i++) {
        const struct sonde_blame_scope *scope = &blame->scopes.items[i];
        if (scope->process != process)
            continue;
        if (scope->device == device)
            return scope;
        found = scope->device == SONDE_BLAME_ALL ? scope : found;
    }
    return found;
}

const char *sonde_blame_source_name(enum sonde_blame_source source)
{
    static const char *const names[] = {"exact", "sampled", "inferred", "uncovered"};
    return source < SONDE_BLAME_SOURCES ? names[source] : "unknown";
}

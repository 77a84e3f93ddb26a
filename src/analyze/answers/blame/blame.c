/* blame.c - the sweep over a process or a range of it, window by window, and what it adds up to.
 *
 * docs/developers/views.md, "Blame", argues the algorithm. In short: in each window, what the operations of
 * each device leave is its idle time; the threads' segments say
 * how many were active when, and in what; one sweep over all of these, in order of time,
 * knows the integral of idle(t)/k(t) of every scope, and a segment's blame is
 * the difference of two of its values. That is O(n log n) in the rows, whatever
 * the number of threads and idle intervals.
 */
#include "blame.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/device_code.h"
#include "analyze/trace/each.h"
#include "run.h"

/* ---- contexts of the tree ------------------------------------------------------------------ */

static uint32_t locate(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t id)
{
    struct cached *cached = &part->cache[(id ^ id >> 12) % NODE_CACHE];
    if (cached->id != id || !id)
        *cached = (struct cached){id, sonde_profile_locate(run->tree->profile, run->index, id)};
    return cached->node;
}

static void add_to_trunk(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t lane, uint32_t id)
{
    struct sonde__blame_trunk *trunk = &part->trunks[lane];
    uint32_t *recent = &trunk->recent[id * 0x9e3779b1u >> 26]; /* of RECENT */
    if (*recent == id || !id)
        return;
    *recent = id;
    sonde__blame_add_to_trunk(run->tree, trunk, locate(run, part, id));
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int key_of(const struct sonde__blame_run *run, struct sonde__blame_part *part, const struct sonde__segment *s, uint64_t *key)
{
    uint32_t node, pair;
    switch (s->source) {
    case SONDE_BLAME_INFERRED:
        if (sonde__gathered_pair(&part->gathered, (struct sonde__pair){s->node, s->after}, &pair) || pair >= PAIRS_MOST)
            return SONDE_ENOMEM;
        *key = KEY_LEFT | pair;
        return 0;
    case SONDE_BLAME_SAMPLED:
        *key = KEY_SAMPLED | (uint64_t)s->after << 32 | locate(run, part, s->node);
        return s->after < PAIRS_MOST ? 0 : SONDE_ENOMEM;
    default:
        node = s->source == SONDE_BLAME_UNCOVERED ? 0 : locate(run, part, s->node);
        *key = (uint64_t)node << 8 | (unsigned)(node ? s->source : SONDE_BLAME_UNCOVERED) << 1 |
               (node && (s->waits || run->tree->waits[node]) ? KEY_WAITING : 0);
        return 0;
    }
}

/* The slot of a segment's key; the same contexts follow each other again and again. */
static int slot_of(const struct sonde__blame_run *run, struct sonde__blame_part *part, const struct sonde__segment *s, uint32_t *slot)
{
    const struct remembered wanted = {
        .node = s->node,
        .after = s->after,
        .used = true,
        .kind = (uint32_t)s->source << 1 | (uint32_t)(s->waits != 0),
    };
    const uint32_t hash = (s->node * 0x9e3779b1u ^ s->after * 0x85ebca77u) + wanted.kind;
    struct remembered *known = &part->slots.cache[(hash >> 20 ^ hash) % SLOT_CACHE];
    uint64_t key, at;

    if (known->used && known->node == wanted.node && known->after == wanted.after && known->kind == wanted.kind) {
        *slot = known->slot;
        return 0;
    }
    if (key_of(run, part, s, &key))
        return SONDE_ENOMEM;
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
static int gather_busy(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t scope, const struct sonde_trace_device *device,
                       uint64_t from, uint64_t to)
{
    int rc = 0;
    part->busy.count = 0;
    if (device->until_ns > from)
        rc = sonde_vector_push(&part->busy, (struct sonde__span){from, device->until_ns < to ? device->until_ns : to});
    for (const struct sonde_trace_spans *s = device->spans; s; s = s->next)
        for (uint32_t i = 0; i < s->count && !rc; i++) {
            const uint64_t start = s->items[i].start_ns > from ? s->items[i].start_ns : from;
            const uint64_t end = s->items[i].end_ns < to ? s->items[i].end_ns : to;
            if (start < end)
                rc = sonde_vector_push(&part->busy, (struct sonde__span){start, end});
        }
    part->timed[scope] |= part->busy.count > 0;
    part->timed[0] |= part->timed[scope];
    return rc ? rc : add_pauses(run->recorded, &part->busy, from, to);
}

/* When all devices were idle: where their gaps meet. */
static int meet_gaps(const struct sonde__blame_run *run, struct sonde__blame_part *part)
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

static int add_scope_times(struct sonde__blame_part *part, uint32_t scope, uint64_t from, uint64_t to)
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

static int gather_scopes(const struct sonde__blame_run *run, struct sonde__blame_part *part, const struct sonde_trace_window *w,
                         uint64_t from, uint64_t to)
{
    int rc = 0;
    part->untimed += w->untimed;
    for (uint32_t scope = 1; scope < run->scopes && !rc; scope++) {
        rc = gather_busy(run, part, scope, &w->devices[scope - 1], from, to);
        if (rc || !run->sweeps)
            continue;
        rc = sonde__spans_sort(&part->busy, &part->scratch);
        part->gaps[scope].count = 0;
        rc = rc ? rc : sonde__spans_gaps(&part->busy, from, to, &part->gaps[scope]);
    }
    rc = rc || !run->sweeps ? rc : meet_gaps(run, part);
    for (uint32_t scope = 0; scope < run->scopes && run->sweeps && !rc; scope++)
        if (scope == 0 || run->scopes > 2)
            rc = add_scope_times(part, scope, from, to);
    return rc;
}

/* Without what is a CPU device's own doing. Of a thread that its runtime began, only calls, and what samples show
 * to be the program's, are not. */
static void leave_out_device(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t lane)
{
    sonde__segments *segments = &part->segments;
    const bool thread = run->ground->of_device && run->ground->of_device[lane];
    size_t kept = 0;
    for (size_t i = 0; i < segments->count && run->tree->any_device; i++) {
        const struct sonde__segment *s = &segments->items[i];
        const bool device = s->source == SONDE_BLAME_SAMPLED ? sonde_code_is_device(run->tree->code[locate(run, part, s->node)])
                                                             : thread && s->source != SONDE_BLAME_EXACT;
        if (!device)
            segments->items[kept++] = *s;
    }
    segments->count = run->tree->any_device ? kept : segments->count;
}

/* Where the thread's slot changes. */
static int add_changes(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t lane)
{
    const struct sonde__segment *segments = part->segments.items;
    const size_t count = part->segments.count;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        const struct sonde__segment *s = &segments[i];
        uint32_t slot;
        rc = slot_of(run, part, s, &slot);
        rc = rc ? rc : sonde__sweep_thread(&part->sweep, s->from, lane, slot);
        if (!rc && (i + 1 == count || segments[i + 1].from != s->to))
            rc = sonde__sweep_thread(&part->sweep, s->to, lane, SONDE__INACTIVE);
    }
    return rc;
}

static int add_sleeps(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t lane)
{
    const sonde__segments *sleeps = &part->thread.sleeps;
    int rc = 0;
    for (size_t i = 0; i < sleeps->count && !rc; i++) {
        uint32_t slot;
        rc = slot_of(run, part, &sleeps->items[i], &slot);
        rc = rc ? rc : sonde__sweep_sleep(&part->sweep, sleeps->items[i].from, lane, slot, sleeps->items[i].next_ns);
        rc = rc ? rc : sonde__sweep_sleep(&part->sweep, sleeps->items[i].to, lane, SONDE__INACTIVE, 0);
    }
    return rc ? SONDE_ENOMEM : 0;
}

/* What all contexts of a lane share is asked for only where samples were taken. */
static void add_trunks(const struct sonde__blame_run *run, struct sonde__blame_part *part, uint32_t k, const struct sonde_trace_lane *lane)
{
    if (!run->grounds || run->rule.rule == SONDE_BLAME_BY_CALLS)
        return;
    for (uint32_t i = 0; i < lane->call_count; i++)
        add_to_trunk(run, part, k, lane->calls[i].node);
    for (uint32_t i = 0; i < lane->sample_count; i++)
        add_to_trunk(run, part, k, lane->samples[i].node);
    for (uint32_t i = 0; i < lane->sleep_count; i++)
        add_to_trunk(run, part, k, lane->sleeps[i].node);
}

/* Outside of these times segments need not be told apart: nothing is shared while the one device is busy. */
static const sonde__spans *asked_for(const struct sonde__blame_run *run, const struct sonde__blame_part *part)
{
    static const sonde__spans never = {0};
    return !run->sweeps ? &never : (run->scopes > 2 ? NULL : &part->gaps[0]);
}

static int gather_threads(const struct sonde__blame_run *run, struct sonde__blame_part *part, const struct sonde_trace_window *w,
                          uint64_t from, uint64_t to)
{
    int rc = 0;
    for (uint32_t k = 0; k < w->lane_count && !rc; k++) {
        const struct sonde_trace_lane *lane = &w->lanes[k];
        struct sonde__thread_rule rule = run->rule;
        if (lane->kind != SONDE_LANE_KIND_THREAD)
            continue;
        rule.from_ns = from, rule.to_ns = to;
        rule.idle = asked_for(run, part);
        const struct sonde__alive *alive = &run->ground->alive[lane->lane];
        rule.alive_from = alive->from, rule.alive_to = alive->to, rule.known = alive->known;
        part->segments.count = 0;
        rc = sonde__thread_segments(lane, &rule, &part->thread, &part->gathered, &part->segments);
        leave_out_device(run, part, lane->lane);
        rc = rc || !run->sweeps ? rc : add_changes(run, part, k);
        rc = rc || !run->sweeps ? rc : add_sleeps(run, part, k);
        add_trunks(run, part, k, lane);
    }
    return rc;
}

static int each_window(void *user, const struct sonde_trace_window *w)
{
    const struct sonde__blame_run *run = user;
    struct sonde__blame_part *part = w->state;
    const uint64_t from = w->from_ns > run->rule.from_ns ? w->from_ns : run->rule.from_ns;
    const uint64_t to = w->to_ns < run->rule.to_ns ? w->to_ns : run->rule.to_ns;
    if (from >= to)
        return 0;
    int rc = gather_scopes(run, part, w, from, to);
    if (!rc)
        rc = gather_threads(run, part, w, from, to);
    return rc || !run->sweeps ? rc : sonde__sweep_run(&part->sweep, (uint32_t)part->slots.keys.count);
}

/* ---- one process -------------------------------------------------------------------------------- */

static struct sonde__blame_run run_of(struct sonde_blame_basis *basis, uint32_t index, const struct sonde_recorded *recorded)
{
    const struct sonde_process *p = &basis->m->processes[index];
    const struct sonde_live_header *h = &p->header;
    return (struct sonde__blame_run){
        .tree = &basis->tree,
        .process = p,
        .ground = &basis->grounds[index],
        .index = index,
        .recorded = recorded,
        .rule.from_ns = recorded->start_ns,
        .rule.to_ns = recorded->end_ns,
        .rule.period_ns = sonde__sample_period(p),
        .rule.rule = h->cpu_switches ? SONDE_BLAME_BY_SWITCHES : (h->cpu_rate_hz ? SONDE_BLAME_BY_SAMPLES : SONDE_BLAME_BY_CALLS),
    };
}

static int make_part(const struct sonde__blame_run *run, struct sonde__blame_part *part)
{
    const size_t scopes = run->scopes;
    part->cache = calloc(NODE_CACHE, sizeof *part->cache);
    part->trunks = calloc(run->grounds ? (size_t)run->trace.lane_count + 1 : 1, sizeof *part->trunks);
    part->gaps = calloc(scopes, sizeof *part->gaps);
    part->idle = calloc(scopes, sizeof *part->idle);
    part->timed = calloc(scopes, sizeof *part->timed);
    part->slots.cache = calloc(SLOT_CACHE, sizeof *part->slots.cache);
    if (!part->cache || !part->trunks || !part->gaps || !part->idle || !part->timed || !part->slots.cache)
        return SONDE_ENOMEM;
    return sonde__sweep_init(&part->sweep, (uint32_t)scopes, run->trace.lane_count);
}

static void free_part(struct sonde__blame_part *part, size_t scopes)
{
    for (size_t i = 0; i < scopes && part->gaps; i++)
        sonde_vector_fini(&part->gaps[i]);
    sonde_vector_fini(&part->busy);
    sonde_vector_fini(&part->scratch);
    sonde_vector_fini(&part->segments);
    sonde__thread_scratch_fini(&part->thread);
    sonde__gathered_fini(&part->gathered);
    sonde_vector_fini(&part->slots.keys);
    free(part->slots.joined);
    sonde_map_fini(&part->slots.index);
    sonde__sweep_fini(&part->sweep);
    free(part->slots.cache);
    free(part->cache);
    free(part->trunks);
    free(part->gaps);
    free(part->idle);
    free(part->timed);
}

/* So few that what is sorted of a window stays in a processor's cache, and enough for each lane. */
static uint64_t window_rows(const struct sonde_process *p, const struct sonde_blame_options *options)
{
    enum { ROWS = 1 << 15,
           LANE_ROWS = 64 };
    const uint64_t rows = (uint64_t)p->lane_count * LANE_ROWS;
    return options->window_rows ? options->window_rows : (rows > ROWS ? rows : ROWS);
}

/* Read [from_ns, to_ns) of the trace, and sweep over it. */
static int read_trace(struct sonde__blame_run *run, uint64_t from_ns, uint64_t to_ns, const struct sonde_blame_options *options)
{
    const struct sonde_trace_options wanted = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_SAMPLES | SONDE_READ_SWITCHES | SONDE_READ_WAITS | SONDE_READ_SLEEPS,
        .from_ns = from_ns,
        .to_ns = to_ns,
        .op_times = true,
        .state_bytes = sizeof *run->parts,
        .call_fields = SONDE_FIELD(sonde_row_call, node),
        .threads = options->threads,
        .window_rows = window_rows(run->process, options),
        .progress = options->progress};
    int rc = sonde_trace_open(run->process, &wanted, &run->trace);
    run->parts = run->trace.states;
    run->scopes = run->trace.device_count + 1;
    if (rc || run->scopes == 1)
        return rc;
    for (uint32_t i = 0; i < run->trace.part_count && !rc; i++)
        rc = make_part(run, &run->parts[i]);
    return rc ? rc : sonde_trace_read(&run->trace, each_window, run);
}

static void close_run(struct sonde__blame_run *run)
{
    for (uint32_t i = 0; i < run->trace.part_count; i++)
        free_part(&run->parts[i], run->scopes);
    sonde_trace_close(&run->trace);
}

/* All of the trace, for the ground and, unless `out` is NULL, for blame. */
static int read_whole(struct sonde_blame_basis *basis, uint32_t index, const struct sonde_blame_options *options, struct sonde_blame *out)
{
    int rc = sonde__blame_ground_begin(basis, index);
    struct sonde__blame_run run = run_of(basis, index, &basis->grounds[index].recorded);
    run.grounds = true;
    run.sweeps = out != NULL;
    rc = rc ? rc : read_trace(&run, 0, 0, options);
    rc = rc ? rc : sonde__blame_settle(&run);
    if (!rc && out && run.scopes > 1)
        rc = sonde__blame_add_results(&run, out);
    close_run(&run);
    return rc;
}

static int read_range(struct sonde_blame_basis *basis, uint32_t index, uint64_t from_ns, uint64_t to_ns,
                      const struct sonde_blame_options *options, struct sonde_blame *out)
{
    struct sonde_recorded recorded;
    int rc = sonde_recorded_clip(&basis->grounds[index].recorded, from_ns, to_ns, &recorded);
    if (!rc && recorded.begin_ns < recorded.end_ns) {
        struct sonde__blame_run run = run_of(basis, index, &recorded);
        run.sweeps = true;
        rc = read_trace(&run, from_ns, to_ns, options);
        if (!rc && run.scopes > 1)
            rc = sonde__blame_add_results(&run, out);
        close_run(&run);
    }
    sonde_recorded_fini(&recorded);
    return rc;
}

static bool is_whole(const struct sonde_blame_basis *basis, const struct sonde_blame_options *options)
{
    return !options->from_ns && (!options->to_ns || options->to_ns >= basis->run_length_ns);
}

static int compute_process(struct sonde_blame_basis *basis, uint32_t index, const struct sonde_blame_options *options, struct sonde_blame *out)
{
    const struct sonde_process *p = &basis->m->processes[index];
    const bool whole = is_whole(basis, options), ends = options->to_ns && options->to_ns < basis->run_length_ns;
    const uint64_t from_ns = options->from_ns ? sonde_process_instant(p, basis->run_begin_ns, options->from_ns) : 0;
    const uint64_t to_ns = ends ? sonde_process_instant(p, basis->run_begin_ns, options->to_ns) : UINT64_MAX;
    bool answered = false;
    int rc = 0;
    pthread_mutex_lock(&basis->lock);
    if (!basis->grounds[index].read) {
        rc = read_whole(basis, index, options, whole ? out : NULL);
        answered = whole;
    }
    pthread_mutex_unlock(&basis->lock);
    return rc || answered ? rc : read_range(basis, index, from_ns, to_ns, options, out);
}

/* ---- all processes ------------------------------------------------------------------------------------ */

static void fini_scope(struct sonde_blame_scope *scope)
{
    sonde_vector_fini(&scope->entries);
    sonde_estimate_fini(&scope->estimate);
    sonde_estimate_fini(&scope->whole_estimate);
}

static int by_node(const void *left, const void *right)
{
    const struct sonde_blame_entry *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void add_entry(struct sonde_blame_entry *sum, const struct sonde_blame_entry *more)
{
    sum->whole_ns += more->whole_ns;
    sum->whole_inferred_ns += more->whole_inferred_ns;
    sum->waiting_ns += more->waiting_ns;
    sum->working_ns += more->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += more->source_ns[i];
}

void sonde__blame_fold(struct sonde_blame_scope *scope)
{
    struct sonde_blame_entry *entries = scope->entries.items;
    size_t count = 0;
    if (scope->entries.count)
        qsort(entries, scope->entries.count, sizeof *entries, by_node);
    for (size_t i = 0; i < scope->entries.count; i++)
        if (count && entries[count - 1].node == entries[i].node)
            add_entry(&entries[count - 1], &entries[i]);
        else
            entries[count++] = entries[i];
    scope->entries.count = count;
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
    return sonde_estimate_join(&sum->estimate, &more->estimate) || sonde_estimate_join(&sum->whole_estimate, &more->whole_estimate)
               ? SONDE_ENOMEM
               : 0;
}

/* scopes[0] from the processes' own. */
static int sum_up(struct sonde_blame *blame)
{
    struct sonde_blame_scope *sum = &blame->scopes.items[0];
    int rc = 0;
    for (size_t i = 1; i < blame->scopes.count && !rc; i++)
        if (blame->scopes.items[i].device == SONDE_BLAME_ALL)
            rc = add_total(sum, &blame->scopes.items[i]);
    sonde__blame_fold(sum);
    return rc;
}

struct computing {
    struct sonde_blame_basis *basis;
    const struct sonde_blame_options *options;
    struct sonde_blame *out;
};

static void put_scope(struct sonde_text *found, const struct sonde_blame_scope *scope)
{
    sonde_found_put(found, scope, sizeof *scope);
    sonde_found_put_vector(found, &scope->entries);
    sonde_estimate_put(found, &scope->estimate);
    sonde_estimate_put(found, &scope->whole_estimate);
}

static int get_scope(struct sonde_found *found, struct sonde_blame *out)
{
    struct sonde_blame_scope scope;
    sonde_found_get(found, &scope, sizeof scope);
    sonde_found_get_vector(found, &scope.entries);
    sonde_estimate_get(found, &scope.estimate);
    sonde_estimate_get(found, &scope.whole_estimate);
    if (!sonde_vector_push(&out->scopes, scope))
        return 0;
    fini_scope(&scope);
    return SONDE_ENOMEM;
}

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct computing *c = user;
    struct sonde_blame blame = {0};
    if (!c->basis->m->processes[process].trace_count)
        return 0;
    const int rc = compute_process(c->basis, process, c->options, &blame);
    sonde_found_put(found, &blame, sizeof blame);
    for (size_t i = 0; i < blame.scopes.count; i++)
        put_scope(found, &blame.scopes.items[i]);
    sonde_blame_fini(&blame);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct computing *c = user;
    struct sonde_blame *out = c->out, blame;
    int rc = 0;
    if (!c->basis->m->processes[process].trace_count)
        return 0;
    out->traced = true;
    sonde_found_get(found, &blame, sizeof blame);
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        out->rules[i] += blame.rules[i];
    out->untimed += blame.untimed;
    if (!out->scopes.count)
        rc = sonde_vector_push(&out->scopes, (struct sonde_blame_scope){.process = SONDE_BLAME_ALL, .device = SONDE_BLAME_ALL});
    for (size_t i = 0; i < blame.scopes.count && !rc; i++)
        rc = get_scope(found, out);
    return rc;
}

int sonde_blame_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                        const struct sonde_blame_options *options, struct sonde_blame *out)
{
    struct sonde_blame_basis *own = options->basis ? NULL : sonde_blame_basis_create(m, profile);
    struct computing c = {own ? own : options->basis, options, out};
    int rc = c.basis ? sonde__blame_basis_begin(c.basis) : SONDE_ENOMEM;
    rc = rc ? rc : sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
    if (!rc && out->scopes.count)
        rc = sum_up(out);
    sonde_blame_basis_destroy(own);
    return rc;
}

void sonde_blame_fini(struct sonde_blame *blame)
{
    for (size_t i = 0; i < blame->scopes.count; i++)
        fini_scope(&blame->scopes.items[i]);
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
    static const char *const names[] = {"exact", "sampled", "pooled", "inferred", "uncovered"};
    return source < SONDE_BLAME_SOURCES ? names[source] : "unknown";
}

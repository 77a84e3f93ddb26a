/* sums.c - what the sweep over a process adds up to, by context.
 *
 * The sweep knows the time of gaps by the two calls that they lie between; here
 * it is divided among the contexts that the samples of such gaps say (gaps.h).
 * Sums are integers until all parts of the trace are in them.
 */
#include <stdlib.h>

#include "analyze/samples/between.h"
#include "run.h"

struct sums { /* of one scope */
    SONDE_VECTOR(struct sum { uint64_t key; sonde__units units; uint64_t whole; }) items;
    struct sonde_map index;
    size_t last;
};

/* ---- sums ------------------------------------------------------------------------------------ */

static int add_units(struct sums *sums, uint64_t key, sonde__units units, uint64_t whole)
{
    uint64_t at = sums->last;
    if (at >= sums->items.count || sums->items.items[at].key != key) {
        if (!sonde_map_get(&sums->index, key, &at)) {
            at = sums->items.count;
            if (sonde_vector_push(&sums->items, (struct sum){key, 0, 0}) || sonde_map_put(&sums->index, key, at))
                return SONDE_ENOMEM;
        }
        sums->last = at;
    }
    sums->items.items[at].units += units;
    sums->items.items[at].whole += whole;
    return 0;
}

static double ns_of(sonde__units units)
{
    return (double)units / (double)SONDE__UNITS;
}

static int by_key(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Blame of one context, as one thing says it. */
struct piece {
    uint32_t node, pool;
    uint8_t source, waiting;
    double ns, whole_ns;
};
typedef SONDE_VECTOR(struct piece) pieces;

static int by_context(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->waiting != b->waiting)
        return a->waiting < b->waiting ? -1 : 1;
    return a->pool < b->pool ? -1 : a->pool > b->pool;
}

static int add_entries(struct sonde_blame_scope *scope, const pieces *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct piece *piece = &all->items[i];
        if ((!scope->entries.count || scope->entries.items[scope->entries.count - 1].node != piece->node) &&
            sonde_vector_push(&scope->entries, (struct sonde_blame_entry){.node = piece->node}))
            return SONDE_ENOMEM;
        struct sonde_blame_entry *entry = &scope->entries.items[scope->entries.count - 1];
        *(piece->waiting ? &entry->waiting_ns : &entry->working_ns) += piece->ns;
        *(piece->waiting ? &scope->waiting_ns : &scope->working_ns) += piece->ns;
        entry->source_ns[piece->source] += piece->ns;
        entry->whole_ns += piece->whole_ns;
        entry->whole_inferred_ns += piece->source == SONDE_BLAME_INFERRED ? piece->whole_ns : 0;
        scope->source_ns[piece->source] += piece->ns;
    }
    return 0;
}

static uint32_t lane_index(const struct sonde__blame_run *run, uint32_t lane)
{
    uint32_t low = 0, high = run->trace.lane_count;
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (run->trace.lanes[middle].lane <= lane)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A gap of which no sample tells: what the contexts around it share. */
static uint32_t inferred(const struct sonde__blame_run *run, const struct sonde__pair *pair)
{
    const uint32_t index = run->index;
    if (sonde__pair_is_edge(pair)) {
        const struct sonde__blame_trunk *trunk = &run->ground->trunks[lane_index(run, pair->before)];
        return trunk->child ? trunk->child : trunk->node;
    }
    return sonde__between_calls(run->tree->profile, run->process, index, pair->before, pair->after);
}

struct pooled {
    sonde__units units;
    uint64_t whole;
};

/* A sum is of one context, or goes to its pool. */
static int add_piece(const struct sonde__blame_run *run, const struct sum *sum, struct pooled *pooled, pieces *out)
{
    const uint8_t *waits = run->tree->waits;
    struct piece piece = {.ns = ns_of(sum->units), .whole_ns = (double)sum->whole};
    if (sum->key & KEY_LEFT) {
        pooled[(uint32_t)sum->key - 1] = (struct pooled){sum->units, sum->whole};
        return 0;
    }
    if (sum->key & KEY_SAMPLED) {
        piece.node = (uint32_t)sum->key;
        piece.pool = sum->key >> 32 & (PAIRS_MOST - 1);
        piece.source = piece.node ? SONDE_BLAME_SAMPLED : SONDE_BLAME_UNCOVERED;
        piece.waiting = piece.node && waits[piece.node];
    } else {
        piece.node = (uint32_t)(sum->key >> 8);
        piece.source = (uint8_t)(sum->key >> 1 & 7);
        piece.waiting = sum->key & KEY_WAITING;
    }
    return sonde_vector_push(out, piece);
}

static int add_pooled(const struct sonde__blame_run *run, const struct pooled *pooled, pieces *out)
{
    for (uint32_t i = 0; i < run->ground->pools.pools.count; i++) {
        const struct sonde__pool *pool = &run->ground->pools.pools.items[i];
        for (uint32_t k = pool->first; k < pool->first + pool->count && pooled[i].units; k++) {
            const struct sonde__pool_share *share = &run->ground->pools.shares.items[k];
            const struct piece piece = {
                .node = share->node,
                .pool = i + 1,
                .source = SONDE_BLAME_POOLED,
                .waiting = run->tree->waits[share->node],
                .ns = ns_of(pooled[i].units) * share->part,
                .whole_ns = (double)pooled[i].whole * share->part,
            };
            if (sonde_vector_push(out, piece))
                return SONDE_ENOMEM;
        }
    }
    return 0;
}

static int by_pool(const void *left, const void *right)
{
    const struct sonde_estimate_item *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Number 0 is of samples in no pool. `whole`: of the whole times. */
static int add_estimate(const struct sonde__blame_run *run, const pieces *all, bool whole, struct sonde_estimate *out)
{
    const double period_ns = (double)run->rule.period_ns;
    int rc = sonde_vector_push(&out->pools, (struct sonde_estimate_pool){.period_ns = period_ns});
    for (size_t i = 0; i < run->ground->pools.pools.count && !rc; i++)
        rc = sonde_vector_push(&out->pools, (struct sonde_estimate_pool){run->ground->pools.pools.items[i].samples,
                                                                         run->ground->pools.pools.items[i].hits, period_ns});
    for (size_t i = 0; i < all->count && !rc; i++) {
        const struct piece *piece = &all->items[i];
        const bool sampled = piece->source == SONDE_BLAME_SAMPLED;
        const double ns = whole ? piece->whole_ns : piece->ns;
        if (sampled || piece->source == SONDE_BLAME_POOLED)
            rc = sonde_vector_push(&out->items, (struct sonde_estimate_item){piece->pool, piece->node, sampled ? ns : 0, sampled ? 0 : ns});
    }
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_pool);
    return rc;
}

/* The same key in every part. */
static uint64_t joined_key(const struct sonde__blame_run *run, const struct sonde__blame_part *part, uint64_t key)
{
    if (!(key & (KEY_LEFT | KEY_SAMPLED)))
        return key;
    const uint32_t number = key & KEY_LEFT ? (uint32_t)key : (uint32_t)(key >> 32 & (PAIRS_MOST - 1));
    const struct sonde__pair *pair = &part->gathered.pairs.items[number];
    const uint32_t pool = sonde__pools_find(&run->ground->pools, *pair, run->tree->profile, run->index);
    if (key & KEY_SAMPLED)
        return KEY_SAMPLED | (uint64_t)pool << 32 | (uint32_t)key;
    if (pool)
        return KEY_LEFT | pool;
    const uint32_t node = inferred(run, pair);
    return (uint64_t)node << 8 | (unsigned)(node ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED) << 1;
}

static int join_keys(const struct sonde__blame_run *run, struct sonde__blame_part *part)
{
    const size_t count = part->slots.keys.count;
    part->slots.joined = malloc((count + 1) * sizeof *part->slots.joined);
    for (size_t i = 0; i < count && part->slots.joined; i++)
        part->slots.joined[i] = joined_key(run, part, part->slots.keys.items[i]);
    return part->slots.joined ? 0 : SONDE_ENOMEM;
}

static int join_sums(const struct sonde__blame_run *run, uint32_t scope, struct sums *all)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->trace.part_count; i++) {
        const struct sonde__blame_part *part = &run->parts[i];
        for (size_t k = 0; k < part->slots.keys.count && k < part->sweep.slot_room && !rc; k++) {
            const sonde__units units = part->sweep.units[k * part->sweep.scopes + scope];
            const uint64_t whole = part->sweep.whole[k * part->sweep.scopes + scope];
            rc = units ? add_units(all, part->slots.joined[k], units, whole) : 0;
        }
    }
    if (all->items.count)
        qsort(all->items.items, all->items.count, sizeof *all->items.items, by_key);
    return rc;
}

/* What a scope's sums are, by context. */
static int add_sums(const struct sonde__blame_run *run, uint32_t scope, struct sonde_blame_scope *out)
{
    struct sums all = {0};
    pieces found = {0};
    struct pooled *pooled = calloc(run->ground->pools.pools.count + 1, sizeof *pooled);
    int rc = pooled ? join_sums(run, scope, &all) : SONDE_ENOMEM;
    for (size_t i = 0; i < all.items.count && !rc; i++)
        rc = add_piece(run, &all.items.items[i], pooled, &found);
    rc = rc ? rc : add_pooled(run, pooled, &found);
    if (!rc && found.count)
        qsort(found.items, found.count, sizeof *found.items, by_context);
    rc = rc ? rc : add_entries(out, &found);
    rc = rc ? rc : add_estimate(run, &found, false, &out->estimate);
    rc = rc ? rc : add_estimate(run, &found, true, &out->whole_estimate);
    free(pooled);
    sonde_vector_fini(&found);
    sonde_vector_fini(&all.items);
    sonde_map_fini(&all.index);
    return rc;
}

static int add_scope(const struct sonde__blame_run *run, uint32_t scope, struct sonde_blame *out)
{
    struct sonde_blame_scope result = {.process = run->index,
                                       .device = scope ? run->trace.devices[scope - 1].device : SONDE_BLAME_ALL};
    const struct sonde_recorded *recorded = run->recorded;
    struct sonde__idle idle = {.length = recorded->start_ns - recorded->begin_ns}; /* before anything was recorded */
    sonde__units nobody = 0;
    if (!run->ground->timed[scope]) /* not one operation with times in all of the run: not known, rather than idle */
        return 0;
    result.before_ns = (double)idle.length;
    result.before_cpu_ns = (double)recorded->before_cpu_ns;
    result.paused_ns = (double)recorded->paused_ns;
    for (uint32_t i = 0; i < run->trace.part_count; i++) {
        idle = sonde__idle_join(idle, run->parts[i].idle[scope]);
        nobody += run->parts[i].sweep.nobody ? run->parts[i].sweep.nobody[scope] : 0;
    }
    result.range_ns = (double)(idle.length - recorded->paused_ns);
    result.intervals = sonde__idle_count(&idle);
    result.longest_ns = (double)sonde__idle_longest(&idle);
    result.nobody_ns = ns_of(nobody);
    int rc = add_sums(run, scope, &result);
    result.idle_ns = result.before_ns + result.nobody_ns + result.waiting_ns + result.working_ns;
    if (!rc)
        rc = sonde_vector_push(&out->scopes, result);
    if (rc) {
        sonde_vector_fini(&result.entries);
        sonde_estimate_fini(&result.estimate);
        sonde_estimate_fini(&result.whole_estimate);
    }
    return rc;
}

int sonde__blame_add_results(const struct sonde__blame_run *run, struct sonde_blame *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < run->trace.part_count && !rc; i++)
        rc = join_keys(run, &run->parts[i]);
    out->untimed += run->ground->untimed;
    for (uint32_t scope = 0; scope < run->scopes && !rc; scope++)
        if (scope == 0 || run->scopes > 2)
            rc = add_scope(run, scope, out);
    out->rules[run->rule.rule]++;
    return rc;
}

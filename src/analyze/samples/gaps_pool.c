/* gaps_pool.c - samples pooled over the gaps that lie between the same two calls.
 *
 * A pair of calls with enough samples is a pool by itself. The others are pooled
 * with each other: those that share a caller, then those that share that one's
 * caller, and so on outwards, until there are enough. Only gaps that have no pool
 * of their own are in the wider ones, and all of their samples are, so that each
 * sample is used for the time that it was drawn from (docs/developers/sampling.md).
 */
#include <stdlib.h>
#include <string.h>

#include "device_code.h"
#include "gaps.h"

/* ---- gathering ------------------------------------------------------------------------------------ */

struct sonde__pair sonde__pair_of(uint32_t lane, const struct sonde_row_call *before, const struct sonde_row_call *after)
{
    if (!before || !after)
        return (struct sonde__pair){lane, before ? SONDE__AFTER_ALL : (after ? SONDE__BEFORE_ALL : SONDE__NO_CALLS)};
    /* A call whose context was lost must not look like an edge. */
    return (struct sonde__pair){before->node, after->node > SONDE__NO_CALLS ? after->node : UINT32_MAX};
}

int sonde__gathered_pair(struct sonde__gathered *g, struct sonde__pair pair, uint32_t *index)
{
    const uint64_t key = (uint64_t)pair.before << 32 | pair.after;
    uint64_t at;
    if (!sonde_map_get(&g->by_pair, key, &at)) {
        at = g->pairs.count;
        if (sonde_vector_push(&g->pairs, pair) || sonde_map_put(&g->by_pair, key, at))
            return SONDE_ENOMEM;
    }
    *index = (uint32_t)at;
    return 0;
}

void sonde__hits_add(struct sonde__hits *sum, const struct sonde__hits *more)
{
    sum->count += more->count;
    sum->open += more->open;
    sum->stands_ns += more->stands_ns;
    sum->open_ns += more->open_ns;
    sum->open_squares += more->open_squares;
    sum->cpu_ns += more->cpu_ns;
    sum->unsure_squares += more->unsure_squares;
    sum->rests += more->rests;
    sum->rest_ns += more->rest_ns;
}

static struct sonde__hits hit_of(const struct sonde__gap_sample *sample)
{
    if (sample->rest)
        return (struct sonde__hits){.rests = 1, .rest_ns = sample->cpu_ns};
    return (struct sonde__hits){
        .count = 1,
        .open = sample->open_ns > 0,
        .stands_ns = sample->stands_ns,
        .open_ns = sample->open_ns,
        .cpu_ns = sample->cpu_ns,
        .open_squares = (sonde__squares)sample->open_ns * sample->open_ns,
        .unsure_squares = (sonde__squares)sample->unsure_ns * sample->unsure_ns,
    };
}

int sonde__gathered_add(struct sonde__gathered *g, uint32_t pair, const sonde__gap_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct sonde__gap_sample *sample = &samples->items[i];
        const uint64_t key = (uint64_t)pair << 32 | sample->node;
        uint64_t at;
        if (!sonde_map_get(&g->by_hit, key, &at)) {
            at = g->hits.count;
            if (sonde_vector_push(&g->hits, (struct sonde__gathered_hit){.pair = pair, .node = sample->node}) ||
                sonde_map_put(&g->by_hit, key, at))
                return SONDE_ENOMEM;
        }
        const struct sonde__hits one = hit_of(sample);
        sonde__hits_add(&g->hits.items[at].hits, &one);
    }
    return 0;
}

void sonde__gathered_fini(struct sonde__gathered *g)
{
    sonde_vector_fini(&g->pairs);
    sonde_vector_fini(&g->hits);
    sonde_map_fini(&g->by_pair);
    sonde_map_fini(&g->by_hit);
    free(g->joined);
    *g = (struct sonde__gathered){0};
}

/* ---- all pairs, and their samples ----------------------------------------------------------------- */

struct hit {
    uint32_t pair, node;
    struct sonde__hits hits;
}; /* node of the tree */
struct chain { uint32_t first, last; };                             /* of residual pairs, by `next`; plus one */

struct making {
    struct sonde__pools *pools;
    const struct sonde_profile *profile;
    uint32_t process;
    const uint8_t *code;             /* [node], or NULL */
    SONDE_VECTOR(struct hit) hits;   /* by pair */
    uint32_t *first_hit;             /* [pair + 1] */
    uint32_t *shared;                /* [pair]: what the callers of both calls share */
    uint32_t *next;                  /* [pair]: of the chain, plus one */
    SONDE_VECTOR(struct hit) scratch;
};

static int by_pair(const void *left, const void *right)
{
    const struct sonde__pair *a = left, *b = right;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    return a->after < b->after ? -1 : a->after > b->after;
}

static int by_pair_and_node(const void *left, const void *right)
{
    const struct hit *a = left, *b = right;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_node(const void *left, const void *right)
{
    const struct hit *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

static const struct sonde__pair *find_pair(const struct sonde__pools *pools, const struct sonde__pair *pair)
{
    return pools->pairs.count ? bsearch(pair, pools->pairs.items, pools->pairs.count, sizeof *pair, by_pair) : NULL;
}

static int join_pairs(struct sonde__pools *pools, struct sonde__gathered *const *parts, uint32_t count)
{
    size_t kept = 0;
    for (uint32_t k = 0; k < count; k++)
        for (size_t i = 0; i < parts[k]->pairs.count; i++)
            if (sonde_vector_push(&pools->pairs, parts[k]->pairs.items[i]))
                return SONDE_ENOMEM;
    if (pools->pairs.count)
        qsort(pools->pairs.items, pools->pairs.count, sizeof *pools->pairs.items, by_pair);
    for (size_t i = 0; i < pools->pairs.count; i++)
        if (!kept || by_pair(&pools->pairs.items[kept - 1], &pools->pairs.items[i]))
            pools->pairs.items[kept++] = pools->pairs.items[i];
    pools->pairs.count = kept;
    for (uint32_t k = 0; k < count; k++) {
        struct sonde__gathered *part = parts[k];
        free(part->joined);
        part->joined = malloc((part->pairs.count + 1) * sizeof *part->joined);
        if (!part->joined)
            return SONDE_ENOMEM;
        for (size_t i = 0; i < part->pairs.count; i++)
            part->joined[i] = (uint32_t)(find_pair(pools, &part->pairs.items[i]) - pools->pairs.items);
    }
    return 0;
}

/* Those that follow each other and are of one kind become one. */
static void fold(struct hit *hits, size_t *count, int (*order)(const void *, const void *))
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept && !order(&hits[kept - 1], &hits[i])) {
            sonde__hits_add(&hits[kept - 1].hits, &hits[i].hits);
        } else {
            hits[kept++] = hits[i];
        }
    *count = kept;
}

static int join_hits(struct making *m, struct sonde__gathered *const *parts, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        for (size_t i = 0; i < parts[k]->hits.count; i++) {
            const struct sonde__gathered_hit *hit = &parts[k]->hits.items[i];
            const uint32_t node = sonde_profile_locate(m->profile, m->process, hit->node);
            const bool device = m->code && sonde_code_is_device(m->code[node]);
            if (node && !device && sonde_vector_push(&m->hits, (struct hit){parts[k]->joined[hit->pair], node, hit->hits}))
                return SONDE_ENOMEM;
        }
    if (m->hits.count)
        qsort(m->hits.items, m->hits.count, sizeof *m->hits.items, by_pair_and_node);
    fold(m->hits.items, &m->hits.count, by_pair_and_node);
    m->first_hit = calloc(m->pools->pairs.count + 2, sizeof *m->first_hit);
    if (!m->first_hit)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < m->hits.count; i++)
        m->first_hit[m->hits.items[i].pair + 1]++;
    for (size_t i = 0; i < m->pools->pairs.count; i++)
        m->first_hit[i + 1] += m->first_hit[i];
    return 0;
}

/* ---- pools ------------------------------------------------------------------------------------------ */

static uint32_t caller_of(const struct sonde_profile *profile, uint32_t process, uint32_t id)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    const uint32_t node = sonde_profile_locate(profile, process, id);
    return nodes[node].kind == SONDE_FRAME_API ? nodes[node].parent : node;
}

/* The deepest context that the callers of both calls are in: a parent comes before its children. */
static uint32_t shared(const struct sonde_profile *profile, uint32_t process, const struct sonde__pair *pair)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    uint32_t a = caller_of(profile, process, pair->before), b = caller_of(profile, process, pair->after);
    while (a != b)
        if (a > b)
            a = nodes[a].parent;
        else
            b = nodes[b].parent;
    return a;
}

static uint64_t samples_of(const struct making *m, size_t pair)
{
    uint64_t count = 0;
    for (uint32_t i = m->first_hit[pair]; i < m->first_hit[pair + 1]; i++)
        count += m->hits.items[i].hits.count;
    return count;
}

/* Shares by what is open of the samples' time; where next to nothing is, by the samples themselves; where none was taken but as
 * threads ended, by those. */
static double share(const struct sonde__hits *all, const struct sonde__hits *of)
{
    if (!all->count)
        return all->rest_ns ? (double)of->rest_ns / (double)all->rest_ns : (double)of->rests / (double)all->rests;
    return all->open >= SONDE__POOL_LEAST ? (double)of->open_ns / (double)all->open_ns : (double)of->stands_ns / (double)all->stands_ns;
}

/* As many equal samples would tell as much. */
static double equal_samples(const struct sonde__hits *all)
{
    if (all->open < SONDE__POOL_LEAST || !all->count)
        return (double)(all->count ? all->count : all->rests);
    const double equal = (double)all->open_ns * (double)all->open_ns / (double)all->open_squares;
    return equal < 1 ? 1 : (equal < (double)all->open ? equal : (double)all->open);
}

static int add_pool(struct making *m, uint32_t *number)
{
    struct sonde__pools *pools = m->pools;
    struct sonde__hits all = {0};
    if (m->scratch.count)
        qsort(m->scratch.items, m->scratch.count, sizeof *m->scratch.items, by_node);
    fold(m->scratch.items, &m->scratch.count, by_node);
    for (size_t i = 0; i < m->scratch.count; i++)
        sonde__hits_add(&all, &m->scratch.items[i].hits);
    struct sonde__pool pool = {
        .first = (uint32_t)pools->shares.count,
        .samples = equal_samples(&all),
        .hits = (double)all.count,
        .stands_ns = (double)(all.count ? all.stands_ns : all.rest_ns),
    };
    for (size_t i = 0; i < m->scratch.count; i++) {
        const struct hit *hit = &m->scratch.items[i];
        const double part = share(&all, &hit->hits);
        if (part > 0 && sonde_vector_push(&pools->shares, (struct sonde__pool_share){hit->node, part}))
            return SONDE_ENOMEM;
    }
    pool.count = (uint32_t)pools->shares.count - pool.first;
    *number = (uint32_t)pools->pools.count + 1;
    return sonde_vector_push(&pools->pools, pool);
}

static int add_hits(struct making *m, uint32_t pair)
{
    for (uint32_t i = m->first_hit[pair]; i < m->first_hit[pair + 1]; i++)
        if (sonde_vector_push(&m->scratch, m->hits.items[i]))
            return SONDE_ENOMEM;
    return 0;
}

/* Pairs that need no others: with enough samples of their own; and edges, which are like no others. */
static int pool_alone(struct making *m)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->pools->pairs.count && !rc; i++) {
        const uint64_t count = samples_of(m, i);
        m->scratch.count = 0;
        const bool any = m->first_hit[i] < m->first_hit[i + 1];
        if (count >= SONDE__POOL_LEAST || (any && sonde__pair_is_edge(&m->pools->pairs.items[i])))
            rc = add_hits(m, i) ? SONDE_ENOMEM : add_pool(m, &m->pools->of[i]);
    }
    return rc;
}

/* The pairs of a chain are one pool if they have enough samples together. */
static int pool_chain(struct making *m, const struct chain *chain, uint32_t *number)
{
    uint64_t count = 0;
    int rc = 0;
    *number = 0;
    for (uint32_t i = chain->first; i; i = m->next[i - 1])
        count += samples_of(m, i - 1);
    if (count < SONDE__POOL_LEAST)
        return 0;
    m->scratch.count = 0;
    for (uint32_t i = chain->first; i && !rc; i = m->next[i - 1])
        rc = add_hits(m, i - 1);
    rc = rc ? rc : add_pool(m, number);
    for (uint32_t i = chain->first; i && !rc; i = m->next[i - 1])
        m->pools->of[i - 1] = *number;
    return rc;
}

static void append(struct making *m, struct chain *to, const struct chain *more)
{
    if (to->last)
        m->next[to->last - 1] = more->first;
    to->first = to->first ? to->first : more->first;
    to->last = more->last ? more->last : to->last;
}

/* From the innermost contexts outwards: each collects the pairs below it that have no pool yet. Few samples are
 * in a chain that goes on, so that it is short to add up. */
static int pool_wider(struct making *m)
{
    const struct sonde_cct_node *nodes = m->profile->nodes.items;
    struct chain *chains = calloc(m->profile->nodes.count + 1, sizeof *chains);
    int rc = chains ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < m->pools->pairs.count && !rc; i++) {
        const bool edge = sonde__pair_is_edge(&m->pools->pairs.items[i]);
        m->shared[i] = edge ? 0 : shared(m->profile, m->process, &m->pools->pairs.items[i]);
        if (!edge && !m->pools->of[i] && m->first_hit[i] < m->first_hit[i + 1])
            append(m, &chains[m->shared[i]], &(struct chain){i + 1, i + 1});
    }
    for (size_t i = m->profile->nodes.count; i-- > 0 && !rc;) {
        if (!chains[i].first)
            continue;
        rc = pool_chain(m, &chains[i], &m->pools->below[i]);
        if (!rc && !m->pools->below[i] && i)
            append(m, &chains[nodes[i].parent], &chains[i]);
    }
    free(chains);
    for (size_t i = 1; i < m->profile->nodes.count && !rc; i++) /* pairs without samples go where those with few went */
        m->pools->below[i] = m->pools->below[i] ? m->pools->below[i] : m->pools->below[nodes[i].parent];
    for (uint32_t i = 0; i < m->pools->pairs.count && !rc; i++)
        if (!m->pools->of[i] && !sonde__pair_is_edge(&m->pools->pairs.items[i]))
            m->pools->of[i] = m->pools->below[m->shared[i]];
    return rc;
}

int sonde__pools_make(struct sonde__pools *pools, struct sonde__gathered *const *parts, uint32_t count,
                      const struct sonde_profile *profile, uint32_t process, const uint8_t *code)
{
    struct making m = {.pools = pools, .profile = profile, .process = process, .code = code};
    int rc = join_pairs(pools, parts, count);
    const size_t pairs = pools->pairs.count;
    pools->of = calloc(pairs + 1, sizeof *pools->of);
    m.shared = calloc(pairs + 1, sizeof *m.shared);
    m.next = calloc(pairs + 1, sizeof *m.next);
    pools->below = calloc(profile->nodes.count + 1, sizeof *pools->below);
    if (!rc && (!pools->of || !m.shared || !m.next || !pools->below))
        rc = SONDE_ENOMEM;
    rc = rc ? rc : join_hits(&m, parts, count);
    rc = rc || !m.hits.count ? rc : pool_alone(&m);
    rc = rc || !m.hits.count ? rc : pool_wider(&m);
    free(m.first_hit);
    free(m.shared);
    free(m.next);
    sonde_vector_fini(&m.hits);
    sonde_vector_fini(&m.scratch);
    return rc;
}

uint32_t sonde__pools_find(const struct sonde__pools *pools, struct sonde__pair pair, const struct sonde_profile *profile,
                           uint32_t process)
{
    const struct sonde__pair *found = find_pair(pools, &pair);
    if (found || sonde__pair_is_edge(&pair))
        return found ? pools->of[found - pools->pairs.items] : 0;
    return pools->below[shared(profile, process, &pair)];
}

void sonde__pools_fini(struct sonde__pools *pools)
{
    sonde_vector_fini(&pools->pairs);
    sonde_vector_fini(&pools->pools);
    sonde_vector_fini(&pools->shares);
    free(pools->of);
    free(pools->below);
    *pools = (struct sonde__pools){0};
}

/* blame_routines.c - blame by routine and by calling context. */
#include "blame.h"

#include <stdlib.h>

#include "base/map.h"

struct sonde_blame_share *sonde_blame_tree(const struct sonde_profile *profile, const struct sonde_blame_scope *scope)
{
    struct sonde_blame_share *tree = calloc(profile->nodes.count + 1, sizeof *tree);
    for (size_t i = 0; tree && i < scope->entries.count; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        struct sonde_blame_share *share = &tree[entry->node];
        share->self_waiting_ns = share->waiting_ns = entry->waiting_ns;
        share->self_working_ns = share->working_ns = entry->working_ns;
    }
    for (size_t i = tree ? profile->nodes.count : 0; i-- > 1;) { /* children come after their parents */
        struct sonde_blame_share *parent = &tree[profile->nodes.items[i].parent];
        parent->waiting_ns += tree[i].waiting_ns;
        parent->working_ns += tree[i].working_ns;
    }
    return tree;
}

/* Functions without a name are one routine per module: nothing tells where one ends. */
static bool same_routine(const struct sonde_cct_node *a, const struct sonde_cct_node *b)
{
    return a->kind == b->kind && a->name == b->name && a->file == b->file && a->module == b->module; /* texts are interned */
}

static uint64_t hash_of(const struct sonde_cct_node *node)
{
    const uint64_t hash = sonde_hash_mix(node->kind, (uintptr_t)node->name);
    return sonde_hash_mix(sonde_hash_mix(hash, (uintptr_t)node->file), (uintptr_t)node->module);
}

static double sum_of(const struct sonde_blame_routine *r)
{
    return r->waiting_ns + r->working_ns;
}

static int by_blame(const void *left, const void *right)
{
    const struct sonde_blame_routine *a = left, *b = right;
    if (sum_of(a) != sum_of(b))
        return sum_of(a) < sum_of(b) ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void add_entry(struct sonde_blame_entry *sum, const struct sonde_blame_entry *more)
{
    sum->waiting_ns += more->waiting_ns;
    sum->working_ns += more->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += more->source_ns[i];
}

static int by_node(const void *left, const void *right)
{
    const struct sonde_blame_entry *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The blame of each frame that stands for others (sonde_profile_routine), with theirs. NULL: out of memory. */
static struct sonde_blame_entry *gather(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, size_t *count)
{
    struct sonde_blame_entry *places = calloc(scope->entries.count + 1, sizeof *places);
    size_t kept = 0;
    for (size_t i = 0; places && i < scope->entries.count; i++) {
        places[i] = scope->entries.items[i];
        places[i].node = sonde_profile_routine(profile, places[i].node);
    }
    if (places)
        qsort(places, scope->entries.count, sizeof *places, by_node);
    for (size_t i = 0; places && i < scope->entries.count; i++)
        if (kept && places[kept - 1].node == places[i].node)
            add_entry(&places[kept - 1], &places[i]);
        else if (places[i].node)
            places[kept++] = places[i];
    *count = kept;
    return places;
}

static void add_place(struct sonde_blame_routine *routine, const struct sonde_blame_entry *place)
{
    const double ns = place->waiting_ns + place->working_ns;
    if (ns > routine->most_ns) {
        routine->most_ns = ns;
        routine->node = place->node;
    }
    routine->contexts++;
    routine->waiting_ns += place->waiting_ns;
    routine->working_ns += place->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        routine->source_ns[i] += place->source_ns[i];
}

long sonde_blame_routines(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                          struct sonde_blame_routine **out)
{
    SONDE_VECTOR(struct sonde_blame_routine) routines = {0};
    struct sonde_map known = {0};
    size_t count;
    struct sonde_blame_entry *places = gather(profile, scope, &count);
    int rc = places ? 0 : SONDE_ENOMEM;

    *out = NULL;
    for (size_t i = 0; i < count && !rc; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[places[i].node];
        uint64_t hash = hash_of(node), at;
        while (sonde_map_get(&known, hash, &at) && !same_routine(node, &profile->nodes.items[routines.items[at].node]))
            hash++;
        if (!sonde_map_get(&known, hash, &at)) {
            at = routines.count;
            rc = sonde_vector_push(&routines, (struct sonde_blame_routine){.node = places[i].node});
            rc = rc ? rc : sonde_map_put(&known, hash, at);
        }
        if (!rc)
            add_place(&routines.items[at], &places[i]);
    }
    sonde_map_fini(&known);
    free(places);
    if (rc) {
        sonde_vector_fini(&routines);
        return rc;
    }
    if (routines.count)
        qsort(routines.items, routines.count, sizeof *routines.items, by_blame);
    *out = routines.items;
    return (long)routines.count;
}

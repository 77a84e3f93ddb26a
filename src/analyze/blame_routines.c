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

/* An interpreter stripped of its names says nothing: what it ran for, does. */
static uint32_t routine_of(const struct sonde_profile *profile, uint32_t leaf)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    uint32_t at = leaf;
    while (at && nodes[at].kind == SONDE_FRAME_NATIVE && !*nodes[at].name && nodes[at].origin == SONDE_ORIGIN_RUNTIME)
        at = nodes[at].parent;
    return at ? at : leaf;
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

static void add_entry(struct sonde_blame_routine *routine, uint32_t node, const struct sonde_blame_entry *entry)
{
    const double ns = entry->waiting_ns + entry->working_ns;
    if (ns > routine->most_ns) {
        routine->most_ns = ns;
        routine->node = node;
    }
    routine->contexts++;
    routine->waiting_ns += entry->waiting_ns;
    routine->working_ns += entry->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        routine->source_ns[i] += entry->source_ns[i];
}

long sonde_blame_routines(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                          struct sonde_blame_routine **out)
{
    SONDE_VECTOR(struct sonde_blame_routine) routines = {0};
    struct sonde_map places = {0};
    int rc = 0;

    *out = NULL;
    for (size_t i = 0; i < scope->entries.count && !rc; i++) {
        const uint32_t place = routine_of(profile, scope->entries.items[i].node);
        const struct sonde_cct_node *node = &profile->nodes.items[place];
        uint64_t hash = hash_of(node), at;
        if (!place)
            continue;
        while (sonde_map_get(&places, hash, &at) && !same_routine(node, &profile->nodes.items[routines.items[at].node]))
            hash++;
        if (!sonde_map_get(&places, hash, &at)) {
            at = routines.count;
            rc = sonde_vector_push(&routines, (struct sonde_blame_routine){.node = place});
            rc = rc ? rc : sonde_map_put(&places, hash, at);
        }
        if (!rc)
            add_entry(&routines.items[at], place, &scope->entries.items[i]);
    }
    sonde_map_fini(&places);
    if (rc) {
        sonde_vector_fini(&routines);
        return rc;
    }
    if (routines.count)
        qsort(routines.items, routines.count, sizeof *routines.items, by_blame);
    *out = routines.items;
    return (long)routines.count;
}

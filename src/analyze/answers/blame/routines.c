/* routines.c - blame by routine and by calling context. */
#include "blame.h"

#include <stdlib.h>

#include "base/map.h"

struct sonde_blame_share *sonde_blame_tree(const struct sonde_profile *profile, const struct sonde_blame_scope *scope)
{
    struct sonde_blame_share *tree = calloc(profile->nodes.count + 1, sizeof *tree);
    for (size_t i = 0; tree && i < scope->entries.count; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        struct sonde_blame_share *share = &tree[entry->node];
        share->waiting_ns = entry->waiting_ns;
        share->working_ns = entry->working_ns;
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

/* Where a user sees a routine: one line of their own code, whatever lies between it and the routine. */
struct spot {
    uint32_t routine, node;
    double ns, most_ns;
};

struct summing {
    const struct sonde_profile *profile;
    SONDE_VECTOR(struct sonde_blame_routine) routines;
    SONDE_VECTOR(struct spot) spots;
    struct sonde_map by_routine, by_spot; /* the latter: number of the routine << 32 | the user's frame */
};

static int find_routine(struct summing *s, uint32_t at_node, uint64_t *at)
{
    const struct sonde_cct_node *nodes = s->profile->nodes.items, *node = &nodes[at_node];
    uint64_t hash = hash_of(node);
    for (; sonde_map_get(&s->by_routine, hash, at); hash++)
        if (same_routine(node, &nodes[s->routines.items[*at].node]))
            return 0;
    *at = s->routines.count;
    int rc = sonde_vector_push(&s->routines, (struct sonde_blame_routine){.node = at_node});
    return rc ? rc : sonde_map_put(&s->by_routine, hash, *at);
}

static int find_spot(struct summing *s, uint32_t routine, uint32_t node, uint64_t *at)
{
    const uint64_t key = (uint64_t)routine << 32 | sonde_profile_place(s->profile, node);
    if (sonde_map_get(&s->by_spot, key, at))
        return 0;
    *at = s->spots.count;
    int rc = sonde_vector_push(&s->spots, (struct spot){.routine = routine});
    return rc ? rc : sonde_map_put(&s->by_spot, key, *at);
}

static int add_place(struct summing *s, const struct sonde_blame_entry *place)
{
    const double ns = place->waiting_ns + place->working_ns;
    uint64_t routine, at;
    int rc = find_routine(s, place->node, &routine);
    rc = rc ? rc : find_spot(s, (uint32_t)routine, place->node, &at);
    if (rc)
        return rc;
    struct sonde_blame_routine *sum = &s->routines.items[routine];
    struct spot *spot = &s->spots.items[at];
    sum->waiting_ns += place->waiting_ns;
    sum->working_ns += place->working_ns;
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sum->source_ns[i] += place->source_ns[i];
    spot->ns += ns;
    if (!spot->node || ns > spot->most_ns) {
        spot->most_ns = ns;
        spot->node = place->node;
    }
    return 0;
}

/* Each routine's standard error: that of all contexts whose frame stands for it. */
static int add_errors(struct summing *s, const struct sonde_blame_scope *scope)
{
    const size_t nodes = s->profile->nodes.count;
    uint32_t *group = malloc((nodes + 1) * sizeof *group);
    double *errors = NULL;
    uint64_t at;
    int rc = group ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < nodes && !rc; i++)
        group[i] = UINT32_MAX;
    for (size_t i = 0; i < scope->estimate.items.count && !rc; i++) {
        const uint32_t node = scope->estimate.items.items[i].node;
        if (!node || group[node] != UINT32_MAX)
            continue;
        rc = find_routine(s, sonde_profile_routine(s->profile, node), &at);
        group[node] = (uint32_t)at;
    }
    if (!rc && !(errors = sonde_estimate_errors(&scope->estimate, group, NULL, s->routines.count)))
        rc = SONDE_ENOMEM;
    for (size_t i = 0; i < s->routines.count && !rc; i++)
        s->routines.items[i].error_ns = errors[i];
    free(group);
    free(errors);
    return rc;
}

static void choose_places(struct summing *s)
{
    for (size_t i = 0; i < s->spots.count; i++) {
        const struct spot *spot = &s->spots.items[i];
        struct sonde_blame_routine *routine = &s->routines.items[spot->routine];
        if (!routine->places++ || spot->ns > routine->most_ns) {
            routine->most_ns = spot->ns;
            routine->node = spot->node;
        }
    }
}

long sonde_blame_routines(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                          struct sonde_blame_routine **out)
{
    struct summing s = {.profile = profile};
    size_t count;
    struct sonde_blame_entry *entries = gather(profile, scope, &count);
    int rc = entries ? 0 : SONDE_ENOMEM;

    *out = NULL;
    for (size_t i = 0; i < count && !rc; i++)
        rc = add_place(&s, &entries[i]);
    if (!rc)
        choose_places(&s);
    rc = rc ? rc : add_errors(&s, scope);
    free(entries);
    sonde_map_fini(&s.by_routine);
    sonde_map_fini(&s.by_spot);
    sonde_vector_fini(&s.spots);
    if (rc) {
        sonde_vector_fini(&s.routines);
        return rc;
    }
    if (s.routines.count)
        qsort(s.routines.items, s.routines.count, sizeof *s.routines.items, by_blame);
    *out = s.routines.items;
    return (long)s.routines.count;
}

/* cut.c - blame by call paths that are cut at a depth. docs/statistics.md, "Depth", has the rule. */
#include <stdlib.h>

#include "run.h"

struct cutting {
    const struct sonde_profile *profile;
    uint32_t depth;
    bool *timed;   /* [node of the tree]: it stands for some of the scope's time */
    uint32_t *cut; /* [node of the tree] */
};

static uint32_t cut_of(const struct cutting *c, uint32_t node)
{
    return node ? c->cut[sonde_profile_routine(c->profile, node)] : 0;
}

static void cut_estimate(const struct cutting *c, struct sonde_estimate *estimate)
{
    for (size_t i = 0; i < estimate->items.count; i++)
        estimate->items.items[i].node = cut_of(c, estimate->items.items[i].node);
}

static int cut_scope(const struct cutting *c, struct sonde_blame_scope *scope)
{
    for (size_t i = 0; i < c->profile->nodes.count; i++)
        c->timed[i] = false;
    for (size_t i = 0; i < scope->entries.count; i++)
        c->timed[sonde_profile_routine(c->profile, scope->entries.items[i].node)] = true;
    const int rc = sonde_profile_cut(c->profile, c->depth, c->timed, c->cut);
    if (rc)
        return rc;
    for (size_t i = 0; i < scope->entries.count; i++)
        scope->entries.items[i].node = cut_of(c, scope->entries.items[i].node);
    sonde__blame_fold(scope);
    cut_estimate(c, &scope->estimate);
    cut_estimate(c, &scope->whole_estimate);
    return 0;
}

int sonde_blame_cut(struct sonde_blame *blame, const struct sonde_profile *profile, uint32_t depth)
{
    const size_t nodes = profile->nodes.count + 1;
    struct cutting c = {profile, depth, calloc(nodes, sizeof *c.timed), calloc(nodes, sizeof *c.cut)};
    int rc = c.timed && c.cut ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < blame->scopes.count && depth && !rc; i++)
        rc = cut_scope(&c, &blame->scopes.items[i]);
    free(c.timed);
    free(c.cut);
    return rc;
}

/* depth.c - call paths cut at a depth. docs/statistics.md, "Depth". */
#include <stdlib.h>

#include "profile.h"

static bool is_level(const struct sonde_profile *profile, const bool *timed, uint32_t node)
{
    const struct sonde_cct_node *n = &profile->nodes.items[node];
    const bool hidden = n->kind == SONDE_FRAME_NATIVE && n->origin == SONDE_ORIGIN_RUNTIME && !timed[node];
    return !hidden && sonde_profile_routine(profile, node) == node;
}

int sonde_profile_cut(const struct sonde_profile *profile, uint32_t depth, const bool *timed, uint32_t *cut)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    uint32_t *levels = calloc(profile->nodes.count, sizeof *levels);
    if (!levels)
        return SONDE_ENOMEM;
    cut[0] = 0;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const bool level = is_level(profile, timed, i), deeper = depth && levels[nodes[i].parent] >= depth;
        levels[i] = levels[nodes[i].parent] + level;
        cut[i] = level && !deeper ? i : cut[nodes[i].parent];
    }
    free(levels);
    return 0;
}

/* between.c - what the stacks of two calls share. */
#include "between.h"

uint32_t sonde__common_caller(const struct sonde_profile *profile, uint32_t a, uint32_t b, uint32_t *child_a, uint32_t *child_b)
{
    *child_a = *child_b = 0;
    while (a != b)
        if (a > b) {
            *child_a = a;
            a = profile->nodes.items[a].parent;
        } else {
            *child_b = b;
            b = profile->nodes.items[b].parent;
        }
    return a;
}

/* One function at different lines, which the program or a thread began with. Of other functions it
 * cannot be told whether they were left and called again in between. */
bool sonde__same_entry(const struct sonde_profile *profile, uint32_t a, uint32_t b)
{
    const struct sonde_cct_node *nodes = profile->nodes.items, *x = &nodes[a], *y = &nodes[b];
    return (x->kind == SONDE_FRAME_NATIVE || x->kind == SONDE_FRAME_PYTHON) && x->kind == y->kind && *x->name &&
           x->name == y->name && x->file == y->file && x->module == y->module && /* texts are interned */
           x->origin != SONDE_ORIGIN_RUNTIME && (!x->parent || nodes[x->parent].origin == SONDE_ORIGIN_RUNTIME);
}

/* ---- two calls ---------------------------------------------------------------------------- */

static uint32_t parent_of(const struct sonde_process *process, uint32_t id)
{
    const struct sonde_row_node *row = sonde_process_node(process, id, NULL);
    return row ? row->parent : 0;
}

static uint32_t depth_of(const struct sonde_process *process, uint32_t id)
{
    enum { DEEPEST = 100000 }; /* a damaged chunk may make a circle */
    uint32_t depth = 0;
    for (; id && depth < DEEPEST; id = parent_of(process, id))
        depth++;
    return depth;
}

/* Two calls from one line of a function that are two places of its code: it may have been left and called again in
 * between, as with two lines. The line's node of the tree, and what called the function in *outer; 0: it is not so. */
static uint32_t two_places(const struct sonde_profile *profile, const struct sonde_process *process, uint32_t index, uint32_t before,
                           uint32_t after, uint32_t *outer)
{
    uint32_t a = parent_of(process, before), b = parent_of(process, after), below_a = 0, below_b = 0;
    uint32_t deep_a = depth_of(process, a), deep_b = depth_of(process, b);
    for (; deep_a > deep_b; deep_a--)
        below_a = a, a = parent_of(process, a);
    for (; deep_b > deep_a; deep_b--)
        below_b = b, b = parent_of(process, b);
    for (; a != b && deep_a; deep_a--) {
        below_a = a, a = parent_of(process, a);
        below_b = b, b = parent_of(process, b);
    }
    const uint32_t line = below_a ? sonde_profile_locate(profile, index, below_a) : 0;
    *outer = sonde_profile_locate(profile, index, a);
    return line && below_b && line == sonde_profile_locate(profile, index, below_b) ? line : 0;
}

/* The code that made an API call. */
static uint32_t caller_of(const struct sonde_profile *profile, uint32_t node)
{
    return profile->nodes.items[node].kind == SONDE_FRAME_API ? profile->nodes.items[node].parent : node;
}

uint32_t sonde__between_calls(const struct sonde_profile *profile, const struct sonde_process *process, uint32_t index,
                              uint32_t before, uint32_t after)
{
    uint32_t outer, earlier, later;
    const uint32_t line = two_places(profile, process, index, before, after, &outer);
    if (line)
        return sonde__same_entry(profile, line, line) ? line : outer;
    const uint32_t a = sonde_profile_locate(profile, index, before), b = sonde_profile_locate(profile, index, after);
    const uint32_t node = sonde__common_caller(profile, caller_of(profile, a), caller_of(profile, b), &earlier, &later);
    /* The function that all began with is at the line of the earlier one. */
    return a && b && earlier && later && sonde__same_entry(profile, earlier, later) ? earlier : node;
}

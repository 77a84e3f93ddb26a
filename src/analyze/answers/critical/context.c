/* context.c - what an activity is called, and where a thread began.
 */
#include "graph.h"

#include <stdlib.h>

void sonde__cp_book_fini(struct sonde__cp_book *b)
{
    sonde_map_fini(&b->by_node);
    sonde_map_fini(&b->between);
    sonde__pools_fini(&b->pools);
    sonde_vector_fini(&b->pieces);
    sonde_vector_fini(&b->found);
    free(b->share_things);
}

void sonde__cp_result_fini(struct sonde__cp_result *r)
{
    sonde_map_fini(&r->things);
    sonde_map_fini(&r->places);
}

enum sonde_path_category sonde__cp_category(unsigned kind)
{
    static const uint8_t categories[] = {
        [SONDE_GROUP_KERNEL] = SONDE_PATH_KERNEL,
        [SONDE_GROUP_COPY] = SONDE_PATH_COPY,
        [SONDE_GROUP_SET] = SONDE_PATH_SET,
        [SONDE_GROUP_ORDER] = SONDE_PATH_ORDER,
    };
    return categories[sonde_op_kind_group(kind)];
}

/* ---- things --------------------------------------------------------------------- */

static const struct sonde_cct_node *tree(const struct sonde__cp_book *b, uint32_t node)
{
    return &b->profile->nodes.items[node];
}

void sonde__cp_name(const struct sonde_profile *profile, struct sonde_path_thing *thing)
{
    const struct sonde_cct_node *node = &profile->nodes.items[thing->node];
    thing->name = node->name;
    /* Without a function, all code of a module is one. */
    thing->file = thing->category != SONDE_PATH_HOST ? "" : (*node->name ? node->file : node->module);
}

static struct sonde_path_thing describe(const struct sonde__cp_book *b, uint32_t category, uint32_t node)
{
    struct sonde_path_thing thing = {.category = category, .name = "", .file = ""};
    if (category == SONDE_PATH_HOST) {
        if (node && sonde_profile_callers(b->profile, node, &thing.node, 1)) {
            if (!*tree(b, thing.node)->name)
                thing.node = sonde_profile_routine(b->profile, node);
            sonde__cp_name(b->profile, &thing);
        }
        return thing;
    }
    if (category == SONDE_PATH_OFF && node && sonde_is_wait(b->profile, node)) {
        thing.node = node;
        sonde__cp_name(b->profile, &thing);
        return thing;
    }
    const bool call = category == SONDE_PATH_API || category == SONDE_PATH_MESSAGE;
    if (!call && (category < SONDE_PATH_KERNEL || category > SONDE_PATH_ORDER))
        return thing;
    thing.node = sonde_profile_locate(b->profile, b->process, node);
    sonde__cp_name(b->profile, &thing);
    thing.op = call ? 0 : tree(b, thing.node)->op;
    return thing;
}

/* Names are interned: equal text, equal pointer. */
static bool same(const struct sonde_path_thing *a, const struct sonde_path_thing *b)
{
    return a->category == b->category && a->op == b->op && a->name == b->name && a->file == b->file;
}

static uint32_t intern(struct sonde__cp_book *b, const struct sonde_path_thing *thing)
{
    uint64_t hash = sonde_hash_mix((uint64_t)thing->category << 16 | thing->op, (uintptr_t)thing->name), at;
    hash = sonde_hash_mix(hash, (uintptr_t)thing->file);
    for (; sonde_map_get(&b->out->things, hash, &at); hash++)
        if (same(&b->out->path->things.items[at], thing))
            return (uint32_t)at;
    at = b->out->path->things.count;
    if (sonde_vector_push(&b->out->path->things, *thing) || sonde_map_put(&b->out->things, hash, at))
        b->out->rc = SONDE_ENOMEM;
    return b->out->rc ? 0 : (uint32_t)at;
}

uint32_t sonde__cp_thing(struct sonde__cp_book *b, uint32_t category, uint32_t node)
{
    const uint64_t key = (uint64_t)node << 4 | category;
    uint64_t at;
    if (sonde_map_get(&b->by_node, key, &at))
        return (uint32_t)at;
    const struct sonde_path_thing thing = describe(b, category, node);
    at = intern(b, &thing);
    if (!b->out->rc && sonde_map_put(&b->by_node, key, at))
        b->out->rc = SONDE_ENOMEM;
    return (uint32_t)at;
}

/* ---- stacks ------------------------------------------------------------------------- */

enum { DEEPEST = 512 };

/* Nodes from the outermost to the one that calls the API; the outermost are left out of what is deeper. */
static uint32_t stack_of(const struct sonde__cp_book *b, uint32_t api, uint32_t nodes[DEEPEST])
{
    uint32_t count = 0, all = 0;
    for (uint32_t at = tree(b, api)->parent; at; at = tree(b, at)->parent)
        all++;
    uint32_t skip = all > DEEPEST ? all - DEEPEST : 0;
    for (uint32_t at = tree(b, api)->parent; at; at = tree(b, at)->parent)
        if (skip)
            skip--;
        else
            nodes[count++] = at;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = nodes[i];
        nodes[i] = nodes[count - 1 - i];
        nodes[count - 1 - i] = other;
    }
    return count;
}

/* Before a thread's first call only that call's stack is known: the outermost frame of the user's. */
uint32_t sonde__cp_outermost(const struct sonde__cp_book *b, uint32_t api)
{
    if (!api)
        return 0;
    uint32_t nodes[DEEPEST], count = stack_of(b, api, nodes);
    for (uint32_t i = 0; i < count; i++)
        if (tree(b, nodes[i])->origin == SONDE_ORIGIN_USER)
            return nodes[i];
    return 0;
}

/* join.c - the trees of a team's processes become one.
 *
 * Each has made the tree of neighbouring processes of the measurement. Trees are joined in pairs, in as many rounds as the
 * team has powers of two, and the result goes back to all: the reduction tree of Zhou et al., "Measurement and analysis of
 * GPU-accelerated applications with HPCToolkit", section 4. Of metrics, which most nodes have few of, only those that are
 * not zero are sent. What comes from the right is added after what is there, node by node in the order in which it was made: so nodes
 * have the numbers that one process alone would have given them, and the sums are of whole numbers.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "build.h"

/* ---- writing ------------------------------------------------------------------------------------------- */

enum { METRICS = sizeof(struct sonde_metrics) / sizeof(uint64_t) };
static_assert(METRICS <= 32 && sizeof(struct sonde_metrics) == METRICS * sizeof(uint64_t), "a bit for each");

struct node_head {
    uint32_t parent, name, file, module, line;
    uint16_t kind, op;
    uint64_t offset;
};
struct group_head {
    uint32_t name, work_process, work;
    uint16_t op, has_bins;
};
struct bin {
    uint32_t number;
    uint32_t reserved;
    uint64_t count;
};

static uint32_t id_of(struct sonde_profile *profile, const char *string)
{
    return sonde_intern_text(&profile->strings, string); /* which has it already */
}

static void put_metrics(struct sonde_text *to, const struct sonde_metrics *metrics)
{
    uint64_t values[METRICS];
    uint32_t mask = 0;
    memcpy(values, metrics, sizeof values);
    for (uint32_t i = 0; i < METRICS; i++)
        mask |= (uint32_t)(values[i] != 0) << i;
    sonde_found_put(to, &mask, sizeof mask);
    for (uint32_t i = 0; i < METRICS; i++)
        if (values[i])
            sonde_found_put(to, &values[i], sizeof values[i]);
}

static void put_group(struct sonde_profile *profile, struct sonde_text *to, const struct sonde_group *group)
{
    const struct group_head head = {id_of(profile, group->name), group->work_process, group->work, group->op, group->stat.bins != NULL};
    sonde_found_put(to, &head, sizeof head);
    sonde_found_put(to, &group->stat, sizeof group->stat);
    for (uint32_t i = 0; i < SONDE_STAT_BINS && head.has_bins; i++)
        if (group->stat.bins[i])
            sonde_found_put(to, &(struct bin){i, 0, group->stat.bins[i]}, sizeof(struct bin));
    if (head.has_bins)
        sonde_found_put(to, &(struct bin){.number = SONDE_STAT_BINS}, sizeof(struct bin));
    sonde_found_put_vector(to, &group->leaves);
}

/* Nodes come first, what counts for them last: whether a context is new to a group is seen before. */
static void put_profile(struct sonde_profile *profile, struct sonde_text *to)
{
    const uint64_t counts[] = {profile->strings.count, profile->nodes.count, profile->ops.count, profile->apis.count, profile->symbols_partly.count};
    sonde_found_put(to, counts, sizeof counts);
    for (uint32_t i = 1; i <= profile->strings.count; i++)
        sonde_found_put_string(to, sonde_intern_get(&profile->strings, i));
    for (size_t i = 1; i < profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        const struct node_head head = {node->parent, id_of(profile, node->name), id_of(profile, node->file), id_of(profile, node->module),
                                       node->line, node->kind, node->op, node->offset};
        sonde_found_put(to, &head, sizeof head);
    }
    for (size_t i = 0; i < profile->ops.count; i++)
        put_group(profile, to, &profile->ops.items[i]);
    for (size_t i = 0; i < profile->apis.count; i++)
        put_group(profile, to, &profile->apis.items[i]);
    for (size_t i = 0; i < profile->nodes.count; i++)
        put_metrics(to, &profile->nodes.items[i].self);
    sonde_found_put(to, profile->operations, sizeof profile->operations);
    sonde_found_put(to, &profile->sampled, sizeof profile->sampled);
    sonde_found_put(to, &profile->unknown_nodes, sizeof profile->unknown_nodes);
    sonde_found_put_vector(to, &profile->symbol_notes);
    for (size_t i = 0; i < profile->symbols_partly.count; i++)
        sonde_found_put_string(to, profile->symbols_partly.items[i]);
}

/* ---- adding ---------------------------------------------------------------------------------------------- */

struct adding {
    struct sonde_profile *profile;
    struct sonde_found *from;
    uint32_t *strings, *nodes; /* [theirs]: ours */
    uint64_t string_count, node_count;
};

static uint32_t ours(const uint32_t *map, uint64_t count, uint64_t theirs)
{
    return theirs < count ? map[theirs] : 0;
}

static void add_strings(struct adding *a)
{
    for (uint64_t i = 1; i < a->string_count; i++)
        a->strings[i] = sonde_intern_text(&a->profile->strings, sonde_found_get_string(a->from));
}

static int add_nodes(struct adding *a)
{
    int rc = 0;
    for (uint64_t i = 1; i < a->node_count && !rc; i++) {
        struct node_head head;
        sonde_found_get(a->from, &head, sizeof head);
        const struct sonde__level level = {
            .kind = head.kind,
            .op = head.op,
            .name = ours(a->strings, a->string_count, head.name),
            .file = ours(a->strings, a->string_count, head.file),
            .module = ours(a->strings, a->string_count, head.module),
            .line = head.line,
            .offset = head.kind == SONDE_FRAME_LINK ? ours(a->nodes, i, head.offset) : head.offset, /* a node that came before */
        };
        rc = sonde__profile_child(a->profile, ours(a->nodes, i, head.parent), &level, &a->nodes[i]);
    }
    return rc;
}

static int add_leaf(struct adding *a, struct sonde_group *group, bool api, uint32_t theirs)
{
    const uint32_t leaf = ours(a->nodes, a->node_count, theirs);
    const struct sonde_metrics *before = &a->profile->nodes.items[leaf].self;
    return (api ? before->api_calls : before->operations) ? 0 : sonde_vector_push(&group->leaves, leaf);
}

static int add_stat(struct adding *a, struct sonde_group *group, bool has_bins)
{
    uint64_t bins[SONDE_STAT_BINS] = {0};
    struct sonde_stat stat;
    struct bin bin;
    sonde_found_get(a->from, &stat, sizeof stat);
    stat.bins = has_bins ? bins : NULL;
    while (has_bins) {
        sonde_found_get(a->from, &bin, sizeof bin);
        if (a->from->failed || bin.number >= SONDE_STAT_BINS)
            break;
        bins[bin.number] = bin.count;
    }
    return sonde_stat_join(&group->stat, &a->profile->arena, &stat);
}

static int add_group(struct adding *a, bool api)
{
    struct group_head head;
    SONDE_VECTOR(uint32_t) leaves = {0};
    sonde_found_get(a->from, &head, sizeof head);
    const char *name = sonde_intern_get(&a->profile->strings, ours(a->strings, a->string_count, head.name));
    struct sonde_group *group = sonde__profile_group(a->profile, api, head.op, name);
    int rc = group ? add_stat(a, group, head.has_bins) : SONDE_ENOMEM;
    if (!rc && head.work) {
        group->work_process = head.work_process;
        group->work = head.work;
    }
    if (!rc)
        sonde_found_get_vector(a->from, &leaves);
    for (size_t i = 0; i < leaves.count && !rc; i++)
        rc = add_leaf(a, group, api, leaves.items[i]);
    sonde_vector_fini(&leaves);
    return rc;
}

static void add_metrics(struct adding *a, uint32_t node)
{
    uint64_t values[METRICS] = {0};
    struct sonde_metrics metrics;
    uint32_t mask;
    sonde_found_get(a->from, &mask, sizeof mask);
    for (uint32_t i = 0; i < METRICS; i++)
        if (mask >> i & 1)
            sonde_found_get(a->from, &values[i], sizeof values[i]);
    memcpy(&metrics, values, sizeof metrics);
    sonde_metrics_add(&a->profile->nodes.items[node].self, &metrics);
}

static int add_rest(struct adding *a, uint64_t partly)
{
    struct sonde_profile *profile = a->profile;
    uint64_t operations[SONDE_OP_KIND_COUNT], unknown_nodes;
    SONDE_VECTOR(struct sonde_row_note) notes = {0};
    bool sampled;
    int rc = 0;
    sonde_found_get(a->from, operations, sizeof operations);
    sonde_found_get(a->from, &sampled, sizeof sampled);
    sonde_found_get(a->from, &unknown_nodes, sizeof unknown_nodes);
    for (size_t i = 0; i < SONDE_OP_KIND_COUNT; i++)
        profile->operations[i] += operations[i];
    profile->sampled |= sampled;
    profile->unknown_nodes += unknown_nodes;
    sonde_found_get_vector(a->from, &notes);
    for (size_t i = 0; i < notes.count && !rc; i++)
        rc = sonde__profile_note(profile, &notes.items[i]);
    sonde_vector_fini(&notes);
    for (uint64_t i = 0; i < partly && !rc; i++) {
        const uint32_t id = sonde_intern_text(&profile->strings, sonde_found_get_string(a->from));
        rc = sonde_vector_push(&profile->symbols_partly, sonde_intern_get(&profile->strings, id));
    }
    return rc;
}

static int add_profile(struct sonde_profile *profile, const struct sonde_text *text)
{
    struct sonde_found from = {text->bytes, text->bytes + text->length, false};
    struct adding a = {.profile = profile, .from = &from};
    uint64_t counts[5];
    sonde_found_get(&from, counts, sizeof counts);
    a.string_count = counts[0] + 1;
    a.node_count = counts[1];
    a.strings = calloc((size_t)a.string_count, sizeof *a.strings);
    a.nodes = calloc((size_t)a.node_count + 1, sizeof *a.nodes);
    int rc = a.strings && a.nodes ? 0 : SONDE_ENOMEM;
    if (!rc) {
        add_strings(&a);
        rc = add_nodes(&a);
    }
    for (uint64_t i = 0; i < counts[2] + counts[3] && !rc; i++)
        rc = add_group(&a, i >= counts[2]);
    for (uint64_t i = 0; i < a.node_count && !rc; i++)
        add_metrics(&a, a.nodes[i]);
    rc = rc ? rc : add_rest(&a, counts[4]);
    free(a.strings);
    free(a.nodes);
    return rc || !from.failed ? rc : SONDE_ENOMEM;
}

/* ---- all of the team ------------------------------------------------------------------------------------- */

/* To the left, where what is there comes first. */
static int reduce(struct sonde_profile *profile)
{
    const uint32_t rank = sonde_team_rank(), size = sonde_team_size();
    int rc = 0;
    for (uint32_t step = 1; step < size && !rc; step *= 2) {
        struct sonde_text message = {0};
        if (rank % (2 * step)) {
            put_profile(profile, &message);
            sonde_team_send(rank - step, &message);
            sonde_text_fini(&message);
            break;
        }
        if (rank + step < size) {
            sonde_team_receive(rank + step, &message);
            rc = add_profile(profile, &message);
        }
        sonde_text_fini(&message);
    }
    return rc;
}

/* The contexts of the processes that were added here, in the tree of all. */
static int adopt(struct sonde_profile *all, struct sonde_profile *mine, uint32_t first, uint32_t last)
{
    uint32_t *nodes = calloc(mine->nodes.count, sizeof *nodes);
    int rc = nodes ? 0 : SONDE_ENOMEM;
    for (size_t i = 1; i < mine->nodes.count && !rc; i++) {
        const struct sonde_cct_node *node = &mine->nodes.items[i];
        const struct sonde__level level = {
            .kind = node->kind,
            .op = node->op,
            .name = sonde_intern_text(&all->strings, node->name),
            .file = sonde_intern_text(&all->strings, node->file),
            .module = sonde_intern_text(&all->strings, node->module),
            .line = node->line,
            .offset = node->kind == SONDE_FRAME_LINK ? nodes[node->offset] : node->offset,
        };
        rc = sonde__profile_child(all, nodes[node->parent], &level, &nodes[i]);
    }
    for (uint32_t process = first; process < last && !rc; process++) {
        all->located[process] = mine->located[process];
        mine->located[process] = (struct sonde_map){0};
        struct sonde_map *located = &all->located[process];
        for (size_t i = 0; located->slots && i <= located->mask; i++)
            located->slots[i].value = located->slots[i].used ? nodes[located->slots[i].value] : 0;
    }
    free(nodes);
    return rc;
}

/* Whose contexts are which of the tree is told by who added them: others may have no symbols of that process's files. */
struct locating {
    struct sonde_profile *profile;
    uint32_t first, last; /* the processes that were added here */
};
struct located { uint32_t node, tree_node; };

static int find_located(void *user, uint32_t process, struct sonde_text *found)
{
    const struct sonde_map *map = &((struct locating *)user)->profile->located[process];
    const uint64_t count = map->count;
    sonde_found_put(found, &count, sizeof count);
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            sonde_found_put(found, &(struct located){(uint32_t)map->slots[i].key, (uint32_t)map->slots[i].value}, sizeof(struct located));
    return 0;
}

static int add_located(void *user, uint32_t process, struct sonde_found *found)
{
    const struct locating *l = user;
    const bool own = process >= l->first && process < l->last;
    uint64_t count;
    int rc = 0;
    sonde_found_get(found, &count, sizeof count);
    for (uint64_t i = 0; i < count && !rc; i++) {
        struct located one;
        sonde_found_get(found, &one, sizeof one);
        rc = own ? 0 : sonde_map_put(&l->profile->located[process], one.node, one.tree_node);
    }
    return rc;
}

/* What one alone cannot do ends all: the others wait for it. */
void sonde__profile_join(struct sonde_profile **profile, uint32_t first, uint32_t last)
{
    const bool root = sonde_team_rank() == 0;
    struct sonde_profile *mine = *profile, *all = mine;
    struct sonde_text message = {0};
    int rc = reduce(mine);
    if (!rc && root)
        put_profile(all, &message);
    if (!rc)
        sonde_team_broadcast(0, &message);
    if (!rc && !root) {
        all = sonde__profile_create(mine->process_count);
        rc = all ? add_profile(all, &message) : SONDE_ENOMEM;
        rc = rc ? rc : adopt(all, mine, first, last);
        sonde_profile_destroy(mine);
    }
    sonde_text_fini(&message);
    const struct sonde_team_work work = {.tasks = all ? all->process_count : 0, .find = find_located, .add = add_located};
    if (rc || sonde_team_run(&work, &(struct locating){all, first, last}))
        sonde_team_fail("out of memory");
    *profile = all;
}

/* match.c - the calling contexts of a side as one tree, and which of them are the same on both sides.
 *
 * From the root on, the children of two frames that are the same are matched: function by function its
 * lines, by an alignment that keeps their order (Needleman and Wunsch, J. Mol. Biol. 48, 1970) and prefers
 * those with the same code below, then equal ones; what is left of one side, and is called by a function
 * that the other side does not have, is looked for below that one; at last those of another name with
 * mostly the same code below are matched. How much two frames have in common below is the share of equal
 * MinHashes of the names there (Broder, "On the resemblance and containment of documents", 1997), which
 * estimates the number of common names by the number of all. docs/diff.md, "Which contexts are the same".
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "own.h"

enum {
    HASHES = 32,
    LONGEST_NAME = 512,    /* bytes of kernels' names that are compared */
    LAYERS = 4,            /* functions on one side only that are looked through */
    MOST_PAIRS = 1 << 20,  /* of two lists that are compared pair by pair; of longer ones what is equal is matched */
};
static const double RENAMED_FRAME = .5, RENAMED_KERNEL = .6; /* from which likeness on */

struct below { uint32_t least[HASHES]; }; /* of the names below a node; UINT32_MAX: there is none */

struct child {
    const struct sonde__key *key;
    uint32_t node;
    bool taken;
};
typedef SONDE_VECTOR(struct child) children;

struct pair { uint32_t node[SONDE_DIFF_SIDES]; };

struct matching {
    struct sonde__trees *trees;
    struct below *below[SONDE_DIFF_SIDES];
    children lists[SONDE_DIFF_SIDES];
    SONDE_VECTOR(struct pair) open; /* the same, their children not matched yet */
};

/* ---- one tree of a side's runs --------------------------------------------------------------- */

static struct sonde__key key_of(struct sonde_intern *strings, const struct sonde_cct_node *node)
{
    const bool code = node->kind != SONDE_FRAME_OP && node->kind != SONDE_FRAME_API;
    struct sonde__key key = {.kind = node->kind, .op = node->op, .name = sonde_intern_text(strings, node->name)};
    if (code) {
        key.file = sonde_intern_text(strings, sonde_path_base(node->file));
        key.line = node->line;
    }
    if (node->kind == SONDE_FRAME_RANGE)
        key.module = sonde_intern_text(strings, node->module);
    else if (!key.name && code) {
        key.module = sonde_intern_text(strings, sonde_path_base(node->module));
        key.offset = node->kind == SONDE_FRAME_LINK ? 0 : node->offset;
    }
    return key;
}

static int key_order(const struct sonde__key *a, const struct sonde__key *b, bool places)
{
    const uint32_t of_a[] = {a->kind, a->op, a->name, a->file, a->module}, of_b[] = {b->kind, b->op, b->name, b->file, b->module};
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        if (of_a[i] != of_b[i])
            return of_a[i] < of_b[i] ? -1 : 1;
    if (places && a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return !places || a->offset == b->offset ? 0 : (a->offset < b->offset ? -1 : 1);
}

static uint64_t key_hash(const struct sonde__key *key, uint32_t parent)
{
    const uint64_t words[] = {key->op, key->name, key->file, key->module, key->line, key->offset, parent};
    uint64_t hash = key->kind;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = sonde_hash_mix(hash, words[i]);
    return hash;
}

/* The child of `parent` with this key, made where there is none; 0: no memory. */
static uint32_t child_of(struct sonde__side *side, struct sonde_map *known, uint32_t parent, const struct sonde__key *key)
{
    uint64_t hash = key_hash(key, parent), at;
    for (; sonde_map_get(known, hash, &at); hash++)
        if (side->nodes.items[at].parent == parent && key_order(&side->nodes.items[at].key, key, true) == 0)
            return (uint32_t)at;
    const uint32_t node = (uint32_t)side->nodes.count;
    const struct sonde__side_node made = {
        .key = *key, .parent = parent, .next_sibling = side->nodes.items[parent].first_child, .partner = UINT32_MAX};
    if (sonde_map_put(known, hash, node) || sonde_vector_push(&side->nodes, made))
        return 0;
    side->nodes.items[parent].first_child = node;
    return node;
}

static int add_run(struct sonde__trees *trees, struct sonde__side *side, struct sonde_map *known,
                   const struct sonde_profile *profile, uint32_t *at)
{
    at[0] = 0;
    for (uint32_t i = 1; i < profile->nodes.count; i++) { /* a parent comes before its children */
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        const struct sonde__key key = key_of(&trees->strings, node);
        at[i] = child_of(side, known, at[node->parent], &key);
        if (!at[i])
            return SONDE_ENOMEM;
        side->nodes.items[at[i]].operations += (double)node->self.operations;
    }
    return 0;
}

static int add_side(struct sonde__trees *trees, const struct sonde_diff_config *config, int side)
{
    const uint32_t first = side == SONDE_DIFF_BEFORE ? 0 : config->before_count;
    const uint32_t last = side == SONDE_DIFF_BEFORE ? config->before_count : config->run_count;
    struct sonde__side *tree = &trees->sides[side];
    struct sonde_map known = {0};
    int rc = sonde_vector_push(&tree->nodes, (struct sonde__side_node){.partner = 0});
    tree->runs = last - first;
    for (uint32_t run = first; run < last && !rc; run++) {
        const struct sonde_profile *profile = config->runs[run].profile;
        trees->at[run] = calloc(profile->nodes.count, sizeof **trees->at);
        rc = trees->at[run] ? add_run(trees, tree, &known, profile, trees->at[run]) : SONDE_ENOMEM;
    }
    sonde_map_fini(&known);
    return rc;
}

/* ---- what is below ----------------------------------------------------------------------------- */

static void take_least(struct below *below, const struct sonde__key *key)
{
    const uint64_t name = sonde_hash_mix(key->kind, key->name ? key->name : (uint64_t)key->module << 32);
    for (uint32_t i = 0; i < HASHES; i++) {
        const uint32_t hash = (uint32_t)(sonde_hash_mix(name, i) >> 33);
        below->least[i] = hash < below->least[i] ? hash : below->least[i];
    }
}

static struct below *below_of(const struct sonde__side *side)
{
    struct below *below = malloc(side->nodes.count * sizeof *below);
    if (!below)
        return NULL;
    memset(below, 0xff, side->nodes.count * sizeof *below);
    for (size_t i = side->nodes.count; i-- > 1;) { /* children come after their parent */
        const struct sonde__side_node *node = &side->nodes.items[i];
        struct below *of = &below[node->parent];
        for (uint32_t k = 0; k < HASHES; k++)
            of->least[k] = below[i].least[k] < of->least[k] ? below[i].least[k] : of->least[k];
        take_least(of, &node->key);
    }
    return below;
}

/* 0 to 1. */
static double in_common(const struct matching *m, uint32_t before, uint32_t after)
{
    const struct below *a = &m->below[SONDE_DIFF_BEFORE][before], *b = &m->below[SONDE_DIFF_AFTER][after];
    uint32_t same = 0;
    for (uint32_t i = 0; i < HASHES; i++)
        same += a->least[i] == b->least[i] && a->least[i] != UINT32_MAX;
    return (double)same / HASHES;
}

/* ---- names of kernels ----------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    return *(const uint16_t *)left - *(const uint16_t *)right;
}

static size_t letters(const char *name, uint16_t out[LONGEST_NAME])
{
    size_t count = 0;
    for (; count < LONGEST_NAME && name[0] && name[1]; name++)
        out[count++] = (uint16_t)((unsigned char)name[0] << 8 | (unsigned char)name[1]);
    if (count)
        qsort(out, count, sizeof *out, by_number);
    return count;
}

/* Dice's coefficient of their pairs of letters ("Measures of the amount of ecologic association between species", 1945). */
static double alike(const char *a, const char *b)
{
    uint16_t of_a[LONGEST_NAME], of_b[LONGEST_NAME];
    const size_t count_a = letters(a, of_a), count_b = letters(b, of_b);
    size_t i = 0, k = 0, same = 0;
    while (i < count_a && k < count_b) {
        same += of_a[i] == of_b[k];
        const int order = by_number(&of_a[i], &of_b[k]);
        i += order <= 0;
        k += order >= 0;
    }
    return count_a + count_b ? 2.0 * (double)same / (double)(count_a + count_b) : 0;
}

/* ---- the children of two frames that are the same --------------------------------------------------- */

static int by_key(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    const int order = key_order(a->key, b->key, true);
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

static int add_children(struct matching *m, int side, uint32_t parent)
{
    const struct sonde__side_node *nodes = m->trees->sides[side].nodes.items;
    children *list = &m->lists[side];
    for (uint32_t at = nodes[parent].first_child; at; at = nodes[at].next_sibling)
        if (sonde_vector_push(list, (struct child){.key = &nodes[at].key, .node = at}))
            return SONDE_ENOMEM;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_key);
    return 0;
}

static int take(struct matching *m, struct child *before, struct child *after)
{
    const bool function = key_order(before->key, after->key, false) == 0, place = key_order(before->key, after->key, true) == 0;
    struct sonde__side_node *a = &m->trees->sides[SONDE_DIFF_BEFORE].nodes.items[before->node];
    struct sonde__side_node *b = &m->trees->sides[SONDE_DIFF_AFTER].nodes.items[after->node];
    before->taken = after->taken = true;
    a->partner = after->node;
    b->partner = before->node;
    a->match = b->match = place ? SONDE_DIFF_SAME : (function ? SONDE_DIFF_MOVED : SONDE_DIFF_RENAMED);
    return sonde_vector_push(&m->open, (struct pair){{before->node, after->node}});
}

/* Those that have no partner come to the front of `out`. */
static size_t left_over(children *list, struct child **out)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].taken)
            out[count++] = &list->items[i];
    return count;
}

/* More than 0: leaving a frame without a partner is worth less than any. What is below counts most, then the same line, then
 * how far it moved. */
static double worth(const struct matching *m, const struct child *a, const struct child *b)
{
    if (key_order(a->key, b->key, true) == 0)
        return .4 + in_common(m, a->node, b->node);
    const double from = a->key->line ? a->key->line : (double)a->key->offset;
    const double to = b->key->line ? b->key->line : (double)b->key->offset;
    return .1 + in_common(m, a->node, b->node) + .05 / (1 + (from < to ? to - from : from - to));
}

/* Of lists that are too long for more. */
static int match_equal(struct matching *m, struct child *a, size_t rows, struct child *b, size_t columns)
{
    int rc = 0;
    for (size_t i = 0, k = 0; i < rows && k < columns && !rc;) {
        const int order = key_order(a[i].key, b[k].key, true);
        if (order == 0)
            rc = take(m, &a[i], &b[k]);
        i += order <= 0;
        k += order >= 0;
    }
    return rc;
}

/* Needleman and Wunsch, without a price for gaps. */
static int align(struct matching *m, struct child *a, size_t rows, struct child *b, size_t columns)
{
    const size_t width = columns + 1;
    double *best = (rows + 1) * width <= MOST_PAIRS ? calloc((rows + 1) * width, sizeof *best) : NULL;
    int rc = 0;
    if (!best)
        return match_equal(m, a, rows, b, columns);
    for (size_t i = rows; i-- > 0;)
        for (size_t k = columns; k-- > 0;) {
            const double both = best[(i + 1) * width + k + 1] + worth(m, &a[i], &b[k]);
            const double one = best[(i + 1) * width + k], other = best[i * width + k + 1];
            best[i * width + k] = both > one && both > other ? both : (one > other ? one : other);
        }
    for (size_t i = 0, k = 0; i < rows && k < columns && !rc;) {
        const double here = best[i * width + k], one = best[(i + 1) * width + k], other = best[i * width + k + 1];
        if (here > one && here > other)
            rc = take(m, &a[i++], &b[k++]);
        else if (one >= other)
            i++;
        else
            k++;
    }
    free(best);
    return rc;
}

static size_t same_function(const children *list, size_t first)
{
    size_t last = first + 1;
    while (last < list->count && key_order(list->items[first].key, list->items[last].key, false) == 0)
        last++;
    return last;
}

static int match_functions(struct matching *m)
{
    children *a = &m->lists[SONDE_DIFF_BEFORE], *b = &m->lists[SONDE_DIFF_AFTER];
    int rc = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count && !rc;) {
        const int order = key_order(a->items[i].key, b->items[k].key, false);
        const size_t last_a = order <= 0 ? same_function(a, i) : i, last_b = order >= 0 ? same_function(b, k) : k;
        if (order == 0)
            rc = align(m, &a->items[i], last_a - i, &b->items[k], last_b - k);
        i = last_a;
        k = last_b;
    }
    return rc;
}

/* Operations per run of a leaf. */
static double operations(const struct matching *m, int side, uint32_t node)
{
    return m->trees->sides[side].nodes.items[node].operations / m->trees->sides[side].runs;
}

/* From 0 to 1; 0: another thing. `alone`: there is no other candidate. */
static double likeness(const struct matching *m, const struct child *a, const struct child *b, bool alone)
{
    if (a->key->kind != b->key->kind || a->key->op != b->key->op || a->key->kind == SONDE_FRAME_API)
        return 0;
    if (a->key->kind != SONDE_FRAME_OP) {
        const double common = in_common(m, a->node, b->node);
        return common >= RENAMED_FRAME ? common : 0;
    }
    const double names = alike(sonde_intern_get(&m->trees->strings, a->key->name), sonde_intern_get(&m->trees->strings, b->key->name));
    const double count = operations(m, SONDE_DIFF_BEFORE, a->node);
    if (alone && count > 0 && count == operations(m, SONDE_DIFF_AFTER, b->node))
        return names > .01 ? names : .01;
    return names >= RENAMED_KERNEL ? names : 0;
}

/* The most alike first. */
static int match_renamed(struct matching *m, struct child **of_a, struct child **of_b)
{
    const size_t rows = left_over(&m->lists[SONDE_DIFF_BEFORE], of_a);
    const size_t columns = left_over(&m->lists[SONDE_DIFF_AFTER], of_b);
    float *like = rows && columns && rows * columns <= MOST_PAIRS / 64 ? calloc(rows * columns, sizeof *like) : NULL;
    int rc = 0;
    for (size_t i = 0; like && i < rows * columns; i++)
        like[i] = (float)likeness(m, of_a[i / columns], of_b[i % columns], rows == 1 && columns == 1);
    for (bool found = like != NULL; found && !rc;) {
        size_t best = 0;
        found = false;
        for (size_t i = 0; i < rows * columns; i++) {
            const bool open = like[i] > 0 && !of_a[i / columns]->taken && !of_b[i % columns]->taken;
            if (open && (!found || like[i] > like[best]))
                best = i;
            found |= open;
        }
        if (found)
            rc = take(m, of_a[best / columns], of_b[best % columns]);
    }
    free(like);
    return rc;
}

/* Is something that `child` calls left over on the other side? */
static bool leads_to_left_over(const struct matching *m, int side, const struct child *child)
{
    const struct sonde__side_node *nodes = m->trees->sides[side].nodes.items;
    const children *others = &m->lists[!side];
    if (child->key->kind == SONDE_FRAME_OP || child->key->kind == SONDE_FRAME_API)
        return false;
    for (uint32_t at = nodes[child->node].first_child; at; at = nodes[at].next_sibling)
        for (size_t i = 0; i < others->count; i++)
            if (!others->items[i].taken && key_order(&nodes[at].key, others->items[i].key, false) == 0)
                return true;
    return false;
}

/* In place of a function that one side has between two others comes what it calls. Returns whether there was any, or
 * SONDE_ENOMEM. */
static int look_through(struct matching *m)
{
    int found = 0;
    for (int side = 0; side < SONDE_DIFF_SIDES; side++) {
        children *list = &m->lists[side];
        SONDE_VECTOR(uint32_t) through = {0};
        size_t left = 0;
        int rc = 0;
        for (size_t i = 0; i < list->count && !rc; i++) {
            const struct child *child = &list->items[i];
            if (!child->taken && list->count < MOST_PAIRS / 64 && leads_to_left_over(m, side, child))
                rc = sonde_vector_push(&through, child->node);
            else if (!child->taken)
                list->items[left++] = *child;
        }
        list->count = left;
        for (size_t i = 0; i < through.count && !rc; i++)
            rc = add_children(m, side, through.items[i]);
        found |= through.count > 0;
        sonde_vector_fini(&through);
        if (rc)
            return rc;
    }
    return found;
}

static int match_left_over(struct matching *m)
{
    const size_t count_a = m->lists[SONDE_DIFF_BEFORE].count, count_b = m->lists[SONDE_DIFF_AFTER].count;
    struct child **room = malloc((count_a + count_b + 1) * sizeof *room);
    const int rc = room ? match_renamed(m, room, room + count_a) : SONDE_ENOMEM;
    free(room);
    return rc;
}

static int match_children(struct matching *m, struct pair pair)
{
    int rc = 0, more = 1;
    for (int side = 0; side < SONDE_DIFF_SIDES && !rc; side++) {
        m->lists[side].count = 0;
        rc = add_children(m, side, pair.node[side]);
    }
    for (int layer = 0; layer < LAYERS && more && !rc; layer++) {
        rc = match_functions(m);
        more = rc ? 0 : look_through(m);
        rc = more < 0 ? more : rc;
    }
    rc = rc || !more ? rc : match_functions(m);
    return rc ? rc : match_left_over(m);
}

/* ---- both trees ------------------------------------------------------------------------------------- */

/* A path through a function that the other side has not is another path of the same code. */
static void find_paths(struct sonde__side *side, enum sonde_diff_match alone)
{
    for (size_t i = 1; i < side->nodes.count; i++) {
        struct sonde__side_node *node = &side->nodes.items[i];
        const uint8_t way = side->nodes.items[node->parent].path;
        const bool matched = node->partner != UINT32_MAX;
        const uint8_t above = matched && way >= SONDE_DIFF_NEW ? SONDE_DIFF_MOVED : way;
        node->match = matched ? node->match : (uint8_t)alone;
        node->path = node->match > above ? node->match : above;
    }
}

static void join_paths(struct sonde__trees *trees)
{
    struct sonde__side *before = &trees->sides[SONDE_DIFF_BEFORE];
    for (size_t i = 1; i < before->nodes.count; i++) {
        struct sonde__side_node *a = &before->nodes.items[i];
        if (a->partner == UINT32_MAX)
            continue;
        struct sonde__side_node *b = &trees->sides[SONDE_DIFF_AFTER].nodes.items[a->partner];
        a->path = b->path = a->path > b->path ? a->path : b->path;
    }
}

static int match(struct sonde__trees *trees)
{
    struct matching m = {.trees = trees};
    int rc = 0;
    for (int side = 0; side < SONDE_DIFF_SIDES; side++) {
        m.below[side] = below_of(&trees->sides[side]);
        rc = m.below[side] ? rc : SONDE_ENOMEM;
    }
    rc = rc ? rc : sonde_vector_push(&m.open, (struct pair){{0, 0}});
    while (m.open.count && !rc)
        rc = match_children(&m, m.open.items[--m.open.count]);
    for (int side = 0; side < SONDE_DIFF_SIDES; side++) {
        free(m.below[side]);
        sonde_vector_fini(&m.lists[side]);
    }
    sonde_vector_fini(&m.open);
    find_paths(&trees->sides[SONDE_DIFF_BEFORE], SONDE_DIFF_GONE);
    find_paths(&trees->sides[SONDE_DIFF_AFTER], SONDE_DIFF_NEW);
    join_paths(trees);
    return rc;
}

int sonde__trees_build(struct sonde__trees *trees, const struct sonde_diff_config *config)
{
    trees->at = calloc(config->run_count, sizeof *trees->at);
    trees->run_count = trees->at ? config->run_count : 0;
    int rc = trees->at ? add_side(trees, config, SONDE_DIFF_BEFORE) : SONDE_ENOMEM;
    rc = rc ? rc : add_side(trees, config, SONDE_DIFF_AFTER);
    return rc ? rc : match(trees);
}

void sonde__trees_fini(struct sonde__trees *trees)
{
    for (uint32_t i = 0; i < trees->run_count; i++)
        free(trees->at[i]);
    free(trees->at);
    for (int side = 0; side < SONDE_DIFF_SIDES; side++)
        sonde_vector_fini(&trees->sides[side].nodes);
    sonde_intern_fini(&trees->strings);
}

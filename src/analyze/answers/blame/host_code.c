/* host_code.c - see host_code.h.
 *
 * The tree of calling contexts by function (lines of one function below one caller are one, code of
 * the runtime and of the interpreter is none) with the inclusive blame of each. From the outside in, the way
 * goes to the function that has most, as long as that has nine tenths of what it began with; the last
 * function of the user's on it is what they would name. Where that is only the program's entry, which
 * explains nothing, each of the branches below is looked at by itself, and so is the entry's own code.
 *
 * Blame that is inferred is known to be in a function or in what it called. It does not decide where
 * the way goes, unless there is hardly any other, and since any function below may have it, it counts in the
 * bound of each.
 *
 * What samples say has a standard error, that of the blame (estimate.h) of all contexts in the function and below it.
 */
#include "host_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum {
    STAYS = 90,  /* percent of where the way began, to go on */
    BRANCH = 5,  /* percent of all host code, to be looked at by itself */
    KNOWN = 25,  /* percent of it that is more than inferred, to decide alone */
};

struct function {
    uint32_t parent, node;      /* node: at the line with the most */
    uint32_t first, next;       /* children */
    bool user, has_user;        /* the latter: or below it */
    bool apart;                 /* looked at by itself: in no sum of its callers' */
    double ns, most_ns;         /* inclusive, of what decides; most: at `node` */
    double inferred_ns;         /* beside that: inclusive */
    double above_ns;            /* inferred of it alone and of its callers alone: theirs, or anything's below them */
    double whole_ns;            /* inclusive, inferred or not: idle time in which a thread was in it, added up over threads */
    double whole_above_ns;      /* as above_ns */
};

struct finder {
    const struct sonde_profile *profile;
    double *ns, *inferred_ns;   /* [tree node], inclusive; what decides, and what is inferred beside it */
    double *own_ns;             /* [tree node], of the latter its own */
    double *waited_ns;          /* [tree node], of waits */
    double *whole_ns;           /* [tree node], inclusive */
    double *own_whole_ns;       /* [tree node], inferred beside what decides */
    double idle_ns;             /* of the scope, once the agent was there */
    bool all_decides;           /* inferred or not: there is hardly any other */
    uint32_t *function_of;      /* [tree node] */
    SONDE_VECTOR(struct function) functions; /* [0] is outside of all */
    struct sonde_map index;
    double least_ns;
    sonde_host_codes *out;
};

bool sonde_is_host_code(const struct sonde_profile *profile, uint32_t node)
{
    const struct sonde_cct_node *n = &profile->nodes.items[node];
    return node && n->kind != SONDE_FRAME_OP && (n->kind != SONDE_FRAME_API || sonde_is_wait(profile, node));
}

static bool is_function(const struct sonde_cct_node *node)
{
    return (node->kind == SONDE_FRAME_NATIVE || node->kind == SONDE_FRAME_PYTHON) && node->origin != SONDE_ORIGIN_RUNTIME;
}

static double inferred(const struct sonde_blame_entry *entry)
{
    const double ns = entry->source_ns[SONDE_BLAME_INFERRED];
    return ns < entry->working_ns ? ns : entry->working_ns;
}

static void add_up(struct finder *f, const struct sonde_blame_scope *scope)
{
    const struct sonde_cct_node *nodes = f->profile->nodes.items;
    double all = 0, guessed = 0;
    for (size_t i = 0; i < scope->entries.count; i++)
        if (sonde_is_host_code(f->profile, scope->entries.items[i].node)) {
            all += scope->entries.items[i].working_ns;
            guessed += inferred(&scope->entries.items[i]);
        }
    f->all_decides = all - guessed < all * KNOWN / 100;
    for (size_t i = 0; i < scope->entries.count; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        const double beside = f->all_decides ? 0 : inferred(entry);
        if (!sonde_is_host_code(f->profile, entry->node))
            continue;
        f->ns[entry->node] += entry->working_ns - beside;
        f->inferred_ns[entry->node] = f->own_ns[entry->node] = beside;
        f->waited_ns[entry->node] += sonde_is_wait(f->profile, entry->node) ? entry->working_ns : 0;
        f->whole_ns[entry->node] += entry->whole_ns;
        f->own_whole_ns[entry->node] = f->all_decides ? 0 : entry->whole_inferred_ns;
    }
    f->idle_ns = scope->idle_ns - scope->before_ns;
    for (size_t i = f->profile->nodes.count; i-- > 1;) { /* children come after their parents */
        f->ns[nodes[i].parent] += f->ns[i];
        f->inferred_ns[nodes[i].parent] += f->inferred_ns[i];
        f->whole_ns[nodes[i].parent] += f->whole_ns[i];
    }
}

static int find_function(struct finder *f, uint32_t parent, uint32_t node, uint32_t *out)
{
    const struct sonde_cct_node *n = &f->profile->nodes.items[node]; /* texts are interned */
    uint64_t key = sonde_hash_mix(sonde_hash_mix(parent, n->kind), (uintptr_t)n->name), at;
    key = sonde_hash_mix(sonde_hash_mix(key, (uintptr_t)n->file), (uintptr_t)n->module);
    if (!sonde_map_get(&f->index, key, &at)) {
        const bool user = n->origin == SONDE_ORIGIN_USER;
        at = f->functions.count;
        struct function first = {
            .parent = parent,
            .node = node,
            .next = f->functions.items[parent].first,
            .user = user,
            .has_user = user,
        };
        if (sonde_map_put(&f->index, key, at) || sonde_vector_push(&f->functions, first))
            return SONDE_ENOMEM;
        f->functions.items[parent].first = (uint32_t)at;
    }
    *out = (uint32_t)at;
    return 0;
}

static int add_node(struct finder *f, uint32_t node)
{
    uint32_t *at = &f->function_of[node];
    *at = f->function_of[f->profile->nodes.items[node].parent];
    if (f->ns[node] <= 0 || !is_function(&f->profile->nodes.items[node]))
        return 0;
    int rc = find_function(f, *at, node, at);
    struct function *function = &f->functions.items[*at];
    if (rc)
        return rc;
    function->ns += f->ns[node];
    function->inferred_ns += f->inferred_ns[node];
    function->whole_ns += f->whole_ns[node];
    if (f->ns[node] > function->most_ns) {
        function->most_ns = f->ns[node];
        function->node = node;
    }
    return 0;
}

static int make_functions(struct finder *f)
{
    int rc = sonde_vector_push(&f->functions, (struct function){.ns = f->ns[0], .inferred_ns = f->inferred_ns[0], .whole_ns = f->whole_ns[0]});
    for (uint32_t i = 1; i < f->profile->nodes.count && !rc; i++)
        rc = add_node(f, i);
    for (size_t i = 1; i < f->profile->nodes.count && !rc; i++) {
        f->functions.items[f->function_of[i]].above_ns += f->own_ns[i];
        f->functions.items[f->function_of[i]].whole_above_ns += f->own_whole_ns[i];
    }
    for (size_t i = 1; i < f->functions.count && !rc; i++) { /* as of the nodes */
        f->functions.items[i].above_ns += f->functions.items[f->functions.items[i].parent].above_ns;
        f->functions.items[i].whole_above_ns += f->functions.items[f->functions.items[i].parent].whole_above_ns;
    }
    for (size_t i = f->functions.count; i-- > 1;)
        f->functions.items[f->functions.items[i].parent].has_user |= f->functions.items[i].has_user;
    return rc;
}

/* A program's entry had everything done, and says nothing of what. */
static bool is_entry(const struct finder *f, uint32_t function)
{
    static const char *const names[] = {"main", "<module>", "__main__"};
    const char *name = f->profile->nodes.items[f->functions.items[function].node].name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Of those that the user's code is in. */
static uint32_t heaviest(const struct finder *f, uint32_t function)
{
    uint32_t best = 0;
    for (uint32_t c = f->functions.items[function].first; c; c = f->functions.items[c].next)
        if (f->functions.items[c].has_user && f->functions.items[c].ns > (best ? f->functions.items[best].ns : 0))
            best = c;
    return best;
}

/* The user's functions right below, whatever libraries lie between. */
static void add_pieces(const struct finder *f, uint32_t function, struct sonde_host_code *code)
{
    for (uint32_t c = f->functions.items[function].first; c; c = f->functions.items[c].next) {
        const struct function *below = &f->functions.items[c];
        uint32_t at = code->piece_count;
        if (!below->user) {
            add_pieces(f, c, code);
            continue;
        }
        while (at && code->pieces[at - 1].ns < below->whole_ns)
            at--;
        if (at == SONDE_HOST_PIECES)
            continue;
        const uint32_t last = code->piece_count < SONDE_HOST_PIECES ? code->piece_count++ : SONDE_HOST_PIECES - 1;
        memmove(&code->pieces[at + 1], &code->pieces[at], (last - at) * sizeof *code->pieces);
        code->pieces[at] = (struct sonde_host_piece){.node = below->node, .ns = below->whole_ns};
    }
}

/* Waits of the function and, unless `alone`, of the user's functions below it. */
static void add_waits(const struct finder *f, uint32_t function, bool alone, struct sonde_host_code *code)
{
    double most_ns = 0;
    for (uint32_t i = 1; i < f->profile->nodes.count; i++) {
        uint32_t at = f->waited_ns[i] > 0 ? f->function_of[i] : 0;
        while (at && at != function)
            at = alone && f->functions.items[at].has_user ? 0 : f->functions.items[at].parent;
        if (!at)
            continue;
        code->waited_ns += f->waited_ns[i];
        code->wait = f->waited_ns[i] > most_ns ? i : code->wait;
        most_ns = f->waited_ns[i] > most_ns ? f->waited_ns[i] : most_ns;
    }
}

/* Its callers' inferred time may be its own, too. With the function gone, the idle time in which it ran is what could be
 * saved, also where others ran at the same time: the device may have waited for this one alone. */
static int name(struct finder *f, uint32_t function, double ns, double inferred_ns, double whole_ns, bool pieces)
{
    const struct function *named = &f->functions.items[function];
    const double above_ns = f->functions.items[named->parent].above_ns;
    const double bound_ns = whole_ns + f->functions.items[named->parent].whole_above_ns;
    struct sonde_host_code code = {
        .node = named->node,
        .ns = ns + inferred_ns + above_ns,
        .bound_ns = bound_ns,
        .inferred_ns = f->all_decides ? ns : inferred_ns + above_ns,
    };
    add_waits(f, function, !pieces, &code);
    if (pieces)
        add_pieces(f, function, &code);
    return ns < f->least_ns ? 0 : sonde_vector_push(f->out, code);
}

static int look(struct finder *f, uint32_t begin);

/* An entry's branches, each by itself, and what it has beside them. */
static int look_below(struct finder *f, uint32_t at, uint32_t entry)
{
    double ns = f->functions.items[at].ns, whole_ns = f->functions.items[entry].whole_ns;
    int rc = 0;
    for (uint32_t c = f->functions.items[at].first; c && !rc; c = f->functions.items[c].next) {
        const struct function *below = &f->functions.items[c];
        if (!below->has_user)
            continue;
        f->functions.items[c].apart = true;
        ns -= below->ns;
        whole_ns -= below->whole_ns;
        if (below->ns >= f->least_ns)
            rc = look(f, c);
    }
    if (rc || !entry)
        return rc;
    const double parents_ns = f->functions.items[f->functions.items[entry].parent].above_ns;
    return name(f, entry, ns, f->functions.items[entry].above_ns - parents_ns, whole_ns, false);
}

/* What the way begins with: at the root, what has the user's code in it; an interpreter that ends is on nobody's way. */
static double begins_with(const struct finder *f, uint32_t begin)
{
    double ns = 0;
    for (uint32_t c = f->functions.items[begin].first; c && !begin; c = f->functions.items[c].next)
        ns += f->functions.items[c].has_user ? f->functions.items[c].ns : 0;
    return begin ? f->functions.items[begin].ns : ns;
}

static int look(struct finder *f, uint32_t begin)
{
    const double least = begins_with(f, begin) * STAYS / 100;
    uint32_t named = begin && f->functions.items[begin].user ? begin : 0, at = begin;
    for (uint32_t c; (c = heaviest(f, at)) && f->functions.items[c].ns >= least; at = c)
        named = f->functions.items[c].user ? c : named;
    if (!named || is_entry(f, named))
        return look_below(f, at, named);
    const struct function *function = &f->functions.items[named];
    return name(f, named, function->ns, function->inferred_ns, function->whole_ns, true);
}

/* Standard errors of the time in groups of functions, what they called included: mark[function] is the number of its
 * group plus one, 0 that of its caller. [groups], caller frees; NULL: no memory. */
static double *errors_of(const struct finder *f, const struct sonde_estimate *estimate, uint32_t *mark, size_t groups)
{
    const size_t nodes = f->profile->nodes.count;
    uint32_t *group = malloc((nodes + 1) * sizeof *group);
    for (size_t i = 1; i < f->functions.count; i++) /* as of the nodes */
        if (!mark[i] && !f->functions.items[i].apart)
            mark[i] = mark[f->functions.items[i].parent];
    for (uint32_t i = 0; i < nodes && group; i++)
        group[i] = sonde_is_host_code(f->profile, i) ? mark[f->function_of[i]] - 1 : UINT32_MAX;
    double *errors = group ? sonde_estimate_errors(estimate, group, NULL, groups) : NULL;
    free(group);
    return errors;
}

/* Functions that are named are not within each other, and neither are the pieces of one. A bound beyond all of the idle time
 * is that, and as much surer. */
static int add_errors(struct finder *f, const struct sonde_blame_scope *scope)
{
    const size_t codes = f->out->count, room = f->functions.count * sizeof(uint32_t);
    uint32_t *mark = calloc(2, room), *piece_mark = mark ? mark + f->functions.count : NULL;
    for (size_t i = 0; i < codes && mark; i++) {
        const struct sonde_host_code *code = &f->out->items[i];
        mark[f->function_of[code->node]] = (uint32_t)i + 1;
        for (uint32_t k = 0; k < code->piece_count; k++)
            piece_mark[f->function_of[code->pieces[k].node]] = (uint32_t)i * SONDE_HOST_PIECES + k + 1;
    }
    double *blame = mark ? errors_of(f, &scope->estimate, mark, codes) : NULL;
    double *whole = blame ? errors_of(f, &scope->whole_estimate, mark, codes) : NULL;
    double *pieces = whole ? errors_of(f, &scope->whole_estimate, piece_mark, codes * SONDE_HOST_PIECES) : NULL;
    for (size_t i = 0; i < codes && pieces; i++) {
        struct sonde_host_code *code = &f->out->items[i];
        const double beyond_ns = code->bound_ns > f->idle_ns ? code->bound_ns - f->idle_ns : 0;
        code->error_ns = blame[i];
        code->bound_ns -= beyond_ns;
        code->bound_error_ns = whole[i] > beyond_ns ? whole[i] - beyond_ns : 0;
        for (uint32_t k = 0; k < code->piece_count; k++)
            code->pieces[k].error_ns = pieces[i * SONDE_HOST_PIECES + k];
    }
    const int rc = pieces ? 0 : SONDE_ENOMEM;
    free(mark);
    free(blame);
    free(whole);
    free(pieces);
    return rc;
}

static int by_ns(const void *left, const void *right)
{
    const struct sonde_host_code *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

int sonde_host_code_find(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, sonde_host_codes *out)
{
    const size_t count = profile->nodes.count + 1;
    struct finder f = {
        .profile = profile,
        .out = out,
        .ns = calloc(count, sizeof(double)),
        .inferred_ns = calloc(count, sizeof(double)),
        .own_ns = calloc(count, sizeof(double)),
        .waited_ns = calloc(count, sizeof(double)),
        .function_of = calloc(count, sizeof(uint32_t)),
        .whole_ns = calloc(count, sizeof(double)),
        .own_whole_ns = calloc(count, sizeof(double)),
    };
    int rc = f.ns && f.inferred_ns && f.own_ns && f.waited_ns && f.function_of && f.whole_ns && f.own_whole_ns ? 0 : SONDE_ENOMEM;
    if (!rc)
        add_up(&f, scope);
    if (!rc && f.ns[0] > 0) {
        f.least_ns = f.ns[0] * BRANCH / 100;
        rc = make_functions(&f);
        rc = rc ? rc : look(&f, 0);
        rc = rc ? rc : add_errors(&f, scope);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_ns);
    free(f.ns);
    free(f.inferred_ns);
    free(f.own_ns);
    free(f.waited_ns);
    free(f.whole_ns);
    free(f.own_whole_ns);
    free(f.function_of);
    sonde_vector_fini(&f.functions);
    sonde_map_fini(&f.index);
    return rc;
}

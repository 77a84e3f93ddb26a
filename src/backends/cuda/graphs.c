/* graphs.c - where the nodes of a graph come from, and which launch ran them.
 *
 * A kernel that a graph runs was asked for twice: where its node was created or
 * captured, and where the graph was launched. CUPTI tells of each node as it is
 * made, inside the call that makes it, and of each copy (cloning, instantiating)
 * with the node that it was copied from. Node ids are never used twice, so
 * nothing is removed; the map's bound is what holds it.
 *
 * Nodes within a conditional node are copied into a graph of their own and then,
 * without a word, moved into the graph that is instantiated, which numbers them
 * anew: so all are asked for their numbers once more when the executable graph is
 * there. A child graph's nodes get new numbers too, but their copies are gone by
 * then, and to ask for one's number ends the program (driver 580): where a
 * child graph is copied nothing is asked, and its kernels have no link.
 *
 * Records of a conditional node's body name no call, only their node and so the
 * executable graph: they belong to that launch of it which had begun last. Launches
 * of one executable graph never overlap. When a launch began, records of its
 * other nodes tell; of a graph that has none, the call.
 */
#include "sonde_cuda.h"

#define CLONES_FIRST 256u
#define FOLLOWED     256u /* executable graphs with such nodes, the newest, */
#define LAUNCHES     512u /* and launches of each, the newest */

/* ---- nodes ------------------------------------------------------------------------- */

static struct sonde_shared_map origins; /* node id -> context */

static void keep(uint64_t node, uint64_t origin)
{
    static struct sonde_once said;
    if (origin && !sonde__shared_map_put(&origins, node, origin) && sonde__once(&said))
        sonde_note("too many nodes of CUDA graphs: the call paths that create further ones are not recorded");
}

static uint64_t id_of(CUgraphNode node)
{
    uint64_t id = 0;
    return node && sonde__cupti.cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS ? id : 0;
}

uint32_t sonde__cuda_node_origin(uint64_t node)
{
    uint64_t origin;
    return node && sonde__shared_map_get(&origins, node, &origin) ? (uint32_t)origin : 0;
}

/* Copies that the call under way in this thread has made so far. */
struct clone {
    CUgraphNode node;
    uint64_t id, origin;
};
static __thread struct {
    struct clone *clone;
    uint32_t room;
} here;

static void remember_clone(CUgraphNode node, uint64_t id, uint64_t origin)
{
    struct sonde_cuda_nodes *made = sonde__cuda_nodes_here();
    if (!made)
        return;
    if (made->clones == here.room) {
        const uint32_t room = here.room ? 2 * here.room : CLONES_FIRST;
        struct clone *more = sonde__pages_get(room * sizeof *more);
        if (!more)
            return;
        for (uint32_t i = 0; i < made->clones; i++)
            more[i] = here.clone[i];
        sonde__pages_put(here.clone, here.room * sizeof *here.clone);
        here.clone = more;
        here.room = room;
    }
    here.clone[made->clones++] = (struct clone){node, id, origin};
}

static void node_cloned(const CUpti_GraphData *graph)
{
    uint64_t origin = 0;
    const uint64_t original = id_of(graph->originalNode), id = id_of(graph->node);
    if (!id || !original)
        return;
    sonde__shared_map_get(&origins, original, &origin);
    keep(id, origin);
    remember_clone(graph->node, id, origin ? origin : sonde__cuda_context_here());
}

/* ---- launches of graphs that have such nodes ------------------------------------------- */

struct launch {
    uint64_t key, start_ns; /* start: from records, or until then the call's */
    bool known;
};
struct launches {
    uint32_t graph, count;
    struct launch launch[LAUNCHES];
};

static struct sonde_shared_map execs;    /* CUgraphExec -> graph id */
static struct sonde_shared_map launched; /* graph id -> place in `followed`, plus one */
static struct launches *followed;
static _Atomic uint32_t graphs; /* that were followed */
static struct sonde_lock lock; /* of what is in `followed` */

static void follow(CUgraphExec exec, uint32_t graph)
{
    sonde__lock(&lock);
    if (!followed)
        followed = sonde__pages_get(FOLLOWED * sizeof *followed);
    const uint32_t place = atomic_load(&graphs) % FOLLOWED, before = followed ? followed[place].graph : 0;
    if (followed) {
        followed[place].graph = graph;
        followed[place].count = 0;
        atomic_fetch_add(&graphs, 1);
    }
    sonde__unlock(&lock);
    if (before)
        sonde__shared_map_take(&launched, before, NULL);
    if (followed && sonde__shared_map_put(&launched, graph, place + 1))
        sonde__shared_map_put(&execs, (uintptr_t)exec, graph);
}

/* Which type it is, only the begin of its creation tells: later all seem to be kernels. */
static void node_begins(CUgraphNodeType type)
{
    struct sonde_cuda_nodes *made = sonde__cuda_nodes_here();
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && atomic_load_explicit(&sonde__cuda_unloadings, memory_order_relaxed))
        sonde_note("kernels of a CUDA graph that was made after code was unloaded may have names of what was unloaded");
    if (made) {
        made->conditional |= type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
        made->child |= type == CU_GRAPH_NODE_TYPE_GRAPH;
    }
}

static void exec_created(CUgraphExec exec)
{
    struct sonde_cuda_nodes *made = sonde__cuda_nodes_here();
    uint32_t inner = 0, count = made && made->conditional && !made->child ? made->clones : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct clone *c = &here.clone[i];
        const uint64_t id = id_of(c->node);
        if (!id || id == c->id)
            continue;
        keep(id, c->origin);
        inner = (uint32_t)(id >> 32); /* the graph's */
    }
    if (made)
        made->clones = 0;
    sonde__pages_put(here.clone, here.room * sizeof *here.clone);
    here.clone = NULL;
    here.room = 0;
    sonde__shared_map_take(&execs, (uintptr_t)exec, NULL);
    if (inner && exec)
        follow(exec, inner);
}

void sonde__cuda_graph_resource(CUpti_CallbackId id, const CUpti_GraphData *graph)
{
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING) {
        node_begins(graph->nodeType);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        sonde__cuda_captured();
        keep(id_of(graph->node), sonde__cuda_context_here());
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        node_cloned(graph);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        exec_created(graph->graphExec);
    }
}

/* With the lock held; NULL, and not held: this graph is not followed. */
static struct launches *launches_of(uint64_t graph)
{
    uint64_t place = 0;
    if (!atomic_load_explicit(&graphs, memory_order_relaxed) || !sonde__shared_map_get(&launched, graph, &place))
        return NULL;
    sonde__lock(&lock);
    if (followed[place - 1].graph == graph)
        return &followed[place - 1];
    sonde__unlock(&lock); /* another has its place by now */
    return NULL;
}

void sonde__cuda_graph_launched(CUgraphExec exec, uint64_t key, uint64_t enter_ns)
{
    uint64_t graph;
    struct launches *all = atomic_load_explicit(&graphs, memory_order_relaxed) &&
                                   sonde__shared_map_get(&execs, (uintptr_t)exec, &graph)
                               ? launches_of(graph)
                               : NULL;
    if (!all)
        return;
    all->launch[all->count++ % LAUNCHES] = (struct launch){key, enter_ns, false};
    sonde__unlock(&lock);
}

void sonde__cuda_graph_ran(uint64_t node, uint64_t key, uint64_t start_ns)
{
    struct launches *all = launches_of(node >> 32);
    if (!all)
        return;
    for (uint32_t back = 1; back <= LAUNCHES && back <= all->count; back++) {
        struct launch *l = &all->launch[(all->count - back) % LAUNCHES];
        if (l->key != key)
            continue;
        if (!l->known || start_ns < l->start_ns)
            l->start_ns = start_ns;
        l->known = true;
        break;
    }
    sonde__unlock(&lock);
}

/* One whose beginning is known comes before any other: calls come long before their work. */
uint64_t sonde__cuda_graph_launch_of(uint64_t node, uint64_t start_ns)
{
    struct launches *all = launches_of(node >> 32);
    const struct launch *best = NULL, *oldest = NULL;
    uint64_t key = 0;
    if (!all)
        return 0;
    for (uint32_t i = 0; i < LAUNCHES && i < all->count; i++) {
        const struct launch *l = &all->launch[i];
        if (!oldest || l->start_ns < oldest->start_ns)
            oldest = l;
        if (l->start_ns <= start_ns && (!best || (l->known == best->known ? l->start_ns > best->start_ns : l->known)))
            best = l;
    }
    best = best ? best : oldest;
    key = best ? best->key : 0;
    sonde__unlock(&lock);
    return key;
}

/* execs.c - what a launch of an executable graph writes, or may write (--values).
 *
 * The driver does not tell the nodes of an executable graph. So they are read from the graph that it is made of, when it is made, and
 * followed where one is changed; a launch of which not all is known says so. Sets and copies write boxes. Of a kernel any byte of the
 * objects may be written to which its code writes or, where that cannot be followed, to which its parameters point.
 *
 * Which objects these are is found out at a launch, once more when memory was allocated or freed since.
 *
 * The lock is of all that is here; the driver is never called under it. A launch uses what it was given until it has copied: what
 * changes meanwhile is not followed any more.
 */
#include "sonde_cuda.h"

#include <string.h>

#include "guest/lock.h"

#define DEPTH_MAX 16u      /* of graphs within graphs */
#define BOXES_MAX 32u      /* of an object that are marked one by one */
#define LEAST     0x10000u /* no memory of CUDA's lies below */

struct written { /* by a node */
    struct sonde_cuda_box box; /* no width: any byte of the object there */
    uint32_t grain;            /* of a kernel's writes; 0: unknown */
    bool must, frees;          /* it surely writes there; it frees that */
};

struct node {
    CUgraphNode handle;
    uint32_t first, count, room; /* of what it writes */
    uint64_t missed;             /* bits, by enum sonde_value_missed */
    bool off;
};

struct list { /* in pages */
    void *at;
    uint32_t count, room;
};

struct sonde_cuda_exec {
    struct sonde_cuda_exec *next; /* of those to be used again */
    uint32_t users;
    bool gone, lost;              /* it was changed, and how is not known */
    struct list nodes, written;
    uint64_t version;             /* of memory, when this was found out; 0: it was not: */
    struct sonde_cuda_exec_writes writes;
};

static struct {
    struct sonde_lock lock;
    struct sonde_map by_handle; /* CUgraphExec -> struct sonde_cuda_exec */
    struct sonde_cuda_exec *spare;
    uint32_t made;
} all;

/* ---- making one ------------------------------------------------------------------------------------- */

/* Zeroed; NULL: no memory. */
static void *list_add(struct list *l, size_t each)
{
    if (l->count == l->room) {
        const uint32_t room = l->room ? 2 * l->room : 32;
        void *more = sonde__pages_get(room * each);
        if (!more)
            return NULL;
        if (l->count)
            memcpy(more, l->at, l->count * each);
        sonde__pages_put(l->at, l->room * each);
        l->at = more;
        l->room = room;
    }
    void *fresh = (char *)l->at + l->count++ * each;
    return memset(fresh, 0, each);
}

static void list_release(struct list *l, size_t each)
{
    sonde__pages_put(l->at, l->room * each);
    *l = (struct list){0};
}

static struct node *node_at(const struct sonde_cuda_exec *e, uint32_t i)
{
    return (struct node *)e->nodes.at + i;
}

static struct written *written_at(const struct sonde_cuda_exec *e, uint32_t i)
{
    return (struct written *)e->written.at + i;
}

static struct sonde_cuda_exec *exec_new(void)
{
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *e = all.spare;
    if (e)
        all.spare = e->next;
    const uint32_t number = ++all.made;
    sonde__unlock(&all.lock);
    e = e ? e : sonde__memory_get(sizeof *e);
    if (e) {
        e->users = 0;
        e->gone = e->lost = false;
        e->version = 0;
        e->writes.number = number;
    }
    return e;
}

/* Under the lock. */
static void drop(struct sonde_cuda_exec *e)
{
    e->gone = true;
    if (e->users)
        return;
    list_release(&e->nodes, sizeof(struct node));
    list_release(&e->written, sizeof(struct written));
    e->next = all.spare;
    all.spare = e;
}

static struct sonde_cuda_exec *find(CUgraphExec handle)
{
    const uint64_t *known = handle ? sonde__map_find(&all.by_handle, (uintptr_t)handle) : NULL;
    return known ? (void *)(uintptr_t)*known : NULL;
}

/* In the place of the one before, with its number. NULL: there is none from now on. */
static void publish(CUgraphExec handle, struct sonde_cuda_exec *e)
{
    if (!handle)
        return;
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *before = find(handle);
    if (before) {
        if (e)
            e->writes.number = before->writes.number;
        sonde__map_take(&all.by_handle, (uintptr_t)handle, NULL);
        drop(before);
    }
    if (e && (!sonde__map_room(&all.by_handle, NULL) || !sonde__map_add(&all.by_handle, NULL, (uintptr_t)handle, (uintptr_t)e)))
        drop(e);
    sonde__unlock(&all.lock);
}

/* ---- reading nodes ------------------------------------------------------------------------------------ */

struct reading { /* of one node */
    struct sonde_cuda_exec *exec;
    uint32_t node;
};

static void miss(const struct reading *r, enum sonde_value_missed why)
{
    node_at(r->exec, r->node)->missed |= 1ull << why;
}

static void add_written(const struct reading *r, const struct written *what)
{
    struct written *w = list_add(&r->exec->written, sizeof *w);
    if (!w) {
        miss(r, SONDE_VALUE_MISSED_NODES);
        return;
    }
    *w = *what;
    node_at(r->exec, r->node)->count++;
    node_at(r->exec, r->node)->room++;
}

/* Most words are no pointers. */
static void may_write(void *user, uint64_t word)
{
    if (word >= LEAST && sonde_object_at(word))
        add_written(user, &(struct written){.box.address = word});
}

static void add_kernel(struct reading *r, const CUDA_KERNEL_NODE_PARAMS *p)
{
    void *list[SONDE_CUDA_PARAMETERS_MAX];
    const CUfunction function = p->func ? p->func : (CUfunction)p->kern;
    const struct sonde_cuda_kernel *k = function ? sonde__cuda_kernel(function) : NULL;
    void **parameters = k && !p->kernelParams ? sonde__cuda_parameters(k, p->extra, list) : p->kernelParams;
    if (!k || (!parameters && k->parameters)) {
        miss(r, k ? SONDE_VALUE_MISSED_BUFFER : SONDE_VALUE_MISSED_NODES);
        return;
    }
    if (k->why) {
        sonde__cuda_each_word(k, parameters, may_write, r);
        return;
    }
    if (k->flow.writes_unknown)
        miss(r, SONDE_VALUE_MISSED_POINTERS);
    for (uint32_t i = 0; parameters && i < k->flow.pointer_count; i++)
        if (k->flow.pointers[i].grain)
            add_written(r, &(struct written){.box.address = sonde__cuda_pointer_of(k, parameters, i),
                                             .grain = k->flow.pointers[i].grain,
                                             .must = !k->flow.writes_unknown});
}

static void add_moved(const struct reading *r, const struct sonde_cuda_moved *m)
{
    if (m->writes && m->missed)
        miss(r, m->missed);
    else if (m->writes)
        add_written(r, &(struct written){.box = m->box, .must = true});
}

static void add_set(const struct reading *r, const CUDA_MEMSET_NODE_PARAMS *p)
{
    const struct sonde_cuda_box box = sonde__cuda_rectangle(p->dst, p->pitch, (uint64_t)p->elementSize * p->width, p->height);
    if (box.width)
        add_written(r, &(struct written){.box = box, .must = true});
}

/* Its node is the last. */
static bool read_node(struct reading *r, CUgraphNode handle, CUgraphNodeType type)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUdeviceptr freed;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (t->cuGraphKernelNodeGetParams_v2(handle, &kernel) != CUDA_SUCCESS)
            return false;
        add_kernel(r, &kernel);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
        if (t->cuGraphMemcpyNodeGetParams(handle, &copy) != CUDA_SUCCESS)
            return false;
        const struct sonde_cuda_moved m = sonde__cuda_moved_box(&copy);
        add_moved(r, &m);
        return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (t->cuGraphMemsetNodeGetParams(handle, &set) != CUDA_SUCCESS)
            return false;
        add_set(r, &set);
        return true;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (t->cuGraphMemFreeNodeGetParams(handle, &freed) != CUDA_SUCCESS)
            return false;
        add_written(r, &(struct written){.box.address = freed, .frees = true});
        return true;
    case CU_GRAPH_NODE_TYPE_GRAPH: /* its nodes come behind it */
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return true;
    default: /* batches of operations on memory; bodies of conditions */
        return false;
    }
}

/* False: no memory. */
static bool begin_node(struct reading *r, CUgraphNode handle)
{
    struct node *n = list_add(&r->exec->nodes, sizeof *n);
    if (!n) {
        r->exec->lost = true;
        return false;
    }
    n->handle = handle;
    n->first = r->exec->written.count;
    r->node = r->exec->nodes.count - 1;
    return true;
}

static void read_graph(struct sonde_cuda_exec *e, CUgraph graph, unsigned depth)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    size_t count = 0, room;
    if (depth == DEPTH_MAX || t->cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS) {
        e->lost = true;
        return;
    }
    room = count;
    CUgraphNode *nodes = count ? sonde__pages_get(count * sizeof *nodes) : NULL;
    if (count && (!nodes || t->cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS))
        e->lost = true;
    for (size_t i = 0; i < count && i < room && !e->lost; i++) {
        struct reading r = {.exec = e};
        CUgraphNodeType type;
        CUgraph child;
        if (!begin_node(&r, nodes[i]))
            break;
        if (t->cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS || !read_node(&r, nodes[i], type))
            miss(&r, SONDE_VALUE_MISSED_NODES);
        else if (type == CU_GRAPH_NODE_TYPE_GRAPH && t->cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS)
            read_graph(e, child, depth + 1);
        else if (type == CU_GRAPH_NODE_TYPE_GRAPH)
            miss(&r, SONDE_VALUE_MISSED_NODES);
    }
    sonde__pages_put(nodes, room * sizeof *nodes);
}

static void made(CUgraphExec handle, CUgraph graph)
{
    struct sonde_cuda_exec *e = exec_new();
    if (e)
        read_graph(e, graph, 0);
    publish(handle, e);
}

/* ---- changing nodes ------------------------------------------------------------------------------------- */

static void lose(CUgraphExec handle)
{
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *e = find(handle);
    if (e)
        e->lost = true;
    sonde__unlock(&all.lock);
}

/* Under the lock. In most cases it is the one behind the one that was sought last. */
static struct node *node_of(struct sonde_cuda_exec *e, CUgraphNode handle)
{
    static uint32_t last;
    for (uint32_t i = 1; i <= e->nodes.count; i++) {
        const uint32_t at = (last + i) % e->nodes.count;
        if (node_at(e, at)->handle == handle) {
            last = at;
            return node_at(e, at);
        }
    }
    return NULL;
}

/* Under the lock. `from` has one node. */
static bool replace(struct sonde_cuda_exec *e, CUgraphNode handle, const struct sonde_cuda_exec *from)
{
    struct node *n = e->users ? NULL : node_of(e, handle);
    const struct node *fresh = node_at(from, 0);
    if (!n)
        return false;
    if (fresh->count > n->room) {
        n->first = e->written.count;
        n->room = fresh->count;
        for (uint32_t i = 0; i < fresh->count; i++)
            if (!list_add(&e->written, sizeof(struct written)))
                return false;
    }
    for (uint32_t i = 0; i < fresh->count; i++)
        *written_at(e, n->first + i) = *written_at(from, i);
    n->count = fresh->count;
    n->missed = fresh->missed;
    e->version = 0;
    return true;
}

struct change {
    CUgraphExec exec;
    CUgraphNode node;
    const CUDA_KERNEL_NODE_PARAMS *kernel; /* one of these */
    const CUDA_MEMCPY3D *copy;
    const CUDA_MEMSET_NODE_PARAMS *set;
};

static void change(const struct change *c)
{
    struct reading r = {.exec = exec_new()};
    const bool ready = r.exec && begin_node(&r, c->node);
    if (ready && c->kernel) {
        add_kernel(&r, c->kernel);
    } else if (ready && c->copy) {
        const struct sonde_cuda_moved m = sonde__cuda_moved_box(c->copy);
        add_moved(&r, &m);
    } else if (ready && c->set) {
        add_set(&r, c->set);
    }
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *e = find(c->exec);
    if (e && (!ready || !replace(e, c->node, r.exec)))
        e->lost = true;
    if (r.exec)
        drop(r.exec);
    sonde__unlock(&all.lock);
}

static void change_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
    switch (p ? (int)p->type : -1) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS kernel = {
            .func = p->kernel.func, .kernelParams = p->kernel.kernelParams, .extra = p->kernel.extra, .kern = p->kernel.kern};
        change(&(struct change){exec, node, .kernel = &kernel});
        break;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        change(&(struct change){exec, node, .copy = &p->memcpy.copyParams});
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS set = {
            .dst = p->memset.dst, .pitch = p->memset.pitch, .elementSize = p->memset.elementSize, .width = p->memset.width, .height = p->memset.height};
        change(&(struct change){exec, node, .set = &set});
        break;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        break;
    default:
        lose(exec);
    }
}

static void enable(CUgraphExec exec, CUgraphNode handle, bool on)
{
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *e = find(exec);
    struct node *n = e ? node_of(e, handle) : NULL;
    if (n)
        n->off = !on;
    else if (e)
        e->lost = true;
    if (e)
        e->version = 0;
    sonde__unlock(&all.lock);
}

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
#define PARAMS(name) const name##_params *p = params

static void changed(uint32_t id, const void *params)
{
    switch (id) {
    case ID(cuGraphInstantiate):
    case ID(cuGraphInstantiate_v2):
    case ID(cuGraphInstantiateWithFlags):
    case ID(cuGraphInstantiateWithParams):
    case ID(cuGraphInstantiateWithParams_ptsz): { /* these begin alike */
        PARAMS(cuGraphInstantiate);
        made(*p->phGraphExec, p->hGraph);
        break;
    }
    case ID(cuGraphExecUpdate):
    case ID(cuGraphExecUpdate_v2): { /* and these */
        PARAMS(cuGraphExecUpdate);
        made(p->hGraphExec, p->hGraph);
        break;
    }
    case ID(cuGraphExecKernelNodeSetParams): {
        PARAMS(cuGraphExecKernelNodeSetParams);
        const CUDA_KERNEL_NODE_PARAMS kernel = {.func = p->nodeParams->func, .kernelParams = p->nodeParams->kernelParams, .extra = p->nodeParams->extra};
        change(&(struct change){p->hGraphExec, p->hNode, .kernel = &kernel});
        break;
    }
    case ID(cuGraphExecKernelNodeSetParams_v2): {
        PARAMS(cuGraphExecKernelNodeSetParams_v2);
        change(&(struct change){p->hGraphExec, p->hNode, .kernel = p->nodeParams});
        break;
    }
    case ID(cuGraphExecMemcpyNodeSetParams): {
        PARAMS(cuGraphExecMemcpyNodeSetParams);
        change(&(struct change){p->hGraphExec, p->hNode, .copy = p->copyParams});
        break;
    }
    case ID(cuGraphExecMemsetNodeSetParams): {
        PARAMS(cuGraphExecMemsetNodeSetParams);
        change(&(struct change){p->hGraphExec, p->hNode, .set = p->memsetParams});
        break;
    }
    case ID(cuGraphExecNodeSetParams): {
        PARAMS(cuGraphExecNodeSetParams);
        change_any(p->hGraphExec, p->hNode, p->nodeParams);
        break;
    }
    case ID(cuGraphNodeSetEnabled): {
        PARAMS(cuGraphNodeSetEnabled);
        enable(p->hGraphExec, p->hNode, p->isEnabled);
        break;
    }
    default: { /* the executable graph comes first in all of them */
        PARAMS(cuGraphExecDestroy);
        lose(p->hGraphExec);
    }
    }
}

void sonde__cuda_exec_changed(uint32_t id, const void *params, bool done)
{
    const bool update = id == ID(cuGraphExecUpdate) || id == ID(cuGraphExecUpdate_v2);
    sonde__cuda_quiet(true);
    if (done)
        changed(id, params);
    else if (update) /* how much of it was done is not said */
        lose(((const cuGraphExecUpdate_params *)params)->hGraphExec);
    sonde__cuda_quiet(false);
}

CUfunction sonde__cuda_node_kernel(uint32_t id, const void *params)
{
    switch (id) {
    case ID(cuGraphAddKernelNode): {
        PARAMS(cuGraphAddKernelNode);
        return p->nodeParams ? p->nodeParams->func : NULL;
    }
    case ID(cuGraphAddKernelNode_v2): {
        PARAMS(cuGraphAddKernelNode_v2);
        return p->nodeParams ? (p->nodeParams->func ? p->nodeParams->func : (CUfunction)p->nodeParams->kern) : NULL;
    }
    case ID(cuGraphAddNode):
    case ID(cuGraphAddNode_v2): {
        const CUgraphNodeParams *n = id == ID(cuGraphAddNode) ? ((const cuGraphAddNode_params *)params)->nodeParams : ((const cuGraphAddNode_v2_params *)params)->nodeParams;
        return n && n->type == CU_GRAPH_NODE_TYPE_KERNEL ? (n->kernel.func ? n->kernel.func : (CUfunction)n->kernel.kern) : NULL;
    }
    default:
        return NULL;
    }
}

void sonde__cuda_exec_gone(CUgraphExec exec)
{
    publish(exec, NULL);
}

/* ---- a launch --------------------------------------------------------------------------------------------- */

static struct sonde_cuda_exec_object *object_in(struct sonde_cuda_exec_writes *w, uint32_t object)
{
    struct sonde_cuda_exec_object *o = w->object;
    while (o < w->object + w->count && o->object != object)
        o++;
    if (o < w->object + w->count)
        return o;
    if (w->count == SONDE_CUDA_TARGETS_MAX) {
        w->missed |= 1ull << SONDE_VALUE_MISSED_OBJECTS;
        return NULL;
    }
    w->count++;
    *o = (struct sonde_cuda_exec_object){.object = object};
    return o;
}

static void place(struct sonde_cuda_exec_writes *writes, struct written *w)
{
    const uint32_t object = w->box.address < LEAST ? 0 : sonde_object_at(w->box.address);
    struct sonde_cuda_exec_object *o = object ? object_in(writes, object) : NULL;
    if (!object && w->must && w->box.address)
        writes->missed |= 1ull << SONDE_VALUE_MISSED_OBJECT;
    if (!o)
        return;
    o->address = w->box.address;
    o->freed |= w->frees;
    if (w->box.width) {
        w->box.next = o->boxes;
        o->boxes = &w->box;
        o->count++;
    } else {
        o->any = true;
    }
    if (w->grain && (!o->element_bytes || w->grain < o->element_bytes))
        o->element_bytes = w->grain;
}

/* Where a box is all of the object, all of it is written, whatever else is. */
static void settle(struct sonde_cuda_exec_object *o)
{
    struct sonde_object_info info;
    if (!o->any && o->count <= BOXES_MAX)
        return;
    struct sonde_cuda_box *b = sonde_object_find(o->object, &info) ? o->boxes : NULL;
    while (b && !sonde__cuda_box_covers(b, info.address, info.bytes))
        b = b->next;
    o->boxes = b;
    if (b)
        b->next = NULL;
}

/* What a node frees is not there behind the launch. */
static void settle_all(struct sonde_cuda_exec_writes *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->object[i].freed) {
            w->missed |= 1ull << SONDE_VALUE_MISSED_NODES;
            continue;
        }
        w->object[kept] = w->object[i];
        settle(&w->object[kept++]);
    }
    w->count = kept;
}

static void find_objects(struct sonde_cuda_exec *e)
{
    const uint64_t version = sonde__cuda_memory_version();
    struct sonde_cuda_exec_writes *w = &e->writes;
    if (e->version == version)
        return;
    w->count = w->missed = 0;
    for (uint32_t i = 0; i < e->nodes.count; i++) {
        const struct node *n = node_at(e, i);
        w->missed |= n->off ? 0 : n->missed;
        for (uint32_t k = 0; !n->off && k < n->count; k++)
            place(w, written_at(e, n->first + k));
    }
    settle_all(w);
    e->version = version;
}

const struct sonde_cuda_exec_writes *sonde__cuda_exec_writes(CUgraphExec handle, struct sonde_cuda_exec **out)
{
    sonde__lock(&all.lock);
    struct sonde_cuda_exec *e = find(handle);
    if (e && e->lost)
        e = NULL;
    if (e && !e->users++) /* else it was done just now */
        find_objects(e);
    sonde__unlock(&all.lock);
    *out = e;
    return e ? &e->writes : NULL;
}

void sonde__cuda_exec_put(struct sonde_cuda_exec *e)
{
    if (!e)
        return;
    sonde__lock(&all.lock);
    if (--e->users == 0 && e->gone)
        drop(e);
    sonde__unlock(&all.lock);
}

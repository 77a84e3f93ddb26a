/* flow.c - see flow.h: FLOW rows become vertices by place in the tree, and edges by vertices and allocation site. */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define NONE UINT32_MAX

struct builder {
    const struct sonde_profile *profile;
    const struct sonde_values *values;
    struct sonde_flow *out;
    struct sonde_map vertices, edges; /* -> index */
};

/* ---- vertices and edges ------------------------------------------------------------------------- */

static uint32_t vertex_of(struct builder *b, enum sonde_flow_kind kind, uint32_t node, uint32_t object_kind)
{
    const uint64_t key = ((uint64_t)kind << 56 | (uint64_t)object_kind << 40 | node) + 1;
    uint64_t at;
    if (sonde_map_get(&b->vertices, key, &at))
        return (uint32_t)at;
    const struct sonde_metrics *self = &b->profile->nodes.items[node].self;
    struct sonde_flow_vertex fresh = {.kind = kind, .node = node, .object_kind = object_kind};
    if (kind == SONDE_FLOW_OPERATION)
        fresh.operations = self->operations, fresh.time_ns = self->device_ns;
    at = b->out->vertices.count;
    return sonde_vector_push(&b->out->vertices, fresh) || sonde_map_put(&b->vertices, key, at) ? NONE : (uint32_t)at;
}

static int add_edge(struct builder *b, const struct sonde_flow_edge *edge)
{
    const uint64_t key = sonde_hash_mix((uint64_t)edge->from << 32 | edge->to, (uint64_t)edge->object_kind << 32 | edge->object_node) | 1;
    uint64_t at;
    if (!sonde_map_get(&b->edges, key, &at)) {
        at = b->out->edges.count;
        return sonde_vector_push(&b->out->edges, *edge) || sonde_map_put(&b->edges, key, at) ? SONDE_ENOMEM : 0;
    }
    struct sonde_flow_edge *known = &b->out->edges.items[at];
    known->how |= edge->how;
    known->elements = edge->elements ? edge->elements : known->elements;
    known->unchanged = edge->elements ? edge->unchanged : known->unchanged;
    known->operations += edge->operations;
    known->bytes += edge->bytes;
    return 0;
}

/* What the operation left unchanged of the site's objects. */
static void add_unchanged(const struct builder *b, struct sonde_flow_edge *edge, uint32_t leaf)
{
    for (size_t i = 0; i < b->values->sites.count; i++) {
        const struct sonde_value_site *site = &b->values->sites.items[i];
        for (size_t k = 0; site->kind == edge->object_kind && site->node == edge->object_node && k < site->redundant.count; k++)
            if (site->redundant.items[k].operation == leaf) {
                edge->elements = site->redundant.items[k].elements;
                edge->unchanged = site->redundant.items[k].unchanged;
            }
    }
}

static int add_row(struct builder *b, const struct sonde_process *p, uint32_t process, const struct sonde_row_flow *row)
{
    const struct sonde_row_object *o = row->object < p->object_count ? &p->objects[row->object] : NULL;
    struct sonde_flow_edge edge = {.how = row->how, .operations = row->operations, .bytes = row->bytes};
    if (!row->to || !o)
        return 0;
    const uint32_t leaf = sonde_profile_locate(b->profile, process, row->to);
    const uint8_t op = b->profile->nodes.items[leaf].op;
    edge.object_kind = o->kind;
    edge.object_node = sonde_profile_locate(b->profile, process, o->node);
    edge.to = vertex_of(b, SONDE_FLOW_OPERATION, leaf, 0);
    edge.from = row->from ? vertex_of(b, SONDE_FLOW_OPERATION, sonde_profile_locate(b->profile, process, row->from), 0)
                          : vertex_of(b, SONDE_FLOW_ALLOCATION, edge.object_node, edge.object_kind);
    if (edge.to == NONE || edge.from == NONE)
        return SONDE_ENOMEM;
    if (row->how & SONDE_FLOW_WRITE)
        add_unchanged(b, &edge, leaf);
    if (add_edge(b, &edge))
        return SONDE_ENOMEM;
    if (op != SONDE_OP_READ && op != SONDE_OP_WRITE)
        return 0;
    const uint32_t host = vertex_of(b, SONDE_FLOW_HOST, 0, 0);
    struct sonde_flow_edge across = edge;
    across.from = op == SONDE_OP_READ ? edge.to : host;
    across.to = op == SONDE_OP_READ ? host : edge.to;
    across.elements = across.unchanged = 0;
    return host == NONE || add_edge(b, &across) ? SONDE_ENOMEM : 0;
}

static void count_objects(struct builder *b, const struct sonde_process *p, uint32_t process)
{
    for (uint32_t i = 1; i < p->object_count; i++) {
        const uint32_t node = sonde_profile_locate(b->profile, process, p->objects[i].node);
        const uint64_t key = ((uint64_t)SONDE_FLOW_ALLOCATION << 56 | (uint64_t)p->objects[i].kind << 40 | node) + 1;
        uint64_t at;
        if (sonde_map_get(&b->vertices, key, &at))
            b->out->vertices.items[at].operations++;
    }
}

/* ---- order -------------------------------------------------------------------------------------------- */

static int by_kind_and_node(const void *left, const void *right)
{
    const struct sonde_flow_vertex *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->object_kind < b->object_kind ? -1 : a->object_kind > b->object_kind;
}

static int by_bytes(const void *left, const void *right)
{
    const struct sonde_flow_edge *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->object_node < b->object_node ? -1 : a->object_node > b->object_node;
}

/* Vertices that are not `kept` go, with their edges; `edge_kept` says which edges stay. Both arrays are the caller's. */
static int keep(struct sonde_flow *flow, const bool *kept, const bool *edge_kept)
{
    uint32_t *to = malloc((flow->vertices.count + 1) * sizeof *to), count = 0;
    size_t edges = 0;
    if (!to)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < flow->vertices.count; i++) {
        to[i] = kept[i] ? count : NONE;
        if (kept[i])
            flow->vertices.items[count++] = flow->vertices.items[i];
    }
    flow->vertices.count = count;
    for (size_t i = 0; i < flow->edges.count; i++) {
        struct sonde_flow_edge edge = flow->edges.items[i];
        if (!edge_kept[i] || to[edge.from] == NONE || to[edge.to] == NONE)
            continue;
        edge.from = to[edge.from], edge.to = to[edge.to];
        flow->edges.items[edges++] = edge;
    }
    flow->edges.count = edges;
    free(to);
    return 0;
}

struct place {
    struct sonde_flow_vertex vertex;
    uint32_t was;
};

static int by_vertex(const void *left, const void *right)
{
    return by_kind_and_node(&((const struct place *)left)->vertex, &((const struct place *)right)->vertex);
}

static int sort(struct sonde_flow *flow)
{
    const size_t count = flow->vertices.count;
    struct place *places = malloc((count + 1) * sizeof *places);
    uint32_t *to = malloc((count + 1) * sizeof *to);
    for (size_t i = 0; i < count && places && to; i++)
        places[i] = (struct place){flow->vertices.items[i], (uint32_t)i};
    if (places && to) {
        qsort(places, count, sizeof *places, by_vertex);
        for (size_t i = 0; i < count; i++) {
            flow->vertices.items[i] = places[i].vertex;
            flow->vertices.items[i].id = (uint32_t)i;
            to[places[i].was] = (uint32_t)i;
        }
        for (size_t i = 0; i < flow->edges.count; i++)
            flow->edges.items[i].from = to[flow->edges.items[i].from], flow->edges.items[i].to = to[flow->edges.items[i].to];
        if (flow->edges.count)
            qsort(flow->edges.items, flow->edges.count, sizeof *flow->edges.items, by_bytes);
    }
    const int rc = places && to ? 0 : SONDE_ENOMEM;
    free(places);
    free(to);
    return rc;
}

/* ---- the graph ------------------------------------------------------------------------------------------- */

int sonde_flow_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_values *values, struct sonde_flow *out)
{
    struct builder b = {.profile = profile, .values = values, .out = out};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_row_flow *rows = m->processes[i].tables[SONDE_TABLE_FLOW].rows;
        for (uint32_t k = 1; k < m->processes[i].tables[SONDE_TABLE_FLOW].count && !rc; k++)
            rc = add_row(&b, &m->processes[i], i, &rows[k]);
    }
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        count_objects(&b, &m->processes[i], i);
    sonde_map_fini(&b.vertices);
    sonde_map_fini(&b.edges);
    return rc ? rc : sort(out);
}

/* ---- parts of it ------------------------------------------------------------------------------------------ */

static bool is_of(const struct sonde_flow_edge *a, const struct sonde_flow_edge *b)
{
    return a->object_kind == b->object_kind && a->object_node == b->object_node;
}

/* Edges of the object of `of` on a path that ends at the vertex (`back`), or begins there. */
static void mark(const struct sonde_flow *flow, uint32_t vertex, const struct sonde_flow_edge *of, bool back, bool *edge_kept, bool *reached)
{
    bool more = true;
    memset(reached, 0, flow->vertices.count * sizeof *reached);
    reached[vertex] = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < flow->edges.count; i++) {
            const struct sonde_flow_edge *e = &flow->edges.items[i];
            const uint32_t near = back ? e->to : e->from, far = back ? e->from : e->to;
            if (!is_of(e, of) || !reached[near])
                continue;
            more |= !reached[far];
            edge_kept[i] = reached[far] = true;
        }
    }
}

int sonde_flow_slice(struct sonde_flow *flow, uint32_t vertex)
{
    bool *kept = calloc(flow->vertices.count + 1, sizeof *kept), *reached = calloc(flow->vertices.count + 1, sizeof *reached);
    bool *edge_kept = calloc(flow->edges.count + 1, sizeof *edge_kept);
    int rc = kept && reached && edge_kept ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < flow->edges.count && !rc; i++) {
        const struct sonde_flow_edge *e = &flow->edges.items[i];
        if (e->from != vertex && e->to != vertex)
            continue;
        mark(flow, vertex, e, true, edge_kept, reached);
        mark(flow, vertex, e, false, edge_kept, reached);
    }
    for (size_t i = 0; i < flow->edges.count && !rc; i++)
        if (edge_kept[i])
            kept[flow->edges.items[i].from] = kept[flow->edges.items[i].to] = true;
    rc = rc ? rc : keep(flow, kept, edge_kept);
    free(kept);
    free(reached);
    free(edge_kept);
    return rc;
}

static bool is_important_edge(const struct sonde_flow_edge *e, const struct sonde_flow_important *least)
{
    const bool asked = least->bytes > 0 || least->accesses > 0 || least->unchanged > 0;
    return asked && (double)e->bytes >= least->bytes && (double)e->operations >= least->accesses &&
           (double)e->unchanged >= least->unchanged * (double)e->elements && (e->elements || !(least->unchanged > 0));
}

static bool is_important_vertex(const struct sonde_flow_vertex *v, const struct sonde_flow_important *least)
{
    return (least->operations > 0 || least->time_ns > 0) && (double)v->operations >= least->operations && (double)v->time_ns >= least->time_ns;
}

int sonde_flow_prune(struct sonde_flow *flow, const struct sonde_flow_important *least)
{
    bool *kept = calloc(flow->vertices.count + 1, sizeof *kept), *edge_kept = calloc(flow->edges.count + 1, sizeof *edge_kept);
    int rc = kept && edge_kept ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < flow->vertices.count && !rc; i++)
        kept[i] = is_important_vertex(&flow->vertices.items[i], least);
    for (size_t i = 0; i < flow->edges.count && !rc; i++) {
        const struct sonde_flow_edge *e = &flow->edges.items[i];
        edge_kept[i] = is_important_edge(e, least);
        if (edge_kept[i])
            kept[e->from] = kept[e->to] = true;
    }
    rc = rc ? rc : keep(flow, kept, edge_kept);
    free(kept);
    free(edge_kept);
    return rc;
}

void sonde_flow_fini(struct sonde_flow *flow)
{
    sonde_vector_fini(&flow->vertices);
    sonde_vector_fini(&flow->edges);
}

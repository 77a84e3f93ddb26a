/* values_graph.c - the value flow graph (analyze/answers/values/flow.h) as tables of the view `values`. */
#include "values_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "names.h"

static const struct sonde_view_column vertex_columns[] = {
    {"id", NULL, SONDE_CELL_ID, 0, 0, "number of the vertex; the same with --vertex and --important"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "host, allocation or operation"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kernel or API call; of an allocation the kind of the objects"},
    {"called_from", NULL, SONDE_CELL_TEXT, 0, 0, "calling context, innermost frame first; null for the host"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "operations completed; of an allocation objects"},
    {"time_ns", NULL, SONDE_CELL_TIME, 0, 0, "device time of the operations"},
};
static const struct sonde_view_columns vertices = SONDE_VIEW_COLUMNS("vertices", vertex_columns);

static const struct sonde_view_column edge_columns[] = {
    {"from", NULL, SONDE_CELL_ID, 0, 0, "vertex that wrote the objects last, or allocated them, or the host"},
    {"to", NULL, SONDE_CELL_ID, 0, 0, "vertex that reads or writes them, or the host"},
    {"object", NULL, SONDE_CELL_TEXT, 0, 0, "kind of data object and where it was allocated"},
    {"reads", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the vertex `to` reads the objects"},
    {"writes", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the vertex `to` writes the objects"},
    {"exact", NULL, SONDE_CELL_BOOLEAN, 0, 0, "false: it may do less: what its code does to them is not known"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "number of operations"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "size that they read or wrote; of kernels, of the objects"},
    {"unchanged", NULL, SONDE_CELL_SHARE, 0, 0, "part of the elements that `to` wrote to these objects that held the same value before; null: not compared"},
};
static const struct sonde_view_columns edges = SONDE_VIEW_COLUMNS("edges", edge_columns);

static const struct sonde_view_column graph_columns[] = {
    {"vertices", NULL, SONDE_CELL_LIST, 0, 0, "allocations, operations by calling context, and the host", .of = &vertices},
    {"edges", NULL, SONDE_CELL_LIST, 0, 0, "who reads or writes what which other wrote last, by allocation site of the objects, most bytes first", .of = &edges},
};
const struct sonde_view_columns sonde__values_graph = SONDE_VIEW_COLUMNS("graph", graph_columns);

static const struct sonde_view_column row_columns[] = {
    {NULL, "From", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "who wrote the objects last, or allocated them: number of the vertex, name, calling context"},
    {NULL, "to", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "who reads or writes them"},
    {NULL, "does", SONDE_CELL_TEXT, 0, 0, "reads, writes or both; ?: as far as its arguments say"},
    {NULL, "operations", SONDE_CELL_COUNT, 0, 1, "number of operations"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 0, "size that they read or wrote; of kernels, of the objects"},
    {NULL, "% unchanged", SONDE_CELL_SHARE, 0, 0, "% of the elements written that held the same value before"},
    {NULL, "object", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "kind of data object and where it was allocated"},
};
const struct sonde_view_columns sonde__values_flow = SONDE_VIEW_COLUMNS("flow", row_columns);

/* ---- cells -------------------------------------------------------------------------------- */

static const char *kind_name(const struct sonde_flow_vertex *v)
{
    return v->kind == SONDE_FLOW_HOST ? "host" : v->kind == SONDE_FLOW_ALLOCATION ? "allocation"
                                                                                  : "operation";
}

static const char *name_of(const struct sonde_query *q, const struct sonde_flow_vertex *v)
{
    return v->kind == SONDE_FLOW_HOST         ? "host"
           : v->kind == SONDE_FLOW_ALLOCATION ? sonde_object_kind_name(v->object_kind)
                                              : sonde_value_operation_name(q->profile, v->node);
}

static void name_object(const struct sonde_query *q, struct sonde_text *out, uint32_t kind, uint32_t node)
{
    sonde_text_format(out, node ? "%s in " : "%s", sonde_object_kind_name(kind));
    if (node)
        sonde_name_callers(q, out, node, 2);
}

static void cell_object(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_flow_edge *e)
{
    struct sonde_text text = {0};
    name_object(q, &text, e->object_kind, e->object_node);
    sonde_cell_take(t, &text);
}

/* "3 stencil5 in step() heat.c:97 ← main()" */
static void cell_vertex(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_flow_vertex *v)
{
    struct sonde_text text = {0};
    sonde_text_format(&text, "%" PRIu32 " %s", v->id, name_of(q, v));
    if (v->node) {
        sonde_text_add(&text, " in ");
        sonde_name_callers(q, &text, v->node, 2);
    }
    sonde_cell_take(t, &text);
}

static void vertex_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_flow_vertex *v)
{
    struct sonde_text text = {0};
    sonde_cell_int(t, true, v->id);
    sonde_cell_text(t, kind_name(v));
    sonde_cell_text(t, name_of(q, v));
    if (v->node)
        sonde_name_callers(q, &text, v->node, SONDE_GRAPH_FRAMES);
    if (v->node)
        sonde_cell_take(t, &text);
    else
        sonde_cell_text(t, NULL);
    sonde_cell_int(t, true, v->operations);
    sonde_cell_int(t, v->kind == SONDE_FLOW_OPERATION, v->time_ns);
}

static void cell_unchanged(struct sonde_view_table *t, const struct sonde_flow_edge *e)
{
    if (e->elements)
        sonde_cell_share(t, (double)e->unchanged, (double)e->elements);
    else
        sonde_cell_unknown(t);
}

static void edge_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_flow *g, const struct sonde_flow_edge *e)
{
    sonde_cell_int(t, true, g->vertices.items[e->from].id);
    sonde_cell_int(t, true, g->vertices.items[e->to].id);
    cell_object(t, q, e);
    sonde_cell_boolean(t, e->how & SONDE_FLOW_READ);
    sonde_cell_boolean(t, e->how & SONDE_FLOW_WRITE);
    sonde_cell_boolean(t, !(e->how & SONDE_FLOW_MAYBE));
    sonde_cell_int(t, true, e->operations);
    sonde_cell_int(t, true, e->bytes);
    cell_unchanged(t, e);
}

static void flow_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_flow *g, const struct sonde_flow_edge *e)
{
    static const char *const does[] = {"-", "reads", "writes", "reads, writes"};
    struct sonde_text text = {0};
    cell_vertex(t, q, &g->vertices.items[e->from]);
    cell_vertex(t, q, &g->vertices.items[e->to]);
    sonde_text_format(&text, "%s%s", does[e->how & (SONDE_FLOW_READ | SONDE_FLOW_WRITE)], e->how & SONDE_FLOW_MAYBE ? " ?" : "");
    sonde_cell_take(t, &text);
    sonde_cell_int(t, true, e->operations);
    sonde_cell_int(t, true, e->bytes);
    cell_unchanged(t, e);
    cell_object(t, q, e);
}

/* ---- which part ------------------------------------------------------------------------------ */

/* "bytes=1M,unchanged=33,operations=10". False: it cannot be read. */
static bool read_important(const char *text, struct sonde_flow_important *out)
{
    const struct {
        const char *name;
        double *to, unit;
    } metrics[] = {
        {"bytes=", &out->bytes, 1},
        {"accesses=", &out->accesses, 1},
        {"unchanged=", &out->unchanged, 0.01},
        {"operations=", &out->operations, 1},
        {"time=", &out->time_ns, 1},
    };
    for (char *end; *text; text = end + (*end == ',')) {
        size_t i = 0;
        while (i < sizeof metrics / sizeof *metrics && strncmp(text, metrics[i].name, strlen(metrics[i].name)) != 0)
            i++;
        if (i == sizeof metrics / sizeof *metrics)
            return false;
        text += strlen(metrics[i].name);
        double value = strtod(text, &end);
        const char *units = "kMGT", *unit = *end ? strchr(units, *end) : NULL;
        if (end == text || !(value > 0))
            return false;
        for (const char *u = units; unit && u <= unit; u++)
            value *= 1000;
        end += unit != NULL;
        if (*end && *end != ',')
            return false;
        *metrics[i].to = value * metrics[i].unit;
    }
    return true;
}

int sonde__values_graph_take(const struct sonde_query *q, struct sonde_flow *g, struct sonde_diag *diag)
{
    struct sonde_flow_important least = {0};
    uint32_t at = 0;
    int rc = 0;
    if (q->values.important && !read_important(q->values.important, &least)) {
        rc = sonde_diag_set(diag, SONDE_EINVALID, q->values.important, "cannot read --important");
        snprintf(diag->why, sizeof diag->why, "it takes METRIC=NUMBER, with commas between: bytes, accesses or unchanged (%%) of an edge, operations or time (ns) of a vertex");
        return rc;
    }
    while (q->values.vertex_given && at < g->vertices.count && g->vertices.items[at].id != q->values.vertex)
        at++;
    if (q->values.vertex_given && at == g->vertices.count) {
        rc = sonde_diag_set(diag, SONDE_ENOTFOUND, q->path, "there is no such vertex in the value flow graph of");
        sonde_diag_hint(diag, "--graph without --vertex shows them all");
        return rc;
    }
    if (q->values.vertex_given)
        rc = sonde_flow_slice(g, at);
    if (!rc && q->values.important)
        rc = sonde_flow_prune(g, &least);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the values of") : 0;
}

void sonde__values_graph_fill(const struct sonde_query *q, const struct sonde_flow *g, struct sonde_view_table *graph, struct sonde_view_table *flow)
{
    struct sonde_view_table *all = sonde_cell_list(graph), *between = sonde_cell_list(graph);
    for (size_t i = 0; i < g->vertices.count; i++)
        vertex_row(all, q, &g->vertices.items[i]);
    for (size_t i = 0; i < g->edges.count; i++) {
        edge_row(between, q, g, &g->edges.items[i]);
        const bool place = sonde_query_rows(q, i + 1) == i + 1;
        if (place)
            flow_row(flow, q, g, &g->edges.items[i]);
        flow->left_out += !place;
    }
}

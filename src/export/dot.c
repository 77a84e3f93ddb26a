/* dot.c - the value flow graph (ValueExpert's definition 5.1) in Graphviz's language (graphviz.org/doc/info/lang.html).
 *
 * As in the paper's figures boxes are allocations, circles copies and fills, ovals kernels; an edge is as thick as its bytes ask, red where
 * at least 33 % of what it wrote were the same before, else green.
 */
#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/answers/values/flow.h"
#include "base/number.h"
#include "base/utf8.h"
#include "names.h"

struct writer {
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_text clean;
};

/* Within a quoted string. */
static void put_text(struct writer *w, const char *text)
{
    for (const char *s = sonde_utf8_clean(text, &w->clean); *s; s++) {
        if (*s == '"' || *s == '\\')
            sonde_out_char(w->out, '\\');
        if (*s == '\n')
            sonde_out_text(w->out, "\\n");
        else
            sonde_out_char(w->out, *s);
    }
}

static void put_number(struct writer *w, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, number);
    sonde_out_text(w->out, text);
}

static void put_vertex(struct writer *w, const struct sonde_flow_vertex *v)
{
    const bool kernel = v->kind == SONDE_FLOW_OPERATION && sonde_op_kind_runs(w->names.profile->nodes.items[v->node].op);
    char count[SONDE_NUMBER_MAX];
    sonde_out_text(w->out, "  ");
    put_number(w, v->id);
    sonde_out_text(w->out, v->kind == SONDE_FLOW_HOST         ? " [shape=diamond, label=\""
                           : v->kind == SONDE_FLOW_ALLOCATION ? " [shape=box, label=\""
                           : kernel                           ? " [shape=ellipse, label=\""
                                                              : " [shape=circle, label=\"");
    put_number(w, v->id);
    sonde_out_char(w->out, ' ');
    put_text(w, v->kind == SONDE_FLOW_HOST         ? "host"
                : v->kind == SONDE_FLOW_ALLOCATION ? sonde_object_kind_name(v->object_kind)
                                                   : sonde_value_operation_name(w->names.profile, v->node));
    if (v->node) {
        sonde_out_text(w->out, "\\n");
        put_text(w, sonde_names_callers(&w->names, v->node, 1));
    }
    if (v->kind != SONDE_FLOW_HOST) {
        sonde_out_text(w->out, "\\n");
        put_text(w, sonde_number_count(count, v->operations));
        sonde_out_char(w->out, 'x');
    }
    sonde_out_text(w->out, "\", tooltip=\"");
    put_text(w, v->node ? sonde_names_callers(&w->names, v->node, 64) : "host");
    sonde_out_text(w->out, "\"];\n");
}

static void put_edge(struct writer *w, const struct sonde_flow *flow, const struct sonde_flow_edge *e)
{
    char text[SONDE_NUMBER_MAX], style[64];
    const bool redundant = e->elements && (double)e->unchanged >= SONDE_VALUES_THRESHOLD * (double)e->elements;
    sonde_out_text(w->out, "  ");
    put_number(w, flow->vertices.items[e->from].id);
    sonde_out_text(w->out, " -> ");
    put_number(w, flow->vertices.items[e->to].id);
    snprintf(style, sizeof style, " [color=%s, penwidth=%.1f, label=\"", redundant ? "red" : "green4", 1 + log10(1 + (double)e->bytes / 1000));
    sonde_out_text(w->out, style);
    put_text(w, e->how & SONDE_FLOW_WRITE ? e->how & SONDE_FLOW_READ ? "reads, writes " : "writes " : "reads ");
    put_text(w, sonde_number_bytes(text, e->bytes));
    if (e->elements) {
        put_text(w, ", ");
        put_text(w, sonde_number_percent(text, (double)e->unchanged, (double)e->elements));
        put_text(w, " unchanged");
    }
    sonde_out_text(w->out, "\", tooltip=\"");
    put_text(w, sonde_object_kind_name(e->object_kind));
    put_text(w, " ");
    put_text(w, e->object_node ? sonde_names_callers(&w->names, e->object_node, 64) : "");
    sonde_out_text(w->out, "\"];\n");
}

static int write_graph(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                       struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.out = out};
    struct sonde_values values = {0};
    struct sonde_flow flow = {0};
    (void)progress;
    int rc = sonde_names_init(&w.names, m, diag);
    if (rc)
        return rc;
    rc = sonde_values_compute(m, w.names.profile, SONDE_VALUES_THRESHOLD, &values);
    rc = rc ? rc : sonde_flow_compute(m, w.names.profile, &values, &flow);
    if (rc) {
        sonde_diag_set(diag, rc, m->path, "cannot read the values of");
    } else if (!flow.edges.count) {
        rc = sonde_diag_set(diag, SONDE_EEMPTY, m->path, "there is no value flow graph in");
        sonde_diag_hint(diag, "record with --values");
    }
    if (!rc) {
        sonde_out_text(out, "digraph sonde {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n");
        for (size_t i = 0; i < flow.vertices.count; i++) {
            put_vertex(&w, &flow.vertices.items[i]);
            result->operations += flow.vertices.items[i].kind == SONDE_FLOW_OPERATION ? flow.vertices.items[i].operations : 0;
        }
        for (size_t i = 0; i < flow.edges.count; i++)
            put_edge(&w, &flow, &flow.edges.items[i]);
        sonde_out_text(out, "}\n");
    }
    sonde_flow_fini(&flow);
    sonde_values_fini(&values);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return rc;
}

const struct sonde_export_format sonde_export_dot = {
    .name = "dot",
    .extension = "dot",
    .what = "the value flow graph of a run with --values, for Graphviz",
    .open_with = "draw it with 'dot -Tsvg'",
    .write = write_graph,
};

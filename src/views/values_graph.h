/* values_graph.h - the value flow graph in the view `values` (values.c): for people with --graph, in JSON always. */
#ifndef SONDE_VIEWS_VALUES_GRAPH_H
#define SONDE_VIEWS_VALUES_GRAPH_H

#include "analyze/answers/values/flow.h"
#include "view.h"

enum { SONDE_GRAPH_FRAMES = 64 };

extern const struct sonde_view_columns sonde__values_graph; /* JSON: vertices and edges */
extern const struct sonde_view_columns sonde__values_flow;  /* a row for each edge */

/* Leave what --vertex and --important ask for. 0, or a negative code with `diag`. */
int sonde__values_graph_take(const struct sonde_query *q, struct sonde_flow *g, struct sonde_diag *diag);
void sonde__values_graph_fill(const struct sonde_query *q, const struct sonde_flow *g, struct sonde_view_table *graph, struct sonde_view_table *flow);

#endif

/* flow.h - the value flow graph: which operation reads or writes what which other wrote last, of Zhou, Hao, Mellor-Crummey, Meng, Liu:
 * ValueExpert (ASPLOS 2022), definitions 5.1 to 5.3.
 *
 * A vertex is an allocation, an operation in its calling context, or the host, whose edges are copies to and from it. An edge is of the
 * objects of one allocation site.
 *
 * Threads: any; one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_VALUES_FLOW_H
#define SONDE_ANALYZE_ANSWERS_VALUES_FLOW_H

#include "values.h"

enum sonde_flow_kind { SONDE_FLOW_HOST,
                       SONDE_FLOW_ALLOCATION,
                       SONDE_FLOW_OPERATION };

struct sonde_flow_vertex {
    enum sonde_flow_kind kind;
    uint32_t id;             /* from 0, and the same in every part of the graph */
    uint32_t node;           /* tree node: of an operation its OP leaf, of an allocation its place, which may be 0: not known */
    uint32_t object_kind;    /* of an allocation */
    uint64_t operations;     /* completed; of an allocation: objects */
    uint64_t time_ns;        /* device time of the operations */
};

struct sonde_flow_edge {
    uint32_t from, to;       /* indices of vertices */
    uint32_t object_kind, object_node; /* the allocation site */
    unsigned how;            /* SONDE_FLOW_READ and _WRITE of `to`; with _MAYBE of some it is not known */
    uint64_t operations, bytes;
    uint64_t elements, unchanged; /* of what `to` wrote to these objects (definition 3.1), from wherever; 0: not compared */
};

struct sonde_flow { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_flow_vertex) vertices; /* the host, if it is there, first; then in the order of the tree */
    SONDE_VECTOR(struct sonde_flow_edge) edges;      /* by bytes, most first */
};

/* What makes an edge or a vertex important (definition 5.3); 0: nothing is asked. */
struct sonde_flow_important {
    double bytes, accesses, unchanged; /* of an edge: bytes, operations, and share of unchanged elements */
    double operations, time_ns;        /* of a vertex */
};

/* `values`: of the same measurement. 0 or SONDE_ENOMEM; fini in either case. */
int sonde_flow_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_values *values, struct sonde_flow *out);
/* Leaves the vertex slice graph of a vertex (definition 5.2): its objects, on paths to it and from it. 0 or SONDE_ENOMEM. */
int sonde_flow_slice(struct sonde_flow *flow, uint32_t vertex);
/* Leaves the important graph. Where nothing is asked of edges, none is important by itself. */
int sonde_flow_prune(struct sonde_flow *flow, const struct sonde_flow_important *least);
void sonde_flow_fini(struct sonde_flow *flow);

#endif

/* graphs.c - where the nodes of a graph come from.
 *
 * A kernel that a graph runs was asked for twice: where its node was created or
 * captured, and where the graph was launched. CUPTI tells of each node as it is
 * made, inside the call that makes it, and of each copy (cloning, instantiating)
 * with the node that it was copied from. Node ids are never used twice, so
 * nothing is removed; the table's bound is what holds it.
 *
 * Not so within a child graph: instantiating copies its nodes into a graph of their
 * own, and CUPTI says so, but then numbers them once more, behind those of the whole
 * graph, without a word. Records name these last numbers. A driver call that would
 * tell them apart must not be made here, and the order is documented nowhere.
 */
#include "sonde_cuda.h"

static struct sonde_cuda_table origins = SONDE_CUDA_TABLE_INITIALIZER;

static void keep(CUgraphNode node, uint64_t origin)
{
    uint64_t id;
    if (origin && node && sonde__cupti.cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS &&
        !sonde__cuda_table_put(&origins, id, origin))
        sonde_note("too many nodes of CUDA graphs: the calling contexts in which further ones are made are not kept");
}

void sonde__cuda_graph_resource(CUpti_CallbackId id, const CUpti_GraphData *graph)
{
    uint64_t original, origin = 0;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        sonde__cuda_captured();
        keep(graph->node, sonde__cuda_context_here());
    } else if (graph->originalNode &&
               sonde__cupti.cuptiGetGraphNodeId(graph->originalNode, &original) == CUPTI_SUCCESS &&
               sonde__cuda_table_get(&origins, original, &origin)) {
        keep(graph->node, origin);
    }
}

uint32_t sonde__cuda_node_origin(uint64_t node)
{
    uint64_t origin;
    return node && sonde__cuda_table_get(&origins, node, &origin) ? (uint32_t)origin : 0;
}

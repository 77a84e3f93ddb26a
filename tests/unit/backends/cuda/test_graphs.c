/* test_graphs.c - which launch of a graph, and which calling context, the work of inner nodes belongs to.
 *
 * What CUPTI says is what a run of such graphs said (CUDA 13.0): kernels of a
 * conditional node's body have no correlation id, and come after all others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

#define GRAPH 9ull /* the executable graph's number */

static void event(CUpti_CallbackId id, uintptr_t node, uintptr_t original)
{
    CUpti_GraphData graph = {.node = (CUgraphNode)node, .originalNode = (CUgraphNode)original};
    if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
        graph = (CUpti_GraphData){.graphExec = (CUgraphExec)node};
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceDescriptor = &graph};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

static void begins(CUgraphNodeType type)
{
    CUpti_GraphData graph = {.nodeType = type};
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceDescriptor = &graph};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, &data);
}

static void enter(uint32_t id, uint32_t correlation)
{
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, id, &(cuGraphAddKernelNode_v2_params){0}, correlation, CUDA_SUCCESS);
}

static void leave(uint32_t id, uint32_t correlation)
{
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, id, &(cuGraphAddKernelNode_v2_params){0}, correlation, CUDA_SUCCESS);
}

/* Context 1000 makes a node of the graph, 1001 one within another node. */
static void make_nodes(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, 1 + i);
        event(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0x100 + 0x10 * i, 0);
        leave(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, 1 + i);
    }
}

/* The inner node is a node of another graph first, and then, without a word, of this. */
static void instantiate(uintptr_t exec, CUgraphNodeType within)
{
    memset(played.numbered, 0, sizeof played.numbered);
    played.numbered[0].node = 0x200, played.numbered[0].id = GRAPH << 32;
    played.numbered[1].node = 0x210, played.numbered[1].id = (GRAPH + 1) << 32;
    enter(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, 3);
    event(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x200, 0x100);
    begins(within);
    event(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x210, 0x110);
    played.numbered[1].id = GRAPH << 32 | 3;
    event(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec, 0);
    leave(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, 3);
}

static void kernel_at(const char *name, uint32_t correlation, uint64_t node, uint64_t start_ns)
{
    CUpti_ActivityKernel10 *k = kernel_record(name, correlation, sizeof *k);
    k->graphNodeId = node;
    k->start = played.offset_ns + start_ns;
    k->end = k->start + 10;
}

static void a_body_belongs_to_the_launch_that_had_begun_last(void **state)
{
    (void)state;
    make_nodes();
    instantiate(0x9000, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    for (uint32_t i = 0; i < 3; i++) /* all at once, long before they run */
        CALL(cuGraphLaunch, 10 + i, CUDA_SUCCESS, .hGraph = (CUgraphExec)(uintptr_t)0x9000);
    assert_int_equal(noted.submits, 3);
    const uint64_t begin_ns = noted.now_ns;
    noted.now_ns += 100000;
    for (uint32_t i = 0; i < 3; i++) /* they come first here, and are taken last */
        for (uint32_t round = 0; round < 2; round++)
            kernel_at("body", 0, GRAPH << 32 | 3, begin_ns + 10000 * i + 100 + 20 * round);
    for (uint32_t i = 0; i < 3; i++)
        kernel_at("whole", 10 + i, GRAPH << 32, begin_ns + 10000 * i);
    deliver();
    assert_int_equal(noted.completions, 9);
    assert_int_equal(noted.unplaced, 0);
    uint32_t of_launch[3] = {0};
    for (uint32_t i = 0; i < 9; i++) {
        const struct sonde_completion *c = &noted.completion[i];
        const bool body = strcmp(noted.string[c->name - 1], "body") == 0;
        const uint32_t launch = (uint32_t)((c->times.start_ns - begin_ns) / 10000);
        assert_int_equal(c->origin, body ? 1001 : 1000);
        assert_true(launch < 3 && c->key == noted.submit[launch].key);
        of_launch[launch]++;
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(of_launch[i], 3);
}

/* A graph of nothing but conditional nodes: the calls are all that is known of the launches. */
static void without_other_nodes_the_calls_tell(void **state)
{
    (void)state;
    make_nodes();
    instantiate(0x9000, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    CALL(cuGraphLaunch, 20, CUDA_SUCCESS, .hGraph = (CUgraphExec)(uintptr_t)0x9000);
    noted.now_ns += 10000;
    kernel_at("body", 0, GRAPH << 32 | 3, noted.now_ns - 5000);
    CALL(cuGraphLaunch, 21, CUDA_SUCCESS, .hGraph = (CUgraphExec)(uintptr_t)0x9000);
    noted.now_ns += 10000;
    kernel_at("body", 0, GRAPH << 32 | 3, noted.now_ns - 5000);
    deliver();
    assert_int_equal(noted.completions, 2);
    assert_true(noted.completion[0].key == noted.submit[0].key && noted.completion[1].key == noted.submit[1].key);
}

/* Their copies are gone when the executable graph is there: to ask for one's number ends the program. */
static void nodes_of_child_graphs_are_not_asked_again(void **state)
{
    (void)state;
    make_nodes();
    played.asked = 0;
    instantiate(0x9000, CU_GRAPH_NODE_TYPE_GRAPH);
    assert_int_equal(played.asked, 4); /* when each was copied, it and its original */
}

static void what_cannot_be_placed_is_counted_and_named(void **state)
{
    (void)state;
    kernel_at("from the device", 0, 0, noted.now_ns);
    kernel_at("from the device", 0, 0, noted.now_ns);
    kernel_at("of a graph that nobody knows", 0, 77ull << 32, noted.now_ns);
    CUpti_ActivityMemcpy6 *m = record_add(sizeof *m);
    m->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    CUpti_Activity *other = record_add(64);
    other->kind = CUPTI_ACTIVITY_KIND_PREEMPTION;
    deliver();
    assert_int_equal(noted.completions, 0);
    assert_int_equal(noted.unplaced, 5);
    const char *const named[] = {"records of kind 19", "kernel from the device", "kernel of a graph that nobody knows", "copies or sets"};
    assert_int_equal(noted.unplaced_named, 4);
    for (unsigned i = 0; i < 4; i++) {
        unsigned k = 0;
        while (k < 4 && strcmp(noted.unplaced_what[k], named[i]))
            k++;
        assert_true(k < 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_body_belongs_to_the_launch_that_had_begun_last),
        TEST(without_other_nodes_the_calls_tell),
        TEST(nodes_of_child_graphs_are_not_asked_again),
        TEST(what_cannot_be_placed_is_counted_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

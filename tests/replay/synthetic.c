/* synthetic.c - a capture made by hand: synthetic FILE
 *
 * What no run on hardware shows at will: correlation ids that wrap past 2^32, a
 * clock that drifts by 50 ppm, records that come before their call has returned,
 * and calls of two threads in between each other. run.py knows the numbers.
 */
#include <stdio.h>
#include <string.h>

#include "capture.h"

#define BEGIN_NS   1000000000000ull
#define CONTEXT    0x10000ull
#define STREAM     7u  /* the default stream's number in records */
#define OTHER      13u
#define KERNEL_NS  10000u
#define DRIFT      (1.0 + 50e-6)

static FILE *file;
static uint64_t now_ns = BEGIN_NS;
static uint32_t correlation = 0xffffff80u;

/* 0 is the id of what the device launches itself. */
static uint32_t next_correlation(void)
{
    correlation += correlation == 0;
    return correlation++;
}

struct part {
    const void *bytes;
    size_t size;
};

static void put(enum entry_kind kind, uint32_t thread, const struct part *parts, int count)
{
    struct entry e = {.kind = kind, .thread = thread, .host_ns = now_ns};
    for (int i = 0; i < count; i++)
        e.bytes += (uint32_t)parts[i].size;
    fwrite(&e, sizeof e, 1, file);
    for (int i = 0; i < count; i++)
        fwrite(parts[i].bytes, 1, parts[i].size, file);
    now_ns += 1000;
}

static uint64_t cupti_ns(uint64_t host)
{
    return 77000000000ull + (uint64_t)((double)(host - BEGIN_NS) * DRIFT);
}

static void put_clock(void)
{
    uint64_t then = cupti_ns(now_ns);
    put(ENTRY_CLOCK, 1, &(struct part){&then, sizeof then}, 1);
}

static void put_name(uint32_t id, const char *name)
{
    struct name_entry n = {CUPTI_CB_DOMAIN_DRIVER_API, id};
    put(ENTRY_NAME, 1, (struct part[]){{&n, sizeof n}, {name, strlen(name) + 1}}, 2);
}

static void put_answer(enum answer_to to, uint64_t of, uint64_t of_too, uint64_t value)
{
    struct answer_entry a = {to, CUPTI_SUCCESS, of, of_too, value};
    put(ENTRY_ANSWER, 1, &(struct part){&a, sizeof a}, 1);
}

static void put_call(uint32_t thread, uint32_t id, CUpti_ApiCallbackSite site, uint32_t number, const void *params,
                     const void *behind, size_t behind_bytes)
{
    struct call_entry c = {
        .domain = CUPTI_CB_DOMAIN_DRIVER_API,
        .id = id,
        .site = site,
        .correlation = number,
        .context_uid = 1,
        .context = CONTEXT,
        .params_bytes = (uint32_t)capture_params_bytes(id),
        .has_result = site == CUPTI_API_EXIT,
    };
    put(ENTRY_CALL, thread, (struct part[]){{&c, sizeof c}, {params, c.params_bytes}, {behind, behind_bytes}}, 3);
}

/* A call from its entry to its return; its correlation id. */
static uint32_t call(uint32_t thread, uint32_t id, const void *params, const void *behind, size_t behind_bytes)
{
    uint32_t number = next_correlation();
    put_call(thread, id, CUPTI_API_ENTER, number, params, behind, behind_bytes);
    put_call(thread, id, CUPTI_API_EXIT, number, params, behind, behind_bytes);
    return number;
}

static uint32_t launch(uint32_t thread)
{
    cuLaunchKernel_params p = {.gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1};
    return call(thread, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &p, NULL, 0);
}

/* ---- records -------------------------------------------------------------------- */

static uint8_t records[1 << 20];
static uint32_t sizes[8192], count;
static size_t used;

static void add(const void *record, size_t size)
{
    memcpy(records + used, record, size);
    used += size;
    sizes[count++] = (uint32_t)size;
}

static void put_records(void)
{
    struct buffer_entry b = {0, 0, count, used};
    put(ENTRY_BUFFER, 9, (struct part[]){{&b, sizeof b}, {sizes, count * sizeof *sizes}, {records, used}}, 3);
    count = 0;
    used = 0;
}

static void kernel(uint32_t number, uint32_t stream, uint64_t name, uint64_t node, uint64_t start)
{
    CUpti_ActivityKernel9 k;
    memset(&k, 0, sizeof k);
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k.start = cupti_ns(start);
    k.end = cupti_ns(start + KERNEL_NS);
    k.contextId = 1, k.streamId = stream, k.correlationId = number;
    k.gridX = 4, k.gridY = k.gridZ = 1, k.blockX = 64, k.blockY = k.blockZ = 1;
    k.registersPerThread = 32;
    k.graphNodeId = node;
    memcpy(&k.name, &name, sizeof name);
    add(&k, sizeof k);
}

static void copy(uint32_t number, uint64_t bytes, uint64_t start)
{
    CUpti_ActivityMemcpy5 m;
    memset(&m, 0, sizeof m);
    m.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    m.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    m.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    m.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    m.bytes = bytes, m.contextId = 1, m.streamId = STREAM, m.correlationId = number;
    m.start = cupti_ns(start);
    m.end = cupti_ns(start + 2000);
    add(&m, sizeof m);
}

static void text(uint64_t address, const char *name)
{
    put(ENTRY_STRING, 9, (struct part[]){{&address, sizeof address}, {name, strlen(name) + 1}}, 2);
}

/* ---- the parts ------------------------------------------------------------------------ */

static void device(void)
{
    struct device_entry d = {.memory_bytes = 1ull << 34, .driver_version = 13000, .name = "Synthetic GPU"};
    uint32_t version = 130001;
    d.attribute[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9;
    d.attribute[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132;
    d.attribute[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048;
    d.attribute[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32;
    d.attribute[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536;
    d.attribute[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472;
    d.attribute[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024;
    put(ENTRY_VERSION, 1, &(struct part){&version, sizeof version}, 1);
    put(ENTRY_DEVICE, 1, &(struct part){&d, sizeof d}, 1);
    put_name(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel");
    put_name(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch");
    put_name(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2");
    put_name(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2");
    put_answer(ANSWER_CONTEXT_ID, CONTEXT, 0, 1);
    put_answer(ANSWER_DEVICE_ID, CONTEXT, 0, 0);
    put_answer(ANSWER_STREAM_ID, CONTEXT, 0, STREAM);
    put_clock();
    struct resource_entry r = {.id = CUPTI_CBID_RESOURCE_CONTEXT_CREATED, .context = CONTEXT};
    put(ENTRY_RESOURCE, 1, &(struct part){&r, sizeof r}, 1);
}

static void memory(void)
{
    CUdeviceptr address = 0x7f0000000000ull;
    cuMemAlloc_v2_params a = {.dptr = &address, .bytesize = 4096};
    cuMemcpyHtoD_v2_params c = {.dstDevice = address, .ByteCount = 4096};
    call(1, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &a, &address, sizeof address);
    copy(call(1, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, &c, NULL, 0), 4096, now_ns);
}

/* Two threads, a stream each; the second's records come while its call still runs. */
static void kernels(void)
{
    cuLaunchKernel_params p = {.gridDimX = 4, .blockDimX = 64};
    text(0x5000, "spin");
    for (int i = 0; i < 100; i++) {
        uint64_t start = now_ns + 5000;
        kernel(launch(1), STREAM, 0x5000, 0, start);
        uint32_t number = next_correlation();
        put_call(2, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_ENTER, number, &p, NULL, 0);
        kernel(number, OTHER, 0x5000, 0, start + 20000);
        now_ns += 40000;
        put_records();
        put_call(2, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_EXIT, number, &p, NULL, 0);
    }
    put_clock();
}

static void node(CUpti_CallbackIdResource id, uint64_t made, uint64_t from)
{
    CUpti_GraphData g;
    struct resource_entry r = {.id = id, .bytes = sizeof g, .context = CONTEXT};
    memset(&g, 0, sizeof g);
    memcpy(&g.node, &made, sizeof made);
    memcpy(&g.originalNode, &from, sizeof from);
    put(ENTRY_RESOURCE, 1, (struct part[]){{&r, sizeof r}, {&g, sizeof g}}, 2);
    put_answer(ANSWER_NODE_ID, made, 0, made + 1);
    if (from)
        put_answer(ANSWER_NODE_ID, from, 0, from + 1);
}

#define EXEC  0x9000
#define INNER (5ull << 32 | 3) /* number of the inner node in the executable graph */

static void inner_node(void)
{
    cuGraphAddKernelNode_v2_params p = {0};
    const uint32_t number = next_correlation();
    text(0x7000, "body");
    text(0x8000, "stray");
    put_call(1, CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, CUPTI_API_ENTER, number, &p, NULL, 0);
    node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0x180, 0);
    put_call(1, CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2, CUPTI_API_EXIT, number, &p, NULL, 0);
}

/* Copies all nodes; the inner one gets another number with the executable graph. */
static void instantiate(void)
{
    cuGraphInstantiateWithFlags_params p = {0};
    CUpti_GraphData g;
    const uint64_t exec = EXEC;
    const struct resource_entry r = {.id = CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, .bytes = sizeof g, .context = CONTEXT};
    const struct resource_entry begins = {.id = CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, .bytes = sizeof g, .context = CONTEXT};
    const uint32_t number = next_correlation();
    put_call(1, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, CUPTI_API_ENTER, number, &p, NULL, 0);
    for (uint64_t i = 0; i < 3; i++)
        node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x200 + 0x10 * i, 0x100 + 0x10 * i);
    g = (CUpti_GraphData){.nodeType = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    put(ENTRY_RESOURCE, 1, (struct part[]){{&begins, sizeof begins}, {&g, sizeof g}}, 2);
    node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x280, 0x180);
    memset(&g, 0, sizeof g);
    memcpy(&g.graphExec, &exec, sizeof exec);
    put(ENTRY_RESOURCE, 1, (struct part[]){{&r, sizeof r}, {&g, sizeof g}}, 2);
    put_answer(ANSWER_NODE_ID, 0x280, 0, INNER);
    put_call(1, CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, CUPTI_API_EXIT, number, &p, NULL, 0);
}

/* Three launches are captured: each makes a node, which instantiating copies. 50 replays. */
static void graph(void)
{
    cuLaunchKernel_params p = {.gridDimX = 4, .blockDimX = 64};
    cuGraphLaunch_params g = {.hGraph = (CUgraphExec)(uintptr_t)EXEC};
    text(0x6000, "captured");
    for (uint64_t i = 0; i < 3; i++) {
        uint32_t number = next_correlation();
        put_call(1, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_ENTER, number, &p, NULL, 0);
        node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0x100 + 0x10 * i, 0);
        put_call(1, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_API_EXIT, number, &p, NULL, 0);
    }
    inner_node();
    instantiate();
    for (int k = 0; k < 50; k++) {
        uint32_t number = call(1, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, &g, NULL, 0);
        for (uint64_t i = 0; i < 3; i++)
            kernel(number, STREAM, 0x6000, 0x201 + 0x10 * i, now_ns + i * KERNEL_NS);
        for (uint64_t i = 0; i < 2; i++) /* twice the body of a conditional node: no call is named */
            kernel(0, OTHER, 0x7000, INNER, now_ns + (3 + i) * KERNEL_NS);
        now_ns += 6 * KERNEL_NS;
    }
    kernel(0, OTHER, 0x8000, 0, now_ns - KERNEL_NS); /* launched by the device */
    put_records();
    put_clock();
}

int main(int argc, char **argv)
{
    uint64_t magic = CAPTURE_MAGIC;
    file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!file)
        return 1;
    fwrite(&magic, sizeof magic, 1, file);
    device();
    memory();
    kernels();
    graph();
    return fclose(file) ? 1 : 0;
}

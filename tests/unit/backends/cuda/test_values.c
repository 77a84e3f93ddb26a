/* test_values.c - what --values compares around copies and sets of boxes, in managed memory, and around launches of graphs.
 *
 * The driver is made up: memory of its device is this program's, and Sonde's kernels are what compare.h says of them, byte by byte. What is
 * found must be what follows from the bytes that the test itself writes between the two callbacks. The kernels' PTX is tested by
 * tests/unit/instrument/rewrite.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

enum { OBJECT = 4096,
       NODES = 8 };

/* ---- a device ----------------------------------------------------------------------------------------- */

enum kernel { NONE,
              COPY,
              COMPARE,
              MARK,
              DIGEST };

static uint64_t number(void **parameters, int i)
{
    return *(uint64_t *)parameters[i];
}

static unsigned char *bytes_at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void run_copy(void **p)
{
    memcpy(bytes_at(number(p, 1)), bytes_at(number(p, 0)), 16 * number(p, 2));
    if (number(p, 4))
        memset(bytes_at(number(p, 3)), 0, 16 * number(p, 4));
}

static void run_mark(void **p)
{
    const uint64_t count = number(p, 1);
    for (uint64_t s = 0; s < number(p, 7); s++)
        for (uint64_t r = 0; r < number(p, 5); r++)
            for (uint64_t k = 0; k < number(p, 3); k++) {
                const uint64_t at = number(p, 2) + s * number(p, 6) + r * number(p, 4) + k;
                if (at < count)
                    bytes_at(number(p, 0))[at] = 1;
            }
}

static void run_compare(void **p)
{
    const unsigned char *now = bytes_at(number(p, 0)), *then = bytes_at(number(p, 1)), *marks = bytes_at(number(p, 4));
    const uint64_t from = number(p, 2), to = number(p, 3);
    const uint32_t grain = *(uint32_t *)p[5];
    struct sonde_ptx_sums *sums = (void *)bytes_at(number(p, 6));
    sums->operations++;
    sums->bytes += to - from;
    for (unsigned k = 0; k < 4; k++)
        for (uint64_t at = (from + (1u << k) - 1) >> k << k; at + (1u << k) <= to; at += 1u << k) {
            bool written = true;
            for (uint64_t b = at; b < at + (1u << k); b++)
                written = written && (!marks || marks[b >> grain]);
            sums->elements[k] += written;
            sums->unchanged[k] += written && memcmp(now + at, then + at, 1u << k) == 0;
        }
}

static struct {
    bool waits; /* it has not come that far */
    uint32_t count;
    struct {
        struct sonde_ptx_told *told;
        uint64_t ticket;
    } to_tell[16];
} work;

static void tell_all(void)
{
    for (uint32_t i = 0; i < work.count; i++)
        work.to_tell[i].told->ticket = work.to_tell[i].ticket;
    work.count = 0;
}

/* Hashes are of another test. */
static void run_digest(void **p)
{
    if (number(p, 2))
        return;
    assert_true(work.count < 16);
    assert_int_equal(number(p, 3) % 8 + number(p, 4) % 8, 0);
    work.to_tell[work.count].told = (void *)bytes_at(number(p, 4));
    work.to_tell[work.count++].ticket = number(p, 5);
    if (!work.waits)
        tell_all();
}

static CUresult CUDAAPI launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                      CUstream stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    switch ((enum kernel)(uintptr_t)f) {
    case COPY:
        run_copy(parameters);
        break;
    case COMPARE:
        run_compare(parameters);
        break;
    case MARK:
        run_mark(parameters);
        break;
    case DIGEST:
        run_digest(parameters);
        break;
    default:
        break;
    }
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    static const char *const names[] = {"", SONDE_PTX_COPY, SONDE_PTX_COMPARE, SONDE_PTX_MARK, SONDE_PTX_DIGEST};
    (void)library;
    for (uintptr_t i = COPY; i <= DIGEST; i++)
        if (strcmp(name, names[i]) == 0) {
            *kernel = (CUkernel)i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult CUDAAPI load_library(CUlibrary *library, const void *code, CUjit_option *a, void **b, unsigned c, CUlibraryOption *d, void **e, unsigned f)
{
    (void)code, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    *library = (CUlibrary)(uintptr_t)1;
    return CUDA_SUCCESS;
}

/* Sonde's, until the end. */
static void *kept(size_t bytes)
{
    static _Alignas(256) unsigned char memory[8 << 20];
    static size_t used;
    void *at = memory + used;
    used += (bytes + 255) / 256 * 256;
    assert_true(used <= sizeof memory);
    return at;
}

static CUresult CUDAAPI allocate_kept(CUdeviceptr *at, size_t bytes)
{
    *at = (uintptr_t)kept(bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI allocate(CUdeviceptr *at, size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(memory, 0xa5, bytes);
    *at = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

static size_t device_left = SIZE_MAX, host_left = SIZE_MAX; /* at once */

static CUresult CUDAAPI allocate_async(CUdeviceptr *at, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    (void)pool, (void)stream;
    return bytes <= device_left ? allocate(at, bytes) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult CUDAAPI free_async(CUdeviceptr at, CUstream stream)
{
    (void)stream;
    free(bytes_at(at));
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI host_allocate(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    if (bytes > host_left)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *at = kept(bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    memset(bytes_at(at), value, bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI read_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy(to, bytes_at(from), bytes);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI create_pool(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    (void)properties;
    *pool = (CUmemoryPool)(uintptr_t)1;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_pool(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
    (void)pool, (void)which, (void)value;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS ? 1 : 8;
    return CUDA_SUCCESS;
}

/* All memory of these tests is the device's. */
static CUresult CUDAAPI memory_type(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    (void)pointer;
    if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)data = CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

/* ---- graphs --------------------------------------------------------------------------------------------- */

static struct {
    CUgraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUgraph child;
    CUdeviceptr freed;
    CUgraph graph;
} nodes[NODES + 1]; /* a node's handle is its number */

static CUresult CUDAAPI get_nodes(CUgraph graph, CUgraphNode *list, size_t *count)
{
    size_t found = 0;
    for (uintptr_t i = 1; i <= NODES; i++)
        if (nodes[i].graph == graph && nodes[i].graph) {
            if (list && found < *count)
                list[found] = (CUgraphNode)i;
            found++;
        }
    *count = found;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI node_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = nodes[(uintptr_t)node].type;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI kernel_node(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
    *p = nodes[(uintptr_t)node].kernel;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_node(CUgraphNode node, CUDA_MEMCPY3D *p)
{
    *p = nodes[(uintptr_t)node].copy;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_node(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p)
{
    *p = nodes[(uintptr_t)node].set;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI child_node(CUgraphNode node, CUgraph *graph)
{
    *graph = nodes[(uintptr_t)node].child;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI free_node(CUgraphNode node, CUdeviceptr *freed)
{
    *freed = nodes[(uintptr_t)node].freed;
    return CUDA_SUCCESS;
}

/* Of kernels nothing is known but that they have two parameters. */
static CUresult CUDAAPI no_library(CUlibrary *library, CUkernel kernel)
{
    (void)library, (void)kernel;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI no_name(const char **name, CUfunction f)
{
    (void)name, (void)f;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI parameter_of(CUkernel kernel, size_t i, size_t *offset, size_t *bytes)
{
    (void)kernel;
    *offset = 8 * i;
    *bytes = 8;
    return i < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult CUDAAPI no_parameter(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
    (void)f, (void)i, (void)offset, (void)bytes;
    return CUDA_ERROR_INVALID_HANDLE;
}

static int turn_on(void **state)
{
    struct sonde_cuda_twins *t = &sonde__cuda_twins;
    play(state);
    memset(nodes, 0, sizeof nodes);
    sonde__cudrv.cuDeviceGetAttribute = attribute;
    sonde__cudrv.cuPointerGetAttribute = memory_type;
    device_left = host_left = SIZE_MAX;
    work.waits = false;
    tell_all();
    t->on = t->coarse = true;
    t->plan = SONDE_PLAN_SETS;
    t->cuLaunchKernel = launch_kernel;
    t->cuLibraryLoadData = load_library;
    t->cuLibraryGetKernel = get_kernel;
    t->cuMemAlloc_v2 = allocate_kept;
    t->cuMemAllocFromPoolAsync = allocate_async;
    t->cuMemFreeAsync = free_async;
    t->cuMemHostAlloc = host_allocate;
    t->cuMemsetD8Async = set_async;
    t->cuMemcpyDtoHAsync_v2 = read_async;
    play_streams(t);
    t->cuMemPoolCreate = create_pool;
    t->cuMemPoolSetAttribute = set_pool;
    t->cuGraphGetNodes = get_nodes;
    t->cuGraphNodeGetType = node_type;
    t->cuGraphKernelNodeGetParams_v2 = kernel_node;
    t->cuGraphMemcpyNodeGetParams = copy_node;
    t->cuGraphMemsetNodeGetParams = set_node;
    t->cuGraphChildGraphNodeGetGraph = child_node;
    t->cuGraphMemFreeNodeGetParams = free_node;
    t->cuKernelGetLibrary = no_library;
    t->cuFuncGetName = no_name;
    t->cuKernelGetParamInfo = parameter_of;
    t->cuFuncGetParamInfo = no_parameter;
    return 0;
}
#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, turn_on)

/* ---- a program -------------------------------------------------------------------------------------------- */

#define BEGIN(call, ...)                                                                                                        \
    do {                                                                                                                        \
        call##_params params_ = {__VA_ARGS__};                                                                                  \
        const uint32_t id_ = CUPTI_DRIVER_TRACE_CBID_##call;                                                                    \
        at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, id_, &params_, 1, CUDA_SUCCESS)
#define END                                                                                                                     \
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, id_, &params_, 1, CUDA_SUCCESS);                                             \
    }                                                                                                                           \
    while (0)

/* Zeroed, and written by a set; its number. */
static CUdeviceptr object_new(uint32_t *object)
{
    CUdeviceptr p;
    allocate(&p, OBJECT);
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    *object = noted.objects;
    BEGIN(cuMemsetD8_v2, .dstDevice = p, .N = OBJECT);
    memset(bytes_at(p), 0, OBJECT);
    END;
    return p;
}

static void gone(CUdeviceptr p)
{
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p);
    free(bytes_at(p));
}

/* All that was found in the object since the last question. */
static struct sonde_value_change found_in(uint32_t object)
{
    struct sonde_value_change sum = {0};
    sonde__cuda_values_read(false);
    for (uint32_t i = 0; i < noted.changes; i++) {
        const struct sonde_value_change *c = &noted.change[i];
        if (c->object != object)
            continue;
        sum.operations += c->operations;
        sum.maybe |= c->maybe;
        sum.raced |= c->raced;
        sum.operation = c->operation;
        for (int k = 0; k < 4; k++) {
            sum.elements[k] += c->elements[k];
            sum.unchanged[k] += c->unchanged[k];
        }
    }
    noted.changes = 0;
    return sum;
}

/* Why not all of the last operation was compared; NONE: all was. */
static unsigned missed_by_last(void)
{
    unsigned missed = 0;
    assert_true(noted.misses <= NOTED_MAX);
    for (uint32_t i = 0; i < noted.misses; i++)
        if (noted.missed[i].operation == noted.operations && noted.missed[i].why)
            missed |= 1u << noted.missed[i].why;
    return missed;
}

static uint32_t random_below(uint32_t end)
{
    static uint32_t x = 12345;
    x = x * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(x >> 8) * end >> 24);
}

/* ---- boxes -------------------------------------------------------------------------------------------------- */

struct truth {
    uint64_t elements[4], unchanged[4];
};

static struct truth truth_of(const unsigned char *before, const unsigned char *after, const bool *written)
{
    struct truth t = {0};
    for (unsigned k = 0; k < 4; k++)
        for (uint32_t i = 0; i + (1u << k) <= OBJECT; i += 1u << k) {
            bool all = true;
            for (uint32_t b = i; b < i + (1u << k); b++)
                all = all && written[b];
            t.elements[k] += all;
            t.unchanged[k] += all && memcmp(before + i, after + i, 1u << k) == 0;
        }
    return t;
}

/* Writes a box at random bytes, of which half are what they were, and, of one byte of those between its rows, something else. */
static void write_box(CUdeviceptr p, const CUDA_MEMCPY3D *c, bool *written)
{
    unsigned char *to = bytes_at(p);
    for (size_t z = 0; z < c->Depth; z++)
        for (size_t y = 0; y < c->Height; y++)
            for (size_t x = 0; x < c->WidthInBytes; x++) {
                const size_t i = ((c->dstZ + z) * c->dstHeight + c->dstY + y) * c->dstPitch + c->dstXInBytes + x;
                written[i] = true;
                to[i] = (unsigned char)(random_below(2) ? to[i] : random_below(3));
            }
    for (int k = 0; k < OBJECT / 8; k++) { /* somebody else */
        const uint32_t i = random_below(OBJECT);
        if (!written[i])
            to[i] = 9;
    }
}

static CUDA_MEMCPY3D random_box(CUdeviceptr p, unsigned unit)
{
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .dstMemoryType = random_below(2) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED, .dstDevice = p};
    c.dstPitch = unit * (1 + random_below(24));
    c.dstHeight = 1 + random_below(6);
    c.WidthInBytes = unit * (1 + random_below((uint32_t)c.dstPitch / unit));
    c.dstXInBytes = unit * random_below((uint32_t)(c.dstPitch - c.WidthInBytes) / unit + 1);
    c.Height = 1 + random_below((uint32_t)c.dstHeight);
    c.dstY = random_below((uint32_t)(c.dstHeight - c.Height) + 1);
    const uint32_t slices = (uint32_t)(OBJECT / (c.dstPitch * c.dstHeight));
    c.Depth = 1 + random_below(slices < 4 ? slices : 4);
    c.dstZ = random_below(slices - (uint32_t)c.Depth + 1);
    return c;
}

static void check_found(uint32_t object, const struct truth *truth)
{
    const struct sonde_value_change found = found_in(object);
    assert_int_equal(found.operations, 1);
    assert_false(found.maybe);
    assert_false(found.raced);
    assert_memory_equal(found.elements, truth->elements, sizeof truth->elements);
    assert_memory_equal(found.unchanged, truth->unchanged, sizeof truth->unchanged);
    assert_int_equal(missed_by_last(), 0);
}

static void compare_copies_of_boxes(unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        static unsigned char before[OBJECT];
        bool written[OBJECT] = {false};
        uint32_t object;
        const CUdeviceptr p = object_new(&object);
        const CUDA_MEMCPY3D c = random_box(p, 1u << round % 5);
        found_in(object);
        noted.misses = 0;
        memcpy(before, bytes_at(p), OBJECT);
        BEGIN(cuMemcpy3DAsync_v2, .pCopy = &c);
        write_box(p, &c, written);
        END;
        const struct truth truth = truth_of(before, bytes_at(p), written);
        check_found(object, &truth);
        gone(p);
    }
}

static void copies_of_boxes_are_compared(void **state)
{
    (void)state;
    compare_copies_of_boxes(150);
}

static void sets_and_copies_of_rectangles_are_compared(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        static unsigned char before[OBJECT];
        bool written[OBJECT] = {false};
        uint32_t object;
        const CUdeviceptr p = object_new(&object);
        const unsigned unit = 1u << round % 3;
        CUDA_MEMCPY3D c = random_box(p, unit);
        const CUdeviceptr first = p + c.dstY * c.dstPitch + c.dstXInBytes;
        c.Depth = 1, c.dstZ = 0;
        found_in(object);
        noted.misses = 0;
        memcpy(before, bytes_at(p), OBJECT);
        if (round % 2) {
            const CUDA_MEMCPY2D flat = {.dstXInBytes = c.dstXInBytes, .dstY = c.dstY, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .dstPitch = c.dstPitch, .srcMemoryType = CU_MEMORYTYPE_HOST, .WidthInBytes = c.WidthInBytes, .Height = c.Height};
            BEGIN(cuMemcpy2DUnaligned_v2, .pCopy = &flat);
            write_box(p, &c, written);
            END;
        } else if (unit == 1) {
            BEGIN(cuMemsetD2D8Async, .dstDevice = first, .dstPitch = c.dstPitch, .Width = c.WidthInBytes, .Height = c.Height);
            write_box(p, &c, written);
            END;
        } else if (unit == 2) {
            BEGIN(cuMemsetD2D16_v2, .dstDevice = first, .dstPitch = c.dstPitch, .Width = c.WidthInBytes / 2, .Height = c.Height);
            write_box(p, &c, written);
            END;
        } else {
            BEGIN(cuMemsetD2D32_v2, .dstDevice = first, .dstPitch = c.dstPitch, .Width = c.WidthInBytes / 4, .Height = c.Height);
            write_box(p, &c, written);
            END;
        }
        const struct truth truth = truth_of(before, bytes_at(p), written);
        check_found(object, &truth);
        gone(p);
    }
}

static void boxes_that_do_not_fit_are_left_out(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    CUDA_MEMCPY3D c = {.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = p, .srcMemoryType = CU_MEMORYTYPE_HOST, .dstPitch = 64, .dstHeight = 4, .WidthInBytes = 32, .Height = 4, .Depth = 16};
    found_in(object);
    CALL(cuMemcpy3D_v2, 1, CUDA_SUCCESS, .pCopy = &c);
    assert_int_equal(found_in(object).elements[0], 32 * 4 * 16);
    c.Depth = 17;
    CALL(cuMemcpy3D_v2, 1, CUDA_SUCCESS, .pCopy = &c);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_OBJECT);
    c.Depth = 2;
    c.dstPitch = 16;
    CALL(cuMemcpy3D_v2, 1, CUDA_SUCCESS, .pCopy = &c);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_RECTANGLE);
    assert_int_equal(found_in(object).operations, 0);
    const uint32_t misses = noted.misses;
    c.Height = 0; /* it writes nothing */
    CALL(cuMemcpy3D_v2, 1, CUDA_SUCCESS, .pCopy = &c);
    assert_int_equal(noted.misses, misses);
    gone(p);
}

/* ---- a device that is full ------------------------------------------------------------------------------------- */

enum { PIECE = 65536 }; /* the least that is made on the host */

/* How often a set of all of it in this stream was compared. */
static unsigned set_in(uintptr_t stream, CUdeviceptr p, uint32_t object)
{
    noted.misses = 0;
    found_in(object);
    BEGIN(cuMemsetD8Async, .dstDevice = p, .N = OBJECT, .hStream = (CUstream)stream);
    memset(bytes_at(p), 0, OBJECT);
    END;
    const struct sonde_value_change found = found_in(object);
    assert_int_equal(found.unchanged[0], found.operations * OBJECT);
    assert_int_equal(missed_by_last(), found.operations ? 0 : 1u << SONDE_VALUE_MISSED_MEMORY);
    return (unsigned)found.operations;
}

static void what_has_no_room_is_said(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    device_left = 0;
    assert_int_equal(set_in(5, p, object), 0);
    noted.host_most = PIECE / 2;
    device_left = OBJECT - 1;
    assert_int_equal(set_in(5, p, object), 1); /* of just its size, where no more may be taken */
    assert_in_range(noted.host_bytes, OBJECT, PIECE / 2);
    gone(p);
}

static void copies_may_be_on_the_host(void **state)
{
    (void)state;
    noted.host_most = 1 << 20;
    device_left = 0; /* nor for marks */
    compare_copies_of_boxes(60);
    const uint64_t taken = noted.host_bytes;
    assert_in_range(taken, OBJECT, 3 * PIECE); /* the same each time */
    device_left = OBJECT / 4; /* for marks, but for those of each byte */
    compare_copies_of_boxes(60);
    assert_int_equal(noted.host_bytes, taken);
}

/* What is on the host is used again in its own stream at once, in others when the device is done with it. */
static void room_on_the_host_is_used_again(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    device_left = 0;
    work.waits = true;
    noted.host_most = noted.host_bytes + OBJECT; /* beside those of tests before this one */
    uint32_t pieces = 0;
    while (set_in(10 + pieces, p, object)) /* each has one */
        pieces++;
    assert_in_range(pieces, 2, 8);
    for (uint32_t i = 0; i < pieces; i++)
        assert_int_equal(set_in(10 + i, p, object), 1);
    assert_int_equal(set_in(10 + pieces, p, object), 0);
    tell_all();
    assert_int_equal(set_in(10 + pieces, p, object), 1);
    /* A stream that is destroyed may still have work to do; another has its handle then. */
    resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, (CUstream)(uintptr_t)(10 + pieces));
    for (uint32_t i = 1; i < pieces; i++)
        assert_int_equal(set_in(10 + i, p, object), 1);
    assert_int_equal(set_in(10 + pieces, p, object), 0);
    tell_all();
    assert_int_equal(set_in(10 + pieces, p, object), 1);
    gone(p);
}

static void the_driver_may_refuse_the_hosts_memory(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    device_left = host_left = 0;
    work.waits = true;
    noted.host_most = 1 << 20;
    const uint64_t taken = noted.host_bytes;
    for (uint32_t i = 0; set_in(10 + i, p, object); i++)
        assert_true(i < 8);
    assert_int_equal(noted.host_bytes, taken); /* it was given back */
    gone(p);
}

/* The driver frees it with the context, which is none from then on. */
static void room_on_the_host_ends_with_its_context(void **state)
{
    (void)state;
    assert_true(noted.host_bytes);
    sonde__cuda_values_context_gone(1);
    assert_int_equal(noted.host_bytes, 0);
}

/* ---- managed memory -------------------------------------------------------------------------------------------- */

/* Where it cannot reach it while the device works, memory may belong to one stream alone. */
static void managed(bool shared)
{
    CUdeviceptr p;
    sonde__cuda_place_known(1)->shares_managed = shared;
    allocate(&p, OBJECT);
    CALL(cuMemAllocManaged, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    const uint32_t object = noted.objects;
    for (int k = 0; k < 2; k++) {
        BEGIN(cuMemsetD8_v2, .dstDevice = p, .N = OBJECT);
        memset(bytes_at(p), 0, OBJECT);
        END;
    }
    const struct sonde_value_change found = found_in(object);
    if (shared) {
        assert_int_equal(found.operations, 1);
        assert_int_equal(found.unchanged[0], OBJECT);
        assert_true(found.raced); /* the host may write it meanwhile, unseen */
        assert_false(found.maybe);
    } else {
        assert_int_equal(found.operations, 0);
        assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_ELSEWHERE);
    }
    gone(p);
}

static void managed_memory_is_compared_where_the_host_may_reach_it(void **state)
{
    (void)state;
    uint32_t object;
    gone(object_new(&object)); /* the context is known */
    assert_true(sonde__cuda_place_known(1)->shares_managed);
    managed(true);
    managed(false);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

#define GRAPH ((CUgraph)(uintptr_t)1)
#define CHILD ((CUgraph)(uintptr_t)2)
#define EXEC  ((CUgraphExec)(uintptr_t)0x7000)

static void instantiate(CUgraph graph)
{
    CUgraphExec exec = EXEC;
    CALL(cuGraphInstantiateWithFlags, 1, CUDA_SUCCESS, .phGraphExec = &exec, .hGraph = graph);
}

static void set_at(int node, CUgraph graph, CUdeviceptr to, size_t bytes)
{
    nodes[node].graph = graph;
    nodes[node].type = CU_GRAPH_NODE_TYPE_MEMSET;
    nodes[node].set = (CUDA_MEMSET_NODE_PARAMS){.dst = to, .elementSize = 4, .width = bytes / 4, .height = 1};
}

static void launch_writes(CUdeviceptr to, int value, size_t bytes)
{
    BEGIN(cuGraphLaunch, .hGraph = EXEC);
    memset(bytes_at(to), value, bytes);
    END;
}

static void sets_and_copies_of_a_graph_are_known(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    set_at(1, GRAPH, p + 64, 128);
    nodes[2].graph = GRAPH;
    nodes[2].type = CU_GRAPH_NODE_TYPE_MEMCPY;
    nodes[2].copy = (CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = p, .dstXInBytes = 1024, .WidthInBytes = 256, .Height = 1, .Depth = 1};
    instantiate(GRAPH);
    found_in(object);
    launch_writes(p + 64, 1, 64);
    struct sonde_value_change found = found_in(object);
    assert_int_equal(found.operations, 1);
    assert_int_equal(found.operation, noted.operations);
    assert_int_equal(noted.operation[(noted.operations - 1) % NOTED_MAX], SONDE_OP_GRAPH);
    assert_int_equal(found.elements[2], (128 + 256) / 4);
    assert_int_equal(found.unchanged[2], (64 + 256) / 4);
    assert_false(found.maybe || found.raced);
    assert_int_equal(missed_by_last(), 0);
    /* A node that is off does not write. */
    CALL(cuGraphNodeSetEnabled, 1, CUDA_SUCCESS, .hGraphExec = EXEC, .hNode = (CUgraphNode)(uintptr_t)2);
    launch_writes(p, 5, 8);
    assert_int_equal(found_in(object).elements[2], 128 / 4);
    gone(p);
}

static void kernels_of_a_graph_may_write_what_their_parameters_point_to(void **state)
{
    (void)state;
    uint32_t object, other;
    const CUdeviceptr p = object_new(&object), q = object_new(&other);
    uint64_t arguments[] = {p + 8, 77};
    void *list[] = {&arguments[0], &arguments[1]};
    nodes[1].graph = GRAPH;
    nodes[1].type = CU_GRAPH_NODE_TYPE_KERNEL;
    nodes[1].kernel = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(uintptr_t)0x5000, .kernelParams = list};
    instantiate(GRAPH);
    arguments[0] = 0; /* they were read */
    found_in(object);
    launch_writes(p, 3, 1024);
    struct sonde_value_change found = found_in(object);
    assert_int_equal(found.elements[2], OBJECT / 4);
    assert_int_equal(found.unchanged[2], (OBJECT - 1024) / 4);
    assert_true(found.maybe);
    /* Other parameters. */
    arguments[1] = q;
    CALL(cuGraphExecKernelNodeSetParams_v2, 1, CUDA_SUCCESS, .hGraphExec = EXEC, .hNode = (CUgraphNode)(uintptr_t)1, .nodeParams = &nodes[1].kernel);
    launch_writes(q, 0, OBJECT);
    assert_int_equal(found_in(object).operations, 0);
    found_in(other);
    launch_writes(q, 0, OBJECT);
    found = found_in(other);
    assert_int_equal(found.unchanged[2], OBJECT / 4);
    assert_true(found.maybe);
    /* What is set as a whole is written, whatever the kernel does; and it is so of the new memory, too. */
    set_at(2, GRAPH, q, OBJECT);
    instantiate(GRAPH);
    arguments[0] = q;
    launch_writes(q, 0, OBJECT);
    found = found_in(other);
    assert_int_equal(found.elements[2], OBJECT / 4);
    assert_false(found.maybe);
    gone(p);
    gone(q);
}

static void graphs_within_graphs_are_followed(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    nodes[1].graph = GRAPH;
    nodes[1].type = CU_GRAPH_NODE_TYPE_GRAPH;
    nodes[1].child = CHILD;
    set_at(2, CHILD, p, 512);
    instantiate(GRAPH);
    found_in(object);
    launch_writes(p, 0, 512);
    assert_int_equal(found_in(object).unchanged[2], 512 / 4);
    assert_int_equal(missed_by_last(), 0);
    CALL(cuGraphExecChildGraphNodeSetParams, 1, CUDA_SUCCESS, .hGraphExec = EXEC, .hNode = (CUgraphNode)(uintptr_t)1, .childGraph = CHILD);
    launch_writes(p, 0, 512);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_NODES);
    assert_int_equal(found_in(object).operations, 0);
    gone(p);
}

static void a_graph_that_is_put_over_another_is_read(void **state)
{
    (void)state;
    uint32_t object;
    const CUdeviceptr p = object_new(&object);
    set_at(1, GRAPH, p, 512);
    instantiate(GRAPH);
    set_at(2, CHILD, p, 1024);
    found_in(object);
    CALL(cuGraphExecUpdate_v2, 1, CUDA_SUCCESS, .hGraphExec = EXEC, .hGraph = CHILD);
    launch_writes(p, 0, 1024);
    assert_int_equal(found_in(object).unchanged[2], 1024 / 4);
    CALL(cuGraphExecUpdate_v2, 1, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, .hGraphExec = EXEC, .hGraph = GRAPH);
    launch_writes(p, 0, 1024);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_NODES);
    gone(p);
}

static void what_is_not_known_of_a_graph_is_said(void **state)
{
    (void)state;
    uint32_t object;
    CUdeviceptr p = object_new(&object);
    CALL(cuGraphExecDestroy, 1, CUDA_SUCCESS, .hGraphExec = EXEC);
    launch_writes(p, 0, 8); /* one that was made while nobody looked */
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_NODES);
    nodes[1].graph = GRAPH;
    nodes[1].type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    set_at(2, GRAPH, p, 512);
    instantiate(GRAPH);
    found_in(object);
    launch_writes(p, 0, 512);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_NODES);
    assert_int_equal(found_in(object).unchanged[2], 512 / 4); /* what is known is compared */
    /* It is freed by the graph: nobody may look at it behind the launch. */
    nodes[1].type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    nodes[1].freed = p;
    instantiate(GRAPH);
    launch_writes(p, 0, 512);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_NODES);
    assert_int_equal(found_in(object).operations, 0);
    /* It was freed since, and its place is another's. */
    nodes[1].type = CU_GRAPH_NODE_TYPE_EMPTY;
    instantiate(GRAPH);
    launch_writes(p, 0, 512);
    assert_int_equal(found_in(object).operations, 1);
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p);
    launch_writes(p, 0, 512);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_OBJECT);
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    for (int k = 0; k < 2; k++)
        launch_writes(p, 0, 512);
    assert_int_equal(found_in(noted.objects).operations, 1); /* the first found it without contents */
    gone(p);
}

static void a_launch_that_is_captured_is_left_alone(void **state)
{
    (void)state;
    uint32_t object;
    const CUstream stream = (CUstream)(uintptr_t)5;
    const CUdeviceptr p = object_new(&object);
    set_at(1, GRAPH, p, 512);
    instantiate(GRAPH);
    found_in(object);
    played.captured[0] = stream;
    CALL(cuStreamBeginCapture_v2, 1, CUDA_SUCCESS, .hStream = stream);
    CALL(cuGraphLaunch, 1, CUDA_SUCCESS, .hGraph = EXEC, .hStream = stream);
    assert_int_equal(missed_by_last(), 1u << SONDE_VALUE_MISSED_GRAPH);
    assert_int_equal(found_in(object).operations, 0);
    played.captured[0] = NULL;
    CALL(cuStreamEndCapture, 1, CUDA_SUCCESS, .hStream = stream);
    gone(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copies_of_boxes_are_compared),
        TEST(sets_and_copies_of_rectangles_are_compared),
        TEST(boxes_that_do_not_fit_are_left_out),
        TEST(what_has_no_room_is_said),
        TEST(copies_may_be_on_the_host),
        TEST(room_on_the_host_is_used_again),
        TEST(managed_memory_is_compared_where_the_host_may_reach_it),
        TEST(sets_and_copies_of_a_graph_are_known),
        TEST(kernels_of_a_graph_may_write_what_their_parameters_point_to),
        TEST(graphs_within_graphs_are_followed),
        TEST(a_graph_that_is_put_over_another_is_read),
        TEST(what_is_not_known_of_a_graph_is_said),
        TEST(a_launch_that_is_captured_is_left_alone),
        TEST(the_driver_may_refuse_the_hosts_memory),
        TEST(room_on_the_host_ends_with_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

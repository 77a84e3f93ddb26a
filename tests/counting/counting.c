/* counting.c - an OpenCL layer that only counts what a program enqueued.
 *
 * The second opinion of the tests: it shares no line with Sonde's own backend
 * and is stacked behind it in one run (OPENCL_LAYERS=.../libcounting.so in the
 * environment of `sonde record`, which keeps the user's own layers), so both
 * see the very same calls. It changes nothing: no event, no queue property, no
 * thread; each wrapper calls the runtime and adds one to a counter.
 *
 * Counted are calls that returned CL_SUCCESS, by the kind names that reports
 * use. The counters live in a shared mapping of $COUNT_OUT.PID, so they
 * outlive _exit and SIGKILL; tests/counting/counts.py reads them.
 *
 * Threads: counters are atomic; a forked child counts into memory of its own
 * that nobody reads, because using OpenCL across fork is not allowed.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum count_kind {
    KERNEL,
    NATIVE,
    READ,
    WRITE,
    COPY,
    FILL,
    MAP,
    UNMAP,
    IMAGE_READ,
    IMAGE_WRITE,
    IMAGE_COPY,
    IMAGE_FILL,
    IMAGE_MAP,
    SVM_COPY,
    SVM_FILL,
    SVM_MAP,
    SVM_UNMAP,
    SVM_FREE,
    SVM_MIGRATE,
    MIGRATE,
    MARKER,
    BARRIER,
    KIND_COUNT
};
static const char *const kind_names[KIND_COUNT] = {
    "kernel", "native", "read", "write", "copy", "fill", "map", "unmap", "image_read",
    "image_write", "image_copy", "image_fill", "image_map", "svm_copy", "svm_fill", "svm_map",
    "svm_unmap", "svm_free", "svm_migrate", "migrate", "marker", "barrier"};

/* The file: magic, number of kinds, then one row per kind. */
struct count_row {
    char name[16];
    _Atomic uint64_t ok, failed;
};
struct count_file {
    char magic[8];
    uint32_t kinds;
    uint32_t pid;
    struct count_row rows[KIND_COUNT];
};

static struct count_file private_file;
static struct count_file *counts = &private_file;
static const cl_icd_dispatch *next;
static cl_icd_dispatch table;

static cl_int count(enum count_kind kind, cl_int status)
{
    atomic_fetch_add_explicit(status == CL_SUCCESS ? &counts->rows[kind].ok : &counts->rows[kind].failed, 1,
                              memory_order_relaxed);
    return status;
}

/* One wrapper per call: its kind, its name, its parameters before the wait list, and their names. */
#define WAIT_PARAMS cl_uint wait_count, const cl_event *wait_list, cl_event *event
#define WAIT wait_count, wait_list, event
#define UNPACK(...) __VA_ARGS__
#define WRAP(kind, name, params, args)                                      \
    static cl_int CL_API_CALL count_##name(UNPACK params, WAIT_PARAMS)      \
    {                                                                       \
        return count(kind, next->name(UNPACK args, WAIT));                  \
    }

WRAP(KERNEL, clEnqueueNDRangeKernel,
     (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l),
     (q, k, d, o, g, l))
WRAP(KERNEL, clEnqueueTask, (cl_command_queue q, cl_kernel k), (q, k))
WRAP(NATIVE, clEnqueueNativeKernel,
     (cl_command_queue q, void(CL_CALLBACK *f)(void *), void *a, size_t s, cl_uint n, const cl_mem *m, const void **l),
     (q, f, a, s, n, m, l))
WRAP(READ, clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p),
     (q, m, b, o, s, p))
WRAP(WRITE, clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p),
     (q, m, b, o, s, p))
WRAP(COPY, clEnqueueCopyBuffer, (cl_command_queue q, cl_mem s, cl_mem d, size_t so, size_t to, size_t n),
     (q, s, d, so, to, n))
WRAP(FILL, clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *p, size_t ps, size_t o, size_t s),
     (q, m, p, ps, o, s))
WRAP(READ, clEnqueueReadBufferRect,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *bo, const size_t *ho, const size_t *r, size_t br,
      size_t bs, size_t hr, size_t hs, void *p),
     (q, m, b, bo, ho, r, br, bs, hr, hs, p))
WRAP(WRITE, clEnqueueWriteBufferRect,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *bo, const size_t *ho, const size_t *r, size_t br,
      size_t bs, size_t hr, size_t hs, const void *p),
     (q, m, b, bo, ho, r, br, bs, hr, hs, p))
WRAP(COPY, clEnqueueCopyBufferRect,
     (cl_command_queue q, cl_mem s, cl_mem d, const size_t *so, const size_t *to, const size_t *r, size_t sr,
      size_t ss, size_t dr, size_t ds),
     (q, s, d, so, to, r, sr, ss, dr, ds))
WRAP(IMAGE_READ, clEnqueueReadImage,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *r, size_t rp, size_t sp, void *p),
     (q, m, b, o, r, rp, sp, p))
WRAP(IMAGE_WRITE, clEnqueueWriteImage,
     (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *r, size_t rp, size_t sp,
      const void *p),
     (q, m, b, o, r, rp, sp, p))
WRAP(IMAGE_COPY, clEnqueueCopyImage,
     (cl_command_queue q, cl_mem s, cl_mem d, const size_t *so, const size_t *to, const size_t *r),
     (q, s, d, so, to, r))
WRAP(IMAGE_COPY, clEnqueueCopyImageToBuffer,
     (cl_command_queue q, cl_mem s, cl_mem d, const size_t *o, const size_t *r, size_t to), (q, s, d, o, r, to))
WRAP(IMAGE_COPY, clEnqueueCopyBufferToImage,
     (cl_command_queue q, cl_mem s, cl_mem d, size_t so, const size_t *to, const size_t *r), (q, s, d, so, to, r))
WRAP(IMAGE_FILL, clEnqueueFillImage,
     (cl_command_queue q, cl_mem m, const void *c, const size_t *o, const size_t *r), (q, m, c, o, r))
WRAP(UNMAP, clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *p), (q, m, p))
WRAP(MIGRATE, clEnqueueMigrateMemObjects,
     (cl_command_queue q, cl_uint n, const cl_mem *m, cl_mem_migration_flags f), (q, n, m, f))
WRAP(SVM_COPY, clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool b, void *d, const void *s, size_t n),
     (q, b, d, s, n))
WRAP(SVM_FILL, clEnqueueSVMMemFill, (cl_command_queue q, void *d, const void *p, size_t ps, size_t n),
     (q, d, p, ps, n))
WRAP(SVM_MAP, clEnqueueSVMMap, (cl_command_queue q, cl_bool b, cl_map_flags f, void *p, size_t n), (q, b, f, p, n))
WRAP(SVM_UNMAP, clEnqueueSVMUnmap, (cl_command_queue q, void *p), (q, p))
WRAP(SVM_FREE, clEnqueueSVMFree,
     (cl_command_queue q, cl_uint n, void *p[], void(CL_CALLBACK *f)(cl_command_queue, cl_uint, void *[], void *),
      void *u),
     (q, n, p, f, u))
WRAP(SVM_MIGRATE, clEnqueueSVMMigrateMem,
     (cl_command_queue q, cl_uint n, const void **p, const size_t *s, cl_mem_migration_flags f), (q, n, p, s, f))

/* Markers and barriers have nothing before the wait list but the queue; the 1.1 forms have no list. */
WRAP(MARKER, clEnqueueMarkerWithWaitList, (cl_command_queue q), (q))
WRAP(BARRIER, clEnqueueBarrierWithWaitList, (cl_command_queue q), (q))

static cl_int CL_API_CALL count_clEnqueueMarker(cl_command_queue q, cl_event *event)
{
    return count(MARKER, next->clEnqueueMarker(q, event));
}
static cl_int CL_API_CALL count_clEnqueueBarrier(cl_command_queue q)
{
    return count(BARRIER, next->clEnqueueBarrier(q));
}
static cl_int CL_API_CALL count_clEnqueueWaitForEvents(cl_command_queue q, cl_uint n, const cl_event *list)
{
    return count(BARRIER, next->clEnqueueWaitForEvents(q, n, list));
}

/* Maps return the pointer and give their status through a parameter that may be NULL. */
static void *CL_API_CALL count_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f,
                                                  size_t o, size_t s, WAIT_PARAMS, cl_int *error)
{
    cl_int status = CL_SUCCESS;
    void *mapped = next->clEnqueueMapBuffer(q, m, b, f, o, s, WAIT, &status);
    count(MAP, status);
    if (error)
        *error = status;
    return mapped;
}
static void *CL_API_CALL count_clEnqueueMapImage(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f,
                                                 const size_t *o, const size_t *r, size_t *rp, size_t *sp,
                                                 WAIT_PARAMS, cl_int *error)
{
    cl_int status = CL_SUCCESS;
    void *mapped = next->clEnqueueMapImage(q, m, b, f, o, r, rp, sp, WAIT, &status);
    count(IMAGE_MAP, status);
    if (error)
        *error = status;
    return mapped;
}

/* cl_intel_unified_shared_memory, whose functions programs ask for by name. Of one platform. */
static cl_int(CL_API_CALL *usm_copy)(cl_command_queue, cl_bool, void *, const void *, size_t, WAIT_PARAMS);
static cl_int(CL_API_CALL *usm_fill)(cl_command_queue, void *, const void *, size_t, size_t, WAIT_PARAMS);

static cl_int CL_API_CALL count_usm_copy(cl_command_queue q, cl_bool b, void *d, const void *s, size_t n, WAIT_PARAMS)
{
    return count(SVM_COPY, usm_copy(q, b, d, s, n, WAIT));
}

static cl_int CL_API_CALL count_usm_fill(cl_command_queue q, void *d, const void *p, size_t ps, size_t n, WAIT_PARAMS)
{
    return count(SVM_FILL, usm_fill(q, d, p, ps, n, WAIT));
}

static void *CL_API_CALL count_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    void *found = next->clGetExtensionFunctionAddressForPlatform(platform, name);
    if (found && strcmp(name, "clEnqueueMemcpyINTEL") == 0) {
        memcpy(&usm_copy, &found, sizeof found);
        return (void *)(uintptr_t)count_usm_copy;
    }
    if (found && strcmp(name, "clEnqueueMemFillINTEL") == 0) {
        memcpy(&usm_fill, &found, sizeof found);
        return (void *)(uintptr_t)count_usm_fill;
    }
    return found;
}

static void forked(void)
{
    counts = &private_file;
}

static void open_counts(void)
{
    const char *prefix = getenv("COUNT_OUT");
    char path[4096];
    if (!prefix || snprintf(path, sizeof path, "%s.%ld", prefix, (long)getpid()) >= (int)sizeof path)
        return;
    /* Loaded again after the program closed the runtime: go on where we were. */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    void *map = MAP_FAILED;
    if (ftruncate(fd, sizeof *counts) == 0)
        map = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    counts = map;
    counts->kinds = KIND_COUNT;
    counts->pid = (uint32_t)getpid();
    for (int i = 0; i < KIND_COUNT; i++)
        strncpy(counts->rows[i].name, kind_names[i], sizeof counts->rows[i].name - 1);
    memcpy(counts->magic, "CLCOUNT", 8);
    pthread_atfork(NULL, NULL, forked);
}

#define HOOKS(X)                                                                                              \
    X(clEnqueueNDRangeKernel) X(clEnqueueTask) X(clEnqueueNativeKernel) X(clEnqueueReadBuffer)                \
    X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) X(clEnqueueReadBufferRect)          \
    X(clEnqueueWriteBufferRect) X(clEnqueueCopyBufferRect) X(clEnqueueReadImage) X(clEnqueueWriteImage)       \
    X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage) X(clEnqueueFillImage)   \
    X(clEnqueueUnmapMemObject) X(clEnqueueMigrateMemObjects) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill)     \
    X(clEnqueueSVMMap) X(clEnqueueSVMUnmap) X(clEnqueueSVMFree) X(clEnqueueSVMMigrateMem)                     \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clEnqueueMarker) X(clEnqueueBarrier)     \
    X(clEnqueueWaitForEvents) X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clGetExtensionFunctionAddressForPlatform)

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target,
                                      cl_uint *num_entries_ret, const cl_icd_dispatch **layer)
{
    const cl_uint known = sizeof table / sizeof(void *);
    if (!target || !num_entries_ret || !layer)
        return CL_INVALID_VALUE;
    next = target;
    memcpy(&table, target, (num_entries < known ? num_entries : known) * sizeof(void *));
#define X(name) table.name = count_##name;
    HOOKS(X)
#undef X
    open_counts();
    *num_entries_ret = num_entries < known ? num_entries : known;
    *layer = &table;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
    static const char text[] = "counting";
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *answer = name == CL_LAYER_API_VERSION ? (const void *)&version : text;
    const size_t length = name == CL_LAYER_API_VERSION ? sizeof version : sizeof text;
    if (name != CL_LAYER_API_VERSION && name != CL_LAYER_NAME)
        return CL_INVALID_VALUE;
    if (value && size < length)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, length);
    if (size_ret)
        *size_ret = length;
    return CL_SUCCESS;
}

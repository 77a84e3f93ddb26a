/* values.c - what operations leave unchanged (sonde record --values).
 *
 * What an operation writes, or may write, is copied before it and compared after it, by commands of ours around it in its own
 * in-order queue; what was found is read back behind them, and told when it is there. The program waits for none of it.
 * Of an object nothing is kept between two operations but which of its bytes were written, so that it does not matter who else
 * wrote it.
 *
 * Copies are in buffers of the queue, which its next operation uses again. One thread at a time enqueues an operation with what
 * is around it; another that comes meanwhile goes on without, and says that it did.
 *
 * Elements (include/sonde/backend.h) are counted for four sizes at once: which one the object has may be known later.
 */
#include "values.h"

#include <string.h>

#include "guest/memory.h"

enum {
    JOBS_MAX = 2048,    /* comparisons under way */
    PARAMETERS_MAX = 256,
};

/* One comparison under way. Its events are kept to its end: a runtime may use them when what they wait for fails. */
struct job {
    struct job *next;
    struct sonde_cl_values *values;
    cl_event copied, compared, done; /* the last: `unchanged` was read; NULL: it is not enqueued */
    struct sonde_value_change change;
    cl_uint groups;
    cl_ulong unchanged[GROUPS_MAX][SIZES];
};

static _Atomic uint64_t copied_room; /* bytes of all copies of all queues */

static struct {
    struct sonde_lock lock;
    struct job *under_way, *free;
    uint32_t made;
    bool looked_at; /* those that were under way are in a thread's hands */
} jobs;

/* `now` and `then` agree in the bytes `from` to `to` of `now`, of which byte k is byte k - shift of `then`; shift is a multiple
 * of 8. Each group counts its elements that are equal; the edges, where words are not whole, are the first work-item's.
 * PoCL makes a library of the kernel's name, whose code is ours by that name. */
static const char source[] =
    "kernel void libsonde_compare(global const uchar *now, global const uchar *then, ulong from, ulong to, ulong shift,\n"
    "                          global ulong *unchanged)\n"
    "{\n"
    "    local ulong equal[4][64];\n"
    "    const ulong first = (from + 7) / 8, last = to / 8;\n"
    "    global const ulong *a = (global const ulong *)now, *b = (global const ulong *)then;\n"
    "    ulong e1 = 0, e2 = 0, e4 = 0, e8 = 0;\n"
    "    for (ulong w = first + get_global_id(0); w < last; w += get_global_size(0)) {\n"
    "        const ulong x = a[w] ^ b[w - shift / 8];\n"
    "        ulong y = x | x >> 4;\n"
    "        y |= y >> 2;\n"
    "        y |= y >> 1;\n"
    "        y &= 0x0101010101010101UL;\n"
    "        const ulong z = (y | y >> 8) & 0x0001000100010001UL;\n"
    "        const ulong u = (z | z >> 16) & 0x0000000100000001UL;\n"
    "        e1 += 8 - popcount(y);\n"
    "        e2 += 4 - popcount(z);\n"
    "        e4 += 2 - popcount(u);\n"
    "        e8 += x == 0;\n"
    "    }\n"
    "    if (get_global_id(0) == 0) {\n"
    "        const ulong low = first < last ? first * 8 : to, high = first < last ? last * 8 : to;\n"
    "        for (uint size = 1; size <= 4; size *= 2) {\n"
    "            ulong same = 0;\n"
    "            for (ulong at = (from + size - 1) / size * size; at + size <= to; at += size) {\n"
    "                if (at == low)\n"
    "                    at = high;\n"
    "                if (at + size > to)\n"
    "                    break;\n"
    "                bool equals = true;\n"
    "                for (uint k = 0; k < size; k++)\n"
    "                    equals = equals && now[at + k] == then[at + k - shift];\n"
    "                same += equals;\n"
    "            }\n"
    "            if (size == 1)\n"
    "                e1 += same;\n"
    "            else if (size == 2)\n"
    "                e2 += same;\n"
    "            else\n"
    "                e4 += same;\n"
    "        }\n"
    "    }\n"
    "    const uint l = get_local_id(0);\n"
    "    equal[0][l] = e1;\n"
    "    equal[1][l] = e2;\n"
    "    equal[2][l] = e4;\n"
    "    equal[3][l] = e8;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < 4) {\n"
    "        ulong sum = 0;\n"
    "        for (uint k = 0; k < get_local_size(0); k++)\n"
    "            sum += equal[l][k];\n"
    "        unchanged[4 * get_group_id(0) + l] = sum;\n"
    "    }\n"
    "}\n";

/* ---- what is under way ---------------------------------------------------------------------------- */

/* Whole elements of `size` bytes between two places. */
static uint64_t whole(uint64_t from, uint64_t to, uint64_t size)
{
    const uint64_t first = (from + size - 1) / size, end = to / size;
    return end > first ? end - first : 0;
}

static bool finish(struct job *job)
{
    cl_event last = job->done ? job->done : (job->compared ? job->compared : job->copied);
    const cl_icd_dispatch *real = sonde__cl_target(last);
    cl_int status = CL_QUEUED;
    if (real->clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) != CL_SUCCESS)
        status = CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return false;
    if (job->done && status == CL_COMPLETE) {
        for (cl_uint g = 0; g < job->groups; g++)
            for (int k = 0; k < SIZES; k++)
                job->change.unchanged[k] += job->unchanged[g][k];
        sonde_value_changed(&job->change);
    } else if (job->done) {
        sonde_value_missed(job->change.operation, SONDE_VALUE_MISSED_FAILED, SONDE_ENGINE_NONE);
    }
    for (int i = 0; i < 3; i++) {
        cl_event event = i == 0 ? job->copied : (i == 1 ? job->compared : job->done);
        if (event)
            real->clReleaseEvent(event);
    }
    return true;
}

static void job_put(struct job *job, struct job **list)
{
    sonde__lock(&jobs.lock);
    job->next = *list;
    *list = job;
    sonde__unlock(&jobs.lock);
}

void sonde__cl_values_collect(enum sonde_collect how)
{
    if (sonde_values_wanted(SONDE_VALUES_FINE))
        sonde__cl_fine_read(how != SONDE_COLLECT_TURN);
    if (!sonde_values_wanted(SONDE_VALUES_COARSE))
        return;
    sonde__cl_duplicates_collect();
    if (!sonde__lock_within(&jobs.lock, 100))
        return;
    struct job *list = jobs.looked_at ? NULL : jobs.under_way;
    if (list) {
        jobs.under_way = NULL;
        jobs.looked_at = true;
    }
    sonde__unlock(&jobs.lock);
    if (!list)
        return;
    for (struct job *job = list, *next; job; job = next) { /* without the lock: with an event objects may die, and callbacks be called */
        next = job->next;
        job_put(job, finish(job) ? &jobs.free : &jobs.under_way);
    }
    sonde__lock(&jobs.lock);
    jobs.looked_at = false;
    sonde__unlock(&jobs.lock);
}

/* NULL: too many are under way. */
static struct job *job_get(struct sonde_cl_values *v)
{
    struct job *job = NULL;
    for (int i = 0; i < 2 && !job; i++) {
        if (i)
            sonde__cl_values_collect(SONDE_COLLECT_TURN);
        sonde__lock(&jobs.lock);
        job = jobs.free;
        if (job)
            jobs.free = job->next;
        else if (jobs.made < JOBS_MAX && (job = sonde__memory_get(sizeof *job)))
            jobs.made++;
        sonde__unlock(&jobs.lock);
    }
    if (job) {
        job->values = v;
        job->copied = job->compared = job->done = NULL;
    }
    return job;
}

static bool is_under_way(const struct sonde_cl_values *v)
{
    sonde__lock(&jobs.lock);
    bool found = jobs.looked_at;
    for (const struct job *job = jobs.under_way; job && !found; job = job->next)
        found = job->values == v;
    sonde__unlock(&jobs.lock);
    return found || sonde__cl_duplicates_under_way(v);
}

/* ---- of a queue ------------------------------------------------------------------------------------ */

static void release(const cl_icd_dispatch *real, struct sonde_cl_values *v)
{
    for (int i = 0; i < TARGETS_MAX; i++) {
        if (v->copy[i].mem)
            real->clReleaseMemObject(v->copy[i].mem);
        atomic_fetch_sub(&copied_room, v->copy[i].room);
    }
    if (v->results)
        real->clReleaseMemObject(v->results);
    if (v->compare)
        real->clReleaseKernel(v->compare);
    if (v->hash)
        real->clReleaseKernel(v->hash);
    if (v->program)
        real->clReleaseProgram(v->program);
    memset(v->copy, 0, sizeof v->copy);
    v->results = NULL;
    v->compare = v->hash = NULL;
    v->program = NULL;
}

static bool build(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue)
{
    const char *texts[] = {source, sonde__cl_hash_source};
    cl_device_id device;
    cl_uint units = 1;
    cl_int status;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof v->context, &v->context, NULL) != CL_SUCCESS ||
        real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return false;
    real->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    v->groups = units * 4 < GROUPS_MAX ? units * 4 : GROUPS_MAX;
    v->program = real->clCreateProgramWithSource(v->context, 2, texts, NULL, &status);
    if (status != CL_SUCCESS || real->clBuildProgram(v->program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    v->compare = real->clCreateKernel(v->program, "libsonde_compare", &status);
    if (status == CL_SUCCESS)
        v->hash = real->clCreateKernel(v->program, "libsonde_hash", &status);
    if (status != CL_SUCCESS)
        return false;
    v->results = real->clCreateBuffer(v->context, CL_MEM_WRITE_ONLY, sizeof(cl_ulong[GROUPS_MAX][SIZES]), NULL, &status);
    return status == CL_SUCCESS;
}

static uint64_t most_bytes(const cl_icd_dispatch *real, cl_command_queue queue)
{
    cl_device_id device = NULL;
    cl_ulong all = 0;
    if (sonde_values_memory())
        return sonde_values_memory();
    real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    real->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof all, &all, NULL);
    return all / 4;
}

/* Room for the copy of target `i`. */
static bool has_room(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    const uint64_t needed = v->target[i].bytes + 8, most = most_bytes(real, queue);
    uint64_t room = 65536;
    cl_int status;
    if (v->copy[i].room >= needed)
        return true;
    if (v->target[i].bytes > most) /* or no size at all: the runtime will say so */
        return false;
    while (room < needed)
        room += room / 2;
    const uint64_t more = room - v->copy[i].room;
    if (atomic_fetch_add(&copied_room, more) + more > most) {
        atomic_fetch_sub(&copied_room, more);
        return false;
    }
    if (v->copy[i].mem)
        real->clReleaseMemObject(v->copy[i].mem); /* stays until what was enqueued has run */
    v->copy[i].room = room;
    v->copy[i].mem = real->clCreateBuffer(v->context, CL_MEM_READ_WRITE, (size_t)room, NULL, &status);
    if (status != CL_SUCCESS) {
        atomic_fetch_sub(&copied_room, room);
        v->copy[i].mem = NULL;
        v->copy[i].room = 0;
    }
    return status == CL_SUCCESS;
}

/* The program may unload the runtime when its own work is done: ours must be, too. Not for long, since that work may wait for
 * what the program has still to do. */
static void settle(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue)
{
    enum { PATIENCE_NS = 200000000 };
    const uint64_t until = sonde_now_ns() + PATIENCE_NS;
    real->clFlush(queue);
    for (;;) {
        sonde__cl_values_collect(SONDE_COLLECT_TURN);
        if (!is_under_way(v) || sonde_now_ns() > until)
            return;
        sonde__nap(50);
    }
}

void sonde__cl_values_released(cl_command_queue handle)
{
    struct sonde_cl_queue *queue = sonde_values_wanted(SONDE_VALUES_COARSE) ? sonde__cl_queue(handle) : NULL;
    struct sonde_cl_values *v = queue ? atomic_load(&queue->values) : NULL;
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    cl_uint references = 0;
    if (!v || !sonde__trylock(&v->lock))
        return;
    settle(real, v, handle); /* events of ours refer to the queue, too */
    if (real->clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL) == CL_SUCCESS && references == 1)
        release(real, v);
    sonde__unlock(&v->lock);
}

static struct sonde_cl_values *values_of(struct sonde_cl_queue *queue)
{
    struct sonde_cl_values *v = atomic_load_explicit(&queue->values, memory_order_acquire), *none = NULL;
    if (v)
        return v;
    v = sonde__memory_get(sizeof *v);
    return !v || atomic_compare_exchange_strong(&queue->values, &none, v) ? v : none;
}

/* ---- what was written before -------------------------------------------------------------------------------- */

static struct sonde_lock defined_lock;

void sonde__cl_values_made(cl_mem handle, struct sonde_cl_mem *mem, uint64_t bytes)
{
    cl_mem_flags flags = 0;
    cl_mem whole = NULL;
    if (!sonde_values_wanted(SONDE_VALUES_COARSE))
        return;
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    real->clGetMemObjectInfo(handle, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    real->clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL);
    mem->defined_from = 0; /* of a part nobody knows: it is taken for written */
    mem->defined_to = whole || flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR) ? bytes : 0;
}

void sonde__cl_values_host_writes(struct sonde_cl_mem *mem)
{
    sonde__lock(&defined_lock);
    atomic_fetch_add(&mem->version, 1);
    mem->defined_from = 0;
    mem->defined_to = UINT64_MAX;
    sonde__unlock(&defined_lock);
}

/* `from` to `to` is being written. Leaves in them what of it was written before: elsewhere there is nothing to compare with. */
static void define(cl_mem handle, uint64_t *from, uint64_t *to)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(handle);
    const uint64_t begin = *from, end = *to;
    if (!mem || !atomic_load_explicit(&mem->bytes, memory_order_relaxed))
        return; /* made where we did not see it */
    sonde__lock(&defined_lock);
    atomic_fetch_add(&mem->version, 1);
    const uint64_t was_from = mem->defined_from, was_to = mem->defined_to;
    const bool was = was_from < was_to;
    *from = begin > was_from ? begin : was_from;
    *to = end < was_to ? end : was_to;
    if (!was || *from >= *to)
        *from = *to = 0;
    if (!was || (begin <= was_to && was_from <= end)) {
        mem->defined_from = was && was_from < begin ? was_from : begin;
        mem->defined_to = was && was_to > end ? was_to : end;
    } else if (end - begin > was_to - was_from) {
        mem->defined_from = begin;
        mem->defined_to = end;
    }
    sonde__unlock(&defined_lock);
}

/* An operation that is not looked at writes what it writes. A kernel counts as writing all that it may. */
static void define_unseen(const struct sonde_cl_written *written)
{
    uint64_t from = written->from, to = written->from + written->bytes;
    const struct sonde_cl_kernel *kernel = written->kernel ? sonde__cl_kernel(written->kernel) : NULL;
    if (written->mem)
        define(written->mem, &from, &to);
    for (uint32_t i = 0; kernel && i < kernel->arguments.count; i++) {
        struct sonde_object_info object = {0};
        sonde_object_find(kernel->arguments.object[i], &object);
        const cl_mem mem = (cl_mem)(uintptr_t)object.address;
        struct sonde_cl_mem *known = mem && sonde__cl_mem_object(mem) == kernel->arguments.object[i] ? sonde__cl_mem(mem) : NULL;
        if (known)
            sonde__cl_values_host_writes(known);
    }
}

/* ---- what an operation writes ------------------------------------------------------------------------ */

static void miss(struct sonde_cl_enqueue *enqueue, enum sonde_value_missed why)
{
    enqueue->missed |= 1u << why;
}

/* Of an object that has contents throughout. */
static void add_written(struct sonde_cl_values *v, const struct target *target)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(target->mem);
    const uint64_t bytes = mem ? atomic_load(&mem->bytes) : 0;
    if (bytes && mem->defined_from == 0 && mem->defined_to >= bytes && v->written_count < TARGETS_MAX)
        v->written[v->written_count++] = (struct sonde_cl_side){target->mem, target->object, atomic_load(&mem->version)};
}

static void add_target(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, struct target target)
{
    uint64_t from = target.from, to = from + target.bytes;
    define(target.mem, &from, &to);
    add_written(v, &target);
    target.from = from;
    target.bytes = to - from;
    if (v->targets == TARGETS_MAX)
        miss(enqueue, SONDE_VALUE_MISSED_ARGUMENTS);
    else if (target.bytes)
        v->target[v->targets++] = target;
}

/* "uint4*": the size of one uint; 0: another type. */
static uint8_t element_of(const char *type)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } types[] = {
        {"char", 1},
        {"uchar", 1},
        {"short", 2},
        {"ushort", 2},
        {"half", 2},
        {"int", 4},
        {"uint", 4},
        {"float", 4},
        {"long", 8},
        {"ulong", 8},
        {"double", 8},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].name);
        const char *rest = type + length;
        if (strncmp(type, types[i].name, length) != 0)
            continue;
        while (*rest >= '0' && *rest <= '9')
            rest++;
        if (*rest == '*')
            return types[i].bytes;
    }
    return 0;
}

/* The kernel of a program that is built anew with what its compiler was not asked to keep: names of types, and const. NULL: there
 * is no source, or it does not compile again. The caller's. */
static cl_kernel described(const cl_icd_dispatch *real, cl_kernel handle)
{
    cl_program given = NULL, program = NULL;
    cl_context context = NULL;
    cl_device_id devices[64];
    char name[1024] = "";
    size_t text_bytes = 0, option_bytes = 0, device_bytes = 0;
    cl_kernel made = NULL;
    cl_int status = CL_SUCCESS;
    if (real->clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof given, &given, NULL) != CL_SUCCESS ||
        real->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        real->clGetProgramInfo(given, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        real->clGetProgramInfo(given, CL_PROGRAM_DEVICES, sizeof devices, devices, &device_bytes) != CL_SUCCESS ||
        real->clGetProgramInfo(given, CL_PROGRAM_SOURCE, 0, NULL, &text_bytes) != CL_SUCCESS || text_bytes < 2 ||
        real->clGetProgramBuildInfo(given, devices[0], CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &option_bytes) != CL_SUCCESS)
        return NULL;
    static const char more[] = " -cl-kernel-arg-info";
    char *text = sonde__pages_get(text_bytes + 1 + option_bytes + sizeof more), *options = text ? text + text_bytes + 1 : NULL;
    const char *line = text;
    if (!text)
        return NULL;
    if (real->clGetProgramInfo(given, CL_PROGRAM_SOURCE, text_bytes, text, NULL) == CL_SUCCESS &&
        real->clGetProgramBuildInfo(given, devices[0], CL_PROGRAM_BUILD_OPTIONS, option_bytes, options, NULL) == CL_SUCCESS)
        program = real->clCreateProgramWithSource(context, 1, &line, NULL, &status);
    if (program && real->clBuildProgram(program, 1, devices, strcat(options, more), NULL, NULL) == CL_SUCCESS)
        made = real->clCreateKernel(program, name, &status);
    if (program)
        real->clReleaseProgram(program); /* the kernel keeps it */
    sonde__pages_put(text, text_bytes + 1 + option_bytes + sizeof more);
    return made;
}

static struct sonde_cl_parameter parameter_of(const cl_icd_dispatch *real, cl_kernel handle, cl_uint i)
{
    cl_kernel_arg_type_qualifier qualifier = 0;
    cl_kernel_arg_address_qualifier space = 0;
    char type[64] = "";
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL);
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL);
    type[sizeof type - 1] = 0;
    return (struct sonde_cl_parameter){
        .element_bytes = element_of(type),
        .reads_only = qualifier & CL_KERNEL_ARG_TYPE_CONST || space == CL_KERNEL_ARG_ADDRESS_CONSTANT,
    };
}

/* What the kernel's code says of its parameters, as many as are set: what it does not say stays 0. NULL: no memory. */
static const struct sonde_cl_parameter *parameters_of(const cl_icd_dispatch *real, cl_kernel handle, struct sonde_cl_kernel *kernel)
{
    static struct sonde_lock lock;
    const uint32_t count = kernel->arguments.count;
    cl_kernel_arg_type_qualifier any;
    sonde__lock(&lock);
    if (!kernel->parameters)
        kernel->parameters = sonde__memory_get(PARAMETERS_MAX * sizeof *kernel->parameters);
    if (kernel->parameters && kernel->parameters_known < count) {
        const bool says = real->clGetKernelArgInfo(handle, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof any, &any, NULL) == CL_SUCCESS;
        cl_kernel own = says ? NULL : described(real, handle);
        for (uint32_t i = 0; i < count && i < PARAMETERS_MAX; i++)
            kernel->parameters[i] = parameter_of(real, own ? own : handle, i);
        kernel->parameters_known = count;
        if (own)
            real->clReleaseKernel(own);
    }
    sonde__unlock(&lock);
    return kernel->parameters;
}

static void add_argument(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, uint32_t object,
                         const struct sonde_cl_parameter *parameter)
{
    struct sonde_object_info known = {0};
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    size_t bytes = 0;
    if (parameter->reads_only || !sonde_object_find(object, &known))
        return;
    const cl_mem mem = (cl_mem)(uintptr_t)known.address;
    if (sonde__cl_mem_object(mem) != object) {
        miss(enqueue, SONDE_VALUE_MISSED_SVM);
        return;
    }
    real->clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
    real->clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    real->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (flags & CL_MEM_READ_ONLY)
        return;
    if (type != CL_MEM_OBJECT_BUFFER)
        miss(enqueue, SONDE_VALUE_MISSED_IMAGE);
    else
        add_target(enqueue, v, (struct target){.mem = mem, .object = object, .element_bytes = parameter->element_bytes, .maybe = true, .bytes = bytes});
}

static void add_arguments(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_kernel handle)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    const struct sonde_cl_parameter *parameters = kernel ? parameters_of(real, handle, kernel) : NULL;
    if (!parameters || kernel->arguments.count > PARAMETERS_MAX) {
        miss(enqueue, SONDE_VALUE_MISSED_ARGUMENTS);
        return;
    }
    if (kernel->indirect.count)
        miss(enqueue, SONDE_VALUE_MISSED_SVM);
    for (uint32_t i = 0; i < kernel->arguments.count; i++)
        if (kernel->arguments.object[i])
            add_argument(real, enqueue, v, kernel->arguments.object[i], &parameters[i]);
}

/* ---- around it ------------------------------------------------------------------------------------------ */

static bool copy(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    const struct target *t = &v->target[i];
    const bool room = has_room(real, v, queue, i);
    struct job *job = room ? job_get(v) : NULL;
    if (!job) {
        miss(enqueue, room ? SONDE_VALUE_MISSED_MANY : SONDE_VALUE_MISSED_MEMORY);
        return false;
    }
    /* What the operation waits for, the first copy waits for, and so do those behind it. */
    const cl_uint waits = i == 0 ? enqueue->wait_count : 0;
    v->job[i] = job;
    if (real->clEnqueueCopyBuffer(queue, t->mem, v->copy[i].mem, (size_t)t->from, (size_t)(t->from % 8), (size_t)t->bytes, waits,
                                  waits ? enqueue->wait_list : NULL, &job->copied) == CL_SUCCESS)
        return true;
    job_put(job, &jobs.free);
    miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
    return false;
}

/* Has the object been written through this queue alone? */
static bool is_raced(const struct target *t, const struct sonde_cl_queue *queue)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(t->mem);
    const struct sonde_cl_queue *none = NULL;
    return mem && !atomic_compare_exchange_strong(&mem->writer, &none, queue) && none != queue;
}

static bool is_left_out(struct sonde_cl_enqueue *enqueue, const struct sonde_cl_written *written)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(written->kernel);
    const uint32_t name = kernel ? sonde__cl_kernel_name(written->kernel, kernel) : 0;
    const enum sonde_value_missed why = sonde_value_choose(sonde_call_operation(&enqueue->call, SONDE_OP_KERNEL, name), name, written->items);
    enqueue->writes |= why != SONDE_VALUE_MISSED_NONE;
    if (why)
        miss(enqueue, why);
    return why;
}

void sonde__cl_values_before(struct sonde_cl_enqueue *enqueue, cl_command_queue handle, const struct sonde_cl_written *written)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    struct sonde_cl_queue *queue = enqueue->queue;
    struct sonde_cl_mem *unseen = written->unseen ? sonde__cl_mem(written->unseen) : NULL;
    enqueue->written = *written;
    enqueue->writes |= written->source != NULL;
    if (written->kernel && is_left_out(enqueue, written)) {
        define_unseen(written);
        return;
    }
    if (written->kernel && sonde_values_wanted(SONDE_VALUES_FINE))
        sonde__cl_fine_before(enqueue, handle, written->kernel);
    if (!sonde_values_wanted(SONDE_VALUES_COARSE))
        return;
    enqueue->writes |= written->mem || written->kernel || written->missed;
    if (written->missed)
        miss(enqueue, written->missed);
    if (unseen)
        sonde__cl_values_host_writes(unseen);
    if (!written->mem && !written->kernel) {
        sonde__cl_values_check(handle);
        return;
    }
    if (!queue || atomic_load_explicit(&queue->asked, memory_order_relaxed) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
        miss(enqueue, queue ? SONDE_VALUE_MISSED_QUEUE : SONDE_VALUE_MISSED_UNKNOWN);
        define_unseen(written);
        return;
    }
    struct sonde_cl_values *v = values_of(queue);
    if (!v || !sonde__trylock(&v->lock)) {
        miss(enqueue, v ? SONDE_VALUE_MISSED_BUSY : SONDE_VALUE_MISSED_MEMORY);
        if (v)
            atomic_store(&v->disturbed, true);
        define_unseen(written);
        return;
    }
    atomic_store(&v->disturbed, false);
    v->targets = v->written_count = 0;
    if (v->compare)
        sonde__cl_duplicates_check(real, v, handle);
    if (!v->compare && (v->program || !build(real, v, handle)))
        miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
    else if (written->kernel)
        add_arguments(real, enqueue, v, written->kernel);
    else
        add_target(enqueue, v, (struct target){.mem = written->mem, .object = sonde__cl_mem_object(written->mem), .from = written->from, .bytes = written->bytes});
    uint32_t kept = 0;
    for (uint32_t i = 0; i < v->targets; i++) {
        v->target[kept] = v->target[i];
        kept += copy(real, enqueue, v, handle, kept);
    }
    v->targets = kept;
    if (!kept && !v->written_count)
        sonde__unlock(&v->lock);
    else
        enqueue->values = v;
}

bool sonde__cl_values_compare(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_mem pair[2],
                              const cl_ulong range[3], cl_ulong (*unchanged)[SIZES], cl_event *compared, cl_event *done)
{
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    return real->clSetKernelArg(v->compare, 0, sizeof *pair, &pair[0]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 1, sizeof *pair, &pair[1]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 2, sizeof *range, &range[0]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 3, sizeof *range, &range[1]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 4, sizeof *range, &range[2]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 5, sizeof v->results, &v->results) == CL_SUCCESS &&
           real->clEnqueueNDRangeKernel(queue, v->compare, 1, NULL, &global, &local, 0, NULL, compared) == CL_SUCCESS &&
           real->clEnqueueReadBuffer(queue, v->results, CL_FALSE, 0, v->groups * sizeof *unchanged, unchanged, 0, NULL, done) == CL_SUCCESS;
}

static bool compare(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    const struct target *t = &v->target[i];
    struct job *job = v->job[i];
    job->groups = v->groups;
    return sonde__cl_values_compare(real, v, queue, (const cl_mem[]){t->mem, v->copy[i].mem},
                                    (const cl_ulong[]){t->from, t->from + t->bytes, t->from / 8 * 8}, job->unchanged, &job->compared, &job->done);
}

/* `operation` 0: there was none. */
static void compare_all(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t operation)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    for (uint32_t i = 0; i < v->targets; i++) {
        const struct target *t = &v->target[i];
        struct job *job = v->job[i];
        job->change = (struct sonde_value_change){
            .operation = operation,
            .object = t->object,
            .element_bytes = t->element_bytes,
            .maybe = t->maybe,
            .raced = is_raced(t, enqueue->queue) || atomic_load(&v->disturbed),
            .operations = 1,
            .bytes = t->bytes,
        };
        for (int k = 0; k < SIZES; k++)
            job->change.elements[k] = whole(t->from, t->from + t->bytes, 1u << k);
        if (operation && !compare(real, v, queue, i))
            miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
        job_put(job, &jobs.under_way);
    }
}

/* What a kernel does to its arguments: as its code says, else what it may do. */
static void tell_arguments(const struct sonde_cl_enqueue *enqueue, uint32_t operation, const struct sonde_cl_kernel *kernel)
{
    for (int writes = 0; writes < 2; writes++) /* what is only read comes first */
        for (uint32_t i = 0; i < kernel->arguments.count && i < PARAMETERS_MAX; i++) {
            struct sonde_object_info object = {0};
            const bool reads_only = kernel->parameters && i < kernel->parameters_known && kernel->parameters[i].reads_only;
            unsigned how = reads_only ? SONDE_FLOW_READ : SONDE_FLOW_READ | SONDE_FLOW_WRITE | SONDE_FLOW_MAYBE;
            if (enqueue->twin)
                how = sonde__cl_fine_how(enqueue, i);
            if (!kernel->arguments.object[i] || !how || ((how & SONDE_FLOW_WRITE) != 0) != writes)
                continue;
            sonde_object_find(kernel->arguments.object[i], &object);
            sonde_value_flow(operation, kernel->arguments.object[i], object.bytes, how);
        }
}

static void tell_flow(const struct sonde_cl_enqueue *enqueue, uint32_t operation, const struct sonde_submit *submit)
{
    const struct sonde_cl_written *w = &enqueue->written;
    const struct sonde_cl_kernel *kernel = w->kernel ? sonde__cl_kernel(w->kernel) : NULL;
    if (w->source)
        sonde_value_flow(operation, sonde__cl_mem_object(w->source), submit->bytes, SONDE_FLOW_READ);
    if (w->mem || w->unseen)
        sonde_value_flow(operation, sonde__cl_mem_object(w->mem ? w->mem : w->unseen), submit->bytes, SONDE_FLOW_WRITE);
    if (kernel)
        tell_arguments(enqueue, operation, kernel);
}

void sonde__cl_values_after(struct sonde_cl_enqueue *enqueue, bool made, cl_command_queue queue, const struct sonde_submit *submit)
{
    struct sonde_cl_values *v = enqueue->values;
    const uint32_t operation = made ? sonde_call_operation(&enqueue->call, submit->kind, submit->name) : 0;
    if (operation && sonde_values_wanted(SONDE_VALUES_COARSE))
        tell_flow(enqueue, operation, submit);
    sonde__cl_fine_after(enqueue);
    if (v) {
        compare_all(enqueue, v, queue, operation);
        if (operation && !atomic_load(&v->disturbed))
            sonde__cl_duplicates_after(enqueue, v, queue, operation);
        sonde__unlock(&v->lock);
    }
    const bool writes = enqueue->written.mem || enqueue->written.kernel || enqueue->written.missed;
    for (uint32_t why = 0; operation && writes && why < SONDE_VALUE_MISSED_COUNT; why++)
        if (why ? enqueue->missed >> why & 1 : !enqueue->missed)
            sonde_value_missed(operation, (enum sonde_value_missed)why, enqueue->twin ? SONDE_ENGINE_LLVM : SONDE_ENGINE_NONE);
}

void sonde__cl_values_check(cl_command_queue handle)
{
    struct sonde_cl_queue *queue = sonde__cl_duplicates_any() ? sonde__cl_queue(handle) : NULL;
    struct sonde_cl_values *v = queue ? atomic_load(&queue->values) : NULL;
    if (!v || !sonde__trylock(&v->lock))
        return;
    if (v->compare)
        sonde__cl_duplicates_check(sonde__cl_target(handle), v, handle);
    sonde__unlock(&v->lock);
}

void sonde__cl_values_forget(void)
{
    sonde__cl_duplicates_forget();
    sonde__cl_fine_forget();
    memset(&jobs, 0, sizeof jobs);
    atomic_store(&copied_room, 0);
}

/* values.c - what operations leave unchanged (sonde record --values).
 *
 * What an operation writes, or may write, is copied before it and compared after it, by commands of ours around it in its own
 * queue (order.c: one that is out of order); what was found is read back behind them, and told when it is there. The program waits for none of it.
 * Of an object nothing is kept between two operations but which of its bytes were written, so that it does not matter who else
 * wrote it.
 *
 * One thread at a time enqueues an operation with what is around it; another that comes meanwhile goes on without, and says that it
 * did.
 *
 * Elements (include/sonde/backend.h) are counted for four sizes at once: which one the object has may be known later.
 */
#include "values.h"

#include <string.h>

#include "guest/memory.h"
#include "remote.h"

enum { PARAMETERS_MAX = 256 };

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

void sonde__cl_values_svm_writes(uint32_t object)
{
    struct sonde_object_info known;
    struct sonde_cl_mem *mem = object && sonde_object_find(object, &known) && known.kind == SONDE_OBJECT_SVM ? sonde__cl_svm((void *)(uintptr_t)known.address) : NULL;
    if (mem)
        sonde__cl_values_host_writes(mem);
}

void sonde__cl_values_define(struct sonde_cl_mem *mem, uint64_t *from, uint64_t *to)
{
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

bool sonde__cl_values_defined(struct sonde_cl_mem *mem, uint64_t from, uint64_t to)
{
    sonde__lock(&defined_lock);
    atomic_fetch_add(&mem->version, 1);
    const bool all = !atomic_load_explicit(&mem->bytes, memory_order_relaxed) || (mem->defined_from <= from && to <= mem->defined_to);
    sonde__unlock(&defined_lock);
    return all;
}

static void define_object(const struct sonde_cl_enqueue *enqueue, cl_mem mem)
{
    struct sonde_cl_mem *known = sonde__cl_mem(mem);
    sonde__cl_order_unseen(enqueue, sonde__cl_mem_object(mem));
    if (known)
        sonde__cl_values_host_writes(known);
}

/* An operation that is not looked at writes what it writes. A kernel counts as writing all that it may. */
static void define_unseen(const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_written *written)
{
    uint64_t from = written->from, to = written->from + written->bytes;
    const struct sonde_cl_kernel *kernel = written->kernel ? sonde__cl_kernel(written->kernel) : NULL;
    struct sonde_cl_mem *some = written->is_rectangle || written->is_unmap || written->is_image ? sonde__cl_mem(written->mem) : NULL;
    if (some)
        sonde__cl_values_host_writes(some);
    else if (written->mem)
        sonde__cl_values_define(sonde__cl_mem(written->mem), &from, &to);
    if (written->mem)
        sonde__cl_order_unseen(enqueue, sonde__cl_mem_object(written->mem));
    if (written->svm) {
        sonde__cl_order_unseen(enqueue, sonde__cl_svm_object(written->svm));
        sonde__cl_values_svm_writes(sonde__cl_svm_object(written->svm));
    }
    for (uint32_t i = 0; kernel && i < kernel->arguments.count; i++) {
        struct sonde_object_info object = {0};
        sonde__cl_order_unseen(enqueue, kernel->arguments.object[i]);
        sonde_object_find(kernel->arguments.object[i], &object);
        const cl_mem mem = (cl_mem)(uintptr_t)object.address;
        struct sonde_cl_mem *known = mem && sonde__cl_mem_object(mem) == kernel->arguments.object[i] ? sonde__cl_mem(mem) : NULL;
        if (known)
            sonde__cl_values_host_writes(known);
        else
            sonde__cl_values_svm_writes(kernel->arguments.object[i]);
    }
    for (cl_uint i = 0; i < written->object_count; i++)
        define_object(enqueue, written->objects[i]);
    for (uint32_t i = 0; kernel && i < kernel->indirect.count; i++) {
        sonde__cl_order_unseen(enqueue, kernel->indirect.object[i]);
        sonde__cl_values_svm_writes(kernel->indirect.object[i]);
    }
}

/* ---- what an operation writes ------------------------------------------------------------------------ */

/* Of an object that has contents throughout. */
static void add_written(struct sonde_cl_values *v, const struct target *target)
{
    struct sonde_cl_mem *mem = target->known;
    const uint64_t bytes = mem && !target->is_svm && !v->slot ? atomic_load(&mem->bytes) : 0;
    if (bytes && mem->defined_from == 0 && mem->defined_to >= bytes && v->written_count < TARGETS_MAX)
        v->written[v->written_count++] = (struct sonde_cl_side){target->mem, target->object, atomic_load(&mem->version)};
}

static void add_target(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, struct target target)
{
    uint64_t from = target.from, to = from + target.bytes;
    target.known = target.is_svm ? sonde__cl_svm(target.mem) : sonde__cl_mem(target.mem);
    sonde__cl_values_define(target.known, &from, &to);
    add_written(v, &target);
    target.from = from;
    target.bytes = to - from;
    if (v->targets == TARGETS_MAX)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_ARGUMENTS);
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
    cl_kernel_arg_access_qualifier access = 0;
    char type[64] = "";
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL);
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL);
    real->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL);
    type[sizeof type - 1] = 0;
    return (struct sonde_cl_parameter){
        .element_bytes = element_of(type),
        .reads_only = qualifier & CL_KERNEL_ARG_TYPE_CONST || space == CL_KERNEL_ARG_ADDRESS_CONSTANT || access == CL_KERNEL_ARG_ACCESS_READ_ONLY,
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

/* One object is one target, however many arguments it is. */
static bool is_target(const struct sonde_cl_values *v, cl_mem mem)
{
    for (uint32_t i = 0; i < v->targets; i++)
        if (v->target[i].mem == mem)
            return true;
    return false;
}

/* Whether the kernel may write through another argument to another place of the object. */
static bool is_reached_twice(const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_kernel *kernel, uint32_t argument)
{
    const void *pointer = sonde__cl_twin_pointer(kernel, argument);
    for (uint32_t i = 0; i < kernel->arguments.count; i++)
        if (kernel->arguments.object[i] == kernel->arguments.object[argument] && sonde__cl_twin_pointer(kernel, i) != pointer && sonde__cl_code_writes(enqueue, i))
            return true;
    return false;
}

/* Shared virtual memory, from where the argument points; all of it, if what is written is not marked. */
static void add_svm_argument(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_kernel *kernel, uint32_t argument,
                             const struct sonde_object_info *known, uint32_t element_bytes)
{
    const uint32_t object = kernel->arguments.object[argument];
    const cl_mem base = (cl_mem)(uintptr_t)known->address;
    const uint64_t place = (uintptr_t)sonde__cl_twin_pointer(kernel, argument) - known->address;
    if (known->kind == SONDE_OBJECT_SVM && is_target(v, base))
        return;
    if (known->kind == SONDE_OBJECT_SVM && sonde__cl_svm(base) && place < known->bytes && known->address % 8 == 0) {
        uint32_t grain = sonde__cl_fine_grain(enqueue);
        if (place % 8 || (grain && is_reached_twice(enqueue, kernel, argument)))
            grain = 0;
        const uint64_t from = grain ? place : 0, bytes = known->bytes - from;
        add_target(enqueue, v,
                   (struct target){.mem = base, .is_svm = true, .object = object, .element_bytes = element_bytes, .maybe = !grain, .from = from, .bytes = bytes, .grain = grain, .marks_from = from, .marks_bytes = bytes});
        return;
    }
    sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_SVM);
    sonde__cl_values_svm_writes(object);
}

/* Region NULL: all of it, perhaps. */
static void add_image(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_mem image, const size_t *origin, const size_t *region)
{
    struct target t;
    const bool fits = sonde__cl_image_target(real, image, origin, region, &t);
    if (!fits)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_IMAGE);
    else if (v->targets == TARGETS_MAX)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_ARGUMENTS);
    else if (t.bytes)
        v->target[v->targets++] = t;
}

/* A buffer or an image that a kernel may write, all of it: through marks, if there are any. */
static void add_object(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_mem mem, uint32_t grain, uint32_t element_bytes)
{
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    size_t bytes = 0;
    real->clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
    real->clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    real->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (flags & CL_MEM_READ_ONLY || is_target(v, mem))
        return;
    if (type != CL_MEM_OBJECT_BUFFER)
        add_image(real, enqueue, v, mem, NULL, NULL);
    else
        add_target(enqueue, v,
                   (struct target){.mem = mem, .object = sonde__cl_mem_object(mem), .element_bytes = element_bytes, .maybe = !grain, .bytes = bytes, .grain = grain, .marks_bytes = bytes});
}

static void add_argument(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_kernel *kernel,
                         uint32_t argument, uint32_t element_bytes)
{
    const uint32_t object = kernel->arguments.object[argument];
    struct sonde_object_info known = {0};
    if (!sonde_object_find(object, &known))
        return;
    const cl_mem mem = (cl_mem)(uintptr_t)known.address;
    if (sonde__cl_mem_object(mem) != object)
        add_svm_argument(enqueue, v, kernel, argument, &known, element_bytes);
    else
        add_object(real, enqueue, v, mem, sonde__cl_fine_grain(enqueue), element_bytes);
}

/* False: the runtime will refuse it. */
static bool is_within(const struct rectangle *r, uint64_t bytes)
{
    uint64_t slice, end;
    return r->width && r->rows && r->slices && r->width <= r->row && !__builtin_mul_overflow(r->rows, r->row, &slice) && slice <= r->slice &&
           !__builtin_mul_overflow(r->slices - 1, r->slice, &end) && !__builtin_add_overflow(end, r->from + slice - r->row + r->width, &end) && end <= bytes &&
           r->from <= bytes && r->width <= bytes && slice <= bytes + r->row;
}

/* All of it at one stretch, or what is marked of that. */
static bool make_rectangle(const struct sonde_cl_written *w, struct target *t)
{
    const struct sonde_cl_mem *mem = sonde__cl_mem(w->mem);
    const uint64_t bytes = mem ? atomic_load_explicit(&mem->bytes, memory_order_relaxed) : 0;
    if (!w->origin || !w->region)
        return false;
    struct rectangle *r = &t->rectangle;
    r->width = w->region[0];
    r->rows = w->region[1];
    r->slices = w->region[2];
    r->row = w->row_pitch ? w->row_pitch : r->width;
    r->slice = w->slice_pitch ? w->slice_pitch : r->row * r->rows;
    r->from = w->origin[2] * r->slice + w->origin[1] * r->row + w->origin[0];
    if (!is_within(r, bytes))
        return false;
    t->from = r->from;
    t->bytes = (r->slices - 1) * r->slice + (r->rows - 1) * r->row + r->width;
    if (t->bytes == r->width * r->rows * r->slices) {
        r->slices = 0;
        return true;
    }
    t->grain = 8;
    while ((r->from | r->width | r->row | r->slice) % t->grain)
        t->grain /= 2;
    t->marks_from = t->from / 8 * 8;
    t->marks_bytes = t->from + t->bytes - t->marks_from;
    return true;
}

/* What was defined when it was mapped, but for the version. */
static void add_unmapped(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_written *w)
{
    uint32_t object = w->svm ? 0 : sonde__cl_mem_object(w->mem);
    struct sonde_object_info whole = {0};
    if (w->svm)
        sonde__cl_svm_around(w->svm, &object, &whole);
    struct mapping *m = sonde__cl_maps_find(v, w->svm ? (cl_mem)(uintptr_t)whole.address : w->mem, w->unmapped);
    if (!m) {
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_MAPPED);
        return;
    }
    const struct target t = {.mem = m->mem, .is_svm = m->is_svm, .known = m->known, .mapping = m, .object = object, .maybe = true, .from = m->from, .bytes = m->bytes};
    uint64_t from = m->from, to = from + m->bytes;
    sonde__cl_values_define(t.known, &from, &to);
    add_written(v, &t);
    if (t.bytes)
        v->target[v->targets++] = t;
    else
        sonde__cl_maps_put(m);
}

/* Its place in what was allocated. */
static void add_svm(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_written *w)
{
    struct sonde_object_info o;
    uint32_t object;
    const uint64_t address = (uintptr_t)w->svm;
    if (!sonde__cl_svm_around(w->svm, &object, &o) || o.address % 8 || w->bytes > o.bytes || address - o.address > o.bytes - w->bytes)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_SVM);
    else
        add_target(enqueue, v, (struct target){.mem = (cl_mem)(uintptr_t)o.address, .is_svm = true, .object = object, .from = address - o.address, .bytes = w->bytes});
}

static void add_stretch(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_written *w)
{
    if (w->is_unmap) {
        add_unmapped(enqueue, v, w);
        return;
    }
    if (w->svm) {
        add_svm(enqueue, v, w);
        return;
    }
    if (w->is_image) {
        if (w->origin && w->region) /* else the runtime will refuse it */
            add_image(real, enqueue, v, w->mem, w->origin, w->region);
        return;
    }
    struct target t = {.mem = w->mem, .object = sonde__cl_mem_object(w->mem), .from = w->from, .bytes = w->bytes};
    if (!w->is_rectangle || make_rectangle(w, &t))
        add_target(enqueue, v, t);
    else
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_RECTANGLE);
}

/* What its code is known to write, else what it may write by its parameters' types. */
static void add_arguments(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_kernel handle)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    const bool known = sonde__cl_code_knows(enqueue);
    const struct sonde_cl_parameter *parameters = kernel && !known ? parameters_of(real, handle, kernel) : NULL;
    if (!kernel || (!known && !parameters) || kernel->arguments.count > PARAMETERS_MAX) {
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_ARGUMENTS);
        return;
    }
    if (kernel->indirect.count && !known)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_SVM);
    for (uint32_t i = 0; i < kernel->indirect.count && !known; i++)
        sonde__cl_values_svm_writes(kernel->indirect.object[i]);
    for (uint32_t i = 0; i < kernel->arguments.count; i++) {
        const uint32_t element_bytes = known ? sonde__cl_code_element(enqueue, i) : parameters[i].element_bytes;
        if (kernel->arguments.object[i] && (known ? sonde__cl_code_writes(enqueue, i) : !parameters[i].reads_only))
            add_argument(real, enqueue, v, kernel, i, element_bytes);
    }
}

/* A function of the host's, which may write all that it is given. Without any there is nothing to look at. */
static void add_native(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, const struct sonde_cl_written *w)
{
    if (!w->object_count)
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_NATIVE);
    for (cl_uint i = 0; i < w->object_count; i++)
        if (sonde__cl_mem_object(w->objects[i]))
            add_object(real, enqueue, v, w->objects[i], 0, 0);
        else
            sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_OBJECT);
}

static bool is_not_svm(const void *pointer)
{
    struct sonde_object_info o;
    const uint32_t object = sonde__cl_svm_object(pointer);
    return !object || !sonde_object_find(object, &o) || o.kind != SONDE_OBJECT_SVM;
}

/* ---- around it ------------------------------------------------------------------------------------------ */

/* Perhaps. */
static bool is_write(const struct sonde_cl_written *w)
{
    return w->mem || w->svm || w->kernel || w->is_native;
}

static bool is_left_out(struct sonde_cl_enqueue *enqueue, const struct sonde_cl_written *written)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(written->kernel);
    const uint32_t name = kernel ? sonde__cl_kernel_name(written->kernel, kernel) : 0;
    const enum sonde_value_missed why = sonde_value_choose(sonde_call_operation(&enqueue->call, SONDE_OP_KERNEL, name), name, written->items);
    enqueue->writes |= why != SONDE_VALUE_MISSED_NONE;
    if (why)
        sonde__cl_miss(enqueue, why);
    return why;
}

struct sonde_cl_values *sonde__cl_values_take(struct sonde_cl_enqueue *enqueue, cl_command_queue handle)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    struct sonde_cl_queue *queue = enqueue->queue;
    if (!queue || (sonde__cl_out_of_order(queue) && !real->clEnqueueFillBuffer)) {
        sonde__cl_miss(enqueue, queue ? SONDE_VALUE_MISSED_QUEUE : SONDE_VALUE_MISSED_UNKNOWN);
        return NULL;
    }
    struct sonde_cl_values *v = sonde__cl_compare_of(queue);
    if (!v || !sonde__trylock(&v->lock)) {
        sonde__cl_miss(enqueue, v ? SONDE_VALUE_MISSED_BUSY : SONDE_VALUE_MISSED_MEMORY);
        if (v)
            atomic_store(&v->disturbed, true);
        return NULL;
    }
    atomic_store(&v->disturbed, false);
    v->targets = v->written_count = 0;
    v->slot = NULL;
    v->rooms = &v->own;
    const bool built = v->compare || (!v->program && sonde__cl_compare_build(real, v, handle)), ordered = !sonde__cl_out_of_order(queue);
    if (built && ordered)
        sonde__cl_duplicates_check(real, v, handle);
    if (built && (ordered || sonde__cl_order_take(real, v)))
        return v;
    sonde__cl_miss(enqueue, built ? SONDE_VALUE_MISSED_MANY : SONDE_VALUE_MISSED_COMPARE);
    sonde__unlock(&v->lock);
    return NULL;
}

static void give_back(struct sonde_cl_values *v)
{
    struct sonde_cl_slot *slot = v->slot;
    v->slot = NULL;
    sonde__unlock(&v->lock);
    if (slot)
        sonde__cl_order_put(slot);
}

static void before(struct sonde_cl_enqueue *enqueue, cl_command_queue handle, const struct sonde_cl_written *written)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    struct sonde_cl_values *v = sonde__cl_values_take(enqueue, handle);
    if (!v) {
        define_unseen(enqueue, written);
        return;
    }
    if (written->kernel)
        add_arguments(real, enqueue, v, written->kernel);
    else if (written->is_native)
        add_native(real, enqueue, v, written);
    else
        add_stretch(real, enqueue, v, written);
    sonde__cl_compare_before(enqueue, v, handle);
    if (!v->targets && !v->written_count)
        give_back(v);
    else
        enqueue->values = v;
}

static void look(struct sonde_cl_enqueue *enqueue, cl_command_queue handle, const struct sonde_cl_written *written)
{
    enqueue->writes |= written->source || written->svm_source;
    if (written->kernel && is_left_out(enqueue, written)) {
        define_unseen(enqueue, written);
        return;
    }
    if (written->kernel)
        sonde__cl_fine_before(enqueue, handle, written->kernel);
    if (!sonde_values_wanted(SONDE_VALUES_COARSE))
        return;
    enqueue->writes |= is_write(written);
    if (is_write(written))
        before(enqueue, handle, written);
    else
        sonde__cl_values_check(handle);
}

void sonde__cl_values_before(struct sonde_cl_enqueue *enqueue, cl_command_queue handle, const struct sonde_cl_written *written)
{
    if (sonde_values_wanted(SONDE_VALUES_REMOTE)) {
        sonde__cl_remote_before(enqueue, handle, written);
        return;
    }
    enqueue->written = *written;
    if (written->svm && is_not_svm(written->svm)) /* a copy to the host */
        enqueue->written.svm = NULL;
    written = &enqueue->written;
    const bool changes = sonde_values_wanted(SONDE_VALUES_COARSE) && (is_write(written) || written->changes);
    if (changes)
        sonde__cl_order_begin(enqueue, handle);
    if (changes && written->freed)
        sonde__cl_values_svm_freeing(enqueue, handle, written->freed_count, written->freed);
    if (changes && written->svm_mapped)
        sonde__cl_values_map_svm(enqueue, handle, written->svm_mapped, written->bytes);
    look(enqueue, handle, written);
    if (changes && !enqueue->copied)
        sonde__cl_order_turn(enqueue, handle);
}

/* What a kernel does to its arguments: as its code says, else what it may do. */
static void tell_arguments(const struct sonde_cl_enqueue *enqueue, uint32_t operation, const struct sonde_cl_kernel *kernel)
{
    for (int writes = 0; writes < 2; writes++) /* what is only read comes first */
        for (uint32_t i = 0; i < kernel->arguments.count && i < PARAMETERS_MAX; i++) {
            struct sonde_object_info object = {0};
            const bool reads_only = kernel->parameters && i < kernel->parameters_known && kernel->parameters[i].reads_only;
            unsigned how = reads_only ? SONDE_FLOW_READ : SONDE_FLOW_READ | SONDE_FLOW_WRITE | SONDE_FLOW_MAYBE;
            if (enqueue->code)
                how = sonde__cl_code_how(enqueue, i);
            if (!kernel->arguments.object[i] || !how || ((how & SONDE_FLOW_WRITE) != 0) != writes)
                continue;
            sonde_object_find(kernel->arguments.object[i], &object);
            sonde_value_flow(operation, kernel->arguments.object[i], object.bytes, how);
            if (enqueue->code)
                sonde__cl_code_tell(enqueue, operation, i, kernel->arguments.object[i], writes);
        }
}

static void tell_flow(const struct sonde_cl_enqueue *enqueue, uint32_t operation, const struct sonde_submit *submit)
{
    const struct sonde_cl_written *w = &enqueue->written;
    const struct sonde_cl_kernel *kernel = w->kernel ? sonde__cl_kernel(w->kernel) : NULL;
    if (w->source)
        sonde_value_flow(operation, sonde__cl_mem_object(w->source), submit->bytes, SONDE_FLOW_READ);
    if (w->svm_source && !is_not_svm(w->svm_source))
        sonde_value_flow(operation, sonde__cl_svm_object(w->svm_source), submit->bytes, SONDE_FLOW_READ);
    if (w->svm && !w->is_unmap)
        sonde_value_flow(operation, sonde__cl_svm_object(w->svm), submit->bytes, SONDE_FLOW_WRITE);
    if (w->mem && !w->is_unmap)
        sonde_value_flow(operation, sonde__cl_mem_object(w->mem), submit->bytes, SONDE_FLOW_WRITE);
    if (kernel)
        tell_arguments(enqueue, operation, kernel);
    for (cl_uint i = 0; i < w->object_count; i++) {
        struct sonde_object_info object = {0};
        const uint32_t number = sonde__cl_mem_object(w->objects[i]);
        if (number && sonde_object_find(number, &object))
            sonde_value_flow(operation, number, object.bytes, SONDE_FLOW_READ | SONDE_FLOW_WRITE | SONDE_FLOW_MAYBE);
    }
}

void sonde__cl_values_after(struct sonde_cl_enqueue *enqueue, bool made, cl_command_queue queue, const struct sonde_submit *submit)
{
    struct sonde_cl_values *v = enqueue->values;
    const uint32_t operation = made ? sonde_call_operation(&enqueue->call, submit->kind, submit->name) : 0;
    if (operation && sonde_values_wanted(SONDE_VALUES_COARSE))
        tell_flow(enqueue, operation, submit);
    sonde__cl_twin_launched(enqueue);
    if (v) {
        sonde__cl_compare_after(enqueue, v, queue, operation);
        if (operation && !atomic_load(&v->disturbed))
            sonde__cl_duplicates_after(enqueue, v, queue, operation);
        give_back(v);
    }
    for (uint32_t why = 0; operation && is_write(&enqueue->written) && why < SONDE_VALUE_MISSED_COUNT; why++)
        if (why ? enqueue->missed >> why & 1 : !enqueue->missed)
            sonde_value_missed(operation, (enum sonde_value_missed)why, sonde__cl_code_engine(enqueue));
}

void sonde__cl_values_check(cl_command_queue handle)
{
    struct sonde_cl_queue *queue = sonde__cl_duplicates_any() ? sonde__cl_queue(handle) : NULL;
    struct sonde_cl_values *v = queue && !sonde__cl_out_of_order(queue) ? atomic_load(&queue->values) : NULL;
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
    sonde__cl_remote_forget();
    sonde__cl_twins_forget();
    sonde__cl_compare_forget();
    sonde__cl_order_forget();
}

/* twins.c - instrumented copies of kernels, which are launched in their place (fine.c, remote.c), where the runtime has LLVM bitcode of its programs, or
 * takes some that is made of their source or SPIR-V (source.h).
 *
 * At the first launch of a kernel the bitcode of its program is instrumented (instrument/llvm.h) and becomes a program of ours in the same context. A
 * launch gives the copy the kernel's own arguments, which are remembered for that, and what it needs more behind them. What the program waits for: the
 * compiler.
 */
#include "twins.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/map.h"
#include "guest/memory.h"
#include "source.h"

enum { DEVICES_MAX = 64,
       NAME_MAX_BYTES = 1024,
       OPTIONS_MAX = 16384,
       BUILD_TRIES = 3, /* PoCL 3.1 may fail where another process builds the same program: they share a cache of files */
       PAGE = 4096,
       AREAS_MOST = 1 << 30 };

struct code { /* of a program, for a device */
    cl_program program; /* ours */
    struct sonde_llvm_module module;
    enum sonde_value_missed why;
};

static struct sonde_lock making; /* of programs and kernels */
static struct sonde_shared_map codes; /* -> struct code */
static struct sonde_shared_map retained, libraries; /* programs -> 1; where runtimes lie -> what dlopen says, 0: there is no LLVM */

/* ---- arguments ------------------------------------------------------------------------------------------ */

void sonde__cl_twin_argument(cl_kernel handle, cl_uint index, size_t bytes, const void *value, enum sonde_cl_set by)
{
    struct sonde_cl_kernel *kernel = sonde__cl_twins_wanted() && index < ARGUMENTS_MAX ? sonde__cl_kernel(handle) : NULL;
    if (!kernel)
        return;
    if (!kernel->argument)
        kernel->argument = sonde__memory_get(ARGUMENTS_MAX * sizeof *kernel->argument);
    struct sonde_cl_argument *a = kernel->argument ? &kernel->argument[index] : NULL;
    if (!a)
        return;
    if (value && !by && a->room < bytes) {
        a->value = sonde__memory_get(bytes); /* an old one, smaller than this, is never given back */
        a->room = a->value ? bytes : 0;
    }
    kernel->argument_count = index < kernel->argument_count ? kernel->argument_count : index + 1;
    a->set = !value || by || a->room >= bytes;
    a->by = by;
    a->bytes = bytes;
    if (by || !value) {
        a->room = 0;
        a->value = (void *)(uintptr_t)value;
    } else if (a->set) {
        memcpy(a->value, value, bytes);
    }
}

void sonde__cl_twin_cloned(const struct sonde_cl_kernel *from, cl_kernel clone)
{
    for (uint32_t i = 0; from->argument && i < ARGUMENTS_MAX; i++)
        if (from->argument[i].set)
            sonde__cl_twin_argument(clone, i, from->argument[i].bytes, from->argument[i].value, from->argument[i].by);
}

/* ---- instrumented programs -------------------------------------------------------------------------------- */

/* The runtime's library is where its own dispatch table leads, with which each of its objects begins (cl_khr_icd); that may lead to us. It is
 * opened once: whoever closes a library makes stacks be read anew. NULL: it is not known, or there is no LLVM in it. */
static void *llvm_of(const cl_icd_dispatch *real, cl_context context)
{
    Dl_info info;
    uint64_t known = 0;
    const cl_icd_dispatch *own = sonde__cl_layer_target ? *(const cl_icd_dispatch *const *)context : real;
    if (!dladdr((void *)(uintptr_t)own->clBuildProgram, &info) || !info.dli_fname)
        return NULL;
    if (!sonde__shared_map_get(&libraries, (uintptr_t)info.dli_fbase, &known)) {
        void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        known = library && dlsym(library, "LLVMContextCreate") ? (uintptr_t)library : 0;
        sonde__shared_map_put(&libraries, (uintptr_t)info.dli_fbase, known);
    }
    return (void *)(uintptr_t)known;
}

/* Of a program that nobody holds any more the runtime does not tell the source or SPIR-V, whoever has its kernels. */
void sonde__cl_twin_keep(cl_kernel kernel)
{
    const cl_icd_dispatch *real = sonde__cl_twins_wanted() ? sonde__cl_target(kernel) : NULL;
    cl_context context = NULL;
    cl_program program = NULL;
    uint64_t known;
    if (real && real->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS &&
        real->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) == CL_SUCCESS &&
        !sonde__shared_map_get(&retained, (uintptr_t)program, &known) && !llvm_of(real, context) && sonde__cl_source_any(real, program) &&
        real->clRetainProgram(program) == CL_SUCCESS)
        sonde__shared_map_put(&retained, (uintptr_t)program, 1);
}

void sonde__cl_twin_made(struct sonde_cl_kernel *kernel)
{
    kernel->twin = NULL; /* an older kernel's, with the same handle */
    kernel->argument_count = 0;
    if (kernel->argument)
        memset(kernel->argument, 0, ARGUMENTS_MAX * sizeof *kernel->argument);
}

/* The program's binary for the device; to be given back as pages. All devices' are asked for: PoCL 3.1 writes where there is no room for one, too. */
static unsigned char *binary_of(const cl_icd_dispatch *real, cl_program program, cl_device_id device, size_t *bytes)
{
    cl_device_id devices[DEVICES_MAX];
    size_t sizes[DEVICES_MAX], found, at = DEVICES_MAX;
    unsigned char *binaries[DEVICES_MAX] = {0}, *own = NULL;
    bool whole = true;
    *bytes = 0;
    if (real->clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &found) != CL_SUCCESS ||
        real->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) != CL_SUCCESS)
        return NULL;
    const size_t count = found / sizeof *devices;
    for (size_t i = 0; i < count; i++) {
        at = devices[i] == device && sizes[i] ? i : at;
        binaries[i] = sizes[i] ? sonde__pages_get(sizes[i]) : NULL;
        whole &= !sizes[i] || binaries[i];
    }
    if (at < count && whole && real->clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) == CL_SUCCESS) {
        own = binaries[at];
        *bytes = sizes[at];
    }
    for (size_t i = 0; i < count; i++)
        if (binaries[i] && binaries[i] != own)
            sonde__pages_put(binaries[i], sizes[i]);
    return own;
}

/* The bitcode in it: all of it, or, in PoCL's own format, a file behind its length. NULL: there is none. */
static unsigned char *bitcode_in(unsigned char *binary, size_t bytes, size_t *length)
{
    static const unsigned char magic[4] = {'B', 'C', 0xc0, 0xde};
    uint32_t before;
    unsigned char *at = bytes > 2 * sizeof magic ? memmem(binary, bytes, magic, sizeof magic) : NULL;
    if (!at)
        return NULL;
    *length = bytes;
    if (at == binary)
        return at;
    if ((size_t)(at - binary) < sizeof before)
        return NULL;
    memcpy(&before, at - sizeof before, sizeof before);
    *length = before;
    return before <= bytes - (size_t)(at - binary) ? at : NULL;
}

static bool any_copy(const struct sonde_llvm_module *module)
{
    for (uint32_t i = 0; i < module->count; i++)
        if (!module->kernels[i].why && !module->kernels[i].needs_none)
            return true;
    return false;
}

struct whose {
    cl_context context;
    cl_program program;
    cl_device_id device;
    unsigned char *binary; /* the runtime's */
    size_t bytes;
    char options[OPTIONS_MAX]; /* of clBuildProgram, as the runtime has them */
};

static enum sonde_value_missed rewrite_own(const struct whose *w, uint32_t what, struct code *c)
{
    size_t length = 0;
    unsigned char *bitcode = bitcode_in(w->binary, w->bytes, &length);
    if (!bitcode)
        return SONDE_VALUE_MISSED_BITCODE;
    return sonde__llvm_rewrite(bitcode, length, what, sonde_values_every(), NULL, &c->module) ? SONDE_VALUE_MISSED_COMPILE : SONDE_VALUE_MISSED_NONE;
}

static enum sonde_value_missed rewrite_source(const cl_icd_dispatch *real, const struct whose *w, uint32_t what, struct code *c)
{
    struct sonde_child_made made;
    const enum sonde_value_missed why = sonde__cl_source_compile(real, w->program, w->device, w->options, &made);
    struct sonde_llvm_lanes *lanes = why ? NULL : sonde__pages_get(sizeof *lanes);
    if (why)
        return why;
    if (lanes)
        sonde__cl_source_lanes(real, w->program, w->device, lanes);
    const int failed = !lanes || sonde__llvm_rewrite(made.data, made.bytes, what, sonde_values_every(), lanes, &c->module);
    sonde__pages_put(made.data, made.bytes);
    sonde__pages_put(lanes, sizeof *lanes);
    return failed ? SONDE_VALUE_MISSED_COMPILE : SONDE_VALUE_MISSED_NONE;
}

/* The instrumented program, built; NULL: the runtime does not take it. */
static cl_program program_of(const cl_icd_dispatch *real, const struct whose *w, const struct sonde_llvm_module *module, const char *options)
{
    cl_int status;
    const unsigned char *bitcode = module->bitcode;
    cl_program program = real->clCreateProgramWithBinary(w->context, 1, &w->device, &module->bytes, &bitcode, NULL, &status);
    if (status != CL_SUCCESS)
        return NULL;
    if (real->clBuildProgram(program, 1, &w->device, options, NULL, NULL) == CL_SUCCESS)
        return program;
    real->clReleaseProgram(program);
    return NULL;
}

static enum sonde_value_missed build(const cl_icd_dispatch *real, const struct whose *w, const char *options, uint32_t what, struct code *c)
{
    cl_device_type type = 0;
    real->clGetDeviceInfo(w->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    void *own = llvm_of(real, w->context);
    if (!(type & CL_DEVICE_TYPE_CPU) || (own && !sonde__llvm_open(own)))
        return SONDE_VALUE_MISSED_BITCODE;
    const enum sonde_value_missed why = own ? rewrite_own(w, what, c) : rewrite_source(real, w, what, c);
    if (why)
        return why;
    if (!any_copy(&c->module)) /* what is known of its kernels is known */
        return SONDE_VALUE_MISSED_NONE;
    for (int tries = BUILD_TRIES; tries; tries--) {
        if ((c->program = program_of(real, w, &c->module, options)))
            return SONDE_VALUE_MISSED_NONE;
    }
    return SONDE_VALUE_MISSED_COMPILE;
}

/* The options that change what the runtime makes of bitcode: those of OpenCL's own (-cl-denorms-are-zero, which PoCL has by the
 * compiler's name for it). False: they are too long. */
static bool options_of(const struct whose *w, char kept[OPTIONS_MAX])
{
    char all[OPTIONS_MAX], *rest = memcpy(all, w->options, sizeof all);
    size_t length = 0;
    kept[0] = 0;
    for (const char *word; (word = strsep(&rest, " \t"));) {
        if (strcmp(word, "-fdenormal-fp-math=positive-zero") == 0)
            word = "-cl-denorms-are-zero";
        if (strncmp(word, "-cl-", 4) == 0)
            length += (size_t)snprintf(kept + length, OPTIONS_MAX - length, "%s ", word);
        if (length >= OPTIONS_MAX)
            return false;
    }
    return true;
}

/* Under making. NULL: no memory. */
static const struct code *code_of(const cl_icd_dispatch *real, cl_context context, cl_program program, cl_device_id device, uint32_t what)
{
    uint64_t known = 0;
    char options[OPTIONS_MAX];
    struct whose w = {.context = context, .program = program, .device = device};
    w.binary = binary_of(real, program, device, &w.bytes);
    const bool fit = real->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof w.options, w.options, NULL) == CL_SUCCESS && options_of(&w, options);
    const void *seed[] = {context, device, (void *)(uintptr_t)(XXH3_64bits(options, strlen(options)) + what)};
    const uint64_t key = XXH3_64bits_withSeed(w.binary ? (void *)w.binary : "", w.binary ? w.bytes : 0, XXH3_64bits(seed, sizeof seed)) | 1;
    sonde__shared_map_get(&codes, key, &known);
    struct code *c = known ? (struct code *)(uintptr_t)known : sonde__memory_get(sizeof *c);
    if (c && (!known || c->why == SONDE_VALUE_MISSED_BITCODE)) { /* of another program that is the same the source, or SPIR-V, may be known */
        c->why = w.binary && fit ? build(real, &w, options, what, c) : SONDE_VALUE_MISSED_BITCODE;
        sonde__shared_map_put(&codes, key, (uintptr_t)c);
    }
    if (w.binary)
        sonde__pages_put(w.binary, w.bytes);
    return c;
}

static const struct sonde_llvm_kernel *kernel_in(const struct code *c, const char *name)
{
    for (uint32_t i = 0; i < c->module.count; i++)
        if (strcmp(c->module.kernels[i].name, name) == 0)
            return &c->module.kernels[i];
    return NULL;
}

/* Under making. */
static enum sonde_value_missed make_twin(const cl_icd_dispatch *real, cl_kernel handle, struct sonde_cl_twin *t)
{
    cl_program program = NULL;
    cl_int status = CL_SUCCESS;
    char name[NAME_MAX_BYTES];
    cl_uint parameters = 0;
    if (real->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof parameters, &parameters, NULL) != CL_SUCCESS ||
        real->clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS ||
        real->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        real->clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof t->context, &t->context, NULL) != CL_SUCCESS)
        return SONDE_VALUE_MISSED_BITCODE;
    const struct code *c = code_of(real, t->context, program, t->device, t->what);
    if (!c)
        return SONDE_VALUE_MISSED_MEMORY;
    t->code = kernel_in(c, name);
    if (c->why)
        return c->why;
    if (!t->code || t->code->why || t->code->needs_none)
        return t->code ? t->code->why : SONDE_VALUE_MISSED_BITCODE;
    if (t->code->parameters > ARGUMENTS_MAX)
        return SONDE_VALUE_MISSED_ARGUMENTS;
    t->kernel = parameters == t->code->parameters ? real->clCreateKernel(c->program, name, &status) : NULL;
    return t->kernel && status == CL_SUCCESS ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_COMPILE;
}

/* ---- areas -------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t areas_bytes; /* of all */

static size_t bytes_of(const struct sonde_llvm_kernel *code)
{
    const size_t bytes = code->parts * sonde__plan_part(&code->plan) + (code->plan.what & SONDE_PLAN_VALUES ? code->plan.accesses * sizeof(struct sonde_plan_guess) : 0);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

unsigned char *sonde__cl_area_get(const struct sonde_llvm_kernel *code, uint64_t share)
{
    const uint64_t bytes = bytes_of(code), all = sonde_values_memory() ? sonde_values_memory() : AREAS_MOST;
    unsigned char *host = atomic_load(&areas_bytes) + bytes <= all / share ? sonde__pages_get(bytes) : NULL;
    for (uint32_t k = 0; host && k < code->parts; k++)
        sonde__plan_start(&code->plan, host + k * sonde__plan_part(&code->plan));
    atomic_fetch_add(&areas_bytes, host ? bytes : 0);
    return host;
}

void sonde__cl_area_put(const struct sonde_llvm_kernel *code, unsigned char *host)
{
    atomic_fetch_sub(&areas_bytes, bytes_of(code));
    sonde__pages_put(host, bytes_of(code));
}

cl_mem sonde__cl_area_mem(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, unsigned char *host)
{
    cl_int status;
    cl_mem mem = real->clCreateBuffer(t->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes_of(t->code), host, &status);
    return status == CL_SUCCESS ? mem : NULL;
}

/* ---- launches ------------------------------------------------------------------------------------------------ */

static bool put_argument(const cl_icd_dispatch *real, cl_kernel kernel, cl_uint index, const struct sonde_cl_argument *a)
{
    if (a->by == SONDE_CL_SET_USM)
        return sonde__cl_argument_usm(kernel, index, a->value) == CL_SUCCESS;
    if (a->by == SONDE_CL_SET_SVM)
        return real->clSetKernelArgSVMPointer && real->clSetKernelArgSVMPointer(kernel, index, a->value) == CL_SUCCESS;
    return real->clSetKernelArg(kernel, index, a->bytes, a->value) == CL_SUCCESS;
}

bool sonde__cl_twin_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel)
{
    for (uint32_t i = 0; i < t->code->parameters; i++)
        if (!kernel->argument || !kernel->argument[i].set || !put_argument(real, t->kernel, i, &kernel->argument[i]))
            return false;
    return true;
}

struct sonde_cl_twin *sonde__cl_twin_of(const cl_icd_dispatch *real, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel, uint32_t what)
{
    cl_device_id device = NULL;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return NULL;
    sonde__lock(&making);
    struct sonde_cl_twin *t = kernel->twin;
    while (t && (t->device != device || t->what != what))
        t = t->next;
    if (!t && (t = sonde__memory_get(sizeof *t))) {
        t->device = device;
        t->what = what;
        t->why = make_twin(real, handle, t);
        t->next = kernel->twin;
        kernel->twin = t;
    }
    sonde__unlock(&making);
    return t;
}

const void *sonde__cl_twin_pointer(const struct sonde_cl_kernel *kernel, uint32_t argument)
{
    const struct sonde_cl_argument *a = kernel->argument && argument < ARGUMENTS_MAX ? &kernel->argument[argument] : NULL;
    return a && a->set && a->by ? a->value : NULL;
}

cl_kernel sonde__cl_twin_kernel(const struct sonde_cl_enqueue *enqueue, cl_kernel own)
{
    return enqueue->twin ? enqueue->twin->kernel : own;
}

bool sonde__cl_twin_refused(struct sonde_cl_enqueue *enqueue, cl_int status)
{
    if (status == CL_SUCCESS || !enqueue->twin)
        return false;
    sonde__unlock(&enqueue->twin->lock);
    enqueue->twin = NULL;
    enqueue->missed |= 1ull << SONDE_VALUE_MISSED_REGISTERS;
    return true;
}

void sonde__cl_twin_launched(struct sonde_cl_enqueue *enqueue)
{
    if (enqueue->twin)
        sonde__unlock(&enqueue->twin->lock);
}

void sonde__cl_twins_forget(void)
{
    memset(&making, 0, sizeof making);
    atomic_store(&areas_bytes, 0); /* the parent's */
}

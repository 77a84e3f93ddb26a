/* fine.c - what the accesses of kernels read and write (sonde record --values=fine), and which memory they write (--values=coarse), where the
 * runtime has LLVM bitcode of its programs, or takes some that is made of their source or SPIR-V (source.h).
 *
 * At the first launch of a kernel the bitcode of its program is instrumented (instrument/llvm.h) and becomes a program of ours in
 * the same context. A launch runs its kernel in place of the program's, with the same arguments and an area behind them. The first
 * launches also guess (plan.h): what is not found in these is not looked for in the others, by a second copy that costs less. Where those
 * who vote have seen several values, launches take turns: each has an area whose guess is another of these. There
 * is an area for each operation in its calling context and the sites of the objects that the kernel's arguments are, so that there are
 * not more of them the longer a program runs that makes objects and releases them; what is in it only
 * grows. It lies in memory of the host, which the monitor reads at any time: the device must be one that uses that.
 *
 * What is written is marked in memory that values.c has for it, or nowhere.
 *
 * What the program waits for: the compiler at the first launch of a program's kernels, and again of each.
 */
#include "opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"
#include "guest/map.h"
#include "guest/memory.h"
#include "instrument/llvm.h"
#include "source.h"

enum { DEVICES_MAX = 64,
       NAME_MAX_BYTES = 1024,
       ARGUMENTS_MAX = 256,
       OPTIONS_MAX = 16384,
       PAGE = 4096,
       AREAS_MOST = 1 << 30,
       MORE_SHARE = 2 }; /* once this part of the memory for areas is taken, other values get none */

struct code { /* of a program, for a device */
    cl_program program; /* ours */
    struct sonde_llvm_module module;
    enum sonde_value_missed why;
};

struct sonde_cl_twin { /* of a kernel that the program made, for a device */
    struct sonde_cl_twin *next;
    cl_device_id device;
    uint32_t what; /* SONDE_PLAN_* */
    struct sonde_lock lock; /* of its arguments, until the launch is made */
    enum sonde_value_missed why; /* it is launched plain; NONE: it is not, and all of these, unless its code needs no copy */
    cl_kernel kernel;
    cl_context context;
    const struct sonde_llvm_kernel *code; /* may be there though it is launched plain; NULL: it is not */
};

struct sonde_cl_argument {
    size_t bytes, room;
    void *value;   /* NULL: local memory, or the argument is not set */
    bool set, svm; /* svm: `value` is the pointer itself */
};

struct area {
    struct area *next, *alike; /* all; those of the same hash */
    const struct sonde_llvm_kernel *code;
    uint32_t node;
    cl_context context;
    cl_mem mem;
    unsigned char *host;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    struct sonde_plan_groups told;
    bool dull;                 /* of a copy that guesses: it has not found anything */
    _Atomic uint32_t asked;    /* launches, of this copy or of a cheaper one */
    _Atomic uint32_t more, turns; /* of one whose guesses are those of a vote: 1 + how many other values there are, 0: not known; launches since */
    struct area *_Atomic other[SONDE_PLAN_COMMON - 1]; /* their guesses are these, by turn */
    uint32_t *sites;           /* of each of the kernel's own parameters: the object that stands for what it is; behind the rows */
    uint32_t rows[];           /* of each access; 0: it has none */
};

static struct {
    struct sonde_lock lock; /* of making anything */
    struct area *areas;
    uint64_t bytes;         /* of them */
} fine;

static struct sonde_shared_map codes, by_hash; /* -> struct code, struct area */
static struct sonde_shared_map retained, libraries; /* programs -> 1; where runtimes lie -> what dlopen says, 0: there is no LLVM */

/* ---- arguments ------------------------------------------------------------------------------------------ */

void sonde__cl_fine_argument(cl_kernel handle, cl_uint index, size_t bytes, const void *value, bool svm)
{
    struct sonde_cl_kernel *kernel = sonde_values_wanted(SONDE_VALUES_COARSE | SONDE_VALUES_FINE) && index < ARGUMENTS_MAX ? sonde__cl_kernel(handle) : NULL;
    if (!kernel)
        return;
    if (!kernel->argument)
        kernel->argument = sonde__memory_get(ARGUMENTS_MAX * sizeof *kernel->argument);
    struct sonde_cl_argument *a = kernel->argument ? &kernel->argument[index] : NULL;
    if (!a)
        return;
    if (value && !svm && a->room < bytes) {
        a->value = sonde__memory_get(bytes); /* an old one, smaller than this, is never given back */
        a->room = a->value ? bytes : 0;
    }
    a->set = !value || svm || a->room >= bytes;
    a->svm = svm;
    a->bytes = bytes;
    if (svm || !value) {
        a->room = 0;
        a->value = (void *)(uintptr_t)value;
    } else if (a->set) {
        memcpy(a->value, value, bytes);
    }
}

void sonde__cl_fine_cloned(const struct sonde_cl_kernel *from, cl_kernel clone)
{
    for (uint32_t i = 0; from->argument && i < ARGUMENTS_MAX; i++)
        if (from->argument[i].set)
            sonde__cl_fine_argument(clone, i, from->argument[i].bytes, from->argument[i].value, from->argument[i].svm);
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
void sonde__cl_fine_keep(cl_kernel kernel)
{
    const cl_icd_dispatch *real = sonde_values_wanted(SONDE_VALUES_COARSE | SONDE_VALUES_FINE) ? sonde__cl_target(kernel) : NULL;
    cl_context context = NULL;
    cl_program program = NULL;
    uint64_t known;
    if (real && real->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL) == CL_SUCCESS &&
        real->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) == CL_SUCCESS &&
        !sonde__shared_map_get(&retained, (uintptr_t)program, &known) && !llvm_of(real, context) && sonde__cl_source_any(real, program) &&
        real->clRetainProgram(program) == CL_SUCCESS)
        sonde__shared_map_put(&retained, (uintptr_t)program, 1);
}

void sonde__cl_fine_made(struct sonde_cl_kernel *kernel)
{
    kernel->twin = NULL; /* an older kernel's, with the same handle */
    if (kernel->argument)
        memset(kernel->argument, 0, ARGUMENTS_MAX * sizeof *kernel->argument);
}

/* The program's binary for the device; to be given back as pages. */
static unsigned char *binary_of(const cl_icd_dispatch *real, cl_program program, cl_device_id device, size_t *bytes)
{
    cl_device_id devices[DEVICES_MAX];
    size_t sizes[DEVICES_MAX], found;
    unsigned char *binaries[DEVICES_MAX] = {0};
    *bytes = 0;
    if (real->clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &found) != CL_SUCCESS ||
        real->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) != CL_SUCCESS)
        return NULL;
    const size_t count = found / sizeof *devices;
    for (size_t i = 0; i < count; i++) {
        if (devices[i] != device || !sizes[i])
            continue;
        binaries[i] = sonde__pages_get(sizes[i]);
        *bytes = sizes[i];
        if (binaries[i] && real->clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) == CL_SUCCESS)
            return binaries[i];
        sonde__pages_put(binaries[i], sizes[i]);
    }
    return NULL;
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

static enum sonde_value_missed build(const cl_icd_dispatch *real, const struct whose *w, const char *options, uint32_t what, struct code *c)
{
    cl_int status;
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
    const unsigned char *made = c->module.bitcode;
    c->program = real->clCreateProgramWithBinary(w->context, 1, &w->device, &c->module.bytes, &made, NULL, &status);
    return status == CL_SUCCESS && real->clBuildProgram(c->program, 1, &w->device, options, NULL, NULL) == CL_SUCCESS ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_COMPILE;
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

/* Under fine.lock. NULL: no memory. */
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

/* Under fine.lock. */
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

/* ---- areas ------------------------------------------------------------------------------------------------- */

static size_t area_bytes(const struct sonde_llvm_kernel *code)
{
    const size_t bytes = code->parts * sonde__plan_part(&code->plan) + code->plan.accesses * sizeof(struct sonde_plan_guess);
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void add_rows(struct area *a)
{
    for (uint32_t k = 0; k < a->code->plan.accesses; k++) {
        const struct sonde_llvm_access *access = &a->code->accesses[k];
        if (access->has_values)
            a->rows[k] = sonde_value_access_add(&(struct sonde_value_access){
                .operation = a->node,
                .object = access->parameter ? a->sites[access->parameter - 1] : 0,
                .number = k,
                .what = access->what,
                .type = access->type,
                .element_bytes = access->element_bytes,
                .file = access->file ? sonde__cl_code_file(access->file) : 0,
                .line = access->line,
            });
    }
}

/* In an area's memory. */
static struct sonde_plan_guess *guesses_at(const struct sonde_llvm_kernel *code, unsigned char *host)
{
    return (void *)(host + code->parts * sonde__plan_part(&code->plan));
}

/* As it starts, in host memory; NULL: there is none. */
static cl_mem area_mem(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct area *first, unsigned turn, unsigned char *host)
{
    const struct sonde_llvm_kernel *code = t->code;
    cl_int status;
    if (!host)
        return NULL;
    for (uint32_t k = 0; k < code->parts; k++)
        sonde__plan_start(&code->plan, host + k * sonde__plan_part(&code->plan));
    for (uint32_t k = 0; first && k < code->plan.accesses; k++)
        guesses_at(code, host)[k] = sonde__plan_again(&guesses_at(code, first->host)[k], turn);
    cl_mem mem = real->clCreateBuffer(t->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, area_bytes(code), host, &status);
    return status == CL_SUCCESS ? mem : NULL;
}

/* Under fine.lock. `first` not NULL: the guesses are its other values, of this turn. Other values do not take the memory that a kernel needs which is not looked at yet. */
static struct area *area_new(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t node, const uint32_t *sites, const struct area *first,
                             unsigned turn)
{
    const struct sonde_llvm_kernel *code = t->code;
    const uint64_t all = sonde_values_memory() ? sonde_values_memory() : AREAS_MOST, most = first ? all / MORE_SHARE : all;
    unsigned char *host = fine.bytes + area_bytes(code) <= most ? sonde__pages_get(area_bytes(code)) : NULL;
    cl_mem mem = area_mem(real, t, first, turn, host);
    struct area *a = mem ? sonde__memory_get(sizeof *a + (code->plan.accesses + code->parameters) * sizeof *a->rows) : NULL; /* it is never given back */
    if (!a) {
        if (mem)
            real->clReleaseMemObject(mem);
        sonde__pages_put(host, area_bytes(code));
        return NULL;
    }
    a->code = code;
    a->node = node;
    a->context = t->context;
    a->mem = mem;
    a->host = host;
    a->sites = a->rows + code->plan.accesses;
    memcpy(a->sites, sites, code->parameters * sizeof *sites);
    add_rows(a);
    a->next = fine.areas;
    fine.areas = a;
    fine.bytes += area_bytes(code);
    return a;
}

/* NULL: no memory. */
static struct area *area_of(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t node, const uint32_t *sites)
{
    const size_t bytes = t->code->parameters * sizeof *sites;
    const void *seed[] = {t->code, t->context, (void *)(uintptr_t)node};
    const uint64_t key = XXH3_64bits_withSeed(sites, bytes, XXH3_64bits(seed, sizeof seed)) | 1;
    uint64_t first = 0;
    sonde__lock(&fine.lock);
    sonde__shared_map_get(&by_hash, key, &first);
    struct area *a = (void *)(uintptr_t)first;
    while (a && (a->code != t->code || a->context != t->context || a->node != node || memcmp(a->sites, sites, bytes) != 0))
        a = a->alike;
    if (!a && (a = area_new(real, t, node, sites, NULL, 0))) {
        a->alike = (void *)(uintptr_t)first;
        sonde__shared_map_put(&by_hash, key, (uintptr_t)a);
    }
    sonde__unlock(&fine.lock);
    return a;
}

/* The guess, and what the log says of those that voted on it. */
static void add_guess(const struct sonde_plan_guess *guess, const struct sonde_llvm_access *of, bool together, uint64_t unchecked, struct sonde_value_seen *seen)
{
    const uint64_t room = guess->logged < SONDE_PLAN_LOG ? guess->logged : SONDE_PLAN_LOG, which = together ? guess->lock : UINT64_MAX;
    uint64_t logged = 0;
    seen->value = guess->value;
    seen->slope = of->has_line && (guess->votes >= SONDE_PLAN_VOTES || guess->third) ? guess->slope : 0;
    seen->offset = seen->slope ? guess->offset : 0;
    for (uint64_t i = 0; i < room; i++) {
        if (!(which >> i & 1))
            continue;
        logged++;
        seen->equal += guess->log[i].bits == guess->value;
        seen->lined += seen->slope && sonde__plan_lined(guess->slope, guess->offset, of->type == SONDE_ELEMENT_FLOAT, of->element_bytes, guess->log[i].bits, guess->log[i].index);
    }
    unchecked -= logged < unchecked ? logged : unchecked;
    seen->checked = seen->elements > unchecked ? seen->elements - unchecked : 0;
    seen->equal = seen->equal < seen->checked ? seen->equal : seen->checked; /* it is read while kernels run */
    seen->lined = seen->lined < seen->checked ? seen->lined : seen->checked;
}

/* Of all its parts. */
static struct sonde_value_seen sum_of(const struct area *a, uint32_t access)
{
    const struct sonde_plan *plan = &a->code->plan;
    const struct sonde_llvm_access *of = &a->code->accesses[access];
    const size_t part = sonde__plan_part(plan);
    struct sonde_value_seen seen = {.all = UINT64_MAX, .least = INT64_MAX, .most = INT64_MIN};
    uint64_t unchecked = 0;
    for (uint32_t p = 0; p < a->code->parts; p++) {
        struct sonde_plan_values v;
        const struct sonde_plan_found found = sonde__plan_found(plan, a->host + p * part, access);
        seen.elements += of->elements * sonde__plan_read(plan, a->host + p * part, of->block, access, &v);
        seen.any |= v.any;
        seen.all &= v.all;
        seen.least = v.least < seen.least ? v.least : seen.least;
        seen.most = v.most > seen.most ? v.most : seen.most;
        seen.equal += found.equal;
        seen.lined += found.lined;
        unchecked += of->elements * found.unchecked;
    }
    if (plan->what & SONDE_PLAN_GUESSES)
        add_guess(&guesses_at(a->code, a->host)[access], of, a->code->together, unchecked, &seen);
    return seen;
}

/* ---- launches ------------------------------------------------------------------------------------------------ */

static bool copy_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel)
{
    for (uint32_t i = 0; i < t->code->parameters; i++) {
        const struct sonde_cl_argument *a = kernel->argument ? &kernel->argument[i] : NULL;
        if (!a || !a->set || (a->svm && !real->clSetKernelArgSVMPointer) ||
            (a->svm ? real->clSetKernelArgSVMPointer(t->kernel, i, a->value) : real->clSetKernelArg(t->kernel, i, a->bytes, a->value)) != CL_SUCCESS)
            return false;
    }
    return true;
}

/* Behind its own parameters, see llvm.h. */
static cl_uint area_at(const struct sonde_llvm_kernel *code)
{
    return code->parameters;
}

static cl_uint set_at(const struct sonde_llvm_kernel *code, uint32_t set)
{
    return code->parameters + (code->plan.what & SONDE_PLAN_VALUES ? 1 : 0) + 2 * set;
}

static bool put_marks(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, uint32_t set, cl_mem marks, cl_ulong count)
{
    return real->clSetKernelArg(t->kernel, set_at(t->code, set), sizeof marks, &marks) == CL_SUCCESS &&
           real->clSetKernelArg(t->kernel, set_at(t->code, set) + 1, sizeof count, &count) == CL_SUCCESS;
}

static uint32_t wanted(bool guesses)
{
    const uint32_t fine_too = SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES | SONDE_PLAN_OWNERS | (guesses ? SONDE_PLAN_GUESSES : 0);
    return (sonde_values_wanted(SONDE_VALUES_COARSE) ? SONDE_PLAN_SETS : 0) | (sonde_values_wanted(SONDE_VALUES_FINE) ? fine_too : 0);
}

/* NULL: no memory. */
static struct sonde_cl_twin *twin_of(const cl_icd_dispatch *real, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel, bool guesses)
{
    const uint32_t what = wanted(guesses);
    cl_device_id device = NULL;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return NULL;
    sonde__lock(&fine.lock);
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
    sonde__unlock(&fine.lock);
    return t;
}

struct verdict {
    bool checked, waits, any; /* something was compared; some guess does not stand yet; and one shows something */
};

static struct verdict judge(const struct area *a)
{
    struct verdict v = {0};
    for (uint32_t k = 0; k < a->code->plan.accesses; k++) {
        const struct sonde_value_seen seen = sum_of(a, k);
        v.checked |= seen.checked > 0;
        v.waits |= a->rows[k] && seen.elements && guesses_at(a->code, a->host)[k].votes < SONDE_PLAN_VOTES;
        v.any |= 2 * seen.equal > seen.checked || 2 * seen.lined > seen.checked;
    }
    return v;
}

static uint32_t more_of(const struct area *first)
{
    unsigned most = 0;
    for (uint32_t k = 0; k < first->code->plan.accesses; k++) {
        const unsigned more = first->rows[k] ? sonde__plan_more(&guesses_at(first->code, first->host)[k]) : 0;
        most = more > most ? more : most;
    }
    return 1 + most;
}

/* What is seen while kernels run may be of any moment: it decides only which copy is launched next, and with which area. It is looked at after one
 * launch, two, four and so on. Nothing is found once each other value was counted, too. */
static bool is_dull(struct area *first)
{
    const uint32_t launches = atomic_fetch_add(&first->asked, 1);
    if (first->dull || !launches || launches & (launches - 1))
        return first->dull;
    struct verdict v = judge(first);
    if (!atomic_load(&first->more) && v.checked && (!v.waits || !v.any || launches >= SONDE_PLAN_PATIENCE))
        atomic_store(&first->more, more_of(first));
    const uint32_t more = atomic_load(&first->more);
    for (uint32_t turn = 1; turn < more; turn++) {
        const struct area *a = atomic_load(&first->other[turn - 1]);
        const struct verdict other = a ? judge(a) : (struct verdict){0};
        v.checked &= other.checked;
        v.any |= other.any;
    }
    return first->dull = v.checked && !v.any;
}

/* Of those that guess the one whose turn it is. */
static struct area *turn_of(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, struct area *first)
{
    const uint32_t more = atomic_load(&first->more), turn = more > 1 ? (1 + atomic_fetch_add(&first->turns, 1)) % more : 0;
    struct area *a = turn ? atomic_load(&first->other[turn - 1]) : first;
    if (a)
        return a;
    sonde__lock(&fine.lock);
    a = atomic_load(&first->other[turn - 1]);
    if (!a && (a = area_new(real, t, first->node, first->sites, first, turn)))
        atomic_store(&first->other[turn - 1], a);
    if (!a)
        atomic_store(&first->more, turn); /* it does with those that there are */
    sonde__unlock(&fine.lock);
    return a ? a : first;
}

/* The area of the launch; perhaps of a cheaper twin. NULL: no memory. */
static struct area *choose(const cl_icd_dispatch *real, const struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle,
                           struct sonde_cl_kernel *kernel, struct sonde_cl_twin **twin)
{
    const uint32_t count = (*twin)->code->parameters;
    uint32_t objects[ARGUMENTS_MAX] = {0}, sites[ARGUMENTS_MAX];
    for (uint32_t i = 0; i < count && i < kernel->arguments.count; i++)
        objects[i] = kernel->arguments.object[i];
    sonde_value_sites(objects, count, sites);
    const uint32_t node = sonde_call_operation(&enqueue->call, SONDE_OP_KERNEL, sonde__cl_kernel_name(handle, kernel));
    struct area *a = area_of(real, *twin, node, sites);
    if (a)
        sonde_value_looked_at(objects, count);
    if (!a || !is_dull(a))
        return a ? turn_of(real, *twin, a) : NULL;
    struct sonde_cl_twin *cheaper = twin_of(real, queue, handle, kernel, false);
    struct area *other = cheaper && !cheaper->why ? area_of(real, cheaper, node, sites) : NULL;
    *twin = other ? cheaper : *twin;
    return other ? other : a;
}

static bool set_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel, const struct area *a)
{
    bool done = copy_arguments(real, t, kernel) && (!a || real->clSetKernelArg(t->kernel, area_at(t->code), sizeof a->mem, &a->mem) == CL_SUCCESS);
    for (uint32_t s = 0; s < t->code->sets && done; s++)
        done = put_marks(real, t, s, NULL, 0);
    return done;
}

/* NONE: the twin is locked, if there is one. */
static enum sonde_value_missed swap(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel)
{
    const bool fine_too = sonde_values_wanted(SONDE_VALUES_FINE);
    struct sonde_cl_twin *t = twin_of(real, queue, handle, kernel, true);
    struct area *a = NULL;
    if (t && t->code && t->code->accesses)
        enqueue->code = t->code;
    if (!t || t->why || t->code->needs_none)
        return t ? t->why : SONDE_VALUE_MISSED_MEMORY;
    if (kernel->indirect.count)
        return SONDE_VALUE_MISSED_SVM;
    if (fine_too && !(a = choose(real, enqueue, queue, handle, kernel, &t)))
        return SONDE_VALUE_MISSED_MEMORY;
    sonde__lock(&t->lock);
    if (!set_arguments(real, t, kernel, a)) {
        sonde__unlock(&t->lock);
        return SONDE_VALUE_MISSED_ARGUMENTS;
    }
    if (a)
        atomic_fetch_add(&a->launches, 1);
    enqueue->twin = t;
    return SONDE_VALUE_MISSED_NONE;
}

void sonde__cl_fine_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    const enum sonde_value_missed why = kernel ? swap(sonde__cl_target(queue), enqueue, queue, handle, kernel) : SONDE_VALUE_MISSED_MEMORY;
    enqueue->writes = true;
    if (why && sonde_values_wanted(SONDE_VALUES_FINE)) /* without it, all of the arguments is compared */
        enqueue->missed |= 1ull << why;
}

uint32_t sonde__cl_fine_grain(const struct sonde_cl_enqueue *enqueue)
{
    return enqueue->twin && enqueue->twin->code->sets ? enqueue->twin->code->grain : 0;
}

bool sonde__cl_fine_marks(const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_kernel *kernel, cl_mem of, cl_mem marks, uint64_t count)
{
    const struct sonde_cl_twin *t = enqueue->twin;
    bool done = true;
    for (uint32_t s = 0; s < t->code->sets && done; s++) {
        const struct sonde_cl_argument *a = &kernel->argument[t->code->set[s] - 1];
        if (a->svm ? a->value == (const void *)of : a->value && a->bytes == sizeof of && memcmp(a->value, &of, sizeof of) == 0)
            done = put_marks(sonde__cl_target(marks), t, s, marks, count);
    }
    return done;
}

const void *sonde__cl_fine_pointer(const struct sonde_cl_kernel *kernel, uint32_t argument)
{
    const struct sonde_cl_argument *a = kernel->argument && argument < ARGUMENTS_MAX ? &kernel->argument[argument] : NULL;
    return a && a->set && a->svm ? a->value : NULL;
}

cl_kernel sonde__cl_fine_kernel(const struct sonde_cl_enqueue *enqueue, cl_kernel own)
{
    return enqueue->twin ? enqueue->twin->kernel : own;
}

bool sonde__cl_fine_refused(struct sonde_cl_enqueue *enqueue, cl_int status)
{
    if (status == CL_SUCCESS || !enqueue->twin)
        return false;
    sonde__unlock(&enqueue->twin->lock);
    enqueue->twin = NULL;
    enqueue->missed |= 1ull << SONDE_VALUE_MISSED_REGISTERS;
    return true;
}

void sonde__cl_fine_after(struct sonde_cl_enqueue *enqueue)
{
    if (enqueue->twin)
        sonde__unlock(&enqueue->twin->lock);
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* What is new since it was told. */
static void tell_groups(struct area *a)
{
    struct sonde_plan_groups sum = {0};
    for (uint32_t p = 0; p < a->code->parts; p++) {
        struct sonde_plan_groups part;
        memcpy(&part, a->host + p * sonde__plan_part(&a->code->plan) + sonde__plan_groups_at(&a->code->plan), sizeof part);
        sum.looked_at += part.looked_at;
        sum.all += part.all;
    }
    if (sum.all <= a->told.all || sum.looked_at <= a->told.looked_at) /* it is read while kernels run */
        return;
    sonde_value_blocks(a->node, sum.all - a->told.all, sum.looked_at - a->told.looked_at);
    a->told = sum;
}

static void read_area(struct area *a)
{
    if (a->code->every > 1)
        tell_groups(a);
    for (uint32_t k = 0; k < a->code->plan.accesses; k++)
        if (a->rows[k])
            sonde_value_access_seen(a->rows[k], &(struct sonde_value_seen[]){sum_of(a, k)}[0]);
}

void sonde__cl_fine_read(bool last)
{
    if (!sonde__lock_within(&fine.lock, 100))
        return;
    struct area *first = fine.areas;
    sonde__unlock(&fine.lock);
    for (struct area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (!last && launches == a->read_launches)
            continue;
        read_area(a);
        a->read_launches = launches;
    }
}

void sonde__cl_fine_forget(void)
{
    memset(&fine.lock, 0, sizeof fine.lock);
    fine.areas = NULL; /* the parent's */
    fine.bytes = 0;
}

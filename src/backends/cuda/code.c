/* code.c - the PTX of what the program loads, and an instrumented copy of each kernel that is launched (--values).
 *
 * The program's modules stay as they are. At the first launch of a kernel its copy, with what of its module is no kernel, becomes a
 * library of ours: what is not launched is not compiled, and the driver keeps what it has compiled for the next run. So the library's
 * variables are others than the program's, and a copy that names some is given pointers to those. A kernel whose copy needs more than
 * a block may have stays as it is.
 *
 * Locks: code.lock, of images and of making kernels; launches that are known take none.
 */
#include "sonde_cuda.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "guest/file.h"
#include "guest/lock.h"
#include "instrument/fatbin.h"
#include "instrument/triton.h"

#define SUFFIX "__sonde"
#define NAME_MAX_BYTES 4096u
#define FILE_MAX_BYTES ((size_t)1 << 30)

struct image {
    struct image *next;
    uint64_t handle; /* CUlibrary or CUmodule; 0: unloaded */
    bool library;
    bool parsed;                     /* it has been tried */
    enum sonde_value_missed unread;  /* why there is no `ptx` then */
    struct sonde_image_ptx code;
    struct sonde_cubin cubin;        /* where it has no PTX: by which Triton's is found */
    struct sonde_ptx ptx;
    struct twin {
        bool made;                   /* it has been tried */
        enum sonde_value_missed why; /* there is none */
        CUkernel kernel;
    } (*twins)[2];        /* of each function in `ptx`: copies that do not guess, and that do; NULL: no memory */
};

static struct {
    struct sonde_lock lock;
    struct image *images;
    uint32_t target; /* compute capability of the first device */
} code;

static struct sonde_shared_map kernels; /* CUkernel or CUfunction -> struct sonde_cuda_kernel */

/* ---- images --------------------------------------------------------------------------------------- */

static uint32_t target(void)
{
    const struct sonde_cuda_device *d = code.target ? NULL : sonde__cuda_device(0);
    if (d)
        code.target = (uint32_t)(10 * d->major + d->minor);
    return code.target;
}

static void add_image(const void *image, uint64_t handle, bool library)
{
    struct image *i = image && handle ? sonde__memory_get(sizeof *i) : NULL;
    if (!i)
        return;
    sonde__image_ptx(image, target(), &i->code);
    if (!i->code.text)
        i->cubin = sonde__cubin(image);
    i->handle = handle;
    i->library = library;
    sonde__lock(&code.lock);
    i->next = code.images;
    code.images = i;
    sonde__unlock(&code.lock);
}

static void add_file(const char *path, uint64_t handle, bool library)
{
    struct sonde_file file = path ? sonde__file_get(AT_FDCWD, path, FILE_MAX_BYTES) : (struct sonde_file){0};
    add_image(file.bytes, handle, library);
    sonde__file_put(&file);
}

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
#define PARAMS(name) const name##_params *p = params

void sonde__cuda_code_loaded(uint32_t id, const void *params)
{
    switch (id) {
    case ID(cuLibraryLoadData): {
        PARAMS(cuLibraryLoadData);
        add_image(p->code, (uintptr_t)*p->library, true);
        break;
    }
    case ID(cuModuleLoadData):
    case ID(cuModuleLoadDataEx):
    case ID(cuModuleLoadFatBinary): { /* these begin alike */
        PARAMS(cuModuleLoadData);
        add_image(p->image, (uintptr_t)*p->module, false);
        break;
    }
    case ID(cuModuleLoad): {
        PARAMS(cuModuleLoad);
        add_file(p->fname, (uintptr_t)*p->module, false);
        break;
    }
    case ID(cuLibraryLoadFromFile): {
        PARAMS(cuLibraryLoadFromFile);
        add_file(p->fileName, (uintptr_t)*p->library, true);
        break;
    }
    default:
        break;
    }
}

static bool is_of(const struct sonde_map_entry *entry, void *image)
{
    return ((const struct sonde_cuda_kernel *)(uintptr_t)entry->value)->image == image;
}

void sonde__cuda_code_unloading(const void *params)
{
    const uint64_t handle = *(const uintptr_t *)params; /* the only parameter of both calls */
    sonde__lock(&code.lock);
    for (struct image *i = code.images; i; i = i->next)
        if (i->handle == handle) {
            i->handle = 0;
            sonde__shared_map_sweep(&kernels, is_of, i);
        }
    sonde__unlock(&code.lock);
}

/* Under code.lock. Why its PTX cannot be read; NONE: there is `ptx`. */
static enum sonde_value_missed read_image(struct image *i)
{
    if (i->parsed)
        return i->unread;
    i->parsed = true;
    if (sonde__ptx_read(&i->ptx, i->code.text, i->code.bytes))
        i->unread = i->ptx.why ? SONDE_VALUE_MISSED_STATEMENT : SONDE_VALUE_MISSED_MEMORY;
    else
        i->twins = sonde__memory_get(i->ptx.function_count * sizeof *i->twins);
    return i->unread;
}

static enum sonde_value_missed refusal(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return SONDE_VALUE_MISSED_VERSION;
    case CUDA_ERROR_OUT_OF_MEMORY: return SONDE_VALUE_MISSED_MEMORY;
    default: return SONDE_VALUE_MISSED_COMPILE;
    }
}

static enum sonde_value_missed load(struct sonde_ptx_text *text, const char *name, bool guesses, CUkernel *twin)
{
    CUlibrary library;
    CUresult result = sonde__cuda_twins.cuLibraryLoadData(&library, text->text, NULL, NULL, 0, NULL, NULL, 0);
    if (result != CUDA_SUCCESS)
        sonde_note(guesses ? "values: the driver cannot compile the copies of some kernels that guess: their frequent values and lines are not found"
                           : "values: the driver cannot compile the instrumented copies of some kernels: they are not looked at");
    else
        result = sonde__cuda_twins.cuLibraryGetKernel(twin, library, name);
    return result == CUDA_SUCCESS ? SONDE_VALUE_MISSED_NONE : refusal(result);
}

/* Under code.lock. The copies that guess are libraries of their own: many kernels need the others only, or these. */
static struct twin twin_new(struct image *i, const struct sonde_ptx_function *f, bool guesses)
{
    char name[NAME_MAX_BYTES];
    struct sonde_ptx_text text;
    struct twin twin = {.made = true, .why = SONDE_VALUE_MISSED_COMPILE};
    if (f->name.bytes + sizeof SUFFIX > sizeof name)
        return twin;
    memcpy(name, i->ptx.text + f->name.at, f->name.bytes);
    memcpy(name + f->name.bytes, SUFFIX, sizeof SUFFIX);
    const int rc = sonde__ptx_rewrite(&i->ptx, f, sonde__cuda_twins.plan | (guesses ? SONDE_PLAN_GUESSES : 0u), sonde_values_every(), &text);
    twin.why = rc ? SONDE_VALUE_MISSED_MEMORY : load(&text, name, guesses, &twin.kernel);
    twin.kernel = twin.why ? NULL : twin.kernel;
    sonde__ptx_text_release(&text);
    return twin;
}

/* Under code.lock. */
static struct twin twin_of(struct image *i, const struct sonde_ptx_function *f, bool guesses)
{
    struct twin *t = i->twins ? &i->twins[f - i->ptx.functions][guesses] : NULL;
    if (t && !t->made)
        *t = twin_new(i, f, guesses);
    return t ? *t : (struct twin){.why = SONDE_VALUE_MISSED_MEMORY};
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

static struct image *image_with(uint64_t handle, bool library)
{
    for (struct image *i = code.images; i; i = i->next)
        if (i->handle == handle && i->library == library)
            return i;
    return NULL;
}

/* The image and name of a launch's handle, a CUkernel or a CUfunction. */
static struct image *image_of(CUfunction f, const char **name)
{
    CUlibrary library;
    CUmodule module, other;
    if (sonde__cuda_twins.cuKernelGetLibrary(&library, (CUkernel)f) == CUDA_SUCCESS)
        return sonde__cuda_twins.cuKernelGetName(name, (CUkernel)f) == CUDA_SUCCESS ? image_with((uintptr_t)library, true) : NULL;
    if (sonde__cuda_twins.cuFuncGetName(name, f) != CUDA_SUCCESS || sonde__cuda_twins.cuFuncGetModule(&module, f) != CUDA_SUCCESS)
        return NULL;
    for (struct image *i = code.images; i; i = i->next)
        if (i->handle && i->library && sonde__cuda_twins.cuLibraryGetModule(&other, (CUlibrary)(uintptr_t)i->handle) == CUDA_SUCCESS && other == module)
            return i;
    return image_with((uintptr_t)module, false);
}

static const struct sonde_ptx_function *function_of(const struct sonde_ptx *p, const char *name)
{
    const size_t bytes = strlen(name);
    for (uint32_t k = 0; k < p->function_count; k++)
        if (p->functions[k].name.bytes == bytes && memcmp(p->text + p->functions[k].name.at, name, bytes) == 0)
            return &p->functions[k];
    return NULL;
}

/* Why it stays plain; NONE: `k` has all that is needed. */
static enum sonde_value_missed examine(struct sonde_cuda_kernel *k, struct image *i, const char *name)
{
    if (!i)
        return SONDE_VALUE_MISSED_CODE;
    if (!i->code.text)
        sonde__triton_ptx(&i->cubin, name, &i->code);
    if (!i->code.text)
        return SONDE_VALUE_MISSED_PTX;
    enum sonde_value_missed why = read_image(i);
    if (why)
        return why;
    k->ptx = &i->ptx;
    k->function = function_of(&i->ptx, name);
    if (!k->function)
        return SONDE_VALUE_MISSED_PTX;
    why = sonde__ptx_plain(k->ptx, k->function);
    if (why)
        return why;
    if (sonde__ptx_flow(k->ptx, k->function, &k->flow))
        return SONDE_VALUE_MISSED_MEMORY;
    if (!k->function->accesses)
        return SONDE_VALUE_MISSED_NONE;
    if (k->flow.elsewhere && !sonde__cuda_twins.remote) /* those are told apart by their address */
        return SONDE_VALUE_MISSED_SPACE;
    if (k->flow.parameters >= SONDE_CUDA_PARAMETERS_MAX || k->flow.pointer_count > SONDE_PTX_POINTERS_MAX)
        return SONDE_VALUE_MISSED_ARGUMENTS;
    if (k->flow.variables.count > SONDE_PTX_VARIABLES_MAX)
        return SONDE_VALUE_MISSED_VARIABLE;
    if (sonde__cuda_twins.remote)
        return SONDE_VALUE_MISSED_NONE; /* most launches need no copy */
    for (int guesses = sonde__cuda_twins.fine; guesses >= 0; guesses--) { /* the other when it is needed */
        const struct twin twin = twin_of(i, k->function, guesses);
        k->made[guesses] = true;
        k->twin[guesses] = twin.kernel;
        why = twin.why;
        if (!why)
            break;
    }
    return why;
}

/* The driver knows the parameters of kernels that have no PTX, too. */
static void read_parameters(struct sonde_cuda_kernel *k, CUfunction f)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    size_t offset, bytes;
    uint32_t count = 0;
    struct sonde_cuda_parameter found[SONDE_CUDA_PARAMETERS_MAX];
    for (; count < SONDE_CUDA_PARAMETERS_MAX; count++) {
        if (t->cuKernelGetParamInfo((CUkernel)f, count, &offset, &bytes) != CUDA_SUCCESS && t->cuFuncGetParamInfo(f, count, &offset, &bytes) != CUDA_SUCCESS)
            break;
        found[count] = (struct sonde_cuda_parameter){(uint16_t)offset, (uint16_t)bytes};
    }
    k->parameter = count ? sonde__memory_get(count * sizeof *found) : NULL;
    if (k->parameter)
        memcpy(k->parameter, found, count * sizeof *found);
    k->parameters = k->parameter ? count : 0;
}

static struct sonde_cuda_kernel *kernel_new(CUfunction f)
{
    const char *name = "";
    struct sonde_cuda_kernel *k = sonde__memory_get(sizeof *k);
    if (!k)
        return NULL;
    k->image = image_of(f, &name);
    k->name = sonde_string(name, strlen(name));
    k->why = examine(k, k->image, name);
    read_parameters(k, f);
    sonde__shared_map_put(&kernels, (uintptr_t)f, (uintptr_t)k);
    return k;
}

struct sonde_cuda_kernel *sonde__cuda_kernel(CUfunction f)
{
    uint64_t known;
    if (sonde__shared_map_get(&kernels, (uintptr_t)f, &known))
        return (void *)(uintptr_t)known;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    sonde__lock(&code.lock);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    struct sonde_cuda_kernel *k = sonde__shared_map_get(&kernels, (uintptr_t)f, &known) ? (void *)(uintptr_t)known : kernel_new(f);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    sonde__unlock(&code.lock);
    return k;
}

/* ---- copies ------------------------------------------------------------------------------------------------ */

CUkernel sonde__cuda_twin(struct sonde_cuda_kernel *k, bool guesses)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* as above */
    if (atomic_load_explicit(&k->made[guesses], memory_order_acquire))
        return k->twin[guesses];
    sonde__lock(&code.lock);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    if (!k->made[guesses])
        k->twin[guesses] = twin_of(k->image, k->function, guesses).kernel;
    atomic_store_explicit(&k->made[guesses], true, memory_order_release);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    sonde__unlock(&code.lock);
    return k->twin[guesses];
}

/* ---- variables -------------------------------------------------------------------------------------------- */

struct sonde_cuda_pointers { /* to a kernel's variables, in a context */
    struct sonde_cuda_pointers *next;
    uint32_t context_uid;
    bool known;
    CUdeviceptr at[SONDE_PTX_VARIABLES_MAX];
};

static bool variable_at(const struct image *i, const char *name, CUdeviceptr *at)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    const CUlibrary library = i->library ? (CUlibrary)(uintptr_t)i->handle : NULL;
    size_t bytes;
    if (!library)
        return t->cuModuleGetGlobal_v2(at, &bytes, (CUmodule)(uintptr_t)i->handle, name) == CUDA_SUCCESS;
    return t->cuLibraryGetGlobal(at, &bytes, library, name) == CUDA_SUCCESS ||
           t->cuLibraryGetManaged(at, &bytes, library, name) == CUDA_SUCCESS;
}

/* Under code.lock. */
static struct sonde_cuda_pointers *pointers_new(struct sonde_cuda_kernel *k, uint32_t context_uid)
{
    char name[NAME_MAX_BYTES];
    struct sonde_cuda_pointers *p = sonde__memory_get(sizeof *p);
    if (!p)
        return NULL;
    p->context_uid = context_uid;
    p->known = true;
    for (uint32_t v = 0; v < k->flow.variables.count && p->known; v++) {
        const struct sonde_ptx_span s = k->flow.variables.name[v];
        snprintf(name, sizeof name, "%.*s", (int)s.bytes, k->ptx->text + s.at);
        p->known = variable_at(k->image, name, &p->at[v]);
    }
    p->next = atomic_load(&k->pointers);
    atomic_store(&k->pointers, p);
    return p;
}

static struct sonde_cuda_pointers *pointers_of(struct sonde_cuda_kernel *k, uint32_t context_uid)
{
    struct sonde_cuda_pointers *p = atomic_load(&k->pointers);
    while (p && p->context_uid != context_uid)
        p = p->next;
    return p;
}

CUdeviceptr *sonde__cuda_variables(struct sonde_cuda_kernel *k, uint32_t context_uid)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    struct sonde_cuda_pointers *p = pointers_of(k, context_uid);
    if (!p) {
        sonde__lock(&code.lock);
        sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
        p = pointers_of(k, context_uid);
        p = p ? p : pointers_new(k, context_uid);
        sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
        sonde__unlock(&code.lock);
    }
    return p && p->known ? p->at : NULL;
}

size_t sonde__cuda_plain_name(const char *name)
{
    const size_t bytes = strlen(name), suffix = sizeof SUFFIX - 1;
    return sonde__cuda_twins.on && bytes > suffix && memcmp(name + bytes - suffix, SUFFIX, suffix) == 0 ? bytes - suffix : bytes;
}

/* patches.c - functions of Sonde's before each access of the program's machine code to global memory. See sanitizer.h. What they find becomes
 * rows in patches_values.c and patches_remote.c.
 *
 * They are in sonde-patches.fatbin beside our library (instrument/patch.cu), and are put into each module when it is loaded. Each
 * launch that is to be looked at is given the address of a sonde_patch_launch: for which operation, where the objects are, and the
 * table of its context, to which all launches add. Another launch is given none, and its patches do nothing; but the calls alone cost
 * a kernel ten times its time and more. So with --values-sample, --comm-sample or --kernel patches are taken out of a module that was launched a
 * few times without being looked at, and put back before the next that is: code is changed while nothing runs in the context.
 *
 * Graphs' kernels have the patches of their module, too (patches_graphs.c). An address of a sonde_patch_launch has a mark above it, since without a word of it the
 * patches of a graph's kernel were given what is no address (driver 580).
 *
 * A sonde_patch_launch and the ranges of objects are never written again: a kernel may still read them. When memory was allocated or
 * freed since, there are new ones.
 *
 * Two places: before the call, outside of the driver, everything is made and uploaded, in a stream of ours (places.c); when the
 * driver launches, within the call, the Sanitizer is told the address. Tables are read while kernels run, as areas.c does.
 */
#include "patches.h"

#ifdef SONDE_SANITIZER

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME    "sonde-patches.fatbin"
#define CHUNK        ((size_t)4 << 20) /* bytes of device memory that launches and ranges are cut from */
#define RANGES_MAX   16384u
#define CONTEXTS_MAX 64u
#define PATIENCE_MS  2000u
#define SKIPS        4u  /* launches that are not looked at, until the module is unpatched */
#define SWITCH_NS    20000000u /* a module stays patched of which that takes longer */
#define INSTRUCTION  16u /* bytes */

static char file[PATH_MAX + sizeof FILE_NAME];
bool sonde__patches_choosing;
const struct sonde_patches_for *sonde__patches;

/* ---- modules --------------------------------------------------------------------------------------- */

static struct sonde_lock patching; /* of what changes code, and of all modules */
static struct sonde_shared_map modules; /* CUmodule -> struct sonde_patched_module */
static struct sonde_shared_map prepared; /* contexts that have the functions */

struct sonde_patched_module *sonde__patched_module(CUmodule handle)
{
    uint64_t known;
    return sonde__shared_map_get(&modules, (uintptr_t)handle, &known) ? (void *)(uintptr_t)known : NULL;
}

static bool add_functions(CUcontext context)
{
    uint64_t known;
    if (sonde__shared_map_get(&prepared, (uintptr_t)context, &known))
        return true;
    if (!SONDE_SANITIZER_DID(sanitizerAddPatchesFromFile, file, context))
        return false;
    sonde__shared_map_put(&prepared, (uintptr_t)context, 1);
    return true;
}

/* Under `patching`. Which instructions is said each time: with the patches that is taken out, too. Some are of newer devices alone: without
 * them the others are looked at. */
static bool put_patches(CUmodule module)
{
    for (uint32_t i = 0; i < SONDE_PATCHES_FUNCTIONS && sonde__patches->functions[i].name; i++) {
        const struct sonde_patches_function *f = &sonde__patches->functions[i];
        if (SONDE_SANITIZER_DID(sanitizerPatchInstructions, f->instruction, module, f->name))
            continue;
        if (!f->otherwise)
            return false;
        sonde_note("%s: %s are not looked at", sonde__patches->option, f->otherwise);
    }
    return SONDE_SANITIZER_DID(sanitizerPatchModule, module);
}

static bool patch(CUmodule handle, struct sonde_patched_module *m)
{
    const uint64_t begin_ns = sonde_now_ns();
    m->patched = put_patches(handle);
    if (sonde__patches_choosing && !m->stays && sonde_now_ns() - begin_ns > SWITCH_NS) {
        m->stays = true;
        sonde_note("%s: a module has so much code that its patches stay in it: launches that are not chosen are slow, too", sonde__patches->option);
    }
    return m->patched;
}

void sonde__patches_module_loaded(const Sanitizer_ResourceModuleData *m)
{
    struct sonde_patched_module *made = *file ? sonde__memory_get(sizeof *made) : NULL;
    if (!made)
        return;
    /* This thread is within the driver, which one that switches patches may be waiting for. */
    if (!sonde__lock_within(&patching, PATIENCE_MS)) {
        sonde_note("%s: one module was loaded while patches were switched: its kernels are not looked at", sonde__patches->option);
        return;
    }
    sonde__cuda_quiet(true);
    sonde__sanitizer_here->patching = true;
    if (add_functions(m->context) && patch(m->module, made))
        sonde__shared_map_put(&modules, (uintptr_t)m->module, (uintptr_t)made);
    sonde__sanitizer_here->patching = false;
    sonde__cuda_quiet(false);
    sonde__unlock(&patching);
}

/* What runs now is not to change under it. */
static bool switch_module(CUmodule handle, struct sonde_patched_module *m, bool on)
{
    if (sonde__cuda_capturing() || sonde__cuda_twins.cuCtxSynchronize() != CUDA_SUCCESS)
        return false;
    sonde__sanitizer_here->patching = true;
    const bool switched = on ? patch(handle, m) : SONDE_SANITIZER_DID(sanitizerUnpatchModule, handle);
    sonde__sanitizer_here->patching = false;
    if (switched)
        m->patched = on;
    m->switched |= switched && !on;
    return switched;
}

/* Before a launch of the module: is it as the launch needs it? Of one that is not known the launch will tell. */
static bool ready(CUmodule handle, bool wanted)
{
    bool is = true;
    if (!sonde__patches_choosing)
        return true;
    sonde__lock(&patching);
    struct sonde_patched_module *m = sonde__patched_module(handle);
    if (m && wanted) {
        m->skips = 0;
        is = m->patched || switch_module(handle, m, true);
    } else if (m && m->patched && !m->stays && ++m->skips > SKIPS) {
        switch_module(handle, m, false);
    }
    sonde__unlock(&patching);
    return is;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

static struct sonde_shared_map kernels; /* of (context, CUkernel or CUfunction) -> struct sonde_patched_kernel */
static struct sonde_shared_map code_of; /* uid << 32 | operation -> its struct sonde_patched_kernel there */

static struct sonde_patched_kernel *kernel_new(CUfunction f)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    CUlibrary library;
    CUfunction function = f;
    struct sonde_patched_kernel *k = sonde__memory_get(sizeof *k);
    if (!k)
        return NULL;
    k->text = "";
    const bool is_kernel = t->cuKernelGetLibrary(&library, (CUkernel)f) == CUDA_SUCCESS; /* the static runtime's */
    if (is_kernel && t->cuKernelGetFunction(&function, (CUkernel)f) != CUDA_SUCCESS)
        function = NULL;
    if ((is_kernel ? t->cuKernelGetName(&k->text, (CUkernel)f) : t->cuFuncGetName(&k->text, f)) != CUDA_SUCCESS)
        k->text = "";
    if (!function || t->cuFuncGetModule(&k->module, function) != CUDA_SUCCESS)
        k->module = NULL;
    k->name = sonde_string(k->text, strlen(k->text));
    return k;
}

static struct sonde_patched_kernel *kernel_of(CUfunction f, uint32_t uid)
{
    uint64_t known;
    const uint64_t key = (uint64_t)(uintptr_t)f ^ (uint64_t)uid << 48 ^ 1ull << 63;
    if (sonde__shared_map_get(&kernels, key, &known))
        return (void *)(uintptr_t)known;
    struct sonde_patched_kernel *k = kernel_new(f); /* of two threads that come at once each has its own */
    if (k)
        sonde__shared_map_put(&kernels, key, (uintptr_t)k);
    return k;
}

static bool is_of(const struct sonde_map_entry *entry, void *module)
{
    return ((const struct sonde_patched_kernel *)(uintptr_t)entry->value)->module == module;
}

void sonde__patches_module_unloading(const Sanitizer_ResourceModuleData *m)
{
    sonde__shared_map_sweep(&kernels, is_of, m->module);
    sonde__patched_graphs_unload(m->module);
    sonde__shared_map_take(&modules, (uintptr_t)m->module, NULL);
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

static struct {
    struct sonde_lock lock;
    struct sonde_patched_context context[CONTEXTS_MAX];
    _Atomic uint32_t count;
} contexts;

static struct sonde_shared_map launches[SONDE_REMOTE_GROUPS]; /* uid << 32 | operation -> address of its sonde_patch_launch */

struct sonde_patched_context *sonde__patched_known(const struct sonde_cuda_place *place)
{
    for (uint32_t i = 0; i < atomic_load(&contexts.count); i++)
        if (contexts.context[i].place == place)
            return &contexts.context[i];
    return NULL;
}

static struct sonde_patched_context *context_of(struct sonde_cuda_place *place)
{
    struct sonde_patched_context *c = sonde__patched_known(place);
    if (c)
        return c;
    sonde__lock(&contexts.lock);
    c = sonde__patched_known(place);
    const uint32_t count = atomic_load(&contexts.count);
    if (!c && count < CONTEXTS_MAX) {
        c = &contexts.context[count];
        c->place = place;
        atomic_store(&contexts.count, count + 1);
    }
    sonde__unlock(&contexts.lock);
    return c;
}

struct sonde_patched_context *sonde__patched_context(const CUpti_CallbackData *cd)
{
    struct sonde_cuda_place *place = *file ? sonde__cuda_place(cd->context, cd->contextUid) : NULL;
    return place ? context_of(place) : NULL;
}

struct sonde_patched_context *sonde__patched_at(uint32_t k)
{
    return k < atomic_load(&contexts.count) ? &contexts.context[k] : NULL;
}

static CUdeviceptr allocate(struct sonde_patched_context *c, size_t bytes)
{
    CUdeviceptr at = 0;
    if (c->place->bytes + bytes > c->place->most || sonde__cuda_twins.cuMemAlloc_v2(&at, bytes) != CUDA_SUCCESS)
        return 0;
    c->place->bytes += bytes;
    return at;
}

static bool is_done(const struct sonde_patched_context *c, CUresult enqueued)
{
    return enqueued == CUDA_SUCCESS && sonde__cuda_twins.cuStreamSynchronize(c->place->stream) == CUDA_SUCCESS;
}

/* The bytes on the device, for good; 0: no memory. */
CUdeviceptr sonde__patched_upload(struct sonde_patched_context *c, const void *data, size_t bytes)
{
    const size_t whole = (bytes + 15) / 16 * 16;
    if (whole > c->chunk_left) {
        const size_t chunk = whole > CHUNK ? whole : CHUNK;
        c->chunk = allocate(c, chunk);
        c->chunk_left = c->chunk ? chunk : 0;
        if (!c->chunk)
            return 0;
    }
    const CUdeviceptr at = c->chunk;
    c->chunk += whole;
    c->chunk_left -= whole;
    return is_done(c, sonde__cuda_twins.cuMemcpyHtoDAsync_v2(at, data, bytes, c->place->stream)) ? at : 0;
}

static bool make_table(struct sonde_patched_context *c)
{
    if (!c->table)
        c->table = sonde__cuda_zeros(c->place, sonde__patches->table_bytes);
    return c->table != 0;
}

static bool is_of_context(const struct sonde_map_entry *entry, void *uid)
{
    return entry->key >> 32 == *(const uint32_t *)uid;
}

/* The objects that there are now. */
static bool renew_ranges(struct sonde_patched_context *c)
{
    const uint64_t version = sonde__cuda_ranges_version(); /* before they are looked at */
    if (c->version == version)
        return true;
    if (!c->room && !(c->room = sonde__pages_get(RANGES_MAX * sizeof *c->room)))
        return false;
    const uint32_t found = sonde__cuda_memory_ranges(c->room, RANGES_MAX);
    if (found == RANGES_MAX)
        sonde_note("%s: more than %u allocations at once: of further ones accesses are counted as of unknown memory", sonde__patches->option, RANGES_MAX);
    c->range_count = sonde__patch_sort(c->room, found);
    if (sonde__patches->choose)
        c->range_count = sonde__patches->choose(&c->launch, c->place, c->room, c->range_count);
    c->ranges = c->range_count ? sonde__patched_upload(c, c->room, c->range_count * sizeof *c->room) : 0;
    for (uint32_t k = 0; k < SONDE_REMOTE_GROUPS; k++)
        sonde__shared_map_sweep(&launches[k], is_of_context, &c->place->uid);
    c->version = !c->range_count || c->ranges ? version : 0;
    return c->version != 0;
}

bool sonde__patched_ready(struct sonde_patched_context *c)
{
    return make_table(c) && renew_ranges(c);
}

struct sonde_patch_launch sonde__patched_launch(const struct sonde_patched_context *c, uint32_t operation, uint32_t group)
{
    struct sonde_patch_launch launch = c->launch;
    launch.table = c->table;
    launch.ranges = c->ranges;
    launch.range_count = c->range_count;
    launch.operation = operation;
    launch.group = group;
    return launch;
}

static CUdeviceptr launch_for(struct sonde_patched_context *c, uint32_t operation, uint32_t group)
{
    const uint64_t key = (uint64_t)c->place->uid << 32 | operation;
    uint64_t at = 0;
    sonde__lock(&c->lock);
    if (sonde__patched_ready(c) && !sonde__shared_map_get(&launches[group], key, &at)) {
        const struct sonde_patch_launch launch = sonde__patched_launch(c, operation, group);
        at = sonde__patched_upload(c, &launch, sizeof launch);
        if (at >> SONDE_PATCH_MARKED) /* no room for the mark */
            at = 0;
        if (at)
            sonde__shared_map_put(&launches[group], key, at);
    }
    sonde__unlock(&c->lock);
    return at;
}

/* ---- launches --------------------------------------------------------------------------------------------- */

static struct sonde_sanitizer_thread *here(void)
{
    return sonde__sanitizer_here;
}

static enum sonde_value_missed prepare(const CUpti_CallbackData *cd)
{
    if (!*file)
        return SONDE_VALUE_MISSED_PATCH;
    here()->context = sonde__patched_context(cd);
    here()->data = here()->context ? launch_for(here()->context, here()->operation, here()->group) : 0;
    return here()->data ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_MEMORY;
}

/* It is looked at when the graph is launched; until then its module stays as it is. */
static enum sonde_value_missed captured(void)
{
    struct sonde_patched_module *m = sonde__patched_module(here()->kernel->module);
    if (m)
        m->stays = true;
    return SONDE_VALUE_MISSED_GRAPH;
}

static void begin(const struct sonde_cuda_launch *l, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    here()->kernel = kernel_of(*l->function, cd->contextUid);
    if (here()->kernel) {
        here()->under_way = true;
        here()->operation = sonde_call_operation(call, SONDE_OP_KERNEL, here()->kernel->name);
        enum sonde_value_missed why = sonde__cuda_captures(l->stream, own_default) ? captured() : SONDE_VALUE_MISSED_NONE;
        if (!why)
            why = sonde_value_choose(here()->operation, here()->kernel->name, l->blocks << 16 ^ l->threads);
        here()->group = !why && sonde__patches->group ? (uint8_t)sonde__patches->group(here()->operation) : 0;
        if (!why)
            why = prepare(cd);
        if (!ready(here()->kernel->module, !why) && !why)
            why = SONDE_VALUE_MISSED_PATCH;
        here()->why = (uint8_t)why;
    }
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
}

void sonde__patches_before(uint32_t id, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    const struct sonde_cuda_launch l = sonde__cuda_launch(id, (void *)(uintptr_t)cd->functionParams);
    if (here()->under_way) {
        here()->nested++;
        return;
    }
    here()->begun = false;
    here()->data = 0;
    if (!l.function)
        return;
    sonde__cuda_quiet(true);
    begin(&l, cd, own_default, call);
    sonde__cuda_quiet(false);
}

/* Not within ours: the driver's own kernels, and those of a call that is not recorded, are given nothing. */
void sonde__patches_launch(const Sanitizer_LaunchData *l)
{
    const struct sonde_patched_module *m = sonde__patched_module(l->module);
    if (here()->under_way) {
        here()->kernel->module = l->module;
        if (!m)
            sonde_note("%s: some kernels are of modules that Compute Sanitizer has not patched", sonde__patches->option);
        if (!here()->why && (!m || !m->patched))
            here()->why = SONDE_VALUE_MISSED_PATCH;
    }
    const bool looks = here()->under_way && !here()->why;
    const uintptr_t data = looks ? (uintptr_t)SONDE_PATCH_MARK << SONDE_PATCH_MARKED | (uintptr_t)here()->data : 0;
    sonde__cuda_quiet(true);
    if (!SONDE_SANITIZER_DID(sanitizerSetLaunchCallbackData, l->hLaunch, l->function, l->hStream, (const void *)data) && looks)
        here()->why = SONDE_VALUE_MISSED_PATCH;
    sonde__cuda_quiet(false);
    if (looks && here()->context)
        atomic_fetch_add(&here()->context->launches, 1);
    here()->begun = true;
}

/* It is loaded when it was launched. */
void sonde__patched_ask(struct sonde_patched_kernel *k)
{
    if (k->asked || !k->module)
        return;
    sonde__cuda_quiet(true);
    if (!SONDE_SANITIZER_DID(sanitizerGetFunctionPcAndSize, k->module, k->text, &k->pc, &k->bytes))
        k->pc = k->bytes = 0;
    sonde__cuda_quiet(false);
    k->asked = true;
}

/* Of a call that made no launch, and no error, a graph's capture has taken it: that is none. */
void sonde__patches_after(bool made)
{
    if (here()->nested) {
        here()->nested--;
        return;
    }
    if (here()->under_way && made && here()->begun) {
        const enum sonde_value_missed why = (enum sonde_value_missed)here()->why;
        sonde__patches->missed(here()->operation, why, why ? SONDE_ENGINE_NONE : SONDE_ENGINE_SANITIZER, why ? 0 : here()->group);
        if (!why) {
            sonde__patched_ask(here()->kernel);
            sonde__shared_map_put(&code_of, (uint64_t)here()->context->place->uid << 32 | here()->operation, (uintptr_t)here()->kernel);
        }
    }
    here()->under_way = false;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* NULL: not known yet, or not by its launch. */
static const struct sonde_patched_kernel *kernel_at(const struct sonde_cuda_place *place, uint32_t operation)
{
    uint64_t known = 0;
    return sonde__shared_map_get(&code_of, (uint64_t)place->uid << 32 | operation, &known) ? (const void *)(uintptr_t)known : NULL;
}

bool sonde__patches_whose(const struct sonde_cuda_place *place, uint64_t pc, struct sonde_patches_whose *w)
{
    struct sonde_patched_context *c = sonde__patched_is_graph(w->operation) ? sonde__patched_known(place) : NULL;
    const struct sonde_patched_kernel *k = c ? NULL : kernel_at(place, w->operation);
    const bool is_known = c ? sonde__patched_in_graph(c, pc, &w->operation, &w->group, &k) : k != NULL;
    w->number = k && sonde__patched_has(k, pc) ? (uint32_t)((pc - k->pc) / INSTRUCTION) : SONDE_PATCHES_ELSEWHERE | (uint32_t)(pc / INSTRUCTION);
    return is_known;
}

static void read_context(struct sonde_cuda_place *place, bool last)
{
    struct sonde_patched_context *c = sonde__patched_known(place);
    const uint64_t launched = c ? atomic_load(&c->launches) : 0;
    if (!c || !c->table || (!last && launched == c->read_launches))
        return;
    if (last)
        sonde__cuda_cells_read(place);
    if (!c->host && !(c->host = sonde__pages_get(sonde__patches->table_bytes)))
        return;
    if (!is_done(c, sonde__cuda_twins.cuMemcpyDtoHAsync_v2(c->host, c->table, sonde__patches->table_bytes, place->stream))) {
        if (launched != c->read_launches)
            sonde_note("%s: what some kernels found could not be read from the device", sonde__patches->option);
        return;
    }
    if (sonde__patches->read(place, &c->state, c->host, last))
        c->read_launches = launched;
}

void sonde__patches_read(bool last)
{
    sonde__cuda_places(0, read_context, last);
}

/* ---- the beginning ---------------------------------------------------------------------------------------------- */

const char *sonde__patches_begin(char *room, size_t size)
{
    char folder[PATH_MAX];
    const char *sample = getenv("SONDE_VALUES_FIRST"), *pattern = getenv("SONDE_VALUES_KERNEL"), *wanted = getenv("SONDE_VALUES");
    const char *why = sonde__cuda_values_begin(SONDE_VALUES_FINE, room, size); /* the driver's functions; nothing else of it is wanted */
    sonde__cuda_twins.on = sonde__cuda_twins.fine = false;
    sonde__patches = wanted && strtoull(wanted, NULL, 10) & SONDE_VALUES_REMOTE ? &sonde__patches_remote : &sonde__patches_values;
    if (why)
        return why;
    if (!sonde__cuda_own_folder(folder, sizeof folder))
        return "the folder of Sonde's own library is not known";
    snprintf(file, sizeof file, "%s/" FILE_NAME, folder);
    if (access(file, R_OK) != 0) {
        *file = '\0';
        return "this Sonde was built without nvcc, which compiles what the engine sanitizer puts into kernels";
    }
    sonde__patches_choosing = (sample && strtoull(sample, NULL, 10)) || (pattern && *pattern);
    return NULL;
}

#endif

/* patches_graphs.c - launches of kernels by graphs: what their patches are given. See patches.c.
 *
 * Which kernels a graph has the Sanitizer tells within the launch, inside of the driver, where nothing can be uploaded. So before it there are so many
 * sonde_patch_launch on the device that some are to spare, each with a number of its own, from GRAPHS on, in place of an operation. Within the launch the call
 * that launches the graph gets the next of them, for good. Whoever reads the table asks for whom a number stands.
 *
 * All kernels of a launch are given the same: of those that follow each other in a stream each had what the last one was given (driver 580). So they are looked at
 * together or not at all, and whose an access is, is told by its program counter.
 */
#include "patches.h"

#ifdef SONDE_SANITIZER

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "instrument/patch.h"

#define GRAPHS       0x80000000u /* numbers from here on are of graphs */
#define GRAPHS_MAX   4096u       /* calls that launch graphs, of a context */
#define GRAPHS_SPARE 16u         /* calls by other threads until this one's launch */

static const char CALLED[] = "(function that kernels of a graph call)";

static struct sonde_shared_map numbers[SONDE_REMOTE_GROUPS]; /* uid << 32 | call path -> number, from 1 on */
static struct sonde_shared_map kernels; /* of (struct sonde_patched_graph, operation, module) -> struct sonde_patched_node */

static struct sonde_sanitizer_thread *here(void)
{
    return sonde__sanitizer_here;
}

/* ---- before ------------------------------------------------------------------------------------------ */

static bool upload_graphs(struct sonde_patched_context *c)
{
    const uint32_t room = c->graph_count + 2 * GRAPHS_SPARE < GRAPHS_MAX ? c->graph_count + 2 * GRAPHS_SPARE : GRAPHS_MAX;
    struct sonde_patch_launch *all = sonde__pages_get(room * sizeof *all);
    for (uint32_t i = 0; all && i < room; i++)
        all[i] = sonde__patched_launch(c, GRAPHS + i, 0);
    const CUdeviceptr at = all ? sonde__patched_upload(c, all, room * sizeof *all) : 0;
    sonde__pages_put(all, room * sizeof *all);
    if (!at || at >> SONDE_PATCH_MARKED) /* no room for the mark */
        return false;
    sonde__lock(&c->naming);
    c->graph_launches = at;
    c->graph_room = room;
    c->graph_version = c->version;
    sonde__unlock(&c->naming);
    return true;
}

static void make_ready(struct sonde_patched_context *c)
{
    sonde__lock(&c->lock);
    if (!c->graphs)
        c->graphs = sonde__pages_get(GRAPHS_MAX * sizeof *c->graphs);
    bool is = c->graphs && sonde__patched_ready(c);
    const bool full = c->graph_room == GRAPHS_MAX || c->graph_room - c->graph_count >= GRAPHS_SPARE;
    if (is && (c->graph_version != c->version || !full))
        is = upload_graphs(c);
    sonde__unlock(&c->lock);
    if (!is) /* what is there is of memory as it was */
        sonde_note("%s: no memory on the device for kernels of graphs", sonde__patches->option);
    here()->graph_ready = is;
}

void sonde__patches_before_graph(const CUpti_CallbackData *cd, const struct sonde_call *call)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    here()->graph_call = call;
    here()->graph_ready = here()->graph_begun = false;
    sonde__cuda_quiet(true);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    struct sonde_patched_context *c = sonde__patched_context(cd);
    if (c)
        make_ready(c);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    sonde__cuda_quiet(false);
}

/* ---- within ------------------------------------------------------------------------------------------ */

static struct sonde_patched_node *node_new(const Sanitizer_LaunchData *l, uint32_t operation, uint32_t name, bool counts)
{
    const size_t length = strlen(l->functionName);
    struct sonde_patched_node *n = sonde__memory_get(sizeof *n + length + 1);
    if (!n)
        return NULL;
    char *text = (char *)(n + 1);
    memcpy(text, l->functionName, length + 1);
    *n = (struct sonde_patched_node){.operation = operation, .counts = counts, .kernel = {.text = text, .name = name, .module = l->module}};
    return n;
}

/* The number of the call's launches in a group, another one after a module of theirs was unloaded; or UINT32_MAX: there is none to spare. Under `naming`. */
static uint32_t number_of(struct sonde_patched_context *c, uint32_t call, uint32_t group)
{
    const uint64_t key = (uint64_t)c->place->uid << 32 | call;
    uint64_t known;
    if (sonde__shared_map_get(&numbers[group], key, &known) && !atomic_load(&c->graphs[known - 1].outdated))
        return (uint32_t)known - 1;
    if (c->graph_count >= c->graph_room)
        return UINT32_MAX;
    c->graphs[c->graph_count] = (struct sonde_patched_graph){.group = (uint8_t)group};
    sonde__shared_map_put(&numbers[group], key, c->graph_count + 1);
    return c->graph_count++;
}

/* The graph is to have the kernel. False: no memory. Under `naming`. */
static bool has_kernel(struct sonde_patched_context *c, struct sonde_patched_graph *g, const Sanitizer_LaunchData *l, uint32_t operation, uint32_t name, bool counts)
{
    const uintptr_t seed[] = {(uintptr_t)g, operation, (uintptr_t)l->module, counts};
    const uint64_t key = XXH3_64bits(seed, sizeof seed) | 1;
    uint64_t known;
    if (sonde__shared_map_get(&kernels, key, &known))
        return true;
    struct sonde_patched_node *n = node_new(l, operation, name, counts);
    if (!n)
        return false;
    if (!g->called && (g->first || g->fresh))
        g->called = sonde_call_operation(here()->graph_call, SONDE_OP_KERNEL, sonde_string(CALLED, sizeof CALLED - 1));
    n->graph = g;
    n->next = c->fresh;
    c->fresh = n;
    g->fresh++;
    sonde__shared_map_put(&kernels, key, (uintptr_t)n);
    return true;
}

static bool is_of(const struct sonde_map_entry *entry, void *module)
{
    const struct sonde_patched_node *n = (const void *)(uintptr_t)entry->value;
    if (n->kernel.module == module)
        atomic_store(&n->graph->outdated, true);
    return n->kernel.module == module;
}

void sonde__patched_graphs_unload(CUmodule module)
{
    sonde__shared_map_sweep(&kernels, is_of, module);
}

/* What the kernel's patches are given; 0: nothing, with `why`. */
static CUdeviceptr give(const Sanitizer_LaunchData *l, uint32_t operation, uint32_t name, bool counts, enum sonde_value_missed *why)
{
    uint32_t uid = 0;
    sonde__cupti.cuptiGetContextId(l->context, &uid);
    struct sonde_cuda_place *place = uid ? sonde__cuda_place_known(uid) : NULL;
    struct sonde_patched_context *c = place ? sonde__patched_known(place) : NULL;
    uint32_t number = UINT32_MAX;
    CUdeviceptr at = 0;
    *why = SONDE_VALUE_MISSED_MEMORY;
    if (!c || !here()->graph_ready)
        return 0;
    sonde__lock(&c->naming);
    if (c->graphs && c->graph_launches)
        number = number_of(c, sonde_call_context(here()->graph_call), here()->graph_group);
    at = c->graph_launches + (CUdeviceptr)number * sizeof(struct sonde_patch_launch);
    if (number != UINT32_MAX && !has_kernel(c, &c->graphs[number], l, operation, name, counts))
        number = UINT32_MAX;
    sonde__unlock(&c->naming);
    if (number == UINT32_MAX)
        return 0;
    atomic_fetch_add(&c->launches, 1);
    *why = SONDE_VALUE_MISSED_NONE;
    return at;
}

/* A module whose patches were taken out once may be in the graph as it was then. */
static enum sonde_value_missed is_patched(const Sanitizer_LaunchData *l)
{
    struct sonde_patched_module *m = sonde__patched_module(l->module);
    if (!m)
        return SONDE_VALUE_MISSED_PATCH;
    m->stays = true;
    return m->patched && !m->switched ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_PATCH;
}

/* Without a word they are given whatever was there. */
static bool set_data(const Sanitizer_LaunchData *l, CUdeviceptr at)
{
    const void *data = (const void *)(at ? (uintptr_t)SONDE_PATCH_MARK << SONDE_PATCH_MARKED | (uintptr_t)at : 0);
    if (!l->hLaunch || !sonde__patched_module(l->module))
        return false;
    sonde__cuda_quiet(true);
    const bool is = sonde__sanitizer.sanitizerSetLaunchCallbackData(l->hLaunch, l->function, l->hStream, data) == SANITIZER_SUCCESS ||
                    sonde__sanitizer.sanitizerSetLaunchCallbackData(l->hLaunch, l->function, l->hApiStream, data) == SANITIZER_SUCCESS;
    sonde__cuda_quiet(false);
    return is;
}

/* The first kernel of a launch decides for all of them. */
static void begin_launch(uint32_t operation)
{
    here()->graph_begun = true;
    here()->graph_sampled = sonde_value_scattered(operation);
    here()->graph_group = here()->graph_sampled && sonde__patches->group ? (uint8_t)sonde__patches->group(operation) : 0;
}

void sonde__patches_node(const Sanitizer_LaunchData *l, bool launches)
{
    if (!launches || !here()->graph_call || !l->functionName) { /* a graph is only brought to the device, or nobody records it */
        set_data(l, 0);
        return;
    }
    const uint32_t name = sonde_string(l->functionName, strlen(l->functionName)), operation = sonde_call_operation(here()->graph_call, SONDE_OP_KERNEL, name);
    if (!here()->graph_begun)
        begin_launch(operation);
    /* One that does not count is given the same, or it would take it from the others. */
    enum sonde_value_missed why = sonde_value_asked(name) ? is_patched(l) : SONDE_VALUE_MISSED_KERNEL, not_given = SONDE_VALUE_MISSED_SAMPLE;
    const CUdeviceptr at = here()->graph_sampled ? give(l, operation, name, !why, &not_given) : 0;
    if (!set_data(l, at) && !not_given)
        not_given = SONDE_VALUE_MISSED_PATCH;
    why = why ? why : not_given;
    sonde__patches->missed(operation, why, why ? SONDE_ENGINE_NONE : SONDE_ENGINE_SANITIZER, why ? 0 : here()->graph_group);
}

/* ---- afterwards ----------------------------------------------------------------------------------------- */

/* The next kernel of which it is not known where its code is; NULL: no more. */
static struct sonde_patched_node *take_fresh(struct sonde_patched_context *c)
{
    sonde__lock(&c->naming);
    struct sonde_patched_node *n = c->fresh;
    if (n)
        c->fresh = n->next;
    sonde__unlock(&c->naming);
    return n;
}

static void find_code(struct sonde_patched_context *c, struct sonde_patched_node *n)
{
    sonde__patched_ask(&n->kernel);
    sonde__lock(&c->naming);
    n->next = n->graph->first;
    n->graph->first = n;
    n->graph->fresh--;
    sonde__unlock(&c->naming);
}

void sonde__patches_after_graph(void)
{
    struct sonde_patched_context *c;
    struct sonde_patched_node *n;
    for (uint32_t k = 0; here()->graph_call && (c = sonde__patched_at(k)); k++)
        while ((n = take_fresh(c)))
            find_code(c, n);
    here()->graph_call = NULL;
}

/* Under `naming`. Of what several kernels may call nobody tells which of them did; where none of them counts, nor does that. */
static uint32_t operation_at(const struct sonde_patched_graph *g, uint64_t pc, const struct sonde_patched_kernel **kernel)
{
    uint32_t only = 0, counting = 0, kernels_count = 0;
    for (const struct sonde_patched_node *n = g->first; n; n = n->next) {
        if (sonde__patched_has(&n->kernel, pc)) {
            *kernel = &n->kernel;
            return n->counts ? n->operation : 0;
        }
        kernels_count++;
        counting += n->counts;
        only = n->counts ? n->operation : only;
    }
    return kernels_count == 1 || !counting ? only : g->called;
}

bool sonde__patched_in_graph(struct sonde_patched_context *c, uint64_t pc, uint32_t *operation, uint32_t *group, const struct sonde_patched_kernel **kernel)
{
    sonde__lock(&c->naming);
    const uint32_t number = *operation - GRAPHS;
    const struct sonde_patched_graph *g = number < c->graph_count ? &c->graphs[number] : NULL;
    *kernel = NULL;
    *operation = g ? operation_at(g, pc, kernel) : 0;
    *group = g ? g->group : 0;
    const bool known = *kernel || !g || !g->fresh;
    sonde__unlock(&c->naming);
    return known;
}

bool sonde__patched_is_graph(uint32_t operation)
{
    return operation >= GRAPHS;
}

#endif

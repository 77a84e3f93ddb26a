/* patches_graphs.c - launches of kernels by graphs: what their patches are given. See patches.c.
 *
 * Which kernels a graph has the Sanitizer tells within the launch, inside of the driver, where nothing can be uploaded. So before it there are so many
 * sonde_patch_launch on the device that some are to spare, each with a number of its own, from NODES on, in place of an operation. Within the launch a kernel's
 * operation, which is that of the call that launches the graph, gets the next of them, for good. Whoever reads the table asks for whom a number stands.
 */
#include "patches.h"

#ifdef SONDE_SANITIZER

#include <string.h>

#include "instrument/patch.h"

#define NODES       0x80000000u /* numbers from here on are of nodes */
#define NODES_MAX   4096u       /* operations of kernels of graphs, of a context */
#define NODES_SPARE 64u         /* kernels that the next launch may have and no one before it */

static struct sonde_shared_map numbers[SONDE_REMOTE_GROUPS]; /* uid << 32 | operation -> number, from 1 on */

static struct sonde_sanitizer_thread *here(void)
{
    return sonde__sanitizer_here;
}

/* ---- before ------------------------------------------------------------------------------------------ */

static bool upload_nodes(struct sonde_patched_context *c)
{
    const uint32_t room = c->node_count + NODES_SPARE < NODES_MAX ? c->node_count + NODES_SPARE : NODES_MAX;
    struct sonde_patch_launch *all = sonde__pages_get(room * sizeof *all);
    for (uint32_t i = 0; all && i < room; i++)
        all[i] = sonde__patched_launch(c, NODES + i, 0);
    const CUdeviceptr at = all ? sonde__patched_upload(c, all, room * sizeof *all) : 0;
    sonde__pages_put(all, room * sizeof *all);
    if (!at || at >> SONDE_PATCH_MARKED) /* no room for the mark */
        return false;
    sonde__lock(&c->naming);
    c->node_launches = at;
    c->node_room = room;
    c->node_version = c->version;
    sonde__unlock(&c->naming);
    return true;
}

static void make_ready(struct sonde_patched_context *c)
{
    sonde__lock(&c->lock);
    if (!c->nodes)
        c->nodes = sonde__pages_get(NODES_MAX * sizeof *c->nodes);
    bool is = c->nodes && sonde__patched_ready(c);
    const bool full = c->node_room == NODES_MAX || c->node_room - c->node_count >= NODES_SPARE / 2;
    if (is && (c->node_version != c->version || !full))
        is = upload_nodes(c);
    sonde__unlock(&c->lock);
    if (!is) /* what is there is of memory as it was */
        sonde_note("%s: no memory on the device for kernels of graphs", sonde__patches->option);
    here()->graph_ready = is;
}

void sonde__patches_before_graph(const CUpti_CallbackData *cd, const struct sonde_call *call)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    here()->graph_call = call;
    here()->graph_ready = false;
    sonde__cuda_quiet(true);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    struct sonde_patched_context *c = sonde__patched_context(cd);
    if (c)
        make_ready(c);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    sonde__cuda_quiet(false);
}

/* ---- within ------------------------------------------------------------------------------------------ */

static struct sonde_patched_kernel *kernel_of(const Sanitizer_LaunchData *l, uint32_t name)
{
    const size_t length = strlen(l->functionName);
    struct sonde_patched_kernel *k = sonde__memory_get(sizeof *k + length + 1);
    if (!k)
        return NULL;
    char *text = (char *)(k + 1);
    memcpy(text, l->functionName, length + 1);
    *k = (struct sonde_patched_kernel){.text = text, .name = name, .module = l->module};
    return k;
}

/* The number of an operation's launches, or UINT32_MAX: there is none to spare. Under `naming`. */
static uint32_t number_of(struct sonde_patched_context *c, uint32_t operation, uint32_t group, const Sanitizer_LaunchData *l, uint32_t name)
{
    const uint64_t key = (uint64_t)c->place->uid << 32 | operation;
    uint64_t known;
    if (sonde__shared_map_get(&numbers[group], key, &known) && c->nodes[known - 1].kernel->module == l->module)
        return (uint32_t)known - 1;
    struct sonde_patched_kernel *k = c->node_count < c->node_room ? kernel_of(l, name) : NULL;
    if (!k)
        return UINT32_MAX;
    c->nodes[c->node_count] = (struct sonde_patched_node){.operation = operation, .group = (uint8_t)group, .kernel = k};
    sonde__shared_map_put(&numbers[group], key, c->node_count + 1);
    return c->node_count++;
}

/* What the kernel's patches are given; 0: nothing, with `why`. */
static CUdeviceptr give(const Sanitizer_LaunchData *l, uint32_t operation, uint32_t name, uint32_t group, enum sonde_value_missed *why)
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
    if (c->nodes && c->node_launches)
        number = number_of(c, operation, group, l, name);
    at = c->node_launches + (CUdeviceptr)number * sizeof(struct sonde_patch_launch);
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

void sonde__patches_node(const Sanitizer_LaunchData *l, bool launches)
{
    if (!launches || !here()->graph_call || !l->functionName) { /* a graph is only brought to the device, or nobody records it */
        set_data(l, 0);
        return;
    }
    const uint32_t name = sonde_string(l->functionName, strlen(l->functionName)), operation = sonde_call_operation(here()->graph_call, SONDE_OP_KERNEL, name);
    const uint64_t blocks = (uint64_t)l->gridDim_x * l->gridDim_y * l->gridDim_z, threads = (uint64_t)l->blockDim_x * l->blockDim_y * l->blockDim_z;
    enum sonde_value_missed why = is_patched(l);
    if (!why)
        why = sonde_value_choose(operation, name, blocks << 16 ^ threads);
    const uint32_t group = !why && sonde__patches->group ? sonde__patches->group(operation) : 0;
    const CUdeviceptr at = why ? 0 : give(l, operation, name, group, &why);
    if (!set_data(l, at) && !why)
        why = SONDE_VALUE_MISSED_PATCH;
    sonde__patches->missed(operation, why, why ? SONDE_ENGINE_NONE : SONDE_ENGINE_SANITIZER, why ? 0 : group);
}

/* ---- afterwards ----------------------------------------------------------------------------------------- */

void sonde__patches_after_graph(void)
{
    struct sonde_patched_context *c;
    for (uint32_t k = 0; here()->graph_call && (c = sonde__patched_at(k)); k++)
        for (uint32_t i = c->node_coded; i < c->node_count; i++) {
            sonde__patched_code(c, c->nodes[i].operation, c->nodes[i].kernel);
            c->node_coded = i + 1;
        }
    here()->graph_call = NULL;
}

void sonde__patches_stands_for(const struct sonde_cuda_place *place, uint32_t *operation, uint32_t *group)
{
    struct sonde_patched_context *c = *operation >= NODES ? sonde__patched_known(place) : NULL;
    if (!c)
        return;
    sonde__lock(&c->naming);
    if (*operation - NODES < c->node_count) {
        *group = c->nodes[*operation - NODES].group;
        *operation = c->nodes[*operation - NODES].operation;
    }
    sonde__unlock(&c->naming);
}

#endif

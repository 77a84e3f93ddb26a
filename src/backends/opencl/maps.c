/* maps.c - what the host writes in buffers and shared virtual memory that it has mapped (sonde record --values).
 *
 * What is mapped for writing is copied in front of the map, and compared behind the unmap, if both are in one in-order queue. The host
 * may have written less: what is found is an upper bound.
 */
#include "values.h"

static bool is_current(const struct mapping *m)
{
    return atomic_load(&m->known->version) == m->version;
}

void sonde__cl_maps_put(struct mapping *m)
{
    if (m->copied)
        sonde__cl_target(m->copied)->clReleaseEvent(m->copied);
    m->copied = NULL;
    m->mem = NULL;
}

/* A free one, else the oldest. */
static struct mapping *place_for(struct sonde_cl_values *v)
{
    struct mapping *m = &v->mapping[0];
    for (int i = 0; i < MAPPINGS_MAX && m->mem; i++)
        if (!v->mapping[i].mem || v->mapping[i].number < m->number)
            m = &v->mapping[i];
    if (m->mem)
        sonde__cl_maps_put(m);
    return m;
}

static bool copy(const cl_icd_dispatch *real, const struct sonde_cl_enqueue *enqueue, const struct sonde_cl_values *v, cl_command_queue queue, struct mapping *m)
{
    const struct target of = {.mem = m->mem, .is_svm = m->is_svm, .from = m->from, .bytes = m->bytes};
    return !m->bytes || (sonde__cl_compare_room(real, v, queue, &m->room, m->bytes + 8) &&
                         sonde__cl_compare_copy(real, v, queue, &of, m->room.mem, enqueue->gate_count, enqueue->gate_list, enqueue->gate_count ? &m->copied : NULL));
}

/* Events keep queues alive, which the program would notice. */
static void settle(struct mapping *m)
{
    cl_int status = CL_QUEUED;
    if (!m->copied)
        return;
    const cl_icd_dispatch *real = sonde__cl_target(m->copied);
    if (real->clGetEventInfo(m->copied, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS && status > CL_COMPLETE)
        return;
    sonde__cl_event_over(m->copied, status);
    m->copied = NULL;
}

void sonde__cl_maps_settle(struct sonde_cl_values *v)
{
    for (int i = 0; i < MAPPINGS_MAX; i++)
        settle(&v->mapping[i]);
}

/* `bytes` of what is known as `mem`, and as `object`; `all`: so many it has. */
static void map(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct mapping *of, uint32_t object, uint64_t all)
{
    uint64_t from = of->from, to = from + of->bytes;
    const bool in_order = enqueue->queue && !sonde__cl_out_of_order(enqueue->queue);
    struct sonde_cl_values *v = NULL;
    if (in_order && of->known && to >= from && to <= all)
        v = sonde__cl_values_take(enqueue, queue);
    if (!v) {
        sonde__cl_order_unseen(enqueue, object);
        return;
    }
    struct mapping *m = place_for(v);
    sonde__cl_values_define(of->known, &from, &to);
    m->mem = of->mem;
    m->is_svm = of->is_svm;
    m->known = of->known;
    m->from = from;
    m->bytes = to - from;
    m->number = ++v->mappings;
    m->version = atomic_load(&of->known->version);
    if (copy(sonde__cl_target(queue), enqueue, v, queue, m)) {
        enqueue->copied = m->bytes;
        enqueue->mapping = m;
        enqueue->mapped_in = v;
        return;
    }
    sonde__cl_maps_put(m);
    sonde__unlock(&v->lock);
}

static bool is_looked_at(cl_map_flags flags)
{
    return flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) && sonde_values_wanted(SONDE_VALUES_COARSE);
}

void sonde__cl_values_map(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_mem handle, cl_map_flags flags, uint64_t from, uint64_t bytes)
{
    if (!is_looked_at(flags))
        return;
    struct sonde_cl_mem *known = sonde__cl_mem(handle);
    sonde__cl_order_begin(enqueue, queue);
    map(enqueue, queue, &(const struct mapping){.mem = handle, .known = known, .from = from, .bytes = bytes}, sonde__cl_mem_object(handle),
        known ? atomic_load_explicit(&known->bytes, memory_order_relaxed) : 0);
    if (!enqueue->copied)
        sonde__cl_order_turn(enqueue, queue);
}

/* It is not compared: what is in flight must be told. */
void sonde__cl_values_map_image(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_mem image, cl_map_flags flags)
{
    if (!is_looked_at(flags))
        return;
    sonde__cl_order_begin(enqueue, queue);
    sonde__cl_order_unseen(enqueue, sonde__cl_mem_object(image));
    sonde__cl_order_turn(enqueue, queue);
}

void sonde__cl_values_map_svm(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer, uint64_t bytes)
{
    uint32_t object;
    struct sonde_object_info whole = {0};
    struct sonde_cl_mem *known = sonde__cl_svm_around(pointer, &object, &whole);
    const struct mapping of = {.mem = (cl_mem)(uintptr_t)whole.address, .is_svm = true, .known = known, .from = (uintptr_t)pointer - whole.address, .bytes = bytes};
    map(enqueue, queue, &of, object, whole.address % 8 ? 0 : whole.bytes);
    enqueue->svm_mapped = enqueue->mapping ? pointer : NULL;
}

void sonde__cl_values_mapped(struct sonde_cl_enqueue *enqueue, const void *pointer)
{
    struct mapping *m = enqueue->mapping;
    if (!m)
        return;
    m->pointer = pointer;
    settle(m);
    if (!pointer)
        sonde__cl_maps_put(m);
    sonde__unlock(&enqueue->mapped_in->lock);
}

struct mapping *sonde__cl_maps_find(struct sonde_cl_values *v, cl_mem mem, const void *pointer)
{
    struct mapping *found = NULL;
    for (int i = 0; i < MAPPINGS_MAX; i++) {
        struct mapping *m = &v->mapping[i];
        if (m->mem == mem && m->pointer == pointer && (!found || m->number > found->number))
            found = m;
    }
    if (!found || is_current(found))
        return found;
    sonde__cl_maps_put(found);
    return NULL;
}

void sonde__cl_maps_release(const cl_icd_dispatch *real, struct sonde_cl_values *v)
{
    for (int i = 0; i < MAPPINGS_MAX; i++) {
        sonde__cl_maps_put(&v->mapping[i]);
        sonde__cl_compare_release(real, &v->mapping[i].room);
    }
}

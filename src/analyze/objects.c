/* objects.c - allocation sites, and the peak by a sweep over allocations and frees. */
#include "objects.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"

struct change { uint64_t at_ns, bytes; bool free; };
typedef SONDE_VECTOR(struct change) changes;

/* A free before an allocation at the same instant: memory that is handed on is not counted twice. */
static int by_time(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (int)b->free - (int)a->free;
}

static uint64_t peak_of(changes *list)
{
    uint64_t now = 0, peak = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_time);
    for (size_t i = 0; i < list->count; i++) {
        now += list->items[i].free ? -list->items[i].bytes : list->items[i].bytes;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static int add_object(struct sonde_objects *out, struct sonde_map *sites, uint32_t node,
                      const struct sonde_row_object *o)
{
    uint64_t key = (uint64_t)o->kind << 32 | node, at;
    if (!sonde_map_get(sites, key, &at)) {
        at = out->sites.count;
        if (sonde_map_put(sites, key, at) ||
            sonde_vector_push(&out->sites, (struct sonde_object_site){.node = node, .kind = o->kind}))
            return SONDE_ENOMEM;
    }
    struct sonde_object_site *site = &out->sites.items[at];
    const uint64_t bytes = o->parent ? 0 : o->bytes; /* a part's are its whole's */
    site->count++;
    site->bytes += bytes;
    site->alive += o->free_ns == 0;
    site->alive_bytes += o->free_ns == 0 ? bytes : 0;
    site->life_ns += o->free_ns > o->alloc_ns ? o->free_ns - o->alloc_ns : 0;
    out->count++;
    out->bytes += bytes;
    return 0;
}

static int add_process(struct sonde_objects *out, struct sonde_map *sites, const struct sonde_process *p,
                       const struct sonde_profile *profile, uint32_t index)
{
    changes list = {0};
    int rc = 0;
    for (uint32_t i = 1; i < p->object_count && !rc; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        if (o->kind == SONDE_OBJECT_NONE)
            continue;
        const uint32_t node = sonde_profile_locate(profile, index, o->node);
        rc = add_object(out, sites, node ? sonde_profile_place(profile, node) : 0, o);
        const bool lived = !o->parent && (!o->free_ns || o->free_ns > o->alloc_ns);
        if (!rc && lived)
            rc = sonde_vector_push(&list, (struct change){o->alloc_ns, o->bytes, false});
        if (!rc && lived && o->free_ns)
            rc = sonde_vector_push(&list, (struct change){o->free_ns, o->bytes, true});
    }
    out->peak_bytes += peak_of(&list);
    sonde_vector_fini(&list);
    return rc;
}

static int by_bytes(const void *left, const void *right)
{
    const struct sonde_object_site *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

int sonde_objects_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                          struct sonde_objects *out)
{
    struct sonde_map sites = {0};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(out, &sites, &m->processes[i], profile, i);
    sonde_map_fini(&sites);
    if (out->sites.count)
        qsort(out->sites.items, out->sites.count, sizeof *out->sites.items, by_bytes);
    return rc;
}

void sonde_objects_fini(struct sonde_objects *objects)
{
    sonde_vector_fini(&objects->sites);
}

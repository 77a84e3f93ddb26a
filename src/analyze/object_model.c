/* object_model.c - see object_model.h. */
#include "object_model.h"

#include <stdlib.h>

#include "base/map.h"

static int find_site(struct sonde_object_model *out, struct sonde_map *by_key, const struct sonde_profile *profile,
                     uint32_t kind, uint32_t node, uint32_t *site)
{
    const uint64_t key = (uint64_t)kind << 32 | node;
    uint64_t at;
    if (!sonde_map_get(by_key, key, &at)) {
        const struct sonde_site new = {.kind = kind, .node = node, .place = node ? sonde_profile_place(profile, node) : 0};
        at = out->sites.count;
        if (sonde_map_put(by_key, key, at) || sonde_vector_push(&out->sites, new))
            return SONDE_ENOMEM;
    }
    *site = (uint32_t)at;
    return 0;
}

static int add_process(struct sonde_object_model *out, struct sonde_map *by_key, const struct sonde_process *p,
                       const struct sonde_profile *profile, uint32_t index)
{
    struct sonde_object *objects = calloc((size_t)p->object_count + 1, sizeof *objects);
    int rc = objects ? sonde_vector_push(&out->processes, objects) : SONDE_ENOMEM;
    if (rc)
        free(objects);
    for (uint32_t i = 1; i < p->object_count && !rc; i++) {
        const struct sonde_row_object *row = &p->objects[i];
        objects[i] = (struct sonde_object){.row = row, .part = sonde_object_is_part(p, row)};
        rc = find_site(out, by_key, profile, row->kind, sonde_profile_locate(profile, index, row->node), &objects[i].site);
    }
    return rc;
}

int sonde_object_model_build(const struct sonde_measurement *m, const struct sonde_profile *profile,
                             struct sonde_object_model *out)
{
    struct sonde_map by_key = {0};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(out, &by_key, &m->processes[i], profile, i);
    sonde_map_fini(&by_key);
    return rc;
}

void sonde_object_model_fini(struct sonde_object_model *model)
{
    for (size_t i = 0; i < model->processes.count; i++)
        free(model->processes.items[i]);
    sonde_vector_fini(&model->processes);
    sonde_vector_fini(&model->sites);
}

/* ---- over time ------------------------------------------------------------------ */

static int by_time(const void *left, const void *right)
{
    const struct sonde_object_change *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->free != b->free)
        return a->free ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

int sonde_object_changes_find(const struct sonde_process *p, bool (*takes)(const void *user, uint32_t object),
                              const void *user, sonde_object_changes *out)
{
    int rc = 0;
    for (uint32_t i = 1; i < p->object_count && !rc; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        if (!takes(user, i))
            continue;
        rc = sonde_vector_push(out, (struct sonde_object_change){o->alloc_ns, i, false});
        if (!rc && o->free_ns)
            rc = sonde_vector_push(out, (struct sonde_object_change){o->free_ns, i, true});
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_time);
    return rc;
}

/* objects.c - objects by the place that allocated them, and the peak by a sweep over allocations and frees. */
#include "objects.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyze/profile/object_model.h"
#include "base/map.h"

/* It took room of its own, for some time. */
static bool takes_room(const void *user, uint32_t object)
{
    const struct sonde_process *p = user;
    const struct sonde_row_object *o = &p->objects[object];
    return o->kind != SONDE_OBJECT_NONE && !sonde_object_is_part(p, o) && (!o->free_ns || o->free_ns > o->alloc_ns);
}

static int add_peak(struct sonde_objects *out, const struct sonde_process *p)
{
    sonde_object_changes changes = {0};
    uint64_t now = 0, peak = 0;
    const int rc = sonde_object_changes_find(p, takes_room, p, &changes);
    for (size_t i = 0; i < changes.count && !rc; i++) {
        const uint64_t bytes = p->objects[changes.items[i].object].bytes;
        now += changes.items[i].free ? -bytes : bytes;
        peak = now > peak ? now : peak;
    }
    out->peak_bytes += peak;
    sonde_vector_fini(&changes);
    return rc;
}

/* The sites of one kind and place are one here: *of[site of the model]. */
static int merge_sites(struct sonde_objects *out, const struct sonde_object_model *model, uint32_t *of)
{
    struct sonde_map by_place = {0};
    int rc = 0;
    for (size_t i = 0; i < model->sites.count && !rc; i++) {
        const struct sonde_site *site = &model->sites.items[i];
        const uint64_t key = (uint64_t)site->kind << 32 | site->place;
        uint64_t at = 0;
        if (site->kind == SONDE_OBJECT_NONE)
            continue;
        if (!sonde_map_get(&by_place, key, &at)) {
            at = out->sites.count;
            if (sonde_map_put(&by_place, key, at) ||
                sonde_vector_push(&out->sites, (struct sonde_object_site){.node = site->place, .kind = site->kind}))
                rc = SONDE_ENOMEM;
        }
        of[i] = (uint32_t)at;
    }
    sonde_map_fini(&by_place);
    return rc;
}

static void add_object(struct sonde_objects *out, struct sonde_object_site *site, const struct sonde_object *object)
{
    const struct sonde_row_object *o = object->row;
    const uint64_t bytes = object->part ? 0 : o->bytes;
    site->count++;
    site->bytes += bytes;
    site->alive += o->free_ns == 0;
    site->alive_bytes += o->free_ns == 0 ? bytes : 0;
    site->life_ns += o->free_ns > o->alloc_ns ? o->free_ns - o->alloc_ns : 0;
    out->count++;
    out->bytes += bytes;
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
    struct sonde_object_model model = {0};
    int rc = sonde_object_model_build(m, profile, &model);
    uint32_t *of = rc ? NULL : calloc(model.sites.count + 1, sizeof *of);
    rc = rc ? rc : (!of ? SONDE_ENOMEM : merge_sites(out, &model, of));
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_object *objects = model.processes.items[i];
        for (uint32_t k = 1; k < m->processes[i].object_count; k++)
            if (objects[k].row->kind != SONDE_OBJECT_NONE)
                add_object(out, &out->sites.items[of[objects[k].site]], &objects[k]);
        rc = add_peak(out, &m->processes[i]);
    }
    free(of);
    sonde_object_model_fini(&model);
    if (out->sites.count)
        qsort(out->sites.items, out->sites.count, sizeof *out->sites.items, by_bytes);
    return rc;
}

void sonde_objects_fini(struct sonde_objects *objects)
{
    sonde_vector_fini(&objects->sites);
}

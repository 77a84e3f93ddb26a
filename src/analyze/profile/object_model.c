/* object_model.c - see object_model.h. */
#include "object_model.h"

#include <stdlib.h>

#include "base/kinds.h"
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

uint64_t sonde_objects_like(const struct sonde_object_model *model, const struct sonde_measurement *m, uint32_t process, uint32_t object, uint64_t bytes)
{
    const struct sonde_process *p = &m->processes[process];
    const struct sonde_object *objects = model->processes.items[process];
    uint64_t count = 0;
    for (uint32_t k = 1; sonde_object_row(p, object) && k < p->object_count; k++)
        count += objects[k].site == objects[object].site && !objects[k].part && p->objects[k].bytes == bytes;
    return count ? count : 1;
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

/* ---- by address --------------------------------------------------------------------- */

static int by_place(const void *left, const void *right, void *user)
{
    const struct sonde_object_place *a = left, *b = right;
    const struct sonde_process *p = user;
    const uint64_t a_ns = p->objects[a->object].alloc_ns, b_ns = p->objects[b->object].alloc_ns;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a_ns != b_ns ? (a_ns < b_ns ? -1 : 1) : (a->object < b->object ? -1 : a->object > b->object);
}

int sonde_object_places_find(const struct sonde_process *p, struct sonde_object_places *out)
{
    uint64_t reach = 0;
    int rc = 0;
    out->process = p;
    for (uint32_t i = 1; i < p->object_count && !rc; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        const uint64_t end = o->address + o->bytes;
        if (end > o->address && sonde_object_kind_is(o->kind, SONDE_OBJECT_PLACE))
            rc = sonde_vector_push(&out->list, (struct sonde_object_place){.begin = o->address, .end = end, .object = i});
    }
    if (out->list.count)
        qsort_r(out->list.items, out->list.count, sizeof *out->list.items, by_place, (void *)(uintptr_t)p);
    for (size_t i = 0; i < out->list.count; i++) {
        reach = out->list.items[i].end > reach ? out->list.items[i].end : reach;
        out->list.items[i].reach = reach;
    }
    return rc;
}

void sonde_object_places_fini(struct sonde_object_places *places)
{
    sonde_vector_fini(&places->list);
}

/* How many places begin before `begin`, or there and were allocated by `at_ns`. */
static size_t count_until(const struct sonde_object_places *places, uint64_t begin, uint64_t at_ns)
{
    size_t low = 0, high = places->list.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct sonde_object_place *place = &places->list.items[middle];
        if (place->begin < begin || (place->begin == begin && places->process->objects[place->object].alloc_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Objects that begin at one address follow each other: only the latest can be alive. */
uint32_t sonde_object_places_at(const struct sonde_object_places *places, uint64_t address, uint64_t at_ns)
{
    size_t at = count_until(places, address, at_ns);
    while (at && places->list.items[at - 1].reach > address) {
        const struct sonde_object_place *place = &places->list.items[at - 1];
        const struct sonde_row_object *o = &places->process->objects[place->object];
        if (o->alloc_ns <= at_ns && (!o->free_ns || at_ns < o->free_ns) && address < place->end)
            return place->object;
        at = o->alloc_ns <= at_ns ? place->begin ? count_until(places, place->begin - 1, at_ns) : 0
                                  : count_until(places, place->begin, at_ns);
    }
    return 0;
}

/* stretches.c - see stretches.h. */
#include "stretches.h"

#include <stdlib.h>
#include <string.h>

#include "object_model.h"

/* Are they all of it? */
static bool is_shape(const struct sonde_row_stretch *row, uint64_t bytes)
{
    uint64_t elements, all;
    if (row->rows < 2 || !row->columns || bytes != row->bytes || __builtin_mul_overflow(row->rows, row->columns, &elements))
        return false;
    return row->element_bytes ? !__builtin_mul_overflow(elements, row->element_bytes, &all) && all == bytes : bytes % elements == 0;
}

/* Damaged rows are none. */
static int add(struct sonde_stretches *out, const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, const struct sonde_row_stretch *row)
{
    const struct sonde_process *p = &m->processes[process];
    const struct sonde_row_object *object = sonde_object_row(p, row->object);
    const char *name = sonde_process_string(p, row->name);
    if (!object || object->kind == SONDE_OBJECT_NONE || !name || !*name || row->offset >= object->bytes || row->at_ns < object->alloc_ns ||
        (object->free_ns && row->at_ns > object->free_ns))
        return 0;
    const uint64_t left = object->bytes - row->offset, bytes = row->bytes < left ? row->bytes : left;
    const bool shaped = is_shape(row, bytes);
    const uint32_t node = sonde_profile_locate(profile, process, object->node);
    return bytes ? sonde_vector_push(&out->list, (struct sonde_stretch){
                                                     .process = process,
                                                     .object = row->object,
                                                     .name = name,
                                                     .offset = row->offset,
                                                     .bytes = bytes,
                                                     .rows = shaped ? row->rows : 0,
                                                     .columns = shaped ? row->columns : 0,
                                                     .element_bytes = row->element_bytes,
                                                     .at_ns = row->at_ns,
                                                     .kind = object->kind,
                                                     .node = node,
                                                     .place = node ? sonde_profile_place(profile, node) : 0,
                                                 })
                 : 0;
}

static int by_object(const void *left, const void *right)
{
    const struct sonde_stretch *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->at_ns != b->at_ns)
        return a->at_ns > b->at_ns ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    const struct sonde_stretch *a = *(const struct sonde_stretch *const *)left, *b = *(const struct sonde_stretch *const *)right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    const int named = strcmp(a->name, b->name);
    if (named || a->node != b->node)
        return named ? named : (a->node < b->node ? -1 : 1);
    return a->process < b->process ? -1 : a->process > b->process;
}

static int find_names(struct sonde_stretches *out)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; i < out->list.count && !rc; i++)
        rc = sonde_vector_push(&out->names, &out->list.items[i]);
    if (rc || !out->names.count)
        return rc;
    const struct sonde_stretch **names = out->names.items;
    qsort(names, out->names.count, sizeof *names, by_name);
    for (size_t i = 1; i < out->names.count; i++)
        if (by_name(&names[kept], &names[i]))
            names[++kept] = names[i];
    out->names.count = kept + 1;
    return 0;
}

int sonde_stretches_find(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_stretches *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_row_stretch *rows = m->processes[i].tables[SONDE_TABLE_STRETCH].rows;
        for (uint32_t k = 1; k < m->processes[i].tables[SONDE_TABLE_STRETCH].count && !rc; k++)
            rc = add(out, m, profile, i, &rows[k]);
    }
    if (out->list.count)
        qsort(out->list.items, out->list.count, sizeof *out->list.items, by_object);
    return rc ? rc : find_names(out);
}

void sonde_stretches_fini(struct sonde_stretches *stretches)
{
    sonde_vector_fini(&stretches->list);
    sonde_vector_fini(&stretches->names);
}

const struct sonde_stretch *sonde_stretches_of(const struct sonde_stretches *s, uint32_t process, uint32_t object, size_t *count)
{
    const struct sonde_stretch *items = s->list.items;
    size_t low = 0, high = s->list.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].process < process || (items[middle].process == process && items[middle].object < object))
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < s->list.count && items[low + *count].process == process && items[low + *count].object == object;)
        ++*count;
    return *count ? &items[low] : NULL;
}

static bool is_of(const struct sonde_stretch *s, uint32_t process, uint32_t kind, uint32_t node)
{
    return s->kind == kind && (s->place == node || s->node == node) && (process == SONDE_STRETCHES_ALL || s->process == process);
}

const char *sonde_stretches_next(const struct sonde_stretches *s, uint32_t process, uint32_t kind, uint32_t node, size_t *at)
{
    while (*at < s->names.count && !is_of(s->names.items[*at], process, kind, node))
        ++*at;
    if (*at == s->names.count)
        return NULL;
    const char *name = s->names.items[*at]->name;
    while (*at < s->names.count && !strcmp(s->names.items[*at]->name, name))
        ++*at;
    return name;
}

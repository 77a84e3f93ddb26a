/* elsewhere.c - the rules about memory that lies elsewhere (record --comm): managed memory that goes back and forth, and what kernels read of
 * another device's memory again and again; docs/advice.md.
 *
 * Both count how often the bytes of all objects of one place went the same way, and tell those that went several times.
 */
#include "rules.h"

enum { TIMES_LEAST = 4 }; /* that all bytes of the objects of a place went, there or back; that a device read them */

/* Of all objects that were allocated where this one was, in this process. 0: it is not known, or `went` is too little for this one by itself already. */
static double bytes_of_site(const struct sonde__find *f, uint32_t process, uint32_t object, double went)
{
    const struct sonde_process *p = &f->m->processes[process];
    const struct sonde_object *objects = f->objects.processes.items[process];
    double bytes = 0;
    if (!sonde_object_row(p, object) || went < TIMES_LEAST * (double)p->objects[object].bytes)
        return 0;
    for (uint32_t k = 1; k < p->object_count; k++)
        if (objects[k].site == objects[object].site && !objects[k].part)
            bytes += (double)p->objects[k].bytes;
    return bytes;
}

/* ---- managed memory ------------------------------------------------------------------------ */

/* Of those of a way that stands for all of its object; false: another one before it does. */
static bool moves_of(const struct sonde_process *p, uint32_t at, struct sonde__finding *sum)
{
    const struct sonde_row_migration *rows = p->tables[SONDE_TABLE_MIGRATION].rows, *of = &rows[at];
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_MIGRATION].count; k++) {
        const struct sonde_row_migration *row = &rows[k];
        if (row->faults || row->object != of->object)
            continue;
        if (k < at)
            return false;
        sum->count += row->count;
        sum->bytes += row->bytes;
        sum->looked_at_ns += row->ns;
        sum->device = sum->device ? sum->device : (row->to ? row->to : row->from);
    }
    return true;
}

int sonde__advice_moved(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    const struct sonde_row_migration *rows = p->tables[SONDE_TABLE_MIGRATION].rows;
    int rc = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_MIGRATION].count && !rc; k++) {
        struct sonde__finding found = {.rule = RULE_MOVED, .process = process};
        if (rows[k].faults || !moves_of(p, k, &found))
            continue;
        const double size = bytes_of_site(f, process, rows[k].object, (double)found.bytes);
        if (size <= 0 || (double)found.bytes < TIMES_LEAST * size)
            continue;
        found.leaf = sonde_profile_locate(f->profile, process, p->objects[rows[k].object].node);
        found.sum = (double)found.bytes / size;
        found.saving_ns = (uint64_t)((double)found.looked_at_ns * (1 - 2 / found.sum)); /* all but once there and once back */
        rc = sonde__find_add(f, &found);
    }
    return rc;
}

/* ---- loads from another device ----------------------------------------------------------------- */

static bool is_load(const struct sonde_row_remote *row)
{
    return row->node && row->object && row->device && row->owner && row->owner != SONDE_REMOTE_OTHERS && row->owner != row->device &&
           (row->what == SONDE_ACCESS_LOAD || row->what == SONDE_ACCESS_COPY);
}

/* Of these objects, by this device; of one calling context (`node`), or of all (0). */
static double loaded(const struct sonde_process *p, const struct sonde_row_remote *like, uint32_t node)
{
    const struct sonde_row_remote *rows = p->tables[SONDE_TABLE_REMOTE].rows;
    double bytes = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_REMOTE].count; k++)
        if (is_load(&rows[k]) && rows[k].object == like->object && rows[k].device == like->device && (!node || rows[k].node == node))
            bytes += (double)rows[k].count * rows[k].bytes;
    return bytes;
}

static bool is_of_site(const struct sonde_process *p, const struct sonde_object *objects, uint32_t object, uint32_t like)
{
    return object == like || (sonde_object_row(p, object) && sonde_object_row(p, like) && objects[object].site == objects[like].site);
}

/* Bytes of these objects that this device loaded at all, where that is known (--comm-elements); else 0. */
static double touched(const struct sonde__find *f, uint32_t process, const struct sonde_row_remote *like)
{
    const struct sonde_process *p = &f->m->processes[process];
    const struct sonde_object *objects = f->objects.processes.items[process];
    const struct sonde_row_array *arrays = p->tables[SONDE_TABLE_ARRAY].rows;
    const struct sonde_row_cell *cells = p->tables[SONDE_TABLE_CELL].rows;
    const uint32_t count = p->tables[SONDE_TABLE_ARRAY].count;
    double bytes = 0;
    for (uint32_t k = 1; k < count; k++) {
        uint64_t of_array = 0;
        const uint64_t count_like = arrays[k].flags & SONDE_ARRAY_ALONE ? 1 : sonde_objects_like(&f->objects, f->m, process, like->object, arrays[k].bytes);
        if (arrays[k].device != like->device || !is_of_site(p, objects, arrays[k].object, like->object))
            continue;
        if (!(arrays[k].flags & SONDE_ARRAY_READ) || arrays[k].shift > 63)
            return 0;
        for (uint32_t i = 0; i < p->tables[SONDE_TABLE_CELL].count; i++)
            of_array += cells[i].array == k && cells[i].kind == SONDE_CELL_LOADS ? (uint64_t)cells[i].count << arrays[k].shift : 0;
        of_array = of_array < arrays[k].bytes ? of_array : arrays[k].bytes;
        bytes += (double)of_array * (double)count_like;
    }
    return bytes;
}

static bool is_first(const struct sonde_process *p, uint32_t at)
{
    const struct sonde_row_remote *rows = p->tables[SONDE_TABLE_REMOTE].rows;
    for (uint32_t k = 1; k < at; k++)
        if (is_load(&rows[k]) && rows[k].node == rows[at].node && rows[k].object == rows[at].object && rows[k].device == rows[at].device)
            return false;
    return true;
}

void sonde__find_launches(const struct sonde_process *p, uint32_t node, uint32_t device, uint64_t *count, uint64_t *ns)
{
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *of = &p->profiles[i];
        if (of->node != node || of->lane >= p->lane_count || p->lanes[of->lane].device != device)
            continue;
        *count += of->count;
        *ns += of->sum_ns;
    }
}

int sonde__advice_reread(struct sonde__find *f, uint32_t process)
{
    const struct sonde_process *p = &f->m->processes[process];
    const struct sonde_row_remote *rows = p->tables[SONDE_TABLE_REMOTE].rows;
    int rc = 0;
    for (uint32_t k = 1; k < p->tables[SONDE_TABLE_REMOTE].count && !rc; k++) {
        const double all = is_load(&rows[k]) && is_first(p, k) ? loaded(p, &rows[k], 0) : 0, some = all > 0 ? touched(f, process, &rows[k]) : 0;
        const double size = some > 0 ? some : bytes_of_site(f, process, rows[k].object, all);
        if (size <= 0 || all < TIMES_LEAST * size)
            continue;
        struct sonde__finding found = {.rule = RULE_REREAD, .process = process, .device = rows[k].device};
        found.leaf = sonde_profile_locate(f->profile, process, rows[k].node);
        found.bytes = (uint64_t)loaded(p, &rows[k], rows[k].node);
        found.sum = all / size;
        sonde__find_launches(p, rows[k].node, rows[k].device, &found.count, &found.looked_at_ns);
        found.saving_ns = (uint64_t)((double)found.looked_at_ns * (1 - size / all));
        rc = sonde__find_add(f, &found);
    }
    return rc;
}

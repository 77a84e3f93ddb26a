/* memory.c - sweeps over allocations and frees, per process, device and class of memory.
 * docs/memory.md has the definitions.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/recorded.h"
#include "analyze/model/runtimes.h"
#include "analyze/profile/object_model.h"
#include "base/map.h"
#include "work.h"

enum uses {
    UNKNOWN,
    BOUNDED,
    KNOWN,
}; /* as in struct sonde_memory_site */

struct lot { /* an object that holds bytes of its own */
    uint64_t bytes, alloc_ns, free_ns; /* free 0: alive at the end */
    uint64_t named_ns;                 /* first use that is known; 0 none */
    uint64_t first_ns, last_ns;        /* of all uses that there can have been; 0 none */
    uint32_t space, site;
    enum uses uses;
    bool recorded;                     /* its uses were counted as long as it lived */
};
struct calls { uint64_t count, ns; };

struct builder {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    const struct sonde_process *process;
    struct sonde_progress *progress;
    struct sonde_recorded recorded;
    uint32_t index, first_space;
    struct sonde_memory_use *out;
    struct sonde_object_model model;
    SONDE_VECTOR(struct sonde_map) sites;  /* [space - first_space]: site of the model -> site */
    SONDE_VECTOR(struct lot) lots;
    uint32_t *lot_of;                      /* [object]: index in `lots` plus 1; 0: it holds no bytes of its own */
    struct calls *calls;                   /* [tree node]: of allocating calls */
};

/* ---- who allocates ---------------------------------------------------------------- */

/* With PyTorch's back end cudaMallocAsync every block is an object of a pool, and seen. */
static bool in_caching_allocator(const struct sonde_profile *profile, uint32_t node, uint32_t kind)
{
    if (kind == SONDE_OBJECT_POOL || kind == SONDE_OBJECT_PINNED)
        return false;
    for (; node; node = profile->nodes.items[node].parent) {
        const struct sonde_cct_node *n = &profile->nodes.items[node];
        if (n->kind == SONDE_FRAME_NATIVE && sonde_runtime_caches(n->name, n->module))
            return true;
    }
    return false;
}

static int find_space(struct builder *b, const struct sonde_row_object *o, uint32_t *out)
{
    const enum sonde_memory_class class = sonde_object_kind_class(o->kind);
    const uint32_t device = class == SONDE_MEMORY_ON_HOST || o->device >= b->process->device_count ? 0 : o->device;
    size_t i = b->first_space;
    for (; i < b->out->spaces.count; i++)
        if (b->out->spaces.items[i].class == class && b->out->spaces.items[i].device == device)
            break;
    *out = (uint32_t)i;
    if (i < b->out->spaces.count)
        return 0;
    struct sonde_memory_space space = {
        .process = b->index,
        .device = device,
        .class = class,
        .begin_ns = sonde_process_begin(b->process),
        .end_ns = b->process->header.stop_ns,
    };
    int rc = sonde_vector_push(&b->out->spaces, space);
    return rc ? rc : sonde_vector_push(&b->sites, (struct sonde_map){0});
}

static int find_site(struct builder *b, uint32_t space, uint32_t number, uint32_t *out)
{
    struct sonde_map *map = &b->sites.items[space - b->first_space];
    struct sonde_memory_space *s = &b->out->spaces.items[space];
    const struct sonde_site *of = &b->model.sites.items[number];
    uint64_t at;
    if (!sonde_map_get(map, number, &at)) {
        struct sonde_memory_site site = {
            .number = number,
            .node = of->node,
            .kind = of->kind,
            .cached = in_caching_allocator(b->profile, of->node, of->kind),
        };
        at = s->sites.count;
        if (sonde_map_put(map, number, at) || sonde_vector_push(&s->sites, site))
            return SONDE_ENOMEM;
    }
    *out = (uint32_t)at;
    return 0;
}

/* ---- objects -------------------------------------------------------------------------- */

/* Were uses of the object counted as long as it lived? Not while recording was off. */
static bool was_recorded(const struct builder *b, const struct sonde_row_object *o)
{
    const size_t pause = sonde_recorded_pause(&b->recorded, o->alloc_ns);
    const bool paused = pause < b->recorded.pauses.count && (!o->free_ns || o->free_ns > b->recorded.pauses.items[pause].from_ns);
    return !b->process->header.ledger.pauses_dropped && !paused;
}

static int add_lot(struct builder *b, const struct sonde_object *object)
{
    const struct sonde_row_object *o = object->row;
    const bool recorded = was_recorded(b, o);
    struct lot lot = {
        .bytes = o->bytes,
        .alloc_ns = o->alloc_ns,
        .free_ns = o->free_ns,
        .named_ns = o->first_use_ns,
        .first_ns = o->first_use_ns,
        .last_ns = o->last_use_ns,
        .uses = recorded && !(o->flags & SONDE_OBJECT_USES_PARTIAL) ? KNOWN : UNKNOWN,
        .recorded = recorded,
    };
    if (lot.free_ns && lot.free_ns < lot.alloc_ns) {
        lot.free_ns = lot.alloc_ns;
        b->out->bad_times++;
    }
    int rc = find_space(b, o, &lot.space);
    if (!rc)
        rc = find_site(b, lot.space, object->site, &lot.site);
    return rc ? rc : sonde_vector_push(&b->lots, lot);
}

static int add_objects(struct builder *b)
{
    const struct sonde_object *objects = b->model.processes.items[b->index];
    free(b->lot_of);
    b->lot_of = calloc((size_t)b->process->object_count + 1, sizeof *b->lot_of);
    int rc = b->lot_of ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 1; i < b->process->object_count && !rc; i++) {
        const uint32_t kind = objects[i].row->kind;
        if (kind == SONDE_OBJECT_NONE || sonde_object_kind_class(kind) == SONDE_MEMORY_OF_OTHERS)
            continue;
        if (objects[i].part)
            b->out->parts++;
        else
            rc = add_lot(b, &objects[i]);
        b->lot_of[i] = objects[i].part ? 0 : (uint32_t)b->lots.count;
    }
    return rc;
}

/* ---- uses that are not seen --------------------------------------------------------------- */

static int by_instant(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* An operation that does not name what it uses may have used the lot at the first and at the last instant of such work. */
static void bound_uses(struct lot *lot, const struct sonde__work *work)
{
    uint64_t first, last;
    lot->uses = BOUNDED;
    if (!sonde__work_within(work, lot->alloc_ns, lot->free_ns ? lot->free_ns : UINT64_MAX, &first, &last))
        return;
    lot->first_ns = lot->first_ns && lot->first_ns < first ? lot->first_ns : first;
    lot->last_ns = last > lot->last_ns ? last : lot->last_ns;
}

static int bound_all_uses(struct builder *b)
{
    struct sonde__work work = {0};
    uint64_t *instants = malloc((2 * b->lots.count + 1) * sizeof *instants);
    size_t count = 0;
    int rc = instants ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < b->lots.count && !rc; i++) {
        const struct lot *lot = &b->lots.items[i];
        if (lot->uses == UNKNOWN && lot->recorded) {
            instants[count++] = lot->alloc_ns;
            instants[count++] = lot->free_ns ? lot->free_ns : UINT64_MAX;
        }
    }
    if (!rc && count && sonde__work_is_whole(b->m, b->process)) {
        qsort(instants, count, sizeof *instants, by_instant);
        rc = sonde__work_read(b->process, instants, count, b->progress, &work);
        for (size_t i = 0; i < b->lots.count && !rc; i++)
            if (b->lots.items[i].uses == UNKNOWN && b->lots.items[i].recorded)
                bound_uses(&b->lots.items[i], &work);
    }
    sonde__work_fini(&work);
    free(instants);
    return rc;
}

/* ---- sums ------------------------------------------------------------------------------- */

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void extend(struct builder *b)
{
    for (size_t i = 0; i < b->lots.count; i++) {
        const struct lot *lot = &b->lots.items[i];
        const uint64_t last = lot->free_ns > lot->alloc_ns ? lot->free_ns : lot->alloc_ns;
        for (size_t s = b->first_space; s < b->out->spaces.count; s++) {
            struct sonde_memory_space *space = &b->out->spaces.items[s];
            space->begin_ns = lot->alloc_ns < space->begin_ns ? lot->alloc_ns : space->begin_ns;
            space->end_ns = last > space->end_ns ? last : space->end_ns;
        }
    }
}

/* Memory that the host uses itself, unseen, is not idle between operations. */
static void sum_uses(struct sonde_memory_site *site, const struct lot *lot, uint64_t end_ns)
{
    const bool on_device = sonde_object_kind_class(site->kind) == SONDE_MEMORY_ON_DEVICE;
    const double bytes = (double)lot->bytes, held = bytes * (double)minus(end_ns, lot->alloc_ns);
    site->known += lot->uses == KNOWN;
    site->bounded += lot->uses == BOUNDED;
    if (lot->uses != UNKNOWN && !lot->first_ns) {
        site->unused++;
        site->unused_bytes += lot->bytes;
        site->unused_held += held;
        return;
    }
    if (lot->uses != UNKNOWN && on_device) {
        site->early += bytes * (double)minus(lot->first_ns, lot->alloc_ns);
        site->late += bytes * (double)minus(end_ns, lot->last_ns);
    }
    if (lot->uses == KNOWN || !lot->recorded)
        return;
    if (!lot->named_ns) {
        site->unnamed++;
        site->unnamed_bytes += lot->bytes;
        site->unnamed_held += held;
    } else if (on_device) {
        site->named_late += bytes * (double)minus(lot->named_ns, lot->uses == BOUNDED ? lot->first_ns : lot->alloc_ns);
    }
}

static void sum_lot(struct builder *b, const struct lot *lot)
{
    struct sonde_memory_space *space = &b->out->spaces.items[lot->space];
    struct sonde_memory_site *site = &space->sites.items[lot->site];
    const uint64_t end_ns = lot->free_ns ? lot->free_ns : space->end_ns;
    const uint64_t stop_ns = b->process->header.stop_ns;
    space->count++;
    space->bytes += lot->bytes;
    space->sizeless += lot->bytes == 0;
    space->freed += lot->free_ns != 0;
    space->freed_late += lot->free_ns > stop_ns && b->process->header.state == SONDE_PROCESS_EXITED;
    site->count++;
    site->bytes += lot->bytes;
    site->alive += lot->free_ns == 0;
    site->alive_bytes += lot->free_ns == 0 ? lot->bytes : 0;
    site->held += (double)lot->bytes * (double)minus(end_ns, lot->alloc_ns);
    b->out->held += (double)lot->bytes * (double)minus(end_ns, lot->alloc_ns);
    sum_uses(site, lot, end_ns);
}

/* Left behind: alive at the end, and the same place made another one after the last use. */
static int sum_left(struct builder *b, uint32_t space)
{
    struct sonde_memory_space *s = &b->out->spaces.items[space];
    uint64_t *latest = calloc(s->sites.count + 1, sizeof *latest);
    if (!latest)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < b->lots.count; i++) {
        const struct lot *lot = &b->lots.items[i];
        if (lot->space == space && lot->alloc_ns > latest[lot->site])
            latest[lot->site] = lot->alloc_ns;
    }
    for (size_t i = 0; i < b->lots.count; i++) {
        const struct lot *lot = &b->lots.items[i];
        if (lot->space == space && lot->uses != UNKNOWN && lot->first_ns && !lot->free_ns && lot->last_ns < latest[lot->site]) {
            s->sites.items[lot->site].left++;
            s->sites.items[lot->site].left_bytes += lot->bytes;
        }
    }
    free(latest);
    return 0;
}

/* ---- the sweep ----------------------------------------------------------------------------- */

struct taken {
    const struct builder *b;
    uint32_t space;
};

static const struct lot *lot_of(const struct builder *b, uint32_t object)
{
    return b->lot_of[object] ? &b->lots.items[b->lot_of[object] - 1] : NULL;
}

static bool takes(const void *user, uint32_t object)
{
    const struct taken *t = user;
    const struct lot *lot = lot_of(t->b, object);
    return lot && lot->space == t->space && lot->free_ns != lot->alloc_ns;
}

struct state { uint64_t bytes, count; };

/* Total and one site's share after a change. */
static void apply(const struct builder *b, const struct sonde_object_change *c, struct state *total, struct state *sites)
{
    const struct lot *lot = lot_of(b, c->object);
    struct state *site = &sites[lot->site];
    total->bytes += c->free ? -lot->bytes : lot->bytes;
    total->count += c->free ? -UINT64_C(1) : 1;
    site->bytes += c->free ? -lot->bytes : lot->bytes;
    site->count += c->free ? -UINT64_C(1) : 1;
}

/* The first instant with the most bytes: index of its change, or the number of changes. */
static size_t find_peak(const struct builder *b, struct sonde_memory_space *space, const sonde_object_changes *changes,
                        struct state *sites)
{
    struct state total = {0};
    size_t peak = changes->count;
    memset(sites, 0, space->sites.count * sizeof *sites);
    for (size_t i = 0; i < changes->count; i++) {
        const struct sonde_object_change *c = &changes->items[i];
        const uint32_t at = lot_of(b, c->object)->site;
        apply(b, c, &total, sites);
        if (sites[at].count > space->sites.items[at].most_count)
            space->sites.items[at].most_count = sites[at].count;
        if (peak == changes->count || total.bytes > space->peak_bytes) {
            space->peak_bytes = total.bytes;
            space->peak_count = total.count;
            space->peak_ns = c->at_ns;
            peak = i;
        }
    }
    return peak;
}

static void hold_peak(const struct builder *b, struct sonde_memory_space *space, const sonde_object_changes *changes, size_t peak,
                      struct state *sites)
{
    struct state total = {0};
    memset(sites, 0, space->sites.count * sizeof *sites);
    for (size_t i = 0; i < changes->count && i <= peak; i++)
        apply(b, &changes->items[i], &total, sites);
    for (size_t i = 0; i < space->sites.count; i++) {
        struct sonde_memory_site *site = &space->sites.items[i];
        site->peak_bytes = sites[i].bytes;
        site->peak_count = sites[i].count;
        space->cached_bytes += site->cached ? site->peak_bytes : 0;
        space->cached_count += site->cached ? site->peak_count : 0;
    }
}

/* ---- the series ------------------------------------------------------------------------------- */

static uint32_t bucket_of(const struct sonde_memory_space *space, uint64_t at_ns)
{
    const double span = (double)minus(space->end_ns, space->begin_ns) + 1, in = (double)minus(at_ns, space->begin_ns);
    const uint32_t bucket = (uint32_t)(in / span * (SONDE_MEMORY_POINTS - 2));
    return bucket < SONDE_MEMORY_POINTS - 2 ? bucket : SONDE_MEMORY_POINTS - 3;
}

static struct sonde_memory_point point_of(const struct sonde_object_change *c, const struct state *total, const struct state *sites,
                                          size_t site_count)
{
    struct sonde_memory_point point = {.at_ns = c->at_ns, .bytes = total->bytes};
    for (size_t i = 0; i < site_count && i < SONDE_MEMORY_HOLDERS; i++)
        point.holders[i] = sites[i].bytes;
    return point;
}

/* Every change where there are few; else the highest instant of each of equal parts
 * of the time. The beginning and the end are added: between points the level stays. */
static int make_points(const struct builder *b, struct sonde_memory_space *space, const sonde_object_changes *changes,
                       struct state *sites)
{
    const bool all = changes->count <= SONDE_MEMORY_POINTS - 2;
    struct state total = {0};
    uint32_t bucket = UINT32_MAX;
    int rc = sonde_vector_push(&space->points, (struct sonde_memory_point){.at_ns = space->begin_ns});
    memset(sites, 0, space->sites.count * sizeof *sites);
    for (size_t i = 0; i < changes->count && !rc; i++) {
        const struct sonde_object_change *c = &changes->items[i];
        const uint32_t here = bucket_of(space, c->at_ns);
        apply(b, c, &total, sites);
        if (i + 1 < changes->count && c[1].at_ns == c->at_ns)
            continue;
        struct sonde_memory_point point = point_of(c, &total, sites, space->sites.count);
        struct sonde_memory_point *last = &space->points.items[space->points.count - 1];
        if (all || here != bucket)
            rc = sonde_vector_push(&space->points, point);
        else if (point.bytes > last->bytes)
            *last = point;
        bucket = here;
    }
    struct sonde_object_change end = {.at_ns = space->end_ns};
    return rc ? rc : sonde_vector_push(&space->points, point_of(&end, &total, sites, space->sites.count));
}

/* ---- a space ------------------------------------------------------------------------------------ */

static int by_peak(const void *left, const void *right)
{
    const struct sonde_memory_site *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* Sites by bytes at the peak; the lots follow. */
static int order_sites(struct builder *b, uint32_t space)
{
    struct sonde_memory_space *s = &b->out->spaces.items[space];
    struct sonde_map *map = &b->sites.items[space - b->first_space];
    const size_t count = s->sites.count;
    uint32_t *new_of = calloc(count + 1, sizeof *new_of);
    if (!new_of)
        return SONDE_ENOMEM;
    if (count)
        qsort(s->sites.items, count, sizeof *s->sites.items, by_peak);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t old = 0;
        sonde_map_get(map, s->sites.items[i].number, &old);
        new_of[old] = i;
    }
    for (size_t i = 0; i < b->lots.count; i++)
        if (b->lots.items[i].space == space)
            b->lots.items[i].site = new_of[b->lots.items[i].site];
    free(new_of);
    return 0;
}

static void sum_calls(const struct builder *b, struct sonde_memory_space *space)
{
    for (size_t i = 0; i < space->sites.count; i++) {
        struct sonde_memory_site *site = &space->sites.items[i];
        const struct calls *calls = &b->calls[site->node];
        if (site->node && calls->count)
            site->alloc_ns = (double)calls->ns / (double)calls->count * (double)site->count;
    }
}

static int finish_space(struct builder *b, uint32_t space)
{
    struct sonde_memory_space *s = &b->out->spaces.items[space];
    struct state *sites = calloc(s->sites.count + 1, sizeof *sites);
    sonde_object_changes changes = {0};
    int rc = sites ? sum_left(b, space) : SONDE_ENOMEM;
    if (!rc)
        rc = sonde_object_changes_find(b->process, takes, &(struct taken){b, space}, &changes);
    if (!rc) {
        hold_peak(b, s, &changes, find_peak(b, s, &changes, sites), sites);
        sum_calls(b, s);
        rc = order_sites(b, space);
    }
    if (!rc)
        rc = make_points(b, s, &changes, sites);
    sonde_vector_fini(&changes);
    free(sites);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void count_calls(struct builder *b)
{
    const struct sonde_process *p = b->process;
    memset(b->calls, 0, b->profile->nodes.count * sizeof *b->calls);
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const uint32_t node = p->profiles[i].lane ? 0 : sonde_profile_locate(b->profile, b->index, p->profiles[i].node);
        b->calls[node].count += p->profiles[i].count;
        b->calls[node].ns += p->profiles[i].sum_ns;
    }
}

static void set_end(struct builder *b)
{
    uint64_t freed = 0;
    for (size_t i = b->first_space; i < b->out->spaces.count; i++)
        freed += b->out->spaces.items[i].freed;
    for (size_t i = b->first_space; i < b->out->spaces.count; i++)
        b->out->spaces.items[i].end = b->process->header.state != SONDE_PROCESS_EXITED ? SONDE_MEMORY_CUT
                                      : freed                                          ? SONDE_MEMORY_ENDED
                                                                                       : SONDE_MEMORY_FREED_NONE;
}

static int add_process(struct builder *b)
{
    b->first_space = (uint32_t)b->out->spaces.count;
    b->lots.count = 0;
    b->out->incomplete |= b->process->object_count > SONDE_OBJECTS_MAX;
    b->recorded = (struct sonde_recorded){0};
    count_calls(b);
    int rc = sonde_recorded_compute(b->m, b->process, &b->recorded);
    if (!rc)
        rc = add_objects(b);
    sonde_recorded_fini(&b->recorded);
    if (!rc)
        rc = bound_all_uses(b);
    extend(b);
    for (size_t i = 0; i < b->lots.count && !rc; i++)
        sum_lot(b, &b->lots.items[i]);
    set_end(b);
    for (uint32_t i = b->first_space; i < b->out->spaces.count && !rc; i++)
        rc = finish_space(b, i);
    for (size_t i = 0; i < b->sites.count; i++)
        sonde_map_fini(&b->sites.items[i]);
    b->sites.count = 0;
    return rc;
}

static int by_place(const void *left, const void *right)
{
    const struct sonde_memory_space *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

int sonde_memory_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                         struct sonde_progress *progress, struct sonde_memory_use *out)
{
    struct builder b = {
        .m = m,
        .profile = profile,
        .progress = progress,
        .out = out,
        .calls = calloc(profile->nodes.count + 1, sizeof(struct calls)),
    };
    int rc = b.calls ? sonde_object_model_build(m, profile, &b.model) : SONDE_ENOMEM;
    for (; b.index < m->process_count && !rc; b.index++) {
        b.process = &m->processes[b.index];
        rc = add_process(&b);
    }
    if (out->spaces.count)
        qsort(out->spaces.items, out->spaces.count, sizeof *out->spaces.items, by_place);
    sonde_vector_fini(&b.sites);
    sonde_vector_fini(&b.lots);
    sonde_object_model_fini(&b.model);
    free(b.lot_of);
    free(b.calls);
    return rc;
}

void sonde_memory_fini(struct sonde_memory_use *memory)
{
    for (size_t i = 0; i < memory->spaces.count; i++) {
        sonde_vector_fini(&memory->spaces.items[i].sites);
        sonde_vector_fini(&memory->spaces.items[i].points);
    }
    sonde_vector_fini(&memory->spaces);
}

/* objects.c - data objects: their rows, which operations used them, which of them lies at an address, and which stands for those of its site.
 *
 * Uses are counted in the program's threads, without a lock: an object's row is
 * found by its number, and takes one atomic add and one or two stores. The last
 * use of two threads at the same moment may be either's.
 *
 * Addresses of the living objects are in a treap (Seidel and Aragon, Algorithmica
 * 16, 1996), since programs name memory by pointers into it. It has a lock of its
 * own, held for as long as a search takes.
 */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "base/kinds.h"
#include "guest/once.h"
#include "table.h"

/* Objects are kept one by one up to a number that bounds memory; beyond it a
 * new object takes the row of one that was freed, or none. */
#define OBJECTS_MAX     SONDE_OBJECTS_MAX
#define ROWS            (SONDE_SEGMENT_ROOM / (uint32_t)sizeof(struct sonde_row_object)) /* of one segment */
#define USES_MAX        256u /* objects of one operation that are told apart */

struct place {
    uint64_t begin, end;
    struct place *left, *right;
    uint32_t object, priority;
};

static struct {
    struct { uint32_t count, id[4096]; } freed;       /* rows that may be taken again; table_lock */
    _Atomic uint16_t segment[OBJECTS_MAX / ROWS + 1]; /* where rows are; 0 none yet */
    bool hidden_uses;                                 /* of any object; table_lock */
    struct sonde_map sites;                           /* kind and node of objects -> the one that stands for all; table_lock */
    struct sonde_lock lock;                           /* of what follows; taken last */
    struct place *places;
    struct sonde_pieces pieces;                       /* for them */
} living;

void sonde__objects_init(void)
{
    memset(&living, 0, sizeof living);
}

/* ---- addresses, under living.lock --------------------------------------------------- */

/* What begins at `at` or before goes to `less`. */
static void split(struct place *t, uint64_t at, struct place **less, struct place **more)
{
    while (t) {
        if (t->begin <= at) {
            *less = t;
            less = &t->right;
            t = t->right;
        } else {
            *more = t;
            more = &t->left;
            t = t->left;
        }
    }
    *less = *more = NULL;
}

static struct place *merge(struct place *a, struct place *b)
{
    struct place *root, **link = &root;
    while (a && b) {
        if (a->priority > b->priority) {
            *link = a;
            link = &a->right;
            a = a->right;
        } else {
            *link = b;
            link = &b->left;
            b = b->left;
        }
    }
    *link = a ? a : b;
    return root;
}

static void place_add(uint32_t object, uint64_t begin, uint64_t bytes)
{
    struct place *p = sonde__piece_get(&living.pieces, &sonde__agent.heap, sizeof *p), **link = &living.places;
    if (!p)
        return;
    *p = (struct place){
        .begin = begin,
        .end = begin + bytes,
        .object = object,
        .priority = (uint32_t)(sonde__map_hash(object) >> 24),
    };
    while (*link && (*link)->priority > p->priority)
        link = begin < (*link)->begin ? &(*link)->left : &(*link)->right;
    split(*link, begin, &p->left, &p->right);
    *link = p;
}

static void place_remove(uint32_t object, uint64_t begin)
{
    struct place **link = &living.places;
    while (*link && (*link)->object != object)
        link = begin <= (*link)->begin ? &(*link)->left : &(*link)->right;
    struct place *p = *link;
    if (!p)
        return;
    *link = merge(p->left, p->right);
    sonde__piece_put(&living.pieces, p);
}

static bool has_place(const struct sonde_row_object *o)
{
    return o->bytes && sonde_object_kind_is(o->kind, SONDE_OBJECT_PLACE);
}

uint32_t sonde_object_at(uint64_t address)
{
    const struct place *best = NULL;
    if (!sonde__agent_here())
        return 0;
    sonde__lock(&living.lock);
    for (const struct place *p = living.places; p;) {
        if (p->begin <= address)
            best = p;
        p = p->begin <= address ? p->right : p->left;
    }
    const uint32_t object = best && address < best->end ? best->object : 0;
    sonde__unlock(&living.lock);
    return object;
}

/* ---- rows ------------------------------------------------------------------------ */

/* Any thread, without a lock. */
static struct sonde_row_object *row_of(uint32_t id)
{
    const uint16_t segment =
        id && id <= OBJECTS_MAX ? atomic_load_explicit(&living.segment[(id - 1) / ROWS], memory_order_acquire) : 0;
    return segment ? (struct sonde_row_object *)(void *)(sonde__agent.pool.base + (size_t)segment * SONDE_SEGMENT_BYTES +
                                                         SONDE_SEGMENT_HEADER) +
                         (id - 1) % ROWS
                   : NULL;
}

/* A fresh row, or one of an object that was freed. Under table_lock. */
static struct sonde_row_object *row_new(uint32_t *id)
{
    if (sonde__row_count(SONDE_TABLE_OBJECT) >= OBJECTS_MAX) {
        if (!living.freed.count)
            return NULL;
        *id = living.freed.id[--living.freed.count];
        return row_of(*id);
    }
    struct sonde_row_object *row = ROW_ADD(OBJECT, struct sonde_row_object, id);
    if (!row)
        return NULL;
    const size_t offset = (size_t)((const unsigned char *)row - sonde__agent.pool.base);
    atomic_store_explicit(&living.segment[(*id - 1) / ROWS], (uint16_t)(offset / SONDE_SEGMENT_BYTES), memory_order_release);
    return row;
}

static uint32_t object_add(uint32_t node, uint32_t lane, uint64_t alloc_ns, enum sonde_object_kind kind, uint64_t bytes, uint64_t address, uint32_t flags)
{
    static struct sonde_once said;
    uint32_t id = 0;
    sonde__lock(&sonde__agent.table_lock);
    const uint32_t before = sonde__row_count(SONDE_TABLE_OBJECT);
    struct sonde_row_object *o = row_new(&id);
    if (o) {
        *o = (struct sonde_row_object){
            .kind = kind,
            .node = node,
            .lane = lane,
            .bytes = bytes,
            .address = address,
            .alloc_ns = alloc_ns,
            .flags = sonde_object_kind_is(kind, SONDE_OBJECT_UNSEEN) || living.hidden_uses ? SONDE_OBJECT_USES_PARTIAL : flags,
        };
        if (id > before)
            sonde__row_commit(SONDE_TABLE_OBJECT);
        if (has_place(o)) {
            sonde__lock(&living.lock);
            place_add(id, address, bytes);
            sonde__unlock(&living.lock);
        }
    }
    bool many = sonde__row_count(SONDE_TABLE_OBJECT) >= OBJECTS_MAX;
    sonde__unlock(&sonde__agent.table_lock);
    if (many && sonde__once(&said))
        sonde_note("more than %u data objects: rows of freed ones are reused", OBJECTS_MAX);
    return o ? id : 0;
}

uint32_t sonde_object_add(const struct sonde_call *call, enum sonde_object_kind kind, uint64_t bytes, uint64_t address)
{
    return object_add(call->node, call->thread->lane, call->enter_ns, kind, bytes, address, 0);
}

uint32_t sonde_object_met(enum sonde_object_kind kind, uint64_t bytes, uint64_t address)
{
    return sonde__agent_here() ? object_add(0, 0, sonde__agent.header->start_ns, kind, bytes, address, SONDE_OBJECT_USES_PARTIAL) : 0;
}

void sonde_object_place(uint32_t object, uint32_t device, uint32_t parent)
{
    if (!object || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_object *o = row_of(object);
    if (o) {
        o->device = device;
        __atomic_store_n(&o->parent, parent, __ATOMIC_RELAXED); /* uses are counted without the lock */
    }
    sonde__unlock(&sonde__agent.table_lock);
}

static uint64_t site_key(const struct sonde_row_object *o)
{
    return 1ull << 63 | (uint64_t)o->kind << 32 | o->node;
}

/* Does it stand for others? Its row stays its own. Under table_lock. */
static bool stands_for_others(uint32_t object, const struct sonde_row_object *o)
{
    const uint64_t *known = sonde__map_find(&living.sites, site_key(o));
    return known && *known == object;
}

void sonde_object_free(uint32_t object)
{
    if (!object || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_object *o = row_of(object);
    if (o && !o->free_ns) {
        o->free_ns = sonde_now_ns();
        if (has_place(o)) {
            sonde__lock(&living.lock);
            place_remove(object, o->address);
            sonde__unlock(&living.lock);
        }
        if (sonde__row_count(SONDE_TABLE_OBJECT) >= OBJECTS_MAX && !stands_for_others(object, o) && living.freed.count < sizeof living.freed.id / sizeof *living.freed.id)
            living.freed.id[living.freed.count++] = object;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

bool sonde_object_find(uint32_t object, struct sonde_object_info *out)
{
    if (!object || !sonde__agent_here())
        return false;
    sonde__lock(&sonde__agent.table_lock);
    const struct sonde_row_object *o = row_of(object);
    const bool lives = o && !o->free_ns;
    if (lives)
        *out = (struct sonde_object_info){(enum sonde_object_kind)o->kind, o->device, o->address, o->bytes};
    sonde__unlock(&sonde__agent.table_lock);
    return lives;
}

void sonde_object_uses_hidden(void)
{
    if (!sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    const uint32_t count = sonde__row_count(SONDE_TABLE_OBJECT);
    for (uint32_t id = 1; !living.hidden_uses && id <= count; id++) {
        struct sonde_row_object *o = row_of(id);
        if (o && !o->free_ns)
            o->flags |= SONDE_OBJECT_USES_PARTIAL;
    }
    living.hidden_uses = true;
    sonde__unlock(&sonde__agent.table_lock);
}

/* ---- uses ------------------------------------------------------------------------- */

static void count_use(struct sonde_row_object *o, uint64_t enter_ns)
{
    uint64_t first = __atomic_load_n(&o->first_use_ns, __ATOMIC_RELAXED);
    while ((!first || enter_ns < first) &&
           !__atomic_compare_exchange_n(&o->first_use_ns, &first, enter_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (enter_ns > __atomic_load_n(&o->last_use_ns, __ATOMIC_RELAXED))
        __atomic_store_n(&o->last_use_ns, enter_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&o->uses, 1, __ATOMIC_RELAXED);
}

static bool is_among(const uint32_t *ids, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Each object once, and once what one or several of them are parts of. */
void sonde__objects_used(uint64_t enter_ns, const uint32_t *objects, uint32_t count)
{
    uint32_t seen[USES_MAX], known = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t id = objects[i]; id && !is_among(seen, known, id);) {
            struct sonde_row_object *o = row_of(id);
            if (!o)
                break;
            count_use(o, enter_ns);
            if (known == USES_MAX)
                break;
            seen[known++] = id;
            id = __atomic_load_n(&o->parent, __ATOMIC_RELAXED);
        }
}

void sonde_call_uses(const struct sonde_call *call, const uint32_t *objects, uint32_t count)
{
    sonde__objects_used(call->enter_ns, objects, count);
}

/* ---- values: those of one site ------------------------------------------------------ */

uint32_t sonde__object_site(uint32_t object)
{
    const struct sonde_row_object *o = row_of(object);
    const uint64_t *known = o ? sonde__map_find(&living.sites, site_key(o)) : NULL;
    if (known)
        return (uint32_t)*known;
    if (o && !o->free_ns && sonde__map_room(&living.sites, &sonde__agent.heap))
        sonde__map_add(&living.sites, &sonde__agent.heap, site_key(o), object);
    return object;
}

void sonde_value_sites(const uint32_t *objects, uint32_t count, uint32_t *sites)
{
    const bool here = sonde__agent_here();
    if (here)
        sonde__lock(&sonde__agent.table_lock);
    for (uint32_t i = 0; i < count; i++)
        sites[i] = here ? sonde__object_site(objects[i]) : 0;
    if (here)
        sonde__unlock(&sonde__agent.table_lock);
}

void sonde_value_looked_at(const uint32_t *objects, uint32_t count)
{
    if (!count || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde_row_object *o = row_of(objects[i]);
        if (o)
            o->flags |= SONDE_OBJECT_LOOKED_AT;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

/* stretches.c - parts of data objects that the program gave names (sonde/sonde.h): a row for each name of a part.
 *
 * A name is that of what lies there now: memory that is handed out again has several, one after the other, and a program may
 * name the same tensors in each step. So each is stored once, with the time when it was given last, and there is a bound.
 */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "guest/once.h"
#include "table.h"

#define STRETCHES_MAX 65536u
#define NAME_MAX_BYTES 1024u

static struct {
    struct sonde_map known;      /* hash of what tells rows apart -> row; table_lock */
    struct sonde_map objects;    /* that have names; table_lock */
    _Atomic uint32_t objects_count;
    uint32_t strings_left;
} named;

void sonde__stretches_init(void)
{
    memset(&named, 0, sizeof named);
    named.strings_left = STRETCHES_MAX;
}

static uint64_t key_of(const struct sonde_row_stretch *s)
{
    uint64_t key = sonde__map_hash((uint64_t)s->object << 32 | s->name);
    key = sonde__map_hash(key ^ s->offset);
    return sonde__map_hash(key ^ s->bytes) | 1;
}

static bool is_same(const struct sonde_row_stretch *a, const struct sonde_row_stretch *b)
{
    return a->object == b->object && a->name == b->name && a->offset == b->offset && a->bytes == b->bytes;
}

/* False: no room, so that it is not known. Under table_lock. */
static bool know_object(uint32_t object)
{
    if (!object || sonde__map_find(&named.objects, object))
        return true;
    if (!sonde__map_room(&named.objects, &sonde__agent.heap))
        return false;
    sonde__map_add(&named.objects, &sonde__agent.heap, object, 1);
    atomic_fetch_add(&named.objects_count, 1);
    return true;
}

/* False: no room. Under table_lock. */
static bool put(const struct sonde_row_stretch *s)
{
    uint32_t id;
    const uint64_t key = key_of(s), *known = sonde__map_find(&named.known, key);
    struct sonde_row_stretch *row = known ? sonde__table_find(SONDE_TABLE_STRETCH, sizeof *row, (uint32_t)*known) : NULL;
    if (row && is_same(row, s)) {
        *row = *s;
        return true;
    }
    if (sonde__row_count(SONDE_TABLE_STRETCH) >= STRETCHES_MAX || !sonde__map_room(&named.known, &sonde__agent.heap) ||
        !(row = ROW_ADD(STRETCH, struct sonde_row_stretch, &id)))
        return false;
    *row = *s;
    sonde__row_commit(SONDE_TABLE_STRETCH);
    if (!known) /* two of one hash, which nobody will see: the other one is stored whenever it is named */
        sonde__map_add(&named.known, &sonde__agent.heap, key, id);
    return know_object(s->object);
}

/* The object in which it lies at `at`; of `bytes` so many. */
static uint64_t place(struct sonde_row_stretch *s, uint64_t at, uint64_t bytes)
{
    struct sonde_object_info info;
    s->object = sonde_object_at(at);
    if (!sonde_object_find(s->object, &info) || at - info.address >= info.bytes) { /* another thread may just have freed it */
        s->object = 0;
        info = (struct sonde_object_info){.bytes = UINT64_MAX};
    }
    s->offset = at - info.address;
    s->bytes = bytes < info.bytes - s->offset ? bytes : info.bytes - s->offset;
    return s->bytes;
}

/* In one object, or in several, as in mapped pieces of address space that lie side by side: then no part of it has its shape. */
void sonde__stretch_name(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes)
{
    static struct sonde_once said;
    if (!address || !bytes || !name || !*name || !sonde__agent_here())
        return;
    struct sonde_row_stretch s = {
        .name = sonde__string_of_few(name, strnlen(name, NAME_MAX_BYTES), &named.strings_left),
        .element_bytes = (uint32_t)element_bytes,
        .at_ns = sonde_now_ns(),
    };
    const uint64_t behind = UINT64_MAX - (uintptr_t)address, all = bytes < behind ? bytes : behind; /* a program may say anything */
    bool stored = s.name != 0;
    for (uint64_t done = 0, part; done < all && stored; done += part) {
        part = place(&s, (uintptr_t)address + done, all - done);
        s.rows = part == bytes ? rows : 0;
        s.columns = part == bytes ? columns : 0;
        sonde__lock(&sonde__agent.table_lock);
        stored = put(&s);
        sonde__unlock(&sonde__agent.table_lock);
    }
    if (!stored && sonde__once(&said))
        sonde_note("more than %u names of memory, or no room in --memory for them: later ones are missing", STRETCHES_MAX);
}

bool sonde_object_is_named(uint32_t object)
{
    if (!object || !sonde__agent_here())
        return false;
    sonde__lock(&sonde__agent.table_lock);
    const bool is = sonde__map_find(&named.objects, object) != NULL;
    sonde__unlock(&sonde__agent.table_lock);
    return is;
}

uint32_t sonde_objects_named(void)
{
    return atomic_load(&named.objects_count);
}

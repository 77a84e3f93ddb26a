/* records.c - see records.h. Linear probing (Knuth, TAOCP vol. 3, 6.4), load at most 1/2.
 *
 * An entry's record is stored before its key. When the table grows, the old one
 * may still be read, so it is not given back: sizes double, so the sum of the old
 * ones is smaller than the live one.
 */
#include "guest/records.h"

#include "guest/map.h"
#include "guest/memory.h"

#define ENTRIES_FIRST 256u

struct entry {
    _Atomic uint64_t key;
    void *record;
};
struct sonde_records_table {
    uint32_t mask, count; /* capacity - 1; count: the adder's */
    _Alignas(16) struct entry entry[];
};

void *sonde__records_find(const struct sonde_records *r, uint64_t key)
{
    const struct sonde_records_table *t = atomic_load_explicit(&r->table, memory_order_acquire);
    if (!t)
        return NULL;
    for (uint32_t i = (uint32_t)sonde__map_hash(key) & t->mask;; i = (i + 1) & t->mask) {
        const uint64_t found = atomic_load_explicit(&t->entry[i].key, memory_order_acquire);
        if (!found)
            return NULL;
        if (found == key)
            return t->entry[i].record;
    }
}

/* Under the lock, as all below. */
static void put(struct sonde_records_table *t, uint64_t key, void *record)
{
    uint32_t i = (uint32_t)sonde__map_hash(key) & t->mask;
    while (atomic_load_explicit(&t->entry[i].key, memory_order_relaxed))
        i = (i + 1) & t->mask;
    t->entry[i].record = record;
    atomic_store_explicit(&t->entry[i].key, key, memory_order_release);
    t->count++;
}

static struct sonde_records_table *grow(struct sonde_records *r, const struct sonde_records_table *old)
{
    const uint32_t capacity = old ? 2 * (old->mask + 1) : ENTRIES_FIRST;
    struct sonde_records_table *t = sonde__memory_get(sizeof *t + capacity * sizeof *t->entry);
    if (!t)
        return NULL;
    t->mask = capacity - 1;
    for (uint32_t i = 0; old && i <= old->mask; i++) {
        const uint64_t key = atomic_load_explicit(&old->entry[i].key, memory_order_relaxed);
        if (key)
            put(t, key, old->entry[i].record);
    }
    atomic_store_explicit(&r->table, t, memory_order_release);
    return t;
}

static void *add(struct sonde_records *r, uint64_t key, void *record)
{
    struct sonde_records_table *t = atomic_load_explicit(&r->table, memory_order_relaxed);
    void *known = sonde__records_find(r, key);
    if (known)
        return known;
    if (!t || t->count > t->mask / 2)
        t = grow(r, t);
    if (!t)
        return NULL;
    put(t, key, record);
    return record;
}

void *sonde__records_add(struct sonde_records *r, uint64_t key, void *record)
{
    sonde__lock(&r->lock);
    void *kept = add(r, key, record);
    sonde__unlock(&r->lock);
    return kept;
}

/* When two threads make one at once, the memory of the later one is lost. */
void *sonde__records_make(struct sonde_records *r, uint64_t key, size_t bytes, bool *made)
{
    void *record = sonde__records_find(r, key);
    void *fresh = record || !key ? NULL : sonde__memory_get(bytes);
    if (fresh)
        record = sonde__records_add(r, key, fresh);
    if (made)
        *made = fresh && record == fresh;
    return record;
}

void sonde__records_forget(struct sonde_records *r)
{
    atomic_store_explicit(&r->table, NULL, memory_order_relaxed);
}

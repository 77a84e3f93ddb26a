/* handles.c - lock-free reads from handle to record; see handles.h.
 *
 * The table is Concurrency Kit's ck_ht. When it grows, the old table may still
 * be read, so it is not given back: sizes double, so the sum of the old ones is
 * smaller than the live one.
 */
#include "handles.h"

#include <ck_malloc.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 1 << 16, FIRST_ENTRIES = 256 };

static struct {
    ck_spinlock_t lock;
    char *next;
    size_t left;
} arena = { .lock = CK_SPINLOCK_INITIALIZER };

static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void *sonde__map_memory(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > CHUNK_BYTES / 4)
        return map_pages(bytes);
    void *memory = NULL;
    ck_spinlock_lock(&arena.lock);
    if (arena.left < bytes) {
        char *chunk = map_pages(CHUNK_BYTES);
        if (chunk) {
            arena.next = chunk;
            arena.left = CHUNK_BYTES;
        }
    }
    if (arena.left >= bytes) {
        memory = arena.next;
        arena.next += bytes;
        arena.left -= bytes;
    }
    ck_spinlock_unlock(&arena.lock);
    return memory;
}

static void table_free(void *memory, size_t bytes, bool deferred)
{
    (void)memory, (void)bytes, (void)deferred; /* a reader may be in it */
}

static struct ck_malloc table_memory = { .malloc = sonde__map_memory, .free = table_free };

void *sonde__map_get(struct sonde_map *map, uintptr_t key)
{
    if (!atomic_load_explicit(&map->ready, memory_order_acquire))
        return NULL;
    ck_ht_hash_t hash;
    ck_ht_entry_t entry;
    ck_ht_hash_direct(&hash, &map->table, key);
    ck_ht_entry_key_set_direct(&entry, key);
    if (!ck_ht_get_spmc(&map->table, hash, &entry))
        return NULL;
    return (void *)ck_ht_entry_value_direct(&entry);
}

/* With the map's lock held. */
static void *insert(struct sonde_map *map, uintptr_t key, size_t bytes)
{
    if (!atomic_load_explicit(&map->ready, memory_order_relaxed)) {
        if (!ck_ht_init(&map->table, CK_HT_MODE_DIRECT, NULL, &table_memory, FIRST_ENTRIES,
                        0x5bd1e995))
            return NULL;
        atomic_store_explicit(&map->ready, true, memory_order_release);
    }
    void *record = sonde__map_memory(bytes);
    if (!record)
        return NULL;
    ck_ht_hash_t hash;
    ck_ht_entry_t entry;
    ck_ht_hash_direct(&hash, &map->table, key);
    ck_ht_entry_set_direct(&entry, hash, key, (uintptr_t)record);
    return ck_ht_put_spmc(&map->table, hash, &entry) ? record : NULL;
}

void *sonde__map_put(struct sonde_map *map, uintptr_t key, size_t bytes, bool *made)
{
    if (made)
        *made = false;
    if (key == 0 || key == UINTPTR_MAX)
        return NULL;
    void *record = sonde__map_get(map, key);
    if (record)
        return record;
    ck_spinlock_lock(&map->lock);
    record = sonde__map_get(map, key);
    if (!record) {
        record = insert(map, key, bytes);
        if (made)
            *made = record != NULL;
    }
    ck_spinlock_unlock(&map->lock);
    return record;
}

void sonde__map_reset(struct sonde_map *map)
{
    ck_spinlock_init(&map->lock);
    atomic_store_explicit(&map->ready, false, memory_order_relaxed);
    /* Another thread of the parent may have held it; its chunk is lost with it. */
    ck_spinlock_init(&arena.lock);
    arena.left = 0;
}

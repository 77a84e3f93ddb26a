/* table.c - see table.h. */
#include "table.h"

#include <sys/mman.h>

#define FIRST 1024u

void *sonde__cuda_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The finalizer of MurmurHash3. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

static struct sonde_cuda_entry *find(const struct sonde_cuda_table *t, uint64_t key)
{
    if (!t->entries)
        return NULL;
    size_t i = mix(key) & t->mask;
    while (t->entries[i].key && t->entries[i].key != key)
        i = (i + 1) & t->mask;
    return &t->entries[i];
}

static bool grow(struct sonde_cuda_table *t)
{
    struct sonde_cuda_entry *old = t->entries;
    const size_t old_room = old ? t->mask + 1 : 0, room = old ? 2 * old_room : FIRST;
    if (room > SONDE_CUDA_TABLE_MAX)
        return false;
    struct sonde_cuda_entry *fresh = sonde__cuda_memory(room * sizeof *fresh);
    if (!fresh)
        return false;
    t->entries = fresh;
    t->mask = room - 1;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].key)
            *find(t, old[i].key) = old[i];
    if (old)
        munmap(old, old_room * sizeof *old);
    return true;
}

static void take_out(struct sonde_cuda_table *t, size_t hole)
{
    for (size_t i = (hole + 1) & t->mask; t->entries[i].key; i = (i + 1) & t->mask) {
        const size_t home = mix(t->entries[i].key) & t->mask;
        if (((i - home) & t->mask) >= ((i - hole) & t->mask)) { /* may move back to the hole */
            t->entries[hole] = t->entries[i];
            hole = i;
        }
    }
    t->entries[hole] = (struct sonde_cuda_entry){0};
    t->count--;
}

bool sonde__cuda_table_get(struct sonde_cuda_table *t, uint64_t key, uint64_t *value)
{
    ck_spinlock_lock(&t->lock);
    const struct sonde_cuda_entry *e = find(t, key);
    const bool known = e && e->key;
    if (known)
        *value = e->value;
    ck_spinlock_unlock(&t->lock);
    return known;
}

bool sonde__cuda_table_put(struct sonde_cuda_table *t, uint64_t key, uint64_t value)
{
    bool done = false;
    ck_spinlock_lock(&t->lock);
    if (key && ((t->entries && t->count <= t->mask / 2) || grow(t) || (t->entries && t->count < t->mask / 8 * 7))) {
        struct sonde_cuda_entry *e = find(t, key);
        t->count += !e->key;
        *e = (struct sonde_cuda_entry){key, value};
        done = true;
    }
    ck_spinlock_unlock(&t->lock);
    return done;
}

bool sonde__cuda_table_take(struct sonde_cuda_table *t, uint64_t key, uint64_t *value)
{
    ck_spinlock_lock(&t->lock);
    const struct sonde_cuda_entry *e = find(t, key);
    const bool known = e && e->key;
    if (known && value)
        *value = e->value;
    if (known)
        take_out(t, (size_t)(e - t->entries));
    ck_spinlock_unlock(&t->lock);
    return known;
}

void sonde__cuda_table_sweep(struct sonde_cuda_table *t,
                             bool (*gone)(const struct sonde_cuda_entry *entry, void *user), void *user)
{
    ck_spinlock_lock(&t->lock);
    for (size_t i = 0; t->entries && i <= t->mask;)
        if (t->entries[i].key && gone(&t->entries[i], user))
            take_out(t, i); /* another may have moved here: look again */
        else
            i++;
    ck_spinlock_unlock(&t->lock);
}

/* table.h - a map from 64-bit keys to 64-bit values, for what is looked up rarely.
 *
 * Linear probing; deletion by shifting back (Knuth, TAOCP vol. 3, 6.4, algorithm
 * R). One spinlock per table, held for a few loads. Memory comes from mmap, never
 * from malloc, so that a hook inside the program's allocator is safe; it doubles
 * when half full, up to a bound.
 *
 * Threads: any. Key 0 is not a key.
 */
#ifndef SONDE_CUDA_TABLE_H
#define SONDE_CUDA_TABLE_H

#include <ck_spinlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_cuda_entry { uint64_t key, value; };
struct sonde_cuda_table {
    ck_spinlock_t lock;
    struct sonde_cuda_entry *entries;
    size_t mask, count;
};
#define SONDE_CUDA_TABLE_INITIALIZER { .lock = CK_SPINLOCK_INITIALIZER }
#define SONDE_CUDA_TABLE_MAX ((size_t)4 << 20) /* entries: 64 MB */

bool sonde__cuda_table_get(struct sonde_cuda_table *table, uint64_t key, uint64_t *value);
/* False: no memory, or the bound was reached. */
bool sonde__cuda_table_put(struct sonde_cuda_table *table, uint64_t key, uint64_t value);
/* Remove; true when it was there. `value` may be NULL. */
bool sonde__cuda_table_take(struct sonde_cuda_table *table, uint64_t key, uint64_t *value);
/* Remove every entry of which `gone` says so, under the lock. */
void sonde__cuda_table_sweep(struct sonde_cuda_table *table,
                             bool (*gone)(const struct sonde_cuda_entry *entry, void *user), void *user);

/* Zeroed memory; NULL when there is none. */
void *sonde__cuda_memory(size_t bytes);

#endif

/* handles.h - a map from the runtime's handles to our records.
 *
 * Reads take no lock and no allocation (ck_ht in single-producer mode, the
 * producers behind a spinlock). Nothing is ever removed: a record belongs to a
 * handle value for good. Memory comes from mmap, never from malloc, so that a
 * hook inside the program's allocator is safe.
 *
 * Threads: every function from any thread, but sonde__map_reset, which is for
 * a forked child with its one thread.
 */
#ifndef SONDE_OPENCL_HANDLES_H
#define SONDE_OPENCL_HANDLES_H

#include <ck_ht.h>
#include <ck_spinlock.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_map {
    ck_ht_t table;
    ck_spinlock_t lock;
    _Atomic bool ready;
};
#define SONDE_MAP_INITIALIZER { .lock = CK_SPINLOCK_INITIALIZER }

/* The record of `key`, or NULL. */
void *sonde__map_get(struct sonde_map *map, uintptr_t key);
/* The record of `key`; made (zeroed, `bytes` long) when there is none. NULL
 * when memory is spent or the key is 0 or ~0. `made` (may be NULL) tells. */
void *sonde__map_put(struct sonde_map *map, uintptr_t key, size_t bytes, bool *made);
void sonde__map_reset(struct sonde_map *map);

/* Zeroed memory that is never given back; NULL when there is none. */
void *sonde__map_memory(size_t bytes);

#endif

/* records.h - a record for each 64-bit key, found without a lock; keys are never 0.
 *
 * For what a program's threads look up in their calls: a runtime's handles, names.
 * A record belongs to its key for good. Since nothing is removed and nothing moves,
 * a reader needs no lock: it sees an entry whole or not at all. What is removed again is in map.h.
 *
 * Threads: any; who adds takes the lock. sonde__records_forget is for a forked child with its one thread.
 */
#ifndef SONDE_GUEST_RECORDS_H
#define SONDE_GUEST_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/lock.h"

struct sonde_records { /* all 0: empty */
    struct sonde_lock lock;                      /* of adding */
    struct sonde_records_table *_Atomic table;
};

/* The record of `key`, or NULL. */
void *sonde__records_find(const struct sonde_records *r, uint64_t key);
/* The record of `key` from now on: this one, or the one that another thread has added. NULL when memory is spent. */
void *sonde__records_add(struct sonde_records *r, uint64_t key, void *record);
/* The record of `key`; made (zeroed, `bytes` long) when there is none. NULL when
 * memory is spent or the key is 0. `made` (may be NULL) tells. */
void *sonde__records_make(struct sonde_records *r, uint64_t key, size_t bytes, bool *made);
void sonde__records_forget(struct sonde_records *r);

#endif

/* progress.h - how far long work is. Who works adds to it; who shows it reads. Any thread.
 *
 * Functions that take a pointer to one take NULL where nobody watches.
 */
#ifndef SONDE_BASE_PROGRESS_H
#define SONDE_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_progress { /* ready when zeroed */
    _Atomic uint64_t done, all; /* in the work's own unit; all = 0: not known */
};

static inline void sonde_progress_expect(struct sonde_progress *progress, uint64_t more)
{
    if (progress)
        atomic_fetch_add_explicit(&progress->all, more, memory_order_relaxed);
}

static inline void sonde_progress_add(struct sonde_progress *progress, uint64_t more)
{
    if (progress)
        atomic_fetch_add_explicit(&progress->done, more, memory_order_relaxed);
}

#endif

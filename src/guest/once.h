/* once.h - what a process says once, where it would come again with every call.
 *
 * A note of equal text is stored once (sonde_note), but has to be looked for each
 * time; one with a figure in it would be stored for each figure. A forked child says its own.
 */
#ifndef SONDE_GUEST_ONCE_H
#define SONDE_GUEST_ONCE_H

#include <stdbool.h>

#include "guest/process.h"

struct sonde_once { _Atomic uint32_t process; }; /* that has said it */

/* True the first time in this process. Any thread. */
static inline bool sonde__once(struct sonde_once *o)
{
    const uint32_t here = sonde__process();
    return atomic_load_explicit(&o->process, memory_order_relaxed) != here &&
           atomic_exchange_explicit(&o->process, here, memory_order_relaxed) != here;
}

#endif

/* aside.h - a thread of ours for what CUPTI takes long over (series.c, stalls.c): it works when it is told to, and the monitor, which tells it, goes on
 * with the program's records meanwhile. It cannot be the monitor, whose descriptors are not the driver's.
 */
#ifndef SONDE_CUDA_ASIDE_H
#define SONDE_CUDA_ASIDE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/lock.h"

struct sonde_cuda_aside { /* ready with these three, and the rest zeroed */
    const char *name;            /* of the thread, at most 15 characters */
    const char *what;            /* notes begin with it: what people asked for */
    void (*work)(bool last);     /* in the thread; `last`: for good, the driver may be gone afterwards */
    struct sonde_lock lock;      /* of starting it */
    bool cannot;
    _Atomic bool started, busy, closes; /* there is a thread; it has been told; it is to work for the last time */
    sem_t told;
    uint64_t told_ns;            /* the monitor's, */
    bool told_last;              /* too: that this was the last time */
};

/* In a thread of the program, whose descriptors the driver's are; once is enough. As quietly as that goes; a note says when there can be no thread. */
void sonde__cuda_aside_start(struct sonde_cuda_aside *a);
/* Begin again: the next recording of this process. The thread, if there is one, stays. */
void sonde__cuda_aside_again(struct sonde_cuda_aside *a);
/* It is to stop soon: what takes long can be left. */
bool sonde__cuda_aside_closes(struct sonde_cuda_aside *a);
/* The monitor's: at every turn, work each `every_ns`. */
void sonde__cuda_aside_turn(struct sonde_cuda_aside *a, uint64_t every_ns);
/* The monitor's: work for the last time, as far as `patience_ns` allow, and go on with that when it is called again; `meanwhile`, which may be
 * NULL, is called while it lasts. */
void sonde__cuda_aside_last(struct sonde_cuda_aside *a, uint64_t patience_ns, void (*meanwhile)(void));

#endif

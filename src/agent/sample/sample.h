/* sample.h - the CPU side, as the rest of the agent knows it (docs/sampling.md).
 *
 * All but what is said otherwise is the monitor's, under monitor_lock; target.h says what is in which file.
 */
#ifndef SONDE_AGENT_SAMPLE_SAMPLE_H
#define SONDE_AGENT_SAMPLE_SAMPLE_H

#include <stdint.h>

#include "agent/state/thread.h"
#include "format/rows.h"

struct sonde_shared;

void sonde__sample_turn(uint64_t now);                     /* threads that came and went */
void sonde__sample_drain(struct sonde_thread *t);          /* its ring to the profile and the trace */
void sonde__sample_account(struct sonde_live_header *header);
void sonde__sample_stop(void);                             /* no more signals come */
void sonde__sample_give_up(void);                          /* the same, because the program wants the signal */
void sonde__sample_forget(void);                           /* in a forked child */
void sonde__sample_mine(void);                             /* any thread: the calling one is not the program's. Takes thread_lock */
void sonde__sample_deferred(struct sonde_thread *t, uint32_t node); /* in the thread: the call that a sample waits for ends */
void sonde__counting_deferred(struct sonde_thread *t, uint32_t node); /* the same for counters of the CPU */
void sonde__sleep_connect(struct sonde_shared *shared);    /* from here on the preload library tells of waits */

/* Under thread_lock, for the calling thread: the slot that was made for it, or NULL; it has this one from now on; it ends,
 * and its samples stay in the slot, which may be given to another thread. */
struct sonde_thread *sonde__sample_slot(void);
void sonde__sample_enter(struct sonde_thread *t);
void sonde__sample_leave(struct sonde_thread *t);

/* The preload library's word: the calling thread has started, or ends by returning from this routine. */
void sonde__sample_starts(void);
void sonde__sample_ends(void *(*routine)(void *));

#endif

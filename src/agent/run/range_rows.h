/* range_rows.h - rows of ranges, between range.c, whose hooks begin and end ranges, and range_rows.c, which stores them. */
#ifndef SONDE_AGENT_RUN_RANGE_ROWS_H
#define SONDE_AGENT_RUN_RANGE_ROWS_H

#include <string.h>

#include "agent/state/state.h"
#include "agent/state/thread.h"

static_assert(sizeof(struct sonde_row_range) == 5 * sizeof(uint64_t), "copied by words");

/* Pushed by this thread while it had no slot, because recording was off. They
 * lie outside of all that it has pushed since. */
extern __thread uint32_t sonde__ranges_outer __attribute__((tls_model("initial-exec")));

/* Ranges that may end on another thread, open ones. */
#define SONDE_ACROSS_MAX   1024u
#define SONDE_ACROSS_TAKEN    1u /* a place whose row is being written or read */
struct sonde_across {
    _Atomic uint64_t id; /* 0 free, SONDE_ACROSS_TAKEN, else the range's: number << 10 | place */
    _Atomic uint64_t row[5];
    _Atomic uint32_t lane;
};
extern struct sonde_across sonde__across[SONDE_ACROSS_MAX];

static inline void sonde__range_store(_Atomic uint64_t *words, const struct sonde_row_range *row)
{
    uint64_t plain[5];
    memcpy(plain, row, sizeof plain);
    for (int i = 0; i < 5; i++)
        atomic_store_explicit(&words[i], plain[i], memory_order_relaxed);
}

struct sonde_row_range sonde__range_load(_Atomic uint64_t *words);

/* A row that will be missing in the trace, of a thread with slot `t` or without
 * one. Not sonde__count: a signal handler may come here within it. */
void sonde__range_lost(struct sonde_thread *t);

/* In the thread: a range has ended. */
void sonde__range_send(struct sonde_thread *t, const struct sonde_row_range *row, uint32_t lane);

#endif

/* range_rows.h - rows of ranges, between range.c, whose hooks begin and end ranges, and range_rows.c, which stores them. */
#ifndef SONDE_AGENT_RANGE_ROWS_H
#define SONDE_AGENT_RANGE_ROWS_H

#include <string.h>

#include "state.h"
#include "thread.h"

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

static inline struct sonde_row_range sonde__range_load(_Atomic uint64_t *words)
{
    struct sonde_row_range row;
    uint64_t plain[5];
    for (int i = 0; i < 5; i++)
        plain[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    memcpy(&row, plain, sizeof row);
    return row;
}

/* A row that will be missing in the trace, of a thread with slot `t` or without
 * one. Not sonde__count: a signal handler may come here within it. */
static inline void sonde__range_lost(struct sonde_thread *t)
{
    if (sonde__agent.config.trace && sonde__is_recording())
        atomic_fetch_add_explicit(t ? &t->ranges.lost : &sonde__agent.ranges_lost, 1, memory_order_relaxed);
}

/* In the thread: a range has ended. */
static inline void sonde__range_send(struct sonde_thread *t, const struct sonde_row_range *row, uint32_t lane)
{
    if (!sonde__agent.config.trace)
        return;
    struct sonde_range_event *e = sonde__channel_slot(&t->ranges.ended);
    if (__builtin_expect(!e, 0)) {
        sonde__range_lost(t);
        return;
    }
    *e = (struct sonde_range_event){.row = *row, .lane = lane};
    sonde__channel_publish(&t->ranges.ended);
}

#endif

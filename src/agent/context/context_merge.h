/* context_merge.h - between context.c and context_merge.c. `t` is the calling thread's own everywhere. */
#ifndef SONDE_AGENT_CONTEXT_CONTEXT_MERGE_H
#define SONDE_AGENT_CONTEXT_CONTEXT_MERGE_H

#include "agent/state/thread.h"

/* Puts t->path and t->node together from the outer `native_length` of t->native, the Python
 * frames, ranges and the link; returns the path's length. With `stack_only` it makes no path
 * and brings range_stack up to date. */
uint32_t sonde__context_merged(struct sonde_thread *t, uint32_t native_length, int python_count, bool stack_only);

/* The same of native frames and ranges. While only the stack changes, its outer `same`
 * frames and the ranges among them are where they were. */
uint32_t sonde__context_ranged(struct sonde_thread *t, uint32_t native_length, uint32_t same);

static inline bool sonde__has_link(const struct sonde_thread *t)
{
    return t->ranges.link_frame | t->ranges.link_name;
}

#endif

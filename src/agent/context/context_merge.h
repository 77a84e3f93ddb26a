/* context_merge.h - between context.c and context_merge.c. `t` is the calling thread's own everywhere. */
#ifndef SONDE_AGENT_CONTEXT_CONTEXT_MERGE_H
#define SONDE_AGENT_CONTEXT_CONTEXT_MERGE_H

#include "agent/state/thread.h"

/* Puts t->path together from the outer `native_length` of t->native, the Python frames and the link;
 * returns its length. */
uint32_t sonde__context_merged(struct sonde_thread *t, uint32_t native_length, int python_count);

static inline bool sonde__has_link(const struct sonde_thread *t)
{
    return t->ranges.link_frame | t->ranges.link_name;
}

#endif

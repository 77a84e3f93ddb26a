/* timeline_busy.h - the times of a device's operations, window by window. Private to timeline.c.
 */
#ifndef SONDE_ANALYZE_TIMELINE_BUSY_H
#define SONDE_ANALYZE_TIMELINE_BUSY_H

#include "timeline.h"

struct sonde__busy_plan { /* of all parts */
    uint32_t *chunks;        /* of operations, indices of process->traces, by time_min */
    uint32_t  chunk_count;
    uint32_t *devices;       /* [lane id]: index in plan->devices */
};

/* plan->devices and own->devices from the traces; whoever made the plan frees both. 0 or SONDE_ENOMEM. */
int sonde__busy_list(struct sonde_timeline_plan *plan, struct sonde__busy_plan *own);

struct sonde__busy; /* what one part holds */

/* `first` to `last` - 1 are the part's windows; `reader` is used, not owned. NULL: out of memory. */
struct sonde__busy *sonde__busy_create(const struct sonde_timeline_plan *plan, const struct sonde__busy_plan *own,
                                       struct sonde_chunk_reader *reader, uint32_t first, uint32_t last);
void sonde__busy_destroy(struct sonde__busy *busy);

/* Devices and untimed operations of a window, one window after the other; valid until the next call. 0 or SONDE_ENOMEM. */
int sonde__busy_look(struct sonde__busy *busy, struct sonde_time_window *window);

#endif

/* busy.h - the times of a device's operations, window by window. Private to trace/.
 */
#ifndef SONDE_ANALYZE_TRACE_BUSY_H
#define SONDE_ANALYZE_TRACE_BUSY_H

#include "trace.h"

struct sonde__busy_plan { /* of all parts */
    uint32_t *chunks;        /* of operations, indices of process->traces, by time_min */
    uint32_t chunk_count;
    uint32_t *devices;       /* [lane id]: index in trace->devices */
};

/* trace->devices and own->devices from the traces; whoever made the trace frees both. 0 or SONDE_ENOMEM. */
int sonde__busy_list(struct sonde_trace_reader *trace, struct sonde__busy_plan *own);

struct sonde__busy; /* what one part holds */

/* `first` to `last` - 1 are the part's windows; `reader` is used, not owned. NULL: out of memory. */
struct sonde__busy *sonde__busy_create(const struct sonde_trace_reader *trace, const struct sonde__busy_plan *own,
                                       struct sonde_chunk_reader *reader, uint32_t first, uint32_t last);
void sonde__busy_destroy(struct sonde__busy *busy);

/* Devices and untimed operations of a window, one window after the other; valid until the next call. 0 or SONDE_ENOMEM. */
int sonde__busy_look(struct sonde__busy *busy, struct sonde_trace_window *window);

#endif

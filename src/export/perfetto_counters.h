/* perfetto_counters.h - counters of a Perfetto trace: operations in flight, memory that is allocated. */
#ifndef SONDE_EXPORT_PERFETTO_COUNTERS_H
#define SONDE_EXPORT_PERFETTO_COUNTERS_H

#include "perfetto_tracks.h"

/* Describe and write the counters of a process, whose times are `shift_ns` later in the trace. 0 or SONDE_ENOMEM. */
int pf_write_counters(const struct pf_tracks *tracks, int64_t shift_ns);

#endif

/* perfetto_counters.h - counters of a Perfetto trace: operations in flight, memory that is allocated. */
#ifndef SONDE_EXPORT_PERFETTO_COUNTERS_H
#define SONDE_EXPORT_PERFETTO_COUNTERS_H

#include "format/reader.h"
#include "perfetto_wire.h"

struct pf_counters {
    struct pf_wire             *wire;
    const struct sonde_process *process;
    int64_t                     shift_ns;       /* of its times */
    uint64_t                    process_track;
    uint64_t                    device_tracks;  /* plus track_step for each device before it: described for those that have a queue */
    uint64_t                    counter_tracks; /* the first of the numbers that are free for counters; the next are track_step further each */
    uint64_t                    track_step;
};

/* Describe and write the counters of one process. 0 or SONDE_ENOMEM. */
int pf_write_counters(const struct pf_counters *counters);

#endif

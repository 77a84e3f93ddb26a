/* top.h - the parts of `sonde top`. */
#ifndef SONDE_CMDS_TOP_TOP_H
#define SONDE_CMDS_TOP_TOP_H

#include "base/vector.h"
#include "monitor/gpus.h"
#include "monitor/watch.h"
#include "views/view.h"

enum { TOP_HISTORY = 30 }; /* looks that a sparkline shows */

/* How busy a device was, look by look; oldest first. */
struct top_history {
    char process[300];
    uint32_t device;
    double share[TOP_HISTORY]; /* negative: not looked at */
};
struct top {
    struct sonde_watch *watch;
    struct sonde_gpus *gpus;
    uint64_t interval_ns;
    bool all; /* kernels: not only those that take the most time */
    SONDE_VECTOR(struct top_history) histories;
};

/* NULL: there is none yet. */
struct top_history *top_history_of(const struct top *top, const struct sonde_watch_process *process, size_t device);

/* tables.c: what is shown of the last look. Errors are in data->error. */
extern const struct sonde_view top_view;
void top_fill(const struct top *top, struct sonde_view_data *data);

/* gpus.c: devices themselves, and the processes that the driver knows on them. */
extern const struct sonde_view_columns top_gpus, top_gpu_processes;
void top_fill_gpus(const struct sonde_gpus *gpus, struct sonde_view_table *devices, struct sonde_view_table *processes);

#endif

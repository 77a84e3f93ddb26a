/* values.h - figures of calling contexts process by process: what a profile adds up over them. Any thread. */
#ifndef SONDE_ANALYZE_METRICS_VALUES_H
#define SONDE_ANALYZE_METRICS_VALUES_H

#include "base/vector.h"
#include "metric.h"

/* What one process has in a context of the tree, exclusively. One context may come several times. */
struct sonde_context_value {
    uint32_t process, node;
    double value;
};
typedef SONDE_VECTOR(struct sonde_context_value) sonde_context_values;

/* Of a metric that profiles hold (of others there is nothing): appended, by process. 0 or SONDE_ENOMEM. */
int sonde_metric_values(const struct sonde_measurement *m, const struct sonde_profile *profile, enum sonde_metric_id metric, sonde_context_values *out);

#endif

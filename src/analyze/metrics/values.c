/* values.c - see values.h. */
#include "values.h"

static int add_process(const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, const struct sonde_metric *metric,
                       sonde_context_values *out)
{
    const struct sonde_process *p = &m->processes[process];
    int rc = 0;
    for (uint32_t i = 1; i < p->profile_count && !rc; i++) {
        const uint32_t node = sonde_profile_locate(profile, process, p->profiles[i].node);
        const struct sonde_metrics metrics = sonde_profile_row_metrics(p, &p->profiles[i], &profile->nodes.items[node]);
        const double value = p->profiles[i].count ? metric->value(&metrics) : 0;
        rc = value > 0 ? sonde_vector_push(out, (struct sonde_context_value){process, node, value}) : 0;
    }
    return rc;
}

int sonde_metric_values(const struct sonde_measurement *m, const struct sonde_profile *profile, enum sonde_metric_id metric, sonde_context_values *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(m, profile, i, &sonde_metric_table[metric], out);
    return rc;
}

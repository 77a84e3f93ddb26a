/* metrics_text.h - the parts of OpenMetrics text that all families share. See openmetrics.h. */
#ifndef SONDE_MONITOR_METRICS_TEXT_H
#define SONDE_MONITOR_METRICS_TEXT_H

#include "openmetrics.h"

/* The head of a family: `type` is "counter" or "gauge"; `unit`: NULL for none. */
void sonde__openmetrics_family(struct sonde_text *out, enum sonde_metrics_form form, const char *name, const char *type, const char *unit, const char *help);
/* A label, after "{" or ","; `value` may be any bytes. */
void sonde__openmetrics_label(struct sonde_text *out, const char *separator, const char *name, const char *value);

#endif

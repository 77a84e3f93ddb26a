/* gpu_metrics.h - what is known of devices (gpus.h) as OpenMetrics text (openmetrics.h). */
#ifndef SONDE_MONITOR_GPU_METRICS_H
#define SONDE_MONITOR_GPU_METRICS_H

#include "gpus.h"
#include "openmetrics.h"

/* Append all of it, before the figures of programs, which have the end. What is unknown has no sample. */
void sonde_gpu_metrics_write(const struct sonde_gpus *gpus, enum sonde_metrics_form form, struct sonde_text *out);

/* The heads of all families that may be served, on some machine. */
void sonde_metrics_heads(struct sonde_text *out);

/* All series that may be served on some machine, in the older form, of one device and one program: with the labels that they may have. The value of a
 * label that may be any text is empty, of one that is a number a number; of others there is a series for each. */
void sonde_metrics_all(struct sonde_text *out);

#endif

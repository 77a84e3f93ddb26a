/* samples.h - what `sonde monitor` serves, sample by sample: which of them are wanted, and what stores keep.
 *
 * Stores read the text that is served (openmetrics.h, in its older form), so that what is stored is what was served.
 *
 * Threads: any.
 */
#ifndef SONDE_MONITOR_SAMPLES_H
#define SONDE_MONITOR_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { SONDE_SAMPLE_LABELS = 16 };

struct sonde_sample_label {
    const char *name; /* not terminated */
    size_t length;
    char *value; /* without escapes */
};

struct sonde_sample {
    char *name, *value; /* "sonde_nvml_power_watts", "310.5" */
    struct sonde_sample_label labels[SONDE_SAMPLE_LABELS];
    size_t label_count;
};

/* The value of a label; NULL: it has none. */
const char *sonde_sample_label(const struct sonde_sample *sample, const char *name);

/* Call `fn` with each sample of a text of ours, which is taken apart on the way: all strings lie in it. Ends with the first result that is
 * not 0, which is returned. */
int sonde_samples_each(char *text, int (*fn)(void *user, const struct sonde_sample *sample), void *user);

/* Append the families of `text` (in either form) whose name one of `metrics` matches, and of NVIDIA devices those with a number in
 * `devices`. Both are separated by commas; patterns are those of shells, and match the name of the family or of its samples; NULL: all. */
void sonde_samples_choose(const char *text, const char *metrics, const char *devices, struct sonde_text *out);

#endif

/* rank.h - how a process of a parallel job is called, and on which host it ran. */
#ifndef SONDE_ANALYZE_MODEL_RANK_H
#define SONDE_ANALYZE_MODEL_RANK_H

#include <jansson.h>

#include "format/reader.h"

enum { SONDE_RANK_MAX = 40 };

/* "rank 3 of 8", "rank 3" where the number of ranks is unknown, "" for a process without a rank. */
char *sonde_rank_text(const struct sonde_process *p, char out[SONDE_RANK_MAX]);

/* Length of the host part of a process directory's name "HOST-PID-N". */
size_t sonde_host_length(const char *process_name);

/* Set "rank", "local_rank" and "ranks" in an object; null where unknown. */
void sonde_rank_json(const struct sonde_process *p, json_t *object);

#endif

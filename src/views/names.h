/* names.h - what frames, callers, kernels, processes and devices are called in every view.
 *
 * Functions with `out` append to it. Names of the program come as they are: who shows them cleans them.
 * Any thread.
 */
#ifndef SONDE_VIEWS_NAMES_H
#define SONDE_VIEWS_NAMES_H

#include "base/text.h"
#include "query.h"

/* "step() heat.c:81"; module + offset where no function is known. */
void sonde_name_frame(const struct sonde_query *q, struct sonde_text *out, const struct sonde_cct_node *node);
/* "native", "python", "operation" ...; "root" for 0. */
const char *sonde_name_frame_kind(uint8_t kind);
/* Whose code it is: "user", "library" or "runtime"; NULL: it is no code. */
const char *sonde_name_code(const struct sonde_cct_node *node);
/* "step() heat.c", in every view that sums up by routine: all places of it are one. */
void sonde_name_routine(const struct sonde_query *q, struct sonde_text *out, const struct sonde_cct_node *node);
/* Function name without its parameters, with (). */
void sonde_name_function(struct sonde_text *out, const char *name);
/* A module's name, with as much of its path as tells it from others: part of `path`. */
const char *sonde_name_module(const struct sonde_query *q, const char *path);
/* "clFinish in step() heat.c:88", "sort() train.py:14, in numpy.so" without a name, or "build() heat.c:20" for the user's
 * own code. */
void sonde_name_place(const struct sonde_query *q, struct sonde_text *out, uint32_t node);
/* What a row of the view statistics is about: "step() heat.c", "poll() libc.so.6, mostly in wait() heat.c:9", "idle". */
struct sonde_share;
void sonde_name_share(const struct sonde_query *q, struct sonde_text *out, const struct sonde_share *share);

/* "step() heat.c:81 ← main() heat.c:140"; the nearest `max` frames of the user. */
void sonde_name_callers(const struct sonde_query *q, struct sonde_text *out, uint32_t leaf, uint32_t max);
/* The heaviest context of a group, and how many others there are. */
void sonde_name_group_callers(const struct sonde_query *q, struct sonde_text *out, const struct sonde_group *group);

/* ": bias, weights, …" after what an object is called: the first names that sonde_stretches_next has of it; nothing where it has none. */
void sonde_name_names(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t kind, uint32_t node);

/* Name of a group: the kernel's, or the kind of operation. */
const char *sonde_name_group(const struct sonde_group *group);
/* The same for tables: without the return type and the namespaces that many names begin alike with,
 * unless these are all that tells two kernels apart. */
const char *sonde_name_group_title(const struct sonde_query *q, const struct sonde_group *group);
/* "read device→host": the kind of copy with its direction, where that is known. */
const char *sonde_name_copy(const struct sonde_group *group);

/* "heat --steps 4": the command line that was recorded, as a shell reads it, else the program's name. */
void sonde_name_command(const struct sonde_query *q, struct sonde_text *out);
/* "rank 3 of 8, node2-4711-1": a process of a measurement. */
void sonde_name_process(struct sonde_text *out, const struct sonde_process *p);
/* "0 NVIDIA H200". */
void sonde_name_device(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t device);
/* The same, whoever uses it. */
void sonde_name_device_alone(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t device);
/* "thread 4711 “worker”", "queue 7 on 0 NVIDIA H200", without its process. */
void sonde_name_lane_alone(const struct sonde_query *q, struct sonde_text *out, uint32_t process, uint32_t lane);
/* Around the name of something that a process has, where there are several processes: what tells it
 * from the others comes first, since cells are cut at their end. "rank 3: " ... " (host-4711-0)". */
void sonde_name_process_begin(const struct sonde_query *q, struct sonde_text *out, uint32_t process);
void sonde_name_process_end(const struct sonde_query *q, struct sonde_text *out, uint32_t process);

#endif

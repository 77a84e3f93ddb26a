/* names.h - what operations, contexts, lanes and devices are called in exports.
 *
 * Functions, files and lines are those of the merged calling context tree
 * (src/analyze/profile/profile.h), so that exports and reports agree.
 */
#ifndef SONDE_EXPORT_NAMES_H
#define SONDE_EXPORT_NAMES_H

#include <stdbool.h>

#include "analyze/model/totals.h"
#include "analyze/profile/profile.h"
#include "base/kinds.h"
#include "base/text.h"
#include "format/reader.h"

/* Ready after init; one thread at a time. Read the fields, change nothing. */
struct sonde_names {
    const struct sonde_measurement *measurement;
    struct sonde_profile *profile;
    uint32_t **ordinals; /* [process][lane id]: which queue, or which thread, from 1 */
    struct sonde_text scratch;
};

int sonde_names_init(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_diag *diag);
/* The same of a profile that was built; it is theirs from here on, and destroyed with them, also where this fails. */
int sonde_names_of(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_profile *profile, struct sonde_diag *diag);
void sonde_names_fini(struct sonde_names *names);

/* Texts below never are NULL; those of kinds and causes are in analyze/model/totals.h. */
const char *sonde_group_text(uint32_t kind);  /* "kernel", "copy", "set", "order" */
const char *sonde_state_text(uint32_t state); /* "exited" ... of enum sonde_process_state */

/* Tree node of an operation or API call; 0 when its context was lost. */
uint32_t sonde_names_locate(const struct sonde_names *names, uint32_t process, uint32_t node);
/* The name of an operation: the kernel's, or the kind's text. `at` is a tree node. */
const char *sonde_names_op(const struct sonde_names *names, uint32_t at, uint32_t kind);
/* The name of an API call; "API call" when unknown. */
const char *sonde_names_call(const struct sonde_names *names, uint32_t at);

/* What a thread waited in: "nanosleep in nap()", the user's nearest function, without its file. */
const char *sonde_names_sleep(struct sonde_names *names, uint32_t at);
/* "sleep", "lock" ... of enum sonde_sleep_kind; "unknown". */
const char *sonde_sleep_text(uint32_t kind);

/* One frame: "step()", with its place "step() heat.c:81"; an operation's or a call's name. As below. */
const char *sonde_names_frame(struct sonde_names *names, uint32_t at, bool place);
/* The user's frames that led to tree node `at`, innermost first, at most `max`:
 * "step() heat.c:81 ← main() heat.c:140". Valid until the next call of this or the next function. */
const char *sonde_names_callers(struct sonde_names *names, uint32_t at, uint32_t max);
/* Every frame above `at`, innermost first, one per line. */
const char *sonde_names_stack(struct sonde_names *names, uint32_t at);
/* The ranges of the program above `at`: "[step] ← [training: epoch]". As above. */
const char *sonde_names_ranges(struct sonde_names *names, uint32_t at);

/* "NVIDIA H200", or "device 2"; into the caller's buffer, returned. So below. */
char *sonde_names_device(const struct sonde_process *p, uint32_t device, char *out, size_t size);
/* "Queue 1 · NVIDIA H200", "Thread 4711". */
char *sonde_names_lane(const struct sonde_names *names, uint32_t process, uint32_t lane, char *out, size_t size);
/* "Device 0 · NVIDIA H200", numbered as in reports; "Unknown device" for id 0. */
char *sonde_names_device_numbered(const struct sonde_process *p, uint32_t device, char *out, size_t size);

/* What a launch configuration says in words: sizes as "1024 × 16", kinds of memory, devices of a
 * copy; "" when not known, the runtime's choice, or not of this kind of operation. */
enum sonde_work_text {
    SONDE_WORK_GLOBAL,
    SONDE_WORK_LOCAL,
    SONDE_WORK_CLUSTER,
    SONDE_WORK_LIMITER,
    SONDE_WORK_SOURCE,
    SONDE_WORK_TARGET,
    SONDE_WORK_SOURCE_DEVICE,
    SONDE_WORK_TARGET_DEVICE,
    SONDE_WORK_TEXTS
};
char *sonde_names_work(const struct sonde_process *p, uint32_t work, enum sonde_work_text which, char *out, size_t size);
/* The row of a launch whose registers, shared memory and occupancy are known; else NULL. */
const struct sonde_row_work *sonde_names_launch(const struct sonde_process *p, uint32_t work);

#endif

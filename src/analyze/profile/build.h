/* build.h - between profile.c, which makes a tree of processes, and join.c, which makes one of the trees of a team.
 */
#ifndef SONDE_ANALYZE_PROFILE_BUILD_H
#define SONDE_ANALYZE_PROFILE_BUILD_H

#include "profile.h"

/* One frame of a process becomes one level, or one per inlined function. */
struct sonde__level {
    uint16_t kind, op;
    uint32_t name, file, module, line; /* ids in profile->strings */
    uint64_t offset;
};

struct sonde_profile *sonde__profile_create(uint32_t processes); /* NULL: out of memory */
/* The child of `parent` that the level is, new or known. 0 or SONDE_ENOMEM. */
int sonde__profile_child(struct sonde_profile *profile, uint32_t parent, const struct sonde__level *level, uint32_t *out);
/* The group of API calls, or of operations of a kind, with that name; NULL: out of memory. */
struct sonde_group *sonde__profile_group(struct sonde_profile *profile, bool api, uint16_t op, const char *name);
/* Keep a note, once: processes of a job share their files. 0 or SONDE_ENOMEM. */
int sonde__profile_note(struct sonde_profile *profile, const struct sonde_row_note *note);

/* *profile is what processes first to before last of the measurement have, without totals. It becomes that of all processes,
 * the same in all of the team. */
void sonde__profile_join(struct sonde_profile **profile, uint32_t first, uint32_t last);

#endif

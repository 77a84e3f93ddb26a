/* objects.h - data objects by the place that allocated them.
 */
#ifndef SONDE_ANALYZE_ANSWERS_MEMORY_OBJECTS_H
#define SONDE_ANALYZE_ANSWERS_MEMORY_OBJECTS_H

#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/vector.h"
#include "format/reader.h"

struct sonde_object_site {
    uint32_t node;        /* the user's frame that allocated (sonde_profile_place); 0 unknown */
    uint32_t kind;        /* enum sonde_object_kind */
    uint64_t count, bytes;
    uint64_t alive;       /* never freed before the program ended */
    uint64_t alive_bytes;
    uint64_t life_ns;     /* sum over the freed ones */
};

struct sonde_objects { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_object_site) sites; /* by bytes, most first */
    uint64_t count, bytes;
    uint64_t peak_bytes;  /* most alive at once, summed over the processes' own peaks */
};

/* 0 or SONDE_ENOMEM. */
int sonde_objects_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                          struct sonde_objects *out);
void sonde_objects_fini(struct sonde_objects *objects);

#endif

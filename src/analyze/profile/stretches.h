/* stretches.h - parts of data objects that the program gave names (sonde/sonde.h): tensors in an allocator's segments, say.
 *
 * Threads: any once found; one finds.
 */
#ifndef SONDE_ANALYZE_PROFILE_STRETCHES_H
#define SONDE_ANALYZE_PROFILE_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "format/reader.h"
#include "profile.h"

struct sonde_stretch {
    uint32_t process, object;
    const char *name;       /* the measurement's */
    uint64_t offset, bytes; /* within the object; cut where it ends */
    uint64_t rows, columns; /* of elements, row after row, which are all of it; 0: not known, or it is a line */
    uint32_t element_bytes; /* 0 not known */
    uint64_t at_ns;
    uint32_t kind;          /* of the object; */
    uint32_t node, place;   /* its site, as in struct sonde_site */
};

struct sonde_stretches { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_stretch) list;          /* by process and object, the one named last first */
    SONDE_VECTOR(const struct sonde_stretch *) names; /* by kind, place and name: each of these, in each node and process, once */
};

/* Those of names that were given while their object lived. 0 or SONDE_ENOMEM; fini in either case, before the measurement goes. */
int sonde_stretches_find(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_stretches *out);
void sonde_stretches_fini(struct sonde_stretches *stretches);

/* Those of one object, in `list`: the first, and how many. NULL: none. */
const struct sonde_stretch *sonde_stretches_of(const struct sonde_stretches *s, uint32_t process, uint32_t object, size_t *count);

/* The next name after *at in `names` of the objects of this kind that `node` allocated (a site's node or place; 0: it is not known), in this process or
 * (SONDE_STRETCHES_ALL) in any; NULL: there is no other. *at is 0 at first. Each name once. */
#define SONDE_STRETCHES_ALL UINT32_MAX
const char *sonde_stretches_next(const struct sonde_stretches *s, uint32_t process, uint32_t kind, uint32_t node, size_t *at);

#endif

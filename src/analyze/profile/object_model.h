/* object_model.h - the data objects of a measurement, and the sites that allocated them.
 *
 * An object is a piece of memory from its allocation to its free; a site is
 * all objects of one kind that were allocated in one calling context. Views of
 * memory, the profile by object and advice count over these; what lived when
 * is swept over sonde_object_changes_find's list. docs/memory.md.
 *
 * Threads: any once built; one builds.
 */
#ifndef SONDE_ANALYZE_PROFILE_OBJECT_MODEL_H
#define SONDE_ANALYZE_PROFILE_OBJECT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "format/reader.h"
#include "profile.h"

struct sonde_site {
    uint32_t kind;  /* enum sonde_object_kind; NONE: its objects' rows are lost */
    uint32_t node;  /* tree node of the allocation; 0 unknown */
    uint32_t place; /* the user's frame there (sonde_profile_place); 0 unknown */
};

struct sonde_object {
    const struct sonde_row_object *row; /* of the process */
    uint32_t site;                      /* in `sites` */
    bool part;                          /* of another one: its bytes, and its uses, are counted there */
};

struct sonde_object_model { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_site) sites; /* by their first object */
    SONDE_VECTOR(struct sonde_object *) processes; /* [process][object]; object 0 is none */
};

/* 0 or SONDE_ENOMEM; fini in either case. Before the profile and the measurement go. */
int sonde_object_model_build(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_object_model *out);
void sonde_object_model_fini(struct sonde_object_model *model);

/* The row of an operation's or another object's `object`; NULL: none, or it is not in the measurement. */
static inline const struct sonde_row_object *sonde_object_row(const struct sonde_process *p, uint32_t object)
{
    return object && object < p->object_count ? &p->objects[object] : NULL;
}

/* How many objects of this one's site, in its process, have so many bytes; 1 where none is known. */
uint64_t sonde_objects_like(const struct sonde_object_model *model, const struct sonde_measurement *m, uint32_t process, uint32_t object, uint64_t bytes);

/* Does it lie in another object, which has its bytes? */
static inline bool sonde_object_is_part(const struct sonde_process *p, const struct sonde_row_object *o)
{
    return sonde_object_row(p, o->parent) != NULL;
}

/* ---- over time ------------------------------------------------------------------ */

struct sonde_object_change {
    uint64_t at_ns;
    uint32_t object;
    bool free; /* else an allocation */
};
typedef SONDE_VECTOR(struct sonde_object_change) sonde_object_changes;

/* The allocations and frees of the objects of `p` that `takes` is true of, by time. At one
 * instant frees come first: memory that is handed on is not counted twice. 0 or SONDE_ENOMEM. */
int sonde_object_changes_find(const struct sonde_process *p, bool (*takes)(const void *user, uint32_t object),
                              const void *user, sonde_object_changes *out);

/* ---- by address --------------------------------------------------------------------- */

struct sonde_object_place {
    uint64_t begin, end, reach;
    uint32_t object;
}; /* reach: no end before here is beyond it */
struct sonde_object_places { /* ready when zeroed */
    const struct sonde_process *process;
    SONDE_VECTOR(struct sonde_object_place) list; /* by begin, then allocation */
};

/* The objects of `p` whose address is one (SONDE_OBJECT_PLACE). 0 or SONDE_ENOMEM; fini in either case. */
int sonde_object_places_find(const struct sonde_process *p, struct sonde_object_places *out);
void sonde_object_places_fini(struct sonde_object_places *places);

/* What lay at `address` then: of several the one that begins nearest before it. 0: nothing that is known.
 * An object lives from the instant of its allocation to just before that of its free. */
uint32_t sonde_object_places_at(const struct sonde_object_places *places, uint64_t address, uint64_t at_ns);

#endif

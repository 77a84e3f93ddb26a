/* alike.h - which objects of a program's may hold the same values as others (ValueExpert's definition 3.2): by hashes that a
 * backend takes of all of their bytes, on the device.
 *
 * An object is hashed after the operations that wrote it: the first 16, then each whose number is a power of two. Two with the same
 * hash become a pair, which the backend compares while neither was written since. Of two that were a pair once the next
 * operation on the first may be followed by the comparison at once: so a program that never waits is looked at, too.
 *
 * Threads: any; the lock is held for no call of the backend's but is_current, which waits for nothing.
 */
#ifndef SONDE_GUEST_ALIKE_H
#define SONDE_GUEST_ALIKE_H

#include "guest/lock.h"

#define SONDE_ALIKE_MAX   1024u /* objects, by number: of two with the same place the later is kept */
#define SONDE_ALIKE_PAIRS 64u

/* The contents of an object between two writes. */
struct sonde_alike_state {
    uint64_t handle, group; /* the backend's: the object's own, and that of those which can be compared */
    uint64_t bytes;
    uint64_t version;       /* another after each write */
    uint32_t object;        /* 0: none */
    uint32_t operation;     /* that wrote it */
};

struct sonde_alike_pair {
    struct sonde_alike_state one, other; /* one: written last */
};

struct sonde_alike {
    struct sonde_lock lock;
    bool (*is_current)(const struct sonde_alike_state *state); /* set before all else */
    struct sonde_alike_known {
        struct sonde_alike_state of;
        uint64_t hash[2];
        bool there, hashed; /* it is not being freed; `hash` is of these contents */
        uint32_t partner;   /* the object that it was like; 0 none */
        struct sonde_alike_state compared; /* with this one already, without waiting for its hash; `object` 0: with none */
        uint64_t number;    /* of its last write, among those of all objects */
        uint32_t writes;
        uint32_t held;      /* comparisons that are being enqueued */
    } known[SONDE_ALIKE_MAX];
    struct sonde_alike_pair pair[SONDE_ALIKE_PAIRS];
    uint32_t pairs;
    uint64_t numbers;
};

/* An operation wrote all that `now` says. Is it to be hashed? Then `partner` is what it was like before, or none. */
bool sonde__alike_written(struct sonde_alike *a, const struct sonde_alike_state *now, struct sonde_alike_state *partner);
/* The comparison of these contents with those of its partner is enqueued: they are no pair once more when the hash is known. */
void sonde__alike_compared(struct sonde_alike *a, const struct sonde_alike_pair *pair);
void sonde__alike_hashed(struct sonde_alike *a, const struct sonde_alike_state *of, const uint64_t hash[2]);
/* A pair of the group, at least one object of which is still as it was; false: there is none. */
bool sonde__alike_next(struct sonde_alike *a, uint64_t group, struct sonde_alike_pair *pair);
bool sonde__alike_any(struct sonde_alike *a); /* is there any pair? */
/* Are both as they were? Then neither is freed before sonde__alike_release. */
bool sonde__alike_hold(struct sonde_alike *a, const struct sonde_alike_pair *pair);
void sonde__alike_release(struct sonde_alike *a, const struct sonde_alike_pair *pair);
/* The object is about to be freed: nobody holds it from now on. True: somebody still does. */
bool sonde__alike_gone(struct sonde_alike *a, uint32_t object);

#endif

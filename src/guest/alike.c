/* alike.c - see alike.h. */
#include "alike.h"

#include <string.h>

enum { WRITES_ALL = 16 }; /* of an object that are all followed by a hash */

/* All of these with the lock. */

static struct sonde_alike_known *known_of(struct sonde_alike *a, uint32_t object)
{
    struct sonde_alike_known *k = &a->known[object % SONDE_ALIKE_MAX];
    return k->there && k->of.object == object ? k : NULL;
}

static bool is_current(struct sonde_alike *a, const struct sonde_alike_state *state)
{
    return known_of(a, state->object) && a->is_current(state);
}

/* The place of an object, which takes another's unless that is held. */
static struct sonde_alike_known *learn(struct sonde_alike *a, const struct sonde_alike_state *of)
{
    struct sonde_alike_known *k = &a->known[of->object % SONDE_ALIKE_MAX];
    if (k->there && k->of.object == of->object)
        return k;
    if (k->held)
        return NULL;
    *k = (struct sonde_alike_known){.there = true};
    return k;
}

/* The first other object with this hash whose contents are still there. */
static struct sonde_alike_known *other_with(struct sonde_alike *a, const struct sonde_alike_state *of, const uint64_t hash[2])
{
    for (uint32_t i = 0; i < SONDE_ALIKE_MAX; i++) {
        struct sonde_alike_known *k = &a->known[i];
        if (k->there && k->hashed && k->of.object != of->object && k->of.group == of->group && k->of.bytes == of->bytes &&
            memcmp(k->hash, hash, sizeof k->hash) == 0 && a->is_current(&k->of))
            return k;
    }
    return NULL;
}

/* ---- without it --------------------------------------------------------------------------------- */

bool sonde__alike_written(struct sonde_alike *a, const struct sonde_alike_state *now, struct sonde_alike_state *partner)
{
    partner->object = 0;
    sonde__lock(&a->lock);
    struct sonde_alike_known *one = learn(a, now);
    const struct sonde_alike_known *other = one && one->partner ? known_of(a, one->partner) : NULL;
    const bool due = one && (one->writes < WRITES_ALL || !(one->writes & (one->writes - 1)));
    if (one) {
        one->of = *now;
        one->hashed = false;
        one->compared.object = 0;
        one->number = ++a->numbers;
        one->writes++;
    }
    if (due && other && other->of.bytes == now->bytes && other->of.group == now->group)
        *partner = other->of;
    sonde__unlock(&a->lock);
    return due;
}

void sonde__alike_compared(struct sonde_alike *a, const struct sonde_alike_pair *pair)
{
    sonde__lock(&a->lock);
    struct sonde_alike_known *one = known_of(a, pair->one.object);
    if (one && one->of.version == pair->one.version)
        one->compared = pair->other;
    sonde__unlock(&a->lock);
}

static bool was_compared(const struct sonde_alike_known *one, const struct sonde_alike_known *other)
{
    return one->compared.object == other->of.object && one->compared.version == other->of.version;
}

/* Hashes come in any order: that of the later write may be known first. */
void sonde__alike_hashed(struct sonde_alike *a, const struct sonde_alike_state *of, const uint64_t hash[2])
{
    sonde__lock(&a->lock);
    struct sonde_alike_known *one = known_of(a, of->object);
    const struct sonde_alike_known *other = one ? other_with(a, of, hash) : NULL;
    const bool now = one && one->of.version == of->version && a->is_current(of);
    if (now) {
        memcpy(one->hash, hash, sizeof one->hash);
        one->hashed = true;
    }
    if (one)
        one->partner = other ? other->of.object : 0;
    if (now && other && !was_compared(one, other) && !was_compared(other, one) && a->pairs < SONDE_ALIKE_PAIRS)
        a->pair[a->pairs++] = one->number > other->number ? (struct sonde_alike_pair){*of, other->of} : (struct sonde_alike_pair){other->of, *of};
    sonde__unlock(&a->lock);
}

bool sonde__alike_next(struct sonde_alike *a, uint64_t group, struct sonde_alike_pair *pair)
{
    bool found = false;
    sonde__lock(&a->lock);
    for (uint32_t i = 0; i < a->pairs && !found;) {
        const bool dead = !known_of(a, a->pair[i].one.object) || !known_of(a, a->pair[i].other.object);
        found = !dead && a->pair[i].one.group == group;
        if (found)
            *pair = a->pair[i];
        if (dead || found)
            a->pair[i] = a->pair[--a->pairs];
        else
            i++;
    }
    sonde__unlock(&a->lock);
    return found;
}

bool sonde__alike_any(struct sonde_alike *a)
{
    sonde__lock(&a->lock);
    const bool any = a->pairs;
    sonde__unlock(&a->lock);
    return any;
}

bool sonde__alike_hold(struct sonde_alike *a, const struct sonde_alike_pair *pair)
{
    sonde__lock(&a->lock);
    const bool held = is_current(a, &pair->one) && is_current(a, &pair->other);
    if (held) {
        known_of(a, pair->one.object)->held++;
        known_of(a, pair->other.object)->held++;
    }
    sonde__unlock(&a->lock);
    return held;
}

void sonde__alike_release(struct sonde_alike *a, const struct sonde_alike_pair *pair)
{
    sonde__lock(&a->lock);
    a->known[pair->one.object % SONDE_ALIKE_MAX].held--; /* may be on its way out, but has its place */
    a->known[pair->other.object % SONDE_ALIKE_MAX].held--;
    sonde__unlock(&a->lock);
}

bool sonde__alike_gone(struct sonde_alike *a, uint32_t object)
{
    struct sonde_alike_known *k = &a->known[object % SONDE_ALIKE_MAX];
    sonde__lock(&a->lock);
    const bool known = k->of.object == object, held = known && k->held;
    if (known)
        k->there = false;
    sonde__unlock(&a->lock);
    return held;
}

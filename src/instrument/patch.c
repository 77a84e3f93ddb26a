/* patch.c - see patch.h. */
#include "patch.h"

#include <string.h>

#include "guest/memory.h"

#define FIRST_ROOM 1024u

/* ---- ranges ------------------------------------------------------------------------------------------- */

/* Shell's sort: in place, and without the program's malloc, which qsort may call. */
static void sort(struct sonde_patch_range *r, uint32_t count)
{
    for (uint32_t gap = count / 2; gap; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            const struct sonde_patch_range one = r[i];
            uint32_t k = i;
            for (; k >= gap && r[k - gap].first > one.first; k -= gap)
                r[k] = r[k - gap];
            r[k] = one;
        }
}

uint32_t sonde__patch_sort(struct sonde_patch_range *ranges, uint32_t count)
{
    uint32_t kept = 0;
    sort(ranges, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde_patch_range r = ranges[i];
        if (kept && r.first < ranges[kept - 1].end)
            r.first = ranges[kept - 1].end;
        if (r.first < r.end)
            ranges[kept++] = r;
    }
    return kept;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static bool grow(struct sonde_patch_all *a)
{
    const uint32_t room = a->room ? 2 * a->room : FIRST_ROOM, mask = 2 * room - 1;
    struct sonde_patch_seen *seen = sonde__pages_get(room * sizeof *seen);
    uint32_t *by_tag = sonde__pages_get(((size_t)mask + 1) * sizeof *by_tag);
    if (!seen || !by_tag) {
        if (seen)
            sonde__pages_put(seen, room * sizeof *seen);
        if (by_tag)
            sonde__pages_put(by_tag, ((size_t)mask + 1) * sizeof *by_tag);
        return false;
    }
    if (a->count)
        memcpy(seen, a->seen, a->count * sizeof *seen);
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = (uint32_t)(seen[i].tag >> 32) & mask;
        while (by_tag[k])
            k = (k + 1) & mask;
        by_tag[k] = i + 1;
    }
    const uint32_t count = a->count;
    sonde__patch_release(a);
    *a = (struct sonde_patch_all){.seen = seen, .count = count, .room = room, .by_tag = by_tag, .mask = mask};
    return true;
}

void sonde__patch_release(struct sonde_patch_all *a)
{
    if (a->room) {
        sonde__pages_put(a->seen, a->room * sizeof *a->seen);
        sonde__pages_put(a->by_tag, ((size_t)a->mask + 1) * sizeof *a->by_tag);
    }
    *a = (struct sonde_patch_all){0};
}

/* That of a slot, made when there is none; NULL: no memory. */
static struct sonde_patch_seen *find(struct sonde_patch_all *a, const struct sonde_patch_slot *s)
{
    if (a->count == a->room && !grow(a))
        return NULL;
    uint32_t k = (uint32_t)(s->tag >> 32) & a->mask;
    for (; a->by_tag[k]; k = (k + 1) & a->mask)
        if (a->seen[a->by_tag[k] - 1].tag == s->tag)
            return &a->seen[a->by_tag[k] - 1];
    a->by_tag[k] = ++a->count;
    struct sonde_patch_seen *made = &a->seen[a->count - 1];
    *made = (struct sonde_patch_seen){
        .tag = s->tag,
        .pc = s->code & ((1ull << SONDE_PATCH_STORE) - 1),
        .operation = (uint32_t)(s->who >> 32),
        .object = (uint32_t)s->who,
        .store = s->code >> SONDE_PATCH_STORE & 1,
        .bytes = (uint8_t)(s->code >> SONDE_PATCH_BYTES),
        .all = UINT64_MAX,
        .least = INT64_MAX,
        .most = INT64_MIN,
    };
    return made;
}

/* Numbers are stored with their sign turned, so that 0 is below all. */
static int64_t number(uint64_t stored)
{
    return (int64_t)(stored ^ 1ull << 63);
}

static void add(struct sonde_patch_seen *to, const struct sonde_patch_slot *s)
{
    const uint64_t bits = to->bytes < 8 ? (1ull << 8 * to->bytes) - 1 : UINT64_MAX;
    const int64_t least = number(~s->least), most = number(s->most);
    to->elements += s->elements;
    to->any |= s->any;
    to->all &= ~s->gone & bits;
    to->least = least < to->least ? least : to->least;
    to->most = most > to->most ? most : to->most;
}

bool sonde__patch_sum(struct sonde_patch_all *all, const struct sonde_patch_table *table)
{
    for (uint32_t i = 0; i < all->count; i++) {
        all->seen[i].elements = all->seen[i].any = 0;
        all->seen[i].all = UINT64_MAX;
        all->seen[i].least = INT64_MAX;
        all->seen[i].most = INT64_MIN;
    }
    for (uint32_t i = 0; i < SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS; i++) {
        const struct sonde_patch_slot *s = &table->slots[i];
        if (!s->tag || !s->code || !s->who || !s->elements)
            continue; /* free, or still being made: it will be there the next time */
        struct sonde_patch_seen *to = find(all, s);
        if (!to)
            return false;
        add(to, s);
    }
    return true;
}

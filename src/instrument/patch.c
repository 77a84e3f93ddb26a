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

static void empty(struct sonde_patch_seen *s)
{
    s->elements = s->any = 0;
    s->all = UINT64_MAX;
    s->least = INT64_MAX;
    s->most = INT64_MIN;
    for (unsigned set = 0; set < 2; set++)
        s->whole[set] = s->half[set] = (struct sonde_patch_extent){.least = UINT64_MAX};
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
    };
    empty(made);
    return made;
}

static void widen(struct sonde_patch_extent *e, uint64_t least, uint64_t most)
{
    e->least = least < e->least ? least : e->least;
    e->most = most > e->most ? most : e->most;
}

/* Is there an element, or a half of one, whose first bit is `set`? Where there is none, nothing was kept of it. */
static bool has(const struct sonde_patch_slot *s, unsigned bytes, unsigned set)
{
    const uint64_t bits = set ? s->any : s->gone;
    return (bytes == 4 ? bits | bits >> 32 : bits) >> (8 * bytes - 1) & 1;
}

static void add_extents(struct sonde_patch_seen *to, const struct sonde_patch_slot *s)
{
    for (unsigned set = 0; set < 2; set++) {
        const bool is_wide = to->bytes == 8;
        if (is_wide && has(s, 8, set))
            widen(&to->whole[set], ~s->whole[set].least, s->whole[set].most);
        if (has(s, is_wide ? 4 : to->bytes, set))
            widen(is_wide ? &to->half[set] : &to->whole[set], (uint32_t)~s->part[set].least, s->part[set].most);
    }
}

static void add(struct sonde_patch_seen *to, const struct sonde_patch_slot *s)
{
    const uint64_t bits = to->bytes < 8 ? (1ull << 8 * to->bytes) - 1 : UINT64_MAX;
    to->elements += s->elements;
    to->any |= s->any;
    to->all &= ~s->gone & bits;
    add_extents(to, s);
}

static int64_t signed_number(const struct sonde_patch_seen *s, uint64_t bits)
{
    const unsigned unused = 64 - 8u * s->bytes;
    return (int64_t)(bits << unused) >> unused;
}

/* Those whose first bit is 1 are below 0. */
static void find_signed(struct sonde_patch_seen *s)
{
    const bool below = s->whole[1].least <= s->whole[1].most, above = s->whole[0].least <= s->whole[0].most;
    if (!below && !above)
        return;
    s->least = signed_number(s, s->whole[below].least);
    s->most = signed_number(s, s->whole[!above].most);
}

bool sonde__patch_sum(struct sonde_patch_all *all, const struct sonde_patch_table *table)
{
    for (uint32_t i = 0; i < all->count; i++)
        empty(&all->seen[i]);
    for (uint32_t i = 0; i < SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS; i++) {
        const struct sonde_patch_slot *s = &table->slots[i];
        if (!s->tag || !s->code || !s->who || !s->elements)
            continue; /* free, or still being made: it will be there the next time */
        struct sonde_patch_seen *to = find(all, s);
        if (!to)
            return false;
        add(to, s);
    }
    for (uint32_t i = 0; i < all->count; i++)
        find_signed(&all->seen[i]);
    return true;
}

/* patch.c - see patch.h. */
#include "patch.h"

#include <string.h>

#include "guest/memory.h"
#include "plan.h"

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
    s->unchecked = 0;
    memset(s->guessed, 0, sizeof s->guessed);
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
    to->unchecked += s->unchecked;
    for (unsigned half = 0; half < 2; half++)
        for (unsigned way = 0; way < SONDE_PATCH_WAYS; way++)
            to->guessed[half].matching[way] += s->matching[half][way];
}

/* ---- guesses: what is counted while kernels run may be of any moment ------------------------------------------ */

static bool has_line(const struct sonde_patch_guess *g, unsigned half, unsigned line)
{
    return g->flags >> (2 * half + line) & SONDE_PATCH_HAS_LINE;
}

/* Has all been published that it takes to compare? Else nobody has compared. */
static bool stands(const struct sonde_patch_guess *g, unsigned halves)
{
    bool is = g->flags != 0;
    for (unsigned half = 0; half <= halves; half++) {
        is = is && g->value[half];
        for (unsigned line = 0; line < SONDE_PATCH_WAYS - 1; line++)
            is = is && (!has_line(g, half, line) || (g->line[half][line].slope && g->line[half][line].offset));
    }
    return is;
}

static void read_guess(struct sonde_patch_guessed *to, const struct sonde_patch_guess *g, unsigned half)
{
    to->value = g->value[half] ^ SONDE_PATCH_HIDDEN;
    for (unsigned line = 0; line < SONDE_PATCH_WAYS - 1; line++)
        if (has_line(g, half, line))
            to->line[line] = (struct sonde_patch_line){g->line[half][line].slope ^ SONDE_PATCH_HIDDEN, g->line[half][line].offset ^ SONDE_PATCH_HIDDEN};
}

static void compare(struct sonde_patch_guessed *to, unsigned bytes, uint64_t bits, uint64_t index)
{
    to->checked++;
    to->matching[SONDE_PATCH_EQUAL] += bits == to->value;
    for (unsigned line = 0; line < SONDE_PATCH_WAYS - 1; line++)
        if (to->line[line].slope)
            to->matching[line + 1] += sonde__plan_lined((int64_t)to->line[line].slope, (int64_t)to->line[line].offset, line, bytes, bits, index);
}

/* The samples, which nobody compared on the device. */
static void compare_samples(struct sonde_patch_seen *s, const struct sonde_patch_guess *g)
{
    const uint32_t there = g->taken < SONDE_PATCH_SAMPLES ? g->taken : SONDE_PATCH_SAMPLES;
    for (uint32_t i = 0; i < there; i++) {
        const uint64_t bits = g->sample[i].bits, index = g->sample[i].index ^ SONDE_PATCH_HIDDEN;
        if (!g->sample[i].index)
            continue;
        compare(&s->guessed[0], s->bytes, bits, index);
        for (unsigned half = 0; s->bytes == 8 && half < 2; half++)
            compare(&s->guessed[1], 4, (uint32_t)(bits >> 32 * half), 2 * index + half);
    }
}

static void finish(struct sonde_patch_guessed *to, uint64_t elements, uint64_t unchecked)
{
    unchecked -= to->checked < unchecked ? to->checked : unchecked; /* until here: samples */
    to->checked = elements > unchecked ? elements - unchecked : 0;
    for (unsigned way = 0; way < SONDE_PATCH_WAYS; way++)
        to->matching[way] = to->matching[way] < to->checked ? to->matching[way] : to->checked;
}

static void find_guess(struct sonde_patch_seen *s, const struct sonde_patch_table *table)
{
    const unsigned halves = s->bytes == 8;
    const struct sonde_patch_guess *g = NULL;
    for (uint32_t k = 0; k < SONDE_PATCH_PROBES && !g; k++)
        if (table->guesses[SONDE_PATCH_GUESS_AT(s->tag, k)].tag == s->tag)
            g = &table->guesses[SONDE_PATCH_GUESS_AT(s->tag, k)];
    if (!g || !stands(g, halves)) {
        memset(s->guessed, 0, sizeof s->guessed);
        return;
    }
    for (unsigned half = 0; half <= halves; half++)
        read_guess(&s->guessed[half], g, half);
    compare_samples(s, g);
    for (unsigned half = 0; half <= halves; half++)
        finish(&s->guessed[half], s->elements << half, s->unchecked << half);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

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
    for (uint32_t i = 0; i < all->count; i++) {
        find_signed(&all->seen[i]);
        find_guess(&all->seen[i], table);
    }
    return true;
}

/* patch.c - ranges in order, the parts of a table added up, and its guesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/patch.h"

/* ---- ranges ---------------------------------------------------------------------------------------------- */

static void ranges_are_sorted(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static struct sonde_patch_range ranges[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t place = i * 617 % COUNT; /* each once */
        ranges[i] = (struct sonde_patch_range){16 * place, 16 * place + 16, place + 1, 0};
    }
    assert_int_equal(sonde__patch_sort(ranges, COUNT), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(ranges[i].first, 16 * i);
        assert_int_equal(ranges[i].object, i + 1);
    }
    assert_int_equal(sonde__patch_sort(ranges, 0), 0);
}

static void what_overlaps_gives_way(void **state)
{
    (void)state;
    struct sonde_patch_range ranges[] = {{300, 400, 3, 0}, {100, 250, 1, 0}, {200, 300, 2, 0}, {120, 140, 4, 0}, {500, 500, 5, 0}};
    assert_int_equal(sonde__patch_sort(ranges, 5), 3);
    assert_int_equal(ranges[0].end, 250);
    assert_int_equal(ranges[1].first, 250);
    assert_int_equal(ranges[1].object, 2);
    assert_int_equal(ranges[2].object, 3);
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

static void raise32(uint32_t *to, uint32_t number)
{
    *to = number > *to ? number : *to;
}

/* As patch.cu leaves them: an element of `bytes`. */
static void keep(struct sonde_patch_slot *s, unsigned bytes, uint64_t bits)
{
    const unsigned set = bits >> (8 * bytes - 1) & 1, low = (uint32_t)bits >> 31, high = bits >> 63 & 1;
    if (bytes < 8) {
        raise32(&s->part[set].most, (uint32_t)bits);
        raise32(&s->part[set].least, ~(uint32_t)bits);
        return;
    }
    s->whole[set].most = bits > s->whole[set].most ? bits : s->whole[set].most;
    s->whole[set].least = ~bits > s->whole[set].least ? ~bits : s->whole[set].least;
    raise32(&s->part[low].most, (uint32_t)bits);
    raise32(&s->part[low].least, ~(uint32_t)bits);
    raise32(&s->part[high].most, (uint32_t)(bits >> 32));
    raise32(&s->part[high].least, ~(uint32_t)(bits >> 32));
}

static struct sonde_patch_slot slot(uint32_t object, unsigned bytes, uint64_t count, int64_t least, int64_t most)
{
    const uint64_t bits = bytes < 8 ? (1ull << 8 * bytes) - 1 : UINT64_MAX, low = (uint64_t)least & bits, high = (uint64_t)most & bits;
    struct sonde_patch_slot s = {
        .tag = (uint64_t)(object + 1) * 0x9e3779b97f4a7c15ull | 1,
        .code = 0x7f1234567890 | (uint64_t)(object % 2) << SONDE_PATCH_STORE | (uint64_t)bytes << SONDE_PATCH_BYTES,
        .who = 5ull << 32 | object,
        .elements = count,
        .any = low | high,
        .gone = bytes < 8 ? (uint32_t)~(uint32_t)low | (uint32_t)~(uint32_t)high : ~low | ~high,
    };
    keep(&s, bytes, low);
    keep(&s, bytes, high);
    return s;
}

static void parts_are_added_up(void **state)
{
    (void)state;
    struct sonde_patch_table *t = calloc(1, sizeof *t);
    struct sonde_patch_all all = {0};
    assert_non_null(t);
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.count, 0);
    t->slots[7] = slot(3, 4, 10, -5, 6);
    t->slots[SONDE_PATCH_SLOTS + 9] = slot(3, 4, 32, -1, 17);
    t->slots[3 * SONDE_PATCH_SLOTS] = slot(2, 8, 4, INT64_MIN, INT64_MAX);
    t->slots[3 * SONDE_PATCH_SLOTS + 1] = (struct sonde_patch_slot){.tag = 99}; /* still being made */
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.count, 2);
    const struct sonde_patch_seen *s = &all.seen[0];
    assert_int_equal(s->object, 3);
    assert_int_equal(s->operation, 5);
    assert_int_equal(s->pc, 0x7f1234567890);
    assert_int_equal(s->bytes, 4);
    assert_true(s->store);
    assert_int_equal(s->elements, 42);
    assert_int_equal(s->any, 0xffffffff);
    assert_int_equal(s->all, (uint32_t)-5 & 6u & 17u);
    assert_int_equal(s->least, -5);
    assert_int_equal(s->most, 17);
    assert_true(s->whole[0].least == 6 && s->whole[0].most == 17 && s->whole[1].least == (uint32_t)-5 && s->whole[1].most == (uint32_t)-1);
    assert_true(s->half[0].least > s->half[0].most && s->half[1].least > s->half[1].most);
    s = &all.seen[1];
    assert_false(s->store);
    assert_int_equal(s->bytes, 8);
    assert_true(s->least == INT64_MIN && s->most == INT64_MAX && s->any == UINT64_MAX && s->all == 0);
    assert_true(s->whole[0].least == INT64_MAX && s->whole[0].most == INT64_MAX && s->whole[1].least == 1ull << 63 && s->whole[1].most == 1ull << 63);
    assert_true(s->half[0].least == 0 && s->half[0].most == 0x7fffffff && s->half[1].least == 0x80000000 && s->half[1].most == 0xffffffff);
    sonde__patch_release(&all);
    free(t);
}

/* What is known keeps its place and its row; all of it is replaced, not added to. */
static void a_later_sum_replaces(void **state)
{
    (void)state;
    struct sonde_patch_table *t = calloc(1, sizeof *t);
    struct sonde_patch_all all = {0};
    assert_non_null(t);
    for (uint32_t i = 0; i < 5000; i++) /* more than there is room for at first */
        t->slots[i] = slot(i, 1, 1, -3, -3);
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.count, 5000);
    for (uint32_t i = 0; i < all.count; i++)
        all.seen[i].row = i + 1;
    t->slots[4999].elements = 7;
    t->slots[5000] = slot(5000, 1, 1, 0, 0);
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.count, 5001);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(all.seen[i].object, i);
        assert_int_equal(all.seen[i].row, i + 1);
        assert_int_equal(all.seen[i].elements, i == 4999 ? 7 : 1);
        assert_int_equal(all.seen[i].any, 0xfd);
        assert_int_equal(all.seen[i].all, 0xfd);
    }
    assert_int_equal(all.seen[5000].row, 0);
    assert_true(all.seen[4999].whole[0].least > all.seen[4999].whole[0].most && all.seen[4999].whole[1].least == 0xfd);
    assert_true(all.seen[5000].any == 0 && all.seen[5000].all == 0 && all.seen[5000].least == 0);
    sonde__patch_release(&all);
    free(t);
}

/* ---- guesses ------------------------------------------------------------------------------------------------- */

static uint64_t of_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static uint64_t of_float(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void set_line(struct sonde_patch_guess *g, unsigned half, unsigned line, uint64_t slope, uint64_t offset)
{
    g->flags |= (uint64_t)SONDE_PATCH_HAS_LINE << (2 * half + line);
    g->line[half][line] = (struct sonde_patch_line){slope ^ SONDE_PATCH_HIDDEN, offset ^ SONDE_PATCH_HIDDEN};
}

static void add_sample(struct sonde_patch_guess *g, uint64_t bits, uint64_t index)
{
    g->sample[g->taken].bits = bits;
    g->sample[g->taken++].index = index ^ SONDE_PATCH_HIDDEN;
}

/* An access of `elements` in two parts, and its guess of a value. */
static struct sonde_patch_guess *guessed(struct sonde_patch_table *t, unsigned bytes, uint64_t elements, uint64_t unchecked, uint64_t value)
{
    for (unsigned part = 0; part < 2; part++) {
        struct sonde_patch_slot *s = &t->slots[part * SONDE_PATCH_SLOTS];
        *s = slot(1, bytes, elements / 2, 0, 1);
        s->unchecked = unchecked / 2;
    }
    const uint64_t tag = t->slots[0].tag;
    t->guesses[SONDE_PATCH_GUESS_AT(tag, 0)].tag = tag + 2; /* another's */
    struct sonde_patch_guess *g = &t->guesses[SONDE_PATCH_GUESS_AT(tag, 1)];
    g->tag = tag;
    g->flags = SONDE_PATCH_STANDS;
    g->value[0] = value ^ SONDE_PATCH_HIDDEN;
    g->value[1] = bytes == 8 ? (uint32_t)value ^ SONDE_PATCH_HIDDEN : 0;
    return g;
}

/* Samples were not compared on the device: they are here. Lines are of integers, and of floats: a line of one is none of the other. */
static void guesses_are_added_up(void **state)
{
    (void)state;
    struct sonde_patch_table *t = calloc(1, sizeof *t);
    struct sonde_patch_all all = {0};
    assert_non_null(t);
    struct sonde_patch_guess *g = guessed(t, 4, 1000, 200, 7);
    set_line(g, 0, 0, 3, (uint64_t)-2);
    set_line(g, 0, 1, of_double(0.5), of_double(-1));
    t->slots[0].matching[0][SONDE_PATCH_EQUAL] = 100;
    t->slots[SONDE_PATCH_SLOTS].matching[0][SONDE_PATCH_EQUAL] = 11;
    t->slots[0].matching[0][SONDE_PATCH_ON_INTEGERS] = 300;
    t->slots[SONDE_PATCH_SLOTS].matching[0][SONDE_PATCH_ON_REALS] = 5;
    add_sample(g, 7, 3);             /* 3 * 3 - 2 */
    add_sample(g, of_float(9), 20);  /* 0.5 * 20 - 1 */
    add_sample(g, (uint32_t)-2, 0);
    add_sample(g, 8, 3);
    g->taken = 40; /* places that nobody got */
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.count, 1);
    const struct sonde_patch_guessed *found = &all.seen[0].guessed[0];
    assert_int_equal(found->checked, 1000 - 200 + 4);
    assert_int_equal(found->value, 7);
    assert_int_equal(found->matching[SONDE_PATCH_EQUAL], 111 + 1);
    assert_int_equal(found->matching[SONDE_PATCH_ON_INTEGERS], 300 + 2);
    assert_int_equal(found->matching[SONDE_PATCH_ON_REALS], 5 + 1);
    assert_int_equal(found->line[0].slope, 3);
    assert_true(found->line[0].offset == (uint64_t)-2 && found->line[1].slope == of_double(0.5) && found->line[1].offset == of_double(-1));
    assert_int_equal(all.seen[0].guessed[1].checked, 0);
    assert_true(sonde__patch_sum(&all, t)); /* and replaced, not added to */
    assert_int_equal(all.seen[0].guessed[0].checked, 804);
    sonde__patch_release(&all);
    free(t);
}

/* Elements of 8 bytes are also guessed about as two of 4, whose index is twice theirs. */
static void halves_have_guesses_of_their_own(void **state)
{
    (void)state;
    struct sonde_patch_table *t = calloc(1, sizeof *t);
    struct sonde_patch_all all = {0};
    assert_non_null(t);
    struct sonde_patch_guess *g = guessed(t, 8, 100, 100, 0x0000000a00000009);
    set_line(g, 1, 0, 1, 5);
    add_sample(g, 0x0000000a00000009, 2); /* 1 * 4 + 5, 1 * 5 + 5 */
    add_sample(g, 0x0000000b00000009, 2);
    assert_true(sonde__patch_sum(&all, t));
    const struct sonde_patch_guessed *whole = &all.seen[0].guessed[0], *half = &all.seen[0].guessed[1];
    assert_true(whole->checked == 2 && whole->matching[SONDE_PATCH_EQUAL] == 1 && !whole->line[0].slope);
    assert_true(half->checked == 4 && half->value == 9 && half->matching[SONDE_PATCH_EQUAL] == 2 && half->matching[SONDE_PATCH_ON_INTEGERS] == 3);
    sonde__patch_release(&all);
    free(t);
}

static void a_part_of_a_guess_is_none(void **state)
{
    (void)state;
    struct sonde_patch_table *t = calloc(1, sizeof *t);
    struct sonde_patch_all all = {0};
    assert_non_null(t);
    struct sonde_patch_guess *g = guessed(t, 8, 100, 0, 5);
    set_line(g, 1, 1, of_double(1), 0);
    const struct sonde_patch_guess whole = *g;
    assert_true(sonde__patch_sum(&all, t));
    assert_int_equal(all.seen[0].guessed[0].checked, 100);
    assert_int_equal(all.seen[0].guessed[1].checked, 200);
    for (unsigned missing = 0; missing < 4; missing++) {
        *g = whole;
        *(missing == 0 ? &g->flags : (missing == 1 ? &g->value[1] : (missing == 2 ? &g->line[1][1].offset : &g->tag))) = 0;
        assert_true(sonde__patch_sum(&all, t));
        assert_int_equal(all.seen[0].guessed[0].checked, 0);
        assert_int_equal(all.seen[0].guessed[1].checked, 0);
    }
    sonde__patch_release(&all);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_are_sorted), cmocka_unit_test(what_overlaps_gives_way),
                                       cmocka_unit_test(parts_are_added_up), cmocka_unit_test(a_later_sum_replaces),
                                       cmocka_unit_test(guesses_are_added_up), cmocka_unit_test(halves_have_guesses_of_their_own),
                                       cmocka_unit_test(a_part_of_a_guess_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

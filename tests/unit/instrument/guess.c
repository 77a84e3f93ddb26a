/* guess.c - unit tests of what is read of a guess that CUDA kernels have made (rewrite.h): while it is being published, and then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/rewrite.h"

#define STANDS    (1ull << 32)
#define HAS_LINE  (65537ull << 32)

static const struct sonde_ptx_access integer = {.type = SONDE_PTX_SIGNED, .element_bytes = 4, .elements = 1};
static const struct sonde_ptx_access byte = {.type = SONDE_PTX_UNSIGNED, .element_bytes = 1, .elements = 1};
static const struct sonde_ptx_access real = {.type = SONDE_PTX_FLOAT, .element_bytes = 4, .elements = 1};
static const struct sonde_ptx_access wide = {.type = SONDE_PTX_FLOAT, .element_bytes = 8, .elements = 1};

static int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t single(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void add_sample(struct sonde_ptx_guess *g, uint64_t bits, int64_t index)
{
    g->sample[g->taken].bits = bits;
    g->sample[g->taken++].index = (uint64_t)index ^ SONDE_PTX_HIDDEN;
    g->written++;
}

static void nothing_stands_before_its_word(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.wide = 3, .slope = 4, .offset = 5};
    add_sample(&g, 7, 0);
    const struct sonde_ptx_guessed found = sonde__ptx_guessed(&integer, &g);
    assert_false(found.stands);
    assert_int_equal(found.samples, 0);
}

static void a_value_is_compared_with_the_samples(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.word = STANDS | 7};
    add_sample(&g, 7, 0);
    add_sample(&g, 8, 1);
    add_sample(&g, 7, 2);
    const struct sonde_ptx_guessed found = sonde__ptx_guessed(&integer, &g);
    assert_true(found.stands);
    assert_int_equal(found.value, 7);
    assert_int_equal(found.slope, 0);
    assert_int_equal(found.samples, 3);
    assert_int_equal(found.equal, 2);
    assert_int_equal(found.lined, 0);
}

static void a_sample_that_is_not_there_does_not_count(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.word = STANDS};
    add_sample(&g, 0, 9);
    g.taken = 1000; /* places that nobody got */
    const struct sonde_ptx_guessed found = sonde__ptx_guessed(&integer, &g);
    assert_int_equal(found.samples, 1);
    assert_int_equal(found.equal, 1);
}

static void a_part_of_a_guess_is_none(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.word = STANDS};
    assert_false(sonde__ptx_guessed(&wide, &g).stands); /* its other word is missing */
    g.wide = (uint64_t)bits_of(2.5) ^ SONDE_PTX_HIDDEN;
    assert_true(sonde__ptx_guessed(&wide, &g).stands);
    assert_int_equal(sonde__ptx_guessed(&wide, &g).value, bits_of(2.5));
    g.word = HAS_LINE;
    g.slope = bits_of(1) ^ SONDE_PTX_HIDDEN;
    assert_false(sonde__ptx_guessed(&wide, &g).stands);
    g.offset = SONDE_PTX_HIDDEN; /* 0 */
    assert_true(sonde__ptx_guessed(&wide, &g).stands);
    assert_int_equal(sonde__ptx_guessed(&wide, &g).offset, 0);
}

static void integers_are_on_a_line_modulo_their_type(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.word = HAS_LINE, .slope = 3 ^ SONDE_PTX_HIDDEN, .offset = -1 ^ SONDE_PTX_HIDDEN};
    add_sample(&g, 2, 1);
    add_sample(&g, 255, 0);
    add_sample(&g, 43, 100); /* 299 */
    add_sample(&g, 44, 100);
    const struct sonde_ptx_guessed found = sonde__ptx_guessed(&byte, &g);
    assert_int_equal(found.slope, 3);
    assert_int_equal(found.offset, -1);
    assert_int_equal(found.samples, 4);
    assert_int_equal(found.lined, 3);
}

static void floats_are_the_nearest_to_a_line(void **state)
{
    (void)state;
    struct sonde_ptx_guess g = {.word = HAS_LINE, .slope = bits_of(0.1) ^ SONDE_PTX_HIDDEN, .offset = bits_of(-4) ^ SONDE_PTX_HIDDEN};
    add_sample(&g, single((float)(0.1 * 30 - 4)), 30);
    add_sample(&g, single(-4), 0);
    add_sample(&g, single((float)(0.1 * -7 - 4)), -7);
    add_sample(&g, single(0), 41);
    add_sample(&g, single(__builtin_nanf("")), 1);
    assert_int_equal(sonde__ptx_guessed(&real, &g).lined, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stands_before_its_word),
        cmocka_unit_test(a_value_is_compared_with_the_samples),
        cmocka_unit_test(a_sample_that_is_not_there_does_not_count),
        cmocka_unit_test(a_part_of_a_guess_is_none),
        cmocka_unit_test(integers_are_on_a_line_modulo_their_type),
        cmocka_unit_test(floats_are_the_nearest_to_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* typing.c - accesses of machine code read as elements of each type: numbers that follow from the elements. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/values/patterns.h"
#include "analyze/answers/values/typing.h"

/* ---- rows as patches leave them ------------------------------------------------------------------------ */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Elements of `bytes`, of which nothing is known but their bits, read as elements of a type. */
static struct sonde_row_access read_guessed(const uint64_t *elements, unsigned count, unsigned bytes, enum sonde_element type, unsigned element_bytes,
                                            const struct sonde_row_guess *guess)
{
    struct sonde_row_access rows[2] = {{0}, {.element_bytes = (uint16_t)bytes, .elements = count, .all = UINT64_MAX, .checked = guess ? count : 0, .equal = guess != NULL, .value = elements[0]}};
    struct sonde_row_guess guesses[2] = {{0}, guess ? *guess : (struct sonde_row_guess){0}};
    struct sonde_row_bits bits[2] = {{0}, {.access = 1, .least = UINT64_MAX, .least_set = UINT64_MAX, .least4 = UINT32_MAX, .least4_set = UINT32_MAX}};
    const struct sonde_row_type types[] = {{.access = 1, .element_bytes = (uint16_t)element_bytes, .type = (uint8_t)type}};
    struct sonde_process p = {0};
    struct sonde_value_typing typing;
    for (unsigned i = 0; i < count; i++) {
        const bool set = elements[i] >> (8 * bytes - 1) & 1;
        uint64_t *least = set ? &bits[1].least_set : &bits[1].least, *most = set ? &bits[1].most_set : &bits[1].most;
        rows[1].any |= elements[i];
        rows[1].all &= elements[i];
        *least = smaller(*least, elements[i]);
        *most = larger(*most, elements[i]);
        for (unsigned half = 0; half < 2 && bytes == 8; half++) {
            const uint32_t part = (uint32_t)(elements[i] >> 32 * half);
            uint32_t *least4 = part >> 31 ? &bits[1].least4_set : &bits[1].least4, *most4 = part >> 31 ? &bits[1].most4_set : &bits[1].most4;
            *least4 = (uint32_t)smaller(*least4, part);
            *most4 = (uint32_t)larger(*most4, part);
        }
    }
    p.tables[SONDE_TABLE_ACCESS] = (struct sonde_rows){rows, 2};
    p.tables[SONDE_TABLE_BITS] = (struct sonde_rows){bits, 2};
    p.tables[SONDE_TABLE_TYPE] = (struct sonde_rows){types, 1};
    p.tables[SONDE_TABLE_GUESS] = (struct sonde_rows){guesses, guess ? 2 : 0};
    assert_int_equal(sonde_value_typing_find(&p, &typing), 0);
    sonde_value_typing_read(&typing, 1, &rows[1]);
    sonde_value_typing_fini(&typing);
    return rows[1];
}

static struct sonde_row_access read_as(const uint64_t *elements, unsigned count, unsigned bytes, enum sonde_element type, unsigned element_bytes)
{
    return read_guessed(elements, count, bytes, type, element_bytes, NULL);
}

/* What its least and its most are as numbers. */
static void is_between(const struct sonde_row_access *row, double least, double most)
{
    const struct sonde_value_accessed a = {.type = row->type, .element_bytes = row->element_bytes};
    assert_true(sonde_value_number(&a, (int64_t)row->least) == least);
    assert_true(sonde_value_number(&a, (int64_t)row->most) == most);
}

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

static uint64_t of_floats(float low, float high)
{
    return of_float(low) | of_float(high) << 32;
}

/* ---- types ------------------------------------------------------------------------------------------------ */

static void integers(void **state)
{
    (void)state;
    const uint64_t both[] = {5, 0xfffffffe, 0x7fffffff, 0x80000001}, above[] = {0x80000005, 0xfffffff0}, words[] = {0xfffe, 3}, wide[] = {UINT64_MAX, 7};
    struct sonde_row_access row = read_as(both, 4, 4, SONDE_ELEMENT_SIGNED, 4);
    is_between(&row, -2147483647, 2147483647);
    row = read_as(both, 4, 4, SONDE_ELEMENT_UNSIGNED, 4);
    is_between(&row, 5, 4294967294);
    row = read_as(above, 2, 4, SONDE_ELEMENT_UNSIGNED, 4);
    is_between(&row, 2147483653, 4294967280);
    row = read_as(above, 2, 4, SONDE_ELEMENT_SIGNED, 4);
    is_between(&row, -2147483643, -16);
    row = read_as(words, 2, 2, SONDE_ELEMENT_SIGNED, 2);
    is_between(&row, -2, 3);
    row = read_as(words, 2, 2, SONDE_ELEMENT_UNSIGNED, 2);
    is_between(&row, 3, 65534);
    row = read_as(wide, 2, 8, SONDE_ELEMENT_SIGNED, 8);
    is_between(&row, -1, 7);
}

static void halves_of_elements(void **state)
{
    (void)state;
    const uint64_t integers[] = {0x00000007fffffffe, 0x0000000900000002}, floats[] = {of_floats(1.5f, -2.f), of_floats(-0.25f, 3.f)};
    struct sonde_row_access row = read_as(integers, 2, 8, SONDE_ELEMENT_SIGNED, 4);
    is_between(&row, -2, 9);
    assert_true(row.elements == 4 && row.any == (0xfffffffeu | 7 | 2 | 9) && row.all == (0xfffffffeu & 7 & 2 & 9));
    row = read_as(floats, 2, 8, SONDE_ELEMENT_FLOAT, 4);
    is_between(&row, -2, 3);
}

static void floats(void **state)
{
    (void)state;
    const uint64_t both[] = {of_float(-1.5f), of_float(2.f), of_float(-100.f), of_float(0.125f)}, below[] = {of_double(-3.5), of_double(-1e300), of_double(-0.0)};
    const uint64_t infinite[] = {of_double(INFINITY), of_double(1)}, nothing[] = {of_double(NAN), of_double(1e300), of_double(1)};
    struct sonde_row_access row = read_as(both, 4, 4, SONDE_ELEMENT_FLOAT, 4);
    is_between(&row, -100, 2);
    row = read_as(below, 3, 8, SONDE_ELEMENT_FLOAT, 8);
    is_between(&row, -1e300, -0.0);
    row = read_as(infinite, 2, 8, SONDE_ELEMENT_FLOAT, 8);
    is_between(&row, 1, INFINITY);
    row = read_as(nothing, 3, 8, SONDE_ELEMENT_FLOAT, 8); /* the NaN hides what else is the most */
    assert_true((int64_t)row.least > (int64_t)row.most);
}

/* Of floats of 2 bytes it is told what the one value is. */
static void small_floats(void **state)
{
    (void)state;
    const uint64_t halves[] = {0x3e003e003e003e00, 0x3e003e003e003e00}, brains[] = {0xbfc0bfc0}, denormal[] = {0x0001};
    struct sonde_row_access row = read_as(halves, 2, 8, SONDE_ELEMENT_FLOAT, 2);
    assert_true(row.elements == 8 && row.any == 0x3e00 && row.all == 0x3e00);
    is_between(&row, 1.5, 1.5);
    row = read_as(brains, 1, 4, SONDE_ELEMENT_BFLOAT, 2);
    assert_int_equal(row.elements, 2);
    is_between(&row, -1.5, -1.5);
    row = read_as(denormal, 1, 2, SONDE_ELEMENT_FLOAT, 2);
    is_between(&row, 0x1p-24, 0x1p-24);
}

/* The line is that of the type; of halves the value, too. */
static void guesses(void **state)
{
    (void)state;
    const struct sonde_row_guess guess = {.access = 1, .value4 = 5, .lined = 2, .slope = 3, .offset = 4, .reals = 1, .slope_real = of_double(0.5), .offset_real = of_double(7), .checked4 = 4, .equal4 = 3, .lined4 = 1, .slope4 = 8, .offset4 = 9, .reals4 = 4, .slope4_real = of_double(2), .offset4_real = of_double(1)};
    const uint64_t elements[] = {5, 6}, halves[] = {0x3e003e00, 0x3e003e00};
    struct sonde_row_access row = read_guessed(elements, 2, 8, SONDE_ELEMENT_SIGNED, 8, &guess);
    assert_true(row.checked == 2 && row.equal == 1 && row.value == 5 && row.lined == 2 && row.slope == 3 && row.offset == 4);
    row = read_guessed(elements, 2, 8, SONDE_ELEMENT_FLOAT, 8, &guess);
    assert_true(row.checked == 2 && row.equal == 1 && row.value == 5 && row.lined == 1 && row.slope == of_double(0.5) && row.offset == of_double(7));
    row = read_guessed(elements, 2, 8, SONDE_ELEMENT_UNSIGNED, 4, &guess);
    assert_true(row.elements == 4 && row.checked == 4 && row.equal == 3 && row.value == 5 && row.lined == 1 && row.slope == 8 && row.offset == 9);
    row = read_guessed(elements, 2, 8, SONDE_ELEMENT_FLOAT, 4, &guess);
    assert_true(row.checked == 4 && row.equal == 3 && row.lined == 4 && row.slope == of_double(2) && row.offset == of_double(1));
    row = read_guessed(elements, 2, 4, SONDE_ELEMENT_FLOAT, 8, &guess); /* it does not fit: of its bits the value is known */
    assert_true(row.type == SONDE_ELEMENT_BITS && row.checked == 2 && row.equal == 1 && row.value == 5 && !row.slope);
    row = read_guessed(halves, 2, 4, SONDE_ELEMENT_FLOAT, 2, &guess); /* nothing is known of such halves, */
    assert_true(row.elements == 4 && !row.checked && !row.equal && !row.slope);
    row = read_guessed(elements, 2, 2, SONDE_ELEMENT_FLOAT, 2, &guess); /* and no line of such floats */
    assert_true(row.checked == 2 && row.equal == 1 && !row.slope);
    row = read_as(elements, 2, 4, SONDE_ELEMENT_SIGNED, 4);
    assert_true(!row.checked && !row.slope);
}

/* A type that is not one of the element's stays unread. */
static void what_does_not_fit(void **state)
{
    (void)state;
    const uint64_t elements[] = {5, 6};
    const struct sonde_row_access row = read_as(elements, 2, 4, SONDE_ELEMENT_FLOAT, 8), none = read_as(elements, 2, 4, SONDE_ELEMENT_SIGNED, 0),
                                  word = read_as(elements, 2, 4, SONDE_ELEMENT_SIGNED, 2);
    assert_true(row.type == SONDE_ELEMENT_BITS && row.element_bytes == 4 && row.elements == 2);
    assert_true(word.type == SONDE_ELEMENT_BITS && word.element_bytes == 4);
    assert_true(none.type == SONDE_ELEMENT_BITS && none.element_bytes == 4 && none.elements == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers), cmocka_unit_test(halves_of_elements), cmocka_unit_test(floats), cmocka_unit_test(small_floats),
                                       cmocka_unit_test(guesses), cmocka_unit_test(what_does_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

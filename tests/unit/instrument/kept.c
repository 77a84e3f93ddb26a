/* kept.c - unit tests of what is read of the words that CUDA kernels keep of an access's values (rewrite.h): whether all are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/rewrite.h"

static const struct sonde_plan plan = {.what = SONDE_PLAN_VALUES, .blocks = 1, .accesses = 1};
static const struct sonde_ptx_access integer = {.type = SONDE_PTX_SIGNED, .element_bytes = 4, .elements = 1};
static const struct sonde_ptx_access small = {.type = SONDE_PTX_SIGNED, .element_bytes = 2, .elements = 1};
static const struct sonde_ptx_access real = {.type = SONDE_PTX_FLOAT, .element_bytes = 4, .elements = 1};
static const struct sonde_ptx_access wide = {.type = SONDE_PTX_FLOAT, .element_bytes = 8, .elements = 1};
static const struct sonde_ptx_access address = {.type = SONDE_PTX_UNSIGNED, .element_bytes = 8, .elements = 1};

static struct sonde_plan_values found(const struct sonde_ptx_access *a, const void *words, size_t bytes)
{
    struct sonde_plan_values part[4], out;
    sonde__plan_start(&plan, part);
    memcpy(part, words, bytes);
    sonde__ptx_found(a, &plan, part, 0, &out);
    return out;
}

static struct sonde_plan_values narrow(const struct sonde_ptx_access *a, int32_t least, int32_t most)
{
    return found(a, &(struct sonde_ptx_narrow){.least = least, .most = most}, sizeof(struct sonde_ptx_narrow));
}

static struct sonde_plan_values words(const struct sonde_ptx_access *a, uint64_t any, int64_t least, int64_t most)
{
    return found(a, &(struct sonde_plan_values){any, UINT64_MAX, least, most}, sizeof(struct sonde_plan_values));
}

/* Of a float, as an integer that is ordered as floats are. */
static int32_t ordered(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int32_t)sonde__plan_ordered(bits, 4);
}

static int64_t ordered_wide(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return sonde__plan_ordered(bits, 8);
}

static void assert_none(struct sonde_plan_values v)
{
    assert_memory_equal(&v, &sonde__plan_none, sizeof v);
}

static void what_was_not_executed_has_no_values(void **state)
{
    (void)state;
    assert_none(narrow(&integer, INT32_MAX, INT32_MIN));
    assert_none(narrow(&real, INT32_MAX, INT32_MIN));
    assert_none(words(&address, 0, INT64_MAX, INT64_MIN));
    assert_none(words(&wide, 0, INT64_MAX, INT64_MIN));
}

static void one_value_is_its_bits(void **state)
{
    (void)state;
    struct sonde_plan_values v = narrow(&small, -2, -2);
    assert_int_equal(v.any, 0xfffe);
    assert_int_equal(v.all, 0xfffe);
    assert_int_equal(v.least, -2);
    v = narrow(&integer, INT32_MIN, INT32_MIN); /* no NaN: it is an integer */
    assert_int_equal(v.any, 0x80000000u);
    assert_int_equal(v.all, 0x80000000u);
    v = narrow(&real, ordered(-2.5f), ordered(-2.5f));
    assert_int_equal(v.any, 0xc0200000u);
    assert_int_equal(v.all, 0xc0200000u);
    v = words(&wide, 0x4004000000000000u, ordered_wide(2.5), ordered_wide(2.5));
    assert_int_equal(v.any, 0x4004000000000000u);
    assert_int_equal(v.all, 0x4004000000000000u);
    v = words(&address, 0, 77, 77);
    assert_int_equal(v.any, 77);
    assert_int_equal(v.all, 77);
}

static void several_values_differ(void **state)
{
    (void)state;
    struct sonde_plan_values v = narrow(&integer, -1, 1);
    assert_int_not_equal(v.any, v.all);
    assert_int_equal(v.least, -1);
    assert_int_equal(v.most, 1);
    v = narrow(&real, ordered(-0.f), ordered(0)); /* zeros, but not one */
    assert_int_equal(v.any, 0x80000000u);
    assert_int_equal(v.all, 0);
    v = words(&address, 0, 0, 1);
    assert_int_not_equal(v.any, v.all);
}

static void nans_are_told(void **state)
{
    (void)state;
    struct sonde_plan_values v = narrow(&real, INT32_MIN, ordered(1)); /* some */
    assert_int_not_equal(v.any, v.all);
    assert_int_equal(v.any & 0x7fc00000u, 0x7fc00000u);
    v = narrow(&real, INT32_MIN, INT32_MIN); /* all */
    assert_int_equal(v.any, 0x7fc00000u);
    assert_int_equal(v.all, 0x7fc00000u);
    assert_true(v.least > v.most);
    v = words(&wide, 0x7ff8000000000001u, INT64_MAX, INT64_MIN);
    assert_int_equal(v.any, v.all);
    v = words(&wide, 0x7ffc000000000000u, ordered_wide(2.5), ordered_wide(2.5)); /* 2.5 and NaN */
    assert_int_not_equal(v.any, v.all);
}

static void bits_of_doubles_are_those_of_all(void **state)
{
    (void)state;
    const struct sonde_plan_values v = words(&wide, 0x3ff0000000000001u, ordered_wide(1), ordered_wide(1.5));
    assert_int_equal(v.any & 1, 1); /* of one between them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_executed_has_no_values),
        cmocka_unit_test(one_value_is_its_bits),
        cmocka_unit_test(several_values_differ),
        cmocka_unit_test(nans_are_told),
        cmocka_unit_test(bits_of_doubles_are_those_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

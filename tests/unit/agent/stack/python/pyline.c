/* pyline.c - line tables by hand, and tables of noise: never read past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/symbols/pyline.h"

/* lnotab_notes.txt: increments 6,1 44,+... of its own example: (0,1) (6,2) (50,7) from line 1. */
static void test_lnotab(void **state)
{
    (void)state;
    static const uint8_t table[] = {0, 0, 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 4, 251};
    static const struct {
        uint32_t offset, line;
    } want[] = {{0, 1}, {4, 1}, {6, 2}, {48, 2}, {50, 7}, {348, 7}, {350, 207}, {354, 202}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(sonde_pyline(table, sizeof table, 0x0309, 1, want[i].offset), want[i].line);
}

/* PEP 626's form: (bytes, line delta), -128 for no line. */
static void test_ranges(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 1, 6, 0x80, 2, 10, 254, 0, 2, 0xff};
    static const struct {
        uint32_t offset, line;
    } want[] = {{0, 101}, {2, 101}, {4, 100}, {8, 100}, {10, 111}, {12, 111}, {264, 111}, {266, 110}, {268, 100}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(sonde_pyline(table, sizeof table, 0x030a, 100, want[i].offset), want[i].line);
}

/* locations.md: every kind of entry. */
static void test_locations(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 0 << 3 | 0, 0x11,                    /* short: 1 unit, same line */
        0x80 | 11 << 3 | 1, 4, 8,                   /* one line: 2 units, +1 */
        0x80 | 12 << 3 | 0, 4, 8,                   /* +2 */
        0x80 | 15 << 3 | 7,                         /* none: 8 units */
        0x80 | 13 << 3 | 0, 5,                      /* no columns: -2 */
        0x80 | 14 << 3 | 0, 0x40 | 8, 2, 0, 1, 1    /* long: +(8|2<<6)/2 = 68 */
    };
    static const struct {
        uint32_t offset, line;
    } want[] = {{0, 10}, {2, 11}, {4, 11}, {6, 13}, {8, 10}, {22, 10}, {24, 11}, {26, 79}, {28, 10}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(sonde_pyline(table, sizeof table, 0x030b, 10, want[i].offset), want[i].line);
}

static void test_before_the_first(void **state)
{
    (void)state;
    static const uint8_t table[] = {0, 5};
    for (uint32_t version = 0x0309; version <= 0x030e; version++) {
        assert_int_equal(sonde_pyline(table, sizeof table, version, 7, UINT32_MAX), 7);
        assert_int_equal(sonde_pyline(NULL, 0, version, 7, 0), 7);
    }
}

/* Tables of noise in blocks of exactly their size: AddressSanitizer sees a byte too far. */
static void test_noise(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)(round % 40);
        uint8_t *table = malloc(size ? size : 1);
        assert_non_null(table);
        for (size_t i = 0; i < size; i++)
            table[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        for (uint32_t version = 0x0309; version <= 0x030b; version++)
            for (uint32_t offset = 0; offset < 64; offset += 2)
                sonde_pyline(table, size, version, 1, offset);
        if (size == 0)
            assert_int_equal(sonde_pyline(table, size, 0x030b, 9, 2), 9);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lnotab),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_before_the_first),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

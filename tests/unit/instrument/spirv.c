/* spirv.c - constants of SPIR-V modules that are written down here word by word, as the specification has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/spirv.h"

enum { TYPE = 1,
       WHETHER,
       NOT,
       NUMBER,
       WIDE,
       WORDS = 5 + 4 * 4 + 3 + 3 + 4 + 5 + 5 };

/* Decorations OpDecorate (71) %x SpecId (1) n, then OpSpecConstantTrue (48), OpSpecConstantFalse (49), and OpSpecConstant (50) of one word and of two; last an
 * OpFunction (54), behind which nothing counts. */
/* clang-format off */
static const uint32_t module[WORDS] = {
    0x07230203, 0x00010000, 0, 100, 0,
    4 << 16 | 71, WHETHER, 1, 10,
    4 << 16 | 71, NOT, 1, 11,
    4 << 16 | 71, NUMBER, 1, 12,
    4 << 16 | 71, WIDE, 1, 13,
    3 << 16 | 48, TYPE, WHETHER,
    3 << 16 | 49, TYPE, NOT,
    4 << 16 | 50, TYPE, NUMBER, 5,
    5 << 16 | 50, TYPE, WIDE, 6, 0,
    5 << 16 | 54, TYPE, 50, 0, 51,
};
/* clang-format on */
enum { AT_WHETHER = 5 + 16,
       AT_NOT = AT_WHETHER + 3,
       AT_NUMBER = AT_NOT + 3,
       AT_WIDE = AT_NUMBER + 4 };

/* Nothing else changes. */
static void changes(uint32_t number, uint64_t value, size_t size, size_t at, size_t words, uint32_t low, uint32_t high)
{
    uint32_t code[WORDS], expected[WORDS];
    memcpy(code, module, sizeof code);
    memcpy(expected, module, sizeof expected);
    expected[at] = low;
    if (words > 1)
        expected[at + 1] = high;
    assert_true(sonde__spirv_specialize(code, sizeof code, number, value, size));
    assert_memory_equal(code, expected, sizeof code);
}

static void values_are_set(void **state)
{
    (void)state;
    changes(10, 0, 1, AT_WHETHER, 1, 3 << 16 | 49, 0);
    changes(10, 1, 1, AT_WHETHER, 1, 3 << 16 | 48, 0);
    changes(11, 1, 1, AT_NOT, 1, 3 << 16 | 48, 0);
    changes(12, 0xfffffff9, 4, AT_NUMBER + 3, 1, 0xfffffff9, 0);
    changes(12, 200, 1, AT_NUMBER + 3, 1, 200, 0);
    changes(13, 0x8000000000000005, 8, AT_WIDE + 3, 2, 5, 0x80000000);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        size_t size;
    } wrong[] = {{9, 4}, {12, 8}, {13, 4}, {10, 4}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint32_t code[WORDS];
        memcpy(code, module, sizeof code);
        assert_false(sonde__spirv_specialize(code, sizeof code, wrong[i].number, 1, wrong[i].size));
    }
}

/* Cut anywhere, with any length of an instruction, of another byte order: no constant is found outside of it. */
static void damage_does_no_harm(void **state)
{
    (void)state;
    for (size_t words = 0; words < WORDS; words++)
        for (size_t at = 0; at < words; at++) {
            uint32_t code[WORDS + 1];
            memcpy(code, module, words * sizeof *code);
            code[at] ^= 0xffff0000;
            code[words] = 0xdeadbeef;
            sonde__spirv_specialize(code, words * sizeof *code, 13, UINT64_MAX, 8);
            assert_int_equal(code[words], 0xdeadbeef);
        }
    uint32_t code[WORDS];
    memcpy(code, module, sizeof code);
    code[0] = 0x03022307;
    assert_false(sonde__spirv_specialize(code, sizeof code, 12, 1, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_set), cmocka_unit_test(others_are_refused), cmocka_unit_test(damage_does_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

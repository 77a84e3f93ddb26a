/* utf8.c - against the well-formed and ill-formed sequences of the Unicode Standard, table 3-7 and 3.9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

#define BAD "\xef\xbf\xbd"

/* Encode by the definition, then ask. */
static void every_character_is_well_formed(void **state)
{
    (void)state;
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        char s[5] = {0};
        size_t n = c < 0x80 ? 1 : (c < 0x800 ? 2 : (c < 0x10000 ? 3 : 4));
        static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
        for (size_t i = n - 1, rest = c; n > 1 && i > 0; i--, rest >>= 6)
            s[i] = (char)(0x80 | (rest & 0x3f));
        s[0] = (char)(lead[n] | (c >> (6 * (n - 1))));
        int surrogate = c >= 0xd800 && c <= 0xdfff;
        uint32_t point = 0;
        assert_int_equal(sonde_utf8_decode(s, &point), surrogate ? 0 : n);
        assert_true(surrogate || point == c);
    }
}

static void clean_replaces_only_what_is_broken(void **state)
{
    /* clang-format off */
    static const char *const cases[][2] = {
        {"", ""}, {"plain", "plain"}, {"µ ← 核", "µ ← 核"},
        {"a\xff" "b", "a" BAD "b"}, {"\xc3", BAD}, {"\xe2\x86", BAD BAD}, {"\xc0\xaf", BAD BAD},
        {"\xe0\x80\x80", BAD BAD BAD}, {"\xf5\x80\x80\x80", BAD BAD BAD BAD}, {"caf\xe9 x", "caf" BAD " x"},
    };
    /* clang-format on */
    struct sonde_text room = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(sonde_utf8_clean(cases[i][0], &room), cases[i][1]);
    assert_ptr_equal(sonde_utf8_clean(cases[1][0], &room), cases[1][0]);
    sonde_text_fini(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_well_formed),
        cmocka_unit_test(clean_replaces_only_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

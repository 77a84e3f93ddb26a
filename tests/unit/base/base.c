/* base.c - unit tests of src/base: arena, vector, maps, text, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/number.h"
#include "base/text.h"
#include "base/vector.h"

static void test_arena(void **state)
{
    struct sonde_arena arena = {0};
    (void)state;
    for (size_t size = 0; size < 40000; size = size * 2 + 1) {
        unsigned char *p = sonde_arena_alloc(&arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size); /* the next one must still be zero: no overlap */
    }
    assert_string_equal(sonde_arena_copy(&arena, "abcdef", 3), "abc");
    assert_null(sonde_arena_alloc(&arena, SIZE_MAX));
    sonde_arena_fini(&arena);
}

static void test_vector(void **state)
{
    SONDE_VECTOR(int) v = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(sonde_vector_push(&v, i * 3), 0);
    assert_int_equal(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i * 3);
    sonde_vector_fini(&v);
    assert_int_equal(v.count, 0);
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Keys of two words that are alike: numbers, and addresses of texts in one block of memory. */
static void test_hash(void **state)
{
    enum { WORDS = 300 };
    static uint64_t hashes[WORDS * WORDS];
    static const struct { uint64_t first, step; } words[] = {{0, 1}, {0x7f12a4c01010, 16}, {0x55d0c0de9000, 48}};
    (void)state;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        for (uint64_t i = 0; i < WORDS * WORDS; i++)
            hashes[i] = sonde_hash_mix(words[k].first + i / WORDS * words[k].step, words[k].first + i % WORDS * words[k].step);
        qsort(hashes, WORDS * WORDS, sizeof *hashes, by_value);
        for (size_t i = 1; i < WORDS * WORDS; i++)
            assert_true(hashes[i - 1] != hashes[i]);
    }
}

static void test_map(void **state)
{
    struct sonde_map map = {0};
    uint64_t value = 7;
    (void)state;
    assert_false(sonde_map_get(&map, 0, &value));
    for (uint64_t key = 0; key < 20000; key++)
        assert_int_equal(sonde_map_put(&map, key << 32, key + 1), 0);
    assert_int_equal(sonde_map_put(&map, 5ull << 32, 99), 0);
    assert_int_equal(map.count, 20000);
    for (uint64_t key = 0; key < 20000; key++) {
        assert_true(sonde_map_get(&map, key << 32, &value));
        assert_int_equal(value, key == 5 ? 99 : key + 1);
    }
    value = 7;
    assert_false(sonde_map_get(&map, 1, &value));
    assert_int_equal(value, 7);
    sonde_map_fini(&map);
}

static void test_intern(void **state)
{
    struct sonde_intern in = {0};
    char text[32];
    (void)state;
    assert_int_equal(sonde_intern_text(&in, ""), 0);
    assert_int_equal(sonde_intern_text(&in, NULL), 0);
    for (uint32_t i = 1; i <= 5000; i++) {
        snprintf(text, sizeof text, "name %u", i);
        assert_int_equal(sonde_intern_text(&in, text), i);
    }
    assert_int_equal(sonde_intern_bytes(&in, "name 17", 7), 17);
    assert_int_equal(sonde_intern_find(&in, "name 17"), 17);
    assert_int_equal(sonde_intern_find(&in, "name"), 0);
    assert_int_equal(sonde_intern_find(&in, ""), 0);
    assert_string_equal(sonde_intern_get(&in, 4999), "name 4999");
    assert_string_equal(sonde_intern_get(&in, 0), "");
    uint32_t with_zero = sonde_intern_bytes(&in, "a\0b", 3);
    assert_int_not_equal(with_zero, sonde_intern_bytes(&in, "a\0c", 3));
    assert_int_equal(with_zero, sonde_intern_bytes(&in, "a\0b", 3));
    sonde_intern_fini(&in);
}

static void test_text(void **state)
{
    struct sonde_text text = {0};
    (void)state;
    assert_string_equal(sonde_text_get(&text), "");
    for (int i = 0; i < 100; i++)
        sonde_text_format(&text, "%d,", i);
    assert_int_equal(text.length, 290);
    assert_memory_equal(text.bytes + 284, "98,99,", 7);
    sonde_text_fini(&text);
    assert_int_equal(sonde_text_columns("µs ←"), 4);
    assert_int_equal(sonde_text_columns("日本"), 4);
    assert_int_equal(sonde_text_columns("e\xcc\x81"), 1); /* e + combining acute */
    /* clang-format off */
    assert_int_equal(sonde_text_columns("\xff\xfe" "a"), 3); /* broken bytes take one each */
    /* clang-format on */
    assert_int_equal(sonde_text_columns("\xe6\x97"), 2);     /* cut in the middle: nothing read past the end */
    assert_int_equal(sonde_text_prefix("日本", 3), 3);
    assert_int_equal(sonde_text_prefix("abc", 2), 2);
    assert_int_equal(sonde_text_prefix("abc", 9), 3);
    assert_string_equal(sonde_path_base("/a/b.c"), "b.c");
    assert_string_equal(sonde_path_base("b.c"), "b.c");
    assert_string_equal(sonde_path_base("/a/"), "/a/");
}

static void test_words(void **state)
{
    static const struct { const char *word, *shown; } words[] = {
        {"run.sonde", "run.sonde"},
        {"", "''"},
        {"my run", "'my run'"},
        {"it's", "'it'\\''s'"},
        {"$(x)", "'$(x)'"},
        {"a\nb'\\", "$'a\\012b\\'\\\\'"},
        {"\xff", "$'\\377'"},
        {"\u2190", "\u2190"},
        {"a=b", "'a=b'"},
        {"-o", "-o"},
    };
    struct sonde_text text = {0};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        sonde_text_add_word(&text, words[i].word);
        assert_string_equal(sonde_text_get(&text), words[i].shown);
        sonde_text_fini(&text);
    }
    sonde_text_add_path(&text, "-o");
    assert_string_equal(sonde_text_get(&text), "./-o");
    sonde_text_fini(&text);
}

static void test_numbers(void **state)
{
    char out[SONDE_NUMBER_MAX];
    static const struct {
        double ns;
        const char *text;
    } times[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.00 µs"},
        {248e3, "248 µs"},
        {999499, "999 µs"},
        {999500, "1.00 ms"},
        {1.39e6, "1.39 ms"},
        {99.96e6, "100 ms"},
        {1.39e9, "1.39 s"},
        {83e9, "83.0 s"},
        {1234e9, "20 min 34 s"},
        {3840e9, "1 h 04 min"},
    };
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {512, "512 B"},
        {21000, "21.0 kB"},
        {33.6e6, "33.6 MB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(sonde_number_time(out, times[i].ns), times[i].text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_string_equal(sonde_number_bytes(out, sizes[i].bytes), sizes[i].text);
    assert_string_equal(sonde_number_count(out, 0), "0");
    assert_string_equal(sonde_number_count(out, 999), "999");
    assert_string_equal(sonde_number_count(out, 1504), "1,504");
    assert_string_equal(sonde_number_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(sonde_number_percent(out, 812, 1000), "81.2 %");
    assert_string_equal(sonde_number_percent(out, 0, 1000), "0.0 %");
    assert_string_equal(sonde_number_percent(out, 1, 1e9), "<0.1 %");
    assert_string_equal(sonde_number_percent(out, 1, 0), "-");
    assert_string_equal(sonde_number_plain(out, 1.84), "1.84");
    assert_string_equal(sonde_number_plain(out, 24.94), "24.9");
    assert_string_equal(sonde_number_plain(out, 0.0128), "0.0128");
    assert_string_equal(sonde_number_plain(out, 1503.7), "1,504");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_vector),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_intern),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* map.c - unit tests of the map: with what is added and taken it agrees with an array, wherever its memory is from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guest/map.h"

enum { KEYS = 4000 };
enum { STEPS = 200000 };

static bool is_odd(const struct sonde_map_entry *entry, void *user)
{
    (void)user;
    return entry->value & 1;
}

static void a_shared_map_agrees_with_an_array(void **state)
{
    (void)state;
    static struct sonde_shared_map m;
    static uint64_t truth[KEYS + 1]; /* 0: absent */
    uint64_t seed = 12345, value;
    for (int i = 0; i < STEPS; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        const uint64_t key = 1 + (seed >> 33) % KEYS;
        if (seed >> 62) {
            truth[key] = (uint64_t)i + 1;
            assert_true(sonde__shared_map_put(&m, key << 20, truth[key]));
        } else {
            assert_int_equal(sonde__shared_map_take(&m, key << 20, &value), truth[key] != 0);
            truth[key] = 0;
        }
    }
    sonde__shared_map_sweep(&m, is_odd, NULL);
    for (uint64_t key = 1; key <= KEYS; key++) {
        const bool expected = truth[key] && !(truth[key] & 1);
        assert_int_equal(sonde__shared_map_get(&m, key << 20, &value), expected);
        if (expected)
            assert_int_equal(value, truth[key]);
    }
    assert_false(sonde__shared_map_put(&m, 0, 1));
    assert_false(sonde__shared_map_get(&m, 0, &value));
    assert_false(sonde__shared_map_take(&m, 0, NULL));
}

/* From a few lent entries on, out of a heap, until that is spent: what found room is there, and what found none is not. */
static void a_map_without_room_says_so(void **state)
{
    (void)state;
    static struct sonde_map_entry lent[16];
    struct sonde_heap heap;
    struct sonde_map m;
    uint64_t added = 0;
    assert_int_equal(sonde__heap_init(&heap, 1 << 20), 0);
    sonde__map_lend(&m, lent, sizeof lent / sizeof *lent);
    while (added < 1000000 && sonde__map_add(&m, &heap, (added + 1) << 32, added * 3))
        added++;
    assert_int_equal(m.count, added);
    assert_in_range(added, 16384, 65536); /* entries of 16 bytes in 1 MiB, the next larger ones beside them */
    for (uint64_t i = 0; i < added; i++)
        assert_int_equal(*sonde__map_find(&m, (i + 1) << 32), i * 3);
    assert_null(sonde__map_find(&m, (added + 1) << 32));
    assert_true(sonde__map_take(&m, 1ull << 32, NULL));
    assert_null(sonde__map_find(&m, 1ull << 32));
    assert_true(sonde__map_add(&m, &heap, (added + 1) << 32, 7)); /* in the room of the other */
    sonde__heap_fini(&heap);
}

static void a_map_has_a_bound(void **state)
{
    (void)state;
    struct sonde_map m = {0};
    uint64_t added = 0;
    while (added <= SONDE_MAP_MAX && sonde__map_add(&m, NULL, added + 1, added))
        added++;
    assert_int_equal(m.mask, SONDE_MAP_MAX - 1);
    assert_int_equal(added, m.mask - m.mask / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_map_agrees_with_an_array),
        cmocka_unit_test(a_map_without_room_says_so),
        cmocka_unit_test(a_map_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

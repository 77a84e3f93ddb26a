/* alike.c - unit tests of objects that look alike: which are hashed, which become a pair, and that none is freed while it is held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "guest/alike.h"

static uint64_t versions[2 * SONDE_ALIKE_MAX]; /* by object */

static bool is_current(const struct sonde_alike_state *state)
{
    return versions[state->object] == state->version;
}

static struct sonde_alike alike;
static const uint64_t same[2] = {1, 2}, different[2] = {1, 3};

static int setup(void **state)
{
    (void)state;
    alike = (struct sonde_alike){.is_current = is_current};
    for (uint32_t i = 0; i < 2 * SONDE_ALIKE_MAX; i++)
        versions[i] = 0;
    return 0;
}

static struct sonde_alike_state write_to(uint32_t object, uint64_t bytes, uint64_t group)
{
    return (struct sonde_alike_state){.group = group, .bytes = bytes, .version = ++versions[object], .object = object, .operation = object};
}

/* Writes it and hashes it; what it was like before. */
static uint32_t put(uint32_t object, const uint64_t hash[2], uint64_t bytes, uint64_t group)
{
    struct sonde_alike_state partner, now = write_to(object, bytes, group);
    if (sonde__alike_written(&alike, &now, &partner))
        sonde__alike_hashed(&alike, &now, hash);
    return partner.object;
}

static bool is_pair(uint64_t group, uint32_t one, uint32_t other)
{
    struct sonde_alike_pair pair;
    return sonde__alike_next(&alike, group, &pair) && pair.one.object == one && pair.other.object == other;
}

static void test_pairs(void **state)
{
    (void)state;
    put(1, same, 8, 1);
    put(2, different, 8, 1);
    put(3, same, 16, 1);
    put(4, same, 8, 2);
    put(5, same, 8, 1);
    assert_false(is_pair(2, 0, 0));
    assert_true(is_pair(1, 5, 1));
    assert_false(is_pair(1, 0, 0));
}

static void test_what_was_written_since(void **state)
{
    (void)state;
    put(1, same, 8, 1);
    versions[1]++;
    put(2, same, 8, 1);
    assert_false(is_pair(1, 0, 0));
    put(1, same, 8, 1); /* hashed again */
    struct sonde_alike_pair pair;
    assert_true(sonde__alike_next(&alike, 1, &pair));
    versions[2]++;
    assert_false(sonde__alike_hold(&alike, &pair));
}

/* One that is written again and again, its hash coming too late each time, is compared with what it was like. */
static void test_partner(void **state)
{
    (void)state;
    struct sonde_alike_state partner, first, later;
    put(1, same, 8, 1);
    first = write_to(2, 8, 1);
    assert_true(sonde__alike_written(&alike, &first, &partner));
    later = write_to(2, 8, 1);
    assert_true(sonde__alike_written(&alike, &later, &partner));
    assert_int_equal(partner.object, 0);
    sonde__alike_hashed(&alike, &first, same);
    assert_false(is_pair(1, 0, 0));
    assert_int_equal(put(2, same, 8, 1), 1);
    assert_true(is_pair(1, 2, 1));
}

/* What was compared at once is not compared again when its hash is known, unless the partner is another by then. */
static void test_partner_compared(void **state)
{
    (void)state;
    struct sonde_alike_pair pair, again;
    put(1, same, 8, 1);
    put(2, same, 8, 1);
    assert_true(is_pair(1, 2, 1));
    pair.one = write_to(2, 8, 1);
    assert_true(sonde__alike_written(&alike, &pair.one, &pair.other));
    assert_int_equal(pair.other.object, 1);
    sonde__alike_compared(&alike, &pair);
    sonde__alike_hashed(&alike, &pair.one, same);
    assert_false(sonde__alike_next(&alike, 1, &again));
    put(1, same, 8, 1); /* with which 2 was not compared */
    assert_true(is_pair(1, 1, 2));
    pair.one = write_to(2, 8, 1);
    assert_true(sonde__alike_written(&alike, &pair.one, &pair.other));
    sonde__alike_compared(&alike, &pair);
    put(1, same, 8, 1);
    while (sonde__alike_next(&alike, 1, &again))
        ;
    sonde__alike_hashed(&alike, &pair.one, same);
    assert_true(is_pair(1, 1, 2)); /* 1 was written last */
}

/* What is told is told of the operation that wrote last, whichever hash is known first. */
static void test_hashes_in_another_order(void **state)
{
    (void)state;
    struct sonde_alike_state partner, first = write_to(1, 8, 1), last;
    struct sonde_alike_pair pair;
    assert_true(sonde__alike_written(&alike, &first, &partner));
    last = write_to(2, 8, 1);
    assert_true(sonde__alike_written(&alike, &last, &partner));
    sonde__alike_hashed(&alike, &last, same);
    assert_false(is_pair(1, 0, 0));
    sonde__alike_hashed(&alike, &first, same);
    assert_true(is_pair(1, 2, 1));
    /* 1 is like 2 from now on, with which the next write is compared at once: not once more when both hashes are known. */
    pair.one = write_to(1, 8, 1);
    assert_true(sonde__alike_written(&alike, &pair.one, &pair.other));
    assert_int_equal(pair.other.object, 2);
    sonde__alike_compared(&alike, &pair);
    sonde__alike_hashed(&alike, &pair.one, same);
    sonde__alike_hashed(&alike, &last, same);
    assert_false(is_pair(1, 0, 0));
}

static void test_not_all_are_hashed(void **state)
{
    (void)state;
    uint32_t hashed = 0;
    for (int i = 0; i < 64; i++) {
        struct sonde_alike_state partner, now = write_to(1, 8, 1);
        hashed += sonde__alike_written(&alike, &now, &partner);
    }
    assert_int_equal(hashed, 16 + 2); /* and those after 16 and 32 others */
}

static void test_held(void **state)
{
    (void)state;
    struct sonde_alike_pair pair;
    struct sonde_alike_state partner, third = write_to(2 + SONDE_ALIKE_MAX, 8, 1); /* has the place of 2 */
    put(1, same, 8, 1);
    put(2, same, 8, 1);
    assert_true(sonde__alike_next(&alike, 1, &pair));
    assert_true(sonde__alike_hold(&alike, &pair));
    assert_true(sonde__alike_gone(&alike, 2));
    assert_false(sonde__alike_hold(&alike, &pair));
    assert_false(sonde__alike_written(&alike, &third, &partner)); /* not while somebody holds 2 */
    sonde__alike_release(&alike, &pair);
    assert_false(sonde__alike_gone(&alike, 2));
    assert_true(sonde__alike_written(&alike, &third, &partner));
    assert_false(sonde__alike_gone(&alike, 2)); /* another's place */
    assert_false(sonde__alike_gone(&alike, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pairs, setup),
        cmocka_unit_test_setup(test_what_was_written_since, setup),
        cmocka_unit_test_setup(test_partner, setup),
        cmocka_unit_test_setup(test_partner_compared, setup),
        cmocka_unit_test_setup(test_hashes_in_another_order, setup),
        cmocka_unit_test_setup(test_not_all_are_hashed, setup),
        cmocka_unit_test_setup(test_held, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

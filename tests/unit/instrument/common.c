/* common.c - unit tests of how several frequent values of an access are found (plan.h): from what those who vote saw, against all samples
 * counted one by one; how often one is missed, against the bound of docs/values.md; and the guesses of the areas that count them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/rewrite.h"

enum { MORE = SONDE_PLAN_COMMON - 1,
       DRAWS = 5000,
       ALWAYS = 8 }; /* samples: then nothing displaces a value */

static uint64_t state = 1;

/* Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014 (SplitMix64). */
static uint64_t drawn(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double part(void)
{
    return (double)(drawn() >> 11) * 0x1p-53;
}

/* As the device votes (MJRTY). */
static uint64_t vote(const uint64_t *samples, unsigned count)
{
    uint64_t value = 0;
    int votes = 0;
    for (unsigned i = 0; i < count; i++) {
        value = votes ? value : samples[i];
        votes += samples[i] == value ? 1 : -1;
    }
    return value;
}

static unsigned among(const uint64_t *samples, unsigned count, uint64_t value)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += samples[i] == value;
    return found;
}

/* ---- which values --------------------------------------------------------------------------------- */

static void one_sample_is_no_value(void **unused)
{
    (void)unused;
    uint64_t others[MORE] = {9, 9, 9};
    assert_int_equal(sonde__plan_others((uint64_t[]){1, 2, 3, 4, 5, 5}, 6, 5, others), 0);
    assert_int_equal(others[0], 9);
    assert_int_equal(sonde__plan_others(NULL, 0, 0, others), 0);
}

static void the_commonest_come_first(void **unused)
{
    (void)unused;
    const uint64_t samples[] = {1, 2, 3, 3, 2, 0, 3, 0, 8, 7, 7, 8, 8, 8, 1};
    uint64_t others[MORE];
    assert_int_equal(sonde__plan_others(samples, 15, 3, others), 3);
    assert_int_equal(others[0], 8);
    assert_int_equal(others[1], 1); /* of equal ones that which came first */
    assert_int_equal(others[2], 2);
    assert_int_equal(sonde__plan_others(samples, 4, 3, others), 0);
}

/* Each that is told is no worse than each that is not, and there are as many as there can be. */
static void it_is_what_counting_says(void **unused)
{
    (void)unused;
    for (unsigned round = 0; round < DRAWS; round++) {
        const unsigned count = (unsigned)(drawn() % 33), kinds = 1 + (unsigned)(drawn() % 40);
        uint64_t samples[SONDE_PLAN_VOTES], others[MORE];
        for (unsigned i = 0; i < count; i++)
            samples[i] = drawn() % kinds;
        const uint64_t known = count ? vote(samples, count) : 0;
        const unsigned found = sonde__plan_others(samples, count, known, others);
        unsigned can = 0;
        for (uint64_t value = 0; value < kinds; value++) {
            const unsigned votes = among(samples, count, value);
            const bool told = among(others, found, value);
            can += value != known && votes > 1;
            assert_false(told && (value == known || votes < 2));
            for (unsigned i = 0; i < found && value != known && !told; i++)
                assert_true(among(samples, count, others[i]) >= votes);
            assert_true(votes < ALWAYS || told || value == known);
        }
        assert_int_equal(found, can < MORE ? can : MORE);
        for (unsigned i = 1; i < found; i++)
            assert_true(among(samples, count, others[i - 1]) >= among(samples, count, others[i]));
    }
}

/* ---- how often one is missed ------------------------------------------------------------------------ */

/* That at most `most` of the samples are a value with this share: the binomial distribution. */
static double at_most(unsigned most, double share)
{
    double sum = 0, term = 1;
    for (unsigned i = 0; i < SONDE_PLAN_VOTES; i++)
        term *= 1 - share;
    for (unsigned k = 0; k <= most; k++) {
        sum += term;
        term *= (double)(SONDE_PLAN_VOTES - k) / (k + 1) * share / (1 - share);
    }
    return sum;
}

/* Of votes in which each sample is value k with the k-th share, else one that no other is: how many do not find the first. */
static double missed(const double *shares, unsigned count)
{
    unsigned misses = 0;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        uint64_t samples[SONDE_PLAN_VOTES], others[MORE];
        for (unsigned i = 0; i < SONDE_PLAN_VOTES; i++) {
            double at = part();
            unsigned k = 0;
            while (k < count && at >= shares[k])
                at -= shares[k++];
            samples[i] = k < count ? k : 1000 + drawn() % INT64_MAX;
        }
        const uint64_t known = vote(samples, SONDE_PLAN_VOTES);
        const unsigned found = sonde__plan_others(samples, SONDE_PLAN_VOTES, known, others);
        misses += known != 0 && !among(others, found, 0);
    }
    return (double)misses / DRAWS;
}

/* With four standard deviations, and some for where there are hardly any. */
static void assert_bound(double found, double bound)
{
    assert_true((found - bound) * (found - bound) * DRAWS <= 16 * bound * (1 - bound) + 0.01 || found <= bound);
}

static void a_value_is_missed_as_seldom_as_is_said(void **unused)
{
    (void)unused;
    for (double share = 0.05; share < 0.7; share += 0.05) {
        const double rest = (1 - share) / 5, crowd[] = {share, rest, rest, rest, rest, rest}, few[] = {share, 0.3 * (1 - share), 0.3 * (1 - share)};
        assert_bound(missed(&share, 1), at_most(1, share)); /* where no other is seen twice */
        assert_bound(missed(few, 3), at_most(1, share));    /* or no more than can be kept */
        assert_bound(missed(crowd, 6), at_most(ALWAYS - 1, share));
    }
}

/* So that the test above would see it. */
static void a_bound_that_is_too_low_is_broken(void **unused)
{
    (void)unused;
    const double share = 0.1;
    assert_true(missed(&share, 1) > 1.5 * at_most(0, share));
    assert_true(at_most(1, 0.2) > 0.0071 && at_most(1, 0.2) < 0.0072); /* as docs/values.md says */
    assert_true(at_most(ALWAYS - 1, 0.4) > 0.0247 && at_most(ALWAYS - 1, 0.4) < 0.0249);
}

/* ---- the areas of other values: LLVM ----------------------------------------------------------------- */

static struct sonde_plan_guess voted(void)
{
    struct sonde_plan_guess g = {.votes = SONDE_PLAN_VOTES, .value = 5, .slope = 3, .offset = -1, .third = 1, .lock = 77, .logged = 9};
    for (unsigned i = 0; i < SONDE_PLAN_VOTES; i++)
        g.sample[i] = i < 14 ? 5 : i < 25 ? 6
                               : i < 30   ? 7
                                          : 100 + i;
    return g;
}

static void each_turn_has_another_value(void **unused)
{
    (void)unused;
    const struct sonde_plan_guess seen = voted();
    const uint64_t values[] = {6, 7, 5};
    assert_int_equal(sonde__plan_more(&seen), 2);
    for (unsigned turn = 1; turn <= 3; turn++) {
        const struct sonde_plan_guess again = sonde__plan_again(&seen, turn);
        assert_int_equal(again.value, values[turn - 1]);
        assert_int_equal(again.votes, SONDE_PLAN_VOTES);
        assert_int_equal(again.slope, 3);
        assert_int_equal(again.offset, -1);
        assert_int_equal(again.logged, 0); /* nobody's samples count twice */
        assert_int_equal(again.lock, 0);
    }
}

static void nothing_is_told_of_a_vote_that_is_not_over(void **unused)
{
    (void)unused;
    struct sonde_plan_guess seen = voted();
    seen.votes--;
    assert_int_equal(sonde__plan_more(&seen), 0);
    assert_int_equal(sonde__plan_again(&seen, 1).votes, 0);
}

/* ---- the same: PTX ----------------------------------------------------------------------------------- */

#define STANDS   (1ull << 32)
#define HAS_LINE (65537ull << 33)

static void add_sample(struct sonde_ptx_guess *g, uint64_t bits)
{
    g->sample[g->taken].bits = bits;
    g->sample[g->taken++].index = 7 ^ SONDE_PTX_HIDDEN;
    g->written++;
}

static void each_access_has_its_own(void **unused)
{
    (void)unused;
    struct sonde_ptx_access accesses[] = {
        {.type = SONDE_PTX_SIGNED, .element_bytes = 4, .elements = 1},
        {.type = SONDE_PTX_FLOAT, .element_bytes = 8, .elements = 1},
        {.type = SONDE_PTX_SIGNED, .element_bytes = 4, .elements = 1},
    };
    uint8_t pointer[3] = {0, 1, 0};
    const struct sonde_ptx p = {.accesses = accesses, .access_count = 3};
    const struct sonde_ptx_function f = {.accesses = 3};
    const struct sonde_ptx_flow flow = {.pointer = pointer};
    struct sonde_ptx_guess seen[4] = {{.word = STANDS | 5}, {.word = HAS_LINE, .wide = 1ull << 40 ^ SONDE_PTX_HIDDEN, .slope = 3 ^ SONDE_PTX_HIDDEN, .offset = SONDE_PTX_HIDDEN}}, again[4];
    assert_true(sonde__ptx_front(&f, SONDE_PLAN_GUESSES) <= sizeof seen);
    for (unsigned i = 0; i < SONDE_PTX_SAMPLES; i++) {
        add_sample(&seen[0], i < 12 ? 5 : i % 3);
        add_sample(&seen[1], i % 2 ? 1ull << 40 : 1ull << 41);
        if (i < 20)
            add_sample(&seen[2], 8); /* there was no vote yet */
    }
    assert_int_equal(sonde__ptx_front_more(&p, &f, seen), 3);
    for (unsigned turn = 1; turn <= 3; turn++) {
        memset(again, 0xff, sizeof again);
        sonde__ptx_front_again(&p, &f, &flow, seen, turn, again);
        const struct sonde_ptx_guessed own = sonde__ptx_guessed(&accesses[0], &again[0]), line = sonde__ptx_guessed(&accesses[1], &again[1]);
        assert_true(own.stands && line.stands);
        assert_int_equal(own.value, turn - 1); /* of 12 to 31 seven are multiples of three, seven have a rest of 1, six of 2 */
        assert_int_equal(line.value, turn == 1 ? 1ull << 41 : 1ull << 40);
        assert_int_equal(line.slope, 3);
        assert_int_equal(line.offset, 0);
        assert_int_equal(own.samples, 0);
        assert_int_equal(line.samples, 0);
        assert_true(again[0].taken >= SONDE_PTX_SAMPLES && again[1].taken >= SONDE_PTX_SAMPLES); /* nobody leaves one */
        assert_false(sonde__ptx_guessed(&accesses[2], &again[2]).stands);
        assert_int_equal(again[2].taken, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sample_is_no_value),
        cmocka_unit_test(the_commonest_come_first),
        cmocka_unit_test(it_is_what_counting_says),
        cmocka_unit_test(a_value_is_missed_as_seldom_as_is_said),
        cmocka_unit_test(a_bound_that_is_too_low_is_broken),
        cmocka_unit_test(each_turn_has_another_value),
        cmocka_unit_test(nothing_is_told_of_a_vote_that_is_not_over),
        cmocka_unit_test(each_access_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* clocks.c - clocks of random hosts against what they truly are: each is right to within the bound that is said, at every message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/job/clocks.h"

enum { HOSTS = 4,
       MESSAGES = 400 };

static uint64_t state;

static uint64_t below(uint64_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % n;
}

struct host {
    int64_t shift;
    double drift;
};

/* What its clock shows at a true time. */
static uint64_t shown(const struct host *h, uint64_t ns)
{
    return ns + (uint64_t)h->shift + (uint64_t)(int64_t)(h->drift * (double)ns);
}

struct case_ {
    struct host hosts[HOSTS + 1];
    struct sonde__clocks clocks;
    uint64_t at[MESSAGES], under_way[MESSAGES];
    uint32_t from[MESSAGES], to[MESSAGES];
};

/* They are told in the order of time, backwards, or in no order. */
static int nth(uint64_t seed, int i)
{
    return seed % 3 == 0 ? i : seed % 3 == 1 ? MESSAGES - 1 - i
                                             : i * 173 % MESSAGES;
}

static void tell(struct case_ *c, int i)
{
    const uint64_t from_ns = shown(&c->hosts[c->from[i]], c->at[i]), to_ns = shown(&c->hosts[c->to[i]], c->at[i] + c->under_way[i]);
    assert_int_equal(sonde__clocks_before(&c->clocks, c->from[i], from_ns, c->to[i], to_ns), 0);
}

static void make(struct case_ *c, uint64_t seed, double drift)
{
    state = seed * 0x9e3779b97f4a7c15 + 1;
    for (int i = 1; i <= HOSTS; i++)
        c->hosts[i] = (struct host){(int64_t)(below(1000000000000000) + 20000000000000), drift * ((double)below(2001) - 1000) / 1000};
    for (int i = 0; i < MESSAGES; i++) {
        c->under_way[i] = 2000 + below(4000) + (below(3) ? below(1000000) : 0);
        c->from[i] = 1 + (uint32_t)below(HOSTS);
        do
            c->to[i] = 1 + (uint32_t)below(HOSTS);
        while (c->to[i] == c->from[i]);
        c->at[i] = (uint64_t)i * (100000 + below(2000000));
    }
    for (int i = 0; i < MESSAGES; i++)
        tell(c, nth(seed, i));
    assert_int_equal(sonde__clocks_align(&c->clocks), 0);
}

static uint64_t worst(const struct case_ *c)
{
    uint64_t most = 0;
    for (int i = 0; i < MESSAGES; i++) {
        assert_true(sonde__clocks_agree(&c->clocks, c->from[i], c->to[i]));
        const uint64_t moved = sonde__clocks_move(&c->clocks, c->from[i], shown(&c->hosts[c->from[i]], c->at[i]), c->to[i]), truth = shown(&c->hosts[c->to[i]], c->at[i]);
        const uint64_t error = moved > truth ? moved - truth : truth - moved;
        most = error > most ? error : most;
    }
    return most;
}

/* Before the first message and after the last one. */
static void check_outside(const struct case_ *c, uint64_t ns)
{
    for (uint32_t from = 1; from <= HOSTS; from++)
        for (uint32_t to = 1; to <= HOSTS; to++) {
            const uint64_t here = shown(&c->hosts[from], ns), truth = shown(&c->hosts[to], ns), moved = sonde__clocks_move(&c->clocks, from, here, to);
            const uint64_t error = moved > truth ? moved - truth : truth - moved;
            assert_in_range(error, 0, sonde__clocks_bound(&c->clocks) + sonde__clocks_unsure(&c->clocks, from, here) + sonde__clocks_unsure(&c->clocks, to, truth) + 10);
        }
}

static void test_right_to_within_the_bound(void **unused)
{
    static const double drifts[] = {0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4};
    (void)unused;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct case_ c = {0};
        make(&c, seed, drifts[seed % 6]);
        const uint64_t bound = sonde__clocks_bound(&c.clocks);
        assert_in_range(worst(&c), 0, bound + 10);
        assert_in_range(bound, 1, 60000); /* a tenth of the slow messages' time */
        check_outside(&c, c.at[MESSAGES - 1] + 10000000000);
        check_outside(&c, c.at[MESSAGES - 1] + 3600000000000);
        assert_int_equal(sonde__clocks_unsure(&c.clocks, 2, shown(&c.hosts[2], c.at[MESSAGES / 2])), 0);
        sonde__clocks_fini(&c.clocks);
    }
}

static void test_there_and_back(void **unused)
{
    struct case_ c = {0};
    (void)unused;
    make(&c, 7, 1e-5);
    for (int i = 0; i < MESSAGES; i++) {
        const uint64_t ns = shown(&c.hosts[c.from[i]], c.at[i]), there = sonde__clocks_move(&c.clocks, c.from[i], ns, c.to[i]);
        const uint64_t back = sonde__clocks_move(&c.clocks, c.to[i], there, c.from[i]);
        assert_in_range(back + 4 - ns, 0, 8);
    }
    sonde__clocks_fini(&c.clocks);
}

static void exchange(struct sonde__clocks *clocks, const struct host *hosts, uint32_t a, uint32_t b, uint64_t ns, uint64_t under_way_ns)
{
    assert_int_equal(sonde__clocks_before(clocks, a, shown(&hosts[a], ns), b, shown(&hosts[b], ns + under_way_ns)), 0);
    assert_int_equal(sonde__clocks_before(clocks, b, shown(&hosts[b], ns), a, shown(&hosts[a], ns + under_way_ns)), 0);
}

/* Hosts that are known best by their neighbours, one beside the other, are told by way of one that all know: not by way of thirty. */
static void test_the_short_way(void **unused)
{
    enum { MANY = 60 };
    struct sonde__clocks clocks = {0};
    struct host hosts[MANY + 1] = {{0, 0}};
    (void)unused;
    for (uint32_t i = 1; i <= MANY; i++)
        hosts[i] = (struct host){i * 1000000000000, i * 1e-7};
    for (uint64_t ns = 1000000; ns < 1000000000; ns += 100000000)
        for (uint32_t i = 1; i < MANY; i++) {
            exchange(&clocks, hosts, i, i + 1, ns, 6000);
            exchange(&clocks, hosts, 1, i + 1, ns, 20000);
        }
    assert_int_equal(sonde__clocks_align(&clocks), 0);
    assert_in_range(sonde__clocks_bound(&clocks), 20000, 2 * 40100); /* lines may lean: twice as far apart at both ends */
    for (uint32_t from = 1; from <= MANY; from++)
        for (uint32_t to = 1; to <= MANY; to++) {
            const uint64_t truth = shown(&hosts[to], 500000000), moved = sonde__clocks_move(&clocks, from, shown(&hosts[from], 500000000), to);
            assert_in_range(moved + 100 - truth, 0, 200);
        }
    sonde__clocks_fini(&clocks);
}

/* One way only there is no telling; nor where a clock was set. */
static void test_unknown(void **unused)
{
    struct sonde__clocks one_way = {0}, set = {0};
    assert_int_equal(sonde__clocks_host(&set, "one-7-0"), 1);
    assert_int_equal(sonde__clocks_host(&set, "other-8-0"), 2);
    (void)unused;
    for (uint64_t i = 1; i < 10; i++) {
        assert_int_equal(sonde__clocks_before(&one_way, 1, 1000 * i, 2, 1000 * i + 500), 0);
        assert_int_equal(sonde__clocks_before(&set, 1, 1000 * i, 2, 1000 * i + 500 + (i > 5 ? 1000000000 : 0)), 0);
        assert_int_equal(sonde__clocks_before(&set, 2, 1000 * i + (i > 5 ? 1000000000 : 0), 1, 1000 * i + 500), 0);
    }
    assert_int_equal(sonde__clocks_align(&one_way), 0);
    assert_int_equal(sonde__clocks_align(&set), 0);
    assert_false(sonde__clocks_agree(&one_way, 1, 2));
    assert_false(sonde__clocks_agree(&set, 1, 2));
    const char *first, *second;
    assert_false(sonde__clocks_contradict(&one_way, &first, &second));
    assert_true(sonde__clocks_contradict(&set, &first, &second));
    assert_string_equal(first, "one");
    assert_string_equal(second, "other");
    assert_int_equal(sonde__clocks_bound(&one_way), 0);
    assert_true(sonde__clocks_agree(&set, 2, 2));
    assert_int_equal(sonde__clocks_move(&set, 2, 77, 2), 77);
    sonde__clocks_fini(&one_way);
    sonde__clocks_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_to_within_the_bound),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_the_short_way),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

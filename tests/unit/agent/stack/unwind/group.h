/* group.h - a cmocka group whose every test walks with an oracle of its own, `o`. Include once per program. */
#ifndef UNWIND_GROUP_H
#define UNWIND_GROUP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle.h"

#define NOINLINE __attribute__((noinline))

static struct oracle *o;
static volatile unsigned sink; /* keeps calls from becoming jumps */

static NOINLINE void check(void)
{
    oracle_check(o);
    sink++;
}

static void none_differ(void)
{
    assert_int_equal(o->mismatches, 0);
    assert_true(o->walks > 0);
}

static int set_up(void **state)
{
    (void)state;
    o = oracle_create();
    return o ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    oracle_destroy(o);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

#endif

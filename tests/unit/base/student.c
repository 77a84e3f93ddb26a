/* student.c - Student's t against a printed table (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2), closed forms, and itself. */
#include "base/student.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_table(void **state)
{
    static const struct { double freedom, t90, t95, t99; } table[] = {
        {1, 6.314, 12.706, 63.657},
        {2, 2.920, 4.303, 9.925},
        {3, 2.353, 3.182, 5.841},
        {5, 2.015, 2.571, 4.032},
        {9, 1.833, 2.262, 3.250},
        {19, 1.729, 2.093, 2.861},
        {30, 1.697, 2.042, 2.750},
        {100, 1.660, 1.984, 2.626},
        {1e9, 1.645, 1.960, 2.576},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(fabs(sonde_student_limit(table[i].freedom, .90) - table[i].t90) < 6e-4);
        assert_true(fabs(sonde_student_limit(table[i].freedom, .95) - table[i].t95) < 6e-4);
        assert_true(fabs(sonde_student_limit(table[i].freedom, .99) - table[i].t99) < 6e-4);
    }
}

static void closed_forms(void **state)
{
    (void)state;
    for (double t = -50; t <= 50; t += .37) {
        assert_true(fabs(sonde_student_tail(t, 1) - (1 - 2 * atan(fabs(t)) / acos(-1))) < 1e-12);
        assert_true(fabs(sonde_student_tail(t, 2) - (1 - fabs(t) / sqrt(2 + t * t))) < 1e-12);
    }
    assert_true(sonde_student_tail(0, 7) == 1);
    assert_true(sonde_student_tail(INFINITY, 7) == 0);
}

static void one_undoes_the_other(void **state)
{
    (void)state;
    for (double freedom = .5; freedom < 1e6; freedom *= 1.7)
        for (double confidence = .05; confidence < 1; confidence += .05)
            assert_true(fabs(sonde_student_tail(sonde_student_limit(freedom, confidence), freedom) - (1 - confidence)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(one_undoes_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

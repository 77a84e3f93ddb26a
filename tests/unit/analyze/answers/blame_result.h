/* blame_result.h - idleness blame of a made-up measurement, for the files that test it. */
#ifndef SONDE_TESTS_BLAME_RESULT_H
#define SONDE_TESTS_BLAME_RESULT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/blame/blame.h"
#include "scene.h"

struct result {
    struct sonde_measurement *m;
    struct sonde_profile *profile;
    struct sonde_blame blame;
};

static inline struct result compute(struct sonde_measurement *m, uint32_t threads, uint64_t window_rows)
{
    struct result r = {.m = m};
    const struct sonde_blame_options options = {.threads = threads, .window_rows = window_rows};
    assert_int_equal(sonde_profile_build(m, &r.profile, NULL), 0);
    assert_int_equal(sonde_blame_compute(m, r.profile, &options, &r.blame), 0);
    return r;
}

static inline void finish(struct result *r)
{
    sonde_blame_fini(&r->blame);
    sonde_profile_destroy(r->profile);
    sonde_measurement_close(r->m);
}

/* Exclusive blame of all contexts with a name; waiting time, or (false) the rest. */
static inline double of(const struct result *r, const struct sonde_blame_scope *scope, const char *name, bool waiting)
{
    double sum = 0;
    for (size_t i = 0; i < scope->entries.count; i++) {
        const struct sonde_blame_entry *e = &scope->entries.items[i];
        if (e->node && !strcmp(r->profile->nodes.items[e->node].name, name))
            sum += waiting ? e->waiting_ns : e->working_ns;
    }
    return sum;
}

/* The same in which a thread was in it, whatever others did. */
static inline double whole_of(const struct result *r, const struct sonde_blame_scope *scope, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < scope->entries.count; i++)
        if (scope->entries.items[i].node && !strcmp(r->profile->nodes.items[scope->entries.items[i].node].name, name))
            sum += scope->entries.items[i].whole_ns;
    return sum;
}

static inline void equal(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        fail_msg("%.9f is not %.9f", a, b);
}

static inline void pause_at(struct scene *s, uint64_t from_ns, uint64_t to_ns)
{
    const struct sonde_row_pause row = {.from_ns = from_ns, .to_ns = to_ns};
    synth_add(scene_build(s), SONDE_TABLE_PAUSE, 0, &row);
}

#endif

/* rewrite_read.c - the host's side of instrumented copies: areas and guesses as they start, and what is in them (rewrite.h). */
#include <math.h>
#include <string.h>

#include "rewrite_copy.h"

#define NAN_BITS 0x7fc00000u

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static void *values_at(const struct sonde_plan *plan, const void *part, uint32_t k)
{
    return (char *)(uintptr_t)part + sonde__plan_values_at(plan) + k * sizeof(struct sonde_plan_values);
}

void sonde__ptx_start(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_plan *plan, void *part)
{
    const struct sonde_ptx_narrow none = {INT32_MAX, INT32_MIN, INFINITY, -INFINITY};
    sonde__plan_start(plan, part);
    for (uint32_t k = 0; plan->what & SONDE_PLAN_VALUES && k < f->accesses; k++)
        if (p->accesses[f->first_access + k].element_bytes < 8)
            memcpy(values_at(plan, part, k), &none, sizeof none);
}

/* Of a number that a copy kept. */
static uint64_t bits_of(const struct sonde_ptx_access *a, int64_t number)
{
    const uint64_t bits = (uint64_t)(sonde__ptx_is_real(a) ? sonde__plan_ordered(number, a->element_bytes) : number);
    return a->element_bytes >= 8 ? bits : bits & ((1ull << 8 * a->element_bytes) - 1);
}

/* The least and the most stand for all: if they agree in every bit, so do all elements, but for NaNs, of which `any` has the bits then. */
static struct sonde_plan_values values_of(const struct sonde_ptx_access *a, int64_t least, int64_t most, uint64_t any)
{
    const struct sonde_plan_values numbers = {bits_of(a, least) | bits_of(a, most) | any, bits_of(a, least) & bits_of(a, most), least, most};
    return least <= most ? numbers : (any ? (struct sonde_plan_values){any, any, INT64_MAX, INT64_MIN} : sonde__plan_none);
}

static struct sonde_plan_values narrow_values_of(const struct sonde_ptx_access *a, struct sonde_ptx_narrow n)
{
    const bool has_nan = sonde__ptx_is_real(a) && n.least == INT32_MIN, has_number = !has_nan || n.most > INT32_MIN;
    if (!has_nan)
        return n.least <= n.most ? values_of(a, n.least, n.most, 0) : sonde__plan_none;
    struct sonde_plan_values v = values_of(a, has_number ? n.most : INT64_MAX, has_number ? n.most : INT64_MIN, NAN_BITS);
    v.least = has_number ? n.least : v.least;
    return v;
}

uint64_t sonde__ptx_found(const struct sonde_ptx_access *a, const struct sonde_plan *plan, const void *part, uint32_t k, struct sonde_plan_values *values)
{
    const uint64_t count = sonde__plan_read(plan, part, a->block, k, values);
    struct sonde_ptx_narrow n;
    if (!(plan->what & SONDE_PLAN_VALUES) || a->element_bytes > 8)
        return count;
    memcpy(&n, values_at(plan, part, k), sizeof n);
    *values = a->element_bytes < 8 ? narrow_values_of(a, n) : values_of(a, values->least, values->most, values->any);
    return count;
}

/* ---- guesses --------------------------------------------------------------------------------------------------------- */

size_t sonde__ptx_front(const struct sonde_ptx_function *f, uint32_t what)
{
    return what & SONDE_PLAN_GUESSES ? (sonde__ptx_guesses(f) * sizeof(struct sonde_ptx_guess) + SONDE_PTX_CACHE_LINE - 1) / SONDE_PTX_CACHE_LINE * SONDE_PTX_CACHE_LINE : 0;
}

static enum sonde_ptx_line line_of(const struct sonde_ptx_access *a, const struct sonde_ptx_flow *flow, uint32_t k)
{
    if (!flow->pointer[k])
        return SONDE_PTX_LINE_NONE;
    if (sonde__ptx_is_real(a))
        return a->element_bytes == 8 ? SONDE_PTX_LINE_DOUBLE : SONDE_PTX_LINE_FLOAT;
    return a->type == SONDE_PTX_SIGNED || a->element_bytes >= 4 ? SONDE_PTX_LINE_SIGNED : SONDE_PTX_LINE_UNSIGNED;
}

void sonde__ptx_front_start(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, void *front)
{
    struct sonde_ptx_guess *guess = front;
    memset(front, 0, sonde__ptx_front(f, SONDE_PLAN_GUESSES));
    for (uint32_t k = 0; k < sonde__ptx_guesses(f); k++) {
        const struct sonde_ptx_access *a = &p->accesses[f->first_access + k];
        guess[k].line = line_of(a, flow, k);
        guess[k].shift = 64 - 8u * (a->element_bytes < 8 ? a->element_bytes : 8);
    }
}

struct sonde_ptx_guessed sonde__ptx_guessed(const struct sonde_ptx_access *a, const struct sonde_ptx_guess *guess)
{
    const uint32_t flags = (uint32_t)(guess->word >> 32);
    const bool has_line = flags >> 16;
    const uint32_t there = guess->taken < SONDE_PTX_SAMPLES ? guess->taken : SONDE_PTX_SAMPLES;
    struct sonde_ptx_guessed g = {
        .stands = flags && (a->element_bytes < 8 || guess->wide) && (!has_line || (guess->slope && guess->offset)),
        .value = a->element_bytes == 8 ? guess->wide ^ SONDE_PTX_HIDDEN : (uint32_t)guess->word,
        .slope = has_line ? guess->slope ^ SONDE_PTX_HIDDEN : 0,
        .offset = has_line ? guess->offset ^ SONDE_PTX_HIDDEN : 0,
    };
    for (uint32_t s = 0; g.stands && s < there; s++) {
        const uint64_t bits = guess->sample[s].bits, index = guess->sample[s].index;
        if (!index)
            continue;
        g.samples++;
        g.equal += bits == g.value;
        g.lined += g.slope && sonde__plan_lined(g.slope, g.offset, sonde__ptx_is_real(a), a->element_bytes, bits, index ^ SONDE_PTX_HIDDEN);
    }
    return g;
}

/* Of a guess that stands. */
static unsigned others_of(const struct sonde_ptx_guess *guess, uint64_t known, uint64_t others[SONDE_PLAN_COMMON - 1])
{
    uint64_t samples[SONDE_PTX_SAMPLES];
    unsigned count = 0;
    for (uint32_t s = 0; s < SONDE_PTX_SAMPLES; s++)
        if (guess->sample[s].index) /* it is there */
            samples[count++] = guess->sample[s].bits;
    return sonde__plan_others(samples, count, known, others);
}

unsigned sonde__ptx_front_more(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const void *seen)
{
    const struct sonde_ptx_guess *guess = seen;
    uint64_t others[SONDE_PLAN_COMMON - 1];
    unsigned most = 0;
    for (uint32_t k = 0; k < sonde__ptx_guesses(f); k++) {
        const struct sonde_ptx_guessed g = sonde__ptx_guessed(&p->accesses[f->first_access + k], &guess[k]);
        const unsigned more = g.stands ? others_of(&guess[k], g.value, others) : 0;
        most = more > most ? more : most;
    }
    return most;
}

/* Nobody leaves samples any more. */
static void stand_again(struct sonde_ptx_guess *guess, const struct sonde_ptx_guess *seen, uint64_t value)
{
    guess->word = seen->word >> 32 << 32 | (uint32_t)value;
    guess->wide = value ^ SONDE_PTX_HIDDEN;
    guess->slope = seen->slope;
    guess->offset = seen->offset;
    guess->taken = guess->written = SONDE_PTX_SAMPLES;
}

void sonde__ptx_front_again(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, const void *seen, unsigned turn,
                            void *front)
{
    const struct sonde_ptx_guess *before = seen;
    struct sonde_ptx_guess *guess = front;
    sonde__ptx_front_start(p, f, flow, front);
    for (uint32_t k = 0; k < sonde__ptx_guesses(f); k++) {
        const struct sonde_ptx_guessed g = sonde__ptx_guessed(&p->accesses[f->first_access + k], &before[k]);
        uint64_t others[SONDE_PLAN_COMMON - 1];
        const unsigned more = g.stands ? others_of(&before[k], g.value, others) : 0;
        if (g.stands)
            stand_again(&guess[k], &before[k], turn <= more ? others[turn - 1] : g.value);
    }
}

/* rewrite_results.c - at the kernel's end: the least and the most of each access to the launch's area, of doubles OR, too.
 *
 * Words go one way only, so that nearly all threads have nothing to add: a look at what is known, without a branch between. Of those that have,
 * accesses of elements below eight bytes are gone through in a loop.
 */
#include <stdio.h>

#include "rewrite_copy.h"

#define LOOPED_LEAST 3
#define LOOPED_MOST  32u /* a bit for each */

/* The least (`letter` l) or the most (h) to `word`. A float becomes an integer that is ordered as floats are: sonde__plan_ordered. */
static void put_number(struct copy *c, const struct sonde_ptx_access *a, char letter, uint32_t k, const char *word)
{
    const unsigned wide = a->element_bytes == 8 ? 64 : 32;
    const char *rest = wide == 64 ? "0x7FFFFFFFFFFFFFFF" : "0x7FFFFFFF", *spare = wide == 64 ? "%sonde_w" : "%sonde_v";
    say(c->out, "mov.b%u %s, %%sonde_%c%u;\n", wide, word, letter, k);
    if (sonde__ptx_is_real(a))
        say(c->out, "shr.s%u %s, %s, %u;\nand.b%u %s, %s, %s;\nxor.b%u %s, %s, %s;\n", wide, spare, word, wide - 1, wide, spare, spare, rest, wide, word, word, spare);
}

/* Both. Where there were NaNs alone, or nothing, there is no most, and no least; of floats that are not doubles, the least is
 * INT32_MIN where one was NaN. */
static void put_numbers(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, const char *least, const char *most)
{
    const unsigned wide = a->element_bytes == 8 ? 64 : 32;
    put_number(c, a, 'l', k, least);
    put_number(c, a, 'h', k, most);
    if (!sonde__ptx_is_real(a))
        return;
    say(c->out, "setp.nan.f%u %%sonde_any, %%sonde_h%u, %%sonde_h%u;\n@%%sonde_any mov.b%u %s, %s;\n@%%sonde_any mov.b%u %s, %s;\n", wide, k, k, wide, least,
        wide == 64 ? "0x7FFFFFFFFFFFFFFF" : "0x7FFFFFFF", wide, most, wide == 64 ? "0x8000000000000000" : "0x80000000");
    if (sonde__ptx_has_bits(a))
        return;
    if (sonde__ptx_has_flag(c, a))
        say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_o%u, 0;\n", k);
    else
        say(c->out, "setp.nan.f32 %%sonde_any, %%sonde_l%u, %%sonde_l%u;\n", k, k);
    say(c->out, "@%%sonde_any mov.b32 %s, 0x80000000;\n", least);
}

static size_t place_of(const struct copy *c, uint32_t k)
{
    const struct sonde_plan plan = sonde__ptx_plan(c->f, c->plan);
    return sonde__plan_counts(&plan) + k * sizeof(struct sonde_plan_values);
}

static bool is_narrow_real(const struct sonde_ptx_access *a)
{
    return sonde__ptx_is_real(a) && a->element_bytes < 8;
}

/* Has the access something to add to its words, read as `load` does? Then %sonde_any. */
static void put_news(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, const char *load)
{
    const size_t at = place_of(c, k);
    if (a->element_bytes == 8) {
        put_numbers(c, a, k, "%sonde_n0", "%sonde_n1");
        say(c->out, "%s.v2.b64 {%%sonde_y0, %%sonde_y1}, [%%sonde_p+%zu];\n", load, at + offsetof(struct sonde_plan_values, least));
        say(c->out, "setp.lt.s64 %%sonde_any, %%sonde_n0, %%sonde_y0;\nsetp.gt.or.s64 %%sonde_any, %%sonde_n1, %%sonde_y1, %%sonde_any;\n");
    } else {
        put_numbers(c, a, k, "%sonde_q0", "%sonde_q1");
        say(c->out, "%s.v2.b32 {%%sonde_x0, %%sonde_x1}, [%%sonde_p+%zu];\n", load, at);
        say(c->out, "setp.lt.s32 %%sonde_any, %%sonde_q0, %%sonde_x0;\nsetp.gt.or.s32 %%sonde_any, %%sonde_q1, %%sonde_x1, %%sonde_any;\n");
    }
    if (sonde__ptx_has_bits(a))
        say(c->out, "%s.b64 %%sonde_y0, [%%sonde_p+%zu];\nnot.b64 %%sonde_y0, %%sonde_y0;\nand.b64 %%sonde_y0, %%sonde_y0, %%sonde_o%u;\n"
                    "setp.ne.or.b64 %%sonde_any, %%sonde_y0, 0, %%sonde_any;\n",
            load, at + offsetof(struct sonde_plan_values, any), k);
}

/* The same at less cost, perhaps too often: of floats whether one is NaN or not between those that are known. What was never executed has
 * nothing, unless it is_once. */
static void put_look(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!is_narrow_real(a)) {
        put_news(c, a, k, "ld.global");
        return;
    }
    say(c->out, "ld.global.v2.f32 {%%sonde_xf0, %%sonde_xf1}, [%%sonde_p+%zu];\n", place_of(c, k) + offsetof(struct sonde_ptx_narrow, low));
    say(c->out, "setp.ltu.f32 %%sonde_any, %%sonde_l%u, %%sonde_xf0;\nsetp.gt.or.f32 %%sonde_any, %%sonde_h%u, %%sonde_xf1, %%sonde_any;\n", k, k);
    if (sonde__ptx_has_flag(c, a))
        say(c->out, "setp.ne.or.u32 %%sonde_any, %%sonde_o%u, 0, %%sonde_any;\n", k);
}

/* What %sonde_x has, if it has anything, as floats, to [base+at]: an integer below all of them is no number. Others may write at the same
 * time, and the last one stays: it is never more than what is there. Of the warps that come here one in 16 writes, and of its lanes one:
 * where the most grows with each warp, as where numbers ascend, more would wait for each other. Else to `label`. */
static void put_known(struct copy *c, const char *base, size_t at, const char *label)
{
    say(c->out, "mov.u32 %%sonde_v, %%clock;\nand.b32 %%sonde_v, %%sonde_v, 240;\n");
    if (c->p->target >= SONDE_PTX_REDUX_TARGET)
        say(c->out, "activemask.b32 %%sonde_vs;\nmov.u32 %%sonde_q0, %%lanemask_lt;\nand.b32 %%sonde_vs, %%sonde_vs, %%sonde_q0;\nor.b32 %%sonde_v, %%sonde_v, %%sonde_vs;\n");
    say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_v, 0;\nsetp.eq.or.s32 %%sonde_any, %%sonde_x0, 0x7FFFFFFF, %%sonde_any;\n@%%sonde_any bra %s;\n", label);
    for (unsigned n = 0; n < 2; n++) {
        say(c->out, "setp.eq.s32 %%sonde_any, %%sonde_x%u, 0x80000000;\nshr.s32 %%sonde_v, %%sonde_x%u, 31;\nand.b32 %%sonde_v, %%sonde_v, 0x7FFFFFFF;\n", n, n);
        say(c->out, "xor.b32 %%sonde_x%u, %%sonde_x%u, %%sonde_v;\n@%%sonde_any mov.b32 %%sonde_x%u, 0xFF800000;\n", n, n, n);
    }
    say(c->out, "mov.b64 %%sonde_w, {%%sonde_x0, %%sonde_x1};\n%s.b64 [%s+%zu], %%sonde_w;\n",
        c->p->target >= SONDE_PTX_RELAXED_TARGET ? "st.relaxed.gpu.global" : "st.volatile.global", base, at + offsetof(struct sonde_ptx_narrow, low));
}

static void put_result(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const bool wide = a->element_bytes == 8;
    const size_t least = place_of(c, k) + (wide ? offsetof(struct sonde_plan_values, least) : 0);
    const unsigned bits = wide ? 64 : 32;
    const char *n = wide ? "n" : "q";
    put_news(c, a, k, sonde__ptx_shared_load(c));
    if (sonde__ptx_is_once(c, a))
        say(c->out, "setp.ne.and.u32 %%sonde_any, %%sonde_c%u, 0, %%sonde_any;\n", a->block);
    if (is_narrow_real(a)) /* what is known to have been found, with this or without it */
        say(c->out, "min.s32 %%sonde_v, %%sonde_q0, %%sonde_x0;\nmax.s32 %%sonde_vs, %%sonde_q1, %%sonde_x1;\n"
                    "selp.b32 %%sonde_x0, %%sonde_v, %%sonde_x0, %%sonde_any;\nselp.b32 %%sonde_x1, %%sonde_vs, %%sonde_x1, %%sonde_any;\n");
    say(c->out, "@!%%sonde_any bra $sonde_none%u;\n", k);
    if (sonde__ptx_has_bits(a))
        say(c->out, "red.global.or.b64 [%%sonde_p+%zu], %%sonde_o%u;\n", place_of(c, k) + offsetof(struct sonde_plan_values, any), k);
    say(c->out, "red.global.min.s%u [%%sonde_p+%zu], %%sonde_%s0;\nred.global.max.s%u [%%sonde_p+%zu], %%sonde_%s1;\n", bits, least, n, bits, least + bits / 8, n);
    say(c->out, "$sonde_none%u:\n", k);
    if (!is_narrow_real(a))
        return;
    char seen[32];
    snprintf(seen, sizeof seen, "$sonde_seen%u", k);
    put_known(c, "%sonde_p", place_of(c, k), seen);
    say(c->out, "%s:\n", seen);
}

/* ---- the same in a loop: the driver's compiler takes a third of its time for it where it is written for each access -------------- */

static bool is_looped(const struct copy *c, const struct sonde_ptx_access *a)
{
    return sonde__ptx_has_values(c, a) && a->element_bytes < 8 && c->p->target >= SONDE_PTX_NAN_TARGET && c->f->accesses <= LOOPED_MOST;
}

static uint32_t looped(const struct copy *c, bool reals)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < c->f->accesses; k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (is_looped(c, a) && (!reals || is_narrow_real(a)))
            bits |= 1u << k;
    }
    return bits;
}

static bool has_loop(const struct copy *c)
{
    return __builtin_popcount(looped(c, false)) >= LOOPED_LEAST;
}

/* What each has to local memory; the bits of those that were executed to %sonde_todo. */
static void put_looped(struct copy *c)
{
    say(c->out, "mov.u32 %%sonde_todo, 0;\n");
    for (uint32_t k = 0; k < c->f->accesses; k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (!is_looped(c, a))
            continue;
        say(c->out, "st.local.v2.b32 [sonde_held+%u], {%%sonde_l%u, %%sonde_h%u};\n", 8 * k, k, k);
        if (sonde__ptx_is_once(c, a))
            say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_c%u, 0;\n@%%sonde_any or.b32 %%sonde_todo, %%sonde_todo, %u;\n", a->block, 1u << k);
        else
            say(c->out, "or.b32 %%sonde_todo, %%sonde_todo, %u;\n", 1u << k);
    }
}

/* Of one access: the least and the most as put_numbers has them. %sonde_some: it is of floats. */
static void put_looped_numbers(struct copy *c)
{
    const uint32_t reals = looped(c, true);
    say(c->out, "ld.local.v2.b32 {%%sonde_q0, %%sonde_q1}, [%%sonde_n0];\n");
    if (!reals)
        return;
    say(c->out, "and.b32 %%sonde_v, %%sonde_vs, %u;\nsetp.ne.u32 %%sonde_some, %%sonde_v, 0;\nmov.b32 %%sonde_xf0, %%sonde_q0;\nmov.b32 %%sonde_xf1, %%sonde_q1;\n", reals);
    for (unsigned n = 0; n < 2; n++)
        say(c->out, "shr.s32 %%sonde_v, %%sonde_q%u, 31;\nand.b32 %%sonde_v, %%sonde_v, 0x7FFFFFFF;\n@%%sonde_some xor.b32 %%sonde_q%u, %%sonde_q%u, %%sonde_v;\n", n, n, n);
    say(c->out, "setp.nan.and.f32 %%sonde_any, %%sonde_xf1, %%sonde_xf1, %%sonde_some;\n@%%sonde_any mov.b32 %%sonde_q0, 0x7FFFFFFF;\n@%%sonde_any mov.b32 %%sonde_q1, 0x80000000;\n"
                "setp.nan.and.f32 %%sonde_any, %%sonde_xf0, %%sonde_xf0, %%sonde_some;\n@%%sonde_any mov.b32 %%sonde_q0, 0x80000000;\n");
}

static void put_loop(struct copy *c)
{
    const size_t at = place_of(c, 0);
    put_looped(c);
    say(c->out, "$sonde_result:\nsetp.eq.u32 %%sonde_any, %%sonde_todo, 0;\n@%%sonde_any bra $sonde_resulted;\n"
                "bfind.u32 %%sonde_v, %%sonde_todo;\nmov.u32 %%sonde_vs, 1;\nshl.b32 %%sonde_vs, %%sonde_vs, %%sonde_v;\nxor.b32 %%sonde_todo, %%sonde_todo, %%sonde_vs;\n"
                "mul.wide.u32 %%sonde_h, %%sonde_v, %zu;\nadd.s64 %%sonde_h, %%sonde_h, %%sonde_p;\n",
        sizeof(struct sonde_plan_values));
    say(c->out, "mul.wide.u32 %%sonde_n1, %%sonde_v, 8;\nmov.u64 %%sonde_n0, sonde_held;\nadd.s64 %%sonde_n0, %%sonde_n0, %%sonde_n1;\n");
    put_looped_numbers(c);
    say(c->out, "%s.v2.b32 {%%sonde_x0, %%sonde_x1}, [%%sonde_h+%zu];\nsetp.lt.s32 %%sonde_any, %%sonde_q0, %%sonde_x0;\n"
                "setp.gt.or.s32 %%sonde_any, %%sonde_q1, %%sonde_x1, %%sonde_any;\nmin.s32 %%sonde_x0, %%sonde_x0, %%sonde_q0;\nmax.s32 %%sonde_x1, %%sonde_x1, %%sonde_q1;\n",
        sonde__ptx_shared_load(c), at);
    say(c->out, "@!%%sonde_any bra $sonde_same;\nred.global.min.s32 [%%sonde_h+%zu], %%sonde_q0;\nred.global.max.s32 [%%sonde_h+%zu], %%sonde_q1;\n$sonde_same:\n", at, at + 4);
    if (looped(c, true)) {
        say(c->out, "@!%%sonde_some bra $sonde_result;\n");
        put_known(c, "%sonde_h", at, "$sonde_result");
    }
    say(c->out, "bra $sonde_result;\n$sonde_resulted:\n");
}

/* ---- and both ------------------------------------------------------------------------------------------------------------------- */

/* Has one of the accesses of the block that begins with `k` something to add? Then %sonde_news, too. Returns the next block's first. */
static uint32_t put_looks(struct copy *c, uint32_t k)
{
    const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access];
    const uint32_t first = k;
    bool any = false;
    for (; k < c->f->accesses && a[k].block == a[first].block; k++)
        if (sonde__ptx_has_values(c, &a[k])) {
            put_look(c, &a[k], k);
            say(c->out, any ? "or.pred %%sonde_some, %%sonde_some, %%sonde_any;\n" : "mov.pred %%sonde_some, %%sonde_any;\n");
            any = true;
        }
    if (any && sonde__ptx_is_once(c, &a[first]))
        say(c->out, "setp.ne.and.u32 %%sonde_some, %%sonde_c%u, 0, %%sonde_some;\n", a[first].block);
    if (any)
        say(c->out, "or.pred %%sonde_news, %%sonde_news, %%sonde_some;\n");
    return k;
}

/* Words go one way only: whoever has nothing to add sees it in the multiprocessor's cache, though what is there may be old. That is
 * nearly everybody: one look at all of them, without a branch between. */
void sonde__ptx_results(struct copy *c)
{
    say(c->out, ".reg .pred %%sonde_some;\n.reg .f32 %%sonde_xf<2>;\n.reg .b32 %%sonde_todo;\nsetp.ne.u32 %%sonde_news, %%sonde_m, %%sonde_m;\n");
    if (has_loop(c))
        say(c->out, ".local .align 8 .b8 sonde_held[%u];\n", 8 * c->f->accesses);
    for (uint32_t k = 0; k < c->f->accesses;)
        k = put_looks(c, k);
    say(c->out, "@!%%sonde_news bra $sonde_known;\n");
    if (has_loop(c))
        put_loop(c);
    for (uint32_t k = 0; k < c->f->accesses; k++)
        if (sonde__ptx_has_values(c, &c->p->accesses[c->f->first_access + k]) && !(has_loop(c) && is_looped(c, &c->p->accesses[c->f->first_access + k])))
            put_result(c, &c->p->accesses[c->f->first_access + k], k);
    say(c->out, "$sonde_known:\n");
}

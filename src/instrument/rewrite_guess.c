/* rewrite_guess.c - frequent values and lines: what an instrumented copy has more for them (rewrite.h, SONDE_PLAN_GUESSES).
 *
 * A thread reads all guesses when it begins, through the multiprocessor's cache, in which a guess may be missing that stands already:
 * some warps ask again behind it. In registers a thread has, of each access, the value, how many of its elements were equal, and how many
 * lay on the line, which is read with each access: few have one. Of one access that has no guess yet, another one for each two lanes, it
 * keeps the last element and its index, which become a sample. A guess is never changed, so that what is counted is counted against one.
 *
 * The vote is by Boyer and Moore's majority algorithm (MJRTY, 1981), as in llvm_guess.h: for the value, and for the line through a sample
 * and the one before, which often are neighbours in memory. The line must then hold for most samples, and for three places.
 */
#include <stdio.h>
#include <string.h>

#include "rewrite_copy.h"

#define LINE           128u /* bytes of a cache line */
#define PICKS_LEAST    8u   /* so that at most four lanes of a warp have samples of the same access */
#define BLOCKS_MANY    4096u
#define SHARE          1024u /* executions */
#define LINED_LEAST    "24" /* of the samples, for a line to stand */
#define WORD_BITS      32u
#define HIDDEN         "0x5BD1E995C2B2AE3D" /* SONDE_PTX_HIDDEN */

_Static_assert(SONDE_PTX_HIDDEN == 0x5BD1E995C2B2AE3D && SONDE_PTX_SAMPLES == 32 && offsetof(struct sonde_ptx_guess, slope) == 576 &&
                   offsetof(struct sonde_ptx_guess, offset) == 584 && offsetof(struct sonde_ptx_guess, taken) == 16 &&
                   offsetof(struct sonde_ptx_guess, written) == 20 && offsetof(struct sonde_ptx_guess, line) == 24 &&
                   offsetof(struct sonde_ptx_guess, sample) == 64 && sizeof(struct sonde_ptx_guess) % LINE == 0 &&
                   SONDE_PTX_LINE_SIGNED == 1 && SONDE_PTX_LINE_FLOAT == 3 && SONDE_PTX_LINE_DOUBLE == 4,
               "the texts below have them");

/* ---- the host's side ---------------------------------------------------------------------------------------------------- */

static uint32_t guesses(const struct sonde_ptx_function *f)
{
    return f->accesses < SONDE_PTX_GUESSES ? f->accesses : SONDE_PTX_GUESSES;
}

size_t sonde__ptx_front(const struct sonde_ptx_function *f, uint32_t what)
{
    return what & SONDE_PLAN_GUESSES ? (guesses(f) * sizeof(struct sonde_ptx_guess) + LINE - 1) / LINE * LINE : 0;
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
    for (uint32_t k = 0; k < guesses(f); k++) {
        const struct sonde_ptx_access *a = &p->accesses[f->first_access + k];
        guess[k].line = line_of(a, flow, k);
        guess[k].shift = 64 - 8u * (a->element_bytes < 8 ? a->element_bytes : 8);
    }
}

struct sonde_ptx_guessed sonde__ptx_guessed(const struct sonde_ptx_access *a, const struct sonde_ptx_guess *guess)
{
    const uint32_t flags = (uint32_t)(guess->word >> 32);
    const uint32_t there = guess->taken < SONDE_PTX_SAMPLES ? guess->taken : SONDE_PTX_SAMPLES;
    struct sonde_ptx_guessed g = {
        .stands = flags && (a->element_bytes < 8 || guess->wide) && (flags == 1 || (guess->slope && guess->offset)),
        .value = a->element_bytes == 8 ? guess->wide ^ SONDE_PTX_HIDDEN : (uint32_t)guess->word,
        .slope = flags > 1 ? guess->slope ^ SONDE_PTX_HIDDEN : 0,
        .offset = flags > 1 ? guess->offset ^ SONDE_PTX_HIDDEN : 0,
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

/* ---- which accesses ------------------------------------------------------------------------------------------------------- */

/* Is any of its elements kept? */
static bool is_kept(const struct copy *c, const struct sonde_ptx_access *a)
{
    for (uint32_t i = 0; i < a->values.bytes; i++)
        if (!strchr("{}_, \t\n", c->p->text[a->values.at + i]))
            return true;
    return false;
}

static bool has_guess(const struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    return c->plan & SONDE_PLAN_GUESSES && k < SONDE_PTX_GUESSES && sonde__ptx_has_values(c, a) && is_kept(c, a);
}

static bool has_line(const struct copy *c, uint32_t k)
{
    return c->flow.pointer[k];
}

static size_t guess_at(uint32_t k)
{
    return k * sizeof(struct sonde_ptx_guess);
}

static uint32_t bit_of(uint32_t k)
{
    return 1u << k % WORD_BITS;
}

/* ---- at the kernel's beginning -------------------------------------------------------------------------------------------- */

static void put_registers(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, ".reg .b64 %%sonde_gq%u;\n.reg .b%u %%sonde_gv%u;\n.reg .b32 %%sonde_ge%u;\nmov.u32 %%sonde_ge%u, 0;\n", k, a->element_bytes == 8 ? 64u : 32u, k, k, k);
    if (has_line(c, k))
        say(c->out, ".reg .b32 %%sonde_gl%u;\nmov.u32 %%sonde_gl%u, 0;\n", k, k);
}

/* The word of the guess to %sonde_gq; of 8 bytes the other one, too, to %sonde_gv. */
static void put_load(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, const char *predicate, const char *load)
{
    if (a->element_bytes == 8)
        say(c->out, "%s%s.v2.b64 {%%sonde_gq%u, %%sonde_gv%u}, [%%sonde_gfront+%zu];\n", predicate, load, k, k, guess_at(k));
    else
        say(c->out, "%s%s.b64 %%sonde_gq%u, [%%sonde_gfront+%zu];\n", predicate, load, k, guess_at(k));
}

static void put_load_again(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, "setp.eq.b64 %%sonde_any, %%sonde_gq%u, 0;\n", k);
    if (a->element_bytes == 8)
        say(c->out, "setp.eq.or.b64 %%sonde_any, %%sonde_gv%u, 0, %%sonde_any;\n", k);
    put_load(c, a, k, "@%sonde_any ", sonde__ptx_shared_load(c));
}

/* Does the guess stand, and has it a line? */
static void put_stands(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (a->element_bytes == 8)
        say(c->out, "setp.eq.b64 %%sonde_any, %%sonde_gv%u, 0;\nxor.b64 %%sonde_gv%u, %%sonde_gv%u, " HIDDEN ";\nmov.b64 {%%sonde_gw, %%sonde_gt}, %%sonde_gq%u;\n"
                    "setp.eq.or.u32 %%sonde_any, %%sonde_gt, 0, %%sonde_any;\n",
            k, k, k, k);
    else
        say(c->out, "mov.b64 {%%sonde_gv%u, %%sonde_gt}, %%sonde_gq%u;\nsetp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n", k, k);
    say(c->out, "@%%sonde_any or.b32 %%sonde_gopen%u, %%sonde_gopen%u, %u;\n", k / WORD_BITS, k / WORD_BITS, bit_of(k));
    if (has_line(c, k))
        say(c->out, "setp.eq.u32 %%sonde_gis, %%sonde_gt, 2;\n@%%sonde_gis or.b32 %%sonde_gline%u, %%sonde_gline%u, %u;\n", k / WORD_BITS, k / WORD_BITS, bit_of(k));
}

static size_t line_at(uint32_t k)
{
    return guess_at(k) + offsetof(struct sonde_ptx_guess, slope);
}

/* Of a guess that has one: can it be seen? It is read again where it is needed, through the cache: where it is not there, the thread has no
 * guess. */
static void put_line_read(struct copy *c, uint32_t k)
{
    const uint32_t word = k / WORD_BITS;
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gline%u, %u;\nsetp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_flat%u;\n", word, bit_of(k), k);
    say(c->out, "ld.global.v2.b64 {%%sonde_n0, %%sonde_n1}, [%%sonde_gfront+%zu];\n"
                "setp.eq.b64 %%sonde_any, %%sonde_n0, 0;\nsetp.eq.or.b64 %%sonde_any, %%sonde_n1, 0, %%sonde_any;\n",
        line_at(k));
    say(c->out, "@%%sonde_any or.b32 %%sonde_gopen%u, %%sonde_gopen%u, %u;\n", word, word, bit_of(k));
    say(c->out, "@%%sonde_any and.b32 %%sonde_gline%u, %%sonde_gline%u, %u;\n", word, word, ~bit_of(k));
    say(c->out, "$sonde_flat%u:\n", k);
}

/* Which access a thread has a sample of: another one for each two lanes, and in the next warp of the block for the next two, so that not
 * all samples lie alike. One warp in 32 is lucky. */
static void put_pick(struct copy *c)
{
    uint32_t picks = PICKS_LEAST;
    while (picks < guesses(c->f))
        picks *= 2;
    say(c->out, "mov.u32 %%sonde_gt, %%clock;\nand.b32 %%sonde_gw, %%sonde_gt, 992;\nsetp.eq.u32 %%sonde_glucky, %%sonde_gw, 0;\n"
                "mov.u32 %%sonde_gt, %%tid.x;\nshr.u32 %%sonde_gt, %%sonde_gt, 5;\nmov.u32 %%sonde_gw, %%ctaid.x;\nadd.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\n");
    say(c->out, "mov.u32 %%sonde_gpick, %%laneid;\nshr.u32 %%sonde_gpick, %%sonde_gpick, 1;\nadd.u32 %%sonde_gpick, %%sonde_gpick, %%sonde_gt;\n"
                "and.b32 %%sonde_gpick, %%sonde_gpick, %u;\n",
        picks - 1);
}

static void put_declarations(struct copy *c)
{
    const uint32_t words = (guesses(c->f) + WORD_BITS - 1) / WORD_BITS;
    say(c->out, ".reg .b32 %%sonde_gopen<%u>, %%sonde_gline<%u>, %%sonde_gpick, %%sonde_gt, %%sonde_gw, %%sonde_gslope, %%sonde_goffset;\n", words, words);
    say(c->out, ".reg .b64 %%sonde_gfront, %%sonde_gi, %%sonde_gx, %%sonde_gs, %%sonde_go;\n.reg .f64 %%sonde_gf;\n.reg .f32 %%sonde_gh;\n"
                ".reg .pred %%sonde_glucky, %%sonde_gis, %%sonde_gmine;\n.local .align 16 .b8 sonde_sample[16];\n");
    for (uint32_t w = 0; w < words; w++)
        say(c->out, "mov.u32 %%sonde_gopen%u, 0;\nmov.u32 %%sonde_gline%u, 0;\n", w, w);
    say(c->out, "ld.param.u64 %%sonde_gfront, [sonde_area];\ncvta.to.global.u64 %%sonde_gfront, %%sonde_gfront;\nsub.s64 %%sonde_gfront, %%sonde_gfront, %zu;\n",
        sonde__ptx_front(c->f, c->plan));
}

/* None, if that has a guess: of shifts by 32 and more, and of negative ones, nothing is left. */
static void put_pick_open(struct copy *c)
{
    say(c->out, "mov.u32 %%sonde_gw, 0;\n");
    for (uint32_t w = 0; w < (guesses(c->f) + WORD_BITS - 1) / WORD_BITS; w++)
        say(c->out, "sub.u32 %%sonde_gt, %%sonde_gpick, %u;\nshr.u32 %%sonde_gt, %%sonde_gopen%u, %%sonde_gt;\nor.b32 %%sonde_gw, %%sonde_gw, %%sonde_gt;\n",
            w * WORD_BITS, w);
    say(c->out, "and.b32 %%sonde_gw, %%sonde_gw, 1;\nsetp.eq.u32 %%sonde_any, %%sonde_gw, 0;\n@%%sonde_any mov.u32 %%sonde_gpick, 4294967295;\n");
}

/* For each access that has a guess. */
static void put_each(struct copy *c, void (*one)(struct copy *c, const struct sonde_ptx_access *a, uint32_t k))
{
    for (uint32_t k = 0; k < guesses(c->f); k++)
        if (has_guess(c, &c->p->accesses[c->f->first_access + k], k))
            one(c, &c->p->accesses[c->f->first_access + k], k);
}

static void put_first_load(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    put_load(c, a, k, "", "ld.global");
}

static void put_line_if_any(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    if (has_line(c, k))
        put_line_read(c, k);
}

/* Is any bit of these words set? Then %sonde_gt is not 0. */
static void put_any_bit(struct copy *c, const char *words)
{
    say(c->out, "mov.u32 %%sonde_gt, %%sonde_%s0;\n", words);
    for (uint32_t w = 1; w < (guesses(c->f) + WORD_BITS - 1) / WORD_BITS; w++)
        say(c->out, "or.b32 %%sonde_gt, %%sonde_gt, %%sonde_%s%u;\n", words, w);
}

void sonde__ptx_guess_start(struct copy *c)
{
    if (!(c->plan & SONDE_PLAN_GUESSES))
        return;
    put_declarations(c);
    put_pick(c);
    put_each(c, put_registers);
    put_each(c, put_first_load); /* all at once, and one wait */
    say(c->out, "@!%%sonde_glucky bra $sonde_seen;\n");
    put_each(c, put_load_again);
    say(c->out, "$sonde_seen:\n");
    put_each(c, put_stands);
    put_any_bit(c, "gline");
    say(c->out, "setp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_flat;\n");
    put_each(c, put_line_if_any);
    say(c->out, "$sonde_flat:\n");
    put_pick_open(c);
}

/* ---- with an access ------------------------------------------------------------------------------------------------------- */

/* Before it, as a load may change the register that has its address. */
void sonde__ptx_guess_index(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!has_guess(c, a, k) || !has_line(c, k))
        return;
    const struct sonde_ptx_origin origin = c->flow.origins[k];
    say(c->out, "ld.param.u64 %%sonde_gi, [");
    put_span(c->out, c->p, sonde__ptx_parameter(c->p, c->f, origin.parameter));
    say(c->out, "+%u];\nsub.s64 %%sonde_gi, ", origin.offset);
    put_span(c->out, c->p, a->base);
    say(c->out, ", %%sonde_gi;\nadd.s64 %%sonde_gi, %%sonde_gi, %lld;\nshr.s64 %%sonde_gi, %%sonde_gi, %d;\n", (long long)a->offset, __builtin_ctz(a->element_bytes));
}

/* Is element %sonde_gx of this access on its line? */
static void put_lined(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const uint32_t all = a->element_bytes < 4 ? (1u << 8 * a->element_bytes) - 1 : UINT32_MAX;
    if (sonde__ptx_is_real(a)) {
        say(c->out, "@%%sonde_gis cvt.rn.f64.s64 %%sonde_gf, %%sonde_gx;\n@%%sonde_gis mul.rn.f64 %%sonde_gf, %%sonde_gf, %%sonde_gs;\n"
                    "@%%sonde_gis add.rn.f64 %%sonde_gf, %%sonde_gf, %%sonde_go;\n");
        say(c->out, a->element_bytes == 8 ? "setp.eq.and.f64 %%sonde_any, %%sonde_gf, %%sonde_wf, %%sonde_gis;\n"
                                          : "@%%sonde_gis cvt.rn.f32.f64 %%sonde_gh, %%sonde_gf;\nsetp.eq.and.f32 %%sonde_any, %%sonde_gh, %%sonde_vf, %%sonde_gis;\n");
    } else if (a->element_bytes == 8) {
        say(c->out, "mad.lo.s64 %%sonde_gx, %%sonde_gx, %%sonde_gs, %%sonde_go;\nsetp.eq.and.b64 %%sonde_any, %%sonde_gx, %%sonde_w, %%sonde_gis;\n");
    } else {
        say(c->out, "cvt.u32.u64 %%sonde_gw, %%sonde_gx;\nmad.lo.s32 %%sonde_gw, %%sonde_gw, %%sonde_gslope, %%sonde_goffset;\n");
        if (a->element_bytes < 4)
            say(c->out, "and.b32 %%sonde_gw, %%sonde_gw, %u;\n", all);
        say(c->out, "setp.eq.and.b32 %%sonde_any, %%sonde_gw, %%sonde_v, %%sonde_gis;\n");
    }
    say(c->out, "@%%sonde_any add.u32 %%sonde_gl%u, %%sonde_gl%u, 1;\n", k, k);
}

/* Has it a line? %sonde_gis; then that, too: %sonde_gs, %sonde_go. */
void sonde__ptx_guess_elements(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!has_guess(c, a, k) || !has_line(c, k))
        return;
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gline%u, %u;\nsetp.ne.u32 %%sonde_gis, %%sonde_gt, 0;\n", k / WORD_BITS, bit_of(k));
    say(c->out, "@%%sonde_gis ld.global.v2.b64 {%%sonde_gs, %%sonde_go}, [%%sonde_gfront+%zu];\n", line_at(k));
    say(c->out, "@%%sonde_gis xor.b64 %%sonde_gs, %%sonde_gs, " HIDDEN ";\n@%%sonde_gis xor.b64 %%sonde_go, %%sonde_go, " HIDDEN ";\n");
    if (!sonde__ptx_is_real(a) && a->element_bytes < 8)
        say(c->out, "cvt.u32.u64 %%sonde_gslope, %%sonde_gs;\ncvt.u32.u64 %%sonde_goffset, %%sonde_go;\n");
}

void sonde__ptx_guess_element(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, uint32_t element)
{
    if (!has_guess(c, a, k))
        return;
    const bool wide = a->element_bytes == 8;
    say(c->out, "setp.eq.b%u %%sonde_any, %%sonde_%c, %%sonde_gv%u;\n@%%sonde_any add.u32 %%sonde_ge%u, %%sonde_ge%u, 1;\n", wide ? 64u : 32u, wide ? 'w' : 'v', k, k, k);
    if (!has_line(c, k))
        return;
    say(c->out, "add.s64 %%sonde_gx, %%sonde_gi, %u;\n", element);
    put_lined(c, a, k);
}

/* The last of its elements, and which one that is. */
void sonde__ptx_guess_sample(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, uint32_t element)
{
    if (!has_guess(c, a, k))
        return;
    say(c->out, "setp.eq.u32 %%sonde_gmine, %%sonde_gpick, %u;\n", k);
    say(c->out, a->element_bytes == 8 ? "@%%sonde_gmine mov.b64 %%sonde_gx, %%sonde_w;\n" : "@%%sonde_gmine cvt.u64.u32 %%sonde_gx, %%sonde_v;\n");
    if (has_line(c, k))
        say(c->out, "@%%sonde_gmine add.s64 %%sonde_gi, %%sonde_gi, %u;\n", element);
    else
        say(c->out, "@%%sonde_gmine mov.u64 %%sonde_gi, 0;\n");
    say(c->out, "@%%sonde_gmine st.local.v2.b64 [sonde_sample], {%%sonde_gx, %%sonde_gi};\n");
}

/* ---- at the kernel's end -------------------------------------------------------------------------------------------------- */

static size_t found_at(const struct copy *c, uint32_t k)
{
    const struct sonde_plan plan = sonde__ptx_plan(c->f, c->plan);
    return sonde__plan_found_at(&plan) + k * sizeof(struct sonde_plan_found);
}

static void put_found(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    char counter[32];
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gopen%u, %u;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any mov.u32 %%sonde_ge%u, 0;\n", k / WORD_BITS, bit_of(k), k);
    snprintf(counter, sizeof counter, "%%sonde_ge%u", k);
    sonde__ptx_sum(c, counter, found_at(c, k) + offsetof(struct sonde_plan_found, equal));
    snprintf(counter, sizeof counter, "%%sonde_gl%u", k);
    if (has_line(c, k))
        sonde__ptx_sum(c, counter, found_at(c, k) + offsetof(struct sonde_plan_found, lined));
}

/* By threads that have no guess of some access: what of it they did not compare. Is their sample of it? Then its guess to %sonde_gx, and
 * to %sonde_gi how much this multiprocessor did not compare before. */
static void put_unchecked(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const size_t at = found_at(c, k) + offsetof(struct sonde_plan_found, unchecked);
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gopen%u, %u;\nsetp.ne.u32 %%sonde_gis, %%sonde_gt, 0;\nsetp.ne.and.u32 %%sonde_gis, %%sonde_c%u, 0, %%sonde_gis;\n",
        k / WORD_BITS, bit_of(k), a->block);
    say(c->out, "selp.b32 %%sonde_gw, %%sonde_c%u, 0, %%sonde_gis;\nsetp.eq.and.u32 %%sonde_gmine, %%sonde_gpick, %u, %%sonde_gis;\n"
                "@%%sonde_gmine add.s64 %%sonde_gx, %%sonde_gfront, %zu;\n",
        a->block, k, guess_at(k));
    say(c->out, "@%%sonde_gmine %s.u64 %%sonde_gi, [%%sonde_p+%zu];\n", sonde__ptx_shared_load(c), at);
    sonde__ptx_sum(c, "%sonde_gw", at);
}

/* Where there are many blocks, and this multiprocessor has given its share, one warp in 32: all meet at one place. */
static void put_share(struct copy *c)
{
    say(c->out, "mov.u32 %%sonde_gt, %%nctaid.x;\nmov.u32 %%sonde_gw, %%nctaid.y;\nmul.lo.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\n"
                "mov.u32 %%sonde_gw, %%nctaid.z;\nmul.lo.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\nsetp.gt.u32 %%sonde_any, %%sonde_gt, %u;\n",
        BLOCKS_MANY);
    say(c->out, "setp.gt.and.u64 %%sonde_any, %%sonde_gi, %u, %%sonde_any;\nmov.u32 %%sonde_gt, %%clock;\nand.b32 %%sonde_gt, %%sonde_gt, 992;\n"
                "setp.ne.and.u32 %%sonde_any, %%sonde_gt, 0, %%sonde_any;\n@%%sonde_any bra $sonde_guessed;\n",
        SHARE);
}

/* A sample is there before it is counted. Whoever counts the last one votes. */
static void put_sample(struct copy *c)
{
    say(c->out, "setp.eq.u64 %%sonde_any, %%sonde_gx, 0;\n@%%sonde_any bra $sonde_guessed;\n");
    put_share(c);
    say(c->out, "%s.u32 %%sonde_gt, [%%sonde_gx+16];\nsetp.gt.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\n", sonde__ptx_shared_load(c));
    say(c->out, "atom.global.add.u32 %%sonde_gt, [%%sonde_gx+16], 1;\nsetp.gt.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\n");
    say(c->out, "mul.wide.u32 %%sonde_w, %%sonde_gt, 16;\nadd.s64 %%sonde_w, %%sonde_w, %%sonde_gx;\nld.local.v2.b64 {%%sonde_n0, %%sonde_n1}, [sonde_sample];\n"
                "xor.b64 %%sonde_n1, %%sonde_n1, " HIDDEN ";\nst.volatile.global.v2.b64 [%%sonde_w+64], {%%sonde_n0, %%sonde_n1};\nmembar.gl;\n");
    say(c->out, "atom.global.add.u32 %%sonde_gt, [%%sonde_gx+20], 1;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\nmembar.gl;\n");
}

/* In the guess at %sonde_gx; once through the samples for a majority, once to see how many are on the line. Of each r3 is the number, s1
 * and s2 the bits and the index, s3 the number that the bits are; s4 and s5 those of the one before. s6 is the value; s7 and s8 the line
 * through the samples with the indices s9 and s10; z0: the sample is on it; z2: it is of floats; z3: it has a third place. */
static const char *const vote_texts[] = {
    "{\n.reg .b32 %sonde_r<7>;\n.reg .b64 %sonde_s<16>;\n.reg .f64 %sonde_d<5>;\n.reg .f32 %sonde_f<2>;\n.reg .pred %sonde_z<4>;\n"
    "ld.global.v2.u32 {%sonde_r1, %sonde_r2}, [%sonde_gx+24];\nsetp.ge.u32 %sonde_z2, %sonde_r1, 3;\n"
    "mov.u32 %sonde_r3, 0;\nmov.u32 %sonde_r4, 0;\nmov.u32 %sonde_r5, 0;\nmov.u32 %sonde_r6, 0;\n"
    "mov.u64 %sonde_s4, 0;\nmov.u64 %sonde_s5, 0;\nmov.u64 %sonde_s6, 0;\nmov.u64 %sonde_s7, 0;\nmov.u64 %sonde_s8, 0;\nmov.u64 %sonde_s9, 0;\nmov.u64 %sonde_s10, 0;\n"
    "setp.ne.u32 %sonde_z3, %sonde_r3, 0;\n",

    "$sonde_next:\n"
    "and.b32 %sonde_r0, %sonde_r3, 31;\nmul.wide.u32 %sonde_s11, %sonde_r0, 16;\nadd.s64 %sonde_s11, %sonde_s11, %sonde_gx;\n"
    "ld.volatile.global.v2.b64 {%sonde_s1, %sonde_s2}, [%sonde_s11+64];\nxor.b64 %sonde_s2, %sonde_s2, " HIDDEN ";\n"
    "mad.lo.s64 %sonde_s11, %sonde_s7, %sonde_s2, %sonde_s8;\nxor.b64 %sonde_s11, %sonde_s11, %sonde_s1;\nshl.b64 %sonde_s11, %sonde_s11, %sonde_r2;\n"
    "setp.eq.u64 %sonde_z0, %sonde_s11, 0;\n"
    "shl.b64 %sonde_s3, %sonde_s1, %sonde_r2;\nsetp.eq.u32 %sonde_z1, %sonde_r1, 1;\n"
    "@%sonde_z1 shr.s64 %sonde_s3, %sonde_s3, %sonde_r2;\n@!%sonde_z1 shr.u64 %sonde_s3, %sonde_s3, %sonde_r2;\n"
    "@!%sonde_z2 bra $sonde_whole;\n",

    "cvt.u32.u64 %sonde_r0, %sonde_s1;\nmov.b32 %sonde_f0, %sonde_r0;\ncvt.f64.f32 %sonde_d0, %sonde_f0;\nmov.b64 %sonde_d1, %sonde_s1;\n"
    "setp.eq.u32 %sonde_z1, %sonde_r1, 4;\nselp.f64 %sonde_d0, %sonde_d1, %sonde_d0, %sonde_z1;\nmov.b64 %sonde_s3, %sonde_d0;\n"
    "mov.b64 %sonde_d1, %sonde_s7;\nmov.b64 %sonde_d2, %sonde_s8;\ncvt.rn.f64.s64 %sonde_d3, %sonde_s2;\n"
    "mul.rn.f64 %sonde_d3, %sonde_d1, %sonde_d3;\nadd.rn.f64 %sonde_d3, %sonde_d3, %sonde_d2;\n"
    "setp.eq.f64 %sonde_z0, %sonde_d3, %sonde_d0;\n@%sonde_z1 bra $sonde_whole;\n"
    "cvt.rn.f32.f64 %sonde_f1, %sonde_d3;\nsetp.eq.f32 %sonde_z0, %sonde_f1, %sonde_f0;\n"
    "$sonde_whole:\n"
    "setp.ge.u32 %sonde_z1, %sonde_r3, 32;\n@%sonde_z1 bra $sonde_verify;\n",

    /* The value, and the line: who agrees adds a vote, who does not takes one away. */
    "setp.eq.u32 %sonde_z1, %sonde_r4, 0;\n@%sonde_z1 mov.b64 %sonde_s6, %sonde_s1;\nsetp.eq.b64 %sonde_z1, %sonde_s6, %sonde_s1;\n"
    "selp.b32 %sonde_r0, 1, -1, %sonde_z1;\nadd.s32 %sonde_r4, %sonde_r4, %sonde_r0;\n"
    "setp.eq.u32 %sonde_z1, %sonde_r5, 0;\n@%sonde_z1 bra $sonde_own;\n"
    "selp.b32 %sonde_r0, 1, -1, %sonde_z0;\nadd.s32 %sonde_r5, %sonde_r5, %sonde_r0;\nbra $sonde_last;\n",

    /* Its own: unless there is no other before it, at another index, and of integers unless the slope is whole. */
    "$sonde_own:\n"
    "setp.eq.u32 %sonde_z1, %sonde_r3, 0;\n@%sonde_z1 bra $sonde_last;\n"
    "sub.s64 %sonde_s12, %sonde_s2, %sonde_s4;\nsetp.eq.s64 %sonde_z1, %sonde_s12, 0;\n@%sonde_z1 bra $sonde_last;\n"
    "sub.s64 %sonde_s13, %sonde_s3, %sonde_s5;\ncvt.rn.f64.s64 %sonde_d1, %sonde_s13;\n"
    "mov.b64 %sonde_d2, %sonde_s5;\nsub.rn.f64 %sonde_d2, %sonde_d0, %sonde_d2;\nselp.f64 %sonde_d1, %sonde_d2, %sonde_d1, %sonde_z2;\n"
    "cvt.rn.f64.s64 %sonde_d2, %sonde_s12;\nrcp.approx.ftz.f64 %sonde_d3, %sonde_d2;\nneg.f64 %sonde_d2, %sonde_d2;\n" /* Newton's, without a subroutine */
    "fma.rn.f64 %sonde_d4, %sonde_d2, %sonde_d3, 0d3FF0000000000000;\nfma.rn.f64 %sonde_d3, %sonde_d3, %sonde_d4, %sonde_d3;\n"
    "fma.rn.f64 %sonde_d4, %sonde_d2, %sonde_d3, 0d3FF0000000000000;\nfma.rn.f64 %sonde_d3, %sonde_d3, %sonde_d4, %sonde_d3;\n"
    "mul.rn.f64 %sonde_d4, %sonde_d1, %sonde_d3;\nfma.rn.f64 %sonde_d1, %sonde_d2, %sonde_d4, %sonde_d1;\nfma.rn.f64 %sonde_d1, %sonde_d1, %sonde_d3, %sonde_d4;\n"
    "@%sonde_z2 bra $sonde_real;\n"
    "cvt.rni.s64.f64 %sonde_s14, %sonde_d1;\nmul.lo.s64 %sonde_s15, %sonde_s14, %sonde_s12;\n"
    "setp.ne.s64 %sonde_z1, %sonde_s15, %sonde_s13;\nsetp.eq.or.s64 %sonde_z1, %sonde_s14, 0, %sonde_z1;\n@%sonde_z1 bra $sonde_last;\n"
    "mul.lo.s64 %sonde_s15, %sonde_s14, %sonde_s2;\nsub.s64 %sonde_s8, %sonde_s3, %sonde_s15;\nbra $sonde_stand;\n",

    "$sonde_real:\n"
    "setp.equ.f64 %sonde_z1, %sonde_d1, 0d0000000000000000;\n@%sonde_z1 bra $sonde_last;\n"
    "cvt.rn.f64.s64 %sonde_d2, %sonde_s2;\nmul.rn.f64 %sonde_d2, %sonde_d1, %sonde_d2;\nsub.rn.f64 %sonde_d2, %sonde_d0, %sonde_d2;\n"
    "mov.b64 %sonde_s14, %sonde_d1;\nmov.b64 %sonde_s8, %sonde_d2;\n"
    "$sonde_stand:\n"
    "mov.b64 %sonde_s7, %sonde_s14;\nmov.b64 %sonde_s9, %sonde_s4;\nmov.b64 %sonde_s10, %sonde_s2;\nmov.u32 %sonde_r5, 1;\n"
    "$sonde_last:\n"
    "mov.b64 %sonde_s4, %sonde_s2;\nmov.b64 %sonde_s5, %sonde_s3;\nbra $sonde_more;\n",

    "$sonde_verify:\n"
    "selp.b32 %sonde_r0, 1, 0, %sonde_z0;\nadd.s32 %sonde_r6, %sonde_r6, %sonde_r0;\n"
    "setp.ne.and.s64 %sonde_z1, %sonde_s2, %sonde_s9, %sonde_z0;\nsetp.ne.and.s64 %sonde_z1, %sonde_s2, %sonde_s10, %sonde_z1;\nor.pred %sonde_z3, %sonde_z3, %sonde_z1;\n"
    "$sonde_more:\n"
    "add.u32 %sonde_r3, %sonde_r3, 1;\nsetp.lt.u32 %sonde_z1, %sonde_r3, 64;\n@%sonde_z1 bra $sonde_next;\n",

    /* A line that few are on does not stand; nor one where the access has none. The word comes last. */
    "not.pred %sonde_z3, %sonde_z3;\nsetp.lt.or.u32 %sonde_z1, %sonde_r6, " LINED_LEAST ", %sonde_z3;\nsetp.eq.or.u32 %sonde_z1, %sonde_r1, 0, %sonde_z1;\n"
    "setp.eq.or.s64 %sonde_z1, %sonde_s7, 0, %sonde_z1;\nselp.b32 %sonde_r0, 1, 2, %sonde_z1;\n"
    "xor.b64 %sonde_s7, %sonde_s7, " HIDDEN ";\nxor.b64 %sonde_s8, %sonde_s8, " HIDDEN ";\nxor.b64 %sonde_s11, %sonde_s6, " HIDDEN ";\n"
    "st.volatile.global.b64 [%sonde_gx+8], %sonde_s11;\nst.volatile.global.v2.b64 [%sonde_gx+576], {%sonde_s7, %sonde_s8};\nmembar.gl;\n"
    "cvt.u32.u64 %sonde_r5, %sonde_s6;\nmov.b64 %sonde_s11, {%sonde_r5, %sonde_r0};\nst.volatile.global.b64 [%sonde_gx], %sonde_s11;\n}\n",
};

void sonde__ptx_guess_found(struct copy *c)
{
    if (c->plan & SONDE_PLAN_GUESSES)
        put_each(c, put_found);
}

void sonde__ptx_guess_end(struct copy *c)
{
    if (!(c->plan & SONDE_PLAN_GUESSES))
        return;
    put_any_bit(c, "gopen");
    say(c->out, "setp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_guessed;\nmov.u64 %%sonde_gx, 0;\n");
    sonde__ptx_lanes(c); /* fewer than before */
    put_each(c, put_unchecked);
    put_sample(c);
    for (size_t t = 0; t < sizeof vote_texts / sizeof *vote_texts; t++)
        put(c->out, vote_texts[t], strlen(vote_texts[t]));
    say(c->out, "$sonde_guessed:\n");
}

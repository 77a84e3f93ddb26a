/* rewrite_guess.c - frequent values and lines: what an instrumented copy has more for them (rewrite.h, SONDE_PLAN_GUESSES).
 *
 * Of an access that a thread executes once, its one element is still there when the thread ends, as its least, and so is its address: then it
 * is compared, and costs nothing before (`held`). Of the others the thread reads the guesses when it begins, and compares each element when
 * it has it; in registers it has the value and how many were equal. Guesses are read through the multiprocessor's cache, in which one may
 * be missing that stands already: some warps ask again behind it.
 *
 * Where all guesses stand and none has a line, and nothing was equal, a thread is done after one branch: all else is behind that, in
 * texts that go through the accesses in a loop, as each statement costs the driver's compiler time. Of one access that has no guess yet, another one for each two lanes, the last element and its index become a sample. A
 * guess is never changed, so that what is counted is counted against one.
 *
 * The vote is by Boyer and Moore's majority algorithm (MJRTY, 1981), as in llvm_guess.h: for the value, and for the line through a sample
 * and the one before, which often are neighbours in memory. The line must then hold for most samples, and for three places.
 */
#include <stdio.h>
#include <string.h>

#include "rewrite_copy.h"

#define PICKS_LEAST    8u   /* so that at most four lanes of a warp have samples of the same access */
#define BLOCKS_MANY    4096u
#define SELECTED_MOST 4
#define SHARE          1024u /* executions */
#define LINED_LEAST    "24" /* of the samples, for a line to stand */
#define HIDDEN         "0x5BD1E995C2B2AE3D" /* SONDE_PTX_HIDDEN */
#define EVERYBODY      "0xFFFFFFFF"         /* of a warp, when it begins */

_Static_assert(SONDE_PTX_HIDDEN == 0x5BD1E995C2B2AE3D && SONDE_PTX_SAMPLES == 32 && offsetof(struct sonde_ptx_guess, slope) == 576 &&
                   offsetof(struct sonde_ptx_guess, offset) == 584 && offsetof(struct sonde_ptx_guess, taken) == 16 &&
                   offsetof(struct sonde_ptx_guess, written) == 20 && offsetof(struct sonde_ptx_guess, line) == 24 &&
                   offsetof(struct sonde_ptx_guess, sample) == 64 && sizeof(struct sonde_ptx_guess) % SONDE_PTX_CACHE_LINE == 0 &&
                   SONDE_PTX_LINE_SIGNED == 1 && SONDE_PTX_LINE_FLOAT == 3 && SONDE_PTX_LINE_DOUBLE == 4,
               "the texts below have them");
_Static_assert(SONDE_PTX_GUESSES <= 16, "a bit for each, and one for its line");

/* ---- which accesses ------------------------------------------------------------------------------------------------------- */

enum which { /* how an access is compared */
             HELD = 1,   /* when the thread ends */
             OTHERS = 2, /* when it is executed */
};

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

static bool is_held(const struct copy *c, const struct sonde_ptx_access *a)
{
    return sonde__ptx_is_once(c, a) && a->elements == 1;
}

static bool is_other(const struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    return has_guess(c, a, k) && !is_held(c, a);
}

static bool has_line(const struct copy *c, uint32_t k)
{
    return c->flow.pointer[k];
}

static size_t guess_at(uint32_t k)
{
    return k * sizeof(struct sonde_ptx_guess);
}

static size_t line_at(uint32_t k)
{
    return guess_at(k) + offsetof(struct sonde_ptx_guess, slope);
}

static uint32_t bit_of(uint32_t k)
{
    return 1u << k;
}

/* For each access that is compared so. */
static void put_each(struct copy *c, unsigned which, void (*one)(struct copy *c, const struct sonde_ptx_access *a, uint32_t k))
{
    for (uint32_t k = 0; k < sonde__ptx_guesses(c->f); k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (has_guess(c, a, k) && which & (is_held(c, a) ? HELD : OTHERS))
            one(c, a, k);
    }
}

/* Their bits; those of them only that may have lines, of floats or of integers. */
static uint32_t bits_of(const struct copy *c, unsigned which, bool lines, bool real, bool whole)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < sonde__ptx_guesses(c->f); k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (has_guess(c, a, k) && which & (is_held(c, a) ? HELD : OTHERS) && (!lines || has_line(c, k)) && (sonde__ptx_is_real(a) ? real : whole))
            bits |= bit_of(k);
    }
    return bits;
}

static uint32_t all_of(const struct copy *c, unsigned which)
{
    return bits_of(c, which, false, true, true);
}

/* ---- what several have ------------------------------------------------------------------------------------------------------ */

static void put_front(struct copy *c)
{
    say(c->out, "ld.param.u64 %%sonde_gfront, [sonde_area];\ncvta.to.global.u64 %%sonde_gfront, %%sonde_gfront;\nsub.s64 %%sonde_gfront, %%sonde_gfront, %zu;\n",
        sonde__ptx_front(c->f, c->plan));
}

/* Does it hold for any of the lanes that end together? Before SONDE_PTX_REDUX_TARGET each is by itself. */
static void put_any(struct copy *c, const char *predicate)
{
    if (c->p->target >= SONDE_PTX_REDUX_TARGET)
        say(c->out, "vote.sync.any.pred %s, %s, %%sonde_m;\n", predicate, predicate);
}

/* One warp in 32: then not %sonde_any. */
static void put_unlucky(struct copy *c)
{
    say(c->out, "mov.u32 %%sonde_gt, %%clock;\nand.b32 %%sonde_gt, %%sonde_gt, 992;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, 0;\n");
}

/* The word of the guess to %sonde_gq; of 8 bytes the other one, too, to %sonde_gv. */
static void put_load(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, const char *load)
{
    if (a->element_bytes == 8)
        say(c->out, "%s.v2.b64 {%%sonde_gq%u, %%sonde_gv%u}, [%%sonde_gfront+%zu];\n", load, k, k, guess_at(k));
    else
        say(c->out, "%s.b64 %%sonde_gq%u, [%%sonde_gfront+%zu];\n", load, k, guess_at(k));
}

static void put_near_load(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    put_load(c, a, k, "ld.global");
}

static void put_far_load(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    put_load(c, a, k, sonde__ptx_shared_load(c));
}

/* The value to %sonde_gv; whether it stands, and has a line, to its bits of %sonde_gstate. */
static void put_state(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (a->element_bytes == 8)
        say(c->out, "setp.ne.b64 %%sonde_any, %%sonde_gv%u, 0;\nxor.b64 %%sonde_gv%u, %%sonde_gv%u, " HIDDEN ";\nmov.b64 {%%sonde_gw, %%sonde_gt}, %%sonde_gq%u;\n"
                    "@%%sonde_any or.b32 %%sonde_gstate, %%sonde_gstate, %%sonde_gt;\n",
            k, k, k, k);
    else
        say(c->out, "mov.b64 {%%sonde_gv%u, %%sonde_gt}, %%sonde_gq%u;\nor.b32 %%sonde_gstate, %%sonde_gstate, %%sonde_gt;\n", k, k);
}

/* Its distance from where the parameter points, in bytes, to `to`, if the predicate holds. */
static void put_distance(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, const char *predicate, const char *to)
{
    const struct sonde_ptx_origin origin = c->flow.origins[k];
    say(c->out, "ld.param.u64 %%sonde_gi, [");
    put_span(c->out, c->p, sonde__ptx_parameter(c->p, c->f, origin.parameter));
    say(c->out, "+%u];\n%ssub.s64 %s, %%sonde_gb%u, %%sonde_gi;\n%sadd.s64 %s, %s, %lld;\n", origin.offset, predicate, to, k, predicate, to, to, (long long)a->offset);
}

/* Its index to %sonde_gi; 0 where that is not known. */
static void put_index(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!has_line(c, k)) {
        say(c->out, "mov.u64 %%sonde_gi, 0;\n");
        return;
    }
    put_distance(c, a, k, "", "%sonde_gi");
    say(c->out, "shr.s64 %%sonde_gi, %%sonde_gi, %d;\n", __builtin_ctz(a->element_bytes));
}

/* ---- at the kernel's beginning -------------------------------------------------------------------------------------------- */

static void put_registers(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, ".reg .b64 %%sonde_gq%u;\n.reg .b%u %%sonde_gv%u;\n", k, a->element_bytes == 8 ? 64u : 32u, k);
    if (has_line(c, k))
        say(c->out, ".reg .b64 %%sonde_gb%u;\n", k);
    if (is_held(c, a))
        return;
    say(c->out, ".reg .b32 %%sonde_ge%u, %%sonde_gl%u;\n.reg .b%u %%sonde_gk%u_<%u>;\nmov.u32 %%sonde_ge%u, 0;\n", k, k, a->element_bytes == 8 ? 64u : 32u, k,
        a->elements, k);
    if (has_line(c, k))
        say(c->out, "mov.u32 %%sonde_gl%u, 0;\n", k);
}

static void put_declarations(struct copy *c)
{
    say(c->out, ".reg .b32 %%sonde_gstate, %%sonde_geq, %%sonde_gem, %%sonde_gum, %%sonde_gpick, %%sonde_gbit, %%sonde_gt, %%sonde_gw, %%sonde_gslope, %%sonde_goffset;\n"
                ".reg .b64 %%sonde_gfront, %%sonde_gi, %%sonde_gx, %%sonde_gs, %%sonde_go, %%sonde_gplace;\n.reg .f64 %%sonde_gf;\n.reg .f32 %%sonde_gh;\n"
                ".reg .pred %%sonde_gbusy, %%sonde_gis;\n.local .align 16 .b8 sonde_last[%u];\n",
        16 * (sonde__ptx_guesses(c->f) > 1 ? sonde__ptx_guesses(c->f) : 2));
    say(c->out, ".reg .b32 %%sonde_r<7>;\n.reg .b64 %%sonde_s<16>;\n.reg .f64 %%sonde_d<5>;\n.reg .f32 %%sonde_f<2>;\n.reg .pred %%sonde_z<4>;\n");
}

/* Of those that are compared when they are executed. %sonde_gbusy, that some guess is missing or has a line, is that of the whole warp: all its
 * threads begin here. */
void sonde__ptx_guess_start(struct copy *c)
{
    const uint32_t others = all_of(c, OTHERS);
    if (!all_of(c, HELD | OTHERS))
        return;
    put_declarations(c);
    put_each(c, HELD | OTHERS, put_registers);
    say(c->out, "mov.u32 %%sonde_gstate, 0;\n");
    if (!others)
        return;
    put_front(c);
    put_each(c, OTHERS, put_near_load); /* all at once, and one wait */
    put_each(c, OTHERS, put_state);
    say(c->out, "setp.ne.u32 %%sonde_gbusy, %%sonde_gstate, %u;\n", others);
    if (c->p->target >= SONDE_PTX_REDUX_TARGET)
        say(c->out, "vote.sync.any.pred %%sonde_gbusy, %%sonde_gbusy, " EVERYBODY ";\n@!%%sonde_gbusy bra.uni $sonde_seen;\n");
    say(c->out, "and.b32 %%sonde_gw, %%sonde_gstate, %u;\n", others);
    put_unlucky(c);
    say(c->out, "setp.eq.or.u32 %%sonde_any, %%sonde_gw, %u, %%sonde_any;\n@%%sonde_any bra $sonde_seen;\nmov.u32 %%sonde_gstate, 0;\n", others);
    put_each(c, OTHERS, put_far_load);
    put_each(c, OTHERS, put_state);
    say(c->out, "$sonde_seen:\n");
}

/* ---- with an access ------------------------------------------------------------------------------------------------------- */

/* Before it, as a load may change the register that has its address. */
void sonde__ptx_guess_index(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!has_guess(c, a, k) || !has_line(c, k))
        return;
    say(c->out, "mov.b64 %%sonde_gb%u, ", k);
    put_span(c->out, c->p, a->base);
    say(c->out, ";\n");
}

void sonde__ptx_guess_element(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, uint32_t element)
{
    const unsigned bits = a->element_bytes == 8 ? 64 : 32;
    const char letter = a->element_bytes == 8 ? 'w' : 'v';
    if (!is_other(c, a, k))
        return;
    say(c->out, "setp.eq.b%u %%sonde_any, %%sonde_%c, %%sonde_gv%u;\n@%%sonde_any add.u32 %%sonde_ge%u, %%sonde_ge%u, 1;\n", bits, letter, k, k, k);
    say(c->out, "mov.b%u %%sonde_gk%u_%u, %%sonde_%c;\n", bits, k, element, letter);
    c->kept[k] = (c->watched & bit_of(k) ? c->kept[k] : 0) | 1u << element;
    c->watched |= bit_of(k);
}

/* Is this element on the line %sonde_gs, %sonde_go? */
static void put_lined(struct copy *c, const struct sonde_ptx_access *a, uint32_t k, uint32_t element)
{
    say(c->out, "add.s64 %%sonde_gx, %%sonde_gi, %u;\n", element);
    if (sonde__ptx_is_real(a)) {
        say(c->out, "cvt.rn.f64.s64 %%sonde_gf, %%sonde_gx;\nmul.rn.f64 %%sonde_gf, %%sonde_gf, %%sonde_gs;\nadd.rn.f64 %%sonde_gf, %%sonde_gf, %%sonde_go;\n");
        say(c->out, a->element_bytes == 8 ? "mov.b64 %%sonde_wf, %%sonde_gk%u_%u;\nsetp.eq.f64 %%sonde_any, %%sonde_gf, %%sonde_wf;\n" : "mov.b32 %%sonde_vf, %%sonde_gk%u_%u;\ncvt.rn.f32.f64 %%sonde_gh, %%sonde_gf;\nsetp.eq.f32 %%sonde_any, %%sonde_gh, %%sonde_vf;\n",
            k, element);
    } else if (a->element_bytes == 8) {
        say(c->out, "mad.lo.s64 %%sonde_gx, %%sonde_gx, %%sonde_gs, %%sonde_go;\nsetp.eq.b64 %%sonde_any, %%sonde_gx, %%sonde_gk%u_%u;\n", k, element);
    } else {
        say(c->out, "cvt.u32.u64 %%sonde_gw, %%sonde_gx;\nmad.lo.s32 %%sonde_gw, %%sonde_gw, %%sonde_gslope, %%sonde_goffset;\n");
        if (a->element_bytes < 4)
            say(c->out, "and.b32 %%sonde_gw, %%sonde_gw, %u;\n", (1u << 8 * a->element_bytes) - 1);
        say(c->out, "setp.eq.b32 %%sonde_any, %%sonde_gw, %%sonde_gk%u_%u;\n", k, element);
    }
    say(c->out, "@%%sonde_any add.u32 %%sonde_gl%u, %%sonde_gl%u, 1;\n", k, k);
}

/* Has it one? Can it be seen? A line of which only a part is in the cache is no guess of this thread's. */
static void put_line(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_flat%u_%u;\n", bit_of(k) << 16, c->watches, k);
    put_front(c);
    say(c->out, "ld.global.v2.b64 {%%sonde_gs, %%sonde_go}, [%%sonde_gfront+%zu];\n", line_at(k));
    say(c->out, "setp.eq.b64 %%sonde_any, %%sonde_gs, 0;\nsetp.eq.or.b64 %%sonde_any, %%sonde_go, 0, %%sonde_any;\n"
                "@%%sonde_any and.b32 %%sonde_gstate, %%sonde_gstate, %u;\n@%%sonde_any bra $sonde_flat%u_%u;\n",
        ~(bit_of(k) << 16 | bit_of(k)), c->watches, k);
    say(c->out, "xor.b64 %%sonde_gs, %%sonde_gs, " HIDDEN ";\nxor.b64 %%sonde_go, %%sonde_go, " HIDDEN ";\n");
    if (!sonde__ptx_is_real(a) && a->element_bytes < 8)
        say(c->out, "cvt.u32.u64 %%sonde_gslope, %%sonde_gs;\ncvt.u32.u64 %%sonde_goffset, %%sonde_go;\n");
    for (uint32_t element = 0; element < a->elements; element++)
        if (c->kept[k] & 1u << element)
            put_lined(c, a, k, element);
    say(c->out, "$sonde_flat%u_%u:\n", c->watches, k);
}

/* It has no guess yet: the last element may become a sample. */
static void put_last(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const uint32_t last = 31u - (uint32_t)__builtin_clz(c->kept[k]);
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_last%u_%u;\n", bit_of(k), c->watches, k);
    say(c->out, a->element_bytes == 8 ? "mov.b64 %%sonde_gx, %%sonde_gk%u_%u;\n" : "cvt.u64.u32 %%sonde_gx, %%sonde_gk%u_%u;\n", k, last);
    if (has_line(c, k))
        say(c->out, "add.s64 %%sonde_gi, %%sonde_gi, %u;\n", last);
    say(c->out, "st.local.v2.b64 [sonde_last+%u], {%%sonde_gx, %%sonde_gi};\n$sonde_last%u_%u:\n", 16 * k, c->watches, k);
}

/* Of all accesses of a block behind one branch, so that its loads are under way together. */
void sonde__ptx_guess_watch(struct copy *c)
{
    if (!c->watched)
        return;
    say(c->out, "@!%%sonde_gbusy bra%s $sonde_quiet%u;\n", c->p->target >= SONDE_PTX_REDUX_TARGET ? ".uni" : "", c->watches);
    for (uint32_t k = 0; k < sonde__ptx_guesses(c->f); k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (!(c->watched & bit_of(k)))
            continue;
        put_index(c, a, k);
        if (has_line(c, k))
            put_line(c, a, k);
        put_last(c, a, k);
    }
    say(c->out, "$sonde_quiet%u:\n", c->watches++);
    c->watched = 0;
}

/* ---- what a line goes through, for all accesses ------------------------------------------------------------------------------- */

/* Is an element on a line? z0: bits s1 and index s2 on that of slope s7 and offset s8; r1 and r2 are the guess's `line` and `shift`. z2: it is
 * of floats. And the number that the bits are, if it is wanted: s3, of floats d0, too. */
static void put_on_line(struct copy *c, const char *label, bool number)
{
    const bool real = bits_of(c, HELD | OTHERS, true, true, false), whole = bits_of(c, HELD | OTHERS, true, false, true) || !real;
    say(c->out, "setp.ge.u32 %%sonde_z2, %%sonde_r1, 3;\n");
    if (whole)
        say(c->out, "mad.lo.s64 %%sonde_s11, %%sonde_s7, %%sonde_s2, %%sonde_s8;\nxor.b64 %%sonde_s11, %%sonde_s11, %%sonde_s1;\nshl.b64 %%sonde_s11, %%sonde_s11, %%sonde_r2;\n"
                    "setp.eq.b64 %%sonde_z0, %%sonde_s11, 0;\n");
    if (whole && number)
        say(c->out, "shl.b64 %%sonde_s3, %%sonde_s1, %%sonde_r2;\nsetp.eq.u32 %%sonde_z1, %%sonde_r1, 1;\n"
                    "@%%sonde_z1 shr.s64 %%sonde_s3, %%sonde_s3, %%sonde_r2;\n@!%%sonde_z1 shr.u64 %%sonde_s3, %%sonde_s3, %%sonde_r2;\n");
    if (whole && real)
        say(c->out, "@!%%sonde_z2 bra $sonde_whole%s;\n", label);
    if (!real)
        return;
    say(c->out, "setp.eq.u32 %%sonde_z1, %%sonde_r1, 4;\ncvt.u32.u64 %%sonde_r0, %%sonde_s1;\nmov.b32 %%sonde_f0, %%sonde_r0;\nmov.b64 %%sonde_d0, %%sonde_s1;\n");
    if (number)
        say(c->out, "cvt.f64.f32 %%sonde_d1, %%sonde_f0;\nselp.f64 %%sonde_d0, %%sonde_d0, %%sonde_d1, %%sonde_z1;\nmov.b64 %%sonde_s3, %%sonde_d0;\n");
    say(c->out, "mov.b64 %%sonde_d1, %%sonde_s7;\nmov.b64 %%sonde_d2, %%sonde_s8;\ncvt.rn.f64.s64 %%sonde_d3, %%sonde_s2;\n"
                "mul.rn.f64 %%sonde_d3, %%sonde_d1, %%sonde_d3;\nadd.rn.f64 %%sonde_d3, %%sonde_d3, %%sonde_d2;\n"
                "setp.eq.f64 %%sonde_z0, %%sonde_d3, %%sonde_d0;\ncvt.rn.f32.f64 %%sonde_f1, %%sonde_d3;\n@!%%sonde_z1 setp.eq.f32 %%sonde_z0, %%sonde_f1, %%sonde_f0;\n");
    if (whole)
        say(c->out, "$sonde_whole%s:\n", label);
}

/* ---- at the kernel's end -------------------------------------------------------------------------------------------------- */

static size_t found_at(const struct copy *c, uint32_t k)
{
    const struct sonde_plan plan = sonde__ptx_plan(c->f, &c->flow, c->plan);
    return sonde__plan_found_at(&plan) + k * sizeof(struct sonde_plan_found);
}

/* Bits of the element that is held to %sonde_v or %sonde_w. */
static void put_held(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, a->element_bytes == 8 ? "mov.b64 %%sonde_w, %%sonde_l%u;\n" : "mov.b32 %%sonde_v, %%sonde_l%u;\n", k);
    if (a->element_bytes < 4 && a->type == SONDE_PTX_SIGNED)
        say(c->out, "and.b32 %%sonde_v, %%sonde_v, %u;\n", (1u << 8 * a->element_bytes) - 1);
}

/* Is it equal? Its bit of %sonde_geq. */
static void put_compare(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const bool wide = a->element_bytes == 8;
    put_held(c, a, k);
    say(c->out, "setp.ne.u32 %%sonde_gis, %%sonde_c%u, 0;\nsetp.eq.and.b%u %%sonde_any, %%sonde_%c, %%sonde_gv%u, %%sonde_gis;\n"
                "@%%sonde_any or.b32 %%sonde_geq, %%sonde_geq, %u;\n",
        a->block, wide ? 64u : 32u, wide ? 'w' : 'v', k, bit_of(k));
}

static void put_gather(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    say(c->out, "or.b32 %%sonde_gt, %%sonde_gt, %%sonde_ge%u;\n", k);
}

/* What was counted with no guess is nothing. */
static void put_forget(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any mov.u32 %%sonde_ge%u, 0;\n", bit_of(k), k);
    if (has_line(c, k))
        say(c->out, "@%%sonde_any mov.u32 %%sonde_gl%u, 0;\n", k);
}

/* Was it executed? Its bit of %sonde_gem. */
static void put_executed(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_c%u, 0;\n@%%sonde_any or.b32 %%sonde_gem, %%sonde_gem, %u;\n", a->block, bit_of(k));
}

/* A line's access is selected in registers, at five instructions for each that there is, where these are few and no others need registers;
 * else all go to local memory, which takes four times as much as the elements. */
static bool selects(const struct copy *c)
{
    return !all_of(c, OTHERS) && __builtin_popcount(bits_of(c, HELD, true, true, true)) <= SELECTED_MOST;
}

/* Is it access %sonde_gt? Then its bits to %sonde_q, its index to s2. All in the branch: what is computed before has registers. */
static void put_select(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    if (!has_line(c, k))
        return;
    say(c->out, "setp.eq.u32 %%sonde_any, %%sonde_gt, %u;\n", k);
    put_distance(c, a, k, "@%sonde_any ", "%sonde_s2");
    say(c->out, "@%%sonde_any shr.s64 %%sonde_s2, %%sonde_s2, %d;\n", __builtin_ctz(a->element_bytes));
    put_held(c, a, k);
    say(c->out, a->element_bytes == 8 ? "mov.b64 {%%sonde_x0, %%sonde_x1}, %%sonde_w;\n" : "mov.b32 %%sonde_x0, %%sonde_v;\nmov.b32 %%sonde_x1, 0;\n");
    say(c->out, "@%%sonde_any mov.b32 %%sonde_q0, %%sonde_x0;\n@%%sonde_any mov.b32 %%sonde_q1, %%sonde_x1;\n");
}

/* To local memory, as others have theirs there. */
static void put_remember(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    put_held(c, a, k);
    say(c->out, a->element_bytes == 8 ? "mov.b64 %%sonde_gx, %%sonde_w;\n" : "cvt.u64.u32 %%sonde_gx, %%sonde_v;\n");
    put_index(c, a, k);
    say(c->out, "st.local.v2.b64 [sonde_last+%u], {%%sonde_gx, %%sonde_gi};\n", 16 * k);
}

static void put_lined_sum(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    char counter[32];
    snprintf(counter, sizeof counter, "%%sonde_gl%u", k);
    if (has_line(c, k))
        sonde__ptx_sum(c, counter, found_at(c, k) + offsetof(struct sonde_plan_found, lined));
}

static void put_equal_sum(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    (void)a;
    char counter[32];
    snprintf(counter, sizeof counter, "%%sonde_ge%u", k);
    sonde__ptx_sum(c, counter, found_at(c, k) + offsetof(struct sonde_plan_found, equal));
}

/* What this thread did not compare, and that it did not: its bit of %sonde_gum. */
static void put_unchecked(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.eq.u32 %%sonde_gis, %%sonde_gt, 0;\nsetp.ne.and.u32 %%sonde_gis, %%sonde_c%u, 0, %%sonde_gis;\n"
                "selp.b32 %%sonde_gw, %%sonde_c%u, 0, %%sonde_gis;\n@%%sonde_gis or.b32 %%sonde_gum, %%sonde_gum, %u;\n",
        bit_of(k), a->block, a->block, bit_of(k));
    sonde__ptx_sum(c, "%sonde_gw", found_at(c, k) + offsetof(struct sonde_plan_found, unchecked));
}

/* To the number at `at` of each access, of which the lanes that end together have bits in this word: how many have its bit; of bits from
 * 16 on to the number behind that. */
static void put_bits(struct copy *c, const char *word, size_t at, const char *label)
{
    const bool votes = c->p->target >= SONDE_PTX_REDUX_TARGET;
    if (votes)
        say(c->out, "redux.sync.or.b32 %%sonde_gw, %s, %%sonde_m;\n", word);
    else
        say(c->out, "mov.u32 %%sonde_gw, %s;\n", word);
    say(c->out, "$sonde_bits%s:\nsetp.eq.u32 %%sonde_any, %%sonde_gw, 0;\n@%%sonde_any bra $sonde_summed%s;\n", label, label);
    say(c->out, "bfind.u32 %%sonde_gt, %%sonde_gw;\nmov.u32 %%sonde_gbit, 1;\nshl.b32 %%sonde_gbit, %%sonde_gbit, %%sonde_gt;\nxor.b32 %%sonde_gw, %%sonde_gw, %%sonde_gbit;\n");
    say(c->out, "and.b32 %%sonde_hi, %%sonde_gt, 15;\nmul.lo.u32 %%sonde_hi, %%sonde_hi, 3;\nshr.u32 %%sonde_gt, %%sonde_gt, 4;\nadd.u32 %%sonde_hi, %%sonde_hi, %%sonde_gt;\n"
                "mul.wide.u32 %%sonde_h, %%sonde_hi, 8;\nadd.s64 %%sonde_h, %%sonde_h, %%sonde_p;\n");
    if (votes)
        say(c->out, "and.b32 %%sonde_lo, %s, %%sonde_gbit;\nsetp.ne.u32 %%sonde_any, %%sonde_lo, 0;\nvote.sync.ballot.b32 %%sonde_lo, %%sonde_any, %%sonde_m;\n"
                    "popc.b32 %%sonde_lo, %%sonde_lo;\n" SONDE_PTX_OWN "@%%sonde_first red.global.add.u64 [%%sonde_h+%zu], %%sonde_n;\n",
            word, at);
    else
        say(c->out, "red.global.add.u64 [%%sonde_h+%zu], 1;\n", at);
    say(c->out, "bra $sonde_bits%s;\n$sonde_summed%s:\n", label, label);
}

/* Of a warp that misses a guess: once more, behind the cache, if it is lucky. That it did is a bit of %sonde_gum that no access has. */
static void put_again(struct copy *c, uint32_t all)
{
    if (!all_of(c, HELD))
        return;
    put_unlucky(c);
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.eq.or.u32 %%sonde_any, %%sonde_gt, %u, %%sonde_any;\nsetp.ne.or.u32 %%sonde_any, %%sonde_gum, 0, %%sonde_any;\n"
                "not.pred %%sonde_any, %%sonde_any;\n",
        all, all);
    put_any(c, "%sonde_any");
    say(c->out, "@!%%sonde_any bra $sonde_asked;\nmov.u32 %%sonde_gum, 2147483648;\nand.b32 %%sonde_gstate, %%sonde_gstate, %u;\n", all_of(c, OTHERS) * 65537);
    put_each(c, HELD, put_far_load);
    say(c->out, "bra $sonde_again;\n$sonde_asked:\nmov.u32 %%sonde_gum, 0;\n");
}

/* Of those that are held, and have a line: are they on it? Their bits of %sonde_geq, from 16 on. */
static void put_held_lines(struct copy *c)
{
    const uint32_t lines = bits_of(c, HELD, true, true, true);
    if (!lines)
        return;
    say(c->out, "shr.u32 %%sonde_gw, %%sonde_gstate, 16;\nand.b32 %%sonde_gw, %%sonde_gw, %%sonde_gem;\n"
                "$sonde_line:\nsetp.eq.u32 %%sonde_any, %%sonde_gw, 0;\n@%%sonde_any bra $sonde_lined;\n"
                "bfind.u32 %%sonde_gt, %%sonde_gw;\nmov.u32 %%sonde_gbit, 65537;\nshl.b32 %%sonde_gbit, %%sonde_gbit, %%sonde_gt;\nnot.b32 %%sonde_r0, %%sonde_gbit;\n"
                "and.b32 %%sonde_gw, %%sonde_gw, %%sonde_r0;\n");
    say(c->out, "mul.wide.u32 %%sonde_gx, %%sonde_gt, %zu;\nadd.s64 %%sonde_gx, %%sonde_gx, %%sonde_gfront;\nld.global.v2.b64 {%%sonde_s7, %%sonde_s8}, [%%sonde_gx+576];\n"
                "setp.eq.b64 %%sonde_any, %%sonde_s7, 0;\nsetp.eq.or.b64 %%sonde_any, %%sonde_s8, 0, %%sonde_any;\n",
        sizeof(struct sonde_ptx_guess));
    say(c->out, "@%%sonde_any and.b32 %%sonde_gstate, %%sonde_gstate, %%sonde_r0;\n@%%sonde_any and.b32 %%sonde_geq, %%sonde_geq, %%sonde_r0;\n@%%sonde_any bra $sonde_line;\n"
                "xor.b64 %%sonde_s7, %%sonde_s7, " HIDDEN ";\nxor.b64 %%sonde_s8, %%sonde_s8, " HIDDEN ";\n"
                "ld.global.v2.u32 {%%sonde_r1, %%sonde_r2}, [%%sonde_gx+24];\n");
    if (selects(c)) {
        say(c->out, "mov.b32 %%sonde_q0, 0;\nmov.b32 %%sonde_q1, 0;\nmov.b64 %%sonde_s2, 0;\n");
        put_each(c, HELD, put_select);
        say(c->out, "mov.b64 %%sonde_s1, {%%sonde_q0, %%sonde_q1};\n");
    } else
        say(c->out, "mul.wide.u32 %%sonde_gx, %%sonde_gt, 16;\nmov.u64 %%sonde_gplace, sonde_last;\nadd.s64 %%sonde_gplace, %%sonde_gplace, %%sonde_gx;\n"
                    "ld.local.v2.b64 {%%sonde_s1, %%sonde_s2}, [%%sonde_gplace];\n");
    put_on_line(c, "_held", false);
    say(c->out, "and.b32 %%sonde_gbit, %%sonde_gbit, 4294901760;\n@%%sonde_z0 or.b32 %%sonde_geq, %%sonde_geq, %%sonde_gbit;\nbra $sonde_line;\n$sonde_lined:\n");
}

/* Where a guess is missing, or there is a line. */
static void put_busy(struct copy *c, uint32_t all)
{
    put_again(c, all);
    say(c->out, "mov.u32 %%sonde_gem, 0;\n");
    put_each(c, HELD, put_executed);
    if (!selects(c))
        put_each(c, HELD, put_remember);
    say(c->out, "and.b32 %%sonde_geq, %%sonde_geq, %%sonde_gstate;\n");
    put_held_lines(c);
    put_each(c, OTHERS, put_forget);
    put_each(c, OTHERS, put_lined_sum);
    say(c->out, "and.b32 %%sonde_gt, %%sonde_gstate, %u;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, %u;\n", all, all);
    put_any(c, "%sonde_any");
    say(c->out, "@!%%sonde_any bra $sonde_flush;\nnot.b32 %%sonde_gt, %%sonde_gstate;\nand.b32 %%sonde_gum, %%sonde_gem, %%sonde_gt;\n");
    if (selects(c))
        put_each(c, HELD, put_remember);
    if (all_of(c, HELD))
        put_bits(c, "%sonde_gum", found_at(c, 0) + offsetof(struct sonde_plan_found, unchecked), "_held");
    put_each(c, OTHERS, put_unchecked);
}

void sonde__ptx_guess_found(struct copy *c)
{
    const uint32_t all = all_of(c, HELD | OTHERS), held = all_of(c, HELD);
    if (!all)
        return;
    put_front(c);
    say(c->out, "mov.u32 %%sonde_gum, 0;\n");
    put_each(c, HELD, put_near_load);
    if (held)
        say(c->out, "$sonde_again:\n");
    put_each(c, HELD, put_state);
    say(c->out, "mov.u32 %%sonde_geq, 0;\n");
    put_each(c, HELD, put_compare);
    say(c->out, "setp.ne.u32 %%sonde_gbusy, %%sonde_gstate, %u;\nmov.u32 %%sonde_gt, %%sonde_geq;\n", all);
    put_each(c, OTHERS, put_gather);
    say(c->out, "setp.ne.or.u32 %%sonde_any, %%sonde_gt, 0, %%sonde_gbusy;\n");
    put_any(c, "%sonde_any");
    say(c->out, "@!%%sonde_any bra $sonde_found;\n");
    put_any(c, "%sonde_gbusy");
    say(c->out, "@!%%sonde_gbusy bra $sonde_flush;\n");
    put_busy(c, all);
    say(c->out, "$sonde_flush:\n");
    if (held)
        put_bits(c, "%sonde_geq", found_at(c, 0) + offsetof(struct sonde_plan_found, equal), "");
    put_each(c, OTHERS, put_equal_sum);
    say(c->out, "$sonde_found:\n");
}

/* ---- samples, and the vote ------------------------------------------------------------------------------------------------- */

/* Which access a thread has a sample of: another one for each two lanes, and in the next warp of the block for the next two, so that not
 * all samples lie alike. None, if it compared that. Its guess to %sonde_gx, what it had last at %sonde_gplace, and to %sonde_gi how much
 * this multiprocessor did not compare. */
static void put_pick(struct copy *c)
{
    uint32_t picks = PICKS_LEAST;
    while (picks < sonde__ptx_guesses(c->f))
        picks *= 2;
    say(c->out, "mov.u32 %%sonde_gt, %%tid.x;\nshr.u32 %%sonde_gt, %%sonde_gt, 5;\nmov.u32 %%sonde_gw, %%ctaid.x;\nadd.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\n"
                "mov.u32 %%sonde_gpick, %%laneid;\nshr.u32 %%sonde_gpick, %%sonde_gpick, 1;\nadd.u32 %%sonde_gpick, %%sonde_gpick, %%sonde_gt;\n"
                "and.b32 %%sonde_gpick, %%sonde_gpick, %u;\n",
        picks - 1);
    say(c->out, "shr.u32 %%sonde_gt, %%sonde_gum, %%sonde_gpick;\nand.b32 %%sonde_gt, %%sonde_gt, 1;\nsetp.eq.u32 %%sonde_any, %%sonde_gt, 0;\n@%%sonde_any bra $sonde_guessed;\n");
    put_front(c);
    say(c->out, "mul.wide.u32 %%sonde_gx, %%sonde_gpick, %zu;\nadd.s64 %%sonde_gx, %%sonde_gx, %%sonde_gfront;\n"
                "mul.wide.u32 %%sonde_w, %%sonde_gpick, 16;\nmov.u64 %%sonde_gplace, sonde_last;\nadd.s64 %%sonde_gplace, %%sonde_gplace, %%sonde_w;\n",
        sizeof(struct sonde_ptx_guess));
    say(c->out, "mul.wide.u32 %%sonde_w, %%sonde_gpick, %zu;\nadd.s64 %%sonde_w, %%sonde_w, %%sonde_p;\n%s.u64 %%sonde_gi, [%%sonde_w+%zu];\n",
        sizeof(struct sonde_plan_found), sonde__ptx_shared_load(c), found_at(c, 0) + offsetof(struct sonde_plan_found, unchecked));
}

/* Where there are many blocks, and this multiprocessor has given its share, one warp in 32: all meet at one place. */
static void put_share(struct copy *c)
{
    put_unlucky(c);
    say(c->out, "mov.u32 %%sonde_gt, %%nctaid.x;\nmov.u32 %%sonde_gw, %%nctaid.y;\nmul.lo.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\n"
                "mov.u32 %%sonde_gw, %%nctaid.z;\nmul.lo.u32 %%sonde_gt, %%sonde_gt, %%sonde_gw;\nsetp.gt.and.u32 %%sonde_any, %%sonde_gt, %u, %%sonde_any;\n"
                "setp.gt.and.u64 %%sonde_any, %%sonde_gi, %u, %%sonde_any;\n@%%sonde_any bra $sonde_guessed;\n",
        BLOCKS_MANY, SHARE);
}

/* A sample is there before it is counted. Whoever counts the last one votes. */
static void put_sample(struct copy *c)
{
    put_share(c);
    say(c->out, "%s.u32 %%sonde_gt, [%%sonde_gx+16];\nsetp.gt.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\n", sonde__ptx_shared_load(c));
    say(c->out, "atom.global.add.u32 %%sonde_gt, [%%sonde_gx+16], 1;\nsetp.gt.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\n");
    say(c->out, "mul.wide.u32 %%sonde_w, %%sonde_gt, 16;\nadd.s64 %%sonde_w, %%sonde_w, %%sonde_gx;\nld.local.v2.b64 {%%sonde_n0, %%sonde_n1}, [%%sonde_gplace];\n"
                "xor.b64 %%sonde_n1, %%sonde_n1, " HIDDEN ";\nst.volatile.global.v2.b64 [%%sonde_w+64], {%%sonde_n0, %%sonde_n1};\nmembar.gl;\n");
    say(c->out, "atom.global.add.u32 %%sonde_gt, [%%sonde_gx+20], 1;\nsetp.ne.u32 %%sonde_any, %%sonde_gt, 31;\n@%%sonde_any bra $sonde_guessed;\nmembar.gl;\n");
}

/* In the guess at %sonde_gx; once through the samples for a majority, once to see how many are on the line. Of each r3 is the number, s1
 * and s2 the bits and the index, s3 the number that the bits are; s4 and s5 those of the one before. s6 is the value; s7 and s8 the line
 * through the samples with the indices s9 and s10; z0: the sample is on it; z2: it is of floats; z3: it has a third place. What is seldom
 * needed is in local memory: the kernel has as many registers as this needs. */
static const char *const vote_texts[] = {
    "ld.global.v2.u32 {%sonde_r1, %sonde_r2}, [%sonde_gx+24];\n"
    "mov.u32 %sonde_r3, 0;\nmov.u32 %sonde_r4, 0;\nmov.u32 %sonde_r5, 0;\nmov.u32 %sonde_r6, 0;\n"
    "mov.u64 %sonde_s6, 0;\nmov.u64 %sonde_s7, 0;\nmov.u64 %sonde_s8, 0;\nst.local.v2.b64 [sonde_last], {%sonde_s6, %sonde_s7};\nst.local.v2.b64 [sonde_last+16], {%sonde_s6, %sonde_s7};\n"
    "setp.ne.u32 %sonde_z3, %sonde_r3, 0;\n"
    "$sonde_next:\n"
    "and.b32 %sonde_r0, %sonde_r3, 31;\nmul.wide.u32 %sonde_s11, %sonde_r0, 16;\nadd.s64 %sonde_s11, %sonde_s11, %sonde_gx;\n"
    "ld.volatile.global.v2.b64 {%sonde_s1, %sonde_s2}, [%sonde_s11+64];\nxor.b64 %sonde_s2, %sonde_s2, " HIDDEN ";\n",

    /* The value, and the line: who agrees adds a vote, who does not takes one away. Its own: unless there is no other before it, at another index. */
    "setp.ge.u32 %sonde_z1, %sonde_r3, 32;\n@%sonde_z1 bra $sonde_verify;\n"
    "setp.eq.u32 %sonde_z1, %sonde_r4, 0;\n@%sonde_z1 mov.b64 %sonde_s6, %sonde_s1;\nsetp.eq.b64 %sonde_z1, %sonde_s6, %sonde_s1;\n"
    "selp.b32 %sonde_r0, 1, -1, %sonde_z1;\nadd.s32 %sonde_r4, %sonde_r4, %sonde_r0;\n"
    "setp.eq.u32 %sonde_z1, %sonde_r5, 0;\n@%sonde_z1 bra $sonde_own;\n"
    "selp.b32 %sonde_r0, 1, -1, %sonde_z0;\nadd.s32 %sonde_r5, %sonde_r5, %sonde_r0;\nbra $sonde_before;\n"
    "$sonde_own:\n"
    "setp.eq.u32 %sonde_z1, %sonde_r3, 0;\n@%sonde_z1 bra $sonde_before;\n"
    "ld.local.v2.b64 {%sonde_s4, %sonde_s5}, [sonde_last];\nsub.s64 %sonde_s12, %sonde_s2, %sonde_s4;\nsetp.eq.s64 %sonde_z1, %sonde_s12, 0;\n@%sonde_z1 bra $sonde_before;\n",

    /* The slope, by Newton's division: without a subroutine. */
    "cvt.rn.f64.s64 %sonde_d2, %sonde_s12;\nrcp.approx.ftz.f64 %sonde_d3, %sonde_d2;\nneg.f64 %sonde_d2, %sonde_d2;\n"
    "fma.rn.f64 %sonde_d4, %sonde_d2, %sonde_d3, 0d3FF0000000000000;\nfma.rn.f64 %sonde_d3, %sonde_d3, %sonde_d4, %sonde_d3;\n"
    "fma.rn.f64 %sonde_d4, %sonde_d2, %sonde_d3, 0d3FF0000000000000;\nfma.rn.f64 %sonde_d3, %sonde_d3, %sonde_d4, %sonde_d3;\n"
    "mul.rn.f64 %sonde_d4, %sonde_d1, %sonde_d3;\nfma.rn.f64 %sonde_d1, %sonde_d2, %sonde_d4, %sonde_d1;\nfma.rn.f64 %sonde_d1, %sonde_d1, %sonde_d3, %sonde_d4;\n",

    /* Of integers it must be whole. */
    "cvt.rni.s64.f64 %sonde_s14, %sonde_d1;\nmul.lo.s64 %sonde_s15, %sonde_s14, %sonde_s12;\n"
    "setp.ne.s64 %sonde_z1, %sonde_s15, %sonde_s13;\nsetp.eq.or.s64 %sonde_z1, %sonde_s14, 0, %sonde_z1;\n@%sonde_z1 bra $sonde_before;\n"
    "mul.lo.s64 %sonde_s15, %sonde_s14, %sonde_s2;\nsub.s64 %sonde_s8, %sonde_s3, %sonde_s15;\n",

    "setp.equ.f64 %sonde_z1, %sonde_d1, 0d0000000000000000;\n@%sonde_z1 bra $sonde_before;\n"
    "cvt.rn.f64.s64 %sonde_d2, %sonde_s2;\nmul.rn.f64 %sonde_d2, %sonde_d1, %sonde_d2;\nsub.rn.f64 %sonde_d2, %sonde_d0, %sonde_d2;\n"
    "mov.b64 %sonde_s14, %sonde_d1;\nmov.b64 %sonde_s8, %sonde_d2;\n",

    "mov.b64 %sonde_s7, %sonde_s14;\nst.local.v2.b64 [sonde_last+16], {%sonde_s4, %sonde_s2};\nmov.u32 %sonde_r5, 1;\n"
    "$sonde_before:\n"
    "st.local.v2.b64 [sonde_last], {%sonde_s2, %sonde_s3};\nbra $sonde_more;\n"
    "$sonde_verify:\n"
    "ld.local.v2.b64 {%sonde_s9, %sonde_s10}, [sonde_last+16];\nselp.b32 %sonde_r0, 1, 0, %sonde_z0;\nadd.s32 %sonde_r6, %sonde_r6, %sonde_r0;\n"
    "setp.ne.and.s64 %sonde_z1, %sonde_s2, %sonde_s9, %sonde_z0;\nsetp.ne.and.s64 %sonde_z1, %sonde_s2, %sonde_s10, %sonde_z1;\nor.pred %sonde_z3, %sonde_z3, %sonde_z1;\n"
    "$sonde_more:\n"
    "add.u32 %sonde_r3, %sonde_r3, 1;\nsetp.lt.u32 %sonde_z1, %sonde_r3, 64;\n@%sonde_z1 bra $sonde_next;\n",

    /* A line that few are on does not stand; nor one where the access has none. The word comes last. */
    "not.pred %sonde_z3, %sonde_z3;\nsetp.lt.or.u32 %sonde_z1, %sonde_r6, " LINED_LEAST ", %sonde_z3;\nsetp.eq.or.u32 %sonde_z1, %sonde_r1, 0, %sonde_z1;\n"
    "setp.eq.or.s64 %sonde_z1, %sonde_s7, 0, %sonde_z1;\nselp.b32 %sonde_r0, 1, 65537, %sonde_z1;\nshl.b32 %sonde_r0, %sonde_r0, %sonde_gpick;\n"
    "xor.b64 %sonde_s7, %sonde_s7, " HIDDEN ";\nxor.b64 %sonde_s8, %sonde_s8, " HIDDEN ";\nxor.b64 %sonde_s11, %sonde_s6, " HIDDEN ";\n"
    "st.volatile.global.b64 [%sonde_gx+8], %sonde_s11;\nst.volatile.global.v2.b64 [%sonde_gx+576], {%sonde_s7, %sonde_s8};\nmembar.gl;\n"
    "cvt.u32.u64 %sonde_r5, %sonde_s6;\nmov.b64 %sonde_s11, {%sonde_r5, %sonde_r0};\nst.volatile.global.b64 [%sonde_gx], %sonde_s11;\n",
};
enum vote_text { /* which of them is what */
                 FIRST,
                 AGREES,
                 SLOPE,
                 WHOLE,
                 REAL,
                 VERIFIES,
                 PUBLISHES,
};

static void put_vote_text(struct copy *c, enum vote_text which)
{
    put(c->out, vote_texts[which], strlen(vote_texts[which]));
}

/* Of floats and of integers, if the kernel has both. */
static void put_vote(struct copy *c)
{
    const bool real = bits_of(c, HELD | OTHERS, true, true, false), whole = bits_of(c, HELD | OTHERS, true, false, true) || !real;
    put_vote_text(c, FIRST);
    put_on_line(c, "", true);
    put_vote_text(c, AGREES);
    if (whole)
        say(c->out, "sub.s64 %%sonde_s13, %%sonde_s3, %%sonde_s5;\ncvt.rn.f64.s64 %%sonde_d1, %%sonde_s13;\n");
    if (real)
        say(c->out, "mov.b64 %%sonde_d2, %%sonde_s5;\nsub.rn.f64 %%sonde_d2, %%sonde_d0, %%sonde_d2;\n%smov.f64 %%sonde_d1, %%sonde_d2;\n", whole ? "@%sonde_z2 " : "");
    put_vote_text(c, SLOPE);
    if (whole && real)
        say(c->out, "@%%sonde_z2 bra $sonde_real;\n");
    if (whole)
        put_vote_text(c, WHOLE);
    if (whole && real)
        say(c->out, "bra $sonde_stand;\n$sonde_real:\n");
    if (real)
        put_vote_text(c, REAL);
    say(c->out, "$sonde_stand:\n");
    put_vote_text(c, VERIFIES);
    put_vote_text(c, PUBLISHES);
}

void sonde__ptx_guess_end(struct copy *c)
{
    if (!all_of(c, HELD | OTHERS))
        return;
    say(c->out, "setp.eq.u32 %%sonde_any, %%sonde_gum, 0;\n@%%sonde_any bra $sonde_guessed;\n");
    put_pick(c);
    put_sample(c);
    put_vote(c);
    say(c->out, "$sonde_guessed:\n");
}

/* rewrite.c - the instrumented copy of each kernel: its items in their order, with what is added between them.
 *
 * All that is added is reached through names that begin with sonde (PTX's own names have no such, and a program's C++ names
 * begin with _Z or are the program's kernels'). Counters are 32-bit registers of the thread; at its end those of the lanes that
 * end together are summed, and one lane adds the sum to the area. One that is so large that a sum may overflow is added by its own lane.
 */
#include <stdio.h>
#include <string.h>

#include <sonde/error.h>

#include "calls.h"
#include "rewrite_copy.h"

#define FREE_REGISTERS 64u /* of a thread: blocks of any size may have as many */
#define SMALL_ITEMS    1000u
#define NAN_TARGET     80u /* min.NaN: PTX ISA 9.7.3.11, sm_80 and later */

/* ---- registers ------------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* ".reg .b32 %r<13>, %other": its names. */
static void declare(const struct sonde_ptx *p, struct sonde_ptx_span s, struct registers *r)
{
    const char *at = p->text + s.at, *end = at + s.bytes;
    unsigned bits = 0;
    if (s.bytes < 5 || memcmp(at, ".reg", 4) != 0)
        return;
    for (at += 4; at < end && *at != '.'; at++)
        ;
    for (at++; at < end && is_name(*at); at++)
        if (*at >= '0' && *at <= '9')
            bits = 10 * bits + (unsigned)(*at - '0');
    while (at < end && r->count < SONDE_PTX_REGISTERS_MAX) {
        while (at < end && !is_name(*at))
            at++;
        const char *name = at;
        while (at < end && is_name(*at))
            at++;
        if (at == name)
            return;
        r->list[r->count++] = (struct declared){
            .name = {(uint32_t)(name - p->text), (uint32_t)(at - name)},
            .many = at < end && *at == '<',
            .bytes = (uint8_t)(bits / 8),
        };
        while (at < end && *at != ',')
            at++;
    }
}

/* What a scope has declared is forgotten at its end. */
static void scope(struct registers *r, enum sonde_ptx_kind kind)
{
    if (kind == SONDE_PTX_OPEN && r->scopes++ < SONDE_PTX_SCOPES_MAX)
        r->outside[r->scopes - 1] = r->count;
    else if (kind == SONDE_PTX_CLOSE && r->scopes && --r->scopes < SONDE_PTX_SCOPES_MAX)
        r->count = r->outside[r->scopes];
}

static const struct declared *find_register(const struct sonde_ptx *p, const struct registers *r, struct sonde_ptx_span s)
{
    const char *name = p->text + s.at;
    for (uint32_t k = r->count; k-- > 0;) { /* an inner scope's comes later */
        const struct declared *d = &r->list[k];
        size_t at = d->name.bytes;
        if (s.bytes < at || memcmp(p->text + d->name.at, name, at) != 0)
            continue;
        for (; d->many && at < s.bytes && name[at] >= '0' && name[at] <= '9'; at++)
            ;
        if (at == s.bytes && (!d->many || at > d->name.bytes))
            return d;
    }
    return NULL;
}

/* The next register or constant of `at` to `end`, which are those of an access; `at` is behind it then. Empty: there is no more. */
static struct sonde_ptx_span next_value(const struct sonde_ptx *p, uint32_t *at, uint32_t end)
{
    while (*at < end && strchr("{}, \t\n", p->text[*at]))
        ++*at;
    const uint32_t from = *at;
    while (*at < end && !strchr("{}, \t\n", p->text[*at]))
        ++*at;
    return (struct sonde_ptx_span){from, *at - from};
}

static bool is_sink(const struct sonde_ptx *p, struct sonde_ptx_span s)
{
    return s.bytes == 1 && p->text[s.at] == '_';
}

static bool is_constant(const struct sonde_ptx *p, struct sonde_ptx_span s)
{
    return p->text[s.at] == '-' || (p->text[s.at] >= '0' && p->text[s.at] <= '9');
}

/* ---- which kernels -------------------------------------------------------------------------------- */

/* Are those of its accesses declared, as far as declarations are understood? */
static bool knows_registers(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    struct registers r = {.count = 0};
    uint32_t access = f->first_access;
    for (uint32_t item = f->open + 1; item < f->close; item++) {
        scope(&r, p->items[item].kind);
        if (p->items[item].kind != SONDE_PTX_STATEMENT)
            continue;
        declare(p, p->items[item].text, &r);
        if (access == f->first_access + f->accesses || p->accesses[access].item != item)
            continue;
        const struct sonde_ptx_span values = p->accesses[access++].values;
        uint32_t at = values.at;
        for (struct sonde_ptx_span s; (s = next_value(p, &at, values.at + values.bytes)).bytes;)
            if (!is_sink(p, s) && !is_constant(p, s) && !find_register(p, &r, s))
                return false;
    }
    return true;
}

static bool says(const struct sonde_ptx *p, struct sonde_ptx_span s, const char *word)
{
    return memmem(p->text + s.at, s.bytes, word, strlen(word)) != NULL;
}

/* Its blocks run in clusters, however it is launched. */
static bool has_clusters(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    const struct sonde_ptx_span head = p->items[f->head].text;
    return says(p, head, ".reqnctapercluster") || says(p, head, ".explicitcluster") || says(p, head, ".blocksareclusters");
}

static enum sonde_value_missed why_not_followed(const struct sonde_ptx_access *a)
{
    switch ((enum sonde_ptx_op)a->op) {
    case SONDE_PTX_TEXTURE: return SONDE_VALUE_MISSED_TEXTURE;
    case SONDE_PTX_BULK: return SONDE_VALUE_MISSED_BULK;
    case SONDE_PTX_MATRIX: return SONDE_VALUE_MISSED_MATRIX;
    case SONDE_PTX_LENGTH: return SONDE_VALUE_MISSED_LENGTH;
    case SONDE_PTX_UNKNOWN: return SONDE_VALUE_MISSED_STATEMENT;
    default: return SONDE_VALUE_MISSED_NONE;
    }
}

enum sonde_value_missed sonde__ptx_plain(const struct sonde_ptx *p, const struct sonde_ptx_function *f)
{
    enum sonde_value_missed why = SONDE_VALUE_MISSED_NONE;
    if (!(f->flags & SONDE_PTX_ENTRY))
        return SONDE_VALUE_MISSED_PTX;
    for (uint32_t k = 0; k < f->accesses && !why; k++)
        why = why_not_followed(&p->accesses[f->first_access + k]);
    if (!why && !sonde__ptx_calls_are_harmless(p, f))
        why = SONDE_VALUE_MISSED_CALLS;
    if (why || !f->accesses)
        return why;
    if (has_clusters(p, f))
        return SONDE_VALUE_MISSED_CLUSTER;
    return knows_registers(p, f) ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_STATEMENT;
}

/* ---- the copy ---------------------------------------------------------------------------------------- */

static bool has_area(const struct copy *c)
{
    return c->plan & (SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES | SONDE_PLAN_REMOTE);
}

static void put_predicate(struct copy *c, struct sonde_ptx_span predicate, bool negated)
{
    if (!predicate.bytes)
        return;
    say(c->out, negated ? "@!" : "@");
    put_span(c->out, c->p, predicate);
    say(c->out, " ");
}

/* ---- sets: which memory is written ---------------------------------------------------------------------------- */

/* Pointers through which is written, where that is marked. */
static uint32_t sets_of(const struct copy *c)
{
    return c->plan & SONDE_PLAN_SETS ? c->flow.sets : 0;
}

static void put_sets(struct copy *c)
{
    if (!sets_of(c))
        return;
    say(c->out, ".reg .b64 %%sonde_t, %%sonde_b<%u>, %%sonde_e<%u>, %%sonde_k<%u>;\n.reg .b32 %%sonde_ones;\n.reg .pred %%sonde_within;\n", c->flow.sets, c->flow.sets,
        c->flow.sets);
    for (uint32_t s = 0; s < c->flow.sets; s++) {
        const size_t at = s * sizeof(struct sonde_plan_set);
        say(c->out, "ld.param.u64 %%sonde_b%u, [sonde_sets+%zu];\nld.param.u64 %%sonde_e%u, [sonde_sets+%zu];\nld.param.u64 %%sonde_k%u, [sonde_sets+%zu];\n", s, at, s,
            at + 8, s, at + 16);
    }
}

/* Of `bytes` marks, 1 to 32 and a power of two. */
static void put_marks(struct copy *c, uint32_t bytes)
{
    if (bytes == 1)
        say(c->out, "@%%sonde_within st.global.u8 [%%sonde_t], 1;\n");
    else if (bytes == 2)
        say(c->out, "@%%sonde_within st.global.u16 [%%sonde_t], 257;\n");
    else if (bytes == 4)
        say(c->out, "@%%sonde_within st.global.u32 [%%sonde_t], 16843009;\n");
    for (uint32_t at = 0; bytes >= 8 && at < bytes; at += 8)
        say(c->out, "@%%sonde_within st.global.u64 [%%sonde_t+%u], 72340172838076673;\n", at);
}

/* With an access that writes. */
static void put_mark(struct copy *c, const struct sonde_ptx_access *a)
{
    const uint32_t k = c->access - c->f->first_access;
    const struct sonde_ptx_pointer *p = c->plan & SONDE_PLAN_SETS && c->flow.pointer[k] ? &c->flow.pointers[c->flow.pointer[k] - 1] : NULL;
    if (!p || (a->op != SONDE_PTX_STORE && a->op != SONDE_PTX_ATOMIC && a->op != SONDE_PTX_REDUCTION))
        return;
    const uint32_t bytes = (uint32_t)a->element_bytes * a->elements;
    if (a->predicate.bytes) {
        put_predicate(c, a->predicate, !(a->flags & SONDE_PTX_NEGATED));
        say(c->out, "bra $sonde_unset%u;\n", k);
    }
    say(c->out, "add.s64 %%sonde_t, ");
    put_span(c->out, c->p, a->base);
    say(c->out, ", %lld;\nsub.s64 %%sonde_t, %%sonde_t, %%sonde_b%u;\nsetp.lt.u64 %%sonde_within, %%sonde_t, %%sonde_e%u;\n", (long long)a->offset, p->set, p->set);
    say(c->out, "shr.u64 %%sonde_t, %%sonde_t, %d;\nadd.s64 %%sonde_t, %%sonde_t, %%sonde_k%u;\n", __builtin_ctz(p->grain), p->set);
    put_marks(c, bytes / p->grain);
    if (a->predicate.bytes)
        say(c->out, "$sonde_unset%u:\n", k);
}

/* ---- values: of each access the least and the most in registers of the thread, of doubles OR, too ------------------ */

bool sonde__ptx_is_once(const struct copy *c, const struct sonde_ptx_access *a)
{
    return c->plan & SONDE_PLAN_COUNTS && !(a->flags & SONDE_PTX_IN_LOOP) && !(c->f->flags & SONDE_PTX_BRANCHES);
}

/* The least float is NaN once one of them was: min.NaN sees to it, or a flag beside it (%sonde_o), where there is no such instruction. */
static bool has_flag(const struct copy *c, const struct sonde_ptx_access *a)
{
    return sonde__ptx_is_real(a) && a->element_bytes < 8 && c->p->target < NAN_TARGET;
}

static bool has_bits(const struct sonde_ptx_access *a)
{
    return sonde__ptx_is_real(a) && a->element_bytes == 8;
}

/* The least and the most of a number and NaN are the number (PTX ISA 9.7.3.11), but for min.NaN. */
static void put_start(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const unsigned wide = a->element_bytes == 8 ? 64 : 32;
    say(c->out, ".reg .%c%u %%sonde_l%u, %%sonde_h%u;\n", sonde__ptx_is_real(a) ? 'f' : 's', wide, k, k);
    if (has_bits(a) || has_flag(c, a))
        say(c->out, ".reg .b%u %%sonde_o%u;\nmov.b%u %%sonde_o%u, 0;\n", wide, k, wide, k);
    if (sonde__ptx_is_once(c, a))
        return;
    if (has_bits(a))
        say(c->out, "mov.f64 %%sonde_l%u, 0d7FF8000000000000;\nmov.f64 %%sonde_h%u, 0d7FF8000000000000;\n", k, k);
    else if (sonde__ptx_is_real(a))
        say(c->out, "mov.f32 %%sonde_l%u, 0f7F800000;\nmov.f32 %%sonde_h%u, 0f7FC00000;\n", k, k);
    else
        say(c->out,
            wide == 64 ? "mov.s64 %%sonde_l%u, 0x7FFFFFFFFFFFFFFF;\nmov.s64 %%sonde_h%u, 0x8000000000000000;\n"
                       : "mov.s32 %%sonde_l%u, 0x7FFFFFFF;\nmov.s32 %%sonde_h%u, 0x80000000;\n",
            k, k);
}

/* One element: its bits to %sonde_v or %sonde_w, and the number that they are to %sonde_vs, %sonde_vf, %sonde_wf. */
static void put_element(struct copy *c, const struct sonde_ptx_access *a, struct sonde_ptx_span s)
{
    const struct declared *r = find_register(c->p, &c->registers, s); /* NULL: a constant */
    const char *name = c->p->text + s.at;
    const int n = (int)s.bytes;
    if (a->element_bytes == 8) {
        say(c->out, "mov.b64 %%sonde_w, %.*s;\n", n, name);
        if (sonde__ptx_is_real(a))
            say(c->out, "mov.b64 %%sonde_wf, %%sonde_w;\n");
        return;
    }
    if (r && r->bytes == 2)
        say(c->out, "mov.b16 %%sonde_u, %.*s;\ncvt.u32.u16 %%sonde_v, %%sonde_u;\n", n, name);
    else if (r && r->bytes == 8)
        say(c->out, "cvt.u32.u64 %%sonde_v, %.*s;\n", n, name);
    else
        say(c->out, "mov.b32 %%sonde_v, %.*s;\n", n, name);
    if (a->element_bytes < 4)
        say(c->out, "and.b32 %%sonde_v, %%sonde_v, %u;\n", (1u << 8 * a->element_bytes) - 1);
    if (sonde__ptx_is_real(a))
        say(c->out, "mov.b32 %%sonde_vf, %%sonde_v;\n");
    else if (a->type == SONDE_PTX_SIGNED && a->element_bytes < 4)
        say(c->out, "shl.b32 %%sonde_vs, %%sonde_v, %u;\nshr.s32 %%sonde_vs, %%sonde_vs, %u;\n", 32 - 8 * a->element_bytes, 32 - 8 * a->element_bytes);
    else
        say(c->out, "mov.b32 %%sonde_vs, %%sonde_v;\n");
}

static void put_values(struct copy *c, const struct sonde_ptx_access *a, uint32_t k)
{
    const bool wide = a->element_bytes == 8;
    uint32_t at = a->values.at;
    const char *real = wide ? "%sonde_wf" : "%sonde_vf", *whole = wide ? "%sonde_w" : "%sonde_vs";
    const char *number = sonde__ptx_is_real(a) ? real : whole, *nan = sonde__ptx_is_real(a) && !wide && !has_flag(c, a) ? ".NaN" : "";
    const char type = sonde__ptx_is_real(a) ? 'f' : 's';
    const unsigned width = wide ? 64 : 32;
    uint32_t element = 0;
    bool any = !sonde__ptx_is_once(c, a); /* something is in the registers already */
    for (struct sonde_ptx_span s; (s = next_value(c->p, &at, a->values.at + a->values.bytes)).bytes; element++) {
        if (is_sink(c->p, s))
            continue;
        put_element(c, a, s);
        sonde__ptx_guess_element(c, a, k, element);
        if (has_bits(a))
            say(c->out, "or.b64 %%sonde_o%u, %%sonde_o%u, %%sonde_w;\n", k, k);
        if (has_flag(c, a))
            say(c->out, "setp.nan.f32 %%sonde_any, %s, %s;\n@%%sonde_any mov.b32 %%sonde_o%u, 1;\n", real, real, k);
        if (any)
            say(c->out, "min%s.%c%u %%sonde_l%u, %%sonde_l%u, %s;\nmax.%c%u %%sonde_h%u, %%sonde_h%u, %s;\n", nan, type, width, k, k, number, type, width, k, k, number);
        else
            say(c->out, "mov.%c%u %%sonde_l%u, %s;\nmov.%c%u %%sonde_h%u, %s;\n", type, width, k, number, type, width, k, number);
        any = true;
    }
}

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
    if (has_bits(a))
        return;
    if (has_flag(c, a))
        say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_o%u, 0;\n", k);
    else
        say(c->out, "setp.nan.f32 %%sonde_any, %%sonde_l%u, %%sonde_l%u;\n", k, k);
    say(c->out, "@%%sonde_any mov.b32 %s, 0x80000000;\n", least);
}

static size_t place_of(const struct copy *c, uint32_t k)
{
    const struct sonde_plan plan = sonde__ptx_plan(c->f, &c->flow, c->plan);
    return sonde__plan_values_at(&plan) + k * sizeof(struct sonde_plan_values);
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
    if (has_bits(a))
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
    if (has_flag(c, a))
        say(c->out, "setp.ne.or.u32 %%sonde_any, %%sonde_o%u, 0, %%sonde_any;\n", k);
}

/* What %sonde_x has, if it has anything, as floats: an integer below all of them is no number. Others may write at the same time, and
 * the last one stays: it is never more than what is there. Of the warps that come here one in 16 writes, and of its lanes one: where the
 * most grows with each warp, as where numbers ascend, more would wait for each other. */
static void put_known(struct copy *c, uint32_t k)
{
    say(c->out, "mov.u32 %%sonde_v, %%clock;\nand.b32 %%sonde_v, %%sonde_v, 240;\n");
    if (c->p->target >= SONDE_PTX_REDUX_TARGET)
        say(c->out, "activemask.b32 %%sonde_vs;\nmov.u32 %%sonde_q0, %%lanemask_lt;\nand.b32 %%sonde_vs, %%sonde_vs, %%sonde_q0;\nor.b32 %%sonde_v, %%sonde_v, %%sonde_vs;\n");
    say(c->out, "setp.ne.u32 %%sonde_any, %%sonde_v, 0;\nsetp.eq.or.s32 %%sonde_any, %%sonde_x0, 0x7FFFFFFF, %%sonde_any;\n@%%sonde_any bra $sonde_seen%u;\n", k);
    for (unsigned n = 0; n < 2; n++) {
        say(c->out, "setp.eq.s32 %%sonde_any, %%sonde_x%u, 0x80000000;\nshr.s32 %%sonde_v, %%sonde_x%u, 31;\nand.b32 %%sonde_v, %%sonde_v, 0x7FFFFFFF;\n", n, n);
        say(c->out, "xor.b32 %%sonde_x%u, %%sonde_x%u, %%sonde_v;\n@%%sonde_any mov.b32 %%sonde_x%u, 0xFF800000;\n", n, n, n);
    }
    say(c->out, "mov.b64 %%sonde_w, {%%sonde_x0, %%sonde_x1};\n%s.b64 [%%sonde_p+%zu], %%sonde_w;\n$sonde_seen%u:\n",
        c->p->target >= SONDE_PTX_RELAXED_TARGET ? "st.relaxed.gpu.global" : "st.volatile.global", place_of(c, k) + offsetof(struct sonde_ptx_narrow, low), k);
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
    if (has_bits(a))
        say(c->out, "red.global.or.b64 [%%sonde_p+%zu], %%sonde_o%u;\n", place_of(c, k) + offsetof(struct sonde_plan_values, any), k);
    say(c->out, "red.global.min.s%u [%%sonde_p+%zu], %%sonde_%s0;\nred.global.max.s%u [%%sonde_p+%zu], %%sonde_%s1;\n", bits, least, n, bits, least + bits / 8, n);
    say(c->out, "$sonde_none%u:\n", k);
    if (is_narrow_real(a))
        put_known(c, k);
}

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
static void put_results(struct copy *c)
{
    say(c->out, ".reg .pred %%sonde_some;\n.reg .f32 %%sonde_xf<2>;\nsetp.ne.u32 %%sonde_news, %%sonde_m, %%sonde_m;\n");
    for (uint32_t k = 0; k < c->f->accesses;)
        k = put_looks(c, k);
    say(c->out, "@!%%sonde_news bra $sonde_known;\n");
    for (uint32_t k = 0; k < c->f->accesses; k++)
        if (sonde__ptx_has_values(c, &c->p->accesses[c->f->first_access + k]))
            put_result(c, &c->p->accesses[c->f->first_access + k], k);
    say(c->out, "$sonde_known:\n");
}

/* ---- counts, and the text around all ------------------------------------------------------------------------------ */

/* Registers that a thread's values and counts take. */
static uint32_t registers_of(const struct copy *c)
{
    uint32_t count = c->plan & SONDE_PLAN_COUNTS ? c->f->blocks : 0;
    for (uint32_t k = 0; k < c->f->accesses; k++) {
        const struct sonde_ptx_access *a = &c->p->accesses[c->f->first_access + k];
        if (sonde__ptx_has_values(c, a))
            count += (sonde__ptx_is_once(c, a) && a->elements == 1 ? 1 : 2) * (a->element_bytes == 8 ? 2 : 1) + (has_bits(a) ? 2 : 0);
    }
    return count;
}

/* The assembler stays below 32 registers where it can, and to do so has loads wait for each other that the kernel itself has under way
 * together: 1.9 times the time in a loop of four. Told a limit, it uses it. Kernels that need more anyway have none. */
static bool may_use_registers(const struct copy *c)
{
    const struct sonde_ptx_span head = c->p->items[c->f->head].text;
    return has_area(c) && !(c->plan & SONDE_PLAN_GUESSES) && c->f->close - c->f->open < SMALL_ITEMS && registers_of(c) <= FREE_REGISTERS / 2 &&
           !says(c->p, head, ".maxnreg") && !says(c->p, head, ".minnctapersm");
}

/* The head with another name, and parameters more. */
static void put_head(struct copy *c)
{
    const struct sonde_ptx_span head = c->p->items[c->f->head].text, name = c->f->name;
    const char *text = c->p->text, *end = text + head.at + head.bytes, *behind = text + name.at + name.bytes, *at = behind;
    const uint32_t variables = c->flow.variables.count;
    put(c->out, text + head.at, name.at + name.bytes - head.at);
    say(c->out, "__sonde(");
    while (at < end && *at != '(' && *at != '.')
        at++;
    const char *first = at < end && *at == '(' ? at + 1 : NULL, *last = first;
    if (first) { /* up to the last parenthesis that belongs to it: sizes are in brackets */
        while (last < end && *last != ')')
            last++;
        put(c->out, first, (size_t)(last - first));
        behind = last + 1;
    }
    bool any = false;
    for (const char *k = first; k && k < last; k++)
        any |= *k == '.';
    if (has_area(c))
        say(c->out, "%s.param .u64 sonde_area", any ? ",\n" : "");
    if (sets_of(c))
        say(c->out, "%s.param .align 8 .b8 sonde_sets[%zu]", any || has_area(c) ? ",\n" : "", c->flow.sets * sizeof(struct sonde_plan_set));
    if (sonde__ptx_has_table(c))
        say(c->out, ",\n.param .align 8 .b8 sonde_remote[%zu]", sizeof(struct sonde_plan_remote));
    if (variables)
        say(c->out, "%s.param .align 8 .b8 sonde_variables[%zu]", any || has_area(c) || sets_of(c) ? ",\n" : "", variables * sizeof(uint64_t));
    say(c->out, "\n)");
    if (may_use_registers(c))
        say(c->out, "\n.maxnreg %u", FREE_REGISTERS);
    put(c->out, behind, behind < end ? (size_t)(end - behind) : 0);
    say(c->out, "\n");
}

static void put_prologue(struct copy *c)
{
    put_sets(c);
    if (c->flow.variables.count)
        say(c->out, ".reg .b64 %%sonde_g<%u>;\n", c->flow.variables.count);
    for (uint32_t k = 0; k < c->flow.variables.count; k++)
        say(c->out, "ld.param.u64 %%sonde_g%u, [sonde_variables+%zu];\n", k, k * sizeof(uint64_t));
    sonde__ptx_blocks_start(c);
    say(c->out, ".reg .b32 %%sonde_m, %%sonde_below, %%sonde_lo, %%sonde_hi;\n.reg .b64 %%sonde_p, %%sonde_n, %%sonde_h;\n.reg .pred %%sonde_first, %%sonde_any, %%sonde_news;\n");
    if (c->plan & SONDE_PLAN_COUNTS)
        say(c->out, ".reg .b32 %%sonde_c<%u>;\n", c->f->blocks);
    for (uint32_t b = 0; c->plan & SONDE_PLAN_COUNTS && b < c->f->blocks; b++)
        say(c->out, "mov.u32 %%sonde_c%u, 0;\n", b);
    if (c->plan & SONDE_PLAN_VALUES)
        say(c->out, ".reg .b16 %%sonde_u;\n.reg .b32 %%sonde_v, %%sonde_vs;\n.reg .f32 %%sonde_vf;\n.reg .b64 %%sonde_w, %%sonde_n<2>, %%sonde_y<2>;\n.reg .f64 %%sonde_wf;\n"
                    ".reg .b32 %%sonde_q<2>, %%sonde_x<2>;\n");
    for (uint32_t k = 0; k < c->f->accesses; k++)
        if (sonde__ptx_has_values(c, &c->p->accesses[c->f->first_access + k]))
            put_start(c, &c->p->accesses[c->f->first_access + k], k);
    sonde__ptx_guess_start(c);
    sonde__ptx_remote_start(c);
}

void sonde__ptx_lanes(struct copy *c)
{
    if (c->p->target >= SONDE_PTX_REDUX_TARGET)
        say(c->out, "activemask.b32 %%sonde_m;\nmov.u32 %%sonde_below, %%lanemask_lt;\nand.b32 %%sonde_below, %%sonde_below, %%sonde_m;\n"
                    "setp.eq.u32 %%sonde_first, %%sonde_below, 0;\n");
}

void sonde__ptx_sum(struct copy *c, const char *what, size_t at)
{
    if (c->p->target < SONDE_PTX_REDUX_TARGET) { /* each its own */
        say(c->out, "cvt.u64.u32 %%sonde_n, %s;\nsetp.ne.u64 %%sonde_any, %%sonde_n, 0;\n@%%sonde_any red.global.add.u64 [%%sonde_p+%zu], %%sonde_n;\n", what, at);
        return;
    }
    say(c->out,
        "setp.gt.u32 %%sonde_any, %s, %u;\ncvt.u64.u32 %%sonde_n, %s;\n@%%sonde_any red.global.add.u64 [%%sonde_p+%zu], %%sonde_n;\n"
        "selp.b32 %%sonde_lo, 0, %s, %%sonde_any;\nredux.sync.add.u32 %%sonde_lo, %%sonde_lo, %%sonde_m;\n"
        "setp.ne.and.u32 %%sonde_any, %%sonde_lo, 0, %%sonde_first;\n" SONDE_PTX_OWN
        "@%%sonde_any red.global.add.u64 [%%sonde_p+%zu], %%sonde_n;\n",
        what, UINT32_MAX / 32, what, at, what, at);
}

/* As sonde__ptx_sum, of a counter that is 0 or 1. */
static void put_vote(struct copy *c, uint32_t block)
{
    say(c->out,
        "setp.ne.u32 %%sonde_any, %%sonde_c%u, 0;\nvote.sync.ballot.b32 %%sonde_lo, %%sonde_any, %%sonde_m;\npopc.b32 %%sonde_lo, %%sonde_lo;\n"
        "setp.ne.and.u32 %%sonde_any, %%sonde_lo, 0, %%sonde_first;\n" SONDE_PTX_OWN
        "@%%sonde_any red.global.add.u64 [%%sonde_p+%u], %%sonde_n;\n",
        block, 8 * block);
}

static void put_counts(struct copy *c)
{
    char counter[32];
    uint32_t access = c->f->first_access;
    sonde__ptx_lanes(c);
    for (uint32_t b = 0; b < c->f->blocks; b++) {
        while (c->p->accesses[access].block != b)
            access++;
        snprintf(counter, sizeof counter, "%%sonde_c%u", b);
        if (c->p->target >= SONDE_PTX_REDUX_TARGET && sonde__ptx_is_once(c, &c->p->accesses[access]))
            put_vote(c, b);
        else
            sonde__ptx_sum(c, counter, b * sizeof(uint64_t));
    }
}

static void put_epilogue(struct copy *c)
{
    if (!has_area(c)) {
        say(c->out, "$sonde_end:\nret;\n");
        return;
    }
    const struct sonde_plan plan = sonde__ptx_plan(c->f, &c->flow, c->plan);
    say(c->out, "$sonde_end:\nld.param.u64 %%sonde_p, [sonde_area];\ncvta.to.global.u64 %%sonde_p, %%sonde_p;\n"
                "mov.u32 %%sonde_m, %%smid;\nmad.wide.u32 %%sonde_p, %%sonde_m, %zu, %%sonde_p;\n",
        sonde__plan_part(&plan));
    if (c->plan & SONDE_PLAN_COUNTS)
        put_counts(c);
    sonde__ptx_guess_found(c);
    if (c->plan & SONDE_PLAN_VALUES)
        put_results(c);
    sonde__ptx_guess_end(c);
    say(c->out, "ret;\n");
}

/* Before an access: its block has been entered. */
static void put_count(struct copy *c, const struct sonde_ptx_access *a)
{
    if (!(c->plan & SONDE_PLAN_COUNTS) || a->block + 1 == c->block)
        return;
    c->block = a->block + 1;
    put_predicate(c, a->predicate, a->flags & SONDE_PTX_NEGATED);
    say(c->out, "add.u32 %%sonde_c%u, %%sonde_c%u, 1;\n", a->block, a->block);
}

/* Its values, where its predicate holds. */
static void put_values_of(struct copy *c, const struct sonde_ptx_access *a, bool stores)
{
    const uint32_t k = c->access - c->f->first_access;
    if (!sonde__ptx_has_values(c, a) || (a->op == SONDE_PTX_STORE) != stores)
        return;
    if (a->predicate.bytes) {
        sonde__ptx_guess_watch(c);
        put_predicate(c, a->predicate, !(a->flags & SONDE_PTX_NEGATED));
        say(c->out, "bra $sonde_not%u;\n", k);
    }
    put_values(c, a, k);
    if (a->predicate.bytes) {
        sonde__ptx_guess_watch(c);
        say(c->out, "$sonde_not%u:\n", k);
    }
}

/* Is the instruction one of constant memory? Then its like for global memory, to where it ends in the text. */
static const char *of_constants(const char *at, const char *end, const char **behind)
{
    static const char *const like[][2] = {{"ld.const.", "ld.global.nc."}, {"cvta.const.", "mov."}, {"cvta.to.const.", "mov."}};
    for (size_t k = 0; k < sizeof like / sizeof *like; k++)
        if ((size_t)(end - at) > strlen(like[k][0]) && memcmp(at, like[k][0], strlen(like[k][0])) == 0) {
            *behind = at + strlen(like[k][0]);
            return like[k][1];
        }
    return NULL;
}

/* Variables become pointers to the program's own. */
static void put_pointed(struct copy *c, struct sonde_ptx_span text)
{
    const char *const end = c->p->text + text.at + text.bytes;
    for (const char *at = c->p->text + text.at, *word; at < end;) {
        for (word = at; word < end && (is_name(*word) || *word == '.'); word++)
            ;
        if (word == at)
            word++;
        const struct sonde_ptx_span name = {(uint32_t)(at - c->p->text), (uint32_t)(word - at)};
        const uint32_t variable = sonde__ptx_variable(c->p, &c->flow.variables, name);
        const char *instead = c->flow.variables.constants ? of_constants(at, end, &word) : NULL;
        if (variable)
            say(c->out, "%%sonde_g%u", variable - 1);
        else if (instead)
            say(c->out, "%s", instead);
        else
            put_span(c->out, c->p, name);
        at = word;
    }
}

static void put_text(struct copy *c, const struct sonde_ptx_item *i)
{
    if (c->flow.variables.count && i->kind == SONDE_PTX_STATEMENT)
        put_pointed(c, i->text);
    else
        put_span(c->out, c->p, i->text);
    say(c->out, i->kind == SONDE_PTX_STATEMENT ? ";\n" : (i->kind == SONDE_PTX_LABEL ? ":\n" : "\n"));
}

static void put_item(struct copy *c, uint32_t item)
{
    const struct sonde_ptx_item *i = &c->p->items[item];
    const struct sonde_ptx_access *a = &c->p->accesses[c->access];
    struct sonde_ptx_span predicate;
    bool negated;
    if (c->watched && sonde__ptx_ends_block(c->p, item))
        sonde__ptx_guess_watch(c);
    if (sonde__ptx_ends(c->p, item, &predicate, &negated)) {
        put_predicate(c, predicate, negated);
        say(c->out, "bra $sonde_end;\n");
    } else if (c->access < c->f->first_access + c->f->accesses && a->item == item) {
        put_count(c, a);
        sonde__ptx_guess_index(c, a, c->access - c->f->first_access);
        put_values_of(c, a, true);
        put_mark(c, a);
        sonde__ptx_remote(c, a, c->access - c->f->first_access);
        put_text(c, i);
        put_values_of(c, a, false);
        c->access++;
    } else if (!sonde__ptx_is_declared(c, i)) {
        scope(&c->registers, i->kind);
        if (i->kind == SONDE_PTX_STATEMENT)
            declare(c->p, i->text, &c->registers);
        put_text(c, i);
    }
}

static void put_body(struct copy *c)
{
    for (uint32_t item = c->f->open + 1; item < c->f->close; item++)
        put_item(c, item);
    sonde__ptx_guess_watch(c);
}

/* What the other blocks execute: they mark what they write, too. */
static void put_other(const struct copy *done)
{
    struct copy c = {.p = done->p, .f = done->f, .out = done->out, .plan = done->plan & SONDE_PLAN_SETS, .again = true, .access = done->f->first_access, .flow = done->flow};
    say(c.out, "$sonde_other:\n{\n");
    put_body(&c);
    say(c.out, "$sonde_end:\nret;\n}\n");
}

static void put_copy(const struct sonde_ptx *p, const struct sonde_ptx_function *f, uint32_t plan, uint32_t every, struct sonde_ptx_text *out)
{
    struct copy c = {.p = p, .f = f, .out = out, .plan = plan, .every = plan & SONDE_PLAN_VALUES ? every : 0, .access = f->first_access};
    if (sonde__ptx_flow(p, f, &c.flow) || c.flow.variables.count > SONDE_PTX_VARIABLES_MAX) {
        out->spent |= !c.flow.origins;
        sonde__ptx_flow_release(&c.flow);
        return;
    }
    put_head(&c);
    say(out, "{\n");
    put_prologue(&c);
    put_body(&c);
    put_epilogue(&c);
    if (c.every > 1)
        put_other(&c);
    say(out, "}\n");
    sonde__ptx_flow_release(&c.flow);
}

/* Where the last function ends: sections of debugging information come behind it, and what they name must be there before. */
static uint32_t end_of_functions(const struct sonde_ptx *p)
{
    return p->function_count ? p->items[p->functions[p->function_count - 1].close].text.at + 1 : 0;
}

/* Without debugging information, which names what is in kernels: to `end`, but for kernels. */
static void put_others(const struct sonde_ptx *p, uint32_t end, struct sonde_ptx_text *out)
{
    uint32_t at = 0;
    for (uint32_t f = 0; f < p->function_count; f++)
        if (p->functions[f].flags & SONDE_PTX_ENTRY) {
            put(out, p->text + at, p->items[p->functions[f].head].text.at - at);
            at = p->items[p->functions[f].close].text.at + 1;
        }
    put(out, p->text + at, end - at);
}

int sonde__ptx_rewrite(const struct sonde_ptx *p, const struct sonde_ptx_function *only, uint32_t plan, uint32_t every, struct sonde_ptx_text *out)
{
    const uint32_t end = end_of_functions(p), last = p->item_count ? p->items[p->item_count - 1].text.at + p->items[p->item_count - 1].text.bytes : 0;
    *out = (struct sonde_ptx_text){0};
    if (only && !(last > end && memmem(p->text + end, last - end, ".debug_info", strlen(".debug_info"))))
        put_others(p, end, out);
    else
        put(out, p->text, end);
    say(out, "\n");
    for (uint32_t f = 0; f < p->function_count && plan; f++)
        if ((!only || only == &p->functions[f]) && p->functions[f].accesses && !sonde__ptx_plain(p, &p->functions[f]))
            put_copy(p, &p->functions[f], plan, every, out);
    if (last > end)
        put(out, p->text + end, last - end);
    if (last > end && p->items[p->item_count - 1].kind == SONDE_PTX_STATEMENT)
        say(out, ";");
    say(out, "\n");
    return out->spent ? SONDE_ENOMEM : 0;
}

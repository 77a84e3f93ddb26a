/* unwind_eval.c - the full, slow way to step: every tracked register, DWARF
 * expressions included (DWARF 5, section 2.5). See unwind_cfi.h. */
#include "unwind_cfi.h"

#include <stddef.h>

typedef struct sonde__cfi_span span;

struct stack {
    uintptr_t value[12];
    unsigned depth;
    bool bad;
};

SONDE__RAW static void push(struct stack *st, uintptr_t value)
{
    if (st->depth == 12)
        st->bad = true;
    else
        st->value[st->depth++] = value;
}

SONDE__RAW static uintptr_t pop(struct stack *st)
{
    if (st->depth == 0) {
        st->bad = true;
        return 0;
    }
    return st->value[--st->depth];
}

SONDE__RAW static bool load(const struct sonde__cfi_range *range, uintptr_t address,
                            uintptr_t *value)
{
    if (!range || (address & 7) || address < range->lo || address > range->hi ||
        range->hi - address < 8)
        return false;
    *value = *(const uintptr_t *)address;
    return true;
}

SONDE__RAW static bool register_get(const struct sonde__regs *regs, uint64_t dwarf,
                                    uintptr_t *value)
{
    if (dwarf == SONDE__DWARF_RSP) {
        *value = regs->sp;
        return true;
    }
    int i = sonde__tracked(dwarf);
    if (i < 0 || !(regs->known >> i & 1))
        return false;
    *value = regs->reg[i];
    return true;
}

SONDE__RAW static uintptr_t little(span *s, unsigned bytes)
{
    uintptr_t value = 0;
    if (s->at > s->end || (uintptr_t)(s->end - s->at) < bytes) {
        s->at = s->end + 1;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uintptr_t)*s->at++ << (8 * i);
    return value;
}

SONDE__RAW static void binary(struct stack *st, uint8_t op)
{
    uintptr_t b = pop(st), a = pop(st);
    intptr_t sa = (intptr_t)a, sb = (intptr_t)b;
    switch (op) {
    case 0x1a: push(st, a & b); break;
    case 0x1c: push(st, a - b); break;
    case 0x1e: push(st, a * b); break;
    case 0x21: push(st, a | b); break;
    case 0x22: push(st, a + b); break;
    case 0x24: push(st, b < 64 ? a << b : 0); break;
    case 0x25: push(st, b < 64 ? a >> b : 0); break;
    case 0x27: push(st, a ^ b); break;
    case 0x29: push(st, sa == sb); break;
    case 0x2a: push(st, sa >= sb); break;
    case 0x2b: push(st, sa > sb); break;
    case 0x2c: push(st, sa <= sb); break;
    case 0x2d: push(st, sa < sb); break;
    case 0x2e: push(st, sa != sb); break;
    default: st->bad = true;
    }
}

SONDE__RAW static void constant_or_stack(struct stack *st, uint8_t op, span *s)
{
    uintptr_t a, b;
    /* clang-format off */
    switch (op) {
    case 0x08: push(st, little(s, 1)); break;
    case 0x09: push(st, (uintptr_t)(intptr_t)(int8_t)little(s, 1)); break;
    case 0x0a: push(st, little(s, 2)); break;
    case 0x0b: push(st, (uintptr_t)(intptr_t)(int16_t)little(s, 2)); break;
    case 0x0c: push(st, little(s, 4)); break;
    case 0x0d: push(st, (uintptr_t)(intptr_t)(int32_t)little(s, 4)); break;
    case 0x0e: case 0x0f: push(st, little(s, 8)); break;
    case 0x10: push(st, sonde__cfi_uleb(s)); break;
    case 0x11: push(st, (uintptr_t)sonde__cfi_sleb(s)); break;
    case 0x12: a = pop(st); push(st, a); push(st, a); break;
    case 0x13: pop(st); break;
    case 0x16: a = pop(st); b = pop(st); push(st, a); push(st, b); break;
    case 0x1f: push(st, 0 - pop(st)); break;
    case 0x20: push(st, ~pop(st)); break;
    case 0x23: a = pop(st); push(st, a + sonde__cfi_uleb(s)); break;
    case 0x96: break; /* nop */
    default: binary(st, op);
    }
    /* clang-format on */
}

SONDE__RAW bool sonde__cfi_eval(const struct sonde__cfi *cfi, int32_t offset,
                                const struct sonde__regs *regs, const uintptr_t *initial,
                                const struct sonde__cfi_range *range, uintptr_t *value)
{
    span s = sonde__cfi_expression(cfi, offset);
    struct stack st;
    st.depth = 0;
    st.bad = s.at == s.end;
    if (initial)
        push(&st, *initial);
    while (s.at < s.end && !st.bad) {
        uint8_t op = *s.at++;
        uintptr_t v = 0;
        if (op >= 0x30 && op <= 0x4f) { /* lit0 to lit31 */
            push(&st, op - 0x30U);
        } else if ((op >= 0x70 && op <= 0x8f) || op == 0x92) { /* breg, bregx */
            uint64_t reg = op == 0x92 ? sonde__cfi_uleb(&s) : op - 0x70U;
            st.bad |= !register_get(regs, reg, &v);
            push(&st, v + (uintptr_t)sonde__cfi_sleb(&s));
        } else if (op == 0x06) { /* deref */
            st.bad |= !load(range, pop(&st), &v);
            push(&st, v);
        } else {
            constant_or_stack(&st, op, &s);
        }
    }
    *value = pop(&st);
    return !st.bad && s.at == s.end;
}

/* The caller's value of tracked register i. 0 unknown, 1 known, -1 failed. */
SONDE__RAW static int caller_register(const struct sonde__cfi *cfi,
                                      const struct sonde__cfi_row *row, int i, uintptr_t cfa,
                                      const struct sonde__cfi_range *range,
                                      const struct sonde__regs *regs, uintptr_t *value)
{
    uintptr_t v = cfa + (uintptr_t)(intptr_t)row->value[i];
    switch (row->kind[i]) {
    case SONDE__CFI_SAME:
        *value = regs->reg[i];
        return regs->known >> i & 1;
    case SONDE__CFI_VAL_OFFSET: *value = v; return 1;
    case SONDE__CFI_REGISTER:
        return register_get(regs, (uint64_t)row->value[i], value);
    case SONDE__CFI_OFFSET: return load(range, v, value) ? 1 : -1;
    case SONDE__CFI_VAL_EXPR:
        return sonde__cfi_eval(cfi, row->value[i], regs, &cfa, range, value);
    case SONDE__CFI_EXPR:
        if (!sonde__cfi_eval(cfi, row->value[i], regs, &cfa, range, &v))
            return 0;
        return load(range, v, value) ? 1 : -1;
    default: return 0;
    }
}

SONDE__RAW bool sonde__cfi_apply(const struct sonde__cfi *cfi, const struct sonde__cfi_row *row,
                                 const struct sonde__cfi_range *range, struct sonde__regs *regs,
                                 bool *outermost)
{
    struct sonde__regs next;
    uintptr_t cfa;
    *outermost = row->kind[SONDE__RIP] == SONDE__CFI_UNDEFINED;
    if (*outermost)
        return true;
    if (row->cfa_reg == SONDE__CFI_CFA_EXPR) {
        if (!sonde__cfi_eval(cfi, row->cfa_value, regs, NULL, range, &cfa))
            return false;
    } else if (register_get(regs, row->cfa_reg, &cfa)) {
        cfa += (uintptr_t)(intptr_t)row->cfa_value;
    } else {
        return false;
    }
    next.sp = cfa;
    next.known = 0;
    for (int i = 0; i < SONDE__TRACKED; i++) {
        int got = caller_register(cfi, row, i, cfa, range, regs, &next.reg[i]);
        if (got < 0)
            return false;
        next.known |= (uint32_t)got << i;
    }
    if (!(next.known >> SONDE__RIP & 1))
        return false;
    *regs = next;
    *outermost = regs->reg[SONDE__RIP] == 0;
    return true;
}

/* unwind_x86_64.c - packs x86-64 call frame rows into 64-bit rules; see
 * unwind_x86_64.h. The forms are those that gcc, clang and the hand-written
 * assembly of glibc and OpenSSL use; all others become SLOW. */
#include "unwind_cfi.h"

#include <stddef.h>

#if defined(__x86_64__)

typedef struct sonde__cfi_span span;

static uint64_t pack(unsigned kind, unsigned fp, int64_t cfa, int64_t fp_offset, int64_t second)
{
    if (cfa != (int64_t)((uint64_t)cfa << 37) >> 37 || (second & 7) ||
        second / 8 != (int8_t)(second / 8) || fp_offset >= 1 << 23 || fp_offset < -(1 << 23))
        return SONDE__RULE_SLOW;
    return (uint64_t)cfa << 37 | ((uint64_t)fp_offset & 0xffffff) << 13 |
           (uint64_t)(uint8_t)(second / 8) << 5 | (uint64_t)fp << 3 | kind;
}

/* breg6 N; deref or breg7 N; deref, then maybe plus_uconst M. */
SONDE__RAW static bool match_deref(span s, unsigned *kind, int64_t *offset, int64_t *second)
{
    if (s.end - s.at < 3 || (*s.at != 0x76 && *s.at != 0x77))
        return false;
    *kind = *s.at++ == 0x76 ? SONDE__RULE_FP_DEREF : SONDE__RULE_SP_DEREF;
    *offset = sonde__cfi_sleb(&s);
    if (s.at >= s.end || *s.at++ != 0x06)
        return false;
    *second = 0;
    if (s.at < s.end && *s.at == 0x23) {
        s.at++;
        *second = (int64_t)sonde__cfi_uleb(&s);
    }
    return s.at == s.end;
}

/* An expression of rsp and rip alone, without memory, is rsp + a constant at
 * one pc (the procedure linkage table: breg7 8; breg16 0; lit15; and; lit11;
 * ge; lit3; shl; plus). Evaluated at two values of rsp to be sure. */
SONDE__RAW static bool match_sp(const struct sonde__cfi *cfi, int32_t expression, uintptr_t pc,
                                int64_t *offset)
{
    struct sonde__regs regs = {.sp = 0x10000, .known = 1U << SONDE__RIP};
    uintptr_t first, second;
    regs.reg[SONDE__RIP] = pc;
    if (!sonde__cfi_eval(cfi, expression, &regs, NULL, NULL, &first))
        return false;
    regs.sp = 0x7050000;
    if (!sonde__cfi_eval(cfi, expression, &regs, NULL, NULL, &second))
        return false;
    *offset = (int64_t)first - 0x10000;
    return second - first == 0x7050000 - 0x10000;
}

/* breg6 N: saved at rbp + N. */
SONDE__RAW static bool match_at_fp(span s, int64_t *offset)
{
    if (s.at >= s.end || *s.at++ != 0x76)
        return false;
    *offset = sonde__cfi_sleb(&s);
    return s.at == s.end;
}

/* The signal frame as the kernel lays it out; glibc describes it by
 * expressions on rsp. */
SONDE__RAW static bool match_signal(const struct sonde__cfi *cfi, const struct sonde__cfi_row *row)
{
    unsigned kind;
    int64_t offset, second;
    span rip = sonde__cfi_expression(cfi, row->value[SONDE__RIP]);
    if (row->cfa_reg != SONDE__CFI_CFA_EXPR || row->kind[SONDE__RIP] != SONDE__CFI_EXPR ||
        !match_deref(sonde__cfi_expression(cfi, row->cfa_value), &kind, &offset, &second))
        return false;
    return kind == SONDE__RULE_SP_DEREF && offset == SONDE__UC_RSP && second == 0 &&
           rip.at < rip.end && *rip.at++ == 0x77 && sonde__cfi_sleb(&rip) == SONDE__UC_RIP &&
           rip.at == rip.end;
}

SONDE__RAW static bool cfa_form(const struct sonde__cfi *cfi, const struct sonde__cfi_row *row,
                                uintptr_t pc, unsigned *kind, int64_t *cfa, int64_t *second)
{
    *second = 0;
    *cfa = row->cfa_value;
    if (row->cfa_reg == SONDE__DWARF_RSP)
        *kind = SONDE__RULE_SP;
    else if (row->cfa_reg == SONDE__DWARF_RBP)
        *kind = SONDE__RULE_FP;
    else if (row->cfa_reg != SONDE__CFI_CFA_EXPR)
        return false;
    else if (match_sp(cfi, row->cfa_value, pc, cfa))
        *kind = SONDE__RULE_SP;
    else
        return match_deref(sonde__cfi_expression(cfi, row->cfa_value), kind, cfa, second);
    return true;
}

SONDE__RAW static uint64_t row_pack(const struct sonde__cfi *cfi, const struct sonde__cfi_row *row,
                                    uintptr_t pc)
{
    unsigned kind, fp;
    int64_t cfa, second, fp_offset = row->value[SONDE__RBP];
    if (row->kind[SONDE__RIP] == SONDE__CFI_UNDEFINED)
        return SONDE__RULE_OUTERMOST;
    if (cfi->signal)
        return match_signal(cfi, row) ? SONDE__RULE_SIGNAL : SONDE__RULE_SLOW;
    if (row->kind[SONDE__RIP] != SONDE__CFI_OFFSET || row->value[SONDE__RIP] != -8 ||
        !cfa_form(cfi, row, pc, &kind, &cfa, &second))
        return SONDE__RULE_SLOW;
    switch (row->kind[SONDE__RBP]) {
    case SONDE__CFI_SAME:
    case SONDE__CFI_UNDEFINED:
        fp = SONDE__FP_SAME;
        fp_offset = 0;
        break;
    case SONDE__CFI_OFFSET: fp = SONDE__FP_AT_CFA; break;
    case SONDE__CFI_EXPR:
        fp = SONDE__FP_AT_FP;
        if (!match_at_fp(sonde__cfi_expression(cfi, row->value[SONDE__RBP]), &fp_offset))
            return SONDE__RULE_SLOW;
        break;
    default: return SONDE__RULE_SLOW;
    }
    return pack(kind, fp, cfa, fp_offset, second);
}

SONDE__RAW uint64_t sonde__rule_learn(uintptr_t pc)
{
    struct sonde__cfi cfi;
    struct sonde__cfi_row row;
    enum sonde__cfi_found found = sonde__cfi_find(pc, &cfi);
    /* No call returns to the first byte of a function: makecontext planted it
     * there, and nothing lies beyond. */
    if (found == SONDE__CFI_NO_INFO && sonde__cfi_find(pc + 1, &cfi) == SONDE__CFI_FOUND &&
        cfi.start == pc + 1)
        return SONDE__RULE_OUTERMOST;
    if (found != SONDE__CFI_FOUND || cfi.ra_reg != SONDE__DWARF_RIP ||
        !sonde__cfi_row(&cfi, pc, &row))
        return SONDE__RULE_NONE;
    return row_pack(&cfi, &row, pc);
}

/* Is b[0..n) a whole `call r/m64` (ff /2), with or without a REX prefix? */
SONDE__RAW static bool indirect_call(const uint8_t *b, unsigned n)
{
    if ((b[0] & 0xf0) == 0x40 && n > 2) {
        b++;
        n--;
    }
    if (b[0] != 0xff || (b[1] & 0x38) != 0x10)
        return false;
    unsigned mode = b[1] >> 6, rm = b[1] & 7, length = 2;
    if (mode == 3)
        return n == 2;
    length += rm == 4;
    if (mode == 1)
        length += 1;
    else if (mode == 2 || rm == 5 || (rm == 4 && n > 2 && (b[2] & 7) == 5))
        length += 4;
    return n == length;
}

SONDE__RAW bool sonde__after_call(uintptr_t pc)
{
    const uint8_t *end = (const uint8_t *)pc;
    if (end[-5] == 0xe8)
        return true;
    for (unsigned n = 2; n <= 7; n++)
        if (indirect_call(end - n, n))
            return true;
    return false;
}

#endif

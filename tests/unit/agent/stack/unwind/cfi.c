/* cfi.c - call frame programs and expressions with known results, and damaged
 * ones in front of a page without access. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/stack/unwind_cfi.h"

#define ROOM 4096

/* `count` bytes that end where readable memory ends. */
static uint8_t *at_the_edge(const uint8_t *bytes, size_t count)
{
    static uint8_t *map;
    if (!map) {
        map = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(map != MAP_FAILED);
        assert_int_equal(mprotect(map + ROOM, ROOM, PROT_NONE), 0);
    }
    return memcpy(map + ROOM - count, bytes, count);
}

static struct sonde__cfi description(const uint8_t *bytes, size_t count, size_t cie)
{
    uint8_t *at = at_the_edge(bytes, count);
    struct sonde__cfi cfi = {
        .start = 0x1000,
        .end = 0x2000,
        .base = at - 1,
        .limit = at + count,
        .cie = {at, at + cie},
        .fde = {at + cie, at + count},
        .code_align = 1,
        .data_align = -8,
        .ra_reg = 16,
        .pointer_encoding = 0x1b,
    };
    return cfi;
}

static const uint8_t function[] = {
    0x0c, 7, 8, 0x90, 1,             /* CIE: CFA = rsp + 8, rip at CFA - 8 */
    0x41, 0x0e, 16, 0x86, 2,         /* +1: push rbp */
    0x43, 0x0d, 6,                   /* +4: mov rbp, rsp */
    0x50, 0x83, 3,                   /* +20: push rbx */
    0x4a, 0x0a, 0xc3, 0xc6, 0x0c, 7, 8, /* +30: remember; after leave */
    0x41, 0x0b,                      /* +31: as before */
    0x02, 200, 0x07, 16              /* +231: outermost */
};

static struct sonde__cfi_row row_at(uintptr_t offset)
{
    struct sonde__cfi cfi = description(function, sizeof function, 5);
    struct sonde__cfi_row row;
    assert_true(sonde__cfi_row(&cfi, 0x1000 + offset, &row));
    return row;
}

static void expect(uintptr_t offset, uint32_t reg, int32_t value, int rbp, int rbx)
{
    struct sonde__cfi_row row = row_at(offset);
    assert_int_equal(row.cfa_reg, reg);
    assert_int_equal(row.cfa_value, value);
    assert_int_equal(row.kind[SONDE__RIP], SONDE__CFI_OFFSET);
    assert_int_equal(row.value[SONDE__RIP], -8);
    assert_int_equal(row.kind[SONDE__RBP], rbp ? SONDE__CFI_OFFSET : SONDE__CFI_SAME);
    assert_int_equal(row.value[SONDE__RBP], rbp);
    assert_int_equal(row.value[SONDE__RBX], rbx);
}

static void test_rows(void **state)
{
    (void)state;
    expect(0, 7, 8, 0, 0);
    expect(1, 7, 16, -16, 0);
    expect(3, 7, 16, -16, 0);
    expect(4, 6, 16, -16, 0);
    expect(19, 6, 16, -16, 0);
    expect(20, 6, 16, -16, -24);
    expect(30, 7, 8, 0, 0);
    expect(31, 6, 16, -16, -24);
    assert_int_equal(row_at(231).kind[SONDE__RIP], SONDE__CFI_UNDEFINED);
}

static void test_linkage_table_expression(void **state)
{
    (void)state;
    static const uint8_t plt[] = {11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    struct sonde__cfi cfi = description(plt, sizeof plt, 0);
    struct sonde__regs regs = {.sp = 0x8000, .known = 1U << SONDE__RIP};
    for (uintptr_t pc = 0x1000; pc < 0x1010; pc++) {
        uintptr_t value;
        regs.reg[SONDE__RIP] = pc;
        assert_true(sonde__cfi_eval(&cfi, 1, &regs, NULL, NULL, &value));
        assert_int_equal(value, (pc & 15) >= 11 ? 0x8010 : 0x8008);
    }
}

static void test_memory_outside_is_refused(void **state)
{
    (void)state;
    static const uint8_t deref[] = {3, 0x77, 0, 0x06}; /* *(rsp + 0) */
    struct sonde__cfi cfi = description(deref, sizeof deref, 0);
    uintptr_t memory[2] = {17, 18}, value;
    struct sonde__cfi_range range = {(uintptr_t)memory, (uintptr_t)(memory + 2)};
    struct sonde__regs regs = {.sp = (uintptr_t)(memory + 1)};
    assert_true(sonde__cfi_eval(&cfi, 1, &regs, NULL, &range, &value));
    assert_int_equal(value, 18);
    regs.sp += 8;
    assert_false(sonde__cfi_eval(&cfi, 1, &regs, NULL, &range, &value));
    regs.sp = 0;
    assert_false(sonde__cfi_eval(&cfi, 1, &regs, NULL, &range, &value));
    assert_false(sonde__cfi_eval(&cfi, 1, &regs, NULL, NULL, &value));
}

/* Every truncation, and random bytes: an answer or none, but no read beyond. */
static void test_damage(void **state)
{
    (void)state;
    struct sonde__cfi_row row;
    struct sonde__regs regs = {.sp = 0x8000, .known = ~0U};
    uintptr_t value;
    for (size_t n = 5; n <= sizeof function; n++) {
        struct sonde__cfi cfi = description(function, n, 5);
        sonde__cfi_row(&cfi, 0x1fff, &row);
    }
    srand(1);
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[40];
        size_t n = 1 + (size_t)rand() % sizeof bytes;
        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)(rand() >> 7);
        struct sonde__cfi cfi = description(bytes, n, n / 2);
        if (sonde__cfi_row(&cfi, 0x1fff, &row) && row.cfa_reg == SONDE__CFI_CFA_EXPR)
            sonde__cfi_eval(&cfi, row.cfa_value, &regs, NULL, NULL, &value);
        bytes[0] = (uint8_t)(n - 1);
        cfi = description(bytes, n, 0);
        sonde__cfi_eval(&cfi, 1, &regs, NULL, NULL, &value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_linkage_table_expression),
        cmocka_unit_test(test_memory_outside_is_refused),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

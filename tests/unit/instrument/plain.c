/* plain.c - unit tests of which kernels get an instrumented copy, and why the others do not: by the PTX ISA's words for each instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/rewrite.h"

#define TOP "//\n.version 8.7\n.target sm_90a\n.address_size 64\n"
#define REGISTERS ".reg .pred %p<4>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<12>;\n.reg .f32 %f<12>;\n"
#define STORE "ld.param.u64 %rd1, [k_0];\nst.global.u32 [%rd1], %r1;\n"
#define OPEN(name, directives) ".visible .entry " name "(.param .u64 k_0)\n" directives "\n{\n" REGISTERS
#define CLOSE "\nret;\n}\n"
#define KERNEL(name, directives, body) OPEN(name, directives) body CLOSE

static struct sonde_ptx ptx;

static void read_text(const char *text)
{
    sonde__ptx_release(&ptx);
    if (sonde__ptx_read(&ptx, text, strlen(text)))
        fail_msg("line %u: %s", ptx.line, ptx.why);
}

static const struct sonde_ptx_function *named(const char *name)
{
    for (uint32_t f = 0; f < ptx.function_count; f++)
        if (ptx.functions[f].name.bytes == strlen(name) && memcmp(ptx.text + ptx.functions[f].name.at, name, strlen(name)) == 0)
            return &ptx.functions[f];
    fail_msg("there is no %s", name);
    return NULL;
}

static bool has_copy(const char *name)
{
    char copy[100];
    struct sonde_ptx_text text;
    snprintf(copy, sizeof copy, ".entry %s__sonde(", name);
    assert_int_equal(sonde__ptx_rewrite(&ptx, NULL, SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES, 0, &text), 0);
    const bool found = strstr(text.text, copy) != NULL;
    sonde__ptx_text_release(&text);
    return found;
}

/* It has a copy, or stays plain and why. */
static void must_be(const char *name, enum sonde_value_missed why)
{
    const struct sonde_ptx_function *f = named(name);
    if (sonde__ptx_plain(&ptx, f) != why)
        fail_msg("%s: %d, not %d", name, (int)sonde__ptx_plain(&ptx, f), (int)why);
    assert_int_equal(has_copy(name), !why && f->accesses);
}

static int release(void **state)
{
    (void)state;
    sonde__ptx_release(&ptx);
    return 0;
}

/* ---- statements --------------------------------------------------------------------------------------------- */

static void each_statement_has_its_reason(void **state)
{
    static const struct {
        const char *body;
        enum sonde_value_missed why;
    } cases[] = {
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;", SONDE_VALUE_MISSED_NONE},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];", SONDE_VALUE_MISSED_NONE},
        {"cp.async.ca.shared.global [%r1], [%rd1], 16;\ncp.async.wait_all;", SONDE_VALUE_MISSED_NONE},
        {"cp.async.ca.shared.global [%r1], [%rd1], 16, %r2;", SONDE_VALUE_MISSED_LENGTH},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", SONDE_VALUE_MISSED_TEXTURE},
        {"txq.width.b32 %r1, [%rd1];", SONDE_VALUE_MISSED_TEXTURE},
        {"sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3};", SONDE_VALUE_MISSED_TEXTURE},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2];", SONDE_VALUE_MISSED_BULK},
        {"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];", SONDE_VALUE_MISSED_BULK},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 64;", SONDE_VALUE_MISSED_BULK},
        {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 64, [%r3];", SONDE_VALUE_MISSED_NONE},
        {"multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;", SONDE_VALUE_MISSED_BULK},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], %r9;", SONDE_VALUE_MISSED_MATRIX},
        {"gather.global.u32 %r1, [%rd1], %r2;", SONDE_VALUE_MISSED_STATEMENT},
        {"st.global.e5m2 [%rd1], %rs1;", SONDE_VALUE_MISSED_STATEMENT},
        {"st.global.u32 [%rd1], %undeclared;", SONDE_VALUE_MISSED_STATEMENT},
        /* Inline assembly: another register of a name that is there, and one without a percent sign. */
        {"{\n.reg .u32 t;\n.reg .b64 %r1;\nmov.b64 %r1, 5;\ncvt.u32.u64 t, %r1;\nst.global.u64 [%rd1], %r1;\nst.global.u32 [%rd1+8], t;\n}", SONDE_VALUE_MISSED_NONE},
        {"fence.proxy.async;\nelect.sync _|%p1, 0xffffffff;\nmbarrier.init.shared::cta.b64 [%r1], 1;\nsetmaxnreg.dec.sync.aligned.u32 40;", SONDE_VALUE_MISSED_NONE},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[2000];
        snprintf(text, sizeof text, "%s%s\n%s", TOP KERNEL("other", "", STORE) OPEN("k", ""), cases[k].body, STORE CLOSE);
        read_text(text);
        print_message("%s\n", cases[k].body);
        must_be("k", cases[k].why);
        must_be("other", SONDE_VALUE_MISSED_NONE); /* of the same module */
    }
}

/* The registers that have the values of an inner scope are its own. */
static void scopes_of_inline_assembly_are_kept(void **state)
{
    struct sonde_ptx_text text;
    (void)state;
    read_text(TOP KERNEL("k", "", "{\n.reg .b64 %r1;\nst.global.u64 [%rd1], %r1;\n}\n" STORE));
    assert_int_equal(sonde__ptx_rewrite(&ptx, NULL, SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES, 0, &text), 0);
    assert_non_null(strstr(text.text, "mov.b64 %sonde_w, %r1;")); /* of 8 bytes inside, */
    assert_non_null(strstr(text.text, "mov.b32 %sonde_v, %r1;")); /* and of 4 outside */
    sonde__ptx_text_release(&text);
}

/* ---- what a kernel is ----------------------------------------------------------------------------------------- */

static void nothing_to_look_at(void **state)
{
    (void)state;
    read_text(TOP KERNEL("k", "", "st.shared.u32 [%r1], %r2;") KERNEL("c", ".reqnctapercluster 2, 1, 1", "barrier.cluster.arrive;\nbarrier.cluster.wait;"));
    must_be("k", SONDE_VALUE_MISSED_NONE);
    must_be("c", SONDE_VALUE_MISSED_NONE);
    assert_int_equal(named("k")->accesses + named("c")->accesses, 0);
}

static void clusters(void **state)
{
    (void)state;
    read_text(TOP KERNEL("required", ".explicitcluster\n.reqnctapercluster 2, 1, 1", STORE) KERNEL("explicit", ".explicitcluster", STORE)
                  KERNEL("bounded", ".maxntid 128, 1, 1\n.maxclusterrank 8", STORE));
    must_be("required", SONDE_VALUE_MISSED_CLUSTER);
    must_be("explicit", SONDE_VALUE_MISSED_CLUSTER);
    must_be("bounded", SONDE_VALUE_MISSED_NONE);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

#define CALL(callee) "call.uni " callee ";\n" STORE
#define FUNCTION(name, body) ".func " name "()\n{\n" REGISTERS body CLOSE
#define READS(variable) "mov.u64 %rd1, " variable ";\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nld.global.nc.u32 %r2, [%rd1+4];"
#define TABLE ".global .align 4 .b8 __cudart_table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n.global .align 4 .b8 mine[8];\n"

static void calls_within_the_module_are_looked_into(void **state)
{
    (void)state;
    read_text(TOP FUNCTION("alone", "add.u32 %r1, %r1, 1;\nst.local.u32 [%rd1], %r1;") FUNCTION("reads", "ld.global.u32 %r1, [%rd1];")
                  FUNCTION("generic", "st.u32 [%rd1], %r1;") FUNCTION("calls_alone", "call.uni alone;") FUNCTION("calls_reads", "@%p1 call calls_alone;\ncall reads;")
                      FUNCTION("fetches", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];") FUNCTION("itself", "call itself;")
                          KERNEL("k0", "", CALL("alone")) KERNEL("k1", "", CALL("reads")) KERNEL("k2", "", CALL("generic")) KERNEL("k3", "", CALL("calls_alone"))
                              KERNEL("k4", "", CALL("calls_reads")) KERNEL("k5", "", CALL("fetches")) KERNEL("k6", "", CALL("itself"))
                                  KERNEL("k7", "", "prototype_0: .callprototype _ ();\ncall %rd2, prototype_0;\n" STORE));
    must_be("k0", SONDE_VALUE_MISSED_NONE);
    must_be("k1", SONDE_VALUE_MISSED_CALLS);
    must_be("k2", SONDE_VALUE_MISSED_CALLS);
    must_be("k3", SONDE_VALUE_MISSED_NONE);
    must_be("k4", SONDE_VALUE_MISSED_CALLS);
    must_be("k5", SONDE_VALUE_MISSED_CALLS);
    must_be("k6", SONDE_VALUE_MISSED_CALLS);
    must_be("k7", SONDE_VALUE_MISSED_CALLS);
    must_be("alone", SONDE_VALUE_MISSED_PTX); /* no kernel */
}

/* Each calls the next one nine times: 387,420,489 calls in all. */
static void calls_are_not_followed_without_end(void **state)
{
    static char text[20000];
    (void)state;
    size_t used = (size_t)snprintf(text, sizeof text, "%s", TOP FUNCTION("f9", "add.u32 %r1, %r1, 1;"));
    for (int k = 8; k >= 0; k--) {
        used += (size_t)snprintf(text + used, sizeof text - used, ".func f%d()\n{\n", k);
        for (int n = 0; n < 9; n++)
            used += (size_t)snprintf(text + used, sizeof text - used, "call f%d;\n", k + 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "ret;\n}\n");
    }
    snprintf(text + used, sizeof text - used, "%s", KERNEL("deep", "", CALL("f0")) KERNEL("wide", "", CALL("f5")) KERNEL("flat", "", CALL("f7")));
    read_text(text);
    must_be("deep", SONDE_VALUE_MISSED_CALLS);
    must_be("wide", SONDE_VALUE_MISSED_CALLS);
    must_be("flat", SONDE_VALUE_MISSED_NONE);
    used = (size_t)snprintf(text, sizeof text, "%s", TOP TABLE FUNCTION("__internal_slow", READS("__cudart_table")) OPEN("k", ""));
    for (int n = 0; n < 400; n++)
        used += (size_t)snprintf(text + used, sizeof text - used, "call __internal_slow;\n");
    snprintf(text + used, sizeof text - used, "%s", STORE CLOSE);
    read_text(text);
    must_be("k", SONDE_VALUE_MISSED_NONE);
}

static void calls_out_of_the_module_are_known_or_not(void **state)
{
    (void)state;
    read_text(TOP ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.extern .func elsewhere();\n.extern .func (.param .b64 r) malloc(.param .b64 a);\n" KERNEL("k0", "", "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 r;\ncall.uni (r),\nvprintf,\n(\na,\nb\n);\n}\n" STORE) KERNEL("k1", "", CALL("elsewhere"))
                  KERNEL("k2", "", "{\n.param .b64 a;\n.param .b64 r;\ncall.uni (r), malloc, (a);\n}\n" STORE) KERNEL("k3", "", CALL("free_all"))
                      KERNEL("k4", "", "call.uni elsewhere;"));
    must_be("k0", SONDE_VALUE_MISSED_NONE);
    must_be("k1", SONDE_VALUE_MISSED_CALLS);
    must_be("k2", SONDE_VALUE_MISSED_NONE);
    must_be("k3", SONDE_VALUE_MISSED_CALLS);
    must_be("k4", SONDE_VALUE_MISSED_CALLS); /* it has no access of its own, but perhaps there */
}

/* Only tables of the compiler's, and only by functions with its names. */
static void the_mathematics_may_read_its_tables(void **state)
{
    (void)state;
    read_text(TOP TABLE FUNCTION("__internal_slow", READS("__cudart_table")) FUNCTION("__internal_mine", READS("mine"))
                  FUNCTION("__internal_writes", READS("__cudart_table") "\nst.global.u32 [%rd1], %r1;") FUNCTION("slow", READS("__cudart_table"))
                      KERNEL("k0", "", CALL("__internal_slow")) KERNEL("k1", "", CALL("__internal_mine")) KERNEL("k2", "", CALL("__internal_writes"))
                          KERNEL("k3", "", CALL("slow")) KERNEL("k4", "", CALL("__internal_declared_only")));
    must_be("k0", SONDE_VALUE_MISSED_NONE);
    must_be("k1", SONDE_VALUE_MISSED_CALLS);
    must_be("k2", SONDE_VALUE_MISSED_CALLS);
    must_be("k3", SONDE_VALUE_MISSED_CALLS);
    must_be("k4", SONDE_VALUE_MISSED_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_statement_has_its_reason),
        cmocka_unit_test(scopes_of_inline_assembly_are_kept),
        cmocka_unit_test(nothing_to_look_at),
        cmocka_unit_test(clusters),
        cmocka_unit_test(calls_within_the_module_are_looked_into),
        cmocka_unit_test(calls_are_not_followed_without_end),
        cmocka_unit_test(calls_out_of_the_module_are_known_or_not),
        cmocka_unit_test(the_mathematics_may_read_its_tables),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}

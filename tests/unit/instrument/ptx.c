/* ptx.c - unit tests of the PTX reader: each way to write an access, nvcc's own text by the source it was made from, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sonde/error.h>

#include "instrument/ptx.h"

#define TOP "//\n.version 8.7\n.target sm_90a, debug\n.address_size 64\n"

static char text[1 << 16];

/* A kernel around these statements. */
static int read_body(struct sonde_ptx *p, const char *body)
{
    const int bytes = snprintf(text, sizeof text, TOP ".visible .entry k(\n.param .u64 k_0\n)\n{\n%s\nret;\n}\n", body);
    return sonde__ptx_read(p, text, (size_t)bytes);
}

static const char *show(const struct sonde_ptx *p, struct sonde_ptx_span s)
{
    static char shown[4][128];
    static int at;
    at = (at + 1) % 4;
    snprintf(shown[at], sizeof *shown, "%.*s", (int)s.bytes, p->text + s.at);
    return shown[at];
}

/* ---- one access each ------------------------------------------------------------------------------- */

static const char *const ops[] = {"load", "store", "atomic", "reduction", "copy in", "texture", "bulk", "matrix", "length", "unknown"};
static const char types[] = "busfx"; /* x: bfloat */

/* "load f4x4 %rd6+16 {%f1, …} if %p1": what is known of it, in one line. */
static const char *say(const struct sonde_ptx *p, const struct sonde_ptx_access *a)
{
    static char line[400];
    int n = snprintf(line, sizeof line, "%s%s", a->flags & SONDE_PTX_GENERIC ? "generic " : "", ops[a->op]);
    if (a->op < SONDE_PTX_NOT_FOLLOWED)
        n += snprintf(line + n, sizeof line - (size_t)n, " %c%ux%u", types[a->type], a->element_bytes, a->elements);
    n += snprintf(line + n, sizeof line - (size_t)n, " %s", show(p, a->base));
    if (a->offset)
        n += snprintf(line + n, sizeof line - (size_t)n, "%+lld", (long long)a->offset);
    if (a->values.bytes)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s", show(p, a->values));
    if (a->flags & SONDE_PTX_PREDICATED)
        snprintf(line + n, sizeof line - (size_t)n, " if %s%s", a->flags & SONDE_PTX_NEGATED ? "not " : "", show(p, a->predicate));
    return line;
}

static void every_way_to_write_an_access(void **state)
{
    static const struct {
        const char *statement, *said; /* NULL: no access to the device's memory */
    } cases[] = {
        {"ld.global.f32 %f1, [%rd1];", "load f4x1 %rd1 %f1"},
        {"ld.global.f32 %f1, [%rd1+16];", "load f4x1 %rd1+16 %f1"},
        {"ld.global.f32 %f1, [%rd1+-0x10];", "load f4x1 %rd1-16 %f1"},
        {"ld.global.f32 %f1, [ %rd1 + 8 ];", "load f4x1 %rd1+8 %f1"},
        {"ld.global.u32 %r1, [table+4];", "load u4x1 table+4 %r1"},
        {"@%p1 ld.global.s64 %rd2, [%rd1];", "load s8x1 %rd1 %rd2 if %p1"},
        {"@!%p1 st.global.u8 [%rd1], %rs1;", "store u1x1 %rd1 %rs1 if not %p1"},
        {"@! %p1 st.global.u8 [%rd1], 0;", "store u1x1 %rd1 0 if not %p1"},
        {"st.global.v4.f32 [%rd1], {%f1, %f2, 0f00000000, %f4};", "store f4x4 %rd1 {%f1, %f2, 0f00000000, %f4}"},
        {"ld.global.v2.b64 {%rd2,%rd3}, [%rd1];", "load b8x2 %rd1 {%rd2,%rd3}"},
        {"ld.global.v8.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%rd1];", "load f4x8 %rd1 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}"},
        {"ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, _}, [%rd1];", "load u4x4 %rd1 {%r1, %r2, %r3, _}"},
        {"ld.global.L1::evict_last.L2::cache_hint.b128 %rq1, [%rd1], %rd9;", "load b16x1 %rd1 %rq1"},
        {"ld.volatile.global.f64 %fd1, [%rd1];", "load f8x1 %rd1 %fd1"},
        {"ld.volatile.u16 %rs1, [%rd1];", "generic load u2x1 %rd1 %rs1"},
        {"ld.acquire.gpu.global.u32 %r1, [%rd1];", "load u4x1 %rd1 %r1"},
        {"ld.relaxed.sys.b32 %r1, [%rd1];", "generic load b4x1 %rd1 %r1"},
        {"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", "load u4x1 %rd1 %r1"},
        {"ldu.global.f32 %f1, [%rd1];", "load f4x1 %rd1 %f1"},
        {"ld.u32 %r1, [4096];", "generic load u4x1 4096 %r1"},
        {"st.release.cta.global.s32 [%rd1], -1;", "store s4x1 %rd1 -1"},
        {"st.wb.b16 [%rd1], %rs2;", "generic store b2x1 %rd1 %rs2"},
        {"atom.global.add.u32 %r1, [%rd1], 1;", "atomic u4x1 %rd1"},
        {"atom.relaxed.gpu.global.add.noftz.f16x2 %r1, [%rd1], %r2;", "atomic f2x2 %rd1"},
        {"atom.global.v4.bf16x2.add.noftz {%r1,%r2,%r3,%r4}, [%rd1], {%r5,%r6,%r7,%r8};", "unknown atom"}, /* the type is not last */
        {"atom.global.add.noftz.v4.bf16x2 {%r1,%r2,%r3,%r4}, [%rd1], {%r5,%r6,%r7,%r8};", "atomic x2x8 %rd1"},
        {"atom.cas.b64 %rd2, [%rd1], %rd3, %rd4;", "generic atomic b8x1 %rd1"},
        {"@%p2 red.global.max.s32 [%rd1+4], %r2;", "reduction s4x1 %rd1+4 if %p2"},
        {"red.async.relaxed.cluster.global.add.u32 [%rd1], %r2, [%r3];", "bulk red"},
        {"cp.async.cg.shared.global [%r1], [%rd1+32], 16;", "copy in b16x1 %rd1+32"},
        {"cp.async.ca.shared::cta.global.L2::128B [%r1+8], [%rd1], 4;", "copy in b4x1 %rd1"},
        {"cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 8, %rd7;", "copy in b8x1 %rd1"},
        {"cp.async.ca.shared.global [%r1], [%rd1], 16, %r3;", "length cp"},
        {"@%p1 cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 16, %r3, %rd7;", "length cp if %p1"},
        {"st.async.release.sys.global.mmio.u32 [%rd1], %r2;", "bulk st"},
        {"tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;", "bulk tensormap"},
        {"tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd1], %rd2;", NULL},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];", "bulk cp"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];", "bulk cp"},
        {"tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f5,%f6}];", "texture tex"},
        {"sust.b.1d.b32.trap [s, {%r1}], {%r2};", "texture sust"},
        {"multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;", "bulk multimem"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2}, [%rd1], %r9;", "matrix wmma"},
        {"ld.global.f32 %f1;", "unknown ld"},
        {"ld.global %f1, [%rd1];", "unknown ld"},
        {"@!%p1 st.global.e5m2 [%rd1], %rs1;", "unknown st if not %p1"},
        {"gather.global.u32 %r1, [%rd1], %r2;", "unknown gather"}, /* of a later version */
        {"subx.u32 %r1, %r2, %r3;", "unknown subx"},
        {"subc.u32 %r1, %r2, %r3;", NULL},
        {"abs.s32 %r1, %r2;", NULL},
        {"xor.b32 %r1, %r2, %r3;", NULL},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;", NULL},
        {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2}, [%rd1], %r9;", NULL},
        {"ld.shared.f32 %f1, [sa+4];", NULL},
        {"ld.shared::cluster.u32 %r1, [%r2];", NULL},
        {"st.local.v2.f32 [%rd1], {%f1, %f2};", NULL},
        {"ld.param.u64 %rd1, [k_0];", NULL},
        {"ld.const.u32 %r1, [table];", NULL},
        {"atom.shared.add.u32 %r1, [%r2], 1;", NULL},
        {"cp.async.commit_group;", NULL},
        {"cp.async.bulk.wait_group.read 0;", NULL},
        {"prefetch.global.L2 [%rd1];", NULL},
        {"mov.b64 {%r1, %r2}, %rd1;", NULL},
        {"cvta.to.global.u64 %rd2, %rd1;", NULL},
        {".reg .b32 %ld<4>;", NULL},
        {"/* st.global.u32 [%rd1], 0; */ mov.u32 %r1, 0;", NULL},
        {"add.f32 %f1, // ld.global.f32 %f1, [%rd1];\n %f2, %f3;", NULL},
        {".pragma \"nounroll; ld.global.f32\";", NULL},
    };
    struct sonde_ptx p;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int rc = read_body(&p, cases[k].statement);
        assert_int_equal(rc, 0);
        if (p.access_count != (cases[k].said ? 1 : 0))
            fail_msg("%s: %u accesses", cases[k].statement, p.access_count);
        if (cases[k].said)
            assert_string_equal(say(&p, p.accesses), cases[k].said);
        sonde__ptx_release(&p);
    }
}

/* ---- functions, blocks, lines --------------------------------------------------------------------------- */

static void blocks_and_loops(void **state)
{
    struct sonde_ptx p;
    (void)state;
    assert_int_equal(read_body(&p, "ld.global.u32 %r1, [%rd1];\n"
                                   "ld.global.u32 %r2, [%rd2];\n"
                                   "@%p1 st.global.u32 [%rd3], %r1;\n"
                                   "ld.global.u32 %r4, [%rd4];\n"
                                   "$L1:\n"
                                   "{ // callseq 0, 0\n.param .b32 param0;\ncall.uni f, (param0);\n}\n"
                                   "st.global.u32 [%rd5], %r1;\n"
                                   "@%p2 bra $L1;\n"
                                   "st.global.u32 [%rd6], %r1;\n"
                                   "bra.uni $L2;\n"
                                   "$L2: st.global.u32 [%rd7], %r1;"),
                     0);
    static const uint32_t blocks[] = {0, 0, 1, 2, 3, 4, 5};
    assert_int_equal(p.access_count, 7);
    for (uint32_t k = 0; k < 7; k++) {
        assert_int_equal(p.accesses[k].block, blocks[k]);
        assert_int_equal(!!(p.accesses[k].flags & SONDE_PTX_IN_LOOP), k == 4);
    }
    assert_int_equal(p.function_count, 1);
    assert_int_equal(p.functions[0].blocks, 6);
    assert_int_equal(p.functions[0].flags, SONDE_PTX_ENTRY | SONDE_PTX_CALLS);
    assert_int_equal(p.version, 87);
    assert_int_equal(p.target, 90);
    assert_int_equal(p.target_suffix, 'a');
    sonde__ptx_release(&p);
}

static void functions_and_lines(void **state)
{
    static const char module[] = TOP
        ".file 1 \"/a b/one.cu\"\n.file 2 \"two.h\", 1700000000, 1234\n"
        ".extern .func (.param .b32 r) outside (.param .b64 a);\n"
        ".global .align 4 .b8 table[8] = {1, 0, 0, 0, 2};\n"
        ".func (.param .b32 back) inner(.param .b64 inner_0) .noinline\n{\n"
        ".loc 2 7 3\nld.u32 %r1, [%rd1];\nret;\n}\n"
        ".visible .entry outer ( .param .u64 outer_0, .param .align 8 .b8 outer_1[16] )\n.maxntid 128, 1, 1\n{\n"
        ".loc\t1 12 5\nst.global.u32 [%rd1], 0;\n"
        ".loc 2 30 1, function_name $L__info_string0, inlined_at 1 14 9\nst.global.u32 [%rd1], 1;\n"
        "ret;\n}\n"
        ".section .debug_str\n{\n.b8 123 // '{'\n,125\n$L__info_string0:\n.b8 95\n}\n";
    struct sonde_ptx p;
    (void)state;
    assert_int_equal(sonde__ptx_read(&p, module, sizeof module), 0); /* with its NUL */
    assert_int_equal(p.function_count, 2);
    assert_string_equal(show(&p, p.functions[0].name), "inner");
    assert_int_equal(p.functions[0].flags, 0);
    assert_string_equal(show(&p, p.functions[1].name), "outer");
    assert_int_equal(p.functions[1].flags, SONDE_PTX_ENTRY);
    assert_int_equal(p.functions[1].first_access, 1);
    assert_int_equal(p.functions[1].accesses, 2);
    static const struct sonde_ptx_place truth[] = {{2, 7, 3, 0, 0, 0}, {1, 12, 5, 0, 0, 0}, {2, 30, 1, 1, 14, 9}};
    assert_int_equal(p.access_count, 3);
    for (int k = 0; k < 3; k++)
        assert_memory_equal(&p.places[p.items[p.accesses[k].item].place], &truth[k], sizeof *truth);
    assert_string_equal(show(&p, sonde__ptx_file(&p, 1)), "/a b/one.cu");
    assert_string_equal(show(&p, sonde__ptx_file(&p, 2)), "two.h");
    assert_int_equal(sonde__ptx_file(&p, 3).bytes, 0);
    sonde__ptx_release(&p);
}

/* ---- nvcc's own ------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *all = malloc(1 << 20);
    assert_non_null(all);
    *bytes = fread(all, 1, 1 << 20, file);
    fclose(file);
    return all;
}

/* In the kernel's own text: an atomic function of CUDA's headers is inlined. */
static uint32_t line_of(const struct sonde_ptx *p, const struct sonde_ptx_access *a)
{
    const struct sonde_ptx_place *at = &p->places[p->items[a->item].place];
    return at->at_line ? at->at_line : at->line;
}

/* What each kernel of fixtures/kernels.cu reads and writes, by line of its source: the lines are those of the statements, and the
 * loop that is unrolled by four has its body five times. */
static void kernels_by_their_source(void **state)
{
    static const struct {
        const char *kernel;
        uint32_t line, times;
        const char *said; /* up to its base */
    } truth[] = {
        {"vadd", 6, 2, "load f4x1"},
        {"vadd", 6, 1, "store f4x1"},
        {"vadd4", 13, 2, "load f4x4"},
        {"vadd4", 14, 1, "store f4x4"},
        {"stencil5", 23, 5, "load f4x1"},
        {"stencil5", 23, 1, "store f4x1"},
        {"matmul", 34, 1, "load f4x1"},
        {"matmul", 35, 1, "load f4x1"},
        {"matmul", 41, 1, "store f4x1"},
        {"nbody", 48, 1, "load f4x4"},
        {"nbody", 52, 5, "load f4x4"},
        {"nbody", 58, 1, "store f4x4"},
        {"gvar", 79, 1, "load u4x1"},
        {"gvar", 80, 1, "atomic u4x1"},
        {"gvar", 81, 1, "atomic u4x1"},
    };
    size_t bytes;
    struct sonde_ptx p;
    (void)state;
    char *all = read_file(SONDE_FIXTURES "/kernels.ptx", &bytes);
    assert_int_equal(sonde__ptx_read(&p, all, bytes), 0);
    assert_int_equal(p.function_count, 7);
    assert_int_equal(p.version, 90);
    uint32_t known = 0;
    for (size_t k = 0; k < sizeof truth / sizeof *truth; k++) {
        uint32_t found = 0;
        for (uint32_t f = 0; f < p.function_count; f++)
            for (uint32_t a = p.functions[f].first_access; a < p.functions[f].first_access + p.functions[f].accesses; a++)
                found += line_of(&p, &p.accesses[a]) == truth[k].line &&
                         strcmp(show(&p, p.functions[f].name), truth[k].kernel) == 0 &&
                         strncmp(say(&p, &p.accesses[a]), truth[k].said, strlen(truth[k].said)) == 0;
        if (found != truth[k].times)
            fail_msg("%s line %u: %u times \"%s\", in truth %u", truth[k].kernel, truth[k].line, found, truth[k].said, truth[k].times);
        known += found;
    }
    uint32_t others = 0, stores = 0; /* bfs, whose loop is unrolled and peeled: all are of these kinds */
    for (uint32_t f = 0; f < p.function_count; f++)
        for (uint32_t a = 0; strcmp(show(&p, p.functions[f].name), "bfs") == 0 && a < p.functions[f].accesses; a++) {
            const char *said = say(&p, &p.accesses[p.functions[f].first_access + a]);
            assert_true(strncmp(said, "load u4x1", 9) == 0 || strncmp(said, "store u4x1", 10) == 0);
            stores += said[0] == 's';
            others++;
        }
    assert_int_equal(stores, 10); /* five bodies, two each */
    assert_int_equal(known + others, p.access_count);
    sonde__ptx_release(&p);
    free(all);
}

/* ---- damage ------------------------------------------------------------------------------------------------ */

static void what_is_no_ptx_is_refused(void **state)
{
    static const struct {
        const char *module;
        uint32_t line;
    } cases[] = {{"", 1}, {"\x7f"
                           "ELF",
                           1},
                 {TOP ".entry k() {\nret;\n", 7},
                 {TOP "}\n", 5},
                 {TOP ".entry k() {\nadd.u32 %r1, %r2\n}\n", 6},
                 {TOP ".entry () {\nret;\n}\n", 5}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sonde_ptx p;
        assert_int_equal(sonde__ptx_read(&p, cases[k].module, strlen(cases[k].module)), SONDE_EFORMAT);
        assert_int_equal(p.line, cases[k].line);
        assert_non_null(p.why);
        sonde__ptx_release(&p);
    }
}

static void damage_does_no_harm(void **state)
{
    enum { ROUNDS = 3000 };
    size_t bytes;
    uint64_t seed = 99;
    (void)state;
    char *all = read_file(SONDE_FIXTURES "/kernels.ptx", &bytes);
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        const size_t length = 600 + (seed >> 20) % 3000, from = (seed >> 40) % (bytes - length);
        char *part = malloc(length); /* so that a sanitizer sees its end */
        assert_non_null(part);
        memcpy(part, all + from, length);
        for (int k = 0; k < round % 8; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            part[(seed >> 33) % length] = "{};:.,@!\"/*[]+-x0 \n%$"[(seed >> 10) % 21];
        }
        struct sonde_ptx p;
        const int rc = sonde__ptx_read(&p, part, length);
        assert_true(rc == 0 || rc == SONDE_EFORMAT);
        for (uint32_t a = 0; a < p.access_count; a++)
            assert_true(p.accesses[a].item < p.item_count && p.accesses[a].base.at + p.accesses[a].base.bytes <= length);
        sonde__ptx_release(&p);
        free(part);
    }
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_an_access), cmocka_unit_test(blocks_and_loops),
        cmocka_unit_test(functions_and_lines), cmocka_unit_test(kernels_by_their_source),
        cmocka_unit_test(what_is_no_ptx_is_refused), cmocka_unit_test(damage_does_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

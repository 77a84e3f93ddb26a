/* flow.c - unit tests of what kernels need of their surroundings, by PTX whose answer can be read off it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/flow.h"

#define PARAMETERS ".param .u64 .ptr .align 1 k_param_0,\n.param .u64 k_param_1,\n.param .align 8 .b8 k_param_2[24],\n.param .u32 k_param_3"
#define FIRST "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd2, %rd1;\n"
#define SHARED FIRST "mov.u64 %rd7, tile;\ncvta.shared.u64 %rd8, %rd7;\n"
#define SECOND "ld.param.u64 %rd11, [k_param_1];\ncvta.to.global.u64 %rd12, %rd11;\n"

static char text[1 << 16];

/* "1 2 3+8 -": the origins of the accesses of a kernel with this body; "!" behind them: some may be elsewhere than in global memory. */
static const char *origins_of(const char *body)
{
    static char said[256];
    struct sonde_ptx p;
    struct sonde_ptx_flow flow;
    size_t n = 0;
    const int bytes = snprintf(text, sizeof text, ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(\n%s\n)\n{\n%s\nret;\n}\n", PARAMETERS, body);
    assert_int_equal(sonde__ptx_read(&p, text, (size_t)bytes), 0);
    assert_int_equal(sonde__ptx_flow(&p, &p.functions[0], &flow), 0);
    assert_int_equal(flow.parameters, 4);
    said[0] = 0;
    for (uint32_t k = 0; k < p.functions[0].accesses; k++) {
        const struct sonde_ptx_origin o = flow.origins[k];
        n += (size_t)snprintf(said + n, sizeof said - n, k ? " " : "");
        n += (size_t)(!o.parameter ? snprintf(said + n, sizeof said - n, "-")
                      : o.offset   ? snprintf(said + n, sizeof said - n, "%u+%u", o.parameter, o.offset)
                                   : snprintf(said + n, sizeof said - n, "%u", o.parameter));
    }
    snprintf(said + n, sizeof said - n, flow.elsewhere ? " !" : "");
    sonde__ptx_flow_release(&flow);
    sonde__ptx_release(&p);
    return said;
}

static void addresses_come_from_parameters(void **state)
{
    static const struct {
        const char *body, *origins;
    } cases[] = {
        {FIRST "mul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4+16];", "1"},
        {FIRST SECOND "add.s64 %rd4, %rd2, %rd9;\nld.global.f32 %f1, [%rd4];\nadd.s64 %rd5, %rd9, %rd12;\nst.global.f32 [%rd5], %f1;", "1 2"},
        {FIRST "mad.wide.s32 %rd4, %r1, 4, %rd2;\nld.global.f32 %f1, [%rd4];", "1"},
        {FIRST "mad.lo.s64 %rd4, %rd7, 4, %rd2;\nld.global.f32 %f1, [%rd4];", "1"},
        /* a pointer that a loop moves on */
        {FIRST "mov.u64 %rd4, %rd2;\n$L1:\nld.global.f32 %f1, [%rd4];\nadd.s64 %rd4, %rd4, 4;\n@%p1 bra $L1;", "1"},
        /* a use that stands before its definition */
        {FIRST "bra $L2;\n$L1:\nld.global.f32 %f1, [%rd5];\nbra $L3;\n$L2:\nmov.u64 %rd5, %rd2;\nbra $L1;\n$L3:", "1"},
        /* one of two */
        {FIRST SECOND "selp.b64 %rd4, %rd2, %rd12, %p1;\nld.global.f32 %f1, [%rd4];", "-"},
        {FIRST SECOND "mov.u64 %rd4, %rd2;\n@%p1 mov.u64 %rd4, %rd12;\nld.global.f32 %f1, [%rd4];", "-"},
        {FIRST "selp.b64 %rd4, %rd2, %rd2, %p1;\nld.global.f32 %f1, [%rd4];", "1"},
        /* one of two, or of the block's own memory */
        {SHARED "selp.b64 %rd4, %rd8, %rd1, %p1;\nadd.s64 %rd4, %rd4, %rd9;\nld.volatile.u32 %r1, [%rd4];", "- !"},
        {SHARED "mov.u64 %rd4, %rd8;\n@%p1 add.s64 %rd4, %rd1, %rd9;\nld.u32 %r1, [%rd4];\nld.u32 %r2, [%rd1];", "- 1 !"},
        {SHARED "add.s64 %rd4, %rd8, %rd9;\nst.u32 [%rd4], %r1;", "- !"},
        {SHARED "ld.shared.u32 %r1, [%rd7];\nst.global.u32 [%rd2], %r1;", "1"},
        {SHARED "ld.global.u64 %rd4, [%rd2];\nld.u32 %r1, [%rd4];", "1 -"},
        /* an index that was read as 32 bits is none; a pointer that was read may be anyone's */
        {FIRST SECOND "ld.global.u32 %r1, [%rd2];\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd12, %rd3;\nld.global.u32 %r2, [%rd4];", "1 2"},
        {FIRST "ld.global.u64 %rd3, [%rd2];\nld.global.u32 %r2, [%rd3];", "1 -"},
        {FIRST "ld.global.v2.u64 {%rd3, %rd4}, [%rd2];\nld.global.u32 %r2, [%rd4];", "1 -"},
        /* the distance of two pointers is a number */
        {FIRST SECOND "sub.s64 %rd3, %rd12, %rd2;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.u32 %r2, [%rd4];", "1"},
        {FIRST SECOND "add.s64 %rd3, %rd12, %rd2;\nld.global.u32 %r2, [%rd3];", "-"},
        {FIRST "shr.u64 %rd3, %rd2, 1;\nld.global.u32 %r2, [%rd3];", "-"},
        /* a structure by value */
        {"ld.param.u64 %rd1, [k_param_2+8];\nld.global.u32 %r1, [%rd1];", "3+8"},
        {"ld.param.v2.u64 {%rd1, %rd2}, [k_param_2+8];\nst.global.u32 [%rd2], 0;\nst.global.u32 [%rd1], 0;", "3+16 3+8"},
        {"mov.b64 %rd1, k_param_2;\nld.param.u64 %rd2, [%rd1+8];\nld.global.u32 %r1, [%rd2];", "-"},
        /* halves, what other instructions make, and a constant address */
        {FIRST "mov.b64 {%r1, %r2}, %rd2;\nmov.b64 %rd3, {%r1, %r2};\nld.global.u32 %r3, [%rd3];", "-"},
        {"ld.global.u32 %r3, [4096];", "-"},
        {"mov.u64 %rd1, %clock64;\nld.global.u32 %r3, [%rd1];", "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(origins_of(cases[i].body), cases[i].origins) != 0)
            fail_msg("%s\nhas origins %s, not %s", cases[i].body, origins_of(cases[i].body), cases[i].origins);
}

/* "a.cu:7": where the kernel with this body writes through its first parameter; "several", "unknown", "nowhere". */
static const char *written_at(const char *body)
{
    static char said[256];
    struct sonde_ptx p;
    struct sonde_ptx_flow flow;
    const int bytes = snprintf(text, sizeof text, ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(\n%s\n)\n{\n%s%s\nret;\n}\n.file 1 \"a.cu\"\n.file 2 \"b.cu\"\n", PARAMETERS, FIRST, body);
    assert_int_equal(sonde__ptx_read(&p, text, (size_t)bytes), 0);
    assert_int_equal(sonde__ptx_flow(&p, &p.functions[0], &flow), 0);
    assert_int_equal(flow.pointer_count, 1);
    const struct sonde_ptx_pointer *first = &flow.pointers[0];
    const struct sonde_ptx_span file = sonde__ptx_file(&p, first->file);
    if (first->line)
        snprintf(said, sizeof said, "%.*s:%u", (int)file.bytes, text + file.at, first->line);
    else
        snprintf(said, sizeof said, "%s", !first->grain ? "nowhere" : first->lines ? "several"
                                                                                   : "unknown");
    assert_int_equal(first->lines, first->grain && strcmp(said, "unknown") != 0);
    sonde__ptx_flow_release(&flow);
    sonde__ptx_release(&p);
    return said;
}

static void lines_of_what_is_written(void **state)
{
    (void)state;
#define WRITE "st.global.u32 [%rd2], %r1;\n"
    assert_string_equal(written_at(".loc 1 7 0\n" WRITE), "a.cu:7");
    assert_string_equal(written_at(".loc 1 6 0\nld.global.u32 %r1, [%rd2];\n.loc 1 7 0\n" WRITE ".loc 1 7 9\nred.global.add.u32 [%rd2+4], %r1;\n"), "a.cu:7");
    assert_string_equal(written_at(".loc 1 7 0\n" WRITE ".loc 1 8 0\n" WRITE), "several");
    assert_string_equal(written_at(".loc 1 7 0\n" WRITE ".loc 2 7 0\n" WRITE), "several");
    assert_string_equal(written_at(".loc 1 7 0\n" WRITE ".loc 1 8 0\n" WRITE ".loc 1 7 0\n" WRITE), "several");
    assert_string_equal(written_at(WRITE ".loc 1 8 0\n" WRITE), "several"); /* of one it is not known */
    assert_string_equal(written_at(WRITE), "unknown");
    assert_string_equal(written_at(".loc 1 7 0\nld.global.u32 %r1, [%rd2];"), "nowhere");
#undef WRITE
}

static const char module[] = ".version 8.7\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 steps = 5;\n"
                             ".const .align 4 .b8 table[64];\n.global .align 1 .b8 $str[4] = {37, 100, 10, 0};\n"
                             ".extern .shared .align 16 .b8 tile[];\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                             ".entry plain(){ret;}\n"
                             ".entry reads(){ld.global.u32 %r1, [steps];ret;}\n"
                             ".entry constant(.param .u32 n){mov.u64 %rd1, table;ld.const.u32 %r1, [%rd1];ret;}\n"
                             ".entry prints(){mov.u64 %rd1, $str;cvta.global.u64 %rd2, %rd1;ret;}\n"
                             ".entry shares(){mov.u32 %r1, tile;ld.shared.u32 %r2, [%r1];ret;}\n"
                             ".global .attribute(.managed) .align 4 .u32 managed;\n.global .align 8 .b8 __cudart_i2opi_d[144];\n"
                             ".entry looks_alike(){mov.u32 %r1, steps2;ld.global.u32 %r1, [my_steps];ret;}\n"
                             ".entry both(){mov.u64 %rd1, managed;st.global.u32 [%rd1], 1;atom.global.add.u32 %r1, [steps+4], 1;ld.const.u32 %r2, [table];"
                             "mov.u64 %rd2, __cudart_i2opi_d;ret;}\n";

static void variables_of_the_module(void **state)
{
    static const struct {
        const char *kernel, *variables;
        uint32_t parameters;
    } known[] = {{"plain", "", 0}, {"reads", "steps", 0}, {"constant", "table constants", 1}, {"prints", "", 0}, {"shares", "", 0}, {"looks_alike", "", 0}, {"both", "steps table managed constants", 0}};
    struct sonde_ptx p;
    struct sonde_ptx_flow flow;
    (void)state;
    assert_int_equal(sonde__ptx_read(&p, module, sizeof module - 1), 0);
    assert_int_equal(p.function_count, sizeof known / sizeof *known);
    for (uint32_t k = 0; k < p.function_count; k++) {
        char variables[64] = "";
        assert_memory_equal(module + p.functions[k].name.at, known[k].kernel, p.functions[k].name.bytes);
        assert_int_equal(sonde__ptx_flow(&p, &p.functions[k], &flow), 0);
        for (uint32_t v = 0; v < flow.variables.count; v++)
            snprintf(variables + strlen(variables), sizeof variables - strlen(variables), "%s%.*s", v ? " " : "", (int)flow.variables.name[v].bytes,
                     module + flow.variables.name[v].at);
        strcat(variables, flow.variables.constants ? " constants" : "");
        assert_string_equal(variables, known[k].variables);
        assert_false(flow.writes_unknown); /* what is written in variables is known */
        assert_int_equal(flow.parameters, known[k].parameters);
        sonde__ptx_flow_release(&flow);
    }
    sonde__ptx_release(&p);
}

/* nvcc's own: each kernel of the fixture has its accesses where its source has them. */
static void of_nvcc(void **state)
{
    static const char path[] = SONDE_FIXTURES "/kernels.ptx";
    struct sonde_ptx p;
    struct sonde_ptx_flow flow;
    uint32_t known = 0, all = 0;
    FILE *file = fopen(path, "rb");
    (void)state;
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_in_range(bytes, 1, sizeof text - 1);
    assert_int_equal(sonde__ptx_read(&p, text, bytes), 0);
    for (uint32_t k = 0; k < p.function_count; k++) {
        assert_int_equal(sonde__ptx_flow(&p, &p.functions[k], &flow), 0);
        for (uint32_t a = 0; a < p.functions[k].accesses; a++) {
            all++;
            known += flow.origins[a].parameter != 0;
            assert_true(flow.origins[a].parameter <= flow.parameters || flow.origins[a].parameter == SONDE_PTX_OF_VARIABLE);
        }
        sonde__ptx_flow_release(&flow);
    }
    print_message("%u of %u accesses have an origin\n", known, all);
    assert_true(known > all / 2);
    sonde__ptx_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_from_parameters),
        cmocka_unit_test(lines_of_what_is_written),
        cmocka_unit_test(variables_of_the_module),
        cmocka_unit_test(of_nvcc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

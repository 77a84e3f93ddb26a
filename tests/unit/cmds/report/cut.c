/* cut.c - cells that are cut: they fit, stacks keep both ends, and what differs does not look alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/report/report.h"

static void cut(const char *cell, size_t columns, bool stack, const char *expected)
{
    struct sonde_text text = {0};
    table_cut(&text, cell, columns, stack);
    assert_string_equal(sonde_text_get(&text), expected);
    sonde_text_fini(&text);
}

static void cells(void **state)
{
    (void)state;
    cut("stencil5", 8, false, "stencil5");
    cut("stencil5", 7, false, "stenci…");
    cut("step() heat.c:81 ← run() heat.c:90 ← main() heat.c:140", 60, true, "step() heat.c:81 ← run() heat.c:90 ← main() heat.c:140");
    cut("step() heat.c:81 ← run() heat.c:90 ← main() heat.c:140", 46, true, "step() heat.c:81 ← run() ← main()");
    cut("a ← b ← c ← d ← e ← f ← z", 21, true, "a ← b ← c ← d ← … ← z");
    cut("step() heat.c:81 ← main() heat.c:140", 30, true, "step() heat.c:81 ← main()");
    cut("clBuildProgram in build_program() common.h:39", 30, true, "clBuildProgram in …common.h:39");
    cut("日本語のカーネル ← ファイル ← 主", 24, true, "日本語のカーネル…ル ← 主");
}

/* Cells of one column, each in a row of its own, shown in `width`. */
static char **show(struct table *t, const char *const *texts, size_t count, int width, unsigned style)
{
    static struct sonde_view_column column;
    column = (struct sonde_view_column){.title = "", .kind = SONDE_CELL_TEXT, .style = style};
    *t = (struct table){.columns = &column, .column_count = 1};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sonde_vector_push(&t->cells, (char *)(uintptr_t)texts[i]), 0);
    char **shown = table_shown(t, &width);
    assert_non_null(shown);
    return shown;
}

static void hide(struct table *t, char **shown)
{
    for (size_t i = 0; i < t->cells.count; i++)
        free(shown[i]);
    free(shown);
    sonde_vector_fini(&t->cells);
}

static void rows_stay_apart(void **state)
{
    static const char *const texts[] = {
        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_execute_kernel__5x_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_execute_kernel__5x_cublas",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_execute_split_k_kernel__5x_cublas",
        "reduce_kernel<128, 4, at::native::ReduceOp<float> >",
        "reduce_kernel<512, 1, at::native::ReduceOp<float> >",
    };
    enum { COUNT = sizeof texts / sizeof *texts };
    struct table t;
    (void)state;
    for (int width = 20; width < 60; width++) {
        char **shown = show(&t, texts, COUNT, width, SONDE_STYLE_MAIN);
        for (int i = 0; i < COUNT; i++)
            for (int k = 0; k < i; k++)
                assert_string_not_equal(shown[i] ? shown[i] : texts[i], shown[k] ? shown[k] : texts[k]);
        hide(&t, shown);
    }
}

/* Names that differ in one place, wherever that is; whole characters, and no more columns than there are. */
static void random_names(void **state)
{
    static const char *const letters[] = {"a", "b", "::", "<", "é", "日", "_"};
    char names[6][400];
    const char *texts[6];
    struct table t;
    unsigned seed = 7;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const int length = 30 + (int)(rand_r(&seed) % 60), place = (int)(rand_r(&seed) % (unsigned)length);
        const int width = 20 + (int)(rand_r(&seed) % 20);
        memset(names, 0, sizeof names);
        for (int at = 0; at < length; at++) {
            const char *letter = letters[rand_r(&seed) % 7];
            for (int i = 0; i < 6; i++)
                if (at == place)
                    sprintf(names[i] + strlen(names[i]), "%d", i);
                else
                    strcat(names[i], letter);
        }
        for (int i = 0; i < 6; i++)
            texts[i] = names[i];
        char **shown = show(&t, texts, 6, width, rand_r(&seed) % 2 ? SONDE_STYLE_STACK : SONDE_STYLE_ELASTIC);
        for (int i = 0; i < 6; i++) {
            struct sonde_text clean = {0};
            const char *text = shown[i] ? shown[i] : texts[i];
            assert_true(sonde_text_columns(text) <= (size_t)width);
            sonde_text_add_clean(&clean, text);
            assert_string_equal(sonde_text_get(&clean), text);
            sonde_text_fini(&clean);
            for (int k = 0; k < i; k++)
                assert_string_not_equal(text, shown[k] ? shown[k] : texts[k]);
        }
        hide(&t, shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells), cmocka_unit_test(rows_stay_apart), cmocka_unit_test(random_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

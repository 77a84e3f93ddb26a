/* cubin.c - line tables of device code. fixtures/code/lines.cubin.zst is what nvcc 13.0 makes of
 * fixtures/lines.cu (its first line says how); the lines expected here are those that `nvdisasm -g` prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "analyze/cubin.h"

struct found { unsigned count; struct { char kernel[64], file[64]; unsigned line; } kernel[16]; };

static void keep(void *user, const char *kernel, const char *file, unsigned line)
{
    struct found *f = user;
    if (f->count == 16)
        return;
    snprintf(f->kernel[f->count].kernel, sizeof f->kernel[0].kernel, "%s", kernel);
    snprintf(f->kernel[f->count].file, sizeof f->kernel[0].file, "%s", file);
    f->kernel[f->count++].line = line;
}

static unsigned line_of(const struct found *f, const char *kernel)
{
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->kernel[i].kernel, kernel) == 0)
            return strcmp(f->kernel[i].file, "/tmp/w/lines.cu") == 0 ? f->kernel[i].line : 0;
    return 0;
}

static void kernels_begin_where_nvdisasm_says(void **state)
{
    struct found f = {0};
    (void)state;
    assert_true(sonde__cubins_read(FIXTURES "/code", keep, &f));
    assert_int_equal(f.count, 3);
    assert_int_equal(line_of(&f, "_Z5firstPfi"), 4);
    assert_int_equal(line_of(&f, "_Z6secondIdEvPT_"), 11);
    assert_int_equal(line_of(&f, "_Z6secondIiEvPT_"), 11);
}

static void no_folder_is_said(void **state)
{
    struct found f = {0};
    (void)state;
    assert_false(sonde__cubins_read(FIXTURES "/nowhere", keep, &f));
    assert_true(sonde__cubins_read(FIXTURES, keep, &f)); /* a folder without code */
    assert_int_equal(f.count, 0);
}

static char *whole(size_t *size)
{
    static char packed[65536];
    FILE *file = fopen(FIXTURES "/code/lines.cubin.zst", "rb");
    assert_non_null(file);
    const size_t stored = fread(packed, 1, sizeof packed, file);
    fclose(file);
    *size = (size_t)ZSTD_getFrameContentSize(packed, stored);
    char *bytes = malloc(*size);
    assert_true(bytes && ZSTD_decompress(bytes, *size, packed, stored) == *size);
    return bytes;
}

/* Under the sanitizers: nothing is read outside, whatever the bytes say. */
static void damage_is_survived(void **state)
{
    size_t size;
    char *bytes = whole(&size);
    (void)state;
    for (size_t i = 0; i < 4000; i++) {
        struct found f = {0};
        const size_t length = i % 4 ? size : size - i * size / 4001;
        char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, bytes, length);
        for (size_t k = 0; k < 1 + i % 7; k++)
            copy[(i * 2654435761u + k * 40503u) % length] ^= (char)(1 + i % 255);
        sonde__cubin_lines(copy, length, keep, &f);
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_begin_where_nvdisasm_says),
        cmocka_unit_test(no_folder_is_said),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
#include <elf.h>
#include <zstd.h>

#include "analyze/symbols/code.h"
#include "analyze/symbols/cubin.h"

struct found {
    unsigned count;
    struct {
        char kernel[64], file[64];
        unsigned line;
    } kernel[16];
};

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

/* Offset and size of a section, from the file's own header (64-bit ELF). */
static size_t section(const char *bytes, const char *wanted, size_t *size)
{
    Elf64_Ehdr file;
    memcpy(&file, bytes, sizeof file);
    Elf64_Shdr names, head;
    memcpy(&names, bytes + file.e_shoff + (size_t)file.e_shstrndx * sizeof names, sizeof names);
    for (size_t i = 0; i < file.e_shnum; i++) {
        memcpy(&head, bytes + file.e_shoff + i * sizeof head, sizeof head);
        if (strcmp(bytes + names.sh_offset + head.sh_name, wanted) == 0) {
            *size = head.sh_size;
            return head.sh_offset;
        }
    }
    fail_msg("no section %s", wanted);
    return 0;
}

/* A module of three kernels: the code of those that did not run goes, and not a byte else. */
static void code_that_ran_is_left(void **state)
{
    static const char *const kernels[] = {"_Z5firstPfi", "_Z6secondIdEvPT_", "_Z6secondIiEvPT_"};
    (void)state;
    for (unsigned mask = 0; mask < 8; mask++) {
        const char *ran[4], *others = "_Z7another"; /* of another module */
        size_t count = 0, size, bytes = 0;
        char *before = whole(&size), *after = whole(&size), text[64];
        for (unsigned i = 0; i < 3; i++)
            if (mask >> i & 1)
                ran[count++] = kernels[i];
        ran[count++] = others;
        const enum sonde__code_left left = sonde__code_reduce(after, size, ran, count);
        assert_int_equal(left, mask == 0 ? SONDE__CODE_NONE : (mask == 7 ? SONDE__CODE_WHOLE : SONDE__CODE_PART));
        for (unsigned i = 0; i < 3 && left == SONDE__CODE_PART; i++) {
            snprintf(text, sizeof text, ".text.%s", kernels[i]);
            const size_t at = section(before, text, &bytes);
            assert_true(bytes >= 256);
            for (size_t k = 0; !(mask >> i & 1) && k < bytes; k += 32)
                assert_memory_equal(after + at + k, before + at + bytes - 32, 32);
            if (!(mask >> i & 1))
                memcpy(after + at, before + at, bytes);
        }
        assert_memory_equal(after, before, size);
        free(before);
        free(after);
    }
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
        static const char *const ran[] = {"_Z5firstPfi"};
        sonde__cubin_lines(copy, length, keep, &f);
        (void)sonde__code_reduce(copy, length, ran, 1);
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_begin_where_nvdisasm_says),
        cmocka_unit_test(no_folder_is_said),
        cmocka_unit_test(code_that_ran_is_left),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

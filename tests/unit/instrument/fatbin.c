/* fatbin.c - unit tests of what is found in fat binaries: nvcc's own (fixtures/fatbin), text, wrappers, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/fatbin.h"
#include "instrument/ptx.h"

enum { CONTAINER_BYTES = 16,
       IMAGE_MAX = 16384 };

/* A fixture in memory of just its size. */
static unsigned char *image_of(const char *name, size_t *bytes)
{
    static unsigned char room[IMAGE_MAX];
    char path[512];
    snprintf(path, sizeof path, "%s/fatbin/%s.fatbin", SONDE_FIXTURES, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    *bytes = fread(room, 1, sizeof room, file);
    fclose(file);
    assert_in_range(*bytes, CONTAINER_BYTES + 1, sizeof room - 1);
    unsigned char *image = malloc(*bytes);
    assert_non_null(image);
    return memcpy(image, room, *bytes);
}

/* The first kernel of its PTX; `target` is what the text was made for. */
static void has_kernel(const void *image, uint32_t device, const char *kernel, uint32_t target)
{
    struct sonde_image_ptx found;
    struct sonde_ptx p;
    sonde__image_ptx(image, device, &found);
    assert_null(found.why);
    assert_int_equal(strlen(found.text), found.bytes);
    assert_int_equal(sonde__ptx_read(&p, found.text, found.bytes), 0);
    assert_int_equal(p.target, target);
    assert_true(p.function_count > 0);
    const struct sonde_ptx_span name = p.functions[0].name;
    assert_int_equal(name.bytes, strlen(kernel));
    assert_memory_equal(p.text + name.at, kernel, name.bytes);
    sonde__ptx_release(&p);
    sonde__image_release(&found);
}

static void has_none(const void *image, uint32_t device, const char *why)
{
    struct sonde_image_ptx found;
    sonde__image_ptx(image, device, &found);
    assert_null(found.text);
    assert_string_equal(found.why, why);
    sonde__image_release(&found);
}

static void each_way_to_compress(void **state)
{
    static const struct {
        const char *name, *kernel;
    } ways[] = {{"zstd", "_Z5scalePfPKfid"}, {"lz4", "_Z5otherPi"}, {"plain", "_Z5otherPi"}};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t bytes;
        unsigned char *image = image_of(ways[i].name, &bytes);
        has_kernel(image, 90, ways[i].kernel, 90);
        free(image);
    }
}

static void the_newest_that_the_device_can_run(void **state)
{
    size_t bytes;
    unsigned char *image = image_of("two", &bytes);
    (void)state;
    has_kernel(image, 80, "_Z5otherPi", 80);
    has_kernel(image, 89, "_Z5otherPi", 80);
    has_kernel(image, 90, "_Z5otherPi", 90);
    has_kernel(image, 120, "_Z5otherPi", 90);
    has_none(image, 75, "it holds no PTX that this device can run");
    free(image);
}

static void machine_code_only(void **state)
{
    static const char cubin[64] = "\177ELF\2\1\1";
    size_t bytes;
    unsigned char *image = image_of("none", &bytes);
    (void)state;
    has_none(image, 90, "it holds no PTX that this device can run");
    has_none(cubin, 90, "it holds machine code only");
    free(image);
}

static void wrapped(void **state)
{
    size_t bytes;
    unsigned char *image = image_of("zstd", &bytes);
    const struct {
        uint32_t magic, version;
        const void *data, *more;
    } wrapper = {0x466243b1, 1, image, NULL}, empty = {0x466243b1, 1, NULL, NULL};
    (void)state;
    has_kernel(&wrapper, 90, "_Z5scalePfPKfid", 90);
    has_none(&empty, 90, "it holds machine code only");
    free(image);
}

static void text(void **state)
{
    (void)state;
    has_kernel("\n// made by hand\n.version 8.0\n.target sm_80\n.address_size 64\n.entry k(){ret;}\n", 90, "k", 80);
    has_kernel(".version 8.0\n.target sm_52\n.entry k(){ret;}", 90, "k", 52);
    has_none("", 90, "it holds machine code only");
    has_none("int main(){}", 90, "it holds machine code only");
}

/* Each byte behind the container's header is made another: there is text or a reason, and nothing is read beyond the image. */
static void damaged(void **state)
{
    static const char *const names[] = {"zstd", "lz4", "two"};
    static const unsigned char others[] = {0xff, 0x80, 0x01};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t bytes;
        unsigned char *image = image_of(names[i], &bytes);
        for (size_t at = CONTAINER_BYTES; at < bytes; at++)
            for (size_t k = 0; k < sizeof others; k++) {
                struct sonde_image_ptx found;
                image[at] ^= others[k];
                sonde__image_ptx(image, 90, &found);
                assert_true((found.text != NULL) != (found.why != NULL));
                sonde__image_release(&found);
                image[at] ^= others[k];
            }
        free(image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_compress),
        cmocka_unit_test(the_newest_that_the_device_can_run),
        cmocka_unit_test(machine_code_only),
        cmocka_unit_test(wrapped),
        cmocka_unit_test(text),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

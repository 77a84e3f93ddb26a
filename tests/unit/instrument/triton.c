/* triton.c - unit tests of how Triton's PTX is found by the machine code that was loaded (triton.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "instrument/triton.h"

#define PTX ".version 8.7\n.target sm_90a\n.address_size 64\n"

/* Machine code as the driver would be given it: a header, code, and two sections, of which one has no bytes. */
struct code {
    Elf64_Ehdr head;
    unsigned char text[200];
    Elf64_Shdr sections[2];
};

static char cache[64];

static struct code code_of(unsigned char instruction)
{
    struct code c = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_machine = EM_CUDA, .e_shoff = offsetof(struct code, sections), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 2}};
    memset(c.text, instruction, sizeof c.text);
    c.sections[0] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_offset = offsetof(struct code, text), .sh_size = sizeof c.text};
    c.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_offset = 1 << 20, .sh_size = 1 << 20};
    return c;
}

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cache, folder);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s/%s", cache, folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static int make_cache(void **state)
{
    (void)state;
    char command[160];
    snprintf(cache, sizeof cache, "triton-cache-%ld", (long)getpid());
    snprintf(command, sizeof command, "rm -rf %s && mkdir -m 700 %s", cache, cache);
    setenv("TRITON_CACHE_DIR", cache, 1);
    return system(command);
}

static int remove_cache(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

/* NULL: there is none. To be freed. */
static char *found(const struct code *c, const char *kernel)
{
    struct sonde_image_ptx p = {.why = "it holds machine code only"};
    const struct sonde_cubin cubin = sonde__cubin(c);
    sonde__triton_ptx(&cubin, kernel, &p);
    char *text = p.text ? strdup(p.text) : NULL;
    if (text)
        assert_int_equal(p.bytes, strlen(text));
    sonde__image_release(&p);
    return text;
}

static void assert_found(const struct code *c, const char *kernel, const char *text)
{
    char *is = found(c, kernel);
    if (text)
        assert_string_equal(is, text);
    else
        assert_null(is);
    free(is);
}

static void the_length_is_that_of_the_file(void **state)
{
    (void)state;
    const struct code c = code_of(1);
    assert_int_equal(sonde__cubin(&c).bytes, sizeof c);
    assert_int_equal(sonde__cubin(PTX).bytes, 0);
    struct code host = c;
    host.head.e_machine = EM_X86_64;
    assert_int_equal(sonde__cubin(&host).bytes, 0);
    host = c;
    host.head.e_shoff = UINT64_MAX;
    assert_int_equal(sonde__cubin(&host).bytes, 0);
}

static void ptx_is_beside_the_code_that_was_loaded(void **state)
{
    (void)state;
    const struct code c = code_of(1), other = code_of(2);
    put("A", "add.cubin", &other, sizeof other);
    put("A", "add.ptx", PTX "// other", sizeof PTX + 7);
    put("B", "add.cubin", &c, sizeof c);
    put("B", "add.ptx", PTX, sizeof PTX - 1);
    assert_found(&c, "add", PTX);
    assert_found(&other, "add", PTX "// other");
    assert_found(&c, "sub", NULL);
    const struct code third = code_of(3);
    assert_found(&third, "add", NULL);
}

static void code_of_another_length_is_another(void **state)
{
    (void)state;
    char longer[sizeof(struct code) + 1] = {0};
    const struct code c = code_of(1);
    memcpy(longer, &c, sizeof c);
    put("A", "add.cubin", longer, sizeof longer);
    put("A", "add.ptx", PTX, sizeof PTX - 1);
    assert_found(&c, "add", NULL);
}

static void what_is_missing_or_no_file_is_not_found(void **state)
{
    (void)state;
    char path[256];
    const struct code c = code_of(1);
    put("A", "add.cubin", &c, sizeof c);
    assert_found(&c, "add", NULL);
    put("B", "other.cubin", &c, sizeof c);
    snprintf(path, sizeof path, "%s/B/add.cubin", cache);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes to it */
    assert_found(&c, "add", NULL);
    assert_found(&c, "../A/add", NULL);
}

static void a_large_cache_is_searched_to_its_end(void **state)
{
    (void)state;
    char folder[128];
    const struct code c = code_of(1);
    for (int i = 0; i < 1500; i++) {
        snprintf(folder, sizeof folder, "%s/FOLDER-WITH-A-LONG-NAME-LIKE-A-HASH-%04d", cache, i);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    put("FOLDER-WITH-A-LONG-NAME-LIKE-A-HASH-0777", "add.cubin", &c, sizeof c);
    put("FOLDER-WITH-A-LONG-NAME-LIKE-A-HASH-0777", "add.ptx", PTX, sizeof PTX - 1);
    assert_found(&c, "add", PTX);
}

static void the_cache_is_where_triton_has_it(void **state)
{
    (void)state;
    char home[96], folder[160];
    const struct code c = code_of(1);
    snprintf(home, sizeof home, "%s/home", cache);
    assert_int_equal(mkdir(home, 0700), 0);
    snprintf(folder, sizeof folder, "%s/.triton", home);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(folder, sizeof folder, "%s/.triton/cache", home);
    assert_int_equal(mkdir(folder, 0700), 0);
    put("home/.triton/cache/A", "add.cubin", &c, sizeof c);
    put("home/.triton/cache/A", "add.ptx", PTX, sizeof PTX - 1);
    assert_found(&c, "add", NULL);
    unsetenv("TRITON_CACHE_DIR");
    setenv("TRITON_HOME", home, 1);
    assert_found(&c, "add", PTX);
    unsetenv("TRITON_HOME");
    setenv("HOME", home, 1);
    assert_found(&c, "add", PTX);
    setenv("HOME", "/nowhere", 1);
    assert_found(&c, "add", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_cache, remove_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_length_is_that_of_the_file),
        TEST(ptx_is_beside_the_code_that_was_loaded),
        TEST(code_of_another_length_is_another),
        TEST(what_is_missing_or_no_file_is_not_found),
        TEST(a_large_cache_is_searched_to_its_end),
        TEST(the_cache_is_where_triton_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

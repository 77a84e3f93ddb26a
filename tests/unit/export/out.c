/* out.c - a file appears whole or not at all, and never over another without `force`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "export/out.h"

static char folder[] = "/tmp/sonde-out-XXXXXX";

static int begin(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* Names in the folder. */
static int names(void)
{
    DIR *dir = opendir(".");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

static void content_is(const char *path, const char *content)
{
    char read[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(read, 1, sizeof read - 1, file);
    fclose(file);
    assert_int_equal(n, strlen(content));
    assert_string_equal(read, content);
}

static void write_file(const char *path, bool force, const char *content, int code)
{
    struct sonde_out *out;
    struct sonde_diag diag = {0};
    int got = sonde_out_create(path, force, &out, &diag);
    if (!got) {
        sonde_out_text(out, content);
        got = sonde_out_commit(out, &diag);
    }
    assert_int_equal(got, code);
    assert_int_equal(diag.code, code);
}

static void appears_at_commit(void **state)
{
    struct sonde_out *out;
    (void)state;
    assert_int_equal(sonde_out_create("a", false, &out, NULL), 0);
    sonde_out_text(out, "number ");
    sonde_out_u64(out, UINT64_MAX);
    sonde_out_char(out, ' ');
    sonde_out_u64(out, 0);
    assert_int_not_equal(access("a", F_OK), 0);
    assert_int_equal(sonde_out_size(out), 7 + 20 + 2);
    assert_int_equal(sonde_out_commit(out, NULL), 0);
    content_is("a", "number 18446744073709551615 0");
    assert_int_equal(names(), 1);
}

static void abandoned_leaves_nothing(void **state)
{
    struct sonde_out *out;
    char *block = calloc(1, 1 << 20);
    (void)state;
    assert_int_equal(sonde_out_create("a", false, &out, NULL), 0);
    sonde_out_bytes(out, block, 1 << 20);
    sonde_out_abandon(out);
    free(block);
    assert_int_equal(names(), 0);
}

static void existing_needs_force(void **state)
{
    (void)state;
    write_file("a", false, "old", 0);
    write_file("a", false, "new", SONDE_EEXISTS);
    content_is("a", "old");
    write_file("a", true, "new", 0);
    content_is("a", "new");
    assert_int_equal(names(), 1);
}

static void another_that_came_first_is_kept(void **state)
{
    struct sonde_out *out;
    (void)state;
    assert_int_equal(sonde_out_create("a", false, &out, NULL), 0);
    sonde_out_text(out, "mine");
    write_file("a", false, "theirs", 0);
    assert_int_equal(sonde_out_commit(out, NULL), SONDE_EEXISTS);
    content_is("a", "theirs");
    assert_int_equal(names(), 1);
}

static void missing_folder_is_said(void **state)
{
    struct sonde_diag diag = {0};
    struct sonde_out *out;
    (void)state;
    assert_int_equal(sonde_out_create("none/a", false, &out, &diag), SONDE_EIO);
    assert_string_equal(diag.where, "none/a");
    assert_string_equal(diag.why, strerror(ENOENT));
}

static void full_device_is_said(void **state)
{
    (void)state;
    write_file("/dev/full", false, "text", SONDE_EIO);
    write_file("/dev/null", false, "text", 0);
}

/* A full disk, acted by a limit on file sizes: nothing is left. */
static void full_disk_leaves_nothing(void **state)
{
    struct rlimit old, small = {100000, 100000};
    struct sonde_out *out;
    struct sonde_diag diag = {0};
    char *block = calloc(1, 1 << 20);
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(sonde_out_create("a", false, &out, NULL), 0);
    sonde_out_bytes(out, block, 1 << 20);
    assert_true(sonde_out_failed(out));
    assert_int_equal(sonde_out_commit(out, &diag), SONDE_EIO);
    setrlimit(RLIMIT_FSIZE, &old);
    free(block);
    assert_string_equal(diag.why, strerror(EFBIG));
    assert_int_equal(names(), 0);
}

static void make_folder(bool force, const char *content, int code)
{
    struct sonde_out *out;
    struct sonde_diag diag = {0};
    int got = sonde_out_create_folder("dir/", force, "mark", &out, &diag);
    if (!got) {
        assert_int_equal(sonde_out_size(out), 0);
        sonde_out_member(out, "mark");
        sonde_out_text(out, content);
        sonde_out_member(out, "below/second");
        sonde_out_text(out, "22");
        assert_int_equal(sonde_out_size(out), strlen(content) + 2);
        got = sonde_out_commit(out, &diag);
    }
    assert_int_equal(got, code);
    assert_int_equal(diag.code, code);
}

static void folder_appears_whole_and_is_exchanged(void **state)
{
    struct sonde_out *out;
    (void)state;
    make_folder(false, "old", 0);
    content_is("dir/mark", "old");
    content_is("dir/below/second", "22");
    make_folder(false, "new", SONDE_EEXISTS);
    content_is("dir/mark", "old");
    write_file("dir/left", false, "over", 0);
    make_folder(true, "new", 0);
    content_is("dir/mark", "new");
    assert_int_not_equal(access("dir/left", F_OK), 0);
    assert_int_equal(names(), 1);
    /* One that came first, and an abandoned one. */
    assert_int_equal(rename("dir", "other"), 0);
    assert_int_equal(sonde_out_create_folder("dir", false, "mark", &out, NULL), 0);
    sonde_out_member(out, "a");
    make_folder(false, "theirs", SONDE_EIO); /* the hidden name is taken by the one above */
    sonde_out_abandon(out);
    assert_int_equal(names(), 1);
}

static void folders_of_others_are_kept(void **state)
{
    struct sonde_out *out;
    struct sonde_diag diag = {0};
    (void)state;
    write_file("dir", false, "a file", 0);
    make_folder(true, "new", SONDE_EEXISTS);
    content_is("dir", "a file");
    assert_int_equal(unlink("dir"), 0);
    assert_int_equal(mkdir("dir", 0700), 0);
    make_folder(true, "new", SONDE_EEXISTS);
    write_file("dir/mark", false, "mark", 0);
    assert_int_equal(sonde_out_create_file("dir", true, &out, &diag), SONDE_EEXISTS);
    assert_int_equal(sonde_out_create_file("-", true, &out, &diag), SONDE_EUNSUPPORTED);
    assert_int_equal(sonde_out_create_folder("-", true, "mark", &out, &diag), SONDE_EUNSUPPORTED);
    assert_int_equal(sonde_out_create_file("/dev/full", true, &out, &diag), SONDE_EEXISTS);
    assert_int_equal(names(), 1);
}

static void a_library_writes_by_name(void **state)
{
    struct sonde_out *out;
    struct sonde_diag diag = {0};
    (void)state;
    for (int force = 0; force < 2; force++) {
        assert_int_equal(sonde_out_create_file("a", force, &out, NULL), 0);
        FILE *file = fopen(sonde_out_path(out), "w");
        assert_non_null(file);
        fputs(force ? "second" : "first", file);
        fclose(file);
        assert_int_equal(sonde_out_commit(out, NULL), 0);
        content_is("a", force ? "second" : "first");
    }
    assert_int_equal(sonde_out_create_file("a", true, &out, NULL), 0);
    sonde_out_fail(out, ENOSPC);
    sonde_out_fail(out, EIO); /* the first counts */
    assert_true(sonde_out_failed(out));
    assert_int_equal(sonde_out_commit(out, &diag), SONDE_EIO);
    assert_string_equal(diag.why, strerror(ENOSPC));
    content_is("a", "second");
    assert_int_equal(names(), 1);
}

static void strings_of_json(void **state)
{
    struct sonde_out *out;
    struct sonde_text room = {0};
    (void)state;
    assert_int_equal(sonde_out_create("a", false, &out, NULL), 0);
    sonde_out_json(out, "", &room);
    sonde_out_json(out, "a\"b\\c\n\x01/\xff\xc3\xa9", &room);
    assert_int_equal(sonde_out_commit(out, NULL), 0);
    content_is("a", "\"\"\"a\\\"b\\\\c\\u000a\\u0001/\xef\xbf\xbd\xc3\xa9\"");
    sonde_text_fini(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appears_at_commit, begin, end),
        cmocka_unit_test_setup_teardown(abandoned_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(existing_needs_force, begin, end),
        cmocka_unit_test_setup_teardown(another_that_came_first_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(missing_folder_is_said, begin, end),
        cmocka_unit_test_setup_teardown(full_device_is_said, begin, end),
        cmocka_unit_test_setup_teardown(full_disk_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(folder_appears_whole_and_is_exchanged, begin, end),
        cmocka_unit_test_setup_teardown(folders_of_others_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_library_writes_by_name, begin, end),
        cmocka_unit_test_setup_teardown(strings_of_json, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

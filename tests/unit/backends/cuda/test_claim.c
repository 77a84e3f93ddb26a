/* test_claim.c - one process at a time samples a device: who has it, that it ends with the process however that ends, and files that say nothing. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/cuda/claim.h"

static char folder[] = "/tmp/sonde-claim-XXXXXX", path[200];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    sonde__claim_folder = folder;
    snprintf(path, sizeof path, "%s/sonde-samples-0001-1b-00", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool claims(int *by)
{
    *by = 0;
    return sonde__claim(1, 0x1b, 0, by);
}

/* A child that has the device; it waits to be told to let go, or to be killed. */
static pid_t child_with_it(int *tell)
{
    int ready[2], told[2], by;
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(told), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        byte = claims(&by) ? 1 : 0;
        if (write(ready[1], &byte, 1) != 1 || read(told[0], &byte, 1) != 1)
            _exit(1);
        sonde__claim_release(1, 0x1b, 0);
        if (write(ready[1], &byte, 1) != 1 || read(told[0], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    if (!tell)
        return pid;
    tell[0] = told[1];
    tell[1] = ready[0];
    return pid;
}

static void one_at_a_time(void **state)
{
    int by, tell[2];
    char byte = 1;
    (void)state;
    assert_true(claims(&by));
    assert_true(claims(&by)); /* once more, by the same process */
    sonde__claim_release(1, 0x1b, 0);
    const pid_t child = child_with_it(tell);
    assert_false(claims(&by));
    assert_int_equal(by, child);
    int other = 0;
    assert_true(sonde__claim(1, 0x1c, 0, &other)); /* another device */
    sonde__claim_release(1, 0x1b, 0);              /* not ours to release */
    assert_false(claims(&by));
    assert_int_equal(write(tell[0], &byte, 1), 1);
    assert_int_equal(read(tell[1], &byte, 1), 1);
    assert_true(claims(&by)); /* it has let go, and runs on */
    sonde__claim_release(1, 0x1b, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void it_ends_with_the_process(void **state)
{
    int by;
    (void)state;
    const pid_t child = child_with_it(NULL);
    assert_false(claims(&by));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(claims(&by));
    sonde__claim_release(1, 0x1b, 0);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A process number that came again began at another time; what is no line of ours is nobody's. */
static void what_files_say(void **state)
{
    static const char *const nobodys[] = {"", "1 1\n", "abc\n", "-1 5\n", "999999999 5\n", "7", "\xff\xff\xff\xff"};
    int by;
    (void)state;
    for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++) {
        write_file(nobodys[i]);
        assert_true(claims(&by));
        sonde__claim_release(1, 0x1b, 0);
    }
}

/* Where nothing can be known nothing is refused; a link that somebody put there is not followed. */
static void without_a_folder(void **state)
{
    int by;
    char aside[300];
    struct stat there;
    (void)state;
    snprintf(aside, sizeof aside, "%s/aside", folder);
    remove(path);
    assert_int_equal(symlink(aside, path), 0);
    assert_true(claims(&by));
    assert_int_not_equal(stat(aside, &there), 0);
    remove(path);
    sonde__claim_folder = "/nonexistent";
    assert_true(claims(&by));
    sonde__claim_release(1, 0x1b, 0);
    sonde__claim_folder = folder;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time), cmocka_unit_test(it_ends_with_the_process), cmocka_unit_test(what_files_say),
                                       cmocka_unit_test(without_a_folder)};
    return cmocka_run_group_tests(tests, begin, end);
}

/* test_opencl.c - the OpenCL backend under the counting agent.
 *
 * Each test runs one of the programs beside this file, under the agent in each
 * of the ways it can take hold, and compares what the program says it did, or
 * what it could see, with what the agent counted, or with a run without it.
 *
 * Paths come from the build: PROGRAMS (folder), AGENT, PRELOAD, SKEW_LAYER, STANDIN_LAYER
 * and SECOND_PLATFORM (libraries).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum way {
    ALONE,   /* without us */
    LAYER,   /* the loader loads the layer; nothing is preloaded */
    PATCHED, /* the preloaded library attaches; no layer */
    BOTH,    /* as `sonde record` starts programs */
    WAYS,
};
static const char *const way_names[] = {"alone", "layer", "patched", "both"};

static char folder[64] = "/tmp/sonde-opencl-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void way_environment(enum way way, const char *layers)
{
    char counts[96];
    snprintf(counts, sizeof counts, "%s/counts", folder);
    setenv("COUNT_OUT", counts, 1);
    setenv("SONDE_AGENT", AGENT, 1);
    unsetenv("OPENCL_LAYERS");
    unsetenv("LD_PRELOAD");
    if (layers)
        setenv("OPENCL_LAYERS", layers, 1);
    else if (way == LAYER || way == BOTH)
        setenv("OPENCL_LAYERS", AGENT, 1);
    if (way == PATCHED || way == BOTH)
        setenv("LD_PRELOAD", PRELOAD, 1);
}

/* Run a program; its output is in the returned string, which the caller frees. */
static char *run(enum way way, const char *layers, const char *program, const char *argument)
{
    char path[512], output[96];
    int status = -1;
    snprintf(path, sizeof path, "%s/%s", PROGRAMS, program);
    snprintf(output, sizeof output, "%s/output", folder);
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(output, O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(file, 1);
        alarm(600);
        way_environment(way, layers);
        execl(path, program, argument, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s %s: status %#x", program, way_names[way], status);
    FILE *file = fopen(output, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static char *read_counts(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/counts", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    return text;
}

static bool has_line(const char *text, const char *line, size_t length)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == length && memcmp(at, line, length) == 0)
            return true;
    return false;
}

static void must_have(const char *counts, const char *line)
{
    if (!has_line(counts, line, strlen(line)))
        fail_msg("no line \"%s\" in:\n%s", line, counts);
}

/* Lines that begin with `start`: each of `from` stands in `in`. Returns how many. */
static int lines_stand_in(const char *from, const char *in, const char *start)
{
    int count = 0;
    for (const char *at = from; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t length = strcspn(at, "\n");
        if (strncmp(at, start, strlen(start)) != 0)
            continue;
        count++;
        if (!has_line(in, at, length))
            fail_msg("no line \"%.*s\" in:\n%s", (int)length, at, in);
    }
    return count;
}

static void same_lines(const char *program, const char *agent, const char *start)
{
    assert_true(lines_stand_in(program, agent, start) > 0);
    lines_stand_in(agent, program, start);
}

/* Every operation was seen once, is finished, and its times are in order. */
static void must_be_complete(const char *counts)
{
    must_have(counts, "pending 0");
    must_have(counts, "no_times 0");
    must_have(counts, "failed 0");
    must_have(counts, "bad_order 0");
    must_have(counts, "out_of_call 0");
    must_have(counts, "released_unasked 0");
    must_have(counts, "without_token 0");
}

static void counts_every_operation(void **state)
{
    (void)state;
    static const char *const rounds[] = {"1", "40"};
    for (enum way way = LAYER; way < WAYS; way++)
        for (int i = 0; i < 2; i++) {
            char *said = run(way, NULL, "opencl-operations", rounds[i]);
            char *counts = read_counts();
            same_lines(said, counts, "op ");
            same_lines(said, counts, "kernel ");
            if (way != LAYER) /* nobody waits there for what is under way at exit */
                must_be_complete(counts);
            free(said);
            free(counts);
        }
}

/* Each new launch configuration is told once, and objects die when they die. */
static void tells_once(void **state)
{
    (void)state;
    setenv("COUNT_DEATHS", "42", 1);
    free(run(BOTH, NULL, "opencl-operations", "10"));
    unsetenv("COUNT_DEATHS");
    char *counts = read_counts();
    must_have(counts, "works 5");
    must_have(counts, "work_calls 5");
    must_have(counts, "told device host 20"); /* a buffer and an image a round are mapped to be read, and nothing else tells its ends */
    must_have(counts, "objects 42"); /* 2 buffers; 2 images and 2 SVM allocations a round */
    must_have(counts, "objects_freed 42");
    free(counts);
}

/* The lines that begin with `start`, in their order; the caller frees them. */
static char *lines_of(const char *text, const char *start)
{
    char *lines = calloc(1, strlen(text) + 1);
    assert_non_null(lines);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, start, strlen(start)) == 0)
            strncat(lines, at, strcspn(at, "\n") + 1);
    return lines;
}

static void same_in_order(const char *program, const char *agent, const char *start)
{
    char *said = lines_of(program, start), *counted = lines_of(agent, start);
    assert_true(*said);
    assert_string_equal(said, counted);
    free(said);
    free(counted);
}

/* Every wait, in the order of the calls, and every object's uses: no more and no fewer. */
static void knows_what_waits_for_what(void **state)
{
    (void)state;
    for (enum way way = LAYER; way < WAYS; way++) {
        char *said = run(way, NULL, "opencl-waits", NULL);
        char *counts = read_counts();
        same_in_order(said, counts, "wait ");
        same_in_order(said, counts, "used ");
        lines_stand_in(said, counts, "hidden_uses ");
        free(said);
        free(counts);
    }
}

static void answers_as_without(void **state)
{
    (void)state;
    char *alone = run(ALONE, NULL, "opencl-queries", NULL);
    for (enum way way = LAYER; way < WAYS; way++) {
        char *with = run(way, NULL, "opencl-queries", NULL);
        char *counts = read_counts();
        must_be_complete(counts);
        assert_string_equal(alone, with);
        free(with);
        free(counts);
    }
    free(alone);
}

static void follows_dlopen(void **state)
{
    (void)state;
    char *alone = run(ALONE, NULL, "opencl-opened", NULL);
    for (enum way way = LAYER; way < WAYS; way++) {
        char *with = run(way, NULL, "opencl-opened", NULL);
        char *counts = read_counts();
        same_lines(with, counts, "op ");
        must_be_complete(counts);
        assert_string_equal(alone, with);
        free(with);
        free(counts);
    }
    free(alone);
}

/* Calls by address, command buffers, and what no runtime here has: the program
 * sees the same, failed calls count for nothing, and objects are told when they
 * are made and when they die. `standin` is below the agent or not there. */
static void compare_extensions(bool standin, const char *argument)
{
    char *alone = run(ALONE, standin ? STANDIN_LAYER : NULL, "opencl-extensions", argument);
    const char *freed = strstr(alone, "objects_freed ");
    assert_non_null(freed);
    setenv("COUNT_DEATHS", freed + strlen("objects_freed "), 1);
    for (enum way way = LAYER; way < WAYS; way++) {
        if (standin && way == PATCHED)
            continue; /* the tables of vendors have nothing of a layer */
        char *with = run(way, standin ? STANDIN_LAYER ":" AGENT : NULL, "opencl-extensions",
                         argument);
        char *counts = read_counts();
        assert_string_equal(alone, with);
        same_lines(with, counts, "op ");
        same_lines(with, counts, "objects ");
        same_lines(with, counts, "object_bytes ");
        same_lines(with, counts, "objects_freed ");
        assert_int_equal(lines_stand_in(with, counts, "used "), standin ? 3 : 0);
        must_be_complete(counts);
        free(with);
        free(counts);
    }
    unsetenv("COUNT_DEATHS");
    free(alone);
}

static void follows_extensions(void **state)
{
    (void)state;
    compare_extensions(false, NULL);
    compare_extensions(false, "anywhere");
    compare_extensions(true, NULL);
    compare_extensions(true, "anywhere");
}

/* Two platforms by turns, each with its own dispatch table and clock. */
static void keeps_platforms_apart(void **state)
{
    (void)state;
    char vendors[96], path[128];
    snprintf(vendors, sizeof vendors, "%s/vendors", folder);
    assert_int_equal(mkdir(vendors, 0700), 0);
    char command[512];
    snprintf(command, sizeof command, "cp ${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/*.icd %s", vendors);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/second.icd", vendors);
    FILE *icd = fopen(path, "w");
    assert_non_null(icd);
    fputs(SECOND_PLATFORM "\n", icd);
    fclose(icd);
    setenv("OCL_ICD_VENDORS", vendors, 1);
    setenv("COUNT_SLACK_NS", "100000", 1); /* whole microseconds, and the pair's error */
    char *alone = run(ALONE, NULL, "opencl-platforms", "20");
    const bool two = strstr(alone, "platforms 2") != NULL;
    for (enum way way = LAYER; two && way < WAYS; way++) {
        char *with = run(way, NULL, "opencl-platforms", "20");
        char *counts = read_counts();
        assert_string_equal(alone, with);
        same_lines(with, counts, "op ");
        assert_int_equal(lines_stand_in(with, counts, "device "), 2);
        assert_int_equal(lines_stand_in(with, counts, "lane "), 2);
        must_be_complete(counts);
        must_have(counts, "clock_pairs 3"); /* PoCL's clock is the axis itself */
        free(with);
        free(counts);
    }
    free(alone);
    unsetenv("OCL_ICD_VENDORS");
    unsetenv("COUNT_SLACK_NS");
    if (!two) {
        puts("skipped: no second OpenCL platform here (package oclgrind)");
        skip();
    }
}

/* Device times on any clock come to the host's axis: to the rounding of that
 * clock, or, where nothing but an operation ties it, to how long that took. The
 * device's own clock is a quarter of an hour ahead, so no slack hides it. */
static void knows_clocks(void **state)
{
    (void)state;
    static const struct {
        const char *skew, *slack_ns, *pairs;
    } clocks[] = {
        /* One at the end; one when the clock is found out, if it is not the axis itself. */
        {"", "0", "clock_pairs 1"},
        {"monotonic", "100000", "clock_pairs 2"},
        {"real", "100000", "clock_pairs 2"},
        {"device", "100000", "clock_pairs 2"},
        {"alone", "100000000000", "clock_pairs 2"},
        {"slow", "100000", "clock_pairs 2"},
    };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        setenv("SKEW", clocks[i].skew, 1);
        setenv("COUNT_SLACK_NS", clocks[i].slack_ns, 1);
        char *said = run(BOTH, SKEW_LAYER ":" AGENT, "opencl-operations", "20");
        char *counts = read_counts();
        same_lines(said, counts, "op ");
        must_be_complete(counts);
        must_have(counts, clocks[i].pairs);
        free(said);
        free(counts);
    }
    unsetenv("SKEW");
    unsetenv("COUNT_SLACK_NS");
}

/* The loader cuts the variable at its colons; the program sees it whole. */
static void repairs_layers(void **state)
{
    (void)state;
    static const char *const lists[] = {
        AGENT,
        AGENT ":/nowhere/first.so",
        AGENT ":/nowhere/first.so::/nowhere/second.so:",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char expected[4096];
        char *said = run(BOTH, lists[i], "opencl-environment", NULL);
        snprintf(expected, sizeof expected, "before %s\nafter %s\nchild %s\n", lists[i], lists[i],
                 lists[i]);
        assert_string_equal(said, expected);
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_every_operation),
        cmocka_unit_test(tells_once),
        cmocka_unit_test(knows_what_waits_for_what),
        cmocka_unit_test(answers_as_without),
        cmocka_unit_test(follows_dlopen),
        cmocka_unit_test(follows_extensions),
        cmocka_unit_test(keeps_platforms_apart),
        cmocka_unit_test(knows_clocks),
        cmocka_unit_test(repairs_layers),
    };
    if (system(PROGRAMS "/opencl-operations >/dev/null 2>&1") != 0) {
        puts("skipped: no OpenCL device here that runs (pocl-opencl-icd)");
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

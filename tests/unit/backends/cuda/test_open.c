/* test_open.c - which CUPTI is opened, which is refused, and who holds one that refuses.
 *
 * Each case is a process of its own (this program again), in a folder to which
 * made-up libraries are copied as a program, a toolkit or a wheel brings them.
 * The folders of the known places begin with that of the case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent.h"
#include "backends/cuda/sonde_cuda.h"

int InitializeInjection(void);

static char program[PATH_MAX], root[PATH_MAX];

/* ---- the process that opens --------------------------------------------------------- */

/* In front of the C library's: what stands in /usr/local is not the test's to say. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    char below[PATH_MAX];
    __typeof__(&glob) next;
    *(void **)&next = dlsym(RTLD_NEXT, "glob");
    snprintf(below, sizeof below, "%s%s", getenv("TEST_ROOT"), pattern);
    return next(below, flags, failed, found);
}

static int open_and_say(const char *how)
{
    char room[200];
    char *loaded = getenv("TEST_LOADED"), *rest = NULL;
    const char *why;
    if (!dlopen(LIBRARIES "/cuda.so", RTLD_NOW))
        return printf("%s", dlerror()), 1;
    for (char *each = loaded ? strtok_r(loaded, ":", &rest) : NULL; each; each = strtok_r(NULL, ":", &rest))
        if (!dlopen(each, RTLD_NOW))
            return printf("%s", dlerror()), 1;
    if (strcmp(how, "attach") == 0) {
        InitializeInjection();
        InitializeInjection(); /* the driver's way and the preload library's: once is enough */
        printf("%s", noted.notes == 1 ? noted.note[0] : "not one note");
        return 0;
    }
    if (strcmp(how, "values") == 0) {
        why = sonde__cuda_values_begin(SONDE_VALUES_COARSE, room, sizeof room);
        printf("%s", why ? why : "it has all");
        return 0;
    }
    why = sonde__cupti_open(room, sizeof room);
    printf("%s", why ? why : sonde__cupti.path);
    return 0;
}

/* ---- cases --------------------------------------------------------------------------- */

static int shell(const char *format, ...)
{
    char *command;
    va_list values;
    va_start(values, format);
    const int length = vasprintf(&command, format, values);
    va_end(values);
    const int status = length < 0 ? -1 : system(command);
    if (length >= 0)
        free(command);
    return status;
}

static void copy(const char *library, const char *to)
{
    assert_int_equal(shell("mkdir -p \"$(dirname '%s/%s')\" && cp '" LIBRARIES "/%s.so' '%s/%s'", root, to, library, root, to), 0);
}

/* What it says when it is run with these variables ("NAME=value ..."; $ROOT is the folder). */
static const char *said(const char *how, const char *variables)
{
    static char text[PATH_MAX];
    char *command;
    assert_true(asprintf(&command, "IFS=; ROOT='%s'; unset SONDE_CUPTI SONDE_CUDA_INJECTION NSYS_PROFILING_SESSION_ID CUDA_HOME CUDA_PATH LD_LIBRARY_PATH; "
                                   "env TEST_ROOT=\"$ROOT\" %s \"$ROOT\"/program %s",
                         root, variables, how) > 0);
    FILE *pipe = popen(command, "r");
    free(command);
    assert_non_null(pipe);
    const size_t length = fread(text, 1, sizeof text - 1, pipe);
    text[length] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return text;
}

static void must_open(const char *path, const char *variables)
{
    const char *found = said("open", variables);
    const size_t length = strlen(root);
    if (strncmp(found, root, length) != 0 || found[length] != '/' || strcmp(found + length + 1, path) != 0)
        fail_msg("with %s: %s, not %s", variables, found, path);
}

static void must_begin(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0 || strchr(text, '\n'))
        fail_msg("\"%s\" does not begin with \"%s\", in one line", text, start);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%.*s/case-XXXXXX", (int)(strrchr(program, '/') - program), program);
    if (!mkdtemp(root))
        return 1;
    /* "Beside ourselves" is the folder of this program. */
    return shell("cp '%s' '%s/program'", program, root);
}

static int remove_root(void **state)
{
    (void)state;
    return shell("rm -rf '%s'", root);
}

/* The program's toolkit first, then ours, then known places: all are there, and each in turn is taken away. */
static void places_have_an_order(void **state)
{
    (void)state;
    static const struct { const char *file, *variable; } places[] = {
        {"given/libcupti.so.13", "SONDE_CUPTI=$ROOT/given/libcupti.so.13"},
        {"loaded/libcupti.so.13", "TEST_LOADED=$ROOT/loaded/libcupti.so.13:$ROOT/runtime/libcudart.so.13"},
        {"runtime/libcupti.so.13", "TEST_LOADED=$ROOT/runtime/libcudart.so.13"},
        {"home/extras/CUPTI/lib64/libcupti.so", "CUDA_HOME=$ROOT/home"},
        {"path/lib64/libcupti.so.13", "CUDA_PATH=$ROOT/path"},
        {"private/libcupti.so.13", "NOTHING="},
        {"usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "NOTHING="},
        {"usr/local/cuda-13.1/extras/CUPTI/lib64/libcupti.so.13", "NOTHING="},
        {"usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13", "NOTHING="},
        {"opt/cuda/extras/CUPTI/lib64/libcupti.so.13", "NOTHING="},
        {"anywhere/libcupti.so.13", "LD_LIBRARY_PATH=$ROOT/anywhere"},
    };
    enum { PLACES = sizeof places / sizeof *places };
    copy("cudart", "runtime/libcudart.so.13");
    for (int i = 0; i < PLACES; i++)
        copy("cupti", places[i].file);
    for (int i = 0; i < PLACES; i++) {
        char variables[PATH_MAX] = "";
        for (int k = PLACES; k-- > i;) /* of two lists of what is loaded the later one counts */
            snprintf(variables + strlen(variables), sizeof variables - strlen(variables), "%s ", places[k].variable);
        must_open(places[i].file, variables);
        assert_int_equal(shell("rm '%s/%s'", root, places[i].file), 0);
    }
    /* Nothing is left of ours; a machine may have one where its loader looks. */
    const char *last = said("open", "NOTHING=");
    assert_true(strncmp(last, "no libcupti.so found; ", 22) == 0 || (*last == '/' && strncmp(last, root, strlen(root)) != 0));
}

/* Wheels of CUDA 13 and 12, and both layouts of a toolkit. */
static void the_runtimes_own_is_beside_it(void **state)
{
    (void)state;
    static const struct { const char *runtime, *cupti; } layouts[] = {
        {"nvidia/cu13/lib/libcudart.so.13", "libcupti.so.13"},
        {"nvidia/cuda_runtime/lib/libcudart.so.12", "../../cuda_cupti/lib/libcupti.so.12"},
        {"cuda/lib64/libcudart.so", "../extras/CUPTI/lib64/libcupti.so"},
        {"cuda-12/targets/x86_64-linux/lib/libcudart.so.12", "../../../extras/CUPTI/lib64/libcupti.so.12"},
    };
    copy("cupti", "usr/local/cuda/extras/CUPTI/lib64/libcupti.so"); /* none of these */
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char file[PATH_MAX], variables[PATH_MAX];
        snprintf(file, sizeof file, "%.*s/%s", (int)(strrchr(layouts[i].runtime, '/') - layouts[i].runtime), layouts[i].runtime, layouts[i].cupti);
        copy("cudart", layouts[i].runtime);
        copy("cupti", file);
        snprintf(variables, sizeof variables, "TEST_LOADED=$ROOT/%s", layouts[i].runtime);
        must_open(file, variables);
    }
}

#define TOO_OLD "CUPTI is too old: API version 17, CUDA 12.0 has 18; set SONDE_CUPTI to a newer one instead of /"

/* What the user or the program chose is not replaced by another. */
static void an_old_one_is_refused(void **state)
{
    (void)state;
    copy("cupti-old", "old/libcupti.so.12");
    copy("cupti", "usr/local/cuda/extras/CUPTI/lib64/libcupti.so");
    must_begin(said("open", "SONDE_CUPTI=$ROOT/old/libcupti.so.12"), TOO_OLD);
    must_begin(said("attach", "SONDE_OUT=/ TEST_LOADED=$ROOT/old/libcupti.so.12"), "CUDA is not recorded: " TOO_OLD);
}

/* One that a folder happens to hold is passed over; when there is no other, that is what is said. */
static void a_later_one_elsewhere_is_taken(void **state)
{
    (void)state;
    copy("cupti-old", "home/extras/CUPTI/lib64/libcupti.so");
    copy("cupti", "usr/local/cuda/extras/CUPTI/lib64/libcupti.so");
    must_open("usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "CUDA_HOME=$ROOT/home");
    copy("cupti-old", "usr/local/cuda/extras/CUPTI/lib64/libcupti.so");
    copy("cupti-old", "anywhere/libcupti.so.13");
    must_begin(said("open", "CUDA_HOME=$ROOT/home LD_LIBRARY_PATH=$ROOT/anywhere"), TOO_OLD);
}

/* Who holds CUPTI can only be guessed. */
static void who_holds_cupti_is_said(void **state)
{
    (void)state;
    static const struct { const char *variables, *who; } holders[] = {
        {"TEST_LOADED=$ROOT/libToolsInjection64.so", "Nsight Systems"},
        {"TEST_LOADED=$ROOT/libproton.so", "Triton's Proton"},
        {"NSYS_PROFILING_SESSION_ID=1", "Nsight Systems"},
        {"SONDE_CUDA_INJECTION=/a/tool.so TEST_LOADED=$ROOT/libproton.so", "/a/tool.so, which CUDA_INJECTION64_PATH names"},
        {"NOTHING=", "the program itself or another tool in it"},
    };
    copy("cupti-held", "libcupti.so.13");
    copy("cudart", "libToolsInjection64.so");
    copy("cudart", "libproton.so");
    for (unsigned i = 0; i < sizeof holders / sizeof *holders; i++) {
        char variables[256], note[256];
        snprintf(variables, sizeof variables, "SONDE_OUT=/ SONDE_CUPTI=$ROOT/libcupti.so.13 %s", holders[i].variables);
        snprintf(note, sizeof note, "CUDA is not recorded: CUPTI is in use by %s, and allows only one user at a time; run without it", holders[i].who);
        must_begin(said("attach", variables), note);
    }
}

/* The made-up driver has only what is asked of any. */
static void a_driver_that_is_too_old_for_values_is_refused(void **state)
{
    (void)state;
    must_begin(said("values", "NOTHING="), "the driver is too old: it lacks cuCtxPopCurrent_v2; CUDA 12.5 has all");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(int argc, char **argv)
{
    if (argc == 2)
        return open_and_say(argv[1]);
    const struct CMUnitTest tests[] = {CASE(places_have_an_order), CASE(the_runtimes_own_is_beside_it),
                                       CASE(an_old_one_is_refused), CASE(a_later_one_elsewhere_is_taken),
                                       CASE(who_holds_cupti_is_said), CASE(a_driver_that_is_too_old_for_values_is_refused)};
    if (!realpath(argv[0], program))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

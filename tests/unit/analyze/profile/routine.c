/* routine.c - unit test: which frame's routine has the time of a frame. Known answers, path by path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/profile/profile.h"

enum { DEEPEST = 8 };

struct step {
    uint8_t kind;
    const char *module, *name;
};

#define PYTHON(name) {SONDE_FRAME_PYTHON, "", name}
#define NATIVE(module, name) {SONDE_FRAME_NATIVE, module, name}
#define INTERPRETER(name) NATIVE("/usr/bin/python3.11", name)
#define LIBC(name) NATIVE("/lib/x86_64-linux-gnu/libc.so.6", name)
#define VDSO(name) NATIVE("linux-vdso.so.1", name)
#define NUMPY(name) NATIVE("/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so", name)
#define DYNLOAD(name) NATIVE("/usr/lib/python3.11/lib-dynload/" name ".cpython-311-x86_64-linux-gnu.so", "")
#define MINE(name) NATIVE("/home/u/heat", name)
#define OPENCL(name) NATIVE("/lib/x86_64-linux-gnu/libOpenCL.so.1", name)
#define RANGE(name) {SONDE_FRAME_RANGE, "", name}

static const struct {
    struct step path[DEEPEST]; /* from the outermost */
    int answer;                /* index of the step */
} cases[] = {
    /* the interpreter, with names and without, whatever it is called */
    {{PYTHON("main"), PYTHON("step"), INTERPRETER("PyObject_Vectorcall")}, 1},
    {{PYTHON("step"), INTERPRETER("PyObject_Vectorcall"), INTERPRETER("")}, 0},
    {{PYTHON("step"), NATIVE("/opt/conda/lib/libpython3.12.so.1.0", "PyObject_Vectorcall")}, 0},
    {{PYTHON("step"), NATIVE("/opt/venv/bin/python", "PyObject_Vectorcall")}, 0},
    /* the C library for it, or for its eval loop, which the Python frame stands for */
    {{PYTHON("step"), INTERPRETER(""), LIBC("__GI___clock_gettime"), VDSO("")}, 0},
    {{PYTHON("step"), LIBC("memcpy")}, 0},
    {{PYTHON("step"), INTERPRETER("math_exp"), NATIVE("/lib/x86_64-linux-gnu/libm.so.6", "exp")}, 0},
    {{PYTHON("step"), INTERPRETER("sort"), LIBC("qsort"), INTERPRETER("compare")}, 0},
    /* its own library, in a file of its own or not */
    {{PYTHON("step"), INTERPRETER(""), DYNLOAD("_json"), LIBC("malloc")}, 0},
    {{PYTHON("step"), DYNLOAD("_ctypes"), NATIVE("/lib/x86_64-linux-gnu/libffi.so.8", "ffi_call_unix64")}, 0},
    {{PYTHON("step"), DYNLOAD("_ctypes"), NATIVE("/lib/x86_64-linux-gnu/libffi.so.8", "ffi_call_unix64"), MINE("work")}, 3},
    /* an extension is itself, and so is what it calls; what it has the interpreter do is the extension's */
    {{PYTHON("step"), INTERPRETER("PyObject_Vectorcall"), NUMPY("sort")}, 2},
    {{PYTHON("step"), INTERPRETER("PyObject_Vectorcall"), NUMPY("")}, 2},
    {{PYTHON("step"), NUMPY("copy"), LIBC("memcpy")}, 2},
    {{PYTHON("step"), NUMPY("copy"), INTERPRETER("PyMem_Malloc"), LIBC("malloc")}, 1},
    {{PYTHON("step"), NUMPY("apply"), INTERPRETER("PyObject_Call"), PYTHON("back")}, 3},
    /* ranges stand between a Python function and what it calls */
    {{PYTHON("step"), RANGE("iteration"), INTERPRETER("PyObject_Str")}, 1},
    {{PYTHON("step"), RANGE("iteration"), LIBC("memcpy")}, 1},
    {{MINE("step"), RANGE("iteration"), LIBC("memcpy")}, 2},
    /* no Python function above: starting, ending, threads of the interpreter's own */
    {{INTERPRETER("_start"), LIBC("__libc_start_main"), INTERPRETER("Py_RunMain"), INTERPRETER("Py_FinalizeEx")}, 3},
    {{LIBC("__libc_start_main"), INTERPRETER("Py_RunMain"), INTERPRETER("PyGC_Collect"), INTERPRETER(""), INTERPRETER("")}, 2},
    {{LIBC("__libc_start_main"), INTERPRETER(""), INTERPRETER("")}, 2},
    {{LIBC("clone"), LIBC("start_thread"), INTERPRETER("take_gil"), LIBC("pthread_cond_wait")}, 3},
    {{MINE("main"), INTERPRETER("Py_Initialize")}, 0},
    /* programs without Python: names stay, nameless code of a runtime is its caller's */
    {{MINE("main"), MINE("step"), LIBC("memcpy")}, 2},
    {{MINE("main"), LIBC("clock_gettime"), VDSO("__vdso_clock_gettime")}, 2},
    {{MINE("main"), LIBC("")}, 0},
    {{MINE("main"), MINE("")}, 1},
    {{MINE("main"), OPENCL("clFinish"), OPENCL("")}, 1},
    {{LIBC("clone"), LIBC("start_thread"), OPENCL(""), OPENCL("")}, 3},
    {{{SONDE_FRAME_CUT, "", ""}, INTERPRETER("PyObject_Str")}, 1},
    {{MINE("main"), {SONDE_FRAME_API, "", "clFinish"}}, 1},
};

static void test_routine(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde_cct_node nodes[DEEPEST + 1] = {{.name = "", .file = "", .module = ""}};
        struct sonde_profile profile = {.nodes = {.items = nodes, .count = 1, .capacity = DEEPEST + 1}};
        for (const struct step *s = cases[i].path; s < cases[i].path + DEEPEST && s->kind; s++) {
            const uint32_t parent = (uint32_t)profile.nodes.count - 1;
            nodes[profile.nodes.count++] = (struct sonde_cct_node){
                .parent = parent,
                .kind = s->kind,
                .name = s->name,
                .module = s->module,
                .file = "",
                .origin = (uint8_t)sonde_origin_of(s->name, s->module, ""),
            };
        }
        const uint32_t leaf = (uint32_t)profile.nodes.count - 1, answer = sonde_profile_routine(&profile, leaf);
        if ((int)answer != cases[i].answer + 1)
            fail_msg("case %zu: %s counts for %s, not for %s", i, nodes[leaf].name, nodes[answer].name,
                     nodes[cases[i].answer + 1].name);
        for (uint32_t n = 0; n <= leaf; n++) /* what stands for others stands for itself */
            assert_int_equal(sonde_profile_routine(&profile, sonde_profile_routine(&profile, n)),
                             sonde_profile_routine(&profile, n));
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

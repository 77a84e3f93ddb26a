/* device_code.c - unit test: which contexts are a CPU device's own. Known answers, path by path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/samples/device_code.h"

enum { DEEPEST = 8 };

struct step {
    uint8_t kind;
    const char *module, *name;
};

#define NATIVE(module, name) {SONDE_FRAME_NATIVE, module, name}
#define LIBC(name) NATIVE("/lib/x86_64-linux-gnu/libc.so.6", name)
#define THREAD LIBC("__clone3"), LIBC("start_thread")
#define POCL(name) NATIVE("/usr/lib/x86_64-linux-gnu/pocl/libpocl-devices-pthread.so", name)
#define LLVM(name) NATIVE("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", name)
#define KERNEL(name) NATIVE("/home/u/.cache/pocl/kcache/PB/FGHI/spin/64-1-1-goffs0-smallgrid/spin.so", name)
#define MINE(name) NATIVE("/home/u/heat", name)
#define PYTHON(name) {SONDE_FRAME_PYTHON, "", name}
#define API(name) {SONDE_FRAME_API, "", name}

static const struct {
    struct step path[DEEPEST]; /* from the outermost */
    bool device;
} cases[] = {
    {{THREAD, POCL("")}, true},
    {{THREAD, POCL(""), LIBC("pthread_cond_wait")}, true},
    {{THREAD, POCL("pocl_pthread_driver_thread"), NATIVE("/usr/lib/x86_64-linux-gnu/libpocl.so.2.10.0", "x"), LLVM("run")}, true},
    /* kernels: the unwinder finds their caller or does not; code that they call is theirs */
    {{THREAD, KERNEL("_pocl_kernel_spin_workgroup")}, true},
    {{THREAD, POCL(""), KERNEL("")}, true},
    {{THREAD, POCL(""), KERNEL("_pocl_kernel_spin_workgroup"), NATIVE("/lib/x86_64-linux-gnu/libm.so.6", "exp")}, true},
    {{MINE("main"), KERNEL("_pocl_kernel_spin_workgroup")}, true},
    {{{SONDE_FRAME_CUT, "", ""}, KERNEL("")}, true},
    /* called back: the program's own, and all below it */
    {{THREAD, POCL(""), MINE("on_complete")}, false},
    {{THREAD, POCL(""), MINE("on_complete"), LIBC("memcpy")}, false},
    {{THREAD, POCL(""), NATIVE("/usr/lib/python3/dist-packages/pyopencl/_cl.so", "call"), PYTHON("done")}, false},
    {{THREAD, POCL(""), PYTHON("done")}, false},
    {{THREAD, POCL(""), MINE("on_complete"), API("clEnqueueNDRangeKernel")}, false},
    /* threads of the program, and of its libraries */
    {{THREAD, MINE("worker")}, false},
    {{THREAD, MINE("worker"), POCL("")}, false},
    {{MINE("main"), MINE("step"), LIBC("memcpy")}, false},
    {{THREAD, LLVM("parallel")}, false},
    {{THREAD}, false},
    {{LIBC("__libc_start_main"), MINE("main"), API("clFinish")}, false},
    /* a library of one's own is no kernel */
    {{MINE("main"), NATIVE("/home/u/lib/heat/1.0/heat.so", "step")}, false},
    {{MINE("main"), NATIVE("/home/u/heat/build-64/heat.so", "step")}, false},
    {{MINE("main"), NATIVE("heat.so", "step")}, false},
};

static void contexts(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde_cct_node nodes[DEEPEST + 1] = {{.name = "", .file = "", .module = ""}};
        struct sonde_profile profile = {.nodes = {.items = nodes, .count = 1, .capacity = DEEPEST + 1}};
        bool any;
        for (const struct step *s = cases[i].path; s < cases[i].path + DEEPEST && s->kind; s++) {
            nodes[profile.nodes.count] = (struct sonde_cct_node){
                .parent = (uint32_t)profile.nodes.count - 1,
                .kind = s->kind,
                .name = s->name,
                .file = "",
                .module = s->module,
                .origin = (uint8_t)sonde_origin_of(s->name, s->module, ""),
            };
            profile.nodes.count++;
        }
        uint8_t *code = sonde_device_code(&profile, &any);
        if (sonde_code_is_device(code[profile.nodes.count - 1]) != cases[i].device)
            fail_msg("case %zu: %s", i, cases[i].path[profile.nodes.count - 2].name);
        free(code);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

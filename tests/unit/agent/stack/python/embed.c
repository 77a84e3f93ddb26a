/* embed.c - a program that opens libpython by itself, RTLD_LOCAL.
 *
 * usage: embed LIBPYTHON
 * The walker must find it there, see nothing before the interpreter is
 * initialized and after it is finalized, and the right frames in between.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/stack/python.h"

/* The little of Python's stable interface that is needed. */
struct method {
    const char *name;
    void *(*function)(void *, void *);
    int flags;
    const char *doc;
};
enum { METH_NOARGS = 4 };

static struct {
    void (*initialize)(int);
    int (*finalize)(void);
    void *(*add_module)(const char *);
    void *(*new_function)(struct method *, void *, void *);
    int (*add_object)(void *, const char *, void *);
    int (*run)(const char *, void *);
    void *(*new_number)(long);
} python;
static int calls;

static bool find_functions(void *library)
{
    *(void **)&python.initialize = dlsym(library, "Py_InitializeEx");
    *(void **)&python.finalize = dlsym(library, "Py_FinalizeEx");
    *(void **)&python.add_module = dlsym(library, "PyImport_AddModule");
    *(void **)&python.new_function = dlsym(library, "PyCFunction_NewEx");
    *(void **)&python.add_object = dlsym(library, "PyModule_AddObject");
    *(void **)&python.run = dlsym(library, "PyRun_SimpleStringFlags");
    *(void **)&python.new_number = dlsym(library, "PyLong_FromLong");
    return python.initialize && python.finalize && python.add_module && python.new_function &&
           python.add_object && python.run && python.new_number;
}

static int failed(const char *what)
{
    printf("FAIL %s\n", what);
    return 1;
}

/* Called from Python: the frames must be inner, outer, <module>. */
static void *walk(void *self, void *arguments)
{
    static const char *const names[] = {"inner", "outer", "<module>"};
    struct sonde_pyframe frames[8];
    struct sonde_pycode_info info;
    (void)self, (void)arguments;
    int count = sonde__python_walk(frames, 8);
    if (count == 3)
        calls++;
    for (int i = 0; i < count; i++)
        if (!sonde__pycode_read(frames[i].code, &info) || i > 2 || strcmp(info.name, names[i]) != 0)
            calls = -1000;
    return python.new_number(count);
}

static struct method method = {"walk", walk, METH_NOARGS, NULL};

static const char program[] = "def inner(): return walk()\n"
                              "def outer(): return inner()\n"
                              "outer(); outer()\n"
                              "class Late:\n"
                              "    def __del__(self, walk=walk): walk()\n" /* while finalizing */
                              "import sys; sys.kept = Late()\n";

static int run(void)
{
    int before = calls;
    python.initialize(0);
    void *module = python.add_module("__main__");
    python.add_object(module, "walk", python.new_function(&method, NULL, NULL));
    if (python.run(program, NULL) != 0)
        return failed("the program did not run");
    if (calls != before + 2)
        return failed("wrong frames");
    python.finalize();
    struct sonde_pyframe frames[8];
    if (sonde__python_walk(frames, 8) != 0)
        return failed("frames of a finalized interpreter");
    return 0;
}

int main(int argc, char **argv)
{
    struct sonde_pyframe frames[8];
    const char *why;
    if (argc != 2)
        return 2;
    if (sonde__python_attach(&why) || why || sonde__python_attached())
        return failed("attached without an interpreter");
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_functions(library)) {
        printf("skipped: %s\n", dlerror());
        return 77;
    }
    if (!sonde__python_attach(&why) || why)
        return failed("libpython, opened RTLD_LOCAL, was not found");
    if (sonde__python_walk(frames, 8) != 0 || sonde__python_version() != 0)
        return failed("frames of an interpreter that is not initialized");
    for (int i = 0; i < 2; i++)
        if (run() != 0)
            return 1;
    if (!sonde__python_attached())
        return failed("switched itself off");
    printf("embedded CPython %u.%u, RTLD_LOCAL, initialized twice: right\n", sonde__python_version() >> 8,
           sonde__python_version() & 255);
    return 0;
}

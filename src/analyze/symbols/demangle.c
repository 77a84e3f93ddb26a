/* demangle.c - C++ names through the C++ runtime library's own demangler, Rust's through libiberty's.
 *
 * libstdc++ is present nearly everywhere and its licence (GPL with the runtime
 * library exception) binds nobody who only calls it; opening it at run time
 * keeps Sonde free of a C++ dependency. Without it names stay mangled.
 */
#include <dlfcn.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *length, int *status);

static demangle_fn demangle;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !demangle; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            *(void **)&demangle = dlsym(library, "__cxa_demangle");
    }
}

bool sonde_is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

char *sonde_demangle(const char *name)
{
    int status = 0;
    if (!sonde_is_mangled(name)) /* the C++ one would read "i" as the type int */
        return NULL;
    char *readable = rust_demangle(name, DMGL_NO_OPTS); /* Rust's older names are C++ names as well */
    if (readable || name[1] == 'R')
        return readable;
    pthread_once(&once, find_demangler);
    return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

/* dlfcn.h - the one library there is: the demangler of the C++ runtime library, linked in (src/analyze/symbols/demangle.c). */
#ifndef SONDE_WASM_DLFCN_H
#define SONDE_WASM_DLFCN_H

#include <stddef.h>
#include <string.h>

#define RTLD_NOW   0
#define RTLD_LOCAL 0

char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

static inline void *dlopen(const char *name, int flags)
{
    (void)flags;
    return (void *)name;
}

static inline void *dlsym(void *library, const char *name)
{
    return library && strcmp(name, "__cxa_demangle") == 0 ? (void *)__cxa_demangle : NULL;
}

#endif

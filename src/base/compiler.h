/* compiler.h - compilers of the system's that --values calls: where they are, and the libLLVM that reads what they write.
 *
 * For the measured program and for `sonde doctor`: nothing here takes memory of the heap, or a lock. Of several versions the oldest is taken: what a
 * runtime's own LLVM reads is what older ones wrote.
 *
 * Threads: any.
 */
#ifndef SONDE_BASE_COMPILER_H
#define SONDE_BASE_COMPILER_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SONDE_LLVM_OLDEST       15u /* pointers of older ones have types */
#define SONDE_CLANG_OLDEST      15u
#define SONDE_LLVM_SPIRV_OLDEST 14u
#define SONDE_COMPILER_NEWEST   30u

struct sonde_compiler {
    unsigned version; /* 0: there is none */
    char path[PATH_MAX];
    void *llvm; /* of dlopen, never closed */
};

/* A file along PATH that can be executed. */
static inline bool sonde__compiler_path(const char *name, char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; *at; at += strcspn(at, ":"), at += *at == ':') {
        const int length = (int)strcspn(at, ":");
        if (*at == '/' && snprintf(path, PATH_MAX, "%.*s/%s", length, at, name) < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    path[0] = 0;
    return false;
}

static inline void *sonde__compiler_llvm(unsigned version)
{
    static const char *const names[] = {"libLLVM-%u.so.1", "libLLVM.so.%u.1", "libLLVM-%u.so"};
    char name[64];
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        snprintf(name, sizeof name, names[i], version);
        library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    }
    return library;
}

/* "clang" is clang-15, clang-16 and so on. With the libLLVM of its version, or that of SONDE_LLVM_OLDEST. False: one of the two is not there. */
static inline bool sonde_compiler_find(const char *name, unsigned oldest, struct sonde_compiler *out)
{
    char full[64];
    for (unsigned version = oldest; version <= SONDE_COMPILER_NEWEST; version++) {
        snprintf(full, sizeof full, "%s-%u", name, version);
        if (sonde__compiler_path(full, out->path) && (out->llvm = sonde__compiler_llvm(version < SONDE_LLVM_OLDEST ? SONDE_LLVM_OLDEST : version))) {
            out->version = version;
            return true;
        }
    }
    out->version = 0;
    return false;
}

#endif

/* clang.c - see clang.h. */
#include "clang.h"

#include "base/compiler.h"
#include "llvm.h"

enum { OPTIONS_MAX = 1024 };

static struct sonde_compiler clang;

bool sonde__clang_open(void)
{
    return (clang.version || sonde_compiler_find("clang", SONDE_CLANG_OLDEST, &clang)) && sonde__llvm_open(clang.llvm);
}

bool sonde__clang_compile(const char *text, size_t bytes, const char *const *options, struct sonde_child_made *out)
{
    /* As it is written, with nothing left out; lines of accesses are known in any case. */
    static const char *const always[] = {clang.path, "-x", "cl", "-", "-c", "-o", "-", "-emit-llvm", "-target", "spir64-unknown-unknown", "-O1", "-Xclang",
                                         "-disable-llvm-passes", "-gline-tables-only", "-w"};
    static const char *const untyped[] = {"-Xclang", "-opaque-pointers"}; /* clang 15 gives pointers of SPIR types, later ones none */
    enum { ALWAYS = sizeof always / sizeof *always };
    const char *words[ALWAYS + 2 + OPTIONS_MAX + 1];
    size_t count = 0;
    for (; count < ALWAYS; count++)
        words[count] = always[count];
    for (size_t i = 0; clang.version == SONDE_CLANG_OLDEST && i < sizeof untyped / sizeof *untyped; i++)
        words[count++] = untyped[i];
    for (; *options && count < ALWAYS + OPTIONS_MAX; options++)
        words[count++] = *options;
    words[count] = NULL;
    return !*options && sonde__child_run(words, text, bytes, out);
}

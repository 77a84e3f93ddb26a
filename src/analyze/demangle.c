/* demangle.c - C++ names through the C++ runtime library's own demangler.
 *
 * libstdc++ is present nearly everywhere and its licence (GPL with the runtime
 * library exception) binds nobody who only calls it; opening it at run time
 * keeps Sonde free of a C++ dependency. Without it names stay mangled.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *length, int *status);

static demangle_fn   demangle;
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

/* ---- Rust's older names ------------------------------------------------------------- */

enum { HASH_CHARACTERS = 19 }; /* "::h" and 16 digits */

/* Rust before its version 0 of mangling writes C++ names whose last part is a hash. */
static size_t length_without_hash(const char *name)
{
    const size_t length = strlen(name);
    const char *hash = length > HASH_CHARACTERS ? name + length - HASH_CHARACTERS : NULL;
    return hash && strncmp(hash, "::h", 3) == 0 && strspn(hash + 3, "0123456789abcdef") == 16 ? length - HASH_CHARACTERS : 0;
}

/* What stands between dollars; 0: not Rust's. */
static char escaped(const char *text, size_t length)
{
    static const struct { const char *text; char meaning; } known[] = {
        {"LT", '<'}, {"GT", '>'}, {"RF", '&'}, {"BP", '*'}, {"LP", '('}, {"RP", ')'}, {"C", ','}, {"SP", '@'},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].text) == length && strncmp(text, known[i].text, length) == 0)
            return known[i].meaning;
    const long code = length > 1 && *text == 'u' ? strtol(text + 1, NULL, 16) : 0;
    return code >= ' ' && code < 127 ? (char)code : 0;
}

/* In place: "_$LT$u8$u20$as$u20$core..fmt..Debug$GT$::fmt::h..." is <u8 as core::fmt::Debug>::fmt. */
static void read_rust(char *name, size_t length)
{
    char *out = name;
    for (const char *at = name, *end = name + length; at < end;) {
        const char *close = *at == '$' ? memchr(at + 1, '$', (size_t)(end - at) - 1) : NULL;
        const char meaning = close ? escaped(at + 1, (size_t)(close - at) - 1) : 0;
        if (meaning) {
            *out++ = meaning;
            at = close + 1;
        } else if (end - at > 1 && at[0] == '.' && at[1] == '.') {
            *out++ = ':';
            *out++ = ':';
            at += 2;
        } else if (end - at > 1 && at[0] == '_' && at[1] == '$' && (at == name || at[-1] == ':'))
            at++; /* a part must not begin with a dollar */
        else
            *out++ = *at++;
    }
    *out = 0;
}

bool sonde_is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0;
}

char *sonde_demangle(const char *name)
{
    int status = 0;
    if (!sonde_is_mangled(name)) /* it would read "i" as the type int */
        return NULL;
    pthread_once(&once, find_demangler);
    char *readable = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    const size_t rust = readable ? length_without_hash(readable) : 0;
    if (rust)
        read_rust(readable, rust);
    return readable;
}

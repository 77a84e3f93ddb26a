/* origin.c - whose code a frame is, the part of a calling context that a user recognizes, and the
 * routine that the time of a frame counts for. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/runtimes.h"
#include "analyze/symbols/symbols.h"
#include "base/text.h"
#include "profile.h"

/* The GPU runtimes and their loaders, the C library and the loader, Python's interpreter with the modules of its own
 * library (which of them are files of their own differs between builds), ourselves. */
static bool is_runtime_module(const char *path)
{
    const char *base = sonde_path_base(path);
    static const char *const prefixes[] = {
        "libsonde", "libc.so", "libc-2", "libpthread", "ld-linux", "libpython",
        "python3", "python2", "libstdc++", "libgcc_s", "libffi", "[vdso]", "linux-vdso"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (sonde_text_begins(base, prefixes[i]))
            return true;
    return sonde_is_gpu_runtime(path) || strcmp(base, "python") == 0 || strstr(path, "/lib-dynload/");
}

static bool is_installed(const char *path)
{
    static const char *const prefixes[] = {"/usr/include/", "/usr/lib", "/lib/", "/lib64/",
                                           "/usr/local/lib", "/usr/local/include/", "/usr/share/",
                                           "/opt/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (sonde_text_begins(path, prefixes[i]))
            return true;
    return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") || strstr(path, "/lib/python3.");
}

/* Python code without a file is made by a library (<frozen importlib>, wrappers
 * from exec), unless the user typed it; JavaScript inside Node.js has names like node:internal/timers. */
static bool is_generated(const char *file)
{
    return sonde_text_begins(file, "node:") || (*file == '<' && !sonde_text_begins(file, "<stdin>") && !sonde_text_begins(file, "<string>") && !sonde_text_begins(file, "<ipython"));
}

/* CUDA's runtime is mostly linked into the program, without debug information;
 * and nvcc makes a stub for each kernel, in the kernel's file, which calls
 * functions of the runtime's headers. */
static bool is_linked_runtime(const char *function, const char *file)
{
    const char *base = sonde_path_base(file);
    if (strstr(function, "__device_stub__") || sonde_text_begins(function, "__cuda") || !strcmp(base, "cuda_runtime.h") ||
        !strcmp(base, "host_runtime.h"))
        return true;
    return !*file && (sonde_text_begins(function, "libcudart_static_") || (sonde_text_begins(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z'));
}

/* What runs before main, linked into every program, is the C library's. */
static bool is_start_code(const char *function)
{
    return strcmp(function, "_start") == 0;
}

enum sonde_cct_origin sonde_origin_of(const char *function, const char *module, const char *file)
{
    if (*module && (is_runtime_module(module) || is_linked_runtime(function, file) || is_start_code(function)))
        return SONDE_ORIGIN_RUNTIME;
    /* A library may carry the lines of files that are on its maker's machine only. */
    if (is_installed(module) || is_installed(file) || is_generated(file))
        return SONDE_ORIGIN_LIBRARY;
    return SONDE_ORIGIN_USER;
}

static bool is_code(const struct sonde_cct_node *node)
{
    return node->kind == SONDE_FRAME_NATIVE || node->kind == SONDE_FRAME_PYTHON ||
           (node->kind == SONDE_FRAME_LINK && node->offset);
}

static bool same_function(const char *a, const char *b)
{
    size_t length = strcspn(a, "(");
    return length == strcspn(b, "(") && strncmp(a, b, length) == 0;
}

/* nvcc makes a host function of the kernel's name and lines, which calls the
 * kernel's stub: it is neither the program's code nor where it launches. The
 * stub's name is the kernel's behind a prefix ("_Z4stepPf" without its "_"). */
static bool is_launch_function(const struct sonde_cct_node *node, const char *stub)
{
    static const char prefix[] = "__device_stub__";
    const char *kernel = stub ? strstr(stub, prefix) : NULL;
    char symbol[1024], *readable = NULL;
    if (!kernel)
        return false;
    kernel += sizeof prefix - 1;
    if (kernel[0] == 'Z' && strlen(kernel) < sizeof symbol - 1) {
        symbol[0] = '_';
        memcpy(symbol + 1, kernel, strcspn(kernel, "(") + 1);
        symbol[strcspn(kernel, "(") + 1] = 0;
        readable = sonde_demangle(symbol);
    }
    bool same = same_function(node->name, readable ? readable : kernel);
    free(readable);
    return same;
}

static uint32_t callers_up_to(const struct sonde_profile *profile, uint32_t leaf, int origin,
                              uint32_t *nodes, uint32_t max)
{
    uint32_t count = 0;
    const char *stub = NULL;
    for (uint32_t at = leaf; at && count < max; at = profile->nodes.items[at].parent) {
        const struct sonde_cct_node *node = &profile->nodes.items[at];
        if (!is_code(node))
            continue;
        if (node->origin <= origin && !is_launch_function(node, stub))
            nodes[count++] = at;
        stub = node->kind == SONDE_FRAME_NATIVE && strstr(node->name, "__device_stub__") ? node->name : NULL;
    }
    return count;
}

uint32_t sonde_profile_callers(const struct sonde_profile *profile, uint32_t leaf,
                               uint32_t *nodes, uint32_t max)
{
    uint32_t count = 0;
    for (int origin = SONDE_ORIGIN_USER; !count && origin <= SONDE_ORIGIN_RUNTIME; origin++)
        count = callers_up_to(profile, leaf, origin, nodes, max);
    while (count > 1 && is_start_code(profile->nodes.items[nodes[count - 1]].name)) /* where there is nothing else */
        count--;
    return count;
}

const char *sonde_profile_called_by(const struct sonde_profile *profile, uint32_t node)
{
    return profile->nodes.items[node].kind == SONDE_FRAME_LINK ? ", launched from " : " \xe2\x86\x90 ";
}

uint32_t sonde_profile_place(const struct sonde_profile *profile, uint32_t node)
{
    uint32_t nearest = node;
    sonde_profile_callers(profile, node, &nearest, 1);
    return nearest;
}

bool sonde_is_wait(const struct sonde_profile *profile, uint32_t node)
{
    return profile->nodes.items[node].kind == SONDE_FRAME_API && profile->nodes.items[node].self.sleeps;
}

/* ---- the routine of a frame --------------------------------------------- */

static bool is_of(const struct sonde_cct_node *node, const char *const *prefixes)
{
    if (node->kind != SONDE_FRAME_NATIVE)
        return false;
    for (const char *base = sonde_path_base(node->module); *prefixes; prefixes++)
        if (sonde_text_begins(base, *prefixes))
            return true;
    return false;
}

static bool is_interpreter(const struct sonde_cct_node *node)
{
    static const char *const prefixes[] = {"libpython", "python3", "python2", NULL};
    return is_of(node, prefixes) || (node->kind == SONDE_FRAME_NATIVE && (strstr(node->module, "/lib-dynload/") ||
                                                                          !strcmp(sonde_path_base(node->module), "python")));
}

static bool is_c_library(const struct sonde_cct_node *node)
{
    static const char *const prefixes[] = {"libc.so", "libc-2", "libm.so", "libm-2", "libpthread", "ld-linux", "libffi",
                                           "[vdso]", "linux-vdso", NULL};
    return is_of(node, prefixes);
}

/* What the interpreter or its eval loop, whose place the Python frames have taken, called the C library for. */
static uint32_t under_interpreter(const struct sonde_cct_node *nodes, uint32_t leaf)
{
    uint32_t at = leaf, caller;
    while (at && is_c_library(&nodes[at]))
        at = nodes[at].parent;
    for (caller = at; caller && nodes[caller].kind == SONDE_FRAME_RANGE;)
        caller = nodes[caller].parent;
    return nodes[caller].kind == SONDE_FRAME_PYTHON || is_interpreter(&nodes[caller]) ? at : leaf;
}

/* Code that says nothing by itself: the interpreter, and any runtime's without a name. */
static bool is_mute(const struct sonde_cct_node *node)
{
    return node->kind == SONDE_FRAME_NATIVE && (is_interpreter(node) || (!*node->name && node->origin == SONDE_ORIGIN_RUNTIME));
}

uint32_t sonde_profile_routine(const struct sonde_profile *profile, uint32_t leaf)
{
    const struct sonde_cct_node *nodes = profile->nodes.items;
    uint32_t at = under_interpreter(nodes, leaf), itself = *nodes[leaf].name ? leaf : 0;
    for (; at && is_mute(&nodes[at]); at = under_interpreter(nodes, nodes[at].parent))
        if (!itself && *nodes[at].name)
            itself = at; /* the interpreter ending, or collecting what nobody uses */
    itself = itself ? itself : leaf;
    switch (nodes[at].kind) {
    case SONDE_FRAME_NATIVE: /* the start of a thread or of the program ran all and says nothing */
        return is_c_library(&nodes[at]) || is_start_code(nodes[at].name) ? itself : at;
    case SONDE_FRAME_PYTHON:
    case SONDE_FRAME_API:
    case SONDE_FRAME_RANGE:
        return at;
    default:
        return itself;
    }
}

/* ---- the callers of a group -------------------------------------------- */

void sonde_metrics_add(struct sonde_metrics *sum, const struct sonde_metrics *more)
{
    sum->operations += more->operations;
    sum->timed += more->timed;
    sum->failed += more->failed;
    sum->device_ns += more->device_ns;
    sum->bytes += more->bytes;
    sum->api_calls += more->api_calls;
    sum->api_ns += more->api_ns;
    sum->sync_ns += more->sync_ns;
    sum->queue_ns += more->queue_ns;
    sum->samples += more->samples;
    sum->cpu_ns += more->cpu_ns;
    sum->sleeps += more->sleeps;
    sum->slept_ns += more->slept_ns;
}

static int by_time(const void *left, const void *right)
{
    const struct sonde_caller *a = left, *b = right;
    uint64_t x = a->metrics.device_ns + a->metrics.api_ns, y = b->metrics.device_ns + b->metrics.api_ns;
    if (x != y)
        return x < y ? 1 : -1;
    return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

/* The nearest frames as one number. Texts are interned: their addresses tell them apart. */
static uint64_t path_key(const struct sonde_profile *profile, uint32_t leaf, uint32_t depth)
{
    uint32_t nodes[8], count = sonde_profile_callers(profile, leaf, nodes, depth < 8 ? depth : 8);
    uint64_t key = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[nodes[i]];
        key = sonde_hash_mix(key, (uintptr_t)node->name);
        key = sonde_hash_mix(key, (uintptr_t)node->file);
        key = sonde_hash_mix(key, (uintptr_t)node->module);
        key = sonde_hash_mix(key, node->line ^ node->offset << 32);
    }
    return key;
}

long sonde_profile_group_callers(const struct sonde_profile *profile, const struct sonde_group *group,
                                 uint32_t depth, struct sonde_caller **out)
{
    SONDE_VECTOR(struct sonde_caller) callers = {0};
    struct sonde_map seen = {0};
    int rc = 0;
    for (size_t i = 0; i < group->leaves.count && !rc; i++) {
        uint32_t leaf = group->leaves.items[i];
        uint64_t key = path_key(profile, leaf, depth), at;
        if (!sonde_map_get(&seen, key, &at)) {
            at = callers.count;
            rc = sonde_map_put(&seen, key, at);
            if (!rc)
                rc = sonde_vector_push(&callers, (struct sonde_caller){.leaf = leaf});
        }
        if (!rc)
            sonde_metrics_add(&callers.items[at].metrics, &profile->nodes.items[leaf].self);
    }
    sonde_map_fini(&seen);
    if (rc) {
        sonde_vector_fini(&callers);
        return rc;
    }
    if (callers.count)
        qsort(callers.items, callers.count, sizeof *callers.items, by_time);
    *out = callers.items;
    return (long)callers.count;
}

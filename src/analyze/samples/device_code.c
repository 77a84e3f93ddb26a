/* device_code.c - see device_code.h.
 *
 * A thread's stack begins with the C library's start of threads; what comes next made it. PoCL's
 * workers come from libpocl's device libraries, which have kernels compiled (LLVM), load them and run
 * them. PoCL's kernels are libraries of their own, one each, CACHE/XX/HASH/KERNEL/SIZES/KERNEL.so, entered
 * by a function _pocl_kernel_KERNEL_workgroup.
 */
#include "device_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"
#include "base/text.h"

/* The part of a path before `end` that follows the last slash there. */
static const char *part_before(const char *path, const char *end, size_t *length)
{
    const char *at = end;
    while (at > path && at[-1] != '/')
        at--;
    *length = (size_t)(end - at);
    return at;
}

static bool is_kernel_module(const char *path)
{
    const char *base = sonde_path_base(path);
    const size_t length = strlen(base);
    size_t sizes_length, kernel_length;
    if (length < 4 || strcmp(base + length - 3, ".so") || base - path < 4)
        return false;
    const char *sizes = part_before(path, base - 1, &sizes_length);
    if (sizes - path < 2 || !isdigit((unsigned char)*sizes) || !memchr(sizes, '-', sizes_length))
        return false;
    const char *kernel = part_before(path, sizes - 1, &kernel_length);
    return kernel_length == length - 3 && !strncmp(kernel, base, kernel_length);
}

static bool is_kernel(const struct sonde_cct_node *node)
{
    return sonde_text_begins(node->name, "_pocl_kernel_") || is_kernel_module(node->module);
}

static bool is_c_library(const struct sonde_cct_node *node)
{
    const char *base = sonde_path_base(node->module);
    return sonde_text_begins(base, "libc.so") || sonde_text_begins(base, "libc-2") || sonde_text_begins(base, "libpthread") || sonde_text_begins(base, "ld-");
}

/* What its threads run. */
static bool is_of_device(const struct sonde_cct_node *node)
{
    const char *base = sonde_path_base(node->module);
    return sonde_text_begins(base, "libLLVM") || sonde_text_begins(base, "libclang") || node->origin == SONDE_ORIGIN_RUNTIME;
}

static uint8_t code_of(const struct sonde_cct_node *node, uint8_t above)
{
    if (above == SONDE_CODE_KERNEL)
        return SONDE_CODE_KERNEL;
    if (node->kind != SONDE_FRAME_NATIVE) /* a stack that was cut says as little as the start of a thread */
        return node->kind == SONDE_FRAME_CUT ? above : SONDE_CODE_PROGRAM;
    if (is_kernel(node))
        return SONDE_CODE_KERNEL;
    if (above == SONDE_CODE_NOT_KNOWN)
        return is_c_library(node)                                            ? SONDE_CODE_NOT_KNOWN
               : sonde_text_begins(sonde_path_base(node->module), "libpocl") ? SONDE_CODE_DEVICE
                                                                             : SONDE_CODE_PROGRAM;
    return above == SONDE_CODE_DEVICE && is_of_device(node) ? SONDE_CODE_DEVICE : SONDE_CODE_PROGRAM;
}

uint8_t *sonde_device_code(const struct sonde_profile *profile, bool *any)
{
    uint8_t *code = calloc(profile->nodes.count + 1, sizeof *code);
    *any = false;
    for (size_t i = 1; i < profile->nodes.count && code; i++) {
        const struct sonde_cct_node *node = &profile->nodes.items[i];
        code[i] = code_of(node, code[node->parent]);
        *any |= sonde_code_is_device(code[i]);
    }
    return code;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct asked {
    const struct sonde_profile *profile;
    const uint8_t *code;
    uint32_t process;
    enum sonde_table table;
    int votes; /* for the device less those for the program */
};

enum { CLEAR = 8,
       ANSWERED = 1 };

/* Of a stack the outermost that says something. Stacks are cut, and threads share a lane: one may be wrong. */
static int ask(void *user, uint32_t lane, const void *row)
{
    struct asked *a = user;
    const uint32_t id = a->table == SONDE_TABLE_SAMPLE ? ((const struct sonde_row_sample *)row)->node
                                                       : ((const struct sonde_row_call *)row)->node;
    uint8_t outermost = SONDE_CODE_NOT_KNOWN;
    (void)lane;
    for (uint32_t at = sonde_profile_locate(a->profile, a->process, id); at; at = a->profile->nodes.items[at].parent)
        outermost = a->code[at] != SONDE_CODE_NOT_KNOWN ? a->code[at] : outermost;
    a->votes += outermost == SONDE_CODE_NOT_KNOWN ? 0 : sonde_code_is_device(outermost) ? 1
                                                                                        : -1;
    return abs(a->votes) == CLEAR ? ANSWERED : 0;
}

bool sonde_device_thread(const struct sonde_profile *profile, const uint8_t *code, const struct sonde_process *p,
                         uint32_t process, uint32_t lane)
{
    static const enum sonde_table tables[] = {SONDE_TABLE_SAMPLE, SONDE_TABLE_CALL};
    struct asked a = {.profile = profile, .code = code, .process = process};
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !a.votes; i++) {
        a.table = tables[i];
        sonde_trace_each(p, &(struct sonde_trace_stored){.table = a.table, .lane = lane}, ask, &a);
    }
    return a.votes > 0;
}

/* source.c - see source.h. */
#include "source.h"

#include <stdio.h>
#include <string.h>

#include "guest/memory.h"
#include "il.h"

enum { WORDS_MAX = 768,
       ROOM = 65536, /* of their text */
       WORD_MAX = 16384,
       EXTENSIONS_MAX = 16384,
       FEATURES_MAX = 256,
       DEVICES_MAX = 64 };

/* Options for clang, one behind the other. */
struct words {
    const char *word[WORDS_MAX + 1];
    uint32_t count;
    char text[ROOM];
    size_t used;
    bool full;
    bool newer; /* than clang knows: its headers do not tell what there is then */
};

static void add(struct words *w, const char *before, const char *word, size_t bytes, const char *behind)
{
    char *at = w->text + w->used;
    const size_t room = sizeof w->text - w->used;
    const int length = snprintf(at, room, "%s%.*s%s", before, (int)bytes, word, behind);
    w->full |= (size_t)length >= room || w->count == WORDS_MAX;
    if (w->full)
        return;
    w->word[w->count++] = at;
    w->used += (size_t)length + 1;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The next word, with quotes taken off, into `word`; where the rest begins. NULL: there is none. */
static const char *next_word(const char *at, char word[WORD_MAX])
{
    size_t length = 0;
    char quote = 0;
    at += strspn(at, " \t\r\n");
    if (!*at)
        return NULL;
    for (; *at && (quote || !strchr(" \t\r\n", *at)) && length < WORD_MAX - 1; at++) {
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '"' || *at == '\''))
            quote = *at;
        else if (*at == '\\' && (at[1] == '"' || at[1] == '\\' || at[1] == ' '))
            word[length++] = *++at;
        else
            word[length++] = *at;
    }
    word[length] = 0;
    return at;
}

/* The language: of what is newer than clang knows, the newest that it does, by the number that the program asks for. What else is new of it the device tells. */
static void add_standard(struct words *w, const char *word)
{
    unsigned minor = 0;
    char number[32];
    if (sscanf(word, "-cl-std=CL3.%u", &minor) != 1 || !minor) {
        add(w, "", word, strlen(word), "");
        return;
    }
    w->newer = true;
    snprintf(number, sizeof number, "%u", 300 + 10 * minor);
    add(w, "-cl-std=CL3.0", "", 0, "");
    add(w, "-U__OPENCL_C_VERSION__", "", 0, "");
    add(w, "-D__OPENCL_C_VERSION__=", number, strlen(number), "");
}

/* What clBuildProgram was given. False: there is one that is not known. */
static bool add_options(struct words *w, const char *options, bool *standard)
{
    char word[WORD_MAX];
    while ((options = next_word(options, word))) {
        const bool two = strcmp(word, "-D") == 0 || strcmp(word, "-I") == 0 || strcmp(word, "-U") == 0;
        if (begins(word, "-cl-std=")) {
            *standard = true;
            add_standard(w, word);
            continue;
        }
        if (begins(word, "-W") || strcmp(word, "-w") == 0 || begins(word, "-g") || begins(word, "-O"))
            continue; /* it was compiled once; as it is written, with lines */
        if (!begins(word, "-D") && !begins(word, "-I") && !begins(word, "-U") && !begins(word, "-cl-"))
            return false;
        add(w, "", word, strlen(word), "");
        if (!two)
            continue;
        if (!(options = next_word(options, word)))
            return false;
        add(w, "", word, strlen(word), "");
    }
    return true;
}

/* An extension that the device has: for clang, and as the name that a program asks for. */
static void add_extension(struct words *w, const char *name, size_t bytes)
{
    add(w, "-Xclang", "", 0, "");
    add(w, "-cl-ext=+", name, bytes, "");
    add(w, "-D", name, bytes, "=1");
}

/* What the device has, and nothing else. False: it says not all. */
static bool add_device(struct words *w, const cl_icd_dispatch *real, cl_device_id device)
{
    char all[EXTENSIONS_MAX], version[256];
    cl_name_version feature[FEATURES_MAX];
    unsigned major = 0, minor = 0;
    size_t bytes = 0;
    if (real->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof all, all, NULL) != CL_SUCCESS ||
        real->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL) != CL_SUCCESS || sscanf(version, "OpenCL %u.%u", &major, &minor) != 2)
        return false;
    snprintf(version, sizeof version, "%u", 100 * major + 10 * minor);
    add(w, "-D__OPENCL_VERSION__=", version, strlen(version), "");
    add(w, "-Xclang", "", 0, "");
    add(w, "-cl-ext=-all", "", 0, "");
    for (const char *at = all + strspn(all, " "); *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        add_extension(w, at, length);
        at += length;
    }
    if (major < 3 || real->clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, sizeof feature, feature, &bytes) != CL_SUCCESS)
        return major < 3;
    for (size_t i = 0; i < bytes / sizeof *feature; i++) {
        add(w, "-Xclang", "", 0, "");
        add(w, "-cl-ext=+", feature[i].name, strnlen(feature[i].name, sizeof feature[i].name), "");
        if (w->newer)
            add(w, "-D", feature[i].name, strnlen(feature[i].name, sizeof feature[i].name), "=1");
    }
    return true;
}

/* CL_PROGRAM_SOURCE or CL_PROGRAM_IL, in pages; NULL: it has none, as one that was linked, or made of a binary. */
static char *made_of(const cl_icd_dispatch *real, cl_program program, cl_program_info what, size_t *bytes)
{
    *bytes = 0;
    if (real->clGetProgramInfo(program, what, 0, NULL, bytes) != CL_SUCCESS || *bytes < 2)
        return NULL;
    char *all = sonde__pages_get(*bytes);
    if (!all || real->clGetProgramInfo(program, what, *bytes, all, NULL) == CL_SUCCESS)
        return all;
    sonde__pages_put(all, *bytes);
    return NULL;
}

static bool takes_bitcode(const cl_icd_dispatch *real, cl_device_id device)
{
    char all[EXTENSIONS_MAX];
    cl_uint bits = 0;
    real->clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, NULL);
    if (bits != 64 || real->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof all, all, NULL) != CL_SUCCESS)
        return false;
    const char *at = strstr(all, "cl_khr_spir");
    while (at && at[strlen("cl_khr_spir")] != ' ' && at[strlen("cl_khr_spir")])
        at = strstr(at + 1, "cl_khr_spir");
    return at != NULL;
}

bool sonde__cl_source_any(const cl_icd_dispatch *real, cl_program program)
{
    cl_device_id devices[DEVICES_MAX];
    size_t bytes = 0, text = 0, il = 0;
    bool any = false;
    real->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &text);
    if (text < 2)
        real->clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &il);
    if ((text < 2 && il < 2) || real->clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS)
        return false;
    for (size_t i = 0; i < bytes / sizeof *devices; i++)
        any = any || takes_bitcode(real, devices[i]);
    return any;
}

static enum sonde_value_missed compile(const cl_icd_dispatch *real, cl_device_id device, const char *options, const char *text, size_t bytes, struct sonde_child_made *out)
{
    bool standard = false;
    if (!sonde__clang_open())
        return SONDE_VALUE_MISSED_CLANG;
    struct words *w = sonde__pages_get(sizeof *w);
    if (!w)
        return SONDE_VALUE_MISSED_MEMORY;
    bool known = add_options(w, options, &standard) && add_device(w, real, device);
    if (!standard)
        add(w, "-cl-std=CL1.2", "", 0, ""); /* clBuildProgram's own default */
    known = known && !w->full && sonde__clang_compile(text, bytes, w->word, out);
    sonde__pages_put(w, sizeof *w);
    return known ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_COMPILE;
}

enum sonde_value_missed sonde__cl_source_compile(const cl_icd_dispatch *real, cl_program program, cl_device_id device, const char *options, struct sonde_child_made *out)
{
    size_t bytes = 0, il_bytes = 0;
    enum sonde_value_missed why = SONDE_VALUE_MISSED_BITCODE;
    if (strstr(options, "-cl-fast-relaxed-math") || strstr(options, "-cl-unsafe-math-optimizations"))
        return SONDE_VALUE_MISSED_ROUNDING;
    if (!takes_bitcode(real, device))
        return why;
    char *text = made_of(real, program, CL_PROGRAM_SOURCE, &bytes), *il = text ? NULL : made_of(real, program, CL_PROGRAM_IL, &il_bytes);
    if (text)
        why = compile(real, device, options, text, bytes - 1, out); /* without the NUL */
    else if (il)
        why = sonde__cl_il_translate(program, il, il_bytes, out);
    if (text)
        sonde__pages_put(text, bytes);
    if (il)
        sonde__pages_put(il, il_bytes);
    return why;
}

/* 0: it does not say. */
static uint32_t lanes_of(const cl_icd_dispatch *real, cl_kernel kernel, cl_device_id device)
{
    size_t group = 0, lanes = 0;
    if (real->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL) != CL_SUCCESS ||
        real->clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, &group, sizeof lanes, &lanes, NULL) != CL_SUCCESS)
        return 0;
    return (uint32_t)lanes;
}

void sonde__cl_source_lanes(const cl_icd_dispatch *real, cl_program program, cl_device_id device, struct sonde_llvm_lanes *out)
{
    enum { NAME_MAX_BYTES = 1024,
           KERNELS_MAX = sizeof out->of / sizeof *out->of };
    cl_kernel kernels[KERNELS_MAX];
    cl_uint count = 0;
    char name[NAME_MAX_BYTES];
    if (!real->clGetKernelSubGroupInfo || real->clCreateKernelsInProgram(program, KERNELS_MAX, kernels, &count) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count && i < KERNELS_MAX; i++) {
        size_t bytes = 0;
        char *copy = NULL;
        if (real->clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes) == CL_SUCCESS && (copy = sonde__memory_get(bytes))) {
            out->of[out->count].name = memcpy(copy, name, bytes);
            out->of[out->count++].count = lanes_of(real, kernels[i], device);
        }
        real->clReleaseKernel(kernels[i]);
    }
}

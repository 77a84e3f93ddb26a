/* spirv.c - see spirv.h. */
#include "spirv.h"

#include "base/compiler.h"
#include "llvm.h"

enum { MAGIC = 0x07230203,
       HEADER = 5, /* words */
       OP_SOURCE = 3,
       OP_CONSTANT_TRUE = 48, /* OpSpecConstantTrue and so on */
       OP_CONSTANT_FALSE = 49,
       OP_CONSTANT = 50,
       OP_FUNCTION = 54, /* what is looked for is in front of the first */
       OP_DECORATE = 71,
       DECORATION_NUMBER = 1, /* SpecId */
       OPENCL_C = 3,
       OPENCL_C_2 = 200000 };

static struct sonde_compiler translator;

bool sonde__spirv_open(void)
{
    return (translator.version || sonde_compiler_find("llvm-spirv", SONDE_LLVM_SPIRV_OLDEST, &translator)) && sonde__llvm_open(translator.llvm);
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

struct walk {
    const uint32_t *code;
    size_t words, at; /* where the instruction begins, */
    uint32_t length, opcode;
};

static struct walk begin(const void *code, size_t bytes)
{
    return (struct walk){.code = code, .words = bytes / sizeof(uint32_t), .at = 0, .length = HEADER};
}

/* The next instruction of those in front of functions. */
static bool next(struct walk *w)
{
    w->at += w->length;
    if (w->at >= w->words || w->code[0] != MAGIC)
        return false;
    w->length = w->code[w->at] >> 16;
    w->opcode = w->code[w->at] & 0xffff;
    return w->length && w->length <= w->words - w->at && w->opcode != OP_FUNCTION;
}

/* ---- specialization constants ------------------------------------------------------------------------------------ */

/* The one with this result. */
static bool set(uint32_t *code, size_t bytes, uint32_t result, uint64_t value, size_t size)
{
    for (struct walk w = begin(code, bytes); next(&w);) {
        uint32_t *at = code + w.at;
        if (w.opcode < OP_CONSTANT_TRUE || w.opcode > OP_CONSTANT || w.length < 3 || at[2] != result)
            continue;
        if (w.opcode != OP_CONSTANT) {
            *at = w.length << 16 | (value ? OP_CONSTANT_TRUE : OP_CONSTANT_FALSE);
            return size == 1;
        }
        const uint32_t literals = w.length - 3;
        for (uint32_t i = 0; i < literals && i < sizeof value / sizeof *at; i++)
            at[3 + i] = (uint32_t)(value >> 32 * i);
        return literals == (size + sizeof *at - 1) / sizeof *at;
    }
    return false;
}

bool sonde__spirv_specialize(void *code, size_t bytes, uint32_t number, uint64_t value, size_t size)
{
    bool any = false;
    for (struct walk w = begin(code, bytes); next(&w);) {
        const uint32_t *at = w.code + w.at;
        if (w.opcode != OP_DECORATE || w.length != 4 || at[2] != DECORATION_NUMBER || at[3] != number)
            continue;
        if (!set(code, bytes, at[1], value, size))
            return false;
        any = true;
    }
    return any;
}

/* ---- as bitcode ---------------------------------------------------------------------------------------------------- */

/* Runtimes have its builtin functions for pointers to global memory under the names of OpenCL C 1.2, for those to any memory under the names of 2.0. */
static bool is_old(const void *code, size_t bytes)
{
    for (struct walk w = begin(code, bytes); next(&w);)
        if (w.opcode == OP_SOURCE && w.length >= 3)
            return w.code[w.at + 1] == OPENCL_C && w.code[w.at + 2] < OPENCL_C_2;
    return false;
}

bool sonde__spirv_translate(const void *code, size_t bytes, struct sonde_child_made *out)
{
    /* Asked for "-", it would open a file of that name. */
    const char *const words[] = {translator.path, "-r", "--preserve-ocl-kernel-arg-type-metadata-through-string", is_old(code, bytes) ? "--spirv-target-env=CL1.2" : "--spirv-target-env=CL2.0", "-o", "-", "/dev/stdin", NULL};
    return sonde__child_run(words, code, bytes, out);
}

/* sass.h - machine code of NVIDIA's devices (sm_70 and newer), as `nvdisasm -c` prints it: instructions, the registers that each reads
 * and writes, and what it takes these for.
 *
 * Opcodes are not documented beyond their names (CUDA Binary Utilities, "Instruction Set Reference"). What is not known of one is taken
 * as the worst: it may write any register from its first one on.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_SASS_H
#define SONDE_ANALYZE_SYMBOLS_SASS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/map.h"
#include "base/vector.h"

#define SONDE__SASS_INSTRUCTION 16u /* bytes of one */
#define SONDE__SASS_REGISTERS   255u /* R0 to R254; RZ has none */

/* What the bits of a register are taken for. */
enum {
    SONDE__SASS_FLOAT = 1,
    SONDE__SASS_DOUBLE_LOW = 2,   /* the halves of a pair */
    SONDE__SASS_DOUBLE_HIGH = 4,
    SONDE__SASS_HALF = 8,         /* two of 16 bits */
    SONDE__SASS_BRAIN = 16,       /* two bfloat16 */
    SONDE__SASS_INTEGER = 32,
    SONDE__SASS_MAYBE = 64,       /* an integer, by what compilers also do to the bits of floats */
    SONDE__SASS_SIGNED = 128,
    SONDE__SASS_UNSIGNED = 256,
    SONDE__SASS_WIDE_LOW = 512,   /* the halves of an integer of 64 bits */
    SONDE__SASS_WIDE_HIGH = 1024,
    SONDE__SASS_ADDRESS = 2048,
    SONDE__SASS_CONSTANT = 4096,  /* no more than bits that stand in the code */
    SONDE__SASS_ANYTHING = 8192,
    SONDE__SASS_READ = 16384,     /* somebody reads it */
};

struct sonde__sass_register {
    uint8_t number;
    bool written;
    uint8_t copy;     /* those of one instruction with the same number hold the same bits; 0 none */
    uint16_t as;      /* SONDE__SASS_* */
};

/* Where it goes on; with a predicate, also to the next. */
enum sonde__sass_flow {
    SONDE__SASS_NEXT,
    SONDE__SASS_JUMP,     /* to `label` */
    SONDE__SASS_ALSO,     /* to `label`, and to the next */
    SONDE__SASS_ANYWHERE, /* to any label */
    SONDE__SASS_CALL,     /* to the function at `label`, and then to the next */
    SONDE__SASS_MEET,     /* threads wait for each other, and go on at the label of `barrier` */
    SONDE__SASS_END,
};

struct sonde__sass_instruction {
    uint32_t at;              /* bytes from the kernel's beginning */
    uint8_t guard;            /* the predicate under which it is executed: 2 + 2 * number, + 1 when it must be false; 0 always */
    uint8_t predicates;       /* that it may write: a bit each */
    uint8_t barrier;          /* of BSSY and BSYNC, from 1 on; else 0 */
    uint8_t flow;             /* enum sonde__sass_flow */
    uint8_t bytes;            /* of global memory that it reads or writes; 0 none */
    bool store;
    bool is_signed;           /* it says so: a load of elements that are smaller than a register */
    uint32_t label;           /* in labels; 0 none */
    uint32_t first, count;    /* of its registers: those that it reads come first */
};

struct sonde__sass_code { /* of a kernel, with what stands beside it; ready when zeroed */
    SONDE_VECTOR(struct sonde__sass_instruction) instructions;
    SONDE_VECTOR(struct sonde__sass_register) registers;
    struct sonde_intern labels;
    SONDE_VECTOR(uint32_t) places;    /* label - 1 -> its instruction; UINT32_MAX: not of this code */
    SONDE_VECTOR(uint32_t) functions; /* the first instruction of each that the kernel calls, in order */
    bool own;    /* what follows is of a routine of the compiler's own (division, roots), which takes floats apart: it says nothing of types */
    bool failed; /* no memory */
};

/* One line of what stands in the kernel's section. */
void sonde__sass_line(struct sonde__sass_code *code, const char *line);
void sonde__sass_fini(struct sonde__sass_code *code);

/* ---- types (slice.c) ---------------------------------------------------------------------------- */

struct sonde__sass_access { /* of global memory */
    uint32_t number;          /* of its instruction, from 0 */
    uint8_t bytes, element_bytes, type; /* enum sonde_element; BITS: not known, or several */
    bool store;
};
typedef void (*sonde__sass_fn)(void *user, const char *kernel, const struct sonde__sass_access *access);

/* All that stands in `text`, told access by access. 0 or SONDE_ENOMEM. */
int sonde__sass_accesses(FILE *text, sonde__sass_fn fn, void *user);

#endif

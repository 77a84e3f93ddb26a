/* llvm_kernel.h - between llvm.c, which reads and writes modules, llvm_find.c, which finds the accesses of a kernel, and llvm_put.c, which
 * puts in what looks at them.
 *
 * Threads: those of one module are one after the other.
 */
#ifndef SONDE_INSTRUMENT_LLVM_KERNEL_H
#define SONDE_INSTRUMENT_LLVM_KERNEL_H

#include <limits.h>
#include <string.h>

#include "llvm.h"
#include "llvm_calls.h"

#define ACCESSES_MAX   4096u /* of a kernel */
#define PARAMETERS_MAX 256u
#define NO_OPERAND     UINT_MAX

extern struct llvm sonde__llvm; /* of sonde__llvm_open */

struct name {
    const char *text;
    size_t bytes;
};

static inline struct name name_of(ref value)
{
    struct name n;
    n.text = sonde__llvm.GetValueName2(value, &n.bytes);
    return n;
}

static inline bool begins(struct name n, const char *with)
{
    return n.bytes >= strlen(with) && memcmp(n.text, with, strlen(with)) == 0;
}

static inline bool contains(struct name n, const char *part)
{
    return memmem(n.text, n.bytes, part, strlen(part)) != NULL;
}

/* Of the runtime's library: OpenCL C gives names of this kind to its own functions alone, and a program's are linked in any case or
 * its copy is refused. */
static inline bool is_builtin(struct name n)
{
    return begins(n, "_Z");
}

struct kernel {
    ref context, function, module;
    bool spir;                       /* address spaces are kept apart, and the runtime may execute several work-items at once */
    bool has_barrier;
    ref plain;                       /* its code, as it is, of other groups than those that are looked at; NULL: all are */
    struct sonde_llvm_kernel *out;
    uint8_t space[PARAMETERS_MAX];   /* of each parameter: an OpenCL address space */
    uint8_t integers[PARAMETERS_MAX]; /* what integers are to which it points: enum sonde_element */
    struct {
        ref instruction;
        bool is_operand;        /* what is read or written is its first operand, else itself */
        bool after;             /* it is there after the instruction, */
        bool in_memory;         /* at the address that is the value */
        unsigned address, offset; /* the operand that says where, and the one of how many of all its elements behind that, or NO_OPERAND */
        uint8_t grain;          /* what it writes lies at multiples of so many bytes */
        bool if_equal;          /* it writes only where its value is what it is compared with */
    } at[ACCESSES_MAX];
    struct sonde_llvm_access access[ACCESSES_MAX];
    uint32_t accesses, blocks;
    ref block[ACCESSES_MAX];         /* first access of each */
};

/* The blocks and accesses of a kernel that begins as zeros but for its first members, spaces and integers. False: some of its code cannot
 * be followed. */
bool sonde__llvm_find(struct kernel *k);
/* After that, of one that is not SPIR: does the runtime make the same of it when there is more in it? Learns has_barrier. */
bool sonde__llvm_may_grow(struct kernel *k);
/* The size of a number or a vector of numbers; 0: the type is neither. */
unsigned sonde__llvm_bits(ref type);
/* Puts in what kernel->out->plan says, once the kernel has its parameters more. False: no memory. */
bool sonde__llvm_put(struct kernel *k);

/* How many of those parameters come before marks: an area; then, of REMOTE, a table and a number. */
static inline uint32_t first_more(const struct sonde_llvm_kernel *out)
{
    return out->plan.what & SONDE_PLAN_REMOTE ? 3 : (out->plan.what & SONDE_PLAN_VALUES ? 1 : 0);
}

#endif

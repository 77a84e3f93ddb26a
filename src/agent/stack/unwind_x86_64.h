/* unwind_x86_64.h - what the walker knows about x86-64.
 *
 * A rule says how to get from a function's (pc, rsp, rbp) to its caller's. It
 * is packed into 64 bits so that the rule table can hold it without a lock:
 *
 *   bits 0-2   kind, enum sonde__rule_kind
 *   bits 3-4   rbp, enum sonde__rule_fp
 *   bits 5-12  offset added after a DEREF, signed, in units of 8
 *   bits 13-36 where rbp was saved (offset from the CFA, or from rbp), signed
 *   bits 37-63 the CFA's offset, signed
 *
 * The return address lies at CFA - 8 in every packed rule. What does not fit
 * is SLOW: the registers are then followed by the full description.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_X86_64_H
#define SONDE_AGENT_STACK_UNWIND_X86_64_H

#include <stdbool.h>
#include <stdint.h>

/* Tracked registers: the callee-saved ones, rsp apart, and the return address. */
enum {
    SONDE__RBX,
    SONDE__RBP,
    SONDE__R10,
    SONDE__R12,
    SONDE__R13,
    SONDE__R14,
    SONDE__R15,
    SONDE__RIP,
    SONDE__TRACKED
};
enum {
    SONDE__DWARF_RBP = 6,
    SONDE__DWARF_RSP = 7,
    SONDE__DWARF_RIP = 16,
};

/* Tracked index of a DWARF register; -1 when not followed. */
static inline int sonde__tracked(uint64_t dwarf)
{
    static const signed char index[17] = {-1, -1, -1, SONDE__RBX, -1, -1, SONDE__RBP, -1, -1, -1,
                                          SONDE__R10, -1, SONDE__R12, SONDE__R13, SONDE__R14,
                                          SONDE__R15, SONDE__RIP};
    return dwarf < 17 ? index[dwarf] : -1;
}

enum sonde__rule_kind {
    SONDE__RULE_NONE,      /* no description: guess */
    SONDE__RULE_SP,        /* CFA = rsp + offset */
    SONDE__RULE_FP,        /* CFA = rbp + offset */
    SONDE__RULE_FP_DEREF,  /* CFA = *(rbp + offset) + second offset: realigned stacks */
    SONDE__RULE_SP_DEREF,  /* CFA = *(rsp + offset) + second offset: hand-written code */
    SONDE__RULE_SIGNAL,    /* the kernel's signal frame: registers in the ucontext at rsp */
    SONDE__RULE_OUTERMOST, /* return address undefined */
    SONDE__RULE_SLOW,      /* needs other registers */
};

enum sonde__rule_fp {
    SONDE__FP_SAME,
    SONDE__FP_AT_CFA, /* saved at CFA + offset */
    SONDE__FP_AT_FP,  /* saved at rbp + offset */
};

static inline unsigned sonde__rule_kind(uint64_t rule)
{
    return rule & 7;
}
static inline unsigned sonde__rule_fp(uint64_t rule)
{
    return (rule >> 3) & 3;
}
static inline intptr_t sonde__rule_second(uint64_t rule)
{
    return (int8_t)(rule >> 5) * 8;
}
static inline intptr_t sonde__rule_fp_offset(uint64_t rule)
{
    return (int64_t)(rule << 27) >> 40;
}
static inline intptr_t sonde__rule_cfa_offset(uint64_t rule)
{
    return (int64_t)rule >> 37;
}

struct sonde__cfi;

/* The rule at `pc`, from the module's description; NONE without one. */
uint64_t sonde__rule_learn(uintptr_t pc);

#define SONDE__RED_ZONE 128 /* bytes below rsp that belong to the function */

/* Where the kernel's signal frame keeps the registers, from rsp. */
enum {
    SONDE__UC_RBP = 120,
    SONDE__UC_RSP = 160,
    SONDE__UC_RIP = 168,
};

/* Did the signal wait for the end of a system call? That leaves its return address in rcx; the address is of the call itself where it
 * begins anew. */
#define SONDE__IN_SYSTEM_CALL(context)                                                                       \
    ((context)->uc_mcontext.gregs[REG_RCX] - (context)->uc_mcontext.gregs[REG_RIP] == 0 ||                   \
     (context)->uc_mcontext.gregs[REG_RCX] - (context)->uc_mcontext.gregs[REG_RIP] == 2)

/* And did it end that one, as if it had been for the program? */
#define SONDE__INTERRUPTED(context)                                                                          \
    ((context)->uc_mcontext.gregs[REG_RCX] == (context)->uc_mcontext.gregs[REG_RIP] && (context)->uc_mcontext.gregs[REG_RAX] == -4 /* -EINTR */)

/* Where they are in a ucontext, as the kernel gives it to a handler. */
#define SONDE__PLACE_OF(context)                                                  \
    {(uintptr_t)(context)->uc_mcontext.gregs[REG_RIP],                            \
     (uintptr_t)(context)->uc_mcontext.gregs[REG_RSP],                            \
     (uintptr_t)(context)->uc_mcontext.gregs[REG_RBP]}

/* The calling place's registers, with a pc that the description fits. */
struct sonde__regs;
#define SONDE__REGS_HERE(regs)                                                     \
    __asm__ volatile("movq %%rbx, 0(%0)\n\tmovq %%rbp, 8(%0)\n\t"                  \
                     "movq %%r12, 24(%0)\n\tmovq %%r13, 32(%0)\n\t"                \
                     "movq %%r14, 40(%0)\n\tmovq %%r15, 48(%0)\n\t"                \
                     "leaq 0(%%rip), %%rax\n\tmovq %%rax, 56(%0)\n\t"              \
                     "movq %%rsp, 64(%0)"                                          \
                     :                                                             \
                     : "r"(regs)                                                   \
                     : "rax", "memory")
#define SONDE__REGS_HERE_KNOWN (0xffU & ~(1U << SONDE__R10))

static inline uintptr_t sonde__thread_pointer(void)
{
    uintptr_t tp;
    __asm__("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* Do the bytes before the return address `pc` form a call? Up to 7 are read. */
bool sonde__after_call(uintptr_t pc);

#endif

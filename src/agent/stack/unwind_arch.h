/* unwind_arch.h - picks the architecture's half of the walker.
 *
 * An architecture file gives: SONDE__TRACKED (registers that matter to call
 * frame information), their DWARF numbers, the packed form of a rule, the
 * registers at a place, the thread pointer, and how to know a call
 * instruction by the bytes before its return address.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_ARCH_H
#define SONDE_AGENT_STACK_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "unwind_x86_64.h"
#else
#error "the stack walker knows x86-64 only"
#endif

#endif

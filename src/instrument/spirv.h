/* spirv.h - SPIR-V, the language in which OpenCL takes programs that others have compiled, as LLVM bitcode, by the system's llvm-spirv.
 *
 * Words are of this machine's byte order, as runtimes hand them out. Numbers and layouts are those of the SPIR-V specification, 2.3 and 3.
 *
 * Threads: one at a time.
 */
#ifndef SONDE_INSTRUMENT_SPIRV_H
#define SONDE_INSTRUMENT_SPIRV_H

#include <stdint.h>

#include "child.h"

/* Find llvm-spirv along PATH, and an LLVM that reads what it writes, which becomes llvm.h's. False: one of them is not there. */
bool sonde__spirv_open(void);
/* Its specialization constants of this number become `value`, a number of so many bytes or (1 byte) whether it is true. False: there is none of
 * that size, or it is no SPIR-V. */
bool sonde__spirv_specialize(void *code, size_t bytes, uint32_t number, uint64_t value, size_t size);
/* For SPIR, with the builtin functions of the version of OpenCL C that it was made of. It waits for llvm-spirv. False: llvm-spirv refused it, or cannot
 * be started; nothing was made. */
bool sonde__spirv_translate(const void *code, size_t bytes, struct sonde_child_made *out);

#endif

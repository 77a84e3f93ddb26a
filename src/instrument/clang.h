/* clang.h - OpenCL C as LLVM bitcode, by the system's clang.
 *
 * For runtimes that hand out no bitcode of their own. clang is a process of its own, of which the program sees nothing (child.h).
 *
 * Threads: one at a time.
 */
#ifndef SONDE_INSTRUMENT_CLANG_H
#define SONDE_INSTRUMENT_CLANG_H

#include "child.h"

/* Find clang along PATH, and the LLVM of the same version, which becomes llvm.h's. False: one of them is not there. */
bool sonde__clang_open(void);
/* `text`, with these options (NULL: the end), for SPIR of 64 bits. It waits for clang. False: clang refused it, or cannot be started; nothing
 * was made. */
bool sonde__clang_compile(const char *text, size_t bytes, const char *const *options, struct sonde_child_made *out);

#endif

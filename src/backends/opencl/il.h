/* il.h - programs made of an intermediate language, which is SPIR-V (clCreateProgramWithIL): the constants that were set for them
 * (clSetProgramSpecializationConstant), and their LLVM bitcode.
 *
 * Threads: any; for sonde__cl_il_translate one at a time.
 */
#ifndef SONDE_OPENCL_IL_H
#define SONDE_OPENCL_IL_H

#include "instrument/child.h"
#include "opencl.h"

/* A program was made, perhaps at the handle of another that is gone. */
void sonde__cl_il_made(cl_program program);
/* It is about to be built with what was set for it so far: its kernels may be launched before that call returns. */
void sonde__cl_il_building(cl_program program);

/* `il`, which is changed, as the program was built from it. NONE: it was made. Where the program was built again with other constants, it is not
 * known which it has: Intel's runtime goes on with the first (2026.2.0), and another may refuse. */
enum sonde_value_missed sonde__cl_il_translate(cl_program program, void *il, size_t bytes, struct sonde_child_made *out);

#endif

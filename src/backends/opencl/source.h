/* source.h - the LLVM bitcode of a program whose runtime hands out none, made of what the program was made of.
 *
 * For runtimes that take SPIR (cl_khr_spir), which is LLVM bitcode: Intel's for CPUs. The program's text is compiled again, with its own
 * options, by the system's clang (instrument/clang.h), and with the extensions that the device says it has; SPIR-V is translated (il.h).
 *
 * Threads: one at a time.
 */
#ifndef SONDE_OPENCL_SOURCE_H
#define SONDE_OPENCL_SOURCE_H

#include "instrument/clang.h"
#include "instrument/llvm.h"
#include "opencl.h"

/* NONE: it was made, of its source or its SPIR-V. `options`: those of clBuildProgram. */
enum sonde_value_missed sonde__cl_source_compile(const cl_icd_dispatch *real, cl_program program, cl_device_id device, const char *options, struct sonde_child_made *out);
/* May it be made, for a device of the program? */
bool sonde__cl_source_any(const cl_icd_dispatch *real, cl_program program);

/* How many work-items of each kernel the runtime executes at once, where it says so. */
void sonde__cl_source_lanes(const cl_icd_dispatch *real, cl_program program, cl_device_id device, struct sonde_llvm_lanes *out);

#endif

/* compilers.c - findings about the compilers that --values calls for OpenCL programs (docs/values.md, "From source").
 *
 * Runtimes that hand out no LLVM bitcode of their programs take what these make: Intel's for CPUs. PoCL needs neither.
 */
#include "doctor.h"

#include "base/compiler.h"

/* `fedora` NULL: it has none with a version in its name. */
static void put(struct doctor *d, const char *name, unsigned oldest, const char *made_of, const char *debian, const char *fedora)
{
    struct sonde_compiler found;
    if (sonde_compiler_find(name, oldest, &found)) {
        doctor_put(d, name, DOCTOR_FINE, "%s", found.path);
        return;
    }
    doctor_put(d, name, DOCTOR_NOTE, "no %s-%u or newer with its libLLVM: with --values kernels made of %s stay plain where the runtime has no LLVM bitcode (Intel's)",
               name, oldest, made_of);
    if (fedora || access("/usr/bin/dnf", X_OK) != 0)
        doctor_package(d, debian, fedora);
}

void doctor_check_compilers(struct doctor *d)
{
    put(d, "clang", SONDE_CLANG_OLDEST, "source", "clang-15", "clang");
    put(d, "llvm-spirv", SONDE_LLVM_SPIRV_OLDEST, "SPIR-V", "llvm-spirv-15", NULL);
}

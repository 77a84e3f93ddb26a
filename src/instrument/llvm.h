/* llvm.h - LLVM bitcode with instrumented kernels, made by the LLVM that an OpenCL runtime itself uses, or, of SPIR that clang or llvm-spirv
 * made (clang.h, spirv.h), by theirs.
 *
 * Each kernel of the module gets more parameters, behind its own. Where counts and values are wanted, the address of its area (plan.h: counts,
 * values, owners), with as many parts as there may be threads of the runtime that execute work-items, and one more that the others share. Where accesses to
 * other memory are (SONDE_PLAN_REMOTE), the area, whose parts all share, a table (struct sonde_plan_shared), and a bit for each
 * of the first 64 parameters that points to memory of the host which is in no table.
 * Then, for each of the parameters through which it writes (SONDE_PLAN_SETS), where there are marks, a byte for each `grain` bytes behind the
 * parameter, and how many: what lies elsewhere is not marked.
 * Functions that are part of the runtime's library lose their bodies: the runtime links them again.
 *
 * SPIR keeps address spaces apart, and its runtime may execute several work-items at once (`together`): parts are then shared by all, and what
 * votes on guesses are samples (plan.h: the log), of which struct sonde_plan_guess has one bit each in its first word where the work-item
 * executed the access once; no votes but these count.
 *
 * LLVM is used through its C API, whose functions are looked up in the runtime's library and what it depends on: LLVM 15 or newer,
 * whose pointers have no types. LLVM's own memory is malloc's.
 *
 * Threads: any; each module is LLVM's own context. What is returned is never released.
 */
#ifndef SONDE_INSTRUMENT_LLVM_H
#define SONDE_INSTRUMENT_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/kinds.h>

#include "plan.h"

struct sonde_llvm_access {
    uint32_t block;
    uint16_t parameter;       /* of the kernel, from which the address comes, from 1; 0 not known, */
    bool several;             /* but one of them */
    uint8_t what, type;       /* enum sonde_access, enum sonde_element */
    uint8_t element_bytes, elements;
    bool has_values;
    bool has_line;            /* where it lies behind what the parameter points to is known */
    bool writes;
    uint32_t line;            /* of the source, in `file`, which is NUL-terminated; NULL: not known */
    const char *file;
};

#define SONDE_LLVM_SETS_MAX   16u
#define SONDE_LLVM_MARKS_MORE 8u /* behind the last mark there is room for so many */

struct sonde_llvm_kernel {
    char *name;
    enum sonde_value_missed why; /* it is not instrumented; NONE: it is, */
    bool needs_none;          /* or there is nothing to look at: it stays as it is */
    uint32_t parameters;      /* its own */
    struct sonde_plan plan;
    uint32_t parts;           /* of its area */
    struct sonde_llvm_access *accesses; /* NULL: they are not known; else they are, whether or not it is instrumented */
    bool writes_unknown;      /* some of them write, it is not known where */
    uint16_t set[SONDE_LLVM_SETS_MAX]; /* parameters from 1 */
    uint32_t sets;            /* so many, if marks are wanted */
    uint32_t grain;
    bool together;
    uint32_t every;           /* which work-groups are looked at (plan.h); 0: all */
    uint32_t lanes;           /* so many at once; 0: as the runtime likes */
};

struct sonde_llvm_lanes { /* of a program's kernels, as it is without what is put in */
    uint32_t count;
    struct {
        const char *name;
        uint32_t count;
    } of[1024];
};

struct sonde_llvm_module {
    void *bitcode;
    size_t bytes;
    struct sonde_llvm_kernel *kernels;
    uint32_t count;
};

/* Look LLVM up, once. `library`: of dlopen. False: it is not there, or too old. */
bool sonde__llvm_open(void *library);
/* `what`: SONDE_PLAN_SETS, or VALUES with what belongs to it (COUNTS, OWNERS), perhaps GUESSES, at some cost; or both. Or REMOTE, perhaps with CELLS.
 * `every`: of which work-groups, without SETS (plan.h): SONDE_PLAN_BLOCKS comes with it. `lanes`: of SPIR; may be NULL. The bitcode is changed. 0; SONDE_ENOMEM; SONDE_EFORMAT: LLVM does not read it, or refuses what was made of it. */
int sonde__llvm_rewrite(void *bitcode, size_t bytes, uint32_t what, uint32_t every, const struct sonde_llvm_lanes *lanes, struct sonde_llvm_module *out);

#endif

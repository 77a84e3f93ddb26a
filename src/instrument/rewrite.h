/* rewrite.h - PTX with an instrumented copy of each kernel.
 *
 * The module stays as it is, and NAME__sonde is added for each kernel NAME whose accesses can be followed. The module may be loaded
 * beside the program's own: the variables that a copy names are those to which it is given pointers. It takes parameters more, behind the kernel's own: of the
 * plans COUNTS and VALUES the address of the launch's area (plan.h), 128-byte aligned, of which each multiprocessor (%smid) has a part;
 * behind it, of SONDE_PLAN_SETS and where the kernel writes through pointers that are parameters, an array of struct
 * sonde_plan_set in the order of sonde_ptx_pointer.set; last, where it names variables (variables.h), an array of their addresses. It does what the kernel does, and adds to the area when a thread ends.
 *
 * Threads: any; the text is the caller's. Memory is from the kernel (guest/memory.h).
 */
#ifndef SONDE_INSTRUMENT_REWRITE_H
#define SONDE_INSTRUMENT_REWRITE_H

#include "plan.h"
#include "ptx.h"

struct sonde_ptx_text {
    char *text; /* NUL-terminated */
    size_t bytes; /* without the NUL */
    size_t room;
    bool spent;   /* there was no memory for all */
};

/* Why a kernel has no instrumented copy; NULL: it has. `why` is for a user: "it reads a texture". */
const char *sonde__ptx_plain(const struct sonde_ptx *p, const struct sonde_ptx_function *f);
static inline struct sonde_plan sonde__ptx_plan(const struct sonde_ptx_function *f, uint32_t what)
{
    return (struct sonde_plan){what, f->blocks, f->accesses};
}
/* The whole module anew. 0 or SONDE_ENOMEM; to be released in each case. */
int sonde__ptx_rewrite(const struct sonde_ptx *p, uint32_t plan, struct sonde_ptx_text *out);
void sonde__ptx_text_release(struct sonde_ptx_text *t);

#endif

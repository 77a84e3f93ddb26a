/* instructions.c - instructions of PTX that access no memory of the device.
 *
 * Source: PTX ISA 9.0, chapter 9, all of its names but those of which ptx.c looks at the modifiers, too. Of a name that is not here nothing is
 * known: a later version may have it, and access memory with it. prefetch, discard and applypriority are of caches; ldmatrix, stmatrix,
 * wgmma and mbarrier of shared memory; tcgen05 of that and of the tensor cores' own.
 */
#include "statement.h"

static const char *const names[] = {
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "applypriority",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "bra",
    "brev",
    "brkpt",
    "brx",
    "call",
    "clusterlaunchcontrol",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "exit",
    "fence",
    "fma",
    "fns",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "ldmatrix",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setmaxnreg",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sub",
    "subc",
    "szext",
    "tanh",
    "tcgen05",
    "testp",
    "trap",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wgmma",
    "xor",
}; /* in the order of their bytes */

/* As strcmp; a name that is the beginning of another comes first. */
static int compare(const struct sonde_ptx *p, struct sonde_ptx_span s, const char *name)
{
    const size_t bytes = strlen(name), least = s.bytes < bytes ? s.bytes : bytes;
    const int order = memcmp(p->text + s.at, name, least);
    return order ? order : (s.bytes > bytes) - (s.bytes < bytes);
}

bool sonde__ptx_needs_no_memory(const struct sonde_ptx *p, struct sonde_ptx_span name)
{
    size_t from = 0, to = sizeof names / sizeof *names;
    while (from < to) {
        const size_t at = (from + to) / 2;
        const int order = compare(p, name, names[at]);
        if (order == 0)
            return true;
        if (order < 0)
            to = at;
        else
            from = at + 1;
    }
    return false;
}

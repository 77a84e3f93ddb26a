/* flow.h - what a kernel in PTX needs of its surroundings: its parameters, from which of them the address of each access
 * comes, and which variables of its module it names.
 *
 * Registers are followed through the whole body at once, without the order of statements: one that may hold addresses that come
 * from two parameters, from memory or from arithmetic that is not understood, has no origin. A sum has that of the one
 * summand that has one: the other is an index.
 *
 * Threads: any; memory is from the kernel (guest/memory.h).
 */
#ifndef SONDE_INSTRUMENT_FLOW_H
#define SONDE_INSTRUMENT_FLOW_H

#include "ptx.h"
#include "variables.h"

struct sonde_ptx_origin {
    uint16_t parameter; /* from 1; 0: not known; SONDE_PTX_OF_VARIABLE, SONDE_PTX_OF_COMPILER */
    uint16_t offset;    /* of the pointer within it, in bytes */
};

#define SONDE_PTX_OF_VARIABLE UINT16_MAX       /* an address in variables of the module */
#define SONDE_PTX_OF_COMPILER (UINT16_MAX - 1) /* the same of those that the compiler has put there itself */

#define SONDE_PTX_POINTERS_MAX 64u

struct sonde_ptx_pointer { /* among a kernel's parameters, through which it accesses memory */
    struct sonde_ptx_origin origin;
    uint8_t grain; /* bytes of the smallest element that is written through it, 8 at the most; 0: none is */
    uint8_t set;   /* number among those through which is written, from 0 */
    bool reads;
    uint8_t loaded; /* bytes of the smallest element that is loaded through it; 0: none is */
    bool lines;    /* on which lines of its source the kernel writes through it is known, of some of these accesses at least, */
    uint32_t file, line; /* and it is this one (sonde__ptx_file); line 0: it is not known, or there are several */
};

struct sonde_ptx_flow {
    uint32_t parameters;              /* of the kernel */
    struct sonde_ptx_variables variables; /* of the module */
    struct sonde_ptx_origin *origins; /* of each of its accesses */
    uint8_t *pointer;                 /* of each access: its number in `pointers`, from 1; 0: it has no origin */
    struct sonde_ptx_pointer pointers[SONDE_PTX_POINTERS_MAX];
    uint32_t pointer_count;           /* UINT32_MAX: more than that */
    uint32_t sets;                    /* pointers through which is written */
    bool writes_unknown;              /* some access that writes has no origin */
    bool elsewhere;                   /* some access may be to shared or local memory, whose generic address the kernel has made */
    size_t room;
};

/* 0 or SONDE_ENOMEM; to be released in each case. */
int sonde__ptx_flow(const struct sonde_ptx *p, const struct sonde_ptx_function *f, struct sonde_ptx_flow *out);
void sonde__ptx_flow_release(struct sonde_ptx_flow *flow);
/* The name of a kernel's parameter, from 1; empty: there is no such. */
struct sonde_ptx_span sonde__ptx_parameter(const struct sonde_ptx *p, const struct sonde_ptx_function *f, uint32_t number);

#endif

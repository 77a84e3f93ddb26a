/* rewrite.h - PTX with an instrumented copy of each kernel.
 *
 * The module stays as it is, and NAME__sonde is added for each kernel NAME whose accesses can be followed: one module, so that its
 * variables, constants, textures and functions are the same for both. The copy takes one parameter more, behind the kernel's own: the
 * address of the launch's area of results, 128-byte aligned. It does what the kernel does, and adds to the area when a
 * thread ends.
 *
 * The area holds one part after the other, one for each multiprocessor (%smid from 0): a program adds or combines them. A part is
 * an array of 64-bit words, little-endian, 16-byte aligned:
 *   SONDE_PLAN_COUNTS: for each block of the function that has accesses (sonde_ptx_access.block) how many threads executed it, from 0. A
 *   predicated access is a block of its own, whose count is that of the threads for which the predicate held. Then a word that stays
 *   0 where their number is odd.
 *   SONDE_PLAN_VALUES: then, for each access in turn, struct sonde_ptx_values, which starts as sonde__ptx_values_none.
 *
 * Threads: any; the text is the caller's. Memory is from the kernel (guest/memory.h).
 */
#ifndef SONDE_INSTRUMENT_REWRITE_H
#define SONDE_INSTRUMENT_REWRITE_H

#include "ptx.h"

enum {
    SONDE_PLAN_COUNTS = 1,
    SONDE_PLAN_VALUES = 2,
};

/* Of all elements that an access read or wrote. Bits are the element's own, zero-extended. Numbers are signed integers, of whatever
 * type the access is, unless it is of floats: then the least and the most that is no NaN, as sonde__ptx_ordered has it. What was
 * never executed, or has no values here (an atomic, a copy, 16-byte elements), stays as it started; so do the numbers of NaNs alone. */
struct sonde_ptx_values {
    uint64_t any, all; /* bits: OR, AND */
    int64_t least, most;
};
extern const struct sonde_ptx_values sonde__ptx_values_none;

/* A float's bits (4 or 8 bytes of them) as an integer that is ordered as floats are, and back. */
static inline int64_t sonde__ptx_ordered(int64_t bits, unsigned bytes)
{
    return bytes == 8 ? bits ^ ((bits >> 63) & INT64_MAX) : (int32_t)bits ^ (((int32_t)bits >> 31) & INT32_MAX);
}

struct sonde_ptx_text {
    char *text; /* NUL-terminated */
    size_t bytes; /* without the NUL */
    size_t room;
    bool spent;   /* there was no memory for all */
};

/* Why a kernel has no instrumented copy; NULL: it has. `why` is for a user: "it reads a texture". */
const char *sonde__ptx_plain(const struct sonde_ptx *p, const struct sonde_ptx_function *f);
/* Bytes of a multiprocessor's part of the area of a launch of it. */
size_t sonde__ptx_area(const struct sonde_ptx_function *f, uint32_t plan);
/* A part as it starts. And of one that has been read: how many threads executed the access (by number within the function), and what
 * values they had. */
void sonde__ptx_area_start(const struct sonde_ptx_function *f, uint32_t plan, void *part);
uint64_t sonde__ptx_area_read(const struct sonde_ptx *p, const struct sonde_ptx_function *f, uint32_t plan, const void *part, uint32_t access,
                              struct sonde_ptx_values *values);
/* The whole module anew. 0 or SONDE_ENOMEM; to be released in each case. */
int sonde__ptx_rewrite(const struct sonde_ptx *p, uint32_t plan, struct sonde_ptx_text *out);
void sonde__ptx_text_release(struct sonde_ptx_text *t);

#endif

/* rewrite.h - PTX with an instrumented copy of each kernel.
 *
 * The module stays as it is, or loses its kernels, and NAME__sonde is added for each kernel NAME that has accesses, and whose accesses can be followed. The module may be loaded
 * beside the program's own: the variables that a copy names are those to which it is given pointers. It takes parameters more, behind
 * the kernel's own: of the plans COUNTS, VALUES and REMOTE the address of the launch's area (plan.h), 128-byte aligned, of which each
 * multiprocessor (%smid) has a part; behind it, of SONDE_PLAN_SETS and where the kernel writes through pointers that are parameters, an
 * array of struct sonde_plan_set in the order of sonde_ptx_pointer.set; of SONDE_PLAN_REMOTE, where accesses are looked at, struct
 * sonde_plan_remote; last, where it names variables (variables.h), an array of their
 * addresses. It does what the kernel does, and adds to the area when a thread ends. A thread keeps
 * the least and the most of an access, which say whether all are one value or zero, and of doubles OR, which says how many bits of the
 * mantissas are needed. Those of elements of up to four bytes are at the beginning of their place, as struct sonde_ptx_narrow.
 *
 * SONDE_PLAN_GUESSES, with COUNTS and VALUES: in front of the area's parts, sonde__ptx_front bytes, there is a struct sonde_ptx_guess for
 * each access. Threads that do not see a guess leave samples of what they saw; whoever leaves the last sample votes, and
 * publishes. Threads that see it compare: of an access that a thread executes once it looks when it ends, of others when it begins. No
 * thread waits for another.
 *
 * Threads: any; the text is the caller's. Memory is from the kernel (guest/memory.h).
 */
#ifndef SONDE_INSTRUMENT_REWRITE_H
#define SONDE_INSTRUMENT_REWRITE_H

#include <sonde/kinds.h>

#include "flow.h"
#include "plan.h"

struct sonde_ptx_text {
    char *text; /* NUL-terminated */
    size_t bytes; /* without the NUL */
    size_t room;
    bool spent;   /* there was no memory for all */
};

/* Why a kernel has no instrumented copy. NONE: it has, unless it has no access to memory of the device, which needs none. */
enum sonde_value_missed sonde__ptx_plain(const struct sonde_ptx *p, const struct sonde_ptx_function *f);
/* SONDE_PLAN_REMOTE: is access `k` of the kernel looked at by its address? How many are. The others are to what a parameter points to, or to variables. */
bool sonde__ptx_is_checked(const struct sonde_ptx_flow *flow, uint32_t k);
uint32_t sonde__ptx_checked(const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow);
/* Is struct sonde_plan_remote among its copy's parameters? */
bool sonde__ptx_takes_table(const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, uint32_t what);
static inline struct sonde_plan sonde__ptx_plan(const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, uint32_t what)
{
    return (struct sonde_plan){what, f->blocks, f->accesses, what & SONDE_PLAN_REMOTE ? sonde__ptx_checked(f, flow) : 0};
}

/* The least and the most of elements of up to four bytes, as struct sonde_plan_values has them; where nothing was executed INT32_MAX and
 * INT32_MIN. Of floats, the least is INT32_MIN where one was NaN, and so is the most where all were. */
struct sonde_ptx_narrow {
    int32_t least, most;
    float low, high; /* of floats: what is between these, both included, is in `least` and `most`; at first INFINITY and -INFINITY */
};
/* A part as it starts; and of one that has been read, how many threads executed access `k` of the function, and what values it had. But
 * for doubles, whose `any` is exact, `any` and `all` are those of the least and the most: equal where all elements are, and NaN's bits are
 * in `any` where there was one. NaNs alone are one value. Where a float was NaN, the least is not known: INT32_MIN. */
void sonde__ptx_start(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_plan *plan, void *part);
uint64_t sonde__ptx_found(const struct sonde_ptx_access *a, const struct sonde_plan *plan, const void *part, uint32_t k, struct sonde_plan_values *values);

#define SONDE_PTX_GUESSES 16u /* accesses of a kernel that are guessed about: the first ones */
#define SONDE_PTX_SAMPLES 32u
#define SONDE_PTX_HIDDEN  0x5bd1e995c2b2ae3dll /* what may be 0 is published as its XOR with this: 0 is not there yet */

/* What a line of an access is of: nothing, as its index is not known; integers, and how they are extended; floats. */
enum sonde_ptx_line {
    SONDE_PTX_LINE_NONE,
    SONDE_PTX_LINE_SIGNED,
    SONDE_PTX_LINE_UNSIGNED,
    SONDE_PTX_LINE_FLOAT,
    SONDE_PTX_LINE_DOUBLE,
};

/* The value's words and the line's are written once: a thread that reads some of them and not others has no guess. A value or a number
 * that is SONDE_PTX_HIDDEN itself is never guessed. */
struct sonde_ptx_guess {
    uint64_t word;           /* flags << 32 | value, of up to 4 bytes; 0: it does not stand. Flags: 1 << number of the access, if it has a
                              * line 65537 << that */
    uint64_t wide;           /* value of 8 bytes, hidden */
    uint32_t taken, written; /* samples: places, which may be more than there are; those that are there */
    uint32_t line, shift;    /* the host's: enum sonde_ptx_line; 64 - bits of an element */
    uint64_t unused[4];
    struct {
        uint64_t bits, index; /* the index hidden */
    } sample[SONDE_PTX_SAMPLES];
    int64_t slope, offset;    /* as struct sonde_plan_guess has them, hidden; far from what is read before they are there, so that no cache
                               * has them as they were */
    uint64_t more[6];
};

/* Bytes of all guesses, a multiple of 128; how they start. */
size_t sonde__ptx_front(const struct sonde_ptx_function *f, uint32_t what);
void sonde__ptx_front_start(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, void *front);
/* Of what has been read: how many other values of an access more than one sample has, at the most (sonde__plan_others). And the guesses of
 * the area of turn 1, 2, …, as they start: those that stand, each with the other value of its turn if it has so many; the rest as at first. */
unsigned sonde__ptx_front_more(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const void *seen);
void sonde__ptx_front_again(const struct sonde_ptx *p, const struct sonde_ptx_function *f, const struct sonde_ptx_flow *flow, const void *seen, unsigned turn,
                            void *front);
/* What has been read of an access's guess. */
struct sonde_ptx_guessed {
    bool stands;
    uint64_t value;
    int64_t slope, offset; /* slope 0: no line */
    uint64_t samples, equal, lined; /* elements that were kept, and those of them that the guess is right about */
};
struct sonde_ptx_guessed sonde__ptx_guessed(const struct sonde_ptx_access *a, const struct sonde_ptx_guess *guess);

/* The whole module, and copies of all its kernels; or of one kernel (`only`, not NULL) the copy, and of the module what is no kernel. `every`: of VALUES, which
 * blocks are looked at (plan.h). 0 or SONDE_ENOMEM; to be released in each case. */
int sonde__ptx_rewrite(const struct sonde_ptx *p, const struct sonde_ptx_function *only, uint32_t plan, uint32_t every, struct sonde_ptx_text *out);
void sonde__ptx_text_release(struct sonde_ptx_text *t);

#endif

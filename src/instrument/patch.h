/* patch.h - what patches in machine code find, and where they leave it. For the host and for the device (patch.cu).
 *
 * Compute Sanitizer has a function called before each access to global memory. The function adds to a table of the context: slots that
 * are found by the access and the object, in as many parts as there are groups of multiprocessors, so that few of them meet. The
 * table starts as zeros and all in it only grows, so it is read while kernels run, and again.
 *
 * Which object: the memory that the program has allocated, as ranges in the order of their addresses. What lies in none
 * has object 0: variables of modules, memory of the device's own heap.
 *
 * The types of machine code are not known: values are bits. An access of 16 bytes is two elements of 8: equal floats, zeros and equal
 * doubles stay equal so. So that the least and the most can be told when the type is known (analyze/symbols/types.c), they are kept of
 * elements whose first bit is 0 and of those whose first bit is 1 by themselves, as numbers without a sign: integers of either kind
 * and floats are each in order there, one of them backwards. Elements of 8 bytes may be two of 4: their halves are kept, too.
 *
 * Frequent values and lines are guessed, one guess for all parts: warps leave samples, whoever leaves the last one has its warp vote, and
 * later warps compare and count in their part. Again for each type that the elements may have: bits, as lines of integers and of floats,
 * and all of that of the halves of elements of 8 bytes. A line is by the index from where the object begins. Nobody waits for another: a
 * word that is not there yet is 0, and what may be 0 is published as its XOR with SONDE_PATCH_HIDDEN (as in rewrite.h).
 */
#ifndef SONDE_INSTRUMENT_PATCH_H
#define SONDE_INSTRUMENT_PATCH_H

#include <stdint.h>

#define SONDE_PATCH_PARTS  32u          /* parts of the table, */
#define SONDE_PATCH_SLOTS  16384u       /* slots of each, a power of two, */
#define SONDE_PATCH_PROBES 64u          /* of which so many are tried */
#define SONDE_PATCH_GUESSES 16384u      /* of accesses and objects, a power of two; of which so many are tried, too */
#define SONDE_PATCH_SAMPLES 32u
#define SONDE_PATCH_LINED  24u          /* of them are on a line, or more, for it to stand */
#define SONDE_PATCH_HIDDEN 0x5bd1e995c2b2ae3dull
#define SONDE_PATCH_ACCESS "SondeAccess" /* the functions: of loads and stores, */
#define SONDE_PATCH_ASYNC  "SondeAsync"  /* and of copies to shared memory that go on beside the thread (LDGSTS) */
#define SONDE_PATCH_REMOTE       "SondeRemote" /* the same where only accesses to other memory count, */
#define SONDE_PATCH_REMOTE_ASYNC "SondeRemoteAsync"
#define SONDE_PATCH_BULK_LOAD    "SondeBulkLoad" /* and copies in bulk from global memory, to it, and those that add to it */
#define SONDE_PATCH_BULK_STORE   "SondeBulkStore"
#define SONDE_PATCH_BULK_ATOMIC  "SondeBulkAtomic"
#define SONDE_PATCH_COUNTS 4096u        /* slots of each part that count accesses to other memory, a power of two */
#define SONDE_PATCH_MARK   0x50deu        /* what they are given has it above the address, */
#define SONDE_PATCH_MARKED 48             /* from this bit on: a graph may give them anything */

enum { /* bits of sonde_patch_slot.code above the program counter */
       SONDE_PATCH_STORE = 52,
       SONDE_PATCH_BYTES = 56, /* of an element */
};

enum { /* sonde_patch_count.code has there instead of SONDE_PATCH_STORE, and the bytes of an access, not of an element */
       SONDE_PATCH_LOADS,
       SONDE_PATCH_STORES,
       SONDE_PATCH_ATOMICS,
       SONDE_PATCH_COPIES,
       SONDE_PATCH_WHAT = 7, /* all of it */
       SONDE_PATCH_GROUP = 24, /* sonde_patch_count.who has sonde_patch_launch.group from this bit of the object's number on */
};

enum { /* as in plan.h */
       SONDE_PATCH_CELL_LOADS,
       SONDE_PATCH_CELL_STORES,
       SONDE_PATCH_CELL_ATOMICS,
       SONDE_PATCH_CELL_KINDS,
       SONDE_PATCH_CELL_STEP = 64,
};

enum { /* what an element may be as guessed; the lines in this order in sonde_patch_guess.line */
       SONDE_PATCH_EQUAL,
       SONDE_PATCH_ON_INTEGERS,
       SONDE_PATCH_ON_REALS,
       SONDE_PATCH_WAYS,
};
enum { /* sonde_patch_guess.flags */
       SONDE_PATCH_STANDS = 1,
       SONDE_PATCH_HAS_LINE = 2, /* << 2 * half + line */
};

enum { /* sonde_patch_slot.guess */
       SONDE_PATCH_READY = 1u << 30, /* it stands */
       SONDE_PATCH_UNGUESSED = SONDE_PATCH_READY - 1, /* there is no room for it */
};

struct sonde_patch_ends8 {
    uint64_t most, least; /* the complement of the least, so that both only grow */
};
struct sonde_patch_ends4 {
    uint32_t most, least;
};

struct sonde_patch_slot {
    uint64_t tag;      /* never 0: of who and where */
    uint64_t code;     /* program counter, SONDE_PATCH_*; 0: still being made */
    uint64_t who;      /* operation << 32 | object */
    uint64_t elements;
    uint64_t any;      /* OR of all elements, */
    uint64_t gone;     /* and of their complements */
    struct sonde_patch_ends8 whole[2]; /* by the first bit, of elements of 8 bytes, */
    struct sonde_patch_ends4 part[2];  /* and of their halves; of smaller elements themselves */
    uint32_t guess;    /* the number of its guess from 1 on, SONDE_PATCH_READY; or SONDE_PATCH_UNGUESSED; 0: not known yet */
    uint32_t unused;
    uint64_t unchecked; /* elements that came before the guess stood; of the others so many were as guessed, */
    uint64_t matching[2][SONDE_PATCH_WAYS]; /* themselves, and halves of elements of 8 bytes */
};

struct sonde_patch_line {
    uint64_t slope, offset; /* hidden; integers in two's complement, or doubles */
};
/* What it takes to compare comes first. All starts as zeros and is written once. */
struct sonde_patch_guess {
    uint64_t flags;    /* 0: it does not stand */
    uint64_t value[2]; /* hidden; of elements, and of their halves */
    uint64_t tag;      /* as that of its slots */
    struct sonde_patch_line line[2][SONDE_PATCH_WAYS - 1]; /* of integers, of floats */
    uint32_t taken, written; /* samples: places, which may be more than there are; those that are there */
    uint64_t more[3];
    struct {
        uint64_t bits, index; /* the index hidden; of an object that is not known 0 */
    } sample[SONDE_PATCH_SAMPLES];
};

struct sonde_patch_range { /* of memory: an object */
    uint64_t first, end;
    uint32_t object, cells; /* as in struct sonde_plan_remote_range */
};

struct sonde_patch_table {
    struct sonde_patch_slot slots[SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS];
    struct sonde_patch_guess guesses[SONDE_PATCH_GUESSES];
    uint64_t lost;      /* accesses of a warp for which there was no slot */
    uint64_t unguessed; /* slots for which there was no guess */
};

/* How often threads accessed other memory by an instruction. */
struct sonde_patch_count {
    uint64_t tag, code, who; /* as in struct sonde_patch_slot */
    uint64_t accesses;
};
struct sonde_patch_counts {
    struct sonde_patch_count slots[SONDE_PATCH_PARTS * SONDE_PATCH_COUNTS];
    uint64_t lost; /* accesses of a warp for which there was no slot */
};

struct sonde_patch_launch { /* what the patches are given: of an operation */
    uint64_t table, ranges; /* their addresses on the device */
    uint32_t range_count, operation;
    uint32_t group, unused;
    uint64_t cells;            /* the address of all of them, as in struct sonde_plan_remote */
    uint64_t home, home_bytes; /* where only accesses to other memory count: a stretch without any, in which most of the device's own memory is */
};

/* Where the guess with this tag is, at the k-th place that is tried. */
#define SONDE_PATCH_GUESS_AT(tag, k) ((uint32_t)(((tag) >> 1) + (k)) % SONDE_PATCH_GUESSES)

#ifndef __CUDACC__
#include <stdbool.h>
#include <stddef.h>

/* Sorts ranges by address. Of two that overlap the later one gives way, so that none do; how many are left. */
uint32_t sonde__patch_sort(struct sonde_patch_range *ranges, uint32_t count);

/* One access of an operation to one object, from all parts. */
struct sonde_patch_seen {
    uint64_t tag;
    uint64_t pc;
    uint32_t operation, object;
    bool store;
    uint8_t bytes;
    uint32_t row, bits_row, guess_row; /* the caller's */
    uint64_t elements, any, all;
    int64_t least, most;    /* as signed integers */
    struct sonde_patch_extent {
        uint64_t least, most; /* least above most: none */
    } whole[2], half[2];      /* by the first bit: of the elements, and of halves of elements of 8 bytes */
    uint64_t unchecked;
    struct sonde_patch_guessed { /* of the elements, and of their halves; `checked` 0: no guess stands */
        uint64_t checked, matching[SONDE_PATCH_WAYS];
        uint64_t value;
        struct sonde_patch_line line[SONDE_PATCH_WAYS - 1]; /* not hidden; slope 0: none */
    } guessed[2];
};

struct sonde_patch_all { /* all 0: none */
    struct sonde_patch_seen *seen;
    uint32_t count, room;
    uint32_t *by_tag, mask; /* place in `seen` plus one */
};

/* Adds up the parts of a table that was read. Accesses keep their place; what was added up before is replaced. False: no memory. */
bool sonde__patch_sum(struct sonde_patch_all *all, const struct sonde_patch_table *table);
void sonde__patch_release(struct sonde_patch_all *all);
#endif

#endif

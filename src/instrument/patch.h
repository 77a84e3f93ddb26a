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
 */
#ifndef SONDE_INSTRUMENT_PATCH_H
#define SONDE_INSTRUMENT_PATCH_H

#include <stdint.h>

#define SONDE_PATCH_PARTS  32u          /* parts of the table, */
#define SONDE_PATCH_SLOTS  16384u       /* slots of each, a power of two, */
#define SONDE_PATCH_PROBES 64u          /* of which so many are tried */
#define SONDE_PATCH_ACCESS "SondeAccess" /* the functions: of loads and stores, */
#define SONDE_PATCH_ASYNC  "SondeAsync"  /* and of copies to shared memory that go on beside the thread (LDGSTS) */
#define SONDE_PATCH_MARK   0x50deu        /* what they are given has it above the address, */
#define SONDE_PATCH_MARKED 48             /* from this bit on: a graph may give them anything */

enum { /* bits of sonde_patch_slot.code above the program counter */
       SONDE_PATCH_STORE = 52,
       SONDE_PATCH_BYTES = 56, /* of an element */
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
};

struct sonde_patch_range { /* of memory: an object */
    uint64_t first, end;
    uint32_t object, unused;
};

struct sonde_patch_table {
    struct sonde_patch_slot slots[SONDE_PATCH_PARTS * SONDE_PATCH_SLOTS];
    uint64_t lost; /* accesses of a warp for which there was no slot */
};

struct sonde_patch_launch { /* what the patches are given: of an operation */
    uint64_t table, ranges; /* their addresses on the device */
    uint32_t range_count, operation;
};

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
    uint32_t row, bits_row; /* the caller's */
    uint64_t elements, any, all;
    int64_t least, most;    /* as signed integers */
    struct sonde_patch_extent {
        uint64_t least, most; /* least above most: none */
    } whole[2], half[2];      /* by the first bit: of the elements, and of halves of elements of 8 bytes */
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

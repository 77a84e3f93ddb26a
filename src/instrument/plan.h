/* plan.h - what an instrumented copy of a kernel finds, and where it leaves it: the same for all engines.
 *
 * The copy adds to an area of memory, whose address is a parameter more, behind the kernel's own. The area holds one part after
 * the other, so that threads far apart from each other do not meet: a program adds or combines the parts. A part is an array of
 * 64-bit words, little-endian, 16-byte aligned:
 *   SONDE_PLAN_COUNTS: for each block of the kernel that has accesses how many threads executed it, from 0. A predicated access is a
 *   block of its own, whose count is that of the threads for which the predicate held. Then a word that stays 0 where their number is odd.
 *   SONDE_PLAN_VALUES: then, for each access in turn, struct sonde_plan_values, which starts as sonde__plan_none.
 *   SONDE_PLAN_OWNERS: last the thread that owns the part, 0 while none does: nobody else adds to it.
 *   SONDE_PLAN_GUESSES: in front of that, for each access in turn, struct sonde_plan_found. Behind all parts (of PTX in front of them, and
 *   another: rewrite.h), for each access, struct sonde_plan_guess: the value, and the line, that the first threads to execute it saw
 *   most. Later threads count how often that is right: what is counted is exact, whoever guessed.
 *
 *   SONDE_PLAN_BLOCKS: in front of the owner, struct sonde_plan_groups: who launches does not know how many blocks there are (OpenCL's runtime decides).
 *
 *   SONDE_PLAN_REMOTE: behind the counts, for each access that is looked at by its address, in their order, SONDE_PLAN_REMOTE_SLOTS words: how many
 *   threads accessed memory of each slot (struct sonde_plan_remote).
 *   Of OpenCL's kernels all accesses are, and the table is struct sonde_plan_shared.
 *   SONDE_PLAN_CELLS: no more in a part. Each thread adds the bytes of its access to the cells of memory that it covers: words of another array, which the
 *   table of memory names (enum sonde_cell_accesses). Accesses through parameters look into the table for that, too.
 *
 * An access may have several frequent values. What those who voted saw stays there, and the host finds in it what else several of them
 * saw: each of these is the guess of an area of its own, which stands from the beginning, and the launches that guess take turns. In a
 * launch one value of an access is counted, as ever.
 *
 * Of a grid's blocks one of each `every` that follow each other may be looked at (0, 1: all are): the others execute the kernel's own code, which only
 * marks (SONDE_PLAN_SETS). Blocks are numbered with x first. Of the last ones, if they are fewer, one is looked at, too. Which one is said by a
 * hash of what number of `every` blocks they are, so that no row or column of a grid is left out: with h = (number + 1) * MIX modulo 2^32,
 * h ^= h >> 15, h *= MIX_TOO, h ^= h >> 13 it is the one at h * (how many they are) / 2^32.
 *
 * Threads: any.
 */
#ifndef SONDE_INSTRUMENT_PLAN_H
#define SONDE_INSTRUMENT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/kinds.h>

enum {
    SONDE_PLAN_COUNTS = 1,
    SONDE_PLAN_VALUES = 2,
    SONDE_PLAN_SETS = 4,
    SONDE_PLAN_OWNERS = 8,
    SONDE_PLAN_GUESSES = 16,
    SONDE_PLAN_REMOTE = 32,
    SONDE_PLAN_BLOCKS = 64,
    SONDE_PLAN_CELLS = 128, /* with REMOTE: which bytes of an allocation accesses are to */
};

#define SONDE_PLAN_MIX     2654435761u
#define SONDE_PLAN_MIX_TOO 2246822519u
static inline uint64_t sonde__plan_looked_at(uint64_t blocks, uint32_t every)
{
    return every > 1 ? blocks / every + (blocks % every != 0) : blocks;
}

struct sonde_plan { /* of a kernel */
    uint32_t what;             /* SONDE_PLAN_* */
    uint32_t blocks, accesses;
    uint32_t checked;          /* accesses that are looked at by their address: SONDE_PLAN_REMOTE */
};

/* Of all elements that an access read or wrote. Bits are the element's own, zero-extended. Numbers are signed integers, of whatever
 * type the access is, unless it is of floats: then the least and the most that is no NaN, as sonde__plan_ordered has it. What was
 * never executed, or has no values here (an atomic, a copy, 16-byte elements), stays as it started; so do the numbers of NaNs alone. */
struct sonde_plan_values {
    uint64_t any, all; /* bits: OR, AND */
    int64_t least, most;
};
extern const struct sonde_plan_values sonde__plan_none;

#define SONDE_PLAN_VOTES      32 /* after so many threads a guess stands, */
#define SONDE_PLAN_LINE_VOTES 8  /* a line only with so many more votes for it than against it */
#define SONDE_PLAN_LOG        48
#define SONDE_PLAN_COMMON     4 /* values of an access that are counted: that of the vote, and others */
#define SONDE_PLAN_PATIENCE   8 /* launches: then others are counted, though the guess about some access does not stand */

struct sonde_plan_guess { /* starts as zeros */
    uint64_t lock;        /* of the rest, until the guess stands */
    uint64_t votes;       /* of threads so far */
    uint64_t value;       /* bits of an element */
    int64_t slope, offset; /* of the line that three elements lie on or more, by their index from where the kernel's parameter points:
                            * integers, or doubles' bits; slope 0: no line */
    int64_t for_value, for_line; /* votes for them, less those against */
    uint64_t last_index, last_number, seen;
    uint64_t first, second, third; /* indices of the two points that the line goes through; was there another on it? */
    uint64_t logged;
    struct {
        uint64_t bits, index;
    } log[SONDE_PLAN_LOG]; /* of threads that executed the access once, before the guess stood */
    uint64_t sample[SONDE_PLAN_VOTES]; /* bits that votes were for */
};
#define SONDE_PLAN_SAMPLE_WORD 110 /* `sample` */
_Static_assert(offsetof(struct sonde_plan_guess, sample) == 8 * SONDE_PLAN_SAMPLE_WORD, "instrument/llvm_guess.h has it");
struct sonde_plan_groups { /* starts as zeros */
    uint64_t looked_at, all; /* blocks that were; and those out of which they were chosen */
};
struct sonde_plan_found { /* starts as zeros */
    uint64_t unchecked;    /* executions by threads that began before the guess stood, logged or not, */
    uint64_t equal, lined; /* and of the other threads' elements */
};

/* Of so many samples, those that are not `known` and that more than one is of: the commonest first, of equal ones that which came first.
 * How many; the rest of `others` is left alone. */
unsigned sonde__plan_others(const uint64_t *samples, unsigned count, uint64_t known, uint64_t others[SONDE_PLAN_COMMON - 1]);
/* How many there are of an access: 0 while no guess stands. And its guess in the area of turn 1, 2, … as that starts: the same line; one of
 * the others, or where there are not so many the same value. */
unsigned sonde__plan_more(const struct sonde_plan_guess *seen);
struct sonde_plan_guess sonde__plan_again(const struct sonde_plan_guess *seen, unsigned turn);

/* Does an element with these bits, so many bytes of them, lie on the line? By the arithmetic of kernels' copies. */
bool sonde__plan_lined(int64_t slope, int64_t offset, bool real, unsigned bytes, uint64_t bits, uint64_t index);

/* A float's bits (4 or 8 bytes of them) as an integer that is ordered as floats are, and back. */
static inline int64_t sonde__plan_ordered(int64_t bits, unsigned bytes)
{
    return bytes == 8 ? bits ^ ((bits >> 63) & INT64_MAX) : (int32_t)bits ^ (((int32_t)bits >> 31) & INT32_MAX);
}

/* Bytes of a part, a multiple of 128, and of its counts; of all that is in front of the values, of what was found, and of the owner. */
size_t sonde__plan_part(const struct sonde_plan *p);
size_t sonde__plan_counts(const struct sonde_plan *p);
size_t sonde__plan_values_at(const struct sonde_plan *p);
size_t sonde__plan_found_at(const struct sonde_plan *p);
size_t sonde__plan_groups_at(const struct sonde_plan *p);
size_t sonde__plan_owner_at(const struct sonde_plan *p);
/* A part as it starts. And of one that has been read: how many threads executed the block, what values the access had. */
void sonde__plan_start(const struct sonde_plan *p, void *part);
uint64_t sonde__plan_read(const struct sonde_plan *p, const void *part, uint32_t block, uint32_t access, struct sonde_plan_values *values);
struct sonde_plan_found sonde__plan_found(const struct sonde_plan *p, const void *part, uint32_t access);

/* SONDE_PLAN_SETS: for each pointer among the parameters through which the kernel writes, the memory of which is kept what is
 * written through it: a byte for each `grain` bytes, which becomes 1. What is written elsewhere is not marked. */
struct sonde_plan_set {
    uint64_t address, bytes; /* the address 16-byte aligned; 0 bytes: nothing is kept */
    uint64_t marks;          /* where they are; 16-byte aligned, sonde__plan_marks(bytes, grain) of them */
};
static inline uint64_t sonde__plan_marks(uint64_t bytes, unsigned grain)
{
    return (bytes / grain + 32) / 16 * 16; /* an access of 32 bytes may begin with the last one */
}

/* SONDE_PLAN_REMOTE: memory that is not the kernel's own device's. An address that lies in no range is not counted. Several ranges may have one
 * slot: ranges are addresses, which come and go, slots are what is told apart. */
#define SONDE_PLAN_REMOTE_SLOTS  32u
#define SONDE_PLAN_REMOTE_RANGES 64u /* a power of two: they are searched by halves */
struct sonde_plan_remote {
    uint64_t home, home_bytes;  /* a stretch without ranges, in which most accesses are expected: they need no search */
    uint64_t begin, bytes;      /* of all ranges; 0 bytes: there is none */
    uint64_t step;              /* of the search: half of `room`, in bytes of ranges; below one range: there is nothing to halve */
    uint64_t cells;             /* address of the array of all cells: SONDE_PLAN_CELLS */
    struct sonde_plan_remote_range {
        uint64_t begin, end; /* behind the last one: UINT64_MAX */
        uint64_t next;       /* where the next one begins */
        uint32_t slot;
        uint32_t cells;      /* SONDE_PLAN_CELLS: number of the first cell, a multiple of SONDE_PLAN_CELL_STEP, | binary logarithm of a cell's bytes; 0: none */
    } range[SONDE_PLAN_REMOTE_RANGES];
};
/* The same for OpenCL, where memory may have no place of its own: then it is kept for each four bytes of it which owner's kernels, or operations, wrote there
 * last, a byte each, which kernels read and write. Owners are numbered, 0 being nobody. A range's `slot` says for each of them what is counted, if it is that
 * one's: SONDE_PLAN_REMOTE_SLOTS: nothing. */
#define SONDE_PLAN_SHARED_OWNERS 16u
#define SONDE_PLAN_SHARED_RANGES 512u
#define SONDE_PLAN_SHARED_SHIFT  2u
#define SONDE_PLAN_SHARED_SYSTEM 31u /* the slot of memory of the host that nobody allocated as shared, which a parameter points to */
struct sonde_plan_shared {
    uint64_t begin, bytes; /* of all ranges */
    uint64_t ranges, own;  /* how many; the owner that the kernel's device is */
    uint64_t cells;        /* address of the array of all cells: SONDE_PLAN_CELLS */
    struct sonde_plan_shared_range { /* in the order of their addresses */
        uint64_t begin, bytes;
        uint64_t writers; /* address of the first byte; 0: the memory has a place of its own, and slot[0] is its owner's */
        uint8_t slot[SONDE_PLAN_SHARED_OWNERS];
        uint32_t cells[SONDE_PLAN_SHARED_OWNERS]; /* SONDE_PLAN_CELLS: as in struct sonde_plan_remote_range, of each owner */
    } range[SONDE_PLAN_SHARED_RANGES];
};

/* A cell is a word of each enum sonde_cell_accesses, one behind the other: bytes. */
#define SONDE_PLAN_CELL_STEP  64u
#define SONDE_PLAN_CELL_LEAST 2u /* a cell's bytes are at the least 1 << this */
static inline enum sonde_cell_accesses sonde__plan_cell_kind(enum sonde_access op)
{
    return op == SONDE_ACCESS_STORE ? SONDE_CELL_STORES : (op == SONDE_ACCESS_LOAD || op == SONDE_ACCESS_COPY ? SONDE_CELL_LOADS : SONDE_CELL_ATOMICS);
}
/* A table of `count` ranges in the order of their addresses, of which begin, end and slot are there; `home` and what is between them follow. */
void sonde__plan_remote_close(struct sonde_plan_remote *t, uint32_t count);
/* Of a part that has been read. */
uint64_t sonde__plan_remote(const struct sonde_plan *p, const void *part, uint32_t number, uint32_t slot);

#endif

/* compare.h - kernels in PTX, for any device: what an operation may write is copied before it, and compared after it; what it
 * wrote is hashed, and compared with what was found to be like it.
 *
 * SONDE_PTX_COPY (now, then, pieces, marks, mark_pieces: 64 bits each): `pieces` of 16 bytes from `now` to `then`; so many of `marks`
 * become 0. All are 16-byte aligned.
 *
 * SONDE_PTX_COMPARE (now, then, from, to, marks: 64 bits; grain: 32; sums: 64): bytes `from` to `to` behind `now` and `then`, both 8-byte
 * aligned. `marks`: 0 (all of them were written), or where there is a byte for each 2^grain bytes behind `now`, 1 where they were
 * written (SONDE_PLAN_SETS). Adds to *sums, struct sonde_ptx_sums. An element lies at a multiple of its size behind `now`; it counts
 * when all of its bytes were written.
 *
 * SONDE_PTX_MARK (marks, count, from, width, row, rows, slice, slices: 64 bits each): of `count` bytes of marks those become 1 that lie in
 * `rows` of `width` bytes, each `row` behind the one before, in `slices` of such rows, each `slice` behind the one before; the first
 * begins at `from`, which may be negative. What lies elsewhere is not marked.
 *
 * SONDE_PTX_DIGEST (one, other, bytes, sums, told, ticket: 64 bits each): of `bytes` from `one` on, 8-byte aligned. `other` 0: a hash,
 * two words; else how many words differ from those there, and 0. sums: struct sonde_ptx_told on the device, all 0, and so it is left;
 * told: another that the host sees, to which the ticket comes last.
 *
 * All: any one-dimensional grid, of blocks of whole warps.
 */
#ifndef SONDE_INSTRUMENT_COMPARE_H
#define SONDE_INSTRUMENT_COMPARE_H

#include <stdint.h>

#define SONDE_PTX_COPY    "sonde__copy"
#define SONDE_PTX_COMPARE "sonde__compare"
#define SONDE_PTX_MARK    "sonde__mark"
#define SONDE_PTX_DIGEST  "sonde__digest"

struct sonde_ptx_sums {
    uint64_t operations, bytes;         /* launches, to - from */
    uint64_t elements[4], unchanged[4]; /* of 1, 2, 4 and 8 bytes */
};

struct sonde_ptx_told {
    uint64_t word[2], ticket, unused;
};

extern const char sonde__ptx_compare[]; /* NUL-terminated */

#endif

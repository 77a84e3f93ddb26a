/* cells.h - where in an object accesses to other memory are (--comm-elements): which words of an array of a device each object has, and what became of them. For all
 * backends whose instrumented kernels add to such an array (instrument/plan.h); each brings its memory.
 *
 * Threads: one at a time for each array, but for what says else.
 */
#ifndef SONDE_BACKENDS_CELLS_H
#define SONDE_BACKENDS_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/backend.h>

#define SONDE_CELLS_ARRAYS 256u

struct sonde_cell {
    uint64_t bytes[SONDE_CELL_KINDS];
};

struct sonde_cells { /* of what kernels of one device access; ready when zeroed, without room */
    uint32_t device;    /* sonde_device_add's */
    uint32_t used, room; /* cells */
    struct sonde_cell *told; /* as they were when they were told; NULL: not yet */
    uint32_t arrays;
    struct sonde_cells_array { /* of objects of one site and size; alone: of one object, which has names */
        uint32_t object, owner, cells; /* the last as in struct sonde_plan_remote_range */
        uint32_t count, row;
        uint64_t bytes;
        bool alone;
        bool lost; /* rows of it had no room */
    } array[SONDE_CELLS_ARRAYS];
};

/* As many as an array should have room for; 0: nobody asked for any. Any thread. */
uint32_t sonde__cells_room(void);
static inline uint64_t sonde__cells_bytes(uint32_t cells)
{
    return cells * (uint64_t)sizeof(struct sonde_cell);
}

/* The cells of a whole object that lies in the memory of `owner` (0: the host's), as struct sonde_plan_remote_range has them; what is there stays. 0: there is no room, which
 * is said. */
uint32_t sonde__cells_of(struct sonde_cells *cells, uint32_t object, uint32_t owner, uint64_t bytes);
/* Of some object no elements are counted: it is said. Any thread. */
void sonde__cells_missing(void);

/* What was added to the first `arrays` since they were told becomes rows. `now`: as they are, in pages (guest/memory.h) for all that there is room for, which are the array's own
 * from then on. */
void sonde__cells_tell(struct sonde_cells *cells, uint32_t arrays, struct sonde_cell *now);

#endif

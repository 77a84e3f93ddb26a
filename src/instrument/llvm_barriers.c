/* llvm_barriers.c - kernels of which PoCL would make something else, were there more in them (llvm_kernel.h).
 *
 * Where a barrier stands in a branch, and more than one way leads from it to what all work-items execute again, PoCL (3.1) takes the first work-item's way
 * for that of all if what follows has branches, which what is put around an access has. Back edges are no such ways: it has barriers of its own in loops.
 */
#include "guest/map.h"
#include "guest/memory.h"
#include "llvm_kernel.h"

enum { BLOCKS_MAX = 1 << 14,
       NONE = -1 };

struct graph {
    struct block {
        ref at, end;               /* its terminator */
        uint32_t last;             /* when all that it leads to had been seen, depth first; 0: it is not reached */
        bool barrier, access, ways; /* ways: more than one leads out of an access at its end */
    } block[BLOCKS_MAX];
    uint32_t count, time;
    struct sonde_map by_ref;
    struct sonde_map_entry entries[4 * BLOCKS_MAX];
    bool behind[BLOCKS_MAX], around[BLOCKS_MAX]; /* is it reached from the barrier; without it? */
    struct {
        uint32_t block, way;
    } stack[BLOCKS_MAX];
};

static bool is_barrier(ref instruction)
{
    const ref called = sonde__llvm.GetInstructionOpcode(instruction) == CALL ? sonde__llvm.GetCalledValue(instruction) : NULL;
    const struct name name = called && sonde__llvm.IsAFunction(called) ? name_of(called) : (struct name){"", 0};
    return contains(name, "barrier") || contains(name, "work_group") || contains(name, "wait_group");
}

/* False: there are too many; whether it has a barrier is known nonetheless. */
static bool list_blocks(struct kernel *k, struct graph *g)
{
    uint32_t access = 0;
    sonde__map_lend(&g->by_ref, g->entries, 4 * BLOCKS_MAX);
    bool fits = true;
    for (ref b = sonde__llvm.GetFirstBasicBlock(k->function); b; b = sonde__llvm.GetNextBasicBlock(b)) {
        fits &= g->count < BLOCKS_MAX;
        struct block *block = &g->block[fits ? g->count : BLOCKS_MAX - 1]; /* the last one is whatever does not fit */
        block->at = b;
        block->end = sonde__llvm.GetBasicBlockTerminator(b);
        for (ref i = sonde__llvm.GetFirstInstruction(b); i; i = sonde__llvm.GetNextInstruction(i)) {
            block->barrier |= is_barrier(i);
            for (; access < k->accesses && k->at[access].instruction == i; access++) {
                block->access = true;
                block->ways |= k->at[access].if_equal;
            }
        }
        k->has_barrier |= block->barrier;
        if (fits)
            sonde__map_add(&g->by_ref, NULL, (uintptr_t)b, g->count++);
    }
    return fits;
}

static unsigned ways_of(const struct graph *g, uint32_t b)
{
    return g->block[b].end ? sonde__llvm.GetNumSuccessors(g->block[b].end) : 0;
}

static uint32_t way_of(const struct graph *g, uint32_t b, unsigned i)
{
    return (uint32_t)*sonde__map_find(&g->by_ref, (uintptr_t)sonde__llvm.GetSuccessor(g->block[b].end, i));
}

/* The same but for back edges: NONE. */
static int64_t forth(const struct graph *g, uint32_t b, unsigned i)
{
    const uint32_t to = way_of(g, b, i);
    return g->block[to].last < g->block[b].last ? (int64_t)to : NONE;
}

static void number_blocks(struct graph *g)
{
    bool *seen = g->behind;
    uint32_t deep = 1;
    g->stack[0].block = g->stack[0].way = 0;
    seen[0] = true;
    while (deep) {
        const uint32_t b = g->stack[deep - 1].block;
        if (g->stack[deep - 1].way == ways_of(g, b)) {
            g->block[b].last = ++g->time;
            deep--;
            continue;
        }
        const uint32_t to = way_of(g, b, g->stack[deep - 1].way++);
        if (!seen[to]) {
            seen[to] = true;
            g->stack[deep].block = to;
            g->stack[deep++].way = 0;
        }
    }
}

/* Those that are reached from `from`, itself among them, if not through `without`. */
static void reach(struct graph *g, uint32_t from, uint32_t without, bool *reached)
{
    uint32_t left = 0;
    memset(reached, 0, g->count * sizeof *reached);
    if (from == without)
        return;
    reached[from] = true;
    g->stack[left++].block = from;
    while (left) {
        const uint32_t b = g->stack[--left].block;
        for (unsigned i = 0; i < ways_of(g, b); i++) {
            const int64_t to = forth(g, b, i);
            if (to != NONE && to != without && !reached[to]) {
                reached[to] = true;
                g->stack[left++].block = (uint32_t)to;
            }
        }
    }
}

static bool is_safe(struct graph *g, uint32_t barrier)
{
    uint32_t ways = 0;
    bool accesses = false;
    reach(g, barrier, BLOCKS_MAX, g->behind);
    reach(g, 0, barrier, g->around);
    for (uint32_t b = 0; b < g->count; b++) {
        const bool only = g->behind[b] && !g->around[b];
        accesses |= g->behind[b] && g->around[b] && g->block[b].access;
        for (unsigned i = 0; only && i < ways_of(g, b); i++) {
            const int64_t to = forth(g, b, i);
            ways += to != NONE && g->around[to] ? 1 + g->block[b].ways : 0;
        }
    }
    return !accesses || ways < 2;
}

bool sonde__llvm_may_grow(struct kernel *k)
{
    struct graph *g = sonde__pages_get(sizeof *g);
    bool safe = g && (list_blocks(k, g) || !k->has_barrier);
    if (safe && k->has_barrier) {
        number_blocks(g);
        for (uint32_t b = 0; b < g->count && safe; b++)
            safe = !g->block[b].barrier || !g->block[b].last || is_safe(g, b);
    }
    if (g)
        sonde__pages_put(g, sizeof *g);
    return safe;
}

/* unwind_trails.c - see unwind_trails.h. */
#include "agent/unwind_trails.h"

uint32_t sonde__trail_new(struct sonde_trails *t)
{
    if (t->used == t->blocks * SONDE_TRAILS_PER_BLOCK && !t->full) {
        struct sonde_trail *block = t->blocks < SONDE_TRAILS_BLOCKS ? t->more() : NULL;
        t->full = !block;
        if (block)
            t->block[t->blocks++] = block;
        for (uint32_t i = 0; block && i < SONDE_TRAILS_PER_BLOCK; i++)
            block[i].count = block[i].next = 0;
    }
    if (t->used < t->blocks * SONDE_TRAILS_PER_BLOCK)
        return ++t->used;
    if (!t->used)
        return 0;
    t->turn = t->turn % t->used + 1;
    return t->turn;
}

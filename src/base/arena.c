/* arena.c - a bump allocator over blocks of growing size. */
#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct sonde_arena_block {
    struct sonde_arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

enum { FIRST_BLOCK = 16384 };
enum { LARGEST_BLOCK = 1 << 22 };

void sonde_arena_fini(struct sonde_arena *arena)
{
    while (arena->blocks) {
        struct sonde_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

static struct sonde_arena_block *add_block(struct sonde_arena *arena, size_t bytes)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < bytes)
        size = bytes;
    struct sonde_arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *sonde_arena_alloc(struct sonde_arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > (size_t)-1 / 2)
        return NULL;
    bytes = (bytes + align - 1) & ~(align - 1);
    struct sonde_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < bytes)
        block = add_block(arena, bytes);
    if (!block)
        return NULL;
    void *memory = block->data + block->used;
    block->used += bytes;
    return memory;
}

char *sonde_arena_copy(struct sonde_arena *arena, const char *bytes, size_t length)
{
    char *copy = sonde_arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

/* vector.c - growth by doubling. */
#include "vector.h"

#include <stdint.h>

void *sonde__vector_grow(void *items, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted > SIZE_MAX / size)
        return NULL;
    void *moved = realloc(items, wanted * size);
    if (moved)
        *capacity = wanted;
    return moved;
}

/* vector.h - arrays that grow.
 *
 *     SONDE_VECTOR(struct point) points = {0};
 *     if (sonde_vector_push(&points, (struct point){1, 2}))
 *         return SONDE_ENOMEM;
 *     ... points.items[i], i < points.count ...
 *     sonde_vector_fini(&points);
 */
#ifndef SONDE_BASE_VECTOR_H
#define SONDE_BASE_VECTOR_H

#include <stddef.h>
#include <stdlib.h>

#include <sonde/error.h>

#define SONDE_VECTOR(type) struct { type *items; size_t count, capacity; }

/* Room for one more item of `size` bytes: the (possibly moved) memory, or NULL with nothing changed. */
void *sonde__vector_grow(void *items, size_t *capacity, size_t size);

/* Append one item; 0 or SONDE_ENOMEM. `vector` is evaluated more than once. */
#define sonde_vector_push(vector, ...)                                               \
    (sonde__vector_room((void **)&(vector)->items, (vector)->count, &(vector)->capacity, \
                        sizeof *(vector)->items)                                     \
         ? ((vector)->items[(vector)->count++] = (__VA_ARGS__), 0)                   \
         : SONDE_ENOMEM)

#define sonde_vector_fini(vector) \
    (free((vector)->items), (vector)->items = NULL, (vector)->count = (vector)->capacity = 0)

static inline int sonde__vector_room(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return 1;
    void *moved = sonde__vector_grow(*items, capacity, size);
    if (moved)
        *items = moved;
    return moved != NULL;
}

#endif

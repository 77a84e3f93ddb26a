/* nearest.h - "did you mean": the known word that is nearest to what the user typed.
 *
 *     struct sonde_nearest nearest = {.word = typed};
 *     for (...) sonde_nearest_try(&nearest, known[i]);
 *     if (*nearest.known) ...
 */
#ifndef SONDE_BASE_NEAREST_H
#define SONDE_BASE_NEAREST_H

#include <stddef.h>

struct sonde_nearest {
    const char *word;
    char known[64]; /* stays "" when none is near */
    size_t distance;
};
void sonde_nearest_try(struct sonde_nearest *nearest, const char *known);

#endif

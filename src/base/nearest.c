/* nearest.c - "did you mean": the known word that is nearest to what the user typed.
 *
 * The distance is that of optimal string alignment (Damerau and Levenshtein, each
 * pair of letters edited once): letters left out, too many, wrong, or exchanged
 * with the next. Small and capital letters are the same; a beginning of two
 * letters or more counts as one mistake.
 */
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Rows are those of the matrix for word[0..i): the last, the one before, and the one being filled. */
static size_t distance(const char *word, size_t n, const char *known, size_t m)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same(word[i - 1], known[j - 1]));
            if (i > 1 && j > 1 && same(word[i - 1], known[j - 2]) && same(word[i - 2], known[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

void sonde_nearest_try(struct sonde_nearest *nearest, const char *known)
{
    const size_t n = strlen(nearest->word), m = strlen(known), longer = n > m ? n : m;
    if (n == 0 || longer > LONGEST)
        return;
    const bool begins = n >= 2 && n < m && strncmp(nearest->word, known, n) == 0;
    const size_t d = begins ? 1 : distance(nearest->word, n, known, m);
    if (d > (longer + 1) / 3 || (*nearest->known && d >= nearest->distance))
        return;
    memcpy(nearest->known, known, m + 1);
    nearest->distance = d;
}

/* digits.c - see digits.h. viewer/src/transport/digits.ts reads them. */
#include "digits.h"

enum {
    BASE = 91,    /* the characters from # to }, but ! for <: 91 * 91 is more than 2^13 */
    PAIR_BITS = 13,
    ALONE_BITS = 6, /* fit in one */
};

static void put_digit(struct view_digits *d, uint32_t value)
{
    const char c = (char)('#' + value);
    if (d->used == sizeof d->text) {
        sonde_out_bytes(d->out, d->text, d->used);
        d->used = 0;
    }
    d->text[d->used++] = c == '<' ? '!' : c;
}

static void put_pair(struct view_digits *d)
{
    const uint32_t value = d->bits & ((1u << PAIR_BITS) - 1);
    put_digit(d, value % BASE);
    put_digit(d, value / BASE);
}

void view_digits_put(void *digits, const void *bytes, size_t size)
{
    struct view_digits *d = digits;
    const unsigned char *from = bytes;
    for (size_t i = 0; i < size; i++) {
        d->bits |= (uint32_t)from[i] << d->count;
        d->count += 8;
        if (d->count < PAIR_BITS)
            continue;
        put_pair(d);
        d->bits >>= PAIR_BITS;
        d->count -= PAIR_BITS;
    }
}

/* So many bits are left that the number of bytes is known by the number of digits: fewer than 8 of the last ones are none of theirs. */
void view_digits_end(struct view_digits *d)
{
    if (d->count > ALONE_BITS)
        put_pair(d);
    else if (d->count)
        put_digit(d, d->bits);
    sonde_out_bytes(d->out, d->text, d->used);
    *d = (struct view_digits){.out = d->out};
}

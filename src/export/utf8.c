/* utf8.c - see utf8.h. */
#include "utf8.h"

#include <stdbool.h>

static bool in(unsigned char byte, unsigned char low, unsigned char high)
{
    return byte >= low && byte <= high;
}

size_t sonde_utf8_length(const char *s)
{
    const unsigned char *b = (const unsigned char *)s;
    if (in(b[0], 0x01, 0x7f))
        return 1;
    if (in(b[0], 0xc2, 0xdf))
        return in(b[1], 0x80, 0xbf) ? 2 : 0;
    if (in(b[0], 0xe0, 0xef)) {
        unsigned char low = b[0] == 0xe0 ? 0xa0 : 0x80, high = b[0] == 0xed ? 0x9f : 0xbf;
        return in(b[1], low, high) && in(b[2], 0x80, 0xbf) ? 3 : 0;
    }
    if (in(b[0], 0xf0, 0xf4)) {
        unsigned char low = b[0] == 0xf0 ? 0x90 : 0x80, high = b[0] == 0xf4 ? 0x8f : 0xbf;
        return in(b[1], low, high) && in(b[2], 0x80, 0xbf) && in(b[3], 0x80, 0xbf) ? 4 : 0;
    }
    return 0;
}

const char *sonde_utf8_clean(const char *s, struct sonde_text *room)
{
    const char *at = s;
    size_t      length;
    while ((length = sonde_utf8_length(at)) != 0)
        at += length;
    if (!*at)
        return s;
    room->length = 0;
    sonde_text_add(room, "");
    for (at = s; *at; at += length ? length : 1) {
        length = sonde_utf8_length(at);
        sonde_text_add_bytes(room, length ? at : "\xef\xbf\xbd", length ? length : 3);
    }
    return sonde_text_get(room);
}

/* utf8.c - see utf8.h. */
#include "utf8.h"

#include <stdbool.h>

static bool follows(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t sonde_utf8_decode(const char *s, uint32_t *point)
{
    const unsigned char *b = (const unsigned char *)s;
    uint32_t value = b[0];
    size_t length = 1;
    if (b[0] >= 0x80) {
        static const struct {
            unsigned char lead, bits;
            uint32_t least;
        } forms[] = {
            {0xc2, 0x1f, 0x80},
            {0xe0, 0x0f, 0x800},
            {0xf0, 0x07, 0x10000},
        };
        size_t form = b[0] >= 0xf0 ? 2 : (b[0] >= 0xe0 ? 1 : 0);
        if (b[0] < forms[form].lead || b[0] > 0xf4)
            return 0;
        value &= forms[form].bits;
        for (; length < form + 2 && follows(b[length]); length++)
            value = value << 6 | (b[length] & 0x3fu);
        bool surrogate = value >= 0xd800 && value < 0xe000;
        if (length != form + 2 || value < forms[form].least || value > 0x10ffff || surrogate)
            return 0;
    }
    if (point)
        *point = value;
    return b[0] ? length : 0;
}

const char *sonde_utf8_clean(const char *s, struct sonde_text *room)
{
    const char *at = s;
    size_t length;
    while ((length = sonde_utf8_decode(at, NULL)) != 0)
        at += length;
    if (!*at)
        return s;
    room->length = 0;
    sonde_text_add_bytes(room, s, (size_t)(at - s));
    for (; *at; at += length ? length : 1) {
        length = sonde_utf8_decode(at, NULL);
        sonde_text_add_bytes(room, length ? at : "\xef\xbf\xbd", length ? length : 3);
    }
    return sonde_text_get(room);
}

/* rewrite_text.c - text that grows, of which copies are made (rewrite_copy.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "guest/memory.h"
#include "rewrite_copy.h"

#define FIRST_ROOM 65536u

static bool has_room(struct sonde_ptx_text *t, size_t bytes)
{
    size_t room = t->room ? t->room : FIRST_ROOM;
    while (room - t->bytes <= bytes)
        room *= 2;
    if (room == t->room || t->spent)
        return !t->spent;
    char *larger = sonde__pages_get(room);
    if (!larger) {
        t->spent = true;
        return false;
    }
    if (t->text)
        memcpy(larger, t->text, t->bytes);
    sonde__pages_put(t->text, t->room);
    t->text = larger;
    t->room = room;
    return true;
}

void sonde__ptx_put(struct sonde_ptx_text *t, const char *from, size_t bytes)
{
    if (!has_room(t, bytes))
        return;
    memcpy(t->text + t->bytes, from, bytes);
    t->bytes += bytes;
    t->text[t->bytes] = 0;
}

void sonde__ptx_say(struct sonde_ptx_text *t, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    const int bytes = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    put(t, line, (size_t)bytes < sizeof line ? (size_t)bytes : sizeof line - 1);
}

void sonde__ptx_text_release(struct sonde_ptx_text *t)
{
    sonde__pages_put(t->text, t->room);
    *t = (struct sonde_ptx_text){0};
}

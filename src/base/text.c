/* text.c - string builder and column counting. The width ranges are those of
 * Unicode's EastAsianWidth.txt (W and F) and of the general categories Mn and
 * Me, reduced to the blocks that names of functions, files and devices use. */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

void sonde_text_fini(struct sonde_text *text)
{
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

static bool reserve(struct sonde_text *text, size_t more)
{
    if (text->failed || more < text->capacity - text->length)
        return !text->failed;
    size_t wanted = text->capacity ? text->capacity : 64;
    while (wanted - text->length <= more)
        wanted *= 2;
    char *moved = realloc(text->bytes, wanted);
    if (!moved) {
        text->failed = true;
        return false;
    }
    text->bytes = moved;
    text->capacity = wanted;
    return true;
}

void sonde_text_add_bytes(struct sonde_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void sonde_text_add(struct sonde_text *text, const char *string)
{
    sonde_text_add_bytes(text, string, strlen(string));
}

void sonde_text_format(struct sonde_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(text, (size_t)length))
        return;
    va_start(args, format);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

const char *sonde_text_get(const struct sonde_text *text)
{
    return text->bytes ? text->bytes : "";
}

/* Decode one character; a broken byte counts as one character of one byte. */
static size_t decode(const char *s, uint32_t *point)
{
    size_t length = sonde_utf8_decode(s, point);
    if (length)
        return length;
    *point = 0xfffd;
    return 1;
}

static size_t columns_of(uint32_t point)
{
    /* clang-format off */
    static const struct { uint32_t first, last; unsigned char columns; } ranges[] = {
        {0x0000, 0x001f, 0}, {0x007f, 0x007f, 0}, {0x0300, 0x036f, 0}, {0x0483, 0x0489, 0},
        {0x0591, 0x05bd, 0}, {0x1100, 0x115f, 2}, {0x1ab0, 0x1aff, 0}, {0x1dc0, 0x1dff, 0},
        {0x200b, 0x200f, 0}, {0x20d0, 0x20f0, 0}, {0x2e80, 0x303e, 2}, {0x3041, 0xa4cf, 2},
        {0xa960, 0xa97c, 2}, {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},
        {0xfe20, 0xfe2f, 0}, {0xfe30, 0xfe6f, 2}, {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && point >= ranges[i].first; i++)
        if (point <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

void sonde_text_add_clean(struct sonde_text *text, const char *s)
{
    for (size_t length; *s; s += length) {
        uint32_t point;
        length = decode(s, &point);
        if (point == 0xfffd)
            sonde_text_add(text, "\xef\xbf\xbd");
        else if (point < 0x20 || (point >= 0x7f && point < 0xa0))
            sonde_text_add(text, " ");
        else
            sonde_text_add_bytes(text, s, length);
    }
}

/* $'...' of bash, zsh and ksh: for bytes that would not survive being shown. */
static void add_escaped(struct sonde_text *text, const char *word)
{
    sonde_text_add(text, "$'");
    for (size_t length; *word; word += length) {
        uint32_t point;
        length = decode(word, &point);
        if (point == 0xfffd || point < 0x20 || (point >= 0x7f && point < 0xa0))
            for (size_t i = 0; i < length; i++)
                sonde_text_format(text, "\\%03o", (unsigned)(unsigned char)word[i]);
        else
            sonde_text_format(text, *word == '\'' || *word == '\\' ? "\\%.*s" : "%.*s", (int)length, word);
    }
    sonde_text_add(text, "'");
}

void sonde_text_add_word(struct sonde_text *text, const char *word)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, word);
    const bool shown = strcmp(sonde_text_get(&clean), word) == 0;
    sonde_text_fini(&clean);
    if (!shown) {
        add_escaped(text, word);
        return;
    }
    if (*word && !word[strcspn(word, " '\"\\$*?[]{}();&|<>`!#~^=")]) {
        sonde_text_add(text, word);
        return;
    }
    sonde_text_add(text, "'");
    for (; *word; word++)
        if (*word == '\'')
            sonde_text_add(text, "'\\''");
        else
            sonde_text_add_bytes(text, word, 1);
    sonde_text_add(text, "'");
}

void sonde_text_add_path(struct sonde_text *text, const char *path)
{
    sonde_text_add(text, *path == '-' ? "./" : "");
    sonde_text_add_word(text, path);
}

size_t sonde_text_prefix(const char *utf8, size_t columns)
{
    size_t at = 0, used = 0;
    while (utf8[at]) {
        uint32_t point;
        size_t length = decode(utf8 + at, &point);
        used += columns_of(point);
        if (used > columns)
            break;
        at += length;
    }
    return at;
}

size_t sonde_text_columns(const char *utf8)
{
    size_t columns = 0;
    for (uint32_t point; *utf8; columns += columns_of(point))
        utf8 += decode(utf8, &point);
    return columns;
}

const char *sonde_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool sonde_text_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool sonde_text_ends(const char *text, const char *with)
{
    const size_t length = strlen(text), end = strlen(with);
    return length >= end && strcmp(text + length - end, with) == 0;
}

/* text.h - strings that grow, and how many terminal columns UTF-8 text takes. */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct sonde_text { /* ready when zeroed; `bytes` is NULL while empty */
    char *bytes;
    size_t length, capacity;
    bool failed; /* out of memory: the text is incomplete */
};

void sonde_text_fini(struct sonde_text *text);
void sonde_text_add(struct sonde_text *text, const char *string);
void sonde_text_add_bytes(struct sonde_text *text, const char *bytes, size_t length);
void sonde_text_format(struct sonde_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The text so far, NUL-terminated; never NULL. Valid until the next change. */
const char *sonde_text_get(const struct sonde_text *text);

/* Append foreign text (a kernel's name, a path) as it may be shown: control
 * characters become spaces, so that it can neither break a line nor command the
 * terminal, and bytes that are not UTF-8 become U+FFFD. */
void sonde_text_add_clean(struct sonde_text *text, const char *s);

/* Append `word` so that a shell reads it as one word, as it is: quoted where it must be. */
void sonde_text_add_word(struct sonde_text *text, const char *word);
/* The same for a path: one that would be read as an option begins with ./ */
void sonde_text_add_path(struct sonde_text *text, const char *path);

/* Terminal columns of a UTF-8 string: 0 for combining marks and controls, 2 for
 * East Asian wide characters and emoji, 1 for the rest and for broken bytes.
 * Independent of the locale. */
size_t sonde_text_columns(const char *utf8);
/* Bytes of the longest prefix that fits `columns`. */
size_t sonde_text_prefix(const char *utf8, size_t columns);

bool sonde_text_begins(const char *text, const char *with);
bool sonde_text_ends(const char *text, const char *with);

/* File name part of a path. */
const char *sonde_path_base(const char *path);

#endif

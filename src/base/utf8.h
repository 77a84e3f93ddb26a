/* utf8.h - names of files, functions and kernels are bytes; formats and terminals want UTF-8. */
#ifndef SONDE_BASE_UTF8_H
#define SONDE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Bytes of the well-formed character (Unicode 15, table 3-7) that `s`, NUL-terminated,
 * begins with, its code point in *point (may be NULL); 0 when it is none. */
size_t sonde_utf8_decode(const char *s, uint32_t *point);

/* `s` itself when it is well-formed; else a copy in `room` with every broken
 * byte replaced by U+FFFD. Valid until `room` changes. */
const char *sonde_utf8_clean(const char *s, struct sonde_text *room);

#endif

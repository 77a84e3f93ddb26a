/* utf8.h - file names and kernel names are bytes; the formats want UTF-8. */
#ifndef SONDE_EXPORT_UTF8_H
#define SONDE_EXPORT_UTF8_H

#include <stddef.h>

#include "base/text.h"

/* Bytes of the well-formed character (Unicode 15, table 3-7) that `s`, NUL-terminated,
 * begins with; 0 when it is none. */
size_t sonde_utf8_length(const char *s);

/* `s` itself when it is well-formed; else a copy in `room` with every broken
 * byte replaced by U+FFFD. Valid until `room` changes. */
const char *sonde_utf8_clean(const char *s, struct sonde_text *room);

#endif

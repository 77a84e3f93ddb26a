/* digits.h - bytes as the text of an HTML element: 13 bits are two of 91 characters, of which none means anything to HTML. So text is 1.23
 * times as long as the bytes; base64, which a browser decodes itself, takes 1.33. docs/developers/viewer.md, "Bytes as text".
 *
 * Threads: one at a time per struct.
 */
#ifndef SONDE_CMDS_VIEW_DIGITS_H
#define SONDE_CMDS_VIEW_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#include "export/out.h"

struct view_digits { /* zeroed but for `out` */
    struct sonde_out *out;
    uint32_t bits; /* that are not written yet, */
    unsigned count; /* so many */
    size_t used;
    char text[4096];
};

/* The next bytes; `digits` is a struct view_digits. What goes wrong with `out` is known at its end. */
void view_digits_put(void *digits, const void *bytes, size_t size);
/* What is left of the last bytes. Then it may begin with others. */
void view_digits_end(struct view_digits *digits);

#endif

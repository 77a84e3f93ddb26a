/* url.c - see url.h. RFC 3986, 2.1, says what the percent sign is for; that a plus sign is a space behind the question mark is
 * the rule of forms (application/x-www-form-urlencoded), by which browsers write the options of a link.
 */
#include "url.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. 0 or EINVAL with `diag`. */
static int decode(char *text, bool form, struct sonde_diag *diag)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = form && *from == '+' ? ' ' : *from;
            continue;
        }
        const int high = digit(from[1]), low = high < 0 ? -1 : digit(from[2]);
        if (low < 0)
            return sonde_diag_set(diag, SONDE_EINVALID, from, "a percent sign needs two hexadecimal digits after it:");
        if (!high && !low)
            return sonde_diag_set(diag, SONDE_EINVALID, from, "no text has a byte of zero in it:");
        *to++ = (char)(high << 4 | low);
        from += 2;
    }
    *to = '\0';
    return 0;
}

static int read_path(char *path, struct sonde__url *out, struct sonde_diag *diag)
{
    char *slash = strchr(path, '/');
    out->name = path;
    if (slash) {
        *slash = '\0';
        out->argument = slash[1] ? slash + 1 : NULL;
    }
    const int rc = decode(path, false, diag);
    return rc || !out->argument ? rc : decode(slash + 1, false, diag);
}

static int read_option(char *piece, struct sonde__url *out, struct sonde_diag *diag)
{
    char *equals = strchr(piece, '=');
    if (equals)
        *equals++ = '\0';
    int rc = decode(piece, true, diag);
    if (!rc && equals)
        rc = decode(equals, true, diag);
    if (!rc && sonde_vector_push(&out->options, (struct sonde__url_option){piece, equals}))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot read the request");
    return rc;
}

int sonde__url_read(const char *request, size_t length, struct sonde__url *out, struct sonde_diag *diag)
{
    if (length > SONDE__URL_MAX)
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the request is longer than %d bytes", SONDE__URL_MAX);
    if (memchr(request, '\0', length))
        return sonde_diag_set(diag, SONDE_EINVALID, NULL, "the request has a byte of zero in it");
    out->memory = strndup(request, length);
    if (!out->memory)
        return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot read the request");
    char *options = strchr(out->memory, '?');
    if (options)
        *options++ = '\0';
    int rc = read_path(out->memory, out, diag);
    for (char *next; options && !rc; options = next) {
        next = strchr(options, '&');
        if (next)
            *next++ = '\0';
        if (*options)
            rc = read_option(options, out, diag);
    }
    return rc;
}

void sonde__url_fini(struct sonde__url *url)
{
    sonde_vector_fini(&url->options);
    free(url->memory);
    *url = (struct sonde__url){0};
}

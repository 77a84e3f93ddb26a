/* url.h - the text of a request: NAME/ARGUMENT?OPTION=VALUE&OPTION=VALUE, encoded as in an URL. Any thread. */
#ifndef SONDE_SERVE_URL_H
#define SONDE_SERVE_URL_H

#include <stddef.h>

#include <sonde/error.h>

#include "base/vector.h"

struct sonde__url_option {
    const char *name, *value; /* value NULL: there is no equals sign */
};

struct sonde__url { /* ready when zeroed; decoded */
    const char *name;
    const char *argument; /* NULL: there is none */
    SONDE_VECTOR(struct sonde__url_option) options;
    char *memory;         /* private: what owns all text */
};

enum { SONDE__URL_MAX = 65536 };

/* Take a request apart. 0; EINVAL with `diag` for one that is too long, or badly encoded; ENOMEM with `diag`. fini in either
 * case. */
int sonde__url_read(const char *request, size_t length, struct sonde__url *out, struct sonde_diag *diag);
void sonde__url_fini(struct sonde__url *url);

#endif

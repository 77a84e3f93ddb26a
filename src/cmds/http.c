/* http.c - see http.h. */
#include "http.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

static const char library_name[] = "libmicrohttpd.so.12"; /* of all its versions since 2014 */

int sonde_http_load(struct sonde_http *http, const char *command, struct sonde_diag *diag)
{
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    bool all = library != NULL;
#define X(name) all = all && (*(void **)&http->name = dlsym(library, #name)) != NULL;
    SONDE_HTTP_MAP(X)
#undef X
    if (all)
        return 0;
    const char *why = dlerror();
    sonde_diag_set(diag, SONDE_EUNSUPPORTED, NULL, "'sonde %s' needs libmicrohttpd", command);
    snprintf(diag->why, sizeof diag->why, "%s", why ? why : library_name);
    sonde_diag_hint(diag, "install libmicrohttpd12");
    return SONDE_EUNSUPPORTED;
}

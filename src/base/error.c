/* error.c - texts of error codes, and the diagnostics that travel up to src/cmds/. */
#include <sonde/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sonde_error_text(int code)
{
    static const char *const text[] = {
        "no error",
#define X(name, t) t,
        SONDE_ERROR_MAP(X)
#undef X
    };
    if (code > 0 || -code >= SONDE_ERROR_COUNT)
        return "unknown error";
    return text[-code];
}

int sonde_diag_set(struct sonde_diag *diag, int code, const char *where, const char *what, ...)
{
    if (!diag)
        return code;
    va_list args;
    memset(diag, 0, sizeof *diag);
    diag->code = code;
    if (where)
        snprintf(diag->where, sizeof diag->where, "%s", where);
    va_start(args, what);
    vsnprintf(diag->what, sizeof diag->what, what, args);
    va_end(args);
    return code;
}

void sonde_diag_errno(struct sonde_diag *diag, int errnum)
{
    if (diag)
        snprintf(diag->why, sizeof diag->why, "%s", strerror(errnum));
}

void sonde_diag_hint(struct sonde_diag *diag, const char *format, ...)
{
    va_list args;
    if (!diag)
        return;
    va_start(args, format);
    vsnprintf(diag->hint, sizeof diag->hint, format, args);
    va_end(args);
}

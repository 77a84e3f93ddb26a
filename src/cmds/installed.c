/* installed.c - where Sonde's own files are: relative to the binary that runs, so that its tree can be moved. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sonde_find_installed(const char *name, char path[PATH_MAX], struct sonde_diag *diag)
{
    char folder[PATH_MAX], candidate[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0) {
        sonde_diag_set(diag, SONDE_EIO, "/proc/self/exe", "cannot find Sonde's installation folder");
        sonde_diag_errno(diag, errno);
        return SONDE_EIO;
    }
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    const int n = snprintf(candidate, sizeof candidate, "%s/../%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof candidate || !realpath(candidate, path)) {
        sonde_diag_set(diag, SONDE_ENOTFOUND, candidate, "cannot find Sonde's file");
        sonde_diag_errno(diag, ENOENT);
        sonde_diag_hint(diag, "the installation is incomplete");
        return SONDE_ENOTFOUND;
    }
    return SONDE_OK;
}

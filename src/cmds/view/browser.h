/* browser.h - opens the user's browser. One thread at a time. */
#ifndef SONDE_CMDS_VIEW_BROWSER_H
#define SONDE_CMDS_VIEW_BROWSER_H

#include <stdbool.h>

#include <sonde/error.h>
#include <sys/types.h>

/* Is there somebody who would see it: a terminal, and a display? */
bool view_browser_can(void);

/* Start xdg-open with this address. The process, which ends by itself once it told the browser and has to be waited for; -1 with
 * `diag`. */
pid_t view_browser_open(const char *url, struct sonde_diag *diag);

#endif

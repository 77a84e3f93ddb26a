/* view.h - `sonde view`: its options, and the ways to show a measurement. */
#ifndef SONDE_CMDS_VIEW_VIEW_H
#define SONDE_CMDS_VIEW_VIEW_H

#include <stdint.h>

struct sonde_measurement;

struct view_options {
    int64_t port; /* 0: a free one */
    int no_browser;
    const char *before; /* as `sonde diff` takes a side; NULL: nothing is compared */
    const char *html;   /* NULL: a server */
    int force;
    uint64_t html_limit;
};

/* Show the measurement at `path` behind a server on this machine (serve.c) until a signal or the end of the terminal. In the
 * first thread. Returns the exit status, after a message where it failed. */
int view_serve(const struct view_options *options, const char *path);

/* Write the page with the measurement at `path` within to options->html (save.c). Returns the exit status, after a message. */
int view_save(const struct view_options *options, const char *path);

/* What of it is damaged. */
void view_say_damage(const struct sonde_measurement *m);

#endif

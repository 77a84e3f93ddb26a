/* stop.h - until when the viewer serves. In the first thread. */
#ifndef SONDE_CMDS_VIEW_STOP_H
#define SONDE_CMDS_VIEW_STOP_H

#include <sonde/error.h>

struct view_stop { int signals, terminal; }; /* descriptors; -1: none */

/* From now on Ctrl-C, SIGTERM and SIGHUP only end the wait below, also for threads that are started from now on; but what is
 * ignored, as by nohup, stays ignored. 0, or EIO with `diag`. */
int view_stop_begin(struct view_stop *stop, struct sonde_diag *diag);

/* Until one of these signals comes, or the terminal goes from which we were started; returns the signal, SIGHUP for the
 * terminal. Each time that a child ends, `child_ended` is called. */
int view_stop_wait(const struct view_stop *stop, void (*child_ended)(void *user), void *user);

#endif

/* stop.h - until when a command serves. In the first thread. */
#ifndef SONDE_CMDS_STOP_H
#define SONDE_CMDS_STOP_H

#include <sonde/error.h>

struct sonde_stop { int signals, terminal; }; /* descriptors; -1: none */

/* From now on Ctrl-C, SIGTERM and SIGHUP only end the wait below, also for threads that are started from now on; but what is
 * ignored, as by nohup, stays ignored. 0, or EIO with `diag`. */
int sonde_stop_begin(struct sonde_stop *stop, struct sonde_diag *diag);

/* Until one of these signals comes, or the terminal goes from which we were started; returns the signal, SIGHUP for the
 * terminal. 0 after `timeout_ms` (-1: never). Each time that a child ends, `child_ended` (may be NULL) is called. */
int sonde_stop_wait(const struct sonde_stop *stop, int timeout_ms, void (*child_ended)(void *user), void *user);

#endif

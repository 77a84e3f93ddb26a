/* announced.h - the folder in which programs announce themselves while they run.
 *
 * A program that was started with `sonde record --light` keeps its
 * live mapping (format/rows.h) in a folder of its own in here, HOST-PID-N. The folder lies in memory. It is its owner's alone, as
 * measurements are, and what ended programs leave in it goes away after a while. Of `sonde record --last` there is a file that tells
 * where the mappings of its programs are (recorders.h).
 *
 * A program holds a lock on its live mapping as long as it lives, which the kernel takes back however it ends. So it is known to be
 * over also when it was killed, when its number is another's by now, and when it runs in a container with numbers of its own.
 *
 * Threads: any.
 */
#ifndef SONDE_MONITOR_ANNOUNCED_H
#define SONDE_MONITOR_ANNOUNCED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>

#define SONDE_ANNOUNCED_KEEP_NS 10000000000u /* what a program leaves stays so long, to be read for the last time */

/* The folder, made where it is missing: `given`, or for NULL this user's, /dev/shm/sonde-UID. 0, or a negative code with
 * `diag`: EIO, EUNSUPPORTED where it is somebody else's. */
int sonde_announced_folder(const char *given, char path[PATH_MAX], struct sonde_diag *diag);

/* Call `fn` with the folder of each program, "HOST-PID-N", until one returns other than 0, which is returned. Negative codes
 * with `diag` where the folder cannot be read. */
int sonde_announced_each(const char *folder, int (*fn)(void *user, const char *path, const char *name), void *user, struct sonde_diag *diag);

/* Does the program of this folder live? */
bool sonde_announced_lives(const char *path);

/* When it began, on CLOCK_MONOTONIC_RAW, which tells it from another one whose folder had the same name; 0: its mapping is not begun,
 * or cannot be read. */
uint64_t sonde_announced_start_ns(const char *path);

/* Remove what programs left that ended more than SONDE_ANNOUNCED_KEEP_NS ago, and files of recorders that were killed. */
void sonde_announced_sweep(const char *folder);

#endif

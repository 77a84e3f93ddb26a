/* recorders.h - those `sonde record --last` of this node that can be asked to write what they have (docs/monitor.md).
 *
 * Each has a file in the folder of announced programs (announced.h), which tells where its measurement is, and thereby its programs' live
 * mappings. It holds a lock on it (fcntl) as long as it can be asked, and the kernel tells whose lock that is, by a number of the asking process's own
 * namespace; it takes the lock back however a recorder ends. So nobody else gets the signal:
 *
 *   - The lock is taken before the file has its name, by the recorder alone, and never again: whoever is seen with it had it all the time.
 *   - Who asks opens a pidfd between two looks at the lock. If both tell the same number, the pidfd is the recorder's, whoever has its number
 *     later; of one that has ended it reaches nobody.
 *   - SIGUSR1 does nothing to a recorder that was just taken back: it ignores it to its end.
 *
 * Threads: any.
 */
#ifndef SONDE_MONITOR_RECORDERS_H
#define SONDE_MONITOR_RECORDERS_H

#include <limits.h>
#include <sys/types.h>

#include <sonde/error.h>

struct sonde_recorder {
    char file[PATH_MAX];
    char output[PATH_MAX]; /* the measurement: of the ranks of a job on this node one */
};

/* This process can be asked, from now on: SIGUSR1 must be harmless to it until it ends. `fd` is closed by the second function, and by nobody before; the process opens
 * the file no second time. 0, or EIO or EINVALID with `diag`. */
int sonde_recorder_begin(const char *folder, const char *output, struct sonde_recorder *own, int *fd, struct sonde_diag *diag);
void sonde_recorder_end(const struct sonde_recorder *own, int fd);

/* Call `fn` with each of them until one returns other than 0, which is returned. Where the folder cannot be read there are none. */
int sonde_recorders_each(const char *folder, int (*fn)(void *user, const struct sonde_recorder *recorder), void *user);

/* Ask it to write: SIGUSR1. 0 and its *pid; ENOTFOUND: it has ended, or is of another user or another namespace; EUNSUPPORTED: this kernel (before 5.3) has no pidfd. */
int sonde_recorder_ask(const struct sonde_recorder *recorder, pid_t *pid);

/* Remove the files of those that were killed. */
void sonde_recorders_sweep(const char *folder);

#endif

/* attach.h - another process's threads, memory and libraries: the agent gets into a program that runs (docs/attach.md).
 *
 *     look.c     which process it is, and what forbids to attach to it
 *     modules.c  its memory, its libraries and their symbols
 *     stop.c     its threads stop, make system calls for us, and go on as if nothing had been
 *     thread.c   a thread of our own in it, which calls functions
 *     attach.c   what is done with these
 *
 * Threads: all of this by one thread, the one that called sonde_attach_open: ptrace knows its tracer by the thread.
 */
#ifndef SONDE_ATTACH_ATTACH_H
#define SONDE_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/error.h>

struct sonde_attach;

/* Look at process `pid` and open it; nothing in it changes. `agent`: path of libsonde-agent.so. 0 with *out, or an error with `diag`,
 * which says what forbids it and, where there is one, the command that allows it:
 *   ENOTFOUND     there is no such process, or it has ended
 *   EBUSY         it is recorded already, traced by another program, or stopped
 *   EUNSUPPORTED  another architecture or C library, statically linked, no GPU runtime, another mount namespace
 *   EIO           the kernel refuses */
int sonde_attach_open(pid_t pid, const char *agent, struct sonde_attach **out, struct sonde_diag *diag);
void sonde_attach_close(struct sonde_attach *a); /* NULL is none */

/* The same file or folder for the process as for us, at this path? Of containers. */
bool sonde_attach_shares(const struct sonde_attach *a, const char *path);

/* Load the agent and let it record. `settings`: see format/attached.h; `bytes` with the empty string at its end. Errors as above. */
int sonde_attach_begin(struct sonde_attach *a, const char *settings, size_t bytes, struct sonde_diag *diag);

/* Has the agent gone by itself (its recorder let go of the folder, the program switched it off)? */
bool sonde_attach_is_over(const struct sonde_attach *a);

/* After that: give back what memory it has, so that nothing is left but the mapped library. All threads stand still meanwhile.
 * EBUSY: a thread is in a call that the agent looks at, for longer than is waited for; the next sonde_attach_begin tries again. */
int sonde_attach_forget(struct sonde_attach *a, struct sonde_diag *diag);

#endif

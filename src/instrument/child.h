/* child.h - a program of the system's that reads one file and writes another, as a process of which the measured program sees nothing: no signal,
 * none of its own children, no file.
 *
 * It is started by a process between them, which nobody is told of either: the kernel makes SIGCHLD the signal of each process that executes a
 * program.
 *
 * Threads: any.
 */
#ifndef SONDE_INSTRUMENT_CHILD_H
#define SONDE_INSTRUMENT_CHILD_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_child_made {
    unsigned char *data; /* pages, to be given back */
    size_t bytes;
};

/* `words`, up to a NULL, of which the first is its path. Its standard input is `input`; what it writes to its standard output is made. It waits for it.
 * False: it cannot be started, or wrote nothing; nothing was made. */
bool sonde__child_run(const char *const *words, const void *input, size_t bytes, struct sonde_child_made *out);

#endif

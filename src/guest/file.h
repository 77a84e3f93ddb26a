/* file.h - the whole of a file, in memory from the kernel.
 *
 * By system calls: a function of the C library would count as a wait of the program's thread.
 *
 * Threads: any. errno is not preserved.
 */
#ifndef SONDE_GUEST_FILE_H
#define SONDE_GUEST_FILE_H

#include <stddef.h>

struct sonde_file {
    char *bytes; /* with a NUL behind them; NULL: not to be had */
    size_t size;
};

/* A regular file of at most `most` bytes, and not an empty one; relative to `folder`, a descriptor or AT_FDCWD. To be put back. */
struct sonde_file sonde__file_get(int folder, const char *path, size_t most);
void sonde__file_put(struct sonde_file *f);

#endif

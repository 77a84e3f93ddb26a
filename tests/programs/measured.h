/* measured.h - for programs about to be killed: wait until the measurement holds what it must.
 *
 * What was not yet written when a signal kills a program is lost, and how long
 * that takes is the machine's business. So the program looks into its own
 * measurement, as a reader would. Without Sonde there is nothing to wait for.
 */
#ifndef MEASURED_H
#define MEASURED_H

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/rows.h"

/* The header of the only process below the measurement's folder; 0 when there is none yet. */
static inline int measured_header(struct sonde_live_header *header)
{
    const char *out = getenv("SONDE_OUT");
    DIR        *folder = out ? opendir(out) : NULL;
    char        path[8192];
    int         found = 0;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/live.sonde", out, entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        found = fd >= 0 && pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
        if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Until at least `seen` operations are in the ledger and `done` of them finished,
 * and whatever was being written then is written. */
static inline void measured_wait(uint64_t seen, uint64_t done)
{
    static struct sonde_live_header header;
    uint64_t written_ns = 0;
    for (int naps = 0; getenv("SONDE_OUT") && naps < 120000; naps++) {
        if (measured_header(&header) && header.ledger.seen >= seen && header.ledger.done >= done) {
            if (written_ns && header.stop_ns != written_ns)
                return;
            written_ns = written_ns ? written_ns : header.stop_ns;
        }
        usleep(1000);
    }
    if (getenv("SONDE_OUT"))
        printf("the measurement never held %llu operations\n", (unsigned long long)seen);
}

#endif

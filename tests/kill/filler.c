/* filler.c - an ordinary program that fills the disk half-way, as a program may that writes results.
 *
 * usage: filler LAUNCHES [FILE]     fills the disk with FILE after a hundredth of the launches, and leaves it
 */
#include "../programs/guest.h"

#include <fcntl.h>

enum { BATCH = 1000 };

/* Until the disk is full; says with what it ended. */
static void fill(const char *path)
{
    static const char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    while (write(fd, block, sizeof block) > 0)
        ;
    printf("filling ended with %s\n", strerror(errno));
    fflush(stdout);
    close(fd);
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : BATCH;
    struct guest g;
    guest_open(&g);
    for (int done = 0; done < launches; done += BATCH) {
        guest_add(&g, BATCH);
        CL(clFinish(g.queue));
        if (argc > 2 && done < launches / 100 && done + BATCH >= launches / 100)
            fill(argv[2]);
    }
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 42;
}

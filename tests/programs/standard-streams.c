/* standard-streams.c - closes 0, 1 and 2 and uses the numbers for its own files.
 *
 * case: before-opencl before => kernel=2000 read=1
 * case: after-opencl after => kernel=4000 read=2
 * case: daemon daemon => kernel=2000 read=1 ; outlives
 */
#include "guest.h"

#include <fcntl.h>

static void own_files(void)
{
    for (int fd = 0; fd < 3; fd++) {
        char path[16];
        close(fd);
        snprintf(path, sizeof path, "own-%d", fd);
        int got = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        if (got != fd || write(fd, "mine\n", 5) != 5)
            _exit(9);
    }
}

static void verify(int ran)
{
    char text[64] = "";
    FILE *out;
    usleep(200000);
    for (int fd = 0; fd < 3; fd++)
        if (pread(fd, text, sizeof text, 0) != 5 || memcmp(text, "mine\n", 5) != 0)
            _exit(10);
    out = fopen("result.part", "w");
    fprintf(out, "ran %d, files as they were\n", ran);
    fclose(out);
    rename("result.part", "result");
}

/* Leaves its session and its parent; the parent ends at once, so `record` ends before the work does. */
static void daemonize(void)
{
    if (fork() > 0) {
        usleep(50000);
        _exit(0);
    }
    setsid();
    if (fork() > 0)
        _exit(0);
    usleep(200000);
}

int main(int argc, char **argv)
{
    const char  *kind = argc > 1 ? argv[1] : "before";
    struct guest g;
    if (strcmp(kind, "daemon") == 0)
        daemonize();
    if (strcmp(kind, "after") == 0) {
        guest_open(&g);
        guest_add(&g, 2000);
        guest_read(&g);
        own_files();
    } else {
        own_files();
        guest_open(&g);
    }
    guest_add(&g, 2000);
    int ran = guest_read(&g);
    guest_close(&g);
    verify(ran);
    return 0;
}

/* pipes.c - prints into a pipe that nobody reads any more.
 *
 * case: killed-by-sigpipe default => kernel=100 read=1 ; stdout=closed
 * case: sees-epipe ignore => kernel=100 read=1 ; stdout=closed
 * case: prints-before-the-wait before => kernel=100 ; stdout=closed
 * case: standard-error-closed stderr => kernel=100 read=1 ; stderr=closed
 */
#include "guest.h"
#include "measured.h"

#include <signal.h>

/* A signal that kills loses what was not yet written. */
static void pause_and_print(void)
{
    measured_wait(100, 100);
    puts("early");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char  *kind = argc > 1 ? argv[1] : "default";
    struct guest g;
    FILE        *result;
    if (strcmp(kind, "ignore") == 0 || strcmp(kind, "stderr") == 0)
        signal(SIGPIPE, SIG_IGN);
    guest_open(&g);
    guest_add(&g, 100);
    if (strcmp(kind, "before") == 0)
        pause_and_print();
    int ran = guest_read(&g);
    if (strcmp(kind, "default") == 0)
        measured_wait(101, 101);
    printf("ran %d\n", ran);
    int gave = fflush(stdout);
    fprintf(stderr, "flush gave %d, %s\n", gave, gave ? strerror(errno) : "fine");
    result = fopen("result", "w");
    fprintf(result, "ran %d, flush gave %d\n", ran, gave);
    fclose(result);
    guest_close(&g);
    return 0;
}

/* parts.c - a program that says itself which parts of it are measured (sonde/sonde.h).
 *
 * case: two-parts => kernel=8 read=1
 * case: last-part => kernel=3 read=1 ; record=--start-off
 * case: from-another-thread thread => kernel=8 read=1
 */
#include "guest.h"

#include <pthread.h>
#include <stdbool.h>
#include <sonde/sonde.h>

static void *say(void *start)
{
    if (start)
        sonde_start();
    else
        sonde_stop();
    return NULL;
}

static void range(bool elsewhere, bool start)
{
    pthread_t thread;
    void *word = start ? &thread : NULL;
    if (!elsewhere) {
        say(word);
        return;
    }
    if (pthread_create(&thread, NULL, say, word) != 0 || pthread_join(thread, NULL) != 0)
        exit(4);
}

int main(int argc, char **argv)
{
    struct guest g;
    const bool elsewhere = argc > 1 && strcmp(argv[1], "thread") == 0;
    guest_open(&g);
    guest_add(&g, 5);
    range(elsewhere, false);
    guest_add(&g, 7);
    range(elsewhere, true);
    guest_add(&g, 3);
    printf("%d additions\n", guest_read(&g));
    guest_close(&g);
    return 0;
}

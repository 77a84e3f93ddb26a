/* steady.c - enqueues for ever and keeps a log of what had completed when, so that the runner knows what a measurement must hold.
 *
 * usage: steady LOG
 */
#include "../programs/guest.h"

#include "log.h"

enum { BATCH = 20 };

int main(int argc, char **argv)
{
    struct guest g;
    struct log *log = log_open(argc > 1 ? argv[1] : "log");
    const struct timespec pause = {0, 200000};
    uint64_t completed = 0;
    guest_open(&g);
    while (log->entries < LOG_ENTRIES) {
        log->enqueued += BATCH;
        guest_add(&g, BATCH);
        CL(clFinish(g.queue));
        completed += BATCH;
        log_completed(log, completed);
        nanosleep(&pause, NULL);
    }
    return 0;
}

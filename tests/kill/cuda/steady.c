/* steady.c - launches kernels of a made-up device until it is killed, and logs what had completed when.
 *
 * usage: cuda-steady LOG slow|fast|queued|idle|long|held|stuck|crash
 *   slow    one kernel at a time, waited for, some 300 in a second
 *   fast    200 at a time, waited for, without a pause
 *   queued  never waited for: eight are under way at every moment
 *   idle    100 of them, waited for, and none after
 *   long    100 of them, waited for, and when CUPTI has told of them one that runs for an hour; beside it one at a time
 *   held    ten at a time, waited for, mostly within a launch that keeps CUPTI's lock
 *   stuck   waits for one that runs for an hour
 *   crash   101 of them, waited for, and abort()
 */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "../log.h"

static void batch(struct log *log, uint64_t count, uint64_t length_ns)
{
    log->enqueued += count;
    for (uint64_t i = 0; i < count; i++)
        device_launch(length_ns);
    device_wait();
    log_completed(log, device_ended());
}

static void one_more(struct log *log)
{
    for (; log->enqueued < device_ended() + 8; device_launch(2000000))
        log->enqueued++;
    log_completed(log, device_ended());
}

/* Those beside it have ended when this returns, and nobody but the program knows. */
static void beside_a_long_one(struct log *log)
{
    const struct timespec pause = {0, 3000000}, second = {1, 0};
    batch(log, 100, 10000);
    while (!device_told())
        nanosleep(&pause, NULL);
    nanosleep(&second, NULL);
    log->enqueued++;
    device_launch_beside(3600000000000u);
    for (uint64_t ended = 100; log->entries < LOG_ENTRIES; log_completed(log, ++ended)) {
        log->enqueued++;
        device_launch(50000);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "slow";
    struct log *log = log_open(argc > 1 ? argv[1] : "log");
    const struct timespec pause = {0, 3000000};
    device_open();
    if (strcmp(mode, "held") == 0)
        device_hold(1000000);
    if (strcmp(mode, "idle") == 0 || strcmp(mode, "crash") == 0)
        batch(log, strcmp(mode, "idle") == 0 ? 100 : 101, 10000);
    if (strcmp(mode, "crash") == 0)
        abort();
    if (strcmp(mode, "stuck") == 0) {
        log_completed(log, 0);
        batch(log, 1, 3600000000000u);
    }
    if (strcmp(mode, "long") == 0)
        beside_a_long_one(log);
    while (log->entries < LOG_ENTRIES) {
        if (strcmp(mode, "fast") == 0)
            batch(log, 200, 1000);
        else if (strcmp(mode, "held") == 0)
            batch(log, 10, 1000);
        else if (strcmp(mode, "slow") == 0)
            batch(log, 1, 50000);
        else if (strcmp(mode, "queued") == 0)
            one_more(log);
        else
            log_completed(log, device_ended());
        if (strcmp(mode, "fast") != 0 && strcmp(mode, "held") != 0)
            nanosleep(&pause, NULL);
    }
    return 0;
}

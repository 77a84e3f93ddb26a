/* killed.cu - launches kernels until it is killed, and logs what had finished when (tests/kill/log.h).
 *
 * usage: killed LOG slow|fast|queued|idle|long
 *   slow    one kernel at a time, waited for, some 200 in a second
 *   fast    200 at a time, waited for, without a pause
 *   queued  never waited for: eight are under way at every moment
 *   idle    100 of them, waited for, and none after
 *   long    100 of them, waited for, and 2 s later one that runs for an hour; beside it one at a time, waited for
 *
 * Each kernel writes its number where the program can see it, so that what has finished is known without the runtime.
 */
#include "common.h"

#include "../../kill/log.h"

static volatile uint64_t *finished; /* by the device */

extern "C" __global__ void numbered(volatile uint64_t *place, uint64_t number, uint64_t length_ns)
{
    wait_ns(length_ns);
    *place = number;
    __threadfence_system();
}

static void launch(struct log *log, uint64_t length_ns, cudaStream_t stream = 0)
{
    log->enqueued++;
    numbered<<<1, 1, 0, stream>>>(finished, log->enqueued, length_ns);
}

static void batch(struct log *log, int count, uint64_t length_ns)
{
    for (int i = 0; i < count; i++)
        launch(log, length_ns);
    CK(cudaDeviceSynchronize());
    log_completed(log, *finished);
}

static void one_more(struct log *log)
{
    while (log->enqueued < *finished + 8)
        launch(log, 2000000);
    log_completed(log, *finished);
}

/* Sonde asks CUPTI every 0.4 s: those before the long one are in the measurement when it begins. */
static void beside_a_long_one(struct log *log)
{
    const timespec told = {2, 0}, pause = {0, 1000000};
    cudaStream_t   beside;
    batch(log, 100, 10000);
    CK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    nanosleep(&told, nullptr);
    launch(log, 3600000000000, beside);
    while (log->entries < LOG_ENTRIES) {
        launch(log, 50000);
        while (*finished < log->enqueued)
            nanosleep(&pause, nullptr);
        log_completed(log, *finished - 1); /* but the long one */
    }
}

int main(int argc, char **argv)
{
    const char    *mode = argc > 2 ? argv[2] : "slow";
    struct log    *log = log_open(argc > 1 ? argv[1] : "log");
    const timespec pause = {0, 5000000};
    void          *place;
    CK(cudaHostAlloc(&place, sizeof(uint64_t), cudaHostAllocMapped));
    finished = (volatile uint64_t *)place, *finished = 0;
    if (strcmp(mode, "idle") == 0)
        batch(log, 100, 10000);
    if (strcmp(mode, "long") == 0)
        beside_a_long_one(log);
    while (log->entries < LOG_ENTRIES) {
        if (strcmp(mode, "fast") == 0)
            batch(log, 200, 1000);
        else if (strcmp(mode, "slow") == 0)
            batch(log, 1, 50000);
        else if (strcmp(mode, "queued") == 0)
            one_more(log);
        else
            log_completed(log, *finished);
        if (strcmp(mode, "fast") != 0)
            nanosleep(&pause, NULL);
    }
    return 0;
}

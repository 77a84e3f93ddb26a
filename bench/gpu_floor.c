/* gpu_floor.c - what measuring with CUPTI costs at least: its records and callbacks, and nothing done with them.
 *
 * Loaded by the driver through CUDA_INJECTION64_PATH. GPU_FLOOR says what is asked of CUPTI:
 *   activities    records of kernels, copies and sets
 *   flushed       the same, with a flush period of a second
 *   interceptor   Sonde's kinds of record and callbacks of the calls that it follows, with that flush period, too
 * Its buffers have 4 MB, as Sonde's had when it used a flush period; they have 16 to 256 kB now, and a thread asks for
 * them (src/backends/cuda/activity.c, flush.c). In that the interceptor is unlike Sonde.
 * GPU_FLOOR_OUT names a file for the counts, so that a run that measured nothing does not pass for a floor.
 */
#include <cupti.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/calls.h"

#define BUFFER_BYTES ((size_t)4 << 20)
#define SPARES       16

int InitializeInjection(void);

static atomic_ullong records, bytes, callbacks, dropped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARES];
static int spares;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max)
{
    pthread_mutex_lock(&lock);
    *buffer = spares ? spare[--spares] : NULL;
    pthread_mutex_unlock(&lock);
    if (!*buffer)
        *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t lost = 0;
    unsigned long long count = 0;
    (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        count++;
    records += count;
    bytes += valid;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
        dropped += lost;
    pthread_mutex_lock(&lock);
    const bool keep = spares < SPARES;
    if (keep)
        spare[spares++] = buffer;
    pthread_mutex_unlock(&lock);
    if (!keep)
        free(buffer);
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
    /* One relaxed add, so that the count can be checked; the threads of the loads seldom meet. */
    atomic_fetch_add_explicit(&callbacks, 1, memory_order_relaxed);
}

static void follow_calls(void)
{
    CUpti_SubscriberHandle subscriber;
    if (cuptiSubscribe(&subscriber, callback, NULL) != CUPTI_SUCCESS)
        return;
    sonde_cuda_enable_calls(cuptiEnableCallback, subscriber);
}

static void finish(void)
{
    const char *path = getenv("GPU_FLOOR_OUT");
    cuptiActivityFlushAll(1);
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out)
        return;
    fprintf(out, "{\"records\": %llu, \"bytes\": %llu, \"callbacks\": %llu, \"dropped\": %llu}\n", (unsigned long long)records,
            (unsigned long long)bytes, (unsigned long long)callbacks, (unsigned long long)dropped);
    fclose(out);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    const char *mode = getenv("GPU_FLOOR");
    const bool all = mode && strcmp(mode, "interceptor") == 0;
    if (all)
        follow_calls();
    cuptiActivityRegisterCallbacks(requested, completed);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
    if (all) {
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2);
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    }
    if (all || (mode && strcmp(mode, "flushed") == 0))
        cuptiActivityFlushPeriod(1000);
    atexit(finish);
    return 1;
}

/* imitation.c - the hooks of a PyTorch program, without a GPU; preloaded by bench/imitation.py.
 *
 * PyTorch's CPU allocator calls posix_memalign for each tensor. Here that call is
 * hooked as a kernel's launch would be: the whole agent in this process, under the
 * test harness's backend, whose operations complete at once. So stacks, Python
 * frames and what lies in the caches between two hooks are PyTorch's own, and the
 * runtime is not in the figures: of each call, the ticks before and after the
 * allocation are kept. imitation_call is a hooked call of its own, for Pythons without PyTorch.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/agent/harness.h"

#define SHOWN __attribute__((visibility("default")))

enum { KEPT = 1 << 20 };
enum { PAGE = 4096 };

static _Atomic bool on;
static uint32_t queue;
static uint32_t enter_ticks[KEPT], leave_ticks[KEPT];
static _Atomic uint32_t kept;
static unsigned char *cold; /* walked before each call */
static size_t cold_bytes, cold_pages;

/* What lay in the caches is put out: a driver's launch does that, too. With pages, translations as well. */
static void evict(void)
{
    for (size_t i = 0; i < cold_pages; i++)
        cold[cold_bytes + i * PAGE + i % 64 * 64]++;
    for (size_t at = 0; at < cold_bytes; at += 64)
        cold[at]++;
}

static int allocate(void **p, size_t alignment, size_t bytes)
{
    static int (*_Atomic real)(void **, size_t, size_t);
    if (!atomic_load_explicit(&real, memory_order_relaxed)) {
        void *found = dlsym(RTLD_NEXT, "posix_memalign");
        int (*as)(void **, size_t, size_t);
        memcpy(&as, &found, sizeof as);
        atomic_store(&real, as);
    }
    return atomic_load_explicit(&real, memory_order_relaxed)(p, alignment, bytes);
}

static void keep(uint64_t enter, uint64_t leave)
{
    const uint32_t i = atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed);
    if (i < KEPT) {
        enter_ticks[i] = (uint32_t)enter;
        leave_ticks[i] = (uint32_t)leave;
    }
}

static inline void finish(struct sonde_call *call, size_t bytes)
{
    sonde_call_leave(call);
    sonde_call_submit(call, &(struct sonde_submit){.kind = SONDE_OP_KERNEL, .lane = queue, .bytes = bytes, .token = 1ull << 62});
    sonde_call_end(call);
}

SHOWN int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    struct sonde_call call;
    static __thread bool inside __attribute__((tls_model("initial-exec")));
    if (!atomic_load_explicit(&on, memory_order_relaxed) || inside)
        return allocate(p, alignment, bytes);
    inside = true;
    evict();
    const uint64_t begin = sonde__ticks();
    const bool begun = sonde_call_begin(&call, API_LAUNCH);
    const uint64_t entered = sonde__ticks();
    int result = allocate(p, alignment, bytes);
    const uint64_t left = sonde__ticks();
    if (begun)
        finish(&call, bytes);
    keep(entered - begin, sonde__ticks() - left);
    inside = false;
    return result;
}

/* ---- called by imitation.py -------------------------------------------------------- */

SHOWN void imitation_begin(unsigned cold_kb, unsigned pages, unsigned cpu_hz);
SHOWN void imitation_call(void);
SHOWN void imitation_where(void);
extern SHOWN volatile uint64_t bench_mark;
SHOWN void imitation_switch(int now_on);
SHOWN uint32_t imitation_take(uint32_t *enter, uint32_t *leave, uint32_t max);
SHOWN void imitation_ledger(uint64_t *calls, uint64_t *mismatched, uint64_t *checked);
SHOWN void imitation_end(void);

volatile uint64_t bench_mark; /* 1 and 3: around the half of a hook before the call; 4 and 2: after it */

void imitation_begin(unsigned cold_kb, unsigned pages, unsigned cpu_hz)
{
    cold_bytes = (size_t)cold_kb << 10;
    cold_pages = pages;
    cold = calloc(1, cold_bytes + cold_pages * PAGE + 1);
    static char rate[32];
    const char *const extra[] = {"SONDE_TRACE=1", rate, NULL};
    snprintf(rate, sizeof rate, "SONDE_CPU=%u", cpu_hz);
    harness_setup("bench-imitation", extra);
    queue = harness_queue(0);
}

void imitation_switch(int now_on)
{
    atomic_store(&on, now_on != 0);
}

/* A call that leaves as little in the caches as what came before. */
void imitation_call(void)
{
    struct sonde_call call;
    evict();
    bench_mark = 1;
    const uint64_t begin = sonde__ticks();
    const bool begun = sonde_call_begin(&call, API_LAUNCH);
    const uint64_t entered = sonde__ticks();
    bench_mark = 3;
    evict();
    bench_mark = 4;
    const uint64_t left = sonde__ticks();
    if (begun)
        finish(&call, 0);
    const uint64_t end = sonde__ticks();
    bench_mark = 2;
    keep(entered - begin, end - left);
}

/* For lines.py: where what a hook touches lies. */
void imitation_where(void)
{
    const struct sonde_thread *t = sonde__self;
    printf("range thread %p %p\n", (void *)(uintptr_t)t, (void *)(uintptr_t)(t + 1));
    for (uint32_t i = 0; i < t->replays.blocks; i++)
        printf("range replay %p %p\n", (void *)t->replays.block[i], (void *)(t->replays.block[i] + SONDE_HEAP_BLOCK));
    printf("range events %p %p\n", (void *)t->channel.tail, (void *)((char *)t->channel.tail + SONDE_HEAP_BLOCK));
    printf("range flag %p %p\n", (void *)sonde__flag, (void *)(sonde__flag + 1));
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    while (f && fgets(line, sizeof line, f))
        printf("map %s", line);
    if (f)
        fclose(f);
    fflush(stdout);
}

/* What was kept since the last time. */
uint32_t imitation_take(uint32_t *enter, uint32_t *leave, uint32_t max)
{
    uint32_t n = atomic_exchange(&kept, 0);
    n = n < KEPT ? n : KEPT;
    n = n < max ? n : max;
    memcpy(enter, enter_ticks, n * sizeof *enter);
    memcpy(leave, leave_ticks, n * sizeof *leave);
    return n;
}

void imitation_ledger(uint64_t *calls, uint64_t *mismatched, uint64_t *checked)
{
    struct sonde_ledger *l = &sonde__agent.header->ledger;
    harness_flush();
    *calls = l->api_calls;
    *mismatched = l->unwind_mismatched;
    *checked = l->unwind_checked;
}

void imitation_end(void)
{
    harness_remove();
}

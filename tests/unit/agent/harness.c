/* harness.c - see harness.h. */
#include "harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

_Atomic uint64_t harness_released, harness_polls;
_Atomic uint64_t harness_clock_requests, harness_clock_bound_ns, harness_clock_late;
_Atomic int64_t harness_start_after = 1000, harness_duration = 5000;

_Atomic unsigned harness_ask_us;
_Atomic int harness_in_runtime;

static _Atomic uint64_t completed_up_to; /* tokens of unfinished launches below this are done */
static _Atomic uint64_t next_token = 1;
static uint64_t enter_of[1 << 24];       /* entry time by token, wraps */
static char directory[4096];
static _Atomic uint32_t device; /* of harness_queue */

#define DONE_BIT (1ull << 62)

static void be_in_runtime(void)
{
    const unsigned us = atomic_load(&harness_ask_us);
    if (!us)
        return;
    atomic_fetch_add(&harness_in_runtime, 1);
    usleep(us);
    atomic_fetch_sub(&harness_in_runtime, 1);
}

static enum sonde_poll poll_token(uint64_t token, uint32_t lane, struct sonde_times *times)
{
    (void)lane;
    atomic_fetch_add(&harness_polls, 1);
    be_in_runtime();
    if (!(token & DONE_BIT) && token >= atomic_load(&completed_up_to))
        return SONDE_POLL_PENDING;
    uint64_t enter = __atomic_load_n(&enter_of[token & 0xffffff], __ATOMIC_RELAXED);
    times->queued_ns = enter + 100;
    times->submit_ns = enter + 200;
    times->start_ns = enter + (uint64_t)atomic_load(&harness_start_after);
    times->end_ns = times->start_ns + (uint64_t)atomic_load(&harness_duration);
    return SONDE_POLL_DONE;
}

static void release_token(uint64_t token)
{
    (void)token;
    be_in_runtime();
    atomic_fetch_add(&harness_released, 1);
}

enum { GOES,
       IS_TO_STAND,
       STANDS };
static _Atomic int monitor_stands;

void harness_hold_monitor(void)
{
    atomic_store(&monitor_stands, IS_TO_STAND);
    sonde_device_add(&(struct sonde_device_info){.platform = "test", .name = "whose clock is asked for"});
    while (atomic_load(&monitor_stands) != STANDS)
        usleep(1000);
}

void harness_let_monitor_go(void)
{
    atomic_store(&monitor_stands, GOES);
}

static void sync_clocks(void)
{
    int wanted = IS_TO_STAND;
    if (atomic_compare_exchange_strong(&monitor_stands, &wanted, STANDS))
        while (atomic_load(&monitor_stands) == STANDS)
            usleep(1000);
    uint64_t request = atomic_fetch_add(&harness_clock_requests, 1), now = sonde_now_ns();
    be_in_runtime();
    if (atomic_load(&device) && request >= atomic_load(&harness_clock_late))
        sonde_clock_pair(atomic_load(&device), now, now, atomic_load(&harness_clock_bound_ns));
}

void (*_Atomic harness_on_range)(bool on);

static void range(bool on)
{
    void (*tell)(bool) = atomic_load(&harness_on_range);
    if (tell)
        tell(on);
}

static const char *const names[] = {"", "testLaunch", "testWait", "testAlloc"};

/* ---- a runtime that reports ------------------------------------------------------ */

enum { REPORTS_MAX = 1 << 20 };
static struct sonde_completion reports[REPORTS_MAX];
static _Atomic uint32_t report_count, report_next;

void harness_report(const struct sonde_completion *c)
{
    reports[atomic_load(&report_count) % REPORTS_MAX] = *c;
    atomic_fetch_add(&report_count, 1);
}

static void collect(enum sonde_collect last)
{
    (void)last;
    for (; atomic_load(&report_next) < atomic_load(&report_count); atomic_fetch_add(&report_next, 1))
        sonde_complete(&reports[atomic_load(&report_next) % REPORTS_MAX]);
}

__attribute__((noinline)) bool harness_submit(uint64_t key, uint32_t flags, uint32_t *context, uint64_t *enter_ns)
{
    struct sonde_call call;
    if (!sonde_call_begin(&call, 1u << 24 | API_LAUNCH))
        return false;
    sonde_call_leave(&call);
    sonde_call_submit(&call, &(struct sonde_submit){.kind = SONDE_OP_KERNEL, .key = key, .flags = flags});
    if (context)
        *context = sonde_call_context(&call);
    if (enter_ns)
        *enter_ns = call.enter_ns;
    sonde_call_end(&call);
    return true;
}

const struct sonde_backend harness_reporting = {
    .size = sizeof(struct sonde_backend),
    .name = "reporting",
    .api_names = names,
    .api_count = 4,
    .collect = collect,
};

/* They take the places of the real backends in the agent's table. */
static const struct sonde_backend asked = {
    .size = sizeof(struct sonde_backend),
    .name = "test",
    .api_names = names,
    .api_count = 4,
    .poll = poll_token,
    .release = release_token,
    .sync_clocks = sync_clocks,
    .range = range,
};
const struct sonde_backend *const sonde_backends[SONDE_BACKENDS_MAX] = {&asked, &harness_reporting};

const char *harness_setup(const char *name, const char *const *extra)
{
    char cwd[2048];
    if (!getcwd(cwd, sizeof cwd))
        abort();
    snprintf(directory, sizeof directory, "%s/%s.sonde-XXXXXX", cwd, name); /* nothing is left there from another run */
    if (!mkdtemp(directory))
        abort();
    setenv("SONDE_OUT", directory, 1);
    for (; extra && *extra; extra++)
        putenv((char *)(uintptr_t)*extra);
    return directory;
}

uint32_t harness_queue(uint32_t flags)
{
    static uint32_t context;
    harness_wait(); /* starts the agent, as any hooked call does */
    if (!atomic_load(&device))
        atomic_store(&device, sonde_device_add(&(struct sonde_device_info){.platform = "test", .name = "test device"}));
    return sonde_lane_add(atomic_load(&device), ++context, flags, "queue");
}

__attribute__((noinline)) bool harness_launch(uint32_t lane, enum sonde_op_kind kind, uint64_t bytes, bool done)
{
    struct sonde_call call;
    if (!sonde_call_begin(&call, API_LAUNCH))
        return false;
    uint64_t token = atomic_fetch_add(&next_token, 1);
    __atomic_store_n(&enter_of[token & 0xffffff], call.enter_ns, __ATOMIC_RELAXED);
    sonde_call_leave(&call);
    sonde_call_submit(&call, &(struct sonde_submit){.kind = kind, .lane = lane, .bytes = bytes, .token = done ? token | DONE_BIT : token});
    sonde_call_end(&call);
    return true;
}

void harness_complete_all(void)
{
    atomic_store(&completed_up_to, atomic_load(&next_token));
}

__attribute__((noinline)) bool harness_wait(void)
{
    struct sonde_call call;
    if (!sonde_call_begin(&call, API_WAIT))
        return false;
    sonde_call_leave(&call);
    sonde_call_end(&call);
    return true;
}

struct sonde_measurement *harness_open(void)
{
    struct sonde_measurement *m = NULL;
    struct sonde_diag diag = {0};
    if (sonde_measurement_open(directory, &m, &diag) != 0)
        fprintf(stderr, "open: %s: %s %s\n", diag.where, diag.what, diag.why);
    return m;
}

/* Not sonde__agent_flush(), which a program at its end cannot wait long for: a
 * monitor thread that the machine lets wait is no failure here. */
void harness_flush(void)
{
    if (!sonde__monitor_flush(SONDE_FLUSH_CLOSE, HARNESS_PATIENCE_S * 1000u))
        fprintf(stderr, "the monitor thread did not answer\n");
}

struct sonde_measurement *harness_finish(void)
{
    harness_flush();
    return harness_open();
}

void harness_remove(void)
{
    char command[5000];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", directory);
}

int harness_in_child(void (*body)(void))
{
    enum { SECONDS_MAX = 4 * HARNESS_PATIENCE_S }; /* below the test's own limit */
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        body();
        _exit(0);
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

uint64_t harness_profile_count(const struct sonde_process *p)
{
    uint64_t n = 0;
    for (uint32_t i = 1; i < p->profile_count; i++)
        n += p->profiles[i].lane ? p->profiles[i].count : 0;
    return n;
}

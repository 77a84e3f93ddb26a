/* attach.c - takes hold of CUDA, and gives the agent its ops table.
 *
 * The driver loads the library that CUDA_INJECTION64_PATH names, and calls its
 * InitializeInjection, while cuInit runs. From there CUPTI is opened, asked for
 * callbacks of the driver calls in calls.h and for records of finished work. If
 * any of it fails the program goes on, and a note says why.
 *
 * Callbacks of the driver's calls, not of the runtime's: each runtime call that
 * makes work enters the driver, programs that use the driver alone are seen too,
 * and one callback is enough. Correlation ids are the driver call's; that the
 * records carry the same is proved with the first of them (activity.c).
 */
#include "sanitizer.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RUNTIME_FIRST 1024u /* numbers of driver calls are below */
#define API_COUNT     2048u
#define PATIENCE_S  2u /* with CUPTI, as it lets go of us */
#define PATIENCE_NS (PATIENCE_S * 1000000000u)

__attribute__((visibility("default"))) int InitializeInjection(void);

SONDE__HOT_DATA _Atomic bool sonde__cuda_on;

static const char *names[API_COUNT];
SONDE__HOT_DATA static uint64_t has_name[API_COUNT / 64]; /* a bit for each name */
SONDE__HOT_DATA static uint32_t api_base; /* our place in the agent's table of backends, in the high byte */
static _Atomic bool reporting; /* activity kinds are enabled */
SONDE__HOT_DATA static _Atomic uint64_t newest_id = 1ull << 32;

/* ---- call numbers and correlation ids --------------------------------------------- */

__attribute__((hot)) uint32_t sonde__cuda_api(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const uint32_t number = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? RUNTIME_FIRST + id : id;
    return api_base | (number < API_COUNT && has_name[number / 64] >> number % 64 & 1 ? number : 0);
}

__attribute__((hot)) uint64_t sonde__cuda_extend(uint32_t id)
{
    const uint64_t newest = atomic_load_explicit(&newest_id, memory_order_relaxed);
    const uint64_t full = newest + (uint64_t)(int64_t)(int32_t)(id - (uint32_t)newest);
    /* Seldom, so that the threads do not fight for the line. */
    if ((int64_t)(full - newest) > 1 << 20)
        atomic_store_explicit(&newest_id, full, memory_order_relaxed);
    return full;
}

/* The runtime's names end in the version that introduced the call: _v7000. */
static const char *shortened(const char *name)
{
    static char room[64 * 1024];
    static size_t used;
    const char *at = strstr(name, "_v");
    const size_t digits = at ? strspn(at + 2, "0123456789") : 0;
    if (digits < 4 || used + strlen(name) + 1 > sizeof room)
        return name;
    char *mine = room + used;
    used += (size_t)snprintf(mine, sizeof room - used, "%.*s%s", (int)(at - name), name, at + 2 + digits) + 1;
    return mine;
}

static void name_calls(void)
{
    const char *name;
    for (uint32_t id = 1; id < RUNTIME_FIRST; id++) {
        if (sonde__cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && name)
            names[id] = name;
        if (sonde__cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, id, &name) == CUPTI_SUCCESS && name)
            names[RUNTIME_FIRST + id] = shortened(name);
    }
    names[0] = "";
    for (uint32_t i = 0; i < API_COUNT; i++)
        if (names[i])
            has_name[i / 64] |= 1ull << i % 64;
    for (uint32_t i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i] == &sonde_backend_cuda)
            api_base = i << 24;
}

/* ---- what is asked of CUPTI --------------------------------------------------------- */

static bool env_is(const char *name, const char *value)
{
    const char *text = sonde_setting(name);
    return text && strcmp(text, value) == 0;
}

static bool env_number(const char *name)
{
    const char *text = sonde_setting(name);
    return text && strtoull(text, NULL, 10) != 0;
}

static bool captures_range;

bool sonde__cuda_captures_range(void)
{
    return captures_range;
}

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, /* never KERNEL: it makes kernels run one after the other */
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};

static void report(bool on)
{
    const bool whole = env_is("SONDE_GRAPH", "graph");
    if (atomic_exchange(&reporting, on) == on)
        return;
    sonde__cuda_quiet(true);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const CUptiResult result =
            on ? sonde__cupti.cuptiActivityEnable(kinds[i]) : sonde__cupti.cuptiActivityDisable(kinds[i]);
        if (result != CUPTI_SUCCESS && i < 4)
            sonde_note("CUPTI cannot report activity of kind %d: error %d", (int)kinds[i], (int)result);
    }
    sonde__cuda_managed_report(on);
    if (whole)
        on ? sonde__cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
           : sonde__cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    sonde__cuda_quiet(false);
}

static void enable_calls(CUpti_SubscriberHandle subscriber)
{
    sonde_cuda_enable_calls(sonde__cupti.cuptiEnableCallback, subscriber);
    if (sonde__cuda_twins.coarse)
        sonde_cuda_enable_values_calls(sonde__cupti.cuptiEnableCallback, subscriber);
    if (env_is("SONDE_API", "all")) {
        sonde__cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
        sonde__cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    }
}

static CUpti_SubscriberHandle subscribed;

void sonde__cuda_follow_runtime(void)
{
    sonde__cuda_outermost_names();
    sonde__cupti.cuptiEnableDomain(1, subscribed, CUPTI_CB_DOMAIN_RUNTIME_API);
}

/* ---- attaching -------------------------------------------------------------------------- */

/* Nothing has started the agent yet: a call does, so that the note has a place. */
static void note(const char *what, const char *text)
{
    struct sonde_call call;
    if (sonde_call_begin(&call, api_base)) {
        sonde_note("%s: %s", what, text);
        sonde_call_leave(&call);
        sonde_call_end(&call);
    } else if (sonde_is_attached()) { /* recording is off until a runtime is hooked */
        sonde_note("%s: %s", what, text);
    }
}

static void complain(const char *text)
{
    note("CUDA is not recorded", text);
}

/* CUPTI has one user per process; who it is can be guessed from what is loaded. */
static const char *holder(char *room, size_t size)
{
    static const struct { const char *library, *name; } tools[] = {
        {"libToolsInjection", "Nsight Systems"},
        {"libcudaInjection", "Nsight Compute"},
        {"libsanitizer-collection", "Compute Sanitizer"},
        {"libsanitizer-public", "Compute Sanitizer"},
        {"libTAU", "TAU"},
        {"libhpcrun", "HPCToolkit"},
        {"libproton", "Triton's Proton"},
    };
    const char *named = getenv("SONDE_CUDA_INJECTION");
    if (named && *named) {
        snprintf(room, size, "%s, which CUDA_INJECTION64_PATH names", named);
        return room;
    }
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (sonde__cuda_loaded(tools[i].library))
            return tools[i].name;
    if (getenv("NSYS_PROFILING_SESSION_ID"))
        return "Nsight Systems";
    return "the program itself or another tool in it";
}

static void complain_of(const char *what, CUptiResult result)
{
    char text[220], room[120];
    const char *why = "";
    sonde__cupti.cuptiGetResultString(result, &why);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        snprintf(text, sizeof text, "CUPTI is in use by %s, and allows only one user at a time; run without it",
                 holder(room, sizeof room));
    else
        snprintf(text, sizeof text, "%s: %s (%d)", what, why, (int)result);
    complain(text);
}

static void begin_values(void)
{
    char room[120];
    const char *values = sonde_setting("SONDE_VALUES");
    const unsigned wanted = values ? (unsigned)strtoul(values, NULL, 10) : 0;
    const char *why = wanted ? sonde__cuda_values_begin(wanted, room, sizeof room) : NULL;
    if (why)
        note("values are not looked at", why);
}

static void begin_counters(void)
{
    char room[300];
    const char *list = getenv("SONDE_COUNTERS"), *interval = getenv("SONDE_COUNTER_SERIES");
    const uint64_t interval_ns = interval ? strtoull(interval, NULL, 10) : 0;
    const char *why = NULL;
    if (interval_ns)
        why = sonde__cuda_series_begin(list ? list : "", interval_ns, room, sizeof room);
    else if (list && *list)
        why = sonde__cuda_counters_begin(list, env_number("SONDE_REPLAY"), room, sizeof room);
    if (why)
        note("counters are not measured", why);
}

static void begin_stalls(void)
{
    char room[300];
    const char *text = getenv("SONDE_PC");
    const uint64_t cycles = text ? strtoull(text, NULL, 10) : 0;
    const char *why = cycles ? sonde__cuda_stalls_begin(cycles, room, sizeof room) : NULL;
    if (why)
        note("kernels are not sampled", why);
}

/* The Sanitizer's library in CUPTI's place. Without patches operations are recorded nevertheless. */
static void attach_sanitizer(void)
{
    char room[PATH_MAX];
    const char *why = sonde__sanitizer_attach(room, sizeof room);
    if (why) {
        names[0] = "";
        complain(why);
        return;
    }
    name_calls();
    sonde__cuda_read_driver();
    captures_range = env_is("SONDE_CAPTURE", "cuda");
    why = sonde__sanitizer_values(room, sizeof room);
    atomic_store(&sonde__cuda_on, true);
    if (why)
        note("kernels are not looked at", why);
    note("operations have no device times", "with the engine sanitizer CUDA reports none");
}

static void attach(void)
{
    char room[200];
    if (env_is("SONDE_VALUES_ENGINE", "sanitizer")) {
        attach_sanitizer();
        return;
    }
    const char *why = sonde__cupti_open(room, sizeof room);
    if (why) {
        names[0] = "";
        complain(why);
        return;
    }
    name_calls();
    CUptiResult result = sonde__cupti.cuptiSubscribe(&subscribed, sonde__cuda_callback, NULL);
    if (result != CUPTI_SUCCESS) {
        complain_of("cuptiSubscribe", result);
        return;
    }
    result = sonde__cupti.cuptiActivityRegisterCallbacks(sonde__cuda_buffer_requested, sonde__cuda_buffer_completed);
    if (result != CUPTI_SUCCESS) {
        complain_of("cuptiActivityRegisterCallbacks", result);
        sonde__cupti.cuptiUnsubscribe(subscribed);
        return;
    }
    sonde__cuda_read_driver();
    begin_values();
    begin_counters();
    begin_stalls();
    atomic_store(&sonde__cuda_on, true);
    captures_range = env_is("SONDE_CAPTURE", "cuda");
    enable_calls(subscribed);
    if (!env_number("SONDE_START_OFF") && !env_number("SONDE_DELAY_MS"))
        report(true);
    sonde__cuda_clock_pair();
}

/* Another tool that the user named in CUDA_INJECTION64_PATH, which `record`
 * replaced. It goes first: when it takes CUPTI, that is what the user asked for,
 * and our note says so. */
static void chain(void)
{
    const char *path = getenv("SONDE_CUDA_INJECTION");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*next)(void) = NULL;
    if (library)
        *(void **)&next = dlsym(library, "InitializeInjection");
    if (next)
        next();
}

int InitializeInjection(void)
{
    static _Atomic int attached_by;
    const int self = getpid();
    int nobody = 0;
    if (!getenv("SONDE_OUT") || !atomic_compare_exchange_strong(&attached_by, &nobody, self))
        return 1;
    chain();
    sonde__cuda_quiet(true); /* what the attaching calls in the driver is ours */
    attach();
    sonde__cuda_quiet(false);
    return 1;
}

/* ---- in a program that runs ------------------------------------------------------------------- */

/* A thread that lets go of CUPTI when it is told to: all buffers come back, and CUPTI forgets us. The monitor cannot, whose table of descriptors
 * is not the program's (src/agent/store/files.c): CUPTI's own would stay open in the program, and CUPTI could not begin again. */
static struct {
    pthread_t thread;
    sem_t told;
    bool runs, holds; /* holds: CUPTI is subscribed to */
    bool gone;        /* the thread's, until it has ended */
} leaver;

static void *leaver_main(void *unused)
{
    CUptiResult (*finalize)(void) = NULL;
    (void)unused;
    pthread_setname_np(pthread_self(), "sonde-leaves");
    sonde_tool_thread();
    sonde__cuda_quiet(true);
    while (sem_wait(&leaver.told) != 0)
        ;
    leaver.gone = !leaver.holds;
    if (leaver.gone)
        return NULL;
    sonde__cupti.cuptiActivityFlushAll(1);
    const bool unsubscribed = sonde__cupti.cuptiUnsubscribe(subscribed) == CUPTI_SUCCESS;
    void *library = dlopen(sonde__cupti.path, RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        *(void **)&finalize = dlsym(library, "cuptiFinalize");
    leaver.gone = unsubscribed && finalize && finalize() == CUPTI_SUCCESS;
    return NULL;
}

static bool start_leaver(void)
{
    sigset_t all, before;
    sem_init(&leaver.told, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    leaver.runs = pthread_create(&leaver.thread, NULL, leaver_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!leaver.runs)
        sonde_note("CUDA is not recorded: the program can have no more threads");
    return leaver.runs;
}

/* CUPTI can be subscribed to at any time, from any thread, and be finalized again; contexts and streams are asked about as calls and
 * records name them. */
static bool attach_late(void)
{
    if (!sonde__cuda_loaded("libcuda.so") || !start_leaver())
        return false;
    sonde__cuda_quiet(true);
    attach();
    sonde__cuda_quiet(false);
    return atomic_load(&sonde__cuda_on);
}

/* False: some of it still leads here. */
static bool detach(void)
{
    struct timespec until;
    if (!leaver.runs)
        return true;
    leaver.holds = atomic_exchange(&sonde__cuda_on, false);
    if (leaver.holds && !sonde__cuda_flush_end(PATIENCE_NS))
        return false;
    sem_post(&leaver.told);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return pthread_timedjoin_np(leaver.thread, NULL, &until) == 0 && leaver.gone;
}

/* ---- for the agent --------------------------------------------------------------------------- */

/* Of a program that is attached to nothing is switched off: CUPTI would not report what runs just now, and lets go soon. */
static void range(bool on)
{
    if (atomic_load(&sonde__cuda_on) && (on || !sonde_is_attached()))
        report(on);
}

/* CUDA does not work in a child of a process that used it, and CUPTI's threads are not there. */
static void forked(void)
{
    atomic_store(&sonde__cuda_on, false);
    sonde__cuda_clock_forget();
    sonde__cuda_flush_forget();
    sonde__cuda_series_forget();
    sonde__cuda_stalls_forget();
}

static void release(uint64_t token)
{
    (void)token; /* completions come by key */
}

const struct sonde_backend sonde_backend_cuda = {
    .size = sizeof(struct sonde_backend),
    .name = "cuda",
    .api_names = names,
    .api_count = API_COUNT,
    .release = release,
    .sync_clocks = sonde__cuda_clock_sync,
    .collect = sonde__cuda_collect,
    .device_here = sonde__cuda_device_here,
    .range = range,
    .attach = attach_late,
    .detach = detach,
    .forked = forked,
};

/* counting_agent.c - an agent that only counts: include/sonde/backend.h in 300 lines.
 *
 * Linked with the OpenCL backend it is a loader layer that the tests run
 * programs under. It keeps every submission in an array, polls as the agent
 * does (in sonde_harvest, and at exit), checks what it is told, and writes
 * what it counted to the file $COUNT_OUT, one `key value...` per line.
 *
 * Threads: one mutex. Inside a hook of the same thread nothing is recorded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/backend.h>

#include "agent/preload/preload.h"

enum {
    SUBMITS_MAX = 1 << 20,
    STRINGS_MAX = 4096,
    WORKS_MAX = 4096,
    API_MAX = 256,
    OBJECTS_MAX = 4096,
};

struct submitted {
    struct sonde_submit what;
    uint64_t enter_ns, leave_ns;
    bool open;
};

struct work {
    uint32_t dims;
    size_t global[3], local[3];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside;
static bool recording = true;
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void report(void);

static struct submitted *submits;
static size_t submit_count, open_from, open_count;
static uint64_t count_of[SONDE_OP_KIND_COUNT], bytes_of[SONDE_OP_KIND_COUNT];
static uint64_t done, failed, no_times, without_token, bad_order, out_of_call, released_unasked;
static uint64_t api_count[API_MAX], kernel_count[STRINGS_MAX], work_calls;
static char *strings[STRINGS_MAX];
static struct work works[WORKS_MAX];
static uint32_t string_count = 1, work_count = 1, lane_count = 1, device_count = 1, object_count = 1;
static uint64_t told_ends[SONDE_MEMORY_COUNT][SONDE_MEMORY_COUNT]; /* of operations, by source and target */
static uint64_t objects_freed, object_bytes, clock_pairs, hidden_uses;
static struct {
    enum sonde_object_kind kind;
    uint64_t bytes, address, uses;
    uint32_t parent;
    bool freed;
} object_of[OBJECTS_MAX];
static char notes[4096], lanes[8192], devices[2048], waits[32768]; /* what is longer is cut */

uint64_t sonde_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void append(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* ---- calls ------------------------------------------------------------------ */

bool sonde_recording(void)
{
    return recording;
}

static void drain(void)
{
    for (int i = 0; i < 30000 && sonde_harvest(true) > 0; i++)
        usleep(10000);
}

/* Work under way is waited for before any exit handler: later the runtime's
 * compiler may be gone under the threads that use it. */
static void begin(void)
{
    struct sonde_shared *shared = dlsym(RTLD_DEFAULT, "sonde__shared");
    if (shared)
        shared->before_exit = drain;
    atexit(report);
}

bool sonde_call_begin(struct sonde_call *call, uint32_t api)
{
    if (inside || !recording)
        return false;
    pthread_once(&begun, begin);
    inside = true;
    *call = (struct sonde_call){.api = api, .enter_ns = sonde_now_ns()};
    return true;
}

void sonde_call_leave(struct sonde_call *call)
{
    call->leave_ns = sonde_now_ns();
}

uint64_t sonde_call_submit(struct sonde_call *call, const struct sonde_submit *submit)
{
    static uint64_t correlation;
    pthread_mutex_lock(&lock);
    if (!submits)
        submits = calloc(SUBMITS_MAX, sizeof *submits);
    out_of_call += call->submitted || call->leave_ns < call->enter_ns || call->leave_ns == 0;
    call->submitted = true;
    count_of[submit->kind]++;
    bytes_of[submit->kind] += submit->bytes;
    if (submit->kind == SONDE_OP_KERNEL)
        kernel_count[submit->name]++;
    if (!submit->token) {
        without_token++;
    } else if (submits && submit_count < SUBMITS_MAX) {
        submits[submit_count++] =
            (struct submitted){*submit, call->enter_ns, call->leave_ns, true};
        open_count++;
    } else {
        released_unasked++;
        sonde_backend_opencl.release(submit->token);
    }
    uint64_t given = ++correlation;
    if (submit->object)
        object_of[submit->object % OBJECTS_MAX].uses++;
    pthread_mutex_unlock(&lock);
    return given;
}

/* In words: `wait WAITER op OPERATION`, `wait WAITER lane LANE`. */
void sonde_call_waits(struct sonde_call *call, const struct sonde_wait *wait)
{
    (void)call;
    pthread_mutex_lock(&lock);
    append(waits, sizeof waits, "wait %llu %s %llu\n", (unsigned long long)wait->waiter,
           wait->op ? "op" : (wait->lane ? "lane" : "device"),
           (unsigned long long)(wait->op ? wait->op : (wait->lane ? wait->lane : wait->device)));
    pthread_mutex_unlock(&lock);
}

static bool is_before(const uint32_t *objects, uint32_t count, uint32_t object)
{
    for (uint32_t i = 0; i < count; i++)
        if (objects[i] == object)
            return true;
    return false;
}

void sonde_call_uses(const struct sonde_call *call, const uint32_t *objects, uint32_t count)
{
    (void)call;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        if (objects[i] && !is_before(objects, i, objects[i]))
            object_of[objects[i] % OBJECTS_MAX].uses++;
    pthread_mutex_unlock(&lock);
}

void sonde_call_end(struct sonde_call *call)
{
    pthread_mutex_lock(&lock);
    api_count[call->api]++;
    pthread_mutex_unlock(&lock);
    inside = false;
}

/* ---- harvest -------------------------------------------------------------------- */

/* On one clock: the call began, the device got it, ran it, and it is over by
 * now; within $COUNT_SLACK_NS where a clock is only known so well. */
static bool in_order(const struct submitted *submit, const struct sonde_times *times)
{
    const char *text = getenv("COUNT_SLACK_NS");
    const uint64_t slack_ns = text ? strtoull(text, NULL, 10) : 0;
    return submit->enter_ns <= times->queued_ns + slack_ns &&
           times->queued_ns <= submit->leave_ns + slack_ns &&
           times->queued_ns <= times->submit_ns && times->submit_ns <= times->start_ns &&
           times->start_ns <= times->end_ns && times->end_ns <= sonde_now_ns() + slack_ns;
}

static void ask(struct submitted *submit)
{
    struct sonde_times times;
    switch (sonde_backend_opencl.poll(submit->what.token, submit->what.lane, &times)) {
    case SONDE_POLL_PENDING:
        return;
    case SONDE_POLL_DONE:
        done++;
        bad_order += !in_order(submit, &times);
        break;
    case SONDE_POLL_FAILED:
        failed++;
        break;
    case SONDE_POLL_NO_TIMES:
        no_times++;
        break;
    }
    submit->open = false;
    open_count--;
}

size_t sonde_harvest(bool all)
{
    (void)all;
    const bool nested = inside;
    inside = true; /* releasing may run callbacks of the program */
    pthread_mutex_lock(&lock);
    for (size_t i = open_from; i < submit_count; i++)
        if (submits[i].open)
            ask(&submits[i]);
    while (open_from < submit_count && !submits[open_from].open)
        open_from++;
    const size_t left = open_count;
    pthread_mutex_unlock(&lock);
    inside = nested;
    return left;
}

void sonde_op_unrecorded(void)
{
}

bool sonde_token_held(uint64_t token)
{
    bool held = false;
    sonde_harvest(true);
    pthread_mutex_lock(&lock);
    for (size_t i = open_from; i < submit_count; i++)
        held |= submits[i].open && submits[i].what.token == token;
    pthread_mutex_unlock(&lock);
    return held;
}

/* ---- tables ---------------------------------------------------------------------- */

uint32_t sonde_string(const char *bytes, size_t length)
{
    pthread_mutex_lock(&lock);
    uint32_t id = 1;
    while (id < string_count &&
           (strlen(strings[id]) != length || memcmp(strings[id], bytes, length) != 0))
        id++;
    if (id == string_count && id < STRINGS_MAX)
        strings[string_count++] = strndup(bytes, length);
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t sonde_device_add(const struct sonde_device_info *info)
{
    pthread_mutex_lock(&lock);
    const uint32_t id = device_count++;
    append(devices, sizeof devices, "device %u kind %u %s\n", id, info->kind, info->name);
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t sonde_lane_add(uint32_t device, uint32_t context, uint32_t flags, const char *name)
{
    pthread_mutex_lock(&lock);
    const uint32_t id = lane_count++;
    append(lanes, sizeof lanes, "lane %u device %u context %u flags %u %s\n", id, device, context,
           flags, name);
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t sonde_work_add(uint32_t dims, const size_t *global, const size_t *local)
{
    struct work work = {.dims = dims};
    memcpy(work.global, global, dims * sizeof *global);
    if (local)
        memcpy(work.local, local, dims * sizeof *local);
    pthread_mutex_lock(&lock);
    work_calls++;
    uint32_t id = 1;
    while (id < work_count && memcmp(&works[id], &work, sizeof work) != 0)
        id++;
    if (id == work_count && id < WORKS_MAX)
        works[work_count++] = work;
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t sonde_work_intern(const struct sonde_work *work)
{
    pthread_mutex_lock(&lock);
    told_ends[work->source][work->target]++;
    pthread_mutex_unlock(&lock);
    return WORKS_MAX + 1u + (uint32_t)work->source * SONDE_MEMORY_COUNT + work->target;
}

uint32_t sonde_object_add(const struct sonde_call *call, enum sonde_object_kind kind,
                          uint64_t bytes, uint64_t address)
{
    (void)call;
    pthread_mutex_lock(&lock);
    const uint32_t id = object_count++;
    object_bytes += bytes;
    object_of[id % OBJECTS_MAX].kind = kind;
    object_of[id % OBJECTS_MAX].bytes = bytes;
    object_of[id % OBJECTS_MAX].address = address;
    pthread_mutex_unlock(&lock);
    return id;
}

void sonde_object_place(uint32_t object, uint32_t device, uint32_t parent)
{
    (void)device;
    object_of[object % OBJECTS_MAX].parent = parent;
}

void sonde_object_uses_hidden(void)
{
    hidden_uses++;
}

uint32_t sonde_object_at(uint64_t address)
{
    uint32_t found = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t id = 1; id < object_count && id < OBJECTS_MAX; id++) {
        const bool is_handle = object_of[id].kind == SONDE_OBJECT_BUFFER || object_of[id].kind == SONDE_OBJECT_IMAGE ||
                               object_of[id].kind == SONDE_OBJECT_PIPE;
        if (!is_handle && !object_of[id].freed && address - object_of[id].address < object_of[id].bytes)
            found = id;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* From the runtime too, also while we hold the lock in a release. */
void sonde_object_free(uint32_t object)
{
    object_of[object % OBJECTS_MAX].freed = true;
    __atomic_fetch_add(&objects_freed, 1, __ATOMIC_RELAXED);
}

void sonde_clock_pair(uint32_t device, uint64_t host_ns, uint64_t device_ns, uint64_t bound_ns)
{
    (void)device, (void)host_ns, (void)device_ns, (void)bound_ns;
    clock_pairs++;
}

void sonde_note(const char *format, ...)
{
    va_list arguments;
    char text[256];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    append(notes, sizeof notes, "note %s\n", text);
    pthread_mutex_unlock(&lock);
}

/* ---- the report -------------------------------------------------------------------- */

static void report_counts(FILE *out)
{
    static const char *const kinds[] = {
#define X(name, text, ...) text,
        SONDE_OP_KIND_MAP(X)
#undef X
    };
    for (int i = 0; i < SONDE_OP_KIND_COUNT; i++)
        if (count_of[i])
            fprintf(out, "op %s %llu bytes %llu\n", kinds[i], (unsigned long long)count_of[i],
                    (unsigned long long)bytes_of[i]);
    static const char *const memories[] = {
#define X(name, text) text,
        SONDE_MEMORY_MAP(X)
#undef X
    };
    for (int i = 0; i < SONDE_MEMORY_COUNT * SONDE_MEMORY_COUNT; i++)
        if (told_ends[i / SONDE_MEMORY_COUNT][i % SONDE_MEMORY_COUNT])
            fprintf(out, "told %s %s %llu\n", memories[i / SONDE_MEMORY_COUNT], memories[i % SONDE_MEMORY_COUNT],
                    (unsigned long long)told_ends[i / SONDE_MEMORY_COUNT][i % SONDE_MEMORY_COUNT]);
    for (uint32_t i = 0; i < string_count; i++)
        if (kernel_count[i])
            fprintf(out, "kernel %s %llu\n", i ? strings[i] : "?",
                    (unsigned long long)kernel_count[i]);
    for (uint32_t i = 0; i < sonde_backend_opencl.api_count; i++)
        if (api_count[i])
            fprintf(out, "api %s %llu\n", sonde_backend_opencl.api_names[i],
                    (unsigned long long)api_count[i]);
}

/* A runtime's thread may let go of the last objects only after the program has:
 * wait for as many as the test says must die. */
static void wait_for_deaths(void)
{
    const char *text = getenv("COUNT_DEATHS");
    const uint64_t expected = text ? strtoull(text, NULL, 10) : 0;
    for (int i = 0; i < 60000 && __atomic_load_n(&objects_freed, __ATOMIC_RELAXED) < expected; i++)
        usleep(5000);
}

static void report(void)
{
    const char *path = getenv("COUNT_OUT");
    FILE *out = path ? fopen(path, "ae") : NULL;
    if (!out)
        return;
    sonde_harvest(true);
    wait_for_deaths();
    sonde_backend_opencl.sync_clocks();
    report_counts(out);
    fputs(devices, out);
    fputs(lanes, out);
    fputs(notes, out);
    fputs(waits, out);
    for (uint32_t id = 1; id < object_count && id < OBJECTS_MAX; id++)
        if (object_of[id].uses)
            fprintf(out, "used %u %llu%s\n", id, (unsigned long long)object_of[id].uses,
                    object_of[id].parent ? " part" : "");
    const struct {
        const char *name;
        uint64_t value;
    } totals[] = {
        {"done", done},
        {"failed", failed},
        {"no_times", no_times},
        {"pending", open_count},
        {"without_token", without_token},
        {"bad_order", bad_order},
        {"out_of_call", out_of_call},
        {"released_unasked", released_unasked},
        {"objects", object_count - 1},
        {"object_bytes", object_bytes},
        {"objects_freed", objects_freed},
        {"works", work_count - 1},
        {"work_calls", work_calls},
        {"clock_pairs", clock_pairs},
        {"hidden_uses", hidden_uses},
    };
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        fprintf(out, "%s %llu\n", totals[i].name, (unsigned long long)totals[i].value);
    fclose(out);
}

/* ---- values: nobody asks for them here ------------------------------------------------------- */

bool sonde_values_wanted(unsigned what)
{
    (void)what;
    return false;
}

uint64_t sonde_values_memory(void)
{
    return 0;
}

bool sonde_values_host_take(uint64_t bytes)
{
    (void)bytes;
    return false;
}

void sonde_values_host_give(uint64_t bytes)
{
    (void)bytes;
}

bool sonde_object_find(uint32_t object, struct sonde_object_info *out)
{
    (void)object;
    (void)out;
    return false;
}

uint32_t sonde_call_operation(const struct sonde_call *call, enum sonde_op_kind kind, uint32_t name)
{
    (void)call;
    (void)kind;
    return name;
}

void sonde_value_changed(const struct sonde_value_change *change)
{
    (void)change;
}

void sonde_value_duplicate(uint32_t operation, uint32_t object, uint32_t other, uint64_t bytes)
{
    (void)operation;
    (void)object;
    (void)other;
    (void)bytes;
}

void sonde_value_flow(uint32_t operation, uint32_t object, uint64_t bytes, unsigned how)
{
    (void)operation;
    (void)object;
    (void)bytes;
    (void)how;
}

void sonde_value_written(uint32_t operation, uint32_t object, uint32_t file, uint32_t line)
{
    (void)operation;
    (void)object;
    (void)file;
    (void)line;
}

void sonde_value_read(uint32_t operation, uint32_t object, uint32_t element_bytes)
{
    (void)operation;
    (void)object;
    (void)element_bytes;
}

void sonde_value_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine)
{
    (void)operation;
    (void)why;
    (void)engine;
}

uint32_t sonde_values_every(void)
{
    return 0;
}

void sonde_value_blocks(uint32_t operation, uint64_t blocks, uint64_t looked_at)
{
    (void)operation;
    (void)blocks;
    (void)looked_at;
}

enum sonde_value_missed sonde_value_choose(uint32_t operation, uint32_t name, uint64_t shape)
{
    (void)operation;
    (void)name;
    (void)shape;
    return SONDE_VALUE_MISSED_NONE;
}

uint64_t sonde_remote_cells(void)
{
    return 0;
}

bool sonde_is_waiting(void)
{
    return false;
}

uint32_t sonde_objects_named(void)
{
    return 0;
}

uint32_t sonde_remote_array_add(const struct sonde_remote_array *array)
{
    (void)array;
    return 0;
}

bool sonde_remote_run_add(uint32_t array, enum sonde_cell_accesses kind, uint32_t first, uint32_t count, uint64_t bytes)
{
    (void)array, (void)kind, (void)first, (void)count, (void)bytes;
    return false;
}

void sonde_remote_array_read(uint32_t array)
{
    (void)array;
}

bool sonde_object_is_named(uint32_t object)
{
    (void)object;
    return false;
}

uint32_t sonde_remote_group(uint32_t operation)
{
    (void)operation;
    return 0;
}

void sonde_remote_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group)
{
    (void)operation;
    (void)why;
    (void)engine;
    (void)group;
}

uint32_t sonde_remote_add(const struct sonde_remote_access *access)
{
    (void)access;
    return 0;
}

void sonde_remote_seen(uint32_t row, uint64_t threads)
{
    (void)row;
    (void)threads;
}

void sonde_value_sites(const uint32_t *objects, uint32_t count, uint32_t *sites)
{
    for (uint32_t i = 0; i < count; i++)
        sites[i] = objects[i];
}
void sonde_value_looked_at(const uint32_t *objects, uint32_t count)
{
    (void)objects;
    (void)count;
}
uint32_t sonde_value_access_add(const struct sonde_value_access *access)
{
    (void)access;
    return 0;
}

void sonde_value_access_seen(uint32_t row, const struct sonde_value_seen *seen)
{
    (void)row;
    (void)seen;
}

const char *sonde_setting(const char *name)
{
    return getenv(name);
}

uint32_t sonde_object_met(enum sonde_object_kind kind, uint64_t bytes, uint64_t address)
{
    (void)kind, (void)bytes, (void)address;
    abort();
}

bool sonde_is_attached(void)
{
    return false;
}

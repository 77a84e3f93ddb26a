/* agent.c - see agent.h. */
#include "agent.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct noted noted;

extern const struct sonde_backend sonde_backend_opencl_absent;
const struct sonde_backend sonde_backend_opencl_absent = {.size = sizeof(struct sonde_backend), .name = "other"};
const struct sonde_backend *const sonde_backends[SONDE_BACKENDS_MAX] = {&sonde_backend_opencl_absent, &sonde_backend_cuda};

void noted_reset(void)
{
    /* What has an id keeps it: the backend remembers ids, as it does of the agent's. */
    noted.off = false;
    noted.calls = noted.ends = noted.submits = noted.completions = noted.frees = noted.notes = noted.pairs = noted.blobs = noted.waits = 0;
    noted.range = 0;
    noted.unplaced = noted.unplaced_named = 0;
    noted.misses = noted.changes = noted.accesses = noted.one_operation = 0;
    noted.vendor_ns = 0;
    noted.host_most = 0;
    memset(noted.submit, 0, sizeof noted.submit);
    memset(noted.wait, 0, sizeof noted.wait);
    memset(noted.completion, 0, sizeof noted.completion);
}

uint64_t sonde_now_ns(void)
{
    return noted.now_ns;
}
bool sonde_recording(void)
{
    return !noted.off;
}
bool sonde_enter(void)
{
    return true;
}

void sonde_recording_set(bool on)
{
    noted.range = on ? 1 : 2;
    noted.off = !on;
}

bool sonde_call_begin(struct sonde_call *call, uint32_t api)
{
    if (noted.off)
        return false;
    memset(call, 0, sizeof *call);
    call->api = api;
    call->enter_ns = noted.now_ns;
    call->node = 1000 + noted.calls; /* a context of its own for each call */
    noted.call[noted.calls % NOTED_MAX].api = api;
    noted.call[noted.calls++ % NOTED_MAX].enter_ns = noted.now_ns;
    return true;
}

void sonde_call_leave(struct sonde_call *call)
{
    call->leave_ns = noted.now_ns;
}
void sonde_call_end(struct sonde_call *call)
{
    (void)call;
    noted.ends++;
}
uint32_t sonde_call_context(const struct sonde_call *call)
{
    return call->node;
}

uint64_t sonde_call_submit(struct sonde_call *call, const struct sonde_submit *submit)
{
    (void)call;
    noted.submit[noted.submits++ % NOTED_MAX] = *submit;
    return noted.submits;
}

void sonde_call_waits(struct sonde_call *call, const struct sonde_wait *wait)
{
    (void)call;
    noted.wait[noted.waits++ % NOTED_MAX] = *wait;
}

void sonde_tool_thread(void) {}

void sonde_complete(const struct sonde_completion *completion)
{
    noted.completion[noted.completions++ % NOTED_MAX] = *completion;
}

void sonde_unplaced(const char *what)
{
    noted.unplaced++;
    if (what)
        snprintf(noted.unplaced_what[noted.unplaced_named++ % NOTED_MAX], sizeof noted.unplaced_what[0], "%s", what);
}

void sonde_vendor_overhead(uint64_t ns)
{
    noted.vendor_ns += ns;
}

uint32_t sonde_string(const char *bytes, size_t length)
{
    for (uint32_t i = 0; i < noted.strings; i++)
        if (strlen(noted.string[i]) == length && memcmp(noted.string[i], bytes, length) == 0)
            return i + 1;
    snprintf(noted.string[noted.strings % NOTED_MAX], sizeof noted.string[0], "%.*s", (int)length, bytes);
    return ++noted.strings;
}

uint32_t sonde_device_add(const struct sonde_device_info *info)
{
    (void)info;
    return ++noted.devices;
}

uint32_t sonde_lane_add(uint32_t device, uint32_t context, uint32_t flags, const char *name)
{
    noted.lane[noted.lanes % NOTED_MAX].flags = flags;
    noted.lane[noted.lanes % NOTED_MAX].device = device;
    noted.lane[noted.lanes % NOTED_MAX].context = context;
    snprintf(noted.lane[noted.lanes % NOTED_MAX].name, sizeof noted.lane[0].name, "%s", name);
    return ++noted.lanes;
}

uint32_t sonde_work_intern(const struct sonde_work *work)
{
    noted.work[noted.works % NOTED_MAX] = *work;
    return ++noted.works;
}

uint32_t sonde_object_add(const struct sonde_call *call, enum sonde_object_kind kind, uint64_t bytes, uint64_t address)
{
    (void)call;
    const uint32_t i = noted.objects % NOTED_MAX;
    noted.object[i].kind = kind;
    noted.object[i].bytes = bytes;
    noted.object[i].address = address;
    return ++noted.objects;
}

void sonde_object_place(uint32_t object, uint32_t device, uint32_t parent)
{
    noted.object[(object - 1) % NOTED_MAX].device = device;
    noted.object[(object - 1) % NOTED_MAX].parent = parent;
}

void sonde_call_uses(const struct sonde_call *call, const uint32_t *objects, uint32_t count)
{
    (void)call;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < i && objects[k] != objects[i])
            k++;
        if (objects[i] && k == i)
            noted.object[(objects[i] - 1) % NOTED_MAX].uses++;
    }
}

uint32_t sonde_object_at(uint64_t address)
{
    for (uint32_t i = noted.objects < NOTED_MAX ? noted.objects : NOTED_MAX; i-- > 0;)
        if (!noted.object[i].freed && noted.object[i].kind != SONDE_OBJECT_ARRAY && address >= noted.object[i].address &&
            address - noted.object[i].address < noted.object[i].bytes)
            return i + 1;
    return 0;
}

bool sonde_object_is_named(uint32_t object)
{
    return object && noted.object[(object - 1) % NOTED_MAX].named;
}

uint32_t sonde_objects_named(void)
{
    return noted.objects_named;
}

void sonde_object_free(uint32_t object)
{
    noted.object[(object - 1) % NOTED_MAX].freed = true;
    noted.frees++;
}

void sonde_clock_pair(uint32_t device, uint64_t host_ns, uint64_t device_ns, uint64_t bound_ns)
{
    (void)device;
    noted.pair[noted.pairs % NOTED_MAX].host_ns = host_ns;
    noted.pair[noted.pairs % NOTED_MAX].device_ns = device_ns;
    noted.pair[noted.pairs++ % NOTED_MAX].bound_ns = bound_ns;
}

void sonde_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(noted.note[noted.notes++ % NOTED_MAX], sizeof noted.note[0], format, args);
    va_end(args);
}

int sonde_blob(const char *name, const void *bytes, size_t size)
{
    (void)name, (void)bytes, (void)size;
    noted.blobs++;
    return 0;
}

/* ---- --values: a test turns it on in the backend ---- */

bool sonde_values_wanted(unsigned what)
{
    return what == SONDE_VALUES_REMOTE && noted.wants_remote;
}

uint64_t sonde_values_memory(void)
{
    return 0;
}

bool sonde_values_host_take(uint64_t bytes)
{
    const bool has = noted.host_bytes <= noted.host_most && bytes <= noted.host_most - noted.host_bytes;
    noted.host_bytes += has ? bytes : 0;
    return has;
}

void sonde_values_host_give(uint64_t bytes)
{
    noted.host_bytes -= bytes;
}

uint32_t sonde_call_operation(const struct sonde_call *call, enum sonde_op_kind kind, uint32_t name)
{
    (void)call, (void)name;
    noted.operation[noted.operations++ % NOTED_MAX] = kind;
    return noted.one_operation ? noted.one_operation : noted.operations;
}

void sonde_value_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine)
{
    noted.missed[noted.misses % NOTED_MAX].operation = operation;
    noted.missed[noted.misses % NOTED_MAX].engine = engine;
    noted.missed[noted.misses++ % NOTED_MAX].why = why;
}

uint32_t sonde_remote_add(const struct sonde_remote_access *access)
{
    noted.remote[noted.remotes % NOTED_MAX] = (struct noted_remote){.access = *access};
    return ++noted.remotes;
}

void sonde_remote_seen(uint32_t row, uint64_t threads)
{
    if (row)
        noted.remote[(row - 1) % NOTED_MAX].threads = threads;
}

uint64_t sonde_remote_cells(void)
{
    return noted.cells;
}

uint32_t sonde_remote_array_add(const struct sonde_remote_array *array)
{
    noted.array[noted.arrays % NOTED_MAX] = (struct noted_array){.array = *array};
    return ++noted.arrays;
}

bool sonde_remote_run_add(uint32_t array, uint32_t kind, uint32_t first, uint32_t count, uint64_t bytes)
{
    noted.run[noted.runs++ % NOTED_MAX] = (struct noted_run){array, kind, first, count, bytes};
    return true;
}

void sonde_remote_array_read(uint32_t array)
{
    noted.array[(array - 1) % NOTED_MAX].read = true;
}

void sonde_counter(uint32_t operation, uint32_t device, uint32_t metric, uint32_t unit, double value)
{
    (void)unit;
    noted.counter[noted.counters++ % NOTED_MAX] = (struct noted_counter){operation, device, metric, value};
}

void sonde_counter_missed(uint32_t operation, uint32_t device, uint64_t operations)
{
    (void)operation, (void)device;
    noted.uncounted += operations;
}

bool sonde_stalled(const struct sonde_stall *where, uint64_t samples, uint64_t idle)
{
    if (noted.stalls_full && where->kind == SONDE_STALL_KIND_SAMPLED)
        return false;
    noted.stall_sum[where->kind] += samples;
    noted.stall_idle += idle;
    noted.stall[noted.stalls++ % NOTED_MAX] = (struct noted_stall){*where, samples, idle};
    return true;
}

void sonde_tool_thread_ran(uint64_t cpu_ns)
{
    (void)cpu_ns;
}

uint32_t sonde_series_add(uint32_t device, const char *metric, const char *unit)
{
    (void)unit;
    snprintf(noted.series_name[noted.series_count], sizeof *noted.series_name, "%u %s", device, metric);
    return ++noted.series_count;
}

void sonde_series_value(uint32_t series, uint64_t from_ns, uint64_t to_ns, double value)
{
    noted.series[noted.series_values++ % NOTED_MAX] = (struct noted_series){series, from_ns, to_ns, value};
}

void sonde_series_lost(uint32_t series, uint64_t values)
{
    (void)series;
    noted.series_lost += values;
}

void sonde_migrated(const struct sonde_migration *migration)
{
    if (noted.migrations < NOTED_MAX)
        noted.migration[noted.migrations++] = *migration;
}

uint32_t sonde_remote_group(uint32_t operation)
{
    (void)operation;
    return 0;
}

void sonde_remote_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group)
{
    (void)group;
    sonde_value_missed(operation, why, engine);
}

enum sonde_value_missed sonde_value_choose(uint32_t operation, uint32_t name, uint64_t shape)
{
    (void)operation, (void)name, (void)shape;
    return SONDE_VALUE_MISSED_NONE;
}

bool sonde_value_scattered(uint32_t operation)
{
    (void)operation;
    return true;
}

bool sonde_value_asked(uint32_t name)
{
    (void)name;
    return true;
}

uint32_t sonde_values_every(void)
{
    return 0;
}

void sonde_value_blocks(uint32_t operation, uint64_t blocks, uint64_t looked_at)
{
    (void)operation, (void)blocks, (void)looked_at;
}

void sonde_value_flow(uint32_t operation, uint32_t object, uint64_t bytes, unsigned how)
{
    (void)operation, (void)object, (void)bytes, (void)how;
}

void sonde_value_written(uint32_t operation, uint32_t object, uint32_t file, uint32_t line)
{
    noted.line[noted.written++ % NOTED_MAX].operation = operation;
    noted.line[(noted.written - 1) % NOTED_MAX].object = object;
    noted.line[(noted.written - 1) % NOTED_MAX].file = file;
    noted.line[(noted.written - 1) % NOTED_MAX].line = line;
}

void sonde_value_read(uint32_t operation, uint32_t object, uint32_t element_bytes)
{
    (void)operation, (void)object, (void)element_bytes;
}

void sonde_value_duplicate(uint32_t operation, uint32_t object, uint32_t other, uint64_t bytes)
{
    (void)operation, (void)object, (void)other, (void)bytes;
    abort();
}

bool sonde_object_find(uint32_t object, struct sonde_object_info *out)
{
    if (!object || object > noted.objects || noted.object[object - 1].freed)
        return false;
    *out = (struct sonde_object_info){noted.object[object - 1].kind, noted.object[object - 1].device, noted.object[object - 1].address,
                                      noted.object[object - 1].bytes};
    return true;
}

void sonde_value_changed(const struct sonde_value_change *change)
{
    noted.change[noted.changes++ % NOTED_MAX] = *change;
}

/* Objects of one kind and size are of one site. */
void sonde_value_sites(const uint32_t *objects, uint32_t count, uint32_t *sites)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = 1;
        while (first < objects[i] && (noted.object[first - 1].kind != noted.object[objects[i] - 1].kind || noted.object[first - 1].bytes != noted.object[objects[i] - 1].bytes))
            first++;
        sites[i] = objects[i] ? first : 0;
    }
}

void sonde_value_looked_at(const uint32_t *objects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (objects[i])
            noted.object[objects[i] - 1].looked_at = true;
}

uint32_t sonde_value_access_add(const struct sonde_value_access *access)
{
    noted.access[noted.accesses % NOTED_MAX].of = *access;
    return ++noted.accesses;
}

void sonde_value_access_seen(uint32_t row, const struct sonde_value_seen *seen)
{
    noted.access[(row - 1) % NOTED_MAX].seen = *seen;
}

uint32_t sonde_value_bits_add(uint32_t access)
{
    (void)access;
    abort();
}

void sonde_value_bits_seen(uint32_t row, const struct sonde_value_bits *bits)
{
    (void)row, (void)bits;
    abort();
}

uint32_t sonde_value_guesses_add(uint32_t access)
{
    (void)access;
    abort();
}

void sonde_value_guesses_seen(uint32_t row, const struct sonde_value_guesses *guesses)
{
    (void)row, (void)guesses;
    abort();
}

const char *sonde_setting(const char *name)
{
    return getenv(name);
}

bool sonde_is_attached(void)
{
    return false;
}

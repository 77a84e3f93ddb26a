/* walker.c - the Python walker as a library that a Python test opens with ctypes.
 *
 * No extension module: the functions take and fill plain buffers, so one
 * library serves every interpreter. What they report is compared by walk.py
 * with what the interpreter says of itself in the same place.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

#include "agent/python.h"
#include "analyze/pyline.h"

#define EXPORT __attribute__((visibility("default")))
enum { DEPTH = 1024, NATIVE_DEPTH = 8192 };

EXPORT int test_attach(char *why, size_t size);
EXPORT int test_attached(void);
EXPORT unsigned test_version(void);
EXPORT int test_walk(char *out, size_t size);
EXPORT int test_walk_max(int max);
EXPORT int test_key(char *out, size_t size);
EXPORT int test_evals(char *out, size_t size, const char *cold);
EXPORT double test_bench(int walks, int with_keys);
EXPORT unsigned test_line(const unsigned char *table, size_t bytes, unsigned version,
                          unsigned first_line, unsigned offset);
EXPORT void test_lines(const unsigned char *table, size_t bytes, unsigned version,
                       unsigned first_line, const unsigned *offsets, unsigned *lines, size_t count);
EXPORT int test_walk_in_c_thread(void);
EXPORT void test_call(void (*callback)(void));

int test_attach(char *why, size_t size)
{
    const char *text;
    int attached = sonde__python_attach(&text);
    snprintf(why, size, "%s", text ? text : "");
    return attached;
}

int test_attached(void)
{
    return sonde__python_attached();
}

unsigned test_version(void)
{
    return sonde__python_version();
}

/* One line per frame: name, file, line, offset, entry, whether `stack` is set. */
int test_walk(char *out, size_t size)
{
    struct sonde_pyframe frames[DEPTH];
    struct sonde_pycode_info info;
    int count = sonde__python_walk(frames, DEPTH);
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count && used < size; i++) {
        if (!frames[i].code) {
            used += (size_t)snprintf(out + used, size - used, "-\t-\t0\t0\t%d\t%d\n", frames[i].entry,
                                     frames[i].stack != 0);
            continue;
        }
        sonde__pycode_read(frames[i].code, &info);
        uint32_t line = sonde_pyline(info.table, info.table_bytes, info.version, info.first_line,
                                     frames[i].offset);
        used += (size_t)snprintf(out + used, size - used, "%s\t%s\t%u\t%d\t%d\t%d\n", info.name,
                                 info.file, line, (int)frames[i].offset, frames[i].entry,
                                 frames[i].stack != 0);
    }
    return used < size ? count : -2;
}

int test_walk_max(int max)
{
    struct sonde_pyframe frames[DEPTH];
    return sonde__python_walk(frames, max < DEPTH ? max : DEPTH);
}

/* Key and content of the innermost frame's code. */
int test_key(char *out, size_t size)
{
    struct sonde_pyframe frame;
    struct sonde_pycode_key key;
    struct sonde_pycode_info info;
    if (sonde__python_walk(&frame, 1) != 1)
        return -1;
    sonde__pycode_key(frame.code, &key);
    sonde__pycode_read(frame.code, &info);
    return snprintf(out, size, "%lx %lx %lx %lx %u %x\t%s\t%s\t%u", (unsigned long)key.code,
                    (unsigned long)key.name, (unsigned long)key.file, (unsigned long)key.table,
                    key.first_line, key.version, info.name, info.file, info.first_line);
}

/* ---- independent truth: the native frames of the eval loop, by the C++ unwinder ---- */

struct native {
    int       count;
    uintptr_t start[NATIVE_DEPTH], sp[NATIVE_DEPTH];
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *data)
{
    struct native *native = data;
    if (native->count == NATIVE_DEPTH)
        return _URC_END_OF_STACK;
    void *start = _Unwind_FindEnclosingFunction((void *)(_Unwind_GetIP(context) - 1));
    native->start[native->count] = (uintptr_t)start;
    native->sp[native->count++] = _Unwind_GetCFA(context);
    return _URC_NO_REASON;
}

/* Compare the groups of Python frames with the native frames of the eval loop:
 * as many groups as calls, and each group's `stack` inside its call's frame.
 * `cold` is the offset from the eval loop of its other part, as hexadecimal text, or "".
 * Returns the calls; -1 when something differs, with the reason in `out`. */
int test_evals(char *out, size_t size, const char *cold)
{
    static _Thread_local struct native native;
    static _Thread_local struct sonde_pyframe frames[DEPTH];
    uintptr_t eval = sonde__python_eval_start(), other = 0;
    long offset;
    int calls = 0, groups = 0, group_at[DEPTH + 1];
    if (sscanf(cold, "%lx", (unsigned long *)&offset) == 1)
        other = eval + (uintptr_t)offset;
    native.count = 0;
    _Unwind_Backtrace(note_frame, &native);
    int count = sonde__python_walk(frames, DEPTH);
    for (int i = 0; i < count; i++)
        if (frames[i].entry)
            group_at[groups++] = i;
    out[0] = 0;
    for (int i = 0; i + 1 < native.count; i++) {
        if (native.start[i] != eval && !(other && native.start[i] == other))
            continue;
        if (calls < groups) {
            uintptr_t stack = frames[group_at[calls]].stack;
            if (stack && (stack < native.sp[i] || stack >= native.sp[i + 1]))
                return snprintf(out, size, "group %d: stack %lx is not in [%lx, %lx)", calls,
                                (unsigned long)stack, (unsigned long)native.sp[i],
                                (unsigned long)native.sp[i + 1]), -1;
        }
        calls++;
    }
    if (calls != groups)
        return snprintf(out, size, "%d calls of the eval loop, %d groups of Python frames", calls,
                        groups), -1;
    return calls;
}

/* ---- the rest ---------------------------------------------------------------- */

/* Nanoseconds per walk in the place of the call. */
double test_bench(int walks, int with_keys)
{
    static _Thread_local struct sonde_pyframe frames[DEPTH];
    struct sonde_pycode_key key;
    struct timespec begin, end;
    volatile uint64_t sink = 0;
    clock_gettime(CLOCK_MONOTONIC_RAW, &begin);
    for (int i = 0; i < walks; i++) {
        int count = sonde__python_walk(frames, DEPTH);
        for (int j = 0; with_keys && j < count; j++) {
            sonde__pycode_key(frames[j].code, &key);
            sink += key.version;
        }
        sink += (uint64_t)count;
    }
    clock_gettime(CLOCK_MONOTONIC_RAW, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / walks;
}

unsigned test_line(const unsigned char *table, size_t bytes, unsigned version, unsigned first_line,
                   unsigned offset)
{
    return sonde_pyline(table, bytes, version, first_line, offset);
}

void test_lines(const unsigned char *table, size_t bytes, unsigned version, unsigned first_line,
                const unsigned *offsets, unsigned *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lines[i] = sonde_pyline(table, bytes, version, first_line, offsets[i]);
}

static void *walk_here(void *result)
{
    struct sonde_pyframe frames[DEPTH];
    *(int *)result = sonde__python_walk(frames, DEPTH);
    return NULL;
}

/* Frames seen in a thread that Python does not know. */
int test_walk_in_c_thread(void)
{
    pthread_t thread;
    int result = -3;
    if (pthread_create(&thread, NULL, walk_here, &result) == 0)
        pthread_join(thread, NULL);
    return result;
}

void test_call(void (*callback)(void))
{
    callback();
}

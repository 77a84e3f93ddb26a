/* walker.c - the Python walker as a library that a Python test opens with ctypes.
 *
 * No extension module: the functions take and fill plain buffers, so one
 * library serves every interpreter. What they report is compared by walk.py
 * with what the interpreter says of itself in the same place.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "agent/stack/python.h"
#include "agent/stack/python_replay.h"
#include "analyze/symbols/pyline.h"

#define EXPORT __attribute__((visibility("default")))
enum { DEPTH = 1024 };
enum { NATIVE_DEPTH = 8192 };

EXPORT int test_attach(char *why, size_t size);
EXPORT int test_attached(void);
EXPORT unsigned test_version(void);
EXPORT int test_walk(char *out, size_t size);
EXPORT int test_replays(int *known, int *current);
EXPORT int test_walk_max(int max);
EXPORT int test_key(char *out, size_t size);
EXPORT int test_evals(char *out, size_t size, const char *cold);
EXPORT double test_bench(int walks, int with_keys);
EXPORT unsigned test_line(const unsigned char *table, size_t bytes, unsigned version,
                          unsigned first_line, unsigned offset);
EXPORT void test_lines(const unsigned char *table, size_t bytes, unsigned version,
                       unsigned first_line, const unsigned *offsets, unsigned *lines, size_t count);
EXPORT int test_walk_in_c_thread(void);
EXPORT int test_quiet(int walks, int disturb);
EXPORT void test_call_in_c_thread(void (*callback)(void));
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

/* ---- replays: what they say of the frames, and what walks said ------------------------ */

enum { PASTS = 64 };

/* A moment of this thread. */
struct past {
    int count, places;
    uint64_t sum;
    uintptr_t place[DEPTH];
    uint64_t frame[DEPTH][4]; /* code object, its number, place of the eval loop, offset and entry */
};

static _Atomic int replays_wrong, replays_known, replays_current;

static void note_frames(struct past *past, const struct sonde_pyframe *frames, int count)
{
    past->count = count;
    for (int i = 0; i < count; i++) {
        struct sonde_pycode_key key;
        sonde__pycode_key(frames[i].code, &key);
        past->frame[i][0] = frames[i].code;
        past->frame[i][1] = key.version ^ (uint64_t)key.first_line << 32 ^ key.name;
        past->frame[i][2] = frames[i].stack;
        past->frame[i][3] = (uint64_t)frames[i].offset << 8 | frames[i].entry;
    }
}

/* Of all moments kept, a replay may find only those that a walk finds to be now; and that is this one. */
static void compare_replays(const struct sonde_pyframe *frames, int count)
{
    static _Thread_local struct past *pasts;
    static _Thread_local unsigned turn;
    if (!sonde__python_replayable() || count < 0)
        return;
    if (!pasts)
        pasts = calloc(PASTS, sizeof *pasts);
    struct past *now = &pasts[turn++ % PASTS];
    note_frames(now, frames, count);
    now->sum = 0;
    now->places = sonde__python_places(now->place, DEPTH);
    if (now->places < 0) /* one without a number */
        return;
    replays_wrong += !sonde__python_replay(now->place, (uint32_t)now->places, 0, &now->sum);
    const uintptr_t current = sonde__python_current();
    if (current) {
        uint64_t sum = 0;
        replays_wrong += !sonde__python_replay(now->place, (uint32_t)now->places, current, &sum) || sum != now->sum;
        replays_current++;
    }
    for (struct past *p = pasts; p < pasts + PASTS; p++) {
        uint64_t sum = 0;
        const bool told = p->sum && p->places >= 0 && sonde__python_replay(p->place, (uint32_t)p->places, 0, &sum) && sum == p->sum;
        const bool same = p->count == now->count && !memcmp(p->frame, now->frame, (size_t)now->count * sizeof *now->frame);
        replays_wrong += (told && !same) || (p == now && !told);
        replays_known += told && p != now;
    }
}

/* Number of wrong ones; `known`: of moments that came again; `current`: told without asking. -1: this version has none. */
int test_replays(int *known, int *current)
{
    *known = replays_known;
    *current = replays_current;
    return sonde__python_replayable() ? replays_wrong : -1;
}

/* One line per frame: name, file, line, offset, entry, whether `stack` is set. */
int test_walk(char *out, size_t size)
{
    struct sonde_pyframe frames[DEPTH];
    struct sonde_pycode_info info;
    int count = sonde__python_walk(frames, DEPTH);
    size_t used = 0;
    compare_replays(frames, count);
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
    int count;
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

static bool among(const uintptr_t *set, int count, uintptr_t start)
{
    for (int i = 0; i < count; i++)
        if (set[i] == start)
            return true;
    return false;
}

/* Compare the groups of Python frames with the native frames of the eval loop:
 * each group's `stack` lies in a native frame, further out for each group; and
 * there are as many groups as native frames of the functions that are the eval
 * loop: _PyEval_EvalFrameDefault, its cold part (`cold`, as hexadecimal text,
 * how far away it begins; or ""), and what a compiler has inlined it into,
 * which is where the `stack`s are. Returns the number of calls; -1 when
 * something differs, with the reason in `out`. */
int test_evals(char *out, size_t size, const char *cold)
{
    static _Thread_local struct native native;
    static _Thread_local struct sonde_pyframe frames[DEPTH];
    uintptr_t set[16] = {sonde__python_eval_start()};
    unsigned long distance;
    int known = 1, calls = 0, groups = 0, at = 0;
    if (sscanf(cold, "%lx", &distance) == 1)
        set[known++] = set[0] + distance;
    native.count = 0;
    _Unwind_Backtrace(note_frame, &native);
    int count = sonde__python_walk(frames, DEPTH);
    out[0] = 0;
    for (int i = 0; i < count; i++) {
        if (!frames[i].entry)
            continue;
        groups++;
        if (!frames[i].stack)
            continue;
        while (at + 1 < native.count && frames[i].stack >= native.sp[at + 1])
            at++;
        if (at + 1 >= native.count || frames[i].stack < native.sp[at])
            return snprintf(out, size, "group %d: its place is in no native frame", groups), -1;
        if (known < 16 && !among(set, known, native.start[at]))
            set[known++] = native.start[at];
        at++;
    }
    for (int i = 0; i < native.count; i++)
        calls += among(set, known, native.start[i]);
    if (calls != groups)
        return snprintf(out, size, "%d calls of the eval loop, %d groups of Python frames", calls,
                        groups),
               -1;
    return calls;
}

/* ---- the rest ---------------------------------------------------------------- */

static volatile uint64_t sink; /* so that nothing measured is left out */

/* Nanoseconds per walk in the place of the call. */
double test_bench(int walks, int with_keys)
{
    static _Thread_local struct sonde_pyframe frames[DEPTH];
    struct sonde_pycode_key key;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC_RAW, &begin);
    for (int i = 0; i < walks; i++) {
        int count = sonde__python_walk(frames, DEPTH);
        for (int j = 0; with_keys && j < count; j++) {
            sonde__pycode_key(frames[j].code, &key);
            sink = sink + key.version;
        }
        sink = sink + (uint64_t)count;
    }
    clock_gettime(CLOCK_MONOTONIC_RAW, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / walks;
}

/* ---- no allocation, no lock, no system call ------------------------------------ */

static void walk_and_read(int walks, int disturb)
{
    static struct sonde_pyframe frames[DEPTH];
    static struct sonde_pycode_info info;
    struct sonde_pycode_key key;
    for (int i = 0; i < walks; i++) {
        int count = sonde__python_walk(frames, DEPTH);
        for (int j = 0; j < count; j++) {
            sonde__pycode_key(frames[j].code, &key);
            sonde__pycode_read(frames[j].code, &info);
        }
        if (disturb == 1) {
            void *volatile block = malloc(1000); /* volatile: or the compiler leaves it out */
            free(block);
        }
        if (disturb == 2)
            syscall(SYS_getppid);
    }
}

/* Walk, with every key and content read, while an interposed library counts
 * allocations and locks, and then in a child whose first system call kills it.
 * 0: quiet; 1: allocated or locked; 2: made a system call; -1: cannot be tested
 * here. `disturb` does it wrong on purpose: 1 allocates, 2 calls the system. */
int test_quiet(int walks, int disturb)
{
    long (*counted)(void);
    *(void **)&counted = dlsym(RTLD_DEFAULT, "counted_calls");
    if (!counted)
        return -1;
    long before = counted();
    walk_and_read(walks, disturb);
    if (counted() != before)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            syscall(SYS_exit, 3);
        walk_and_read(walks, disturb);
        syscall(SYS_exit, 0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || (WIFEXITED(status) && WEXITSTATUS(status) == 3))
        return -1;
    return status == 0 ? 0 : 2;
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

static void *call_back(void *callback)
{
    (*(void (**)(void))callback)();
    return NULL;
}

/* Calls Python from a thread that Python did not make. */
void test_call_in_c_thread(void (*callback)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_back, &callback) == 0)
        pthread_join(thread, NULL);
}

void test_call(void (*callback)(void))
{
    callback();
}

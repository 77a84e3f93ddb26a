/* waits.c - what a thread waits in, outside of the GPU's runtime.
 *
 * Each function does what libc's does, and looks at the clock before and after, unless it need not wait.
 * Only when that was long is the agent told, whose walk of the stack then finds
 * what it would have found during the wait: nothing is done before a wait, and
 * next to nothing for a short one. So a wait that is left by a cancellation, by
 * siglongjmp or by the end of the process leaves nothing behind here; it is not told of.
 *
 * They are called in signal handlers and in children between fork and exec, so
 * libc's functions are looked up when this library is loaded.
 *
 * libc's own calls of these functions do not come by: what sleep() does in
 * nanosleep() counts for sleep(). Types are as wide as the headers', which are
 * left out where they would declare the functions.
 */
#include "preload.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "format/rows.h"

#define EXPORT __attribute__((visibility("default")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

extern struct sonde_shared sonde__shared;
void *sonde__preload_libc(const char *name);

/* X(kind, type, name, parameters, arguments) */
#define WAITS_MAP(X)                                                                                                 \
    X(TIME, int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))                      \
    X(TIME, int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),  \
      (clock, flags, time, left))                                                                                    \
    X(TIME, int, usleep, (unsigned us), (us))                                                                        \
    X(TIME, unsigned, sleep, (unsigned seconds), (seconds))                                                          \
    X(QUEUE, int, pthread_cond_clockwait, (void *c, void *m, clockid_t clock, const void *until), (c, m, clock, until)) \
    X(QUEUE, int, pthread_barrier_wait, (void *b), (b))                                                              \
    X(QUEUE, long, mq_receive, (int q, char *to, size_t n, unsigned *priority), (q, to, n, priority))                \
    X(QUEUE, long, msgrcv, (int q, void *to, size_t n, long type, int flags), (q, to, n, type, flags))               \
    X(LOCK, int, flock, (int fd, int how), (fd, how))                                                                \
    X(IO, int, ppoll, (void *fds, unsigned long n, const void *time, const void *mask), (fds, n, time, mask))        \
    X(IO, int, select, (int n, void *r, void *w, void *e, void *time), (n, r, w, e, time))                           \
    X(IO, int, pselect, (int n, void *r, void *w, void *e, const void *time, const void *mask), (n, r, w, e, time, mask)) \
    X(IO, long, read, (int fd, void *to, size_t n), (fd, to, n))                                                     \
    X(IO, long, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))                            \
    X(IO, long, readv, (int fd, const void *to, int n), (fd, to, n))                                                 \
    X(IO, long, pread, (int fd, void *to, size_t n, long at), (fd, to, n, at))                                       \
    X(IO, long, pread64, (int fd, void *to, size_t n, long at), (fd, to, n, at))                                     \
    X(IO, long, write, (int fd, const void *from, size_t n), (fd, from, n))                                          \
    X(IO, long, writev, (int fd, const void *from, int n), (fd, from, n))                                            \
    X(IO, long, pwrite, (int fd, const void *from, size_t n, long at), (fd, from, n, at))                            \
    X(IO, long, pwrite64, (int fd, const void *from, size_t n, long at), (fd, from, n, at))                          \
    X(IO, int, fsync, (int fd), (fd))                                                                                \
    X(IO, int, fdatasync, (int fd), (fd))                                                                            \
    X(IO, long, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))                                   \
    X(IO, long, recvfrom, (int fd, void *to, size_t n, int flags, void *who, void *size), (fd, to, n, flags, who, size)) \
    X(IO, long, recvmsg, (int fd, void *message, int flags), (fd, message, flags))                                   \
    X(IO, long, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))                         \
    X(IO, long, sendto, (int fd, const void *from, size_t n, int flags, const void *who, unsigned size),             \
      (fd, from, n, flags, who, size))                                                                               \
    X(IO, long, sendmsg, (int fd, const void *message, int flags), (fd, message, flags))                             \
    X(IO, int, connect, (int fd, const void *who, unsigned size), (fd, who, size))                                   \
    X(IO, int, accept, (int fd, void *who, void *size), (fd, who, size))                                             \
    X(IO, int, accept4, (int fd, void *who, void *size, int flags), (fd, who, size, flags))                          \
    X(END, int, pthread_join, (unsigned long thread, void **value), (thread, value))                                 \
    X(END, int, wait, (int *status), (status))                                                                       \
    X(END, int, waitpid, (int pid, int *status, int options), (pid, status, options))                                \
    X(END, int, wait4, (int pid, int *status, int options, void *usage), (pid, status, options, usage))              \
    X(END, int, waitid, (unsigned kind, unsigned id, void *info, int options), (kind, id, info, options))

/* Those that may be asked not to wait, or see at once that they need not: and last, when they may. */
#define MAYBE_MAP(X)                                                                                                 \
    X(QUEUE, int, sem_wait, (void *s), (s), !sem_is_free(s))                                                         \
    X(QUEUE, int, sem_timedwait, (void *s, const void *until), (s, until), !sem_is_free(s))                          \
    X(QUEUE, int, sem_clockwait, (void *s, clockid_t clock, const void *until), (s, clock, until), !sem_is_free(s))  \
    X(IO, int, poll, (void *fds, unsigned long n, int ms), (fds, n, ms), ms != 0)                                    \
    X(IO, int, __poll_chk, (void *fds, unsigned long n, int ms, size_t room), (fds, n, ms, room), ms != 0)           \
    X(IO, int, epoll_wait, (int fd, void *events, int n, int ms), (fd, events, n, ms), ms != 0)                      \
    X(IO, int, epoll_pwait, (int fd, void *events, int n, int ms, const void *mask), (fd, events, n, ms, mask), ms != 0)

/* Those that are not as simple, below. */
#define OTHERS_MAP(X)                                                                                                \
    X(QUEUE, int, pthread_cond_wait, (void *c, void *m), (c, m))                                                     \
    X(QUEUE, int, pthread_cond_timedwait, (void *c, void *m, const void *until), (c, m, until))                      \
    X(LOCK, int, pthread_mutex_lock, (void *m), (m))                                                                 \
    X(LOCK, int, pthread_rwlock_rdlock, (void *l), (l))                                                              \
    X(LOCK, int, pthread_rwlock_wrlock, (void *l), (l))                                                              \
    X(IO, size_t, fread, (void *to, size_t size, size_t n, void *file), (to, size, n, file))

/* clang-format off */
enum {
#define X(kind, type, name, ...) AT_##name,
    WAITS_MAP(X) MAYBE_MAP(X) OTHERS_MAP(X)
#undef X
    COUNT
};
/* clang-format on */
_Static_assert(COUNT <= SONDE_SLEEPERS_MAX, "the agent keeps a frame for each");

static const struct sonde_sleeper sleepers[COUNT] = {
#define X(kind, type, name, ...) {#name, SONDE_SLEEP_##kind},
    WAITS_MAP(X) MAYBE_MAP(X) OTHERS_MAP(X)
#undef X
};

#define X(kind, type, name, parameters, ...) static type (*real_##name) parameters;
WAITS_MAP(X)
MAYBE_MAP(X)
OTHERS_MAP(X)
#undef X
static int (*real_pthread_mutex_trylock)(void *);
static int (*real_sem_getvalue)(void *, int *);

__attribute__((constructor)) static void find(void)
{
#define X(kind, type, name, ...) *(void **)&real_##name = sonde__preload_libc(#name);
    WAITS_MAP(X)
    MAYBE_MAP(X)
    OTHERS_MAP(X)
#undef X
    *(void **)&real_pthread_mutex_trylock = sonde__preload_libc("pthread_mutex_trylock");
    *(void **)&real_sem_getvalue = sonde__preload_libc("sem_getvalue");
    sonde__shared.sleeper_count = COUNT;
    sonde__shared.sleepers = sleepers;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 0: nobody wants to know. */
static inline uint64_t begin(void)
{
    return atomic_load_explicit(&sonde__shared.slept, memory_order_relaxed) ? now_ns() : 0;
}

static inline void end(uint32_t which, uint64_t from_ns)
{
    if (!from_ns)
        return;
    const int error = errno;
    const uint64_t to_ns = now_ns();
    void (*slept)(uint32_t, uint64_t, uint64_t) = atomic_load(&sonde__shared.slept);
    if (to_ns - from_ns >= SONDE_SLEEP_LEAST_NS && slept)
        slept(which, from_ns, to_ns);
    errno = error;
}

/* Another library's constructor may come before ours. */
#define FOUND(name)                       \
    do {                                  \
        if (UNLIKELY(!real_##name))       \
            find();                       \
    } while (0)

/* Where it is taken by another thread in between, that wait is not told of. */
static inline bool sem_is_free(void *semaphore)
{
    int count = 0;
    return real_sem_getvalue && real_sem_getvalue(semaphore, &count) == 0 && count > 0;
}

#define Y(kind, type, name, parameters, arguments, waits)  \
    EXPORT type name parameters;                           \
    type name parameters                                   \
    {                                                      \
        FOUND(name);                                       \
        const uint64_t from_ns = (waits) ? begin() : 0;    \
        const type result = real_##name arguments;         \
        end(AT_##name, from_ns);                           \
        return result;                                     \
    }
#define X(kind, type, name, parameters, arguments) Y(kind, type, name, parameters, arguments, true)
WAITS_MAP(X)
MAYBE_MAP(Y)
#undef X
#undef Y

/* Where libc has an older function of that name, with another condition variable, which programs of
 * before 2003 were linked with: ours has the version of the newer one, so that theirs stays theirs. */
#define X(name, parameters, arguments)                          \
    int sonde__##name parameters;                               \
    EXPORT int sonde__##name parameters                         \
    {                                                           \
        FOUND(name);                                            \
        const uint64_t from_ns = begin();                       \
        const int result = real_##name arguments;               \
        end(AT_##name, from_ns);                                \
        return result;                                          \
    }                                                           \
    __asm__(".symver sonde__" #name ", " #name "@@@GLIBC_2.3.2");
X(pthread_cond_wait, (void *c, void *m), (c, m))
X(pthread_cond_timedwait, (void *c, void *m, const void *until), (c, m, until))
#undef X

/* CUDA's driver and CUPTI take some 50 of these locks for each launch, nearly all of them free: one that looks free
 * is left to libc without a look at the clock. Where it is taken in between, that wait is not told of. */
static inline bool is_told(void)
{
    return atomic_load_explicit(&sonde__shared.slept, memory_order_relaxed) != NULL;
}

/* Of its own thread a recursive lock is taken at once. */
enum { RECURSIVE = 1 }; /* PTHREAD_MUTEX_RECURSIVE */
static bool is_mine(pthread_mutex_t *m)
{
    return m->__data.__kind == RECURSIVE && real_pthread_mutex_trylock(m) == 0;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *m);
int pthread_mutex_lock(pthread_mutex_t *m)
{
    FOUND(pthread_mutex_lock);
    if (!__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) || !is_told())
        return real_pthread_mutex_lock(m);
    if (is_mine(m))
        return 0;
    const uint64_t from_ns = begin();
    const int result = real_pthread_mutex_lock(m);
    end(AT_pthread_mutex_lock, from_ns);
    return result;
}

/* The bits of glibc's __readers (nptl/pthread_rwlock_common.c, from 2.25): a writer has it or waits for it; readers are
 * counted in all bits above. Before 2.25 the word is 0 most of the time: those waits would not be told of. */
enum { WRITE_LOCKED = 2 };
static const unsigned READERS = ~7u;

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l);
int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    FOUND(pthread_rwlock_rdlock);
    if (!(__atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED) & WRITE_LOCKED) || !is_told())
        return real_pthread_rwlock_rdlock(l);
    const uint64_t from_ns = begin();
    const int result = real_pthread_rwlock_rdlock(l);
    end(AT_pthread_rwlock_rdlock, from_ns);
    return result;
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l);
int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    FOUND(pthread_rwlock_wrlock);
    if (!(__atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED) & (READERS | WRITE_LOCKED)) || !is_told())
        return real_pthread_rwlock_wrlock(l);
    const uint64_t from_ns = begin();
    const int result = real_pthread_rwlock_wrlock(l);
    end(AT_pthread_rwlock_wrlock, from_ns);
    return result;
}

/* What fits a file's buffer is not worth two looks at the clock each. */
enum { LARGE = 4096 };
EXPORT size_t fread(void *to, size_t size, size_t n, void *file);
size_t fread(void *to, size_t size, size_t n, void *file)
{
    FOUND(fread);
    const uint64_t from_ns = size >= LARGE || n >= LARGE || size * n >= LARGE ? begin() : 0;
    const size_t result = real_fread(to, size, n, file);
    end(AT_fread, from_ns);
    return result;
}

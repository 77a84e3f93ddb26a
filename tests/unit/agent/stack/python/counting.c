/* counting.c - preloaded: counts this thread's allocations and locks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
EXPORT long counted_calls(void);
static int (*real_lock)(pthread_mutex_t *);
static int (*real_trylock)(pthread_mutex_t *);
static _Thread_local long calls __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void find(void)
{
    *(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    *(void **)&real_trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
}

long counted_calls(void)
{
    return calls;
}

EXPORT void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size)
{
    calls++;
    return __libc_realloc(block, size);
}

EXPORT void free(void *block)
{
    calls++;
    __libc_free(block);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    calls++;
    return real_lock ? real_lock(mutex) : 0;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    calls++;
    return real_trylock ? real_trylock(mutex) : 0;
}

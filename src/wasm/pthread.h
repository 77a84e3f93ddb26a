/* pthread.h - threads of WebAssembly, of which there is one: nobody else can hold a lock. */
#ifndef SONDE_WASM_PTHREAD_H
#define SONDE_WASM_PTHREAD_H

#include <string.h>
#include <sys/types.h> /* has the types */

#define PTHREAD_ONCE_INIT 0

static inline int pthread_mutex_init(pthread_mutex_t *lock, const void *attributes)
{
    (void)attributes;
    memset(lock, 0, sizeof *lock);
    return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}

static inline int pthread_once(pthread_once_t *once, void (*fn)(void))
{
    if (!*once)
        fn();
    *once = 1;
    return 0;
}

#endif

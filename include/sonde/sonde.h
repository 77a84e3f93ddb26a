/* sonde.h - lets a program choose which part of its run Sonde records.
 *
 *     #include <sonde/sonde.h>
 *     sonde_start();          // record from here ...
 *     ...
 *     sonde_stop();           // ... to here
 *
 * Use with `sonde record --start-off`, or to exclude parts. Without Sonde the
 * calls do nothing, after one dlsym in the first. No library to link; C17 and
 * C++. Any thread may call them; they apply to the whole process.
 */
#ifndef SONDE_H
#define SONDE_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void sonde__no_range(int on)
{
    (void)on;
}

static inline void sonde__range(int on)
{
    static void (*known)(int); /* NULL: not looked up yet. Two threads may look it up at once */
    void (*set)(int) = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (!set) {
        *(void **)&set = dlsym(RTLD_DEFAULT, "sonde__set_range");
        if (!set)
            set = sonde__no_range;
        __atomic_store_n(&known, set, __ATOMIC_RELEASE);
    }
    set(on);
}

/* Record operations from now on. */
static inline void sonde_start(void)
{
    sonde__range(1);
}
/* Record nothing from now on; operations in flight are still recorded until they complete. */
static inline void sonde_stop(void)
{
    sonde__range(0);
}

#ifdef __cplusplus
}
#endif
#endif

/* sonde.h - lets a program choose which part of its run Sonde records, and say what lies in its memory.
 *
 *     #include <sonde/sonde.h>
 *     sonde_start();          // record from here ...
 *     ...
 *     sonde_stop();           // ... to here
 *     sonde_name_memory(weights, 100 * 50 * 4, "weights", 100, 50, 4);
 *
 * Use start and stop with `sonde record --start-off`, or to exclude parts. Without Sonde the
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

static inline void sonde__no_name(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes)
{
    (void)address, (void)bytes, (void)name, (void)rows, (void)columns, (void)element_bytes;
}

/* What lies in this memory of a device's or the host's has this name (UTF-8, copied, cut after 1,024 bytes) from now on, in place
 * of what was named there before: `rows` x `columns` elements of `element_bytes`, row after row; 0: not known.
 * It says something where the memory lies in a data object that Sonde knows (docs/memory.md), which it does from the
 * allocation on: a tensor in a segment of an allocator's, say. To give the same again costs a look; there is room for 65,536
 * different ones. */
static inline void sonde_name_memory(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes)
{
    static void (*known)(const void *, size_t, const char *, size_t, size_t, size_t); /* as in sonde__range */
    void (*tell)(const void *, size_t, const char *, size_t, size_t, size_t) = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (!tell) {
        *(void **)&tell = dlsym(RTLD_DEFAULT, "sonde__name_memory");
        if (!tell)
            tell = sonde__no_name;
        __atomic_store_n(&known, tell, __ATOMIC_RELEASE);
    }
    tell(address, bytes, name, rows, columns, element_bytes);
}

#ifdef __cplusplus
}
#endif
#endif

/* runtimes.h - the GPU runtimes and the libraries around them, one line of a table each: what the
 * host side knows of them by name. Their backends (src/backends) are the other half. Any thread.
 *
 * A new runtime is a line here. What only one of them has (its devices in sonde doctor, environment
 * variables that are stored) stays where it is used.
 */
#ifndef SONDE_ANALYZE_MODEL_RUNTIMES_H
#define SONDE_ANALYZE_MODEL_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "api.h"

/* What is in the environment variable that makes a runtime load the agent. */
enum sonde_runtime_loads {
    SONDE_LOADS_NOTHING,
    SONDE_LOADS_LIST,          /* paths with colons between: the agent first, then the user's own */
    SONDE_LOADS_ONE,           /* one path: the agent, which then loads the user's own, named in `kept` */
    SONDE_LOADS_USERS,         /* one path: the user's own stays; then we hear nothing of the runtime */
    SONDE_LOADS_USERS_OR_NONE, /* so, too; empty is what the user wants */
};

struct sonde_runtime_call {
    const char *name;
    enum sonde_api_class class;
};

struct sonde_runtime { /* what is NULL or 0 it does not have */
    const char *name;               /* of its backend, as devices have it in a measurement */
    const char *title;              /* in sentences */
    bool has_devices;               /* work is enqueued through it */
    const struct sonde_runtime_call *calls; /* those that have a class, sorted by name, without endings such as _v2 */
    size_t call_count;
    const char *const *libraries;   /* how file names of its own libraries and drivers begin; ends with NULL */
    const char *const *communication; /* parts of names of kernels that carry data between devices; ends with NULL */
    const char *variable;           /* see enum sonde_runtime_loads */
    enum sonde_runtime_loads loads;
    const char *kept;
    size_t path_max;                /* it cuts longer paths off, and would load nothing; 0: no bound */
    const char *other;              /* what another tool in `variable` means for a recording */
    const char *caching_function;   /* part of the names of an allocator's functions that keeps what was freed */
    const char *caching_library;    /* how the file name of its library begins */
};

extern const struct sonde_runtime sonde_runtimes[]; /* ends with one without a name */

/* Of the API call `name`, of which `length` characters count. */
enum sonde_api_class sonde_runtime_class(const char *name, size_t length);
/* Is this file a runtime's own library, or its driver's? */
bool sonde_is_gpu_runtime(const char *path);
/* Does the kernel of this name carry data between devices? */
bool sonde_runtime_communicates(const char *kernel);
/* Is it a function of an allocator that keeps what was freed? */
bool sonde_runtime_caches(const char *function, const char *module);

/* Titles of the runtimes that have devices and of which `has` (NULL: any) is true, with `word` before the
 * last of several: "CUDA", "CUDA or OpenCL"; "a GPU runtime" where it is none. Returns `text`. */
enum { SONDE_RUNTIMES_MAX = 128 };
const char *sonde_runtimes_list(char text[SONDE_RUNTIMES_MAX], const char *word,
                                bool (*has)(const void *user, const char *name), const void *user);

#endif

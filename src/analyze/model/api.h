/* api.h - what a call of a GPU runtime is for, by its name.
 *
 * The measurement says what a call waited for (WAIT rows) where the backend
 * knew; these classes say what kind of call it is, also where it did not.
 * docs/waits.md. Any thread.
 */
#ifndef SONDE_ANALYZE_MODEL_API_H
#define SONDE_ANALYZE_MODEL_API_H

#include <stdbool.h>

#include "format/reader.h"

enum sonde_api_class {
    SONDE_API_OTHER,
    SONDE_API_WAITS,     /* returns only when earlier work has finished; makes no work of its own */
    SONDE_API_ALLOCATES, /* memory of devices, or of the host for devices */
    SONDE_API_FREES,
    SONDE_API_COMPILES,  /* makes code for a device, or loads it */
};

/* Of a name as the runtime spells it; endings such as _v2 and _ptsz do not count. */
enum sonde_api_class sonde_api_class(const char *name);

/* Of a calling context node of `p` (of a CALL row); OTHER when it is no API call's. */
enum sonde_api_class sonde_api_class_of_node(const struct sonde_process *p, uint32_t node);

/* Is it a function of the C library that a thread has waited in (of a SLEEP row)? */
bool sonde_api_sleeps(const struct sonde_process *p, uint32_t node);

#endif

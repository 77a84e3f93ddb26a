/* python_state.h - what the Python walker knows of this process's interpreter. */
#ifndef SONDE_AGENT_PYTHON_STATE_H
#define SONDE_AGENT_PYTHON_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/python_layout.h"

enum sonde__python_phase {
    SONDE__PYTHON_NONE,  /* no interpreter in this process */
    SONDE__PYTHON_FOUND, /* its symbols are known; no walk has been proved yet */
    SONDE__PYTHON_READY, /* a walk was proved */
    SONDE__PYTHON_OFF,   /* given up; `why` says why */
};

struct sonde__python_state {
    _Atomic(int) phase; /* release-published; all below is written before it says FOUND or READY */
    const char  *why;

    /* Functions of the interpreter that take no lock and need no GIL. */
    uintptr_t (*this_thread)(void);    /* PyGILState_GetThisThreadState */
    int       (*is_initialized)(void); /* Py_IsInitialized */
    uintptr_t (*running_thread)(void); /* _PyThreadState_UncheckedGet; up to 3.11 */
    uintptr_t (*first_interp)(void);   /* PyInterpreterState_Head; up to 3.11 */
    uintptr_t (*main_interp)(void);    /* PyInterpreterState_Main; up to 3.11 */
    const char *(*version_text)(void); /* Py_GetVersion; 3.9 and 3.10 only */
    const unsigned long *version_hex;  /* Py_Version; NULL before 3.11 */
    const void *runtime;               /* _PyRuntime */

    uintptr_t code_type, string_type, bytes_type; /* addresses of the type objects */
    uintptr_t eval_start;                         /* _PyEval_EvalFrameDefault */

    struct sonde__python_layout layout; /* layout.version 0 until the interpreter was seen initialized */
};

extern struct sonde__python_state sonde__python;

static inline uintptr_t sonde__python_word(uintptr_t object, uint32_t offset)
{
    return *(const uintptr_t *)(object + offset);
}

/* Could this be the address of an object? Null is not. */
static inline bool sonde__python_plausible(uintptr_t address)
{
    return address >= 4096 && address < UINT64_C(1) << 47 && (address & 7) == 0;
}

/* Are these 8 bytes readable? A system call; only for proving the first walk. */
bool sonde__python_readable(uintptr_t address);

/* Can all of this be read? Asks the kernel, once for each page and sample. */
bool sonde__python_spans(uintptr_t address, size_t size);

/* Does this look like a code object in every part that we use? Slow and careful. */
bool sonde__pycode_proved(uintptr_t code, uint32_t offset);

#endif

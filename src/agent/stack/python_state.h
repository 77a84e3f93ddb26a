/* python_state.h - what the Python walker knows of this process's interpreter. */
#ifndef SONDE_AGENT_STACK_PYTHON_STATE_H
#define SONDE_AGENT_STACK_PYTHON_STATE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python_layout.h"

enum sonde__python_phase {
    SONDE__PYTHON_NONE,  /* no interpreter in this process */
    SONDE__PYTHON_FOUND, /* its symbols are known; no walk has been proved yet */
    SONDE__PYTHON_READY, /* a walk was proved */
    SONDE__PYTHON_OFF,   /* given up; `why` says why */
};

struct sonde__python_state {
    /* What python_replay.c needs comes first, in one line. */
    alignas(64) _Atomic(int) phase; /* release-published; all below is written before it says FOUND or READY */
    const void *runtime;               /* _PyRuntime */

    /* Functions of the interpreter that take no lock and need no GIL. */
    uintptr_t (*this_thread)(void);    /* PyGILState_GetThisThreadState */
    int (*is_initialized)(void);       /* Py_IsInitialized */

    bool replays;                       /* python_replay.h: of frames that begin as below, with numbered code */
    struct sonde__python_layout layout; /* layout.version 0 until the interpreter was seen initialized */

    const char *why;
    uintptr_t (*running_thread)(void); /* _PyThreadState_UncheckedGet; up to 3.11 */
    uintptr_t (*first_interp)(void);   /* PyInterpreterState_Head; up to 3.11 */
    uintptr_t (*main_interp)(void);    /* PyInterpreterState_Main; up to 3.11 */
    const char *(*version_text)(void); /* Py_GetVersion; 3.9 and 3.10 only */
    const unsigned long *version_hex;  /* Py_Version; NULL before 3.11 */

    uintptr_t code_type, string_type, bytes_type; /* addresses of the type objects */
    uintptr_t eval_start;                         /* _PyEval_EvalFrameDefault */
};

extern struct sonde__python_state sonde__python;

static inline bool sonde__python_is_attached(void)
{
    const int phase = atomic_load_explicit(&sonde__python.phase, memory_order_acquire);
    return phase == SONDE__PYTHON_FOUND || phase == SONDE__PYTHON_READY;
}

static inline bool sonde__python_can_replay(void) /* python_replay.h */
{
    return atomic_load_explicit(&sonde__python.phase, memory_order_acquire) == SONDE__PYTHON_READY && sonde__python.replays;
}

/* Of a frame from 3.12 on. */
enum {
    SONDE__PYTHON_FRAME_CODE = 0,
    SONDE__PYTHON_FRAME_PREVIOUS = 8,
    SONDE__PYTHON_FRAME_INSTRUCTION = 56,
};

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

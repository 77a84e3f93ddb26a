/* python.h - the Python call stack of the calling thread, without the GIL.
 *
 * Reads the interpreter's frames where they lie. Takes no lock, allocates
 * nothing, calls nothing of Python but PyGILState_GetThisThreadState (a
 * pthread_getspecific). Works for CPython 3.9 to 3.13 as tested, 3.14 by its
 * _Py_DebugOffsets; a walk that does not fit switches it off for the process.
 */
#ifndef SONDE_AGENT_PYTHON_H
#define SONDE_AGENT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_pyframe {
    uintptr_t code;      /* PyCodeObject*; 0: this call of the eval loop is entering or leaving its only frame */
    uintptr_t stack;     /* an address inside the native frame of the eval loop call that runs it; 0 unknown (3.9) */
    uint32_t  offset;    /* of the running instruction, in bytes; UINT32_MAX: before the first */
    uint8_t   entry;     /* this is the outermost Python frame run by one C call of the eval loop */
};

/* What identifies a code object: a freed and re-used one differs in one of these. */
struct sonde_pycode_key {
    uintptr_t code, name, file, table;
    uint32_t  first_line, version; /* co_version where it exists (3.12+), else 0 */
};

/* Everything to decode lines later; pointers into live Python objects, valid
 * while a frame of this thread runs the code. UTF-8 conversion is done into
 * the caller's buffers. */
struct sonde_pycode_info {
    char        name[512]; /* qualified name where the version has it */
    char        file[1024];
    uint32_t    first_line;
    const void *table;     /* bytes of co_lnotab / co_linetable */
    size_t      table_bytes;
    uint32_t    version;   /* 0x0309 ... */
};

/* Is there a Python interpreter in this process? Looks for its symbols the
 * first time after each module change (dlsym: takes the loader's lock; call it
 * only when a new module was seen). True when walking works: attaching walks
 * once and compares with what it must see. `why` gets a reason when false and
 * an interpreter is there ("CPython 3.15 is not known"). */
bool sonde__python_attach(const char **why);
bool sonde__python_attached(void);
uint32_t sonde__python_version(void); /* 0x030b; 0 none */

/* First address of _PyEval_EvalFrameDefault (frames of it are replaced by the
 * Python frames they run); 0 when unknown. */
uintptr_t sonde__python_eval_start(void);

/* Walk the calling thread's Python frames, innermost first, into frames[max].
 * Returns how many; 0 when this thread runs no Python; -1 when the walk met
 * something impossible (then it is switched off). */
int sonde__python_walk(struct sonde_pyframe *frames, int max);

/* Key and content of a code object that a frame of the calling thread runs. */
void sonde__pycode_key(uintptr_t code, struct sonde_pycode_key *key);
bool sonde__pycode_read(uintptr_t code, struct sonde_pycode_info *info);

#endif

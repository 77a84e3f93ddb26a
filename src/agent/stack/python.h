/* python.h - the Python call stack of the calling thread, without the GIL.
 *
 * Reads the interpreter's frames where they lie. A walk takes no lock,
 * allocates nothing, makes no system call, and calls nothing of Python but
 * Py_IsInitialized and PyGILState_GetThisThreadState (loads, and a
 * pthread_getspecific). CPython 3.9 to 3.14; python_layout.h says how the
 * offsets are known, docs/python.md what is tested. The first walk is checked
 * word for word; one that does not fit switches it off for the process.
 *
 * Merging with the native stack. The frames come in groups: those that one
 * call of the eval loop runs, innermost first, the last of them with `entry`.
 * A group replaces one native frame. `stack` is an address inside it: the
 * native frame to replace is the innermost one whose caller's stack pointer
 * (the cfa of the next outer frame) lies above `stack`. Only where `stack` is
 * 0 (3.9) count the native frames whose function begins at
 * sonde__python_eval_start() instead, from the innermost. The function's start
 * alone does not find all of them: a call may stand in its cold part, which
 * has unwind information of its own, and some builds of 3.14 inline the eval
 * loop or spread it over functions that call each other's tails.
 * A group of one frame with code 0 replaces its native frame by nothing.
 */
#ifndef SONDE_AGENT_STACK_PYTHON_H
#define SONDE_AGENT_STACK_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_pyframe {
    uintptr_t code;      /* PyCodeObject*; 0: this call of the eval loop is entering or leaving its only frame */
    uintptr_t stack;     /* an address inside the native frame of the eval loop call that runs it; 0 unknown (3.9) */
    uint32_t offset;     /* of the running instruction, in bytes; UINT32_MAX: before the first */
    uint8_t entry;       /* this is the outermost Python frame run by one C call of the eval loop */
};

/* What identifies a code object: a freed and re-used one differs in one of
 * these, unless it is the same in everything that sonde__pycode_read gives
 * (line tables past 768 bytes and file names past 48 enter by ends and middle). */
struct sonde_pycode_key {
    uintptr_t code, name, file, table;
    uint32_t first_line, version; /* co_version where it exists (3.12+), else a hash of the content */
};

/* Everything to decode lines later; pointers into live Python objects, valid
 * while a frame of this thread runs the code. UTF-8 conversion is done into
 * the caller's buffers. */
struct sonde_pycode_info {
    char name[512]; /* qualified name where the version has it */
    char file[1024];
    uint32_t first_line;
    const void *table;     /* bytes of co_lnotab / co_linetable */
    size_t table_bytes;
    uint32_t version;      /* 0x0309 ... */
};

/* Is there a Python interpreter in this process? Looks for its symbols the
 * first time after each module change (dlsym: takes the loader's lock; call it
 * only when a new module was seen). True when walking works, or will once the
 * interpreter is initialized and this thread runs Python: until then a walk
 * finds no frames. `why` (may be NULL) gets a reason when false and an
 * interpreter is there ("CPython 3.15 is not known"), else NULL. A libpython
 * that the program opened RTLD_LOCAL stays loaded from then on. */
bool sonde__python_attach(const char **why);
bool sonde__python_attached(void);
uint32_t sonde__python_version(void); /* 0x030b; 0 none, or no walk has succeeded yet */
/* Why it is switched off; NULL when it is not. */
const char *sonde__python_why_off(void);

/* First address of _PyEval_EvalFrameDefault; 0 when unknown. */
uintptr_t sonde__python_eval_start(void);

/* Walk the calling thread's Python frames, innermost first, into frames[max].
 * Returns how many; 0 when this thread runs no Python; -1 when the walk met
 * something impossible (then it is switched off). */
int sonde__python_walk(struct sonde_pyframe *frames, int max);

/* The same in a signal handler, which may have interrupted the interpreter in
 * the middle of entering or leaving a frame: -1 when what it finds cannot be,
 * which means nothing but that. Only after a walk of sonde__python_walk was proved.
 *
 * Nothing is read before the kernel was asked whether it can be. A frame that is
 * linked holds its code object, and is unlinked before that is given up; only
 * where the compiler has changed the order of the interpreter's stores could a
 * frame be seen half made, and lead astray.
 *
 * Set sonde__python_care (zeroed) from before the walk until keys and contents of
 * the frames found have been read; `torn`: something could not be. NULL otherwise. */
struct sonde__python_care {
    uintptr_t page[32]; /* that can be read */
    bool torn;
};
extern __thread struct sonde__python_care *sonde__python_care;
int sonde__python_walk_interrupted(struct sonde_pyframe *frames, int max);

/* Key and content of a code object that a frame of the calling thread runs. */
void sonde__pycode_key(uintptr_t code, struct sonde_pycode_key *key);
bool sonde__pycode_read(uintptr_t code, struct sonde_pycode_info *info);

#endif

/* python.c - finds the interpreter and walks its frames without the GIL.
 *
 * Why that is safe: a thread's frames are changed by that thread only, and the
 * walk runs in that thread, in a C function called from the frame; whether it
 * holds the GIL does not matter. Which structures, and how each was proved:
 * python_layout.h. What the user sees of it: docs/python.md.
 *
 * Groups: the walk reports, besides the frames, which of them one C call of
 * the eval loop runs, because they replace that native frame in the merged
 * stack. Up to 3.10 a call runs one frame, but a generator into which throw()
 * reaches through `yield from` is on the stack without a call of its own. In
 * 3.11 each call has a cframe on the C stack, which names the innermost frame
 * it runs; from 3.12 on each call pushes a shim frame, on the C stack too. A
 * call that is entering or leaving its only frame runs none: code 0 stands in.
 */
#include "python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "guest/hot.h"
#include "guest/lock.h"
#include "python_state.h"

/* Owners of an interpreter frame; the names are CPython's (3.11+). */
enum {
    OWNED_BY_GENERATOR = 1,
    OWNED_BY_C = 3,
    OWNER_LAST = 4,
};
/* Opcode of YIELD_FROM in 3.9 and 3.10. */
enum { YIELD_FROM = 72 };
/* An instruction offset beyond this is not one. */
enum { CODE_BYTES_MAX = 1 << 28 };

SONDE__HOT_DATA struct sonde__python_state sonde__python;
static struct sonde_lock attach_lock;

/* ---- finding the interpreter ------------------------------------------ */

struct modules {
    int count;
    char path[8][512];
};

static int note_libpython(struct dl_phdr_info *info, size_t size, void *data)
{
    struct modules *modules = data;
    (void)size;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (name && strncmp(name, "/libpython", 10) == 0 && modules->count < 8 &&
        strlen(info->dlpi_name) < sizeof modules->path[0])
        strcpy(modules->path[modules->count++], info->dlpi_name);
    return 0;
}

/* Where the interpreter's symbols are: RTLD_DEFAULT, or a libpython that was
 * opened RTLD_LOCAL. The handle is kept: it pins the library, because a walk
 * in another thread may be inside it. NULL when there is none. */
static void *find_handle(bool *found)
{
    *found = true;
    if (dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"))
        return RTLD_DEFAULT;
    struct modules modules = {.count = 0};
    dl_iterate_phdr(note_libpython, &modules);
    for (int i = 0; i < modules.count; i++) {
        void *handle = dlopen(modules.path[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle && dlsym(handle, "PyGILState_GetThisThreadState"))
            return handle;
        if (handle)
            dlclose(handle);
    }
    *found = false;
    return NULL;
}

static bool find_symbols(struct sonde__python_state *state, void *handle)
{
    *(void **)&state->this_thread = dlsym(handle, "PyGILState_GetThisThreadState");
    *(void **)&state->is_initialized = dlsym(handle, "Py_IsInitialized");
    *(void **)&state->running_thread = dlsym(handle, "_PyThreadState_UncheckedGet");
    *(void **)&state->first_interp = dlsym(handle, "PyInterpreterState_Head");
    *(void **)&state->main_interp = dlsym(handle, "PyInterpreterState_Main");
    *(void **)&state->version_text = dlsym(handle, "Py_GetVersion");
    state->version_hex = dlsym(handle, "Py_Version");
    state->runtime = dlsym(handle, "_PyRuntime");
    state->code_type = (uintptr_t)dlsym(handle, "PyCode_Type");
    state->string_type = (uintptr_t)dlsym(handle, "PyUnicode_Type");
    state->bytes_type = (uintptr_t)dlsym(handle, "PyBytes_Type");
    state->eval_start = (uintptr_t)dlsym(handle, "_PyEval_EvalFrameDefault");
    return state->is_initialized && state->version_text && state->code_type &&
           state->string_type && state->bytes_type && state->eval_start;
}

static int give_up(const char *why)
{
    sonde__python.why = why;
    atomic_store_explicit(&sonde__python.phase, SONDE__PYTHON_OFF, memory_order_release);
    return -1;
}

/* 0x030b; 0 when the text is not as expected. */
static uint32_t read_version(const struct sonde__python_state *state)
{
    unsigned major = 0, minor = 0;
    if (state->version_hex)
        return (uint32_t)(*state->version_hex >> 16);
    if (sscanf(state->version_text(), "%u.%u", &major, &minor) != 2 || major > 255 || minor > 255)
        return 0;
    return major << 8 | minor;
}

/* The interpreter is initialized: which version, and so which layout? */
static bool choose_layout(struct sonde__python_state *state, const char **why)
{
    static char unknown[96];
    uint32_t version = read_version(state);
    struct sonde__python_layout layout;
    if (version >= 0x030d && version <= 0x030e && state->runtime) {
        if (!sonde__python_layout_debug(state->runtime, version, &layout, why))
            return false;
    } else {
        const struct sonde__python_layout *known = sonde__python_layout_find(version, false);
        if (!known || version >= 0x030d) {
            snprintf(unknown, sizeof unknown, "this is CPython %u.%u; 3.9 to 3.14 are supported", version >> 8, version & 255);
            *why = unknown;
            return false;
        }
        layout = *known;
    }
    if (version <= 0x030b && !(state->running_thread && state->first_interp && state->main_interp)) {
        *why = "the interpreter hides a required function (PyInterpreterState_Head)";
        return false;
    }
    if (!state->runtime || *(const int *)((const char *)state->runtime + layout.runtime_initialized) != 1)
        layout.runtime_initialized = 0;
    state->replays = layout.form == SONDE__PYTHON_SHIMS && layout.code_version && !layout.code_tlbc &&
                     layout.frame_code == SONDE__PYTHON_FRAME_CODE && layout.frame_previous == SONDE__PYTHON_FRAME_PREVIOUS &&
                     layout.frame_instruction == SONDE__PYTHON_FRAME_INSTRUCTION;
    state->layout = layout;
    return true;
}

bool sonde__python_attach(const char **why)
{
    int saved = errno;
    if (why)
        *why = NULL;
    /* Nobody waits here: another thread is at it. */
    if (!sonde__trylock(&attach_lock))
        return sonde__python_attached();
    struct sonde__python_state *state = &sonde__python;
    int phase = atomic_load_explicit(&state->phase, memory_order_acquire);
    if (phase == SONDE__PYTHON_NONE) {
        bool found;
        void *handle = find_handle(&found);
        if (found && !find_symbols(state, handle))
            give_up("this is not CPython, or a build that hides its symbols");
        else if (found)
            atomic_store_explicit(&state->phase, SONDE__PYTHON_FOUND, memory_order_release);
        dlerror(); /* a lookup that failed must not show in the program's dlerror() */
        phase = atomic_load_explicit(&state->phase, memory_order_acquire);
    }
    sonde__unlock(&attach_lock);
    if (phase == SONDE__PYTHON_FOUND) {
        struct sonde_pyframe frames[64];
        sonde__python_walk(frames, 64);
        phase = atomic_load_explicit(&state->phase, memory_order_acquire);
    }
    if (phase == SONDE__PYTHON_OFF && why)
        *why = state->why;
    errno = saved;
    return phase == SONDE__PYTHON_FOUND || phase == SONDE__PYTHON_READY;
}

bool sonde__python_attached(void)
{
    return sonde__python_is_attached();
}

const char *sonde__python_why_off(void)
{
    int phase = atomic_load_explicit(&sonde__python.phase, memory_order_acquire);
    return phase == SONDE__PYTHON_OFF ? sonde__python.why : NULL;
}

uint32_t sonde__python_version(void)
{
    int phase = atomic_load_explicit(&sonde__python.phase, memory_order_acquire);
    return phase == SONDE__PYTHON_READY ? sonde__python.layout.version : 0;
}

uintptr_t sonde__python_eval_start(void)
{
    return sonde__python_attached() ? sonde__python.eval_start : 0;
}

/* ---- walking ------------------------------------------------------------ */

/* What one walk has found so far. `careful` walks ask the kernel before each
 * read, so that a wrong layout cannot crash the program. */
struct walk {
    const struct sonde__python_layout *layout;
    uintptr_t code_type;
    struct sonde_pyframe *frames;
    int max, count, group; /* `group`: first frame of the open group */
    int budget;            /* frames that may still be looked at */
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE bool seems_object(uintptr_t address, uint32_t last_offset, bool careful)
{
    return sonde__python_plausible(address) &&
           (!careful || sonde__python_spans(address, (last_offset & ~UINT32_C(7)) + 8));
}

ALWAYS_INLINE void emit(struct walk *walk, uintptr_t code, uint32_t offset)
{
    struct sonde_pyframe *frame = &walk->frames[walk->count++];
    frame->code = code;
    frame->stack = 0;
    frame->offset = offset;
    frame->entry = 0;
}

/* All frames of one call of the eval loop have been seen. False: no room. */
ALWAYS_INLINE bool close_group(struct walk *walk, uintptr_t stack)
{
    if (walk->count == walk->group) {
        if (walk->count == walk->max)
            return false;
        emit(walk, 0, UINT32_MAX);
    }
    for (int i = walk->group; i < walk->count; i++)
        walk->frames[i].stack = stack;
    walk->frames[walk->count - 1].entry = 1;
    walk->group = walk->count;
    return true;
}

ALWAYS_INLINE bool is_code(const struct walk *walk, uintptr_t code, bool careful)
{
    const struct sonde__python_layout *layout = walk->layout;
    return seems_object(code, layout->code_bytes, careful) &&
           sonde__python_word(code, layout->object_type) == walk->code_type;
}

/* Is this frame of 3.9 or 3.10 a generator on the stack only because throw()
 * passes through it into what it yields from? Then its next instruction is
 * YIELD_FROM; while it runs, that is its last instruction. */
ALWAYS_INLINE bool is_delegating(const struct sonde__python_layout *layout, uintptr_t frame,
                                 uintptr_t code, uint32_t offset, bool careful)
{
    if (!sonde__python_word(frame, layout->frame_generator) || offset == UINT32_MAX)
        return false;
    uintptr_t bytes = sonde__python_word(code, layout->code_bytes);
    if (!seems_object(bytes, layout->object_size, careful))
        return false;
    uintptr_t size = sonde__python_word(bytes, layout->object_size);
    return offset + 2 < size && (!careful || sonde__python_spans(bytes + layout->bytes_data + offset + 2, 1)) &&
           *(const uint8_t *)(bytes + layout->bytes_data + offset + 2) == YIELD_FROM;
}

ALWAYS_INLINE int walk_objects(struct walk *walk, uintptr_t thread, bool careful)
{
    const struct sonde__python_layout *layout = walk->layout;
    uint32_t unit = layout->version >= 0x030a ? 2 : 1; /* f_lasti counts instructions from 3.10 on */
    uintptr_t frame = sonde__python_word(thread, layout->thread_frame);
    uintptr_t cframe = layout->thread_cframe ? sonde__python_word(thread, layout->thread_cframe) : 0;
    while (frame && walk->count < walk->max) {
        if (!seems_object(frame, layout->frame_instruction, careful))
            return -1;
        uintptr_t code = sonde__python_word(frame, layout->frame_code);
        if (!is_code(walk, code, careful))
            return -1;
        int32_t last = *(const int32_t *)(frame + layout->frame_instruction);
        if (last > CODE_BYTES_MAX)
            return -1;
        uint32_t offset = last < 0 ? UINT32_MAX : (uint32_t)last * unit;
        emit(walk, code, offset);
        if (!is_delegating(layout, frame, code, offset, careful)) {
            if (cframe && !seems_object(cframe, layout->cframe_previous, careful))
                return -1;
            close_group(walk, cframe);
            cframe = cframe ? sonde__python_word(cframe, layout->cframe_previous) : 0;
        }
        frame = sonde__python_word(frame, layout->frame_previous);
    }
    return walk->count;
}

/* Read one interpreter frame (3.11+) and keep it when it is complete: a frame
 * before its first traceable instruction is still being set up, and one whose
 * code is never traceable is the interpreter's own. False: impossible. */
ALWAYS_INLINE bool read_frame(struct walk *walk, uintptr_t frame, uint32_t owner, bool careful)
{
    const struct sonde__python_layout *layout = walk->layout;
    uintptr_t code = sonde__python_word(frame, layout->frame_code);
    if (layout->version >= 0x030e)
        code &= ~(uintptr_t)3; /* tag bits of a stack reference */
    if (!is_code(walk, code, careful))
        return false;
    uintptr_t first = code + layout->code_bytes;
    if (layout->code_tlbc) {
        uintptr_t copies = sonde__python_word(code, layout->code_tlbc);
        uint32_t index = *(const uint32_t *)(frame + layout->frame_tlbc);
        if (!seems_object(copies, 8, careful) || index >= sonde__python_word(copies, 0) ||
            !seems_object(copies, 8 + 8 * index, careful))
            return false;
        first = sonde__python_word(copies, 8 + 8 * index);
    }
    intptr_t offset = (intptr_t)(sonde__python_word(frame, layout->frame_instruction) - first);
    intptr_t traceable = 2 * (intptr_t)*(const int32_t *)(code + layout->code_first_traceable);
    if (owner != OWNED_BY_GENERATOR && offset < traceable)
        return true;
    if (offset > CODE_BYTES_MAX)
        return false;
    emit(walk, code, offset < 0 ? UINT32_MAX : (uint32_t)offset);
    return true;
}

ALWAYS_INLINE int walk_cframes(struct walk *walk, uintptr_t thread, bool careful)
{
    const struct sonde__python_layout *layout = walk->layout;
    uintptr_t cframe = sonde__python_word(thread, layout->thread_cframe);
    if (!seems_object(cframe, layout->cframe_previous, careful))
        return -1;
    uintptr_t frame = sonde__python_word(cframe, layout->cframe_current);
    for (;;) {
        uintptr_t outer = sonde__python_word(cframe, layout->cframe_previous), end = 0;
        if (outer) {
            if (!seems_object(outer, layout->cframe_previous, careful))
                return -1;
            end = sonde__python_word(outer, layout->cframe_current);
        }
        for (; frame && frame != end; frame = sonde__python_word(frame, layout->frame_previous)) {
            if (walk->count == walk->max || walk->budget-- == 0)
                return walk->count;
            if (!seems_object(frame, layout->frame_owner, careful))
                return -1;
            uint32_t owner = *(const uint8_t *)(frame + layout->frame_owner);
            if (owner >= OWNED_BY_C || !read_frame(walk, frame, owner, careful))
                return -1;
        }
        /* The outermost cframe belongs to the thread, not to a call. */
        if (!outer || !close_group(walk, cframe) || (end && !frame))
            return walk->count;
        cframe = outer;
    }
}

ALWAYS_INLINE int walk_shims(struct walk *walk, uintptr_t thread, bool careful)
{
    const struct sonde__python_layout *layout = walk->layout;
    uintptr_t frame;
    if (layout->thread_frame) {
        frame = sonde__python_word(thread, layout->thread_frame);
    } else {
        uintptr_t cframe = sonde__python_word(thread, layout->thread_cframe);
        if (!seems_object(cframe, layout->cframe_current, careful))
            return -1;
        frame = sonde__python_word(cframe, layout->cframe_current);
    }
    for (; frame; frame = sonde__python_word(frame, layout->frame_previous)) {
        if (walk->count == walk->max || walk->budget-- == 0)
            return walk->count;
        if (!seems_object(frame, layout->frame_owner, careful))
            return -1;
        uint32_t owner = *(const uint8_t *)(frame + layout->frame_owner);
        if (owner > OWNER_LAST)
            return -1;
        if (owner >= OWNED_BY_C)
            close_group(walk, frame);
        else if (!read_frame(walk, frame, owner, careful))
            return -1;
    }
    return walk->count;
}

ALWAYS_INLINE int walk_thread(uintptr_t thread, struct sonde_pyframe *frames, int max, bool careful)
{
    struct walk walk = {
        .layout = &sonde__python.layout,
        .code_type = sonde__python.code_type,
        .frames = frames,
        .max = max,
        .budget = 4 * max + 64,
    };
    switch (walk.layout->form) {
    case SONDE__PYTHON_OBJECTS: return walk_objects(&walk, thread, careful);
    case SONDE__PYTHON_CFRAMES: return walk_cframes(&walk, thread, careful);
    default: return walk_shims(&walk, thread, careful);
    }
}

/* Up to 3.11 PyGILState_GetThisThreadState gives the thread state that this
 * thread had first, which is not the one that runs inside a sub-interpreter.
 * As long as there are several interpreters, believe it only when it is the
 * one that holds the GIL. From 3.12 on it follows every switch. */
ALWAYS_INLINE bool thread_is_right(uintptr_t thread)
{
    const struct sonde__python_state *state = &sonde__python;
    return state->layout.version >= 0x030c || state->first_interp() == state->main_interp() ||
           state->running_thread() == thread;
}

/* ---- proving the first walk ---------------------------------------------- */

/* The layout is believed after one walk in which everything that can be
 * known otherwise is as it must be: the thread state carries this thread's id
 * and leads to frames whose code objects have the right types in every field
 * used, with instruction offsets inside the code. */
static int prove(uintptr_t thread, struct sonde_pyframe *frames, int max)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    if (!seems_object(thread, layout->thread_id, true) ||
        !sonde__python_readable(thread + layout->thread_frame) ||
        !sonde__python_readable(thread + layout->thread_cframe))
        return give_up("the thread state is not where it is expected");
    /* A thread state made in another thread than it is used in: no proof here. */
    if (sonde__python_word(thread, layout->thread_id) != (uintptr_t)pthread_self())
        return 0;
    int count = walk_thread(thread, frames, max, true);
    if (count < 0)
        return give_up("the layout of Python frames is not that of this version");
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (frames[i].code && !sonde__pycode_proved(frames[i].code, frames[i].offset))
            return give_up("the layout of Python code objects is not that of this version");
        any |= frames[i].code != 0;
    }
    if (any)
        atomic_store_explicit(&sonde__python.phase, SONDE__PYTHON_READY, memory_order_release);
    return count;
}

static __attribute__((noinline)) int first_walk(struct sonde_pyframe *frames, int max)
{
    struct sonde__python_state *state = &sonde__python;
    const char *why = NULL;
    if (!state->is_initialized())
        return 0;
    uintptr_t thread = state->this_thread();
    if (!thread || !sonde__trylock(&attach_lock))
        return 0;
    int count = 0;
    if (atomic_load_explicit(&state->phase, memory_order_acquire) != SONDE__PYTHON_OFF) {
        if (!state->layout.version && !choose_layout(state, &why))
            count = give_up(why);
        else if (thread_is_right(thread))
            count = prove(thread, frames, max);
    }
    sonde__unlock(&attach_lock);
    return count;
}

int sonde__python_walk_interrupted(struct sonde_pyframe *frames, int max)
{
    const struct sonde__python_state *state = &sonde__python;
    const struct sonde__python_layout *layout = &state->layout;
    if (atomic_load_explicit(&state->phase, memory_order_acquire) != SONDE__PYTHON_READY || !state->is_initialized())
        return 0;
    uintptr_t thread = state->this_thread();
    if (!thread || !thread_is_right(thread))
        return 0;
    if (!seems_object(thread, layout->thread_frame, true) || !seems_object(thread, layout->thread_cframe, true))
        return -1;
    return walk_thread(thread, frames, max, true);
}

int sonde__python_walk(struct sonde_pyframe *frames, int max)
{
    const struct sonde__python_state *state = &sonde__python;
    int phase = atomic_load_explicit(&state->phase, memory_order_acquire);
    if (max <= 0)
        return 0;
    if (__builtin_expect(phase != SONDE__PYTHON_READY, 0))
        return phase == SONDE__PYTHON_FOUND ? first_walk(frames, max) : 0;
    if (!state->is_initialized())
        return 0;
    uintptr_t thread = state->this_thread();
    if (!thread || !thread_is_right(thread))
        return 0;
    int count = walk_thread(thread, frames, max, false);
    if (count < 0)
        return give_up("reading the Python frames failed");
    return count;
}

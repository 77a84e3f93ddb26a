/* python_replay.c - see python_replay.h.
 *
 * What a walk makes of a frame (read_frame in python.c) depends on its code
 * object, its instruction, its owner, and on what a code object says of itself,
 * which never changes: its number says which one is at this address now. The
 * owner follows from the rest: the interpreter's own frames have code of their
 * own; a generator's code runs in the thread's frame up to the instruction that
 * makes the generator, and in its own after it. In a sum number and instruction
 * are one word: instructions of one code object differ in lower bits only. A frame
 * is read only when the one before it leads there, so that no memory is looked
 * at which is not a frame's; the processor, which guesses that, does not wait.
 */
#include "python_replay.h"

#include "python_state.h"

enum { OWNED_BY_C = 3 };
enum { SHIM = 1 };

bool sonde__python_replayable(void)
{
    return sonde__python_can_replay();
}

/* The innermost frame; 0: none. */
static inline uintptr_t innermost(void)
{
    const struct sonde__python_state *state = &sonde__python;
    uintptr_t thread = state->is_initialized() ? state->this_thread() : 0;
    if (!thread)
        return 0;
    if (state->layout.thread_frame)
        return sonde__python_word(thread, state->layout.thread_frame);
    return sonde__python_word(sonde__python_word(thread, state->layout.thread_cframe), state->layout.cframe_current);
}

uintptr_t sonde__python_current(void)
{
    const struct sonde__python_state *state = &sonde__python;
    const struct sonde__python_layout *l = &state->layout;
    const uintptr_t thread = l->runtime_initialized && state->runtime && state->is_initialized() ? state->this_thread() : 0;
    return thread ? sonde__python_word(thread, l->thread_cframe) + l->cframe_current : 0;
}

/* An interpreter that ends gives the memory of frames back. */
static inline uintptr_t innermost_at(uintptr_t current)
{
    const uintptr_t runtime = (uintptr_t)sonde__python.runtime;
    return *(const volatile int *)(runtime + sonde__python.layout.runtime_initialized) ? *(const uintptr_t *)current : 0;
}

/* Of a frame's first word, those that are the code object's address. */
static inline uintptr_t code_bits(void)
{
    return sonde__python.layout.version >= 0x030e ? ~(uintptr_t)3 : ~(uintptr_t)0;
}

static inline uint32_t number_of(uintptr_t code)
{
    return *(const uint32_t *)(code + sonde__python.layout.code_version);
}

int sonde__python_places(uintptr_t *place, int max)
{
    const struct sonde__python_layout *l = &sonde__python.layout;
    int n = 0;
    for (uintptr_t frame = innermost(); frame; frame = sonde__python_word(frame, l->frame_previous)) {
        const bool shim = *(const uint8_t *)(frame + l->frame_owner) >= OWNED_BY_C;
        if (n == max || (!shim && !number_of(sonde__python_word(frame, l->frame_code) & code_bits())))
            return -1;
        place[n++] = frame | (shim ? SHIM : 0);
    }
    return n;
}

__attribute__((hot)) bool sonde__python_replay(const uintptr_t *place, uint32_t count, uintptr_t current, uint64_t *sum)
{
    const struct sonde__python_layout *l = &sonde__python.layout;
    uintptr_t frame = current ? innermost_at(current) : innermost();
    const uintptr_t bits = code_bits();
    const uint32_t version = l->code_version;
    uint64_t key = SONDE__SUM_KEY, all = *sum;
    for (const uintptr_t *const end = place + count; place < end; place++, key += SONDE__SUM_STEP) {
        const uintptr_t at = *place & ~(uintptr_t)SHIM;
        if (__builtin_expect(frame != at, 0))
            return false;
        const uintptr_t code = sonde__python_word(at, SONDE__PYTHON_FRAME_CODE);
        const uintptr_t number = *place & SHIM ? at : (code & bits) + version;
        all += sonde__sum_of(code ^ at ^ key, sonde__python_word(at, SONDE__PYTHON_FRAME_INSTRUCTION) ^
                                                  (uint64_t)*(const uint32_t *)number << 32);
        frame = sonde__python_word(at, SONDE__PYTHON_FRAME_PREVIOUS);
    }
    *sum = all + count;
    return !frame;
}

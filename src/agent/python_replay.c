/* python_replay.c - see python_replay.h.
 *
 * What a walk makes of a frame (read_frame in python.c) depends on its code
 * object, its instruction, its owner, and on what a code object says of itself,
 * which never changes: its number says which one is at this address now. A frame
 * is read only when the one before it leads there, so that no memory is looked
 * at which is not a frame's; the processor, which guesses that, does not wait.
 */
#include "agent/python_replay.h"

#include "agent/python_state.h"

enum { OWNED_BY_C = 3, SHIM = 1 };

static bool ready(void)
{
    return atomic_load_explicit(&sonde__python.phase, memory_order_acquire) == SONDE__PYTHON_READY;
}

__attribute__((hot)) bool sonde__python_replayable(void)
{
    const struct sonde__python_layout *l = &sonde__python.layout;
    return ready() && l->form == SONDE__PYTHON_SHIMS && l->code_version && !l->code_tlbc;
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

static inline uintptr_t code_of(uintptr_t word)
{
    return sonde__python.layout.version >= 0x030e ? word & ~(uintptr_t)3 : word;
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
        if (n == max || (!shim && !number_of(code_of(sonde__python_word(frame, l->frame_code)))))
            return -1;
        place[n++] = frame | (shim ? SHIM : 0);
    }
    return n;
}

__attribute__((hot)) bool sonde__python_replay(const uintptr_t *place, uint32_t count, uint64_t *sum)
{
    const struct sonde__python_layout *l = &sonde__python.layout;
    uintptr_t frame = innermost();
    uint64_t key = SONDE__SUM_KEY, all = *sum;
    for (uint32_t i = 0; i < count; i++, key += SONDE__SUM_STEP) {
        const uintptr_t at = place[i] & ~(uintptr_t)SHIM;
        if (__builtin_expect(frame != at, 0))
            return false;
        const uintptr_t code = sonde__python_word(at, l->frame_code);
        uint64_t where = (uint64_t)*(const uint8_t *)(at + l->frame_owner) << 56, number = 0;
        if (!(place[i] & SHIM)) {
            where ^= sonde__python_word(at, l->frame_instruction);
            number = number_of(code_of(code));
        }
        all += sonde__sum_of(code ^ key, where) ^ sonde__sum_of(at ^ key, number);
        frame = sonde__python_word(at, l->frame_previous);
    }
    *sum = all + count;
    return !frame;
}

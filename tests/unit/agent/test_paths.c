/* test_paths.c - contexts of stacks that change and come again (paths.c, known.c) are
 * what the compiler's own unwinder sees, frame by frame; with room for the paths and
 * without, and after modules have changed. Where links stand in them is what
 * merging from the outermost frame says (SONDE_CHECK), the agent's other way; and
 * what was known without a walk is what the walk says, by a trail or by a replay.
 */
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/context/replay.h"
#include "harness.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SKIPPED = 2 }; /* and the sanitizer's own backtrace */
#else
enum { SKIPPED = 1 }; /* the innermost: at another place in it */
#endif
enum {
    DEPTH = 24,
    FEW = 100,
    MANY = 12000,
};

typedef void step(uint32_t path, int depth);
static step *const steps[4];
static uint32_t queue;
static unsigned compared, wrong, linked, known, replays;
static int link_depth = -1; /* where the path gets a link */

static const struct sonde_row_node *row_of(uint32_t id)
{
    const unsigned char *segment = sonde__agent.pool.base + (size_t)(id >> SONDE_NODE_SHIFT) * SONDE_SEGMENT_BYTES;
    return (const struct sonde_row_node *)(const void *)(segment + SONDE_SEGMENT_HEADER) +
           (id & ((1u << SONDE_NODE_SHIFT) - 1));
}

__attribute__((noinline)) static void launch(void)
{
    void *pc[256];
    int n = backtrace(pc, 256);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    uint32_t node = row_of(sonde__self->last_context)->parent; /* of the API call's node */
    uint32_t frame[256], length = 0;
    for (; node && length < 256; node = row_of(node)->parent) {
        frame[length] = row_of(node)->frame;
        const struct sonde_row_frame *row = sonde__table_find(SONDE_TABLE_FRAME, sizeof *row, frame[length]);
        if (row->kind == SONDE_FRAME_LINK)
            linked++;
        else
            length++;
    }
    const struct sonde_trails *trails = &sonde__self->trails; /* a context is kept by this stack */
    known += trails->last && sonde__trail(trails, trails->last)->known;
    replays += sonde__self->replay && sonde__self->replay->node == sonde__self->last_context;
    int same = 0; /* from the outermost inwards */
    while (same < n && same < (int)length &&
           sonde__frame_of_pc((uintptr_t)pc[n - 1 - same]) == frame[(int)length - 1 - same])
        same++;
    compared++;
    wrong += same < n - SKIPPED || same < DEPTH || (int)length < n;
}

#define STEP(i, bytes)                                        \
    __attribute__((noinline)) static void step_##i(uint32_t path, int depth) \
    {                                                         \
        volatile char room[bytes];                            \
        room[0] = (char)depth;                                \
        if (depth == link_depth)                              \
            sonde_link(1 + path % 3, 0, (const void *)room);  \
        if (depth == 0)                                       \
            launch();                                         \
        else                                                  \
            steps[(path * 2654435761u >> 28) & 3](path * 1664525u + 1013904223u, depth - 1); \
        room[bytes - 1] = room[0];                            \
    }
STEP(0, 8)
STEP(1, 40)
STEP(2, 104)
STEP(3, 300)
static step *const steps[4] = {step_0, step_1, step_2, step_3};

static void rounds(uint32_t paths, int count)
{
    for (int r = 0; r < count; r++) {
        for (uint32_t p = 0; p < paths; p++) {
            link_depth = p % 7 == 1 ? 5 : (p % 7 == 2 ? 20 : -1);
            if (p % 7 > 4) /* before all, or after all */
                sonde_link(1 + p % 2, 0, (const void *)(p % 7 == 5 ? UINTPTR_MAX : 0));
            steps[p & 3](p * 2246822519u, DEPTH - (int)(p % 3));
            if (p % 3)
                sonde_link(0, 0, NULL);
            if (p % 512 == 0)
                harness_wait();
        }
        if (r % 2)
            sonde__unwind_modules_changed();
    }
}

static void contexts_are_the_stack(void **state)
{
    (void)state;
    harness_setup("paths", (const char *const[]){"SONDE_CHECK=1", NULL});
    queue = harness_queue(0);
    struct sonde_paths before = {0};
    for (int i = 0; i < 3; i++) { /* from one place, since the caller is in the path */
        before = sonde__self->paths;
        known = replays = 0;
        rounds(FEW, i ? 1 : 9);   /* the modules change before the ninth */
    }
    assert_non_null(before.slot);
    const struct sonde_paths *after = &sonde__self->paths; /* nearly all were known: a few may have met in one set */
    assert_true((after->current - before.current) * SONDE_HEAP_BLOCK + after->used - before.used < FEW / 10 * 400);
    assert_true(known > FEW - FEW / 10);
    assert_true(replays > FEW - FEW / 10);
    rounds(MANY, 2);
    assert_true(sonde__self->paths.blocks <= SONDE_PATHS_BLOCKS);
    assert_true(sonde__self->replays.blocks <= SONDE_REPLAY_BLOCKS);
    assert_int_equal(compared, 11 * FEW + 2 * MANY);
    assert_int_equal(wrong, 0);
    assert_true(linked > compared / 2);
    assert_int_equal(atomic_load(&sonde__self->count.unwind_mismatched), 0);
    assert_int_equal(atomic_load(&sonde__self->count.folded), 0);
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    assert_int_equal(m->processes[0].header.ledger.seen, m->processes[0].header.ledger.done);
    sonde_measurement_close(m);
    harness_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(contexts_are_the_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

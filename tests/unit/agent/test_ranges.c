/* test_ranges.c - ranges stand in the calling contexts where they were opened,
 * and become rows with exact counts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

#define NOINLINE __attribute__((noinline, noclone))
#define STAY() __asm__ volatile("" ::: "memory") /* no tail call */

static uint32_t queue;

static struct sonde_range range_named(const char *name)
{
    assert_true(sonde_enter());
    return (struct sonde_range){.name = sonde_range_name(name, strlen(name))};
}

/* Inlined, as NVTX's calls are: the pusher is the function that says it. */
#define PUSH(text) do { struct sonde_range r_ = range_named(text); sonde_range_push(&r_); STAY(); } while (0)

/* ---- the program ------------------------------------------------------------------ */

NOINLINE static void inner(void)
{
    PUSH("B");
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    sonde_range_pop(0);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    STAY();
}

NOINLINE static void nested(void)
{
    PUSH("A");
    inner();
    sonde_range_pop(0);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    STAY();
}

NOINLINE static void work(void)
{
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    STAY();
}

NOINLINE static void opener(const char *name)
{
    PUSH(name);
}

NOINLINE static void helped(void)
{
    for (int i = 0; i < 3; i++) {
        opener("H");
        work();
        sonde_range_pop(0);
    }
    STAY();
}

NOINLINE static void leaver(void)
{
    opener("L");
    work();
    STAY();
}

NOINLINE static void left(void) /* the range outlives the function that opened it */
{
    leaver();
    work();
    sonde_range_pop(0);
    work();
    STAY();
}

NOINLINE static void recurse(int n)
{
    if (n == 2)
        PUSH("R");
    if (n > 0)
        recurse(n - 1);
    else
        work();
    if (n == 2)
        sonde_range_pop(0);
    STAY();
}

NOINLINE static void siblings(void) /* two ranges opened one after the other, in one call */
{
    PUSH("S");
    PUSH("T");
    work();
    sonde_range_pop(0);
    sonde_range_pop(0);
    STAY();
}

NOINLINE static void operator_of(uint32_t context)
{
    volatile int within = 0; /* as the object is in autograd's frame */
    sonde_link(context, sonde_range_name("Backward0", 9), (const void *)(uintptr_t)&within);
    work();
    sonde_link(0, 0, NULL);
    STAY();
}

/* ---- a random walk, and what its contexts should be ----------------------------------- */

enum { WALK_DEEPEST = 12 };
enum { WALK_PATHS = 60000 };
enum {
    SITE_LAUNCH,
    SITE_PUSH,
    SITE_A1,
    SITE_A2,
    SITE_B,
};

/* The rule itself, on what the walkers say of themselves. */
static struct {
    struct { char function, site; } now[WALK_DEEPEST + 2], last[WALK_DEEPEST + 2];
    uint32_t last_length;
    struct { uint32_t place, name; } open[SONDE_RANGES_MAX];
    uint32_t ranges, pushed;
    uint64_t paths;
    char (*path)[160]; /* of each launch */
} model;

static void model_stack(uint32_t length)
{
    uint32_t common = 0;
    while (common < length && common < model.last_length && model.now[common].function == model.last[common].function &&
           model.now[common].site == model.last[common].site)
        common++;
    if (common < length && common < model.last_length && model.now[common].function == model.last[common].function)
        common++;
    for (uint32_t i = 0; i < model.ranges; i++)
        if (model.open[i].place > common)
            model.open[i].place = common;
    memcpy(model.last, model.now, sizeof model.last);
    model.last_length = length;
}

static void model_launch(uint32_t length)
{
    char *text = model.path[model.paths++], *end = text + sizeof model.path[0];
    uint32_t range = 0;
    model_stack(length);
    for (uint32_t i = 0; i <= length; i++) {
        for (; range < model.ranges && model.open[range].place <= i; range++)
            text += snprintf(text, (size_t)(end - text), " [%u]", model.open[range].name);
        if (i < length)
            text += snprintf(text, (size_t)(end - text), " walk_%c", model.now[i].function);
    }
    assert_true(text < end);
}

static void walk_push(void)
{
    char name[16];
    snprintf(name, sizeof name, "%u", ++model.pushed % 50);
    struct sonde_range r = range_named(name);
    sonde_range_push(&r);
    STAY();
}

static void walk_pop(void)
{
    model.ranges -= model.ranges > 0;
    sonde_range_pop(0);
}

static void walk_a(uint32_t depth);
static void walk_b(uint32_t depth);

/* Calls stand apart, so that each has a return address of its own. */
#define WALKER(letter, more)                                                                            \
    NOINLINE static void walk_##letter(uint32_t depth)                                                   \
    {                                                                                                    \
        for (int i = 0; i < (more); i++) {                                                               \
            int what = rand() % 8;                                                                       \
            model.now[depth].function = #letter[0];                                                      \
            model.now[depth].site = (char)(what < 3 ? SITE_LAUNCH : what == 3 ? SITE_PUSH : what);       \
            if (what < 3) {                                                                              \
                model_launch(depth + 1);                                                                 \
                harness_launch(queue, SONDE_OP_KERNEL, 0, true);                                         \
            } else if (what == 3 && model.ranges < 6) {                                                  \
                model_stack(depth + 1);                                                                  \
                walk_push();                                                                             \
                model.open[model.ranges].place = depth + 1;                                              \
                model.open[model.ranges++].name = model.pushed % 50;                                     \
            } else if (what == 4 && depth < WALK_DEEPEST) {                                              \
                walk_a(depth + 1);                                                                       \
                __asm__ volatile("# not to be merged with the next" ::: "memory");                       \
            } else if (what == 5 && depth < WALK_DEEPEST) {                                              \
                walk_a(depth + 1);                                                                       \
            } else if (what == 6 && depth < WALK_DEEPEST) {                                              \
                walk_b(depth + 1);                                                                       \
            } else if (what == 7) {                                                                      \
                walk_pop();                                                                              \
            }                                                                                            \
            STAY();                                                                                      \
        }                                                                                                \
    }
WALKER(a, 5)
WALKER(b, 3)

static const struct {
    const char *name;
    uintptr_t start;
} functions[] = {
    {"inner", (uintptr_t)inner},
    {"nested", (uintptr_t)nested},
    {"work", (uintptr_t)work},
    {"opener", (uintptr_t)opener},
    {"helped", (uintptr_t)helped},
    {"leaver", (uintptr_t)leaver},
    {"left", (uintptr_t)left},
    {"recurse", (uintptr_t)recurse},
    {"siblings", (uintptr_t)siblings},
    {"operator_of", (uintptr_t)operator_of},
    {"walk_a", (uintptr_t)walk_a},
    {"walk_b", (uintptr_t)walk_b},
};

/* ---- what was measured --------------------------------------------------------------- */

static void frame_text(const struct sonde_process *p, uint32_t id, char *text, size_t size)
{
    const struct sonde_row_frame *f = &p->frames[id];
    *text = 0;
    if (f->kind == SONDE_FRAME_RANGE)
        snprintf(text, size, " [%s]", sonde_process_string(p, f->name));
    else if (f->kind == SONDE_FRAME_LINK)
        snprintf(text, size, " <%u>", (unsigned)f->offset);
    else if (f->kind == SONDE_FRAME_NATIVE)
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (sonde__unwind_function_start((uintptr_t)(p->modules[f->module].base + f->offset)) == functions[i].start)
                snprintf(text, size, " %s", functions[i].name);
}

/* The path of a node, outermost first: this file's functions, [ranges] and <links>. */
static void path_text(const struct sonde_process *p, uint32_t id, char *text, size_t size)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    char frame[300];
    if (!node) {
        *text = 0;
        return;
    }
    path_text(p, node->parent, text, size);
    frame_text(p, node->frame, frame, sizeof frame);
    strncat(text, frame, size - strlen(text) - 1);
}

static uint64_t operations_at(const struct sonde_process *p, const char *path)
{
    static char text[8192];
    uint64_t count = 0;
    for (uint32_t i = 1; i < p->profile_count; i++) {
        if (!p->profiles[i].lane)
            continue;
        path_text(p, p->profiles[i].node, text, sizeof text);
        if (strcmp(text, path) == 0)
            count += p->profiles[i].count;
    }
    return count;
}

static struct sonde_row_range rows[200000];
static uint32_t row_count;

static int take_rows(void *user, uint32_t lane, const void *batch, uint32_t count)
{
    (void)user;
    (void)lane;
    for (uint32_t i = 0; i < count && row_count < sizeof rows / sizeof *rows; i++)
        rows[row_count++] = ((const struct sonde_row_range *)batch)[i];
    return 0;
}

static const struct sonde_process *finish(struct sonde_measurement **m)
{
    *m = harness_finish();
    assert_non_null(*m);
    row_count = 0;
    sonde_process_trace(&(*m)->processes[0], SONDE_TABLE_RANGE, 0, 0, UINT64_MAX, take_rows, NULL);
    return &(*m)->processes[0];
}

static uint32_t rows_named(const struct sonde_process *p, const char *name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < row_count; i++)
        n += strcmp(sonde_process_string(p, rows[i].name), name) == 0;
    return n;
}

/* ---- tests (each in a process of its own: the agent starts once) --------------------------- */

static void places(void **state)
{
    struct sonde_measurement *m;
    (void)state;
    harness_setup("ranges", NULL);
    PUSH("before any device call");
    queue = harness_queue(0);
    sonde_range_pop(0);
    for (int i = 0; i < 10; i++)
        nested();
    helped();
    left();
    recurse(4);
    siblings();
    sonde_range_pop(0); /* of nothing */
    work();
    const struct sonde_process *p = finish(&m);
    assert_int_equal(operations_at(p, " nested [A] inner [B]"), 10);
    assert_int_equal(operations_at(p, " nested [A] inner"), 10);
    assert_int_equal(operations_at(p, " nested"), 10);
    assert_int_equal(operations_at(p, " helped [H] work"), 3);
    assert_int_equal(operations_at(p, " left leaver [L] work"), 1);
    assert_int_equal(operations_at(p, " left [L] work"), 1);
    assert_int_equal(operations_at(p, " left work"), 1);
    assert_int_equal(operations_at(p, " recurse recurse recurse [R] recurse recurse work"), 1);
    assert_int_equal(operations_at(p, " siblings [S] [T] work"), 1);
    assert_int_equal(operations_at(p, " work"), 1);
    assert_int_equal(row_count, 1 + 10 * 2 + 3 + 1 + 1 + 2);
    assert_int_equal(rows_named(p, "B"), 10);
    assert_int_equal(rows_named(p, "before any device call"), 1);
    for (uint32_t i = 0; i < row_count; i++)
        assert_true(rows[i].begin_ns && rows[i].end_ns >= rows[i].begin_ns && !rows[i].flags);
    sonde_measurement_close(m);
    harness_remove();
}

enum { DEEP = 100 };

static void deep(void **state)
{
    struct sonde_measurement *m;
    char path[8192] = "", name[16];
    (void)state;
    harness_setup("ranges-deep", NULL);
    queue = harness_queue(0);
    for (int i = 0; i < DEEP; i++) {
        snprintf(name, sizeof name, "d%d", i);
        PUSH(name);
        if (i < SONDE_RANGES_MAX)
            snprintf(path + strlen(path), sizeof path - strlen(path), " [%s]", name);
    }
    work();
    for (int i = 0; i < DEEP; i++)
        sonde_range_pop(0);
    work();
    for (int i = 0; i < DEEP; i++)
        sonde_range_pop(0);
    nested();
    strcat(path, " work");
    const struct sonde_process *p = finish(&m);
    assert_int_equal(operations_at(p, path), 1);
    assert_int_equal(operations_at(p, " work"), 1);
    assert_int_equal(operations_at(p, " nested [A] inner [B]"), 1);
    assert_int_equal(row_count, SONDE_RANGES_MAX + 2);
    sonde_measurement_close(m);
    harness_remove();
}

enum { NAMES = 100000 };

static void many_names(void **state)
{
    struct sonde_measurement *m;
    char name[32];
    uint32_t frames = 0, strings = 0;
    uint64_t operations = 0;
    (void)state;
    harness_setup("ranges-names", NULL);
    queue = harness_queue(0);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "step %d", i);
        PUSH(name);
        work();
        sonde_range_pop(0);
    }
    const struct sonde_process *p = finish(&m);
    for (uint32_t i = 1; i < p->frame_count; i++)
        frames += p->frames[i].kind == SONDE_FRAME_RANGE;
    for (uint32_t i = 1; i < p->string_count; i++)
        strings += strncmp(p->strings[i].bytes, "step ", 5) == 0;
    for (uint32_t i = 1; i < p->profile_count; i++)
        operations += p->profiles[i].lane ? p->profiles[i].count : 0;
    assert_in_range(frames, 4000, 4097);
    assert_in_range(strings, 60000, 65536);
    assert_int_equal(operations, NAMES);
    assert_int_equal(operations_at(p, " [step 7] work"), 1);
    assert_true(operations_at(p, " [" SONDE_RANGE_OTHER "] work") >= NAMES - 4096);
    assert_int_equal(row_count, NAMES);
    sonde_measurement_close(m);
    harness_remove();
}

enum { THREADS = 4 };
enum { ROUNDS = 5000 };

static uint64_t across_id;

static void *thread_main(void *number)
{
    char name[16];
    snprintf(name, sizeof name, "thread %d", (int)(intptr_t)number);
    PUSH(name);
    for (int i = 0; i < ROUNDS; i++)
        nested();
    sonde_range_pop(0);
    if ((intptr_t)number == 0)
        sonde_range_end(across_id);
    PUSH("left by its thread");
    return NULL;
}

static void threads(void **state)
{
    struct sonde_measurement *m;
    pthread_t thread[THREADS];
    char path[100];
    (void)state;
    harness_setup("ranges-threads", NULL);
    queue = harness_queue(0);
    struct sonde_range range = range_named("across"), mark = range_named("mark");
    mark.payload_type = 1;
    mark.payload = 42;
    across_id = sonde_range_start(&range);
    assert_true(across_id);
    uint64_t open = sonde_range_start(&range);
    sonde_mark(&mark);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, thread_main, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    sonde_range_end(across_id); /* a second time: nothing */
    PUSH("never popped");
    const uint32_t lane = sonde__self->lane;
    const struct sonde_process *p = finish(&m);
    for (int i = 0; i < THREADS; i++) {
        snprintf(path, sizeof path, " [thread %d] nested [A] inner [B]", i);
        assert_int_equal(operations_at(p, path), ROUNDS);
    }
    assert_int_equal(row_count, THREADS * (2 * ROUNDS + 1 + 1) + 2 + 1 + 1);
    assert_int_equal(rows_named(p, "left by its thread"), THREADS);
    assert_int_equal(rows_named(p, "A"), THREADS * ROUNDS);
    row_count = 0;
    sonde_process_trace(p, SONDE_TABLE_RANGE, lane, 0, UINT64_MAX, take_rows, NULL);
    assert_int_equal(row_count, 4); /* across twice, mark, never popped: of the thread that began them */
    uint32_t ended = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        const char *name = sonde_process_string(p, rows[i].name);
        if (strcmp(name, "mark") == 0) {
            assert_int_equal(rows[i].begin_ns, rows[i].end_ns);
            assert_int_equal(rows[i].flags, SONDE_RANGE_MARK);
            assert_int_equal(rows[i].payload, 42);
        } else if (strcmp(name, "across") == 0) {
            assert_int_equal(rows[i].flags, SONDE_RANGE_ACROSS);
            ended += rows[i].end_ns != 0;
        } else {
            assert_string_equal(name, "never popped");
            assert_int_equal(rows[i].end_ns, 0);
        }
    }
    assert_int_equal(ended, 1);
    assert_true(open && open != across_id);
    sonde_measurement_close(m);
    harness_remove();
}

static _Atomic uint64_t watched;

static void watch(uint32_t context)
{
    assert_true(context);
    atomic_fetch_add(&watched, 1);
}

static void links(void **state)
{
    struct sonde_measurement *m;
    char path[100];
    (void)state;
    harness_setup("ranges-links", NULL);
    queue = harness_queue(0);
    nested();
    uint32_t context = sonde_last_context();
    sonde_watch_calls(watch);
    assert_true(context);
    for (int i = 0; i < 5; i++)
        operator_of(context);
    PUSH("P");
    operator_of(0);
    sonde_range_pop(0);
    work();
    const struct sonde_process *p = finish(&m);
    snprintf(path, sizeof path, " <%u> [Backward0] operator_of work", context);
    assert_int_equal(operations_at(p, path), 5);
    assert_int_equal(operations_at(p, " [P] [Backward0] operator_of work"), 1);
    assert_int_equal(operations_at(p, " work"), 1);
    assert_int_equal(atomic_load(&watched), 7);
    path_text(p, context, path, sizeof path);
    assert_string_equal(path, " nested");
    sonde_measurement_close(m);
    harness_remove();
}

static void profile_only(void **state)
{
    struct sonde_measurement *m;
    static const char *const extra[] = {"SONDE_TRACE=0", NULL};
    (void)state;
    harness_setup("ranges-profile", extra);
    queue = harness_queue(0);
    nested();
    const struct sonde_process *p = finish(&m);
    assert_int_equal(operations_at(p, " nested [A] inner [B]"), 1);
    assert_int_equal(row_count, 0);
    sonde_measurement_close(m);
    harness_remove();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Ranges that are opened and closed anywhere, left open by functions that return, and calls in between. */
static void walk_by(const char *const *extra)
{
    struct sonde_measurement *m;
    harness_setup("ranges-walk", extra);
    queue = harness_queue(0);
    model.path = calloc(WALK_PATHS, sizeof *model.path);
    assert_non_null(model.path);
    srand(20);
    while (model.paths < WALK_PATHS / 2)
        walk_a(0);
    const struct sonde_process *p = finish(&m);
    uint64_t measured = 0;
    char (*path)[160] = calloc(WALK_PATHS, sizeof *path);
    assert_non_null(path);
    for (uint32_t i = 1; i < p->profile_count; i++)
        for (uint64_t n = p->profiles[i].lane ? p->profiles[i].count : 0; n > 0; n--) {
            assert_true(measured < WALK_PATHS);
            path_text(p, p->profiles[i].node, path[measured++], sizeof path[0]);
        }
    assert_int_equal(measured, model.paths);
    qsort(model.path, model.paths, sizeof *model.path, by_text);
    qsort(path, measured, sizeof *path, by_text);
    uint64_t different = 0;
    for (uint64_t i = 0; i < measured; i++) {
        assert_string_equal(path[i], model.path[i]);
        different += !i || strcmp(path[i], path[i - 1]) != 0;
    }
    assert_true(different > 1000);
    assert_int_equal(atomic_load(&sonde__self->count.unwind_mismatched), 0);
    free(path);
    free(model.path);
    sonde_measurement_close(m);
    harness_remove();
}

static void random_walk(void **state)
{
    (void)state;
    walk_by(NULL);
}

/* What is remembered of a context among ranges is what it is when it is put together again. */
static void checked_walk(void **state)
{
    (void)state;
    walk_by((const char *const[]){"SONDE_CHECK=1", NULL});
}

enum { TIMES = 2000,
       LATER = 500 };

/* Of calls within ranges that came before, no stack is walked, and no context is put together. */
static void come_again(void **state)
{
    struct sonde_measurement *m;
    uint64_t walked = 0;
    uint32_t used = 0, current = 0;
    (void)state;
    harness_setup("ranges-again", NULL);
    queue = harness_queue(0);
    for (int i = 0; i < TIMES; i++) {
        if (i == LATER) {
            used = sonde__self->paths.used;
            current = sonde__self->paths.current;
        }
        PUSH("outer");
        for (int k = 0; k < 3; k++) {
            PUSH("inner");
            walked += i >= LATER && !sonde__self->replay;
            work();
            walked += i >= LATER && !sonde__self->replay;
            sonde_range_pop(0);
        }
        work();
        sonde_range_pop(0);
    }
    enum { CHECKED = TIMES * 12 / SONDE_CHECK_EVERY + 1 }; /* these are compared with a full walk, and may then be kept */
    assert_true(walked <= CHECKED);
    assert_int_equal(sonde__self->paths.current, current);
    assert_true(sonde__self->paths.used - used <= CHECKED * 100);
    const struct sonde_process *p = finish(&m);
    assert_int_equal(operations_at(p, " [outer] [inner] work"), 3 * TIMES);
    assert_int_equal(operations_at(p, " [outer] work"), TIMES);
    sonde_measurement_close(m);
    harness_remove();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(deep),
        cmocka_unit_test(many_names),
        cmocka_unit_test(threads),
        cmocka_unit_test(links),
        cmocka_unit_test(profile_only),
        cmocka_unit_test(random_walk),
        cmocka_unit_test(checked_walk),
        cmocka_unit_test(come_again),
    };
    unsigned which = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    return which < sizeof all / sizeof *all ? _cmocka_run_group_tests("ranges", &all[which], 1, NULL, NULL) : 77;
}

/* memory.c - unit tests of src/analyze/answers/memory/memory.c on measurements written through the real
 * format: one whose numbers are worked out below, and random ones against counting at
 * every instant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "analyze/answers/memory/memory.h"
#include "format/writer.h"
#include "synth.h"

enum {
    SITES = 6,
    START = 1000,
    STOP = 2000,
};

struct scene {
    char folder[64], process[128];
    struct synth_build *build;
    uint32_t site[SITES]; /* nodes of the allocating calls: "site 0" > clCreateBuffer, ... */
    struct sonde_live_header header;
    struct sonde_measurement *m;
    struct sonde_profile *profile;
    struct sonde_memory_use memory;
};

static uint32_t add_node(struct scene *s, uint32_t parent, struct sonde_row_frame frame)
{
    struct sonde_row_node row = {parent, (uint32_t)synth_add(s->build, SONDE_TABLE_FRAME, 0, &frame)};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_NODE, 1, &row);
}

static void scene_begin(struct scene *s)
{
    memset(s, 0, sizeof *s);
    strcpy(s->folder, "/tmp/sonde-memory-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->process, sizeof s->process, "%s/host-1-0", s->folder);
    assert_int_equal(mkdir(s->process, 0777), 0);
    s->build = synth_build_create(s->process);
    s->header = (struct sonde_live_header){.pid = 1, .state = SONDE_PROCESS_EXITED, .start_ns = START, .stop_ns = STOP};
    for (int i = 0; i < 2; i++) {
        struct sonde_row_device device = {.name = synth_add_string(s->build, i ? "GPU 1" : "GPU 0"), .memory_bytes = 1 << 20};
        synth_add(s->build, SONDE_TABLE_DEVICE, 0, &device);
    }
    for (int i = 0; i < SITES; i++) {
        char name[20];
        snprintf(name, sizeof name, "site %d", i);
        uint32_t at = add_node(s, 0, (struct sonde_row_frame){.kind = SONDE_FRAME_RANGE, .name = synth_add_string(s->build, name)});
        s->site[i] = add_node(s, at, (struct sonde_row_frame){.kind = SONDE_FRAME_API, .offset = 1, .name = synth_add_string(s->build, "clCreateBuffer")});
    }
}

static uint32_t add(struct scene *s, struct sonde_row_object o)
{
    return (uint32_t)synth_add(s->build, SONDE_TABLE_OBJECT, 0, &o);
}

static void scene_read(struct scene *s)
{
    struct sonde_diag diag = {0};
    assert_int_equal(synth_build_finish(s->build, &s->header), 0);
    assert_int_equal(sonde_process_seal(s->process, &diag), 0);
    assert_int_equal(sonde_measurement_open(s->folder, &s->m, &diag), 0);
    assert_int_equal(sonde_profile_build(s->m, &s->profile, &diag), 0);
    assert_int_equal(sonde_memory_compute(s->m, s->profile, NULL, &s->memory), 0);
}

static void scene_end(struct scene *s)
{
    char command[128];
    sonde_memory_fini(&s->memory);
    sonde_profile_destroy(s->profile);
    sonde_measurement_close(s->m);
    snprintf(command, sizeof command, "rm -r '%s'", s->folder);
    assert_int_equal(system(command), 0);
}

static const struct sonde_memory_site *site(const struct scene *s, const struct sonde_memory_space *space, const char *name)
{
    for (size_t i = 0; i < space->sites.count; i++) {
        const struct sonde_cct_node *nodes = s->profile->nodes.items;
        if (space->sites.items[i].node && strcmp(nodes[nodes[space->sites.items[i].node].parent].name, name) == 0)
            return &space->sites.items[i];
    }
    fail_msg("no %s", name);
    return NULL;
}

/* ---- numbers that are worked out here --------------------------------------------------- */

/* Device 0:  site 0: 100 B from 1100 to 1500, used 1200..1300; a part of it
 *            site 1: 40 B at 1200, 1300 and 1400, each freed 50 later, used at once
 *            site 2: 200 B from 1250 on, never used
 *            site 3: 10 B at 1600, 1700, 1800, alive; the first two are used last before
 *                    the next is made
 * Level: 1100 100, 1200 140, 1250 300 (40 went as 200 came), 1300 340, 1350 300, 1400 340,
 *        1450 300, 1500 200, 1600 210, 1700 220, 1800 230. Peak 340 at 1300. */
static void fill(struct scene *s)
{
    uint32_t whole = add(s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER,
                                                      .node = s->site[0],
                                                      .bytes = 100,
                                                      .alloc_ns = 1100,
                                                      .free_ns = 1500,
                                                      .first_use_ns = 1200,
                                                      .last_use_ns = 1300,
                                                      .uses = 2,
                                                      .device = 1});
    add(s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER,
                                     .node = s->site[0],
                                     .bytes = 50,
                                     .parent = whole,
                                     .alloc_ns = 1110,
                                     .free_ns = 1400,
                                     .uses = 1,
                                     .device = 1});
    for (uint64_t at = 1200; at < 1500; at += 100)
        add(s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER,
                                         .node = s->site[1],
                                         .bytes = 40,
                                         .alloc_ns = at,
                                         .free_ns = at + 50,
                                         .first_use_ns = at,
                                         .last_use_ns = at + 50,
                                         .uses = 1,
                                         .device = 1});
    add(s, (struct sonde_row_object){.kind = SONDE_OBJECT_IMAGE, .node = s->site[2], .bytes = 200, .alloc_ns = 1250, .device = 1});
    for (uint64_t at = 1600; at < 1900; at += 100)
        add(s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER,
                                         .node = s->site[3],
                                         .bytes = 10,
                                         .alloc_ns = at,
                                         .first_use_ns = at + 10,
                                         .last_use_ns = at + 20,
                                         .uses = 3,
                                         .device = 1});
    struct sonde_row_profile calls = {.node = s->site[1], .count = 3, .sum_ns = 600};
    synth_add(s->build, SONDE_TABLE_PROFILE, 0, &calls);
}

static void peak_and_holders(void **state)
{
    static const struct { uint64_t at_ns, bytes; } level[] = {
        {1000, 0},
        {1100, 100},
        {1200, 140},
        {1250, 300},
        {1300, 340},
        {1350, 300},
        {1400, 340},
        {1450, 300},
        {1500, 200},
        {1600, 210},
        {1700, 220},
        {1800, 230},
        {2000, 230},
    };
    struct scene s;
    (void)state;
    scene_begin(&s);
    fill(&s);
    scene_read(&s);
    assert_int_equal(s.memory.spaces.count, 1);
    assert_int_equal(s.memory.parts, 1);
    const struct sonde_memory_space *space = &s.memory.spaces.items[0];
    assert_int_equal(space->device, 1);
    assert_int_equal(space->class, SONDE_MEMORY_ON_DEVICE);
    assert_int_equal(space->count, 8);
    assert_int_equal(space->bytes, 100 + 3 * 40 + 200 + 3 * 10);
    assert_int_equal(space->freed, 4);
    assert_int_equal(space->peak_bytes, 340);
    assert_int_equal(space->peak_ns, 1300);
    assert_int_equal(space->peak_count, 3);
    assert_int_equal(site(&s, space, "site 0")->peak_bytes, 100);
    assert_int_equal(site(&s, space, "site 1")->peak_count, 1);
    assert_int_equal(site(&s, space, "site 2")->peak_bytes, 200);
    assert_int_equal(site(&s, space, "site 3")->peak_bytes, 0);
    assert_ptr_equal(&space->sites.items[0], site(&s, space, "site 2")); /* the largest holder comes first */
    assert_int_equal(space->points.count, sizeof level / sizeof *level);
    for (size_t i = 0; i < space->points.count; i++) {
        assert_int_equal(space->points.items[i].at_ns, level[i].at_ns);
        assert_int_equal(space->points.items[i].bytes, level[i].bytes);
    }
    assert_int_equal(space->points.items[4].holders[0], 200);
    assert_int_equal(s.memory.spaces.items[0].end, SONDE_MEMORY_ENDED);
    scene_end(&s);
}

static void uses_and_leaks(void **state)
{
    struct scene s;
    (void)state;
    scene_begin(&s);
    fill(&s);
    scene_read(&s);
    const struct sonde_memory_space *space = &s.memory.spaces.items[0];
    const struct sonde_memory_site *used = site(&s, space, "site 0"), *again = site(&s, space, "site 1"),
                                   *unused = site(&s, space, "site 2"), *leak = site(&s, space, "site 3");
    assert_float_equal(used->early, 100 * 100, 1e-6);  /* 1100 to 1200 */
    assert_float_equal(used->late, 100 * 200, 1e-6);   /* 1300 to 1500 */
    assert_float_equal(used->held, 100 * 400, 1e-6);
    assert_int_equal(used->unused, 0);
    assert_int_equal(again->count, 3);
    assert_int_equal(again->most_count, 1);
    assert_float_equal(again->alloc_ns, 600, 1e-6);
    assert_float_equal(again->early + again->late, 0, 1e-6);
    assert_int_equal(unused->unused, 1);
    assert_int_equal(unused->unused_bytes, 200);
    assert_float_equal(unused->unused_held, 200 * 750, 1e-6); /* 1250 to the end */
    assert_int_equal(unused->alive, 1);
    assert_int_equal(unused->left, 0);
    assert_int_equal(leak->alive, 3);
    assert_int_equal(leak->alive_bytes, 30);
    assert_int_equal(leak->left, 2); /* the last one has no successor */
    assert_int_equal(leak->left_bytes, 20);
    assert_float_equal(leak->late, 10 * (380 + 280 + 180), 1e-6);
    scene_end(&s);
}

/* Freed nothing, was killed, freed at the end: told apart. */
static void ends(void **state)
{
    static const struct {
        uint32_t state;
        uint64_t free_ns;
        enum sonde_memory_end end;
        uint64_t late;
    } cases[] = {
        {SONDE_PROCESS_EXITED, 0, SONDE_MEMORY_FREED_NONE, 0},
        {SONDE_PROCESS_EXITED, 1900, SONDE_MEMORY_ENDED, 0},
        {SONDE_PROCESS_EXITED, 2100, SONDE_MEMORY_ENDED, 1},
        {SONDE_PROCESS_RUNNING, 1900, SONDE_MEMORY_CUT, 0},
        {SONDE_PROCESS_OFF, 0, SONDE_MEMORY_CUT, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        scene_begin(&s);
        s.header.state = cases[i].state;
        add(&s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER, .node = s.site[0], .bytes = 8, .alloc_ns = 1500, .free_ns = cases[i].free_ns});
        scene_read(&s);
        assert_int_equal(s.memory.spaces.items[0].end, cases[i].end);
        assert_int_equal(s.memory.spaces.items[0].freed_late, cases[i].late);
        assert_int_equal(s.memory.spaces.items[0].sites.items[0].alive, cases[i].free_ns == 0);
        scene_end(&s);
    }
}

/* Pinned memory is the host's, managed and SVM are apart; a partial use is no use that is known. */
static void classes(void **state)
{
    static const struct {
        enum sonde_object_kind kind;
        uint32_t device;
        enum sonde_memory_class class;
    } cases[] = {
        {SONDE_OBJECT_DEVICE, 1, SONDE_MEMORY_ON_DEVICE},
        {SONDE_OBJECT_VIRTUAL, 1, SONDE_MEMORY_ON_DEVICE},
        {SONDE_OBJECT_POOL, 1, SONDE_MEMORY_ON_DEVICE},
        {SONDE_OBJECT_ARRAY, 1, SONDE_MEMORY_ON_DEVICE},
        {SONDE_OBJECT_IMAGE, 2, SONDE_MEMORY_ON_DEVICE},
        {SONDE_OBJECT_MANAGED, 0, SONDE_MEMORY_SHARED},
        {SONDE_OBJECT_SVM, 0, SONDE_MEMORY_SHARED},
        {SONDE_OBJECT_PINNED, 0, SONDE_MEMORY_ON_HOST},
    };
    struct scene s;
    (void)state;
    scene_begin(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        add(&s, (struct sonde_row_object){.kind = cases[i].kind,
                                          .node = s.site[0],
                                          .bytes = 1ull << i,
                                          .alloc_ns = 1500,
                                          .device = cases[i].device,
                                          .flags = SONDE_OBJECT_USES_PARTIAL});
    add(&s, (struct sonde_row_object){.kind = SONDE_OBJECT_BUFFER, .node = 77777, .alloc_ns = 1600, .free_ns = 1550});
    scene_read(&s);
    static const uint64_t peaks[] = {0, 15, 16, 96, 128}; /* not known, GPU 0, GPU 1, shared, host */
    assert_int_equal(s.memory.spaces.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(s.memory.spaces.items[i].peak_bytes, peaks[i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sonde_object_kind_class(cases[i].kind), cases[i].class);
    assert_int_equal(s.memory.spaces.items[3].class, SONDE_MEMORY_SHARED);
    assert_int_equal(s.memory.spaces.items[1].sites.items[0].known, 0);
    assert_int_equal(s.memory.spaces.items[1].sites.items[0].unused, 0);
    assert_int_equal(s.memory.bad_times, 1);
    assert_int_equal(s.memory.spaces.items[0].sizeless, 1);
    scene_end(&s);
}

/* A segment of PyTorch's cache, by its function or by its library; a block of a pool is no segment. */
static void caching_allocator(void **state)
{
    struct scene s;
    (void)state;
    scene_begin(&s);
    struct sonde_row_module module = {.path = synth_add_string(s.build, "/x/libc10_cuda.so"), .end = 1 << 20};
    struct sonde_row_frame frame = {
        .kind = SONDE_FRAME_NATIVE,
        .offset = 0x100,
        .module = (uint32_t)synth_add(s.build, SONDE_TABLE_MODULE, 0, &module),
    };
    uint32_t api = add_node(&s, add_node(&s, 0, frame),
                            (struct sonde_row_frame){.kind = SONDE_FRAME_API, .name = synth_add_string(s.build, "cuMemAlloc")});
    add(&s, (struct sonde_row_object){.kind = SONDE_OBJECT_DEVICE, .node = api, .bytes = 64, .alloc_ns = 1500, .device = 1});
    add(&s, (struct sonde_row_object){.kind = SONDE_OBJECT_POOL, .node = api, .bytes = 32, .alloc_ns = 1500, .device = 1});
    add(&s, (struct sonde_row_object){.kind = SONDE_OBJECT_DEVICE, .node = s.site[0], .bytes = 16, .alloc_ns = 1500, .device = 1});
    scene_read(&s);
    assert_int_equal(s.memory.spaces.items[0].cached_bytes, 64);
    assert_int_equal(s.memory.spaces.items[0].cached_count, 1);
    scene_end(&s);
}

/* ---- uses that are not seen ------------------------------------------------------------------ */

enum { BOUND = 5 };

static uint32_t queue(struct scene *s, uint32_t device)
{
    struct sonde_row_lane row = {.kind = SONDE_LANE_KIND_QUEUE, .device = device};
    return (uint32_t)synth_add(s->build, SONDE_TABLE_LANE, 0, &row);
}

static void work(struct scene *s, uint32_t lane, struct sonde_row_op op)
{
    op.correlation = ++s->header.ledger.seen;
    s->header.ledger.done++;
    synth_add(s->build, SONDE_TABLE_OP, lane, &op);
}

static uint32_t hidden(struct scene *s, int site, enum sonde_object_kind kind, uint64_t bytes, uint64_t alloc_ns, uint64_t free_ns,
                       uint64_t named_ns)
{
    return add(s, (struct sonde_row_object){.kind = kind,
                                            .node = s->site[site],
                                            .bytes = bytes,
                                            .alloc_ns = alloc_ns,
                                            .free_ns = free_ns,
                                            .first_use_ns = named_ns,
                                            .last_use_ns = named_ns,
                                            .uses = named_ns > 0,
                                            .device = kind == SONDE_OBJECT_PINNED ? 0 : 1,
                                            .flags = SONDE_OBJECT_USES_PARTIAL});
}

/* Kernels from 1100 to 1200 and from 1500 to 1600, a named copy at 1300, and a copy by a graph on the other
 * device from 1700 to 1710, by a clock that may be wrong by 5.
 *   site 0: 100 B from 1210 to 1490, between the kernels: the copy names another object
 *   site 1: 10 B from 1210 to 1640: the second kernel may use it
 *   site 2: 20 B from 1250 to 1900, named at 1300: used for sure; the graph's copy may be the last
 *   site 3: 30 B from 1610 to 1900, named at 1800: the graph's copy may be the first
 *   site 4: 7 B, pinned, from 1210 to 1640: the host may use it at any time
 *   site 5: 8 B from 1720 on, after all work */
static void fill_hidden(struct scene *s)
{
    s->header.trace = 1;
    s->header.clock_bound_ns = BOUND;
    const uint32_t one = queue(s, 1), other = queue(s, 2);
    hidden(s, 0, SONDE_OBJECT_DEVICE, 100, 1210, 1490, 0);
    hidden(s, 1, SONDE_OBJECT_DEVICE, 10, 1210, 1640, 0);
    const uint32_t named = hidden(s, 2, SONDE_OBJECT_POOL, 20, 1250, 1900, 1300);
    hidden(s, 3, SONDE_OBJECT_ARRAY, 30, 1610, 1900, 1800);
    hidden(s, 4, SONDE_OBJECT_PINNED, 7, 1210, 1640, 0);
    hidden(s, 5, SONDE_OBJECT_DEVICE, 8, 1720, 0, 0);
    work(s, one, (struct sonde_row_op){.kind = SONDE_OP_KERNEL, .enter_ns = 1100, .start_ns = 1150, .end_ns = 1200});
    work(s, one, (struct sonde_row_op){.kind = SONDE_OP_WRITE, .enter_ns = 1300, .start_ns = 1310, .end_ns = 1350, .object = named});
    work(s, one, (struct sonde_row_op){.kind = SONDE_OP_EVENT_RECORD, .enter_ns = 1400, .start_ns = 1400, .end_ns = 1410});
    work(s, one, (struct sonde_row_op){.kind = SONDE_OP_KERNEL, .enter_ns = 1500, .start_ns = 1520, .end_ns = 1600});
    work(s, other, (struct sonde_row_op){.kind = SONDE_OP_COPY, .enter_ns = 1700, .start_ns = 1700, .end_ns = 1710});
}

static const struct sonde_memory_site *any_site(const struct scene *s, int number)
{
    char name[24];
    snprintf(name, sizeof name, "site %d", number);
    for (size_t i = 0; i < s->memory.spaces.count; i++)
        for (size_t k = 0; k < s->memory.spaces.items[i].sites.count; k++) {
            const struct sonde_memory_site *at = &s->memory.spaces.items[i].sites.items[k];
            const struct sonde_cct_node *nodes = s->profile->nodes.items;
            if (strcmp(nodes[nodes[at->node].parent].name, name) == 0)
                return at;
        }
    fail_msg("no %s", name);
    return NULL;
}

static void what_kernels_may_have_used(void **state)
{
    static const struct {
        uint64_t unused, unnamed;
        double early, late, named_late;
    } expected[SITES] = {
        {1, 0, 0, 0, 0},
        {0, 1, 10 * (1500 - 1210), 10 * (1640 - 1600 - BOUND), 0},
        {0, 0, 20 * (1300 - 1250), 20 * (1900 - 1710 - BOUND), 0},
        {0, 0, 30 * (1700 - 1610), 30 * (1900 - 1800), 30 * (1800 - 1700)},
        {0, 1, 0, 0, 0},
        {1, 0, 0, 0, 0},
    };
    struct scene s;
    (void)state;
    scene_begin(&s);
    fill_hidden(&s);
    scene_read(&s);
    for (int i = 0; i < SITES; i++) {
        const struct sonde_memory_site *at = any_site(&s, i);
        assert_int_equal(at->known, 0);
        assert_int_equal(at->bounded, 1);
        assert_int_equal(at->unused, expected[i].unused);
        assert_int_equal(at->unnamed, expected[i].unnamed);
        assert_float_equal(at->early, expected[i].early, 1e-6);
        assert_float_equal(at->late, expected[i].late, 1e-6);
        assert_float_equal(at->named_late, expected[i].named_late, 1e-6);
    }
    assert_float_equal(any_site(&s, 0)->unused_held, 100 * (1490 - 1210), 1e-6);
    assert_float_equal(any_site(&s, 5)->unused_held, 8 * (STOP - 1720), 1e-6);
    assert_float_equal(any_site(&s, 4)->unnamed_held, 7 * (1640 - 1210), 1e-6);
    scene_end(&s);
}

static void no_trace(struct scene *s)
{
    s->header.trace = 0;
}
static void was_killed(struct scene *s)
{
    s->header.state = SONDE_PROCESS_RUNNING;
}
static void dropped(struct scene *s)
{
    s->header.ledger.dropped[SONDE_DROP_TRACE_FULL] = 1;
}
static void in_flight(struct scene *s)
{
    s->header.ledger.seen++;
}
static void unmatched(struct scene *s)
{
    s->header.ledger.unmatched = 1;
}
static void paused(struct scene *s)
{
    struct sonde_row_pause before = {1000, 1050}, pause = {1480, 1485};
    synth_add(s->build, SONDE_TABLE_PAUSE, 0, &before);
    synth_add(s->build, SONDE_TABLE_PAUSE, 0, &pause);
}
static void paused_elsewhere(struct scene *s)
{
    struct sonde_row_pause before = {1000, 1210}, after = {1490, 0};
    synth_add(s->build, SONDE_TABLE_PAUSE, 0, &before);
    synth_add(s->build, SONDE_TABLE_PAUSE, 0, &after);
}
static void no_times(struct scene *s)
{
    work(s, queue(s, 1), (struct sonde_row_op){.kind = SONDE_OP_KERNEL, .enter_ns = 1000, .flags = SONDE_OP_NO_TIMES});
}

/* What is not known of the operations is not known of the memory: of site 0. */
static void what_cannot_be_told(void **state)
{
    static const struct {
        void (*change)(struct scene *);
        uint64_t bounded, unused, unnamed;
    } cases[] = {
        {no_trace, 0, 0, 1},
        {was_killed, 0, 0, 1},
        {dropped, 0, 0, 1},
        {in_flight, 0, 0, 1},
        {unmatched, 0, 0, 1},
        {paused, 0, 0, 0},
        {paused_elsewhere, 1, 1, 0},
        {no_times, 1, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        scene_begin(&s);
        fill_hidden(&s);
        cases[i].change(&s);
        scene_read(&s);
        const struct sonde_memory_site *at = any_site(&s, 0);
        assert_int_equal(at->bounded, cases[i].bounded);
        assert_int_equal(at->unused, cases[i].unused);
        assert_int_equal(at->unnamed, cases[i].unnamed);
        scene_end(&s);
    }
}

/* ---- against counting at every instant ----------------------------------------------------- */

enum { MANY = 700 };
enum { LENGTH = STOP - START };

static uint64_t seed = 11;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* Bytes alive right after instant `at` on a device, of one site or of all. */
static uint64_t level_at(const struct sonde_row_object *o, uint32_t device, uint32_t node, uint64_t at)
{
    uint64_t bytes = 0;
    for (int i = 0; i < MANY; i++)
        if (o[i].device == device && (!node || o[i].node == node) && o[i].alloc_ns <= at &&
            (!o[i].free_ns || o[i].free_ns > at))
            bytes += o[i].bytes;
    return bytes;
}

static void check_space(const struct scene *s, const struct sonde_memory_space *space, const struct sonde_row_object *o)
{
    uint64_t peak = 0, peak_ns = 0;
    bool met = false;
    for (uint64_t at = START; at <= STOP; at++) {
        uint64_t level = level_at(o, space->device, 0, at);
        if (level > peak) {
            peak = level;
            peak_ns = at;
        }
    }
    assert_int_equal(space->peak_bytes, peak);
    assert_int_equal(space->peak_ns, peak_ns);
    for (int i = 0; i < SITES; i++) {
        char name[20];
        snprintf(name, sizeof name, "site %d", i);
        assert_int_equal(site(s, space, name)->peak_bytes, level_at(o, space->device, s->site[i], peak_ns));
    }
    assert_true(space->points.count <= SONDE_MEMORY_POINTS);
    for (size_t i = 0; i < space->points.count; i++) {
        const struct sonde_memory_point *p = &space->points.items[i];
        uint64_t held = 0;
        assert_true(i == 0 || p->at_ns >= p[-1].at_ns);
        met |= p->at_ns == peak_ns && p->bytes == peak;
        for (int k = 0; k < SITES; k++)
            held += p->holders[k];
        assert_int_equal(held, p->bytes);
        assert_true(i == 0 || p->bytes == level_at(o, space->device, 0, p->at_ns)); /* the first is before all */
    }
    assert_true(met);
}

static void random_objects(void **state)
{
    static struct sonde_row_object o[MANY];
    (void)state;
    for (int round = 0; round < 8; round++) {
        struct scene s;
        scene_begin(&s);
        for (int i = 0; i < MANY; i++) {
            o[i] = (struct sonde_row_object){
                .kind = SONDE_OBJECT_BUFFER,
                .node = s.site[noise(SITES)],
                .bytes = 1 + noise(1000),
                .alloc_ns = START + noise(LENGTH),
                .device = 1 + (uint32_t)noise(2),
            };
            if (noise(8))
                o[i].free_ns = o[i].alloc_ns + noise(round % 2 ? 20 : STOP + 1 - o[i].alloc_ns);
            add(&s, o[i]);
        }
        scene_read(&s);
        assert_int_equal(s.memory.spaces.count, 2);
        check_space(&s, &s.memory.spaces.items[0], o);
        check_space(&s, &s.memory.spaces.items[1], o);
        scene_end(&s);
    }
}

/* Random operations and objects that they may use: each object against each operation. */
static void random_work(void **state)
{
    enum { OPS = 60 };
    enum { LANES = 3 };
    static struct sonde_row_object o[MANY];
    static struct sonde_row_op ops[OPS];
    (void)state;
    for (int round = 0; round < 8; round++) {
        uint64_t unused[SITES] = {0}, length = round % 2 ? 8 : 60;
        double early[SITES] = {0}, late[SITES] = {0};
        uint32_t lanes[LANES];
        struct scene s;
        scene_begin(&s);
        s.header.trace = 1;
        for (uint32_t i = 0; i < LANES; i++)
            lanes[i] = queue(&s, 1 + i % 2);
        for (int i = 0; i < OPS; i++) {
            const uint64_t enter = START + noise(LENGTH), start = enter + noise(10);
            ops[i] = (struct sonde_row_op){.kind = SONDE_OP_KERNEL, .enter_ns = enter, .start_ns = start, .end_ns = start + 1 + noise(length)};
            work(&s, lanes[noise(LANES)], ops[i]);
        }
        for (int i = 0; i < MANY; i++) {
            const int at = (int)noise(SITES);
            o[i] = (struct sonde_row_object){
                .kind = SONDE_OBJECT_DEVICE,
                .node = s.site[at],
                .bytes = 1 + noise(100),
                .device = 1,
                .alloc_ns = START + noise(LENGTH),
                .flags = SONDE_OBJECT_USES_PARTIAL,
            };
            o[i].free_ns = o[i].alloc_ns + 1 + noise(round < 4 ? 30 : 200);
            uint64_t first = UINT64_MAX, last = 0;
            for (int k = 0; k < OPS; k++) {
                if (ops[k].enter_ns >= o[i].free_ns || ops[k].end_ns <= o[i].alloc_ns)
                    continue;
                const uint64_t from = ops[k].enter_ns > o[i].alloc_ns ? ops[k].enter_ns : o[i].alloc_ns;
                const uint64_t to = ops[k].end_ns < o[i].free_ns ? ops[k].end_ns : o[i].free_ns;
                first = from < first ? from : first;
                last = to > last ? to : last;
            }
            unused[at] += !last;
            early[at] += last ? (double)(o[i].bytes * (first - o[i].alloc_ns)) : 0;
            late[at] += last ? (double)(o[i].bytes * (o[i].free_ns - last)) : 0;
            add(&s, o[i]);
        }
        scene_read(&s);
        for (int i = 0; i < SITES; i++) {
            assert_int_equal(any_site(&s, i)->unused, unused[i]);
            assert_float_equal(any_site(&s, i)->early, early[i], 1e-6);
            assert_float_equal(any_site(&s, i)->late, late[i], 1e-6);
        }
        scene_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_and_holders),
        cmocka_unit_test(uses_and_leaks),
        cmocka_unit_test(ends),
        cmocka_unit_test(classes),
        cmocka_unit_test(caching_allocator),
        cmocka_unit_test(random_objects),
        cmocka_unit_test(what_kernels_may_have_used),
        cmocka_unit_test(what_cannot_be_told),
        cmocka_unit_test(random_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

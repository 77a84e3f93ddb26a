/* overlap.c - what runs at the same time, by hand and against a count of every nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/lanes/overlap.h"
#include "written.h"

struct result {
    struct written *w;
    struct sonde_overlaps overlaps;
};

static struct result compute(struct written *w, uint64_t window_rows)
{
    struct result r = {.w = w};
    struct sonde_profile *profile;
    struct sonde_measurement *m = written_open(w, &profile);
    assert_int_equal(sonde_overlap_compute(m, window_rows, NULL, &r.overlaps), 0);
    return r;
}

static void finish(struct result *r)
{
    sonde_overlap_fini(&r->overlaps);
    written_close(r->w);
}

static void op(struct written *w, uint32_t queue, uint16_t kind, const char *name, uint64_t start, uint64_t end)
{
    written_op(w, &(struct written_op){.thread = 1, .queue = queue, .kind = kind, .name = name, .enter = 1, .leave = 2, .start = start, .end = end});
}

/* ---- by hand -----------------------------------------------------------------------------
 *
 *   computing      100 ------ 300      400 ---- 500
 *   write             150-200       350 -- 420
 *   read                  250 ---- 340
 *   fill                                         500-510
 *   nccl kernel                                   490 ------- 600
 *   its collective                                490 ------- 600
 */
static void test_by_hand(void **state)
{
    (void)state;
    struct written *w = written_begin();
    written_thread(w, 0, 0);
    uint32_t q[4];
    for (int i = 0; i < 4; i++)
        q[i] = written_queue(w, 1, 0);
    op(w, q[0], SONDE_OP_KERNEL, "step", 100, 300);
    op(w, q[0], SONDE_OP_KERNEL, "step", 400, 500);
    op(w, q[1], SONDE_OP_WRITE, NULL, 150, 200);
    op(w, q[1], SONDE_OP_WRITE, NULL, 350, 420);
    op(w, q[1], SONDE_OP_FILL, NULL, 500, 510);
    op(w, q[2], SONDE_OP_READ, NULL, 250, 340);
    op(w, q[2], SONDE_OP_MARKER, NULL, 340, 340);
    op(w, q[3], SONDE_OP_KERNEL, "_Z33ncclDevKernel_AllReduce_Sum_f32_RING_LL", 490, 600);
    op(w, q[2], SONDE_OP_COLLECTIVE, "AllReduce float32", 490, 600);
    struct result r = compute(w, 0);
    assert_int_equal(r.overlaps.items.count, 1);
    const struct sonde_overlap *o = &r.overlaps.items.items[0];
    assert_int_equal(o->first_ns, WRITTEN_START + 100);
    assert_int_equal(o->last_ns, WRITTEN_START + 600);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COMPUTE, 0, 0), 300);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COPY, 0, 0), 50 + 70 + 90);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COPY, SONDE_RUNS_COMPUTE, 0), 50 + 20 + 50);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COMM, 0, 0), 110);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COMM, SONDE_RUNS_COMPUTE, 0), 10);
    assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_FILL, 0, SONDE_RUNS_COMPUTE), 10);
    assert_int_equal(o->states[0], 10); /* 340 to 350 */
    assert_int_equal(sonde_overlap_ns(o, ~0u, 0, 0), 490);
    assert_int_equal(sonde_overlap_ns(o, ~0u, 0, SONDE_RUNS_COMPUTE), 190);
    assert_int_equal(o->ways[SONDE_WAY_TO_DEVICE].ns, 120);
    assert_int_equal(o->ways[SONDE_WAY_TO_DEVICE].hidden_ns, 70);
    assert_int_equal(o->ways[SONDE_WAY_TO_DEVICE].count, 2);
    assert_int_equal(o->ways[SONDE_WAY_FROM_DEVICE].hidden_ns, 50);
    assert_int_equal(o->kernels, 2);
    assert_int_equal(o->comm_count, 1);
    assert_int_equal(o->collectives, 1);
    assert_int_equal(o->fills, 1);
    finish(&r);
}

/* Not recorded from 50 to 80, 150 to 350 and 600 to 700: what runs then had begun before, and is known. */
static void test_pauses(void **state)
{
    (void)state;
    for (uint64_t window_rows = 0; window_rows < 3; window_rows++) {
        struct written *w = written_begin();
        written_thread(w, 0, 0);
        const uint32_t q = written_queue(w, 1, 0);
        op(w, q, SONDE_OP_KERNEL, "step", 100, 200);
        op(w, q, SONDE_OP_KERNEL, "step", 400, 500);
        written_pause(w, 50, 80);
        written_pause(w, 150, 350);
        written_pause(w, 600, 700);
        written_header(w)->stop_ns = WRITTEN_START + 800;
        struct result r = compute(w, window_rows);
        const struct sonde_overlap *o = &r.overlaps.items.items[0];
        assert_int_equal(sonde_overlap_ns(o, ~0u, 0, 0), 200);
        assert_int_equal(o->paused_ns, 150);
        assert_int_equal(o->states[0], 50);
        finish(&r);
    }
}

/* Copies by their two ends; one between devices is communication. */
static void test_ways(void **state)
{
    static const struct {
        uint16_t kind, source, target;
        uint32_t from, to;
        enum sonde_way way;
    } cases[] = {
        {SONDE_OP_COPY, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, 0, 0, SONDE_WAY_TO_DEVICE},
        {SONDE_OP_COPY, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_ARRAY, 0, 0, SONDE_WAY_TO_DEVICE},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PINNED, 0, 0, SONDE_WAY_FROM_DEVICE},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 0, 0, SONDE_WAY_ON_DEVICE},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 1, 2, SONDE_WAY_BETWEEN},
        {SONDE_OP_COPY, SONDE_MEMORY_PINNED, SONDE_MEMORY_PINNED, 0, 0, SONDE_WAY_ON_HOST},
        {SONDE_OP_COPY, SONDE_MEMORY_MANAGED, SONDE_MEMORY_DEVICE, 0, 0, SONDE_WAY_OTHER},
        {SONDE_OP_COPY, 0, 0, 0, 0, SONDE_WAY_ON_DEVICE},
        {SONDE_OP_READ, 0, 0, 0, 0, SONDE_WAY_FROM_DEVICE},
        {SONDE_OP_IMAGE_WRITE, 0, 0, 0, 0, SONDE_WAY_TO_DEVICE},
        {SONDE_OP_PEER_COPY, 0, 0, 0, 0, SONDE_WAY_BETWEEN},
        {SONDE_OP_HOST_COPY, 0, 0, 0, 0, SONDE_WAY_ON_HOST},
        {SONDE_OP_UNMAP, 0, 0, 0, 0, SONDE_WAY_MAPPED},
        {SONDE_OP_MIGRATE, 0, 0, 0, 0, SONDE_WAY_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct written *w = written_begin();
        written_thread(w, 0, 0);
        uint32_t q = written_queue(w, 1, 0);
        written_op(w, &(struct written_op){.thread = 1,
                                           .queue = q,
                                           .kind = cases[i].kind,
                                           .enter = 1,
                                           .leave = 2,
                                           .start = 5,
                                           .end = 25,
                                           .source = cases[i].source,
                                           .target = cases[i].target,
                                           .source_device = cases[i].from,
                                           .target_device = cases[i].to});
        struct result r = compute(w, 0);
        const struct sonde_overlap *o = &r.overlaps.items.items[0];
        for (unsigned way = 0; way < SONDE_WAY_COUNT; way++)
            assert_int_equal(o->ways[way].ns, way == (unsigned)cases[i].way ? 20 : 0);
        bool comm = cases[i].way == SONDE_WAY_BETWEEN;
        assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COMM, 0, 0), comm ? 20 : 0);
        assert_int_equal(sonde_overlap_ns(o, SONDE_RUNS_COPY, 0, 0), comm ? 0 : 20);
        assert_int_equal(o->comm_count, comm);
        finish(&r);
    }
}

/* Two devices do not hide each other's copies. */
static void test_devices(void **state)
{
    (void)state;
    struct written *w = written_begin();
    written_thread(w, 0, 0);
    uint32_t one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
    op(w, one, SONDE_OP_KERNEL, "step", 10, 110);
    op(w, two, SONDE_OP_READ, NULL, 20, 70);
    written_op(w, &(struct written_op){.thread = 1, .queue = two, .kind = SONDE_OP_READ, .enter = 1, .leave = 2, .flags = SONDE_OP_NO_TIMES});
    struct result r = compute(w, 0);
    assert_int_equal(r.overlaps.items.count, 2);
    assert_int_equal(r.overlaps.items.items[0].device, 1);
    assert_int_equal(sonde_overlap_ns(&r.overlaps.items.items[1], SONDE_RUNS_COPY, 0, 0), 50);
    assert_int_equal(sonde_overlap_ns(&r.overlaps.items.items[1], SONDE_RUNS_COPY, SONDE_RUNS_COMPUTE, 0), 0);
    assert_int_equal(r.overlaps.items.items[1].no_times, 1);
    finish(&r);
}

/* ---- every nanosecond ----------------------------------------------------------------------- */

enum { SPAN = 4000 };
enum { MOST = 150 };

static void test_random(void **state)
{
    static const uint16_t kinds[] = {SONDE_OP_KERNEL, SONDE_OP_READ, SONDE_OP_WRITE, SONDE_OP_FILL, SONDE_OP_PEER_COPY};
    static const unsigned bits[] = {SONDE_RUNS_COMPUTE, SONDE_RUNS_COPY, SONDE_RUNS_COPY, SONDE_RUNS_FILL, SONDE_RUNS_COMM};
    uint64_t random = 88172645463325252ull;
    (void)state;
    for (int round = 0; round < 60; round += EVERY) {
        static unsigned char running[SPAN], reading[SPAN];
        uint64_t truth[SONDE_RUNS_STATES] = {0}, read_ns = 0, hidden_ns = 0;
        struct written *w = written_begin();
        uint32_t first = SPAN, last = 0;
        memset(running, 0, sizeof running);
        memset(reading, 0, sizeof reading);
        written_thread(w, 0, 0);
        uint32_t q[3];
        for (int i = 0; i < 3; i++)
            q[i] = written_queue(w, 1, i == 2 ? SONDE_LANE_OUT_OF_ORDER : 0);
        for (int i = 0; i < MOST; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint32_t kind = (uint32_t)(random % 5), start = (uint32_t)(random >> 8) % (SPAN - 90);
            uint32_t end = start + (uint32_t)(random >> 40) % 60;
            op(w, q[(random >> 30) % 3], kinds[kind], kind ? NULL : "step", start, end);
            first = start < first ? start : first;
            last = end > last ? end : last;
            for (uint32_t t = start; t < end; t++) {
                running[t] |= (unsigned char)bits[kind];
                reading[t] |= kind == 1;
            }
        }
        for (uint32_t t = first; t < last; t++) {
            truth[running[t]]++;
            read_ns += reading[t];
            hidden_ns += reading[t] && running[t] & SONDE_RUNS_COMPUTE;
        }
        struct result r = compute(w, round % 2 ? 7 : 0); /* in windows of a few rows, too */
        const struct sonde_overlap *o = &r.overlaps.items.items[0];
        for (unsigned i = 0; i < SONDE_RUNS_STATES; i++)
            assert_int_equal(o->states[i], truth[i]);
        assert_int_equal(o->ways[SONDE_WAY_FROM_DEVICE].ns, read_ns);
        assert_int_equal(o->ways[SONDE_WAY_FROM_DEVICE].hidden_ns, hidden_ns);
        assert_int_equal(o->kernels + o->comm_count + o->fills + o->ways[SONDE_WAY_FROM_DEVICE].count +
                             o->ways[SONDE_WAY_TO_DEVICE].count,
                         MOST);
        finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_random),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}

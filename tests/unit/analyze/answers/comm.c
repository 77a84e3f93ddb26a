/* comm.c - from where to where bytes went: by hand, and against sums over random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/comm/comm.h"
#include "base/kinds.h"
#include "written.h"

enum { HOST = -1,
       UNKNOWN = -2 }; /* else a device, from 1 */

static int code_of(struct sonde_comm_end end)
{
    return end.where == SONDE_COMM_DEVICE ? (int)end.device : (end.where == SONDE_COMM_HOST ? HOST : UNKNOWN);
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* On a queue of device 3. */
static void test_ends(void **state)
{
    static const struct {
        uint16_t kind, source, target;
        uint32_t source_device, target_device;
        bool told;
        int from, to;
    } cases[] = {
        {SONDE_OP_WRITE, 0, 0, 0, 0, false, HOST, 3},
        {SONDE_OP_READ, 0, 0, 0, 0, false, 3, HOST},
        {SONDE_OP_IMAGE_WRITE, 0, 0, 0, 0, false, HOST, 3},
        {SONDE_OP_IMAGE_READ, 0, 0, 0, 0, false, 3, HOST},
        {SONDE_OP_WRITE, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_MANAGED, 0, 0, true, HOST, 3}, /* the runtime called it so */
        {SONDE_OP_HOST_COPY, 0, 0, 0, 0, false, HOST, HOST},
        {SONDE_OP_COPY, 0, 0, 0, 0, false, 3, 3},
        {SONDE_OP_IMAGE_COPY, 0, 0, 0, 0, false, 3, 3},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_ARRAY, 0, 0, true, 3, 3},
        {SONDE_OP_COPY, SONDE_MEMORY_PINNED, SONDE_MEMORY_DEVICE, 0, 0, true, HOST, 3},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PAGEABLE, 0, 0, true, 3, HOST},
        {SONDE_OP_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 1, 2, true, 1, 2},
        {SONDE_OP_COPY, SONDE_MEMORY_MANAGED, SONDE_MEMORY_DEVICE, 0, 0, true, UNKNOWN, 3},
        {SONDE_OP_COPY, SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_UNKNOWN, 0, 0, true, UNKNOWN, UNKNOWN},
        {SONDE_OP_PEER_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 2, 1, true, 2, 1},
        {SONDE_OP_PEER_COPY, SONDE_MEMORY_DEVICE, SONDE_MEMORY_DEVICE, 0, 0, true, UNKNOWN, UNKNOWN}, /* the queue's is one of them */
        {SONDE_OP_PEER_COPY, 0, 0, 0, 0, false, UNKNOWN, UNKNOWN},
        {SONDE_OP_SVM_COPY, 0, 0, 0, 0, false, UNKNOWN, UNKNOWN},
        {SONDE_OP_MAP, 0, 0, 0, 0, false, UNKNOWN, UNKNOWN},
        {SONDE_OP_MAP, SONDE_MEMORY_DEVICE, SONDE_MEMORY_HOST, 0, 0, true, 3, HOST},
        {SONDE_OP_MAP, SONDE_MEMORY_HOST, SONDE_MEMORY_DEVICE, 0, 0, true, HOST, 3},
        {SONDE_OP_UNMAP, 0, 0, 0, 0, false, UNKNOWN, UNKNOWN},
        {SONDE_OP_MIGRATE, 0, 0, 0, 0, false, UNKNOWN, 3},
        {SONDE_OP_MIGRATE, SONDE_MEMORY_UNKNOWN, SONDE_MEMORY_HOST, 0, 0, true, UNKNOWN, HOST},
        {SONDE_OP_SVM_MIGRATE, 0, 0, 0, 0, false, UNKNOWN, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sonde_row_work work = {
            .source = cases[i].source,
            .target = cases[i].target,
            .source_device = cases[i].source_device,
            .target_device = cases[i].target_device,
        };
        struct sonde_comm_end from, to;
        assert_true(sonde_comm_ends(cases[i].kind, cases[i].told ? &work : NULL, 3, &from, &to));
        assert_int_equal(code_of(from), cases[i].from);
        assert_int_equal(code_of(to), cases[i].to);
    }
}

/* A queue whose device is not known, and what moves nothing. */
static void test_no_ends(void **state)
{
    static const uint16_t others[] = {SONDE_OP_KERNEL, SONDE_OP_FILL, SONDE_OP_MARKER, SONDE_OP_COLLECTIVE, SONDE_OP_SVM_FREE, 9999};
    struct sonde_comm_end from, to;
    (void)state;
    assert_true(sonde_comm_ends(SONDE_OP_WRITE, NULL, 0, &from, &to));
    assert_int_equal(code_of(from), HOST);
    assert_int_equal(code_of(to), UNKNOWN);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(sonde_comm_ends(others[i], NULL, 1, &from, &to));
}

/* ---- by hand ----------------------------------------------------------------------------------- */

struct result {
    struct written *w;
    struct sonde_profile *profile;
    struct sonde_comm comm;
};

static struct result compute(struct written *w, uint64_t from, uint64_t to)
{
    const struct sonde_comm_config config = {.from_ns = from ? WRITTEN_START + from : 0, .to_ns = to ? WRITTEN_START + to : 0};
    struct result r = {.w = w};
    struct sonde_measurement *m = written_open(w, &r.profile);
    assert_int_equal(sonde_comm_compute(m, r.profile, &config, &r.comm), 0);
    return r;
}

static void finish(struct result *r)
{
    sonde_comm_fini(&r->comm);
    written_close(r->w);
}

static void check_sum(const struct sonde_comm_sum *s, uint64_t operations, uint64_t bytes, uint64_t timed, uint64_t ns)
{
    assert_int_equal(s->operations, operations);
    assert_int_equal(s->bytes, bytes);
    assert_int_equal(s->timed, timed);
    assert_int_equal(s->ns, ns);
}

static const char *name_of(const struct result *r, uint32_t node)
{
    return r->profile->nodes.items[node].name;
}

/* Two devices: `send` sends the array of `setup` from 1 to 2 twice, the second time without device times, and `load` writes
 * an object to device 1. */
static struct written *by_hand(void)
{
    struct written *w = written_begin();
    const uint32_t thread = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
    const uint32_t array = written_object(w, thread, SONDE_OBJECT_DEVICE, 1, "setup", 1000);
    const uint32_t staging = written_object(w, thread, SONDE_OBJECT_PINNED, 0, "setup", 500);
    struct written_op send = {.thread = thread, .queue = two, .kind = SONDE_OP_PEER_COPY, .function = "send", .enter = 100, .leave = 110, .start = 200, .end = 300, .bytes = 1000, .source = SONDE_MEMORY_DEVICE, .target = SONDE_MEMORY_DEVICE, .source_device = 1, .target_device = 2, .object = array};
    written_op(w, &send);
    send.flags = SONDE_OP_NO_TIMES;
    send.enter = 400;
    send.leave = 410;
    written_op(w, &send);
    written_op(w, &(struct written_op){.thread = thread, .queue = one, .kind = SONDE_OP_WRITE, .function = "load", .enter = 10, .leave = 20, .start = 30, .end = 80, .bytes = 500, .object = staging});
    written_op(w, &(struct written_op){.thread = thread, .queue = one, .kind = SONDE_OP_KERNEL, .name = "step", .enter = 90, .leave = 91, .start = 95, .end = 99, .bytes = 7});
    written_op(w, &(struct written_op){.thread = thread, .queue = one, .kind = SONDE_OP_MIGRATE, .function = "load", .enter = 500, .leave = 501, .start = 510, .end = 520, .bytes = 64});
    return w;
}

static void test_by_hand(void **state)
{
    (void)state;
    struct result r = compute(by_hand(), 0, 0);
    const struct sonde_comm *c = &r.comm;
    check_sum(&c->all, 4, 2564, 3, 160);
    check_sum(&c->unknown, 1, 64, 1, 10);
    assert_int_equal(c->pairs.count, 3);
    assert_int_equal(code_of(c->pairs.items[0].pair.from), 1);
    assert_int_equal(code_of(c->pairs.items[0].pair.to), 2);
    check_sum(&c->pairs.items[0].sum, 2, 2000, 1, 100);
    assert_int_equal(code_of(c->pairs.items[1].pair.from), HOST);
    assert_int_equal(code_of(c->pairs.items[1].pair.to), 1);
    assert_int_equal(c->pairs.items[2].pair.kind, SONDE_COMM_MIGRATION);
    assert_int_equal(code_of(c->pairs.items[2].pair.from), UNKNOWN);
    assert_string_equal(name_of(&r, c->lines.items[0].node), "send");
    assert_string_equal(name_of(&r, c->lines.items[1].node), "load");
    assert_int_equal(c->objects.items[0].kind, SONDE_OBJECT_DEVICE);
    assert_string_equal(name_of(&r, c->objects.items[0].node), "setup");
    assert_int_equal(code_of(c->objects.items[0].owner), 1);
    assert_int_equal(code_of(c->objects.items[1].owner), HOST);
    assert_int_equal(c->objects.items[2].kind, SONDE_OBJECT_NONE);
    assert_int_equal(c->untraced, 0);
    finish(&r);
}

/* What begins in the window counts; without times, what was asked for in it. */
static void test_window(void **state)
{
    (void)state;
    struct result r = compute(by_hand(), 30, 200);
    check_sum(&r.comm.all, 1, 500, 1, 50);
    finish(&r);
    r = compute(by_hand(), 200, 401);
    check_sum(&r.comm.all, 2, 2000, 1, 100);
    finish(&r);
}

/* The profile of the same: the ends of one operation are told, those of two might be others. */
static void test_profile_only(void **state)
{
    (void)state;
    struct written *w = by_hand();
    written_header(w)->trace = 0;
    struct result r = compute(w, 0, 0);
    check_sum(&r.comm.all, 4, 2564, 4, 260);
    check_sum(&r.comm.unknown, 3, 2064, 3, 210);
    assert_int_equal(r.comm.untraced, 1);
    assert_int_equal(r.comm.objects.items[0].kind, SONDE_OBJECT_NONE);
    finish(&r);
    w = by_hand();
    written_header(w)->trace = 0;
    r = compute(w, 0, 300); /* nobody knows when they were */
    check_sum(&r.comm.all, 0, 0, 0, 0);
    finish(&r);
}

/* ---- random operations ---------------------------------------------------------------------------- */

enum { OPERATIONS = 400,
       ENDS = 5,
       FUNCTIONS = 3,
       OBJECTS = 4 };

struct truth { uint64_t operations, bytes, ns; };

static unsigned place_of(struct sonde_comm_end end)
{
    return end.where == SONDE_COMM_DEVICE ? end.device + 1 : end.where == SONDE_COMM_HOST;
}

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return *random >> 11;
}

/* Every list has each operation in its place, once. */
static void check_random(const struct result *r, struct truth pairs[ENDS][ENDS], struct truth lines[FUNCTIONS], struct truth objects[OBJECTS])
{
    struct truth by_line[FUNCTIONS] = {{0}}, by_object[OBJECTS] = {{0}};
    const struct sonde_comm *c = &r->comm;
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < c->pairs.count; i++) {
        const struct sonde_comm_way *way = &c->pairs.items[i];
        const struct truth *t = &pairs[place_of(way->pair.from)][place_of(way->pair.to)];
        check_sum(&way->sum, t->operations, t->bytes, t->operations, t->ns);
        assert_true(way->sum.bytes <= last);
        last = way->sum.bytes;
    }
    for (size_t i = 0; i < c->lines.count; i++) {
        struct truth *t = &by_line[name_of(r, c->lines.items[i].node)[0] - 'a'];
        t->operations += c->lines.items[i].sum.operations;
        t->bytes += c->lines.items[i].sum.bytes;
        t->ns += c->lines.items[i].sum.ns;
    }
    for (size_t i = 0; i < c->objects.count; i++) {
        const struct sonde_comm_object *o = &c->objects.items[i];
        struct truth *t = &by_object[o->kind == SONDE_OBJECT_NONE ? 0 : name_of(r, o->node)[0] - 'w'];
        t->operations += o->sum.operations;
        t->bytes += o->sum.bytes;
        t->ns += o->sum.ns;
    }
    assert_memory_equal(by_line, lines, sizeof by_line);
    assert_memory_equal(by_object, objects, sizeof by_object);
}

static void test_random(void **state)
{
    static const char *const functions[FUNCTIONS] = {"a", "b", "c"}, *const sites[OBJECTS] = {NULL, "x", "y", "z"};
    uint64_t random = 88172645463325252ull;
    (void)state;
    for (int round = 0; round < 40; round += EVERY) {
        struct truth pairs[ENDS][ENDS] = {{{0}}}, lines[FUNCTIONS] = {{0}}, objects[OBJECTS] = {{0}};
        struct written *w = written_begin();
        const uint32_t thread = written_thread(w, 0, 0);
        uint32_t queue[3], object[OBJECTS] = {0};
        uint64_t all = 0;
        size_t used = 0;
        for (uint32_t d = 0; d < 3; d++)
            queue[d] = written_queue(w, d + 1, 0);
        for (int i = 1; i < OBJECTS; i++)
            object[i] = written_object(w, thread, SONDE_OBJECT_BUFFER, (uint32_t)i, sites[i], 64);
        for (int i = 0; i < OPERATIONS; i++) {
            static const uint16_t kinds[] = {SONDE_OP_READ, SONDE_OP_WRITE, SONDE_OP_PEER_COPY, SONDE_OP_COPY, SONDE_OP_MAP};
            const unsigned kind = (unsigned)(next(&random) % 5), d = (unsigned)(next(&random) % 3), e = (unsigned)(next(&random) % 3);
            const unsigned f = (unsigned)(next(&random) % FUNCTIONS), o = (unsigned)(next(&random) % OBJECTS);
            const uint64_t bytes = next(&random) % 10000, start = next(&random) % 100000, ns = next(&random) % 500;
            const bool peer = kind == 2;
            const unsigned from[] = {d + 2, 1, d + 2, d + 2, 0}, to[] = {1, d + 2, e + 2, d + 2, 0};
            struct truth *const sums[] = {&pairs[from[kind]][to[kind]], &lines[f], &objects[o]};
            written_op(w, &(struct written_op){.thread = thread, .queue = queue[d], .kind = kinds[kind], .function = functions[f], .enter = 1, .leave = 2, .start = start, .end = start + ns, .bytes = bytes, .object = object[o], .source_device = peer ? d + 1 : 0, .target_device = peer ? e + 1 : 0});
            used += !sums[0]->operations;
            all += bytes;
            for (size_t k = 0; k < 3; k++) {
                sums[k]->operations++;
                sums[k]->bytes += bytes;
                sums[k]->ns += ns;
            }
        }
        struct result r = compute(w, 0, 0);
        assert_int_equal(r.comm.pairs.count, used);
        assert_int_equal(r.comm.matrix.count, used);
        assert_int_equal(r.comm.all.bytes, all);
        assert_int_equal(r.comm.all.operations, OPERATIONS);
        check_random(&r, pairs, lines, objects);
        finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_ends),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_profile_only),
        cmocka_unit_test(test_random),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}

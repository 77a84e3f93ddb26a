/* test_objects.c - uses of data objects, and objects by an address within them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

enum {
    LIVING = 2000,
    STEPS = 60000,
    THREADS = 6,
    EACH = 20000,
    SAME = 5,
};

static uint32_t add(enum sonde_object_kind kind, uint64_t bytes, uint64_t address)
{
    struct sonde_call call;
    assert_true(sonde_call_begin(&call, API_ALLOC));
    sonde_call_leave(&call);
    uint32_t object = sonde_object_add(&call, kind, bytes, address);
    sonde_call_end(&call);
    return object;
}

/* An operation that names one object in its submission and others beside it; its entry time. */
static uint64_t use(uint32_t lane, uint32_t named, const uint32_t *others, uint32_t count)
{
    struct sonde_call call;
    if (!sonde_call_begin(&call, API_LAUNCH))
        return 0;
    sonde_call_leave(&call);
    sonde_call_submit(&call, &(struct sonde_submit){.kind = SONDE_OP_NATIVE, .lane = lane, .object = named});
    if (count)
        sonde_call_uses(&call, others, count);
    sonde_call_end(&call);
    return call.enter_ns;
}

static uint64_t seed = 2026;

static uint64_t next_random(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed >> 33;
}

/* Against all of them, one by one. Places of 64 units of 256 bytes never overlap. */
static void an_address_finds_what_it_lies_in(void **state)
{
    (void)state;
    static struct {
        uint32_t id;
        uint64_t bytes;
    } truth[LIVING];
    for (int step = 0; step < STEPS; step++) {
        const uint64_t k = next_random() % LIVING, base = 0x7f0000000000ull + k * 16384;
        if (truth[k].id) {
            sonde_object_free(truth[k].id);
            truth[k].id = 0;
        } else {
            truth[k].bytes = 1 + next_random() % 16384;
            truth[k].id = add(k % 2 ? SONDE_OBJECT_DEVICE : SONDE_OBJECT_SVM, truth[k].bytes, base);
            assert_true(truth[k].id != 0);
        }
        const uint64_t asked = next_random() % LIVING, offset = next_random() % 16384;
        const uint32_t expected = truth[asked].id && offset < truth[asked].bytes ? truth[asked].id : 0;
        assert_int_equal(sonde_object_at(0x7f0000000000ull + asked * 16384 + offset), expected);
    }
    assert_int_equal(sonde_object_at(0), 0);
    assert_int_equal(sonde_object_at(UINT64_MAX), 0);
    assert_true(add(SONDE_OBJECT_BUFFER, 4096, 0x1000) != 0); /* whose address is a handle */
    assert_int_equal(sonde_object_at(0x1000), 0);
    const uint32_t old = add(SONDE_OBJECT_DEVICE, 100, 0x200000), again = add(SONDE_OBJECT_DEVICE, 100, 0x200000);
    assert_int_equal(sonde_object_at(0x200000), again); /* nobody saw the first one freed */
    sonde_object_free(again);
    assert_int_equal(sonde_object_at(0x200000), old);
    sonde_object_free(old);
    assert_int_equal(sonde_object_at(0x200000), 0);
}

static uint32_t looked_at, not_looked_at;

/* In one call path, however often. */
static __attribute__((noinline)) void add_some(uint32_t *out, const enum sonde_object_kind *kinds, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = add(kinds[i], 16, 0x400000u + 256u * (uint64_t)i);
}

/* Of one kind and one call path all are told of the same, also when that was freed. */
static void objects_have_one_that_stands_for_their_site(void **state)
{
    const enum sonde_object_kind kinds[SAME] = {SONDE_OBJECT_BUFFER, SONDE_OBJECT_BUFFER, SONDE_OBJECT_SVM, SONDE_OBJECT_BUFFER, SONDE_OBJECT_SVM};
    uint32_t o[SAME + 2] = {0}, sites[SAME + 2];
    (void)state;
    add_some(o, kinds, SAME);
    o[SAME] = add(SONDE_OBJECT_BUFFER, 16, 0x500000); /* elsewhere; the last is none */
    sonde_value_sites(o, SAME + 2, sites);
    assert_memory_equal(sites, ((uint32_t[]){o[0], o[0], o[2], o[0], o[2], o[SAME], 0}), sizeof sites);
    sonde_object_free(o[0]);
    sonde_value_sites(&o[3], 1, sites);
    assert_int_equal(sites[0], o[0]);
    sonde_value_looked_at((uint32_t[]){0, o[3]}, 2);
    looked_at = o[3];
    not_looked_at = o[1];
}

/* Where there are too many, rows of freed objects are used again: not of one that stands for others. */
static void one_that_stands_for_others_keeps_its_row(void **state)
{
    const enum sonde_object_kind kinds[2] = {SONDE_OBJECT_BUFFER, SONDE_OBJECT_BUFFER};
    uint32_t o[2], site, last = 0;
    (void)state;
    add_some(o, kinds, 2);
    sonde_value_sites(&o[0], 1, &site);
    for (uint32_t i = 0; i < SONDE_OBJECTS_MAX && last < SONDE_OBJECTS_MAX; i++)
        last = add(SONDE_OBJECT_BUFFER, 1, 0x600000);
    assert_int_equal(last, SONDE_OBJECTS_MAX);
    sonde_object_free(site);
    sonde_object_free(o[1]);
    assert_int_equal(add(SONDE_OBJECT_BUFFER, 1, 0x700000), o[1]);
    assert_int_equal(add(SONDE_OBJECT_BUFFER, 1, 0x700000), 0);
}

static uint32_t segment;

static void name(uint64_t address, uint64_t bytes, const char *text, uint64_t rows, uint64_t columns)
{
    sonde__stretch_name((const void *)(uintptr_t)address, bytes, text, rows, columns, 4);
}

/* However often a part is named, there is a row for each of its names; and there is a bound. */
static void parts_have_names(void **state)
{
    (void)state;
    segment = add(SONDE_OBJECT_DEVICE, 4096, 0x800000);
    const uint32_t before = sonde_objects_named();
    assert_false(sonde_object_is_named(segment));
    for (int i = 0; i < 1000; i++) {
        name(0x800100, 400, "weights", 10, 10);
        name(0x800100, 400, "gradients", 10, 10);
    }
    name(0x800100, 400, "weights", 20, 5);
    name(0x900000, 8, "in no object", 1, 2);
    const uint32_t next = add(SONDE_OBJECT_DEVICE, 4096, 0x801000);
    name(0x800f00, 0x300, "in two", 8, 24);
    sonde_object_free(next);
    name(UINT64_MAX - 8, 64, "behind all addresses", 4, 4);
    name(0x800100, 400, "", 10, 10);
    name(0x800100, 400, NULL, 10, 10);
    name(0x800100, 0, "nothing", 10, 10);
    name(0, 400, "nowhere", 10, 10);
    assert_true(sonde_object_is_named(segment));
    assert_false(sonde_object_is_named(0));
    assert_int_equal(sonde_objects_named(), before + 2);
    for (unsigned i = 0; i < 70000; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%u", i);
        name(0x800000 + i % 4096, 1, text, 0, 0);
    }
}

static void names_are_in_the_measurement(const struct sonde_process *p)
{
    const struct sonde_row_stretch *row = p->tables[SONDE_TABLE_STRETCH].rows;
    bool said = false;
    assert_int_equal(p->tables[SONDE_TABLE_STRETCH].count, 65536 + 1);
    assert_string_equal(sonde_process_string(p, row[1].name), "weights");
    assert_string_equal(sonde_process_string(p, row[2].name), "gradients");
    assert_string_equal(sonde_process_string(p, row[3].name), "in no object");
    assert_true(row[4].object == segment && row[4].offset == 0xf00 && row[4].bytes == 0x100 && !row[4].rows && !row[4].columns);
    assert_true(row[5].object == segment + 1 && row[5].offset == 0 && row[5].bytes == 0x200 && !row[5].rows && row[5].name == row[4].name);
    assert_true(row[6].object == 0 && row[6].offset == UINT64_MAX - 8 && row[6].bytes == 8 && !row[6].rows);
    assert_string_equal(sonde_process_string(p, row[7].name), "t0");
    assert_true(row[1].object == segment && row[1].offset == 0x100 && row[1].bytes == 400 && row[1].element_bytes == 4);
    assert_true(row[1].rows == 20 && row[1].columns == 5 && row[2].rows == 10 && row[2].columns == 10);
    assert_true(row[1].at_ns > row[2].at_ns && row[3].at_ns > row[1].at_ns);
    assert_true(row[3].object == 0 && row[3].offset == 0x900000 && row[3].bytes == 8);
    for (uint32_t i = 0; i < p->note_count; i++)
        said |= strstr(p->notes[i].text, "names of memory") != NULL;
    assert_true(said);
}

static uint32_t gone, kept, later;
static uint32_t lane, shared, whole, part[2], unused, handle, loose;
static uint64_t first_ns, last_ns;

static void *user_thread(void *arg)
{
    const uint32_t both[] = {part[0], 0, part[1], shared, part[0]};
    (void)arg;
    for (int i = 0; i < EACH; i++)
        use(lane, 0, both, 5);
    return NULL;
}

static void uses_are_counted(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    lane = harness_queue(SONDE_LANE_OUT_OF_ORDER);
    shared = add(SONDE_OBJECT_BUFFER, 1, 0x10);
    whole = add(SONDE_OBJECT_BUFFER, 100, 0x20);
    part[0] = add(SONDE_OBJECT_BUFFER, 10, 0x30);
    part[1] = add(SONDE_OBJECT_BUFFER, 10, 0x40);
    sonde_object_place(part[0], 0, whole);
    sonde_object_place(part[1], 0, whole);
    unused = add(SONDE_OBJECT_BUFFER, 1, 0x50);
    handle = add(SONDE_OBJECT_BUFFER, 1, 0x60);
    loose = add(SONDE_OBJECT_DEVICE, 1, 0x70);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, user_thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    gone = add(SONDE_OBJECT_BUFFER, 1, 0x80);
    kept = add(SONDE_OBJECT_BUFFER, 1, 0x90);
    sonde_object_free(gone);
    sonde_object_uses_hidden();
    later = add(SONDE_OBJECT_BUFFER, 1, 0xa0);
    first_ns = use(lane, handle, NULL, 0);
    for (int i = 0; i < 5; i++)
        use(lane, handle, NULL, 0);
    last_ns = use(lane, part[0], &handle, 1);
    assert_true(first_ns && last_ns);
}

static void uses_are_in_the_measurement(void **state)
{
    (void)state;
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    const struct sonde_row_object *o = m->processes[0].objects;
    assert_int_equal(o[shared].uses, THREADS * EACH);
    assert_int_equal(o[part[0]].uses, THREADS * EACH + 1);
    assert_int_equal(o[part[1]].uses, THREADS * EACH);
    assert_int_equal(o[whole].uses, THREADS * EACH + 1); /* once for both parts */
    assert_int_equal(o[handle].uses, 7);
    assert_true(o[handle].first_use_ns == first_ns);
    assert_true(o[handle].last_use_ns == last_ns);
    assert_true(o[shared].first_use_ns && o[shared].first_use_ns <= o[shared].last_use_ns && o[shared].last_use_ns < first_ns);
    assert_true(!o[unused].uses && !o[unused].first_use_ns && !o[unused].last_use_ns);
    assert_int_equal(o[loose].flags, SONDE_OBJECT_USES_PARTIAL);
    assert_int_equal(o[gone].flags, 0); /* freed before uses were hidden */
    assert_int_equal(o[kept].flags, SONDE_OBJECT_USES_PARTIAL);
    assert_int_equal(o[later].flags, SONDE_OBJECT_USES_PARTIAL);
    assert_true(o[looked_at].flags & SONDE_OBJECT_LOOKED_AT);
    assert_false(o[not_looked_at].flags & SONDE_OBJECT_LOOKED_AT);
    names_are_in_the_measurement(&m->processes[0]);
    sonde_measurement_close(m);
    harness_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_finds_what_it_lies_in),
        cmocka_unit_test(objects_have_one_that_stands_for_their_site),
        cmocka_unit_test(parts_have_names),
        cmocka_unit_test(uses_are_counted),
        cmocka_unit_test(one_that_stands_for_others_keeps_its_row),
        cmocka_unit_test(uses_are_in_the_measurement),
    };
    harness_setup("objects", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

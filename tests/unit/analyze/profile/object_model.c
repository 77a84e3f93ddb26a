/* object_model.c - unit tests of src/analyze/profile/object_model.c: the order of changes, and what lay where, against a look at every object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/profile/object_model.h"

enum {
    OBJECTS = 400,
    CELLS = 64,
    INSTANTS = 300,
};

static uint32_t look_at_all(const struct sonde_process *p, uint64_t address, uint64_t at_ns)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < p->object_count; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        if ((o->kind == SONDE_OBJECT_DEVICE || o->kind == SONDE_OBJECT_SVM) && o->address <= address &&
            address - o->address < o->bytes && o->alloc_ns <= at_ns && (!o->free_ns || at_ns < o->free_ns) &&
            (!best || o->address > p->objects[best].address))
            best = i;
    }
    return best;
}

/* Objects in free cells as an allocator makes them, some within one that covers the middle of all; and handles. */
static struct sonde_process allocate(struct sonde_row_object *objects, unsigned *seed)
{
    uint32_t count = 1, alive[CELLS] = {0};
    objects[count++] = (struct sonde_row_object){
        .kind = SONDE_OBJECT_SVM,
        .address = 1000 + 16 * 20 + 1,
        .bytes = 16 * 20,
        .alloc_ns = 5,
        .free_ns = 200,
    };
    for (uint64_t now = 1; now < INSTANTS && count < OBJECTS; now++) {
        const uint32_t cell = (uint32_t)rand_r(seed) % CELLS;
        if (alive[cell])
            objects[alive[cell]].free_ns = now;
        alive[cell] = 0;
        if (rand_r(seed) % 4 == 0)
            continue;
        alive[cell] = count;
        objects[count++] = (struct sonde_row_object){
            .kind = rand_r(seed) % 5 ? SONDE_OBJECT_DEVICE : SONDE_OBJECT_BUFFER,
            .address = 1000 + 16 * cell,
            .bytes = (uint64_t)rand_r(seed) % 17,
            .alloc_ns = now,
        };
    }
    return (struct sonde_process){.objects = objects, .object_count = count};
}

static void test_addresses(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct sonde_row_object objects[OBJECTS] = {0};
        unsigned seed = round;
        const struct sonde_process p = allocate(objects, &seed);
        struct sonde_object_places places = {0};
        uint32_t found = 0;
        assert_int_equal(sonde_object_places_find(&p, &places), 0);
        for (int i = 0; i < 20000; i++) {
            const uint64_t address = 990 + (uint64_t)rand_r(&seed) % (16 * CELLS + 20), at_ns = (uint64_t)rand_r(&seed) % (INSTANTS + 10);
            const uint32_t object = sonde_object_places_at(&places, address, at_ns);
            assert_int_equal(object, look_at_all(&p, address, at_ns));
            found += object != 0;
        }
        assert_true(found > 4000);
        sonde_object_places_fini(&places);
    }
}

static bool all(const void *user, uint32_t object)
{
    (void)user;
    return object != 0;
}

/* A free goes before an allocation of the same instant; what is alive has no free. */
static void test_changes(void **state)
{
    (void)state;
    struct sonde_row_object objects[] = {
        {0},
        {.kind = SONDE_OBJECT_DEVICE, .alloc_ns = 10, .free_ns = 20},
        {.kind = SONDE_OBJECT_DEVICE, .alloc_ns = 20},
        {.kind = SONDE_OBJECT_DEVICE, .alloc_ns = 5},
    };
    const struct sonde_process p = {.objects = objects, .object_count = 4};
    static const struct sonde_object_change expected[] = {{5, 3, false}, {10, 1, false}, {20, 1, true}, {20, 2, false}};
    sonde_object_changes changes = {0};
    assert_int_equal(sonde_object_changes_find(&p, all, NULL, &changes), 0);
    assert_int_equal(changes.count, 4);
    for (size_t i = 0; i < changes.count; i++) {
        assert_int_equal(changes.items[i].at_ns, expected[i].at_ns);
        assert_int_equal(changes.items[i].object, expected[i].object);
        assert_int_equal(changes.items[i].free, expected[i].free);
    }
    sonde_vector_fini(&changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses), cmocka_unit_test(test_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* heap.c - unit tests of the heap's pieces and of memory that is kept for good. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guest/heap.h"
#include "guest/memory.h"

struct piece { uint64_t number, rest[4]; };

static void pieces_are_apart_and_come_back(void **state)
{
    (void)state;
    enum { BLOCKS = 16 };
    enum { EACH = SONDE_HEAP_BLOCK / sizeof(struct piece) };
    static struct piece *all[BLOCKS * EACH];
    struct sonde_heap heap;
    struct sonde_pieces pieces = {0};
    uint32_t count = 0, again = 0;
    assert_int_equal(sonde__heap_init(&heap, BLOCKS * SONDE_HEAP_BLOCK), 0);
    for (struct piece *p; count < BLOCKS * EACH && (p = sonde__piece_get(&pieces, &heap, sizeof *p)); count++) {
        *p = (struct piece){.number = count};
        all[count] = p;
    }
    assert_int_equal(count, BLOCKS * EACH);
    assert_null(sonde__piece_get(&pieces, &heap, sizeof(struct piece)));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(all[i]->number, i);
    for (uint32_t i = 0; i < count; i += 3, again++)
        sonde__piece_put(&pieces, all[i]);
    for (; again > 0; again--)
        assert_non_null(sonde__piece_get(&pieces, &heap, sizeof(struct piece)));
    assert_null(sonde__piece_get(&pieces, &heap, sizeof(struct piece)));
    sonde__heap_fini(&heap);
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static unsigned char *all[COUNT];
    static size_t size[COUNT];
    errno = EDOM;
    for (uint32_t i = 0; i < COUNT; i++) {
        size[i] = i % 997 == 0 ? 20000 + i : 1 + i % 131;
        all[i] = sonde__memory_get(size[i]);
        assert_non_null(all[i]);
        assert_int_equal((uintptr_t)all[i] % 16, 0);
        for (size_t at = 0; at < size[i]; at++)
            assert_int_equal(all[i][at], 0);
        memset(all[i], (int)(i % 255) + 1, size[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(all[i][0] == i % 255 + 1 && all[i][size[i] - 1] == i % 255 + 1);
    assert_null(sonde__pages_get(SIZE_MAX / 2));
    sonde__pages_put(NULL, 4096);
    assert_int_equal(errno, EDOM);
}

static void room_is_made_for_more(void **state)
{
    (void)state;
    for (uint64_t bytes = 1; bytes < UINT64_MAX / 4; bytes += bytes / 3 + 1) {
        const uint64_t room = sonde__room_bytes(bytes);
        assert_int_equal(room % 64, 0);
        assert_true(room >= bytes && room >= 65536 && (room == 65536 || room <= bytes + bytes / 2));
        assert_int_equal(sonde__room_bytes(room), room);
        assert_true(sonde__room_bytes(room + 1) > room);
    }
    assert_true(sonde__room_bytes(UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart_and_come_back),
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(room_is_made_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

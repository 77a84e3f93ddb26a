/* records.c - unit tests of records and pairs: what readers find without a lock while others add is right. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdalign.h>
#include <stddef.h>

#include <cmocka.h>

#include "guest/pairs.h"
#include "guest/records.h"

enum {
    KEYS = 40000,
    WRITERS = 2,
    READERS = 2,
};

struct record { _Atomic uint64_t key; };

static struct sonde_records records;
static void *first_of[WRITERS][KEYS];
static _Atomic bool stop;
static _Atomic uint64_t wrong;
static alignas(64) struct sonde_pair pairs[256];
static const struct sonde_pairs cache = {pairs, 255};

static uint64_t key_of(uint64_t i)
{
    return (i + 1) << 24; /* as handles lie: apart by more than the table is large */
}

static void *make_all(void *first)
{
    void **mine = first;
    for (uint64_t i = 0; i < KEYS; i++) {
        bool made;
        struct record *r = sonde__records_make(&records, key_of(i), sizeof *r, &made);
        if (made)
            atomic_store(&r->key, key_of(i));
        mine[i] = r;
    }
    return NULL;
}

static void *find_all(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop))
        for (uint64_t i = 0; i < KEYS; i += 7) {
            struct record *r = sonde__records_find(&records, key_of(i));
            const uint64_t found = r ? atomic_load(&r->key) : 0; /* 0: just made */
            wrong += found && found != key_of(i);
        }
    return NULL;
}

static void every_key_has_one_record(void **state)
{
    (void)state;
    pthread_t writer[WRITERS], reader[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&reader[i], NULL, find_all, NULL), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writer[i], NULL, make_all, first_of[i]), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writer[i], NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(reader[i], NULL);
    assert_int_equal(wrong, 0);
    for (uint64_t i = 0; i < KEYS; i++) {
        struct record *r = sonde__records_find(&records, key_of(i));
        assert_non_null(r);
        assert_int_equal(r->key, key_of(i));
        for (int w = 0; w < WRITERS; w++)
            assert_ptr_equal(first_of[w][i], r);
    }
    struct record other;
    assert_ptr_equal(sonde__records_add(&records, key_of(3), &other), first_of[0][3]);
    assert_ptr_equal(sonde__records_add(&records, key_of(KEYS), &other), &other);
    assert_ptr_equal(sonde__records_find(&records, key_of(KEYS)), &other);
    assert_null(sonde__records_find(&records, key_of(KEYS + 1)));
    assert_null(sonde__records_make(&records, 0, 16, NULL));
    assert_null(sonde__records_find(&records, 0));
    sonde__records_forget(&records);
    assert_null(sonde__records_find(&records, key_of(3)));
}

enum { ROWS = 20000 };
static uint64_t rows[ROWS];

static void *write_rows(void *unused)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        rows[i] = 7 * i;
        sonde__pairs_put(cache, key_of(i), i);
    }
    atomic_store(&stop, true);
    return unused;
}

static uint64_t read_rows(void)
{
    uint64_t found = 0;
    for (uint64_t i = 0, row; i < ROWS; i++)
        if (sonde__pairs_find(cache, key_of(i), &row)) {
            found++;
            assert_int_equal(rows[row], 7 * i);
        }
    return found;
}

/* A value is the number of a row that was written before: who finds the one reads the other. */
static void what_a_value_leads_to_is_there(void **state)
{
    (void)state;
    pthread_t writer;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&writer, NULL, write_rows, NULL), 0);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) /* which is to order nothing */
        read_rows();
    pthread_join(writer, NULL);
    assert_true(read_rows() > 0);
}

/* Values belong to their keys: key k has k * 3 or k * 5. */
static void *write_pairs(void *factor)
{
    for (uint64_t i = 0; i < 300000; i++)
        sonde__pairs_put(cache, i % 1000 + 1, (i % 1000 + 1) * *(const uint64_t *)factor);
    return NULL;
}

static void a_torn_pair_is_a_miss(void **state)
{
    (void)state;
    uint64_t factors[] = {3, 5}, value = 0, found = 0;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, write_pairs, &factors[i]), 0);
    for (uint64_t i = 0; i < 2000000; i++) {
        const uint64_t key = i % 1000 + 1;
        if (!sonde__pairs_find(cache, key, &value))
            continue;
        found++;
        if (value != 3 * key && value != 5 * key)
            fail_msg("key %llu has %llu", (unsigned long long)key, (unsigned long long)value);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert_true(found > 0);
    sonde__pairs_put(cache, 77, 1);
    sonde__pairs_put(cache, 77, 2);
    assert_true(sonde__pairs_find(cache, 77, &value) && value == 2);
    sonde__pairs_drop(cache, 77);
    assert_false(sonde__pairs_find(cache, 77, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_one_record),
        cmocka_unit_test(what_a_value_leads_to_is_there),
        cmocka_unit_test(a_torn_pair_is_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* lock.c - unit tests of the lock, among threads and over a fork, and of what is said once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/lock.h"
#include "guest/once.h"

enum { THREADS = 4 };
enum { ROUNDS = 20000 };

static struct sonde_lock lock;
static struct sonde_once once;
static int counted; /* under the lock */
static _Atomic int said;

static void *count(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        sonde__lock(&lock);
        counted++;
        sonde__unlock(&lock);
        said += sonde__once(&once);
    }
    return NULL;
}

static void threads_exclude_each_other(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(counted, THREADS * ROUNDS);
    assert_int_equal(lock.times, THREADS * ROUNDS);
    assert_int_equal(said, 1);
}

static void a_lock_that_stays_taken_is_waited_for_within_the_bound(void **state)
{
    (void)state;
    assert_true(sonde__trylock(&lock));
    assert_false(sonde__trylock(&lock));
    assert_false(sonde__lock_within(&lock, 5));
    sonde__handler.on = true; /* which waits for nothing */
    assert_false(sonde__lock_or_miss(&lock));
    assert_true(sonde__handler.missed);
    sonde__handler = (struct sonde_handler){0};
    sonde__unlock(&lock);
    assert_true(sonde__trylock(&lock));
    sonde__unlock(&lock);
}

/* In the child: the parent's lock is free, the child's own is not, and the same in a child of it. */
static bool is_free_in_children(int generations)
{
    const pid_t child = fork();
    int status = 1;
    if (child == 0) {
        sonde__process_forked();
        const bool free = sonde__trylock(&lock) && !sonde__trylock(&lock) && sonde__once(&once) && !sonde__once(&once);
        _exit(free && (generations == 1 || is_free_in_children(generations - 1)) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void what_a_parent_held_or_said_is_not_its_childs(void **state)
{
    (void)state;
    assert_true(sonde__trylock(&lock));
    sonde__once(&once);
    assert_true(is_free_in_children(3));
    assert_false(sonde__trylock(&lock));
    sonde__unlock(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_exclude_each_other),
        cmocka_unit_test(a_lock_that_stays_taken_is_waited_for_within_the_bound),
        cmocka_unit_test(what_a_parent_held_or_said_is_not_its_childs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

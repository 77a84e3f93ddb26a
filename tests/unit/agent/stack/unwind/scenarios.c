/* scenarios.c - stacks of every shape, walked shared, in full and by libunwind.
 *
 * Built several times: with and without frame pointers, at several levels of
 * optimization, by gcc and clang.
 */
#include <alloca.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "group.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_SMALL ((size_t)2 << 20) /* the sanitizers' run time needs room of its own */
#else
#define STACK_SMALL ((size_t)64 << 10)
#endif

static NOINLINE unsigned recurse(int n)
{
    if (n > 0)
        sink += recurse(n - 1);
    else
        check();
    return sink;
}

static NOINLINE int with_alloca(int n, int bytes)
{
    volatile char *room = alloca((size_t)bytes);
    room[0] = (char)n;
    if (n > 0)
        with_alloca(n - 1, bytes + 48);
    else
        check();
    return room[0];
}

static NOINLINE int with_vla(int n)
{
    volatile int room[n + 1];
    room[n] = n;
    if (n > 0)
        with_vla(n - 1);
    else
        check();
    return room[n];
}

/* A realigned stack; with alloca beside it gcc needs a second base register. */
static NOINLINE int aligned(int n, int bytes)
{
    volatile char wide[128] __attribute__((aligned(64)));
    volatile char *more = alloca((size_t)bytes);
    wide[0] = (char)n;
    more[0] = 1;
    if (n > 0)
        aligned(n - 1, bytes + 16);
    else
        check();
    return wide[0] + more[0];
}

static NOINLINE int aligned_only(int n)
{
    volatile char wide[64] __attribute__((aligned(32)));
    wide[0] = (char)n;
    if (n > 0)
        aligned_only(n - 1);
    else
        recurse(2);
    return wide[0];
}

static NOINLINE int realigned_leaf(void)
{
    volatile char wide[64] __attribute__((aligned(64)));
    volatile char *more = alloca(64 + sink * 0);
    wide[0] = more[0] = 0;
    check();
    return wide[0] + more[0];
}

/* The realigned frame stays where it is while its caller's sp moves: the old
 * return address is still in the room, and only the third slot tells. */
static NOINLINE int shift(size_t bytes)
{
    volatile char *room = alloca(bytes);
    __asm__ volatile("" ::"r"(room) : "memory"); /* keeps the room, writes nothing */
    int result = realigned_leaf();
    __asm__ volatile("" ::"r"(room) : "memory");
    return result + 1;
}

static NOINLINE unsigned tail_end(int n)
{
    check();
    return (unsigned)n;
}
static NOINLINE unsigned tail_middle(int n)
{
    return n & 1 ? recurse(n) : tail_end(n + 1);
}
static NOINLINE unsigned tail_call(int n)
{
    sink++;
    return tail_middle(n);
}

static void test_recursion(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        recurse((i * 7) % 23);
    recurse(300);
    recurse(299);
    none_differ();
    assert_true(o->shared > o->walks); /* sharing happened at all */
}

static void test_frame_kinds(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        with_alloca(i % 5, 8 + i);
        with_vla(i % 7);
        aligned(i % 4, 40 + i);
        aligned_only(i % 3);
        sink += tail_call(i);
        with_alloca(2, 16);
        aligned(2, 16);
    }
    none_differ();
}

static void test_realigned_from_moving_caller(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 400; bytes += 16)
        shift(bytes);
    for (size_t bytes = 400; bytes > 0; bytes -= 16)
        shift(bytes);
    none_differ();
}

static int by_value(const void *a, const void *b)
{
    check();
    return *(const int *)a - *(const int *)b;
}

static void visit(const void *node, VISIT which, int depth)
{
    (void)node;
    (void)which;
    (void)depth;
    check();
}

static void test_libc_callbacks(void **state)
{
    (void)state;
    int numbers[40], key = 17;
    void *root = NULL;
    for (int i = 0; i < 40; i++)
        numbers[i] = (i * 29) % 41;
    qsort(numbers, 40, sizeof numbers[0], by_value);
    assert_non_null(bsearch(&key, numbers, 40, sizeof numbers[0], by_value));
    for (int i = 0; i < 10; i++)
        tsearch(&numbers[i], &root, by_value);
    twalk(root, visit);
    while (root)
        tdelete(*(void **)root, &root, by_value);
    none_differ();
}

static jmp_buf escape;

static NOINLINE void jump_from(int n)
{
    volatile char room[64];
    room[0] = 1;
    if (n > 0)
        jump_from(n - 1);
    check();
    if (sink != UINT_MAX)
        longjmp(escape, 1 + room[0]);
}

static void test_longjmp(void **state)
{
    (void)state;
    for (volatile int i = 0; i < 50; i++) {
        if (setjmp(escape) == 0)
            jump_from(i % 9);
        recurse(i % 5);
        check();
    }
    none_differ();
}

/* ---- other stacks ------------------------------------------------------ */

static ucontext_t main_context, routine_context[2];

static void routine(int which)
{
    for (int i = 0;; i++) {
        recurse(which + i % 4);
        with_alloca(1, 32 * (which + 1));
        assert_int_equal(o->last.end, SONDE_UNWIND_OUTERMOST);
        swapcontext(&routine_context[which], &main_context);
    }
}

static void *routine_stack(size_t bytes)
{
    char *map = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + 4096, bytes, PROT_READ | PROT_WRITE), 0);
    return map + 4096; /* a page without access on either side */
}

static NOINLINE void routine_make(int k, size_t bytes)
{
    getcontext(&routine_context[k]);
    routine_context[k].uc_stack.ss_sp = routine_stack(bytes);
    routine_context[k].uc_stack.ss_size = bytes;
    routine_context[k].uc_link = NULL;
    makecontext(&routine_context[k], (void (*)(void))routine, 1, k);
}

static void test_coroutines(void **state)
{
    (void)state;
    const size_t bytes = 256 << 10;
    routine_make(0, bytes);
    routine_make(1, bytes);
    for (int i = 0; i < 40; i++) {
        swapcontext(&main_context, &routine_context[i % 3 == 0]);
        recurse(i % 3);
    }
    for (int k = 0; k < 2; k++)
        munmap((char *)routine_context[k].uc_stack.ss_sp - 4096, bytes + 8192);
    none_differ();
}

static void handler(int signal)
{
    recurse(signal % 3 + 1);
    check();
}

static void install(int signal, void (*function)(int), int flags)
{
    struct sigaction action = {.sa_handler = function, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static NOINLINE void raise_deep(int n, int signal)
{
    if (n > 0)
        raise_deep(n - 1, signal);
    else
        raise(signal);
    sink++;
}

static void test_signals(void **state)
{
    (void)state;
    install(SIGUSR1, handler, 0);
    for (int i = 0; i < 10; i++) {
        raise_deep(i % 4, SIGUSR1);
        recurse(i % 5);
    }
    none_differ();
}

static void test_alternate_stack(void **state)
{
    (void)state;
    stack_t alternate = {.ss_sp = routine_stack(128 << 10), .ss_size = 128 << 10}, before;
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    install(SIGUSR2, handler, SA_ONSTACK);
    for (int i = 0; i < 10; i++) {
        raise_deep(i % 4, SIGUSR2);
        recurse(i % 5);
    }
    sigaltstack(&before, NULL);
    munmap((char *)alternate.ss_sp - 4096, (128 << 10) + 8192);
    none_differ();
}

/* ---- every instruction ------------------------------------------------- */

static void trap(int signal)
{
    (void)signal;
    oracle_check(o);
}

static void trap_flag(void)
{
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static void trap_clear(void)
{
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static int quiet_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static NOINLINE int plain(int n)
{
    volatile char room[72];
    room[0] = (char)n;
    return n > 0 ? plain(n - 1) + room[0] : 1;
}

static NOINLINE int stepped(void)
{
    int numbers[4] = {3, 1, 4, 2};
    char text[32];
    volatile char wide[64] __attribute__((aligned(64)));
    wide[0] = 1;
    qsort(numbers, 4, sizeof numbers[0], quiet_compare);
    snprintf(text, sizeof text, "%d", numbers[0]);
    return plain(3) + wide[0] + text[0] + (int)time(NULL);
}

/* The walk is right at every single instruction: prologues, epilogues, calls
 * through the linkage table, the kernel's shared page. */
static void test_every_instruction(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers' run time has code without description */
#endif
    install(SIGTRAP, trap, 0);
    trap_flag();
    sink += (unsigned)stepped();
    trap_clear();
    assert_true(o->walks > 500);
    none_differ();
}

/* ---- threads ----------------------------------------------------------- */

static void *small_thread(void *unused)
{
    (void)unused;
    struct oracle *mine = oracle_create();
    for (int i = 0; i < 100; i++)
        oracle_check_self(mine);
    uintptr_t bad = mine->mismatches + (mine->last.end != SONDE_UNWIND_OUTERMOST) +
                    (mine->last.shared == 0);
    oracle_destroy(mine);
    return (void *)bad;
}

static void *thread(void *unused)
{
    (void)unused;
    struct oracle *mine = oracle_create();
    for (int i = 0; i < 100; i++)
        oracle_check(mine);
    uintptr_t bad = mine->mismatches + (mine->last.guessed != 0);
    oracle_destroy(mine);
    return (void *)bad;
}

static void run_thread(void *(*function)(void *), size_t bytes, bool own_memory)
{
    pthread_attr_t attr;
    pthread_t id;
    void *bad, *memory = NULL;
    pthread_attr_init(&attr);
    if (own_memory) {
        memory = routine_stack(bytes);
        assert_int_equal(pthread_attr_setstack(&attr, memory, bytes), 0);
    } else {
        assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
    }
    assert_int_equal(pthread_create(&id, &attr, function, NULL), 0);
    pthread_join(id, &bad);
    assert_null(bad);
    pthread_attr_destroy(&attr);
    if (memory)
        munmap((char *)memory - 4096, bytes + 8192);
}

static void test_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        run_thread(small_thread, PTHREAD_STACK_MIN, false);
        run_thread(small_thread, PTHREAD_STACK_MIN, true);
#endif
        run_thread(thread, STACK_SMALL, false);
        run_thread(thread, STACK_SMALL, true);
        run_thread(thread, 8 << 20, false);
    }
}

/* Many threads fill and read one table of rules. */
static void test_many_threads(void **state)
{
    (void)state;
    pthread_t ids[8];
    void *bad;
    for (int round = 0; round < 10; round++) {
        sonde__unwind_modules_changed();
        for (int i = 0; i < 8; i++)
            assert_int_equal(pthread_create(&ids[i], NULL, small_thread, NULL), 0);
        for (int i = 0; i < 8; i++) {
            pthread_join(ids[i], &bad);
            assert_null(bad);
        }
    }
}

static NOINLINE unsigned dig(int n)
{
    if (n > 0)
        sink += dig(n - 1);
    else
        for (int i = 0; i < 3; i++)
            oracle_check_self(o);
    return sink;
}

/* ---- no system call in the steady state -------------------------------- */

static volatile int survived;

/* In strict mode the kernel kills a thread at its first system call. */
static void *walk_without_calls(void *unused)
{
    struct oracle *mine = oracle_create();
    o = mine;
    dig(50);
    survived = 0;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return unused;
    for (int i = 0; i < 200; i++)
        dig(i % 50);
    survived = mine->mismatches == 0;
    syscall(SYS_exit, 0);
    return NULL;
}

static void test_no_system_calls(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers' run time calls the kernel */
#endif
    for (int in_thread = 0; in_thread < 2; in_thread++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t id;
            if (!in_thread)
                walk_without_calls(NULL);
            pthread_create(&id, NULL, walk_without_calls, NULL);
            pthread_join(id, NULL);
            _exit(survived ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* ---- limits ------------------------------------------------------------ */

static void test_deeper_than_kept(void **state)
{
    (void)state;
    for (int depth = SONDE_STACK_MAX - 40; depth < SONDE_STACK_MAX + 40; depth += 3)
        dig(depth);
    assert_int_equal(o->last.end, SONDE_UNWIND_CUT);
    assert_int_equal(o->last.count, SONDE_STACK_MAX);
    dig(10);
    assert_int_equal(o->last.end, SONDE_UNWIND_OUTERMOST);
    dig(SONDE_STACK_MAX * 3);
    none_differ();
}

static void test_generations(void **state)
{
    (void)state;
    recurse(5);
    uint64_t before = sonde__unwind_generation();
    sonde__unwind_modules_changed();
    assert_true(sonde__unwind_generation() > before);
    uint64_t shared = o->shared;
    recurse(5);
    assert_int_equal(o->shared, shared); /* nothing is shared across a change */
    for (int i = 0; i < 140000; i++) { /* past the key's 17 bits */
        sonde__unwind_modules_changed();
        if (i % 10000 == 0)
            recurse(3);
    }
    none_differ();
}

/* Two ways to frames that are equal but for one return address further out. */
static NOINLINE unsigned two_ways(int which)
{
    unsigned sum = 0;
    if (which)
        sum = recurse(12) + 1;
    else
        sum = recurse(12) + 2;
    return sum + sink;
}

/* The same paths in turn, as a loop takes them; then in another order, and other ones. */
static void test_trails(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++)
        for (int path = 0; path < 9; path++) {
            int n = round < 40 ? path : (path * 5 + round) % 9;
            sink += two_ways(n & 1);
            with_alloca(6 + n % 3, 8 + 16 * n + (round > 50 ? round * 16 : 0));
        }
    none_differ();
    assert_true(o->trails.followed > o->walks);
    assert_true(o->known > o->walks / 2);
}

#if defined __x86_64__
/* Code that keeps a value of its own in the frame pointer. */
void busy_fp(uintptr_t value, void (*inner)(void));
__asm__(".text\n"
        "busy_fp:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 6, -16\n"
        "mov %rdi, %rbp\n"
        "call *%rsi\n"
        "pop %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".type busy_fp, @function\n"
        ".size busy_fp, .-busy_fp\n"
        "end_of_thread:\n"
        ".cfi_startproc\n"
        ".cfi_undefined 16\n"
        "nop\n"
        "nop\n"
        ".cfi_endproc\n");

/* Code whose CFA is so far above the frame pointer, and nothing else says where:
 * `moved`, it hangs on a copy of the frame, whose caller is the end of the thread. */
#define PIVOT(name, above)                                   \
    void name(int moved, void (*inner)(void));               \
    __asm__(".text\n" #name ":\n"                            \
            ".cfi_startproc\n"                               \
            "push %rbp\n"                                    \
            ".cfi_def_cfa_offset 16\n"                       \
            ".cfi_offset 6, -16\n"                           \
            "push %rbx\n"                                    \
            ".cfi_def_cfa_offset 24\n"                       \
            ".cfi_offset 3, -24\n"                           \
            "sub $120, %rsp\n"                               \
            ".cfi_def_cfa_offset 144\n"                      \
            "lea 144-" #above "(%rsp), %rbp\n"               \
            ".cfi_def_cfa 6, " #above "\n"                   \
            "mov %rbp, %rbx\n"                               \
            "mov " #above "-16(%rbp), %rax\n"                \
            "mov %rax, " #above "-80(%rbp)\n"                \
            "lea 1+end_of_thread(%rip), %rax\n"              \
            "mov %rax, " #above "-72(%rbp)\n"                \
            "test %edi, %edi\n"                              \
            "je 1f\n"                                        \
            "lea -64(%rbp), %rbp\n"                          \
            "1: call *%rsi\n"                                \
            "lea " #above "-24(%rbx), %rsp\n"                \
            ".cfi_def_cfa 7, 24\n"                           \
            "pop %rbx\n"                                     \
            ".cfi_def_cfa_offset 16\n"                       \
            "pop %rbp\n"                                     \
            ".cfi_def_cfa_offset 8\n"                        \
            "ret\n"                                          \
            ".cfi_endproc\n"                                 \
            ".type " #name ", @function\n"                   \
            ".size " #name ", .-" #name "\n")
PIVOT(pivot, 16);
PIVOT(pivot_far, 48);

static NOINLINE void check_deeper(void)
{
    recurse(3);
    sink++;
}

static void test_frame_pointer_without_use(void **state)
{
    (void)state;
    for (uintptr_t i = 0; i < 60; i++)
        busy_fp(i * 0x123456789, i & 1 ? check : check_deeper);
    none_differ();
    assert_true(o->known >= 56);
}

static void test_frame_pointer_in_use(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 80; i++) {
        const bool moved = i / 2 & 1;
        (i & 1 ? pivot : pivot_far)(moved, i & 4 ? check : check_deeper);
        assert_true(moved ? o->full.count < 12 : o->full.count > 4);
    }
    assert_int_equal(o->mismatches, 0);
    assert_true(o->known >= 64);
}
#endif

/* Frames whose CFA lies in memory are parts of trails. */
static void test_realigned_known(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        aligned(2, 40);
        aligned_only(3);
        realigned_leaf();
    }
    none_differ();
    assert_true(o->known >= o->walks - 9);
}

static void test_function_start(void **state)
{
    (void)state;
    assert_int_equal(sonde__unwind_function_start((uintptr_t)recurse + 3), (uintptr_t)recurse);
    assert_int_equal(sonde__unwind_function_start(16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(recursion),
        TEST(frame_kinds),
        TEST(libc_callbacks),
        TEST(longjmp),
        TEST(coroutines),
        TEST(signals),
        TEST(alternate_stack),
        TEST(every_instruction),
        TEST(threads),
        TEST(many_threads),
        TEST(deeper_than_kept),
        TEST(generations),
        TEST(function_start),
        TEST(realigned_from_moving_caller),
        TEST(no_system_calls),
        TEST(trails),
        TEST(realigned_known),
#if defined __x86_64__
        TEST(frame_pointer_without_use),
        TEST(frame_pointer_in_use),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* modules.c - libraries that come and go at one address, lazy binding, and code
 * made at run time. HOP_A and HOP_B are the paths of two libraries of hop.c.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "group.h"

typedef void (*callback)(void);

/* From the linked copy of hop.c. */
extern callback hop_resolving;
int hop_lazy(int n);

static uintptr_t hop_through(const char *path, bool say_so)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    oracle_modules_changed();
    if (say_so)
        sonde__unwind_modules_changed();
    void (*hop)(callback);
    *(void **)&hop = dlsym(library, "hop");
    assert_non_null(hop);
    hop(check);
    hop(check);
    uintptr_t address = (uintptr_t)hop;
    dlclose(library);
    if (say_so)
        sonde__unwind_modules_changed();
    return address & ~(uintptr_t)0xfff;
}

static void test_two_libraries_one_address(void **state)
{
    (void)state;
    unsigned same = 0;
    for (int i = 0; i < 10; i++)
        same += hop_through(HOP_A, true) == hop_through(HOP_B, true);
    none_differ();
    if (same == 0)
        skip(); /* the linker never used the address again */
}

/* Unless told, the walker keeps its rules: this shows that the test above can fail. */
static void test_untold_change_is_seen_by_the_oracle(void **state)
{
    (void)state;
    o->quiet = true;
    if (hop_through(HOP_A, false) != hop_through(HOP_B, false))
        skip();
    bool wrong = o->mismatches != 0;
    sonde__unwind_modules_changed();
    assert_true(wrong);
}

static void resolving(void)
{
    check();
    check();
}

static void test_lazy_binding(void **state)
{
    (void)state;
    uint64_t before = o->walks;
    hop_resolving = resolving;
    assert_int_equal(hop_lazy(1), 2);
    hop_resolving = NULL;
    if (o->walks == before)
        skip(); /* bound at start */
    none_differ();
    assert_int_equal(o->full.end, SONDE_UNWIND_OUTERMOST);
}

/* ---- code without description ------------------------------------------ */

static const uint8_t with_fp[] = {
    0x55,                   /* push rbp */
    0x48, 0x89, 0xe5,       /* mov rbp, rsp */
    0x48, 0x83, 0xec, 0x40, /* sub rsp, 64 */
    0xff, 0xd7,             /* call rdi */
    0xc9, 0xc3              /* leave; ret */
};
static const uint8_t with_fp_and_room[] = {
    /* PoCL's kernels keep private memory of all items of a group on the stack */
    0x55,                                     /* push rbp */
    0x48, 0x89, 0xe5,                         /* mov rbp, rsp */
    0x48, 0x81, 0xec, 0x80, 0x40, 0x10, 0x00, /* sub rsp, 0x104080 */
    0xff, 0xd7,                               /* call rdi */
    0xc9, 0xc3                                /* leave; ret */
};
static const uint8_t without_fp[] = {
    0x48, 0x83, 0xec, 0x48, /* sub rsp, 72 */
    0xff, 0xd7,             /* call rdi */
    0x48, 0x83, 0xc4, 0x48, /* add rsp, 72 */
    0xc3                    /* ret */
};
static const uint8_t without_fp_clobber[] = {
    0x55,                   /* push rbp */
    0x31, 0xed,             /* xor ebp, ebp: rbp leads nowhere */
    0x48, 0x83, 0xec, 0x40, /* sub rsp, 64 */
    0xff, 0xd7,             /* call rdi */
    0x48, 0x83, 0xc4, 0x40, /* add rsp, 64 */
    0x5d, 0xc3              /* pop rbp; ret */
};
static const uint8_t twice_with_fp[] = {
    0x55,             /* push rbp */
    0x48, 0x89, 0xe5, /* mov rbp, rsp */
    0x48, 0x89, 0xf0, /* mov rax, rsi: the code to call next */
    0xff, 0xd0,       /* call rax */
    0x5d, 0xc3        /* pop rbp; ret */
};

static void *make_code(const uint8_t *bytes, size_t count)
{
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    memcpy(map, bytes, count);
    assert_int_equal(mprotect(map, 4096, PROT_READ | PROT_EXEC), 0);
    return map;
}

static struct sonde_stack outside, within;

static NOINLINE void look(void)
{
    oracle_check_self(o);
    sonde__unwind_full(&within);
    sink++;
}

/* The frames outside of the made code must be the same ones, from `from` on. */
static void outer_frames_agree(uint32_t from)
{
    assert_int_equal(within.end, SONDE_UNWIND_OUTERMOST);
    assert_true(within.guessed > 0);
    for (uint32_t i = 1; i <= outside.count - from; i++) {
        assert_int_equal(within.cfa[within.count - i], outside.cfa[outside.count - i]);
        if (outside.count - i > 0) /* frame 0 walks and calls from two places */
            assert_int_equal(within.pc[within.count - i], outside.pc[outside.count - i]);
    }
}

static NOINLINE void call_made(void *code, void *next, uint32_t from)
{
    void (*function)(callback, void *);
    *(void **)&function = code;
    sonde__unwind_full(&outside);
    for (int i = 0; i < 3; i++)
        function(look, next);
    sink++;
    outer_frames_agree(from);
    sonde__unwind_modules_changed();
    function(look, next);
    sink++;
    outer_frames_agree(from);
}

static void test_made_code(void **state)
{
    (void)state;
    void *fp = make_code(with_fp, sizeof with_fp);
    void *twice = make_code(twice_with_fp, sizeof twice_with_fp);
    call_made(fp, NULL, 0);
    call_made(twice, fp, 0);
    call_made(make_code(with_fp_and_room, sizeof with_fp_and_room), NULL, 0);
    /* Without its own frame pointer the frame that called may be lost, but no other. */
    call_made(make_code(without_fp, sizeof without_fp), NULL, 1);
    call_made(make_code(without_fp_clobber, sizeof without_fp_clobber), NULL, 0);
    none_differ();
}

/* Garbage instead of a stack: no crash, no loop. */
static void test_garbage(void **state)
{
    (void)state;
    static const uint8_t spoil[] = {
        0x55,                               /* push rbp */
        0x48, 0x89, 0xe5,                   /* mov rbp, rsp */
        0x48, 0x89, 0xf5,                   /* mov rbp, rsi: garbage */
        0x48, 0x83, 0xec, 0x40,             /* sub rsp, 64 */
        0xff, 0xd7,                         /* call rdi */
        0x48, 0x83, 0xc4, 0x40,             /* add rsp, 64 */
        0x5d, 0xc3                          /* pop rbp; ret */
    };
    void *code = make_code(spoil, sizeof spoil);
    void (*function)(callback, uintptr_t);
    *(void **)&function = code;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const uintptr_t bad[] = {0, 8, 1, here, here - 4096, here + 8, here + 64, here + 100000,
                             UINTPTR_MAX, UINTPTR_MAX - 7, (uintptr_t)1 << 47, (uintptr_t)code,
                             here & ~(uintptr_t)0xfff};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        function(look, bad[i]);
    none_differ();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_libraries_one_address),
        TEST(untold_change_is_seen_by_the_oracle),
        TEST(lazy_binding),
        TEST(made_code),
        TEST(garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* control-flow.c - stacks that jump: longjmp, coroutines, alloca, deep recursion, tail calls.
 *
 * Each is a way in which a remembered stack can be wrong; run with the test
 * mode that unwinds every one in full and compares.
 *
 * case: longjmp longjmp => kernel=600 read=1 ; check-unwinds
 * case: coroutines coroutines => kernel=600 read=1 ; check-unwinds
 * case: alloca alloca => kernel=600 read=1 ; check-unwinds
 * case: recursion recursion => kernel=600 read=1 ; check-unwinds
 * case: tail-calls tail => kernel=600 read=1 ; check-unwinds
 * case: same-depth-other-callers siblings => kernel=600 read=1 ; check-unwinds
 */
#include "guest.h"

#include <alloca.h>
#include <setjmp.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static struct guest g;
static jmp_buf      landing;
static volatile int sink;

NOINLINE static void jumper(int depth)
{
    guest_add(&g, 1);
    if (depth > 0)
        jumper(depth - 1);
    else if (sink >= 0)
        longjmp(landing, 1);
    sink++;
}

static void jumps(void)
{
    volatile int rounds = 0;
    setjmp(landing);
    if (rounds++ < 100)
        jumper(5);
}

static ucontext_t main_side, sides[4];
static char       stacks[4][262144];

NOINLINE static void routine(int number)
{
    for (int i = 0; i < 150; i++) {
        guest_add(&g, 1);
        swapcontext(&sides[number], &main_side);
    }
}

static void coroutines(void)
{
    for (int i = 0; i < 4; i++) {
        getcontext(&sides[i]);
        sides[i].uc_stack.ss_sp = stacks[i];
        sides[i].uc_stack.ss_size = sizeof stacks[i];
        sides[i].uc_link = &main_side;
        makecontext(&sides[i], (void (*)(void))routine, 1, i);
    }
    for (int i = 0; i < 600; i++)
        swapcontext(&main_side, &sides[(i * 7) % 4]);
}

NOINLINE static void with_alloca(size_t size)
{
    volatile char *room = alloca(size);
    memset((void *)room, 0x41, size);
    guest_add(&g, 1);
    sink += room[size / 2];
}

static void allocas(void)
{
    for (int i = 0; i < 600; i++)
        with_alloca((size_t)(i % 13) * 1009 + 16);
}

NOINLINE static void recurse(int depth)
{
    if (depth > 0)
        recurse(depth - 1);
    else
        guest_add(&g, 1);
    sink++;
}

static void recursion(void)
{
    for (int i = 0; i < 600; i++)
        recurse(i % 300);
}

NOINLINE static void tail_b(int count);
NOINLINE static void tail_a(int count)
{
    guest_add(&g, 1);
    if (count > 0)
        tail_b(count - 1); /* jumps at -O2 */
}
NOINLINE static void tail_b(int count)
{
    guest_add(&g, 1);
    if (count > 0)
        tail_a(count - 1);
}

static void tails(void)
{
    for (int i = 0; i < 100; i++)
        tail_a(5);
}

/* Same frame size at the same address, another function: only the return address tells. */
#define SIBLING(name)               \
    NOINLINE static void name(void) \
    {                               \
        guest_add(&g, 1);           \
        sink++;                     \
    }
SIBLING(sibling_a)
SIBLING(sibling_b)
SIBLING(sibling_c)

NOINLINE static void through(void (*next)(void))
{
    next();
    sink++;
}

static void siblings(void)
{
    void (*const all[])(void) = {sibling_a, sibling_b, sibling_c};
    for (int i = 0; i < 600; i++)
        through(all[(i * 5 + i / 7) % 3]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"longjmp", jumps}, {"coroutines", coroutines}, {"alloca", allocas}, {"recursion", recursion},
                 {"tail", tails}, {"siblings", siblings}};
    guest_open(&g);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}

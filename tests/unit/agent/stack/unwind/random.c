/* random.c - walks random call graphs made of every kind of frame, and compares
 * the shared walk, the full walk and libunwind each time, and what is known
 * without a walk.
 *
 *     random [WALKS [SEED]]
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "oracle.h"

#define NOINLINE __attribute__((noinline))
#define DEPTH_MAX 40

static struct oracle *o;
static uint64_t seed;
static uint64_t wanted;
static volatile unsigned long sink;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * n >> 32);
}

static void node(int depth);

static NOINLINE void check(void)
{
    if (o->walks < wanted)
        oracle_check(o);
    sink++;
}

static NOINLINE void plain(int depth)
{
    node(depth);
    sink++;
}

static NOINLINE void big(int depth)
{
    volatile char room[5000];
    room[0] = 1;
    node(depth);
    sink += room[0];
}

static NOINLINE void many_registers(int depth)
{
    unsigned long a = sink, b = a * 3, c = b ^ a, d = c + 7, e = d * b, f = e - c;
    node(depth);
    sink += a + b * c + d * e + f;
}

static NOINLINE void dynamic(int depth)
{
    volatile char *room = alloca(16 + random_below(600));
    room[0] = 1;
    node(depth);
    sink += room[0];
}

static NOINLINE void variable(int depth)
{
    volatile long room[1 + random_below(30)];
    room[0] = 2;
    node(depth);
    sink += room[0];
}

static NOINLINE void realigned(int depth)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[0] = 3;
    node(depth);
    sink += room[0];
}

static NOINLINE void realigned_dynamic(int depth)
{
    volatile char room[32] __attribute__((aligned(32)));
    volatile char *more = alloca(16 + random_below(200));
    room[0] = more[0] = 4;
    node(depth);
    sink += room[0] + more[0];
}

static NOINLINE void tail(int depth)
{
    sink++;
    if (depth & 1)
        plain(depth);
    else
        variable(depth);
}

/* Eight arguments: some are pushed, and sp moves around the call. */
static NOINLINE void arguments(int depth, unsigned long a, long b, long c, long d, long e,
                               unsigned long f, long g)
{
    node(depth);
    sink += a + f + (unsigned long)(b + c + d + e + g);
}

static NOINLINE void pushes(int depth)
{
    arguments(depth, sink, 1, 2, 3, 4, sink, 6);
    sink++;
}

static int sort_depth;

static int compare(const void *a, const void *b)
{
    if (random_below(3) == 0)
        node(sort_depth);
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sorting(int depth)
{
    int numbers[3] = {3, 1, 2};
    int before = sort_depth;
    sort_depth = depth;
    qsort(numbers, 3, sizeof numbers[0], compare);
    sort_depth = before;
}

static int signal_depth;

static void handler(int number)
{
    (void)number;
    node(signal_depth);
}

static NOINLINE void signalled(int depth)
{
    int before = signal_depth;
    signal_depth = depth;
    raise(SIGUSR1);
    signal_depth = before;
}

static jmp_buf escapes[8];
static int escape_count;

static NOINLINE void jumping(int depth)
{
    if (escape_count == 8) {
        node(depth);
        return;
    }
    int mine = escape_count++;
    if (_setjmp(escapes[mine]) == 0)
        node(depth);
    escape_count = mine;
    check();
}

/* A coroutine runs a part of the graph of its own, switching back at times. */
static ucontext_t home, away;
static int away_on, inside_away;

static void coroutine(void)
{
    for (;;) {
        inside_away = 1;
        node(12);
        inside_away = 0;
        swapcontext(&away, &home);
    }
}

static NOINLINE void switching(int depth)
{
    if (away_on || depth < 2) {
        node(depth);
        return;
    }
    away_on = 1;
    swapcontext(&home, &away);
    away_on = 0;
    node(depth);
}

static void (*const kinds[])(int) = {
    plain,
    big,
    many_registers,
    dynamic,
    variable,
    realigned,
    realigned_dynamic,
    tail,
    pushes,
    plain,
    many_registers,
    dynamic,
    plain,
    sorting,
    jumping,
    signalled,
    switching,
};

static NOINLINE void node(int depth)
{
    for (uint32_t i = random_below(4) + 1; i > 0 && o->walks < wanted; i--) {
        uint32_t what = random_below(100);
        if (what < 25 || depth <= 0)
            check();
        else if (what < 27 && escape_count > 0 && !away_on && signal_depth == 0)
            _longjmp(escapes[escape_count - 1], 1);
        else
            kinds[random_below(sizeof kinds / sizeof kinds[0])](depth - 1 - (int)random_below(4));
        sink++;
    }
}

static void set_up(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
    const size_t bytes = 1 << 20;
    char *map = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGUSR1, &action, NULL);
    if (map == MAP_FAILED || mprotect(map + 4096, bytes, PROT_READ | PROT_WRITE) != 0)
        exit(2);
    getcontext(&away);
    away.uc_stack.ss_sp = map + 4096;
    away.uc_stack.ss_size = bytes;
    makecontext(&away, coroutine, 0);
    o = oracle_create();
    if (!o)
        exit(2);
}

int main(int argc, char **argv)
{
    wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    seed = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * UINT64_C(0x9e3779b97f4a7c15);
    set_up();
    while (o->walks < wanted && o->mismatches == 0) {
        const uint64_t start = seed;
        for (int again = 0; again < 3; again++) { /* its stacks are known then */
            seed = start;
            escape_count = 0;
            node((int)random_below(DEPTH_MAX));
        }
    }
    printf("%llu walks, %llu known before, %llu frames, %.1f %% shared, %llu guessed, %llu mismatches\n",
           (unsigned long long)o->walks, (unsigned long long)o->known, (unsigned long long)o->frames,
           100.0 * (double)o->shared / (double)o->frames, (unsigned long long)o->guessed,
           (unsigned long long)o->mismatches);
    int bad = o->mismatches != 0 || o->walks < wanted || o->shared == 0 || o->known == 0;
    oracle_destroy(o);
    return bad;
}

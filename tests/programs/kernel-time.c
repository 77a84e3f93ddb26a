/* kernel-time.c - host code in the kernel, of known CPU time, beside code that is not: a sample that comes in a system call is
 * taken as that ends, however long it lasts.
 *
 * In each gap between two calls that do nothing a function reads zeros in one system call and another computes, 2 : 1,
 * for about 30 ms and 3 ms together, each time for half to three halves of that: what repeats as the kernel's ticks do would meet
 * each at the same place (docs/sampling.md); then the same for as long in one gap. `kernel-time MS` uses MS of CPU time for each of
 * these; `kernel-time MS print` says what the thread's clock says of each function, one `NAME NANOSECONDS` per line.
 * tests/report/pieces_test.py compares the views with it.
 *
 * case: kernel-time 20 => kernel=1
 */
#include "guest.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static int zero, said;
static char *room;
static const size_t room_bytes = 16 << 20;

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The same memory again and again, so that none of it is touched for the first time. */
static KEPT void read_zeros(uint64_t bytes, const char *name)
{
    enum { PARTS = 256 };
    struct iovec parts[PARTS];
    int count = 0;
    __asm__ volatile("" : : "r"(name));
    for (; bytes && count < PARTS; count++) {
        parts[count] = (struct iovec){room, bytes < room_bytes ? bytes : room_bytes};
        bytes -= parts[count].iov_len;
    }
    if (syscall(SYS_readv, zero, parts, count) < 0) /* not the C library's, which Sonde has as a wait */
        abort();
}

static KEPT void compute(long turns)
{
    double x = sink;
    for (long i = 0; i < turns; i++)
        x = x * 0.999999 + 1.0 / (1.0 + x * x);
    sink = x;
}

static double bytes_per_us, turns_per_us;
static uint32_t random_now = 1;

/* Each length has functions of its own; the work is theirs, whoever does it. */
#define LENGTH(name, us, calls)                                                \
    static KEPT void kernel_##name(double part)                                \
    {                                                                          \
        read_zeros((uint64_t)(bytes_per_us * us * part * 2 / 3), "kernel_" #name); \
        __asm__ volatile("" : : : "memory"); /* no tail call */                \
    }                                                                          \
    static KEPT void user_##name(double part)                                  \
    {                                                                          \
        compute((long)(turns_per_us * us * part / 3));                         \
        __asm__ volatile("" : : "r"("user_" #name) : "memory");                \
    }                                                                          \
    static KEPT void gaps_##name(struct guest *g, uint64_t ns)                 \
    {                                                                          \
        uint64_t used[2] = {0};                                                \
        while (used[0] + used[1] < ns) {                                       \
            random_now = random_now * 1664525u + 1013904223u;                  \
            const double part = .5 + (random_now >> 8) / 16777216.;            \
            const uint64_t begin = cpu_ns();                                   \
            kernel_##name(part);                                               \
            const uint64_t middle = cpu_ns();                                  \
            user_##name(part);                                                 \
            used[0] += middle - begin;                                         \
            used[1] += cpu_ns() - middle;                                      \
            if (calls)                                                         \
                CL(clFlush(g->queue));                                         \
        }                                                                      \
        if (!calls)                                                            \
            CL(clFlush(g->queue));                                             \
        if (said)                                                              \
            printf("kernel_" #name " %llu\nuser_" #name " %llu\n", (unsigned long long)used[0], (unsigned long long)used[1]); \
    }
LENGTH(long, 30000, 1)
LENGTH(short, 3000, 1)
LENGTH(alone, 30000, 0)

int main(int argc, char **argv)
{
    const uint64_t ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 800) * 1000000;
    size_t items = GUEST_ITEMS;
    said = argc > 2;
    zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (zero < 0 || room == MAP_FAILED)
        return 1;
    struct guest g;
    guest_open(&g);
    CL(clEnqueueNDRangeKernel(g.queue, g.spin, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clFinish(g.queue));
    compute(1000000);
    read_zeros(8 * room_bytes, "");
    const uint64_t begin = cpu_ns();
    compute(10000000);
    const uint64_t middle = cpu_ns();
    read_zeros(32 * room_bytes, "");
    turns_per_us = 10000000 / ((double)(middle - begin) / 1000);
    bytes_per_us = 32.0 * (double)room_bytes / ((double)(cpu_ns() - middle) / 1000);
    gaps_long(&g, ns);
    gaps_short(&g, ns);
    gaps_alone(&g, ns);
    guest_close(&g);
    return 0;
}

/* made.c - code that is made while the program runs, named by /tmp/perf-PID.map as just-in-time compilers do.
 *
 *     made names [stranger|link|old]   two made functions use CPU time 3 : 1, a third calls OpenCL; with a word
 *                                      the map is another user's, a link, or from long before
 *     made many N                      N made functions call OpenCL once each
 *
 * Prints `pid N`, and with `names` the CPU time of each made function.
 */
#include "../programs/guest.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#ifdef __x86_64__

static struct guest g;
static unsigned char *code, *end;
static FILE *map;
static char map_path[64];

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *make(const unsigned char *bytes, size_t count, const char *name)
{
    void *at = end;
    memcpy(end, bytes, count);
    if (map)
        fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, count, name);
    end += (count + 15) & ~(size_t)15;
    return at;
}

/* void spin(uint64_t rounds); void call(void (*function)(void)) */
static const unsigned char spin[] = {
    0x55, 0x48, 0x89, 0xe5,       /* push %rbp; mov %rsp, %rbp */
    0x48, 0xff, 0xcf, 0x75, 0xfb, /* again: dec %rdi; jnz again */
    0x5d, 0xc3,                   /* pop %rbp; ret */
};
static const unsigned char call[] = {
    0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
    0xff, 0xd7,             /* call *%rdi */
    0x5d, 0xc3,             /* pop %rbp; ret */
};

static void launch(void)
{
    guest_add(&g, 1);
}

static void ask(void)
{
    cl_uint units;
    CL(clGetDeviceInfo(g.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    CL(clFlush(g.queue));
}

static uint64_t spend(void (*function)(uint64_t), uint64_t ns)
{
    const uint64_t begin = cpu_ns();
    while (cpu_ns() - begin < ns)
        function(200000);
    return cpu_ns() - begin;
}

static void names(void)
{
    void (*step)(uint64_t), (*multiply)(uint64_t), (*launcher)(void (*)(void));
    *(void **)&step = make(spin, sizeof spin, "stale"); /* code moves: the last name counts */
    *(void **)&multiply = make(spin, sizeof spin, "JS:*multiply /home/user/matrix.js:10:21");
    *(void **)&launcher = make(call, sizeof call, "_RNvC7mycrate8launcher");
    fprintf(map, "nonsense\n%lx %zx solver step<float>\n", (unsigned long)(uintptr_t)step, sizeof spin);
    fflush(map);
    launcher(launch);
    const uint64_t a = spend(step, 600000000), b = spend(multiply, 200000000);
    launcher(launch);
    printf("step %llu\nmultiply %llu\n", (unsigned long long)a, (unsigned long long)b);
}

static void many(int count)
{
    for (int i = 0; i < count; i++) {
        void (*asker)(void (*)(void));
        *(void **)&asker = make(call, sizeof call, "many");
        asker(ask);
    }
}

static void open_map(const char *how)
{
    char other[80];
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
    snprintf(other, sizeof other, "%s.other", map_path);
    unlink(map_path); /* of an older process with this number */
    unlink(other);
    const char *path = strcmp(how, "link") == 0 ? other : map_path;
    map = fopen(path, "w");
    if (!map || (path == other && symlink(other, map_path)))
        exit(2);
    setvbuf(map, NULL, _IOFBF, 1 << 16);
    if (strcmp(how, "stranger") == 0 && fchown(fileno(map), 12345, 12345)) {
        puts("skipped: only root can give a file to another user");
        exit(77);
    }
}

int main(int argc, char **argv)
{
    const size_t room = 64u << 20;
    const char *how = argc > 2 ? argv[2] : "";
    guest_open(&g);
    guest_add(&g, 1);
    code = end = mmap(NULL, room, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        puts("skipped: this system lets no program make code");
        return 77;
    }
    open_map(how);
    if (argc > 2 && strcmp(argv[1], "many") == 0)
        many(atoi(argv[2]));
    else
        names();
    printf("pid %d\n", (int)getpid());
    fclose(map);
    if (strcmp(how, "old") == 0) {
        const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
        utimensat(AT_FDCWD, map_path, long_ago, 0);
    }
    guest_close(&g);
    return 0;
}

#else
int main(void)
{
    puts("skipped: the code that it makes is for x86-64");
    return 77;
}
#endif

/* surprises.c - what a program can see of itself: environment, errno, threads, signals, symbols.
 *
 * Everything printed is compared with a run without Sonde. What may differ is
 * left out here by name, and each such name stands in docs/transparency.md:
 * LD_PRELOAD and OPENCL_LAYERS (longer by Sonde's entry), SONDE_* and the two
 * variables by which CUDA and NVTX load a tool.
 *
 * case: environment environment => kernel=10 read=1
 * case: environment-of-child child-environment => kernel=60 read=2
 * case: own-layers-and-preload own => kernel=10 read=1 ; own-layer
 * case: errno errno => kernel=1000 read=1
 * case: state state => kernel=100 read=1
 * case: symbols symbols => kernel=10 read=1
 * case: no-opencl none => nothing
 * case: environment-cleared clear => kernel=10 read=1
 * case: setenv-storm storm => kernel=10 read=1
 * case: math-state math => kernel=1000 read=1
 * case: no-children children => kernel=100 read=1
 */
#include "guest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

extern char       **environ;
static struct guest g;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int documented(const char *entry)
{
    static const char *const names[] = {"SONDE_", "LD_PRELOAD=", "OPENCL_LAYERS=", "CUDA_INJECTION64_PATH=",
                                        "NVTX_INJECTION64_PATH=", "NCCL_PROFILER_PLUGIN="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

static void print_environment(void)
{
    char *sorted[1024];
    int   count = 0;
    for (char **entry = environ; *entry && count < 1024; entry++)
        if (!documented(*entry))
            sorted[count++] = *entry;
    qsort(sorted, (size_t)count, sizeof *sorted, by_text);
    for (int i = 0; i < count; i++)
        printf("%s\n", sorted[i]);
    fflush(stdout);
}

static void work(int count)
{
    guest_open(&g);
    guest_add(&g, count);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

static void environment(void)
{
    print_environment();
    work(10);
    print_environment();
}

static void child_environment(void)
{
    work(10);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {(char *)"child", (char *)"in-child", NULL};
        execv("/proc/self/exe", argv);
        _exit(9);
    }
    guest_wait(pid, "child");
}

static void in_child(void)
{
    print_environment();
    work(50);
}

/* The user's own layer (the counting layer) must be there, before and after the runtime started. */
static void own(void)
{
    const char *layers = getenv("OPENCL_LAYERS");
    work(10);
    size_t length = layers ? strlen(layers) : 0;
    printf("own layer still named: %s\n", length > 11 && strcmp(layers + length - 11, "counting.so") == 0 ? "yes" : "no");
}

static void errno_kept(void)
{
    int changed = 0;
    guest_open(&g);
    guest_add(&g, 10);
    CL(clFinish(g.queue));
    for (int i = 0; i < 990; i++) {
        errno = 1000 + i;
        guest_add(&g, 1);
        if (i % 10 == 0)
            CL(clFlush(g.queue));
        changed += errno != 1000 + i;
    }
    errno = 0;
    printf("errno changed %d times, ran %d\n", changed, guest_read(&g));
    guest_close(&g);
}

static void print_status_lines(void)
{
    static const int handled[] = {SIGURG, SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGTERM};
    unsigned long long ours = 0;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        ours |= 1ull << (handled[i] - 1);
    static const char *const wanted[] = {"Umask:", "Uid:", "Groups:", "SigQ:", "SigPnd:", "ShdPnd:", "SigBlk:",
                                         "SigIgn:", "SigCgt:", "CapEff:", "NoNewPrivs:", "Seccomp:",
                                         "CoreDumping:", "THP_enabled:"};
    char  line[512];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, "SigCgt:", 7) == 0 && strcmp(wanted[i], "SigCgt:") == 0) /* samples: docs/transparency.md */
                printf("SigCgt:\t%016llx\n", strtoull(line + 7, NULL, 16) & ~ours);
            else if (strncmp(line, wanted[i], strlen(wanted[i])) == 0 && strcmp(wanted[i], "SigQ:") != 0)
                printf("%s", line);
    if (file)
        fclose(file);
}

static void state(void)
{
    char          name[17] = "", folder[4096];
    stack_t       stack;
    struct rlimit limit;
    struct sigaction action;
    work(100);
    print_status_lines();
    prctl(PR_GET_NAME, name);
    printf("name %s, dumpable %d\n", name, prctl(PR_GET_DUMPABLE));
    sigaltstack(NULL, &stack);
    printf("alternate stack flags %d, folder %s\n", stack.ss_flags, getcwd(folder, sizeof folder) ? "known" : "lost");
    for (int what = 0; what < RLIM_NLIMITS; what++) {
        getrlimit((__rlimit_resource_t)what, &limit);
        printf("limit %d: %ld %ld\n", what, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    for (int number = 1; number < 65; number++)
        if (sigaction(number, NULL, &action) == 0)
            printf("signal %d: %s flags %x\n", number,
                   action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handler",
                   (unsigned)action.sa_flags);
    printf("standard streams: %d %d %d\n", fileno(stdin), fileno(stdout), fileno(stderr));
}

/* Which library answers for names that a tool might carry along. */
static void symbols(void)
{
    static const char *const names[] = {"backtrace", "_Unwind_Backtrace", "_Unwind_Resume", "unw_backtrace",
                                        "ZSTD_compress", "XXH64", "json_loads", "dwfl_begin", "elf_begin", "malloc",
                                        "dlopen", "fork", "sigprocmask", "clInitLayer",
                                        "clGetLayerInfo"};
    work(10);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void   *found = dlsym(RTLD_DEFAULT, names[i]);
        Dl_info info = {0};
        if (found)
            dladdr(found, &info);
        const char *base = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
        printf("%s: %s\n", names[i], base ? base + 1 : found ? "somewhere" : "nowhere");
    }
}

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int  count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static void none(void)
{
    usleep(50000);
    printf("threads %d, descriptors %d\n", entries("/proc/self/task"), entries("/proc/self/fd"));
    print_status_lines();
}

static void clear(void)
{
    char *argv[] = {(char *)"child", (char *)"in-child-bare", NULL};
    char  cache[4200];
    snprintf(cache, sizeof cache, "POCL_CACHE_DIR=%s", getenv("POCL_CACHE_DIR"));
    char *bare[] = {(char *)"PATH=/usr/bin:/bin", cache, NULL};
    work(10);
    fflush(stdout);
    execve("/proc/self/exe", argv, bare);
}

static void storm(void)
{
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "STORM_%d", i);
        setenv(name, "x", 1);
    }
    work(10);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "STORM_%d", i);
        unsetenv(name);
    }
    print_environment();
}

/* Rounding and exception flags live in registers that a careless hook could leave changed. */
static void math(void)
{
    int changed = 0;
    guest_open(&g);
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 1000; i++) {
        guest_add(&g, 1);
        changed += fegetround() != FE_UPWARD;
    }
    printf("rounding changed %d times\n", changed);
    fesetround(FE_TONEAREST);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

static void children(void)
{
    int status = 0;
    work(100);
    int gave = (int)wait(&status);
    printf("wait gave %d: %s\n", gave, strerror(errno));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"environment", environment}, {"child-environment", child_environment}, {"in-child", in_child},
                 {"own", own}, {"errno", errno_kept}, {"state", state}, {"symbols", symbols}, {"none", none},
                 {"clear", clear}, {"in-child-bare", in_child}, {"storm", storm}, {"math", math},
                 {"children", children}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    return 0;
}

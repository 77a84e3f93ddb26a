/* state.c - prints what a program inherits: the same with and without `sonde record`, or record is no good guest. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_signals(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0)
            continue;
        printf("signal %d %s %s\n", i, action.sa_handler == SIG_DFL ? "default" : (action.sa_handler == SIG_IGN ? "ignored" : "handled"),
               sigismember(&mask, i) ? "blocked" : "open");
    }
    sigset_t pending;
    sigpending(&pending);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&pending, i))
            printf("pending %d\n", i);
}

static void print_descriptors(void)
{
    for (int fd = 0; fd < 4096; fd++) {
        int flags = fcntl(fd, F_GETFD);
        struct stat st;
        if (flags < 0 || fstat(fd, &st) != 0)
            continue;
        printf("descriptor %d flags %d status %d at %lld\n", fd, flags, fcntl(fd, F_GETFL), (long long)lseek(fd, 0, SEEK_CUR));
    }
}

static void print_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
            printf("limit %d %lld %lld\n", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
}

int main(int argc, char **argv)
{
    char folder[4096];
    mode_t mask = umask(0);
    for (int i = 0; i < argc; i++)
        printf("argument %s\n", argv[i]);
    print_signals();
    print_descriptors();
    print_limits();
    int death = 0, reaper = 0;
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    printf("umask %o, nice %d, folder %s, user %d %d, group %d %d\n", mask, getpriority(PRIO_PROCESS, 0),
           getcwd(folder, sizeof folder), (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid());
    printf("death signal %d, subreaper %d, dumpable %d\n", death, reaper, prctl(PR_GET_DUMPABLE));
    printf("session leader %d\n", getsid(0) == getpid());
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "SONDE", 5) != 0 && strncmp(*entry, "OPENCL_LAYERS", 13) != 0 &&
            strncmp(*entry, "LD_PRELOAD", 10) != 0 && !strstr(*entry, "_INJECTION64_PATH=") &&
            strncmp(*entry, "NCCL_PROFILER_PLUGIN=", 21) != 0)
            printf("environment %s\n", *entry);
    return 0;
}

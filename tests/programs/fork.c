/* fork.c - children made by fork, with and without exec.
 *
 * Using OpenCL in a forked child of a parent that uses it is not allowed by
 * any implementation, so children here use it only after exec, or when the
 * parent had not touched it yet.
 *
 * case: child-without-opencl plain => kernel=200 read=2
 * case: child-runs-exit-handlers exit => kernel=200 read=2
 * case: child-execs exec => kernel=250 read=3
 * case: child-first child-first => kernel=150 read=2
 * case: many many => kernel=200 read=2
 * case: fork-while-enqueuing busy => kernel=4000 read=1
 * case: grandchild grandchild => kernel=250 read=3
 */
#include "guest.h"

#include <pthread.h>

static struct guest g;

static void at_exit_handler(void)
{
    printf("exit handler\n");
}

static void child(const char *kind, char *self)
{
    char  work[] = "work";
    char *argv[] = {self, work, NULL};
    if (strcmp(kind, "exec") == 0)
        execv("/proc/self/exe", argv);
    if (strcmp(kind, "grandchild") == 0) {
        pid_t pid = fork();
        if (pid == 0)
            execv("/proc/self/exe", argv);
        guest_wait(pid, "grandchild");
    }
    if (strcmp(kind, "exit") == 0) {
        printf("child goes through exit\n");
        exit(5);
    }
    if (write(1, "child\n", 6) != 6)
        _exit(9);
    _exit(4);
}

static void around(const char *kind, char *self, int children)
{
    guest_open(&g);
    guest_add(&g, 100);
    printf("before: ran %d\n", guest_read(&g));
    fflush(stdout);
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child(kind, self);
        guest_wait(pid, "child");
    }
    guest_add(&g, 100);
    printf("after: ran %d\n", guest_read(&g));
    guest_close(&g);
}

static void child_first(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        guest_work(50);
        fflush(stdout);
        _exit(0);
    }
    guest_wait(pid, "child");
    guest_work(100);
}

static void *keep_enqueuing(void *arg)
{
    for (int i = 0; i < 40; i++) {
        guest_add(&g, 50);
        CL(clFinish(g.queue));
    }
    return arg;
}

static void busy(void)
{
    pthread_t threads[2];
    guest_open(&g);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, keep_enqueuing, NULL);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(i == 7 ? 77 : 0);
        int status = 0;
        waitpid(pid, &status, 0);
        if (WEXITSTATUS(status) != (i == 7 ? 77 : 0))
            printf("child %d ended with %d\n", i, status);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "plain";
    if (strcmp(kind, "work") == 0) {
        guest_work(50);
        return 6;
    }
    atexit(at_exit_handler);
    if (strcmp(kind, "child-first") == 0)
        child_first();
    else if (strcmp(kind, "busy") == 0)
        busy();
    else
        around(kind, argv[0], strcmp(kind, "many") == 0 ? 30 : 1);
    return 0;
}

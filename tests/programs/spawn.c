/* spawn.c - children made by vfork, posix_spawn, system and popen.
 *
 * case: vfork-exec vfork => kernel=250 read=3
 * case: vfork-exit vfork-exit => kernel=200 read=2
 * case: posix-spawn spawn => kernel=250 read=3
 * case: system system => kernel=250 read=3
 * case: popen popen => kernel=250 read=3
 * case: clone3-style-spawn-before-opencl early => kernel=150 read=2
 */
#include "guest.h"

#include <spawn.h>

extern char **environ;
static char   work[] = "work";

static void vforked(char *self, int do_exec)
{
    char *argv[] = {self, work, NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        if (do_exec)
            execv("/proc/self/exe", argv);
        _exit(8);
    }
    guest_wait(pid, "vforked child");
}

static void spawned(char *self)
{
    char                      *argv[] = {self, work, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attributes;
    sigset_t                   none;
    pid_t                      pid = 0;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawn(&pid, self, &actions, &attributes, argv, environ);
    if (error)
        printf("posix_spawn gave %d\n", error);
    else
        guest_wait(pid, "spawned child");
}

static void shell(char *self, int piped)
{
    char command[4200], line[128];
    snprintf(command, sizeof command, "%s work", self);
    if (!piped) {
        printf("system gave %d\n", system(command));
        return;
    }
    FILE *pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        printf("through the pipe: %s", line);
    printf("pclose gave %d\n", pipe ? pclose(pipe) : -1);
}

static void child(const char *kind, char *self)
{
    if (strncmp(kind, "vfork", 5) == 0)
        vforked(self, kind[5] == '\0');
    else if (strcmp(kind, "system") == 0 || strcmp(kind, "popen") == 0)
        shell(self, kind[0] == 'p');
    else
        spawned(self);
}

int main(int argc, char **argv)
{
    const char  *kind = argc > 1 ? argv[1] : "spawn";
    struct guest g;
    if (strcmp(kind, "work") == 0) {
        guest_work(50);
        return 6;
    }
    if (strcmp(kind, "early") == 0) {
        child(kind, argv[0]);
        guest_work(100);
        return 0;
    }
    guest_open(&g);
    guest_add(&g, 100);
    printf("before: ran %d\n", guest_read(&g));
    fflush(stdout);
    child(kind, argv[0]);
    guest_add(&g, 100);
    printf("after: ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}

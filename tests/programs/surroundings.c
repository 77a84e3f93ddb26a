/* surroundings.c - folder, umask, rights and root folder change under the tool.
 * Under umask 0777 only root's PoCL can read its own cache.
 *
 * case: chdir-root-before chdir-before => kernel=100 read=1 ; relative-out
 * case: chdir-after chdir-after => kernel=200 read=2 ; relative-out
 * case: folder-deleted rmdir => kernel=200 read=2 ; relative-out
 * case: umask-before umask-before => kernel=200 read=2 ; needs=root
 * case: umask-after umask-after => kernel=200 read=2
 * case: nobody-after nobody-after => kernel=200 read=2 ; needs=root
 * case: nobody-before nobody-before => any ; needs=root ; own-cache
 * case: chroot-after chroot => kernel=200 read=2 ; needs=root
 * case: new-session session => kernel=200 read=2
 * case: low-priority nice => kernel=200 read=2
 */
#include "guest.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void change(const char *kind)
{
    char where[4096];
    if (strncmp(kind, "chdir", 5) == 0) {
        int gave = chdir("/");
        printf("chdir gave %d, now in %s\n", gave, getcwd(where, sizeof where));
    } else if (strcmp(kind, "rmdir") == 0) {
        int made = mkdir("gone", 0755), entered = chdir("gone"), removed = rmdir("../gone");
        printf("deleted folder: %d %d %d, getcwd %s\n", made, entered, removed,
               getcwd(where, sizeof where) ? "works" : "fails");
    } else if (strncmp(kind, "umask", 5) == 0) {
        printf("umask was %03o\n", (unsigned)umask(0777));
    } else if (strncmp(kind, "nobody", 6) == 0) {
        int groups = setgroups(0, NULL), gid = setgid(65534), uid = setuid(65534);
        printf("nobody: %d %d %d, uid %d\n", groups, gid, uid, (int)getuid());
    } else if (strcmp(kind, "chroot") == 0) {
        int made = mkdir("jail", 0755), rooted = chroot("jail"), entered = chdir("/");
        printf("chroot: %d %d %d\n", made, rooted, entered);
    } else if (strcmp(kind, "session") == 0) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid > 0) {
            int status = 0;
            waitpid(pid, &status, 0);
            _exit(WEXITSTATUS(status));
        }
        printf("new session: %s\n", setsid() == getpid() ? "yes" : "no");
    } else if (strcmp(kind, "nice") == 0) {
        printf("nice gave %d\n", nice(5));
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char  *kind = argc > 1 ? argv[1] : "";
    int          before = strstr(kind, "before") || strcmp(kind, "session") == 0;
    struct guest g;
    if (before)
        change(kind);
    guest_open(&g);
    guest_add(&g, 100);
    printf("ran %d\n", guest_read(&g));
    if (!before)
        change(kind);
    if (strcmp(kind, "chdir-before") != 0 && strcmp(kind, "nobody-before") != 0) {
        usleep(50000);
        guest_add(&g, 100);
        printf("ran %d\n", guest_read(&g));
    }
    if (strncmp(kind, "umask", 5) == 0)
        printf("umask is %03o\n", (unsigned)umask(022));
    printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
    guest_close(&g);
    return 0;
}

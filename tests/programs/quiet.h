/* quiet.h - wait until nothing of the runtime goes on in this process.
 *
 * A runtime's thread lets go of a finished operation a moment after the wait
 * for it ends. How long a moment is, is the machine's business: while another
 * thread of the process runs, or would run if it were let, there is something
 * to wait for.
 */
#ifndef QUIET_H
#define QUIET_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int quiet_sleeps(const char *task)
{
    char  path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1; /* it has ended */
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    const char *state = strrchr(line, ')'); /* the name before it may hold anything */
    return !state || strchr("SZXIt", state[2]) != NULL;
}

static inline int quiet_now(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int  all = 1;
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        if (entry->d_name[0] != '.' && atol(entry->d_name) != syscall(SYS_gettid))
            all &= quiet_sleeps(entry->d_name);
    if (tasks)
        closedir(tasks);
    return all;
}

/* Ten looks in a row, so that threads that hand work to each other are not missed. */
static inline void quiet_wait(void)
{
    for (int looks = 0, naps = 0; looks < 10 && naps < 60000; naps++) {
        usleep(2000);
        looks = quiet_now() ? looks + 1 : 0;
    }
}

#endif

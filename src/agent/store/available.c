/* available.c - how much memory the program could still have: what the machine has available, and in control groups what is left of
 * their limits (the kernel's Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
 *
 * A file that was read and is kept in memory counts as available in a group, too, unless it is in use: as it does in MemAvailable.
 */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512 }; /* on the stacks of the program's threads */

struct hierarchy { /* of control groups, and its files */
    const char *folder, *limit, *usage, *stat, *kept;
};
static const struct hierarchy first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file "};
static const struct hierarchy second = {"/sys/fs/cgroup", "memory.max", "memory.current", "memory.stat", "inactive_file "};

/* The number behind `name`, with which a line begins. UINT64_MAX: it is none (no limit: "max"), or there is no such line. */
static uint64_t number_of(const char *text, const char *name)
{
    char *end;
    while (*text && strncmp(text, name, strlen(name)) != 0) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    if (!*text)
        return UINT64_MAX;
    text += strlen(name);
    const uint64_t value = strtoull(text, &end, 10);
    return end == text ? UINT64_MAX : value;
}

/* The same, in a file. */
static uint64_t number_at(const char *root, const char *folder, const char *group, const char *file, const char *name)
{
    char path[PATH_BYTES], text[2048];
    const int length = snprintf(path, sizeof path, "%s%s%s/%s", root, folder, group, file);
    if (length < 0 || (size_t)length >= sizeof path || !sonde__files_read(path, text, sizeof text))
        return UINT64_MAX;
    return number_of(text, name);
}

static uint64_t left_in(const char *root, const struct hierarchy *h, const char *group)
{
    const uint64_t limit = number_at(root, h->folder, group, h->limit, "");
    if (limit == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = number_at(root, h->folder, group, h->usage, "");
    const uint64_t kept = number_at(root, h->folder, group, h->stat, h->kept);
    used -= kept < used ? kept : 0;
    return used < limit ? limit - used : 0;
}

/* Limits are of a group and of all that it is in. A group that cannot be seen from here, as in a container, has its own at the top. */
static uint64_t left_above(const char *root, const struct hierarchy *h, const char *path, size_t length)
{
    char group[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    if (length >= sizeof group)
        return UINT64_MAX;
    memcpy(group, path, length);
    for (group[length] = 0;;) {
        char *slash = strrchr(group, '/');
        if (slash && !slash[1]) { /* "/": the top itself */
            *slash = 0;
            continue;
        }
        const uint64_t left = left_in(root, h, group);
        least = left < least ? left : least;
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* A line is NUMBER:CONTROLLERS:GROUP; of the second version there are no controllers. */
static const struct hierarchy *hierarchy_of(const char *controllers, size_t length)
{
    static const char memory[] = "memory";
    if (!length)
        return &second;
    for (size_t at = 0; at < length; at += strcspn(controllers + at, ",:") + 1)
        if (strcspn(controllers + at, ",:") == sizeof memory - 1 && strncmp(controllers + at, memory, sizeof memory - 1) == 0)
            return &first;
    return NULL;
}

static uint64_t left_in_groups(const char *root)
{
    char text[4096], path[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    const int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path)
        return UINT64_MAX;
    sonde__files_read(path, text, sizeof text);
    for (const char *line = text; *line;) {
        const size_t bytes = strcspn(line, "\n");
        const char *controllers = memchr(line, ':', bytes);
        const char *group = controllers ? memchr(controllers + 1, ':', bytes - (size_t)(controllers + 1 - line)) : NULL;
        const struct hierarchy *h = group ? hierarchy_of(controllers + 1, (size_t)(group - controllers - 1)) : NULL;
        const uint64_t left = h ? left_above(root, h, group + 1, bytes - (size_t)(group + 1 - line)) : UINT64_MAX;
        least = left < least ? left : least;
        line += bytes + (line[bytes] == '\n');
    }
    return least;
}

uint64_t sonde__memory_available(const char *root)
{
    const int saved = errno;
    const uint64_t kib = number_at(root, "/proc", "", "meminfo", "MemAvailable:"), left = left_in_groups(root);
    errno = saved;
    if (kib > UINT64_MAX / 1024)
        return 0;
    return 1024 * kib < left ? 1024 * kib : left;
}

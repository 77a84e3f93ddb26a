/* descriptors.c - closes every descriptor and opens files of its own.
 *
 * A tool that keeps a number would now write into the program's files. After
 * more work and a pause long enough for any flush, each file is compared byte
 * for byte, and so is the list of open descriptors. Results go to the file
 * `result`, which the runner compares like the output.
 *
 * case: all-closed all => kernel=4000 read=2
 * case: all-but-output-closed high => kernel=4000 read=2
 * case: close_range range => kernel=4000 read=2
 * case: closed-before-opencl before => kernel=2000 read=1
 * case: standard-three-closed standard => kernel=4000 read=2
 * case: listed listed => kernel=2000 read=1
 * case: moved-by-dup2 dup2 => kernel=4000 read=2
 */
#include "guest.h"

#include <dirent.h>
#include <fcntl.h>

enum { FILES = 100, SIZE = 3000 };

static char content(int file, int at)
{
    return (char)('a' + (file * 7 + at) % 26);
}

static int own_file(int number)
{
    char path[32], bytes[SIZE];
    snprintf(path, sizeof path, "own-%03d", number);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = content(number, i);
    if (fd < 0 || write(fd, bytes, SIZE) != SIZE)
        return -1;
    return fd;
}

static int intact(int fd, int number)
{
    char bytes[SIZE + 1];
    if (lseek(fd, 0, SEEK_CUR) != SIZE || pread(fd, bytes, SIZE + 1, 0) != SIZE)
        return 0;
    for (int i = 0; i < SIZE; i++)
        if (bytes[i] != content(number, i))
            return 0;
    return 1;
}

static void close_all(const char *kind)
{
    int first = strcmp(kind, "high") == 0 ? 3 : 0, last = strcmp(kind, "standard") == 0 ? 2 : 1023;
    if (strcmp(kind, "range") == 0)
        close_range(0, ~0U, 0);
    else
        for (int fd = first; fd <= last; fd++)
            close(fd);
}

/* Every open descriptor but the one that lists them. */
static void list(FILE *out)
{
    DIR *folder = opendir("/proc/self/fd");
    char name[4096], path[300];
    int  count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || fd == dirfd(folder))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, name, sizeof name - 1);
        name[length > 0 ? length : 0] = '\0';
        char *base = strrchr(name, '/');
        if (base && strncmp(base, "/own-", 5) == 0)
            fprintf(out, "%d -> %s\n", fd, base);
        count++;
    }
    fprintf(out, "%d descriptors\n", count);
    if (folder)
        closedir(folder);
}

static void files_survive(struct guest *g, const char *kind)
{
    int fds[FILES], damaged = 0;
    for (int i = 0; i < FILES; i++)
        fds[i] = own_file(i);
    if (strcmp(kind, "dup2") == 0)
        for (int fd = 200; fd < 1000; fd += 50)
            dup2(fds[0], fd);
    if (strcmp(kind, "before") == 0)
        guest_open(g);
    guest_add(g, 2000);
    int ran = guest_read(g);
    usleep(300000);
    for (int i = 0; i < FILES; i++)
        damaged += !intact(fds[i], i);
    FILE *out = fopen("result", "w");
    if (!out)
        _exit(9);
    fprintf(out, "ran %d, first own descriptor %d, damaged %d\n", ran, fds[0], damaged);
    list(out);
    fclose(out);
}

int main(int argc, char **argv)
{
    const char  *kind = argc > 1 ? argv[1] : "all";
    struct guest g;
    if (strcmp(kind, "listed") == 0) {
        guest_open(&g);
        guest_add(&g, 2000);
        printf("ran %d\n", guest_read(&g));
        usleep(100000);
        list(stdout);
        return 0;
    }
    if (strcmp(kind, "before") != 0) {
        guest_open(&g);
        guest_add(&g, 2000);
        if (guest_read(&g) != 2000)
            return 8;
    }
    close_all(kind);
    files_survive(&g, kind);
    return 0;
}

/* file.c - see file.h. */
#include "guest/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/memory.h"

static char *read_all(int fd, size_t size)
{
    char *bytes = sonde__pages_get(size + 1);
    size_t got = 0;
    for (long n = 1; bytes && got < size && n > 0; got += n > 0 ? (size_t)n : 0)
        n = syscall(SYS_read, fd, bytes + got, size - got);
    if (bytes && got < size) {
        sonde__pages_put(bytes, size + 1);
        bytes = NULL;
    }
    return bytes;
}

struct sonde_file sonde__file_get(int folder, const char *path, size_t most)
{
    struct sonde_file f = {0};
    struct stat s;
    const int fd = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return f;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 && (size_t)s.st_size <= most) {
        f.size = (size_t)s.st_size;
        f.bytes = read_all(fd, f.size);
    }
    syscall(SYS_close, fd);
    return f;
}

void sonde__file_put(struct sonde_file *f)
{
    sonde__pages_put(f->bytes, f->size + 1);
    *f = (struct sonde_file){0};
}

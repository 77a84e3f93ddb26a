/* memory.c - see memory.h. */
#include "guest/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "guest/lock.h"
#include "guest/process.h"

#define CHUNK_BYTES 65536u

static struct {
    struct sonde_lock lock;
    char *next;
    size_t left;
    uint32_t process; /* whose chunk it is */
} chunk;

void *sonde__pages_get(size_t bytes)
{
    const int saved = errno;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return pages == MAP_FAILED ? NULL : pages;
}

void sonde__pages_put(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

void *sonde__memory_get(size_t bytes)
{
    char *memory = NULL, *fresh;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > CHUNK_BYTES / 4)
        return sonde__pages_get(bytes);
    sonde__lock(&chunk.lock);
    if (chunk.process != sonde__process()) { /* a thread of the parent may have been at it */
        chunk.process = sonde__process();
        chunk.left = 0;
    }
    if (chunk.left < bytes && (fresh = sonde__pages_get(CHUNK_BYTES))) {
        chunk.next = fresh;
        chunk.left = CHUNK_BYTES;
    }
    if (chunk.left >= bytes) {
        memory = chunk.next;
        chunk.next += bytes;
        chunk.left -= bytes;
    }
    sonde__unlock(&chunk.lock);
    return memory;
}

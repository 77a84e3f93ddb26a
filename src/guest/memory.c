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

/* What was got and not given back. Without a lock: a sample's handler may get some, too. What finds no place stays when the others go. */
#define PLACES 8192u
#define TRIES    64u
static struct place {
    void *_Atomic pages;
    size_t bytes;
} places[PLACES];
static _Atomic uint32_t next_place;

static void note(void *pages, size_t bytes)
{
    for (unsigned n = 0; n < TRIES; n++) {
        struct place *p = &places[atomic_fetch_add_explicit(&next_place, 1, memory_order_relaxed) % PLACES];
        void *none = NULL;
        if (atomic_compare_exchange_strong(&p->pages, &none, pages)) {
            p->bytes = bytes;
            return;
        }
    }
}

void *sonde__pages_get(size_t bytes)
{
    const int saved = errno;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (pages == MAP_FAILED)
        return NULL;
    note(pages, bytes);
    return pages;
}

void sonde__pages_put(void *pages, size_t bytes)
{
    if (!pages)
        return;
    for (uint32_t i = 0; i < PLACES; i++) {
        void *mine = pages; /* given up before it is unmapped: another thread may get the same address at once */
        if (atomic_load_explicit(&places[i].pages, memory_order_relaxed) == pages && atomic_compare_exchange_strong(&places[i].pages, &mine, NULL))
            break;
    }
    munmap(pages, bytes);
}

void sonde__pages_keep(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        atomic_store(&places[i].pages, NULL);
}

void sonde__pages_put_all(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].pages))
            munmap(places[i].pages, places[i].bytes);
    sonde__pages_keep();
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

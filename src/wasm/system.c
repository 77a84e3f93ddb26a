/* system.c - what readers and views need of a system that WASI's C library has not, or has in another way.
 *
 * Threads: tasks are done one after the other, in their order (base/parallel.h, base/stack.h).
 *
 * Sorting: glibc's qsort keeps the order of what is equal, that of WASI's C library does not. Where a comparison leaves the order
 * open, an answer here must still be the one that `sonde report` has: so this one merges (Knuth, The Art of Computer Programming,
 * volume 3, 5.2.4), and is found before the library's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/stack.h"

/* ---- threads ------------------------------------------------------------------- */

uint32_t sonde_parallel_threads(void)
{
    return 1;
}

int sonde_parallel_run(uint32_t threads, uint32_t tasks, int (*fn)(void *user, uint32_t task), void *user)
{
    int code = 0;
    (void)threads;
    for (uint32_t task = 0; task < tasks && !code; task++)
        code = fn(user, task);
    return code;
}

int sonde_stack_run(int (*fn)(void *user), void *user)
{
    return fn(user);
}

/* ---- memory -------------------------------------------------------------------- */

enum {
    PAGE_BYTES = 65536,
    STEP_PAGES = 256,
};

void *__wrap_sbrk(intptr_t more);

/* What malloc asks for, 64 kB at a time: each growth of the memory costs a browser as much as copying a megabyte, so it grows in larger
 * steps. 16 MB that nobody touches are addresses, and no memory. */
void *__wrap_sbrk(intptr_t more)
{
    static size_t end, grown; /* in bytes: what malloc has, and what the memory has */
    if (!end)
        end = grown = (size_t)__builtin_wasm_memory_size(0) * PAGE_BYTES;
    const size_t missing = more > 0 && (size_t)more > grown - end ? (size_t)more - (grown - end) : 0;
    const size_t pages = (missing + PAGE_BYTES - 1) / PAGE_BYTES, step = pages < STEP_PAGES ? STEP_PAGES : pages;
    size_t got = missing ? step : 0;
    if (missing && __builtin_wasm_memory_grow(0, got) == SIZE_MAX) {
        got = pages; /* near the end of what there is */
        if (__builtin_wasm_memory_grow(0, got) == SIZE_MAX) {
            errno = ENOMEM;
            return (void *)-1;
        }
    }
    grown += got * PAGE_BYTES;
    end += (size_t)more;
    return (void *)(end - (size_t)more);
}

/* ---- files --------------------------------------------------------------------- */

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    char *bytes = malloc(size);
    (void)at, (void)protection, (void)flags;
    for (size_t done = 0; bytes && done < size;) {
        const ssize_t got = pread(fd, bytes + done, size - done, offset + (off_t)done);
        if (got <= 0) {
            free(bytes);
            errno = got ? errno : EIO;
            return MAP_FAILED;
        }
        done += (size_t)got;
    }
    return bytes ? bytes : MAP_FAILED;
}

int munmap(void *bytes, size_t size)
{
    (void)size;
    free(bytes);
    return 0;
}

int madvise(void *bytes, size_t size, int advice)
{
    (void)bytes, (void)size, (void)advice;
    return 0;
}

/* WASI cannot say how much of a file is on disk; the page does, as the number of its device (viewer/src/transport/wasi.ts). */
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);

int __wrap_fstat(int fd, struct stat *st)
{
    const int rc = __real_fstat(fd, st);
    if (!rc)
        st->st_blocks = (blkcnt_t)(st->st_dev / 512);
    return rc;
}

/* ---- sorting -------------------------------------------------------------------- */

typedef int (*compare_fn)(const void *left, const void *right, void *user);

struct sort {
    size_t bytes; /* of an element */
    compare_fn compare;
    void *user;
};

/* Sort `count` elements; `room` has place for half of them. */
static void sort(const struct sort *s, char *items, size_t count, char *room)
{
    const size_t half = count / 2;
    char *right = items + half * s->bytes, *const end = items + count * s->bytes, *to = items;
    if (count < 2)
        return;
    sort(s, items, half, room);
    sort(s, right, count - half, room);
    if (s->compare(right - s->bytes, right, s->user) <= 0)
        return;
    memcpy(room, items, half * s->bytes);
    for (const char *left = room, *const left_end = room + half * s->bytes; left < left_end; to += s->bytes) {
        const bool from_right = right < end && s->compare(left, right, s->user) > 0;
        memcpy(to, from_right ? right : left, s->bytes);
        if (from_right)
            right += s->bytes;
        else
            left += s->bytes;
    }
}

void qsort_r(void *items, size_t count, size_t bytes, compare_fn compare, void *user)
{
    const struct sort s = {.bytes = bytes, .compare = compare, .user = user};
    char *room = malloc(count / 2 * bytes + 1);
    if (!room)
        abort(); /* the page says that memory is exhausted: nobody expects of a sort that it fails */
    sort(&s, items, count, room);
    free(room);
}

static int compare_alone(const void *left, const void *right, void *user)
{
    int (*const *compare)(const void *, const void *) = user;
    return (*compare)(left, right);
}

void qsort(void *items, size_t count, size_t bytes, int (*compare)(const void *left, const void *right))
{
    qsort_r(items, count, bytes, compare_alone, &compare);
}

/* names.c - see names.h. A hash table of chains (TAOCP vol. 3, 6.4) that only grow. */
#include "names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define BUCKETS   4096u
#define ROOM_MAX  (8u << 20) /* bytes for all names */

static struct sonde_nvtx_name *_Atomic buckets[BUCKETS];
static _Atomic int taken;
static unsigned char *room;
static size_t used;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/* A category is found by its number, the others by their bytes. */
static uint64_t hash_of(uint32_t kind, const void *domain, uint32_t number, const char *bytes, size_t length)
{
    uint64_t hash = mix(mix(kind, (uintptr_t)domain), number);
    for (size_t i = 0; kind != SONDE_NVTX_CATEGORY && i < length; i++)
        hash = mix(hash, (unsigned char)bytes[i]);
    return hash;
}

static const struct sonde_nvtx_name *find(uint64_t hash, uint32_t kind, const void *domain, uint32_t number,
                                          const char *bytes, size_t length)
{
    const struct sonde_nvtx_name *n = atomic_load_explicit(&buckets[hash % BUCKETS], memory_order_acquire);
    for (; n; n = n->next)
        if (n->kind == kind && n->domain == domain && n->number == number &&
            (kind == SONDE_NVTX_CATEGORY || (n->length == length && memcmp(n->bytes, bytes, length) == 0)))
            return n;
    return NULL;
}

/* Bounded: a forked child may find it taken for ever. */
static bool lock(void)
{
    const struct timespec nap = {0, 50000};
    for (int n = 0; n < 2000; n++) {
        int none = 0;
        if (atomic_compare_exchange_strong_explicit(&taken, &none, 1, memory_order_acquire, memory_order_relaxed))
            return true;
        int saved = errno;
        syscall(SYS_nanosleep, &nap, NULL); /* no cancellation point */
        errno = saved;
    }
    return false;
}

static struct sonde_nvtx_name *get_room(size_t length)
{
    size_t need = (sizeof(struct sonde_nvtx_name) + length + 7) & ~(size_t)7;
    int saved = errno;
    if (!room) {
        void *mapped = mmap(NULL, ROOM_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        room = mapped == MAP_FAILED ? NULL : mapped;
    }
    errno = saved;
    if (!room || used + need > ROOM_MAX)
        return NULL;
    used += need;
    return (void *)(room + used - need);
}

const struct sonde_nvtx_name *sonde__nvtx_name(enum sonde_nvtx_kind kind, const void *domain, uint32_t number,
                                               const char *bytes, size_t length)
{
    uint64_t hash = hash_of(kind, domain, number, bytes, length);
    const struct sonde_nvtx_name *known = find(hash, kind, domain, number, bytes, length);
    if (known || !lock())
        return known;
    known = find(hash, kind, domain, number, bytes, length);
    struct sonde_nvtx_name *n = known ? NULL : get_room(length);
    if (n) {
        n->next = atomic_load_explicit(&buckets[hash % BUCKETS], memory_order_relaxed);
        n->domain = domain;
        n->kind = kind;
        n->number = number;
        n->length = (uint32_t)length;
        memcpy(n->bytes, bytes, length);
        atomic_store_explicit(&buckets[hash % BUCKETS], n, memory_order_release);
        known = n;
    }
    atomic_store_explicit(&taken, 0, memory_order_release);
    return known;
}

const struct sonde_nvtx_name *sonde__nvtx_category(const void *domain, uint32_t number)
{
    return find(hash_of(SONDE_NVTX_CATEGORY, domain, number, NULL, 0), SONDE_NVTX_CATEGORY, domain, number, NULL, 0);
}

size_t sonde__nvtx_narrow(const wchar_t *wide, char *bytes, size_t size)
{
    size_t n = 0;
    for (; *wide && n + 4 <= size; wide++) {
        uint32_t c = (uint32_t)*wide;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd; /* no character */
        if (c < 0x80) {
            bytes[n++] = (char)c;
        } else if (c < 0x800) {
            bytes[n++] = (char)(0xc0 | c >> 6);
            bytes[n++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            bytes[n++] = (char)(0xe0 | c >> 12);
            bytes[n++] = (char)(0x80 | (c >> 6 & 63));
            bytes[n++] = (char)(0x80 | (c & 63));
        } else {
            bytes[n++] = (char)(0xf0 | c >> 18);
            bytes[n++] = (char)(0x80 | (c >> 12 & 63));
            bytes[n++] = (char)(0x80 | (c >> 6 & 63));
            bytes[n++] = (char)(0x80 | (c & 63));
        }
    }
    return n;
}

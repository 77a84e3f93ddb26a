/* names.c - see names.h. Each name is the record of a hash of it; of two with one hash, the second has the next. */
#include "names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "guest/memory.h"
#include "guest/records.h"

#define ROOM_MAX  (8u << 20) /* bytes for all names */

static struct sonde_records names;
static _Atomic size_t used;

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
    return hash | 1; /* 0 is no key */
}

/* *hash: the name's when it is there, else one that is free. */
static const struct sonde_nvtx_name *find(uint64_t *hash, uint32_t kind, const void *domain, uint32_t number,
                                          const char *bytes, size_t length)
{
    const struct sonde_nvtx_name *n;
    for (; (n = sonde__records_find(&names, *hash)); *hash = mix(*hash, 1) | 1)
        if (n->kind == kind && n->domain == domain && n->number == number &&
            (kind == SONDE_NVTX_CATEGORY || (n->length == length && memcmp(n->bytes, bytes, length) == 0)))
            return n;
    return NULL;
}

static struct sonde_nvtx_name *name_new(enum sonde_nvtx_kind kind, const void *domain, uint32_t number, const char *bytes,
                                        size_t length)
{
    const size_t need = sizeof(struct sonde_nvtx_name) + length;
    struct sonde_nvtx_name *n = atomic_load(&used) + need <= ROOM_MAX ? sonde__memory_get(need) : NULL;
    if (!n)
        return NULL;
    atomic_fetch_add(&used, need);
    n->domain = domain;
    n->kind = kind;
    n->number = number;
    n->length = (uint32_t)length;
    memcpy(n->bytes, bytes, length);
    return n;
}

const struct sonde_nvtx_name *sonde__nvtx_name(enum sonde_nvtx_kind kind, const void *domain, uint32_t number,
                                               const char *bytes, size_t length)
{
    uint64_t hash = hash_of(kind, domain, number, bytes, length);
    struct sonde_nvtx_name *fresh = NULL;
    for (;;) {
        const struct sonde_nvtx_name *known = find(&hash, kind, domain, number, bytes, length);
        if (known)
            return known;
        if (!fresh && !(fresh = name_new(kind, domain, number, bytes, length)))
            return NULL;
        known = sonde__records_add(&names, hash, fresh);
        if (!known || known == fresh)
            return known; /* else another thread's has this hash now: look again */
    }
}

const struct sonde_nvtx_name *sonde__nvtx_category(const void *domain, uint32_t number)
{
    uint64_t hash = hash_of(SONDE_NVTX_CATEGORY, domain, number, NULL, 0);
    return find(&hash, SONDE_NVTX_CATEGORY, domain, number, NULL, 0);
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

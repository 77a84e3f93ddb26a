/* fatbin.c - see fatbin.h. */
#include "fatbin.h"

#include <stdbool.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY /* a context in memory of ours, not of the program's malloc */
#include <lz4.h>
#include <zstd.h>

#include "guest/memory.h"

#define WRAPPER "\xb1\x43\x62\x46"
#define CONTAINER "\x50\xed\x55\xba"
#define KIND_PTX 1u
#define FLAG_LZ4 (1u << 13)
#define FLAG_ZSTD (1u << 15)
#define TEXT_MAX ((size_t)256 << 20)

struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t target, name, name_bytes;
    uint64_t flags, zero, decompressed;
};

struct wrapper {
    uint32_t magic, version;
    const void *data, *more;
};

/* Not beyond the first byte that differs: of text no more is known to be there. */
static bool begins(const char *image, const char *magic)
{
    return strncmp(image, magic, 4) == 0;
}

static bool is_text(const char *image)
{
    while (*image == ' ' || (*image >= '\t' && *image <= '\r'))
        image++;
    return strncmp(image, "//", 2) == 0 || strncmp(image, "/*", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

static bool make_room(struct sonde_image_ptx *out, size_t bytes)
{
    out->bytes = bytes;
    out->room = bytes + 1;
    out->text = bytes <= TEXT_MAX ? sonde__pages_get(out->room) : NULL;
    out->why = out->text ? NULL : "there is no memory for its PTX";
    return out->text != NULL;
}

static bool zstd(const unsigned char *from, size_t bytes, struct sonde_image_ptx *out)
{
    const size_t room = ZSTD_estimateDCtxSize();
    void *pages = sonde__pages_get(room);
    ZSTD_DCtx *context = pages ? ZSTD_initStaticDCtx(pages, room) : NULL;
    const bool done = context && ZSTD_decompressDCtx(context, out->text, out->bytes, from, bytes) == out->bytes;
    sonde__pages_put(pages, room);
    return done;
}

static bool lz4(const unsigned char *from, size_t bytes, struct sonde_image_ptx *out)
{
    return bytes <= INT32_MAX && LZ4_decompress_safe((const char *)from, out->text, (int)bytes, (int)out->bytes) == (int)out->bytes;
}

static bool unpack(const struct entry *e, const unsigned char *from, struct sonde_image_ptx *out)
{
    const size_t bytes = e->compressed ? e->compressed : e->bytes;
    if (e->flags & FLAG_ZSTD)
        return zstd(from, bytes, out);
    if (e->flags & FLAG_LZ4)
        return lz4(from, bytes, out);
    memcpy(out->text, from, bytes);
    return true;
}

/* The best entry of PTX, or false. */
static bool best_entry(const unsigned char *at, uint64_t left, uint32_t target, struct entry *best, const unsigned char **where)
{
    struct entry e;
    best->target = 0;
    while (left >= sizeof e) {
        memcpy(&e, at, sizeof e);
        if (e.header_bytes < sizeof e || e.header_bytes > left || e.bytes > left - e.header_bytes || e.compressed > e.bytes)
            break;
        if (e.kind == KIND_PTX && e.target <= target && e.target > best->target) {
            *best = e;
            *where = at + e.header_bytes;
        }
        at += e.header_bytes + e.bytes;
        left -= e.header_bytes + e.bytes;
    }
    return best->target != 0;
}

static void read_container(const void *image, uint32_t target, struct sonde_image_ptx *out)
{
    struct container c;
    struct entry e;
    const unsigned char *where;
    memcpy(&c, image, sizeof c);
    if (c.version != 1 || c.header_bytes < sizeof c) {
        out->why = "its fat binary has a format that is not known";
        return;
    }
    if (!best_entry((const unsigned char *)image + c.header_bytes, c.bytes, target, &e, &where)) {
        out->why = "it holds no PTX that this device can run";
        return;
    }
    const bool packed = e.flags & (FLAG_LZ4 | FLAG_ZSTD);
    if (!make_room(out, packed ? e.decompressed : (e.compressed ? e.compressed : e.bytes)))
        return;
    if (unpack(&e, where, out)) {
        out->bytes = strlen(out->text); /* what nvcc packs has a NUL of its own */
    } else {
        sonde__image_release(out);
        out->why = "its PTX cannot be decompressed";
    }
}

void sonde__image_ptx(const void *image, uint32_t target, struct sonde_image_ptx *out)
{
    struct wrapper w = {.data = image};
    *out = (struct sonde_image_ptx){.why = "it holds machine code only"};
    if (is_text(image)) {
        if (make_room(out, strlen(image)))
            memcpy(out->text, image, out->bytes);
        return;
    }
    if (begins(image, WRAPPER))
        memcpy(&w, image, sizeof w);
    if (w.data && begins(w.data, CONTAINER))
        read_container(w.data, target, out);
}

void sonde__image_release(struct sonde_image_ptx *p)
{
    sonde__pages_put(p->text, p->room);
    *p = (struct sonde_image_ptx){.why = p->why};
}

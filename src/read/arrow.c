/* arrow.c - see arrow.h. The structures: https://arrow.apache.org/docs/format/CDataInterface.html */
#include "arrow.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { ALIGN = 64,
       BUFFERS_MAX = 3 };

void *sonde__arrow_memory(size_t bytes)
{
    return bytes < SIZE_MAX - ALIGN ? aligned_alloc(ALIGN, (bytes / ALIGN + 1) * ALIGN) : NULL;
}

/* ---- schemas --------------------------------------------------------------------------- */

struct own_schema {
    struct ArrowSchema dictionary, *children;
    struct ArrowSchema **pointers;
    char *name, *format, *metadata;
};

static void release_schema(struct ArrowSchema *schema)
{
    struct own_schema *own = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(own->children);
    free(own->pointers);
    free(own->name);
    free(own->format);
    free(own->metadata);
    free(own);
    schema->release = NULL;
}

/* "int32: pairs, then for each int32: bytes, key, int32: bytes, value", in the machine's order. */
static char *put_metadata(char *to, const char *text)
{
    const int32_t bytes = (int32_t)strlen(text);
    memcpy(to, &bytes, sizeof bytes);
    memcpy(to + sizeof bytes, text, (size_t)bytes);
    return to + sizeof bytes + bytes;
}

static int set_metadata(struct own_schema *own, const struct sonde__arrow_about *about)
{
    const char *const pairs[][2] = {{"definition", about->definition}, {"unit", about->unit}};
    const size_t all = sizeof pairs / sizeof *pairs;
    size_t bytes = sizeof(int32_t);
    int32_t count = 0;
    for (size_t i = 0; i < all; i++)
        if (pairs[i][1] && *pairs[i][1]) {
            bytes += 2 * sizeof(int32_t) + strlen(pairs[i][0]) + strlen(pairs[i][1]);
            count++;
        }
    char *to = own->metadata = count ? malloc(bytes) : NULL;
    if (!to)
        return count ? SONDE_ENOMEM : 0;
    memcpy(to, &count, sizeof count);
    to += sizeof count;
    for (size_t i = 0; i < all; i++)
        if (pairs[i][1] && *pairs[i][1])
            to = put_metadata(put_metadata(to, pairs[i][0]), pairs[i][1]);
    return 0;
}

int sonde__arrow_schema(struct ArrowSchema *schema, const char *name, const char *format, bool nullable, int64_t children,
                        const struct sonde__arrow_about *about)
{
    struct own_schema *own = calloc(1, sizeof *own);
    *schema = (struct ArrowSchema){.flags = nullable ? ARROW_FLAG_NULLABLE : 0};
    if (!own)
        return SONDE_ENOMEM;
    schema->private_data = own;
    schema->release = release_schema;
    own->name = strdup(name);
    own->format = strdup(format);
    own->children = calloc((size_t)children + 1, sizeof *own->children);
    own->pointers = calloc((size_t)children + 1, sizeof *own->pointers);
    schema->name = own->name;
    schema->format = own->format;
    if (!own->name || !own->format || !own->children || !own->pointers || (about && set_metadata(own, about)))
        return SONDE_ENOMEM;
    for (int64_t i = 0; i < children; i++)
        own->pointers[i] = &own->children[i];
    schema->n_children = children;
    schema->children = own->pointers;
    schema->metadata = own->metadata;
    return 0;
}

int sonde__arrow_schema_dictionary(struct ArrowSchema *schema)
{
    struct own_schema *own = schema->private_data;
    schema->dictionary = &own->dictionary;
    return sonde__arrow_schema(schema->dictionary, "", "U", false, 0, NULL);
}

static size_t metadata_bytes(const char *metadata)
{
    int32_t pairs, bytes;
    const char *at = metadata;
    memcpy(&pairs, at, sizeof pairs);
    at += sizeof pairs;
    for (int32_t i = 0; i < 2 * pairs; i++) {
        memcpy(&bytes, at, sizeof bytes);
        at += sizeof bytes + (size_t)bytes;
    }
    return (size_t)(at - metadata);
}

int sonde__arrow_copy(const struct ArrowSchema *from, struct ArrowSchema *to)
{
    int rc = sonde__arrow_schema(to, from->name, from->format, false, from->n_children, NULL);
    to->flags = from->flags;
    if (!rc && from->metadata) {
        struct own_schema *own = to->private_data;
        const size_t bytes = metadata_bytes(from->metadata);
        to->metadata = own->metadata = malloc(bytes);
        rc = own->metadata ? 0 : SONDE_ENOMEM;
        if (!rc)
            memcpy(own->metadata, from->metadata, bytes);
    }
    for (int64_t i = 0; i < from->n_children && !rc; i++)
        rc = sonde__arrow_copy(from->children[i], to->children[i]);
    return !rc && from->dictionary ? sonde__arrow_schema_dictionary(to) : rc;
}

/* ---- arrays ---------------------------------------------------------------------------- */

struct memory { /* of all arrays that share it */
    _Atomic int users;
    void *buffers[BUFFERS_MAX];
};

struct own_array {
    struct memory *memory;
    struct ArrowArray dictionary, *children;
    struct ArrowArray **pointers;
};

static void release_array(struct ArrowArray *array)
{
    struct own_array *own = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    if (own->memory && atomic_fetch_sub(&own->memory->users, 1) == 1) {
        for (int i = 0; i < BUFFERS_MAX; i++)
            free(own->memory->buffers[i]);
        free(own->memory);
    }
    free(own->children);
    free(own->pointers);
    free(own);
    array->release = NULL;
}

/* `memory` gets one more user. */
static int make_array(struct ArrowArray *array, int64_t length, int64_t buffers, int64_t children, struct memory *memory)
{
    struct own_array *own = calloc(1, sizeof *own);
    *array = (struct ArrowArray){.length = length, .n_buffers = buffers};
    if (!own)
        return SONDE_ENOMEM;
    array->private_data = own;
    array->release = release_array;
    if (memory)
        atomic_fetch_add(&memory->users, 1);
    own->memory = memory;
    own->children = calloc((size_t)children + 1, sizeof *own->children);
    own->pointers = calloc((size_t)children + 1, sizeof *own->pointers);
    if (!memory || !own->children || !own->pointers)
        return SONDE_ENOMEM;
    array->buffers = (const void **)memory->buffers;
    for (int64_t i = 0; i < children; i++)
        own->pointers[i] = &own->children[i];
    array->n_children = children;
    array->children = own->pointers;
    return 0;
}

int sonde__arrow_array(struct ArrowArray *array, int64_t length, int64_t buffers, int64_t children)
{
    struct memory *memory = calloc(1, sizeof *memory);
    const int rc = make_array(array, length, buffers, children, memory);
    if (memory && !array->private_data)
        free(memory);
    return rc;
}

void sonde__arrow_array_dictionary(struct ArrowArray *array)
{
    struct own_array *own = array->private_data;
    array->dictionary = &own->dictionary;
}

void sonde__arrow_buffer(struct ArrowArray *array, int index, void *memory)
{
    struct own_array *own = array->private_data;
    own->memory->buffers[index] = memory;
}

int sonde__arrow_share(const struct ArrowArray *from, struct ArrowArray *to)
{
    const struct own_array *own = from->private_data;
    int rc = make_array(to, from->length, from->n_buffers, from->n_children, own->memory);
    to->null_count = from->null_count;
    for (int64_t i = 0; i < from->n_children && !rc; i++)
        rc = sonde__arrow_share(from->children[i], to->children[i]);
    if (!rc && from->dictionary) {
        sonde__arrow_array_dictionary(to);
        rc = sonde__arrow_share(from->dictionary, to->dictionary);
    }
    return rc;
}

/* Eight bytes that are 0 or 1 as the bits of one, the first the lowest. */
static uint8_t eight_bits(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return (uint8_t)((word * 0x0102040810204080ull) >> 56);
}

int sonde__arrow_bits(struct ArrowArray *array, int index, const uint8_t *bytes)
{
    const size_t count = (size_t)array->length, whole = count / 8;
    uint8_t *bits = sonde__arrow_memory(whole + 1);
    if (!bits)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < whole; i++)
        bits[i] = eight_bits(bytes + 8 * i);
    bits[whole] = 0;
    for (size_t i = 8 * whole; i < count; i++)
        bits[whole] |= (uint8_t)(bytes[i] << i % 8);
    sonde__arrow_buffer(array, index, bits);
    return 0;
}

int sonde__arrow_unknown(struct ArrowArray *array, const uint8_t *unknown)
{
    const size_t count = (size_t)array->length;
    for (size_t i = 0; unknown && i < count; i++)
        array->null_count += unknown[i];
    if (!array->null_count)
        return 0;
    const int rc = sonde__arrow_bits(array, 0, unknown);
    uint8_t *bits = (uint8_t *)(uintptr_t)array->buffers[0];
    for (size_t i = 0; !rc && i <= count / 8; i++)
        bits[i] = (uint8_t)~bits[i];
    return rc;
}

void sonde__arrow_release(struct ArrowSchema *schema, struct ArrowArray *array)
{
    if (schema->release)
        schema->release(schema);
    if (array->release)
        array->release(array);
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
}

/* ---- texts ----------------------------------------------------------------------------- */

/* Room for one more offset and `length` more bytes. */
static bool grow(struct sonde__arrow_texts *t, size_t length)
{
    if (t->count + 2 > t->capacity) {
        const size_t capacity = 2 * t->capacity + 64;
        int64_t *offsets = realloc(t->offsets, capacity * sizeof *offsets);
        if (!offsets)
            return false;
        t->offsets = offsets;
        t->capacity = capacity;
    }
    if (t->length + length + 1 > t->room) {
        const size_t room = 2 * t->room + length + 64;
        char *bytes = realloc(t->bytes, room);
        if (!bytes)
            return false;
        t->bytes = bytes;
        t->room = room;
    }
    return true;
}

void sonde__arrow_text(struct sonde__arrow_texts *texts, const char *text)
{
    struct sonde_text room = {0};
    const char *clean = text ? sonde_utf8_clean(text, &room) : "";
    const size_t length = strlen(clean);
    if (room.failed || !grow(texts, length))
        texts->failed = SONDE_ENOMEM;
    else {
        memcpy(texts->bytes + texts->length, clean, length);
        texts->offsets[texts->count++] = (int64_t)texts->length;
        texts->length += length;
        texts->offsets[texts->count] = (int64_t)texts->length;
    }
    sonde_text_fini(&room);
}

int sonde__arrow_texts_end(struct sonde__arrow_texts *texts, struct ArrowArray *array)
{
    const int rc = texts->failed || !grow(texts, 0) ? SONDE_ENOMEM : 0;
    if (!rc) {
        texts->offsets[texts->count] = (int64_t)texts->length;
        sonde__arrow_buffer(array, 1, texts->offsets);
        sonde__arrow_buffer(array, 2, texts->bytes);
        *texts = (struct sonde__arrow_texts){0};
    }
    sonde__arrow_texts_fini(texts);
    return rc;
}

void sonde__arrow_texts_fini(struct sonde__arrow_texts *texts)
{
    free(texts->offsets);
    free(texts->bytes);
    *texts = (struct sonde__arrow_texts){0};
}

/* columns.c - see columns.h. */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "columns are written as they lie in memory"
#endif

enum { ALIGN = 8 };

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
    [SONDE_PACKED_F64] = {"f64", 8},
    [SONDE_PACKED_U64] = {"u64", 8},
    [SONDE_PACKED_U32] = {"u32", 4},
    [SONDE_PACKED_U16] = {"u16", 2},
    [SONDE_PACKED_U8] = {"u8", 1},
};

void sonde_packed_begin(struct sonde_packed *packed)
{
    *packed = (struct sonde_packed){.header = json_object()};
}

void sonde_packed_fini(struct sonde_packed *packed)
{
    for (size_t i = 0; i < packed->columns.count; i++)
        free(packed->columns.items[i].values);
    sonde_vector_fini(&packed->columns);
    json_decref(packed->header);
    packed->header = NULL;
}

void *sonde_packed_column(struct sonde_packed *packed, const char *name, enum sonde_packed_type type, size_t count)
{
    const struct sonde__packed_column column = {name, type, count, calloc(count + 1, types[type].bytes)};
    if (column.values && !sonde_vector_push(&packed->columns, column))
        return column.values;
    free(column.values);
    packed->failed = SONDE_ENOMEM;
    return NULL;
}

json_t *sonde_packed_text(const char *text)
{
    struct sonde_text room = {0};
    json_t *string = json_string(sonde_utf8_clean(text, &room));
    sonde_text_fini(&room);
    return string;
}

static void pad(struct sonde_text *out, size_t bytes, char with)
{
    for (; bytes % ALIGN; bytes++)
        sonde_text_add_bytes(out, &with, 1);
}

/* What columns there are, as a member of the header; then it as text. NULL: no memory. */
static char *header_text(struct sonde_packed *packed)
{
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < packed->columns.count && !rc; i++) {
        const struct sonde__packed_column *c = &packed->columns.items[i];
        rc = json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", c->name, "type", types[c->type].name, "count",
                                                   (json_int_t)c->count));
    }
    rc = json_object_set_new(packed->header, "columns", list) || rc;
    return rc ? NULL : json_dumps(packed->header, JSON_COMPACT);
}

int sonde_packed_write(struct sonde_packed *packed, struct sonde_text *out)
{
    char *text = packed->failed || !packed->header ? NULL : header_text(packed);
    if (!text)
        return SONDE_ENOMEM;
    const uint32_t length[2] = {(uint32_t)strlen(text), 0};
    sonde_text_add_bytes(out, SONDE_PACKED_MAGIC, sizeof SONDE_PACKED_MAGIC - 1);
    sonde_text_add_bytes(out, (const char *)length, sizeof length);
    sonde_text_add_bytes(out, text, length[0]);
    pad(out, length[0], ' ');
    free(text);
    for (size_t i = 0; i < packed->columns.count; i++) {
        const struct sonde__packed_column *c = &packed->columns.items[i];
        const size_t bytes = c->count * types[c->type].bytes;
        sonde_text_add_bytes(out, c->values, bytes);
        pad(out, bytes, '\0');
    }
    return out->failed ? SONDE_ENOMEM : 0;
}

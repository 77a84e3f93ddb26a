/* python_code.c - identity and content of a Python code object, read in place.
 *
 * Identity: the address alone does not do, since a freed code object's memory
 * is used again, often with a name and a line table at the same addresses as
 * well. From 3.12 on the interpreter numbers code objects (co_version). Before
 * that, a hash of what we record of it (name, file, line table) takes that
 * place: equal keys then mean equal records.
 */
#include <string.h>

#include "python.h"
#include "python_state.h"

/* Contents longer than this enter a key by their ends and middle only. */
enum {
    NAME_HASH_BYTES = 192,
    FILE_HASH_BYTES = 48,
    TABLE_HASH_BYTES = 768,
};
enum { STRING_MAX = 1 << 20 };

/* ---- objects ------------------------------------------------------------- */

struct bytes {
    const uint8_t *data;
    size_t size;
};

/* A str: its characters, 1, 2 or 4 bytes each. */
struct string {
    const uint8_t *data;
    size_t length;
    unsigned kind;
};

/* Outside of a signal handler all that is linked to a running frame can be. */
static bool can_read(uintptr_t address, size_t size)
{
    struct sonde__python_care *care = sonde__python_care;
    if (__builtin_expect(!care, 1) || sonde__python_spans(address, size))
        return true;
    care->torn = true;
    return false;
}

static struct bytes bytes_of(uintptr_t object)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    struct bytes bytes = {NULL, 0};
    if (!sonde__python_plausible(object) || !can_read(object, layout->object_size + 8))
        return bytes;
    bytes.data = (const uint8_t *)(object + layout->bytes_data);
    bytes.size = sonde__python_word(object, layout->object_size);
    if (bytes.size > STRING_MAX || !can_read((uintptr_t)bytes.data, bytes.size))
        bytes.size = 0;
    return bytes;
}

static struct string string_of(uintptr_t object)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    struct string string = {NULL, 0, 1};
    if (!sonde__python_plausible(object) || !can_read(object, layout->string_state + 4))
        return string;
    uint32_t state = *(const uint32_t *)(object + layout->string_state) >> layout->string_kind_bit;
    bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    string.kind = state & 7;
    string.length = sonde__python_word(object, layout->string_length);
    /* Not compact: an instance of a subclass of str; the data are elsewhere. */
    if (!compact && !can_read(object, layout->string_compact + 8))
        return (struct string){NULL, 0, 1};
    string.data = !compact ? (const uint8_t *)sonde__python_word(object, layout->string_compact)
                  : ascii  ? (const uint8_t *)(object + layout->string_ascii)
                           : (const uint8_t *)(object + layout->string_compact);
    if ((string.kind != 1 && string.kind != 2 && string.kind != 4) || !string.data ||
        string.length > STRING_MAX || !can_read((uintptr_t)string.data, string.length * string.kind))
        string = (struct string){NULL, 0, 1};
    return string;
}

static uint32_t character(const struct string *string, size_t i)
{
    switch (string->kind) {
    case 1: return string->data[i];
    case 2: return ((const uint16_t *)string->data)[i];
    default: return ((const uint32_t *)string->data)[i];
    }
}

/* One character as UTF-8 into out[4]; a lone surrogate (a byte of a file name
 * that is not UTF-8) becomes U+FFFD. Returns the bytes. */
static size_t put_utf8(uint32_t c, char *out)
{
    if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        c = 0xfffd;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* As UTF-8 with a NUL, cut between characters when it does not fit. */
static void copy_string(uintptr_t object, char *out, size_t size)
{
    struct string string = string_of(object);
    size_t used = 0;
    for (size_t i = 0; i < string.length; i++) {
        char utf8[4];
        size_t bytes = put_utf8(character(&string, i), utf8);
        if (used + bytes >= size)
            break;
        memcpy(out + used, utf8, bytes);
        used += bytes;
    }
    out[used] = 0;
}

/* ---- identity -------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static uint64_t load(const uint8_t *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

/* Multiply and fold: every bit of both words reaches every bit of the result. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    wide product = (wide)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd6e8feb86659fd93));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two independent chains, because the multiplications' latency is what costs. */
static uint64_t hash_span(uint64_t hash, const uint8_t *data, size_t size)
{
    uint64_t other = ~hash;
    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            other = other << 8 | data[i];
        return mix(hash, other);
    }
    const uint8_t *last = data + size - 8;
    for (; size >= 32; data += 32, size -= 32) {
        hash = mix(hash ^ load(data), load(data + 8));
        other = mix(other ^ load(data + 16), load(data + 24));
    }
    for (; size >= 8; data += 8, size -= 8)
        hash = mix(hash, load(data));
    return mix(hash ^ load(last), other);
}

/* Of more than `limit` bytes, the ends and the middle. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *data, size_t size, size_t limit)
{
    hash ^= size << 32;
    if (size <= limit)
        return hash_span(hash, data, size);
    size_t part = limit / 3;
    hash = hash_span(hash, data, part);
    hash = hash_span(hash, data + (size - part) / 2, part);
    return hash_span(hash, data + size - part, part);
}

static uint64_t hash_string(uint64_t hash, uintptr_t object, size_t limit)
{
    struct string string = string_of(object);
    return hash_bytes(hash + string.kind, string.data, string.length * string.kind, limit);
}

/* Names are nearly always interned, and so carry the interpreter's own hash. */
static uint64_t hash_name(uintptr_t object)
{
    uintptr_t known = sonde__python_plausible(object) && can_read(object, sonde__python.layout.string_hash + 8)
                          ? sonde__python_word(object, sonde__python.layout.string_hash)
                          : 0;
    return known != UINTPTR_MAX ? known : hash_string(1, object, NAME_HASH_BYTES);
}

static uint32_t hash_content(const struct sonde_pycode_key *key)
{
    struct bytes table = bytes_of(key->table);
    uint64_t hash = hash_name(key->name) ^ hash_string(2, key->file, FILE_HASH_BYTES);
    hash = hash_bytes(hash, table.data, table.size, TABLE_HASH_BYTES);
    return (uint32_t)(hash ^ hash >> 32) | 1; /* never 0 */
}

static uintptr_t name_of(uintptr_t code)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    return sonde__python_word(code, layout->code_qualname ? layout->code_qualname : layout->code_name);
}

void sonde__pycode_key(uintptr_t code, struct sonde_pycode_key *key)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    memset(key, 0, sizeof *key);
    if (!code)
        return;
    key->code = code;
    key->name = name_of(code);
    key->file = sonde__python_word(code, layout->code_file);
    key->table = sonde__python_word(code, layout->code_table);
    key->first_line = *(const uint32_t *)(code + layout->code_first_line);
    if (layout->code_version)
        key->version = *(const uint32_t *)(code + layout->code_version);
    if (!key->version) /* before 3.12, or the interpreter has run out of numbers */
        key->version = hash_content(key);
}

/* ---- content ----------------------------------------------------------------- */

bool sonde__pycode_read(uintptr_t code, struct sonde_pycode_info *info)
{
    const struct sonde__python_layout *layout = &sonde__python.layout;
    if (!code)
        return false;
    copy_string(name_of(code), info->name, sizeof info->name);
    copy_string(sonde__python_word(code, layout->code_file), info->file, sizeof info->file);
    struct bytes table = bytes_of(sonde__python_word(code, layout->code_table));
    int32_t first_line = *(const int32_t *)(code + layout->code_first_line);
    info->first_line = first_line > 0 ? (uint32_t)first_line : 0;
    info->table = table.data;
    info->table_bytes = table.size;
    info->version = layout->version;
    return !sonde__python_care || !sonde__python_care->torn;
}

static bool is_type(uintptr_t object, uintptr_t type, uint32_t last_offset)
{
    return sonde__python_plausible(object) && sonde__python_readable(object) &&
           sonde__python_readable(object + last_offset) &&
           sonde__python_word(object, sonde__python.layout.object_type) == type;
}

bool sonde__pycode_proved(uintptr_t code, uint32_t offset)
{
    const struct sonde__python_state *state = &sonde__python;
    const struct sonde__python_layout *layout = &state->layout;
    /* A file name may be an instance of a subclass of str; a name may not. */
    uintptr_t file = sonde__python_word(code, layout->code_file);
    uintptr_t table = sonde__python_word(code, layout->code_table);
    if (!is_type(name_of(code), state->string_type, layout->string_state) ||
        !is_type(sonde__python_word(code, layout->code_name), state->string_type, layout->string_state) ||
        !sonde__python_plausible(file) || !sonde__python_readable(file) ||
        !is_type(table, state->bytes_type, layout->bytes_data) ||
        sonde__python_word(table, layout->object_size) > STRING_MAX)
        return false;
    if (*(const int32_t *)(code + layout->code_first_line) < 0)
        return false;
    uintptr_t size;
    if (layout->form == SONDE__PYTHON_OBJECTS) {
        uintptr_t bytes = sonde__python_word(code, layout->code_bytes);
        if (!is_type(bytes, state->bytes_type, layout->bytes_data))
            return false;
        size = sonde__python_word(bytes, layout->object_size);
    } else {
        size = 2 * sonde__python_word(code, layout->object_size);
    }
    return offset == UINT32_MAX || offset < size;
}

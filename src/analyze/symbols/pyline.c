/* pyline.c - line of an instruction from a code object's line table.
 *
 * The three forms are described by CPython's Objects/lnotab_notes.txt (up to
 * 3.9, and the form of 3.10) and Objects/locations.md (3.11 and later). Tests
 * compare every instruction of every module of the standard library with what
 * the interpreter itself says.
 */
#include "pyline.h"

/* Up to 3.9: pairs of bytes, each advancing address and line. */
static uint32_t line_lnotab(const uint8_t *table, size_t bytes, uint32_t line, uint32_t offset)
{
    uint64_t address = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        address += table[i];
        if (address > offset)
            break;
        line += (uint32_t)(int8_t)table[i + 1];
    }
    return line;
}

/* 3.10: pairs of bytes, each a range of addresses and its line relative to the
 * line before; -128 is a range without a line. */
static uint32_t line_ranges(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t offset)
{
    uint64_t end = 0;
    uint32_t line = first_line;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        end += table[i];
        if (delta != -128)
            line += (uint32_t)delta;
        if (offset < end)
            return delta == -128 ? first_line : line;
    }
    return first_line;
}

/* 3.11+: entries that begin with a byte whose top bit is set. */
enum {
    LOCATION_ONE_LINE = 10,
    LOCATION_NO_COLUMNS = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15,
};

/* Six bits a byte, least significant first; bit 6 says that more follow. */
static uint32_t read_varint(const uint8_t *table, size_t bytes, size_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *at < bytes; shift += 6) {
        uint8_t byte = table[(*at)++];
        if (shift < 32)
            value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

static uint32_t read_line_delta(const uint8_t *table, size_t bytes, size_t at, uint32_t code)
{
    if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMNS)
        return code - LOCATION_ONE_LINE;
    if (code != LOCATION_NO_COLUMNS && code != LOCATION_LONG)
        return 0;
    uint32_t value = read_varint(table, bytes, &at);
    return value & 1 ? 0 - (value >> 1) : value >> 1;
}

static uint32_t line_locations(const uint8_t *table, size_t bytes, uint32_t first_line,
                               uint32_t offset)
{
    uint64_t end = 0;
    uint32_t line = first_line;
    for (size_t i = 0; i < bytes;) {
        uint32_t code = table[i] >> 3 & 15;
        end += 2 * ((uint32_t)(table[i] & 7) + 1);
        i++;
        line += read_line_delta(table, bytes, i, code);
        if (offset < end)
            return code == LOCATION_NONE ? first_line : line;
        while (i < bytes && !(table[i] & 128))
            i++;
    }
    return first_line;
}

uint32_t sonde_pyline(const uint8_t *table, size_t bytes, uint32_t version, uint32_t first_line,
                      uint32_t offset)
{
    if (offset == UINT32_MAX) /* before the first instruction */
        return first_line;
    if (version < 0x030a)
        return line_lnotab(table, bytes, first_line, offset);
    if (version == 0x030a)
        return line_ranges(table, bytes, first_line, offset);
    return line_locations(table, bytes, first_line, offset);
}

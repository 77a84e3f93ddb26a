/* tables.c (test) - the tables as src/format/rows.h has them, for tables.py to compare with docs/developers/format.md.
 *
 * Per table one line with number, name, size and fields in the order of the row; per trace one line of a Markdown
 * table. Fails where the columns of a table do not hold every byte of its row just once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tables.h"

struct field {
    const char *type, *name;
    uint32_t width, offset, items;
};

#define TYPE(f) _Generic(f, uint8_t: "u8", uint16_t: "u16", uint32_t: "u32", uint64_t: "u64", double: "f64", \
                         char *: "char", uint32_t *: "u32", uint64_t *: "u64")
#define ITEMS(f) _Generic(f, char *: sizeof(f), uint32_t *: sizeof(f) / 4, uint64_t *: sizeof(f) / 8, default: 0)
#define FIELD(row, field, coding)                                                              \
    { TYPE(((row *)0)->field), #field, sizeof(((row *)0)->field), offsetof(row, field), ITEMS(((row *)0)->field) },
#define BYTES "", "", 0 /* the header, which is one column */

#define X(name, row, ...) static const struct field fields_##name[] = { SONDE_COLUMNS_##name(FIELD, row) {0} };
SONDE_TABLE_MAP(X, X)
#undef X
static const struct field *const fields[SONDE_TABLE_COUNT] = {
#define X(name, ...) [SONDE_TABLE_##name] = fields_##name,
    SONDE_TABLE_MAP(X, X)
#undef X
};

static int by_offset(const void *a, const void *b)
{
    return (int)((const struct field *)a)->offset - (int)((const struct field *)b)->offset;
}

static void put_fields(unsigned table, uint32_t count)
{
    struct field sorted[SONDE_COLUMNS_MAX];
    memcpy(sorted, fields[table], count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_offset);
    for (uint32_t i = 0; i < count; i++) {
        printf(" %s:%s", sorted[i].type, sorted[i].name);
        if (sorted[i].items)
            printf("[%u]", sorted[i].items);
    }
}

static int check(const struct sonde_table_info *t)
{
    uint8_t there[sizeof(struct sonde_live_header)] = {0};
    for (uint32_t i = 0; i < t->column_count; i++)
        for (uint32_t k = 0; k < t->columns[i].width; k++)
            there[t->columns[i].offset + k]++;
    for (uint32_t k = 0; t->column_count && k < t->row_bytes; k++)
        if (there[k] != 1)
            return fprintf(stderr, "%s: byte %u of the row is in %d columns\n", t->name, k, there[k]);
    return 0;
}

static const char *const lanes_are[] = {[SONDE_LANE_KIND_THREAD] = "thread", [SONDE_LANE_KIND_QUEUE] = "queue", [SONDE_LANE_KIND_SERIES] = "series"};

int main(void)
{
    int wrong = 0;
    for (unsigned table = 1; table < SONDE_TABLE_COUNT; table++) {
        const struct sonde_table_info *t = sonde_table_info(table);
        printf("%u %s %u", table, t->name, t->row_bytes);
        if (table != SONDE_TABLE_PROCESS)
            put_fields(table, t->column_count);
        printf("\n");
        wrong |= check(t);
    }
#define X(...)
#define T(name, row, lanes, from, to, counter, ...) \
    printf("| %s | %s | %s | %s | %s |\n", #name, lanes_are[SONDE_LANE_KIND_##lanes], #from, #to, #counter);
    SONDE_TABLE_MAP(X, T)
    return wrong != 0;
}

/* tables.h - one descriptor per table of a measurement, made of the map and the lists of columns in rows.h.
 *
 * Whoever treats tables alike (the encoder, the live file, the reader, the agent's trace, what counts and says
 * losses) goes by it, so that a new table is one place. A number without a descriptor is a table that this
 * build does not know: its rows are counted and left alone, never read as another table's.
 */
#ifndef SONDE_FORMAT_TABLES_H
#define SONDE_FORMAT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rows.h"

enum sonde_predictor {
    SONDE_PREDICT_ZERO = 0,  /* nothing: the value itself */
    SONDE_PREDICT_DELTA = 1, /* the previous row's value */
    SONDE_PREDICT_DIFF = 2,  /* this row's value of column `ref` */
    SONDE_PREDICT_GAP = 3,   /* the later of: the previous row's value of the last of the `span`
                                columns that follow; this row's value of column `ref` */
    SONDE_PREDICT_BYTES = 4, /* no integer: `width` bytes, row after row */
    SONDE_PREDICT_SPARSE = 5, /* zeros among numbers: 0 for 0, else 1 + zigzag of the distance
                                 to the last value that was not 0 */
    SONDE_PREDICT_AFTER = 6, /* the previous row's value of the last of the `span` columns that follow */
};

#define SONDE_COLUMNS_MAX 64

struct sonde_column {
    uint8_t predictor, ref, span;
    uint16_t width, offset;
};

/* Other predictors for a few neighbouring columns of a table: `count` of them from `index` on. */
enum {
    SONDE__OTHER_COLUMNS = 5,
    SONDE__OTHER_WIDEST = 4,
};
extern const struct sonde_other_columns {
    uint32_t table, index, count;
    struct sonde_column columns[SONDE__OTHER_WIDEST];
} sonde__other_columns[SONDE__OTHER_COLUMNS];

struct sonde_table_info {
    const char *name;        /* "FRAME" */
    uint32_t row_bytes;      /* in memory and in live.sonde; STRING: 1 */
    uint32_t properties;     /* SONDE_ROWS_* */
    const struct sonde_column *columns; /* none of STRING */
    uint32_t column_count;
    /* Of traces; else 0. */
    uint32_t lane_kind;      /* SONDE_LANE_KIND_*: of the lanes that own it */
    enum sonde_trace trace;
    uint16_t from, to;       /* offsets in the row: when it began and ended; 0 = it never did */
    const char *counter;     /* in struct sonde_live_header, of rows that found no room: "cpu.sleep_rows_dropped" */
    uint32_t dropped;        /* and its offset there; of OP, one for each cause */
    const char *lost;        /* one row, where some are missing; NULL: the report says it in other words */
};

/* NULL: no such table. Any thread; touches nothing but constants. */
const struct sonde_table_info *sonde_table_info(unsigned table);

/* Size of one row of a table in memory; 1 for STRING, 0 for an unknown table. */
static inline uint32_t sonde_row_bytes(unsigned table)
{
    const struct sonde_table_info *t = sonde_table_info(table);
    return t ? t->row_bytes : 0;
}

const char *sonde_table_name(unsigned table); /* "unknown" */

/* The last word of a trace's counter: "sleep_rows_dropped". */
static inline const char *sonde_counter_name(const struct sonde_table_info *trace)
{
    const char *last = strchr(trace->counter, '.');
    return last ? last + 1 : trace->counter;
}

/* Rows of a trace that found no room; of operations, for one cause. */
static inline uint64_t sonde_rows_dropped(const struct sonde_live_header *h, const struct sonde_table_info *trace, enum sonde_drop cause)
{
    return ((const uint64_t *)(const void *)((const char *)h + trace->dropped))[trace->trace == SONDE_TRACE_OP ? cause : 0];
}

/* Count some. Any thread. */
static inline void sonde_rows_drop(struct sonde_live_header *h, const struct sonde_table_info *trace, enum sonde_drop cause, uint64_t rows)
{
    uint64_t *counter = (uint64_t *)(void *)((char *)h + trace->dropped) + (trace->trace == SONDE_TRACE_OP ? cause : 0);
    __atomic_fetch_add(counter, rows, __ATOMIC_RELAXED);
}

/* From when to when a row of a trace lasts; one that never ended, no time; an operation without times is at the
 * entry of its API call. */
struct sonde_lasts { uint64_t from_ns, to_ns; };
static inline struct sonde_lasts sonde_row_lasts(const struct sonde_table_info *trace, const void *row)
{
    struct sonde_lasts l;
    memcpy(&l.from_ns, (const char *)row + trace->from, sizeof l.from_ns);
    memcpy(&l.to_ns, (const char *)row + trace->to, sizeof l.to_ns);
    if (trace->trace == SONDE_TRACE_OP) {
        const struct sonde_row_op *op = row;
        return op->flags & SONDE_OP_NO_TIMES ? (struct sonde_lasts){op->enter_ns, op->enter_ns} : l;
    }
    l.to_ns = l.to_ns ? l.to_ns : l.from_ns;
    return l;
}

#endif

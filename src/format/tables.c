/* tables.c - see tables.h.
 *
 * Part of the agent, too: constants only.
 */
#include "tables.h"

#define ZERO SONDE_PREDICT_ZERO, 0, 0
#define DELTA SONDE_PREDICT_DELTA, 0, 0
#define DIFF(ref) SONDE_PREDICT_DIFF, ref, 0
#define GAP(ref, span) SONDE_PREDICT_GAP, ref, span
#define AFTER(span) SONDE_PREDICT_AFTER, 0, span
#define SPARSE SONDE_PREDICT_SPARSE, 0, 0
#define BYTES SONDE_PREDICT_BYTES, 0, 0
#define COLUMN(row, field, ...) { __VA_ARGS__, sizeof(((row *)0)->field), offsetof(row, field) },

/* (The last is none: STRING has none.) */
#define X(name, row, ...) static const struct sonde_column columns_##name[] = { SONDE_COLUMNS_##name(COLUMN, row) {0} };
SONDE_TABLE_MAP(X, X)
#undef X

/* In this order, each is weighed against what was taken before it, and the encoder takes what fits a chunk better.
 * - A thread that does little but enqueue enters the next call soon after it
 *   left the last, so that the distance to the last entry would hold the noise
 *   of the call once more. Calls from several threads in one queue, or far
 *   apart, are better told by the distance between entries.
 * - There is one wait in an operation's life: until the queue is free. Some
 *   runtimes submit at once and start when it is, others submit only then (PoCL).
 * - A runtime that tells neither when it queued nor when it submitted (CUDA) leaves
 *   zeros there: a distance between zero and a time would hold the whole time. Its
 *   operation starts after its call, or when the queue is free.
 * - A thread runs for a while, then it is off the CPU for a while. */
#define OP(field, ...) COLUMN(struct sonde_row_op, field, __VA_ARGS__)
/* clang-format off */
const struct sonde_other_columns sonde__other_columns[SONDE__OTHER_COLUMNS] = {
    { SONDE_TABLE_OP, 1, 2, { OP(enter_ns, AFTER(1)) OP(queued_ns, DIFF(1)) } },
    { SONDE_TABLE_OP, 3, 2, { OP(submit_ns, GAP(2, 2)) OP(start_ns, DIFF(3)) } },
    { SONDE_TABLE_OP, 1, 4, { OP(enter_ns, DELTA) OP(queued_ns, SPARSE) OP(submit_ns, DIFF(2)) OP(start_ns, GAP(1, 1)) } },
    { SONDE_TABLE_CALL, 1, 2,
      { COLUMN(struct sonde_row_call, enter_ns, AFTER(1)) COLUMN(struct sonde_row_call, leave_ns, DIFF(1)) } },
    { SONDE_TABLE_SWITCH, 0, 2,
      { COLUMN(struct sonde_row_switch, out_ns, AFTER(1)) COLUMN(struct sonde_row_switch, in_ns, DIFF(0)) } },
};
/* clang-format on */
#undef OP

static const struct sonde_table_info tables[SONDE_TABLE_COUNT] = {
#define COLUMNS(table) .columns = columns_##table, .column_count = sizeof columns_##table / sizeof *columns_##table - 1
#define X(table, row, what) [SONDE_TABLE_##table] = { .name = #table, .row_bytes = sizeof(row), .properties = what, COLUMNS(table) },
#define T(table, row, lanes, begin, end, count, word)                                                               \
    [SONDE_TABLE_##table] = { .name = #table, .row_bytes = sizeof(row), COLUMNS(table),                             \
                              .lane_kind = SONDE_LANE_KIND_##lanes, .trace = SONDE_TRACE_##table,                   \
                              .from = offsetof(row, begin), .to = offsetof(row, end),                                \
                              .counter = #count, .dropped = offsetof(struct sonde_live_header, count), .lost = word },
    SONDE_TABLE_MAP(X, T)
#undef X
#undef T
};

const struct sonde_table_info *sonde_table_info(unsigned table)
{
    return table != SONDE_TABLE_FREE && table < SONDE_TABLE_COUNT ? &tables[table] : NULL;
}

const char *sonde_table_name(unsigned table)
{
    const struct sonde_table_info *t = sonde_table_info(table);
    return t ? t->name : "unknown";
}

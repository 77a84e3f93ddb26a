/* own.h - between plan.c, which chooses windows and parts, and windows.c, which reads them.
 */
#ifndef SONDE_ANALYZE_TRACE_OWN_H
#define SONDE_ANALYZE_TRACE_OWN_H

#include "busy.h"
#include "format/tables.h"
#include "trace.h"

/* An operation here is its row without three fields: chunks are decoded right into it. */
#define SONDE__OP_KEPT \
    (~(SONDE_FIELD(sonde_row_op, queued_ns) | SONDE_FIELD(sonde_row_op, submit_ns) | SONDE_FIELD(sonde_row_op, bytes)))

/* Of one row in memory here. All others are as in the table. */
static inline uint32_t sonde__trace_row_bytes(const struct sonde_table_info *table)
{
    return table->trace == SONDE_TRACE_OP ? sizeof(struct sonde_trace_op) : table->row_bytes;
}

struct sonde__source { /* one table of one lane */
    const struct sonde_table_info *table; /* NULL: it has no chunks */
    uint32_t *chunks;   /* indices of process->traces, by time_min */
    uint32_t count;
};

struct sonde__reader_own {
    struct sonde__source *sources; /* [lane][SONDE_TRACES] */
    uint32_t *chunks;
    struct sonde__busy_plan busy; /* when op_times */
    uint32_t threads;
};

#endif

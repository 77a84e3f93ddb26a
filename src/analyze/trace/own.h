/* own.h - between plan.c, which chooses windows and parts, and windows.c, which reads them.
 */
#ifndef SONDE_ANALYZE_TRACE_OWN_H
#define SONDE_ANALYZE_TRACE_OWN_H

#include "busy.h"
#include "trace.h"

enum sonde__rows_kind { OPS, CALLS, SAMPLES, SWITCHES, WAITS, SLEEPS, SOURCES };

/* Rows as they lie in memory here. */
struct sonde__rows_kind_info {
    uint16_t table, bytes;
    uint16_t from, to;  /* offsets of their times; the same: an instant */
    bool neighbours;    /* the rows before and after a window are asked for */
    bool look_back;     /* rows before a part matter in it */
};
extern const struct sonde__rows_kind_info sonde__rows_kinds[SOURCES];

struct sonde__source { /* one table of one lane */
    uint32_t *chunks;   /* indices of process->traces, by time_min */
    uint32_t  count;
};

struct sonde__reader_own {
    struct sonde__source *sources; /* [lane][SOURCES] */
    uint32_t *chunks;
    struct sonde__busy_plan busy; /* when op_times */
    uint32_t  threads;
};

#endif

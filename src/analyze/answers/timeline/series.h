/* series.h - what rises and falls over the run, device by device: memory that is held, operations in flight, busy time, counters of the hardware.
 *
 * A series has a value at each instant, which changes in steps. An answer has, of each bin of a time range, the least and the
 * largest value that it had there, the last one, and the mean over time. docs/developers/requests.md, "series", defines each number.
 *
 * Bins are powers of two wide and lie where they lie whatever range is asked for, as in timeline.h. Memory is known from the table of data objects. What
 * comes from operations is read once as a whole, into 65,536 bins of the run or fewer, of which coarser ones are made; for finer ones the
 * trace is read near the range alone. flights.c says how.
 *
 *     struct sonde_series *series;
 *     rc = sonde_series_create(m, &series);
 *     ... sonde_series_about(series, i), i < sonde_series_count(series) ...
 *     rc = sonde_series_ask(series, &(struct sonde_series_question){.pixels = 1920}, &answer, diag);
 *     ... answer.lines.items[k].bins ...
 *     sonde_series_answer_fini(&answer);
 *     sonde_series_destroy(series);
 *
 * Times are nanoseconds since the run began (sonde_run_range), on one axis for all processes.
 *
 * Threads: any; questions are answered one after the other, each by several threads.
 */
#ifndef SONDE_ANALYZE_ANSWERS_TIMELINE_SERIES_H
#define SONDE_ANALYZE_ANSWERS_TIMELINE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/vector.h"
#include "format/reader.h"

struct sonde_series;

/* `m` must outlive it. Nothing of the trace is read. 0 or SONDE_ENOMEM. */
int sonde_series_create(const struct sonde_measurement *m, struct sonde_series **out);
void sonde_series_destroy(struct sonde_series *series);

/* What a value counts; name in answers. */
#define SONDE_SERIES_UNIT_MAP(X)     \
    X(BYTES, "bytes")                \
    X(OPERATIONS, "operations")      \
    X(SHARE, "share") /* 0 or 1 at each instant: the mean says something */ \
    X(BYTE_RATE, "bytes per second") /* counters of the hardware: what was counted between two readings, over the time */ \
    X(RATE, "per second")            \
    X(NUMBER, "number")              /* or what it was */

/* clang-format off */
enum sonde_series_unit {
#define X(id, name) SONDE_SERIES_##id,
    SONDE_SERIES_UNIT_MAP(X)
#undef X
    SONDE_SERIES_UNIT_COUNT
};
/* clang-format on */
const char *sonde_series_unit_name(enum sonde_series_unit unit);

struct sonde_series_about {
    uint32_t process, device; /* device as in LANE: 0 none, or not known which */
    const char *name;         /* of constants, or the measurement's */
    enum sonde_series_unit unit;
};

/* By process, device; those that the measurement has rows of. */
size_t sonde_series_count(const struct sonde_series *series);
const struct sonde_series_about *sonde_series_about(const struct sonde_series *series, size_t number);

struct sonde_series_bin {
    uint64_t least, most, last;
    double mean;
};

struct sonde_series_line { /* one series in an answer */
    uint32_t number;
    bool partial;          /* rows were not read: bins are wider than they might be, or there is none */
    uint64_t from_ns, bin_ns; /* of the first bin; of all */
    SONDE_VECTOR(struct sonde_series_bin) bins;
};

struct sonde_series_question {
    const uint32_t *numbers;  /* of series, each once; NULL: all */
    size_t count;
    uint64_t from_ns, to_ns;  /* to_ns 0: the run's end */
    uint32_t pixels;          /* 1 to SONDE_TIMELINE_PIXELS */
    bool exact;               /* read whatever is needed */
    uint64_t rows_most;       /* else no more operations than so many are read; 0 = 4 million */
};

struct sonde_series_answer {  /* ready when zeroed */
    uint64_t from_ns, to_ns, bin_ns; /* the range, widened to whole bins */
    uint64_t read_rows;       /* in the chunks that had to be read for it */
    bool partial;             /* one of the lines is */
    SONDE_VECTOR(struct sonde_series_line) lines; /* as they were asked for */
};

/* 0; EINVAL (an empty range, no pixels or too many, a series twice), ENOTFOUND (no such series) with `diag`; ENOMEM. fini in either case. */
int sonde_series_ask(struct sonde_series *series, const struct sonde_series_question *question, struct sonde_series_answer *answer,
                     struct sonde_diag *diag);
void sonde_series_answer_fini(struct sonde_series_answer *answer);

/* Is it known from when to when the operation was in flight: enqueued (the entry of its API call), and not ended on the device? */
static inline bool sonde_op_has_flight(const struct sonde_row_op *op)
{
    return !(op->flags & SONDE_OP_NO_TIMES) && op->start_ns && op->enter_ns && op->end_ns >= op->start_ns && op->end_ns >= op->enter_ns;
}

#endif

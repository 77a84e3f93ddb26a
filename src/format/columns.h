/* columns.h - which columns each table has, in which order, and how each is predicted.
 *
 * Only the encoder needs these tables: every chunk names its own columns and
 * predictors (docs/format.md, "Columns"), so a decoder follows the chunk. A
 * change here is therefore no change of the format.
 *
 * Order matters: a column may refer only to one that stands before it, and a
 * GAP or AFTER column is followed by `span` DIFF columns, each to the one
 * before it.
 */
#ifndef SONDE_FORMAT_COLUMNS_H
#define SONDE_FORMAT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "rows.h"

enum sonde_predictor {
    SONDE_PREDICT_ZERO  = 0, /* nothing: the value itself */
    SONDE_PREDICT_DELTA = 1, /* the previous row's value */
    SONDE_PREDICT_DIFF  = 2, /* this row's value of column `ref` */
    SONDE_PREDICT_GAP   = 3, /* the later of: the previous row's value of the last of the `span`
                                columns that follow; this row's value of column `ref` */
    SONDE_PREDICT_BYTES = 4, /* no integer: `width` bytes, row after row */
    SONDE_PREDICT_SPARSE = 5, /* zeros among numbers: 0 for 0, else 1 + zigzag of the distance
                                 to the last value that was not 0 */
    SONDE_PREDICT_AFTER = 6, /* the previous row's value of the last of the `span` columns that follow */
};

#define SONDE_COLUMNS_MAX 64

struct sonde_column {
    uint8_t  predictor, ref, span;
    uint16_t width, offset;
};

#define FIELD(row, field) (uint16_t)sizeof(((struct row *)0)->field), (uint16_t)offsetof(struct row, field)
#define ZERO(row, field) { SONDE_PREDICT_ZERO, 0, 0, FIELD(row, field) }
#define DELTA(row, field) { SONDE_PREDICT_DELTA, 0, 0, FIELD(row, field) }
#define DIFF(row, field, ref) { SONDE_PREDICT_DIFF, ref, 0, FIELD(row, field) }
#define GAP(row, field, ref, span) { SONDE_PREDICT_GAP, ref, span, FIELD(row, field) }
#define AFTER(row, field, span) { SONDE_PREDICT_AFTER, 0, span, FIELD(row, field) }
#define SPARSE(row, field) { SONDE_PREDICT_SPARSE, 0, 0, FIELD(row, field) }
#define BYTES(row, field) { SONDE_PREDICT_BYTES, 0, 0, FIELD(row, field) }

static const struct sonde_column columns_frame[] = {
    ZERO(sonde_row_frame, kind), ZERO(sonde_row_frame, op), DELTA(sonde_row_frame, module),
    DELTA(sonde_row_frame, offset), DELTA(sonde_row_frame, name), ZERO(sonde_row_frame, flags),
};
static const struct sonde_column columns_node[] = {
    DELTA(sonde_row_node, parent), DELTA(sonde_row_node, frame),
};
static const struct sonde_column columns_module[] = {
    DELTA(sonde_row_module, path), DELTA(sonde_row_module, build_id), DELTA(sonde_row_module, base),
    DIFF(sonde_row_module, start, 2), DIFF(sonde_row_module, end, 3), ZERO(sonde_row_module, generation),
    ZERO(sonde_row_module, reserved),
};
static const struct sonde_column columns_pycode[] = {
    DELTA(sonde_row_pycode, name), DELTA(sonde_row_pycode, file), ZERO(sonde_row_pycode, first_line),
    DELTA(sonde_row_pycode, line_table), ZERO(sonde_row_pycode, version),
    ZERO(sonde_row_pycode, reserved),
};
static const struct sonde_column columns_device[] = {
    ZERO(sonde_row_device, platform), ZERO(sonde_row_device, name), ZERO(sonde_row_device, vendor),
    ZERO(sonde_row_device, driver), ZERO(sonde_row_device, kind), ZERO(sonde_row_device, backend),
    ZERO(sonde_row_device, memory_bytes), ZERO(sonde_row_device, compute_units), ZERO(sonde_row_device, reserved),
};
static const struct sonde_column columns_lane[] = {
    ZERO(sonde_row_lane, kind), ZERO(sonde_row_lane, device), ZERO(sonde_row_lane, context),
    ZERO(sonde_row_lane, flags), DELTA(sonde_row_lane, name), DELTA(sonde_row_lane, tid),
    ZERO(sonde_row_lane, threads), ZERO(sonde_row_lane, tracer), DELTA(sonde_row_lane, start_ns),
    DIFF(sonde_row_lane, end_ns, 8), ZERO(sonde_row_lane, seen), DIFF(sonde_row_lane, done, 10),
    ZERO(sonde_row_lane, unmatched), ZERO(sonde_row_lane, bad_time),
    BYTES(sonde_row_lane, dropped), BYTES(sonde_row_lane, reserved),
};
static const struct sonde_column columns_work[] = {
    ZERO(sonde_row_work, dims), ZERO(sonde_row_work, registers),
    BYTES(sonde_row_work, global), BYTES(sonde_row_work, local), BYTES(sonde_row_work, cluster),
    ZERO(sonde_row_work, static_shared), ZERO(sonde_row_work, dynamic_shared),
    ZERO(sonde_row_work, local_bytes), ZERO(sonde_row_work, occupancy), ZERO(sonde_row_work, limiter),
    ZERO(sonde_row_work, source), ZERO(sonde_row_work, target),
    ZERO(sonde_row_work, source_device), ZERO(sonde_row_work, target_device),
};
static const struct sonde_column columns_object[] = {
    ZERO(sonde_row_object, kind), ZERO(sonde_row_object, node), ZERO(sonde_row_object, lane),
    ZERO(sonde_row_object, flags), ZERO(sonde_row_object, bytes), DELTA(sonde_row_object, address),
    DELTA(sonde_row_object, alloc_ns), ZERO(sonde_row_object, free_ns), ZERO(sonde_row_object, first_use_ns),
    ZERO(sonde_row_object, last_use_ns), ZERO(sonde_row_object, uses), ZERO(sonde_row_object, device),
    ZERO(sonde_row_object, parent),
};
static const struct sonde_column columns_profile[] = {
    DELTA(sonde_row_profile, node), ZERO(sonde_row_profile, lane), ZERO(sonde_row_profile, count),
    ZERO(sonde_row_profile, sum_ns), ZERO(sonde_row_profile, min_ns), DIFF(sonde_row_profile, max_ns, 4),
    ZERO(sonde_row_profile, mean_ns), ZERO(sonde_row_profile, m2), ZERO(sonde_row_profile, bytes),
    ZERO(sonde_row_profile, queued_submit_ns), ZERO(sonde_row_profile, submit_start_ns),
    ZERO(sonde_row_profile, enqueue_queued_ns), DIFF(sonde_row_profile, timed, 2),
    ZERO(sonde_row_profile, failed), ZERO(sonde_row_profile, work), ZERO(sonde_row_profile, reserved),
    BYTES(sonde_row_profile, histogram),
};
static const struct sonde_column columns_histogram[] = {
    BYTES(sonde_row_histogram, count),
};
static const struct sonde_column columns_clock[] = {
    ZERO(sonde_row_clock, device), ZERO(sonde_row_clock, reserved), DELTA(sonde_row_clock, host_ns),
    DELTA(sonde_row_clock, device_ns), ZERO(sonde_row_clock, bound_ns),
};
static const struct sonde_column columns_note[] = {
    DELTA(sonde_row_note, at_ns), BYTES(sonde_row_note, text),
};
/* An operation is entered, queued, submitted, started and ended, each shortly
 * after the last. columns_otherwise (below) says where an encoder has a choice. */
static const struct sonde_column columns_op[] = {
    SPARSE(sonde_row_op, correlation), DELTA(sonde_row_op, enter_ns), DIFF(sonde_row_op, queued_ns, 1),
    DIFF(sonde_row_op, submit_ns, 2), GAP(sonde_row_op, start_ns, 3, 1), DIFF(sonde_row_op, end_ns, 4),
    ZERO(sonde_row_op, bytes), ZERO(sonde_row_op, node), ZERO(sonde_row_op, work),
    ZERO(sonde_row_op, object), ZERO(sonde_row_op, kind), ZERO(sonde_row_op, flags),
};
static const struct sonde_column columns_call[] = {
    SPARSE(sonde_row_call, correlation), DELTA(sonde_row_call, enter_ns),
    DIFF(sonde_row_call, leave_ns, 1), ZERO(sonde_row_call, node), ZERO(sonde_row_call, lane),
};
static const struct sonde_column columns_range[] = {
    DELTA(sonde_row_range, begin_ns), DIFF(sonde_row_range, end_ns, 0), ZERO(sonde_row_range, payload),
    ZERO(sonde_row_range, name), ZERO(sonde_row_range, domain), ZERO(sonde_row_range, category),
    ZERO(sonde_row_range, payload_type), ZERO(sonde_row_range, flags),
};
static const struct sonde_column columns_sample[] = {
    DELTA(sonde_row_sample, time_ns), ZERO(sonde_row_sample, cpu_ns), ZERO(sonde_row_sample, node),
    ZERO(sonde_row_sample, flags),
};
static const struct sonde_column columns_switch[] = {
    DELTA(sonde_row_switch, out_ns), DIFF(sonde_row_switch, in_ns, 0), ZERO(sonde_row_switch, flags),
    ZERO(sonde_row_switch, reserved),
};
static const struct sonde_column columns_wait[] = {
    DELTA(sonde_row_wait, enter_ns), SPARSE(sonde_row_wait, waiter), SPARSE(sonde_row_wait, awaited),
    ZERO(sonde_row_wait, lane), ZERO(sonde_row_wait, device),
};
static const struct sonde_column columns_sleep[] = {
    DELTA(sonde_row_sleep, from_ns), DIFF(sonde_row_sleep, to_ns, 0), ZERO(sonde_row_sleep, node),
    ZERO(sonde_row_sleep, kind),
};
static const struct sonde_column columns_pause[] = {
    DELTA(sonde_row_pause, from_ns), ZERO(sonde_row_pause, to_ns),
};
static const struct sonde_column columns_symbol[] = {
    DELTA(sonde_row_symbol, frame), ZERO(sonde_row_symbol, depth), DELTA(sonde_row_symbol, function),
    DELTA(sonde_row_symbol, file), ZERO(sonde_row_symbol, line), DELTA(sonde_row_symbol, module),
};
static const struct sonde_column columns_process[] = {
    { SONDE_PREDICT_BYTES, 0, 0, sizeof(struct sonde_live_header), 0 },
};
static const struct sonde_column columns_index[] = {
    DELTA(sonde_row_index, offset), ZERO(sonde_row_index, size), ZERO(sonde_row_index, table),
    ZERO(sonde_row_index, flags), ZERO(sonde_row_index, owner), ZERO(sonde_row_index, count),
    DELTA(sonde_row_index, first), DELTA(sonde_row_index, time_min), DIFF(sonde_row_index, time_max, 7),
};

/* Other predictors for a few neighbouring columns. In this order, each is weighed
 * against what was taken before it, and the encoder takes what fits a chunk better.
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
#define OTHERWISE_COLUMNS 4
static const struct {
    uint32_t table, index, count; /* index: of the first of them */
    struct sonde_column columns[OTHERWISE_COLUMNS];
} columns_otherwise[] = {
    { SONDE_TABLE_OP, 1, 2, { AFTER(sonde_row_op, enter_ns, 1), DIFF(sonde_row_op, queued_ns, 1) } },
    { SONDE_TABLE_OP, 3, 2, { GAP(sonde_row_op, submit_ns, 2, 2), DIFF(sonde_row_op, start_ns, 3) } },
    { SONDE_TABLE_OP, 1, 4, { DELTA(sonde_row_op, enter_ns), SPARSE(sonde_row_op, queued_ns),
                              DIFF(sonde_row_op, submit_ns, 2), GAP(sonde_row_op, start_ns, 1, 1) } },
    { SONDE_TABLE_CALL, 1, 2, { AFTER(sonde_row_call, enter_ns, 1), DIFF(sonde_row_call, leave_ns, 1) } },
    { SONDE_TABLE_SWITCH, 0, 2, { AFTER(sonde_row_switch, out_ns, 1), DIFF(sonde_row_switch, in_ns, 0) } },
};
#define OTHERWISE_COUNT (sizeof columns_otherwise / sizeof *columns_otherwise)

#undef FIELD
#undef ZERO
#undef DELTA
#undef DIFF
#undef GAP
#undef AFTER
#undef BYTES
#undef SPARSE

#define TABLE_COLUMNS(table, list) [SONDE_TABLE_##table] = { list, sizeof list / sizeof *list }
static const struct {
    const struct sonde_column *columns;
    uint32_t count;
} table_columns[SONDE_TABLE_COUNT] = {
    TABLE_COLUMNS(FRAME, columns_frame),     TABLE_COLUMNS(NODE, columns_node),
    TABLE_COLUMNS(MODULE, columns_module),   TABLE_COLUMNS(PYCODE, columns_pycode),
    TABLE_COLUMNS(DEVICE, columns_device),   TABLE_COLUMNS(LANE, columns_lane),
    TABLE_COLUMNS(WORK, columns_work),       TABLE_COLUMNS(OBJECT, columns_object),
    TABLE_COLUMNS(PROFILE, columns_profile), TABLE_COLUMNS(HISTOGRAM, columns_histogram),
    TABLE_COLUMNS(CLOCK, columns_clock),     TABLE_COLUMNS(NOTE, columns_note),
    TABLE_COLUMNS(OP, columns_op),           TABLE_COLUMNS(CALL, columns_call),
    TABLE_COLUMNS(SYMBOL, columns_symbol),   TABLE_COLUMNS(PROCESS, columns_process),
    TABLE_COLUMNS(INDEX, columns_index),     TABLE_COLUMNS(RANGE, columns_range),
    TABLE_COLUMNS(SAMPLE, columns_sample),   TABLE_COLUMNS(SWITCH, columns_switch),
    TABLE_COLUMNS(WAIT, columns_wait),       TABLE_COLUMNS(PAUSE, columns_pause),
    TABLE_COLUMNS(SLEEP, columns_sleep),
};
#undef TABLE_COLUMNS

#endif

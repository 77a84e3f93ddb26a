/* rows.h - the records of a measurement, as they lie in memory.
 *
 * The same rows exist in two places: raw, in the segments of `live.sonde`, a
 * shared file mapping that the agent fills while the program runs and that
 * outlives SIGKILL; and as columns, in the chunks of `data.sonde`. Sealing
 * turns the first into the second. docs/developers/format.md is the specification.
 *
 * All integers little-endian. Sizes are pinned below: a change is a new
 * SONDE_FORMAT_VERSION; a new table alone is not (docs/developers/format.md, "Versions").
 * Id 0 means "none" in every table; the first row of a table has id 1, unless
 * a table says otherwise.
 */
#ifndef SONDE_FORMAT_ROWS_H
#define SONDE_FORMAT_ROWS_H

#include <assert.h>
#include <stdint.h>

#include <sonde/kinds.h>

#define SONDE_FORMAT_VERSION 7u

/* ---- segments of live.sonde ------------------------------------------ */

#define SONDE_LIVE_MAGIC     0x314556494c444e53ull /* "SNDLIVE1" */
#define SONDE_SEGMENT_MAGIC  0x47455353u           /* "SSEG" */
#define SONDE_SEGMENT_BYTES  65536u
#define SONDE_SEGMENT_HEADER 64u
#define SONDE_SEGMENT_ROOM   (SONDE_SEGMENT_BYTES - SONDE_SEGMENT_HEADER)

/* Several segments of one trace lane may become one chunk: what a chunk and
 * its Huffman tables cost is shared by more rows. */
#define SONDE_CHUNK_SEGMENTS 4u
#define SONDE_CHUNK_ROOM     (SONDE_CHUNK_SEGMENTS * SONDE_SEGMENT_ROOM)

/* The tables: all that differs from one to the other stands here and in the lists of columns, which follow
 * each row below. tables.h makes one descriptor of each, and the writers, the readers, the live file and
 * docs/developers/format.md (tests/unit/format/tables.py) go by that. To add a table is its line here, its row and the list of
 * its columns; to add a column, its field and its place in that list.
 *
 *   X(name, row, properties)                        describes the process; properties: SONDE_ROWS_*
 *   T(name, row, lanes, from, to, counter, lost)    a trace: the lanes that own it, QUEUE, THREAD or SERIES; when a row began
 *       and ended (0 = it never did); where struct sonde_live_header counts its rows that found no room; what one of
 *       them is called in a report that misses some, NULL: it says so in words of its own
 *
 * Ids: `first` plus the row's number in the segment or chunk. Of STRING that of the string, of NODE segment number
 * << SONDE_NODE_SHIFT plus the row; of a trace no id but a sequence number in the lane. */
#define SONDE_TABLE_MAP(X, T)                                                                              \
    X(STRING, uint8_t, 0) /* bytes: u32 length, bytes, zero-padded to 4 */                                 \
    X(FRAME, struct sonde_row_frame, 0)                                                                    \
    X(NODE, struct sonde_row_node, SONDE_ROWS_BY_THREAD)                                                   \
    X(MODULE, struct sonde_row_module, 0)                                                                  \
    X(PYCODE, struct sonde_row_pycode, 0)                                                                  \
    X(DEVICE, struct sonde_row_device, SONDE_ROWS_FIRST)                                                   \
    X(LANE, struct sonde_row_lane, SONDE_ROWS_FIRST)                                                       \
    X(WORK, struct sonde_row_work, 0)                                                                      \
    X(OBJECT, struct sonde_row_object, 0)                                                                  \
    X(PROFILE, struct sonde_row_profile, SONDE_ROWS_FIRST)                                                 \
    X(HISTOGRAM, struct sonde_row_histogram, SONDE_ROWS_FIRST)                                             \
    X(CLOCK, struct sonde_row_clock, SONDE_ROWS_NO_ID)                                                     \
    X(NOTE, struct sonde_row_note, SONDE_ROWS_NO_ID | SONDE_ROWS_FIRST)                                    \
    T(OP, struct sonde_row_op, QUEUE, start_ns, end_ns, ledger.dropped, "operation")                       \
    T(CALL, struct sonde_row_call, THREAD, enter_ns, leave_ns, ledger.call_rows_dropped, "API call")       \
    X(SYMBOL, struct sonde_row_symbol, SONDE_ROWS_NO_ID | SONDE_ROWS_AFTERWARDS)                           \
    X(PROCESS, struct sonde_live_header, SONDE_ROWS_AFTERWARDS) /* the last one counts */                  \
    X(INDEX, struct sonde_row_index, SONDE_ROWS_AFTERWARDS) /* where the chunks are */                     \
    T(RANGE, struct sonde_row_range, THREAD, begin_ns, end_ns, ledger.range_rows_dropped, "range")         \
    T(SAMPLE, struct sonde_row_sample, THREAD, time_ns, time_ns, cpu.sample_rows_dropped, "sample")        \
    T(SWITCH, struct sonde_row_switch, THREAD, out_ns, in_ns, cpu.switch_rows_dropped, "context switch row")       \
    T(WAIT, struct sonde_row_wait, THREAD, enter_ns, enter_ns, cpu.wait_rows_dropped, "wait")              \
    X(PAUSE, struct sonde_row_pause, SONDE_ROWS_FIRST)                                                     \
    T(SLEEP, struct sonde_row_sleep, THREAD, from_ns, to_ns, cpu.sleep_rows_dropped, NULL)                 \
    X(VALUE, struct sonde_row_value, 0)                                                                    \
    X(ACCESS, struct sonde_row_access, 0)                                                                  \
    X(DUPLICATE, struct sonde_row_duplicate, 0)                                                            \
    X(FLOW, struct sonde_row_flow, 0)                                                                      \
    X(BITS, struct sonde_row_bits, 0)                                                                      \
    X(TYPE, struct sonde_row_type, SONDE_ROWS_NO_ID | SONDE_ROWS_AFTERWARDS)                               \
    X(GUESS, struct sonde_row_guess, 0)                                                                    \
    X(REMOTE, struct sonde_row_remote, 0)                                                                  \
    X(COUNTER, struct sonde_row_counter, 0)                                                                \
    T(SERIES, struct sonde_row_series, SERIES, from_ns, to_ns, series_rows_dropped, "value of a counter")  \
    X(MIGRATION, struct sonde_row_migration, 0)                                                            \
    T(MESSAGE, struct sonde_row_message, THREAD, enter_ns, leave_ns, message_rows_dropped, "message")      \
    X(STALL, struct sonde_row_stall, 0)                                                                    \
    X(INSTRUCTION, struct sonde_row_instruction, SONDE_ROWS_NO_ID | SONDE_ROWS_AFTERWARDS)                 \
    X(ARRAY, struct sonde_row_array, 0)                                                                    \
    X(CELL, struct sonde_row_cell, SONDE_ROWS_NO_ID)                                                       \
    X(BASE, struct sonde_row_base, SONDE_ROWS_NO_ID | SONDE_ROWS_FIRST)                                    \
    X(PLACE, struct sonde_row_place, SONDE_ROWS_NO_ID | SONDE_ROWS_AFTERWARDS)                                 \
    X(TALLY, struct sonde_row_tally, 0)                                                                    \
    X(SETTING, struct sonde_row_setting, SONDE_ROWS_NO_ID | SONDE_ROWS_FIRST)                                    \
    X(JOB, struct sonde_row_job, SONDE_ROWS_NO_ID | SONDE_ROWS_FIRST)                                            \
    X(STRETCH, struct sonde_row_stretch, 0)

enum {
    SONDE_ROWS_NO_ID = 1,      /* rows are told apart by what they say; `first` is but their number */
    SONDE_ROWS_BY_THREAD = 2,  /* owner: thread slot; else 0, of a trace the lane */
    SONDE_ROWS_FIRST = 4,      /* the agent keeps room for them when the memory budget is spent */
    SONDE_ROWS_AFTERWARDS = 8, /* written by sealing and after it: never in live.sonde */
};

/* clang-format off */
enum sonde_table {
    SONDE_TABLE_FREE = 0, /* a segment that holds nothing */
#define X(name, ...) SONDE_TABLE_##name,
    SONDE_TABLE_MAP(X, X)
#undef X
    SONDE_TABLE_COUNT
};
/* clang-format on */

/* The traces by themselves, numbered from 0. */
/* clang-format off */
enum sonde_trace {
#define X(name, ...)
#define T(name, ...) SONDE_TRACE_##name,
    SONDE_TABLE_MAP(X, T)
#undef T
    SONDE_TRACES
};
/* clang-format on */

/* Tables of lanes, whose rows have times; all others describe the process. */
static inline int sonde_table_is_trace(unsigned table)
{
    const uint64_t traces = 0
#define T(name, ...) | 1ull << SONDE_TABLE_##name
        SONDE_TABLE_MAP(X, T);
#undef T
    return table < 64 && (traces >> table & 1);
}
#undef X
static_assert(SONDE_TABLE_COUNT <= 64, "a bit each");

struct sonde_segment {      /* one per SONDE_SEGMENT_BYTES, at a multiple of it */
    uint32_t magic;
    uint16_t table;         /* enum sonde_table */
    uint16_t flags;
    uint32_t owner;         /* of a trace: lane id; NODE: thread slot; else 0 */
    uint32_t used;          /* rows committed (STRING: bytes); stored with release order */
    uint64_t first;         /* id or sequence number of the first row */
    uint32_t row_bytes;
    uint32_t reserved[9];
};

/* ---- the first segment of live.sonde: the process --------------------- */

enum sonde_process_state {
    SONDE_PROCESS_RUNNING = 1, /* still so after the end: killed, _exit, exec, crash */
    SONDE_PROCESS_EXITED = 2,  /* the final flush ran */
    SONDE_PROCESS_OFF = 3,     /* the agent switched itself off; a NOTE says why */
};

struct sonde_ledger {
    uint64_t seen;                        /* operations the program enqueued while recording */
    uint64_t done;                        /* of those, finished and counted in the profile */
    uint64_t failed;                      /* of done: ended with an error status */
    uint64_t no_times;                    /* of done: the runtime gave no times */
    uint64_t dropped[16];                 /* by enum sonde_drop */
    uint64_t unmatched;                   /* completions without a submission, or the reverse, at the end */
    uint64_t bad_time;                    /* zero, reversed, or before their API call by more than the bound */
    uint64_t early_in_bound;              /* started before the API call, within the clock's bound */
    uint64_t api_calls;
    uint64_t unwinds, unwind_failed, unwind_truncated;
    uint64_t unwind_checked, unwind_mismatched;
    uint64_t python_walks, python_failed;
    uint64_t contexts_folded;
    uint64_t hook_ns;                     /* overhead on the program's threads */
    uint64_t thread_cpu_ns;               /* CPU time of our threads */
    uint64_t vendor_ns;                   /* overhead the vendor's tool library reports; 0 = none known */
    uint64_t written_bytes;
    uint64_t busy_clipped_ns;             /* device time found too late to be placed: busy times are lower bounds by up to this */
    uint64_t calls_dropped;               /* API calls in no figure of the profile: no room, or after the final flush */
    uint64_t call_rows_dropped;           /* CALL rows missing in the trace; the profile has the calls */
    uint64_t busy_left_out;               /* operations on devices beyond the 63rd: in no busy time */
    uint64_t range_rows_dropped;          /* RANGE rows missing in the trace */
    uint64_t pauses_dropped;              /* PAUSE rows missing: their time counts as recorded */
    uint64_t unplaced;                    /* reported by the runtime, of no call that is known: in no other figure */
    uint64_t silent_launches;             /* of graphs and batches: nothing was reported of them */
};

enum sonde_cpu_sampling {
    SONDE_CPU_NONE = 0,
    SONDE_CPU_PERF = 1,   /* perf events, one per thread, signal it */
    SONDE_CPU_TIMERS = 2, /* timers on the threads' CPU clocks do */
};
/* The CPU side. Samples are counted when they are taken; each stands for the CPU
 * time since the thread's last one. */
struct sonde_cpu_ledger {
    uint64_t samples;
    uint64_t deferred;            /* of samples: landed in a hook, so that the API call stands for them */
    uint64_t lost;                /* found no room, or came where none could be taken; the next one stands for their time */
    uint64_t sample_rows_dropped; /* SAMPLE rows missing in the trace; the profile has them */
    uint64_t switch_rows_dropped; /* SWITCH rows missing, those that the kernel lost included */
    uint64_t wait_rows_dropped;   /* WAIT rows missing */
    uint64_t threads;             /* threads that were sampled */
    uint64_t threads_missed;      /* ended before they were seen, or could not be sampled */
    uint64_t handler_ns;          /* overhead of the samples on the program's threads; not part of hook_ns */
    uint64_t process_ns;          /* CPU time of the program's threads while recording; 0 unknown */
    uint64_t sampled_ns;          /* of that, what samples stand for; the rest came after a thread's last one */
    uint64_t before_ns;           /* CPU time of the process from exec_ns to start_ns; 0 unknown */
    uint64_t sleep_rows_dropped;  /* SLEEP rows missing, those of waits whose context could not be had included */
};

/* How a process is recorded: in struct sonde_live_header.trace. */
enum {
    SONDE_RECORDED_PROFILE = 0,
    SONDE_RECORDED_TRACE = 1,
    SONDE_RECORDED_LAST = 2, /* its last seconds: only in live.sonde; who reads it makes a trace of these of it (last.c) */
};

#define SONDE_BUSY_DEVICES 64u /* device ids of which a header has busy times */

struct sonde_live_header {   /* at offset 0; the first segment follows at SONDE_SEGMENT_BYTES */
    uint64_t magic;          /* SONDE_LIVE_MAGIC */
    uint32_t version;        /* SONDE_FORMAT_VERSION */
    uint32_t segment_bytes;
    uint32_t segment_count;  /* segments used so far, the header's included: those behind hold no rows. 0 unknown */
    uint32_t state;          /* enum sonde_process_state */
    uint32_t pid;
    uint32_t trace;          /* SONDE_RECORDED_* */
    uint64_t start_ns;       /* agent start, CLOCK_MONOTONIC_RAW */
    uint64_t stop_ns;        /* last time the monitor thread wrote this */
    uint64_t wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC_RAW at start */
    uint64_t exec_ns;        /* start of the program: its exec, or its fork when it is a child's; same axis; 0 unknown */
    uint64_t clock_bound_ns; /* largest error bound of the device clocks seen */
    uint32_t python_version; /* 0x030b for 3.11; 0 none */
    uint32_t held_us;        /* wall time that threads of the program stood still for the agent's start, its flushes, and room */
    char executable[512]; /* path, NUL-terminated, cut when longer */
    struct sonde_ledger ledger; /* totals; per lane in struct sonde_row_lane */
    struct { uint64_t count, busy_ns, first_ns, last_ns; } device_busy[SONDE_BUSY_DEVICES]; /* [device id], union of intervals */
    struct { uint64_t kernel_ns, copy_ns; } device_group[SONDE_BUSY_DEVICES]; /* [device id], unions */
    uint32_t rank, local_rank; /* of a parallel job, plus one; 0 = no launcher said so */
    uint32_t rank_count;       /* 0 unknown */
    uint32_t cpu_rate_hz;      /* samples of the CPU side per second of a thread's CPU time; 0 = not sampled */
    uint32_t cpu_sampling;     /* enum sonde_cpu_sampling */
    uint32_t cpu_switches;     /* 1: SWITCH rows tell when a thread was off the CPU */
    struct sonde_cpu_ledger cpu;
    uint64_t series_rows_dropped; /* SERIES rows missing in the trace */
    uint64_t message_rows_dropped; /* MESSAGE rows missing */
};
#define SONDE_COLUMNS_PROCESS(X, row) { BYTES, sizeof(row), 0 },
static_assert(sizeof(struct sonde_segment) == SONDE_SEGMENT_HEADER, "format");
static_assert(sizeof(struct sonde_ledger) == 8 * (16 + 28), "format");
static_assert(sizeof(struct sonde_live_header) == 4160, "format");
static_assert(sizeof(struct sonde_live_header) <= SONDE_SEGMENT_BYTES, "format");

/* ---- tables ------------------------------------------------------------ */

/* After each row come its columns, in the order in which a chunk holds them, each with its predictor
 * (enum sonde_predictor in tables.h): ZERO, DELTA, DIFF(ref), GAP(ref, span), AFTER(span), SPARSE or BYTES. `ref` is
 * the number of an earlier column; `span` columns follow a GAP or AFTER, each DIFF to the one before it. Only the
 * encoder goes by these lists: every chunk names its own columns and predictors (docs/developers/format.md, "Columns"), so
 * another order or predictor is no change of the format. */
#define SONDE_COLUMNS_STRING(X, row)

enum sonde_frame_kind {
    SONDE_FRAME_NATIVE = 1, /* module, offset = address - load bias of the return address */
    SONDE_FRAME_PYTHON = 2, /* module = pycode id, offset = instruction offset in bytes */
    SONDE_FRAME_API = 3,    /* the API call; name = string id, offset = api number */
    SONDE_FRAME_OP = 4,     /* the operation (placeholder); kind = op kind in `op`; name = kernel name */
    SONDE_FRAME_UNKNOWN = 5,/* code in no module (JIT); offset = address, but rounded down to a page without SONDE_FRAME_ADDRESS */
    SONDE_FRAME_CUT = 6,    /* outer frames are missing here: too deep, or unwinding failed */
    SONDE_FRAME_LINK = 7,   /* what is below was prepared elsewhere: offset = node id of that context
                             * (a graph node's creation; the forward call of a backward operator) */
    SONDE_FRAME_RANGE = 8,  /* a range that the program named (NVTX, an operator): name = string id,
                             * module = string id of its domain, 0 = the default one */
};
enum {
    SONDE_FRAME_EXACT = 1,   /* interrupted or innermost, not a return address */
    SONDE_FRAME_ADDRESS = 2, /* of unknown code: offset is its address, not only its page */
};
struct sonde_row_frame {
    uint16_t kind;   /* enum sonde_frame_kind */
    uint16_t op;     /* FRAME_OP: enum sonde_op_kind */
    uint32_t module; /* module or pycode id */
    uint64_t offset;
    uint32_t name;   /* string id */
    uint32_t flags;  /* SONDE_FRAME_EXACT, SONDE_FRAME_ADDRESS */
};
#define SONDE_COLUMNS_FRAME(X, row)                                                                     \
    X(row, kind, ZERO) X(row, op, ZERO) X(row, module, DELTA) X(row, offset, DELTA) X(row, name, DELTA) \
    X(row, flags, ZERO)
struct sonde_row_node {
    uint32_t parent; /* node id, 0 = the root of its thread slot */
    uint32_t frame;
};
#define SONDE_COLUMNS_NODE(X, row) X(row, parent, DELTA) X(row, frame, DELTA)
struct sonde_row_module {
    uint32_t path;     /* string id */
    uint32_t build_id; /* string id of the raw bytes */
    uint64_t base;     /* load bias */
    uint64_t start, end;
    uint32_t generation;
    uint32_t reserved;
};
#define SONDE_COLUMNS_MODULE(X, row)                                                                            \
    X(row, path, DELTA) X(row, build_id, DELTA) X(row, base, DELTA) X(row, start, DIFF(2)) X(row, end, DIFF(3)) \
    X(row, generation, ZERO) X(row, reserved, ZERO)
struct sonde_row_pycode {
    uint32_t name, file;  /* string ids: qualified name, file name */
    uint32_t first_line;
    uint32_t line_table;  /* string id of the raw bytes */
    uint32_t version;     /* 0x0309 lnotab, 0x030a PEP 626, 0x030b.. location table */
    uint32_t reserved;
};
#define SONDE_COLUMNS_PYCODE(X, row)                                                           \
    X(row, name, DELTA) X(row, file, DELTA) X(row, first_line, ZERO) X(row, line_table, DELTA) \
    X(row, version, ZERO) X(row, reserved, ZERO)
struct sonde_row_device {
    uint32_t platform, name, vendor, driver; /* string ids */
    uint32_t kind;    /* as sonde_device_info.kind */
    uint32_t backend; /* string id: "opencl" */
    uint64_t memory_bytes;
    uint32_t compute_units; /* multiprocessors; 0 unknown */
    uint32_t pci;           /* its address: domain << 16 | bus << 8 | device << 3 (sonde_parse_pci); 0 unknown. Two processes, or tools, mean one device */
};
#define SONDE_COLUMNS_DEVICE(X, row)                                                                       \
    X(row, platform, ZERO) X(row, name, ZERO) X(row, vendor, ZERO) X(row, driver, ZERO) X(row, kind, ZERO) \
    X(row, backend, ZERO) X(row, memory_bytes, ZERO) X(row, compute_units, ZERO) X(row, pci, ZERO)
enum {
    SONDE_LANE_KIND_THREAD = 1,
    SONDE_LANE_KIND_QUEUE = 2,
    SONDE_LANE_KIND_SERIES = 3, /* a counter of a device over time: no operation, call or sample is on it */
};
struct sonde_row_lane {
    uint32_t kind;
    uint32_t device;   /* queue and series lanes */
    uint32_t context;  /* queue lanes; of a series lane the string of its unit, 0 none */
    uint32_t flags;    /* SONDE_LANE_* of kinds.h */
    uint32_t name;     /* string id; of a series lane the metric */
    uint32_t tid;      /* thread lanes: kernel thread id of the first thread */
    uint32_t threads;  /* thread lanes: how many threads shared the lane, one after the other */
    uint32_t tracer;   /* tracing thread that serves it */
    uint64_t start_ns, end_ns; /* 0 = unknown */
    uint64_t seen, done, unmatched, bad_time;
    uint64_t dropped[8];
    uint64_t waiting;   /* queue lanes: operations that are asked about and have not finished; 0 where the runtime reports them */
    uint64_t oldest;    /* node of the first of them */
    uint64_t oldest_ns; /* when its API call was entered */
    uint64_t reserved;
};
#define SONDE_COLUMNS_LANE(X, row)                                                                        \
    X(row, kind, ZERO) X(row, device, ZERO) X(row, context, ZERO) X(row, flags, ZERO) X(row, name, DELTA) \
    X(row, tid, DELTA) X(row, threads, ZERO) X(row, tracer, ZERO) X(row, start_ns, DELTA)                 \
    X(row, end_ns, DIFF(8)) X(row, seen, ZERO) X(row, done, DIFF(10)) X(row, unmatched, ZERO)             \
    X(row, bad_time, ZERO) X(row, dropped, BYTES) X(row, waiting, ZERO) X(row, oldest, ZERO)                   \
    X(row, oldest_ns, ZERO) X(row, reserved, ZERO)
/* It is no line of execution: views and exports of those leave it out. */
static inline int sonde_lane_is_series(const struct sonde_row_lane *lane)
{
    return lane->kind == SONDE_LANE_KIND_SERIES;
}
/* What an operation was asked to do beyond its bytes: struct sonde_work of backend.h. */
struct sonde_row_work {
    uint32_t dims, registers;
    uint64_t global[3], local[3]; /* local 0 = the runtime's choice */
    uint32_t cluster[3];
    uint32_t static_shared, dynamic_shared, local_bytes;
    uint16_t occupancy, limiter;  /* thousandths; enum sonde_limiter */
    uint16_t source, target;      /* copies: enum sonde_memory */
    uint32_t source_device, target_device;
    uint32_t algorithm, protocol; /* collectives: string ids; 0 unknown */
    uint32_t channels, rank, ranks, peer;
};
#define SONDE_COLUMNS_WORK(X, row)                                                                               \
    X(row, dims, ZERO) X(row, registers, ZERO) X(row, global, BYTES) X(row, local, BYTES) X(row, cluster, BYTES) \
    X(row, static_shared, ZERO) X(row, dynamic_shared, ZERO) X(row, local_bytes, ZERO) X(row, occupancy, ZERO)   \
    X(row, limiter, ZERO) X(row, source, ZERO) X(row, target, ZERO) X(row, source_device, ZERO)                  \
    X(row, target_device, ZERO) X(row, algorithm, ZERO) X(row, protocol, ZERO) X(row, channels, ZERO)            \
    X(row, rank, ZERO) X(row, ranks, ZERO) X(row, peer, ZERO)
enum {
    SONDE_OBJECT_USES_PARTIAL = 1, /* kernels may have used it unseen: their arguments are not known */
    SONDE_OBJECT_LOOKED_AT = 2,    /* accesses to it were looked at: they are told of an object that was allocated where it was */
};
/* Beyond so many, a new object takes the row of one that was freed, or none. */
#define SONDE_OBJECTS_MAX 262144u
struct sonde_row_object {
    uint32_t kind;  /* enum sonde_object_kind */
    uint32_t node;  /* calling context of the allocation */
    uint32_t lane;  /* thread lane */
    uint32_t flags; /* SONDE_OBJECT_* */
    uint64_t bytes, address, alloc_ns, free_ns; /* free_ns 0 = alive at the end */
    uint64_t first_use_ns, last_use_ns; /* entry of the API calls of the first and last operation that used it; 0 none */
    uint64_t uses;  /* operations that named it, or a part of it, and were submitted */
    uint32_t device; /* where it lies; 0 = on the host, on whichever device uses it, or unknown */
    uint32_t parent; /* object that it is a part of (a sub-buffer, a buffer's image): its bytes are that one's; 0 none */
};
#define SONDE_COLUMNS_OBJECT(X, row)                                                                 \
    X(row, kind, ZERO) X(row, node, ZERO) X(row, lane, ZERO) X(row, flags, ZERO) X(row, bytes, ZERO) \
    X(row, address, DELTA) X(row, alloc_ns, DELTA) X(row, free_ns, ZERO) X(row, first_use_ns, ZERO)  \
    X(row, last_use_ns, ZERO) X(row, uses, ZERO) X(row, device, ZERO) X(row, parent, ZERO)
/* What an operation (`node`: its OP leaf) did to the values of `object`, summed over all of it that were looked at:
 * struct sonde_value_change of backend.h. Object 0: how many operations were not looked at whole, and why (missed 0: were);
 * its flags are of engines, and where not all blocks are looked at (--values-blocks), elements1 is how many blocks the launches had that were,
 * elements2 how many of these were. */
enum {
    SONDE_VALUE_MAYBE = 1, /* of some, what they wrote is not known: all that they may have written was compared */
    SONDE_VALUE_RACED = 2, /* the object was written by another operation, of another queue or one out of order, perhaps meanwhile, or the host may write it */
};
struct sonde_row_value {
    uint32_t node, object;
    uint16_t flags;         /* SONDE_VALUE_*; of object 0: 1 << enum sonde_engine, of each that some kernels had */
    uint16_t missed;        /* enum sonde_value_missed, of object 0; else 0 */
    uint32_t element_bytes; /* as the operation's code has the object's elements; 0 unknown */
    uint64_t operations;
    uint64_t bytes;         /* compared */
    uint64_t elements1, elements2, elements4, elements8;     /* whole ones of 1, 2, 4 and 8 bytes within these, */
    uint64_t unchanged1, unchanged2, unchanged4, unchanged8; /* and those that hold what they held before */
};
#define SONDE_COLUMNS_VALUE(X, row)                                                                                 \
    X(row, node, ZERO) X(row, object, ZERO) X(row, flags, ZERO) X(row, missed, ZERO) X(row, element_bytes, ZERO)    \
    X(row, operations, ZERO) X(row, bytes, ZERO) X(row, elements1, ZERO) X(row, elements2, ZERO)                    \
    X(row, elements4, ZERO) X(row, elements8, ZERO) X(row, unchanged1, ZERO) X(row, unchanged2, ZERO)               \
    X(row, unchanged4, ZERO) X(row, unchanged8, ZERO)
/* An access in the code of a kernel, of one calling context, to one object (0: not known): what its elements were. Bits are the
 * element's own, zero-extended; least and most are signed integers, of floats (4 and 8 bytes) as integers that are ordered as
 * they are: a negative one has all bits but the sign flipped. */
struct sonde_row_access {
    uint32_t node, object;
    uint32_t file, line;    /* of the kernel's source: a string; 0 unknown */
    uint32_t number;        /* in the kernel's code, from 0 */
    uint16_t element_bytes;
    uint8_t what, type;     /* enum sonde_access, enum sonde_element */
    uint64_t elements;      /* accessed */
    uint64_t any, all;      /* their OR, their AND; of some, only that both are equal where all are one value, and that a NaN is in `any` */
    uint64_t least, most;   /* of numbers, in two's complement: NaNs are left out, but the least of floats may be INT32_MIN where one was */
    uint64_t checked;       /* of the elements, so many were compared with `value` and a line: */
    uint64_t equal, lined;
    uint64_t value;         /* bits of an element */
    uint64_t slope, offset; /* of elements by index from where the kernel's parameter points: integers in two's complement, or doubles; slope 0: no line,
                             * or, of elements whose type is not known, in struct sonde_row_guess */
};
#define SONDE_COLUMNS_ACCESS(X, row)                                                                              \
    X(row, node, ZERO) X(row, object, ZERO) X(row, file, ZERO) X(row, line, ZERO) X(row, number, DELTA)           \
    X(row, element_bytes, ZERO) X(row, what, ZERO) X(row, type, ZERO) X(row, elements, ZERO) X(row, any, ZERO)    \
    X(row, all, ZERO) X(row, least, ZERO) X(row, most, ZERO) X(row, checked, ZERO) X(row, equal, ZERO)            \
    X(row, lined, ZERO) X(row, value, ZERO) X(row, slope, ZERO) X(row, offset, ZERO)
/* After operations (`node`: their OP leaf), all of `object` held the same values as all of `other`. */
struct sonde_row_duplicate {
    uint32_t node, object, other, reserved;
    uint64_t operations, bytes; /* of those that were looked at: how many, and the object's size summed over them */
};
#define SONDE_COLUMNS_DUPLICATE(X, row) \
    X(row, node, ZERO) X(row, object, ZERO) X(row, other, ZERO) X(row, reserved, ZERO) X(row, operations, ZERO) X(row, bytes, ZERO)
/* Operations (`to`: their OP leaf) that read or wrote an object which an operation `from` had written last, in the order in which they
 * were enqueued. */
struct sonde_row_flow {
    uint32_t from, to;    /* from 0: nobody wrote it since its allocation */
    uint32_t object, how; /* SONDE_FLOW_* */
    uint64_t operations, bytes; /* that were read or written, once for each operation */
};
#define SONDE_COLUMNS_FLOW(X, row) \
    X(row, from, ZERO) X(row, to, ZERO) X(row, object, ZERO) X(row, how, ZERO) X(row, operations, ZERO) X(row, bytes, ZERO)
/* Of an access whose type is not known while the program runs (machine code): its elements as numbers without a sign, those whose first
 * bit is 0 and those whose first bit is 1 by themselves. That is the least and the most of integers of either kind, and of floats. Where
 * least is above most there is none. */
struct sonde_row_bits {
    uint32_t access, reserved; /* its row of ACCESS */
    uint64_t least, most, least_set, most_set;
    uint32_t least4, most4, least4_set, most4_set; /* of elements of 8 bytes, both halves as elements of 4; of others 0 */
};
#define SONDE_COLUMNS_BITS(X, row)                                                                          \
    X(row, access, DELTA) X(row, reserved, ZERO) X(row, least, ZERO) X(row, most, ZERO) X(row, least_set, ZERO) \
    X(row, most_set, ZERO) X(row, least4, ZERO) X(row, most4, ZERO) X(row, least4_set, ZERO) X(row, most4_set, ZERO)
/* What the code of such an access takes its elements for, which may be parts of what the row of ACCESS calls so. */
struct sonde_row_type {
    uint32_t access;
    uint16_t element_bytes;
    uint8_t type, reserved; /* enum sonde_element */
};
#define SONDE_COLUMNS_TYPE(X, row) X(row, access, DELTA) X(row, element_bytes, ZERO) X(row, type, ZERO) X(row, reserved, ZERO)
/* Of such an access, whose row of ACCESS has but the value that was guessed: the lines, by index from where the object begins, for each
 * type that its elements may have; of elements of 8 bytes all of that of both halves as elements of 4, too. Slope 0: no line. */
struct sonde_row_guess {
    uint32_t access, value4;              /* its row of ACCESS */
    uint64_t lined, slope, offset;        /* as integers, in two's complement; so many of its `checked` lie on the line */
    uint64_t reals, slope_real, offset_real; /* as floats; doubles */
    uint64_t checked4, equal4;            /* of halves; of elements of other sizes all that follows is 0 */
    uint64_t lined4, slope4, offset4;
    uint64_t reals4, slope4_real, offset4_real;
};
#define SONDE_COLUMNS_GUESS(X, row)                                                                                  \
    X(row, access, DELTA) X(row, value4, ZERO) X(row, lined, ZERO) X(row, slope, ZERO) X(row, offset, ZERO)          \
    X(row, reals, ZERO) X(row, slope_real, ZERO) X(row, offset_real, ZERO) X(row, checked4, ZERO)                    \
    X(row, equal4, ZERO) X(row, lined4, ZERO) X(row, slope4, ZERO) X(row, offset4, ZERO) X(row, reals4, ZERO)        \
    X(row, slope4_real, ZERO) X(row, offset4_real, ZERO)
/* An access in the code of a kernel, of one calling context, to memory of another device or of the host; of line 0, number 0 and no device: how
 * many operations were looked at, or why they were not. */
struct sonde_row_remote {
    uint32_t node, object;  /* its OP leaf; what stands for the objects of one site, 0 not known */
    uint32_t file, line;    /* of the kernel's source: a string; 0 unknown */
    uint32_t number;        /* in the kernel's code, from 0 */
    uint8_t what, bytes;    /* enum sonde_access; that a thread accesses at once. Of operations the group of those that were looked at */
    uint8_t missed, engine; /* enum sonde_value_missed, enum sonde_engine, of operations; of an access the group, and SONDE_ENGINE_SANITIZER where it is an instruction of
                             * machine code, whose line is in struct sonde_row_place, else 0 */
    uint32_t device, owner; /* that executes it, 0: the row is of operations; in whose memory it is, 0: the host's, SONDE_REMOTE_OTHERS */
    uint64_t count;         /* threads that executed it; operations */
};
#define SONDE_COLUMNS_REMOTE(X, row)                                                                                  \
    X(row, node, ZERO) X(row, object, ZERO) X(row, file, ZERO) X(row, line, ZERO) X(row, number, DELTA)               \
    X(row, what, ZERO) X(row, bytes, ZERO) X(row, missed, ZERO) X(row, engine, ZERO) X(row, device, ZERO)             \
    X(row, owner, ZERO) X(row, count, ZERO)
/* Where in the source a row of REMOTE is that is an instruction of machine code. */
struct sonde_row_place {
    uint32_t remote;
    uint32_t file, line, reserved; /* a string */
};
#define SONDE_COLUMNS_PLACE(X, row) X(row, remote, DELTA) X(row, file, ZERO) X(row, line, ZERO) X(row, reserved, ZERO)
/* The counters of the header as they were at a time, of SONDE_RECORDED_LAST; at_ns 0: nothing. The first time that there is is where the recording
 * begins: nothing that ended later is missing. */
struct sonde_row_base {
    uint64_t at_ns;
    struct sonde_ledger ledger;
    struct sonde_cpu_ledger cpu;
    uint64_t series_rows_dropped, message_rows_dropped, held_us;
};
#define SONDE_COLUMNS_BASE(X, row) { BYTES, sizeof(row), 0 },
/* What a library said of itself. */
struct sonde_row_setting {
    uint32_t kind, reserved; /* enum sonde_setting_kind */
    uint32_t name, text;     /* strings: of the variable; 0 none */
    uint64_t value;          /* where there is no text */
};
#define SONDE_COLUMNS_SETTING(X, row) X(row, kind, ZERO) X(row, reserved, ZERO) X(row, name, ZERO) X(row, text, ZERO) X(row, value, ZERO)
/* Of a rank whose launcher names its jobs: one row. */
struct sonde_row_job {
    uint32_t name; /* string: the launcher's name of the job, or step */
    uint32_t reserved;
};
#define SONDE_COLUMNS_JOB(X, row) X(row, name, ZERO) X(row, reserved, ZERO)
/* A part of a data object that the program gave a name (sonde/sonde.h), each name of it once; the latest one of a byte stands. */
struct sonde_row_stretch {
    uint32_t object, name;    /* 0: in none that is known; a string */
    uint64_t offset, bytes;   /* from the object's beginning; of no object the address */
    uint64_t rows, columns;   /* of elements, row after row; 0 not known */
    uint32_t element_bytes;   /* 0 not known */
    uint32_t reserved;
    uint64_t at_ns;           /* when it was named last */
};
#define SONDE_COLUMNS_STRETCH(X, row)                                                                               \
    X(row, object, DELTA) X(row, name, DELTA) X(row, offset, DELTA) X(row, bytes, ZERO) X(row, rows, ZERO)          \
    X(row, columns, ZERO) X(row, element_bytes, ZERO) X(row, reserved, ZERO) X(row, at_ns, DELTA)
/* Objects of one size and site in memory of another device or of the host, which fall into cells: the first at the object's beginning, the last one as
 * long as is left. */
struct sonde_row_array {
    uint32_t object;        /* what stands for the objects of one site, 0 not known; SONDE_ARRAY_ALONE: this one, and no other */
    uint32_t device, owner; /* as in REMOTE */
    uint16_t shift, flags;  /* a cell has 1 << shift bytes; SONDE_ARRAY_* */
    uint64_t bytes;         /* of one object */
};
enum {
    SONDE_ARRAY_READ = 1,  /* all that was accessed stands in CELL */
    SONDE_ARRAY_ALONE = 2, /* the object has names (struct sonde_row_stretch) */
};
#define SONDE_COLUMNS_ARRAY(X, row) \
    X(row, object, ZERO) X(row, device, ZERO) X(row, owner, ZERO) X(row, shift, ZERO) X(row, flags, ZERO) X(row, bytes, ZERO)
/* Cells that follow each other, of which kernels' threads accessed as many bytes. */
struct sonde_row_cell {
    uint32_t array, kind;  /* its row of ARRAY; enum sonde_cell_accesses */
    uint32_t first, count; /* cells, from 0 */
    uint64_t bytes;        /* in each */
};
#define SONDE_COLUMNS_CELL(X, row) X(row, array, DELTA) X(row, kind, ZERO) X(row, first, DELTA) X(row, count, ZERO) X(row, bytes, ZERO)
/* What the driver moved of managed memory from one place to another, of the objects of one site, and page faults that processors met there. */
struct sonde_row_migration {
    uint32_t object;       /* that stands for the objects of one site; 0 not known */
    uint32_t from, to;     /* devices; 0 the host */
    uint32_t faults;       /* 1: page faults of `to`; 0: moves */
    uint64_t count, bytes, ns;
};
#define SONDE_COLUMNS_MIGRATION(X, row)                                                                             \
    X(row, object, ZERO) X(row, from, ZERO) X(row, to, ZERO) X(row, faults, ZERO) X(row, count, ZERO)               \
    X(row, bytes, ZERO) X(row, ns, ZERO)
/* A counter of the hardware: what it was for the operations of one calling context on one device. Metric 0: operations without values. */
struct sonde_row_counter {
    uint32_t node, device; /* its OP leaf */
    uint32_t metric, unit; /* strings: CUPTI's name, and the dimension, "" for none */
    uint64_t operations;   /* whose values are in it */
    double sum, least, most;
};
#define SONDE_COLUMNS_COUNTER(X, row)                                                                                \
    X(row, node, ZERO) X(row, device, ZERO) X(row, metric, ZERO) X(row, unit, ZERO) X(row, operations, ZERO)         \
    X(row, sum, ZERO) X(row, least, ZERO) X(row, most, ZERO)
/* What a CPU counted in the program's threads (--cpu-counters): one row for all of them, with node 0, and one for each calling context that was met when
 * a thread had counted another `period`. */
struct sonde_row_tally {
    uint32_t node;           /* as a sample's; 0: all of the process */
    uint32_t name;           /* string: perf's name of the event */
    uint64_t period;
    uint64_t samples;        /* that were taken there; node 0: that were lost, and are in no row */
    uint64_t count;          /* samples times period; node 0: what was counted, in samples or not */
    uint64_t enabled_ns, running_ns; /* node 0: of all threads, how long it should have been counted, and was; else 0 */
};
#define SONDE_COLUMNS_TALLY(X, row)                                                                                       \
    X(row, node, ZERO) X(row, name, ZERO) X(row, period, ZERO) X(row, samples, ZERO) X(row, count, ZERO)                  \
    X(row, enabled_ns, ZERO) X(row, running_ns, DIFF(5))
/* Samples of the warps of a device: at which instruction, and why they could not go on. Where `kind` is not SAMPLED, how many are of no instruction. */
struct sonde_row_stall {
    uint32_t device;         /* 0 not known */
    uint32_t function, file; /* strings: as in the code, with C++'s mangling; 0 not known */
    uint32_t line;           /* 0 unknown */
    uint32_t reason;         /* string: NVIDIA's name, "selected": the warp went on */
    uint32_t cycles;         /* between two samples of a multiprocessor */
    uint32_t kind;           /* enum sonde_stall_kind */
    uint32_t reserved;
    uint64_t code, offset;   /* a piece of code, and bytes from the function's beginning */
    uint64_t samples, idle;  /* idle: of these, in whose cycle the scheduler issued nothing */
};
#define SONDE_COLUMNS_STALL(X, row)                                                                                    \
    X(row, device, ZERO) X(row, function, ZERO) X(row, file, ZERO) X(row, line, ZERO) X(row, reason, ZERO)             \
    X(row, cycles, ZERO) X(row, kind, ZERO) X(row, reserved, ZERO) X(row, code, ZERO) X(row, offset, DELTA)            \
    X(row, samples, ZERO) X(row, idle, ZERO)
/* What an instruction is that was sampled: one row for each that is known, of all its STALL rows the first. */
struct sonde_row_instruction {
    uint32_t stall; /* that row */
    uint32_t text;  /* string: as NVIDIA's disassembler prints it */
};
#define SONDE_COLUMNS_INSTRUCTION(X, row) X(row, stall, DELTA) X(row, text, ZERO)
/* One accumulator: (calling context, lane). For an operation `node` is its OP
 * leaf and `lane` its queue; for an API call `node` is its API node, lane 0,
 * and the time is host time in the call. For samples of the CPU side `node` is
 * the innermost frame (or the API call they landed in), `lane` the thread's
 * lane, count the samples and the times the CPU time they stand for. Mean and variance: Welford's method
 * (Knuth, TAOCP vol. 2, 4.2.2, eq. 15-16). */
struct sonde_row_profile {
    uint32_t node, lane;
    uint64_t count;
    uint64_t sum_ns, min_ns, max_ns;
    double mean_ns, m2; /* m2 = sum of squared distances to the mean */
    uint64_t bytes;
    uint64_t queued_submit_ns, submit_start_ns, enqueue_queued_ns; /* sums: the queue delay's parts */
    uint64_t timed;       /* of count, those with times */
    uint64_t failed;
    uint32_t work;        /* last launch configuration */
    uint32_t reserved;
    uint32_t histogram[40]; /* block id per octave: octave k holds 2^k <= ns < 2^(k+1); 0 none; last one open */
};
#define SONDE_COLUMNS_PROFILE(X, row)                                                                    \
    X(row, node, DELTA) X(row, lane, ZERO) X(row, count, ZERO) X(row, sum_ns, ZERO) X(row, min_ns, ZERO) \
    X(row, max_ns, DIFF(4)) X(row, mean_ns, ZERO) X(row, m2, ZERO) X(row, bytes, ZERO)                   \
    X(row, queued_submit_ns, ZERO) X(row, submit_start_ns, ZERO) X(row, enqueue_queued_ns, ZERO)         \
    X(row, timed, DIFF(2)) X(row, failed, ZERO) X(row, work, ZERO) X(row, reserved, ZERO)                \
    X(row, histogram, BYTES)
struct sonde_row_histogram { /* sixteen equal parts of one octave: within 3.2 % */
    uint32_t count[16];
};
#define SONDE_COLUMNS_HISTOGRAM(X, row) X(row, count, BYTES)
struct sonde_row_clock {
    uint32_t device, reserved;
    uint64_t host_ns, device_ns, bound_ns;
};
#define SONDE_COLUMNS_CLOCK(X, row)                                                             \
    X(row, device, ZERO) X(row, reserved, ZERO) X(row, host_ns, DELTA) X(row, device_ns, DELTA) \
    X(row, bound_ns, ZERO)
struct sonde_row_note {
    uint64_t at_ns;
    char text[248];
};
#define SONDE_COLUMNS_NOTE(X, row) X(row, at_ns, DELTA) X(row, text, BYTES)
enum {
    SONDE_OP_FAILED = 1,
    SONDE_OP_NO_TIMES = 2,
    SONDE_OP_BAD_TIME = 4,
    SONDE_OP_EARLY = 8,
};
struct sonde_row_op {
    uint64_t start_ns, end_ns;     /* device, on the host axis */
    uint64_t queued_ns, submit_ns;
    uint64_t enter_ns;             /* entry of the API call */
    uint64_t bytes;
    uint64_t correlation;          /* equals that of its CALL row */
    uint32_t node;                 /* OP leaf */
    uint32_t work;
    uint32_t object;
    uint16_t kind;
    uint16_t flags;
};
/* An operation is entered, queued, submitted, started and ended, each shortly
 * after the last. tables.c says where an encoder has a choice. */
#define SONDE_COLUMNS_OP(X, row)                                                                              \
    X(row, correlation, SPARSE) X(row, enter_ns, DELTA) X(row, queued_ns, DIFF(1)) X(row, submit_ns, DIFF(2)) \
    X(row, start_ns, GAP(3, 1)) X(row, end_ns, DIFF(4)) X(row, bytes, ZERO) X(row, node, ZERO)                \
    X(row, work, ZERO) X(row, object, ZERO) X(row, kind, ZERO) X(row, flags, ZERO)
struct sonde_row_call {
    uint64_t enter_ns, leave_ns;
    uint64_t correlation; /* 0 = made no operation */
    uint32_t node;        /* API node */
    uint32_t lane;        /* queue lane of its operation, 0 = none */
};
#define SONDE_COLUMNS_CALL(X, row)                                                                   \
    X(row, correlation, SPARSE) X(row, enter_ns, DELTA) X(row, leave_ns, DIFF(1)) X(row, node, ZERO) \
    X(row, lane, ZERO)
/* A range or a mark that the program named, on the lane of the thread that began it. */
enum {
    SONDE_RANGE_MARK = 1,
    SONDE_RANGE_ACROSS = 2, /* may end on another thread */
};
struct sonde_row_range {
    uint64_t begin_ns, end_ns;     /* end 0: not ended; a mark has begin = end */
    uint64_t payload;              /* bits; its type in payload_type */
    uint32_t name, domain, category; /* string ids */
    uint16_t payload_type;         /* 0 none, 1 uint64, 2 int64, 3 double */
    uint16_t flags;                /* SONDE_RANGE_* */
};
#define SONDE_COLUMNS_RANGE(X, row)                                                            \
    X(row, begin_ns, DELTA) X(row, end_ns, DIFF(0)) X(row, payload, ZERO) X(row, name, ZERO)   \
    X(row, domain, ZERO) X(row, category, ZERO) X(row, payload_type, ZERO) X(row, flags, ZERO)
/* The CPU side, on the lane of the thread. */
enum {
    SONDE_SAMPLE_DEFERRED = 1, /* landed in a hook: `node` is that API call's */
    SONDE_SAMPLE_REST = 2,     /* taken as the thread ended, for what came after its last one: `node` is its start routine */
};
struct sonde_row_sample {
    uint64_t time_ns;
    uint64_t cpu_ns;               /* CPU time of the thread since its last sample */
    uint32_t node;                 /* innermost frame; API node when deferred */
    uint32_t flags;                /* SONDE_SAMPLE_* */
};
#define SONDE_COLUMNS_SAMPLE(X, row)                                                   \
    X(row, time_ns, DELTA) X(row, cpu_ns, ZERO) X(row, node, ZERO) X(row, flags, ZERO)
enum { SONDE_SWITCH_PREEMPTED = 1 /* it could have gone on: another thread had the processor */ };
struct sonde_row_switch {          /* the thread was off the CPU */
    uint64_t out_ns, in_ns;        /* in 0: never came back */
    uint32_t flags;                /* SONDE_SWITCH_* */
    uint32_t reserved;
};
#define SONDE_COLUMNS_SWITCH(X, row)                                                        \
    X(row, out_ns, DELTA) X(row, in_ns, DIFF(0)) X(row, flags, ZERO) X(row, reserved, ZERO)
/* One dependency that is not plain order of a thread or an in-order queue. The
 * call that was entered at `enter_ns` on this thread lane returned only after
 * what is named (waiter 0), or its operation `waiter` could start only then.
 * Named: the operation `awaited`; else all earlier work of the queue lane
 * `lane`; else of `device`; else of the process. */
struct sonde_row_wait {
    uint64_t enter_ns;
    uint64_t waiter, awaited;      /* correlations; 0 see above */
    uint32_t lane, device;
};
#define SONDE_COLUMNS_WAIT(X, row)                                                            \
    X(row, enter_ns, DELTA) X(row, waiter, SPARSE) X(row, awaited, SPARSE) X(row, lane, ZERO) \
    X(row, device, ZERO)
/* The thread waited in a function of the C library, outside of API calls. What it waited for: */
#define SONDE_SLEEP_MAP(X)                                                              \
    X(TIME, "sleep")   /* until a time has passed */                                    \
    X(LOCK, "lock")    /* until another thread gives a lock free */                     \
    X(QUEUE, "queue")  /* until another thread, or process, has something: condition variables, semaphores, barriers */ \
    X(IO, "I/O")       /* for files, sockets and pipes */                               \
    X(END, "end")      /* until a thread or a child process has ended */
/* clang-format off */
enum sonde_sleep_kind {
    SONDE_SLEEP_NONE,
#define X(name, text) SONDE_SLEEP_##name,
    SONDE_SLEEP_MAP(X)
#undef X
    SONDE_SLEEP_KINDS
};
/* clang-format on */
struct sonde_row_sleep {
    uint64_t from_ns, to_ns;       /* in the function */
    uint32_t node;                 /* its API node: the function below the caller's stack */
    uint32_t kind;                 /* enum sonde_sleep_kind */
};
#define SONDE_COLUMNS_SLEEP(X, row)                                                     \
    X(row, from_ns, DELTA) X(row, to_ns, DIFF(0)) X(row, node, ZERO) X(row, kind, ZERO)
/* What a counter of the hardware was for a device, whoever used it, from one time to another; on the lane of the counter (--counter-series). */
struct sonde_row_series {
    uint64_t from_ns, to_ns;
    double value;                  /* a count of what happened meanwhile, or a mean, as the metric's name says */
};
#define SONDE_COLUMNS_SERIES(X, row) X(row, from_ns, AFTER(1)) X(row, to_ns, DIFF(0)) X(row, value, ZERO)
/* A message that this rank sent, or had in full, in the call from enter to leave (MPI_Waitall may have several); or such a call with none. */
struct sonde_row_message {
    uint64_t enter_ns, leave_ns;
    uint64_t posted_ns;            /* when it was begun: enter_ns, or earlier where that was another call */
    uint64_t bytes;
    uint32_t node;                 /* API node of the call */
    uint32_t comm;                 /* string: the same in all ranks of the communicator; 0 unknown */
    uint32_t peer;                 /* the other rank, or a collective's root, from 1; 0 none, or unknown */
    uint32_t tag;
    uint32_t kind;                 /* enum sonde_message_kind */
    uint32_t reserved;
};
#define SONDE_COLUMNS_MESSAGE(X, row)                                                                        \
    X(row, enter_ns, DELTA) X(row, leave_ns, DIFF(0)) X(row, posted_ns, DIFF(0)) X(row, bytes, ZERO)         \
    X(row, node, ZERO) X(row, comm, ZERO) X(row, peer, ZERO) X(row, tag, ZERO) X(row, kind, ZERO)            \
    X(row, reserved, ZERO)
/* In the `offset` of such a function's API frame; no backend has that number. */
#define SONDE_API_SLEEPS 0xff000000u
/* The program, or what it was recorded with, had recording off. The first of a run whose recording
 * began later begins at the agent's start. At most SONDE_PAUSES_MAX. */
struct sonde_row_pause {
    uint64_t from_ns, to_ns;       /* to 0: until the end */
};
#define SONDE_COLUMNS_PAUSE(X, row) X(row, from_ns, DELTA) X(row, to_ns, ZERO)
#define SONDE_PAUSES_MAX 65536u
/* Where a frame is in the source; several rows per frame when functions were
 * inlined, depth 0 the innermost. */
struct sonde_row_symbol {
    uint32_t frame, depth;
    uint32_t function, file; /* string ids; 0 unknown */
    uint32_t line;
    uint32_t module;         /* string id of the module's file name */
};
#define SONDE_COLUMNS_SYMBOL(X, row)                                                                        \
    X(row, frame, DELTA) X(row, depth, ZERO) X(row, function, DELTA) X(row, file, DELTA) X(row, line, ZERO) \
    X(row, module, DELTA)
/* Footer of data.sonde: one row per chunk before it (docs/developers/format.md, "Index"). */
struct sonde_row_index {
    uint64_t offset;       /* of the chunk's header in the file */
    uint32_t size;         /* header and payload, without padding */
    uint16_t table, flags; /* as in the chunk */
    uint32_t owner, count;
    uint64_t first, time_min, time_max;
};
#define SONDE_COLUMNS_INDEX(X, row)                                                                      \
    X(row, offset, DELTA) X(row, size, ZERO) X(row, table, ZERO) X(row, flags, ZERO) X(row, owner, ZERO) \
    X(row, count, ZERO) X(row, first, DELTA) X(row, time_min, DELTA) X(row, time_max, DIFF(7))
static_assert(sizeof(struct sonde_row_frame) == 24, "format");
static_assert(sizeof(struct sonde_row_node) == 8, "format");
static_assert(sizeof(struct sonde_row_module) == 40, "format");
static_assert(sizeof(struct sonde_row_pycode) == 24, "format");
static_assert(sizeof(struct sonde_row_device) == 40, "format");
static_assert(sizeof(struct sonde_row_lane) == 176, "format");
static_assert(sizeof(struct sonde_row_migration) == 40, "format");
static_assert(sizeof(struct sonde_row_work) == 120, "format");
static_assert(sizeof(struct sonde_row_object) == 80, "format");
static_assert(sizeof(struct sonde_row_value) == 96, "format");
static_assert(sizeof(struct sonde_row_access) == 112, "format");
static_assert(sizeof(struct sonde_row_duplicate) == 32, "format");
static_assert(sizeof(struct sonde_row_flow) == 32, "format");
static_assert(sizeof(struct sonde_row_bits) == 56, "format");
static_assert(sizeof(struct sonde_row_type) == 8, "format");
static_assert(sizeof(struct sonde_row_guess) == 120, "format");
static_assert(sizeof(struct sonde_row_remote) == 40, "format");
static_assert(sizeof(struct sonde_row_place) == 16, "format");
static_assert(sizeof(struct sonde_row_array) == 24, "format");
static_assert(sizeof(struct sonde_row_stretch) == 56, "format");
static_assert(sizeof(struct sonde_row_cell) == 24, "format");
static_assert(sizeof(struct sonde_row_setting) == 24, "format");
static_assert(sizeof(struct sonde_row_counter) == 48, "format");
static_assert(sizeof(struct sonde_row_stall) == 64, "format");
static_assert(sizeof(struct sonde_row_tally) == 48, "format");
static_assert(sizeof(struct sonde_row_instruction) == 8, "format");
static_assert(sizeof(struct sonde_row_profile) == 272, "format");
static_assert(sizeof(struct sonde_row_base) == 488, "format");
static_assert(sizeof(struct sonde_row_histogram) == 64, "format");
static_assert(sizeof(struct sonde_row_clock) == 32, "format");
static_assert(sizeof(struct sonde_row_note) == 256, "format");
static_assert(sizeof(struct sonde_row_op) == 72, "format");
static_assert(sizeof(struct sonde_row_call) == 32, "format");
static_assert(sizeof(struct sonde_row_range) == 40, "format");
static_assert(sizeof(struct sonde_row_sample) == 24, "format");
static_assert(sizeof(struct sonde_row_switch) == 24, "format");
static_assert(sizeof(struct sonde_row_wait) == 32, "format");
static_assert(sizeof(struct sonde_row_sleep) == 24, "format");
static_assert(sizeof(struct sonde_row_series) == 24, "format");
static_assert(sizeof(struct sonde_row_message) == 56, "format");
static_assert(sizeof(struct sonde_row_pause) == 16, "format");
static_assert(sizeof(struct sonde_row_job) == 8, "format");
static_assert(sizeof(struct sonde_row_symbol) == 24, "format");
static_assert(sizeof(struct sonde_row_index) == 48, "format");

/* Rows of a NODE segment: its ids are segment number << SONDE_NODE_SHIFT plus the row. */
#define SONDE_NODE_SHIFT 13
static_assert(SONDE_SEGMENT_ROOM / sizeof(struct sonde_row_node) < (1u << SONDE_NODE_SHIFT), "format");

#endif

/* reader.h - open a measurement and see its tables and traces.
 *
 * A measurement is a directory: manifest.json and one sub-directory per
 * process with data.sonde (chunks) and, until sealed, live.sonde. Opening
 * never changes it: what is not sealed yet is read in place. Damage is
 * skipped and described in `damage`; opening fails only when nothing is
 * readable. A process directory by itself is read as a measurement of one
 * process.
 *
 * References in tables that lead nowhere (damage, or a program still writing)
 * read as 0: parents and frames of nodes (which form no circles), modules of
 * frames, devices of lanes, lanes, works and histograms of profiles. lanes[]
 * covers every lane that has a trace. Rows of traces are as the agent wrote
 * them: their references need a check before they index an array
 * (sonde_process_node and sonde_process_string do it).
 *
 * Traces are looked at when their rows are wanted. Tables are read when the measurement is opened, or, of a job of which little
 * is wanted (sonde_measurement_open_heads), process by process by who needs them.
 *
 * Threads: a measurement may be read by any number of threads once open.
 */
#ifndef SONDE_FORMAT_READER_H
#define SONDE_FORMAT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <sonde/error.h>

#include "rows.h"

/* Dense tables, indexed by id: row 0 is all zero ("none"); count includes it. */
struct sonde_string {
    const char *bytes;
    uint32_t length;
}; /* NUL-terminated too */

struct sonde_chunk_ref {  /* one sealed chunk, or one live segment, of a trace */
    const void *data;     /* chunk header, or segment header when live */
    size_t size;
    uint32_t lane, count;
    uint16_t table, live;
    uint64_t first, time_min, time_max;
};

struct sonde_process {
    char *name;                       /* "HOST-PID-N" */
    char *path;
    struct sonde_live_header header;  /* as sealed, or live */
    int sealed;

    /* Every table that is no trace, by number: with ids a row for each, without them one after the other. Of
     * STRING and NODE nothing: see below. */
    struct sonde_rows {
        const void *rows;
        uint32_t count;
    } tables[SONDE_TABLE_COUNT];
    /* The same, by name. */

    /* clang-format off */
    struct sonde_string               *strings;    uint32_t string_count;
    const struct sonde_row_frame      *frames;     uint32_t frame_count;
    const struct sonde_row_module     *modules;    uint32_t module_count;
    const struct sonde_row_pycode     *pycodes;    uint32_t pycode_count;
    const struct sonde_row_device     *devices;    uint32_t device_count;
    const struct sonde_row_lane       *lanes;      uint32_t lane_count;
    const struct sonde_row_work       *works;      uint32_t work_count;
    const struct sonde_row_object     *objects;    uint32_t object_count;
    const struct sonde_row_profile    *profiles;   uint32_t profile_count;
    const struct sonde_row_histogram  *histograms; uint32_t histogram_count;
    const struct sonde_row_clock      *clocks;     uint32_t clock_count;
    const struct sonde_row_note       *notes;      uint32_t note_count;
    const struct sonde_row_pause      *pauses;     uint32_t pause_count;
    const struct sonde_row_symbol     *symbols;    uint32_t symbol_count; /* sorted by frame, depth */
    /* clang-format on */
    /* (Of sonde_measurement_open_heads: devices, lanes, clocks and pauses; the others hold nothing until sonde_process_load.) */

    /* Nodes are sparse: use sonde_node(). */
    struct sonde_node_block {
        uint32_t first, count, owner;
        const struct sonde_row_node *rows;
    } *node_blocks;
    uint32_t node_block_count; /* sorted by first */

    struct sonde_chunk_ref *traces;
    uint32_t trace_count; /* sorted by table, lane, first; no overlaps */

    uint64_t disk_bytes;      /* of this process's files */
    uint32_t damaged_chunks;  /* skipped: torn or failed their checksum */
    uint64_t damaged_bytes;
    uint64_t unknown_rows;    /* left alone: of tables that this build does not know */
    void *private_data;
};

struct sonde_measurement {
    char *path;
    json_t *manifest;                 /* NULL when missing or unreadable, */
    char manifest_problem[256];       /* and then why, when there is a file of that name; else empty */
    struct sonde_process *processes;
    uint32_t process_count; /* sorted by start_ns, then name */
    uint64_t disk_bytes;
    uint32_t damaged_chunks;
    /* Of several hosts (analyze/job/axis.h): */
    uint64_t axis_bound_ns;           /* the wall_offset_ns of their processes make one axis, to within that; 0: nothing aligns them */
    uint32_t axis_apart;              /* hosts but for the first that nothing aligns with the others */
    bool axis_contradicts;            /* clocks of two hosts contradict each other: one was set, or jumped, meanwhile */
    bool axis_not_tried;              /* there is too much that could */
    void *private_data;
};

/* Open the measurement at `path`. 0, or a negative code with `diag`:
 * ENOTFOUND, EFORMAT (foreign, or nothing readable), EVERSION, EIO, ENOMEM. */
int sonde_measurement_open(const char *path, struct sonde_measurement **out, struct sonde_diag *diag);
/* The same, to look again and again at what programs have done so far: of live.sonde the header, sums, their names and lanes, and nothing
 * else; of the last seconds (SONDE_RECORDED_LAST), too, the sums of all of the run. */
int sonde_measurement_open_sums(const char *path, struct sonde_measurement **out, struct sonde_diag *diag);
/* The same, without the tables of processes that have ended and are sealed but for those that say what each was: see above. What is damaged of the
 * others is found when they are loaded. */
int sonde_measurement_open_heads(const char *path, struct sonde_measurement **out, struct sonde_diag *diag);
void sonde_measurement_close(struct sonde_measurement *m);

/* Read the tables of a process that opening left, unless that was done: its strings alone, or all. Who looks at them asks for it before; any thread. 0
 * or ENOMEM. */
enum sonde_load {
    SONDE_LOAD_STRINGS = 1,
    SONDE_LOAD_ALL = 3,
};
int sonde_process_load(const struct sonde_process *p, enum sonde_load what);
/* Of every process, several at a time; what was found damaged counts in m->damaged_chunks then. One thread. */
int sonde_measurement_load(struct sonde_measurement *m, enum sonde_load what);

/* Word `index` of the command line that was recorded; NULL: it has not so many, or no manifest tells. */
const char *sonde_measurement_word(const struct sonde_measurement *m, size_t index);

/* String of an id, "" for 0 or an unknown id. Never NULL. */
const char *sonde_process_string(const struct sonde_process *p, uint32_t id);

/* Node of an id; NULL when the id is unknown. *slot (may be NULL) gets the thread slot. */
const struct sonde_row_node *sonde_process_node(const struct sonde_process *p, uint32_t id, uint32_t *slot);
/* Its frame; NULL when the id, or the frame, is unknown. */
const struct sonde_row_frame *sonde_process_frame(const struct sonde_process *p, uint32_t node);

/* Call `fn` with batches of rows of one trace table (SONDE_TABLE_OP and its like),
 * chunk after chunk. lane 0 = all. Rows outside [from_ns, to_ns] may be passed
 * too: chunks are skipped whole. fn returns non-zero to stop, which is then
 * returned. Damaged chunks are skipped. */
typedef int (*sonde_batch_fn)(void *user, uint32_t lane, const void *rows, uint32_t count);
int sonde_process_trace(const struct sonde_process *p, enum sonde_table table, uint32_t lane,
                        uint64_t from_ns, uint64_t to_ns, sonde_batch_fn fn, void *user);

/* Chunks of p->traces in any order: memory to decode them, for one thread at a time. */
struct sonde_chunk_reader;
struct sonde_chunk_reader *sonde_chunk_reader_create(void); /* NULL: out of memory */
void sonde_chunk_reader_destroy(struct sonde_chunk_reader *reader);
/* The rows of p->traces[index], valid until the next call; NULL when the chunk is damaged, which is counted. */
const void *sonde_chunk_reader_rows(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index);

/* Is that known of p->traces[index], and let it be, as another process found. */
bool sonde_chunk_is_damaged(const struct sonde_process *p, uint32_t index);
void sonde_chunk_set_damaged(const struct sonde_process *p, uint32_t index);

/* The same, faster: only the fields of the rows that are named hold their values, the others anything.
 *     sonde_chunk_reader_fields(reader, p, i, SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns)) */
#define SONDE_FIELD(row, field)                                                                   \
    (((1ull << sizeof(((struct row *)0)->field) / 2) - 1) << offsetof(struct row, field) / 2)
const void *sonde_chunk_reader_fields(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index,
                                      uint64_t fields);
/* The same into memory of the caller's, of each row only the fields that are `kept`, one after the other as in the row.
 * False: damaged, and what is in `rows` is anything. */
bool sonde_chunk_reader_into(struct sonde_chunk_reader *reader, const struct sonde_process *p, uint32_t index, uint64_t fields,
                             uint64_t kept, void *rows);

#endif

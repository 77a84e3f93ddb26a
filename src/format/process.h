/* process.h - between reader.c, process.c and trace.c: how one process is opened.
 */
#ifndef SONDE_FORMAT_PROCESS_H
#define SONDE_FORMAT_PROCESS_H

#include "files.h"
#include "reader.h"

/* A run of rows of one table: a chunk of data.sonde, or a segment of live.sonde. */
struct sonde__piece {
    struct sonde_chunk header; /* live: made up from the segment */
    const struct sonde__chunk_at *chunk;     /* NULL when live */
    const struct sonde__live_segment *live;  /* NULL when sealed */
};

struct sonde__process { /* struct sonde_process.private_data */
    struct sonde__live live;
    bool live_exists;
    struct sonde__data data;
    struct sonde__piece *pieces; /* by table, owner, first; nothing twice */
    size_t piece_count;
    struct sonde__decoder *decoder; /* while opening */
    char *string_bytes;
    _Atomic unsigned char *trace_state; /* by trace: SONDE__TRACE_* */
    _Atomic uint64_t looked_at;         /* bytes of chunks of traces */
};

enum {
    SONDE__TRACE_UNCHECKED,
    SONDE__TRACE_SOUND,
    SONDE__TRACE_DAMAGED,
};

/* Open the process directory `path`; `through`: see sonde__data_open; `sums`: see sonde__live_read. EEMPTY: nothing was written to it. Of
 * different processes in any number of threads. */
int sonde__process_open(const char *path, const char *name, bool through, bool sums, struct sonde_process *p, struct sonde_diag *diag);
void sonde__process_close(struct sonde_process *p);

/* The traces of an opened process. ENOMEM. */
int sonde__process_list_traces(struct sonde_process *p);

/* Decode or copy a piece's rows. */
int sonde__piece_rows(const struct sonde_process *p, const struct sonde__piece *piece, void *rows);

/* First piece of a table; *end is where the next table begins. */
size_t sonde__process_pieces(const struct sonde_process *p, enum sonde_table table, size_t *end);

/* Parents and frames that are not there become 0, and circles of parents are cut. ENOMEM. */
int sonde__process_mend_nodes(struct sonde_process *p);

#endif

/* process.h - between reader.c, process.c and trace.c: how one process is opened.
 */
#ifndef SONDE_FORMAT_PROCESS_H
#define SONDE_FORMAT_PROCESS_H

#include <pthread.h>

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
    struct sonde__decoder *decoder; /* while tables are read */
    char *string_bytes;
    uint32_t lane_rows;          /* lanes beyond have only traces */
    pthread_mutex_t lock;        /* of the decoder, the pieces, and the three below */
    _Atomic unsigned loaded;     /* enum sonde_load; who reads it acquires the tables */
    int load_status;             /* what went wrong */
    uint32_t untold;             /* pieces that were found damaged since opening, and are not in the measurement's count */
    _Atomic unsigned char *trace_state; /* by trace: SONDE__TRACE_* */
    _Atomic uint64_t looked_at;         /* bytes of chunks of traces: after every so many */
    uint64_t resident_bytes;            /* the file's pages are let go */
    _Atomic bool read_ahead;            /* of the file, since its traces are read */
};

enum {
    SONDE__TRACE_UNCHECKED,
    SONDE__TRACE_SOUND,
    SONDE__TRACE_DAMAGED,
};

struct sonde__way {  /* how measurements are opened */
    bool through;    /* the files are read whole, whatever is asked: see sonde__data_open */
    bool sums;       /* see sonde__live_read */
    bool heads;      /* sonde_measurement_open_heads */
    uint32_t processes; /* that are opened: together their files take SONDE__RESIDENT_BYTES of memory at most while traces are read, */
};
enum {
    SONDE__RESIDENT_BYTES = 64 << 20,
    SONDE__RESIDENT_LEAST = 64 << 10, /* but for that each */
};
/* Open the process directory `path`. EEMPTY: nothing was written to it. Of different processes in any number of threads. */
int sonde__process_open(const char *path, const char *name, const struct sonde__way *way, struct sonde_process *p, struct sonde_diag *diag);
void sonde__process_close(struct sonde_process *p);
/* How many damaged pieces loading has found since opening, or since this was asked. */
uint32_t sonde__process_untold(struct sonde_process *p);

/* The traces of an opened process. ENOMEM. */
int sonde__process_list_traces(struct sonde_process *p);

/* Decode or copy a piece's rows. */
int sonde__piece_rows(const struct sonde_process *p, const struct sonde__piece *piece, void *rows);

/* First piece of a table; *end is where the next table begins. */
size_t sonde__process_pieces(const struct sonde_process *p, enum sonde_table table, size_t *end);

/* Parents and frames that are not there become 0, and circles of parents are cut. ENOMEM. */
int sonde__process_mend_nodes(struct sonde_process *p);

#endif

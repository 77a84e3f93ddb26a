/* row.c - one row of a lane: of the chunks only those that may hold it are decoded. */
#include "trace.h"

#include <string.h>

#include "format/tables.h"

static bool is_before(const struct sonde_chunk_ref *chunk, const struct sonde_trace_wanted *w)
{
    return chunk->table != (unsigned)w->table ? chunk->table < (unsigned)w->table : chunk->lane < w->lane;
}

/* The first chunk of the table and lane, by which they are sorted; where there is none, one of another. */
static uint32_t first_chunk(const struct sonde_process *p, const struct sonde_trace_wanted *w)
{
    uint32_t low = 0, high = p->trace_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_before(&p->traces[middle], w))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool may_hold(const struct sonde_chunk_ref *chunk, const struct sonde_trace_wanted *w)
{
    const bool counted = !w->number || (*w->number >= chunk->first && *w->number - chunk->first < chunk->count);
    return counted && (!w->at_ns || (*w->at_ns >= chunk->time_min && *w->at_ns <= chunk->time_max));
}

static uint64_t correlation_of(enum sonde_table table, const void *row)
{
    return table == SONDE_TABLE_OP ? ((const struct sonde_row_op *)row)->correlation : ((const struct sonde_row_call *)row)->correlation;
}

/* Its place among the rows of the chunk; their count: it is not there. */
static uint32_t place(const struct sonde_chunk_ref *chunk, const char *rows, const struct sonde_trace_wanted *w)
{
    const struct sonde_table_info *info = sonde_table_info(w->table);
    const uint32_t begin = w->number ? (uint32_t)(*w->number - chunk->first) : 0, end = w->number ? begin + 1 : chunk->count;
    for (uint32_t i = begin; i < end; i++) {
        const void *row = rows + (size_t)i * info->row_bytes;
        if (w->at_ns && sonde_row_lasts(info, row).from_ns != *w->at_ns)
            continue;
        if (!w->correlation || correlation_of(w->table, row) == *w->correlation)
            return i;
    }
    return chunk->count;
}

int sonde_trace_row(const struct sonde_process *p, const struct sonde_trace_wanted *w, void *row, uint64_t *number)
{
    const size_t bytes = sonde_row_bytes(w->table);
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    int rc = reader ? SONDE_ENOTFOUND : SONDE_ENOMEM;
    for (uint32_t i = first_chunk(p, w); i < p->trace_count && rc == SONDE_ENOTFOUND; i++) {
        const struct sonde_chunk_ref *chunk = &p->traces[i];
        if (chunk->table != (unsigned)w->table || chunk->lane != w->lane)
            break;
        const char *rows = may_hold(chunk, w) ? sonde_chunk_reader_rows(reader, p, i) : NULL;
        const uint32_t at = rows ? place(chunk, rows, w) : chunk->count;
        if (at >= chunk->count)
            continue;
        memcpy(row, rows + at * bytes, bytes);
        *number = chunk->first + at;
        rc = 0;
    }
    sonde_chunk_reader_destroy(reader);
    return rc;
}

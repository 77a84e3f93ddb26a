/* stored.c - rows one after the other, as they are stored. */
#include "format/tables.h"
#include "trace.h"

struct each {
    int (*fn)(void *user, uint32_t lane, const void *row);
    void *user;
    struct sonde_progress *progress;
    uint32_t row_bytes;
};

static int each_row(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    const struct each *e = user;
    const uint8_t *row = rows;
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++, row += e->row_bytes)
        rc = e->fn(e->user, lane, row);
    sonde_progress_add(e->progress, count);
    return rc;
}

int sonde_trace_each(const struct sonde_process *p, const struct sonde_trace_stored *which,
                     int (*fn)(void *user, uint32_t lane, const void *row), void *user)
{
    struct each e = {fn, user, which->progress, sonde_row_bytes(which->table)};
    return sonde_process_trace(p, which->table, which->lane, which->from_ns, which->to_ns ? which->to_ns : UINT64_MAX, each_row, &e);
}

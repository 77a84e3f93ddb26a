/* read.c - how fast the rows of a measurement's traces are decoded, without anything that is computed from them.
 *
 *     bench-read DIR [fields]     one line per table: rows, CPU ns per row, rows per second of CPU time
 *
 * "fields": only the times of operations and calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/chunk.h"
#include "format/reader.h"

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t fields_of(uint32_t table)
{
    return table == SONDE_TABLE_OP     ? SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns)
           : table == SONDE_TABLE_CALL ? SONDE_FIELD(sonde_row_call, enter_ns) | SONDE_FIELD(sonde_row_call, leave_ns)
                                       : UINT64_MAX;
}

static uint64_t read_table(const struct sonde_process *p, uint32_t table, uint64_t fields)
{
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    uint64_t rows = 0;

    for (uint32_t i = 0; reader && i < p->trace_count; i++)
        if (p->traces[i].table == table && sonde_chunk_reader_fields(reader, p, i, fields))
            rows += p->traces[i].count;
    sonde_chunk_reader_destroy(reader);
    return rows;
}

int main(int argc, char **argv)
{
    struct sonde_measurement *m;
    struct sonde_diag diag;
    double begin = cpu_ns();

    if (argc < 2 || sonde_measurement_open(argv[1], &m, &diag)) {
        fprintf(stderr, argc < 2 ? "usage: bench-read DIR [fields]\n" : "bench-read: cannot open %s\n", argv[1]);
        return 1;
    }
    printf("open %.3f ms\n", (cpu_ns() - begin) * 1e-6);
    for (uint32_t table = 0; table < SONDE_TABLE_COUNT; table++) {
        uint64_t rows = 0;
        begin = cpu_ns();
        for (uint32_t i = 0; sonde_table_is_trace(table) && i < m->process_count; i++)
            rows += read_table(&m->processes[i], table, argc > 2 ? fields_of(table) : UINT64_MAX);
        double spent = cpu_ns() - begin;
        if (rows)
            printf("%-8s %10llu rows  %6.2f ns  %6.1f million rows per second\n", sonde_table_name((enum sonde_table)table),
                   (unsigned long long)rows, spent / (double)rows, (double)rows / spent * 1e3);
    }
    sonde_measurement_close(m);
    return 0;
}

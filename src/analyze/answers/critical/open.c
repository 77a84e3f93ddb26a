/* open.c - the processes that a path leads through, read. */
#include <stdlib.h>

#include "graph.h"

static int open_process(const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, uint64_t max_rows,
                        struct sonde_progress *progress, struct sonde__cp_run *run)
{
    struct sonde__cp_process *p = &run->list[run->count++];
    p->book = (struct sonde__cp_book){.profile = profile, .g = &p->g, .process = process, .out = &run->out};
    int rc = sonde_recorded_compute(m, &m->processes[process], &p->recorded);
    rc = rc ? rc : sonde__cp_load(&m->processes[process], &p->recorded, max_rows, progress, &p->g);
    if (!rc && run->needs.hosts.count)
        sonde__cp_move(p, &run->needs);
    return rc ? rc : sonde__cp_make_pools(&p->book);
}

int sonde__cp_open(const struct sonde_measurement *m, const struct sonde_profile *profile, const uint32_t *processes, uint32_t count,
                   uint64_t max_rows, struct sonde_progress *progress, struct sonde__cp_run *run)
{
    const uint64_t rows = (max_rows ? max_rows : SONDE_CRITICAL_ROWS) / count;
    int rc = 0;
    run->list = calloc(count, sizeof *run->list);
    for (uint32_t i = 0; i < count && run->list && !rc; i++)
        rc = open_process(m, profile, processes[i], rows ? rows : 1, progress, run);
    return run->list ? rc : SONDE_ENOMEM;
}

void sonde__cp_close(struct sonde__cp_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        sonde__cp_book_fini(&run->list[i].book);
        sonde__cp_fini(&run->list[i].g);
        sonde_recorded_fini(&run->list[i].recorded);
    }
    free(run->list);
    sonde_needs_fini(&run->needs);
    sonde__cp_result_fini(&run->out);
}

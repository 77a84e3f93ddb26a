/* each.c - see each.h. */
#include "each.h"

struct sharing {
    const struct sonde_measurement *m;
    const struct sonde_each *each;
    void *user;
};

static uint64_t rows_of(void *user, uint32_t process)
{
    const struct sonde_process *p = &((struct sharing *)user)->m->processes[process];
    uint64_t rows = 0;
    for (uint32_t i = 0; i < p->trace_count; i++)
        rows += p->traces[i].count;
    return rows;
}

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct sharing *s = user;
    const struct sonde_process *p = &s->m->processes[process];
    const int rc = s->each->find(s->user, process, found);
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (sonde_chunk_is_damaged(p, i))
            sonde_found_put(found, &i, sizeof i);
    sonde_found_put(found, &p->trace_count, sizeof p->trace_count); /* no more */
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct sharing *s = user;
    const struct sonde_process *p = &s->m->processes[process];
    const int rc = s->each->add(s->user, process, found);
    for (uint32_t damaged = 0; !found->failed;) {
        sonde_found_get(found, &damaged, sizeof damaged);
        if (damaged >= p->trace_count)
            break;
        sonde_chunk_set_damaged(p, damaged); /* which it is already where it was found */
    }
    return rc;
}

int sonde_each_process(const struct sonde_measurement *m, const struct sonde_each *each, void *user)
{
    const struct sonde_team_work work = {.tasks = m->process_count, .weight = rows_of, .find = find, .add = add};
    return sonde_team_run(&work, &(struct sharing){m, each, user});
}

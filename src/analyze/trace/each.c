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

/* Chunks and bytes that are known to be damaged. */
struct damage { uint64_t chunks, bytes; };

static struct damage damage_of(const struct sonde_process *p)
{
    return (struct damage){__atomic_load_n(&p->damaged_chunks, __ATOMIC_RELAXED), __atomic_load_n(&p->damaged_bytes, __ATOMIC_RELAXED)};
}

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct sharing *s = user;
    const int rc = s->each->find(s->user, process, found);
    const struct damage damage = damage_of(&s->m->processes[process]);
    sonde_found_put(found, &damage, sizeof damage);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct sharing *s = user;
    struct sonde_process *p = &s->m->processes[process];
    struct damage damage;
    const int rc = s->each->add(s->user, process, found);
    sonde_found_get(found, &damage, sizeof damage);
    if (sonde_team_size() > 1 && damage.chunks > damage_of(p).chunks) {
        __atomic_store_n(&p->damaged_chunks, (uint32_t)damage.chunks, __ATOMIC_RELAXED);
        __atomic_store_n(&p->damaged_bytes, damage.bytes, __ATOMIC_RELAXED);
    }
    return rc;
}

int sonde_each_process(const struct sonde_measurement *m, const struct sonde_each *each, void *user)
{
    const struct sonde_team_work work = {.tasks = m->process_count, .weight = rows_of, .find = find, .add = add};
    return sonde_team_run(&work, &(struct sharing){m, each, user});
}

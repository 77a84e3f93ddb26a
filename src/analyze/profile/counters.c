/* counters.c - see counters.h. Rows are sums by node already; nodes of processes become those of one tree, and kernels are sums of these. */
#include "counters.h"

#include <string.h>

#include "base/map.h"

struct sums {
    const struct sonde_profile *profile;
    struct sonde_counters *out;
    struct sonde_intern names;
    struct sonde_map contexts, kernels; /* hash of what tells them apart -> index; of two with one hash the second is behind it */
};

static bool same(const struct sonde_counted *a, const struct sonde_counted *b, bool contexts)
{
    return a->process == b->process && a->device == b->device && strcmp(a->metric, b->metric) == 0 &&
           (contexts ? a->leaf == b->leaf : strcmp(a->kernel, b->kernel) == 0);
}

/* Metrics and kernels are numbered. */
static uint64_t key_of(struct sums *s, const struct sonde_counted *c, bool contexts)
{
    const uint64_t key = sonde_hash_mix((uint64_t)c->process << 32 | c->device, sonde_intern_text(&s->names, c->metric));
    return sonde_hash_mix(key, contexts ? c->leaf : sonde_intern_text(&s->names, c->kernel));
}

static int add(struct sums *s, const struct sonde_counted *more, bool contexts)
{
    struct sonde_map *map = contexts ? &s->contexts : &s->kernels;
    uint64_t key = key_of(s, more, contexts), at;
    for (; sonde_map_get(map, key, &at); key++) {
        struct sonde_counted *c = contexts ? &s->out->contexts.items[at] : &s->out->kernels.items[at];
        if (!same(c, more, contexts))
            continue;
        c->operations += more->operations;
        c->sum += more->sum;
        c->least = more->least < c->least ? more->least : c->least;
        c->most = more->most > c->most ? more->most : c->most;
        return 0;
    }
    if (sonde_map_put(map, key, contexts ? s->out->contexts.count : s->out->kernels.count))
        return SONDE_ENOMEM;
    return contexts ? sonde_vector_push(&s->out->contexts, *more) : sonde_vector_push(&s->out->kernels, *more);
}

/* ".sum" is CUPTI's word for a total over all units; what follows ("per_second") makes a rate of it. */
static bool adds_up(const char *metric)
{
    const size_t length = strlen(metric);
    return length > 4 && strcmp(metric + length - 4, ".sum") == 0;
}

static int add_row(struct sums *s, const struct sonde_process *p, uint32_t process, const struct sonde_row_counter *row)
{
    struct sonde_counted c = {
        .leaf = sonde_profile_locate(s->profile, process, row->node),
        .process = process,
        .device = row->device,
        .metric = sonde_process_string(p, row->metric),
        .unit = row->unit ? sonde_process_string(p, row->unit) : "",
        .operations = row->operations,
        .sum = row->sum,
        .least = row->least,
        .most = row->most,
    };
    c.kernel = s->profile->nodes.items[c.leaf].name;
    c.adds_up = adds_up(c.metric);
    const int rc = add(s, &c, true);
    return rc ? rc : add(s, &c, false);
}

int sonde_counters_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_counters *out)
{
    struct sums s = {.profile = profile, .out = out};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_process *p = &m->processes[i];
        const struct sonde_row_counter *rows = p->tables[SONDE_TABLE_COUNTER].rows;
        for (uint32_t k = 1; k < p->tables[SONDE_TABLE_COUNTER].count && !rc; k++) {
            if (!rows[k].metric)
                out->missed += rows[k].operations;
            else if (rows[k].operations)
                rc = add_row(&s, p, i, &rows[k]);
        }
    }
    for (size_t i = 0; i < out->contexts.count; i++) { /* each operation has a value of each metric: those of any one */
        const struct sonde_counted *c = &out->contexts.items[i];
        if (strcmp(c->metric, out->contexts.items[0].metric) == 0)
            out->operations += c->operations;
    }
    sonde_intern_fini(&s.names);
    sonde_map_fini(&s.contexts);
    sonde_map_fini(&s.kernels);
    return rc;
}

void sonde_counters_fini(struct sonde_counters *counters)
{
    sonde_vector_fini(&counters->contexts);
    sonde_vector_fini(&counters->kernels);
}

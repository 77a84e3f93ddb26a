/* tallies.c - see tallies.h. Rows are sums by node of a process; several of these are one node of the tree, and several nodes one routine. */
#include "tallies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define TALLIES_MAX 64u /* counters of a process: more are damage */

struct sums {
    const struct sonde_profile *profile;
    struct sonde_tallies *out;
    uint32_t first;                      /* counter of this process */
    struct sonde_map contexts, routines; /* hash of what tells them apart -> index; of two with one hash the second is behind it */
};

static bool same_routine(const struct sonde_cct_node *a, const struct sonde_cct_node *b)
{
    return a->kind == b->kind && a->name == b->name && a->file == b->file && a->module == b->module; /* texts are interned */
}

static uint64_t hash_of(uint32_t tally, const struct sonde_cct_node *node)
{
    const uint64_t hash = sonde_hash_mix(sonde_hash_mix(tally, node->kind), (uintptr_t)node->name);
    return sonde_hash_mix(sonde_hash_mix(hash, (uintptr_t)node->file), (uintptr_t)node->module);
}

static void join(struct sonde_tally_part *sum, const struct sonde_tally_part *more)
{
    sum->node = more->count > sum->most ? more->node : sum->node;
    sum->most = more->count > sum->most ? more->count : sum->most;
    sum->samples += more->samples;
    sum->count += more->count;
}

static int add_context(struct sums *s, const struct sonde_tally_part *part)
{
    const uint64_t key = (uint64_t)part->tally << 32 | part->node;
    uint64_t at;
    if (sonde_map_get(&s->contexts, key, &at)) {
        join(&s->out->contexts.items[at], part);
        return 0;
    }
    const int rc = sonde_map_put(&s->contexts, key, s->out->contexts.count);
    return rc ? rc : sonde_vector_push(&s->out->contexts, *part);
}

static int add_routine(struct sums *s, const struct sonde_tally_part *context)
{
    const struct sonde_cct_node *nodes = s->profile->nodes.items;
    struct sonde_tally_part part = *context;
    part.node = sonde_profile_routine(s->profile, context->node);
    part.most = part.count;
    uint64_t key = hash_of(part.tally, &nodes[part.node]), at;
    for (; sonde_map_get(&s->routines, key, &at); key++) {
        struct sonde_tally_part *sum = &s->out->routines.items[at];
        if (sum->tally == part.tally && same_routine(&nodes[sum->node], &nodes[part.node])) {
            join(sum, &part);
            return 0;
        }
    }
    const int rc = sonde_map_put(&s->routines, key, s->out->routines.count);
    return rc ? rc : sonde_vector_push(&s->out->routines, part);
}

/* The process's counters stand before their parts. */
static uint32_t tally_of(const struct sonde_tallies *t, uint32_t first, const char *name)
{
    uint32_t i = first;
    while (i < t->all.count && strcmp(t->all.items[i].name, name) != 0)
        i++;
    return i;
}

static int add_row(struct sums *s, const struct sonde_process *p, uint32_t process, const struct sonde_row_tally *row)
{
    const char *name = sonde_process_string(p, row->name);
    const uint32_t tally = tally_of(s->out, s->first, name);
    if (!row->node) {
        const struct sonde_tally all = {.process = process,
                                        .name = name,
                                        .period = row->period,
                                        .count = row->count,
                                        .lost = row->samples,
                                        .enabled_ns = row->enabled_ns,
                                        .running_ns = row->running_ns};
        return tally == s->out->all.count && tally - s->first < TALLIES_MAX ? sonde_vector_push(&s->out->all, all) : 0;
    }
    if (tally == s->out->all.count || !row->samples)
        return 0; /* a row that was damaged */
    s->out->all.items[tally].samples += row->samples;
    s->out->all.items[tally].sampled += row->count;
    const struct sonde_tally_part part = {
        .tally = tally,
        .node = sonde_profile_locate(s->profile, process, row->node),
        .samples = row->samples,
        .count = row->count,
        .most = row->count,
    };
    return add_context(s, &part);
}

static int by_count(const void *left, const void *right)
{
    const struct sonde_tally_part *a = left, *b = right;
    if (a->tally != b->tally)
        return a->tally < b->tally ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* n samples of a period N say n N; how many there are scatters by sqrt(n), as that of events that come at any time. With a period of 1 each event
 * is a sample. */
static void finish(const struct sonde_tallies *t, struct sonde_tally_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t period = t->all.items[parts[i].tally].period;
        parts[i].error = period > 1 ? (double)period * sqrt((double)parts[i].samples) : 0;
    }
    if (count)
        qsort(parts, count, sizeof *parts, by_count);
}

int sonde_tallies_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_tallies *out)
{
    struct sums s = {.profile = profile, .out = out};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_process *p = &m->processes[i];
        s.first = (uint32_t)out->all.count;
        const struct sonde_row_tally *rows = p->tables[SONDE_TABLE_TALLY].rows;
        for (uint32_t k = 1; k < p->tables[SONDE_TABLE_TALLY].count && !rc; k++)
            rc = add_row(&s, p, i, &rows[k]);
    }
    for (size_t i = 0; i < out->contexts.count && !rc; i++)
        rc = add_routine(&s, &out->contexts.items[i]);
    finish(out, out->contexts.items, out->contexts.count);
    finish(out, out->routines.items, out->routines.count);
    sonde_map_fini(&s.contexts);
    sonde_map_fini(&s.routines);
    return rc;
}

void sonde_tallies_fini(struct sonde_tallies *tallies)
{
    sonde_vector_fini(&tallies->all);
    sonde_vector_fini(&tallies->contexts);
    sonde_vector_fini(&tallies->routines);
}

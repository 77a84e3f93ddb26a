/* counter_series.c - see counter_series.h.
 *
 * The counters of a device are sampled together, so that they share one sequence of times: it is kept once. Operations are read twice, in
 * whatever order: first for how much of their time lies in each sample, then to divide the values.
 */
#include "counter_series.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/map.h"

#define NOBODY  0u
#define SEVERAL UINT32_MAX

struct span { uint64_t from, to; };

struct times { /* of samples, one after the other */
    uint32_t device;
    SONDE_VECTOR(struct span) samples;
    uint64_t *busy_ns;         /* [sample]: times of operations in it, added up */
    uint32_t *whose;           /* [sample]: the name that ran there, NOBODY, or SEVERAL */
    struct sonde_map seen;     /* of samples with SEVERAL: name and sample */
};

struct counter {
    size_t series, times;      /* indices */
    SONDE_VECTOR(double) values;
    SONDE_VECTOR(struct sonde_counter_part) parts; /* [name] */
};

struct dividing { /* of one process */
    const struct sonde_process *p;
    const struct sonde_profile *profile;
    struct sonde_counters_over_time *out;
    uint32_t process;
    SONDE_VECTOR(struct times) times;
    SONDE_VECTOR(struct counter) counters;
    struct sonde_intern names; /* of operations, from 1 */
    uint32_t *name_of;         /* [tree node], 0 not asked for yet */
    bool divides;              /* the second time */
};

/* ---- samples ---------------------------------------------------------------------------------------- */

struct loading {
    struct times times;
    struct counter counter;
};

/* Rows that are damaged, or overlap the one before, are left out. */
static int load_row(void *user, uint32_t lane, const void *bytes)
{
    struct loading *l = user;
    const struct sonde_row_series *row = bytes;
    const size_t count = l->times.samples.count;
    (void)lane;
    if (row->from_ns >= row->to_ns || !(row->value >= 0) || row->value > 1e300 || (count && l->times.samples.items[count - 1].to > row->from_ns))
        return 0;
    return sonde_vector_push(&l->times.samples, (struct span){row->from_ns, row->to_ns}) || sonde_vector_push(&l->counter.values, row->value) ? SONDE_ENOMEM : 0;
}

static void fini_times(struct times *t)
{
    sonde_vector_fini(&t->samples);
    sonde_map_fini(&t->seen);
    free(t->busy_ns);
    free(t->whose);
}

static bool same_times(const struct times *a, const struct times *b)
{
    return a->device == b->device && a->samples.count == b->samples.count &&
           (!a->samples.count || memcmp(a->samples.items, b->samples.items, a->samples.count * sizeof *a->samples.items) == 0);
}

static int keep_times(struct dividing *d, struct loading *l)
{
    for (size_t i = 0; i < d->times.count; i++)
        if (same_times(&d->times.items[i], &l->times)) {
            l->counter.times = i;
            fini_times(&l->times);
            l->times = (struct times){.device = 0};
            return 0;
        }
    l->times.busy_ns = calloc(l->times.samples.count + 1, sizeof *l->times.busy_ns);
    l->times.whose = calloc(l->times.samples.count + 1, sizeof *l->times.whose);
    l->counter.times = d->times.count;
    if (!l->times.busy_ns || !l->times.whose || sonde_vector_push(&d->times, l->times))
        return SONDE_ENOMEM;
    l->times = (struct times){.device = 0};
    return 0;
}

static void add_up(const struct times *t, const struct counter *c, struct sonde_counter_series *s)
{
    double weighed = 0;
    s->samples = t->samples.count;
    for (size_t i = 0; i < t->samples.count; i++) {
        const uint64_t ns = t->samples.items[i].to - t->samples.items[i].from;
        const double value = c->values.items[i], rate = s->adds_up ? value * 1e9 / (double)ns : value;
        s->known_ns += ns;
        s->sum += value;
        weighed += value * (double)ns;
        s->most = rate > s->most ? rate : s->most;
    }
    if (s->known_ns)
        s->mean = s->adds_up ? s->sum * 1e9 / (double)s->known_ns : weighed / (double)s->known_ns;
}

static int load(struct dividing *d, uint32_t lane)
{
    const struct sonde_row_lane *row = &d->p->lanes[lane];
    struct loading l = {.times.device = row->device, .counter.series = d->out->series.count};
    struct sonde_counter_series series = {
        .process = d->process,
        .lane = lane,
        .device = row->device < d->p->device_count ? row->device : 0,
        .metric = sonde_process_string(d->p, row->name),
        .unit = row->context ? sonde_process_string(d->p, row->context) : "",
    };
    series.adds_up = sonde_counter_adds_up(series.metric);
    int rc = sonde_trace_each(d->p, &(struct sonde_trace_stored){.table = SONDE_TABLE_SERIES, .lane = lane}, load_row, &l);
    rc = rc || !l.counter.values.count ? rc : keep_times(d, &l);
    if (!rc && l.counter.values.count) {
        add_up(&d->times.items[l.counter.times], &l.counter, &series);
        rc = sonde_vector_push(&d->counters, l.counter) || sonde_vector_push(&d->out->series, series) ? SONDE_ENOMEM : 0;
        if (!rc)
            return 0;
    }
    fini_times(&l.times);
    sonde_vector_fini(&l.counter.values);
    return rc;
}

/* ---- operations --------------------------------------------------------------------------------------- */

static const char *text_of(const struct dividing *d, uint32_t node, uint32_t kind)
{
    const char *text = d->profile->nodes.items[node].name;
    return text && *text ? text : sonde_op_kind_name(kind);
}

static uint32_t name_of(struct dividing *d, uint32_t node, uint32_t kind)
{
    if (!d->name_of[node])
        d->name_of[node] = sonde_intern_text(&d->names, text_of(d, node, kind));
    return d->name_of[node];
}

/* The first sample that ends after `at_ns`. */
static size_t first_sample(const struct times *t, uint64_t at_ns)
{
    size_t low = 0, high = t->samples.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->samples.items[middle].to <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t within(const struct times *t, size_t sample, const struct sonde_row_op *op)
{
    const uint64_t from = t->samples.items[sample].from, to = t->samples.items[sample].to;
    return (op->end_ns < to ? op->end_ns : to) - (op->start_ns > from ? op->start_ns : from);
}

static void measure(struct times *t, const struct sonde_row_op *op, uint32_t name)
{
    for (size_t i = first_sample(t, op->start_ns); i < t->samples.count && t->samples.items[i].from < op->end_ns; i++) {
        t->busy_ns[i] += within(t, i, op);
        t->whose[i] = t->whose[i] == NOBODY || t->whose[i] == name ? name : SEVERAL;
    }
}

static struct sonde_counter_part *part_of(struct counter *c, uint32_t name, uint32_t node)
{
    while (c->parts.count <= name)
        if (sonde_vector_push(&c->parts, (struct sonde_counter_part){.series = c->series}))
            return NULL;
    c->parts.items[name].leaf = node;
    return &c->parts.items[name];
}

/* `again`: of this sample something was given to the name before. */
static void give(const struct dividing *d, const struct counter *c, struct sonde_counter_part *part, const struct times *t, size_t sample, uint64_t ns,
                 bool again)
{
    const double value = c->values.items[sample], share = (double)ns / (double)t->busy_ns[sample];
    if (d->out->series.items[c->series].adds_up) {
        part->value += value * share;
        part->least += t->whose[sample] != SEVERAL ? value * share : 0;
        part->most += t->whose[sample] != SEVERAL ? value * share : (again ? 0 : value);
    } else {
        part->value += value * (double)ns; /* until it is divided by all of the time */
        part->least = part->ns && part->least < value ? part->least : value;
        part->most = part->most > value ? part->most : value;
    }
    part->ns += ns;
}

static int divide(struct dividing *d, size_t times, const struct sonde_row_op *op, uint32_t name, uint32_t node)
{
    struct times *t = &d->times.items[times];
    const size_t first = first_sample(t, op->start_ns);
    for (size_t i = first; i < t->samples.count && t->samples.items[i].from < op->end_ns; i++) {
        const uint64_t ns = within(t, i, op), key = (uint64_t)name << 40 | i;
        uint64_t unused;
        const bool again = t->whose[i] == SEVERAL && sonde_map_get(&t->seen, key, &unused);
        if (!ns)
            continue;
        if (t->whose[i] == SEVERAL && !again && sonde_map_put(&t->seen, key, 1))
            return SONDE_ENOMEM;
        for (size_t k = 0; k < d->counters.count; k++) {
            struct counter *c = &d->counters.items[k];
            struct sonde_counter_part *part = c->times == times ? part_of(c, name, node) : NULL;
            if (!part && c->times == times)
                return SONDE_ENOMEM;
            if (part) {
                give(d, c, part, t, i, ns, again);
                part->operations += i == first;
                part->name = text_of(d, node, op->kind);
            }
        }
    }
    return 0;
}

static int each_operation(void *user, uint32_t lane, const void *row)
{
    struct dividing *d = user;
    const struct sonde_row_op *op = row;
    if (lane >= d->p->lane_count || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns) || op->start_ns >= op->end_ns ||
        sonde_op_kind_group(op->kind) == SONDE_GROUP_ORDER)
        return 0;
    const uint32_t node = sonde_profile_locate(d->profile, d->process, op->node), name = name_of(d, node, op->kind);
    int rc = name ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < d->times.count && !rc; i++)
        if (d->times.items[i].device != d->p->lanes[lane].device)
            continue;
        else if (d->divides)
            rc = divide(d, i, op, name, node);
        else
            measure(&d->times.items[i], op, name);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static int by_time(const void *left, const void *right)
{
    const struct sonde_counter_part *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

static int settle(struct dividing *d)
{
    int rc = 0;
    for (size_t i = 0; i < d->counters.count && !rc; i++) {
        struct counter *c = &d->counters.items[i];
        struct sonde_counter_series *series = &d->out->series.items[c->series];
        const struct times *t = &d->times.items[c->times];
        for (size_t k = 0; k < t->samples.count; k++)
            series->idle += t->whose[k] == NOBODY ? c->values.items[k] : 0;
        if (c->parts.count)
            qsort(c->parts.items, c->parts.count, sizeof *c->parts.items, by_time);
        for (size_t k = 0; k < c->parts.count && c->parts.items[k].ns && !rc; k++) {
            struct sonde_counter_part *part = &c->parts.items[k];
            part->value /= series->adds_up ? 1 : (double)part->ns;
            rc = sonde_vector_push(&d->out->parts, *part);
        }
    }
    return rc;
}

static int add_process(struct sonde_counters_over_time *out, const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process)
{
    struct dividing d = {.p = &m->processes[process], .profile = profile, .out = out, .process = process};
    const struct sonde_trace_stored operations = {.table = SONDE_TABLE_OP};
    int rc = 0;
    for (uint32_t lane = 1; lane < d.p->lane_count && !rc; lane++)
        if (sonde_lane_is_series(&d.p->lanes[lane]))
            rc = load(&d, lane);
    if (d.counters.count && !rc) {
        d.name_of = calloc(profile->nodes.count + 1, sizeof *d.name_of);
        rc = d.name_of ? sonde_trace_each(d.p, &operations, each_operation, &d) : SONDE_ENOMEM;
        d.divides = true;
        rc = rc ? rc : sonde_trace_each(d.p, &operations, each_operation, &d);
        rc = rc ? rc : settle(&d);
    }
    for (size_t i = 0; i < d.times.count; i++)
        fini_times(&d.times.items[i]);
    for (size_t i = 0; i < d.counters.count; i++) {
        sonde_vector_fini(&d.counters.items[i].values);
        sonde_vector_fini(&d.counters.items[i].parts);
    }
    sonde_vector_fini(&d.times);
    sonde_vector_fini(&d.counters);
    sonde_intern_fini(&d.names);
    free(d.name_of);
    return rc;
}

int sonde_counters_over_time_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_counters_over_time *out)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(out, m, profile, i);
    return rc;
}

void sonde_counters_over_time_fini(struct sonde_counters_over_time *out)
{
    sonde_vector_fini(&out->series);
    sonde_vector_fini(&out->parts);
}

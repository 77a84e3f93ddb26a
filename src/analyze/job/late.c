/* late.c - see late.h. A sample stands for the CPU time before it, as far as that lies in the span; an operation for its time on the device. */
#include "late.h"

#include "analyze/model/runtimes.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"

struct finding {
    const struct sonde_process *p;
    const struct sonde_profile *profile;
    const struct sonde__late_span *spans, *idle;
    size_t count, idle_count;
    uint32_t process;
    struct sonde_intern names;
    struct sonde_map functions;        /* by name and file: one node that stands for all of a function's */
    struct sonde_map sums[2];          /* function, operation -> ns */
    uint32_t most[2];
    uint64_t most_ns[2];
};

static int by_begin(const void *left, const void *right)
{
    const struct sonde__late_span *a = left, *b = right;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

size_t sonde__late_merge(struct sonde__late_span *spans, size_t count)
{
    size_t kept = 0;
    qsort(spans, count, sizeof *spans, by_begin);
    for (size_t i = 0; i < count; i++) {
        if (kept && spans[i].from_ns <= spans[kept - 1].to_ns)
            spans[kept - 1].to_ns = spans[i].to_ns > spans[kept - 1].to_ns ? spans[i].to_ns : spans[kept - 1].to_ns;
        else
            spans[kept++] = spans[i];
    }
    return kept;
}

size_t sonde__late_after(const struct sonde__late_span *spans, size_t count, uint64_t ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (spans[middle].to_ns > ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t sonde__late_within(const struct sonde__late_span *spans, size_t count, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = sonde__late_after(spans, count, from_ns); i < count && spans[i].from_ns < to_ns; i++) {
        const struct sonde__late_span both = sonde__late_cut(spans[i], (struct sonde__late_span){from_ns, to_ns});
        sum += both.to_ns > both.from_ns ? both.to_ns - both.from_ns : 0;
    }
    return sum;
}

static int add(struct finding *f, int which, uint32_t node, uint64_t ns)
{
    uint64_t sum = 0;
    if (!ns)
        return 0;
    sonde_map_get(&f->sums[which], (uint64_t)node + 1, &sum);
    sum += ns;
    if (sum > f->most_ns[which]) {
        f->most_ns[which] = sum;
        f->most[which] = node;
    }
    return sonde_map_put(&f->sums[which], (uint64_t)node + 1, sum);
}

/* The user's function in which, or below which, the sample lies. 0: out of memory. */
static uint32_t function_of(struct finding *f, uint32_t leaf)
{
    const uint32_t node = sonde_profile_routine(f->profile, sonde_profile_place(f->profile, leaf));
    const struct sonde_cct_node *n = &f->profile->nodes.items[node];
    const uint64_t key = (uint64_t)sonde_intern_text(&f->names, n->name) << 32 | sonde_intern_text(&f->names, *n->file ? n->file : n->module);
    uint64_t known;
    if (!key)
        return node;
    if (sonde_map_get(&f->functions, key, &known))
        return (uint32_t)known;
    return sonde_map_put(&f->functions, key, node) ? 0 : node;
}

static int take_sample(void *user, uint32_t lane, const void *row)
{
    struct finding *f = user;
    const struct sonde_row_sample *s = row;
    (void)lane;
    const uint64_t from_ns = s->time_ns > s->cpu_ns ? s->time_ns - s->cpu_ns : 0;
    const uint32_t node = sonde_profile_locate(f->profile, f->process, s->node);
    return add(f, 0, function_of(f, node), sonde__late_within(f->spans, f->count, from_ns, s->time_ns));
}

/* Of the spans in [from, to) what was idle. */
static uint64_t idle_within(const struct finding *f, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = sonde__late_after(f->spans, f->count, from_ns); i < f->count && f->spans[i].from_ns < to_ns; i++) {
        const struct sonde__late_span both = sonde__late_cut(f->spans[i], (struct sonde__late_span){from_ns, to_ns});
        sum += sonde__late_within(f->idle, f->idle_count, both.from_ns, both.to_ns);
    }
    return sum;
}

static int take_operation(void *user, uint32_t lane, const void *row)
{
    struct finding *f = user;
    const struct sonde_row_op *op = row;
    (void)lane;
    if (!sonde_op_kind_counts(op->kind) || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns))
        return 0;
    const uint32_t node = sonde_profile_locate(f->profile, f->process, op->node);
    uint64_t ns = sonde__late_within(f->spans, f->count, op->start_ns, op->end_ns);
    if (f->idle_count && sonde_runtime_communicates(f->profile->nodes.items[node].name))
        ns -= idle_within(f, op->start_ns, op->end_ns);
    return add(f, 1, node, ns);
}

int sonde__late_find(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde__late_span *spans, size_t count,
                     const struct sonde__late_span *idle, size_t idle_count, struct sonde_message_doing *doing)
{
    struct finding f = {.profile = profile, .spans = spans, .count = count, .idle = idle, .idle_count = idle_count};
    const uint64_t from_ns = spans[0].from_ns, to_ns = spans[count - 1].to_ns;
    int rc = 0;
    for (f.process = 0; f.process < m->process_count && !rc; f.process++) {
        f.p = &m->processes[f.process];
        if (f.p->header.rank != doing->rank + 1)
            continue;
        rc = sonde_trace_each(f.p, &(struct sonde_trace_stored){.table = SONDE_TABLE_SAMPLE, .from_ns = from_ns, .to_ns = to_ns}, take_sample, &f);
        rc = rc ? rc : sonde_trace_each(f.p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .from_ns = from_ns, .to_ns = to_ns}, take_operation, &f);
    }
    /* While its device works a thread may compute, or wait for that: the device is what decides where it has most of the time. */
    const bool device = 2 * f.most_ns[1] > sonde__late_within(spans, count, 0, UINT64_MAX) || f.most_ns[1] > f.most_ns[0];
    doing->cause = device ? SONDE_MESSAGE_CAUSE_DEVICE : f.most_ns[0] ? SONDE_MESSAGE_CAUSE_CODE
                                                                      : SONDE_MESSAGE_CAUSE_UNKNOWN;
    doing->node = f.most[device];
    doing->ns = f.most_ns[device];
    sonde_map_fini(&f.functions);
    sonde_intern_fini(&f.names);
    sonde_map_fini(&f.sums[0]);
    sonde_map_fini(&f.sums[1]);
    return rc ? SONDE_ENOMEM : 0;
}

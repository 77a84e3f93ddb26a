/* bandwidth.c - see bandwidth.h: metrics of CUPTI, told by their names. */
#include "bandwidth.h"

#include <string.h>

#include "base/text.h"

/* "dram__bytes_read.sum", "dram__bytes_write.sum": both are needed. */
static bool is_bytes(const char *metric)
{
    return strcmp(metric, "dram__bytes_read.sum") == 0 || strcmp(metric, "dram__bytes_write.sum") == 0;
}

static bool is_share(const char *metric)
{
    return sonde_text_begins(metric, "dram__throughput.") && sonde_text_ends(metric, ".pct_of_peak_sustained_elapsed");
}

#define PIPE     "sm__pipe_"
#define PIPE_END "_cycles_active.avg.pct_of_peak_sustained_elapsed"

static bool is_pipe(const char *metric)
{
    return sonde_text_begins(metric, PIPE) && sonde_text_ends(metric, PIPE_END) && strlen(metric) > strlen(PIPE PIPE_END);
}

static bool is_of_use(const char *metric)
{
    return is_bytes(metric) || is_share(metric) || is_pipe(metric);
}

static void set_pipe(struct sonde_bandwidth *b, const char *metric, double share)
{
    if (!is_pipe(metric) || share <= b->pipe_share)
        return;
    b->pipe = metric + strlen(PIPE);
    b->pipe_length = (int)(strlen(b->pipe) - strlen(PIPE_END));
    b->pipe_share = share;
}

struct found { /* of one kernel, until both kinds of bytes have come */
    struct sonde_bandwidth of;
    unsigned halves;
};

struct finder {
    SONDE_VECTOR(struct found) list;
};

static struct found *find(struct finder *f, uint32_t process, uint32_t device, const char *kernel)
{
    for (size_t i = 0; i < f->list.count; i++) {
        struct found *one = &f->list.items[i];
        if (one->of.process == process && one->of.device == device && strcmp(one->of.kernel, kernel) == 0)
            return one;
    }
    const struct found new = {.of = {.process = process, .device = device, .kernel = kernel, .share = -1, .pipe_share = -1}};
    return sonde_vector_push(&f->list, new) ? NULL : &f->list.items[f->list.count - 1];
}

static int add_parts(struct finder *f, const struct sonde_counters_over_time *over_time)
{
    for (size_t i = 0; i < over_time->parts.count; i++) {
        const struct sonde_counter_part *part = &over_time->parts.items[i];
        const struct sonde_counter_series *series = &over_time->series.items[part->series];
        if (!series->device || !part->ns || !is_of_use(series->metric))
            continue;
        struct found *one = find(f, series->process, series->device, part->name);
        if (!one)
            return SONDE_ENOMEM;
        one->of.operations = part->operations;
        one->of.ns = (double)part->ns;
        one->of.share = is_share(series->metric) ? part->value / 100 : one->of.share;
        one->of.bytes += is_bytes(series->metric) ? part->value : 0;
        set_pipe(&one->of, series->metric, part->value / 100);
        one->halves += is_bytes(series->metric);
    }
    return 0;
}

static int add_launches(struct finder *f, const struct sonde_counters *counters)
{
    for (size_t i = 0; i < counters->kernels.count; i++) {
        const struct sonde_counted *c = &counters->kernels.items[i];
        const bool time = strcmp(c->metric, "gpu__time_duration.sum") == 0;
        if (!c->operations || !(time || is_of_use(c->metric)))
            continue;
        struct found *one = find(f, c->process, c->device, c->kernel);
        if (!one)
            return SONDE_ENOMEM;
        one->of.operations = c->operations;
        one->of.ns = time ? c->sum : one->of.ns;
        one->of.share = is_share(c->metric) ? c->sum / (double)c->operations / 100 : one->of.share;
        one->of.bytes += is_bytes(c->metric) ? c->sum : 0;
        set_pipe(&one->of, c->metric, c->sum / (double)c->operations / 100);
        one->halves += is_bytes(c->metric);
    }
    return 0;
}

static bool has_series(const struct sonde_measurement *m)
{
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t lane = 1; lane < m->processes[i].lane_count; lane++)
            if (m->processes[i].lanes[lane].kind == SONDE_LANE_KIND_SERIES)
                return true;
    return false;
}

int sonde_bandwidths_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_bandwidths *out)
{
    struct finder f = {0};
    int rc = sonde_counters_compute(m, profile, &out->counters);
    rc = rc ? rc : add_launches(&f, &out->counters);
    if (!rc && !out->counters.kernels.count && has_series(m)) {
        rc = sonde_counters_over_time_compute(m, profile, &out->over_time);
        rc = rc ? rc : add_parts(&f, &out->over_time);
    }
    for (size_t i = 0; i < f.list.count && !rc; i++) {
        struct sonde_bandwidth one = f.list.items[i].of;
        one.bytes = f.list.items[i].halves == 2 ? one.bytes : 0;
        if (one.bytes > 0 || one.share >= 0 || one.pipe)
            rc = sonde_vector_push(&out->items, one);
    }
    sonde_vector_fini(&f.list);
    return rc;
}

void sonde_bandwidths_fini(struct sonde_bandwidths *bandwidths)
{
    sonde_vector_fini(&bandwidths->items);
    sonde_counters_over_time_fini(&bandwidths->over_time);
    sonde_counters_fini(&bandwidths->counters);
}

const struct sonde_bandwidth *sonde_bandwidth_of(const struct sonde_bandwidths *all, uint32_t process, uint32_t device, const char *kernel)
{
    for (size_t i = 0; i < all->items.count; i++) {
        const struct sonde_bandwidth *b = &all->items.items[i];
        if (b->process == process && b->device == device && strcmp(b->kernel, kernel) == 0)
            return b;
    }
    return NULL;
}

bool sonde_bandwidth_sum(const struct sonde_bandwidths *all, const char *kernel, struct sonde_bandwidth *sum)
{
    double shared_ns = 0, share = 0;
    *sum = (struct sonde_bandwidth){.kernel = kernel, .share = -1, .pipe_share = -1};
    bool found = false, bytes = true;
    for (size_t i = 0; i < all->items.count; i++) {
        const struct sonde_bandwidth *b = &all->items.items[i];
        if (strcmp(b->kernel, kernel) != 0)
            continue;
        found = true;
        sum->operations += b->operations;
        sum->ns += b->ns;
        sum->bytes += b->bytes;
        bytes &= b->bytes > 0;
        if (b->pipe && b->pipe_share > sum->pipe_share) { /* of several devices the one where it was nearest */
            sum->pipe = b->pipe;
            sum->pipe_length = b->pipe_length;
            sum->pipe_share = b->pipe_share;
        }
        share += b->share >= 0 ? b->share * (b->ns > 0 ? b->ns : 1) : 0;
        shared_ns += b->share >= 0 ? (b->ns > 0 ? b->ns : 1) : 0;
    }
    sum->bytes = bytes ? sum->bytes : 0; /* of some of them says nothing */
    sum->share = shared_ns > 0 ? share / shared_ns : -1;
    return found;
}

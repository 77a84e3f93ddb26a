/* sync.c - calls and WAIT rows of a thread lane, joined by the entry of the call. */
#include "sync.h"

#include <stdlib.h>

#include "analyze/trace/each.h"

/* Sums: node of a process -> nanoseconds. */
static int add_call(struct sonde_map *sums, const struct sonde_row_call *call)
{
    uint64_t ns = 0;
    sonde_map_get(sums, call->node, &ns);
    return sonde_map_put(sums, call->node, ns + call->leave_ns - call->enter_ns);
}

/* A call belongs to the window that it is entered in. */
static int add_lane(struct sonde_map *sums, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t wait = 0;
    int rc = 0;
    for (uint32_t i = 0; i < lane->call_count && wait < lane->wait_count && !rc; i++) {
        const struct sonde_row_call *call = &lane->calls[i];
        if (sonde_call_waited(lane, call, &wait) && call->enter_ns >= from_ns && call->enter_ns < to_ns &&
            call->leave_ns > call->enter_ns)
            rc = add_call(sums, call);
    }
    return rc;
}

static int each_window(void *user, const struct sonde_trace_window *window)
{
    int rc = 0;
    (void)user;
    for (uint32_t i = 0; i < window->lane_count && !rc; i++)
        rc = add_lane(window->state, &window->lanes[i], window->from_ns, window->to_ns);
    return rc;
}

struct node_sum { uint64_t node, ns; }; /* of the tree, plus one; 0: no more */

static void put(const struct sonde_profile *profile, uint32_t process, const struct sonde_map *sums, struct sonde_text *found)
{
    for (size_t i = 0; sums->slots && i <= sums->mask; i++) {
        if (!sums->slots[i].used)
            continue;
        const struct node_sum one = {1ull + sonde_profile_locate(profile, process, (uint32_t)sums->slots[i].key), sums->slots[i].value};
        sonde_found_put(found, &one, sizeof one);
    }
}

struct computing {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_progress *progress;
    sonde_context_values *out;
};

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct computing *c = user;
    const struct sonde_process *p = &c->m->processes[process];
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_CALLS | SONDE_READ_WAITS, .state_bytes = sizeof(struct sonde_map), .progress = c->progress};
    struct sonde_trace_reader trace = {0};
    int rc = 0;
    if (sonde_trace_extent(p, SONDE_READ_WAITS).rows) {
        rc = sonde_trace_open(p, &options, &trace);
        rc = rc ? rc : sonde_trace_read(&trace, each_window, NULL);
    }
    for (uint32_t i = 0; i < trace.part_count; i++) {
        struct sonde_map *sums = sonde_trace_state(&trace, i);
        if (!rc)
            put(c->profile, process, sums, found);
        sonde_map_fini(sums);
    }
    sonde_trace_close(&trace);
    sonde_found_put(found, &(struct node_sum){0}, sizeof(struct node_sum));
    return rc;
}

/* What calls that are there to wait have is in the profile. */
static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct computing *c = user;
    struct node_sum one;
    int rc = 0;
    for (sonde_found_get(found, &one, sizeof one); one.node && !rc; sonde_found_get(found, &one, sizeof one))
        if (!c->profile->nodes.items[one.node - 1].self.sync_ns)
            rc = sonde_vector_push(c->out, (struct sonde_context_value){process, (uint32_t)one.node - 1, (double)one.ns});
    return rc;
}

int sonde_sync_values(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_progress *progress, sonde_context_values *out)
{
    const int rc = sonde_metric_values(m, profile, SONDE_METRIC_SYNC, out);
    return rc ? rc : sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &(struct computing){m, profile, progress, out});
}

int sonde_sync_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                       struct sonde_progress *progress, double **out)
{
    sonde_context_values values = {0};
    double *sync = calloc(profile->nodes.count, sizeof *sync);
    int rc = sync ? sonde_sync_values(m, profile, progress, &values) : SONDE_ENOMEM;
    for (size_t i = 0; i < values.count && !rc; i++)
        sync[values.items[i].node] += values.items[i].value;
    sonde_vector_fini(&values);
    if (rc)
        free(sync);
    else
        *out = sync;
    return rc;
}

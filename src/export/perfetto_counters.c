/* perfetto_counters.c - what rises and falls during a process's life, as counter tracks under its devices.
 *
 * Each operation and object is two steps, up and down; in the order of time they are the counter. The steps
 * of one counter are held at once: 16 bytes for an operation, 32 for an object.
 */
#include "perfetto_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/timeline/series.h"
#include "analyze/profile/counter_series.h"
#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/vector.h"

#define SAMPLED (1u << 20) /* numbers of their tracks: after those of devices */

struct counters { /* of a process */
    const struct pf_tracks *tracks;
    const struct sonde_process *process;
    int64_t shift_ns; /* of its times */
};

/* Operations of one device: time << 1, plus 1 for up. At one instant what ends goes first: nothing is counted
 * that was never there at once. So it is with objects. */
struct flights {
    const struct sonde_process *process;
    uint32_t device;
    SONDE_VECTOR(uint64_t) steps;
};

static bool has_queue(const struct sonde_process *p, uint32_t device)
{
    for (uint32_t i = 1; i < p->lane_count; i++)
        if (p->lanes[i].kind == SONDE_LANE_KIND_QUEUE && p->lanes[i].device == device)
            return true;
    return false;
}

static uint64_t begin_counter(const struct counters *c, uint64_t number, const char *name, uint32_t device, bool bytes)
{
    const uint64_t track = pf_track(c->tracks, PF_TRACK_COUNTER, number);
    const uint64_t parent = has_queue(c->process, device) ? pf_track(c->tracks, PF_TRACK_DEVICE, device)
                                                          : pf_track(c->tracks, PF_TRACK_PROCESS, 0);
    pf_send_counter_track(c->tracks->wire, track, parent, name, bytes);
    pf_send_counter(c->tracks->wire, track, c->process->header.start_ns + (uint64_t)c->shift_ns, 0);
    return track;
}

/* ---- operations in flight: from the API call that enqueued one to its end on the device ------ */

static int take_op(void *user, uint32_t lane, const void *row)
{
    struct flights *f = user;
    const struct sonde_row_op *op = row;
    if (lane >= f->process->lane_count || f->process->lanes[lane].device != f->device || !sonde_op_has_flight(op))
        return 0;
    return sonde_vector_push(&f->steps, op->enter_ns << 1 | 1) || sonde_vector_push(&f->steps, op->end_ns << 1) ? SONDE_ENOMEM : 0;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static int write_in_flight(const struct counters *c, uint32_t device, uint64_t number)
{
    struct flights f = {.process = c->process, .device = device};
    int64_t value = 0;
    const int rc = sonde_trace_each(c->process, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take_op, &f);
    if (f.steps.count && !rc) {
        const uint64_t track = begin_counter(c, number, "operations in flight", device, false);
        qsort(f.steps.items, f.steps.count, sizeof *f.steps.items, by_number);
        for (size_t i = 0; i < f.steps.count; i++) {
            const uint64_t at_ns = f.steps.items[i] >> 1;
            value += f.steps.items[i] & 1 ? 1 : -1;
            if (i + 1 == f.steps.count || f.steps.items[i + 1] >> 1 != at_ns)
                pf_send_counter(c->tracks->wire, track, at_ns + (uint64_t)c->shift_ns, value);
        }
    }
    sonde_vector_fini(&f.steps);
    return rc;
}

/* ---- memory, as the view memory counts: what lies in another object takes no room of its own -- */

struct counted {
    const struct sonde_process *process;
    enum sonde_memory_class class;
    uint32_t device;
};

static bool counts(const void *user, uint32_t object)
{
    const struct counted *c = user;
    const struct sonde_row_object *o = &c->process->objects[object];
    return o->bytes && !sonde_object_is_part(c->process, o) && o->alloc_ns && (!o->free_ns || o->free_ns >= o->alloc_ns) &&
           o->device == c->device && sonde_object_kind_class(o->kind) == c->class;
}

static int write_memory(const struct counters *c, enum sonde_memory_class class, uint32_t device, uint64_t number)
{
    static const char *const names[] = {
        [SONDE_MEMORY_ON_DEVICE] = "device memory",
        [SONDE_MEMORY_SHARED] = "shared memory",
        [SONDE_MEMORY_ON_HOST] = "pinned host memory",
    };
    sonde_object_changes changes = {0};
    int64_t value = 0;
    const int rc = sonde_object_changes_find(c->process, counts, &(struct counted){c->process, class, device}, &changes);
    if (changes.count && !rc) {
        const uint64_t track = begin_counter(c, number, names[class], device, true);
        for (size_t i = 0; i < changes.count; i++) {
            const struct sonde_object_change *at = &changes.items[i];
            const int64_t bytes = (int64_t)c->process->objects[at->object].bytes;
            value += at->free ? -bytes : bytes;
            if (i + 1 == changes.count || at[1].at_ns != at->at_ns)
                pf_send_counter(c->tracks->wire, track, at->at_ns + (uint64_t)c->shift_ns, value);
        }
    }
    sonde_vector_fini(&changes);
    return rc;
}

/* ---- counters of the hardware over time: what happened per second, or a value; 0 where nothing is known -------- */

struct sampled {
    const struct counters *counters;
    uint64_t track, until_ns;
    bool rates;
};

static int take_value(void *user, uint32_t lane, const void *row)
{
    struct sampled *s = user;
    const struct sonde_row_series *value = row;
    const uint64_t shift = (uint64_t)s->counters->shift_ns;
    (void)lane;
    if (value->from_ns >= value->to_ns || value->from_ns < s->until_ns || !(value->value >= 0))
        return 0;
    if (s->until_ns && value->from_ns > s->until_ns)
        pf_send_counter(s->counters->tracks->wire, s->track, s->until_ns + shift, 0);
    const double shown = s->rates ? value->value * 1e9 / (double)(value->to_ns - value->from_ns) : value->value;
    pf_send_counter(s->counters->tracks->wire, s->track, value->from_ns + shift, shown < 9e18 ? (int64_t)(shown + 0.5) : INT64_MAX);
    s->until_ns = value->to_ns;
    return 0;
}

static int write_sampled(const struct counters *c, uint32_t lane)
{
    const struct sonde_row_lane *row = &c->process->lanes[lane];
    const char *metric = sonde_process_string(c->process, row->name), *unit = sonde_process_string(c->process, row->context);
    struct sampled s = {.counters = c, .rates = sonde_counter_adds_up(metric)};
    char name[300];
    snprintf(name, sizeof name, "%s%s", metric, s.rates ? " per second" : "");
    s.track = begin_counter(c, SAMPLED + lane, name, row->device, strcmp(unit, "byte") == 0);
    const int rc = sonde_trace_each(c->process, &(struct sonde_trace_stored){.table = SONDE_TABLE_SERIES, .lane = lane}, take_value, &s);
    if (s.until_ns)
        pf_send_counter(c->tracks->wire, s.track, s.until_ns + (uint64_t)c->shift_ns, 0);
    return rc;
}

int pf_write_counters(const struct pf_tracks *tracks, int64_t shift_ns)
{
    enum { CLASSES = SONDE_MEMORY_ON_HOST + 1 };
    const struct sonde_process *p = &tracks->names->measurement->processes[tracks->process];
    const struct counters c = {tracks, p, shift_ns};
    int rc = 0;
    for (uint32_t device = 0; device < (p->device_count ? p->device_count : 1) && !rc; device++) {
        const uint64_t number = (uint64_t)device * (1 + CLASSES);
        if (has_queue(p, device))
            rc = write_in_flight(&c, device, number);
        for (int class = 0; class < CLASSES && !rc; class++)
            rc = write_memory(&c, (enum sonde_memory_class)class, device, number + 1 + (uint64_t)class);
    }
    for (uint32_t lane = 1; lane < p->lane_count && !rc; lane++)
        if (sonde_lane_is_series(&p->lanes[lane]))
            rc = write_sampled(&c, lane);
    return rc;
}

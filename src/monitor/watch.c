/* watch.c - see watch.h. */
#include "watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/model/totals.h"
#include "analyze/symbols/symbols.h"
#include "announced.h"
#include "base/kinds.h"
#include "base/text.h"
#include "base/vector.h"
#include "format/reader.h"
#include "recorders.h"

static uint64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A name as people read it, kept as long as `watch`. */
static const char *keep_name(struct sonde_watch *watch, const char *name)
{
    char *readable = sonde_is_mangled(name) ? sonde_demangle(name) : NULL;
    const uint32_t id = sonde_intern_text(&watch->names, readable ? readable : name);
    free(readable);
    return sonde_intern_get(&watch->names, id);
}

const char *sonde_watch_label(const struct sonde_watch_row *row)
{
    return *row->name ? row->name : sonde_op_kind_name(row->kind);
}

double sonde_watch_busy(const struct sonde_watch_process *p, const struct sonde_watch_device *device)
{
    if (!p->looked_before_ns || p->looked_ns <= p->looked_before_ns)
        return -1;
    const double share = (double)(device->busy_ns - device->busy_before_ns) / (double)(p->looked_ns - p->looked_before_ns);
    return share > 1 ? 1 : share; /* what was found out about since the last look may have begun before it */
}

/* ---- one program --------------------------------------------------------------------------- */

struct reading {
    struct sonde_watch *watch;
    const struct sonde_process *from;
    struct sonde_watch_process *before; /* NULL: the first look */
    struct sonde_watch_process to;
    SONDE_VECTOR(struct sonde_watch_row) rows;
    struct sonde_map index; /* device, kind and name's id -> row */
};

/* The operation of a node of the profile; NULL: it is a call, or the like. */
static const struct sonde_row_frame *operation_of(const struct sonde_process *p, uint32_t id)
{
    const struct sonde_row_node *node = sonde_process_node(p, id, NULL);
    const struct sonde_row_frame *frame = node ? &p->frames[node->frame] : NULL;
    return frame && frame->kind == SONDE_FRAME_OP ? frame : NULL;
}

/* Kernels are told apart by name, others by kind. */
static const char *name_of(struct reading *r, const struct sonde_row_frame *frame)
{
    return sonde_op_kind_runs(frame->op) ? keep_name(r->watch, sonde_process_string(r->from, frame->name)) : "";
}

static void set_before(const struct reading *r, struct sonde_watch_row *row)
{
    for (size_t i = 0; r->before && i < r->before->row_count; i++) {
        struct sonde_watch_row *old = &r->before->rows[i];
        if (old->device == row->device && old->kind == row->kind && old->name == row->name) {
            row->before = old->now;
            row->counted = old->counted;
            old->counted = NULL;
            return;
        }
    }
}

/* NULL: out of memory. */
static struct sonde_watch_row *row_of(struct reading *r, uint32_t device, const struct sonde_row_frame *frame)
{
    const char *name = name_of(r, frame);
    const uint64_t key = sonde_hash_mix(sonde_hash_mix(device, frame->op), (uintptr_t)name);
    uint64_t at;
    if (sonde_map_get(&r->index, key, &at))
        return &r->rows.items[at];
    const struct sonde_watch_row row = {.device = device, .kind = frame->op, .name = name};
    if (sonde_map_put(&r->index, key, r->rows.count) || sonde_vector_push(&r->rows, row))
        return NULL;
    set_before(r, &r->rows.items[r->rows.count - 1]);
    return &r->rows.items[r->rows.count - 1];
}

static int read_rows(struct reading *r)
{
    for (uint32_t i = 1; i < r->from->profile_count; i++) {
        const struct sonde_row_profile *from = &r->from->profiles[i];
        const struct sonde_row_frame *frame = from->count && from->lane ? operation_of(r->from, from->node) : NULL;
        const uint32_t device = frame ? r->from->lanes[from->lane].device : 0;
        if (!device)
            continue;
        struct sonde_watch_row *row = row_of(r, device - 1, frame);
        if (!row)
            return SONDE_ENOMEM;
        row->now.operations += from->count;
        row->now.failed += from->failed;
        row->now.timed += from->timed;
        row->now.total_ns += from->sum_ns;
        row->now.bytes += from->bytes;
    }
    return 0;
}

static void read_waiting(struct reading *r, uint64_t now_raw_ns)
{
    for (uint32_t i = 1; i < r->from->lane_count; i++) {
        const struct sonde_row_lane *lane = &r->from->lanes[i];
        struct sonde_watch_device *device = lane->device && !sonde_lane_is_series(lane) ? &r->to.devices[lane->device - 1] : NULL;
        const struct sonde_row_frame *frame = device && lane->waiting ? operation_of(r->from, (uint32_t)lane->oldest) : NULL;
        if (!device)
            continue;
        device->waiting += lane->waiting;
        const uint64_t since_ns = frame && now_raw_ns > lane->oldest_ns ? now_raw_ns - lane->oldest_ns : 0;
        if (since_ns <= device->current_ns)
            continue;
        device->current_ns = since_ns;
        device->current = sonde_op_kind_runs(frame->op) ? name_of(r, frame) : sonde_op_kind_name(frame->op);
    }
}

static int read_devices(struct reading *r)
{
    const struct sonde_process *from = r->from;
    r->to.device_count = from->device_count ? from->device_count - 1 : 0;
    r->to.devices = calloc(r->to.device_count + 1, sizeof *r->to.devices);
    if (!r->to.devices)
        return SONDE_ENOMEM;
    for (uint32_t i = 1; i < from->device_count; i++) {
        struct sonde_watch_device *device = &r->to.devices[i - 1];
        device->pci = from->devices[i].pci;
        device->name = keep_name(r->watch, sonde_process_string(from, from->devices[i].name));
        device->runtime = keep_name(r->watch, sonde_process_string(from, from->devices[i].backend));
        device->current = "";
        if (i < SONDE_BUSY_DEVICES) {
            device->busy_ns = from->header.device_busy[i].busy_ns;
            device->kernel_ns = from->header.device_group[i].kernel_ns;
            device->copy_ns = from->header.device_group[i].copy_ns;
        }
        if (r->before && i <= r->before->device_count)
            device->busy_before_ns = r->before->devices[i - 1].busy_ns;
    }
    return 0;
}

static void read_header(struct reading *r, bool lives)
{
    const struct sonde_live_header *h = &r->from->header;
    struct sonde_watch_process *to = &r->to;
    to->program = keep_name(r->watch, sonde_path_base(h->executable));
    to->pid = h->pid;
    to->rank = (int32_t)h->rank - 1;
    to->state = lives ? SONDE_WATCH_RUNNING : h->state == SONDE_PROCESS_RUNNING ? SONDE_WATCH_KILLED
                                                                                : SONDE_WATCH_EXITED;
    to->start_ns = h->start_ns;
    to->start_s = (double)(h->start_ns + h->wall_offset_ns) / 1e9;
    to->seen = h->ledger.seen;
    to->unmatched = h->ledger.unmatched;
    to->overhead_ns = h->ledger.hook_ns; /* an estimate, which better knowledge of the ticks' length may lessen: a counter never falls */
    if (r->before && r->before->start_ns == h->start_ns && r->before->overhead_ns > to->overhead_ns)
        to->overhead_ns = r->before->overhead_ns;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        if (sonde_drop_loses_operation((enum sonde_drop)cause))
            to->dropped += h->ledger.dropped[cause];
    to->ended_ns = lives ? 0 : clock_ns(CLOCK_MONOTONIC);
}

static void free_process(struct sonde_watch_process *p)
{
    for (size_t i = 0; i < p->row_count; i++)
        free(p->rows[i].counted);
    free(p->name);
    free(p->devices);
    free(p->rows);
    *p = (struct sonde_watch_process){0};
}

static int read_process(struct reading *r, bool lives)
{
    read_header(r, lives);
    int status = read_devices(r);
    if (!status)
        status = read_rows(r);
    if (!status)
        read_waiting(r, clock_ns(CLOCK_MONOTONIC_RAW));
    r->to.rows = r->rows.items;
    r->to.row_count = r->rows.count;
    sonde_map_fini(&r->index);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct look {
    struct sonde_watch *watch;
    SONDE_VECTOR(struct sonde_watch_process) found;
    bool recorded; /* in a measurement of --last: what ended there before anybody looked is left out */
    struct sonde_diag *diag;
};

static struct sonde_watch_process *find(const struct sonde_watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->process_count; i++)
        if (watch->processes[i].name && strcmp(watch->processes[i].name, name) == 0)
            return &watch->processes[i];
    return NULL;
}

/* Of a parallel job several recorders name one measurement. */
static bool was_found(const struct look *look, const char *name)
{
    for (size_t i = 0; i < look->found.count; i++)
        if (strcmp(look->found.items[i].name, name) == 0)
            return true;
    return false;
}

static int take_over(struct look *look, struct sonde_watch_process *known)
{
    if (sonde_vector_push(&look->found, *known))
        return SONDE_ENOMEM;
    *known = (struct sonde_watch_process){0};
    return 0;
}

static void note_unread(struct sonde_watch *watch, const struct sonde_diag *why)
{
    watch->unread++;
    snprintf(watch->unread_why, sizeof watch->unread_why, "%s %s%s%s", why->what, why->where, *why->why ? ": " : "", why->why);
}

static int look_at(void *user, const char *path, const char *name)
{
    struct look *look = user;
    struct sonde_watch *watch = look->watch;
    if (was_found(look, name))
        return 0;
    struct sonde_watch_process *known = find(watch, name);
    struct sonde_measurement *m;
    struct sonde_diag why = {0};
    const bool lives = sonde_announced_lives(path); /* first: then what is read of one that does not is whole */
    const uint64_t start_ns = sonde_announced_start_ns(path);
    const bool is_another = known && start_ns && start_ns != known->start_ns; /* in a container numbers come again soon */
    if (known && known->ended_ns && !is_another)
        return look->recorded ? 0 : take_over(look, known); /* what is recorded stays in its place for long: keep_others */
    if (is_another) {
        free_process(known);
        known = NULL;
    }
    if (!known && (!start_ns || (look->recorded && !lives)))
        return 0;
    const int code = sonde_measurement_open_sums(path, &m, &why);
    if (code == SONDE_ENOMEM)
        return sonde_diag_set(look->diag, code, path, "cannot look at");
    if (code) {
        if (code != SONDE_EEMPTY && code != SONDE_ENOTFOUND) /* it has just begun, or was just removed */
            note_unread(watch, &why);
        return known ? take_over(look, known) : 0;
    }
    struct reading r = {.watch = watch, .from = &m->processes[0], .before = known, .to.name = strdup(name)};
    int status = m->process_count && r.to.name ? read_process(&r, lives) : SONDE_ENOMEM;
    r.to.looked_ns = clock_ns(CLOCK_MONOTONIC);
    r.to.looked_before_ns = known ? known->looked_ns : 0;
    if (!status && sonde_vector_push(&look->found, r.to))
        status = SONDE_ENOMEM;
    if (status)
        free_process(&r.to);
    else if (known)
        free_process(known);
    sonde_measurement_close(m);
    return status ? sonde_diag_set(look->diag, status, path, "cannot look at") : 0;
}

/* Those of a measurement that is written while programs run. One that is gone is none of ours. */
static int look_at_recorder(void *user, const struct sonde_recorder *recorder)
{
    struct look *look = user;
    struct sonde_diag unused;
    const int status = sonde_announced_each(recorder->output, look_at, look, &unused);
    return status == SONDE_ENOMEM ? status : 0;
}

static int look_at_recorders(struct look *look)
{
    look->recorded = true;
    const int status = sonde_recorders_each(look->watch->folder, look_at_recorder, look);
    look->recorded = false;
    return status;
}

/* Those whose folders are gone; or, where not all `seen` were gone through, were not met. */
static int keep_others(struct look *look, bool seen)
{
    const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < look->watch->process_count; i++) {
        struct sonde_watch_process *p = &look->watch->processes[i];
        if (seen && p->name && !p->ended_ns) { /* removed before it was seen to end */
            p->ended_ns = now_ns;
            p->state = SONDE_WATCH_EXITED;
        }
        if (p->name && (!p->ended_ns || now_ns - p->ended_ns < SONDE_WATCH_KEEP_NS) && take_over(look, p))
            return SONDE_ENOMEM;
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct sonde_watch_process *x = a, *y = b;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return strcmp(x->name, y->name);
}

int sonde_watch_look(struct sonde_watch *watch, struct sonde_diag *diag)
{
    struct look look = {.watch = watch, .diag = diag};
    int status = sonde_announced_each(watch->folder, look_at, &look, diag);
    status = status ? status : look_at_recorders(&look);
    const int kept = keep_others(&look, !status);
    for (size_t i = 0; i < watch->process_count; i++)
        free_process(&watch->processes[i]);
    free(watch->processes);
    if (look.found.count)
        qsort(look.found.items, look.found.count, sizeof *look.found.items, by_start);
    watch->processes = look.found.items;
    watch->process_count = look.found.count;
    watch->looks++;
    return status ? status : kept ? sonde_diag_set(diag, kept, watch->folder, "cannot look at")
                                  : 0;
}

struct sonde_watch *sonde_watch_create(const char *folder)
{
    struct sonde_watch *watch = calloc(1, sizeof *watch);
    if (watch && !(watch->folder = strdup(folder))) {
        free(watch);
        return NULL;
    }
    return watch;
}

void sonde_watch_destroy(struct sonde_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->process_count; i++)
        free_process(&watch->processes[i]);
    free(watch->processes);
    sonde_intern_fini(&watch->names);
    free(watch->folder);
    free(watch);
}

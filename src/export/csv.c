/* csv.c - one row per operation, for spreadsheets and data frames (RFC 4180,
 * lines end with CR LF as it says). An empty field is "unknown"; 0 is zero.
 */
#include "export.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/utf8.h"
#include "names.h"

#define CALLED_FROM_FRAMES 4

struct writer {
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_export_result *result;
    struct sonde_text clean;
    struct sonde_text caller, ranges; /* of the context `caller_at` */
    uint32_t caller_at;
    uint32_t process;
};

static const char header[] =
    "process,pid,lane,queue,device,kind,name,correlation,enter_ns,queued_ns,submit_ns,start_ns,end_ns,"
    "duration_ns,bytes,global_size,local_size,object,object_bytes,failed,bad_time,context,called_from,"
    "ranges,registers,static_shared_bytes,dynamic_shared_bytes,local_bytes,cluster,occupancy,occupancy_limiter,"
    "source,target,source_device,target_device\r\n";

/* A field; quoted when it must be (RFC 4180, 2.5 to 2.7). */
static void put_text(struct writer *w, const char *s)
{
    s = sonde_utf8_clean(s, &w->clean);
    if (!s[strcspn(s, ",\"\r\n")]) {
        sonde_out_text(w->out, s);
        return;
    }
    sonde_out_char(w->out, '"');
    for (; *s; s++) {
        if (*s == '"')
            sonde_out_char(w->out, '"');
        sonde_out_char(w->out, *s);
    }
    sonde_out_char(w->out, '"');
}

static void put_next_text(struct writer *w, const char *s)
{
    sonde_out_char(w->out, ',');
    put_text(w, s);
}

static void put_next(struct writer *w, bool known, uint64_t value)
{
    sonde_out_char(w->out, ',');
    if (known)
        sonde_out_u64(w->out, value);
}

static void put_times(struct writer *w, const struct sonde_row_op *op)
{
    bool timed = !(op->flags & SONDE_OP_NO_TIMES);
    bool span = timed && op->start_ns && op->end_ns >= op->start_ns;
    put_next(w, true, op->enter_ns);
    put_next(w, timed && op->queued_ns, op->queued_ns);
    put_next(w, timed && op->submit_ns, op->submit_ns);
    put_next(w, timed && op->start_ns, op->start_ns);
    put_next(w, timed && op->end_ns, op->end_ns);
    put_next(w, span, op->end_ns - op->start_ns);
    w->result->without_times += !span;
}

static void put_caller(struct writer *w, uint32_t at)
{
    if (at != w->caller_at) {
        w->caller.length = 0;
        sonde_text_add(&w->caller, at ? sonde_names_callers(&w->names, at, CALLED_FROM_FRAMES) : "");
        w->ranges.length = 0;
        sonde_text_add(&w->ranges, at ? sonde_names_ranges(&w->names, at) : "");
        w->caller_at = at;
    }
    put_next(w, at != 0, at);
    put_next_text(w, w->caller.length ? sonde_text_get(&w->caller) : "");
    put_next_text(w, w->ranges.length ? sonde_text_get(&w->ranges) : "");
}

/* What only some runtimes tell of a launch or a copy. */
static void put_attributes(struct writer *w, const struct sonde_process *p, uint32_t work)
{
    const struct sonde_row_work *launch = sonde_names_launch(p, work);
    char room[192] = "";
    put_next(w, launch, launch ? launch->registers : 0);
    put_next(w, launch, launch ? launch->static_shared : 0);
    put_next(w, launch, launch ? launch->dynamic_shared : 0);
    put_next(w, launch, launch ? launch->local_bytes : 0);
    put_next_text(w, sonde_names_work(p, work, SONDE_WORK_CLUSTER, room, sizeof room));
    room[0] = 0;
    if (launch && launch->occupancy)
        snprintf(room, sizeof room, "%g", launch->occupancy / 1000.0);
    put_next_text(w, room);
    for (enum sonde_work_text i = SONDE_WORK_LIMITER; i < SONDE_WORK_TEXTS; i++)
        put_next_text(w, sonde_names_work(p, work, i, room, sizeof room));
}

static int put_op(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_op *op = row;
    const struct sonde_process *p = &w->names.measurement->processes[w->process];
    uint32_t at = sonde_names_locate(&w->names, w->process, op->node);
    uint32_t device = lane < p->lane_count ? p->lanes[lane].device : 0;
    const struct sonde_row_object *object = sonde_object_row(p, op->object);
    char room[256];
    put_text(w, p->name);
    put_next(w, true, p->header.pid);
    put_next(w, true, lane);
    put_next_text(w, sonde_names_lane(&w->names, w->process, lane, room, sizeof room));
    put_next_text(w, sonde_names_device(p, device, room, sizeof room));
    put_next_text(w, sonde_op_kind_name(op->kind));
    put_next_text(w, sonde_names_op(&w->names, at, op->kind));
    put_next(w, true, op->correlation);
    put_times(w, op);
    put_next(w, true, op->bytes);
    put_next_text(w, sonde_names_work(p, op->work, SONDE_WORK_GLOBAL, room, sizeof room));
    put_next_text(w, sonde_names_work(p, op->work, SONDE_WORK_LOCAL, room, sizeof room));
    put_next(w, object != NULL, op->object);
    put_next(w, object != NULL, object ? object->bytes : 0);
    put_next(w, true, (op->flags & SONDE_OP_FAILED) != 0);
    put_next(w, true, (op->flags & SONDE_OP_BAD_TIME) != 0);
    put_caller(w, at);
    put_attributes(w, p, op->work);
    sonde_out_text(w->out, "\r\n");
    w->result->operations++;
    return sonde_out_failed(w->out);
}

static int write_csv(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                     struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.out = out, .result = result, .caller_at = UINT32_MAX};
    int code = sonde__export_needs_trace(m, diag);
    if (!code)
        code = sonde_names_init(&w.names, m, diag);
    if (code)
        return code;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_OPS));
    sonde_out_text(out, header);
    for (; w.process < m->process_count && !code; w.process++)
        code = sonde_trace_each(&m->processes[w.process], &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .progress = progress},
                                put_op, &w);
    sonde_text_fini(&w.clean);
    sonde_text_fini(&w.caller);
    sonde_text_fini(&w.ranges);
    sonde_names_fini(&w.names);
    return code == SONDE_ENOMEM ? sonde_diag_set(diag, code, m->path, "cannot export") : 0;
}

const struct sonde_export_format sonde_export_csv = {
    .name = "csv",
    .extension = "csv",
    .what = "one row per operation, for spreadsheets and data frames",
    .open_with = "open it with any spreadsheet, or pandas.read_csv",
    .write = write_csv,
};

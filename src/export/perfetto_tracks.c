/* perfetto_tracks.c - numbers and descriptions of a Perfetto trace's tracks. */
#include "perfetto_tracks.h"

#include <stdio.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "base/utf8.h"
#include "export.h"

typedef Sonde__Perfetto__TrackDescriptor Track;

static const struct sonde_process *process_of(const struct pf_tracks *t)
{
    return &t->names->measurement->processes[t->process];
}

/* Small numbers: each packet has one, and a number of 7 bits is a byte. 0 is not free. */
uint64_t pf_track(const struct pf_tracks *t, enum pf_track kind, uint64_t which)
{
    const uint32_t processes = t->names->measurement->process_count;
    return (which * processes + t->process) * PF_TRACK_KINDS + kind + 1;
}

static void describe(struct pf_tracks *t, uint64_t uuid, uint64_t parent, const char *name, int rank, Track *track)
{
    track->has_uuid = 1;
    track->uuid = uuid;
    track->has_parent_uuid = parent != 0;
    track->parent_uuid = parent;
    track->name = (char *)name;
    track->has_sibling_order_rank = rank != 0;
    track->sibling_order_rank = rank;
    pf_send_track(t->wire, track);
}

void pf_describe(struct pf_tracks *t, uint64_t uuid, uint64_t parent, const char *name, int rank)
{
    Track track = SONDE__PERFETTO__TRACK_DESCRIPTOR__INIT;
    struct sonde_text room = {0};
    track.has_child_ordering = 1;
    track.child_ordering = SONDE__PERFETTO__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__ORDER_EXPLICIT;
    describe(t, uuid, parent, sonde_utf8_clean(name, &room), rank, &track);
    sonde_text_fini(&room);
}

static void describe_process(struct pf_tracks *t)
{
    const struct sonde_process *p = process_of(t);
    Track track = SONDE__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Sonde__Perfetto__ProcessDescriptor process = SONDE__PERFETTO__PROCESS_DESCRIPTOR__INIT;
    struct sonde_text name = {0}, room = {0};
    char rank[SONDE_RANK_MAX];
    if (*sonde_rank_text(p, rank)) /* first: viewers cut long names */
        sonde_text_format(&name, "%s: ", rank);
    sonde_text_format(&name, "%s (%s)", p->header.executable[0] ? sonde_path_base(p->header.executable) : "process",
                      p->name);
    process.has_pid = 1;
    process.pid = t->pid;
    process.process_name = (char *)sonde_utf8_clean(sonde_text_get(&name), &room);
    track.process = &process;
    track.has_child_ordering = 1;
    track.child_ordering = SONDE__PERFETTO__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__ORDER_EXPLICIT;
    describe(t, pf_track(t, PF_TRACK_PROCESS, 0), 0, NULL, 0, &track);
    sonde_text_fini(&name);
    sonde_text_fini(&room);
}

/* One row of a lane that is no thread track of its own. Rows of one lane have
 * the same parent, name and merge key: viewers show them as one track. So have
 * those of the ranges of a thread that may end on another. */
static void describe_row(struct pf_tracks *t, uint64_t uuid, uint32_t lane)
{
    const struct sonde_process *p = process_of(t);
    Track track = SONDE__PERFETTO__TRACK_DESCRIPTOR__INIT;
    struct sonde_text room = {0};
    char name[300];
    bool queue = lane < p->lane_count && p->lanes[lane].kind == SONDE_LANE_KIND_QUEUE;
    uint64_t parent = queue ? pf_track(t, PF_TRACK_DEVICE, p->lanes[lane].device) : pf_track(t, PF_TRACK_PROCESS, 0);
    track.has_sibling_merge_behavior = track.has_sibling_merge_key_int = 1;
    track.sibling_merge_behavior = SONDE__PERFETTO__TRACK_DESCRIPTOR__SIBLING_MERGE_BEHAVIOR__MERGE_BY_KEY;
    track.sibling_merge_key_int = pf_track(t, t->across ? PF_TRACK_ACROSS : PF_TRACK_LANE, lane);
    sonde_names_lane(t->names, t->process, lane, name, 256);
    if (t->across)
        strcat(name, " \xc2\xb7 ranges across threads");
    describe(t, uuid, parent, sonde_utf8_clean(name, &room), (int)lane, &track);
    sonde_text_fini(&room);
}

/* Two lanes may be of threads with the same number, one after the other. */
static bool first_with_tid(const struct sonde_process *p, uint32_t lane)
{
    for (uint32_t i = 1; i < lane; i++)
        if (p->lanes[i].kind == SONDE_LANE_KIND_THREAD && p->lanes[i].tid == p->lanes[lane].tid)
            return false;
    return true;
}

static void describe_lane(struct pf_tracks *t, uint32_t lane)
{
    const struct sonde_process *p = process_of(t);
    uint64_t uuid = pf_track(t, PF_TRACK_LANE, lane), process = pf_track(t, PF_TRACK_PROCESS, 0);
    char name[256];
    sonde_names_lane(t->names, t->process, lane, name, sizeof name);
    if (lane < p->lane_count && p->lanes[lane].kind == SONDE_LANE_KIND_THREAD && first_with_tid(p, lane)) {
        Track track = SONDE__PERFETTO__TRACK_DESCRIPTOR__INIT;
        Sonde__Perfetto__ThreadDescriptor thread = SONDE__PERFETTO__THREAD_DESCRIPTOR__INIT;
        struct sonde_text room = {0};
        thread.has_pid = thread.has_tid = 1;
        thread.pid = t->pid;
        thread.tid = p->lanes[lane].tid;
        thread.thread_name = (char *)sonde_utf8_clean(name, &room);
        track.thread = &thread;
        describe(t, uuid, process, NULL, 0, &track);
        sonde_text_fini(&room);
        return;
    }
    describe_row(t, uuid, lane);
}

static void describe_devices(struct pf_tracks *t)
{
    const struct sonde_process *p = process_of(t);
    char name[192];
    for (uint32_t i = 1; i < p->lane_count; i++) {
        bool known = p->lanes[i].kind != SONDE_LANE_KIND_QUEUE;
        for (uint32_t j = 1; j < i && !known; j++)
            known = p->lanes[j].kind == SONDE_LANE_KIND_QUEUE && p->lanes[j].device == p->lanes[i].device;
        if (known)
            continue;
        sonde_names_device_numbered(p, p->lanes[i].device, name, sizeof name);
        pf_describe(t, pf_track(t, PF_TRACK_DEVICE, p->lanes[i].device), pf_track(t, PF_TRACK_PROCESS, 0), name,
                    1000 + (int)(p->lanes[i].device & 0xffff));
    }
}

void pf_tracks_begin(struct pf_tracks *t)
{
    t->pid = sonde__export_pid(t->names->measurement, t->process);
    describe_process(t);
    describe_devices(t);
    for (uint32_t lane = 1; lane < process_of(t)->lane_count; lane++)
        if (!sonde_lane_is_series(&process_of(t)->lanes[lane]))
            describe_lane(t, lane);
}

void pf_tracks_lane(struct pf_tracks *t, uint32_t lane)
{
    memset(t->rows, 0, sizeof t->rows);
    t->lane = lane;
}

uint64_t pf_row_track(struct pf_tracks *t, uint32_t row)
{
    if (row == 0 && !t->across)
        return pf_track(t, PF_TRACK_LANE, t->lane);
    if (!t->rows[row]) {
        t->rows[row] = pf_track(t, PF_TRACK_ROW, ++t->row_tracks);
        describe_row(t, t->rows[row], t->lane);
    }
    return t->rows[row];
}

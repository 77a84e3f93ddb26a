/* perfetto_tracks.h - which tracks a Perfetto trace has: of processes, devices, lanes, and further rows of lanes.
 */
#ifndef SONDE_EXPORT_PERFETTO_TRACKS_H
#define SONDE_EXPORT_PERFETTO_TRACKS_H

#include "layout.h"
#include "names.h"
#include "perfetto_wire.h"

enum pf_track {
    PF_TRACK_PROCESS,
    PF_TRACK_DEVICE,
    PF_TRACK_LANE,
    PF_TRACK_ROW,
    PF_TRACK_LEDGER,
    PF_TRACK_ACROSS,
    PF_TRACK_SAMPLES,
    PF_TRACK_COUNTER,
    PF_TRACK_KINDS,
};

struct pf_tracks { /* of one process; ready with the first three set, and zero else */
    struct sonde_names *names;
    struct pf_wire *wire;
    uint32_t process;
    int32_t pid;           /* as viewers see it */
    uint32_t lane;         /* now being written; 0 none */
    bool across;           /* what is written of it are ranges that may end on other threads: on tracks beside it */
    uint64_t rows[SONDE_LAYOUT_ROWS]; /* track of each row of the lane; 0 = not described yet */
    uint64_t row_tracks;   /* described so far, for numbering */
};

/* Number of a track; `which` counts those of one kind in the process. */
uint64_t pf_track(const struct pf_tracks *tracks, enum pf_track kind, uint64_t which);

/* Describe the process, its devices and its lanes. */
void pf_tracks_begin(struct pf_tracks *tracks);
/* What follows is of this lane; 0: of none. */
void pf_tracks_lane(struct pf_tracks *tracks, uint32_t lane);
/* The track of a row of the lane, described when it is new; row 0 is the lane's own. */
uint64_t pf_row_track(struct pf_tracks *tracks, uint32_t row);
/* Describe any other; `rank` is its place among its siblings. */
void pf_describe(struct pf_tracks *tracks, uint64_t uuid, uint64_t parent, const char *name, int rank);

#endif

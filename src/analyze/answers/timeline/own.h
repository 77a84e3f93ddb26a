/* own.h - between the files of timeline/: tiles, who fills them, and who makes intervals of them.
 */
#ifndef SONDE_ANALYZE_ANSWERS_TIMELINE_OWN_H
#define SONDE_ANALYZE_ANSWERS_TIMELINE_OWN_H

#include <pthread.h>

#include "analyze/model/recorded.h"
#include "analyze/samples/gaps.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "timeline.h"

/* ---- axes ------------------------------------------------------------------------------------- */

/* A process's time since the run began, and back. What lies before the run's begin is at it. */
static inline uint64_t sonde__common_ns(int64_t origin_ns, uint64_t at_ns)
{
    if (origin_ns >= 0)
        return at_ns > (uint64_t)origin_ns ? at_ns - (uint64_t)origin_ns : 0;
    return at_ns > UINT64_MAX + (uint64_t)origin_ns ? UINT64_MAX : at_ns - (uint64_t)origin_ns;
}

static inline uint64_t sonde__process_ns(int64_t origin_ns, uint64_t at_ns)
{
    return sonde__common_ns(-origin_ns, at_ns);
}

/* ---- tiles -------------------------------------------------------------------------------------- */

enum {
    SONDE__TILE_SHIFT = 9, /* bins of a tile, as a power of two */
    SONDE__LEVEL_MOST = 63 - SONDE__TILE_SHIFT,
};

struct sonde__long { /* a row that is no shorter than a bin */
    uint64_t begin_ns, end_ns, correlation;
    uint32_t node, rows;
    uint8_t kind;
};

struct sonde__bin { /* shorter rows of one node and kind in a bin */
    uint64_t time_ns;
    uint32_t node, rows;
    uint16_t at; /* in its tile */
    uint8_t kind;
};

struct sonde__tile {
    uint32_t process, lane, level;
    uint64_t number;         /* of those of its level */
    SONDE_VECTOR(struct sonde__long) longs; /* that overlap it, by begin; what is not cut also lies in the tiles before and after */
    SONDE_VECTOR(struct sonde__bin) bins;
    bool twice;              /* there may be two of one node and kind in a bin, until sonde__tile_settle */
    uint64_t used;           /* number of the last question that needed it */
    struct sonde__tile *newer, *older, *next; /* by use; of one bucket */
    size_t bytes;
};

static inline uint64_t sonde__tile_begin(const struct sonde__tile *tile)
{
    return tile->number << (tile->level + SONDE__TILE_SHIFT);
}

static inline uint64_t sonde__tile_last(const struct sonde__tile *tile)
{
    return sonde__tile_begin(tile) + ((1ull << (tile->level + SONDE__TILE_SHIFT)) - 1);
}

/* What is being filled: some tiles that follow each other, of one lane. Zeroed but for what is given. */
struct sonde__filler {
    struct sonde__tile **tiles; /* [count]; NULL: it is known already */
    uint32_t level;
    uint64_t first, count;      /* numbers */
    struct { uint32_t tile, bin; } recent[256];
};

/* Add a row that overlaps or lies in one of the tiles to all of those. 0 or SONDE_ENOMEM. */
int sonde__filler_add(struct sonde__filler *filler, const struct sonde__long *row);
/* Once all is in it. */
void sonde__tile_settle(struct sonde__tile *tile);
/* Of two tiles of the level below, both known. */
int sonde__tile_coarsen(struct sonde__tile *tile, const struct sonde__tile *first, const struct sonde__tile *second);
void sonde__tile_free(struct sonde__tile *tile);

/* Tiles of earlier questions. */
struct sonde__tiles {
    struct sonde__tile **buckets;
    struct sonde__tile *newest, *oldest;
    size_t bytes, room_bytes;
    uint64_t question;
};
int sonde__tiles_init(struct sonde__tiles *tiles, size_t room_bytes); /* 0 or SONDE_ENOMEM */
void sonde__tiles_fini(struct sonde__tiles *tiles);
/* Known, and used now; NULL: not known. */
struct sonde__tile *sonde__tiles_find(struct sonde__tiles *tiles, uint32_t process, uint32_t lane, uint32_t level, uint64_t number);
/* A filled one, which is the cache's from now on. */
void sonde__tiles_keep(struct sonde__tiles *tiles, struct sonde__tile *tile);
/* Those that were not used for longest give room; none that this question needs. */
void sonde__tiles_shrink(struct sonde__tiles *tiles);

/* ---- ranges -------------------------------------------------------------------------------------- */

struct sonde__named {    /* a range or a mark */
    uint64_t begin_ns, end_ns;
    uint32_t label;      /* of the timeline's */
    uint32_t track;      /* how many others it is in */
};
struct sonde__ranges {   /* of one lane, all of the run */
    SONDE_VECTOR(struct sonde__named) items; /* by track, begin; those of a track do not overlap */
    SONDE_VECTOR(size_t) tracks;             /* where each begins, and the end */
    bool known;
};

/* ---- the timeline ---------------------------------------------------------------------------------- */

struct sonde__timeline_process {
    const struct sonde_process *p;
    uint32_t index;
    int64_t origin_ns;                 /* when the run began, on its axis */
    struct sonde_recorded recorded;
    struct sonde__alive *alive;        /* [lane] */
    struct sonde__ranges *ranges;      /* [lane] */
};

/* Labels: routines of the profile by number; then two that are none; then those of ranges. */
struct sonde__labels {
    uint32_t *whole;                   /* [tree node]: label of its routine */
    uint32_t *shown;                   /* [tree node]: the same at `depth` */
    uint32_t depth;
    bool *timed;                       /* [tree node]: time counts for it */
    SONDE_VECTOR(struct sonde_timeline_label) items;
    uint32_t off, unread;
    struct sonde_intern texts;         /* of ranges: every process has its own */
    struct sonde_map ranges;           /* texts of name and domain -> label */
};
/* Each 0 or SONDE_ENOMEM; fini in any case. */
int sonde__labels_init(struct sonde__labels *labels, const struct sonde_profile *profile);
int sonde__labels_cut(struct sonde__labels *labels, const struct sonde_profile *profile, uint32_t depth);
int sonde__labels_range(struct sonde__labels *labels, const char *name, const char *domain, uint32_t *label);
void sonde__labels_fini(struct sonde__labels *labels);

/* One lane of a question. */
struct sonde__asked {
    struct sonde__timeline_process *process;
    uint32_t lane;
    bool thread;
    bool unread, ranges_unread;        /* too much to read: by chunks */
    struct sonde__tile **tiles;        /* [tile_count] of the view; NULL while missing, or where no chunk is and others were not read */
    struct sonde__tile **fresh;        /* [tile_count]: empty ones, where it is */
    uint64_t missing_first, missing_last; /* numbers of the first and last missing tile; first > last: none */
    struct sonde_timeline_lane *out;
};

struct sonde__view { /* of a question */
    uint32_t level;
    uint64_t first_bin, last_bin;      /* numbers */
    uint64_t first_tile, tile_count;
};
static inline uint64_t sonde__view_begin(const struct sonde__view *v)
{
    return v->first_bin << v->level;
}
static inline uint64_t sonde__view_last(const struct sonde__view *v)
{
    return (v->last_bin << v->level) + ((1ull << v->level) - 1);
}

struct sonde_timeline {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde__timeline_process *processes;
    struct sonde__tiles tiles;
    struct sonde__labels labels;
    uint64_t length_ns;                /* of the run */
    size_t range_bytes, room_bytes;
    pthread_mutex_t lock;              /* of all of it */
};

/* Chunks of one table of a lane: the first in p->traces, and how many. */
uint32_t sonde__lane_chunks(const struct sonde_process *p, unsigned table, uint32_t lane, uint32_t *count);

/* Read what is missing of these lanes, which belong to one process and have the same first and last missing tile, into
 * their fresh tiles. 0 or SONDE_ENOMEM. */
int sonde__fill_lanes(const struct sonde_timeline *timeline, const struct sonde__view *view, const struct sonde__asked *const *asked,
                      size_t count);
/* Call each(user, lane, row) for what is in a tile of all lanes of a process, or of `lane` if it is not 0: by several threads, but of one lane in
 * order of time by one; instants of a thread may come late. Rows are those that tiles are filled with. 0, SONDE_ENOMEM, or what
 * it returned. */
typedef int sonde__each_row(void *user, const struct sonde__asked *lane, const struct sonde__long *row);
int sonde__scan_lanes(const struct sonde_timeline *timeline, const struct sonde__timeline_process *process, uint32_t level, uint64_t tile,
                      uint32_t lane, sonde__each_row *each, void *user);
/* What is on the tracks of ranges: what the program named, and a thread's calls of MPI. */
enum { SONDE__RANGE_TABLES = 2 };
extern const enum sonde_table sonde__range_tables[SONDE__RANGE_TABLES];
/* A call of MPI, by its node, is called as a range would be. 0 or SONDE_ENOMEM. */
int sonde__message_label(struct sonde_timeline *timeline, const struct sonde_process *p, uint32_t node, uint32_t *label);
/* All ranges of a lane. 0 or SONDE_ENOMEM. */
int sonde__ranges_read(struct sonde_timeline *timeline, struct sonde__timeline_process *process, uint32_t lane);

/* Make the intervals and totals of lanes, with labels of the timeline. One for each thread. */
struct sonde__drawer;
struct sonde__drawer *sonde__drawer_create(const struct sonde_timeline *timeline, const struct sonde__view *view); /* NULL: no memory */
void sonde__drawer_destroy(struct sonde__drawer *drawer);
int sonde__draw(struct sonde__drawer *drawer, const struct sonde__asked *asked);

#endif

/* timeline.h - what a picture of lanes shows of a time range, at a level of detail.
 *
 * A row that is at least as long as a pixel is an interval of its own. Shorter ones are put together by bins: of
 * each, one interval that says which label has most of its time, how much, and how many rows there are. So an answer
 * is as long as the picture is wide, however many rows there are. docs/developers/requests.md, "timeline", defines
 * each number; docs/developers/views.md says how they are computed.
 *
 * Bins are powers of two wide, and lie where they lie whatever range is asked for. What was computed of some hundred
 * bins that follow each other (a tile) is kept, within bounds: who asks again near by, or for twice as much, reads
 * little or nothing.
 *
 *     struct sonde_timeline *timeline;
 *     rc = sonde_timeline_create(m, profile, 0, &timeline);
 *     rc = sonde_timeline_ask(timeline, &(struct sonde_timeline_question){.lanes = lanes, .lane_count = 3, .pixels = 1920}, &answer, diag);
 *     ... answer.lanes.items[i].intervals ...
 *     sonde_timeline_answer_fini(&answer);
 *     sonde_timeline_destroy(timeline);
 *
 * Times are nanoseconds since the run began (sonde_run_range), on one axis for all processes.
 *
 * Threads: any; questions to one timeline are answered one after the other, each by several threads.
 */
#ifndef SONDE_ANALYZE_ANSWERS_TIMELINE_TIMELINE_H
#define SONDE_ANALYZE_ANSWERS_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/answers/lanes/statistics.h"
#include "analyze/metrics/profile_rows.h"
#include "base/vector.h"

struct sonde_timeline;

/* `m` and `profile` must outlive it. `room_bytes`: what is kept of earlier questions, 0 = 256 MB. 0 or SONDE_ENOMEM. */
int sonde_timeline_create(const struct sonde_measurement *m, const struct sonde_profile *profile, size_t room_bytes,
                          struct sonde_timeline **out);
void sonde_timeline_destroy(struct sonde_timeline *timeline);

/* What an interval is; name in answers. */
#define SONDE_DRAWN_MAP(X)                                                              \
    X(OPERATION, "operation")                                                           \
    X(ORDER, "order")     /* an operation that only orders others, or a collective */   \
    X(UNTIMED, "untimed") /* one without times, at the entry of its API call */         \
    X(CALL, "call")       /* thread: in an API call */                                  \
    X(WAIT, "wait")       /* thread: in a wait in a function of the C library */        \
    X(SAMPLE, "sample")   /* thread: outside of both, near a sample */                  \
    X(OFF, "off_cpu")     /* thread: outside of both, off the CPU */                    \
    X(RANGE, "range")     /* a range or a mark that the program named */                \
    X(UNREAD, "unread")   /* rows that were not looked at, see `partial` */

/* clang-format off */
enum sonde_drawn {
#define X(id, name) SONDE_DRAWN_##id,
    SONDE_DRAWN_MAP(X)
#undef X
    SONDE_DRAWN_COUNT
};
/* clang-format on */
const char *sonde_drawn_name(enum sonde_drawn kind);

struct sonde_timeline_label {
    bool routine;                     /* else it is what `kind` says: off the CPU, or rows that were not looked at */
    enum sonde_drawn kind;
    struct sonde_profile_frame frame; /* of a routine: without line; of a range name and domain (module) */
};

struct sonde_timeline_interval {
    uint64_t begin_ns, end_ns;        /* of a row: all of it, also beyond the range; of a thread cut near the range; of a bin: the bin */
    uint64_t time_ns;                 /* of the label, in the range */
    uint64_t all_ns;                  /* of all labels; more than the bin is wide where rows overlap */
    uint64_t correlation;             /* of one operation or call (rows.h); 0: none, or several rows */
    uint32_t label;                   /* in the answer */
    uint32_t node;                    /* of the profile's tree; of several, that with most time of the label; 0 unknown */
    uint32_t rows;                    /* that begin in it */
    uint32_t track;                   /* 0; of ranges 1 plus how many others they are in */
    bool merged;                      /* a bin */
    enum sonde_drawn kind;            /* of a bin: of most of the label's time */
};

struct sonde_timeline_total {         /* of one label, in the range: all its time, not only where it has most */
    uint32_t label;
    uint64_t time_ns, rows;
};

struct sonde_timeline_lane {
    struct sonde_lane_id id;
    bool partial;                     /* rows were not looked at: the intervals are chunks of them, or bins wider than they might be */
    uint32_t tracks;                  /* 1; of a thread with ranges 1 plus their depth */
    uint64_t bad_times;               /* operations of the whole run whose times cannot be: drawn nowhere */
    SONDE_VECTOR(struct sonde_timeline_interval) intervals; /* by track, begin */
    SONDE_VECTOR(struct sonde_timeline_total) totals;       /* by label */
};

struct sonde_timeline_question {
    const struct sonde_lane_id *lanes;
    size_t lane_count;
    uint64_t from_ns, to_ns;          /* to_ns 0: the run's end */
    uint32_t pixels;                  /* 1 to SONDE_TIMELINE_PIXELS */
    uint32_t depth;                   /* of threads: frames from the outermost on; 0: the innermost */
    bool exact;                       /* read whatever is needed */
    uint64_t rows_most;               /* else no more rows than so many are read; 0 = 4 million */
};
enum { SONDE_TIMELINE_PIXELS = 16384 };

struct sonde_timeline_answer {        /* ready when zeroed */
    uint64_t from_ns, to_ns;          /* the range, widened to whole bins */
    uint64_t bin_ns;
    uint64_t read_rows;               /* in the chunks that had to be read for it */
    bool partial;                     /* one of the lanes is */
    SONDE_VECTOR(struct sonde_timeline_lane) lanes;   /* as they were asked for */
    SONDE_VECTOR(struct sonde_timeline_label) labels; /* texts belong to profile and measurement */
};

/* 0; EINVAL (an empty range, no pixels or too many), ENOTFOUND (no such lane) with `diag`; ENOMEM. fini in either case. */
int sonde_timeline_ask(struct sonde_timeline *timeline, const struct sonde_timeline_question *question,
                       struct sonde_timeline_answer *answer, struct sonde_diag *diag);
void sonde_timeline_answer_fini(struct sonde_timeline_answer *answer);

/* ---- one interval after the other ------------------------------------------------------------- */

struct sonde_timeline_place {         /* intervals are in the order of these, the first member first */
    uint64_t begin_ns;
    uint32_t process, lane, track;
    uint64_t correlation;
};

struct sonde_timeline_search {
    const struct sonde_timeline_place *from; /* the interval after this one; NULL: after `at_ns` */
    uint64_t at_ns;                   /* of those that begin then or later; `back`: earlier */
    bool back;                        /* the one before */
    uint64_t rows_first;              /* about so many are read at first; 0 = 65,536 */
    uint32_t depth;                   /* as in a question */
    bool (*accepts)(void *user, const struct sonde_timeline_label *label); /* is it one that is looked for? Asked once of each */
    void *user;
};

struct sonde_timeline_hit {
    struct sonde_timeline_place place;
    uint64_t end_ns;                  /* with `cut` at least; of a call that others cut in pieces of the first */
    bool cut;
    uint32_t node;
    enum sonde_drawn kind;
};

/* The next interval of some labels on all lanes, as single intervals of an answer have them. What lies in between is read, in parts
 * that become longer and longer. 0; ENOTFOUND: there is none; ENOMEM with `diag`. */
int sonde_timeline_next(struct sonde_timeline *timeline, const struct sonde_timeline_search *search, struct sonde_timeline_hit *hit,
                        struct sonde_diag *diag);

/* ---- the whole run at one glance ------------------------------------------------------------- */

struct sonde_overview_device {
    uint32_t process, device;         /* as in LANE: 0 unknown */
    uint64_t *busy_ns;                /* [pixels]: time in which at least one operation ran (not of what only orders others) */
};

struct sonde_overview {               /* ready when zeroed */
    uint64_t to_ns;                   /* the run's length */
    uint32_t pixels;
    bool partial;                     /* by chunks: at most so busy */
    uint64_t read_rows;
    SONDE_VECTOR(struct sonde_overview_device) devices;
};

/* Where pixel `i` begins: a share of the run. */
static inline uint64_t sonde_overview_at(const struct sonde_overview *o, uint32_t i)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)o->to_ns * i / o->pixels);
}

/* 0; EINVAL with `diag`; ENOMEM. fini in either case. rows_most as above. */
int sonde_overview_compute(const struct sonde_measurement *m, uint32_t pixels, bool exact, uint64_t rows_most,
                           struct sonde_overview *out, struct sonde_diag *diag);
void sonde_overview_fini(struct sonde_overview *overview);

#endif

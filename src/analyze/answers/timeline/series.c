/* series.c - which series a measurement has, and a question about some of them. */
#include "series.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/lanes/statistics.h"
#include "analyze/profile/counter_series.h"
#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "own.h"
#include "series_own.h"

enum {
    ROWS_MOST = 4000000,
    BINS_SHIFT = 16,       /* of the run, for one device, as a power of two; never fewer than 2^LEAST_SHIFT */
    LEAST_SHIFT = 10,
    BINS_MOST = 1 << 20,   /* of all devices: they take about 120 MB */
};

struct source {
    struct sonde_series_about about;
    bool stepped;                    /* memory, or a counter of the hardware: what follows `known` */
    enum sonde__flight_series which; /* of the device */
    size_t device;                   /* in `devices` */
    enum sonde_memory_class class;   /* of memory */
    uint32_t lane;                   /* of a counter; 0: it is memory */
    bool known;
    sonde__spans steps;              /* since the run began */
    SONDE_VECTOR(uint64_t) before;   /* [step]: the value before it */
};

struct sonde_series {
    const struct sonde_measurement *m;
    SONDE_VECTOR(struct source) sources;
    SONDE_VECTOR(struct sonde__flights) devices;
    uint64_t begin_ns, length_ns;    /* of the run */
    uint32_t shift;                  /* of each device's bins */
    pthread_mutex_t lock;            /* of what is known */
};

static int64_t origin_of(const struct sonde_series *series, const struct sonde_process *p)
{
    const int64_t origin = (int64_t)(series->begin_ns - p->header.wall_offset_ns);
    return origin > INT64_MIN ? origin : -INT64_MAX;
}

const char *sonde_series_unit_name(enum sonde_series_unit unit)
{
    static const char *const names[] = {
#define X(id, name) name,
        SONDE_SERIES_UNIT_MAP(X)
#undef X
    };
    return names[unit];
}

/* ---- memory, as the view memory counts it ------------------------------------------------------------- */

struct counted {
    const struct sonde_process *p;
    enum sonde_memory_class class;
    uint32_t device;
};

/* Memory of the host is no device's; of what names none that is known it is not known which. */
static bool counts(const void *user, uint32_t object)
{
    const struct counted *c = user;
    const struct sonde_row_object *o = &c->p->objects[object];
    const uint32_t device = c->class == SONDE_MEMORY_ON_HOST || o->device >= c->p->device_count ? 0 : o->device;
    return o->kind != SONDE_OBJECT_NONE && o->bytes && !sonde_object_is_part(c->p, o) && (!o->free_ns || o->free_ns > o->alloc_ns) &&
           device == c->device && sonde_object_kind_class(o->kind) == c->class;
}

static void forget_steps(struct source *s)
{
    sonde_vector_fini(&s->steps);
    sonde_vector_fini(&s->before);
}

static int make_steps(struct source *s, const struct sonde_process *p, int64_t origin_ns, const sonde_object_changes *changes)
{
    uint64_t value = 0;
    int rc = 0;
    for (size_t i = 0; i < changes->count && !rc; i++) {
        const struct sonde_object_change *c = &changes->items[i];
        const uint64_t bytes = p->objects[c->object].bytes;
        const struct sonde__span step = {sonde__common_ns(origin_ns, c->at_ns), c->free ? -bytes : bytes};
        rc = sonde_vector_push(&s->steps, step);
        rc = rc ? rc : sonde_vector_push(&s->before, value);
        value += step.to;
    }
    return rc;
}

/* The first question about it finds them. */
static int know_memory(const struct sonde_series *series, struct source *s)
{
    const struct counted counted = {&series->m->processes[s->about.process], s->class, s->about.device};
    sonde_object_changes changes = {0};
    int rc = sonde_object_changes_find(counted.p, counts, &counted, &changes);
    rc = rc ? rc : make_steps(s, counted.p, origin_of(series, counted.p), &changes);
    sonde_vector_fini(&changes);
    s->known = !rc;
    if (rc)
        forget_steps(s);
    return rc;
}

static int add_memory(struct sonde_series *series, uint32_t process, uint32_t device)
{
    static const char *const names[] = {
        [SONDE_MEMORY_ON_DEVICE] = "device memory",
        [SONDE_MEMORY_SHARED] = "shared memory",
        [SONDE_MEMORY_ON_HOST] = "pinned host memory",
    };
    const struct sonde_process *p = &series->m->processes[process];
    int rc = 0;
    for (unsigned class = 0; class < sizeof names / sizeof *names && !rc; class++) {
        const struct counted counted = {p, (enum sonde_memory_class)class, device};
        uint32_t object = 1;
        while (object < p->object_count && !counts(&counted, object))
            object++;
        if (object < p->object_count)
            rc = sonde_vector_push(&series->sources, (struct source){
                                                         .stepped = true,
                                                         .class = counted.class,
                                                         .about = {process, device, names[class], SONDE_SERIES_BYTES},
                                                     });
    }
    return rc;
}

/* ---- counters of the hardware ------------------------------------------------------------------------------ */

struct counting {
    struct source *s;
    int64_t origin_ns;
    uint64_t value, until_ns; /* so far */
    bool rates;
};

static int step_to(struct counting *c, uint64_t at_ns, uint64_t value)
{
    const struct sonde__span step = {at_ns, value - c->value};
    const int rc = sonde_vector_push(&c->s->before, c->value);
    c->value = value;
    return rc || sonde_vector_push(&c->s->steps, step) ? SONDE_ENOMEM : 0;
}

/* Between two readings that do not follow each other nothing is known: 0. */
static int take_reading(void *user, uint32_t lane, const void *row)
{
    struct counting *c = user;
    const struct sonde_row_series *reading = row;
    const uint64_t from_ns = sonde__common_ns(c->origin_ns, reading->from_ns), to_ns = sonde__common_ns(c->origin_ns, reading->to_ns);
    (void)lane;
    if (from_ns >= to_ns || from_ns < c->until_ns || !(reading->value >= 0))
        return 0;
    const double shown = c->rates ? reading->value * 1e9 / (double)(to_ns - from_ns) : reading->value;
    int rc = c->until_ns && from_ns > c->until_ns ? step_to(c, c->until_ns, 0) : 0;
    rc = rc ? rc : step_to(c, from_ns, shown < 9e18 ? (uint64_t)(shown + 0.5) : INT64_MAX);
    c->until_ns = to_ns;
    return rc;
}

/* The first question about it reads all of it: 24 bytes for each reading. */
static int know_counter(const struct sonde_series *series, struct source *s)
{
    const struct sonde_process *p = &series->m->processes[s->about.process];
    struct counting c = {.s = s, .origin_ns = origin_of(series, p), .rates = s->about.unit != SONDE_SERIES_NUMBER};
    int rc = sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_SERIES, .lane = s->lane}, take_reading, &c);
    rc = rc ? rc : step_to(&c, c.until_ns, 0);
    s->known = !rc;
    if (rc)
        forget_steps(s);
    return rc;
}

static int add_counters(struct sonde_series *series, uint32_t process, uint32_t device)
{
    const struct sonde_process *p = &series->m->processes[process];
    struct sonde_trace_extent *rows = sonde_trace_extents(p, SONDE_READ_SERIES);
    int rc = rows ? 0 : SONDE_ENOMEM;
    for (uint32_t lane = 1; lane < p->lane_count && !rc; lane++) {
        const struct sonde_row_lane *row = &p->lanes[lane];
        const bool known = row->device < (p->device_count ? p->device_count : 1);
        if (!sonde_lane_is_series(row) || !rows[lane].rows || (known ? row->device : 0) != device)
            continue;
        const char *metric = sonde_process_string(p, row->name);
        const bool bytes = row->context && strcmp(sonde_process_string(p, row->context), "byte") == 0;
        const enum sonde_series_unit unit = !sonde_counter_adds_up(metric) ? SONDE_SERIES_NUMBER : (bytes ? SONDE_SERIES_BYTE_RATE : SONDE_SERIES_RATE);
        rc = sonde_vector_push(&series->sources, (struct source){.stepped = true, .lane = lane, .about = {process, device, metric, unit}});
    }
    free(rows);
    return rc;
}

/* ---- what there is ------------------------------------------------------------------------------------- */

static int add_operations(struct sonde_series *series, uint32_t process, uint32_t device)
{
    const struct sonde_process *p = &series->m->processes[process];
    struct sonde__flights flights;
    int rc = sonde__flights_init(&flights, p, device, origin_of(series, p), series->length_ns, series->shift);
    if (rc || !flights.rows || sonde_vector_push(&series->devices, flights)) {
        rc = !rc && flights.rows ? SONDE_ENOMEM : rc;
        sonde__flights_fini(&flights);
        return rc;
    }
    static const struct {
        enum sonde__flight_series which;
        const char *name;
        enum sonde_series_unit unit;
    } made[] = {
        {SONDE__DEVICE_BUSY, "busy", SONDE_SERIES_SHARE},
        {SONDE__IN_FLIGHT, "operations in flight", SONDE_SERIES_OPERATIONS},
    };
    for (size_t i = 0; i < sizeof made / sizeof *made && !rc; i++)
        rc = sonde_vector_push(&series->sources, (struct source){
                                                     .about = {process, device, made[i].name, made[i].unit},
                                                     .which = made[i].which,
                                                     .device = series->devices.count - 1,
                                                 });
    return rc;
}

static int add_process(struct sonde_series *series, uint32_t process)
{
    const struct sonde_process *p = &series->m->processes[process];
    int rc = 0;
    for (uint32_t device = 0; device < (p->device_count ? p->device_count : 1) && !rc; device++) {
        rc = add_operations(series, process, device);
        rc = rc ? rc : add_memory(series, process, device);
        rc = rc ? rc : add_counters(series, process, device);
    }
    return rc;
}

/* Many devices have fewer bins each. */
static uint32_t shift_of(const struct sonde_measurement *m)
{
    uint64_t devices = 0;
    uint32_t shift = BINS_SHIFT;
    for (uint32_t i = 0; i < m->process_count; i++)
        devices += m->processes[i].device_count;
    while (shift > LEAST_SHIFT && devices << shift > BINS_MOST)
        shift--;
    return shift;
}

int sonde_series_create(const struct sonde_measurement *m, struct sonde_series **out)
{
    uint64_t end_ns;
    struct sonde_series *series = *out = calloc(1, sizeof *series);
    int rc = 0;
    if (!series)
        return SONDE_ENOMEM;
    series->m = m;
    series->shift = shift_of(m);
    pthread_mutex_init(&series->lock, NULL);
    sonde_run_range(m, &series->begin_ns, &end_ns);
    series->length_ns = end_ns > series->begin_ns ? end_ns - series->begin_ns : 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(series, i);
    if (rc) {
        sonde_series_destroy(series);
        *out = NULL;
    }
    return rc;
}

void sonde_series_destroy(struct sonde_series *series)
{
    if (!series)
        return;
    for (size_t i = 0; i < series->sources.count; i++)
        forget_steps(&series->sources.items[i]);
    for (size_t i = 0; i < series->devices.count; i++)
        sonde__flights_fini(&series->devices.items[i]);
    sonde_vector_fini(&series->sources);
    sonde_vector_fini(&series->devices);
    pthread_mutex_destroy(&series->lock);
    free(series);
}

size_t sonde_series_count(const struct sonde_series *series)
{
    return series->sources.count;
}

const struct sonde_series_about *sonde_series_about(const struct sonde_series *series, size_t number)
{
    return &series->sources.items[number].about;
}

/* ---- a question ------------------------------------------------------------------------------------------ */

struct asked {
    const struct sonde_series_question *q;
    struct sonde_series *series;
    struct sonde_series_answer *answer;
    uint32_t level;
    uint64_t first, last; /* bins */
};

static int look_at(struct asked *a, struct sonde_diag *diag)
{
    const struct sonde_series_question *q = a->q;
    const char *path = a->series->m->path;
    const uint64_t length = a->series->length_ns, to = q->to_ns ? q->to_ns : (length ? length : 1);
    if (!q->pixels || q->pixels > SONDE_TIMELINE_PIXELS)
        return sonde_diag_set(diag, SONDE_EINVALID, path, "the picture must be 1 to %d pixels wide, of", (int)SONDE_TIMELINE_PIXELS);
    if (q->from_ns >= to)
        return sonde_diag_set(diag, SONDE_EINVALID, path, "the time window is empty in");
    const uint64_t width = (to - q->from_ns) / q->pixels;
    const uint32_t level = width ? 63 - (uint32_t)__builtin_clzll(width) : 0;
    a->level = level < SONDE__LEVEL_MOST ? level : SONDE__LEVEL_MOST;
    a->first = q->from_ns >> a->level;
    a->last = (to - 1) >> a->level;
    return 0;
}

static int choose(struct asked *a, struct sonde_diag *diag)
{
    const size_t all = a->series->sources.count, count = a->q->numbers ? a->q->count : all;
    const char *path = a->series->m->path;
    bool *seen = calloc(all + 1, sizeof *seen);
    int rc = seen ? 0 : sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot add up what rises and falls in");
    for (size_t i = 0; i < count && !rc; i++) {
        const uint32_t number = a->q->numbers ? a->q->numbers[i] : (uint32_t)i;
        if (number >= all)
            rc = sonde_diag_set(diag, SONDE_ENOTFOUND, path, "there is no series %u in", number);
        else if (seen[number])
            rc = sonde_diag_set(diag, SONDE_EINVALID, path, "the series %u is named twice, of", number);
        else if (sonde_vector_push(&a->answer->lines, (struct sonde_series_line){.number = number}))
            rc = sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot add up what rises and falls in");
        if (!rc)
            seen[number] = true;
    }
    free(seen);
    return rc;
}

static struct source *source_of(const struct asked *a, const struct sonde_series_line *line)
{
    return &a->series->sources.items[line->number];
}

static int put_bins(struct sonde_series_line *line, uint32_t level, uint64_t first, const struct sonde__level *levels, size_t count)
{
    int rc = 0;
    line->from_ns = first << level;
    line->bin_ns = 1ull << level;
    for (size_t i = 0; i < count && !rc; i++)
        rc = sonde_vector_push(&line->bins, (struct sonde_series_bin){levels[i].least, levels[i].most, levels[i].last,
                                                                      (double)levels[i].sum / (double)(1ull << level)});
    return rc;
}

static int ask_steps(const struct asked *a, const struct source *s, struct sonde_series_line *line)
{
    const uint64_t from_ns = a->first << a->level;
    const size_t count = (size_t)(a->last - a->first + 1);
    struct sonde__level *levels = malloc(count * sizeof *levels);
    size_t low = 0, high = s->steps.count;
    while (low < high) { /* the first step that is not before the range */
        const size_t middle = low + (high - low) / 2;
        if (s->steps.items[middle].from < from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const uint64_t before = low < s->steps.count ? s->before.items[low]
                                                 : s->before.items[s->steps.count - 1] + s->steps.items[s->steps.count - 1].to;
    if (levels)
        sonde__steps_fill(s->steps.items + low, s->steps.count - low, before, from_ns, a->level, false, levels, count);
    const int rc = levels ? put_bins(line, a->level, a->first, levels, count) : SONDE_ENOMEM;
    free(levels);
    return rc;
}

/* All series that are asked for of one device. */
static int ask_device(const struct asked *a, size_t device, uint32_t level)
{
    const uint64_t first = a->first << a->level >> level, last = ((a->last << a->level) + ((1ull << a->level) - 1)) >> level;
    const size_t count = (size_t)(last - first + 1);
    struct sonde__level *levels = malloc(SONDE__FLIGHT_SERIES * count * sizeof *levels);
    struct sonde__level *const out[] = {levels, levels ? levels + count : NULL};
    int rc = levels ? sonde__flights_fill(&a->series->devices.items[device], level, first, last, out) : SONDE_ENOMEM;
    for (size_t i = 0; i < a->answer->lines.count && !rc; i++) {
        struct sonde_series_line *line = &a->answer->lines.items[i];
        const struct source *s = source_of(a, line);
        if (!s->stepped && s->device == device)
            rc = put_bins(line, level, first, out[s->which], count);
    }
    free(levels);
    return rc;
}

static bool is_asked(const struct asked *a, size_t device)
{
    for (size_t i = 0; i < a->answer->lines.count; i++)
        if (!source_of(a, &a->answer->lines.items[i])->stepped && source_of(a, &a->answer->lines.items[i])->device == device)
            return true;
    return false;
}

static void mark_partial(const struct asked *a, size_t device)
{
    a->answer->partial = true;
    for (size_t i = 0; i < a->answer->lines.count; i++) {
        const struct source *s = source_of(a, &a->answer->lines.items[i]);
        a->answer->lines.items[i].partial |= !s->stepped && s->device == device;
    }
}

/* What is read in any case comes first: all of each device that is not known. Then what a fine picture needs beyond it. */
static int ask_devices(const struct asked *a)
{
    const uint64_t most = a->q->rows_most ? a->q->rows_most : ROWS_MOST;
    struct sonde_series *series = a->series;
    uint64_t unknown = 0, rows = 0;
    int rc = 0;
    for (size_t i = 0; i < series->devices.count; i++)
        unknown += is_asked(a, i) && !series->devices.items[i].known ? series->devices.items[i].rows : 0;
    for (size_t i = 0; i < series->devices.count && !rc && (a->q->exact || unknown <= most); i++)
        if (is_asked(a, i) && !series->devices.items[i].known) {
            a->answer->read_rows += series->devices.items[i].rows;
            rc = sonde__flights_know(&series->devices.items[i]);
        }
    for (size_t i = 0; i < series->devices.count; i++)
        rows += is_asked(a, i) && series->devices.items[i].known ? sonde__flights_rows(&series->devices.items[i], a->level, a->first, a->last) : 0;
    const bool coarse = rows > most && !a->q->exact;
    a->answer->read_rows += coarse ? 0 : rows;
    for (size_t i = 0; i < series->devices.count && !rc; i++) {
        const struct sonde__flights *f = &series->devices.items[i];
        if (!is_asked(a, i))
            continue;
        if (!f->known || (coarse && a->level < f->level))
            mark_partial(a, i);
        if (f->known)
            rc = ask_device(a, i, coarse && a->level < f->level ? f->level : a->level);
    }
    return rc;
}

int sonde_series_ask(struct sonde_series *series, const struct sonde_series_question *question, struct sonde_series_answer *answer,
                     struct sonde_diag *diag)
{
    struct asked a = {.q = question, .series = series, .answer = answer};
    int rc = look_at(&a, diag);
    rc = rc ? rc : choose(&a, diag);
    if (rc)
        return rc;
    answer->from_ns = a.first << a.level;
    const uint64_t last_ns = (a.last << a.level) + ((1ull << a.level) - 1);
    answer->to_ns = last_ns + (last_ns < UINT64_MAX);
    answer->bin_ns = 1ull << a.level;
    pthread_mutex_lock(&series->lock);
    rc = ask_devices(&a);
    for (size_t i = 0; i < answer->lines.count && !rc; i++) {
        struct source *s = source_of(&a, &answer->lines.items[i]);
        if (s->stepped && !s->known)
            rc = s->lane ? know_counter(series, s) : know_memory(series, s);
        if (s->stepped && !rc)
            rc = ask_steps(&a, s, &answer->lines.items[i]);
    }
    pthread_mutex_unlock(&series->lock);
    return rc ? sonde_diag_set(diag, rc, series->m->path, "cannot add up what rises and falls in") : 0;
}

void sonde_series_answer_fini(struct sonde_series_answer *answer)
{
    for (size_t i = 0; i < answer->lines.count; i++)
        sonde_vector_fini(&answer->lines.items[i].bins);
    sonde_vector_fini(&answer->lines);
}

/* flights.c - of the operations of a device, how many were in flight and whether one ran, in bins of any width.
 *
 * Each operation is a step up and a step down. An operation is enqueued long before it runs, and chunks are found by when
 * operations ran: so all of them are read once, which tells of each chunk from when to when its steps are, and of each of 65,536
 * bins of the run (fewer of each of many devices) the value before it. From there on any part of the run can be had exactly by reading only the chunks that
 * have steps in it: first of all each of these bins, several parts side by side, with as many steps in memory as a part may have.
 */
#include <stdlib.h>

#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/parallel.h"
#include "own.h"
#include "series_own.h"

enum {
    STEPS_LEAST = 1 << 20, /* of a part that is read at once; a bin with more is a part by itself */
    STEPS_ALL = 1 << 24,   /* of all that are read side by side: they and room to sort them take 512 MB */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- what there is ----------------------------------------------------------------------------------- */

/* Chunks at a part's border are read for both parts: of each lane a part should be as long as some of its chunks. */
static uint32_t steps_of_part(const struct sonde__flights *f, uint64_t lanes)
{
    const uint64_t rows = f->chunks.count ? f->rows / f->chunks.count : 0, wanted = 4 * lanes * rows * 2 * SONDE__FLIGHT_SERIES;
    return (uint32_t)most(STEPS_LEAST, least(wanted, STEPS_ALL / sonde_parallel_threads()));
}

int sonde__flights_init(struct sonde__flights *f, const struct sonde_process *p, uint32_t device, int64_t origin_ns, uint64_t length_ns,
                        uint32_t shift)
{
    uint64_t end_ns = length_ns, lanes = 0;
    uint32_t lane = 0;
    *f = (struct sonde__flights){.p = p, .device = device, .origin_ns = origin_ns};
    for (uint32_t i = 0; i < p->trace_count; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        if (t->table != SONDE_TABLE_OP || !t->lane || t->lane >= p->lane_count || p->lanes[t->lane].device != device)
            continue;
        end_ns = most(end_ns, sonde__common_ns(origin_ns, t->time_max));
        f->rows += t->count;
        lanes += t->lane != lane;
        lane = t->lane;
        if (sonde_vector_push(&f->chunks, (struct sonde__flight_chunk){.index = i, .first_ns = UINT64_MAX}))
            return SONDE_ENOMEM;
    }
    end_ns = least(end_ns, INT64_MAX - 1);
    while (end_ns >> f->level >= 1ull << shift)
        f->level++;
    f->count = (size_t)(end_ns >> f->level) + 1;
    f->steps_most = steps_of_part(f, lanes);
    return 0;
}

static void forget(struct sonde__flights *f)
{
    for (int i = 0; i < SONDE__FLIGHT_SERIES; i++) {
        free(f->before[i]);
        free(f->bins[i]);
        f->before[i] = NULL;
        f->bins[i] = NULL;
    }
    free(f->steps);
    f->steps = NULL;
    for (size_t i = 0; i < f->chunks.count; i++)
        f->chunks.items[i] = (struct sonde__flight_chunk){.index = f->chunks.items[i].index, .first_ns = UINT64_MAX};
}

void sonde__flights_fini(struct sonde__flights *f)
{
    forget(f);
    sonde_vector_fini(&f->chunks);
}

/* ---- steps of operations --------------------------------------------------------------------------------- */

struct flight { /* of one operation, since the run began; [up, down) of what it counts in */
    uint64_t up[SONDE__FLIGHT_SERIES], down;
    bool counts[SONDE__FLIGHT_SERIES];
};

static struct flight flight_of(const struct sonde__flights *f, const struct sonde_row_op *op)
{
    struct flight one = {
        .up = {sonde__common_ns(f->origin_ns, op->enter_ns), sonde__common_ns(f->origin_ns, op->start_ns)},
        .down = sonde__common_ns(f->origin_ns, op->end_ns),
        .counts = {sonde_op_has_flight(op),
                   sonde_op_has_times(op->flags, op->start_ns, op->end_ns) && sonde_op_kind_group(op->kind) != SONDE_GROUP_ORDER},
    };
    const uint64_t end_ns = ((uint64_t)f->count << f->level) - 1;
    for (int i = 0; i < SONDE__FLIGHT_SERIES; i++) {
        one.up[i] = least(one.up[i], end_ns);
        one.counts[i] &= one.up[i] < one.down; /* else it was never there */
    }
    one.down = least(one.down, end_ns);
    return one;
}

static const struct sonde_row_op *read_chunk(const struct sonde__flights *f, size_t chunk, struct sonde_chunk_reader *reader)
{
    return sonde_chunk_reader_fields(reader, f->p, f->chunks.items[chunk].index,
                                     SONDE_FIELD(sonde_row_op, enter_ns) | SONDE_FIELD(sonde_row_op, start_ns) |
                                         SONDE_FIELD(sonde_row_op, end_ns) | SONDE_FIELD(sonde_row_op, flags) |
                                         SONDE_FIELD(sonde_row_op, kind));
}

/* ---- the first time: where steps are ------------------------------------------------------------------------ */

static void count_step(struct sonde__flights *f, int series, uint64_t at_ns, uint64_t by)
{
    const size_t bin = (size_t)(at_ns >> f->level);
    __atomic_fetch_add(&f->before[series][bin + 1], by, __ATOMIC_RELAXED); /* chunks are read side by side */
    __atomic_fetch_add(&f->steps[bin], 1, __ATOMIC_RELAXED);
}

static void count_chunk(struct sonde__flights *f, struct sonde__flight_chunk *chunk, const struct sonde_row_op *ops)
{
    const uint32_t count = f->p->traces[chunk->index].count;
    for (uint32_t i = 0; i < count; i++) {
        const struct flight one = flight_of(f, &ops[i]);
        for (int k = 0; k < SONDE__FLIGHT_SERIES; k++) {
            if (!one.counts[k])
                continue;
            count_step(f, k, one.up[k], 1);
            count_step(f, k, one.down, (uint64_t)-1);
            chunk->first_ns = least(chunk->first_ns, one.up[k]);
            chunk->last_ns = most(chunk->last_ns, one.down);
        }
    }
}

struct counting {
    struct sonde__flights *f;
    uint32_t tasks;
};

static int count_part(void *user, uint32_t task)
{
    const struct counting *counting = user;
    struct sonde__flights *f = counting->f;
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    for (size_t i = task; i < f->chunks.count && reader; i += counting->tasks) {
        const struct sonde_row_op *ops = read_chunk(f, i, reader);
        if (ops)
            count_chunk(f, &f->chunks.items[i], ops);
    }
    const int rc = reader ? 0 : SONDE_ENOMEM;
    sonde_chunk_reader_destroy(reader);
    return rc;
}

static int make_room(struct sonde__flights *f)
{
    f->steps = calloc(f->count, sizeof *f->steps);
    bool whole = f->steps;
    for (int i = 0; i < SONDE__FLIGHT_SERIES; i++) {
        f->before[i] = calloc(f->count + 1, sizeof *f->before[i]);
        f->bins[i] = calloc(f->count, sizeof *f->bins[i]);
        whole &= f->before[i] && f->bins[i];
    }
    return whole ? 0 : SONDE_ENOMEM;
}

int sonde__flights_know(struct sonde__flights *f)
{
    const uint32_t threads = sonde_parallel_threads();
    struct counting counting = {f, 4 * threads};
    if (f->known)
        return 0;
    int rc = make_room(f);
    rc = rc ? rc : sonde_parallel_run(threads, counting.tasks, count_part, &counting);
    for (int k = 0; k < SONDE__FLIGHT_SERIES && !rc; k++)
        for (size_t i = 1; i <= f->count; i++)
            f->before[k][i] += f->before[k][i - 1];
    rc = rc ? rc : sonde__flights_fill(f, f->level, 0, f->count - 1, f->bins);
    f->known = !rc;
    if (rc)
        forget(f);
    return rc;
}

/* ---- a part of the run --------------------------------------------------------------------------------------- */

struct part {
    uint64_t first, last;  /* base bins */
    sonde__spans steps[SONDE__FLIGHT_SERIES], scratch;
};

static bool reaches(const struct sonde__flight_chunk *chunk, uint64_t from_ns, uint64_t last_ns)
{
    return chunk->first_ns <= last_ns && chunk->last_ns >= from_ns;
}

static int gather(const struct sonde__flights *f, struct part *part)
{
    const uint64_t from_ns = part->first << f->level, last_ns = (part->last << f->level) + ((1ull << f->level) - 1);
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    int rc = reader ? 0 : SONDE_ENOMEM;
    for (size_t c = 0; c < f->chunks.count && !rc; c++) {
        const struct sonde_row_op *ops = reaches(&f->chunks.items[c], from_ns, last_ns) ? read_chunk(f, c, reader) : NULL;
        const uint32_t count = ops ? f->p->traces[f->chunks.items[c].index].count : 0;
        for (uint32_t i = 0; i < count && !rc; i++) {
            const struct flight one = flight_of(f, &ops[i]);
            for (int k = 0; k < SONDE__FLIGHT_SERIES && !rc; k++) {
                if (one.counts[k] && one.up[k] >= from_ns && one.up[k] <= last_ns)
                    rc = sonde_vector_push(&part->steps[k], (struct sonde__span){one.up[k], 1});
                if (one.counts[k] && one.down >= from_ns && one.down <= last_ns && !rc)
                    rc = sonde_vector_push(&part->steps[k], (struct sonde__span){one.down, (uint64_t)-1});
            }
        }
    }
    sonde_chunk_reader_destroy(reader);
    return rc;
}

struct filling {
    const struct sonde__flights *f;
    uint32_t level;
    uint64_t first, last; /* bins of the level */
    struct sonde__level *const *out;
    SONDE_VECTOR(struct part) parts;
};

/* The bins of the answer that lie in the part: a base bin has a whole number of them. */
static int fill_part(void *user, uint32_t task)
{
    const struct filling *filling = user;
    const struct sonde__flights *f = filling->f;
    struct part *part = &filling->parts.items[task];
    const uint32_t finer = f->level - filling->level;
    const uint64_t first = most(part->first << finer, filling->first);
    const uint64_t last = least((part->last << finer) + ((1ull << finer) - 1), filling->last);
    int rc = gather(f, part);
    for (int k = 0; k < SONDE__FLIGHT_SERIES && !rc; k++) {
        sonde__spans *steps = &part->steps[k];
        size_t done = 0;
        uint64_t value = f->before[k][part->first];
        rc = sonde__spans_sort(steps, &part->scratch);
        if (rc)
            break;
        for (; done < steps->count && steps->items[done].from < first << filling->level; done++)
            value += steps->items[done].to;
        sonde__steps_fill(steps->count ? steps->items + done : NULL, steps->count - done, value, first << filling->level, filling->level, k == SONDE__DEVICE_BUSY,
                          filling->out[k] + (first - filling->first), (size_t)(last - first + 1));
    }
    for (int k = 0; k < SONDE__FLIGHT_SERIES; k++)
        sonde_vector_fini(&part->steps[k]);
    sonde_vector_fini(&part->scratch);
    return rc;
}

/* Base bins in a row, with few steps together. */
static int divide(struct filling *filling)
{
    const struct sonde__flights *f = filling->f;
    const uint32_t finer = f->level - filling->level;
    const uint64_t end = least(filling->last >> finer, f->count - 1);
    uint64_t steps = 0;
    int rc = 0;
    for (uint64_t bin = filling->first >> finer; bin <= end && !rc; bin++) {
        if (filling->parts.count && steps + f->steps[bin] <= f->steps_most) {
            filling->parts.items[filling->parts.count - 1].last = bin;
            steps += f->steps[bin];
            continue;
        }
        rc = sonde_vector_push(&filling->parts, (struct part){.first = bin, .last = bin});
        steps = f->steps[bin];
    }
    return rc;
}

/* Behind the last bin nothing changes any more. */
static void fill_rest(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last, struct sonde__level *const out[SONDE__FLIGHT_SERIES])
{
    const uint64_t end = (uint64_t)f->count << (f->level - level);
    for (int k = 0; k < SONDE__FLIGHT_SERIES; k++)
        if (last >= end)
            sonde__steps_fill(NULL, 0, f->before[k][f->count], 0, level, k == SONDE__DEVICE_BUSY, out[k] + (most(first, end) - first),
                              (size_t)(last - most(first, end) + 1));
}

/* Of base bins, or wider ones. */
static void join_base(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last, struct sonde__level *const out[SONDE__FLIGHT_SERIES])
{
    const uint32_t wider = level - f->level;
    for (int k = 0; k < SONDE__FLIGHT_SERIES; k++) {
        struct sonde__level after;
        sonde__steps_fill(NULL, 0, f->before[k][f->count], 0, f->level, k == SONDE__DEVICE_BUSY, &after, 1);
        for (uint64_t bin = first; bin <= last; bin++) {
            struct sonde__level *made = &out[k][bin - first];
            const uint64_t begin = bin << wider, end = begin + (1ull << wider), known = least(end, f->count);
            *made = begin < f->count ? f->bins[k][begin] : after;
            for (uint64_t i = begin + 1; i < known; i++)
                sonde__level_join(made, &f->bins[k][i]);
            if (end > most(known, begin + 1)) {
                struct sonde__level rest = after;
                rest.sum = after.sum * (end - most(known, begin + 1));
                sonde__level_join(made, &rest);
            }
        }
    }
}

uint64_t sonde__flights_rows(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last)
{
    uint64_t rows = 0;
    if (level >= f->level)
        return 0;
    const uint32_t finer = f->level - level;
    const uint64_t from_ns = first >> finer << f->level, last_ns = (last >> finer << f->level) + ((1ull << f->level) - 1);
    for (size_t i = 0; i < f->chunks.count; i++)
        rows += reaches(&f->chunks.items[i], from_ns, last_ns) ? f->p->traces[f->chunks.items[i].index].count : 0;
    return rows;
}

int sonde__flights_fill(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last,
                        struct sonde__level *const out[SONDE__FLIGHT_SERIES])
{
    if (f->known && level >= f->level) {
        join_base(f, level, first, last, out);
        return 0;
    }
    struct filling filling = {.f = f, .level = level, .first = first, .last = last, .out = out};
    int rc = divide(&filling);
    if (!rc && filling.parts.count)
        rc = sonde_parallel_run(sonde_parallel_threads(), (uint32_t)filling.parts.count, fill_part, &filling);
    if (!rc)
        fill_rest(f, level, first, last, out);
    sonde_vector_fini(&filling.parts);
    return rc;
}

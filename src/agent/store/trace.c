/* trace.c - lanes on their way to disk.
 *
 * The monitor writes rows straight into a segment of the live mapping, so a
 * row is safe from any end of the process as soon as the monitor has seen it.
 * A full segment goes, by number, through a ring to the tracing thread that
 * serves the lane; it turns the rows of a few segments of one lane into a chunk
 * of data.sonde and frees them. One tracing thread serves up to
 * --streams-per-thread lanes; another starts when the last one's lanes are all
 * taken (Grubisic 2021, section 4.2).
 *
 * Encoding can wait, since the rows are safe already, and it competes with the
 * program for the processors: a tracing thread is woken when nothing else goes
 * on and it is worth it, or when a quarter of the budget is waiting. What is left
 * when the program ends is sealed after it.
 */
#include "store.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sonde/error.h>

#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "format/chunk.h"
#include "guest/memory.h"

#define RING       16384u /* as many as there are segments: a ring is full but for the places taken already */
#define LOOK_AHEAD    64u /* places of the ring in which segments of one lane are found together */
#define IDLE_LEAST     8u /* segments worth a tracing thread's wake-up when there is no need */

struct tracer {
    sem_t wake;
    _Atomic uint32_t head, tail;   /* tail: monitor's; head: the tracing thread's */
    uint32_t lanes;
    _Atomic uint64_t cpu_ns;
    uint32_t ring[RING];           /* numbers of segments; 0: taken already */
};

static struct {
    struct tracer *tracer[SONDE_LANES_MAX + 1];
    uint32_t count;
    _Atomic uint32_t off;          /* cause + 1; 0 = tracing */
    _Atomic bool ends;             /* the threads are to end, */
    _Atomic uint32_t ended;        /* and so many have */
} tracing;

static void (*begins)(void); /* a tracing thread calls this first */

void sonde__trace_init(void (*thread_begins)(void))
{
    begins = thread_begins;
}

void sonde__trace_lost(uint32_t lane_id, enum sonde_table table, enum sonde_drop cause, uint64_t rows)
{
    struct sonde_lane *lane = atomic_load(&sonde__agent.lanes[lane_id]);
    if (lane)
        __atomic_fetch_add(&lane->row->dropped[cause], rows, __ATOMIC_RELAXED);
    sonde_rows_drop(sonde__agent.header, sonde_table_info(table), cause, rows);
}

static void count_segment(const struct sonde_segment *s, enum sonde_drop cause)
{
    sonde__trace_lost(s->owner, s->table, cause, s->used);
}

/* Take from the ring the segment at `head` and those a little after it that go
 * on with the same rows; 0 marks their places. Returns how many. */
static uint32_t take_run(struct tracer *t, uint32_t head, uint32_t tail, struct sonde_segment **run)
{
    uint32_t count = 0;
    for (uint32_t i = head; i != tail && i - head < LOOK_AHEAD && count < SONDE_CHUNK_SEGMENTS; i++) {
        uint32_t *number = &t->ring[i % RING];
        if (!*number)
            continue;
        struct sonde_segment *s = sonde__pool_at(&sonde__agent.pool, *number), *last = count ? run[count - 1] : NULL;
        if (last && (s->table != last->table || s->owner != last->owner || s->first != last->first + last->used))
            continue;
        run[count++] = s;
        *number = 0;
    }
    return count;
}

/* What a tracing thread works with. */
struct buffers {
    unsigned char rows[SONDE_CHUNK_ROOM];
    _Alignas(64) unsigned char scratch[]; /* and after it, the chunk */
};

/* The rows of a run of segments, in one piece. */
static const void *join(struct sonde_segment *const *run, uint32_t count, struct buffers *b, uint32_t *rows)
{
    *rows = 0;
    if (count == 1) {
        *rows = run[0]->used;
        return sonde__segment_rows(run[0]);
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t width = run[i]->row_bytes;
        memcpy(b->rows + *rows * width, sonde__segment_rows(run[i]), run[i]->used * width);
        *rows += run[i]->used;
    }
    return b->rows;
}

static void write_run(struct sonde_segment *const *run, uint32_t count, struct buffers *b)
{
    unsigned char *out = b->scratch + sonde_chunk_scratch_bytes();
    uint32_t rows_count;
    const void *rows = join(run, count, b, &rows_count);
    long size = sonde_chunk_encode(run[0]->table, run[0]->owner, run[0]->first, rows, rows_count, b->scratch, out,
                                   sonde_chunk_bound());
    if (size >= 0 && sonde__files_append(out, (size_t)size) == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        count_segment(run[i], SONDE_DROP_DISK_FULL);
    if (sonde__trace_off(SONDE_DROP_DISK_FULL))
        sonde_note("the trace ends early: no space left in the measurement's folder; the profile continues");
}

/* Segments go back only when their chunk is written: killed before, they are
 * sealed; killed in between, they are there twice and read once. */
static void empty_ring(struct tracer *t, struct buffers *b)
{
    struct sonde_segment *run[SONDE_CHUNK_SEGMENTS];
    uint32_t head = atomic_load_explicit(&t->head, memory_order_relaxed), tail;
    while (head != (tail = atomic_load_explicit(&t->tail, memory_order_acquire))) {
        uint32_t count = take_run(t, head, tail, run);
        if (b && count)
            write_run(run, count, b);
        for (uint32_t i = 0; i < count; i++) {
            if (!b)
                count_segment(run[i], SONDE_DROP_TRACE_FULL);
            sonde__pool_put(&sonde__agent.pool, run[i]);
        }
        while (head != tail && !t->ring[head % RING])
            head++;
        atomic_store_explicit(&t->head, head, memory_order_release);
    }
}

static void *tracer_main(void *arg)
{
    struct tracer *t = arg;
    char name[16];
    snprintf(name, sizeof name, "sonde-trace");
    pthread_setname_np(pthread_self(), name);
    if (begins)
        begins();
    void *memory = sonde__pages_get(sizeof(struct buffers) + sonde_chunk_scratch_bytes() + sonde_chunk_bound());
    for (;;) {
        while (sem_wait(&t->wake) != 0)
            ;
        empty_ring(t, memory);
        atomic_store(&t->cpu_ns, sonde__thread_cpu_ns());
        if (atomic_load(&tracing.ends))
            break;
    }
    atomic_fetch_add(&tracing.ended, 1);
    return NULL;
}

/* A tracing thread for lanes that have none. Called on the monitor thread, so
 * that it shares the monitor's private descriptors; signals are blocked there. */
static bool tracer_start(void)
{
    struct tracer *t = sonde__heap_get(&sonde__agent.heap, sizeof *t);
    pthread_attr_t attr;
    pthread_t thread;
    if (!t)
        return false;
    memset(t, 0, sizeof *t);
    sem_init(&t->wake, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int err = pthread_create(&thread, &attr, tracer_main, t);
    if (err && pthread_attr_setstacksize(&attr, 8u << 20) == 0) /* as the monitor's */
        err = pthread_create(&thread, &attr, tracer_main, t);
    pthread_attr_destroy(&attr);
    if (err) {
        sonde__heap_put(&sonde__agent.heap, t, sizeof *t);
        return false;
    }
    tracing.tracer[++tracing.count] = t;
    return true;
}

static struct tracer *tracer_of(struct sonde_lane *lane)
{
    if (!lane->tracer) {
        bool full = tracing.count == 0 || tracing.tracer[tracing.count]->lanes >= sonde__agent.config.streams_per_thread;
        if (full && tracing.count < SONDE_LANES_MAX && !tracer_start() && tracing.count == 0)
            return NULL;
        lane->tracer = tracing.count;
        tracing.tracer[tracing.count]->lanes++;
        lane->row->tracer = lane->tracer;
    }
    return tracing.tracer[lane->tracer];
}

static uint32_t waiting(const struct tracer *t)
{
    return atomic_load_explicit(&t->tail, memory_order_relaxed) -
           atomic_load_explicit(&t->head, memory_order_relaxed);
}

/* May encoding wait any longer? */
static bool is_urgent(void)
{
    const struct sonde_agent *a = &sonde__agent;
    uint64_t most = a->pool.limit / 4;
    if (a->config.max_bytes && a->config.max_bytes / SONDE_SEGMENT_BYTES < most)
        most = a->config.max_bytes / SONDE_SEGMENT_BYTES;
    return atomic_load_explicit(&a->pool.in_use, memory_order_relaxed) > most;
}

static void wake_tracers(uint32_t least)
{
    for (uint32_t i = 1; i <= tracing.count; i++)
        if (waiting(tracing.tracer[i]) >= least)
            sem_post(&tracing.tracer[i]->wake);
}

void sonde__trace_idle(void)
{
    wake_tracers(IDLE_LEAST);
}

/* --max-size: what is written, and what the tracing threads still hold, at a
 * guess of an eighth of its raw size. */
static void keep_limit(void)
{
    const struct sonde_agent *a = &sonde__agent;
    uint64_t held = 0;
    for (uint32_t i = 1; i <= tracing.count; i++)
        held += waiting(tracing.tracer[i]);
    if (sonde__files_written() + held * (SONDE_SEGMENT_BYTES / 8) >= a->config.max_bytes && sonde__trace_off(SONDE_DROP_MAX_SIZE))
        sonde_note("the trace ends early: --max-size was reached; the profile continues");
}

static void hand_over(struct sonde_lane *lane, struct sonde_segment *s)
{
    if (sonde__last_on()) {
        sonde__last_keep(s);
        return;
    }
    struct tracer *t = tracer_of(lane);
    if (!t || waiting(t) == RING)
        return; /* stays in the live mapping; sealing will find it */
    uint32_t tail = atomic_load_explicit(&t->tail, memory_order_relaxed);
    t->ring[tail % RING] = sonde__pool_number(&sonde__agent.pool, s);
    atomic_store_explicit(&t->tail, tail + 1, memory_order_release);
    if (is_urgent())
        wake_tracers(1);
    if (sonde__agent.config.max_bytes)
        keep_limit();
}

/* Where the next row of a lane goes, or NULL when there is no room. */
static void *row_slot(struct sonde_lane *lane, struct sonde_open_segment *open, enum sonde_table table,
                      uint32_t row_bytes)
{
    struct sonde_segment *s = open->segment;
    if (s && (s->used + 1) * row_bytes > SONDE_SEGMENT_ROOM) {
        hand_over(lane, s);
        open->segment = s = NULL;
        if (atomic_load_explicit(&tracing.off, memory_order_relaxed))
            return NULL;
    }
    if (!s) {
        do
            open->segment = s = sonde__room_get(table, lane->id, open->sequence, row_bytes);
        while (!s && sonde__last_on() && sonde__last_give());
        if (!s)
            return NULL;
    }
    return (unsigned char *)sonde__segment_rows(s) + (size_t)s->used * row_bytes;
}

void sonde__trace_row(uint32_t lane_id, enum sonde_table table, const void *row)
{
    const struct sonde_table_info *info = sonde_table_info(table);
    struct sonde_lane *lane =
        lane_id <= SONDE_LANES_MAX ? atomic_load_explicit(&sonde__agent.lanes[lane_id], memory_order_acquire) : NULL;
    if (!lane || !sonde__agent.config.trace)
        return;
    struct sonde_open_segment *open = &lane->open[info->trace];
    uint32_t off = atomic_load_explicit(&tracing.off, memory_order_relaxed);
    void *slot = off ? NULL : row_slot(lane, open, table, info->row_bytes);
    if (!slot) {
        off = atomic_load_explicit(&tracing.off, memory_order_relaxed);
        sonde__trace_lost(lane_id, table, off ? off - 1 : SONDE_DROP_TRACE_FULL, 1);
        return;
    }
    memcpy(slot, row, info->row_bytes);
    __atomic_store_n(&open->segment->used, open->segment->used + 1, __ATOMIC_RELEASE);
    open->sequence++;
}

/* ---- segments that are not full (--last) --------------------------------------------------------- */

static const enum sonde_table harvested[] = {SONDE_TABLE_OP, SONDE_TABLE_CALL, SONDE_TABLE_WAIT}; /* under harvest_lock alone */

/* When the last of its rows ended: they are not in order. Of an operation without times, when its call was entered. */
static uint64_t last_end(const struct sonde_segment *s, const struct sonde_table_info *t)
{
    const unsigned char *rows = (const unsigned char *)s + SONDE_SEGMENT_HEADER;
    uint64_t last_ns = 0, ns;
    for (uint32_t i = 0; i < s->used; i++) {
        memcpy(&ns, rows + (size_t)i * t->row_bytes + t->to, sizeof ns);
        if (!ns && t->trace == SONDE_TRACE_OP)
            memcpy(&ns, rows + (size_t)i * t->row_bytes + offsetof(struct sonde_row_op, enter_ns), sizeof ns);
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return last_ns;
}

static void each_open(void (*each)(void *user, struct sonde_open_segment *open, const struct sonde_table_info *t), void *user)
{
    const uint32_t lanes = atomic_load(&sonde__agent.lane_count);
    for (uint32_t id = 1; id <= lanes; id++) {
        struct sonde_lane *lane = atomic_load(&sonde__agent.lanes[id]);
        for (size_t k = 0; lane && k < sizeof harvested / sizeof *harvested; k++) {
            const struct sonde_table_info *t = sonde_table_info(harvested[k]);
            if (lane->open[t->trace].segment)
                each(user, &lane->open[t->trace], t);
        }
    }
}

struct giving {
    uint64_t until_ns;
    uint32_t given;
};

static void give_idle(void *user, struct sonde_open_segment *open, const struct sonde_table_info *t)
{
    struct giving *g = user;
    if (last_end(open->segment, t) >= g->until_ns)
        return;
    sonde__pool_put(&sonde__agent.pool, open->segment);
    open->segment = NULL;
    g->given++;
}

uint32_t sonde__trace_give_idle(uint64_t until_ns)
{
    struct giving g = {until_ns, 0};
    each_open(give_idle, &g);
    return g.given;
}

static void take_oldest(void *user, struct sonde_open_segment *open, const struct sonde_table_info *t)
{
    uint64_t *oldest_ns = user;
    const uint64_t ns = last_end(open->segment, t);
    *oldest_ns = ns && (!*oldest_ns || ns < *oldest_ns) ? ns : *oldest_ns;
}

uint64_t sonde__trace_oldest(void)
{
    uint64_t oldest_ns = 0;
    each_open(take_oldest, &oldest_ns);
    return oldest_ns;
}

void sonde__trace_give(struct sonde_segment *s)
{
    count_segment(s, SONDE_DROP_TRACE_FULL);
    sonde__pool_put(&sonde__agent.pool, s);
}

bool sonde__trace_off(enum sonde_drop cause)
{
    uint32_t none = 0;
    return atomic_compare_exchange_strong(&tracing.off, &none, (uint32_t)cause + 1);
}

uint64_t sonde__trace_cpu_ns(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= tracing.count; i++)
        sum += atomic_load(&tracing.tracer[i]->cpu_ns);
    return sum;
}

void sonde__trace_end(void)
{
    atomic_store(&tracing.ends, true);
    for (uint32_t i = 1; i <= tracing.count; i++)
        sem_post(&tracing.tracer[i]->wake);
    while (atomic_load(&tracing.ended) < tracing.count)
        sonde__nap(200);
}

void sonde__trace_forget(void)
{
    memset(&tracing, 0, sizeof tracing);
}

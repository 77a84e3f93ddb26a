/* last.c - a recording of the last seconds (--last): segments of traces stay in the live mapping until they are too old.
 *
 * Where the recording begins is one of the times at which the counters were noted (table BASE): the first that is there. It moves on when the one behind it is
 * old enough, or when there is no room: then what is oldest goes first, and the recording is of less time than was asked for. A segment is given
 * back when it was full before that, or when all in it ended before; who reads takes the rest out (format/last.c). Nothing is written to data.sonde.
 */
#include "store.h"

#include <string.h>

#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "table.h"

#define BASES 64u /* times that are there at once */
#define STEPS 32u /* of the recording's length: one is noted after each */
#define IDLE_NS 1000000000u /* between two looks at segments that do not fill */

struct kept {
    uint32_t number;
    uint64_t full_ns;
};

static struct {
    struct sonde_lock lock;
    struct kept *ring;        /* SONDE_POOL_SEGMENTS_MAX; the first that was full is at `head` */
    uint32_t head, tail;
    struct sonde_segment *segment; /* of the bases */
    uint32_t order[BASES];    /* the rows that are something, by time */
    uint32_t count;           /* of these */
    uint64_t idle_ns;         /* when segments that are not full were looked at */
} last;

bool sonde__last_on(void)
{
    return sonde__agent.config.last_ns;
}

static struct sonde_row_base *row_at(uint32_t number)
{
    return (struct sonde_row_base *)sonde__segment_rows(last.segment) + number;
}

static uint64_t time_of(uint32_t k)
{
    return row_at(last.order[k])->at_ns;
}

/* Room for both, once. */
static bool has_room(void)
{
    if (!last.ring)
        last.ring = sonde__heap_get(&sonde__agent.heap, SONDE_POOL_SEGMENTS_MAX * sizeof *last.ring);
    if (!last.segment)
        last.segment = sonde__room_get(SONDE_TABLE_BASE, 0, 0, sizeof(struct sonde_row_base));
    return last.ring && last.segment;
}

static void take_out(uint32_t k)
{
    __atomic_store_n(&row_at(last.order[k])->at_ns, 0, __ATOMIC_RELEASE);
    last.count--;
    memmove(&last.order[k], &last.order[k + 1], (last.count - k) * sizeof *last.order);
}

/* Of those between the first and the last, the one that is missed least. */
static void thin_out(void)
{
    uint32_t least = 1;
    for (uint32_t k = 2; k + 1 < last.count; k++)
        if (time_of(k + 1) - time_of(k - 1) < time_of(least + 1) - time_of(least - 1))
            least = k;
    take_out(least);
}

/* A row is complete before it is told when it is of; one that is taken again is nothing meanwhile. */
static void add_base(uint64_t at_ns, const struct sonde_row_base *counters)
{
    uint32_t number = 0;
    if (last.count == BASES)
        thin_out();
    while (number < last.segment->used && row_at(number)->at_ns)
        number++;
    struct sonde_row_base *row = row_at(number);
    row->ledger = counters->ledger;
    row->cpu = counters->cpu;
    row->series_rows_dropped = counters->series_rows_dropped;
    row->message_rows_dropped = counters->message_rows_dropped;
    row->held_us = counters->held_us;
    __atomic_store_n(&row->at_ns, at_ns, __ATOMIC_RELEASE);
    if (number == last.segment->used)
        __atomic_store_n(&last.segment->used, number + 1, __ATOMIC_RELEASE);
    last.order[last.count++] = number;
}

static void note_now(uint64_t now_ns)
{
    const struct sonde_live_header *h = sonde__agent.header;
    const uint64_t length_ns = last.count ? now_ns - time_of(0) : 0;
    if (last.count && now_ns - time_of(last.count - 1) < length_ns / STEPS)
        return;
    add_base(now_ns, &(struct sonde_row_base){
                         .ledger = h->ledger,
                         .cpu = h->cpu,
                         .series_rows_dropped = h->series_rows_dropped,
                         .message_rows_dropped = h->message_rows_dropped,
                         .held_us = h->held_us,
                     });
}

static struct kept *oldest(void)
{
    return last.head != last.tail ? &last.ring[last.head % SONDE_POOL_SEGMENTS_MAX] : NULL;
}

/* What was full when the recording begins. How many segments. */
static uint32_t give_old(void)
{
    uint32_t given = 0;
    for (const struct kept *k = oldest(); k && k->full_ns <= time_of(0); k = oldest()) {
        sonde__pool_put(&sonde__agent.pool, sonde__pool_at(&sonde__agent.pool, k->number));
        last.head++;
        given++;
    }
    return given;
}

void sonde__last_keep(struct sonde_segment *s)
{
    sonde__lock(&last.lock);
    const bool room = has_room() && last.tail - last.head < SONDE_POOL_SEGMENTS_MAX;
    if (room) {
        last.ring[last.tail % SONDE_POOL_SEGMENTS_MAX] = (struct kept){sonde__pool_number(&sonde__agent.pool, s), sonde_now_ns()};
        last.tail++;
    }
    sonde__unlock(&last.lock);
    if (!room)
        sonde__trace_give(s);
}

void sonde__last_turn(uint64_t now_ns)
{
    if (!sonde__last_on())
        return;
    sonde__lock(&last.lock);
    if (has_room()) {
        if (!last.count) /* nothing was counted then */
            add_base(sonde__agent.header->start_ns, &(struct sonde_row_base){0});
        note_now(now_ns);
        while (last.count > 1 && time_of(1) + sonde__agent.config.last_ns <= now_ns)
            take_out(0);
        give_old();
    }
    sonde__unlock(&last.lock);
}

void sonde__last_idle(uint64_t now_ns)
{
    uint64_t until_ns = 0;
    if (!sonde__last_on())
        return;
    sonde__lock(&last.lock);
    if (last.count && now_ns - last.idle_ns > IDLE_NS) {
        last.idle_ns = now_ns;
        until_ns = time_of(0);
    }
    sonde__unlock(&last.lock);
    if (until_ns)
        sonde__trace_give_idle(until_ns);
}

/* The recording begins there, or later. */
static void begin_at(uint64_t at_ns)
{
    const struct sonde_row_base newest = *row_at(last.order[last.count - 1]);
    if (newest.at_ns < at_ns) /* no counters are of so short a time: some are of a little more */
        add_base(at_ns, &newest);
    while (last.count > 1 && time_of(0) < at_ns)
        take_out(0);
}

bool sonde__last_give(void)
{
    bool given = false;
    sonde__lock(&last.lock);
    if (last.ring && last.count) {
        const struct kept *k = oldest();
        uint64_t begin_ns = k ? k->full_ns : 0;
        if (!k) { /* the rows are in segments that are not full: of many lanes a few each */
            const uint64_t first_ns = sonde__trace_oldest(), now_ns = sonde_now_ns();
            begin_ns = first_ns && first_ns < now_ns ? first_ns + (now_ns - first_ns) / STEPS : 0;
        }
        if (begin_ns) {
            begin_at(begin_ns);
            given = give_old() || sonde__trace_give_idle(time_of(0));
        }
    }
    sonde__unlock(&last.lock);
    if (given)
        sonde_note("--last: --memory has no room for so much time: the recording is of less");
    return given;
}

void sonde__last_init(void)
{
    memset(&last, 0, sizeof last);
}

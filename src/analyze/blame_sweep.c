/* blame_sweep.c - unions of intervals by distribution sort; idle time; shares.
 *
 * Sorting: times of a window are spread over it, so that as many buckets as
 * spans hold about one each (Knuth, TAOCP vol. 3, 5.2.5, and 5.2.1 for what is
 * left to do in them); a bucket that got many is sorted by qsort. Spans that
 * come in order, as those of one queue, are only looked at.
 */
#include "blame_sweep.h"

#include <string.h>

enum { CROWDED = 24, BUCKETS_MOST = 1 << 20 };

/* ---- spans ---------------------------------------------------------------------------- */

static int by_from(const void *left, const void *right)
{
    const struct sonde__span *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static void sort_bucket(struct sonde__span *spans, size_t count)
{
    if (count > CROWDED) {
        qsort(spans, count, sizeof *spans, by_from);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct sonde__span span = spans[i];
        size_t at = i;
        for (; at && by_from(&spans[at - 1], &span) > 0; at--)
            spans[at] = spans[at - 1];
        spans[at] = span;
    }
}

static int make_room(sonde__spans *spans, size_t count)
{
    if (spans->capacity >= count)
        return 0;
    struct sonde__span *items = realloc(spans->items, count * sizeof *items);
    if (!items)
        return SONDE_ENOMEM;
    spans->items = items;
    spans->capacity = count;
    return 0;
}

/* Into buckets of equal width; *scratch gets them one after the other. */
static int distribute(const sonde__spans *spans, sonde__spans *scratch, uint64_t least, uint64_t most)
{
    unsigned shift = 0;
    const size_t wanted = spans->count < BUCKETS_MOST ? spans->count : BUCKETS_MOST;
    while ((most - least) >> shift >= wanted)
        shift++;
    const size_t buckets = (size_t)((most - least) >> shift) + 1;
    uint32_t *ends = calloc(buckets + 1, sizeof *ends);
    if (!ends || spans->count > UINT32_MAX || make_room(scratch, spans->count)) {
        free(ends);
        return SONDE_ENOMEM;
    }
    for (size_t i = 0; i < spans->count; i++)
        ends[((spans->items[i].from - least) >> shift) + 1]++;
    for (size_t i = 0; i < buckets; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < spans->count; i++) /* ends[b] becomes where b ends, which is where b + 1 began */
        scratch->items[ends[(spans->items[i].from - least) >> shift]++] = spans->items[i];
    for (size_t i = 0, first = 0; i < buckets; first = ends[i++])
        sort_bucket(scratch->items + first, ends[i] - first);
    scratch->count = spans->count;
    free(ends);
    return 0;
}

int sonde__spans_sort(sonde__spans *spans, sonde__spans *scratch)
{
    uint64_t least = UINT64_MAX, most = 0, last = 0;
    bool sorted = true;
    for (size_t i = 0; i < spans->count; i++) {
        const uint64_t from = spans->items[i].from;
        sorted &= from >= last;
        last = from;
        least = from < least ? from : least;
        most = from > most ? from : most;
    }
    if (sorted)
        return 0;
    const int rc = distribute(spans, scratch, least, most);
    if (!rc) {
        const sonde__spans swap = *spans;
        *spans = *scratch;
        *scratch = swap;
    }
    return rc;
}

int sonde__spans_unite(sonde__spans *spans, sonde__spans *scratch)
{
    const int rc = sonde__spans_sort(spans, scratch);
    size_t count = 0;
    for (size_t i = 0; i < spans->count && !rc; i++) {
        const struct sonde__span next = spans->items[i];
        if (count && next.from <= spans->items[count - 1].to) {
            if (next.to > spans->items[count - 1].to)
                spans->items[count - 1].to = next.to;
        } else {
            spans->items[count++] = next;
        }
    }
    spans->count = rc ? spans->count : count;
    return rc;
}

int sonde__spans_complement(const sonde__spans *busy, uint64_t from, uint64_t to, sonde__spans *idle)
{
    int rc = 0;
    for (size_t i = 0; i < busy->count && from < to && !rc; i++) {
        const struct sonde__span *b = &busy->items[i];
        if (b->from > from)
            rc = sonde_vector_push(idle, (struct sonde__span){from, b->from < to ? b->from : to});
        from = b->to > from ? b->to : from;
    }
    if (from < to && !rc)
        rc = sonde_vector_push(idle, (struct sonde__span){from, to});
    return rc;
}

/* ---- idle intervals ------------------------------------------------------------------------ */

struct sonde__idle sonde__idle_of(const sonde__spans *busy, uint64_t from, uint64_t to)
{
    struct sonde__idle idle = {.length = to - from, .busy = busy->count > 0};
    for (size_t i = 0; i < busy->count; i++) {
        const uint64_t gap = busy->items[i].from - (i ? busy->items[i - 1].to : from);
        if (i == 0) {
            idle.head = gap;
            continue;
        }
        idle.count++;
        idle.longest = gap > idle.longest ? gap : idle.longest;
    }
    if (busy->count)
        idle.tail = to - busy->items[busy->count - 1].to;
    return idle;
}

struct sonde__idle sonde__idle_join(struct sonde__idle a, struct sonde__idle b)
{
    const uint64_t between = (a.busy ? a.tail : a.length) + (b.busy ? b.head : b.length);
    struct sonde__idle both = {.length = a.length + b.length, .busy = a.busy || b.busy,
                               .count = a.count + b.count, .longest = a.longest > b.longest ? a.longest : b.longest};
    if (a.busy && b.busy && between) {
        both.count++;
        both.longest = between > both.longest ? between : both.longest;
    }
    both.head = a.busy ? a.head : b.busy ? between : 0;
    both.tail = b.busy ? b.tail : a.busy ? between : 0;
    return both;
}

uint64_t sonde__idle_count(const struct sonde__idle *idle)
{
    return idle->busy ? idle->count + (idle->head > 0) + (idle->tail > 0) : idle->length > 0;
}

uint64_t sonde__idle_longest(const struct sonde__idle *idle)
{
    uint64_t longest = idle->busy ? idle->longest : idle->length;
    longest = idle->head > longest ? idle->head : longest;
    return idle->tail > longest ? idle->tail : longest;
}

/* ---- shares --------------------------------------------------------------------------------- */

static int add_knot(struct sonde__share *share, uint64_t at, uint64_t rate)
{
    sonde__units sum = 0;
    if (share->knots.count) {
        const struct sonde__knot *last = &share->knots.items[share->knots.count - 1];
        sum = last->sum + (sonde__units)last->rate * (at - last->at);
    }
    return sonde_vector_push(&share->knots, (struct sonde__knot){at, rate, sum});
}

int sonde__share_compute(const sonde__spans *idle, const sonde__spans *changes, struct sonde__share *out)
{
    const struct sonde__span *change = changes->items;
    const size_t count = changes->count;
    uint64_t active = 0;
    size_t next = 0;
    int rc = 0;
    out->knots.count = 0;
    out->nobody = 0;
    for (size_t i = 0; i < idle->count && !rc; i++) {
        uint64_t at = idle->items[i].from;
        const uint64_t to = idle->items[i].to;
        for (; next < count && change[next].from <= at; next++)
            active += change[next].to;
        while (at < to && !rc) {
            const uint64_t until = next < count && change[next].from < to ? change[next].from : to;
            if (!active)
                out->nobody += (sonde__units)SONDE__UNITS * (until - at);
            rc = add_knot(out, at, active ? SONDE__UNITS / active : 0);
            for (at = until; next < count && change[next].from <= at; next++)
                active += change[next].to;
        }
        rc = rc ? rc : add_knot(out, to, 0);
    }
    return rc;
}

sonde__units sonde__share_until(const struct sonde__share *share, uint64_t at, size_t *hint)
{
    const struct sonde__knot *knots = share->knots.items;
    size_t low = *hint, high, step = 1;

    if (low >= share->knots.count || knots[low].at > at)
        low = 0;
    if (!share->knots.count || knots[low].at > at)
        return 0;
    for (high = low + 1; high < share->knots.count && knots[high].at <= at; step *= 2)
        low = high, high = low + step;
    high = high < share->knots.count ? high : share->knots.count;
    while (high - low > 1) { /* knots[low] <= at < knots[high]; of several at one time the last */
        const size_t middle = low + (high - low) / 2;
        if (knots[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    *hint = low;
    return knots[low].sum + (sonde__units)knots[low].rate * (at - knots[low].at);
}

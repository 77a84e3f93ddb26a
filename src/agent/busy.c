/* busy.c - how long a device was busy: the union of its operations' intervals, online.
 *
 * Operations arrive in batches, per thread and queue, not in time order. Each
 * batch is sorted and merged into a window of disjoint intervals; what is older
 * than the window is added to the total and forgotten. An interval that comes
 * later than the window reaches back counts only from the window's edge; the
 * window holds 8,192 intervals, so that happens only to an operation that
 * finished long before its completion was found.
 */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 8192u
#define BATCH  2048u
#define DEVICES 64u

struct interval { uint64_t start, end; };
struct cover {
    uint64_t total, edge;   /* length of what was forgotten, and where it ended */
    uint32_t count, batch_count;
    bool batch_sorted;
    struct interval window[WINDOW], batch[BATCH], merged[WINDOW + BATCH];
};
enum { ALL, KERNELS, COPIES, COVERS };

static struct { struct cover *cover[COVERS]; uint64_t count, first, last; } device[DEVICES];

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static uint32_t append(struct interval *out, uint32_t n, struct interval i)
{
    if (n && i.start <= out[n - 1].end) {
        if (i.end > out[n - 1].end)
            out[n - 1].end = i.end;
        return n;
    }
    out[n] = i;
    return n + 1;
}

static void settle(struct cover *c)
{
    if (!c->batch_count)
        return;
    if (!c->batch_sorted)
        qsort(c->batch, c->batch_count, sizeof *c->batch, by_start);
    uint32_t n = 0, w = 0, b = 0;
    while (w < c->count || b < c->batch_count) {
        bool from_window = b == c->batch_count || (w < c->count && c->window[w].start <= c->batch[b].start);
        n = append(c->merged, n, from_window ? c->window[w++] : c->batch[b++]);
    }
    uint32_t keep = n > WINDOW / 2 ? WINDOW / 2 : n;
    for (uint32_t i = 0; i < n - keep; i++) {
        c->total += c->merged[i].end - c->merged[i].start;
        c->edge = c->merged[i].end;
    }
    memcpy(c->window, c->merged + (n - keep), keep * sizeof *c->window);
    c->count = keep;
    c->batch_count = 0;
}

static void cover_add(struct cover **slot, uint64_t start, uint64_t end)
{
    if (!*slot) {
        *slot = sonde__heap_get(&sonde__agent.heap, sizeof **slot);
        if (!*slot)
            return;
        memset(*slot, 0, offsetof(struct cover, window));
    }
    struct cover *c = *slot;
    if (start < c->edge)
        start = c->edge;
    if (end <= start)
        return;
    if (c->batch_count == BATCH)
        settle(c);
    if (!c->batch_count)
        c->batch_sorted = true;
    else if (start < c->batch[c->batch_count - 1].start)
        c->batch_sorted = false;
    c->batch[c->batch_count++] = (struct interval){start, end};
}

static enum sonde_op_group group_of(enum sonde_op_kind kind)
{
    static const uint8_t group[] = {
#define X(name, text, g) SONDE_GROUP_##g,
        SONDE_OP_KIND_MAP(X)
#undef X
    };
    return group[kind];
}

void sonde__busy_add(uint32_t id, enum sonde_op_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    if (id >= DEVICES || group_of(kind) == SONDE_GROUP_ORDER)
        return; /* markers and barriers occupy nothing */
    device[id].count++;
    if (!device[id].first || start_ns < device[id].first)
        device[id].first = start_ns;
    if (end_ns > device[id].last)
        device[id].last = end_ns;
    cover_add(&device[id].cover[ALL], start_ns, end_ns);
    cover_add(&device[id].cover[group_of(kind) == SONDE_GROUP_KERNEL ? KERNELS : COPIES], start_ns, end_ns);
}

static uint64_t covered(struct cover *c)
{
    if (!c)
        return 0;
    settle(c);
    uint64_t sum = c->total;
    for (uint32_t i = 0; i < c->count; i++)
        sum += c->window[i].end - c->window[i].start;
    return sum;
}

void sonde__busy_settle(struct sonde_live_header *header)
{
    for (uint32_t id = 0; id < DEVICES; id++) {
        if (!device[id].count || device[id].count == header->device_busy[id].count)
            continue;
        header->device_busy[id].first_ns = device[id].first;
        header->device_busy[id].last_ns = device[id].last;
        header->device_busy[id].busy_ns = covered(device[id].cover[ALL]);
        header->device_group[id].kernel_ns = covered(device[id].cover[KERNELS]);
        header->device_group[id].copy_ns = covered(device[id].cover[COPIES]);
        header->device_busy[id].count = device[id].count;
    }
}

void sonde__busy_forget(void)
{
    memset(device, 0, sizeof device);
}

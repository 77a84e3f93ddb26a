/* busy.c - how long a device was busy: the union of its operations' intervals, online.
 *
 * Operations arrive thread by thread and queue by queue, not in time order.
 * They are gathered in batches, sorted, and merged into a window of disjoint
 * intervals. At the end of a monitor's turn, when every channel has been
 * emptied, what ended more than a second before the latest interval is added
 * to the total and forgotten. An operation that is found later than that (its
 * completion was hidden behind another one) counts only from the window's edge;
 * the rest is counted as clipped, and the ledger says so.
 */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "base/kinds.h"

#define WINDOW  32768u /* intervals; an eighth of it with a small budget */
#define BATCH   4096u
#define KEEP_NS 1000000000u

struct interval { uint64_t start, end; };
struct cover {
    uint64_t total, edge;   /* length of what was forgotten, and where it ended */
    uint64_t clipped;       /* came too late to be placed; an upper bound of what is missing */
    uint32_t count, batch_count, room;
    bool batch_sorted;
    struct interval *window, *merged; /* room + BATCH each */
    struct interval batch[BATCH], spare[BATCH];
};
enum {
    ALL,
    KERNELS,
    COPIES,
    COVERS,
};

static struct {
    struct cover *cover[COVERS];
    uint64_t count, first, last;
} device[SONDE_BUSY_DEVICES];
static uint64_t left_out; /* operations on devices that have no place there */

/* Bottom-up merge sort by start (Knuth, TAOCP vol. 3, 5.2.4). Not qsort, which calls malloc. */
static void sort_batch(struct cover *c)
{
    struct interval *from = c->batch, *to = c->spare;
    for (uint32_t width = 1; width < c->batch_count; width *= 2) {
        for (uint32_t begin = 0; begin < c->batch_count; begin += 2 * width) {
            uint32_t middle = begin + width < c->batch_count ? begin + width : c->batch_count;
            uint32_t end = middle + width < c->batch_count ? middle + width : c->batch_count;
            for (uint32_t a = begin, b = middle, i = begin; i < end; i++)
                to[i] = a < middle && (b == end || from[a].start <= from[b].start) ? from[a++] : from[b++];
        }
        struct interval *t = from;
        from = to;
        to = t;
    }
    if (from != c->batch)
        memcpy(c->batch, from, c->batch_count * sizeof *from);
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

static void forget_first(struct cover *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        c->total += c->window[i].end - c->window[i].start;
        c->edge = c->window[i].end;
    }
    c->count -= n;
    memmove(c->window, c->window + n, c->count * sizeof *c->window);
}

static void settle(struct cover *c)
{
    if (!c->batch_count)
        return;
    if (!c->batch_sorted)
        sort_batch(c);
    uint32_t n = 0, w = 0, b = 0;
    while (w < c->count || b < c->batch_count) {
        bool from_window = b == c->batch_count || (w < c->count && c->window[w].start <= c->batch[b].start);
        n = append(c->merged, n, from_window ? c->window[w++] : c->batch[b++]);
    }
    uint32_t forget = n > c->room ? n / 2 : 0; /* no room to wait for the turn's end */
    memcpy(c->window, c->merged, n * sizeof *c->window);
    c->count = n;
    c->batch_count = 0;
    forget_first(c, forget);
}

/* At the end of a turn: what nothing can come before any more. */
static void prune(struct cover *c)
{
    uint32_t old = 0;
    settle(c);
    uint64_t latest = c->count ? c->window[c->count - 1].end : 0;
    while (old < c->count && c->window[old].end + KEEP_NS < latest)
        old++;
    if (old > c->count / 2 || old > c->room / 8) /* moving the rest is worth it */
        forget_first(c, old);
}

static struct cover *cover_new(void)
{
    struct sonde_heap *heap = &sonde__agent.heap;
    uint32_t room = heap->size >= 32u << 20 ? WINDOW : WINDOW / 8;
    size_t array = (room + BATCH) * sizeof(struct interval);
    struct cover *c = sonde__heap_get(heap, sizeof *c + 2 * array);
    if (!c)
        return NULL;
    memset(c, 0, offsetof(struct cover, batch));
    c->room = room;
    c->window = (struct interval *)(c + 1);
    c->merged = c->window + room + BATCH;
    return c;
}

static void cover_add(struct cover **slot, uint64_t start, uint64_t end)
{
    if (!*slot && !(*slot = cover_new()))
        return; /* no room: the device's busy time stays unknown */
    struct cover *c = *slot;
    if (start < c->edge) {
        c->clipped += (end < c->edge ? end : c->edge) - start;
        start = c->edge;
    }
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

void sonde__busy_add(uint32_t id, enum sonde_op_kind kind, uint64_t start_ns, uint64_t end_ns)
{
    if (sonde_op_kind_group(kind) == SONDE_GROUP_ORDER)
        return; /* markers and barriers occupy nothing */
    if (id >= SONDE_BUSY_DEVICES) {
        if (!left_out++)
            sonde_note("more than %u devices: the others have no busy time", SONDE_BUSY_DEVICES - 1);
        return;
    }
    device[id].count++;
    if (!device[id].first || start_ns < device[id].first)
        device[id].first = start_ns;
    if (end_ns > device[id].last)
        device[id].last = end_ns;
    cover_add(&device[id].cover[ALL], start_ns, end_ns);
    cover_add(&device[id].cover[sonde_op_kind_group(kind) == SONDE_GROUP_KERNEL ? KERNELS : COPIES], start_ns, end_ns);
}

static uint64_t covered(struct cover *c)
{
    if (!c)
        return 0;
    prune(c);
    uint64_t sum = c->total;
    for (uint32_t i = 0; i < c->count; i++)
        sum += c->window[i].end - c->window[i].start;
    return sum;
}

void sonde__busy_settle(struct sonde_live_header *header)
{
    header->ledger.busy_clipped_ns = 0;
    header->ledger.busy_left_out = left_out;
    for (uint32_t id = 0; id < SONDE_BUSY_DEVICES; id++) {
        if (!device[id].count || !device[id].cover[ALL])
            continue;
        header->device_busy[id].first_ns = device[id].first;
        header->device_busy[id].last_ns = device[id].last;
        header->device_busy[id].busy_ns = covered(device[id].cover[ALL]);
        header->ledger.busy_clipped_ns += device[id].cover[ALL]->clipped;
        header->device_group[id].kernel_ns = covered(device[id].cover[KERNELS]);
        header->device_group[id].copy_ns = covered(device[id].cover[COPIES]);
        header->device_busy[id].count = device[id].count;
    }
}

void sonde__busy_forget(void)
{
    memset(device, 0, sizeof device);
    left_out = 0;
}

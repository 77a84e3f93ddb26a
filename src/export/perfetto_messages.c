/* perfetto_messages.c - see perfetto_messages.h. */
#include "perfetto_messages.h"

#include <stdlib.h>

#include "analyze/job/axis.h"
#include "analyze/job/matching.h"
#include "analyze/trace/trace.h"

struct end {
    struct pf_message_end end;
    uint64_t flow;
};

struct finding {
    SONDE_VECTOR(struct end) ends;
    uint64_t messages;
};

static int compare(const struct pf_message_end *a, const struct pf_message_end *b)
{
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->enter_ns != b->enter_ns)
        return a->enter_ns < b->enter_ns ? -1 : 1;
    return (int)a->received - (int)b->received;
}

static int by_end(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    const int order = compare(&a->end, &b->end);
    return order ? order : (a->flow < b->flow ? -1 : a->flow > b->flow);
}

/* Numbers of flows are of the whole trace: those of operations are hashes, too. */
static int add_pair(void *user, struct sonde__matched *sent, struct sonde__matched *received, struct sonde__matched *look)
{
    struct finding *f = user;
    const uint64_t flow = sonde_hash_mix(sonde_hash_mix(0, UINT32_MAX), ++f->messages);
    (void)look;
    return sonde_vector_push(&f->ends, (struct end){{sent->process, sent->lane, sent->enter_ns, false}, flow}) ||
                   sonde_vector_push(&f->ends, (struct end){{received->process, received->lane, received->enter_ns, true}, flow})
               ? SONDE_ENOMEM
               : 0;
}

static int keep(struct pf_messages *x, struct finding *f)
{
    x->ends = malloc((f->ends.count + 1) * sizeof *x->ends);
    x->flows = malloc((f->ends.count + 1) * sizeof *x->flows);
    if (!x->ends || !x->flows)
        return SONDE_ENOMEM;
    if (f->ends.count)
        qsort(f->ends.items, f->ends.count, sizeof *f->ends.items, by_end);
    for (x->count = 0; x->count < f->ends.count; x->count++) {
        x->ends[x->count] = f->ends.items[x->count].end;
        x->flows[x->count] = f->ends.items[x->count].flow;
    }
    return 0;
}

int pf_messages_find(struct pf_messages *x, const struct sonde_measurement *m, const struct sonde_profile *profile)
{
    const uint64_t rows = sonde_trace_rows(m, SONDE_READ_MESSAGES);
    struct finding found = {0};
    struct sonde_intern comms = {0};
    struct sonde__clocks clocks = {0};
    struct sonde__matching k = {.m = m, .profile = profile, .comms = &comms, .clocks = &clocks, .pair = add_pair, .user = &found};
    if (!rows || rows > SONDE_AXIS_ROWS)
        return 0;
    int rc = sonde__matching_read(&k);
    rc = rc ? rc : sonde__matching_match(&k);
    rc = rc ? rc : keep(x, &found);
    sonde_vector_fini(&found.ends);
    sonde__matching_fini(&k);
    sonde_intern_fini(&comms);
    sonde__clocks_fini(&clocks);
    return rc;
}

void pf_messages_fini(struct pf_messages *x)
{
    free(x->ends);
    free(x->flows);
    *x = (struct pf_messages){0};
}

const uint64_t *pf_messages_of(const struct pf_messages *x, const struct pf_message_end *end, size_t *count)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare(&x->ends[middle], end) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < x->count && compare(&x->ends[low + *count], end) == 0;)
        ++*count;
    return *count ? &x->flows[low] : NULL;
}

/* busy.c - the length of a union of intervals, with memory for those that later ones may touch.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

struct span {
    uint64_t start_ns, end_ns;
    bool kernel;
};

enum {
    ALL,
    KERNELS,
    COPIES,
    GROUPS,
};

struct synth_busy {
    struct span *spans;
    size_t count, room;
    uint64_t end_ns[GROUPS], sum_ns[GROUPS]; /* of the unions so far */
    struct synth_busy_sums sums;
};

struct synth_busy *synth_busy_create(void)
{
    struct synth_busy *b = calloc(1, sizeof *b);
    if (b)
        b->spans = malloc((b->room = 1 << 16) * sizeof *b->spans);
    if (!b || !b->spans) {
        fputs("synth: out of memory\n", stderr);
        exit(1);
    }
    return b;
}

void synth_busy_add(struct synth_busy *b, uint64_t start_ns, uint64_t end_ns, bool kernel)
{
    if (b->count == b->room && !(b->spans = realloc(b->spans, (b->room *= 2) * sizeof *b->spans))) {
        fputs("synth: out of memory\n", stderr);
        exit(1);
    }
    b->spans[b->count++] = (struct span){start_ns, end_ns, kernel};
    b->sums.first_ns = b->sums.count && b->sums.first_ns < start_ns ? b->sums.first_ns : start_ns;
    b->sums.last_ns = end_ns > b->sums.last_ns ? end_ns : b->sums.last_ns;
    b->sums.count++;
}

bool synth_busy_full(const struct synth_busy *b)
{
    return b->count == b->room;
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void add_to_union(struct synth_busy *b, unsigned group, const struct span *s)
{
    if (s->end_ns <= b->end_ns[group])
        return;
    b->sum_ns[group] += s->end_ns - (s->start_ns > b->end_ns[group] ? s->start_ns : b->end_ns[group]);
    b->end_ns[group] = s->end_ns;
}

void synth_busy_settle(struct synth_busy *b, uint64_t settled_ns)
{
    size_t done = 0;

    if (b->count)
        qsort(b->spans, b->count, sizeof *b->spans, compare_spans);
    for (; done < b->count && b->spans[done].start_ns < settled_ns; done++) {
        add_to_union(b, ALL, &b->spans[done]);
        add_to_union(b, b->spans[done].kernel ? KERNELS : COPIES, &b->spans[done]);
    }
    for (size_t i = done; i < b->count; i++)
        b->spans[i - done] = b->spans[i];
    b->count -= done;
}

void synth_busy_finish(struct synth_busy *b, struct synth_busy_sums *sums)
{
    synth_busy_settle(b, UINT64_MAX);
    *sums = b->sums;
    sums->busy_ns = b->sum_ns[ALL];
    sums->kernel_ns = b->sum_ns[KERNELS];
    sums->copy_ns = b->sum_ns[COPIES];
    free(b->spans);
    free(b);
}

/* sleeps.c - what threads did between their calls: samples, when they were off the CPU, and who is taken to have woken them.
 * docs/critical-path.md, "Sleeps".
 */
#include "graph.h"

#include <stdlib.h>

#include "analyze/trace/trace.h"

struct cpu {
    const struct sonde__cp_loading *loading;
    SONDE_VECTOR(struct sonde_row_sample) samples;
    SONDE_VECTOR(struct sonde_row_switch) switches;
    SONDE_VECTOR(struct sonde__cp_sleep) sleeps;
    SONDE_VECTOR(struct sonde_row_call) waits;
};

/* ---- samples, sleeps -------------------------------------------------------------------- */

/* Switches go on for a while after the rest has stopped. */
static bool is_paused(const struct sonde_recorded *recorded, uint64_t at_ns)
{
    const size_t i = sonde_recorded_pause(recorded, at_ns);
    return i < recorded->pauses.count && recorded->pauses.items[i].from_ns <= at_ns;
}

static int sleep_order(const void *left, const void *right)
{
    const struct sonde__cp_sleep *a = left, *b = right;
    if (a->out != b->out)
        return a->out < b->out ? -1 : 1;
    return !a->node - !b->node;
}

/* What the kernel says of a wait whose function is known is the same time again. */
static void drop_times_of_waits(struct cpu *l, size_t first)
{
    struct sonde__cp_sleep *sleeps = l->sleeps.items;
    size_t kept = first, next = first;
    uint64_t last = 0; /* end of the waits so far */
    for (size_t i = first; i < l->sleeps.count; i++) {
        const struct sonde__cp_sleep sleep = sleeps[i];
        for (next = next > i ? next : i; next < l->sleeps.count && !sleeps[next].node; next++)
            ;
        if (!sleep.node && (sleep.out < last || (next < l->sleeps.count && sleeps[next].out < sleep.in)))
            continue;
        last = sleep.node && sleep.in > last ? sleep.in : last;
        sleeps[kept++] = sleep;
    }
    l->sleeps.count = kept;
}

/* Keep what lies between two calls: a sleep within a call is the call's. */
static int keep_sleeps_of_host_code(struct cpu *l, uint32_t thread, size_t first)
{
    const struct sonde__cp_graph *g = l->loading->g;
    size_t kept = first;
    uint64_t last = 0;
    for (size_t i = first; i < l->sleeps.count; i++) {
        struct sonde__cp_sleep sleep = l->sleeps.items[i];
        link call = sonde__cp_call_at(g, thread, sleep.in - 1);
        uint64_t left = call ? g->calls[call - 1].leave : 0;
        sleep.out = sleep.out < left ? left : sleep.out;
        sleep.out = sleep.out < last ? last : sleep.out;
        if (sleep.in <= sleep.out)
            continue;
        last = sleep.in;
        l->sleeps.items[kept++] = sleep;
        if (sleep.node && sonde_vector_push(&l->waits, (struct sonde_row_call){
                                                           .enter_ns = sleep.out, .leave_ns = sleep.in, .node = sleep.node}))
            return SONDE_ENOMEM;
    }
    l->sleeps.count = kept;
    return 0;
}

static void begin_thread(const struct cpu *l, struct sonde__cp_thread *thread)
{
    thread->first_sample = (uint32_t)l->samples.count;
    thread->first_switch = (uint32_t)l->switches.count;
    thread->first_sleep = (uint32_t)l->sleeps.count;
    thread->first_wait = (uint32_t)l->waits.count;
}

static int end_thread(struct cpu *l, struct sonde__cp_thread *thread, uint32_t index)
{
    if (l->sleeps.count > thread->first_sleep)
        qsort(l->sleeps.items + thread->first_sleep, l->sleeps.count - thread->first_sleep, sizeof *l->sleeps.items, sleep_order);
    drop_times_of_waits(l, thread->first_sleep);
    const int rc = keep_sleeps_of_host_code(l, index, thread->first_sleep);
    thread->samples = (uint32_t)l->samples.count - thread->first_sample;
    thread->switches = (uint32_t)l->switches.count - thread->first_switch;
    thread->sleeps = (uint32_t)l->sleeps.count - thread->first_sleep;
    thread->waits = (uint32_t)l->waits.count - thread->first_wait;
    return rc;
}

static int add_away(struct cpu *l, const struct sonde_row_switch *row, uint32_t thread)
{
    if (row->in_ns == UINT64_MAX || row->in_ns <= row->out_ns)
        return 0;
    if (sonde_vector_push(&l->switches, *row))
        return SONDE_ENOMEM;
    return row->flags & SONDE_SWITCH_PREEMPTED || is_paused(l->loading->g->recorded, row->out_ns)
               ? 0
               : sonde_vector_push(&l->sleeps, (struct sonde__cp_sleep){.out = row->out_ns, .in = row->in_ns, .thread = thread});
}

/* What threads did on and off the CPU. */
static int add_cpu(void *user, const struct sonde_trace_window *w)
{
    struct cpu *l = user;
    const struct sonde_trace_lane *lane = &w->lanes[0];
    int rc = 0;
    if (!l->loading->thread_of[lane->lane])
        return 0;
    const uint32_t index = l->loading->thread_of[lane->lane] - 1;
    struct sonde__cp_thread *thread = &l->loading->g->threads[index];
    if (w->from_ns == l->loading->g->from)
        begin_thread(l, thread);
    for (uint32_t i = 0; i < lane->sample_count && !rc; i++)
        rc = sonde_vector_push(&l->samples, lane->samples[i]);
    for (uint32_t i = 0; i < lane->switch_count && !rc; i++)
        if (lane->switches[i].out_ns >= w->from_ns && lane->switches[i].out_ns < w->to_ns)
            rc = add_away(l, &lane->switches[i], index);
    for (uint32_t i = 0; i < lane->sleep_count && !rc; i++)
        if (lane->sleeps[i].from_ns >= w->from_ns)
            rc = sonde_vector_push(&l->sleeps,
                                   (struct sonde__cp_sleep){
                                       .out = lane->sleeps[i].from_ns,
                                       .in = lane->sleeps[i].to_ns,
                                       .node = lane->sleeps[i].node,
                                       .thread = index,
                                   });
    return rc || w->to_ns != UINT64_MAX ? rc : end_thread(l, thread, index);
}

/* ---- who woke a thread ---------------------------------------------------------------- */

struct waking {
    struct sonde__cp_graph *g;
    uint32_t *order;   /* sleeps by their end */
    link *recent;      /* [thread]: its latest call so far */
    uint32_t *sleep;   /* [thread]: its first sleep that is not over */
};

static int by_in(const void *left, const void *right, void *user)
{
    const struct sonde__cp_sleep *sleeps = user;
    const uint32_t *a = left, *b = right;
    if (sleeps[*a].in != sleeps[*b].in)
        return sleeps[*a].in < sleeps[*b].in ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* Until when, no later than `at`, was a thread active? 0: not within the sleep. */
static uint64_t active_until(const struct waking *w, uint32_t thread, const struct sonde__cp_sleep *s)
{
    const struct sonde__cp_graph *g = w->g;
    const struct sonde__cp_thread *t = &g->threads[thread];
    const struct sonde__cp_call *call = w->recent[thread] ? &g->calls[w->recent[thread] - 1] : NULL;
    uint64_t until = s->in;
    if (t->end_ns && t->end_ns <= s->in)
        return t->end_ns > s->out ? t->end_ns : 0;
    if (!call || (call->leave < s->out && call->enter < s->out))
        return 0; /* it did nothing that we know of */
    if (call->leave > s->in)
        until = call->waits ? call->enter : s->in;
    uint32_t i = w->sleep[thread], end = t->first_sleep + t->sleeps;
    if (i < end && g->sleeps[i].out < until)
        until = g->sleeps[i].out;
    return until > s->out ? until : 0;
}

static void find_waker(struct waking *w, struct sonde__cp_sleep *s)
{
    uint64_t latest_call = 0;
    for (uint32_t t = 0; t < w->g->thread_count; t++) {
        if (t == s->thread)
            continue;
        const struct sonde__cp_thread *thread = &w->g->threads[t];
        while (w->sleep[t] < thread->first_sleep + thread->sleeps && w->g->sleeps[w->sleep[t]].in < s->in)
            w->sleep[t]++;
        uint64_t until = active_until(w, t, s);
        uint64_t call = w->recent[t] ? w->g->calls[w->recent[t] - 1].leave : 0;
        if (until && (until > s->woken || (until == s->woken && call > latest_call))) {
            s->woken = until;
            s->waker = t + 1;
            latest_call = call;
        }
    }
}

static int find_wakers(struct sonde__cp_graph *g)
{
    struct waking w = {.g = g};
    if (!g->sleep_count || g->thread_count < 2)
        return 0;
    w.order = malloc(g->sleep_count * sizeof *w.order);
    w.recent = calloc(g->thread_count, sizeof *w.recent);
    w.sleep = calloc(g->thread_count, sizeof *w.sleep);
    int rc = w.order && w.recent && w.sleep ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < g->sleep_count && !rc; i++)
        w.order[i] = i;
    for (uint32_t t = 0; t < g->thread_count && !rc; t++)
        w.sleep[t] = g->threads[t].first_sleep;
    if (!rc)
        qsort_r(w.order, g->sleep_count, sizeof *w.order, by_in, g->sleeps);
    for (uint32_t i = 0, call = 0; i < g->sleep_count && !rc; i++) {
        struct sonde__cp_sleep *s = &g->sleeps[w.order[i]];
        for (; call < g->call_count && g->calls[call].enter <= s->in; call++)
            w.recent[g->calls[call].thread] = call + 1;
        find_waker(&w, s);
    }
    free(w.order);
    free(w.recent);
    free(w.sleep);
    return rc;
}

/* ---- all together ------------------------------------------------------------------------- */

int sonde__cp_load_cpu(const struct sonde__cp_loading *loading)
{
    struct sonde__cp_graph *g = loading->g;
    struct cpu l = {.loading = loading};
    const struct sonde_trace_options wanted = {
        .tables = SONDE_READ_SAMPLES | SONDE_READ_SWITCHES | SONDE_READ_SLEEPS, .from_ns = g->from, .by_lane = true, .threads = 1};
    const int rc = sonde_trace_pass(g->process, &wanted, add_cpu, &l);
    g->samples = l.samples.items; /* it frees them, whatever happened */
    g->sample_count = (uint32_t)l.samples.count;
    g->switches = l.switches.items;
    g->switch_count = (uint32_t)l.switches.count;
    g->sleeps = l.sleeps.items;
    g->sleep_count = (uint32_t)l.sleeps.count;
    g->waits = l.waits.items;
    return rc ? rc : find_wakers(g);
}

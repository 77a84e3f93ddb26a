/* move.c - a process's graph on another clock: that of a job's needs, where its host has one of its own. */
#include "graph.h"

struct moving {
    const struct sonde_needs *needs;
    uint32_t process;
};

/* 0 is no time, and UINT64_MAX the end of all. */
static void move(const struct moving *k, uint64_t *ns)
{
    if (*ns && *ns != UINT64_MAX)
        *ns = sonde_needs_time(k->needs, k->process, *ns);
}

static void move_both(const struct moving *k, uint64_t *a, uint64_t *b)
{
    move(k, a);
    move(k, b);
}

static void move_waits(const struct moving *k, struct sonde__cp_wait *waits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        move(k, &waits[i].until);
}

static void move_threads(const struct moving *k, struct sonde__cp_graph *g)
{
    for (uint32_t t = 0; t < g->thread_count; t++) {
        const struct sonde__cp_thread *thread = &g->threads[t];
        move_both(k, &g->threads[t].start_ns, &g->threads[t].end_ns);
        for (uint32_t i = 0; i < thread->waits; i++)
            move_both(k, &g->waits[thread->first_wait + i].enter_ns, &g->waits[thread->first_wait + i].leave_ns);
    }
    for (uint32_t i = 0; i < g->sample_count; i++)
        move(k, &g->samples[i].time_ns);
    for (uint32_t i = 0; i < g->switch_count; i++)
        move_both(k, &g->switches[i].out_ns, &g->switches[i].in_ns);
    for (uint32_t i = 0; i < g->sleep_count; i++) {
        move_both(k, &g->sleeps[i].out, &g->sleeps[i].in);
        move(k, &g->sleeps[i].woken);
    }
}

static void move_recorded(const struct moving *k, struct sonde_recorded *recorded)
{
    move_both(k, &recorded->begin_ns, &recorded->start_ns);
    move(k, &recorded->end_ns);
    for (size_t i = 0; i < recorded->pauses.count; i++)
        move_both(k, &recorded->pauses.items[i].from_ns, &recorded->pauses.items[i].to_ns);
}

void sonde__cp_move(struct sonde__cp_process *p, const struct sonde_needs *needs)
{
    const struct moving k = {needs, p->book.process};
    struct sonde__cp_graph *g = &p->g;
    if (needs->hosts.items[k.process] == sonde__clocks_reference(&needs->clocks))
        return;
    move_recorded(&k, &p->recorded);
    move_both(&k, &g->begin, &g->end);
    move(&k, &g->from);
    for (uint32_t i = 0; i < g->call_count; i++)
        move_both(&k, &g->calls[i].enter, &g->calls[i].leave);
    for (uint32_t i = 0; i < g->op_count; i++)
        move_both(&k, &g->ops[i].start, &g->ops[i].end);
    move_waits(&k, g->call_waits, g->call_wait_count);
    move_waits(&k, g->op_waits, g->op_wait_count);
    move_threads(&k, g);
}

void sonde__cp_move_back(struct sonde_path *path, const struct sonde_needs *needs)
{
    for (size_t i = 0; i < path->segments.count; i++) {
        struct sonde_path_segment *step = &path->segments.items[i];
        step->start_ns = sonde_needs_own_time(needs, step->process, step->start_ns);
        step->end_ns = sonde_needs_own_time(needs, step->process, step->end_ns);
    }
}

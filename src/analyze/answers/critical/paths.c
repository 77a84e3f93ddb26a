/* paths.c - the critical path of each process, and the one through the ranks of a job. */
#include "critical.h"

#include <stdlib.h>

#include "analyze/trace/each.h"
#include "analyze/trace/trace.h"
#include "graph.h"

static int longest(const void *left, const void *right)
{
    const struct sonde_path *a = left, *b = right;
    const uint64_t x = a->end_ns - a->begin_ns, y = b->end_ns - b->begin_ns;
    return x < y ? 1 : (x > y ? -1 : (a->process < b->process ? -1 : 1));
}

/* The path through the ranks of a job, where these wait for each other. */
static int compute_job(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_critical_options *options,
                       struct sonde_progress *progress, struct sonde_critical *out)
{
    struct sonde__cp_run run = {.out.path = &out->job};
    int rc = sonde__cp_open_job(m, profile, options->max_rows, progress, &run);
    out->has_job = !rc && run.count > 1;
    if (out->has_job)
        rc = sonde__cp_compute(&run, options);
    sonde__cp_move_back(&out->job, &run.needs);
    sonde__cp_close(&run);
    return rc;
}

static bool has_trace(const struct sonde_process *p)
{
    return sonde_trace_extent(p, SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_MESSAGES).rows > 0;
}

static void free_path(struct sonde_path *path)
{
    sonde_vector_fini(&path->things);
    sonde_vector_fini(&path->places);
    sonde_vector_fini(&path->segments);
    sonde_vector_fini(&path->stays);
}

struct computing {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    const struct sonde_critical_options *options;
    struct sonde_progress *progress;
    struct sonde_critical *out;
};

static int compute_process(const struct computing *c, uint32_t process, struct sonde_path *path)
{
    struct sonde__cp_run run = {.out.path = path};
    int rc = sonde__cp_open(c->m, c->profile, &process, 1, c->options->max_rows, c->progress, &run);
    rc = rc ? rc : sonde__cp_compute(&run, c->options);
    sonde__cp_close(&run);
    return rc;
}

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct computing *c = user;
    struct sonde_path path = {0};
    if (!has_trace(&c->m->processes[process]))
        return 0;
    const int rc = compute_process(c, process, &path);
    sonde_found_put(found, &path, sizeof path);
    sonde_found_put_vector(found, &path.things);
    sonde_found_put_vector(found, &path.places);
    sonde_found_put_vector(found, &path.segments);
    sonde_found_put_vector(found, &path.stays);
    free_path(&path);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct computing *c = user;
    struct sonde_path path;
    if (!has_trace(&c->m->processes[process]))
        return 0;
    sonde_found_get(found, &path, sizeof path);
    sonde_found_get_vector(found, &path.things);
    sonde_found_get_vector(found, &path.places);
    sonde_found_get_vector(found, &path.segments);
    sonde_found_get_vector(found, &path.stays);
    for (size_t i = 0; i < path.things.count; i++)
        sonde__cp_name(c->profile, &path.things.items[i]);
    if (!sonde_vector_push(&c->out->paths, path))
        return 0;
    free_path(&path);
    return SONDE_ENOMEM;
}

int sonde_critical_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                           const struct sonde_critical_options *options, struct sonde_progress *progress,
                           struct sonde_critical *out)
{
    struct computing c = {m, profile, options, progress, out};
    int rc = 0;
    if (!options->alone)
        rc = sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
    else if (options->process < m->process_count && has_trace(&m->processes[options->process]))
        rc = sonde_vector_push(&out->paths, (struct sonde_path){0}) ? SONDE_ENOMEM : compute_process(&c, options->process, &out->paths.items[0]);
    if (!rc && out->paths.count)
        qsort(out->paths.items, out->paths.count, sizeof *out->paths.items, longest);
    return rc || !options->job ? rc : compute_job(m, profile, options, progress, out);
}

void sonde_critical_fini(struct sonde_critical *critical)
{
    for (size_t i = 0; i < critical->paths.count; i++)
        free_path(&critical->paths.items[i]);
    sonde_vector_fini(&critical->paths);
    free_path(&critical->job);
}

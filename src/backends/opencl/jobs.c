/* jobs.c - what is under way in queues until somebody looks whether it is over: comparisons and hashes (sonde record --values). */
#include "values.h"

#include "guest/memory.h"

struct sonde_cl_job *sonde__cl_job_get(struct sonde_cl_jobs *jobs, const struct sonde_cl_values *v)
{
    sonde__lock(&jobs->lock);
    struct sonde_cl_job *job = jobs->free;
    if (job)
        jobs->free = job->next;
    else if (jobs->made < jobs->most && (job = sonde__memory_get(jobs->bytes)))
        jobs->made++;
    sonde__unlock(&jobs->lock);
    if (job)
        job->values = v;
    return job;
}

void sonde__cl_job_put(struct sonde_cl_jobs *jobs, struct sonde_cl_job *job, bool is_over)
{
    struct sonde_cl_job **list = is_over ? &jobs->free : &jobs->under_way;
    sonde__lock(&jobs->lock);
    job->next = *list;
    *list = job;
    sonde__unlock(&jobs->lock);
}

/* All that are under way, the first that was enqueued first; they are in this thread's hands. NULL: none, or another has them. */
static struct sonde_cl_job *take(struct sonde_cl_jobs *jobs)
{
    struct sonde_cl_job *in_order = NULL;
    if (!sonde__lock_within(&jobs->lock, 100))
        return NULL;
    struct sonde_cl_job *list = jobs->looked_at ? NULL : jobs->under_way;
    if (list) {
        jobs->under_way = NULL;
        jobs->looked_at = true;
    }
    sonde__unlock(&jobs->lock);
    for (struct sonde_cl_job *next; list; list = next) {
        next = list->next;
        list->next = in_order;
        in_order = list;
    }
    return in_order;
}

void sonde__cl_jobs_look(struct sonde_cl_jobs *jobs, bool (*finish)(struct sonde_cl_job *job))
{
    struct sonde_cl_job *list = take(jobs);
    if (!list)
        return;
    for (struct sonde_cl_job *job = list, *next; job; job = next) { /* without the lock: with an event objects may die, and callbacks be called */
        next = job->next;
        sonde__cl_job_put(jobs, job, finish(job));
    }
    sonde__lock(&jobs->lock);
    jobs->looked_at = false;
    sonde__unlock(&jobs->lock);
}

bool sonde__cl_jobs_under_way(struct sonde_cl_jobs *jobs, const struct sonde_cl_values *v)
{
    sonde__lock(&jobs->lock);
    bool found = jobs->looked_at;
    for (const struct sonde_cl_job *job = jobs->under_way; job && !found; job = job->next)
        found = job->values == v;
    sonde__unlock(&jobs->lock);
    return found;
}

void sonde__cl_jobs_wait(struct sonde_cl_jobs *jobs)
{
    for (int i = 0; jobs->looked_at && i < 10000; i++) {
        sonde__unlock(&jobs->lock);
        sonde__nap(10);
        sonde__lock(&jobs->lock);
    }
}

void sonde__cl_event_over(cl_event event, cl_int status)
{
    if (status >= CL_COMPLETE)
        sonde__cl_target(event)->clReleaseEvent(event);
}

void sonde__cl_jobs_forget(struct sonde_cl_jobs *jobs)
{
    *jobs = (struct sonde_cl_jobs){.bytes = jobs->bytes, .most = jobs->most};
}

/* duplicates.c - objects that hold the same values as others (guest/alike.h), on the device.
 *
 * Hashes, and comparisons of two objects, are kernels of ours behind an operation in its own stream. What they find lies in memory of
 * the host, where the program's next call that comes by sees it without a call to the driver. A pair is compared in front of
 * that call's operation, or in a stream of ours, where there is none: by the thread that fetches records, and when one of the
 * two is about to be freed.
 *
 * Memory of pools and mapped memory is left out: freeing it waits for nothing, so a kernel of ours could still read it.
 */
#include "sonde_cuda.h"

#include <string.h>

#include "guest/alike.h"

#define JOBS    256u /* of a context */
#define THREADS 256u
#define NAP_US  50u

struct job { /* of hashing or comparing */
    bool used, compares;
    bool settled;  /* what it finds is of the contents that it is said to be of, whatever is written from now on */
    bool holds;    /* both objects, until it is read */
    uint64_t stream; /* its key; 0: ours */
    uint64_t ticket;
    struct sonde_alike_pair of; /* of a hash `one` alone */
};

struct sonde_cuda_jobs {
    struct sonde_lock lock; /* of the jobs */
    struct sonde_ptx_told *told; /* of each, which the device writes */
    CUdeviceptr sums;
    uint64_t tickets;
    _Atomic uint32_t used;
    struct job job[JOBS];
};

static bool is_current(const struct sonde_alike_state *state)
{
    return sonde__cuda_coarse_version(state->object) == state->version;
}

static struct sonde_alike alike = {.is_current = is_current};

bool sonde__cuda_duplicates_ready(struct sonde_cuda_place *p)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    struct sonde_cuda_jobs *j = p->jobs ? NULL : sonde__pages_get(sizeof *j);
    if (p->jobs)
        return true;
    if (!j || t->cuMemAlloc_v2(&j->sums, JOBS * sizeof *j->told) != CUDA_SUCCESS)
        return false;
    if (t->cuMemHostAlloc((void **)&j->told, JOBS * sizeof *j->told, 0) != CUDA_SUCCESS ||
        t->cuMemsetD8Async(j->sums, 0, JOBS * sizeof *j->told, p->stream) != CUDA_SUCCESS || t->cuStreamSynchronize(p->stream) != CUDA_SUCCESS)
        return false;
    memset(j->told, 0, JOBS * sizeof *j->told);
    p->jobs = j;
    return true;
}

/* ---- jobs --------------------------------------------------------------------------------------- */

static struct job *job_get(struct sonde_cuda_jobs *j)
{
    struct job *job = NULL;
    sonde__lock(&j->lock);
    for (uint32_t i = 0; i < JOBS && !job && j->used < JOBS; i++)
        if (!j->job[i].used)
            job = &j->job[i];
    if (job) {
        *job = (struct job){.used = true, .ticket = ++j->tickets};
        atomic_fetch_add(&j->used, 1);
    }
    sonde__unlock(&j->lock);
    return job;
}

static void job_put(struct sonde_cuda_jobs *j, struct job *job)
{
    sonde__lock(&j->lock);
    job->used = false;
    atomic_fetch_sub(&j->used, 1);
    sonde__unlock(&j->lock);
}

static bool launch(const struct sonde_cuda_place *p, CUstream stream, struct job *job)
{
    const struct sonde_cuda_own *own = sonde__cuda_own();
    const size_t at = (size_t)(job - p->jobs->job) * sizeof *p->jobs->told;
    uint64_t one = job->of.one.handle, other = job->compares ? job->of.other.handle : 0, bytes = job->of.one.bytes;
    uint64_t sums = p->jobs->sums + at, told = (uintptr_t)p->jobs->told + at, ticket = job->ticket;
    const uint64_t blocks = (bytes / sizeof(uint64_t) + THREADS) / THREADS, most = 8ull * p->multiprocessors;
    return sonde__cuda_twins.cuLaunchKernel((CUfunction)own->digest, (unsigned)(blocks < most ? blocks : most), 1, 1, THREADS, 1, 1, 0, stream,
                                            (void *[]){&one, &other, &bytes, &sums, &told, &ticket}, NULL) == CUDA_SUCCESS;
}

/* ---- what they found --------------------------------------------------------------------------------- */

/* Was nothing written to it but behind the job, in the same stream? */
static bool is_untouched(const struct job *job, const struct sonde_alike_state *side)
{
    return is_current(side) || (job->stream && sonde__cuda_coarse_writer(side->object) == job->stream);
}

static void settle(struct job *job)
{
    job->settled = job->settled || (is_untouched(job, &job->of.one) && is_untouched(job, &job->of.other));
}

static void finish(struct sonde_cuda_jobs *j, struct job *job)
{
    const struct sonde_ptx_told *told = &j->told[job - j->job];
    const uint64_t word[2] = {told->word[0], told->word[1]};
    if (job->compares)
        settle(job);
    if (job->holds)
        sonde__alike_release(&alike, &job->of);
    if (!job->compares)
        sonde__alike_hashed(&alike, &job->of.one, word);
    else if (job->settled && !word[0])
        sonde_value_duplicate(job->of.one.operation, job->of.one.object, job->of.other.object, job->of.one.bytes);
    job_put(j, job);
}

/* Each by one thread. */
static void collect(struct sonde_cuda_jobs *j)
{
    struct job *done[JOBS];
    uint32_t count = 0;
    if (!atomic_load_explicit(&j->used, memory_order_relaxed))
        return;
    sonde__lock(&j->lock);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct job *job = &j->job[i];
        if (!job->used || !job->ticket || __atomic_load_n(&j->told[i].ticket, __ATOMIC_ACQUIRE) != job->ticket)
            continue;
        job->ticket = 0;
        done[count++] = job;
    }
    sonde__unlock(&j->lock);
    for (uint32_t i = 0; i < count; i++)
        finish(j, done[i]);
}

/* ---- in a stream ----------------------------------------------------------------------------------------- */

/* `key` 0: in ours, where nothing orders it with what else is done to the objects: they are held until it is over. */
/* True: it is enqueued. */
static bool compare(struct sonde_cuda_place *p, CUstream stream, uint64_t key, const struct sonde_alike_pair *pair)
{
    if (!sonde__alike_hold(&alike, pair))
        return false;
    struct job *job = job_get(p->jobs);
    if (job) {
        job->compares = true;
        job->holds = !key;
        job->stream = key;
        job->of = *pair;
    }
    const bool made = job && launch(p, stream, job);
    if (!made || key)
        sonde__alike_release(&alike, pair);
    if (job && !made)
        job_put(p->jobs, job);
    return made;
}

void sonde__cuda_duplicates_check(struct sonde_cuda_place *p, CUstream stream, uint64_t key)
{
    struct sonde_alike_pair pair;
    if (!p->jobs)
        return;
    collect(p->jobs);
    while (sonde__alike_next(&alike, p->uid, &pair))
        compare(p, stream, key, &pair);
}

void sonde__cuda_duplicates_after(struct sonde_cuda_place *p, CUstream stream, uint64_t key, const struct sonde_cuda_target *t, uint32_t operation)
{
    struct sonde_alike_pair pair = {
        .one = {.handle = t->address, .group = p->uid, .bytes = t->bytes, .version = t->version, .object = t->object, .operation = operation}};
    if (!p->jobs || !t->whole || t->raced || !sonde__alike_written(&alike, &pair.one, &pair.other))
        return;
    if (pair.other.object && compare(p, stream, key, &pair))
        sonde__alike_compared(&alike, &pair);
    struct job *job = job_get(p->jobs);
    if (!job)
        return;
    job->of = pair;
    if (!launch(p, stream, job))
        job_put(p->jobs, job);
}

void sonde__cuda_duplicates_read(struct sonde_cuda_place *p, bool last)
{
    enum { NAPS = 4000 };
    sonde__cuda_duplicates_check(p, p->stream, 0);
    for (int k = 0; last && k < NAPS && p->jobs && atomic_load(&p->jobs->used); k++) {
        sonde__nap(NAP_US);
        sonde__cuda_duplicates_check(p, p->stream, 0);
    }
}

/* ---- an object is about to be freed -------------------------------------------------------------------------- */

static void settle_all(struct sonde_cuda_jobs *j, uint32_t object)
{
    sonde__lock(&j->lock);
    for (uint32_t i = 0; i < JOBS; i++)
        if (j->job[i].used && j->job[i].compares && (j->job[i].of.one.object == object || j->job[i].of.other.object == object))
            settle(&j->job[i]);
    sonde__unlock(&j->lock);
}

void sonde__cuda_duplicates_freeing(uint32_t object, struct sonde_cuda_place *p)
{
    enum { NAPS = 100000 }; /* the call itself waits for what the device does, without bounds */
    if (p && p->jobs) {
        sonde__cuda_duplicates_check(p, p->stream, 0);
        settle_all(p->jobs, object);
    }
    for (int k = 0; sonde__alike_gone(&alike, object) && p && k < NAPS; k++) {
        sonde__nap(NAP_US);
        collect(p->jobs);
    }
}

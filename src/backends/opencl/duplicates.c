/* duplicates.c - objects that hold the same values as others (guest/alike.h), in buffers.
 *
 * Behind an operation that wrote an object, a kernel of ours hashes all of it. Of two with one hash the next call that comes by
 * enqueues a comparison, byte for byte; only what that finds is told.
 *
 * The other object is the program's, which may release it at any moment: a release waits while it is held, which is until it is
 * retained, and so it stays until the comparison is enqueued.
 */
#include <string.h>

#include "guest/alike.h"
#include "guest/memory.h"
#include "values.h"

enum { JOBS_MAX = 256 };

struct job {
    struct sonde_cl_job of_queue;
    cl_event computed, done;
    bool is_hash;
    struct sonde_alike_pair of; /* of a hash `one` alone */
    cl_uint groups;
    cl_ulong found[GROUPS_MAX][SIZES];
};

static struct sonde_cl_jobs jobs = {.bytes = sizeof(struct job), .most = JOBS_MAX};
static _Atomic bool any; /* some pair is not compared yet, or a job is under way */

/* Its contents are what they were. */
static bool is_current(const struct sonde_alike_state *state)
{
    const cl_mem mem = (cl_mem)(uintptr_t)state->handle;
    struct sonde_cl_mem *known = sonde__cl_mem(mem);
    return known && sonde__cl_mem_object(mem) == state->object && atomic_load(&known->version) == state->version;
}

static struct sonde_alike alike = {.is_current = is_current};

/* Sums over the words of 8 bytes, each mixed with its place: xor and multiplication as in splitmix64 (Steele, Lea, Flood: Fast
 * Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 13). What is behind the last whole word counts as a word with zeros. */
const char sonde__cl_hash_source[] =
    "kernel void libsonde_hash(global const uchar *bytes, ulong size, global ulong *sums)\n"
    "{\n"
    "    local ulong part[2][64];\n"
    "    const ulong words = size / 8;\n"
    "    global const ulong *a = (global const ulong *)bytes;\n"
    "    ulong h0 = 0, h1 = 0;\n"
    "    for (ulong w = get_global_id(0); w <= words; w += get_global_size(0)) {\n"
    "        ulong x = 0;\n"
    "        if (w < words)\n"
    "            x = a[w];\n"
    "        else\n"
    "            for (ulong k = words * 8; k < size; k++)\n"
    "                x = x << 8 | bytes[k];\n"
    "        ulong z = x ^ (w + 1) * 0x9e3779b97f4a7c15UL;\n"
    "        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;\n"
    "        z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;\n"
    "        h0 += z ^ (z >> 31);\n"
    "        z = (z + x) * 0xd1342543de82ef95UL;\n"
    "        h1 += z ^ (z >> 32);\n"
    "    }\n"
    "    const uint l = get_local_id(0);\n"
    "    part[0][l] = h0;\n"
    "    part[1][l] = h1;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < 4) {\n"
    "        ulong sum = 0;\n"
    "        for (uint k = 0; l < 2 && k < get_local_size(0); k++)\n"
    "            sum += part[l][k];\n"
    "        sums[4 * get_group_id(0) + l] = sum;\n"
    "    }\n"
    "}\n";

void sonde__cl_duplicates_released(cl_mem mem)
{
    const uint32_t object = sonde_values_wanted(SONDE_VALUES_COARSE) ? sonde__cl_mem_object(mem) : 0;
    while (object && sonde__alike_gone(&alike, object))
        sonde__nap(50);
}

/* ---- jobs ---------------------------------------------------------------------------------------------------- */

static struct job *job_get(struct sonde_cl_values *v, bool is_hash, const struct sonde_alike_pair *of)
{
    struct job *job = (struct job *)sonde__cl_job_get(&jobs, v);
    if (job) {
        job->groups = v->groups;
        job->computed = job->done = NULL;
        job->is_hash = is_hash;
        job->of = *of;
    }
    return job;
}

static void start(struct job *job, bool enqueued)
{
    sonde__cl_job_put(&jobs, &job->of_queue, !enqueued && !job->computed);
    atomic_store(&any, true);
}

/* ---- what was found ------------------------------------------------------------------------------------------ */

static bool finish(struct sonde_cl_job *one)
{
    const struct job *job = (const struct job *)one;
    const cl_event last = job->done ? job->done : job->computed;
    const cl_icd_dispatch *real = sonde__cl_target(last);
    uint64_t sum[2] = {0};
    cl_int status = CL_QUEUED;
    if (real->clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) != CL_SUCCESS)
        status = CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return false;
    for (cl_uint g = 0; g < job->groups; g++)
        for (int k = 0; k < 2; k++)
            sum[k] += job->found[g][k];
    if (job->done && status == CL_COMPLETE && job->is_hash)
        sonde__alike_hashed(&alike, &job->of.one, sum);
    else if (job->done && status == CL_COMPLETE && sum[0] == job->of.one.bytes)
        sonde_value_duplicate(job->of.one.operation, job->of.one.object, job->of.other.object, job->of.one.bytes);
    sonde__cl_event_over(job->computed, status);
    if (job->done)
        sonde__cl_event_over(job->done, status);
    return true;
}

void sonde__cl_duplicates_collect(void)
{
    if (!sonde__cl_duplicates_any())
        return;
    sonde__cl_jobs_look(&jobs, finish);
    if (!sonde__lock_within(&jobs.lock, 100))
        return;
    if (!jobs.looked_at)
        atomic_store(&any, jobs.under_way || sonde__alike_any(&alike));
    sonde__unlock(&jobs.lock);
}

bool sonde__cl_duplicates_under_way(const struct sonde_cl_values *v)
{
    return sonde__cl_jobs_under_way(&jobs, v);
}

/* ---- in the queue ---------------------------------------------------------------------------------------------- */

/* Nothing is done where one of them was written or is being released. True: it is enqueued. */
static bool compare(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue, const struct sonde_alike_pair *pair)
{
    const cl_mem mems[2] = {(cl_mem)(uintptr_t)pair->one.handle, (cl_mem)(uintptr_t)pair->other.handle};
    struct job *job = job_get(v, false, pair);
    bool kept[2] = {false, false}, done = false;
    if (!job)
        return false;
    if (sonde__alike_hold(&alike, pair)) {
        for (int i = 0; i < 2; i++)
            kept[i] = real->clRetainMemObject(mems[i]) == CL_SUCCESS;
        sonde__alike_release(&alike, pair);
    }
    if (kept[0] && kept[1])
        done = sonde__cl_values_compare(real, v, queue, NULL, mems, (const cl_ulong[]){0, pair->one.bytes, 0}, job->found, &job->computed, &job->done);
    for (int i = 0; i < 2; i++)
        if (kept[i])
            real->clReleaseMemObject(mems[i]);
    start(job, done);
    return done;
}

bool sonde__cl_duplicates_any(void)
{
    return atomic_load_explicit(&any, memory_order_relaxed);
}

void sonde__cl_duplicates_check(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue)
{
    if (!sonde__cl_duplicates_any())
        return;
    sonde__cl_duplicates_collect();
    for (struct sonde_alike_pair pair; sonde__alike_next(&alike, (uintptr_t)v->context, &pair);)
        compare(real, v, queue, &pair);
}

static void hash(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue, const struct sonde_alike_pair *of)
{
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    const cl_mem mem = (cl_mem)(uintptr_t)of->one.handle;
    const cl_ulong bytes = of->one.bytes;
    struct job *job = job_get(v, true, of);
    if (!job)
        return;
    start(job, real->clSetKernelArg(v->hash, 0, sizeof mem, &mem) == CL_SUCCESS &&
                   real->clSetKernelArg(v->hash, 1, sizeof bytes, &bytes) == CL_SUCCESS &&
                   real->clSetKernelArg(v->hash, 2, sizeof v->rooms->results, &v->rooms->results) == CL_SUCCESS &&
                   real->clEnqueueNDRangeKernel(queue, v->hash, 1, NULL, &global, &local, 0, NULL, &job->computed) == CL_SUCCESS &&
                   real->clEnqueueReadBuffer(queue, v->rooms->results, CL_FALSE, 0, v->groups * sizeof *job->found, job->found, 0, NULL, &job->done) == CL_SUCCESS);
}

void sonde__cl_duplicates_after(const struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t operation)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    for (uint32_t i = 0; i < v->written_count && v->hash; i++) {
        const struct sonde_cl_side *of = &v->written[i];
        struct sonde_cl_mem *mem = sonde__cl_mem(of->mem);
        const uint64_t bytes = mem ? atomic_load(&mem->bytes) : 0;
        const struct sonde_cl_queue *writer = mem ? atomic_load(&mem->writer) : NULL;
        struct sonde_alike_pair pair = {.one = {.handle = (uintptr_t)of->mem,
                                                .group = (uintptr_t)v->context,
                                                .bytes = bytes,
                                                .version = of->version,
                                                .object = of->object,
                                                .operation = operation}};
        if (!bytes || (writer && writer != enqueue->queue) || !sonde__alike_written(&alike, &pair.one, &pair.other))
            continue;
        if (pair.other.object && compare(real, v, queue, &pair))
            sonde__alike_compared(&alike, &pair);
        hash(real, v, queue, &pair);
    }
}

void sonde__cl_duplicates_forget(void)
{
    sonde__cl_jobs_forget(&jobs);
    atomic_store(&any, false);
    memset(&alike, 0, sizeof alike);
    alike.is_current = is_current;
}

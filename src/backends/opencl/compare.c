/* compare.c - what is copied before an operation is compared with what is there after it (values.c says what).
 *
 * Copies are in buffers of the queue, which its next operation uses again; on the host, where the device has no room for them. Where it is known of which bytes an operation writes some,
 * there is a byte of marks for each `grain` of them, 1 where they were written.
 */
#include "values.h"

#include <string.h>

#include "guest/memory.h"
#include "instrument/llvm.h"
#include "remote.h"

enum { JOBS_MAX = 2048 }; /* comparisons under way */

/* One comparison under way. Its events are kept to its end: a runtime may use them when what they wait for fails. */
struct job {
    struct sonde_cl_job of;
    struct sonde_cl_slot *slot; /* order.c; NULL: its queue is in order */
    uint32_t place;             /* there */
    cl_event copied, compared, done; /* the last: `found` was read; NULL: it is not enqueued */
    cl_event marked_none, marked_some; /* of the marks */
    cl_event fetched;                  /* of an image: it is in a buffer */
    struct sonde_value_change change;
    cl_uint groups;
    bool marked;
    cl_ulong found[GROUPS_MAX][SUMS]; /* of each size: what is unchanged; where it is marked, in front of it what was written */
};

static _Atomic uint64_t copied_room; /* bytes of all copies of all queues that are on the device */

static struct sonde_cl_jobs jobs = {.bytes = sizeof(struct job), .most = JOBS_MAX};

/* `now` and `then` agree in the bytes `from` to `to` of `now`, of which byte k is byte k - shift of `then`; shift is a multiple
 * of 8. Each group counts its elements that are equal; the edges, where words are not whole, are the first work-item's.
 * PoCL makes a library of the kernel's name, whose code is ours by that name. */
static const char source[] =
    "kernel void libsonde_compare(global const uchar *now, global const uchar *then, ulong from, ulong to, ulong shift,\n"
    "                          global ulong *unchanged)\n"
    "{\n"
    "    local ulong equal[4][64];\n"
    "    const ulong first = (from + 7) / 8, last = to / 8;\n"
    "    global const ulong *a = (global const ulong *)now, *b = (global const ulong *)then;\n"
    "    ulong e1 = 0, e2 = 0, e4 = 0, e8 = 0;\n"
    "    for (ulong w = first + get_global_id(0); w < last; w += get_global_size(0)) {\n"
    "        const ulong x = a[w] ^ b[w - shift / 8];\n"
    "        ulong y = x | x >> 4;\n"
    "        y |= y >> 2;\n"
    "        y |= y >> 1;\n"
    "        y &= 0x0101010101010101UL;\n"
    "        const ulong z = (y | y >> 8) & 0x0001000100010001UL;\n"
    "        const ulong u = (z | z >> 16) & 0x0000000100000001UL;\n"
    "        e1 += 8 - popcount(y);\n"
    "        e2 += 4 - popcount(z);\n"
    "        e4 += 2 - popcount(u);\n"
    "        e8 += x == 0;\n"
    "    }\n"
    "    if (get_global_id(0) == 0) {\n"
    "        const ulong low = first < last ? first * 8 : to, high = first < last ? last * 8 : to;\n"
    "        for (uint size = 1; size <= 4; size *= 2) {\n"
    "            ulong same = 0;\n"
    "            for (ulong at = (from + size - 1) / size * size; at + size <= to; at += size) {\n"
    "                if (at == low)\n"
    "                    at = high;\n"
    "                if (at + size > to)\n"
    "                    break;\n"
    "                bool equals = true;\n"
    "                for (uint k = 0; k < size; k++)\n"
    "                    equals = equals && now[at + k] == then[at + k - shift];\n"
    "                same += equals;\n"
    "            }\n"
    "            if (size == 1)\n"
    "                e1 += same;\n"
    "            else if (size == 2)\n"
    "                e2 += same;\n"
    "            else\n"
    "                e4 += same;\n"
    "        }\n"
    "    }\n"
    "    const uint l = get_local_id(0);\n"
    "    equal[0][l] = e1;\n"
    "    equal[1][l] = e2;\n"
    "    equal[2][l] = e4;\n"
    "    equal[3][l] = e8;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < 4) {\n"
    "        ulong sum = 0;\n"
    "        for (uint k = 0; k < get_local_size(0); k++)\n"
    "            sum += equal[l][k];\n"
    "        unchanged[4 * get_group_id(0) + l] = sum;\n"
    "    }\n"
    "}\n";

/* The same of elements of which all bytes are marked, whose number it counts, too. Marks are of the bytes from `base` on, a multiple of 8,
 * a byte for each 2^grain of them. In a word each byte is one bit: y has those that differ or were not written, n those not written. */
static const char marked_source[] =
    "kernel void libsonde_compare_marked(global const uchar *now, global const uchar *then, ulong from, ulong to, ulong shift,\n"
    "                                 global ulong *sums, global const uchar *marks, ulong base, uint grain)\n"
    "{\n"
    "    local ulong part[8][64];\n"
    "    const ulong ones = 0x0101010101010101UL, first = (from + 7) / 8, last = to / 8;\n"
    "    global const ulong *a = (global const ulong *)now, *b = (global const ulong *)then;\n"
    "    ulong e1 = 0, e2 = 0, e4 = 0, e8 = 0, u1 = 0, u2 = 0, u4 = 0, u8 = 0;\n"
    "    for (ulong w = first + get_global_id(0); w < last; w += get_global_size(0)) {\n"
    "        const ulong at = w - base / 8;\n"
    "        ulong m;\n"
    "        if (grain == 0)\n"
    "            m = ((global const ulong *)marks)[at];\n"
    "        else if (grain == 1) {\n"
    "            m = ((global const uint *)marks)[at];\n"
    "            m = (m | m << 16) & 0x0000ffff0000ffffUL;\n"
    "            m = (m | m << 8) & 0x00ff00ff00ff00ffUL;\n"
    "            m |= m << 8;\n"
    "        } else if (grain == 2) {\n"
    "            m = ((global const ushort *)marks)[at];\n"
    "            m = (m & 255) * 0x01010101UL | (m >> 8) * 0x0101010100000000UL;\n"
    "        } else\n"
    "            m = marks[at] * ones;\n"
    "        if (!m)\n"
    "            continue;\n"
    "        const ulong x = a[w] ^ b[w - shift / 8];\n"
    "        ulong n = m ^ ones, y = x | x >> 4;\n"
    "        y |= y >> 2;\n"
    "        y |= y >> 1;\n"
    "        y = (y & ones) | n;\n"
    "        e1 += 8 - popcount(n);\n"
    "        u1 += 8 - popcount(y);\n"
    "        n = (n | n >> 8) & 0x0001000100010001UL;\n"
    "        y = (y | y >> 8) & 0x0001000100010001UL;\n"
    "        e2 += 4 - popcount(n);\n"
    "        u2 += 4 - popcount(y);\n"
    "        n = (n | n >> 16) & 0x0000000100000001UL;\n"
    "        y = (y | y >> 16) & 0x0000000100000001UL;\n"
    "        e4 += 2 - popcount(n);\n"
    "        u4 += 2 - popcount(y);\n"
    "        e8 += n == 0;\n"
    "        u8 += y == 0;\n"
    "    }\n"
    "    if (get_global_id(0) == 0) {\n"
    "        const ulong low = first < last ? first * 8 : to, high = first < last ? last * 8 : to;\n"
    "        for (uint size = 1; size <= 4; size *= 2) {\n"
    "            ulong all = 0, same = 0;\n"
    "            for (ulong at = (from + size - 1) / size * size; at + size <= to; at += size) {\n"
    "                if (at == low)\n"
    "                    at = high;\n"
    "                if (at + size > to)\n"
    "                    break;\n"
    "                bool written = true, equals = true;\n"
    "                for (uint k = 0; k < size; k++) {\n"
    "                    written = written && marks[(at + k - base) >> grain];\n"
    "                    equals = equals && now[at + k] == then[at + k - shift];\n"
    "                }\n"
    "                all += written;\n"
    "                same += written && equals;\n"
    "            }\n"
    "            e1 += size == 1 ? all : 0;\n"
    "            u1 += size == 1 ? same : 0;\n"
    "            e2 += size == 2 ? all : 0;\n"
    "            u2 += size == 2 ? same : 0;\n"
    "            e4 += size == 4 ? all : 0;\n"
    "            u4 += size == 4 ? same : 0;\n"
    "        }\n"
    "    }\n"
    "    const uint l = get_local_id(0);\n"
    "    part[0][l] = e1;\n"
    "    part[1][l] = e2;\n"
    "    part[2][l] = e4;\n"
    "    part[3][l] = e8;\n"
    "    part[4][l] = u1;\n"
    "    part[5][l] = u2;\n"
    "    part[6][l] = u4;\n"
    "    part[7][l] = u8;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < 8) {\n"
    "        ulong sum = 0;\n"
    "        for (uint k = 0; k < get_local_size(0); k++)\n"
    "            sum += part[l][k];\n"
    "        sums[8 * get_group_id(0) + l] = sum;\n"
    "    }\n"
    "}\n";

/* Marks a rectangle; all in marks. */
static const char mark_source[] =
    "kernel void libsonde_mark(global uchar *marks, ulong from, ulong width, ulong row, ulong rows, ulong slice, ulong slices)\n"
    "{\n"
    "    for (ulong r = get_global_id(0); r < rows * slices; r += get_global_size(0)) {\n"
    "        const ulong at = from + r / rows * slice + r % rows * row;\n"
    "        for (ulong k = 0; k < width; k++)\n"
    "            marks[at + k] = 1;\n"
    "    }\n"
    "}\n";

/* What clEnqueueCopyBuffer does, from a pointer: bytes `from` to `to`, of which byte k becomes byte k - shift, a multiple of 8. */
static const char copy_source[] =
    "kernel void libsonde_copy(global const uchar *now, global uchar *then, ulong from, ulong to, ulong shift)\n"
    "{\n"
    "    global const ulong *a = (global const ulong *)now;\n"
    "    global ulong *b = (global ulong *)then;\n"
    "    for (ulong w = from / 8 + get_global_id(0); w < to / 8; w += get_global_size(0))\n"
    "        b[w - shift / 8] = a[w];\n"
    "    if (get_global_id(0) == 0)\n"
    "        for (ulong k = max(from, to / 8 * 8); k < to; k++)\n"
    "            then[k - shift] = now[k];\n"
    "}\n";

/* ---- what is under way ---------------------------------------------------------------------------- */

/* Whole elements of `size` bytes between two places. */
static uint64_t whole(uint64_t from, uint64_t to, uint64_t size)
{
    const uint64_t first = (from + size - 1) / size, end = to / size;
    return end > first ? end - first : 0;
}

static void add_up(struct job *job)
{
    const cl_ulong *all = &job->found[0][0];
    const cl_uint each = job->marked ? SUMS : SIZES;
    for (int k = 0; k < SIZES && job->marked; k++)
        job->change.elements[k] = 0;
    for (cl_uint g = 0; g < job->groups; g++)
        for (int k = 0; k < SIZES; k++) {
            job->change.elements[k] += job->marked ? all[g * each + (cl_uint)k] : 0;
            job->change.unchanged[k] += all[g * each + each - SIZES + (cl_uint)k];
        }
}

static cl_event last_of(const struct job *job)
{
    return job->done ? job->done : (job->compared ? job->compared : (job->fetched ? job->fetched : job->copied));
}

static bool finish(struct sonde_cl_job *one)
{
    struct job *job = (struct job *)one;
    const cl_event last = last_of(job);
    const cl_icd_dispatch *real = sonde__cl_target(last);
    cl_int status = CL_QUEUED;
    if (!last) /* of a mapping, whose comparison was refused */
        return true;
    if (real->clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) != CL_SUCCESS)
        status = CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return false;
    if (job->done && status == CL_COMPLETE) {
        job->change.raced |= job->slot && sonde__cl_order_raced(job->slot, job->place);
        add_up(job);
        sonde_value_changed(&job->change);
    } else if (job->done) {
        sonde_value_missed(job->change.operation, SONDE_VALUE_MISSED_FAILED, SONDE_ENGINE_NONE);
    }
    const cl_event all[] = {job->copied, job->marked_none, job->marked_some, job->fetched, job->compared, job->done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            sonde__cl_event_over(all[i], status);
    if (job->slot)
        sonde__cl_order_put(job->slot);
    return true;
}

void sonde__cl_values_collect(enum sonde_collect how)
{
    if (sonde_values_wanted(SONDE_VALUES_FINE))
        sonde__cl_fine_read(how != SONDE_COLLECT_TURN);
    if (sonde_values_wanted(SONDE_VALUES_REMOTE))
        sonde__cl_remote_read(how != SONDE_COLLECT_TURN);
    if (!sonde_values_wanted(SONDE_VALUES_COARSE))
        return;
    sonde__cl_duplicates_collect();
    sonde__cl_order_settle();
    sonde__cl_jobs_look(&jobs, finish);
}

/* NULL: too many are under way. */
static struct job *job_get(struct sonde_cl_values *v, const struct target *of)
{
    struct job *job = (struct job *)sonde__cl_job_get(&jobs, v);
    if (!job) {
        sonde__cl_values_collect(SONDE_COLLECT_TURN);
        job = (struct job *)sonde__cl_job_get(&jobs, v);
    }
    if (job) {
        job->slot = v->slot;
        job->place = of->place;
        if (job->slot)
            sonde__cl_order_use(job->slot);
        job->copied = job->marked_none = job->marked_some = job->fetched = job->compared = job->done = NULL;
    }
    return job;
}

static bool is_under_way(const struct sonde_cl_values *v)
{
    return sonde__cl_jobs_under_way(&jobs, v) || sonde__cl_duplicates_under_way(v);
}

/* ---- of a queue ------------------------------------------------------------------------------------ */

static void give(uint64_t bytes, bool on_host)
{
    if (on_host)
        sonde_values_host_give(bytes);
    else
        atomic_fetch_sub(&copied_room, bytes);
}

void sonde__cl_compare_release(const cl_icd_dispatch *real, struct room *room)
{
    if (room->mem)
        real->clReleaseMemObject(room->mem); /* stays until what was enqueued has run */
    give(room->bytes, room->on_host);
    *room = (struct room){0};
}

void sonde__cl_compare_release_rooms(const cl_icd_dispatch *real, struct rooms *rooms)
{
    for (int i = 0; i < TARGETS_MAX; i++) {
        sonde__cl_compare_release(real, &rooms->copy[i]);
        sonde__cl_compare_release(real, &rooms->marks[i]);
    }
    if (rooms->results)
        real->clReleaseMemObject(rooms->results);
    rooms->results = NULL;
}

bool sonde__cl_compare_results(const cl_icd_dispatch *real, const struct sonde_cl_values *v, struct rooms *rooms)
{
    cl_int status = CL_SUCCESS;
    if (!rooms->results)
        rooms->results = real->clCreateBuffer(v->context, CL_MEM_WRITE_ONLY, sizeof(cl_ulong[GROUPS_MAX][SUMS]), NULL, &status);
    if (status != CL_SUCCESS)
        rooms->results = NULL;
    return rooms->results;
}

static void release(const cl_icd_dispatch *real, struct sonde_cl_values *v)
{
    sonde__cl_compare_release_rooms(real, &v->own);
    sonde__cl_order_release(real, v);
    sonde__cl_maps_release(real, v);
    cl_kernel *const kernels[] = {&v->compare, &v->compare_marked, &v->mark, &v->copy_svm, &v->hash};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (*kernels[i])
            real->clReleaseKernel(*kernels[i]);
        *kernels[i] = NULL;
    }
    if (v->program)
        real->clReleaseProgram(v->program);
    v->program = NULL;
    const cl_mem scratch = atomic_exchange(&v->scratch, NULL);
    if (scratch)
        real->clReleaseMemObject(scratch);
}

bool sonde__cl_compare_build(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue)
{
    const char *texts[] = {source, marked_source, mark_source, copy_source, sonde__cl_hash_source};
    cl_device_id device;
    cl_uint units = 1;
    cl_int status;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof v->context, &v->context, NULL) != CL_SUCCESS ||
        real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return false;
    real->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    v->groups = units * 4 < GROUPS_MAX ? units * 4 : GROUPS_MAX;
    v->program = real->clCreateProgramWithSource(v->context, 5, texts, NULL, &status);
    if (status != CL_SUCCESS || real->clBuildProgram(v->program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    v->compare = real->clCreateKernel(v->program, "libsonde_compare", &status);
    if (status == CL_SUCCESS)
        v->compare_marked = real->clCreateKernel(v->program, "libsonde_compare_marked", &status);
    if (status == CL_SUCCESS)
        v->mark = real->clCreateKernel(v->program, "libsonde_mark", &status);
    if (status == CL_SUCCESS)
        v->copy_svm = real->clCreateKernel(v->program, "libsonde_copy", &status);
    if (status == CL_SUCCESS)
        v->hash = real->clCreateKernel(v->program, "libsonde_hash", &status);
    if (status != CL_SUCCESS)
        return false;
    return sonde__cl_compare_results(real, v, &v->own);
}

static uint64_t most_bytes(const cl_icd_dispatch *real, cl_command_queue queue)
{
    cl_device_id device = NULL;
    cl_ulong all = 0;
    if (sonde_values_memory())
        return sonde_values_memory();
    real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    real->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof all, &all, NULL);
    return all / 4;
}

static bool take(uint64_t most, uint64_t bytes, bool on_host)
{
    if (on_host)
        return sonde_values_host_take(bytes);
    const bool taken = atomic_fetch_add(&copied_room, bytes) + bytes <= most;
    atomic_fetch_sub(&copied_room, taken ? 0 : bytes);
    return taken;
}

/* A room in place of that which is there, unless there is no memory for what it has more. */
static bool make_room(const cl_icd_dispatch *real, const struct sonde_cl_values *v, struct room *of, uint64_t most, uint64_t bytes, bool on_host)
{
    const bool again = of->on_host == on_host;
    cl_int status;
    if (!take(most, bytes - (again ? of->bytes : 0), on_host))
        return false;
    if (of->mem)
        real->clReleaseMemObject(of->mem);
    if (!again)
        give(of->bytes, of->on_host);
    *of = (struct room){.bytes = bytes, .on_host = on_host};
    of->mem = real->clCreateBuffer(v->context, CL_MEM_READ_WRITE | (on_host ? CL_MEM_ALLOC_HOST_PTR : 0), (size_t)bytes, NULL, &status);
    if (status == CL_SUCCESS)
        return true;
    of->mem = NULL;
    sonde__cl_compare_release(real, of);
    return false;
}

bool sonde__cl_compare_room(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, struct room *of, uint64_t needed)
{
    if (of->bytes >= needed)
        return true;
    const uint64_t most = most_bytes(real, queue), bytes = sonde__room_bytes(needed);
    if (needed <= most + 8 && make_room(real, v, of, most, bytes, false)) /* or it is no size at all: the runtime will say so */
        return true;
    return make_room(real, v, of, most, bytes, true) || make_room(real, v, of, most, needed, true);
}

/* The program may unload the runtime when its own work is done: ours must be, too. Not for long, since that work may wait for
 * what the program has still to do. */
static void settle(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue)
{
    enum { PATIENCE_NS = 200000000 };
    const uint64_t until = sonde_now_ns() + PATIENCE_NS;
    real->clFlush(queue);
    for (;;) {
        sonde__cl_values_collect(SONDE_COLLECT_TURN);
        if ((!is_under_way(v) && !sonde__cl_order_keeps(queue)) || sonde_now_ns() > until)
            return;
        sonde__nap(50);
    }
}

void sonde__cl_values_released(cl_command_queue handle)
{
    struct sonde_cl_queue *queue = sonde_values_wanted(SONDE_VALUES_COARSE) ? sonde__cl_queue(handle) : NULL;
    struct sonde_cl_values *v = queue ? atomic_load(&queue->values) : NULL;
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    cl_uint references = 0;
    if (!v || !sonde__trylock(&v->lock))
        return;
    settle(real, v, handle); /* events of ours refer to the queue, too */
    sonde__cl_maps_settle(v);
    if (real->clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL) == CL_SUCCESS && references == 1)
        release(real, v);
    sonde__unlock(&v->lock);
}

struct sonde_cl_values *sonde__cl_compare_of(struct sonde_cl_queue *queue)
{
    struct sonde_cl_values *v = atomic_load_explicit(&queue->values, memory_order_acquire), *none = NULL;
    if (v)
        return v;
    v = sonde__memory_get(sizeof *v);
    return !v || atomic_compare_exchange_strong(&queue->values, &none, v) ? v : none;
}

/* ---- around an operation -------------------------------------------------------------------------------- */

static uint64_t marks_of(const struct target *t)
{
    return (t->marks_bytes + t->grain - 1) / t->grain;
}

static bool mark_rectangle(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    const struct target *t = &v->target[i];
    const struct rectangle *r = &t->rectangle;
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    const cl_ulong numbers[] = {(r->from - t->marks_from) / t->grain, r->width / t->grain, r->row / t->grain, r->rows, r->slice / t->grain, r->slices};
    const cl_mem marks = v->rooms->marks[i].mem;
    bool done = real->clSetKernelArg(v->mark, 0, sizeof marks, &marks) == CL_SUCCESS;
    for (cl_uint k = 0; k < sizeof numbers / sizeof *numbers && done; k++)
        done = real->clSetKernelArg(v->mark, k + 1, sizeof *numbers, &numbers[k]) == CL_SUCCESS;
    return done && real->clEnqueueNDRangeKernel(queue, v->mark, 1, NULL, &global, &local, v->slot ? 1 : 0, v->slot ? &v->job[i]->marked_none : NULL, &v->job[i]->marked_some) == CL_SUCCESS;
}

/* Zeros, and in a rectangle ones; the kernel will mark what it writes. */
static bool mark(const cl_icd_dispatch *real, const struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    const struct target *t = &v->target[i];
    const struct sonde_cl_kernel *kernel = sonde__cl_kernel(enqueue->written.kernel);
    const cl_ulong zero = 0;
    const uint64_t needed = (marks_of(t) + SONDE_LLVM_MARKS_MORE + sizeof zero - 1) / sizeof zero * sizeof zero;
    if (!sonde__cl_compare_room(real, v, queue, &v->rooms->marks[i], needed) ||
        real->clEnqueueFillBuffer(queue, v->rooms->marks[i].mem, &zero, sizeof zero, 0, (size_t)needed, 0, NULL, &v->job[i]->marked_none) != CL_SUCCESS)
        return false;
    const cl_mem argument = t->is_svm ? (cl_mem)(void *)((char *)(void *)t->mem + t->marks_from) : t->mem;
    return t->rectangle.slices ? mark_rectangle(real, v, queue, i) : kernel && sonde__cl_fine_marks(enqueue, kernel, argument, v->rooms->marks[i].mem, marks_of(t));
}

static cl_mem then_of(const struct sonde_cl_values *v, uint32_t i)
{
    return v->target[i].mapping ? v->target[i].mapping->room.mem : v->rooms->copy[i].mem;
}

/* What was copied when it was mapped: the copy is what its job waits for. */
static bool copied_before(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, uint32_t i)
{
    struct mapping *m = v->target[i].mapping;
    struct job *job = job_get(v, &v->target[i]);
    v->job[i] = job;
    if (job) {
        job->copied = m->copied;
        m->copied = NULL;
    } else {
        sonde__cl_maps_put(m);
        sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_MANY);
    }
    return job;
}

static bool set_now(const cl_icd_dispatch *real, cl_kernel kernel, const struct target *t)
{
    if (!t->is_svm)
        return real->clSetKernelArg(kernel, 0, sizeof t->mem, &t->mem) == CL_SUCCESS;
    return real->clSetKernelArgSVMPointer && real->clSetKernelArgSVMPointer(kernel, 0, t->mem) == CL_SUCCESS;
}

static bool copy_svm(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const struct target *t, cl_mem to,
                     cl_uint waits, const cl_event *wait_list, cl_event *copied)
{
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    const cl_ulong numbers[] = {t->from, t->from + t->bytes, t->from / 8 * 8};
    bool done = set_now(real, v->copy_svm, t) && real->clSetKernelArg(v->copy_svm, 1, sizeof to, &to) == CL_SUCCESS;
    for (cl_uint k = 0; k < 3 && done; k++)
        done = real->clSetKernelArg(v->copy_svm, 2 + k, sizeof *numbers, &numbers[k]) == CL_SUCCESS;
    return done && real->clEnqueueNDRangeKernel(queue, v->copy_svm, 1, NULL, &global, &local, waits, wait_list, copied) == CL_SUCCESS;
}

bool sonde__cl_compare_copy(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const struct target *t, cl_mem to,
                            cl_uint waits, const cl_event *wait_list, cl_event *copied)
{
    if (t->is_svm)
        return copy_svm(real, v, queue, t, to, waits, wait_list, copied);
    if (t->is_image)
        return real->clEnqueueCopyImageToBuffer(queue, t->mem, to, t->origin, t->region, 0, waits, wait_list, copied) == CL_SUCCESS;
    return real->clEnqueueCopyBuffer(queue, t->mem, to, (size_t)t->from, (size_t)(t->from % 8), (size_t)t->bytes, waits, wait_list, copied) == CL_SUCCESS;
}

static bool copy(const cl_icd_dispatch *real, struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t i)
{
    struct target *t = &v->target[i];
    const bool room = sonde__cl_compare_room(real, v, queue, &v->rooms->copy[i], t->bytes + 8);
    struct job *job = room ? job_get(v, t) : NULL;
    if (!job) {
        sonde__cl_miss(enqueue, room ? SONDE_VALUE_MISSED_MANY : SONDE_VALUE_MISSED_MEMORY);
        return false;
    }
    /* What the operation waits for, the first copy waits for, and in an in-order queue so do those behind it. */
    const cl_uint waits = i == 0 || v->slot ? enqueue->gate_count : 0;
    v->job[i] = job;
    if (sonde__cl_compare_copy(real, v, queue, t, v->rooms->copy[i].mem, waits, waits ? enqueue->gate_list : NULL, &job->copied)) {
        if (t->grain && !mark(real, enqueue, v, queue, i)) {
            t->grain = 0;
            t->maybe = true;
        }
        enqueue->copied = true;
        return true;
    }
    if (job->slot)
        sonde__cl_order_put(job->slot);
    sonde__cl_job_put(&jobs, &job->of, true);
    sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
    return false;
}

/* In a queue out of order: the operation waits for copies and marks. False: they are not of use. */
static bool join(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue)
{
    cl_event list[3 * TARGETS_MAX];
    cl_uint count = 0;
    for (uint32_t i = 0; i < v->targets; i++) {
        const cl_event of[] = {v->job[i]->copied, v->job[i]->marked_none, v->job[i]->marked_some};
        for (size_t k = 0; k < sizeof of / sizeof *of; k++)
            if (of[k])
                list[count++] = of[k];
    }
    return sonde__cl_order_join(enqueue, queue, count, list);
}

void sonde__cl_compare_before(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    uint32_t kept = 0;
    if (v->slot)
        sonde__cl_order_claim(enqueue, v);
    for (uint32_t i = 0; i < v->targets; i++) {
        v->target[kept] = v->target[i];
        kept += v->target[kept].mapping ? copied_before(enqueue, v, kept) : copy(real, enqueue, v, queue, kept);
    }
    v->targets = kept;
    if (!v->slot || !kept || join(enqueue, v, queue))
        return;
    sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
    for (uint32_t i = 0; i < kept; i++)
        sonde__cl_job_put(&jobs, &v->job[i]->of, false); /* of nothing */
    v->targets = 0;
    enqueue->copied = false;
}

/* Has the object been written through this queue alone? */
static bool is_raced(const struct target *t, const struct sonde_cl_queue *queue)
{
    struct sonde_cl_mem *mem = t->known;
    const struct sonde_cl_queue *none = NULL;
    return mem && !atomic_compare_exchange_strong(&mem->writer, &none, queue) && none != queue;
}

bool sonde__cl_values_compare(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_event *behind, const cl_mem pair[2],
                              const cl_ulong range[3], cl_ulong (*unchanged)[SIZES], cl_event *compared, cl_event *done)
{
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    return (!pair[0] || real->clSetKernelArg(v->compare, 0, sizeof *pair, &pair[0]) == CL_SUCCESS) &&
           real->clSetKernelArg(v->compare, 1, sizeof *pair, &pair[1]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 2, sizeof *range, &range[0]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 3, sizeof *range, &range[1]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 4, sizeof *range, &range[2]) == CL_SUCCESS &&
           real->clSetKernelArg(v->compare, 5, sizeof v->rooms->results, &v->rooms->results) == CL_SUCCESS &&
           real->clEnqueueNDRangeKernel(queue, v->compare, 1, NULL, &global, &local, behind ? 1 : 0, behind, compared) == CL_SUCCESS &&
           real->clEnqueueReadBuffer(queue, v->rooms->results, CL_FALSE, 0, v->groups * sizeof *unchanged, unchanged, behind ? 1 : 0, behind ? compared : NULL, done) == CL_SUCCESS;
}

static bool compare_marked(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_event *behind, uint32_t i)
{
    const struct target *t = &v->target[i];
    struct job *job = v->job[i];
    const size_t global = (size_t)v->groups * GROUP, local = GROUP;
    const cl_ulong to = t->from + t->bytes, shift = t->from / 8 * 8, base = t->marks_from;
    const cl_uint grain = (cl_uint)__builtin_ctz(t->grain);
    const struct {
        size_t bytes;
        const void *value;
    } arguments[] = {{sizeof t->mem, &v->rooms->copy[i].mem}, {sizeof to, &t->from}, {sizeof to, &to}, {sizeof to, &shift}, {sizeof t->mem, &v->rooms->results}, {sizeof t->mem, &v->rooms->marks[i].mem}, {sizeof base, &base}, {sizeof grain, &grain}};
    for (cl_uint k = 0; k < sizeof arguments / sizeof *arguments; k++)
        if (real->clSetKernelArg(v->compare_marked, 1 + k, arguments[k].bytes, arguments[k].value) != CL_SUCCESS)
            return false;
    return set_now(real, v->compare_marked, t) && real->clEnqueueNDRangeKernel(queue, v->compare_marked, 1, NULL, &global, &local, behind ? 1 : 0, behind, &job->compared) == CL_SUCCESS &&
           real->clEnqueueReadBuffer(queue, v->rooms->results, CL_FALSE, 0, v->groups * sizeof *job->found, job->found, behind ? 1 : 0,
                                     behind ? &job->compared : NULL, &job->done) == CL_SUCCESS;
}

static bool compare_image(const cl_icd_dispatch *real, const struct sonde_cl_values *v, cl_command_queue queue, const cl_event *behind, uint32_t i)
{
    const struct target *t = &v->target[i];
    struct job *job = v->job[i];
    struct room *now = &v->rooms->marks[i];
    return sonde__cl_compare_room(real, v, queue, now, t->bytes + 8) && sonde__cl_compare_copy(real, v, queue, t, now->mem, behind ? 1 : 0, behind, &job->fetched) &&
           sonde__cl_values_compare(real, v, queue, behind ? &job->fetched : NULL, (const cl_mem[]){now->mem, then_of(v, i)}, (const cl_ulong[]){0, t->bytes, 0},
                                    (cl_ulong(*)[SIZES])(void *)job->found, &job->compared, &job->done);
}

static bool compare(const cl_icd_dispatch *real, struct sonde_cl_values *v, cl_command_queue queue, const cl_event *behind, uint32_t i)
{
    const struct target *t = &v->target[i];
    struct job *job = v->job[i];
    job->groups = v->groups;
    job->marked = t->grain != 0;
    if (job->marked)
        return compare_marked(real, v, queue, behind, i);
    if (t->is_image)
        return compare_image(real, v, queue, behind, i);
    return set_now(real, v->compare, t) &&
           sonde__cl_values_compare(real, v, queue, behind, (const cl_mem[]){NULL, then_of(v, i)},
                                    (const cl_ulong[]){t->from, t->from + t->bytes, t->from / 8 * 8}, (cl_ulong(*)[SIZES])(void *)job->found, &job->compared, &job->done);
}

void sonde__cl_compare_after(struct sonde_cl_enqueue *enqueue, struct sonde_cl_values *v, cl_command_queue queue, uint32_t operation)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    cl_event last[TARGETS_MAX], behind = v->slot ? sonde__cl_order_operation(v->slot) : NULL;
    for (uint32_t i = 0; i < v->targets; i++) {
        struct target *t = &v->target[i];
        struct job *job = v->job[i];
        if (t->grain && enqueue->written.kernel && !enqueue->twin) { /* it was launched plain after all */
            t->grain = 0;
            t->maybe = true;
        }
        job->change = (struct sonde_value_change){
            .operation = operation,
            .object = t->object,
            .element_bytes = t->element_bytes,
            .maybe = t->maybe,
            .raced = is_raced(t, enqueue->queue) || atomic_load(&v->disturbed),
            .operations = 1,
            .bytes = t->bytes,
        };
        for (int k = 0; k < SIZES; k++)
            job->change.elements[k] = whole(t->from, t->from + t->bytes, 1u << k);
        if (operation && ((v->slot && !behind) || !compare(real, v, queue, behind ? &behind : NULL, i)))
            sonde__cl_miss(enqueue, SONDE_VALUE_MISSED_COMPARE);
        if (v->slot && job->done) /* the next one's results are in the same place */
            behind = job->done;
        last[i] = last_of(job);
    }
    if (v->slot && v->targets)
        sonde__cl_order_compared(v, queue, v->targets, last);
    for (uint32_t i = 0; i < v->targets; i++) {
        const struct target *t = &v->target[i];
        sonde__cl_job_put(&jobs, &v->job[i]->of, false);
        if (t->mapping) /* what its room is used for next in this queue is behind the comparison */
            sonde__cl_maps_put(t->mapping);
    }
}

void sonde__cl_compare_collect(void)
{
    sonde__lock(&jobs.lock);
    sonde__cl_jobs_wait(&jobs);
    sonde__unlock(&jobs.lock);
    sonde__cl_values_collect(SONDE_COLLECT_TURN);
}

/* Those whose events are the caller's now. */
static uint32_t under_way_of(uint32_t object, cl_event *list, uint32_t most)
{
    uint32_t count = 0;
    sonde__lock(&jobs.lock);
    sonde__cl_jobs_wait(&jobs);
    for (const struct sonde_cl_job *one = jobs.under_way; one && count < most; one = one->next) {
        const struct job *job = (const struct job *)one;
        const cl_event last = last_of(job);
        if (job->change.object == object && last && sonde__cl_target(last)->clRetainEvent(last) == CL_SUCCESS)
            list[count++] = last;
    }
    sonde__unlock(&jobs.lock);
    return count;
}

void sonde__cl_values_svm_freeing(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_uint count, void *const *pointers)
{
    cl_event list[256]; /* of one queue, the latest are there */
    for (cl_uint i = 0; sonde_values_wanted(SONDE_VALUES_COARSE) && pointers && i < count; i++) {
        uint32_t found;
        const uint32_t object = sonde__cl_svm(pointers[i]) ? sonde__cl_svm_object(pointers[i]) : 0;
        if (!object || !(found = under_way_of(object, list, sizeof list / sizeof *list)))
            continue;
        const cl_icd_dispatch *real = sonde__cl_target(list[0]);
        if (!enqueue || !sonde__cl_order_after(enqueue, queue, found, list))
            real->clWaitForEvents(found, list);
        for (uint32_t k = 0; k < found; k++)
            real->clReleaseEvent(list[k]);
    }
}

void sonde__cl_compare_forget(void)
{
    sonde__cl_jobs_forget(&jobs);
    atomic_store(&copied_room, 0);
}

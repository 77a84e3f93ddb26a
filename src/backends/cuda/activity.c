/* activity.c - what CUPTI reports about finished work.
 *
 * CUPTI asks for buffers and gives them back full, on a thread of its own, or when
 * it is asked (flush.c); both only move a buffer between lists. The monitor thread
 * reads the records, says sonde_complete() for each, and puts the buffer back.
 *
 * A thread's next buffer is four times as large when the last one was full at once,
 * and smaller when it lasted: what CUPTI holds back because something in the same
 * buffer still runs is little. One that came back nearly empty, since it was asked for (flush.c),
 * was not full, however soon: a large one after it would hold a slow program's records for seconds.
 *
 * The records of CUPTI 12.0 (kernel 9, copy 5, peer copy 4, set 4, overhead 2,
 * graph 1) begin the later ones, whose further fields are read only when the
 * CUPTI that was opened is new enough. A kind that is not known is counted.
 */
#include "sanitizer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SIZES        3u                  /* of buffers: 16 kB, 64 kB, 256 kB (CUPTI clears them in the program's threads), */
#define SIZE_FIRST   1u                  /* with which each thread begins */
#define SIZE_BYTES(size) ((size_t)16384 << 2 * (size))
#define OURS_BYTES   64u                 /* before what CUPTI gets */
#define SOON_NS      25000000u           /* it lasted so long only: a larger one */
#define LATE_NS      250000000u          /* so long: a smaller one */
#define HANDED      64u                  /* buffers that came back last, of which it is known how full they were */
#define SPARE_MAX   16u                  /* empty buffers of each size that are kept */
#define FLUSH_GAP_NS 2000000u            /* between two requests for all there is */
#define PATIENCE_NS  700000000u          /* of the second that the agent waits at the end, */
#define DYING_NS     20000000u           /* and of the moment that a signal leaves */
#define PROOF_WANTED 32u                 /* records that prove the matching */

struct buffer {
    struct buffer *next;
    size_t valid;
    uint32_t size, number; /* number: which request this is, from 1 */
};
static_assert(sizeof(struct buffer) <= OURS_BYTES, "before the room");

static struct {
    struct sonde_lock lock;
    struct buffer *spare[SIZES], *full, **full_tail;
    uint32_t spares[SIZES];
    uint64_t dropped;      /* records that CUPTI had no room for */
    uint64_t completed;    /* buffers that came back */
} buffers;

static _Atomic uint32_t requests;
static _Atomic uint64_t handed[HANDED]; /* by number: number << 1 | it was half full at least */

static struct sonde_shared_map ours; /* buffers that exist */

static struct { /* the monitor thread's */
    uint64_t asked_at, flushed_at, said_dropped;
    uint32_t proved, disproved;
    bool decided, forced;
    bool later, again;     /* some records wait for all others to be read; those are read now */
} reading;

/* ---- buffers: CUPTI's side ------------------------------------------------------------ */

static uint8_t *bytes_of(struct buffer *b)
{
    return (uint8_t *)b + OURS_BYTES;
}

static struct buffer *buffer_of(uint8_t *bytes)
{
    return (struct buffer *)(void *)(bytes - OURS_BYTES);
}

/* Did this one come back with little in it? Mostly CUPTI asks for the next before it gives back a full one. */
static bool was_empty(uint32_t number)
{
    return atomic_load_explicit(&handed[number % HANDED], memory_order_acquire) == (uint64_t)number << 1;
}

/* Of the calling thread's next buffer, and its number. */
static uint32_t next_size(uint32_t *number)
{
    static __thread uint64_t asked_ns;
    static __thread uint32_t size, last;
    const uint64_t now = sonde_now_ns(), lasted_ns = now - asked_ns;
    const bool empty = was_empty(last);
    *number = last = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1;
    if (!asked_ns)
        size = SIZE_FIRST;
    else if (lasted_ns < SOON_NS && size < SIZES - 1)
        size += !empty;
    else if (lasted_ns > LATE_NS && size > 0)
        size--;
    asked_ns = now;
    return size;
}

static struct buffer *buffer_new(uint32_t size)
{
    struct buffer *b = sonde__pages_get(SIZE_BYTES(size));
    if (b && !sonde__shared_map_put(&ours, (uintptr_t)bytes_of(b), 1)) {
        sonde__pages_put(b, SIZE_BYTES(size));
        b = NULL;
    }
    if (b)
        b->size = size;
    return b;
}

void CUPTIAPI sonde__cuda_buffer_requested(uint8_t **bytes, size_t *size, size_t *records)
{
    uint32_t number;
    const uint32_t wanted = next_size(&number);
    sonde__lock(&buffers.lock);
    struct buffer *b = buffers.spare[wanted];
    if (b) {
        buffers.spare[wanted] = b->next;
        buffers.spares[wanted]--;
    }
    sonde__unlock(&buffers.lock);
    if (!b)
        b = buffer_new(wanted);
    if (b)
        b->number = number;
    *bytes = b ? bytes_of(b) : NULL;
    *size = b ? SIZE_BYTES(wanted) - OURS_BYTES : 0;
    *records = 0; /* as many as fit */
}

void CUPTIAPI sonde__cuda_buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size,
                                           size_t valid)
{
    size_t dropped = 0;
    uint64_t mark;
    (void)size;
    sonde_tool_thread(); /* mostly CUPTI's own, which does nothing else */
    if (!bytes || !sonde__shared_map_get(&ours, (uintptr_t)bytes, &mark))
        return; /* of a tool that was here before us: nobody takes it back any more */
    if (sonde__cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) != CUPTI_SUCCESS)
        dropped = 0;
    struct buffer *b = buffer_of(bytes);
    b->next = NULL;
    b->valid = valid;
    atomic_store_explicit(&handed[b->number % HANDED], (uint64_t)b->number << 1 | (valid >= SIZE_BYTES(b->size) / 2), memory_order_release);
    sonde__lock(&buffers.lock);
    buffers.dropped += dropped;
    buffers.completed++;
    if (!buffers.full)
        buffers.full_tail = &buffers.full;
    *buffers.full_tail = b;
    buffers.full_tail = &b->next;
    sonde__unlock(&buffers.lock);
}

/* ---- names and launch configurations ------------------------------------------------------ */

/* A kernel's name is a string of CUPTI's, one for all its records; the place may
 * later hold another's, so it is compared. One kernel is mostly launched alike. */
struct shape { uint32_t grid[3], block[3], cluster[3], registers, fixed, dynamic, local, device; };
struct name {
    struct shape shape;
    uint32_t id, work;
    uint32_t length;
    bool ours;                  /* a kernel of own.c */
    struct sonde_once unplaced; /* that is said */
    char text[];
};
static struct sonde_shared_map names; /* pointer -> struct name */

static struct name *name_new(const char *text)
{
    const size_t length = strlen(text);
    struct name *n = sonde__memory_get(sizeof *n + length + 1); /* never given back: one for each kernel */
    if (!n)
        return NULL;
    n->length = (uint32_t)length;
    memcpy(n->text, text, length + 1);
    n->ours = sonde__cuda_is_own(text) || (sonde__cuda_counting && strcmp(text, "WaitNs") == 0); /* the range profiler's */
    n->id = sonde_string(text, sonde__cuda_plain_name(text));
    sonde__shared_map_put(&names, (uintptr_t)text, (uintptr_t)n);
    return n;
}

static struct name *name_of(const char *text)
{
    uint64_t value;
    if (!text)
        return NULL;
    if (sonde__shared_map_get(&names, (uintptr_t)text, &value)) {
        struct name *n = (void *)(uintptr_t)value;
        if (strcmp(n->text, text) == 0)
            return n;
    }
    return name_new(text);
}

static uint32_t work_of(const struct shape *s)
{
    const struct sonde_cuda_device *device = sonde__cuda_device(s->device);
    const uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    const uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
    struct sonde_work w = {
        .registers = s->registers,
        .static_shared = s->fixed,
        .dynamic_shared = s->dynamic,
        .local_bytes = s->local,
    };
    for (uint32_t i = 0; i < 3; i++) {
        w.global[i] = (uint64_t)s->grid[i] * s->block[i];
        w.local[i] = s->block[i];
        w.cluster[i] = s->cluster[i];
    }
    w.dims = w.global[2] > 1 ? 3 : (w.global[1] > 1 ? 2 : 1);
    if (device) {
        const struct sonde_occupancy o =
            sonde__cuda_occupancy(device, threads, s->registers, s->fixed + s->dynamic, blocks);
        w.occupancy = o.thousandths;
        w.limiter = o.limiter;
    }
    return sonde_work_intern(&w);
}

/* ---- records ---------------------------------------------------------------------------------- */

static struct sonde_times times_of(uint64_t start, uint64_t end)
{
    return (struct sonde_times){.start_ns = sonde__cuda_clock_host(start), .end_ns = sonde__cuda_clock_host(end)};
}

/* CUPTI says 0 for a time that it could not take, or that has not come when it is
 * made to hand over everything: then the operation runs on, or, on a device that
 * is lost, has failed. */
static enum sonde_poll result_of(uint64_t start, uint64_t end)
{
    if (start && end)
        return SONDE_POLL_DONE;
    if (sonde__cuda_counting && !sonde__cuda_broken())
        return SONDE_POLL_NO_TIMES; /* measured kernels have none, and ended before their launch did */
    return sonde__cuda_broken() ? SONDE_POLL_FAILED : (reading.forced ? SONDE_POLL_PENDING : SONDE_POLL_NO_TIMES);
}

/* The first records prove that they carry the ids of the driver calls that we
 * hook. A record may come before its call has returned, so one alone says little. */
static void prove(uint64_t key)
{
    bool full;
    if (reading.decided || sonde_is_attached()) /* then the first records may be of calls that came before us */
        return;
    if (sonde__cuda_key_known(key, &full))
        reading.proved++;
    else if (!full)
        reading.disproved++;
    reading.decided = full || reading.proved >= PROOF_WANTED || reading.disproved >= PROOF_WANTED;
    if (reading.decided && reading.proved == 0 && reading.disproved) {
        sonde_note("kernel records lack the correlation ids of driver calls (CUPTI %u, %s): those of the "
                   "runtime's calls are taken",
                   sonde__cupti.version, sonde__cupti.path);
        sonde__cuda_follow_runtime();
    }
}

/* Work of which no call is known: its name once, and how much of it. */
static void unplaced(struct name *name)
{
    static struct sonde_once copies;
    char what[200] = "copies or sets";
    const bool first = sonde__once(name ? &name->unplaced : &copies);
    if (first && name)
        snprintf(what, sizeof what, "kernel %s", name->text);
    sonde_unplaced(first ? what : NULL);
}

/* Its record may have another's name. */
static void rename_kernel(struct sonde_completion *c)
{
    const uint32_t name = sonde__cuda_launch_name(c->key);
    c->name = name ? name : c->name;
}

/* Which call's work is it? Of what runs within a conditional node no record says, but all others of the
 * same graph must have been read then. */
static bool find_call(struct sonde_completion *c, uint32_t correlation, uint64_t node)
{
    if (correlation) {
        c->key = sonde__cuda_extend(correlation);
        if (c->kind == SONDE_OP_KERNEL && !node && atomic_load_explicit(&sonde__cuda_unloadings, memory_order_relaxed))
            rename_kernel(c);
        if (!reading.decided)
            prove(c->key);
        if (node)
            sonde__cuda_graph_ran(node, c->key, c->times.start_ns);
        return true;
    }
    c->key = node ? sonde__cuda_graph_launch_of(node, c->times.start_ns) : 0;
    return c->key != 0;
}

static void complete(struct sonde_completion *c, uint32_t correlation, uint64_t node, struct name *name)
{
    if (c->result == SONDE_POLL_PENDING)
        return; /* stays waiting, and is counted as such */
    if (reading.again == (correlation != 0)) {
        reading.later |= !reading.again;
        return;
    }
    c->origin = sonde__cuda_node_origin(node);
    if (find_call(c, correlation, node))
        sonde_complete(c);
    else
        unplaced(name);
}

/* What the records of all kinds of work say, in fields of the same names. */
#define COMPLETION(op_kind, record)                                                                        \
    {.kind = op_kind, .result = result_of((record)->start, (record)->end),                                 \
     .times = times_of((record)->start, (record)->end),                                                    \
     .lane = sonde__cuda_lane((record)->deviceId, (record)->contextId, (record)->streamId)}

static void kernel(const CUpti_ActivityKernel9 *k)
{
    struct name *name = name_of(k->name);
    if (name && name->ours)
        return;
    struct sonde_completion c = COMPLETION(SONDE_OP_KERNEL, k);
    const struct shape s = {
        .grid = {(uint32_t)k->gridX, (uint32_t)k->gridY, (uint32_t)k->gridZ},
        .block = {(uint32_t)k->blockX, (uint32_t)k->blockY, (uint32_t)k->blockZ},
        .cluster = {k->clusterX, k->clusterY, k->clusterZ},
        .registers = k->registersPerThread,
        .fixed = (uint32_t)k->staticSharedMemory,
        .dynamic = (uint32_t)k->dynamicSharedMemory,
        .local = k->localMemoryPerThread,
        .device = k->deviceId,
    };
    if (name) {
        if (!name->work || memcmp(&s, &name->shape, sizeof s) != 0) {
            name->shape = s;
            name->work = work_of(&s);
        }
        c.name = name->id;
        c.work = name->work;
    }
    complete(&c, k->correlationId, k->graphNodeId, name);
}

static enum sonde_op_kind copy_kind(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return SONDE_OP_WRITE;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return SONDE_OP_READ;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return SONDE_OP_HOST_COPY;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return SONDE_OP_PEER_COPY;
    default:
        return SONDE_OP_COPY;
    }
}

static uint16_t memory_of(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
        return SONDE_MEMORY_PAGEABLE;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
        return SONDE_MEMORY_PINNED;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
        return SONDE_MEMORY_DEVICE;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
        return SONDE_MEMORY_ARRAY;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
        return SONDE_MEMORY_MANAGED;
    default:
        return SONDE_MEMORY_UNKNOWN;
    }
}

/* What a copy goes between: few combinations, asked for at every copy. */
static uint32_t ends_of(unsigned source, unsigned target, uint32_t source_device, uint32_t target_device)
{
    static struct sonde_work last;
    static uint32_t last_id;
    struct sonde_work w;
    memset(&w, 0, sizeof w);
    w.source = memory_of(source);
    w.target = memory_of(target);
    w.source_device = source_device;
    w.target_device = target_device;
    if (!last_id || memcmp(&w, &last, sizeof w) != 0) {
        memcpy(&last, &w, sizeof w);
        last_id = sonde_work_intern(&w);
    }
    return last_id;
}

static void copy(const CUpti_ActivityMemcpy5 *m)
{
    if (sonde__cuda_values_own(m->contextId, m->streamId))
        return;
    struct sonde_completion c = COMPLETION(copy_kind(m->copyKind), m);
    c.work = ends_of(m->srcKind, m->dstKind, 0, 0);
    c.bytes = m->bytes;
    complete(&c, m->correlationId, m->graphNodeId, NULL);
}

static uint32_t device_id(uint32_t ordinal)
{
    const struct sonde_cuda_device *device = sonde__cuda_device(ordinal);
    return device ? device->id : 0;
}

static void peer_copy(const CUpti_ActivityMemcpyPtoP4 *m)
{
    struct sonde_completion c = COMPLETION(SONDE_OP_PEER_COPY, m);
    c.work = ends_of(m->srcKind, m->dstKind, device_id(m->srcDeviceId), device_id(m->dstDeviceId));
    c.bytes = m->bytes;
    complete(&c, m->correlationId, m->graphNodeId, NULL);
}

static void set(const CUpti_ActivityMemset4 *m)
{
    if (sonde__cuda_values_own(m->contextId, m->streamId))
        return;
    struct sonde_completion c = COMPLETION(SONDE_OP_FILL, m);
    c.work = ends_of(0, m->memoryKind, 0, 0);
    c.bytes = m->bytes;
    complete(&c, m->correlationId, m->graphNodeId, NULL);
}

static void graph(const CUpti_ActivityGraphTrace *g)
{
    struct sonde_completion c = COMPLETION(SONDE_OP_GRAPH, g);
    complete(&c, g->correlationId, 0, NULL);
}

static void unknown(uint32_t kind)
{
    static struct sonde_once said[64];
    char what[64];
    snprintf(what, sizeof what, "records of kind %u", kind);
    sonde_unplaced(sonde__once(&said[kind < 63 ? kind : 63]) ? what : NULL);
}

static void overhead(const CUpti_ActivityOverhead *o)
{
    if (o->end > o->start)
        sonde_vendor_overhead(o->end - o->start);
}

static void record(const CUpti_Activity *r)
{
    switch (r->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        kernel((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        copy((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        peer_copy((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        set((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        graph((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        if (!reading.again)
            sonde__cuda_managed_record((const void *)r);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        if (!reading.again)
            overhead((const void *)r);
        break;
    default:
        if (!reading.again)
            unknown(r->kind);
        break;
    }
}

/* ---- buffers: the monitor's side ------------------------------------------------------------------ */

static struct buffer *take_full(uint64_t *dropped)
{
    sonde__lock(&buffers.lock);
    struct buffer *all = buffers.full;
    buffers.full = NULL;
    *dropped = buffers.dropped;
    sonde__unlock(&buffers.lock);
    return all;
}

static void give_back(struct buffer *b)
{
    sonde__lock(&buffers.lock);
    const bool keep = buffers.spares[b->size] < SPARE_MAX;
    if (keep) {
        b->next = buffers.spare[b->size];
        buffers.spare[b->size] = b;
        buffers.spares[b->size]++;
    }
    sonde__unlock(&buffers.lock);
    if (!keep) {
        sonde__shared_map_take(&ours, (uintptr_t)bytes_of(b), NULL);
        sonde__pages_put(b, SIZE_BYTES(b->size));
    }
}

/* Asked without force, CUPTI hands over buffers in which everything has ended:
 * one kernel that runs on holds back all beside it. With force, what runs on is
 * never reported again, so only when the wait is nearly over, or in vain. */
static void flush(uint64_t patience_ns)
{
    const uint64_t now = sonde_now_ns();
    if (!reading.asked_at)
        reading.asked_at = now;
    if (now - reading.flushed_at < FLUSH_GAP_NS || (sonde__cuda_flush_busy() && now - reading.asked_at <= patience_ns))
        return;
    reading.forced = sonde__cuda_broken() || now - reading.asked_at > patience_ns;
    sonde__cupti.cuptiActivityFlushAll(reading.forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    reading.flushed_at = sonde_now_ns();
}

static void say_losses(uint64_t dropped)
{
    if (dropped != reading.said_dropped)
        sonde_note("CUPTI dropped %llu records of completed work: buffer full", (unsigned long long)dropped);
    reading.said_dropped = dropped;
    if (reading.forced && !buffers.completed && sonde__cuda_any_key() && !sonde__sanitizer_on)
        sonde_note("CUPTI reported nothing to Sonde: another tool in the program has taken over its callbacks "
                   "(cuptiActivityRegisterCallbacks); run without it");
}

static void read_records(struct buffer *b)
{
    for (; b; b = b->next) {
        CUpti_Activity *r = NULL;
        while (sonde__cupti.cuptiActivityGetNextRecord(bytes_of(b), b->valid, &r) == CUPTI_SUCCESS)
            record(r);
    }
}

void sonde__cuda_collect(enum sonde_collect how)
{
    if (!atomic_load(&sonde__cuda_on))
        return;
    sonde__cuda_quiet(true);
    if (how != SONDE_COLLECT_TURN) {
        const uint64_t patience_ns = how == SONDE_COLLECT_DYING ? DYING_NS : PATIENCE_NS;
        sonde__cuda_counters_last();
        sonde__cuda_series_last(patience_ns);
        sonde__cuda_stalls_last(patience_ns);
        sonde__cuda_flush_last(patience_ns);
        flush(patience_ns);
    } else {
        reading.asked_at = reading.forced = 0;
        sonde__cuda_flush_turn();
        sonde__cuda_series_turn();
        sonde__cuda_stalls_turn();
    }
    uint64_t dropped;
    struct buffer *all = take_full(&dropped);
    if (all)
        sonde__cuda_clock_pair(); /* every record is older than this */
    reading.later = reading.again = false;
    read_records(all);
    if ((reading.again = reading.later))
        read_records(all);
    for (struct buffer *b = all, *next; b; b = next) {
        next = b->next;
        give_back(b);
    }
    if (sonde__sanitizer_on)
        sonde__sanitizer_collect();
    sonde__cuda_modules_store();
    if (how != SONDE_COLLECT_TURN)
        say_losses(dropped);
    sonde__cuda_quiet(false);
}

/* coarse.c - what operations leave unchanged (--values).
 *
 * What an operation writes, or may write, is copied before it and compared after it, by kernels of ours around it in its own
 * stream (instrument/compare.h); sums are on the device, and are read in a stream of ours by the thread that fetches records. The program
 * waits for none of it. Of an object nothing is kept between two operations but which of its bytes were written, so that it
 * does not matter who else wrote it.
 *
 * Of a kernel that has an instrumented copy it is known what it wrote: the copy marks it (SONDE_PLAN_SETS). Of another, any of the
 * objects that its parameters point to may have been written.
 *
 * One thread at a time makes an operation in a stream with what is around it; another that comes meanwhile goes on without,
 * and says that it did.
 */
#include "sonde_cuda.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"

#define SLOTS_MAX 32768u /* of a context */
#define GUARDS    4096u  /* two streams may share one */
#define THREADS   256u   /* of a block of ours */
#define PIECE     16u    /* bytes that a thread copies at once */

struct row { /* what a slot's sums are of */
    uint32_t operation, object, element_bytes;
    bool maybe, raced;
};

struct sonde_cuda_slots {
    CUdeviceptr at;
    uint32_t count;
    _Atomic uint64_t made;  /* operations */
    uint64_t read;
    struct row row[SLOTS_MAX];
    struct sonde_ptx_sums told[SLOTS_MAX], found[SLOTS_MAX];
};

struct sonde_cuda_guard {
    struct sonde_lock lock; /* of a stream, from before an operation until after it */
    _Atomic bool disturbed; /* by an operation that went on without */
};
static struct sonde_cuda_guard guards[GUARDS];

static struct {
    struct sonde_lock lock; /* of making slots */
    const struct sonde_cuda_own *own;
} coarse;

static struct sonde_shared_map slots; /* by what is in a row, and the context -> number, from 1 */

/* ---- our kernels ------------------------------------------------------------------------------------ */

static bool is_ready(struct sonde_cuda_place *p)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    if (p->slots)
        return true;
    sonde__lock(&coarse.lock);
    t->cuThreadExchangeStreamCaptureMode(&mode);
    coarse.own = sonde__cuda_own();
    struct sonde_cuda_slots *s = p->slots;
    if (!s && coarse.own && (s = sonde__pages_get(sizeof *s))) {
        if (sonde__cuda_duplicates_ready(p) && t->cuMemAlloc_v2(&s->at, SLOTS_MAX * sizeof *s->told) == CUDA_SUCCESS &&
            t->cuMemsetD8Async(s->at, 0, SLOTS_MAX * sizeof *s->told, p->stream) == CUDA_SUCCESS && t->cuStreamSynchronize(p->stream) == CUDA_SUCCESS)
            p->slots = s;
        else
            sonde__pages_put(s, sizeof *s);
    }
    t->cuThreadExchangeStreamCaptureMode(&mode);
    sonde__unlock(&coarse.lock);
    return p->slots != NULL;
}

static uint32_t blocks_for(const struct sonde_cuda_place *p, uint64_t items)
{
    const uint64_t blocks = (items + THREADS - 1) / THREADS, most = 8ull * p->multiprocessors;
    return (uint32_t)(blocks > most ? most : (blocks ? blocks : 1));
}

static bool launch(const struct sonde_cuda_coarse *c, CUkernel kernel, uint64_t items, void **parameters)
{
    return sonde__cuda_twins.cuLaunchKernel((CUfunction)kernel, blocks_for(c->place, items), 1, 1, THREADS, 1, 1, 0, c->stream, parameters, NULL) == CUDA_SUCCESS;
}

/* ---- what was written before -------------------------------------------------------------------------- */

struct extent { /* of an object */
    struct extent *next;
    uint64_t from, to; /* bytes that something wrote; of several stretches the largest */
    uint64_t writer;   /* the stream of all that wrote; UINT64_MAX: several */
    uint64_t version;  /* how often it was written */
};
static _Atomic uint64_t unseen; /* operations that may have written any */
static struct {
    struct sonde_lock lock;
    struct sonde_map by_object;
    struct extent *spare;
} extents;

static struct extent *extent_of(uint32_t object)
{
    const uint64_t *known = sonde__map_find(&extents.by_object, object);
    if (known)
        return (void *)(uintptr_t)*known;
    struct extent *e = extents.spare;
    if (e)
        extents.spare = e->next;
    else
        e = sonde__memory_get(sizeof *e);
    if (!e || !sonde__map_room(&extents.by_object, NULL))
        return NULL;
    *e = (struct extent){0};
    sonde__map_add(&extents.by_object, NULL, object, (uintptr_t)e);
    return e;
}

static void written_by(struct extent *e, uint64_t writer)
{
    e->writer = e->writer && e->writer != writer ? UINT64_MAX : writer;
    e->version++;
}

/* `t` is being written: what of it was written before is left in it, elsewhere there is nothing to compare with. */
static void define(struct sonde_cuda_target *t, uint64_t writer)
{
    const uint64_t from = t->from, to = t->to;
    sonde__lock(&extents.lock);
    struct extent *e = extent_of(t->object);
    t->from = t->to = 0;
    if (e) {
        const bool was = e->from < e->to;
        if (was && from < e->to && e->from < to) {
            t->from = from > e->from ? from : e->from;
            t->to = to < e->to ? to : e->to;
        }
        if (was && from <= e->to && e->from <= to) {
            e->from = from < e->from ? from : e->from;
            e->to = to > e->to ? to : e->to;
        } else if (!was || to - from > e->to - e->from) {
            e->from = from;
            e->to = to;
        }
        written_by(e, writer);
        t->raced = e->writer == UINT64_MAX;
        t->version = e->version + atomic_load(&unseen);
        t->whole = e->from == 0 && e->to >= t->bytes;
    }
    sonde__unlock(&extents.lock);
}

void sonde__cuda_coarse_wrote(uint32_t object, uint64_t writer)
{
    if (!object)
        atomic_fetch_add(&unseen, 1);
    sonde__lock(&extents.lock);
    struct extent *e = object ? extent_of(object) : NULL;
    if (e)
        written_by(e, writer);
    sonde__unlock(&extents.lock);
}

static struct extent known_extent(uint32_t object)
{
    sonde__lock(&extents.lock);
    const uint64_t *known = sonde__map_find(&extents.by_object, object);
    const struct extent e = known ? *(const struct extent *)(uintptr_t)*known : (struct extent){0};
    sonde__unlock(&extents.lock);
    return e;
}

uint64_t sonde__cuda_coarse_version(uint32_t object)
{
    const struct extent e = known_extent(object);
    return e.version ? e.version + atomic_load(&unseen) : 0;
}

uint64_t sonde__cuda_coarse_writer(uint32_t object)
{
    return known_extent(object).writer;
}

void sonde__cuda_coarse_freed(uint32_t object)
{
    uint64_t known;
    sonde__lock(&extents.lock);
    if (object && sonde__map_take(&extents.by_object, object, &known)) {
        struct extent *e = (void *)(uintptr_t)known;
        e->next = extents.spare;
        extents.spare = e;
    }
    sonde__unlock(&extents.lock);
}

/* ---- before the operation --------------------------------------------------------------------------- */

static CUstream stream_of(CUstream stream, bool own_default)
{
    return stream ? stream : (own_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

uint64_t sonde__cuda_coarse_stream(CUstream stream, bool own_default, uint32_t context_uid)
{
    const uint64_t words[] = {(uintptr_t)stream_of(stream, own_default), context_uid};
    return XXH3_64bits(words, sizeof words) >> 1 | 1;
}

static void miss(struct sonde_cuda_coarse *c, enum sonde_value_missed why)
{
    *c->missed |= 1u << why;
}

void sonde__cuda_coarse_begin(struct sonde_cuda_coarse *c, struct sonde_cuda_place *place, CUstream stream, bool own_default, uint32_t *missed)
{
    c->place = place;
    c->stream = stream_of(stream, own_default);
    c->key = sonde__cuda_coarse_stream(stream, own_default, place->uid);
    c->missed = missed;
    c->targets = 0;
    c->guard = NULL;
    struct sonde_cuda_guard *guard = &guards[(c->key >> 1) % GUARDS];
    if (!is_ready(place))
        miss(c, SONDE_VALUE_MISSED_COMPARE);
    else if (sonde__trylock(&guard->lock))
        c->guard = guard;
    else
        miss(c, SONDE_VALUE_MISSED_BUSY);
    atomic_store(&guard->disturbed, !c->guard);
    if (c->guard)
        sonde__cuda_duplicates_check(place, c->stream, c->key);
}

/* Of one object there is one target: where parts of it are marked differently, all of it may be written. */
static struct sonde_cuda_target *same_object(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *other)
{
    for (uint32_t i = 0; i < c->targets; i++) {
        struct sonde_cuda_target *t = &c->target[i];
        if (t->object != other->object)
            continue;
        if (t->grain != other->grain) {
            t->grain = 0;
            t->maybe = true;
        }
        return t;
    }
    return NULL;
}

/* Of a pool that the call named, and of mapped memory, the allocation did not say it. */
static uint32_t device_of(const struct sonde_object_info *o)
{
    int ordinal = 0;
    if (o->device || (o->kind != SONDE_OBJECT_POOL && o->kind != SONDE_OBJECT_VIRTUAL) ||
        sonde__cudrv.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, o->address) != CUDA_SUCCESS)
        return o->device;
    const struct sonde_cuda_device *d = sonde__cuda_device((uint32_t)ordinal);
    return d ? d->id : 0;
}

struct sonde_cuda_target *sonde__cuda_coarse_add(struct sonde_cuda_coarse *c, uint64_t address, uint64_t bytes, uint32_t grain, bool maybe)
{
    const uint32_t object = address ? sonde_object_at(address) : 0;
    struct sonde_object_info o;
    if (!address)
        return NULL;
    if (!object || !sonde_object_find(object, &o) || o.address % PIECE || address < o.address || address - o.address + bytes > o.bytes) {
        if (!maybe)
            miss(c, SONDE_VALUE_MISSED_OBJECT);
        return NULL;
    }
    if (device_of(&o) != c->place->device) {
        miss(c, SONDE_VALUE_MISSED_ELSEWHERE);
        return NULL;
    }
    struct sonde_cuda_target t = {
        .object = object,
        .element_bytes = grain,
        .grain = grain,
        .maybe = maybe,
        .address = o.address,
        .bytes = o.bytes,
        .from = bytes ? address - o.address : 0,
        .to = bytes ? address - o.address + bytes : o.bytes,
    };
    struct sonde_cuda_target *known = same_object(c, &t);
    if (known)
        return known;
    define(&t, c->key);
    t.whole = t.whole && o.kind == SONDE_OBJECT_DEVICE; /* duplicates.c */
    if (!c->guard)
        return NULL;
    if (c->targets == SONDE_CUDA_TARGETS_MAX) {
        miss(c, SONDE_VALUE_MISSED_ARGUMENTS);
        return NULL;
    }
    c->target[c->targets] = t;
    return &c->target[c->targets++];
}

/* What is copied of it: whole pieces. */
static uint64_t first_of(const struct sonde_cuda_target *t)
{
    return t->from / PIECE * PIECE;
}

static uint64_t copied_bytes(const struct sonde_cuda_target *t)
{
    return (t->to + PIECE - 1) / PIECE * PIECE - first_of(t);
}

static bool copy(const struct sonde_cuda_coarse *c, struct sonde_cuda_target *t)
{
    const uint64_t bytes = copied_bytes(t), marks = t->grain ? sonde__plan_marks(t->bytes, t->grain) : 0;
    uint64_t now = t->address + first_of(t), pieces = bytes / PIECE, mark_pieces = marks / PIECE, at;
    if (sonde__cuda_twins.cuMemAllocFromPoolAsync(&t->copy, bytes + marks, c->place->pool, c->stream) != CUDA_SUCCESS)
        return false;
    t->marks = marks ? t->copy + bytes : 0;
    at = t->marks;
    if (launch(c, coarse.own->copy, pieces > mark_pieces ? pieces : mark_pieces, (void *[]){&now, &t->copy, &pieces, &at, &mark_pieces}))
        return true;
    sonde__cuda_twins.cuMemFreeAsync(t->copy, c->stream);
    t->copy = t->marks = 0;
    return false;
}

void sonde__cuda_coarse_copy(struct sonde_cuda_coarse *c)
{
    for (uint32_t i = 0; i < c->targets; i++)
        if (c->target[i].from < c->target[i].to && !copy(c, &c->target[i]))
            miss(c, SONDE_VALUE_MISSED_MEMORY);
}

/* ---- after it -------------------------------------------------------------------------------------------- */

/* The place of its sums on the device; 0: there is no more room. */
static CUdeviceptr slot_of(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *t, uint32_t operation)
{
    struct sonde_cuda_slots *all = c->place->slots;
    const bool raced = t->raced || atomic_load(&c->guard->disturbed);
    const uint32_t words[] = {c->place->uid, operation, t->object, t->element_bytes, t->maybe, raced};
    const uint64_t key = XXH3_64bits(words, sizeof words) | 1;
    uint64_t number = 0;
    if (!sonde__shared_map_get(&slots, key, &number)) {
        sonde__lock(&coarse.lock);
        if (!sonde__shared_map_get(&slots, key, &number) && all->count < SLOTS_MAX && sonde__shared_map_put(&slots, key, all->count + 1)) {
            all->row[all->count] = (struct row){operation, t->object, t->element_bytes, t->maybe, raced};
            number = ++all->count;
        }
        sonde__unlock(&coarse.lock);
    }
    return number ? all->at + (number - 1) * sizeof *all->told : 0;
}

static bool compare(struct sonde_cuda_coarse *c, const struct sonde_cuda_target *t, uint32_t operation)
{
    CUdeviceptr slot = slot_of(c, t, operation);
    uint64_t now = t->address, then = t->copy - first_of(t), from = t->from, to = t->to, marks = t->marks;
    uint32_t grain = t->grain ? (uint32_t)__builtin_ctz(t->grain) : 0;
    if (!slot) {
        miss(c, SONDE_VALUE_MISSED_MANY);
        return true;
    }
    return launch(c, coarse.own->compare, (to - from) / sizeof(uint64_t) + 1, (void *[]){&now, &then, &from, &to, &marks, &grain, &slot});
}

void sonde__cuda_coarse_end(struct sonde_cuda_coarse *c, uint32_t operation)
{
    for (uint32_t i = 0; i < c->targets; i++) {
        const struct sonde_cuda_target *t = &c->target[i];
        if (t->copy && operation && !compare(c, t, operation))
            miss(c, SONDE_VALUE_MISSED_COMPARE);
        if (t->copy)
            sonde__cuda_twins.cuMemFreeAsync(t->copy, c->stream);
        if (operation && !atomic_load(&c->guard->disturbed))
            sonde__cuda_duplicates_after(c->place, c->stream, c->key, t, operation);
    }
    if (c->place->slots)
        atomic_fetch_add(&c->place->slots->made, c->targets != 0);
    if (c->guard)
        sonde__unlock(&c->guard->lock);
    c->targets = 0;
    c->guard = NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static void tell(const struct row *row, const struct sonde_ptx_sums *found, struct sonde_ptx_sums *told)
{
    struct sonde_value_change change = {
        .operation = row->operation,
        .object = row->object,
        .element_bytes = row->element_bytes,
        .maybe = row->maybe,
        .raced = row->raced,
        .operations = found->operations - told->operations,
        .bytes = found->bytes - told->bytes,
    };
    for (int k = 0; k < 4; k++) {
        change.elements[k] = found->elements[k] - told->elements[k];
        change.unchanged[k] = found->unchanged[k] - told->unchanged[k];
    }
    sonde_value_changed(&change);
    *told = *found;
}

void sonde__cuda_coarse_read(struct sonde_cuda_place *p, bool last)
{
    struct sonde_cuda_slots *all = p->slots;
    const uint64_t made = all ? atomic_load(&all->made) : 0;
    if (!all || (!last && made == all->read))
        return;
    sonde__lock(&coarse.lock);
    const uint32_t count = all->count;
    sonde__unlock(&coarse.lock);
    CUresult result = count ? sonde__cuda_twins.cuMemcpyDtoHAsync_v2(all->found, all->at, count * sizeof *all->found, p->stream) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = sonde__cuda_twins.cuStreamSynchronize(p->stream);
    if (result != CUDA_SUCCESS) {
        if (made != all->read)
            sonde_note("values: what some comparisons found could not be read from the device (error %d)", (int)result);
        return;
    }
    all->read = made;
    for (uint32_t k = 0; k < count; k++)
        if (memcmp(&all->found[k], &all->told[k], sizeof *all->told) != 0)
            tell(&all->row[k], &all->found[k], &all->told[k]);
}
